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
from tests.support.calls import canonical

CUTOFFS = [1, 3, 10, 100]
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
            threads=1,
            check=False,  # the lists are random
        )

    def per_user(self, specs: list[str]) -> dict[tuple[str, int], dict[Any, float]]:
        """Return {(spec, k): {user: value}} of all cutoffs."""
        with self.evaluator() as evaluator:
            rows = evaluator.per_user(specs, k=CUTOFFS, long=True)
            names = {spec: canonical(evaluator, spec) for spec in specs}
        return {
            (spec, k): dict(rows[rows["k"] == k].set_index("user_id")[name].dropna())
            for spec, name in names.items()
            for k in CUTOFFS
        }


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


def kl_from_target(q: Shares, target: Shares) -> float:
    return float(scipy.stats.entropy(*aligned(q, target)))


def assert_equal(found: Mapping[Any, float], expected: Mapping[Any, float]) -> None:
    assert len(expected) > 20
    assert found == pytest.approx(expected, abs=1e-12)


def test_calibration() -> None:
    world = World(1)
    specs = {
        f"calibration(divergence={divergence}, rank_weight={weight})": (divergence, weight)
        for divergence in DIVERGENCES
        for weight in WEIGHTS
    }
    for (spec, k), found in world.per_user(list(specs)).items():
        divergence, weight = specs[spec]
        expected = {}
        for user, items in world.lists.items():
            q = shares(items[:k], world.categories, WEIGHTS[weight])
            p = shares(world.history.get(user, []), world.categories, WEIGHTS["none"])
            if p and q:
                expected[user] = DIVERGENCES[divergence](p, q)
        assert_equal(found, expected)


def test_category_entropy() -> None:
    world = World(3)
    specs = {f"category_entropy(rank_weight={weight})": weight for weight in WEIGHTS}
    for (spec, k), found in world.per_user(list(specs)).items():
        of_lists = {user: shares(items[:k], world.categories, WEIGHTS[specs[spec]])
                    for user, items in world.lists.items()}  # fmt: skip
        expected = {user: scipy.stats.entropy([*of.values()], base=2)
                    for user, of in of_lists.items() if of}  # fmt: skip
        assert_equal(found, expected)


def test_item_entropy() -> None:
    world = World(4)
    scales = ["bits", "nats", "normalised", "effective"]
    with world.evaluator() as evaluator:
        frame = evaluator.evaluate([f"item_entropy(scale={scale})" for scale in scales], k=CUTOFFS)
    for k in CUTOFFS:
        counts = [*Counter(item for items in world.lists.values() for item in items[:k]).values()]
        bits = scipy.stats.entropy(counts, base=2)
        expected = [bits, scipy.stats.entropy(counts), bits / math.log2(len(ITEMS)), 2**bits]
        assert frame["value"][frame["k"] == k].tolist() == pytest.approx(expected, abs=1e-12), k


def test_awrf() -> None:
    world = World(5)
    target = shares([*ITEMS], world.groups, WEIGHTS["none"])
    compared = {"tv": tv, "js": js, "kl": kl_from_target}
    specs = {f"awrf(divergence={name}, patience=0.85)": name for name in compared}
    for (spec, k), found in world.per_user(list(specs)).items():
        of_lists = {user: shares(items[:k], world.groups, WEIGHTS["geometric"])
                    for user, items in world.lists.items()}  # fmt: skip
        expected = {user: compared[specs[spec]](of, target) for user, of in of_lists.items() if of}
        assert_equal(found, expected)
