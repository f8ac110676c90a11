"""Plan clusters: groups of lists whose values depend on each other, such as all lists of a user.

The variance of a mean is that of the sums of clusters (Cameron and Miller, A practitioner's guide
to cluster-robust inference, Journal of Human Resources 2015): with the mean m of the values v with
weights w, and the residual e = Σ w (v - m) of each of G clusters, it is G / (G - 1) Σ e² / (Σ w)².
Resamples draw whole clusters, and permutations move them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.slices import Attribute, Slicing
from sqlmetrics.sql.query_graph import Node, Plan, new_name
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.texts.messages import Argument


@dataclass(frozen=True)
class Clusters:
    """The clusters of a result.

    Attributes:
        attribute: the column with the cluster of a list.
        column: this column in rows of per-user values.
        node: the query with the clusters of users; None for a column of the key.
        value: the column of this query, quoted.
        planner: plans queries of users.
    """

    attribute: Attribute
    column: str
    node: Node | None
    value: str
    planner: Planner = field(repr=False)

    @classmethod
    def of(cls, planner: Planner, attribute: Attribute, values: Mapping[str, Any]) -> Clusters:
        """Plan the clusters by a column; `values` are the settings of slices."""
        (column,) = Slicing(planner, [attribute], False, values).columns(of_users=True)
        name = attribute.name
        if column.node is not None:
            name = new_name("cluster", [key.lower() for key in planner.user_keys])
        return cls(attribute, name, column.node, column.value, planner)

    @property
    def _keys(self) -> list[str]:
        """Return the quoted columns by which a list belongs to its cluster."""
        return [*map(identifier, self.planner.keys_of_rows(self.attribute.table))]

    def added(self, values: Node, keys: Sequence[str], names: Sequence[str]) -> Node:
        """Add the column of clusters to rows of users with some key columns and other columns."""
        if self.node is None:
            return values
        return self.planner.rendered(
            "clustered",
            {"members": values, "clusters": self.node},
            name=f"{values.name}_and_cluster",
            names=[*keys, *names],
            value=self.value,
            cluster=self.column,
            own_user_keys=self._keys,
        )

    def errors(
        self, values: Node, groups: Sequence[str], columns: Sequence[tuple[str, str]]
    ) -> Node:
        """Plan the number of clusters of every column, and the standard error of its mean.

        `columns` are pairs of the column of a value and that of its weight, or "".
        """
        return self.planner.rendered(
            "cluster_errors",
            {"per_user": values},
            groups=groups,
            columns=[{"name": name, "weight": weight} for name, weight in columns],
            cluster=self.column,
        )

    def unassigned(self, users: Sequence[Node]) -> Plan | None:
        """Plan a query for users of these queries without a cluster; None if all have one."""
        if self.node is None or not users:
            return None
        members = self.planner.members(users, "clustered_users", self.planner.user_keys)
        reads = {"members": members, "clusters": self.node}
        return Plan(
            self.planner.rendered(
                "without_cluster", reads, value=self.value, own_user_keys=self._keys
            )
        )


def not_tested(test: str) -> None:
    """Check that a significance test can be made over clusters.

    Raises:
        UsageError: it is a test of ranks, which assumes independent differences.
    """
    if test == "wilcoxon":
        raise UsageError(
            "the Wilcoxon test ranks the differences of lists, which it assumes to be independent; "
            "it cannot be combined with ",
            Argument("cluster"),
            remedy="choose the test t, randomization or bootstrap",
        )
