"""Compare the exposure of groups of items, calibration and popularity lift with values by hand."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from sqlmetrics.report.analysis import FURTHER, LIFTS, Question
from sqlmetrics.report.figures import KINDS
from sqlmetrics.report.figures.groups import grouped_by
from tests.support.calls import studied
from tests.support.evaluators import Evaluator
from tests.support.frames import same
from tests.support.reports import (
    GROUPED_ITEMS,
    HISTORY,
    METRICS,
    RECOMMENDED,
    TRUTH,
    K,
    content_of,
)

Z = NormalDist().inv_cdf(0.975)


def test_exposure_by_hand() -> None:
    # b has two groups, d none; the second user has no item of x, the third none of y, none has z
    groups = [["x"], ["x", "y"], ["y"], None, ["z"]]
    items = pd.DataFrame({"item_id": list("abcde"), "item_group": groups})
    lists = {1: ["a", "b", "c"], 2: ["c", "d"], 3: ["a"]}
    history = pd.DataFrame({"user_id": [1, 1, 1, 3, 4, 4], "item_id": list("aacdbe")})
    with (
        Evaluator(lists, {1: ["a"]}, history=history, items=items) as evaluator,
        studied(evaluator, Question("precision@2")) as study,
    ):
        rows = KINDS["group_exposure"].rows(study).set_index("group")
        (drawn,) = KINDS["group_exposure"](study)
        assert grouped_by(study) == "item_group"
        assert KINDS["calibration"].rows(study).empty
    second = 1 / np.log2(3)
    x = [(1 + second / 2) / (1 + second), 0, 1]
    y = [second / 2 / (1 + second), 1 / (1 + second), 0]
    none = [0, second / (1 + second), 0]
    assert rows.index.isna().sum() == 1
    for group, values in (("x", x), ("y", y), ("z", [0, 0, 0]), (None, none)):
        row = rows[rows.index.isna()].iloc[0] if group is None else rows.loc[group]
        half = Z * np.std(values, ddof=1) / np.sqrt(3)
        assert row["value"] == pytest.approx(np.mean(values))
        assert row["ci_high"] - row["value"] == pytest.approx(half)
        assert row["n_users"] == 3
    # histories of users with lists, each item once: {x: 1/2, y: 1/2} and {none: 1}
    assert rows["history"].tolist() == pytest.approx([0.25, 0.25, 0, 0.5])
    # catalogue of the history: all items
    assert rows["catalogue"].tolist() == pytest.approx([0.3, 0.3, 0.2, 0.2])
    assert set(drawn.table["item_group"]) == {"x", "y", "z", "(no item_group)"}


def test_calibration_by_hand() -> None:
    # b has two categories; the third user has no history and does not count
    items = pd.DataFrame({"item_id": list("abcd"), "category": [["x"], ["x", "y"], ["y"], ["z"]]})
    lists = {1: ["a", "b", "d"], 2: ["c", "b"], 3: ["a"]}
    history = pd.DataFrame({"user_id": [1, 1, 1, 2, 2], "item_id": list("aacad")})
    with (
        Evaluator(lists, {1: ["a"]}, history=history, items=items) as evaluator,
        studied(evaluator, Question("precision@2")) as study,
    ):
        rows = KINDS["calibration"].rows(study).set_index("group").loc[["x", "y", "z"]]
    # histories, each item once: {x: 1/2, y: 1/2} and {x: 1/2, z: 1/2}
    listed, known = np.array([[3, 1, 0], [1, 3, 0]]) / 4, np.array([[2, 2, 0], [2, 0, 2]]) / 4
    half = Z * (listed - known).std(axis=0, ddof=1) / np.sqrt(2)
    assert rows["listed"].tolist() == pytest.approx(listed.mean(axis=0))
    assert rows["known"].tolist() == pytest.approx(known.mean(axis=0))
    assert rows["difference"].tolist() == pytest.approx([0, 0.25, -0.25])
    assert (rows["ci_high"] - rows["difference"]).tolist() == pytest.approx(half)
    assert (rows["difference"] - rows["ci_low"]).tolist() == pytest.approx(half)
    assert set(rows["n_users"]) == {2}


def test_one_user_has_no_interval() -> None:
    items = pd.DataFrame({"item_id": ["a", "b"], "category": ["x", "y"]})
    with (
        Evaluator({1: ["a"]}, {1: ["a"]}, items=items, history={1: ["b"]}) as evaluator,
        studied(evaluator, Question("precision@1")) as study,
    ):
        assert grouped_by(study) == "category"
        exposure, calibration = (
            KINDS["group_exposure"].rows(study),
            KINDS["calibration"].rows(study),
        )
    assert exposure[["group", "value", "history"]].to_numpy().tolist() == [
        ["x", 1.0, 0.0],
        ["y", 0.0, 1.0],
    ]
    assert calibration[["group", "difference"]].to_numpy().tolist() == [["x", 1.0], ["y", -1.0]]
    for rows in (exposure, calibration):
        assert rows[["ci_low", "ci_high"]].isna().all(axis=None)


def test_the_groups_have_the_name_of_their_column() -> None:
    items = GROUPED_ITEMS.rename(columns={"item_group": "seller"})
    columns = {"items.item_group": "seller"}
    with (
        Evaluator(RECOMMENDED, TRUTH, items=items, columns=columns) as evaluator,
        studied(evaluator, Question(METRICS[:2], K)) as study,
    ):
        (drawn,) = KINDS["group_exposure"](study)
        assert KINDS["group_exposure"].rows(study)["history"].isna().all()
    assert drawn.title == "Exposure by seller"
    assert {"seller", "share of the exposure"} <= set(drawn.table)
    assert "share of the histories" not in drawn.table
    assert "Grey lines" not in drawn.text


def test_many_groups_are_cut() -> None:
    items = pd.DataFrame({"item_id": range(100, 124), "item_group": range(24)})
    with (
        Evaluator(RECOMMENDED, TRUTH, items=items) as evaluator,
        studied(evaluator, Question("precision@4")) as study,
    ):
        largest = KINDS["group_exposure"].rows(study).groupby("group")["value"].max().nlargest(20)
        (drawn,) = KINDS["group_exposure"](study)
    assert "4 smaller groups are omitted." in drawn.note
    shown = drawn.table.groupby("item_group", sort=False)["share of the exposure"].max()
    np.testing.assert_allclose(shown, largest)


def test_lift_by_activity_is_that_of_evaluate() -> None:
    with Evaluator(RECOMMENDED, TRUTH, history=HISTORY) as evaluator:
        theirs = evaluator.evaluate(LIFTS, 4, by="activity_group")
        with studied(evaluator, Question(METRICS, K, by=[])) as study:
            ours = KINDS["popularity_lift"].rows(study)
            (drawn,) = KINDS["popularity_lift"](study)
    theirs = theirs.rename(columns={"activity_group": "slice"})
    same(ours, theirs, "metric", "slice", "model")
    sizes = theirs.groupby("slice")["n_users"].max().to_dict()
    assert set(drawn.table["activity"]) == {f"{name} ({n})" for name, n in sizes.items()}


def test_trade_offs_have_the_further_metrics_by_default() -> None:
    categories = [groups or ["other"] for groups in GROUPED_ITEMS["category"]]
    tables = {"history": HISTORY, "items": GROUPED_ITEMS.assign(category=categories)}
    with Evaluator(RECOMMENDED, TRUTH, **tables) as evaluator:
        theirs = evaluator.evaluate(["ndcg", *FURTHER], 10).set_index(["model", "metric"])["value"]
        content = evaluator.report(examples=False).content
        with studied(evaluator, Question(["ndcg@10", "gini@10"])) as study:
            (named,) = KINDS["trade_off"](study)
    figures = {one.name: one for section in content.sections for one in section.figures}
    table = figures["trade_off"].table
    assert table is not None
    assert [row[0] for row in table.rows] == [row[0] for row in content.leaderboard.rows]
    for row in table.rows:
        values = dict(zip(table.columns, row, strict=True))
        for metric in ("ndcg", *FURTHER):
            assert values[f"{metric}@10"] == pytest.approx(theirs[row[0], metric], abs=1e-12)
    # the leaderboard has only the usual metrics; the definitions have all
    assert not {f"{name}@10" for name in FURTHER} & set(content.leaderboard.metrics)
    assert {*FURTHER} <= {one.metric for one in content.definitions}
    assert list(named.table) == ["model", "ndcg@10", "gini@10"]


def test_metrics_whose_tables_have_errors_are_omitted() -> None:
    """Some items have no category, which an evaluation of calibration refuses."""
    tables = {"history": HISTORY, "items": GROUPED_ITEMS}
    with Evaluator(RECOMMENDED, TRUTH, **tables) as evaluator:
        with pytest.raises(sm.DataError, match="category"):
            evaluator.evaluate("calibration@4")
        with studied(evaluator, Question(k=4)) as study:
            assert "calibration" not in {request.metric.name for request in study.further}
            assert {"awrf", *LIFTS} <= {request.metric.name for request in study.further}
            (drawn,) = KINDS["calibration"](study)
            assert "(no category)" in set(drawn.table["category"])


# ---------------------------------------------------------------- what is missing


@pytest.mark.parametrize(
    ("tables", "missing"),
    [
        (
            {},
            "Not shown, with what each figure needs: popularity bias and popularity lift by "
            "activity (the table history); exposure by group of items (the column item_group or "
            "category of the table items); calibration by category (the table history and the "
            "column category of the table items).",
        ),
        (
            {"items": GROUPED_ITEMS},
            "Not shown, with what each figure needs: popularity bias and popularity lift by "
            "activity (the table history); calibration by category (the table history and the "
            "column category of the table items).",
        ),
        ({"items": GROUPED_ITEMS, "history": HISTORY}, ""),
    ],
    ids=["no tables", "no history", "everything"],
)
def test_what_missing_figures_need(tables: dict[str, Any], missing: str) -> None:
    with (
        Evaluator(RECOMMENDED, TRUTH, **tables) as evaluator,
        studied(evaluator, Question(["ndcg@4", "inter_list_diversity@4"])) as study,
    ):
        content = content_of(study)
    notes = {section.name: section.note for section in content.sections}
    assert notes.pop("beyond") == missing
    assert not any(notes.values())


def test_a_convention_without_popularity_lift() -> None:
    truth = TRUTH.assign(relevance=1)
    with Evaluator(RECOMMENDED, truth, history=HISTORY, convention="ranx") as evaluator:
        with studied(evaluator, Question("ndcg@4")) as study:
            content = content_of(study)
        with pytest.raises(UsageError, match=r"popularity_lift: nothing to draw; .*convention"):
            evaluator.plot("popularity_lift", "ndcg@4")
    (note,) = [section.note for section in content.sections if section.name == "beyond"]
    assert (
        "popularity lift by activity (the metric popularity_lift, which the convention does not "
        "cover)" in note
    )
