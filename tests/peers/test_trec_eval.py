"""Live comparison with trec_eval, through its binding pytrec-eval-terrier, on generated tables.

Compared per user, under the convention `trec_eval`, with lists in the order of scores (ties by
item as text, descending; scores in single precision) and in the order of ranks (trec_eval gets
-rank as the score).

The binding gives a value only for users on both sides, over whom trec_eval averages by default. For
a user with judgments and without a list, trec_eval scores 0 when asked to count them (`-c`), as
no_recommendations=zero does. Users without judgments are in neither.

trec_eval has no recip_rank, Rprec, set_P and set_recall at k: they are compared with its value for
the list cut at k. Cut there means: the first k in the order that trec_eval itself uses. What
divides by k here and by the length of the list there is compared for whole lists alone.
"""

import random
import re
from collections.abc import Mapping

import numpy as np
import pytest
import pytrec_eval

from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.settings import Convention
from sqlmetrics.metrics.spec import parse_spec
from tests.support.calls import at_k, values_by_user
from tests.support.evaluators import Evaluator
from tests.support.notation import (
    Interaction,
    Recommendation,
    interaction_frame,
    recommendation_frame,
)

CUTOFFS = [1, 5, 10, 20, 100]
Values = dict[tuple[str, int | None], dict[str, float]]  # (spec, k) -> {user: value}

# What trec_eval cuts at k by itself, and what it computes for the list that it is given.
CUT_BY_TREC_EVAL = {
    "precision": "P",
    "recall": "recall",
    "ndcg": "ndcg_cut",
    "map": "map_cut",
    "hit_rate": "success",
    "precision(divisor=min_k_relevant)": "relative_P",
}
OF_THE_LIST_GIVEN = {
    "mrr": "recip_rank",
    "r_precision": "Rprec",
    "map": "map",
    "ndcg": "ndcg",
    "precision(divisor=length)": "set_P",
    "precision(divisor=min_relevant_length)": "set_relative_P",
    "recall": "set_recall",
    "set_map": "set_map",
    "precision": "set_P",
    "f_beta": "set_F",
}
OF_WHOLE_LISTS_ALONE = {"map", "ndcg", "precision", "f_beta"}  # the first two have a cut of its own
# sums and geometric means of values that are compared; tests/references has the numbers
AGGREGATES = {"num_q", "gm_map", "gm_bpref"}
SPECS = sorted({*CUT_BY_TREC_EVAL, *OF_THE_LIST_GIVEN})
COUNTS_AND_POOLS = {
    "n_recommended": "num_ret",
    "n_relevant": "num_rel",
    "n_hits": "num_rel_ret",
    "bpref": "bpref",
    "inf_ap": "infAP",
    "eleven_point": "11pt_avg",
    "interpolated_precision": "iprec_at_recall_0.50",
    **{
        f"interpolated_precision(recall={tenths / 10:g})": f"iprec_at_recall_{tenths / 10:.2f}"
        for tenths in range(11)
        if tenths != 5
    },
}


class World:
    """Tables with everything that trec_eval and a recommender's lists can disagree about."""

    def __init__(self, seed: int, integer_ids: bool, by: str) -> None:
        draw = random.Random(seed)
        items = [*range(1, 400)] if integer_ids else self.text_ids(draw, 399)
        self.recommendations: list[Recommendation] = []
        self.interactions: list[Interaction] = []
        for number in range(120):
            user = f"user {number}"
            if number % 10 != 7:  # without a list: 7, 17, ...
                chosen = draw.sample(items, draw.choice([1, 2, 4, 5, 6, 15, 60, 100, 101, 150]))
                scores = self.scores(draw, len(chosen))
                if by == "score":
                    rows = [(user, i, s) for i, s in zip(chosen, scores, strict=True)]
                else:
                    rows = [(user, i, None, rank) for rank, i in enumerate(chosen, start=1)]
                draw.shuffle(rows)
                self.recommendations += rows
            else:
                chosen = []
            if number % 10 != 3:  # without judgments: 3, 13, ...
                liked = draw.sample(chosen, min(len(chosen), draw.choice([0, 1, 3, 12, 40])))
                missed = draw.sample(items, draw.choice([1, 3, 30, 120]))
                grades = [-2, -1, 0] if number % 10 == 5 else [-1, 0, 1, 1, 2, 3, 4]
                judged = list(dict.fromkeys(liked + missed))
                drawn = draw.choices(grades, k=len(judged))
                if max(drawn) < -1:
                    drawn[0] = -1  # the binding crashes where a user's highest grade is below -1
                self.interactions += [(user, i, g) for i, g in zip(judged, drawn, strict=True)]
        draw.shuffle(self.interactions)

    @staticmethod
    def text_ids(draw: random.Random, count: int) -> list[str]:
        """Return different ids of 1 to 4 letters, digits and others, lower and upper case."""
        found: dict[str, None] = {}
        while len(found) < count:
            found["".join(draw.choices("abABz09-é", k=draw.choice([1, 2, 3, 4])))] = None
        return list(found)

    @staticmethod
    def scores(draw: random.Random, count: int) -> list[float]:
        kind = draw.choice(["levels", "one", "close", "different", "large"])
        if kind == "levels":  # long ties, also across every cutoff
            return [float(draw.randint(-2, 2)) for _ in range(count)]
        if kind == "one":
            return [0.25] * count
        if kind == "close":  # different as doubles, often equal in single precision
            return [draw.choice([1, 2]) + draw.randint(-9, 9) * 1e-8 for _ in range(count)]
        if kind == "large":  # whole numbers above 2^24 collide in single precision
            return [float(16_777_216 + draw.randint(0, 12)) for _ in range(count)]
        return [draw.gauss(0, 1) for _ in range(count)]

    def run(self) -> dict[str, dict[str, float]]:
        """Return the lists as trec_eval wants them; rank becomes a score."""
        found: dict[str, dict[str, float]] = {}
        for user, item, score, *rank in self.recommendations:
            found.setdefault(user, {})[str(item)] = -float(rank[0]) if rank else score
        return found

    def qrels(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for user, item, grade in self.interactions:
            assert grade is not None
            found.setdefault(user, {})[str(item)] = int(grade)
        return found


WORLDS = {
    f"{'integer' if integer_ids else 'text'} ids by {by}, seed {seed}": (seed, integer_ids, by)
    for seed in (1, 2)
    for integer_ids in (False, True)
    for by in ("score", "rank")
}


@pytest.fixture(scope="module", params=WORLDS.values(), ids=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return World(*request.param)


def first(k: int, scores: Mapping[str, float]) -> dict[str, float]:
    """Cut a list in trec_eval's order: score in single precision, then id as text, descending."""
    best_first = sorted(
        scores, key=lambda item: (np.float32(scores[item]), item.encode()), reverse=True
    )
    return {item: scores[item] for item in best_first[:k]}


def trec_eval(world: World) -> Values:
    """Return what trec_eval says, for users on both sides."""
    at = ",".join(str(k) for k in CUTOFFS)
    measures = {f"{measure}.{at}" for measure in CUT_BY_TREC_EVAL.values()}
    measures |= set(OF_THE_LIST_GIVEN.values())
    evaluator = pytrec_eval.RelevanceEvaluator(world.qrels(), measures)
    lists = world.run()
    found: Values = {}
    whole = evaluator.evaluate(lists)
    for spec, measure in OF_THE_LIST_GIVEN.items():
        found[spec, None] = {user: values[measure] for user, values in whole.items()}
    for k in CUTOFFS:
        cut = evaluator.evaluate({user: first(k, scores) for user, scores in lists.items()})
        for spec, measure in OF_THE_LIST_GIVEN.items():
            if spec not in OF_WHOLE_LISTS_ALONE:
                found[spec, k] = {user: values[measure] for user, values in cut.items()}
        for spec, measure in CUT_BY_TREC_EVAL.items():
            own_cut = {user: values[f"{measure}_{k}"] for user, values in whole.items()}
            if (spec, k) in found:
                assert own_cut == pytest.approx(found[spec, k], rel=0, abs=1e-12)
            found[spec, k] = own_cut
    return found


def assert_agree(world: World, ours: Values, *, complete: bool = False) -> None:
    judged, listed = set(world.qrels()), set(world.run())
    assert judged - listed, "no user without a list"
    assert listed - judged, "no user without judgments"
    theirs = trec_eval(world)
    at_cutoffs = set(CUT_BY_TREC_EVAL) | set(OF_THE_LIST_GIVEN) - OF_WHOLE_LISTS_ALONE
    assert len(theirs) == len(OF_THE_LIST_GIVEN) + len(at_cutoffs) * len(CUTOFFS)
    for (spec, k), expected in theirs.items():
        assert set(expected) == judged & listed
        if complete:  # trec_eval -c: users with judgments and without a list are counted as 0
            expected = expected | dict.fromkeys(judged - listed, 0.0)
        assert ours[spec, k] == pytest.approx(expected, rel=0, abs=1e-9), f"{spec}, k = {k}"


def test_worlds_are_hard_enough() -> None:
    """Ties at the cutoffs, collisions in single precision, long lists, users without relevant."""
    world = World(1, False, "score")
    lists = world.run()
    tied_at_cut = collisions = 0
    for scores in lists.values():
        ordered = sorted(scores.values(), reverse=True)
        single = [np.float32(score) for score in ordered]
        tied_at_cut += sum(len(single) > k and single[k - 1] == single[k] for k in CUTOFFS)
        collisions += len(set(ordered)) - len(set(single))
    assert tied_at_cut > 50
    assert collisions > 50
    assert sum(len(scores) > 100 for scores in lists.values()) > 10
    assert sum(max(grades.values()) < 1 for grades in world.qrels().values()) > 5
    ids = {item for scores in lists.values() for item in scores}
    assert len({item.lower() for item in ids}) < len(ids)


def test_everything_that_the_convention_covers_is_compared() -> None:
    known = Convention.load("trec_eval").covers
    assert known is not None
    covers = {name: spec for name, spec in known.items() if name not in AGGREGATES}
    compared = [CUT_BY_TREC_EVAL, OF_THE_LIST_GIVEN, COUNTS_AND_POOLS]
    assert set(covers) == {measure for of_kind in compared for measure in of_kind.values()}
    assert {spec.partition("(")[0] for spec in (*SPECS, *COUNTS_AND_POOLS)} == {
        metric_of(spec) for spec in covers.values()
    }


def metric_of(spec: str) -> str:
    metric, _ = Catalog.load().metric(parse_spec(spec).metric)
    return metric.name


@pytest.mark.parametrize("complete", [False, True])
def test_package_agrees_with_trec_eval(world: World, complete: bool) -> None:
    evaluator = Evaluator(
        recommendations=recommendation_frame(world.recommendations),
        interactions=interaction_frame(world.interactions),
        convention="trec_eval",
        settings={"no_recommendations": "zero"} if complete else {},
    )
    users_that_count = set(world.qrels()) if complete else {*world.qrels()} & {*world.run()}
    ours: Values = {}
    for ks in (None, CUTOFFS):
        users = evaluator.per_user(SPECS, k=ks, long=True)
        means = evaluator.evaluate(SPECS, k=ks)
        for spec in SPECS:
            for k in ks or [None]:
                ours[spec, k] = values_by_user(users, spec, k)
                (row,) = at_k(means[means["metric"] == spec], k).to_dict("records")
                values = ours[spec, k].values()
                assert row["value"] == pytest.approx(sum(values) / len(values), rel=0, abs=1e-12)
                assert row["n_users"] == len(users_that_count)
    assert_agree(world, ours, complete=complete)


def test_counts_and_judged_pools_agree_with_trec_eval(world: World) -> None:
    measures = {re.sub(r"_\d\.\d\d$", "", measure) for measure in COUNTS_AND_POOLS.values()}
    with Evaluator(
        recommendation_frame(world.recommendations),
        interaction_frame(world.interactions),
        convention="trec_eval",
    ) as evaluator:
        users = evaluator.per_user(list(COUNTS_AND_POOLS), k=CUTOFFS, long=True)
    judge = pytrec_eval.RelevanceEvaluator(world.qrels(), measures)
    for k in CUTOFFS:
        cut = judge.evaluate({user: first(k, scores) for user, scores in world.run().items()})
        for spec, measure in COUNTS_AND_POOLS.items():
            expected = {user: of_user[measure] for user, of_user in cut.items()}
            values = values_by_user(users, spec, k)
            assert values == pytest.approx(expected, rel=0, abs=1e-9), f"{spec}, k = {k}"


def test_judged_documents_only_agree_with_trec_eval(world: World) -> None:
    """trec_eval -J removes documents without a judgement, which those with a grade below 0 lack."""
    with Evaluator(
        recommendation_frame(world.recommendations),
        interaction_frame(world.interactions),
        convention="trec_eval",
        settings={"unjudged": "drop"},
    ) as evaluator:
        of_cuts = evaluator.per_user(list(CUT_BY_TREC_EVAL), k=CUTOFFS, long=True)
        whole = evaluator.per_user(["mrr", "bpref", "inf_ap", "r_precision"], long=True)
    asked = {f"{measure}.{','.join(map(str, CUTOFFS))}" for measure in CUT_BY_TREC_EVAL.values()}
    of_lists = {"mrr": "recip_rank", "bpref": "bpref", "inf_ap": "infAP", "r_precision": "Rprec"}
    judge = pytrec_eval.RelevanceEvaluator(
        world.qrels(), asked | set(of_lists.values()), judged_docs_only_flag=True
    )
    said = judge.evaluate(world.run())
    for spec, measure in of_lists.items():
        expected = {user: values[measure] for user, values in said.items()}
        found = values_by_user(whole, spec, None)
        assert {u: found.get(u, 0.0) for u in expected} == pytest.approx(expected, rel=0, abs=1e-9)
    for spec, measure in CUT_BY_TREC_EVAL.items():
        for k in CUTOFFS:
            expected = {user: values[f"{measure}_{k}"] for user, values in said.items()}
            found = values_by_user(of_cuts, spec, k)
            found = {user: found.get(user, 0.0) for user in expected}
            assert found == pytest.approx(expected, rel=0, abs=1e-9), f"{spec}, k = {k}"
