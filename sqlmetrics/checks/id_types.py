"""Check that the ids of different tables have types that can be equal."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from sqlmetrics.engines.base import Engine
from sqlmetrics.errors import DataError
from sqlmetrics.messages import sentences
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import environment
from sqlmetrics.tables.schema import NO_TYPE, UNKNOWN, Table, of_row, type_family

_UNTYPED = {UNKNOWN, NO_TYPE}


def check_types(engine: Engine, tables: Mapping[str, Table], user_keys: tuple[str, ...]) -> None:
    """Reject tables whose ids have types that can never be equal, such as 1 and '1'.

    Raises:
        DataError: names both tables, the column and the types.
    """
    for left, right in itertools.combinations(tables, 2):
        for column in (*user_keys, "item_id"):
            ours, theirs = (tables[name].columns.get(column) for name in (left, right))
            if ours is None or theirs is None:
                continue
            ours, theirs = (of_row(type_name) for type_name in (ours, theirs))
            if not {ours, theirs}.isdisjoint(_UNTYPED):
                continue
            if type_family(ours) != type_family(theirs):
                raise _different(engine, tables[left], tables[right], column, ours, theirs)


def _different(
    engine: Engine, left: Table, right: Table, column: str, ours: str, theirs: str
) -> DataError:
    """Return the error, with the way to convert the ids of one of the two tables."""
    problem = (
        f"{left.name} and {right.name}: the ids in column {left.describe_column(column)} have "
        f"different types, {ours} and {theirs}, so no rows would match. Ids are never converted"
    )
    families = {type_family(ours): left, type_family(theirs): right}
    floats = families.get("floating-point")
    if floats is not None:
        return _of_floats(engine, problem, floats, column, as_text="text" in families)
    if "text" in families:  # every id can be text
        converted, type_name = (right, ours) if families["text"] is left else (left, theirs)
    else:
        converted, type_name = right, ours
    name = _source_of(converted, column)
    in_pandas = f"frame.astype({{{name!r}: str}}) in pandas or " if "text" in families else ""
    return DataError(
        problem,
        table=converted.name,
        column=column,
        remedy=f"convert the ids of {converted.name}, for example with {in_pandas}"
        f"CAST({identifier(name)} AS {type_name}) in SQL",
    )


def _of_floats(engine: Engine, problem: str, table: Table, column: str, as_text: bool) -> DataError:
    """Return the error for ids that are floats, mostly because pandas has converted integers.

    `as_text` tells that the ids of the other table are text.
    """
    n_rows, n_missing, n_fractional = _counts(engine, table, column)
    name = _source_of(table, column)
    why, first, drop = "", "", ""
    if n_fractional:
        why = f"{n_fractional:,} of {n_rows:,} ids of {table.name} are not whole numbers"
        return DataError(
            sentences(problem, why),
            table=table.name,
            column=column,
            remedy="check that both tables have the same kind of id",
        )
    if n_missing:
        are = "is" if n_missing == 1 else "are"
        why = (
            f"{n_missing:,} of {n_rows:,} ids {are} missing in {table.name}; pandas converts a "
            "column of integers to floats if some are missing"
        )
        drop, first = f".dropna(subset=[{name!r}])", "remove the rows without an id and "
    kinds = "text" if as_text else "integers"
    in_pandas = f"frame{drop}.astype({{{name!r}: 'int64'}})"
    in_sql = f"CAST({identifier(name)} AS BIGINT)"
    if as_text:
        in_pandas += f".astype({{{name!r}: str}})"
        in_sql = f"CAST({in_sql} AS VARCHAR)"
    return DataError(
        sentences(problem, why),
        table=table.name,
        column=column,
        remedy=f"{first}convert the ids of {table.name} to {kinds}, for example with {in_pandas} "
        f"in pandas or {in_sql} in SQL",
    )


def _counts(engine: Engine, table: Table, column: str) -> tuple[int, int, int]:
    """Count the ids of a table, the missing ids, and the ids that are not whole numbers."""
    probe = environment().get_template("inputs/float_ids.sql.j2")
    counts = [0, 0, 0]
    for source in table.sources:
        found = source.find(column)
        if found is None or found.is_list or source.only_named:
            continue
        query = probe.render(column=found.source, relation=source.relation)
        (row,) = engine.query(query, source.label)
        numbers = (row["n_rows"], row["n_missing"], row["n_fractional"])
        counts = [total + int(number) for total, number in zip(counts, numbers, strict=True)]
    return counts[0], counts[1], counts[2]


def _source_of(table: Table, column: str) -> str:
    """Return the name of a column in the first source that has it."""
    found = (source.find(column) for source in table.sources)
    return next(known.source for known in found if known is not None)
