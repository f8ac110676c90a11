"""Packages of `sqlmetrics dbt`: built by dbt on DuckDB, as views and tables on other engines."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

import sqlmetrics as sm
from tests.engines.postgres_server import USER
from tests.engines.runners import ENGINES, Engine
from tests.support.dbt_packages import (
    build,
    builder,
    in_order,
    macros_of,
    models_of,
    queries_of_tests,
    tables_of,
)
from tests.support.evaluators import Evaluator
from tests.support.paths import ROOT

DATA = ROOT / "examples" / "data"
PACKAGE = ROOT / "dbt" / "ranking_metrics"
MODELS = ("als", "popular")
FURTHER = ("interactions", "history", "items", "users", "aspects", "logs")
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "DO_NOT_TRACK": "1",
    "NO_COLOR": "1",
}
PROJECT = """
name: shop
profile: shop
"""
PROFILES = """
shop:
  target: dev
  outputs:
    dev: {type: duckdb, path: warehouse.duckdb, schema: metrics}
"""
SOURCES = """
sources:
  - name: shop
    tables: [{tables}]
"""
PACKAGES = """
packages:
  - local: measured
"""


def dbt(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run dbt in the folder of a project, with further environment variables."""
    return subprocess.run(
        [Path(sys.executable).parent / "dbt", *arguments, "--profiles-dir", str(folder)],
        cwd=folder,
        env={**ENVIRONMENT, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def load(folder: Path) -> None:
    """Load the demo tables into a schema of the database file of a project."""
    with duckdb.connect(str(folder / "warehouse.duckdb")) as connection:
        connection.execute("CREATE SCHEMA shop")
        for file in DATA.glob("*.parquet"):
            connection.execute(f"CREATE TABLE shop.{file.stem} AS FROM '{file}'")


def query(folder: Path, sql: str) -> pd.DataFrame:
    with duckdb.connect(str(folder / "warehouse.duckdb"), read_only=True) as connection:
        return connection.execute(sql).df()


def evaluator(name: str) -> sm.Evaluator:
    """Return an evaluator over the demo tables, or over tables of such names with their columns."""

    def of(table: str) -> object:
        file = DATA / f"{table}.parquet"
        return sm.TableName(name.format(table), file) if name else file

    lists = {model: of(f"recommendations_{model}") for model in MODELS}
    return Evaluator(lists, **{table: of(table) for table in FURTHER}, baseline="popular")


def assert_same(found: pd.DataFrame, expected: pd.DataFrame, keys: list[str], rtol: float) -> None:
    names = list(expected.columns)
    found, expected = (one.sort_values(keys, ignore_index=True) for one in (found, expected))
    assert_frame_equal(found[names], expected, check_dtype=False, rtol=rtol, atol=rtol)


KEYS = ["model", "metric", "k"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with the demo tables as sources, and in it a package of all metrics."""
    folder = tmp_path_factory.mktemp("project")
    load(folder)
    (folder / "models").mkdir()
    tables = ", ".join(f"{{name: {file.stem}}}" for file in DATA.glob("*.parquet"))
    files = {
        "dbt_project.yml": PROJECT,
        "profiles.yml": PROFILES,
        "packages.yml": PACKAGES,
        "models/sources.yml": SOURCES.replace("{tables}", tables),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    with evaluator("{{{{ source('shop', '{}') }}}}") as one:
        one.dbt(folder / "measured", "all", [5, 10], name="measured")
    deps = dbt(folder, "deps")
    assert deps.returncode == 0, deps.stdout
    built = dbt(folder, "build")
    assert built.returncode == 0, built.stdout
    done = re.search(r"PASS=(\d+) WARN=0 ERROR=0 SKIP=0 .*TOTAL=(\d+)", built.stdout)
    assert done is not None, built.stdout
    (tests, models) = (len(of(folder / "measured")) for of in (queries_of_tests, models_of))
    assert int(done[1]) == int(done[2]) >= tests + models  # not_null is tested beside
    assert "deprecat" not in built.stdout.lower()
    return folder


def test_dbt_builds_every_metric_as_evaluate_computes_it(project: Path) -> None:
    with evaluator("") as one:
        expected = one.evaluate("all", [5, 10])
    assert_same(query(project, "FROM metrics.measured_summary"), expected, KEYS, rtol=1e-12)


def test_dbt_builds_the_values_of_users(project: Path) -> None:
    names = ["ndcg", "recall", "map", "err"]
    with evaluator("") as one:
        expected = one.per_user(names, [5, 10], long=True)
    wide = query(project, "FROM metrics.measured_per_user")
    for k in (5, 10):
        rows = expected[expected["k"] == k].drop(columns="k")
        found = wide.rename(columns={f"{name}_at_{k}": name for name in names})
        assert_same(found, rows, ["model", "user_id"], rtol=1e-12)
    long = query(project, f"FROM metrics.measured_per_user_long WHERE metric IN {tuple(names)}")
    melted = expected.melt(["model", "user_id", "k"], var_name="metric")
    assert len(melted) == len(long) > 0
    assert_same(long, melted[["model", "user_id", "metric", "k", "value"]],
                ["model", "user_id", "metric", "k"], rtol=1e-12)  # fmt: skip


def test_a_repeated_row_fails_the_build(project: Path) -> None:
    copy = "(SELECT * FROM shop.recommendations_als LIMIT 1)"
    with duckdb.connect(str(project / "warehouse.duckdb")) as connection:
        connection.execute("CREATE TABLE shop.kept AS FROM shop.recommendations_als")
        connection.execute(f"INSERT INTO shop.recommendations_als {copy}")
    try:
        built = dbt(project, "build")
    finally:
        with duckdb.connect(str(project / "warehouse.duckdb")) as connection:
            connection.execute("CREATE OR REPLACE TABLE shop.recommendations_als AS FROM shop.kept")
    assert built.returncode == 1
    failures = re.findall(r"Failure in test (\w+)", built.stdout)
    assert failures == ["measured_recommendations_duplicates"], built.stdout
    assert "Got 1 result" in built.stdout
    assert re.search(r"SKIP relation \w+\.measured_summary", built.stdout)


def test_a_package_with_plain_names_runs_alone(tmp_path: Path) -> None:
    with Evaluator(
        sm.TableName("shop.recommendations_als"),
        sm.TableName("warehouse.shop.interactions"),
        columns={"recommendations.score": "score"},
    ) as one:
        one.dbt(tmp_path / "package", ["ndcg", "recall"], 10)
    folder = tmp_path / "package"
    load(folder)
    (folder / "profiles.yml").write_text(PROFILES, encoding="utf-8")
    built = dbt(folder, "build", "--profile", "shop")
    assert built.returncode == 0, built.stdout
    lists, truth = (DATA / f"{name}.parquet" for name in ("recommendations_als", "interactions"))
    with Evaluator(lists, truth) as one:
        # without a file, nothing says that interactions have a relevance: all count 1
        expected = one.evaluate(["ndcg(gain=binary)", "recall"], 10)
    found = query(folder, "FROM metrics.sqlmetrics_summary")
    assert found["value"].tolist() == pytest.approx(expected["value"].tolist(), rel=1e-12)


@pytest.mark.usefixtures("built")
def test_what_the_page_shows_is_so(tmp_path: Path) -> None:
    """The files and commands of docs/how-to/dbt.md, in their order."""
    page = (ROOT / "docs" / "how-to" / "dbt.md").read_text(encoding="utf-8")
    for name in ("examples", "dbt"):
        (tmp_path / name).symlink_to(ROOT / name)
    folder = tmp_path
    pattern = r"<!-- file: (\S+) -->\n```\w+\n(.*?)```|```sh\n(.*?)```"
    shown = ""
    for name, text, commands in re.findall(pattern, page, re.DOTALL):
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", f"{commands}\npwd > {tmp_path}/where"],
            cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        folder = Path((tmp_path / "where").read_text().strip())
        shown += done.stdout
    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT metric, k, value, n_users FROM sqlmetrics_summary")
        found = [f"| {m} | {k} | {value:.4f} | {n} |" for m, k, value, n in rows.fetchall()]
        (row,) = connection.execute("SELECT metric, k, value, n_users FROM ndcg_of_recs").fetchall()
        assert "| {} | {} | {:.4f} | {} |".format(*row) in found
    assert sorted(found) == sorted(re.findall(r"^\| \w+ \| \d+ \| 0\..*\|$", page, re.MULTILINE))
    assert "ndcg" in shown.partition("Previewing node 'sqlmetrics_summary'")[2]
    assert "ndcg" in shown.partition("Previewing node 'ndcg_of_recs'")[2]
    assert re.search("PASS ndcg_of_recs_at_least_0_15", shown)


def test_the_example_project_gives_the_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "examples" / "dbt"
    shutil.copytree(ROOT / "examples" / "dbt", folder)
    (tmp_path / "examples" / "data").symlink_to(ROOT / "examples" / "data")
    built = dbt(folder, "build")
    assert built.returncode == 0, built.stdout
    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as connection:
        found = connection.execute("FROM metrics").df()
    lists, truth = (
        ROOT / "examples" / "data" / f"{name}.parquet"
        for name in ("recommendations_als", "interactions")
    )
    with sm.Evaluator(lists, truth, check=False) as evaluator:
        expected = evaluator.evaluate(["ndcg@10", "recall@10"])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-12)


HOW = {
    "duckdb": {},
    "postgres": {},
    "datafusion": {},
    "clickhouse": {"table": "CREATE TABLE {} ENGINE = Memory"},
    # what is loaded are views of the session, which only others of that kind may read
    "spark": {"table": "CREATE TABLE {} USING parquet", "view": "CREATE TEMPORARY VIEW {}"},
}


def test_models_run_as_views_and_tables(engine: Engine, tmp_path: Path) -> None:
    tables = [*(f"recommendations_{model}" for model in MODELS), "interactions", "history"]
    names = {table: f"dbt_{table}" for table in tables}
    named = {table: sm.TableName(names[table], DATA / f"{table}.parquet") for table in tables}
    lists = {model: named[f"recommendations_{model}"] for model in MODELS}
    others = {table: named[table] for table in ("interactions", "history")}
    metrics = ["ndcg", "map", "surprisal", "coverage"]
    with Evaluator(lists, **others) as one:
        one.dbt(tmp_path / "package", metrics, 10, dialect=engine.dialect)
    with evaluator("") as one:
        expected = one.evaluate(metrics, 10)
    engine.load({names[table]: pq.read_table(DATA / f"{table}.parquet") for table in tables})
    made = in_order(models_of(tmp_path / "package"))
    try:
        build(tmp_path / "package", engine.execute, **HOW[engine.name])
        found = pd.DataFrame(engine.run("SELECT * FROM sqlmetrics_summary"))
        failing = [
            name
            for name, sql in queries_of_tests(tmp_path / "package").items()
            if engine.run(f"SELECT count(*) AS n FROM (\n{sql}\n) AS found")[0]["n"]
        ]
    finally:
        is_table = tables_of(tmp_path / "package")
        for name in reversed(made):
            engine.execute(f"DROP {'TABLE' if name in is_table else 'VIEW'} IF EXISTS {name}")
    assert failing == []
    assert_same(found.astype({"n_users": float}), expected.astype({"n_users": float}),
                KEYS, rtol=1e-9)  # fmt: skip


# ---- the package ranking_metrics -----------------------------------------------------------------


@pytest.fixture(scope="module")
def built() -> Path:
    """Return the package, which .ci/run builds before these tests."""
    assert list(PACKAGE.glob("macros/*/*.sql")), "run python dbt/build.py"
    return PACKAGE


def families_of(package: Path) -> dict[str, str]:
    """Return the metrics that have macros, with their families."""
    return {file.stem: file.parent.name for file in sorted(package.glob("macros/*/*.sql"))}


@pytest.fixture
def ranking_metrics(built: Path, tmp_path: Path) -> Path:
    """Return the integration tests of a copy of the package."""
    shutil.copytree(built, tmp_path / "ranking_metrics")
    return tmp_path / "ranking_metrics" / "integration_tests"


@pytest.mark.parametrize("target", ["duckdb", "postgres"])
def test_integration_tests_pass(
    ranking_metrics: Path, target: str, engines: Callable[[str], Engine]
) -> None:
    of_server = {}
    if target == "postgres":
        server = engines("postgres").server
        of_server = {"POSTGRES_PORT": str(server.port), "POSTGRES_USER": USER}
        of_server |= {"POSTGRES_HOST": "127.0.0.1", "POSTGRES_DATABASE": "postgres"}
    for command in ("deps", "build"):
        done = dbt(ranking_metrics, command, "--target", target, **of_server)
        assert done.returncode == 0, done.stdout
    found = re.search(r"PASS=(\d+) WARN=0 ERROR=0 SKIP=0 .*TOTAL=(\d+)", done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) == int(found[2]) > 0
    assert "deprecat" not in done.stdout.lower()


def test_a_missed_threshold_fails_the_build(ranking_metrics: Path) -> None:
    file = ranking_metrics / "seeds" / "properties.yml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("threshold: 0.4", "threshold: 0.41", 1), encoding="utf-8")
    profiles = ranking_metrics / "profiles.yml"
    text = profiles.read_text(encoding="utf-8")
    profiles.write_text(text.replace(":memory:", "warehouse.duckdb"), encoding="utf-8")
    assert dbt(ranking_metrics, "deps").returncode == 0
    built = dbt(ranking_metrics, "build", "--store-failures")
    assert built.returncode == 1
    (failure,) = re.findall(r"Failure in test (\w+)", built.stdout)
    assert failure == "ndcg_of_the_lists"
    (row,) = query(
        ranking_metrics, f"FROM main_dbt_test__audit.{failure}"
    ).itertuples(index=False)  # fmt: skip
    assert row.problem == "ndcg@3 is less than 0.41"
    assert row.value == pytest.approx(0.4077531863279454, rel=1e-12)
    assert row.n_users == 5


def test_a_wrong_argument_ends_the_parsing(ranking_metrics: Path) -> None:
    model = "{{ ranking_metrics.ndcg(ref('recommendations'), ref('interactions'), cutoff='ten') }}"
    (ranking_metrics / "models" / "ndcg.sql").write_text(model, encoding="utf-8")
    assert dbt(ranking_metrics, "deps").returncode == 0
    built = dbt(ranking_metrics, "build")
    assert built.returncode == 2
    assert "ranking_metrics.ndcg: cutoff is the text ten. Pass a whole number" in built.stdout


def test_dbt_computes_every_macro_as_evaluate(built: Path, tmp_path: Path) -> None:
    load(tmp_path)
    families = families_of(built)
    truth_of = {
        name: "liked" if family == "ratings" else "interactions"
        for name, family in families.items()
    }
    (tmp_path / "models").mkdir()
    files = {
        "dbt_project.yml": PROJECT,
        "profiles.yml": PROFILES,
        "packages.yml": f"packages:\n  - local: {built}\n",
        "models/sources.yml": SOURCES.replace(
            "{tables}", "{name: recommendations_als}, {name: interactions}, {name: liked}"
        ),
    }
    # scores that are probabilities are compared with interactions that are relevant or not
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as connection:
        connection.execute("""
            CREATE TABLE shop.liked AS
            SELECT user_id, item_id, CAST(relevance > 1 AS INTEGER) AS relevance
            FROM shop.interactions
        """)
        liked = connection.sql("FROM shop.liked").to_arrow_table()
    for name, family in families.items():
        text = (built / "macros" / family / f"{name}.sql").read_text(encoding="utf-8")
        tables = {
            "recommendations": "source('shop', 'recommendations_als')",
            "interactions": f"source('shop', '{truth_of[name]}')",
            "score_column": "'score'",
            "relevance_column": "'relevance'",
        }
        signature = text.partition("{% macro")[2].partition("-%}")[0]
        given = [f"{key}={value}" for key, value in tables.items() if f"{key}=" in signature]
        files[f"models/{name}.sql"] = (
            f"{{{{ ranking_metrics.{name}({', '.join([*given, 'cutoff=10'])}) }}}}"
        )
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command in ("deps", "build"):
        done = dbt(tmp_path, command)
        assert done.returncode == 0, done.stdout
    found = query(tmp_path, " UNION ALL ".join(f'FROM metrics."{name}"' for name in families))
    lists, truth = (DATA / f"{name}.parquet" for name in ("recommendations_als", "interactions"))
    expected = []
    for table, kind in ((truth, "interactions"), (liked, "liked")):
        names = [name for name, of in truth_of.items() if of == kind]
        with Evaluator(lists, table) as one:
            expected.append(one.evaluate(names, 10))
    assert_same(found, pd.concat(expected), ["metric"], rtol=1e-12)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_deps_install_the_archive_of_a_release(built: Path, tmp_path: Path) -> None:
    archive = builder().archive(built, tmp_path / "dist")
    load(tmp_path)
    (tmp_path / "models").mkdir()
    handler = functools.partial(_Quiet, directory=str(archive.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/{archive.name}"
        recall = (
            "{{ ranking_metrics.recall(source('shop', 'recommendations_als'), "
            "source('shop', 'interactions'), 10, score_column='score', "
            "relevance_column='relevance') }}"
        )
        files = {
            "dbt_project.yml": PROJECT,
            "profiles.yml": PROFILES,
            "packages.yml": f"packages:\n  - tarball: {url}\n    name: ranking_metrics\n",
            "models/sources.yml": SOURCES.replace(
                "{tables}", "{name: recommendations_als}, {name: interactions}"
            ),
            "models/recall.sql": recall,
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        for command in ("deps", "build"):
            done = dbt(tmp_path, command, NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
            assert done.returncode == 0, done.stdout
        server.shutdown()
    lists, truth = (DATA / f"{name}.parquet" for name in ("recommendations_als", "interactions"))
    with Evaluator(lists, truth) as one:
        expected = one.evaluate("recall@10")
    assert_same(query(tmp_path, "FROM metrics.recall"), expected, ["metric"], rtol=1e-12)


# dbt has no adapter for DataFusion
@pytest.mark.parametrize("name", [name for name in ENGINES if name != "datafusion"])
def test_macros_run_on_other_engines(
    built: Path, name: str, engines: Callable[[str], Engine]
) -> None:
    engine = engines(name)
    tables = {"dbt_recommendations_als": "recommendations_als", "dbt_interactions": "interactions"}
    engine.load({name: pq.read_table(DATA / f"{file}.parquet") for name, file in tables.items()})
    metrics = ["ndcg", "map", "n_recommended", "auc", "lrap", "partial_auc", "ncrr", "err"]
    lists, truth = (DATA / f"{name}.parquet" for name in tables.values())
    with Evaluator(lists, truth) as one:
        expected = one.evaluate(metrics, 10).set_index("metric")
    macros = macros_of(built, engine.dialect)
    for metric in metrics:
        given = {"interactions": "dbt_interactions", "relevance_column": "relevance"}
        given = {} if metric == "n_recommended" else given
        text = getattr(macros, metric)(
            "dbt_recommendations_als", cutoff=10, score_column="score", **given
        )
        (row,) = engine.run(text)
        for column in ("k", "value", "n_users", "std", "ci_low", "ci_high"):
            wanted, known = expected.loc[metric, column], row[column]
            assert pd.isna(wanted) == pd.isna(known), (metric, column)
            assert pd.isna(wanted) or known == pytest.approx(wanted, rel=1e-9), (metric, column)
    test = macros.test_ndcg_at_least
    for threshold, n_found in ((0.01, 0), (0.99, 1)):
        text = test("dbt_recommendations_als", "dbt_interactions", 10, threshold,
                    score_column="score")  # fmt: skip
        assert len(engine.run(text)) == n_found
    for text in (
        macros.test_valid_recommendations("dbt_recommendations_als", score_column="score"),
        macros.test_valid_interactions("dbt_interactions", relevance_column="relevance"),
    ):
        assert engine.run(text) == []
    # scores are not ranks
    text = macros.test_valid_recommendations("dbt_recommendations_als", rank_column="score")
    assert {row["problem"].partition(":")[0] for row in engine.run(text)} == {
        "rows whose rank is not a whole number from 1",
        "lists whose ranks are not 1, 2, 3, ...",
    }
