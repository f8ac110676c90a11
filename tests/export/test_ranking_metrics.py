"""The dbt package ranking_metrics: its macros in DuckDB, without dbt itself."""

from __future__ import annotations

import functools
import importlib.util
import re
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import duckdb
import jinja2
import pytest
import sqlglot

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.version import __version__
from tests.support.dbt_packages import CompilerError, macros_of, yaml_of
from tests.support.evaluators import Evaluator
from tests.support.paths import DATA, ROOT

PACKAGE = ROOT / "dbt" / "ranking_metrics"
FILES = sorted((PACKAGE / "macros").glob("*/*.sql"))
METRICS = [file.stem for file in FILES]


@functools.cache
def of_duckdb() -> Any:
    """Return the macros as DuckDB has them; it takes a second to compile them."""
    return macros_of(PACKAGE, "duckdb")


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


def text_of(metric: str) -> str:
    return (PACKAGE / "macros" / family_of(metric) / f"{metric}.sql").read_text(encoding="utf-8")


def signature_of(metric: str) -> str:
    found = re.search(rf"{{% macro {metric}\((.*?)\) -%}}", text_of(metric), re.DOTALL)
    assert found is not None
    return found[1]


def call(metric: str, given: dict[str, Any], **arguments: Any) -> str:
    """Return the statement of a macro; those of `given` that it does not take are not passed."""
    signature = signature_of(metric)
    taken = {name: value for name, value in given.items() if f"{name}=" in signature}
    text: str = getattr(of_duckdb(), metric)(**taken, **arguments)
    return text


def result(connection: duckdb.DuckDBPyConnection, statement: str) -> dict[str, Any]:
    ((row,), names) = ((found := connection.execute(statement)).fetchall(), found.description)
    return dict(zip([name for name, *_ in names], row, strict=True))


def assert_as_evaluated(
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
            found = result(connection, call(metric, given, cutoff=k))
            for name, value in expected[metric, k].items():
                known = found[name]
                if isinstance(value, float) and value == value:
                    assert known == pytest.approx(value, rel=1e-12, abs=1e-12), (metric, k, name)
                else:
                    assert known is None or known == value, (metric, k, name)
                    assert known is not None or value is None or value != value, (metric, k, name)


@pytest.mark.parametrize("truth", ["judged", "liked"])
def test_values_of_scored_lists_are_those_of_evaluate(
    warehouse: duckdb.DuckDBPyConnection, truth: str
) -> None:
    given = {"recommendations": "scored", "interactions": truth, **RENAMED}
    evaluator = Evaluator(
        "scored", truth, connection=warehouse,
        columns={"user_id": "customer", "item_id": "sku", "score": "model_score",
                 "relevance": "grade"},
    )  # fmt: skip
    # scores that are probabilities are compared with interactions that are relevant or not
    metrics = [name for name in METRICS if (family_of(name) == "ratings") == (truth == "liked")]
    assert_as_evaluated(warehouse, given, evaluator, metrics)


@pytest.mark.filterwarnings("ignore:interactions. there is no column relevance")
def test_values_of_ranks_without_relevance_are_those_of_evaluate(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    given = {"recommendations": "ranked", "interactions": "bought"}
    evaluator = Evaluator("ranked", "bought", connection=warehouse)
    needy = [metric for metric in METRICS if "needs_relevance=True" in text_of(metric)]
    assert "fallout" in needy
    metrics = [
        metric
        for metric in METRICS
        if metric not in needy and "rank_column" in signature_of(metric)
    ]
    assert_as_evaluated(warehouse, given, evaluator, metrics)


def test_a_rank_can_be_an_expression(warehouse: duckdb.DuckDBPyConnection) -> None:
    warehouse.execute("""
        CREATE OR REPLACE VIEW reversed AS
        SELECT user_id, item_id, 12 - rank AS revplace FROM ranked;
        CREATE OR REPLACE VIEW bought_or_not AS
        SELECT customer AS user_id, sku AS item_id, grade FROM judged;
    """)
    others = {"interactions": "bought_or_not", "relevance_column": "grade", "cutoff": 10}
    for metric in ("lrap", "auc", "ndcg"):
        plain = result(warehouse, call(metric, {"recommendations": "ranked", **others}))
        given = {"recommendations": "reversed", "rank_column": "12 - revplace", **others}
        found = result(warehouse, call(metric, given))
        assert plain["value"] > 0
        assert found["value"] == pytest.approx(plain["value"], rel=1e-12), metric


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_dbt", ROOT / "dbt" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::sqlmetrics.errors.SqlmetricsWarning")  # of columns' types
def test_all_files_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB has its own SQL for every metric; each other adapter for a share of the metrics."""
    generate = generator()
    of_adapters, others = generate.ADAPTERS, [a for a in generate.ADAPTERS if a != "duckdb"]
    monkeypatch.setattr(generate, "ADAPTERS", [])
    starts = generate.files(cutoffs=[7919])
    assert set(starts) == {*FILES, PACKAGE / "README.md"}, "run python dbt/generate.py"
    compiled = {adapter: vars(macros_of(PACKAGE, adapter)) for adapter in of_adapters}
    printer = generate._Printer([7919])
    for number, (path, start) in enumerate(starts.items()):
        text, metric = path.read_text(encoding="utf-8"), path.stem
        if path.name == "README.md":
            assert text == start, "run python dbt/generate.py"
            continue
        assert text.startswith(start.removesuffix("\n")), "run python dbt/generate.py"
        tables = [name for name in RELATIONS if f"{name} | indent" in text]
        order = "rank" if "_ranked_lists(" in start else "score"
        for adapter in ("duckdb", others[number % len(others)]):
            printed = generate._after_inputs(printer.statement(metric, order, adapter), tables)
            given = {"cutoff": 7919, **RELATIONS}
            expected = jinja2.Template(printed).render(given)
            macros = compiled[adapter]
            names = (adapter, generate._PARENTS.get(adapter))
            macro = next(macros[f"{n}__{metric}"] for n in names if f"{n}__{metric}" in macros)
            found = macro(*(given[table] for table in tables), 7919)
            assert found == expected, (metric, adapter, "run python dbt/generate.py")


def test_the_version_is_that_of_sqlmetrics() -> None:
    assert yaml_of(PACKAGE, "dbt_project.yml")["version"] == __version__


def test_a_metric_has_a_test_of_the_better_direction() -> None:
    names = vars(of_duckdb())
    for metric in METRICS:
        better = Catalog.load().metrics[metric].higher_is_better
        assert (f"test_{metric}_at_least" in names) == (better is True), metric
        assert (f"test_{metric}_at_most" in names) == (better is False), metric


@pytest.mark.parametrize("adapter", generator().ADAPTERS)
def test_every_adapter_has_sql_of_its_own_dialect(adapter: str) -> None:
    macros = macros_of(PACKAGE, adapter)
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
    for metric in ("map", "pr_auc", "n_relevant"):
        given = {"recommendations": "recs", "interactions": "truth"}
        given |= {"relevance_column": "grade", "score_column": "score"}
        taken = {name: value for name, value in given.items() if f"{name}=" in signature_of(metric)}
        text = getattr(macros, metric)(**taken, cutoff=5)
        assert sqlglot.parse_one(text, dialect=adapter).named_selects[:4] == RESULT, metric


def test_another_adapter_is_refused() -> None:
    with pytest.raises(CompilerError, match="ndcg has no SQL for the adapter oracle"):
        macros_of(PACKAGE, "oracle").ndcg("recs", "truth", 10)


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
def test_wrong_arguments_are_named(metric: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CompilerError, match=message):
        getattr(of_duckdb(), metric)(**arguments)


@pytest.mark.parametrize(
    ("threshold", "problem"), [(0.4, None), (0.6, "recall@1 is less than 0.6")]
)
def test_a_low_value_is_found(threshold: float, problem: str | None) -> None:
    # recall@1 of user 1 is 1, of user 2 it is 0
    lists = "(VALUES (1, 'a', 1), (2, 'a', 1)) AS lists (user_id, item_id, rank)"
    truth = "(VALUES (1, 'a'), (2, 'b')) AS truth (user_id, item_id)"
    text = of_duckdb().test_recall_at_least(lists, truth, cutoff=1, threshold=threshold)
    assert duckdb.sql(text).fetchall() == ([] if problem is None else [(problem, 0.5, 2)])


@pytest.mark.parametrize(("threshold", "n_found"), [(3, 0), (1, 1)])
def test_a_high_value_is_found(threshold: float, n_found: int) -> None:
    lists = "(VALUES (1, 'a', 1), (1, 'b', 2)) AS lists (user_id, item_id, rank)"
    truth = "(VALUES (1, 'b')) AS truth (user_id, item_id)"
    text = of_duckdb().test_first_rank_at_most(lists, truth, cutoff=5, threshold=threshold)
    assert len(duckdb.sql(text).fetchall()) == n_found


def test_an_undefined_value_is_found() -> None:
    lists = "(VALUES (1, 'a', 1)) AS lists (user_id, item_id, rank)"
    truth = "(VALUES (1, 'b')) AS truth (user_id, item_id)"
    text = of_duckdb().test_first_rank_at_most(lists, truth, cutoff=5, threshold=9)
    assert duckdb.sql(text).fetchall() == [("first_rank@5 is more than 9", None, 0)]


@pytest.mark.parametrize(
    ("rows", "arguments", "problems"),
    [
        ("(1, 'a', 1), (1, 'b', 2), (2, 'a', 1)", {}, []),
        ("(1, 'a', 1), (1, 'b', 3)", {}, [("lists whose ranks", 1)]),
        ("(1, 'a', 1), (1, 'b', 1), (2, 'a', 2)", {}, [("lists whose ranks", 2)]),
        ("(1, 'a', 1), (1, 'b', 1.5), (1, 'c', 3)", {}, [("rows whose rank", 1)]),
        ("(1, 'a', 0), (1, 'b', 1)", {}, [("lists whose ranks", 1), ("rows whose rank", 1)]),
        ("(1, 'a', 1), (1, 'a', 2)", {}, [("items that are repeated", 1)]),
        ("(1, 'a', 1), (NULL, 'a', 1), (2, NULL, 1)", {}, [("rows without user", 2)]),
        ("(1, 'a', 7), (1, 'b', 7)", {"score_column": "rank"}, []),
        ("(1, 'a', 7), (1, 'b', NULL)", {"score_column": "rank"}, [("rows without a score", 1)]),
    ],
)
def test_invalid_lists_are_found(
    rows: str, arguments: dict[str, str], problems: list[tuple[str, int]]
) -> None:
    lists = f"(VALUES {rows}) AS lists (user_id, item_id, rank)"
    found = duckdb.sql(of_duckdb().test_valid_recommendations(lists, **arguments)).fetchall()
    assert [(problem[: len(known)], n) for (problem, n), (known, _) in zip(
        sorted(found), problems, strict=True
    )] == problems  # fmt: skip
    assert all(": " in problem for problem, _ in found)  # what to do


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        ("(1, 'a', 1), (1, 'b', 0)", []),
        ("(1, 'a', 1), (1, 'a', 2)", [("items that are repeated", 1)]),
        ("(1, NULL, 1)", [("rows without user", 1)]),
        ("(1, 'a', NULL)", [("rows without relevance", 1)]),
    ],
)
def test_invalid_interactions_are_found(rows: str, problems: list[tuple[str, int]]) -> None:
    truth = f"(VALUES {rows}) AS truth (user_id, item_id, grade)"
    found = duckdb.sql(
        of_duckdb().test_valid_interactions(truth, relevance_column="grade")
    ).fetchall()
    assert [(problem[: len(known)], n) for (problem, n), (known, _) in zip(
        sorted(found), problems, strict=True
    )] == problems  # fmt: skip


@pytest.mark.parametrize("test", ["valid_recommendations", "valid_interactions"])
def test_an_empty_table_is_found(test: str) -> None:
    empty = "(SELECT 1 AS user_id, 1 AS item_id, 1 AS rank WHERE FALSE)"
    ((problem, n),) = duckdb.sql(getattr(of_duckdb(), f"test_{test}")(empty)).fetchall()
    assert problem.startswith("no rows: ")
    assert n == 1
