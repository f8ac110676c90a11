"""Queries are in the SQL that means the same everywhere, and give the same numbers.

The templates in all their choices are checked in test_templates.py.

DuckDB has alternatives of its own for some queries; other engines run the templates as they are, or
other alternatives. DuckDB can run both: here it does, and finds the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sqlglot

import sqlmetrics as sm
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.sql.portable import RULES, problems
from sqlmetrics.sql.query_graph import Query
from sqlmetrics.sql.transpile import printed
from tests.support.calls import replan
from tests.support.evaluators import Evaluator
from tests.support.templates import nodes_of, plans_of_calls, text_in_plan

OTHER = "spark"  # of all dialects, the one with most alternatives that are printed


# ---------------------------------------------------------------- templates keep to the rules


def parsed(sql: str) -> sqlglot.exp.Expr:
    return sqlglot.parse_one(sql, read="duckdb")


def test_queries_of_results_are_portable() -> None:
    """Those that put values together, and those that the planner makes of metrics that share."""
    seen = 0
    for label, node in nodes_of(plans_of_calls(OTHER)).values():
        if not node.is_input:
            seen += 1
            tree = node.tree if isinstance(node, Query) else parsed(text_in_plan(node))
            assert problems(tree) == [], f"{node.name}: {label}"
    assert seen > 100


# ---------------------------------------------------------------- the rules

BAD = [
    ("rows as a list", "SELECT list(a ORDER BY b) AS x FROM t"),
    ("rows as a list", "SELECT array_agg(a) AS x FROM t"),
    ("rows as a list", "SELECT string_agg(a, ', ') AS x FROM t"),
    ("list, struct or map", "SELECT [a, b] AS x FROM t"),
    ("list, struct or map", "SELECT a[1] AS x FROM t"),
    ("list, struct or map", "SELECT {'a': b} AS x FROM t"),
    ("list, struct or map", "SELECT map {'a': b} AS x FROM t"),
    ("function of lists", "SELECT list_sum(a) AS x FROM t"),
    ("function of lists", "SELECT list_transform(a, lambda b: b + 1) AS x FROM t"),
    ("function of lists", "SELECT array_length(a) AS x FROM t"),
    ("rows from a function", "SELECT unnest(a) AS x FROM t"),
    ("rows from a function", "SELECT unnest(generate_series(1, 3)) AS x"),
    ("rows from a function", "WITH t AS (SELECT unnest(range(1, 3)) AS x) SELECT x FROM t"),
    ("rows from a function", "SELECT r.x FROM range(3) AS r (x)"),
    ("rows from a function", "SELECT r.x FROM generate_series(1, 3) AS r (x)"),
    ("rows from a function", "SELECT u.x FROM t CROSS JOIN unnest(t.a) AS u (x)"),
    ("rows from a function", "SELECT f.x FROM read_parquet('f.parquet') AS f"),
    ("arg_max", "SELECT arg_max(a, b) AS x FROM t"),
    ("arg_max", "SELECT max_by(a, b, 3) AS x FROM t"),
    ("arg_max", "SELECT arg_min(a, b) AS x FROM t"),
    ("hash or random number", "SELECT hash(a) AS x FROM t"),
    ("hash or random number", "SELECT random() AS x FROM t"),
    ("any value", "SELECT any_value(a) AS x FROM t"),
    ("any value", "SELECT first(a) AS x FROM t"),
    ("any value", "SELECT last(a ORDER BY b) AS x FROM t"),
    ("GROUP BY without names", "SELECT a, count(*) AS x FROM t GROUP BY ALL"),
    ("GROUP BY without names", "SELECT a, count(*) AS x FROM t GROUP BY 1"),
    ("ORDER BY without names", "SELECT a FROM t ORDER BY 1"),
    ("ORDER BY without names", "SELECT a FROM t ORDER BY ALL"),
    ("ORDER BY without names", "SELECT row_number() OVER (ORDER BY 1) AS x FROM t"),
    ("GROUP BY a name with two meanings", "SELECT floor(a) AS a, sum(b) AS x FROM t GROUP BY a"),
    ("GROUP BY a name with two meanings", "SELECT sum(a) AS a FROM t HAVING min(a) > 0"),
    ("USING or NATURAL", "SELECT a FROM t INNER JOIN s USING (a)"),
    ("USING or NATURAL", "SELECT a FROM t NATURAL JOIN s"),
    ("SEMI or ANTI join", "SELECT t.a FROM t SEMI JOIN s ON t.a = s.a"),
    ("SEMI or ANTI join", "SELECT t.a FROM t ANTI JOIN s ON t.a = s.a"),
    ("POSITIONAL or ASOF join", "SELECT t.a FROM t POSITIONAL JOIN s"),
    ("POSITIONAL or ASOF join", "SELECT t.a FROM t ASOF JOIN s ON t.a >= s.a"),
    ("join without an equality", "SELECT t.a FROM t INNER JOIN s ON t.a < s.a"),
    ("join without an equality", "SELECT t.a FROM t LEFT JOIN s ON t.a = s.a OR s.a IS NULL"),
    ("QUALIFY", "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1"),
    ("DISTINCT ON", "SELECT DISTINCT ON (a) a, b FROM t"),
    ("DISTINCT of several columns", "SELECT count(DISTINCT (a, b)) AS x FROM t"),
    ("DISTINCT of several columns", "SELECT count(DISTINCT a, b) AS x FROM t"),
    ("PIVOT or UNPIVOT", "SELECT a FROM t PIVOT (sum(b) FOR c IN (1, 2))"),
    ("PIVOT or UNPIVOT", "SELECT a FROM t UNPIVOT (b FOR c IN (d, e))"),
    ("quantile", "SELECT quantile(a, 0.5) AS x FROM t"),
    ("quantile", "SELECT approx_quantile(a, 0.5) AS x FROM t"),
    ("quantile", "SELECT mode(a) AS x FROM t"),
    ("quantile", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS x FROM t"),
    ("whole division", "SELECT a // b AS x FROM t"),
    ("logarithm", "SELECT log(a) AS x FROM t"),
    ("logarithm", "SELECT log10(a) AS x FROM t"),
    ("round to digits", "SELECT round(a, 6) AS x FROM t"),
    ("FILTER on a window", "SELECT sum(a) FILTER (WHERE b > 0) OVER (PARTITION BY c) AS x FROM t"),
    ("DISTINCT or quantile in a window", "SELECT count(DISTINCT a) OVER () AS x FROM t"),
    ("DISTINCT or quantile in a window", "SELECT median(a) OVER (PARTITION BY b) AS x FROM t"),
    ("named window", "SELECT count(*) OVER w AS x FROM t WINDOW w AS (PARTITION BY a)"),
    ("window without a frame", "SELECT sum(a) OVER (PARTITION BY b ORDER BY c) AS x FROM t"),
    ("window without a frame", "SELECT first_value(a) OVER (ORDER BY c) AS x FROM t"),
    (
        "frame by groups",
        "SELECT sum(a) OVER (ORDER BY b GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM t",
    ),
    (
        "RANGE without count",
        "SELECT sum(a) OVER (ORDER BY b RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS x "
        "FROM t",
    ),
    ("numbering without an order", "SELECT row_number() OVER () AS x FROM t"),
    ("numbering without an order", "SELECT rank() OVER (PARTITION BY a) AS x FROM t"),
    ("test for NaN", "SELECT a FROM t WHERE isnan(a)"),
    ("test for NaN", "SELECT a FROM t WHERE isinf(a)"),
    ("test for NaN", "SELECT a FROM t WHERE isfinite(a)"),
    ("part of a time", "SELECT extract(WEEK FROM a) AS x FROM t"),
    ("function of time", "SELECT strftime(a, '%Y-%m') AS x FROM t"),
    ("function of time", "SELECT date_trunc('month', a) AS x FROM t"),
    ("function of time", "SELECT epoch_us(a) AS x FROM t"),
    ("function of time", "SELECT epoch_ms(a) AS x FROM t"),
    ("function of time", "SELECT make_timestamp(a) AS x FROM t"),
    ("function of time", "SELECT now() AS x FROM t"),
    ("fraction as a whole number", "SELECT CAST(a / b AS BIGINT) AS x FROM t"),
    ("fraction as a whole number", "SELECT CAST(score AS INTEGER) AS x FROM t"),
    ("fraction as a whole number", "SELECT CAST(2.7 AS INTEGER) AS x FROM t"),
    ("fraction as a whole number", "SELECT CAST(floor(a) / 2 AS INTEGER) AS x FROM t"),
    ("TRY_CAST", "SELECT TRY_CAST(a AS BIGINT) AS x FROM t"),
    ("type", "SELECT CAST(a AS DECIMAL(10, 2)) AS x FROM t"),
    ("type", "SELECT CAST(a AS DOUBLE[]) AS x FROM t"),
    ("type", "SELECT CAST(a AS UBIGINT) AS x FROM t"),
    ("SELECT *", "SELECT * FROM t"),
    ("SELECT *", "SELECT t.*, 1 AS x FROM t"),
    ("SELECT *", "FROM t"),
    ("query without a name", "SELECT a FROM (SELECT a FROM t)"),
    ("columns by name", "SELECT a FROM t UNION ALL BY NAME SELECT a FROM s"),
    ("unknown function", "SELECT bit_count(a) AS x FROM t"),
    ("unknown function", "SELECT error('no') AS x FROM t"),
    ("unknown function", "SELECT concat(a, b) AS x FROM t"),
    ("unknown function", "SELECT sign(a) AS x FROM t"),
    ("unknown function", "SELECT list_cosine_distance(a, b) AS x FROM t"),
    ("unknown construct", "SELECT a & b AS x FROM t"),
    ("unknown construct", "SELECT a FROM t WHERE b ILIKE 'x'"),
    ("unknown construct", "SELECT a FROM t WHERE b IS NOT DISTINCT FROM c"),
    ("unknown construct", "SELECT a FROM t TABLESAMPLE 10%"),
]  # fmt: skip


def test_rules_find_what_is_not_portable() -> None:
    found = {sql: {problem.rule for problem in problems(parsed(sql))} for _, sql in BAD}
    assert found == {sql: {rule} for rule, sql in BAD}
    assert {rule for rule, _ in BAD} == {rule.name for rule in RULES}, "each has an example"


GOOD = [
    "SELECT t.a, s.b FROM t INNER JOIN s ON t.a = s.a AND t.b < s.b ORDER BY t.a, s.b",
    "SELECT t.a FROM t LEFT JOIN s ON coalesce(t.a, 0) = s.a WHERE s.a IS NULL",
    "SELECT t.a FROM t CROSS JOIN s WHERE t.a < s.a OR s.a IS NULL",
    "SELECT t.a FROM t WHERE EXISTS (SELECT 1 AS x FROM s WHERE s.a = t.a)",
    "SELECT t.a FROM t WHERE t.a IN (SELECT s.a FROM s) AND t.b BETWEEN 1 AND 2",
    "SELECT a, count(*) AS n, count(DISTINCT b) AS m FROM t GROUP BY a HAVING count(*) > 1",
    "SELECT t.a + 1 AS a, count(*) AS n FROM t GROUP BY t.a",
    "SELECT DISTINCT a FROM t UNION ALL SELECT 1 AS a",
    "SELECT v.a FROM (VALUES (1), (2)) AS v (a)",
    "WITH s AS (SELECT a FROM t) SELECT a FROM s LIMIT 5",
    "WITH s AS (SELECT unnest(generate_series(1, 3)) AS a) SELECT a FROM s",
    "WITH RECURSIVE s AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM s) SELECT a FROM s",
    "SELECT row_number() OVER (PARTITION BY a ORDER BY b DESC NULLS LAST) AS x FROM t",
    "SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS x FROM t",
    "SELECT max(a) OVER (PARTITION BY b) AS x, count(*) OVER () AS y FROM t",
    "SELECT sum(CAST(round(a * 1e15) AS HUGEINT)) / 1e15 AS x FROM t",
    "SELECT CAST(floor(a / b) AS BIGINT) AS x, CAST(count(a / b) AS INTEGER) AS y FROM t",
    "SELECT CAST(rank AS BIGINT) AS x, CAST(NULL AS INTEGER) AS y, CAST(a AS VARCHAR) AS z FROM t",
    "SELECT median(a) AS x, quantile_cont(a, 0.9) AS y, quantile_disc(a, 0.9) AS z FROM t",
    "SELECT sum(a) FILTER (WHERE b > 0) AS x, log2(a) AS y, ln(a) AS z FROM t",
    "SELECT least(a, b) AS x, greatest(a, 0.5) AS y, pow(2, a) AS z, a % 7 AS w FROM t",
    "SELECT md5('1:' || CAST(a AS VARCHAR)) AS x, strpos('abc', substring(b, 1, 1)) AS y FROM t",
    "SELECT extract(YEAR FROM a) AS x, extract(MONTH FROM a) AS y FROM t",
    "SELECT a FROM t WHERE a IS NULL OR NOT (a - a = 0)",
    "SELECT a FROM t WHERE b LIKE 'x%' AND NOT c AND d <> 1",
    'SELECT a FROM t ORDER BY a COLLATE "C"',
]  # fmt: skip


def test_rules_leave_the_rest_alone() -> None:
    assert {sql: found for sql in GOOD if (found := problems(parsed(sql)))} == {}


def test_a_problem_says_what_to_do() -> None:
    (found,) = problems(parsed("SELECT any_value(a) AS x FROM t"))
    assert found.found == "ANY_VALUE(a)"
    assert found.instead == "use min() or max()"
    (found,) = problems(parsed(f"SELECT list({'a' * 500}) AS x FROM t"))
    assert len(found.found) <= 60
    assert found.found.endswith(" …")
    for rule in RULES:  # they end up in one sentence
        assert rule.why
        assert rule.instead
        assert not rule.why.endswith(".")
        assert not rule.instead.endswith(".")


# ---------------------------------------------------------------- numbers


COUNTED = (
    "WITH numbers AS (SELECT unnest(generate_series(1, {last})) AS number) "
    "SELECT number FROM numbers"
)


@pytest.mark.parametrize("n", [1, 9, 10, 11, 99, 100, 101, 999, 12345])
@pytest.mark.parametrize("dialect", ["duckdb", "trino"])
@pytest.mark.parametrize("known", [True, False])
def test_numbers_are_counted_without_gaps(n: int, dialect: str, known: bool) -> None:
    last = n if known else f"greatest(1, (SELECT max(n) FROM (VALUES ({n}), (1)) AS v (n)))"
    text = printed(parsed(COUNTED.format(last=last)), dialect)
    assert ("generate_series" in text.lower()) == (dialect == "duckdb")
    rows = duckdb.execute(f"SELECT number FROM ({text}) ORDER BY number").fetchall()
    assert rows == [(number,) for number in range(1, n + 1)]


def test_numbers_reach_one_that_is_known() -> None:
    """An expression gets seven digits, and more where a larger number is known to be in it."""
    small, large = (
        printed(parsed(COUNTED.format(last=f"greatest({known}, 2 + 3)")), "trino")
        for known in (10, 123456789)
    )
    assert "100000000 * digits.digit" not in small
    assert "1000000 * digits.digit" in small
    assert "100000000 * digits.digit" in large


def test_numbers_are_counted_twice_in_a_query() -> None:
    text = printed(
        parsed(
            "WITH a AS (SELECT unnest(generate_series(1, 12)) AS x), "
            "b AS (SELECT unnest(generate_series(1, 3)) AS x) "
            "SELECT a.x + 100 * b.x AS x FROM a CROSS JOIN b"
        ),
        "trino",
    )
    rows = duckdb.execute(f"SELECT x FROM ({text}) ORDER BY x").fetchall()
    assert rows == [(a + 100 * b,) for b in range(1, 4) for a in range(1, 13)]


# ---------------------------------------------------------------- both forms give the same

USERS, ITEMS = 60, 40
LIST = 15


def small_world(rng: np.random.Generator) -> dict[str, Any]:
    """Draw tables with ties everywhere: in scores, grades, popularity and prices."""
    groups = rng.choice(["m", "n", "o"], ITEMS)
    items = pd.DataFrame(
        {
            "item_id": range(ITEMS),
            "price": rng.integers(1, 6, ITEMS) / 2,
            "category": rng.choice(["a", "b", "c"], ITEMS),
            "item_group": groups,
            "group_target": [{"m": 0.5, "n": 0.3, "o": 0.2}[group] for group in groups],
            "features": list(rng.integers(-2, 3, (ITEMS, 5)).astype(float)),
        }
    )

    def lists(columns: Mapping[str, Any], n: int = LIST) -> pd.DataFrame:
        rows = [
            (user, int(item))
            for user in range(USERS)
            for item in rng.choice(ITEMS, n, replace=False)
        ]
        frame = pd.DataFrame(rows, columns=["user_id", "item_id"])
        return frame.assign(**{name: draw(len(frame)) for name, draw in columns.items()})

    def scores(n: int) -> Any:
        return rng.integers(0, 5, n) / 4

    def times(n: int) -> Any:
        return pd.Timestamp("2023-11-28") + pd.to_timedelta(rng.integers(0, 120, n), unit="D")

    graded = {"relevance": lambda n: rng.integers(0, 5, n), "timestamp": times}
    aspects = pd.DataFrame(
        [(item, aspect) for item in range(ITEMS) for aspect in rng.choice(list("xyz"), 2)],
        columns=["item_id", "aspect"],
    )
    logs = {
        "reward": lambda n: rng.integers(0, 2, n),
        "propensity": lambda n: rng.integers(1, 5, n) / 4,
    }
    return {
        "recommendations": {"als": lists({"score": scores}), "popular": lists({"score": scores})},
        "interactions": lists(graded, 8),
        "history": lists({}, 12),
        "items": items,
        "users": pd.DataFrame(
            {"user_id": range(USERS), "country": rng.choice(["nl", "de", "fr"], USERS)}
        ),
        "aspects": aspects,
        "logs": lists(logs, 20),
        "baseline": "popular",
        "settings": {"relevant_from": 2},
    }


def portable(evaluator: sm.Evaluator, dialect: str = OTHER) -> sm.Evaluator:
    """Let an evaluator run the portable form of every query, in DuckDB."""
    replan(evaluator, dialect=dialect)
    return evaluator


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[sm.Evaluator, sm.Evaluator]]:
    world = small_world(np.random.default_rng(7))
    with Evaluator(**world, threads=1) as native, Evaluator(**world, threads=1) as other:
        yield native, portable(other)


def assert_same(native: pd.DataFrame, other: pd.DataFrame) -> None:
    assert len(native) > 0
    assert native.notna().to_numpy().any()
    # sums of doubles depend on the order of rows in their last digits
    pd.testing.assert_frame_equal(native, other, rtol=1e-12, atol=1e-13)


METRICS = [
    "all",
    "ndcg(gain=linear)", "ndcg(gain=exponential,ideal=all_relevant)", "map(divisor=all_positions)",
    "intra_list_diversity(over=category)", "inter_list_diversity(sample_users=20,runs=3)",
    "alpha_ndcg(alpha=0)", "spearman_rho(no_recommendations=drop)",
]  # fmt: skip


def test_all_metrics_are_the_same(both: tuple[sm.Evaluator, sm.Evaluator]) -> None:
    native, other = (one.evaluate(METRICS, k=[1, 4, 20]) for one in both)
    assert_same(native, other)


def test_whole_lists_are_the_same(both: tuple[sm.Evaluator, sm.Evaluator]) -> None:
    metrics = ["ndcg", "map(divisor=all_positions)", "recall", "auc", "kendall_tau", "ips"]
    native, other = (one.evaluate(metrics) for one in both)
    assert_same(native, other)


@pytest.mark.parametrize("order", ["x", "x DESC"])
def test_counts_without_frames_of_equal_rows_are_the_same(order: str) -> None:
    """Redshift has frames of rows alone."""
    tree = parsed(
        "SELECT u, x, count(*) OVER (PARTITION BY u ORDER BY "
        f"{order} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM t"
    )
    texts = [printed(tree, dialect) for dialect in ("duckdb", "redshift")]
    assert ["RANGE BETWEEN" in text for text in texts] == [True, False]
    rng = np.random.default_rng(7)
    with duckdb.connect() as connection:
        connection.register("t", pd.DataFrame({"u": rng.integers(0, 5, 90),
                                               "x": rng.integers(0, 9, 90)}))  # fmt: skip
        first, second = (sorted(connection.execute(text).fetchall()) for text in texts)
    assert first == second


def test_bootstrap_intervals_are_the_same(both: tuple[sm.Evaluator, sm.Evaluator]) -> None:
    native, other = (
        one.evaluate(["ndcg", "recall", "coverage", "auc"], k=[5, 10], ci="bootstrap",
                     resamples=120, run_ci=True)
        for one in both
    )  # fmt: skip
    assert native["ci_low"].notna().all()
    assert_same(native, other)


SLICES: list[dict[str, Any]] = [
    {"by": ["country", "activity_group(groups=3)"], "combinations": True},
    {"by": ["month"]},
    {"by": ["time(every=week)"]},
    {"by": ["time(every=quarter)"]},
    {"by": "activity(warm_from=10)", "by_item": ["popularity", "category"]},
]


@pytest.mark.parametrize("slices", SLICES, ids=str)
def test_slices_are_the_same(
    both: tuple[sm.Evaluator, sm.Evaluator], slices: Mapping[str, Any]
) -> None:
    native, other = (one.evaluate(["ndcg", "recall"], k=[5, 10], **slices) for one in both)
    assert_same(native, other)


def test_values_per_user_are_the_same(both: tuple[sm.Evaluator, sm.Evaluator]) -> None:
    metrics = ["ndcg", "map@5", "alpha_ndcg@3", "kendall_tau", "money_recall"]
    native, other = (one.per_user(metrics, k=[3, 10], by="country", long=True) for one in both)
    assert_same(native, other)


@pytest.mark.parametrize(
    "settings",
    [
        {"duplicate_recommendations": "cut_then_dedup", "duplicate_interactions": "set"},
        {"duplicate_recommendations": "join", "duplicate_interactions": "bag"},
        {"duplicate_recommendations": "keep", "duplicate_interactions": "bag_size"},
    ],
    ids=lambda settings: settings["duplicate_recommendations"],
)
def test_repeated_rows_come_to_the_same(settings: dict[str, str]) -> None:
    world = small_world(np.random.default_rng(8))
    for name in ("recommendations", "interactions"):
        tables = world[name] if name == "recommendations" else {"": world[name]}
        for model, table in tables.items():
            tables[model] = pd.concat([table, table.iloc[::3]], ignore_index=True)
        world[name] = tables if name == "recommendations" else tables[""]
    world["settings"] = {**world["settings"], **settings}
    metrics = ["precision", "recall", "ndcg", "map", "hit_rate"]
    if settings["duplicate_interactions"] == "bag_size":
        metrics.append("ndcg(gain=linear)")
    if settings["duplicate_recommendations"] == "join":
        metrics.remove("map")
    with Evaluator(**world, threads=1) as native, Evaluator(**world, threads=1) as other:
        assert_same(*(one.evaluate(metrics, k=[3, 10]) for one in (native, portable(other))))


WRONG: dict[str, tuple[list[float], dict[str, Any]]] = {
    "a score that is NaN": ([0.5, float("nan"), 0.1], {}),
    "a score that is infinite": ([0.5, float("inf"), 0.1], {}),
    "no score": ([0.5, None, 0.1], {}),  # type: ignore[list-item]
    "a rank that is no whole number": ([1, 2.5, 3], {"order": "rank"}),
    "a rank that is NaN": ([1, float("nan"), 3], {"order": "rank"}),
    "a rank that is infinite": ([1, float("inf"), 3], {"order": "rank"}),
    "a rank below 1": ([0, 1, 2], {"order": "rank"}),
    "a rank twice": ([1, 2, 2], {"order": "rank"}),
    "a high rank twice": ([1, 200, 200], {"order": "rank"}),
    "a gap": ([1, 2, 4], {"order": "rank"}),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_same_tables_are_refused(what: str) -> None:
    values, settings = WRONG[what]
    column = settings.get("order", "score")
    lists = pa.table({"user_id": [1, 1, 1], "item_id": [1, 2, 3], column: pa.array(values)})
    truth = pd.DataFrame({"user_id": [1], "item_id": [1]})
    messages = []
    for form in (lambda one: one, portable):
        with Evaluator(lists, truth, settings=settings) as evaluator:
            with pytest.raises(DataError) as refused:
                form(evaluator).evaluate("recall", k=3)
            messages.append(str(refused.value))
    assert messages[0] == messages[1]


# ---------------------------------------------------------------- what has no portable form


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.evaluate("alpha_ndcg"), "Give cutoffs"),
        (lambda one: one.evaluate("recall", k=5, by="month(unit=seconds)"), "a view with a time"),
    ],
)  # fmt: skip
def test_what_only_duckdb_is_asked_for_is_refused(call: Any, message: str) -> None:
    world = small_world(np.random.default_rng(9))
    seconds = world["interactions"]["timestamp"].astype("int64") // 10**6
    with Evaluator(**world, threads=1) as native:
        native.evaluate("alpha_ndcg")
    world["interactions"] = world["interactions"].assign(timestamp=seconds)
    with Evaluator(**world, threads=1) as other, pytest.raises(UsageError, match=message):
        call(portable(other))
