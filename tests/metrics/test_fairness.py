"""Fairness to groups of items: the direction of statistics, and the ways to give groups."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog

OF_GROUPS = [
    "exposure_parity", "exposure_utility", "gain_utility", "equal_opportunity",
    "statistical_parity",
]  # fmt: skip
FAIR = {"u1": ["a", "b"], "u2": ["b", "a"], "u3": ["c", "d"], "u4": ["d", "c"]}
UNFAIR = {user: ["a", "b"] for user in FAIR}  # M has a and b, O has c and d
TRUTH = {user: ["a", "c"] for user in FAIR}
HISTORY = {"u9": ["a", "b", "c", "d"]}
ITEMS = pd.DataFrame({"item_id": list("abcd"), "brand": list("MMOO")})
STATISTICS = Catalog.load().metrics["exposure_parity"].params["statistic"].choices


def evaluator(items: pd.DataFrame = ITEMS, column: str = "brand", **options: Any) -> sm.Evaluator:
    return sm.Evaluator(
        {"fair": FAIR, "unfair": UNFAIR}, TRUTH, history=HISTORY, items=items,
        columns={"items.item_group": column}, **options,
    )  # fmt: skip


@pytest.mark.parametrize("metric", OF_GROUPS)
def test_the_direction_of_a_statistic_decides_which_model_is_better(metric: str) -> None:
    # the ratio of the largest to the smallest value is not defined for the unfair model
    specs = [f"{metric}(statistic={one})" for one in STATISTICS if one != "max_min_ratio"]
    with evaluator() as world:
        board = world.leaderboard(specs, k=2)
    marks = board.set_index("model").filter(like=" mark")
    assert marks.loc["fair"].tolist() == ["best"] * len(specs)
    assert "best" not in marks.loc["unfair"].tolist()


def test_a_list_of_one_group_is_the_group() -> None:
    several = pd.DataFrame({"item_id": list("abcd"), "maker": [["M"], ["M", "M"], ["O"], ["O"]]})
    asked = [*OF_GROUPS, "awrf", "ndkl"]
    with evaluator() as world, evaluator(several, "maker") as other:
        pd.testing.assert_frame_equal(world.evaluate(asked, k=2), other.evaluate(asked, k=2))


def test_models_and_slices_have_values_of_their_own() -> None:
    users = pd.DataFrame({"user_id": list(FAIR), "half": ["x", "x", "y", "y"]})
    with evaluator(users=users) as world:
        found = world.evaluate("exposure_parity@2")
        halves = world.evaluate("exposure_parity@2", by="half")
    assert found["value"].tolist() == [1, 0]
    assert halves["value"].tolist() == [0, 0, 0, 0]  # each half of the fair lists has one group


SHOP = {"u1": list("cde"), "u2": list("bde"), "u3": list("cef"), "u4": list("bcd")}
KNOWN = {"u1": ["a", "b"], "u2": ["a", "c"], "u3": ["a", "b", "d"], "u4": ["a"]}
FIRST_CATEGORY = pd.DataFrame({"item_id": list("abcdef"), "item_group": list("XXYYYX")})


def test_slices_and_stages_have_the_disparity_of_each_pair_of_groups() -> None:
    users = pd.DataFrame({"user_id": list(SHOP), "half": ["g1", "g1", "g2", "g2"]})
    tables: dict[str, Any] = {
        "history": KNOWN,
        "items": FIRST_CATEGORY,
        "settings": {"catalogue": "items"},
    }
    pairs: dict[str, dict[str, float]] = {}
    for half, members in users.groupby("half"):
        lists = {user: SHOP[user] for user in members["user_id"]}
        with sm.Evaluator(lists, **tables) as world:
            listed = world.stage("listed_groups", "bias_disparity").query("rank <= 3")
            known = world.stage("history_groups", "bias_disparity").set_index("item_group")
        weights = listed.groupby("item_group")["n_listed"].sum()
        pairs[str(half)] = (weights / weights.sum() / known["history_share"] - 1).to_dict()
    assert pairs["g1"] == pytest.approx({"X": -7 / 9, "Y": 7 / 3}, abs=1e-12)
    assert pairs["g2"] == pytest.approx({"X": -5 / 9, "Y": 5 / 3}, abs=1e-12)
    specs = [f"bias_disparity(statistic={one})@3" for one in ("min", "max", "mean_abs")]
    with sm.Evaluator(SHOP, users=users, **tables) as world:
        found = world.evaluate(specs, by="half")
    by_half = found.pivot_table(index="half", columns="metric", values="value", sort=False)
    expected = [[-7 / 9, 7 / 3, 14 / 9], [-5 / 9, 5 / 3, 10 / 9]]
    assert by_half.to_numpy().tolist() == [pytest.approx(row, abs=1e-12) for row in expected]
