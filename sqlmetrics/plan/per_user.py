"""Plan per-user values, in wide or long form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.plan.result_rows import Shares
from sqlmetrics.plan.results import Results
from sqlmetrics.sql.query_graph import Node, Plan, new_name


def per_user(results: Results) -> Plan:
    """Plan the per-user values: one row per user (and model, and convention) and cutoff.

    Raises:
        UsageError: a metric has one value for the whole run and no per-user values.
    """
    results.require_users("not per-user values; use evaluate")
    sliced = {column.name.lower() for column in results.slice_columns}
    for request in results.requests:
        if request.name.lower() in sliced:
            raise UsageError(
                f"per_user: {request.name} is the name of both a metric and a slice; "
                "rename the column in its table"
            )
    metrics = list(dict.fromkeys(request.name for request in results.requests))
    shares: Shares = {}
    for convention in dict.fromkeys(request.convention for request in results.requests):
        own = [request for request in results.requests if request.convention == convention]
        node = _everyone(results, own)
        at: dict[int | None, list[MetricRequest]] = {}
        for request in own:
            at.setdefault(request.k, []).append(request)
        for k in at:
            branch = {"convention": convention, "k": k, **_branch(results, metrics, at[k])}
            tables = {name: results.wide.tables[name] for name in branch["sources"]}
            reads, branches = shares.setdefault(next(iter(tables.values())).share, ({}, []))
            everyone = next((name for name, read in reads.items() if read.key == node.key), "")
            everyone = everyone or new_name("everyone", reads)
            reads |= {name: table.node for name, table in tables.items()}
            reads[everyone] = node
            branches.append({**branch, "everyone": everyone})
    slices = {} if results.slices is None else {"slices": results.slices[0]}
    several = len(shares) > 1
    parts = {
        f"per_user_{number}": results.of_users_planner.rendered(
            "per_user",
            {**reads, **slices},
            name=f"rows_{number}" if several else None,
            often=len(branches) > 1,
            apart=several,
            branches=branches,
            in_order=not several,
            own_user_keys=results.own_user_keys,
            sliced=results.slices is not None,
            slice_columns=results.slice_columns,
            with_convention=results.with_convention,
        )
        for number, (reads, branches) in enumerate(shares.values(), start=1)
    }
    if not several:
        return Plan(parts["per_user_1"], results.warnings)
    keys = [
        *(["model"] if results.planner.several_models else []),
        *(["convention"] if results.with_convention else []),
        *results.planner.user_keys,
        *(column.name for column in results.slice_columns),
        "k",
    ]
    names = [*keys, *metrics]
    return Plan(
        results.planner.rendered(
            "united", parts, name="per_user", parts=[*parts], names=names, order=keys
        ),
        results.warnings,
    )


def _everyone(results: Results, requests: Sequence[MetricRequest]) -> Node:
    """Plan the users of all audiences of a result."""
    reads: dict[str, tuple[str, Node]] = {}  # audience -> one of its tables
    for request in requests:
        name, _ = results.wide.home(request)
        table = results.wide.tables[name]
        reads.setdefault(table.everybody.key, (name, table.node))
    tables = dict(reads.values())
    return results.of_users_planner.rendered("everyone", tables, audiences=[*tables])


def _branch(
    results: Results, metrics: Sequence[str], requests: Sequence[MetricRequest]
) -> dict[str, Any]:
    """Return the tables and columns of per-user values at one cutoff; None if not requested."""
    homes = {request.name: results.wide.home(request) for request in requests}
    columns = []
    for metric in metrics:
        source, column = homes.get(metric, (None, None))
        columns.append({"metric": metric, "source": source, "name": column and column.name})
    sources = list(dict.fromkeys(source for source, _ in homes.values()))
    return {"columns": columns, "sources": sources}


def per_user_long(results: Results) -> Plan | None:
    """Plan the per-user values in long form: one row per user, metric and cutoff, or None.

    Slices of users are omitted, because a user's value is the same in all of them.
    """
    homes = []
    for request in results.requests:
        if request.metric.grain == "user":
            source, column = results.wide.home(request)
            homes.append(
                {
                    "source": source,
                    "name": column.name,
                    "convention": request.convention,
                    "metric": request.name,
                    "k": request.k,
                }
            )
    if not homes:
        return None
    return Plan(
        results.of_users_planner.rendered(
            "per_user_long",
            {name: table.node for name, table in results.wide.tables.items()},
            homes_of_values=homes,
            own_user_keys=results.own_user_keys,
            with_convention=results.with_convention,
            item_slices=[
                column for column in results.slice_columns if column.attribute.of != "users"
            ],
        )
    )
