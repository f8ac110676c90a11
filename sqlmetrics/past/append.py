"""Append a result to a history."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.spec import labelled, unique
from sqlmetrics.past.place import PER_USER, RESULTS, place_of
from sqlmetrics.past.settings import fingerprints
from sqlmetrics.record.record import ATTRIBUTE
from sqlmetrics.sql.templates import render_file
from sqlmetrics.stats.gates import OF_RUNS
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.stats.leaderboard import keys_of

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

# the columns of a history, without those of slices, and their types
OF_RUN = {
    "run_id": "VARCHAR", "run_at": "TIMESTAMP", "tags": "MAP(VARCHAR, VARCHAR)",
    "sqlmetrics_version": "VARCHAR", "fingerprint": "VARCHAR",
}  # fmt: skip
OF_LISTS = {"convention": "VARCHAR", "model": "VARCHAR"}
OF_METRIC = {"metric": "VARCHAR", "k": "BIGINT"}
NUMBERS = {
    "value": "DOUBLE", "n_users": "BIGINT", "std": "DOUBLE", "ci_low": "DOUBLE",
    "ci_high": "DOUBLE", "standard_error": "DOUBLE",
}  # fmt: skip
# those that only some results have
FURTHER = {**dict(zip(OF_RUNS, ("BIGINT", "DOUBLE"), strict=True)), "p_value": "DOUBLE"}
KNOWN = {*OF_RUN, *OF_LISTS, *OF_METRIC, *NUMBERS, *FURTHER}


def append(
    result: pd.DataFrame,
    to: str | Path,
    *,
    tags: Mapping[str, Any] | None = None,
    per_user: pd.DataFrame | None = None,
) -> str:
    """Append a result to a history, which is created if it does not exist.

    Args:
        result: the result of `Evaluator.evaluate`.
        to: a table of a DuckDB file, `"metrics.duckdb:results"`, or a folder of Parquet files,
            `"results/"`, with a file for each run.
        tags: names and values that describe the run, such as `{"date": "2026-11-26"}`.
        per_user: the result of `Evaluator.per_user` for the same metrics and slices. It is kept in
            the table `results_per_user`, or a folder of this name, so that `trend` knows the users
            that two runs share.

    Returns:
        The `run_id` of the new rows.

    Raises:
        UsageError: `to` is not such a place, or `result` is not the result of `evaluate`.
        DataError: the history has other columns, or cannot be written; it stays as it was.
    """
    place, run = place_of(to), _run(result, tags)
    position = [*result.columns].index("metric")
    slices = [name for name in result.columns[:position] if name not in OF_LISTS]
    if taken := [name for name in slices if name.lower() in KNOWN]:
        raise UsageError(
            f"a history has a column {taken[0]} of its own, so results cannot be sliced by a "
            "column of this name; rename it in its table"
        )
    record = result.attrs[ATTRIBUTE]
    marks = fingerprints(record["settings"], record["metrics"], record["given"]["where"])
    default = record["metrics"][0]["convention"]
    conventions = (
        [*map(str, result["convention"])] if "convention" in result else [default] * len(result)
    )
    marked = result.assign(
        convention=conventions,
        fingerprint=[marks.get(key, "") for key in zip(result["metric"], conventions, strict=True)],
    )
    of_row = [*dict.fromkeys((*result.columns[: position + 1], "convention", "k"))]
    if n_repeated := int(marked.duplicated(of_row).sum()):
        raise UsageError(
            f"the result repeats {n_repeated} of its {len(marked)} rows, so it would give a metric "
            "several values in one run; append the result of each call of evaluate as it is"
        )
    z = Interval(confidence=record["asked"]["confidence"]).z
    queries = {
        RESULTS: render_file(
            "trend/added",
            {
                **run,
                "z": z,
                "slices": slices,
                "several_models": "model" in result,
                "further": {name: kind for name, kind in FURTHER.items() if name in result},
            },
        )
    }
    if per_user is not None:
        queries[PER_USER] = render_file(
            "trend/added_users", {**run, **_of_users(per_user, result, slices, default)}
        )

    def rows(connection: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
        connection.register("result", marked)
        if per_user is not None:
            connection.register("values_of_users", per_user)
        return queries

    place.added(rows, run["run_id"])
    return str(run["run_id"])


def _run(result: Any, tags: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the rows of a run share; the names of runs have their order in time."""
    record = getattr(result, "attrs", {}).get(ATTRIBUTE)
    if not record or record["result"] != "evaluate" or "metric" not in result:
        raise UsageError(
            "a history has the results of Evaluator.evaluate; this is not the data frame that "
            "evaluate returned"
        )
    if tags is not None and not isinstance(tags, Mapping):
        raise UsageError(f"tags are names and values such as {{'env': 'live'}}, not {tags!r}")
    now = datetime.now(UTC)
    return {
        "run_id": f"{now:%Y%m%dT%H%M%S.%fZ}-{os.urandom(4).hex()}",
        "run_at": datetime.fromisoformat(record["started"]).astimezone(UTC).strftime("%F %T"),
        "tags": {str(name): str(value) for name, value in (tags or {}).items()},
        "version": record["versions"]["sqlmetrics"],
    }


def _of_users(
    per_user: pd.DataFrame, result: pd.DataFrame, slices: list[str], convention: str
) -> dict[str, Any]:
    """Find the columns of per-user values."""
    there = [*per_user.columns]
    has_users = result["n_users"].notna() & result["value"].notna()
    sources = []
    for metric, k in unique(keys_of(result[has_users])):
        label = labelled(metric, k)
        column = metric if "k" in there else label
        if column not in there:
            raise UsageError(f"per_user has no values of {label}, which the result has")
        sources.append({"column": column, "metric": metric, "k": k})
    named = {source["column"] for source in sources}
    if missing := [name for name in slices if name not in there]:
        raise UsageError(f"per_user has no column {missing[0]}, by which the result is sliced")
    results = {*OF_LISTS, *slices, "k"}
    start = next((n for n, name in enumerate(there) if name in named), len(there))
    users = [name for name in there[:start] if name not in results]
    if taken := [name for name in users if name.lower() in KNOWN]:
        raise UsageError(f"a history has a column {taken[0]} of its own; rename the key of users")
    return {
        "sources": sources,
        "long": "k" in there,
        "users": users,
        "slices": slices,
        "several_models": "model" in there,
        "convention": None if "convention" in there else convention,
    }
