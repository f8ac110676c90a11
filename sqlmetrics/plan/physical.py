"""From a logical plan to the queries that an engine runs: alternatives for single stages.

An alternative is a template of `sql_templates/physical/<engine>/` that is called as the stage that
it replaces; its header says when. It has the same rows as that stage, so nothing else in a plan
changes: the identity of the stage stays, and what an engine has kept of one serves the other too.
"""

from __future__ import annotations

from dataclasses import replace

from sqlmetrics.metrics.front_matter import Alternative
from sqlmetrics.plan.binding import bound
from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.query_graph import Node, Plan, Query


def alternatives(planner: Planner, plan: Plan) -> Plan:
    """Put in every alternative of the planner's dialect that a plan allows."""
    of_engine = [
        alternative
        for alternative in planner.catalog.alternatives
        if alternative.engine == planner.dialect
    ]
    instead: dict[str, Node] = {}
    for node in plan.nodes():
        for alternative in of_engine:
            if isinstance(node, Query) and _is_allowed(planner, alternative, node, plan):
                instead[node.key] = _in_place(planner, alternative, node)
    return replace(plan, root=replaced(plan.root, instead)) if instead else plan


def _is_allowed(planner: Planner, alternative: Alternative, node: Query, plan: Plan) -> bool:
    """May this query of the plan be replaced?"""
    values = node.values
    if node.name != alternative.name or values is None:
        return False
    if any(values[name] not in allowed for name, allowed in alternative.when.items()):
        return False
    if planner.node(node.name, values) != node:  # another planner's, over other stages
        return False
    spared = {key for key, parent in node.parents.items() if parent.name == alternative.spares}
    readers = [reader for reader in plan.nodes() if spared & reader.parents.keys()]
    return all(reader == node for reader in readers)


def _in_place(planner: Planner, alternative: Alternative, node: Query) -> Query:
    """Plan an alternative under the settings of the query that it replaces."""
    assert node.values is not None
    values = node.values
    text = planner.text(alternative.body, str(alternative.path), values)
    query = bound(node.name, text, lambda table: planner.node(table, values), node.stage)
    return replace(query, key=node.key, warnings=node.warnings, needs=node.needs)


def replaced(root: Node, instead: dict[str, Node]) -> Node:
    """Put other queries of the same rows in place of some; identities stay as they are."""
    done: dict[str, Node] = {}

    def visit(node: Node) -> Node:
        if node.key not in done:
            changed = instead.get(node.key, node)
            parents = {key: visit(parent) for key, parent in changed.parents.items()}
            same = all(parents[key] is changed.parents[key] for key in parents)
            done[node.key] = changed if same else replace(changed, parents=parents)
        return done[node.key]

    return visit(root)
