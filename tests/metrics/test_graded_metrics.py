"""Metrics that need grades, with and without a relevance column."""

import math
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.evaluators import Evaluator
from tests.support.stars import LISTS, MAPPED, STARS
from tests.support.two_users import SHORT_LISTS, SHORT_TRUTH

PLAIN = STARS.drop(columns="rating")
# a call that is about grades -> what its message names, its number with the stars
GRADED = {
    "ndcg(gain=linear)@2": (
        "ndcg with gain=linear", (1 + 5 / math.log2(3)) / (5 + 1 / math.log2(3)),
    ),
    "ndcg(gain=exponential)@2": (
        "ndcg with gain=exponential", (1 + 31 / math.log2(3)) / (31 + 1 / math.log2(3)),
    ),
    "ndcg(gain=linear, ideal=all_k)@2": (
        "ndcg with gain=linear", (1 + 5 / math.log2(3)) / (1 + 1 / math.log2(3)),
    ),
    "dcg(gain=linear)@2": ("dcg with gain=linear", 1 + 5 / math.log2(3)),
    "dcg(gain=exponential)@2": ("dcg with gain=exponential", 1 + 31 / math.log2(3)),
    # p = (2^grade - 1) / 2^5: 1/32 and 31/32
    "err@2": ("err", 1 / 32 + 1 / 2 * 31 / 32 * 31 / 32),
    # p = (2^grade - 1) / 2^6: 1/64 and 31/64
    "err(max_grade=6)@2": ("err", 1 / 64 + 1 / 2 * 63 / 64 * 31 / 64),
    # p = grade / 5: 1/5 and 1
    "pfound@2": ("pfound", 1 / 5 + 4 / 5 * 0.85),
}  # fmt: skip


@pytest.mark.parametrize("call", GRADED)
@pytest.mark.parametrize("way", ["evaluate", "per_user", "sql"])
def test_graded_metrics_need_a_relevance(call: str, way: str) -> None:
    with Evaluator(LISTS, STARS) as evaluator, pytest.raises(sm.MissingTableError) as caught:
        getattr(evaluator, way)(call)
    who = f"the metric {GRADED[call][0]} needs the column relevance of the table interactions"
    for words in (who, "columns={'interactions.relevance': …}"):
        assert words in str(caught.value)


@pytest.mark.parametrize("call", GRADED)
def test_graded_metrics_with_the_stars(call: str) -> None:
    with Evaluator(LISTS, STARS, columns=MAPPED) as evaluator:
        assert evaluator.evaluate(call)["value"].item() == pytest.approx(GRADED[call][1], abs=1e-12)


@pytest.mark.parametrize("setting", ["gain", "ndcg.gain", "dcg.gain"])
def test_a_gain_that_is_set_for_all_needs_a_relevance(setting: str) -> None:
    metric = setting.partition(".")[0].replace("gain", "ndcg")
    with (
        Evaluator(LISTS, PLAIN, settings={setting: "linear"}) as evaluator,
        pytest.raises(sm.MissingTableError, match=f"{metric} with gain=linear needs the column"),
    ):
        evaluator.evaluate([metric])


@pytest.mark.parametrize("threshold", [0, 1])
def test_gains_from_a_threshold_need_a_relevance(threshold: float) -> None:
    settings = {"relevant_from": threshold, "gain": "exponential_from"}
    with (
        Evaluator(LISTS, PLAIN, settings=settings) as evaluator,
        pytest.raises(sm.MissingTableError, match="dcg with gain=exponential_from needs"),
    ):
        evaluator.evaluate(["dcg"])


def test_skip_missing_leaves_graded_metrics_out() -> None:
    calls = ["recall@2", "err@2", "ndcg(gain=linear)@2"]
    with Evaluator(LISTS, PLAIN) as evaluator, pytest.warns(sm.SqlmetricsWarning) as warned:
        found = evaluator.evaluate(calls, skip_missing=True)
    assert found["metric"].tolist() == ["recall"]
    (message,) = [str(one.message) for one in warned]
    assert "because the table interactions has no column relevance" in message
    assert message.endswith(": err, ndcg")


@pytest.mark.parametrize("convention", ["ranx", "trec_eval", "tutorial", "elliot"])
def test_the_gain_of_a_convention_is_that_of_1_without_a_relevance(convention: str) -> None:
    # with a relevance of 1 for all, every gain is the same number for all: nDCG is the binary one
    with (
        pytest.warns(sm.SqlmetricsWarning, match="no column relevance; 1 is assumed"),
        Evaluator(LISTS, PLAIN[1:], convention=convention) as evaluator,
    ):
        found = evaluator.evaluate("ndcg@2")
    assert found["value"].item() == pytest.approx(1 / math.log2(3), abs=1e-12)
    with Evaluator(LISTS, PLAIN[1:], convention=convention) as evaluator:
        evaluator.evaluate("recall@2" if convention != "tutorial" else "precision@2")  # no warning


def test_a_gain_that_the_convention_has_too_is_refused_where_it_is_asked_for() -> None:
    with (
        Evaluator(LISTS, PLAIN, convention="ranx") as evaluator,
        pytest.raises(sm.MissingTableError, match="ndcg with gain=linear"),
    ):
        evaluator.evaluate("ndcg(gain=linear)@2")


def test_a_threshold_without_a_relevance_is_warned_of() -> None:
    with (
        pytest.warns(sm.SqlmetricsWarning, match="no column relevance; 1 is assumed"),
        Evaluator(LISTS, PLAIN, settings={"relevant_from": 0.5}) as evaluator,
    ):
        assert evaluator.evaluate("recall@1")["value"].item() == 0.5
    with Evaluator(LISTS, PLAIN, settings={"relevant_from": "-inf"}) as evaluator:
        assert evaluator.evaluate("recall@1")["value"].item() == 0.5  # every row counts: as it says


def test_macros_of_graded_metrics_need_a_relevance(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "macros.sql"
    arguments = ["macros", "err", "ndcg", "--set", "ndcg.gain=linear", "-o", str(path)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    with duckdb.connect() as connection:
        connection.execute(path.read_text())
        connection.register("recs", LISTS)
        connection.register("truth", PLAIN)
        connection.register("graded", STARS.rename(columns={"rating": "relevance"}))
        for macro, call in (("err", "err@2"), ("ndcg", "ndcg(gain=linear)@2")):
            query = f"SELECT value FROM sm_{macro}('recs', '{{}}', k := 2)"
            (value,) = connection.execute(query.format("graded")).fetchall()[0]
            assert value == pytest.approx(GRADED[call][1], abs=1e-12)
            with pytest.raises(duckdb.Error, match="relevance"):
                connection.execute(query.format("truth")).fetchall()


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_negative_grades_are_worth_nothing(gain: str) -> None:
    truth = SHORT_TRUTH.assign(relevance=[-2, -1, -1, 3])
    with Evaluator(SHORT_LISTS, truth, settings={"relevant_from": -2}) as evaluator:
        users = evaluator.per_user([f"ndcg(gain={gain})", "recall"], long=True)
    # every hit has a grade below 0; the best list is worth more than nothing for user 2 only
    assert users[f"ndcg(gain={gain})"].tolist() == [0, 0]
    assert users["recall"].tolist() == [0.5, 0.5]


def test_unsigned_grades() -> None:
    truth = SHORT_TRUTH.assign(relevance=pd.array([1, 3, 2, 3], dtype="uint8"))
    with Evaluator(SHORT_LISTS, truth) as evaluator:
        users = evaluator.per_user(["dcg(gain=exponential)@1"], long=True)
    assert users["dcg(gain=exponential)"].tolist() == pytest.approx([1, 3])
