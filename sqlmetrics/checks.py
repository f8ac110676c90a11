"""Checks at the door: what would make numbers wrong is refused, with the rows that are wrong.

The counts come from the profile stages, which read each table once; the offending rows are looked
up only when there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlmetrics.catalog import Check
from sqlmetrics.engines.base import Engine
from sqlmetrics.errors import DataError, RowsError, UnreadableError, example_rows
from sqlmetrics.graph import Node, Plan
from sqlmetrics.plan import Planner
from sqlmetrics.slices import Attribute, Slicing
from sqlmetrics.spec import Value
from sqlmetrics.tables import ATTRIBUTES, OPTIONS, UNKNOWN, Table, type_family

# the check that counts what the others look for, of each table
TOTALS = {"recommendations": "recommendation_totals", "interactions": "interaction_totals"}


def all_rows(plan: Plan) -> Plan:
    """Look at all rows."""
    return plan


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
                if UNKNOWN in (ours, theirs):
                    continue
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
    engine: Engine,
    planner: Planner,
    values: Mapping[str, Value],
    nodes: Mapping[str, Node],
    done: set[str],
    rows_of: Callable[[Plan], Plan] = all_rows,
) -> None:
    """Check the tables that the nodes of a metric read; `done` are checks that have passed before.

    `rows_of` makes a check look at some rows only; what they lack is looked for among all.

    Raises:
        DataError: the first rule that is broken, with examples and what to do.
    """
    read = [node.name for node in nodes.values() if node.is_input]
    for table in read:
        if table in TOTALS:
            _check_totals(engine, planner, values, table, done, rows_of)
        else:
            _check_not_empty(engine, planner, values, ATTRIBUTES.get(table, (table,))[0], done)
    if set(TOTALS) <= set(read):
        common = planner.check(planner.catalog.checks["common_users"], values)
        if common.root.key not in done and not any(
            engine.records(plan)[0]["n_common"] for plan in (rows_of(common), common)
        ):
            raise DataError(
                "recommendations and interactions have no user in common: "
                f"{_some_users(engine, planner, values)}. Check that both hold the same kind of id"
            )
        done.add(common.root.key)
    for check in planner.catalog.checks.values():
        absent = check.table in OPTIONS and check.table not in planner.tables
        if absent or not nodes.keys() & set(check.on):
            continue
        plan = planner.check(check, values)
        examples = [] if plan.root.key in done else engine.records(rows_of(plan))
        if examples:
            counts = {"n": examples[0]["n_found"]}
            rows = [{n: v for n, v in row.items() if n != "n_found"} for row in examples]
            raise _broken(planner, check, values, counts, rows)
        done.add(plan.root.key)


def check_even(
    engine: Engine,
    slicing: Slicing,
    attribute: Attribute,
    done: set[str],
    rows_of: Callable[[Plan], Plan] = all_rows,
) -> None:
    """Check that a user has one value of a column that users are sliced by.

    Raises:
        DataError: names the column and users with several values.
    """
    plan = slicing.uneven(attribute)
    rows = [] if plan.root.key in done else engine.records(rows_of(plan))
    if rows:
        found = rows[0]["n_found"]
        examples = [{name: row[name] for name in row if name != "n_found"} for row in rows]
        template = attribute.template
        where = f"{attribute.table}, column {attribute.name}" if template is None else template.path
        raise RowsError(
            f"{where}: {found:,} users have several values, for "
            f"example\n{example_rows(examples)}\nWhat to do: slice by a column that is the same in "
            "all rows of a user, or export one row per user as the table users."
        )
    done.add(plan.root.key)


def _check_totals(
    engine: Engine,
    planner: Planner,
    values: Mapping[str, Value],
    table: str,
    done: set[str],
    rows_of: Callable[[Plan], Plan],
) -> None:
    given = planner.tables[table]
    plan = planner.check(planner.catalog.checks[TOTALS[table]], values)
    if plan.root.key in done:
        return
    try:
        counts = engine.records(rows_of(plan))[0]
    except UnreadableError as error:
        files = ", ".join(dict.fromkeys(source.label for source in given.sources))
        raise DataError(f"{table}: {files} cannot be read: {error}") from error
    if counts["n_rows"] == 0:
        _check_not_empty(engine, planner, values, table, done)
    models = {source.model for source in given.sources if source.model is not None}
    if len(models) > 1:
        there = planner.stage("models", values)
        for plan_of_models in (rows_of(there), there):
            if models:
                models -= {row["model"] for row in engine.records(plan_of_models)}
        for model in sorted(models):
            raise DataError(f"{table} of {model}: the table is empty; leave the model out")
    for check in planner.catalog.checks.values():
        if check.table == table and check.count and counts[check.count]:
            found = {
                "n": counts[check.count],
                "rows": counts["n_rows"],
                "lists": counts.get("n_lists", 0),
            }
            examples = engine.records(rows_of(planner.check(check, values)))
            if examples:  # what was counted may only look so: see the macro sorted_hashes
                raise _broken(planner, check, values, found, examples)
    done.add(plan.root.key)


def _check_not_empty(
    engine: Engine,
    planner: Planner,
    values: Mapping[str, Value],
    table: str,
    done: set[str],
) -> None:
    plan = planner.stage(table, values, limit=1)
    if plan.root.key not in done and not engine.records(plan):
        raise _empty(table)
    done.add(plan.root.key)


def _empty(table: str) -> DataError:
    return DataError(f"{table}: the table is empty ({OPTIONS[table]})")


def _broken(
    planner: Planner,
    check: Check,
    values: Mapping[str, Value],
    counts: Mapping[str, int],
    examples: Sequence[Mapping[str, Any]],
) -> RowsError:
    """Say which rule is broken where, with rows that break it and what to do."""
    table, column = (text.format_map(values) for text in (check.table, check.column))
    where = table
    if column:
        where += f", column {planner.tables[table].describe_column(column)}"
    found = check.found.format_map({name: f"{count:,}" for name, count in counts.items()})
    return RowsError(
        f"{where}: {found}, for example\n{example_rows(examples)}\nWhat to do: {check.remedy}."
    )


def _some_users(engine: Engine, planner: Planner, values: Mapping[str, Value]) -> str:
    """Show a few users of both tables."""
    texts = []
    for table in ("recommendation", "interaction"):
        plan = planner.stage(f"{table}_profile", values, limit=3)
        users = [[row[key] for key in planner.user_keys] for row in engine.records(plan)]
        shown = ", ".join(" ".join(map(repr, user)) for user in users)
        texts.append(f"{table}s has {shown}, …")
    return "; ".join(texts)
