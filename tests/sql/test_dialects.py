"""Statements for other systems: their tables by name, golden files, another parser than sqlglot."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner
from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.parser.rust_parser import RustParser
from sqlfluff.core.templaters import TemplatedFile

import sqlmetrics as sm
from sqlmetrics import TableName
from sqlmetrics.cli.commands import main as cli
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.plan.request import Request
from sqlmetrics.plan.summary import summary
from sqlmetrics.run.path import results
from sqlmetrics.sql.dialects import DIALECTS
from sqlmetrics.sql.simplify import simplify
from sqlmetrics.sql.simplify.relations import Relation
from sqlmetrics.sql.statement import printed, relations_of
from tests.support.paths import TESTS
from tests.support.worlds import OF_LISTS

GOLDEN = Path(__file__).with_name("golden")
METRICS = list(OF_LISTS)
PARSED_ONLY = ["databricks", "snowflake", "bigquery", "trino", "athena", "redshift"]
TABLES = {
    name: TableName(f"shop.{name}")
    for name in ("interactions", "history", "items", "users", "aspects", "baseline", "logs")
}
COLUMNS = {
    "recommendations.score": "score",
    "interactions.relevance": "relevance",
    "baseline.score": "score",
    "recommendations.timestamp": "made_at",
    "items.created_at": "created_at",
    "items.price": "price",
    "items.category": "category",
    "items.item_group": "provider",
    "items.group_target": "target",
    "items.features": "width,height",
    "logs.propensity": "propensity",
}


def named(models: Sequence[str] = ("als", "popular")) -> sm.Evaluator:
    """Make an evaluator of tables of which only the names are known, with all columns."""
    lists = {model: TableName(f"shop.{model}") for model in models}
    return sm.Evaluator(lists, **TABLES, columns=COLUMNS)


def sql(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["sql", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["sql", *arguments])
    assert result.exit_code == 2
    assert not result.stdout
    return result.stderr


# ---------------------------------------------------------------- golden files

STATEMENTS: dict[str, dict[str, Any]] = {
    "accuracy": {"metrics": ["ndcg@10", "recall@10", "map@5"]},
    "by_country": {"metrics": ["ndcg(gain=exponential)@10", "coverage@10"], "by": "users.country"},
    "per_user": {"metrics": ["kendall_tau@10", "surprisal@10"], "per_user": True},
    "ties_worst": {"metrics": ["ndcg(ties=worst)@10", "map(ties=worst)@5"]},
    "ties_average": {"metrics": ["ndcg(ties=average)@10", "recall(ties=average)@10"]},
}
# every pass that changes one of the statements above for a dialect changes this one too
FOR_OTHERS: dict[str, Any] = {"metrics": ["ndcg(gain=exponential)@10"], "by": "users.country"}
SAME_AS = {"databricks": "spark", "athena": "trino"}
GOLDEN_FILES = {
    **{("duckdb", name): GOLDEN / "duckdb" / f"{name}.sql" for name in STATEMENTS},
    **{("spark", name): GOLDEN / f"spark_{name}.sql" for name in ("ties_worst", "ties_average")},
    **{
        (dialect, ""): GOLDEN / f"{SAME_AS.get(dialect, dialect)}.sql"
        for dialect in DIALECTS
        if dialect != "duckdb"
    },
}


@pytest.mark.parametrize(
    ("dialect", "name"), GOLDEN_FILES, ids=["-".join(filter(None, key)) for key in GOLDEN_FILES]
)
@pytest.mark.filterwarnings("ignore:postgres. items with equal scores")
def test_golden(dialect: str, name: str, pytestconfig: pytest.Config) -> None:
    statement = named().sql(dialect=dialect, **STATEMENTS.get(name, FOR_OTHERS))
    path = GOLDEN_FILES[dialect, name]
    if pytestconfig.option.renew and dialect not in SAME_AS:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(statement, encoding="utf-8")
    assert statement == path.read_text(encoding="utf-8"), "python -m pytest tests --renew writes it"


def test_golden_files_are_all_compared() -> None:
    assert set(GOLDEN.rglob("*.sql")) == set(GOLDEN_FILES.values())


# ---------------------------------------------------------------- another parser


@functools.cache
def relations_of_all_metrics(dialect: str) -> list[Relation]:
    """Return the statement of all metrics; dialects that print the same alternatives share it."""
    with named(["als"]) as evaluator, evaluator._session.calling():
        session = evaluator._session
        asked = Request.of(METRICS, [10], False)
        plan = summary(results(session, asked, session.printing_planner(dialect)))
        return simplify(relations_of(plan, dialect), using=True)


@functools.cache
def alternatives_of(dialect: str) -> tuple[str, ...]:
    known = Catalog.load(()).alternatives
    return tuple(one.template_path for one in known if dialect in one.printed_for)


@pytest.mark.parametrize("dialect", PARSED_ONLY)
def test_statements_are_parsed(dialect: str) -> None:
    """sqlfluff, which has grammars of its own, takes the statement of all metrics."""
    alternatives = alternatives_of(dialect)
    first = next(one for one in PARSED_ONLY if alternatives_of(one) == alternatives)
    own = [replace(one, tree=one.tree.copy()) for one in relations_of_all_metrics(first)]
    statement = printed(own, dialect)
    assert unparsed(statement, dialect) == []


def unparsed(statement: str, dialect: str) -> list[str]:
    """Find the parts of a statement that the grammar of a dialect does not have.

    That needs no tree of Python's objects, which takes most of the time of `Linter.parse_string`.
    """
    limits = {"large_file_skip_byte_limit": 0, "max_parse_nodes": 10_000_000}
    config = FluffConfig(overrides={"dialect": dialect, **limits})
    lexed, errors = Linter._lex_templated_file(TemplatedFile.from_string(statement), config)
    assert lexed is not None
    assert errors == []
    parser = RustParser(config=config)
    end = max(place for place, token in enumerate(lexed) if token.is_code) + 1
    tokens = parser._extract_tokens_from_segments(lexed[:end])
    root = parser._rs_parser.parse_match_result_from_tokens(tokens)
    found, left = [], [root]
    while left:
        match = left.pop()
        left += match.child_matches
        if match.matched_class == "UnparsableSegment":
            found.append("".join(one.raw for one in lexed[slice(*match.matched_slice)]))
    return found + [one.raw for one in lexed[root.matched_slice[1] : end]]


@pytest.mark.parametrize("dialect", PARSED_ONLY)
def test_what_is_not_parsed_is_found(dialect: str) -> None:
    assert unparsed("SELECT a FROM b", dialect) == []
    assert unparsed("SELECT a FROM (SELECT b WHERE WHERE c) AS d", dialect) != []
    assert unparsed("SELECT a FROM b) AS c", dialect) != []


def test_every_dialect_is_parsed_here_or_run_elsewhere() -> None:
    executed = json.loads((TESTS / "engines" / "executed.json").read_text(encoding="utf-8"))
    assert set(DIALECTS) == {*PARSED_ONLY, *executed}


# ---------------------------------------------------------------- tables by name


def test_names_and_columns_are_the_users() -> None:
    statement = sql(
        *("--dialect", "snowflake", "recall@5"),
        *("--recommendations-table", 'analytics."Recs"', "--interactions-table", "raw.truth"),
        *("--column", "user_id=customer", "--column", "recommendations.score=prediction"),
    )
    assert 'FROM analytics."Recs"' in statement
    assert "FROM raw.truth" in statement
    assert "customer AS user_id" in statement
    assert "ORDER BY prediction DESC" in statement
    assert "score" not in statement
    assert "read_parquet" not in statement.lower()


def test_names_of_queries_are_in_lower_case() -> None:
    """In Snowflake and Postgres, values_of_Country and "values_of_Country" are two names."""
    tables = {name: TableName(name) for name in ("recommendations", "interactions", "users")}
    text = sm.Evaluator(**tables).sql("mrr", dialect="snowflake", by="users.Country")
    assert '"Country"' in text
    assert re.findall("values_of_country", text, re.IGNORECASE) == ["values_of_country"] * 2


@pytest.mark.parametrize("metric", ["mean_rank@5", "percentile_rank@5"])
def test_means_of_ranks_are_means_of_doubles(metric: str) -> None:
    """In Redshift, the mean of the whole numbers 1 and 2 is 1."""
    tables = {name: TableName(name) for name in ("recommendations", "interactions", "history")}
    text = sm.Evaluator(**tables).sql(metric, dialect="redshift")
    assert "AVG(CAST(rank AS DOUBLE PRECISION))" in text


def test_without_a_score_lists_have_ranks() -> None:
    statement = sql("recall@5", "--recommendations-table", "recs", "--interactions-table", "truth",
                    "--dialect", "trino")  # fmt: skip
    assert "CAST(ranked.rank AS BIGINT) AS rank" in statement
    assert "score" not in statement
    assert "relevance" not in statement  # none was mapped


@pytest.mark.parametrize("dialect", DIALECTS)
def test_references_of_dbt_stay(dialect: str) -> None:
    statement = sql(
        *("recall@5", "--dialect", dialect),
        *("--recommendations-table", "{{ ref('recs') }}"),
        *("--interactions-table", "{{ source('shop', 'truth') }}"),
    )
    assert re.search(r"FROM \{\{ ref\('recs'\) \}\}\s", statement)
    assert re.search(r"FROM \{\{ source\('shop', 'truth'\) \}\}\s", statement)


def test_an_export_beside_the_name_tells_columns_and_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user_id": [1], "item_id": ["a"], "score": [0.5]})
    frame.to_parquet(tmp_path / "recs.parquet")
    frame[["user_id", "item_id"]].to_parquet(tmp_path / "truth.parquet")
    files = ("-r", str(tmp_path / "recs.parquet"), "-i", str(tmp_path / "truth.parquet"))
    names = ("--recommendations-table", "recs", "--interactions-table", "truth")
    statement = sql("recall@5", "--dialect", "postgres", *files, *names)
    assert 'ORDER BY score DESC NULLS LAST, item_id COLLATE "C"' in statement
    assert str(tmp_path) not in statement


def test_postgres_warns_where_it_cannot_know_how_texts_are_ordered() -> None:
    result = CliRunner().invoke(
        cli, ["sql", "recall@5", "--dialect", "postgres", "--recommendations-table", "recs",
              "--interactions-table", "truth", "--column", "recommendations.score=score"],
    )  # fmt: skip
    assert result.exit_code == 0
    assert 'collation of the database is not "C"' in result.stderr


def test_no_cte_has_the_name_of_a_table() -> None:
    """A CTE of that name would be read in the place of the table."""
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "rank": [1, 2]})
    truth = pd.DataFrame({"user_id": [1], "item_id": [2]})
    connection = duckdb.connect()
    connection.register("ranked", lists)
    connection.register("interactions", truth)
    evaluator = sm.Evaluator(TableName("ranked"), TableName("interactions"))
    row = connection.sql(evaluator.sql("mrr", dialect="duckdb")).df().iloc[0]
    assert row["value"] == 1 / 2
    assert re.search(r"\b(ranked|interactions) AS \(", evaluator.sql("mrr")) is None


def test_several_models_by_name() -> None:
    statement = sql("recall@5", "--interactions-table", "truth", "--dialect", "spark",
                    "--recommendations-table", "als=recs.als",
                    "--recommendations-table", "popular=recs.popular")  # fmt: skip
    assert "'als' AS model" in statement
    assert "FROM recs.popular" in statement


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dialect", "snowflak"], "'snowflak' is not one of"),
        (["--dialect", "bigquery", "-r", "{recs}", "--interactions-table", "truth"],
         "--recommendations-table NAME"),
        (["--recommendations-table", "recs", "--interactions-table", "from here"],
         "is not a table name"),
        (["--recommendations-table", "a=x", "--recommendations-table", "y"], "NAME=TABLE"),
        (["--recommendations-table", "a=x", "--recommendations-table", "a=y"], "the model a twice"),
        (["-r", "a={recs}", "--recommendations-table", "b=x"], "use the same names"),
        (["--recommendations-table", ""], "the name of a table"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, arguments: list[str], message: str) -> None:
    frame = pd.DataFrame({"user_id": [1], "item_id": ["a"], "score": [0.5]})
    frame.to_parquet(tmp_path / "recs.parquet")
    given = [text.replace("{recs}", str(tmp_path / "recs.parquet")) for text in arguments]
    assert message in refusal("recall@5", *given)


def test_nothing_is_computed_of_a_name() -> None:
    evaluator = sm.Evaluator(TableName("recs"), TableName("truth"))
    for compute in (evaluator.evaluate, evaluator.per_user):
        with pytest.raises(sm.UsageError, match="recs is only a name"):
            compute("recall@5")
    trusting = sm.Evaluator(TableName("recs"), TableName("truth"), trust_input=True)
    with pytest.raises(sm.UsageError, match="recs is only a name"):
        trusting.evaluate("recall@5")


def test_a_column_that_is_needed_has_to_be_named() -> None:
    evaluator = sm.Evaluator(
        TableName("recs"), TableName("truth"), history=TableName("seen"), items=TableName("items")
    )
    with pytest.raises(sm.UsageError, match=r"column price of the table items.*columns="):
        evaluator.sql("money_recall@5", dialect="snowflake")


@pytest.mark.parametrize(
    ("dialect", "arguments", "message"),
    [
        ("trino", {"metrics": "recall(aggregate=median)@5"}, "no exact quantile"),
        ("bigquery", {"metrics": "recall@5", "ci": "bootstrap"}, "no exact quantile"),
        ("redshift", {"metrics": "alpha_ndcg"}, "Give cutoffs"),
        ("snowflake", {"metrics": "recall@5", "by": "month(unit=seconds)"}, "timestamp"),
    ],
)
def test_what_a_dialect_lacks_is_refused(
    dialect: str, arguments: dict[str, Any], message: str
) -> None:
    lists = TableName("recs")
    columns = {**COLUMNS, "interactions.timestamp": "at"}
    with (
        sm.Evaluator(lists, **TABLES, columns=columns) as evaluator,
        pytest.raises(sm.UsageError, match=message),
    ):
        evaluator.sql(dialect=dialect, **arguments)


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery"])
def test_single_precision_is_refused_where_there_is_none(dialect: str) -> None:
    evaluator = sm.Evaluator(
        TableName("recs"), TableName("truth"), columns={"recommendations.score": "score"},
        settings={"score_type": "float"},
    )  # fmt: skip
    with pytest.raises(sm.UsageError, match="single-precision"):
        evaluator.sql("recall@5", dialect=dialect)


def test_own_templates_that_only_duckdb_takes_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "longest.sql.j2").write_text(
        '{#---\ntitle = "Items as a list"\naudience = "recommended"\n---#}\n'
        "SELECT {{ keys }}, k, len(list(item_id)) AS value\n"
        "FROM listed\nGROUP BY {{ keys }}, k\n",
        encoding="utf-8",
    )
    evaluator = sm.Evaluator(TableName("recs"), TableName("truth"), templates=tmp_path)
    with pytest.raises(sm.UsageError, match=r"snowflake: .*item_id\) is not portable.*instead"):
        evaluator.sql("longest@5", dialect="snowflake")


def test_names_of_columns_are_short_enough_for_postgres() -> None:
    long = "recall(duplicate_interactions=set,duplicate_recommendations=cut_then_dedup)"
    evaluator = sm.Evaluator(TableName("recs"), TableName("truth"))
    statement = evaluator.sql([f"{long}@5", f"{long}@10"], dialect="postgres")
    names = re.findall(r" AS (\w+)", statement)
    assert max(map(len, names)) <= 63


@pytest.mark.parametrize(
    ("name", "is_hinted"),
    [("analytics.recs", True), ("recs", False), ("recs.parquet", False), ("a b.c", False)],
)
def test_a_table_of_a_warehouse_that_is_given_as_a_file(name: str, is_hinted: bool) -> None:
    """Only the command sql has the option."""
    for command in ("sql", "evaluate"):
        result = CliRunner().invoke(cli, [command, "recall@10", "-r", f"a={name}", "-i", "x.csv"])
        assert result.exit_code == 1
        assert f"recommendations of a: there is no file {name}" in result.stderr
        hint = f"use sqlmetrics sql with --recommendations-table {name}"
        assert (hint in result.stderr) is is_hinted
        assert "None" not in result.stderr
