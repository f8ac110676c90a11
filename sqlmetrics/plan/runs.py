"""Plan the values of models with several runs: means over the runs, and their spread.

A user's value is the mean over the runs in which the user has a value. The value of a model is the
mean over users of these. For metrics with one value per run, and for statistics of users' values
other than means, such as a median or a ratio of two sums, it is the mean over the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.query_graph import Node

# only of these, the mean over users of means over runs is the mean of the runs' values
_MEANS = ("mean", "weighted_mean")


def totals_over_runs(
    planner: Planner,
    groups: Sequence[str],
    totals: Node,
    values: Node,
    columns: Sequence[Mapping[str, Any]],
    z: float,
) -> tuple[Node, Node]:
    """Plan the totals of users' values, and the spread over runs of the totals of every run.

    `totals` are those of means over runs; statistics other than means, with their deviations, are
    replaced by the means of those of the runs. `values` are the values of every run, `columns` the
    columns of a wide table.
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
    others = [column["name"] for column in columns if column["aggregate"] not in _MEANS]
    of_runs = [f"{name}_{end}" for name in others for end in ("value", "std")]
    over_runs = planner.rendered(
        "over_runs", {"values_of_runs": by_run}, groups=groups, means=of_runs, spread=spread
    )
    if not others:
        return totals, over_runs
    names = [f"{name}_{end}" for name in spread for end in ("value", "n", "std")]
    names += [f"{column['name']}_standard_error" for column in columns if column["weight"]]
    both = planner.rendered(
        "totals_over_runs",
        {"totals": totals, "over_runs": over_runs},
        groups=groups,
        homes_of_totals={name: "over_runs" if name in of_runs else "totals" for name in names},
    )
    return both, over_runs


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
