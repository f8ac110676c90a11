"""Drawn questions: a command line over files gives what the Python call gives for other sources.

The first run is the command line over CSV, JSON lines and Parquet. The second is the Python call
over frames or other files with shuffled rows, and another number of threads. Names, order of rows
and columns, and all values have to be equal. Where one run is refused, so is the other, for the
same reason.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.hostile import SEARCH
from tests.support.worlds import VARIANTS, of_users, world

TOLERANCE = 1e-9
COMMANDS = ["evaluate", "per-user", "compare", "leaderboard", "sql", "check", "explain"]
OPTIONS = {
    "interactions": "-i", "history": "--history", "items": "--items", "users": "--users",
    "aspects": "--aspects", "baseline": "--baseline", "logs": "--logs",
}  # fmt: skip
# findings and statements are no tables of numbers, so no Parquet
OUTPUTS = {"sql": [""], "check": ["", "", ".csv"]}
SETTINGS = {
    "audience": ["both", "either", "recommended"],
    "no_recommendations": ["drop"],
    "no_relevant": ["drop"],
    "relevant_from": [2, 0.5],
    "ties": ["item_desc", "item_asc_text"],
    "catalogue": ["items"],
}
# their lists are in the order of scores, whatever the order of the rows
CONVENTIONS = ["standard", "trec_eval", "recpack", "jurity"]
BY = ["users.country", "activity", "activity_group(groups=2)"]
OF_TWO_MODELS = ["ndcg", "recall", "map(divisor=k)", "mrr", "surprisal", "hit_rate"]
FORMATS = ["csv", "jsonl", "parquet"]
SOURCES = ["pandas", "polars", "arrow", "parquet"]


@dataclass
class Question:
    """One command and its tables; `options` are arguments of the evaluator's method."""

    command: str
    seed: int
    users: int
    text_ids: bool
    renamed: bool
    specs: list[str]
    k: list[int] | None
    formats: dict[str, str]
    sources: dict[str, str]
    settings: dict[str, Any]
    convention: list[str]
    where: dict[str, str]
    first: dict[str, int]  # threads
    second: dict[str, int]
    trust_input: bool
    kind: str
    output: str
    options: dict[str, Any] = field(default_factory=dict)
    digits: int | None = None

    @property
    def models(self) -> list[str]:
        return ["als", "pop"] if self.command in ("compare", "leaderboard") else [""]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables; `recommendations` and `recommendations pop` are of two models."""
        found = world(self.seed, users=self.users, n_items=40)
        # CSV and JSON files of two models would have times of different types
        found["recommendations"] = found["recommendations"].drop(columns="timestamp")
        countries = [["it's", "a,b", None][user % 3] for user in range(self.users)]
        found["users"] = pd.DataFrame({"user_id": range(self.users), "country": countries})
        if "pop" in self.models:
            lists = found["recommendations"]
            found["recommendations pop"] = lists.assign(score=1 - lists["score"])
        for frame in found.values():
            for column in {"user_id", "item_id"} & set(frame) if self.text_ids else ():
                frame[column] = [f"{column[0]}, {number}" for number in frame[column]]
        if self.renamed:
            found = {name: f.rename(columns={"item_id": "a b"}) for name, f in found.items()}
        return found

    @property
    def columns(self) -> dict[str, str]:
        return {"item_id": "a b"} if self.renamed else {}


@st.composite
def questions(draw: Any, command: str) -> Question:
    of_user = command == "per-user" or (command == "sql" and draw(st.booleans()))
    pool = of_users(VARIANTS) if of_user else VARIANTS
    options: dict[str, Any] = {"per_user": True} if command == "sql" and of_user else {}
    if command in ("compare", "leaderboard"):
        pool = OF_TWO_MODELS
        options["test"] = draw(st.sampled_from(["t", "wilcoxon", "randomization"]))
        options |= {"correction": draw(st.sampled_from(["holm", "bh"])), "resamples": 5, "seed": 2}
    if command == "compare":
        options["baseline"] = "als"
        options["fail_if"] = draw(st.sampled_from([[], ["ndcg value < 0.3"], ["recall < -1%"]]))
    if command == "explain":
        options["start"] = draw(st.sampled_from(["trec_eval", "jurity"]))
        pool = ["ndcg", "map", "recall"]
    if command not in ("check", "explain") and draw(st.booleans()):
        options["by"] = draw(st.lists(st.sampled_from(BY), min_size=1, max_size=2, unique=True))
    if command == "evaluate" and draw(st.booleans()):
        options |= {"ci": "bootstrap", "confidence": 0.9, "resamples": 5, "seed": 1}
    specs = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=2, unique=True))
    if command == "evaluate" and draw(st.integers(0, 4)) == 4:
        specs, options = [*specs, "ndcg(gain=nothing)"], {}  # refused
    names = ["recommendations", "recommendations pop", "users", *OPTIONS]
    return Question(
        command,
        seed=draw(st.integers(1, 10**6)),
        users=draw(st.integers(3, 8)),
        text_ids=draw(st.booleans()),
        renamed=draw(st.booleans()),
        specs=specs,
        k=draw(st.sampled_from([[3], [1, 5], None])),
        formats={name: draw(st.sampled_from(FORMATS)) for name in names},
        sources={name: draw(st.sampled_from(SOURCES)) for name in names},
        settings={
            name: draw(st.sampled_from(SETTINGS[name]))
            for name in draw(st.lists(st.sampled_from(list(SETTINGS)), max_size=2, unique=True))
        },
        convention=draw(
            st.lists(st.sampled_from(CONVENTIONS), min_size=1, max_size=2, unique=True)
            if command != "explain"
            else st.just(["standard"])
        ),
        where=draw(st.sampled_from([{}, {"interactions": "relevance <> 3"}])),
        first={"threads": draw(st.sampled_from([1, 2]))},
        second={"threads": draw(st.sampled_from([1, 4]))},
        trust_input=draw(st.booleans()) and command != "check",
        kind=draw(st.sampled_from(["csv", "json", "jsonl"])),
        output=draw(st.sampled_from(OUTPUTS.get(command, ["", "", ".csv", ".parquet"]))),
        options=options,
        digits=draw(st.sampled_from([None, None, 2])),
    )


# ---------------------------------------------------------------- the command line


def written(frame: pd.DataFrame, path: Path, how: str) -> Path:
    if not set(frame) & {"category", "features"} and how != "parquet":  # CSV has no lists
        path = path.with_suffix(f".{how}")
        if how == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_json(
                path, orient="records", lines=True, double_precision=15, date_format="iso"
            )
        return path
    frame.to_parquet(path.with_suffix(".parquet"), row_group_size=7)
    return path.with_suffix(".parquet")


def command_line(question: Question, tables: Mapping[str, pd.DataFrame], folder: Path) -> list[str]:
    line = [question.command, *question.specs]
    for name, frame in tables.items():
        table, _, model = name.partition(" ")
        if name == "baseline" and question.command == "compare":
            continue  # its baseline is a model
        path = str(written(frame, folder / name, question.formats[name]))
        if table == "recommendations":
            model = model or question.models[0]
            line += ["-r", f"{model}={path}" if model else path]
        else:
            line += [OPTIONS[table], path]
    if question.k is not None:
        line += ["-k", ",".join(map(str, question.k))]
    for name, value in question.settings.items():
        line += ["--set", f"{name}={value}"]
    for name, value in question.columns.items():
        line += ["--column", f"{name}={value}"]
    for table, condition in question.where.items():
        line += ["--where", f"{table}={condition}"]
    if question.command != "explain":
        line += ["--convention", ",".join(question.convention)]
    line += ["--fallback", "standard"]
    line += ["--trust-input"] if question.trust_input else []
    for name, value in {**question.first, **question.options}.items():
        if name == "fail_if":
            line += [part for gate in value for part in ("--fail-if", gate)]
        elif value is True:
            line.append("--" + name.replace("_", "-"))
        else:
            option = "--from" if name == "start" else "--" + name.replace("_", "-")
            line += [option, ",".join(value) if isinstance(value, list) else str(value)]
    if question.command != "sql":
        line += ["--format", question.kind] if not question.output else []
        line += [] if question.digits is None else ["--digits", str(question.digits)]
    return line


@dataclass
class Answer:
    """A table, or an error. `code`: the exit code."""

    code: int
    names: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    message: str = ""


def of_command(question: Question, tables: Mapping[str, pd.DataFrame], folder: Path) -> Answer:
    line = command_line(question, tables, folder)
    target = folder / f"result{question.output}"
    if question.output:
        line += ["-o", str(target), "--force"]
    target.unlink(missing_ok=True)
    result = CliRunner().invoke(main, line)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert "Traceback" not in result.stderr
    found = result.exit_code in (0, 3) or (question.command == "check" and result.exit_code == 1)
    if not found:
        messages = re.findall(r"^(?:sqlmetrics: error|Error): (.*)", result.stderr, re.M)
        assert len(messages) == 1, result.stderr
        assert (result.stdout, target.exists()) == ("", False)
        return Answer(result.exit_code, message=messages[0])
    assert not (question.output and result.stdout)
    if question.command == "sql":
        with duckdb.connect(config={"threads": 1}) as connection:
            cursor = connection.execute(result.stdout)
            names = [column[0] for column in cursor.description or []]
            return Answer(0, names, [list(row) for row in cursor.fetchall()])
    if question.output == ".parquet":
        return of_frame(pq.read_table(target).to_pandas(), result.exit_code)
    text = target.read_text() if question.output else result.stdout
    kind = question.output[1:] or question.kind
    if kind == "csv":
        names, *rows = list(csv.reader(io.StringIO(text)))
        return Answer(result.exit_code, names, [list(row) for row in rows])
    read = json.loads(text) if kind == "json" else list(map(json.loads, text.splitlines()))
    names = list(read[0]) if read else []
    return Answer(result.exit_code, names, [[row[name] for name in names] for row in read])


# ---------------------------------------------------------------- the Python call


def source(frame: pd.DataFrame, path: Path, how: str) -> Any:
    shuffled = frame.sample(frac=1, random_state=4)
    table = pa.Table.from_pandas(shuffled, preserve_index=False)
    if how == "parquet":
        return written(shuffled, path, how)
    return {"pandas": shuffled, "polars": pl.from_arrow(table), "arrow": table}[how]


def of_python(question: Question, tables: Mapping[str, pd.DataFrame], folder: Path) -> Answer:
    given = {
        name: source(frame, folder / f"second {name}", question.sources[name])
        for name, frame in tables.items()
        if not (name == "baseline" and question.command == "compare")
    }
    if "pop" in question.models:
        given["recommendations"] = {
            "als": given["recommendations"], "pop": given.pop("recommendations pop"),
        }  # fmt: skip
    command, options = question.command, dict(question.options)
    if command == "sql":
        command = "per-user" if options.pop("per_user", False) else "evaluate"
    code = 0
    try:
        with sm.Evaluator(
            **given,
            settings=question.settings,
            columns=question.columns,
            where=question.where,
            convention=question.convention,
            fallback="standard",
            trust_input=question.trust_input,
            **question.second,
        ) as evaluator:
            method = getattr(evaluator, command.replace("-", "_"))
            try:
                frame = method(question.specs, question.k, **options)
            except sm.GateError as error:
                frame, code = error.frame, 3
    except sm.SqlmetricsError as error:
        return Answer(error.exit_code, message=str(error))
    if command == "check":
        code = int("error" in set(frame["level"]))
    return of_frame(frame, code)


def of_frame(frame: pd.DataFrame, code: int) -> Answer:
    columns = [
        [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]
        for _, column in frame.items()
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Answer(code, [str(name) for name in frame.columns], rows)


# ---------------------------------------------------------------- the comparison


def same(found: Any, expected: Any, digits: int | None) -> bool:
    """Compare a printed value with one of a frame."""
    if isinstance(expected, bool) or not isinstance(expected, Real):  # also numbers of NumPy
        text = ["" if value is None else str(value) for value in (found, expected)]
        return text[0] == text[1]
    if found is None or found == "":
        return not math.isfinite(expected)  # JSON has no infinity
    allowed = TOLERANCE * max(1.0, abs(expected))
    if digits is not None:
        allowed += 0.5000001 * 10.0**-digits
    return float(found) == expected or abs(float(found) - expected) <= allowed


def kind_of_error(message: str) -> str:
    """Return what an error is about, without names of files and numbers."""
    return re.split(r"[^A-Za-z_ ]", message, maxsplit=1)[0].strip()


def compared(question: Question, folder: Path) -> None:
    tables = question.tables()
    assume(all(map(len, tables.values())))  # a file without rows is refused, a frame is not
    first = of_command(question, tables, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.SqlmetricsWarning)
        second = of_python(question, tables, folder)
    if question.command == "sql" and not first.code and second.code == 1:
        return  # a statement does not check its tables
    assert first.code == second.code, (first.message, second.message)
    if first.message or second.message:
        assert kind_of_error(first.message) == kind_of_error(second.message)
        return
    if not first.rows and not second.rows:
        return  # JSON has no names without rows
    assert first.names == second.names
    assert len(first.rows) == len(second.rows), (first.rows[:3], second.rows[:3])
    # texts of findings say what the files are called
    left_out = {"column", "found", "remedy", "examples"} if question.command == "check" else set()
    for one, other in zip(first.rows, second.rows, strict=True):
        for name, found, expected in zip(first.names, one, other, strict=True):
            is_same = name in left_out or same(found, expected, question.digits)
            assert is_same, (name, found, expected, one, other)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_gives_what_the_python_call_gives(
    command: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")

    @settings(SEARCH, max_examples=2)
    @given(question=questions(command))
    def search(question: Question) -> None:
        compared(question, folder)

    search()
