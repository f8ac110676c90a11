"""The commands: output, files and exit codes."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import sqlmetrics as sm
from sqlmetrics.cli import formats
from sqlmetrics.cli.commands import main
from sqlmetrics.cli.formats import rendered
from sqlmetrics.cli.options import GROUPS, RARE
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.definitions import DEFAULT_K
from tests.support import command_line
from tests.support.evaluators import Evaluator
from tests.support.processes import PATIENCE
from tests.support.source_rows import lists_table, truth_table, write_parquet

COMMANDS = list(main.commands)


@pytest.fixture(autouse=True)
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with two models and their truth, too few for data checks."""
    monkeypatch.setenv("SQLMETRICS_CHECK", "false")
    write_parquet(here / "recs.parquet", lists_table())
    write_parquet(here / "short.parquet", lists_table().slice(0, 5))
    write_parquet(here / "test.parquet", truth_table())
    return here


INPUT = ["-r", "recs.parquet", "-i", "test.parquet"]


def run(*arguments: str, code: int = 0, **options: Any) -> Result:
    """Run the command line; nothing but a result may stand on stdout, and no traceback anywhere."""
    result = command_line.run(*arguments, code=code, **options)
    assert "Traceback" not in result.output
    if code:
        assert result.stdout == ""
        assert len(re.findall(r"^(?:sqlmetrics: error|Error): ", result.stderr, re.M)) == 1
    else:
        assert result.stderr == ""
    return result


def rows_of(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = strict_json(run(*arguments, "--format", "json").stdout)
    return rows


def strict_json(text: str) -> Any:
    """Parse JSON as its standard has it: without NaN and Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sqlmetrics", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)


# ---------------------------------------------------------------- results


def test_evaluate() -> None:
    (row,) = rows_of("evaluate", *INPUT, "mrr@3")
    assert list(row) == ["metric", "k", "value", "n_users", "std", "ci_low", "ci_high"]
    assert row["metric"] == "mrr"
    assert row["k"] == 3
    assert row["n_users"] == 4
    assert row["value"] == pytest.approx((1 / 3 + 1) / 4, abs=1e-15)


def test_per_user() -> None:
    rows = rows_of("per-user", *INPUT, "mrr@3", "recall@3")
    assert [list(row) for row in rows] == [["user_id", "mrr@3", "recall@3"]] * 4
    assert {row["user_id"]: row["mrr@3"] for row in rows} == {
        1: pytest.approx(1 / 3), 2: 0, 3: 1, 5: 0}  # fmt: skip


def test_evaluate_agrees_with_python() -> None:
    metrics = ["ndcg@2", "recall", "map(divisor=k)@3"]
    with Evaluator("recs.parquet", "test.parquet") as evaluator:
        frame = evaluator.evaluate(metrics)
    expected = json.loads(frame.to_json(orient="records", double_precision=15))
    found = rows_of("evaluate", *INPUT, *metrics)
    for row, other in zip(found, expected, strict=True):
        assert row == pytest.approx(other, abs=1e-14)
    assert [row["value"] for row in found] == frame["value"].tolist()  # all digits
    for value in frame["value"]:
        assert repr(value) in run("evaluate", *INPUT, *metrics, "--format", "csv").stdout


def test_no_metrics_means_the_default_set_at_ten() -> None:
    rows = rows_of("evaluate", *INPUT)
    assert [row["metric"] for row in rows] == Catalog.load().default_set()
    assert {row["k"] for row in rows} == {10}
    assert len(rows) > 3


def test_cutoffs() -> None:
    for k, expected in {
        "5,10": [5, 10], "1:4": [1, 2, 3, 4], " 2, 1:2 ": [1, 2], "3": [3],
    }.items():  # fmt: skip
        rows = rows_of("evaluate", *INPUT, "mrr", "recall@7", "-k", k)
        assert sorted(row["k"] for row in rows if row["metric"] == "mrr") == expected
        assert [row["k"] for row in rows if row["metric"] == "recall"] == [7]


def test_a_whole_list_has_no_k() -> None:
    assert rows_of("evaluate", *INPUT, "mrr")[0]["k"] is None


def test_several_cutoffs_in_one_spec() -> None:
    """The help's own example must work."""
    for text in (run("evaluate", "--help").stdout, run("--help").stdout):
        for line in text.splitlines():
            words = line.split()
            if words[:2] == ["sqlmetrics", "evaluate"]:
                specs = [word for word in words[2:] if "@" in word]
                run("evaluate", *INPUT, *specs)


def test_settings() -> None:
    default = rows_of("evaluate", *INPUT, "map@3", "precision@3")
    both = rows_of("evaluate", *INPUT, "map@3", "precision@3", "--set", "divisor=k")
    one = rows_of("evaluate", *INPUT, "map@3", "precision@3", "--set", "map.divisor=k")
    spec = rows_of("evaluate", *INPUT, "map(divisor=k)@3")
    assert both != default
    assert one[0]["value"] == spec[0]["value"] != default[0]["value"]
    assert one[1] == default[1]


def test_columns() -> None:
    frame = pd.read_parquet("recs.parquet")
    frame.rename(columns={"user_id": "u", "item_id": "movie"}).to_parquet("r.parquet")
    truth = pd.read_parquet("test.parquet")
    truth.rename(columns={"user_id": "u", "item_id": "film=1"}).to_parquet("t.parquet")
    options = ["--column", "user_id=u", "--column", "recommendations.item_id=movie"]
    options += ["--column", "interactions.item_id=film=1"]
    rows = rows_of("evaluate", "-r", "r.parquet", "-i", "t.parquet", "mrr@3", *options)
    assert rows == rows_of("evaluate", *INPUT, "mrr@3")


def test_keys() -> None:
    for name in ("recs", "test"):
        frame = pd.read_parquet(f"{name}.parquet")
        frame["session"] = frame["user_id"] % 2
        frame.to_parquet(f"{name}.parquet")
    (row, *_) = rows_of("per-user", *INPUT, "mrr@3", "--key", "user_id, session")
    assert list(row) == ["user_id", "session", "mrr@3"]


def test_conventions(folder: Path) -> None:
    (folder / "mine.toml").write_text('[metrics.map]\ndivisor = "k"\n')
    mine = rows_of("evaluate", *INPUT, "map@3", "--convention", "mine.toml")
    assert mine[0]["value"] == rows_of("evaluate", *INPUT, "map(divisor=k)@3")[0]["value"]
    assert rows_of("evaluate", *INPUT, "map@3", "--convention", "trec_eval")
    assert rows_of("evaluate", *INPUT, "map@3", "--convention", "standard")


def test_columns_that_a_metric_of_ones_own_misspells(folder: Path) -> None:
    own = folder / "mine.sql.j2"
    query = "{#---\ntitle = 'x'\n---#}\nSELECT {{ keys }}, k, sum(rank) AS value\nFROM hits\n"
    for right, wrong in (("rank", "nothing"), ("AS value", "AS valeu")):
        own.write_text(f"{query.replace(right, wrong)}GROUP BY {{{{ keys }}}}, k\n")
        error = run("evaluate", *INPUT, "mine@3", "--templates", ".", code=2).stderr
        assert "mine.sql.j2" in error
        assert wrong.removeprefix("AS valeu") in error
        assert "Binder Error" not in error


# ---------------------------------------------------------------- models


def test_models() -> None:
    rows = rows_of("evaluate", "-r", "a=recs.parquet", "-r", "b=short.parquet", "-i",
                   "test.parquet", "mrr@3")  # fmt: skip
    assert [row["model"] for row in rows] == ["a", "b"]
    assert [row["n_users"] for row in rows] == [4, 4]


def test_one_of_the_models_is_the_baseline() -> None:
    """Users 1 and 2 of a have the lists of b, which has none for users 3 and 4."""
    models = ["-r", "a=recs.parquet", "-r", "b=short.parquet", "-i", "test.parquet"]
    asked = [*models, "--baseline", "b", "unexpectedness@2"]
    found = [(row["model"], row["value"]) for row in rows_of("evaluate", *asked)]
    assert found == [("a", 1 / 2), ("b", 0)]
    rows = duckdb.sql(run("sql", *asked).stdout).fetchall()
    assert [(row[0], row[3]) for row in rows] == found


def test_a_path_with_an_equals_sign(folder: Path) -> None:
    (folder / "recs.parquet").rename(folder / "a=b.parquet")
    assert "model" not in rows_of("evaluate", "-r", "a=b.parquet", "-i", "test.parquet", "mrr")[0]
    glob = rows_of("evaluate", "-r", "a=b*.parquet", "-i", "test.parquet", "mrr")
    assert "model" not in glob[0]
    named = rows_of("evaluate", "-r", "x=a=b.parquet", "-i", "test.parquet", "mrr")
    assert named[0]["model"] == "x"


def test_models_that_are_not_named_right() -> None:
    for options, words in (
        (["-r", "recs.parquet", "-r", "short.parquet"], ["several -r", "NAME=FILE"]),
        (["-r", "recs.parquet", "-r", "b=short.parquet"], ["recs.parquet", "NAME=FILE"]),
        (["-r", "a=recs.parquet", "-r", "a=short.parquet"], ["a", "twice"]),
        (["-r", "a="], ["empty"]),
        (["-r", ""], ["empty"]),
    ):
        error = run("evaluate", *options, "-i", "test.parquet", "mrr", code=2).stderr
        assert [word for word in words if word not in error] == [], error


def test_a_shell_glob_without_quotes() -> None:
    """`-r part-*.parquet` reaches us as one file and metrics that end in .parquet."""
    error = run("evaluate", "-r", "recs.parquet", "short.parquet", "-i", "test.parquet", code=2)
    assert "short.parquet" in error.stderr
    assert "-r" in error.stderr
    assert "quotes" in error.stderr


# ---------------------------------------------------------------- formats


def test_csv_is_the_default_in_a_pipe() -> None:
    text = run("evaluate", *INPUT, "mrr@3").stdout
    assert text == run("evaluate", *INPUT, "mrr@3", "--format", "csv").stdout
    head, row, *rest = text.splitlines()
    assert head == "metric,k,value,n_users,std,ci_low,ci_high"
    assert row.startswith("mrr,3,0.333333333333333")
    assert rest == []


def test_csv_leaves_missing_values_empty() -> None:
    text = run("evaluate", *INPUT, "coverage", "--history", "test.parquet").stdout
    assert text.splitlines()[1].startswith("coverage,,")
    assert "nan" not in text.lower()
    assert "<NA>" not in text


def test_jsonl() -> None:
    lines = run("evaluate", *INPUT, "mrr", "-k", "1:3", "--format", "jsonl").stdout.splitlines()
    assert [strict_json(line)["k"] for line in lines] == [1, 2, 3]


def test_json_has_no_nan() -> None:
    """One user has no standard deviation, a run-grain metric no number of users."""
    pd.DataFrame({"user_id": [1], "item_id": [12]}).to_parquet("one.parquet")
    options = ["-r", "recs.parquet", "-i", "one.parquet", "--history", "test.parquet"]
    rows = rows_of("evaluate", *options, "mrr", "coverage")
    assert rows[0]["std"] is None
    assert rows[1]["n_users"] is None


def test_json_has_no_infinity() -> None:
    truth = pd.DataFrame({"user_id": [1], "item_id": [12], "relevance": [5000.0]})
    truth.to_parquet("graded.parquet")
    options = ["-r", "recs.parquet", "-i", "graded.parquet", "dcg(gain=exponential)@3"]
    result = CliRunner().invoke(main, ["evaluate", *options, "--format", "json"])
    if result.exit_code == 0:
        strict_json(result.stdout)
    else:
        assert "relevance" in result.stderr


def test_digits() -> None:
    for kind in ("table", "markdown", "latex", "csv", "json", "jsonl"):
        arguments = ["evaluate", *INPUT, "mrr@3", "--format", kind]
        assert "0.33," in re.sub("[|│&]", ",", run(*arguments, "--digits", "2").stdout).replace(
            " ", ""
        )
        if kind in ("table", "markdown", "latex"):
            text = run(*arguments).stdout
            assert "0.3333" in text
            assert "0.33333" not in text


def test_markdown() -> None:
    lines = run("evaluate", *INPUT, "mrr@3", "ndcg", "--format", "markdown").stdout.splitlines()
    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {8}
    assert lines[0].startswith("| metric | k |")


def test_latex() -> None:
    text = run("evaluate", *INPUT, "hit_rate@3", "--format", "latex").stdout
    assert text.startswith("% \\usepackage{booktabs}\n\\begin{tabular}")
    assert text.rstrip().endswith("\\end{tabular}")
    assert "hit\\_rate" in text
    assert "n_users" not in text


def test_a_table_for_papers() -> None:
    models = ["-r", "a=recs.parquet", "-r", "b=short.parquet", "-i", "test.parquet"]
    board = ["leaderboard", "mrr@3", "recall@2", *models, "--against"]
    text = run(*board, "b", "--ci", "normal", "--format", "latex").stdout
    assert "Model & MRR@3 & Recall@2" in text
    assert "worse than b (paired t-test, Holm-adjusted p < 0.05;" in text
    assert "$\\pm$" in text
    error = run(*board, "c", code=2).stderr
    assert "no model 'c'" in error
    assert "choose one of a, b with --against" in error


def test_latex_rows_that_begin_with_an_argument_of_the_row_above() -> None:
    names = ["[2pt]", "*", "a[1]", "", "-"]
    frame = pd.DataFrame({"*metric": names, "value": 0.5})
    lines = rendered(frame, "latex", 1).splitlines()
    assert lines[3:-2] == [
        "{}*metric & value \\\\",
        "\\midrule",
        "{}[2pt] & 0.5 \\\\",
        "{}* & 0.5 \\\\",
        "a[1] & 0.5 \\\\",
        " & 0.5 \\\\",
        "- & 0.5 \\\\",
    ]


def test_table() -> None:
    text = run("evaluate", *INPUT, "mrr@3", "--format", "table").stdout
    assert "mrr" in text
    assert "\x1b" not in text


def test_text_that_looks_like_markup(folder: Path) -> None:
    users = ["[bold]x", "a|b", "a,b", 'q"', "=1+1"]
    pd.DataFrame({"user_id": users, "item_id": 1, "rank": 1}).to_parquet(folder / "r.parquet")
    pd.DataFrame({"user_id": users, "item_id": 1}).to_parquet(folder / "t.parquet")
    arguments = ["per-user", "-r", "r.parquet", "-i", "t.parquet", "mrr"]
    assert "[bold]x" in run(*arguments, "--format", "table").stdout
    assert "a\\|b" in run(*arguments, "--format", "markdown").stdout
    assert '"a,b"' in run(*arguments, "--format", "csv").stdout
    assert {row["user_id"] for row in rows_of(*arguments)} == set(users)


# ---------------------------------------------------------------- files


def test_output_files(folder: Path) -> None:
    kinds = {suffix: one.name for one in formats.formats_of() for suffix in one.suffixes}
    assert kinds.keys() > {".csv", ".json", ".md", ".tex", ".txt", ".parquet"}
    for end, kind in {**kinds, ".JSON": "json"}.items():
        path = folder / f"out{end}"
        assert run("evaluate", *INPUT, "mrr@3", "-o", path.name).stdout == ""
        assert path.stat().st_size > 0
        assert not [other for other in folder.iterdir() if other.name.startswith(".")]
        if kind != "parquet":
            printed = run("evaluate", *INPUT, "mrr@3", "--format", kind).stdout
            assert path.read_text(encoding="utf-8") == printed


def test_parquet_output_does_not_pass_through_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows_of("per-user", *INPUT, "mrr@3", "recall@3")

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("pandas is not needed here")

    monkeypatch.setattr("sqlmetrics.engines.duckdb.DuckDBEngine.frame", refuse)
    monkeypatch.setattr(pd.DataFrame, "__init__", refuse)
    run("per-user", *INPUT, "mrr@3", "recall@3", "-o", "out.parquet")
    assert pq.read_table("out.parquet").to_pylist() == expected


def test_files_are_not_overwritten(folder: Path) -> None:
    for name in ("out.csv", "out.parquet"):
        path = folder / name
        path.write_text("mine")
        error = run("evaluate", *INPUT, "mrr", "-o", name, code=1).stderr
        assert name in error
        assert "--force" in error
        assert path.read_text() == "mine"
        run("evaluate", *INPUT, "mrr", "-o", name, "--force")
        assert path.read_bytes()[:4] != b"mine"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_file_is_written_whole_or_not_at_all(folder: Path, name: str) -> None:
    before = set(folder.iterdir())
    pd.DataFrame({"user_id": [1, 1], "item_id": [12, 12]}).to_parquet(folder / "twice.parquet")
    (folder / "twice.parquet").rename(folder / "test.parquet")
    run("evaluate", *INPUT, "mrr", "-o", name, code=1)
    assert set(folder.iterdir()) == before
    (folder / name).write_text("mine")
    run("evaluate", *INPUT, "mrr", "-o", name, "--force", code=1)
    assert (folder / name).read_text() == "mine"


def test_output_files_that_cannot_be(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for options, code, words in (
        (["-o", "out.xls"], 2, ["out.xls", "--format", ".parquet"]),
        (["-o", "out"], 2, ["out", "--format"]),
        (["-o", "no/out.csv"], 1, ["no", "folder"]),
        (["-o", "out.parquet", "--format", "csv"], 2, ["out.parquet", "csv"]),
        (["-o", ""], 2, ["empty"]),
    ):
        error = run("evaluate", *INPUT, "mrr", *options, code=code).stderr
        assert [word for word in words if word not in error] == [], error
        assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_format_for_a_file_without_an_extension(folder: Path) -> None:
    run("evaluate", *INPUT, "mrr", "-o", "out", "--format", "json")
    assert strict_json((folder / "out").read_text())


def test_a_new_format_is_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices, suffixes, files and stdout follow from the table of formats."""

    def lay_out(result: Any, digits: int | None) -> str:
        return formats.rendered(result, "csv", digits).replace(",", "\t")

    tsv = formats.Format(name="tsv", suffixes=(".tsv",), lay_out=lay_out)
    monkeypatch.setitem(formats.FORMATS, "tsv", tsv)  # type: ignore[arg-type]
    monkeypatch.setattr(main.commands["evaluate"], "params", [
        click.Option(["--format", "kind"], type=click.Choice(formats.FORMATS))
        if param.name == "kind" else param
        for param in main.commands["evaluate"].params
    ])  # fmt: skip
    printed = run("evaluate", *INPUT, "mrr@3", "--format", "tsv").stdout
    assert printed.startswith("metric\tk\tvalue")
    run("evaluate", *INPUT, "mrr@3", "-o", "out.tsv")
    assert Path("out.tsv").read_text(encoding="utf-8") == printed


def test_a_folder_is_not_a_file(folder: Path) -> None:
    (folder / "out.csv").mkdir()
    assert "folder" in run("evaluate", *INPUT, "mrr", "-o", "out.csv", "--force", code=1).stderr


def test_dash_is_stdout() -> None:
    assert run("evaluate", *INPUT, "mrr", "-o", "-").stdout.startswith("metric,")


# ---------------------------------------------------------------- sql


def test_sql_runs_alone() -> None:
    metrics = ["ndcg@2", "recall", "map(divisor=k)@3", "hit_rate@1"]
    several = ["-r", "a=recs.parquet", "-r", "b=short.parquet", *INPUT[2:]]
    for inputs, command in itertools.product((INPUT, several), ("evaluate", "per-user")):
        per_user = ["--per-user"] if command == "per-user" else []
        text = run("sql", *inputs, *metrics, *per_user).stdout
        assert text.endswith(";\n")
        table = duckdb.connect().execute(text).fetchall()
        for printed, row in zip(table, rows_of(command, *inputs, *metrics), strict=True):
            for found, value in zip(printed, row.values(), strict=True):
                same = found == value
                assert same or found == pytest.approx(value, rel=1e-12)


def test_sql_names_its_files_once_each() -> None:
    text = run("sql", *INPUT, "ndcg@2", "recall@2").stdout
    assert text.count("'recs.parquet'") == 1
    assert text.count("'test.parquet'") == 1


def test_sql_without_data_still_needs_the_columns() -> None:
    assert "-r FILE" in run("sql", "mrr", code=2).stderr


# ---------------------------------------------------------------- what there is


def test_list() -> None:
    text = run("list").stdout
    for name in Catalog.load().metrics:
        assert name in text
    assert {row["metric"] for row in rows_of("list")} == set(Catalog.load().metrics)
    for kind in ("table", "markdown", "latex", "jsonl"):
        assert "ndcg" in run("list", "--format", kind).stdout


def test_describe() -> None:
    """Describe every metric."""
    wrong = {}
    for name in Catalog.load().metrics:
        text = run("describe", name).stdout
        words = ("formula:", "averaged over:", "template:", "SELECT", "FROM")
        wrong[name] = [word for word in words if word not in text] + ["{{"] * ("{{" in text)
    assert {name: words for name, words in wrong.items() if words} == {}


def test_describe_names_the_lists_that_a_value_of_a_run_reads() -> None:
    for spec, lists in {
        "iaa": "users with a relevant item",
        "statistical_parity": "users with recommendations",
        "exposure_utility(audience=both)": "users with a relevant item and recommendations",
        "coverage": "lists",
        "auc": "lists",
        "auc(scope=catalogue)": "users with a relevant item",
    }.items():
        assert f"one value for all {lists} together" in run("describe", spec).stdout, spec


def test_describe_takes_a_spec_and_a_convention() -> None:
    assert run("describe", "NDCG").stdout == run("describe", "ndcg").stdout
    text = run("describe", "MeanInvUserFreq@10", "--convention", "rectools").stdout
    assert text.startswith("surprisal@10: ")
    assert "audience = " in text


def test_list_stages() -> None:
    assert {row["stage"] for row in rows_of("list", "--stages")} == set(Catalog.load().stages)
    error = run("list", "--stages", "--slices", code=2).stderr
    assert "--slices and --stages" in error


def test_demo() -> None:
    paths = run("demo", "new/data", "--users", "30", "--per-user", "5").stdout.splitlines()
    assert all(Path(path).is_file() for path in paths)
    model = next(path for path in paths if "als" in path)
    rows = rows_of("evaluate", "-r", model, "-i", "new/data/interactions.parquet", "ndcg@5")
    assert 0 < rows[0]["value"] < 1
    assert "--force" in run("demo", "new/data", code=1).stderr
    run("demo", "new/data", "--users", "30", "--force")


def test_demo_with_bad_numbers(folder: Path) -> None:
    for name, number in {
        "--users": "x", "--per-user": "-1", "--seed": "1.5", "--models": "9",
    }.items():  # fmt: skip
        assert number in run("demo", "new", name, number, code=2).stderr
    assert not (folder / "new").exists()


def test_demo_into_a_file() -> None:
    assert "recs.parquet" in run("demo", "recs.parquet", code=2).stderr
    assert "recs.parquet" in run("demo", "recs.parquet/sub", code=1).stderr


# ---------------------------------------------------------------- mistakes


# mistakes that tests/docs/test_refusals.py does not have
MISTAKES: list[tuple[list[str], int, list[str]]] = [
        (["per_user"], 2, ["'per_user'", "did you mean 'per-user'"]),
        (["xyz"], 2, ["'xyz'"]),
        (["stage"], 2, ["'stage'; Evaluator.stage is for Python only"]),
        (["evaluate", "--recs", "x"], 2, ["'--recs'", "'--recommendations'"]),
        (["recs.parquet"], 2, ["'recs.parquet'"]),
        (["evaluate", *INPUT, "ndcg@ten"], 2, ["k", "'ten'"]),
        (["evaluate", *INPUT, "ndcg", "-k", "0"], 2, ["k", "positive whole number"]),
        (["evaluate", *INPUT, "ndcg", "-k", "5,x"], 2, ["k", "'x'"]),
        (["evaluate", *INPUT, "ndcg", "-k", "5,"], 2, ["k", "''"]),
        (["evaluate", *INPUT, "ndcg", "-k", "1:"], 2, ["1:"]),
        (["evaluate", *INPUT, "ndcg", "-k", "5-10"], 2, ["5-10"]),
        (["evaluate", *INPUT, "ndcg", "-k", "5", "-k", "10"], 2, ["only once", "-k 5,10"]),
        (["evaluate", *INPUT, "ndcg", "-i", "a.parquet"], 2, ["-i", "only once", "a glob"]),
        (["evaluate", "ipw", "--logs", "a.csv", "--policy", "a=a.csv", "--policy", "b=b.csv"], 2,
         ["--policy", "{model}"]),
        (["evaluate", *INPUT, "ndcg", "--key", "user_id", "--key", "day"], 2, ["--key user_id,"]),
        # a typing error must not eat the memory of the machine
        (["evaluate", *INPUT, "ndcg", "-k", "1:1000000000"], 2, ["1:1000000000"]),
        (["evaluate", *INPUT, "ndcg", "-k", ""], 2, ["k"]),
        (["evaluate", *INPUT, "ndcg", "--set", "ties=rows"], 2, ["'rows'", "did you mean 'row'"]),
        (["evaluate", *INPUT, "ndcg", "--convention", ""], 2, ["convention"]),
        (["evaluate", *INPUT, "ndcg", "--column", "user_id"], 2, ["--column", "NAME=COLUMN"]),
        (["evaluate", *INPUT, "ndcg", "--key", "user_id,"], 2, ["key"]),
        (["evaluate", *INPUT, "ndcg", "--key", "visit"], 1, ["'visit'", "--column"]),
        (["evaluate", *INPUT, "ndcg", "--threads", "0"], 2, ["--threads"]),
        (["evaluate", *INPUT, "ndcg", "--format", "xml"], 2, ["xml", "csv"]),
        (["evaluate", *INPUT, "ndcg", "--digits", "-1"], 2, ["--digits"]),
        (["evaluate", *INPUT, "ndcg", "--colum", "a=b"], 2, ["--colum", "--column"]),
        (["evaluate", *INPUT, "ndcg@10", "--k", "5"], 2, ["--k"]),
        (["evaluate", "-r", "recs.parquet", "-i", "nope.parquet"], 1, ["interactions", "nope"]),
        (["evaluate", *INPUT, "--history", ""], 2, ["empty"]),
        (["describe"], 2, ["METRIC"]),
        (["demo"], 2, ["DIRECTORY"]),
        (["-r", "recs.parquet"], 2, ["-r"]),
    ]  # fmt: skip


def test_help_and_flags_may_be_given_with_others_twice() -> None:
    assert run("evaluate", *INPUT, "-i", "a.parquet", "--help").stdout.startswith("Usage: ")
    assert "ORDER BY" in run("sql", *INPUT, "ndcg", "--per-user", "--per-user").stdout


def test_mistakes() -> None:
    for arguments, code, words in MISTAKES:
        error = run(*arguments, code=code).stderr
        assert [word for word in words if word not in error] == [], (arguments, error)


def test_bad_data_is_exit_code_one() -> None:
    truth = pd.read_parquet("test.parquet")
    pd.concat([truth, truth]).to_parquet("test.parquet")
    error = run("evaluate", *INPUT, "mrr", code=1).stderr
    assert "interactions" in error
    assert "n_copies" in error
    assert rows_of("evaluate", *INPUT, "mrr", "--trust-input")
    assert rows_of("evaluate", *INPUT, "mrr", "--set", "duplicate_interactions=set")


def test_options_of_the_engine() -> None:
    expected = rows_of("evaluate", *INPUT, "mrr@3")
    options = ["--threads", "1", "--memory-limit", "500MB", "--temp-directory", "spill"]
    assert rows_of("evaluate", *INPUT, "mrr@3", *options) == expected
    assert (
        "memory" in run("evaluate", *INPUT, "mrr", "--memory-limit", "1KB", code=1).stderr.lower()
    )


def test_stdin_that_is_no_table() -> None:
    for given, words in ((b"", "empty"), (b"PK\x03\x04\0", "")):
        error = run("evaluate", "-r", "-", "-i", "test.parquet", "mrr", code=1, input=given).stderr
        assert "stdin" in error
        assert words in error
        assert "/" not in error.replace("-r", "")


def test_a_statement_does_not_read_stdin() -> None:
    """What came from there is gone when the statement runs; its columns are not."""
    lists, arguments = Path("recs.parquet").read_bytes(), ["-r", "-", "-i", "test.parquet", "mrr"]
    error = run("sql", *arguments, code=2, input=lists).stderr
    assert "cannot read stdin (recommendations). Give a file" in error
    assert "--recommendations-table NAME" in error
    named = run("sql", *arguments, "--recommendations-table", "recs", input=lists).stdout
    assert "FROM recs" in named


# ---------------------------------------------------------------- help


def test_help() -> None:
    """A command with many options shows each of them in one group, rare ones only if asked to."""
    for command in COMMANDS:
        text = run(command, "--help").stdout
        assert run(command, "-h").stdout == text
        assert text.startswith("Usage: ")
        assert main.commands[command].help
        params = main.commands[command].params
        options = [param for param in params if isinstance(param, click.Option)]
        assert [option.opts for option in options if not option.help] == []
        is_long = len(options) > 10
        rare = [option for option in options if is_long and option.name in RARE]
        assert ("--help-all" in text) == is_long
        everything = run(command, "--help-all").stdout if is_long else text
        titles = [line[:-1] for line in everything.splitlines() if line[:-1] in GROUPS]
        assert titles == [title for title in GROUPS if title in titles]
        assert bool(titles) == is_long
        shown = [option.opts[-1] for option in options if option not in rare]
        names = {text: shown, everything: [option.opts[-1] for option in options]}
        for help_text, expected in names.items():
            found = re.findall(r"^  (?:-\w, )?(-[\w-]+)(?=$|,|  | [A-Z\[/])", help_text, re.M)
            others = {"--help", "--help-all"} if is_long else {"--help"}
            assert len(found) == len(set(found))
            assert set(found) == others | {name if name[1] == "-" else "-k" for name in expected}


def test_help_fits_on_two_screens() -> None:
    for command in ("evaluate", "per-user", "compare", "leaderboard", "sql", "check", "report"):
        text = run(command, "--help", terminal_width=100).stdout
        assert len(text.splitlines()) <= 90, command


def test_help_names_the_default_set() -> None:
    text = " ".join(run("evaluate", "--help").stdout.split())
    *names, last = Catalog.load().default_set()
    assert f"compute {', '.join(names)} and {last} at cutoff {DEFAULT_K}" in text


def test_help_of_all() -> None:
    text = run("--help").stdout
    for command in COMMANDS:
        assert command in text
    assert "..." not in text.partition("Commands:")[2]  # every summary fits
    assert run("--version").stdout.strip().endswith(sm.__version__)


def test_help_without_a_command() -> None:
    result = python()
    assert result.returncode == 2
    assert (result.stderr or result.stdout).startswith("Usage: sqlmetrics")
    assert "Error" not in result.stdout + result.stderr


def test_an_argument_is_not_suggested_as_an_option() -> None:
    result = run("evaluate", "--metric", "ndcg", code=2)
    assert "'metrics'" not in result.stderr
    assert "No such option '--metric'" in result.stderr


# ---------------------------------------------------------------- real processes


def test_a_real_process() -> None:
    result = python("evaluate", *INPUT, "mrr@3", "--format", "json")
    assert result.returncode == 0
    assert result.stderr == ""
    assert strict_json(result.stdout) == rows_of("evaluate", *INPUT, "mrr@3")
    result = python("evaluate", *INPUT, "mrrr")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("sqlmetrics: error: unknown metric")


def test_shell_completion() -> None:
    for shell in ("bash", "zsh", "fish"):
        environment = {"_SQLMETRICS_COMPLETE": f"{shell}_source"}
        text = run(prog_name="sqlmetrics", env=environment).stdout
        assert "_SQLMETRICS_COMPLETE" in text
    typed = {"COMP_WORDS": "sqlmetrics ev", "COMP_CWORD": "1"}
    environment = {"_SQLMETRICS_COMPLETE": "bash_complete", **typed}
    assert "evaluate" in run(prog_name="sqlmetrics", env=environment).stdout


def test_list_is_filtered_by_a_text() -> None:
    found = run("list", "RECALL").stdout
    assert found.splitlines()[0] == "metric,aliases,family,title,settings"
    names = [line.partition(",")[0] for line in found.splitlines()[1:]]
    assert {"recall", "ips_recall"} <= {*names}
    assert "ndcg" not in names
    assert run("list", "popularity", "--slices").stdout.count("\n") == 2
    assert "did you mean 'ndcg'" in run("list", "ndgc", code=2).stderr


def test_a_table_of_metrics_has_names_and_titles() -> None:
    lines = run("list", "recall", "--format", "table").stdout.splitlines()
    assert "title" in "".join(lines[:3])
    assert "settings" not in "".join(lines)
