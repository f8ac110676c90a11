"""Results come with a warning for every finding of `check`: once, from every method and command."""

import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import sqlmetrics as sm
from sqlmetrics.checks import data_warnings as module
from sqlmetrics.cli.commands import main as cli

LISTS = pd.DataFrame(
    {"user_id": [1, 1, 2, 2], "item_id": [11, 12, 12, 13], "score": [0.9, 0.8, 0.7, 0.6]}
)
MODELS = {"a": LISTS, "b": LISTS.assign(score=1 / LISTS["item_id"])}
TRUTH = pd.DataFrame({"user_id": [1, 2], "item_id": [11, 14]})
HISTORY = pd.DataFrame({"user_id": [1, 2, 3, 3], "item_id": [12, 14, 11, 13]})
TABLES: dict[str, Any] = {"recommendations": MODELS, "interactions": TRUTH, "history": HISTORY}

SEEN = (
    "recommendations: 2 of 8 rows recommend an item that is in the user's history (a 1, b 1). If "
    "such items cannot be relevant, remove them before the lists are cut, with {} or in the "
    "recommender; they take the places of other items."
)
TRUTH_SEEN = (
    "interactions: 1 of 2 rows is also in the history of the same user. Remove these rows "
    "from one of the two tables, unless users do interact with items again; a model trained on the "
    "history already knows them."
)
IN_PYTHON = SEEN.format("settings={'drop_seen': True}")
FOUND = [IN_PYTHON, TRUTH_SEEN]

METHODS: dict[str, Callable[[sm.Evaluator, Path], Any]] = {
    "evaluate": lambda ev, _: ev.evaluate("ndcg@2"),
    "rows": lambda ev, _: ev.rows("ndcg@2"),
    "per_user": lambda ev, _: ev.per_user("ndcg@2", long=True),
    "compare": lambda ev, _: ev.compare("ndcg@2", baseline="a"),
    "leaderboard": lambda ev, _: ev.leaderboard("ndcg@2"),
    "report": lambda ev, _: ev.report("ndcg@2", examples=False),
    "plot": lambda ev, _: ev.plot("scores", "ndcg@2"),
    "write_parquet": lambda ev, folder: ev.write_parquet(folder / "out.parquet", "ndcg@2"),
    "explain": lambda ev, _: ev.explain("ndcg@2", end="jurity"),
    "identify": lambda ev, _: ev.identify("ndcg@2=0", convention="standard"),
}


def warned(work: Callable[[], Any]) -> list[str]:
    """Return the data warnings of some work, in their order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    assert all(issubclass(one.category, sm.SqlmetricsWarning) for one in caught)
    return [str(one.message) for one in caught if issubclass(one.category, sm.DataWarning)]


@pytest.fixture
def evaluator() -> Iterator[sm.Evaluator]:
    with sm.Evaluator(**TABLES) as made:
        yield made


@pytest.mark.parametrize("method", METHODS)
def test_every_method_warns_of_every_finding_once(
    method: str, evaluator: sm.Evaluator, tmp_path: Path
) -> None:
    assert warned(lambda: METHODS[method](evaluator, tmp_path)) == FOUND
    assert warned(lambda: METHODS["compare"](evaluator, tmp_path)) == []


def test_warnings_can_be_turned_into_errors(evaluator: sm.Evaluator) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", sm.SqlmetricsWarning)
        with pytest.raises(sm.DataWarning) as raised:
            evaluator.evaluate("ndcg@2")
    assert str(raised.value) == IN_PYTHON
    assert raised.value.table == "recommendations"


def test_what_finds_nothing_warns_of_nothing() -> None:
    with sm.Evaluator(LISTS, TRUTH) as evaluator:
        assert warned(lambda: evaluator.evaluate("ndcg@2")) == []


def test_methods_that_compute_no_result_do_not_warn(evaluator: sm.Evaluator) -> None:
    calls = [
        lambda: evaluator.sql("ndcg@2"),
        lambda: evaluator.stage("hits"),
        lambda: evaluator.models,
        lambda: evaluator.check("ndcg@2"),
    ]
    assert [warned(call) for call in calls] == [[]] * len(calls)


def test_a_warning_is_at_the_line_that_asks(evaluator: sm.Evaluator) -> None:
    with pytest.warns(sm.DataWarning) as caught:
        evaluator.leaderboard("ndcg@2")
    assert {one.filename for one in caught} == {__file__}


def test_a_finding_under_several_conventions_is_one_warning() -> None:
    conventions = ["standard", "jurity", "elliot"]
    with sm.Evaluator(**TABLES, convention=conventions) as evaluator:
        assert warned(lambda: evaluator.evaluate("ndcg", 2)) == FOUND


def test_findings_have_the_number_of_rows_per_model() -> None:
    """Model a recommends three seen items, c two and b none; examples show the first five rows."""
    history = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [11, 12, 13, 15]})
    models = {"a": LISTS, "b": LISTS.assign(item_id=16), "c": LISTS.assign(item_id=[15, 12, 15, 9])}
    models["b"] = models["b"].drop_duplicates("user_id")
    tables = {**TABLES, "recommendations": models, "history": history}
    with (
        sm.Evaluator(**tables) as several,
        sm.Evaluator(**{**tables, "recommendations": LISTS}) as one,
    ):
        found = several.check("ndcg@2").set_index("check")["found"]
        assert found["recommendations_seen"].endswith(
            "rows recommend an item that is in the user's history (a 3, c 2)"
        )
        assert not found["interactions_seen"].endswith(")")
        alone = one.check("ndcg@2").set_index("check")["found"]
        assert alone["recommendations_seen"].endswith("history")
        (brief,) = (w for w in warned_in_brief(several) if "recommendations_seen" in w)
    assert brief == (
        "warning recommendations_seen: 5 of 10 rows recommend an item that is in the user's "
        "history (a 3, c 2)"
    )


def warned_in_brief(evaluator: sm.Evaluator) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluator.evaluate("ndcg@2")
    return [one.message.in_brief for one in caught if isinstance(one.message, sm.DataWarning)]


def test_few_users_with_a_list() -> None:
    truth = {user: [11] for user in range(1, 21)}
    for method in ("evaluate", "compare", "leaderboard"):
        with sm.Evaluator(MODELS, truth) as evaluator:
            (text,) = warned(lambda call=METHODS[method]: call(evaluator, Path()))
        assert text.startswith(
            "recommendations: 18 of 20 users of the interactions have no recommendations of a. "
            "Check that both exports cover the same users"
        )


# ---------------------------------------------------------------- when data is checked


def test_long_lists_are_checked_only_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_CHECKED", len(LISTS))
    for check, found in ((None, []), (True, FOUND), (False, [])):
        with sm.Evaluator(**TABLES, check=check) as evaluator:
            assert warned(lambda: evaluator.evaluate("ndcg@2")) == found


def test_a_result_says_once_that_the_data_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_CHECKED", len(LISTS))
    unchecked = (
        "The data was not checked: the lists have 8 rows, and data checks run by default only up "
        "to 4 rows; add check=True, or run Evaluator.check(…)."
    )
    with sm.Evaluator(**TABLES) as evaluator:
        with pytest.warns(sm.SqlmetricsWarning) as caught:
            evaluator.evaluate("ndcg@2")
        assert [str(one.message) for one in caught] == [unchecked]
        evaluator.evaluate("ndcg@1")


def test_a_result_is_checked_for_what_it_reads() -> None:
    """Items outside the catalogue do not change the accuracy."""
    tables: dict[str, Any] = {"recommendations": LISTS, "interactions": TRUTH}
    new_items = pd.DataFrame({"user_id": [3], "item_id": [11]})
    for metric, words in (("ndcg@2", []), ("coverage@2", ["recommended items are not in"])):
        with sm.Evaluator(**tables, history=new_items) as evaluator:
            found = warned(lambda metric=metric: evaluator.evaluate(metric))
        assert len(found) == len(words)
        assert all(word in text for word, text in zip(words, found, strict=True))


def test_a_report_can_say_otherwise_than_its_evaluator() -> None:
    for check, of_report, found in ((False, True, FOUND), (None, False, [])):
        pages: list[str] = []

        def report(check: bool = of_report, pages: list[str] = pages) -> None:
            pages.append(evaluator.report("ndcg@2", check=check, examples=False).html)

        with sm.Evaluator(**TABLES, check=check) as evaluator:
            assert warned(report) == found
        assert ("recommend an item that is in the user&#39;s history" in pages[0]) == bool(found)
        assert ("Data checks were skipped" in pages[0]) != bool(found)


def test_tables_that_are_trusted_are_not_checked() -> None:
    with sm.Evaluator(**TABLES, trust_input=True) as evaluator:
        assert warned(lambda: evaluator.evaluate("ndcg@2")) == []
    with pytest.raises(sm.UsageError, match="check cannot be combined with trust_input"):
        sm.Evaluator(**TABLES, check=True, trust_input=True)


def test_tables_of_a_connection_are_looked_at_again_and_a_finding_is_said_once() -> None:
    connection = duckdb.connect()
    connection.register("lists", LISTS)
    connection.register("history", HISTORY[2:])
    with sm.Evaluator("lists", TRUTH, history="history", connection=connection) as evaluator:
        seen = re.compile("user's history|history of the same user")
        assert not any(map(seen.search, warned(lambda: evaluator.evaluate())))
        connection.register("history", HISTORY)
        found = warned(lambda: evaluator.evaluate())
        assert list(filter(seen.search, found)) == [
            IN_PYTHON.replace("2 of 8 rows recommend", "1 of 4 rows recommends").replace(
                " (a 1, b 1)", ""
            ),
            TRUTH_SEEN,
        ]
        assert warned(lambda: evaluator.evaluate()) == []


# ---------------------------------------------------------------- no check costs a result


BROKEN = """{#---
title = "items from the old shop"
level = "warning"
table = "recommendations"
needs = ["recommendations"]
found = "{n} rows recommend items of the old shop"
remedy = "export again"
---#}
SELECT item_id, count(*) OVER () AS n_found FROM recommendations WHERE item > 12
"""


@pytest.mark.parametrize(
    ("item", "said"),
    [("item", "the query for old_shop"), ("item_id > {{ of_the_old_shop }} AND item_id", "")],
    ids=["the engine rejects it", "it cannot be rendered"],
)
def test_a_check_that_fails_is_a_warning(tmp_path: Path, item: str, said: str) -> None:
    (tmp_path / "checks").mkdir()
    template = tmp_path / "checks" / "old_shop.sql.j2"
    template.write_text(BROKEN.replace("item > 12", f"{item} > 12"))
    said = said or str(template)
    with sm.Evaluator(**TABLES, templates=tmp_path) as evaluator:
        results: list[Any] = []
        found = warned(lambda: results.append(evaluator.evaluate("ndcg@2")))
        assert len(results[0]) == 2
        assert found[-1].startswith(f"data checks failed: {said}")
        assert ("of_the_old_shop" in found[-1]) == (item != "item")
        assert warned(lambda: results.append(evaluator.report("ndcg@2", examples=False))) == []
        assert f"data checks failed: {said}" in results[1].html


def test_a_table_that_only_checks_cannot_read_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    HISTORY.to_parquet(path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\0" * 60 + data[64:])
    with sm.Evaluator(**{**TABLES, "history": path}) as evaluator:
        results: list[Any] = []
        found = warned(lambda: results.append(evaluator.evaluate("ndcg@2")))
        assert len(results[0]) == 2
        assert any(
            text.startswith("data checks cannot read a table: history: ") and str(path) in text
            for text in found
        )


def test_findings_can_be_silenced_or_made_errors_alone(evaluator: sm.Evaluator) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sm.DataWarning)
        assert len(evaluator.evaluate("ndcg@2")) == 2
    with sm.Evaluator(**TABLES) as other, warnings.catch_warnings():
        warnings.simplefilter("error", sm.DataWarning)
        for _ in range(2):
            with pytest.raises(sm.DataWarning, match="recommend an item"):
                other.evaluate("ndcg@2")


# ---------------------------------------------------------------- commands


@pytest.fixture
def folder(here: Path) -> Path:
    for name, table in {**MODELS, "truth": TRUTH, "history": HISTORY}.items():
        table.to_parquet(f"{name}.parquet")
    return here


def run(command: str, *options: str) -> Result:
    arguments = [
        *(command, "ndcg@2", "-r", "a=a.parquet", "-r", "b=b.parquet", "-i", "truth.parquet"),
        *("--history", "history.parquet", *options),
    ]
    result = CliRunner().invoke(cli, arguments)
    assert not isinstance(result.exception, Exception), result.exception
    return result


COMMANDS = {
    "evaluate": [],
    "per-user": [],
    "compare": ["--baseline", "a"],
    "leaderboard": [],
    "report": ["--no-examples", "-o", "-"],
    "explain": ["--from", "jurity"],
}
LINES = (
    "sqlmetrics: warning recommendations_seen: 2 of 8 rows recommend an item that is in the user's "
    "history (a 1, b 1) (sqlmetrics check explains)\n"
    "sqlmetrics: warning interactions_seen: 1 of 2 rows is also in the history of the same user "
    "(sqlmetrics check explains)\n"
)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_warns(command: str) -> None:
    options = COMMANDS[command]
    result = run(command, *options)
    assert (result.exit_code, result.stderr) == (0, LINES)
    silent = run(command, *options, "--no-check")
    assert (silent.exit_code, silent.stderr) == (0, "")
    if command != "report":  # which says whether it has looked
        assert silent.stdout == result.stdout
    assert run(command, *options, "--check", "--trust-input").exit_code == 2


@pytest.mark.usefixtures("folder")
def test_results_that_go_to_a_file_are_warned_of_too() -> None:
    targets = {"evaluate": "out.csv", "per-user": "out.parquet", "compare": "out.parquet"}
    for command, target in targets.items():
        result = run(command, *COMMANDS[command], "-o", target, "--force")
        assert (result.exit_code, result.stderr, Path(target).exists()) == (0, LINES, True)


@pytest.mark.usefixtures("folder")
def test_a_record_does_not_depend_on_checks() -> None:
    records = []
    for option in ("--check", "--no-check"):
        assert run("evaluate", option, "--record", "record.json", "--force").exit_code == 0
        records.append(json.loads(Path("record.json").read_text()))
    assert all("check" not in {**record["given"], **record["asked"]} for record in records)
    assert run("evaluate", "--from-record", "record.json", "--check").exit_code == 0


# ---------------------------------------------------------------- accepted warnings


def test_an_accepted_warning_is_settled() -> None:
    with sm.Evaluator(**TABLES, accept="recommendations_seen") as settled:
        assert warned(lambda: settled.evaluate("ndcg@2")) == [TRUTH_SEEN]
        levels = settled.check("ndcg@2").set_index("check")["level"]
    assert levels["recommendations_seen"] == "accepted"
    assert levels.iloc[-1] == "accepted"
    assert "warning" in set(levels)


@pytest.mark.usefixtures("folder")
def test_accepted_on_the_command_line() -> None:
    both = ["--accept", "recommendations_seen,interactions_seen"]
    found = run("evaluate", *both, "--fail-on-warnings")
    assert (found.exit_code, found.stderr) == (0, "")
    shown = run("check", *both, "--strict", "--format", "table")
    assert shown.exit_code == 0
    assert "accepted: recommendations_seen\n" in shown.stdout
    assert "2 accepted" in shown.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recommendations_sen", "no check with warnings is called 'recommendations_sen'; did you"),
        ("interactions_duplicates", "it finds errors, which cannot be accepted"),
        (3, "accept must name checks"),
    ],
)
def test_what_cannot_be_accepted(name: Any, message: str) -> None:
    with pytest.raises(sm.UsageError, match=message):
        sm.Evaluator(**TABLES, accept=name)
