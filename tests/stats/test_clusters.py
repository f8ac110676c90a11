"""Clusters: intervals and tests for lists whose values depend on each other.

Oracles: numbers worked exactly, the formula in fractions over the values that `per_user` returns,
tea-tasting, and, for resamples, the same values with one list per cluster, whose draws
are those of the clusters.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import sqlmetrics as sm
from sqlmetrics.errors import DataError, MissingTableError, SqlmetricsWarning, UsageError
from sqlmetrics.stats.student import quantile_series
from tests.support.evaluators import Evaluator

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than 30 clusters")


def lists_of(values: Sequence[Any], clusters: Sequence[Any]) -> pd.DataFrame:
    """Return lists of one item, whose score is what `given` finds; several for each user."""
    session = pd.Series(clusters).groupby(clusters).cumcount()
    return pd.DataFrame(
        {"user_id": clusters, "session": session, "item_id": 1, "score": [*map(float, values)]}
    )


def oracle(values: Sequence[Any], clusters: Sequence[Any]) -> tuple[float, float, int]:
    """Return the mean, its standard error and the number of clusters, of exact fractions."""
    mean = Fraction(sum(map(Fraction, values)), len(values))
    residuals: dict[Any, Fraction] = {}
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] = residuals.get(cluster, Fraction(0)) + Fraction(value) - mean
    n = len(residuals)
    variance = Fraction(n, n - 1) * sum(e * e for e in residuals.values()) / len(values) ** 2
    return float(mean), float(variance) ** 0.5, n


def interval(value: float, error: float, n: int, confidence: float = 0.95) -> list[float]:
    half = scipy.stats.t.ppf((1 + confidence) / 2, n - 1) * error if n > 1 else float("nan")
    return [value - half, value + half]


# ---------------------------------------------------------------- numbers worked exactly

VALUES, USERS = [1, 0, 1, 0, 0], [1, 1, 2, 3, 3]
# e = 1/5, 3/5, -4/5: se² = 3/2 · (1 + 9 + 16)/25 / 25 = 39/625; statsmodels: 0.2497999199359358
ERROR, STUDENT = 0.24979991993593592, [-0.6748023074035517, 1.474802307403552]
FORMS: dict[str, dict[str, Any]] = {
    "a column of the key": {"key": ["user_id", "session"], "cluster": "user_id"},
    "a column of users": {"cluster": "household"},
    "a column of recommendations": {"cluster": "home"},
    "a column of interactions": {"cluster": "interactions.place"},
}


@pytest.mark.parametrize("form", FORMS)
def test_an_interval_of_clusters_worked_exactly(form: str, given_metric: Path) -> None:
    options = dict(FORMS[form])
    cluster = options.pop("cluster")
    lists = lists_of(VALUES, USERS)
    if "key" not in options:
        homes = pd.Series([f"h{user}" for user in USERS])
        lists = lists.drop(columns="session").assign(user_id=range(5), home=homes)
        options["users"] = pd.DataFrame({"user_id": range(5), "household": homes})
        options["interactions"] = lists[["user_id", "item_id"]].assign(place=homes)
    with Evaluator(lists, templates=given_metric, **options) as evaluator:
        (row,) = evaluator.evaluate("given", cluster=cluster).to_dict("records")
        with duckdb.connect() as connection:
            for name in ("recommendations", "users", "interactions"):
                if (frame := {"recommendations": lists, **options}.get(name)) is not None:
                    connection.register(f"sqlmetrics_{name}", frame)
            printed = connection.execute(evaluator.sql("given", cluster=cluster)).df()
    assert row["value"] == pytest.approx(2 / 5, abs=1e-12)
    assert (row["n_users"], row["n_clusters"]) == (5, 3)
    assert_allclose([row["ci_low"], row["ci_high"]], STUDENT, atol=1e-12)
    assert_allclose([row["ci_low"], row["ci_high"]], interval(0.4, ERROR, 3), atol=1e-12)
    assert_allclose(printed.loc[0, ["ci_low", "ci_high"]].astype(float), STUDENT, atol=1e-12)
    assert printed["n_clusters"].tolist() == [3]


def test_a_weighted_interval_of_clusters_worked_exactly(given_metric: Path) -> None:
    """The mean is 9/16, and e = 1/8, 3/4, -7/8: se² = 3/2 · (1 + 36 + 49)/64 / 64 = 129/4096."""
    lists = lists_of([1, 1 / 4, 3 / 4, 1 / 4, 0], USERS)
    lists = lists.drop(columns="session").assign(user_id=range(5))
    users = pd.DataFrame({"user_id": range(5), "home": USERS, "weight": [1, 1, 4, 1, 1]})
    with Evaluator(lists, users=users, templates=given_metric) as evaluator:
        (row,) = evaluator.evaluate(CALLS[1], cluster="home").to_dict("records")
    numbers = [row["value"], row["ci_low"], row["ci_high"]]
    assert_allclose(numbers, [9 / 16, -0.20107407800170463, 1.3260740780017046], atol=1e-12)
    assert_allclose(numbers[1:], interval(9 / 16, (129 / 4096) ** 0.5, 3), atol=1e-12)


def test_clusters_of_one_list_worked_exactly(given_metric: Path) -> None:
    """The usual se² = 3/10 / 5, by Student and, without clusters, by the normal distribution."""
    lists = lists_of(VALUES, [*range(5)])
    with Evaluator(lists, templates=given_metric) as evaluator:
        for cluster, ends in (
            ("user_id", [-0.28008738065825567, 1.0800873806582558]),
            (None, [-0.08009116763553092, 0.8800911676355309]),
        ):
            row = evaluator.evaluate("given", cluster=cluster).loc[0]
            assert_allclose([row["ci_low"], row["ci_high"]], ends, atol=1e-12)


def test_a_comparison_of_clusters_worked_exactly(given_metric: Path) -> None:
    """The differences 1/2, 0, 2/3, 0, -1/4, 1/2 in clusters 1, 1, 2, 2, 3, 4.

    Their mean is 17/72, and se² = 893/69984.
    """
    clusters = [1, 1, 2, 2, 3, 4]
    models = {
        "a": lists_of([1, 1 / 2, 1, 1 / 3, 0, 1 / 2], clusters),
        "b": lists_of([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 4, 0], clusters),
    }
    key = ["user_id", "session"]
    with Evaluator(models, templates=given_metric, key=key, baseline="b") as evaluator:
        found = evaluator.compare("given", cluster="user_id")
        (row,) = found.to_dict("records")
        with pytest.raises(
            UsageError, match=r"ranks the differences .* cluster\. Choose the test t"
        ):
            evaluator.compare("given", cluster="user_id", test="wilcoxon")
        board = evaluator.leaderboard("given", cluster="user_id", ci="normal")
    assert list(found.columns[-2:]) == ["n_users", "n_clusters"]
    assert (row["n_users"], row["n_clusters"], row["wins"], row["losses"]) == (6, 4, 3, 1)
    assert row["difference"] == pytest.approx(17 / 72, abs=1e-12)
    low_and_high = [-0.12337940179514761, 0.5956016240173698]
    assert_allclose([row["ci_low"], row["ci_high"]], low_and_high, atol=1e-12)
    assert row["p_value"] == pytest.approx(0.12775129305397592, abs=1e-12)
    assert board["n_clusters"].tolist() == [4, 4]
    value, error, n = oracle([1, 0.5, 1, Fraction(1, 3), 0, 0.5], clusters)
    assert_allclose(board.loc[0, ["given ci_low", "given ci_high"]].astype(float),
                    interval(value, error, n), atol=1e-12)  # fmt: skip


# ---------------------------------------------------------------- as others compute them


def world(seed: int, n: int = 60) -> dict[str, Any]:
    """Draw lists of two models in clusters of 1 to 6: some without a value of a model."""
    draw = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(n), draw.integers(1, 7, n))
    users = np.arange(len(clusters))
    of_cluster = draw.random(n)[clusters]
    models = {
        name: pd.DataFrame(
            {"user_id": users, "item_id": 1, "score": of_cluster / 2 + draw.random(len(users)) / 2}
        ).iloc[draw.random(len(users)) < share]
        for name, share in (("a", 1.0), ("b", 0.8))
    }
    frame = pd.DataFrame(
        {
            "user_id": users,
            "household": clusters,
            "country": draw.choice(["DE", "FR", "IT"], len(users), p=[0.6, 0.39, 0.01]),
            "weight": draw.integers(0, 4, len(users)),
        }
    )
    return {"recommendations": models, "users": frame}


CALLS = ["given", "given(aggregate=weighted_mean)"]


@pytest.mark.parametrize("by", [None, "country"])
def test_tea_tasting_finds_the_same_errors(by: str | None, given_metric: Path) -> None:
    """A mean over lists is a ratio of two means over clusters; the delta method has its error."""
    from tea_tasting.aggr import read_aggregates  # takes seconds

    def found(values: pd.Series, weights: pd.Series, clusters: pd.Series) -> list[float]:
        parts = pd.DataFrame({"sum": values * weights, "weight": weights})
        of = read_aggregates(
            parts.groupby(clusters).sum(), None, has_count=True, mean_cols=["sum", "weight"],
            var_cols=["sum", "weight"], cov_cols=[("sum", "weight")],
        )  # fmt: skip
        value, error = of.mean("sum") / of.mean("weight"), of.ratio_var("sum", "weight")
        return [value, *interval(value, (error / of.count()) ** 0.5, of.count(), 0.9)]

    known = world(8)
    call: dict[str, Any] = {"by": by, "cluster": "household", "confidence": 0.9}
    with Evaluator(**known, templates=given_metric, baseline="b") as evaluator:
        values = evaluator.per_user("given").merge(known["users"]).assign(one=1.0)
        plain = evaluator.evaluate(CALLS, by=by)
        evaluated = evaluator.evaluate(CALLS, **call)
        compared = evaluator.compare("given", **call)
    same = [name for name in plain.columns if not name.startswith("ci_")]
    pd.testing.assert_frame_equal(evaluated[same], plain[same])
    assert by is None or {"DE", "FR"} <= {*compared["country"]} & {*evaluated["country"]}
    for row in evaluated.to_dict("records"):
        own = values[values["model"] == row["model"]]
        own = own if by is None else own[own["country"] == row["country"]]
        weights = own["weight"] if "weighted" in row["metric"] else own["one"]
        assert (row["n_clusters"], row["n_users"]) == (own["household"].nunique(), len(own))
        expected = found(own["given"], weights, own["household"])
        assert_allclose([row["value"], row["ci_low"], row["ci_high"]], expected, rtol=1e-10)
    wide = values.pivot(index=["user_id", "household", "country"], columns="model", values="given")
    for row in compared.to_dict("records"):
        both = wide.dropna().reset_index().assign(one=1.0)
        both = both if by is None else both[both["country"] == row["country"]]
        assert (row["n_clusters"], row["n_users"]) == (both["household"].nunique(), len(both))
        value, low, high = found(both["a"] - both["b"], both["one"], both["household"])
        numbers = [row["difference"], row["ci_low"], row["ci_high"]]
        assert_allclose(numbers, [value, low, high], rtol=1e-9, atol=1e-12)
        freedom = row["n_clusters"] - 1
        error = (high - value) / scipy.stats.t.ppf(0.95, freedom)
        assert_allclose(
            row["p_value"], 2 * scipy.stats.t.sf(abs(value / error), freedom), rtol=1e-9
        )


def test_a_large_mean_costs_no_digits(given_metric: Path) -> None:
    """Sums of squares, Σs² - 2mΣsn + m²Σn², would lose all digits of the error."""
    draw = np.random.default_rng(6)
    small, clusters = draw.integers(0, 64, 300) / 64, np.repeat(np.arange(60), 5)
    for shift in (0, 2**20):
        lists = lists_of(small + shift, clusters)
        with Evaluator(lists, templates=given_metric, key=["user_id", "session"]) as evaluator:
            row = evaluator.evaluate("given", cluster="user_id").loc[0]
        _, error, n = oracle(small.tolist(), clusters)
        width = row["ci_high"] - row["ci_low"]
        assert width == pytest.approx(2 * interval(0, error, n)[1], rel=1e-8)


@pytest.mark.parametrize(
    ("confidence", "digits"), [(0.5, 1e-12), (0.9, 1e-12), (0.95, 1e-12), (0.999, 1e-9)]
)
def test_the_series_of_a_quantile_is_that_of_student(confidence: float, digits: float) -> None:
    freedom = np.array([*range(1, 300), 1000, 10**5, 10**8])
    powers = [c * (1 / freedom) ** i for i, c in enumerate(quantile_series(confidence), start=1)]
    z = scipy.stats.norm.ppf((1 + confidence) / 2)
    exact = scipy.stats.t.ppf((1 + confidence) / 2, freedom)
    assert_allclose(z * np.exp(sum(powers)), exact, rtol=digits)


# ---------------------------------------------------------------- slices of items and runs


def test_slices_of_items_have_clusters_of_their_own() -> None:
    """Users 1 and 2 are one household. Reciprocal ranks: x 1, 1/2, 0, y 1 (user 3 alone)."""
    lists = pd.DataFrame(
        {"user_id": [1, 1, 2, 2, 3, 3], "item_id": [10, 11, 11, 10, 12, 20], "rank": [1, 2] * 3}
    )
    held = pd.DataFrame({"user_id": [1, 2, 3, 3], "item_id": [10, 10, 13, 20]})
    items = pd.DataFrame({"item_id": [10, 11, 12, 13, 20], "kind": [*"xxxx", "y"]})
    users = pd.DataFrame({"user_id": [1, 2, 3], "home": [7, 7, 8]})
    with Evaluator(lists, held, items=items, users=users) as evaluator:
        found = evaluator.evaluate("mrr", by_item="kind", cluster="home").set_index("kind")
    assert found["n_clusters"].to_dict() == {"x": 2, "y": 1}
    value, error, n = oracle([1, Fraction(1, 2), 0], [7, 7, 8])
    ends = found.loc["x", ["ci_low", "ci_high"]].astype(float)
    assert_allclose(ends, interval(value, error, n), rtol=1e-11)
    assert found.loc["y", ["ci_low", "ci_high"]].isna().all()


def test_runs_are_averaged_before_their_lists_are_in_clusters(given_metric: Path) -> None:
    draw = np.random.default_rng(8)
    clusters = np.repeat(np.arange(35), 2)
    runs = [lists_of(draw.random(70), clusters).assign(run=run) for run in range(3)]
    mean = sum(run["score"] for run in runs) / 3
    options: dict[str, Any] = {"templates": given_metric, "key": ["user_id", "session"]}
    with Evaluator(pd.concat(runs), **options) as evaluator:
        found = evaluator.evaluate("given", cluster="user_id").loc[0]
        plain = evaluator.evaluate("given").loc[0]
    value, error, n = oracle(mean.tolist(), clusters)
    assert_allclose([found["ci_low"], found["ci_high"]], interval(value, error, n), rtol=1e-11)
    assert (found["n_runs"], found["n_clusters"]) == (3, 35)
    assert found["std_runs"] == pytest.approx(plain["std_runs"])


# ---------------------------------------------------------------- resamples


def collapsed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one list per cluster, with the mean of its values."""
    return frame.groupby("user_id", as_index=False).agg(
        {"item_id": "first", "score": "mean", **({"group": "first"} if "group" in frame else {})}
    )


def in_clusters(seed: int, size: int = 4, n: int = 120) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(n), size)
    # multiples of 1/64, so that sums are exact
    scores = (draw.integers(0, 32, n)[clusters] + draw.integers(0, 32, len(clusters))) / 64
    return lists_of(scores, clusters).assign(group=np.where(clusters % 3, "x", "y"))


KEY = ["user_id", "session"]


def test_resamples_draw_whole_clusters(given_metric: Path) -> None:
    """Clusters of four lists, drawn together, have the means of single lists with their means."""
    known = {"a": in_clusters(1), "b": in_clusters(2)}
    single = {model: collapsed(frame) for model, frame in known.items()}
    options: dict[str, Any] = {"templates": given_metric, "baseline": "b"}
    calls: list[Mapping[str, Any]] = [
        {"ci": "bootstrap", "resamples": 200},
        {"ci": "bootstrap", "resamples": 200, "by": "recommendations.group"},
        {"ci": "bootstrap", "resamples": 200, "by": "recommendations.group", "gap": "difference"},
    ]
    tests: list[Mapping[str, Any]] = [
        {"test": "randomization", "ci": "bootstrap", "resamples": 200},
        {"test": "bootstrap", "ci": "none", "resamples": 200},
    ]
    with (
        Evaluator(known, key=KEY, **options) as clustered,
        Evaluator(single, **options) as usual,
    ):
        for call in calls:
            found = clustered.evaluate("given", cluster="user_id", **call)
            expected = usual.evaluate("given", **call)
            same = ["value", "ci_low", "ci_high", *(["p_value"] if "gap" in call else [])]
            assert_allclose(found[same].astype(float), expected[same].astype(float), rtol=1e-9)
            named = found["n_clusters"].notna()  # rows of gaps have none
            assert (found["n_users"][named] == 4 * found["n_clusters"][named]).all()
            alone = clustered.evaluate("given", **call)
            assert not np.allclose(alone["ci_low"].astype(float), found["ci_low"].astype(float))
        for call in tests:
            found, expected = (
                clustered.compare("given", cluster="user_id", **call),
                usual.compare("given", **call),
            )
            same = ["difference", "ci_low", "ci_high", "p_value"]
            assert_allclose(found[same].astype(float), expected[same].astype(float), rtol=1e-9)


def test_the_hash_takes_a_column_of_users_as_text(given_metric: Path) -> None:
    known = in_clusters(3)
    users = known[["user_id", "session"]].assign(household=known["user_id"])
    with Evaluator(known, users=users, key=KEY, templates=given_metric) as evaluator:
        found, expected = (
            evaluator.evaluate("given", cluster=name, ci="bootstrap", resamples=50)
            for name in ("household", "user_id")
        )
    pd.testing.assert_frame_equal(found, expected)


def test_halves_for_metrics_of_a_run_are_halves_of_clusters() -> None:
    """With the same list for every session, a half of clusters covers what half of users covers."""
    draw = np.random.default_rng(9)
    lists = pd.DataFrame({"user_id": range(90), "item_id": draw.integers(0, 200, 90), "rank": 1})
    several = pd.concat([lists.assign(session=session) for session in range(3)])
    history = pd.DataFrame({"user_id": 0, "session": 0, "item_id": range(200)})
    call: dict[str, Any] = {"ci": "bootstrap", "run_ci": True, "resamples": 100}
    with (
        Evaluator(several, several.drop(columns="rank"), history=history, key=KEY) as clustered,
        Evaluator(lists, lists.drop(columns="rank"), history=history) as usual,
    ):
        found = clustered.evaluate("coverage@1", cluster="user_id", **call).loc[0]
        expected = usual.evaluate("coverage@1", **call).loc[0]
        alone = clustered.evaluate("coverage@1", **call).loc[0]
    assert pd.isna(found["n_clusters"])
    for name in ("value", "ci_low", "ci_high"):
        assert found[name] == pytest.approx(expected[name], rel=1e-12)
    assert alone["ci_low"] != pytest.approx(found["ci_low"], rel=1e-6)


def test_a_cluster_in_two_slices_leaves_no_p_value_of_a_gap(given_metric: Path) -> None:
    known = in_clusters(4)
    call: dict[str, Any] = {"by": "recommendations.group", "gap": "difference", "resamples": 50}
    split = known.assign(group=known["group"].where(known.index != 0, "x"))
    assert split["group"].nunique() == 2
    found = []
    for frame in (known, split):
        with Evaluator(frame, key=KEY, templates=given_metric) as evaluator:
            found += [evaluator.evaluate("given", cluster="user_id", **call)["p_value"].iloc[-1]]
    assert 0 < found[0] <= 1
    assert pd.isna(found[1])


# ---------------------------------------------------------------- edges


def test_one_cluster_has_no_interval_and_few_are_warned_of(given_metric: Path) -> None:
    with Evaluator(lists_of([1, 0, 1], [1, 1, 1]), key=KEY, templates=given_metric) as evaluator:
        with pytest.warns(SqlmetricsWarning, match="user_id: 1 of 1 rows has fewer than 30"):
            row = evaluator.evaluate("given", cluster="user_id").loc[0]
        drawn = evaluator.evaluate("given", cluster="user_id", ci="bootstrap").loc[0]
    assert (row["n_clusters"], row["value"]) == (1, pytest.approx(2 / 3))
    for found in (row, drawn):
        assert pd.isna(found["ci_low"])
        assert pd.isna(found["ci_high"])


def test_few_clusters_are_warned_of_beside_rows_without_clusters() -> None:
    users = pd.DataFrame({"user_id": range(8), "home": list("ppqq") * 2, "group": list("ab") * 4})
    truth = pd.DataFrame({"user_id": range(8), "item_id": 0})
    lists = {user: [user % 3, 5] for user in range(8)}
    with (
        sm.Evaluator(lists, truth, users=users, history=truth, check=False) as evaluator,
        pytest.warns(SqlmetricsWarning, match="home: 1 of 1 rows has fewer than 30 clusters"),
    ):
        found = evaluator.evaluate(["mrr", "coverage@2"], cluster="home")
    assert found["n_clusters"].dtype == "Int64"
    assert found["n_clusters"].tolist() == [2, pd.NA]


def test_the_half_width_is_that_of_independent_lists(everything: sm.Evaluator) -> None:
    with pytest.raises(sm.UsageError, match="half width is that of independent lists"):
        everything.evaluate("recall(aggregate=half_width)@5", cluster="country")


def test_thirty_clusters_are_enough(given_metric: Path) -> None:
    frame = in_clusters(5, n=30)
    with (
        Evaluator(frame, key=KEY, templates=given_metric) as evaluator,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error", SqlmetricsWarning)
        assert evaluator.evaluate("given", cluster="user_id")["n_clusters"].tolist() == [30]


def test_metrics_of_a_run_lose_errors_that_assume_independent_rows(
    everything: sm.Evaluator,
) -> None:
    plain = everything.evaluate("ctr")
    assert plain["ci_low"].notna().all()
    found = everything.evaluate("ctr", cluster="user_id")
    pd.testing.assert_frame_equal(found[["value"]], plain[["value"]])
    assert found[["ci_low", "ci_high", "n_clusters"]].isna().all(axis=None)


def test_metrics_of_a_run_alone_have_no_errors_of_clusters() -> None:
    lists = pd.DataFrame({"user_id": [1, 2, 3], "item_id": [1, 2, 2], "rank": 1})
    users = pd.DataFrame({"user_id": [1, 2], "home": ["a", "b"]})
    history = pd.DataFrame({"user_id": 0, "item_id": [1, 2, 3, 4]})
    with Evaluator(lists, history=history, users=users) as evaluator:
        found = evaluator.evaluate("coverage@1", cluster="home").loc[0]
        assert found["value"] == 2 / 4
        assert found[["ci_low", "ci_high", "n_clusters"]].isna().all()
        # resamples draw all lists
        with pytest.raises(DataError, match=r"users, column home: 1 user has no cluster"):
            evaluator.evaluate("coverage@1", cluster="home", ci="bootstrap", run_ci=True)


USERS_OF = pd.DataFrame({"user_id": [1, 2, 3, 3], "home": ["a", "b", "c", "d"]})
WRONG: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("home", {"users": USERS_OF}, DataError,
     "users, column home: 1 user is in several clusters.* 3 +c +d.*name a column with one"),
    ("home", {"users": USERS_OF[1:3]}, DataError, "users, column home: 2 users have no cluster"),
    ("home", {"users": USERS_OF[:3].replace({"home": {"b": None}})}, DataError,
     "1 user has no cluster"),
    ("household", {"users": USERS_OF}, UsageError, "cluster: unknown column or slice 'household'"),
    ("activity_group", {}, UsageError, "activity_group is not a column with one value per list"),
    ("items.kind", {"items": pd.DataFrame({"item_id": [1], "kind": ["x"]})}, UsageError,
     "items.kind is not a column with one value per list"),
    ("users.home", {}, MissingTableError, "users"),
    ("model", {}, UsageError, "cluster: model is already in each row"),
    ("", {}, UsageError, "cluster: '' is not the name"),
]  # fmt: skip


@pytest.mark.parametrize(("cluster", "options", "error", "message"), WRONG)
def test_clusters_that_lists_do_not_have_are_refused(
    cluster: str,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
    given_metric: Path,
) -> None:
    lists = pd.DataFrame({"user_id": [1, 2, 3, 4][:3], "item_id": 1, "score": 0.5})
    lists = pd.concat([lists, lists[:1].assign(user_id=4)]) if "2 users" in message else lists
    history = pd.DataFrame({"user_id": [1], "item_id": [1]})
    with (
        Evaluator(lists, history=history, templates=given_metric, **options) as evaluator,
        pytest.raises(error, match=f"(?s){message}"),
    ):
        evaluator.evaluate("given", cluster=cluster)
