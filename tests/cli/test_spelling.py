"""Messages name arguments by symbols; Python and the command line spell them in their own ways."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
import shlex
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics import errors
from sqlmetrics.cli import spelling
from sqlmetrics.cli.commands import main as cli
from sqlmetrics.cli.spelling import on_command_line, spelled
from sqlmetrics.errors import suggestion
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import template_root
from sqlmetrics.report.analysis import Question
from sqlmetrics.tables.schema import COLUMNS
from sqlmetrics.texts.messages import (
    ARGUMENTS,
    COMMANDS,
    SEVERAL_MODELS,
    TABLES,
    Argument,
    Command,
    Message,
    Unfilled,
    filled,
    give,
    in_files,
    in_python,
    joined,
    map_column,
    sentences,
    set_to,
)

PACKAGE = Path(sm.__file__).parent
LISTS = pd.DataFrame({"user_id": [1, 2], "item_id": [11, 12], "score": [0.9, 0.8]})
TRUTH = pd.DataFrame({"user_id": [1, 2], "item_id": [11, 14]})
METHODS = [
    method
    for name, method in inspect.getmembers(sm.Evaluator, inspect.isfunction)
    if not name.startswith("_")
]


# ---------------------------------------------------------------- both spellings

SPELLED: list[tuple[Argument | Command, str, str, str]] = [
    (give("history"), "history=…", "--history FILE", "history=…"),
    (give("recommendations"), "recommendations=…", "-r FILE", "recommendations=…"),
    (SEVERAL_MODELS, "recommendations={'NAME': …}", "-r NAME=FILE", "NAME=…"),
    (Argument("policy", ..., "NAME"), "policy={'NAME': …}", "--policy {model}.csv", "NAME=…"),
    (set_to("ties", "item_desc"), "settings={'ties': 'item_desc'}", "--set ties=item_desc",
     "ties=item_desc"),
    (set_to("ties"), "settings={'ties': …}", "--set ties=VALUE", "ties=…"),
    (map_column("interactions", "relevance", "my rating"),
     "columns={'interactions.relevance': 'my rating'}",
     "--column interactions.relevance='my rating'", "interactions.relevance=my rating"),
    (Argument("where", ..., "items"), "where={'items': …}", "--where items=CONDITION", "items=…"),
    (Argument("baseline", "NAME"), "baseline='NAME'", "--baseline NAME", "baseline=NAME"),
    (Argument("threads", 8), "threads=8", "--threads 8", "threads=8"),
    (Argument("force", True), "force=True", "--force", "force=True"),
    (Argument("check", False), "check=False", "--no-check", "check=False"),
    (Argument("memory_limit"), "memory_limit", "--memory-limit", "memory_limit"),
    (Argument("k", 10), "k=10", "-k 10", "k=10"),
    (Argument("metrics"), "metrics", "METRICS", "metrics"),
    (Argument("history_table", "NAME"), "history=TableName('NAME', like=…)",
     "--history-table NAME", "history_table=NAME"),
    (Argument("connection", ...), "connection=…", "connection=… in Python", "connection=…"),
    (Command("check"), "Evaluator.check(…)", "sqlmetrics check", "check"),
    (Command("per_user"), "Evaluator.per_user(…)", "sqlmetrics per-user", "per_user"),
    (Command("write_per_user"), "Evaluator.write_parquet(folder, …, per_user=True)",
     "sqlmetrics per-user -o FOLDER", "write_per_user"),
]  # fmt: skip


def test_spellings() -> None:
    for named, *spellings in SPELLED:
        assert [in_python(named), on_command_line(named), in_files(named)] == spellings


def arguments_of_python() -> set[str]:
    """Names of all arguments of the evaluator and of its methods."""
    calls: list[Callable[..., Any]] = [sm.Evaluator, *METHODS, Question]
    return {name for call in calls for name in inspect.signature(call).parameters} - {"self"}


# options of the command line for which Python has something else
NO_ARGUMENT_IN_PYTHON = {"master", *(f"{table}_table" for table in TABLES)}


def test_every_argument_has_a_spelling_in_python() -> None:
    known = arguments_of_python()
    assert ARGUMENTS - known == NO_ARGUMENT_IN_PYTHON
    for name in NO_ARGUMENT_IN_PYTHON:
        assert not in_python(Argument(name, "x")).startswith(f"{name}="), name
    for name in COMMANDS:
        called = in_python(Command(name)).partition("(")[0]
        owner, _, method = called.partition(".")
        assert hasattr(sm if owner == "sqlmetrics" else sm.Evaluator, method), name


def test_every_argument_has_a_spelling_on_the_command_line() -> None:
    """Each is an option or argument of a command, or said to be of Python only."""
    for name in sorted(ARGUMENTS):
        text = on_command_line(Argument(name, ...))
        if name in spelling.ONLY_IN_PYTHON:
            assert text.endswith("in Python"), name
        else:
            assert any(text.split()[0] in names_of(one) for one in parameters()), name
    for name in COMMANDS:
        assert on_command_line(Command(name)).split()[1] in cli.commands


def test_messages_can_name_every_argument_of_an_evaluator() -> None:
    unnamed = set(inspect.signature(sm.Evaluator).parameters) - ARGUMENTS
    assert not unnamed, "ARGUMENTS of sqlmetrics/texts/messages.py"


def parameters() -> Iterator[click.Parameter]:
    for command in cli.commands.values():
        yield from command.params


def names_of(parameter: click.Parameter) -> list[str]:
    if isinstance(parameter, click.Argument):
        return [str(parameter.name).upper()]
    return [*parameter.opts, *parameter.secondary_opts]


def test_unknown_names_are_no_arguments() -> None:
    for name in ("trust_imput", "", "--force"):
        for kind in (Argument, Command):
            with pytest.raises(ValueError, match="cannot name"):
                kind(name)


def test_what_the_command_line_shows_can_be_typed() -> None:
    """A value with blanks and quotes is one word of the shell."""
    for value in ("a b", "it's", "$HOME", "x=y"):
        words = shlex.split(on_command_line(set_to("ties", value)))
        assert words == ["--set", f"ties={value}"]


# ---------------------------------------------------------------- messages


def test_equal_messages_are_equal_however_they_were_made() -> None:
    one = Message("a ", "b ", give("items"), Message(" c", give("users")))
    other = Message(Message("a b ", give("items"), " c"), give("users"), "")
    assert one == other
    assert hash(one) == hash(other)
    assert len({one: None, other: None}) == 1
    assert not Message("", Message())


def test_messages_are_joined() -> None:
    assert str(joined("; ", ["a", Message("b ", give("items")), 1])) == "a; b items=…; 1"
    assert str(sentences("is wrong", "", "remove it")) == "is wrong. Remove it"
    assert str(sentences("did you mean 'x'?", "it has y")) == "did you mean 'x'? It has y"
    assert str(sentences("wrong", Message(give("items"), " helps"))) == "wrong. items=… helps"


def test_placeholders() -> None:
    text = (
        "{n} rows; {set:ties=item_desc}, {column:interactions.relevance={name}}, "
        "{argument:trust_input=True}, {argument:k=10}, {argument:history}, {command:check}"
    )
    message = filled(text, {"n": "1,000", "name": "stars"})
    assert message.spelled(on_command_line) == (
        "1,000 rows; --set ties=item_desc, --column interactions.relevance=stars, --trust-input, "
        "-k 10, --history FILE, sqlmetrics check"
    )
    assert "{n} rows" in filled(text, Unfilled()).spelled(in_files)
    assert "columns={'interactions.relevance': '{name}'}" in str(filled(text, Unfilled()))


# a text about all rows, lists or users, or about a number that is no subject
NOT_COUNTED = {
    "interactions_all_relevant", "interactions_graded", "models_without_hits",
    "perfect_lists", "ranks_contradict_scores", "recommendations_shifted_ids",
    "users_zero_weights",
}  # fmt: skip


def test_texts_of_checks_are_right_for_one_and_for_several() -> None:
    one, several = (Unfilled(n=n) for n in ("1", "2"))
    same = {
        check.name
        for check in Catalog.load().checks.values()
        if "{n}" in check.found
        and str(filled(check.found, one)).replace("1", "2")
        == str(filled(check.found, several)).replace("1", "2")
    }
    assert same == NOT_COUNTED
    text = "{n} {n:row has|rows have} a NULL"
    assert str(filled(text, {"n": "1"})) == "1 row has a NULL"
    assert [str(filled(text, {"n": n})) for n in ("0", "1,001")] == [
        "0 rows have a NULL", "1,001 rows have a NULL",
    ]  # fmt: skip


def test_an_unknown_placeholder_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    path = tmp_path / "checks" / "mine.sql.j2"
    wrong = ["{give:history}", "{argument:trust_imput=True}", "{command:chek}", "{set:ties"]
    for remedy in [*wrong, "a } b"]:
        path.write_text(
            f'{{#---\nneeds = ["items"]\nremedy = "{remedy}"\n---#}}\nSELECT 1 AS n_found'
        )
        with pytest.raises(sm.TemplateError, match=r"mine\.sql\.j2: found and remedy"):
            Catalog.load([tmp_path])


def test_remedies_of_templates_name_settings_and_columns_that_there_are() -> None:
    catalog = Catalog.load()
    texts = [text for check in catalog.checks.values() for text in (check.found, check.remedy)]
    for path in template_root().rglob("*.j2"):
        texts += re.findall(r'remedy="(.*)"', path.read_text(encoding="utf-8"))
    named = [
        part for text in texts for part in filled(text, Unfilled()).parts
        if isinstance(part, Argument)
    ]  # fmt: skip
    assert len(named) > 20
    for part in named:
        if part.name == "settings":
            param = catalog.stage_params[part.entry]
            assert part.value is ... or param.parse(part.value, "") is not None, part
        elif part.name == "columns":
            table, _, column = part.entry.partition(".")
            assert column in COLUMNS[table][0] + COLUMNS[table][1], part


# ---------------------------------------------------------------- errors and warnings

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, errors.SqlmetricsError | errors.SqlmetricsWarning)
]


def test_one_message_makes_an_error() -> None:
    for kind in KINDS:
        error = kind("it is wrong")
        assert (str(error), error.args) == ("it is wrong", ("it is wrong",))
        assert (error.table, error.column, list(error.examples)) == ("", "", [])
        assert not error.remedy
        assert str(kind()) == ""


def test_errors_can_be_pickled_and_copied() -> None:
    row = {"user_id": 1, "item_id": None}
    for kind in KINDS:
        error = kind(
            "items: ", give("items"), " is wrong",
            table="items", column="price", examples=[row], remedy=set_to("ties"),
        )  # fmt: skip
        for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert (type(other), str(other)) == (kind, str(error))
            assert (other.table, other.column, other.examples) == ("items", "price", [row])
            assert other.found == error.found
            assert spelled(other) == (
                "items: --items FILE is wrong, for example\n    user_id  item_id\n"
                "    1        NULL\nWhat to do: --set ties=VALUE."
            )


def test_errors_take_over_the_arguments_of_others() -> None:
    error = errors.UsageError("metric: ", errors.DataError("no ", give("items"), remedy="add it"))
    assert str(error) == "metric: no items=…. Add it"
    assert spelled(error) == "metric: no --items FILE. Add it"
    longer = error.with_text("\nThis is so under mine.")
    assert spelled(longer).endswith("Add it\nThis is so under mine.")
    assert "mine" not in str(error)


def evaluator(**tables: Any) -> sm.Evaluator:
    given = {"recommendations": LISTS, "interactions": TRUTH, "check": False}
    return sm.Evaluator(**{**given, **tables})


def test_a_missing_table_has_fields() -> None:
    with pytest.raises(sm.MissingTableError) as caught:
        evaluator().evaluate("coverage@2")
    error = caught.value
    assert (error.table, error.column) == ("history", "")
    assert "history" in str(error.found)
    assert "history=…" not in str(error.found)
    assert "--" not in str(error)
    assert "--history FILE" in error.remedy.spelled(on_command_line)
    with pytest.raises(sm.MissingTableError) as caught:
        evaluator().evaluate("ndcg(gain=linear)@2")
    assert (caught.value.table, caught.value.column) == ("interactions", "relevance")


def test_rows_that_are_refused_are_examples() -> None:
    twice = pd.concat([LISTS, LISTS.head(1)])
    with pytest.raises(sm.DataError) as caught:
        evaluator(recommendations=twice).evaluate("ndcg@2")
    error = caught.value
    assert (error.table, error.column) == ("recommendations", "")
    assert error.examples == [{"user_id": 1, "item_id": 11, "n_copies": 2}]
    assert "settings={'duplicate_recommendations': …}" in str(error.remedy)
    with evaluator(recommendations=twice) as checked:
        (row,) = checked.check("ndcg@2").query("level == 'error'").to_dict("records")
    assert row["remedy"] == str(error.remedy)
    assert error.found == Message(f"recommendations: {row['found']}")


def test_a_setting_of_another_metric_is_named() -> None:
    """The undefined name is a field; its message can have any words."""
    with pytest.raises(sm.UsageError, match="depends on gain, a setting of") as caught:
        evaluator(interactions=TRUTH.assign(relevance=1)).stage("ideal_lists")
    cause = caught.value.__cause__
    assert isinstance(cause, errors.UndefinedNameError)
    assert cause.name == "gain"


# what is typed, and the same in Python
BOTH: dict[str, tuple[list[str], Callable[[sm.Evaluator], Any], str, str]] = {
    "a table": (
        ["coverage@2"],
        lambda ev: ev.evaluate("coverage@2"),
        "--history FILE",
        "history=…",
    ),
    "a column": (
        ["ndcg(gain=linear)@2"],
        lambda ev: ev.evaluate("ndcg(gain=linear)@2"),
        "--column interactions.relevance=COLUMN",
        "columns={'interactions.relevance': …}",
    ),
    "a convention": (
        ["mrr@2", "--convention", "jurity"],
        lambda _: evaluator(convention="jurity").evaluate("mrr@2"),
        "--fallback standard",
        "fallback='standard'",
    ),
    "cutoffs": (
        ["ndcg", "20", "-k", "10"],
        lambda ev: ev.evaluate(["ndcg", "20"], k=10),
        "several cutoffs as -k 5,20",
        "several cutoffs as k=[5, 20]",
    ),
    "a text of cutoffs": (
        ["ndcg", "-k", "5 10"],
        lambda ev: ev.evaluate("ndcg", k="5 10"),
        "not '5 10'. Give several cutoffs as -k 5,10",
        "not '5 10'. Give several cutoffs as k=[5, 10]",
    ),
    "metrics": (
        ["ndcg(gain=linear, ideal=all_k)@5,map"],
        lambda ev: ev.evaluate("ndcg(gain=linear, ideal=all_k)@5,map"),
        "several metrics as 'ndcg(gain=linear, ideal=all_k)@5' map",
        "several metrics as metrics=['ndcg(gain=linear, ideal=all_k)@5', 'map']",
    ),
    "an interval": (
        ["ndcg@2", "--run-ci"],
        lambda ev: ev.evaluate("ndcg@2", run_ci=True),
        "--ci bootstrap",
        "ci='bootstrap'",
    ),
    "a slice": (
        ["ndcg@2", "--by", "country"],
        lambda ev: ev.evaluate("ndcg@2", by="country"),
        "(--users FILE)",
        "(users=…)",
    ),
}


@pytest.fixture
def folder(here: Path) -> Path:
    LISTS.to_parquet("lists.parquet")
    TRUTH.to_parquet("truth.parquet")
    return here


GIVEN = ["-r", "lists.parquet", "-i", "truth.parquet"]


@pytest.mark.usefixtures("folder")
def test_each_side_shows_its_own_spelling() -> None:
    for case, (arguments, call, option, python) in BOTH.items():
        shown = CliRunner().invoke(cli, ["evaluate", *GIVEN, *arguments]).stderr
        with pytest.raises(sm.SqlmetricsError) as caught:
            call(evaluator())
        said = str(caught.value)
        assert option in shown, case
        assert python in said, case
        assert python not in shown, case
        assert option not in said, case


def test_a_dict_is_no_metrics() -> None:
    asked: Any = {"ndcg": 10, "map": [5, 20]}
    with pytest.raises(sm.UsageError, match=r"metrics=\['ndcg@10', 'map@5', 'map@20'\]$"):
        evaluator().evaluate(asked)


@pytest.mark.usefixtures("folder")
def test_each_side_shows_its_own_spelling_of_warnings() -> None:
    asked = ["ndcg@2", "surprisal@2"]
    for command in ("evaluate", "per-user", "sql"):
        shown = CliRunner().invoke(cli, [command, *GIVEN, *asked, "--skip-missing"]).stderr
        assert "(--history FILE): surprisal" in shown, command
    with pytest.warns(sm.SqlmetricsWarning, match=r"\(history=…\): surprisal"):
        evaluator().evaluate(asked, skip_missing=True)


@pytest.mark.usefixtures("folder")
def test_each_side_shows_its_own_spelling_of_findings() -> None:
    pd.concat([LISTS, LISTS.head(1)]).to_parquet("lists.parquet")
    shown = CliRunner().invoke(cli, ["check", *GIVEN, "ndcg@2", "--format", "csv"]).stdout
    assert "--set duplicate_recommendations=VALUE" in shown
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = evaluator(recommendations="lists.parquet").check("ndcg@2")
    assert frame["remedy"].str.contains("settings={'duplicate_recommendations': …}").any()
    assert not frame["remedy"].str.contains("--").any()


# ---------------------------------------------------------------- no options below cli/

_OPTION = re.compile(r"--[a-z]|(?<![\w-])-[a-z] ")
# text of files that were made by a command, and the options of other programs
ALLOWED = {
    ("export/dbt_package.py", "--force"): "the README of a package, which a command has made",
    ("export/dbt_package.py", "--profile"): "an option of dbt",
    ("plan/planner.py", "--stages"): "in a whole command, as in `sqlmetrics list`",
    ("report/page.py", "--upgrade"): "an option of pip",
    ("tables/csv_layout.py", "-s"): "an option of tr",
    **{
        (module, option): "an option of iconv"
        for module in ("engines/duckdb_errors.py", "tables/formats.py")
        for option in ("-f", "-t")
    },
}


def literals(path: Path) -> Iterator[str]:
    """Texts in a module, without its docstrings; x stands for the values in f-strings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and id(node) not in docstrings:
            yield text
        if isinstance(node, ast.JoinedStr):  # such as f"--{name}"
            yield "".join(getattr(part, "value", "") if isinstance(part, ast.Constant) else "x"
                          for part in node.values)  # fmt: skip


def test_no_module_below_the_command_line_names_an_option() -> None:
    found: set[tuple[str, str]] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("cli/"):
            found |= {
                (name, re.match(r"--?[a-z]*", text[match.start():])[0])  # type: ignore[index]
                for text in literals(path)
                for match in _OPTION.finditer(text)
            }  # fmt: skip
    assert found == set(ALLOWED)


def test_no_template_names_an_option() -> None:
    for path in sorted(template_root().rglob("*")):
        if path.suffix in (".j2", ".toml", ".sql"):
            text = path.read_text(encoding="utf-8")
            without_comments = re.sub(r"(?m)^\s*-- .*$", "", text)
            assert not re.search(r"--[a-z]|(?<![\w-])-[a-z] ", without_comments), path


@pytest.mark.parametrize(
    ("name", "known", "first"),
    [
        ("recs", ["aspects", "interactions", "recommendations"], "recommendations"),
        ("--recs", ["--record", "--trust-record", "--recommendations"], "--recommendations"),
        ("rows", ["row_reversed", "row"], "row"),
        ("ndgc", ["dcg", "ndcg"], "ndcg"),
        ("history", ["hist"], "hist"),
    ],
)
def test_suggestions_begin_with_slips_and_then_long_forms(
    name: str, known: list[str], first: str
) -> None:
    assert suggestion(name, known).startswith(f"; did you mean {first!r}")
