"""Stored numbers of other libraries lead back to their library.

The numbers of references/NAME.json are given to `identify` without their convention, by the name of
our metric alone (`map@10=0.7616`), in full and with four digits. The convention of the library has
to be the nearest one, or among equals. The numbers of all libraries about some tables go into one
call, which computes every way once; each number is then judged as if it had been given alone, by
its difference.
"""

from __future__ import annotations

import json
from collections import Counter
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
PER_LIBRARY = 2  # numbers: a call computes each metric under each convention

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


def order_of(name: str) -> str:
    """Name what gives the order of lists under a convention: tables are read in that form."""
    return str(ours.convention(name).get("settings", {}).get("order", "auto"))


def chosen() -> dict[tuple[str, str], list[tuple[str, ours.Cell]]]:
    """Choose numbers of each library: {(tables, order): [(library, cell)]}.

    Libraries of the same tables are asked about in one call. Of each, the first and the last of its
    metrics.
    """
    found: dict[tuple[str, str], list[tuple[str, ours.Cell]]] = {}
    for name in STORED:
        data_name = min(stored(name)["data"], key=lambda of: (-POPULAR[of], of))
        cells = [
            cell
            for cell in stored(name)["cells"]
            if cell["data"] == data_name and cell["k"] in (10, None) and cell["model"] == "near"
        ]
        places = {round(n * (len(cells) - 1) / (PER_LIBRARY - 1)) for n in range(PER_LIBRARY)}
        found.setdefault((data_name, order_of(name)), []).extend(
            (name, cells[place]) for place in sorted(places)
        )
    return found


POPULAR = Counter(of for name in STORED for of in stored(name)["data"])


def test_stored_numbers_lead_back_to_their_library() -> None:
    """In full, also in single precision, and with four digits."""
    missed, asked = [], set()
    for (data_name, _), cells in chosen().items():
        asked |= {name for name, _ in cells}
        texts = {
            (number(name, cell, digits), name, cell["name"])
            for name, cell in cells
            for digits in (None, 4)
        }
        tables = tables_of(cells[0][0], data_name)
        with sm.Evaluator(**tables, check=False, threads=1) as evaluator:
            frame = evaluator.identify(sorted({text for text, _, _ in texts}))
        for text, name, theirs in sorted(texts):
            rows = nearest(frame, text)
            right = rows[(rows["convention"] == name) & (rows["change"] == "")]
            if not any(f", {theirs}, " in f", {names}, " for names in right["theirs"]):
                known = ", ".join(rows["convention"].unique())
                missed.append(f"{data_name}: {text} is {theirs} of {name}, found: {known}")
    assert asked == set(STORED)
    assert missed == []


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
