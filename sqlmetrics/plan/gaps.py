"""Plan gaps: rows below those of the slices, with the differences between the slices.

All slices with a name are compared; that of missing values is not. A gap is a seminorm of the
values (or, for the ratio, of their logarithms), so that it deviates from that of the true values by
at most the gap of the deviations. The interval is therefore the gap ± the quantile of the gaps of
the deviations of resamples, and covers the true gap also if it is 0 or there are many slices. The
p-value is that of a permutation test: groups of users change their slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmetrics.plan.results import Results
from sqlmetrics.sql.query_graph import Node


def gap_column(name: str, gap: str) -> str:
    """Return the column with a gap of a metric and cutoff, in tables of gaps."""
    return f"{name}_{gap}"


def _same(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


@dataclass(frozen=True)
class GapTable:
    """A table with the gaps of a wide table: one row per model, in the place of one more slice.

    `varied` and `tested` are the columns with an interval and with a p-value.
    """

    node: Node
    gaps: Sequence[str]
    varied: Sequence[str]
    tested: Sequence[str]

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Describe the rows of gaps for `summary_rows`, given those of the slices."""
        of_gaps = []
        for row in rows:
            for number, gap in enumerate(self.gaps, start=1):
                column = gap_column(row["name"], gap)
                of_gap = {"name": column, "grain": "gap", "gap": number}
                parts = {"varied": column in self.varied, "tested": column in self.tested}
                of_gaps.append({**row, **of_gap, **parts})
        return of_gaps


@dataclass(frozen=True)
class Gaps:
    """Plans the gaps between the slices of a result."""

    results: Results

    def below(
        self,
        values: Node,
        columns: Mapping[str, str],
        means: Sequence[str],
        resampled: Node | None,
        groups_of_users: Node | None = None,
        per_user: Node | None = None,
    ) -> GapTable:
        """Plan the gaps of one wide table.

        Args:
            values: the values of slices.
            columns: for the name of each metric and cutoff, the column of `values`.
            means: the names of those that have values in resamples.
            resampled: the values in resamples, if there are intervals.
            groups_of_users: the sums of groups of users, which change their slices.
            per_user: the rows of users, with their clusters, if there are clusters.
        """
        reads = {"slice_gaps": self._gaps_of(values, columns)}
        of_means = self._names(means)
        if resampled is not None:
            reads["gap_widths"] = self._widths(resampled, means)
        columns_of_slices = self.results.slice_columns
        of_users = all(column.attribute.of == "users" for column in columns_of_slices)
        if groups_of_users is not None and of_users:
            order = [name for one in columns_of_slices for name in (one.position, one.column)]
            permuted = self._rendered(
                "permuted",
                {"resample_groups": groups_of_users, "named_slices": self._named_slices()},
                names=means,
                order=[*filter(None, order)],
                **self.results.interval.draws,
            )
            permuted_gaps = self._gaps_of(permuted, _same(means), "resample")
            of_slices = {"slice_gaps": reads["slice_gaps"], "permuted_gaps": permuted_gaps}
            if per_user is not None and self.results.clusters is not None:
                homes = {"per_user": per_user, "named_slices": self._named_slices()}
                of_slices["split_clusters"] = self._rendered(
                    "split_clusters", homes, cluster=self.results.clusters.column
                )
            reads["gap_p_values"] = self._rendered(
                "gap_p_values", of_slices, gap_of_column=of_means, clustered=per_user is not None
            )
        varied = [*of_means] if "gap_widths" in reads else []
        tested = [*of_means] if "gap_p_values" in reads else []
        names = self._names(columns)
        node = self._rendered("gaps", reads, gap_of_column=names, varied=varied, tested=tested)
        return GapTable(node, self.results.gaps, varied, tested)

    def _names(self, names: Iterable[str]) -> dict[str, str]:
        return {gap_column(name, gap): gap for name in names for gap in self.results.gaps}

    def _widths(self, resampled: Node, names: Sequence[str]) -> Node:
        on_logs = "ratio" in self.results.gaps
        deviations = self._rendered(
            "deviations", {"resampled": resampled}, names=names, on_logs=on_logs
        )
        resampled_gaps = self._gaps_of(deviations, _same(names), "resample", deviations=True)
        return self._rendered(
            "gap_widths",
            {"resampled_gaps": resampled_gaps},
            names=[*self._names(names)],
            confidence=self.results.interval.confidence,
        )

    def _gaps_of(
        self, values: Node, columns: Mapping[str, str], per: str = "", deviations: bool = False
    ) -> Node:
        name = "resampled_gaps" if deviations else "permuted_gaps" if per else "slice_gaps"
        return self._rendered(
            "slice_gaps",
            {"sliced": values, "named_slices": self._named_slices()},
            name=name,
            gaps=self.results.gaps,
            value_of=columns,
            per=per,
            deviations=deviations,
        )

    def _named_slices(self) -> Node:
        (names,) = self.results.names.values()
        reads = {"slice_names": names}
        return self._rendered("named_slices", reads, slice_columns=self.results.slice_columns)

    def _rendered(self, template: str, reads: Mapping[str, Node], **context: Any) -> Node:
        slices = [column.column for column in self.results.slice_columns]
        groups = [name for name in self.results.groups if name == "model"]
        return self.results.planner.rendered(
            template, reads, groups=groups, slices=slices, **context
        )
