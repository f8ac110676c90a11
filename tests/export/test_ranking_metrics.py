"""The dbt package ranking_metrics: its macros in DuckDB, without dbt itself."""

from __future__ import annotations

import functools
import re
import shutil
import tarfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot

import sqlmetrics as sm
from sqlmetrics.export.statements import at_any_cutoff
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.version import __version__
from tests.support.dbt_packages import CompilerError, builder, macros_of, yaml_of
from tests.support.evaluators import Evaluator
from tests.support.paths import DATA, ROOT

PACKAGE = ROOT / "dbt" / "ranking_metrics"


BUILD = builder()


@functools.cache
def names() -> list[str]:
    """Name the metrics of the package."""
    found: list[str] = BUILD.metrics()
    return found


def built(folder: Path, metrics: list[str], adapters: list[str]) -> Path:
    """Build the package in a folder, for some metrics and adapters."""
    package = folder / PACKAGE.name
    shutil.copytree(PACKAGE, package, ignore=lambda *_: ["integration_tests"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the types of the columns would tell
        texts = {metric: BUILD.macros(metric, adapters, [7919]) for metric in metrics}
    BUILD.write(package, texts)
    return package


@pytest.fixture(scope="module")
def of_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the macros of all metrics as DuckDB has them."""
    return macros_of(built(tmp_path_factory.mktemp("dbt"), names(), ["duckdb"]), "duckdb")


OF_ADAPTERS = ["ndcg", "map", "pr_auc", "n_relevant"]


@pytest.fixture(scope="module")
def of_adapters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package with the macros of some metrics for all adapters."""
    return built(tmp_path_factory.mktemp("dbt"), OF_ADAPTERS, BUILD.ADAPTERS)


RELATIONS = {"recommendations": "recs", "interactions": "truth"}
CUTOFFS = (1, 10)
RESULT = ["metric", "k", "value", "n_users"]
LISTS, TRUTH = (DATA / f"{name}.parquet" for name in ("recommendations_als", "interactions"))
# tied scores, and the columns of the tables under other names
RENAMED = {
    "user_column": "customer",
    "item_column": "sku",
    "score_column": "model_score",
    "relevance_column": "grade",
}


@pytest.fixture(scope="module")
def warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"""
            CREATE TABLE scored AS
            SELECT user_id AS customer, item_id AS sku, round(score, 2) AS model_score
            FROM '{LISTS}';
            CREATE TABLE ranked AS
            SELECT
                customer AS user_id,
                sku AS item_id,
                row_number() OVER (PARTITION BY customer ORDER BY model_score DESC, sku) AS rank
            FROM scored;
            CREATE TABLE judged AS
            SELECT user_id AS customer, item_id AS sku, relevance - 1 AS grade
            FROM '{TRUTH}';
            CREATE TABLE liked AS
            SELECT customer, sku, least(grade, 1) AS grade FROM judged;
            CREATE TABLE bought AS SELECT user_id, item_id FROM '{TRUTH}';
        """)
        yield connection


def family_of(metric: str) -> str:
    return Catalog.load().metrics[metric].family


def call(macros: Any, metric: str, given: dict[str, Any], **arguments: Any) -> str:
    """Return the statement of a macro; those of `given` that it does not take are not passed."""
    macro = getattr(macros, metric)
    taken = {name: value for name, value in given.items() if name in macro.arguments}
    text: str = macro(**taken, **arguments)
    return text


def result(connection: duckdb.DuckDBPyConnection, statement: str) -> dict[str, Any]:
    ((row,), columns) = ((found := connection.execute(statement)).fetchall(), found.description)
    return dict(zip([name for name, *_ in columns], row, strict=True))


def assert_as_evaluated(
    macros: Any,
    connection: duckdb.DuckDBPyConnection,
    given: dict[str, Any],
    evaluator: sm.Evaluator,
    metrics: list[str],
) -> None:
    with evaluator:
        rows = evaluator.evaluate(metrics, list(CUTOFFS)).to_dict("records")
    assert len(rows) == len(metrics) * len(CUTOFFS)
    expected = {(row["metric"], row["k"]): row for row in rows}
    for metric in metrics:
        for k in CUTOFFS:
            found = result(connection, call(macros, metric, given, cutoff=k))
            for name, value in expected[metric, k].items():
                known = found[name]
                if isinstance(value, float) and value == value:
                    assert known == pytest.approx(value, rel=1e-12, abs=1e-12), (metric, k, name)
                else:
                    assert known is None or known == value, (metric, k, name)
                    assert known is not None or value is None or value != value, (metric, k, name)


@pytest.mark.parametrize("truth", ["judged", "liked"])
def test_values_of_scored_lists_are_those_of_evaluate(
    of_duckdb: Any, warehouse: duckdb.DuckDBPyConnection, truth: str
) -> None:
    given = {"recommendations": "scored", "interactions": truth, **RENAMED}
    evaluator = Evaluator(
        "scored", truth, connection=warehouse,
        columns={"user_id": "customer", "item_id": "sku", "score": "model_score",
                 "relevance": "grade"},
    )  # fmt: skip
    # scores that are probabilities are compared with interactions that are relevant or not
    metrics = [name for name in names() if (family_of(name) == "ratings") == (truth == "liked")]
    assert_as_evaluated(of_duckdb, warehouse, given, evaluator, metrics)


@pytest.mark.filterwarnings("ignore:interactions. there is no column relevance")
def test_values_of_ranks_without_relevance_are_those_of_evaluate(
    of_duckdb: Any, warehouse: duckdb.DuckDBPyConnection
) -> None:
    given = {"recommendations": "ranked", "interactions": "bought"}
    evaluator = Evaluator("ranked", "bought", connection=warehouse)
    needy = [name for name in names() if ("interactions", "relevance") in BUILD.reads(name).needs]
    assert "fallout" in needy
    metrics = [
        metric
        for metric in names()
        if metric not in needy and "rank_column" in getattr(of_duckdb, metric).arguments
    ]
    assert_as_evaluated(of_duckdb, warehouse, given, evaluator, metrics)


def test_a_rank_can_be_an_expression(of_duckdb: Any, warehouse: duckdb.DuckDBPyConnection) -> None:
    warehouse.execute("""
        CREATE OR REPLACE VIEW reversed AS
        SELECT user_id, item_id, 12 - rank AS revplace FROM ranked;
        CREATE OR REPLACE VIEW bought_or_not AS
        SELECT customer AS user_id, sku AS item_id, grade FROM judged;
    """)
    others = {"interactions": "bought_or_not", "relevance_column": "grade", "cutoff": 10}
    for metric in ("lrap", "auc", "ndcg"):
        plain = result(warehouse, call(of_duckdb, metric, {"recommendations": "ranked", **others}))
        given = {"recommendations": "reversed", "rank_column": "12 - revplace", **others}
        found = result(warehouse, call(of_duckdb, metric, given))
        assert plain["value"] > 0
        assert found["value"] == pytest.approx(plain["value"], rel=1e-12), metric


def test_the_version_is_that_of_sqlmetrics() -> None:
    assert yaml_of(PACKAGE, "dbt_project.yml")["version"] == __version__


def test_a_metric_has_a_test_of_the_better_direction(of_duckdb: Any) -> None:
    there = vars(of_duckdb)
    for metric in names():
        better = Catalog.load().metrics[metric].higher_is_better
        assert (f"test_{metric}_at_least" in there) == (better is True), metric
        assert (f"test_{metric}_at_most" in there) == (better is False), metric


@pytest.mark.parametrize("adapter", BUILD.ADAPTERS)
def test_every_adapter_has_sql_of_its_own_dialect(of_adapters: Path, adapter: str) -> None:
    macros = macros_of(of_adapters, adapter)
    with sm.Evaluator(
        sm.TableName("recommendations"), sm.TableName("interactions"),
        columns={"recommendations.rank": "rank", "interactions.relevance": "relevance"},
    ) as one, warnings.catch_warnings():  # fmt: skip
        warnings.simplefilter("ignore")  # of what the types of the columns would tell
        printed = one.sql("ndcg", 4321, dialect=adapter)
    ndcg = macros.ndcg("shop.recs", "shop.held_out", 4321, relevance_column="relevance")
    first, read, others = ndcg.partition("), relevant AS (")
    assert "FROM shop.recs" in first
    assert "FROM shop.held_out" in first
    assert f"{read}{others};\n" == printed.replace("WITH relevant AS (", read, 1)
    given = {"recommendations": "recs", "interactions": "truth"}
    given |= {"relevance_column": "grade", "score_column": "score"}
    for metric in OF_ADAPTERS:
        text = call(macros, metric, given, cutoff=5)
        assert sqlglot.parse_one(text, dialect=adapter).named_selects[:4] == RESULT, metric


def test_a_statement_that_depends_on_the_cutoff_otherwise_is_refused() -> None:
    with pytest.raises(sm.UsageError, match="depends on the cutoff in other ways"):
        at_any_cutoff(lambda k: f"SELECT {k * 2}", "k", "(k + 1)")
    assert at_any_cutoff(lambda k: f"SELECT {k}, {k + 1}, 1.{k}", "k", "(k + 1)", [5]) == (
        "SELECT k, (k + 1), 1.5"
    )


def test_built_files_are_those_of_a_release(of_adapters: Path, tmp_path: Path) -> None:
    """A second build replaces the files of the first; hand-written macros stay."""
    package = tmp_path / PACKAGE.name
    shutil.copytree(of_adapters, package)
    BUILD.write(package, {"recall": "{# recall #}"})
    assert [path.name for path in sorted(package.glob("macros/**/*.sql"))] == [
        "recall.sql", "arguments.sql", "input_tests.sql",
    ]  # fmt: skip
    rows = re.findall(r"^\| `(\w+)` \|", (package / "METRICS.md").read_text(), re.MULTILINE)
    assert rows == names()
    with tarfile.open(BUILD.archive(package, tmp_path / "dist")) as tar:
        packed = tar.getnames()
    top = f"{PACKAGE.name}-{__version__}"
    assert packed[0] == top
    assert {name.partition("/")[0] for name in packed} == {top}
    assert {f"{top}/dbt_project.yml", f"{top}/macros/accuracy/recall.sql"} <= {*packed}


def test_another_adapter_is_refused(of_adapters: Path) -> None:
    with pytest.raises(CompilerError, match="ndcg has no SQL for the adapter oracle"):
        macros_of(of_adapters, "oracle").ndcg("recs", "truth", 10)


@pytest.mark.parametrize(
    ("metric", "arguments", "message"),
    [
        ("ndcg", {"cutoff": 10}, "ranking_metrics.ndcg: recommendations is missing. Pass the"),
        ("ndcg", {"recommendations": "recs", "cutoff": 10}, "interactions is missing. Pass the"),
        ("ndcg", RELATIONS, "cutoff is missing. Pass a whole number from 1 to 9999"),
        ("ndcg", {**RELATIONS, "cutoff": 0}, "cutoff is 0. Pass a whole number"),
        ("ndcg", {**RELATIONS, "cutoff": 10000}, "cutoff is 10000. Pass a whole number"),
        ("ndcg", {**RELATIONS, "cutoff": "5"}, "cutoff is the text 5. Pass a whole number"),
        ("ndcg", {**RELATIONS, "cutoff": True}, "cutoff is True. Pass a whole number"),
        ("ndcg", {**RELATIONS, "cutoff": [5, 10]}, r"cutoff is \[5, 10\]. .* once for each cutoff"),
        ("fallout", {**RELATIONS, "cutoff": 5}, "fallout: relevance_column is missing. .*such as"),
        ("rmse", {**RELATIONS, "cutoff": 5, "score_column": None}, "score_column is missing. .*"),
        ("test_ndcg_at_least", {"model": "recs", "interactions": "truth", "cutoff": 5},
         "ndcg_at_least: threshold is missing. Pass a number, such as 0.3"),
        ("test_first_rank_at_most",
         {"model": "recs", "interactions": "truth", "cutoff": 5, "threshold": "low"},
         "first_rank_at_most: threshold is the text low. Pass a number"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(
    of_duckdb: Any, metric: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(CompilerError, match=message):
        getattr(of_duckdb, metric)(**arguments)


# of two users, one has the only item of the list; rank 2; a list without a hit
HALF = ("(1, 'a', 1), (2, 'a', 1)", "(1, 'a'), (2, 'b')")
SECOND, NO_HIT = ("(1, 'a', 1), (1, 'b', 2)", "(1, 'b')"), ("(1, 'a', 1)", "(1, 'b')")


@pytest.mark.parametrize(
    ("test", "rows", "cutoff", "threshold", "found"),
    [
        ("recall_at_least", HALF, 1, 0.4, []),
        ("recall_at_least", HALF, 1, 0.6, [("recall@1 is less than 0.6", 0.5, 2)]),
        ("first_rank_at_most", SECOND, 5, 3, []),
        ("first_rank_at_most", SECOND, 5, 1, [("first_rank@5 is more than 1", 2, 1)]),
        ("first_rank_at_most", NO_HIT, 5, 9, [("first_rank@5 is more than 9", None, 0)]),
    ],
)
def test_values_beyond_a_threshold_are_found(
    of_duckdb: Any, test: str, rows: tuple[str, str], cutoff: int, threshold: float, found: Any
) -> None:
    lists = f"(VALUES {rows[0]}) AS lists (user_id, item_id, rank)"
    truth = f"(VALUES {rows[1]}) AS truth (user_id, item_id)"
    text = getattr(of_duckdb, f"test_{test}")(lists, truth, cutoff=cutoff, threshold=threshold)
    assert duckdb.sql(text).fetchall() == found


OF_LISTS = ("valid_recommendations", {})
OF_SCORES = ("valid_recommendations", {"score_column": "rank"})
OF_TRUTH = ("valid_interactions", {"relevance_column": "rank"})


@pytest.mark.parametrize(
    ("table", "rows", "problems"),
    [
        (OF_LISTS, "(1, 'a', 1), (1, 'b', 2), (2, 'a', 1)", []),
        (OF_LISTS, "(1, 'a', 1), (1, 'b', 3)", [("lists whose ranks", 1)]),
        (OF_LISTS, "(1, 'a', 1), (1, 'b', 1), (2, 'a', 2)", [("lists whose ranks", 2)]),
        (OF_LISTS, "(1, 'a', 1), (1, 'b', 1.5), (1, 'c', 3)", [("rows whose rank", 1)]),
        (OF_LISTS, "(1, 'a', 0), (1, 'b', 1)", [("lists whose ranks", 1), ("rows whose rank", 1)]),
        (OF_LISTS, "(1, 'a', 1), (1, 'a', 2)", [("items that are repeated", 1)]),
        (OF_LISTS, "(1, 'a', 1), (NULL, 'a', 1), (2, NULL, 1)", [("rows without user", 2)]),
        (OF_SCORES, "(1, 'a', 7), (1, 'b', 7)", []),
        (OF_SCORES, "(1, 'a', 7), (1, 'b', NULL)", [("rows without a score", 1)]),
        (OF_TRUTH, "(1, 'a', 1), (1, 'b', 0)", []),
        (OF_TRUTH, "(1, 'a', 1), (1, 'a', 2)", [("items that are repeated", 1)]),
        (OF_TRUTH, "(1, NULL, 1)", [("rows without user", 1)]),
        (OF_TRUTH, "(1, 'a', NULL)", [("rows without relevance", 1)]),
    ],
)
def test_invalid_rows_are_found(
    of_duckdb: Any, table: tuple[str, dict[str, str]], rows: str, problems: list[tuple[str, int]]
) -> None:
    test, arguments = table
    given = f"(VALUES {rows}) AS given (user_id, item_id, rank)"
    found = duckdb.sql(getattr(of_duckdb, f"test_{test}")(given, **arguments)).fetchall()
    assert [(problem[: len(known)], n) for (problem, n), (known, _) in zip(
        sorted(found), problems, strict=True
    )] == problems  # fmt: skip
    assert all(": " in problem for problem, _ in found)  # what to do


@pytest.mark.parametrize("test", ["valid_recommendations", "valid_interactions"])
def test_an_empty_table_is_found(of_duckdb: Any, test: str) -> None:
    empty = "(SELECT 1 AS user_id, 1 AS item_id, 1 AS rank WHERE FALSE)"
    ((problem, n),) = duckdb.sql(getattr(of_duckdb, f"test_{test}")(empty)).fetchall()
    assert problem.startswith("no rows: ")
    assert n == 1
