"""Conditions on the rows of tables (`where`)."""

import math
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.tables.filters import read_condition
from tests.support.calls import no_propensities_expected
from tests.support.evaluators import Evaluator
from tests.support.seen_items import (
    HISTORY,
    ITEMS,
    LEFT,
    LISTS,
    RELEVANT,
    TRUTH,
    ranked,
    refused,
    scored,
)


def evaluated(**given: Any) -> pd.DataFrame:
    with Evaluator(**{"recommendations": ranked(LISTS), "interactions": TRUTH, **given}) as one:
        return one.evaluate(["recall", "ndcg"], k=[1, 3])


def test_rows_that_do_not_satisfy_it_are_not_there() -> None:
    """Nor are those of which it is NULL: what u3 thinks of d."""
    found = evaluated(where={"interactions": "rating >= 3"})
    pd.testing.assert_frame_equal(found, evaluated(interactions=TRUTH.query("rating >= 3")))
    assert found["n_users"].to_list() == [3, 3, 3, 3]
    negated = evaluated(where={"interactions": "NOT rating < 3"})
    pd.testing.assert_frame_equal(negated, found)


def test_nan_in_a_file_whose_statistics_omit_it(tmp_path: Path) -> None:
    """NaN is above every number, in a file as in a frame."""
    lists = pa.table({"user_id": [1, 2], "item_id": [1, 3], "rank": [1, 1]})
    truth = pa.table(
        {"user_id": [1, 1, 2], "item_id": [1, 2, 3], "price": [1.0, float("nan"), 2.0]}
    )
    pq.write_table(truth, tmp_path / "truth.parquet")
    for condition, recall in (("price < 10", 1), ("NOT isnan(price)", 1), ("price > 1.5", 0.5)):
        for source in (truth, tmp_path / "truth.parquet"):
            with sm.Evaluator(lists, source, where={"interactions": condition}) as evaluator:
                (value,) = evaluator.evaluate("recall@1")["value"]
            assert value == recall, (condition, source)


def test_of_every_table() -> None:
    """A table with more rows, and a condition that leaves those of the table: the same numbers."""
    tables = {
        "recommendations": scored(LISTS),
        "interactions": RELEVANT,
        "history": HISTORY,
        "items": ITEMS,
        "users": pd.DataFrame({"user_id": list(LISTS), "country": ["x", "y", "x"]}),
        "aspects": pd.DataFrame({"item_id": list("abcd"), "aspect": list("ppqr")}),
        "baseline": ranked(LEFT),
        "logs": RELEVANT.assign(reward=[1.0, 0.0, 1.0, 0.0, 1.0]),
    }
    twice = {
        name: pd.concat([frame.assign(kept="yes"), frame.assign(kept="no")])
        for name, frame in tables.items()
    }
    # a user has one country
    twice["users"].loc[twice["users"]["kept"] == "no", "country"] = "z"
    conditions = dict.fromkeys(tables, "kept = 'yes'")
    metrics = ["ndcg", "surprisal", "intra_list_diversity", "money_recall", "alpha_ndcg", "ips"]
    metrics.append("unexpectedness")
    with Evaluator(**twice, where=conditions) as one, Evaluator(**tables) as other:
        assert one.where == conditions
        for asked in (
            {"metrics": metrics, "k": 2},
            {"metrics": ["ndcg"], "k": 2, "by": ["country", "items.category"]},
            {"metrics": ["ndcg"], "k": 2, "by_item": "category"},
        ):
            with no_propensities_expected(tables["logs"].to_numpy().tolist()):
                found, expected = one.evaluate(**asked), other.evaluate(**asked)
            pd.testing.assert_frame_equal(found, expected)


def test_checks_look_at_the_rows_that_are_left() -> None:
    lists = pd.concat([ranked(LISTS).assign(batch=1), ranked(LISTS).assign(batch=2)])
    where = {"recommendations": "batch = 2"}
    pd.testing.assert_frame_equal(evaluated(recommendations=lists, where=where), evaluated())
    refused(sm.DataError, "repeat", recommendations=lists, interactions=RELEVANT)
    lists.loc[lists["batch"] == 1, "item_id"] = None
    pd.testing.assert_frame_equal(evaluated(recommendations=lists, where=where), evaluated())


def test_lists_in_one_row_and_in_the_order_of_rows(tmp_path: Path) -> None:
    lists = pd.DataFrame(
        {"user_id": list(LISTS) * 2, "item_id": [list(of) for of in LISTS.values()] * 2}
    )
    lists["day"] = [1] * 3 + [2] * 3
    lists["score"] = [
        [1.0] * (len(of) + (day - 1))
        for of, day in zip(lists["item_id"], lists["day"], strict=True)
    ]
    where = {"recommendations": "day = 1"}
    found = evaluated(recommendations=lists.drop(columns="score"), where=where)
    pd.testing.assert_frame_equal(found, evaluated())
    # of the second day, the lists of items and of scores do not fit together
    ties = {"recommendations": lists, "interactions": RELEVANT, "where": where}
    with Evaluator(**ties) as evaluator:
        evaluator.evaluate("ndcg@2")
    refused(sm.DataError, "different lengths", **{**ties, "where": {}})
    for name in ("lists.parquet", "lists.csv"):
        path = tmp_path / name
        rows = pd.concat([ranked(LISTS).assign(day=day) for day in (2, 1)]).drop(columns="rank")
        rows.to_csv(path, index=False) if name.endswith("csv") else rows.to_parquet(path)
        found = evaluated(recommendations=path, where=where, settings={"order": "row"})
        pd.testing.assert_frame_equal(found, evaluated())


FRAME = pd.DataFrame(
    {
        "user_id": ["u1", "u2", "u3"] * 4,
        "item_id": list("abcdefghijkl"),
        "Rating": [0, 1, 2, 3, 4, 5, None, -7, 8, 9, 2, 1],
        "cost": [0.0, 0.5, None, 1.5, 2.25, -3.0, 9.0, 4.0, math.nan, 1.0, 7.0, 0.25],
        "select": ["x", "Xy", None, " y ", "", "it's", "%", "a_b", "é", "x;y", "--", "ab"],
        "flag": [True, False, None] * 4,
        "ts": pd.date_range(
            "2023-11-30 13:05:07",
            periods=12,
            freq=pd.Timedelta(days=41, hours=1, minutes=2, seconds=3),
        ),
    }
)
CONDITIONS = [
    "rating >= 4", "RATING IN (1, 2, 3)", "rating NOT IN (1, 2)", "rating BETWEEN 1 AND 3",
    "rating IS NULL", "rating IS NOT NULL AND NOT flag", "flag", "flag IS TRUE", "rating <> 1",
    "rating IS DISTINCT FROM 1", "rating IS NOT DISTINCT FROM NULL", "-rating < 0 OR rating = 8",
    "rating + cost * 2 - 1 > 3", "rating / cost > 2", "rating % 3 = 1", "(rating > 1) = flag",
    '"select" LIKE \'x%\'', "\"select\" ILIKE 'X%'", "\"select\" LIKE '!%' ESCAPE '!'",
    "\"select\" NOT LIKE '%y%'", "\"select\" = 'it''s'", "\"select\" = 'x;y'", "\"select\" = '--'",
    "lower(\"select\") = 'xy'", "upper(\"select\") = 'XY'", "trim(\"select\") = 'y'",
    'length("select") = 2', "substring(\"select\", 1, 1) = 'x'", "left(\"select\", 1) = 'x'",
    "right(\"select\", 1) = 'y'", "concat(\"select\", '1') = 'x1'", "\"select\" || '1' = 'x1'",
    "replace(\"select\", 'x', 'z') = 'z'", "starts_with(\"select\", 'x')",
    "contains(\"select\", ';')", "abs(rating) = 7", "ceil(cost) = 1", "floor(cost) = 0",
    "round(cost) = 4", "sign(rating) = -1", "sqrt(abs(rating)) = 3", "exp(rating) > 20",
    "ln(abs(rating) + 1) > 1", "pow(rating, 2) = 49", "greatest(rating, 3) = 3",
    "least(rating, 3) = 3", "coalesce(rating, 100) = 100", "nullif(rating, 1) IS NULL",
    "isnan(cost)", "if(flag, rating, 0) > 1", "CASE WHEN flag THEN rating ELSE 2 END = 2",
    "CAST(rating AS VARCHAR) = '4.0'", "TRY_CAST(\"select\" AS INTEGER) IS NULL AND flag",
    "TRY_CAST(cost AS INTEGER) = 2", "ts >= TIMESTAMP '2024-06-01 00:00:00'",
    "ts < DATE '2024-01-01'",
    "ts > '2024-03-01'", "year(ts) = 2024", "month(ts) = 1", "day(ts) > 20", "quarter(ts) = 2",
    "hour(ts) = 13", "minute(ts) = 5", "second(ts) = 7", "extract(year FROM ts) = 2025",
    "date_trunc('month', ts) = TIMESTAMP '2024-01-01 00:00:00'",
    "ts + INTERVAL 30 DAY > TIMESTAMP '2024-06-01 00:00:00'", "interactions.rating = 4",
]  # fmt: skip


def test_a_condition_means_what_duckdb_takes_it_for() -> None:
    """Read and printed again, it keeps the rows that it keeps as it was written."""
    with duckdb.connect() as connection:
        connection.register("frame", FRAME)
        connection.execute("CREATE TABLE interactions AS FROM frame")
        connection.execute("UPDATE interactions SET cost = 'nan' WHERE item_id = 'i'")
        types = dict(
            connection.execute(
                "SELECT column_name, column_type FROM (DESCRIBE interactions)"
            ).fetchall()
        )

        def kept(condition: str) -> list[Any]:
            query = f"SELECT item_id FROM interactions AS {{}} WHERE {condition} ORDER BY item_id"
            alias = "interactions" if condition in CONDITIONS else "source"
            return connection.execute(query.format(alias)).fetchall()

        for condition in CONDITIONS:
            read = read_condition("interactions", condition, types)
            expected = kept(condition)
            assert 0 < len(expected) < len(FRAME), condition
            if condition == "rating / cost > 2":  # 1 / 0 is NULL here, as everywhere in the package
                expected = kept("source.rating / nullif(source.cost, 0) > 2")
            assert kept(read) == expected, f"{condition}: {read}"


REFUSED = [
    ("rating IN (SELECT 1)", "a subquery"),
    ("EXISTS (SELECT 1)", "a subquery"),
    ("rating > ALL (SELECT 1)", "a subquery"),
    ("rating = (SELECT max(rating) FROM interactions)", "a subquery"),
    ("max(rating) > 1", "an aggregate (max)"),
    ("count(*) > 1", "an aggregate (count)"),
    ("row_number() OVER () = 1", "a window function"),
    ("rating > 1; DROP TABLE interactions", "several statements"),
    ("rating > 1;", "several statements"),
    ("rating > 1 -- and more", "comments"),
    ("rating /* more */ > 1", "comments"),
    ("*", "*"),
    ("COLUMNS(*) > 1", "*"),
    ("rating = ?", "a placeholder"),
    ("rating = $1", "a placeholder"),
    ("rating = :one", "a placeholder"),
    ("sniff(rating) > 1", "the function sniff"),
    ("getenv('HOME') = 'x'", "the function getenv"),
    ("current_setting('threads') = '1'", "the function current_setting"),
    ("getvariable('x') = 1", "the function getvariable"),
    ("read_text('/etc/passwd') = 'x'", "the function read_text"),
    ("read_csv('x') = 1", "the function read_csv"),
    ("nextval('s') = 1", "the function nextval"),
    ("random() > 0.5", "the function rand"),
    ("now() > ts", "the function now"),
    ("current_date > ts", "the function current_date"),
    ("current_timestamp > ts", "the function current_timestamp"),
    ("version() = '1'", "the function current_version"),
    ("error('x')", "the function error"),
    ("\"select\" ~ 'x'", "the function regexp_like"),
    ("\"select\" COLLATE nocase = 'x'", "COLLATE"),
    ("rating::JSON IS NULL", "the type JSON"),
    ("round(rating, 1) > 1", "round with digits"),
    ("CAST(rating AS mood) = 1", "the type"),
    ("rating IN cost", "IN without a list"),
    ("[rating][1] = 2", "not allowed"),
    ("{'a': rating}.a = 1", "not allowed"),
    ("rating -> 'a' = 1", "not allowed"),
    ("rating > 1) OR (1 = 1", "not a valid SQL condition"),
    ("rating > 1 GROUP BY cost", "not a valid SQL condition"),
    ("rating > 1 UNION SELECT 1", "not a valid SQL condition"),
    ("rating >", "not a valid SQL condition"),
    ("SELECT 1", "not a valid SQL condition"),
    ("{{ rating }} > 1", "not allowed"),
    ("rating = 'x", "not a valid SQL condition"),
    ("rating \x00 > 1", "cannot have a NUL character"),
    ("", "the condition is empty"),
    ("  ", "the condition is empty"),
    ("ratin > 1", "no column 'ratin'; did you mean 'Rating'?"),
    ("users.rating > 1", "users.rating is not a column of interactions"),
    ("rating", "has the type DOUBLE, not BOOLEAN"),
    ("'x'", "has the type VARCHAR, not BOOLEAN"),
    ("NULL", "not BOOLEAN"),
    ("(" * 5000 + "rating" + ")" * 5000 + " > 1", "levels of nesting"),
    (" OR ".join(["rating = 1"] * 1000), "levels of nesting"),
]


def test_what_is_no_condition_is_refused() -> None:
    for condition, words in REFUSED:
        with pytest.raises(sm.UsageError) as caught:
            Evaluator(interactions=FRAME, where={"interactions": condition})
        assert words in str(caught.value), condition
        assert f"where interactions={condition[:200]}" in str(caught.value)


def test_a_condition_that_keeps_nothing_or_cannot_be_computed() -> None:
    for condition, words in {
        "rating > 100": "the condition matches none of the 12 rows of the table given as",
        "rating > 1 AND rating < 1": "the condition matches none",
        "user_id > 3": "the condition cannot be computed",
        "CAST(user_id AS INTEGER) > 3": "the condition cannot be computed",
        "cost > 'x'": "the condition cannot be computed",
    }.items():
        with pytest.raises(sm.DataError) as caught:
            Evaluator(interactions=FRAME, where={"interactions": condition})
        assert f"where interactions={condition}: {words}" in str(caught.value)


def test_a_division_by_zero_is_null_in_a_condition() -> None:
    rows = pd.DataFrame({"user_id": [1, 2, 3], "item_id": "x", "clicks": [3, 4, 5],
                         "views": [0, 2, 5]})  # fmt: skip
    for condition, users in {
        "clicks / views > 0": [2, 3],
        "clicks / views IS NULL": [1],
        "clicks / (views) IS NULL": [1],
        "clicks % views IS NULL": [1],
        "clicks / 0 IS NULL": [1, 2, 3],
        "clicks / 0.0 IS NULL": [1, 2, 3],
        "clicks % 0 IS NULL": [1, 2, 3],
        "clicks / nullif(views, 5) IS NULL": [1, 3],
        "clicks / 2 > 2": [3],
    }.items():
        where = {"recommendations": condition}
        with Evaluator(rows.assign(rank=1), rows, where=where) as evaluator:
            assert evaluator.stage("recommendations")["user_id"].tolist() == users, condition


def test_of_tables_that_are_not_there() -> None:
    for where, words in (
        ({"interaction": "rating > 1"}, "unknown table 'interaction'; did you mean 'interactions'"),
        ({"history": "rating > 1"}, "where history=rating > 1: the table was not given"),
        ({"interactions": 3}, "not 3"),
        ([("interactions", "x")], "where must be a dict"),
    ):
        with pytest.raises(sm.UsageError) as caught:
            Evaluator(interactions=FRAME, where=where)  # type: ignore[arg-type]
        assert words in str(caught.value)


def test_statements_for_other_systems_have_it() -> None:
    """The names of columns are those of the table there, whether it is known here or not."""
    recs = sm.TableName("shop.recs")
    for like, condition in ((None, "stars >= 4"), (FRAME, "rating >= 4")):
        truth = sm.TableName("shop.truth", like=like)
        where = {"interactions": f"{condition} AND NOT flag"}
        with Evaluator(recs, truth, where=where) as evaluator:
            for dialect in ("postgres", "bigquery", "spark"):
                text = evaluator.sql("ndcg@5", dialect=dialect)
                column = "stars" if like is None else "Rating"
                assert f"{column} >= 4" in text.replace('"', "").replace("`", "")
    for condition, words in (
        ("'x'", "not boolean"),
        ("stars + 1", "not boolean"),
        ("max(x) > 1", "aggregate"),
    ):
        with pytest.raises(sm.UsageError, match=words):
            Evaluator(recs, sm.TableName("truth"), where={"interactions": condition})


def test_on_the_command_line(tmp_path: Path) -> None:
    for name, frame in {"recs": ranked(LISTS), "truth": TRUTH}.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    files = ["-r", str(tmp_path / "recs.parquet"), "-i", str(tmp_path / "truth.parquet")]

    def run(*conditions: str) -> str:
        options = [part for one in conditions for part in ("--where", one)]
        return CliRunner().invoke(main, ["evaluate", "recall@3", *files, *options]).output

    # u1 wants d, at place 4 of 4; u2 wants b, at place 3
    assert "recall,3,0.5," in run("interactions=rating >= 4")
    assert "unknown table 'rating >'" in run("rating >= 4")
    assert "write TABLE=CONDITION" in run("rating")
    assert "AND" in run("interactions=rating >= 4", "interactions=rating < 5")
