"""Drawn command lines and tables: a second run in another form must say the same.

    python -m tests.robustness.fuzz_commands --cases 20000 --workers 2

A draw is one command line. Its tables are those of a world (up to 16 users and 12 items, several
models, tables of every kind, awkward ids), which several command lines share. The first run is the
command line over files. The second is in another form: frames in place of files, or files of
another format; rows shuffled, columns renamed and mapped, several files, row groups or chunks,
partitions, another number of threads. Most draws end with exit code 0, and then names, order of
rows and columns, and all values have to be equal. Where one run is refused, so is the other, for
the same reason. About one draw in seven is broken on purpose: it has to end with one message, and
nothing written.

A disagreement is shrunk, and printed with what shows it again:

    python -m tests.robustness.fuzz_commands --seed 1 --world 17 --keep FOLDER
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import io
import json
import math
import multiprocessing
import random
import re
import shlex
import shutil
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.parquet as pq
from click.testing import CliRunner, Result

import sqlmetrics as sm
from sqlmetrics.cli.commands import main as command_line
from sqlmetrics.errors import SqlmetricsError, SqlmetricsWarning
from sqlmetrics.metrics.conventions import Convention, conventions
from sqlmetrics.metrics.spec import parse_cutoffs, value_text
from sqlmetrics.tables.schema import ATTRIBUTES
from tests.robustness import fuzz_numbers
from tests.robustness.drawn_tables import (
    Condition,
    Dress,
    Form,
    Tables,
    as_files,
    as_sources,
    draw_conditions,
    draw_dress,
    draw_form,
    dressed,
    given,
)
from tests.robustness.fuzz_numbers import CATALOG, Case, make_case, reasons, spec_of

TOLERANCE = 1e-9
PER_WORLD = 5  # command lines
BROKEN = 0.15  # share of them
SECONDS = 20.0  # to shrink a disagreement
MODELS = [[""], [""], ["als", "pop"], ["als", "knn", "pop"]]
OPTIONS = {
    "interactions": "-i", "history": "--history", "items": "--items", "users": "--users",
    "aspects": "--aspects", "baseline": "--baseline", "logs": "--logs",
}  # fmt: skip

# ---------------------------------------------------------------- what is drawn


@dataclass
class Setup:
    """The arguments of an evaluator other than tables."""

    conventions: list[str] = field(default_factory=list)
    fallback: str | None = None
    conditions: list[Condition] = field(default_factory=list)
    trust_input: bool = False
    baseline: str = ""  # a model


@dataclass
class Question:
    """One command, without its tables. `options` are arguments of the evaluator's method."""

    command: str
    specs: list[str]
    k: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    gates: list[str] = field(default_factory=list)
    per_user: bool = False  # of sql
    kind: str = "csv"
    digits: int | None = None
    output: str = ""  # the suffix of -o

    @property
    def cutoffs(self) -> list[int] | None:
        return None if self.k is None else parse_cutoffs(self.k)


@dataclass
class World:
    """Tables, how they are given twice, and what is asked of them."""

    case: Case
    dress: Dress
    setup: Setup
    first: Form
    second: Form
    questions: list[Question] = field(default_factory=list)
    second_is_command: bool = False

    def tables(self) -> Tables:
        found = dressed(self.case, self.dress)
        if self.setup.baseline:
            found.pop("baseline", None)
        return found


@dataclass
class Answer:
    """The answer of a run: a table, or an error. `code`: the exit code."""

    code: int
    names: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    message: str = ""

    @property
    def kind_of_error(self) -> str:
        """Return what an error is about, without names of files and numbers."""
        return re.split(r"[^A-Za-z_ ]", self.message, maxsplit=1)[0].strip()


class Problem(Exception):
    """A draw showed something that must not be."""


def draw_world(draw: random.Random, n_questions: int) -> World:
    chance = draw.choice([0.0, 0.0, 0.1, 0.3])
    case = make_case(draw, draw.choice([1, 1, 2]), 8, chance=chance, models=MODELS)
    # every table has to be read: half of them, and what can be computed from those
    left_out = {name for name in MORE_TABLES if draw.random() < 0.5}
    case = replace(case, **{name: [] for name in left_out})
    case.calls = [
        call for call in case.calls
        if not tables_read(case, call) & left_out and not reasons(replace(case, calls=[call]))
    ]  # fmt: skip
    if "history" in left_out:
        case.settings.pop("drop_seen", None)
    case.cutoffs = case.cutoffs[:2] + case.cutoffs[-1:] if len(case.cutoffs) > 2 else case.cutoffs
    case.form = "dict"
    case = fuzz_numbers.rowwise(case, draw)
    dress = draw_dress(draw, case)
    setup = Setup(trust_input=draw.random() < 0.35)
    if draw.random() < 0.25:
        setup.conventions = draw.sample(list(conventions()), draw.choice([1, 1, 1, 2]))
        setup.fallback = draw.choice(["standard", "standard", "standard", None])
    if "" not in case.models and draw.random() < 0.3:
        setup.baseline = draw.choice(list(case.models))
    world = World(case, dress, setup, Form({}), Form({}))
    tables = world.tables()
    if draw.random() < 0.3:
        setup.conditions = draw_conditions(draw, tables)
    in_order = rows_count(case, setup)
    world.first = draw_form(draw, tables, dress, in_order, files=True, plain=True)
    world.second_is_command = draw.random() < 0.12
    world.second = draw_form(
        draw, tables, dress, in_order, files=world.second_is_command, plain=False
    )
    if setup.baseline:  # the name of one of several sources
        world.first.model_column = world.second.model_column = False
    world.questions = [draw_question(draw, world) for _ in range(n_questions)]
    return world


MORE_TABLES = ["history", "items", "aspects", "baseline", "logs"]


def tables_read(case: Case, call: Any) -> set[str]:
    """Name the tables that a call needs, beside lists and interactions."""
    params, settings = fuzz_numbers.of_call(case, call)
    found = set(tables_in(CATALOG.metrics[call[0]].body))
    found |= {"history"} if call[1].get("drop_seen") == "true" else set()
    found |= {"baseline"} if settings.get("audience") == "baseline" else set()
    if "catalogue" in found:
        found |= {str(params.get("catalogue", fuzz_numbers.setting(settings, "catalogue")))}
    return found & {*MORE_TABLES}


@functools.cache
def tables_in(body: str) -> frozenset[str]:
    """Name the tables that a template reads, by way of its stages too."""
    found: set[str] = set()
    for name in set(re.findall(r"(?:FROM|JOIN)\s+(\w+)", body)):
        found |= {ATTRIBUTES.get(name, (name,))[0]} & {*MORE_TABLES, "catalogue"}
        if name in CATALOG.stages:
            found |= tables_in(CATALOG.stages[name].body)
    return frozenset(found)


BY_ROW = ("row", "row_reversed")  # values of settings with which the order of rows counts


def rows_count(case: Case, setup: Setup) -> bool:
    """Does the order of rows mean anything, to one convention at least?"""
    chosen = [*setup.conventions, setup.fallback or "standard"]
    values = [*case.settings.values(), *(v for _, params in case.calls for v in params.values())]
    return any(value in BY_ROW for value in values) or any(map(counts_rows, chosen))


@functools.cache
def counts_rows(name: str) -> bool:
    """Does the order of rows mean anything to a convention?"""
    convention = Convention.load(name)
    of_metrics = [v for values in convention.metrics.values() for v in values.values()]
    return any(value in BY_ROW for value in [*convention.settings.values(), *of_metrics])


COMMANDS = {
    "evaluate": 45, "per-user": 20, "compare": 12, "leaderboard": 6, "sql": 8, "check": 6,
    "explain": 4,
}  # fmt: skip


def draw_question(draw: random.Random, world: World) -> Question:
    case, setup = world.case, world.setup
    (command,) = draw.choices(list(COMMANDS), list(COMMANDS.values()))
    if command in ("compare", "leaderboard") and "" in case.models:
        command = "evaluate"
    if command == "compare" and case.settings.get("audience") == "baseline":
        command = "evaluate"  # the baseline of a comparison is a model, and no table
    if command == "check" and setup.trust_input:
        command = "per-user"
    if command == "sql" and (world.first.stdin or world.second.stdin):
        command = "evaluate"
    question = Question(command, [])
    if command == "sql":
        question.per_user = draw.random() < 0.4
    of_users = command in ("per-user", "compare") or question.per_user
    calls = [c for c in case.calls if not of_users or CATALOG.metrics[c[0]].grain == "user"]
    if command == "compare":
        calls = [call for call in calls if call[1].get("aggregate", "mean") == "mean"]
        calls = [call for call in calls if "baseline" not in tables_read(case, call)]
    calls = draw.sample(calls, min(len(calls), draw.choice([1, 1, 2])))
    finite = [k for k in case.cutoffs if k is not None]
    own = draw.random() < 0.3
    question.specs = [
        spelled(draw, call, draw.choice(finite) if own and finite and draw.random() < 0.7 else None)
        for call in calls
    ]
    if draw.random() < 0.02:
        question.specs = [] if command == "compare" else draw.choice([[], ["all"]])
    if finite and not (own and draw.random() < 0.5):
        question.k = draw.choice(
            [",".join(map(str, finite)), f"{min(finite)}:{min(max(finite), min(finite) + 3)}"]
        )
    question.options = draw_options(draw, world, question)
    if command == "compare" and draw.random() < 0.3:
        question.gates = [draw_gate(draw, question)]
    question.kind = draw.choice(["csv", "csv", "json", "jsonl"])
    if draw.random() < 0.2:
        question.digits = draw.choice([0, 2, 6, 12, 17])
    if draw.random() < 0.08 and command != "sql":
        ends = [".csv", ".json", ".jsonl", ".x", *([] if command == "check" else [".parquet"])]
        question.output = draw.choice(ends)
    return question


def spelled(draw: random.Random, call: Any, k: int | None) -> str:
    """Spell a call in one of the ways there are: aliases, letters, blanks."""
    metric, _ = call
    text = spec_of(call, k)
    aliases = [a for a, (name, fixed) in CATALOG.aliases.items() if name == metric and not fixed]
    if aliases and draw.random() < 0.2:
        text = draw.choice(aliases) + text.removeprefix(metric)
    if draw.random() < 0.1:
        name, bracket, rest = text.partition("(")
        text = name.upper() + bracket + rest.replace(", ", " ,  ").replace("=", " = ")
    return text


SLICES = ["activity", "activity(warm_from=2)", "activity_group", "activity_group(groups=2)"]


def draw_options(draw: random.Random, world: World, question: Question) -> dict[str, Any]:
    command, case = question.command, world.case
    options: dict[str, Any] = {}
    if draw.random() < (0.5 if setup_misses(world) else 0.1) or question.specs in ([], ["all"]):
        options["skip_missing"] = True
    if command == "check":
        return {}
    if command == "explain":
        known = [n for n in conventions() if world.second.in_order or not counts_rows(n)]
        options["start"] = draw.choice(known[1:])
        if draw.random() < 0.3:
            options["end"] = draw.choice([n for n in known if n != options["start"]])
        return options
    if draw.random() < 0.4:
        attributes = world.dress.attributes
        of_users = [full.partition(".")[2] for full in attributes if full.startswith("users.")]
        of_users += [full for full in attributes if full.startswith(("recom", "interac"))]
        of_items = [full.partition(".")[2] for full in attributes if full.startswith("items.")]
        of_items = [*of_items, "category"] if case.items else []
        of_more = ["month"] if "interactions" in world.dress.times else []
        of_more += ["popularity"] if case.history else []
        more = [*(f"users.{name}" for name in of_users if "." not in name), *of_more]
        more += [*(f"items.{name}" for name in of_items), *(SLICES if case.history else [])]
        by_item = [*of_items, *of_more]
        if draw.random() < 0.3 and by_item and sliced_by_item(question):
            options["by_item"] = draw.sample(by_item, min(len(by_item), draw.choice([1, 1, 2])))
        if draw.random() < 0.8 or "by_item" not in options:
            pool = [*of_users, *of_users, *of_users, *more]
            names = draw.sample(pool, min(len(pool), draw.choice([1, 1, 2])))
            options["by"] = list(dict.fromkeys(names))
        of_means = not (command == "per-user" or question.per_user)
        options = {name: value for name, value in options.items() if value}
        if draw.random() < 0.3 and of_means and {"by", "by_item"} & set(options):
            options["combinations"] = True
    if command == "per-user" or question.per_user:
        return options
    resamples = draw.choice([2, 5, 20])
    if command in ("compare", "leaderboard"):
        options["test"] = draw.choice(["t", "wilcoxon", "randomization", "bootstrap"])
        options["correction"] = draw.choice(["holm", "bh", "none"])
        options |= {"resamples": resamples, "seed": draw.choice([1, 2, 77])}
    if command == "compare":
        options["baseline"] = draw.choice(list(case.models))
    if command == "leaderboard":
        options["alpha"] = draw.choice([0.05, 0.3])
    elif draw.random() < 0.35:
        options["ci"] = draw.choice(["bootstrap", "bootstrap", "none", "normal"])
        options["confidence"] = draw.choice([0.9, 0.5])
        options |= {"resamples": resamples, "seed": draw.choice([1, 2, 77])}
        if options["ci"] == "bootstrap" and command != "compare" and draw.random() < 0.3:
            options["run_ci"] = True
    return options


def sliced_by_item(question: Question) -> bool:
    """Have all metrics values for slices of the relevant items?"""
    names = [re.split(r"[(@]", spec)[0].strip().lower() for spec in question.specs]
    metrics = [CATALOG.metric(name)[0] for name in names if name != "all"]
    without = {"roc_auc", "r_precision", "unrepeated", "money_precision"}
    without |= fuzz_numbers.WITHOUT_INTERACTIONS | fuzz_numbers.OF_LABELS | fuzz_numbers.OF_JUDGED
    return all(one.grain == "user" and one.name not in without for one in metrics)


def setup_misses(world: World) -> bool:
    return bool(world.setup.baseline) or not world.case.history


def draw_gate(draw: random.Random, question: Question) -> str:
    spec = question.specs[0] if question.specs else "ndcg"
    column = draw.choice(["", " value", " ci_low", " p_value", " difference"])
    number = draw.choice(["-0.0123", "0.3017", "0.9871", "-1.37%"])
    if number.endswith("%") and column in (" value", " p_value"):
        number = "0.1234"
    return f"{spec}{column} {draw.choice(['<', '>'])} {number}"


# ---------------------------------------------------------------- the command line


def arguments(world: World, form: Form, question: Question, files: Mapping[str, Any]) -> list[str]:
    """Write a command line."""
    setup, options, command = world.setup, question.options, question.command
    found = [command, *question.specs]
    for name, path in files.items():
        if name == "recommendations":
            paths = path if isinstance(path, dict) else {"": path}
            for model, one in paths.items():
                one = "-" if form.stdin == name else one
                found += ["-r", f"{model}={one}" if model else str(one)]
        elif not (name == "baseline" and command == "compare"):
            found += [OPTIONS[name], "-" if form.stdin == name else str(path)]
    if command == "compare":
        found += ["--baseline", options["baseline"]]
    elif setup.baseline:
        found += ["--baseline", setup.baseline]
    if question.k is not None:
        found += ["-k", question.k]
    for name, value in world.case.settings.items():
        found += ["--set", f"{name}={value_text(value)}"]
    for name, own in form.mapping(files).items():
        found += ["--column", f"{name}={own}"]
    if world.dress.key != ("user_id",):
        found += ["--key", ",".join(world.dress.key)]
    for condition in () if form.filters else setup.conditions:
        if command == "compare" and condition.table == "baseline":
            continue  # the table is not given
        text = condition.text(form.own(condition.table, condition.column))
        found += ["--where", f"{condition.table}={text}"]
    if setup.conventions and command != "explain":
        found += ["--convention", ",".join(setup.conventions)]
    if setup.fallback is not None:
        found += ["--fallback", setup.fallback]
    if setup.trust_input:
        found.append("--trust-input")
    for name in ("threads", "partitions"):
        if getattr(form, name) is not None:
            found += [f"--{name}", str(getattr(form, name))]
    for name, value in options.items():
        option = {"start": "--from", "end": "--to"}.get(name, "--" + name.replace("_", "-"))
        if name in ("by", "by_item"):
            found += [option, ",".join(value)]
        elif value is True:
            found.append(option)
        elif name != "baseline":
            found += [option, str(value)]
    for gate in question.gates:
        found += ["--fail-if", gate]
    if question.per_user:
        found.append("--per-user")
    if command != "sql":
        if not question.output or question.output == ".x":
            found += ["--format", question.kind]
        if question.digits is not None:
            found += ["--digits", str(question.digits)]
    return found


def invoke(line: Sequence[str], stdin: bytes = b"") -> Result:
    """Run a command line in this process.

    Raises:
        Problem: it ends with a traceback, a code that is none of ours, or says more than it may.
    """
    result = CliRunner().invoke(command_line, list(line), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        where = "".join(traceback.format_exception(*result.exc_info, limit=-4))
        raise Problem(f"a traceback: {where}")
    if result.exit_code not in (0, 1, 2, 3):
        raise Problem(f"exit code {result.exit_code}: {result.stderr}")
    for word in ("Traceback", "Warning:"):
        if word in result.stderr:
            raise Problem(f"{word} on stderr: {result.stderr}")
    return result


def error_of(result: Result) -> str:
    """Return the message of a run that failed.

    Raises:
        Problem: there is not one message, or a result beside it.
    """
    ours = re.findall(r"^sqlmetrics: error: (.*)", result.stderr, re.M)
    theirs = re.findall(r"^Error: (.*)", result.stderr, re.M)
    if len(ours) + len(theirs) != 1:
        raise Problem(f"exit code {result.exit_code}, and not one message: {result.stderr}")
    return str((ours + theirs)[0])


def asked_by_command(
    world: World, form: Form, question: Question, files: Mapping[str, Any], folder: Path
) -> Answer:
    """Run a command line; check what it prints and writes."""
    line = arguments(world, form, question, files)
    stdin = Path(files[form.stdin]).read_bytes() if form.stdin in files else b""
    target = folder / f"result{question.output}"
    if question.output:
        line += ["-o", str(target)]
    result = invoke(line, stdin)
    found = result.exit_code in (0, 3) or (question.command == "check" and bool(result.stdout))
    left = [path for path in folder.iterdir() if "result" in path.name]
    if question.output:
        found = found or target.exists()
        if result.stdout or left != [target] * (found or target.exists()):
            raise Problem(f"-o: stdout is {result.stdout!r}, the folder has {left}")
        text = target.read_bytes() if target.exists() else b""
        target.unlink(missing_ok=True)
    else:
        text = result.stdout_bytes
    if not found:
        if text:
            raise Problem(f"exit code {result.exit_code}, and a result: {text!r}")
        return Answer(result.exit_code, message=error_of(result))
    if question.command == "sql":
        return executed(text.decode())
    if question.output == ".parquet":
        frame = pq.read_table(io.BytesIO(text)).to_pandas(types_mapper=pd.ArrowDtype)
        return answer_of_frame(frame, result.exit_code)
    kind = question.output[1:] if question.output not in ("", ".x") else question.kind
    if question.output:
        plain = [part for part in line if part not in ("-o", str(target))]
        plain += ["--format", kind] if "--format" not in plain else []
        printed = invoke(plain, stdin).stdout_bytes
        # threads add up means in any order, which shows in their last digits
        if printed != text if form.threads == 1 else not same_text(printed, text):
            raise Problem(f"-o has {text.decode()!r}, stdout is {printed.decode()!r}")
    return parsed(text.decode(), kind, result.exit_code, question)


_NUMBER = re.compile(r"-?[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?")


def same_text(found: bytes, expected: bytes) -> bool:
    """Compare two texts, numbers in them as numbers."""
    texts = found.decode(), expected.decode()
    numbers = [[float(number) for number in _NUMBER.findall(text)] for text in texts]
    same = len(numbers[0]) == len(numbers[1]) and _NUMBER.sub("", texts[0]) == _NUMBER.sub(
        "", texts[1]
    )
    return same and all(close(one, other, TOLERANCE) for one, other in zip(*numbers, strict=True))


def parsed(text: str, kind: str, code: int, question: Question) -> Answer:
    """Read a result as it was printed."""
    if kind == "csv":
        names, *rows = list(csv.reader(io.StringIO(text)))
        if any(len(row) != len(names) for row in rows):
            raise Problem(f"CSV with rows of different lengths: {text}")
        answer = Answer(code, names, [list(row) for row in rows])
    else:
        records = (
            json.loads(text, parse_constant=_no_constant)
            if kind == "json"
            else [json.loads(line, parse_constant=_no_constant) for line in text.splitlines()]
        )
        names = list(records[0]) if records else []
        if any(list(record) != names for record in records):
            raise Problem(f"records with different names: {text}")
        answer = Answer(code, names, [list(record.values()) for record in records])
    return shortened(answer) if question.command == "check" else answer


def _no_constant(text: str) -> Any:
    raise Problem(f"JSON with {text}")


def executed(statement: str) -> Answer:
    """Run a statement as somebody else would."""
    with duckdb.connect(config={"threads": 1}) as connection:
        cursor = connection.execute(statement)
        names = [column[0] for column in cursor.description or []]
        return Answer(0, names, [list(row) for row in cursor.fetchall()])


# what findings have in common, whatever the tables are called
FINDING = ["level", "check", "table", "column", "n"]


def shortened(answer: Answer) -> Answer:
    """Keep what findings say of the data, not what the files are called."""
    places = [answer.names.index(name) for name in FINDING] if answer.names else []
    rows = [[row[place] for place in places] for row in answer.rows]
    for row in rows:
        row[3] = re.sub(r" \(.*", "", row[3], flags=re.S)
    return Answer(answer.code, FINDING if answer.names else [], rows)


# ---------------------------------------------------------------- the evaluator


@contextlib.contextmanager
def evaluator_of(world: World, form: Form, sources: Mapping[str, Any]) -> Iterator[sm.Evaluator]:
    setup = world.setup
    tables = dict(sources)
    if setup.baseline:
        tables["baseline"] = setup.baseline
    where = (
        {}
        if form.filters
        else {one.table: one.text(form.own(one.table, one.column)) for one in setup.conditions}
    )
    with sm.Evaluator(
        **tables,
        convention=setup.conventions or "standard",
        fallback=setup.fallback,
        settings=world.case.settings,
        columns=form.mapping(sources),
        key=world.dress.key,
        where=where,
        trust_input=setup.trust_input,
        threads=form.threads or 1,
        partitions=form.partitions,
    ) as evaluator:
        yield evaluator


def asked_of_evaluator(evaluator: sm.Evaluator, question: Question) -> Answer:
    """Ask an evaluator what the command line asks."""
    specs = question.specs or None
    options, k = question.options, question.cutoffs
    code = 0
    command = question.command
    if command == "sql":
        command = "per-user" if question.per_user else "evaluate"
    match command:
        case "evaluate":
            frame = evaluator.evaluate(specs, k, **options)
        case "per-user":
            frame = evaluator.per_user(specs, k, **options)
            if zlib.crc32(repr(question).encode()) % 2:
                means_agree(evaluator, question, frame)
        case "compare":
            try:
                frame = evaluator.compare(specs, k, fail_if=question.gates, **options)
            except sm.GateError as error:
                frame, code = error.frame, 3
        case "leaderboard":
            frame = evaluator.leaderboard(specs, k, **options)
        case "check":
            frame = evaluator.check(specs, k)
            code = 1 if "error" in set(frame["level"]) else 0
            return shortened(answer_of_frame(frame, code))
        case "explain":
            frame = evaluator.explain(specs, k, **options)
    return answer_of_frame(frame, code)


def answer_of_frame(frame: pd.DataFrame, code: int = 0) -> Answer:
    columns = []
    for _, column in frame.items():
        pairs = zip(column.tolist(), column.isna(), strict=True)
        columns.append([None if is_missing else value for value, is_missing in pairs])
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Answer(code, [str(name) for name in frame.columns], rows)


def means_agree(evaluator: sm.Evaluator, question: Question, users: pd.DataFrame) -> None:
    """Check that values per user have the means that `evaluate` returns.

    Raises:
        Problem: they have not.
    """
    specs, cutoffs = question.specs or None, question.cutoffs
    means = evaluator.evaluate(specs, cutoffs, ci="none", **question.options)
    keys = [*means.columns[: list(means.columns).index("metric")], "k"]
    values: dict[tuple[Any, ...], list[float]] = {}
    for record in users.to_dict("records"):
        of = tuple(_key(record[name]) for name in keys)
        for metric in set(means["metric"]) & set(users.columns):
            if not pd.isna(record[metric]):
                values.setdefault((metric, *of), []).append(float(record[metric]))
    for row in means.to_dict("records"):
        if pd.isna(row["n_users"]) or row["metric"] not in users.columns:
            continue
        mine = values.get((row["metric"], *(_key(row[name]) for name in keys)), [])
        if len(mine) != row["n_users"]:
            raise Problem(f"per user, {len(mine)} values, and n_users in {row}")
        if _is_mean(evaluator, row["metric"]) and mine:
            mean = math.fsum(mine) / len(mine)
            if not close(mean, float(row["value"]), TOLERANCE):
                raise Problem(f"per user, the mean is {mean}, and evaluate says {row}")


def _key(value: Any) -> Any:
    return None if pd.isna(value) else value


def _is_mean(evaluator: sm.Evaluator, metric: str) -> bool:
    """Is a row of a metric a mean under every convention that may have made it?"""
    definitions = evaluator._session.definitions
    settings = [one for one in (*definitions.conventions, definitions.fallback) if one is not None]
    if "aggregate" in metric:
        return False
    chosen = [*settings[0].given.items()]
    chosen += [pair for one in settings for pair in one.of_convention.items()]
    return all(value == "mean" for name, value in chosen if name.rpartition(".")[2] == "aggregate")


# ---------------------------------------------------------------- the comparison


def close(found: float, expected: float, tolerance: float) -> bool:
    return found == expected or abs(found - expected) <= tolerance * max(1.0, abs(expected))


def plain_text(value: Any) -> str:
    """Spell a value that is no number as CSV does."""
    if value is None:
        return ""
    if isinstance(value, datetime) and not (value.hour or value.minute or value.second):
        return str(value.date())
    return str(value).removesuffix(" 00:00:00")


def same_cell(found: Any, expected: Any, digits: int | None) -> bool:
    """Compare a printed value with one of a frame; `digits`: as many were printed."""
    if isinstance(expected, bool) or not isinstance(expected, int | float):
        return plain_text(found) == plain_text(expected)
    if found is None or found == "":
        # JSON has no infinity
        return isinstance(expected, float) and not math.isfinite(expected)
    try:
        number = float(found) if isinstance(expected, float) else int(found)
    except (ValueError, TypeError):
        return False
    if isinstance(expected, int):
        return number == expected
    if digits is None:
        return close(number, expected, TOLERANCE)
    return abs(number - expected) <= 0.5000001 * 10**-digits + TOLERANCE * max(1.0, abs(expected))


def difference(question: Question, first: Answer, second: Answer) -> str:
    """Say how two answers differ; an empty text: they do not."""
    if question.command == "sql" and not first.code and second.code == 1:
        return ""  # a statement does not check its tables
    digits = question.digits
    if first.code != second.code:
        return f"exit codes {first.code} and {second.code}: {first.message!r}, {second.message!r}"
    if first.message or second.message:
        if first.kind_of_error != second.kind_of_error:
            return f"errors of different kinds: {first.message!r}, {second.message!r}"
        return ""
    if not first.rows and not second.rows:
        return ""  # JSON has no names without rows
    if first.names != second.names:
        return f"columns {first.names} and {second.names}"
    if len(first.rows) != len(second.rows):
        return f"{len(first.rows)} rows and {len(second.rows)}: {first.rows[:3]}, {second.rows[:3]}"
    for number, (one, other) in enumerate(zip(first.rows, second.rows, strict=True)):
        for name, found, expected in zip(first.names, one, other, strict=True):
            if not same_cell(found, expected, digits):
                return f"row {number}, column {name}: {found!r} and {expected!r}; {one} and {other}"
    return ""


# ---------------------------------------------------------------- one draw


def quiet_errors(call: Callable[[], Answer]) -> Answer:
    """Return what a call returns, or its error as an answer.

    Raises:
        Problem: it raises what is none of our errors, or warns of what is none of our warnings.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call()
        except SqlmetricsError as error:
            answer = Answer(error.exit_code, message=str(error))
        except Problem:
            raise
        except Exception:
            raise Problem(f"the second run: {traceback.format_exc(limit=-4)}") from None
    others = [one for one in caught if not issubclass(one.category, SqlmetricsWarning)]
    if others:
        raise Problem(f"the second run warns: {others[0].category.__name__}: {others[0].message}")
    return answer


@contextlib.contextmanager
def runs(world: World, folder: Path) -> Iterator[Callable[[Question], tuple[Answer, Answer]]]:
    """Make the tables of a world in both forms; yield what asks both runs."""
    tables, setup = world.tables(), world.setup
    conditions = setup.conditions
    for name in ("first", "second", "out"):
        (folder / name).mkdir()
    files = as_files(given(tables, world.first, conditions), world.first, folder / "first")
    made = given(tables, world.second, conditions)
    with contextlib.ExitStack() as stack:
        if world.second_is_command:
            others = as_files(made, world.second, folder / "second")
            refused = None
        else:
            sources = as_sources(made, world.second, folder / "second")
            opened: list[sm.Evaluator] = []

            def open_it() -> Answer:
                opened.append(stack.enter_context(evaluator_of(world, world.second, sources)))
                return Answer(0)

            refused = quiet_errors(open_it)

        def second(question: Question) -> Answer:
            if world.second_is_command:
                plain = replace(question, output="", kind="json", digits=None)
                return asked_by_command(world, world.second, plain, others, folder / "out")
            assert refused is not None
            if refused.message:
                if question.command == "check" and refused.code == 1:  # a finding
                    return Answer(1, FINDING, [["error", "tables", "", "", None]])
                return refused
            return quiet_errors(lambda: asked_of_evaluator(opened[0], question))

        def both(question: Question) -> tuple[Answer, Answer]:
            one = asked_by_command(world, world.first, question, files, folder / "out")
            return one, second(question)

        yield both


def problem_of(world: World, question: Question) -> str:
    """Say what is wrong with one draw, alone; an empty text: nothing."""
    with tempfile.TemporaryDirectory() as name:
        try:
            with runs(world, Path(name)) as both:
                return difference(question, *both(question))
        except Problem as problem:
            return str(problem)


# ---------------------------------------------------------------- broken command lines


@dataclass
class Line:
    """A command line that is to be broken: its parts, its tables, and a folder for files."""

    parts: list[str]
    tables: dict[str, Any]
    folder: Path

    def table(self, name: str) -> Path:
        path = self.tables[name]
        return next(iter(path.values())) if isinstance(path, dict) else path

    def read(self, name: str, path: Any) -> None:
        """Read a table from somewhere else."""
        option = OPTIONS.get(name, "-r")
        places = [n for n, part in enumerate(self.parts) if part == option]
        value = self.parts[places[0] + 1]
        is_named = name == "recommendations" and len(places) > 1
        self.parts[places[0] + 1] = f"{value.partition('=')[0]}={path}" if is_named else str(path)

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path


Breaker = Callable[[random.Random, Line], None]


def _adds(*parts: str) -> Breaker:
    def add(_: random.Random, line: Line) -> None:
        line.parts += parts

    return add


def _metric(*texts: str) -> Breaker:
    def put(draw: random.Random, line: Line) -> None:
        line.parts.insert(1, draw.choice(texts))

    return put


def _file(table: str, name: str, content: bytes) -> Breaker:
    def put(_: random.Random, line: Line) -> None:
        line.read(table, line.write(name, content))

    return put


def _damaged(_: random.Random, line: Line) -> None:
    pq.write_table(pq_table(), line.folder / "whole.parquet")
    content = (line.folder / "whole.parquet").read_bytes()
    line.read("interactions", line.write("short.parquet", content[: len(content) // 2]))


def pq_table() -> Any:
    import pyarrow as pa

    return pa.table({"user_id": ["a", "b"], "item_id": ["x", "y"]})


def _missing_file(_: random.Random, line: Line) -> None:
    line.read("recommendations", line.folder / "nothing.parquet")


def _a_folder(_: random.Random, line: Line) -> None:
    line.read("interactions", line.folder)


def _other_ids(draw: random.Random, line: Line) -> None:
    _metric("recall")(draw, line)  # other metrics may not read the interactions
    line.read("interactions", line.write("ids.csv", b"user_id,item_id\n1.5,2.5\n2.5,1.5\n"))


LISTS = b"user_id,item_id,score\n"
BREAKERS: dict[str, Breaker] = {
    "unknown metric": _metric("ndgc@3", "nothing", "precison@2", "p@", "@5", "ndcg@@3", "ndcg@3@4"),
    "metric that cannot be read": _metric("ndcg(", "ndcg(gain)", "map)", "a b", "r.csv", "", "(=)"),
    "unknown parameter": _metric("ndcg(gian=linear)", "recall(x=1)@2", "map(k=3)"),
    "value of a parameter": _metric("ndcg(gain=lin)", "f_beta(beta=-1)", "recall(relevant_from=x)",
                                    "err(max_grade=nan)", "f_beta(beta=inf)"),
    "cutoff": _metric("ndcg@0", "ndcg@-1", "ndcg@1.5", "ndcg@x", "ndcg@99999999", "recall@1e3"),
    "-k": lambda draw, line: line.parts.extend(
        ["-k", draw.choice(["0", "-1", "5:1", "1:", "x", "", "1,,2", "1:99999", "2.5", "1-5"])]
    ),
    "unknown setting": _adds("--set", "tise=item_asc"),
    "value of a setting": lambda draw, line: line.parts.extend(
        ["--set", draw.choice(["ties=itemasc", "order=up", "relevant_from=much", "audience=",
                               "ties", "=x", "ndgc.gain=linear", "map.divisor=l"])]
    ),
    "column that is not there": _adds("--column", "recommendations.item_id=nowhere"),
    "column of no table": lambda draw, line: line.parts.extend(
        ["--column", draw.choice(["itme_id=x", "nowhere.item_id=x", "item_id", "=x", "item_id="])]
    ),
    "key": lambda draw, line: line.parts.extend(
        ["--key", draw.choice(["nobody", "", "user_id,user_id", "item_id", ",", "k"])]
    ),
    "condition": lambda draw, line: line.parts.extend(
        ["--where", draw.choice(["interactions=nowhere > 1", "interactions=", "nothing=a > 1",
                                 "interactions=1", "interactions=item_id IN (SELECT 1)",
                                 "interactions=item_id =", "interactions=FALSE",
                                 "interactions=sum(item_id) > 1", "x"])]
    ),
    "convention": _adds("--convention", "standrad"),
    "fallback": _adds("--fallback", "standrad"),
    "slice": lambda draw, line: line.parts.extend(
        ["--by", draw.choice(["nowhere", "users.nowhere", "", "activity(", "activity(warm_from=x)",
                              "user_id", "value", "month(unit=days)", "popularity(x=1)"])]
    ),
    "slice of items": _adds("--by-item", "nowhere"),
    "interval": lambda draw, line: line.parts.extend(
        draw.choice([["--ci", "gauss"], ["--confidence", "1.5"], ["--confidence", "x"],
                     ["--resamples", "0"], ["--resamples", "1.5"], ["--seed", "x"],
                     ["--seed", "-1"], ["--confidence", "nan"]])
    ),
    "unknown option": _adds("--nothing", "1"),
    "option without a value": _adds("--set"),
    "format": _adds("--format", "xml"),
    "digits": lambda draw, line: line.parts.extend(["--digits", draw.choice(["-1", "18", "x"])]),
    "engine": lambda draw, line: line.parts.extend(
        draw.choice([["--engine", "sqlite"], ["--threads", "0"], ["--threads", "x"],
                     ["--partitions", "0"], ["--memory-limit", "much"], ["--master", "local"],
                     ["--memory-limit", "-1GB"]])
    ),
    "output": lambda draw, line: line.parts.extend(
        ["-o", draw.choice(["", str(line.folder), str(line.folder / "nowhere" / "x.csv")])]
    ),
    "missing file": _missing_file,
    "folder that has no tables": _a_folder,
    "damaged file": _damaged,
    "empty file": _file("interactions", "empty.csv", b""),
    "only names of columns": _file("recommendations", "names.csv", LISTS),
    "no file of ours": _file("recommendations", "picture.png", b"\x89PNG\r\n\x1a\n\x00\x00"),
    "not what its name says": _file("interactions", "text.parquet", b"user_id,item_id\n1,2\n"),
    "missing column": _file("interactions", "columns.csv", b"user_id,thing\nu,1\nu,2\n"),
    "text as scores": _file("recommendations", "scores.csv", LISTS + b"a,b,high\na,c,low\n"),
    "missing scores": _file("recommendations", "null.csv", LISTS + b"a,b,\na,c,0.5\n"),
    "missing ids": _file("recommendations", "ids.jsonl",
                         b'{"user_id": "a", "item_id": null, "score": 1.0}\n'
                         b'{"user_id": "a", "item_id": "b", "score": 0.5}\n'),
    "JSON that is cut": _file(
        "interactions", "cut.jsonl", b'{"user_id": "a", "item_id": "b"}\n{"us'),
    "CSV with rows of different lengths": _file(
        "recommendations", "uneven.csv", LISTS + b"a,b,1\na,c\na,d,0.5,7,8\n"),
    "bytes that are no text": _file("recommendations", "bytes.csv", LISTS + b"\xff\xfe,b,1\n"),
    "ids of another type": _other_ids,
    "models without names": lambda _, line: line.parts.extend(
        ["-r", str(line.table("recommendations")), "-r", str(line.table("recommendations"))]
    ),
    "baseline that is not there": _adds("--baseline", "nobody"),
}  # fmt: skip


def draw_broken(
    draw: random.Random,
    world: World,
    question: Question,
    files: Mapping[str, Any],
    folder: Path,
) -> tuple[str, list[str]]:
    """Break a command line; returns what was done to it, and the line."""
    form = replace(world.first, stdin="")
    question = replace(question, output="", digits=None)
    if question.command in ("check", "sql", "explain"):
        question = replace(question, command="evaluate", options={}, per_user=False)
    name = draw.choice(list(BREAKERS))
    parts = [one for one in arguments(world, form, question, files) if one != "--trust-input"]
    line = Line(parts, dict(files), folder / "first")
    if draw.random() < 0.3:
        line.parts += ["-o", str(folder / "out" / "result.csv")]
        place = line.parts.index("--format")
        del line.parts[place : place + 2]
    BREAKERS[name](draw, line)
    return name, line.parts


def broken_problem(line: Sequence[str], out: Path) -> tuple[str, str]:
    """Run a broken command line; say what is wrong with how it ends, and its message."""
    try:
        result = invoke(line)
        message = error_of(result) if result.exit_code else ""
    except Problem as problem:
        return str(problem), ""
    left = list(out.iterdir())
    if result.exit_code not in (1, 2):
        return f"exit code {result.exit_code}, though it is broken: {result.stdout[:200]}", ""
    if result.stdout or left:
        return f"refused, and written: {result.stdout!r}, {left}", message
    if re.search(r"\{(?![{'\"])", message) and "{{" not in message:
        return f"a message that is not filled in: {message}", message
    return "", message


# ---------------------------------------------------------------- the run


@dataclass
class Figures(fuzz_numbers.Sums):
    """What a run came to."""

    draws: int = 0
    done: int = 0  # with exit code 0, or a gate's 3
    refused: int = 0
    broken: int = 0
    compared: int = 0
    numbers: int = 0
    seconds: float = 0.0
    commands: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        whole = max(self.draws - self.broken, 1)
        lines = [
            f"{self.draws:,} draws, {self.broken:,} of them broken on purpose; of the others "
            f"{self.done:,} ended with exit code 0 or 3 ({self.done / whole:.1%}), "
            f"{self.refused:,} were refused",
            f"{self.compared:,} comparisons with a second run, {self.numbers:,} numbers compared, "
            f"{len(self.problems)} disagreements, {self.seconds:,.0f} CPU seconds "
            f"({self.seconds / max(self.draws, 1):.3f} per draw)",
        ]
        for title, counts in (
            ("commands", self.commands), ("second runs", self.forms), ("refused", self.reasons),
        ):  # fmt: skip
            lines.append(f"{title}:")
            lines += [f"  {count:6,}  {name}" for name, count in counts.most_common()]
        return "\n".join(lines)


def world_of(seed: int, number: int) -> World:
    return draw_world(random.Random(f"commands {seed} {number}"), PER_WORLD)


def run_world(seed: int, number: int, seconds: float = SECONDS) -> Figures:
    """Run all draws of a world; take so many seconds to shrink its first disagreement."""
    start = time.process_time()
    draw = random.Random(f"broken {seed} {number}")
    figures = Figures()
    where = f"--seed {seed} --world {number}"
    try:
        world = world_of(seed, number)
        with tempfile.TemporaryDirectory() as name, runs(world, Path(name)) as both:
            for place, question in enumerate(world.questions):
                if draw.random() < BROKEN:
                    _run_broken(draw, world, question, Path(name), where, figures)
                else:
                    left = 0 if figures.problems else seconds
                    _run_one(world, question, both, f"{where}, draw {place}", figures, left)
    except Exception:  # of this file, or of what makes tables
        figures.draws += 1
        figures.problems.append(f"{where}: {traceback.format_exc(limit=-6)}")
    figures.seconds += time.process_time() - start
    return figures


def _run_one(
    world: World,
    question: Question,
    both: Callable[[Question], tuple[Answer, Answer]],
    where: str,
    figures: Figures,
    seconds: float,
) -> None:
    figures.draws += 1
    figures.commands[question.command] += 1
    try:
        first, second = both(question)
        problem = difference(question, first, second)
    except Problem as found:
        problem = str(found)
    else:
        figures.compared += 1
        figures.forms.update(
            [*world.second.features(), *["a command"] * world.second_is_command,
             *["a statement in DuckDB"] * (question.command == "sql")]
        )  # fmt: skip
        if first.message:
            figures.refused += 1
            figures.reasons[f"exit {first.code}: {reason_class(first.message)}"] += 1
        else:
            figures.done += 1
            numbers = [v for row in second.rows for v in row if isinstance(v, int | float)]
            figures.numbers += len(numbers)
    if problem:
        more = described(world, question, seconds) if seconds else command_of(world, question)
        figures.problems.append(f"{where}: {problem}\n{more}")


def reason_class(message: str) -> str:
    """Say what kind of reason a message gives."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|/\S+|[0-9.,]+", "…", message.partition("; ")[0])
    return " ".join(text.split()[:12])


def _run_broken(
    draw: random.Random,
    world: World,
    question: Question,
    folder: Path,
    where: str,
    figures: Figures,
) -> None:
    figures.draws += 1
    figures.broken += 1
    files = as_paths(world, folder / "first")
    name, line = draw_broken(draw, world, question, files, folder)
    problem, message = broken_problem(line, folder / "out")
    figures.reasons[f"broken: {name}"] += 1
    if problem:
        figures.problems.append(f"{where}, {name}: {problem}\n  {shlex.join(line)}\n  {message}")
    for left in (folder / "out").iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def as_paths(world: World, folder: Path) -> dict[str, Any]:
    """Name the files of the first form, which are there."""
    found: dict[str, Any] = {}
    for name, table in given(world.tables(), world.first, world.setup.conditions).items():
        stems = [f"{name}_{model}" for model in table] if isinstance(table, dict) else [name]
        paths = [next(p for p in folder.iterdir() if p.name.partition(".")[0] == s) for s in stems]
        found[name] = dict(zip(table, paths, strict=True)) if isinstance(table, dict) else paths[0]
    return found


def described(world: World, question: Question, seconds: float) -> str:
    """Describe a disagreement, shrunk if it is there without the draws before it."""
    if not problem_of(world, question):
        return "only after the draws before it\n" + command_of(world, question)
    world, question = shrunk(world, question, seconds)
    rows = f"{world.dress}\n{world.case}"
    return f"shrunk: {problem_of(world, question)}\n{command_of(world, question)}\n" + (
        rows if len(rows) < 5000 else "(the rows are too many to be shown)"
    )


def command_of(world: World, question: Question) -> str:
    files = {
        name: {model: f"{name}_{model}" for model in parts} if "" not in parts else name
        for name, parts in world.tables().items()
    }
    if world.first.model_column:
        files["recommendations"] = "recommendations"
    line = arguments(world, world.first, question, files)
    if question.output:
        line += ["-o", f"result{question.output}"]
    kinds = ", ".join(f"{name}: {kind}" for name, kind in world.first.kinds.items())
    more = f"; gates {question.gates}" if question.gates else ""
    return f"  {shlex.join(line)}\n  files: {kinds}\n  second: {world.second}{more}"


def shrunk(world: World, question: Question, seconds: float) -> tuple[World, Question]:
    """Remove what is not needed to show a disagreement."""
    end = time.monotonic() + seconds

    def fails(world: World, question: Question) -> bool:
        try:
            return bool(problem_of(world, question))
        except Exception:
            return False

    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for smaller_world, smaller in _smaller(world, question):
            if time.monotonic() > end:
                break
            if fails(smaller_world, smaller):
                world, question, progress = smaller_world, smaller, True
                break
    case = fuzz_numbers.shrunk(
        replace(world.case, calls=world.case.calls[:1]),
        lambda case: fails(replace(world, case=case), question),
        max(end - time.monotonic(), 0),
    )
    return replace(world, case=case), question


def _smaller(world: World, question: Question) -> Iterator[tuple[World, Question]]:
    plain_question = {"output": "", "digits": None, "gates": [], "k": None}
    for name, value in plain_question.items():
        if getattr(question, name) != value:
            yield world, replace(question, **{name: value})
    if len(question.specs) > 1:
        for spec in question.specs:
            yield world, replace(question, specs=[spec])
    for name, value in question.options.items():
        if name not in ("baseline", "start"):
            options = {n: v for n, v in question.options.items() if n != name}
            yield world, replace(question, options=options)
        if name in ("by", "by_item") and len(value) > 1:
            for one in value:
                yield world, replace(question, options={**question.options, name: [one]})
    for name in ("conventions", "fallback", "conditions", "trust_input"):
        default = getattr(Setup(), name)
        if getattr(world.setup, name) != default:
            yield replace(world, setup=replace(world.setup, **{name: default})), question
    for which in ("first", "second"):
        form = getattr(world, which)
        plain = Form(form.kinds, in_order=form.in_order, model_column=form.model_column)
        for one in fields(Form):
            default = getattr(plain, one.name)
            if getattr(form, one.name) != default:
                yield replace(world, **{which: replace(form, **{one.name: default})}), question
        for table, kind in form.kinds.items():
            simple = "parquet" if which == "first" or world.second_is_command else "arrow"
            if kind != simple:
                kinds = {**form.kinds, table: simple}
                yield replace(world, **{which: replace(form, kinds=kinds)}), question
        for table, names in form.names.items():
            if names:
                left = {t: n for t, n in form.names.items() if t != table}
                yield replace(world, **{which: replace(form, names=left)}), question
    for name in world.dress.attributes:
        left = tuple(one for one in world.dress.attributes if one != name)
        yield replace(world, dress=replace(world.dress, attributes=left)), question
    if world.dress.times:
        yield replace(world, dress=replace(world.dress, times=())), question
    for table in ("logs", "baseline", "aspects", "items", "history", "interactions"):
        if getattr(world.case, table):
            yield replace(world, case=replace(world.case, **{table: []})), question


def _job(job: tuple[int, int, float]) -> Figures:
    return run_world(*job)


def fuzz(
    cases: int, seed: int, workers: int, minutes: float, shrink: float, first: int = 0
) -> Figures:
    """Run until there are so many draws, or the time is over; `first`: of the worlds."""
    n_worlds = math.ceil(cases / PER_WORLD)
    jobs = [(seed, number, shrink) for number in range(first, first + n_worlds)]
    figures, end = Figures(), time.monotonic() + minutes * 60
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for done, one in enumerate(pool.imap(_job, jobs), start=1):
            figures.add(one)
            for problem in one.problems:
                print(problem, flush=True)
            if done % 100 == 0:
                count = len(figures.problems)
                print(f"… {figures.draws:,} draws, {count} disagreements", flush=True)
            if time.monotonic() > end:
                pool.terminate()
                break
    return figures


def keep(seed: int, number: int, folder: Path) -> None:
    """Write the files of a world to a folder, and print its command lines."""
    world = world_of(seed, number)
    (folder / "first").mkdir(parents=True)
    files = as_files(
        given(world.tables(), world.first, world.setup.conditions), world.first, folder / "first"
    )
    for question in world.questions:
        print("sqlmetrics", shlex.join(arguments(world, world.first, question, files)))
    print("second:", world.second)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--first", type=int, default=0, help="world, to go on from there")
    parser.add_argument("--world", type=int, help="run this one only")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="only write its files there")
    parser.add_argument("--shrink", type=float, default=SECONDS, help="seconds for a disagreement")
    options = parser.parse_args()
    if options.keep is not None:
        keep(options.seed, options.world, options.keep)
        return 0
    start = time.monotonic()
    if options.world is not None:
        figures = run_world(options.seed, options.world, options.shrink)
        print("\n".join(figures.problems))
    else:
        given = options.cases, options.seed, options.workers, options.minutes
        figures = fuzz(*given, options.shrink, options.first)
    print(figures)
    print(f"seed {options.seed}, {time.monotonic() - start:,.0f} s on {options.workers} workers")
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main())
