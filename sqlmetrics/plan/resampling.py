"""Plan resamples of users: the means of draws, and the intervals that hold most of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlmetrics.plan.results import Results
from sqlmetrics.sql.query_graph import Node


def resampled_means(
    results: Results,
    values: Node,
    names: Sequence[str],
    flipped: bool = False,
    weights: Mapping[str, str] = MappingProxyType({}),
) -> Node:
    """Plan the means of resampled users, with the same draws for every column.

    `weights` maps the columns that are weighted to the columns with the weights of users.
    """
    return results.planner.rendered(
        "resampled",
        {"resample_groups": resample_groups(results, values, names, weights)},
        name="flipped" if flipped else None,
        often=True,
        flipped=flipped,
        groups=results.groups,
        names=names,
        weights=weights,
        **results.interval.draws,
    )


def resample_groups(
    results: Results, values: Node, names: Sequence[str], weights: Mapping[str, str]
) -> Node:
    """Plan the groups of users that are drawn, or permuted to find out how large gaps are."""
    return results.planner.rendered(
        "resample_groups",
        {"per_user": values},
        groups=results.groups,
        names=names,
        weights=weights,
        counted=bool(results.gaps),
        cluster=results.clusters and results.clusters.column,
        **results.interval.draws,
    )


def percentiles(results: Results, resampled: Node, names: Sequence[str]) -> Node:
    """Plan the intervals of means, from the means of resampled users."""
    return results.planner.rendered(
        "percentiles",
        {"resampled": resampled},
        groups=results.groups,
        names=names,
        confidence=results.interval.confidence,
    )
