"""The Python interface: give the tables once, then compute metrics, comparisons, reports or SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.checks.survey import frame_of
from sqlmetrics.metrics.conventions import STANDARD
from sqlmetrics.plan.request import Request
from sqlmetrics.record.record import recorded
from sqlmetrics.run import comparing, looking, one_user, printing, verifying
from sqlmetrics.run import path as run
from sqlmetrics.run.public_calls import OnSession, check_arguments, public
from sqlmetrics.run.session import Session
from sqlmetrics.stats.power import Power

if TYPE_CHECKING:
    import altair as alt
    import duckdb
    import pandas as pd

    from sqlmetrics.checks.validate import Finding
    from sqlmetrics.engines.base import Watch
    from sqlmetrics.metrics.definitions import Cutoffs, Metrics
    from sqlmetrics.metrics.reported import Numbers
    from sqlmetrics.plan.request import Names
    from sqlmetrics.report import Report
    from sqlmetrics.report.figures import FigureKind
    from sqlmetrics.rows import Rows
    from sqlmetrics.run.one_user import User
    from sqlmetrics.sql.dialects import Dialect
    from sqlmetrics.stats.intervals import IntervalKind
    from sqlmetrics.stats.over_runs import Over
    from sqlmetrics.stats.paired_tests import Correction, SignificanceTest


class Evaluator(OnSession):
    """Evaluate recommendations against held-out interactions.

    A source is a path, list of paths or glob (Parquet, CSV, JSON lines, TREC run or qrels), a
    pandas or Polars frame, an Arrow table, dataset or reader, a DuckDB relation, the name of a
    table in `connection`, or a dict `{user: [items]}`; for Spark, see `docs/how-to/spark.md`.
    Everything below is optional.

    Args: Tables
        recommendations (source): the ranked lists to evaluate; columns `user_id`, `item_id` and
            `rank` (1 is the top) or `score` (higher is better). Several models (and runs) have a
            column `model` (and `run`), a source each, or a path with their names, e.g. `{"als":
            "als.parquet", "popular": "popular.parquet"}` or `"{model}/{run}.parquet"`.
        interactions (source): the held-out interactions; `user_id`, `item_id`, optionally
            `relevance`, e.g. `"test.parquet"`.
        history (source): past interactions; `user_id`, `item_id`, e.g. `"train/*.parquet"`.
        items, users (source): attributes of items (`item_id`) and of users, e.g. `"items.csv"`.
        aspects (source): aspects of items; `item_id`, `aspect`, e.g. `"genres.parquet"`.
        baseline (source or name): recommendations to compare with, e.g. the model `"popular"`.
        logs (source): logged rounds; `user_id`, `item_id`, `reward`, optionally `round_id`,
            `propensity` and `target_propensity`, that of the new policy.
        policy (source): the new policy to evaluate from logs; `round_id` or `user_id`, `item_id`,
            `probability`, optionally `predicted`, the predicted reward. Several as recommendations.
        audit (source): interactions by people for some users, which correct those of a model in
            `evaluate`, `compare` and `sql`; the columns of interactions: `docs/how-to/audit.md`.
        scored (source): one table instead of recommendations and interactions, as in learning to
            rank; `user_id`, `item_id`, `score` and the label `relevance`, e.g. `"scored.csv"`.

    Args: Columns and rows
        columns (dict): column names of sqlmetrics and those of the sources, for all tables or for
            one, e.g. `{"user_id": "user_idx", "interactions.relevance": "rating"}`.
        key (text or list): what identifies a user, by default `"user_id"`; e.g. `["site", "id"]`.
        where (dict): a SQL condition for each table, with the column names of the source; only rows
            that match it are used, e.g. `{"interactions": "rating >= 4"}`.

    Args: Definitions
        convention (text, path or list): the convention to compute under, by default `"standard"`;
            also a TOML file, several, or "all" built-in ones, e.g. `"rectools"`.
        fallback (text or path): the convention for metrics that `convention` does not define and
            that raise an error otherwise, e.g. `"standard"`; the order of lists is that of
            `convention`.
        settings (dict): settings that override the convention, for all metrics that have them or
            for one, e.g. `{"ties": "item_desc", "map.divisor": "k"}`.
        templates (path or list): directories with own templates, e.g. `"my_templates"`.

    Args: Checks and records
        trust_input (bool): skip the validation that has to scan the rows; by default, it runs.
        check (bool): issue a `DataWarning`, once each, for every warning that `check` finds; by
            default, only with DuckDB, for up to 10 million recommendations.
        accept (list): checks whose warnings you have looked at; results have no warning of them,
            and `check` lists them as accepted, e.g. `["recommendations_ties_decide"]`.
        record (bool): scan the tables for fingerprints, for the record of a result in the attrs of
            its data frame; by default, records have none.
        watch (function): shows progress; see `Watch`.

    Args: Engine
        engine (SparkSession, connection or URL): where to compute, by default DuckDB in this
            process; see `docs/how-to/databases.md`. dialect (text): the SQL of the connection.
        connection (DuckDB connection): compute in it, and read tables that are given by name.
        threads (int), memory_limit (text): limits of DuckDB, e.g. `2` and `"4GB"`.
        temp_directory (path): folder of temporary files, also of Spark, e.g. `"/mnt/scratch"`.
        temp_limit (text): their maximum size, by default half of the free space; e.g. `"20GB"`.

    The evaluator uses frames as they were when it was created, raises an error if a file has
    changed since, and reads tables of `connection` again in every call. Threads can share an
    evaluator; their calls run one after another. An evaluator can be neither pickled nor copied.

    Raises:
        UsageError: an unknown convention, setting or value, or a `where` condition that is not a
            condition on the columns of its table.
        DataError: a table cannot be read or lacks a column, or a condition matches no row.
            Methods raise the errors of `evaluate`, and those that they list.
    """

    def __init__(
        self, recommendations: Any = None, interactions: Any = None, *, history: Any = None,
        items: Any = None, users: Any = None, aspects: Any = None, baseline: Any = None,
        logs: Any = None, policy: Any = None, scored: Any = None, audit: Any = None,
        columns: Mapping[str, str] | None = None,
        key: str | Sequence[str] = "user_id", where: Mapping[str, str] | None = None,
        convention: str | Path | Iterable[str | Path] = STANDARD,
        fallback: str | Path | None = None, settings: Mapping[str, Any] | None = None,
        templates: str | Path | Iterable[str | Path] = (), trust_input: bool = False,
        check: bool | None = None, accept: str | Iterable[str] = (), record: bool = False,
        watch: Watch | None = None, engine: Any = None,
        connection: duckdb.DuckDBPyConnection | None = None, threads: int | None = None,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None, temp_limit: str | None = None,
        dialect: Dialect | None = None,
    ) -> None:  # fmt: skip
        given = {name: value for name, value in locals().items() if name != "self"}
        self._open(Session(given))

    def close(self) -> None:
        """Release memory and temporary files; the evaluator cannot be used afterwards."""
        self._session.close()

    @property
    def last_record(self) -> dict[str, Any] | None:
        """The record of the last result; `rows` and `write_…` leave one only with `record=True`."""
        return self._session.recorder.last

    @property
    @public
    def models(self) -> list[str]:
        """The names of the evaluated models; empty if the models have no names."""
        return comparing.models(self._session)

    @public
    @recorded
    def evaluate(
        self, metrics: Metrics = None, k: Cutoffs = None, *,
        by: Names = None, by_item: Names = None, combinations: bool = False, gap: Names = None,
        ci: IntervalKind = "normal", confidence: float = 0.95, resamples: int = 1000, seed: int = 1,
        run_ci: bool = False, cluster: str | None = None, skip_missing: bool = False,
        fail_if: str | Iterable[str] = (), past: str | Path | None = None,
    ) -> pd.DataFrame:  # fmt: skip
        """Compute the mean of every metric over its audience.

        Args:
            metrics: specs such as `"ndcg@10"` or `"map(divisor=k)"`, or `"all"`; by default, the
                default set.
            k: cutoffs for specs without one; by default, such specs use whole lists.
            by: the slices: columns of `users`, `recommendations`, `interactions` or `logs`
                (`"country"`, `"recommendations.variant"`), bins of them (`"age(bins=25|35)"`),
                columns of items (`"items.category"`), or built-in slices:
                `"activity_group(groups=5)"`, `"time(every=week)"`.
            by_item: slices of the relevant items: columns of `items`, or built-in slices. Only
                relevant items in the slice count; lists and ranks stay unchanged.
            combinations: also report slices by every subset of these columns, including none;
                `(all)` stands for all values of a column.
            gap: also report how far apart the slices are, except `(none)`: "difference" (largest),
                "ratio" (smallest / largest value), "mad" (mean difference) or "std", or several.
            ci, confidence: the confidence interval and its level: "normal" (value ± z standard
                errors), "bootstrap" (percentiles of the means of resampled users) or "none".
            resamples, seed: number of resamples and random seed, shared by all metrics and models.
            run_ci: with "bootstrap", also resample metrics with one value for the whole run.
            cluster: the column of lists whose values depend on each other, such as `"user_id"` if
                the key also has a session; of the key, `users`, `recommendations` or
                `interactions`. Intervals, tests and resamples then are those of clusters.
            skip_missing: omit metrics whose tables or columns were not given, with a warning.
            fail_if: gates, such as `"ndcg@10 < 0.2"`, or `"ndcg@10 < mean(7) - 2 std(7)"` with the
                last 7 values in `past`; with fewer values, such a gate is not judged, with a
                warning.
            past: the history of results, see `sqlmetrics.append`; e.g. `"metrics.duckdb:results"`.

        Returns:
            One row per model, convention, slice, metric and cutoff: `model` and `convention` (if
            there are several), the columns of slices, `metric, k, value, n_users, std, ci_low,
            ci_high`. Slices are text; `(none)` is the slice of missing values. `k` is NA for whole
            lists. `n_users` counts the users for whom the metric is defined (for metrics of rounds,
            the rounds). `n_users` and `std`
            are missing for metrics of the whole run; mostly the interval, too. With `cluster`,
            `n_clusters` follows, and the interval is that of Student's t. With several runs,
            `n_runs` and the standard deviation `std_runs` follow; with gaps, whose intervals are
            always from resamples, the `p_value` of a permutation test. With an audit, values are
            estimates, and `n_audited, label_weight, labels_alone, people_alone` follow.

        Raises:
            UsageError: an unknown metric, parameter, slice or cutoff, a metric that is not defined
                by a convention or for a slice, or a table that was not given.
            DataError: a table fails validation.
            GateError: the result, which is `frame` of the error, fails a gate.
        """
        asked = Request.of(metrics, k, by=by, by_item=by_item, combinations=combinations, gap=gap,
                         ci=ci, confidence=confidence, resamples=resamples, seed=seed,
                         run_ci=run_ci, cluster=cluster, skip_missing=skip_missing)  # fmt: skip
        return run.evaluate(self._session, asked, fail_if, past)

    def verify(
        self, metrics: Metrics = None, k: Cutoffs = None, *, users: int = 100, **options: Any
    ) -> pd.DataFrame:
        """Compare the values that a database computes with those of DuckDB, for some users.

        Args:
            metrics, k: see `evaluate`; `options` are its other arguments.
            users: the number of users, the first ones of the held-out interactions. Their rows are
                read into this process.

        Returns:
            The rows of `evaluate` with a number that differs by more than 1e-9 of its size, with
            `value_in_duckdb` after `value`; no rows if all numbers agree.

        Raises:
            UsageError: the engine is not a database, there are no interactions, or `users` is not a
                whole number of at least 1.
        """
        with self._session.calling():
            in_database, in_duckdb = verifying.samples(self._session, users)
        with Evaluator(**in_database) as ours, Evaluator(**in_duckdb) as theirs:
            return verifying.differences(
                *(one.evaluate(metrics, k, **options) for one in (ours, theirs))
            )

    @public
    @recorded
    def rows(self, metrics: Metrics = None, k: Cutoffs = None, **options: Any) -> Rows:
        """Compute the result of `evaluate` without a data frame, so that pandas is not imported.

        Returns: the rows as tuples in `values`, with the `names` and `kinds` of the columns.
        """
        gates, past = options.pop("fail_if", ()), options.pop("past", None)
        return run.rows(self._session, Request.of(metrics, k, **options), gates, past)

    @public
    @recorded
    def per_user(
        self, metrics: Metrics = None, k: Cutoffs = None, *, by: Names = None,
        by_item: Names = None, skip_missing: bool = False, long: bool = False,
    ) -> pd.DataFrame:  # fmt: skip
        """Compute the per-user values.

        On Spark, `write_parquet` or `write_table` with `per_user=True` write them where they are.

        Args:
            metrics, k, by, by_item, skip_missing: see `evaluate`.
            long: one row per cutoff, with the cutoff in `k` and one column per metric (`ndcg`).

        Returns:
            One row per model, convention, user and slice, in this order; see `evaluate`. The
            columns of users have their names in the recommendations, such as `userId`. The columns
            end with one per metric and cutoff: `ndcg@10`, or `ndcg` for whole lists. A value is
            missing if the metric was not requested under this convention (or at this cutoff, with
            `long`), is undefined for the user, or does not have the user in its audience.
        """
        asked = Request.of(
            metrics, k, True, by=by, by_item=by_item, skip_missing=skip_missing, long=long
        )
        return run.per_user(self._session, asked)

    @public
    @recorded
    def write_parquet(
        self, path: str | Path, metrics: Metrics = None, k: Cutoffs = None, *,
        per_user: bool = False, force: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        """Write the result of `evaluate` or `per_user` to a Parquet file, straight from the engine.

        A failed write leaves no partial file. `force` overwrites an existing file. `options` are
        other arguments of these methods. Spark writes a folder of files.
        """
        run.write_parquet(self._session, Request.of(metrics, k, per_user, **options), path, force)

    @public
    @recorded
    def write_table(
        self, name: str, metrics: Metrics = None, k: Cutoffs = None, *,
        per_user: bool = False, force: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        """Let Spark write the result of `evaluate` or `per_user` to a table of its catalog.

        `name` is its name in Spark (`catalog.schema.table`). `force` replaces an existing table.
        """
        run.write_table(self._session, Request.of(metrics, k, per_user, **options), name, force)

    @public
    @recorded
    def compare(
        self, metrics: Metrics = None, k: Cutoffs = None, *,
        baseline: str | None = None, test: SignificanceTest = "t", correction: Correction = "holm",
        by: Names = None, by_item: Names = None, combinations: bool = False,
        ci: IntervalKind = "normal", confidence: float = 0.95, resamples: int = 1000, seed: int = 1,
        cluster: str | None = None, power: float | None = None, detect: float | str | None = None,
        over: Over = "users", skip_missing: bool = False, fail_if: str | Iterable[str] = (),
    ) -> pd.DataFrame:  # fmt: skip
        """Compare every model with a baseline model, user by user. Needs scipy (extra `stats`).

        The metrics need per-user values. Arguments that are not listed are those of `evaluate`.

        Args:
            baseline: the model to compare with; by default the baseline of the evaluator.
            test: "t" (paired t-test), "wilcoxon" (signed-rank test without differences of 0),
                "randomization" (random signs of the differences) or "bootstrap" (resampled
                differences, shifted to a mean of 0).
            correction: the correction of the p-values for multiple comparisons, over all rows of a
                convention: "holm", "bh" (Benjamini-Hochberg) or "none".
            ci: the confidence interval of the difference: "normal" (Student's t, consistent with
                the t-test), "bootstrap" or "none".
            power: add `mde`, the smallest difference that a t-test finds with this probability,
                such as 0.8, and `mde_relative`, its share of |baseline_value|; at the level
                1 - confidence, divided by the number of p-values if these are corrected.
            detect: add the number of users (of clusters, of runs of each model) that are needed to
                find this difference with the probability `power` (0.8): `users_needed`
                (`clusters_needed`, `runs_needed`); 0.01, or `"1%"` of the baseline's value.
            over: "runs" compares the values of runs, such as seeds, in place of users, by Welch's
                t-test; "paired_runs" pairs runs of the same name, such as folds.
            fail_if: gates, such as `"ndcg@10 ci_low < -1%"` or, with `power`, `"ndcg@10 mde > 2%"`.

        Returns:
            One row per convention, slice, metric, cutoff and model: `convention` (if there are
            several), the columns of slices, `metric, k, model, baseline, value, baseline_value,
            difference, ci_low, ci_high, relative, wins, ties, losses, test, p_value, p_adjusted,
            effect_size, n_users` and, with `cluster`, `n_clusters`. All columns are computed from
            the users for whom both models have a value. `difference` is model - baseline, and
            `relative` divides it by the `baseline_value`. `wins` counts the users for whom the
            model is better. `effect_size` is Cohen's d of the differences, or the rank-biserial
            correlation for "wilcoxon". `attrs["sqlmetrics_decisions"]` has one sentence per metric:
            which model is better, by how much, and what could not have been seen. With an audit,
            the columns of `docs/how-to/audit.md` follow `n_users`. Over runs, `n_runs` and
            `baseline_runs` are in place of numbers of users, and there is no effect size.

        Raises:
            UsageError: see `evaluate`; or a wrong `baseline`, no scipy, or a gate without a match.
            GateError: the comparison fails a gate; `frame` of the error is the comparison.
        """
        testing = comparing.Testing(test, correction, ci, Power.of(power, detect), over)
        asked = Request.of(metrics, k, by=by, by_item=by_item, combinations=combinations, ci=ci,
                         confidence=confidence, resamples=resamples, seed=seed, cluster=cluster,
                         skip_missing=skip_missing)  # fmt: skip
        return comparing.compare(self._session, asked, baseline, testing, fail_if)

    @public
    @recorded
    def leaderboard(
        self, metrics: Metrics = None, k: Cutoffs = None, *,
        alpha: float = 0.05, test: SignificanceTest = "t", correction: Correction = "holm",
        against: str | None = None, by: Names = None, by_item: Names = None,
        combinations: bool = False, ci: IntervalKind = "none", confidence: float = 0.95,
        resamples: int = 1000, seed: int = 1, cluster: str | None = None,
        skip_missing: bool = False,
    ) -> pd.DataFrame:  # fmt: skip
        """Rank the models, and mark the best and those not significantly worse for each metric.

        For each metric, every other model is compared with the best, as in `compare`, which lists
        the arguments; with the model `against`, it is marked "better" or "worse" than that model.
        A difference is significant if its adjusted p-value is below `alpha`; `ci` as in `evaluate`.

        Returns:
            One row per model, convention and slice, the best model by the first metric on top:
            `model`, `convention` (if there are several), the columns of slices, `n_users`, then for
            each metric and cutoff its value (`ndcg@10`), `ndcg@10 mark` with "best", "not worse" or
            an empty text, and with `ci` the ends of its interval. Run metrics only have a best one.
            With several runs, there are also `n_runs` and the spread `ndcg@10 std_runs`.
        """
        testing = comparing.Testing(test, correction, "none")
        asked = Request.of(metrics, k, by=by, by_item=by_item, combinations=combinations, ci=ci,
                         confidence=confidence, resamples=resamples, seed=seed, cluster=cluster,
                         skip_missing=skip_missing)  # fmt: skip
        return comparing.leaderboard(self._session, asked, testing, alpha, against)

    @public
    def check(self, metrics: Metrics = None, k: Cutoffs = None, **options: Any) -> pd.DataFrame:
        """Check the tables for problems that make results wrong or unreliable.

        Problems for which `evaluate` raises a `DataError` have the level "error". `metrics`: by
        default, all that the tables allow; `k`: 10; `by`, `by_item`: also find small slices.

        Returns: one row per finding, errors first, then warnings and notes: `level, check, table,
            column, n, found, remedy, examples`. `n` counts rows, lists or users.

        Raises:
            UsageError: see `evaluate`; or no table was given, or `trust_input` is set.
        """
        check_arguments("check", options, looking.findings)
        return frame_of(looking.findings(self._session, metrics, k, **options))

    @public
    def findings(self, metrics: Metrics = None, k: Cutoffs = None, **options: Any) -> list[Finding]:
        """Return the findings of `check` as objects with the same fields."""
        check_arguments("findings", options, looking.findings)
        return looking.findings(self._session, metrics, k, **options)

    @public
    def report(
        self, metrics: Metrics = None, k: Cutoffs = None, *, check: bool | None = None,
        examples: bool = True, title: str | None = None, **options: Any,
    ) -> Report:  # fmt: skip
        """Create an HTML report of models, slices and items. Needs the extra `report`.

        Args:
            metrics: see `evaluate`; by default, the default set and the novelty, diversity and
                coverage metrics that the tables allow.
            k: see `evaluate`; if no metric is named, by default 1, 3, 5 and 10.
            check: show the warnings of `check`; by default as set for the evaluator.
            examples: show a few users with their lists.
            title: the title of the page.
            primary: the metric that ranks the models, and the cutoff of comparisons, such as
                `"ndcg@10"`; by default nDCG at 10 or the closest match.
            by, by_item: see `evaluate`; the report shows one after another. By default, columns of
                users with few distinct values and, if there is a history, `activity_group` and
                `popularity`.
            test, correction, alpha, confidence, cluster, skip_missing: see `leaderboard` and
                `evaluate`.

        Returns: the report; `save(path)` writes the page, and notebooks display it.

        Raises:
            UsageError: see `compare`; or several conventions, or another engine than DuckDB.
        """
        from sqlmetrics.report.analysis import Question
        from sqlmetrics.run.reporting import report

        check_arguments("report", options, Question)
        return report(self._session, Question(metrics, k, **options), check, examples, title)

    @public
    def plot(
        self, figure: FigureKind, metrics: Metrics = None, k: Cutoffs = None, **options: Any
    ) -> alt.Chart | alt.LayerChart | alt.VConcatChart:
        """Draw one of the charts of `report`. Needs the extra `report`.

        Args:
            figure: `"cutoffs"` (metrics by cutoff), `"scores"` (values and intervals),
                `"against_best"` (differences from the best model), `"distribution"` (of per-user
                values), `"differences"` (per user, between two models), `"wins"` (users for whom
                each model is better), `"slices"`, `"exposure"` (Lorenz curves), `"popularity"`,
                `"group_exposure"`, `"calibration"`, `"popularity_lift"` or `"trade_off"`.
            metrics, k, options: see `report`.

        Returns: an Altair chart, or several charts stacked vertically.
        """
        from sqlmetrics.report.analysis import Question
        from sqlmetrics.run.reporting import plot

        check_arguments("plot", options, Question)
        return plot(self._session, figure, Question(metrics, k, **options))

    @public
    def explain(
        self, metrics: Metrics = None, k: Cutoffs = None, *, start: str | Path | None = None,
        end: str | Path = STANDARD, skip_missing: bool = False,
    ) -> pd.DataFrame:  # fmt: skip
        """Explain the difference between two conventions, one setting at a time.

        Args:
            metrics, k, skip_missing: see `evaluate`.
            start: the convention to start from; by default the (first) convention of the evaluator.
            end: the convention to end at.

        Returns:
            One row per model, metric, cutoff and step: `model` (if there are several), `metric, k,
            step, setting, before, after, value, change, n_users`. Step 0 has the value under
            `start`. Each further step changes one more setting of the metric from `before` to
            `after`, so that the last step has the value under `end`. Settings that only make
            validation reject rows have no step.
        """
        return looking.explain(self._session, metrics, k, start, end, skip_missing)

    @public
    def identify(
        self, numbers: Numbers, k: Cutoffs = None, *, nearest: int = 3, skip_missing: bool = False,
        convention: str | Path | Iterable[str | Path] = "all",
    ) -> pd.DataFrame:  # fmt: skip
        """Find the conventions that give reported numbers, to the digits of each number.

        Args:
            numbers: `"map@10=0.7616"`, a list of such texts, or `{"map@10": 0.7616}`.
            k, skip_missing: see `evaluate`; with several cutoffs, each is tried.
            nearest: how many of the nearest values to return for a number without a match.
            convention: the conventions to try; if none matches, also with one setting changed.

        Returns: the matching conventions of each number, or the nearest: `docs/how-to/identify.md`.
        """
        from sqlmetrics.run import identifying

        return identifying.identify(self._session, numbers, k, convention, nearest, skip_missing)

    @public
    def user(
        self, user: Any, metrics: Metrics = None, k: Cutoffs = None, *, show: Names = None,
        skip_missing: bool = False,
    ) -> User:  # fmt: skip
        """Explain the values of one user: the list, its hits, what it lacks, and the arithmetic.

        Args:
            user: the user; with several key columns a tuple of their values, or a dict by column.
            metrics, k, skip_missing: see `evaluate`.
            show: columns of `items` to show beside each item, such as `"title"`.

        Returns:
            A `User` with four data frames or dicts of them. `list` has a row per recommended item
            (and model) with `rank, item_id`, the columns of `show`, `score`, for each metric that
            is a sum its terms (`ndcg@10`) and their sum so far (`ndcg@10 so far`), `gain` and
            `hit`. `missed` has the relevant items that are not in the top of the list, `values` the
            `metric, k, value` and `arithmetic`: "hits in the top k 2 / divisor 5 = 0.4". `stages`
            has the rows that other metrics read.

        Raises:
            UsageError: there is no such user, a metric has one value for all users, the metrics
                order lists or choose relevant items in different ways, or lists have several runs.
        """
        asked = Request.of(metrics, k, skip_missing=skip_missing)
        return one_user.user(self._session, asked, user, show)

    @public
    def user_sql(
        self, user: Any, metrics: Metrics = None, k: Cutoffs = None, *, show: Names = None,
        dialect: Dialect | None = None, skip_missing: bool = False,
    ) -> str:  # fmt: skip
        """Return the SQL statements of `user`, one after the other, which run without sqlmetrics.

        `user`, `metrics`, `k`, `show`, `skip_missing`: see `user`; `dialect`: see `sql`.
        """
        asked = Request.of(metrics, k, skip_missing=skip_missing)
        return one_user.statements(self._session, asked, user, show, dialect)

    @public
    def extreme_users(
        self, metric: Metrics, n: int = 5, *, highest: bool = False, k: Cutoffs = None
    ) -> pd.DataFrame:
        """Return the users with the lowest (or highest) values of a metric.

        Args:
            metric, k: one metric at one cutoff.
            n: the number of users (of each model); of equal values, those with the smallest ids.
            highest: return those with the highest values.

        Returns: one row per user (and model), with `value`.

        Raises:
            UsageError: several metrics, a metric with one value for all users, or an invalid `n`.
        """
        return one_user.extremes(self._session, Request.of(metric, k), n, highest)

    @public
    def changed_users(
        self, metric: Metrics, n: int | None = 20, *, baseline: str | None = None,
        best: bool = False, k: Cutoffs = None,
    ) -> pd.DataFrame:  # fmt: skip
        """Return the users with the largest losses (or gains) of each model against a baseline.

        Args:
            metric, k: one metric at one cutoff.
            n: the number of users of each model; of equal differences, those with the smallest ids.
                None for all users with values of both models.
            baseline: the model to compare with; by default the baseline of the evaluator.
            best: return those with the largest gains.

        Returns:
            One row per model and user: `model`, the columns of the key, `baseline, value,
            baseline_value, difference`; the largest loss of a model first. A loss is what is worse:
            a higher value, where lower ones are better. With `n`, users without a loss are left
            out.

        Raises:
            UsageError: see `compare`; or several metrics, or a metric without a direction.
        """
        asked = Request.of(metric, k)
        return comparing.changed_users(self._session, asked, baseline, n, best)

    @public
    def stage(self, name: str, metric: str | None = None) -> pd.DataFrame:
        """Return the rows of a stage (`hits`, `ranked`, `audience`, …), or of a table as queried.

        Some stages need the `metric`: `stage("ideal_lists", "ndcg(gain=linear)")`. The order of the
        rows is not defined. Spark returns the first 1000 rows, sorted by all columns.
        """
        return looking.stage(self._session, name, metric)

    @public
    def sql(
        self, metrics: Metrics = None, k: Cutoffs = None, *, per_user: bool = False,
        dialect: Dialect | None = None, physical: bool = False, **options: Any,
    ) -> str:  # fmt: skip
        """Return the SQL statement of `evaluate` (or `per_user`), which runs without sqlmetrics.

        The statement does not validate the tables. It reads frames under the name of their table,
        prefixed with `sqlmetrics_`.

        Args:
            metrics, k, options: the arguments of `evaluate` or `per_user`.
            per_user: return the statement of `per_user`.
            dialect: the SQL dialect, such as "snowflake"; by default that of the engine. Other
                dialects read tables by name; see `TableName`.
            physical: return the optimised statement that the evaluator itself runs.

        Raises:
            UsageError: the dialect cannot express the request, or a table has no name in it.
        """
        asked = Request.of(metrics, k, per_user, **options)
        return printing.statement(self._session, asked, dialect, physical)

    @public
    def dbt(
        self, folder: str | Path, metrics: Metrics = None, k: Cutoffs = None, *,
        dialect: Dialect | None = None, name: str = "sqlmetrics", command: str = "",
        force: bool = False, **options: Any,
    ) -> list[Path]:  # fmt: skip
        """Write a dbt package that computes both results in a warehouse, and return its files.

        Args:
            metrics, k, options: the arguments of `evaluate`. Give the tables by name: `TableName`.
            folder: the folder of the package; either all its files are written or none.
            dialect: the SQL dialect of the warehouse; see `sql`.
            name: the name of the package and the prefix of its model names.
            command: the command that the README of the package names as its origin.
            force: replace an existing package.

        Raises:
            UsageError: see `sql`; or `name` is not a valid package name.
            DataError: the folder already has files, or cannot be written to.
        """
        asked = Request.of(metrics, k, **options)
        return printing.dbt(self._session, asked, folder, dialect, name, command, force)
