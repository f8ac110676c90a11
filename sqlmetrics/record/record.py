"""What a result was made of: versions, settings, sources, users, and the SQL, as plain values.

A record can be written as JSON. All that costs nothing is in it always; what takes a pass over the
tables, their contents and the counts of users, only where it is asked for.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from sqlmetrics.engines.relation import TableName
from sqlmetrics.messages import TABLES
from sqlmetrics.metrics.requests import Request, calls_of
from sqlmetrics.record import fingerprints
from sqlmetrics.sql.query_graph import Node, Plan
from sqlmetrics.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.engines.base import Engine
    from sqlmetrics.plan.results import Results
    from sqlmetrics.rows import Rows
    from sqlmetrics.tables.schema import Table

FORMAT = 1  # of records; a higher one has entries that this version does not know
ATTRIBUTE = "sqlmetrics"  # of a data frame: the entry of its attrs that is its record
MOST_ROWS = 5000  # of a result that a record holds
_NOT_GIVEN = {"self", "engine", "connection", "watch", "check", "record", *TABLES}
_OF_FILES = {"path", "name", "force", "per_user"}  # arguments that say where a result goes
_METHODS = {"rows": "evaluate"}
_ON_SPARK = "on Spark, it would take another pass over the tables"

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Recorded(Protocol):
    """The part of an evaluator that a record describes."""

    engine: Engine
    tables: Mapping[str, Table]
    _recorder: Recorder

    def _divided(
        self, plan: Plan, check: Callable[[Any], None]
    ) -> AbstractContextManager[Plan]: ...


@dataclass
class Run:
    """What is known of a result while it is computed: the plans that ran, and what they are for."""

    results: list[Results] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)


class Recorder:
    """Makes the records of the results of an evaluator.

    Args:
        given: what the evaluator was given, by the names of its arguments.
        with_contents: read the tables for what is in them, and count users.
    """

    def __init__(self, given: Mapping[str, Any], with_contents: bool = False) -> None:
        self.given = {name: plain(value) for name, value in given.items() if name not in _NOT_GIVEN}
        self._sources = {name: given.get(name) for name in TABLES}
        self.with_contents = with_contents
        self.run: Run | None = None
        self.last: dict[str, Any] | None = None

    def ran(self, results: Results, plan: Plan) -> None:
        """Note what is computed."""
        if self.run is not None:
            self.run.results.append(results)
            self.run.plans.append(plan)

    @contextlib.contextmanager
    def running(self) -> Iterator[Run]:
        """Note what is computed from now on."""
        self.run = Run()
        try:
            yield self.run
        finally:
            self.run = None

    def record(
        self,
        evaluator: Recorded,
        method: str,
        asked: Mapping[str, Any],
        run: Run,
        started: datetime,
        seconds: float,
    ) -> dict[str, Any]:
        """Put a record together: see docs/record.md for what is in it."""
        requests = [request for results in run.results for request in results.requests]
        given = dict(self.given)
        if "baseline" not in evaluator.tables:  # the name of a model, if it was given
            given["baseline"] = plain(self._sources["baseline"])
        record = {
            "record": FORMAT,
            "result": method,
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(seconds, 3),
            "versions": _versions(evaluator),
            "given": given,
            "asked": plain(asked),
            **_settings(requests),
            "sql": fingerprints.identity(*(plan.root for plan in run.plans)),
            "sources": list(self._described(evaluator.tables)),
        }
        if not self.with_contents:
            return record
        engine = evaluator.engine.embedded
        if engine is None:
            return _unknown(record, contents=_ON_SPARK, users=_ON_SPARK)
        record["contents"] = [
            {
                "table": one.table,
                "model": one.model,
                "columns": list(one.columns),
                "rows": one.rows,
                "fingerprint": one.fingerprint,
            }
            for one in fingerprints.contents(engine, [plan.root for plan in run.plans])
        ]
        record["users"] = list(_users(evaluator, run.results))
        return record

    def _described(self, tables: Mapping[str, Table]) -> Iterator[dict[str, Any]]:
        """Say of every source what was given, and what kind of source it is."""
        for name, table in tables.items():
            for source in table.sources:
                given: Any = self._sources[name]
                given = given if source.model is None else given[source.model]
                text, kind = _source(given, source.format)
                yield {
                    "table": name,
                    "model": source.model,
                    "source": text,
                    "kind": kind,
                    **({"files": len(source.files)} if source.files else {}),
                }


def recorded(method: _Method) -> _Method:
    """Let a method of the evaluator record what its result was made of.

    The record is `last_record` of the evaluator, and in the attrs of a data frame.
    """
    signature = inspect.signature(method)

    @functools.wraps(method)
    def with_record(evaluator: Recorded, *args: Any, **kwargs: Any) -> Any:
        recorder = evaluator._recorder
        if recorder.run is not None:  # a part of another result
            return method(evaluator, *args, **kwargs)
        try:
            bound = signature.bind(evaluator, *args, **kwargs)
        except TypeError:
            return method(evaluator, *args, **kwargs)  # says what is wrong with them
        for name, value in bound.arguments.items():
            if isinstance(value, Iterator):  # can be read once only
                bound.arguments[name] = list(value)
        started, clock = datetime.now(UTC), time.perf_counter()
        with recorder.running() as run:
            result = method(*bound.args, **bound.kwargs)
        seconds = time.perf_counter() - clock
        is_frame = hasattr(result, "attrs")
        recorder.last = None
        if is_frame or recorder.with_contents:
            bound.apply_defaults()
            asked, name = _asked(bound, method.__name__)
            record = recorder.record(evaluator, name, asked, run, started, seconds)
            recorder.last = record
            if is_frame:
                result.attrs[ATTRIBUTE] = record
        return result

    return cast("_Method", with_record)


def with_result(
    record: Mapping[str, Any], result: Rows | pd.DataFrame | Path | None
) -> dict[str, Any]:
    """Add the rows of a result to its record, if they are few enough to be compared by.

    `result`: its rows, or the Parquet file that they were written to; None where they are
    somewhere else.
    """
    from sqlmetrics.rows import Rows

    if result is None:
        return _unknown(dict(record), rows="they are where Spark wrote them")
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
        why = f"the result has {n_rows:,} rows, a record holds {MOST_ROWS:,} at most"
        return _unknown(dict(record), rows=why)
    rows = result if isinstance(result, Rows) else Rows.of_frame(result)
    values = [[plain(value) for value in row] for row in rows.values]
    return {**record, "columns": list(rows.names), "rows": values}


def _unknown(record: dict[str, Any], **reasons: str) -> dict[str, Any]:
    """Say in a record why it lacks what others have."""
    return {**record, "unknown": {**record.get("unknown", {}), **reasons}}


def plain(value: Any) -> Any:
    """Return a value as JSON holds it; what JSON has no values for becomes text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # a number of NumPy
        return plain(value.item())
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(entry) for entry in value]
    return str(value)


def _asked(bound: inspect.BoundArguments, method: str) -> tuple[dict[str, Any], str]:
    """Return the arguments of a method that say what is asked for, and the name of its result."""
    asked: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        more = bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        asked.update(value if more else {name: value})
    name = _METHODS.get(method, method)
    if "per_user" in asked:
        name = "per_user" if asked["per_user"] else "evaluate"
    return {key: value for key, value in asked.items() if key not in _OF_FILES}, name


def _versions(evaluator: Recorded) -> dict[str, str]:
    engine = evaluator.engine
    return {
        "sqlmetrics": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        engine.dialect: engine.version,
    }


def _settings(requests: Iterable[Request]) -> dict[str, Any]:
    """List what was computed: metrics with their cutoffs, and the value of every setting.

    `settings` are those that have one value for all; each metric has the others.
    """
    # of a leaderboard, values and comparisons are both asked for
    distinct = {(one.convention, one.call.name, one.k): one for one in requests}
    calls = calls_of(distinct.values())
    texts = [
        {name: plain(value) for name, value in one.requests[0].values.items()} for one in calls
    ]
    common = {
        name: value
        for name, value in (texts[0] if texts else {}).items()
        if all(name in other and other[name] == value for other in texts)
    }
    metrics = [
        {
            "metric": call.name,
            "convention": call.convention,
            "k": [request.k for request in call.requests],
            "settings": {name: value for name, value in text.items() if name not in common},
        }
        for call, text in zip(calls, texts, strict=True)
    ]
    return {"settings": common, "metrics": metrics}


def _source(given: Any, kind: str) -> tuple[Any, str]:
    """Return the name of a source, None if it has none, and its kind."""
    if isinstance(given, TableName):
        return given.name, "name"
    if isinstance(given, str | Path):
        text = str(given)
        # of files that Spark reads, only the path is known
        is_path = isinstance(given, Path) or "/" in text or text.endswith(".parquet")
        return text, "stdin" if text == "-" else kind or ("parquet" if is_path else "table")
    if isinstance(given, list | tuple) and all(isinstance(one, str | Path) for one in given):
        return [str(path) for path in given], kind or "parquet"
    module = type(given).__module__.partition(".")[0]
    name = type(given).__name__
    return None, name if module == "builtins" else f"{module}.{name}"


def _users(evaluator: Recorded, of: Sequence[Results]) -> Iterator[dict[str, Any]]:
    """Count users: those that metrics are averaged over, and those of whom a side is missing."""
    found: dict[str, tuple[Node, str, list[str], Any]] = {}
    for results in of:
        calls = [call for call in calls_of(results.requests) if call.metric.grain == "user"]
        for call in calls:
            planner = results.planner
            names = ["audience", "lists"]
            if "interactions" in evaluator.tables:
                names.append("relevant_users")
            reads: dict[str, Node] = {
                name: planner.node(name, call.values, for_metric=call.metric) for name in names
            }
            node = planner.rendered("user_counts", reads, has_truth=len(names) == 3)
            name = f"{node.key} {call.convention}"
            found.setdefault(name, (node, call.convention, [], call.values["audience"]))
            metrics = found[name][2]
            if call.name not in metrics:
                metrics.append(call.name)
    for node, convention, metrics, audience in found.values():
        with evaluator._divided(Plan(node), lambda _: None) as plan:
            rows = evaluator.engine.records(plan)
        for row in rows:
            yield {
                "model": None if "model" not in row else str(row["model"]),
                "convention": convention,
                "metrics": metrics,
                "audience": audience,
                **{name: row[name] for name in row if name != "model"},
            }
