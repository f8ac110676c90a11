"""Every stored number of another library leads back to that library.

The numbers of references/NAME.json are given to `identify` without their convention, by the name of
our metric alone (`map@10=0.7616`), in full and with four digits. The convention of the library has
to be the nearest one, or among equals. All numbers of some tables go into one call, which computes
every way once; each number is then judged as if it had been given alone, by its difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.spec import parse_spec
from tests.references import data, ours
from tests.support.paths import TESTS

REFERENCES = TESTS / "references"
STORED = sorted(path.stem for path in REFERENCES.glob("*.json"))
CATALOG = Catalog.load()
WANTED = 0.95
"""The share of numbers that must lead back to their library."""
FAST = {("jurity", "unlogged"), ("lenskit", "common"), ("ranx", "plain")}

QUICK = {"trec_eval"}

pytestmark = pytest.mark.filterwarnings("ignore::sqlmetrics.SqlmetricsWarning")


@cache
def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((REFERENCES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def tables_of(name: str, data_name: str) -> dict[str, pd.DataFrame]:
    tables = {table: pd.DataFrame(rows) for table, rows in data.tables(data_name).items()}
    return ours.as_read(name, tables)


def number(name: str, cell: ours.Cell, digits: int | None) -> str:
    """Write a cell as somebody reports it: without the settings of the library."""
    metric, _ = CATALOG.metric(parse_spec(ours.convention(name)["covers"][cell["name"]]).metric)
    cutoff = "" if cell["k"] is None else f"@{cell['k']}"
    value = repr(cell["value"]) if digits is None else f"{cell['value']:.{digits}f}"
    return f"{cell['model']}: {metric.name}{cutoff}={value}"


def nearest(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    """Return the rows of one number that are as near as the nearest one."""
    model, _, rest = text.partition(": ")
    metric, _, reported = rest.partition("=")
    metric, _, cutoff = metric.partition("@")
    rows = frame[
        (frame["model"] == model)
        & (frame["metric"] == metric)
        & (frame["reported"] == reported)
        & (frame["k"].isna() if not cutoff else frame["k"] == int(cutoff or 0))
        & frame["matches"]
    ]
    distance = rows["difference"].abs()
    distance = distance.where(distance > ours.TOLERANCE, 0)
    return rows[distance <= distance.min() + 1e-12]


def not_identified(name: str, data_name: str, cells: Iterable[ours.Cell]) -> list[str]:
    """List the numbers that do not lead back to their library, or to another metric of it."""
    texts = {(number(name, cell, digits), cell["name"]) for cell in cells for digits in (None, 4)}
    with sm.Evaluator(**tables_of(name, data_name), check=False) as evaluator:
        frame = evaluator.identify(sorted({text for text, _ in texts}))
    missed = []
    for text, theirs in sorted(texts):
        rows = nearest(frame, text)
        right = rows[(rows["convention"] == name) & (rows["change"] == "")]
        if not any(theirs in names.split(", ") for names in right["theirs"]):
            found = ", ".join(rows["convention"].unique())
            missed.append(f"{text} is {theirs} of {name}, identified as: {found or 'nothing'}")
    return missed


def all_tables() -> list[Any]:
    """Return every library and name of tables; thorough: the first tables of a few.

    The others, half a minute each, are for releases.
    """
    return [
        pytest.param(
            name,
            of,
            marks=pytest.mark.exhaustive if place or name not in QUICK else pytest.mark.thorough,
        )
        for name in STORED
        for place, of in enumerate(stored(name)["data"])
    ]


@pytest.mark.parametrize(("name", "data_name"), sorted(FAST))
def test_numbers_at_one_cutoff_lead_back_to_their_library(name: str, data_name: str) -> None:
    cells = [
        cell
        for cell in stored(name)["cells"]
        if cell["data"] == data_name and cell["k"] in (10, None) and cell["model"] == "near"
    ]
    assert len(cells) >= 7
    assert not_identified(name, data_name, cells) == []


@pytest.mark.parametrize(("name", "data_name"), all_tables())
def test_stored_numbers_lead_back_to_their_library(name: str, data_name: str) -> None:
    cells = [cell for cell in stored(name)["cells"] if cell["data"] == data_name]
    missed = not_identified(name, data_name, cells)
    assert len(missed) <= (1 - WANTED) * 2 * len(cells), "\n".join(missed)


@pytest.mark.thorough
def test_a_number_alone_leads_back_to_its_library() -> None:
    """The ranks of a result are those that the other tests find by the differences."""
    cells = [cell for cell in stored("ranx")["cells"] if cell["name"] == "map"]
    cell = next(cell for cell in cells if (cell["model"], cell["k"]) == ("far", 10))
    text = number("ranx", cell, 4)
    with sm.Evaluator(**tables_of("ranx", "plain"), check=False) as evaluator:
        frame = evaluator.identify(text)
    best = frame[frame["rank"] == 1]
    assert best["convention"].tolist() == nearest(frame, text)["convention"].tolist()
    assert "ranx" in set(best["convention"])
