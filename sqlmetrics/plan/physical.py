"""Turn a logical plan into the queries that an engine runs, with alternatives and exact sums.

An alternative is a template in `sql_templates/physical` with the name of the query that it
replaces: a stage or a template of `results/`. The header of the template states its conditions.
An alternative that keeps rows of all lists in memory is used only if they fit (`plan/memory.py`).
Exact sums are a pass over the parsed queries (`sql/exact_sums.py`). Alternatives and exact sums do
not change the rows of a query, so the query keeps its identity and an engine can reuse kept rows
for either form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmetrics.engines.base import Engine
from sqlmetrics.metrics.front_matter import Alternative
from sqlmetrics.metrics.requests import cutoff_context
from sqlmetrics.plan.memory import lists_fit
from sqlmetrics.plan.planner import CUTOFFS_OF_ROWS, Planner
from sqlmetrics.sql.exact_sums import exact
from sqlmetrics.sql.query_graph import Node, Plan, Query, Rendered

_LISTS = ("recommendations", "interactions", "baseline")  # tables that alternatives keep in memory


def physical(planner: Planner, plan: Plan, engine: Engine | None = None) -> Plan:
    """Plan how an engine runs a logical plan.

    `planner` has the dialect of the engine and planned most stages of the plan. Every allowed
    alternative is used, and sums are exact where templates request it. Without `engine`, its memory
    does not limit the alternatives.
    """
    fits = _fits(planner, plan.nodes(), engine)
    (root,) = planner.once(
        ("physical", plan.root.key, fits), lambda: _physical(planner, [plan.root], fits)
    )
    return plan if root is plan.root else replace(plan, root=root)


def physical_nodes(planner: Planner, roots: Sequence[Node], engine: Engine) -> list[Node]:
    """Plan how an engine runs several queries together; see `physical`."""
    nodes = [node for root in roots for node in Plan(root).nodes()]
    return _physical(planner, roots, _fits(planner, nodes, engine))


def _fits(planner: Planner, nodes: Iterable[Node], engine: Engine | None) -> bool:
    """Return whether alternatives that keep lists in memory are allowed for a plan."""
    names = {one.name for one in planner.catalog.alternatives if one.in_memory}
    return (
        engine is None
        or not any(_called(node) in names for node in nodes)
        or lists_fit(engine, [planner.tables[name] for name in _LISTS if name in planner.tables])
    )


def _physical(planner: Planner, roots: Sequence[Node], fits: bool) -> list[Node]:
    nodes = list(dict.fromkeys(node for root in roots for node in Plan(root).nodes()))
    alternatives = {
        alternative.name: alternative
        for alternative in planner.catalog.alternatives
        if alternative.engine in ("", planner.dialect) and (fits or not alternative.in_memory)
    }
    done: dict[str, Node] = {}

    def visit(node: Node) -> Node:
        if node.key not in done:
            alternative = alternatives.get(_called(node))
            changed = node
            if alternative is not None and _is_allowed(planner, alternative, node, nodes):
                changed = _in_place(planner, alternative, node)
            if isinstance(changed, Query) and not changed.is_input:
                tree = exact(changed.tree)  # for the columns that its template names
                changed = changed if tree is None else replace(changed, tree=tree)
            parents = {key: visit(parent) for key, parent in changed.parents.items()}
            same = all(parents[key] is changed.parents[key] for key in parents)
            done[node.key] = changed if same else replace(changed, parents=parents)
        return done[node.key]

    return [visit(root) for root in roots]


def _called(node: Node) -> str:
    """Return the name under which a query may have alternatives; empty if it has none."""
    if isinstance(node, Rendered):
        folder, _, name = node.template.rpartition("/")
        return name if folder == "results" else ""
    return node.name if isinstance(node, Query) and node.values is not None else ""


def _is_allowed(
    planner: Planner, alternative: Alternative, node: Node, nodes: Iterable[Node]
) -> bool:
    if not isinstance(node, Query):
        return True
    values = node.values
    if values is None:
        return False
    if any(values[name] not in allowed for name, allowed in alternative.when.items()):
        return False
    if _planned(planner, node.name, values) != node:  # of another planner, over other stages
        return False
    spared = {key for key, parent in node.parents.items() if parent.name == alternative.spares}
    readers = [reader for reader in nodes if spared & reader.parents.keys()]
    return all(reader == node for reader in readers)


def _in_place(planner: Planner, alternative: Alternative, node: Node) -> Node:
    """Plan an alternative under the settings of the query that it replaces."""
    if isinstance(node, Rendered):
        return replace(node, template=alternative.template_path)
    assert isinstance(node, Query)
    assert node.values is not None
    values = node.values
    if node.name in planner.catalog.metrics:
        values = {**values, **cutoff_context(values[CUTOFFS_OF_ROWS])}
    text = planner.text(alternative, values)
    query = planner.bound(node.name, text, values, node.stage)
    if node.name in planner.catalog.metrics:
        query = planner.at_cutoffs(query, values, values[CUTOFFS_OF_ROWS])
    return replace(query, key=node.key, warnings=node.warnings, needs=node.needs)


def _planned(planner: Planner, name: str, values: Mapping[str, Any]) -> Query:
    """Plan the query that an alternative may replace."""
    metric = planner.catalog.metrics.get(name)
    if metric is None:
        return planner.node(name, values)
    own = {setting: value for setting, value in values.items() if setting != CUTOFFS_OF_ROWS}
    return planner.at_cutoffs(planner.metric_query(metric, own), own, values[CUTOFFS_OF_ROWS])
