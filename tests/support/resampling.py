"""Tables of users with skewed values, for intervals and aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray[Any, Any]


def lists_of(values: Array) -> pd.DataFrame:
    return pd.DataFrame({"user_id": range(len(values)), "item_id": 1, "score": values})


def skewed(n: int, seed: int) -> Array:
    """Draw values like those of a metric: 60 % are 0, most others small."""
    draw = np.random.default_rng(seed)
    return np.where(draw.random(n) < 0.6, 0, draw.beta(1, 3, n))


MODELS = ["als", "item_knn", "popular"]


def world(users: Sequence[Any], key: Sequence[str] = ("user_id",)) -> dict[str, Any]:
    """Draw tables: users without a list, without a hit, and countries of one and of two users."""
    draw = np.random.default_rng(7)
    items = [f"i{number}" for number in range(20)]

    def rows(lists: Iterable[tuple[Any, Sequence[str]]], *more: str) -> pd.DataFrame:
        found = []
        for user, chosen in lists:
            keys = user if isinstance(user, tuple) else (user,)
            found += [(*keys, item, rank) for rank, item in enumerate(chosen, start=1)]
        frame = pd.DataFrame(found, columns=[*key, "item_id", "rank"])
        return frame.drop(columns="rank") if "rank" not in more else frame

    def some(largest: int) -> list[str]:
        return [str(item) for item in draw.permutation(items)[: draw.integers(1, largest)]]

    models = {
        model: rows([(user, some(7)) for user in users if draw.random() < 0.9], "rank")
        for model in MODELS
    }
    keys = [user if isinstance(user, tuple) else (user,) for user in users]
    of_users = pd.DataFrame(keys, columns=list(key))
    others = draw.choice(["DE", "FR"], len(users) - 3).tolist()
    of_users["country"] = ["AT", "BE", "BE", *others]
    return {
        "recommendations": models,
        "interactions": rows([(user, some(6)) for user in users]),
        "history": rows([(user, some(4)) for user in users]),
        "users": of_users,
        "items": pd.DataFrame({"item_id": items, "shelf": ["x", "y", "y", "z"] * 5}),
        "key": key,
    }


INTEGERS = world([7 * number for number in range(70)])
ONE_MODEL = {**INTEGERS, "recommendations": INTEGERS["recommendations"]["als"]}
