"""Random requests, arguments and command lines: a result or one of our errors."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.metrics.catalog import Catalog
from tests.support.connections import state
from tests.support.hostile import (
    PIECES,
    SEARCH,
    history_table,
    hostile_text,
    lists_table,
    own_error_or,
    truth_table,
    values,
)

# ---------------------------------------------------------------- names and values in requests


REQUESTS: dict[str, Callable[[sm.Evaluator, str], Any]] = {
    "metric": lambda evaluator, text: evaluator.evaluate(text),
    "per user": lambda evaluator, text: evaluator.per_user([text], long=True),
    "param": lambda evaluator, text: evaluator.evaluate(f"ndcg(gain={text})@3"),
    "number": lambda evaluator, text: evaluator.evaluate(f"f_beta(beta={text})@3"),
    "threshold": lambda evaluator, text: evaluator.evaluate(f"recall(relevant_from={text})@3"),
    "cutoff": lambda evaluator, text: evaluator.evaluate("recall", k=text),
    "cutoff in a spec": lambda evaluator, text: evaluator.evaluate(f"recall@{text}"),
    "by": lambda evaluator, text: evaluator.evaluate("recall@3", by=text),
    "by item": lambda evaluator, text: evaluator.evaluate("recall@3", by_item=text),
    "stage": lambda evaluator, text: evaluator.stage(text),
    "statement": lambda evaluator, text: evaluator.sql(text),
}


def request(evaluator: sm.Evaluator, kind: str, text: str) -> None:
    before = state(evaluator.engine.connection, "precious", "recs")
    found = own_error_or(lambda: REQUESTS[kind](evaluator, text))
    if isinstance(found, pd.DataFrame) and "value" in found:
        assert not any(math.isinf(value) for value in values(found))
    assert state(evaluator.engine.connection, "precious", "recs") == before


@pytest.mark.parametrize("kind", REQUESTS)
def test_requests(evaluator: sm.Evaluator, kind: str) -> None:
    @settings(SEARCH, max_examples=3)
    @given(text=hostile_text)
    @example(text="x'; DROP TABLE precious; --")
    def search(text: str) -> None:
        request(evaluator, kind, text)

    search()


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    hostile_text,
    st.binary(max_size=4),
    st.lists(st.one_of(st.integers(-2, 30), st.floats(), hostile_text), max_size=3),
    st.dictionaries(hostile_text, st.integers(), max_size=2),
    st.just(object()),
)


@settings(SEARCH, max_examples=15)
@given(value=anything, name=st.sampled_from(["metrics", "k", "by", "by_item", "ci", "seed"]))
def test_arguments_of_any_type(value: Any, name: str) -> None:
    given = {"metrics": "recall@3", "k": 2, name: value}
    with sm.Evaluator(lists_table(), truth_table()) as evaluator:
        own_error_or(lambda: evaluator.evaluate(given.pop("metrics"), given.pop("k"), **given))


OF_EVALUATOR = ["settings", "columns", "key", "convention", "fallback", "templates"]


@settings(SEARCH, max_examples=20)
@given(
    value=st.one_of(
        anything,
        st.dictionaries(
            st.one_of(hostile_text, st.sampled_from(["ties", "map.divisor"])), anything
        ),
    ),
    name=st.sampled_from(OF_EVALUATOR),
)
def test_arguments_of_an_evaluator(value: Any, name: str) -> None:
    own_error_or(lambda: sm.Evaluator(lists_table(), truth_table(), **{name: value}).close())


@settings(SEARCH, max_examples=12)
@given(
    name=st.sampled_from(sorted(Catalog.load().known_settings())),
    value=st.one_of(st.sampled_from(PIECES), st.floats(), st.integers(), st.none(), st.booleans()),
)
def test_settings(name: str, value: Any) -> None:
    def call() -> pd.DataFrame:
        tables = {"history": history_table(), "settings": {name: value}}
        with sm.Evaluator(lists_table(), truth_table(), **tables) as evaluator:
            return evaluator.evaluate(["ndcg@3", "recall@2", "coverage"])

    found = own_error_or(call)
    if found is not None:
        assert not any(math.isinf(one) for one in values(found))


# ---------------------------------------------------------------- the command line


LINE = ["-r", "recs.parquet", "-i", "test.parquet"]
# what would take long, write elsewhere or reach the network is left out
SAFE = [
    text for text in PIECES
    if "/" not in text and "\\" not in text and text not in ("@99999999999", "1e15") and text != "."
]  # fmt: skip
line_text = st.lists(st.sampled_from(SAFE), min_size=1, max_size=3).map("".join)
OPTIONS = [
    "--set", "--column", "--by", "--by-item", "--convention", "--fallback", "-k", "--key",
    "--history", "--users", "--items", "--aspects", "--baseline", "--logs", "--ci",
    "--confidence", "--seed", "--digits", "--format", "--threads", "--memory-limit",
    "--templates", "-r", "-i", "--dialect", "--from", "--to", "--where", "--skip-missing",
    "--combinations", "--trust-input", "--nothing",
]  # fmt: skip
PAIRS = ["ties=item_desc", "user_id=user_id", "interactions.relevance=x", "map.divisor=k"]
COMMANDS = ["evaluate", "per-user", "compare", "leaderboard", "sql", "explain", "describe", "list",
            "conventions", "check", "identify"]  # fmt: skip


@st.composite
def command_lines(draw: Any) -> list[str]:
    command = draw(st.sampled_from(COMMANDS))
    line = [command, *(LINE if command not in ("describe", "list", "conventions") else [])]
    line += draw(st.lists(st.one_of(st.sampled_from(["recall@3", "ndcg"]), line_text), max_size=2))
    for option in draw(st.lists(st.sampled_from(OPTIONS), max_size=2)):
        line += [option, draw(st.one_of(line_text, st.sampled_from([*PAIRS, "recs.parquet", "3"])))]
    return line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("line")
    pq.write_table(lists_table(), folder / "recs.parquet")
    pq.write_table(truth_table(), folder / "test.parquet")
    return folder


def command_line(line: list[str]) -> None:
    result = CliRunner().invoke(main, line)
    assert result.exception is None or isinstance(result.exception, SystemExit), (
        line,
        result.exc_info,
    )
    assert result.exit_code in (0, 1, 2), (line, result.output)
    assert "Traceback" not in result.output
    if result.exit_code == 1 and line[0] == "check":  # its result says what is wrong
        assert result.output.strip(), line
    elif result.exit_code:
        assert result.stderr.strip(), line
        assert result.stdout == "", line


@settings(SEARCH, max_examples=25)
@given(line=command_lines())
def test_command_lines(folder: Path, line: list[str]) -> None:
    with contextlib.chdir(folder):
        before = sorted(folder.rglob("*"))
        command_line(line)
        assert sorted(folder.rglob("*")) == before
