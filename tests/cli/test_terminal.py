"""Control characters and runners' commands in the data do nothing: they are shown escaped."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.texts.terminal import one_line, visible, visible_json
from tests.support.evaluators import Evaluator
from tests.support.processes import PATIENCE

RED, TITLE = "\x1b[31m", "\x1b]0;owned\x07"
EVIL = f"::x::{RED}{TITLE}\r\x9b1m\u202e##[y]"
SHOWN = r"\x3a:x::\x1b[31m\x1b]0;owned\x07\r\x9b1m\u202e\x23#[y]"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# what the runners of GitHub and Azure execute in the output of a step
COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
STYLE = re.compile(r"\x1b\[[01]m")  # bold, and its end: what our own tables have


# ---------------------------------------------------------------- the text


def test_control_characters_are_shown() -> None:
    assert visible(EVIL) == SHOWN
    assert one_line(f"{EVIL}\n\t\u2028") == rf"{SHOWN}\n\t\u2028"
    assert visible("a\tb\nc\r\nd") == "a\tb\nc\r\nd"
    for text in ("::a::", "  ::a::", "a\n::b", "a\r\n \t::b", "##[a]", "x ##vso[a]y", "###[a]"):
        assert COMMAND.search(text)
        assert not COMMAND.search(visible(text))
        assert not COMMAND.search(one_line(text))
    assert visible("a::b: #[c]\n# ::d") == "a::b: #[c]\n# ::d"
    assert visible("\udcff") == r"\udcff"
    for code in [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]:
        assert not FORBIDDEN.search(one_line(chr(code))), code
        assert "\n" not in one_line(chr(code))


@pytest.mark.parametrize("text", ["é", "日本語", "🙂", "a\u200db", "\\x1b", "it's", "a\xa0b", ""])
def test_other_characters_stay(text: str) -> None:
    assert visible(text) == one_line(text) == text


def test_json_has_the_same_values() -> None:
    text = visible_json(json.dumps([EVIL], ensure_ascii=False))
    assert not FORBIDDEN.search(text)
    assert not COMMAND.search(text)
    assert json.loads(text) == [EVIL]


# ---------------------------------------------------------------- commands


@pytest.fixture(autouse=True)
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write tables with hostile ids, values, columns and names, and go there."""
    monkeypatch.setenv("TERM", "xterm")
    users = [EVIL, "u2\n::stop-commands::x", "u3"]
    pd.DataFrame({"user_id": users, "item_id": [EVIL, "b", "c"], "score": 0.5}).to_parquet("r.pq")
    pd.DataFrame({"user_id": users, "item_id": ["b", "b", EVIL]}).to_parquet("t.pq")
    pd.DataFrame({"user_id": users, EVIL: [EVIL, "b", "c"]}).to_parquet("users.pq")
    pd.DataFrame({"user_id": [EVIL] * 2, "item_id": EVIL, "score": 0.5}).to_parquet("twice.pq")
    lists = pd.read_parquet("r.pq")
    pd.concat([lists.assign(model=name) for name in (EVIL, "b")]).to_parquet("models.pq")
    pd.DataFrame({"user_id": [7], "item_id": [1]}).to_parquet("numbers.pq")
    pd.DataFrame({"user_id": [EVIL], EVIL: [1]}).to_parquet("columns.pq")
    Path("mine.toml").write_text(f'title = {json.dumps("T" + EVIL)}\n[settings]\nties = "row"\n')
    Path("own").mkdir()
    Path("own/odd.sql.j2").write_text(
        f"{{#---\ntitle = {json.dumps('T' + EVIL)}\n---#}}\n-- {RED}{TITLE}\n"
        "SELECT {{ keys }}, k, 1 AS value FROM hits\n"
    )
    Path("gates.toml").write_text(
        f"[evaluate]\nname = {json.dumps(EVIL)}\nmetrics = 'mrr@1'\nfail-if = 'mrr < 2'\n"
    )
    for source in ("r.pq", "t.pq"):
        Path(f"{EVIL}.{source[0]}.parquet").write_bytes(Path(source).read_bytes())
    return here


LISTS, TRUTH = ["-r", "r.pq"], ["-i", "t.pq"]
MODELS = ["-r", "models.pq"]
ONE, SEVERAL = ["-r", "r.pq", *TRUTH, "mrr@1"], [*MODELS, *TRUTH, "mrr@1"]
BY = ["--users", "users.pq", "--by", EVIL]
# what is hostile -> the command; where the escaped text is expected
COMMANDS: dict[str, tuple[list[str], str]] = {
    "ids in a finding": (["check", *LISTS, *TRUTH, "--format", "table"], "stdout"),
    "values of slices": (["evaluate", *ONE, *BY, "--format", "table"], "stdout"),
    "models in a table": (["evaluate", *SEVERAL, "--format", "table"], "stdout"),
    "models in Markdown": (["evaluate", *SEVERAL, "--format", "markdown"], "stdout"),
    "a gate on slices": (
        ["evaluate", *ONE, *BY, "--format", "github", "--fail-if", "mrr < 2"], "stderr",
    ),
    "a gate of a model": (
        ["evaluate", *SEVERAL, "--format", "github", "--fail-if", "mrr < 2"], "stderr",
    ),
    "a gate that names no slice": (
        ["evaluate", *ONE, *BY, "--fail-if", "mrr < 2 where x=y"], "stderr",
    ),
    "a gate that cannot be read": (["evaluate", *ONE, "--fail-if", f"mrr {EVIL}"], "stderr"),
    "tests of a file": (["test", "gates.toml", *LISTS, *TRUTH, "--format", "github"], "stdout"),
    "models in LaTeX": (["evaluate", *SEVERAL, "--format", "latex"], ""),
    "values for a tracker": (["evaluate", *SEVERAL, "--format", "dvc"], ""),
    "models of a leaderboard": (["leaderboard", *SEVERAL, "--format", "table"], "stdout"),
    "ids per user": (["per-user", *ONE, "--format", "table"], "stdout"),
    "ids in an error": (["evaluate", "-r", "twice.pq", *TRUTH, "mrr@1"], "stderr"),
    "ids in JSON": (["per-user", *ONE, "--format", "json"], ""),
    "ids in JSON lines": (["per-user", *ONE, "--format", "jsonl"], ""),
    "columns in an error": (["evaluate", "-r", "columns.pq", *TRUTH, "mrr@1"], "stderr"),
    "a column that is not there": (
        ["evaluate", *ONE, "--column", f"recommendations.score={EVIL}"], "stderr",
    ),
    "a file that is not there": (["evaluate", "-r", f"{EVIL}.csv", *TRUTH, "mrr@1"], "stderr"),
    "files of other ids": (
        ["evaluate", "-r", f"{EVIL}.r.parquet", "-i", "numbers.pq", "mrr@1"], "stderr",
    ),
    "a metric that is not there": (["evaluate", *LISTS, *TRUTH, f"mrr{EVIL}"], "stderr"),
    "an option that is not there": (["evaluate", f"--{EVIL}"], "stderr"),
    "a command that is not there": ([EVIL], "stderr"),
    "a template": (["describe", "odd", "--templates", "own"], "stdout"),
    "titles in a list": (["list", "--templates", "own", "--format", "table"], "stdout"),
    "a convention": (["conventions", "mine.toml"], "stdout"),
    "a condition": (["evaluate", *ONE, "--where", f"interactions={EVIL} > 1"], "stderr"),
}  # fmt: skip


def test_nothing_hostile_is_written() -> None:
    for what, (arguments, where) in COMMANDS.items():
        result = CliRunner().invoke(main, arguments)
        failed = isinstance(result.exception, Exception)
        assert not failed, (what, result.exception)
        assert not FORBIDDEN.search(result.output), (what, repr(result.output))
        assert not COMMAND.search(result.output), (what, result.output)
        if where:
            assert r"\x1b[31m" in getattr(result, where), what
        if what == "ids in JSON":
            assert EVIL in {row["user_id"] for row in json.loads(result.stdout)}
        if what == "ids in JSON lines":
            assert EVIL in {row["user_id"] for row in map(json.loads, lines(result.stdout))}


def lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


def test_rows_of_an_error_and_of_a_table_take_one_line_each() -> None:
    frame = pd.DataFrame({"user_id": ["a\n::error::no"] * 2, "item_id": "b\tc", "score": 0.5})
    frame.to_parquet("broken.pq")
    result = CliRunner().invoke(main, ["evaluate", "-r", "broken.pq", *TRUTH, "mrr@1"])
    assert r"    a\n::error::no  b\tc     2" in result.stderr.splitlines()
    result = CliRunner().invoke(main, ["per-user", *LISTS, *TRUTH, "mrr@1", "--format", "markdown"])
    assert len(result.stdout.splitlines()) == 5


RUN = """
import json, sys
from sqlmetrics.cli import arguments
from sqlmetrics.cli.commands import main
arguments._PROGRESS_AFTER = float("inf")  # a bar moves the cursor
for line in json.loads(sys.argv[1]):
    try:
        main(line)
    except SystemExit:
        print(flush=True)
"""


def on_terminal(commands: Sequence[Sequence[str]]) -> str:
    """Run commands whose stdout and stderr are one terminal; return what appears there."""
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", RUN, json.dumps(commands)], stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux says that nobody writes any more
                break
            if not part:
                break
            parts.append(part)
        process.wait(timeout=PATIENCE)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_nothing_hostile_reaches_a_terminal() -> None:
    names = ["values of slices", "ids in a finding", "a template", "a convention"]
    shown = [COMMANDS[name][0] for name in [*names, "ids in an error"]]
    text = on_terminal([*shown, ["per-user", *ONE, "--format", "csv"]])
    assert not FORBIDDEN.search(STYLE.sub("", text)), repr(text)
    assert text.count(r"\x1b[31m") >= len(shown) + 1


# ---------------------------------------------------------------- what programs read


def test_files_and_pipes_keep_the_data() -> None:
    with Evaluator("r.pq", "t.pq") as evaluator:
        wanted = sorted(evaluator.per_user("mrr", 1, long=True)["user_id"])
    arguments = ["per-user", *LISTS, *TRUTH, "mrr@1"]
    found = {"a pipe": CliRunner().invoke(main, [*arguments, "--format", "csv"]).stdout_bytes}
    for kind in ("csv", "json", "parquet"):
        result = CliRunner().invoke(main, [*arguments, "-o", f"out.{kind}"])
        assert result.exit_code == 0, result.output
        found[kind] = Path(f"out.{kind}").read_bytes()
    for text in (found["a pipe"], found["csv"]):
        rows = csv.DictReader(io.StringIO(text.decode(), newline=""))
        assert sorted(row["user_id"] for row in rows) == wanted
    assert sorted(row["user_id"] for row in json.loads(found["json"])) == wanted
    assert sorted(pd.read_parquet("out.parquet")["user_id"]) == wanted


def test_only_one_module_writes_to_the_terminal() -> None:
    """What it does not write, it does not clean."""
    root = Path(sm.__file__).parent
    writers = {"echo", "secho", "print"}
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in writers:
                    found.add(f"{path.relative_to(root).as_posix()}: {ast.unparse(node.func)}")
    # the console of a table is captured, and its text shown
    assert found == {"texts/terminal.py: click.echo", "cli/tables.py: console.print"}
