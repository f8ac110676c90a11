"""Some command lines of fuzz_commands.py, and wrong results that it must notice."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sqlmetrics.metrics.catalog import Catalog
from tests.robustness import fuzz_commands
from tests.robustness.fuzz_commands import (
    Answer,
    Figures,
    Problem,
    Question,
    difference,
    run_world,
    world_of,
)

EVALUATE = Question("evaluate", ["ndcg"])
FOUND = Answer(0, ["metric", "k", "value"], [["ndcg", "5", "0.25"], ["map", "", ""]])
EXPECTED = Answer(0, ["metric", "k", "value"], [["ndcg", 5, 0.25], ["map", None, None]])


def slice_of_the_fuzz(first: int, worlds: int) -> Figures:
    figures = Figures()
    for number in range(first, first + worlds):
        figures.add(run_world(7, number))
    assert figures.problems == [], "\n".join(figures.problems)
    return figures


def test_a_slice_of_the_fuzz() -> None:
    assert slice_of_the_fuzz(first=7, worlds=1).draws == 5


@pytest.mark.thorough
def test_more_of_the_fuzz() -> None:
    figures = slice_of_the_fuzz(first=140, worlds=5)
    assert figures.draws == 25
    assert figures.done > 0.7 * (figures.draws - figures.broken)
    assert figures.numbers > 200


def test_a_world_is_the_same_wherever_it_is_drawn() -> None:
    before = repr(world_of(3, 4))
    for number in range(3):
        world_of(3, number)
    assert repr(world_of(3, 4)) == before != repr(world_of(4, 4))


@pytest.mark.thorough
def test_worlds_have_every_command_metric_and_form() -> None:
    worlds = [world_of(1, number) for number in range(400)]
    questions = [question for world in worlds for question in world.questions]
    assert {question.command for question in questions} == set(fuzz_commands.COMMANDS)
    metrics = {call[0] for world in worlds for call in world.case.calls}
    assert metrics == set(Catalog.load().metrics)
    kinds = {kind for w in worlds for form in (w.first, w.second) for kind in form.kinds.values()}
    assert kinds >= {"csv files", "parquet files", "jsonl.gz", "polars", "dict", "relation"}
    options = {name for question in questions for name in question.options}
    assert options >= {"by", "by_item", "combinations", "ci", "run_ci", "skip_missing", "test"}
    more = {feature for world in worlds for feature in world.second.features()}
    assert more >= {"partitions", "stdin", "a column model", "rows filtered before"}


def test_equal_answers_are_equal() -> None:
    assert difference(EVALUATE, FOUND, EXPECTED) == ""
    rounded = replace(FOUND, rows=[["ndcg", "5", "0.3"], ["map", "", ""]])
    assert difference(replace(EVALUATE, digits=1), rounded, EXPECTED) == ""
    refused = Answer(1, message="recommendations: a.csv has no column 'item_id'")
    other = Answer(1, message="recommendations: the table has no column 'item_id'")
    assert difference(EVALUATE, refused, other) == ""


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (replace(FOUND, rows=[["ndcg", "5", "0.250000003"], ["map", "", ""]]), "column value"),
        (replace(FOUND, rows=[["ndcg", "5", ""], ["map", "", ""]]), "column value"),
        (replace(FOUND, rows=[["ndcg", "5", "0.25"], ["map", "", "0"]]), "column value"),
        (replace(FOUND, rows=[["ndcg", "4", "0.25"], ["map", "", ""]]), "column k"),
        (replace(FOUND, rows=FOUND.rows[::-1]), "column metric"),
        (replace(FOUND, rows=FOUND.rows[:1]), "1 rows and 2"),
        (replace(FOUND, names=["metric", "value", "k"]), "columns"),
        (Answer(1, message="interactions: no"), "exit codes 1 and 0"),
    ],
)
def test_the_fuzz_notices_a_difference(changed: Answer, told: str) -> None:
    assert told in difference(EVALUATE, changed, EXPECTED)


def test_the_fuzz_notices_errors_of_different_kinds() -> None:
    one, other = Answer(1, message="interactions: no"), Answer(1, message="history: no")
    assert "different kinds" in difference(EVALUATE, one, other)


def fails_with(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def test_the_fuzz_notices_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlmetrics.cli.arguments.lists_of", fails_with(KeyError("lists")))
    with pytest.raises(Problem, match=r"a traceback: [\s\S]*KeyError: 'lists'"):
        fuzz_commands.invoke(["evaluate", "-r", "lists.csv"])
    with pytest.raises(Problem, match=r"the second run: [\s\S]*KeyError"):
        fuzz_commands.quiet_errors(fails_with(KeyError("lists")))


def test_the_fuzz_notices_warnings_of_others() -> None:
    def warn() -> Answer:
        warnings.warn("divided by zero", RuntimeWarning, stacklevel=1)
        return FOUND

    with pytest.raises(Problem, match="RuntimeWarning: divided by zero"):
        fuzz_commands.quiet_errors(warn)


def test_the_fuzz_notices_what_is_not_refused(tmp_path: Path) -> None:
    problem, _ = fuzz_commands.broken_problem(["--version"], tmp_path)
    assert "exit code 0, though it is broken" in problem


def test_the_fuzz_notices_what_is_refused_and_written(tmp_path: Path) -> None:
    assert fuzz_commands.broken_problem(["evaluate"], tmp_path)[0] == ""
    (tmp_path / "result.csv").write_text("metric")
    assert "refused, and written" in fuzz_commands.broken_problem(["evaluate"], tmp_path)[0]


def test_a_disagreement_is_shrunk_to_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of(2, 0)
    wanted = world.case.interactions[-1]
    monkeypatch.setattr(
        fuzz_commands,
        "problem_of",
        lambda world, _: "no" if wanted in world.case.interactions else "",
    )
    question = Question("evaluate", ["ndcg@3", "map"], "3", {"by": ["country", "age"]}, digits=2)
    small, asked = fuzz_commands.shrunk(world, question, 60)
    assert small.case.interactions == [wanted]
    assert not any(small.case.models.values())
    assert not small.case.settings
    assert not small.dress.attributes
    assert set(small.second.kinds.values()) == {"arrow"} or small.second_is_command
    assert (len(asked.specs), asked.k, asked.options, asked.digits) == (1, None, {}, None)
