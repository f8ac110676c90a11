"""Types of ids and numbers; NaN, infinity and NULL in every column."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from tests.support.evaluators import Evaluator
from tests.support.hostile import (
    METRICS,
    SEARCH,
    history_table,
    list_rows,
    lists_table,
    own_error_or,
    truth_table,
    values,
)

# expressions over the number `id`, such that different numbers stay different
ID_TYPES = {
    "TINYINT": "id::TINYINT", "SMALLINT": "id::SMALLINT", "INTEGER": "id::INTEGER",
    "BIGINT": "id::BIGINT", "HUGEINT": "10000000000000000000000000000000000000 - id::HUGEINT",
    "UTINYINT": "id::UTINYINT", "UBIGINT": "18446744073709551615 - id::UBIGINT",
    "UHUGEINT": "id::UHUGEINT", "FLOAT": "id::FLOAT", "DOUBLE": "id::DOUBLE / 3",
    "DECIMAL": "id::DECIMAL(18, 3) / 8", "WIDE": "id::DECIMAL(38, 10)", "VARCHAR": "id::VARCHAR",
    "BLOB": "('x' || id)::BLOB", "DATE": "DATE '2020-01-01' + id::INTEGER",
    "TIMESTAMP": "TIMESTAMP '2020-01-01' + id * INTERVAL 1 DAY",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2020-01-01 00:00:00+00' + id * INTERVAL 1 DAY",
    "TIMESTAMP_NS": "(TIMESTAMP '2020-01-01' + id * INTERVAL 1 DAY)::TIMESTAMP_NS",
    "TIME": "TIME '00:00:00' + id * INTERVAL 1 MINUTE", "INTERVAL": "id * INTERVAL 1 DAY",
    "UUID": "('00000000-0000-0000-0000-0000000000' || id + 10)::UUID",
    "ENUM": "CAST(id::VARCHAR AS ENUM('1','2','3','11','12','13','14','15'))",
    "BIT": "(id + 16)::INTEGER::BIT", "BOOLEAN": "id > 2", "STRUCT": "{'a': id}",
    "MAP": "MAP {'a': id}", "LIST": "[id]", "ARRAY": "array_value(id, id)",
    "JSON": "('{\"a\": ' || id || '}')::JSON", "BIGNUM": "id::BIGNUM",
    "UNION": "union_value(a := id)", "NULL": "NULL",
}  # fmt: skip
# no ids, or, as BOOLEAN and NULL, not enough of them
NO_IDS = {"BOOLEAN", "INTERVAL", "STRUCT", "MAP", "LIST", "ARRAY", "UNION", "NULL"}


def test_types_of_ids(expected: list[float]) -> None:
    """Users and items have the same type."""
    tables = {
        "recommendations": lists_table(),
        "interactions": truth_table(),
        "history": history_table(),
    }
    wrong = {}
    for kind, expression in ID_TYPES.items():
        ids = ", ".join(
            f"({expression.replace('id', column)}) AS {column}" for column in ("user_id", "item_id")
        )
        with duckdb.connect() as connection:
            for name, table in tables.items():
                connection.register("given", table)
                connection.execute(f"CREATE TABLE {name} AS SELECT * REPLACE ({ids}) FROM given")
                connection.unregister("given")

            def call(connection: duckdb.DuckDBPyConnection = connection) -> list[float]:
                names = {name: name for name in tables}
                with Evaluator(**names, connection=connection, check=False) as evaluator:
                    sliced = evaluator.evaluate("recall@2", by="activity")
                    assert sum(sliced["n_users"]) == 3
                    return values(evaluator.evaluate(METRICS))

            found = own_error_or(call)
        if found != (None if kind in NO_IDS else expected):
            wrong[kind] = found
    assert wrong == {}


def test_times_with_a_zone_need_no_further_package() -> None:
    """DuckDB fetches them with the package pytz, which may not be there."""
    times = pa.array([0, 1, 2], pa.timestamp("us", tz="Europe/Paris"))
    history = history_table().append_column("timestamp", times)
    with Evaluator(lists_table(), truth_table(), history=history) as evaluator:
        assert len(evaluator.evaluate("recall@2", by="activity")) > 0
    twice = pa.concat_tables([history, history])
    columns = {"interactions.item_id": "timestamp", "recommendations.item_id": "time"}
    lists = lists_table().slice(0, 3).append_column("time", times)
    shown = r"1970-01-01 0[01]:00:00(\.\d+)?\+0[01]:00"
    with (
        Evaluator(lists, twice, columns=columns) as evaluator,
        pytest.raises(sm.DataError, match=shown),
    ):
        evaluator.evaluate("recall@2")


NUMBER_TYPES = {
    "TINYINT": True, "UTINYINT": True, "INTEGER": True, "BIGINT": True, "UBIGINT": True,
    "HUGEINT": True, "UHUGEINT": True, "FLOAT": True, "DOUBLE": True, "DECIMAL(9, 2)": True,
    "DECIMAL(38, 9)": True, "VARCHAR": False, "BLOB": False,
    "BOOLEAN": None, "BIGNUM": None, "JSON": False,
}  # fmt: skip


METRICS_OF_NUMBERS = ["ndcg(gain=linear)@3", "recall@2", "err(max_grade=4)@3", "map"]


def of_numbers(lists: Any, truth: Any, column: str, **more: Any) -> list[float]:
    settings = {"order": "score"} if column == "score" else {}
    with Evaluator(lists, truth, settings=settings, check=False, **more) as evaluator:
        return values(evaluator.evaluate(METRICS_OF_NUMBERS))


def converted(connection: duckdb.DuckDBPyConnection, table: pa.Table, column: str, to: str) -> bool:
    """Make the table `converted`, where numbers can be converted to a type."""
    connection.register("given", table)
    for text in (f"CAST({column} AS {to})", f"CAST({column}::VARCHAR AS {to})"):
        with contextlib.suppress(duckdb.Error):
            connection.execute(
                f"CREATE TABLE converted AS SELECT * REPLACE ({text} AS {column}) FROM given"
            )
            connection.unregister("given")
            return True
    return False


@pytest.mark.parametrize("column", ["score", "rank", "relevance"])
def test_types_of_numbers(column: str) -> None:
    """Numbers of any type order and count as they do in double precision; all else is refused."""
    of_truth = column == "relevance"
    plain = of_numbers(lists_table(), truth_table(), column)
    all_one = truth_table().set_column(2, "relevance", pa.array([1.0] * 5))
    of_booleans = of_numbers(lists_table(), all_one, column)
    for kind, taken in NUMBER_TYPES.items():
        with duckdb.connect() as connection:
            table = truth_table() if of_truth else lists_table()
            if not converted(connection, table, column, kind):
                continue
            lists, truth = (
                (lists_table(), "converted") if of_truth else ("converted", truth_table())
            )
            found = own_error_or(
                lambda lists=lists, truth=truth, connection=connection: of_numbers(
                    lists, truth, column, connection=connection
                )
            )
        if taken is True:
            assert found == pytest.approx(plain, rel=1e-12), kind
        elif taken is False:
            assert found is None, kind
        elif found is not None and of_truth and kind == "BOOLEAN":
            assert found == of_booleans


SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-30, 1e15, 2.0**53, 2.0**63,
    3.4028235e38, 3.5e38, 1e100, 1.7976931348623157e308, -1.7976931348623157e308, math.inf,
    -math.inf, math.nan, None,
]  # fmt: skip
BOUNDED = [
    f"{name}@3"
    for name, metric in Catalog.load().metrics.items()
    if metric.range == (0, 1) and metric.family in ("accuracy", "ranking", "money")
]


def within_range(frame: pd.DataFrame, highest: float = 1) -> None:
    for row in frame.to_dict("records"):
        if not pd.isna(row["value"]):
            assert -1e-9 <= row["value"] <= highest + 1e-9, row


usual_numbers = st.sampled_from([1.0, 2.0, 0.0, -1.0, 0.5])
regular_numbers = st.floats(allow_nan=False, allow_infinity=False)
special_numbers = st.one_of(st.sampled_from(SPECIAL), st.floats(width=64))
PRECISIONS = st.sampled_from(["double", "float"])
GAINS = st.sampled_from(["binary", "linear", "exponential"])
THRESHOLDS = st.sampled_from(["none", "-inf", "0", "1e300", "1e-300"])


def lists_of(size: int, *kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Draw numbers of one kind, or of a mixture."""
    return st.one_of(*[st.lists(kind, min_size=size, max_size=size) for kind in kinds])


@settings(SEARCH, max_examples=5)
@given(numbers=lists_of(10, special_numbers, regular_numbers), precision=PRECISIONS)
@example(numbers=[3.5e38, 1e100, -3.5e38, 0, 1, 2, 3, 4, 5, 6], precision="float")
def test_special_scores(numbers: list[float | None], precision: str) -> None:
    """Scores of any size order a list as they do in Python; what is no number is refused."""
    lists = (
        lists_table()
        .select(["user_id", "item_id"])
        .append_column("score", pa.array(numbers, pa.float64()))
    )
    options: dict[str, Any] = {"settings": {"score_type": precision}, "check": False}

    def call() -> list[float]:
        with Evaluator(lists, truth_table(), **options) as evaluator:
            return values(evaluator.evaluate(METRICS[:-1]))

    found = own_error_or(call)
    regular = all(number is not None and math.isfinite(number) for number in numbers)
    assert (found is not None) == regular
    if found is None or precision == "float":
        return
    rows = sorted(
        ((user, item, score) for (user, item, _), score in zip(list_rows(), numbers, strict=True)),
        key=lambda row: (row[0], -row[2], row[1]),
    )
    users = [row[0] for row in rows]
    ranks = [users[: place + 1].count(user) for place, user in enumerate(users)]
    plain = pa.table({"user_id": users, "item_id": [row[1] for row in rows], "rank": ranks})
    with Evaluator(plain, truth_table()) as evaluator:
        # means are sums over users, whose order differs between statements
        assert found == pytest.approx(values(evaluator.evaluate(METRICS[:-1])), rel=1e-12)


@settings(SEARCH, max_examples=5)
@given(
    numbers=lists_of(
        5, st.one_of(usual_numbers, st.sampled_from(SPECIAL)), usual_numbers | regular_numbers
    ),
    gain=GAINS,
    threshold=THRESHOLDS,
)
def test_special_relevance(numbers: list[float | None], gain: str, threshold: str) -> None:
    """Whatever the relevance is: refused, or values between 0 and 1."""
    truth = truth_table().set_column(2, "relevance", pa.array(numbers, pa.float64()))
    history = pa.table({"user_id": [9] * 5, "item_id": [11, 12, 13, 14, 15]})
    options = {"history": history, "settings": {"relevant_from": threshold, "ndcg.gain": gain}}

    def call() -> pd.DataFrame:
        with Evaluator(lists_table(), truth, items=items_table(), **options) as evaluator:
            return evaluator.evaluate([*BOUNDED, "ndcg"])

    found = own_error_or(call)
    regular = all(number is not None and math.isfinite(number) for number in numbers)
    assert (found is not None) == regular
    if found is not None:
        within_range(found)


def items_table() -> pa.Table:
    return pa.table({"item_id": [11, 12, 13, 14, 15], "price": [1.0, 2.0, 3.0, 4.0, 5.0]})


@SEARCH
@given(numbers=lists_of(15, st.one_of(usual_numbers, st.sampled_from(SPECIAL))))
def test_special_attributes(numbers: list[float | None]) -> None:
    """Prices, vectors, rewards and propensities of any size: refused, or numbers, never NaN."""
    prices, vectors = numbers[:5], [numbers[place : place + 2] for place in range(5, 15, 2)]
    items = pa.table(
        {
            "item_id": [11, 12, 13, 14, 15],
            "price": pa.array(prices, pa.float64()),
            "features": pa.array(vectors, pa.list_(pa.float64())),
        }
    )
    logs = pa.table(
        {
            "user_id": [1, 1, 2, 2, 3],
            "item_id": [11, 12, 12, 15, 13],
            "reward": pa.array(numbers[:5], pa.float64()),
            "propensity": pa.array(numbers[5:10], pa.float64()),
        }
    )
    with Evaluator(lists_table(), truth_table(), items=items, logs=logs) as evaluator:
        for metrics, highest in (
            (["money_precision@3", "money_recall@3"], 1),
            (["intra_list_diversity@3"], 2),
        ):
            found = own_error_or(lambda metrics=metrics: evaluator.evaluate(metrics))
            if found is not None:
                within_range(found, highest)
        own_error_or(lambda: evaluator.evaluate(["ctr@3", "ips@3", "doubly_robust@3"]))
