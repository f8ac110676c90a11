"""Compare the numbers of a report with those of other methods, with pandas and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.report.analysis import Question, Study
from sqlmetrics.report.build import _leaderboard
from sqlmetrics.report.examples import examples
from sqlmetrics.report.figures import KINDS
from sqlmetrics.report.figures.users import N_BINS
from tests.support.calls import studied
from tests.support.evaluators import Evaluator
from tests.support.frames import same
from tests.support.reports import (
    FAIR,
    GOOD,
    HISTORY,
    METRICS,
    MODELS,
    RECOMMENDED,
    TRUTH,
    USERS,
    K,
)


@pytest.fixture(scope="module")
def per_user(evaluator: sm.Evaluator) -> pd.DataFrame:
    """Return the per-user values: `model, user_id, label, value`."""
    return long_form(evaluator.per_user(["ndcg", "precision", "popularity"], [4], long=True))


def long_form(frame: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in ("model", "user_id", "k") if name in frame]
    long = frame.melt(names, var_name="metric").dropna(subset="value")
    return long.assign(label=long["metric"] + "@" + long["k"].astype(str))


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
        metrics = METRICS[:3]  # coverage has no per-user values
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
    """Count values in bins that include their lower end; the last bin includes both ends."""
    places = np.floor(np.round((values - low) / (high - low) * N_BINS, 9)).astype(int)
    return np.bincount(np.minimum(places, N_BINS - 1), minlength=N_BINS).tolist()


def test_histograms(study: Study, per_user: pd.DataFrame) -> None:
    for (model, label), rows in KINDS["distribution"].rows(study).groupby(["model", "label"]):
        values = per_user.query("label == @label")
        own = values.loc[values["model"] == model, "value"].to_numpy()
        everyone = values["value"]  # all models share the bins
        low, high = (everyone.min(), everyone.max()) if "popularity" in label else (0, 1)
        edges = np.linspace(low, high, N_BINS + 1)
        np.testing.assert_allclose(rows["low"], edges[:-1])
        np.testing.assert_allclose(rows["high"], edges[1:])
        assert rows["n_users"].tolist() == counted(own, low, high)
        np.testing.assert_allclose(rows["share"], rows["n_users"] / len(own))
    assert len(KINDS["distribution"].rows(study)) == 3 * 3 * N_BINS


def test_the_last_bin_of_a_histogram_has_its_end() -> None:
    recommended, truth = {1: ["a", "b"], 2: ["a", "c"], 3: ["d", "c"]}, {1: "ab", 2: "ab", 3: "ab"}
    truth = {user: list(items) for user, items in truth.items()}
    with (
        Evaluator(recommended, truth) as evaluator,
        studied(evaluator, Question("precision@2")) as study,
    ):
        rows = KINDS["distribution"].rows(study)
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
        Evaluator(recommended, {1: ["a"], 2: ["a"]}, history=seen) as evaluator,
        studied(evaluator, Question(["popularity@1", "hit_rate@1"])) as study,
    ):
        rows = KINDS["distribution"].rows(study)
        own = rows[rows["label"] == "popularity@1"]
        assert own[["model", "low", "high", "n_users", "share"]].to_numpy().tolist() == [
            ["x", 1, 1, 2, 1],
            ["y", 1, 1, 2, 1],
        ]
        # no user differs in this metric: one bin, of ties
        rows = KINDS["differences"].rows(study)
        own = rows[rows["label"] == "popularity@1"]
        columns = ["low", "high", "outcome", "n_users"]
        assert own[columns].to_numpy().tolist() == [[0, 0, "equal", 2]]
        # in this metric, one user is better and one is worse
        own = rows[rows["label"] == "hit_rate@1"]
        assert own[columns].to_numpy().tolist() == [
            [-1, pytest.approx(-0.95), "worse", 1],
            [pytest.approx(0.95), 1, "better", 1],
        ]


def test_histograms_of_differences(study: Study, per_user: pd.DataFrame) -> None:
    wide = per_user.pivot(index=["label", "user_id"], columns="model", values="value")
    found = KINDS["differences"].rows(study)
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
                # rounded away from zero to the next multiple of the step
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
    sums = KINDS["differences"].rows(study).pivot_table(
        index=["label", "model", "baseline"], columns="outcome", values="n_users", aggfunc="sum",
        fill_value=0,
    )  # fmt: skip
    compared = study.comparisons.set_index(["label", "model", "baseline"]).loc[sums.index]
    names = {"better": "wins", "equal": "ties", "worse": "losses"}
    for outcome, column in names.items():
        assert sums[outcome].tolist() == compared[column].tolist()
    assert (sums > 0).all(axis=None)  # otherwise the test could not detect swapped columns


# ---------------------------------------------------------------- slices


def test_slices_without_being_asked(study: Study) -> None:
    assert [(one.name, one.of) for one in study.attributes] == [
        ("country", "users"),
        ("activity_group", "users"),
        ("popularity", "items"),
    ]


def test_slices_are_those_of_evaluate(evaluator: sm.Evaluator, study: Study) -> None:
    metrics, slices = METRICS[:3], KINDS["slices"].rows(study)
    for by in ("country", "activity_group"):
        theirs = evaluator.evaluate(metrics, 4, by=by).rename(columns={by: "slice"})
        ours = slices[slices["by"] == by].query("metric in @metrics")
        same(ours, theirs, "metric", "slice", "model")
    theirs = evaluator.evaluate(["ndcg", "precision"], 4, by_item="popularity")
    ours = slices[slices["by"] == "popularity"]
    assert set(ours["metric"]) == {"ndcg", "precision"}  # other metrics use no relevant items
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
        ours = KINDS["wins"].rows(study)[KINDS["wins"].rows(study)["by"] == by]
        same(ours, pd.concat(frames)[names], "model", "baseline", "slice")
    assert set(KINDS["wins"].rows(study)["by"]) == {"", "country", "activity_group"}


def test_columns_of_users_may_be_called_as_ours() -> None:
    columns = ["label", "by", "popularity", "activity_group"]
    names = {name: [f"{name} {user % 2}" for user in USERS] for name in columns}
    users = pd.DataFrame({"user_id": USERS, **names})
    recommended = {"good": GOOD, "fair": FAIR}
    with Evaluator(recommended, TRUTH, history=HISTORY, users=users) as evaluator:
        with studied(evaluator, Question("precision@4", by="label")) as study:
            slices = KINDS["slices"].rows(study)
            assert slices["by"].unique().tolist() == ["label", "popularity"]
            own = slices[slices["by"] == "label"]
            assert set(own["slice"]) == {"label 0", "label 1"}
            assert set(own["label"]) == {"precision@4"}
            assert set(KINDS["wins"].rows(study)["slice"]) == {"all users", "label 0", "label 1"}
        with studied(evaluator, Question("precision@4")) as study:
            # a user column named like a built-in slice replaces that slice
            assert {one.name for one in study.attributes} <= set(columns)
            for name, rows in KINDS["slices"].rows(study).groupby("by"):
                assert set(rows["slice"]) == {f"{name} 0", f"{name} 1"}


# ---------------------------------------------------------------- items


def test_exposure_of_five_items_by_hand() -> None:
    # four users, five items: a is recommended 4 times, b 3 times, c once, d and e never
    recommended = {1: ["a", "b"], 2: ["b", "a"], 3: ["a", "b"], 4: ["c", "a", "d"]}
    with (
        Evaluator(recommended, {1: ["a"]}, history={9: list("abcde")}) as evaluator,
        studied(evaluator, Question("precision@2")) as study,
    ):
        rows = KINDS["exposure"].rows(study)
    points = rows[["share_of_items", "share_of_recommendations"]].to_numpy()
    expected = [[0, 0], [0.4, 0], [0.6, 1 / 8], [0.8, 4 / 8], [1, 1]]
    np.testing.assert_allclose(points, expected)
    # twice the area between curve and diagonal: 1 - 2 * (1/80 + 5/80 + 12/80) = 0.55
    np.testing.assert_allclose(rows["gini"], 0.55)
    assert set(rows["n_items"]) == {5}


def test_exposure_of_two_models_is_over_the_same_items() -> None:
    recommended = {"even": {1: ["a"], 2: ["b"]}, "one": {1: ["c"], 2: ["c"]}}
    with (
        Evaluator(recommended, {1: ["a"], 2: ["b"]}) as evaluator,
        studied(evaluator, Question("precision@1")) as study,
    ):
        found = KINDS["exposure"].rows(study).groupby("model")
        assert found["n_items"].first().to_dict() == {"even": 3, "one": 3}
        ginis = found["gini"].first().to_dict()
    assert ginis == pytest.approx({"even": 1 / 3, "one": 2 / 3})


def test_a_long_curve_of_exposure_has_some_of_its_points() -> None:
    """Of 100 items, the first is recommended once, the second twice, and so on."""
    lists = {user: [*range(user, 100)] for user in range(100)}
    with (
        Evaluator(lists, {1: [1]}) as evaluator,
        studied(evaluator, Question("precision@100", by=[], by_item=[])) as study,
    ):
        rows = KINDS["exposure"].rows(study)
    places = (rows["share_of_items"] * 100).round()
    np.testing.assert_allclose(rows["share_of_items"], places / 100)
    np.testing.assert_allclose(rows["share_of_recommendations"], places * (places + 1) / 10_100)
    np.testing.assert_allclose(rows["gini"], 99 / 300)  # (n - 1) / 3n
    assert places.is_monotonic_increasing
    assert places.max() == 100
    assert 2 < len(rows) <= 53


def test_tenths_of_popularity_by_hand() -> None:
    """30, 29, … and 10 users know the items 0 to 20: the first tenth has three items, others two.

    Nobody knows item 99.
    """
    history = [(user, item) for item in range(21) for user in range(30 - item)]
    lists = {"a": {1: [0, 3, 20, 99], 2: [0, 1, 3, 99]}, "b": {1: [5]}}
    known = pd.DataFrame(history, columns=["user_id", "item_id"])
    with (
        Evaluator(lists, {1: [0]}, history=known) as evaluator,
        studied(evaluator, Question("precision@4", by=[], by_item=[])) as study,
    ):
        rows = KINDS["popularity"].rows(study)
    expected = {
        "a": np.array([3, 2, 0, 0, 0, 0, 0, 0, 0, 1, 2]) / 8,
        "b": np.array([0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        None: np.array([87, 53, 49, 45, 41, 37, 33, 29, 25, 21, 0]) / 420,
    }
    for model, shares in expected.items():
        own = rows[rows["model"].isna() if model is None else rows["model"] == model]
        assert own["group"].fillna(99).astype(int).tolist() == [*range(1, 11), 99]
        np.testing.assert_allclose(own["share"], shares)


# ---------------------------------------------------------------- examples


def test_examples(study: Study, per_user: pd.DataFrame) -> None:
    own = per_user.query("label == 'ndcg@4'").pivot(
        index="user_id", columns="model", values="value"
    )
    rows = own.reset_index()[["user_id", "good"]]
    rows["distance"] = (rows["good"] - rows["good"].median()).abs()  # 5 relevant items each
    best = rows.sort_values(["good", "user_id"], ascending=[False, True])["user_id"][:3].tolist()
    worst = rows.sort_values(["good", "user_id"])["user_id"][:3].tolist()
    typical = rows.sort_values(["distance", "user_id"])["user_id"][:3].tolist()
    expected = [
        *(("best", user) for user in best),
        *(("typical", user) for user in typical if user not in best + worst),
        *(("worst", user) for user in worst),
    ]
    found = examples(study)
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
        Evaluator(recommended, truth) as evaluator,
        studied(evaluator, Question("hit_rate@1")) as study,
    ):
        found = examples(study)
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
