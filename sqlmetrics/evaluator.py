"""The façade: register tables once, then ask for metrics, per-user values, SQL or a stage."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sqlmetrics.checks import validate
from sqlmetrics.describe.explain import requests_for, walks, with_steps
from sqlmetrics.engines.open import open_engine
from sqlmetrics.errors import (
    DataError,
    DataWarning,
    MissingTableError,
    QueryError,
    RowsError,
    SqlmetricsError,
    SqlmetricsWarning,
    TemplateError,
    UndefinedNameError,
    UsageError,
    callers_level,
    left_out,
    suggestion,
)
from sqlmetrics.messages import SEVERAL_MODELS, Argument, Command, Message, give, joined, set_to
from sqlmetrics.metrics.catalog import EVERYTHING, Catalog, template_root
from sqlmetrics.metrics.conventions import STANDARD, Convention, load_all
from sqlmetrics.metrics.front_matter import LEVELS
from sqlmetrics.metrics.requests import Call, Request, calls_of, cutoff_context, requests_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricCall, expand_cutoffs, parse_spec
from sqlmetrics.partitions.locality import aggregates_of
from sqlmetrics.partitions.sequential import in_turn, tables_needed_whole
from sqlmetrics.partitions.sizing import Division, checked_count, divide
from sqlmetrics.partitions.split import Partition, Split
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.slices import Slicing, attributes_of, warn_of_empty_slices
from sqlmetrics.public_calls import PublicCall, lock_of, public
from sqlmetrics.record.record import Recorder, recorded
from sqlmetrics.rows import Rows
from sqlmetrics.sql.dialects import checked
from sqlmetrics.sql.query_graph import Node, Plan, Query
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.tables.filters import check_tables
from sqlmetrics.tables.reader import TableReader
from sqlmetrics.tables.schema import Table
from sqlmetrics.tables.sources import is_models

if TYPE_CHECKING:
    import altair as alt
    import duckdb
    import pandas as pd

    from sqlmetrics.engines.base import EmbeddedEngine, Watch
    from sqlmetrics.report import Report
    from sqlmetrics.report.analysis import Question, Study
    from sqlmetrics.stats.gates import Gate

_log = logging.getLogger(__name__)

DEFAULT_K = 10
DEFAULT_TEST = "t"
_Frame = TypeVar("_Frame", "pd.DataFrame", Rows)
RowsOf: TypeAlias = Callable[[Plan], Plan]
"""Makes the plan of a check look at some rows only."""
_MOST_CHECKED = 1_000_000  # rows of lists in which warnings are looked for unasked
_SHOWN = 1000  # rows of a stage, where not all may come
# slices are numbered in the order of their names; per user, any numbers will do
_NUMBERS = ("slice_names", "item_slice_names")
_TRUSTED = Argument("trust_input", True)
_SEVERAL = Message(
    "a comparison needs several models: ", SEVERAL_MODELS, " for each, or a column model"
)


@dataclass(frozen=True)
class _Asked:
    """What is asked for beside metrics and cutoffs."""

    by: str | Iterable[str] | None = None
    by_item: str | Iterable[str] | None = None
    combinations: bool = False
    interval: Interval = field(default_factory=Interval)
    skip_missing: bool = False
    partition: str | None = None

    @classmethod
    def of(cls, per_user: bool, /, **options: Any) -> _Asked:
        """Read the arguments of `evaluate`, or of `per_user`."""
        method = Evaluator.per_user if per_user else Evaluator.evaluate
        known = list(inspect.signature(method).parameters)[3:]
        for name in options:
            if name not in known:
                raise TypeError(f"{method.__name__} has no argument {name!r}; it has {known}")
        of_interval = {"ci": "kind", "confidence": "confidence", "resamples": "resamples",
                       "seed": "seed", "run_ci": "of_runs"}  # fmt: skip
        interval = {of_interval[name]: options.pop(name) for name in of_interval if name in options}
        return cls(**options, interval=Interval(**interval))


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
        where: table -> a condition in SQL on its rows; the others do not count, as if they were not
            there: `{"interactions": "rating >= 4"}`. It is over the columns as the table itself
            calls them; NULL is not satisfied. It is data: one condition, no subqueries.
        engine: a SparkSession to run in, classic or Connect; without one, DuckDB runs it in this
            process.
        connection: a DuckDB connection to run in; its tables can be given by name. It is left as
            it was found.
        threads, memory_limit, temp_directory, temp_limit: for the connection that is opened
            otherwise. `temp_limit` is the largest size of the engine's temporary files, such as
            `"20GB"`; by default half of the space that is free in `temp_directory`. On Spark,
            `temp_directory` is a folder that Spark and this process both see: what several
            queries read is written there, and what comparisons are computed from, until `close`.
        partitions: into how many partitions of the users a run is split, which are computed one
            after another; 1 for none. By default, this is decided by the size of the tables and the
            memory limit. Results are the same, up to the last digits of sums.
        templates: folders with templates of one's own.
        trust_input: skip the checks that need a pass over the rows.
        check: whether results come with a `DataWarning` for every warning that `check` would find,
            each once; by default, for lists of up to a million rows that DuckDB runs as a whole.
        record: let the record of a result, in the attrs of its data frame, also say what was in the
            tables (rows, fingerprints) and how many users there were, which takes a pass over them.
        watch: shows progress; see `Watch`.

    A source is a path, list of paths or glob (Parquet, CSV, JSON lines, TREC run or qrels), a
    pandas or Polars frame, an Arrow table, dataset or reader, a DuckDB relation, the name of a
    table in `connection`, or a dict `{user: [items]}`. On Spark: Parquet, the name of a table of
    its catalog, a DataFrame of Spark, and small frames, Arrow tables and dicts.

    The evaluator holds frames, Arrow tables and DuckDB relations as they were when it was made:
    later changes to them do not change a result. It refuses to compute from a file of this machine
    that has changed since. Tables and views of `connection`, and files elsewhere (`s3://…`), are
    read and checked again in every call, since nothing would tell that their rows have changed. On
    Spark, make a new evaluator after a table has changed.

    Threads can share an evaluator; their calls run one after another, also where several evaluators
    share a connection. An evaluator can be neither pickled nor copied: make one in each process.

    Raises:
        UsageError: an unknown convention, setting or value, or something in `where` that is no
            condition on the columns of its table.
        DataError: a table cannot be read, lacks a column, or has no row that a condition keeps.
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
        where: Mapping[str, str] | None = None,
        engine: Any = None,
        connection: duckdb.DuckDBPyConnection | None = None,
        threads: int | None = None,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
        temp_limit: str | None = None,
        partitions: int | None = None,
        templates: str | Path | Iterable[str | Path] = (),
        trust_input: bool = False,
        check: bool | None = None,
        record: bool = False,
        watch: Watch | None = None,
    ) -> None:
        if isinstance(convention, Iterator):  # is read twice: for the record too
            convention = list(convention)
        arguments = dict(locals())
        folders = _all_of(str | Path, templates, "templates names folders")
        self._recorder = Recorder({**arguments, "templates": folders}, with_contents=record)
        self.catalog = Catalog.load(folders)
        given = settings or {}
        self.conventions = [Settings(self.catalog, c, given) for c in load_all(convention)]
        self.fallback = (
            None if fallback is None else Settings(self.catalog, Convention.load(fallback), given)
        )
        self.user_keys = tuple(_all_of(str, key, "key names at least one column"))
        if not self.user_keys or not all(self.user_keys):
            raise UsageError("key names at least one column")
        if check and trust_input:
            raise UsageError(
                "check cannot be combined with trust_input, which skips checks of rows"
            )
        self.trust_input = trust_input
        self._check_data = check
        self.partitions = checked_count(partitions)
        self.engine = open_engine(
            engine, connection, threads, memory_limit, temp_directory, temp_limit, watch
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
        self._lock = lock_of(connection)
        try:
            if partitions is not None:
                self._embedded()
            given_tables = [name for name, source in sources.items() if source is not None]
            check_tables(where or {}, sources, given_tables)
            self.where = dict(where or {})
            with self._lock:
                self.tables = self._read(sources, columns or {}, models)
        except BaseException:
            self.engine.close()
            raise
        lists = self.tables.get("recommendations")
        several = is_models(recommendations) or (lists is not None and "model" in lists.columns)

        def planner(checked: bool, dialect: str, alone: bool = False) -> Planner:
            return Planner(
                self.catalog,
                self._tables_read_alone() if alone else self.tables,
                user_keys=self.user_keys,
                several_models=several,
                baseline_model=baseline_model,
                checked=checked,
                dialect=dialect,
            )

        # what is printed, for each dialect
        self._planner_for = functools.cache(functools.partial(planner, False, alone=True))
        # what runs
        self._checking_planner = planner(not trust_input, self.engine.dialect)
        # by the rows that checks look at, those that have passed
        self._checked: dict[RowsOf, set[str]] = {}
        self._found: dict[str, list[validate.Finding]] = {}  # by the query that finds them
        self._n_rows: int | None = None  # of the lists
        self._warned: set[Message] = set()  # of which data warnings
        self._call: PublicCall | None = None
        sources_read = [source for table in self.tables.values() for source in table.sources]
        self._may_change = self.engine.embedded is not None and not all(
            source.is_held for source in sources_read
        )
        # warnings of a run in partitions, each of which finds them again
        self._said: set[str | Message] | None = None
        # notes of a report, each of whose answers is a run
        self._noted: set[str] | None = None

    def _read(
        self, sources: Mapping[str, Any], columns: Mapping[str, str], models: Sequence[str]
    ) -> dict[str, Table]:
        """Read the columns of all tables, and hold to their files as they are now."""
        reader = TableReader(self.engine, self.user_keys, columns, self.where)
        tables: dict[str, Table] = {}
        for name, source in sources.items():
            try:
                if source is not None:
                    tables[name] = reader.read(name, source)
            except DataError as error:
                if name == "baseline" and isinstance(source, str) and models:
                    raise DataError(error, suggestion(source, models)) from error
                raise
        reader.check_mapping(tables)
        for note in reader.notes:
            _log.info(note)
        for warning in reader.warnings:
            warnings.warn(warning, SqlmetricsWarning, stacklevel=callers_level())
        validate.check_types(tables, self.user_keys)
        if self.engine.embedded is not None:
            read = [(table.name, source) for table in tables.values() for source in table.sources]
            self.engine.embedded.lock(
                {file: name for name, source in read for file in source.files},
                {file: name for name, source in read for file in source.watched},
            )
        return tables

    def _tables_read_alone(self) -> dict[str, Table]:
        """Read every table as a statement does that is to run without this evaluator."""
        return {
            name: replace(
                table,
                sources=tuple(
                    replace(source, relation=self.engine.printed(source.relation))
                    for source in table.sources
                ),
            )
            for name, table in self.tables.items()
        }

    @property
    def last_record(self) -> dict[str, Any] | None:
        """What the last result was made of, as plain values; None before there is one.

        Of a result without a data frame (`rows`, `write_parquet`), only with `record=True`.
        """
        return self._recorder.last

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse to be pickled or copied."""
        raise TypeError(
            "an Evaluator cannot be pickled or copied: it holds a connection to its engine. Make "
            "one in each process, from the same arguments"
        )

    def close(self) -> None:
        """Give back memory and temporary files; the evaluator cannot be used afterwards."""
        with self._lock:
            self.engine.close()

    @contextlib.contextmanager
    def _public_call(self) -> Iterator[None]:
        """Run a public call: alone, on the tables as they are now, with data warnings at its end.

        What one public call makes of another is a part of it.
        """
        with self._lock:
            if self._call is not None:
                yield
                return
            self._call = PublicCall(self._check_data)
            try:
                self._check_columns()
                yield
                self._warn_of_data(self._call)
            finally:
                self._call = None
                self._forget_what_may_change()

    def _check_columns(self) -> None:
        """Check that tables of a connection of others still have the columns that we know."""
        engine = self.engine.embedded
        if not self._may_change or engine is None:
            return
        for table in self.tables.values():
            for source in table.sources:
                if not (source.is_held or source.files):
                    engine.check_columns(table.name, source.relation, source.label, source.types)

    def _forget_what_may_change(self) -> None:
        """Forget all that was computed, where tables may be others at the next call."""
        engine = self.engine.embedded
        if self._may_change and engine is not None:
            engine.forget(list(engine.kept()))
            self._checked.clear()
            self._found.clear()
            self._n_rows = None

    @public
    @recorded
    def evaluate(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        by: str | Iterable[str] | None = None,
        by_item: str | Iterable[str] | None = None,
        combinations: bool = False,
        ci: str = "normal",
        confidence: float = 0.95,
        resamples: int = 1000,
        seed: int = 1,
        run_ci: bool = False,
        skip_missing: bool = False,
    ) -> pd.DataFrame:
        """Compute the mean of every metric over its audience.

        Args:
            metrics: specs such as `"ndcg@10"` or `"map(divisor=k)"`, or `"all"`; without any, the
                default set.
            k: cutoffs for the specs that have none; without, those judge whole lists.
            by: what to slice by: columns of `users`, or of `recommendations` or `interactions`
                where they are the same in all rows of a user (`"country"`,
                `"recommendations.variant"`); columns of items (`"items.category"`); or a slice of
                the package: `"activity"`, `"activity_group(groups=5)"`, `"popularity"`, `"month"`.
            by_item: the same, for columns of `items` without `items.` before their name. Of every
                user, the relevant items in the slice count; lists and ranks stay as they are.
            combinations: also the slices by fewer of these columns, down to none; `(all)` stands
                for all values of a column.
            ci: the interval: "normal" (value ± z standard errors), "bootstrap" (percentiles of the
                means of resampled users) or "none".
            confidence: of the interval.
            resamples, seed: how often users are drawn; the same seed draws the same users, for
                every metric and model.
            run_ci: with "bootstrap", also for metrics that have one value for the whole run: each
                is computed anew for every resample (a random half of the users), and the interval
                is value ± z times the standard deviation of these values.
            skip_missing: leave out metrics that need a table or column that was not given, with a
                warning for each.

        Returns:
            One row per model, convention, slice, metric and cutoff: `[model,] [convention,]
            [columns of slices,] metric, k, value, n_users, std, ci_low, ci_high`. `convention` is
            there if the evaluator has several, or a fallback: it says whose definition made the
            number. Slices are text, `(none)` those without a value. `k` is NA for whole
            lists. `n_users` counts the users for whom the metric is defined. It is missing for
            metrics that have one value for the whole run, and so are `std` and, except for the
            estimates from logs and with `run_ci`, the interval.

        Raises:
            UsageError: an unknown metric, parameter, slice or cutoff, a metric that a convention
                does not cover or that has no value for a slice, or a table that was not given.
            DataError: a table breaks a rule that the numbers rest on.
        """
        interval = Interval(ci, confidence, resamples, seed, run_ci)
        asked = _Asked(by, by_item, combinations, interval, skip_missing)
        with self._own_templates_named():
            results = self._results(self._checking_planner, metrics, k, asked)
            with self._checked_plan(results, results.summary()) as plan:
                frame = self.engine.frame(plan)
            return _with_slices_looked_at(frame, results.slicing)

    @public
    @recorded
    def rows(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        **options: Any,
    ) -> Rows:
        """Compute what `evaluate` computes, without a data frame: pandas need not be loaded.

        Arguments and errors are those of `evaluate`.

        Returns:
            The rows of `evaluate` as tuples, in `values`; `names` and `kinds` are of their columns.
        """
        asked = _Asked.of(False, **options)
        with self._own_templates_named():
            results = self._results(self._checking_planner, metrics, k, asked)
            with self._checked_plan(results, results.summary()) as plan:
                rows = self.engine.rows(plan)
            return _with_slices_looked_at(rows, results.slicing)

    @public
    @recorded
    def per_user(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        by: str | Iterable[str] | None = None,
        by_item: str | Iterable[str] | None = None,
        skip_missing: bool = False,
        partition: str | None = None,
    ) -> pd.DataFrame:
        """Compute the values of every user; the other arguments are those of `evaluate`.

        On Spark, `write_parquet` or `write_table` with `per_user=True` write them where they are.

        Args:
            partition: only for the users of one partition, such as `"3/8"`: see
                `write_partition`.

        Returns:
            One row per user (and model, and convention, and slice) and cutoff, ordered by them:
            `[model,] [convention,] user_id, [columns of slices,] k`, then a column per metric. A
            value is missing where the metric was not asked for at this cutoff, where it is
            undefined, and where the user is not in its audience.

        Raises:
            UsageError, DataError: as `evaluate`.
        """
        if not self.engine.fetches_users:
            raise UsageError(
                "values per user of Spark do not come to this process",
                remedy=Message("let Spark write them, with ", Command("write_per_user")),
            )
        asked = _Asked(by, by_item, skip_missing=skip_missing, partition=partition)
        with self._own_templates_named():
            results = self._results(self._checking_planner, metrics, k, asked, per_user=True)
            with self._checked_plan(results, results.per_user(), asked.partition) as plan:
                frame = self.engine.frame(plan)
            return _with_slices_looked_at(frame, results.slicing)

    @public
    @recorded
    def compare(
        self,
        metrics: str | Iterable[str | MetricCall] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        baseline: str | None = None,
        test: str = DEFAULT_TEST,
        correction: str = "holm",
        by: str | Iterable[str] | None = None,
        by_item: str | Iterable[str] | None = None,
        combinations: bool = False,
        ci: str = "normal",
        confidence: float = 0.95,
        resamples: int = 1000,
        seed: int = 1,
        skip_missing: bool = False,
    ) -> pd.DataFrame:
        """Compare every model with one of them, user by user. Needs scipy (the extra `stats`).

        Args:
            baseline: the model that the others are compared with; by default that of the evaluator.
            test: "t" (paired t-test), "wilcoxon" (signed ranks, differences of 0 dropped),
                "randomization" (signs of the differences at random) or "bootstrap" (resampled
                differences, moved to a mean of 0).
            correction: of the p-values, over all rows of the result (of each convention): "holm",
                "bh" (Benjamini-Hochberg) or "none".
            ci: the interval of the difference: "normal" (Student's t, which belongs to the
                t-test), "bootstrap" or "none".
            metrics, k, by, by_item, combinations, confidence, resamples, seed, skip_missing: as of
                `evaluate`; metrics are those that have a value per user.

        Returns:
            One row per convention, slice, metric, cutoff and model: `[convention,] [columns of
            slices,] metric, k, model, baseline, value, baseline_value, difference, ci_low,
            ci_high, relative, wins, ties, losses, test, p_value, p_adjusted, effect_size,
            n_users`. All of them are about the same users on both sides: those for whom both
            models have a value. `difference` is model - baseline, `relative` its share of
            `baseline_value`; `wins` are users for whom the model is better (for a metric that is
            best when it is low, lower). `effect_size` is the mean of the differences divided by
            their standard deviation, for "wilcoxon" the rank-biserial correlation.

        Raises:
            UsageError, DataError: as `evaluate`; or `baseline` is not one of several models, or
                scipy is not installed.
        """
        from sqlmetrics.stats import paired_tests

        paired_tests.checked(test=test, correction=correction)
        paired_tests.check_scipy(test=test, interval=ci)
        self.engine.check_comparisons()
        asked = _Asked(by, by_item, combinations, Interval(ci, confidence, resamples, seed),
                       skip_missing)  # fmt: skip
        with self._own_templates_named():
            results = self._results(self._checking_planner, metrics, k, asked, per_user=True)
            results.check_comparable()  # before any table is read
            chosen = self._baseline(baseline, results.requests)
            with self._checked_plan(results, results.comparison(chosen, test)) as plan:
                frame = self.engine.comparison(plan, results.of_users, callers_level())
            rows = _with_slices_looked_at(frame, results.slicing)
        leading = [name for name in rows.columns if name != "model"]
        place = leading.index("k") + 1
        rows = rows[[*leading[:place], "model", *leading[place:]]]
        rows["model"] = rows["model"].astype(str)  # as the baseline is
        return paired_tests.finished(
            rows, test=test, interval=ci, confidence=confidence, correction=correction
        )

    @public
    def gates(
        self,
        expressions: str | Iterable[str],
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        baseline: str | None = None,
        ci: str = "normal",
    ) -> list[Gate]:
        """Read what fails a comparison, such as `"ndcg@10 ci_low < -1%"`, before it runs.

        The other arguments are those of `compare`. `sqlmetrics.failures` applies the gates to its
        result.

        Raises:
            UsageError: an expression cannot be read, or is about nothing that is compared.
        """
        from sqlmetrics.stats.gates import check_known, parse_gate

        has_rank = self._checking_planner.has_rank

        def canonical(call: MetricCall) -> str:
            resolved, _ = self.conventions[0].resolve(replace(call, cutoff=None), has_rank)
            return str(resolved)

        if not isinstance(expressions, Iterable):
            raise UsageError(f"gates are expressions such as 'ndcg@10 < -1%', not {expressions!r}")
        texts = [expressions] if isinstance(expressions, str) else list(expressions)
        gates = [parse_gate(text, canonical) for text in texts]
        if gates:
            pairs = self.parse(metrics, k, per_user=True)
            requests = requests_of(pairs, self.conventions, self.fallback, has_rank)
            known = [(request.call.name, request.k) for request in requests]
            chosen = self._baseline(baseline, requests)
            models = [model for model in self.models if model != chosen]
            check_known(gates, known, models, interval=ci)
        return gates

    @public
    @recorded
    def leaderboard(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        alpha: float = 0.05,
        test: str = DEFAULT_TEST,
        correction: str = "holm",
        by: str | Iterable[str] | None = None,
        by_item: str | Iterable[str] | None = None,
        combinations: bool = False,
        resamples: int = 1000,
        seed: int = 1,
        skip_missing: bool = False,
    ) -> pd.DataFrame:
        """Rank models: the best of each metric, and which are not significantly worse.

        Every other model is compared with the best of each metric, as `compare` does; the other
        arguments are those of `compare`. Needs scipy (the extra `stats`).

        Args:
            alpha: an adjusted p-value below it makes a model significantly worse.

        Returns:
            One row per model (and convention, and slice), the best of the first metric on top:
            `model, [convention,] [columns of slices,] n_users`, then for each metric and cutoff
            its value, in a column such as `ndcg@10`, and a column `ndcg@10 mark`: "best", "not
            worse" or an empty text. Metrics that are best neither high nor low have no marks, and
            of those with one value for the whole run only the best is marked.

        Raises:
            UsageError, DataError: as `compare`.
        """
        import pandas as pd

        from sqlmetrics.stats import paired_tests
        from sqlmetrics.stats.leaderboard import best_models, leaderboard

        paired_tests.checked(test=test, correction=correction)
        paired_tests.check_scipy(test=test)
        self.engine.check_comparisons()
        slicing: dict[str, Any] = {
            "by": by if by is None or isinstance(by, str) else list(by),
            "by_item": by_item if by_item is None or isinstance(by_item, str) else list(by_item),
            "combinations": combinations,
        }
        values = self.evaluate(metrics, k, ci="none", skip_missing=skip_missing, **slicing)
        if "model" not in values.columns:
            raise UsageError(_SEVERAL)
        values["model"] = values["model"].astype(str)
        better = {name: metric.higher_is_better for name, metric in self.catalog.metrics.items()}
        requests = requests_of(
            self.parse(metrics, k), self.conventions, self.fallback, self._checking_planner.has_rank
        )
        means = {
            (request.call.name, request.k)
            for request in requests
            if request.metric.grain == "user" and request.values["aggregate"] == "mean"
        }
        compared = []
        for model, best_at in best_models(values, better).items():
            calls = [
                # not asked for by name: not every convention needs to have it
                replace(parse_spec(metric), cutoff=cutoff, implied=True)
                for metric, cutoff in best_at
                if (metric, cutoff) in means
            ]
            if calls:
                frame = self.compare(
                    calls, baseline=model, test=test, correction="none", ci="none",
                    resamples=resamples, seed=seed, **slicing,
                )  # fmt: skip
                compared.append(frame)
        comparisons = pd.concat(compared, ignore_index=True) if compared else pd.DataFrame()
        return leaderboard(values, comparisons, better, alpha, correction)

    @public
    def check(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
    ) -> pd.DataFrame:
        """Look at everything that was given for what makes numbers wrong, or hard to trust.

        Nothing is refused: every rule that `evaluate` would refuse tables for is an error among the
        others. `evaluate` finds the first of them, and none of the warnings and notes.

        Args:
            metrics: what the tables are to be good for; without, every metric that they suffice
                for.
            k: which places of a list count, as in `evaluate`; 10 if nothing says so.

        Returns:
            One row per finding, errors first, then warnings and notes: `level, check, table,
            column, n, found, remedy, examples`. `n` counts rows, lists or users, as `found` says;
            `examples` are some of them, a list of dicts. No row: nothing was found.

        Raises:
            UsageError: as `evaluate`, or no table was given, or the input is to be trusted.
        """
        from sqlmetrics.checks.survey import COLUMNS, rows_of

        rows = rows_of(self.findings(metrics, k))
        import pandas as pd

        frame = pd.DataFrame(list(rows.values), columns=list(COLUMNS))
        return frame.astype({"n": "Int64"})

    @public
    def findings(
        self,
        metrics: str | Iterable[str | MetricCall] | None = None,
        k: int | Iterable[int] | None = None,
        levels: Iterable[str] = LEVELS,
    ) -> list[validate.Finding]:
        """Find what `check` returns, of some levels: "error", "warning" and "note"."""
        if not self.tables:
            raise UsageError(
                "there is no table to check; give one with ", give("recommendations"), ", ",
                give("interactions"), " or others",
            )  # fmt: skip
        if self.trust_input:
            raise UsageError("data checks cannot be combined with ", _TRUSTED)
        pairs = self.parse(EVERYTHING if metrics is None else metrics, k)
        if all(cutoff is None for _, cutoff in pairs) and k is None:
            pairs = [(call, DEFAULT_K) for call, _ in pairs]
        with self._own_templates_named():
            calls = self._calls_to_check(pairs, metrics is not None) if "error" in levels else []
        return self._survey(calls, dict.fromkeys(cutoff for _, cutoff in pairs), levels)

    def _survey(
        self, calls: Sequence[Call], cutoffs: Iterable[int | None], levels: Iterable[str]
    ) -> list[validate.Finding]:
        """Run the checks of some levels; queries that have run before are not run again."""
        from sqlmetrics.checks.survey import survey

        planner = self._checking_planner
        resolved = [one.resolve(None, planner.has_rank)[1] for one in self.conventions]
        with self._own_templates_named():
            found = survey(
                self.engine, planner, calls, resolved, list(cutoffs), levels, self._found
            )
        planner.warnings.clear()  # of what is computed, and nothing is
        return found

    def _warn_of_data(self, call: PublicCall) -> None:
        """Warn of what `check` finds in the tables of a result, of each finding once."""
        try:
            found = self._data_warnings(call)
        except Exception as error:  # the result is there
            found = [DataWarning(_stopped(error))]
        for warning in found:
            if warning.message not in self._warned:
                warnings.warn(warning, stacklevel=callers_level())
                self._warned.add(warning.message)

    def _data_warnings(self, call: PublicCall) -> list[DataWarning]:
        """Make a warning of each finding of `check`."""
        if not call.cutoffs or call.check is False:  # no result, or checks are off
            return []
        if not (call.check or self._lists_were_read()) or self._why_unchecked(call.check):
            return []
        return [
            finding.warning() if finding.level == "warning" else DataWarning(_unread(finding))
            for finding in self._warnings(call)
        ]

    def _warnings(self, call: PublicCall) -> list[validate.Finding]:
        """Find what `check` warns of under the cutoffs of a call, and what it could not read."""
        cutoffs = [DEFAULT_K] if set(call.cutoffs) == {None} else call.cutoffs
        return self._survey([], cutoffs, ["warning"])

    def _lists_were_read(self) -> bool:
        """Have checks of a result read all lists, and kept what tells how long they are?"""
        if "recommendations" not in self.tables or self.engine.embedded is None:
            return False
        planner = self._checking_planner
        _, values = self.conventions[0].resolve(None, planner.has_rank)
        profile = planner.node("recommendation_profile", {**values, **cutoff_context([None])})
        return profile.key in self.engine.kept()

    @public
    def report(
        self,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        primary: str | None = None,
        by: str | Iterable[str] | None = None,
        by_item: str | Iterable[str] | None = None,
        test: str = DEFAULT_TEST,
        correction: str = "holm",
        alpha: float = 0.05,
        confidence: float = 0.95,
        check: bool | None = None,
        examples: bool = True,
        title: str | None = None,
        skip_missing: bool = False,
    ) -> Report:
        """Make a page of it all: who is best, for whom, and why. Needs the extra `report`.

        The values are computed once, and all else from them. The page has sums over users only,
        except for the examples.

        Args:
            metrics: as of `evaluate`; without any, the default set and those of novelty, diversity
                and coverage that the tables suffice for.
            k: as of `evaluate`; 1, 3, 5 and 10 if nothing says so and no metric is named.
            primary: the metric that models are ranked by, such as `"ndcg@10"`, and at whose cutoff
                they are compared; by default nDCG at 10, or what comes closest to it.
            by, by_item: as of `evaluate`, one after another; without, columns of users with few
                different values, and with a history `activity_group` and `popularity`.
            test, correction, alpha: as of `leaderboard`.
            confidence: of the intervals.
            check: look for what `check` warns of; by default as the evaluator does, in lists of
                up to a million rows.
            examples: show a few users with their lists.
            title: of the page.
            skip_missing: as of `evaluate`.

        Returns:
            The report: `save(path)` writes the page, and a notebook shows it.

        Raises:
            UsageError: as `compare`; or there are several conventions, or the engine is Spark.
            DataError: as `evaluate`.
        """
        from sqlmetrics.report import Report
        from sqlmetrics.report.analysis import Question
        from sqlmetrics.report.build import content
        from sqlmetrics.report.page import require_packages

        require_packages()
        question = Question(
            metrics, k, primary, by, by_item, test, correction, alpha, confidence, skip_missing
        )
        call = self._call
        assert call is not None
        if check is not None:
            call.check = check
        with self._study(question) as study:
            findings, unchecked = self._warnings_for(call)
            fallback = [] if self.fallback is None else [self.fallback]
            return Report(
                content(
                    study,
                    title=title,
                    conventions=[one.convention for one in [*self.conventions, *fallback]],
                    sources={name: _short_name(table) for name, table in self.tables.items()},
                    conditions=self.where,
                    findings=findings,
                    unchecked=unchecked,
                    statement=self.sql(study.asked_at_main, confidence=confidence),
                    with_examples=examples,
                )
            )

    @public
    def plot(
        self,
        figure: str,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        primary: str | None = None,
        by: str | Iterable[str] | None = None,
        by_item: str | Iterable[str] | None = None,
        test: str = DEFAULT_TEST,
        correction: str = "holm",
        alpha: float = 0.05,
        confidence: float = 0.95,
        skip_missing: bool = False,
    ) -> alt.Chart | alt.LayerChart | alt.VConcatChart:
        """Draw one of the charts of `report`. Needs the extra `report`.

        Args:
            figure: `"cutoffs"` (metrics against the cutoff), `"scores"` (values and intervals of
                models), `"against_best"` (differences to the best), `"distribution"` (of the values
                of users), `"differences"` (of users, between two models), `"wins"` (for how many
                users a model is better), `"slices"`, `"exposure"` (Lorenz curves), `"popularity"`
                or `"trade_off"`.
            metrics, k, primary, by, by_item, test, correction, alpha, confidence, skip_missing: as
                of `report`.

        Returns:
            An Altair chart; several of them, one below the other, where a figure is of many.

        Raises:
            UsageError: there is no such figure, or nothing to draw in it; otherwise as `report`.
            DataError: as `evaluate`.
        """
        from sqlmetrics.report.analysis import Question
        from sqlmetrics.report.figures import checked_kind, plotted

        kind = checked_kind(figure)
        question = Question(
            metrics, k, primary, by, by_item, test, correction, alpha, confidence, skip_missing
        )
        with self._study(question) as study:
            return plotted(kind, study)

    @contextlib.contextmanager
    def _study(self, question: Question) -> Iterator[Study]:
        """Compute the values of a run once, for as long as questions about them are asked."""
        from sqlmetrics.report.analysis import CUTOFFS, Study, chosen_request, metrics_of_reports

        engine, planner = self.engine.embedded, self._checking_planner
        first = self.conventions[0]
        if engine is None:
            raise UsageError(
                "reports and charts are made by DuckDB; with Spark, write exports of the tables, "
                "and report from those"
            )
        if len(self.conventions) > 1:
            names = " and ".join(one.convention.name for one in self.conventions)
            raise UsageError(
                f"a report is under one convention, not {names}; evaluate puts several side by side"
            )
        metrics, k = question.metrics, question.k
        if metrics is None:
            implied = [MetricCall(name, implied=True) for name in metrics_of_reports(self.catalog)]
            calls = self._calls_to_check([(call, None) for call in implied], all_of_them=False)
            # none of them: the first says what is missing
            metrics = [replace(one.requests[0].call, cutoff=None) for one in calls] or implied[:1]
            k = CUTOFFS if k is None else k
        asked = _Asked(
            interval=Interval(confidence=question.confidence), skip_missing=question.skip_missing
        )
        with self._own_templates_named():
            results = self._results(planner, metrics, k, asked)
            results.with_convention = False  # there is one
            self._ran(results.requests)
            chosen = None
            if question.primary is not None:
                call, _ = first.resolve(parse_spec(question.primary), planner.has_rank)
                assert call is not None
                chosen = chosen_request(results.requests, call, question.primary)
            attributes = attributes_of(
                question.by, question.by_item, self.catalog, self.tables, self.user_keys
            )
            checks_left = [lambda rows_of: self._check_results(results, rows_of)]

            def run(plan: Plan) -> pd.DataFrame:
                """Run a plan; the first of all looks at the tables."""
                check = checks_left.pop() if checks_left else lambda _: None
                with self._divided(plan, check) as plan:
                    return engine.frame(plan)

            is_whole = self._division(results.summary()).is_whole
            held = contextlib.ExitStack()

            def hold(nodes: Sequence[Node]) -> None:
                """Compute nodes once; but for runs that are split, each answer by itself."""
                if is_whole:
                    held.enter_context(engine.holding(nodes))

            study = Study(run, hold, results, question, attributes, chosen)
            self._noted = set()
            try:
                with held:
                    if is_whole:
                        checks_left.pop()(validate.all_rows)
                    hold(study.held)
                    study.add_usual_slices()
                    for attribute in study.attributes:
                        slicing = Slicing(planner, [attribute], False, study.primary.values)
                        self._check_slices(slicing, validate.all_rows)
                    yield study
            finally:
                self._noted = None

    def _warnings_for(self, call: PublicCall) -> tuple[list[validate.Finding], Message]:
        """Find what `check` warns of for a report; or say why it was not looked for."""
        unchecked = self._why_unchecked(call.check)
        call.check = not unchecked  # what the page says is warned of
        if unchecked:
            return [], unchecked
        try:
            found = self._warnings(call)
        except Exception as error:  # all else can be said
            return [], Message(_stopped(error), ".")
        unread = [_unread(finding) for finding in found if finding.level != "warning"]
        warned = [finding for finding in found if finding.level == "warning"]
        return warned, Message(joined("; ", unread), ".") if unread else Message()

    def _why_unchecked(self, check: bool | None) -> Message:
        """Say why data warnings are not looked for; an empty message: they are."""
        if self.trust_input:
            return Message("Data checks were skipped because of ", _TRUSTED, ".")
        if check is False:
            return Message("Data checks were skipped; run ", Command("check"), ".")
        if check is None and (n_rows := self._rows_of_lists()) > _MOST_CHECKED:
            return Message(
                f"The lists have {n_rows:,} rows. Data checks run by default only up to "
                f"{_MOST_CHECKED:,} rows; add ", Argument("check", True),
                ", or run ", Command("check"), ".",
            )  # fmt: skip
        return Message()

    def _calls_to_check(
        self, pairs: Sequence[tuple[MetricCall, int | None]], all_of_them: bool
    ) -> list[Call]:
        """Resolve metrics; those that cannot be computed are left out, or refused."""
        planner, calls = self._checking_planner, []
        requests = requests_of(pairs, self.conventions, self.fallback, planner.has_rank)
        for call in calls_of(requests):
            try:
                planner.nodes(call)
            except TemplateError:
                raise
            except UsageError:  # it lacks a table, or means nothing under these settings
                if all_of_them:
                    raise
            else:
                calls.append(call)
        return calls

    def _rows_of_lists(self) -> int:
        """Count the rows of the lists, from what checks have read of them."""
        if self._n_rows is not None:
            return self._n_rows
        planner = self._checking_planner
        _, values = self.conventions[0].resolve(None, planner.has_rank)
        values = {**values, "duplicate_recommendations": "keep"}  # not to be looked for again
        totals = planner.check(self.catalog.checks[validate.TOTALS["recommendations"]], values)
        self._n_rows = int(self.engine.records(totals)[0]["n_rows"])
        return self._n_rows

    @public
    @recorded
    def write_parquet(
        self,
        path: str | Path,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        per_user: bool = False,
        force: bool = False,
        **options: Any,
    ) -> None:
        """Write what `evaluate` or `per_user` returns straight from the engine to a file.

        The file is written whole or not at all; an existing one only with `force`. `options` are
        the other arguments of `evaluate`, or of `per_user`. Spark writes a folder of files, to any
        path or URI that it knows; where it stops on the way, what it was to replace is gone.
        """
        with (
            self.engine.new_file(path, force) as target,
            self._own_templates_named(),
            self._plan(metrics, k, per_user, options) as plan,
        ):
            self.engine.write_parquet(plan, target, force)

    @public
    @recorded
    def write_table(
        self,
        name: str,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        per_user: bool = False,
        force: bool = False,
        **options: Any,
    ) -> None:
        """Let Spark write what `evaluate` or `per_user` returns into a table of its catalog.

        `name` is one as Spark reads it (`catalog.schema.table`). An existing table is replaced only
        with `force`. `options` are the other arguments of `evaluate`, or of `per_user`.

        Raises:
            UsageError: the engine is not Spark, or `name` is no name; otherwise as `evaluate`.
            DataError: the table exists, is read, or its schema does not exist; otherwise as
                `evaluate`.
        """
        engine = self.engine.catalog
        if engine is None:
            raise UsageError(
                "write_table writes into Spark's catalog; on DuckDB, write_parquet writes a file"
            )
        engine.check_table(name, force)
        with self._own_templates_named(), self._plan(metrics, k, per_user, options) as plan:
            engine.write_table(plan, name, force)

    def _plan(
        self,
        metrics: str | Iterable[str] | None,
        k: int | Iterable[int] | None,
        per_user: bool,
        options: Mapping[str, Any],
    ) -> AbstractContextManager[Plan]:
        """Plan what `evaluate` or `per_user` returns, its tables checked."""
        asked = _Asked.of(per_user, **options)
        results = self._results(self._checking_planner, metrics, k, asked, per_user)
        plan = results.per_user() if per_user else results.summary()
        return self._checked_plan(results, plan, asked.partition)

    @public
    def write_partition(
        self,
        folder: str | Path,
        partition: str,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        force: bool = False,
        **options: Any,
    ) -> None:
        """Compute what `evaluate` needs of the users of one partition, and write it to a folder.

        Once all partitions are there, `reduce(folder)` returns what `evaluate` returns. Jobs may
        run at the same time, on several machines, with the same versions of sqlmetrics and DuckDB.
        `options` are the other arguments of `evaluate`, the same in every job.

        Args:
            folder: where the parts of this run go; made if it is not there.
            partition: which of how many, such as `"3/8"`.
            force: replace the part if it is there.

        Raises:
            UsageError: `partition` is none; otherwise as `evaluate`.
            DataError: the part is there already, or the folder has parts of another request;
                otherwise as `evaluate`, about the rows of these users.
        """
        from sqlmetrics.partitions.jobs import check_folder, write_part

        part = self._part(partition)
        check_folder(Path(folder), part, force)
        with self._own_templates_named():
            asked = _Asked.of(False, **options)
            results = self._results(self._checking_planner, metrics, k, asked)
            root, engine = results.summary().root, self._embedded()
            split, before = self._split(), set(engine.kept())
            try:
                self._check_results(results, rows_of=split.rows_of(part))
                slicing = results.slicing
                write_part(
                    engine,
                    split,
                    root,
                    part,
                    Path(folder),
                    asked=[
                        str(replace(request.call, cutoff=request.k)) for request in results.requests
                    ],
                    sliced_by=() if slicing is None else slicing.attributes,
                    force=force,
                )
            finally:
                engine.forget(set(engine.kept()) - before)

    def _split(self, enough: Iterable[str] = (), keeps: bool = True) -> Split:
        """Cut plans by users; `keeps`: the rows of a partition, where they are read again."""
        engine, lists = self._embedded(), self.tables.get("recommendations")
        return Split(
            self.user_keys,
            {} if lists is None else lists.columns,
            engine.interruptible(lambda: aggregates_of(engine.connection)),
            # in a connection of others, it would be as Arrow: other types
            keeps=keeps and engine.owned,
            enough=frozenset(enough),
        )

    def _part(self, partition: str) -> Partition:
        """Read which partition a job computes."""
        if self.partitions not in (None, 1):
            raise UsageError(
                "partition is the share of one of several jobs, partitions splits a run in this "
                "process: give one of them"
            )
        return Partition.parse(partition)

    def _embedded(self) -> EmbeddedEngine:
        """Return the engine, where it has to be DuckDB."""
        if self.engine.embedded is None:
            raise UsageError("partitions are for DuckDB; Spark splits its work by itself")
        return self.engine.embedded

    @public
    def sql(
        self,
        metrics: str | Iterable[str | MetricCall] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        per_user: bool = False,
        dialect: str | None = None,
        **options: Any,
    ) -> str:
        """Return the statement behind `evaluate` (or `per_user`), which runs alone.

        It does not check its tables. In DuckDB's SQL, frames appear in it under the name of their
        table, prefixed with `sqlmetrics_`; where this evaluator would split the users into
        partitions, the first line says so. `options` are the other
        arguments of `evaluate`, or of `per_user`.

        Args:
            dialect: the system that it is for, by default that of the engine: duckdb, spark,
                databricks, snowflake, bigquery, trino, athena, clickhouse, postgres, redshift or
                datafusion. All but the engine's own read tables by name: see `TableName`.

        Raises:
            UsageError: the dialect cannot express a metric or option, or a table has no name there.
        """
        dialect = self.engine.dialect if dialect is None else checked(dialect)
        planner = self._planner_for(dialect)
        asked = _Asked.of(per_user, **options)
        results = self._results(planner, metrics, k, asked, per_user)
        plan = results.per_user() if per_user else results.summary()
        if asked.partition is not None:
            plan = self._split(_NUMBERS).of_partition(plan, self._part(asked.partition))
        self._require_names(plan, dialect)
        self._warn(planner)
        text = plan.statement(dialect=dialect) + ";\n"
        here = dialect == self.engine.dialect and asked.partition is None
        division = self._division(plan) if here else Division()
        return text if division.is_whole else f"-- here: {division}\n{text}"

    @public
    def dbt(
        self,
        folder: str | Path,
        metrics: str | Iterable[str] | None = None,
        k: int | Iterable[int] | None = None,
        *,
        dialect: str | None = None,
        name: str = "sqlmetrics",
        command: str = "",
        force: bool = False,
        **options: Any,
    ) -> list[Path]:
        """Write a dbt package that computes what `evaluate` and `per_user` return in a warehouse.

        Its tables are given by name: see `TableName`. `options` are the other arguments of
        `evaluate`.

        Args:
            folder: where the package goes; all of its files are written, or none.
            dialect: the system that dbt runs on, as of `sql`.
            name: of the package, and what the names of its models start with.
            command: what the README of the package says that made it.
            force: replace a package that is there.

        Returns:
            The files of the package.

        Raises:
            UsageError: as `sql`; or a table is not given by name, or `name` cannot name a package.
            DataError: there are files already, or the folder cannot be written to.
        """
        from sqlmetrics.export import dbt_package

        dialect = self.engine.dialect if dialect is None else checked(dialect)
        planner = self._planner_for(dialect)
        results = self._results(planner, metrics, k, _Asked.of(False, **options))
        files = dbt_package.package(results, dialect, name, command)
        self._warn(planner)
        return dbt_package.write(Path(folder), files, force)

    def _require_names(self, plan: Plan, dialect: str) -> None:
        """Refuse to print a statement that reads what is gone when it runs, or only we can see.

        Raises:
            UsageError: names the table.
        """
        elsewhere = dialect != self.engine.dialect
        for node in plan.nodes():
            owner = node.table if isinstance(node, Query) else ""
            given = self.tables.get(owner)
            for source in () if given is None else given.sources:
                from_stdin = any(self.engine.shown(file) != file for file in source.files)
                if from_stdin or (elsewhere and not source.only_named):
                    raise UsageError(
                        f"{dialect if elsewhere else 'a statement'} does not read {source.label} "
                        f"({owner})",
                        table=owner,
                        remedy=Message(
                            "" if elsewhere else "give a file, or ",
                            "name the table there with ",
                            Argument(f"{owner}_table", "NAME"),
                        ),
                    )

    @public
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

            def check(rows_of: RowsOf) -> None:
                self._check_calls(planner, calls_of(requests), "after step", rows_of)
                self._warn(planner)

            self._ran(requests)
            summary = Results(planner, requests, with_convention=True).summary()
            with self._divided(summary, check) as plan:
                return with_steps(self.engine.frame(plan), steps)

    @public
    def stage(self, name: str, metric: str | None = None) -> pd.DataFrame:
        """Look at a stage (`hits`, `ranked`, `audience`, …) or at a table as the queries see it.

        Some stages need to know for which metric: `stage("ideal_lists", "ndcg(gain=linear)")`. Of
        several conventions, the first is the one whose stage is shown. The order of the rows is not
        defined. Spark returns the first 1000 rows, sorted by all columns.

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
            limit = None if self.engine.fetches_users else _SHOWN
            plan = self._checking_planner.stage(name, values, limit)
        except UndefinedNameError as error:
            if metric is not None:
                raise
            lacking = error.name
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
        except QueryError as error:
            templates = [
                *self.catalog.metrics.values(),
                *self.catalog.stages.values(),
                *self.catalog.slices.values(),
                *self.catalog.checks.values(),
            ]
            own = [str(one.path) for one in templates if template_root() not in one.path.parents]
            if own:
                found = Message(error.found, f"; your own templates: {', '.join(own)}")
                raise TemplateError(found, remedy=error.remedy) from error
            raise

    def parse(
        self,
        metrics: str | Iterable[str | MetricCall] | None = None,
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
            read = [spec if isinstance(spec, MetricCall) else parse_spec(spec) for spec in specs]
            calls = [call for one in read for call in self._expand(one, per_user)]
        return expand_cutoffs(calls, k)

    def _expand(self, call: MetricCall, per_user: bool) -> list[MetricCall]:
        """Put every metric in the place of `all`; per user, every metric that has such values."""
        if call.metric != EVERYTHING:
            return [call]
        if call.params:
            raise UsageError(f"{call}: settings for all metrics are given with ", set_to("NAME"))
        return [
            replace(call, metric=metric.name, implied=True)
            for metric in self.catalog.metrics.values()
            if metric.grain == "user" or not per_user
        ]

    def _results(
        self,
        planner: Planner,
        metrics: str | Iterable[str | MetricCall] | None,
        k: int | Iterable[int] | None,
        asked: _Asked,
        per_user: bool = False,
    ) -> Results:
        """Resolve what is asked for, and plan its values."""
        planner.warnings.clear()
        pairs = self.parse(metrics, k, per_user=per_user)
        requests = requests_of(pairs, self.conventions, self.fallback, planner.has_rank)
        if asked.skip_missing:
            calls = self._that_can_be_computed(planner, calls_of(requests))
            requests = [request for call in calls for request in call.requests]
        attributes = attributes_of(
            asked.by, asked.by_item, self.catalog, self.tables, self.user_keys
        )
        slicing = None
        if attributes or asked.combinations:
            _, values = self.conventions[0].resolve(None, planner.has_rank)
            slicing = Slicing(planner, attributes, asked.combinations, values)
        return Results(planner, requests, self._with_convention, slicing, asked.interval)

    @property
    @public
    def models(self) -> list[str]:
        """Names of the models whose lists are judged; empty where models are not named."""
        lists = self.tables.get("recommendations")
        if lists is None or not self._checking_planner.several_models:
            return []
        if named := self._named_models:
            return named
        _, values = self.conventions[0].resolve(None, self._checking_planner.has_rank)
        plan = self._checking_planner.stage("models", values)
        return sorted(str(row["model"]) for row in self.engine.records(plan))

    @property
    def _named_models(self) -> list[str]:
        """Names of models that were given with their lists, each a source of its own."""
        lists = self.tables.get("recommendations")
        sources = () if lists is None else lists.sources
        return [source.model for source in sources if source.model is not None]

    def _baseline(self, baseline: str | None, requests: Sequence[Request]) -> str:
        """Find the model to compare with."""
        chosen = self._checking_planner.baseline_model if baseline is None else str(baseline)
        if not self._checking_planner.several_models:
            raise UsageError(_SEVERAL)
        if not self._named_models:  # their names are read from the lists
            self._check_calls(self._checking_planner, calls_of(requests), "under the convention")
        models = self.models
        if len(models) < 2:
            raise UsageError(_SEVERAL, f"; there is only {models[0]}")
        if chosen is None or chosen not in models:
            what = "no baseline named" if chosen is None else f"there is no model {chosen!r}"
            close = "" if chosen is None else suggestion(chosen, models).rstrip("?")
            raise UsageError(
                f"{what}{close}; name one of {', '.join(models)} with ",
                Argument("baseline", "NAME"),
            )
        return chosen

    @property
    def _with_convention(self) -> bool:
        """Do results say which convention made a number?"""
        return len(self.conventions) > 1 or self.fallback is not None

    def _that_can_be_computed(self, planner: Planner, calls: Sequence[Call]) -> list[Call]:
        """Leave out, with a warning, what needs a table or column that was not given."""
        kept: list[Call] = []
        missing: list[tuple[str, MissingTableError]] = []
        for call in calls:
            before = dict(planner.warnings)
            try:
                planner.nodes(call)
            except MissingTableError as error:
                missing.append((call.metric.name, error))
                planner.warnings = before  # what it would have assumed
            else:
                kept.append(call)
        if not kept:
            raise missing[0][1]
        if missing:
            planner.warnings[left_out(missing)] = None
        return kept

    def _warn(self, planner: Planner) -> None:
        """Pass on what templates and the planner have to say."""
        messages = [one for one in planner.warnings if one not in (self._said or ())]
        planner.warnings.clear()
        for message in messages:
            warnings.warn(SqlmetricsWarning(message), stacklevel=callers_level())
        if self._said is not None:
            self._said.update(messages)

    def _ran(self, requests: Iterable[Request]) -> None:
        """Note what the call that runs computes."""
        if self._call is not None:
            self._call.ran(requests)

    @contextlib.contextmanager
    def _checked_plan(
        self, results: Results, plan: Plan, partition: str | None = None
    ) -> Iterator[Plan]:
        """Check the tables that a result reads; hand out the plan, that of a partition if asked."""
        self._recorder.ran(results, plan)
        self._ran(results.requests)
        if partition is None:
            with self._divided(plan, lambda rows_of: self._check_results(results, rows_of)) as plan:
                yield plan
            return
        part, split = self._part(partition), self._split(_NUMBERS)
        plan = split.of_partition(plan, part)
        self._check_results(results, split.rows_of(part))
        yield plan

    @contextlib.contextmanager
    def _divided(self, plan: Plan, check: Callable[[RowsOf], None]) -> Iterator[Plan]:
        """Check the tables and hand out the plan; what does not fit into memory, in partitions.

        `check` looks at the rows that it is told to.
        """
        division, engine = self._division(plan), self.engine.embedded
        if division.is_whole or engine is None:
            check(validate.all_rows)
            yield plan
            return
        if (note := str(division)) not in (self._noted or ()):
            _log.info("%s", note)
        if self._noted is not None:
            self._noted.add(note)
        split = self._split(keeps=not division.bounds and not division.to_sort)
        before, passed = set(engine.kept()), self._done(validate.all_rows)
        done: list[set[str]] = []
        self._said = set()

        def check_partition(part: Partition) -> None:
            rows_of = split.rows_of(part)
            self._checked[rows_of] = set(passed)
            try:
                check(rows_of)
            except RowsError as error:
                text = f"\nThese are rows of partition {part} of the users."
                raise error.with_text(text) from error
            finally:
                done.append(self._checked.pop(rows_of))

        try:
            with engine.scratch() as folder:
                reduced = in_turn(engine, split, plan.root, division, folder, check_partition)
                passed |= set.intersection(*done)
                yield reduced
        finally:
            self._said = None
            engine.forget(set(engine.kept()) - before)

    def _division(self, plan: Plan) -> Division:
        """Decide whether a result is computed as a whole, or for partitions of the users."""
        if self.engine.embedded is None:
            return Division()
        read = {node.table for node in plan.nodes() if isinstance(node, Query) and node.is_input}
        tables = {name: table for name, table in self.tables.items() if name in read}
        division = divide(self.engine.embedded, tables, self.user_keys, self.partitions)
        if division.is_whole:
            return division
        return replace(division, whole=tables_needed_whole(self._split(), plan.root))

    def _check_results(self, results: Results, rows_of: RowsOf = validate.all_rows) -> None:
        """Check the tables that a result reads; `rows_of` makes checks look at some rows only."""
        calls = calls_of(results.requests)
        self._check_calls(results.planner, calls, "under the convention", rows_of)
        self._check_slices(results.slicing, rows_of)
        self._warn(results.planner)

    def _check_slices(self, slicing: Slicing | None, rows_of: RowsOf) -> None:
        """Check what is sliced by: a user has one value of a column."""
        if slicing is None or self.trust_input:
            return
        for attribute in slicing.attributes:
            if attribute.template is not None:
                nodes = {node.name: node for node in Plan(slicing.values_of(attribute)).nodes()}
                self._check(nodes, slicing.values, rows_of)
            if attribute.of == "users" and not attribute.built_in:
                done = self._done(rows_of)
                validate.check_even(self.engine, slicing, attribute, done, rows_of)

    def _done(self, rows_of: RowsOf) -> set[str]:
        """Return the checks of these rows that have passed."""
        return self._checked.setdefault(rows_of, set())

    def _check_calls(
        self,
        planner: Planner,
        calls: Sequence[Call],
        where: str,
        rows_of: RowsOf = validate.all_rows,
    ) -> None:
        """Check the tables that calls read, under the settings of each.

        `where`: what stands before the name of a convention, where there are several.
        """
        several = len({call.convention for call in calls}) > 1
        for call in calls:
            try:
                self._check(planner.nodes(call), call.values, rows_of)
            except DataError as error:
                if not several:
                    raise
                raise error.with_text(f"\nThis is so {where} {call.convention}.") from error

    def _check(
        self,
        nodes: Mapping[str, Node],
        values: Mapping[str, Any],
        rows_of: RowsOf = validate.all_rows,
    ) -> None:
        """Check the tables once for each set of settings that bears on the checks."""
        for node in nodes.values():
            given = self.tables.get(node.table) if isinstance(node, Query) else None
            if given is not None and any(source.only_named for source in given.sources):
                raise UsageError(
                    f"{given.name}: {given.sources[0].label} is only a name, for statements that ",
                    Command("sql"),
                    " prints",
                    table=given.name,
                    remedy="to compute, give a file or a table that can be read",
                )
        if not self.trust_input:
            validate.check_rows(
                self.engine, self._checking_planner, values, nodes, self._done(rows_of), rows_of
            )


def _all_of(kind: Any, given: Any, what: str) -> list[Any]:
    """Read an argument that is one value of a kind, or several of them."""
    if isinstance(given, kind):
        return [given]
    values = list(given) if isinstance(given, Iterable) else [given]
    if isinstance(given, bytes) or not all(isinstance(value, kind) for value in values):
        raise UsageError(f"{what}, not {given!r}")
    return values


def _stopped(error: Exception) -> Message:
    """Say that data checks failed."""
    what: Any = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, SqlmetricsError):
        what = error.found
    return Message("data checks stopped before their end: ", what)


def _unread(finding: validate.Finding) -> Message:
    """Say that a table is damaged which only data checks read."""
    return Message("data checks cannot read a table: ", finding.found)


def _short_name(table: Table) -> str:
    """Name what a table was read from, without its folder: that is nobody else's business."""
    first = table.sources[0]
    if len(table.sources) > 1:
        return f"{len(table.sources)} sources, one per model"
    return first.label.rstrip("/").rpartition("/")[2] if first.files else first.label


def _with_slices_looked_at(frame: _Frame, slicing: Slicing | None) -> _Frame:
    warn_of_empty_slices(frame, () if slicing is None else slicing.attributes)
    return frame
