"""Random tables, metrics and settings: the package against the slow oracle.

The same builder makes small tables, which hypothesis searches and shrinks, and large ones, which
put many small worlds (the users) into one evaluation. All of it is deterministic. One builder makes
lists and interactions, for the accuracy metrics; the other makes every table, for all the others.
"""

import itertools
import math
import random
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlmetrics as sm
from tests.support import oracle
from tests.support.calls import (
    at_k,
    column,
    name_among,
    no_propensities_expected,
    spec,
    values_by_user,
)
from tests.support.notation import (
    Aspect,
    Decision,
    Interaction,
    Item,
    Recommendation,
    further_frames,
    interaction_frame,
    recommendation_frame,
)

# thresholds are drawn also for truths without a relevance, where they change nothing
pytestmark = pytest.mark.filterwarnings("ignore:.*there is no column relevance")

SEARCH = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
LONG_SEARCH = settings(SEARCH, max_examples=15)

Call = tuple[str, dict[str, Any]]

CHOICES: dict[str, dict[str, list[Any]]] = {
    "hit_rate": {},
    "precision": {"divisor": ["k", "length", "min_k_relevant", "min_relevant_length"]},
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
    "ncrr": {"ideal": ["min_k_relevant", "min_relevant_length"]},
    "interpolated_precision": {
        "recall": [0.5, 0, 0.7, 1],
        "reached": ["exact", "trec_eval_9", "trec_eval_10"],
    },
    "eleven_point": {"reached": ["exact", "trec_eval_9", "trec_eval_10"]},
    "set_map": {},
    "pwa": {},
    "recall_at_precision": {"precision": [0.5, 0, 0.7, 1]},
    "n_hits": {},
    "n_recommended": {},
    "n_relevant": {},
    "judged": {"divisor": ["length", "k"], "scope": ["user", "run"]},
    "hole": {"divisor": ["length", "k"], "scope": ["user", "run"]},
    "rbp": {"p": [0.8, 0, 1], "gain": ["binary", "linear"], "normalise": ["none", "ideal"]},
}

# None: left out of the call. A sample of users is another matter, see test_sampled_users.py.
STATISTICS = ["estimate", "standard_error", "support", "effective_sample_size"]
STATISTICS_OF_GROUPS = [
    "min_max_ratio",
    "max_min_ratio",
    "max_min_difference",
    "mean_abs_deviation",
    "variance",
    "std_over_mean",
]
FURTHER_CHOICES: dict[str, dict[str, list[Any]]] = {
    "pairwise_accuracy": {"among": ["judged", "list"], "pairs": ["graded", "binary"]},
    "ndpm": {"among": ["judged", "list"], "pairs": ["graded", "binary"]},
    "pearson": {},
    "inf_ap": {},
    "relevance_position": {},
    "cwl": {
        "browsing": [
            "rbp",
            "precision",
            "sdcg",
            "rr",
            "ap",
            "insq",
            "inst",
            "nerr8",
            "nerr9",
            "nerr10",
            "nerr11",
            "bpm",
        ],
        "output": ["utility", "total", "depth"],
    },
    "gauc": {
        "unlisted": ["last", "random"],
        "others": ["exact", "plus_one"],
    },
    "mean_rank": {
        "unlisted": ["drop", "catalogue_mean"],
        "mean": ["arithmetic", "geometric"],
    },
    "first_rank": {},
    "percentile_rank": {"unlisted": ["drop", "catalogue_mean"]},
    "partial_auc": {},
    "pap": {},
    "lrap": {},
    "coverage_error": {},
    "ranking_loss": {},
    "accuracy": {"short_lists": ["full", "as_is"]},
    "mcc": {"short_lists": ["full", "as_is"]},
    "bpref": {
        "divisor": ["min_nonrelevant_relevant", "relevant"],
        "no_nonrelevant": ["one", "undefined"],
    },
    "fallout": {
        "nonrelevant": ["judged", "catalogue"],
        "no_nonrelevant": ["undefined", "zero", "one"],
    },
    "roc_auc": {},
    "err": {"max_grade": [None, 4, 6.5], "stop": ["exponential", "linear"]},
    "pfound": {
        "max_grade": [None, 5],
        "break_probability": [0.15, 0, 0.5],
        "stop": ["linear", "exponential"],
    },
    "kendall_tau": {"variant": ["b", "a"]},
    "spearman_rho": {},
    "auc": {},
    "ctr": {"statistic": STATISTICS},
    "ips": {
        "divisor": ["recommended", "weights"],
        "max_weight": [None, 3],
        "statistic": STATISTICS,
    },
    "doubly_robust": {"max_weight": [None, 3], "statistic": STATISTICS},
    "surprisal": {"scale": ["bits", "normalized"], "divisor": ["length", "k"]},
    "popularity": {"counted": ["users", "rows"], "scale": ["share", "count", "rank"]},
    "unseen": {"no_history": ["undefined", "one"]},
    "epc": {"relevance": ["hits", "none"], "discount": ["log2", "geometric", "none"]},
    "efd": {"relevance": ["hits", "none"], "discount": ["log2", "geometric", "none"]},
    "tail_share": {
        "head": [0.8, 0.5],
        "tail_by": ["pairs", "items", "at_most"],
        "counted": ["users", "rows"],
        "no_history": ["tail", "head"],
    },
    "tail_count": {"head": [0.8, 1], "tail_by": ["pairs", "items"], "tail": [0.1, 0.6]},
    "category_coverage": {"divisor": ["k", "length", "min_k_categories", "categories"]},
    "category_entropy": {
        "scale": ["bits", "normalised", "effective"],
        "rank_weight": ["none", "log2", "geometric"],
        "smoothing": [0, 0.25],
    },
    "calibration": {
        "divergence": ["kl", "js", "js_distance", "hellinger", "tv"],
        "js_smoothing": [0, 0.1],
        "attribute": ["category", "group", "popularity"],
        "rank_weight": ["none", "log2", "geometric"],
    },
    "unexpectedness": {"divisor": ["length", "k"], "no_baseline": ["one", "zero"]},
    "overlap": {
        "divisor": ["baseline", "length", "union", "k"],
        "baseline_k": [None, 2],
        "no_baseline": ["undefined", "zero"],
    },
    "rbo": {"p": [0.9, 0.5, 1], "normalise": ["depths", "none", "minimum", "extrapolated"]},
    "popularity_lift": {},
    "group_popularity_lift": {},
    "least_item_promoted": {},
    "compat": {"p": [0.95, 0.5, 1], "normalise": ["ideal", "depths"]},
    "attribute_shift": {
        "divergence": ["tv", "js"],
        "attribute": ["category", "group", "popularity"],
    },
    "serendipity": {
        "against": ["popularity", "history"],
        "over": ["history", "features", "category"],
        "combined": ["mean", "sum"],
        "counted": ["users", "rows"],
        "relevance": ["hits", "none"],
    },
    "alpha_ndcg": {
        "alpha": [0.5, 0, 1, 0.3],
        "normalise": ["ideal", "ideal_ideal", "none"],
        "ideal_ties": ["item_asc", "item_desc"],
    },
    "err_ia": {"alpha": [0.5, 0, 1, 0.3], "normalise": ["ideal_ideal", "ideal", "none"]},
    "subtopic_recall": {"divisor": ["relevant", "all"]},
    "p_ia": {},
    "map_ia": {},
    "nrbp": {"alpha": [0.5, 0, 1], "p": [0.5, 0.8], "normalise": ["ideal_ideal", "ideal"]},
    "ips_recall": {
        "propensity": ["share", "power", "jain", "column"],
        "divisor": ["weights", "relevant", "one"],
        "max_weight": [None, 3],
    },
    "ips_ndcg": {
        "propensity": ["share", "power", "jain", "column"],
        "divisor": ["ideal", "weights", "relevant", "one"],
    },
    "effective_relevant": {
        "propensity": ["share", "power", "jain", "column"],
        "max_weight": [None, 3],
    },
    "psp": {"a": [0.55, 1], "b": [1.5, 1]},
    "psndcg": {},
    "debiased": {"of": ["recall", "precision", "ndcg", "hit_rate"], "iqr_coef": [1.5, 0, 0.5]},
    "intra_list_diversity": {
        "over": ["features", "category", "history"],
        "distance": ["cosine", "jaccard", "hamming", "euclidean"],
        "single": ["undefined", "zero"],
    },
    "inter_list_diversity": {},
    "money_precision": {},
    "money_recall": {},
    "coverage": {"counted": ["known", "all"], "scale": ["share", "count"]},
    "gini": {
        "population": ["catalogue", "catalogue_plus_one", "recommended"],
        "divisor": ["n", "n_minus_1"],
        "weights": ["none", "geometric", "log2"],
    },
    "item_entropy": {
        "scale": ["bits", "nats", "nats_per_item", "normalised", "effective"],
        "by": ["rows", "lists"],
    },
    **{
        metric: {
            "statistic": STATISTICS_OF_GROUPS,
            "discount": ["log2", "geometric", "log2_max2", "none"],
            "groups": ["column", "popularity"],
        }
        for metric in ("exposure_parity", "exposure_utility", "gain_utility")
    },
    "bias_disparity": {
        "statistic": ["mean_abs", "max_abs", "max", "min"],
        "groups": ["column", "popularity"],
    },
    "pairwise_parity": {
        "statistic": STATISTICS_OF_GROUPS,
        "groups": ["column", "popularity"],
    },
    "iaa": {
        "discount": ["log2", "geometric", "log2_max2", "none"],
        "groups": ["items", "column", "popularity"],
    },
    "expected_exposure": {
        "part": ["loss", "disparity", "relevance"],
        "discount": ["rbp", "log2", "geometric", "log2_max2", "none"],
        "groups": ["column", "popularity", "items"],
    },
    "awrf": {
        "divergence": ["tv", "js", "kl"],
        "target": ["catalogue", "history", "equal", "given"],
        "discount": ["log2", "geometric", "log2_max2", "none"],
        "groups": ["column", "popularity"],
    },
    "ndkl": {
        "target": ["catalogue", "history", "equal", "given"],
        "groups": ["column", "popularity"],
    },
    "equal_opportunity": {
        "statistic": STATISTICS_OF_GROUPS,
        "seen_items": ["drop", "keep"],
        "groups": ["column", "popularity"],
    },
    "statistical_parity": {
        "statistic": STATISTICS_OF_GROUPS,
        "groups": ["column", "popularity"],
    },
    "user_coverage": {"at_least": [1, 3, None]},
    "sufficient": {"deep": ["false", "true"]},
    "unrepeated": {"deep": ["false", "true"]},
    "pr_auc": {},
    **{
        metric: {
            "average": ["rows", "users"],
            "rows": ["matched", "relevant"],
            "missing": ["ignore", "value"],
        }
        for metric in ("mae", "mse", "rmse")
    },
    "r2": {"missing": ["ignore", "value"]},
    "explained_variance": {"missing": ["ignore", "value"]},
    # scores are drawn that are no probabilities
    "log_loss": {"scores": ["logit"], "eps": [1e-15, 0.2]},
    "normalised_entropy": {"scores": ["logit"], "eps": [1e-15, 0.2]},
    "brier": {"scores": ["logit"]},
    "calibration_ratio": {"scores": ["logit"]},
    "ece": {
        "scores": ["logit"],
        "bins": ["equal_width", "equal_mass"],
        "n_bins": [10, 3],
        "norm": ["l1", "l2", "max"],
    },
}
OF_SCORES = oracle.RATINGS | oracle.PROBABILITIES
NEEDS_RELEVANCE = {
    "kendall_tau", "spearman_rho", "auc", "err", "pfound", "bpref", "fallout",
    "pairwise_accuracy", "pr_auc", "ndpm", "pearson", "inf_ap", "pwa", "relevance_position",
    *OF_SCORES,
}  # fmt: skip
NEEDS_SCORE = {"doubly_robust", *OF_SCORES}
# Where copies of a recommended item have no meaning; and the oracle knows one score per item.
NEEDS_UNIQUE = {
    "kendall_tau", "spearman_rho", "auc", "inter_list_diversity", "doubly_robust",
    "bpref", "fallout", "pairwise_accuracy", "lrap", "coverage_error", "ranking_loss",
    "pr_auc", "ndpm", "pearson", "inf_ap", "gauc", "overlap", "rbo", "least_item_promoted",
    *OF_SCORES,
}  # fmt: skip

# Where copies of a relevant item that are no hits have no meaning.
COUNTS_ROWS_ONCE = {"gauc", "map_ia", "inf_ap", "compat", "expected_exposure", *oracle.WEIGHTED}


def needs_no_relevance(metric: str, params: Mapping[str, Any]) -> bool:
    of_catalogue = params.get("scope") == "catalogue"
    needs = metric in NEEDS_RELEVANCE and not of_catalogue
    return not needs and params.get("gain", "binary") == "binary"


def calls_of(metric: str) -> list[Call]:
    """Return every call of a metric; parameters at their default are left out of the spelling."""
    names = (CHOICES | FURTHER_CHOICES)[metric]
    found = []
    for values in itertools.product(*names.values()):
        chosen = dict(zip(names, values, strict=True))
        if chosen.get("against") == "history" and chosen["counted"] != "users":
            continue  # refused: similarities have no counts of rows
        if chosen.get("against") == "popularity" and (chosen["over"], chosen["combined"]) != (
            "history",
            "mean",
        ):
            continue  # refused: popularity has no vectors
        if chosen.get("ideal_ties") == "item_desc" and chosen["normalise"] != "ideal":
            continue  # refused: it has no effect
        if chosen.get("tail_by", "pairs") != "pairs" and chosen["head"] != 0.8:
            continue  # refused: it has no effect
        if chosen.get("tail_by") == "pairs" and (
            chosen.get("counted") == "rows" or chosen.get("tail", 0.1) != 0.1
        ):
            continue  # likewise
        if chosen.get("js_smoothing") and not chosen["divergence"].startswith("js"):
            continue  # refused: it has no effect
        if chosen.get("distance") == "jaccard" and chosen["over"] == "features":
            continue  # refused: it compares sets
        if chosen.get("target") == "given" and chosen["groups"] == "popularity":
            continue  # refused: the table items gives targets of its own groups
        defaults = oracle.DEFAULTS[metric]
        found.append((metric, {n: v for n, v in chosen.items() if v != defaults[n]}))
    return found


def needs_threshold(call: Call) -> bool:
    return bool(call[1].get("gain") == "exponential_from")


def has_graded_gain(call: Call) -> bool:
    """Say whether the call asks for gains that only a column relevance can give."""
    return bool(call[1].get("gain", "binary") != "binary")


def has_graded_ideal(call: Call) -> bool:
    """Say whether the best list has gains of its own, which no copies in the list can add to."""
    metric, params = call
    return metric == "ndcg" and has_graded_gain(call) and params.get("ideal") != "all_k"


CALLS: list[Call] = [
    *(call for metric in CHOICES for call in calls_of(metric)),
    ("dcg", {"gain": "exponential_from"}),
    ("ndcg", {"gain": "exponential_from"}),
    ("ndcg", {"gain": "exponential_from", "ideal": "all_k"}),
    ("ndcg", {"gain": "exponential_from", "ideal": "min_relevant_length"}),
]
FURTHER_CALLS: list[Call] = [
    *(call for metric in FURTHER_CHOICES for call in calls_of(metric)),
    # what only conventions choose
    ("dcg", {"divisor": "k"}),
    ("dcg", {"gain": "linear", "discount": "course"}),
    ("dcg", {"discount": "course_text"}),
    ("ndcg", {"extra_divisor": "k"}),
    ("ndcg", {"discount": "course", "extra_divisor": "k", "ideal": "all_k"}),
    ("ndcg", {"gain": "exponential", "discount": "course_text"}),
    ("mar", {"divisor": "min_relevant_length"}),
    ("rbp", {"gain": "linear", "max_grade": 5}),
    ("auc", {"scope": "catalogue"}),
    ("auc", {"scope": "catalogue", "others": "plus_one"}),
    ("gauc", {"divisor": "min_relevant_length"}),
    ("cwl", {"p": 0.95, "gain": "binary"}),
    ("cwl", {"browsing": "inst", "target": 0.5, "max_grade": 5}),
    ("cwl", {"browsing": "bpm", "target": 2.5, "gain": "binary"}),
    ("rmse", {"missing": "value", "missing_value": 2.5}),
]

N_LARGE = 18
N_LARGE_FURTHER = 12  # every call is made in two of them
FIRST_FURTHER_SEED = 46  # likewise
FIRST_SEED = 9  # such that the large worlds draw every value of every setting

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
    history: list[tuple[Any, Any]] | None = None
    items: list[Item] | None = None
    aspects: list[Aspect] | None = None
    baseline: list[Recommendation] | None = None
    logs: list[Decision] | None = None

    def further(self) -> dict[str, Any]:
        names = ("history", "items", "aspects", "baseline", "logs")
        return {name: getattr(self, name) for name in names}


def make_world(draw: random.Random, n_users: int, calls: list[Call]) -> World:
    world = World(calls=calls)
    world.cutoffs = draw.choice([None, [1], [3], [1, 2, 3, 5], [2, 12], [5, 4]])
    world.settings = {
        "audience": draw.choice(["relevant", "recommended", "both", "either", "judged"]),
        "no_recommendations": draw.choice(["zero", "zero", "drop"]),
        "no_relevant": draw.choice(["zero", "zero", "drop", "one"]),
        "no_hits": draw.choice(["zero", "zero", "drop"]),
        "ties": draw.choice(["item_asc", "item_desc", "item_asc_text", "item_desc_text", "row"]),
        "score_type": draw.choice(["double", "float"]),
        "relevant_from": draw.choice(
            [0, 0.5, 1, 2]
            if any(map(needs_threshold, calls))
            else [None, None, -math.inf, 0, 0.5, 1, 2]
        ),
        "duplicate_recommendations": draw.choice(
            ["error", "keep", "count_once", "dedup_then_cut", "cut_then_dedup"]
            if any(map(has_graded_ideal, calls))
            else ["error", "keep", "count_once", "join", "join", "cut_then_dedup"]
        ),
        "duplicate_interactions": draw.choice(["error", "set", "bag", "bag_size"]),
    }
    by = draw.choice(["score", "score", "rank", "row"])
    world.settings["order"] = "row" if by == "row" else draw.choice(["auto", by])
    graded = draw.choice([True, True, False]) or any(map(has_graded_gain, calls))
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
    world.history = [(user, item) for user in users for item in pick(0, 3, repeated=True)]
    take_out(draw, world)
    share_an_item(world)
    if world.settings["drop_seen"] == "false":
        world.history = None
    return world


def take_out(draw: random.Random, world: World) -> None:
    """Draw which rows are taken out of the tables, and mask some; not all of them."""
    rows, history = world.recommendations, world.history or []
    by_score = all(len(row) == 3 for row in rows) and world.settings["order"] != "row"
    by_score = by_score or world.settings["order"] == "score"
    world.settings["masked_scores"] = draw.choice(["error", "drop"]) if by_score else "error"
    world.settings["drop_seen"] = draw.choice(["false", "true"])
    if world.settings["masked_scores"] == "drop":
        for place, (user, item, _, *rank) in enumerate(rows):
            if place and draw.random() < 0.2:
                rows[place] = (user, item, -math.inf, *rank)
    for lists in (rows, world.baseline or rows):
        if not history or not oracle.kept_rows(lists, history, oracle.STANDARD | world.settings):
            world.settings["drop_seen"] = "false"
    world.settings["judged_from"] = draw.choice([None, None, 0, 1])


def share_an_item(world: World) -> None:
    """Give tables without an item in common one: they are refused."""
    kept = oracle.kept_rows(
        world.recommendations, [], oracle.STANDARD | world.settings | {"drop_seen": "false"}
    )
    if not {row[1] for row in kept} & {row[1] for row in world.interactions}:
        user, _, grade = world.interactions[0]
        world.interactions.append((user, kept[0][1], grade))


def make_further_world(
    draw: random.Random, n_users: int, calls: list[Call], everything: bool
) -> World:
    """Make all tables; with `everything` such that all calls can be made, else some are left out.

    Rules of the accuracy metrics that have no meaning for most others (copies that are kept, or
    counted as often as they are there) are not drawn.
    """
    world = World()
    world.cutoffs = draw.choice([None, [1], [3], [1, 2, 3, 5], [2, 12], [5, 4]])
    by = draw.choice(["score", "both"] if everything else ["score", "both", "rank", "row"])
    order = {"row": ["row"], "both": ["auto", "rank", "score"]}.get(by, ["auto", by])
    if everything and by == "both":
        order = ["score"]  # scores tie, ranks do not
    world.settings = {
        "audience": draw.choice(
            [None, None, "relevant", "recommended", "both", "either", "judged", "baseline"]
        ),
        "no_recommendations": draw.choice(["zero", "zero", "drop"]),
        "no_relevant": draw.choice(["zero", "zero", "drop", "one"]),
        "no_hits": draw.choice(["zero", "zero", "drop"]),
        "order": draw.choice(order),
        "ties": draw.choice(["item_asc", "item_desc", "item_asc_text", "item_desc_text", "row"]),
        "score_type": draw.choice(["double", "float"]),
        "duplicate_recommendations": draw.choice(
            ["error", "dedup_then_cut", "cut_then_dedup", *([] if everything else ["count_once"])]
        ),
        "duplicate_interactions": draw.choice(
            ["error", "set", *([] if everything else ["bag_size"])]
        ),
        "missing_attributes": draw.choice(["error", "ignore", "ignore"]),
        "catalogue": draw.choice(["history", "items"]),
    }
    graded = everything or draw.choice([True, True, False])
    world.settings["relevant_from"] = draw.choice(
        [None, None, -math.inf, 0, 0.5, 1, 2] if graded else [None, -math.inf, 1]
    )
    world.calls = [
        (metric, params)
        for metric, params in calls
        if (graded or needs_no_relevance(metric, params))
        and (by in ("score", "both") or metric not in NEEDS_SCORE)
        and (
            world.settings["duplicate_recommendations"] != "cut_then_dedup"
            or metric not in oracle.OF_MISSES | {"least_item_promoted"}
        )
        and (
            world.settings["duplicate_recommendations"] != "count_once"
            or metric not in NEEDS_UNIQUE
        )
        and (params.get("combined") != "sum" or world.settings["no_hits"] == "drop")
        and (
            world.settings["duplicate_interactions"] != "bag_size"
            or (metric not in COUNTS_ROWS_ONCE and params.get("scope") != "catalogue")
        )
    ]
    items = draw.choice([TEXT_IDS, INTEGER_IDS])
    users = draw.choice([[f"u{n}" for n in range(n_users)], list(range(n_users))])
    stranger = "nobody" if isinstance(users[0], str) else -1

    def pick(at_least: int, at_most: int, repeated: bool = False) -> list[Any]:
        size = draw.randint(at_least, at_most)
        return draw.choices(items, k=size) if repeated else draw.sample(items, size)

    def score() -> float:
        return draw.choice([1.0, 1.0, 2.0, 2.0, 1.0 + 1e-9, 0.0, -1.5, 0.3])

    for user in users:
        least = 1 if user == users[0] else 0
        copies = world.settings["duplicate_recommendations"] != "error"
        for rank, item in enumerate(pick(least, 8, copies), start=1):
            world.recommendations.append(
                {
                    "rank": (user, item, None, rank),
                    "both": (user, item, score(), rank),
                }.get(by, (user, item, score()))
            )
        copies = world.settings["duplicate_interactions"] != "error"
        for item in pick(least, 7, copies):
            grade = draw.choice([1.0, 1.0, 2.0, 3.0, 0.5, 0.0, 0.0, -1.0, 4.0])
            if not world.interactions:
                grade = 2.0  # somebody has a relevant item that is worth something
            world.interactions.append((user, item, grade if graded else None))

    world.history = [(users[0], items[0]), (stranger, items[0])]
    for user in users:  # the last two items stay cold
        known = [item for item in pick(0, 4, repeated=True) if item not in items[-2:]]
        world.history += [(user, item) for item in known]

    missing = world.settings["missing_attributes"] == "ignore"

    def maybe(value: Any) -> Any:
        return None if missing and draw.random() < 0.25 else value

    world.items = [(items[0], 1.5, ["x"], [1.0, 0.0, 2.0], 0.5)]
    for item in items[1:]:
        price = draw.choice([0.0, 0.0, 1.0, 2.5, 10.0])
        categories = draw.choices("xyz", k=draw.randint(1, 3))
        features = [draw.choice([0.0, 0.0, 1.0, 2.0, 0.5, -1.0]) for _ in range(3)]
        if item == items[1]:
            features = [0.0, 0.0, 0.0]
        if not (missing and draw.random() < 0.15):
            propensity = maybe(draw.choice([1.0, 0.5, 0.3, 0.01]))
            rest = (maybe(categories), maybe(features), propensity)
            world.items.append((item, maybe(price), *rest))
    owners: list[tuple[Any, ...]] = draw.choice([[()], [(user,) for user in users]])
    world.aspects = [(*owners[0], items[0], "p")]
    for owner in owners:
        for item in items:
            for aspect in maybe(draw.choices("pqrs", k=draw.randint(1, 3))) or []:
                world.aspects.append((*owner, item, aspect))

    by_baseline = "row" if by == "row" else draw.choice(["score", "rank"])
    world.baseline = []
    for user in [users[0], stranger, *users[1:]]:
        for rank, item in enumerate(pick(1 if user == users[0] else 0, 8), start=1):
            row = (user, item, None, rank) if by_baseline == "rank" else (user, item, score())
            world.baseline.append(row)

    with_propensity = draw.choice([True, True, False])
    world.logs = []
    for user in [users[0], stranger, *users[1:]]:
        for item in pick(1 if user == users[0] else 0, 5):
            reward = draw.choice([0.0, 0.0, 1.0, 1.0, 0.7, 2.5, -1.0])
            propensity = draw.choice([1.0, 0.5, 0.25, 0.3, 0.7, 0.01])
            world.logs.append((user, item, reward, propensity)[: 4 if with_propensity else 3])

    for rows in (world.recommendations, world.interactions, *world.further().values()):
        draw.shuffle(rows)
    take_out(draw, world)
    share_an_item(world)
    groups = [["g"], *(maybe(draw.choice([["g"], ["h"], ["g", "h"]])) for _ in world.items[1:])]
    targets = {("g",): 0.75, ("h",): 0.25}  # of an item with one group
    if ["h"] not in groups:  # no item gives its target
        targets["g",] = 1.0
    world.items = [
        (*row, of_item, targets.get(tuple(of_item or [])))
        for row, of_item in zip(world.items, groups, strict=True)
    ]
    if ["h"] not in groups and not missing and ["g", "h"] in groups:
        world.calls = [call for call in world.calls if call[1].get("target") != "given"]
    return world


def assert_agrees(world: World) -> None:
    given_settings = {n: v for n, v in world.settings.items() if v is not None}
    order = given_settings["order"]
    evaluator = sm.Evaluator(
        recommendations=recommendation_frame(world.recommendations, order),
        interactions=interaction_frame(world.interactions),
        **further_frames(order, **world.further()),
        settings=given_settings,
    )
    specs = [spec(metric, params) for metric, params in world.calls]
    of_users = [call for call in world.calls if call[0] not in oracle.RUN_METRICS]
    with no_propensities_expected(world.logs):
        means = evaluator.evaluate(specs, k=world.cutoffs)
        if of_users:
            users = evaluator.per_user([spec(*call) for call in of_users], k=world.cutoffs)
    cutoffs = world.cutoffs or [None]
    assert len(means) == len(specs) * len(cutoffs)

    def from_oracle(metric: str, k: int | None, params: dict[str, Any]) -> Any:
        return oracle.evaluate(
            world.recommendations,
            world.interactions,
            metric,
            k,
            params,
            given_settings,
            largest_k=max(world.cutoffs) if world.cutoffs else None,
            **world.further(),
        )

    for metric, params in world.calls:
        name = name_among(means["metric"], metric, params)
        for k in cutoffs:
            mean, values = from_oracle(metric, k, params)
            where = f"{spec(metric, params, k)} with {world.settings}"
            (row,) = at_k(means[means["metric"] == name], k).to_dict("records")
            assert_same(row["value"], mean, where)
            if (metric, params) in of_users:
                found = values_by_user(users, column(users, metric, params), k)
                assert found == pytest.approx(values, rel=1e-9, abs=1e-9), where
                assert row["n_users"] == len(values), where
            elif metric in ("ctr", "ips", "doubly_robust") and "statistic" not in params:
                error, _ = from_oracle(metric, k, params | {"statistic": "standard_error"})
                low, high = None, None
                if error is not None:
                    low, high = mean - Z * error, mean + Z * error
                assert_same(row["ci_low"], low, where)
                assert_same(row["ci_high"], high, where)


Z = statistics.NormalDist().inv_cdf(0.975)


def assert_same(found: Any, expected: float | None, where: str) -> None:
    if expected is None:
        assert found is None or found != found, where
    else:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), where


def search_small_worlds(draw: random.Random) -> None:
    calls = draw.sample(CALLS, draw.randint(1, 6))
    assert_agrees(make_world(draw, n_users=draw.randint(1, 6), calls=calls))


@SEARCH
@given(draw=st.randoms(use_true_random=False))
def test_small_worlds(draw: random.Random) -> None:
    search_small_worlds(draw)


@pytest.mark.thorough
@LONG_SEARCH
@given(draw=st.randoms(use_true_random=False))
def test_more_small_worlds(draw: random.Random) -> None:
    search_small_worlds(draw)


def large_world(number: int, n_users: int) -> World:
    """Return one of the N_LARGE worlds; together they make every call, with every setting.

    All run with --exhaustive; the other runs have some of them.
    """
    calls = CALLS[number::N_LARGE]
    if number == 0:  # where copies in the list may count as relevant items
        calls = [call for call in calls if not has_graded_ideal(call)]
    elif number == 1:
        calls = calls + [call for call in CALLS[0::N_LARGE] if has_graded_ideal(call)]
    return make_world(random.Random(FIRST_SEED + number), n_users, calls)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, marks=[] if number % 2 else pytest.mark.thorough)
        for number in range(N_LARGE)
    ],
)
def test_many_users_at_once(number: int) -> None:
    assert_agrees(large_world(number, n_users=150))


def n_drawn(worlds: list[World]) -> dict[str, int]:
    """Count the values that the worlds have of each setting."""
    drawn: dict[str, set[Any]] = {}
    for world in worlds:
        for name, value in world.settings.items():
            drawn.setdefault(name, set()).add(value)
    return {name: len(values) for name, values in drawn.items()}


def test_every_setting_is_drawn() -> None:
    assert n_drawn([large_world(number, n_users=1) for number in range(N_LARGE)]) == {
        "audience": 5,
        "no_recommendations": 2,
        "no_relevant": 3,
        "no_hits": 2,
        "order": 4,
        "ties": 5,
        "score_type": 2,
        "masked_scores": 2,
        "drop_seen": 2,
        "relevant_from": 6,
        "judged_from": 3,
        "duplicate_recommendations": 6,
        "duplicate_interactions": 4,
    }


def search_small_worlds_with_all_tables(draw: random.Random) -> None:
    calls = draw.sample(FURTHER_CALLS, draw.randint(1, 6))
    world = make_further_world(
        draw, draw.randint(1, 6), calls, everything=draw.choice([True, False])
    )
    if world.calls:
        assert_agrees(world)


@SEARCH
@given(draw=st.randoms(use_true_random=False))
def test_small_worlds_with_all_tables(draw: random.Random) -> None:
    search_small_worlds_with_all_tables(draw)


@pytest.mark.thorough
@LONG_SEARCH
@given(draw=st.randoms(use_true_random=False))
def test_more_small_worlds_with_all_tables(draw: random.Random) -> None:
    search_small_worlds_with_all_tables(draw)


def large_further_world(number: int, n_users: int) -> World:
    """Return one of the N_LARGE_FURTHER worlds; the first half of them makes every call."""
    half = N_LARGE_FURTHER // 2
    calls = FURTHER_CALLS[number % half :: half]
    return make_further_world(
        random.Random(FIRST_FURTHER_SEED + number), n_users, calls, everything=number < half
    )


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(
            number,
            marks=pytest.mark.thorough if number == 0 else pytest.mark.exhaustive,
        )
        for number in range(N_LARGE_FURTHER)
    ],
)
def test_many_users_with_all_tables(number: int) -> None:
    assert_agrees(large_further_world(number, n_users=150))


def test_every_setting_is_drawn_with_all_tables() -> None:
    worlds = [large_further_world(number, n_users=1) for number in range(N_LARGE_FURTHER)]
    assert n_drawn(worlds) == {
        "audience": 7,
        "no_recommendations": 2,
        "no_relevant": 3,
        "no_hits": 2,
        "order": 4,
        "ties": 5,
        "score_type": 2,
        "masked_scores": 2,
        "drop_seen": 2,
        "relevant_from": 6,
        "judged_from": 3,
        "duplicate_recommendations": 4,
        "duplicate_interactions": 3,
        "missing_attributes": 2,
        "catalogue": 2,
    }
    assert {len(world.logs[0]) for world in worlds if world.logs} == {3, 4}
    assert {len(world.aspects[0]) for world in worlds if world.aspects} == {2, 3}
    assert {len(world.baseline[0]) for world in worlds if world.baseline} == {3, 4}
