"""The façade: register tables once, then ask for metrics, comparisons, reports or SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.checks.survey import frame_of
from sqlmetrics.metrics.conventions import STANDARD
from sqlmetrics.plan.request import Asked
from sqlmetrics.record.record import recorded
from sqlmetrics.run import comparing, looking, printing
from sqlmetrics.run import path as run
from sqlmetrics.run.public_calls import public
from sqlmetrics.run.session import Session

if TYPE_CHECKING:
    import altair as alt
    import duckdb
    import pandas as pd

    from sqlmetrics.checks.validate import Finding
    from sqlmetrics.engines.base import Watch
    from sqlmetrics.metrics.definitions import Cutoffs, Metrics
    from sqlmetrics.plan.request import Names
    from sqlmetrics.report import Report
    from sqlmetrics.rows import Rows


class Evaluator:
    """Evaluates recommendation lists against held-out interactions.

    Args:
        recommendations: the lists to judge; columns `user_id`, `item_id` and `rank` (1 is the
            top) or `score` (high is best). Several models: a column `model`, or a dict
            `{"als": source, "popular": source}`.
        interactions: the held-out truth; `user_id`, `item_id`, optionally `relevance`.
        history: past interactions; `user_id`, `item_id`.
        items: attributes of items; `item_id`, and the columns that metrics or slices need.
        users: attributes of users; `user_id`, and columns to slice by.
        aspects: aspects of items; `item_id`, `aspect`.
        baseline: other lists to compare with, or the name of one of the models.
        logs: logged decisions; `user_id`, `item_id`, `reward`, optionally `propensity`.
        convention: the name of a convention, or the path of a TOML file; or several of them; or
            "all" of the package.
        fallback: the convention that computes metrics which those of `convention` do not cover;
            without it, such metrics are refused.
        settings: choices that differ from the convention: `{"ties": "item_desc"}`, or for one
            metric `{"map.divisor": "k"}`.
        columns: names of the queries -> names in the tables: `{"user_id": "user_idx"}` for all
            tables, `{"interactions.relevance": "rating"}` for one.
        key: the columns that make a user, where that is not `user_id`.
        where: table -> a condition in SQL on its rows, such as `{"interactions": "rating >= 4"}`,
            over the columns as the table itself calls them. Other rows do not count.
        engine: a SparkSession to run in, classic or Connect; without one, DuckDB runs it in this
            process.
        connection: a DuckDB connection to run in, with the tables that are given by name.
        threads: the number of threads of the engine, unless `connection` is given.
        memory_limit: the memory of the engine, such as `"4GB"`, unless `connection` is given.
        temp_directory: the directory for temporary files. With Spark, driver and executors read it.
        temp_limit: the largest size of the temporary files, such as `"20GB"`; by default half of
            the free space.
        partitions: the number of partitions of the users, which are computed one after another; by
            default, the size of the tables and the memory limit decide.
        templates: folders with templates of one's own.
        trust_input: skip the checks that need a pass over the rows.
        check: whether results come with a `DataWarning` for every warning that `check` would find,
            each once; by default, for lists of up to a million rows that DuckDB runs as a whole.
        record: let the record of a result, in the attrs of its data frame, also say what was in the
            tables; this takes a pass over them.
        watch: shows progress; see `Watch`.

    A source is a path, list of paths or glob (Parquet, CSV, JSON lines, TREC run or qrels), a
    pandas or Polars frame, an Arrow table, dataset or reader, a DuckDB relation, the name of a
    table in `connection`, or a dict `{user: [items]}`; with Spark, what `docs/how-to/spark.md`
    lists. Frames count as they were when the evaluator was made; a file that has changed since is
    refused; tables of `connection` are read again in every call. Threads can share an evaluator;
    their calls run one after another. It can be neither pickled nor copied.

    Raises:
        UsageError: an unknown convention, setting or value, or something in `where` that is no
            condition on the columns of its table.
        DataError: a table cannot be read, lacks a column, or has no row that a condition keeps.
    """

    def __init__(
        self, recommendations: Any = None, interactions: Any = None, *, history: Any = None,
        items: Any = None, users: Any = None, aspects: Any = None, baseline: Any = None,
        logs: Any = None,
        convention: str | Path | Iterable[str | Path] = STANDARD,
        fallback: str | Path | None = None, settings: Mapping[str, Any] | None = None,
        columns: Mapping[str, str] | None = None, key: str | Sequence[str] = "user_id",
        where: Mapping[str, str] | None = None,
        engine: Any = None, connection: duckdb.DuckDBPyConnection | None = None,
        threads: int | None = None, memory_limit: str | None = None,
        temp_directory: str | Path | None = None, temp_limit: str | None = None,
        partitions: int | None = None, templates: str | Path | Iterable[str | Path] = (),
        trust_input: bool = False, check: bool | None = None, record: bool = False,
        watch: Watch | None = None,
    ) -> None:  # fmt: skip
        given = {name: value for name, value in locals().items() if name != "self"}
        self._session = Session(given)
        self.catalog = self._session.catalog
        self.tables, self.where = self._session.tables, self._session.where
        self.engine = self._session.engine

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
        self._session.close()

    @property
    def last_record(self) -> dict[str, Any] | None:
        """The record of the last result, as plain values; None before the first result.

        Results without a data frame (`rows`, `write_parquet`) have one only with `record=True`.
        """
        return self._session.recorder.last

    @property
    @public
    def models(self) -> list[str]:
        """Names of the models whose lists are judged; empty where models are not named."""
        return comparing.models(self._session)

    @public
    @recorded
    def evaluate(
        self, metrics: Metrics = None, k: Cutoffs = None, *,
        by: Names = None, by_item: Names = None, combinations: bool = False,
        ci: str = "normal", confidence: float = 0.95, resamples: int = 1000, seed: int = 1,
        run_ci: bool = False, skip_missing: bool = False,
    ) -> pd.DataFrame:  # fmt: skip
        """Compute the mean of every metric over its audience.

        Args:
            metrics: specs such as `"ndcg@10"` or `"map(divisor=k)"`, or `"all"`; without any, the
                default set.
            k: cutoffs for the specs that have none; without, those judge whole lists.
            by: what to slice by: columns of `users`, `recommendations` or `interactions`
                (`"country"`, `"recommendations.variant"`) or of items (`"items.category"`), or
                slices of the package: `"activity_group(groups=5)"`, `"popularity"`, `"month"`.
            by_item: the same, for columns of `items` without `items.` before their name. Of every
                user, the relevant items in the slice count; lists and ranks stay as they are.
            combinations: also the slices by fewer of these columns, down to none; `(all)` stands
                for all values of a column.
            ci: the interval: "normal" (value ± z standard errors), "bootstrap" (percentiles of the
                means of resampled users) or "none".
            confidence: of the interval.
            resamples: the number of resamples; every metric and model uses the same ones.
            seed: the seed of the resamples.
            run_ci: with "bootstrap", also for metrics that have one value for the whole run: each
                is computed anew for every resample.
            skip_missing: leave out metrics that need a table or column that was not given, with a
                warning for each.

        Returns:
            One row per model, convention, slice, metric and cutoff. The columns are `model` and
            `convention` (if there are several), those of slices, then `metric`, `k`, `value`,
            `n_users`, `std`, `ci_low` and `ci_high`. Slices are text,
            `(none)` those without a value. `k` is NA for whole lists. `n_users` counts the users
            for whom the metric is defined; it and `std` are missing for metrics with one value for
            the whole run, and mostly the interval too.

        Raises:
            UsageError: an unknown metric, parameter, slice or cutoff, a metric that a convention
                does not cover or that has no value for a slice, or a table that was not given.
            DataError: a table breaks a rule that the numbers rest on.
        """
        asked = Asked.of(metrics, k, by=by, by_item=by_item, combinations=combinations, ci=ci,
                         confidence=confidence, resamples=resamples, seed=seed, run_ci=run_ci,
                         skip_missing=skip_missing)  # fmt: skip
        return run.evaluate(self._session, asked, self.engine.frame)

    @public
    @recorded
    def rows(self, metrics: Metrics = None, k: Cutoffs = None, **options: Any) -> Rows:
        """Compute what `evaluate` computes, without a data frame: pandas need not be loaded.

        Returns:
            The rows of `evaluate` as tuples, in `values`; `names` and `kinds` are of their columns.
        """
        return run.evaluate(self._session, Asked.of(metrics, k, **options), self.engine.rows)

    @public
    @recorded
    def per_user(
        self, metrics: Metrics = None, k: Cutoffs = None, *, by: Names = None,
        by_item: Names = None, skip_missing: bool = False, partition: str | None = None,
    ) -> pd.DataFrame:  # fmt: skip
        """Compute the values of every user; the other arguments are those of `evaluate`.

        On Spark, `write_parquet` or `write_table` with `per_user=True` write them where they are.

        `partition`: only for the users of one partition, such as `"3/8"`.

        Returns:
            One row per user (and model, convention and slice) and cutoff, ordered by them. The
            columns are `model` and `convention` (if there are several), `user_id`, those of slices,
            `k`, then one per metric. A value is missing where the metric was not asked for at this
            cutoff, where it is undefined, and where the user is not in its audience.

        Raises:
            UsageError, DataError: as `evaluate`.
        """
        asked = Asked.of(metrics, k, True, by=by, by_item=by_item, skip_missing=skip_missing,
                         partition=partition)  # fmt: skip
        return run.per_user(self._session, asked)

    @public
    @recorded
    def write_parquet(
        self, path: str | Path, metrics: Metrics = None, k: Cutoffs = None, *,
        per_user: bool = False, force: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        """Write what `evaluate` or `per_user` returns straight from the engine to a file.

        The file is written whole or not at all; an existing one only with `force`. `options` are
        the other arguments of `evaluate`, or of `per_user`. Spark writes a folder of files.
        """
        run.write_parquet(self._session, Asked.of(metrics, k, per_user, **options), path, force)

    @public
    @recorded
    def write_table(
        self, name: str, metrics: Metrics = None, k: Cutoffs = None, *,
        per_user: bool = False, force: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        """Let Spark write what `evaluate` or `per_user` returns into a table of its catalog.

        `name` is one as Spark reads it (`catalog.schema.table`). An existing table is replaced only
        with `force`. `options` are the other arguments of `evaluate`, or of `per_user`.

        Raises:
            UsageError, DataError: as `evaluate`; or Spark cannot write this table.
        """
        run.write_table(self._session, Asked.of(metrics, k, per_user, **options), name, force)

    @public
    def write_partition(
        self, folder: str | Path, partition: str, metrics: Metrics = None, k: Cutoffs = None, *,
        force: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        """Compute what `evaluate` needs of the users of one partition, and write it to a folder.

        Once all partitions are there, `reduce(folder)` returns what `evaluate` returns. Jobs may
        run at the same time, on several machines, with the same versions of sqlmetrics and DuckDB.
        `partition` is one such as `"3/8"`, `options` the other arguments of `evaluate`, the same in
        every job; `force` replaces a part.

        Raises:
            UsageError, DataError: as `evaluate`; or the folder has this part, or others.
        """
        asked = Asked.of(metrics, k, **options)
        run.write_partition(self._session, asked, Path(folder), partition, force)

    @public
    @recorded
    def compare(
        self, metrics: Metrics = None, k: Cutoffs = None, *,
        baseline: str | None = None, test: str = "t", correction: str = "holm",
        by: Names = None, by_item: Names = None, combinations: bool = False,
        ci: str = "normal", confidence: float = 0.95, resamples: int = 1000, seed: int = 1,
        skip_missing: bool = False, fail_if: str | Iterable[str] = (),
    ) -> pd.DataFrame:  # fmt: skip
        """Compare every model with one of them, user by user. Needs scipy (the extra `stats`).

        The arguments that are not listed are those of `evaluate`, of metrics with values per user.

        Args:
            baseline: the model that the others are compared with; by default that of the evaluator.
            test: "t" (paired t-test), "wilcoxon" (signed ranks, differences of 0 dropped),
                "randomization" (signs of the differences at random) or "bootstrap" (resampled
                differences, moved to a mean of 0).
            correction: of the p-values, over all rows of the result (of each convention): "holm",
                "bh" (Benjamini-Hochberg) or "none".
            ci: the interval of the difference: "normal" (Student's t, which belongs to the
                t-test), "bootstrap" or "none".
            fail_if: gates, such as `"ndcg@10 ci_low < -1%"`: see `docs/explanation/comparing.md`.

        Returns:
            One row per convention, slice, metric, cutoff and model. The columns are `convention`
            (if there are several), those of slices, then `metric`, `k`, `model`, `baseline`,
            `value`, `baseline_value`, `difference`, `ci_low`, `ci_high`, `relative`, `wins`,
            `ties`, `losses`, `test`, `p_value`, `p_adjusted`, `effect_size` and `n_users`. All are
            about the users for whom both models have a value. `difference` is model - baseline,
            `relative` its share of `baseline_value`; `wins` are users for whom the model is better.
            `effect_size` is Cohen's d of the differences, for "wilcoxon" the rank-biserial
            correlation.

        Raises:
            UsageError, DataError: as `evaluate`; or `baseline` is not one of several models, scipy
                is not installed, or a gate is about nothing that is compared.
            GateError: the comparison fails a gate; its `frame` is the comparison.
        """
        testing = comparing.Testing(test, correction, ci)
        asked = Asked.of(metrics, k, by=by, by_item=by_item, combinations=combinations, ci=ci,
                         confidence=confidence, resamples=resamples, seed=seed,
                         skip_missing=skip_missing)  # fmt: skip
        return comparing.compare(self._session, asked, baseline, testing, fail_if)

    @public
    @recorded
    def leaderboard(
        self, metrics: Metrics = None, k: Cutoffs = None, *,
        alpha: float = 0.05, test: str = "t", correction: str = "holm",
        by: Names = None, by_item: Names = None, combinations: bool = False,
        resamples: int = 1000, seed: int = 1, skip_missing: bool = False,
    ) -> pd.DataFrame:  # fmt: skip
        """Rank models: the best of each metric, and which are not significantly worse.

        Every other model is compared with the best of each metric, as `compare` does; the other
        arguments are those of `compare`. Needs scipy (the extra `stats`).

        `alpha`: an adjusted p-value below it makes a model significantly worse.

        Returns:
            One row per model (and convention, and slice), the best of the first metric on top. The
            columns are `model`, `convention` (if there are several), those of slices, `n_users`,
            then for each metric and cutoff its value, in a column such as `ndcg@10`, and a column
            `ndcg@10 mark`: "best", "not worse" or an empty text. Of metrics with one value for the
            whole run, only the best is marked.

        Raises:
            UsageError, DataError: as `compare`.
        """
        testing = comparing.Testing(test, correction, "none")
        asked = Asked.of(metrics, k, by=by, by_item=by_item, combinations=combinations,
                         resamples=resamples, seed=seed, skip_missing=skip_missing)  # fmt: skip
        return comparing.leaderboard(self._session, asked, testing, alpha)

    @public
    def check(self, metrics: Metrics = None, k: Cutoffs = None) -> pd.DataFrame:
        """Look at everything that was given for what makes numbers wrong, or hard to trust.

        Nothing is refused: rules that `evaluate` would refuse tables for are errors among the rest.

        Args:
            metrics: the metrics that are to be computed; without, all that the tables suffice for.
            k: the places of a list that count, as in `evaluate`; 10 if nothing says so.

        Returns:
            One row per finding, errors first, then warnings and notes. The columns are `level`,
            `check`, `table`, `column`, `n`, `found`, `remedy` and `examples`. `n` counts rows,
            lists or users; `examples` are some of them, a list of dicts.

        Raises:
            UsageError: as `evaluate`, or there is no table, or the input is to be trusted.
        """
        return frame_of(self.findings(metrics, k))

    @public
    def findings(self, metrics: Metrics = None, k: Cutoffs = None) -> list[Finding]:
        """Find the rows of `check`, as objects with these fields."""
        return looking.findings(self._session, metrics, k)

    @public
    def report(
        self, metrics: Metrics = None, k: Cutoffs = None, *, check: bool | None = None,
        examples: bool = True, title: str | None = None, **options: Any,
    ) -> Report:  # fmt: skip
        """Make a page of it all: who is best, for whom, and why. Needs the extra `report`.

        Args:
            metrics: as of `evaluate`; without any, the default set and those of novelty, diversity
                and coverage that the tables suffice for.
            k: as of `evaluate`; 1, 3, 5 and 10 if nothing says so and no metric is named.
            check: look for what `check` warns of; by default as the evaluator does.
            examples: show a few users with their lists; all else is sums over users.
            title: of the page.
            options: `primary` is the metric that ranks the models, such as `"ndcg@10"`, and its
                cutoff is that of the comparison; by default nDCG at 10, or the closest metric.
                `by` and `by_item` are those of `evaluate`, one slice after another; by default
                columns of users with few different values, and with a history `activity_group`
                and `popularity`. `test`, `correction` and `alpha` are those of `leaderboard`,
                `confidence` and `skip_missing` those of `evaluate`.

        Returns:
            The report; `save(path)` writes the page, and a notebook shows it.

        Raises:
            UsageError: as `compare`; or there are several conventions, or the engine is Spark.
            DataError: as `evaluate`.
        """
        from sqlmetrics.report.analysis import Question
        from sqlmetrics.run.reporting import report

        return report(self._session, Question(metrics, k, **options), check, examples, title)

    @public
    def plot(
        self, figure: str, metrics: Metrics = None, k: Cutoffs = None, **options: Any
    ) -> alt.Chart | alt.LayerChart | alt.VConcatChart:
        """Draw one of the charts of `report`. Needs the extra `report`.

        Args:
            figure: `"cutoffs"` (metrics against the cutoff), `"scores"` (values and intervals of
                models), `"against_best"` (differences to the best), `"distribution"` (of the values
                of users), `"differences"` (of users, between two models), `"wins"` (for how many
                users a model is better), `"slices"`, `"exposure"` (Lorenz curves), `"popularity"`
                or `"trade_off"`.
            metrics: as in `report`.
            k: as in `report`.
            options: as in `report`.

        Returns:
            An Altair chart; several of them, one below the other, if the figure has several parts.

        Raises:
            UsageError: there is no such figure, or nothing to draw in it; otherwise as `report`.
            DataError: as `evaluate`.
        """
        from sqlmetrics.report.analysis import Question
        from sqlmetrics.run.reporting import plot

        return plot(self._session, figure, Question(metrics, k, **options))

    @public
    def explain(
        self, metrics: Metrics = None, k: Cutoffs = None, *, start: str | Path | None = None,
        end: str | Path = STANDARD, skip_missing: bool = False,
    ) -> pd.DataFrame:  # fmt: skip
        """Walk from the number of one convention to that of another, one setting at a time.

        Args:
            metrics: as in `evaluate`.
            k: as in `evaluate`.
            skip_missing: as in `evaluate`.
            start: the convention to start from; by default that of the evaluator, the first of
                several.
            end: the convention to end at.

        Returns:
            One row per model, metric, cutoff and step. The columns are `model` (if there are
            several), `metric`, `k`, `step`, `setting`, `before`, `after`, `value`, `change` and
            `n_users`. Step 0 is the value under `start`; each further step
            changes one setting that the metric reads from `before` to `after`, and stays changed;
            the value of the last is that under `end`. To refuse rows is no step.

        Raises:
            UsageError, DataError: as `evaluate`.
        """
        return looking.explain(self._session, metrics, k, start, end, skip_missing)

    @public
    def stage(self, name: str, metric: str | None = None) -> pd.DataFrame:
        """Look at a stage (`hits`, `ranked`, `audience`, …) or at a table as the queries see it.

        Some stages need to know for which metric: `stage("ideal_lists", "ndcg(gain=linear)")`. The
        order of the rows is not defined. Spark returns the first 1000, sorted by all columns.

        Raises:
            UsageError: there is no such stage, or it needs a metric.
        """
        return looking.stage(self._session, name, metric)

    @public
    def sql(
        self, metrics: Metrics = None, k: Cutoffs = None, *, per_user: bool = False,
        dialect: str | None = None, physical: bool = False, **options: Any,
    ) -> str:  # fmt: skip
        """Return the statement behind `evaluate` (or `per_user`), which runs alone.

        It does not check its tables. Frames appear in it under the name of their table, prefixed
        with `sqlmetrics_`. `options` are the other arguments of `evaluate`, or of `per_user`.
        `dialect`: the system that it is for, such as "snowflake"; by default that of the engine.
        All but that read tables by name: see `TableName`. `physical`: the statement that runs here.

        Raises:
            UsageError: the dialect cannot express a metric or option, or a table has no name there.
        """
        asked = Asked.of(metrics, k, per_user, **options)
        return printing.statement(self._session, asked, dialect, physical)

    @public
    def dbt(
        self, folder: str | Path, metrics: Metrics = None, k: Cutoffs = None, *,
        dialect: str | None = None, name: str = "sqlmetrics", command: str = "",
        force: bool = False, **options: Any,
    ) -> list[Path]:  # fmt: skip
        """Write a dbt package that computes what `evaluate` and `per_user` return in a warehouse.

        Its tables are given by name: see `TableName`. `options` are the other arguments of
        `evaluate`.

        Args:
            folder: where the package goes; all of its files are written, or none.
            dialect: the system that dbt runs on, as of `sql`.
            name: of the package, and what the names of its models start with.
            command: what the README of the package says that made it.
            force: replace a package that is there.

        Returns: the files of the package.

        Raises:
            UsageError: as `sql`; or `name` cannot name a package.
            DataError: there are files already, or the folder cannot be written to.
        """
        asked = Asked.of(metrics, k, **options)
        return printing.dbt(self._session, asked, folder, dialect, name, command, force)
