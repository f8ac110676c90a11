"""Records of somebody else set no paths or options that read or write other files."""

from __future__ import annotations

import copy
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.cli import replay
from sqlmetrics.cli.commands import main
from sqlmetrics.record import record as records
from tests.support.recorded import COMMANDS, LISTS, ONE, again, refused, run

# may a record set an option? Only one that can change a number
MAY_SET = {
    **dict.fromkeys(
        ["metrics", *replay.OPTIONS, "cutoffs", "conventions", "fallback", "settings", "columns",
         "key", "where", "templates", "by", "by_item", "skip_missing",
         "combinations", "gap", "ci", "confidence", "resamples", "seed", "run_ci", "partition",
         "test", "correction", "alpha", "against"],
        True,
    ),
    **dict.fromkeys(
        ["trust_input", "engine", "master", "threads", "memory_limit", "temp_directory",
         "temp_limit", "partitions", "fail_if", "fail_on_warnings", "record", "from_record",
         "trust_record", "kind", "scored", "database", "digits", "output", "force", "check"],
        False,
    ),
}  # fmt: skip
FORBIDDEN = [name for name in MAY_SET if not MAY_SET[name]]


def test_it_is_decided_of_every_option_whether_a_record_may_set_it() -> None:
    options = {str(param.name) for name in COMMANDS for param in main.commands[name].params}
    assert options == MAY_SET.keys()
    assert {name for name in MAY_SET if MAY_SET[name]} == replay.SET_BY_RECORDS


def test_every_argument_has_a_form_in_records() -> None:
    of_evaluator = inspect.signature(sm.Evaluator).parameters.keys() - records._NOT_GIVEN
    assert replay._GIVEN.keys() == of_evaluator | {"baseline"}
    for name, forms in replay._ASKED.items():
        assert forms.keys() == inspect.signature(getattr(sm.Evaluator, name)).parameters.keys() - {
            "self", "fail_if"
        }  # fmt: skip


@pytest.fixture
def honest(folder: Path) -> dict[str, Any]:
    (folder / "precious.txt").write_text("mine")
    run("evaluate", *ONE, "recall@2", "--record", "a.json")
    record: dict[str, Any] = json.loads((folder / "a.json").read_text())
    return record


@pytest.mark.parametrize("place", ["asked", "given", ""])
@pytest.mark.parametrize("name", [*FORBIDDEN, "path", "connection", "watch", "--force", "\x1b[2J"])
def test_a_record_sets_no_other_option(name: str, place: str, honest: dict[str, Any]) -> None:
    part = honest[place] if place else honest
    if name in part:  # what is recorded, and not set: the test below
        return
    part.update({name: "precious.txt"})
    message = refused(honest, "--trust-record", code=1)
    assert "the record is damaged: unknown entry" in message
    assert json.dumps(f"{place}.{name}".lstrip(".")) in message


def test_what_is_recorded_and_not_set(honest: dict[str, Any], folder: Path) -> None:
    pq.write_table(pa.concat_tables([LISTS, LISTS]), "als.parquet")  # duplicates
    honest["given"].update(
        trust_input=True, threads=4000, memory_limit="1 KB", temp_directory="gone", partitions=9
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


@pytest.mark.parametrize(("part", "name", "value"), WRONG)
def test_arguments_of_another_form(
    part: str, name: str, value: Any, honest: dict[str, Any]
) -> None:
    honest[part][name] = value
    message = refused(honest, "--trust-record", code=1)
    assert "the record is damaged: " in message
    assert name in message


@pytest.mark.parametrize(
    "option", ["-o=precious.txt", "--output=precious.txt", "--force", "-o", "-"]
)
def test_values_are_no_options(option: str, honest: dict[str, Any]) -> None:
    """What looks like an option stays the value that it stands for."""
    changes: list[tuple[str, str, Any]] = [
        *(("asked", name, [option]) for name in ("metrics", "by")),
        *(("given", name, [option]) for name in ("convention", "key")),
        ("given", "fallback", option),
        *(("given", name, {option: "user_id"}) for name in ("settings", "columns", "where")),
        ("given", "settings", {"ties": option}),
        ("given", "columns", {"user_id": option}),
        ("given", "where", {"interactions": option}),
    ]
    for part, name, value in changes:
        changed = copy.deepcopy(honest)
        changed[part][name] = value
        assert option in refused(changed, "--trust-record", code=(1, 2))


@pytest.mark.parametrize("path", ["-", "", "a\0b", ["als.parquet", "-"]])
def test_sources_that_are_no_files(path: Any, honest: dict[str, Any]) -> None:
    honest["sources"][1]["source"] = path
    assert "not a file name; give the table with -i FILE" in refused(
        honest, "--trust-record", code=2
    )


def test_sources_are_paths_alone(honest: dict[str, Any]) -> None:
    honest["sources"][0]["source"] = "mine=als.parquet"  # no model of that name
    assert "mine=als.parquet" in refused(honest, "--trust-record", code=1).splitlines()[-1]


@pytest.mark.parametrize(
    ("table", "models"),
    [
        ("recommendations", [None, None]),
        ("recommendations", [None, "a"]),
        ("recommendations", ["a", "a"]),
        ("interactions", ["a"]),
        ("interactions", [None, None]),
    ],
)
def test_models_that_no_table_has(
    table: str, models: list[str | None], honest: dict[str, Any]
) -> None:
    others = [one for one in honest["sources"] if one["table"] != table]
    (source,) = (one for one in honest["sources"] if one["table"] == table)
    honest["sources"] = [*others, *({**source, "model": model} for model in models)]
    assert f"the record is damaged: {table} has the models" in refused(honest, code=1)


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
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("\n", 2), ("n\n", 2)])
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
