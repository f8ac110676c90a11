"""Options of the command line for history, items, aspects, baseline and logs."""

from __future__ import annotations

import io
import math
from pathlib import Path
from statistics import stdev

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from tests.support.further_tables import (
    ALL,
    ASPECTS,
    BASELINE,
    DIVERSITY,
    GRADED,
    HISTORY,
    ITEMS,
    LOGS,
    NEED_MORE,
    NEEDS,
    PLANE,
    RANKED,
    SCORED,
    TABLES,
    TRUTH,
    VALUES,
    WITHOUT,
    Z,
    changed,
    close,
    left_out,
    run,
)
from tests.support.processes import without_check


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
        assert frame["metric"].tolist() == list(ALL)
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
        assert set(frame["metric"]) == ALL.keys() - NEED_MORE

    @pytest.mark.parametrize("arguments", [["per-user"], ["sql"], ["sql", "--per-user"]], ids=str)
    def test_skip_missing_of_other_commands(self, arguments: list[str]) -> None:
        result = run(*arguments, *RANKS, "mrr", "popularity", "--skip-missing")
        (line,) = lines_of(result)
        for words in ("omitted because ", ": popularity", "history", "--history FILE"):
            assert words in line
        assert "omitted" not in result.stdout
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
            assert "omitted" not in error

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
