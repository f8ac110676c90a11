"""Every metric, from its formula, in plain Python: slow, obvious, to be checked by eye.

Nothing here comes from the package and nothing of it is shared with the package: the standard
library only. `evaluate` is the way in; everything above it is one small step each.

    recommendations   rows (user, item, score) or (user, item, score, rank)
    interactions      rows (user, item, relevance); relevance None: no such column, the row counts 1
    history           rows (user, item)
    items             rows (item, price, categories, features, propensity, [groups, [target]]);
                      None: the item lacks it
    aspects           rows (item, aspect), or (user, item, aspect): aspects for that user only
    baseline          rows like recommendations
    logs              rows (user, item, reward) or (user, item, reward, propensity)
"""

import itertools
import math
import statistics
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

User = Any
Item = Any

STANDARD: dict[str, Any] = {
    "audience": "relevant",
    "no_recommendations": "zero",
    "no_relevant": "zero",
    "no_hits": "zero",
    "order": "auto",
    "ties": "item_asc",
    "score_type": "double",
    "masked_scores": "error",
    "drop_seen": "false",
    "unjudged": "nonrelevant",
    "judged_from": None,
    "duplicate_recommendations": "error",
    "duplicate_interactions": "error",
    "relevant_from": None,
    "missing_attributes": "error",
    "catalogue": "history",
}

TREC_EVAL: dict[str, Any] = STANDARD | {
    "audience": "judged",
    "no_recommendations": "drop",
    "ties": "item_desc_text",
    "score_type": "float",
    "relevant_from": 1,
    "judged_from": 0,
}
TREC_EVAL_PARAMS: dict[str, dict[str, Any]] = {
    "map": {"divisor": "relevant"},
    "ndcg": {"gain": "linear"},
    "dcg": {"gain": "linear"},
}
TAIL = {
    "tail_by": "pairs",
    "head": 0.8,
    "tail": 0.1,
    "at_most": 1,
    "counted": "users",
    "no_history": "tail",
}
GROUPS = {"groups": "column", "head": 0.8, "patience": 0.5}

DEFAULTS: dict[str, dict[str, Any]] = {
    "hit_rate": {},
    "precision": {"divisor": "k"},
    "recall": {"divisor": "relevant"},
    "f_beta": {"beta": 1, "divisor": "k"},
    "map": {"divisor": "min_k_relevant"},
    "mar": {"divisor": "k"},
    "mrr": {},
    "dcg": {"gain": "binary", "discount": "log2", "divisor": "one"},
    "ndcg": {
        "gain": "binary",
        "discount": "log2",
        "ideal": "min_k_relevant",
        "extra_divisor": "one",
    },
    "r_precision": {},
    "roc_auc": {},
    "err": {"max_grade": None, "stop": "exponential"},
    "pfound": {"max_grade": None, "break_probability": 0.15, "stop": "linear"},
    "kendall_tau": {"variant": "b"},
    "spearman_rho": {},
    "surprisal": {"scale": "bits", "divisor": "length"},
    "popularity": {"counted": "users", "scale": "share"},
    "unseen": {"no_history": "undefined"},
    "epc": {"relevance": "hits", "discount": "log2", "patience": 0.85},
    "efd": {"relevance": "hits", "discount": "log2", "patience": 0.85},
    "tail_share": TAIL,
    "tail_count": TAIL,
    "category_coverage": {"divisor": "k"},
    "category_entropy": {
        "scale": "bits",
        "rank_weight": "none",
        "patience": 0.85,
        "smoothing": 0,
    },
    "calibration": {
        "divergence": "kl",
        "smoothing": 0.01,
        "js_smoothing": 0,
        "attribute": "category",
        "head": 0.2,
        "tail": 0.2,
        "history_weight": "none",
        "history_patience": 0.85,
        "rank_weight": "none",
        "patience": 0.85,
    },
    "unexpectedness": {"divisor": "length", "no_baseline": "one"},
    "overlap": {"divisor": "baseline", "baseline_k": None, "no_baseline": "undefined"},
    "rbo": {"p": 0.9, "normalise": "depths"},
    "popularity_lift": {},
    "group_popularity_lift": {},
    "least_item_promoted": {},
    "compat": {"p": 0.95, "normalise": "ideal"},
    "attribute_shift": {
        "divergence": "tv",
        "attribute": "category",
        "head": 0.2,
        "tail": 0.2,
    },
    "serendipity": {
        "against": "popularity",
        "over": "history",
        "combined": "mean",
        "counted": "users",
        "relevance": "hits",
    },
    "alpha_ndcg": {"alpha": 0.5, "normalise": "ideal", "ideal_ties": "item_asc"},
    "err_ia": {"alpha": 0.5, "normalise": "ideal_ideal", "ideal_ties": "item_asc"},
    "ips_recall": {
        "propensity": "share",
        "gamma": 2,
        "a": 0.55,
        "b": 1.5,
        "max_weight": None,
        "divisor": "weights",
    },
    "effective_relevant": {
        "propensity": "share",
        "gamma": 2,
        "a": 0.55,
        "b": 1.5,
        "max_weight": None,
    },
    "ips_ndcg": {
        "propensity": "share",
        "gamma": 2,
        "a": 0.55,
        "b": 1.5,
        "max_weight": None,
        "divisor": "ideal",
    },
    "psp": {"a": 0.55, "b": 1.5},
    "debiased": {"of": "recall", "iqr_coef": 1.5},
    "psndcg": {"a": 0.55, "b": 1.5},
    "subtopic_recall": {"divisor": "relevant"},
    "p_ia": {},
    "map_ia": {},
    "nrbp": {
        "alpha": 0.5,
        "p": 0.5,
        "normalise": "ideal_ideal",
        "ideal_ties": "item_asc",
    },
    "intra_list_diversity": {
        "over": "features",
        "distance": "cosine",
        "single": "undefined",
        "sample_users": None,
        "runs": 10,
        "seed": 1,
    },
    "money_precision": {},
    "money_recall": {},
    "coverage": {"counted": "known", "scale": "share"},
    "gini": {
        "population": "catalogue",
        "divisor": "n",
        "weights": "none",
        "patience": 0.85,
    },
    "item_entropy": {"scale": "bits", "by": "rows"},
    "exposure_parity": {**GROUPS, "statistic": "min_max_ratio", "discount": "log2"},
    "exposure_utility": {**GROUPS, "statistic": "min_max_ratio", "discount": "log2"},
    "gain_utility": {**GROUPS, "statistic": "min_max_ratio", "discount": "log2"},
    "equal_opportunity": {**GROUPS, "statistic": "std_over_mean", "seen_items": "drop"},
    "pairwise_parity": {**GROUPS, "statistic": "max_min_difference"},
    "iaa": {**GROUPS, "groups": "items", "discount": "log2"},
    "bias_disparity": {**GROUPS, "statistic": "mean_abs"},
    "expected_exposure": {**GROUPS, "part": "loss", "discount": "rbp"},
    "awrf": {
        **GROUPS,
        "divergence": "tv",
        "target": "catalogue",
        "discount": "geometric",
    },
    "ndkl": {**GROUPS, "target": "catalogue"},
    "statistical_parity": {**GROUPS, "statistic": "std_over_mean"},
    "user_coverage": {"at_least": 1},
    "sufficient": {"deep": "false"},
    "unrepeated": {"deep": "false", "duplicate_recommendations": "keep"},
    "auc": {"scope": "judged", "unlisted": "last", "others": "exact"},
    "gauc": {"unlisted": "last", "others": "exact", "divisor": "relevant"},
    "cwl": {
        "browsing": "rbp",
        "output": "utility",
        "p": 0.8,
        "target": 1,
        "gain": "linear",
        "max_grade": None,
    },
    "inf_ap": {},
    "set_map": {},
    "relevance_position": {},
    "pwa": {},
    "recall_at_precision": {"precision": 0.5},
    "ndpm": {"among": "judged", "pairs": "graded"},
    "pearson": {},
    "pr_auc": {},
    "mae": {"average": "rows", "rows": "matched", "missing": "ignore", "missing_value": 0},
    "mse": {"average": "rows", "rows": "matched", "missing": "ignore", "missing_value": 0},
    "rmse": {"average": "rows", "rows": "matched", "missing": "ignore", "missing_value": 0},
    "r2": {"missing": "ignore", "missing_value": 0},
    "explained_variance": {"missing": "ignore", "missing_value": 0},
    "log_loss": {"scores": "probability", "eps": 1e-15},
    "normalised_entropy": {"scores": "probability", "eps": 1e-15},
    "brier": {"scores": "probability"},
    "calibration_ratio": {"scores": "probability"},
    "ece": {"scores": "probability", "bins": "equal_width", "n_bins": 10, "norm": "l1"},
    "ctr": {"statistic": "estimate"},
    "ips": {"divisor": "recommended", "max_weight": None, "statistic": "estimate"},
    "doubly_robust": {"max_weight": None, "statistic": "estimate"},
    "inter_list_diversity": {"sample_users": None, "runs": 10, "seed": 1},
    "n_hits": {},
    "n_recommended": {},
    "n_relevant": {},
    "judged": {"divisor": "length", "scope": "user"},
    "hole": {"divisor": "length", "scope": "user"},
    "bpref": {"divisor": "min_nonrelevant_relevant", "no_nonrelevant": "one"},
    "fallout": {"nonrelevant": "judged", "no_nonrelevant": "undefined"},
    "ncrr": {"ideal": "min_k_relevant"},
    "accuracy": {"short_lists": "full"},
    "mcc": {"short_lists": "full"},
    "pairwise_accuracy": {"among": "judged", "pairs": "graded"},
    "mean_rank": {"unlisted": "drop", "mean": "arithmetic"},
    "first_rank": {},
    "percentile_rank": {"unlisted": "drop"},
    "partial_auc": {},
    "pap": {},
    "interpolated_precision": {"recall": 0.5, "reached": "exact"},
    "eleven_point": {"reached": "exact"},
    "lrap": {},
    "coverage_error": {},
    "ranking_loss": {},
    "rbp": {"p": 0.8, "gain": "binary", "max_grade": None, "normalise": "none", "output": "score"},
}

# Worked out from the list and the relevant rows alone, by value_for_user.
ACCURACY = {
    "hit_rate", "precision", "recall", "f_beta", "map", "mar", "mrr", "dcg", "ndcg", "r_precision",
    "n_hits", "rbp", "ncrr", "interpolated_precision", "eleven_point", "set_map", "pwa",
    "recall_at_precision",
}  # fmt: skip

# Sums over hits of gain times weight of the rank, which ties=average can average.
SUMS_OVER_HITS = {"n_hits", "precision", "recall", "dcg", "ndcg", "rbp"}

# What `no_hits` is about.
OF_HITS = ACCURACY | {"roc_auc", "err", "pfound", "alpha_ndcg", "money_precision", "money_recall"}
OF_HITS |= {"bpref", "lrap", "ranking_loss", "inf_ap", "cwl", "gauc", "epc", "efd"}
OF_HITS |= {"serendipity"}
OF_ASPECTS = {"alpha_ndcg", "err_ia", "subtopic_recall", "p_ia", "map_ia", "nrbp"}
OF_HITS |= OF_ASPECTS
OF_HITS |= {"ips_recall", "ips_ndcg", "compat"}

# metrics in which a relevant item weighs 1 / propensity
WEIGHTED = {"ips_recall", "ips_ndcg", "effective_relevant", "psp", "psndcg", "debiased"}

# 1 for a user without a relevant item, with no_relevant=one.
BEST_WITHOUT_RELEVANT = OF_HITS - {
    "n_hits", "dcg", "ranking_loss", "alpha_ndcg", "err_ia", "nrbp", "pwa", "cwl", "efd",
    "ips_recall", "ips_ndcg", "serendipity",
}  # fmt: skip
BEST_WITHOUT_RELEVANT |= {"accuracy", "pairwise_accuracy", "partial_auc", "pap"}

# Metrics in which unjudged items can be dropped but not counted as relevant.
ONLY_JUDGED = {"kendall_tau", "spearman_rho", "pearson", "ndpm", "bpref", "pairwise_accuracy"}
ONLY_JUDGED |= {"fallout", "inf_ap"}
ONLY_JUDGED |= OF_ASPECTS

# Of the first k misses of the whole list.
OF_MISSES = {"partial_auc", "pap"}

# One value for all users together, from the values of groups of items.
OF_GROUPS = {
    "exposure_parity", "exposure_utility", "gain_utility", "equal_opportunity",
    "statistical_parity", "expected_exposure", "bias_disparity", "iaa",
    "pairwise_parity",
}  # fmt: skip

# One value for all users together.
RATINGS = {"mae", "mse", "rmse", "r2", "explained_variance"}
PROBABILITIES = {"log_loss", "normalised_entropy", "brier", "calibration_ratio", "ece"}
RUN_METRICS = RATINGS | PROBABILITIES | {
    "coverage", "gini", "item_entropy", "auc", "pr_auc", "ctr", "ips", "doubly_robust",
    "inter_list_diversity", "psp", "psndcg", "debiased", "group_popularity_lift", "attribute_shift",
    *OF_GROUPS,
}  # fmt: skip

# Averaged over users with recommendations unless a setting says otherwise; the others over users
# with a relevant item.
OF_RECOMMENDED = {
    "surprisal", "popularity", "unexpectedness", "intra_list_diversity", "n_recommended",
    "sufficient", "unrepeated", "unseen", "tail_share", "tail_count", "category_coverage",
    "category_entropy", "calibration", "overlap", "rbo", "popularity_lift", "least_item_promoted",
    "exposure_parity", "statistical_parity", "awrf", "ndkl", "bias_disparity",
    "pairwise_parity",
}  # fmt: skip

# Averaged over users with any row in the interactions.
OF_JUDGED = {"judged", "hole", "user_coverage"}

ALIASES = {
    "hitrate": "hit_rate",
    "success": "hit_rate",
    "ap": "map",
    "mapr": "map",
    "rr": "mrr",
    "rprec": "r_precision",
    "f1": "f_beta",
    "a_ndcg": "alpha_ndcg",
    "dr": "doubly_robust",
    "snips": "ips",
    "opa": "pairwise_accuracy",
    "iprec": "interpolated_precision",
    "relative_precision": "precision",
    "upd": "calibration",
    "alpha_dcg": "alpha_ndcg",
    "nerr_ia": "err_ia",
    "nnrbp": "nrbp",
}
ALIASED_PARAMS: dict[str, dict[str, Any]] = {
    "snips": {"divisor": "weights"},
    "relative_precision": {"divisor": "min_k_relevant"},
}


# ---------------------------------------------------------------- the lists


def kept_rows(
    rows: Sequence[tuple[Any, ...]],
    history: Iterable[tuple[User, Item]],
    settings: Mapping[str, Any],
    interactions: Iterable[tuple[Any, ...]] = (),
) -> list[tuple[Any, ...]]:
    """Leave out, of rows (user, item, ...), those that settings take out of the lists."""
    judged = {row[:2] for row in interactions}
    by_score = bool(rows) and order_of(with_rank([rows[0][1:]]), settings) == "score"
    seen = {(user, item) for user, item in history}
    kept = []
    for row in rows:
        if settings["masked_scores"] == "drop" and by_score and row[2] == -math.inf:
            continue
        if settings["drop_seen"] == "true" and (row[0], row[1]) in seen:
            continue
        if settings["unjudged"] == "drop" and row[:2] not in judged:
            continue
        kept.append(row)
    return kept


def with_unjudged(
    interactions: Sequence[tuple[Any, ...]],
    recommendations: Iterable[tuple[Any, ...]],
    grade: float | None,
    users: set[User],
) -> list[tuple[Any, ...]]:
    """Add rows for the items of lists that have none, of these users, with this grade."""
    judged = {row[:2] for row in interactions}
    listed = dict.fromkeys(row[:2] for row in recommendations if row[0] in users)
    return [*interactions, *((*pair, grade) for pair in listed if pair not in judged)]


def order_of(rows: Sequence[tuple[Any, ...]], settings: Mapping[str, Any]) -> str:
    """Say what orders the rows (item, score, rank) of a list: score, rank or row."""
    if settings["order"] == "auto":
        return "rank" if rows[0][2] is not None else "score"
    return str(settings["order"])


def ordered(
    rows: Sequence[tuple[Any, ...]],
    settings: Mapping[str, Any],
    grades: Mapping[Item, float] | None = None,
) -> list[tuple[Any, ...]]:
    """Return one user's rows (item, score, rank), the best first; `grades` of relevant items."""
    order = order_of(rows, settings)
    rows = list(rows)
    if order == "row":
        return rows
    if order == "rank":
        return sorted(rows, key=lambda row: row[2])

    # By score. Python's sort is stable: first arrange the ties, then sort by score.
    ties = settings["ties"]
    if ties in ("item_asc", "average", "worst", "best"):
        rows.sort(key=lambda row: row[0])
        if ties in ("worst", "best"):
            up = {"worst": 1, "best": -1}[ties]
            rows.sort(key=lambda row: up * (grades or {}).get(row[0], -1))
    elif ties == "row_reversed":
        rows.reverse()
    elif ties == "item_desc":
        rows.sort(key=lambda row: row[0], reverse=True)
    elif ties in ("item_asc_text", "item_desc_text"):
        rows.sort(key=lambda row: str(row[0]).encode(), reverse=ties == "item_desc_text")
    elif ties != "row":
        raise ValueError(ties)
    rows.sort(key=lambda row: -score_as_ordered(row[1], settings))
    return rows


def score_as_ordered(score: float, settings: Mapping[str, Any]) -> float:
    return {"double": float, "float": as_float32}[settings["score_type"]](score)


def as_float32(score: float) -> float:
    """Round to the nearest single precision number."""
    return float(struct.unpack("f", struct.pack("f", score))[0])


def first_copies(items: Iterable[Item]) -> list[Item]:
    """Drop the later copies of an item; positions close up."""
    return list(dict.fromkeys(items))


def top(items: list[Item], k: int | None, largest_k: int | None, rule: str) -> list[Item]:
    """Cut a list to k under a rule for duplicates; k None is the whole list."""
    if rule == "error":
        if len(set(items)) < len(items):
            raise ValueError("duplicate recommendations")
    elif rule == "dedup_then_cut":
        items = first_copies(items)
    elif rule == "cut_then_dedup":
        items = first_copies(items[:largest_k])
    elif rule not in ("keep", "count_once", "join"):
        raise ValueError(rule)
    return items[:k]


def hit_places(
    items: list[Item], relevant: Iterable[Item], settings: Mapping[str, Any]
) -> list[bool]:
    """Say of every place of a list whether it is a hit; a later copy need not be one."""
    wanted = set(relevant)
    once = settings["duplicate_recommendations"] == "count_once"
    return [
        item in wanted and not (once and item in items[:place]) for place, item in enumerate(items)
    ]


# ---------------------------------------------------------------- the truth


def graded_rows(
    rows: Sequence[tuple[Item, float | None]], settings: Mapping[str, Any]
) -> list[tuple[Item, float]]:
    """Return the relevant rows (item, grade) of one user; without a relevance column, every row."""
    threshold = settings["relevant_from"]
    graded = []
    for item, grade in rows:
        if grade is None:
            graded.append((item, 1.0))
        elif (grade > 0) if threshold is None else (grade >= threshold):
            graded.append((item, max(grade, 0.0)))  # worth nothing below 0
    return graded


def grades_of_the_best_list(
    rows: Sequence[tuple[Item, float | None]], settings: Mapping[str, Any]
) -> list[float]:
    """Return the grades of the relevant items of one user, copies among them if they count."""
    relevant = relevant_rows(rows, settings)
    if settings["duplicate_interactions"] != "bag_size":
        return [grade for _, grade in relevant]
    copies = [item for item, _ in graded_rows(rows, settings)]
    return [grade for item, grade in relevant for _ in range(copies.count(item))]


def relevant_items(
    rows: Sequence[tuple[Item, float | None]], settings: Mapping[str, Any]
) -> list[Item]:
    """Return the relevant items of one user, copies among them if they count."""
    relevant = [item for item, _ in relevant_rows(rows, settings)]
    if settings["duplicate_interactions"] != "bag_size":
        return relevant
    copies = [item for item, _ in graded_rows(rows, settings)]
    return [item for item in relevant for _ in range(copies.count(item))]


def copies_in_the_list(
    items: list[Item], rows: Sequence[tuple[Item, float | None]], settings: Mapping[str, Any]
) -> int:
    """Return by how many a join with the whole list raises the number of relevant items.

    Every relevant row that counts, counts once more for each further copy in the list.
    """
    if settings["duplicate_recommendations"] != "join":
        return 0
    of_size = settings["duplicate_interactions"] == "bag_size"
    counted = graded_rows(rows, settings) if of_size else relevant_rows(rows, settings)
    return sum(max(items.count(item) - 1, 0) for item, _ in counted)


def relevant_rows(
    rows: Sequence[tuple[Item, float | None]], settings: Mapping[str, Any]
) -> list[tuple[Item, float]]:
    """Return the relevant rows (item, grade) of one user that can be hit."""
    graded = graded_rows(rows, settings)
    rule = settings["duplicate_interactions"]
    if rule == "error":
        if len({item for item, _ in rows}) < len(rows):
            raise ValueError("duplicate interactions")
    elif rule in ("set", "bag_size"):
        best: dict[Item, float] = {}
        for item, grade in graded:
            best[item] = max(grade, best.get(item, grade))
        graded = list(best.items())
    elif rule != "bag":
        raise ValueError(rule)
    return graded


def highest_grades(rows: Sequence[tuple[Item, float | None]]) -> dict[Item, float | None]:
    """Return the grade of every judged item, relevant or not; None without a relevance column."""
    grades: dict[Item, float | None] = {}
    for item, grade in rows:
        before = grades.get(item)
        grades[item] = grade if grade is None or before is None else max(grade, before)
    return grades


# ---------------------------------------------------------------- one user, one metric


def gain_of(grade: float, gain: str, settings: Mapping[str, Any]) -> float:
    if gain == "binary":
        return 1.0
    if gain == "linear":
        return grade
    if gain == "exponential":
        return 2.0**grade - 1
    if gain == "exponential_from":
        return 2.0 ** (grade - settings["relevant_from"] + 1) - 1
    raise ValueError(gain)


def discounted(position: int, discount: str) -> float:
    if discount == "log2":
        return 1 / math.log2(position + 1)
    if discount == "log2_max2":
        return 1 / math.log2(max(position, 2))
    if discount == "course":
        return 1 / position if position <= 2 else 1 / math.log2(position)
    if discount == "course_text":
        return 1 / position if position <= 2 else 1 / math.log2(position + 1)
    raise ValueError(discount)


def value_for_user(
    metric: str,
    items: list[Item],
    relevant: list[tuple[Item, float]],
    best: list[float],
    n_relevant: int,
    k: int | None,
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> float:
    """Return the metric of one list, already cut to k, against one user's relevant rows.

    `best` are the grades of the best possible list, `n_relevant` is how many relevant items count.
    """
    # One hit per pair (recommended row, relevant row) with the same item, best position first:
    # a copy of a recommendation (`keep`) hits at its own position, a copy of a relevant row
    # (`bag`) hits at the position of its item.
    grades_of: dict[Item, list[float]] = {}
    for item, grade in relevant:
        grades_of.setdefault(item, []).append(grade)
    places = hit_places(items, grades_of, settings)
    hits = [
        (position, grade)
        for position, (item, hit) in enumerate(zip(items, places, strict=True), start=1)
        for grade in (grades_of[item] if hit else [])
    ]
    length = len(items)
    if n_relevant == 0 or length == 0:
        return 0.0

    positions = length if k is None else k
    counts = {
        "k": positions,
        "length": length,
        "hits": len(hits),
        "relevant": n_relevant,
        "min_k_relevant": n_relevant if k is None else min(k, n_relevant),
        "min_relevant_length": min(n_relevant, length),
    }

    def hits_until(position: int) -> int:
        return sum(1 for hit, _ in hits if hit <= position)

    if metric == "hit_rate":
        return 1.0 if hits else 0.0

    if metric == "n_hits":
        return len(hits)

    def interpolated(recall: float) -> float:
        """Find the highest precision among the ranks with enough hits."""
        needed = {
            "exact": math.ceil(recall * n_relevant - 1e-9),
            "trec_eval_9": int(recall * n_relevant + 0.9),
            "trec_eval_10": math.floor(recall * n_relevant + 0.5),
        }[params["reached"]]
        ranks = range(1, length + 1)
        return max((hits_until(r) / r for r in ranks if hits_until(r) >= needed), default=0.0)

    if metric == "interpolated_precision":
        return interpolated(params["recall"])

    if metric == "eleven_point":
        return statistics.fmean(interpolated(tenths / 10) for tenths in range(11))

    if metric == "set_map":
        return len(hits) / length * len(hits) / n_relevant

    if metric == "pwa":
        weights = [1 / position for position in range(1, length + 1)]
        return sum(grade / position for position, grade in hits) / sum(weights)

    if metric == "recall_at_precision":
        good = [r for r in range(1, length + 1) if hits_until(r) / r >= params["precision"] - 1e-12]
        return max((hits_until(r) for r in good), default=0) / n_relevant

    if metric == "ncrr":
        best_places = range(1, counts[params["ideal"]] + 1)
        return sum(1 / position for position, _ in hits) / sum(1 / place for place in best_places)

    if metric == "rbp":
        weights = [params["p"] ** (position - 1) for position in range(1, length + 1)]
        total = 0.0
        for position, grade in hits:
            highest = params["max_grade"]
            gain = 1.0 if params["gain"] == "binary" else grade / highest if highest else 0.0
            total += gain * weights[position - 1]
        if params["normalise"] == "ideal":
            return total / sum(weights[: min(n_relevant, length)])
        return (1 - params["p"]) * total

    if metric == "precision":
        return len(hits) / counts[params["divisor"]]

    if metric == "recall":
        return len(hits) / counts[params["divisor"]]

    if metric == "f_beta":
        if not hits:
            return 0.0
        precision = len(hits) / counts[params["divisor"]]
        recall = len(hits) / n_relevant
        beta2 = params["beta"] ** 2
        return (1 + beta2) * precision * recall / (beta2 * precision + recall)

    if metric == "map":
        if params["divisor"] == "all_positions":
            precisions = [hits_until(i) / i for i in range(1, positions + 1)]
            return sum(precisions) / positions
        # precision at the position of every hit; the n-th hit has n hits down to itself
        total = sum(n / position for n, (position, _) in enumerate(hits, start=1))
        return total / counts[params["divisor"]] if hits else 0.0

    if metric == "mar":
        if params["divisor"] == "all_positions":
            recalls = [hits_until(i) / n_relevant for i in range(1, positions + 1)]
            return sum(recalls) / positions
        total = sum(n / n_relevant for n, _ in enumerate(hits, start=1))
        return total / counts[params["divisor"]] if hits else 0.0

    if metric == "mrr":
        return 1 / hits[0][0] if hits else 0.0

    if metric == "r_precision":
        return hits_until(n_relevant) / n_relevant  # items are cut to k already

    dcg = sum(
        gain_of(grade, params["gain"], settings) * discounted(position, params["discount"])
        for position, grade in hits
    )
    if metric == "dcg":
        return dcg / {"one": 1, "k": positions}[params["divisor"]]

    if metric == "ndcg":
        if params["gain"] == "binary":
            gains = [1.0] * n_relevant
        else:
            gains = [gain_of(grade, params["gain"], settings) for grade in best]
        ideal_gains = sorted(gains, reverse=True)
        if params["ideal"] == "all_k":
            ideal_gains = [1.0] * positions  # worth 1 each, also where gains are graded
        elif params["ideal"] != "all_relevant":
            ideal_gains = ideal_gains[: counts[params["ideal"]]]
        ideal = sum(
            gain * discounted(position, params["discount"])
            for position, gain in enumerate(ideal_gains, start=1)
        )
        ratio = dcg / ideal if ideal > 0 else 0.0
        return ratio / {"one": 1, "k": positions}[params["extra_divisor"]]

    raise ValueError(metric)


# ---------------------------------------------------------------- order against relevance


def roc_auc(flags: list[bool]) -> float:
    """Walk down the hits and misses of a list and count the misses above every hit."""
    hits = flags.count(True)
    misses = flags.count(False)
    misses_above = sum(flags[:place].count(False) for place, hit in enumerate(flags) if hit)
    if hits == 0:
        return 0.0
    if misses_above == 0:
        return 1.0
    return 1 - misses_above / (misses * hits)


def stop_probabilities(
    items: list[Item],
    flags: list[bool],
    relevant: Mapping[Item, float],
    highest: float,
    stop: str,
) -> list[float]:
    """Return how likely a reader stops at each place of the list; a miss stops nobody."""
    found = []
    for item, hit in zip(items, flags, strict=True):
        if not hit:
            found.append(0.0)
        elif relevant[item] > highest:
            raise ValueError("a relevance above max_grade")
        elif stop == "exponential":
            found.append((2 ** relevant[item] - 1) / 2**highest)
        elif stop == "linear":
            found.append(relevant[item] / highest if highest > 0 else 0.0)
        else:
            raise ValueError(stop)
    return found


def err(stops: list[float]) -> float:
    total = 0.0
    for rank, stop in enumerate(stops, start=1):
        nobody_stopped = math.prod(1 - above for above in stops[: rank - 1])
        total += 1 / rank * stop * nobody_stopped
    return total


def pfound(stops: list[float], break_probability: float) -> float:
    look = 1.0
    total = 0.0
    for stop in stops:
        total += look * stop
        look = look * (1 - stop) * (1 - break_probability)
    return total


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


def kendall_tau(pairs: list[tuple[float, float]], variant: str) -> float | None:
    """Compare (predicted, relevance) of every two items; None where there is nothing to compare."""
    concordant = discordant = n_pairs = tied_predicted = tied_relevance = 0
    for (predicted, relevance), (other_predicted, other_relevance) in itertools.combinations(
        pairs, 2
    ):
        n_pairs += 1
        agreement = sign(predicted - other_predicted) * sign(relevance - other_relevance)
        concordant += agreement == 1
        discordant += agreement == -1
        tied_predicted += predicted == other_predicted
        tied_relevance += relevance == other_relevance
    if n_pairs in (tied_predicted, tied_relevance):  # one side is constant, or no pair at all
        return None
    if variant == "a":
        return (concordant - discordant) / n_pairs
    if variant == "b":
        return (concordant - discordant) / math.sqrt(
            (n_pairs - tied_predicted) * (n_pairs - tied_relevance)
        )
    raise ValueError(variant)


def average_ranks(values: list[float]) -> list[float]:
    """Return 1 for the smallest; equal values share the mean of the places they take."""
    ranks = []
    for value in values:
        smaller = sum(1 for other in values if other < value)
        equal = sum(1 for other in values if other == value)
        ranks.append(statistics.fmean(range(smaller + 1, smaller + equal + 1)))
    return ranks


def spearman_rho(pairs: list[tuple[float, float]]) -> float | None:
    """Return Pearson's correlation of the ranks on both sides."""
    if len(pairs) < 2:
        return None
    x = average_ranks([predicted for predicted, _ in pairs])
    y = average_ranks([relevance for _, relevance in pairs])
    x_mean, y_mean = statistics.fmean(x), statistics.fmean(y)
    covariance = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    x_square = sum((a - x_mean) ** 2 for a in x)
    y_square = sum((b - y_mean) ** 2 for b in y)
    if x_square == 0 or y_square == 0:
        return None
    return covariance / math.sqrt(x_square * y_square)


def pooled_auc(relevant: list[float], others: list[float]) -> float | None:
    """Let every predicted value of a relevant item meet every one of the others."""
    if not relevant or not others:
        return None
    wins = 0.0
    for value in relevant:
        for other in others:
            wins += 1 if value > other else 1 / 2 if value == other else 0
    return wins / (len(relevant) * len(others))


# ---------------------------------------------------------------- judged items


def bpref(
    items: list[Item],
    relevant: Mapping[Item, float],
    others: set[Item],
    n_relevant: int,
    params: Mapping[str, Any],
) -> float | None:
    """Count, for every relevant item of a list, the items judged not relevant above it."""
    if not others and params["no_nonrelevant"] == "undefined":
        return None
    rivals = n_relevant if params["divisor"] == "relevant" else min(len(others), n_relevant)
    total = 0.0
    for place, item in enumerate(items):
        if item in relevant:
            above = sum(1 for other in items[:place] if other in others)
            total += 1 - min(above, n_relevant) / rivals if above else 1
    return total / n_relevant if n_relevant else 0.0


def inf_ap(
    items: list[Item], pooled: set[Item], relevant: Mapping[Item, float], others: set[Item]
) -> float:
    """Estimate the precision at the place of every relevant item from the pool above it."""
    total, eps = 0.0, 0.00001
    for place, item in enumerate(items):
        if item not in relevant:
            continue
        pool = [other for other in items[:place] if other in pooled]
        good = sum(1 for other in pool if other in relevant)
        bad = sum(1 for other in pool if other in others)
        if place == 0:
            total += 1
        else:
            share = len(pool) / place
            found = (good + eps) / (good + bad + 2 * eps)
            total += 1 / (place + 1) + place / (place + 1) * share * found
    return total / len(relevant) if relevant else 0.0


RANKS = 1000  # a reader of `cwl` goes no further


def continuations(gains: list[float], k: int, params: Mapping[str, Any]) -> list[float]:
    """Return the probability of going on after each of the ranks; `k`: where some readers stop."""
    browsing, p, target = params["browsing"], params["p"], params["target"]
    found = []
    so_far = 0.0
    for rank, gain in enumerate(gains, start=1):
        so_far += gain
        insq = ((rank + 2 * target - 1) / (rank + 2 * target)) ** 2
        wanted = target + (target - so_far)
        found.append(
            {
                "rbp": p,
                "precision": 1 if rank < k else 0,
                "sdcg": math.log2(rank + 1) / math.log2(rank + 2) if rank < k else 0,
                "rr": 1 if so_far == 0 else 0,
                "insq": insq,
                "inst": ((rank + wanted - 1) / (rank + wanted)) ** 2,
                "nerr8": 1 - gain if rank < k else 0,
                "nerr9": rank / (rank + 1) * (1 - gain) if rank < k else 0,
                "nerr10": p * (1 - gain),
                "nerr11": insq * (1 - gain),
                "bpm": 1 if so_far < target - 1e-9 and rank < k else 0,
            }[browsing]
        )
    return found


def cwl(gains: list[float], k: int | None, params: Mapping[str, Any]) -> float:
    """Follow a reader down a list, rank by rank; items without gain fill the list."""
    browsing = params["browsing"]
    if browsing in ("precision", "sdcg", "nerr8", "nerr9"):
        k = len(gains) if k is None else k
        if k == 0:
            return 0.0
    gains = (gains + [0.0] * RANKS)[:RANKS]
    if browsing == "ap":
        per_rank = [gain / rank for rank, gain in enumerate(gains, start=1)]
        below = list(itertools.accumulate(reversed(per_rank)))[::-1]
        look = [share / below[0] for share in below] if below[0] else [1.0] + [0.0] * (RANKS - 1)
    else:
        steps = continuations(gains, RANKS if k is None else k, params)
        look = [1.0, *itertools.accumulate(steps[:-1], lambda one, other: one * other)]
    total = math.fsum(weight * gain for weight, gain in zip(look, gains, strict=True))
    depth = math.fsum(look)
    return {"utility": total / depth, "total": total, "depth": depth}[params["output"]]


def gauc(
    items: list[Item], relevant: set[Item], n_relevant: int, others: set[Item],
    params: Mapping[str, Any],
) -> float | None:  # fmt: skip
    """Count, for every relevant item, the other items of the catalogue that come after it."""
    n_others = len(others) + (params["others"] == "plus_one")
    flags = [item in relevant for item in items if item in relevant or item in others]
    if not n_relevant:
        return 0.0
    if params["divisor"] == "min_relevant_length":
        n_counted = min(n_relevant, len(items))
        if not n_counted:
            return 0.0
    else:
        n_counted = n_relevant
    if n_others < 1:
        return None
    total = 0.0
    for place, hit in enumerate(flags):
        if hit:
            total += n_others - flags[:place].count(False)
    if params["unlisted"] == "random":
        n_behind = n_others - flags.count(False)
        total += (n_relevant - flags.count(True)) * n_behind / 2
    return total / n_others / n_counted


def pearson(pairs: list[tuple[float, float]]) -> float | None:
    """Correlate exact fractions, so that equal values are equal."""
    if len(pairs) < 2:
        return None
    x = [Fraction(one) for one, _ in pairs]
    y = [Fraction(other) for _, other in pairs]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    squares = [sum((a - x_mean) ** 2 for a in x), sum((b - y_mean) ** 2 for b in y)]
    if 0 in squares:
        return None
    return float(covariance) / (math.sqrt(squares[0]) * math.sqrt(squares[1]))


def partial_auc(flags: list[bool], n_relevant: int, k: int | None, only_first: bool) -> float:
    """Count, for every hit, how many of the first k misses stand below it."""
    n_misses = max(flags.count(False), 1) if k is None else k
    n_hits = n_misses if k is None else k
    total = n_seen = 0
    for place, hit in enumerate(flags):
        if hit:
            n_seen += 1
            if n_seen <= n_hits or not only_first:
                total += max(n_misses - flags[:place].count(False), 0)
    best = min(n_relevant, n_hits) if only_first else n_relevant
    return total / (n_misses * best) if n_relevant else 0.0


def of_labels(metric: str, labels: list[tuple[float, bool]]) -> float | None:
    """Compare every relevant item of a list with the items predicted at least as high."""
    hits = [predicted for predicted, hit in labels if hit]
    misses = [predicted for predicted, hit in labels if not hit]
    depths = [sum(1 for other, _ in labels if other >= predicted) for predicted in hits]
    if metric == "coverage_error":
        return max(depths, default=None)
    if not hits:
        return 1.0 if metric == "ranking_loss" else 0.0
    if metric == "lrap":
        found = [sum(1 for other in hits if other >= predicted) for predicted in hits]
        return statistics.fmean(n / depth for n, depth in zip(found, depths, strict=True))
    wrong = [miss >= hit for hit in hits for miss in misses]
    return statistics.fmean(wrong) if wrong else 0.0


def ndpm(compared: list[tuple[float, float]]) -> float | None:
    """Count the pairs with different grades that (predicted, grade) has in the wrong order."""
    found = []
    for (predicted, grade), (other_predicted, other_grade) in itertools.combinations(compared, 2):
        if grade != other_grade:
            agreement = sign(predicted - other_predicted) * sign(grade - other_grade)
            found.append({1: 0.0, 0: 0.5, -1: 1.0}[agreement])
    return statistics.fmean(found) if found else None


def pairwise_accuracy(compared: list[tuple[float, float]]) -> float | None:
    """Compare (predicted, grade) of every two items with different grades; a tie is wrong."""
    found = []
    for (predicted, grade), (other_predicted, other_grade) in itertools.combinations(compared, 2):
        if grade != other_grade:
            better, worse = sorted([(grade, predicted), (other_grade, other_predicted)])[::-1]
            found.append(1.0 if better[1] > worse[1] else 0.0)
    return statistics.fmean(found) if found else None


def fallout(shown: int, of_all: int, no_nonrelevant: str) -> float | None:
    if of_all <= 0:
        return {"undefined": None, "zero": 0.0, "one": 1.0}[no_nonrelevant]
    return shown / of_all


# ---------------------------------------------------------------- logs


def from_logs(
    metric: str, rows: list[tuple[float | None, float, float | None]], params: Mapping[str, Any]
) -> float | None:
    """Return an estimate, or a figure about it, from one row per recommended item.

    Rows are (score, weight, reward); reward None: it is not in the logs.
    """
    statistic = params["statistic"]
    matched = [(score, weight, reward) for score, weight, reward in rows if reward is not None]
    weights = [weight for _, weight, _ in matched]
    if statistic == "support":
        return len(matched)
    if statistic == "effective_sample_size":
        if metric == "ctr":
            weights = [1.0] * len(matched)
        return sum(weights) ** 2 / sum(w**2 for w in weights) if matched else None

    if metric == "ips" and params["divisor"] == "weights":
        if not matched:
            return None
        estimate = sum(weight * reward for _, weight, reward in matched) / sum(weights)
        if statistic == "estimate":
            return estimate
        squares = sum(weight**2 * (reward - estimate) ** 2 for _, weight, reward in matched)
        return math.sqrt(squares) / sum(weights)

    # The others are means of terms.
    terms: list[float] = []
    for score, weight, reward in rows:
        if metric == "ctr":
            terms += [] if reward is None else [reward]
        elif metric == "ips":
            terms.append(0.0 if reward is None else weight * reward)
        elif metric == "doubly_robust":
            assert score is not None, "no column score"
            terms.append(score if reward is None else score + weight * (reward - score))
        else:
            raise ValueError(metric)
    if statistic == "estimate":
        return statistics.fmean(terms) if terms else None
    if statistic == "standard_error":
        return statistics.stdev(terms) / math.sqrt(len(terms)) if len(terms) > 1 else None
    raise ValueError(statistic)


# ---------------------------------------------------------------- aspects and diversity


def gain_of_aspects(
    metric: str,
    items: list[Item],
    flags: list[bool],
    relevant: Mapping[Item, float],
    aspects: Mapping[Item, set[Any]],
    k: int | None,
    params: Mapping[str, Any],
) -> float | None:
    """Divide the gains of the list by those of an ideal list; aspects gain less when repeated."""
    keep = 1 - Fraction(str(params["alpha"]))  # exact, so that equal gains are equal
    weight_of: dict[str, Callable[[int], float]] = {
        "alpha_ndcg": lambda rank: 1 / math.log2(rank + 1),
        "err_ia": lambda rank: 1 / rank,
        "nrbp": lambda rank: params["p"] ** (rank - 1),
    }

    def gain(item: Item, above: list[Item]) -> Fraction:
        total = Fraction(0)
        for aspect in aspects.get(item, set()):
            seen = sum(1 for other in above if aspect in aspects.get(other, set()))
            total += keep**seen  # 0 to the 0 is 1
        return total

    def discounted_sum(gains: Iterable[tuple[int, Fraction]]) -> float:
        return math.fsum(float(gain) * weight_of[metric](rank) for rank, gain in gains)

    n_aspects = len({aspect for item in relevant for aspect in aspects.get(item, set())})
    if not n_aspects:
        return None
    gains = []
    above: list[Item] = []
    for rank, (item, hit) in enumerate(zip(items, flags, strict=True), start=1):
        if hit:
            gains.append((rank, gain(item, above)))
            above.append(item)
    total = discounted_sum(gains)
    if not items or params["normalise"] == "none":
        return total
    if params["normalise"] == "ideal_ideal":
        if metric == "nrbp":  # the sum of an endless list
            return total * (1 - (1 - params["alpha"]) * params["p"]) / n_aspects
        positions = len(items) if k is None else k
        every = ((rank, n_aspects * keep ** (rank - 1)) for rank in range(1, positions + 1))
        return total / discounted_sum(every)

    ideal = []
    taken: list[Item] = []
    left = sorted(relevant, reverse=params["ideal_ties"] == "item_desc")
    while left and (k is None or len(taken) < k):
        best = left[0]
        for item in left:
            if gain(item, taken) > gain(best, taken):  # of equals, the first one stays
                best = item
        ideal.append((len(taken) + 1, gain(best, taken)))
        taken.append(best)
        left.remove(best)
    return total / discounted_sum(ideal)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    length = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / length if length > 0 else 0.0


def mean_distance(vectors: list[Sequence[float]], kind: str) -> float | None:
    distances = [distance(a, b, kind) for a, b in itertools.combinations(vectors, 2)]
    return statistics.fmean(distances) if distances else None


def distance(a: Sequence[float], b: Sequence[float], kind: str) -> float:
    if kind == "cosine":
        return 1 - cosine(a, b)
    if kind == "hamming":
        return sum(x != y for x, y in zip(a, b, strict=True))
    if kind == "euclidean":
        return math.dist(a, b)
    common = sum(bool(x and y) for x, y in zip(a, b, strict=True))
    either = sum(bool(x or y) for x, y in zip(a, b, strict=True))
    return 1 - common / either if either else 1.0


def inter_list_diversity(lists: list[list[Item]]) -> float | None:
    distances = []
    for one, other in itertools.combinations(lists, 2):
        shared = len(set(one) & set(other))
        distances.append(1 - shared / math.sqrt(len(one) * len(other)))
    return statistics.fmean(distances) if distances else None


def all_of_them(n_users: int, drawn: int | None) -> None:
    """Refuse what is random: a sample is only worked out here if it is everybody."""
    if drawn is not None and drawn < n_users:
        raise NotImplementedError("a sample of some of the users")


# ---------------------------------------------------------------- scores against relevance

Rating = tuple[float, float]  # score, relevance


def error_of(metric: str, ratings: Sequence[Rating]) -> float:
    if metric == "mae":
        return statistics.fmean(abs(score - grade) for score, grade in ratings)
    mean = statistics.fmean((score - grade) ** 2 for score, grade in ratings)
    return {"mse": mean, "rmse": math.sqrt(mean)}[metric]


def error_of_ratings(
    metric: str, of_users: Iterable[Sequence[Rating]], params: Mapping[str, Any]
) -> float | None:
    """Compare predicted ratings with the truth; `of_users` has those of each user."""
    groups = [ratings for ratings in of_users if ratings]
    together = [rating for ratings in groups for rating in ratings]
    if not together:
        return None
    if metric in ("mae", "mse", "rmse"):
        if params["average"] == "users":
            return statistics.fmean(error_of(metric, ratings) for ratings in groups)
        return error_of(metric, together)
    spread = statistics.pvariance([grade for _, grade in together])
    if spread == 0:
        return None
    if metric == "r2":
        return 1 - error_of("mse", together) / spread
    return 1 - statistics.pvariance([grade - score for score, grade in together]) / spread


def probability(score: float, scores: str) -> float:
    if scores == "logit":
        return 1 / (1 + math.exp(-score))
    assert 0 <= score <= 1, "no probability"
    return score


def log_loss(pairs: Sequence[tuple[float, bool]], eps: float) -> float:
    """Return the mean of -ln(probability of what happened)."""
    total = 0.0
    for predicted, is_relevant in pairs:
        kept = min(max(predicted, eps), 1 - eps)
        total -= math.log(kept if is_relevant else 1 - kept)
    return total / len(pairs)


def bins_of(
    pairs: Sequence[tuple[float, bool]], bins: str, n_bins: int
) -> list[list[tuple[float, bool]]]:
    found: dict[int, list[tuple[float, bool]]] = {}
    for pair in pairs:
        if bins == "equal_width":
            number = min(int(pair[0] * n_bins), n_bins - 1)
        else:
            smaller = sum(1 for other in pairs if other[0] < pair[0])
            number = smaller * n_bins // len(pairs)
        found.setdefault(number, []).append(pair)
    return list(found.values())


def calibration_error(pairs: Sequence[tuple[float, bool]], params: Mapping[str, Any]) -> float:
    gaps = []
    for members in bins_of(pairs, params["bins"], params["n_bins"]):
        mean = statistics.fmean(predicted for predicted, _ in members)
        share = statistics.fmean(float(is_relevant) for _, is_relevant in members)
        gaps.append((len(members) / len(pairs), abs(mean - share)))
    if params["norm"] == "max":
        return max(gap for _, gap in gaps)
    if params["norm"] == "l2":
        return math.sqrt(sum(weight * gap**2 for weight, gap in gaps))
    return sum(weight * gap for weight, gap in gaps)


def of_probabilities(
    metric: str, pairs: Sequence[tuple[float, bool]], params: Mapping[str, Any]
) -> float | None:
    """Compare probabilities with what happened."""
    if not pairs:
        return None
    rate = statistics.fmean(float(is_relevant) for _, is_relevant in pairs)
    if metric == "log_loss":
        return log_loss(pairs, params["eps"])
    if metric == "normalised_entropy":
        if rate in (0, 1):
            return None
        entropy_of_rate = -(rate * math.log(rate) + (1 - rate) * math.log(1 - rate))
        return log_loss(pairs, params["eps"]) / entropy_of_rate
    if metric == "brier":
        return statistics.fmean((predicted - is_relevant) ** 2 for predicted, is_relevant in pairs)
    if metric == "calibration_ratio":
        if rate == 0:
            return None
        return sum(predicted for predicted, _ in pairs) / sum(1 for _, hit in pairs if hit)
    if metric == "ece":
        return calibration_error(pairs, params)
    raise ValueError(metric)


def pr_auc_of(relevant: list[float], others: list[float]) -> float | None:
    """Add up precision times the recall that each threshold gains."""
    total, before = 0.0, 0.0
    for threshold in sorted({*relevant, *others}, reverse=True):
        hits = sum(1 for predicted in relevant if predicted >= threshold)
        false = sum(1 for predicted in others if predicted >= threshold)
        if not relevant:
            return None
        recall = hits / len(relevant)
        total += (recall - before) * hits / (hits + false)
        before = recall
    return total if relevant else None


# ---------------------------------------------------------------- exposure of items


def weight_of_place(place: int, params: Mapping[str, Any]) -> float:
    """Say what a place of a list, the first is 1, adds to the exposure of its item."""
    if params["weights"] == "geometric":
        return float(params["patience"] ** (place - 1))
    return {"none": 1.0, "log2": discounted(place, "log2_max2")}[params["weights"]]


def gini(exposures: list[float], divisor: str) -> float | None:
    """Return half the mean difference of two exposures, relative to the mean exposure."""
    n, total = len(exposures), math.fsum(exposures)
    differences = math.fsum(abs(a - b) for a in exposures for b in exposures)
    pairs = {"n": n, "n_minus_1": n - 1}[divisor]
    return differences / (2 * pairs * total) if pairs and total else None


def entropy(exposures: list[float], scale: str, n_catalogue: int) -> float | None:
    total = math.fsum(exposures)
    if not total:
        return None
    shares = [exposure / total for exposure in exposures]
    if scale == "nats":
        return -math.fsum(share * math.log(share) for share in shares)
    if scale == "nats_per_item":
        return -math.fsum(share * math.log(share) for share in shares) / len(shares)
    bits = -math.fsum(share * math.log2(share) for share in shares)
    if scale == "normalised":
        return bits / math.log2(n_catalogue) if n_catalogue > 1 else None
    return {"bits": bits, "effective": 2**bits}[scale]


def value_of_exposure(
    metric: str,
    lists: Iterable[list[Item]],
    catalogue: Iterable[Item],
    params: Mapping[str, Any],
) -> float | None:
    """Return a metric of how often items are in a list."""
    exposures: dict[Item, float] = {}
    for items in lists:
        for place, item in enumerate(items, start=1):
            if metric == "gini":
                weight = weight_of_place(place, params)
            else:
                weight = {"rows": 1.0, "lists": 1 / len(items)}[params["by"]]
            exposures[item] = exposures.get(item, 0) + weight
    if metric == "item_entropy":
        return entropy(list(exposures.values()), params["scale"], len(set(catalogue)))
    if params["population"] != "recommended":
        exposures = {item: exposures.get(item, 0) for item in catalogue}
    padding = [0.0] if params["population"] == "catalogue_plus_one" else []
    return gini([*exposures.values(), *padding], params["divisor"])


# ---------------------------------------------------------------- attributes of items


@dataclass
class Attributes:
    """What the table of items says; an item without the attribute is not a key."""

    price: dict[Item, float] = field(default_factory=dict)
    categories: dict[Item, set[Any]] = field(default_factory=dict)
    features: dict[Item, list[float]] = field(default_factory=dict)
    groups: dict[Item, set[Any]] = field(default_factory=dict)
    propensity: dict[Item, float] = field(default_factory=dict)
    targets: dict[Any, float] = field(default_factory=dict)  # of groups

    def vectors(self, over: str) -> dict[Item, Sequence[float]]:
        """Return a vector per item: its features, or 1 for every category that it has."""
        if over == "features":
            return dict(self.features)
        if over == "category":
            every = sorted({c for categories in self.categories.values() for c in categories})
            return {
                item: [1.0 if category in categories else 0.0 for category in every]
                for item, categories in self.categories.items()
            }
        raise ValueError(over)


def attributes_of(items: Iterable[tuple[Any, ...]]) -> Attributes:
    found = Attributes()
    for item, price, categories, features, propensity, *groups in items:
        if price is not None:
            found.price[item] = price
        if categories:
            found.categories[item] = set(categories)
        if features:
            found.features[item] = list(features)
        if groups and groups[0]:
            found.groups[item] = set(groups[0])
        if propensity is not None:
            found.propensity[item] = propensity
        if len(groups) > 1 and groups[1] is not None:
            found.targets |= dict.fromkeys(found.groups.get(item, ()), groups[1])
    return found


def with_attribute(
    items: Iterable[Item], values: Mapping[Item, Any], settings: Mapping[str, Any]
) -> list[Item]:
    """Return the items that have the attribute; the others are refused or left out."""
    items = list(items)
    known = [item for item in items if item in values]
    if len(known) < len(items) and settings["missing_attributes"] != "ignore":
        raise ValueError("an item lacks the attribute")
    return known


def hit_copies(items: list[Item], flags: list[bool], copies: list[Item]) -> list[Item]:
    """Return the item of every hit, as often as there are copies of it that can be hit."""
    return [
        item
        for item, hit in zip(items, flags, strict=True)
        if hit
        for _ in range(copies.count(item))
    ]


def sum_of(prices: Mapping[Item, float], items: Iterable[Item]) -> float:
    return math.fsum(prices[item] for item in items)


# ---------------------------------------------------------------- all users


def by_user(rows: Iterable[tuple[Any, ...]]) -> dict[User, list[tuple[Any, ...]]]:
    """Group rows by their first column, which is dropped; the order of rows is kept."""
    groups: dict[User, list[tuple[Any, ...]]] = {}
    for user, *rest in rows:
        groups.setdefault(user, []).append(tuple(rest))
    return groups


def audience_of(
    recommended: set[User],
    judged: set[User],
    relevant: set[User],
    baseline: set[User],
    settings: Mapping[str, Any],
) -> set[User]:
    """Return the users that the mean is taken over."""
    users = {
        "relevant": relevant,
        "recommended": recommended,
        "both": recommended & relevant,
        "either": recommended | relevant,
        "judged": judged,
        "baseline": baseline,
    }[settings["audience"]]
    if settings["no_recommendations"] == "drop":
        users = users & recommended
    if settings["no_relevant"] == "drop":
        users = users & relevant
    return users


def lists_of(
    rows: Iterable[tuple[Any, ...]],
    settings: Mapping[str, Any],
    k: int | None,
    largest_k: int | None,
    grades: Mapping[User, Mapping[Item, float]] | None = None,
) -> dict[User, list[Item]]:
    """Return the list of every user, cut to k; `grades` are those of relevant items."""
    lists = {}
    for user, of_user in by_user(rows).items():
        of_relevant = (grades or {}).get(user, {})
        items = [row[0] for row in ordered(with_rank(of_user), settings, of_relevant)]
        lists[user] = top(items, k, largest_k or k, settings["duplicate_recommendations"])
    return lists


def orders_of_ties(
    rows: Sequence[tuple[Any, ...]], settings: Mapping[str, Any]
) -> list[list[Item]]:
    """Return orders of one user's items in which each item of a tie has each place equally often.

    Ties are rotated. For a sum over places of gain times weight, the mean over these orders is the
    mean over all orders.
    """
    in_order = ordered(rows, settings)
    if settings["duplicate_recommendations"] == "dedup_then_cut":
        firsts: dict[Item, tuple[Any, ...]] = {}
        for row in in_order:
            firsts.setdefault(row[0], row)
        in_order = list(firsts.values())
    groups = [
        [row[0] for row in group]
        for _, group in itertools.groupby(
            in_order, key=lambda row: score_as_ordered(row[1], settings)
        )
    ]
    turns = range(math.lcm(*map(len, groups)))
    return [
        [item for group in groups for item in group[t % len(group) :] + group[: t % len(group)]]
        for t in turns
    ]


def catalogue_of(
    history: Iterable[tuple[User, Item]] | None,
    items: Iterable[tuple[Any, ...]] | None,
    settings: Mapping[str, Any],
) -> set[Item]:
    """Return the items that could have been recommended."""
    if settings["catalogue"] == "items":
        return {row[0] for row in items or []}
    return {item for _, item in history or []}


def with_rank(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [row if len(row) == 3 else (*row, None) for row in rows]


def scores_of(
    rows: Iterable[tuple[Any, ...]], settings: Mapping[str, Any]
) -> dict[User, dict[Item, float | None]]:
    """Return the score of every item of a list, that of its best copy."""
    scores: dict[User, dict[Item, float | None]] = {}
    for user, of_user in by_user(rows).items():
        scores[user] = {}
        for item, score, _ in ordered(with_rank(of_user), settings):
            scores[user].setdefault(item, score)
    return scores


@dataclass
class World:
    """The tables as they are looked up. `lists` and `baseline` are cut to k."""

    k: int | None
    lists: dict[User, list[Item]]
    whole: dict[User, list[Item]]
    scores: dict[User, dict[Item, float | None]]
    by_score: bool
    judged: dict[User, dict[Item, float | None]]
    pool: dict[User, set[Item]]
    relevant: dict[User, dict[Item, float]]
    relevant_copies: dict[User, list[Item]]  # every relevant row that can be hit
    n_relevant: dict[User, int]
    catalogue: set[Item]
    users_of: dict[Item, set[User]]  # of the history
    rows_of: dict[Item, int]  # likewise
    n_history_users: int
    attributes: Attributes
    aspects: Sequence[tuple[Any, ...]]
    baseline: dict[User, list[Item]]
    whole_baseline: dict[User, list[Item]]
    logs: dict[tuple[User, Item], tuple[float, float]]  # reward, propensity

    def matched(self, user: User, settings: Mapping[str, Any]) -> list[tuple[Item, float, float]]:
        """Return (item, predicted, relevance) of the recommended items that the user has judged."""
        found = []
        for rank, item in enumerate(self.lists.get(user, []), start=1):
            if item in self.judged.get(user, {}):
                relevance = self.judged[user][item]
                assert relevance is not None, "no column relevance"
                predicted = float(-rank)
                if self.by_score:
                    score = self.scores[user][item]
                    assert score is not None
                    predicted = score_as_ordered(score, settings)
                found.append((item, predicted, relevance))
        return found

    def predicted(self, user: User, rank: int, item: Item, settings: Mapping[str, Any]) -> float:
        if not self.by_score:
            return float(-rank)
        score = self.scores[user][item]
        assert score is not None
        return score_as_ordered(score, settings)

    def scored(self, user: User) -> list[tuple[Item, float, float]]:
        """Return (item, score, relevance) of the recommended items that the user has judged."""
        found = []
        for item in self.lists.get(user, []):
            if item in self.judged.get(user, {}):
                relevance, score = self.judged[user][item], self.scores[user][item]
                assert relevance is not None, "no column relevance"
                assert score is not None, "no column score"
                found.append((item, score, relevance))
        return found

    def ratings(self, params: Mapping[str, Any]) -> Iterable[list[Rating]]:
        """Return (score, relevance) of the items of each user with a list that are compared."""
        for user in self.lists:
            rows = self.scored(user)
            for item, relevance in self.judged.get(user, {}).items():
                if params["missing"] == "value" and item not in self.whole[user]:
                    assert relevance is not None, "no column"
                    rows.append((item, params["missing_value"], relevance))
            if params.get("rows") == "relevant":
                rows = [row for row in rows if row[0] in self.relevant.get(user, {})]
            yield [(score, relevance) for _, score, relevance in rows]

    def head(self, share: float) -> set[Item]:
        """Return the most popular items that together have this share of the history."""
        counts = {item: len(users) for item, users in self.users_of.items()}
        whole, above, found = sum(counts.values()), 0, set()
        for item in sorted(counts, key=lambda item: (-counts[item], item)):
            if Fraction(above) >= Fraction(str(round(share, 12))) * whole:
                break
            found.add(item)
            above += counts[item]
        return found

    def popularity_groups(self, head: float, tail: float) -> dict[Item, set[str]]:
        """Return the group of each item of the history; the others are in the tail."""
        popular, known = self.head(head), self.head(1 - tail) if tail < 1 else set()
        return {
            item: {"head" if item in popular else "middle" if item in known else "tail"}
            for item in self.users_of
        }

    def tail(self, params: Mapping[str, Any]) -> set[Item]:
        """Return the items of the history that are in the tail."""
        if params["tail_by"] == "pairs":
            return set(self.users_of) - self.head(params["head"])
        counts = {item: len(users) for item, users in self.users_of.items()}
        if params["counted"] == "rows":
            counts = self.rows_of
        if params["tail_by"] == "at_most":
            return {item for item, count in counts.items() if count <= params["at_most"]}
        rarest = sorted(counts, key=lambda item: (counts[item], item))
        return set(rarest[: max(math.floor(Fraction(str(params["tail"])) * len(rarest)), 1)])

    def others(self, user: User) -> set[Item]:
        """Return the items of the catalogue that are neither relevant nor in the user's history."""
        seen = {item for item, users in self.users_of.items() if user in users}
        return self.catalogue - seen - set(self.relevant.get(user, {}))

    def aspects_of(self, user: User) -> dict[Item, set[Any]]:
        found: dict[Item, set[Any]] = {}
        for *of_user, item, aspect in self.aspects:
            if of_user in ([], [user]):
                found.setdefault(item, set()).add(aspect)
        return found


def logged(
    rows: Iterable[tuple[Any, ...]],
) -> dict[tuple[User, Item], tuple[float, float]]:
    """Return (reward, propensity); without propensities, every item was as likely as any other."""
    rows = list(rows)
    n_items = len({item for _, item, *_ in rows})
    found: dict[tuple[User, Item], tuple[float, float]] = {}
    for user, item, reward, *propensity in rows:
        found[user, item] = (reward, *(propensity or [1 / n_items]))
    return found


def value_of_run(
    metric: str, world: World, params: Mapping[str, Any], settings: Mapping[str, Any]
) -> float | None:
    if metric in RATINGS:
        return error_of_ratings(metric, world.ratings(params), params)

    if metric in PROBABILITIES:
        pairs = [
            (probability(score, params["scores"]), item in world.relevant.get(user, {}))
            for user in world.lists
            for item, score, _ in world.scored(user)
        ]
        return of_probabilities(metric, pairs, params)

    if metric in ("auc", "pr_auc"):
        relevant, others = [], []
        for user in world.lists:
            for item, predicted, _ in world.matched(user, settings):
                of_kind = relevant if item in world.relevant.get(user, {}) else others
                of_kind.append(predicted)
        if metric == "pr_auc":
            return pr_auc_of(relevant, others)
        return pooled_auc(relevant, others)

    if metric == "attribute_shift":
        every = [item for items in world.lists.values() for item in items]
        with_attribute(every, values_of_items(world, params), settings)
        return attribute_shift(world, params)

    if metric == "group_popularity_lift":
        pairs = []
        for user, items in world.lists.items():
            seen = [item for item, users in world.users_of.items() if user in users]
            if items and seen:
                pairs.append(
                    tuple(
                        statistics.fmean(len(world.users_of.get(item, ())) for item in of_user)
                        for of_user in (items, seen)
                    )
                )
        listed, known = (
            (math.fsum(of_kind) for of_kind in zip(*pairs, strict=True)) if pairs else (0, 0)
        )
        return listed / known - 1 if pairs else None

    if metric == "inter_list_diversity":
        all_of_them(len(world.lists), params["sample_users"])
        return inter_list_diversity(list(world.lists.values()))

    rows = []
    for user, items in world.lists.items():
        for item in items:
            reward, propensity = world.logs.get((user, item), (None, 1))
            weight = 1 / propensity
            if params.get("max_weight") is not None:
                weight = min(weight, params["max_weight"])
            rows.append((world.scores[user][item], weight, reward))
    return from_logs(metric, rows, params)


def value_of_user(
    metric: str,
    user: User,
    world: World,
    k: int | None,
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> float | None:
    """Return the value of one user; None where the metric is undefined."""
    items = world.lists.get(user, [])
    relevant = world.relevant.get(user, {})
    copies = world.relevant_copies.get(user, [])
    price = world.attributes.price
    flags = hit_places(items, relevant, settings)

    if metric == "n_recommended":
        return len(items)

    if metric == "n_relevant":
        return world.n_relevant.get(user, 0)

    if metric in ("judged", "hole"):
        known = set(world.judged.get(user, {}))
        if params["scope"] == "run":
            known = {item for of_user in world.judged.values() for item in of_user}
        counted = [item for item in items if (item in known) == (metric == "judged")]
        size = len(items) if params["divisor"] == "length" or k is None else k
        return len(counted) / size if items else 0.0

    others = set(world.judged.get(user, {})) - set(relevant)  # judged not relevant
    if metric == "bpref":
        return bpref(items, relevant, others, world.n_relevant.get(user, 0), params)

    if metric == "fallout":
        if params["nonrelevant"] == "judged":
            shown, of_all = len(others & set(items)), len(others)
        else:
            of_catalogue = world.catalogue - set(relevant)
            shown, of_all = len(of_catalogue & set(items)), len(of_catalogue)
        return fallout(shown, of_all, params["no_nonrelevant"])

    if metric in ("accuracy", "mcc"):
        of_catalogue = world.catalogue - set(relevant)
        missing = 0 if params["short_lists"] == "as_is" or k is None else k - len(items)
        tp, n_relevant = flags.count(True), world.n_relevant.get(user, 0)
        fp, fn = len(of_catalogue & set(items)) + missing, n_relevant - tp
        tn = max(len(of_catalogue) - fp, 0)
        if metric == "accuracy":
            return (tp + tn) / (tp + fp + fn + tn)
        root = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        return (tp * tn - fp * fn) / root if root else 0.0

    if metric == "rbp":  # the residual: what unjudged items and all items below could add
        known = world.judged.get(user, {})
        p = params["p"]
        unknown = [p**place for place, item in enumerate(items) if item not in known]
        return (1 - p) * math.fsum(unknown) + p ** len(items)

    if metric == "inf_ap":
        return inf_ap(items, world.pool.get(user, set()), relevant, others)

    if metric == "cwl":
        highest = params["max_grade"]
        gains = []
        for item, hit in zip(items, flags, strict=True):
            gain = 0.0
            if hit and params["gain"] == "binary":
                gain = 1.0
            elif hit and highest:
                gain = relevant[item] / highest
            gains.append(gain)
        return cwl(gains, k, params)

    if metric == "gauc":
        n_relevant = world.n_relevant.get(user, 0)
        return gauc(items, set(relevant), n_relevant, world.others(user), params)

    if metric in ("pairwise_accuracy", "ndpm"):
        judged = world.judged.get(user, {})
        compared = []
        for rank, item in enumerate(items, start=1):
            if item in judged or params["among"] == "list":
                grade = judged.get(item) or 0.0
                if params["pairs"] == "binary":
                    grade = 1.0 if item in relevant else 0.0
                compared.append((world.predicted(user, rank, item, settings), grade))
        return pairwise_accuracy(compared) if metric == "pairwise_accuracy" else ndpm(compared)

    if metric in ("mean_rank", "first_rank", "percentile_rank"):
        # with every copy of a relevant row that can be hit
        ranks: list[float] = [
            rank
            for rank, (item, hit) in enumerate(zip(items, flags, strict=True), start=1)
            if hit
            for _ in range(copies.count(item))
        ]
        if params.get("unlisted") == "catalogue_mean":
            behind = (len(items) + 1 + len(world.catalogue)) / 2
            ranks += [behind] * (world.n_relevant.get(user, 0) - len(ranks))
        if not ranks:
            return None
        if metric == "first_rank":
            return min(ranks)
        mean = statistics.fmean(ranks)
        if params.get("mean") == "geometric":
            return math.prod(ranks) ** (1 / len(ranks))
        return mean if metric == "mean_rank" else 100 * (mean - 1) / len(world.catalogue)

    if metric == "relevance_position":
        places = enumerate(zip(items, flags, strict=True), start=1)
        weights = [(rank, relevant[item]) for rank, (item, hit) in places if hit]
        whole = sum(grade for _, grade in weights)
        return sum(rank * grade for rank, grade in weights) / whole if whole else None

    if metric in ("lrap", "coverage_error", "ranking_loss"):
        ranked = enumerate(zip(items, flags, strict=True), start=1)
        labels = [
            (world.predicted(user, rank, item, settings), hit) for rank, (item, hit) in ranked
        ]
        return of_labels(metric, labels)

    # What a user's relevant items decide, whether or not the user has a list.
    if metric in OF_ASPECTS:
        aspects = world.aspects_of(user)
        with_attribute(relevant, aspects, settings)
        if metric in ("alpha_ndcg", "err_ia", "nrbp"):
            return gain_of_aspects(metric, items, flags, relevant, aspects, k, params)
        of_all = len({row[-1] for row in world.aspects})
        n_aspects = of_all if params.get("divisor") == "all" else None
        return value_of_aspects(metric, items, flags, relevant, aspects, k, n_aspects)

    if metric in WEIGHTED:
        weighted = list(relevant)
        if params["propensity"] == "column":
            weighted = with_attribute(relevant, world.attributes.propensity, settings)
        weights = {item: weight_of(item, world, params) for item in weighted}
        return value_of_weights(metric, items, flags, weights, k, params)

    if metric == "money_recall":
        priced = with_attribute(copies, price, settings)
        if sum_of(price, priced) == 0:
            return None
        return sum_of(price, hit_copies(items, flags, priced)) / sum_of(price, priced)

    if metric in ("kendall_tau", "spearman_rho", "pearson"):
        pairs = [(predicted, grade) for _, predicted, grade in world.matched(user, settings)]
        if metric == "pearson":
            return pearson(pairs)
        if metric == "spearman_rho":
            return spearman_rho(pairs)
        return kendall_tau(pairs, params["variant"])

    if metric == "intra_list_diversity":
        drawn = params["sample_users"]
        all_of_them(len(world.lists), drawn and drawn * params["runs"])
        if params["over"] == "history":
            everybody = sorted(
                {user for of_item in world.users_of.values() for user in of_item}, key=str
            )
            vectors = {
                item: [1.0 if user in world.users_of.get(item, ()) else 0.0 for user in everybody]
                for item in items
            }
        else:
            vectors = world.attributes.vectors(params["over"])
        known = with_attribute(items, vectors, settings)
        if len(items) == 1 and params["single"] == "zero":
            return 0.0
        return mean_distance([vectors[item] for item in known], params["distance"])

    if metric in ("unseen", "category_coverage", "category_entropy", "calibration"):
        return value_of_contents(metric, user, items, world, k, params, settings)

    if metric in ("awrf", "ndkl"):
        return value_of_targets(metric, items, world, params, settings)

    if metric == "compat":
        return compat(items, flags, relevant, k, params)

    if metric in ("overlap", "rbo", "popularity_lift", "least_item_promoted"):
        return value_of_comparison(metric, user, items, world, k, params)

    if not items and of_all_items(params) and settings["no_hits"] == "drop":
        return None

    if not items:
        return None if metric in ("popularity", "unrepeated", "tail_share") else 0.0

    if metric in ("epc", "efd"):
        counted = [True] * len(items) if of_all_items(params) else flags
        return novelty(metric, items, counted, world, params)

    if metric == "serendipity":
        counted = [True] * len(items) if of_all_items(params) else flags
        return serendipity(items, counted, user, world, params)

    if metric in ("tail_share", "tail_count"):
        tail = world.tail(params)
        n_tail = len(
            [
                item
                for item in items
                if item in tail or (item not in world.users_of and params["no_history"] == "tail")
            ]
        )
        return n_tail / len(items) if metric == "tail_share" else n_tail

    positions = len(items) if k is None else k
    if metric == "user_coverage":
        at_least = positions if params["at_least"] in (None, "none") else params["at_least"]
        return float(len(items) >= at_least)

    if metric == "sufficient":
        filled = len(items) / positions
        return filled if params["deep"] == "true" else float(filled == 1)

    if metric == "unrepeated":
        different = len(set(items)) / len(items)
        return different if params["deep"] == "true" else float(different == 1)

    if metric == "money_precision":
        priced = with_attribute(items, price, settings)
        if sum_of(price, priced) == 0:
            return None
        bought = [item for item in copies if item in price]
        return sum_of(price, hit_copies(items, flags, bought)) / sum_of(price, priced)

    if metric == "roc_auc":
        return roc_auc(flags)

    if metric in ("err", "pfound"):
        highest = params["max_grade"]
        if highest is None:
            grades = [grade for of_user in world.relevant.values() for grade in of_user.values()]
            highest = max(grades, default=0)
        stops = stop_probabilities(items, flags, relevant, highest, params["stop"])
        return err(stops) if metric == "err" else pfound(stops, params["break_probability"])

    n_users = world.n_history_users
    if metric == "popularity":
        counts = world.rows_of
        if params["counted"] == "users":
            counts = {item: len(users) for item, users in world.users_of.items()}
        if params["scale"] == "rank":
            return statistics.fmean(quantiles(counts).get(item, 0.0) for item in items)
        n_all = {"users": n_users, "rows": sum(world.rows_of.values())}[params["counted"]]
        mean = statistics.fmean(counts.get(item, 0) for item in items)
        return mean / {"share": n_all, "count": 1}[params["scale"]]

    divisor = {"length": len(items), "k": len(items) if k is None else k}[params["divisor"]]
    if metric == "surprisal":
        bits = [math.log2(n_users / max(1, len(world.users_of.get(i, set())))) for i in items]
        if params["scale"] == "normalized":
            if n_users == 1:
                return None  # nothing can be surprising: 0/0
            bits = [of_item / math.log2(n_users) for of_item in bits]
        return math.fsum(bits) / divisor

    if metric == "unexpectedness":
        if user not in world.baseline:
            return {"one": 1.0, "zero": 0.0}[params["no_baseline"]]
        return 1 - len(set(items) & set(world.baseline.get(user, []))) / divisor

    raise ValueError(metric)


def weight_of(item: Item, world: World, params: Mapping[str, Any]) -> float:
    """Return 1 / propensity of a relevant item."""
    n_users = len(world.users_of.get(item, ()))
    model = params.get("propensity", "jain")
    if model == "column":
        weight = 1 / world.attributes.propensity[item]
    elif model == "jain":
        ratio = (params["b"] + 1) / (n_users + params["b"])
        weight = 1 + (math.log(world.n_history_users) - 1) * ratio ** params["a"]
    else:
        power = (params["gamma"] + 1) / 2 if model == "power" else 1
        whole = math.fsum(len(users) ** power for users in world.users_of.values())
        weight = whole / max(n_users, 1) ** power
    largest = params.get("max_weight")
    return weight if largest is None else min(weight, largest)


def weighted_sums(
    items: list[Item], flags: list[bool], weights: Mapping[Item, float], k: int | None
) -> tuple[list[float], list[float]]:
    """Return the weights of the list, 0 for a miss, and those of the best list."""
    gained = [
        weights.get(item, 0.0) if hit else 0.0 for item, hit in zip(items, flags, strict=True)
    ]
    return gained, sorted(weights.values(), reverse=True)[:k]


def dcg_of(weights: Iterable[float]) -> float:
    return math.fsum(weight / math.log2(rank + 1) for rank, weight in enumerate(weights, start=1))


def value_of_weights(
    metric: str,
    items: list[Item],
    flags: list[bool],
    weights: Mapping[Item, float],
    k: int | None,
    params: Mapping[str, Any],
) -> float | None:
    """Return the value of a metric of hits that weigh 1 / propensity."""
    if not weights:
        return None
    if metric == "effective_relevant":
        squares = math.fsum(weight**2 for weight in weights.values())
        return math.fsum(weights.values()) ** 2 / squares
    gained, best = weighted_sums(items, flags, weights, k)
    total = math.fsum(gained) if metric == "ips_recall" else dcg_of(gained)
    if params["divisor"] == "one":
        return total
    if params["divisor"] == "relevant":
        return total / len(weights)
    if params["divisor"] == "weights":
        return total / math.fsum(weights.values())
    return total / dcg_of(best)


def propensity_scored(
    metric: str,
    users: Iterable[User],
    world: World,
    k: int | None,
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> float | None:
    """Divide the weights of the hits of all users by the largest weights that lists can have."""
    total = attainable = 0.0
    for user in users:
        relevant = world.relevant.get(user, {})
        if not relevant:
            continue
        items = world.lists.get(user, [])
        weights = {item: weight_of(item, world, params) for item in relevant}
        gained, best = weighted_sums(items, hit_places(items, relevant, settings), weights, k)
        if metric == "psp":
            total += math.fsum(gained)
            attainable += math.fsum(best)
        else:
            whole = dcg_of([1.0] * len(best))
            total += dcg_of(gained) / whole
            attainable += dcg_of(best) / whole
    return total / attainable if attainable else None


def quartile(numbers: list[int], share: float) -> float:
    """Return a quartile, between two numbers on the line from one to the other."""
    place = Fraction(str(share)) * (len(numbers) - 1)
    below = math.floor(place)
    above = min(below + 1, len(numbers) - 1)
    low, high = sorted(numbers)[below], sorted(numbers)[above]
    return float(low + (place - below) * (high - low))


def debiased(
    users: Iterable[User],
    world: World,
    k: int | None,
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> float | None:
    """Average over all subsets of the relevant items of a user that sampling can leave."""
    n_users: dict[Item, int] = {}
    for of_user in world.relevant.values():
        for item in of_user:
            n_users[item] = n_users.get(item, 0) + 1
    if not n_users:
        return None
    first, third = (quartile(list(n_users.values()), share) for share in (0.25, 0.75))
    border = math.floor(third + params["iqr_coef"] * (third - first))
    total = left_over = 0.0
    for user in users:
        items = world.lists.get(user, [])
        relevant = list(world.relevant.get(user, {}))
        flags = hit_places(items, world.relevant.get(user, {}), settings)
        for kept in itertools.product([True, False], repeat=len(relevant)):
            left = {item for item, stays in zip(relevant, kept, strict=True) if stays}
            chance = 1.0
            for item in relevant:
                share = min(border / n_users[item], 1.0)
                chance *= share if item in left else 1 - share
            if not left or not chance:
                continue
            hits = [hit and item in left for item, hit in zip(items, flags, strict=True)]
            positions = len(items) if k is None else k
            values = {
                "recall": sum(hits) / len(left),
                "precision": sum(hits) / max(positions, 1),
                "ndcg": dcg_of(map(float, hits)) / (dcg_of([1.0] * positions) or 1),
                "hit_rate": float(any(hits)),
            }
            left_over += chance
            total += chance * values[params["of"]]
    return total / left_over if left_over else None


def value_of_aspects(
    metric: str,
    items: list[Item],
    flags: list[bool],
    relevant: Mapping[Item, float],
    aspects: Mapping[Item, set[Any]],
    k: int | None,
    n_aspects: int | None,
) -> float | None:
    """Return the value of a metric that looks at each aspect of the relevant items."""
    every = {aspect for item in relevant for aspect in aspects.get(item, ())}
    if not every:
        return None
    if not items:
        return 0.0
    hits = [
        (rank, aspects.get(item, set()))
        for rank, (item, hit) in enumerate(zip(items, flags, strict=True), start=1)
        if hit
    ]
    total = 0.0
    for aspect in every:
        ranks = [rank for rank, of_item in hits if aspect in of_item]
        n_relevant = sum(aspect in aspects.get(item, ()) for item in relevant)
        if metric == "subtopic_recall":
            total += bool(ranks)
        elif metric == "p_ia":
            total += len(ranks) / (len(items) if k is None else k)
        else:
            total += sum((n + 1) / rank for n, rank in enumerate(ranks)) / n_relevant
    return total / (n_aspects or len(every))


def of_all_items(params: Mapping[str, Any]) -> bool:
    """Return whether a metric of hits counts all items of the list instead."""
    return params.get("relevance") == "none"


def quantiles(counts: Mapping[Item, int]) -> dict[Item, float]:
    """Return the mean place of each item, the least popular first, as a share of their number."""
    found = {}
    for item, count in counts.items():
        below = len([other for other in counts.values() if other < count])
        equal = len([other for other in counts.values() if other == count])
        found[item] = (below + (1 + equal) / 2) / len(counts)
    return found


def novelty(
    metric: str, items: list[Item], counted: list[bool], world: World, params: Mapping[str, Any]
) -> float:
    """Return the discounted mean of the novelty of the counted items of a list."""
    n_pairs = sum(map(len, world.users_of.values()))
    total = whole = 0.0
    for rank, (item, counts) in enumerate(zip(items, counted, strict=True), start=1):
        weight = weight_of_rank(rank, params)
        n_users = len(world.users_of.get(item, ()))
        if metric == "epc":
            new = 1 - n_users / world.n_history_users
        else:
            new = math.log2(n_pairs / max(n_users, 1))
        whole += weight
        total += weight * new if counts else 0
    return total / whole


def serendipity(
    items: list[Item], counted: list[bool], user: User, world: World, params: Mapping[str, Any]
) -> float | None:
    """Return the mean surprise of the counted items of a list."""
    counts = {item: len(users) for item, users in world.users_of.items()}
    popular = world.rows_of if params["counted"] == "rows" else counts
    most_first = sorted(set(popular.values()), reverse=True)
    n_items = len(world.catalogue)
    seen = [item for item, users in world.users_of.items() if user in users]
    summed = params["combined"] == "sum"
    if summed and not seen:
        return None
    # the sum of similarities, or of 1 - similarity
    sign, shift = -1, 0 if summed else 1
    total = 0.0
    for rank, (item, counts_here) in enumerate(zip(items, counted, strict=True), start=1):
        if not counts_here:
            continue
        if params["against"] == "popularity":
            place = most_first.index(popular[item]) + 1 if item in popular else n_items + 1
            total += max(min(place, n_items + 1) - rank, 0) / n_items
            continue
        theirs = world.users_of.get(item, set())
        if params["over"] != "history":
            vectors = world.attributes.vectors(params["over"])
            if item in vectors:
                known = [vectors[other] for other in seen if other in vectors]
                similar = [cosine(vectors[item], other) for other in known]
                total += sign * (mean_of(similar) - shift)
            continue
        similar = [
            len(theirs & world.users_of[other]) / math.sqrt(len(theirs) * counts[other])
            for other in seen
            if theirs
        ]
        total += sign * (mean_of(similar) - shift)
    return 1 + total if summed else total / len(items)


def mean_of(numbers: list[float]) -> float:
    return statistics.fmean(numbers) if numbers else 0.0


def value_of_comparison(
    metric: str,
    user: User,
    items: list[Item],
    world: World,
    k: int | None,
    params: Mapping[str, Any],
) -> float | None:
    """Return the value of a metric that compares a list with a baseline list or the history."""
    if metric == "popularity_lift":
        seen = [item for item, users in world.users_of.items() if user in users]
        if not items or not seen:
            return None
        listed = statistics.fmean(len(world.users_of.get(item, ())) for item in items)
        return listed / statistics.fmean(len(world.users_of[item]) for item in seen) - 1
    baseline = world.baseline.get(user, [])
    if items and not baseline and params.get("no_baseline") == "zero":
        return 0.0
    if not items or not baseline:
        return None
    if metric == "least_item_promoted":
        ranks = [
            world.whole_baseline[user].index(item) + 1
            for item in items
            if item in world.whole_baseline[user]
        ]
        last = len(items) if k is None else k
        return max([last, *ranks]) - last
    longer = max(len(items), len(baseline))
    if metric == "overlap":
        if params["baseline_k"] is not None:
            baseline = world.whole_baseline[user][: params["baseline_k"]]
        longer = max(len(items), len(baseline))
        common = set(items) & set(baseline)
        sizes = {
            "baseline": len(baseline),
            "length": len(items),
            "union": len(set(items) | set(baseline)),
            "k": longer if k is None else k,
        }
        return len(common) / sizes[params["divisor"]]
    weights = [params["p"] ** (depth - 1) for depth in range(1, longer + 1)]
    shares = [
        len(set(items[:depth]) & set(baseline[:depth])) / depth for depth in range(1, longer + 1)
    ]
    agreed = math.fsum(w * share for w, share in zip(weights, shares, strict=True))
    p, kind = params["p"], params["normalise"]
    if kind == "depths":
        return agreed / math.fsum(weights)
    if kind in ("none", "minimum") and p == 1:
        return 0.0
    if kind == "none":
        return agreed * (1 - p)

    def in_both(depth: int) -> int:
        return len(set(items[:depth]) & set(baseline[:depth]))

    if kind == "minimum":  # items below the lists are never the same
        below = math.fsum(p ** (depth - 1) / depth for depth in range(longer + 1, longer + 2000))
        return (1 - p) * (agreed + in_both(longer) * below)
    shorter = min(len(items), len(baseline))
    at_end = in_both(shorter) / shorter
    unknown = math.fsum(
        p ** (depth - 1) * at_end * (depth - shorter) / depth
        for depth in range(shorter + 1, longer + 1)
    )
    rest = (in_both(longer) - in_both(shorter)) / longer + at_end
    return (1 - p) * (agreed + unknown) + rest * p**longer


def compat(
    items: list[Item],
    flags: list[bool],
    relevant: Mapping[Item, float],
    k: int | None,
    params: Mapping[str, Any],
) -> float:
    """Compare a list with the relevant items, the best grade first, then in the list's order."""
    places: dict[Item, int] = {}
    for place, (item, hit) in enumerate(zip(items, flags, strict=True)):
        if hit:
            places.setdefault(item, place)
    ideal = sorted(relevant, key=lambda item: (-relevant[item], places.get(item, len(items))))
    ideal = ideal[:k]
    depths = range(1, max(len(items), len(ideal)) + 1)
    weights = [params["p"] ** (depth - 1) for depth in depths]

    def overlap(one: list[Item]) -> float:
        shares = (len(set(one[:depth]) & set(ideal[:depth])) / depth for depth in depths)
        return math.fsum(w * share for w, share in zip(weights, shares, strict=True))

    if not ideal:
        return 0.0
    return overlap(items) / (
        overlap(ideal) if params["normalise"] == "ideal" else math.fsum(weights)
    )


def values_of_items(world: World, params: Mapping[str, Any]) -> dict[Item, set[Any]]:
    """Return the values of an attribute of each item."""
    attribute = params.get("attribute", "category")
    if attribute == "popularity":
        listed = {item: {"tail"} for items in world.lists.values() for item in items}
        return listed | world.popularity_groups(params["head"], params["tail"])
    return world.attributes.groups if attribute == "group" else world.attributes.categories


def attribute_shift(world: World, params: Mapping[str, Any]) -> float | None:
    """Compare the categories of all lists with those in the history of their users."""
    categories = values_of_items(world, params)
    listed = [item for items in world.lists.values() for item in items if item in categories]
    known = [
        item
        for item, users in world.users_of.items()
        for user in users
        if item in categories and world.lists.get(user)
    ]
    if not listed or not known:
        return None
    p, q = (shares_of((1.0, categories[item]) for item in items) for items in (known, listed))
    return divergence(p, q, params)


def shares_of(weights: Iterable[tuple[float, set[Any]]]) -> dict[Any, float]:
    """Return the share of each category, from weights of items and their categories."""
    found: dict[Any, float] = {}
    for weight, categories in weights:
        for category in categories:
            found[category] = found.get(category, 0) + weight / len(categories)
    whole = math.fsum(found.values())
    return {category: weight / whole for category, weight in found.items()}


def divergence(p: Mapping[Any, float], q: Mapping[Any, float], params: Mapping[str, Any]) -> float:
    """Compare the shares in the history, p, and in the list, q, category by category."""
    pairs = [(p.get(c, 0.0), q.get(c, 0.0)) for c in sorted({*p, *q}, key=str)]
    if params["divergence"] == "kl":
        a = params["smoothing"]
        return math.fsum(x * math.log(x / ((1 - a) * y + a * x)) for x, y in pairs if x)
    if params["divergence"] == "tv":
        return math.fsum(abs(x - y) for x, y in pairs) / 2
    if params["divergence"] == "hellinger":
        return math.sqrt(math.fsum((math.sqrt(x) - math.sqrt(y)) ** 2 for x, y in pairs) / 2)
    a = params.get("js_smoothing", 0)
    mixed = [((1 - a) * x + a * y, (1 - a) * y + a * x) for x, y in pairs]
    halves = [one * math.log2(2 * one / (x + y)) for x, y in mixed for one in (x, y) if one]
    js = math.fsum(halves) / 2
    return math.sqrt(round(abs(js), 14)) if params["divergence"] == "js_distance" else js


def value_of_contents(
    metric: str,
    user: User,
    items: list[Item],
    world: World,
    k: int | None,
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> float | None:
    """Return the value of a metric that compares a list with the history or with categories."""
    seen = {item for item, users in world.users_of.items() if user in users}
    if metric == "unseen":
        if not items or (not seen and params["no_history"] == "undefined"):
            return None
        return 1 - len(seen & set(items)) / len(items)
    categories = values_of_items(world, params)
    with_attribute(items, categories, settings)
    places = [(rank, item) for rank, item in enumerate(items, start=1) if item in categories]
    if not places:
        return None
    every = {one for of_item in categories.values() for one in of_item}
    if metric == "category_coverage":
        here = {one for _, item in places for one in categories[item]}
        positions = len(items) if k is None else k
        sizes = {
            "k": positions,
            "length": len(items),
            "min_k_categories": min(positions, len(every)),
            "categories": len(every),
        }
        return len(here) / sizes[params["divisor"]]
    weight_of: dict[str, Callable[[int], float]] = {
        "none": lambda _: 1.0,
        "log2": lambda rank: 1 / math.log2(rank + 1),
        "geometric": lambda rank: params["patience"] ** (rank - 1),
    }
    weigh = weight_of[params["rank_weight"]]
    listed = shares_of((weigh(rank), categories[item]) for rank, item in places)
    if metric == "calibration":
        before = shares_of((1.0, categories[item]) for item in seen if item in categories)
        return divergence(before, listed, params) if before else None
    if params["smoothing"]:
        shared = [(weigh(rank) / len(categories[item]), one)
                  for rank, item in places for one in categories[item]]  # fmt: skip
        sums = [
            math.fsum(w for w, one in shared if one == wanted) + params["smoothing"]
            for wanted in every
        ]
        listed = {one: total / math.fsum(sums) for one, total in enumerate(sums)}
    bits = -math.fsum(share * math.log2(share) for share in listed.values())
    if params["scale"] == "effective":
        return 2**bits
    if params["scale"] == "normalised":
        return bits / math.log2(len(every)) if len(every) > 1 else None
    return bits


def groups_of(
    world: World, wanted: Iterable[Item], params: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[Item, set[Any]]:
    """Return the groups of the items of the catalogue; `wanted` are items that need one."""
    if params["groups"] == "items":
        return {item: {item} for item in world.catalogue}
    if params["groups"] == "popularity":
        head = world.head(params["head"])
        return {item: {"head" if item in head else "tail"} for item in world.catalogue}
    known = world.attributes.groups
    with_attribute(wanted, known, settings)
    return {item: groups for item, groups in known.items() if item in world.catalogue}


def value_of_targets(
    metric: str,
    items: list[Item],
    world: World,
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> float | None:
    """Compare the groups of the items of a list with the shares that they should have."""
    groups = groups_of(world, items, params, settings)
    if params["target"] == "given":
        given = world.attributes.targets
        with_attribute({g for of_item in groups.values() for g in of_item}, given, settings)
        groups = {i: of_item & set(given) for i, of_item in groups.items() if of_item & set(given)}
        of_catalogue = {group: given[group] for of_item in groups.values() for group in of_item}
        if not any(of_catalogue.values()):
            return None
        whole = math.fsum(of_catalogue.values())
        targets = {group: target / whole for group, target in of_catalogue.items()}
    else:
        targets = shares_of((1.0, of_item) for of_item in groups.values())
    if params["target"] == "equal":
        targets = {group: 1 / len(targets) for group in targets}
    if params["target"] == "history":
        counts = [(float(len(world.users_of.get(item, ()))), groups[item]) for item in groups]
        if not any(n for n, _ in counts):
            return None
        targets = shares_of(counts)
    places = [(rank, groups[item]) for rank, item in enumerate(items, start=1) if item in groups]
    if not places:
        return None

    if (metric == "ndkl" or params["divergence"] == "kl") and any(
        not targets[group] for _, of_item in places for group in of_item
    ):
        return None  # infinite

    def compare(weights: Iterable[tuple[float, set[Any]]], kind: str) -> float:
        return divergence(shares_of(weights), targets, {"divergence": kind, "smoothing": 0})

    if metric == "awrf":
        weights = ((weight_of_rank(rank, params), of_item) for rank, of_item in places)
        return compare(weights, params["divergence"])
    total = whole = 0.0
    for place, (rank, _) in enumerate(places, start=1):
        weight = 1 / math.log2(rank + 1)
        whole += weight
        total += weight * compare(((1.0, of_item) for _, of_item in places[:place]), "kl")
    return total / whole


def value_of_groups(
    metric: str,
    world: World,
    users: Iterable[User],
    relevant: Mapping[User, list[Item]],
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> float | None:
    """Compare the values of groups of items, over the users of the audience."""
    wanted = [item for items in world.lists.values() for item in items]
    if metric not in OF_RECOMMENDED:
        wanted += [item for items in relevant.values() for item in items]
    groups = groups_of(world, wanted, params, settings)
    if metric == "expected_exposure":
        return expected_exposure(groups, world, users, relevant, params)
    if metric == "iaa":
        attention = [
            (weight_of_rank(rank, params), groups[item])
            for user in users
            for rank, item in enumerate(world.lists.get(user, []), start=1)
            if item in groups
        ]
        wanted_groups = [groups[i] for user in users for i in relevant.get(user, []) if i in groups]
        if not attention or not wanted_groups:
            return None
        given, due = shares_of(attention), shares_of((1.0, one) for one in wanted_groups)
        return math.fsum(abs(given.get(g, 0) - due.get(g, 0)) for g in {*given, *due})
    if metric == "pairwise_parity":
        return pairwise_parity(groups, world, users, params)
    if metric == "bias_disparity":
        return bias_disparity(groups, world, users, params)
    totals = {group: [0.0, 0.0] for of_item in groups.values() for group in of_item}

    def add(place: int, item: Item, weight: float) -> None:
        for group in groups.get(item, ()):
            totals[group][place] += weight / len(groups[item])

    if metric == "exposure_parity":
        for item in groups:
            add(1, item, 1)
    for user in users:
        items = world.lists.get(user, [])
        of_user = relevant.get(user, [])
        seen = {item for item, theirs in world.users_of.items() if user in theirs}
        times = [1] * len(items)
        if metric in ("gain_utility", "equal_opportunity"):
            flags = hit_places(items, world.relevant.get(user, {}), settings)
            copies = world.relevant_copies.get(user, [])
            times = [
                copies.count(item) if hit else 0 for item, hit in zip(items, flags, strict=True)
            ]
        for place, (item, n) in enumerate(zip(items, times, strict=True), start=1):
            add(0, item, n * weight_of_rank(place, params))
        if metric == "statistical_parity":
            of_user = [item for item in groups if item not in seen]
        elif params.get("seen_items") == "drop":
            of_user = [item for item in of_user if item not in seen]
        if metric != "exposure_parity":
            for item in of_user:
                add(1, item, 1)
    values = [gained / size for gained, size in totals.values() if size]
    return statistic_of_groups(values, params["statistic"])


def expected_exposure(
    groups: Mapping[Item, set[Any]],
    world: World,
    users: Iterable[User],
    relevant: Mapping[User, list[Item]],
    params: Mapping[str, Any],
) -> float | None:
    """Compare the mean exposure of groups with that in lists of relevant items in random order."""
    everybody = list(users)
    given, ideal = ({group: 0.0 for of_item in groups.values() for group in of_item} for _ in "ab")
    for user in everybody:
        for rank, item in enumerate(world.lists.get(user, []), start=1):
            for group in groups.get(item, ()):
                given[group] += weight_of_rank(rank, params) / len(groups[item])
        wanted = relevant.get(user, [])
        weights = [weight_of_rank(rank, params) for rank in range(1, len(wanted) + 1)]
        for item in wanted:
            for group in groups.get(item, ()):
                mean = math.fsum(weights[: world.k]) / len(wanted)
                ideal[group] += mean / len(groups[item])
    if not any(given.values()) or (params["part"] != "disparity" and not any(ideal.values())):
        return None
    n = len(everybody)
    pairs = [(given[group] / n, ideal[group] / n) for group in given]
    return math.fsum(
        {"loss": (x - y) ** 2, "disparity": x * x, "relevance": 2 * x * y}[params["part"]]
        for x, y in pairs
    )


def pairwise_parity(
    groups: Mapping[Item, set[Any]],
    world: World,
    users: Iterable[User],
    params: Mapping[str, Any],
) -> float | None:
    """Compare how often the groups are above others in a list, pair by pair of its items."""
    above: dict[Any, Fraction] = {}
    pairs: dict[Any, Fraction] = {}
    for user in users:
        items = [item for item in world.lists.get(user, []) if item in groups]
        for high, low in itertools.combinations(items, 2):
            for group in groups[high] | groups[low]:
                p, q = (
                    Fraction(int(group in groups[item]), len(groups[item])) for item in (high, low)
                )
                above[group] = above.get(group, Fraction()) + p * (1 - q)
                pairs[group] = pairs.get(group, Fraction()) + p * (1 - q) + q * (1 - p)
    values = [float(above[group] / n) for group, n in pairs.items() if n]
    return statistic_of_groups(values, params["statistic"])


def bias_disparity(
    groups: Mapping[Item, set[Any]],
    world: World,
    users: Iterable[User],
    params: Mapping[str, Any],
) -> float | None:
    """Compare the shares of groups in the lists with those in the history of the same users."""
    everybody = list(users)
    listed = [item for user in everybody for item in world.lists.get(user, []) if item in groups]
    known = [
        item
        for item, theirs in world.users_of.items()
        for user in everybody
        if item in groups and user in theirs
    ]
    if not listed or not known:
        return None
    p, q = (shares_of((1.0, groups[item]) for item in items) for items in (known, listed))
    disparities = [q.get(group, 0.0) / share - 1 for group, share in p.items()]
    return {
        "mean_abs": statistics.fmean(map(abs, disparities)),
        "max_abs": max(map(abs, disparities)),
        "max": max(disparities),
        "min": min(disparities),
    }[params["statistic"]]


def weight_of_rank(rank: int, params: Mapping[str, Any]) -> float:
    """Say how much an item at a rank counts; 1 for metrics without a discount."""
    discount = params.get("discount", "none")
    if discount == "geometric":
        return float(params["patience"] ** (rank - 1))
    if discount == "rbp":
        return float((1 - params["patience"]) * params["patience"] ** (rank - 1))
    return 1.0 if discount == "none" else discounted(rank, discount)


def statistic_of_groups(values: list[float], statistic: str) -> float | None:
    if len(values) < 2 or not any(values):
        return None
    low, high, mean = min(values), max(values), statistics.fmean(values)
    variance = statistics.pvariance(values)
    return {
        "min_max_ratio": low / high,
        "max_min_ratio": high / low if low else None,
        "max_min_difference": high - low,
        "mean_abs_deviation": statistics.fmean(abs(value - mean) for value in values),
        "variance": variance,
        "std_over_mean": math.sqrt(variance) / mean,
    }[statistic]


def has_hit(
    metric: str,
    items: list[Item],
    relevant: Mapping[Item, float],
    n_relevant: int,
    aspects: Mapping[Item, set[Any]],
) -> bool:
    """Say whether a list, cut to k, has a hit of the kind that the metric counts."""
    if metric == "r_precision":
        items = items[:n_relevant]
    if metric in OF_ASPECTS:
        items = [item for item in items if aspects.get(item)]
    return any(item in relevant for item in items)


def evaluate(
    recommendations: Sequence[tuple[Any, ...]],
    interactions: Sequence[tuple[User, Item, float | None]],
    metric: str,
    k: int | None = None,
    params: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    history: Sequence[tuple[User, Item]] | None = None,
    largest_k: int | None = None,
    items: Sequence[tuple[Any, ...]] | None = None,
    aspects: Sequence[tuple[Any, ...]] | None = None,
    baseline: Sequence[tuple[Any, ...]] | None = None,
    logs: Sequence[tuple[Any, ...]] | None = None,
    unjudged_grade: float | None = None,
) -> tuple[float | None, dict[User, float]]:
    """Return the mean and the value of every user of the audience for whom there is one.

    `largest_k` is the largest cutoff of the call, which `cut_then_dedup` looks at; without it k.
    `unjudged_grade` is the highest relevance of all users; without it that of these interactions.
    The mean over nobody is None. Metrics of the whole run have one value and no users.
    """
    params = ALIASED_PARAMS.get(metric, {}) | dict(params or {})
    metric = ALIASES.get(metric, metric)
    params = DEFAULTS[metric] | params
    of_metric = {"audience": "recommended"} if metric in OF_RECOMMENDED else {}
    if metric in OF_JUDGED:
        of_metric = {"audience": "judged"}
    if metric == "unrepeated":
        of_metric["duplicate_recommendations"] = params["duplicate_recommendations"]
    settings = STANDARD | of_metric | dict(settings or {})
    # The list of the baseline has an order of its own, unless rows give the order everywhere.
    of_baseline = settings | {"unjudged": "nonrelevant"}
    of_baseline = of_baseline | {"order": "row" if settings["order"] == "row" else "auto"}
    every_row, least = interactions, settings["judged_from"]
    if least is not None:
        interactions = [row for row in every_row if row[2] is None or row[2] >= least]
    recommendations = kept_rows(recommendations, history or [], settings, interactions)
    if settings["unjudged"] == "best":
        highest = max((row[2] for row in interactions if row[2] is not None), default=None)
        if highest is not None and unjudged_grade is not None:
            highest = unjudged_grade
        elif highest is not None and params.get("max_grade") is not None:
            highest = params["max_grade"]
        users_judged = {row[0] for row in every_row}
        interactions = with_unjudged(interactions, recommendations, highest, users_judged)
    baseline = kept_rows(baseline or [], history or [], of_baseline)
    grades: dict[User, dict[Item, float]] = {}
    if settings["ties"] in ("worst", "best"):
        grades = {u: dict(relevant_rows(r, settings)) for u, r in by_user(interactions).items()}
    lists = lists_of(recommendations, settings, k, largest_k, grades)

    if metric == "coverage":
        counted = {item for of_user in lists.values() for item in of_user}
        if (params["counted"], params["scale"]) == ("all", "count"):
            return len(counted), {}
        catalogue = catalogue_of(history, items, settings)
        if params["counted"] == "known":
            counted = counted & catalogue
        return len(counted) / {"share": len(catalogue), "count": 1}[params["scale"]], {}

    if metric in ("gini", "item_entropy"):
        all_items = catalogue_of(history, items, settings)
        return value_of_exposure(metric, lists.values(), all_items, params), {}

    judged = by_user(interactions)
    truth = {user: relevant_rows(rows, settings) for user, rows in judged.items()}
    best = {user: grades_of_the_best_list(rows, settings) for user, rows in judged.items()}
    whole = lists_of(recommendations, settings, None, None, grades)
    users_of: dict[Item, set[User]] = {}
    rows_of: dict[Item, int] = {}
    for user, item in history or []:
        users_of.setdefault(item, set()).add(user)
        rows_of[item] = rows_of.get(item, 0) + 1
    world = World(
        k=k,
        lists=lists,
        whole=lists_of(recommendations, settings, None, largest_k or k, grades),
        scores=scores_of(recommendations, settings),
        by_score=bool(recommendations)
        and order_of(with_rank([recommendations[0][1:]]), settings) == "score",
        judged={user: highest_grades(rows) for user, rows in judged.items()},
        pool={user: {item for item, *_ in rows} for user, rows in by_user(every_row).items()},
        relevant={user: dict(rows) for user, rows in truth.items()},
        relevant_copies={u: [item for item, _ in rows] for u, rows in truth.items()},
        n_relevant={user: len(grades) for user, grades in best.items()},
        catalogue=catalogue_of(history, items, settings),
        users_of=users_of,
        rows_of=rows_of,
        n_history_users=len({user for user, _ in history or []}),
        attributes=attributes_of(items or []),
        aspects=aspects or [],
        baseline=lists_of(baseline, of_baseline, k, largest_k),
        whole_baseline=lists_of(baseline, of_baseline, None, None),
        logs=logged(logs or []),
    )
    of_audience = metric in WEIGHTED | OF_GROUPS or params.get("scope") == "catalogue"
    if metric in RUN_METRICS and not of_audience:
        return value_of_run(metric, world, params, settings), {}

    if metric in ("rbp", "cwl") and params["max_grade"] is None:
        grades = [grade for of_user in world.relevant.values() for grade in of_user.values()]
        params = params | {"max_grade": max(grades, default=0)}

    users = audience_of(
        recommended=set(lists),
        judged={row[0] for row in every_row},
        relevant={user for user, rows in truth.items() if rows},
        baseline=set(world.baseline),
        settings=settings,
    )
    if metric in OF_GROUPS:
        counted_relevant = {u: relevant_items(rows, settings) for u, rows in judged.items()}
        return value_of_groups(metric, world, users, counted_relevant, params, settings), {}
    if metric == "debiased":
        return debiased(users, world, k, params, settings), {}
    if metric in ("psp", "psndcg"):
        return propensity_scored(metric, users, world, k, params, settings), {}
    if metric == "auc":  # over the catalogue
        each = DEFAULTS["gauc"] | {"others": params["others"]}
        parts = []
        for user in users:
            of_user, others = set(world.relevant.get(user, {})), world.others(user)
            n_relevant = len(best.get(user, []))
            share = (
                gauc(lists.get(user, []), of_user, n_relevant, others, each) if n_relevant else None
            )
            if share is not None:
                parts.append((share, n_relevant))
        whole_weight = sum(weight for _, weight in parts)
        total = sum(share * weight for share, weight in parts)
        return (total / whole_weight if parts else None), {}

    averaged = settings["ties"] == "average" and world.by_score
    rows_of_user = by_user(recommendations)
    values: dict[User, float] = {}
    for user in users:
        of_user, of_best = lists.get(user, []), best.get(user, [])
        if settings["no_relevant"] == "one" and metric in BEST_WITHOUT_RELEVANT and not of_best:
            values[user] = 1.0
            continue
        size = len(of_best)
        orders = [of_user]
        if averaged and of_user:
            rule = settings["duplicate_recommendations"]
            rows = with_rank(rows_of_user[user])
            orders = [top(one, k, largest_k or k, rule) for one in orders_of_ties(rows, settings)]
        size += copies_in_the_list(whole.get(user, []), judged.get(user, []), settings)
        if metric in OF_HITS and settings["no_hits"] == "drop" and not of_all_items(params):
            relevant = world.relevant.get(user, {})
            about = world.aspects_of(user)
            if params.get("propensity") == "column":
                known = world.attributes.propensity
                relevant = {item: grade for item, grade in relevant.items() if item in known}
            if not any(has_hit(metric, one, relevant, size, about) for one in orders):
                continue
        found: float | None
        if metric in OF_MISSES:
            flags = hit_places(whole.get(user, []), world.relevant.get(user, {}), settings)
            found = partial_auc(flags, size, k, only_first=metric == "pap")
            n_counted = len(flags) if k is None else k
            early = (hit and flags[:p].count(False) < n_counted for p, hit in enumerate(flags))
            if settings["no_hits"] == "drop" and not any(early):
                found = None
        elif metric in ACCURACY and params.get("output") != "residual":
            found = statistics.fmean(
                value_for_user(metric, one, truth.get(user, []), of_best, size, k, params, settings)
                for one in orders
            )
        else:
            found = value_of_user(metric, user, world, k, params, settings)
        if found is not None:
            values[user] = found
    mean = math.fsum(values.values()) / len(values) if values else None
    return mean, values
