"""URLs of databases on the command line, where no driver and no server is there."""

from __future__ import annotations

import sys
from typing import Any

import click.testing
import duckdb
import pytest

import sqlmetrics as sm
from sqlmetrics.cli.commands import main as cli
from sqlmetrics.engines.database_urls import is_clear, is_url
from sqlmetrics.masking import masked, without_secrets

GIVEN = ("evaluate", "mrr", "-r", "shop.recs", "-i", "shop.truth")
MASKED = {
    "postgres://me@host/db": "postgres://me@host/db",
    "postgres://me:s3cret@host:5432/db": "postgres://me:***@host:5432/db",
    "postgresql://me:s3c%40ret@host/db?sslmode=require": (
        "postgresql://me:***@host/db?sslmode=require"
    ),
    "clickhouse://me:s3cret@host:8123/db?final=1": "clickhouse://me:***@host:8123/db?final=1",
    "postgres:///db?user=me&password=s3cret": "postgres:///db?user=me&password=***",
    "postgres:///db?sslpassword=s3cret&user=me": "postgres:///db?sslpassword=***&user=me",
    # not clear: everything up to the last @ may belong to the password
    "postgres://me:s3c@ret@host/db": "postgres://me:***@host/db",
    "postgres://me:s3c/ret@host/db": "postgres://me:***@host/db",
    "mysql://me:s3cret@host/db": "mysql://me:***@host/db",
}


@pytest.mark.parametrize("url", MASKED)
def test_passwords_are_masked(url: str) -> None:
    assert masked(url) == MASKED[url]


def test_which_urls_are_clear() -> None:
    assert all(map(is_clear, [*MASKED][:6]))
    assert not any(map(is_clear, [*MASKED][6:8]))
    assert not is_url("mysql://me@host/db")
    assert not is_url("postgres")


def test_messages_of_drivers_hide_the_password_in_each_spelling() -> None:
    url = "postgres://me:s3c%40ret@host/db"
    told = f"no {url}: s3c@ret of me, s3c%40ret"
    assert without_secrets(told, url) == "no postgres://me:***@host/db: *** of me, ***"
    assert without_secrets("no password of me", "postgres://me@host") == "no password of me"


def run(*arguments: str, **more: Any) -> click.testing.Result:
    return click.testing.CliRunner().invoke(cli, list(arguments), **more)


def test_a_missing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for how in (
        {"arguments": ("--engine", "postgres://me:s3cret@host/db")},
        {"arguments": (), "env": {"SQLMETRICS_ENGINE": "postgres://me:s3cret@host/db"}},
    ):
        result = run(*GIVEN, *how.pop("arguments"), **how)
        assert result.exit_code == 2
        assert "pip install 'sqlmetrics[postgres]'" in result.output
        assert "postgres://me:***@host/db" in result.output
        assert "s3cret" not in result.output


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("mysql://me:s3cret@host/db", "mysql://me:***@host/db is not one of 'duckdb', 'spark', or"),
        ("postgres", "'postgres' is not one of 'duckdb', 'spark', or a URL such as postgres://"),
        ("host=h dbname=d password=s3cret", "the value is not one of 'duckdb', 'spark', or a URL"),
        ("postgres:/me:s3cret@host/db", "the value is not one of 'duckdb', 'spark', or a URL"),
    ],
)
def test_other_engines(engine: str, told: str) -> None:
    result = run(*GIVEN, "--engine", engine)
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())
    assert "s3cret" not in result.output


def test_passwords_of_other_texts_in_python() -> None:
    for engine in ("host=h password=s3cret", "postgres:/me:s3cret@host/db"):
        with pytest.raises(
            sm.UsageError, match="engine: the value is neither a SparkSession"
        ) as caught:
            sm.Evaluator("recs", "truth", engine=engine)
        assert "s3cret" not in str(caught.value)


def test_blanks_around_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    result = run(*GIVEN, env={"SQLMETRICS_ENGINE": " postgres://me:s3cret@host/db\n"})
    assert result.exit_code == 2
    assert "postgres://me:***@host/db needs psycopg" in " ".join(result.output.split())


def test_a_duckdb_connection_is_no_engine() -> None:
    with duckdb.connect() as connection, pytest.raises(sm.UsageError, match="as connection="):
        sm.Evaluator("recs", "truth", engine=connection)


def test_the_directory_of_temporary_files_is_named_as_an_option() -> None:
    result = run(*GIVEN, "--engine", "postgres://me@host/db", "--temp-directory", "x")
    assert result.exit_code == 2
    assert "--temp-directory applies only to DuckDB and Spark" in " ".join(result.output.split())


@pytest.mark.parametrize("option", [("--threads", "2"), ("--partitions", "2")])
def test_options_of_duckdb(option: tuple[str, str]) -> None:
    result = run(*GIVEN, "--engine", "postgres://me@host/db", *option)
    assert result.exit_code == 2
    assert f"{option[0]}: not available with a database" in result.output


def test_the_dialect_belongs_to_a_connection() -> None:
    with pytest.raises(sm.UsageError, match="dialect applies only to a connection"):
        sm.Evaluator({"u": ["a"]}, {"u": ["a"]}, dialect="postgres")
