"""Drop groups of single rows."""

from __future__ import annotations

from sqlglot import exp

from sqlmetrics.sql.simplify.facts import Facts
from sqlmetrics.sql.simplify.relations import ROWS, Relation, relation_name, tables_of
from sqlmetrics.sql.simplify.statement import Statement
from sqlmetrics.sql.trees import find_all


def ungroup_single_rows(relation: Relation, statement: Statement) -> None:
    """Drop DISTINCT and GROUP BY of a key that no two rows share.

    An aggregate of one value is the value.
    """
    select = relation.select
    if select is None or len(tables_of(select)) != 1:
        return
    own = statement.facts.get(relation_name(tables_of(select)[0]), Facts())
    values = [e.unalias() for e in select.expressions]
    read = {value.name for value in values if isinstance(value, exp.Column)}
    if select.args.get("distinct") and own.is_unique(read) and not find_all(select, *ROWS):
        select.set("distinct", None)
    group = select.args.get("group")
    if group is None or any(select.args.get(part) for part in ("distinct", "having")):
        return
    if not own.is_unique({key.name for key in group.expressions if isinstance(key, exp.Column)}):
        return
    aggregates = find_all(select, exp.AggFunc)
    if all(
        isinstance(aggregate, exp.Max | exp.Min)
        and not isinstance(aggregate.parent, exp.Window | exp.Filter)
        for aggregate in aggregates
    ):
        select.set("group", None)
        for aggregate in aggregates:
            aggregate.replace(aggregate.this)
