"""Simplify a statement before it is printed: the same rows, in the words of a careful analyst.

The passes are general: they know nothing of metrics. What they use of a query follows from the
queries of the statement (`facts.py`, `origins.py`), and from the contract of the tables: ids are
never NULL.
"""

from __future__ import annotations

from sqlmetrics.sql.simplify import (
    columns,
    constants,
    filters,
    grouping,
    guards,
    joins,
    merge,
    spelling,
)
from sqlmetrics.sql.simplify.relations import Relation
from sqlmetrics.sql.simplify.statement import Statement


def simplify(relations: list[Relation], using: bool = True) -> list[Relation]:
    """Simplify relations, the last of which is the result; change the list and the trees.

    `using`: spell joins on columns of the same name USING.
    """
    statement, before = Statement(relations), None
    while before != (before := statement.version()):
        columns.drop_unread(statement)
        statement.each(joins.drop_unread)
        merge.drop_constant_rows(statement)
        statement.each(constants.fold, filters.drop_held, guards.drop, grouping.ungroup_single_rows)
        guards.drop_inner_defaults(statement)
        constants.ungroup(statement)
        merge.merge(statement)
        filters.move_before_windows(statement)
    merge.share_aggregates(statement)
    if using:
        joins.spell_using(relations)
    spelling.spell(relations)
    return relations
