"""The setting masked_scores: rows with a masked score are no recommendations."""

import math
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.export.duckdb_macros import script
from tests.support.evaluators import Evaluator
from tests.support.seen_items import DROP, HISTORY, LISTS, RELEVANT, pairs, ranked, refused

INF = math.inf
MASKED = pd.DataFrame(
    [("u1", "a", -INF), ("u1", "b", -1.0), ("u1", "d", 2.0), ("u2", "b", 3.0), ("u2", "c", -INF)],
    columns=["user_id", "item_id", "score"],
)
LEAVE = {"masked_scores": "drop"}


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_masked_rows_are_no_recommendations(kind: str) -> None:
    lists = MASKED.astype({"score": kind})
    with Evaluator(lists, RELEVANT, settings=LEAVE) as evaluator:
        assert len(evaluator.stage("recommendations")) == 3
        assert evaluator.evaluate("coverage(counted=all,scale=count)@3")["value"].to_list() == [2]
        # precision(divisor=length): u1 has d b, of which d is relevant; u2 has b, which is
        users = evaluator.per_user(["precision(divisor=length)", "mrr"], k=3, long=True)
    assert users["precision(divisor=length)"].to_list()[:2] == [1 / 2, 1]
    assert users["mrr"].to_list() == [1, 1, 0]


def test_masked_rows_are_refused_unless_told_otherwise() -> None:
    refused(sm.DataError, "2 of 5 scores", "-inf", recommendations=MASKED, interactions=RELEVANT)


@pytest.mark.parametrize("score", [INF, math.nan, None])
def test_other_scores_that_are_no_numbers_stay_refused(score: float | None) -> None:
    lists = MASKED.assign(score=pd.array([-INF, 1.0, score, 3.0, -INF], dtype="Float64"))
    if score is not None:
        lists["score"] = [-INF, 1.0, score, 3.0, -INF]
    given = {"recommendations": lists, "interactions": RELEVANT, "settings": LEAVE}
    assert "-inf" not in refused(sm.DataError, "1 of 3 scores", **given)


def test_masked_rows_go_first_then_seen_items() -> None:
    history = pairs([("u1", "d")])
    given = {"interactions": RELEVANT, "history": history, "settings": {**LEAVE, **DROP}}
    with Evaluator(MASKED, **given) as evaluator:
        left = evaluator.stage("ranked")
    assert sorted(map(tuple, left[["user_id", "item_id"]].to_numpy())) == [("u1", "b"), ("u2", "b")]


def test_masked_scores_mean_nothing_for_lists_with_ranks() -> None:
    lists = MASKED.assign(rank=[3, 2, 1, 1, 2])
    with Evaluator(lists, RELEVANT, settings=LEAVE) as evaluator:
        with pytest.warns(
            sm.SqlmetricsWarning, match="masked_scores=drop has no effect, because rank"
        ):
            lengths = evaluator.stage("lists")
        assert sorted(lengths["n_recommended"]) == [2, 3]
    # the same lists, told to go by their scores
    with Evaluator(lists, RELEVANT, settings={**LEAVE, "order": "score"}) as evaluator:
        assert sorted(evaluator.stage("lists")["n_recommended"]) == [1, 2]


def test_masked_rows_of_a_baseline() -> None:
    """Beside lists with ranks: a baseline is ordered by what it has."""
    given = {"baseline": MASKED, "settings": LEAVE}
    with Evaluator(ranked(LISTS), RELEVANT, **given) as evaluator:
        # of u2's c a, the masked c is none of the baseline's: both are unexpected
        users = evaluator.per_user("unexpectedness", k=2, long=True).set_index("user_id")
        assert users["unexpectedness"].to_dict()["u2"] == 1
    refused(
        sm.DataError, "baseline: 2 rows", recommendations=ranked(LISTS), interactions=RELEVANT,
        baseline=MASKED, metrics="unexpectedness@2",
    )  # fmt: skip


def test_lists_of_masked_rows_alone_are_refused() -> None:
    masked = MASKED.assign(score=-INF)
    given: dict[str, Any] = {"interactions": RELEVANT, "settings": LEAVE}
    words = ("removed all rows", "masked_scores=drop")
    refused(sm.DataError, *words, recommendations=masked, **given)
    models = {"als": MASKED, "none": masked}
    for source in (models, pd.concat([one.assign(model=m) for m, one in models.items()])):
        refused(sm.DataError, "of none: ", *words, recommendations=source, **given)


def test_macros_drop_seen_items_and_masked_scores() -> None:
    with duckdb.connect() as connection:
        tables = {"recs": ranked(LISTS), "masked": MASKED, "truth": RELEVANT, "had": HISTORY}
        for name, frame in tables.items():
            connection.register(name, frame)
        for settings, call in ((DROP, "'recs', 'truth', 'had'"), (LEAVE, "'masked', 'truth'")):
            connection.execute(script(sm.Evaluator, ["mrr"], settings=settings))
            ((value,),) = connection.execute(f"SELECT value FROM sm_mrr({call}, k := 2)").fetchall()
            assert value == pytest.approx(2 / 3)
