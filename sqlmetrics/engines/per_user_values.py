"""Find the queries of a comparison that another engine computes for DuckDB.

A comparison aggregates the per-user differences in many ways, also over resamples. DuckDB does
that; the engine that has the tables computes the per-user values.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlmetrics.sql.query_graph import Node, Query


def nodes_below(root: Node, of_users: Collection[Node]) -> list[Node]:
    """Find the nodes nearest to the result that the engine of the tables computes."""
    keys, nodes = {node.key for node in of_users}, dict[str, Node]()

    def visit(node: Node) -> None:
        if node.key in keys or isinstance(node, Query):
            nodes[node.key] = node
        else:
            for parent in node.parents.values():
                visit(parent)

    visit(root)
    return list(nodes.values())
