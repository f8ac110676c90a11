"""The past of a result: what gates compare its rows with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from sqlmetrics.errors import DataError
from sqlmetrics.past.append import OF_LISTS
from sqlmetrics.past.place import Place
from sqlmetrics.past.trend import check_is_history
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import render_file
from sqlmetrics.stats.gates import Gate, OfPast, Past


@contextmanager
def of_past(
    place: Place, slices: Sequence[str], marks: Mapping[tuple[str, str], str], convention: str
) -> Iterator[OfPast]:
    """Open the past of the rows of a result.

    Args:
        place: the history; the past is empty if it does not exist yet.
        slices: the columns of slices.
        marks: the fingerprints of the settings, by metric and convention.
        convention: that of rows without a column for it.

    Raises:
        DataError: the history cannot be read.
    """
    if not place.exists():
        yield lambda *_: (0, None)
        return
    groups = ["fingerprint", *OF_LISTS, *map(identifier, slices), "k"]
    known: dict[tuple[str, str, int], dict[tuple[Any, ...], Any]] = {}
    with place.connected() as connection:
        check_is_history(connection, place)

        def number(gate: Gate, term: Past, row: Mapping[str, Any]) -> tuple[int, float | None]:
            key = (gate.metric, gate.column, term.n_runs)
            if key not in known:
                context = {
                    "groups": groups, "metric": gate.metric, "column": gate.column,
                    "n_runs": term.n_runs,
                }  # fmt: skip
                try:
                    found = connection.execute(render_file("trend/past", context)).fetchall()
                except duckdb.Error as error:
                    raise DataError(
                        f"{place.text} has no past of these results: {error}"
                    ) from error
                known[key] = {values[:-3]: values[-3:] for values in found}
            own = str(row.get("convention", convention))
            model = None if row.get("model") is None else str(row["model"])
            texts = [None if row[name] is None else str(row[name]) for name in slices]
            k = None if row["k"] is None else int(row["k"])
            of_row = (marks.get((gate.metric, own)), own, model, *texts, k)
            n_runs, mean, std = known[key].get(of_row, (0, None, None))
            return n_runs, mean if term.name == "mean" else std

        yield number
