"""Comparisons of models, from tables to p-values, against scipy on the values of every user.

`judged` takes the values that `per_user` returns, pairs them in pandas, and works out every column
of a comparison with numpy and scipy. It is used for generated lists under several metrics, and for
values drawn one by one (skewed, tied, few, with users that only one model has), which reach the
queries through a metric of the test's own: the score of the only item of a list.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from tests.support.calls import at_k
from tests.support.evaluators import Evaluator

NAN = math.nan
# it took the distribution of untied differences also for tied ones
OLD_SCIPY = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 15)
Array = np.ndarray[Any, Any]
COLUMNS = [
    *("metric", "k", "model", "baseline", "value", "baseline_value", "difference"),
    *("ci_low", "ci_high", "relative", "wins", "ties", "losses"),
    *("test", "p_value", "p_adjusted", "effect_size", "n_users"),
]

COUNTS = ["k", "wins", "ties", "losses", "n_users"]

# ---------------------------------------------------------------- the oracle


def paired(values: pd.DataFrame, metric: str, model: str, baseline: str) -> tuple[Array, Array]:
    """Return the values of two models, of the users for whom both have one."""
    users = [name for name in values.columns if name in ("user_id", "session")]
    table = values.pivot(index=users, columns="model", values=metric).astype(float)
    both = table.reindex(columns=[model, baseline]).dropna()
    return both[model].to_numpy(), both[baseline].to_numpy()


def holm(p_values: Array) -> Array:
    """Reject one after the other, from the smallest: each against those that are left."""
    found, highest = np.full(len(p_values), NAN), 0.0
    left = int(np.isfinite(p_values).sum())
    for place in np.argsort(p_values)[:left]:
        highest = max(highest, min(1.0, p_values[place] * left))
        found[place], left = highest, left - 1
    return found


def bh(p_values: Array) -> Array:
    found = np.full(len(p_values), NAN)
    known = np.isfinite(p_values)
    found[known] = scipy.stats.false_discovery_control(p_values[known])
    return found


def effect_and_p(x: Array, y: Array, test: str) -> tuple[float, float | None]:
    """Return the effect size and the p-value; None where the installed scipy is no measure."""
    d = np.round(x - y, 12)  # differences that are equal but for rounding are ties
    if len(d) == 0:
        return NAN, NAN
    if test == "wilcoxon":
        sizes = d[d != 0]
        if len(sizes) == 0:
            return 0.0, 1.0
        signed = np.sign(sizes) * scipy.stats.rankdata(np.abs(sizes))
        tied = len(np.unique(np.abs(d))) < len(d) or (d == 0).any()
        known = not (OLD_SCIPY and tied and len(d) <= 50)
        return signed.sum() / np.abs(signed).sum(), (
            scipy.stats.wilcoxon(d).pvalue if known else None
        )
    if len(d) == 1:
        return NAN, NAN
    return d.mean() / d.std(ddof=1), scipy.stats.ttest_rel(x, y).pvalue


def judged(
    found: pd.DataFrame,
    values: pd.DataFrame,
    test: str = "t",
    confidence: float = 0.95,
    low_is_better: Sequence[str] = (),
) -> None:
    """Check every row of a comparison, and the correction of all p-values."""
    names = list(found.columns)
    leading = names[: names.index("metric")]
    assert names == [*leading, *COLUMNS]
    assert {found[name].dtype.name for name in COUNTS} == {"Int64"}
    for row in found.to_dict("records"):
        mine = at_k(values, None if pd.isna(row["k"]) else row["k"])
        for name in leading:
            mine = mine if row[name] == "(all)" else mine[mine[name] == row[name]]
        x, y = paired(mine, row["metric"], row["model"], row["baseline"])
        d = np.round(x - y, 12)
        better = -d if row["metric"].partition("(")[0] in low_is_better else d
        counts = [len(d), (better > 0).sum(), (d == 0).sum(), (better < 0).sum()]
        assert [row[name] for name in ("n_users", "wins", "ties", "losses")] == counts
        means = [part.mean() if len(d) else NAN for part in (x, y, d)]
        shown = [row[name] for name in ("value", "baseline_value", "difference")]
        assert_allclose(shown, means, rtol=1e-9, atol=1e-12)
        relative = means[2] / means[1] if len(d) and means[1] != 0 else NAN
        assert_allclose(row["relative"], relative, rtol=1e-9, atol=1e-12)
        interval = scipy.stats.ttest_rel(x, y).confidence_interval(confidence) if len(d) > 1 else 0
        expected = (interval.low, interval.high) if interval else (NAN, NAN)
        assert_allclose([row["ci_low"], row["ci_high"]], expected, rtol=1e-9, atol=1e-12)
        effect, p = effect_and_p(x, y, test)
        assert row["test"] == test
        assert_allclose(row["effect_size"], effect, rtol=1e-9, atol=1e-12)
        if p is not None:
            assert_allclose(row["p_value"], p, rtol=1e-9)


# ---------------------------------------------------------------- values one by one


def lists_of(models: Mapping[str, Mapping[int, float]]) -> dict[str, pd.DataFrame]:
    """Return lists of one item, whose score is what `given` finds: {model: {user: value}}."""
    return {
        model: pd.DataFrame({"user_id": values.keys(), "item_id": 1, "score": values.values()})
        for model, values in models.items()
    }


def numbered(values: Array, first: int = 0) -> dict[int, float]:
    return dict(enumerate(values.tolist(), start=first))


def skewed_models(n: int) -> dict[str, dict[int, float]]:
    """Draw values of four models: most are 0, many equal, and users are alike in all models."""
    draw = np.random.default_rng(n)
    base = np.where(draw.random(n) < 0.6, 0, np.round(draw.beta(1, 3, n), 2))
    models = {"base": base}
    for model, gain in (("better", 0.04), ("same", 0.0), ("worse", -0.03)):
        changed = np.clip(base + np.round(draw.normal(gain, 0.1, n), 2), 0, 1)
        models[model] = np.where(draw.random(n) < 0.5, base, changed)
    return {model: numbered(values) for model, values in models.items()}


def plain_models(n: int) -> dict[str, dict[int, float]]:
    """Draw values without any ties, of both signs."""
    draw = np.random.default_rng(n)
    base = draw.normal(0, 1, n)
    shifts = {"base": 0.0, "better": 0.8, "same": 0.1}
    return {m: numbered(base * 0.5 + shift + draw.normal(0, 1, n)) for m, shift in shifts.items()}


def models_of_other_users() -> dict[str, dict[int, float]]:
    draw = np.random.default_rng(3)
    return {
        "base": numbered(draw.random(100), first=50),
        "half": numbered(draw.random(100)),
        "two": numbered(draw.random(3), first=148),
        "one": numbered(draw.random(2), first=149),
        "nobody": numbered(draw.random(10)),
    }


DRAWN = {
    "skewed": skewed_models(400),
    "skewed, 51": skewed_models(51),
    "skewed, 40": skewed_models(40),
    "skewed, 9": skewed_models(9),
    "plain, 200": plain_models(200),
    "plain, 51": plain_models(51),
    "plain, 50": plain_models(50),  # the last with an exact distribution
    "plain, 30": plain_models(30),
    "plain, 5": plain_models(5),
    "other users": models_of_other_users(),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_comparisons_of_drawn_values_are_those_of_scipy(kind: str, given_metric: Path) -> None:
    with Evaluator(lists_of(DRAWN[kind]), templates=given_metric, baseline="base") as evaluator:
        values = evaluator.per_user("given", long=True)
        for test, correction, adjust in (("t", "holm", holm), ("wilcoxon", "bh", bh)):
            found = evaluator.compare("given", test=test, correction=correction, confidence=0.9)
            assert set(found["model"]) == DRAWN[kind].keys() - {"base"}
            assert (found["baseline"] == "base").all()
            judged(found, values, test, confidence=0.9)
            p_values = found["p_value"].to_numpy()
            assert_allclose(found["p_adjusted"], adjust(p_values), rtol=1e-12)


def test_only_users_with_both_values_are_compared(given_metric: Path) -> None:
    """Users 50 to 99 have both values; `half` is about users 0 to 99 otherwise."""
    models = models_of_other_users()
    with Evaluator(lists_of(models), templates=given_metric) as evaluator:
        found = evaluator.compare("given", baseline="base").set_index("model")
        overall = evaluator.evaluate("given").set_index("model")["value"]
        drawn = evaluator.compare(
            "given", baseline="base", test="bootstrap", ci="bootstrap", resamples=50
        ).set_index("model")
    assert found["n_users"].to_dict() == {"half": 50, "two": 2, "one": 1, "nobody": 0}
    common = range(50, 100)
    assert found.loc["half", "value"] == pytest.approx(np.mean([models["half"][u] for u in common]))
    assert found.loc["half", "baseline_value"] == pytest.approx(
        np.mean([models["base"][u] for u in common])
    )
    assert found.loc["half", "value"] != pytest.approx(overall["half"])
    numbers = ["ci_low", "ci_high", "p_value", "p_adjusted", "effect_size"]
    assert found.loc[["one", "nobody"], numbers].isna().all(axis=None)
    assert drawn.loc[["one", "nobody"], numbers].isna().all(axis=None)
    assert drawn.loc[["half", "two"], numbers].notna().all(axis=None)
    assert found.loc["one", "difference"] == pytest.approx(models["one"][149] - models["base"][149])
    assert pd.isna(found.loc["nobody", "difference"])
    # so two p-values are corrected, not four
    lower, higher = sorted(found["p_value"].dropna())
    assert sorted(found["p_adjusted"].dropna()) == pytest.approx(
        [min(1, 2 * lower), min(1, max(2 * lower, higher))]
    )


def test_values_that_are_equal_but_for_rounding_are_ties() -> None:
    """Hits among the top five: precision is their number / 5, and has the same ties.

    The differences are 1, 1, -1, -1, -1, 0: three users lose, and the signed ranks of the five
    differences other than 0, all of rank 3, sum up to 6 against 9.
    """

    def lists(hits: Sequence[int]) -> pd.DataFrame:
        rows = [
            (user, rank if rank <= n else 100 + rank, rank)
            for user, n in enumerate(hits)
            for rank in range(1, 6)
        ]
        return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])

    models = {"a": lists([3, 5, 0, 1, 3, 4]), "b": lists([2, 4, 1, 2, 4, 4])}
    truth = pd.DataFrame(
        [(user, item) for user in range(6) for item in range(1, 6)], columns=["user_id", "item_id"]
    )
    metrics = ["precision@5", "n_hits@5"]
    with Evaluator(models, truth) as evaluator:
        values = evaluator.per_user("precision@5", long=True).pivot(
            index="user_id", columns="model", values="precision"
        )
        wilcoxon = evaluator.compare(metrics, baseline="b", test="wilcoxon", correction="none")
        drawn = evaluator.compare(metrics, baseline="b", test="randomization", correction="none")
    sizes = (values["a"] - values["b"]).abs()
    assert sizes[sizes > 0].nunique() > 1  # rounding alone makes them differ
    assert wilcoxon["effect_size"].tolist() == [-0.2, -0.2]
    assert wilcoxon["p_value"].tolist() == [1.0, 1.0]
    assert drawn["p_value"].nunique() == 1
    for found in (wilcoxon, drawn):
        assert found[["wins", "ties", "losses"]].to_numpy().tolist() == [[2, 1, 3]] * 2


def test_where_nothing_differs(given_metric: Path) -> None:
    values = numbered(np.array([0.2, 0.0, 0.7, 0.7]))
    with Evaluator(lists_of({"a": values, "b": values}), templates=given_metric) as evaluator:
        for test in ("t", "wilcoxon", "randomization", "bootstrap"):
            (row,) = evaluator.compare("given", baseline="a", test=test, resamples=50).to_dict(
                "records"
            )
            assert (row["difference"], row["p_value"], row["effect_size"]) == (0, 1, 0)
            assert (row["wins"], row["ties"], row["losses"]) == (0, 4, 0)
            assert (row["ci_low"], row["ci_high"], row["relative"]) == (0, 0, 0)


# ---------------------------------------------------------------- tests that draw at random

SEEDS = range(6)
RESAMPLES = 1500


def mean_p_values(
    models: Mapping[str, Mapping[int, float]], test: str, given_metric: Path
) -> dict[str, tuple[float, float]]:
    """Return the p-value of every model, the mean over several seeds, and what it may be off."""
    with Evaluator(lists_of(models), templates=given_metric) as evaluator:
        frames = [
            evaluator.compare(
                "given", baseline="base", test=test, seed=seed, resamples=RESAMPLES, ci="none"
            )
            for seed in SEEDS
        ]
    everything = pd.concat(frames)
    whole = everything["p_value"] * (1 + RESAMPLES)  # 1 + those that lie as far out
    assert_allclose(whole, whole.round(), rtol=1e-12)
    assert whole.between(1, 1 + RESAMPLES).all()
    p = everything.groupby("model")["p_value"].mean()
    return {
        str(model): (value, math.sqrt(max(value * (1 - value), 1e-4) / RESAMPLES / len(SEEDS)))
        for model, value in p.items()
    }


@pytest.mark.parametrize("n", [8, 12])
def test_randomization_is_the_permutation_test_of_scipy(n: int, given_metric: Path) -> None:
    """With few users scipy tries all signs, so that its p-value is exact."""
    models = plain_models(n)
    found = mean_p_values(models, "randomization", given_metric)
    assert found.keys() == {"better", "same"}
    for model, (p, noise) in found.items():
        d = np.array([models[model][user] - models["base"][user] for user in range(n)])
        theirs = scipy.stats.permutation_test(
            (d,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert abs(p - theirs.pvalue) < 4 * noise + 1 / RESAMPLES


@pytest.mark.parametrize("test", ["randomization", "bootstrap"])
def test_a_difference_of_zero_is_never_extreme(test: str, given_metric: Path) -> None:
    """Differences of tenths that sum to 0, but as doubles to a few parts in 10^17."""
    base = np.array([0.2, 0.2, 0.9, 0.1, 0.9, 0.8, 0.1])
    other = np.array([0.2, 0.9, 0.9, 0.8, 0.1, 0.1, 0.2])
    assert 0 < abs((other - base).mean()) < 1e-16
    models = {"base": numbered(base), "other": numbered(other)}
    assert mean_p_values(models, test, given_metric)["other"][0] == 1


# ---------------------------------------------------------------- lists and metrics

MODELS = {"als": 0.3, "item_knn": 0.26, "popular": 0.0}  # the chance of a hit on purpose


def world() -> dict[str, Any]:
    """Draw lists of three models (one of them not for everyone), of close quality."""
    draw = np.random.default_rng(13)
    items = [f"i{number}" for number in range(30)]
    users = [f"u{number}" for number in range(130)]

    def some(largest: int, known: Sequence[str] = (), chance: float = 0) -> list[str]:
        liked = [item for item in known if draw.random() < chance]
        others = [str(item) for item in draw.permutation(items)[: draw.integers(1, largest)]]
        return list(dict.fromkeys([*liked, *others]))

    truth = {user: some(7) for user in users}
    rows = []
    for model, chance in MODELS.items():
        for user in users:
            if model != "popular" or draw.random() < 0.7:
                listed = some(9, truth[user], chance)
                rows += [(model, user, item, r) for r, item in enumerate(listed, start=1)]
    pairs = [(user, item) for user, mine in truth.items() for item in mine]
    past = [(user, item) for user in users for item in some(5, items[:6], 0.5)]
    return {
        "recommendations": pd.DataFrame(rows, columns=["model", "user_id", "item_id", "rank"]),
        "interactions": pd.DataFrame(pairs, columns=["user_id", "item_id"]),
        "history": pd.DataFrame(past, columns=["user_id", "item_id"]),
        "users": pd.DataFrame(
            {"user_id": users, "country": draw.choice(["AT", "DE", "FR"], len(users)).tolist()}
        ),
        "items": pd.DataFrame({"item_id": items, "shelf": ["x", "y", "z"] * 10}),
    }


WORLD = world()
METRICS = [
    "ndcg@5",
    "recall@3",
    "recall@5",
    "mrr",
    "precision(audience=recommended)@5",  # nobody whom popular has no list for
    "popularity@5",  # best when it is low
    "map(no_hits=drop)@5",
]


@pytest.fixture(scope="module")
def evaluator() -> Iterator[sm.Evaluator]:
    with Evaluator(**WORLD) as evaluator:
        yield evaluator


def test_comparisons_of_lists_are_those_of_scipy(evaluator: sm.Evaluator) -> None:
    values = evaluator.per_user(METRICS, long=True)
    for test in ("t", "wilcoxon"):
        found = evaluator.compare(METRICS, baseline="popular", test=test)
        judged(found, values, test, low_is_better=["popularity"])
        assert_allclose(found["p_adjusted"], holm(found["p_value"].to_numpy()), rtol=1e-12)
        asked = [(*_metric_and_k(spec), model) for model in ["als", "item_knn"] for spec in METRICS]
        rows = zip(found["metric"], found["k"].fillna(0), found["model"], strict=True)
        assert sorted(rows) == sorted(asked)
    audiences = found.groupby("metric")["n_users"].max()
    assert audiences["ndcg"] == 130  # all who have relevant items
    assert 70 < audiences["precision(audience=recommended)"] < 110
    assert audiences["map(no_hits=drop)"] < audiences["precision(audience=recommended)"]


def _metric_and_k(spec: str) -> tuple[str, int]:
    metric, _, k = spec.partition("@")
    return metric, int(k or 0)


@pytest.mark.parametrize(
    "slicing",
    [
        {"by": "country"},
        {"by": "country", "combinations": True},
        {"by_item": "shelf"},
        {"by": "country", "by_item": "shelf"},
    ],
    ids=["users", "users, combinations", "items", "both"],
)
def test_comparisons_in_slices(slicing: dict[str, Any], evaluator: sm.Evaluator) -> None:
    metrics = ["ndcg@5", "mrr", "recall@3"]
    known = {name: value for name, value in slicing.items() if name != "combinations"}
    values = evaluator.per_user(metrics, **known, long=True)
    for test in ("t", "wilcoxon"):
        found = evaluator.compare(metrics, baseline="popular", test=test, **slicing)
        n_slices = (3 if "by" in slicing else 1) * (3 if "by_item" in slicing else 1)
        assert len(found) == (n_slices + ("combinations" in slicing)) * 3 * 2
        judged(found, values, test)
        assert_allclose(found["p_adjusted"], holm(found["p_value"].to_numpy()), rtol=1e-12)


@pytest.mark.parametrize("test", ["randomization", "bootstrap"])
def test_slices_are_resampled_each_for_itself(test: str, evaluator: sm.Evaluator) -> None:
    asked: dict[str, Any] = {"baseline": "popular", "test": test, "ci": "bootstrap",
                             "resamples": 80, "correction": "none"}  # fmt: skip
    sliced = evaluator.compare("ndcg@5", by="country", **asked)
    for country in ("AT", "DE", "FR"):
        users = WORLD["users"].query("country == @country")["user_id"]
        tables = {
            name: WORLD[name][WORLD[name]["user_id"].isin(users)]
            for name in ("recommendations", "interactions")
        }
        with Evaluator(**tables) as alone:
            expected = alone.compare("ndcg@5", **asked)
        mine = sliced[sliced["country"] == country].drop(columns="country").reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:interactions. there is no column relevance")
def test_conventions_in_one_table_are_each_alone() -> None:
    names = ["standard", "trec_eval", "replay"]
    metrics = ["ndcg@5", "map@5"]
    asked: dict[str, Any] = {"baseline": "popular", "test": "wilcoxon", "ci": "bootstrap",
                             "resamples": 80}  # fmt: skip
    tables = {name: WORLD[name] for name in ("recommendations", "interactions")}
    order = {"settings": {"order": "rank", "ties": "item_asc"}}
    with Evaluator(**tables, convention=names, **order) as several:
        together = several.compare(metrics, **asked)
        values = several.per_user(metrics, long=True)
        normal = several.compare(metrics, baseline="popular")
    judged(normal, values)
    assert together["convention"].unique().tolist() == names
    for name in names:  # p-values are corrected within a convention
        with Evaluator(**tables, convention=name, **order) as single:
            alone = single.compare(metrics, **asked)
        mine = together[together["convention"] == name].drop(columns="convention")
        assert_allclose(alone["p_adjusted"], holm(alone["p_value"].to_numpy()), rtol=1e-12)
        pd.testing.assert_frame_equal(mine.reset_index(drop=True), alone, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- how models are named


def test_named_sources_and_a_column_of_models_are_the_same(evaluator: sm.Evaluator) -> None:
    lists = WORLD["recommendations"]
    sources = {model: lists[lists["model"] == model].drop(columns="model") for model in MODELS}
    with Evaluator(**{**WORLD, "recommendations": sources}, baseline="item_knn") as named:
        assert named.models == list(MODELS)
        found = named.compare(METRICS[:3])
        other = named.compare(METRICS[:3], baseline="als")
    assert evaluator.models == list(MODELS)
    expected = evaluator.compare(METRICS[:3], baseline="item_knn")
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12, atol=1e-12)
    assert set(other["baseline"]) == {"als"}
    # the other way round, the same differences
    one = found[found["model"] == "als"].set_index(["metric", "k"])
    back = other[other["model"] == "item_knn"].set_index(["metric", "k"])
    assert_allclose(one["difference"], -back["difference"], rtol=1e-12, atol=1e-15)
    assert_allclose(one["ci_low"], -back["ci_high"], rtol=1e-12, atol=1e-15)
    assert_allclose(one["p_value"], back["p_value"], rtol=1e-9)
    assert one["wins"].tolist() == back["losses"].tolist()


def test_models_can_be_numbers(evaluator: sm.Evaluator) -> None:
    numbers = {name: number for number, name in enumerate(MODELS, start=1)}
    lists = WORLD["recommendations"]
    lists = lists.assign(model=lists["model"].map(numbers))
    with Evaluator(lists, WORLD["interactions"]) as numbered_models:
        assert numbered_models.models == ["1", "2", "3"]
        found = numbered_models.compare("ndcg@5", baseline="3")
        board = numbered_models.leaderboard("ndcg@5")
    expected = evaluator.compare("ndcg@5", baseline="popular")
    assert found["model"].astype(str).tolist() == ["1", "2"]
    pd.testing.assert_frame_equal(
        found.drop(columns=["model", "baseline"]),
        expected.drop(columns=["model", "baseline"]),
        rtol=1e-12,
        atol=1e-12,
    )
    expected = evaluator.leaderboard("ndcg@5")
    assert board["model"].tolist() == [str(numbers[model]) for model in expected["model"]]
    assert board["ndcg@5 mark"].tolist() == expected["ndcg@5 mark"].tolist()


def test_two_keys_are_one_user() -> None:
    tables = {}
    for name in ("recommendations", "interactions"):
        number = WORLD[name]["user_id"].str[1:].astype(int)
        tables[name] = WORLD[name].assign(user_id=number // 2, session=number % 2)
    with Evaluator(**tables, key=("user_id", "session")) as of_sessions:
        found = of_sessions.compare("ndcg@5", baseline="popular", test="wilcoxon")
        values = of_sessions.per_user("ndcg@5", long=True)
    judged(found, values, "wilcoxon")
    assert (found["n_users"] == 130).all()


def test_default_metrics_are_compared_at_ten(evaluator: sm.Evaluator) -> None:
    found = evaluator.compare(baseline="popular", correction="none")
    summary = evaluator.evaluate()
    assert set(found["metric"]) == set(summary["metric"])
    assert (found["k"] == 10).all()
    assert found["p_adjusted"].tolist() == found["p_value"].tolist()


def test_the_interval_can_be_left_out(evaluator: sm.Evaluator) -> None:
    found = evaluator.compare("ndcg@5", baseline="popular", ci="none")
    assert found[["ci_low", "ci_high"]].isna().all(axis=None)
    assert found["p_value"].notna().all()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        ("ndcg@5", {}, "no baseline given; choose one of als, item_knn, popular with baseline="),
        ("ndcg@5", {"baseline": "populr"}, "there is no model 'populr'; did you mean 'popular'"),
        ("ndcg@5", {"baseline": "zzz"}, "there is no model 'zzz'; choose one of als, item_knn"),
        (
            "coverage@5",
            {"baseline": "als"},
            "coverage@5 has one value for all users, not per-user values to compare",
        ),
        (["ndcg@5", "inter_list_diversity"], {"baseline": "als"}, "has one value for all users"),
        (
            "ndcg(aggregate=median)@5",
            {"baseline": "als"},
            "compared by means, not by aggregate=median",
        ),
        (
            "ndcg@5",
            {"baseline": "als", "test": "ttest"},
            "unknown test 'ttest'; choose one of t, wilcoxon, randomi",
        ),
        ("ndcg@5", {"baseline": "als", "test": "wilcox"}, "unknown test .*mean 'wilcoxon'"),
        ("ndcg@5", {"baseline": "als", "correction": "hom"}, "unknown correction.*'holm'"),
        ("ndcg@5", {"baseline": "als", "ci": "t"}, "ci must be one of normal, bootstrap, none"),
        ("ndgc@5", {"baseline": "als"}, "ndgc.*did you mean.*'ndcg'"),
        ("ndcg@5", {"baseline": "als", "by": "contry"}, "contry.*did you mean 'country'"),
    ],
)
def test_what_is_refused(
    metrics: Any, options: dict[str, Any], message: str, evaluator: sm.Evaluator
) -> None:
    with pytest.raises(UsageError, match=message):
        evaluator.compare(metrics, **options)


@pytest.mark.parametrize("named", [True, False])
def test_one_model_has_nothing_to_be_compared_with(named: bool) -> None:
    lists = WORLD["recommendations"].query("model == 'als'")
    alone = {"als": lists.drop(columns="model")} if named else lists
    with (
        Evaluator(alone, WORLD["interactions"]) as evaluator,
        pytest.raises(UsageError, match=r"several models.*the only model is als"),
    ):
        evaluator.compare("ndcg@5", baseline="als")
    with Evaluator(lists.drop(columns="model"), WORLD["interactions"]) as evaluator:
        for refused in (evaluator.compare, evaluator.leaderboard):
            with pytest.raises(UsageError, match="a comparison needs several models"):
                refused("ndcg@5")


def test_without_scipy(evaluator: sm.Evaluator, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said before anything is computed, and only where it is needed."""
    for name in [name for name in sys.modules if name.split(".")[0] == "scipy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "scipy", None)
    asked = {"baseline": "als", "resamples": 50}
    for options, said in (
        ({"ci": "none"}, "the t-test needs"),
        ({"test": "wilcoxon", "ci": "none"}, "the Wilcoxon test needs"),
        ({"test": "bootstrap"}, "the interval 'normal' needs"),
        ({}, "the t-test and the interval 'normal' need"),
    ):
        with pytest.raises(UsageError, match=rf"{said} scipy.*pip install 'sqlmetrics\[stats\]'"):
            evaluator.compare("ndcg@5", **asked, **options)
    with pytest.raises(UsageError, match=r"pip install 'sqlmetrics\[stats\]'"):
        evaluator.leaderboard("ndcg@5")
    for options in ({"test": "bootstrap"}, {"test": "randomization"}):
        found = evaluator.compare("ndcg@5", **asked, **options, ci="bootstrap")
        assert found["p_adjusted"].notna().all()
    assert len(evaluator.leaderboard("ndcg@5", test="randomization", resamples=50)) == 3


# ---------------------------------------------------------------- leaderboards


def test_marks_of_a_leaderboard_agree_with_comparisons(evaluator: sm.Evaluator) -> None:
    metrics = ["ndcg@5", "recall@3", "popularity@5"]
    values = evaluator.evaluate([*metrics, "coverage@2"])
    best: dict[str, str] = {}
    p_values: dict[tuple[str, str], float] = {}
    for spec in metrics:
        name, k = _metric_and_k(spec)
        mine = values[(values["metric"] == name) & (values["k"] == k)].set_index("model")["value"]
        best[spec] = mine.idxmin() if name == "popularity" else mine.idxmax()
        rows = evaluator.compare(spec, baseline=best[spec], correction="none")
        p_values |= {(spec, m): p for m, p in zip(rows["model"], rows["p_value"], strict=True)}
    adjusted = dict(zip(p_values, holm(np.array(list(p_values.values()))), strict=True))
    assert len(adjusted) == 6
    some = sorted(adjusted.values())[2]
    assert 0.05 < some < 1
    for alpha in (0.05, some * 0.999, some * 1.001):
        board = evaluator.leaderboard([*metrics, "coverage@2"], alpha=alpha).set_index("model")
        for spec in metrics:
            marks = {
                model: "not worse" if adjusted[spec, model] >= alpha else ""
                for model in MODELS
                if model != best[spec]
            }
            assert board[f"{spec} mark"].to_dict() == {**marks, best[spec]: "best"}
    for spec in (*metrics, "coverage@2"):
        name, k = _metric_and_k(spec)
        mine = values[(values["metric"] == name) & (values["k"] == k)].set_index("model")["value"]
        assert_allclose(board[spec], mine[board.index], rtol=1e-12)
    assert board["ndcg@5"].is_monotonic_decreasing
    of_run = board["coverage@2 mark"]
    assert board["coverage@2"].idxmax() in of_run[of_run == "best"].index
    assert set(of_run[board["coverage@2"] < board["coverage@2"].max()]) <= {""}


def test_a_leaderboard_of_slices_corrects_for_what_it_tests(evaluator: sm.Evaluator) -> None:
    """Two models are compared with the best of each slice: six p-values, whoever is best where."""
    values = evaluator.evaluate("recall@3", by="country")
    best = values.loc[values.groupby("country")["value"].idxmax()].set_index("country")["model"]
    assert best.nunique() > 1
    tested: dict[tuple[str, str], float] = {}
    for country, baseline in best.items():
        rows = evaluator.compare("recall@3", baseline=baseline, by="country", correction="none")
        mine = rows[rows["country"] == country]
        tested |= {
            (str(country), m): p for m, p in zip(mine["model"], mine["p_value"], strict=True)
        }
    assert len(tested) == 6
    adjusted = dict(zip(tested, holm(np.array(list(tested.values()))), strict=True))
    # an alpha between what six and what more p-values come to
    middle = sorted(adjusted.values())[2]
    for alpha in (middle * 0.999, middle * 1.001):
        board = evaluator.leaderboard("recall@3", by="country", alpha=alpha)
        marks = board.set_index(["country", "model"])["recall@3 mark"].to_dict()
        assert {key for key, mark in marks.items() if mark == "best"} == set(best.items())
        not_worse = {key for key, mark in marks.items() if mark == "not worse"}
        assert not_worse == {key for key, p in adjusted.items() if p >= alpha}


def test_a_leaderboard_of_all_metrics_leaves_out_what_a_convention_lacks() -> None:
    tables = {name: WORLD[name] for name in ("recommendations", "interactions")}
    with (
        Evaluator(
            **tables, convention=["standard", "replay"], settings={"order": "rank"}
        ) as evaluator,
        pytest.warns(sm.SqlmetricsWarning, match="omitted because"),
    ):
        board = evaluator.leaderboard("all", k=5, skip_missing=True)
    assert board["convention"].tolist() == ["standard"] * 3 + ["replay"] * 3
    of_replay = board[board["convention"] == "replay"]
    assert of_replay["dcg@5"].isna().all()
    assert (of_replay["dcg@5 mark"] == "").all()
    assert "best" in of_replay["ndcg@5 mark"].tolist()


def test_a_request_that_means_nothing_is_refused_before_rows_are() -> None:
    """With settings, and without gates as with them, the same of two faults is told."""
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "rank": [1, 3]})
    truth = pd.DataFrame({"user_id": [1], "item_id": [1]})
    with (
        Evaluator({"a": lists, "b": lists}, truth, settings={"aggregate": "max"}) as evaluator,
        pytest.raises(UsageError, match="not by aggregate=max"),
    ):
        evaluator.compare("hit_rate@2", baseline="a")
