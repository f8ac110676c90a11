"""`sqlmetrics split` holds out the rows that splitters of other libraries hold out.

tests/references/make_splits.py wrote their rows. Where one of our rules differs from a splitter,
DIFFERENCES says for which users, and docs/how-to/split.md says it to readers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.paths import TESTS

FOLDER = TESTS / "references" / "splits"
EVENTS = pd.read_csv(FOLDER / "events.csv")
CELLS = [
    pytest.param(cell, id=f"{path.stem}, {cell['data']}: {cell['name']}")
    for path in sorted(FOLDER.glob("*.json"))
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
]


def without_events_of_few(n: int, _: Fraction) -> bool:
    return n < 2


def one_more(n: int, share: Fraction) -> bool:
    return n > 1 and n * share < 1


def half_to_even_or_all(n: int, share: Fraction) -> bool:
    """Python rounds halves to even, and `ordered[-0:]` is the whole list."""
    exact = n * share
    half = exact - int(exact) == Fraction(1, 2)
    return round(exact) == 0 or (half and int(exact) % 2 == 0)


# in names of splitters: the users, by the number of their events, for whom a library differs
DIFFERENCES: dict[str, Callable[[int, Fraction], bool]] = {
    "LastNSplitter(2) on polars": without_events_of_few,
    "split_by_fractions=False": one_more,
    "LastFrac": half_to_even_or_all,
}


def held_out(events: pd.DataFrame, rule: dict[str, Any], folder: Path) -> set[int]:
    events = events.assign(timestamp=pd.to_datetime(events["timestamp"], unit="s"))
    sm.split(events, folder, **rule)
    return {*pd.read_parquet(folder / "interactions.parquet")["row"]}


@pytest.mark.parametrize("cell", CELLS)
def test_the_rows_of_other_libraries(cell: dict[str, Any], tmp_path: Path) -> None:
    """Events of one moment stay together here: whoever holds out one of them holds out all."""
    events = EVENTS[EVENTS["data"] == cell["data"]].drop(columns="data")
    if "first row of a pair" in cell["name"]:
        events = events.drop_duplicates(["user_id", "item_id"])
    moment = ["timestamp"] if cell["rule"]["by"] == "time" else ["user_id", "timestamp"]
    moments = events.set_index("row")[moment].apply(tuple, axis="columns")
    theirs = {*cell["truth"]}
    if not cell["rule"].get("drop"):
        theirs = {*moments.index[moments.isin({*moments[cell["truth"]]})]}
    ours = held_out(events, cell["rule"], tmp_path)

    share = Fraction(cell["rule"]["by"].partition("-share=")[2] or 0)
    differs = next((of for name, of in DIFFERENCES.items() if name in cell["name"]), None)
    sizes = events.groupby("user_id").size()
    users = [user for user, n in sizes.items() if differs is not None and differs(n, share)]
    rows = {*events.loc[events["user_id"].isin(users), "row"]}
    assert ours - rows == theirs - rows
    if differs is not None and cell["data"] == "plain":
        assert bool(users) == (ours & rows != theirs & rows)


def test_the_events_have_ties() -> None:
    for data, tied in EVENTS.groupby("data"):
        assert tied.duplicated(["user_id", "timestamp"]).any() == (data == "ties")
