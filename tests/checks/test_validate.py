"""Input validation: tables that would give wrong results raise one clear error."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.checks.validate import _number_text
from tests.support.evaluators import Evaluator

R = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [10, 11, 10, 12], "rank": [1, 2, 1, 2]})
S = R.drop(columns="rank").assign(score=[4.0, 3.0, 2.0, 1.0])
I = pd.DataFrame({"user_id": [1, 2], "item_id": [10, 12]})  # noqa: E741
RUN = "1 Q0 10 1 0.9 tag\n1 Q0 11 2 0.8 tag\n"
QRELS = "1 0 10 1\n"


def evaluate(
    recommendations: Any = R, interactions: Any = I, metric: Any = "mrr", k: Any = None, **kw: Any
) -> pd.DataFrame:
    if not kw.keys() & {"connection", "threads"}:
        kw["threads"] = 1  # the tables are tiny
    with Evaluator(recommendations, interactions, **kw) as evaluator:
        return evaluator.evaluate(metric, k)


def file(folder: Path, name: str, content: str | bytes | pd.DataFrame) -> str:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pandas(content, preserve_index=False), path)
    return str(path)


def parquet(folder: Path, name: str = "good.parquet") -> str:
    return file(folder, name, R)


def parquet_bytes(folder: Path) -> bytes:
    return Path(parquet(folder)).read_bytes()


def csv(folder: Path, text: str, name: str = "a.csv") -> str:
    return file(folder, name, text)


Case = tuple[str, Callable[[Path], Any], list[str]]

# (what is wrong, the call, what the message says). Every message names the table first.
DATA_ERRORS: list[Case] = [
    # ---- files
    (
        "no such file",
        lambda d: (parquet(d), evaluate(str(d / "goood.parquet"))),
        ["recommendations", "no file", "goood.parquet", "did you mean", "good.parquet'"],
    ),
    ("no such path", lambda d: evaluate(d / "x.parquet"), ["recommendations", "no file", "x.parq"]),
    ("no such folder", lambda d: evaluate(str(d / "no" / "x.csv")), ["recommendations", "no file"]),
    (
        "one of the files does not exist",
        lambda d: evaluate([parquet(d), str(d / "x.parquet")]),
        ["recommendations", "no file", "x.parquet"],
    ),
    ("the file of a model", lambda d: evaluate({"als": parquet(d), "knn": "x.parquet"}),
     ["recommendations", "knn", "x.parquet"]),
    ("the file of the truth", lambda d: evaluate(R, str(d / "x.parquet")),
     ["interactions", "x.parquet"]),
    ("an empty folder", lambda d: evaluate(d), ["recommendations", "folder", "no files"]),
    ("an empty name", lambda _: evaluate(""), ["recommendations", "empty"]),
    ("a name with a NUL", lambda _: evaluate("a\0b"), ["recommendations", "control characters"]),
    ("a name that is too long", lambda _: evaluate("a" * 5000), ["recommendations", "long"]),
    ("an empty Parquet file", lambda d: evaluate(file(d, "a.parquet", b"")),
     ["a.parquet is empty"]),
    ("CSV called Parquet",
     lambda d: evaluate(csv(d, "user_id,item_id,rank\n1,10,1\n", "a.parquet")),
     ["recommendations", "a.parquet", "Parquet file"]),
    ("Parquet called CSV", lambda d: evaluate(file(d, "a.csv", parquet_bytes(d))),
     ["recommendations", "a.csv", "Parquet file"]),
    ("a damaged Parquet file",
     lambda d: evaluate(
         file(d, "a.parquet", parquet_bytes(d)[:-90] + b"\0" * 82 + b"\x50\0\0\0PAR1")),
     ["recommendations", "a.parquet", "cannot be read"]),
    ("a spreadsheet", lambda d: evaluate(file(d, "a.xlsx", b"PK\x03\x04...")),
     ["recommendations", "a.xlsx is a ZIP archive (also .xlsx", "read it in Python"]),
    ("a file of another format", lambda d: evaluate(csv(d, "user_id item_id\n", "a.txt")),
     ["recommendations", "a.txt", "format", ".parquet", ".csv"]),
    ("files of two formats", lambda d: evaluate([parquet(d), csv(d, "user_id\n1\n")]),
     ["recommendations", "different formats"]),
    ("files with other columns", lambda d: evaluate([parquet(d), file(d, "b.parquet", S)]),
     ["recommendations", "rank", "b.parquet"]),
    ("files with ids of other types",
     lambda d: evaluate([parquet(d), file(d, "b.parquet", S.assign(rank=1).astype(str))]),
     ["recommendations", "user_id", "b.parquet", "BIGINT", "VARCHAR"]),
    ("JSON that breaks late",
     lambda d: evaluate(
         csv(d, '{"user_id": 1, "item_id": 10, "rank": 1}\n' * 30000 + "{x}\n", "a.jsonl")),
     ["recommendations", "a.jsonl", "line 3000"]),
    ("JSON lines without names", lambda d: evaluate(csv(d, "[1, 2]\n[1, 3]\n", "a.jsonl")),
     ["recommendations", "a.jsonl", "user_id"]),
    # ---- TREC
    ("qrels as the run", lambda d: evaluate(csv(d, QRELS, "a"), csv(d, QRELS, "b")),
     ["recommendations", "qrels"]),
    ("a run as the qrels", lambda d: evaluate(csv(d, RUN, "a"), csv(d, RUN, "b")),
     ["interactions", "run"]),
    # ---- columns
    ("no item", lambda _: evaluate(R.rename(columns={"item_id": "itemid"})),
     ["recommendations", "'item_id'", "did you mean 'itemid'", "user_id, itemid, rank",
      "Map it with columns={'recommendations.item_id': 'itemid'}"]),
    ("a near miss", lambda _: evaluate(R.rename(columns={"item_id": "itm_id"})),
     ["If you mean itm_id, map it with columns={'recommendations.item_id': 'itm_id'}"]),
    ("two near misses",
     lambda _: evaluate(R.rename(columns={"item_id": "itm_id"}).assign(iem_id=1)),
     ["'itm_id' or 'iem_id'", "Map another column with columns={'recommendations.item_id': …}"]),
    ("no user", lambda _: evaluate(R, I.rename(columns={"user_id": "uid"})),
     ["interactions", "'user_id'", "'uid'", "columns={'interactions.user_id': 'uid'}"]),
    ("no column at all", lambda _: evaluate(pd.DataFrame()), ["recommendations", "no columns"]),
    ("no column in the truth", lambda _: evaluate(R, pd.DataFrame()),
     ["interactions: the table given as interactions has no columns", "Give a table with rows"]),
    ("a near miss that is mapped to another name",
     lambda _: evaluate(R.rename(columns={"user_id": "member", "item_id": "video_id"}),
                        columns={"recommendations.item_id": "video_id"}),
     ["no column 'user_id'. It has", "another column with columns={'recommendations.user_id': …}"]),
    ("a mapped column that is not there", lambda _: evaluate(columns={"user_id": "usr"}),
     ["recommendations", "'usr'", "user_id, item_id, rank"]),
    ("a mapped relevance that is not there",
     lambda _: evaluate(columns={"interactions.relevance": "rating"}),
     ["interactions", "'rating'"]),
    ("neither rank nor score, by a metric that counts hits only",
     lambda _: evaluate(R.drop(columns="rank"), metric="hit_rate"), ["recommendations", "score"]),
    ("order by a score that is not there", lambda _: evaluate(R, settings={"order": "score"}),
     ["recommendations", "score", "order"]),
    ("order by a rank that is not there", lambda _: evaluate(S, settings={"order": "rank"}),
     ["recommendations", "rank", "order"]),
    ("a key that is not there", lambda _: evaluate(key=["user_id", "session"]),
     ["recommendations", "'session'"]),
    ("two columns of one name", lambda _: evaluate(pd.concat([R, R[["user_id"]]], axis=1)),
     ["recommendations", "same name", "user_id"]),
    ("names that differ in case only", lambda _: evaluate(R.assign(User_ID=1)),
     ["recommendations", "user_id", "User_ID"]),
    ("a column that is mapped twice",
     lambda _: evaluate(columns={"recommendations.user_id": "item_id"}),
     ["the column item_id of", "is mapped to user_id, so there is none for item_id",
      "columns={'recommendations.item_id': …}"]),
    ("history without items", lambda _: evaluate(history=pd.DataFrame({"user_id": [1]})),
     ["history", "'item_id'"]),
    ("a catalogue without items", lambda _: evaluate(items=pd.DataFrame({"sku": [1]})),
     ["items", "'item_id'", "sku"]),
    # ---- ids
    ("NULL users",
     lambda _: evaluate(R.assign(user_id=pd.array([1, None, 2, 2], dtype="Int64"))),
     ["recommendations", "user_id", "1 of 4 rows", "NULL", "11", "What to do"]),
    ("NULL items in the truth",
     lambda _: evaluate(R, I.assign(item_id=pd.array([10, None], dtype="Int64"))),
     ["interactions", "item", "1 of 2 rows", "NULL", "What to do"]),
    ("only NULL users", lambda _: evaluate(R.assign(user_id=None)),
     ["recommendations", "user_id", "NULL"]),
    ("a model that is NULL", lambda _: evaluate(R.assign(model=["a", None, "a", "a"])),
     ["1 of 4 rows has a NULL model, user or item", "lost the ids or the column model"]),
    ("NULL users of runs", lambda _: evaluate(R.assign(model="a", run=[1, None, 1, 1])),
     ["1 of 4 rows has a NULL model, run, user or item", "the column model or run"]),
    ("history of another type", lambda _: evaluate(history=I.astype(str)),
     ["recommendations and history", "user_id"]),
    ("models of different types",
     lambda _: evaluate({"als": R, "knn": R.astype({"item_id": str})}),
     ["recommendations", "item_id", "als", "knn", "BIGINT", "VARCHAR"]),
    ("a model without an order", lambda _: evaluate({"als": R, "knn": R.drop(columns="rank")}),
     ["recommendations", "als", "knn", "rank", "score"]),
    ("a dict with two types of items", lambda _: evaluate({1: [10], 2: ["a"]}),
     ["recommendations", "item", "different types", "'a'"]),
    ("a dict with two types of users", lambda _: evaluate({1: [10], "b": [10]}),
     ["recommendations", "user", "different types", "'b'"]),
    ("ids beyond 64 bits in a dict", lambda _: evaluate({1: [10**30]}),
     ["recommendations", "item_id", "64 bits", "to text"]),
    ("ids beyond 64 bits in a frame", lambda _: evaluate(R.assign(item_id=[10**30] * 4)),
     ["recommendations", "item_id", "unsupported types", "too large"]),
    ("structs as ids",
     lambda _: evaluate(pa.table({"user_id": [{"a": 1}], "item_id": [1], "rank": [1]})),
     ["recommendations", "user_id", "STRUCT"]),
    ("lists of lists", lambda _: evaluate(pa.table({"user_id": [1], "item_id": [[[1]]]})),
     ["recommendations", "item_id", "cannot be an id"]),
    ("spans of time as users",  # which come back as DateOffset
     lambda _: evaluate(R.assign(user_id=pd.to_timedelta(R["user_id"], unit="h"))),
     ["recommendations, column user_id", "INTERVAL, which cannot be an id"]),
    ("lists of items in the cells of the truth",
     lambda _: evaluate(R.astype({"item_id": str}), I.assign(item_id=["10|11", "12"])),
     ["interactions, column item_id", "1 of 1 ids with a separator is a list of ids of other rows",
      "separated by '|'", "unnest(string_split_regex(item_id, ' *[|] *')) AS item_id"]),
    ("lists of items in the cells of the lists",
     lambda _: evaluate(pd.DataFrame({"user_id": [1, 2], "sku": ["['10', '11']", "['12']"],
                                      "rank": 1}), I.assign(item_id=["10", "11"]),
                        columns={"recommendations.item_id": "sku"}),
     ["recommendations, column item_id (sku)", "separated by ','",
      "unnest(coalesce(try_cast(sku AS VARCHAR[]), [sku])) AS item_id"]),
    ("lists of categories in one text",
     lambda _: evaluate(items=pd.DataFrame({"item_id": [10, 11, 12],
                                            "genres": ["A; B", "A", "B"]}),
                        metric="category_coverage@2", columns={"items.category": "genres"}),
     ["items, column category (genres)", "1 of 1 categories with a separator or in brackets is a ",
      "separated by ';'",
      "string_split_regex(genres, ' *[;] *') AS category"]),
    *((f"lists in the column {column} that pandas wrote to CSV",
       lambda _, table=table, column=column, metric=metric: evaluate(
           metric=metric, history=I, **{table: pd.DataFrame(
               {"item_id": [10, 11, 12, 13], column: ["['a', 'b']", "['a']", "['b']", "['a']"]})}),
       [f"{table}, column {column}: 3 of 3 ", " are lists of ", "separated by ','",
        f"coalesce(try_cast({column} AS VARCHAR[]), [{column}]) AS {column}"])
      for table, column, metric in [("items", "category", "category_coverage@2"),
                                    ("items", "item_group", "awrf@2"),
                                    ("aspects", "aspect", "alpha_ndcg@2")]),
    ("ids that differ in a blank",
     lambda _: evaluate(R.astype(str).astype({"rank": int}), I.astype(str).map(lambda x: x + " ")),
     ["no user in common", "'1'", "'1 '"]),
    ("no item in common", lambda _: evaluate(R, I.assign(item_id=[77, 78])),
     ["recommendations", "item_id", "none of the recommended items (4 rows) is in the interactions",
      '"77"', '"78"', "trust_input=True"]),
    ("items that differ in a blank",
     lambda _: evaluate({"u": ["a"], "v": ["b"]}, {"u": [" a"], "v": [" b"]}),
     ['"a"', '" a"', "blanks"]),
    # ---- scores and relevance
    ("a score that is infinite", lambda _: evaluate(S.assign(score=[1, -np.inf, 2, np.inf])),
     ["recommendations", "score", "2 of 4", "inf", "What to do"]),
    ("a mapped score in text", lambda _: evaluate(S.assign(s=list("abcd")), columns={"score": "s"}),
     ["recommendations", "score (s)", "VARCHAR"]),
    ("relevance in text", lambda _: evaluate(R, I.assign(relevance=["a", "b"])),
     ["interactions", "relevance", "VARCHAR", "{'interactions.relevance': …}"]),
    ("relevance that is NULL", lambda _: evaluate(R, I.assign(relevance=[1, None])),
     ["interactions", "relevance", "1 of 2", "NULL", "What to do"]),
    ("relevance that is infinite", lambda _: evaluate(R, I.assign(relevance=[1, np.inf])),
     ["interactions", "relevance", "1 of 2", "inf"]),
    ("a threshold without relevance", lambda _: evaluate(settings={"relevant_from": 4}),
     ["interactions", "relevant_from", "relevance"]),
    # ---- ranks
    ("negative ranks", lambda _: evaluate(R.assign(rank=[-1, 1, 1, 2])),
     ["recommendations", "rank", "1 of 4", "-1", "What to do"]),
    ("ranks that are NULL", lambda _: evaluate(R.assign(rank=[1, None, 1, 2])),
     ["recommendations", "rank", "1 of 4", "NULL"]),
    ("ranks that are NaN",
     lambda _: evaluate(pa.table({**I.to_dict("list"), "rank": [1.0, float("nan")]})),
     ["recommendations", "rank", "1 of 2", "nan"]),
    ("ranks that are infinite", lambda _: evaluate(R.assign(rank=[1, np.inf, 1, 2])),
     ["recommendations", "rank", "1 of 4", "inf", "whole number"]),
    ("ranks in text", lambda _: evaluate(R.assign(rank=list("1212"))),
     ["recommendations", "rank", "VARCHAR", "not a number"]),
    ("ranks that repeat far down",
     lambda _: evaluate(pd.DataFrame(
         {"user_id": 1, "item_id": range(200), "rank": [*range(1, 199), 198, 200]})),
     ["recommendations", "rank", "198", "What to do"]),
    ("ranks from 2", lambda _: evaluate(R.assign(rank=[2, 3, 1, 2])),
     ["recommendations", "rank", "1 of 2 lists", "settings={'rank_gaps': 'close'}"]),
    ("a huge rank", lambda _: evaluate(R.assign(rank=[1, 2**62, 1, 2])),
     ["recommendations", "rank", "gaps", str(2**62)]),
    ("a repeat and a gap",
     lambda _: evaluate(pd.DataFrame({"user_id": 1, "item_id": [1, 2, 3], "rank": [1, 1, 3]})),
     ["recommendations", "rank", "What to do"]),
    # ---- duplicates
    ("an item twice, by score", lambda _: evaluate(S.assign(item_id=[10, 10, 10, 12])),
     ["recommendations", "1 of 4 rows", "duplicate_recommendations", "keep", "dedup_then_cut"]),
    ("every row twice", lambda _: evaluate(pd.concat([R, R])),
     ["recommendations", "4 of 8 rows", "duplicate_recommendations"]),
    ("two models in one table without a column model",
     lambda _: evaluate(pd.concat([S, S.assign(score=1.0)])),
     ["recommendations", "4 of 8 rows", "model"]),
    ("an item twice in a dict", lambda _: evaluate({1: [10, 10]}),
     ["recommendations", "1 of 2 rows", "duplicate_recommendations"]),
    # ---- nothing there
    ("no rows", lambda _: evaluate(R.iloc[:0]), ["recommendations", "empty"]),
    ("no rows in the truth", lambda _: evaluate(R, I.iloc[:0]), ["interactions", "empty"]),
    ("a dict without users", lambda _: evaluate(R, {}), ["interactions", "empty"]),
    ("a dict without items", lambda _: evaluate({1: [], 2: []}), ["recommendations", "empty"]),
    ("a table without rows in a connection",
     lambda _: evaluate("t", connection=connection_with_empty_table()),
     ["recommendations", "empty"]),
    ("a table that is not there", lambda _: evaluate("lists", connection=duckdb.connect()),
     ["recommendations", "lists", "no such table"]),
    # ---- dicts and lists
    ("lists and scores in one dict", lambda _: evaluate({1: [10], 2: {10: 1.0}}),
     ["recommendations", "user 2"]),
    ("text in place of a list", lambda _: evaluate({1: "abc", 2: [1]}), ["user 1", "'abc'"]),
    ("a number in place of a list", lambda _: evaluate({1: 5, 2: [1]}), ["user 1", "5"]),
    ("a set in place of a list", lambda _: evaluate({1: {10, 11}}), ["user 1", "set", "order"]),
    ("pairs of item and score", lambda _: evaluate({1: [(10, 0.5), (11, 0.3)]}),
     ["recommendations", "pairs", "{item: score}"]),
    ("a missing item in a dict", lambda _: evaluate({1: [10, None]}), ["recommendations", "NULL"]),
    ("a missing score in a dict", lambda _: evaluate({1: {10: 1.0, 11: None}}), ["score", "NULL"]),
    ("a text in place of a score", lambda _: evaluate({1: {10: "x"}}), ["run 10", "no file x"]),
    ("lists of different lengths in one row",
     lambda _: evaluate(
         pa.table({"user_id": [1, 2], "item_id": [[10, 11], [12]], "score": [[1.0], [2.0, 3.0]]})),
     ["recommendations", "item_id", "score", "lengths", "its own value"]),
    ("a list of scores for one item",
     lambda _: evaluate(pa.table({"user_id": [1, 2], "item_id": [10, 11], "score": [[1.0], []]})),
     ["recommendations, column score", "DOUBLE[]", "one row per item"]),
    ("a score for a list of items",
     lambda _: evaluate(pa.table({"user_id": [1], "item_id": [[10, 11]], "score": [1.0]})),
     ["recommendations", "one score", "list of scores"]),
    ("labels without an item in lists",  # an empty list would drop its row
     lambda _: evaluate(interactions=pa.table(
         {"user_id": [1, 2], "item_id": [10, 12], "relevance": [[1], []]})),
     ["interactions, column relevance", "BIGINT[]", "one row per item"]),
    ("several keys in one text", lambda _: evaluate(key="user_id, item_id"),
     ["recommendations", "key=['user_id', 'item_id']"]),
    ("lists of users", lambda _: evaluate(pa.table({"user_id": [[1], [2]], "item_id": [10, 12]})),
     ["recommendations", "user_id", "list"]),
]  # fmt: skip

USAGE_ERRORS: list[Case] = [
    ("k < 0", lambda _: evaluate(k=-1), ["k", "positive whole number", "-1"]),
    ("k = 1.5", lambda _: evaluate(k=1.5), ["k", "positive whole number", "1.5"]),
    ("k is None in a list", lambda _: evaluate(k=[5, None]), ["k", "None"]),
    ("k is True", lambda _: evaluate(k=True), ["k", "True"]),
    ("k is NaN", lambda _: evaluate(k=float("nan")), ["k", "nan"]),
    ("k is infinite", lambda _: evaluate(k=float("inf")), ["k", "inf"]),
    ("k is too large", lambda _: evaluate(k=10**12), ["k", "1000000000000"]),
    ("no k", lambda _: evaluate(k=[]), ["k is an empty list"]),
    ("a metric with a typing error", lambda _: evaluate(metric="nDGC@10"),
     ["unknown metric", "'nDGC'", "did you mean 'ndcg'", "sqlmetrics list"]),
    ("a metric that is nothing like ours", lambda _: evaluate(metric="zzzz"), ["unknown metric"]),
    ("an empty metric", lambda _: evaluate(metric=""), ["metric ''"]),
    ("no metric", lambda _: evaluate(metric=[]), ["list of metrics is empty"]),
    ("a metric that is a number", lambda _: evaluate(metric=[1]), ["metric", "1"]),
    ("a metric that is None", lambda _: evaluate(metric=["mrr", None]), ["metric", "None"]),
    ("metrics that are a number", lambda _: evaluate(metric=5), ["metric", "5"]),
    ("two metrics in one text", lambda _: evaluate(metric="mrr@1,ndcg@1"), ["'mrr@1,ndcg@1'"]),
    ("a parameter without a name", lambda _: evaluate(metric="ndcg(linear)"), ["name=value"]),
    ("a parameter twice", lambda _: evaluate(metric="ndcg(gain=linear, gain=linear)"), ["twice"]),
    ("a parameter of another metric", lambda _: evaluate(metric="mrr(gain=linear)"), ["'gain'"]),
    ("an unknown value of a metric's setting", lambda _: evaluate(settings={"gain": "foo"}),
     ["gain", "'foo'"]),
    ("a setting of an unknown metric", lambda _: evaluate(settings={"ndgc.gain": "linear"}),
     ["'ndgc'", "did you mean 'ndcg'"]),
    ("a setting that the metric lacks", lambda _: evaluate(settings={"mrr.gain": "linear"}),
     ["'gain'", "mrr"]),
    ("a threshold in words", lambda _: evaluate(settings={"relevant_from": "high"}),
     ["relevant_from", "a number", "'high'"]),
    ("settings that are no dict", lambda _: evaluate(settings=["ties=row"]), ["settings", "dict"]),
    ("a setting that has a number as its name", lambda _: evaluate(settings={1: 2}), ["setting"]),
    ("a convention like no other", lambda _: evaluate(convention="xyz"),
     ["'xyz'; choose one of standard, "]),
    ("a convention file that is not there", lambda _: evaluate(convention="x.toml"), ["x.toml"]),
    ("a convention with an unknown setting",
     lambda d: evaluate(convention=csv(d, '[settings]\ntie = "row"\n', "x.toml")),
     ["'tie'", "did you mean 'ties'", "x"]),
    ("a mapping of an unknown column", lambda _: evaluate(columns={"usr_id": "u"}),
     ["'usr_id'", "did you mean 'user_id'"]),
    ("a mapping the wrong way round", lambda _: evaluate(columns={"movie": "item_id"}),
     ["movie=item_id", "'movie'"]),
    ("a mapping of an unknown table", lambda _: evaluate(columns={"interaction.user_id": "u"}),
     ["'interaction'", "did you mean 'interactions'"]),
    ("a column in a dict", lambda _: evaluate(columns={"users.weight": {"a": "w"}}),
     ["columns={'users.weight': 'COLUMN'}"]),
    ("columns of a table in a dict", lambda _: evaluate(columns={"users": {"weight": "w"}}),
     ["columns={'users.weight': 'w'}"]),
    ("columns that are no dict", lambda _: evaluate(columns=["user_id=u"]), ["columns", "dict"]),
    ("no key", lambda _: evaluate(key=[]), ["key"]),
    ("a key twice", lambda _: evaluate(key=["user_id", "user_id"]), ["key", "user_id", "twice"]),
    ("a number as a source", lambda _: evaluate(3), ["recommendations", "int", "path"]),
    ("an array as a source", lambda _: evaluate(np.zeros((2, 3))), ["recommendations", "ndarray"]),
    ("a series as a source", lambda _: evaluate(R["rank"]), ["recommendations", "Series"]),
    ("tuples as a source", lambda _: evaluate([(1, 10)]), ["recommendations", "list"]),
    ("an empty list as a source", lambda _: evaluate([]), ["recommendations", "list of files"]),
    ("a model without a name", lambda _: evaluate({" ": R}),
     ["recommendations", "the name of a model is empty"]),
    ("no threads", lambda _: evaluate(threads=0), ["threads", "0"]),
    ("threads in words", lambda _: evaluate(threads="two"), ["threads", "'two'"]),
    ("memory in bytes that are no text", lambda _: evaluate(memory_limit="\ud800"),
     ["memory_limit must be a size such as 4GB", "\\ud800"]),
    ("threads for a connection", lambda _: evaluate(connection=duckdb.connect(), threads=2),
     ["threads", "connection"]),
    ("a connection that is a name", lambda _: evaluate(connection="a.duckdb"), ["connection"]),
    ("a closed connection", lambda _: evaluate(connection=closed_connection()),
     ["connection", "closed"]),
    ("an unknown stage", lambda _: stage("hit"), ["'hit'", "did you mean 'hits'"]),
    ("an evaluator that is closed", lambda _: after_close(), ["closed"]),
]  # fmt: skip


def connection_with_empty_table() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (user_id BIGINT, item_id BIGINT, rank INTEGER)")
    return connection


def closed_connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.close()
    return connection


def stage(name: str) -> pd.DataFrame:
    with Evaluator(R, I) as evaluator:
        return evaluator.stage(name)


def after_close() -> pd.DataFrame:
    evaluator = Evaluator(R, I)
    evaluator.close()
    return evaluator.evaluate("mrr")


# words of the engine and of Python that mean nothing to the reader
INTERNAL = re.compile(r"Binder Error|Traceback|Candidate bindings|<class|0x[0-9a-f]{6}|\?\.")


def wrong_errors(cases: list[Case], kind: type[Exception], folder: Path) -> dict[str, str]:
    """Make the calls; return the errors of another kind or without the words: {case: error}."""
    wrong = {}
    for name, call, words in cases:
        place = folder / name.replace("/", " ")
        place.mkdir()
        error: Exception | None = None
        try:
            call(place)
        except Exception as raised:
            error = raised
        message = str(error)
        lacking = [word for word in words if word not in message]
        if not isinstance(error, kind) or lacking or INTERNAL.search(message):
            wrong[name] = f"{error!r} lacks {lacking}"
    return wrong


def test_bad_data(tmp_path: Path) -> None:
    assert wrong_errors(DATA_ERRORS, sm.DataError, tmp_path) == {}


def test_bad_requests(tmp_path: Path) -> None:
    assert wrong_errors(USAGE_ERRORS, sm.UsageError, tmp_path) == {}


def test_every_error_is_one_of_ours() -> None:
    for kind in (sm.DataError, sm.EngineError, sm.UsageError, sm.TemplateError):
        assert issubclass(kind, sm.SqlmetricsError)
    assert issubclass(sm.MissingTableError, sm.UsageError)
    assert sm.DataError.exit_code == 1
    assert sm.UsageError.exit_code == 2


def test_mapped_columns_are_named_by_both_names() -> None:
    frame = R.rename(columns={"rank": "place"}).assign(place=[0, 1, 0, 1])
    with pytest.raises(sm.DataError, match="place"):
        evaluate(frame, columns={"rank": "place"})
    score = S.rename(columns={"score": "s"}).assign(s=[1, None, 2, 3])
    with pytest.raises(sm.DataError, match=r"score \(s\)"):
        evaluate(score, columns={"score": "s"})


def test_no_more_than_a_few_rows_are_shown() -> None:
    rows = pd.DataFrame({"user_id": range(1000), "item_id": 1, "rank": 0})
    with pytest.raises(sm.DataError, match="1,000 of 1,000") as caught:
        evaluate(rows)
    assert 5 <= str(caught.value).count("\n") <= 8


# ---------------------------------------------------------------- what settings resolve


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("duplicate_recommendations", ["keep", "dedup_then_cut", "cut_then_dedup"]),
        ("duplicate_interactions", ["set", "bag"]),
        ("rank_gaps", ["close"]),
    ],
)
def test_the_settings_that_messages_name_resolve_them(name: str, values: list[str]) -> None:
    bad: dict[str, tuple[Any, Any]] = {
        "duplicate_recommendations": (S.assign(item_id=[10, 10, 10, 12]), I),
        "duplicate_interactions": (R, pd.concat([I, I])),
        "rank_gaps": (R.assign(rank=[0, 4, 7, 9]), I),
    }
    with pytest.raises(sm.DataError, match=name):
        evaluate(*bad[name])
    for value in values:
        assert len(evaluate(*bad[name], settings={name: value})) == 1


def test_only_the_tables_that_are_read_are_checked() -> None:
    twice = pd.concat([I, I])
    with Evaluator(R, twice, history=I) as evaluator:
        assert evaluator.evaluate("coverage")["value"].item() == 1
        with pytest.raises(sm.DataError, match="interactions"):
            evaluator.evaluate("mrr")


def test_what_is_refused_once_is_refused_again() -> None:
    with Evaluator(R, pd.concat([I, I])) as evaluator:
        for _ in range(2):
            with pytest.raises(sm.DataError, match="repeat"):
                evaluator.evaluate("mrr")
        assert len(evaluator.evaluate("mrr(duplicate_interactions=set)")) == 1
        with pytest.raises(sm.DataError, match="repeat"):
            evaluator.evaluate(["mrr(duplicate_interactions=set)", "mrr"])


def test_a_refused_parquet_result_leaves_no_file(tmp_path: Path) -> None:
    with (
        Evaluator(R.assign(rank=[0, 1, 0, 1]), I) as evaluator,
        pytest.raises(sm.DataError, match="rank"),
    ):
        evaluator.write_parquet(tmp_path / "a.parquet", "mrr")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- trust_input


@pytest.mark.parametrize(
    ("recommendations", "interactions"),
    [
        (R.assign(rank=[1, 1, 1, 2]), I),
        (R.assign(rank=[1, 3, 1, 2]), I),
        (R.assign(item_id=[10, 10, 10, 12]), I),
        (S.assign(score=[1, None, 2, 3]), I),
        (R, pd.concat([I, I])),
        (R, I.assign(user_id=[7, 8])),
        (R, I.assign(item_id=pd.array([10, None], dtype="Int64"))),
    ],
    ids=["repeat", "gap", "duplicate", "score", "interactions", "common", "null"],
)
def test_trust_input_skips_the_rows(recommendations: Any, interactions: Any) -> None:
    with pytest.raises(sm.DataError):
        evaluate(recommendations, interactions)
    assert len(evaluate(recommendations, interactions, trust_input=True)) == 1


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda: evaluate(R, I.astype(str), trust_input=True), "different types"),
        (lambda: evaluate(R.drop(columns="item_id"), trust_input=True), "'item_id'"),
        (lambda: evaluate(R.drop(columns="rank"), trust_input=True), "score"),
        (lambda: evaluate(S.assign(score=list("abcd")), trust_input=True), "not a number"),
    ],
)
def test_trust_input_still_looks_at_columns_and_types(
    call: Callable[[], Any], fragment: str
) -> None:
    with pytest.raises(sm.DataError, match=fragment):
        call()


# ---------------------------------------------------------------- normal data


def test_normal_data_is_no_error() -> None:
    """Short lists, users missing on either side and unknown items have their defined value."""
    lists = {1: [10], 2: [99, 98, 97], 4: [10, 11]}
    truth = {1: [10, 11, 12], 2: [10], 3: [10]}
    with Evaluator(lists, truth) as evaluator:
        frame = evaluator.per_user(["precision", "recall", "mrr", "ndcg"], k=5, long=True)
    assert list(frame["user_id"]) == [1, 2, 3]
    assert list(frame["precision"]) == pytest.approx([1 / 5, 0, 0])
    assert list(frame["recall"]) == pytest.approx([1 / 3, 0, 0])
    assert list(frame["mrr"]) == pytest.approx([1, 0, 0])
    assert not frame.isna().any(axis=None)


@pytest.mark.parametrize("relevance", [[0, 0], [0.0, -1.0]], ids=["zero", "negative"])
def test_nothing_relevant_is_no_error(relevance: list[float]) -> None:
    result = evaluate(R, I.assign(relevance=relevance))
    assert result["n_users"].item() == 0
    assert result["value"].isna().item()


def test_lists_that_do_miss_every_item_score_0_without_checks() -> None:
    missed = I.assign(item_id=[77, 78])
    assert evaluate(R, missed, trust_input=True)["value"].item() == 0


def test_no_item_in_common_is_refused_only_where_hits_are_counted() -> None:
    missed = I.assign(item_id=[77, 78])
    call = "coverage(counted=all, scale=count)"
    assert evaluate(R, missed, metric=call)["value"].item() == R["item_id"].nunique()
    mixed = pd.concat([missed, I.assign(user_id=[98, 99], item_id=[77, R["item_id"][0]])])
    assert evaluate(R, mixed)["value"].item() == 0  # an item that another user has is in common


@pytest.mark.parametrize("models", [("als",), ("als", "popular")])
@pytest.mark.parametrize(
    ("users", "items", "refused"),
    [(1, [8, 9], False), (2, [8, 9], True), (2, [4], False), (9, [4], False), (10, [4], True)],
)
def test_few_users_without_a_hit_are_warned_of(
    models: tuple[str, ...], users: int, items: list[int], refused: bool
) -> None:
    """A single list can miss every item, and so can a few where the ranges of ids overlap."""
    lists = {user: [3, 5] for user in range(users)}
    truth = dict.fromkeys(range(users), items)
    source: Any = lists if len(models) == 1 else dict.fromkeys(models, lists)
    if refused:
        with pytest.raises(sm.DataError, match="none of the recommended items"):
            evaluate(source, truth)
    else:
        with pytest.warns(sm.DataWarning, match="recommends? only items that are not in the inter"):
            found = evaluate(source, truth, check=True)
        assert found["value"].tolist() == [0] * len(models)
        assert found["n_users"].tolist() == [users] * len(models)


def test_one_model_with_an_item_in_common_is_enough() -> None:
    hit = R.assign(item_id=R["item_id"].replace(R["item_id"][0], 77))
    found = evaluate({"als": R, "popular": hit}, I.assign(item_id=[77, 78]))
    assert found["value"].gt(0).tolist() == [False, True]


def test_one_user_and_one_item() -> None:
    result = evaluate({1: [10]}, {1: [10]}, k=1)
    assert result["value"].item() == 1
    assert result["n_users"].item() == 1


def test_ranks_as_whole_floats_are_ranks() -> None:
    assert evaluate(R.astype({"rank": float}))["value"].item() == evaluate()["value"].item()


def test_rows_in_any_order_are_no_error() -> None:
    assert evaluate(R[::-1])["value"].item() == evaluate()["value"].item()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (600, "600"), (600.0, "600"), (Decimal("6000"), "6,000"), (0.5, "0.5"), (None, "None"),
        (math.nan, "nan"), (math.inf, "inf"),
    ],
)  # fmt: skip
def test_counts_are_whole_numbers(value: object, text: str) -> None:
    """Sums of whole numbers are decimal numbers in some engines: 10 of 600, not 10.0 of 600.0."""
    assert _number_text(value) == text


@pytest.mark.parametrize("glue", [" ", "|", ",", "; ", "list"])
def test_the_query_that_splits_lists_in_cells(tmp_path: Path, glue: str) -> None:
    """Users with one held-out item matched, the others never did."""
    truth = {f"u{n}": [f"i{n}", f"i{n + 1}", f"i{n + 2}"][: 1 if n % 2 else 3] for n in range(9)}
    cells = [str(items) if glue == "list" else glue.join(items) for items in truth.values()]
    path = tmp_path / "truth.csv"
    pd.DataFrame({"user_id": [*truth], "item_id": cells}).to_csv(path, index=False)
    # every item of a cell is in some list
    lists = {user: [items[0], f"i{n + 1}"] for n, (user, items) in enumerate(truth.items())}
    with Evaluator(lists, path) as evaluator, pytest.raises(sm.DataError) as raised:
        evaluator.evaluate("hit_rate")
    column = re.search(r"unnest.* AS item_id", str(raised.value))
    assert column is not None
    with Evaluator(lists, f"SELECT user_id, {column[0]} FROM '{path}'") as evaluator:
        values = evaluator.evaluate(["hit_rate", "recall"])["value"]
    assert values.tolist() == pytest.approx([1, (4 * 1 + 5 * 2 / 3) / 9])


def test_the_query_that_splits_lists_of_recommendations_keeps_their_order(tmp_path: Path) -> None:
    """The relevant item is the first of every list, whatever its id."""
    truth = {f"u{n}": [f"i{9 - n % 10}"] for n in range(20)}
    cells = [
        " ".join([items[0], *sorted({"i0", "i3", "i7"} - {*items})]) for items in truth.values()
    ]
    path = tmp_path / "lists.csv"
    pd.DataFrame(
        {"user_id": [*truth, "u99", "u98"], "item_id": [*cells, "i0", "i3"], "score": 1.0}
    ).to_csv(path, index=False)
    with Evaluator(path, truth) as evaluator, pytest.raises(sm.DataError) as raised:
        evaluator.evaluate("mrr")
    column = re.search(r"unnest.* AS item_id", str(raised.value))
    place = re.search(r"generate_subscripts.* AS rank", str(raised.value))
    assert column is not None
    assert place is not None
    query = f"SELECT user_id, {column[0]}, {place[0]} FROM '{path}'"
    with Evaluator(query, truth) as evaluator:
        assert evaluator.evaluate("mrr")["value"].item() == 1


def test_names_of_several_words_and_bundles_are_ids() -> None:
    """Texts that both tables have are ids, also if their words are ids, too."""
    words = ["blue", "red", "shoe", "shirt", "hat"]
    names = [*words, *(f"{one} {other}" for one in words for other in words if one != other)]
    bundles = [*map(str, range(12)), *(f"{n},{n + 1}" for n in range(11))]
    for ids in (names, bundles):
        lists = {n: [ids[n], ids[(n + 5) % len(ids)]] for n in range(len(ids))}
        truth = {n: [ids[n]] for n in range(len(ids))}
        with Evaluator(lists, truth) as evaluator:
            assert evaluator.evaluate("mrr")["value"].item() == 1


def test_lists_in_brackets_by_the_remedy() -> None:
    rows = "(VALUES (10, '[]'), (11, '[\"a, b\"]'), (12, '[''a'', ''b'']')) AS given(item_id, kind)"
    items = duckdb.sql(f"FROM {rows}").df()
    with pytest.raises(sm.DataError, match="are lists of categories") as told:
        evaluate(items=items, metric="category_coverage@2", columns={"items.category": "kind"})
    _, expression = str(told.value).split("DuckDB that has ")
    lists = duckdb.sql(f"SELECT item_id, {expression.rstrip('.')} FROM {rows}").df()
    assert [[*found] for found in lists["category"]] == [[], ["a, b"], ["a", "b"]]
    missing = {"missing_attributes": "ignore"}
    # user 1 has 10 and 11, with one category; user 2 has 10 and 12, with two
    values = evaluate(items=lists, metric="category_coverage@2", settings=missing)["value"]
    assert values.tolist() == [(1 / 2 + 2 / 2) / 2]


def test_categories_with_commas_in_lists_are_names() -> None:
    lists = [["Home, Garden"], ["Home, Office"], ["Home"], ["Garden"]]
    items = pd.DataFrame({"item_id": FOUR, "category": lists})
    assert evaluate(items=items, metric="category_coverage@2")["value"].tolist() == [1]


def test_the_list_of_categories_in_the_remedy() -> None:
    items = pd.DataFrame({"item_id": [10, 11, 12], "genres": ["A | B", "A|C", "B"]})
    split = duckdb.sql(
        "SELECT item_id, string_split_regex(genres, ' *[|] *') AS category FROM items"
    )
    del items
    # user 1 has the categories A, B and C in the list, user 2 has A and B
    assert evaluate(items=split, metric="category_coverage@2")["value"].tolist() == [1.25]
    by_row = pd.DataFrame({"item_id": [10, 10, 11, 12], "category": list("ABCB")})
    with pytest.raises(sm.DataError, match=r"list\(DISTINCT category\) AS category and GROUP BY"):
        evaluate(items=by_row, metric="category_coverage@2")


def test_phrases_whose_words_are_items() -> None:
    """Fewer than half of the phrases have two words that are items."""
    lists = {1: ["new york", "new", "york", "san jose", "los angeles"]}
    with Evaluator(lists, {1: ["new", "san jose"]}) as evaluator:
        assert evaluator.evaluate("hit_rate")["value"].tolist() == [1]


def test_rows_of_scored_tables_without_a_score() -> None:
    """Removing such a row would remove a relevant item, and recall would be 1."""
    table = pd.DataFrame(
        {"user_id": 1, "item_id": [1, 2, 3], "relevance": [5, 4, 0], "score": [4.2, None, 4.3]}
    )
    with Evaluator(scored=table) as evaluator, pytest.raises(sm.DataError) as raised:
        evaluator.evaluate("recall@2")
    remedy = "where={'recommendations': 'score - score = 0'}"
    assert remedy in str(raised.value)
    with Evaluator(scored=table, where={"recommendations": "score - score = 0"}) as evaluator:
        assert evaluator.evaluate("recall@2")["value"].tolist() == [0.5]


def test_scores_that_are_not_finite_are_omitted_as_the_message_says(tmp_path: Path) -> None:
    """pyarrow writes the lowest and highest values of a Parquet column without regard to NaN."""
    path = tmp_path / "lists.parquet"
    scores = [0.5, float("nan"), None, float("inf"), 0.25]
    table = pa.table({"user_id": [1] * 5, "item_id": range(5), "my score": scores})
    pq.write_table(table, path)
    columns = {"score": "my score"}
    for lists in (path, table, pl.from_arrow(table)):
        with pytest.raises(sm.DataError, match="3 of 5 scores are NULL") as raised:
            evaluate(lists, {1: [4]}, columns=columns)
        where = {"recommendations": '"my score" - "my score" = 0'}
        assert f"with where={where}" in str(raised.value)
        kept = evaluate(lists, {1: [4]}, columns=columns, where=where)
        assert kept["value"].tolist() == [0.5]


def test_groups_with_commas_in_their_names_are_no_lists() -> None:
    """Half of "Food, Drink" stands twice, as a group of its own; a list would be in brackets."""
    names = ["Food, Drink", "Food", "Food", "Drink"]
    items = pd.DataFrame({"item_id": [10, 11, 12, 13], "item_group": names})
    assert evaluate(metric="awrf@2", history=I, items=items) is not None


def test_categories_are_no_lists_of_one_that_two_items_have() -> None:
    items = pd.DataFrame({"item_id": [10, 11, 12], "category": ["Home, Garden", "Home", "Home"]})
    assert evaluate(metric="category_coverage@2", items=items) is not None


FOUR = [10, 11, 12, 13]


@pytest.mark.parametrize(
    "names",
    [
        ["Food, Drink", "Food", "Drink", None],
        ["Food, Drink", "Food", "Drink", "Home, Garden"],
        ["[untitled]", "[live]", "rock", "rock"],
        ["[1]", "[2]", "[1]", "[2]"],
    ],
)
def test_categories_with_commas_or_brackets_in_their_names(names: list[str]) -> None:
    items = pd.DataFrame({"item_id": FOUR, "category": names})
    assert evaluate(metric="category_coverage@2", items=items) is not None


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["A, B", "A, C", "A", "B"], "1 of 2"),  # the part A stands in both
        (["A|B", "A", "B", "B"], "1 of 1"),
        (['["A"]', '["B"]', '["A"]', None], "2 of 2"),
        (["['A']", "A", "B", "B"], "1 of 1"),
    ],
)
def test_categories_that_are_lists(texts: list[str], found: str) -> None:
    items = pd.DataFrame({"item_id": FOUR, "category": texts})
    with pytest.raises(sm.DataError, match=f"column category: {found} categories") as told:
        evaluate(metric="category_coverage@2", items=items)
    assert "string_split_regex(" in str(told.value) or "try_cast(" in str(told.value)
