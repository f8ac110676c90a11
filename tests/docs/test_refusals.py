"""Bad input of every kind, as typed, and its messages, which refusals.md beside this file has.

These tests write that file: `pytest tests/docs/test_refusals.py --renew`. A message is right if it
names what is wrong; the words that it must have stand beside each case.
"""

import contextlib
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sqlmetrics.cli.commands import main as cli

PAGE = Path(__file__).with_name("refusals.md")

# file -> its lines; lists and truth of two users are good, and each other file is bad in one way
FILES = {
    "lists.csv": "user_id,item_id,score\n1,11,0.9\n1,12,0.8\n2,12,0.7\n2,13,0.6",
    "truth.csv": "user_id,item_id\n1,11\n2,14",
    "history.csv": "user_id,item_id\n1,14\n2,11\n3,12\n3,13",
    "graded.csv": "user_id,item_id,relevance\n1,11,3\n2,14,1",
    "misspelt.csv": "user_id,itemid,score\n1,11,0.9",
    "no_order.csv": "user_id,item_id\n1,11\n2,12",
    "no_rows.csv": "user_id,item_id,score",
    "repeated.csv": "user_id,item_id,score\n1,11,0.9\n1,11,0.8\n2,12,0.7",
    "null_item.csv": "user_id,item_id,score\n1,11,0.9\n1,,0.8\n2,12,0.7",
    "nan_score.csv": "user_id,item_id,score\n1,11,0.9\n1,12,nan\n2,12,0.7",
    "infinite.csv": "user_id,item_id,score\n1,11,0.9\n1,12,-inf\n2,12,0.7",
    "text_score.csv": "user_id,item_id,score\n1,11,high\n1,12,low\n2,12,low",
    "from_zero.csv": "user_id,item_id,rank\n1,11,0\n1,12,1\n2,12,0",
    "gaps.csv": "user_id,item_id,rank\n1,11,1\n1,12,3\n2,12,1",
    "shared_rank.csv": "user_id,item_id,rank\n1,11,1\n1,12,1\n2,12,1",
    "half_rank.csv": "user_id,item_id,rank\n1,11,1\n1,12,1.5\n2,12,1",
    "texts.csv": "user_id,item_id,score\nu1,11,0.9\nu2,12,0.8",
    "strangers.csv": "user_id,item_id,score\n8,11,0.9\n9,12,0.8",
    "names.csv": "user_id,item_id,score\n1,a,0.9\n2,b,0.8",
    "blanks.csv": "user_id,item_id\n1, a\n2, c",
    "unmapped.csv": "user_id,item_id,stars\n1,11,3\n2,14,1",
    "repeated_truth.csv": "user_id,item_id\n1,11\n1,11\n2,14",
    "null_truth.csv": "user_id,item_id\n1,11\n,14",
    "nan_relevance.csv": "user_id,item_id,relevance\n1,11,nan\n2,14,1",
    "no_rows_truth.csv": "user_id,item_id",
    "no_price.csv": "item_id,price\n11,5\n12,3",
    "negative_price.csv": "item_id,price\n11,5\n12,-3\n13,1\n14,1",
    "item_twice.csv": "item_id,price\n11,5\n11,6\n12,3\n13,1\n14,1",
    "propensities.csv": "user_id,item_id,reward,propensity\n1,11,1,0\n2,12,0,0.5",
    "rewards.csv": "user_id,item_id,reward\n1,11,1\n2,12,",
    "logged_twice.csv": "user_id,item_id,reward\n1,11,1\n1,11,0\n2,12,1",
    "two_countries.csv": "user_id,country\n1,A\n1,B\n2,B",
    "broken.csv": "user_id,item_id,score\n1,11,0.9\n1,12,0.8\n2",
    "qrels.trec": "q1 0 d1 1",
    "broken.jsonl": '{"user_id": 1, "item_id": 11, "score": 0.9}\n{"user_id": 1,',
    "broken.parquet": "PAR1 this is no Parquet",
    "run.trec": "q1 Q0 d1 1 0.9 x\nq1 Q0 d2",
    "empty.csv": "",
    "open_quote.csv": 'user_id,item_id,score\n1,"i1,0.9\n1,i2,0.8',
    "chunks/a.csv": "user_id,item_id,score,note\n1,11,0.9,x",
    "chunks/b.csv": "user_id,item_id,score\n2,12,0.7",
    "lake/_delta_log/00000000000000000000.json": '{"commitInfo": {}}',
    "lake/part-1.parquet": "PAR1 and the rows",
    "lists.xlsx": "not a format that is read",
    "broken.toml": "title = ",
    "unknown.toml": '[settings]\nties = "alphabetical"',
    "templates/late.sql.j2": "SELECT 1",
    "untitled/late.sql.j2": '{#---\ngrain = "users"\n---#}\nSELECT 1',
    "wrong/late.sql.j2": "{#---\n---#}\nSELECT {{ keys }}, k, 1 AS value FROM hit GROUP BY 1",
    "open/late.sql.j2": "{#---\n---#}\nSELECT {{ keys }, k FROM hits",
}

GOOD = "-r lists.csv -i truth.csv"
# what is bad -> the command that is typed, and words that its answer must have
TABLES = {
    "a file that is not there": ("-r list.csv -i truth.csv ndcg@2", "no file list.csv"),
    "a glob without files": ("-r parts/*.parquet -i truth.csv ndcg@2", "parts/*.parquet"),
    "a folder of a Delta table": ("-r lake -i truth.csv ndcg@2", "lake has _delta_log/"),
    "a folder whose files have different columns": (
        "-r chunks -i truth.csv ndcg@2",
        "chunks/b.csv",
    ),
    "a file of another kind": ("-r lists.xlsx -i truth.csv ndcg@2", "lists.xlsx"),
    "a file without anything": ("-r empty.csv -i truth.csv ndcg@2", "empty.csv"),
    "Parquet that is none": ("-r broken.parquet -i truth.csv ndcg@2", "broken.parquet"),
    "CSV with a quote that is not closed": (
        "-r open_quote.csv -i truth.csv ndcg@2",
        "an unclosed quote in or after line 2",
    ),
    "CSV with a torn line": ("-r broken.csv -i truth.csv ndcg@2", "broken.csv"),
    "JSON lines with a torn line": ("-r broken.jsonl -i truth.csv ndcg@2", "broken.jsonl"),
    "a TREC run with a torn line": ("-r run.trec -i qrels.trec ndcg@2", "run.trec"),
    "no lists at all": ("-i truth.csv ndcg@2", "-r FILE"),
    "no truth": ("-r lists.csv ndcg@2", "-i FILE"),
    "a misspelt column": ("-r misspelt.csv -i truth.csv ndcg@2", "did you mean 'itemid'"),
    "neither rank nor score": ("-r no_order.csv -i truth.csv ndcg@2", "neither"),
    "a mapped column that is not there": (
        f"{GOOD} ndcg@2 --column recommendations.score=points",
        "points",
    ),
    "lists without rows": ("-r no_rows.csv -i truth.csv ndcg@2", "no_rows.csv is empty"),
    "a truth without rows": (
        "-r lists.csv -i no_rows_truth.csv ndcg@2",
        "no_rows_truth.csv is empty",
    ),
    "an item twice in a list": ("-r repeated.csv -i truth.csv ndcg@2", "1 of 3 rows repeats"),
    "an item twice in the truth": (
        "-r lists.csv -i repeated_truth.csv ndcg@2",
        "1 of 3 rows repeats",
    ),
    "an item that is NULL": ("-r null_item.csv -i truth.csv ndcg@2", "NULL"),
    "a user that is NULL": ("-r lists.csv -i null_truth.csv ndcg@2", "NULL"),
    "a score that is NaN": ("-r nan_score.csv -i truth.csv ndcg@2", "NaN"),
    "a score that is minus infinity": ("-r infinite.csv -i truth.csv ndcg@2", "masked_scores"),
    "scores that are text": ("-r text_score.csv -i truth.csv ndcg@2", "VARCHAR"),
    "ranks from 0": ("-r from_zero.csv -i truth.csv ndcg@2", "rank_gaps=close"),
    "ranks with gaps": ("-r gaps.csv -i truth.csv ndcg@2", "rank_gaps=close"),
    "one rank for two items": (
        "-r shared_rank.csv -i truth.csv ndcg@2",
        "the same rank for several",
    ),
    "a rank between two": ("-r half_rank.csv -i truth.csv ndcg@2", "rank"),
    "ids of two types": ("-r texts.csv -i truth.csv ndcg@2", "have different types"),
    "no user in common": ("-r strangers.csv -i truth.csv ndcg@2", "no user in common"),
    "no item in common": ("-r names.csv -i blanks.csv ndcg@2", "none of the recommended items"),
    "stars that are not mapped": (
        "-r lists.csv -i unmapped.csv 'ndcg(gain=linear)@2'",
        "needs the column relevance",
    ),
    "a relevance that is NaN": ("-r lists.csv -i nan_relevance.csv ndcg@2", "relevance"),
    "a relevance above the highest grade": (
        "-r lists.csv -i graded.csv err(max_grade=2)@2",
        "max_grade",
    ),
    "a metric that needs a table": (f"{GOOD} coverage@2", "--history FILE"),
    "a metric that needs a column": (f"{GOOD} kendall_tau", "relevance"),
    "an item without a price": (f"{GOOD} --items no_price.csv money_recall@2", "no price"),
    "a negative price": (f"{GOOD} --items negative_price.csv money_recall@2", "price"),
    "an item with two prices": (
        f"{GOOD} --items item_twice.csv money_recall@2",
        "more than one row",
    ),
    "a propensity of 0": (f"{GOOD} --logs propensities.csv ips@2", "propensit"),
    "a reward that is missing": (f"{GOOD} --logs rewards.csv ctr@2", "reward"),
    "a decision that is logged twice": (f"{GOOD} --logs logged_twice.csv ctr@2", "logs"),
    "a user with two countries": (
        f"{GOOD} --users two_countries.csv --by country ndcg@2",
        "several values",
    ),
    "the same model twice": ("-r a=lists.csv -r a=lists.csv -i truth.csv ndcg@2", "twice"),
    "a model without a name": ("-r a=lists.csv -r lists.csv -i truth.csv ndcg@2", "NAME=FILE"),
    "a model without rows": ("-r a=lists.csv -r b=no_rows.csv -i truth.csv ndcg@2", "of b"),
}
REQUESTS = {
    "a command that is not there": ("evalute", "did you mean 'evaluate'"),
    "an option that is not there": (f"evaluate {GOOD} ndcg@2 --cutoff 5", "--cutoff"),
    "an unknown metric": (f"evaluate {GOOD} ndgc@2", "did you mean 'ndcg'"),
    "an unknown parameter": (f"evaluate {GOOD} ndcg(gains=linear)@2", "did you mean 'gain'"),
    "an unknown value": (f"evaluate {GOOD} ndcg(gain=quadratic)@2", "binary, linear"),
    "a number out of range": (f"evaluate {GOOD} f_beta(beta=-1)@2", "beta"),
    "a spec that is torn": (f"evaluate {GOOD} 'ndcg(gain=linear'", "ndcg(gain=linear"),
    "a cutoff of 0": (f"evaluate {GOOD} ndcg@0", "not '0'"),
    "a cutoff that is no number": (f"evaluate {GOOD} ndcg -k ten", "ten"),
    "a reported number that is none": (f"identify {GOOD} map@2=abc", "'abc' is not a number"),
    "a reported number with a comma": (f"identify {GOOD} map@2=0,5", "with a point: 0.5"),
    "a metric without its number": (f"identify {GOOD} map@2=", "no number after ="),
    "cutoffs backwards": (f"evaluate {GOOD} ndcg -k 10:5", "10:5"),
    "an unknown setting": (f"evaluate {GOOD} ndcg@2 --set tie=row", "did you mean 'ties'"),
    "an unknown value of a setting": (
        f"evaluate {GOOD} ndcg@2 --set ties=alphabetical",
        "item_asc",
    ),
    "a setting without a value": (f"evaluate {GOOD} ndcg@2 --set ties", "NAME=VALUE"),
    "a setting twice": (
        f"evaluate {GOOD} ndcg@2 --set ties=row --set ties=item_desc",
        "twice",
    ),
    "an unknown convention": (f"evaluate {GOOD} ndcg@2 --convention replai", "replay"),
    "a convention that is no TOML": (
        f"evaluate {GOOD} ndcg@2 --convention broken.toml",
        "broken.toml",
    ),
    "a convention with an unknown value": (
        f"evaluate {GOOD} ndcg@2 --convention unknown.toml",
        "alphabetical",
    ),
    "a metric that a convention lacks": (
        f"evaluate {GOOD} roc_auc --convention jurity",
        "--fallback standard",
    ),
    "an unknown slice": (f"evaluate {GOOD} ndcg@2 --by county", "county"),
    "a confidence of 2": (f"evaluate {GOOD} ndcg@2 --confidence 2", "confidence"),
    "no resamples": (f"evaluate {GOOD} ndcg@2 --ci bootstrap --resamples 0", "resamples"),
    "a comparison of one model": (f"compare {GOOD} ndcg@2", "several"),
    "a gate that cannot be read": (
        "compare -r a=lists.csv -r b=lists.csv -i truth.csv ndcg@2 --baseline a --fail-if worse",
        "worse",
    ),
    "a baseline that is no model": (
        "compare -r a=lists.csv -r b=lists.csv -i truth.csv ndcg@2 --baseline c",
        "no model 'c'",
    ),
    "a condition on a column that is not there": (
        f"evaluate {GOOD} ndcg@2 --where 'recommendations=points > 0'",
        "points",
    ),
    "a condition with a query in it": (
        f"evaluate {GOOD} ndcg@2 --where 'recommendations=score > (SELECT 1)'",
        "recommendations",
    ),
    "a condition that no row satisfies": (
        f"evaluate {GOOD} ndcg@2 --where 'recommendations=score > 5'",
        "score > 5",
    ),
    "seen items without a history": (f"evaluate {GOOD} ndcg@2 --set drop_seen=true", "history"),
    "a folder of templates that is not there": (
        f"evaluate {GOOD} ndcg@2 --templates mine",
        "mine does not exist",
    ),
    "a template without front matter": (
        f"evaluate {GOOD} late@2 --templates templates",
        "front matter",
    ),
    "front matter with an unknown value": (
        f"evaluate {GOOD} late@2 --templates untitled",
        "grain must be 'user', 'round' or 'run'",
    ),
    "a template of an unknown stage": (f"evaluate {GOOD} late@2 --templates wrong", "hit"),
    "a template that is torn": (f"evaluate {GOOD} late@2 --templates open", "late.sql.j2"),
    "a file that is there": (f"evaluate {GOOD} ndcg@2 -o history.csv", "--force"),
    "a file that rows are read from": (
        f"evaluate {GOOD} ndcg@2 -o truth.csv --force",
        "give another output file",
    ),
    "a folder that is not there": (f"evaluate {GOOD} ndcg@2 -o results/ndcg.csv", "results"),
    "a file of no known format": (f"evaluate {GOOD} ndcg@2 -o ndcg.xyz", "--format"),
    "a memory limit that is no size": (f"evaluate {GOOD} ndcg@2 --memory-limit lots", "lots"),
    "a dialect that is not there": (f"sql {GOOD} ndcg@2 --dialect oracle", "oracle"),
    "stdin for two tables": ("evaluate -r - -i - ndcg@2", "stdin"),
    "a metric that is not there": ("describe ndgc", "did you mean 'ndcg'"),
}
CASES = {
    **{what: (f"evaluate {command}", words) for what, (command, words) in TABLES.items()},
    **REQUESTS,
}


@contextlib.contextmanager
def typed_in(folder: Path) -> Iterator[CliRunner]:
    with contextlib.chdir(folder):
        yield CliRunner()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """Type every command in a folder with the files: what is bad -> exit code, stdout, stderr."""
    folder = tmp_path_factory.mktemp("refusals")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n" if text else "")
    answers = {}
    with typed_in(folder) as runner:
        for what, (command, _) in CASES.items():
            result = runner.invoke(cli, shlex.split(command))
            assert result.exception is None or isinstance(result.exception, SystemExit), (
                command,
                result.exception,
            )
            answers[what] = (result.exit_code, result.stdout, result.stderr)
    assert {path.name for path in folder.iterdir()} == {Path(name).parts[0] for name in FILES}
    return answers


def test_every_answer_says_what_is_wrong(answers: dict[str, tuple[int, str, str]]) -> None:
    for what, (command, words) in CASES.items():
        code, out, message = answers[what]
        assert out == "", what
        assert words in message, (what, message)
        assert code in (1, 2), what
        assert "Traceback" not in message, command
        assert "What to do" in message or len(message.splitlines()) <= 12, what


def test_data_is_one_and_the_request_another(answers: dict[str, tuple[int, str, str]]) -> None:
    of_data = {what for what in CASES if answers[what][0] == 1}
    of_requests = {what for what in CASES if answers[what][0] == 2}
    # said of tables, but about what was asked for; and the other way round
    assert of_requests & set(TABLES) == {
        "no lists at all",
        "no truth",
        "a metric that needs a table",
        "a metric that needs a column",
        "stars that are not mapped",
        "the same model twice",
        "a model without a name",
    }
    assert of_data & set(REQUESTS) == {
        "a file that is there",
        "a folder that is not there",
        "a condition that no row satisfies",
    }


HEAD = """# Rejected input

This page shows one command for every kind of invalid input, and the message that the command
prints to standard error. Exit code 1 reports a problem with the data, exit code 2 a mistake in the
command. The commands print nothing else and leave no file behind.
"""


def lines_of(message: str) -> list[str]:
    """Return a message without click's hints on usage."""
    lines = [line.rstrip() for line in message.splitlines()]
    return [line for line in lines if line and not line.startswith(("Usage: ", "Try "))]


def page(answers: dict[str, tuple[int, str, str]]) -> str:
    """Lay out all answers, with the files that the commands read."""
    parts = [HEAD]
    for what, (command, _) in CASES.items():
        if what in (next(iter(TABLES)), next(iter(REQUESTS))):
            parts.append(f"\n## {'Tables' if what in TABLES else 'Requests'}\n")
        code, _, message = answers[what]
        typed = shlex.split(command)
        files = [
            name for name in typed if FILES.get(name) and name not in ("lists.csv", "truth.csv")
        ]
        shown = "".join(f"`{name}`:\n\n```text\n{FILES[name]}\n```\n\n" for name in files)
        said = "\n".join(lines_of(message))
        parts.append(
            f"\n### {what[0].upper()}{what[1:]}\n\n{shown}"
            f"```console\n$ sqlmetrics {shlex.join(typed)}\n{said}\n$ echo $?\n{code}\n```\n"
        )
    return "".join(parts)


def test_the_page_is_what_was_answered(
    answers: dict[str, tuple[int, str, str]], request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--renew"):
        PAGE.write_text(page(answers), encoding="utf-8")
    is_current = PAGE.read_text(encoding="utf-8") == page(answers)
    assert is_current, "pytest tests/docs/test_refusals.py --renew writes tests/docs/refusals.md"


def test_the_good_files_are_good(tmp_path: Path) -> None:
    for name in ("lists.csv", "truth.csv"):
        (tmp_path / name).write_text(FILES[name] + "\n")
    with typed_in(tmp_path) as runner:
        result = runner.invoke(cli, shlex.split(f"evaluate {GOOD} recall@2 --format json"))
    (row,) = json.loads(result.stdout)
    expected: dict[str, Any] = {"metric": "recall", "k": 2, "value": 0.5, "n_users": 2}
    assert {name: row[name] for name in expected} == expected
