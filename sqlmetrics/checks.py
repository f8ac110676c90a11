"""Checks at the door: what would make numbers wrong is refused, with the rows that are wrong.

The counts come from the profile stages, which read each table once; the offending rows are looked
up only when there are any.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.errors import DataError, UnreadableError, example_rows
from sqlmetrics.graph import Plan
from sqlmetrics.plan import Planner
from sqlmetrics.spec import Value
from sqlmetrics.tables import OPTIONS, Table, type_family

_TOTALS = {"recommendations": "recommendation_totals", "interactions": "interaction_totals"}


def check_types(tables: Mapping[str, Table], user_keys: tuple[str, ...]) -> None:
    """Refuse tables whose ids are of types that can never be equal, such as 1 and '1'.

    Raises:
        DataError: names both tables, the column and the types.
    """
    names = list(tables)
    for position, left in enumerate(names):
        for right in names[position + 1 :]:
            for column in (*user_keys, "item_id"):
                ours, theirs = (tables[name].columns.get(column) for name in (left, right))
                if ours is None or theirs is None:
                    continue
                ours, theirs = (_of_row(type_name) for type_name in (ours, theirs))
                if type_family(ours) != type_family(theirs):
                    raise DataError(
                        f"{left} and {right}: the ids in column "
                        f"{tables[left].describe_column(column)} are of different types, {ours} "
                        f"and {theirs}, and would match nothing. Ids are never converted here: "
                        f"write one of the two tables again with the type of the other, for "
                        f"example with CAST({column} AS {ours}) in the query that exports {right}"
                    )


def _of_row(type_name: str) -> str:
    """Return the type of one value of a list column, which holds many."""
    return type_name[: type_name.rindex("[")] if type_name.endswith("]") else type_name


def check_rows(
    engine: DuckDBEngine, planner: Planner, values: Mapping[str, Value], plan: Plan
) -> None:
    """Check the tables that a plan reads.

    Raises:
        DataError: the first rule that is broken, with examples and what to do.
    """
    nodes = plan.nodes()
    read = {node.name for node in nodes if node.is_input}
    for table, totals in _TOTALS.items():
        if table in read:
            _check_table(engine, planner, values, table, totals)
    if set(_TOTALS) <= read:
        common = planner.check(planner.catalog.checks["common_users"], values)
        if engine.records(common)[0]["n_common"] == 0:
            raise DataError(
                "recommendations and interactions have no user in common: "
                f"{_some_users(engine, planner, values)}. Check that both hold the same kind of id"
            )
    if any(node.name == "catalogue" for node in nodes):
        nulls = planner.check(planner.catalog.checks["catalogue_null_items"], values)
        if engine.records(nulls):
            raise DataError(
                f"{values.get('catalogue', 'the catalogue')}: column item_id holds NULL values; "
                "remove these rows"
            )


def _check_table(
    engine: DuckDBEngine,
    planner: Planner,
    values: Mapping[str, Value],
    table: str,
    totals: str,
) -> None:
    given = planner.tables[table]
    plan = planner.check(planner.catalog.checks[totals], values)
    try:
        counts = engine.records(plan)[0]
    except UnreadableError as error:
        files = ", ".join(dict.fromkeys(source.label for source in given.sources))
        raise DataError(f"{table}: {files} cannot be read: {error}") from error
    if counts["n_rows"] == 0:
        raise DataError(f"{table}: the table is empty ({OPTIONS[table]})")
    models = {source.model for source in given.sources if source.model is not None}
    if len(models) > 1:
        present = {row["model"] for row in engine.records(planner.stage("models", values))}
        for model in sorted(models - present):
            raise DataError(f"{table} of {model}: the table is empty; leave the model out")
    for check in planner.catalog.checks.values():
        if check.table != table or not counts[check.count]:
            continue
        found = check.found.format(
            n=f"{counts[check.count]:,}",
            rows=f"{counts['n_rows']:,}",
            lists=f"{counts.get('n_lists', 0):,}",
        )
        column = f", column {given.describe_column(check.column)}" if check.column else ""
        examples = engine.records(planner.check(check, values))
        raise DataError(
            f"{table}{column}: {found}, for example\n{example_rows(examples)}\n"
            f"What to do: {check.remedy}."
        )


def _some_users(engine: DuckDBEngine, planner: Planner, values: Mapping[str, Value]) -> str:
    """Show a few users of both tables."""
    texts = []
    for table in ("recommendation", "interaction"):
        plan = planner.stage(f"{table}_profile", values, limit=3)
        users = [[row[key] for key in planner.user_keys] for row in engine.records(plan)]
        shown = ", ".join(" ".join(map(repr, user)) for user in users)
        texts.append(f"{table}s has {shown}, …")
    return "; ".join(texts)
