"""The files of `sqlmetrics dbt`: models, tests, descriptions; made in DuckDB without dbt itself."""

from __future__ import annotations

import os
import re
import shlex
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import sqlglot

import sqlmetrics as sm
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Stage
from sqlmetrics.sql.dialects import DIALECTS
from tests.support.command_line import run
from tests.support.dbt_packages import (
    build,
    models_of,
    queries_of_tests,
    refs_of,
    rendered,
    tables_of,
    yaml_of,
)
from tests.support.evaluators import Evaluator
from tests.support.frames import same
from tests.support.paths import DATA, ROOT

MODELS = ("als", "popular")
FURTHER = ("interactions", "history", "items", "users", "aspects", "logs")


def named(table: str) -> sm.TableName:
    """Name a demo table as a source of dbt; its columns are those of the file."""
    return sm.TableName(f"{{{{ source('shop', '{table}') }}}}", DATA / f"{table}.parquet")


def evaluator(of: Callable[[str], Any], **options: Any) -> sm.Evaluator:
    """Return an evaluator over the demo tables, two models and all further tables."""
    lists = {model: of(f"recommendations_{model}") for model in MODELS}
    tables = {table: of(table) for table in FURTHER}
    return Evaluator(lists, **tables, **{"baseline": "popular", **options})


def file_of(table: str) -> Path:
    return DATA / f"{table}.parquet"


def warehouse() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA shop")
    for file in DATA.glob("*.parquet"):
        connection.execute(f"CREATE TABLE shop.{file.stem} AS FROM '{file}'")
    return connection


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a package with every metric."""
    folder = tmp_path_factory.mktemp("packages") / "everything"
    with evaluator(named) as one:
        one.dbt(folder, ["all", "intra_list_diversity(over=features)"], k=[5, 10])
    return folder


def small(folder: Path, **given: Any) -> list[Path]:
    """Write a package of two metrics over tables of which only the names are known."""
    tables = {"recommendations": "shop.recs", "interactions": "{{ ref('held_out') }}"}
    named_tables = {name: sm.TableName(table) for name, table in tables.items()}
    options = {name: given.pop(name) for name in ("settings", "columns", "key") if name in given}
    with sm.Evaluator(**named_tables, **options) as one:
        metrics = given.pop("metrics", ["ndcg", "recall"])
        return one.dbt(folder, metrics, 10, **given)


def failing(folder: Path, connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {
        name.removeprefix("sqlmetrics_")
        for name, sql in queries_of_tests(folder).items()
        if connection.execute(sql).fetchall()
    }


def stages_of(folder: Path) -> dict[str, Stage]:
    """Return the stages that models are made of, by the names of the models."""
    known = Catalog.load().stages
    names = [file.stem for file in (folder / "models" / "stages").glob("*.sql")]
    return {name: known[re.sub(r"^sqlmetrics_|_[0-9]+$", "", name)] for name in names}


@pytest.fixture(scope="module")
def everything_built(everything: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection with all models of the package with every metric."""
    connection = warehouse()
    build(everything, connection.execute)
    return connection


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small package, to read only."""
    folder = tmp_path_factory.mktemp("packages") / "package"
    small(folder)
    return folder


# ---------------------------------------------------------------- what is in a package


def test_models_read_models_and_the_tables_of_the_user(everything: Path) -> None:
    models = models_of(everything)
    for name, text in models.items():
        assert set(refs_of(text)) <= set(models), name
        tables = re.findall(r"source\('shop', '(\w+)'\)", text)
        assert bool(tables) == (everything / "models" / "inputs" / f"{name}.sql").exists(), name
    lists = models["sqlmetrics_recommendations"]
    for model in MODELS:
        assert f"FROM {{{{ source('shop', 'recommendations_{model}') }}}}" in lists
    assert all(name.startswith("sqlmetrics_") for name in [*models, *queries_of_tests(everything)])


def test_names_and_references_stand_as_they_were_given(package: Path) -> None:
    models = models_of(package)
    assert models["sqlmetrics_recommendations"].rstrip().endswith("FROM shop.recs")
    assert models["sqlmetrics_interactions"].rstrip().endswith("FROM {{ ref('held_out') }}")


def test_the_page_installs_the_version_that_the_tests_use() -> None:
    page = (ROOT / "docs" / "how-to" / "dbt.md").read_text(encoding="utf-8")
    (version,) = re.findall(r'pip install ("dbt-core[^"]*")', page)
    assert version in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_dry_run_of_dbt_reads_no_rows(everything: Path) -> None:
    """As `dbt run --empty` does: every relation is an empty query, which may have its own alias."""
    with warehouse() as connection:
        build(everything, connection.execute, empty=True)
        assert connection.sql("SELECT count(*) FROM sqlmetrics_per_user").fetchall() == [(0,)]


def test_every_model_and_its_columns_are_described(
    everything: Path, everything_built: duckdb.DuckDBPyConnection
) -> None:
    schema = yaml_of(everything, "models/schema.yml")
    assert schema["version"] == 2
    assert [model["name"] for model in schema["models"]] == list(
        dict.fromkeys(model["name"] for model in schema["models"])
    )
    assert {model["name"] for model in schema["models"]} == set(models_of(everything))
    for model in schema["models"]:
        name = model["name"]
        assert model["description"], name
        rows = everything_built.execute(f"DESCRIBE {name}").fetchall()
        there = [row[0] for row in rows]
        columns = [column["name"] for column in model.get("columns", [])]
        if (everything / "models" / "values" / f"{name}.sql").exists():
            assert set(columns) <= set(there), name
        else:
            assert columns == there, name
            for column in model["columns"]:
                assert column.get("description"), (name, column["name"])


def test_columns_of_metrics_say_how_and_by_whom_they_are_defined(everything: Path) -> None:
    schema = yaml_of(everything, "models/schema.yml")
    columns = {
        column["name"]: column["description"]
        for model in schema["models"]
        if model["name"].startswith(("sqlmetrics_per_user", "sqlmetrics_per_model"))
        for column in model["columns"]
    }
    summary = next(model for model in schema["models"] if model["name"] == "sqlmetrics_summary")
    of_metric = next(column for column in summary["columns"] if column["name"] == "metric")
    for metric in (one for one in Catalog.load().metrics.values() if one.in_all):
        for k in (5, 10):
            description = columns[f"{metric.name}_at_{k}"]
            assert metric.formula in description
            assert metric.cite in description
            assert f"{metric.name} at {k}" in description
        assert metric.formula in of_metric["description"]


def test_titles_of_stages_are_their_descriptions(everything: Path) -> None:
    described = {
        model["name"]: model["description"]
        for model in yaml_of(everything, "models/schema.yml")["models"]
    }
    for model, stage in stages_of(everything).items():
        assert described[model] == stage.title
        assert not stage.keep or model in tables_of(everything)


def test_a_package_depends_on_its_name(tmp_path: Path) -> None:
    small(tmp_path / "package", name="ranking")
    folder = tmp_path / "package"
    assert yaml_of(folder, "dbt_project.yml")["name"] == "ranking"
    names = [*models_of(folder), *queries_of_tests(folder)]
    assert "ranking_summary" in names
    assert all(name.startswith("ranking_") for name in names)
    for wrong in ("Ranking", "my metrics", "1st", ""):
        with pytest.raises(UsageError, match="is not a valid dbt package name"):
            small(tmp_path / "other", name=wrong)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_packages_for_other_systems_are_in_their_sql(tmp_path: Path, dialect: str) -> None:
    small(tmp_path / "package", dialect=dialect, metrics=["ndcg", "map", "recall"])
    folder = tmp_path / "package"
    yaml_of(folder, "dbt_project.yml")
    yaml_of(folder, "models/schema.yml")
    read_as = {"datafusion": "postgres"}.get(dialect, dialect)
    models = {name: rendered(text) for name, text in models_of(folder).items()}
    for name, sql in {**models, **queries_of_tests(folder)}.items():
        assert sqlglot.parse_one(sql, read=read_as) is not None, name
        assert "read_parquet" not in sql
        assert ("SETTINGS" in sql) == (dialect == "clickhouse"), name
        if dialect != "duckdb":
            counts = dialect in ("clickhouse", "datafusion")  # they have the function, too
            odd = r"HUGEINT|\{'" if counts else r"\brange\(|HUGEINT|\{'"
            assert not re.search(odd, sql, re.IGNORECASE), name


# ---------------------------------------------------------------- what it computes


def assert_same_summary(connection: duckdb.DuckDBPyConnection, expected: pd.DataFrame) -> None:
    found = connection.execute("SELECT * FROM sqlmetrics_summary").df()
    assert list(found.columns) == list(expected.columns)
    same(found, expected, *expected.columns[: list(expected.columns).index("k") + 1])


def test_every_metric_is_what_evaluate_returns(
    everything: Path, everything_built: duckdb.DuckDBPyConnection
) -> None:
    connection = everything_built
    with evaluator(file_of) as one:
        metrics = ["all", "intra_list_diversity(over=features)"]
        expected = one.evaluate(metrics, k=[5, 10])
        users = one.per_user(["ndcg", "recall", "surprisal"], k=[5, 10], long=True)
    assert_same_summary(connection, expected)
    assert failing(everything, connection) == set()
    keys = ["model", "user_id", "metric", "k"]
    found = connection.execute(
        f"SELECT {', '.join(keys)}, value FROM sqlmetrics_per_user_long "
        "WHERE metric IN ('ndcg', 'recall', 'surprisal')"
    ).df()
    wanted = users.melt(["model", "user_id", "k"], var_name="metric")
    same(found.dropna(), wanted.dropna(), *keys)


@pytest.mark.parametrize(
    ("options", "of_users"),
    [
        ({"by": ["country", "activity"], "combinations": True}, {}),
        ({"by": ["country", "items.category"]}, {"by": "items.category"}),
        ({"by_item": ["popularity", "category"]}, {"by_item": ["popularity", "category"]}),
        ({"ci": "bootstrap", "resamples": 20, "by": "device", "run_ci": True}, {}),
    ],
    ids=["by users", "by both", "by items", "resampled"],
)
def test_slices_and_intervals_are_what_evaluate_returns(
    tmp_path: Path, options: dict[str, Any], of_users: dict[str, Any]
) -> None:
    """The values of users come once per slice of items; slices of users are in the summary."""
    metrics = ["ndcg", "recall", *(["coverage"] if "run_ci" in options else [])]
    with evaluator(named) as one:
        one.dbt(tmp_path / "package", metrics, 10, **options)
    with evaluator(file_of) as one:
        expected = one.evaluate(metrics, 10, **options)
        users = one.per_user(["recall"], 10, **of_users, long=True)
    connection = warehouse()
    build(tmp_path / "package", connection.execute)
    assert_same_summary(connection, expected)
    assert failing(tmp_path / "package", connection) == set()
    keys = [name for name in users.columns if name != "recall"]
    found = connection.execute(
        f"SELECT {', '.join(keys)}, value FROM sqlmetrics_per_user_long WHERE metric = 'recall'"
    ).df()
    wanted = users.rename(columns={"recall": "value"})
    same(found, wanted, *keys)


def rounds() -> dict[str, pd.DataFrame]:
    """Return the tables of off-policy evaluation: four rounds, two policies, and lists."""
    logs = pd.DataFrame({
        "round_id": [1, 2, 3, 4], "user_id": ["u", "u", "v", "v"], "item_id": list("abab"),
        "reward": [1, 0, 2, 1], "propensity": [0.5, 0.5, 0.25, 0.75],
        "country": ["FR", "DE", "FR", "DE"],
    })  # fmt: skip
    shown = [("x", 0.2), ("y", 0.7)]
    policy = pd.DataFrame(
        [(model, number, item, share, 0.5 + number / 10)
         for model, share_of_a in shown for number in logs["round_id"]
         for item, share in (("a", share_of_a), ("b", 1 - share_of_a))],
        columns=["model", "round_id", "item_id", "probability", "predicted"],
    )  # fmt: skip
    return {
        "logs": logs,
        "targeted": logs.assign(target_propensity=[0.2, 0.8, 0.5, 0.5]),
        "policy": policy,
        "lists": pd.DataFrame({"user_id": ["u", "v"], "item_id": list("ab"), "rank": 1}),
    }


OF_ROUNDS = ["ipw", "snipw", "beta_ipw", "replay", "ess", "importance_weight", "matched_rounds"]
POLICIES: dict[str, dict[str, str]] = {
    "a policy": {"logs": "logs", "policy": "policy"},
    "lists": {"logs": "logs", "recommendations": "lists"},
    "a column of the logs": {"logs": "targeted"},
}


def of_rounds(
    folder: Path, tables: dict[str, str], **options: Any
) -> tuple[duckdb.DuckDBPyConnection, pd.DataFrame]:
    """Build a package with metrics of rounds; return its database and what evaluate returns."""
    frames = rounds()
    metrics = OF_ROUNDS + (["dm", "dr", "sndr"] if "policy" in tables else [])
    given = {name: sm.TableName(f"{{{{ source('shop', '{one}') }}}}", frames[one])
             for name, one in tables.items()}  # fmt: skip
    with Evaluator(**given) as one:
        one.dbt(folder, metrics, **options)
    with Evaluator(**{name: frames[one] for name, one in tables.items()}, check=False) as one:
        expected = one.evaluate(metrics, **options)
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA shop")
    for name, frame in frames.items():
        connection.register("given", frame)
        connection.execute(f"CREATE TABLE shop.{name} AS FROM given")
    build(folder, connection.execute)
    return connection, expected


@pytest.mark.parametrize("options", [{}, {"by": "country"}, {"cluster": "user_id"}], ids=str)
@pytest.mark.parametrize("given", POLICIES)
def test_metrics_of_rounds_are_what_evaluate_returns(
    tmp_path: Path, given: str, options: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fewer than 30 clusters")
        connection, expected = of_rounds(tmp_path / "package", POLICIES[given], **options)
    assert_same_summary(connection, expected)
    assert failing(tmp_path / "package", connection) == set()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE shop.logs SET round_id = 1 WHERE round_id = 2", "rounds_repeated"),
        ("UPDATE shop.logs SET propensity = 0 WHERE round_id = 2", "logs_bad_propensities"),
        ("UPDATE shop.logs SET reward = NULL WHERE round_id = 2", "logs_bad_rewards"),
        ("DELETE FROM shop.policy WHERE round_id = 2", "rounds_without_policy"),
        ("UPDATE shop.policy SET probability = 0 WHERE round_id = 2", "policy_sums"),
    ],
)
def test_rounds_that_break_a_rule_fail_its_test(tmp_path: Path, change: str, found: str) -> None:
    connection, _ = of_rounds(tmp_path / "package", POLICIES["a policy"])
    connection.execute(change)
    assert found in failing(tmp_path / "package", connection)


def test_conventions_and_their_metrics_stay_apart(tmp_path: Path) -> None:
    options: dict[str, Any] = {"convention": ["rectools", "standard", "replay"], "baseline": None}
    with evaluator(named, **options) as one:
        one.dbt(tmp_path / "package", ["map", "ndcg"], [3, 10])
    with evaluator(file_of, **options) as one:
        expected = one.evaluate(["map", "ndcg"], [3, 10])
    connection = warehouse()
    build(tmp_path / "package", connection.execute)
    assert_same_summary(connection, expected)


def test_awkward_names_of_columns_pass_through_jinja(tmp_path: Path) -> None:
    """Columns named like a word of SQL, and like what dbt would take for its own."""
    columns = {
        "recommendations.item_id": "{{ item }}",
        "interactions.item_id": "{% item",
        "recommendations.rank": "{# rank",
    }
    small(tmp_path / "package", columns=columns, key=["order", "{{ user }}"])
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA shop")
    connection.execute(
        'CREATE TABLE shop.recs AS SELECT 1 AS "order", 2 AS "{{ user }}", item AS "{{ item }}", '
        'rank AS "{# rank" FROM (VALUES (7, 1), (8, 2)) AS t(item, rank)'
    )
    connection.execute(
        'CREATE TABLE held_out AS SELECT 1 AS "order", 2 AS "{{ user }}", 8 AS "{% item"'
    )
    build(tmp_path / "package", connection.execute)
    assert connection.execute(
        "SELECT value FROM sqlmetrics_summary WHERE metric = 'recall'"
    ).fetchall() == [(1.0,)]
    assert failing(tmp_path / "package", connection) == set()
    schema = yaml_of(tmp_path / "package", "models/schema.yml")
    (lists,) = (m for m in schema["models"] if m["name"] == "sqlmetrics_lists")
    assert [column.get("quote", False) for column in lists["columns"]] == [True, True, False]


# ---------------------------------------------------------------- tests of a package


def small_world() -> duckdb.DuckDBPyConnection:
    """Return a connection with the tables of a small package: two users, one of them with a hit."""
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA shop")
    connection.execute(
        "CREATE TABLE shop.recs AS FROM (VALUES (1, 10, 1), (1, 11, 2), (2, 10, 1)) "
        "AS t(user_id, item_id, rank)"
    )
    connection.execute(
        "CREATE TABLE held_out AS FROM (VALUES (1, 11), (2, 12)) AS t(user_id, item_id)"
    )
    return connection


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        ("INSERT INTO shop.recs VALUES (1, 10, 3)", {"recommendations_duplicates"}),
        ("INSERT INTO shop.recs VALUES (1, NULL, 3)", {"recommendations_null_ids"}),
        ("INSERT INTO shop.recs VALUES (1, 12, 2)", {"recommendations_repeated_ranks"}),
        ("INSERT INTO shop.recs VALUES (1, 12, 4)", {"recommendations_gaps"}),
        ("INSERT INTO held_out VALUES (1, 11)", {"interactions_duplicates"}),
        ("INSERT INTO held_out VALUES (NULL, 11)", {"interactions_null_ids"}),
        ("UPDATE held_out SET user_id = user_id + 7", {"common_users"}),
        ("UPDATE held_out SET item_id = item_id + 7", {"common_items"}),
    ],
)
def test_rows_that_break_a_rule_fail_its_test(package: Path, broken: str, found: set[str]) -> None:
    connection = small_world()
    build(package, connection.execute)
    assert failing(package, connection) == set()
    connection = small_world()
    connection.execute(broken)
    build(package, connection.execute)
    assert failing(package, connection) == found


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        ("UPDATE sqlmetrics_summary SET value = 1.1 WHERE metric = 'ndcg'", "summary_from_0_to_1"),
        ("UPDATE sqlmetrics_summary SET value = -0.1 WHERE metric = 'recall'",
         "summary_from_0_to_1"),
        ("INSERT INTO sqlmetrics_per_user FROM sqlmetrics_per_user LIMIT 1", "per_user_unique"),
        ("INSERT INTO sqlmetrics_summary FROM sqlmetrics_summary LIMIT 1", "summary_unique"),
    ],
)  # fmt: skip
def test_results_that_cannot_be_fail_a_test(package: Path, broken: str, found: str) -> None:
    connection = small_world()
    build(package, connection.execute)
    connection.execute(broken)
    assert failing(package, connection) == {found}


def test_settings_decide_what_is_tested(tmp_path: Path) -> None:
    small(tmp_path / "strict")
    small(tmp_path / "lax", settings={"duplicate_recommendations": "keep", "rank_gaps": "close"})
    lost = set(queries_of_tests(tmp_path / "strict")) - set(queries_of_tests(tmp_path / "lax"))
    assert {"sqlmetrics_recommendations_duplicates", "sqlmetrics_recommendations_gaps"} <= lost
    assert "sqlmetrics_recommendations_null_ids" in queries_of_tests(tmp_path / "lax")
    connection = small_world()
    connection.execute("INSERT INTO shop.recs VALUES (1, 10, 5)")
    build(tmp_path / "lax", connection.execute)
    assert failing(tmp_path / "lax", connection) == set()


def test_a_user_in_two_slices_fails_a_test(tmp_path: Path) -> None:
    names = {"recommendations": "shop.recs", "interactions": "held_out", "users": "people"}
    people = pd.DataFrame({"user_id": [1], "country": ["DE"]})
    tables = {name: sm.TableName(table) for name, table in names.items()}
    tables["users"] = sm.TableName("people", people)
    with sm.Evaluator(**tables) as one:
        one.dbt(tmp_path / "package", "recall", 10, by="country")
    connection = small_world()
    connection.execute("CREATE TABLE people AS FROM (VALUES (1, 'DE'), (2, 'FR')) "
                       "AS t(user_id, country)")  # fmt: skip
    build(tmp_path / "package", connection.execute)
    assert failing(tmp_path / "package", connection) == set()
    connection.execute("INSERT INTO people VALUES (2, 'DE')")
    assert "country_uneven" in failing(tmp_path / "package", connection)


def test_keys_are_tested_for_null(everything: Path) -> None:
    schema = yaml_of(everything, "models/schema.yml")
    not_null = {
        model["name"]: [one["name"] for one in model["columns"] if one.get("data_tests")]
        for model in schema["models"]
    }
    assert not_null["sqlmetrics_per_user"] == ["model", "user_id"]
    assert not_null["sqlmetrics_per_model"] == ["model"]
    assert not_null["sqlmetrics_hits"] == ["model", "user_id", "item_id"]
    assert not_null["sqlmetrics_summary"] == ["metric"]


def test_stages_are_tested_for_what_they_declare_unique(everything: Path) -> None:
    wanted = {f"{model}_unique" for model, stage in stages_of(everything).items() if stage.unique}
    assert len(wanted) > 5
    assert wanted <= set(queries_of_tests(everything))


# ---------------------------------------------------------------- writing


def test_tables_without_a_name_are_refused(tmp_path: Path) -> None:
    with (
        evaluator(file_of) as one,
        pytest.raises(UsageError, match=r"TableName\('NAME'.*ref\('MODEL'\)"),
    ):
        one.dbt(tmp_path / "package", "ndcg", 10)
    assert not (tmp_path / "package").exists()


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_package_is_replaced_only_with_force_and_then_all_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    paths = small(folder, metrics=["ndcg", "recall"])
    assert sorted(str(path.relative_to(folder)) for path in paths) == list(contents(folder))
    own = folder / "models" / "mine.sql"
    own.write_text("SELECT 1 AS one\n")
    before = contents(folder)
    with pytest.raises(DataError, match=r"dbt_project.yml exists.*force=True"):
        small(folder, metrics=["recall"])
    assert contents(folder) == before
    small(folder, metrics=["recall"], force=True)
    small(tmp_path / "fresh", metrics=["recall"])
    fresh = contents(tmp_path / "fresh")
    assert contents(folder) == {**fresh, "models/mine.sql": "SELECT 1 AS one\n"}
    assert "models/stages/sqlmetrics_positions.sql" in before  # which recall does not read
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "package"]


def test_a_project_of_the_user_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    for force in (False, True):
        with pytest.raises(DataError, match="is another dbt project"):
            small(tmp_path, force=force)
    assert contents(tmp_path) == {"dbt_project.yml": "name: shop\n"}
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is a file"):
        small(tmp_path / "file")


def test_what_fails_on_the_way_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "package"
    small(folder)
    before = contents(folder)
    moves = []
    replace = os.replace

    def fails_late(source: Path, target: Path) -> None:
        moves.append(target)
        if len(moves) == len(before) + 3:  # all old files are away, some new ones there
            raise OSError("the disk is full")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails_late)
    with pytest.raises(DataError, match="the disk is full"):
        small(folder, metrics=["recall"], force=True)
    assert contents(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["package"]


# ---------------------------------------------------------------- the command


def test_the_command_writes_it_and_is_in_its_readme(here: Path) -> None:
    arguments = [
        "dbt", "package", "ndcg@5", "map(divisor=k)@10", "--dialect", "snowflake",
        "--recommendations-table", "{{ source('shop', 'recs') }}",
        "--interactions-table", "analytics.held_out",
        "--column", "recommendations.score=prediction", "--by", "activity",
        "--history-table", "analytics.history", "--set", "ties=item_desc",
    ]  # fmt: skip
    result = run(*arguments)
    files = contents(here / "package")
    assert sorted(result.stdout.splitlines()) == [f"package/{name}" for name in files]
    readme = files["README.md"]
    (block,) = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    program, *again = shlex.split(block)
    assert program == "sqlmetrics"
    assert again == arguments
    for name in (*models_of(here / "package"), *queries_of_tests(here / "package")):
        in_results = f"models/results/{name}.sql" in files
        assert (f"`{name}`" in readme) == (in_results or f"tests/{name}.sql" in files), name
    assert "prediction" in files["models/inputs/sqlmetrics_recommendations.sql"]
    assert "--force" in run(*arguments, code=1).stderr


def test_what_the_command_cannot_write_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    arguments = ["dbt", str(folder), "ndcg", "-k", "10", "--interactions-table", "truth"]
    for more, message in [
        ([], "recommendations"),
        (["-r", str(file_of("recommendations_als"))], "--recommendations-table NAME"),
        (["--recommendations-table", "recs", "--name", "No"], "is not a valid dbt package name"),
        (["--recommendations-table", "recs; DROP"], "is not a table name"),
        (["--recommendations-table", "{{ ref('x') }}, secrets {{ '' }}"], "is not a table name"),
    ]:
        assert message in run(*arguments, *more, code=2).stderr
        assert not folder.exists()
