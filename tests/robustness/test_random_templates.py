"""Random front matter, template bodies and convention files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlmetrics as sm
from tests.support.hostile import (
    SEARCH,
    hostile_text,
    lists_table,
    own_error_or,
    truth_table,
)

TOML_VALUES = [
    "1",
    "-1",
    "0.5",
    "nan",
    "inf",
    "-inf",
    "1e400",
    '"x"',
    "'none'",
    "true",
    "[]",
    "{}",
    "[1, 2]",
    "[0]",
    '["a"]',
    "1979-05-27",
    "07:32:00",
    "99999999999999999999",
    '""',
    '"{{ 7 }}"',
    "'''\n'''",
    '"k"',
    '"user"',
    '"undefined"',
    '"relevant"',
    '"\\u0000"',
]  # fmt: skip
toml_value = st.recursive(
    st.sampled_from(TOML_VALUES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda parts: f"[{', '.join(parts)}]"),
        inner.map(lambda part: f"{{ a = {part} }}"),
    ),
    max_leaves=3,
)
METRIC_KEYS = [
    "title", "short", "grain", "audience", "when_empty", "defined_for", "undefined", "unbounded",
    "range", "higher_is_better", "in_all", "in_report", "in_default_set", "formula", "cite",
    "aliases", "family", "params", "keep", "cutoff", "unique", "constant", "judged_only",
    "slices_of", "every_slice", "of", "missing", "surprise",
]  # fmt: skip
PARAM_KEYS = [
    "type", "choices", "default", "doc", "optional", "min", "max", "above", "whole", "unlimited",
    "only_with", "reverses", "surprise",
]  # fmt: skip


@st.composite
def front_matters(draw: Any) -> str:
    keys = draw(st.lists(st.sampled_from(METRIC_KEYS), unique=True, max_size=4))
    lines = [f"{key} = {draw(toml_value)}" for key in keys]
    if "params" not in keys and draw(st.booleans()):
        param = {"type": '"number"', "default": "1"}
        for key in draw(st.lists(st.sampled_from(PARAM_KEYS), unique=True, max_size=3)):
            param[key] = draw(toml_value)
        name = draw(st.sampled_from(["after", "k", "gain", "ties", '"a b"', '""', "keys"]))
        lines += [f"[params.{name}]", *(f"{key} = {value}" for key, value in param.items())]
    if "aliases" not in keys and draw(st.booleans()):
        alias = draw(st.sampled_from(["x", "recall", "all", '"a b"', '""']))
        lines += ["[aliases]", f"{alias} = {draw(toml_value)}"]
    if draw(st.integers(0, 9)) == 0:
        lines.append(draw(hostile_text))
    return "\n".join(lines)


BODIES = [
    "SELECT {{ keys }}, k, count(*) / 2 AS value FROM hits GROUP BY {{ keys }}, k",
    "SELECT {{ 1 / 0 }}", "{{ nothing }}", "{% for %}", "{{ keys.__class__.__mro__ }}",
    "{{ [].append }}", "{{ 'a' * 3 ** 3 ** 3 }}", "{{ range(10 ** 9) }}", "{{ keys[10 ** 9] }}",
    "{{ keys() }}", "{{ refuse() }}", "{{ ident(3) }}", "{{ literal(keys, 3) }}", "", ";",
    "SELECT 1", "DROP TABLE recs", "SELECT 1; SELECT 2", "SELECT * FROM hits", "SELECT k FROM",
    "{% include 'x' %}", "{% import '../pyproject.toml' as x %}", "{{ {}['x'] }}",
    "{{ 'é' | int }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ keys | nothing }}", "\ud7ff",
    "{{ '%d' % 'x' }}",
    "SELECT {{ keys }}, k, 'x' AS value FROM hits", "{{ int('x') }}",
    "{{ (1).__init__.__globals__ }}",
]  # fmt: skip


def own_template(folder: Path, kind: str, matter: str, body: str) -> None:
    """Put a template into a folder, and ask for it."""
    path = folder / {"metric": ".", "stage": "stages", "slice": "slices"}[kind] / "mine.sql.j2"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"{{#---\n{matter}\n---#}}\n{body}", encoding="utf-8", errors="replace")
    try:

        def call() -> None:
            with sm.Evaluator(lists_table(), truth_table(), templates=folder) as evaluator:
                if kind == "metric":
                    evaluator.evaluate("mine@3")
                elif kind == "stage":
                    evaluator.stage("mine")
                else:
                    evaluator.evaluate("recall@3", by="mine")

        own_error_or(call)
    finally:
        path.unlink()


KINDS = ["metric", "stage", "slice"]


@settings(SEARCH, max_examples=25)
@given(kind=st.sampled_from(KINDS), matter=front_matters())
def test_front_matter(tmp_path_factory: pytest.TempPathFactory, kind: str, matter: str) -> None:
    own_template(tmp_path_factory.getbasetemp() / "hostile", kind, matter, BODIES[0])


def test_bodies_of_templates(tmp_path: Path) -> None:
    for body in BODIES:
        for kind in KINDS:
            own_template(tmp_path, kind, 'title = "mine"', body)


@st.composite
def convention_files(draw: Any) -> str:
    lines = []
    for table in ("", "settings", "covers", "metrics.map", "metrics", "metrics.nothing"):
        if draw(st.booleans()):
            continue
        lines += [f"[{table}]"] if table else []
        names = ["title", "release", "cite", "ties", "divisor", "audience", "map", "relevant_from",
                 "differs", "quantile", '"a b"', '""', "settings", "aggregate"]  # fmt: skip
        for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=3)):
            lines.append(f"{name} = {draw(toml_value)}")
    if draw(st.booleans()):
        lines += ["[[differs]]", f"there = {draw(toml_value)}", f"here = {draw(toml_value)}"]
    if draw(st.integers(0, 9)) == 0:
        lines.append(draw(hostile_text))
    return "\n".join(lines)


def convention_file(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8", errors="replace")

    def call() -> pd.DataFrame:
        with sm.Evaluator(lists_table(), truth_table(), convention=path) as evaluator:
            return evaluator.evaluate(["map@3", "ndcg@3"])

    own_error_or(call)


@settings(SEARCH, max_examples=25)
@given(text=convention_files())
def test_convention_files(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    convention_file(tmp_path_factory.getbasetemp() / "hostile_toml", text)
