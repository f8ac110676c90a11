"""How much there is to read in printed statements, beside the queries written by hand."""

from __future__ import annotations

import functools
import json
import statistics
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
import sqlglot

import sqlmetrics as sm
from sqlmetrics.sql.dialects import DIALECTS
from tests.support.by_hand import QUERIES, evaluator
from tests.support.paths import DATA

SOURCES = {"recommendations": "recommendations_als", "baseline": "recommendations_popular"}
# tables that the examples do not have
SCHEMAS = {
    "policy": pa.schema({
        "user_id": pa.int64(), "item_id": pa.int64(), "probability": pa.float64(),
        "predicted": pa.float64(),
    }),
    "slates": pa.schema({
        "round_id": pa.int64(), "user_id": pa.int64(), "item_id": pa.int64(),
        "reward": pa.int32(), "propensity": pa.float64(), "position": pa.int64(),
        "target_propensity": pa.float64(),
    }),
    "dated_recommendations": pa.schema({
        "user_id": pa.int64(), "item_id": pa.int64(), "score": pa.float64(),
        "timestamp": pa.timestamp("us"),
    }),
    "dated_items": pa.schema({"item_id": pa.int64(), "created_at": pa.timestamp("us")}),
}  # fmt: skip
# without recursion, the greedy order of the ideal list takes a query per position; cwl, epc, efd
# and err_ia number the ranks, which takes a series of numbers
LONG_WITHOUT_RECURSION = {"alpha_ndcg", "cwl", "efd", "epc", "err_ia"}
# the rule of 32 nodes by which debiased integrates; and a stage that surprisal reads per cutoff
OTHERS = {"debiased", "surprisal"}
# what sqlglot calls the dialect
PARSED_AS = {"datafusion": "postgres"}


def nodes(sql: str, dialect: str = "duckdb") -> int:
    """Count the expressions that a statement is made of; comments do not count."""
    tree = sqlglot.parse_one(sql.split("\nSETTINGS")[0], dialect=PARSED_AS.get(dialect, dialect))
    return sum(1 for _ in tree.walk())


def source(table: str, dialect: str) -> Any:
    rows: Any = str(DATA / f"{SOURCES.get(table, table)}.parquet")
    if table in SCHEMAS:
        rows = SCHEMAS[table].empty_table()
    return rows if dialect == "duckdb" else sm.TableName(f"shop.{table}", rows)


def weights(dialect: str, names: Iterable[str]) -> dict[str, float]:
    """Divide the nodes of the printed statement by those of the query by hand."""
    found = {}
    for of_tables in by_tables(names):
        with evaluator(QUERIES[of_tables[0]].asked, lambda table: source(table, dialect)) as one:
            for name in of_tables:
                asked = QUERIES[name].asked
                options = {key: asked[key] for key in ("by", "ci", "per_user") if key in asked}
                try:
                    sql = one.sql(asked["metrics"], dialect=dialect, **options)
                except sm.UsageError:
                    continue  # the dialect lacks something, such as rows of lists
                found[name] = nodes(sql, dialect) / nodes_by_hand(name)
    return found


def by_tables(names: Iterable[str]) -> list[list[str]]:
    """Group queries that read the same tables in the same way: one evaluator serves them."""
    groups: dict[str, list[str]] = {}
    for name in names:
        asked = QUERIES[name].asked
        of_calls = ("metrics", "by", "ci", "per_user")
        others = {key: value for key, value in asked.items() if key not in of_calls}
        groups.setdefault(json.dumps(others, sort_keys=True), []).append(name)
    return list(groups.values())


@functools.cache
def nodes_by_hand(name: str) -> int:
    return nodes(QUERIES[name].sql)


def test_statements_for_duckdb_weigh_little() -> None:
    of_duckdb = weights("duckdb", QUERIES)
    assert of_duckdb.keys() == QUERIES.keys()
    assert {name: weight for name, weight in of_duckdb.items() if weight > 1.9} == {}
    assert statistics.median(of_duckdb.values()) <= 1.4


# dialects that refuse these metrics
LACKING = ("snowflake", "redshift")
OF_CATEGORIES = {
    "attribute_shift", "calibration", "category_coverage", "category_entropy",
    "intra_list_diversity",
}  # fmt: skip


OTHERS_THAN_DUCKDB = [one for one in DIALECTS if one != "duckdb"]


@pytest.mark.parametrize("dialect", OTHERS_THAN_DUCKDB)
def test_statements_for_other_dialects_weigh_little_more(dialect: str) -> None:
    """Each dialect prints a tenth of the queries, another one than the other dialects."""
    names = list(QUERIES)[OTHERS_THAN_DUCKDB.index(dialect) :: len(OTHERS_THAN_DUCKDB)]
    own = weights(dialect, names)
    refused = OF_CATEGORIES & set(names) if dialect in LACKING else set()
    assert set(names) - own.keys() == refused
    heavy = {name for name, weight in own.items() if weight > 2.5}
    assert heavy <= LONG_WITHOUT_RECURSION | OTHERS
    assert statistics.median(own.values()) <= 2
