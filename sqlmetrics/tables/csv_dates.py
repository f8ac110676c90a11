"""Find dates in CSV files whose day and month may have changed places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import Relation
from sqlmetrics.sql.quoting import literal
from sqlmetrics.sql.templates import render_file
from sqlmetrics.tables import csv_layout

_LAST_MONTH = 12


def check_dates(engine: Engine, table: str, relation: Relation, column: str | None) -> list[str]:
    """Return a warning if dates such as 05/03/2024 were read day first, and no day shows that."""
    kind = relation.types.get(column or "", "")
    is_csv = relation.format == "csv" and engine.embedded is not None
    if not is_csv or not kind.startswith(("DATE", "TIMESTAMP")):
        return []
    assert column is not None
    name = "date" if kind == "DATE" else "timestamp"
    context = {"column": column, "relation": relation.sql, "kind": name}
    of_files = {"files": relation.files[0], "layout": relation.layout}
    query = render_file("inputs/date_format", {**context, **of_files})
    row: Mapping[str, Any] = next(iter(engine.query(query, relation.label)), {"written_as": ""})
    written_as = row["written_as"] or ""
    if not written_as.startswith("%d") or row["last_day"] > _LAST_MONTH:
        return []
    first = row["first_moment"].strftime(written_as)
    other = written_as.replace("%d", "%D").replace("%m", "%d").replace("%D", "%m")
    paths = [*map(engine.shown, relation.files)]
    separator = relation.layout.separator if relation.layout else ","
    reading = csv_layout.query(paths, separator, f"{name}format = {literal(other)}")
    advice = "" if "stdin" in paths else f", or pass the query {reading}"
    return [
        f"{table}, column {column}: the dates of {relation.label}, such as {first}, were read day "
        f"first; no day is above {_LAST_MONTH}, so they may be month first. Write dates as "
        f"2024-03-05{advice}"
    ]
