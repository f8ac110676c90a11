"""Records of somebody else set no paths or options that read or write other files."""

from __future__ import annotations

import copy
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.cli import replay
from sqlmetrics.cli.commands import main
from sqlmetrics.cli.spelling import PARAMETERS
from sqlmetrics.record import record as records
from sqlmetrics.record.entries import ResultName
from tests.support.command_line import run
from tests.support.recorded import COMMANDS, LISTS, ONE, again, refused

# may a record set an option? Only one that can change a number
MAY_SET = {
    **dict.fromkeys(
        ["metrics", *replay.OPTIONS, "cutoffs", "conventions", "fallback", "settings", "columns",
         "key", "where", "templates", "by", "by_item", "skip_missing",
         "long", "combinations", "gap", "ci", "confidence", "resamples", "seed", "run_ci",
         "cluster", "power", "detect", "over", "test", "correction", "alpha", "against", "accept"],
        True,
    ),
    **dict.fromkeys(
        ["trust_input", "engine", "master", "threads", "memory_limit", "temp_directory",
         "temp_limit", "fail_if", "fail_on_warnings", "record", "from_record",
         "trust_record", "kind", "shown", "scored", "database", "digits", "output", "force",
         "check", "verify", "append", "tags", "per_user", "worst", "best", "no_examples"],
        False,
    ),
}  # fmt: skip
FORBIDDEN = [name for name in MAY_SET if not MAY_SET[name]]


def test_it_is_decided_of_every_option_whether_a_record_may_set_it() -> None:
    options = {str(param.name) for name in COMMANDS for param in main.commands[name].params}
    assert options == MAY_SET.keys(), "MAY_SET of tests/record/test_foreign_records.py"
    asked = {name for command in get_args(ResultName) for name in replay._asked(command)}
    sets = {PARAMETERS.get(name, name) for name in (*replay._SET, *replay.OPTIONS, *asked)}
    assert {name for name in MAY_SET if MAY_SET[name]} == sets


def test_every_argument_has_a_form_in_records() -> None:
    of_evaluator = inspect.signature(sm.Evaluator).parameters.keys() - records._NOT_GIVEN
    assert replay._GIVEN.keys() == of_evaluator | {"baseline"}


@pytest.fixture
def honest(folder: Path) -> dict[str, Any]:
    (folder / "precious.txt").write_text("mine")
    run("evaluate", *ONE, "recall@2", "--record", "a.json")
    record: dict[str, Any] = json.loads((folder / "a.json").read_text())
    return record


def test_a_record_sets_no_other_option(honest: dict[str, Any]) -> None:
    for name in [*FORBIDDEN, "path", "connection", "watch", "--force", "\x1b[2J"]:
        for place in ("asked", "given", ""):
            record = copy.deepcopy(honest)
            part = record[place] if place else record
            if name in part:  # what is recorded, and not set: the test below
                continue
            part[name] = "precious.txt"
            message = refused(record, "--trust-record", code=1)
            assert "the record is damaged: unknown entry" in message
            assert json.dumps(f"{place}.{name}".lstrip(".")) in message


def test_what_is_recorded_and_not_set(honest: dict[str, Any], folder: Path) -> None:
    pq.write_table(pa.concat_tables([LISTS, LISTS]), "als.parquet")  # duplicates
    honest["given"].update(
        trust_input=True, threads=4000, memory_limit="1 KB", temp_directory="gone"
    )
    assert "duplicate" in refused(honest, "--trust-record", code=1)  # is checked nevertheless
    assert not (folder / "gone").exists()


WRONG: list[tuple[str, str, Any]] = [
    ("asked", "metrics", {"a": "ndcg"}),
    ("asked", "metrics", [["ndcg"]]),
    ("asked", "metrics", 5),
    ("asked", "k", [None]),
    ("asked", "by", {"a": 1}),
    ("asked", "combinations", "yes"),
    ("asked", "ci", 5),
    ("asked", "ci", "--force"),
    ("asked", "confidence", "0.9"),
    ("asked", "resamples", 1.5),
    ("asked", "seed", True),
    ("asked", "skip_missing", [True]),
    ("given", "settings", "ties=item_desc"),
    ("given", "settings", {"ties": {"a": 1}}),
    ("given", "columns", {"user_id": 5}),
    ("given", "where", {"interactions": ["user_id > 3"]}),
    ("given", "key", 5),
    ("given", "convention", {"a": "standard"}),
    ("given", "templates", ["a\0b"]),
    ("given", "templates", [""]),
    ("given", "baseline", "precious.txt"),  # no model of it: not a file either
    ("given", "fallback", 5),
    ("given", "temp_directory", ["a"]),
]


def test_arguments_of_another_form(honest: dict[str, Any]) -> None:
    for part, name, value in WRONG:
        record = copy.deepcopy(honest)
        record[part][name] = value
        message = refused(record, "--trust-record", code=1)
        assert "the record is damaged: " in message, (name, value)
        assert name in message


def test_values_are_no_options(honest: dict[str, Any]) -> None:
    """What looks like an option stays the value that it stands for."""
    option = "--output=precious.txt"
    changes: list[tuple[str, str, Any]] = [
        *(("asked", name, [option]) for name in ("metrics", "by")),
        *(("given", name, [option]) for name in ("convention", "key")),
        ("given", "fallback", option),
        *(("given", name, {option: "user_id"}) for name in ("settings", "columns", "where")),
        ("given", "settings", {"ties": option}),
        ("given", "columns", {"user_id": option}),
        ("given", "where", {"interactions": option}),
        *(("asked", "metrics", [one]) for one in ("-o=precious.txt", "--force", "-o", "-")),
    ]
    for part, name, value in changes:
        changed = copy.deepcopy(honest)
        changed[part][name] = value
        shown = value[0] if name == "metrics" else option
        assert shown in refused(changed, "--trust-record", code=(1, 2))


def test_sources_that_are_no_files(honest: dict[str, Any]) -> None:
    for path in ("-", "", "a\0b", ["als.parquet", "-"]):
        honest["sources"][1]["source"] = path
        message = refused(honest, "--trust-record", code=2)
        assert "not a file name; give the table with -i FILE" in message


def test_sources_are_paths_alone(honest: dict[str, Any]) -> None:
    honest["sources"][0]["source"] = "mine=als.parquet"  # no model of that name
    assert "mine=als.parquet" in refused(honest, "--trust-record", code=1).splitlines()[-1]


def test_models_that_no_table_has(honest: dict[str, Any]) -> None:
    for table, models in (
        ("recommendations", [None, None]),
        ("recommendations", [None, "a"]),
        ("recommendations", ["a", "a"]),
        ("interactions", ["a"]),
        ("interactions", [None, None]),
    ):
        others = [one for one in honest["sources"] if one["table"] != table]
        (source,) = (one for one in honest["sources"] if one["table"] == table)
        named = [*others, *({**source, "model": model} for model in models)]
        message = refused({**honest, "sources": named}, code=1)
        assert f"the record is damaged: {table} has the models" in message


def test_files_are_listed_and_asked_for(honest: dict[str, Any]) -> None:
    honest["sources"][1]["source"] = ["/etc/\x1b[8mhostname", "truth.parquet"]
    honest["given"].update(convention=["standard", "mine.toml"], templates=["metrics"])
    message = refused(honest, code=2)
    assert message.splitlines() == [
        "sqlmetrics: files named by b.json:",
        "  convention: mine.toml",
        "  templates (SQL that is run): metrics",
        "  recommendations: als.parquet",
        "  interactions: /etc/\\x1b[8mhostname, truth.parquet",
        "sqlmetrics: error: --from-record b.json: these files were not read; add --trust-record "
        "to read them, or give your own files with -r, -i and the other table options",
    ]
    message = refused(
        honest, "-i", "truth.parquet", "--templates", "metrics", "--convention", "standard", code=2
    )
    assert message.splitlines()[1:-1] == ["  recommendations: als.parquet"]


@pytest.mark.usefixtures("honest")
def test_what_is_typed_is_not_asked_for() -> None:
    result = run("evaluate", "--from-record", "a.json", *ONE)
    assert result.stderr == "sqlmetrics: the same as in a.json\n"
    result = run("evaluate", *ONE, "recall@2", "--trust-record", code=2)
    assert "--trust-record applies to --from-record FILE only" in result.stderr


@pytest.mark.usefixtures("honest")
@pytest.mark.parametrize(("answer", "code"), [("yes\n", 0), ("\n", 2)])
def test_a_terminal_is_asked(answer: str, code: int) -> None:
    pty = pytest.importorskip("pty")  # of POSIX
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    process = subprocess.run(
        [sys.executable, "-m", "sqlmetrics", "evaluate", "--from-record", "a.json"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert process.returncode == code, said
    assert "Read these files? [y/N]" in said
    assert ("these files were not read" in said) == (code != 0)
    assert process.stdout.startswith(b"metric,k,value") == (code == 0)


def test_a_record_starts_no_other_engine(honest: dict[str, Any]) -> None:
    honest["versions"]["spark"] = honest["versions"].pop("duckdb")
    assert "add --engine spark to start Spark, or --engine duckdb" in refused(honest, code=2)
    Path("b.json").write_text(json.dumps(honest))
    result = run("evaluate", "--engine", "duckdb", *again("b.json"))
    assert f"duckdb: {duckdb.__version__}, was not given" in result.stderr
