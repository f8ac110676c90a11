"""URLs of databases on the command line, where no driver and no server is there."""

from __future__ import annotations

import re
import sys

import duckdb
import pytest

import sqlmetrics as sm
from sqlmetrics.engines.database_urls import is_clear, is_url
from sqlmetrics.texts.masking import masked, without_secrets
from tests.support.command_line import run

GIVEN = ("evaluate", "mrr", "-r", "shop.recs", "-i", "shop.truth")
CLEAR = [
    "postgres://me@host/db",
    "postgres://me:s3cret@host:5432/db",
    "postgresql://me:s3c%40ret@host/db?sslmode=require",
    "clickhouse://me:s3cret@host:8123/db?final=1",
    "postgres:///db?user=me&password=s3cret",
    "postgres:///db?sslpassword=s3cret&user=me",
]
# everything up to the last @ may belong to the password
UNCLEAR = ["postgres://me:s3c@ret@host/db", "postgres://me:s3c/ret@host/db"]


def test_which_urls_are_clear() -> None:
    assert all(map(is_clear, CLEAR))
    assert not any(map(is_clear, UNCLEAR))
    assert not is_url("mysql://me@host/db")
    assert not is_url("postgres")
    for url in [*CLEAR, *UNCLEAR]:
        assert masked(url) == re.sub("s3c.*ret", "***", url)


def test_messages_of_drivers_hide_the_password_in_each_spelling() -> None:
    url = "postgres://me:s3c%40ret@host/db"
    told = f"no {url}: s3c@ret of me, s3c%40ret"
    assert without_secrets(told, url) == "no postgres://me:***@host/db: *** of me, ***"
    assert without_secrets("no password of me", "postgres://me@host") == "no password of me"


def test_a_missing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for how in (
        {"arguments": ("--engine", "postgres://me:s3cret@host/db")},
        {"arguments": (), "env": {"SQLMETRICS_ENGINE": " postgres://me:s3cret@host/db\n"}},
    ):
        result = run(*GIVEN, *how.pop("arguments"), code=2, **how)
        assert "pip install 'sqlmetrics[postgres]'" in result.output
        assert "postgres://me:***@host/db" in result.output
        assert "s3cret" not in result.output


def test_other_engines() -> None:
    other = "the value is not one of 'duckdb', 'spark', or a URL"
    for engine, told in {
        "mysql://me:s3cret@host/db": ("mysql://me:***@host/db is not one of 'duckdb', 'spark', or"),
        "postgres": "'postgres' is not one of 'duckdb', 'spark', or a URL that begins with postgres://",
        "host=h dbname=d password=s3cret": other,
        "postgres:/me:s3cret@host/db": other,
    }.items():
        result = run(*GIVEN, "--engine", engine, code=2)
        said = " ".join(result.output.split())
        assert told in said
        assert "grpc://; export the tables of other systems to Parquet files" in said
        assert "s3cret" not in result.output


def test_the_form_of_a_url_is_shown_without_masks() -> None:
    result = run(*GIVEN, "--engine", "databricks://me@x@host", code=2)
    form = "databricks://token:***@HOST?http_path=PATH"  # TOKEN is in the place of a secret
    assert form in " ".join(result.output.split())


def test_passwords_of_other_texts_in_python() -> None:
    for engine in ("host=h password=s3cret", "postgres:/me:s3cret@host/db"):
        with pytest.raises(
            sm.UsageError, match="engine: the value is neither a SparkSession"
        ) as caught:
            sm.Evaluator("recs", "truth", engine=engine)
        assert "s3cret" not in str(caught.value)


def test_a_duckdb_connection_is_no_engine() -> None:
    with duckdb.connect() as connection, pytest.raises(sm.UsageError, match="as connection="):
        sm.Evaluator("recs", "truth", engine=connection)


def test_options_of_duckdb() -> None:
    for name, value, told in (
        ("--temp-directory", "x", "--temp-directory applies only to DuckDB and Spark"),
        ("--threads", "2", "--threads: not available with a database"),
    ):
        result = run(*GIVEN, "--engine", "postgres://me@host/db", name, value, code=2)
        assert told in " ".join(result.output.split())


def test_the_dialect_belongs_to_a_connection() -> None:
    with pytest.raises(sm.UsageError, match="dialect applies only to a connection"):
        sm.Evaluator({"u": ["a"]}, {"u": ["a"]}, dialect="postgres")
