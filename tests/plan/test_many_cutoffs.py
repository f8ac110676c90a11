"""Many cutoffs in one call, in several statements, give the numbers of few cutoffs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from sqlglot import parse_one

import sqlmetrics as sm
from sqlmetrics.engines import duckdb as engine
from sqlmetrics.plan import values as planning
from sqlmetrics.plan.per_user import per_user as plan_per_user
from sqlmetrics.plan.request import Request
from sqlmetrics.plan.summary import summary
from sqlmetrics.run import path
from sqlmetrics.sql.query_graph import Plan
from tests.support.evaluators import Evaluator

N_USERS, N_ITEMS, LENGTH = 30, 60, 25
METRICS = ["ndcg(gain=exponential)", "map"]
MANY = range(1, 42)  # three shares
SOME = [1, 7, 20, 21, 25, 40, 41]  # around the ends of lists and of shares


def _lists(seed: int) -> pa.Table:
    draw = random.Random(seed)
    rows = [
        (user, item, float(LENGTH - place))
        for user in range(N_USERS)
        for place, item in enumerate(draw.sample(range(N_ITEMS), LENGTH))
    ]
    return pa.table(
        dict(zip(("user_id", "item_id", "score"), zip(*rows, strict=True), strict=True))
    )


LISTS = {"als": _lists(1), "popular": _lists(2)}
TRUTH = pa.table(
    {
        "user_id": [user for user in range(N_USERS) for _ in range(4)],
        "item_id": [(7 * user + 13 * n) % N_ITEMS for user in range(N_USERS) for n in range(4)],
        "relevance": [1 + n % 3 for _ in range(N_USERS) for n in range(4)],
    }
)
USERS = pa.table({"user_id": range(N_USERS), "country": [user % 3 for user in range(N_USERS)]})


@pytest.fixture(scope="module")
def evaluator() -> Iterator[sm.Evaluator]:
    with Evaluator(LISTS, TRUTH, users=USERS, history=TRUTH) as evaluator:
        yield evaluator


def rows_of(frame: pd.DataFrame, ks: Any) -> pd.DataFrame:
    return frame[frame["k"].isin(ks)].reset_index(drop=True)


def test_values_per_user_are_those_of_few_cutoffs(evaluator: sm.Evaluator) -> None:
    many = evaluator.per_user(METRICS, k=MANY, long=True)
    assert len(many) == 2 * N_USERS * len(MANY)
    assert many["k"].tolist()[: len(MANY)] == [*MANY]  # in the order of their keys
    few = evaluator.per_user(METRICS, k=SOME, long=True)
    pd.testing.assert_frame_equal(rows_of(many, SOME), few, check_exact=True)


CALLS: dict[str, dict[str, Any]] = {
    "normal": {},
    "sliced": {"by": "country", "combinations": True},
    "of items": {"by_item": "popularity"},
    "bootstrap": {"ci": "bootstrap", "resamples": 50, "by": "country"},
}


@pytest.mark.parametrize("name", CALLS)
def test_means_are_those_of_few_cutoffs(name: str, evaluator: sm.Evaluator) -> None:
    many = evaluator.evaluate(METRICS, k=MANY, **CALLS[name])
    slices = [column for column in many.columns if column in ("country", "popularity")]
    assert not many.duplicated(["model", *slices, "metric", "k"]).any()
    assert set(many["k"]) == {*MANY}
    found = rows_of(many, SOME)
    single = evaluator.evaluate(METRICS, k=SOME, **CALLS[name])
    keys = ["model", *slices, "metric", "k"]
    single = found[keys].merge(single, on=keys, how="left")[found.columns.to_list()]
    pd.testing.assert_frame_equal(found, single, check_exact=False, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomization"])
def test_comparisons_are_those_of_few_cutoffs(test: str, evaluator: sm.Evaluator) -> None:
    asked: dict[str, Any] = {"baseline": "popular", "test": test, "correction": "none",
                             "resamples": 50}  # fmt: skip
    many = rows_of(evaluator.compare("ndcg", k=MANY, **asked), SOME)
    few = evaluator.compare("ndcg", k=SOME, **asked)
    pd.testing.assert_frame_equal(many, few, check_exact=False, rtol=1e-9, atol=1e-15)


def test_leaderboards_rank_by_many_cutoffs(evaluator: sm.Evaluator) -> None:
    board = evaluator.leaderboard("ndcg", k=MANY)
    means = evaluator.evaluate("ndcg", k=SOME)
    assert f"ndcg@{MANY[-1]}" in board.columns
    for model, k, value in zip(means["model"], means["k"], means["value"], strict=True):
        (found,) = board.loc[board["model"] == model, f"ndcg@{k}"]
        assert found == pytest.approx(value, rel=1e-12)


def test_metrics_of_runs_at_many_cutoffs(evaluator: sm.Evaluator) -> None:
    """Also those whose queries are not put into one SELECT with others."""
    metrics = ["coverage", "inter_list_diversity", "surprisal"]
    many = rows_of(evaluator.evaluate(metrics, k=MANY, by="country"), SOME)
    single = evaluator.evaluate(metrics, k=SOME, by="country")
    pd.testing.assert_frame_equal(many, single, check_exact=False, rtol=1e-12, atol=1e-15)


def test_cutoffs_in_any_order_and_whole_lists(evaluator: sm.Evaluator) -> None:
    specs = ["recall", "ndcg@7", "recall@3", "ndcg", *(f"map@{k}" for k in range(60, 20, -1))]
    ks = [None, *range(25, 0, -1)]
    found = evaluator.evaluate(specs, k=ks[1:])
    expected = [("recall", k) for k in ks[1:]] + [("ndcg", 7)]
    expected += [("ndcg", k) for k in ks[1:] if k != 7] + [("map", k) for k in range(60, 20, -1)]
    of_als = found[found["model"] == "als"]
    assert [*zip(of_als["metric"], of_als["k"], strict=True)] == expected
    both = evaluator.evaluate(["recall", *(f"recall@{k}" for k in range(1, 30))])
    whole = both[both["k"].isna()]["value"].tolist()
    assert whole == both[both["k"] == 29]["value"].tolist()  # lists have 25 items


def test_the_statement_of_many_cutoffs_runs_alone(evaluator: sm.Evaluator) -> None:
    for per_user in (False, True):
        of_users: dict[str, Any] = {"long": True} if per_user else {}
        statement = evaluator.sql("ndcg", k=range(1, 22), per_user=per_user, **of_users)
        method = evaluator.per_user if per_user else evaluator.evaluate
        expected = method("ndcg", k=range(1, 22), **of_users)
        connection = evaluator.engine.connection  # type: ignore[union-attr]
        found = connection.execute(statement).df()
        assert found["k"].tolist() == expected["k"].tolist()
        value = "ndcg" if per_user else "value"
        assert found[value].tolist() == pytest.approx(expected[value].tolist(), rel=1e-12)


# ---------------------------------------------------------------- how a plan grows


def plan_of(evaluator: sm.Evaluator, metrics: list[str], n: int, per_user: bool) -> Plan:
    results = path.results(evaluator._session, Request(metrics, range(1, n + 1), per_user=per_user))
    return plan_per_user(results, long=True) if per_user else summary(results)


def sizes_of(plan: Plan) -> list[int]:
    """Count the syntax nodes of every statement that an engine runs."""
    tables: dict[str, str] = {}
    sizes = []
    for node in [*plan.barriers(), plan.root]:
        text = Plan(node).statement(tables, pretty=False)
        sizes.append(sum(1 for _ in parse_one(text, read="duckdb").walk()))
        tables[node.key] = node.key
    return sizes


@pytest.mark.parametrize("per_user", [False, True])
def test_a_plan_grows_with_the_number_of_cutoffs(per_user: bool, evaluator: sm.Evaluator) -> None:
    """Statements have one size whatever the number of cutoffs; there are more of them.

    From the third share on, per-user values also have a statement with all users, once.
    """
    few, many = (sizes_of(plan_of(evaluator, METRICS[:1], n, per_user)) for n in (60, 100))
    assert len(many) - len(few) == 40 // planning._MOST_CUTOFFS
    assert max(many) <= 1.1 * max(few)
    assert sum(many) <= 2.2 * sum(few)


def test_many_metrics_in_several_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB nests the CTEs and joins of a statement, at most 1,000 levels deep."""
    metrics = ["mrr", "ndcg", "map", "recall", "n_recommended", "coverage", "rbp"]

    def results() -> list[pd.DataFrame]:
        of_users = [metric for metric in metrics if metric != "coverage"]
        with Evaluator(LISTS, TRUTH, users=USERS, history=TRUTH) as evaluator:
            return [
                evaluator.per_user(of_users, k=[1, 5], long=True),
                evaluator.evaluate(metrics, k=[1, 5]),
                evaluator.evaluate(metrics, k=[1, 5], by="country"),
                evaluator.compare(of_users, k=[1, 5], baseline="als"),
            ]

    together = results()
    monkeypatch.setattr(planning, "_MOST_CALLS", 2)
    monkeypatch.setattr(engine, "_MOST_QUERIES", 10)
    for found, expected in zip(results(), together, strict=True):
        pd.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-12)
