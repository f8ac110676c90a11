"""Identifiers and literals, and the sandbox of templates."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.sandbox import SandboxedEnvironment
from sqlglot import exp

from sqlmetrics.errors import TemplateError
from sqlmetrics.sql.query_graph import parse
from sqlmetrics.sql.quoting import identifier, literal
from sqlmetrics.sql.templates import environment
from tests.support.hostile import FEW, hostile_text


def test_templates_run_in_a_sandbox() -> None:
    """Those of the package and those of users: one environment renders both."""
    assert isinstance(environment(), SandboxedEnvironment)
    for body in (
        "{{ ''.__class__.__mro__ }}",
        "{{ ident.__globals__ }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{% set x = literal.__code__ %}{{ x.co_code }}",
    ):
        from sqlmetrics.sql.templates import render

        with pytest.raises(TemplateError, match="unsafe"):
            render(body, {}, "a template")


def test_words_of_sql_are_names_of_columns() -> None:
    """DuckDB and the parser of queries read each keyword of DuckDB as a name where columns are."""
    with duckdb.connect() as connection:
        words = connection.sql("SELECT keyword_name FROM duckdb_keywords()").fetchall()
        for (word,) in words:
            name = identifier(word)
            query = (
                f"SELECT a, min({name}) AS {name}, {name} + t.{name} FROM t WHERE {name} IS NOT "
                f"NULL AND {name} > 0 GROUP BY a, t.{name} ORDER BY {name}"
            )
            tree = parse(query, word)
            assert sum(column.name == word for column in tree.find_all(exp.Column)) == 7, word
            connection.execute(f'CREATE OR REPLACE TABLE t AS SELECT 1 AS a, 2 AS "{word}"')
            assert connection.execute(tree.sql("duckdb")).fetchall() == [(1, 2, 4)], word


@settings(FEW, max_examples=300)
@given(text=st.one_of(hostile_text, st.text()))
def test_identifiers_and_literals_are_read_back(text: str) -> None:
    """DuckDB reads a quoted name as that name, and a literal as that value, and nothing else."""
    if not text or any(0xD800 <= ord(c) < 0xE000 for c in text):
        return
    if "\x00" in text:
        assert "\x00" not in literal(text)
        assert CONNECTION.execute(f"SELECT {literal(text)}").fetchall() == [(text,)]
        return
    result = CONNECTION.execute(f"SELECT {literal(text)} AS {identifier(text)}")
    assert result.description[0][0] == text
    assert result.fetchall() == [(text,)]


CONNECTION = duckdb.connect()


@settings(FEW, max_examples=100)
@given(
    value=st.one_of(
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.none(),
    )
)
def test_literals_of_numbers_are_read_back(value: Any) -> None:
    if isinstance(value, int) and abs(value) >= 2**127:
        return
    ((found,),) = CONNECTION.execute(f"SELECT {literal(value)}").fetchall()
    assert (float(found) if isinstance(value, float) else found) == value
