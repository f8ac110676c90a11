"""Gates on the command line: evaluate --fail-if, --fail-on-warnings and the command test."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.command_line import run

# user 1 finds its item at rank 1, user 2 at rank 2, user 3 not at all
LISTS = pd.DataFrame({
    "user_id": [1, 1, 2, 2, 3, 3], "item_id": [11, 12, 12, 11, 11, 12], "rank": [1, 2] * 3,
})  # fmt: skip
TRUTH = pd.DataFrame({"user_id": [1, 2, 3], "item_id": [11, 11, 13]})
USERS = pd.DataFrame({"user_id": [1, 2, 3], "country": ["DE", "AT", "AT"]})
HISTORY = pd.DataFrame({"user_id": [1, 2, 3], "item_id": [12, 13, 14]})
SEEN = pd.DataFrame({"user_id": [1, 2, 4], "item_id": [12, 13, 11]})  # 12 is in the list of user 1
TABLES = ["-r", "lists.csv", "-i", "truth.csv"]


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    for name, frame in {"lists": LISTS, "truth": TRUTH, "users": USERS, "history": HISTORY}.items():
        frame.to_csv(f"{name}.csv", index=False)
    LISTS.assign(item_id=12).drop_duplicates(["user_id"]).to_csv("worse.csv", index=False)
    return here


@pytest.mark.parametrize(
    "option", [["--fail-if", "mrr < 1"], ["--fail-on-warnings"], ["--record", "a.json"]]
)
def test_options_of_a_result_do_not_apply_to_verify(option: list[str]) -> None:
    error = run("evaluate", "mrr", *TABLES, "--verify", *option, code=2).stderr
    assert f"{option[0]} does not apply to --verify" in error
    assert not Path("a.json").exists()


def test_one_model_fails_after_its_result_is_written() -> None:
    gates = ["mrr@2 < 0.5", "mrr@2 < 0.4 where country=AT", "hit_rate n_users < 2"]
    options = [part for gate in gates for part in ("--fail-if", gate)]
    tables = [*TABLES, "--users", "users.csv", "--by", "country", "--no-check"]
    result = run("evaluate", "mrr@2", "hit_rate@2", *tables, *options, code=3)
    assert result.stdout.startswith("country,metric,k,value")
    assert result.stderr == (
        "sqlmetrics: error: the evaluation fails\n"
        '  mrr@2, country=AT: value 0.25 is below 0.5; gate "mrr@2 < 0.5"\n'
        '  mrr@2, country=AT: value 0.25 is below 0.4; gate "mrr@2 < 0.4 where country=AT"\n'
        '  hit_rate@2, country=DE: n_users 1 is below 2; gate "hit_rate n_users < 2"\n'
    )
    assert run("evaluate", "mrr@2", *tables, "--fail-if", "mrr < 0.2").stderr == ""


def test_files_are_written_although_a_gate_fails() -> None:
    coverage = ["evaluate", "coverage@2", *TABLES, "--history", "history.csv", "--no-check"]
    for name in ("out.json", "out.parquet"):
        run(*coverage, "--fail-if", "coverage@2 < 0.9", "-o", name, code=3)
    (row,) = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert row["value"] == pytest.approx(1 / 3)  # 12, of 12, 13 and 14
    assert pd.read_parquet("out.parquet")["value"].tolist() == [row["value"]]


def test_gates_are_checked_before_the_tables_are_read() -> None:
    Path("truth.csv").write_text("user_id,item_id\n1,11\n1,11\n", encoding="utf-8")  # refused
    for gate, message in {
        "ndcg < 1": "names the metric 'ndcg', which is not computed; computed: mrr",
        "als: mrr < 1": "the models have no names",
        "mrr < 1 where country=DE": "there are no slices",
    }.items():
        assert message in run("evaluate", "mrr@2", *TABLES, "--fail-if", gate, code=2).stderr


def test_warnings_can_fail_a_command() -> None:
    SEEN.to_csv("history.csv", index=False)
    seen = ["evaluate", "mrr@2", *TABLES, "--history", "history.csv"]
    result = run(*seen, "--fail-on-warnings", code=3)
    assert result.stdout.startswith("metric,k,value")
    assert "is in the user's history" in result.stderr
    assert result.stderr.endswith(
        "sqlmetrics: error: 1 data warning (--fail-on-warnings), shown above\n"
    )
    both = run(*seen, "--fail-on-warnings", "--fail-if", "mrr < 1", code=3).stderr
    assert "the evaluation fails\n  mrr@2: value 0.5 is below 1;" in both
    assert both.endswith("\n  1 data warning (--fail-on-warnings), shown above\n")
    assert run("evaluate", "mrr@2", *TABLES, "--fail-on-warnings").stderr == ""
    for opposite in ("--no-check", "--trust-input"):
        refused = run(*seen, "--fail-on-warnings", opposite, code=2)
        assert f"needs the checks that {opposite} skips" in refused.stderr


def test_gates_in_python() -> None:
    with sm.Evaluator(LISTS, TRUTH, history=SEEN, check=True) as evaluator:
        with (
            pytest.warns(sm.DataWarning, match="history"),
            pytest.raises(sm.GateError) as failed,
        ):
            evaluator.evaluate(["mrr@1", "mrr@2"], fail_if=["mrr < 0.5", "mrr > 2"])
        assert evaluator.evaluate("mrr@2", fail_if="mrr@2 < 0.5").loc[0, "value"] == 0.5
    assert failed.value.reasons == ['mrr@1: value 0.3333 is below 0.5; gate "mrr < 0.5"']
    assert list(failed.value.frame["value"]) == [pytest.approx(1 / 3), 0.5]
    assert failed.value.frame.attrs["sqlmetrics"]["result"] == "evaluate"


# ---------------------------------------------------------------- the command test

SUITE = """
recommendations = { new = "lists.csv", old = "worse.csv" }
interactions = "truth.csv"
users = "users.csv"
metrics = ["mrr@2", "hit_rate"]
k = [1, 2]
check = false

[evaluate]
by = "country"
fail-if = ["new: mrr@2 < 0.3", "new: hit_rate@1 n_users < 1"]

[compare]
name = "not worse"
baseline = "old"
test = "bootstrap"
resamples = 20
ci = "none"
fail-if = "mrr@2 <= 0"
"""


TRUST = "--trust-file"


def written(text: str) -> str:
    Path("gates.toml").write_text(text, encoding="utf-8")
    return "gates.toml"


def test_a_file_of_gates() -> None:
    result = run("test", written(SUITE), TRUST, "--format", "json", code=3)
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    assert list(rows[0]) == ["verdict", "test", "row", "column", "number", "gate"]
    assert [tuple(row.values())[:5] for row in rows] == [
        ("FAIL", "evaluate", "new, mrr@2, country=AT", "value", 0.25),
        ("pass", "evaluate", "new, mrr@2, country=DE", "value", 1.0),
        ("pass", "evaluate", "new, hit_rate@1, country=AT", "n_users", 2),
        ("pass", "evaluate", "new, hit_rate@1, country=DE", "n_users", 1),
        ("pass", "not worse", "new, mrr@2", "difference", 0.5),
    ]
    assert result.stderr == (
        "sqlmetrics: files named by gates.toml:\n"
        "  recommendations of new: lists.csv\n"
        "  recommendations of old: worse.csv\n"
        "  interactions: truth.csv\n"
        "  users: users.csv\n"
        "sqlmetrics: error: 1 of 2 tests failed\n"
        "  evaluate: new, mrr@2, country=AT: value 0.25 is below 0.3; "
        'gate "new: mrr@2 < 0.3"\n'
    )


def test_verdicts_as_tests_of_junit() -> None:
    run("test", written(SUITE), TRUST, "-o", "verdicts.xml", code=3)
    root = ElementTree.parse("verdicts.xml").getroot()
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "5", "1")
    assert [
        (suite.tag, suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root
    ] == [("testsuite", "evaluate", "4", "1"), ("testsuite", "not worse", "1", "0")]
    cases = list(root.iter("testcase"))
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == 5
    assert cases[0].attrib == {
        "classname": "evaluate", "name": "new, mrr@2, country=AT: new: mrr@2 < 0.3"}  # fmt: skip
    (failure,) = cases[0]
    assert failure.tag == "failure"
    assert failure.get("message") == (
        "new, mrr@2, country=AT: value is 0.2500; gate: new: mrr@2 < 0.3"
    )
    assert not any(list(case) for case in cases[1:])
    shown = run("test", "gates.toml", TRUST, "--format", "junit", "--digits", "2", code=3)
    assert "value is 0.25; gate" in shown.stdout


def test_names_in_xml_are_escaped() -> None:
    name = 'a "b" <c> & \u001b[31m]]>'
    text = SUITE.partition("[compare]")[0] + f"name = {json.dumps(name)}\n"
    shown = run("test", written(text), TRUST, "--format", "junit", code=3).stdout
    (suite,) = ElementTree.fromstring(shown)
    assert suite.get("name") == r'a "b" <c> & \x1b[31m]]>'


@pytest.mark.parametrize("command", ["evaluate", "compare", "check"])
def test_only_verdicts_are_tests_of_junit(command: str) -> None:
    asked = ["-r", "new=lists.csv", "-r", "old=worse.csv", "-i", "truth.csv", "-o", "x.xml"]
    asked += ["--baseline", "old"] if command == "compare" else []
    assert "cannot tell the format of x.xml" in run(command, "mrr", *asked, code=2).stderr
    found = run(command, "mrr", *asked[:-2], "--format", "junit", code=2)
    assert "'junit' is not one of" in found.stderr


def test_typed_options_override_those_of_the_file() -> None:
    only = SUITE.partition("[compare]")[0].replace("new: ", "").replace("by = ", "# by = ")
    lines = run("test", written(only), TRUST, "-r", "lists.csv").stdout.splitlines()
    assert [line.split(",")[0] for line in lines] == ["verdict", "pass", "pass"]
    few = ["-r", "lists.csv", "--fail-if", "mrr@2 < 0.6"]
    failed = run("test", "gates.toml", *few, code=3, env={"SQLMETRICS_TRUST_FILE": "1"})
    assert len(failed.stdout.splitlines()) == 2  # instead of the gates of the file


def test_warnings_are_a_verdict() -> None:
    SEEN.to_csv("history.csv", index=False)
    gates = """
        recommendations = "lists.csv"
        interactions = "truth.csv"
        history = "history.csv"
        metrics = "mrr@2"
        fail-on-warnings = true
        [[evaluate]]
        [[evaluate]]
        set = { audience = "relevant" }
    """
    result = run("test", written(gates), TRUST, code=3)
    assert [line.split(",")[:5] for line in result.stdout.splitlines()[1:]] == [
        ["FAIL", f"evaluate {number}", "tables", "warnings", "1"] for number in (1, 2)
    ]
    assert result.stderr.count("is in the user's history") == 1
    assert "2 of 2 tests failed\n  evaluate 1: 1 data warning" in result.stderr


WRONG = [
    ("[evaluate]\nfail-if = 'mrr < 1'\nfail_if = 'x'", "unknown key 'fail_if'.*'fail-if'"),
    ("thread = 2\n[evaluate]", "gates.toml: unknown key 'thread'.*'threads'"),
    ("[evaluate]\nbaseline = ['a', {}]", "evaluate: baseline must be a text, a number or"),
    ("[evaluate]\ncheck = 'no'", "check must be true or false, not 'no'"),
    ("[evaluate]\nconfidence = 'high'\nfail-if = 'x'", "evaluate: Invalid value for"),
    ("[evaluate]\nitems = { a = 'b' }", "items cannot be a table; write a text"),
    ("evaluate = 1", r"evaluate is not a table; write \[evaluate\]"),
    ("[evaluate]\nrecord = 'x'", "evaluate: unknown key 'record'"),
    ("[evaluate]", "evaluate: the test cannot fail; add fail-if or fail-on-warnings"),
    ("metrics = 'mrr'", "the file has no test"),
    ("metrics = ", "gates.toml is not valid TOML: Invalid value"),
]


def test_mistakes_in_a_file() -> None:
    for text, message in WRONG:
        stderr = run("test", written(text), code=2).stderr
        assert stderr.startswith("sqlmetrics: error: gates.toml")
        assert re.search(message, stderr, re.DOTALL), stderr


def test_a_file_chooses_no_engine() -> None:
    """A file of somebody else could make the command send a password to a server of theirs."""
    gates = '\nfail-if = "mrr < 0.1"\nmetrics = "mrr@2"\n'
    for key, value in {
        "engine": "postgres://me@127.0.0.1:1/db",
        "master": "spark://127.0.0.1:1",
        "temp-directory": "gone",
        "temp_directory": "gone",
    }.items():
        option = key.replace("_", "-")
        line = f'{key} = "{value}"\n'
        for text in (f"{line}[evaluate]{gates}", f"[evaluate]{gates}{line}"):
            stderr = run("test", written(text), *TABLES, TRUST, code=2).stderr
            assert f"a file cannot set '{key}'; pass --{option} on the command line" in stderr
            assert f"SQLMETRICS_{option.replace('-', '_').upper()}" in stderr
    assert not Path("gone").exists()


def test_files_and_sql_of_a_file_are_listed_and_asked_for() -> None:
    Path("own").mkdir()
    Path("mine.toml").write_text('title = "Mine"\n[settings]\nties = "row"\n', encoding="utf-8")
    text = """
        recommendations = "lists.csv"
        interactions = "SELECT * FROM read_csv('truth.csv')\\n--\\u001b[8m"
        history = "https://example.com/\\u001b[8mhistory.csv"
        templates = ["own"]
        convention = ["standard,mine.toml"]
        fallback = "standard"
        metrics = "mrr@2"
        fail-if = "mrr > 2"
        [[evaluate]]
        [[evaluate]]
        baseline = "worse.csv"
        [compare]
        recommendations = { new = "lists.csv", old = "worse.csv" }
        baseline = "old"
    """
    listed = [
        "sqlmetrics: files named by gates.toml:",
        "  recommendations: lists.csv",
        "  interactions (SQL that is run): SELECT * FROM read_csv('truth.csv')\\n--\\x1b[8m",
        "  history: https://example.com/\\x1b[8mhistory.csv",
        "  templates (SQL that is run): own",
        "  convention: mine.toml",
        "  baseline: worse.csv",
        "  recommendations of new: lists.csv",
        "  recommendations of old: worse.csv",
    ]
    refused = [
        "sqlmetrics: error: gates.toml: these files were not read; add --trust-file to read them, "
        "or give your own files with -r, -i and the other table options"
    ]
    assert run("test", written(text), code=2).stderr.splitlines() == [*listed, *refused]
    own = ["-i", "truth.csv", "--history", "history.csv", "--templates", "own"]
    own += ["--convention", "standard", "--baseline", "worse.csv"]
    typed = ["-r", "lists.csv", "--no-check", *own]
    only = text.partition("[compare]")[0]
    assert run("test", written(only), *typed).stderr == ""


def test_mistakes_on_the_command_line() -> None:
    assert "nothing.toml cannot be read" in run("test", "nothing.toml", code=2).stderr
    for arguments, message in {
        ("--treads", "2"): "No such option '--treads'",
        ("--physical",): "No such option '--physical'. It is an option of sql.",
        ("-o", "x.parquet"): "verdicts cannot be written as Parquet",
    }.items():
        assert message in run("test", written(SUITE), *arguments, code=2).stderr


# ---------------------------------------------------------------- environment variables


def test_environment_variables_set_options() -> None:
    variables = {
        "SQLMETRICS_FORMAT": "jsonl",
        "SQLMETRICS_INTERACTIONS": "truth.csv",
        "SQLMETRICS_K": "1,2",
        "SQLMETRICS_SET": "no_relevant=zero\nties=item_desc",
        "SQLMETRICS_CHECK": "false",
        "SQLMETRICS_FAIL_IF": "mrr@2 < 0.6\nmrr@1 > 1",
    }
    result = run("evaluate", "mrr", "-r", "lists.csv", code=3, env=variables)
    assert [json.loads(line)["k"] for line in result.stdout.splitlines()] == [1, 2]
    assert result.stderr.endswith('mrr@2: value 0.5 is below 0.6; gate "mrr@2 < 0.6"\n')
    wrong = run("evaluate", "mrr", "-r", "lists.csv", code=2, env=variables | {"SQLMETRICS_K": "x"})
    note = "options set by environment variables: SQLMETRICS_INTERACTIONS, SQLMETRICS_K, "
    assert note in wrong.stderr
    wrong = run("evaluate", "mrr", code=2, env=variables | {"SQLMETRICS_THREADS": "x"})
    assert "for '--threads' (environment variable SQLMETRICS_THREADS): 'x'" in wrong.stderr
    typed = ["--format", "csv", "--fail-if", "mrr < 0"]
    assert run("evaluate", "mrr", "-r", "lists.csv", *typed, env=variables).stdout[:6] == "metric"
