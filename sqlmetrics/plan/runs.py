"""Plan the values of models with several runs: means over the runs, and their spread.

A user's value is the mean over the runs in which the user has a value. The value of a model is the
mean over users of these; for metrics with one value per run, it is the mean over the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.query_graph import Node


@dataclass(frozen=True)
class Spread:
    """Plans the number of runs of every model (and slice), and the spread of their values.

    `groups` are the columns that values are grouped by.
    """

    planner: Planner
    groups: Sequence[str]

    def of_users(self, values: Node, columns: Sequence[Mapping[str, Any]], z: float) -> Node:
        """Plan the spread of the runs' aggregates of per-user values.

        `values` are those of every run, `columns` the columns of a wide table.
        """
        by_run = self.planner.rendered(
            "totals",
            {"per_user": values},
            name="totals_by_run",
            groups=[*self.groups, "run"],
            homes_of_groups={},
            columns=columns,
            z=z,
        )
        return self._over_runs(
            "over_runs", by_run, {c["name"]: f"{c['name']}_value" for c in columns}
        )

    def of_models(self, values: Node, names: Sequence[str], errors: Sequence[str]) -> Node:
        """Plan the means over runs of values of models, beside their spread.

        The mean of the standard errors is an upper bound of the standard error of the mean.
        """
        spread = {name: name for name in names}
        return self._over_runs("means_over_runs", values, spread, [*names, *errors])

    def _over_runs(
        self, name: str, values: Node, spread: Mapping[str, str], means: Sequence[str] = ()
    ) -> Node:
        return self.planner.rendered(
            "over_runs",
            {"values_of_runs": values},
            name=name,
            groups=self.groups,
            means=means,
            spread=spread,
        )


def mean_over_runs(planner: Planner, values: Node, name: str, columns: Sequence[str]) -> Node:
    """Plan the per-user values of models with several runs from the values of every run."""
    return planner.over_runs.rendered(
        "mean_over_runs", {"per_user_and_run": values}, name=name, names=columns
    )


def models_of(planner: Planner, models: Node) -> Node:
    """Plan the models with one row each; the stage has a row per run."""
    return (
        planner.rendered("distinct_models", {"models": models}) if planner.several_runs else models
    )
