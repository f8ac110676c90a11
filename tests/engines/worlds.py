"""Small tables that tell engines apart: ties, short and missing lists, texts, awkward names."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from sqlmetrics import Evaluator, TableName

USERS, ITEMS = range(1, 41), range(1, 61)
MODELS = ("als", "popular")
TABLES = ("interactions", "history", "baseline", "logs", "items", "aspects", "users")


def _table(names: str, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(names.split(), map(list, columns), strict=True)))


def _tables(user: Any, item: Any) -> dict[str, pa.Table]:
    """Make all tables; `user` and `item` turn a number into an id."""
    draw = random.Random(6)
    start = datetime(2024, 11, 28, 22, 30)

    def lists(users: Iterable[int]) -> pa.Table:
        return _table(
            "user_id item_id score timestamp",
            [
                (user(u), item(i), draw.choice([0.25, 0.5, 0.5, 0.625, 0.75, 1.0]),
                 start + timedelta(hours=u))
                for u in users
                for i in draw.sample(ITEMS, draw.choice([1, 2, 3, 7, 12, 20]))
            ],
        )  # fmt: skip

    def pairs(users: Iterable[int], sizes: list[int]) -> list[tuple[int, int]]:
        return [(u, i) for u in users for i in draw.sample(ITEMS, draw.choice(sizes))]

    return {
        "als": lists(USERS[:32]),
        "popular": lists(USERS[4:36]),
        "baseline": lists(USERS[2:30]),
        "interactions": _table(
            "user_id item_id relevance timestamp",
            [
                (user(u), item(i), draw.randrange(6), start + timedelta(hours=draw.randrange(2000)))
                for u, i in pairs(USERS[8:], [1, 2, 5, 9])
            ],
        ),
        "history": _table(
            "user_id item_id", [(user(u), item(i)) for u, i in pairs([*USERS, 98, 99], [1, 3, 25])]
        ),
        "logs": _table(
            "user_id item_id reward propensity position",
            [
                (user(u), item(i), draw.choice([0, 0, 1]), draw.choice([0.1, 0.25, 0.5]), n % 8 + 1)
                for n, (u, i) in enumerate(pairs(USERS[:30], [8]))
            ],
        ),
        "items": _table(
            "item_id price category item_group group_target f1 f2 created_at",
            [
                (item(i), draw.choice([0.0, 1.0, 5.0, 9.99, 20.0]), draw.choice("abc"),
                 "pq"[i % 2], [0.25, 0.75][i % 2], draw.random() - 0.3, draw.random(),
                 start - timedelta(hours=7 * i))
                for i in ITEMS
            ],
        ),
        "aspects": _table(
            "item_id aspect",
            [(item(i), a) for i in ITEMS for a in draw.sample("xyzw", draw.choice([1, 2, 3]))],
        ),
        "users": _table(
            "user_id country weight",
            [(user(u), draw.choice(["DE", "us", "FR", None]), u % 5 / 2) for u in USERS],
        ),
    }  # fmt: skip


@dataclass(frozen=True)
class World:
    """Tables, the names that they have in an engine, and the names of their columns."""

    tables: Mapping[str, pa.Table]
    names: Mapping[str, str]
    columns: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)

    def stored(self) -> dict[str, pa.Table]:
        """Return the tables by their names in an engine."""
        return {self.names[name]: table for name, table in self.tables.items()}

    def source(self, name: str, quoted: Any) -> Any:
        """Return a table, or, with `quoted`, its name in an engine."""
        table = self.tables[name]
        return table if quoted is None else TableName(quoted(self.names[name]), like=table)

    def evaluator(self, quoted: Any = None) -> Evaluator:
        """Make an evaluator of the tables, or, with `quoted`, of their names in an engine."""
        return Evaluator(
            {model: self.source(model, quoted) for model in MODELS},
            **{name: self.source(name, quoted) for name in TABLES},
            columns={"features": "f1,f2", **self.columns},
            where=self.where,
            check=False,  # it warns of random tables
        )


def plain() -> World:
    """Ids are numbers, names are those of the queries."""
    tables = _tables(int, int)
    return World(tables, {name: name for name in tables})


def awkward() -> World:
    """Ids are texts that engines sort differently, names need quotes."""
    renamed = {
        "user_id": "User Id",
        "item_id": 'the "item"',
        "score": "order",
        "relevance": "Group",
    }
    tables = {
        name: table.rename_columns([renamed.get(c, c) for c in table.column_names])
        for name, table in _tables(
            lambda u: f"u{u}'s \\ ü", lambda i: "aBcD"[i % 4] + "éZz"[i % 3] + str(i)
        ).items()
    }
    return World(
        tables,
        {name: f"My {name}" for name in tables},
        {
            "user_id": renamed["user_id"],
            "item_id": renamed["item_id"],
            "recommendations.score": renamed["score"],
            "baseline.score": renamed["score"],
            "interactions.relevance": renamed["relevance"],
        },
    )


WORLDS = {"plain": plain, "awkward": awkward}


@dataclass(frozen=True)
class Logged(World):
    """Logs of another policy, and policies to evaluate, if the logs have none."""

    def evaluator(self, quoted: Any = None) -> Evaluator:
        """Make an evaluator of the tables, or, with `quoted`, of their names in an engine."""
        tables = {name: self.source(name, quoted) for name in self.tables}
        return Evaluator(**tables, check=False)


def rounds() -> Logged:
    """Two policies, and rounds of users who come again."""
    draw = random.Random(8)
    logs = [
        (n, draw.choice(USERS), draw.choice("abc"), draw.choice([0, 1]), draw.choice([0.2, 0.5]),
         draw.choice(["web", "app"]))
        for n in range(60)
    ]  # fmt: skip
    policy = [
        (model, n, item, share, draw.choice([0.25, 0.5, 0.75]))
        for model, shares in {"bold": (0.5, 0.5), "shy": (0.125, 0.875)}.items()
        for n in range(60)
        for item, share in zip(draw.sample("abc", 2), shares, strict=True)
    ]
    tables = {
        "logs": _table("round_id user_id item_id reward propensity device", logs),
        "policy": _table("model round_id item_id probability predicted", policy),
    }
    return Logged(tables, {"logs": "My rounds", "policy": "My policy"})


def slates() -> Logged:
    """Slates of one to four items, with the probabilities of both policies."""
    draw = random.Random(9)
    logs = [
        (n, n % 7, f"i{draw.randrange(9)}", draw.choice([0, 1]), 0.5, position,
         draw.choice([0.0, 0.25, 0.5, 1.0]))
        for n in range(30)
        for position in range(1, draw.randrange(2, 6))
    ]  # fmt: skip
    names = "round_id user_id item_id reward propensity position target_propensity"
    return Logged({"logs": _table(names, logs)}, {"logs": "My slates"})
