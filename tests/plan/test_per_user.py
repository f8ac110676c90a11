"""Per-user values in wide form: one row per user, one column per metric and cutoff."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.engines.relation import TableName
from tests.support.evaluators import Evaluator

# user 1 has a hit at rank 2, user 2 at rank 1, user 3 has no list
LISTS = pd.DataFrame({"userId": [1, 1, 2], "item_id": [10, 11, 20], "rank": [1, 2, 1]})
TRUTH = pd.DataFrame({"userId": [1, 2, 3], "item_id": [11, 20, 30]})
NAMES = {"user_id": "userId"}
BY_HAND = {  # user -> recall@1, recall@2, mrr
    1: (0.0, 1.0, 0.5),
    2: (1.0, 1.0, 1.0),
    3: (0.0, 0.0, 0.0),
}
METRICS = ["recall@1", "recall@2", "mrr"]


def by_user(frame: pd.DataFrame, key: str = "userId") -> dict[Any, tuple[float, ...]]:
    assert list(frame.columns) == [key, *METRICS]
    return {row[0]: row[1:] for row in frame.itertuples(index=False, name=None)}


def test_a_row_per_user_and_a_column_per_metric_and_cutoff() -> None:
    with Evaluator(LISTS, TRUTH, columns=NAMES) as evaluator:
        assert by_user(evaluator.per_user(METRICS)) == BY_HAND


def test_long_form_has_a_row_per_cutoff() -> None:
    with Evaluator(LISTS, TRUTH, columns=NAMES) as evaluator:
        found = evaluator.per_user(METRICS, long=True)
    assert list(found.columns) == ["userId", "k", "recall", "mrr"]
    assert found["userId"].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert found["recall"].dropna().tolist() == [0, 1, 1, 1, 0, 0]
    assert found["mrr"].dropna().tolist() == [0.5, 1, 0]
    assert found["k"].isna().tolist() == [False, False, True] * 3


def test_parametrisations_have_the_names_of_a_leaderboard() -> None:
    metrics = ["precision@5", "precision(divisor=length)@5"]
    with Evaluator({"a": LISTS, "b": LISTS}, TRUTH, columns=NAMES) as evaluator:
        found, board = evaluator.per_user(metrics), evaluator.leaderboard(metrics)
    columns = [name for name in board.columns if name in found.columns]
    assert columns == ["model", *metrics]
    assert list(found.columns) == ["model", "userId", *metrics]
    assert found["precision@5"].tolist() == [0.2, 0.2, 0] * 2
    assert found["precision(divisor=length)@5"].tolist() == [0.5, 1, 0] * 2


def test_a_user_outside_the_audience_of_a_metric_has_no_value_of_it() -> None:
    with Evaluator(LISTS, TRUTH, columns=NAMES) as evaluator:
        found = evaluator.per_user(["recall@2", "recall(audience=recommended)@2"])
    assert found["recall@2"].tolist() == [1, 1, 0]
    assert found.iloc[:, -1].tolist()[:2] == [1, 1]
    assert pd.isna(found.iloc[2, -1])


def test_each_convention_has_a_row() -> None:
    with Evaluator(LISTS, TRUTH, columns=NAMES, convention=["standard", "jurity"]) as evaluator:
        found = evaluator.per_user(["recall@1", "recall@2"])
    assert list(found.columns) == ["convention", "userId", "recall@1", "recall@2"]
    ours = found[found["convention"] == "standard"]
    assert ours["recall@2"].tolist() == [1, 1, 0]
    assert not found.duplicated(["convention", "userId"]).any()


@pytest.mark.parametrize(
    ("lists", "truth", "columns", "expected"),
    [
        ("uid", "uid", {"user_id": "uid"}, "uid"),
        ("uid", "customer", {"recommendations.user_id": "uid",
                             "interactions.user_id": "customer"}, "uid"),
        ("user_id", "customer", {"interactions.user_id": "customer"}, "user_id"),
        ("USER_ID", "user_id", {}, "USER_ID"),
        ("a b", "a b", {"user_id": "a b"}, "a b"),
        ("mrr", "mrr", {"user_id": "mrr"}, "user_id"),  # also the name of a value
        ("Recall@1", "Recall@1", {"user_id": "Recall@1"}, "user_id"),
    ],
)  # fmt: skip
def test_users_have_the_names_of_the_recommendations(
    lists: str, truth: str, columns: dict[str, str], expected: str
) -> None:
    tables = (
        frame.rename(columns={"userId": name}) for frame, name in ((LISTS, lists), (TRUTH, truth))
    )
    with Evaluator(*tables, columns=columns) as evaluator:
        assert by_user(evaluator.per_user(METRICS), expected) == BY_HAND


def test_models_with_other_names_of_the_user_column_have_user_id() -> None:
    other = LISTS.rename(columns={"userId": "USERID"})
    models = {"a": LISTS, "b": other}
    with Evaluator(models, TRUTH, columns=NAMES) as evaluator:
        found = evaluator.per_user(METRICS)
    assert list(found.columns) == ["model", "user_id", *METRICS]
    assert by_user(found[found["model"] == "b"].drop(columns="model"), "user_id") == BY_HAND


def test_several_keys_have_their_names() -> None:
    lists, truth = (frame.assign(visit=1) for frame in (LISTS, TRUTH))
    with Evaluator(
        lists, truth, key=["user_id", "session"], columns={**NAMES, "session": "visit"}
    ) as evaluator:
        found = evaluator.per_user(METRICS)
    assert list(found.columns) == ["userId", "visit", *METRICS]
    assert found["mrr"].tolist() == [0.5, 1, 0]


def test_the_printed_statement_and_the_file_have_the_same_columns(tmp_path: Any) -> None:
    for name, frame in (("lists", LISTS), ("truth", TRUTH)):
        frame.to_parquet(tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("lists", "truth")]
    with Evaluator(*files, columns=NAMES) as evaluator:
        statement = evaluator.sql(METRICS, per_user=True)
        evaluator.write_parquet(tmp_path / "out.parquet", METRICS, per_user=True)
    with duckdb.connect() as shell:
        assert by_user(shell.execute(statement).df()) == BY_HAND
    assert by_user(pd.read_parquet(tmp_path / "out.parquet")) == BY_HAND


def test_columns_in_bigquery_have_names_without_signs() -> None:
    tables = TableName("a.recs"), TableName("a.clicks")
    metrics = ["ndcg@5", "mrr", "precision(divisor=length)@5"]
    with Evaluator(*tables, columns=NAMES) as evaluator:
        texts = {
            dialect: evaluator.sql(metrics, per_user=True, dialect=dialect)
            for dialect in ("bigquery", "snowflake")
        }
    result = texts["bigquery"][texts["bigquery"].rindex("-- one row per user") :]
    assert "`userId`" in result
    for name in ("ndcg_at_5", "mrr", "precision_divisor_length_at_5"):
        assert name in result
    assert "@" not in texts["bigquery"]
    assert '"ndcg@5"' in texts["snowflake"]


def test_a_slice_with_the_name_of_a_value_is_refused() -> None:
    users = pd.DataFrame({"userId": [1, 2, 3], "recall@1": ["x", "y", "z"]})
    with Evaluator(LISTS, TRUTH, users=users, columns=NAMES) as evaluator:
        with pytest.raises(sm.UsageError, match="recall@1 is the name of both a metric and a sl"):
            evaluator.per_user("recall@1", by="recall@1")
        assert evaluator.per_user("recall@2", by="recall@1")["recall@2"].tolist() == [1, 1, 0]


def test_the_command(tmp_path: Any) -> None:
    for name, frame in (("lists", LISTS), ("truth", TRUTH)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    asked = [
        *METRICS, "-r", str(tmp_path / "lists.csv"), "-i", str(tmp_path / "truth.csv"),
        "--column", "user_id=userId",
    ]  # fmt: skip
    wide, long = (
        CliRunner().invoke(main, ["per-user", *asked, "--no-check", "--format", "json", *more])
        for more in ([], ["--long"])
    )
    rows = json.loads(wide.stdout)
    assert {row.pop("userId"): tuple(row.values()) for row in rows} == BY_HAND
    assert [*json.loads(long.stdout)[0]] == ["userId", "k", "recall", "mrr"]
    refused = CliRunner().invoke(main, ["sql", *asked, "--long"])
    assert refused.exit_code == 2
    assert "--long applies to per-user values only; add --per-user" in refused.stderr
