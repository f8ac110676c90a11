"""`with_tables`: other tables in the same connection, without preparing the rest again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.rows import frame_of
from tests.support.evaluators import Evaluator

METRICS = ["ndcg", "recall", "user_coverage"]
CUTOFFS = [1, 3]
TRUTH = pd.DataFrame({"user_id": [1, 1, 2, 3], "item_id": [10, 11, 10, 12]})


def lists(seed: int, column: str = "score") -> pd.DataFrame:
    """Return lists of four of six items for three users."""
    random = np.random.default_rng(seed)
    items = np.concatenate([random.permutation(np.arange(10, 16))[:4] for _ in range(3)])
    order = np.tile([1, 2, 3, 4] if column == "rank" else [0.4, 0.3, 0.2, 0.1], 3)
    return pd.DataFrame({"user_id": np.repeat([1, 2, 3], 4), "item_id": items, column: order})


def expected(recommendations: Any, truth: Any = TRUTH) -> pd.DataFrame:
    with Evaluator(recommendations, truth) as evaluator:
        return evaluator.evaluate(METRICS, CUTOFFS)


def check_same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Check that results are equal, in standard deviations up to the order of sums."""
    pd.testing.assert_frame_equal(found, wanted, rtol=1e-12)
    assert list(found["value"]) == list(wanted["value"])


@pytest.mark.parametrize("first", [lists(0), None], ids=["lists", "no lists"])
def test_results_are_those_of_a_new_evaluator(first: pd.DataFrame | None) -> None:
    others: list[Any] = [lists(1), lists(3, "rank"), {"a": lists(4), "b": lists(5)}, {1: [10]}]
    with Evaluator(first, TRUTH) as base:
        before = None if first is None else base.evaluate(METRICS, CUTOFFS)
        for recommendations in others:
            with base.with_tables(recommendations=recommendations) as evaluator:
                found = evaluator.evaluate(METRICS, CUTOFFS)
                check_same(found, expected(recommendations))
                if before is not None:  # both can be used in turn
                    check_same(base.evaluate(METRICS, CUTOFFS), before)
                check_same(evaluator.evaluate(METRICS, CUTOFFS), found)


def test_other_held_out_interactions_are_prepared_again() -> None:
    truth = pd.DataFrame({"user_id": [2, 3], "item_id": [14, 15]})
    with Evaluator(lists(0), TRUTH) as base:
        base.evaluate(METRICS, CUTOFFS)
        base.with_tables(recommendations=lists(1)).evaluate(METRICS, CUTOFFS)
        with base.with_tables(interactions=truth) as evaluator:
            check_same(evaluator.evaluate(METRICS, CUTOFFS), expected(lists(0), truth))
            with evaluator.with_tables(recommendations=lists(1)) as another:
                check_same(another.evaluate(METRICS, CUTOFFS), expected(lists(1), truth))
        with base.with_tables(recommendations=lists(1)) as another:
            check_same(another.evaluate(METRICS, CUTOFFS), expected(lists(1)))


def test_the_truth_is_prepared_once_and_nothing_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    usual = DuckDBEngine._materialise

    def named(self: DuckDBEngine, name: str, title: str, statement: str) -> None:
        computed.append(title)
        usual(self, name, title, statement)

    monkeypatch.setattr(DuckDBEngine, "_materialise", named)

    def state() -> list[Any]:
        tables = "SELECT database_name, table_name FROM duckdb_tables() ORDER BY ALL"
        return base.engine.connection.execute(tables).fetchall()

    with Evaluator(lists(0), TRUTH, check=True, threads=1) as base:
        base.evaluate(METRICS, CUTOFFS)
        assert "interaction_profile" in computed
        states, chained = [], base
        for number in range(3):
            computed.clear()
            with base.with_tables(recommendations=lists(number)) as evaluator:
                evaluator.evaluate(METRICS, CUTOFFS)
            assert "recommendation_profile" in computed
            states.append(state())
        assert states[0] == states[-1]
        for number in range(2):
            chained = chained.with_tables(recommendations=lists(number))
            chained.evaluate(METRICS, CUTOFFS)
        assert "interaction_profile" not in computed


def test_a_frame_whose_rows_have_changed_is_read_again() -> None:
    frame = lists(0)
    with Evaluator(frame, TRUTH) as base:
        base.evaluate(METRICS, CUTOFFS)
        frame["score"] = -frame["score"]
        with base.with_tables(recommendations=frame) as evaluator:
            check_same(evaluator.evaluate(METRICS, CUTOFFS), expected(frame))


def test_the_new_table_is_checked() -> None:
    double = pd.concat([lists(0), lists(0)])
    with Evaluator(lists(0), TRUTH) as base:
        base.evaluate(METRICS, CUTOFFS)
        with (
            base.with_tables(recommendations=double) as evaluator,
            pytest.raises(sm.DataError, match="duplicate"),
        ):
            evaluator.evaluate(METRICS, CUTOFFS)
        with pytest.raises(sm.DataError, match="item_id"):
            base.with_tables(recommendations=double.drop(columns="item_id"))
        assert len(base.evaluate(METRICS, CUTOFFS)) == 6


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "truth.parquet"
    TRUTH.to_parquet(path)
    with Evaluator(lists(0), path) as base, base.with_tables(recommendations=lists(1)) as other:
        check_same(other.evaluate(METRICS, CUTOFFS), expected(lists(1)))
        os.utime(path, (1, 1))
        with (
            base.with_tables(recommendations=lists(2)) as evaluator,
            pytest.raises(sm.DataError, match="changed after the first read"),
        ):
            evaluator.evaluate(METRICS, CUTOFFS)


def test_a_mapping_of_a_table_that_stays() -> None:
    rated = TRUTH.assign(rating=[1, 2, 3, 4])
    with Evaluator(lists(0), rated, columns={"relevance": "rating"}) as base:
        with base.with_tables(recommendations=lists(1)) as evaluator:
            found = evaluator.evaluate(METRICS, CUTOFFS)
        check_same(found, expected(lists(1), rated.rename(columns={"rating": "relevance"})))


def test_which_evaluators_are_closed() -> None:
    base = Evaluator(lists(0), TRUTH)
    with base.with_tables(recommendations=lists(1)) as second:
        third = second.with_tables(recommendations=lists(2))
    check_same(third.evaluate(METRICS, CUTOFFS), expected(lists(2)))
    base.close()
    for closed in (base, second, third):
        with pytest.raises(sm.UsageError, match="the evaluator is closed"):
            closed.evaluate(METRICS, CUTOFFS)
        with pytest.raises(sm.UsageError, match="the evaluator is closed"):
            closed.with_tables(recommendations=lists(1))


def test_values_of_python_and_arrow_give_the_same_table() -> None:
    plain = [
        "SELECT unnest([1, NULL, -3])::TINYINT AS x",
        "SELECT unnest([1, NULL, 300])::SMALLINT AS x, 70000 AS y",
        "SELECT unnest([5000000000, NULL]) AS x, TRUE AS y",
        "SELECT unnest([0.1, NULL, 2.5])::FLOAT AS x",
        "SELECT unnest(['0.1', 'nan', 'inf'])::DOUBLE AS x",
        "SELECT unnest(['a', NULL, '']) AS x, NULL::DOUBLE AS y",
        "SELECT range AS x, 'a' AS y FROM range(25000)",
        "SELECT 1 AS x WHERE FALSE",
    ]
    others = [
        "SELECT unnest([1, 255])::UTINYINT AS x",
        "SELECT 170141183460469231731687303715884105727 AS x",
        "SELECT unnest(['2024-01-01', 'infinity'])::DATE AS x",
        "SELECT TIMESTAMP '2024-01-01 00:00:00' AS x, 1.5 AS y",
    ]
    with Evaluator(lists(0), TRUTH) as evaluator:
        engine = evaluator.engine
        for sql in [*plain, *others]:
            found = engine._from_values("a query", sql)
            assert (found is not None) is (sql in plain)
            wanted = engine._arrow("a query", sql)  # also after a query was given up
            if found is not None:
                assert found.schema == wanted.schema
                pd.testing.assert_frame_equal(frame_of(found), frame_of(wanted), check_exact=True)


def test_a_repeated_result_has_the_same_types() -> None:
    one_user = TRUTH[:2]  # without a standard deviation
    countries = pd.DataFrame({"user_id": [1, 2, 3], "country": ["DE", None, "FR"]})
    for truth, by in [(one_user, None), (TRUTH, "country")]:
        with Evaluator(lists(0), truth, users=countries) as base:
            first, again = (base.evaluate(["ndcg@2", "recall"], by=by) for _ in range(2))
            assert list(base.engine._are_few.values()) == [True]
            pd.testing.assert_frame_equal(again, first, check_exact=True)
            for others in ([1, 2, 2], [1.0, 2.0, 2.0]):
                groups = countries.assign(country=others)
                other = base.with_tables(users=groups).evaluate(["ndcg@2", "recall"], by=by)
                with Evaluator(lists(0), truth, users=groups) as new:
                    wanted = new.evaluate(["ndcg@2", "recall"], by=by)
                pd.testing.assert_frame_equal(other, wanted, check_exact=True)


def test_tables_that_cannot_be_replaced() -> None:
    with Evaluator(lists(0), TRUTH) as base:
        with pytest.raises(sm.UsageError, match="by str"):
            base.with_tables(recommendations="epoch_2.parquet")
        with pytest.raises(sm.UsageError, match="did you mean"):
            base.with_tables(recommendatons=lists(0))
    with (
        duckdb.connect() as connection,
        Evaluator(lists(0), TRUTH, connection=connection) as base,
        pytest.raises(sm.UsageError, match="without a connection of your own"),
    ):
        base.with_tables(recommendations=lists(0))


def test_a_series_of_lists_replaces_a_table() -> None:
    series = pd.Series({1: [10, 11], 2: [12]})
    with Evaluator({1: [10, 11], 2: [13]}, {1: [11], 2: [13]}) as base:
        with base.with_tables(recommendations=series) as evaluator:
            assert evaluator.evaluate("hit_rate@2")["value"].tolist() == [0.5]
        with base.with_tables(interactions=series) as evaluator:
            assert evaluator.evaluate("hit_rate@2")["value"].tolist() == [0.5]
        with pytest.raises(sm.UsageError, match=r"cannot read a pandas\.Series without lists"):
            base.with_tables(interactions=pd.Series([1, 2]))
