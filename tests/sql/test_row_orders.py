"""Queries that show rows order them explicitly, so that the engine does not choose.

A LIMIT keeps the first rows, so an ORDER BY decides which: rows that it takes for equal are equal
in every column that is shown. Windows that number rows do the same, or the numbers would be the
engine's choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlglot
from sqlglot import exp

import sqlmetrics as sm
from sqlmetrics.engines.relation import FolderColumn
from sqlmetrics.sql.templates import environment
from tests.support.calls import findings_of
from tests.support.templates import (
    CATALOG,
    FILES,
    all_plans,
    demo_queries,
    file_of,
    nodes_of,
    renderings,
    text_in_plan,
)

# ---------------------------------------------------------------- what an ORDER BY leaves open

Names = frozenset[str]


def parsed(sql: str) -> exp.Query:
    tree = sqlglot.parse_one(sql, read="duckdb")
    assert isinstance(tree, exp.Query)
    return tree


def limited(tree: exp.Query) -> Iterator[exp.Query]:
    """Find the queries in a query that keep some of their rows."""
    yield from (one for one in tree.find_all(exp.Query) if one.args.get("limit"))


def undecided(query: exp.Query) -> list[str]:
    """Find the columns that rows can differ in which the ORDER BY takes for equal."""
    if not isinstance(query, exp.Select):
        return ["rows of a UNION"]
    known = decided_columns(query)
    return [one.sql() for one in query.expressions if not is_decided(one.unalias(), known, query)]


def decided_columns(query: exp.Select) -> set[tuple[str, str]]:
    """Find the columns of the tables of a query that are equal where its ORDER BY finds equality.

    Those that it names, and with a key of a table all others of that table. Returned as
    (table, column); the table is empty where there is one only.
    """
    aliases = {one.alias: one.unalias() for one in query.expressions if one.alias}
    order = query.args.get("order")
    terms = [term.this for term in order.expressions] if order else []
    terms = [term.this if isinstance(term, exp.Neg) else term for term in terms]  # -x: descending
    terms = [aliases.get(term.name, term) if is_bare(term) else term for term in terms]
    known = {(term.table, term.name) for term in terms if isinstance(term, exp.Column)}
    keys = {one.alias_or_name: key_of(one, query) for one in sources_of(query)}
    joins = {join.this.alias_or_name: join for join in query.args.get("joins") or ()}
    while True:
        more = {
            (table, "*")
            for table, key in keys.items()
            if key is not None and key <= equal_columns(table, joins, known, len(keys) == 1)
        }
        if more <= known:
            return known
        known |= more


def is_bare(term: exp.Expr) -> bool:
    return isinstance(term, exp.Column) and not term.table


def equal_columns(
    table: str,
    joins: Mapping[str, exp.Join],
    known: Collection[tuple[str, str]],
    alone: bool,
) -> Names:
    """Find the columns of one table that are decided, or joined to others that are."""
    found = {name for of, name in known if of == table or (alone and not of)}
    condition = joins[table].args.get("on") if table in joins else None
    for equality in condition.find_all(exp.EQ) if condition is not None else ():
        sides = equality.left, equality.right
        for own, other in (sides, sides[::-1]):
            if isinstance(own, exp.Column) and own.table == table:
                columns = list(other.find_all(exp.Column))
                if all(has_column(column, known) for column in columns):
                    found.add(own.name)
    return frozenset(found)


def has_column(column: exp.Column, known: Collection[tuple[str, str]]) -> bool:
    return (column.table, column.name) in known or (column.table, "*") in known


def sources_of(query: exp.Select) -> list[exp.Expr]:
    start = query.args["from_"].this if query.args.get("from_") else None
    return [one for one in (start, *(j.this for j in query.args.get("joins") or ())) if one]


def key_of(source: exp.Expr, query: exp.Select) -> Names | None:
    """Find columns that tell the rows of a table apart; None: not known."""
    if not isinstance(source, exp.Table):
        return None
    root = query.root()
    ctes = {cte.alias: cte.this for cte in root.find_all(exp.CTE)}
    return key_of_rows(ctes[source.name]) if source.name in ctes else None


def key_of_rows(query: exp.Expr) -> Names | None:
    """Find columns that tell the rows of a query apart; none where it has one row only."""
    if not isinstance(query, exp.Select):
        return None
    names = {one.unalias().sql(): one.alias_or_name for one in query.expressions}
    if group := query.args.get("group"):
        texts = [one.sql() for one in group.expressions]
        return frozenset(names.get(text, text) for text in texts) if texts else None  # ALL
    if query.args.get("distinct"):
        return frozenset(names.values())
    if is_total(query):
        return frozenset()
    sources = sources_of(query)
    key = key_of(sources[0], query)
    if key is None:
        return None
    table = sources[0].alias_or_name
    columns = {
        column.name: one.alias_or_name
        for one in query.expressions
        if isinstance(column := one.unalias(), exp.Column) and column.table in ("", table)
    }
    # every other table has one row for a row of the first, or the key is not one
    known = {(table, "*")}
    joins = {join.this.alias_or_name: join for join in query.args.get("joins") or ()}
    for source in sources[1:]:
        other = key_of(source, query)
        name = source.alias_or_name
        if other is None or not other <= equal_columns(name, joins, known, alone=False):
            return None
    return frozenset(columns[name] for name in key) if key <= columns.keys() else None


def is_total(query: exp.Select) -> bool:
    """Does a query without groups have aggregates of its own, so that it returns one row?"""
    aggregates = [one for term in query.expressions for one in term.find_all(exp.AggFunc)]
    own = [one for one in aggregates if one.find_ancestor(exp.Select) is query]
    return any(not isinstance(one.parent, exp.Window) for one in own)


def is_decided(term: exp.Expr, known: set[tuple[str, str]], query: exp.Select) -> bool:
    """Is a term equal in all rows that the ORDER BY takes for equal?"""
    if isinstance(term, exp.Window):
        return not term.args.get("partition_by") and not term.args.get("order")
    if isinstance(term, exp.Subquery):  # of one row; it names nothing of the query around it
        return True
    if term.sql().lower().startswith("typeof("):
        return True
    group = query.args.get("group")
    if group and term.find(exp.AggFunc):
        return all(is_decided(one, known, query) for one in group.expressions)
    columns = list(term.find_all(exp.Column))
    return all(has_column(c, known) or ("", "*") in known or has_only(c, known, query)
               for c in columns)  # fmt: skip


def has_only(column: exp.Column, known: set[tuple[str, str]], query: exp.Select) -> bool:
    """Is a column without the name of its table one of the only table, which is decided?"""
    sources = sources_of(query)
    return not column.table and len(sources) == 1 and (sources[0].alias_or_name, "*") in known


def left_open(sql: str) -> list[str]:
    return [column for query in limited(parsed(sql)) for column in undecided(query)]


OPEN = [
    ("SELECT a FROM t LIMIT 5", ["a"]),
    ("SELECT a, b FROM t ORDER BY a LIMIT 5", ["b"]),
    ("SELECT a, count(*) AS n FROM t GROUP BY a, b ORDER BY a LIMIT 5", ["COUNT(*) AS n"]),
    ("SELECT a + b AS x FROM t ORDER BY a LIMIT 5", ["a + b AS x"]),
    ("SELECT s.x FROM (SELECT a AS x FROM t LIMIT 3) AS s", ["a AS x"]),
    ("SELECT a FROM t UNION ALL SELECT a FROM s ORDER BY a LIMIT 2", ["rows of a UNION"]),
    ("WITH s AS (SELECT a, b FROM t) SELECT a, b FROM s ORDER BY a LIMIT 5", ["b"]),
    ("SELECT row_number() OVER (ORDER BY b) AS x, a FROM t ORDER BY a LIMIT 5",
     ["ROW_NUMBER() OVER (ORDER BY b NULLS LAST) AS x"]),
    ("SELECT l.a, r.b FROM l INNER JOIN r ON l.a = r.a ORDER BY l.a LIMIT 5", ["r.b"]),
]  # fmt: skip
CLOSED = [
    "SELECT a, b FROM t",
    "SELECT 1 AS found FROM t LIMIT 1",
    "SELECT a, b FROM t ORDER BY b DESC, a LIMIT 5",
    "SELECT a, b FROM t ORDER BY -b, a LIMIT 5",
    "SELECT a, count(*) AS n, count(*) OVER () AS m FROM t GROUP BY a ORDER BY a LIMIT 5",
    "SELECT a, (SELECT count(s.b) FROM s) AS n FROM t ORDER BY a LIMIT 5",
    "SELECT count(*) AS n, a AS x FROM t GROUP BY a ORDER BY n, x LIMIT 5",
    "WITH s AS (SELECT a, max(b) AS b FROM t GROUP BY a) SELECT a, b FROM s ORDER BY a LIMIT 5",
    "WITH l AS (SELECT a, max(b) AS b FROM t GROUP BY a), r AS (SELECT max(c) AS c FROM t) "
    "SELECT l.a, l.b, r.c FROM l CROSS JOIN r ORDER BY l.a LIMIT 5",
    "WITH l AS (SELECT a, max(b) AS b FROM t GROUP BY a), r AS (SELECT a, max(c) AS c FROM t "
    "GROUP BY a), j AS (SELECT l.a, r.c FROM l INNER JOIN r ON r.a = l.a) "
    "SELECT a, c FROM j ORDER BY a LIMIT 5",
]


@pytest.mark.parametrize(("sql", "found"), OPEN)
def test_what_an_order_leaves_open_is_found(sql: str, found: list[str]) -> None:
    assert left_open(sql) == found


@pytest.mark.parametrize("sql", CLOSED)
def test_an_order_that_decides_passes(sql: str) -> None:
    assert left_open(sql) == []


# ---------------------------------------------------------------- the templates


def wrong_in(texts: Mapping[str, str]) -> dict[str, list[str]]:
    found = {label: left_open(text) for text, label in texts.items()}
    return {label: columns for label, columns in found.items() if columns}


def texts_of_checks() -> dict[str, str]:
    # any rows can show that a rule holds, and these rows are not shown
    proofs = {check.implied_by for check in CATALOG.checks.values()}
    return {
        text: label
        for check in CATALOG.checks.values()
        if check.name not in proofs
        for label, text in renderings(check, briefly=True)
    }


def test_every_check_shows_rows_in_a_stated_order() -> None:
    texts = texts_of_checks()
    assert sum(bool(list(limited(parsed(text)))) for text in texts) > 60
    assert wrong_in(texts) == {}


LABEL = {"name": "item_id", "source": "item_id", "is_list": False}
LABELS = {"relation": "scored", "where": "", "columns": [LABEL]}
PROBES: dict[str, list[dict[str, Any]]] = {
    "uneven_lists": [
        {"columns": ["item_id", "score"], "where": where} for where in ("", "source.score > 1")
    ],
    "condition_type": [{"condition": "source.item_id > 1"}],
    "folder_values": [{"column": FolderColumn("country", "VARCHAR")}],
    "sample": [{"columns": ["user_id", "site"], "n_users": 3, "where": ""}],
    "different_labels": [{"source": LABELS, "users": ["user_id"], "is_numbered": False}],
}


def test_every_other_query_keeps_the_first_rows() -> None:
    nodes = [(label, node) for label, node in nodes_of(all_plans()).values() if file_of(node)]
    texts = {text_in_plan(node): f"{node.name}: {label}" for label, node in nodes}
    texts |= {text: template for template, text in demo_queries()}
    for probe, contexts in PROBES.items():
        template = environment().get_template(f"inputs/{probe}.sql.j2")
        texts |= {template.render(relation="lists", table="lists", **c): probe for c in contexts}
    for name in ("first_lists", "surveyed_users"):  # the plans of results do not read them
        stage = CATALOG.stages[name]
        texts |= {text: name for _, text in renderings(stage, briefly=True)}
    with_limit = {label.partition(":")[0] for text, label in texts.items() if is_limited(text)}
    assert with_limit == {
        path.name.removesuffix(".sql.j2")
        for path in FILES
        # checks include the shared ones; a catalog of a database numbers its own schemas
        if path.parent.name not in {"checks", "shared", "postgres"}
        and "LIMIT" in path.read_text(encoding="utf-8")
    }
    assert wrong_in(texts) == {}


def is_limited(text: str) -> bool:
    return any(limited(parsed(text)))


def test_a_check_without_a_limit_finds_one_row() -> None:
    texts = {text: label.split()[0] for text, label in texts_of_checks().items()}
    several = {
        name for text, name in texts.items()
        if not is_limited(text) and key_of_rows(parsed(text)) != frozenset()
    }  # fmt: skip
    assert several == {"catalogue_null_items"}  # rows with a NULL item are all the same


def test_results_are_sorted() -> None:
    """What comes out of a run ends with an ORDER BY, unless it is one row."""
    ends = {
        f"{name}.sql.j2"
        for name in ("results/summary", "results/per_user", "record/user_counts",
                     "report/example_users", "report/example_lists", "report/example_truth",
                     "report/histogram", "report/difference_histogram", "report/lorenz",
                     "report/exposure_by_popularity", "report/exposure_by_group",
                     "report/calibration_by_category")
    }  # fmt: skip
    seen = set()
    for label, plan in all_plans():
        tree = parsed(text_in_plan(plan.root))
        if file_of(plan.root) in ends and key_of_rows(tree) != frozenset():
            seen.add(file_of(plan.root))
            assert tree.args.get("order"), label
    assert seen == ends


# ---------------------------------------------------------------- the same examples for any order


def broken_tables() -> dict[str, Any]:
    """Make tables that break many rules, in rows that are equal but for a value."""
    values = [None, np.nan, np.inf, -np.inf, 0.5, 2.5, -1.0]
    users = [3, 2, 1]
    rows = [(user, item, value) for user in users for item in (1, 2) for value in values]

    def table(name: str, *more: str) -> pd.DataFrame:
        frame = pd.DataFrame(rows, columns=["user_id", "item_id", name])
        return frame.assign(**dict.fromkeys(more, 1.0)).astype({name: "Float64"})

    aspects = pd.DataFrame(
        [(user, item, "x") for user in users for item in (1, None) for _ in range(2)],
        columns=["user_id", "item_id", "aspect"],
    ).astype({"item_id": "Int64"})
    items = pd.DataFrame(
        [(item, value) for item in (2, 1) for value in (*values, -2.0)],
        columns=["item_id", "price"],
    )
    return {
        "recommendations": {"b": table("score"), "a": table("score")},
        "interactions": table("relevance"),
        "items": items,
        "aspects": aspects,
        "logs": table("reward", "propensity"),
        "baseline": table("score"),
    }


def shuffled(tables: Mapping[str, Any], seed: int) -> dict[str, Any]:
    return {
        name: shuffled(table, seed) if isinstance(table, dict)
        else table.sample(frac=1, random_state=seed)
        for name, table in tables.items()
    }  # fmt: skip


def findings(tables: Mapping[str, Any]) -> list[str]:
    with sm.Evaluator(**tables, threads=1) as evaluator:
        return [finding.text for finding in findings_of(evaluator, None, [2])]


def test_findings_show_the_same_rows_for_any_order_of_rows() -> None:
    tables = broken_tables()
    wanted = findings(tables)
    assert len(wanted) > 5
    for seed in range(4):
        assert findings(shuffled(tables, seed)) == wanted


def test_users_that_are_not_in_common_are_the_first_ones() -> None:
    lists = pd.DataFrame({"user_id": [9, 8, 7, 6], "item_id": 1, "score": 0.5})
    truth = pd.DataFrame({"user_id": [4, 3, 2, 1], "item_id": 1})
    twice = {"als": lists, "popular": lists}
    for recommendations in (lists, lists[::-1], twice):
        with (
            sm.Evaluator(recommendations, truth, threads=1) as evaluator,
            pytest.raises(sm.DataError, match=r"has 6, 7, 8, …; interactions has 1, 2, 3, …"),
        ):
            evaluator.evaluate("recall", 1)


def test_the_first_row_with_uneven_lists_is_shown() -> None:
    rows = [([2, 1], [0.5]), ([1], [0.5, 0.1]), ([1, 3], [0.2])]
    for order in (rows, rows[::-1]):
        items, scores = zip(*order, strict=True)
        lists = pd.DataFrame({"user_id": [1, 2, 3], "item_id": items, "score": scores})
        with pytest.raises(sm.DataError, match=r"'item_id': \[1\], 'score': \[0\.5, 0\.1\]"):
            sm.Evaluator(lists, {1: [1]}, threads=1)
