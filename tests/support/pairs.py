"""Tables with vectors and categories for metrics over pairs."""

import random
from dataclasses import dataclass
from typing import Any

import duckdb
import pandas as pd

import sqlmetrics as sm
from tests.support.calls import at_k
from tests.support.evaluators import Evaluator

MODELS = ["als", "popular"]
ITEMS = 90
CATEGORIES = ["rock", "pop", "Jazz", "", "folk music", "été"]
DIMENSIONS = 11


@dataclass
class World:
    """Lists of two models, judgments, and items with vectors and categories.

    Lists have 1 to 40 items; some are the same, some have nothing in common, some hold only one
    item with attributes, or none. Items lack a vector or a category either because they are not in
    the table or because it is NULL; some vectors are zero, equal, or opposite.
    """

    seed: int
    integer_ids: bool
    by_rank: bool
    several_texts: bool = False

    def __post_init__(self) -> None:
        draw = random.Random(self.seed)
        items = [self.item(number) for number in range(ITEMS)]
        bare = items[::9]  # neither vector nor category
        same, opposite = items[4:6], items[6:8]
        rows = []
        for model in MODELS:
            before: list[Any] = items[:4]
            for number in range(45):
                if (number + len(model)) % 11 == 4:  # without a list in this model
                    continue
                chosen = draw.sample(items, draw.choice([1, 1, 2, 3, 4, 7, 12, 40]))
                if number % 10 == 1:
                    chosen = list(before)
                elif number % 10 == 2:  # only items without attributes
                    chosen = draw.sample(bare, 3)
                elif number % 10 == 3:  # and one with
                    chosen = [*draw.sample(bare, 2), items[number + 1]]
                elif number % 10 == 5:
                    chosen = list(same if number < 20 else opposite)
                before = chosen
                scores = [float(draw.randint(0, 5)) for _ in chosen]
                ranks = range(1, len(chosen) + 1)
                user = self.user(number)
                values = ranks if self.by_rank else scores
                rows += [(model, user, i, v) for i, v in zip(chosen, values, strict=True)]
        order = "rank" if self.by_rank else "score"
        self.recommendations = pd.DataFrame(rows, columns=["model", "user_id", "item_id", order])

        judged = [
            (user, item, draw.choice([0, 0, 1, 2]))
            for user in sorted({row[1] for row in rows})
            for item in draw.sample(items, 25)
        ]
        self.interactions = pd.DataFrame(judged, columns=["user_id", "item_id", "relevance"])

        known = [item for item in items if item not in bare[::2]]
        vectors: dict[Any, Any] = {item: self.vector(draw) for item in known}
        vectors[same[0]] = vectors[same[1]] = [0.1 * x for x in range(1, DIMENSIONS + 1)]
        vectors[opposite[0]] = [-0.3 * x for x in vectors[same[0]]]
        vectors[opposite[1]] = [1e9 * x for x in vectors[same[0]]]
        texts: dict[Any, Any] = {
            item: draw.sample(CATEGORIES, draw.choice([1, 1, 2, 4]) if self.several_texts else 1)
            for item in known
        }
        for item in bare:
            vectors[item] = texts[item] = None
        self.items = pd.DataFrame({"item_id": known})
        self.items["features"] = [vectors[item] for item in known]
        self.items["category"] = [texts[item] for item in known]
        self.given_items = self.items.copy()
        if not self.several_texts:
            self.given_items["category"] = self.items["category"].str[0]

    def item(self, number: int) -> Any:
        return 1000 - number * 7 if self.integer_ids else f"{'iI-é'[number % 4]}{number}"

    def user(self, number: int) -> Any:
        return number * 10**12 if self.integer_ids else f"user {number}"

    @staticmethod
    def vector(draw: random.Random) -> list[float]:
        kind = draw.choice(["dense", "dense", "counts", "tiny", "huge", "zero"])
        if kind == "zero":
            return [0.0] * DIMENSIONS
        if kind == "counts":
            return [float(draw.choice([0, 0, 0, 1, 2])) for _ in range(DIMENSIONS)]
        scale = {"dense": 1.0, "tiny": 1e-30, "huge": 1e30}[kind]
        return [draw.gauss(0.3, 1) * scale for _ in range(DIMENSIONS)]

    def connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.register("recommendations", self.recommendations)
        connection.register("interactions", self.interactions)
        connection.register("items", self.items)
        connection.execute(RANKED.format(order="rank" if self.by_rank else "score DESC, item_id"))
        connection.execute(ONE_HOT)
        return connection

    def evaluator(self, **changed: Any) -> sm.Evaluator:
        tables: dict[str, Any] = {"items": self.given_items, **changed}
        settings = {"missing_attributes": "ignore"}
        return Evaluator(self.recommendations, self.interactions, settings=settings, **tables)


WORLDS = {
    "integer ids by score": World(1, True, False),
    "text ids by rank": World(2, False, True, several_texts=True),
    "text ids by score": World(3, False, False, several_texts=True),
}
RANKED = """
CREATE TEMP TABLE ranked AS
SELECT *, row_number() OVER (PARTITION BY model, user_id ORDER BY {order}) AS place
FROM recommendations
"""
# a component for each category that there is
ONE_HOT = """
CREATE TEMP TABLE one_hot AS
WITH long AS (
    SELECT item_id, unnest(category) AS category FROM items
),
names AS (SELECT DISTINCT category FROM long)
SELECT item_id, list(CASE WHEN has THEN 1.0 ELSE 0.0 END ORDER BY category) AS vector
FROM (
    SELECT i.item_id, n.category, bool_or(i.category = n.category) AS has
    FROM long AS i, names AS n
    GROUP BY i.item_id, n.category
)
GROUP BY item_id
"""


def our_runs(frame: pd.DataFrame, name: str, k: int | None) -> dict[str, float]:
    rows = at_k(frame[frame["metric"] == name], k)
    return dict(zip(rows["model"], rows["value"], strict=True))


OVER = {"features": "intra_list_diversity", "category": "intra_list_diversity(over=category)"}
