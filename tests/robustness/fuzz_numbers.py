"""Generated cases of every metric and setting: the package against the slow oracle.

    python -m tests.robustness.fuzz_numbers --cases 100000 --workers 2

A case is a world (up to 8 users, 12 items, lists of 0 to 12) with its metric calls, cutoffs and
settings. Metrics, parameters and settings come from the catalogue, so that a new one is drawn too;
what the oracle cannot say is in `NOT_DRAWN` and `unknown_to_the_oracle`, with the reason. Many
worlds share one evaluation: their users differ, a column of the users says which world they are
from, and slices by it give the values of each. Other worlds are evaluated alone, and may break the
rules of a table: what is refused must have a reason here, and what has a reason must be refused.

What disagrees is shrunk, and printed as a case for test_fuzz_numbers.py.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import statistics
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Self

import pyarrow as pa

import sqlmetrics as sm
from sqlmetrics.errors import SqlmetricsError, SqlmetricsWarning
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Param
from sqlmetrics.metrics.spec import parse_spec, value_text
from tests.support import oracle

TOLERANCE = 1e-9
Z = statistics.NormalDist().inv_cdf(0.975)
CATALOG = Catalog.load()

# what is worked out here, from the oracle's values of users, or only says what is refused
OF_THE_FUZZ = {"aggregate", "quantile", "rank_gaps"}
# parameters of which only some values are drawn, and why
NOT_DRAWN: dict[str, str] = {
    "sample_users": "fewer than all users are a random sample; the oracle knows everybody only",
    "runs": "more runs of everybody say nothing new",
    "history_weight": "the history has no timestamps and no weights; see test_history_weights.py",
    "history_patience": "likewise",
    "unlisted": "error refuses nearly all drawn lists; see test_incomplete_lists.py",
}
_SOME = {
    "sample_users": [None, 10**6], "runs": [1, 3], "seed": [1, 7], "missing_value": [0, 2.5],
    "history_weight": ["none"], "history_patience": [0.85],
}  # fmt: skip
_NUMBERS = [-1, 0, 0.1, 0.15, 0.3, 0.5, 0.9, 1, 2, 3, 4, 6.5]

# what compares the score with the truth
OF_SCORES = oracle.RATINGS | oracle.PROBABILITIES
# what compares judged items
OF_MATCHED = {"kendall_tau", "spearman_rho", "auc", "pr_auc", "bpref", "pairwise_accuracy"}
OF_MATCHED |= {"inf_ap", "ndpm", "pearson"}
OF_MATCHED |= OF_SCORES
OF_LABELS = {"lrap", "coverage_error", "ranking_loss"}
OF_RANKS = {"mean_rank", "percentile_rank", "accuracy", "mcc", "relevance_position"}
NEEDS_RELEVANCE = OF_MATCHED | {"err", "pfound", "pwa", "relevance_position"}
NEEDS_SCORE = OF_SCORES | {"doubly_robust"}
# which tables a metric reads beside the recommendations
WITHOUT_INTERACTIONS = {
    "surprisal", "popularity", "unexpectedness", "intra_list_diversity", "inter_list_diversity",
    "coverage", "ctr", "ips", "doubly_robust", "gini", "item_entropy", "n_recommended",
    "sufficient", "unrepeated", "user_coverage", "unseen", "tail_share", "tail_count",
    "category_coverage", "category_entropy", "calibration", "overlap", "rbo", "popularity_lift",
    "exposure_parity", "statistical_parity", "awrf", "ndkl", "bias_disparity",
    "pairwise_parity",
    "group_popularity_lift", "least_item_promoted", "attribute_shift",
}  # fmt: skip
OF_BASELINE = {"unexpectedness", "overlap", "rbo", "least_item_promoted"}
OF_CATEGORIES = {"category_coverage", "category_entropy", "calibration", "attribute_shift"}
# what reads all judged items alike
OF_JUDGED = {"judged", "hole"}
# of the metrics of a run, those that read the interactions
RUN_OF_JUDGED = {"auc", "pr_auc", "psp", "psndcg", "debiased"} | OF_SCORES

# what reads the history of everybody; the others at most that of a list's own user
OF_HISTORY = {
    "surprisal", "popularity", "coverage", "gini", "item_entropy", "fallout", "accuracy", "mcc",
    "mean_rank", "percentile_rank", "gauc", "auc", "epc", "efd", "tail_share", "tail_count",
    "popularity_lift", "group_popularity_lift", "serendipity", "intra_list_diversity",
    "awrf", "ndkl", "calibration", *oracle.OF_GROUPS, *oracle.WEIGHTED,
}  # fmt: skip

ITEM_IDS: list[list[Any]] = [
    ["a", "A", "aa", "b", "B", "Zz", "z", "10", "9", "é", "it's", 'a"b'],
    [1, 2, 3, 9, 10, 11, 20, 100, 101, -4, 2**53 + 1, 2**53],
]
SCORES = [1.0, 1.0, 2.0, 2.0, 1.0 + 1e-9, 0.0, -1.5, 0.3]
PROBABILITIES = [0.0, 0.1, 0.25, 0.25, 0.5, 0.75, 1.0]
GRADES = [1.0, 1.0, 2.0, 3.0, 0.5, 0.0, -1.0, 4.0]
MODELS = [[""], [""], [""], ["als", "pop"]]

Row = tuple[Any, ...]
Call = tuple[str, dict[str, Any]]


@dataclass
class Case:
    """One evaluation: tables, settings, calls and cutoffs, of one world or of many.

    Rows are as in the oracle. `models`: the lists of each model; one named "" where models have no
    names. `worlds`: which world a user is from. `form` says how several models are given.
    """

    calls: list[Call] = field(default_factory=list)
    cutoffs: list[int | None] = field(default_factory=lambda: [None])
    settings: dict[str, Any] = field(default_factory=dict)
    models: dict[str, list[Row]] = field(default_factory=dict)
    interactions: list[Row] = field(default_factory=list)
    history: list[Row] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)
    aspects: list[Row] = field(default_factory=list)
    baseline: list[Row] = field(default_factory=list)
    logs: list[Row] = field(default_factory=list)
    worlds: dict[Any, int] = field(default_factory=dict)
    form: str = "dict"

    def __str__(self) -> str:
        default = Case()
        said = [
            f"    {f.name}={getattr(self, f.name)!r},".replace("-inf", '-float("inf")')
            for f in fields(self)
            if getattr(self, f.name) != getattr(default, f.name)
        ]
        return "\n".join(["Case(", *said, ")"])

    @property
    def n_worlds(self) -> int:
        return len(set(self.worlds.values()))


@dataclass
class Disagreement:
    """A number of the package that is not that of the oracle."""

    world: int
    where: str
    found: Any
    expected: Any

    def __str__(self) -> str:
        return f"{self.where}: found {self.found!r}, the oracle says {self.expected!r}"


# ---------------------------------------------------------------- what is drawn


def values_of(param: Param) -> list[Any]:
    """List the values of a setting that are drawn."""
    if param.name in _SOME:
        return _SOME[param.name]
    if param.name == "unlisted":
        return [choice for choice in param.choices if choice != "error"]
    if param.choices:
        return list(param.choices)
    found: list[Any] = [None] if param.optional else []
    if param.unlimited:
        found.append(-math.inf)
    for number in _NUMBERS:
        try:
            found.append(param.parse(number, "fuzz"))
        except SqlmetricsError:
            continue
    return found


def draw_params(draw: random.Random, params: dict[str, Param], chance: float) -> dict[str, Any]:
    drawn: dict[str, Any] = {}
    for name, param in params.items():
        if draw.random() < chance:
            drawn[name] = draw.choice(values_of(param))
    for name, param in params.items():  # what means something only with another
        for other, choices in param.only_with.items():
            value = drawn.get(other, params[other].default if other in params else None)
            if name in drawn and value not in choices:
                del drawn[name]
    return drawn


def draw_call(draw: random.Random, own_settings: bool) -> Call:
    metric = CATALOG.metrics[draw.choice(list(CATALOG.metrics))]
    params = draw_params(draw, dict(metric.params), 0.6)
    if own_settings:
        names = draw.sample(list(CATALOG.stage_params), 3)
        more = draw_params(draw, {name: CATALOG.stage_params[name] for name in names}, 0.7)
        more.pop("quantile", None)
        if metric.grain == "run":
            more.pop("aggregate", None)
        params |= {name: value for name, value in more.items() if name not in metric.params}
    return metric.name, params


def of_call(case: Case, call: Call) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a call, and the settings that hold for it."""
    metric, given = call
    of_metric = CATALOG.metrics[metric].params
    params = {name: value for name, value in given.items() if name in of_metric}
    # a metric can declare a shared setting, whose default is then its own
    shared = {name: p.default for name, p in of_metric.items() if name in CATALOG.stage_params}
    own = {name: value for name, value in given.items() if name not in params or name in shared}
    return params, shared | case.settings | own


def setting(settings: dict[str, Any], name: str) -> Any:
    return settings.get(name, CATALOG.stage_params[name].default)


def has_rank(case: Case) -> bool:
    return any(len(row) == 4 for rows in case.models.values() for row in rows)


def order_of(case: Case, settings: dict[str, Any]) -> str:
    order = setting(settings, "order")
    if order == "auto":
        return "rank" if has_rank(case) else "score"
    return str(order)


# ---------------------------------------------------------------- what is refused, and unknown


def copies_without_meaning(metric: str, params: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Return the rules for copies of recommended, and of relevant, items that a metric rejects."""
    of_judged = metric == "fallout" and params.get("nonrelevant", "judged") == "judged"
    of_judged = of_judged or params.get("output") == "residual"
    if metric in ("gauc", "inf_ap") or params.get("scope") == "catalogue":
        return {"keep", "count_once", "join"}, {"bag", "bag_size"}
    if metric in OF_MATCHED | OF_LABELS or of_judged:
        return {"keep", "count_once", "join"}, {"bag"}
    if metric in ("map_ia", "compat", *oracle.WEIGHTED):
        return {"keep", "join"}, {"bag", "bag_size"}
    if metric in OF_RANKS | oracle.OF_ASPECTS | {"fallout"}:
        return {"keep", "join"}, {"bag"}
    if metric == "expected_exposure":
        return {"join"}, {"bag_size"}
    if metric in oracle.OF_GROUPS - WITHOUT_INTERACTIONS:
        return {"join"}, set()
    if metric in oracle.OF_MISSES:
        return {"cut_then_dedup"}, {"bag"}
    if metric in ("roc_auc", "err", "pfound", "cwl", "epc", "efd", "serendipity"):
        return set(), {"bag"}
    if metric == "least_item_promoted":
        return {"keep", "count_once", "join", "cut_then_dedup"}, set()
    if metric in ("inter_list_diversity", "overlap", "rbo"):
        return {"keep", "count_once", "join"}, set()
    graded = params.get("gain", "binary") != "binary" and params.get("ideal") != "all_k"
    if metric == "ndcg" and graded:  # the best list has gains of its own
        return {"join"}, set()
    return set(), set()


def impossible(case: Case, call: Call) -> str:
    """Say why a call is refused whatever the rows are; an empty text if it is not."""
    metric, given = call
    params, settings = of_call(case, call)
    listed, judged = copies_without_meaning(metric, params)
    threshold = setting(settings, "relevant_from")
    graded = has_relevance(case)
    if setting(settings, "duplicate_recommendations") in listed:
        return "copies in the list mean nothing for it"
    if setting(settings, "duplicate_interactions") in judged:
        return "copies of relevant rows mean nothing for it"
    if params.get("combined") == "sum" and setting(settings, "no_hits") == "zero":
        return "its value without a hit would be its best"
    if given.get("no_relevant") == "one" and metric not in oracle.BEST_WITHOUT_RELEVANT:
        return "1 is not its best value"
    gain = params.get("gain", "binary")
    if gain == "exponential_from" and (threshold is None or threshold < 0):
        return "exponential_from needs a threshold"
    reads_judged = metric == "fallout" and params.get("nonrelevant", "judged") == "judged"
    residual = params.get("output") == "residual"
    reads_judged = reads_judged or residual
    needs_relevance = metric in NEEDS_RELEVANCE and params.get("scope") != "catalogue"
    if (needs_relevance or reads_judged or gain != "binary") and not graded:
        return "no column relevance"
    if residual and params.get("normalise") == "ideal":
        return "a residual has no ideal"
    if residual and setting(settings, "unjudged") == "best":
        return "a residual is of unjudged items"
    if metric in NEEDS_SCORE and not has_score(case):
        return "no column score"
    if params.get("distance") == "jaccard" and params.get("over", "features") == "features":
        return "jaccard compares sets"
    if params.get("target") == "given" and params.get("groups") == "popularity":
        return "targets are of the groups of the table items"
    too_high = not graded and threshold is not None and threshold > 1
    if too_high and reads_relevant(metric, settings):
        return "a threshold above what rows without relevance are worth"
    for name, param in CATALOG.stage_params.items():
        for other, choices in param.only_with.items():
            if setting(settings, name) != param.default and setting(settings, other) not in choices:
                return f"{name} without its {other}"
    if why := unjudged_without_meaning(metric, settings):
        return why
    order = order_of(case, settings)
    if order == "rank" and not has_rank(case):
        return "no ranks"
    if order == "score" and not has_score(case):
        return "no scores"
    if order == "score" and residual and setting(settings, "ties") == "average":
        return "ties=average of a residual"
    return ties_without_meaning(metric, settings) if order == "score" else ""


def unjudged_without_meaning(metric: str, settings: dict[str, Any]) -> str:
    """Say why a choice of unjudged items is refused; an empty text if it is not."""
    unjudged = setting(settings, "unjudged")
    of_metric = CATALOG.metrics[metric]
    if unjudged == "nonrelevant":
        return ""
    of_run = of_metric.grain == "run" and metric != "debiased"
    if of_run or of_metric.audience != "relevant":
        return "unjudged items of what reads no relevant items"
    if unjudged == "best" and metric in oracle.ONLY_JUDGED:
        return "unjudged items of what reads only judged items"
    return ""


def ties_without_meaning(metric: str, settings: dict[str, Any]) -> str:
    """Say why a rule for ties is refused; an empty text if it is not."""
    ties = setting(settings, "ties")
    of_metric = CATALOG.metrics[metric]
    if ties == "average":
        if metric not in oracle.SUMS_OVER_HITS:
            return "ties=average of what is no sum over hits"
        if setting(settings, "duplicate_recommendations") in (
            "count_once",
            "join",
            "cut_then_dedup",
        ):
            return "ties=average of copies"
    if ties in ("worst", "best"):
        if of_metric.grain == "run" or of_metric.audience != "relevant":
            return "ties by relevance of what reads no relevant items"
        if setting(settings, "duplicate_interactions") == "bag":
            return "ties by relevance of several relevances"
    return ""


def reads_relevant(metric: str, settings: dict[str, Any]) -> bool:
    """Say whether relevant items make a difference to a metric."""
    if metric in oracle.RUN_METRICS - oracle.OF_GROUPS:
        return metric in RUN_OF_JUDGED
    audience = settings.get("audience", CATALOG.metrics[metric].audience)
    return (
        metric not in WITHOUT_INTERACTIONS | OF_JUDGED
        or audience in ("relevant", "both", "either", "judged")
        or setting(settings, "no_relevant") != "zero"
    )


def reads_interactions(metric: str, settings: dict[str, Any]) -> bool:
    audience = settings.get("audience", CATALOG.metrics[metric].audience)
    return (
        reads_relevant(metric, settings)
        or metric in OF_JUDGED
        or (audience == "judged" and metric not in oracle.RUN_METRICS - oracle.OF_GROUPS)
    )


def has_relevance(case: Case) -> bool:
    return any(row[2] is not None for row in case.interactions)


def has_score(case: Case) -> bool:
    return any(row[2] is not None for rows in case.models.values() for row in rows)


def highest_grade(case: Case, settings: dict[str, Any]) -> float:
    """Return the highest relevance of a relevant item, over all worlds."""
    return max(
        (grade for _, grade in oracle.graded_rows([r[1:] for r in case.interactions], settings)),
        default=0,
    )


def max_grade_is_too_low(
    case: Case, metric: str, params: dict[str, Any], settings: dict[str, Any]
) -> bool:
    highest = params.get("max_grade")
    if highest is None or (metric == "rbp" and params.get("gain", "binary") == "binary"):
        return False
    if params.get("output") == "residual" or params.get("gain") == "binary":
        return False
    return bool(highest < highest_grade(case, oracle_settings(settings)))


def unknown_to_the_oracle(case: Case, call: Call) -> str:
    """Say why the oracle has no number for a call; an empty text if it has."""
    metric, _ = call
    _, settings = of_call(case, call)
    listed = setting(settings, "duplicate_recommendations")
    copies = listed in ("keep", "count_once", "join")
    if metric == "doubly_robust" and copies and not one_score_per_item(case):
        return "it knows one score per item of a list"
    if metric == "debiased" and case.n_worlds > 1:
        return "it does not know the popularity of items in all worlds"
    return ""


def one_score_per_item(case: Case) -> bool:
    for rows in case.models.values():
        scores: dict[Any, Any] = {}
        for row in rows:
            if scores.setdefault(row[:2], row[2]) != row[2]:
                return False
    return True


def refused_without_common_item(case: Case, models: Mapping[str, Sequence[Any]]) -> bool:
    """Lists of few users can miss every item by chance, unless the ranges of ids are apart."""
    judged = {row[1] for row in case.interactions}
    listed = {row[1] for rows in models.values() for row in rows}
    if judged & listed:
        return False
    n_users = min(
        len({row[0] for row in case.interactions}),
        max(len({row[0] for row in rows}) for rows in models.values()),
    )
    apart = max(min(judged), min(listed)) > min(max(judged), max(listed))
    return n_users >= 10 or (n_users > 1 and apart)


def reasons(case: Case) -> list[str]:
    """List what is wrong with the rows of a case, for its calls: each of them is refused."""
    found: list[str] = []
    for call in case.calls:
        metric, _ = call
        params, settings = of_call(case, call)
        found += [why] if (why := impossible(case, call)) else []
        models = kept(case, settings, seen=False)
        lists = [row for rows in models.values() for row in rows]
        scores_count = order_of(case, settings) == "score" or metric in NEEDS_SCORE
        if scores_count and any(row[2] == -math.inf for row in lists):
            found.append("masked scores")
        if not lists or not all(models.values()):
            found.append("no recommendations")
            continue
        if setting(settings, "unjudged") == "drop" or setting(settings, "drop_seen") == "true":
            left = kept(case, settings, seen=True)
            found += [] if all(left.values()) else ["no recommendations"]
        repeated = any(len({row[:2] for row in rows}) < len(rows) for rows in models.values())
        if setting(settings, "duplicate_recommendations") == "error" and repeated:
            found.append("repeated recommendations")
        if order_of(case, settings) == "rank":
            for rows in models.values():
                for of_user in oracle.by_user(rows).values():
                    ranks = sorted(row[2] for row in of_user if len(row) == 3)
                    if len(set(ranks)) < len(ranks):
                        found.append("repeated ranks")
                    closed = setting(settings, "rank_gaps") == "close"
                    if not closed and ranks != list(range(1, len(ranks) + 1)):
                        found.append("gaps in ranks")
        if reads_interactions(metric, settings):
            if not case.interactions:
                found.append("no interactions")
                continue
            if not {row[0] for row in lists} & {row[0] for row in case.interactions}:
                found.append("no common user")
            if metric in oracle.OF_HITS | OF_MATCHED and refused_without_common_item(case, models):
                found.append("no common item")
            pairs = [row[:2] for row in case.interactions]
            rule = setting(settings, "duplicate_interactions")
            if rule == "error" and len(set(pairs)) < len(pairs):
                found.append("repeated interactions")
        of_baseline = oracle_settings(settings) | {"unjudged": "nonrelevant"}
        of_baseline |= {"order": "row" if setting(settings, "order") == "row" else "auto"}
        if metric in OF_BASELINE and not oracle.kept_rows(case.baseline, case.history, of_baseline):
            found.append("no baseline")
        if max_grade_is_too_low(case, metric, params, settings):
            found.append("a relevance above max_grade")
        found += missing(case, metric, params, settings)
        found += unusable_scores(metric, params, models, case.interactions)
    return found


def unusable_scores(
    metric: str,
    params: dict[str, Any],
    models: Mapping[str, Sequence[Row]],
    interactions: Sequence[Row],
) -> Iterator[str]:
    """List what a metric cannot compare with the truth."""
    of_probabilities = metric in oracle.PROBABILITIES and params.get("scores") != "logit"
    scores = [row[2] for rows in models.values() for row in rows]
    if of_probabilities and any(score is None or not 0 <= score <= 1 for score in scores):
        yield "scores that are not probabilities"
    if params.get("missing") == "error":
        for rows in models.values():
            listed = {row[:2] for row in rows}
            users = {user for user, _ in listed}
            if any(row[0] in users and row[:2] not in listed for row in interactions):
                yield "judged items without a prediction"


def kept(case: Case, settings: dict[str, Any], seen: bool) -> dict[str, list[Row]]:
    """Return what settings leave of the lists; `seen`: also without the items of the history."""
    settings = oracle_settings(settings)
    if not seen:
        settings |= {"drop_seen": "false", "unjudged": "nonrelevant"}
    return {
        name: oracle.kept_rows(rows, case.history, settings, case.interactions)
        for name, rows in case.models.items()
    }


def missing(
    case: Case, metric: str, params: dict[str, Any], settings: dict[str, Any]
) -> Iterator[str]:
    """List what a metric lacks in the tables of items."""
    if setting(settings, "missing_attributes") == "ignore":
        return
    known = oracle.attributes_of(case.items)
    listed = {row[1] for rows in kept(case, settings, seen=True).values() for row in rows}
    relevant = {
        (row[0], row[1])
        for row in case.interactions
        if oracle.graded_rows([row[1:]], oracle_settings(settings))
    }
    if setting(settings, "unjudged") == "best":
        models = kept(case, settings, seen=True).values()
        listed_rows = (row for rows in models for row in rows)
        users = {row[0] for row in case.interactions}
        pairs = oracle.with_unjudged(case.interactions, listed_rows, 1, users)
        relevant |= {row[:2] for row in pairs[len(case.interactions) :]}
    if metric == "money_precision" and not listed <= set(known.price):
        yield "recommended items without a price"
    if metric == "money_recall" and not {item for _, item in relevant} <= set(known.price):
        yield "relevant items without a price"
    over = params.get("over", "features")
    needs_vectors = metric == "intra_list_diversity" and over != "history"
    if needs_vectors and not listed <= set(known.vectors(over)):
        yield "recommended items without a vector"
    of_column = params.get("propensity") == "column"
    if of_column and not {item for _, item in relevant} <= set(known.propensity):
        yield "relevant items without a propensity"
    attribute = params.get("attribute", "category")
    of_items = {"category": known.categories, "group": known.groups}.get(attribute)
    if metric in OF_CATEGORIES and of_items is not None and not listed <= set(of_items):
        yield f"recommended items without a {attribute}"
    of_groups = metric in oracle.OF_GROUPS | {"awrf", "ndkl"}
    if of_groups and params.get("groups", oracle.DEFAULTS[metric]["groups"]) == "column":
        if not listed <= set(known.groups):
            yield "recommended items without a group"
        groups = {group for of_item in known.groups.values() for group in of_item}
        if params.get("target") == "given" and not groups <= set(known.targets):
            yield "groups without a target"
        of_relevant = metric not in WITHOUT_INTERACTIONS
        if of_relevant and not {item for _, item in relevant} <= set(known.groups):
            yield "relevant items without a group"
    if metric in oracle.OF_ASPECTS:
        there = {tuple(row[:-1]) for row in case.aspects}
        short = case.aspects and len(case.aspects[0]) == 2
        if not {(item,) if short else (user, item) for user, item in relevant} <= there:
            yield "relevant items without an aspect"


# ---------------------------------------------------------------- the oracle's side


def oracle_settings(settings: dict[str, Any]) -> dict[str, Any]:
    found = {n: v for n, v in settings.items() if n in oracle.STANDARD}
    return {**oracle.STANDARD, **found}


def weight_of(user: Any) -> float:
    """Return a user's weight in weighted means: almost 0, or up to 2 (0 for all is refused)."""
    return max(sum(str(user).encode()) % 5 / 2, 2**-20)


def weighted(values: list[float], weights: list[float]) -> tuple[float, float | None, float] | None:
    """Return the weighted mean, its standard deviation and standard error; None without weights."""
    total = math.fsum(weights)
    if not total:
        return None
    mean = math.fsum(w * v for v, w in zip(values, weights, strict=True)) / total
    n = len(values)
    if n < 2:
        return mean, None, math.nan
    correction = n / (n - 1)
    squares = [(w, (v - mean) ** 2) for v, w in zip(values, weights, strict=True)]
    std = math.sqrt(math.fsum(w * square for w, square in squares) / total * correction)
    error = math.sqrt(math.fsum(w * w * square for w, square in squares) * correction) / total
    return mean, std, error


def aggregated(values: list[float], settings: dict[str, Any]) -> float | None:
    """Put the values of users together as `aggregate` says."""
    how = setting(settings, "aggregate")
    n = len(values)
    if not n or (how == "half_width" and n < 2):
        return None
    values = sorted(values)
    share = Fraction(str(setting(settings, "quantile")))
    if how == "mean":
        return math.fsum(values) / n
    if how == "sum":
        return math.fsum(values)
    if how == "geometric_mean":
        return math.exp(math.fsum(math.log(max(value, 1e-5)) for value in values) / n)
    if how == "median":
        return statistics.median(values)
    if how == "median_low":
        return statistics.median_low(values)
    if how in ("min", "max"):
        return {"min": values[0], "max": values[-1]}[how]
    if how == "half_width":
        return Z * statistics.stdev(values) / math.sqrt(n)
    if how == "quantile_low":
        return values[max(math.ceil(share * n), 1) - 1]
    if how == "quantile":
        place = share * (n - 1)
        low = math.floor(place)
        high = min(low + 1, n - 1)
        return values[low] + float(place - low) * (values[high] - values[low])
    raise ValueError(how)


@dataclass
class Worlds:
    """The rows of a case, apart for each world, as the oracle reads them."""

    case: Case

    def __post_init__(self) -> None:
        judged = [row[2] for row in self.case.interactions if row[2] is not None]
        self.highest_judged = max(judged, default=None)
        case = self.case
        self.lists = {name: self._apart(rows) for name, rows in case.models.items()}
        self.interactions = self._apart(case.interactions)
        self.baseline = self._apart(case.baseline)
        self.history = self._apart(case.history)
        logs = case.logs
        if logs and len(logs[0]) == 3:  # the same for all worlds
            n_items = len({row[1] for row in logs})
            logs = [(*row, 1 / n_items) for row in logs]
        self.logs = self._apart(logs)
        self.highest: dict[str, float] = {}

    def _apart(self, rows: list[Row]) -> dict[int, list[Row]]:
        apart: dict[int, list[Row]] = {}
        for row in rows:
            apart.setdefault(self.case.worlds.get(row[0], -1), []).append(row)
        return apart

    def left(self, world: int, model: str, settings: dict[str, Any]) -> list[Row]:
        """Return the rows of lists of a world that settings do not take out."""
        rows = self.lists[model].get(world, [])
        judged = self.interactions.get(world, [])
        history = self.history.get(world, [])
        return oracle.kept_rows(rows, history, oracle_settings(settings), judged)

    def evaluate(
        self, world: int, model: str, call: Call, k: int | None, **more: Any
    ) -> tuple[float | None, dict[Any, float]]:
        case = self.case
        metric, _ = call
        params, settings = of_call(case, call)
        settings = {n: v for n, v in settings.items() if n in oracle.STANDARD}
        if not reads_interactions(metric, settings):
            settings["duplicate_interactions"] = "set"  # nobody looks at them
        params = params | more
        given = params.get("max_grade")
        if metric in ("err", "pfound", "rbp", "cwl") and given is None:
            key = repr(settings)
            if key not in self.highest:
                self.highest[key] = highest_grade(case, {**oracle.STANDARD, **settings})
            params["max_grade"] = self.highest[key]
        finite = [k for k in case.cutoffs if k is not None]
        judged = self.interactions.get(world, [])
        if params.get("scope") == "run":  # items that anybody judged
            judged = case.interactions
        value, values = oracle.evaluate(
            self.lists[model].get(world, []),
            judged,
            metric,
            k,
            params,
            settings,
            history=case.history if metric in OF_HISTORY else self.history.get(world, []),
            largest_k=max(finite) if len(finite) == len(case.cutoffs) else 10**9,
            items=case.items,
            aspects=case.aspects,
            baseline=self.baseline.get(world, []),
            logs=self.logs.get(world, []),
            unjudged_grade=self.highest_judged if given is None else given,
        )
        return value, {user: v for user, v in values.items() if case.worlds.get(user) == world}


# ---------------------------------------------------------------- the package's side


def type_of(values: list[Any]) -> pa.DataType:
    return pa.string() if any(isinstance(value, str) for value in values) else pa.int64()


def tables_of(case: Case) -> dict[str, Any]:
    """Return Arrow tables; the types of ids are those of the case, also where a table is empty."""
    everybody = [*case.worlds, *(row[0] for row in case.history + case.baseline + case.logs)]
    user = type_of(everybody)
    item = type_of(
        [
            *(row[1] for rows in case.models.values() for row in rows),
            *(row[1] for row in case.interactions + case.history),
        ]
    )

    def table(rows: list[Row], **types: pa.DataType) -> pa.Table:
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
        arrays = [pa.array(v, t) for v, t in zip(columns, types.values(), strict=False)]
        return pa.table(dict(zip(types, arrays, strict=False)))

    orders = [of_call(case, call)[1].get("order") for call in case.calls]

    def ranked(rows: list[Row]) -> pa.Table:
        pairs = table([row[:2] for row in rows], user_id=user, item_id=item)
        by_row = orders and all(order == "row" for order in orders)
        if any(len(row) == 4 for row in rows):
            pairs = pairs.append_column("rank", pa.array([row[3] for row in rows]))
        if any(row[2] is not None for row in rows) or not (rows or by_row):
            pairs = pairs.append_column("score", pa.array([row[2] for row in rows], pa.float64()))
        return pairs

    found: dict[str, Any] = {}
    if list(case.models) == [""]:
        found["recommendations"] = ranked(case.models[""])
    elif case.form == "dict":
        found["recommendations"] = {name: ranked(rows) for name, rows in case.models.items()}
    else:
        found["recommendations"] = pa.concat_tables(
            [
                ranked(rows).append_column("model", pa.array([name] * len(rows), pa.string()))
                for name, rows in case.models.items()
            ],
            promote_options="default",  # an empty model has no ranks
        )
    graded = has_relevance(case)
    found["interactions"] = table(
        [row[: 3 if graded else 2] for row in case.interactions],
        user_id=user,
        item_id=item,
        **({"relevance": pa.float64()} if graded else {}),
    )
    if case.history:
        found["history"] = table(case.history, user_id=user, item_id=item)
    if case.items:
        found["items"] = table(
            case.items,
            item_id=item,
            price=pa.float64(),
            category=pa.list_(pa.string()),
            features=pa.list_(pa.float64()),
            propensity=pa.float64(),
            item_group=pa.list_(pa.string()),
            group_target=pa.float64(),
        )
    if case.aspects:
        short = len(case.aspects[0]) == 2
        keys = {"item_id": item} if short else {"user_id": user, "item_id": item}
        found["aspects"] = table(case.aspects, **keys, aspect=pa.string())
    if case.baseline:
        found["baseline"] = ranked(case.baseline)
    if case.logs:
        numbers = dict.fromkeys(["reward", "propensity"][: len(case.logs[0]) - 2], pa.float64())
        found["logs"] = table(case.logs, user_id=user, item_id=item, **numbers)
    users = [(user_id, world, weight_of(user_id)) for user_id, world in case.worlds.items()]
    found["users"] = table(users, user_id=user, world=pa.int64(), weight=pa.float64())
    return found


def spec_of(call: Call, k: int | None = None) -> str:
    metric, params = call
    inside = ", ".join(f"{name}={value_text(value)}" for name, value in params.items())
    return metric + (f"({inside})" if inside else "") + (f"@{k}" if k is not None else "")


def plain(value: Any) -> float | None:
    """Return a number of a frame, None where it is missing; NaN is told apart."""
    return None if value is None or value is pd_na() else float(value)


def pd_na() -> Any:
    import pandas as pd

    return pd.NA


@dataclass
class Found:
    """The package's numbers: by (world, model, call, k), and by (user, model, call, k)."""

    means: dict[tuple[Any, ...], dict[str, float | None]]
    users: dict[tuple[Any, ...], float | None]


def run(case: Case) -> Found:
    """Evaluate a case with the package.

    Raises:
        SqlmetricsError: it is refused.
    """
    given = {name: value for name, value in case.settings.items() if value is not None}
    named = list(case.models) != [""]
    specs = [spec_of(call, k) for call in case.calls for k in case.cutoffs]
    of_users = [call for call in case.calls if call[0] not in oracle.RUN_METRICS]
    alone = case.n_worlds <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SqlmetricsWarning)
        with sm.Evaluator(**tables_of(case), settings=given, threads=1) as evaluator:
            settings = evaluator._session.definitions.first
            names = {}
            for number, call in enumerate(case.calls):
                request = settings.request(parse_spec(spec_of(call)), has_rank(case))
                names[number] = request.name
            means = evaluator.evaluate(specs, by=None if alone else "world").to_dict("list")
            users = None
            if of_users:
                users = evaluator.per_user([spec_of(c, k) for c in of_users for k in case.cutoffs])
    numbers: dict[str, list[int]] = {}
    for number, name in names.items():
        numbers.setdefault(name, []).append(number)
    (only,) = set(case.worlds.values()) if alone else [None]
    found = Found({}, {})
    for row, name in enumerate(means["metric"]):
        world = only if alone else int(means["world"][row])
        model = means["model"][row] if named else ""
        k = _cutoff(means["k"][row])
        for number in numbers[name]:
            key = (world, model, number, k)
            assert key not in found.means, f"two rows for {key}"
            found.means[key] = {
                column: _number(means[column][row])
                for column in ("value", "n_users", "std", "ci_low", "ci_high")
            }
    if users is not None:
        columns = users.to_dict("list")
        for name in set(names.values()) & set(columns):
            for row, value in enumerate(columns[name]):
                model = columns["model"][row] if named else ""
                user, k = columns["user_id"][row], _cutoff(columns["k"][row])
                for number in numbers[name]:
                    found.users[user, model, number, k] = _number(value)
    return found


def _cutoff(value: Any) -> int | None:
    return None if value is None or value is pd_na() or value != value else int(value)


def _number(value: Any) -> float | None:
    return None if value is None or value is pd_na() or value != value else float(value)


# ---------------------------------------------------------------- the comparison


def same(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    return abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))


def disagreements(case: Case) -> list[Disagreement]:
    """Compare every number of a case that is not refused."""
    return list(compared(case, run(case)))


def compared(case: Case, found: Found) -> Iterator[Disagreement]:
    worlds = Worlds(case)
    of_world: dict[int, list[Any]] = {}
    for user, world in case.worlds.items():
        of_world.setdefault(world, []).append(user)
    for number, call in enumerate(case.calls):
        metric, _ = call
        _, settings = of_call(case, call)
        of_run = metric in oracle.RUN_METRICS
        for model in case.models:
            for k in case.cutoffs:
                for world, users in of_world.items():
                    where = f"world {world}, model {model!r}, {spec_of(call, k)}"
                    value, values = worlds.evaluate(world, model, call, k)
                    row = found.means.get((world, model, number, k))
                    if of_run:
                        expected = {"value": value}
                        from_logs = metric in ("ctr", "ips", "doubly_robust")
                        if from_logs and "statistic" not in call[1] and value is not None:
                            error, _ = worlds.evaluate(
                                world, model, call, k, statistic="standard_error"
                            )
                            if error is not None:
                                expected["ci_low"] = value - Z * error
                                expected["ci_high"] = value + Z * error
                        if not worlds.left(world, model, settings):
                            # of nobody's lists there is a row only where another metric has one
                            if row is not None and not same(row["value"], value):
                                yield Disagreement(world, where, row["value"], value)
                            continue
                    else:
                        for user in users:
                            got = found.users.get((user, model, number, k))
                            if not same(got, values.get(user)):
                                yield Disagreement(
                                    world, f"{where}, user {user!r}", got, values.get(user)
                                )
                        weights = [weight_of(user) for user in values]
                        expected = of_users_expected(list(values.values()), weights, settings)
                        if not values and row is None:
                            continue
                    if row is None:
                        yield Disagreement(world, where, "no row", expected)
                        continue
                    for column, number_there in expected.items():
                        if not same(row[column], number_there):
                            yield Disagreement(
                                world, f"{where}, {column}", row[column], number_there
                            )


def of_users_expected(
    values: list[float], weights: list[float], settings: dict[str, Any]
) -> dict[str, float | None]:
    names = ("value", "n_users", "std", "ci_low", "ci_high")
    if setting(settings, "aggregate") == "weighted_mean":
        mean, std, error = weighted(values, weights) or (None, None, math.nan)
        ends: tuple[float | None, ...] = (None, None)
        if mean is not None and std is not None:
            ends = (mean - Z * error, mean + Z * error)
        return dict(zip(names, (mean, float(len(values)), std, *ends), strict=True))
    value = aggregated(values, settings)
    std = statistics.stdev(values) if len(values) > 1 else None
    expected: dict[str, float | None] = {
        "value": value,
        "n_users": float(len(values)),
        "std": std,
        "ci_low": None,
        "ci_high": None,
    }
    if std is not None and value is not None and setting(settings, "aggregate") == "mean":
        error = Z * std / math.sqrt(len(values))
        expected |= {"ci_low": value - error, "ci_high": value + error}
    return expected


# ---------------------------------------------------------------- worlds


def make_case(
    draw: random.Random,
    n_worlds: int,
    n_calls: int,
    unruly: bool = False,
    chance: float = 0.4,
    models: Sequence[list[str]] = MODELS,
) -> Case:
    """Draw an evaluation of so many worlds; `unruly` tables may break rules.

    `chance`: of a setting to be given. `models`: the names that one is chosen of.
    """
    case = Case()
    case.settings = draw_params(draw, dict(CATALOG.stage_params), chance)
    by = draw.choice(["score", "score", "both", "rank", "row"])
    if by == "row":
        case.settings["order"] = "row"
    elif case.settings.get("order") == "row" or (
        by != "both" and case.settings.get("order") not in (None, "auto", by)
    ):
        case.settings["order"] = draw.choice(["auto", by if by != "both" else "score"])
    finite = draw.choice([[1], [3], [1, 2, 3, 5], [2, 12], [5, 4], [7], [10, 20], []])
    case.cutoffs = [*finite, *([None] if not finite or draw.random() < 0.2 else [])]
    graded = draw.random() < 0.8
    one_score = draw.random() < 0.5
    scores = draw.choice([SCORES, SCORES, PROBABILITIES])
    names = draw.choice(models)
    case.form = draw.choice(["dict", "column"])
    items = draw.choice(ITEM_IDS)
    texts = draw.random() < 0.5
    own = draw.random() < 0.4
    case.calls = [draw_call(draw, own and draw.random() < 0.5) for _ in range(n_calls)]
    if by in ("rank", "row", "score"):
        for _, params in case.calls:
            if params.get("order") not in (None, "auto", by):
                del params["order"]
            if by == "row":
                params.pop("order", None)
    elif any(params.get("order") == "row" for _, params in case.calls):
        for _, params in case.calls:
            params.pop("order", None)

    def rules(name: str) -> list[Any]:
        return [setting(of_call(case, call)[1], name) for call in case.calls]

    def allowed(name: str) -> bool:
        return (unruly and draw.random() < 0.1) or "error" not in rules(name)

    copies_listed = allowed("duplicate_recommendations")
    copies_judged = allowed("duplicate_interactions")
    gaps = allowed("rank_gaps")
    lacking = "error" not in rules("missing_attributes") or (unruly and draw.random() < 0.2)
    by_score = by in ("score", "both") and all(
        of_call(case, call)[1].get("order", "auto") in ("score", *(["auto"] * (by == "score")))
        for call in case.calls
    )
    masked = "error" not in rules("masked_scores") and (
        by_score or (unruly and draw.random() < 0.1)
    )

    def pick(least: int, most: int, repeated: bool) -> list[Any]:
        size = min(draw.choice([draw.randint(least, most), draw.randint(least, 5)]), len(items))
        size = max(size, least)
        return draw.choices(items, k=size) if repeated else draw.sample(items, size)

    def score(of_first: bool = False) -> float:
        if masked and not of_first and draw.random() < 0.15:
            return -math.inf
        return draw.choice(scores)

    def ranked(user: Any, chosen: list[Any], how: str) -> list[Row]:
        ranks = list(range(1, len(chosen) + 1))
        if gaps:
            ranks = sorted(draw.sample(range(-2, 30), len(chosen)))
        scores: dict[Any, float] = {}
        rows: list[Row] = []
        for item, rank in zip(chosen, ranks, strict=True):
            # something is left of the first user's list, and so of the table
            drawn = score(user == next(iter(case.worlds)))
            of_item = scores.setdefault(item, drawn) if one_score else drawn
            rows.append(
                {
                    "rank": (user, item, None, rank),
                    "both": (user, item, of_item, rank),
                    "row": (user, item, None),
                }.get(how, (user, item, of_item))
            )
        return rows

    case.models = {name: [] for name in names}
    for world in range(n_worlds):
        for place in range(draw.randint(1, 8)):
            number = len(case.worlds)
            user = f"u{number}" if texts else number * 3 - 7
            case.worlds[user] = world
            # The first user is on both sides: tables without a common user are refused.
            first = number == 0 and not (unruly and draw.random() < 0.2)
            least = 1 if first and place == 0 else 0
            for name in names:
                case.models[name] += ranked(user, pick(least, 12, copies_listed), by)
            for item in pick(least, 8, copies_judged):
                grade = draw.choice(GRADES) if graded else None
                case.interactions.append((user, item, grade))
            if draw.random() < 0.6 and not first:
                # the oracle reads all of it for every world
                seen_is_read = "true" in rules("drop_seen")
                if n_worlds <= 10 or seen_is_read or draw.random() < 0.05:
                    seen = [i for i in pick(0, 4, True) if i not in items[-2:]]
                    case.history += [(user, item) for item in seen]
            how = "row" if by == "row" else "rank" if by == "rank" else "score"
            case.baseline += ranked(user, pick(least, 12, False), how)
            for item in pick(least, 6, False):
                reward = draw.choice([0.0, 0.0, 1.0, 1.0, 0.7, 2.5, -1.0])
                case.logs.append((user, item, reward, draw.choice([1.0, 0.5, 0.3, 0.01])))
    if draw.random() < 0.3:
        case.logs = [row[:3] for row in case.logs]
    stranger = "nobody" if texts else -1
    if not case.logs:
        case.logs = [(stranger, items[0], 1.0, 0.5)]
    if not case.baseline:
        case.baseline = ranked(stranger, items[:1], "score" if by == "both" else by)
    case.history += [(stranger, items[0]), (stranger, items[3])]

    def maybe(value: Any) -> Any:
        return None if lacking and draw.random() < 0.25 else value

    case.items = [(items[0], 1.5, ["x"], [1.0, 0.0, 2.0], 0.5, ["g"])]
    for item in items[1:]:
        price = draw.choice([0.0, 0.0, 1.0, 2.5, 10.0])
        categories = draw.choices("xyz", k=draw.randint(1, 3))
        vector = [draw.choice([0.0, 0.0, 1.0, 2.0, 0.5, -1.0]) for _ in range(3)]
        if not (lacking and draw.random() < 0.15):
            propensity = maybe(draw.choice([1.0, 0.5, 0.3, 0.01]))
            groups = maybe(draw.choices("ghi", k=draw.choice([1, 1, 2])))
            of_item = (maybe(price), maybe(categories), maybe(vector), propensity, groups)
            case.items.append((item, *of_item))
    parts = {"g": 3, "h": 1, "i": 0}  # of items with one group; those with two give no target
    single = [set(row[5]) if row[5] and len(set(row[5])) == 1 else set() for row in case.items]
    whole = sum(parts[group] for group in set().union(*single))
    case.items = [
        (*row, next((parts[group] / whole for group in of_item), None))
        for row, of_item in zip(case.items, single, strict=True)
    ]
    per_user = n_worlds <= 10 and draw.random() < 0.5
    owners: list[Row] = [(user,) for user in case.worlds] if per_user else [()]
    for owner in owners:
        for item in items:
            found = draw.choices("pqrs", k=draw.randint(1, 3))
            case.aspects += [(*owner, item, aspect) for aspect in dict.fromkeys(maybe(found) or [])]
    case.aspects = case.aspects or [(*owners[0], items[0], "p")]
    if case.form == "column":  # a model without rows is in no column
        case.models = {name: rows for name, rows in case.models.items() if rows} or case.models
    return case


def rowwise(case: Case, draw: random.Random) -> Case:
    """Put the rows of the tables in any order; of lists that rows order, users only."""
    for rows in (case.interactions, case.history, case.items, case.aspects, case.logs):
        draw.shuffle(rows)
    return case


def comparable(case: Case, tally: Counter[str]) -> Case:
    """Leave out calls that are refused, or that the oracle cannot answer."""
    kept = []
    for call in case.calls:
        params, settings = of_call(case, call)
        if impossible(case, call):
            tally["calls left out: refused"] += 1
        elif why := unknown_to_the_oracle(case, call):
            tally[f"calls left out: {call[0]}: {why}"] += 1
        else:
            if max_grade_is_too_low(case, call[0], params, settings):
                call[1]["max_grade"] = 6.5
            for why in unusable_scores(call[0], params, case.models, case.interactions):
                if "probabilities" in why:
                    call[1]["scores"] = "logit"
                else:
                    call[1].pop("missing", None)
            kept.append(call)
    return replace(case, calls=kept)


# ---------------------------------------------------------------- shrinking


def only_world(case: Case, world: int) -> Case:
    users = {user for user, of in case.worlds.items() if of == world}
    strangers = {row[0] for row in case.history} - set(case.worlds)

    def of_users(rows: list[Row]) -> list[Row]:
        return [row for row in rows if row[0] in users]

    return replace(
        case,
        worlds=dict.fromkeys(users, world),
        models={name: of_users(rows) for name, rows in case.models.items()},
        interactions=of_users(case.interactions),
        history=[row for row in case.history if row[0] in users | strangers],
        baseline=of_users(case.baseline),
        logs=of_users(case.logs),
        aspects=[r for r in case.aspects if len(r) == 2 or r[0] in users],
    )


def shrunk(case: Case, fails: Callable[[Case], bool], seconds: float = 120) -> Case:
    """Remove what is not needed to fail: calls, cutoffs, settings, users, rows."""
    end = time.monotonic() + seconds

    def smaller(case: Case) -> Iterator[Case]:
        for name in ("calls", "cutoffs"):
            values = getattr(case, name)
            if len(values) > 1:
                for i in range(len(values)):
                    yield replace(case, **{name: [values[i]]})
                for i in range(len(values)):
                    yield replace(case, **{name: values[:i] + values[i + 1 :]})
        for name in case.settings:
            yield replace(case, settings={n: v for n, v in case.settings.items() if n != name})
        for i, (metric, params) in enumerate(case.calls):
            for name in params:
                call = (metric, {n: v for n, v in params.items() if n != name})
                yield replace(case, calls=[*case.calls[:i], call, *case.calls[i + 1 :]])
        if len(case.models) > 1:
            for name in case.models:
                yield replace(case, models={"": case.models[name]})
        worlds = set(case.worlds.values())
        if len(worlds) > 1:
            for world in worlds:
                users = {u for u, w in case.worlds.items() if w == world}
                yield _without(case, users)
        for user in case.worlds:
            if len(case.worlds) > 1:
                yield _without(case, {user})
        for name in ("logs", "baseline", "aspects", "items", "history", "interactions"):
            rows = getattr(case, name)
            if rows:
                yield replace(case, **{name: []})
            for i in range(len(rows)):
                yield replace(case, **{name: rows[:i] + rows[i + 1 :]})
        for name, rows in case.models.items():
            for i in range(len(rows)):
                yield replace(case, models=case.models | {name: rows[:i] + rows[i + 1 :]})

    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in smaller(case):
            if time.monotonic() > end:
                break
            if fails(candidate):
                case, progress = candidate, True
                break
    return case


def _without(case: Case, users: set[Any]) -> Case:
    def kept(rows: list[Row]) -> list[Row]:
        return [row for row in rows if row[0] not in users]

    return replace(
        case,
        worlds={u: w for u, w in case.worlds.items() if u not in users},
        models={name: kept(rows) for name, rows in case.models.items()},
        interactions=kept(case.interactions),
        history=kept(case.history),
        baseline=kept(case.baseline),
        logs=kept(case.logs),
        aspects=[r for r in case.aspects if len(r) == 2 or r[0] not in users],
    )


def disagrees(case: Case) -> bool:
    try:
        return bool(case.calls) and bool(disagreements(case))
    except Exception:
        return False


def breaks(case: Case) -> bool:
    """Say whether the package fails with something that is not its own error."""
    try:
        run(case)
    except SqlmetricsError:
        return False
    except Exception:
        return True
    return False


def wrongly_refused(case: Case) -> bool:
    try:
        run(case)
    except SqlmetricsError:
        return not reasons(case)
    except Exception:
        return False
    return bool(reasons(case))


# ---------------------------------------------------------------- the run


class Sums:
    """A dataclass of numbers, lists and counters that can be added up."""

    def add(self, other: Self) -> None:
        for one in fields(self):
            if isinstance(getattr(self, one.name), Counter):
                getattr(self, one.name).update(getattr(other, one.name))
            else:
                setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass
class Figures(Sums):
    """What a run came to."""

    cases: int = 0
    evaluations: int = 0
    alone: int = 0
    refused: int = 0
    numbers: int = 0
    seconds: float = 0.0
    tally: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.cases:,} cases in {self.evaluations:,} evaluations "
            f"({self.alone:,} of them of one world alone, {self.refused:,} of these refused), "
            f"{self.numbers:,} numbers compared, {len(self.problems)} problems, "
            f"{self.seconds:,.0f} s of work",
        ]
        lines += [f"  {name}: {count:,}" for name, count in sorted(self.tally.items())]
        rare = sorted(self.drawn.items(), key=lambda pair: pair[1])[:5]
        lines.append(f"  {len(self.drawn)} values of settings and parameters; rarest: {rare}")
        return "\n".join(lines)


def count_drawn(case: Case, figures: Figures) -> None:
    for call in case.calls:
        figures.drawn[call[0]] += case.n_worlds
        params, settings = of_call(case, call)
        for name, value in params.items():
            figures.drawn[f"{call[0]}.{name}={value_text(value)}"] += case.n_worlds
        for name, value in settings.items():
            figures.drawn[f"{name}={value_text(value)}"] += case.n_worlds


def batch(seed: int, n_worlds: int, n_calls: int = 6) -> Figures:
    """Evaluate many worlds at once, and compare."""
    start = time.monotonic()
    figures = Figures()
    draw = random.Random(f"batch {seed}")
    case = rowwise(comparable(make_case(draw, n_worlds, n_calls), figures.tally), draw)
    if not case.calls:
        return figures
    try:
        found = run(case)
        problems = list(compared(case, found))
    except Exception:
        where = traceback.format_exc(limit=-4)
        wrong = reasons(case)
        small = case if wrong else shrunk(case, breaks, 15)
        figures.problems.append(
            f"seed {seed} (batch of {n_worlds}): {where}\nreasons: {wrong}\n"
            + (str(small) if len(str(small)) < 5000 else "")
        )
        return figures
    figures.cases += case.n_worlds
    figures.evaluations += 1
    figures.numbers += len(found.means) + len(found.users)
    count_drawn(case, figures)
    if problems:
        first = problems[0]
        small = only_world(case, first.world)
        small = shrunk(small if disagrees(small) else case, disagrees, 20)
        figures.problems.append(
            f"seed {seed} (batch of {n_worlds}): {len(problems)} disagreements, first: {first}\n"
            + (str(small) if len(str(small)) < 5000 else "(not reproduced in one world)")
        )
    figures.seconds += time.monotonic() - start
    return figures


def one_alone(seed: int) -> Figures:
    """Evaluate one world, whose tables may break rules."""
    start = time.monotonic()
    figures = Figures()
    draw = random.Random(f"alone {seed}")
    case = make_case(draw, 1, draw.randint(1, 3), unruly=True)
    if draw.random() < 0.05:
        case.interactions = []
    if draw.random() < 0.05:
        case.models = {name: [] for name in case.models}
    case = rowwise(case, draw)
    case.calls = [call for call in case.calls if not unknown_to_the_oracle(case, call)]
    if not case.calls:
        return figures
    figures.cases += 1
    figures.alone += 1
    figures.evaluations += 1
    why = reasons(case)
    try:
        found = run(case)
    except SqlmetricsError as error:
        figures.refused += 1
        figures.tally[f"refused: {why[0] if why else 'for no reason'}"] += 1
        if not why:
            small = shrunk(case, wrongly_refused, 30)
            figures.problems.append(
                f"seed {seed} alone: refused without a reason: {error}\n{small}"
            )
    except Exception:
        where = traceback.format_exc(limit=-4)
        figures.problems.append(f"seed {seed} alone: {where}\n{shrunk(case, breaks, 30)}")
    else:
        count_drawn(case, figures)
        figures.numbers += len(found.means) + len(found.users)
        if why:
            small = shrunk(case, wrongly_refused, 30)
            figures.problems.append(f"seed {seed} alone: not refused, though {why}\n{small}")
        elif problems := list(compared(case, found)):
            small = shrunk(case, disagrees, 30)
            figures.problems.append(f"seed {seed} alone: {problems[0]}\n{small}")
    figures.seconds += time.monotonic() - start
    return figures


def _job(job: tuple[str, int, int]) -> Figures:
    kind, seed, size = job
    return batch(seed, size) if kind == "batch" else one_alone(seed)


def fuzz(
    cases: int, seed: int, workers: int, minutes: float, size: int, share_alone: float
) -> Figures:
    """Run until there are so many cases, or the time is over."""
    n_alone = int(cases * share_alone)
    # a batch whose calls are all left out counts nothing: there are more than are needed
    n_batches = math.ceil((cases - n_alone) / size * 2)
    jobs = [("batch", seed * 10**6 + n, size) for n in range(n_batches)]
    step = max(2 * n_alone // max(n_batches, 1), 1)
    mixed: list[tuple[str, int, int]] = []
    for number, job in enumerate(jobs):
        mixed.append(job)
        mixed += [("alone", seed * 10**6 + number * step + i, 1) for i in range(step)]
    figures = Figures()
    end = time.monotonic() + minutes * 60
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for done, one in enumerate(pool.imap_unordered(_job, mixed), start=1):
            figures.add(one)
            for problem in one.problems:
                print(problem, flush=True)
            if done % 200 == 0:
                print(f"… {figures.cases:,} cases, {len(figures.problems)} problems", flush=True)
            if figures.cases >= cases or time.monotonic() > end:
                pool.terminate()
                break
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--worlds", type=int, default=250, help="in one evaluation")
    parser.add_argument("--alone", type=float, default=0.03, help="share of the cases")
    options = parser.parse_args()
    start = time.monotonic()
    figures = fuzz(
        options.cases, options.seed, options.workers, options.minutes, options.worlds, options.alone
    )
    print(figures)
    print(f"seed {options.seed}, {time.monotonic() - start:,.0f} s on {options.workers} workers")
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main())
