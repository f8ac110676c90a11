"""Every accuracy metric, from its formula, in plain Python: slow, obvious, to be checked by eye.

Nothing here comes from the package and nothing of it is shared with the package: the standard
library only. `evaluate` is the way in; everything above it is one small step each.

    recommendations   rows (user, item, score) or (user, item, score, rank)
    interactions      rows (user, item, relevance); relevance None: no such column, the row counts 1
    history           rows (user, item), only for coverage
"""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

User = Any
Item = Any

STANDARD: dict[str, Any] = {
    "audience": "relevant",
    "no_recommendations": "zero",
    "no_relevant": "zero",
    "order": "auto",
    "ties": "item_asc",
    "score_type": "double",
    "duplicate_recommendations": "error",
    "duplicate_interactions": "error",
    "relevant_from": None,
}

TREC_EVAL: dict[str, Any] = STANDARD | {
    "audience": "judged",
    "ties": "item_desc_text",
    "score_type": "float",
    "relevant_from": 1,
}
TREC_EVAL_PARAMS: dict[str, dict[str, Any]] = {
    "map": {"divisor": "relevant"},
    "ndcg": {"gain": "linear"},
    "dcg": {"gain": "linear"},
}

DEFAULTS: dict[str, dict[str, Any]] = {
    "hit_rate": {},
    "precision": {"divisor": "k"},
    "recall": {"divisor": "relevant"},
    "f_beta": {"beta": 1},
    "map": {"divisor": "min_k_relevant"},
    "mar": {"divisor": "k"},
    "mrr": {},
    "dcg": {"gain": "binary", "discount": "log2"},
    "ndcg": {"gain": "binary", "discount": "log2", "ideal": "min_k_relevant"},
    "r_precision": {},
    "coverage": {"counted": "known"},
}

ALIASES = {
    "hitrate": "hit_rate",
    "success": "hit_rate",
    "ap": "map",
    "mapr": "map",
    "rr": "mrr",
    "rprec": "r_precision",
    "f1": "f_beta",
}


# ---------------------------------------------------------------- the lists


def ordered(rows: Sequence[tuple[Any, ...]], settings: Mapping[str, Any]) -> list[Item]:
    """Return the items of one user's rows (item, score, rank), the best first."""
    order = settings["order"]
    if order == "auto":
        order = "rank" if rows[0][2] is not None else "score"
    rows = list(rows)
    if order == "row":
        return [item for item, _, _ in rows]
    if order == "rank":
        return [item for item, _, rank in sorted(rows, key=lambda row: row[2])]

    # By score. Python's sort is stable: first arrange the ties, then sort by score.
    ties = settings["ties"]
    if ties == "item_asc":
        rows.sort(key=lambda row: row[0])
    elif ties == "item_desc":
        rows.sort(key=lambda row: row[0], reverse=True)
    elif ties == "item_desc_text":
        rows.sort(key=lambda row: str(row[0]).encode(), reverse=True)
    elif ties != "row":
        raise ValueError(ties)
    precision = {"double": float, "float": as_float32}[settings["score_type"]]
    rows.sort(key=lambda row: -precision(row[1]))
    return [item for item, _, _ in rows]


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
    elif rule != "keep":
        raise ValueError(rule)
    return items[:k]


# ---------------------------------------------------------------- the truth


def relevant_rows(
    rows: Sequence[tuple[Item, float | None]], settings: Mapping[str, Any]
) -> list[tuple[Item, float]]:
    """Return the relevant rows (item, grade) of one user; without a relevance column, every row."""
    threshold = settings["relevant_from"]
    graded = []
    for item, grade in rows:
        if grade is None:
            graded.append((item, 1.0))
        elif (grade > 0) if threshold is None else (grade >= threshold):
            graded.append((item, grade))

    rule = settings["duplicate_interactions"]
    if rule == "error":
        if len({item for item, _ in rows}) < len(rows):
            raise ValueError("duplicate interactions")
    elif rule == "set":
        best: dict[Item, float] = {}
        for item, grade in graded:
            best[item] = max(grade, best.get(item, grade))
        graded = list(best.items())
    elif rule != "bag":
        raise ValueError(rule)
    return graded


# ---------------------------------------------------------------- one user, one metric


def gain_of(grade: float, gain: str) -> float:
    if gain == "binary":
        return 1.0
    if gain == "linear":
        return grade
    if gain == "exponential":
        return 2.0**grade - 1
    raise ValueError(gain)


def discounted(position: int, discount: str) -> float:
    if discount == "log2":
        return 1 / math.log2(position + 1)
    if discount == "log2_max2":
        return 1 / math.log2(max(position, 2))
    raise ValueError(discount)


def value_for_user(
    metric: str,
    items: list[Item],
    relevant: list[tuple[Item, float]],
    k: int | None,
    params: Mapping[str, Any],
) -> float:
    """Return the metric of one list, already cut to k, against one user's relevant rows."""
    # One hit per pair (recommended row, relevant row) with the same item, best position first:
    # a copy of a recommendation (`keep`) hits at its own position, a copy of a relevant row
    # (`bag`) hits at the position of its item.
    grades_of: dict[Item, list[float]] = {}
    for item, grade in relevant:
        grades_of.setdefault(item, []).append(grade)
    hits = [
        (position, grade)
        for position, item in enumerate(items, start=1)
        for grade in grades_of.get(item, [])
    ]
    n_relevant = len(relevant)
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

    if metric == "precision":
        return len(hits) / counts[params["divisor"]]

    if metric == "recall":
        return len(hits) / counts[params["divisor"]]

    if metric == "f_beta":
        if not hits:
            return 0.0
        precision = len(hits) / positions
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
        gain_of(grade, params["gain"]) * discounted(position, params["discount"])
        for position, grade in hits
    )
    if metric == "dcg":
        return dcg

    if metric == "ndcg":
        ideal_gains = sorted((gain_of(g, params["gain"]) for _, g in relevant), reverse=True)
        if params["ideal"] == "all_k":
            ideal_gains = [1.0] * positions  # worth 1 each, also where gains are graded
        elif params["ideal"] != "all_relevant":
            ideal_gains = ideal_gains[: counts[params["ideal"]]]
        ideal = sum(
            gain * discounted(position, params["discount"])
            for position, gain in enumerate(ideal_gains, start=1)
        )
        return dcg / ideal if ideal > 0 else 0.0

    raise ValueError(metric)


# ---------------------------------------------------------------- all users


def by_user(rows: Iterable[tuple[Any, ...]]) -> dict[User, list[tuple[Any, ...]]]:
    """Group rows by their first column, which is dropped; the order of rows is kept."""
    groups: dict[User, list[tuple[Any, ...]]] = {}
    for user, *rest in rows:
        groups.setdefault(user, []).append(tuple(rest))
    return groups


def audience_of(
    recommended: set[User], judged: set[User], relevant: set[User], settings: Mapping[str, Any]
) -> set[User]:
    """Return the users that the mean is taken over."""
    users = {
        "relevant": relevant,
        "recommended": recommended,
        "both": recommended & relevant,
        "either": recommended | relevant,
        "judged": judged,
    }[settings["audience"]]
    if settings["no_recommendations"] == "drop":
        users = users & recommended
    if settings["no_relevant"] == "drop":
        users = users & relevant
    return users


def evaluate(
    recommendations: Sequence[tuple[Any, ...]],
    interactions: Sequence[tuple[User, Item, float | None]],
    metric: str,
    k: int | None = None,
    params: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    history: Sequence[tuple[User, Item]] | None = None,
    largest_k: int | None = None,
) -> tuple[float | None, dict[User, float]]:
    """Return the mean and the value of every user of the audience.

    `largest_k` is the largest cutoff of the call, which `cut_then_dedup` looks at; without it k.
    The mean over nobody is None. Coverage has one value and no users.
    """
    metric = ALIASES.get(metric, metric)
    params = DEFAULTS[metric] | dict(params or {})
    settings = STANDARD | dict(settings or {})

    lists = {}
    for user, rows in by_user(recommendations).items():
        rows_with_rank = [row if len(row) == 3 else (*row, None) for row in rows]
        items = ordered(rows_with_rank, settings)
        rule = settings["duplicate_recommendations"]
        lists[user] = top(items, k, largest_k or k, rule)

    if metric == "coverage":
        assert history is not None
        catalogue = {item for _, item in history}
        counted = {item for items in lists.values() for item in items}
        if params["counted"] == "known":
            counted = counted & catalogue
        return len(counted) / len(catalogue), {}

    truth = {u: relevant_rows(rows, settings) for u, rows in by_user(interactions).items()}
    users = audience_of(
        recommended=set(lists),
        judged=set(truth),
        relevant={user for user, rows in truth.items() if rows},
        settings=settings,
    )
    values = {
        user: value_for_user(metric, lists.get(user, []), truth.get(user, []), k, params)
        for user in users
    }
    mean = math.fsum(values.values()) / len(values) if values else None
    return mean, values
