"""The further tables (history, items, aspects, baseline, logs): what is refused at the door, and
the calls that came with them: all, skip_missing, aggregate, tables in short forms.

Expected values are worked out by hand beside the tables.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist, mean, stdev
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import sqlmetrics as sm
from sqlmetrics.catalog import Catalog
from sqlmetrics.cli import main

NAN, INF = math.nan, math.inf

RANKED = pa.table({"user_id": [1, 1, 2, 2], "item_id": [10, 11, 10, 12], "rank": [1, 2, 1, 2]})
SCORED = RANKED.append_column("score", pa.array([4.0, 3.0, 2.0, 1.0]))
TRUTH = pa.table({"user_id": [1, 2], "item_id": [10, 12]})
GRADED = pa.table(
    {"user_id": [1, 1, 2, 2], "item_id": [10, 11, 10, 12], "relevance": [2, 0, 0, 1]}
)
# three users: 10 is known to two of them, the others to one each
HISTORY = pa.table({"user_id": [1, 1, 2, 3, 3], "item_id": [10, 11, 10, 12, 13]})
ITEMS = pa.table(
    {
        "item_id": [10, 11, 12, 13],
        "price": [3.0, 1.0, 4.0, 8.0],
        "category": [["a"], ["b"], ["a", "b"], ["a"]],
        "features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]],
    }
)
PLANE = pa.table({"item_id": [10, 11, 12], "f1": [1.0, 0.0, 1.0], "f2": [0.0, 1.0, 1.0]})
ASPECTS = pa.table({"item_id": [10, 11, 12], "aspect": ["x", "y", "x"]})
ASPECTS_OF_USERS = pa.table(
    {"user_id": [1, 1, 2], "item_id": [10, 11, 12], "aspect": ["x", "y", "x"]}
)
BASELINE = pa.table({"user_id": [1, 1, 2], "item_id": [10, 13, 11], "rank": [1, 2, 1]})
BASELINE_SCORES = pa.table(
    {"user_id": [1, 1, 2], "item_id": [10, 13, 11], "score": [2.0, 1.0, 3.0]}
)
LOGS = pa.table(
    {
        "user_id": [1, 1, 2],
        "item_id": [10, 11, 12],
        "reward": [1.0, 0.0, 1.0],
        "propensity": [0.5, 0.25, 1.0],
    }
)
TABLES = {"history": HISTORY, "items": ITEMS, "aspects": ASPECTS, "baseline": BASELINE, "logs": LOGS}

# user 1 hits at rank 1, user 2 at rank 2
VALUES = {
    "mrr": (1 + 1 / 2) / 2,
    "mrr(audience=baseline)": (1 + 1 / 2) / 2,
    "coverage": 3 / 4,
    "coverage(catalogue=items)": 3 / 4,
    "popularity": (2 / 3 + 1 / 3) / 2,  # the same for both users
    "surprisal": (math.log2(3 / 2) + math.log2(3)) / 2,  # the same for both users
    "money_precision": (3 / (3 + 1) + 4 / (3 + 4)) / 2,
    "money_recall": 1.0,
    "money_recall@1": (3 / 3 + 0) / 2,
    # [1, 0] and [0, 1] have the cosine 0; [1, 0] and [1, 1] have 1/sqrt(2)
    "intra_list_diversity": (1 + (1 - 1 / math.sqrt(2))) / 2,
    "intra_list_diversity(over=category)": (1 + (1 - 1 / math.sqrt(2))) / 2,
    "alpha_ndcg": (1 + 1 / math.log2(3)) / 2,
    "unexpectedness": ((1 - 1 / 2) + 1) / 2,
    "unexpectedness@1": (0 + 1) / 2,
    "ctr": (1 + 0 + 1) / 3,
    "ips": (1 / 0.5 + 0 + 1 / 1) / 4,
    "ips(divisor=weights)": (1 / 0.5 + 1 / 1) / (1 / 0.5 + 1 / 0.25 + 1 / 1),
}
DIVERSITY, BY_CATEGORY = "intra_list_diversity", "intra_list_diversity(over=category)"


def evaluate(
    metrics: Any, recommendations: Any = RANKED, interactions: Any = TRUTH, **options: Any
) -> pd.DataFrame:
    call = {name: options.pop(name) for name in ("k", "confidence") if name in options}
    with sm.Evaluator(recommendations, interactions, **options) as evaluator:
        return evaluator.evaluate(metrics, **call)


def value(metric: str, **options: Any) -> float:
    return float(evaluate(metric, **options)["value"].item())


def changed(table: pa.Table, column: str, row: int, new: Any) -> pa.Table:
    """Put another value into one cell; NaN stays NaN."""
    values = table[column].to_pylist()
    values[row] = new
    kept = table[column].type if isinstance(new, float | None) else None
    return table.set_column(table.column_names.index(column), column, pa.array(values, kept))


def more(table: pa.Table, *rows: Mapping[str, Any]) -> pa.Table:
    return pa.concat_tables([table, pa.Table.from_pylist(list(rows), table.schema)])


def without(table: pa.Table, item: int) -> pa.Table:
    return table.filter(pa.compute.not_equal(table["item_id"], item))


# ---------------------------------------------------------------- the rules at the door


class Rule(NamedTuple):
    """A table that breaks a rule. The message names `table` and `column`, and says `found`, with
    `row` among its examples and `remedy` as what to do; `elsewhere` reads nothing of what is wrong.
    """

    name: str
    metric: str
    table: str
    bad: pa.Table
    column: str
    found: str
    row: Mapping[str, Any]
    remedy: str
    elsewhere: str = "mrr"
    good: pa.Table | None = None


def _null_ids() -> list[Rule]:
    remove = "remove these rows"
    some = "NULL user or item"
    rules = [
        Rule("user", "popularity", "history", changed(HISTORY, "user_id", 1, None), "user_id",
             some, {"user_id": "NULL", "item_id": 11}, remove, "coverage"),
        Rule("item", "surprisal", "history", changed(HISTORY, "item_id", 2, None), "item_id",
             some, {"user_id": 2, "item_id": "NULL"}, remove),
        Rule("item, catalogue", "coverage", "history", changed(HISTORY, "item_id", 2, None),
             "item_id", "NULL item", {"item_id": "NULL"}, remove),
        Rule("item, catalogue", "coverage(catalogue=items)", "items",
             changed(ITEMS, "item_id", 3, None), "item_id", "NULL", {"item_id": "NULL"}, "remove"),
        Rule("item", "alpha_ndcg", "aspects", changed(ASPECTS, "item_id", 1, None), "item_id",
             "NULL", {"item_id": "NULL", "aspect": "y"}, remove),
        Rule("aspect", "alpha_ndcg", "aspects", changed(ASPECTS, "aspect", 1, None), "aspect",
             "NULL", {"item_id": 11, "aspect": "NULL"}, remove),
        Rule("user", "alpha_ndcg", "aspects", changed(ASPECTS_OF_USERS, "user_id", 1, None),
             "user_id", "NULL", {"user_id": "NULL", "item_id": 11, "aspect": "y"}, remove,
             good=ASPECTS_OF_USERS),
        Rule("user", "unexpectedness", "baseline", changed(BASELINE, "user_id", 1, None), "user_id",
             some, {"user_id": "NULL", "item_id": 13}, remove),
        Rule("item", "unexpectedness", "baseline", changed(BASELINE, "item_id", 1, None), "item_id",
             some, {"user_id": 1, "item_id": "NULL"}, remove),
        Rule("user, audience", "mrr(audience=baseline)", "baseline",
             changed(BASELINE, "user_id", 1, None), "user_id", some,
             {"user_id": "NULL", "item_id": 13}, remove),
        Rule("user", "ctr", "logs", changed(LOGS, "user_id", 1, None), "user_id", some,
             {"user_id": "NULL", "item_id": 11}, remove),
        Rule("item", "ips", "logs", changed(LOGS, "item_id", 1, None), "item_id", some,
             {"user_id": 1, "item_id": "NULL"}, remove),
    ]  # fmt: skip
    for metric in ("money_precision", "money_recall", DIVERSITY, BY_CATEGORY):
        bad = changed(ITEMS, "item_id", 3, None)
        rules.append(
            Rule("item", metric, "items", bad, "item_id", "NULL", {"item_id": "NULL"}, "remove")
        )
    return [rule._replace(name=f"NULL {rule.name}") for rule in rules]


def _items() -> list[Rule]:
    ignore = "missing_attributes=ignore"
    rules = [
        Rule("item twice", metric, "items", changed(ITEMS, "item_id", 3, 10), "item_id",
             "more than one row", {"item_id": 10, "n_rows": 2}, "one row per item")
        for metric in ("money_precision", "money_recall", DIVERSITY, BY_CATEGORY)
    ]  # fmt: skip
    for metric in ("money_precision", "money_recall"):
        rules += [
            Rule(f"price {price}", metric, "items", changed(ITEMS, "price", 1, price), "price",
                 "negative, NaN or infinite", {"item_id": 11, "price": price}, ignore, DIVERSITY)
            for price in (-1.0, NAN, INF, -INF)
        ]  # fmt: skip
    whole = ITEMS.set_column(1, "price", pa.array([3, 1, 4, 8]))
    exact = ITEMS.set_column(1, "price", pa.array([Decimal("3.00"), Decimal(1), Decimal(4), None]))
    rules += [
        Rule("whole price", "money_precision", "items", changed(whole, "price", 1, -1), "price",
             "negative", {"item_id": 11, "price": -1}, ignore, BY_CATEGORY, whole),
        Rule("exact price", "money_precision", "items",
             changed(exact, "price", 1, Decimal("-0.01")), "price", "negative",
             {"item_id": 11, "price": "-0.01"}, ignore, BY_CATEGORY, exact),
        Rule("features uneven", DIVERSITY, "items", changed(ITEMS, "features", 1, [0.0]),
             "features", "another length than the longest",
             {"item_id": 11, "n_features": 1, "longest": 2}, "the same features in the same order",
             BY_CATEGORY),
    ]  # fmt: skip
    rules += [
        Rule(f"features with {number}", DIVERSITY, "items",
             changed(ITEMS, "features", 1, [0.0, number]), "features",
             "1 numbers are NULL, NaN or infinite",
             {"item_id": 11, "dimension": 2, "value": "NULL" if number is None else number},
             "fix these vectors", "money_precision")
        for number in (None, NAN, INF, -INF)
    ]  # fmt: skip
    fewer = without(ITEMS, 11)
    rules += [
        Rule("no price", "money_precision", "items", changed(ITEMS, "price", 1, None), "price",
             "1 recommended items have no price", {"item_id": 11}, ignore, DIVERSITY),
        Rule("no row", "money_precision", "items", fewer, "price",
             "1 recommended items have no price", {"item_id": 11}, ignore),
        Rule("no price", "money_recall", "items", changed(ITEMS, "price", 2, None), "price",
             "1 relevant items have no price", {"item_id": 12}, ignore, DIVERSITY),
        Rule("no row", "money_recall", "items", without(ITEMS, 12), "price",
             "1 relevant items have no price", {"item_id": 12}, ignore),
        Rule("no features", DIVERSITY, "items", changed(ITEMS, "features", 1, None), "features",
             "1 recommended items have no features", {"item_id": 11}, ignore, BY_CATEGORY),
        Rule("features are empty", DIVERSITY, "items", changed(ITEMS, "features", 1, []),
             "features", "1 recommended items have no features", {"item_id": 11}, ignore,
             BY_CATEGORY),
        Rule("no row", DIVERSITY, "items", fewer, "features",
             "1 recommended items have no features", {"item_id": 11}, ignore),
        Rule("no category", BY_CATEGORY, "items", changed(ITEMS, "category", 1, None), "category",
             "1 recommended items have no (features or )?category", {"item_id": 11}, ignore,
             DIVERSITY),
        Rule("no categories", BY_CATEGORY, "items", changed(ITEMS, "category", 1, []), "category",
             "1 recommended items have no (features or )?category", {"item_id": 11}, ignore,
             DIVERSITY),
        Rule("no row", BY_CATEGORY, "items", fewer, "category",
             "1 recommended items have no (features or )?category", {"item_id": 11}, ignore),
        Rule("no aspect", "alpha_ndcg", "aspects", without(ASPECTS, 12), "aspect",
             "1 relevant items have no aspect", {"item_id": 12}, ignore),
        # item 12 is in the table, for another user: without the user, the message seems wrong
        Rule("no aspect for this user", "alpha_ndcg", "aspects",
             changed(ASPECTS_OF_USERS, "user_id", 2, 1), "aspect", "1 relevant items have no aspect",
             {"user_id": 2, "item_id": 12}, ignore, good=ASPECTS_OF_USERS),
    ]  # fmt: skip
    return rules


def _baseline() -> list[Rule]:
    rules = [
        Rule("item twice", "unexpectedness", "baseline", changed(BASELINE, "item_id", 1, 10),
             "item_id", "1 items are repeated", {"user_id": 1, "item_id": 10, "n_copies": 2},
             "duplicate_recommendations=keep | dedup_then_cut | cut_then_dedup",
             "mrr(audience=baseline)"),
        Rule("rank twice", "unexpectedness@1", "baseline", changed(BASELINE, "rank", 1, 1), "rank",
             "1 ranks are given to more than one item", {"user_id": 1, "rank": 1, "n_items": 2},
             "give each its own rank", "mrr(audience=baseline)"),
    ]  # fmt: skip
    fractions = BASELINE.set_column(2, "rank", pa.array([1.0, 2.0, 1.0]))
    for rank in (0, -1, None, NAN, INF, -INF, 1.5):
        table = fractions if isinstance(rank, float) else BASELINE
        shown = "NULL" if rank is None else rank
        rules.append(
            Rule(f"rank {rank}", "unexpectedness@1", "baseline", changed(table, "rank", 1, rank),
                 "rank", "1 rows have a rank", {"user_id": 1, "item_id": 13, "rank": shown},
                 "remove or fix these rows", "mrr(audience=baseline)", table)
        )  # fmt: skip
    for score in (None, NAN, INF, -INF):
        shown = "NULL" if score is None else score
        rules.append(
            Rule(f"score {score}", "unexpectedness", "baseline",
                 changed(BASELINE_SCORES, "score", 1, score), "score", "1 rows have a .*score",
                 {"user_id": 1, "item_id": 13, "score": shown}, "remove or fix these rows",
                 "mrr(audience=baseline)", BASELINE_SCORES)
        )  # fmt: skip
    return rules


def _logs() -> list[Rule]:
    rules = [
        Rule("item twice", metric, "logs", changed(LOGS, "item_id", 1, 10), "item_id",
             "1 items are there more than once", {"user_id": 1, "item_id": 10, "n_copies": 2},
             "keep one row per user and item")
        for metric in ("ctr", "ips")
    ]  # fmt: skip
    rules += [
        Rule(f"reward {reward}", metric, "logs", changed(LOGS, "reward", 1, reward), "reward",
             "1 rewards are NULL, NaN or infinite",
             {"user_id": 1, "item_id": 11, "reward": "NULL" if reward is None else reward},
             "0 means no click")
        for metric in ("ctr", "ips")
        for reward in (None, NAN, INF)
    ]  # fmt: skip
    rules += [
        Rule(f"propensity {share}", metric, "logs", changed(LOGS, "propensity", 1, share),
             "propensity", "1 propensities are NULL, NaN, 0 or less.*or above 1",
             {"user_id": 1, "item_id": 11, "propensity": "NULL" if share is None else share},
             "above 0 and at most 1")
        for metric in ("ips", "ips(divisor=weights)")
        for share in (None, NAN, 0.0, -0.25, 1.5, INF)
    ]  # fmt: skip
    return rules


RULES = [*_null_ids(), *_items(), *_baseline(), *_logs()]
EACH_RULE = pytest.mark.parametrize(
    "rule", [pytest.param(rule, id=f"{rule.table}: {rule.name}, {rule.metric}") for rule in RULES]
)


def check_refused(
    call: Callable[[], Any], table: str, column: str, found: str, row: Mapping[str, Any],
    remedy: str,
) -> None:  # fmt: skip
    """Check every part of the message of a broken rule."""
    with pytest.raises(sm.DataError) as caught:
        call()
    message = str(caught.value)
    first, header, *rows, last = message.splitlines()
    assert re.match(rf"{table}[,:]", first), message
    assert re.search(rf"\b{column}\b", f"{first} {header}"), message
    assert re.search(found, first), message
    shown = [dict(zip(header.split(), line.split(), strict=True)) for line in rows]
    expected = {name: str(cell) for name, cell in row.items()}
    assert any(expected.items() <= cells.items() for cells in shown), message
    assert last.startswith("What to do: "), message
    assert remedy in last, message


@EACH_RULE
def test_what_breaks_a_rule_is_refused(rule: Rule) -> None:
    check_refused(
        lambda: evaluate(rule.metric, **{rule.table: rule.bad}),
        rule.table, rule.column, rule.found, rule.row, rule.remedy,
    )  # fmt: skip


REPAIRED = {
    (rule.table, rule.metric, id(rule.good)): (
        rule.metric, rule.table, TABLES[rule.table] if rule.good is None else rule.good)
    for rule in RULES
}  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "table", "good"),
    [pytest.param(*case, id=f"{case[1]}: {case[0]}") for case in REPAIRED.values()],
)
def test_a_repaired_table_works(metric: str, table: str, good: pa.Table) -> None:
    assert value(metric, **{table: good}) == pytest.approx(VALUES[metric], abs=1e-12)


@EACH_RULE
def test_a_rule_is_for_those_who_read_what_it_guards(rule: Rule) -> None:
    found = value(rule.elsewhere, **{rule.table: rule.bad})
    assert found == pytest.approx(VALUES[rule.elsewhere], abs=1e-12)


@pytest.mark.parametrize("way", ["evaluate", "per_user", "write_parquet", "stage"])
def test_every_way_in_is_checked(way: str, tmp_path: Path) -> None:
    bad = changed(ITEMS, "price", 1, -1.0)
    with sm.Evaluator(RANKED, TRUTH, items=bad) as evaluator:
        calls: dict[str, Callable[[], Any]] = {
            "evaluate": lambda: evaluator.evaluate("money_precision"),
            "per_user": lambda: evaluator.per_user("money_precision"),
            "write_parquet": lambda: evaluator.write_parquet(tmp_path / "a.parquet",
                                                             "money_precision"),
            "stage": lambda: evaluator.stage("item_prices"),
        }  # fmt: skip
        for _ in range(2):
            with pytest.raises(sm.DataError, match="items, column price"):
                calls[way]()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("metric", "table", "bad", "expected"),
    [
        ("popularity", "history", changed(HISTORY, "user_id", 4, None), VALUES["popularity"]),
        ("money_recall", "items", changed(ITEMS, "price", 3, -1.0), 1.0),
        ("unexpectedness@1", "baseline", changed(BASELINE, "rank", 0, -1), 1 / 2),
        ("ips", "logs", changed(LOGS, "propensity", 1, 1.5), VALUES["ips"]),  # its reward is 0
    ],
)
def test_trust_input_skips_the_rules(
    metric: str, table: str, bad: pa.Table, expected: float
) -> None:
    with pytest.raises(sm.DataError):
        evaluate(metric, **{table: bad})
    assert value(metric, **{table: bad}, trust_input=True) == pytest.approx(expected, abs=1e-12)


def test_no_more_than_a_few_rows_are_shown() -> None:
    bad = pa.table({"item_id": list(range(100)), "price": [-1.0] * 100})
    with pytest.raises(sm.DataError, match="100 prices") as caught:
        evaluate("money_precision", items=bad)
    assert str(caught.value).count("\n") <= 8


# ---------------------------------------------------------------- empty tables, types, columns

READERS = [
    ("history", "popularity"),
    ("history", "coverage"),
    ("items", "money_precision"),
    ("items", "money_recall"),
    ("items", DIVERSITY),
    ("items", BY_CATEGORY),
    ("items", "coverage(catalogue=items)"),
    ("aspects", "alpha_ndcg"),
    ("baseline", "unexpectedness"),
    ("logs", "ctr"),
    ("logs", "ips"),
]


@pytest.mark.parametrize(("table", "metric"), READERS)
def test_empty_tables(table: str, metric: str) -> None:
    empty = TABLES[table].slice(0, 0)
    with pytest.raises(sm.DataError) as caught:
        evaluate(metric, **{table: empty})
    for words in (f"{table}: ", "empty", f"--{table} FILE"):
        assert words in str(caught.value)
    with pytest.raises(sm.DataError, match="empty"):
        evaluate(metric, **{table: empty}, settings={"missing_attributes": "ignore"})
    assert value("mrr", **{table: empty}) == VALUES["mrr"]
    assert value(metric, **{table: TABLES[table]}) == pytest.approx(VALUES[metric], abs=1e-12)


@pytest.mark.parametrize(
    ("table", "metric", "column"),
    [
        ("history", "popularity", "user_id"),
        ("history", "popularity", "item_id"),
        ("items", "money_precision", "item_id"),
        ("aspects", "alpha_ndcg", "item_id"),
        ("aspects", "alpha_ndcg", "user_id"),
        ("baseline", "unexpectedness", "user_id"),
        ("baseline", "unexpectedness", "item_id"),
        ("logs", "ctr", "user_id"),
        ("logs", "ctr", "item_id"),
    ],
)
def test_ids_of_different_types(table: str, metric: str, column: str) -> None:
    good = ASPECTS_OF_USERS if column == "user_id" and table == "aspects" else TABLES[table]
    position = good.column_names.index(column)
    bad = good.set_column(position, column, good[column].cast(pa.string()))
    with pytest.raises(sm.DataError) as caught:
        evaluate(metric, **{table: bad})
    for words in (f"recommendations and {table}", column, "BIGINT", "VARCHAR", f"CAST({column} AS"):
        assert words in str(caught.value)
    # the repair that the message proposes
    relation = duckdb.connect().from_arrow(bad)
    repaired = relation.project(f"* REPLACE (CAST({column} AS BIGINT) AS {column})")
    assert value(metric, **{table: repaired}) == pytest.approx(VALUES[metric], abs=1e-12)


def test_ids_of_two_further_tables_are_compared_too() -> None:
    other = HISTORY.set_column(1, "item_id", HISTORY["item_id"].cast(pa.string()))
    with pytest.raises(sm.DataError, match=r"history and items.*item_id"):
        evaluate("coverage", None, None, history=other, items=ITEMS)


@pytest.mark.parametrize(
    ("table", "metric", "column"),
    [
        ("history", "popularity", "item_id"),
        ("history", "popularity", "user_id"),
        ("items", "money_precision", "item_id"),
        ("aspects", "alpha_ndcg", "item_id"),
        ("aspects", "alpha_ndcg", "aspect"),
        ("baseline", "unexpectedness", "user_id"),
        ("baseline", "unexpectedness", "item_id"),
        ("logs", "ctr", "item_id"),
        ("logs", "ctr", "reward"),
    ],
)
def test_columns_that_a_table_cannot_do_without(table: str, metric: str, column: str) -> None:
    renamed = TABLES[table].rename_columns(
        [f"the_{name}" if name == column else name for name in TABLES[table].column_names]
    )
    with pytest.raises(sm.DataError) as caught:
        evaluate(metric, **{table: renamed})
    for words in (f"{table}: ", f"'{column}'", f"the_{column}", f"--column {table}.{column}="):
        assert words in str(caught.value)
    mapped = value(metric, **{table: renamed}, columns={f"{table}.{column}": f"the_{column}"})
    assert mapped == pytest.approx(VALUES[metric], abs=1e-12)


@pytest.mark.parametrize(
    ("table", "metric", "column"),
    [
        ("items", "money_precision", "price"),
        ("baseline", "unexpectedness", "rank"),
        ("logs", "ctr", "reward"),
        ("logs", "ips", "propensity"),
    ],
)
def test_numbers_in_text(table: str, metric: str, column: str) -> None:
    good = TABLES[table]
    bad = good.set_column(
        good.column_names.index(column), column, good[column].cast(pa.string())
    )
    with pytest.raises(sm.DataError) as caught:
        evaluate(metric, **{table: bad})
    for words in (f"{table}, column {column}: ", "VARCHAR", "not numbers", "--column"):
        assert words in str(caught.value)


def test_a_baseline_without_an_order() -> None:
    rows = BASELINE.drop_columns("rank")
    with pytest.raises(sm.DataError) as caught:
        evaluate("unexpectedness@1", baseline=rows)
    for words in ("baseline: ", "rank", "score", "--column baseline.rank="):
        assert words in str(caught.value)
    assert value("mrr", baseline=rows) == VALUES["mrr"]
    # the order of rows, if the user says so: 10 and 11 are first
    found = value("unexpectedness@1", baseline=rows, settings={"order": "row"})
    assert found == VALUES["unexpectedness@1"]


def test_a_score_that_orders_nothing_may_be_anything() -> None:
    """As in the recommendations: ranks give the order, so scores are not read."""
    both = BASELINE.append_column("score", pa.array([NAN, None, INF]))
    assert value("unexpectedness@1", baseline=both) == VALUES["unexpectedness@1"]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        # the baseline is 10 10 13: its first two items are 10 and 13, or 10 alone
        ("keep", 1 - 1 / 2),
        ("dedup_then_cut", 1 - 2 / 2),
        ("cut_then_dedup", 1 - 1 / 2),
    ],
)
def test_the_settings_that_the_message_on_repeats_names(setting: str, expected: float) -> None:
    baseline = pa.table({"user_id": [1, 1, 1], "item_id": [10, 10, 13], "rank": [1, 2, 3]})
    options = {"baseline": baseline, "settings": {"duplicate_recommendations": setting}}
    assert value("unexpectedness@2", recommendations={1: [10, 13]}, **options) == expected


@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.decimal128(9, 2), pa.uint64()])
def test_numbers_of_other_types(kind: pa.DataType) -> None:
    def cast(table: pa.Table, column: str) -> pa.Table:
        whole = [Decimal(int(number)) for number in table[column].to_pylist()]
        numbers = whole if pa.types.is_decimal(kind) else [int(number) for number in whole]
        return table.set_column(
            table.column_names.index(column), column, pa.array(numbers, kind)
        )

    assert value("money_precision", items=cast(ITEMS, "price")) == pytest.approx(
        VALUES["money_precision"], abs=1e-12
    )
    ones = LOGS.set_column(3, "propensity", pa.array([1.0] * 3))
    logs = cast(cast(ones, "reward"), "propensity")
    assert value("ips", logs=logs) == pytest.approx((1 + 0 + 1) / 4, abs=1e-12)
    assert value("unexpectedness@1", baseline=cast(BASELINE, "rank")) == 1 / 2
    assert value("unexpectedness@1", baseline=cast(BASELINE_SCORES, "score")) == 1 / 2


def test_rewards_that_are_true_or_false() -> None:
    logs = LOGS.set_column(2, "reward", pa.array([True, False, True]))
    assert value("ctr", logs=logs) == pytest.approx(2 / 3, abs=1e-15)


# ---------------------------------------------------------------- missing attributes, left out


@pytest.mark.parametrize("how", ["setting", "setting of the metric", "spec"])
@pytest.mark.parametrize(
    ("metric", "table", "some", "expected", "n_users"),
    [
        # without 11, the list of user 1 is worth 3, all of it wanted
        ("money_precision", "items", changed(ITEMS, "price", 1, None), (1 + 4 / 7) / 2, 2),
        ("money_precision", "items", without(ITEMS, 11), (1 + 4 / 7) / 2, 2),
        # without 10, what user 1 wants is worth nothing
        ("money_precision", "items", without(ITEMS, 10), (0 / 1 + 4 / 4) / 2, 2),
        ("money_recall", "items", changed(ITEMS, "price", 0, None), 4 / 4, 1),
        ("money_recall", "items", without(ITEMS, 10), 4 / 4, 1),
        # without 11, the list of user 1 has no pair
        (DIVERSITY, "items", changed(ITEMS, "features", 1, None), 1 - 1 / math.sqrt(2), 1),
        (DIVERSITY, "items", changed(ITEMS, "features", 1, []), 1 - 1 / math.sqrt(2), 1),
        (DIVERSITY, "items", without(ITEMS, 11), 1 - 1 / math.sqrt(2), 1),
        (BY_CATEGORY, "items", changed(ITEMS, "category", 1, None), 1 - 1 / math.sqrt(2), 1),
        (BY_CATEGORY, "items", changed(ITEMS, "category", 1, []), 1 - 1 / math.sqrt(2), 1),
        (BY_CATEGORY, "items", without(ITEMS, 11), 1 - 1 / math.sqrt(2), 1),
        # without 12, nothing that user 2 wants has an aspect
        ("alpha_ndcg", "aspects", without(ASPECTS, 12), 1.0, 1),
        ("alpha_ndcg", "aspects", changed(ASPECTS_OF_USERS, "user_id", 2, 1), 1.0, 1),
    ],
)  # fmt: skip
def test_items_without_the_attribute_left_out(
    metric: str, table: str, some: pa.Table, expected: float, n_users: int, how: str
) -> None:
    with pytest.raises(sm.DataError, match="missing_attributes=ignore"):
        evaluate(metric, **{table: some})
    name, _, params = metric.rstrip(")").partition("(")
    settings = {"missing_attributes": "ignore"}
    if how == "setting of the metric":
        settings = {f"{name}.missing_attributes": "ignore"}
    elif how == "spec":
        settings = {}
        metric = f"{name}({', '.join(filter(None, [params, 'missing_attributes=ignore']))})"
    row = evaluate(metric, **{table: some}, settings=settings).iloc[0]
    assert row["value"] == pytest.approx(expected, abs=1e-12)
    assert row["n_users"] == n_users


@pytest.mark.parametrize("metric", ["money_precision", "money_recall", DIVERSITY, BY_CATEGORY])
def test_items_that_nobody_is_shown_may_lack_anything(metric: str) -> None:
    nothing = {"item_id": 14, "price": None, "category": None, "features": None}
    found = value(metric, items=more(without(ITEMS, 13), nothing))
    assert found == pytest.approx(VALUES[metric], abs=1e-12)


def test_items_that_nobody_wants_may_lack_aspects() -> None:
    assert value("alpha_ndcg", aspects=without(ASPECTS, 11)) == pytest.approx(
        VALUES["alpha_ndcg"], abs=1e-12
    )


# ---------------------------------------------------------------- grades, keys, several columns

HIGH = pa.table({"user_id": [1, 2], "item_id": [10, 12], "relevance": [3, 1]})


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # p is 7/8 at rank 1, and 1/8 at rank 2 below an item that is not wanted
        ("err", (7 / 8 + 1 / 2 * 1 / 8) / 2),
        # p is 1 at rank 1, and 1/3 at rank 2, where 0.85 of all readers look
        ("pfound", (1 + 0.85 * 1 / 3) / 2),
    ],
)
def test_a_relevance_above_the_highest_grade(metric: str, expected: float) -> None:
    for grade in ("2", "2.5"):
        check_refused(
            lambda grade=grade: evaluate(f"{metric}(max_grade={grade})", interactions=HIGH),
            "interactions", "relevance", "1 rows lie above max_grade",
            {"user_id": 1, "item_id": 10, "relevance": 3.0}, "a larger max_grade",
        )  # fmt: skip
    for spec in (f"{metric}(max_grade=3)", metric):
        assert value(spec, interactions=HIGH) == pytest.approx(expected, abs=1e-12)
    settings = {"max_grade": 2}
    with pytest.raises(sm.DataError, match="max_grade"):
        evaluate(metric, interactions=HIGH, settings=settings)
    ideal = 3 + 0  # a metric without that setting has no highest grade
    found = evaluate("dcg(gain=linear)@1", interactions=HIGH, settings=settings)
    assert found["value"].item() == pytest.approx(ideal / 2, abs=1e-12)


def with_session(table: pa.Table, sessions: list[int] | None = None) -> pa.Table:
    return table.append_column("session", pa.array(sessions or [7] * table.num_rows))


@pytest.mark.parametrize(
    ("given", "absent"), [("user_id", "session"), ("session", "user_id")], ids=str
)
def test_aspects_with_some_of_several_keys(given: str, absent: str) -> None:
    tables = {"recommendations": with_session(RANKED), "interactions": with_session(TRUTH)}
    key = ["user_id", "session"]
    full = with_session(ASPECTS_OF_USERS)
    with pytest.raises(sm.DataError) as caught:
        evaluate("alpha_ndcg", **tables, key=key, aspects=full.drop_columns(absent))
    assert given in full.column_names
    for words in ("aspects: ", f"'{absent}'", f"--column aspects.{absent}="):
        assert words in str(caught.value)
    for repaired in (full, ASPECTS):  # all keys, or none
        found = value("alpha_ndcg", **tables, key=key, aspects=repaired)
        assert found == pytest.approx(VALUES["alpha_ndcg"], abs=1e-12)
    # aspects of another session are not this one's: user 2 is left with nothing
    other = with_session(ASPECTS_OF_USERS, [7, 7, 8])
    row = evaluate(
        "alpha_ndcg(missing_attributes=ignore)", **tables, key=key, aspects=other
    ).iloc[0]
    assert (row["value"], row["n_users"]) == (1, 1)


def test_aspects_with_the_column_of_another_key() -> None:
    """A column user_id that is not the key would be passed over in silence."""
    tables = {
        "recommendations": RANKED.rename_columns(["visitor", "item_id", "rank"]),
        "interactions": TRUTH.rename_columns(["visitor", "item_id"]),
    }
    for aspects in (ASPECTS_OF_USERS, {1: [{10}, {11}], 2: [{12}]}):
        with pytest.raises(sm.DataError, match=r"aspects: .*visitor.*--column aspects\.visitor="):
            evaluate("alpha_ndcg", **tables, key="visitor", aspects=aspects)
        mapped = value("alpha_ndcg", **tables, key="visitor", aspects=aspects,
                       columns={"aspects.visitor": "user_id"})  # fmt: skip
        assert mapped == pytest.approx(VALUES["alpha_ndcg"], abs=1e-12)


@pytest.mark.parametrize("columns", ["f1,f2", " f1 , F2 ", ["f1", "f2"], ("f1", "f2")], ids=str)
def test_features_from_several_columns(columns: Any) -> None:
    found = value(DIVERSITY, items=PLANE, columns={"items.features": columns})
    assert found == pytest.approx(VALUES[DIVERSITY], abs=1e-12)


def test_features_from_one_column_of_numbers() -> None:
    """A vector of one component: 1, 0 and 1; a zero vector has the cosine 0 with everything."""
    expected = (1 + 0) / 2
    named = PLANE.rename_columns(["item_id", "features", "f2"])
    for items, columns in ((PLANE, {"items.features": "f1"}), (named, {})):
        assert value(DIVERSITY, items=items, columns=columns) == pytest.approx(expected, abs=1e-12)


FEATURES_THAT_ARE_NONE: list[tuple[str, pa.Table, str, list[str]]] = [
    ("a column that is not there", PLANE, "f1,f3",
     ["items: ", "'f3'", "did you mean", "item_id, f1, f2", "--column items.features="]),
    ("an empty name", PLANE, "f1,", ["items: ", "''", "--column items.features="]),
    ("a column of lists", ITEMS, "price,features",
     ["items, column features: ", "features of the table given as items holds lists",
      "several columns of numbers"]),
    ("a column of text", PLANE.set_column(2, "f2", pa.array(list("abc"))), "f1,f2",
     ["items, column features", "f2", "VARCHAR", "not numbers"]),
    ("lists of text", PLANE.set_column(2, "f2", pa.array([["a"], ["b"], ["c"]])), "f2",
     ["items, column features", "f2", "VARCHAR[]", "not numbers"]),
    ("lists of lists", PLANE.set_column(2, "f2", pa.array([[[1]], [[2]], [[3]]])), "f2",
     ["items, column features", "f2", "BIGINT[][]", "not numbers"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("items", "columns", "words"),
    [pytest.param(*case[1:], id=case[0]) for case in FEATURES_THAT_ARE_NONE],
)
def test_features_that_are_none(items: pa.Table, columns: str, words: list[str]) -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate(DIVERSITY, items=items, columns={"items.features": columns})
    for word in words:
        assert word in str(caught.value)


def test_a_number_that_is_missing_in_one_of_several_columns() -> None:
    options = {"columns": {"items.features": "f1,f2"}}
    check_refused(
        lambda: evaluate(DIVERSITY, items=changed(PLANE, "f2", 1, None), **options),
        "items", "features", r"features \(f1, f2\): 1 numbers are NULL",
        {"item_id": 11, "dimension": 2, "value": "NULL"}, "fix these vectors",
    )  # fmt: skip


# ---------------------------------------------------------------- items in short forms

NAMED = {"recommendations": {"u": ["a", "b"]}, "interactions": {"u": ["a"]}}
BARE_ITEMS: dict[str, Any] = {
    "set": {10, 11, 12, 13},
    "frozenset": frozenset({10, 11, 12, 13}),
    "list": [10, 11, 12, 13],
    "tuple": (10, 11, 12, 13),
    "series": pd.Series([10, 11, 12, 13]),
    "series with an index": pd.Series([10, 11, 12, 13], index=list("abcd"), name="item"),
    "index": pd.Index([10, 11, 12, 13]),
    "polars": pl.Series([10, 11, 12, 13]),
    "arrow": pa.array([10, 11, 12, 13]),
    "column of an Arrow table": ITEMS["item_id"],
    "numpy": np.array([10, 11, 12, 13]),
    "numbers of NumPy": {np.int64(10), np.int64(11), np.int64(12), np.int64(13)},
    "table": ITEMS.select(["item_id"]),
}


@pytest.mark.parametrize("items", BARE_ITEMS.values(), ids=BARE_ITEMS)
def test_a_bare_catalogue(items: Any) -> None:
    settings = {"catalogue": "items"}
    assert value("coverage", items=items, settings=settings) == 3 / 4


def test_a_bare_catalogue_has_no_attributes() -> None:
    with pytest.raises(sm.MissingTableError, match=r"money_precision.*column price.*items"):
        evaluate("money_precision", items={10, 11, 12})


@pytest.mark.parametrize(
    "items",
    [{"a", "b", "c"}, pd.Series(["a", "b", "c"]), np.array(["a", "b", "c"]), pa.array(list("abc"))],
    ids=["set", "series", "numpy", "arrow"],
)
def test_a_bare_catalogue_of_texts(items: Any) -> None:
    assert value("coverage(catalogue=items)", **NAMED, items=items) == 2 / 3


def test_a_list_of_texts_is_a_list_of_files() -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("coverage(catalogue=items)", **NAMED, items=["a", "b", "c"])
    for words in ("items: ", "no file a", "ids", "set"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (set(), ["empty"]),
        ([], ["empty"]),
        (pd.Series([], dtype="int64"), ["empty"]),
        (pa.array([], pa.int64()), ["empty"]),
        ([10, "a"], ["item_id", "different types", "'a'"]),
        ({10, None}, ["item_id", "NULL"]),
        (np.array([[10, 11], [12, 13]]), ["list"]),
        ({"10", "11"}, ["item_id", "BIGINT", "VARCHAR"]),
    ],
    ids=["set", "list", "series", "arrow", "mixed", "NULL", "two dimensions", "texts"],
)
def test_a_bare_catalogue_that_is_none(items: Any, words: list[str]) -> None:
    with pytest.raises(sm.SqlmetricsError) as caught:
        evaluate("coverage(catalogue=items)", items=items)
    for word in ("items", *words):
        assert word in str(caught.value)


# ---------------------------------------------------------------- aspects as a dict


@pytest.mark.parametrize(
    "aspects",
    [
        {1: [{10}, {11}], 2: [{12}]},
        {1: [[10], [11]], 2: [[12, 12]]},
        {1: ({10}, (11,)), 2: (frozenset({12}),)},
        {1: [np.array([10])], 2: [pd.Series([12]), []]},
        {1: [{10, 12}], 2: [{12}], 9: [{10}]},
    ],
    ids=["sets", "lists", "tuples", "arrays", "more than is wanted"],
)
def test_aspects_as_a_dict(aspects: Any) -> None:
    assert value("alpha_ndcg", aspects=aspects) == pytest.approx(VALUES["alpha_ndcg"], abs=1e-12)


def test_aspects_as_a_dict_are_those_of_the_user() -> None:
    """User 1 wants 10 (aspects 1 and 2) and 11 (aspect 1): first 10 for 2, then 11 for 1/2."""
    found = value(
        "alpha_ndcg", recommendations={1: [11, 10]}, interactions={1: [10, 11]},
        aspects={1: [{10, 11}, {10}], 2: [{11}, {11}]},
    )  # fmt: skip
    second = 1 / math.log2(3)
    assert found == pytest.approx((1 + (1 / 2 + 1) * second) / (2 + 1 / 2 * second), abs=1e-12)


@pytest.mark.parametrize(
    ("aspects", "words"),
    [
        ({1: "abc"}, ["user 1", "'abc'", "the items of each aspect"]),
        ({1: b"abc"}, ["user 1", "b'abc'"]),
        ({1: 5}, ["user 1", "5"]),
        ({1: None}, ["user 1", "None"]),
        ({1: {10: "x"}}, ["user 1", "{10: 'x'}"]),
        ({1: [10, 11]}, ["user 1", "aspect 1", "10", "set of items"]),
        ({1: {10, 11}}, ["user 1", "aspect 1", "set of items"]),
        ({1: ["x", "y"]}, ["user 1", "aspect 1", "'x'", "set of items"]),
        ({1: [{10}, {11: 1}]}, ["user 1", "aspect 2", "{11: 1}"]),
        ({}, ["empty"]),
        ({1: []}, ["empty"]),
        ({1: [set()]}, ["empty"]),
        ({1: [{10}], 2: [{"a"}]}, ["item_id", "different types", "'a'"]),
        ({1: [{10}], "b": [{12}]}, ["user_id", "different types", "'b'"]),
        ({1: [[10, None]], 2: [{12}]}, ["NULL", "What to do"]),
        ({"1": [{"10"}]}, ["recommendations and aspects", "BIGINT", "VARCHAR"]),
    ],
)
def test_aspects_in_a_wrong_shape(aspects: Any, words: list[str]) -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("alpha_ndcg", aspects=aspects)
    for word in ("aspects", *words):
        assert word in str(caught.value)


# ---------------------------------------------------------------- models, and one as the baseline

POPULAR = {1: [10, 13], 2: [11]}  # the lists of BASELINE
ALS = {1: [10, 11], 2: [10, 12]}  # those of RANKED


@pytest.mark.parametrize(
    "models",
    [
        {"a": {1: [10, 11], 2: [12]}, "b": {1: [11, 10]}},
        {"a": {1: (10, 11), 2: (12,)}, "b": {1: [11, 10], 2: []}},
        {"a": {1: {10: 2.0, 11: 1.0}, 2: {12: 0.5}}, "b": {1: {11: 0.2, 10: 0.1}}},
        {"a": {1: np.array([10, 11]), 2: np.array([12])}, "b": {1: np.array([11, 10])}},
        {"a": {1: pd.Series([10, 11]), 2: pd.Series([12])}, "b": {1: pd.Series([11, 10])}},
    ],
    ids=["lists", "tuples", "scores", "arrays", "series"],
)
def test_models_as_dicts_of_dicts(models: Any) -> None:
    result = evaluate(["mrr", "coverage"], models, history=HISTORY)
    values = result.set_index(["model", "metric"])["value"].to_dict()
    assert values == {
        ("a", "mrr"): (1 + 1) / 2,
        ("a", "coverage"): 3 / 4,
        ("b", "mrr"): (1 / 2 + 0) / 2,
        ("b", "coverage"): 2 / 4,
    }


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ({"a": {"u": ["x", "y"]}, "b": {"u": ["y", "x"]}}, {"a": 1, "b": 1 / 2}),
        ({"a": {"u": ["x", "y"]}}, {"a": 1}),
        ({"a": {"u": {"x": 1.0, "y": 2.0}}}, {"a": 1 / 2}),
    ],
    ids=["two", "one", "scores"],
)
def test_models_as_dicts_of_dicts_with_texts(models: Any, expected: dict[str, float]) -> None:
    result = evaluate("mrr", models, {"u": ["x"]})
    assert result.set_index("model")["value"].to_dict() == expected


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("empty", [{}, {"u": []}], ids=["no user", "no item"])
def test_a_model_without_lists(empty: Any, first: bool) -> None:
    models = {"als": empty, "knn": {"u": ["x"]}} if first else {"knn": {"u": ["x"]}, "als": empty}
    with pytest.raises(sm.DataError) as caught:
        evaluate("mrr", models, {"u": ["x"]})
    for words in ("recommendations", "als", "empty"):
        assert words in str(caught.value)


@pytest.mark.parametrize("kind", ["dicts", "tables", "scores"])
def test_one_of_the_models_is_the_baseline(kind: str) -> None:
    models: dict[str, Any] = {"als": ALS, "popular": POPULAR}
    if kind == "tables":
        models = {"als": RANKED, "popular": BASELINE}
    elif kind == "scores":
        models = {"als": SCORED.drop_columns("rank"), "popular": BASELINE_SCORES}
    result = evaluate(["unexpectedness", "mrr(audience=baseline)"], models, baseline="popular", k=2)
    values = result.set_index(["model", "metric"])["value"].to_dict()
    assert values == {
        ("als", "unexpectedness"): ((1 - 1 / 2) + 1) / 2,
        ("als", "mrr(audience=baseline)"): (1 + 1 / 2) / 2,
        ("popular", "unexpectedness"): 0,
        ("popular", "mrr(audience=baseline)"): (1 + 0) / 2,
    }
    assert result["n_users"].tolist() == [2] * 4


def test_a_model_that_is_the_baseline_and_lacks_a_user() -> None:
    models = {"als": ALS, "popular": {1: [10, 13]}}
    with sm.Evaluator(models, TRUTH, baseline="popular") as evaluator:
        frame = evaluator.per_user(["unexpectedness", "unexpectedness(audience=baseline)"])
    values = frame.set_index(["model", "user_id"])
    assert values["unexpectedness"].dropna().to_dict() == {
        ("als", 1): 1 / 2, ("als", 2): 1, ("popular", 1): 0}  # fmt: skip
    only = values["unexpectedness(audience=baseline)"].dropna().to_dict()
    assert only == {("als", 1): 1 / 2, ("popular", 1): 0}


def test_one_of_the_models_of_a_column_is_the_baseline() -> None:
    rows = [
        table.append_column("model", pa.array([name] * table.num_rows))
        for name, table in (("als", RANKED), ("popular", BASELINE))
    ]
    result = evaluate("unexpectedness", pa.concat_tables(rows), baseline="popular")
    assert result.set_index("model")["value"].to_dict() == {"als": 3 / 4, "popular": 0}


def test_a_baseline_that_is_none_of_the_models() -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("unexpectedness", {"als": ALS, "popular": POPULAR}, baseline="populr")
    for words in ("baseline", "populr", "did you mean", "'popular'"):
        assert words in str(caught.value)


# ---------------------------------------------------------------- all

CATALOG = Catalog.load()
EVERYTHING = {"recommendations": SCORED, "interactions": GRADED, **TABLES}


def test_all_is_every_metric_once() -> None:
    result = evaluate("all", **EVERYTHING)
    assert result["metric"].tolist() == list(CATALOG.metrics)
    assert result["k"].isna().all()
    assert result["value"].notna().all()
    values = result.set_index("metric")["value"]
    for metric in ("mrr", "coverage", "popularity", "surprisal", "money_precision", "ctr", "ips",
                   "alpha_ndcg", "unexpectedness", DIVERSITY):  # fmt: skip
        assert values[metric] == pytest.approx(VALUES[metric], abs=1e-12)


def test_all_per_user_is_every_metric_that_has_such_values() -> None:
    with sm.Evaluator(**EVERYTHING) as evaluator:
        frame = evaluator.per_user("all@2")
    of_users = [metric.name for metric in CATALOG.metrics.values() if metric.grain == "user"]
    assert list(frame.columns) == ["user_id", "k", *of_users]
    assert 0 < len(of_users) < len(CATALOG.metrics)
    assert frame["k"].tolist() == [2, 2]
    assert frame.notna().all(axis=None)


def test_all_at_a_cutoff() -> None:
    with sm.Evaluator(**EVERYTHING) as evaluator:
        at_ten = evaluator.evaluate("all@10")
        assert at_ten["metric"].tolist() == list(CATALOG.metrics)
        assert set(at_ten["k"]) == {10}
        pd.testing.assert_frame_equal(at_ten, evaluator.evaluate("all", k=10))
        several = evaluator.evaluate(["mrr@2", "all@1", "all"], k=[1, 2])
    pairs = list(several[["metric", "k"]].itertuples(index=False, name=None))
    assert pairs[0] == ("mrr", 2)
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == {(metric, k) for metric in CATALOG.metrics for k in (1, 2)}


@pytest.mark.parametrize("spec", ["all(divisor=k)", "all(divisor=k)@10", "all(audience=both)"])
@pytest.mark.parametrize("way", ["evaluate", "per_user", "sql"])
def test_all_takes_no_parameters(spec: str, way: str) -> None:
    with sm.Evaluator(**EVERYTHING) as evaluator, pytest.raises(sm.UsageError) as caught:
        getattr(evaluator, way)(spec)
    assert spec in str(caught.value)
    assert "--set NAME=VALUE" in str(caught.value)


def test_settings_reach_all() -> None:
    settings = {"audience": "both", "map.divisor": "k"}
    lists = {1: [10, 11], 2: [10, 12]}
    truth = {1: [10], 2: [12], 3: [10]}
    result = evaluate(["all"], lists, truth, settings=settings, **{"k": 2, **_without("logs")})
    users = result.set_index("metric")["n_users"]
    assert users["map"] == 2
    assert result.set_index("metric")["value"]["map"] == (1 / 1 / 2 + 1 / 2 / 2) / 2


# ---------------------------------------------------------------- what was not given

