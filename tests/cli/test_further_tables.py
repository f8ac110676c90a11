"""Options of the command line for history, items, aspects, baseline and logs."""

from __future__ import annotations

import io
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from tests.support.further_tables import (
    ALL,
    BASELINE,
    DIVERSITY,
    GRADED,
    NEED_MORE,
    NEEDS,
    PLANE,
    RANKED,
    SCORED,
    TABLES,
    TRUTH,
    VALUES,
    WITHOUT,
    close,
    left_out,
    run,
)


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


@pytest.fixture(autouse=True)
def folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the folder with the tables; results are not written there."""
    monkeypatch.chdir(data)
    return data


RANKS = ["-r", "ranked.parquet", "-i", "truth.parquet"]
SCORES = ["-r", "scored.parquet", "-i", "graded.parquet"]
FURTHER = [word for name in TABLES for word in (f"--{name}", f"{name}.parquet")]
EVALUATE = ["evaluate", "--no-check"]  # two users are too few


def table_of(result: Result) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(result.stdout))


def lines_of(result: Result) -> list[str]:
    lines = result.stderr.splitlines()
    assert all(line.startswith("sqlmetrics: ") for line in lines)
    return [line.removeprefix("sqlmetrics: ") for line in lines]


def test_all_takes_no_parameters() -> None:
    for command in ("evaluate", "per-user", "sql"):
        error = run(command, *SCORES, *FURTHER, "all(divisor=k)", code=2).stderr
        assert "--set NAME=VALUE" in error


def test_skip_missing(tmp_path: Path) -> None:
    result = run(*EVALUATE, *RANKS, "all", "--skip-missing")
    (line,) = lines_of(result)
    assert set(left_out(line)) == NEED_MORE
    assert len(line) < 1_500
    assert result.stdout.startswith("metric,k,value,n_users,std,ci_low,ci_high\n")
    assert set(table_of(result)["metric"]) == ALL.keys() - NEED_MORE
    path = tmp_path / "a.parquet"
    for command in (["per-user", "-o", str(path)], ["sql"], ["sql", "--per-user"]):
        result = run(*command, *RANKS, "mrr", "popularity", "--skip-missing")
        (line,) = lines_of(result)
        for words in ("omitted because ", ": popularity", "history", "--history FILE"):
            assert words in line
        assert "omitted" not in result.stdout
    assert list(pd.read_parquet(path).columns) == ["user_id", "mrr"]


def test_what_is_missing_is_named_by_its_option() -> None:
    for table in TABLES:
        given = [
            option
            for name in TABLES
            if name != table
            for option in (f"--{name}", f"{name}.parquet")
        ]
        metric, column = next(iter(NEEDS[table].items()))
        error = run("evaluate", *SCORES, *given, "mrr", metric, code=2).stderr
        for words in (f"the metric {metric} ", f"table {table}", column or "",
                      f"--{table} FILE", "--skip-missing"):  # fmt: skip
            assert words in error
    error = run("evaluate", *RANKS, "mrr", "auc", code=2).stderr
    for words in ("the metric auc ", "column relevance", "table interactions",
                  "truth.parquet", "--column interactions.relevance="):  # fmt: skip
        assert words in error
    error = run("evaluate", *RANKS, "popularity", "surprisal", code=2).stderr
    assert "popularity needs the table history" in error
    error = run("evaluate", *RANKS, "popularity", "surprisal", "--skip-missing", code=2).stderr
    assert "popularity, for example, because the table history was not given (" in error
    assert "--skip-missing" not in error  # which was given
    assert "omitted" not in error


def test_the_default_propensity() -> None:
    logs = ["--logs", "without.parquet"]
    for command in (EVALUATE, ["sql"]):
        result = run(*command, *SCORES, *logs, "ips", "snips", "doubly_robust", "ctr", "-k", "1,2")
        (line,) = lines_of(result)
        for words in ("logs: ", "propensity", "1 / (number of items in the logs)",
                      "--column logs.propensity="):  # fmt: skip
            assert words in line
        assert "assumed" not in result.stdout
        assert run(*command, *SCORES, *logs, "ctr", "mrr").stderr == ""
    both = lines_of(run(*EVALUATE, *RANKS, *logs, "ips", "popularity", "--skip-missing"))
    assert sorted("assumed" in line for line in both) == [False, True]


def test_aggregate_of_a_metric_without_users() -> None:
    given = [*SCORES, *FURTHER]
    error = run("evaluate", *given, "coverage(aggregate=median)", code=2).stderr
    assert "coverage(aggregate=median)" in error
    arguments = [*EVALUATE, *given, "coverage", "ips"]
    plain = run(*arguments).stdout
    assert run(*arguments, "--set", "aggregate=median").stdout == plain


def test_the_baseline_is_one_of_the_models() -> None:
    models = ["-r", "als=ranked.parquet", "-r", "popular=popular.parquet", *RANKS[2:]]
    arguments = [*models, "--baseline", "popular", "unexpectedness", "unexpectedness@1"]
    frame = table_of(run(*EVALUATE, *arguments))
    assert frame["model"].tolist() == ["als", "als", "popular", "popular"]
    assert frame["value"].tolist() == [3 / 4, 1 / 2, 0, 0]
    text = run("sql", *arguments).stdout
    assert [row[3] for row in duckdb.sql(text).fetchall()] == [3 / 4, 1 / 2, 0, 0]
    only = [*models[:2], *RANKS[2:], "unexpectedness", "--baseline"]
    row = table_of(run(*EVALUATE, *only, "als")).iloc[0]
    assert (row["model"], row["value"]) == ("als", 0)
    error = run("evaluate", *only, "asl", code=1).stderr
    for words in ("baseline", "asl", "did you mean 'als'"):
        assert words in error


def test_features_from_several_columns() -> None:
    items = ["--items", "plane.parquet", "--column", "items.features=f1,f2"]
    row = table_of(run(*EVALUATE, *RANKS, *items, DIVERSITY)).iloc[0]
    assert row["value"] == close(VALUES[DIVERSITY])
