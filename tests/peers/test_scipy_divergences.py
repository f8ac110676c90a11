"""Live comparison of calibration, entropies and awrf with the entropies and divergences of scipy.

Distributions are counted item by item here. Generated items have one to three categories or none,
one group, two or none; some are outside the catalogue. There are lists of one item, users without
a list, without a history, and with a history without categories.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.spatial.distance
import scipy.stats

import sqlmetrics as sm

CUTOFFS = [1, 3, 10, 100]
# the first alone, unless the slow tests are asked for
FIRST_CUTOFF = [CUTOFFS[0], *(pytest.param(k, marks=pytest.mark.thorough) for k in CUTOFFS[1:])]
ITEMS = range(60)
USERS = range(80)
Shares = dict[str, float]


class World:
    """Generated lists, history, and attributes of items."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.categories = {item: draw.sample("abcdef", draw.choice([0, 1, 1, 2, 3]))
                           for item in ITEMS}  # fmt: skip
        self.groups = {item: draw.choice([["m"], ["n"], ["m", "n"], ["o"], []]) for item in ITEMS}
        lengths = [1, 2, 5, 10, 30]
        self.lists = {user: draw.sample(ITEMS, draw.choice(lengths))
                      for user in USERS if user % 9 != 4}  # fmt: skip
        self.history = {user: draw.sample(ITEMS[:50], draw.choice([1, 4, 12]))
                        for user in USERS if user % 7 != 3}  # fmt: skip

    def evaluator(self) -> sm.Evaluator:
        ranked = [(user, item, rank) for user, items in self.lists.items()
                  for rank, item in enumerate(items, start=1)]  # fmt: skip
        seen = [(user, item) for user, items in self.history.items() for item in items]
        items = pd.DataFrame({"item_id": ITEMS, "category": self.categories.values(),
                              "item_group": self.groups.values()})  # fmt: skip
        return sm.Evaluator(
            pd.DataFrame(ranked, columns=["user_id", "item_id", "rank"]),
            pd.DataFrame(seen, columns=["user_id", "item_id"]),
            history=pd.DataFrame(seen, columns=["user_id", "item_id"]),
            items=items,
            settings={"catalogue": "items", "missing_attributes": "ignore"},
        )

    def per_user(self, spec: str, k: int) -> dict[Any, float]:
        with self.evaluator() as evaluator:
            rows = evaluator.per_user(spec, k=k)
        found = zip(rows["user_id"], rows[rows.columns[-1]], strict=True)
        return {user: value for user, value in found if not pd.isna(value)}


def shares(
    items: list[int], attributes: Mapping[int, list[str]], weight: Callable[[int], float]
) -> Shares:
    """Return the share of each attribute in a list; an item divides its weight."""
    weights: Counter[str] = Counter()
    for rank, item in enumerate(items, start=1):
        for name in attributes[item]:
            weights[name] += weight(rank) / len(attributes[item])  # type: ignore[assignment]
    total = sum(weights.values())
    return {name: value / total for name, value in weights.items()}


def aligned(one: Shares, other: Shares) -> tuple[Any, Any]:
    names = sorted({*one, *other})
    return [np.array([of.get(name, 0.0) for name in names]) for of in (one, other)]  # type: ignore[return-value]


def kl_of_smoothed(p: Shares, q: Shares) -> float:
    of_history, of_list = aligned(p, q)
    return float(scipy.stats.entropy(of_history, 0.99 * of_list + 0.01 * of_history))


def js(p: Shares, q: Shares) -> float:
    one, other = aligned(p, q)
    if np.allclose(one, other, atol=1e-12):  # scipy has NaN for some of these
        return 0.0
    return float(scipy.spatial.distance.jensenshannon(one, other, base=2) ** 2)


def hellinger(p: Shares, q: Shares) -> float:
    one, other = aligned(p, q)
    return float(scipy.spatial.distance.euclidean(np.sqrt(one), np.sqrt(other)) / math.sqrt(2))


def tv(p: Shares, q: Shares) -> float:
    return float(scipy.spatial.distance.cityblock(*aligned(p, q)) / 2)


DIVERGENCES = {"kl": kl_of_smoothed, "js": js, "hellinger": hellinger, "tv": tv}
WEIGHTS: dict[str, Callable[[int], float]] = {
    "none": lambda rank: 1.0,  # noqa: ARG005
    "log2": lambda rank: 1 / math.log2(rank + 1),
    "geometric": lambda rank: 0.85 ** (rank - 1),
}


def assert_equal(found: Mapping[Any, float], expected: Mapping[Any, float]) -> None:
    assert len(expected) > 20
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.every_case
def test_calibration(seed: int, divergence: str, weight: str) -> None:
    world = World(seed)
    k = CUTOFFS[(seed + len(divergence) + len(weight)) % len(CUTOFFS)]
    expected = {}
    for user, items in world.lists.items():
        q = shares(items[:k], world.categories, WEIGHTS[weight])
        p = shares(world.history.get(user, []), world.categories, WEIGHTS["none"])
        if p and q:
            expected[user] = DIVERGENCES[divergence](p, q)
    spec = f"calibration(divergence={divergence}, rank_weight={weight})"
    assert_equal(world.per_user(spec, k), expected)


@pytest.mark.parametrize("k", FIRST_CUTOFF)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.every_case
def test_category_entropy(k: int, weight: str) -> None:
    world = World(3)
    of_lists = {user: shares(items[:k], world.categories, WEIGHTS[weight])
                for user, items in world.lists.items()}  # fmt: skip
    expected = {user: scipy.stats.entropy([*of.values()], base=2)
                for user, of in of_lists.items() if of}  # fmt: skip
    assert_equal(world.per_user(f"category_entropy(rank_weight={weight})", k), expected)


@pytest.mark.parametrize("k", FIRST_CUTOFF)
@pytest.mark.parametrize("scale", ["bits", "nats", "normalised", "effective"])
@pytest.mark.every_case
def test_item_entropy(k: int, scale: str) -> None:
    world = World(4)
    counts = [*Counter(item for items in world.lists.values() for item in items[:k]).values()]
    bits = scipy.stats.entropy(counts, base=2)
    scaled = {"bits": bits, "nats": scipy.stats.entropy(counts),
              "normalised": bits / math.log2(len(ITEMS)), "effective": 2**bits}  # fmt: skip
    with world.evaluator() as evaluator:
        found = evaluator.evaluate(f"item_entropy(scale={scale})", k=k)["value"].item()
    assert found == pytest.approx(scaled[scale], abs=1e-12)


def kl_from_target(q: Shares, target: Shares) -> float:
    return float(scipy.stats.entropy(*aligned(q, target)))


@pytest.mark.parametrize("k", FIRST_CUTOFF)
@pytest.mark.parametrize("divergence", ["tv", "js", "kl"])
@pytest.mark.every_case
def test_awrf(k: int, divergence: str) -> None:
    world = World(5)
    target = shares([*ITEMS], world.groups, WEIGHTS["none"])
    compared = {"tv": tv, "js": js, "kl": kl_from_target}[divergence]
    of_lists = {user: shares(items[:k], world.groups, WEIGHTS["geometric"])
                for user, items in world.lists.items()}  # fmt: skip
    expected = {user: compared(of, target) for user, of in of_lists.items() if of}
    spec = f"awrf(divergence={divergence}, patience=0.85)"
    assert_equal(world.per_user(spec, k), expected)
