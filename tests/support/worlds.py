"""Random tables for tests of properties."""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
from collections.abc import Iterable

import pandas as pd

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Metric, Param
from sqlmetrics.metrics.spec import value_text
from tests.support.evaluators import Evaluator

CATALOG = Catalog.load()
CUTOFFS = [1, 5, 20]
START, DAY = pd.Timestamp("2026-01-01"), pd.Timedelta(days=1)


def numbers(param: Param) -> list[str]:
    """Return values that a number can have, other than its default where there are others."""
    found = []
    at_least_cutoffs = param.name in ("max_grade", "list_k")  # grades are small, too
    for text in ("4.5", "30") if at_least_cutoffs else ("0.5", "2", "30"):
        with contextlib.suppress(sm.UsageError):
            found.append(value_text(param.parse(text, param.name)))
    return found[:1] if param.whole else found[:2]


def meaningful(
    metric: Metric, combination: tuple[tuple[str, str], ...], every_combination: bool
) -> tuple[tuple[str, str], ...]:
    """Leave out settings that mean nothing beside the others, or else set what they need."""
    chosen = dict(combination)
    for name in list(chosen):
        needs = metric.params[name].only_with if name in metric.params else {}
        for other, values in needs.items():
            if every_combination and chosen.get(other) not in values:
                del chosen[name]
            else:
                chosen.setdefault(other, values[0])
    return tuple(chosen.items())


# metrics of lists; those of rounds and of positions have tables of their own (test_off_policy)
OF_LISTS = {
    name: metric
    for name, metric in CATALOG.metrics.items()
    if metric.family != "logs" or metric.in_all
}


def variants(every_combination: bool) -> list[str]:
    """Return every metric with each value of its choices, one at a time or in all combinations."""
    specs = []
    for metric in OF_LISTS.values():
        choices = [
            [(param.name, choice) for choice in param.choices or numbers(param)]
            for param in metric.params.values()
        ]
        if every_combination:
            combinations = list(itertools.product(*choices))
        else:
            combinations = [(), *((pair,) for pairs in choices for pair in pairs)]
        for combination in combinations:
            if {("missing", "error"), ("unlisted", "error")} & set(combination):
                continue  # refuses the tables below
            if {("times", "seconds"), ("times", "milliseconds")} & set(combination):
                continue  # reads numbers as times
            if ("gain", "exponential_from") in combination:
                if every_combination and ("discount", "log2") not in combination:
                    continue  # it is one more gain, and a discount is one whatever the gain
                combination = (*combination, ("relevant_from", "1"))  # which it needs
            if ("combined", "sum") in combination:
                combination = (*combination, ("no_hits", "drop"))  # which it needs
            if {("target", "given"), ("groups", "popularity")} <= set(combination):
                continue  # targets are those of the column item_group
            if ("distance", "jaccard") in combination:  # which vectors do not have
                if ("over", "features") in combination:
                    continue
                if "over" not in dict(combination):
                    combination = (*combination, ("over", "category"))
            combination = meaningful(metric, combination, every_combination)
            inside = ", ".join(f"{name}={value}" for name, value in combination)
            specs.append(f"{metric.name}({inside})" if inside else metric.name)
    return list(dict.fromkeys(specs))


VARIANTS = variants(every_combination=False)


def _one_of(n: int) -> list[str]:
    """Return every metric as it is, and one of n of the others."""
    return [spec for place, spec in enumerate(VARIANTS) if "(" not in spec or place % n == 0]


FEW = _one_of(24)
SOME = VARIANTS[::16]  # for the short run
RUN_GRAIN = {metric.name for metric in CATALOG.metrics.values() if metric.grain == "run"}


def of_users(specs: Iterable[str]) -> list[str]:
    return [spec for spec in specs if spec.partition("(")[0] not in RUN_GRAIN]


def world(seed: int, users: int = 60, n_items: int = 100) -> dict[str, pd.DataFrame]:
    """Make lists with ties, of every length, graded truth, and users on one side only.

    The fewer items, the more hits.
    """
    draw = random.Random(seed)
    lists, truth, history, baseline, logs = [], [], [], [], []
    for user in range(users):
        items = draw.sample(range(n_items), draw.choice([0, 1, 3, 10, 30]))
        made = START + (30 + user % 7) * DAY
        lists += [(user, item, draw.randint(0, 8) / 8, made) for item in items]  # or probabilities
        relevant = draw.sample(range(n_items), draw.choice([0, 1, 2, 8, 25]))
        truth += [(user, item, draw.randint(0, 4)) for item in relevant]
        seen = enumerate(draw.sample(range(n_items - 10), 5))
        history += [(user, item, START + place * DAY, 1 + item % 3) for place, item in seen]
        expected = draw.sample(range(n_items), draw.choice([0, 5, 20]))
        baseline += [(user, item, place) for place, item in enumerate(expected, start=1)]
        decided = draw.sample(range(n_items), draw.choice([0, 3, 20]))
        logs += [(user, item, draw.randint(0, 1), draw.uniform(0.05, 1)) for item in decided]
    items_rows, aspects = [], []
    for item in range(n_items):
        vector = [0.0] * 11 if item == 7 else [draw.gauss(0, 1) for _ in range(11)]
        kinds = draw.sample(["x", "y", "z", "w"], draw.randint(1, 3))
        price = draw.choice([0.0, 1.5, 9.99, 100.0])
        groups = ["p", "q"] if item % 7 == 3 else ["pqr"[item % 3]]
        propensity = (item % 5 + 1) / 5
        target = {"p": 0.5, "q": 0.3, "r": 0.2}[groups[0]] if len(groups) == 1 else None
        created = START - (item % 60) * DAY
        items_rows.append((item, price, kinds, groups, vector, propensity, target, created))
        aspects += [(item, kind) for kind in draw.sample("abcde", draw.randint(1, 3))]
    columns = {
        "recommendations": (lists, ["user_id", "item_id", "score", "timestamp"]),
        "interactions": (truth, ["user_id", "item_id", "relevance"]),
        "history": (history, ["user_id", "item_id", "timestamp", "weight"]),
        "items": (
            items_rows,
            [
                "item_id",
                "price",
                "category",
                "item_group",
                "features",
                "propensity",
                "group_target",
                "created_at",
            ],
        ),
        "aspects": (aspects, ["item_id", "aspect"]),
        "baseline": (baseline, ["user_id", "item_id", "rank"]),
        "logs": (logs, ["user_id", "item_id", "reward", "propensity"]),
    }
    return {name: pd.DataFrame(rows, columns=names) for name, (rows, names) in columns.items()}


@functools.cache
def values(*specs: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    with Evaluator(**world(1), threads=1) as evaluator:
        return evaluator.per_user(of_users(specs), k=CUTOFFS, long=True), evaluator.evaluate(
            specs, k=CUTOFFS
        )
