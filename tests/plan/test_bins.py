"""Bins of a column of numbers to slice by, with labels worked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator

USERS = pd.DataFrame({
    "user_id": [1, 2, 3, 4, 5, 6, 7],
    "Age": [20, 25, 25, 25, 40, 60, None],
    "city": ["a", "b", "a", "b", "a", "b", "a"],
})  # fmt: skip
LISTS = {user: [10 * user, 1] for user in USERS["user_id"]}
TRUTH = {user: [10 * user] for user in USERS["user_id"]}
PRICES = pd.DataFrame({"item_id": [1, *(10 * n for n in range(1, 8))], "price": range(8)})


@pytest.fixture(scope="module")
def evaluator() -> Any:
    with Evaluator(LISTS, TRUTH, users=USERS, items=PRICES) as made:
        yield made


@pytest.mark.parametrize(
    ("by", "sizes"),
    [
        # below them: 0 1 1 1 4 5 of 6
        ("age(groups=3)", {"1: 20.0 to 25.0": 4, "3: 40.0 to 60.0": 2, "(none)": 1}),
        ("Age(bins=25|50)", {"below 25": 1, "25 to below 50": 4, "50 or more": 1, "(none)": 1}),
        ("users.age( bins = 70 )", {"below 70": 6, "(none)": 1}),
        ("items.price(bins=2.5)", {"below 2.5": 2, "2.5 or more": 5}),
        ("items.price(groups=2)", {"1: 0 to 3": 3, "2: 4 to 7": 4}),
    ],
)
def test_bins_by_hand(by: str, sizes: dict[str, int], evaluator: sm.Evaluator) -> None:
    found = evaluator.evaluate("recall@1", by=by)
    column = found.columns[0]
    assert dict(zip(found[column], found["n_users"], strict=True)) == sizes
    assert (found["value"] == 1).all()


def test_numbers_that_are_not_finite_have_no_slice(tmp_path: Path) -> None:
    """NaN of Arrow tables and files is missing, as NaN of pandas is, and in bins too."""
    ages = [20.5, float("nan"), float("inf"), None]
    users = pa.table({"user_id": [1, 2, 3, 4], "age": ages, "old": pa.array(ages, pa.float32())})
    pq.write_table(users, tmp_path / "users.parquet")
    for source in (users, tmp_path / "users.parquet"):
        with Evaluator(LISTS, TRUTH, users=source) as made:
            for by, one in (("age", "20.5"), ("old", "20.5"), ("age(bins=25)", "below 25")):
                found = made.evaluate("recall@1", by=by)
                assert dict(zip(found.iloc[:, 0], found["n_users"], strict=True)) == {
                    one: 1, "(none)": 6,
                }  # fmt: skip


def test_bins_beside_other_slices(evaluator: sm.Evaluator) -> None:
    by = ["age(groups=3)", "city"]
    both = evaluator.evaluate("recall@1", by=by)
    alone = evaluator.evaluate("recall@1", by=by[0])
    sizes = both.groupby("age")["n_users"].sum().to_dict()
    assert sizes == alone.set_index("age")["n_users"].to_dict()


@pytest.mark.parametrize(
    ("by", "error"),
    [
        ("age(bins=3|2)", "the limits must be finite and increase"),
        ("age(bins=1|x)", "the limits must be numbers"),
        ("age(groups=1)", "groups must be a whole number >= 2"),
        ("age(sizes=3)", r"write COLUMN\(groups=4\)"),
        ("city(groups=2)", "has the type VARCHAR, but only numbers can be divided"),
        ("aged(groups=2)", "unknown column or slice 'aged'; did you mean 'Age'"),
    ],
)
def test_bins_that_are_refused(by: str, error: str, evaluator: sm.Evaluator) -> None:
    with pytest.raises(sm.UsageError, match=error):
        evaluator.evaluate("recall@1", by=by)


def test_intervals_of_pandas_are_slices() -> None:
    bands = pd.cut(USERS["Age"], [0, 5, 25, 100])
    of_intervals = USERS[["user_id"]].assign(band=pd.arrays.IntervalArray.from_breaks(range(8)))
    for users, expected in (
        (USERS[["user_id"]].assign(band=bands), ["(5, 25]", "(25, 100]", "(none)"]),
        (of_intervals, [f"({n}, {n + 1}]" for n in range(7)]),
    ):
        with Evaluator(LISTS, TRUTH, users=users) as evaluator:
            assert list(evaluator.evaluate("recall@1", by="band")["band"]) == expected
