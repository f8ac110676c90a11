"""Samples of users, against the exact values and the spread that theory gives."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.calls import values_by_user
from tests.support.evaluators import Evaluator
from tests.support.pairs import CATEGORIES, OVER, World, our_runs

USERS = 2000  # of the tables that users are drawn from
SAMPLED = ["intra_list_diversity", "intra_list_diversity(over=category)", "inter_list_diversity"]


def sampled(name: str, **params: Any) -> str:
    inside = ", ".join(f"{param}={value}" for param, value in params.items())
    head, _, rest = name.partition("(")
    return f"{head}({rest.removesuffix(')')}{', ' if rest else ''}{inside})"


@pytest.fixture(scope="module")
def crowd() -> dict[str, pd.DataFrame]:
    """Return 2,000 users, who differ in how popular and how alike their items are."""
    draw = np.random.default_rng(9)
    lists = []
    for user in range(USERS):
        length = int(draw.integers(2, 13))
        spread = draw.choice([15, 60, 400])
        chosen = draw.permutation(spread)[:length]
        lists.append(
            pd.DataFrame({"user_id": user, "item_id": chosen, "rank": range(1, length + 1)})
        )
    vectors = draw.standard_normal((400, 6)) + np.arange(400)[:, None] / 200
    categories = [CATEGORIES[n % 5 if n > 50 else 0] for n in range(400)]
    return {
        "recommendations": pd.concat(lists, ignore_index=True),
        "items": pd.DataFrame(
            {"item_id": range(400), "features": list(vectors), "category": categories}
        ),
    }


def evaluate(tables: dict[str, pd.DataFrame], metrics: Any, k: Any = None, **more: Any) -> Any:
    """Return {(metric, k or 0): value} and {…: n_users}."""
    with Evaluator(**tables, **more) as evaluator:
        frame = evaluator.evaluate(metrics, k=k)
    keys = list(zip(frame["metric"], frame["k"].fillna(0).astype(int), strict=True))
    return dict(zip(keys, frame["value"], strict=True)), dict(
        zip(keys, frame["n_users"], strict=True)
    )


def test_a_sample_of_all_lists_of_each_model_is_exact(world: World) -> None:
    names = [sampled(name, sample_users=45, runs=3) for name in SAMPLED]
    with world.evaluator() as evaluator:
        for k in (3, None):
            frame = evaluator.evaluate([*SAMPLED, *names], k=k)
            metrics = list(dict.fromkeys(frame["metric"]))
            for exact, drawn in zip(metrics[:3], metrics[3:], strict=True):
                values = our_runs(frame, exact, k)
                assert our_runs(frame, drawn, k) == pytest.approx(values, rel=0, abs=1e-12)


@pytest.mark.parametrize("size", [USERS, 10**6])
def test_a_sample_of_everybody_is_exact(crowd: dict[str, pd.DataFrame], size: int) -> None:
    names = [sampled(name, sample_users=size, runs=2) for name in SAMPLED]
    values, _ = evaluate(crowd, [*SAMPLED, *names], k=[2, 10])
    columns = list(dict.fromkeys(metric for metric, _ in values))
    assert len(columns) == 6
    for exact, drawn in zip(columns[:3], columns[3:], strict=True):
        for k in (2, 10):
            assert values[drawn, k] == pytest.approx(values[exact, k], rel=0, abs=1e-12)


def test_a_seed_draws_the_same_users(crowd: dict[str, pd.DataFrame]) -> None:
    """On any number of threads, in any order of rows; another seed draws others."""
    names = [sampled(name, sample_users=100, runs=3, seed=4) for name in SAMPLED]
    first, _ = evaluate(crowd, names, k=[2, 10], threads=1)
    shuffled = {name: table.sample(frac=1, random_state=3) for name, table in crowd.items()}
    for tables, threads in ((crowd, 4), (shuffled, 1), (shuffled, 4)):
        again, _ = evaluate(tables, names, k=[2, 10], threads=threads)
        assert again == pytest.approx(first, rel=0, abs=1e-12)
    others = [sampled(name, sample_users=100, runs=3, seed=5) for name in SAMPLED]
    other, _ = evaluate(crowd, others, k=[2, 10])
    for one, two in zip(first.values(), other.values(), strict=True):
        assert abs(one - two) > 1e-6


@pytest.mark.parametrize("over", OVER)
def test_sampled_users_keep_their_own_values(crowd: dict[str, pd.DataFrame], over: str) -> None:
    """`runs` times `sample_users` users have the value that they have without a sample."""
    name = sampled(OVER[over], sample_users=40, runs=5)
    runs: dict[int | None, list[dict[Any, float]]] = {5: [], None: []}
    for threads, table in ((1, crowd["recommendations"]), (4, crowd["recommendations"][::-1])):
        with Evaluator(table, items=crowd["items"], threads=threads) as evaluator:
            for k, seen in runs.items():
                frame = evaluator.per_user([OVER[over], name], k=k, long=True)
                exact, drawn = (c for c in frame.columns if c not in ("user_id", "k"))
                everybody = values_by_user(frame, exact, k)
                seen.append(values_by_user(frame, drawn, k))
                assert len(everybody) == USERS
                assert len(seen[-1]) == 200
                assert seen[-1] == {user: everybody[user] for user in seen[-1]}
    for one, other in runs.values():
        assert one == other


def test_a_sampled_mean_is_as_near_as_theory_says(crowd: dict[str, pd.DataFrame]) -> None:
    """Of n out of N users drawn without replacement the mean strays by s · sqrt((1 - n/N) / n)."""
    seeds = range(1, 21)
    specs = [sampled("intra_list_diversity", sample_users=50, runs=10, seed=seed) for seed in seeds]
    values, users = evaluate(crowd, [*specs, "intra_list_diversity"], k=5)
    exact = values.pop(("intra_list_diversity", 5))
    users.pop(("intra_list_diversity", 5))
    assert set(users.values()) == {500}
    with Evaluator(**crowd) as evaluator:
        frame = evaluator.per_user("intra_list_diversity", k=5, long=True)
    spread = frame["intra_list_diversity"].std() * math.sqrt((1 - 500 / USERS) / 500)
    assert_like_draws(list(values.values()), exact, spread)


def test_a_sampled_diversity_of_lists_is_as_near_as_theory_says(
    crowd: dict[str, pd.DataFrame],
) -> None:
    """Of m users a mean over pairs strays as a U-statistic (Hoeffding) of m out of N users does."""
    size, runs, k = 60, 4, 5
    seeds = range(1, 21)
    specs = [
        sampled("inter_list_diversity", sample_users=size, runs=runs, seed=seed) for seed in seeds
    ]
    values, _ = evaluate(crowd, [*specs, "inter_list_diversity"], k=k)
    exact = values.pop(("inter_list_diversity", k))
    table = crowd["recommendations"].query("rank <= @k")
    lists = np.zeros((USERS, 400))
    lists[table["user_id"], table["item_id"]] = 1
    lists /= np.linalg.norm(lists, axis=1)[:, None]
    distances = 1 - lists @ lists.T
    pairs = distances[np.triu_indices(USERS, 1)]
    assert exact == pytest.approx(pairs.mean(), rel=0, abs=1e-9)
    of_user = (distances.sum(axis=1) - distances.diagonal()) / (USERS - 1)
    variance = (4 * (size - 2) * of_user.var() + 2 * pairs.var()) / (size * (size - 1))
    assert_like_draws(list(values.values()), exact, math.sqrt(variance / runs))


def assert_like_draws(values: list[float], exact: float, spread: float) -> None:
    """Twenty estimates are around the exact value, as far from it as they should be.

    Each within 5 standard errors, their mean within 4 of its own; their spread within a factor that
    twenty normal draws leave once in ten thousand samples.
    """
    draws = np.array(values)
    assert len(set(values)) == len(values) == 20
    assert np.abs(draws - exact).max() < 5 * spread
    assert abs(draws.mean() - exact) < 4 * spread / math.sqrt(20)
    assert 0.45 < draws.std(ddof=1) / spread < 1.7


def test_runs_draw_different_users(crowd: dict[str, pd.DataFrame]) -> None:
    """With runs that drew the same users, ten runs would say what one says."""
    specs = [sampled("inter_list_diversity", sample_users=30, runs=runs) for runs in (1, 2, 10)]
    values, _ = evaluate(crowd, specs, k=5)
    assert len(set(values.values())) == 3
