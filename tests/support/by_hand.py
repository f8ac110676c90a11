"""Queries that a person writes by hand from the definition of a metric: `tests/by_hand/NAME.sql`.

A file begins with a comment in TOML, which says what is asked:

    metrics    as in `evaluate`
    tables     the tables that the query reads
    settings, convention, by, ci    as in `evaluate`, if they are not the default
    files      the files of tables, where their names differ: { logs = "slates" }
    models     names of models, each in a file recommendations_NAME.parquet
    per_user   true: the rows of `per_user`

The query reads the tables as Parquet files in one folder and returns the rows of the package.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlmetrics as sm
from tests.support.paths import TESTS

FOLDER = TESTS / "by_hand"
KEYS = {
    "metrics", "tables", "files", "settings", "convention", "by", "ci", "models", "per_user",
}  # fmt: skip


@dataclass
class Query:
    """A query and what is asked with it."""

    sql: str
    asked: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Query:
        head, end, sql = path.read_text(encoding="utf-8").removeprefix("/*\n").partition("*/\n")
        assert end, f"{path.name}: the file does not begin with a comment"
        asked = tomllib.loads(head)
        assert asked.keys() <= KEYS, f"{path.name}: {asked.keys() - KEYS}"
        return cls(sql, asked)


QUERIES = {path.stem: Query.read(path) for path in sorted(FOLDER.glob("*.sql"))}


def evaluator(asked: Mapping[str, Any], of: Callable[[str], Any]) -> sm.Evaluator:
    """Open the tables that a query asks for; `of` returns a table by the name of its file."""
    tables: dict[str, Any] = {
        name: of(asked.get("files", {}).get(name, name)) for name in asked["tables"]
    }
    if "models" in asked:
        tables["recommendations"] = {
            model: of(f"recommendations_{model}") for model in asked["models"]
        }
    choices = {name: asked[name] for name in ("settings", "convention") if name in asked}
    return sm.Evaluator(**tables, **choices, threads=1, check=False)  # it warns of random tables
