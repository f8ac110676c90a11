"""Gaps between groups of users against MetricFrame of fairlearn: references/gaps/fairlearn.json.

The file was written by references/make.py, from fairlearn itself in an environment of its own.
"""

import json
from typing import Any

import pandas as pd
import pytest

from tests.references import data
from tests.support.evaluators import Evaluator
from tests.support.paths import TESTS

STORED: dict[str, Any] = json.loads(
    (TESTS / "references" / "gaps" / "fairlearn.json").read_text(encoding="utf-8")
)
GAPS = ["difference", "ratio"]


def test_stored_gaps_are_about_the_tables_as_they_are_made_now() -> None:
    for name, fingerprint in STORED["data"].items():
        assert data.fingerprint(data.tables(name)) == fingerprint


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.filterwarnings("ignore:gap. . of . slices have fewer than 30 users")
def test_gaps_are_those_of_fairlearn(n_groups: int) -> None:
    (name,) = STORED["data"]
    tables = {table: pd.DataFrame(rows) for table, rows in data.tables(name).items()}
    lists, truth = tables["recommendations"].drop(columns="score"), tables["interactions"]
    users = pd.DataFrame({"user_id": pd.concat([lists["user_id"], truth["user_id"]]).unique()})
    users["team"] = [f"team {int(user[1:]) % n_groups}" for user in users["user_id"]]
    with Evaluator(lists, truth, users=users) as evaluator:
        found = evaluator.evaluate(["recall", "hit_rate"], k=data.CUTOFFS, by="team", gap=GAPS)
    here = {
        (row["model"], f"{row['metric']} of {n_groups} groups: {gap}", row["k"]): row["value"]
        for row in found.to_dict("records")
        for gap in GAPS
        if row["team"] == f"({gap})"
    }
    there = {
        (cell["model"], cell["name"], cell["k"]): cell["value"]
        for cell in STORED["cells"]
        if f"of {n_groups} groups" in cell["name"]
    }
    assert len(there) >= 35
    # a ratio of groups without a hit has no value on both sides
    assert {key: here[key] for key in there} == pytest.approx(there, abs=1e-12)
    assert all(pd.isna(here[key]) for key in here.keys() - there.keys())
