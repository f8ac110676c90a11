"""The further tables (history, items, aspects, baseline, logs): what is refused at the door, and
the calls that came with them: all, skip_missing, aggregate, tables in short forms.

Expected values are worked out by hand beside the tables.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist, mean, stdev
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.metrics.catalog import Catalog
from tests.support.processes import without_check

Evaluator = functools.partial(sm.Evaluator, threads=1)  # the tables are tiny
NAN, INF = math.nan, math.inf

RANKED = pa.table({"user_id": [1, 1, 2, 2], "item_id": [10, 11, 10, 12], "rank": [1, 2, 1, 2]})
SCORED = RANKED.append_column("score", pa.array([4.0, 3.0, 2.0, 1.0]))
TRUTH = pa.table({"user_id": [1, 2], "item_id": [10, 12]})
GRADED = pa.table({"user_id": [1, 1, 2, 2], "item_id": [10, 11, 10, 12], "relevance": [2, 0, 0, 1]})
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
TABLES = {
    "history": HISTORY,
    "items": ITEMS,
    "aspects": ASPECTS,
    "baseline": BASELINE,
    "logs": LOGS,
}

# user 1 hits at rank 1, user 2 at rank 2
VALUES = {
    "mrr": (1 + 1 / 2) / 2,
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
READERS = ["popularity", "money_precision", BY_CATEGORY, "alpha_ndcg", "unexpectedness", "ips"]
READ = pytest.approx([VALUES[metric] for metric in READERS], abs=1e-12)
CATALOG = Catalog.load()
EVERYTHING = {"recommendations": SCORED, "interactions": GRADED, **TABLES}


@pytest.fixture(scope="module")
def everything() -> Iterator[sm.Evaluator]:
    """All tables, with all their columns."""
    with Evaluator(**EVERYTHING) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def smallest() -> Iterator[sm.Evaluator]:
    """Ranks and a truth without relevance, nothing else."""
    with Evaluator(RANKED, TRUTH) as evaluator:
        yield evaluator


def evaluate(
    metrics: Any, recommendations: Any = RANKED, interactions: Any = TRUTH, **options: Any
) -> pd.DataFrame:
    call = {name: options.pop(name) for name in ("k", "confidence") if name in options}
    with Evaluator(recommendations, interactions, **options) as evaluator:
        return evaluator.evaluate(metrics, **call)


def value(metric: str, **options: Any) -> float:
    return float(evaluate(metric, **options)["value"].item())


def close(expected: Any) -> Any:
    return pytest.approx(expected, abs=1e-12)


def changed(table: pa.Table, column: str, row: int, new: Any) -> pa.Table:
    """Put another value into one cell; NaN stays NaN."""
    values = table[column].to_pylist()
    values[row] = new
    kept = table[column].type if isinstance(new, float | None) else None
    return table.set_column(table.column_names.index(column), column, pa.array(values, kept))


def more(table: pa.Table, *rows: Mapping[str, Any]) -> pa.Table:
    return pa.concat_tables([table, pa.Table.from_pylist(list(rows), table.schema)])


def without(table: pa.Table, item: int) -> pa.Table:
    return table.filter(pc.not_equal(table["item_id"], item))


# ---------------------------------------------------------------- the rules at the door


class Rule(NamedTuple):
    """A table that breaks a rule. The message names `table` and `column`, and says `found`, with
    `row` among its examples and `remedy` as what to do; `elsewhere` is a metric that reads the
    table, but not what is wrong with it.
    """

    name: str
    metric: str
    table: str
    bad: pa.Table
    column: str
    found: str
    row: Mapping[str, Any]
    remedy: str
    elsewhere: str = ""


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
             "user_id", "NULL", {"user_id": "NULL", "item_id": 11, "aspect": "y"}, remove),
        Rule("user", "unexpectedness", "baseline", changed(BASELINE, "user_id", 1, None), "user_id",
             some, {"user_id": "NULL", "item_id": 13}, remove),
        Rule("item", "unexpectedness", "baseline", changed(BASELINE, "item_id", 1, None), "item_id",
             some, {"user_id": 1, "item_id": "NULL"}, remove),
        Rule("user", "ctr", "logs", changed(LOGS, "user_id", 1, None), "user_id", some,
             {"user_id": "NULL", "item_id": 11}, remove),
        Rule("item", "ips", "logs", changed(LOGS, "item_id", 1, None), "item_id", some,
             {"user_id": 1, "item_id": "NULL"}, remove),
    ]  # fmt: skip
    for metric in ("money_precision", DIVERSITY, BY_CATEGORY):
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
        for metric in ("money_recall", DIVERSITY, BY_CATEGORY)
    ]  # fmt: skip
    rules += [
        Rule(f"price {price}", metric, "items", changed(ITEMS, "price", 1, price), "price",
             "negative, NaN or infinite", {"item_id": 11, "price": price}, ignore, DIVERSITY)
        for metric, price in (("money_precision", -1.0), ("money_precision", NAN),
                              ("money_precision", INF), ("money_recall", NAN))
    ]  # fmt: skip
    whole = ITEMS.set_column(1, "price", pa.array([3, 1, 4, 8]))
    exact = ITEMS.set_column(1, "price", pa.array([Decimal("3.00"), None, Decimal(4), None]))
    rules += [
        Rule("whole price", "money_precision", "items", changed(whole, "price", 1, -1), "price",
             "negative", {"item_id": 11, "price": -1}, ignore, BY_CATEGORY),
        Rule("exact price", "money_precision", "items",
             changed(exact, "price", 1, Decimal("-0.01")), "price", "negative",
             {"item_id": 11, "price": "-0.01"}, ignore, BY_CATEGORY),
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
        for number in (None, NAN, INF)
    ]  # fmt: skip
    fewer = without(ITEMS, 11)
    rules += [
        Rule("no price", "money_precision", "items", changed(ITEMS, "price", 1, None), "price",
             "1 recommended items have no price", {"item_id": 11}, ignore, DIVERSITY),
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
             changed(ASPECTS_OF_USERS, "user_id", 2, 1), "aspect",
             "1 relevant items have no aspect", {"user_id": 2, "item_id": 12}, ignore),
    ]  # fmt: skip
    return rules


def _baseline() -> list[Rule]:
    rules = [
        Rule("item twice", "unexpectedness", "baseline", changed(BASELINE, "item_id", 1, 10),
             "item_id", "1 items are repeated", {"user_id": 1, "item_id": 10, "n_copies": 2},
             "duplicate_recommendations=keep | count_once | join"),
        Rule("rank twice", "unexpectedness", "baseline", changed(BASELINE, "rank", 1, 1), "rank",
             "1 ranks are given to more than one item", {"user_id": 1, "rank": 1, "n_items": 2},
             "give each its own rank"),
        Rule("gap", "unexpectedness", "baseline", changed(BASELINE, "rank", 1, 3), "rank",
             "1 lists have gaps in their ranks", {"user_id": 1, "n_items": 2, "last_rank": 3},
             "rank_gaps=close"),
        # the list may start at 0, as a list of recommendations may
        Rule("rank from 0", "unexpectedness", "baseline", changed(BASELINE, "rank", 0, 0), "rank",
             "1 rows have a rank", {"user_id": 1, "item_id": 10, "rank": 0}, "rank_gaps=close"),
    ]  # fmt: skip
    fractions = BASELINE.set_column(2, "rank", pa.array([1.0, 2.0, 1.0]))
    tables = {"rank": BASELINE, "fraction": fractions, "score": BASELINE_SCORES}
    cases = [("rank", -1), ("rank", None), ("fraction", NAN), ("fraction", 1.5),
             ("score", None), ("score", NAN), ("score", INF)]  # fmt: skip
    for kind, number in cases:
        column = "score" if kind == "score" else "rank"
        bad = changed(tables[kind], column, 1, number)
        row = {"user_id": 1, "item_id": 13, column: "NULL" if number is None else number}
        rules.append(
            Rule(f"{column} {number}", "unexpectedness", "baseline", bad, column,
                 f"1 rows have a .*{column}", row, "remove or fix these rows")
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
        for metric, reward in (("ctr", None), ("ctr", NAN), ("ips", INF))
    ]  # fmt: skip
    rules += [
        Rule(f"propensity {share}", metric, "logs", changed(LOGS, "propensity", 1, share),
             "propensity", "1 propensities are NULL, NaN, 0 or less.*or above 1",
             {"user_id": 1, "item_id": 11, "propensity": "NULL" if share is None else share},
             "above 0 and at most 1")
        for metric, share in (("ips", None), ("ips", NAN), ("ips", 0.0), ("ips", -0.25),
                              ("ips(divisor=weights)", 1.5))
    ]  # fmt: skip
    return rules


RULES = [*_null_ids(), *_items(), *_baseline(), *_logs()]


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


@pytest.mark.parametrize(
    "rule", [pytest.param(rule, id=f"{rule.table}: {rule.name}, {rule.metric}") for rule in RULES]
)
def test_what_breaks_a_rule_is_refused(rule: Rule) -> None:
    """By the metrics that read it, and by no other."""
    with Evaluator(RANKED, TRUTH, **{rule.table: rule.bad}) as evaluator:
        check_refused(
            lambda: evaluator.evaluate(rule.metric),
            rule.table, rule.column, rule.found, rule.row, rule.remedy,
        )  # fmt: skip
        if rule.elsewhere:
            found = evaluator.evaluate(rule.elsewhere)["value"].item()
            assert found == close(VALUES[rule.elsewhere])


# one bad table for each rule, and tables that break different rules side by side
EACH_RULE = {(rule.table, rule.column, rule.found): rule for rule in RULES}.values()
BESIDE = itertools.zip_longest(
    *([rule for rule in EACH_RULE if rule.table == table] for table in TABLES)
)


@pytest.mark.parametrize("rules", list(BESIDE))
def test_metrics_that_read_no_further_table(rules: tuple[Rule | None, ...]) -> None:
    bad = {rule.table: rule.bad for rule in rules if rule is not None}
    assert value("mrr", **bad) == VALUES["mrr"]


@pytest.mark.parametrize(
    "others",
    [{}, {"aspects": ASPECTS_OF_USERS, "baseline": BASELINE_SCORES}],
    ids=["", "with users and scores"],
)
def test_repaired_tables_work(others: Mapping[str, pa.Table]) -> None:
    assert {rule.metric for rule in RULES} <= set(VALUES)
    result = evaluate(list(VALUES), **{**TABLES, **others})
    assert result["value"].tolist() == close(list(VALUES.values()))


def test_every_way_in_is_checked(tmp_path: Path) -> None:
    bad = changed(ITEMS, "price", 1, -1.0)
    with Evaluator(RANKED, TRUTH, items=bad) as evaluator:
        for call in (
            lambda: evaluator.evaluate("money_precision"),
            lambda: evaluator.per_user("money_precision"),
            lambda: evaluator.write_parquet(tmp_path / "a.parquet", "money_precision"),
            lambda: evaluator.stage("item_prices"),
            lambda: evaluator.evaluate("money_recall"),
        ):
            with pytest.raises(sm.DataError, match="items, column price"):
                call()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("metric", "table", "bad", "expected"),
    [
        ("popularity", "history", changed(HISTORY, "item_id", 4, None), VALUES["popularity"]),
        ("money_recall", "items", changed(ITEMS, "price", 3, -1.0), 1.0),
        ("unexpectedness@1", "baseline", changed(BASELINE, "rank", 0, -1), 1 / 2),
        ("ips", "logs", changed(LOGS, "propensity", 1, 1.5), VALUES["ips"]),  # its reward is 0
    ],
)
def test_trust_input_skips_the_rules(
    metric: str, table: str, bad: pa.Table, expected: float
) -> None:
    assert value(metric, **{table: bad}, trust_input=True) == close(expected)


def test_no_more_than_a_few_rows_are_shown() -> None:
    bad = pa.table({"item_id": list(range(100)), "price": [-1.0] * 100})
    with pytest.raises(sm.DataError, match="100 prices") as caught:
        evaluate("money_precision", items=bad)
    assert str(caught.value).count("\n") <= 8


# ---------------------------------------------------------------- empty tables, types, columns


@pytest.mark.parametrize(
    ("table", "metric"),
    [
        ("history", "popularity"),
        ("history", "coverage"),
        ("items", "money_precision"),
        ("items", "money_recall(missing_attributes=ignore)"),
        ("items", DIVERSITY),
        ("items", f"{DIVERSITY}(missing_attributes=ignore)"),
        ("items", BY_CATEGORY),
        ("items", "coverage(catalogue=items)"),
        ("aspects", "alpha_ndcg"),
        ("aspects", "alpha_ndcg(missing_attributes=ignore)"),
        ("baseline", "unexpectedness"),
        ("logs", "ctr"),
        ("logs", "ips"),
    ],
)
def test_empty_tables(table: str, metric: str) -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate(metric, **{table: TABLES[table].slice(0, 0)})
    for words in (f"{table}: ", "empty", f"--{table} FILE"):
        assert words in str(caught.value)


def test_empty_tables_that_are_not_read() -> None:
    empty = {name: table.slice(0, 0) for name, table in TABLES.items()}
    assert value("mrr", **empty) == VALUES["mrr"]


def as_text(table: pa.Table, column: str) -> pa.Table:
    return table.set_column(
        table.column_names.index(column), column, table[column].cast(pa.string())
    )


IDS = [
    (table, column)
    for table in TABLES
    for column in ("user_id", "item_id")
    if (table, column) != ("items", "user_id")
]


@pytest.mark.parametrize(("table", "column"), IDS)
def test_ids_of_different_types(table: str, column: str) -> None:
    given = {**TABLES, "aspects": ASPECTS_OF_USERS}[table]
    with pytest.raises(sm.DataError) as caught:
        evaluate("mrr", **{table: as_text(given, column)})
    for words in (f"recommendations and {table}", column, "BIGINT", "VARCHAR", f"CAST({column} AS"):
        assert words in str(caught.value)


def test_ids_written_again_as_the_message_proposes() -> None:
    given = {**TABLES, "aspects": ASPECTS_OF_USERS}
    cast = "CAST({0} AS BIGINT) AS {0}"
    repaired = {}
    connection = duckdb.connect()
    for name, table in given.items():
        columns = [column for other, column in IDS if other == name]
        for column in columns:
            table = as_text(table, column)
        casts = ", ".join(map(cast.format, columns))
        repaired[name] = connection.from_arrow(table).project(f"* REPLACE ({casts})")
    assert evaluate(READERS, **repaired)["value"].tolist() == READ


def test_ids_of_two_further_tables_are_compared_too() -> None:
    other = HISTORY.set_column(1, "item_id", HISTORY["item_id"].cast(pa.string()))
    with pytest.raises(sm.DataError, match=r"history and items.*item_id"):
        evaluate("coverage", None, None, history=other, items=ITEMS)


def renamed(table: pa.Table, *columns: str) -> pa.Table:
    names = [f"the_{name}" if name in columns else name for name in table.column_names]
    return table.rename_columns(names)


REQUIRED = [*(pair for pair in IDS if pair != ("aspects", "user_id")),
            ("aspects", "aspect"), ("logs", "reward")]  # fmt: skip


@pytest.mark.parametrize(("table", "column"), REQUIRED)
def test_columns_that_a_table_cannot_do_without(table: str, column: str) -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("mrr", **{table: renamed(TABLES[table], column)})
    for words in (f"{table}: ", f"'{column}'", f"the_{column}", f"--column {table}.{column}="):
        assert words in str(caught.value)


def test_columns_named_as_the_message_proposes() -> None:
    names = {(name, column) for name, table in TABLES.items() for column in table.column_names}
    given = {name: renamed(table, *table.column_names) for name, table in TABLES.items()}
    columns = {f"{table}.{column}": f"the_{column}" for table, column in names}
    assert evaluate(READERS, **given, columns=columns)["value"].tolist() == READ


@pytest.mark.parametrize(
    ("table", "column"),
    [("items", "price"), ("baseline", "rank"), ("logs", "reward"), ("logs", "propensity")],
)
def test_numbers_in_text(table: str, column: str) -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("mrr", **{table: as_text(TABLES[table], column)})
    for words in (f"{table}, column {column}: ", "VARCHAR", "not numbers", "--column"):
        assert words in str(caught.value)


def test_a_baseline_without_an_order() -> None:
    rows = BASELINE.drop_columns("rank")
    with pytest.raises(sm.DataError) as caught:
        evaluate("unexpectedness@1", baseline=rows)
    for words in ("baseline: ", "rank", "score", "--column baseline.rank="):
        assert words in str(caught.value)
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


@pytest.mark.parametrize("ranks", [[0, 1, 0], [1, 3, 2], [5, 9, 1]], ids=str)
def test_the_setting_that_the_message_on_gaps_names(ranks: list[int]) -> None:
    baseline = BASELINE.set_column(2, "rank", pa.array(ranks))
    options = {"baseline": baseline, "settings": {"rank_gaps": "close"}}
    assert value("unexpectedness@1", **options) == VALUES["unexpectedness@1"]


@pytest.mark.parametrize("score", [None, NAN, INF], ids=str)
def test_scores_that_predict_no_reward(score: float | None) -> None:
    """Ranks give the order of the lists, and the score is what doubly_robust expects."""
    with Evaluator(changed(SCORED, "score", 1, score), TRUTH, logs=LOGS) as evaluator:
        check_refused(
            lambda: evaluator.evaluate("doubly_robust"), "recommendations", "score", "1 scores",
            {"user_id": 1, "item_id": 11, "score": "NULL" if score is None else score},
            "remove or fix these rows",
        )  # fmt: skip
        assert evaluator.evaluate("ips")["value"].item() == close(VALUES["ips"])


@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.decimal128(9, 2)], ids=str)
@pytest.mark.thorough
def test_numbers_of_other_types(kind: pa.DataType) -> None:
    def cast(table: pa.Table, column: str) -> pa.Table:
        numbers = [Decimal(int(number)) for number in table[column].to_pylist()]
        values = numbers if pa.types.is_decimal(kind) else map(int, numbers)
        position = table.column_names.index(column)
        return table.set_column(position, column, pa.array(list(values), kind))

    logs = cast(LOGS.set_column(3, "propensity", pa.array([1.0] * 3)), "propensity")
    tables = {"items": cast(ITEMS, "price"), "logs": cast(logs, "reward")}
    metrics = ["money_precision", "unexpectedness@1", "ips"]
    expected = close([VALUES["money_precision"], VALUES["unexpectedness@1"], (1 + 0 + 1) / 4])
    assert (
        evaluate(metrics, **tables, baseline=cast(BASELINE, "rank"))["value"].tolist() == expected
    )
    scores = cast(BASELINE_SCORES, "score")
    assert value("unexpectedness@1", baseline=scores) == VALUES["unexpectedness@1"]


def test_rewards_that_are_true_or_false() -> None:
    logs = LOGS.set_column(2, "reward", pa.array([True, False, True]))
    assert value("ctr", logs=logs) == pytest.approx(2 / 3, abs=1e-15)


# ---------------------------------------------------------------- missing attributes, left out


@pytest.mark.parametrize(
    ("metric", "table", "some", "expected", "n_users"),
    [
        # without 11, the list of user 1 is worth 3, all of it wanted
        ("money_precision", "items", changed(ITEMS, "price", 1, None), (1 + 4 / 7) / 2, 2),
        # without 10, what user 1 wants is worth nothing
        ("money_precision", "items", without(ITEMS, 10), (0 / 1 + 4 / 4) / 2, 2),
        ("money_recall", "items", changed(ITEMS, "price", 0, None), 4 / 4, 1),
        ("money_recall", "items", without(ITEMS, 10), 4 / 4, 1),
        # without 11, the list of user 1 has no pair
        (DIVERSITY, "items", changed(ITEMS, "features", 1, None), 1 - 1 / math.sqrt(2), 1),
        (DIVERSITY, "items", changed(ITEMS, "features", 1, []), 1 - 1 / math.sqrt(2), 1),
        (DIVERSITY, "items", without(ITEMS, 11), 1 - 1 / math.sqrt(2), 1),
        (BY_CATEGORY, "items", changed(ITEMS, "category", 1, []), 1 - 1 / math.sqrt(2), 1),
        (BY_CATEGORY, "items", without(ITEMS, 11), 1 - 1 / math.sqrt(2), 1),
        # without 12, nothing that user 2 wants has an aspect
        ("alpha_ndcg", "aspects", without(ASPECTS, 12), 1.0, 1),
        ("alpha_ndcg", "aspects", changed(ASPECTS_OF_USERS, "user_id", 2, 1), 1.0, 1),
    ],
)
def test_items_without_the_attribute_are_left_out(
    metric: str, table: str, some: pa.Table, expected: float, n_users: int
) -> None:
    settings = {"missing_attributes": "ignore"}
    row = evaluate(metric, **{table: some}, settings=settings).iloc[0]
    assert row["value"] == close(expected)
    assert row["n_users"] == n_users


def test_items_are_left_out_of_the_metric_that_says_so() -> None:
    some = changed(changed(ITEMS, "price", 1, None), "features", 1, None)
    options = {"items": some, "settings": {"money_precision.missing_attributes": "ignore"}}
    spec = f"{DIVERSITY}(missing_attributes=ignore)"
    expected = [(1 + 4 / 7) / 2, 1 - 1 / math.sqrt(2)]
    assert evaluate(["money_precision", spec], **options)["value"].tolist() == close(expected)
    with pytest.raises(sm.DataError, match=r"items, column features.*\n.*\n +11\n"):
        evaluate(["money_precision", DIVERSITY], **options)


def test_items_that_nobody_is_shown_may_lack_anything() -> None:
    nothing = {"item_id": 14, "price": None, "category": None, "features": None}
    metrics = ["money_precision", "money_recall", DIVERSITY, BY_CATEGORY, "alpha_ndcg"]
    items, aspects = more(without(ITEMS, 13), nothing), without(ASPECTS, 11)
    result = evaluate(metrics, items=items, aspects=aspects)
    assert result["value"].tolist() == close([VALUES[metric] for metric in metrics])


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
    with Evaluator(RANKED, HIGH) as evaluator:
        for grade in ("2", "2.5"):
            check_refused(
                lambda grade=grade: evaluator.evaluate(f"{metric}(max_grade={grade})"),
                "interactions", "relevance", "1 rows lie above max_grade",
                {"user_id": 1, "item_id": 10, "relevance": 3.0}, "a larger max_grade",
            )  # fmt: skip
        found = evaluator.evaluate([f"{metric}(max_grade=3)", metric])
        assert found["value"].tolist() == close([expected] * 2)
    with Evaluator(RANKED, HIGH, settings={"max_grade": 2}) as evaluator:
        with pytest.raises(sm.DataError, match="max_grade"):
            evaluator.evaluate(metric)
        # a metric without that setting has no highest grade
        assert evaluator.evaluate("dcg(gain=linear)@1")["value"].item() == close((3 + 0) / 2)


def with_session(table: pa.Table, sessions: list[int] | None = None) -> pa.Table:
    return table.append_column("session", pa.array(sessions or [7] * table.num_rows))


def test_aspects_with_some_of_several_keys() -> None:
    tables = {
        "recommendations": with_session(RANKED), "interactions": with_session(TRUTH),
        "key": ["user_id", "session"],
    }  # fmt: skip
    full = with_session(ASPECTS_OF_USERS)
    for absent in ("session", "user_id"):
        with pytest.raises(sm.DataError) as caught:
            evaluate("alpha_ndcg", **tables, aspects=full.drop_columns(absent))
        for words in ("aspects: ", f"'{absent}'", f"--column aspects.{absent}="):
            assert words in str(caught.value)
    for repaired in (full, ASPECTS):  # all keys, or none
        assert value("alpha_ndcg", **tables, aspects=repaired) == close(VALUES["alpha_ndcg"])
    # aspects of another session are not those of this one: user 2 is left with nothing
    other = with_session(ASPECTS_OF_USERS, [7, 7, 8])
    (row,) = evaluate("alpha_ndcg(missing_attributes=ignore)", **tables, aspects=other).itertuples()
    assert (row.value, row.n_users) == (1, 1)


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
        assert mapped == close(VALUES["alpha_ndcg"])


@pytest.mark.parametrize("columns", ["f1,f2", " f1 , F2 ", ["f1", "f2"]], ids=str)
def test_features_from_several_columns(columns: Any) -> None:
    found = value(DIVERSITY, items=PLANE, columns={"items.features": columns})
    assert found == close(VALUES[DIVERSITY])


def test_features_from_one_column_of_numbers() -> None:
    """A vector of one component: 1, 0 and 1; a zero vector has the cosine 0 with everything."""
    expected = (1 + 0) / 2
    named = PLANE.rename_columns(["item_id", "features", "f2"])
    for items, columns in ((PLANE, {"items.features": "f1"}), (named, {})):
        assert value(DIVERSITY, items=items, columns=columns) == close(expected)


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

NAMED = {"recommendations": {"u": ["a", "b"]}, "interactions": None}
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
    assert value("coverage(catalogue=items)", interactions=None, items=items) == 3 / 4


def test_a_bare_catalogue_has_no_attributes() -> None:
    with pytest.raises(sm.MissingTableError, match=r"money_precision.*column price.*items"):
        evaluate("money_precision", items={10, 11, 12})


@pytest.mark.parametrize(
    "items",
    [{"a", "b", "c"}, pd.Series(list("abc")), np.array(list("abc")), pa.array(list("abc"))],
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
    assert value("alpha_ndcg", aspects=aspects) == close(VALUES["alpha_ndcg"])


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
    with Evaluator(models, TRUTH, baseline="popular") as evaluator:
        frame = evaluator.per_user(["unexpectedness", "unexpectedness(audience=baseline)"])
    values = frame.set_index(["model", "user_id"])
    assert values["unexpectedness"].dropna().to_dict() == {
        ("als", 1): 1 / 2, ("als", 2): 1, ("popular", 1): 0}  # fmt: skip
    only = values["unexpectedness(audience=baseline)"].dropna().to_dict()
    assert only == {("als", 1): 1 / 2, ("popular", 1): 0}


def test_a_baseline_that_is_none_of_the_models() -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("unexpectedness", {"als": ALS, "popular": POPULAR}, baseline="populr")
    for words in ("baseline", "populr", "did you mean", "'popular'"):
        assert words in str(caught.value)


# ---------------------------------------------------------------- all


def test_all_is_every_metric_once(everything: sm.Evaluator) -> None:
    result = everything.evaluate("all")
    assert result["metric"].tolist() == list(CATALOG.metrics)
    assert result["k"].isna().all()
    assert result["value"].notna().all()
    values = result.set_index("metric")["value"].to_dict()
    known = {metric: value for metric, value in VALUES.items() if metric in values}
    assert len(known) > 10
    assert {metric: values[metric] for metric in known} == close(known)


def test_all_per_user_is_every_metric_that_has_such_values(everything: sm.Evaluator) -> None:
    frame = everything.per_user("all@2")
    of_users = [metric.name for metric in CATALOG.metrics.values() if metric.grain == "user"]
    assert list(frame.columns) == ["user_id", "k", *of_users]
    assert 0 < len(of_users) < len(CATALOG.metrics)
    assert frame["k"].tolist() == [2, 2]
    assert frame.notna().all(axis=None)


def test_all_at_a_cutoff(everything: sm.Evaluator) -> None:
    at_ten = everything.evaluate("all@10")
    assert at_ten["metric"].tolist() == list(CATALOG.metrics)
    assert set(at_ten["k"]) == {10}
    expected = everything.evaluate(list(CATALOG.metrics), k=10)
    pd.testing.assert_frame_equal(at_ten, expected)
    several = everything.parse(["mrr@2", "all@1", "all"], k=[1, 2])
    pairs = [(call.name, k) for call, k in several]
    assert pairs[0] == ("mrr", 2)
    assert set(pairs) == {(metric, k) for metric in CATALOG.metrics for k in (1, 2)}


@pytest.mark.parametrize("spec", ["all(divisor=k)", "all(divisor=k)@10", "all(audience=both)"])
def test_all_takes_no_parameters(everything: sm.Evaluator, spec: str) -> None:
    for call in (everything.evaluate, everything.per_user, everything.sql):
        with pytest.raises(sm.UsageError) as caught:
            call(spec)
        assert spec in str(caught.value)
        assert "--set NAME=VALUE" in str(caught.value)


def test_settings_reach_all() -> None:
    truth = more(GRADED, {"user_id": 3, "item_id": 10, "relevance": 1})  # user 3 has no list
    settings = {"audience": "both", "map.divisor": "k"}
    result = evaluate("all@2", **{**EVERYTHING, "interactions": truth}, settings=settings)
    rows = result.set_index("metric")
    assert rows["n_users"]["mrr"] == 2
    assert rows["value"]["mrr"] == VALUES["mrr"]
    assert rows["value"]["map"] == pytest.approx(((1 / 1) / 2 + (1 / 2) / 2) / 2, abs=1e-15)


# ---------------------------------------------------------------- what was not given

# table -> the metrics that need it, each with the column that the table may lack
NEEDS: dict[str, dict[str, str | None]] = {
    "history": {"coverage": None, "popularity": None, "surprisal": None},
    "items": {
        "intra_list_diversity": "features",
        "intra_list_diversity(over=category)": "category",
        "money_precision": "price",
        "money_recall": "price",
    },
    "aspects": {"alpha_ndcg": None},
    "baseline": {"unexpectedness": None},
    "logs": {"ctr": None, "ips": None, "doubly_robust": None},
    "recommendations": {"doubly_robust": "score"},
    "interactions": dict.fromkeys(
        ["auc", "err", "kendall_tau", "pfound", "spearman_rho"], "relevance"
    ),
}
# what ranks and a truth without relevance are not enough for
NEED_MORE = {metric.partition("(")[0] for metrics in NEEDS.values() for metric in metrics}


def left_out(message: str) -> dict[str, str]:
    """Read the message about metrics that are left out: metric -> what it lacks."""
    start, *groups = re.split(r"(?:, |; )since ", message)
    assert start == "left out", message
    pairs = [group.rpartition(": ") for group in groups]
    return {metric: reason for reason, _, metrics in pairs for metric in metrics.split(", ")}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_was_not_given(table: str) -> None:
    given = {name: source for name, source in EVERYTHING.items() if name != table}
    with Evaluator(**given) as evaluator:
        for metric, column in NEEDS[table].items():
            with pytest.raises(sm.MissingTableError) as caught:
                evaluator.evaluate(["mrr", metric])
            message = str(caught.value)
            for words in (f"the metric {metric.partition('(')[0]} ", f"table {table}",
                          f"column {column}" if column else "", f"--{table} FILE", f"{table}=",
                          "--skip-missing"):  # fmt: skip
                assert words in message
            assert "\n" not in message
        assert evaluator.evaluate("mrr")["value"].item() == VALUES["mrr"]


COLUMNS = {
    (table, column): [metric for metric, other in metrics.items() if other == column]
    for table, metrics in NEEDS.items()
    for column in metrics.values()
    if column is not None
}


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_column_that_was_not_given(table: str, column: str) -> None:
    fewer = {**EVERYTHING, table: EVERYTHING[table].drop_columns(column)}
    with Evaluator(**fewer) as evaluator:
        for metric in COLUMNS[table, column]:
            with pytest.raises(sm.MissingTableError) as caught:
                evaluator.evaluate(["mrr", metric])
            for words in (f"the metric {metric.partition('(')[0]} ", f"column {column}",
                          f"table {table}", f"--column {table}.{column}=",
                          f"'{table}.{column}'", "--skip-missing"):  # fmt: skip
                assert words in str(caught.value)


def test_a_column_that_is_named_as_the_message_proposes(everything: sm.Evaluator) -> None:
    metrics = [metric for group in COLUMNS.values() for metric in group]
    given = dict(EVERYTHING)
    for table, column in COLUMNS:
        given[table] = renamed(given[table], column)
    columns = {f"{table}.{column}": f"the_{column}" for table, column in COLUMNS}
    found = evaluate(metrics, **given, columns=columns)
    pd.testing.assert_frame_equal(found, everything.evaluate(metrics))


@pytest.mark.parametrize("way", ["evaluate", "per_user", "sql", "write_parquet"])
def test_skip_missing_leaves_out_what_cannot_be_computed(
    smallest: sm.Evaluator, way: str, tmp_path: Path
) -> None:
    path = [tmp_path / "a.parquet"] if way == "write_parquet" else []
    with pytest.warns(sm.SqlmetricsWarning) as warned:
        result = getattr(smallest, way)(*path, "all", skip_missing=True)
    missing = set(NEED_MORE)
    if way == "per_user":
        missing = {name for name in missing if CATALOG.metrics[name].grain == "user"}
    (warning,) = warned
    messages = left_out(str(warning.message))
    assert set(messages) == missing
    for table, metrics in NEEDS.items():
        for metric, column in metrics.items():
            message = messages.get(metric, "")
            if message and not (metric == "doubly_robust" and table not in message):
                option = f"--{table} FILE" if table in TABLES else f"--column {table}.{column}="
                for words in (table, column or "", option):
                    assert words in message
    if way == "per_user":
        assert missing.isdisjoint(result.columns)
        assert {"mrr", "ndcg"} <= set(result.columns)
    elif way != "sql":
        result = pd.read_parquet(path[0]) if path else result
        assert set(result["metric"]) == set(CATALOG.metrics) - missing
        assert result.set_index("metric")["value"]["mrr"] == VALUES["mrr"]


def test_skip_missing_names_a_metric_once(smallest: sm.Evaluator) -> None:
    with pytest.warns(sm.SqlmetricsWarning, match=": ips$") as warned:
        result = smallest.evaluate(["ips", "mrr", "ips@1"], k=[1, 2], skip_missing=True)
    assert len(warned) == 1
    pairs = list(result[["metric", "k"]].itertuples(index=False, name=None))
    assert pairs == [("mrr", 1), ("mrr", 2)]


def test_skip_missing_leaves_out_nothing_that_can_be_computed(everything: sm.Evaluator) -> None:
    found = everything.evaluate("all@2", skip_missing=True)  # a warning would be an error here
    pd.testing.assert_frame_equal(found, everything.evaluate("all@2"))


def test_skip_missing_of_everything(smallest: sm.Evaluator) -> None:
    for call in (smallest.evaluate, smallest.per_user, smallest.sql):
        with pytest.raises(sm.MissingTableError, match=r"popularity.*history.*--history FILE"):
            call(["popularity", "surprisal"], skip_missing=True)


def test_skip_missing_is_not_for_other_mistakes() -> None:
    with Evaluator(RANKED, TRUTH, history=changed(HISTORY, "user_id", 1, None)) as evaluator:
        with pytest.raises(sm.DataError, match="history"):
            evaluator.evaluate(["mrr", "popularity"], skip_missing=True)
        with pytest.raises(sm.UsageError, match="unknown metric"):
            evaluator.evaluate(["mrr", "popularityy"], skip_missing=True)


# ---------------------------------------------------------------- the default propensity

WITHOUT = LOGS.drop_columns("propensity")
# of three items in the logs, each is taken as shown with probability 1/3
DEFAULT_PROPENSITY = {
    "ips": (3 * 1 + 0 + 3 * 1) / 4,
    "ips(divisor=weights)": (1 + 0 + 1) / 3,
    # scores 4, 3, 2, 1; the third recommended item is not in the logs
    "doubly_robust": ((4 + 3 * (1 - 4)) + (3 + 3 * (0 - 3)) + 2 + (1 + 3 * (1 - 1))) / 4,
}


@pytest.fixture
def logged() -> Iterator[sm.Evaluator]:
    """Logs without propensities; ranks without scores."""
    with Evaluator(RANKED, TRUTH, logs=WITHOUT) as evaluator:
        yield evaluator


@pytest.mark.parametrize("metric", DEFAULT_PROPENSITY)
def test_the_default_propensity_is_announced(metric: str) -> None:
    with pytest.warns(sm.SqlmetricsWarning) as warned:
        found = value(metric, recommendations=SCORED, logs=WITHOUT)
    (warning,) = warned
    for words in ("logs", "propensity", "1 / (number of items in the logs)",
                  "--column logs.propensity="):  # fmt: skip
        assert words in str(warning.message)
    assert found == close(DEFAULT_PROPENSITY[metric])


def test_the_default_propensity_is_announced_once() -> None:
    with Evaluator(SCORED, TRUTH, logs=WITHOUT) as evaluator:
        for _ in range(2):  # of every result that rests on it
            with pytest.warns(sm.SqlmetricsWarning) as warned:
                evaluator.evaluate(["ips", "snips", "dr", "ips(max_weight=2)", "ctr"], k=[1, 2])
            assert len(warned) == 1


def test_what_needs_no_propensity_does_not_announce_one(logged: sm.Evaluator) -> None:
    specs = ["ctr", "ctr(statistic=standard_error)", "mrr"]
    assert logged.evaluate(specs)["value"][0] == close(2 / 3)  # a warning would be an error here


def test_equal_terms_have_no_error_whatever_is_beyond_the_cutoff() -> None:
    """Six equal rewards at the first place, and others below it, far from them."""
    lists = {user: [10 * user, 10 * user + 1] for user in range(1, 7)}
    rows = [(u, 10 * u, 0.3, 0.7) for u in lists] + [(u, 10 * u + 1, 0.9 * u, 0.7) for u in lists]
    logs = [dict(zip(("user_id", "item_id", "reward", "propensity"), row, strict=True))
            for row in rows]  # fmt: skip
    specs = ["ctr(statistic=standard_error)", "ips(statistic=standard_error)"]
    with Evaluator(lists, logs=pa.Table.from_pylist(logs)) as evaluator:
        errors = evaluator.evaluate(specs, k=[1, 2])
    assert errors[errors["k"] == 1]["value"].tolist() == close([0.0, 0.0])
    assert (errors[errors["k"] == 2]["value"] > 0.1).all()


def test_a_warning_is_not_kept_for_the_next_call(logged: sm.Evaluator) -> None:
    with pytest.warns(sm.SqlmetricsWarning, match="propensity"):
        logged.evaluate("ips")
    logged.evaluate("ctr")
    with pytest.raises(sm.MissingTableError, match="score"):
        logged.evaluate(["ips", "dr"])
    logged.evaluate("ctr")
    logged.stage("hits")


def test_what_is_left_out_does_not_warn_of_its_propensity(logged: sm.Evaluator) -> None:
    with pytest.warns(sm.SqlmetricsWarning) as warned:
        logged.evaluate(["ctr", "doubly_robust"], skip_missing=True)
    (warning,) = warned
    assert set(left_out(str(warning.message))) == {"doubly_robust"}


def test_a_warning_points_at_the_caller(logged: sm.Evaluator, tmp_path: Path) -> None:
    with pytest.warns(sm.SqlmetricsWarning) as of_evaluate:
        logged.evaluate("ips")
    with pytest.warns(sm.SqlmetricsWarning) as of_sql:
        logged.sql("ips")
    with pytest.warns(sm.SqlmetricsWarning) as of_file:
        logged.write_parquet(tmp_path / "a.parquet", "ips")
    files = [warning.filename for warned in (of_evaluate, of_sql, of_file) for warning in warned]
    assert files == [__file__] * 3


# ---------------------------------------------------------------- aggregate

# reciprocal ranks 1, 1/2, 1/3, and 0 of a user without a list
FOUR = {
    "recommendations": {1: [10], 2: [11, 10], 3: [11, 12, 10]},
    "interactions": {user: [10] for user in (1, 2, 3, 4)},
}
RECIPROCALS = [1, 1 / 2, 1 / 3, 0]
Z = {confidence: NormalDist().inv_cdf((1 + confidence) / 2) for confidence in (0.9, 0.95)}
AGGREGATES = {
    "mean": mean(RECIPROCALS),
    "median": (1 / 2 + 1 / 3) / 2,
    "median_low": 1 / 3,
    "half_width": Z[0.9] * stdev(RECIPROCALS) / math.sqrt(4),
}


@pytest.mark.parametrize(
    ("how", "aggregate"),
    [
        *(("setting", aggregate) for aggregate in AGGREGATES),
        ("setting of the metric", "median_low"),
        ("convention", "median"),
    ],
)
def test_aggregate(aggregate: str, how: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f'[settings]\naggregate = "{aggregate}"\n')
    options: dict[str, Any] = {
        "setting": {"settings": {"aggregate": aggregate}},
        "setting of the metric": {"settings": {"mrr.aggregate": aggregate}},
        "convention": {"convention": tmp_path / "mine.toml"},
    }[how]
    row = evaluate("mrr", **FOUR, confidence=0.9, **options).iloc[0]
    assert row["value"] == pytest.approx(AGGREGATES[aggregate], abs=1e-15)
    assert row["n_users"] == 4
    assert row["std"] == pytest.approx(stdev(RECIPROCALS), abs=1e-15)
    half = AGGREGATES["half_width"]
    if aggregate == "mean":
        low, high = AGGREGATES["mean"] - half, AGGREGATES["mean"] + half
        assert [row["ci_low"], row["ci_high"]] == pytest.approx([low, high], abs=1e-15)
    else:
        assert row[["ci_low", "ci_high"]].isna().all()


def test_aggregates_in_specs() -> None:
    specs = ["mrr", *(f"mrr(aggregate={name})" for name in AGGREGATES if name != "mean")]
    result = evaluate(specs, **FOUR)
    expected = {**AGGREGATES, "half_width": Z[0.95] * stdev(RECIPROCALS) / math.sqrt(4)}
    assert result["metric"].tolist() == specs
    assert result["value"].tolist() == pytest.approx(list(expected.values()), abs=1e-15)
    assert result["ci_low"].isna().tolist() == [False, True, True, True]


def test_aggregate_is_of_each_model_and_leaves_users_as_they_are() -> None:
    models = {"four": FOUR["recommendations"], "none": {1: [99]}}
    with Evaluator(models, FOUR["interactions"], settings={"aggregate": "median"}) as evaluator:
        result = evaluator.evaluate("mrr")
        users = evaluator.per_user("mrr")
    assert result.set_index("model")["value"].to_dict() == {
        "four": pytest.approx(AGGREGATES["median"], abs=1e-15), "none": 0}  # fmt: skip
    assert users["mrr"].tolist() == pytest.approx([*RECIPROCALS, 0, 0, 0, 0], abs=1e-15)


RUN_METRICS = [name for name, metric in CATALOG.metrics.items() if metric.grain == "run"]


@pytest.mark.parametrize("metric", RUN_METRICS)
def test_aggregate_of_a_metric_without_users(smallest: sm.Evaluator, metric: str) -> None:
    for spec in (f"{metric}(aggregate=median)", f"{metric}(aggregate=half_width)@5"):
        with pytest.raises(sm.UsageError) as caught:
            smallest.evaluate(spec)
        assert not isinstance(caught.value, sm.MissingTableError)
        for words in (spec, "aggregate", "one value for all users"):
            assert words in str(caught.value)
    with pytest.raises(sm.UsageError, match=rf"{metric}\.aggregate.*one value for all users"):
        evaluate(metric, settings={f"{metric}.aggregate": "median"})


def test_a_setting_aggregate_is_for_metrics_with_users(everything: sm.Evaluator) -> None:
    assert len(RUN_METRICS) > 3
    plain = everything.evaluate([*RUN_METRICS, "mrr"])
    median = evaluate([*RUN_METRICS, "mrr"], **EVERYTHING, settings={"aggregate": "median"})
    pd.testing.assert_frame_equal(plain.iloc[:-1], median.iloc[:-1])
    assert plain["ci_low"].notna().iloc[-1]
    assert median["ci_low"].isna().iloc[-1]


# ---------------------------------------------------------------- intervals of estimates from logs

TERMS = [1 / 0.5, 0, 0, 1 / 1]  # of ips: reward / propensity of the four recommended items
WEIGHTS, REWARDS = [1 / 0.5, 1 / 0.25, 1 / 1], [1, 0, 1]
RATE = VALUES["ips(divisor=weights)"]
# scores 4, 3, 2, 1
ROBUST = [4 + 2 * (1 - 4), 3 + 4 * (0 - 3), 2, 1 + 1 * (1 - 1)]
ESTIMATES = {
    "ctr": (mean(REWARDS), stdev(REWARDS) / math.sqrt(3)),
    "ips": (mean(TERMS), stdev(TERMS) / math.sqrt(4)),
    "ips(divisor=weights)": (
        RATE,
        math.sqrt(sum((w * (r - RATE)) ** 2 for w, r in zip(WEIGHTS, REWARDS, strict=True)))
        / sum(WEIGHTS),
    ),
    "doubly_robust": (mean(ROBUST), stdev(ROBUST) / math.sqrt(4)),
}


@pytest.mark.parametrize("confidence", Z)
def test_the_interval_of_an_estimate(everything: sm.Evaluator, confidence: float) -> None:
    errors = [
        metric.replace(")", ", statistic=standard_error)") if metric.endswith(")")
        else f"{metric}(statistic=standard_error)"
        for metric in ESTIMATES
    ]  # fmt: skip
    result = everything.evaluate([*ESTIMATES, *errors], confidence=confidence)
    estimates, errors_found = result.iloc[: len(ESTIMATES)], result.iloc[len(ESTIMATES) :]
    for row, (estimate, error) in zip(estimates.itertuples(), ESTIMATES.values(), strict=True):
        half = Z[confidence] * error
        assert [row.value, row.ci_low, row.ci_high] == close(
            [estimate, estimate - half, estimate + half]
        )
    assert errors_found["value"].tolist() == close([error for _, error in ESTIMATES.values()])
    assert errors_found[["ci_low", "ci_high"]].isna().all(axis=None)
    assert result[["n_users", "std"]].isna().all(axis=None)


# ---------------------------------------------------------------- metrics of one's own

OWN = {
    # reads the lists alone
    "list_length": (
        'title = "items in the top k"\naudience = "recommended"',
        "SELECT {{ keys }}, k, count(*) AS value FROM listed GROUP BY {{ keys }}, k",
    ),
    "n_hits": (
        'title = "hits"\nwhen_empty = 0',
        "SELECT {{ keys }}, k, count(*) AS value FROM hits GROUP BY {{ keys }}, k",
    ),
    "n_decided": (
        'title = "recommended items in the logs, and what they gave"\ngrain = "run"',
        "SELECT {{ keys }}, k, count(reward) + 10 * sum(coalesce(reward, 0)) AS value\n"
        "FROM decisions\nGROUP BY {{ keys }}, k",
    ),
    "n_judged": (
        'title = "judged items in the top k, and the sum of their relevance"\nwhen_empty = 0',
        "SELECT {{ keys }}, k, count(*) + 10 * sum(relevance) AS value\n"
        "FROM matched\nGROUP BY {{ keys }}, k",
    ),
    "n_seen": (
        'title = "recommended items that the user knows"\naudience = "recommended"\nwhen_empty = 0',
        "SELECT {{ keys_of('listed') }}, listed.k, count(*) AS value\n"
        "FROM listed\nINNER JOIN seen\n"
        "    ON {{ same_user('seen', 'listed') }} AND seen.item_id = listed.item_id\n"
        "GROUP BY {{ keys_of('listed') }}, listed.k",
    ),
    "best_known": (
        'title = "users of the best known item"\naudience = "recommended"',
        "SELECT {{ keys_of('listed') }}, listed.k, max(popular.n_users) AS value\n"
        "FROM listed\nINNER JOIN item_popularity AS popular\n"
        "    ON popular.item_id = listed.item_id\n"
        "GROUP BY {{ keys_of('listed') }}, listed.k",
    ),
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    for name, (front, body) in OWN.items():
        (folder / f"{name}.sql.j2").write_text(f"{{#---\n{front}\n---#}}\n{body}\n")
    return folder


def test_a_metric_without_interactions_beside_one_with(own: Path) -> None:
    lists, truth = {1: [10, 11], 2: [12]}, {1: [11], 9: [10]}
    specs = ["list_length@1", "n_hits", "list_length"]
    with Evaluator(lists, truth, templates=own) as evaluator:
        result = evaluator.evaluate(specs)
        users = evaluator.per_user(["list_length", "n_hits"])
    # over users 1 and 2, who have lists, and over 1 and 9, who want something
    assert result["value"].tolist() == [(1 + 1) / 2, (1 + 0) / 2, (2 + 1) / 2]
    assert result["n_users"].tolist() == [2, 2, 2]
    assert users["user_id"].tolist() == [1, 2, 9]
    assert users["list_length"].fillna(-1).tolist() == [2, 1, -1]
    assert users["n_hits"].fillna(-1).tolist() == [1, -1, 0]
    with Evaluator(lists, templates=own) as evaluator:
        assert evaluator.evaluate("list_length")["value"].item() == (2 + 1) / 2
        with pytest.raises(
            sm.MissingTableError, match=r"the metric n_hits .*interactions.*-i FILE"
        ):
            evaluator.evaluate(specs)
        with pytest.warns(sm.SqlmetricsWarning, match="left out, .*: n_hits$") as warned:
            result = evaluator.evaluate(specs, skip_missing=True)
    assert len(warned) == 1
    assert result["metric"].tolist() == ["list_length", "list_length"]


@pytest.mark.parametrize("fuse", [True, False])
def test_metrics_of_ones_own_read_the_new_stages(own: Path, fuse: bool) -> None:
    expected = {  # over whole lists, and at 1
        # decided: 10 and 11 for user 1, 12 for user 2; 10 and 12 gave 1
        "n_decided": (3 + 10 * 2, 1 + 10 * 1),
        # judged: 10 (2) and 11 (0) for user 1, 10 (0) and 12 (1) for user 2
        "n_judged": (((2 + 10 * 2) + (2 + 10 * 1)) / 2, ((1 + 10 * 2) + (1 + 10 * 0)) / 2),
        # user 1 knows 10 and 11, user 2 knows 10
        "n_seen": ((2 + 1) / 2, (1 + 1) / 2),
        # 10 is known to two users, the others to one
        "best_known": ((2 + 2) / 2, (2 + 2) / 2),
        "mrr": (VALUES["mrr"], 1 / 2),
        "ctr": (VALUES["ctr"], 1),
    }
    with Evaluator(**EVERYTHING, templates=own) as evaluator:
        evaluator._checking_planner.fuse = fuse
        whole = evaluator.evaluate(list(expected))["value"].tolist()
        at_one = evaluator.evaluate(list(expected), k=1)["value"].tolist()
    assert whole == close([first for first, _ in expected.values()])
    assert at_one == close([second for _, second in expected.values()])


@pytest.mark.parametrize(
    ("metric", "table", "bad"),
    [
        ("n_decided", "logs", changed(LOGS, "item_id", 1, 10)),
        ("n_seen", "history", changed(HISTORY, "user_id", 1, None)),
        ("best_known", "history", changed(HISTORY, "item_id", 1, None)),
    ],
)
def test_the_rules_hold_for_metrics_of_ones_own(
    own: Path, metric: str, table: str, bad: pa.Table
) -> None:
    with pytest.raises(sm.DataError, match=f"{table}: .*\n"):
        evaluate(metric, templates=own, **{table: bad})
    with pytest.raises(sm.MissingTableError, match=f"the metric {metric} needs the table {table}"):
        evaluate(metric, templates=own)


# ---------------------------------------------------------------- a look at every stage

# stage -> a metric that reads it, and the number of its rows over the tables above
STAGES: dict[str, tuple[str, int]] = {
    "aspect_hits": ("alpha_ndcg", 2),
    "aspect_users": ("alpha_ndcg", 2),
    "audience": ("mrr", 2),
    "baseline_ranked": ("unexpectedness", 3),
    "baseline_users": ("unexpectedness", 2),
    "cascades": ("err", 2),
    "catalogue": ("coverage", 4),
    "cutoffs": ("mrr", 1),
    "decision_groups": ("ips", 1),  # of both lists, without a cutoff
    "decisions": ("ips", 4),
    "diverse_ideal": ("alpha_ndcg", 2),  # each user wants one item
    "expected_items": ("unexpectedness", 3),  # both lists, and user 1 expects one item
    "exposure": ("coverage", 3),
    "harmonics": ("map(divisor=all_positions)", 2),
    "history_users": ("popularity", 1),
    "hit_ranks": ("ndcg", 2),
    "hits": ("ndcg", 2),
    "ideal_lists": ("ndcg(gain=linear)", 2),
    "interaction_profile": ("mrr", 2),
    "item_lists": ("inter_list_diversity", 3),  # both lists are of one length
    "item_popularity": ("popularity", 4),
    "item_rows": ("popularity(counted=rows)", 4),
    "item_prices": ("money_precision", 4),
    "item_vectors": ("intra_list_diversity", 4),  # a vector of two components is one block
    "judged": ("kendall_tau", 4),
    "list_popularity": ("popularity", 2),  # a row per list, without a cutoff
    "list_rows": ("popularity(counted=rows)", 2),
    "list_vectors": ("intra_list_diversity", 2),
    "listed": ("popularity", 4),  # for metrics of one's own; no other reads it
    "lists": ("mrr", 2),
    "matched": ("spearman_rho", 4),
    "matched_pairs": ("kendall_tau", 4),
    "mean_reward": ("ctr", 1),
    "models": ("coverage", 1),
    "positions": ("ndcg", 2),
    "purchases": ("money_precision", 4),
    "ranked": ("mrr", 4),
    "recommendation_profile": ("mrr", 2),
    "recommended_items": ("coverage", 3),
    "relevant": ("recall", 2),
    "relevant_aspects": ("alpha_ndcg", 2),
    "relevant_users": ("recall", 2),
    "repeated_baseline": ("unexpectedness", 0),
    "repeated_interactions": ("mrr", 0),  # no item is there twice
    "repeated_recommendations": ("mrr", 0),
    "revenues": ("money_recall", 2),
    "sampled_users": ("intra_list_diversity(sample_users=1, runs=3)", 3),
    "seen": ("popularity", 5),
    "top_relevance": ("err", 1),
}


@pytest.fixture(scope="module")
def two_models() -> Iterator[sm.Evaluator]:
    models = {"one": SCORED, "two": SCORED}
    with Evaluator(**{**EVERYTHING, "recommendations": models}) as evaluator:
        yield evaluator


def test_every_stage_has_a_look() -> None:
    assert set(STAGES) == set(CATALOG.stages)


@pytest.mark.parametrize("stage", STAGES)
def test_a_look_at_a_stage(everything: sm.Evaluator, two_models: sm.Evaluator, stage: str) -> None:
    metric, n_rows = STAGES[stage]
    frame = everything.stage(stage, metric)
    assert len(frame) == n_rows
    assert len(set(frame.columns)) == len(frame.columns) > 0
    twice = two_models.stage(stage, metric)
    assert len(twice) == (2 * n_rows if "model" in twice.columns else n_rows)


def complaint(evaluator: sm.Evaluator, stage: str) -> str:
    """Say what a look at a stage without a metric lacks, or nothing."""
    try:
        evaluator.stage(stage)
    except sm.UsageError as error:
        return str(error)
    return ""


# nobody is drawn at random unless a spec says how many
@pytest.mark.parametrize("stage", sorted(set(STAGES) - {"sampled_users"}))
def test_a_look_at_a_stage_without_a_metric(everything: sm.Evaluator, stage: str) -> None:
    """Some stages need to know for which metric; the one that the message names will do."""
    message = complaint(everything, stage)
    if message:
        advice = re.search(rf"stage\('{stage}', (?:metric=)?'([^']+)'\)", message)
        assert advice is not None, message
        assert len(everything.stage(stage, advice[1])) > 0


@pytest.mark.parametrize("table", TABLES)
def test_a_look_at_a_further_table(everything: sm.Evaluator, table: str) -> None:
    frame = everything.stage(table)
    assert len(frame) == TABLES[table].num_rows
    assert "item_id" in frame.columns


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("seen", "the table history.*--history FILE"),
        ("decisions", "the table logs.*--logs FILE"),
        ("purchases", "the table items.*price.*--items FILE"),
        ("matched", "the column relevance of the table interactions"),
        ("relevant_aspects", "the table aspects.*--aspects FILE"),
        ("baseline_ranked", "the table baseline.*--baseline FILE"),
    ],
)
def test_a_look_at_a_stage_whose_table_was_not_given(
    smallest: sm.Evaluator, stage: str, words: str
) -> None:
    with pytest.raises(sm.MissingTableError, match=words):
        smallest.stage(stage)


# ---------------------------------------------------------------- the command line


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    tables = {
        "ranked": RANKED, "scored": SCORED, "truth": TRUTH, "graded": GRADED, "plane": PLANE,
        "without": WITHOUT, "popular": BASELINE, **TABLES,
    }  # fmt: skip
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


@pytest.fixture
def folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the folder with the tables; results are not written there."""
    monkeypatch.chdir(data)
    return data


RANKS = ["-r", "ranked.parquet", "-i", "truth.parquet"]
SCORES = ["-r", "scored.parquet", "-i", "graded.parquet"]
FURTHER = [word for name in TABLES for word in (f"--{name}", f"{name}.parquet")]


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert not isinstance(result.exception, Exception), result.exception
    assert result.exit_code == code, result.output
    if code:
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1 or code == 1
        assert result.stderr.startswith("sqlmetrics: error: ")
    return result


def table_of(result: Result) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(result.stdout))


def lines_of(result: Result) -> list[str]:
    lines = result.stderr.splitlines()
    assert all(line.startswith("sqlmetrics: ") for line in lines)
    return [line.removeprefix("sqlmetrics: ") for line in lines]


@pytest.mark.usefixtures("folder")
class TestCommandLine:
    def test_all(self) -> None:
        result = run("evaluate", *SCORES, *FURTHER, "all@2")
        assert without_check(result.stderr) == ""
        frame = table_of(result)
        assert frame["metric"].tolist() == list(CATALOG.metrics)
        assert set(frame["k"]) == {2}

    def test_all_per_user(self) -> None:
        users = table_of(run("per-user", *SCORES, *FURTHER, "all", "-k", "2"))
        assert users["user_id"].tolist() == [1, 2]

    @pytest.mark.parametrize("command", ["evaluate", "per-user", "sql"])
    def test_all_takes_no_parameters(self, command: str) -> None:
        error = run(command, *SCORES, *FURTHER, "all(divisor=k)", code=2).stderr
        assert "--set NAME=VALUE" in error

    def test_skip_missing(self) -> None:
        result = run("evaluate", *RANKS, "all", "--skip-missing")
        (line,) = lines_of(result)
        assert set(left_out(line)) == NEED_MORE
        assert len(line) < 1_500
        assert result.stdout.startswith("metric,k,value,n_users,std,ci_low,ci_high\n")
        frame = table_of(result)
        assert set(frame["metric"]) == set(CATALOG.metrics) - set(NEED_MORE)

    @pytest.mark.parametrize("arguments", [["per-user"], ["sql"], ["sql", "--per-user"]], ids=str)
    def test_skip_missing_of_other_commands(self, arguments: list[str]) -> None:
        result = run(*arguments, *RANKS, "mrr", "popularity", "--skip-missing")
        (line,) = lines_of(result)
        for words in ("left out, ", ": popularity", "history", "--history FILE"):
            assert words in line
        assert "left out" not in result.stdout
        assert "mrr" in result.stdout

    @pytest.mark.parametrize("end", ["csv", "parquet"])
    def test_skip_missing_and_a_file(self, end: str, tmp_path: Path) -> None:
        path = tmp_path / f"a.{end}"
        result = run("evaluate", *RANKS, "mrr", "popularity", "--skip-missing", "-o", str(path))
        assert result.stdout == ""
        assert len(lines_of(result)) == 1
        frame = pd.read_csv(path) if end == "csv" else pd.read_parquet(path)
        assert frame["metric"].tolist() == ["mrr"]

    @pytest.mark.parametrize("table", TABLES)
    def test_without_skip_missing(self, table: str) -> None:
        given = [option for name in TABLES if name != table
                 for option in (f"--{name}", f"{name}.parquet")]  # fmt: skip
        metric, column = next(iter(NEEDS[table].items()))
        error = run("evaluate", *SCORES, *given, "mrr", metric, code=2).stderr
        for words in (f"the metric {metric} ", f"table {table}", column or "",
                      f"--{table} FILE", "--skip-missing"):  # fmt: skip
            assert words in error
        error = run("evaluate", *SCORES, *given, "all", code=2).stderr
        assert f"--{table} FILE" in error

    def test_without_a_column(self) -> None:
        error = run("evaluate", *RANKS, "mrr", "auc", code=2).stderr
        for words in ("the metric auc ", "column relevance", "table interactions",
                      "truth.parquet", "--column interactions.relevance="):  # fmt: skip
            assert words in error

    def test_nothing_is_left(self) -> None:
        for options in ([], ["--skip-missing"]):
            error = run("evaluate", *RANKS, "popularity", "surprisal", *options, code=2).stderr
            assert "popularity needs the table history" in error
            assert "left out" not in error

    @pytest.mark.parametrize("command", ["evaluate", "sql"])
    def test_the_default_propensity(self, command: str) -> None:
        logs = ["--logs", "without.parquet"]
        result = run(command, *SCORES, *logs, "ips", "snips", "dr", "ctr", "-k", "1,2")
        (line,) = lines_of(result)
        for words in ("logs: ", "propensity", "1 / (number of items in the logs)",
                      "--column logs.propensity="):  # fmt: skip
            assert words in line
        assert "assumed" not in result.stdout
        assert run(command, *SCORES, *logs, "ctr", "mrr").stderr == ""
        assert run(command, *SCORES, "--logs", "logs.parquet", "ips", "dr").stderr == ""

    def test_the_default_propensity_and_what_is_left_out(self) -> None:
        result = run("evaluate", *RANKS, "--logs", "without.parquet", "all", "--skip-missing")
        lines = lines_of(result)
        assert sum("assumed" in line for line in lines) == 1
        (line,) = (line for line in lines if "assumed" not in line)
        assert set(left_out(line)) == NEED_MORE - {"ctr", "ips"}
        assert {"ctr", "ips"} <= set(table_of(result)["metric"])

    @pytest.mark.parametrize("aggregate", ["median", "median_low", "half_width"])
    def test_aggregate(self, aggregate: str) -> None:
        # reciprocal ranks 1 and 1/2
        expected = {
            "median": (1 + 1 / 2) / 2,
            "median_low": 1 / 2,
            "half_width": Z[0.95] * stdev([1, 1 / 2]) / math.sqrt(2),
        }[aggregate]
        for arguments in (
            [f"mrr(aggregate={aggregate})"],
            ["mrr", "--set", f"aggregate={aggregate}"],
        ):
            row = table_of(run("evaluate", *RANKS, *arguments)).iloc[0]
            assert row["value"] == pytest.approx(expected, abs=1e-15)
            assert row[["ci_low", "ci_high"]].isna().all()

    def test_aggregate_of_a_metric_without_users(self) -> None:
        given = [*SCORES, *FURTHER]
        error = run("evaluate", *given, "coverage(aggregate=median)", code=2).stderr
        assert "coverage(aggregate=median)" in error
        arguments = ["evaluate", *given, "coverage", "ips"]
        plain = run(*arguments).stdout
        assert run(*arguments, "--set", "aggregate=median").stdout == plain

    def test_the_baseline_is_one_of_the_models(self) -> None:
        models = ["-r", "als=ranked.parquet", "-r", "popular=popular.parquet", *RANKS[2:]]
        arguments = [*models, "--baseline", "popular", "unexpectedness", "unexpectedness@1"]
        frame = table_of(run("evaluate", *arguments))
        assert frame["model"].tolist() == ["als", "als", "popular", "popular"]
        assert frame["value"].tolist() == [3 / 4, 1 / 2, 0, 0]
        text = run("sql", *arguments).stdout
        assert [row[3] for row in duckdb.sql(text).fetchall()] == [3 / 4, 1 / 2, 0, 0]

    def test_the_baseline_is_the_only_model(self) -> None:
        models = ["-r", "als=ranked.parquet", *RANKS[2:], "--baseline", "als"]
        row = table_of(run("evaluate", *models, "unexpectedness")).iloc[0]
        assert (row["model"], row["value"]) == ("als", 0)

    def test_a_baseline_that_is_none_of_the_models(self) -> None:
        models = ["-r", "als=ranked.parquet", *RANKS[2:], "--baseline", "asl"]
        error = run("evaluate", *models, "unexpectedness", code=1).stderr
        for words in ("baseline", "asl", "did you mean 'als'"):
            assert words in error

    def test_features_from_several_columns(self) -> None:
        items = ["--items", "plane.parquet", "--column", "items.features=f1,f2"]
        row = table_of(run("evaluate", *RANKS, *items, DIVERSITY)).iloc[0]
        assert row["value"] == close(VALUES[DIVERSITY])

    @pytest.mark.parametrize(
        ("metric", "table", "bad", "words"),
        [
            ("popularity", "history", changed(HISTORY, "user_id", 1, None), "NULL user or item"),
            ("money_precision", "items", changed(ITEMS, "price", 1, -1.0), "column price: 1"),
            ("alpha_ndcg", "aspects", changed(ASPECTS, "aspect", 1, None), "NULL"),
            ("unexpectedness", "baseline", changed(BASELINE, "item_id", 1, 10), "repeated"),
            ("ips", "logs", changed(LOGS, "propensity", 1, 0.0), "column propensity"),
        ],
    )
    def test_what_breaks_a_rule_is_exit_code_one(
        self, metric: str, table: str, bad: pa.Table, words: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "bad.parquet"
        pq.write_table(bad, path)
        error = run("evaluate", *RANKS, f"--{table}", str(path), metric, code=1).stderr
        assert error.startswith(f"sqlmetrics: error: {table}")
        assert words in error
        assert "What to do: " in error
        result = run("evaluate", *RANKS, f"--{table}", str(path), "mrr")
        assert without_check(result.stderr) == ""
