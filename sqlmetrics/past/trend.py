"""Follow a metric over the runs of a history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from sqlmetrics.errors import DataError, UsageError, suggestion
from sqlmetrics.metrics.spec import MetricSpec, labelled, parse_spec, unique
from sqlmetrics.past.append import KNOWN, NUMBERS, OF_LISTS, OF_METRIC, OF_RUN
from sqlmetrics.past.place import PER_USER, RESULTS, Place, columns_of, place_of
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import render_file
from sqlmetrics.stats.gates import OF_RUNS
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.texts.messages import Argument, Command, Message
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd


def trend(
    history: str | Path,
    metric: str,
    *,
    by: str | Iterable[str] | None = None,
    last: int | None = None,
    tags: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Follow a metric over the runs of a history, and split its changes by slices.

    The change since the run before has the variance se₀² + se₁² − 2 · cov · n_both / (n₀ · n₁),
    where `n_both` users are in both runs and `cov` is the covariance of their values. Without the
    per-user values of both runs (`append(per_user=…)`), the two samples count as independent. This
    is conservative, because users who come back mostly have similar values.

    Args:
        history: where `append` keeps the results: `"metrics.duckdb:results"` or `"results/"`.
        metric: the metric and cutoff as in the results, such as `"ndcg@10"`.
        by: the columns of slices. Each user must be in one slice.
        last: the number of runs to return, the newest ones; by default, all.
        tags: return only runs with these tags, such as `{"env": "live"}`.
        confidence: the level of the intervals of changes.

    Returns:
        One row per convention, model and run: `run_id, run_at` (UTC)`, tags, convention, model`,
        the columns of slices, `metric, k, value, ci_low, ci_high, n_users, change, change_low,
        change_high, n_both, same_settings`. `n_both` is missing if the samples count as
        independent. With `by`, there is a row per slice, and one with `(all)` for the mean over the
        users of all slices. Its change is the sum of four columns over the slices: `within` (other
        values in the slice), `mix` (another share of users), `appeared` and `disappeared` (slices
        of one of the two runs only).

    Raises:
        UsageError: the history has no such metric, cutoff, slice or tag.
        DataError: there is no history, or it cannot be read.
    """
    interval, place = Interval(confidence=confidence), place_of(history)
    if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 1):
        raise UsageError(f"last must be a whole number of at least 1, not {last!r}")
    spec, slices = parse_spec(metric), unique([by] if isinstance(by, str) else by or ())
    wanted = {str(name): str(value) for name, value in (tags or {}).items()}
    with place.connected() as connection:
        try:
            return _computed(connection, place, spec, slices, last, wanted, interval.z)
        except duckdb.Error as error:
            raise DataError(f"{place.text} cannot be read as a history: {error}") from error


def _computed(
    connection: duckdb.DuckDBPyConnection,
    place: Place,
    spec: MetricSpec,
    slices: list[str],
    last: int | None,
    tags: Mapping[str, str],
    z: float,
) -> pd.DataFrame:
    columns = check_is_history(connection, place)
    there = [name for name in columns if name not in KNOWN]
    for name in slices:
        if name not in there:
            known = f"its slices: {listed(there)}" if there else "its results have no slices"
            raise UsageError(
                f"{place.text} has no slices by {name}; {known}{suggestion(name, there)}"
            )
    others = [name for name in there if name not in slices]
    metric = {"metric": spec.name, "k": spec.cutoff}
    context = {**metric, "slices": slices, "others": others, "tags": tags, "last": last, "z": z}

    def view(name: str, template: str, **more: Any) -> None:
        text = render_file(f"trend/{template}", {**context, **more})
        connection.execute(f"CREATE TEMP VIEW {name} AS\n{text}")

    view("chosen", "chosen")
    if not connection.execute("SELECT run_id FROM chosen LIMIT 1").fetchall():
        view("of_slices", "chosen", slices=[], others=[])
        raise _why_empty(connection, place, spec, there, others, tags)
    view("runs", "runs", pooled=OF_RUNS[0] not in columns)
    of_users = columns_of(connection, PER_USER) if _has_users(connection) else {}
    if of_users:
        users = [name for name in of_users if name not in {*KNOWN, *there}]
        quoted = [*map(identifier, users)]
        kept = ", ".join(f"kept.{name}" for name in quoted)
        for name, judged, of in (
            ("overlap", "runs", []),
            ("overlap_of_slices", "chosen", slices),
        ):
            own = [*map(identifier, of)]
            view(name, "overlap", judged=judged, quoted_users=quoted, kept_users=kept,
                 quoted_slices=own)  # fmt: skip
    text = render_file("trend/changes", {**context, "kept": bool(of_users)})
    frame: pd.DataFrame = connection.execute(text).df()
    return frame.astype({**dict.fromkeys(("k", "n_users", "n_both"), "Int64"),
                         "same_settings": "boolean"})  # fmt: skip


def check_is_history(connection: duckdb.DuckDBPyConnection, place: Place) -> dict[str, str]:
    """Return the columns of a history with their types.

    Raises:
        DataError: a column that every history has is missing.
    """
    columns = columns_of(connection, RESULTS)
    needed = [*OF_RUN, *OF_LISTS, *OF_METRIC, *NUMBERS]
    if missing := [name for name in needed if name not in columns]:
        raise DataError(
            f"{place.text} is not a history of results: there is no column {missing[0]}",
            remedy=Message(
                "name the table or folder that results are appended to with ", Command("append")
            ),
        )
    return columns


def _has_users(connection: duckdb.DuckDBPyConnection) -> bool:
    found = connection.execute(
        "SELECT count(*) FROM duckdb_views() WHERE view_name = $1 AND temporary", [PER_USER]
    ).fetchone()
    return bool(found and found[0])


def _why_empty(
    connection: duckdb.DuckDBPyConnection,
    place: Place,
    spec: MetricSpec,
    there: list[str],
    others: list[str],
    tags: Mapping[str, str],
) -> UsageError:
    found = connection.execute("SELECT DISTINCT metric, k FROM results ORDER BY ALL").fetchall()
    if (spec.name, spec.cutoff) not in found:
        known, asked = [labelled(*one) for one in found], labelled(spec.name, spec.cutoff)
        return UsageError(
            f"{place.text} has no {asked}; its metrics: {listed(known)}{suggestion(asked, known)}"
        )
    of_slices = connection.execute("SELECT count(*), count(n_users) FROM of_slices").fetchone()
    n_rows, n_of_users = of_slices or (0, 0)
    if tags and not n_rows:
        asked = " and ".join(f"{name}={value}" for name, value in tags.items())
        return UsageError(f"{place.text} has no {spec.name} of a run with the tag {asked}")
    if others and (n_of_users or len(others) == len(there)):
        by = ["add ", Argument("by", ",".join(there)), ", or "] if n_of_users else []
        return UsageError(
            f"{place.text} has results by {listed(there)}, and none for all values of "
            f"{listed(others)}",
            remedy=Message(*by, "evaluate with ", Argument("combinations", True)),
        )
    return UsageError(f"{spec.name} has one value for each whole run, so it has no shares of users")
