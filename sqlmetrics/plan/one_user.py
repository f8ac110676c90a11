"""Plan the values of one user: the list with the terms of each metric, and what the list missed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmetrics.metrics.requests import MetricRequest, cutoff_context
from sqlmetrics.plan.planner import Planner, without_credit
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.slices import Attribute, Slicing
from sqlmetrics.sql import fusion, terms
from sqlmetrics.sql.binding import node_of
from sqlmetrics.sql.query_graph import Node, Plan, Query, identity_of, new_name
from sqlmetrics.sql.quoting import identifier, literal


@dataclass(frozen=True)
class OneUser:
    """The queries of a user: the list, the relevant items that it lacks, and the values.

    `stages` are the rows that metrics read that are more than a SELECT over hits or items.
    """

    list: Plan
    missed: Plan | None
    values: Plan
    stages: Mapping[str, Plan]

    @property
    def plans(self) -> dict[str, Plan]:
        """Return all queries by name."""
        missed = {} if self.missed is None else {"missed": self.missed}
        return {"list": self.list, **missed, "values": self.values, **self.stages}


def one_user(results: Results, user: Mapping[str, Any], shown: Iterable[Attribute]) -> OneUser:
    """Plan the values of a user.

    `user` has the value of each key column; `shown` are the columns of items to show.
    """
    planner, requests = results.planner, results.requests
    settings = without_credit({**requests[0].values, **cutoff_context([None])})
    ranked = planner.node("ranked", settings)
    judged = "interactions" in planner.tables
    relevant = {"relevant": planner.node("relevant", settings)} if judged else {}
    graded = judged and "relevance" in planner.tables["interactions"].columns
    slicing = Slicing(planner, [*shown], False, settings)
    columns = {f"shown_{n}": one for n, one in enumerate(slicing.attributes, start=1)}
    reads = {query: slicing.read(one, {one.name: one.name}) for query, one in columns.items()}
    of_items = [{"query": query, "name": one.name} for query, one in columns.items()]
    apart = [_Apart.of(planner, request) for request in requests]
    with_terms = {f"terms_{n}": one for n, one in enumerate(apart, start=1) if one.terms}
    rows = planner.rendered(
        "user/list",
        {
            "ranked": ranked,
            **relevant,
            **reads,
            **{name: one.terms for name, one in with_terms.items() if one.terms},
        },
        name="list",
        judged=judged,
        graded=graded,
        scored="score" in ranked.columns,
        shown=of_items,
        terms=[
            {"query": name, "name": one.label, "running": f"{one.label} so far"}
            for name, one in with_terms.items()
        ],
        condition=_is_user("ranked", user),
    )
    missed = None
    if judged:
        depths = [request.k for request in requests]
        models = {"models": planner.node("models", settings)} if planner.keys.models else {}
        missed = Plan(
            planner.rendered(
                "user/missed",
                {"ranked": ranked, **relevant, **models, **reads},
                name="missed",
                depth=None if None in depths else max(k for k in depths if k is not None),
                graded=graded,
                shown=of_items,
                condition=_is_user("relevant", user),
            )
        )
    return OneUser(
        Plan(rows), missed, Plan(_values(results, apart, user)), _stages(planner, apart, user)
    )


def extremes(results: Results, n: int, highest: bool) -> Plan:
    """Plan the users with the lowest or highest values of the only request."""
    name, column = results.wide.home(results.requests[0])
    per_user = {"per_user": results.wide.tables[name].node}
    return Plan(
        results.of_users_planner.rendered(
            "user/extremes", per_user, column=column.name, n=n, highest=highest
        )
    )


@dataclass(frozen=True)
class _Apart:
    """A metric at a cutoff, taken apart where its query is one SELECT over a stage.

    `reads` are the queries that another metric reads.
    """

    request: MetricRequest
    sides: Node | None = None
    terms: Node | None = None
    reads: Sequence[Node] = ()

    @property
    def label(self) -> str:
        """Return the metric and cutoff, as in a request."""
        k = self.request.k
        return self.request.name if k is None else f"{self.request.name}@{k}"

    @classmethod
    def of(cls, planner: Planner, request: MetricRequest) -> _Apart:
        values = {
            **request.values,
            **cutoff_context([request.k]),
            "chosen_settings": request.chosen,
        }
        query = planner.metric_query(request.metric, values)
        keys = planner.keys.lists
        parts = fusion.analyse(
            query.tree,
            keys,
            planner.keys.users,
            lambda table: query.parents[table].stage if table in query.parents else None,
        )
        if parts is None:
            return cls(request, reads=list(query.parents.values()))

        def node(name: str, tree: Any) -> Node | None:
            if tree is None:
                return None
            return node_of(
                identity_of(query.key, name, str(request.k)), name, tree, query.parents.values()
            )

        return cls(
            request,
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
    """Return the condition that a row belongs to a user."""
    return " AND ".join(
        f"{table}.{identifier(key)} = {literal(value)}" for key, value in user.items()
    )
