"""Resampled intervals: the weights, the intervals that follow from them, and when they are refused.

The oracle draws the same numbers in Python: the group of a user from `hashlib`, a number for every
group and resample from integers modulo 2^31 - 1, the weight from scipy's Poisson distribution. What
follows (means of weighted users, percentiles) is numpy, from the values that `per_user` returns.
Whether these numbers are as good as random ones is looked at apart, against the distributions that
independent draws have. All seeds are fixed; the bounds are such that good random numbers pass a
test with a probability of 0.999 or more."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from sqlmetrics.sql.template_names import Keys
from sqlmetrics.sql.templates import environment, macro
from tests.support.calls import at_k
from tests.support.evaluators import Evaluator
from tests.support.resampling import INTEGERS, MODELS, ONE_MODEL, Array, lists_of, skewed, world

GROUPS = 16**4
PRIME = 2**31 - 1
SEEDS = [1, 2, 42, 2**31 - 3]


def group_of(seed: int, user: str) -> int:
    """Return the first four hexadecimal digits of the hash of a user, as a number."""
    return int(hashlib.md5(f"{seed}:{user}".encode()).hexdigest()[:4], 16)


def numbers(groups: Iterable[int], resamples: int, seed: int) -> Array:
    """Return the number from 0 to 2^31 - 2 of every group (row) and resample (column)."""
    column = np.array(list(groups), dtype=np.int64)[:, None]
    number = (column * 48271 + np.arange(1, resamples + 1) * 69621 + seed) % PRIME
    number = (number * number + 30269) % PRIME  # products stay below 2^62
    number = (number * number + 76543) % PRIME
    return (number * 48271 + 11) % PRIME


def poisson(number: Array) -> Array:
    """Return how often a group is drawn: the quantile its number stands for, 9 at most."""
    bounds = scipy.stats.poisson.cdf(np.arange(9), 1) * PRIME
    return np.searchsorted(bounds, number, side="right")


def is_in_half(number: Array) -> Array:
    return number >= PRIME / 2


def resampled_means(users: Iterable[str], values: Array, resamples: int, seed: int) -> Array:
    """Return the mean of every resample; NaN where it draws nobody with a value."""
    weights = poisson(numbers((group_of(seed, user) for user in users), resamples, seed))
    has_value = ~np.isnan(values)
    n_drawn = (weights * has_value[:, None]).sum(axis=0)
    total = (weights * np.where(has_value, values, 0)[:, None]).sum(axis=0)
    return np.divide(total, n_drawn, out=np.full(resamples, np.nan), where=n_drawn > 0)


def ends(means: Array, confidence: float) -> list[float]:
    shares = [(1 - confidence) / 2, (1 + confidence) / 2]
    return list(np.quantile(means[~np.isnan(means)], shares))


def drawn(groups: Iterable[int], resamples: int, seed: int, what: str) -> Array:
    """Compute an expression of the drawn number, a row per group and a column per resample."""
    groups = sorted(groups)
    rows = duckdb.execute(
        f"WITH groups AS (SELECT unnest(CAST({groups} AS BIGINT[])) AS resample_group), "
        f"{macro('drawn_numbers')('groups', resamples, seed)} "
        f"SELECT {what} AS value FROM drawn ORDER BY resample_group, resample"
    ).fetchnumpy()["value"]
    return np.asarray(rows).reshape(len(groups), resamples)


def weights_of(groups: Iterable[int], resamples: int, seed: int) -> Array:
    return drawn(groups, resamples, seed, macro("poisson_weight")("number"))


def rendered(template: str, seed: int, **known: Any) -> str:
    """Render a query of the package over tables that have the names by which it reads them."""
    context = {**Keys().context, "seed": seed, **known}
    return environment().get_template(f"results/{template}.sql.j2").render(context, ref=str)


def groups_of(seed: int, users: str, n: int) -> Array:
    """Compute the groups of n users, whose ids are an expression of their number i."""
    members = f"SELECT i, {users} AS user_id FROM range({n}) AS numbered (i)"
    found = duckdb.execute(
        f"WITH members AS ({members}) "
        f"SELECT resample_group FROM ({rendered('user_groups', seed, cluster=None)}) "
        "INNER JOIN members USING (user_id) ORDER BY i"
    ).fetchnumpy()
    return np.asarray(found["resample_group"])


# ---------------------------------------------------------------- the weights


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_numbers_are_those_of_the_oracle(seed: int) -> None:
    groups = [*range(40), GROUPS // 2, GROUPS - 2, GROUPS - 1]
    expected = numbers(groups, 500, seed)
    assert (drawn(groups, 500, seed, "number") == expected).all()
    assert (weights_of(groups, 500, seed) == poisson(expected)).all()
    signs = drawn(groups, 500, seed, macro("random_sign")("number"))
    assert (signs == np.where(is_in_half(expected), 1, -1)).all()


def test_thresholds_of_weights_and_signs() -> None:
    """A threshold is the first number that the next weight belongs to."""
    bounds = [math.ceil(bound) for bound in scipy.stats.poisson.cdf(np.arange(9), 1) * PRIME]
    expected = {0: 0, PRIME - 1: 9}
    for weight, bound in enumerate(bounds):
        expected |= {bound - 1: weight, bound: weight + 1}
    signs = {0: -1, 2**30 - 1: -1, 2**30: 1, PRIME - 1: 1}
    for name, known in (("poisson_weight", expected), ("random_sign", signs)):
        rows = duckdb.execute(
            f"SELECT number, {macro(name)('number')} FROM (SELECT unnest({list(known)}) AS number)"
        ).fetchall()
        assert dict(rows) == known


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_are_independent_draws_of_a_poisson_distribution(seed: int) -> None:
    n_groups, resamples = 2048, 256
    weights = weights_of(range(n_groups), resamples, seed).astype(float)
    n = weights.size
    # the mean has the variance 1 / n; the squared distance from 1 the variance 4 - 1
    assert abs(weights.mean() - 1) < 3.5 * math.sqrt(1 / n)
    assert abs(((weights - 1) ** 2).mean() - 1) < 3.5 * math.sqrt(3 / n)
    counts = np.bincount(weights.astype(int).ravel(), minlength=10)
    shares = [*scipy.stats.poisson.pmf(np.arange(6), 1), scipy.stats.poisson.sf(5, 1)]
    observed = [*counts[:6], counts[6:].sum()]
    assert scipy.stats.chisquare(observed, np.array(shares) * n).pvalue > 0.001
    # a sum over all groups (or resamples) of independent weights has as large a variance
    for axis, length in ((0, n_groups), (1, resamples)):
        sums = weights.sum(axis=axis)
        statistic = ((sums - length) ** 2 / length).sum()
        assert 0.0005 < scipy.stats.chi2.cdf(statistic, len(sums)) < 0.9995


def most_correlated(rows: Array, others: Array | None = None) -> tuple[float, float]:
    """Return the largest correlation of two rows and the mean of their squares.

    Both are in units of what independent rows of n numbers have: a correlation with the standard
    deviation 1 / sqrt(n), so that the first should be below the bound for as many normal numbers,
    and the second near 1. `others`: correlate with the rows of another table.
    """
    n_rows, n = rows.shape

    def standardised(table: Array) -> Array:
        centred = table - table.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred**2).sum(axis=1, keepdims=True))

    ours = standardised(rows)
    found = ours @ (ours if others is None else standardised(others)).T * math.sqrt(n)
    pairs = found[np.triu_indices(n_rows, 1)] if others is None else found.ravel()
    bound = scipy.stats.norm.isf(0.0001 / 2 / len(pairs))  # of a single one by Bonferroni
    return abs(pairs).max() / bound, (pairs**2).mean()


def test_resamples_and_groups_are_not_correlated() -> None:
    for seed in SEEDS:
        weights = weights_of(range(2048), 256, seed).astype(float)
        for rows in (weights.T, weights[:256], weights[::8]):
            largest, mean_square = most_correlated(rows)
            n_pairs = len(rows) * (len(rows) - 1) / 2
            assert largest < 1
            assert abs(mean_square - 1) < 4 * math.sqrt(2 / n_pairs)


def test_seeds_are_not_correlated() -> None:
    first = weights_of(range(2048), 128, 1).astype(float).T
    for seed in (2, 3, 48271, 2**31 - 3):
        other = weights_of(range(2048), 128, seed).astype(float).T
        largest, mean_square = most_correlated(first, other)
        assert largest < 1
        assert abs(mean_square - 1) < 4 * math.sqrt(2 / 128**2)


def test_signs_are_fair_and_not_correlated() -> None:
    for seed in SEEDS[:2]:
        signs = drawn(range(2048), 256, seed, macro("random_sign")("number")).astype(float)
        assert set(np.unique(signs)) == {-1, 1}
        assert abs(signs.mean()) < 3.5 / math.sqrt(signs.size)
        for rows in (signs.T, signs[:256]):
            largest, mean_square = most_correlated(rows)
            assert largest < 1
            assert abs(mean_square - 1) < 4 * math.sqrt(2 / (256 * 255 / 2))


@pytest.mark.parametrize(
    ("users", "text"),
    [
        pytest.param("i", "{}".format, id="integers"),
        pytest.param("1000000007 * i", lambda i: str(1000000007 * i), id="large integers"),
        pytest.param("'user ' || i", "user {}".format, id="texts"),
    ],
)
def test_users_are_spread_evenly_over_the_groups(users: str, text: Callable[[int], str]) -> None:
    n = 200_000
    found = groups_of(3, users, n)
    assert found[:300].tolist() == [group_of(3, text(number)) for number in range(300)]
    counts = np.bincount(found, minlength=GROUPS)
    assert len(counts) == GROUPS
    per_digit = [(found // 16**place) % 16 for place in range(4)]
    for table in (counts, *(np.bincount(digit) for digit in per_digit)):
        assert 0.0005 < scipy.stats.chisquare(table).pvalue < 0.9995
    other = groups_of(4, users, n)  # another seed puts users together anew
    assert abs(np.corrcoef(found, other)[0, 1]) < 4 / math.sqrt(n)


def test_users_that_share_a_group_do_not_bias_the_standard_error() -> None:
    """Drawn as one, n users have the variance of the sum of their groups.

    Over random groups that is the sum of squares of all users, less one part in 65,536, with a
    relative standard deviation of sqrt(2 / 65,536).
    """
    n = 400_000
    draw = np.random.default_rng(1)
    values = np.where(draw.random(n) < 0.7, 0, draw.beta(1, 3, n))
    distance = values - values.mean()
    ratios = []
    for seed in range(6):
        sums = np.bincount(groups_of(seed, "i", n), weights=distance, minlength=GROUPS)
        ratios.append((sums**2).sum() / (distance**2).sum())
    noise = math.sqrt(2 / GROUPS)
    assert abs(np.mean(ratios) - (1 - 1 / GROUPS)) < 3.5 * noise / math.sqrt(len(ratios))
    assert scipy.stats.chi2.sf(np.sum((np.array(ratios) - 1) ** 2) / noise**2, 6) > 0.001


# ---------------------------------------------------------------- whole intervals


METRICS = ["ndcg@4", "mrr(no_hits=drop)@2", "precision(audience=recommended)@4", "popularity@4"]
TEXTS = world([f"user {number}" for number in range(70)])
SESSIONS = world([(f"u{n // 3}", n % 3) for n in range(70)], key=("user_id", "session"))


@pytest.fixture(scope="module")
def of_integers() -> Iterator[sm.Evaluator]:
    with Evaluator(**INTEGERS) as evaluator:
        yield evaluator


@pytest.mark.parametrize(
    ("tables", "slicing"),
    [
        pytest.param(INTEGERS, {}, id="three models"),
        pytest.param(ONE_MODEL, {}, id="one model"),
        pytest.param(SESSIONS, {}, id="two keys"),
        pytest.param(TEXTS, {"by": "country"}, id="slices of users"),
        pytest.param(ONE_MODEL, {"by": "country"}, id="slices of users, one model"),
        pytest.param(TEXTS, {"by_item": "shelf"}, id="slices of items"),
        pytest.param(SESSIONS, {"by": "country", "by_item": "shelf"}, id="slices of both"),
    ],
)
def test_intervals_are_percentiles_of_resampled_means(
    tables: dict[str, Any], slicing: dict[str, str]
) -> None:
    metrics = [METRICS[0], METRICS[1]] if "by_item" in slicing else METRICS
    with Evaluator(**tables) as evaluator:
        found = evaluator.evaluate(
            metrics, ci="bootstrap", confidence=0.9, resamples=400, seed=5, **slicing
        )
        values = evaluator.per_user(metrics, **slicing, long=True)
    names = list(found.columns)
    texts = values[list(tables["key"])].astype(str).agg(":".join, axis=1)
    alone = 0
    for row in found.to_dict("records"):
        mine = at_k(values, row["k"])
        for name in names[: names.index("metric")]:
            mine = mine[mine[name] == row[name]]
        of_users = mine[row["metric"]].astype(float)
        assert row["n_users"] == of_users.notna().sum()
        if row["n_users"] < 2:
            alone += 1
            assert pd.isna(row["ci_low"])
            assert pd.isna(row["ci_high"])
            continue
        means = resampled_means(texts[mine.index], of_users.to_numpy(), 400, 5)
        assert_allclose([row["ci_low"], row["ci_high"]], ends(means, 0.9), rtol=1e-12, atol=1e-12)
    assert (alone > 0) == ("by" in slicing)  # AT


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Check that intervals are the same to the last digit, and that the rest is the same.

    Means and deviations are the engine's own, whose last digits are up to the order of rows.
    """
    found, expected = found.reset_index(drop=True), expected.reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12, atol=1e-12)
    for end in ("ci_low", "ci_high"):
        assert expected[end].notna().any()
        pd.testing.assert_series_equal(found[end], expected[end], check_exact=True)


def test_combinations_have_the_intervals_of_their_users() -> None:
    with Evaluator(**TEXTS) as evaluator:
        plain = evaluator.evaluate(METRICS[:2], ci="bootstrap", resamples=200)
        sliced = evaluator.evaluate(
            METRICS[:2], ci="bootstrap", resamples=200, by="country", combinations=True
        )
    assert_same(sliced[sliced["country"] == "(all)"].drop(columns="country"), plain)


def test_comparisons_rest_on_paired_resamples(of_integers: sm.Evaluator) -> None:
    """Every model and metric is resampled with the same users: those that both have a value for."""
    metrics = [METRICS[0], METRICS[2]]
    values = of_integers.per_user(metrics, long=True)
    for test in ("bootstrap", "randomization"):
        found = of_integers.compare(
            metrics, baseline="popular", ci="bootstrap", test=test, resamples=400, seed=3
        )
        assert len(found) == 4
        for row in found.to_dict("records"):
            table = values.pivot(index="user_id", columns="model", values=row["metric"])
            both = table[[row["model"], "popular"]].astype(float).dropna()
            paired = (both[row["model"]] - both["popular"]).to_numpy()
            users = both.index.astype(str)
            means = resampled_means(users, paired, 400, 3)
            shown = [row["ci_low"], row["ci_high"]]
            assert_allclose(shown, ends(means, 0.95), rtol=1e-12, atol=1e-12)
            far = means - paired.mean()
            if test == "randomization":
                groups = [group_of(3, user) for user in users]
                far = np.where(is_in_half(numbers(groups, 400, 3)), 1, -1).T @ paired / len(paired)
            n_extreme = (np.abs(far) >= abs(paired.mean()) * (1 - 1e-12)).sum()
            assert row["p_value"] == pytest.approx((1 + n_extreme) / 401, rel=1e-12)


# ---------------------------------------------------------------- the same seed, the same numbers


def test_neither_threads_nor_the_order_of_rows_change_an_interval(given_metric: Path) -> None:
    frame = lists_of(skewed(150_000, 1))  # more than one thread takes at a time
    shuffled = frame.sample(frac=1, random_state=1)
    found = []
    for rows, threads in ((frame, 1), (frame, 2), (shuffled, 4)):
        with Evaluator(
            rows, templates=given_metric, threads=threads, trust_input=True
        ) as evaluator:
            found.append(evaluator.evaluate("given", ci="bootstrap", resamples=20))
    for other in found[1:]:
        assert_same(other, found[0])


def test_an_interval_does_not_depend_on_what_else_is_asked_for(of_integers: sm.Evaluator) -> None:
    asked: dict[str, Any] = {"ci": "bootstrap", "resamples": 100, "seed": 9}
    together = of_integers.evaluate(METRICS, **asked)
    again = of_integers.evaluate(METRICS, **asked)
    alone = of_integers.evaluate(METRICS[0], **asked)
    others = [
        of_integers.evaluate(METRICS[0], **{**asked, "seed": seed})
        for seed in (0, 10, 9 + 48271, 9 + 69621)
    ]
    assert_same(again, together)
    assert_same(alone, together[together["metric"] == "ndcg"])
    for model in MODELS:
        tables = {**INTEGERS, "recommendations": INTEGERS["recommendations"][model]}
        with Evaluator(**tables) as evaluator:
            single = evaluator.evaluate(METRICS, **asked)
        assert_same(single, together[together["model"] == model].drop(columns="model"))
    for other in others:
        assert (other["ci_low"] != alone["ci_low"]).all()
        assert (other["ci_high"] != alone["ci_high"]).all()


# ---------------------------------------------------------------- as others resample


def test_intervals_agree_with_those_of_scipy(given_metric: Path) -> None:
    values = skewed(120, 4)
    seeds = range(12)
    with Evaluator(lists_of(values), templates=given_metric) as evaluator:
        found = pd.concat(
            evaluator.evaluate("given", ci="bootstrap", seed=seed, resamples=1000) for seed in seeds
        )
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=40_000, method="percentile", rng=np.random.default_rng(5)
    )
    # what an end from 1000 resamples varies by, from 40 lots of them
    lots = theirs.bootstrap_distribution.reshape(40, 1000)
    for end, share, expected in zip(
        ("ci_low", "ci_high"), (0.025, 0.975), theirs.confidence_interval, strict=True
    ):
        noise = np.quantile(lots, share, axis=1).std(ddof=1)
        assert abs(found[end].mean() - expected) < 4 * noise * math.sqrt(1 / 12 + 1 / 40)
        assert found[end].std(ddof=1) < 2 * noise


# ---------------------------------------------------------------- without an interval, and refusals


def test_no_interval(given_metric: Path) -> None:
    with Evaluator(lists_of(skewed(50, 6)), templates=given_metric) as evaluator:
        none = evaluator.evaluate("given", ci="none")
        normal = evaluator.evaluate("given", ci="normal")
    assert none[["ci_low", "ci_high"]].isna().all(axis=None)
    same = ["metric", "value", "n_users", "std"]
    pd.testing.assert_frame_equal(none[same], normal[same])
    assert normal["ci_low"].notna().all()


@pytest.mark.parametrize("ci", ["normal", "bootstrap"])
def test_a_single_user_has_no_interval(ci: str, given_metric: Path) -> None:
    with Evaluator(lists_of(np.array([0.5])), templates=given_metric) as evaluator:
        found = evaluator.evaluate("given", ci=ci)
    assert found[["value", "n_users"]].to_numpy().tolist() == [[0.5, 1]]
    assert found[["std", "ci_low", "ci_high"]].isna().all(axis=None)


def test_equal_values_have_an_interval_of_width_0(given_metric: Path) -> None:
    with Evaluator(lists_of(np.full(30, 0.3)), templates=given_metric) as evaluator:
        found = evaluator.evaluate("given", ci="bootstrap", resamples=100)
    assert_allclose(found[["ci_low", "ci_high"]], 0.3, rtol=1e-15)


def test_only_means_are_resampled() -> None:
    calls = ["precision@4", "precision(aggregate=median)@4", "precision(aggregate=half_width)@4"]
    with Evaluator(**ONE_MODEL) as evaluator:
        found = evaluator.evaluate(calls, ci="bootstrap", resamples=50)
    assert found["ci_low"].notna().tolist() == [True, False, False]
    assert found["ci_high"].notna().tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ci": "bootstrapp"}, "ci must be one of normal, bootstrap, none.*mean 'bootstrap'"),
        ({"ci": None}, "ci must be one of"),
        ({"confidence": 0}, "confidence must be between 0 and 1, not 0"),
        ({"confidence": 1}, "confidence must be between 0 and 1"),
        ({"confidence": 95}, "confidence must be between 0 and 1, not 95"),
        ({"confidence": True}, "confidence must be between 0 and 1"),
        ({"confidence": "0.95"}, "confidence must be between 0 and 1"),
        ({"confidence": math.nan}, "confidence must be between 0 and 1"),
        ({"resamples": 0}, "resamples must be an integer from 1 to 100000, not 0"),
        ({"resamples": 100_001}, "resamples must be an integer"),
        ({"resamples": 10.0}, "resamples must be an integer"),
        ({"resamples": True}, "resamples must be an integer"),
        ({"seed": -1}, r"seed must be an integer from 0 to 2\^31 - 2, not -1"),
        ({"seed": PRIME}, "seed must be an integer"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"seed": "1"}, "seed must be an integer"),
    ],
)
def test_bad_values_are_refused(
    options: dict[str, Any], message: str, of_integers: sm.Evaluator
) -> None:
    given = {"ci": "bootstrap", **options}
    with pytest.raises(UsageError, match=message):
        of_integers.evaluate("ndcg@4", **given)
    with pytest.raises(UsageError, match=message):
        of_integers.compare("ndcg@4", baseline="als", **given)


@pytest.mark.parametrize("ci", ["normal", "none"])
def test_metrics_of_the_whole_run_are_only_resampled_with_bootstrap(
    ci: str, of_integers: sm.Evaluator
) -> None:
    with pytest.raises(UsageError, match="Set ci='bootstrap'"):
        of_integers.evaluate("coverage@4", ci=ci, run_ci=True)


# ---------------------------------------------------------------- values of a whole run


Lists = dict[str, list[tuple[str, float]]]  # of a user, by text: items and scores, best first


def coverage(lists: Lists, catalogue: set[str]) -> float | None:
    found = {item for listed in lists.values() for item, _ in listed}
    return len(found & catalogue) / len(catalogue) if lists else None


def inter_list_diversity(lists: Lists) -> float | None:
    items = [{item for item, _ in listed} for listed in lists.values()]
    pairs = [
        1 - len(one & other) / math.sqrt(len(one) * len(other))
        for one, other in itertools.combinations(items, 2)
    ]
    return float(np.mean(pairs)) if pairs else None


def pooled_auc(lists: Lists, grades: dict[str, dict[str, int]]) -> float | None:
    judged = [
        (score, grades[user][item] > 0)
        for user, listed in lists.items()
        for item, score in listed
        if item in grades.get(user, {})
    ]
    is_relevant = [relevant for _, relevant in judged]
    if len(set(is_relevant)) < 2:
        return None
    return float(roc_auc_score(is_relevant, [score for score, _ in judged]))


def run_world() -> tuple[dict[str, Any], dict[str, Lists], dict[str, dict[str, int]]]:
    draw = np.random.default_rng(13)
    items = [f"i{number}" for number in range(40)]
    users = [f"u{number}" for number in range(24)]
    lists: dict[str, Lists] = {}
    for model in ("als", "popular"):
        lists[model] = {
            user: [
                (str(item), 10.0 - place)
                for place, item in enumerate(draw.permutation(items)[: draw.integers(1, 6)])
            ]
            for user in users
            if draw.random() < 0.85
        }
    grades = {
        user: {str(item): int(draw.integers(0, 2)) for item in draw.permutation(items)[:25]}
        for user in users
    }
    tables = {
        "recommendations": {
            model: pd.DataFrame(
                [(user, *pair) for user, listed in mine.items() for pair in listed],
                columns=["user_id", "item_id", "score"],
            )
            for model, mine in lists.items()
        },
        "interactions": pd.DataFrame(
            [(user, *pair) for user, mine in grades.items() for pair in mine.items()],
            columns=["user_id", "item_id", "relevance"],
        ),
        "history": pd.DataFrame({"user_id": "u0", "item_id": items[:30]}),
        "users": pd.DataFrame({"user_id": users, "country": ["AT"] * 8 + ["DE"] * 16}),
    }
    return tables, lists, grades


@pytest.mark.parametrize("by", [None, "country"])
@pytest.mark.parametrize("several", [True, False])
def test_values_of_a_run_are_computed_anew_for_random_halves_of_the_users(
    by: str | None, several: bool
) -> None:
    tables, lists, grades = run_world()
    metrics: dict[str, Callable[[Lists], float | None]] = {
        "coverage": lambda mine: coverage(mine, {f"i{number}" for number in range(30)}),
        "inter_list_diversity": inter_list_diversity,
        "auc": lambda mine: pooled_auc(mine, grades),
    }
    if not several:
        tables = {**tables, "recommendations": tables["recommendations"]["als"]}
    with Evaluator(**tables) as evaluator:
        found = evaluator.evaluate(
            [*metrics, "ndcg"], k=3, ci="bootstrap", run_ci=True, by=by, confidence=0.9,
            resamples=60, seed=21,
        )  # fmt: skip
        plain = evaluator.evaluate([*metrics, "ndcg"], k=3, ci="bootstrap", by=by, confidence=0.9,
                                   resamples=60, seed=21)  # fmt: skip
    same = [name for name in found.columns if name not in ("ci_low", "ci_high")]
    pd.testing.assert_frame_equal(found[same], plain[same])
    of_run = found["metric"].isin(list(metrics))
    assert plain[of_run]["ci_low"].isna().all()
    pd.testing.assert_frame_equal(found[~of_run], plain[~of_run])
    countries = dict(tables["users"].itertuples(index=False))
    half = {user: is_in_half(numbers([group_of(21, user)], 60, 21))[0] for user in countries}
    assert of_run.sum() == 3 * (2 if several else 1) * (2 if by else 1)
    undefined: list[str] = []
    for row in found[of_run].to_dict("records"):
        cut = {
            user: listed[:3]
            for user, listed in lists[row.get("model", "als")].items()
            if by is None or countries[user] == row["country"]
        }
        value = metrics[row["metric"]]
        assert row["value"] == pytest.approx(value(cut), rel=1e-12)
        of_halves = [
            value({user: listed for user, listed in cut.items() if half[user][resample]})
            for resample in range(60)
        ]
        known = [v for v in of_halves if v is not None]
        if len(known) < 0.9 * 60:  # too few of the halves tell anything
            undefined.append(row["metric"])
            assert pd.isna(row["ci_low"])
            assert pd.isna(row["ci_high"])
            continue
        reach = scipy.stats.norm.ppf(0.95) * np.std(known, ddof=1)
        assert row["ci_low"] == pytest.approx(row["value"] - reach, rel=1e-9)
        assert row["ci_high"] == pytest.approx(row["value"] + reach, rel=1e-9)
    assert bool(undefined) == bool(by)  # lists of AT: eight users at most


def test_estimates_from_logs_keep_their_own_intervals() -> None:
    tables, _, _ = run_world()
    draw = np.random.default_rng(3)
    logs = tables["recommendations"]["als"].sample(60, random_state=1).drop(columns="score")
    logs = logs.assign(reward=draw.integers(0, 2, 60), propensity=draw.uniform(0.1, 1, 60))
    with Evaluator(**tables, logs=logs) as evaluator:
        plain = evaluator.evaluate(["ctr@3", "ips@3"])
        found = evaluator.evaluate(
            ["ctr@3", "coverage@3", "ips@3"], ci="bootstrap", run_ci=True, resamples=20
        )
    assert found["ci_low"].notna().all()
    of_logs = found[found["metric"] != "coverage"].reset_index(drop=True)
    pd.testing.assert_frame_equal(of_logs, plain, rtol=1e-12)
