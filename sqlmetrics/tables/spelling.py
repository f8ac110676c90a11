"""Read ids of text files as they are spelled, and columns of infinite numbers as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import Relation
from sqlmetrics.sql.templates import render_file
from sqlmetrics.tables.schema import is_number, of_row

_FROM_TEXTS = ("DATE", "TIME", "UUID")  # types that the engine infers from texts in JSON


def ids_as_they_stand(engine: Engine, relation: Relation, columns: Sequence[str]) -> Relation:
    """Keep the spelling of ids in CSV and JSON files."""
    columns = [name for name in columns if name not in relation.of_folders]
    if relation.format == "csv":
        return _ids_of_csv(engine, relation, columns)
    if relation.format == "json":
        return _ids_of_json(engine, relation, columns)
    return relation


def _ids_of_csv(engine: Engine, relation: Relation, columns: Sequence[str]) -> Relation:
    """Read id columns of CSV files as text, unless all ids in all files are plain integers.

    This keeps ids such as 1e2, 2020-1-1, true, 007, +7 and 0x10 unchanged.
    """
    held = _types_held(relation, columns)
    whole = [n for n in columns if all(kind.endswith(("INT", "INTEGER")) for kind in held[n])]
    others = [name for name in columns if name not in whole and held[name] != {"VARCHAR"}]
    types = dict.fromkeys(whole, "HUGEINT")
    as_texts = relation.csv(types=dict.fromkeys(whole, "VARCHAR"))
    names = [*others, *_spelled_otherwise(engine, relation, types, as_texts, trimmed=True)]
    return _csv_with(relation, dict.fromkeys(names, "VARCHAR"))


def _csv_with(relation: Relation, types: Mapping[str, str]) -> Relation:
    """Read columns of CSV files with these types instead of those that the engine detects."""
    if not types:
        return relation
    relation = replace(relation, csv_types={**relation.csv_types, **types})
    return replace(
        relation.with_types(types),
        sql=relation.csv(),
        ordered=relation.csv(in_order=True),
    )


def infinite_numbers(engine: Engine, relation: Relation, columns: Sequence[str]) -> Relation:
    """Read columns of CSV files as numbers if all their values are numbers.

    The engine takes `-inf` in the first row for a date, and then the whole column for dates or
    texts. The values of other columns that are not numbers become examples for messages.
    """
    if relation.format != "csv":
        return relation
    held = _types_held(relation, [name for name in columns if name not in relation.of_folders])
    others = [name for name, kinds in held.items() if not all(map(is_number, kinds))]
    if not others:
        return relation
    as_texts = relation.csv(types=dict.fromkeys(others, "VARCHAR"))
    query = render_file("inputs/only_numbers", {"columns": others, "relation": as_texts})
    (row,) = engine.query(query, relation.label)
    texts = {name: row[name] for name in others if row[name] is not None}
    relation = replace(relation, texts=texts)
    return _csv_with(relation, {name: "DOUBLE" for name in others if name not in texts})


def meanings_of_commas(engine: Engine, relation: Relation, column: str) -> dict[str, bool]:
    """Return whether commas in numbers of CSV files can separate thousands, and can be decimal."""
    as_texts = relation.csv(types={column: "VARCHAR"})
    query = render_file("inputs/commas", {"column": column, "relation": as_texts})
    (row,) = engine.query(query, relation.label)
    return {name: bool(row[name]) for name in ("of_thousands", "are_decimal")}


def _ids_of_json(engine: Engine, relation: Relation, columns: Sequence[str]) -> Relation:
    """Keep the spelling of ids in JSON files.

    The engine reads texts as dates, times or UUIDs. Dates and times are kept only if every id has
    the same spelling as text, so that 2020-1-1 is not read as 2020-01-01. UUIDs are read as text,
    as in CSV files. The engine reads integers above 64 bits as floating-point numbers, which are
    equal for different ids; they are read as integers of 128 bits.
    """
    held = _types_held(relation, columns)
    texts = {
        name: _list_of("VARCHAR", relation.types[name])
        for name in columns
        if any(kind.startswith(_FROM_TEXTS) for kind in held[name])
        and all(kind.startswith((*_FROM_TEXTS, "VARCHAR")) for kind in held[name])
    }
    types = {
        name: kind
        for name in texts
        for kind in held[name]
        if len(held[name]) == 1 and not kind.startswith("UUID")
    }
    long = {
        name: _list_of("HUGEINT", relation.types[name])
        for name in columns
        if any(kind.startswith("DOUBLE") for kind in held[name])
        and all(is_number(of_row(kind)) for kind in held[name])
    }
    as_texts = {**texts, **{name: _list_of("VARCHAR", kind) for name, kind in long.items()}}
    if not as_texts:
        return relation
    otherwise = _spelled_otherwise(engine, relation, {**types, **long}, relation.json(as_texts))
    changed = {name: text for name, text in texts.items() if name not in types or name in otherwise}
    changed |= {name: kind for name, kind in long.items() if name not in otherwise}
    if not changed:
        return relation
    return replace(relation.with_types(changed), sql=relation.json(changed))


def _types_held(relation: Relation, columns: Sequence[str]) -> dict[str, set[str]]:
    files = [relation.types, *(types for _, types in relation.parts)]
    return {name: {types.get(name, "") for types in files} for name in columns}


def _list_of(inner: str, type_name: str) -> str:
    """Return the type `inner`, or the type of lists of such values for a list type."""
    return re.sub(r"\A[^[]*", inner, type_name)


def _spelled_otherwise(
    engine: Engine,
    relation: Relation,
    types: Mapping[str, str],
    as_texts: str,
    trimmed: bool = False,
) -> list[str]:
    """Find the columns with an id whose spelling in the file differs from that of its type.

    `types` are the columns to check; `as_texts` is a relation that reads them as text. `trimmed`
    ignores blanks around ids.
    """
    if not types:
        return []
    ids = [
        {"name": name, "type": kind, "text": _list_of("VARCHAR", kind)}
        for name, kind in types.items()
    ]
    context = {"ids": ids, "relation": as_texts, "trimmed": trimmed}
    query = render_file("inputs/other_spellings", context)
    (row,) = engine.query(query, relation.label)
    return [name for name in types if row[name]]
