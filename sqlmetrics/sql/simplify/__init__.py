"""Simplify a statement before it is printed: the same rows, in the words of a careful analyst.

The passes are general: they know nothing of metrics. What they use of a query follows from the
queries of the statement (`facts.py`, `origins.py`), and from the contract of the tables: ids are
never NULL.
"""

from __future__ import annotations

from sqlmetrics.sql.simplify import columns, constants, grouping, guards, joins, merge, spelling
from sqlmetrics.sql.simplify.relations import Relation


def simplify(relations: list[Relation], using: bool = True) -> list[Relation]:
    """Simplify relations, the last of which is the result; the list and the trees are changed.

    `using`: spell joins on columns of the same name USING.
    """
    changed = True
    while changed:
        changed = columns.drop_unread(relations)
        changed |= joins.drop_unread(relations)
        changed |= joins.merge_copies(relations)
        changed |= constants.fold(relations)
        changed |= merge.drop_constant_rows(relations)
        guards.drop(relations)
        changed |= grouping.ungroup_single_rows(relations)
        changed |= grouping.read_from_base(relations)
        changed |= grouping.group_after_join(relations) or merge.merge(relations)
    if using:
        joins.spell_using(relations)
    spelling.spell(relations)
    return relations
