"""DuckDB table macros: the printed statement of a metric, over tables that a call names."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlmetrics.describe.metric import Read
from sqlmetrics.engines.relation import TableName
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.export.statements import CUTOFFS, about, at_any_cutoff, read_by
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import STANDARD, Convention
from sqlmetrics.metrics.definitions import DEFAULT_K, Definitions
from sqlmetrics.metrics.front_matter import template_root
from sqlmetrics.metrics.requests import Label, MetricRequest
from sqlmetrics.metrics.spec import MetricSpec, parse_spec, value_text
from sqlmetrics.texts.messages import RANKED, TABLES, Command, Message, in_files, set_to
from sqlmetrics.version import __version__

# audiences of metrics whose rows no macro reads, and what those rows are
_UNREAD = {
    "rounds": "rounds of the logs",
    "slates": "slates of the logs",
    "logged": "positions of the logs",
}
_OPTIONAL = (
    "recommendations.model", "interactions.relevance", "history.timestamp", "history.weight",
    "users.weight", "aspects.user_id", "logs.propensity",
)  # fmt: skip
_LISTS = ("category", "item_group")
_ITEMS = {  # the types of attributes
    "item_id": pa.null(),
    **dict.fromkeys(("price", "group_target", "propensity"), pa.float64()),
    **dict.fromkeys(_LISTS, pa.list_(pa.string())),
    "features": pa.list_(pa.float64()),
}
# how tables are read: lists by the column that orders them, others by name
_READERS = {
    "ordered_by": "sm_read_lists({})",
    "score": "sm_read_scores({})",
    "rank": "sm_read_ranks({})",
    "interactions": "sm_read_interactions({})",
    "grades": "sm_read_grades({})",
    "aspects": "sm_read_aspects({}, interactions)",
    "logs": "sm_read_logs({})",
}


class Macros:
    """The macros of metrics under one convention.

    Args:
        evaluator: the class `Evaluator`.
        convention, settings, fallback, templates: see `Evaluator`.
        cutoffs: the cutoffs at which statements are compared, to find other uses of a cutoff.

    Raises:
        UsageError: an unknown convention, setting or value.
    """

    def __init__(
        self,
        evaluator: Callable[..., Any],
        convention: str | Path = STANDARD,
        settings: Mapping[str, Any] | None = None,
        fallback: str | Path | None = None,
        templates: Iterable[str | Path] = (),
        cutoffs: Sequence[int] = CUTOFFS,
    ) -> None:
        templates, given = list(templates), dict(settings or {})
        self.catalog, self.convention = Catalog.load(templates), Convention.load(convention)
        definitions = Definitions.load(self.catalog, convention, fallback, given)
        self.definitions = replace(definitions, has_rank=True)
        self._cutoffs = cutoffs
        self._reads: dict[Label, Read] = {}

        @cache
        def printer(order: str) -> Any:
            """Return what prints statements over lists that a column orders."""
            columns = {name: name.partition(".")[2] for name in _OPTIONAL}
            orders = {table: _order_of(table, order) for table in RANKED}
            columns |= {
                f"{table}.{'rank' if by == 'rank' else 'score'}": by for table, by in orders.items()
            }
            tables = {name: TableName(f"sm_{name}") for name in TABLES if name != "audit"}
            tables["items"] = TableName("sm_items", pa.schema(_ITEMS.items()).empty_table())
            return evaluator(
                **tables, columns=columns, convention=convention, settings=given,
                fallback=fallback, templates=templates,
            )  # fmt: skip

        self._printer = printer

    def request(self, name: str) -> MetricRequest:
        """Resolve a metric, for lists with ranks.

        Raises:
            UsageError: the metric or one of its settings is unknown, or the convention lacks it.
        """
        (request,) = self.definitions.requests({MetricSpec(name): (None,)})
        read = _UNREAD.get(request.metric.audience)
        if read is None and ("recommendations", "timestamp") in self.needs([request]):
            read = "the times of lists"
        if read is not None:
            raise UsageError(
                f"{request.metric.name} reads {read}, which the macros do not have",
                remedy=Message("print its statement with ", Command("sql")),
            )
        return request

    def needs(self, requests: Collection[MetricRequest]) -> set[tuple[str, str]]:
        """Return the optional columns that metrics need, each with its table."""
        for one in requests:
            if one.label not in self._reads:
                self._reads[one.label] = read_by(self.catalog, one)
        return {need for one in requests for need in self._reads[one.label].needs}

    def by_score(self, *requests: MetricRequest) -> bool:
        """Return whether metrics read the scores of lists, even if these have ranks."""
        ordered = any(one.values["order"] == "score" for one in requests)
        return ordered or ("recommendations", "score") in self.needs(requests)

    def body(
        self, metrics: Mapping[str, MetricRequest], k: str, per_user: bool = False
    ) -> tuple[list[str], str]:
        """Return the tables and the statement of metrics, at the cutoff `k` or for whole lists.

        Raises:
            UsageError: the metrics cannot be printed, or depend on the cutoff in another way.
        """
        # conventions that leave equal scores in the order of rows can print only ranks
        orders = ["score"] if self.by_score(*metrics.values()) else ["ordered_by", "rank"]
        for order in orders:
            try:
                text = self._printed(order, list(metrics), k, per_user).removesuffix(";\n")
                break
            except (UsageError, DataError):  # an Evaluator reads the order of rows at once
                if order == orders[-1]:
                    raise
        tables = [table for table in TABLES if re.search(rf"\bsm_{table}\b", text)]
        needs = self.needs(metrics.values())
        inputs = [f"sm_{table} AS (\n    {_input(table, order, needs)}\n), " for table in tables]
        start = re.match(r"WITH (RECURSIVE )?", text)
        assert start is not None
        return tables, start[0] + "".join(inputs) + text[start.end() :]

    def _printed(self, order: str, names: Sequence[str], k: str, per_user: bool) -> str:
        # a macro has its cutoff as a parameter, so no column can be named by it
        long: dict[str, Any] = {"long": True} if per_user else {}

        def sql(at: Any = None) -> str:
            text: str = self._printer(order).sql(names, at, per_user=per_user, **long)
            return text

        if not k:
            return sql()
        return at_any_cutoff(lambda at: _renamed(sql(at)), k, f"({k} + 1)", self._cutoffs)

    def macro(self, name: str, metrics: Mapping[str, MetricRequest]) -> str:
        """Return a macro of a metric for whole lists and for a cutoff, or of several for a cutoff.

        Raises:
            UsageError: see `body`.
        """
        several = name in ("evaluate", "per_user")
        parameters = [f"k := {DEFAULT_K}"] if several else ["", "k"]
        made = []
        for k in parameters:
            tables, text = self.body(metrics, k[:1], name == "per_user")
            made.append(f"({', '.join([*tables, *filter(None, [k])])}) AS TABLE (\n{text}\n)")
        return f"CREATE OR REPLACE MACRO sm_{name}\n" + ",\n".join(made) + ";"


def _renamed(text: str) -> str:
    """Call columns k of queries `cutoff`: the parameter k would replace them. Check k once."""
    queries, end, result = text.rpartition("\n)\n")
    column = r"(?<!['\w])k(?!['\w])"
    lines = [
        line if line.lstrip().startswith("--") else re.sub(column, "cutoff", line)
        for line in queries.splitlines()
    ]
    columns, others = re.split(r"(?=\nFROM )", result, maxsplit=1)
    columns = re.sub(rf"(\w+) AS {column}", r"sm_cutoff(\1) AS k", columns)
    columns = re.sub(rf"(?<!AS ){column}", "sm_cutoff(cutoff) AS k", columns)
    return "\n".join(lines) + end + columns + re.sub(column, "cutoff", others)


def _order_of(table: str, order: str) -> str:
    """Return the column that orders the lists of a table; scores order no baseline with ranks."""
    return "ordered_by" if table == "baseline" and order == "score" else order


def _input(table: str, order: str, needs: Collection[tuple[str, str]]) -> str:
    if table == "items":
        columns = sorted(column for owner, column in needs if owner == table)
        read = [f"sm_list({name}) AS {name}" if name in _LISTS else name for name in columns]
        return f"SELECT item_id, {', '.join(read)} FROM query_table(items)"
    reader = "grades" if (table, "relevance") in needs else table
    if table in RANKED:
        reader = _order_of(table, order)
    return f"FROM {_READERS.get(reader, 'query_table({})').format(table)}"


# ---- the script ---------------------------------------------------------------------------------


def script(evaluator: Callable[..., Any], metrics: Iterable[str] = (), **given: Any) -> str:
    """Return the script of the macros, by default those of the default set.

    Args:
        evaluator: the class `Evaluator`.
        metrics: names of metrics, or `all`.
        given: see `Macros`.

    Raises:
        UsageError: a convention, setting, value or metric is unknown, a metric cannot be a macro,
            or none remains.
    """
    macros, names = Macros(evaluator, **given), list(metrics)
    for spec in map(parse_spec, names):
        if spec.params or spec.cutoff is not None:
            raise UsageError(
                f"{spec}: name a macro by the metric alone: {spec.metric}; pass its cutoff when "
                "you call it (k := 10), its settings with ",
                set_to(f"{spec.metric}.NAME"),
            )
    requests: dict[str, MetricRequest] = {}
    parts, omitted = [], []
    for spec in macros.definitions.specs(names or None, None):
        name = spec.metric.lower()
        try:
            request = macros.request(spec.metric)
            parts.append(
                _commented(about(request.metric), macros.macro(name, {spec.metric: request}))
            )
        except (UsageError, DataError) as error:
            if not spec.implied:
                raise UsageError(f"{name}: ", error) from error
            omitted.append(f"sm_{name} is omitted: {error.message.spelled(in_files)}")
            continue
        requests[spec.metric] = request
    if not requests:
        raise UsageError(f"no metric can be written as a macro; {omitted[0]}")
    scored = [name for name, request in requests.items() if macros.by_score(request)]
    several = {name: one for name, one in requests.items() if name not in scored} or requests
    if scored and several is not requests:  # one statement has one order of lists
        omitted.append(f"sm_evaluate omits {', '.join(scored)}, which order lists by score")
    of_users = {name: one for name, one in several.items() if one.metric.grain == "user"}
    sets = {"evaluate": several, "per_user": of_users}
    first = [_commented([", ".join(of)], macros.macro(name, of)) for name, of in sets.items() if of]
    convention, given = macros.convention, macros.definitions.first.given
    header = [
        f"sqlmetrics {__version__}: metrics of recommender systems as DuckDB table macros.",
        f"Convention: {convention.name}{f' ({convention.title})' if convention.title else ''}.",
        *(f"With {name}={value_text(value)}." for name, value in given.items()),
        *omitted,
        "",
    ]
    readers = (template_root() / "duckdb_macros" / "readers.sql").read_text(encoding="utf-8")
    return "\n\n".join([_commented(header, readers.strip()), *first, *parts]) + "\n"


def _commented(lines: Iterable[str], sql: str) -> str:
    wrapped = [
        part
        for line in lines
        for part in textwrap.wrap(line, 97, subsequent_indent="  ", break_long_words=False) or [""]
    ]
    return "\n".join([*(f"-- {line}".rstrip() for line in wrapped), sql])
