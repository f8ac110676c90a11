"""Writes the macros of the dbt package ranking_metrics; `--check` lists files that are not current.

python dbt/generate.py [--check] [METRIC ...]

A macro is the statement that `sqlmetrics sql` prints, with `{{ cutoff }}` in the place of a cutoff
and with the lists and interactions as its first queries. macros/arguments.sql is written by hand.
"""

from __future__ import annotations

import functools
import re
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import sqlglot
from sqlglot import exp

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.sql.dialects import DIALECTS, Dialect

PACKAGE = Path(__file__).resolve().parent / "ranking_metrics"
ADAPTERS = [dialect for dialect in DIALECTS if dialect != "datafusion"]  # dbt has no adapter for it
# adapters whose macros dbt takes where another adapter has none of its own
_PARENTS = {"databricks": "spark", "redshift": "postgres"}
# cutoffs that occur nowhere else; both have the digits of the largest cutoff, for which some
# dialects make a table of numbers
_CUTOFFS = (7919, 6607)
_TABLES = ("recommendations", "interactions")
_COLUMNS = {  # the arguments that name columns, and their defaults
    "user_column": "'user_id'",
    "item_column": "'item_id'",
    "rank_column": "'rank'",
    "score_column": "none",
    "relevance_column": "none",
}


class _Printer:
    """Prints statements over lists with ranks or scores, and interactions with relevance."""

    def __init__(self, cutoffs: Sequence[int]) -> None:
        self.catalog = Catalog.load()
        self.cutoffs = cutoffs
        relevance = {"interactions.relevance": "relevance"}
        self._evaluators = {
            order: _evaluator({f"recommendations.{order}": order} | relevance)
            for order in ("rank", "score")
        }
        self._without_relevance = _evaluator({"recommendations.score": "score"})

    def statement(self, metric: str, order: str, dialect: Dialect) -> str:
        """Print the statement of a metric, with `{{ cutoff }}` as its cutoff.

        Raises:
            ValueError: the statement depends on the cutoff in another way.
        """
        texts = [
            _with_cutoff(_sql(self._evaluators[order], metric, cutoff, dialect), cutoff)
            for cutoff in self.cutoffs
        ]
        if len({*texts}) > 1:
            raise ValueError(f"{metric}: the {dialect} statement depends on the cutoff")
        return texts[0].removesuffix(";\n")

    def tree(self, metric: str, order: str) -> exp.Expr:
        """Parse a statement of a metric."""
        text = _sql(self._evaluators[order], metric, _CUTOFFS[0])
        return sqlglot.parse_one(text, dialect="duckdb")

    def needs_relevance(self, metric: str) -> bool:
        """Return whether interactions need grades for a metric."""
        return not _prints(self._without_relevance, metric)

    def order(self, metric: str) -> str:
        """Return what the lists of a metric have: "rank", "score" (which ranks can stand for), or
        "predictions" (which only scores are); an empty text if it needs other tables.
        """
        if not _prints(self._evaluators["score"], metric):
            return ""
        if not _prints(self._evaluators["rank"], metric):
            return "predictions"
        scores = (
            column
            for column in self.tree(metric, "score").find_all(exp.Column)
            if column.name == "score" and column.find_ancestor(exp.Window) is None
        )
        # the query that ranks lists passes scores on only if another query reads them
        return "score" if any(scores) else "rank"


def _evaluator(columns: dict[str, str]) -> sm.Evaluator:
    return sm.Evaluator(*map(sm.TableName, _TABLES), columns=columns)


@functools.lru_cache(maxsize=32)  # the statements of one metric
def _sql(evaluator: sm.Evaluator, metric: str, cutoff: int, dialect: Dialect = "duckdb") -> str:
    return evaluator.sql(metric, cutoff, dialect=dialect)


def _prints(evaluator: sm.Evaluator, metric: str) -> bool:
    try:
        _sql(evaluator, metric, _CUTOFFS[0])
    except UsageError:
        return False
    return True


def _with_cutoff(text: str, cutoff: int) -> str:
    assert "{{" not in text
    assert "{%" not in text
    text = re.sub(rf"(?<![\d.]){cutoff + 1}(?!\d)", "{{ cutoff + 1 }}", text)
    return re.sub(rf"(?<![\d.]){cutoff}(?!\d)", "{{ cutoff }}", text)


# ---- files --------------------------------------------------------------------------------------


def files(metrics: Iterable[str] = (), cutoffs: Sequence[int] = _CUTOFFS) -> dict[Path, str]:
    """Return the text of the generated files, by default for every metric.

    One cutoff is enough to see whether files are current, and takes half of the time.
    """
    printer = _Printer(cutoffs)
    found, rows = {}, ["| metric | title | test | needs |", "|---|---|---|---|"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what depends on the columns that a user has
        for name in metrics or printer.catalog.metrics:
            order = printer.order(name)
            if order:
                metric = printer.catalog.metrics[name]
                path = PACKAGE / "macros" / metric.family / f"{name}.sql"
                found[path] = _file(printer, metric, order)
                rows.append(_row(printer, metric, order))
    if not metrics:
        readme = PACKAGE / "README.md"
        before, start, rest = readme.read_text(encoding="utf-8").partition("<!-- metrics -->\n")
        end = rest[rest.index("<!-- /metrics -->") :]
        found[readme] = "\n".join([before + start + rows[0], *rows[1:], end])
    return found


def _row(printer: _Printer, metric: Metric, order: str) -> str:
    """Return the row of a metric in the README."""
    needs = ["score_column"] if order == "predictions" else []
    needs += ["relevance_column"] if printer.needs_relevance(metric.name) else []
    cells = [f"`{metric.name}`", metric.title, ", ".join(f"`{test}`" for test in _bounds(metric))]
    return f"| {' | '.join([*cells, ', '.join(f'`{column}`' for column in needs)])} |"


def _bounds(metric: Metric) -> list[str]:
    """Return the name of the generic test of a metric, if higher or lower values are better."""
    bounds = {True: ["at_least"], False: ["at_most"], None: []}[metric.higher_is_better]
    return [f"{metric.name}_{bound}" for bound in bounds]


def _file(printer: _Printer, metric: Metric, order: str) -> str:
    read = {table.name for table in printer.tree(metric.name, "score").find_all(exp.Table)}
    tables = [table for table in _TABLES if table in read]
    groups: dict[str, list[Dialect]] = {}
    for adapter in ADAPTERS:
        text = printer.statement(metric.name, "rank" if order == "rank" else "score", adapter)
        groups.setdefault(_after_inputs(text, tables), []).append(adapter)
    parts = [
        _about(metric),
        _entry(metric.name, tables, order, printer.needs_relevance(metric.name)),
        *_tests(metric, tables, order),
        _macro(
            f"default__{metric.name}({_passed(tables)})",
            f"{{{{ ranking_metrics._no_sql({metric.name!r}) }}}}",
        ),
    ]
    for text, adapters in groups.items():
        first, *others = adapters
        parts.append(_macro(f"{first}__{metric.name}({_passed(tables)})", text))
        parts += [
            _macro(
                f"{other}__{metric.name}({_passed(tables)})",
                f"{{{{ ranking_metrics.{first}__{metric.name}({_passed(tables)}) }}}}",
            )
            for other in others
            if _PARENTS.get(other) != first
        ]
    return "\n\n".join(parts) + "\n"


def _about(metric: Metric) -> str:
    lines = [
        "Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.",
        "",
        metric.title,
        *([f"Formula: {metric.formula}."] if metric.formula else []),
        *([f"Undefined: {metric.undefined}."] if metric.undefined else []),
        *([f"Source: {metric.cite}."] if metric.cite else []),
    ]
    wrapped = "\n".join(
        textwrap.fill(line, 96, subsequent_indent="  ", break_long_words=False) for line in lines
    )
    return "{#-\n" + textwrap.indent(wrapped, "  ") + "\n-#}"


def _columns(tables: Sequence[str], order: str) -> dict[str, str]:
    """Return the arguments of a metric that name columns, and their defaults."""
    columns = dict(_COLUMNS)
    if order == "predictions":
        columns["score_column"] = "'score'"
        del columns["rank_column"]
    if "recommendations" not in tables:
        columns.pop("rank_column", None)
        del columns["score_column"]
    if "interactions" not in tables:
        del columns["relevance_column"]
    return columns


def _entry(name: str, tables: Sequence[str], order: str, needs_relevance: bool) -> str:
    """Return the macro that people call: it checks the arguments, and reads the tables."""
    columns = _columns(tables, order)
    signature = ", ".join(
        [*(f"{table}=none" for table in tables), "cutoff=none"]
        + [f"{column}={default}" for column, default in columns.items()]
    )
    body = [f"{{%- do ranking_metrics._check_cutoff({name!r}, cutoff) -%}}"]
    if "recommendations" in tables:
        reader = "ranked_lists" if order == "rank" else "scored_lists"
        rank = "rank_column" if "rank_column" in columns else "none"
        body.append(
            f"{{%- set recommendations = ranking_metrics._{reader}(\n    {name!r}, "
            f"recommendations, user_column, item_column, {rank}, score_column\n) -%}}"
        )
    if "interactions" in tables:
        body.append(
            f"{{%- set interactions = ranking_metrics._held_out(\n    {name!r}, interactions, "
            f"user_column, item_column, relevance_column, needs_relevance={needs_relevance}\n) -%}}"
        )
    body.append(f"{{{{ adapter.dispatch({name!r}, 'ranking_metrics')({_passed(tables)}) }}}}")
    return _macro(_wrapped(name, signature), "\n".join(body))


def _tests(metric: Metric, tables: Sequence[str], order: str) -> Iterator[str]:
    """Yield the generic test of a metric."""
    first = tables[0]
    others = [table for table in tables if table != first]
    columns = _columns(tables, order)
    signature = ", ".join(
        ["model", *(f"{table}=none" for table in others), "cutoff=none", "threshold=none"]
        + [f"{column}={default}" for column, default in columns.items()]
    )
    given = ", ".join(["model", *others, "cutoff", *(f"{name}={name}" for name in columns)])
    for name in _bounds(metric):
        call = f"{{%- set result = ranking_metrics.{metric.name}({given}) -%}}"
        call = textwrap.fill(call, 100, subsequent_indent="    ", break_on_hyphens=False)
        bounded = f"ranking_metrics._{name.removeprefix(f'{metric.name}_')}"
        check = f"{{{{ {bounded}({metric.name!r}, result, cutoff, threshold) }}}}"
        yield _macro(_wrapped(name, signature), f"{call}\n{check}", kind="test")


def _passed(tables: Sequence[str]) -> str:
    return ", ".join([*tables, "cutoff"])


def _wrapped(name: str, signature: str) -> str:
    line = f"{name}({signature})"
    if len(line) < 85:
        return line
    inner = textwrap.fill(signature, 96, break_on_hyphens=False)
    return f"{name}(\n{textwrap.indent(inner, '    ')}\n)"


def _macro(signature: str, body: str, kind: str = "macro") -> str:
    return f"{{% {kind} {signature} -%}}\n{body}\n{{%- end{kind} %}}"


def _after_inputs(statement: str, tables: Sequence[str]) -> str:
    """Put the queries that read the tables in front of the others."""
    assert statement.startswith("WITH ")
    inputs = "".join(f"{table} AS (\n    {{{{ {table} | indent(4) }}}}\n), " for table in tables)
    return f"WITH {inputs}{statement.removeprefix('WITH ')}"


def main() -> int:
    """Write the files, or list those that are not current."""
    arguments = sys.argv[1:]
    metrics = [argument for argument in arguments if argument != "--check"]
    is_check = "--check" in arguments
    wanted = files(metrics, _CUTOFFS[:1] if is_check else _CUTOFFS)
    old = set() if metrics else {*(PACKAGE / "macros").glob("*/*.sql")} - wanted.keys()
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if is_check:
        for path in [*stale, *old]:
            print(f"{path.relative_to(PACKAGE)} is not current; run python dbt/generate.py")
        return int(bool(stale or old))
    for path in old:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
