"""The record of a result as plain values: versions, settings, sources, counts of users and SQL.

Records can be written as JSON. The contents of tables, the counts of users and the findings of data
checks need a pass over the tables, so they are recorded only on request; all other entries are
always recorded.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from sqlmetrics.engines import lakes
from sqlmetrics.engines.relation import TableName
from sqlmetrics.errors import GateError
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import without_credit
from sqlmetrics.record import fingerprints
from sqlmetrics.record.entries import FORMAT, MetricEntry, Record, SourceEntry, UsersEntry
from sqlmetrics.sql.query_graph import Node, Plan
from sqlmetrics.texts.masking import masked
from sqlmetrics.texts.messages import TABLES
from sqlmetrics.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.checks.data_warnings import DataWarnings
    from sqlmetrics.engines.base import Engine
    from sqlmetrics.plan.planner import Planner
    from sqlmetrics.plan.request import PlannedRun
    from sqlmetrics.record.entries import ResultName
    from sqlmetrics.rows import Rows
    from sqlmetrics.tables.schema import Table

ATTRIBUTE = "sqlmetrics"  # key of the record in the attrs of a data frame
MOST_ROWS = 5000  # maximum number of rows of a result that a record stores
_NOT_GIVEN = {
    "self",
    "engine",
    "dialect",
    "connection",
    "watch",
    "check",
    "record",
    "scored",
    *TABLES,
}
# arguments that choose the output or a condition of failure
NOT_RECORDED = {"path", "name", "force", "per_user", "fail_if", "past"}
_METHODS = {"rows": "evaluate"}
_ELSEWHERE = "outside DuckDB, this would need another pass over the tables"

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Recorded(Protocol):
    """The part of a session that a record describes."""

    engine: Engine
    tables: Mapping[str, Table]
    planner: Planner
    recorder: Recorder
    call: Any  # the running public call
    data_warnings: DataWarnings


class Recorder:
    """Makes the records of an evaluator's results.

    Args:
        given: the arguments of the evaluator, by name.
        with_contents: also record the contents of tables and the counts of users.
    """

    def __init__(self, given: Mapping[str, Any], with_contents: bool = False) -> None:
        self.given = {name: plain(value) for name, value in given.items() if name not in _NOT_GIVEN}
        self._sources = {name: given.get(name) for name in TABLES}
        self.with_contents = with_contents
        self.last: dict[str, Any] | None = None

    def record(
        self,
        session: Recorded,
        method: str,
        asked: Mapping[str, Any],
        runs: Sequence[PlannedRun],
        started: datetime,
        seconds: float,
    ) -> dict[str, Any]:
        """Assemble the record; see docs/reference/record.md for its entries."""
        requests = [request for run in runs for request in run.requests]
        given = dict(self.given)
        if "baseline" not in session.tables:  # may be the name of a model
            given["baseline"] = plain(self._sources["baseline"])
        settings, metrics = settings_of(requests)
        record: Record = {
            "record": FORMAT,
            "result": cast("ResultName", method),
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(seconds, 3),
            "versions": _versions(session.engine),
            "given": given,
            "asked": plain(asked),
            "settings": settings,
            "metrics": metrics,
            "sql": fingerprints.identity(*(run.plan.root for run in runs)),
            "sources": list(self._described(session.tables)),
        }
        entries = cast("dict[str, Any]", record)
        changing = session.engine.changing
        if changing is not None and (why := changing.several_moments):
            entries = _unknown(entries, moment=why)
        if not self.with_contents:
            return entries
        engine = session.engine.embedded
        if engine is None:
            reasons = dict.fromkeys(("contents", "users", "findings"), _ELSEWHERE)
            return _unknown(entries, **reasons)
        record["contents"] = [
            {
                "table": content.table,
                "model": content.model,
                "columns": list(content.columns),
                "rows": content.rows,
                "fingerprint": content.fingerprint,
            }
            for content in fingerprints.contents(engine, [run.plan.root for run in runs])
        ]
        record["users"] = list(_users(session, runs))
        noticed = session.data_warnings.noticed(requests, session.call.check)
        record["findings"] = [
            {
                "level": finding.level,
                "check": finding.check,
                "table": finding.table,
                "found": str(finding.found),
            }
            for finding in noticed.findings
        ]
        if noticed.unchecked:
            return _unknown(entries, findings=str(noticed.unchecked))
        return entries

    def _described(self, tables: Mapping[str, Table]) -> Iterator[SourceEntry]:
        for name, table in tables.items():
            for source in table.sources:
                given: Any = self._sources[name]
                given = given if source.model is None else given[source.model]
                given = given if source.run is None else given[source.run]
                # the name of a lake table includes the version that was read
                is_lake = source.format in lakes.KINDS
                text, kind = _source(source.label if is_lake else given, source.format)
                entry: SourceEntry = {
                    "table": name, "model": source.model, "source": text, "kind": kind,
                }  # fmt: skip
                if source.run is not None:
                    entry["run"] = source.run
                if source.files:
                    entry["files"] = len(source.files)
                yield entry


class _OfFrame(dict[str, Any]):
    """A record in the attrs of a data frame, which frames derived from it share.

    pandas copies attrs deeply with each operation, which can take longer than the operation.
    """

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:  # other processes need no sqlmetrics to read it
        return dict, (dict(self),)


def recorded(method: _Method) -> _Method:
    """Make a method of the evaluator record its result.

    The record is `last_record` of the evaluator, and an entry of the attrs of a data frame.
    """
    signature = inspect.signature(method)

    @functools.wraps(method)
    def with_record(evaluator: Any, *args: Any, **kwargs: Any) -> Any:
        session: Recorded = evaluator._session
        recorder, call = session.recorder, session.call
        if call.is_recorded:  # a call inside another recorded method
            return method(evaluator, *args, **kwargs)
        try:
            bound = signature.bind(evaluator, *args, **kwargs)
        except TypeError:
            return method(evaluator, *args, **kwargs)  # raises the error about wrong arguments
        for name, value in bound.arguments.items():
            if isinstance(value, Iterator):  # an iterator can be read only once
                bound.arguments[name] = list(value)
        started, clock = datetime.now(UTC), time.perf_counter()
        failed: GateError | None = None
        call.is_recorded = True
        try:
            result = method(*bound.args, **bound.kwargs)
        except GateError as error:  # the result exists although a gate failed
            result, failed = error.frame, error
        seconds = time.perf_counter() - clock
        is_frame = hasattr(result, "attrs")
        recorder.last = None
        if is_frame or recorder.with_contents:
            bound.apply_defaults()
            asked, name = _asked(bound, method.__name__)
            record = recorder.record(session, name, asked, call.runs, started, seconds)
            recorder.last = record
            if is_frame:
                result.attrs[ATTRIBUTE] = _OfFrame(record)
        if failed is not None:
            raise failed
        return result

    return cast("_Method", with_record)


def with_result(
    record: Mapping[str, Any], result: Rows | pd.DataFrame | Path | None
) -> dict[str, Any]:
    """Add the rows of a result to its record, unless there are too many.

    `result` is the rows, or the Parquet file that holds them; None if they are stored elsewhere.
    """
    from sqlmetrics.rows import Rows

    if result is None:
        return _unknown(dict(record), rows="Spark wrote the rows to files")
    if isinstance(result, Path):
        import pyarrow.parquet as pq

        with pq.ParquetFile(result) as file:
            n_rows = file.metadata.num_rows
            names = file.schema_arrow.names
            columns = [] if n_rows > MOST_ROWS else file.read().to_pydict().values()
        result = Rows(names, [], list(zip(*columns, strict=True)))
    else:
        n_rows = len(result)
    if n_rows > MOST_ROWS:
        why = f"the result has {n_rows:,} rows; a record stores at most {MOST_ROWS:,}"
        return _unknown(dict(record), rows=why)
    rows = Rows.of(result)
    values = [[plain(value) for value in row] for row in rows.values]
    return {**record, "columns": list(rows.names), "rows": values}


def _unknown(record: dict[str, Any], **reasons: str) -> dict[str, Any]:
    """Add the reasons for missing entries to a record."""
    return {**record, "unknown": {**record.get("unknown", {}), **reasons}}


def plain(value: Any) -> Any:
    """Convert a value to a JSON value; others become text. Secrets in URLs are hidden."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # a NumPy number
        return plain(value.item())
    if isinstance(value, Mapping):
        return {masked(str(name)): plain(entry) for name, entry in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(entry) for entry in value]
    return masked(str(value))


def _asked(bound: inspect.BoundArguments, method: str) -> tuple[dict[str, Any], str]:
    """Return the arguments of a request as the user passed them, and the name of its result."""
    asked: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        more = bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        asked.update(value if more else {name: value})
    name = _METHODS.get(method, method)
    if "per_user" in asked:
        name = "per_user" if asked["per_user"] else "evaluate"
    return {key: value for key, value in asked.items() if key not in NOT_RECORDED}, name


def _versions(engine: Engine) -> dict[str, str]:
    return {
        "sqlmetrics": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        engine.dialect: engine.version,
    }


def settings_of(requests: Iterable[MetricRequest]) -> tuple[dict[str, Any], list[MetricEntry]]:
    """Return the settings that all metrics share, and the metrics with their other settings."""
    # a leaderboard requests both values and comparisons
    distinct = {request.label: request for request in requests}
    calls = calls_of(distinct.values())
    texts = [
        {name: plain(value) for name, value in call.requests[0].values.items()} for call in calls
    ]
    common = {
        name: value
        for name, value in (texts[0] if texts else {}).items()
        if all(name in other and other[name] == value for other in texts)
    }
    metrics: list[MetricEntry] = [
        {
            "metric": call.name,
            "convention": call.convention,
            "k": [request.k for request in call.requests],
            "settings": {name: value for name, value in text.items() if name not in common},
        }
        for call, text in zip(calls, texts, strict=True)
    ]
    return common, metrics


def _source(given: Any, kind: str) -> tuple[Any, str]:
    """Return the name of a source, None if it has no name, and its kind."""
    if isinstance(given, TableName):
        return given.name, "name"
    if isinstance(given, str | Path):
        text = masked(str(given))
        # for files read by Spark, only the path is known
        is_path = isinstance(given, Path) or {"/", os.sep} & {*text} or text.endswith(".parquet")
        return text, "stdin" if text == "-" else kind or ("parquet" if is_path else "table")
    if isinstance(given, list | tuple) and all(isinstance(path, str | Path) for path in given):
        return [masked(str(path)) for path in given], kind or "parquet"
    module = type(given).__module__.partition(".")[0]
    name = type(given).__name__
    return None, name if module == "builtins" else f"{module}.{name}"


def _users(session: Recorded, runs: Sequence[PlannedRun]) -> Iterator[UsersEntry]:
    """Count the users that metrics average over, and the users without a list or without truth."""
    planner = session.planner
    counts: dict[str, tuple[Node, str, list[str], Any]] = {}
    for call in (call for run in runs for call in calls_of(run.requests)):
        if call.metric.grain != "user":
            continue
        names = ["audience", "lists"]
        if "interactions" in session.tables:
            names.append("relevant_users")
        reads: dict[str, Node] = {
            name: planner.node(
                name, without_credit(call.values) if name == "relevant_users" else call.values
            )
            for name in names
        }
        node = planner.rendered("record/user_counts", reads, has_truth=len(names) == 3)
        key = f"{node.key} {call.convention}"
        counts.setdefault(key, (node, call.convention, [], call.values["audience"]))
        metrics = counts[key][2]
        if call.name not in metrics:
            metrics.append(call.name)
    for node, convention, metrics, audience in counts.values():
        for row in session.engine.records(physical(planner, Plan(node), session.engine)):
            entry: UsersEntry = {
                "model": None if "model" not in row else str(row["model"]),
                "convention": convention,
                "metrics": metrics,
                "audience": audience,
                "evaluated": row["evaluated"],
                "without_recommendations": row["without_recommendations"],
                "without_truth": row["without_truth"],
            }
            if "run" in row:
                entry["run"] = str(row["run"])
            yield entry
