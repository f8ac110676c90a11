"""Plan the rows of a result from wide tables of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlmetrics.plan.results import Results
from sqlmetrics.plan.runs import models_of
from sqlmetrics.plan.values import WideTable, has_every_model
from sqlmetrics.sql.query_graph import SUMMARY, Node, Plan, new_name

# share of the cutoffs -> the nodes of its wide tables, and its branches
Shares: TypeAlias = dict[int, tuple[dict[str, Node], list[dict[str, Any]]]]


def described(
    rows: Sequence[Mapping[str, Any]], nodes: Mapping[str, Node], reads: dict[str, Node]
) -> dict[str, Any]:
    """Describe a wide table for the templates of rows, and add its queries to those they read."""
    parts = ("percentiles", "over_runs", "clusters", "audit", "extremes", "signed_ranks")
    known: dict[str, Any] = {**dict.fromkeys(parts, ""), "rows": rows}
    for part, node in nodes.items():
        known[part] = new_name(node.name, reads)
        reads[known[part]] = node
    return known


def rows_of_shares(
    results: Results, template: str, shares: Shares, columns: Sequence[str], **context: Any
) -> Node:
    """Plan the rows of a result from wide tables, separately for every share of the cutoffs.

    An engine would take long to plan one statement for all shares.
    """
    several = len(shares) > 1
    parts = {
        f"{template}_{number}" if several else template: results.planner.rendered(
            template,
            reads,
            name=f"{template}_{number}" if several else template,
            often=any(len(table["rows"]) > 1 for table in tables),
            apart=several,
            tables=tables,
            **context,
        )
        for number, (reads, tables) in enumerate(shares.values(), start=1)
    }
    if not several:
        return parts[template]
    names = [*results.groups, *results.labels, *columns]
    return results.planner.rendered(
        "united", parts, name=template, parts=[*parts], names=names, order=[]
    )


def ended(
    results: Results,
    rows: Node,
    columns: Sequence[str],
    order: Sequence[str],
    note: str = "",
    gaps: Sequence[str] = (),
) -> Plan:
    """Name the columns of slices, and sort the rows."""
    ordered = {column.table for column in results.slice_columns if column.position}
    summary = results.planner.rendered(
        SUMMARY,
        {"summary_rows": rows, **{table: results.names[table] for table in ordered}},
        columns=columns,
        order=order,
        slice_of={column.column: column for column in results.slice_columns},
        combinations=results.slicing is not None and results.slicing.combinations,
        with_convention=results.with_convention,
        note=note,
        gaps=gaps,
    )
    return Plan(summary, results.warnings)


def row_groups(results: Results, table: WideTable, baseline: str) -> Node:
    """Plan the groups that get values: every model, except the baseline, in every slice."""
    reads = {name: node for name, (node, _) in group_homes(results, table).items()}
    return results.planner.rendered(
        "row_groups", reads, groups=results.groups, homes=[*reads], baseline=baseline
    )


def group_homes(results: Results, table: WideTable) -> dict[str, tuple[Node, list[str]]]:
    """Return the queries that have the columns of the groups, each with these columns."""
    homes: dict[str, tuple[Node, list[str]]] = {}
    if of_models := [name for name in results.planner.keys.models if name in results.groups]:
        models: Node = results.planner.node("models", table.values)
        if "run" not in of_models:
            models = models_of(results.planner, models)
        homes["models"] = (models, of_models)
    for name, node in results.names.items():
        columns = [column.column for column in results.slice_columns if column.table == name]
        homes[name] = (node, columns)
    return homes


def lacks_groups(results: Results) -> bool:
    """Return whether a model, or the audience of a table, may have no user in a slice."""
    if not results.slice_columns:
        return False
    tables = results.wide.tables.values()
    if len({table.everybody.key for table in tables}) > 1 or results.of_runs:
        return True
    by_list = results.slicing is not None and bool(results.slicing.of_lists)
    several = results.planner.several_models or by_list
    if several and not all(map(has_every_model, tables)):
        return True
    if results.item_slices is None:
        return False
    return results.slices is not None or not all(map(results.item_slices.has_users, tables))
