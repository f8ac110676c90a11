"""Check that the ids of different tables have types that can be equal."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlmetrics.engines.base import Engine
from sqlmetrics.errors import DataError
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.sql.query_graph import parse
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import render_file
from sqlmetrics.sql.transpile import printed
from sqlmetrics.tables.schema import NO_TYPE, ROUND, UNKNOWN, ZONED, Table, of_row, type_family
from sqlmetrics.texts.messages import Message, sentences
from sqlmetrics.texts.wording import by_number

_UNTYPED = {UNKNOWN, NO_TYPE}
# times by precision: a conversion to a type further right keeps different ids different
_TIMES = ("DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE",
          "TIMESTAMP_NS", "TIMESTAMPTZ_NS")  # fmt: skip
_EXACT = {"FLOAT": 2**24, "REAL": 2**24}  # different whole numbers from here on can be equal
_OTHER_KIND = "check that both tables have the same kind of id"
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_DIGITS_OF_BIGINT = 18


def check_types(engine: Engine, tables: Mapping[str, Table], user_keys: tuple[str, ...]) -> None:
    """Reject ids of types that can never be equal, such as 1 and '1', and ids that floats merge.

    Raises:
        DataError: names the tables, the column and the types.
    """
    names = (*user_keys, "item_id", ROUND)
    for table, column in itertools.product(tables.values(), names):
        if type_family(of_row(table.columns.get(column, ""))) == "floating-point":
            _check_floats(engine, table, column)
    for left, right in itertools.combinations(tables, 2):
        for column in names:
            ours, theirs = (tables[name].columns.get(column) for name in (left, right))
            if ours is None or theirs is None:
                continue
            ours, theirs = (of_row(type_name) for type_name in (ours, theirs))
            if not {ours, theirs}.isdisjoint(_UNTYPED):
                continue
            if type_family(ours) != type_family(theirs):
                raise _different(engine, tables[left], tables[right], column, ours, theirs)


def _check_floats(engine: Engine, table: Table, column: str) -> None:
    """Reject ids that are floating-point numbers with too many digits."""
    type_name = of_row(table.columns[column])
    exact = _EXACT.get(type_name, 2**53)
    counts = _counts(engine, table, column, exact)
    if counts.inexact:
        raise DataError(
            f"{table.name}, column {table.describe_column(column)}: {counts.inexact:,} of "
            f"{counts.rows:,} ids {by_number(counts.inexact, 'is|are')} {exact} or more, where "
            f"different ids become equal as {type_name}",
            table=table.name,
            column=column,
            remedy="export the ids as text or as integers",
        )


def _different(
    engine: Engine, left: Table, right: Table, column: str, ours: str, theirs: str
) -> DataError:
    """Return the error, with the way to convert the ids of one of the two tables."""
    problem = (
        f"{left.name} and {right.name}: the ids in column {left.describe_column(column)} have "
        f"different types, {ours} and {theirs}, so no rows would match. Ids are never converted"
    )
    held = {type_family(ours): (left, ours), type_family(theirs): (right, theirs)}
    for family in ("floating-point", "decimal"):
        if family in held:
            table, type_name = held[family]
            as_text = "text" in held
            return _of_fractions(engine, problem, table, column, type_name, as_text=as_text)
    if "text" in held:  # every id can be text
        converted, type_name = (right, theirs) if held["text"][0] is left else (left, ours)
        name = _source_of(converted, column)
        in_sql = _cast(_at_utc(identifier(name), type_name, engine.dialect), "VARCHAR")
        if type_name == "BLOB":
            in_sql = f"decode({identifier(name)})"
        # for other types, such as BOOLEAN, pandas writes other texts than SQL
        in_pandas = {
            "integer": f"frame.astype({{{name!r}: str}}) in pandas or ",
            "BLOB": f"frame[{name!r}].str.decode('utf-8') in pandas or ",
        }.get(type_family(type_name), "")
        how = f"for example with {in_pandas}{_spelled(engine, in_sql)} in SQL"
    elif ours in _TIMES and theirs in _TIMES:
        (converted, coarse), (_, fine) = sorted(
            ((left, ours), (right, theirs)), key=lambda held: _TIMES.index(held[1])
        )
        finer = _as_finer(_source_of(converted, column), coarse, fine, engine.dialect)
        how = f"for example with {_spelled(engine, finer)} in SQL"
        if (coarse in ZONED) != (fine in ZONED):
            how += ", with the time zone of the ids without a time zone"
    else:
        return DataError(problem, table=right.name, column=column, remedy=_OTHER_KIND)
    return DataError(
        problem,
        table=converted.name,
        column=column,
        remedy=f"convert the ids of {converted.name}, {how}",
    )


def _of_fractions(
    engine: Engine, problem: str, table: Table, column: str, type_name: str, as_text: bool
) -> DataError:
    """Return the error for ids that are floats or decimals, mostly converted from integers.

    pandas converts integers to floats; warehouses export them as decimals. `as_text` tells that the
    ids of the other table are text.
    """
    counts = _counts(engine, table, column)
    name = _source_of(table, column)
    why: str | Message = ""
    first, drop = "", ""
    if counts.fractional:
        are = by_number(counts.fractional, "is not a whole number|are not whole numbers")
        why = f"{counts.fractional:,} of {counts.rows:,} ids of {table.name} {are}"
        return DataError(
            sentences(problem, why), table=table.name, column=column, remedy=_OTHER_KIND
        )
    if counts.missing:
        are = by_number(counts.missing, "is|are")
        why = f"{counts.missing:,} of {counts.rows:,} ids {are} missing in {table.name}"
        if type_family(type_name) == "floating-point":
            why += "; pandas converts a column of integers to floats if some are missing"
        drop, first = f".dropna(subset=[{name!r}])", "remove the rows without an id and "
    digits = _DECIMAL.match(type_name)
    n_digits = int(digits[1]) - int(digits[2]) if digits else 0
    in_sql = _cast(identifier(name), "BIGINT" if n_digits <= _DIGITS_OF_BIGINT else "HUGEINT")
    in_pandas = f"frame{drop}.astype({{{name!r}: 'int64'}})"
    kinds = "integers"
    if as_text:
        kinds = "text"
        in_pandas += f".astype({{{name!r}: str}})"
        in_sql = _cast(in_sql, "VARCHAR")
    ways = [f"{_spelled(engine, in_sql)} in SQL"]
    if n_digits <= _DIGITS_OF_BIGINT:
        ways.insert(0, f"{in_pandas} in pandas")
    return DataError(
        sentences(problem, why),
        table=table.name,
        column=column,
        remedy=f"{first}convert the ids of {table.name} to {kinds}, for example with "
        + " or ".join(ways),
    )


def _as_finer(name: str, coarse: str, fine: str, dialect: str) -> str:
    """Return the conversion of times to a type at least as precise, in any zone of the session."""
    if (coarse in ZONED) == (fine in ZONED):
        return _cast(identifier(name), fine)
    if coarse in ZONED:
        return _cast(_at_utc(identifier(name), coarse, dialect), fine)
    plain = identifier(name) if coarse == ZONED[fine] else _cast(identifier(name), ZONED[fine])
    if dialect == "spark":  # which has no AT TIME ZONE
        in_zone = f"convert_timezone('UTC', current_timezone(), {_cast(plain, 'TIMESTAMP')})"
        return _cast(in_zone, "TIMESTAMP_LTZ")
    return f"{plain} AT TIME ZONE 'UTC'"


def _spelled(engine: Engine, expression: str) -> str:
    """Return an expression in DuckDB's SQL in that of the engine."""
    if engine.dialect == NATIVE:
        return expression
    tree = parse(f"SELECT {expression}", "a remedy")
    return printed(tree, engine.dialect, pretty=False, is_input=True).removeprefix("SELECT ")


def _at_utc(expression: str, type_name: str, dialect: str) -> str:
    """Return times with a time zone as those in UTC; other expressions are returned unchanged."""
    if type_name not in ZONED:
        return expression
    if dialect == NATIVE:
        return f"{expression} AT TIME ZONE 'UTC'"
    return f"make_timestamp(epoch_us({expression}))"  # as queries convert them


def _cast(expression: str, type_name: str) -> str:
    return f"CAST({expression} AS {type_name})"


@dataclass
class _Counts:
    """Numbers of ids: all, missing, not whole, and too large for the type to tell them apart."""

    rows: int = 0
    missing: int = 0
    fractional: int = 0
    inexact: int = 0


def _counts(engine: Engine, table: Table, column: str, exact: int = 2**53) -> _Counts:
    """Count the ids of a table; from `exact` on, a whole number can stand for several ids."""
    total = _Counts()
    for source in table.sources:
        found = source.find(column)
        if found is None or found.is_list or source.only_named:
            continue
        is_float = type_family(found.type) == "floating-point"
        context = {"column": found.source, "relation": source.relation}
        query = render_file("inputs/float_ids", {**context, "exact": exact, "is_float": is_float})
        (row,) = engine.query(query, source.label)
        total.rows += int(row["n_rows"])
        total.missing += int(row["n_missing"])
        total.fractional += int(row["n_fractional"])
        total.inexact += int(row["n_inexact"])
    return total


def _source_of(table: Table, column: str) -> str:
    """Return the name of a column in the first source that has it."""
    found = (source.find(column) for source in table.sources)
    return next(known.source for known in found if known is not None)
