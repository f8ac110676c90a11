"""Queries that give the same rows when users are divided."""

from __future__ import annotations

import re

import duckdb
import pytest
import sqlglot

from sqlmetrics.partitions.locality import (
    OF_USERS,
    Locality,
    Readable,
    RowScope,
    aggregates_of,
    examine,
)

USERS = Readable(RowScope(of_users=True, keys={"u": 0}))
KNOWN = {
    "hits": USERS,
    "lists": USERS,
    "truth": Readable(USERS.rows, whole=True),
    "items": Readable(whole=True),
    "positions": Readable(RowScope(enough=True, up_to=frozenset({"rank"}), always=5)),
    "models": Readable(groups=frozenset({"model"})),
    "sampled": Readable(),
}


@pytest.fixture(scope="module")
def aggregates() -> frozenset[str]:
    with duckdb.connect() as connection:
        connection.execute("CREATE MACRO twice(x) AS 2 * sum(x)")
        connection.execute("CREATE MACRO nested(x) AS twice(x) + 1")
        return aggregates_of(connection)


def found_out(sql: str, aggregates: frozenset[str]) -> Locality:
    return examine(
        sqlglot.parse_one(sql, read="duckdb"), 1, lambda t: KNOWN.get(t.name), aggregates
    )


LOCAL = [
    "SELECT u, count(*) AS n FROM hits GROUP BY u",
    "SELECT k, v FROM hits",  # rows of users, whose ids are not in them
    "SELECT h.u, l.n FROM hits AS h JOIN lists AS l ON l.u = h.u AND l.n > h.k",
    "SELECT h.u, l.n FROM hits AS h, lists AS l WHERE h.u = l.u",
    "SELECT t.u, l.n FROM truth AS t LEFT JOIN lists AS l ON t.u = l.u",
    "SELECT coalesce(a.u, b.u) AS u, count(*) AS n FROM hits AS a FULL JOIN lists AS b "
    "ON a.u = b.u GROUP BY coalesce(a.u, b.u)",
    "SELECT h.u FROM hits AS h CROSS JOIN items",
    "SELECT h.u, i.price FROM items AS i JOIN hits AS h ON h.i = i.i",
    "SELECT u, row_number() OVER (PARTITION BY u, k ORDER BY v) AS r FROM hits",
    "SELECT u, (SELECT max(price) FROM items) AS p FROM hits",
    "SELECT u, (SELECT count(DISTINCT u) FROM truth) AS p FROM hits",
    "SELECT DISTINCT u, k FROM hits",
    "SELECT u FROM hits UNION SELECT u FROM lists",
    "SELECT k FROM hits UNION ALL SELECT k FROM lists",
    "WITH a AS (SELECT u, sum(v) AS s FROM hits GROUP BY u) SELECT a.u, a.s FROM a "
    "JOIN lists ON lists.u = a.u",
    "WITH top AS (SELECT max(v) AS v FROM truth) SELECT h.u, top.v FROM hits AS h CROSS JOIN top",
    "WITH RECURSIVE r AS (SELECT u, 1 AS n FROM hits UNION ALL SELECT u, n + 1 FROM r WHERE n < 3) "
    "SELECT u, n FROM r",
    "SELECT h.u, p.gain FROM hits AS h LEFT JOIN positions AS p ON p.rank = h.k",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON least(5, h.n - 1) >= p.rank",
    "SELECT h.u, p.gain FROM positions AS p CROSS JOIN hits AS h WHERE p.rank = coalesce(h.k, 3)",
    "WITH p AS (SELECT rank AS r, gain FROM positions) SELECT h.u, p.gain FROM hits AS h "
    "LEFT JOIN p ON p.r = h.k",
    "SELECT h.u, m.model FROM hits AS h CROSS JOIN models AS m",
    "SELECT h.u, n.range AS q FROM hits AS h CROSS JOIN range(1, 3) AS n",
    "SELECT h.u FROM hits AS h SEMI JOIN lists AS l ON l.u = h.u",
    "SELECT u, sum(v) AS s FROM (SELECT u, v FROM hits WHERE v > 1) AS large GROUP BY u",
]
NOT_LOCAL = [
    "SELECT product(v) AS p FROM hits",
    "SELECT twice(v) AS p FROM hits",
    "SELECT nested(v) AS p FROM hits",
    "SELECT avg(v) AS p FROM hits",
    "SELECT k, quantile_cont(v, 0.5) AS q FROM hits GROUP BY k",
    "SELECT k, sum(v) / count(*) AS q FROM hits GROUP BY k",
    "SELECT k, count(DISTINCT v) AS q FROM hits GROUP BY k",
    "SELECT k, sum(v) AS q FROM hits GROUP BY k HAVING sum(v) > 1",
    "SELECT sum(v) AS q FROM hits GROUP BY k",  # sums of which k?
    "SELECT k, sum(v) AS q FROM hits GROUP BY ALL",
    "SELECT u, count(*) AS q FROM hits GROUP BY ROLLUP (u)",
    "SELECT u, row_number() OVER (ORDER BY v) AS r FROM hits",
    "SELECT u, sum(v) OVER (PARTITION BY k) AS r FROM hits",
    "SELECT u FROM hits LIMIT 3",
    "SELECT u FROM hits USING SAMPLE 3",
    "SELECT DISTINCT ON (k) k, u FROM hits",
    "SELECT k FROM hits UNION SELECT k FROM lists",
    "SELECT u FROM hits UNION ALL SELECT i AS u FROM items",
    "SELECT a.u FROM hits AS a JOIN lists AS b ON a.k = b.k",
    "SELECT a.u FROM hits AS a JOIN lists AS b ON a.u = b.u OR a.k = b.k",
    "SELECT a.u FROM hits AS a JOIN lists AS b ON a.u <> b.u",
    "SELECT i.i FROM items AS i LEFT JOIN hits AS h ON h.i = i.i",
    "SELECT i.i FROM hits AS h FULL JOIN items AS i ON h.i = i.i",
    "SELECT h.u FROM hits AS h RIGHT JOIN lists AS l ON h.u = l.u",
    "SELECT h.u FROM lists AS l POSITIONAL JOIN hits AS h",
    # of a user without a match, b.u is missing: all of them would be one group
    "SELECT b.u, avg(a.v) AS n FROM hits AS a LEFT JOIN lists AS b ON a.u = b.u GROUP BY b.u",
    "SELECT u, (SELECT max(n) FROM lists) AS p FROM hits",
    "SELECT u FROM hits WHERE k IN (SELECT k FROM lists)",
    "SELECT u, (SELECT max(gain) FROM positions) AS p FROM hits",
    "WITH all_positions AS (SELECT sum(gain) AS g FROM positions) "
    "SELECT h.u, a.g FROM hits AS h CROSS JOIN all_positions AS a",
    "SELECT h.u, m.n_lists FROM hits AS h CROSS JOIN models AS m",
    "SELECT u FROM sampled",
    "SELECT u FROM elsewhere",
    "WITH RECURSIVE r AS (SELECT u, 1 AS n FROM hits UNION ALL SELECT n AS u, n + 1 FROM r) "
    "SELECT u, n FROM r",
    "SELECT t.u FROM truth AS t LEFT JOIN items AS i ON TRUE JOIN lists AS l ON l.u = i.u",
    "SELECT upper(u) AS u, avg(v) AS n FROM hits GROUP BY upper(u)",
    "SELECT u, (SELECT sum(h.v)) AS s FROM hits AS h",
    # of nested queries, tables and joins, what is said beside their rows
    "SELECT t.u FROM ((SELECT u, k FROM hits) ORDER BY u, k LIMIT 7) AS t",
    "SELECT t.u FROM ((SELECT u, k FROM hits) ORDER BY u, k OFFSET 7) AS t",
    "SELECT t.u FROM (SELECT u FROM hits) AS t LIMIT 7",
    "SELECT t.u FROM ((SELECT u, k FROM hits UNION ALL SELECT u, k FROM lists) ORDER BY u, k "
    "LIMIT 7) AS t",
    "SELECT u, k FROM hits UNION ALL SELECT u, k FROM lists ORDER BY u, k OFFSET 7",
    "SELECT u, k FROM hits UNION ALL BY NAME SELECT u, k FROM lists",
    "SELECT s.u, avg(s.v) AS n FROM (SELECT k, v, u FROM hits) AS s(u, v, x) GROUP BY s.u",
    "SELECT s.u, avg(s.v) AS n FROM hits AS s(v, i, u) GROUP BY s.u",
    "WITH s(u, v) AS (SELECT k, v FROM hits) SELECT u, avg(v) AS n FROM s GROUP BY u",
    "SELECT u FROM (SELECT u FROM hits) AS t TABLESAMPLE reservoir(3 ROWS)",
    "SELECT h.u FROM hits AS h TABLESAMPLE reservoir(3 ROWS)",
    "SELECT h.u, l.n FROM hits AS h ASOF JOIN lists AS l ON l.u = h.u AND l.n >= h.n",
    # the numbers up to the longest list of all users
    "SELECT h.u, sum(p.gain) AS g FROM hits AS h CROSS JOIN positions AS p GROUP BY h.u",
    "SELECT h.u, p.gain FROM hits AS h LEFT JOIN positions AS p ON p.rank >= h.k",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank <> h.k",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.gain = h.k",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank = h.k + 1",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank = 6",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank = coalesce(h.k, 6)",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank = p.rank",
    "SELECT h.u, p.gain FROM hits AS h LEFT JOIN items ON TRUE JOIN positions AS p "
    "ON p.rank = items.price",
    "WITH p AS (SELECT rank + 1 AS rank, gain FROM positions) SELECT h.u, p.gain FROM hits AS h "
    "JOIN p ON p.rank = h.k",
]


def test_queries_that_are_local(aggregates: frozenset[str]) -> None:
    for sql in LOCAL:
        finding = found_out(sql, aggregates)
        assert finding.rows is not None, sql
        assert finding.rows.of_users, sql
        wanted = {"u": 0} if re.search(r"\bu\b.*FROM", sql) and "SELECT k" not in sql else {}
        assert finding.rows.keys == wanted, sql


def test_queries_that_are_not_local(aggregates: frozenset[str]) -> None:
    assert [sql for sql in NOT_LOCAL if found_out(sql, aggregates) != Locality()] == []


def test_queries_that_are_merged(aggregates: frozenset[str]) -> None:
    queries: dict[str, dict[str, str | None]] = {
        "SELECT k, min(v) AS m FROM hits GROUP BY k": {"k": None, "m": "min"},
        "SELECT 'x' AS model, count(*) AS n, max(v) AS m, sum(v) AS s FROM hits": {
            "model": None, "n": "sum", "m": "max", "s": "sum",
        },
        "SELECT h.k, least(l.n, 3) AS n, count(l.n) FILTER (WHERE l.n > 1) AS c FROM hits AS h "
        "JOIN lists AS l ON l.u = h.u GROUP BY h.k, least(l.n, 3)": {
            "k": None, "n": None, "c": "sum",
        },
        "SELECT DISTINCT k FROM hits": {"k": None},
    }  # fmt: skip
    for sql, merge in queries.items():
        finding = found_out(sql, aggregates)
        assert (finding.rows, finding.merge) == (None, merge), sql


def test_a_local_query_is_that_of_its_partitions(aggregates: frozenset[str]) -> None:
    """The definition itself: computed for the users of each partition, it is the whole result."""
    with duckdb.connect() as connection:
        for name, columns in (
            ("items", "n AS i, n * 1.5 AS price"),
            ("models", "'m' || n AS model"),
            ("positions", "n AS rank, n AS gain"),
        ):
            connection.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM range(9) AS t (n)")
        rows = "n % 7 AS u, n % 4 AS i, n % 3 AS k, n % 5 AS v, n % 6 AS n"
        for absent, name in enumerate(("hits", "lists", "truth")):
            some = f"range(40) AS t (n) WHERE n % 7 <> {absent}"
            connection.execute(f"CREATE TABLE {name} AS SELECT {rows} FROM {some}")
            for part in range(3):
                of_part = f"SELECT u, i, k, v, n FROM {name} WHERE u % 3 = {part}"
                connection.execute(f"CREATE VIEW {name}_{part} AS {of_part}")
        for sql in LOCAL:
            found = []
            for part in range(3):
                tree = sqlglot.parse_one(sql, read="duckdb")
                tables = [t for t in tree.find_all(sqlglot.exp.Table) if t.name in KNOWN]
                reads = found_out(sql, aggregates).reads
                for table, how in zip(tables, reads, strict=True):
                    if how == OF_USERS:
                        name, alias = table.name, table.alias_or_name
                        table.set("this", sqlglot.exp.to_identifier(f"{name}_{part}"))
                        table.set("alias", sqlglot.exp.TableAlias(this=alias))
                found += connection.execute(tree.sql("duckdb")).fetchall()
            whole = connection.execute(sql).fetchall()
            assert sorted(found, key=repr) == sorted(whole, key=repr), sql
