"""The passes that rewrite queries for other systems, each with queries before and after it."""

from __future__ import annotations

import pytest
import sqlglot

from sqlmetrics import UsageError
from sqlmetrics.errors import TemplateError
from sqlmetrics.sql import arithmetic, dialects, names, transpile
from sqlmetrics.sql.dialects import DIALECTS
from sqlmetrics.sql.query_graph import parse
from sqlmetrics.sql.transpile import PASSES, printed

# pass, dialect, query in DuckDB's SQL, what it must become
PRINTED = [
    ("numbers", "postgres",
     "WITH n AS (SELECT unnest(generate_series(1, greatest(3, a))) AS x) SELECT x FROM n",
     "WITH n AS (SELECT GENERATE_SERIES(1, GREATEST(3, a)) AS x) SELECT x FROM n"),
    ("numbers", "spark",
     "WITH n AS (SELECT unnest(generate_series(1, 9)) AS x) SELECT x FROM n",
     "WITH n AS (SELECT EXPLODE(SEQUENCE(1, 9)) AS x) SELECT x FROM n"),
    ("numbers", "clickhouse",
     "WITH n AS (SELECT unnest(generate_series(1, 9)) AS x) SELECT x FROM n",
     "WITH n AS (SELECT arrayJoin(range(1, 9 + 1)) AS x) SELECT x FROM n"),
    ("numbers", "datafusion",
     "WITH n AS (SELECT unnest(generate_series(1, 9)) AS x) SELECT x FROM n",
     "WITH n AS (SELECT UNNEST(RANGE(1, 9 + 1)) AS x) SELECT x FROM n"),
    ("numbers", "trino",
     "WITH n AS (SELECT unnest(generate_series(1, 9)) AS x) SELECT x FROM n",
     "WITH digits AS (SELECT digits.digit FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), "
     "(8), (9)) AS digits(digit)), n_1 AS (SELECT 0 AS x, 9 AS last_number), n_0 AS (SELECT n_1.x "
     "+ 1 * digits.digit AS x, n_1.last_number FROM n_1 CROSS JOIN digits WHERE n_1.x + 1 * "
     "digits.digit <= n_1.last_number), n AS (SELECT n_0.x FROM n_0 WHERE n_0.x > 0) "
     "SELECT x FROM n"),
    ("doubles", "spark", "SELECT 0.5 * x AS y FROM t",
     "SELECT CAST(0.5 AS DOUBLE) * x AS y FROM t"),
    ("doubles", "postgres", "SELECT x / 1e15 AS y FROM t",
     "SELECT CAST(x AS DOUBLE PRECISION) / CAST(1e15 AS DOUBLE PRECISION) AS y FROM t"),
    ("doubles", "trino", "SELECT 10 * x AS y FROM t", "SELECT 10 * x AS y FROM t"),
    ("divisions", "postgres", "SELECT a / b AS y FROM t",
     "SELECT CAST(a AS DOUBLE PRECISION) / NULLIF(b, 0) AS y FROM t"),
    # one in another: both divide doubles
    ("divisions", "redshift", "SELECT (a / b) / 2 AS y FROM t",
     "SELECT (CAST(a AS DOUBLE PRECISION) / NULLIF(b, 0)) / 2 AS y FROM t"),
    ("divisions", "datafusion", "SELECT sum(round(a / b)) / max(n) AS y FROM t",
     "SELECT CAST(SUM(ROUND(CAST(a AS DOUBLE PRECISION) / NULLIF(b, 0))) AS DOUBLE PRECISION) "
     "/ NULLIF(MAX(n), 0) AS y FROM t"),
    ("divisions", "trino", "SELECT a / nullif(b, 0) AS y FROM t",
     "SELECT CAST(a AS DOUBLE) / NULLIF(b, 0) AS y FROM t"),
    ("divisions", "spark", "SELECT a / CAST(b AS DOUBLE) AS y FROM t",
     "SELECT CAST(a AS DOUBLE) / NULLIF(CAST(b AS DOUBLE), 0) AS y FROM t"),
    ("wide_integers", "spark", "SELECT sum(CAST(x AS HUGEINT)) AS y FROM t",
     "SELECT SUM(CAST(x AS DECIMAL(38, 0))) AS y FROM t"),
    ("wide_integers", "bigquery", "SELECT sum(CAST(x AS HUGEINT)) AS y FROM t",
     "SELECT SUM(CAST(x AS BIGNUMERIC)) AS y FROM t"),
    ("wide_integers", "clickhouse", "SELECT sum(CAST(x AS HUGEINT)) AS y FROM t",
     "SELECT SUM(CAST(x AS Nullable(Int128))) AS y FROM t"),
    ("tiny_reals", "postgres", "SELECT CAST(x AS FLOAT) AS y FROM t",
     "SELECT CAST(CASE WHEN ABS(x) <= CAST(7.006492321624085e-46 AS DOUBLE PRECISION) THEN 0 "
     "ELSE x END AS REAL) AS y FROM t"),
    ("partitions_of_fractions", "bigquery",
     "SELECT count(*) OVER (PARTITION BY user_id, t.score) AS n FROM t",
     "SELECT COUNT(*) OVER (PARTITION BY user_id, CAST(t.score AS STRING)) AS n FROM t"),
    ("least_of_known", "trino", "SELECT least(k, n) AS y FROM t",
     "SELECT LEAST(COALESCE(k, n), COALESCE(n, k)) AS y FROM t"),
    ("least_of_known", "bigquery", "SELECT greatest(5, n) AS y FROM t",
     "SELECT GREATEST(5, COALESCE(n, 5)) AS y FROM t"),
    ("binary_logarithms", "postgres", "SELECT log2(x) AS y FROM t",
     "SELECT (LN(NULLIF(CAST(x AS DOUBLE PRECISION), 0)) / LN(CAST(2 AS DOUBLE PRECISION))) AS y "
     "FROM t"),
    ("binary_logarithms", "clickhouse", "SELECT log2(x) AS y FROM t", "SELECT log2(x) AS y FROM t"),
    ("known_logarithms", "bigquery", "SELECT log2(x) AS y FROM t", "SELECT LOG(x, 2) AS y FROM t"),
    ("filters", "snowflake", "SELECT count(*) FILTER (WHERE a > 1) AS y FROM t",
     "SELECT COUNT(CASE WHEN a > 1 THEN 1 END) AS y FROM t"),
    ("filters", "redshift", "SELECT stddev_samp(x) FILTER (WHERE a > 1) AS y FROM t",
     "SELECT STDDEV_SAMP(CASE WHEN a > 1 THEN x END) AS y FROM t"),
    ("filters", "trino", "SELECT count(DISTINCT x) FILTER (WHERE a > 1) AS y FROM t",
     "SELECT COUNT(DISTINCT CASE WHEN a > 1 THEN x END) AS y FROM t"),
    ("quantiles", "spark", "SELECT median(x) AS y FROM t",
     "SELECT PERCENTILE(x, CAST(0.5 AS DOUBLE)) AS y FROM t"),
    ("quantiles", "spark", "SELECT quantile_disc(x, 0.9) AS y FROM t",
     "SELECT PERCENTILE_DISC(CAST(0.9 AS DOUBLE)) WITHIN GROUP (ORDER BY x) AS y FROM t"),
    ("quantiles", "postgres", "SELECT quantile_cont(x, 0.9) AS y FROM t",
     "SELECT PERCENTILE_CONT(CAST(0.9 AS DOUBLE PRECISION)) WITHIN GROUP (ORDER BY x) AS y FROM t"),
    ("quantiles", "clickhouse", "SELECT quantile_cont(x, 0.9) AS y FROM t",
     "SELECT quantileExactInclusive(0.9)(x) AS y FROM t"),
    ("quantiles", "clickhouse", "SELECT quantile_disc(x, 0.5) AS y FROM t",
     "SELECT quantileExactLow(0.5)(x) AS y FROM t"),
    # the smallest value whose share of values up to it is at least 0.9
    ("quantiles", "clickhouse", "SELECT quantile_disc(x, 0.9) AS y FROM t",
     "SELECT CASE WHEN CAST(COUNT(x) AS Nullable(Int64)) > 0 THEN "
     "arrayElement(arraySort(groupArray(x)), toInt64(GREATEST(1, CAST(COUNT(x) AS Nullable(Int64)) "
     "- FLOOR(CAST(COUNT(x) AS Nullable(Int64)) - CAST(COUNT(x) AS Nullable(Int64)) * 0.9)))) END "
     "AS y FROM t"),
    ("deviations_of_one", "clickhouse", "SELECT stddev_pop(x) AS y FROM t",
     "SELECT stddevPopStable(x) AS y FROM t"),
    ("deviations_of_one", "clickhouse", "SELECT stddev_samp(x) AS y FROM t",
     "SELECT CASE WHEN CAST(COUNT(x) AS Nullable(Int64)) > 1 THEN stddevSampStable(x) END AS y "
     "FROM t"),
    ("signed_counts", "clickhouse", "SELECT row_number() OVER (ORDER BY x) - 1 AS y FROM t",
     "SELECT CAST(ROW_NUMBER() OVER (ORDER BY x) AS Nullable(Int64)) - 1 AS y FROM t"),
    ("signed_counts", "datafusion", "SELECT rank() OVER (ORDER BY x) - 2 AS y FROM t",
     "SELECT CAST(RANK() OVER (ORDER BY x) AS BIGINT) - 2 AS y FROM t"),
    ("keys_of_cross_joins", "datafusion", "SELECT u.id AS user_id, n + 1 AS m FROM u CROSS JOIN n",
     "SELECT NULLIF(u.id, NULL) AS user_id, n + 1 AS m FROM u CROSS JOIN n"),
    ("unseen_values", "clickhouse", "SELECT sum(CAST(round((n) * 1e15) AS HUGEINT)) AS y FROM t",
     "SELECT SUM(accurateCastOrNull(ROUND(CAST(n AS Nullable(Float64)) * "
     "CAST(1e15 AS Nullable(Float64))), 'Int128')) AS y FROM t"),
    ("unseen_values", "clickhouse", "SELECT sum(CAST(round(x) AS HUGEINT)) AS y FROM t",
     "SELECT SUM(accurateCastOrNull(ROUND(x), 'Int128')) AS y FROM t"),
    ("tiny_powers", "postgres", "SELECT pow(2, a - b) AS y FROM t",
     "SELECT POWER(2, GREATEST(a - b, -1000)) AS y FROM t"),
    ("tiny_exponentials", "postgres", "SELECT exp(a) AS y, exp(greatest(a, -700)) AS z FROM t",
     "SELECT CASE WHEN a < -600 THEN CAST(0 AS DOUBLE PRECISION) ELSE EXP(a) END AS y, "
     "EXP(GREATEST(a, -700)) AS z FROM t"),
    ("types", "postgres", "SELECT typeof(a = b) AS y FROM t",
     "SELECT CAST(PG_TYPEOF(a = b) AS TEXT) AS y FROM t"),
    ("queries_in_from", "postgres",
     "SELECT a FROM (SELECT a FROM t) INNER JOIN (SELECT b FROM u) ON a = b",
     "SELECT a FROM (SELECT a FROM t) AS source_2 INNER JOIN (SELECT b FROM u) AS source_1 "
     "ON a = b"),
    ("collations", "spark", 'SELECT row_number() OVER (ORDER BY a COLLATE "C" DESC) AS y FROM t',
     "SELECT ROW_NUMBER() OVER (ORDER BY a DESC) AS y FROM t"),
    ("lists", "spark",
     "SELECT entry.value AS v, entry.place AS p FROM t AS source "
     "CROSS JOIN unnest(source.xs) WITH ORDINALITY AS entry (value, place)",
     "SELECT entry.value AS v, (entry.place + 1) AS p FROM t AS source "
     "LATERAL VIEW POSEXPLODE(source.xs) entry AS place, value"),
    ("rows_of_lists", "trino",
     "SELECT u, unnest(xs) AS v, generate_subscripts(xs, 1) AS p FROM t AS source "
     "WHERE source.n > 1",
     "SELECT u, entry.value AS v, entry.place AS p FROM t AS source "
     "CROSS JOIN UNNEST(source.xs) WITH ORDINALITY AS entry(value, place) WHERE source.n > 1"),
    ("rows_of_lists", "spark", "SELECT u, unnest(xs) AS v FROM t",
     "SELECT u, entry.value AS v FROM t AS source "
     "LATERAL VIEW POSEXPLODE(source.xs) entry AS place, value"),
    ("rows_of_lists", "bigquery", "SELECT unnest(CAST(xs AS DOUBLE[])) AS v FROM t",
     "SELECT CAST(value AS FLOAT64) AS v FROM t AS source "
     "CROSS JOIN UNNEST(source.xs) AS value WITH OFFSET AS place"),
    ("rows_of_lists", "postgres",
     "SELECT i, generate_subscripts(CASE WHEN coalesce(a, b) IS NOT NULL THEN CAST([a, b] AS "
     "DOUBLE[]) END, 1) AS p, unnest(CASE WHEN coalesce(a, b) IS NOT NULL THEN CAST([a, b] AS "
     "DOUBLE[]) END) AS v FROM t",
     "SELECT i, 1 AS p, CAST(a AS DOUBLE PRECISION) AS v FROM t "
     "WHERE a IS NOT NULL OR b IS NOT NULL "
     "UNION ALL SELECT i, 2 AS p, CAST(b AS DOUBLE PRECISION) AS v FROM t "
     "WHERE a IS NOT NULL OR b IS NOT NULL"),
    ("weeks_from_monday", "bigquery", "SELECT date_trunc('week', CAST(x AS DATE)) AS y FROM t",
     "SELECT DATE_TRUNC(CAST(x AS DATE), ISOWEEK) AS y FROM t"),
    ("differences_of_times", "snowflake",
     "SELECT date_diff('millisecond', CAST(a AS TIMESTAMP), CAST(b AS TIMESTAMP)) AS y FROM t",
     "SELECT DATEDIFF(MILLISECOND, CAST(a AS DATETIME), CAST(b AS DATETIME)) AS y FROM t"),
    ("differences_of_times", "bigquery",
     "SELECT date_diff('millisecond', CAST(a AS TIMESTAMP), CAST(b AS TIMESTAMP)) AS y FROM t",
     "SELECT DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), MILLISECOND) AS y FROM t"),
    ("whole_milliseconds", "spark",
     "SELECT date_diff('millisecond', CAST(a AS TIMESTAMP), CAST(b AS TIMESTAMP)) AS y FROM t",
     "SELECT (FLOOR(DATEDIFF(MICROSECOND, CAST('1970-01-01' AS TIMESTAMP_NTZ), CAST(b AS "
     "TIMESTAMP_NTZ)) / 1000) - FLOOR(DATEDIFF(MICROSECOND, CAST('1970-01-01' AS TIMESTAMP_NTZ), "
     "CAST(a AS TIMESTAMP_NTZ)) / 1000)) AS y FROM t"),
    ("whole_milliseconds", "trino",
     "SELECT date_diff('millisecond', CAST(a AS TIMESTAMP), CAST(b AS TIMESTAMP)) AS y FROM t",
     "SELECT DATE_DIFF('MILLISECOND', DATE_TRUNC('MILLISECOND', CAST(a AS TIMESTAMP(6))), "
     "DATE_TRUNC('MILLISECOND', CAST(b AS TIMESTAMP(6)))) AS y FROM t"),
    ("whole_milliseconds", "datafusion",
     "SELECT date_diff('millisecond', CAST(a AS TIMESTAMP), CAST(b AS TIMESTAMP)) AS y FROM t",
     "SELECT (CAST(DATE_TRUNC('MILLISECOND', CAST(b AS TIMESTAMP)) AS BIGINT) / 1000000 - "
     "CAST(DATE_TRUNC('MILLISECOND', CAST(a AS TIMESTAMP)) AS BIGINT) / 1000000) AS y FROM t"),
    ("times_in_utc", "snowflake", "SELECT make_timestamp(epoch_us(x)) AS y FROM t",
     "SELECT CONVERT_TIMEZONE('UTC', x) AS y FROM t"),
    ("times_in_utc", "clickhouse", "SELECT make_timestamp(epoch_us(x)) AS y FROM t",
     "SELECT toTimeZone(x, 'UTC') AS y FROM t"),
    ("times_in_utc", "bigquery", "SELECT make_timestamp(epoch_us(x)) AS y FROM t",
     "SELECT x AS y FROM t"),
    ("times_in_utc", "postgres", "SELECT make_timestamp(epoch_us(x)) AS y FROM t",
     "SELECT x AT TIME ZONE 'UTC' AS y FROM t"),
    ("frames_of_equal_rows", "redshift",
     "SELECT count(*) OVER (PARTITION BY u ORDER BY x RANGE BETWEEN UNBOUNDED PRECEDING AND "
     "CURRENT ROW) AS y FROM t",
     "SELECT (COUNT(*) OVER (PARTITION BY u) + 1 - RANK() OVER (PARTITION BY u ORDER BY x DESC)) "
     "AS y FROM t"),
    ("microseconds", "clickhouse", "SELECT CAST(x AS TIMESTAMP) AS y FROM t",
     "SELECT CAST(x AS Nullable(DateTime64(6, 'UTC'))) AS y FROM t"),
    ("microseconds", "clickhouse", "SELECT x > TIMESTAMP '2024-01-01 00:00:00.5' AS y FROM t",
     "SELECT x > CAST('2024-01-01 00:00:00.5' AS Nullable(DateTime64(6, 'UTC'))) AS y FROM t"),
    ("types", "clickhouse", "SELECT typeof(x) AS y FROM t",
     "SELECT CASE WHEN toTypeName(x) IN ('Bool', 'LowCardinality(Bool)', 'Nullable(Bool)', "
     "'LowCardinality(Nullable(Bool))', 'UInt8', 'LowCardinality(UInt8)', 'Nullable(UInt8)', "
     "'LowCardinality(Nullable(UInt8))') "
     "THEN 'BOOLEAN' ELSE toTypeName(x) END AS y FROM t"),
    ("aliases", "clickhouse", "SELECT a.x, b.y + 1 AS z FROM a INNER JOIN b ON a.x = b.x",
     "SELECT a.x AS x, b.y + 1 AS z FROM a INNER JOIN b ON a.x = b.x"),
    ("places_of_nulls", "bigquery",
     "SELECT row_number() OVER (ORDER BY min(x), k) AS z FROM t GROUP BY k",
     "SELECT ROW_NUMBER() OVER (ORDER BY MIN(x) IS NULL, MIN(x), k) AS z FROM t GROUP BY k"),
    ("places_of_nulls", "bigquery",
     "SELECT row_number() OVER (ORDER BY b DESC, rank, item_id) AS y FROM t",
     "SELECT ROW_NUMBER() OVER (ORDER BY b DESC, rank, item_id) AS y FROM t"),
    ("places_of_nulls", "bigquery",
     "SELECT row_number() OVER (ORDER BY CASE WHEN rank > 2 THEN rank END, a DESC NULLS FIRST) "
     "AS y FROM t",
     "SELECT ROW_NUMBER() OVER (ORDER BY CASE WHEN rank > 2 THEN rank END IS NULL, "
     "CASE WHEN rank > 2 THEN rank END, a IS NULL DESC, a DESC) AS y FROM t"),
    ("tables", "bigquery", "SELECT r.x FROM {table:my-shop.ml.recs} AS r",
     "SELECT r.x FROM my-shop.ml.recs AS r"),
    ("tables", "snowflake", "SELECT r.x FROM {table:\"Shop\".recs} AS r",
     'SELECT r.x FROM "Shop".recs AS r'),
    ("tables", "duckdb", "SELECT r.x FROM {table:{{ ref('recs') }}} AS r",
     "SELECT r.x FROM {{ ref('recs') }} AS r"),
    ("reserved_words", "datafusion", "SELECT a, t.sort AS top FROM t",
     'SELECT a, t."sort" AS "top" FROM t'),
]  # fmt: skip
REFUSED = [
    ("single_precision", "snowflake", "SELECT CAST(x AS REAL) AS y FROM t", "single-precision"),
    ("quantiles", "trino", "SELECT median(x) AS y FROM t", "no exact quantile"),
    ("recursion", "redshift",
     "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 9) "
     "SELECT i FROM n", "recursive"),
    ("lists", "snowflake",
     "SELECT entry.value AS v FROM t AS source "
     "CROSS JOIN unnest(source.xs) WITH ORDINALITY AS entry (value, place)", "one row per value"),
    ("quantiles", "redshift", "SELECT median(x) AS y FROM t", "no exact quantile"),
    ("tables", "postgres", "SELECT r.x FROM {table:select 1} AS r", "is not a table name"),
    ("tables", "snowflake", "SELECT r.x FROM {table:t AT(OFFSET => -60)} AS r",
     "is not a table name"),
    ("tables", "snowflake", "SELECT r.x FROM {table:t PIVOT(max(a) FOR b IN ('c'))} AS r",
     "is not a table name"),
    ("tables", "databricks", "SELECT r.x FROM {table:t TIMESTAMP AS OF \"x\"} AS r",
     "is not a table name"),
]  # fmt: skip


def tree_of(query: str) -> sqlglot.exp.Expr:
    start, brace, rest = query.partition("{table:")
    if brace:
        given, _, end = rest.rpartition("} AS r")
        query = f"{start}{names.table(given)} AS r{end}"
    tree: sqlglot.exp.Expr = sqlglot.exp.Paren(this=sqlglot.parse_one(query, read="duckdb"))
    for node in list(tree.find_all(sqlglot.exp.Log)):
        arithmetic.native_log2(node)  # as the planner does
    return tree.this


def text_of(query: str, dialect: str) -> str:
    return printed(tree_of(query), dialect, pretty=False, is_input=True)


@pytest.mark.parametrize(("name", "dialect", "query", "expected"), PRINTED)
def test_pass(name: str, dialect: str, query: str, expected: str) -> None:
    assert text_of(query, dialect) == expected, name


@pytest.mark.parametrize(("name", "dialect", "query", "why"), REFUSED)
def test_pass_refuses(name: str, dialect: str, query: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        pytest.fail(f"{name} lets through: {text_of(query, dialect)}")


@pytest.mark.parametrize("one", PASSES, ids=lambda one: one.name)
def test_no_pass_is_idle(one: transpile.Pass, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pass, at least one of its queries is printed in another way, or not refused."""
    monkeypatch.setattr(transpile, "PASSES", [other for other in PASSES if other is not one])
    printed_else = [
        text_of(query, dialect) != expected
        for name, dialect, query, expected in PRINTED
        if name == one.name
    ]
    let_through = []
    for name, dialect, query, why in REFUSED:
        if name == one.name:
            try:
                let_through.append(bool(text_of(query, dialect)))
            except UsageError as error:
                let_through.append(why not in str(error))
    assert any([*printed_else, *let_through])
    assert one.reason


def test_trees_are_left_as_they_were() -> None:
    tree = tree_of("SELECT a / b AS y, median(x) AS m FROM t")
    before = tree.sql("duckdb")
    for dialect in ("postgres", "spark", "clickhouse", "duckdb"):
        printed(tree, dialect)
    assert tree.sql("duckdb") == before


def test_what_is_not_portable_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"snowflake: UNNEST.*instead"):
        printed(sqlglot.parse_one("SELECT unnest(xs) AS x FROM t", read="duckdb"), "snowflake")


def test_settings_end_the_statement_of_clickhouse_only() -> None:
    assert "join_use_nulls = 1" in dialects.settings("clickhouse")
    assert not any(dialects.settings(one) for one in DIALECTS if one != "clickhouse")


def test_sqlglot_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """What it does not know is refused by a message of ours, or means the same without it."""
    with pytest.raises(TemplateError, match="a template must be a single SELECT"):
        parse("SHOW x", "here")
    tree = parse("SELECT any_value(x ORDER BY y) AS z FROM t", "here")
    assert "any_value(x ORDER BY y)" in transpile.printed(tree, "duckdb", pretty=False)
    with pytest.raises(UsageError, match="duckdb: IGNORE NULLS is not supported"):
        transpile.printed(parse("SELECT max(x IGNORE NULLS) AS z FROM t", "here"), "duckdb")
    assert not caplog.records


def test_means_inside_of_means_are_means_of_doubles() -> None:
    tree = sqlglot.parse_one("SELECT avg(avg(x)) OVER () AS y FROM t GROUP BY k", dialect="duckdb")
    arithmetic.means_of_doubles(tree)
    assert tree.sql("redshift") == (
        "SELECT AVG(CAST(AVG(CAST(x AS DOUBLE PRECISION)) AS DOUBLE PRECISION)) OVER () AS y "
        "FROM t GROUP BY k"
    )
