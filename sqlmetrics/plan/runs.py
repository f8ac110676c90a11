"""Plan the values of models with several runs: means over the runs, and their spread.

A user's value is the mean over the runs in which the user has a value. The value of a model is the
mean over users of these; for metrics with one value per run, it is the mean over the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.query_graph import Node


def spread_of_users(
    planner: Planner,
    groups: Sequence[str],
    values: Node,
    columns: Sequence[Mapping[str, Any]],
    z: float,
) -> Node:
    """Plan the number of runs of every group, and the spread of their aggregates of users' values.

    `values` are those of every run, `columns` the columns of a wide table.
    """
    by_run = planner.rendered(
        "totals",
        {"per_user": values},
        name="totals_by_run",
        groups=[*groups, "run"],
        homes_of_groups={},
        columns=columns,
        z=z,
    )
    spread = {column["name"]: f"{column['name']}_value" for column in columns}
    reads = {"values_of_runs": by_run}
    return planner.rendered("over_runs", reads, groups=groups, means=(), spread=spread)


def means_over_runs(
    planner: Planner,
    groups: Sequence[str],
    values: Node,
    names: Sequence[str],
    errors: Sequence[str],
) -> Node:
    """Plan the means over runs of values of models, beside their spread.

    The mean of the standard errors is an upper bound of the standard error of the mean.
    """
    return planner.rendered(
        "over_runs",
        {"values_of_runs": values},
        name="means_over_runs",
        groups=groups,
        means=[*names, *errors],
        spread={name: name for name in names},
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
