"""Random tables, metrics and settings: the package against the slow oracle.

The same builder makes small tables, which hypothesis searches and shrinks, and large ones, which
put many small worlds (the users) into one evaluation. All of it is deterministic.
"""

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

import oracle
import pytest
from helpers import (
    Interaction,
    Recommendation,
    at_k,
    column,
    interaction_frame,
    recommendation_frame,
    spec,
    values_by_user,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlmetrics as sm

settings.register_profile(
    "oracle",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

Call = tuple[str, dict[str, Any]]

CHOICES: dict[str, dict[str, list[Any]]] = {
    "hit_rate": {},
    "precision": {"divisor": ["k", "length", "min_k_relevant"]},
    "recall": {"divisor": ["relevant", "min_k_relevant"]},
    "f_beta": {"beta": [1, 0.5, 2]},
    "map": {
        "divisor": [
            "min_k_relevant",
            "k",
            "relevant",
            "hits",
            "length",
            "min_relevant_length",
            "all_positions",
        ]
    },
    "mar": {"divisor": ["k", "min_k_relevant", "relevant", "length", "hits", "all_positions"]},
    "mrr": {},
    "dcg": {"gain": ["binary", "linear", "exponential"], "discount": ["log2", "log2_max2"]},
    "ndcg": {
        "gain": ["binary", "linear", "exponential"],
        "discount": ["log2", "log2_max2"],
        "ideal": ["min_k_relevant", "all_k", "all_relevant", "min_relevant_length"],
    },
    "r_precision": {},
}


def calls_of(metric: str) -> list[Call]:
    """Return every call of a metric; parameters at their default are left out of the spelling."""
    names = CHOICES[metric]
    found = []
    for values in itertools.product(*names.values()):
        chosen = dict(zip(names, values, strict=True))
        defaults = oracle.DEFAULTS[metric]
        found.append((metric, {n: v for n, v in chosen.items() if v != defaults[n]}))
    return found


CALLS = [call for metric in CHOICES for call in calls_of(metric)]

N_LARGE = 18
FIRST_SEED = 90  # such that the large worlds draw every value of every setting

TEXT_IDS = ["a", "A", "aa", "b", "B", "Zz", "z", "10", "9", "é"]
INTEGER_IDS = [1, 2, 3, 9, 10, 11, 20, 100, 101, -4]


@dataclass
class World:
    """Tables, settings, calls and cutoffs of one evaluation."""

    recommendations: list[Recommendation] = field(default_factory=list)
    interactions: list[Interaction] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    cutoffs: list[int] | None = None


def make_world(draw: random.Random, n_users: int, calls: list[Call]) -> World:
    world = World(calls=calls)
    world.cutoffs = draw.choice([None, [1], [3], [1, 2, 3, 5], [2, 12], [5, 4]])
    world.settings = {
        "audience": draw.choice(["relevant", "recommended", "both", "either", "judged"]),
        "no_recommendations": draw.choice(["zero", "zero", "drop"]),
        "no_relevant": draw.choice(["zero", "zero", "drop"]),
        "ties": draw.choice(["item_asc", "item_desc", "item_desc_text", "row"]),
        "score_type": draw.choice(["double", "float"]),
        "relevant_from": draw.choice([None, None, 0, 0.5, 1, 2]),
        "duplicate_recommendations": draw.choice(
            ["error", "keep", "dedup_then_cut", "cut_then_dedup"]
        ),
        "duplicate_interactions": draw.choice(["error", "set", "bag"]),
    }
    by = draw.choice(["score", "score", "rank", "row"])
    world.settings["order"] = "row" if by == "row" else draw.choice(["auto", by])
    graded = draw.choice([True, True, False])
    if not graded and world.settings["relevant_from"] == 2:
        world.settings["relevant_from"] = 1  # rows count 1 each: from 2 up is refused
    items = draw.choice([TEXT_IDS, INTEGER_IDS])
    users = draw.choice([[f"u{n}" for n in range(n_users)], list(range(n_users))])

    def pick(at_least: int, at_most: int, repeated: bool) -> list[Any]:
        size = draw.randint(at_least, at_most)
        return draw.choices(items, k=size) if repeated else draw.sample(items, size)

    for user in users:
        # The first user is on both sides: tables without a common user are refused.
        least = 1 if user == users[0] else 0
        copies = world.settings["duplicate_recommendations"] != "error"
        listed = pick(least, 8, copies)
        for rank, item in enumerate(listed, start=1):
            if by == "rank":
                world.recommendations.append((user, item, None, rank))
            else:
                score = draw.choice([1.0, 1.0, 2.0, 2.0, 1.0 + 1e-9, 0.0, -1.5])
                world.recommendations.append((user, item, score))
        copies = world.settings["duplicate_interactions"] != "error"
        for item in pick(least, 6, copies):
            grade = draw.choice([1.0, 1.0, 2.0, 3.0, 0.5, 0.0, -1.0, 4.0]) if graded else None
            world.interactions.append((user, item, grade))
    draw.shuffle(world.recommendations)
    draw.shuffle(world.interactions)
    return world


def assert_agrees(world: World) -> None:
    given_settings = {n: v for n, v in world.settings.items() if v is not None}
    evaluator = sm.Evaluator(
        recommendations=recommendation_frame(world.recommendations, given_settings["order"]),
        interactions=interaction_frame(world.interactions),
        settings=given_settings,
    )
    specs = [spec(metric, params) for metric, params in world.calls]
    users = evaluator.per_user(specs, k=world.cutoffs)
    means = evaluator.evaluate(specs, k=world.cutoffs)
    cutoffs = world.cutoffs or [None]
    assert len(means) == len(specs) * len(cutoffs)
    for metric, params in world.calls:
        name = column(users, metric, params)
        for k in cutoffs:
            mean, values = oracle.evaluate(
                world.recommendations,
                world.interactions,
                metric,
                k,
                params,
                world.settings,
                largest_k=max(world.cutoffs) if world.cutoffs else None,
            )
            where = f"{spec(metric, params, k)} with {world.settings}"
            found = values_by_user(users, name, k)
            assert found == pytest.approx(values, rel=1e-9, abs=1e-9), where
            (row,) = at_k(means[means["metric"] == name], k).to_dict("records")
            assert row["n_users"] == len(values), where
            if mean is None:
                assert row["value"] is None or row["value"] != row["value"], where
            else:
                assert row["value"] == pytest.approx(mean, rel=1e-9, abs=1e-9), where


@settings(settings.get_profile("oracle"))
@given(draw=st.randoms(use_true_random=False))
def test_small_worlds(draw: random.Random) -> None:
    calls = draw.sample(CALLS, draw.randint(1, 6))
    assert_agrees(make_world(draw, n_users=draw.randint(1, 6), calls=calls))


def large_world(number: int, n_users: int) -> World:
    """Return one of the N_LARGE worlds; together they make every call, with every setting."""
    return make_world(random.Random(FIRST_SEED + number), n_users, CALLS[number::N_LARGE])


@pytest.mark.parametrize("number", range(N_LARGE))
def test_many_users_at_once(number: int) -> None:
    assert_agrees(large_world(number, n_users=150))


def test_every_setting_is_drawn() -> None:
    drawn: dict[str, set[Any]] = {}
    for number in range(N_LARGE):
        for name, value in large_world(number, n_users=1).settings.items():
            drawn.setdefault(name, set()).add(value)
    assert {name: len(values) for name, values in drawn.items()} == {
        "audience": 5,
        "no_recommendations": 2,
        "no_relevant": 2,
        "order": 4,
        "ties": 4,
        "score_type": 2,
        "relevant_from": 5,
        "duplicate_recommendations": 4,
        "duplicate_interactions": 3,
    }
