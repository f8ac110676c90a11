"""The page docs/reference/template-names.md: every name that a template may use."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence

from sqlmetrics.metrics.front_matter import template_root
from sqlmetrics.plan.template_names import TemplateNames
from sqlmetrics.sql import quoting
from sqlmetrics.sql.template_names import names_of

INTRODUCTION = """# Names in templates

Every name that a template of your own may use: keys, columns, tables, settings and macros.

A [template of your own](../how-to/own-templates.md) may use these names in `{{ … }}` and
`{% … %}`, next to its settings, the [shared settings](settings.md) and `max_cutoff`, the largest
cutoff of the request. Names of tables in arguments are those of the query:
`{{ same_keys("hits", "lists") }}` is `hits.user_id = lists.user_id`.
"""
QUOTED = {"ident": quoting.identifier, "literal": quoting.literal}
MACRO = re.compile(r"\{#- (?:(?!#\}).)*? -#\}\n\{%- macro (?P<name>\w+)\(", re.S)


def template_names_page(table: Callable[[Sequence[str], Sequence[Sequence[str]]], str]) -> str:
    rows = [
        [_code(name + arguments), _text(doc)] for name, arguments, doc in names_of(TemplateNames)
    ]
    quoted = [
        [_code(f"{name}{inspect.signature(function)}"), _text(function.__doc__ or "")]
        for name, function in QUOTED.items()
    ]
    return "\n".join(
        [
            INTRODUCTION,
            "## Columns, tables and settings\n",
            table(["name", "meaning"], rows),
            "\n## Quoting\n",
            table(["name", "meaning"], quoted),
            "\n## Expressions\n",
            "The macros of `sql_templates/macros/expressions.sql`, which explains each of them:\n",
            ", ".join(f"`{name}`" for name in _macros()) + ".",
            "",
        ]
    )


def _macros() -> list[str]:
    text = (template_root() / "macros/expressions.sql").read_text(encoding="utf-8")
    return [macro["name"] for macro in MACRO.finditer(text)]


def _code(call: str) -> str:
    """Show a call without the types of Python, in one line."""
    bare = re.sub(r": '[^']*'| -> '[^']*'", "", call)
    return f"`{_text(bare)}`"


def _text(doc: str) -> str:
    line = re.sub(r"\s+", " ", doc).strip()
    return line.replace("( ", "(").replace(" )", ")").replace("|", r"\|")
