"""Live comparison of rank correlations and pooled AUC with scipy and scikit-learn.

All of them compare what was predicted for the judged items in the top k of a list with their
relevance. Generated lists have equal scores inside and across the cutoffs, equal grades, users with
one judged item, with one score or one grade (undefined on both sides), without a list, without
judgments, and without a relevant item (not in the audience, but pooled).

scipy has tau-b and no tau-a: that is counted pair by pair here.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.metrics import roc_auc_score

import sqlmetrics as sm
from tests.support.calls import at_k, values_by_user
from tests.support.evaluators import Evaluator

CUTOFFS = [1, 2, 3, 5, 10, 20, 100]
WHOLE_LISTS = None
ITEMS = 300
Pairs = tuple[np.ndarray, np.ndarray]  # predicted, relevance


@dataclass
class World:
    """Generated tables; `by` is what orders the lists.

    "rank": a column of ranks; "score": a column of scores; "score, with ranks that say otherwise":
    both columns, and the setting that takes the score.
    """

    seed: int
    by: str
    integer_ids: bool
    fractions: bool = False  # grades such as 0.5
    lists: dict[str, list[tuple[Any, float]]] = field(default_factory=dict)  # best first
    grades: dict[str, dict[Any, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draw = random.Random(self.seed)
        items = [self.item(number) for number in range(ITEMS)]
        for number in range(300):
            user = f"user {number}"
            chosen: list[Any] = []
            if number % 12 != 7:  # without a list: 7, 19, ...
                chosen = draw.sample(items, draw.choice([1, 2, 3, 5, 8, 15, 30, 60, 130]))
                scores = self.scores(draw, len(chosen))
                if self.by != "rank":  # the order that the package documents
                    both = sorted(zip(scores, chosen, strict=True), key=lambda p: (-p[0], p[1]))
                    self.lists[user] = [(item, score) for score, item in both]
                else:
                    ranks = range(1, len(chosen) + 1)
                    self.lists[user] = [(i, -float(r)) for i, r in zip(chosen, ranks, strict=True)]
            if number % 12 != 3:  # without judgments: 3, 15, ...
                found = draw.sample(
                    chosen, round(len(chosen) * draw.choice([0, 0.3, 0.5, 0.7, 0.7, 1]))
                )
                judged = list(dict.fromkeys([*found, *draw.sample(items, draw.choice([1, 5, 40]))]))
                self.grades[user] = {item: self.grade(draw, number) for item in judged}
        self.draw = draw

    def item(self, number: int) -> Any:
        return number * 7 % 1000 if self.integer_ids else f"{'xyXY-é'[number % 6]}{number}"

    @staticmethod
    def scores(draw: random.Random, count: int) -> list[float]:
        kind = draw.choice(["levels", "levels", "one", "close", "different", "different", "large"])
        if kind == "levels":
            return [float(draw.randint(-2, 2)) for _ in range(count)]
        if kind == "one":
            return [0.25] * count
        if kind == "close":  # different as doubles only
            return [1 + draw.randint(-9, 9) * 1e-13 for _ in range(count)]
        if kind == "large":
            return [draw.randint(-3, 3) * 1e250 for _ in range(count)]
        return [draw.gauss(0, 1) for _ in range(count)]

    def grade(self, draw: random.Random, user: int) -> float:
        if user % 12 == 5:  # nothing relevant
            return float(draw.choice([-1, 0]))
        if user % 12 == 9:  # one grade
            return 2.0
        if self.fractions:
            return draw.choice([-1.0, 0.0, 0.1, 0.1 + 0.2, 0.3, 1e-9, 7.5])
        return float(draw.choice([-1, 0, 0, 1, 1, 2, 5]))

    def recommendations(self) -> pd.DataFrame:
        rows = []
        for user, entries in self.lists.items():
            for place, (item, predicted) in enumerate(entries, start=1):
                rows.append((user, item, predicted, place))
        frame = pd.DataFrame(rows, columns=["user_id", "item_id", "score", "rank"])
        if self.by == "rank":
            frame = frame.drop(columns="score")
        elif self.by == "score":
            frame = frame.drop(columns="rank")
        else:  # the last is the first by rank
            frame["rank"] = frame.groupby("user_id")["rank"].transform("max") + 1 - frame["rank"]
        return frame.sample(frac=1, random_state=self.seed)

    def interactions(self) -> pd.DataFrame:
        rows = [(u, i, grade) for u, grades in self.grades.items() for i, grade in grades.items()]
        frame = pd.DataFrame(rows, columns=["user_id", "item_id", "relevance"])
        if not self.fractions:
            frame["relevance"] = frame["relevance"].astype(int)
        return frame.sample(frac=1, random_state=self.seed)

    def audience(self, relevant_from: float | None = None) -> set[str]:
        return {
            user
            for user, grades in self.grades.items()
            if any(is_relevant(np.array(list(grades.values())), relevant_from))
        }

    def matched(self, user: str, k: int | None) -> Pairs:
        """Return what was predicted for the judged items in the top k, and their relevance."""
        grades = self.grades.get(user, {})
        pairs = [(p, grades[item]) for item, p in self.lists.get(user, [])[:k] if item in grades]
        predicted, relevance = zip(*pairs, strict=True) if pairs else ((), ())
        return np.array(predicted, dtype=float), np.array(relevance, dtype=float)

    def evaluator(self, **settings: Any) -> sm.Evaluator:
        if self.by.startswith("score, "):
            settings["order"] = "score"
        return Evaluator(self.recommendations(), self.interactions(), settings=settings)


WORLDS = {
    "text ids by score": World(1, "score", False),
    "integer ids by score, fractions": World(2, "score", True, fractions=True),
    "integer ids by rank": World(3, "rank", True),
    "text ids by rank, fractions": World(4, "rank", False, fractions=True),
    "both columns": World(5, "score, with ranks that say otherwise", True),
}


@pytest.fixture(scope="module", params=WORLDS.values(), ids=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return request.param  # type: ignore[no-any-return]


def is_relevant(relevance: np.ndarray, relevant_from: float | None = None) -> np.ndarray:
    return relevance > 0 if relevant_from is None else relevance >= relevant_from


# ---------------------------------------------------------------- the independent side


def tau_b(predicted: np.ndarray, relevance: np.ndarray) -> float:
    return float(scipy.stats.kendalltau(predicted, relevance, variant="b").statistic)


def tau_a(predicted: np.ndarray, relevance: np.ndarray) -> float:
    """Count pairs that agree and pairs that disagree, one by one."""
    rows = list(zip(predicted.tolist(), relevance.tolist(), strict=True))
    difference = 0
    for one, (score, grade) in enumerate(rows):
        for other_score, other_grade in rows[:one]:
            by_score = (score > other_score) - (score < other_score)
            difference += by_score * ((grade > other_grade) - (grade < other_grade))
    return difference / math.comb(len(rows), 2)


def rho(predicted: np.ndarray, relevance: np.ndarray) -> float:
    return float(scipy.stats.spearmanr(predicted, relevance).statistic)


def is_defined(predicted: np.ndarray, relevance: np.ndarray) -> bool:
    """Say whether scipy has a value, without making it warn."""
    return len(np.unique(predicted)) > 1 and len(np.unique(relevance)) > 1


Statistic = Callable[[np.ndarray, np.ndarray], float]
CORRELATIONS: dict[str, Statistic] = {
    "kendall_tau": tau_b,  # the default
    "kendall_tau(variant=a)": tau_a,
    "spearman_rho": rho,
}


def expected_correlations(world: World, k: int | None, statistic: Statistic) -> dict[str, float]:
    found = {}
    for user in world.audience():
        pairs = world.matched(user, k)
        if is_defined(*pairs):
            found[user] = statistic(*pairs)
    return found


def pooled(world: World, k: int | None) -> Pairs:
    pairs = [world.matched(user, k) for user in world.lists]
    return np.concatenate([p for p, _ in pairs]), np.concatenate([r for _, r in pairs])


def expected_auc(world: World, k: int | None, relevant_from: float | None = None) -> float:
    predicted, relevance = pooled(world, k)
    return float(roc_auc_score(is_relevant(relevance, relevant_from), predicted))


def cutoffs() -> Iterator[int | None]:
    yield from CUTOFFS
    yield WHOLE_LISTS


def value(frame: pd.DataFrame, metric: str, k: int | None) -> Any:
    (row,) = at_k(frame[frame["metric"] == metric], k).to_dict("records")
    return row["value"]


# ---------------------------------------------------------------- comparisons


def test_worlds_are_hard_enough(world: World) -> None:
    """Ties on both sides, undefined users of every kind, and users outside of the audience."""
    audience = world.audience()
    matched = {user: world.matched(user, None) for user in audience}
    assert sum(is_defined(*pairs) for pairs in matched.values()) > 80
    assert any(len(p) == 0 for p, _ in matched.values())
    assert any(len(p) == 1 for p, _ in matched.values())
    assert any(len(p) > 50 for p, _ in matched.values())
    if world.by != "rank":
        assert any(len(set(p)) == 1 < len(set(r)) for p, r in matched.values())
        assert any(1 < len(set(p)) < len(p) for p, _ in matched.values())
    assert any(len(set(r)) == 1 < len(set(p)) for p, r in matched.values())
    assert any(1 < len(set(r)) < len(r) for _, r in matched.values())
    assert audience - set(world.lists)
    assert set(world.lists) - set(world.grades)
    assert any(is_defined(*world.matched(user, None)) for user in set(world.grades) - audience)


def test_correlations_agree_with_scipy(world: World) -> None:
    with world.evaluator() as evaluator:
        at_cutoffs = evaluator.per_user([*CORRELATIONS], k=CUTOFFS, long=True)
        whole = evaluator.per_user([*CORRELATIONS], long=True)
        means = evaluator.evaluate([*CORRELATIONS], k=CUTOFFS)
        whole_means = evaluator.evaluate([*CORRELATIONS])
    assert set(whole["user_id"]) == world.audience()
    for k in cutoffs():
        frame, summary = (whole, whole_means) if k is None else (at_cutoffs, means)
        for name, statistic in CORRELATIONS.items():
            ours = values_by_user(frame, name, k)
            theirs = expected_correlations(world, k, statistic)
            assert ours == pytest.approx(theirs, rel=0, abs=1e-9), f"{name}, k = {k}"
            rows = at_k(summary[summary["metric"] == name], k)
            assert rows["n_users"].tolist() == [len(theirs)]
            if theirs:
                mean = sum(theirs.values()) / len(theirs)
                assert rows["value"].tolist() == pytest.approx([mean], rel=0, abs=1e-9)
            else:  # one item has no order
                assert k == 1
                assert rows["value"].isna().all()


def test_auc_agrees_with_scikit_learn(world: World) -> None:
    with world.evaluator() as evaluator:
        at_cutoffs, whole = evaluator.evaluate("auc", k=CUTOFFS), evaluator.evaluate("auc")
    for k in cutoffs():
        if world.by == "rank" and k == 1:
            continue  # everything has the rank 1: see below
        ours = value(whole if k is None else at_cutoffs, "auc", k)
        assert ours == pytest.approx(expected_auc(world, k), rel=0, abs=1e-9), f"k = {k}"
    row = at_cutoffs.iloc[0]
    assert row[["std", "ci_low", "ci_high", "n_users"]].isna().all()


def test_auc_pools_users_without_a_relevant_item() -> None:
    """They are in no audience of accuracy metrics; their items count as judged not relevant."""
    world = WORLDS["text ids by score"]
    truth = world.interactions()
    audience = world.audience()
    with (
        Evaluator(world.recommendations(), truth[truth["user_id"].isin(audience)]) as without,
        world.evaluator() as evaluator,
    ):
        narrow = value(without.evaluate("auc"), "auc", None)
        pooled_over_all = value(evaluator.evaluate("auc"), "auc", None)
    assert abs(narrow - expected_auc(world, None)) > 1e-6, "the users make no difference"
    assert pooled_over_all == pytest.approx(expected_auc(world, None), rel=0, abs=1e-9)


def test_auc_of_equal_predictions_is_one_half() -> None:
    """At k = 1 of ranked lists all items have the rank 1."""
    world = WORLDS["integer ids by rank"]
    _, relevance = pooled(world, 1)
    assert set(is_relevant(relevance)) == {True, False}
    with world.evaluator() as evaluator:
        assert value(evaluator.evaluate("auc@1"), "auc", 1) == 0.5


@pytest.mark.parametrize("relevant_from", [1, 2, 5])
def test_auc_of_graded_judgments(relevant_from: int) -> None:
    """What is relevant follows `relevant_from`; grades below it are judged not relevant."""
    world = WORLDS["text ids by score"]
    with world.evaluator(relevant_from=relevant_from) as evaluator:
        frame = evaluator.evaluate("auc", k=[3, 20])
    for k in (3, 20):
        expected = expected_auc(world, k, relevant_from)
        assert value(frame, "auc", k) == pytest.approx(expected, rel=0, abs=1e-9)


def test_correlations_do_not_depend_on_what_is_relevant() -> None:
    """`relevant_from` narrows the audience, not the judged items that are compared."""
    world = WORLDS["text ids by score"]
    with world.evaluator(relevant_from=5) as evaluator:
        frame = evaluator.per_user(["kendall_tau", "spearman_rho"], k=20, long=True)
    audience = world.audience(5)
    assert set(frame["user_id"]) == audience < world.audience()
    for name in ("kendall_tau", "spearman_rho"):
        expected = expected_correlations(world, 20, CORRELATIONS[name])
        expected = {user: value for user, value in expected.items() if user in audience}
        assert values_by_user(frame, name, 20) == pytest.approx(expected, rel=0, abs=1e-9)


@pytest.mark.parametrize("grade", [0, 3])
def test_auc_with_one_class_is_undefined(grade: int) -> None:
    world = WORLDS["integer ids by score, fractions"]
    interactions = world.interactions().assign(relevance=grade)
    with Evaluator(world.recommendations(), interactions) as evaluator:
        frame = evaluator.evaluate("auc", k=[5, 100])
    assert frame["value"].isna().all()
    assert frame["k"].tolist() == [5, 100]


def test_models_are_compared_by_themselves() -> None:
    """Lists of several models, of the same users, do not mix."""
    first, second = WORLDS["text ids by score"], World(11, "score", False)
    truth = first.interactions()
    second.grades = first.grades
    lists = {"first": first.recommendations(), "second": second.recommendations()}
    with Evaluator(lists, truth) as evaluator:
        users = evaluator.per_user(["kendall_tau", "spearman_rho"], k=[3, 20], long=True)
        runs = evaluator.evaluate("auc", k=[3, 20])
    for name, world in (("first", first), ("second", second)):
        for k in (3, 20):
            own = users[users["model"] == name]
            for metric in ("kendall_tau", "spearman_rho"):
                expected = expected_correlations(world, k, CORRELATIONS[metric])
                assert values_by_user(own, metric, k) == pytest.approx(expected, rel=0, abs=1e-9)
            ours = value(runs[runs["model"] == name], "auc", k)
            assert ours == pytest.approx(expected_auc(world, k), rel=0, abs=1e-9)
