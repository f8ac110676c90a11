"""The macros of the DuckDB shell give what the evaluator gives, over tables that they are named."""

from __future__ import annotations

import functools
import random
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from sqlmetrics.export.duckdb_macros import Macros
from sqlmetrics.export.duckdb_macros import script as script_of
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import template_root
from tests.support.calls import no_propensities_expected
from tests.support.command_line import run
from tests.support.evaluators import Evaluator
from tests.support.frames import same
from tests.support.paths import ROOT
from tests.support.processes import PATIENCE
from tests.support.worlds import OF_LISTS

script = functools.partial(script_of, sm.Evaluator)
CATALOG = Catalog.load()
READERS = (template_root() / "duckdb_macros" / "readers.sql").read_text()
# every metric, and the aliases with settings of their own
NAMES = [
    name
    for metric in OF_LISTS.values()
    if metric.name != "item_age"  # reads the times of lists
    for name in (metric.name, *(alias for alias, fixed in metric.aliases.items() if fixed))
]
pytestmark = pytest.mark.filterwarnings("ignore::sqlmetrics.errors.SqlmetricsWarning")


@functools.cache
def standard() -> str:
    return script()


# ---------------------------------------------------------------- a small world


def world(copies: bool = False) -> dict[str, pd.DataFrame]:
    """Make tables with ties, short lists, missing users on either side and two models.

    The ranks are no order of scores or ids. `copies`: some items twice, in lists and interactions.
    """
    draw = random.Random(7)
    users, items = [f"user {number}" for number in range(18)], range(30)
    lists, truth, baseline, logs = [], [], [], []
    for model in ("als", "popular"):
        for user in users[:14]:
            chosen = draw.sample(items, draw.choice([1, 2, 7, 12]))
            chosen += chosen[:2] if copies and len(chosen) > 2 else []
            for rank, item in enumerate(chosen, start=1):
                lists.append((model, user, item, draw.choice([0.5, 1.25, 2, 2]), rank))
    for user in users[3:]:
        chosen = draw.sample(items, draw.choice([1, 3, 16]))
        chosen += chosen[:1] if copies else []
        truth += [(user, item, draw.choice([0, 1, 1, 2, 3])) for item in chosen]
        baseline += [(user, item, draw.choice([1, 2, 3])) for item in draw.sample(items, 6)]
        logs += [
            (user, item, draw.choice([0, 1]), draw.choice([0.1, 0.4]))
            for item in draw.sample(items, 12)
        ]
    vectors = [[draw.choice([-1.0, 0.0, 0.5, 2.0]) for _ in range(18)] for _ in items]
    frames = {
        "recommendations": (["model", "user_id", "item_id", "score", "rank"], lists),
        "interactions": (["user_id", "item_id", "relevance"], truth),
        "history": (
            ["user_id", "item_id"],
            [(draw.choice(users[:9]), draw.choice(items[:25])) for _ in range(90)],
        ),
        "items": (
            ["item_id", "price", "category", "item_group", "group_target", "features"],
            [
                (i, float(draw.randint(1, 9)), draw.choice("xyz"), "pq"[i % 2], 0.5, vectors[i])
                for i in items
            ],
        ),
        "aspects": (
            ["item_id", "aspect"],
            [(item, aspect) for item in items for aspect in draw.sample("pqrs", 2)],
        ),
        "baseline": (["user_id", "item_id", "score"], baseline),
        "logs": (["user_id", "item_id", "reward", "propensity"], logs),
    }
    return {name: pd.DataFrame(rows, columns=names) for name, (names, rows) in frames.items()}


def ordered_by_score(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {**tables, "recommendations": tables["recommendations"].drop(columns="rank")}


def as_few_columns_as_possible(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Leave out every optional column, and all but one model; aspects are those of users."""
    lists, truth, logs = (tables[name] for name in ("recommendations", "interactions", "logs"))
    truth = truth[truth["relevance"] > 0]
    aspects = truth.merge(tables["aspects"], on="item_id").drop(columns="relevance")
    return {
        **tables,
        "recommendations": lists[lists["model"] == "als"].drop(columns=["model", "score"]),
        "interactions": truth.drop(columns="relevance"),
        "aspects": aspects[aspects.index % 3 > 0],
        "logs": logs.drop(columns="propensity"),
    }


WORLDS = {
    "score": ordered_by_score,
    "rank and score": dict,
    "few columns": as_few_columns_as_possible,
}


def name_in(table: str) -> str:
    """Name a table as no query would: with a space and a capital."""
    return f"My {table}"


def add(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pd.DataFrame]) -> None:
    """Add tables, or replace them; every other is a view."""
    for number, (table, frame) in enumerate(tables.items()):
        connection.register(f"frame_{number}", frame)
        copy = f'"{name_in(table)}" AS FROM frame_{number}'
        kind = "VIEW" if number % 2 else "TABLE"
        connection.execute(f"CREATE OR REPLACE {kind} {copy}")


def connect(text: str, tables: Mapping[str, pd.DataFrame]) -> duckdb.DuckDBPyConnection:
    """Open a database with the macros, made in one go, and the tables."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(text)
    add(connection, tables)
    return connection


@pytest.fixture(scope="module")
def shell() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the default macros, and two lists, one without hits: nDCG at 1 is 1/2."""
    with connect(standard(), {}) as connection:
        connection.execute("CREATE TABLE recs AS FROM (VALUES (1, 7, 1), (1, 8, 2), (2, 8, 1)) "
                           "AS lists (user_id, item_id, rank)")  # fmt: skip
        connection.execute("CREATE TABLE truth AS FROM (VALUES (1, 7), (2, 9)) "
                           "AS truth (user_id, item_id)")  # fmt: skip
        yield connection


def parameters(connection: duckdb.DuckDBPyConnection, macro: str) -> list[str]:
    """Return the parameters of a macro that takes a cutoff."""
    of_macro = "SELECT parameters FROM duckdb_functions() WHERE function_name = ?"
    found = connection.execute(of_macro, [f"sm_{macro}"]).fetchall()
    return max((names for (names,) in found), key=len)


def called(
    connection: duckdb.DuckDBPyConnection, macro: str, k: int | None = None, select: str = ""
) -> pd.DataFrame:
    """Call a macro with all the tables that it takes."""
    tables = ", ".join(f"'{name_in(table)}'" for table in parameters(connection, macro)[:-1])
    at = "" if k is None else f", k := {k}"
    return connection.sql(f"{select} FROM sm_{macro}({tables}{at})").df()


def assert_same(found: pd.DataFrame, expected: pd.DataFrame, where: str) -> None:
    """Compare the columns of a result that a macro returns, row by row."""
    if "model" not in expected:
        expected = expected.assign(model="recommendations")
    keys = [name for name in ("model", "user_id", "metric", "k") if name in found]
    same(found, expected[found.columns], *keys, where=where)


# ---------------------------------------------------------------- the same numbers


def test_macros_of_all_metrics_give_what_the_evaluator_gives() -> None:
    """In several macros of several metrics: one for all takes longer to print, and so do many."""
    tables = ordered_by_score(world())
    # scores that are probabilities, of interactions that are relevant or not
    lists, truth = tables["recommendations"], tables["interactions"]
    likely = {
        **tables,
        "recommendations": lists.assign(score=lists["score"] / 2.5),
        "interactions": truth.assign(relevance=truth["relevance"].clip(upper=1)),
    }
    macros = Macros(sm.Evaluator, cutoffs=[7919])
    ratings = [n for n in NAMES if CATALOG.metric(n)[0].family == "ratings" and n != "pr_auc"]
    others = [name for name in NAMES if name not in ratings]
    with connect(READERS, {}) as connection:
        for given, names in ((likely, ratings), (tables, others)):
            add(connection, given)
            with Evaluator(**given) as evaluator:
                for start in range(0, len(names), 24):
                    some = names[start : start + 24]
                    requests = {name: macros.request(name) for name in some}
                    connection.execute(macros.macro("evaluate", requests))
                    expected = evaluator.evaluate(some, k=10)
                    assert_same(called(connection, "evaluate", 10), expected, "evaluate")


# ranks that are no order of scores; single macros, at a cutoff and over whole lists: by rank, by
# score even where lists have ranks, of the whole run, with a baseline, an alias, over all tables
SINGLE = ["ndcg", "auc", "coverage", "unexpectedness", "snips", "alpha_ndcg", "calibration"]


@functools.cache
def single() -> str:
    return script([*SINGLE, "rmse"], cutoffs=[7919])


def test_macros_of_single_metrics_give_what_the_evaluator_gives() -> None:
    tables = world()
    tables["items"]["category"] = [[one] for one in tables["items"]["category"]]
    with connect(single(), tables) as connection, Evaluator(**tables) as evaluator:
        for k in (60, None):
            expected = evaluator.evaluate(SINGLE, k=k)
            labels = expected["metric"].drop_duplicates()
            for label, metric in zip(labels, SINGLE, strict=True):
                rows = expected[expected["metric"] == label]
                found = called(connection, metric, k)
                assert list(found.columns) == ["model", *(c for c in rows if c != "model")]
                assert_same(found, rows, metric)
        # metrics of scores read them, whatever the ranks
        add(connection, {"recommendations": ordered_by_score(tables)["recommendations"]})
        rmse = called(connection, "rmse", 5)
        add(connection, tables)
        assert_same(called(connection, "rmse", 5), rmse, "rmse")
    assert "-- sm_evaluate omits rmse, which order lists by score" in single()


def test_tables_may_lack_optional_columns() -> None:
    """Without relevance, gains of 1; aspects of users; one model; no propensities."""
    tables = as_few_columns_as_possible(world())
    logs = list(tables["logs"].itertuples(index=False))
    with connect(single(), tables) as connection:
        with Evaluator(**tables) as evaluator, no_propensities_expected(logs):
            metrics = ["ndcg", "alpha_ndcg", "snips"]
            expected = evaluator.evaluate(metrics, k=3)
        for label, metric in zip(expected["metric"], metrics, strict=True):
            assert_same(called(connection, metric, 3), expected[expected["metric"] == label], label)
        with pytest.raises(duckdb.Error, match='"relevance" not found'):
            called(connection, "auc", 3)
        with pytest.raises(duckdb.Error, match='"score" not found'):
            called(connection, "rmse", 3)


def test_the_default_macros_are_those_of_the_default_set(shell: duckdb.DuckDBPyConnection) -> None:
    made = re.findall(r"^CREATE OR REPLACE MACRO sm_(\w+)$", standard(), re.MULTILINE)
    assert made == ["evaluate", "per_user", *CATALOG.default_set()]
    tables = {name: world()[name] for name in ("recommendations", "interactions")}
    add(shell, tables)
    with Evaluator(**tables) as evaluator:
        assert_same(called(shell, "evaluate"), evaluator.evaluate(k=10), "the default cutoff")
        assert_same(called(shell, "evaluate", 2), evaluator.evaluate(k=2), "evaluate")
        users = evaluator.per_user(k=2, long=True)
    found = called(shell, "per_user", 2)
    assert list(found.columns) == list(users.columns)
    assert_same(found, users, "per_user")


def test_a_macro_is_the_printed_statement() -> None:
    columns = {"recommendations.model": "model", "recommendations.score": "ordered_by",
               "interactions.relevance": "relevance"}  # fmt: skip
    tables = (sm.TableName("sm_recommendations"), sm.TableName("sm_interactions"))
    printed = sm.Evaluator(*tables, columns=columns).sql("recall", 4321)
    _, _, macro = standard().partition("MACRO sm_recall\n")
    text = macro.partition(";\n")[0].rpartition("interactions, k) AS TABLE (\n")[2]
    queries = (
        "sm_recommendations AS (\n    FROM sm_read_lists(recommendations)\n), "
        "sm_interactions AS (\n    FROM sm_read_interactions(interactions)\n), "
    )
    expected = printed.replace("WITH ", f"WITH {queries}", 1).replace("4321 AS", "sm_cutoff(k) AS")
    assert text == expected.replace("4321", "k").removesuffix(";\n") + "\n)"


# with other stages and settings: ideals of k items, sums over all positions, lists that lose copies
# after they are cut, equal scores in the order of rows
@pytest.mark.parametrize("convention", ["course", "elliot", "replay-0.12", "trec_eval", "ranx"])
def test_macros_follow_their_convention(convention: str) -> None:
    """Lists have ranks, which order them under any convention."""
    tables = world(copies=convention == "replay-0.12")
    macros = Macros(sm.Evaluator, convention, cutoffs=[7919])
    requests = {name: macros.request(name) for name in ("map", "ndcg", "precision", "recall")}
    text = READERS + macros.macro("evaluate", requests)
    with (
        connect(text, tables) as connection,
        Evaluator(**tables, convention=convention) as evaluator,
    ):
        expected = evaluator.evaluate(list(requests), k=2)
        assert_same(called(connection, "evaluate", 2), expected, convention)


def test_settings_reach_the_macros(shell: duckdb.DuckDBPyConnection) -> None:
    settings = {"ties": "item_desc", "map.divisor": "k", "ndcg.order": "score"}
    tables = {name: world()[name] for name in ("recommendations", "interactions")}
    text = script(["map", "ndcg"], settings=settings)
    assert "-- With ties=item_desc.\n-- With map.divisor=k." in text
    with connect(text, tables) as connection, Evaluator(**tables, settings=settings) as ours:
        for metric in ("map", "ndcg"):
            assert_same(called(connection, metric, 3), ours.evaluate(f"{metric}@3"), metric)
        # ties are there, and they matter
        add(shell, tables)
        assert not called(shell, "ndcg", 3).equals(called(connection, "ndcg", 3))


@pytest.mark.parametrize("columns", [["rank", "score"], ["rank"], ["score"]])
def test_scores_of_lists_do_not_order_a_baseline_with_ranks(columns: list[str]) -> None:
    """The list is a b; the baseline is a b by its ranks, and b a by its scores."""
    users, items = [1, 1], ["a", "b"]
    lists = pd.DataFrame({"user_id": users, "item_id": items, "score": [2.0, 1.0]})
    baseline = pd.DataFrame(
        {"user_id": users, "item_id": items, "rank": [1, 2], "score": [1.0, 2.0]}
    )
    tables = {
        "recommendations": lists,
        "baseline": baseline[["user_id", "item_id", *columns]],
    }
    settings = {"order": "score"}
    with (
        connect(script(["overlap"], settings=settings, cutoffs=[7919]), tables) as connection,
        Evaluator(**tables, settings=settings) as evaluator,
    ):
        (found,) = called(connection, "overlap", 1)["value"]
        (expected,) = evaluator.evaluate("overlap@1")["value"]
    assert found == expected == ("rank" in columns)


# ---------------------------------------------------------------- tables and cutoffs


def value(shell: duckdb.DuckDBPyConnection, call: str) -> Any:
    ((found,),) = shell.sql(f"SELECT value FROM {call}").fetchall()
    return found


@pytest.mark.parametrize("name", ["hits", "ranked", "recommendations", "interactions", "missing"])
def test_tables_may_have_the_names_of_queries(shell: duckdb.DuckDBPyConnection, name: str) -> None:
    shell.execute(f"CREATE OR REPLACE TABLE {name} AS FROM truth")
    assert value(shell, f"sm_ndcg('recs', '{name}', k := 1)") == 0.5
    assert value(shell, f"sm_ndcg(interactions := '{name}', recommendations := 'recs')") == 0.5
    shell.execute(f"CREATE OR REPLACE TABLE {name} AS FROM recs")
    assert value(shell, f"sm_ndcg('{name}', 'truth', k := 1)") == 0.5
    shell.execute(f"DROP TABLE {name}")


def test_tables_may_lie_in_schemas_and_files(
    shell: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    shell.execute("CREATE SCHEMA other")
    shell.execute('CREATE VIEW other."a.b" AS SELECT user_id, item_id, 1 AS score FROM recs')
    assert value(shell, "sm_ndcg('other.\"a.b\"', 'truth', k := 1)") == 0.5
    shell.execute(f"COPY truth TO '{tmp_path / 'truth.parquet'}'")
    assert value(shell, f"sm_ndcg('recs', '{tmp_path / 'truth.parquet'}', k := 1)") == 0.5


def test_a_column_k_of_a_table_is_no_cutoff(shell: duckdb.DuckDBPyConnection) -> None:
    shell.execute("CREATE OR REPLACE TABLE with_k AS SELECT *, 99 AS k, 98 AS items FROM recs")
    assert shell.sql("SELECT k FROM sm_ndcg('with_k', 'truth', k := 2)").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("sm_recall('recs', 'truth')", [None]),
        ("sm_recall('recs', 'truth', 2)", [2]),
        ("sm_recall('recs', 'truth', k := 2)", [2]),
    ],
)
def test_cutoffs(shell: duckdb.DuckDBPyConnection, call: str, expected: list[int | None]) -> None:
    found = shell.sql(f"SELECT k FROM {call} ORDER BY k").fetchall()
    assert [k for (k,) in found] == expected


@pytest.mark.parametrize("k", ["0", "-1", "NULL"])
def test_cutoffs_that_are_none(shell: duckdb.DuckDBPyConnection, k: str) -> None:
    for macro in ("ndcg", "evaluate"):
        with pytest.raises(duckdb.Error, match=r"k must be a positive whole number, not .*; omit"):
            shell.sql(f"FROM sm_{macro}('recs', 'truth', k := {k})").fetchall()


def test_lists_without_an_order_are_refused(shell: duckdb.DuckDBPyConnection) -> None:
    shell.execute(
        "CREATE OR REPLACE TABLE wrong AS SELECT 1 AS user_id, 7 AS item_id, NULL AS score"
    )
    for lists in ("wrong", "truth"):
        with pytest.raises(duckdb.Error, match="need a column rank or score that is never NULL"):
            shell.sql(f"FROM sm_ndcg('{lists}', 'truth')").fetchall()


# ---------------------------------------------------------------- the script


def test_metrics_of_ones_own_have_macros(tmp_path: Path) -> None:
    """A column k of a query and the parameter k are two things."""
    body = "{#---\ntitle = 'Late hits'\nwhen_empty = 0\n---#}\n" + (
        "SELECT {{ keys }}, k, count(CASE WHEN rank > 1 THEN 1 END) / k AS value\n"
        "FROM (SELECT {{ keys }}, k, rank FROM hits) AS own GROUP BY {{ keys }}, k\n"
    )
    (tmp_path / "late_hits.sql.j2").write_text(body)
    tables = world()
    with (
        connect(script(["late_hits"], templates=[tmp_path]), tables) as connection,
        Evaluator(**tables, templates=tmp_path) as evaluator,
    ):
        found = called(connection, "late_hits", 5)
        assert_same(found, evaluator.evaluate("late_hits", k=5), "late_hits")
        assert found["value"].max() > 0


def test_names_that_are_refused() -> None:
    for wrong, message in [
        ("ndcg@10", "name a macro by the metric alone: ndcg"),
        ("ndcg(gain=linear)", "name a macro by the metric alone: ndcg"),
        ("nddcg", "unknown metric 'nddcg'"),
        ("snipw", "snipw reads rounds of the logs, which the macros do not have"),
        ("rips", "rips reads slates of the logs"),
        ("position_ips", "position_ips reads positions of the logs"),
    ]:
        with pytest.raises(UsageError, match=message):
            script([wrong])
    with pytest.raises(UsageError, match="surprisal: the convention course does not cover"):
        script(["surprisal"], convention="course")
    assert "sm_surprisal" in script(["surprisal"], convention="course", fallback="standard")
    with pytest.raises(UsageError, match=r"no metric can be written as a macro; .*no row order"):
        script(settings={"order": "row"})
    text = script(settings={"ndcg.order": "row"}, cutoffs=[7919])
    assert "-- sm_ndcg is omitted: " in text
    assert "MACRO sm_ndcg" not in text
    with pytest.raises(UsageError, match="unknown setting 'tie'"):
        script(settings={"tie": "row"})


def test_the_script_is_readable() -> None:
    text = standard()
    assert text.startswith(f"-- sqlmetrics {sm.__version__}: ")
    assert "-- Convention: standard (" in text
    assert len(text.splitlines()) < 1200
    assert all(line == line.rstrip() for line in text.splitlines())
    for name in CATALOG.default_set():
        metric = CATALOG.metrics[name]
        about = text.partition(f"CREATE OR REPLACE MACRO sm_{name}\n")[0].rpartition(";\n\n")[2]
        said = " ".join(about.replace("-- ", "").split())
        assert said.startswith(metric.title)
        assert f"Formula: {' '.join(metric.formula.split())}." in said
        assert f"Source: {' '.join(metric.cite.split())}." in said


# ---------------------------------------------------------------- command line and page


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "sqlmetrics.sql"
    assert run("macros", "ndcg", "coverage").stdout == script(["ndcg", "coverage"])
    arguments = ["macros", "ndcg", "--convention", "recbole", "--set", "ties=item_desc"]
    arguments += ["-o", str(path)]
    run(*arguments)
    expected = script(["ndcg"], convention="recbole", settings={"ties": "item_desc"})
    assert path.read_text(encoding="utf-8") == expected
    assert "--force" in run(*arguments, code=1).stderr
    run(*arguments, "--force")
    assert "all stands for several" in run("macros", "--convention", "all", code=2).stderr


def shown(page: str) -> list[tuple[str, list[list[str]]]]:
    """Find the blocks of SQL of a page, and the rows of the table that follows each."""
    blocks = re.findall(r"```sql\n(.*?)```\n\n((?:\|[^\n]*\n)+)", page, re.DOTALL)
    return [
        (
            sql,
            [[cell.strip() for cell in line.strip("|\n").split("|")] for line in rows.splitlines()],
        )
        for sql, rows in blocks
    ]


def test_the_page_of_the_shell_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "how-to" / "shell.md").read_text(encoding="utf-8")
    monkeypatch.chdir(ROOT / "examples" / "data")
    blocks = shown(page)
    assert len(blocks) == page.count("```sql") == 4
    with connect(standard(), {}) as connection:
        for sql, (names, _, *rows) in blocks:
            *before, last = [part for part in sql.split(";") if part.strip()]
            for statement in before:
                connection.execute(statement)
            result = connection.sql(last)
            assert result.columns == names
            found = [["NULL" if v is None else str(v) for v in row] for row in result.fetchall()]
            assert found == rows, sql


def piped() -> str:
    """Run the command of the page that writes a statement, and return that."""
    page = (ROOT / "docs" / "how-to" / "shell.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- piped -->\n```sh\nsqlmetrics (.*?) \| duckdb\n```", page, re.DOTALL)
    assert block is not None
    return run(*shlex.split(block[1])).stdout


def test_the_statement_of_the_page_gives_what_a_macro_gives(
    shell: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "examples" / "data")
    files = "'recommendations_als.parquet', 'interactions.parquet'"
    expected = pd.concat(
        shell.sql(f"FROM sm_{metric}({files}, k := 10)").df() for metric in ("ndcg", "recall")
    )
    assert_same(expected, shell.sql(piped()).df(), "piped")


@pytest.mark.skipif(shutil.which("duckdb") is None, reason="there is no DuckDB shell on the PATH")
def test_the_shell_reads_the_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT / "examples" / "data")
    path = tmp_path / "sqlmetrics.sql"
    path.write_text(standard(), encoding="utf-8")
    call = "FROM sm_ndcg('recommendations_als.parquet', 'interactions.parquet', k := 10)"
    given = f".read {path}\n.mode csv\n.headers off\nSELECT round(value, 4) {call};\n"
    ran = subprocess.run(
        ["duckdb"], input=given, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    with duckdb.connect() as connection:
        connection.execute(standard())
        ((expected,),) = connection.sql(f"SELECT round(value, 4) {call}").fetchall()
    assert float(ran.stdout) == expected
    statement = subprocess.run(
        ["duckdb", "-csv"],
        input=piped(),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    _, ndcg, _ = statement.stdout.splitlines()
    assert round(float(ndcg.split(",")[2]), 4) == expected
