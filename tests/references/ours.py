"""Our number for every cell that a system said, from the same tables."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec

TOLERANCE = 1e-9
SINGLE = 1e-6  # of systems that compute in single precision
# of measures that a system prints with five digits
ROUNDED = {("ir_measures", name): 5e-6 for name in ("nDCG(dcg='exp-log2')", "ERR")}
_CONVENTIONS = Path(sm.__file__).resolve().parent / "metrics" / "conventions"

Cell = Mapping[str, Any]  # model, name, k, value, and perhaps precision


@cache
def convention(name: str) -> dict[str, Any]:
    """Return a convention as its file has it."""
    path = _CONVENTIONS / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def as_read(name: str, tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables as a convention reads them: with ranks, scores, or in the order of rows.

    Lists are in the order of their ranks where rows give the order.
    """
    found = dict(tables)
    order = convention(name).get("settings", {}).get("order", "auto")
    surplus = {"auto": ["score"], "score": ["rank"], "row": ["score", "rank"]}[order]
    for table in found.keys() & {"recommendations", "baseline"}:
        if order == "row":
            found[table] = found[table].sort_values("rank", kind="stable")
        found[table] = found[table].drop(columns=surplus)
    if "items" in found:
        if "category" in found["items"]:
            names = found["items"]["category"].str.split("|")
            return found | {"items": found["items"].assign(category=names)}
        kept = [name for name in ("item_id", "item_group") if name in found["items"]]
        features = [column for column in found["items"] if column not in kept]
        vectors = found["items"][features].to_numpy().tolist()
        if features:
            found["items"] = found["items"][kept].assign(features=vectors)
    return found


def values(
    name: str, tables: Mapping[str, pd.DataFrame], cells: Iterable[Cell]
) -> dict[tuple[str, str, int | None], float]:
    """Return {(model, name of the system, k): our value} for the cells, in two calls at most."""
    covers = convention(name)["covers"]
    settings = Settings(Catalog.load(), Convention.load(name), {})
    asked: dict[bool, set[str]] = {}
    cutoffs = set()
    for cell in cells:
        asked.setdefault(cell["k"] is not None, set()).add(cell["name"])
        cutoffs.add(cell["k"])
    found: dict[tuple[str, str, int | None], float] = {}
    with sm.Evaluator(
        **as_read(name, tables), convention=name, threads=1, check=False
    ) as evaluator:
        for has_cutoffs, names in asked.items():
            specs = sorted({covers[theirs] for theirs in names})
            result = evaluator.evaluate(specs, k=sorted(cutoffs - {None}) if has_cutoffs else None)
            for theirs in names:
                name = settings.request(parse_spec(covers[theirs])).name
                rows = result[result["metric"] == name]
                for model, k, value in zip(rows["model"], rows["k"], rows["value"], strict=True):
                    found[model, theirs, int(k) if has_cutoffs else None] = float(value)
    return found


def disagreements(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    cells: list[Cell],
    tolerance: float = TOLERANCE,
) -> list[tuple[Cell, float]]:
    """Return the cells that our value is not within the tolerance of, with our value."""
    found = values(name, tables, cells)
    pairs = [(cell, found[cell["model"], cell["name"], cell["k"]]) for cell in cells]
    return [
        (cell, here)
        for cell, here in pairs
        if not abs(here - cell["value"])
        <= ROUNDED.get((name, cell["name"]), SINGLE if "precision" in cell else tolerance)
    ]
