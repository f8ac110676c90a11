"""Plan the values of one user: the list with the terms of each metric, and what the list missed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.requests import MetricRequest, cutoff_context
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.slices import Attribute, Slicing
from sqlmetrics.plan.values import column_name
from sqlmetrics.sql import fusion, terms
from sqlmetrics.sql.binding import node_of
from sqlmetrics.sql.query_graph import Node, Plan, Query, identity_of, new_name
from sqlmetrics.sql.quoting import identifier, literal

_RUNNING = "so_far"


@dataclass(frozen=True)
class OneUser:
    """The queries of a user: the list, the relevant items that it lacks, and the values.

    `stages` are the rows that metrics read that are more than a SELECT over hits or items.
    `labels` are the names of the columns of terms in results, by their names in the query.
    """

    list: Plan
    missed: Plan | None
    values: Plan
    stages: Mapping[str, Plan]
    labels: Mapping[str, str]

    @property
    def plans(self) -> dict[str, Plan]:
        """Return all queries by name."""
        missed = {} if self.missed is None else {"missed": self.missed}
        return {"list": self.list, **missed, "values": self.values, **self.stages}


def one_user(results: Results, user: Mapping[str, Any], shown: Iterable[Attribute]) -> OneUser:
    """Plan the values of a user.

    `user` has the value of each key column; `shown` are the columns of items to show.

    Raises:
        UsageError: the metrics do not have the same list or the same relevant items, or count
            items that nobody judged.
    """
    planner, requests = results.planner, results.requests
    ranked, relevant = _tables(planner, requests)
    settings = _of_whole_lists(requests[0])
    graded = bool(relevant) and "relevance" in planner.tables["interactions"].columns
    slicing = Slicing(planner, [*shown], False, settings)
    columns = {f"shown_{n}": one for n, one in enumerate(slicing.attributes, start=1)}
    reads = {
        query: planner.rendered(
            "user/shown",
            {"items": slicing.read(one, {one.name: "value"})},
            name=query,
            column=one.name,
        )
        for query, one in columns.items()
    }
    of_items = [{"query": query, "name": one.name} for query, one in columns.items()]
    apart = [_Apart.of(planner, request, results.with_convention) for request in requests]
    with_terms: dict[str, _Apart] = {}
    for one in apart:
        if one.terms is not None:
            with_terms[new_name(one.column, with_terms)] = one
    rows = planner.rendered(
        "user/list",
        {
            "ranked": ranked,
            **relevant,
            **reads,
            **{f"terms_{name}": one.terms for name, one in with_terms.items() if one.terms},
        },
        name="list",
        judged=bool(relevant),
        graded=graded,
        scored="score" in ranked.columns,
        shown=of_items,
        terms=[
            {"query": f"terms_{name}", "name": name, "running": f"{name}_{_RUNNING}"}
            for name in with_terms
        ],
        condition=_is_user("ranked", user),
    )
    missed = None
    if relevant:
        models = {"models": planner.node("models", settings)} if planner.keys.models else {}
        missed = Plan(
            planner.rendered(
                "user/missed",
                {"ranked": ranked, **relevant, **models, **reads},
                name="missed",
                depth=cutoff_context([request.k for request in requests])["max_cutoff"],
                graded=graded,
                shown=of_items,
                condition=_is_user("relevant", user),
            )
        )
    labels = {name: one.label for name, one in with_terms.items()}
    labels |= {f"{name}_{_RUNNING}": f"{label} so far" for name, label in labels.items()}
    values = Plan(_values(results, apart, user))
    return OneUser(Plan(rows), missed, values, _stages(planner, apart, user), labels)


def extremes(results: Results, n: int, highest: bool) -> Plan:
    """Plan the users with the lowest or highest values of the only request, of each model."""
    name, column = results.wide.home(results.only_request())
    per_user = {"per_user": results.wide.tables[name].node}
    return Plan(
        results.of_users_planner.rendered(
            "user/extremes", per_user, column=column.name, n=n, highest=highest
        )
    )


def _of_whole_lists(request: MetricRequest) -> dict[str, Any]:
    return {**request.values, **cutoff_context([None])}


def _tables(planner: Planner, requests: Sequence[MetricRequest]) -> tuple[Query, dict[str, Node]]:
    """Plan the list and the relevant items, which must be those of all metrics."""
    judged = "interactions" in planner.tables
    first: tuple[MetricRequest, Query, Query | None] | None = None
    for request in requests:
        settings = _of_whole_lists(request)
        if settings["unjudged"] == "best":
            raise UsageError(
                f"{request.spec}: with unjudged=best, the relevant items of a list are not known",
                remedy="explain the metric without unjudged=best",
            )
        ranked = planner.node("ranked", settings)
        relevant = planner.node("relevant", settings) if judged else None
        first = first or (request, ranked, relevant)
        for what, ours, theirs in (
            ("order lists", first[1], ranked),
            ("choose relevant items", first[2], relevant),
        ):
            if ours is not None and theirs is not None and ours.key != theirs.key:
                under = (
                    "" if request.convention == first[0].convention
                    else f" under {first[0].convention} and {request.convention}"
                )  # fmt: skip
                raise UsageError(
                    f"{first[0].spec} and {request.spec}{under} {what} in different ways, so one "
                    "list cannot show both; explain one of them at a time"
                )
    assert first is not None
    return first[1], {} if first[2] is None else {"relevant": first[2]}


@dataclass(frozen=True)
class _Apart:
    """A metric at a cutoff, taken apart where its query is one SELECT over a stage.

    `label` and `column` are the name of its terms in results and in queries. `reads` are the
    queries that another metric reads.
    """

    request: MetricRequest
    label: str
    column: str
    sides: Node | None = None
    terms: Node | None = None
    reads: Sequence[Node] = ()

    @classmethod
    def of(cls, planner: Planner, request: MetricRequest, with_convention: bool) -> _Apart:
        values = {
            **request.values,
            **cutoff_context([request.k]),
            "chosen_settings": request.chosen,
        }
        query = planner.metric_query(request.metric, values)
        prefix = f"{request.convention} " if with_convention else ""
        at = "" if request.k is None else f"@{request.k}"
        label = f"{prefix}{request.name}{at}"
        column = column_name(f"{prefix}{request.name}", request.k)
        keys = planner.keys.lists
        parts = fusion.analyse(query.tree, keys, planner.keys.users, query.stage_of)
        if parts is None:
            return cls(request, label, column, reads=list(query.parents.values()))

        def node(name: str, tree: Any) -> Node | None:
            if tree is None:
                return None
            key = identity_of(query.key, name, str(request.k))
            return node_of(key, name, tree, query.parents.values())

        return cls(
            request,
            label,
            column,
            node("sides", terms.sides(parts, request.k, keys)),
            node("terms", terms.terms(parts, request.k, keys)),
        )


def _values(results: Results, apart: Sequence[_Apart], user: Mapping[str, Any]) -> Node:
    """Plan the values, with the two sides of those that are fractions."""
    reads: dict[str, Node] = {}
    rows = []
    for position, one in enumerate(apart, start=1):
        name, column = results.wide.home(one.request)
        reads[name] = results.wide.tables[name].node
        sides = ""
        if one.sides is not None:
            sides = new_name(f"sides_{position}", reads)
            reads[sides] = one.sides
        rows.append(
            {
                "position": position,
                "convention": one.request.convention,
                "metric": one.request.name,
                "k": one.request.k,
                "source": name,
                "name": column.name,
                "sides": sides,
                "condition": _is_user(name, user),
            }
        )
    return results.of_users_planner.rendered(
        "user/values", reads, rows=rows, with_convention=results.with_convention
    )


def _stages(planner: Planner, apart: Sequence[_Apart], user: Mapping[str, Any]) -> dict[str, Plan]:
    """Plan the rows of a user in the stages that are read by metrics with several steps."""
    stages: dict[str, Plan] = {}
    read = {node.key: node for one in apart for node in one.reads}
    for node in read.values():
        if isinstance(node, Query) and {*planner.user_keys} <= {*node.columns}:
            name = new_name(node.name, stages)
            stages[name] = Plan(
                planner.rendered(
                    "user/rows",
                    {"stage": node},
                    name=f"{name}_of_user",
                    names=node.columns,
                    condition=_is_user("stage", user),
                )
            )
    return stages


def _is_user(table: str, user: Mapping[str, Any]) -> str:
    return " AND ".join(
        f"{table}.{identifier(key)} = {literal(value)}" for key, value in user.items()
    )
