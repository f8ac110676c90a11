"""Tables of DuckDB files and queries: `shop.duckdb:recs`, `--database shop.duckdb`, `SELECT …`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlmetrics as sm
from sqlmetrics.engines.database_files import is_query, split
from tests.support import command_line
from tests.support.evaluators import Evaluator
from tests.support.source_rows import (
    CHECKED,
    METRIC,
    check,
    connection_with_tables,
    lists_table,
    truth_table,
    upside_down,
    values,
    write_parquet,
)

QUERY = "SELECT user_id, item_id, rank FROM lists WHERE rank > 0;"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a database with the lists, the truth and a second model in a schema."""
    monkeypatch.setenv("SQLMETRICS_CHECK", "false")  # a few users
    path = tmp_path / "shop v1.duckdb"
    with connection_with_tables(path) as connection:
        connection.register("given", upside_down())
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.lists AS FROM given")
        connection.execute("CREATE VIEW turned AS FROM other.lists")
    return path


def run(*arguments: str) -> Any:
    return json.loads(command_line.run(*arguments, "--format", "json").stdout)


def error_of(*arguments: str) -> str:
    result = command_line.run("evaluate", METRIC, *arguments, code=(1, 2))
    assert not result.stdout
    return result.stderr


def test_tables_and_queries_of_a_file(shop: Path) -> None:
    check(values(f"{shop}:lists", f"{shop}:TRUTH", **CHECKED))
    check(values(f"{shop}:{QUERY}", f"{shop}:truth"))
    models = {"a": f"{shop}:lists", "b": f"{shop}:turned", "c": f"{shop}:other.lists"}
    found = values(models, f"{shop}:truth", keys=("model", "user_id"))
    check({user: value for (model, user), value in found.items() if model == "a"})
    of_b, of_c = ({u: v for (m, u), v in found.items() if m == model} for model in "bc")
    assert of_b == of_c


def test_tables_on_the_command_line(shop: Path, tmp_path: Path) -> None:
    expected = run("evaluate", METRIC, "-r", f"{shop}:lists", "-i", f"{shop}:truth")
    named = ["-r", "lists", "-i", "truth"]
    assert run("evaluate", METRIC, "--database", str(shop), *named) == expected
    truth = write_parquet(tmp_path / "truth.parquet", truth_table())
    queries = ["-r", f"-- all lists\n{QUERY}", "-i", f"FROM '{truth}' -- the truth"]
    assert run("evaluate", METRIC, "--database", str(shop), *queries) == expected
    several = ["-r", f"a={QUERY}", "-r", "b=other.lists", "-i", str(truth), "--baseline", "b"]
    compared = run("compare", METRIC, "--database", str(shop), *several)
    assert [(row["model"], row["value"]) for row in compared] == [("a", expected[0]["value"])]


def test_statements_have_the_query_and_the_table(shop: Path) -> None:
    with Evaluator(f"{shop}:{QUERY}", f"{shop}:truth") as evaluator:
        statement = evaluator.sql("recall@2")
        expected = evaluator.rows("recall@2").values
    assert "FROM shop_v1.main.lists" in statement
    assert "FROM shop_v1.main.truth" in statement
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{shop}' AS shop_v1 (READ_ONLY)")
        assert connection.execute(statement).fetchall() == [tuple(row) for row in expected]


def test_tables_and_queries_that_are_not_there(shop: Path) -> None:
    for source, message in {
        "{}:list": "has no table 'list'; did you mean 'lists'",
        "{}": "is a DuckDB database. It has lists, truth, turned, other.lists. Name one of its",
        "SELECT * FROM nothing": "the query SELECT * FROM nothing cannot be read: Table with",
        "SELECT * FORM lists": "the query SELECT * FORM lists: syntax error",
        "SELECT 1; DROP TABLE x": "is not one SELECT; write a single query",
        "{}:DROP TABLE lists": "has no table 'DROP TABLE lists'",
    }.items():
        assert message in error_of("-r", source.format(shop), "-i", f"{shop}:truth")


def test_the_database_must_be_one(shop: Path, tmp_path: Path) -> None:
    named = ["-r", "lists", "-i", "truth"]
    assert "does not exist" in error_of("--database", "nothing.duckdb", *named)
    (tmp_path / "a.db").write_text("SQLite format 3")
    assert "is not a DuckDB file" in error_of("--database", str(tmp_path / "a.db"), *named)
    with duckdb.connect() as connection, pytest.raises(sm.UsageError, match="Attach the file"):
        Evaluator(f"{shop}:lists", connection=connection)
    with (
        duckdb.connect() as connection,
        pytest.raises(sm.UsageError, match="cannot run in your connection"),
    ):
        Evaluator(QUERY, connection=connection)
    output = ["-o", str(shop), "--force", "--format", "csv"]
    assert "is not overwritten" in error_of("--database", str(shop), *named, *output)


def test_a_statement_keeps_the_end_of_a_query_with_a_comment(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "truth.parquet", truth_table())
    with Evaluator(lists_table(), f"SELECT * FROM '{path}' -- the truth") as evaluator:
        assert duckdb.extract_statements(evaluator.sql("recall@2"))


def test_paths_are_not_queries(here: Path) -> None:
    assert is_query("select 1")
    assert is_query("\n FROM x")
    assert not is_query("selected.parquet")
    write_parquet(here / "from a file.parquet", lists_table())
    assert not is_query("from a file.parquet")
    assert split("s3://bucket/x.parquet") is None
    check(values("from a file.parquet"))


def test_a_record_runs_no_query(shop: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    tables = ["-r", f"{shop}:{QUERY}", "-i", f"{shop}:truth"]
    run("evaluate", METRIC, *tables, "--record", str(record))
    again = ["--from-record", str(record), "--trust-record"]
    refused = error_of(*again)
    assert "which is not run, because somebody else may have written the record" in refused
    text = record.read_text(encoding="utf-8").replace('"query"', '"parquet"')
    record.write_text(text.replace(f"{shop}:SELECT", "SELECT"), encoding="utf-8")
    assert "which is not a file name" in error_of(*again)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_name_of_a_table_and_of_a_file(shop: Path, kind: str) -> None:
    """The file was read. Both spellings of the message work."""
    Path("in").mkdir()
    written = write_parquet(Path("in", "a.parquet"), upside_down())
    (Path("in") if kind == "folder" else written).rename("lists")
    of_file = run("evaluate", METRIC, "-r", "./lists", "-i", f"{shop}:truth")
    of_table = run("evaluate", METRIC, "-r", f"{shop}:lists", "-i", f"{shop}:truth")
    assert of_file != of_table
    within = ["--database", str(shop), "-i", "truth"]
    for given in (["-r", "lists"], ["-r", "a=turned", "-r", "b=lists"]):
        told = error_of(*within, *given)
        assert f"there is also a {kind} lists. Write {shop}:lists for the table, or ./lists" in told
    assert run("evaluate", METRIC, "-r", "./lists", *within) == of_file
    assert run("evaluate", METRIC, "-r", f"{shop}:lists", *within) == of_table
    with duckdb.connect(str(shop), read_only=True) as connection:
        with pytest.raises(sm.UsageError, match=f"but there is also a {kind} lists") as caught:
            Evaluator("lists", "truth", connection=connection)
        table, file = re.findall("[Ww]rite (.*) for the table, or (.*) for", str(caught.value))[0]
        for source, expected in ((table, of_table), (file, of_file)):
            with Evaluator(source, "truth", connection=connection) as evaluator:
                found = evaluator.evaluate(METRIC)["value"].item()
            assert found == pytest.approx(expected[0]["value"])


def test_a_view_of_another_schema_over_a_table_of_main(tmp_path: Path) -> None:
    """Such a view is read as within its database."""
    path, record = tmp_path / "shop.duckdb", str(tmp_path / "record.json")
    with connection_with_tables(path) as connection:
        connection.execute("CREATE SCHEMA mart; CREATE VIEW mart.recs AS FROM lists")
        connection.execute("CREATE VIEW mart.again AS FROM mart.recs")
        connection.execute("CREATE TABLE gone AS FROM lists; CREATE VIEW mart.lost AS FROM gone")
        connection.execute("DROP TABLE gone")
    for name in ("mart.recs", "mart.again"):
        check(values(f"{path}:{name}", f"{path}:truth", **CHECKED))
    named = ["-r", f"{path}:mart.recs", "-i", f"{path}:truth"]
    found = run("evaluate", METRIC, *named, "--no-check", "--record", record)
    assert run("evaluate", "--from-record", record, "--trust-record") == found
    told = error_of("-r", f"{path}:mart.lost", "-i", f"{path}:truth")
    assert "the query FROM mart.lost cannot be read: Table with name gone" in told


def test_a_view_that_reads_a_file(tmp_path: Path) -> None:
    """Its file is none of those that the connection may read; the query is read at once."""
    file = write_parquet(tmp_path / "lists.parquet", lists_table())
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW recs AS FROM '{file}'")
    for trusted in (False, True):
        with pytest.raises(sm.SqlmetricsError, match=r"shop\.duckdb:FROM recs"):
            values(f"{path}:recs", trust_input=trusted)
    check(values(f"{path}:FROM recs", **CHECKED))
