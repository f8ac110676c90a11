"""Plan per-user values, in wide or long form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.plan.result_rows import Shares
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.values import column_name
from sqlmetrics.sql.query_graph import Node, Plan, new_name
from sqlmetrics.sql.quoting import identifier

_WITHOUT_SIGNS = "bigquery"  # the dialect whose columns cannot have names such as ndcg@10


def per_user(results: Results, long: bool = False) -> Plan:
    """Plan the per-user values: one row per user (and model, and convention).

    There is one column per metric and cutoff; in long form, one row per cutoff as well, and one
    column per metric. Users have the names of their columns in the recommendations.

    Raises:
        UsageError: a metric has one value for the whole run and no per-user values.
    """
    results.require_users("not per-user values; use evaluate")
    columns = value_columns(results, long)
    sliced = {column.name.lower() for column in results.slice_columns}
    for name in columns.values():
        if name.lower() in sliced:
            raise UsageError(
                f"per_user: {name} is the name of both a metric and a slice; "
                "rename the column in its table"
            )
    values = list(dict.fromkeys(columns.values()))
    leading = [
        *(["model"] if results.planner.several_models else []),
        *(["convention"] if results.with_convention else []),
    ]
    ending = [*(column.name for column in results.slice_columns), *(["k"] if long else [])]
    users = _user_names(results, {name.lower() for name in (*leading, *ending, *values)})
    shares: Shares = {}
    for convention in dict.fromkeys(request.convention for request in results.requests):
        own = [request for request in results.requests if request.convention == convention]
        audiences = _audiences(results, own)
        at: dict[int | None, list[MetricRequest]] = {}
        for request in own:
            at.setdefault(request.k if long else None, []).append(request)
        for k, requests in at.items():
            named = {columns[_column_of(request, long)]: request for request in requests}
            branch = {"convention": convention, "k": k, **_branch(results, values, named)}
            tables = {name: results.wide.tables[name] for name in branch["sources"]}
            share = next(iter(tables.values())).share if long else 0
            reads, branches = shares.setdefault(share, ({}, []))
            reads |= {name: table.node for name, table in tables.items()}
            if len(audiences) == 1 and [*audiences] == branch["sources"]:
                (everyone,) = audiences  # its rows are those of all users
                branch["sources"] = []
            else:
                node = results.of_users_planner.rendered(
                    "everyone", audiences, audiences=[*audiences]
                )
                same = (name for name, read in reads.items() if read.key == node.key)
                everyone = next(same, None) or new_name("everyone", reads)
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
            long=long,
            in_order=not several,
            user_columns=[{"key": identifier(key), "name": name} for key, name in users.items()],
            own_user_keys=results.own_user_keys,
            sliced=results.slices is not None,
            slice_columns=results.slice_columns,
            with_convention=results.with_convention,
        )
        for number, (reads, branches) in enumerate(shares.values(), start=1)
    }
    if not several:
        return Plan(parts["per_user_1"], results.warnings)
    keys = [*leading, *users.values(), *ending]
    names = [*keys, *values]
    return Plan(
        results.planner.rendered(
            "united", parts, name="per_user", parts=[*parts], names=names, order=keys
        ),
        results.warnings,
    )


def value_columns(results: Results, long: bool = False) -> dict[str, str]:
    """Return the columns of per-user values: the name of each in results, and in the statement."""
    names = dict.fromkeys(_column_of(request, long) for request in results.requests)
    if results.planner.dialect != _WITHOUT_SIGNS:
        return {name: name for name in names}
    plain: dict[str, str] = {}
    for request in results.requests:
        name = _column_of(request, long)
        wanted = column_name(request.name, request.k)
        wanted = wanted.removesuffix("_all") if long or request.k is None else wanted
        plain.setdefault(name, new_name(wanted, plain.values()))
    return plain


def _column_of(request: MetricRequest, long: bool) -> str:
    return request.name if long else request.column


def _user_names(results: Results, taken: set[str]) -> dict[str, str]:
    """Return the names of the columns of users: those of their table, unless taken."""
    table, names = results.planner.tables[results.planner.home], dict[str, str]()
    for key in results.planner.user_keys:
        found = {column.source for one in table.sources if (column := one.find_read(key))}
        name = found.pop() if len(found) == 1 else key
        is_taken = name.lower() in {*taken, *(other.lower() for other in names.values())}
        names[key] = key if is_taken else name
    return names


def _audiences(results: Results, requests: Sequence[MetricRequest]) -> dict[str, Node]:
    """Return, for each audience of a result, one of the tables with its users."""
    reads: dict[str, tuple[str, Node]] = {}
    for request in requests:
        name, _ = results.wide.home(request)
        table = results.wide.tables[name]
        reads.setdefault(table.everybody.key, (name, table.node))
    return dict(reads.values())


def _branch(
    results: Results, names: Sequence[str], requests: Mapping[str, MetricRequest]
) -> dict[str, Any]:
    """Return the tables and columns of the values with these names; None if not requested."""
    homes = {name: results.wide.home(request) for name, request in requests.items()}
    columns = []
    for name in names:
        source, column = homes.get(name, (None, None))
        columns.append({"name": name, "source": source, "value": column and column.name})
    sources = list(dict.fromkeys(source for source, _ in homes.values()))
    return {"columns": columns, "sources": sources}


def per_user_long(results: Results) -> Plan | None:
    """Plan the per-user values in long form: one row per user, metric and cutoff, or None.

    Slices of users are omitted, because a user's value is the same in all of them.
    """
    homes = []
    for request in results.requests:
        if request.metric.grain != "run":
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
