"""The macros of the DuckDB shell give what the evaluator gives, over tables that they are named."""

from __future__ import annotations

import functools
import math
import random
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.errors import UsageError
from sqlmetrics.export.duckdb_macros import script
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import template_root
from sqlmetrics.sql.templates import environment
from tests.support.calls import no_propensities_expected
from tests.support.evaluators import Evaluator
from tests.support.paths import ROOT
from tests.support.processes import PATIENCE

CATALOG = Catalog.load()
# metrics with fixed settings and names of their own
OF_SETTINGS = {
    "relative_precision", "snips", "lauc", "sdcg", "insq", "inst", "nerr8", "nerr9", "nerr10",
    "nerr11", "bpm", "alpha_dcg", "nerr_ia", "nnrbp", "upd",
}  # fmt: skip
# within lists, beyond all lists and the most relevant items
CUTOFFS = [1, 10, 60]
MACRO = re.compile(r"^CREATE OR REPLACE MACRO sm_(\w+)\((.*?)(?:, )?k := (\w+)\) AS TABLE$", re.M)


@functools.cache
def standard() -> str:
    return script()


def macros_of(text: str) -> dict[str, list[str]]:
    """Find the macros of a script with a parameter k, and the tables that each takes."""
    return {name: [t for t in tables.split(", ") if t] for name, tables, _ in MACRO.findall(text)}


@functools.cache
def macros() -> dict[str, list[str]]:
    """Return the macros of the standard script, and the tables that each takes."""
    return macros_of(standard())


def of_metrics() -> list[str]:
    """Name the macros of single metrics."""
    return [name for name in macros() if name not in ("evaluate", "per_user")]


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
# The bodies of macros do not depend on the columns of tables: macros that they share add missing
# columns. So each column has a metric of each kind that reads it.
METRICS = {
    # by rank; by score even where lists have ranks; of the whole run; with a baseline
    "rank and score": ["ndcg", "auc", "kendall_tau", "pr_auc", "coverage", "unexpectedness"],
    # without relevance, with gains of 1; aspects of users; one model; no propensities
    "few columns": ["ndcg", "cwl", "alpha_ndcg", "err_ia", "coverage", "unexpectedness", "ips",
                    "snips"],
}  # fmt: skip


def name_in(table: str) -> str:
    """Name a table as no query would: with a space and a capital."""
    return f"My {table}"


def connect(text: str, tables: Mapping[str, pd.DataFrame]) -> duckdb.DuckDBPyConnection:
    """Open a database with the macros, made in one go, and the tables."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(text)
    add(connection, tables)
    return connection


def add(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pd.DataFrame]) -> None:
    """Add tables, or replace them; every other is a view."""
    for number, (table, frame) in enumerate(tables.items()):
        connection.register(f"frame_{number}", frame)
        copy = f'"{name_in(table)}" AS FROM frame_{number}'
        kind = "VIEW" if number % 2 else "TABLE"
        connection.execute(f"CREATE OR REPLACE {kind} {copy}")


@pytest.fixture(scope="module")
def shell() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with all macros, and two lists, one without hits: nDCG at 1 is 1/2, so at 2."""
    with connect(standard(), {}) as connection:
        connection.execute("CREATE TABLE recs AS FROM (VALUES (1, 7, 1), (1, 8, 2), (2, 8, 1)) "
                           "AS lists (user_id, item_id, rank)")  # fmt: skip
        connection.execute("CREATE TABLE truth AS FROM (VALUES (1, 7), (2, 9)) "
                           "AS truth (user_id, item_id)")  # fmt: skip
        yield connection


def called(
    connection: duckdb.DuckDBPyConnection,
    macro: str,
    tables: Iterable[str],
    k: int | Sequence[int | None] | None,
) -> pd.DataFrame:
    """Call a macro with tables of these names."""
    names = ", ".join(f"'{name_in(table)}'" for table in tables)
    cutoffs = str(k).replace("None", "NULL")
    return connection.sql(f"FROM sm_{macro}({names}, k := {cutoffs})").df()


def assert_same(found: pd.DataFrame, expected: pd.DataFrame, where: str) -> None:
    """Compare two results row by row: numbers to 1e-12, what is missing in the same places."""
    if "model" not in expected:
        expected = expected.assign(model="recommendations")
    keys = [name for name in ("model", "user_id", "metric", "k") if name in found]
    rows = [
        {
            tuple(None if pd.isna(row[key]) else row[key] for key in keys): row
            for row in frame.to_dict("records")
        }
        for frame in (found, expected)
    ]
    assert len(found) == len(rows[0])
    assert rows[0].keys() == rows[1].keys(), where
    for key, wanted in rows[1].items():
        for name in set(found.columns) - set(keys):
            ours, theirs = rows[0][key][name], wanted[name]
            same = (
                pd.isna(ours)
                if pd.isna(theirs)
                else math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-12)
            )
            assert same, f"{where} {key} {name}: {ours} is not {theirs}"


# ---------------------------------------------------------------- the same numbers


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.filterwarnings("ignore:.*there is no column relevance")  # cwl assumes 1
def test_every_macro_gives_what_the_evaluator_gives(
    shell: duckdb.DuckDBPyConnection, kind: str
) -> None:
    tables = WORLDS[kind](world())
    metrics = METRICS.get(kind) or of_metrics()
    assert not {"rmse", "brier"} & {*metrics}  # they need scores, which a list with ranks lacks
    logs = list(tables["logs"].itertuples(index=False))
    add(shell, tables)
    with Evaluator(**tables) as evaluator, no_propensities_expected(logs):
        expected = pd.concat(evaluator.evaluate(metrics, k=cutoffs) for cutoffs in (CUTOFFS, None))
    labels = expected["metric"].drop_duplicates()
    for label, metric in zip(labels, metrics, strict=True):
        found = called(shell, metric, macros()[metric], [*CUTOFFS, None])
        rows = expected[expected["metric"] == label]
        assert list(found.columns) == ["model", *(c for c in rows if c != "model")]
        assert_same(found, rows, metric)


@pytest.mark.parametrize("kind", WORLDS)
def test_sets_of_metrics_give_what_the_evaluator_gives(
    shell: duckdb.DuckDBPyConnection, kind: str
) -> None:
    tables = WORLDS[kind](world())
    two = {name: tables[name] for name in ("recommendations", "interactions")}
    add(shell, two)
    with Evaluator(**two) as evaluator:
        cutoffs = [2, 10]
        found = called(shell, "evaluate", two, cutoffs)
        expected = evaluator.evaluate(k=cutoffs)
        assert_same(found, expected, "evaluate")
        assert found["metric"].drop_duplicates().tolist() == CATALOG.default_set()
        users = evaluator.per_user(CATALOG.default_set(), k=cutoffs)
        keys = [name for name in ("model", "user_id", "k") if name in users]
        long = users.melt(keys, var_name="metric")
        assert_same(called(shell, "per_user", two, cutoffs), long, "users")
    names = ", ".join(f"'{name_in(table)}'" for table in two)
    by_default = shell.sql(f"FROM sm_evaluate({names})").df()
    assert_same(by_default, expected[expected["k"] == 10], "the default cutoff")
    assert set(shell.sql(f"SELECT k FROM sm_per_user({names})").fetchall()) == {(10,)}


def test_every_metric_has_a_macro_with_the_tables_that_it_reads() -> None:
    # pr_auc ranks by score; the others of its family need the scores themselves
    scored = {m.name for m in CATALOG.metrics.values() if m.family == "ratings"} - {"pr_auc"}
    assert set(of_metrics()) == {*CATALOG.metrics, *OF_SETTINGS} - scored
    in_order = [
        "recommendations",
        "interactions",
        "history",
        "items",
        "aspects",
        "baseline",
        "logs",
    ]
    for tables in macros().values():
        assert tables == [table for table in in_order if table in tables]
    assert macros()["surprisal"] == ["recommendations", "history"]
    assert macros()["coverage"] == ["recommendations", "history"]
    assert macros()["alpha_ndcg"] == ["recommendations", "interactions", "aspects"]
    assert macros()["inter_list_diversity"] == ["recommendations"]
    defaults = {name: default for name, _, default in MACRO.findall(standard())}
    assert {name for name, default in defaults.items() if default == "10"} == {
        "evaluate", "per_user",
    }  # fmt: skip
    assert {default for name, default in defaults.items() if name in of_metrics()} == {"NULL"}


# with other stages and settings: ideals of k items, sums over all positions, lists that lose copies
# after they are cut
CONVENTIONS = ["course", "elliot", "replay-0.12", "jurity", "trec_eval"]


@functools.cache
def of_convention(name: str) -> str:
    return script(name)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("copies", [False, True])
def test_macros_follow_their_convention(convention: str, copies: bool) -> None:
    """Lists have ranks, which order them under any convention; so have baselines."""
    tables = world(copies)
    baseline = tables["baseline"]
    place = baseline.groupby("user_id").cumcount() + 1
    tables["baseline"] = baseline.drop(columns="score").assign(rank=place)
    text, cutoffs = of_convention(convention), [2, 10, 60]
    there = {name: of for name, of in macros_of(text).items() if name in of_metrics()}
    with (
        connect(text, tables) as connection,
        Evaluator(**tables, convention=convention) as evaluator,
    ):
        if copies and convention != "replay-0.12":
            for metric, names in there.items():
                with pytest.raises(sm.DataError):
                    evaluator.evaluate(metric, k=cutoffs)
                with pytest.raises(duckdb.Error, match="rows repeat an item"):
                    called(connection, metric, names, cutoffs)
            return
        expected = evaluator.evaluate(list(there), k=cutoffs)
        for label, (metric, names) in zip(
            expected["metric"].drop_duplicates(), there.items(), strict=True
        ):
            found = called(connection, metric, names, cutoffs)
            assert_same(found, expected[expected["metric"] == label], metric)


def test_settings_reach_the_macros(shell: duckdb.DuckDBPyConnection) -> None:
    settings = {"ties": "item_desc", "map.divisor": "k", "intra_list_diversity.over": "category"}
    tables = ordered_by_score(world())
    metrics = ["map", "ndcg", "intra_list_diversity"]
    text = script(settings=settings, metrics=metrics)
    with connect(text, tables) as connection, Evaluator(**tables, settings=settings) as ours:
        expected = ours.evaluate(metrics, k=[3, 10])
        for metric in metrics:
            found = called(connection, metric, macros()[metric], [3, 10])
            assert_same(found, expected[expected["metric"] == metric], metric)
        # ties are there, and they matter
        add(shell, tables)
        assert not called(shell, "ndcg", macros()["ndcg"], 3).equals(
            called(connection, "ndcg", macros()["ndcg"], 3)
        )
    assert "-- With ties=item_desc." in text


def test_ways_to_order_may_differ_between_metrics() -> None:
    settings = {"ndcg.ties": "item_desc"}
    tables = ordered_by_score(world())
    text = script(settings=settings, metrics=["mrr", "ndcg"])
    with connect(text, tables) as connection, Evaluator(**tables, settings=settings) as ours:
        expected = ours.evaluate(["mrr", "ndcg"], k=3)
        assert_same(called(connection, "evaluate", macros()["evaluate"], 3), expected, "both")


def test_named_metrics_are_what_a_script_has() -> None:
    """Metrics of users and of the run, over tables that no two of them share, side by side."""
    chosen = ["surprisal", "kendall_tau", "doubly_robust", "snips", "coverage"]
    tables = ordered_by_score(world())
    text = script(metrics=chosen)
    there = macros_of(text)
    assert list(there) == ["evaluate", "per_user", *chosen]
    assert there["evaluate"] == ["recommendations", "interactions", "history", "logs"]
    assert there["per_user"] == ["recommendations", "interactions", "history"]
    with connect(text, tables) as connection, Evaluator(**tables) as evaluator:
        expected = evaluator.evaluate(chosen, k=[2, 8])
        assert_same(called(connection, "evaluate", there["evaluate"], [2, 8]), expected, "all")
        users = evaluator.per_user(["surprisal", "kendall_tau"], k=[2, 8])
        found = called(connection, "per_user", there["per_user"], [2, 8])
        # of a user who is not in the audience of a metric, one table has no row, the other no value
        held = found.dropna(subset="value")
        wide = users.melt(["model", "user_id", "k"], var_name="metric").dropna(subset="value")
        assert_same(held, wide, "users")
        assert len(held) < len(found)
    for wrong, message in [
        ("ndcg@10", "name a macro by the metric alone: ndcg"),
        ("ndcg(gain=linear)", "name a macro by the metric alone: ndcg"),
        ("nddcg", "unknown metric 'nddcg'"),
    ]:
        with pytest.raises(UsageError, match=message):
            script(metrics=[wrong])
    with pytest.raises(UsageError, match="surprisal: course does not have this metric"):
        script("course", metrics=["surprisal"])


def test_scores_count_where_ranks_do_not() -> None:
    tables, settings = world(), {"order": "score"}
    with (
        connect(script(settings=settings, metrics=["ndcg", "kendall_tau"]), tables) as connection,
        Evaluator(**tables, settings=settings) as ours,
    ):
        for metric in ("ndcg", "kendall_tau"):
            found = called(connection, metric, macros()[metric], [3, None])
            assert_same(found[found["k"].notna()], ours.evaluate(f"{metric}@3"), metric)
            assert_same(found[found["k"].isna()], ours.evaluate(metric), metric)


# ---------------------------------------------------------------- tables and cutoffs


def value(shell: duckdb.DuckDBPyConnection, call: str) -> Any:
    ((found,),) = shell.sql(f"SELECT value FROM {call}").fetchall()
    return found


@pytest.mark.parametrize(
    "name", ["hits", "ranked", "recommendations", "interactions", "cutoffs", "lists", "sm_given_"]
)
def test_tables_may_have_the_names_of_queries(shell: duckdb.DuckDBPyConnection, name: str) -> None:
    shell.execute(f"CREATE OR REPLACE TABLE {name} AS FROM truth")
    assert value(shell, f"sm_ndcg('recs', '{name}', k := 1)") == 0.5
    assert value(shell, f"sm_ndcg(interactions := '{name}', recommendations := 'recs')") == 0.5
    shell.execute(f"CREATE OR REPLACE TABLE {name} AS FROM recs")
    assert value(shell, f"sm_ndcg('{name}', 'truth', k := 1)") == 0.5
    # both lists are all that the other table of lists has
    assert value(shell, f"sm_unexpectedness('recs', '{name}')") == 0
    shell.execute(f"DROP TABLE {name}")


def test_tables_may_lie_in_schemas_and_files(
    shell: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    shell.execute("CREATE SCHEMA other")
    shell.execute('CREATE VIEW other."a.b" AS SELECT user_id, item_id, 1 AS score FROM recs')
    assert value(shell, "sm_ndcg('other.\"a.b\"', 'truth', k := 1)") == 0.5
    shell.execute(f"COPY truth TO '{tmp_path / 'truth.parquet'}'")
    assert value(shell, f"sm_ndcg('recs', '{tmp_path / 'truth.parquet'}', k := 1)") == 0.5


def test_names_of_files_and_folders_that_the_engine_interprets_are_named(tmp_path: Path) -> None:
    """The notes in the script hold as long as DuckDB reads such names so; their remedies work."""
    (tmp_path / "relevance=0").mkdir()
    for folder in (tmp_path, tmp_path / "relevance=0"):
        duckdb.sql("SELECT 1 AS user_id, 'a' AS item_id, 1 AS relevance").write_parquet(
            str(folder / "truth.parquet")
        )
    for name, item in (("part[1]", "a"), ("part1", "b")):
        duckdb.sql(f"SELECT 1 AS user_id, '{item}' AS item_id, 1 AS rank").write_parquet(
            str(tmp_path / f"{name}.parquet")
        )
    of_recall = script(metrics=["recall"])
    with duckdb.connect() as connection:
        connection.execute(of_recall)
        connection.execute(f"SET file_search_path = '{tmp_path}'")
        connection.execute(
            "CREATE VIEW truth AS FROM read_parquet"
            f"('{tmp_path}/relevance=0/truth.parquet', hive_partitioning = false);"
            "CREATE TABLE lists AS SELECT 1 AS user_id, 'a' AS item_id, 1 AS rank"
        )

        def n_users_and_value(lists: str, truth: str) -> list[tuple[Any, ...]]:
            call = f"FROM sm_recall('{lists}', '{truth}', k := 1)"
            return connection.sql(f"SELECT n_users, value {call}").fetchall()

        assert n_users_and_value("lists", "truth.parquet") == [(1, 1.0)]
        assert n_users_and_value("part[1].parquet", "truth.parquet") == [(1, 0.0)]
        assert n_users_and_value("lists", "relevance=0/truth.parquet") == []
        assert n_users_and_value("lists", "truth") == [(1, 1.0)]
    header, _, _ = of_recall.partition("\n\n")
    assert "a file name with *, ? or [ as a pattern" in header
    assert "replaces a column of the file; use a view" in header


def test_a_column_k_of_a_table_is_no_cutoff(shell: duckdb.DuckDBPyConnection) -> None:
    shell.execute("CREATE OR REPLACE TABLE with_k AS SELECT *, 99 AS k, 98 AS items FROM recs")
    assert shell.sql("SELECT k FROM sm_ndcg('with_k', 'truth', k := 2)").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        ("", [None]),
        (", k := NULL", [None]),
        (", 2", [2]),
        (", k := 2", [2]),
        (", k := [2, 1, 2]", [1, 2]),
        (", k := [1, NULL]", [1, None]),
        (", k := range(1, 4)", [1, 2, 3]),
    ],
)
def test_cutoffs(shell: duckdb.DuckDBPyConnection, k: str, expected: list[int | None]) -> None:
    for macro in ("precision", "coverage"):
        tables = "'recs', 'truth'"
        found = shell.sql(f"SELECT k FROM sm_{macro}({tables}{k})").fetchall()
        assert [row[0] for row in found] == expected


@pytest.mark.parametrize("k", ["0", "-1", "2.5", "[1, 0]"])
def test_cutoffs_that_are_none(shell: duckdb.DuckDBPyConnection, k: str) -> None:
    with pytest.raises(duckdb.Error, match="k must be one or several positive whole numbers, not"):
        shell.sql(f"FROM sm_ndcg('recs', 'truth', k := {k})").fetchall()


# ---------------------------------------------------------------- what is refused

LISTS = "SELECT * FROM (VALUES {}) AS lists (user_id, item_id, {})"


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (LISTS.format("(1, 7, 1), (1, 7, 2)", "rank"), "1 of 2 rows repeat an item[^{]*$"),
        (LISTS.format("(1, 7, 0), (1, 8, 1)", "rank"), "1 of 2 ranks are not positive whole"),
        (LISTS.format("(1, 7, 1.5), (1, 8, 1)", "rank"), "1 of 2 ranks are not positive whole"),
        (LISTS.format("(1, 7, NULL), (1, 8, 1)", "rank"), "1 of 2 ranks are not positive whole"),
        (LISTS.format("(1, 7, 1), (1, 8, 1)", "rank"), "1 lists have the same rank for several"),
        (LISTS.format("(1, 7, 1), (1, 8, 3)", "rank"), "1 of 1 lists have gaps in their ranks"),
        (LISTS.format("(1, NULL, 1)", "rank"), "1 of 1 rows have a NULL user or item"),
        (LISTS.format("(5, 7, 1)", "rank"), "no user in common"),
        (LISTS.format("(1, 70, 1), (2, 90, 1)", "rank"), r"none of the recommended items \(2 rows"),
        (LISTS.format("(1, 7, 0.5), (1, 8, 'nan'::DOUBLE)", "score"), "a score that is NULL"),
        (LISTS.format("(1, 7, 0.5), (1, 8, NULL)", "score"), "a score that is NULL"),
        (LISTS.format("(1, 7, 'high')", "score"), "score of the lists contains text; cast it"),
        (LISTS.format("(1, 7, TRUE)", "score"), "need a column rank, or a column score"),
        (LISTS.format("(1, 7, 1)", "place"), "need a column rank, or a column score"),
        ("FROM recs WHERE FALSE", "recommendations: the table is empty"),
    ],
)
def test_lists_that_are_refused(shell: duckdb.DuckDBPyConnection, lists: str, message: str) -> None:
    shell.execute(f"CREATE OR REPLACE TABLE wrong AS {lists}")
    for macro in ("ndcg", "evaluate", "per_user", "auc"):
        truth = "graded" if macro == "auc" else "truth"
        shell.execute("CREATE OR REPLACE TABLE graded AS SELECT *, 1 AS relevance FROM truth")
        with pytest.raises(duckdb.Error, match=message):
            shell.sql(f"FROM sm_{macro}('wrong', '{truth}')").fetchall()


@pytest.mark.parametrize(
    ("macro", "table", "message"),
    [
        ("ndcg", "SELECT 1 AS user_id, 7 AS item_id FROM range(2)", "rows repeat an item of the"),
        ("ndcg", "SELECT 1 AS user_id, NULL AS item_id", "rows have a NULL user or item"),
        ("ndcg", "SELECT *, 'nan'::DOUBLE AS relevance FROM truth", "values are NULL, NaN or inf"),
        ("ndcg", "SELECT *, NULL::INTEGER AS relevance FROM truth", "values are NULL, NaN or inf"),
        ("ndcg", "FROM truth WHERE FALSE", "interactions: the table is empty"),
        ("kendall_tau", "FROM truth", "needs the column relevance, which is missing"),
        ("coverage", "FROM truth WHERE FALSE", "history: the table is empty"),
        ("surprisal", "SELECT 1 AS user_id, NULL AS item_id", "have a NULL user or item"),
        ("unexpectedness", "SELECT *, 2 AS rank FROM truth", "lists have gaps in their ranks"),
        ("ctr", "SELECT *, NULL::DOUBLE AS reward FROM truth", "rewards are NULL, NaN or"),
        ("ips", "SELECT *, 1 AS reward, 0 AS propensity FROM truth", "propensities are NULL, NaN"),
        (
            "intra_list_diversity",
            "SELECT 7 AS item_id, [1, 2] AS features",
            "1 recommended items have no features or category",
        ),
    ],
)
def test_other_tables_that_are_refused(
    shell: duckdb.DuckDBPyConnection, macro: str, table: str, message: str
) -> None:
    shell.execute(f"CREATE OR REPLACE TABLE wrong AS {table}")
    arguments = f"SELECT parameters FROM duckdb_functions() WHERE function_name = 'sm_{macro}'"
    assert len(shell.sql(arguments).fetchall()[0][0]) == 3  # two tables and k
    with pytest.raises(duckdb.Error, match=message):
        shell.sql(f"FROM sm_{macro}('recs', 'wrong')").fetchall()


def test_items_without_prices_or_aspects_are_refused(shell: duckdb.DuckDBPyConnection) -> None:
    shell.execute("CREATE OR REPLACE TABLE items AS SELECT 7 AS item_id, 3 AS price")
    with pytest.raises(duckdb.Error, match="1 recommended items have no price"):
        shell.sql("FROM sm_money_precision('recs', 'truth', 'items')").fetchall()
    shell.execute("CREATE OR REPLACE TABLE aspects AS SELECT 7 AS item_id, 'x' AS aspect")
    with pytest.raises(duckdb.Error, match="1 relevant items have no aspect"):
        shell.sql("FROM sm_alpha_ndcg('recs', 'truth', 'aspects')").fetchall()


def test_a_convention_that_counts_on_the_order_of_rows_says_so() -> None:
    with duckdb.connect() as connection:
        # there, equal scores stay in the order of rows
        connection.execute(script("ranx", metrics=["ndcg"]))
        connection.execute("CREATE TABLE t AS SELECT 1 AS user_id, 7 AS item_id, 0.5 AS score")
        with pytest.raises(duckdb.Error, match="which orders equal scores under ranx"):
            connection.sql("FROM sm_ndcg('t', 't')").fetchall()
        connection.execute("ALTER TABLE t ADD COLUMN rank INTEGER DEFAULT 1")
        assert value(connection, "sm_ndcg('t', 't')") == 1


# ---------------------------------------------------------------- the script


def test_metrics_of_ones_own_have_macros(tmp_path: Path) -> None:
    body = "{#---\ntitle = 'Late hits'\nwhen_empty = 0\n---#}\n" + (
        "SELECT {{ keys }}, k, count(CASE WHEN rank > 1 THEN 1 END) AS value\n"
        "FROM hits GROUP BY {{ keys }}, k\n"
    )
    (tmp_path / "late_hits.sql.j2").write_text(body)
    tables = world()
    text = script(templates=[tmp_path], metrics=["late_hits"])
    with (
        connect(text, tables) as connection,
        Evaluator(**tables, templates=tmp_path) as evaluator,
    ):
        found = called(connection, "late_hits", macros_of(text)["late_hits"], [1, 5])
        assert_same(found, evaluator.evaluate("late_hits", k=[1, 5]), "late_hits")
        assert found["value"].max() > 0


def test_a_column_that_a_parameter_would_replace_is_refused(tmp_path: Path) -> None:
    body = "{#---\ntitle = 'Unclear'\nwhen_empty = 0\n---#}\n" + (
        "SELECT {{ keys_of('hits') }}, k, count(*) AS value\n"
        "FROM hits CROSS JOIN models GROUP BY {{ keys_of('hits') }}, k\n"
    )
    (tmp_path / "unclear.sql.j2").write_text(body)
    with pytest.raises(UsageError, match="unclear: k is a parameter of the macro: write TABLE"):
        script(templates=[tmp_path], metrics=["unclear"])


def test_what_has_no_macro_is_named() -> None:
    with_fallback = script("course", fallback="standard", metrics=["surprisal"])
    assert "surprisal" in macros_of(with_fallback)
    text = script("course", {"ndcg.order": "row"})
    assert "surprisal" not in macros_of(text)
    assert "-- sm_surprisal is omitted: course does not have this metric" in text
    assert "-- sm_ndcg is omitted: order=row is not supported: tables have no order" in text
    assert "--         hit_rate, map, mrr, precision, recall\n" in text
    with pytest.raises(UsageError, match=r"no metric can be written as a macro; .*order=row"):
        script(settings={"order": "row"})
    with pytest.raises(UsageError, match="unknown setting 'tie'"):
        script(settings={"tie": "row"})


def test_the_script_is_readable() -> None:
    text = standard()
    assert text.startswith(f"-- sqlmetrics {sm.__version__}: ")
    assert "-- Convention: standard (" in text
    assert text.count("CREATE OR REPLACE MACRO") == len(macros()) + 6
    statements = text.split(";\n\n")
    for name in of_metrics():
        (made,) = (part for part in statements if f"MACRO sm_{name}(" in part)
        about = made.partition("CREATE")[0]
        metric, _ = CATALOG.metric(name)
        assert metric.title in about
        said = " ".join(about.replace("-- ", "").split())
        assert f"Formula: {' '.join(metric.formula.split())}." in said
        assert f"Source: {' '.join(metric.cite.split())}." in said
    queries = re.findall(r"^(?:WITH )?sm_(\w+) AS (?:[A-Z ]* )?\(\n(.*)$", text, re.M)
    without_comment = {name for name, first in queries if not first.lstrip().startswith("-- ")}
    assert len(queries) > 500
    # judged is also the name of a stage
    own = {*CATALOG.metrics, "judged_2", "given"}
    assert without_comment <= own, "a metric's own query has none"
    assert "/* one row" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_every_template_of_the_shell_is_in_the_script() -> None:
    names = {path.name for path in (template_root() / "duckdb_macros").glob("*.sql.j2")}
    used: set[str] = set()
    source = (ROOT / "sqlmetrics" / "export" / "duckdb_macros.py").read_text(encoding="utf-8")
    for name in names:
        stem = name.removesuffix(".sql.j2")
        if f'"{stem}"' in source or stem in ("item_categories", "item_groups", "item_features"):
            used.add(name)
        environment().get_template(f"duckdb_macros/{name}")
    assert used == names


# ---------------------------------------------------------------- command line and page


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "sqlmetrics.sql"
    runner = CliRunner()
    printed = runner.invoke(main, ["macros", "ndcg", "coverage"])
    assert printed.exit_code == 0
    assert printed.stdout == script(metrics=["ndcg", "coverage"])
    arguments = ["macros", "ndcg", "--convention", "recbole", "--set", "ties=item_desc"]
    arguments += ["-o", str(path)]
    assert runner.invoke(main, arguments).exit_code == 0
    expected = script("recbole", {"ties": "item_desc"}, metrics=["ndcg"])
    assert path.read_text(encoding="utf-8") == expected
    again = runner.invoke(main, arguments)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    assert runner.invoke(main, [*arguments, "--force"]).exit_code == 0
    refused = runner.invoke(main, ["macros", "--convention", "all"])
    assert refused.exit_code == 2
    assert "all stands for several" in refused.stderr


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


def test_the_page_of_the_shell_is_true(
    shell: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "how-to" / "shell.md").read_text(encoding="utf-8")
    monkeypatch.chdir(ROOT / "examples" / "data")
    blocks = shown(page)
    assert len(blocks) == page.count("```sql") == 4
    shell.execute("CREATE SCHEMA page; SET search_path = 'page,main'")  # for views of the page
    for sql, (names, _, *rows) in blocks:
        *before, last = [part for part in sql.split(";") if part.strip()]
        for statement in before:
            shell.execute(statement)
        result = shell.sql(last)
        assert result.columns == names
        found = [["NULL" if v is None else str(v) for v in row] for row in result.fetchall()]
        assert found == rows, sql
    shell.execute("RESET search_path; DROP SCHEMA page CASCADE")


def piped() -> str:
    """Run the command of the page that writes a statement, and return that."""
    page = (ROOT / "docs" / "how-to" / "shell.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- piped -->\n```sh\nsqlmetrics (.*?) \| duckdb\n```", page, re.DOTALL)
    assert block is not None
    result = CliRunner().invoke(main, shlex.split(block[1]))
    assert result.exit_code == 0
    return result.stdout


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
