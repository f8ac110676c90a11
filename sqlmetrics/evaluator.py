"""The façade: register tables once, then ask for metrics, per-user values, SQL or a stage."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics import checks
from sqlmetrics.calls import Call, calls_of, requests_of
from sqlmetrics.catalog import EVERYTHING, Catalog
from sqlmetrics.convention import STANDARD, Convention, load_all
from sqlmetrics.engines.duckdb import DuckDBEngine, Watch
from sqlmetrics.errors import (
    DataError,
    MissingTableError,
    SqlmetricsWarning,
    TemplateError,
    UsageError,
    suggestion,
)
from sqlmetrics.explain import requests_for, walks, with_steps
from sqlmetrics.graph import Node, Plan
from sqlmetrics.output import whole_file
from sqlmetrics.plan import Planner
from sqlmetrics.settings import Settings
from sqlmetrics.sources import is_models
from sqlmetrics.spec import MetricCall, expand_cutoffs, parse_spec
from sqlmetrics.tables import Table, TableReader

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

DEFAULT_K = 10


class Evaluator:
    """Evaluates recommendation lists against held-out interactions.

    Args:
        recommendations: the lists to judge; columns `user_id`, `item_id` and `rank` (1 is the
            top) or `score` (high is best). Several models: a column `model`, or a dict
            `{"als": source, "popular": source}`.
        interactions: the held-out truth; `user_id`, `item_id`, optionally `relevance`.
        history: past interactions; `user_id`, `item_id`.
        items: attributes of items; `item_id`.
        users: attributes of users.
        aspects: aspects of items; `item_id`, `aspect`.
        baseline: other lists to compare with, or the name of one of the models.
        logs: logged decisions; `user_id`, `item_id`, `reward`, optionally `propensity`.
        convention: the name of a convention, or the path of a TOML file; or several of them. "all"
            stands for every convention of the package; those that do not cover a metric are left
            out of its rows.
        fallback: the convention that computes metrics which those of `convention` do not cover;
            without it, such metrics are refused.
        settings: choices that differ from the convention: `{"ties": "item_desc"}`, or for one
            metric `{"map.divisor": "k"}`.
        columns: names of the queries -> names in the tables: `{"user_id": "user_idx"}` for all
            tables, `{"interactions.relevance": "rating"}` for one.
        key: the columns that make a user, where that is not `user_id`.
        connection: a DuckDB connection to run in; its tables can be given by name. It is left as
            it was found.
        threads, memory_limit, temp_directory: for the connection that is opened otherwise.
        templates: folders with templates of one's own.
        trust_input: skip the checks that need a pass over the rows.
        watch: shows progress; see `DuckDBEngine`.

    A source is a path, list of paths or glob (Parquet, CSV, JSON lines, TREC run or qrels), a
    pandas or Polars frame, an Arrow table, dataset or reader, a DuckDB relation, the name of a
    table in `connection`, or a dict `{user: [items]}`.

    Raises:
        UsageError: an unknown convention, setting or value.
        DataError: a table cannot be read, or lacks a column.
    """

    def __init__(
        self,
        recommendations: Any = None,
        interactions: Any = None,
        *,
        history: Any = None,
        items: Any = None,
        users: Any = None,
        aspects: Any = None,
        baseline: Any = None,
        logs: Any = None,
        convention: str | Path | Iterable[str | Path] = STANDARD,
        fallback: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        columns: Mapping[str, str] | None = None,
        key: str | Sequence[str] = "user_id",
        connection: duckdb.DuckDBPyConnection | None = None,
        threads: int | None = None,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
        templates: str | Path | Iterable[str | Path] = (),
        trust_input: bool = False,
        watch: Watch | None = None,
    ) -> None:
        folders = [templates] if isinstance(templates, str | Path) else list(templates)
        self.catalog = Catalog.load(folders)
        given = settings or {}
        self.conventions = [Settings(self.catalog, c, given) for c in load_all(convention)]
        self.fallback = (
            None if fallback is None else Settings(self.catalog, Convention.load(fallback), given)
        )
        self.user_keys = (key,) if isinstance(key, str) else tuple(key)
        if not self.user_keys or not all(self.user_keys):
            raise UsageError("key names at least one column")
        self.trust_input = trust_input
        self.engine = DuckDBEngine(
            connection,
            threads=threads,
            memory_limit=memory_limit,
            temp_directory=temp_directory,
            watch=watch,
        )
        baseline_model: str | None = None
        models = list(recommendations) if is_models(recommendations) else []
        if isinstance(baseline, str) and baseline in models:
            baseline_model, baseline = baseline, None
        sources = {
            "recommendations": recommendations,
            "interactions": interactions,
            "history": history,
            "items": items,
            "users": users,
            "aspects": aspects,
            "baseline": baseline,
            "logs": logs,
        }
        try:
            reader = TableReader(self.engine, self.user_keys, columns or {})
            self.tables: dict[str, Table] = {}
            for name, source in sources.items():
                try:
                    if source is not None:
                        self.tables[name] = reader.read(name, source)
                except DataError as error:
                    if name == "baseline" and isinstance(source, str) and models:
                        raise DataError(f"{error}{suggestion(source, models)}") from error
                    raise
            reader.check_mapping(self.tables)
            checks.check_types(self.tables, self.user_keys)
        except BaseException:
            self.engine.close()
            raise
        lists = self.tables.get("recommendations")
        several = is_models(recommendations) or (lists is not None and "model" in lists.columns)

        def planner(checked: bool) -> Planner:
            return Planner(
                self.catalog,
                self.tables,
                user_keys=self.user_keys,
                several_models=several,
                baseline_model=baseline_model,
                checked=checked,
            )

        self._planner = planner(checked=False)  # what is printed
        self._checking_planner = planner(checked=not trust_input)  # what runs
        self._checked: set[str] = set()

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back memory and temporary files; the evaluator cannot be used afterwards."""
        self.engine.close()

    def evaluate(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        confidence: float = 0.95,
        skip_missing: bool = False,
    ) -> pd.DataFrame:
        """Compute the mean of every metric over its audience.

        Args:
            metrics: specs such as `"ndcg@10"` or `"map(divisor=k)"`, or `"all"`; without any, the
                default set.
            k: cutoffs for the specs that have none; without, those judge whole lists.
            confidence: of the normal intervals `ci_low` to `ci_high`.
            skip_missing: leave out metrics that need a table or column that was not given, with a
                warning for each.

        Returns:
            One row per model, convention, metric and cutoff: `[model,] [convention,] metric, k,
            value, n_users, std, ci_low, ci_high`. `convention` is there if the evaluator has
            several, or a fallback: it says whose definition made the number. `k` is NA for whole
            lists. `n_users` counts the users for whom the metric is defined. It is missing for
            metrics that have one value for the whole run, and so are `std` and, except for the
            estimates from logs, the interval.

        Raises:
            UsageError: an unknown metric, parameter or cutoff, a metric that a convention does not
                cover, or a table that was not given.
            DataError: a table breaks a rule that the numbers rest on.
        """
        with self._own_templates_named():
            return self.engine.frame(self._plan(metrics, k, False, confidence, skip_missing))

    def per_user(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        skip_missing: bool = False,
    ) -> pd.DataFrame:
        """Compute the values of every user; the arguments are those of `evaluate`.

        Returns:
            One row per user (and model, and convention) and cutoff, ordered by them:
            `[model,] [convention,] user_id, k`, then a column per metric. A value is missing where
            the metric was not asked for at this cutoff, where it is undefined, and where the user
            is not in its audience.

        Raises:
            UsageError, DataError: as `evaluate`.
        """
        with self._own_templates_named():
            plan = self._plan(metrics, k, True, skip_missing=skip_missing)
            return self.engine.frame(plan)

    def write_parquet(
        self,
        path: str | Path,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        per_user: bool = False,
        confidence: float = 0.95,
        skip_missing: bool = False,
        force: bool = False,
    ) -> None:
        """Write what `evaluate` or `per_user` returns straight from the engine to a file.

        The file is written whole or not at all; an existing one only with `force`.
        """
        with whole_file(Path(path), force) as temporary, self._own_templates_named():
            plan = self._plan(metrics, k, per_user, confidence, skip_missing)
            self.engine.write_parquet(plan, temporary)

    def sql(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        per_user: bool = False,
        confidence: float = 0.95,
        skip_missing: bool = False,
    ) -> str:
        """Return the statement behind `evaluate` (or `per_user`), which runs alone in DuckDB.

        It does not check its tables. Frames appear in it under the name of their table, prefixed
        with `sqlmetrics_`.
        """
        _, plan = self._planned(self._planner, metrics, k, per_user, confidence, skip_missing)
        self._warn(self._planner)
        return plan.statement() + ";\n"

    def explain(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        start: str | Path | None = None,
        end: str | Path = STANDARD,
        skip_missing: bool = False,
    ) -> pd.DataFrame:
        """Walk from the number of one convention to that of another, one setting at a time.

        Args:
            metrics, k, skip_missing: as of `evaluate`.
            start: the convention to start from; by default that of the evaluator, the first of
                several.
            end: the convention to end at.

        Returns:
            One row per model, metric, cutoff and step: `[model,] metric, k, step, setting, before,
            after, value, change, n_users`. Step 0 is the value under `start`; each further step
            changes one setting that the metric reads from `before` to `after`, and stays changed;
            the value of the last is that under `end`. How much a setting moves the value depends
            on those that were changed before it. To refuse rows is no step: where one end says
            `error` and the other what such rows mean, they mean that all the way.

        Raises:
            UsageError, DataError: as `evaluate`.
        """
        first = self.conventions[0]

        def side(name: str | Path) -> Settings:
            return Settings(self.catalog, Convention.load(name), first.given)

        planner = self._checking_planner
        planner.warnings.clear()
        pairs = self.parse(metrics, k)
        from_there = first if start is None else side(start)
        steps = walks(planner, pairs, from_there, side(end), self.fallback, skip_missing)
        requests = [request for walk in steps.values() for request in requests_for(walk)]
        with self._own_templates_named():
            plan = planner.summary(requests, with_convention=True)
            self._check_calls(planner, calls_of(requests), "after step")
            self._warn(planner)
            return with_steps(self.engine.frame(plan), steps)

    def stage(self, name: str, metric: str | None = None) -> pd.DataFrame:
        """Look at a stage (`hits`, `ranked`, `audience`, …) or at a table as the queries see it.

        Some stages need to know for which metric: `stage("ideal_lists", "ndcg(gain=linear)")`. Of
        several conventions, the first is the one whose stage is shown.

        Raises:
            UsageError: there is no such stage, or it needs a metric.
        """
        known = [*self.catalog.stages, *self.tables]
        if name not in known:
            raise UsageError(f"unknown stage {name!r}{suggestion(name, known)}")
        first, has_rank = self.conventions[0], self._checking_planner.has_rank
        if metric is None:
            _, values = first.resolve(None, has_rank)
        else:
            pairs = [(parse_spec(metric), None)]
            (request,) = requests_of(pairs, [first], self.fallback, has_rank)
            values = dict(request.values)
        try:
            plan = self._checking_planner.stage(name, values)
        except TemplateError as error:
            if metric is not None:
                raise
            lacking = str(error).rpartition(": ")[2].partition(" is undefined")[0].strip("'")
            owners = [m.name for m in self.catalog.metrics.values() if lacking in m.params]
            if not owners:
                raise
            raise UsageError(
                f"the stage {name} depends on {lacking}, a setting of {', '.join(owners)}; look at "
                f"it for one of them: stage({name!r}, metric={owners[0]!r})"
            ) from error
        self._check({node.name: node for node in plan.nodes()}, values)
        self._warn(self._checking_planner)
        return self.engine.frame(plan)

    @contextlib.contextmanager
    def _own_templates_named(self) -> Iterator[None]:
        """Where the engine finds a query wrong, say which templates are the user's own."""
        try:
            yield
        except TemplateError as error:
            own = [str(m.path) for m in self.catalog.metrics.values() if m.family == "custom"]
            if isinstance(error.__cause__, Exception) and own and ".sql.j2" not in str(error):
                raise TemplateError(f"{error}; your own templates: {', '.join(own)}") from error
            raise

    def parse(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        per_user: bool = False,
    ) -> list[tuple[MetricCall, int | None]]:
        """Pair the metrics asked for with their cutoffs; the default set if none is named."""
        if metrics is None:
            calls = [MetricCall(name, implied=True) for name in self.catalog.default_set()]
            k = DEFAULT_K if k is None else k
        else:
            if not isinstance(metrics, Iterable):
                raise UsageError(f"metrics are specs such as 'ndcg@10', not {metrics!r}")
            specs = [metrics] if isinstance(metrics, str) else list(metrics)
            if not specs:
                raise UsageError("no metric named; leave metrics out for the default set")
            calls = [call for spec in specs for call in self._expand(parse_spec(spec), per_user)]
        return expand_cutoffs(calls, k)

    def _expand(self, call: MetricCall, per_user: bool) -> list[MetricCall]:
        """Put every metric in the place of `all`; per user, every metric that has such values."""
        if call.metric != EVERYTHING:
            return [call]
        if call.params:
            raise UsageError(f"{call}: settings for all metrics are given with --set NAME=VALUE")
        return [
            replace(call, metric=metric.name, implied=True)
            for metric in self.catalog.metrics.values()
            if metric.grain == "user" or not per_user
        ]

    def _planned(
        self,
        planner: Planner,
        metrics: str | Iterable[str] | None,
        k: int | Iterable[int] | None,
        per_user: bool,
        confidence: float,
        skip_missing: bool,
    ) -> tuple[list[Call], Plan]:
        """Resolve what is asked for, and plan it."""
        planner.warnings.clear()
        pairs = self.parse(metrics, k, per_user=per_user)
        requests = requests_of(pairs, self.conventions, self.fallback, planner.has_rank)
        calls = calls_of(requests)
        if skip_missing:
            calls = self._that_can_be_computed(planner, calls)
            requests = [request for call in calls for request in call.requests]
        if per_user:
            plan = planner.per_user(requests, self._with_convention)
        else:
            checked = _checked_confidence(confidence)
            plan = planner.summary(requests, checked, self._with_convention)
        return calls, plan

    @property
    def _with_convention(self) -> bool:
        """Do results say which convention made a number?"""
        return len(self.conventions) > 1 or self.fallback is not None

    def _that_can_be_computed(self, planner: Planner, calls: Sequence[Call]) -> list[Call]:
        """Leave out, with a warning, what needs a table or column that was not given."""
        kept, missing = [], []
        for call in calls:
            before = dict(planner.warnings)
            try:
                planner.nodes(call)
            except MissingTableError as error:
                missing.append(error)
                planner.warnings = before  # what it would have assumed
            else:
                kept.append(call)
        if not kept:
            raise missing[0]
        planner.warnings.update((f"left out: {error}", None) for error in missing)
        return kept

    def _warn(self, planner: Planner) -> None:
        """Pass on what templates and the planner have to say."""
        messages = list(planner.warnings)
        planner.warnings.clear()
        for message in messages:
            warnings.warn(message, SqlmetricsWarning, stacklevel=_callers_level())

    def _plan(
        self,
        metrics: str | Iterable[str] | None,
        k: int | Iterable[int] | None,
        per_user: bool,
        confidence: float = 0.95,
        skip_missing: bool = False,
    ) -> Plan:
        """Plan a result and check the tables it reads."""
        planner = self._checking_planner
        calls, plan = self._planned(planner, metrics, k, per_user, confidence, skip_missing)
        self._check_calls(planner, calls, "under the convention")
        self._warn(planner)
        return plan

    def _check_calls(self, planner: Planner, calls: Sequence[Call], where: str) -> None:
        """Check the tables that calls read, under the settings of each.

        `where`: what stands before the name of a convention, where there are several.
        """
        several = len({call.convention for call in calls}) > 1
        for call in calls:
            try:
                self._check(planner.nodes(call), call.values)
            except DataError as error:
                if not several:
                    raise
                raise type(error)(f"{error}\nThis is so {where} {call.convention}.") from error

    def _check(self, nodes: Mapping[str, Node], values: Mapping[str, Any]) -> None:
        """Check the tables once for each set of settings that bears on the checks."""
        if not self.trust_input:
            checks.check_rows(self.engine, self._checking_planner, values, nodes, self._checked)


def _callers_level() -> int:
    """Count the frames up to the code that called the package, for its line in a warning."""
    package = str(Path(__file__).parent)
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    return level


def _checked_confidence(confidence: float) -> float:
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise UsageError(f"confidence lies between 0 and 1, not {confidence!r}")
    return confidence
