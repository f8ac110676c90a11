"""Builds the macros of the dbt package ranking_metrics, for tests and for a release.

python dbt/build.py [--archive]

A macro is the statement that `sqlmetrics sql` prints, with `{{ cutoff }}` in the place of a cutoff
and with the lists and interactions as its first queries. `--archive` also writes the package to
dist/ranking_metrics-VERSION.tar.gz, which `dbt deps` installs. Files beside macros/FAMILY and
METRICS.md are written by hand.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tarfile
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import jinja2
import sqlglot
from sqlglot import exp

import sqlmetrics as sm
from sqlmetrics.describe.metric import Read
from sqlmetrics.export.statements import CUTOFFS, about, at_any_cutoff, read_by
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import STANDARD, Convention
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec
from sqlmetrics.sql.dialects import DIALECTS, Dialect

PACKAGE = Path(__file__).resolve().parent / "ranking_metrics"
ADAPTERS = [dialect for dialect in DIALECTS if dialect != "datafusion"]  # dbt has no adapter for it
# adapters whose macros dbt takes where another adapter has none of its own
_PARENTS = {"databricks": "spark", "redshift": "postgres"}
_TABLES = ("recommendations", "interactions")
_OPTIONAL = {("recommendations", "score"), ("interactions", "relevance")}
_COLUMNS = {  # the arguments that name columns, and their defaults
    "user_column": "'user_id'",
    "item_column": "'item_id'",
    "rank_column": "'rank'",
    "score_column": "none",
    "relevance_column": "none",
}
CATALOG = Catalog.load()


@functools.cache
def _evaluator(order: str) -> sm.Evaluator:
    columns = {f"recommendations.{order}": order, "interactions.relevance": "relevance"}
    return sm.Evaluator(*map(sm.TableName, _TABLES), columns=columns)


@functools.cache
def reads(metric: str) -> Read:
    """Return what a metric reads under the standard convention."""
    settings = Settings(CATALOG, Convention.load(STANDARD), {})
    return read_by(CATALOG, settings.request(MetricSpec(metric)))


def metrics() -> list[str]:
    """Name the metrics that need no other tables than recommendations and interactions."""
    return [
        name
        for name in CATALOG.metrics
        if {*reads(name).tables} <= {*_TABLES} and {*reads(name).needs} <= _OPTIONAL
    ]


def _read(metric: str) -> tuple[list[str], str]:
    """Return the tables that the statement of a metric reads, and what its lists have.

    Lists have "rank", "score" (which ranks can stand for), or "predictions" (which only scores
    are).
    """
    tree = sqlglot.parse_one(_evaluator("score").sql(metric, CUTOFFS[0]), dialect="duckdb")
    names = {table.name for table in tree.find_all(exp.Table)}
    tables = [table for table in _TABLES if table in names]
    if ("recommendations", "score") in reads(metric).needs:
        return tables, "predictions"
    # the query that ranks lists passes scores on only if another query reads them
    passed_on = any(
        column.name == "score" and column.find_ancestor(exp.Window) is None
        for column in tree.find_all(exp.Column)
    )
    return tables, "score" if passed_on else "rank"


def macros(
    metric: str, adapters: Sequence[Dialect] = ADAPTERS, cutoffs: Sequence[int] = CUTOFFS
) -> str:
    """Return the file of a metric."""
    tables, kind = _read(metric)
    evaluator = _evaluator("rank" if kind == "rank" else "score")
    inputs = "".join(f"{table} AS (\n    {{{{ {table} | indent(4) }}}}\n), " for table in tables)
    groups: dict[str, list[Dialect]] = {}
    for adapter in adapters:
        printed = functools.partial(evaluator.sql, metric, dialect=adapter)
        text = at_any_cutoff(printed, "{{ cutoff }}", "{{ cutoff + 1 }}", cutoffs)
        statement = text.removesuffix(";\n").replace("WITH ", f"WITH {inputs}", 1)
        groups.setdefault(statement, []).append(adapter)
    columns = dict(_COLUMNS)
    if kind == "predictions":
        columns["score_column"] = "'score'"
        del columns["rank_column"]
    if "recommendations" not in tables:
        del columns["rank_column"], columns["score_column"]
    if "interactions" not in tables:
        del columns["relevance_column"]

    def signature(before: Sequence[str], after: str = "") -> str:
        given = [f"{table}=none" if table != "model" else table for table in before]
        defaults = [f"{column}={default}" for column, default in columns.items()]
        return ", ".join([*given, "cutoff=none", *filter(None, [after]), *defaults])

    return _template().render(
        name=metric,
        about=about(CATALOG.metrics[metric]),
        tables=tables,
        order=kind,
        columns=columns,
        signature=signature,
        needs_relevance=("interactions", "relevance") in reads(metric).needs,
        bound=_bound(metric),
        statements=[
            ([first, *(o for o in others if _PARENTS.get(o) != first)], text)
            for text, (first, *others) in groups.items()
        ],
    )


@functools.cache
def _template() -> jinja2.Template:
    """Return the template of a file; its own marks differ from those of dbt."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), undefined=jinja2.StrictUndefined,
        block_start_string="<%", block_end_string="%>", variable_start_string="<<",
        variable_end_string=">>", comment_start_string="<#", comment_end_string="#>",
        keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template("metric.sql.j2")


def _bound(metric: str) -> str:
    """Return the name of the generic test of a metric, if higher or lower values are better."""
    return {True: "at_least", False: "at_most", None: ""}[CATALOG.metrics[metric].higher_is_better]


def table_of_metrics() -> str:
    """Return the page that lists the metrics of the package."""
    lines = ["# Metrics", "", "| metric | title | test | needs |", "|---|---|---|---|"]
    for name in metrics():
        needs = [f"`{column}_column`" for _, column in sorted(reads(name).needs, reverse=True)]
        test = f"`{name}_{_bound(name)}`" if _bound(name) else ""
        cells = [f"`{name}`", CATALOG.metrics[name].title, test, ", ".join(needs)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the built files of the package, instead of those of an earlier call.

    Args:
        folder: the folder of the package.
        texts: the text of the file of each metric.
    """
    for family in (folder / "macros").glob("*/"):
        if family.is_dir():
            shutil.rmtree(family)
    for name, text in texts.items():
        path = folder / "macros" / CATALOG.metrics[name].family / f"{name}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "METRICS.md").write_text(table_of_metrics(), encoding="utf-8")


def archive(package: Path, folder: Path) -> Path:
    """Write a package to an archive in a folder; `dbt deps` installs the archive."""
    name = f"{package.name}-{sm.__version__}"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        # dbt renames the folder, whose name must be an entry, to the name of the package
        tar.add(package, name, recursive=False)
        for part in ("dbt_project.yml", "README.md", "METRICS.md", "macros"):
            tar.add(package / part, f"{name}/{part}")
    return path


def main() -> None:
    """Build the package, and with `--archive` its archive."""
    warnings.simplefilter("ignore")  # what depends on the columns that a user has
    names = metrics()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        write(PACKAGE, dict(zip(names, pool.map(macros, names), strict=True)))
    if "--archive" in sys.argv[1:]:
        print(archive(PACKAGE, PACKAGE.parents[1] / "dist"))


if __name__ == "__main__":
    main()
