"""What a report says: its numbers against pandas, what it can be given, and what it refuses.

tests/report/test_page.py looks at the page itself.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.errors import DataError, MissingTableError, UsageError
from sqlmetrics.report import build
from sqlmetrics.report import page as laid_out
from sqlmetrics.report.analysis import N_BINS, Question, Study
from sqlmetrics.report.build import _examples, _leaderboard
from sqlmetrics.report.content import Content
from sqlmetrics.report.figures import plotted
from tests.support.paths import DATA
from tests.support.report_html import BUNDLE, Read

USERS, ITEMS = list(range(30)), list(range(100, 124))
METRICS, K = ["ndcg", "precision", "popularity", "coverage"], [2, 4]
MODELS = ["good", "fair", "poor"]


def pairs(n: int, seed: int, users: list[int] | None = None) -> pd.DataFrame:
    """Give every user n items."""
    random = np.random.default_rng(seed)
    rows = [(u, i) for u in users or USERS for i in random.permutation(ITEMS)[:n].tolist()]
    return pd.DataFrame(rows, columns=["user_id", "item_id"])


def ranked(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(rank=rows.groupby("user_id").cumcount() + 1)


def lists(n_good: int, seed: int, n: int = 6) -> pd.DataFrame:
    """Give every user a list that starts with up to `n_good` relevant items."""
    first = TRUTH.groupby("user_id").head(n_good)
    first = first[first["user_id"] % 4 > 0]
    rows = pd.concat([first, pairs(n, seed)]).drop_duplicates(["user_id", "item_id"])
    rows = rows.sort_values("user_id", kind="stable").groupby("user_id").head(n)
    return ranked(rows.reset_index(drop=True))


TRUTH = pairs(5, 1)
HISTORY = pd.concat([pairs(6, 2), pairs(9, 5, USERS[:10])]).drop_duplicates(ignore_index=True)
GOOD, POOR = lists(2, 3), lists(0, 4).query("user_id < 25")
FAIR = pd.concat([GOOD[GOOD["user_id"] % 2 == 0], lists(1, 6).query("user_id % 2 == 1")])
RECOMMENDED = {"poor": POOR, "good": GOOD, "fair": FAIR}
ITEM_TABLE = pd.DataFrame({"item_id": ITEMS, "title": [f"Title {item}" for item in ITEMS]})
USER_TABLE = pd.DataFrame(
    {
        "user_id": USERS,
        "country": ["NO" if user % 3 else "SE" for user in USERS],
        "age": USERS,  # too many values
        "planet": "Earth",  # too few
    }
)
TABLES = {"history": HISTORY, "items": ITEM_TABLE, "users": USER_TABLE}


@pytest.fixture(scope="module")
def evaluator() -> Iterator[sm.Evaluator]:
    with sm.Evaluator(RECOMMENDED, TRUTH, **TABLES) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def study(evaluator: sm.Evaluator) -> Iterator[Study]:
    with evaluator._study(Question(METRICS, K)) as study:
        yield study


@pytest.fixture(scope="module")
def per_user(evaluator: sm.Evaluator) -> pd.DataFrame:
    """Values of users: `model, user_id, label, value`."""
    return long_form(evaluator.per_user(["ndcg", "precision", "popularity"], [4]))


def long_form(frame: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in ("model", "user_id", "k") if name in frame]
    long = frame.melt(names, var_name="metric").dropna(subset="value")
    return long.assign(label=long["metric"] + "@" + long["k"].astype(str))


def same(ours: pd.DataFrame, theirs: pd.DataFrame, *keys: str) -> None:
    """Compare the columns of the second table, with rows in the order of keys."""
    frames = [
        frame[theirs.columns].sort_values(list(keys)).reset_index(drop=True)
        for frame in (ours, theirs)
    ]
    pd.testing.assert_frame_equal(*frames, check_dtype=False, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- values and comparisons


def test_values_are_those_of_evaluate(evaluator: sm.Evaluator, study: Study) -> None:
    same(study.values, evaluator.evaluate(METRICS, K), "metric", "k", "model")
    assert study.models == MODELS
    assert set(study.at_main["label"]) == {f"{metric}@4" for metric in METRICS}


def test_marks_are_those_of_the_leaderboard(evaluator: sm.Evaluator, study: Study) -> None:
    board = evaluator.leaderboard(METRICS, 4)
    pd.testing.assert_frame_equal(study.board, board, check_dtype=False)
    ours = _leaderboard(study)
    assert [row[0] for row in ours.rows] == MODELS
    for model, _, scores in ours.rows:
        row = board.set_index("model").loc[model]
        assert [score.mark for score in scores] == [row[f"{name} mark"] for name in ours.metrics]
        assert [score.value for score in scores] == pytest.approx([row[n] for n in ours.metrics])


def test_comparisons_are_those_of_compare(evaluator: sm.Evaluator, study: Study) -> None:
    for baseline, ours in study.comparisons.groupby("baseline"):
        metrics = METRICS[:3]  # there are no users behind coverage
        theirs = evaluator.compare(metrics, 4, baseline=baseline, correction="none")
        same(ours, theirs, "metric", "model")
    assert set(study.comparisons["baseline"]) == set(MODELS)


def test_p_values_from_the_best_are_corrected_as_holm_does(study: Study) -> None:
    rows = study.from_best.sort_values("p_value").reset_index(drop=True)
    better = {"ndcg@4": "max", "precision@4": "max", "popularity@4": "min"}
    values = study.at_main.pivot(index="label", columns="model", values="value")
    for label, way in better.items():
        best = getattr(values.loc[label], f"idx{way}")()
        assert set(rows.loc[rows["label"] == label, "baseline"]) == {best}
    assert len(rows) == 6
    steps = rows["p_value"] * (6 - np.arange(6))
    np.testing.assert_allclose(rows["p_adjusted"], steps.cummax().clip(upper=1))


# ---------------------------------------------------------------- histograms


def counted(values: np.ndarray, low: float, high: float) -> list[int]:
    """Count values in bins that have their low end, and the last one both."""
    places = np.floor(np.round((values - low) / (high - low) * N_BINS, 9)).astype(int)
    return np.bincount(np.minimum(places, N_BINS - 1), minlength=N_BINS).tolist()


def test_histograms(study: Study, per_user: pd.DataFrame) -> None:
    for (model, label), rows in study.histograms.groupby(["model", "label"]):
        values = per_user.query("label == @label")
        own = values.loc[values["model"] == model, "value"].to_numpy()
        everyone = values["value"]  # bins are the same for all models
        low, high = (everyone.min(), everyone.max()) if "popularity" in label else (0, 1)
        edges = np.linspace(low, high, N_BINS + 1)
        np.testing.assert_allclose(rows["low"], edges[:-1])
        np.testing.assert_allclose(rows["high"], edges[1:])
        assert rows["n_users"].tolist() == counted(own, low, high)
        np.testing.assert_allclose(rows["share"], rows["n_users"] / len(own))
    assert len(study.histograms) == 3 * 3 * N_BINS


def test_the_last_bin_of_a_histogram_has_its_end() -> None:
    recommended, truth = {1: ["a", "b"], 2: ["a", "c"], 3: ["d", "c"]}, {1: "ab", 2: "ab", 3: "ab"}
    truth = {user: list(items) for user, items in truth.items()}
    with (
        sm.Evaluator(recommended, truth) as evaluator,
        evaluator._study(Question("precision@2")) as study,
    ):
        rows = study.histograms
    assert rows.loc[rows["n_users"] > 0, ["low", "n_users"]].to_numpy().tolist() == [
        [0.0, 1],
        [0.5, 1],
        [0.95, 1],
    ]
    assert rows["high"].iloc[-1] == 1


def test_a_metric_that_is_the_same_for_everybody_has_one_bin() -> None:
    recommended = {"x": {1: ["a"], 2: ["b"]}, "y": {1: ["b"], 2: ["a"]}}
    seen = {7: ["a", "b"], 8: ["a", "b"]}
    with (
        sm.Evaluator(recommended, {1: ["a"], 2: ["a"]}, history=seen) as evaluator,
        evaluator._study(Question(["popularity@1", "hit_rate@1"])) as study,
    ):
        rows = study.histograms
        own = rows[rows["label"] == "popularity@1"]
        assert own[["model", "low", "high", "n_users", "share"]].to_numpy().tolist() == [
            ["x", 1, 1, 2, 1],
            ["y", 1, 1, 2, 1],
        ]
        # nobody differs by it: one bin, of ties
        rows = study.difference_histograms
        own = rows[rows["label"] == "popularity@1"]
        columns = ["low", "high", "outcome", "n_users"]
        assert own[columns].to_numpy().tolist() == [[0, 0, "equal", 2]]
        # and by this, one user each way
        own = rows[rows["label"] == "hit_rate@1"]
        assert own[columns].to_numpy().tolist() == [
            [-1, pytest.approx(-0.95), "worse", 1],
            [pytest.approx(0.95), 1, "better", 1],
        ]


def test_histograms_of_differences(study: Study, per_user: pd.DataFrame) -> None:
    wide = per_user.pivot(index=["label", "user_id"], columns="model", values="value")
    found = study.difference_histograms
    assert set(zip(found["model"], found["baseline"], strict=True)) == {
        ("good", "fair"), ("good", "poor"), ("fair", "poor"),
    }  # fmt: skip
    for baseline, above in (("fair", ["good"]), ("poor", ["good", "fair"])):
        for label in ("ndcg@4", "precision@4", "popularity@4"):
            differences = wide.loc[label].sub(wide.loc[label, baseline], axis=0)[above]
            step = differences.abs().max().max() / N_BINS
            for model in above:
                own = differences[model].dropna().to_numpy(copy=True)
                own[np.abs(own) < 1e-12] = 0
                # away from zero, up to the next multiple of a step
                far = np.sign(own) * np.ceil(np.abs(own) / step - 1e-9)
                expected = pd.Series(far).value_counts().sort_index()
                rows = found.query("model == @model and baseline == @baseline and label == @label")
                assert rows["n_users"].tolist() == expected.tolist()
                ends = expected.index.to_numpy() * step
                near = ends - np.sign(ends) * step
                np.testing.assert_allclose(rows["low"], np.minimum(ends, near), atol=1e-12)
                np.testing.assert_allclose(rows["high"], np.maximum(ends, near), atol=1e-12)
                better = -1 if label == "popularity@4" else 1  # low is better
                names = {better: "better", 0: "equal", -better: "worse"}
                signs = np.sign(expected.index).astype(int)
                assert rows["outcome"].tolist() == [names[int(sign)] for sign in signs]
                np.testing.assert_allclose(rows["share"], expected / len(own))


def test_differences_add_up_to_wins_ties_and_losses(study: Study) -> None:
    sums = study.difference_histograms.pivot_table(
        index=["label", "model", "baseline"], columns="outcome", values="n_users", aggfunc="sum",
        fill_value=0,
    )  # fmt: skip
    compared = study.comparisons.set_index(["label", "model", "baseline"]).loc[sums.index]
    names = {"better": "wins", "equal": "ties", "worse": "losses"}
    for outcome, column in names.items():
        assert sums[outcome].tolist() == compared[column].tolist()
    assert (sums > 0).all(axis=None)  # there is something to be mixed up


# ---------------------------------------------------------------- slices


def test_slices_without_being_asked(study: Study) -> None:
    assert [(one.name, one.of) for one in study.attributes] == [
        ("country", "users"),
        ("activity_group", "users"),
        ("popularity", "items"),
    ]


def test_slices_are_those_of_evaluate(evaluator: sm.Evaluator, study: Study) -> None:
    metrics = METRICS[:3]
    for by in ("country", "activity_group"):
        theirs = evaluator.evaluate(metrics, 4, by=by).rename(columns={by: "slice"})
        ours = study.slices[by].query("metric in @metrics")
        same(ours, theirs, "metric", "slice", "model")
    theirs = evaluator.evaluate(["ndcg", "precision"], 4, by_item="popularity")
    ours = study.slices["popularity"]
    assert set(ours["metric"]) == {"ndcg", "precision"}  # the others know no relevant items
    same(ours, theirs.rename(columns={"popularity": "slice"}), "metric", "slice", "model")


def test_wins_are_those_of_compare(evaluator: sm.Evaluator, study: Study) -> None:
    names = ["model", "baseline", "slice", "wins", "ties", "losses", "difference", "n_users"]
    ranks = {"good": 0, "fair": 1, "poor": 2}
    for by in ("", "country", "activity_group"):
        frames = []
        for baseline in ("fair", "poor"):
            theirs = evaluator.compare("ndcg@4", baseline=baseline, by=by or None)
            theirs = (
                theirs.rename(columns={by: "slice"}) if by else theirs.assign(slice="all users")
            )
            frames.append(theirs[theirs["model"].map(ranks) < ranks[baseline]])
        ours = study.wins[study.wins["by"] == by]
        same(ours, pd.concat(frames)[names], "model", "baseline", "slice")
    assert set(study.wins["by"]) == {"", "country", "activity_group"}


def test_columns_of_users_may_be_called_as_ours() -> None:
    columns = ["label", "by", "popularity", "activity_group"]
    names = {name: [f"{name} {user % 2}" for user in USERS] for name in columns}
    users = pd.DataFrame({"user_id": USERS, **names})
    recommended = {"good": GOOD, "fair": FAIR}
    with sm.Evaluator(recommended, TRUTH, history=HISTORY, users=users) as evaluator:
        with evaluator._study(Question("precision@4", by="label")) as study:
            assert list(study.slices) == ["label", "popularity"]
            assert set(study.slices["label"]["slice"]) == {"label 0", "label 1"}
            assert set(study.slices["label"]["label"]) == {"precision@4"}
            assert set(study.wins["slice"]) == {"all users", "label 0", "label 1"}
        with evaluator._study(Question("precision@4")) as study:
            # a column of the name of a slice of ours takes its place
            assert {one.name for one in study.attributes} <= set(columns)
            for name, rows in study.slices.items():
                assert set(rows["slice"]) == {f"{name} 0", f"{name} 1"}


# ---------------------------------------------------------------- items


def gini(counts: np.ndarray) -> float:
    """Half the mean difference of two items, over the mean."""
    differences = np.abs(counts[:, None] - counts[None, :])
    return float(differences.mean() / counts.mean() / 2)


def test_exposure_of_five_items_by_hand() -> None:
    # of five items, four users get a 4 times, b 3 times, c once, d and e never
    recommended = {1: ["a", "b"], 2: ["b", "a"], 3: ["a", "b"], 4: ["c", "a", "d"]}
    with (
        sm.Evaluator(recommended, {1: ["a"]}, history={9: list("abcde")}) as evaluator,
        evaluator._study(Question("precision@2")) as study,
    ):
        rows = study.exposure
    points = rows[["share_of_items", "share_of_recommendations"]].to_numpy()
    expected = [[0, 0], [0.4, 0], [0.6, 1 / 8], [0.8, 4 / 8], [1, 1]]
    np.testing.assert_allclose(points, expected)
    # two times the area between curve and diagonal: 1 - 2 * (1/80 + 5/80 + 12/80) = 0.55
    np.testing.assert_allclose(rows["gini"], 0.55)
    assert set(rows["n_items"]) == {5}
    assert gini(np.array([0, 0, 1, 3, 4])) == pytest.approx(0.55)


def test_exposure_of_two_models_is_over_the_same_items() -> None:
    recommended = {"even": {1: ["a"], 2: ["b"]}, "one": {1: ["c"], 2: ["c"]}}
    with (
        sm.Evaluator(recommended, {1: ["a"], 2: ["b"]}) as evaluator,
        evaluator._study(Question("precision@1")) as study,
    ):
        found = study.exposure.groupby("model")
        assert found["n_items"].first().to_dict() == {"even": 3, "one": 3}
        ginis = found["gini"].first().to_dict()
    assert ginis == pytest.approx({"even": 1 / 3, "one": 2 / 3})


@pytest.fixture(scope="module")
def of_demo() -> Iterator[tuple[Study, dict[str, pd.Series], pd.DataFrame]]:
    """The data of the examples: a study, and how often every model recommends which item."""
    files = {name: DATA / f"recommendations_{name}.parquet" for name in ("als", "popular")}
    history = pd.read_parquet(DATA / "history.parquet")
    counts = {}
    for name, file in files.items():
        rows = pd.read_parquet(file).sort_values(["score", "item_id"], ascending=[False, True])
        counts[name] = rows.groupby("user_id").head(10)["item_id"].value_counts()
    with (
        sm.Evaluator(files, DATA / "interactions.parquet", history=history) as evaluator,
        evaluator._study(Question("precision@10", by=[], by_item=[])) as study,
    ):
        yield study, counts, history


def test_exposure_of_real_lists(of_demo: tuple[Any, ...]) -> None:
    study, counts, history = of_demo
    items = sorted(set(history["item_id"]).union(*(count.index for count in counts.values())))
    for model, count in counts.items():
        ordered = np.sort(count.reindex(items, fill_value=0).to_numpy())
        rows = study.exposure[study.exposure["model"] == model]
        places = (rows["share_of_items"] * len(items)).round().astype(int)
        np.testing.assert_allclose(places, rows["share_of_items"] * len(items))
        curve = np.concatenate([[0], np.cumsum(ordered)]) / ordered.sum()
        np.testing.assert_allclose(rows["share_of_recommendations"], curve[places], atol=1e-12)
        np.testing.assert_allclose(rows["gini"], gini(ordered))
        assert places.is_monotonic_increasing
        assert rows["share_of_items"].max() == 1
        assert 2 < len(rows) <= 53


def test_popularity_of_real_lists(of_demo: tuple[Any, ...]) -> None:
    study, counts, history = of_demo
    users = history.groupby("item_id")["user_id"].nunique().reset_index(name="n")
    users = users.sort_values(["n", "item_id"], ascending=[False, True], ignore_index=True)
    tenths = np.array_split(users.index, 10)  # the first are larger by one
    group = pd.Series({users["item_id"][place]: number for number, tenth in enumerate(tenths, 1)
                       for place in tenth})  # fmt: skip
    counts = {**counts, None: users.set_index("item_id")["n"]}
    rows = study.popularity
    there_are = [*range(1, 11), *([99] if rows["group"].isna().any() else [])]
    for model, count in counts.items():
        own = rows[rows["model"].isna() if model is None else rows["model"] == model]
        shares = count.groupby(group.reindex(count.index).fillna(99).to_numpy()).sum() / count.sum()
        shares = shares.reindex(there_are, fill_value=0)
        assert own["group"].fillna(99).astype(int).tolist() == shares.index.astype(int).tolist()
        np.testing.assert_allclose(own["share"], shares)
    assert len(set(rows["group"].dropna())) == 10


# ---------------------------------------------------------------- examples


def test_examples(study: Study, per_user: pd.DataFrame) -> None:
    own = per_user.query("label == 'ndcg@4'").pivot(
        index="user_id", columns="model", values="value"
    )
    rows = own.reset_index()[["user_id", "good"]]
    rows["distance"] = (rows["good"] - rows["good"].median()).abs()  # all have five relevant items
    best = rows.sort_values(["good", "user_id"], ascending=[False, True])["user_id"][:3].tolist()
    worst = rows.sort_values(["good", "user_id"])["user_id"][:3].tolist()
    typical = rows.sort_values(["distance", "user_id"])["user_id"][:3].tolist()
    expected = [
        *(("best", user) for user in best),
        *(("typical", user) for user in typical if user not in best + worst),
        *(("worst", user) for user in worst),
    ]
    found = _examples(study)
    assert sorted((one.kind, one.user) for one in found) == sorted(
        (kind, f"user_id = {user}") for kind, user in expected
    )
    assert [one.kind for one in found] == [kind for kind, _ in expected]
    relevant = TRUTH.groupby("user_id")["item_id"].agg(set)
    for one in found:
        user = int(one.user.removeprefix("user_id = "))
        assert one.n_relevant == 5
        assert list(one.relevant) == [f"Title {i} ({i})" for i in sorted(relevant[user])]
        assert [shown.model for shown in one.lists] == MODELS
        for shown in one.lists:
            assert shown.value == pytest.approx(own.loc[user, shown.model])
            items = RECOMMENDED[shown.model].query("user_id == @user and rank <= 4")
            assert [(i.rank, i.item, i.hit) for i in shown.items] == [
                (rank, f"Title {item} ({item})", item in relevant[user])
                for item, rank in zip(items["item_id"], items["rank"], strict=True)
            ]


def test_examples_of_equal_users_are_those_with_the_most_relevant_items() -> None:
    recommended = {user: ["a"] for user in range(8)}
    truth = {user: ["a", *map(str, range(user % 5))] for user in range(8)}
    with (
        sm.Evaluator(recommended, truth) as evaluator,
        evaluator._study(Question("hit_rate@1")) as study,
    ):
        found = _examples(study)
    assert [(one.user, one.kind, one.n_relevant) for one in found] == [
        ("user_id = 4", "best", 5),
        ("user_id = 3", "best", 4),
        ("user_id = 2", "best", 3),
        ("user_id = 7", "typical", 3),
        ("user_id = 1", "typical", 2),
        ("user_id = 6", "typical", 2),
    ]
    assert found[0].relevant == ["0", "1", "2", "3", "a"]
    assert [len(one.lists) for one in found] == [1] * 6


# ---------------------------------------------------------------- what it can be given


@dataclass
class Shape:
    """What an evaluator is made of, and what a report is asked for."""

    tables: dict[str, Any]
    metrics: Any = ("ndcg", "precision")
    k: Any = (2, 4)
    primary: str | None = None
    models: tuple[str, ...] = ("good", "fair")
    no_examples: bool = False


TWO = {"good": GOOD, "fair": FAIR}


def each(change: Any, **more: Any) -> dict[str, Any]:
    """Change the tables of two models, the truth and the history."""
    return {
        "recommendations": {name: change(frame) for name, frame in TWO.items()},
        "interactions": change(TRUTH),
        "history": change(HISTORY),
        **more,
    }


def keyed(*names: str) -> Shape:
    """Let users have other keys: the number by 7, and the rest."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        parts = [frame["user_id"] % 7, frame["user_id"] // 7]
        key = dict(zip(names, parts, strict=True)) if len(names) > 1 else {}
        return frame.drop(columns="user_id").assign(**(key or {names[0]: frame["user_id"]}))

    return Shape(each(change, key=list(names)))


def texts(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        user_id=[f"user '{user}'" for user in frame["user_id"]],
        item_id=[f"{item}\n%s" for item in frame["item_id"]],
    )


def uuids(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(user_id=[str(uuid.UUID(int=user)) for user in frame["user_id"]])


FEW = {"recommendations": TWO, "interactions": TRUTH}
NUMBERED = pd.concat([GOOD.assign(model=10), FAIR.assign(model=9)])
SHAPES = {
    "one model without a name": Shape(
        {"recommendations": GOOD, "interactions": TRUTH, **TABLES}, models=("recommendations",)
    ),
    "models are numbers of a column": Shape(
        {**FEW, "recommendations": NUMBERED}, models=("10", "9")
    ),
    "a key of two columns": keyed("tenant", "user"),
    "keys called as columns of ours": keyed("kind", "title"),
    "a key with spaces": keyed("value of user"),
    "texts as ids": Shape(each(texts)),
    "everything": Shape(
        {**FEW, "recommendations": RECOMMENDED, **TABLES}, METRICS, K, None, tuple(MODELS)
    ),
    "UUIDs as ids": Shape(each(uuids)),
    "no other tables": Shape(FEW),
    "metrics of the whole run only": Shape(
        {**FEW, "history": HISTORY}, ["coverage"], 4, no_examples=True
    ),
    "a metric with parameters": Shape(
        FEW,
        ["precision@4", "ndcg(discount=log2_max2)@5"],
        None,
        "ndcg(discount=log2_max2)@5",
    ),
    "whole lists": Shape(FEW, k=None),
    "one user": Shape(each(lambda frame: frame.query("user_id == 5"))),
    "users without lists": Shape(
        {**FEW, "recommendations": {"good": GOOD.query("user_id < 9"), "poor": POOR}},
        models=("good", "poor"),
    ),
    "no value for a model": Shape(
        {
            **FEW,
            "recommendations": {"good": GOOD, "late": GOOD.query("user_id > 20")},
            "interactions": TRUTH.query("user_id < 15"),
            "settings": {"audience": "both"},
        },
        models=("good", "late"),
    ),
    "models that share no users": Shape(
        {
            **FEW,
            "recommendations": {"a": GOOD.query("user_id < 9"), "b": FAIR.query("user_id > 20")},
            "settings": {"audience": "both"},
        },
        models=("a", "b"),
    ),
}


OFTEN = {  # in every run; the others say less that is new
    "keys called as columns of ours",
    "metrics of the whole run only",
    "models that share no users",
}


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, id=name, marks=() if name in OFTEN else pytest.mark.thorough)
        for name, shape in SHAPES.items()
    ],
)
@pytest.mark.thorough
def test_shapes(shape: Shape) -> None:
    with sm.Evaluator(**shape.tables) as evaluator:
        theirs = evaluator.evaluate(shape.metrics, shape.k)
        with evaluator._study(Question(shape.metrics, shape.k, shape.primary)) as study:
            if "model" in theirs:
                theirs["model"] = theirs["model"].astype(str)
            same(study.values, theirs, "metric", "k", *(["model"] if "model" in theirs else []))
            n_users = study.at_main.set_index(["model", "label"])["n_users"]
            if len(study.histograms):
                counts = study.histograms.groupby(["model", "label"])["n_users"].sum()
                assert counts.to_dict() == n_users.loc[counts.index].to_dict()
            rows = _leaderboard(study).rows
            assert set(study.models) == {row[0] for row in rows} <= set(shape.models)
            assert set(study.exposure["model"]) == set(shape.models)
            _check_examples(study, shape)


def _check_examples(study: Study, shape: Shape) -> None:
    found = _examples(study)
    assert bool(found) is not shape.no_examples
    for one in found:
        keys = [part.partition(" = ")[0] for part in one.user.split(", ")]
        assert keys == list(study.planner.user_keys)
        assert 0 < len(one.relevant) <= one.n_relevant
        assert [own.model for own in one.lists] == list(study.models)
        assert one.lists[0].items, "the best model has a list for its examples"
        for own in one.lists:
            assert [item.rank for item in own.items] == list(range(1, len(own.items) + 1))


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_reports_of_all_shapes(shape: Shape) -> None:
    with sm.Evaluator(**shape.tables) as evaluator:
        report = evaluator.report(shape.metrics, shape.k, primary=shape.primary)
    assert_sound(report.content)


def assert_sound(content: Content) -> None:
    names = [figure.name for section in content.sections for figure in section.figures]
    assert len(names) == len(set(names))
    for section in content.sections:
        for figure in section.figures:
            json.dumps(figure.chart, allow_nan=False)  # as the page writes it
            assert figure.alternative
            assert figure.table
            assert figure.table.rows
            assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)
    assert content.statement.lstrip().upper().startswith(("WITH", "SELECT", "--"))


def content_of(study: Study) -> Content:
    """What is said of a study that was not made by `Evaluator.report`."""
    return build.content(
        study,
        title=None,
        conventions=[],
        sources={},
        conditions={},
        findings=[],
        unchecked="",
        statement="SELECT 1",
        with_examples=True,
    )


def figures_of(content: Content) -> list[str]:
    return [figure.name for section in content.sections for figure in section.figures]


def test_a_report_of_metrics_of_the_whole_run() -> None:
    tables = {**FEW, "history": HISTORY}
    with sm.Evaluator(**tables) as evaluator:
        content = evaluator.report("coverage@4").content
    assert figures_of(content) == ["scores", "exposure", "popularity"]
    assert content.examples == []
    assert_sound(content)


def test_every_figure_is_there(study: Study) -> None:
    content = content_of(study)
    assert figures_of(content) == [
        "scores", "against_best", "cutoffs_0", "cutoffs_1", "cutoffs_2", "cutoffs_3",
        "distribution", "differences", "wins", "slices_0", "slices_1", "slices_2",
        "exposure", "popularity", "trade_off",
    ]  # fmt: skip
    assert_sound(content)
    assert [one.metric for one in content.definitions] == [*METRICS, "all metrics"]


# ---------------------------------------------------------------- what is left behind


def test_nothing_is_left_in_a_connection() -> None:
    def all_names() -> list[tuple[Any, ...]]:
        return connection.execute(
            "SELECT table_name, temporary FROM duckdb_tables() UNION ALL "
            "SELECT view_name, temporary FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        ).fetchall()

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE lists AS SELECT * FROM GOOD")
        connection.execute("CREATE TABLE truth AS SELECT * FROM TRUTH")
        before = all_names()
        with sm.Evaluator("lists", "truth", connection=connection) as evaluator:
            content = evaluator.report("precision", [2, 4]).content
            with pytest.raises(UsageError, match="nothing to draw"):
                evaluator.plot("wins", "precision@4")
        assert all_names() == before
        assert connection.execute("SELECT count(*) FROM lists").fetchall() == [(len(GOOD),)]
    # it is of one model, which has no name
    assert figures_of(content) == ["cutoffs_0", "distribution", "exposure"]
    assert not content.leaderboard.legend
    assert [score.mark for score in content.leaderboard.rows[0][2]] == [""]
    assert "Models" not in dict(content.facts)
    assert_sound(content)


def test_nothing_more_is_kept_than_by_evaluate() -> None:
    metrics = ["precision@4"]
    with sm.Evaluator(TWO, TRUTH, users=USER_TABLE) as evaluator:
        before = evaluator.evaluate(metrics, by="country")
        evaluator.check(metrics)
        kept = dict(evaluator.engine.kept())
        for figure in ("slices", "exposure"):
            evaluator.plot(figure, metrics)
            assert dict(evaluator.engine.kept()) == kept
        with evaluator._study(Question(metrics)) as study:
            assert set(evaluator.engine.kept()) > set(kept)  # as long as it lasts
            assert len(study.exposure)
        assert dict(evaluator.engine.kept()) == kept
        pd.testing.assert_frame_equal(evaluator.evaluate(metrics, by="country"), before)


def close(ours: Any, theirs: Any) -> None:
    """Compare data frames, dicts of them, and all else."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for name, one in ours.items():
            close(one, theirs[name])
    elif isinstance(ours, pd.DataFrame):
        keys = [name for name in ours if ours[name].dtype.kind not in "f"]
        frames = [frame.sort_values(keys).reset_index(drop=True) for frame in (ours, theirs)]
        pd.testing.assert_frame_equal(*frames, check_dtype=False, rtol=1e-9, atol=1e-12)
    else:
        assert ours == theirs


ANSWERS = (
    "values", "exposure", "models", "comparisons", "board", "histograms", "difference_histograms",
    "slices", "wins", "popularity", "examples",
)  # fmt: skip


@pytest.mark.parametrize(
    ("tables", "question", "answers"),
    [
        pytest.param(
            {**FEW, "recommendations": GOOD}, Question("precision@4"), ("exposure",), id="small"
        ),
        pytest.param(
            {**FEW, "recommendations": RECOMMENDED, **TABLES},
            Question(METRICS, K),
            ANSWERS,
            marks=pytest.mark.thorough,
            id="whole",
        ),
    ],
)
@pytest.mark.thorough
def test_partitions_change_nothing(
    tables: dict[str, Any], question: Question, answers: tuple[str, ...]
) -> None:
    found = []
    for partitions in (1, 3):
        with (
            sm.Evaluator(**tables, partitions=partitions) as evaluator,
            evaluator._study(question) as study,
        ):
            found.append({name: getattr(study, name) for name in answers})
    close(found[1], found[0])


# ---------------------------------------------------------------- what it refuses


def few(**more: Any) -> sm.Evaluator:
    return sm.Evaluator(TWO, TRUTH, **more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"primary": "recall@4"}, r"primary: recall@4 is not among .*; they are ndcg@4"),
        (
            {"primary": "ndcg@5"},
            r"primary: ndcg@5 is not among .*they are ndcg@4; did you mean 'ndcg@4'",
        ),
        ({"primary": "nonsense"}, "unknown metric 'nonsense'"),
        ({"metrics": "nonsense"}, "unknown metric 'nonsense'"),
        ({"by": "moon"}, "by: there is nothing called 'moon'"),
        ({"by_item": "colour"}, "'colour'"),
        ({"alpha": 0}, "alpha must be between 0 and 1, not 0"),
        ({"alpha": 1}, "alpha must be between 0 and 1, not 1"),
        ({"alpha": 1.5}, "alpha must be between 0 and 1, not 1.5"),
        ({"alpha": "0.05"}, "alpha must be between 0 and 1"),
        ({"confidence": 1.5}, "confidence"),
        ({"test": "sign"}, "unknown test 'sign'"),
        ({"correction": "bonferroni"}, "unknown correction 'bonferroni'"),
    ],
    ids=str,
)
def test_refused_arguments(
    evaluator: sm.Evaluator, arguments: dict[str, Any], message: str
) -> None:
    for call in (evaluator.report, lambda *a, **b: evaluator.plot("scores", *a, **b)):
        with pytest.raises(UsageError, match=message):
            call(**{"metrics": "ndcg@4", **arguments})


def test_unknown_figures() -> None:
    with few() as evaluator:
        with pytest.raises(
            UsageError, match=r"'exposures'; there are scores, .*did you mean 'exposure'"
        ):
            evaluator.plot("exposures")
        with pytest.raises(UsageError, match="there is no figure 7"):
            evaluator.plot(7)  # type: ignore[arg-type]


def test_nothing_to_draw() -> None:
    needs = {
        "scores": "several models",
        "against_best": "several models",
        "cutoffs": r"k=\[1, 5, 10\]",
        "differences": "several models",
        "wins": "several models",
        "slices": "history or users",
        "popularity": "the table history",
        "trade_off": "several models",
    }
    with sm.Evaluator(GOOD, TRUTH) as one, one._study(Question("precision@4")) as study:
        for figure, need in needs.items():
            with pytest.raises(UsageError, match=f"{figure}: .*nothing to draw; .*{need}"):
                plotted(figure, study)
    whole = sm.Evaluator(TWO, TRUTH, history=HISTORY)
    with whole, pytest.raises(UsageError, match=r"distribution: .*nothing to draw; .*per user"):
        whole.plot("distribution", "coverage@4")


def test_no_report_of_several_conventions_or_by_spark() -> None:
    two = few(convention=["standard", "ranx"])
    with two, pytest.raises(UsageError, match="under one convention, not standard and ranx"):
        two.report("ndcg@4")
    with few() as evaluator:
        engine = evaluator.engine
        evaluator.engine = SimpleNamespace(embedded=None)  # type: ignore[assignment]
        try:
            with pytest.raises(UsageError, match="made by DuckDB; with Spark"):
                evaluator.plot("scores", "ndcg@4")
        finally:
            evaluator.engine = engine


def test_what_is_missing_is_said() -> None:
    with sm.Evaluator(None, TRUTH) as one, pytest.raises(MissingTableError, match="recommend"):
        one.report()
    metrics = ["ndcg@4", "popularity@4"]
    with few() as evaluator:
        with pytest.raises(MissingTableError, match="history"):
            evaluator.report(metrics)
        with (
            pytest.warns(sm.SqlmetricsWarning, match=r"left out, .*: popularity"),
            evaluator._study(Question(metrics, skip_missing=True)) as study,
        ):
            assert study.values["label"].unique().tolist() == ["ndcg@4"]


@pytest.mark.parametrize("call", [pytest.param("report", marks=pytest.mark.thorough), "plot"])
def test_altair_is_missing(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    arguments = ["ndcg@4"] if call == "report" else ["scores", "ndcg@4"]
    message = r"altair.*pip install 'sqlmetrics\[report\]'"
    with few() as evaluator, pytest.raises(UsageError, match=message):
        getattr(evaluator, call)(*arguments)


# ---------------------------------------------------------------- files


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a few characters for the scripts of Vega, which take seconds to make."""
    monkeypatch.setattr(laid_out, "_vega", lambda: laid_out._script(BUNDLE))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("tables")
    for name, frame in {"good": GOOD, "fair": FAIR, "truth": TRUTH}.items():
        frame.to_parquet(folder / f"{name}.parquet")
    lists = [f"-r{name}={folder}/{name}.parquet" for name in TWO]
    return ["report", "precision@4", *lists, f"-i{folder}/truth.parquet"]


@pytest.mark.usefixtures("bundle")
@pytest.mark.thorough
def test_the_command(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    more = ["--title", "A & B", "--no-examples", "--primary", "precision", "--alpha", "0.1"]
    result = CliRunner().invoke(main, [*files, "-o", str(path), *more])
    assert result.exit_code == 0, result.output
    written = path.read_text(encoding="utf-8")
    assert Read(written).texts.count("A & B") == 2  # title and heading
    assert "p ≥ 0.1" in written
    assert not re.search(r"user_id = \d", written)
    assert list(tmp_path.iterdir()) == [path]

    result = CliRunner().invoke(main, [*files, "-o", str(path)])
    assert result.exit_code != 0
    assert "exists" in result.output
    assert path.read_text(encoding="utf-8") == written

    result = CliRunner().invoke(main, [*files, "-o", str(path), "--force", "--by", "nonsense"])
    assert result.exit_code != 0
    assert "nothing called 'nonsense'" in result.output
    assert path.read_text(encoding="utf-8") == written

    result = CliRunner().invoke(main, [*files, "-o", str(path), "--force"])
    assert result.exit_code == 0, result.output
    assert re.search(r"user_id = \d", path.read_text(encoding="utf-8"))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["report", "report.pdf", "report.html.gz", "html", ".html"])
def test_names_of_files_that_are_no_pages(files: list[str], tmp_path: Path, name: str) -> None:
    result = CliRunner().invoke(main, [*files, "-o", str(tmp_path / name)])
    assert result.exit_code == 2
    assert "end its name in .html" in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("bundle")
def test_a_report_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    with sm.Evaluator(GOOD.head(6), TRUTH.head(5)) as evaluator:
        report = evaluator.report("precision@4")
    report.save(tmp_path / "a.HTML")  # the evaluator is closed
    assert (tmp_path / "a.HTML").read_text(encoding="utf-8") == report.html
    with pytest.raises(DataError, match="exists"):
        report.save(tmp_path / "a.HTML")
    report.save(tmp_path / "a.HTML", force=True)
    with pytest.raises(UsageError, match="end its name in"):
        report.save(tmp_path / "a.txt")
    with pytest.raises(DataError):
        report.save(tmp_path / "nowhere" / "a.html")
    shown = Read(report._repr_html_())
    ((tag, attributes),) = shown.tags
    assert tag == "iframe"
    assert attributes["srcdoc"] == report.html
    assert "allow-same-origin" not in (attributes["sandbox"] or "")


# ---------------------------------------------------------------- names from elsewhere


HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "it's \\ {{7*7}} {% raw %} %s %(x)s\n<!-- datum['a']",
)


def renamed(table: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Put these names, or numbered ones as often, into every place where there is one."""
    first, second, third = names

    def text(column: pd.Series, name: str) -> list[str]:
        return [f"{name}{value:03}" for value in column]

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(
            user_id=text(frame["user_id"], first), item_id=text(frame["item_id"], second)
        )

    lists = table["recommendations"].values()
    users = pd.DataFrame({"user_id": text(pd.Series(USERS), first)})
    items = pd.DataFrame({"item_id": text(pd.Series(ITEMS), second), "title": third})
    return {
        "recommendations": pd.concat(
            change(frame).assign(model=name)
            for name, frame in zip((first, third), lists, strict=True)
        ),
        "interactions": change(table["interactions"]),
        "items": items,
        "users": users.assign(country=[names[user % 3] for user in USERS]),
    }


@pytest.mark.usefixtures("bundle")
@pytest.mark.thorough
def test_hostile_names_are_only_text() -> None:
    # the same page as with other names, but for the texts
    pages, contents = [], []
    for names in (HOSTILE, ("one", "two", "three")):
        with sm.Evaluator(**renamed(FEW, names)) as evaluator:
            report = evaluator.report("precision@4", title=names[0])
        pages.append(Read(report.html))
        contents.append(report.content)
        assert_sound(report.content)
    hostile, plain = pages
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(of) for _, of in hostile.tags] == [sorted(of) for _, of in plain.tags]
    texts = "\0".join(hostile.texts)
    for name in HOSTILE:
        assert name in texts
    assert f"{HOSTILE[2]} ({HOSTILE[1]}1" in texts  # a title and an id
    assert f"user_id = {HOSTILE[0]}0" in texts
    data = [text for attributes, text in hostile.scripts if attributes.get("type")]
    charts = [one.chart for of in contents[0].sections for one in of.figures]
    assert [json.loads(one) for one in data] == json.loads(json.dumps(charts))
    assert not any(sign in one for one in data for sign in "<>&")
    # nothing of it is in an expression, which Vega would compute
    for chart in charts:
        for expression in expressions(chart):
            assert not any(sign in expression for sign in ("alert", "7*7", "<", "script")), chart


def expressions(chart: Any) -> Iterator[str]:
    """Find what Vega computes: filters, calculations and expressions."""
    if isinstance(chart, dict):
        for key, value in chart.items():
            if key in ("filter", "calculate", "expr", "labelExpr", "test"):
                yield json.dumps(value)
            yield from expressions(value)
    elif isinstance(chart, list):
        for value in chart:
            yield from expressions(value)


# ---------------------------------------------------------------- size, and what is loaded


@pytest.mark.thorough
def test_a_large_report_is_small() -> None:
    random = np.random.default_rng(0)
    users, items = range(600), np.arange(1000)
    models = {
        f"model_{number}": {user: random.choice(items, 100, False).tolist() for user in users}
        for number in range(15)
    }
    truth = {user: random.choice(items, 20, False).tolist() for user in users}
    of_users = pd.DataFrame({"user_id": users, "city": [f"city {user % 300}" for user in users]})
    with sm.Evaluator(models, truth, users=of_users) as evaluator:
        report = evaluator.report(k=range(1, 101), by="city")
    assert_sound(report.content)
    assert len(report.content.leaderboard.rows) == 15
    assert len(report.html.encode()) < 2_000_000


def test_other_commands_do_not_load_what_draws() -> None:
    code = """
import sys, sqlmetrics
from sqlmetrics.cli.commands import main
try:
    main(prog_name="sqlmetrics")
except SystemExit as end:
    assert not end.code, end.code
assert not {"altair", "vl_convert", "sqlmetrics.report"} & set(sys.modules)
"""
    for arguments in (["--help"], ["report", "--help"]):
        subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
