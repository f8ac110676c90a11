"""A stand-in for dbt: renders the models and tests of a package, and makes them in an engine."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jinja2
import yaml

from tests.support.paths import ROOT

# what dbt itself sets: keep what is undefined from being nothing
_JINJA = jinja2.Environment(undefined=jinja2.StrictUndefined, extensions=["jinja2.ext.do"])


@functools.cache
def builder() -> ModuleType:
    """Import dbt/build.py, which builds the macros of ranking_metrics."""
    spec = importlib.util.spec_from_file_location("build_dbt", ROOT / "dbt" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def yaml_of(folder: Path, name: str) -> dict:
    return yaml.safe_load((folder / name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class _Relation:
    """A stand-in for a ref or source of dbt; with `empty`, its text is a query with an alias."""

    name: str
    empty: bool

    def __str__(self) -> str:
        alias = f"_dbt_limit_subq_{self.name.rpartition('.')[2]}"
        return (
            f"(select * from {self.name} where false limit 0) {alias}" if self.empty else self.name
        )

    def render(self) -> str:
        return self.name


def rendered(text: str, names: Mapping[str, str] | None = None, empty: bool = False) -> str:
    """Render as dbt does; `names` say what a ref or source is called, if not as it is.

    `empty` renders as `dbt run --empty` does on Postgres.
    """

    def relation(name: str) -> _Relation:
        return _Relation((names or {}).get(name, name), empty)

    def source(schema: str, table: str) -> _Relation:
        return relation(f"{schema}.{table}")

    return _JINJA.from_string(text).render(ref=relation, source=source)


def models_of(folder: Path) -> dict[str, str]:
    """Return the text of every model of a package, by its name."""
    files = sorted((folder / "models").rglob("*.sql"))
    models = {file.stem: file.read_text(encoding="utf-8") for file in files}
    assert len(models) == len(files), "two models have one name"
    return models


def refs_of(text: str) -> list[str]:
    return re.findall(r"\{\{ ref\('([a-z0-9_]+)'\)(?:\.render\(\))? \}\}", text)


def in_order(models: Mapping[str, str]) -> list[str]:
    """Return the names of models, those that a model reads before it."""
    found: list[str] = []

    def visit(name: str, above: tuple[str, ...] = ()) -> None:
        assert name not in above, f"a circle: {above}"
        if name in models and name not in found:
            for parent in refs_of(models[name]):
                visit(parent, (*above, name))
            found.append(name)

    for name in models:
        visit(name)
    return found


def tables_of(folder: Path) -> set[str]:
    """Return the names of the models that the package makes tables of."""
    project = yaml_of(folder, "dbt_project.yml")
    (content,) = project["models"].values()
    return {
        model
        for group, models in content.items()
        if not group.startswith("+")
        for model, config in models.items()
        if config == {"+materialized": "table"}
    }


def build(
    folder: Path,
    execute: Callable[[str], object],
    names: Mapping[str, str] | None = None,
    table: str = "CREATE TABLE {}",
    view: str = "CREATE VIEW {}",
    empty: bool = False,
) -> None:
    """Make the models of a package, as views and tables, in the brackets that dbt puts them in."""
    models, tables = models_of(folder), tables_of(folder)
    for name in in_order(models):
        how = (table if name in tables else view).format(name)
        execute(f"{how} AS (\n{rendered(models[name], names, empty)}\n)")


def queries_of_tests(folder: Path, names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the rendered query of every test of a package, by its name."""
    files = sorted((folder / "tests").glob("*.sql"))
    return {file.stem: rendered(file.read_text(encoding="utf-8"), names) for file in files}


class CompilerError(Exception):
    """Stands for the error of dbt's `exceptions.raise_compiler_error`."""


@functools.lru_cache
def _compiled(folder: Path) -> jinja2.Template:
    """Compile the macros of a package as one template, in which they need no name of a package."""
    files = sorted((folder / "macros").rglob("*.sql"))
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    text = re.sub(r"\{% test (\w+)", r"{% macro test_\1", text).replace("endtest %}", "endmacro %}")
    return _JINJA.from_string(re.sub(rf"\b{folder.name}\.(?=\w+\()", "", text))


def macros_of(folder: Path, adapter: str) -> Any:
    """Return the macros and generic tests of a package as attributes, as an adapter calls them."""

    def dispatch(name: str, package: str) -> Any:
        assert package == folder.name
        known = vars(macros)
        parents = {"databricks": "spark", "redshift": "postgres"}
        kinds = (adapter, parents.get(adapter), "default")
        return next(known[f"{kind}__{name}"] for kind in kinds if f"{kind}__{name}" in known)

    def raise_compiler_error(message: str) -> None:
        raise CompilerError(message)

    macros = _compiled(folder).make_module(
        {
            "adapter": SimpleNamespace(dispatch=dispatch),
            "exceptions": SimpleNamespace(raise_compiler_error=raise_compiler_error),
            "target": SimpleNamespace(type=adapter),
        }
    )
    return macros
