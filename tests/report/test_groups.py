"""Compare the exposure of groups of items, calibration and popularity lift with pandas."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from sqlmetrics.report.analysis import FURTHER, LIFTS, Question, Study
from sqlmetrics.report.figures import KINDS
from sqlmetrics.report.figures.groups import grouped_by
from tests.support.calls import studied
from tests.support.evaluators import Evaluator
from tests.support.paths import DATA
from tests.support.reports import (
    GROUPED_ITEMS,
    HISTORY,
    METRICS,
    RECOMMENDED,
    TRUTH,
    K,
    content_of,
    same,
)

Z = NormalDist().inv_cdf(0.975)


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    """Return tables of the example data; one user has no history."""
    names = ("history", "items", "recommendations_als", "recommendations_popular")
    tables = {name: pd.read_parquet(DATA / f"{name}.parquet") for name in names}
    without = tables["recommendations_als"]["user_id"].iloc[0]
    tables["history"] = tables["history"][tables["history"]["user_id"] != without]
    return tables


@pytest.fixture(scope="module")
def of_demo(tables: dict[str, pd.DataFrame]) -> Iterator[Study]:
    lists = {name: tables[f"recommendations_{name}"] for name in ("als", "popular")}
    others = {name: tables[name] for name in ("history", "items")}
    with (
        Evaluator(lists, DATA / "interactions.parquet", **others) as evaluator,
        studied(evaluator, Question(["precision@5", "gini@5"], by=[], by_item=[])) as study,
    ):
        yield study


def shares(rows: pd.DataFrame, items: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the share of every group in the weight of every user: one row per user."""
    of_item = {
        row.item_id: groups if isinstance(groups, np.ndarray) else [groups]
        for row in items.itertuples()
        for groups in [getattr(row, column)]
    }
    parts: dict[Any, dict[str, float]] = {}
    for row in rows.itertuples():
        groups = of_item[row.item_id]
        of_user = parts.setdefault(row.user_id, {})
        for group in groups:
            of_user[group] = of_user.get(group, 0.0) + row.weight / len(groups)
    wide = pd.DataFrame.from_dict(parts, orient="index").fillna(0.0)
    return wide.div(wide.sum(axis=1), axis=0)


def top(lists: pd.DataFrame, k: int) -> pd.DataFrame:
    rows = lists.sort_values(["score", "item_id"], ascending=[False, True])
    ranks = rows.groupby("user_id").cumcount() + 1
    return rows.assign(rank=ranks)[ranks <= k]


def check_intervals(rows: pd.DataFrame, value: str, expected: pd.DataFrame) -> None:
    """Compare means and intervals with the values of users, one column per group."""
    rows = rows.set_index("group").loc[list(expected.columns)]
    np.testing.assert_allclose(rows[value], expected.mean(), atol=1e-12)
    half = Z * expected.std(ddof=1) / np.sqrt(len(expected))
    np.testing.assert_allclose(rows["ci_low"], expected.mean() - half, atol=1e-9)
    np.testing.assert_allclose(rows["ci_high"], expected.mean() + half, atol=1e-9)
    assert set(rows["n_users"]) == {len(expected)}


def test_exposure_of_groups(of_demo: Study, tables: dict[str, pd.DataFrame]) -> None:
    rows, items = KINDS["group_exposure"].rows(of_demo), tables["items"]
    groups = sorted(items["item_group"].unique())
    assert grouped_by(of_demo) == "item_group"
    users: set[Any] = set()
    for model in ("als", "popular"):
        listed = top(tables[f"recommendations_{model}"], 5)
        users |= set(listed["user_id"])
        listed = listed.assign(weight=1 / np.log2(listed["rank"] + 1))
        expected = shares(listed, items, "item_group").reindex(columns=groups, fill_value=0.0)
        check_intervals(rows[rows["model"] == model], "value", expected)
    history = tables["history"].query("user_id in @users").assign(weight=1.0)
    history = history.drop_duplicates(["user_id", "item_id"])
    known = shares(history, items, "item_group").reindex(columns=groups, fill_value=0.0).mean()
    catalogue = items[items["item_id"].isin(tables["history"]["item_id"])]
    counts = catalogue["item_group"].value_counts(normalize=True)
    for column, expected in (("history", known), ("catalogue", counts)):
        np.testing.assert_allclose(rows[column], expected.reindex(rows["group"]).to_numpy())
    # the popular model never recommends some groups, which have a row
    assert (rows.query("model == 'popular'")["value"] == 0).any()


def test_calibration_by_category(of_demo: Study, tables: dict[str, pd.DataFrame]) -> None:
    rows, items = KINDS["calibration"].rows(of_demo), tables["items"]
    history = tables["history"].drop_duplicates(["user_id", "item_id"]).assign(weight=1.0)
    known = shares(history, items, "category")
    for model in ("als", "popular"):
        listed = top(tables[f"recommendations_{model}"], 5).assign(weight=1.0)
        expected = shares(listed, items, "category").reindex(columns=known.columns, fill_value=0.0)
        users = expected.index.intersection(known.index)
        assert len(users) < len(expected)  # a user without a history
        own = rows[rows["model"] == model]
        check_intervals(own, "difference", expected.loc[users] - known.loc[users])
        own = own.set_index("group").loc[list(known.columns)]
        np.testing.assert_allclose(own["listed"], expected.loc[users].mean(), atol=1e-12)
        np.testing.assert_allclose(own["known"], known.loc[users].mean(), atol=1e-12)


def test_exposure_by_hand() -> None:
    # b has two groups, d none; the second user has no item of x, the third none of y
    items = pd.DataFrame({"item_id": list("abcd"), "item_group": [["x"], ["x", "y"], ["y"], None]})
    lists = {1: ["a", "b"], 2: ["c", "d"], 3: ["a"]}
    history = {1: ["a", "c"], 3: ["d"], 4: ["b"]}
    with (
        Evaluator(lists, {1: ["a"]}, history=history, items=items) as evaluator,
        studied(evaluator, Question("precision@2")) as study,
    ):
        rows = KINDS["group_exposure"].rows(study).set_index("group")
        (drawn,) = KINDS["group_exposure"](study)
        assert KINDS["calibration"].rows(study).empty
    second = 1 / np.log2(3)
    x = [(1 + second / 2) / (1 + second), 0, 1]
    y = [second / 2 / (1 + second), 1 / (1 + second), 0]
    none = [0, second / (1 + second), 0]
    assert rows.index.isna().sum() == 1
    for group, values in (("x", x), ("y", y), (None, none)):
        row = rows[rows.index.isna()].iloc[0] if group is None else rows.loc[group]
        half = Z * np.std(values, ddof=1) / np.sqrt(3)
        assert row["value"] == pytest.approx(np.mean(values))
        assert row["ci_high"] - row["value"] == pytest.approx(half)
        assert row["n_users"] == 3
    # histories of users with lists: {x: 1/2, y: 1/2} and {none: 1}
    assert rows["history"].tolist() == pytest.approx([0.25, 0.25, 0.5])
    # catalogue of the history: a, b, c and d
    assert rows["catalogue"].tolist() == pytest.approx([3 / 8, 3 / 8, 2 / 8])
    assert set(drawn.table["item_group"]) == {"x", "y", "(no item_group)"}


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
