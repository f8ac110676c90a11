"""The state of an evaluator: its open tables, its engine and the checks that have passed."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from sqlmetrics.checks.data_warnings import IN_CLUSTERS, DataWarnings, stopped
from sqlmetrics.checks.id_types import check_types
from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.open import open_engine
from sqlmetrics.errors import (
    DataError,
    DataWarning,
    GateError,
    SqlmetricsWarning,
    UsageError,
    issue,
    suggestion,
)
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.request import PlannedRun
from sqlmetrics.record.record import Recorder
from sqlmetrics.run.other_tables import check_replaceable, of_tables
from sqlmetrics.sql.query_graph import Plan
from sqlmetrics.stats.gates import Verdict
from sqlmetrics.tables.filters import check_tables
from sqlmetrics.tables.models import is_models, models_of
from sqlmetrics.tables.reader import TableReader
from sqlmetrics.tables.runs import check_runs
from sqlmetrics.tables.schema import OF_MODELS, Table
from sqlmetrics.tables.scored import check_labels, check_models_agree, with_both_tables
from sqlmetrics.texts.messages import TABLES, Message
from sqlmetrics.texts.wording import and_more

_log = logging.getLogger(__name__)
# locks of connections given by users
_locks: WeakKeyDictionary[Any, AbstractContextManager[Any]] = WeakKeyDictionary()
_locks_guard = threading.Lock()


def _lock_of(connection: Any) -> AbstractContextManager[Any]:
    """Return the reentrant lock shared by all evaluators of a connection; for None, a new lock."""
    if connection is None:
        return threading.RLock()
    with _locks_guard:
        try:
            return _locks.setdefault(connection, threading.RLock())
        except TypeError:  # not a real connection
            return threading.RLock()


@dataclass
class PublicCall:
    """A running public call, with the public calls that it makes itself.

    Attributes:
        check: whether to check for data warnings at the end; None to decide by the table size.
        runs: the runs of the computed results, in order.
        is_recorded: whether a record is made of the runs.
        said: the warnings and notes that were already issued.
    """

    check: bool | None = None
    runs: list[PlannedRun] = field(default_factory=list)
    is_recorded: bool = False
    said: set[Message] = field(default_factory=set)

    @property
    def requests(self) -> list[MetricRequest]:
        """The requests of the computed results, in order."""
        return [request for run in self.runs for request in run.requests]

    def new(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages that were not issued yet, and remember them as issued."""
        new = [message for message in messages if message not in self.said]
        self.said.update(new)
        return new


class Session:
    """The tables of an evaluator, the engine that reads them, and the conventions.

    Args:
        given: the arguments of `Evaluator`, by name.
        like: a session whose connection, further tables and checks are shared.
        others: the tables that are not those of `like`, maybe the same objects with other rows.

    Raises:
        UsageError, DataError: see `Evaluator`.
    """

    def __init__(
        self, given: Mapping[str, Any], like: Session | None = None, others: Set[str] = frozenset()
    ) -> None:
        given = dict(given)
        scored = given.pop("scored", None)
        if scored is not None:
            given = with_both_tables(given, scored)
        if isinstance(given["convention"], Iterator):  # read twice, here and for the record
            given["convention"] = list(given["convention"])
        for table in OF_MODELS:
            given[table] = models_of(given[table])
        given["templates"] = _several(str | Path, given["templates"], "templates must be paths")
        self.given = given
        self.recorder = Recorder(given, with_contents=given["record"])
        if like is None:
            self.catalog = Catalog.load(given["templates"])
            definitions = Definitions.load(
                self.catalog, given["convention"], given["fallback"], given["settings"] or {}
            )
        else:
            self.catalog = like.catalog
            definitions = like.definitions
        user_keys = tuple(_several(str, given["key"], "key must name at least one column"))
        if not user_keys or not all(user_keys):
            raise UsageError("key must name at least one column")
        self.trusts_input: bool = given["trust_input"]
        self.checks_data: bool | None = given["check"]
        if self.checks_data and self.trusts_input:
            raise UsageError(
                "check cannot be combined with trust_input, which skips checks of rows; remove one"
            )
        known: dict[str, Table] = {}
        self.engine: Engine
        self.passed: set[str] = set()  # the checks that the tables have passed
        if like is None:
            self.engine = open_engine(given)
        else:
            self.engine, known, self.passed = like.shared_without(others)
        sources = {name: given[name] for name in TABLES}
        baseline = sources["baseline"]
        lists = next((sources[name] for name in OF_MODELS if sources[name] is not None), None)
        models = list(lists) if isinstance(lists, dict) and is_models(lists) else []
        baseline_model: str | None = None
        if isinstance(baseline, str) and baseline in models:
            baseline_model, sources["baseline"] = baseline, None
        where = given["where"] or {}
        # calls on one connection take turns; a Spark session runs several at once
        shares = given["connection"] is None and self.engine.changing is not None
        self.lock = _lock_of(given["engine"] if shares else given["connection"])
        try:
            given_tables = [name for name, source in sources.items() if source is not None]
            check_tables(where, sources, given_tables)
            self.where: dict[str, str] = dict(where)
            with self.lock:
                self.tables: dict[str, Table] = self._read(
                    sources, given["columns"] or {}, user_keys, models, known, scored is not None
                )
                if scored is not None:
                    check_labels(self.tables)
                    if not (self.trusts_input or known):
                        check_models_agree(self.engine, self.tables, user_keys)
        except BaseException:
            self.engine.close()
            raise
        read = self.of_models
        self.planner = Planner(
            self.catalog,
            self.tables,
            user_keys=user_keys,
            several_models=read is not None and "model" in read.columns,
            several_runs=read is not None and "run" in read.columns,
            baseline_model=baseline_model,
            checked=not self.trusts_input,
            dialect=self.engine.dialect,
        ).shared()
        self.definitions: Definitions = replace(definitions, has_rank=self.planner.has_rank)
        self.data_warnings = DataWarnings(
            self.engine,
            self.planner,
            self.definitions,
            self.trusts_input,
            self._accepted(given["accept"]),
        )
        self.call: PublicCall | None = None
        self.verdicts: list[Verdict] = []  # of the gates of the last result
        self._warned: set[Message] = set()  # data warnings that were issued
        self._may_change = self.engine.changing is not None and not all(
            source.is_held for table in self.tables.values() for source in table.sources
        )

    def _read(
        self,
        sources: Mapping[str, Any],
        columns: Mapping[str, str],
        user_keys: tuple[str, ...],
        models: Sequence[str],
        known: Mapping[str, Table],
        scored: bool,
    ) -> dict[str, Table]:
        """Read the columns of all tables, and lock in the current state of their files.

        `known` are the tables that the engine has read before. `scored`: recommendations and
        interactions are one table.
        """
        own: Mapping[str, list[str]] = {}
        if self.catalog.own:
            from sqlmetrics.plan.own_columns import own_columns  # needs Jinja

            own = own_columns(self.catalog)
        reader = TableReader(self.engine, user_keys, columns, self.where, own, scored)
        tables: dict[str, Table] = {}
        for name, source in sources.items():
            try:
                if name in known:
                    tables[name] = known[name]
                elif source is not None:
                    tables[name] = reader.read(name, source)
            except DataError as error:
                if name == "baseline" and isinstance(source, str) and models:
                    raise DataError(error, suggestion(source, models)) from error
                raise
        if not known:  # the columns of known tables were mapped by another reader
            reader.check_mapping(tables)
        for note in reader.notes:
            _log.info(note)
        for warning in reader.warnings:
            issue(SqlmetricsWarning(warning))
        check_runs(tables)
        check_types(self.engine, tables, user_keys)
        if self.engine.embedded is not None:
            read = [(table.name, source) for table in tables.values() for source in table.sources]
            self.engine.embedded.lock(
                {file: name for name, source in read for file in source.files},
                {file: name for name, source in read for file in source.watched},
            )
        return tables

    def with_tables(self, others: Mapping[str, Any]) -> Session:
        """Return a session with other tables in memory; see `Evaluator.with_tables`."""
        with self.lock:
            check_replaceable(self.engine.embedded, self.tables, others)
            return Session({**self.given, **others}, like=self, others=others.keys())

    def shared_without(self, names: Set[str]) -> tuple[Engine, dict[str, Table], set[str]]:
        """Return an engine for other tables with these names, the tables and checks it shares."""
        engine = self.engine.embedded
        assert engine is not None
        tables = {name: table for name, table in self.tables.items() if name not in names}
        relations = {source.relation for table in tables.values() for source in table.sources}
        kept = of_tables(self.planner, engine.kept(), tables)
        passed = of_tables(self.planner, self.passed, tables)
        return engine.sharing(relations, kept), tables, passed

    @property
    def of_models(self) -> Table | None:
        """The table with the models: the recommendations, or else the policy."""
        return next((self.tables[name] for name in OF_MODELS if name in self.tables), None)

    @functools.cache  # noqa: B019 - the cache may live as long as the session
    def printing_planner(self, dialect: str) -> Planner:
        """Return a planner for statements in a dialect that run without this evaluator."""
        printed = self.engine.printed
        tables = {
            name: replace(
                table,
                sources=tuple(
                    replace(source, relation=printed(source.relation)) for source in table.sources
                ),
            )
            for name, table in self.tables.items()
        }
        return replace(self.planner, tables=tables, checked=False, dialect=dialect).shared()

    def _accepted(self, names: Any) -> Set[str]:
        accepted = _several(str, names, "accept must name checks")
        checks = {name: one.level for name, one in self.catalog.checks.items()}
        known = [name for name, level in checks.items() if level != "error"] + ["slices_small"]
        for name in accepted:
            if name not in known:
                of_errors = ": it finds errors, which cannot be accepted" if name in checks else ""
                close = "" if of_errors else suggestion(name, known)
                raise UsageError(
                    f"accept: no check with warnings is called {name!r}{of_errors}{close}"
                )
        return frozenset(accepted)

    def shown(self) -> list[str]:
        """Return a line for each table, and for the conventions, settings and engine."""
        lines = []
        for table in self.tables.values():
            models = table.models
            what = f"{len(models)} models ({and_more(models, 5)})" if models else ""
            lines.append(
                f"{table.name}: {what or table.sources[0].label}: {', '.join(table.columns)}"
            )
        conventions = [settings.convention.name for settings in self.definitions.conventions]
        lines.append(f"convention: {', '.join(conventions)}")
        if given := self.definitions.first.given:
            lines.append(f"settings: {', '.join(f'{name}={given[name]}' for name in given)}")
        lines += [f"where: {table}: {condition}" for table, condition in self.where.items()]
        return [*lines, f"engine: {self.engine.dialect} {self.engine.version}"]

    def physical(self, plan: Plan) -> Plan:
        """Plan how the engine runs a plan."""
        return physical(self.planner, plan, self.engine)

    def close(self) -> None:
        """Release the resources of the engine."""
        with self.lock:
            self.engine.close()

    # ---- public calls --------------------------------------------------------------------------

    @contextlib.contextmanager
    def calling(self) -> Iterator[None]:
        """Run a public call alone, on the current tables, with data warnings at the end.

        A nested public call is part of the outer one.
        """
        with self.lock:
            if self.call is not None:
                yield
                return
            self.call = PublicCall(self.checks_data)
            try:
                changing = self.engine.changing
                with contextlib.nullcontext() if changing is None else changing.calling():
                    self._check_columns()
                    try:
                        yield
                    except GateError:  # the result exists although a gate failed
                        self._warn_of_data(self.call)
                        raise
                    self._warn_of_data(self.call)
            finally:
                self.call = None
                self._forget_what_may_change()

    def warn(self, messages: Iterable[Message]) -> None:
        """Issue the warnings of a result, at most once each per public call."""
        assert self.call is not None
        for message in self.call.new(messages):
            issue(SqlmetricsWarning(message))

    def note(self, text: str) -> None:
        """Log a note about the computation, at most once per public call."""
        assert self.call is not None
        for message in self.call.new([Message(text)]):
            _log.info("%s", message)

    def ran(self, run: PlannedRun) -> None:
        """Remember a run of the running public call, for its record and its data warnings."""
        assert self.call is not None
        self.call.runs.append(run)

    def _check_columns(self) -> None:
        """Check that the tables of the user's connection still have the same columns."""
        engine = self.engine.changing
        if not self._may_change or engine is None:
            return
        for table in self.tables.values():
            for source in table.sources:
                if not (source.is_held or source.files):
                    engine.check_columns(table.name, source.relation, source.label, source.types)

    def _warn_of_data(self, call: PublicCall) -> None:
        """Issue the warnings about the tables of a result, or skipped checks, at most once each."""
        try:
            assumed = any(run.assumes_independence for run in call.runs)
            settled = frozenset() if assumed else frozenset({IN_CLUSTERS})
            found = self.data_warnings.of_result(call.requests, call.check, settled)
        except Exception as error:  # do not lose the result, which is complete
            found = [DataWarning(stopped(error))]
        for warning in found:
            if warning.message not in self._warned:
                issue(warning)
                self._warned.add(warning.message)

    def _forget_what_may_change(self) -> None:
        """Forget cached results, if the tables may have changed by the next call."""
        engine = self.engine.changing
        if self._may_change and engine is not None:
            engine.forget(list(engine.kept()))
            self.passed.clear()
            self.data_warnings.forget()


def _several(kind: Any, given: Any, what: str) -> list[Any]:
    """Return an argument that is one value of a type or several such values as a list."""
    if isinstance(given, kind):
        return [given]
    values = list(given) if isinstance(given, Iterable) else [given]
    if isinstance(given, bytes) or not all(isinstance(value, kind) for value in values):
        raise UsageError(f"{what}, not {given!r}")
    return values
