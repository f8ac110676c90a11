"""Tables to slice, and the rows of one slice filtered in pandas."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import pandas as pd

import sqlmetrics as sm
from tests.support.evaluators import Evaluator

Tables = dict[str, pd.DataFrame]
ITEMS = list("abcdefghijkl")
GENRES = {
    "a": ["rock", "pop"], "b": ["rock"], "c": ["pop"], "d": ["jazz", "pop"], "e": ["rock", "jazz"],
    "f": ["jazz"], "g": ["rock", "pop", "jazz"], "h": ["pop"], "i": ["rock", "rock"], "j": [],
    "k": None,
}  # fmt: skip
DECADES = [2000, 90, 90, 800, 2000, None, 800, 2000, 90, 90, None]
COUNTRIES = ["FR", "US", None, "DE"]
AGES = [100, 5, 18]
SETTINGS = {"missing_attributes": "ignore"}  # items lack prices and vectors
LISTED = [  # metrics that also judge other items
    "popularity", "surprisal", "unexpectedness", "intra_list_diversity(over=category)",
    "intra_list_diversity(over=history, distance=jaccard)",
    "money_precision", "unrepeated", "judged", "hole", "lrap", "coverage_error", "ranking_loss",
    "gauc", "gauc(unlisted=last, divisor=min_relevant_length)", "unseen", "tail_share",
    "valid_items", "item_age",
    "tail_count", "category_coverage", "category_entropy", "calibration", "epc(relevance=none)",
    "efd(relevance=none)", "overlap", "rbo", "popularity_lift", "least_item_promoted",
    "serendipity(relevance=none)", "serendipity(against=history)", "awrf", "ndkl",
]  # fmt: skip
OF_RUNS = [
    "coverage", "coverage(scale=count)", "inter_list_diversity",
    "inter_list_diversity(sample_users=3, runs=4)", "auc", "auc(scope=catalogue)", "ctr",
    "ctr(statistic=support)", "ips",
    "snips", "doubly_robust", "gini", "item_entropy", "pr_auc", "mae(average=users)",
    "mse", "rmse", "r2", "explained_variance", "log_loss(scores=logit)",
    "normalised_entropy(scores=logit)", "brier(scores=logit)", "calibration_ratio(scores=logit)",
    "ece(scores=logit)", "exposure_parity", "exposure_parity(groups=popularity)",
    "exposure_utility", "gain_utility", "equal_opportunity", "statistical_parity", "psp", "psndcg",
    "debiased", "debiased(of=hit_rate)", "bias_disparity", "iaa", "pairwise_parity",
    "expected_exposure", "expected_exposure(part=relevance,groups=popularity)",
    "attribute_shift", "attribute_shift(divergence=js)", "group_popularity_lift",
]  # fmt: skip
EXACT = {"rtol": 1e-10, "atol": 1e-12}


def make_world() -> Tables:
    """Make lists of two models and truth with users on one side only, and all other tables."""
    draw = random.Random(11)
    lists, truth, history, baseline, logs = [], [], [], [], []
    for user in range(1, 41):
        for model in ("als", "popular"):
            if (user + len(model)) % 10 != 9:  # who lacks a list of one model has one of the other
                chosen = draw.sample(ITEMS, draw.choice([1, 3, 6, 9]))
                scores = draw.sample(range(100), len(chosen))
                made = pd.Timestamp(2024, 6, 1 + user % 7)
                lists += [
                    (model, user, i, s / 8, made) for i, s in zip(chosen, scores, strict=True)
                ]
        if user % 9 != 4:
            for item in draw.sample(ITEMS, draw.choice([2, 5, 8])):
                when = pd.Timestamp(2023, 12, 1) + pd.Timedelta(hours=draw.randrange(2000))
                truth.append((user, item, draw.randint(0, 3), when))
        if user % 5:
            history += [(user, item) for item in draw.sample(ITEMS[:-1], draw.randint(1, 6))]
        if user % 4:
            expected = draw.sample(ITEMS, 4)
            baseline += [(user, item, place) for place, item in enumerate(expected, start=1)]
        decided = draw.sample(ITEMS, 5)
        logs += [(user, item, draw.randint(0, 1), draw.uniform(0.1, 1)) for item in decided]
    items = pd.DataFrame({"item_id": list(GENRES), "category": list(GENRES.values())})
    items["price"] = [draw.choice([1.5, 3.0, 10.0]) for _ in GENRES]
    items["item_group"] = [["m", "n"] if i == "c" else ["m" if i < "f" else "n"] for i in GENRES]
    items["group_target"] = [None if i == "c" else 0.75 if i < "f" else 0.25 for i in GENRES]
    items["created_at"] = [pd.Timestamp(2024, 1, 1 + place) for place in range(len(items))]
    items["decade"] = pd.array(DECADES, dtype="Int64")
    users = pd.DataFrame({"user_id": range(-3, 38)})  # some nobody knows, and not all of the others
    users["country"] = [COUNTRIES[user % 4] for user in users["user_id"]]
    users["age"] = [AGES[user % 3] for user in users["user_id"]]
    aspects = [(item, aspect) for item in ITEMS[:10] for aspect in draw.sample("xyz", 2)]
    return {
        "recommendations": pd.DataFrame(
            lists, columns=["model", "user_id", "item_id", "score", "timestamp"]
        ),
        "interactions": pd.DataFrame(
            truth, columns=["user_id", "item_id", "relevance", "timestamp"]
        ),
        "history": pd.DataFrame(history, columns=["user_id", "item_id"]),
        "items": items,
        "users": users,
        "aspects": pd.DataFrame(aspects, columns=["item_id", "aspect"]),
        "baseline": pd.DataFrame(baseline, columns=["user_id", "item_id", "rank"]),
        "logs": pd.DataFrame(logs, columns=["user_id", "item_id", "reward", "propensity"]),
    }


WORLD = make_world()
ALS = {
    **WORLD,
    "recommendations": WORLD["recommendations"].query("model == 'als'").drop(columns="model"),
}
MAIN = {  # what most tests need of it
    name: WORLD[name] for name in ("recommendations", "interactions", "history", "users")
}


def evaluate(tables: Mapping[str, Any], *asked: Any, **options: Any) -> pd.DataFrame:
    with Evaluator(**tables, **options.pop("evaluator", {})) as evaluator:
        return evaluator.evaluate(*asked, **options)


def labels_of_users(*columns: str) -> dict[int, tuple[str, ...]]:
    """Return the labels of every user of the world, from its table users."""
    known = WORLD["users"].set_index("user_id")[list(columns)].astype(object)
    nothing = dict.fromkeys(range(1, 41), ("(none)",) * len(columns))
    return nothing | {
        user: tuple("(none)" if pd.isna(value) else str(value) for value in row)
        for user, row in zip(known.index, known.to_numpy().tolist(), strict=True)
        if user in nothing
    }


def of_users(tables: Tables, users: Iterable[int]) -> Tables:
    """Keep these users in lists and truth; what is known of them and of items stays."""
    wanted = set(users)
    return {
        name: frame[frame["user_id"].isin(wanted)]
        if name in ("recommendations", "interactions")
        else frame
        for name, frame in tables.items()
        if name != "users"
    }


def of_items(tables: Tables, items: Iterable[str]) -> Tables:
    """Keep these items in the truth alone."""
    wanted = set(items)
    truth = tables["interactions"]
    return {**tables, "interactions": truth[truth["item_id"].isin(wanted)]}


def items_of(genre: str) -> list[str]:
    named = [item for item in ITEMS if genre in (GENRES.get(item) or ())]
    return named or [item for item in ITEMS if not GENRES.get(item)]


def items_of_decade(decade: str) -> list[str]:
    known = dict(zip(GENRES, DECADES, strict=True))
    return [item for item in ITEMS if str(known.get(item) or "(none)") == decade]


def stacked(
    parts: Mapping[Any, pd.DataFrame], *columns: str, before: str = "metric"
) -> pd.DataFrame:
    """Put results one below the other, in the order of the slices, with their labels."""
    frames = []
    for labels, frame in parts.items():
        labelled = frame.copy()
        place = labelled.columns.get_loc(before)
        texts = [labels] if isinstance(labels, str) else labels
        for number, (column, label) in enumerate(zip(columns, texts, strict=True)):
            labelled.insert(place + number, column, label)
        frames.append(labelled)
    rows = pd.concat(frames)
    if "model" in rows:
        rows = rows.sort_values("model", kind="stable")
    return rows.reset_index(drop=True)


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, expected, **EXACT)


class Parts:
    """Evaluators of the world, and of the parts of it that its slices stand for."""

    SLICES: ClassVar = {  # in the order of the results
        "country": ["DE", "FR", "US", "(none)"],
        "age": ["5", "18", "100", "(none)"],
        "category": ["jazz", "pop", "rock", "(none)"],
        "decade": ["90", "800", "2000", "(none)"],
    }

    def __init__(self) -> None:
        self.open: dict[tuple[str, str], sm.Evaluator] = {}

    def get(self, column: str, label: str) -> sm.Evaluator:
        """Return an evaluator of one slice."""
        if (column, label) not in self.open:
            if column in ("country", "age"):
                labels = labels_of_users(column)
                tables = of_users(WORLD, [user for user in labels if labels[user] == (label,)])
            elif column == "category":
                tables = of_items(WORLD, items_of(label))
            elif column == "decade":
                tables = of_items(WORLD, items_of_decade(label))
            else:
                tables = WORLD
            self.open[column, label] = Evaluator(**tables, settings=SETTINGS)
        return self.open[column, label]

    def expected(self, column: str, get: Callable[[sm.Evaluator], pd.DataFrame]) -> pd.DataFrame:
        """Return what a table sliced by a column should be."""
        parts = {label: get(self.get(column, label)) for label in self.SLICES[column]}
        return stacked(parts, column)
