"""Plan summaries: the mean (or run value) of every metric and cutoff, with intervals and gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmetrics.plan.gaps import Gaps, GapTable
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.resampling import percentiles, resample_groups, resampled_means
from sqlmetrics.plan.result_rows import (
    Shares,
    described,
    ended,
    group_homes,
    lacks_groups,
    rows_of_shares,
)
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.runs import means_over_runs, totals_over_runs
from sqlmetrics.plan.sliced import SlicedStages
from sqlmetrics.plan.values import Wide, wide_tables
from sqlmetrics.sql.query_graph import Node, Plan
from sqlmetrics.stats.gates import OF_RUNS
from sqlmetrics.stats.intervals import OF_AUDIT, Interval
from sqlmetrics.stats.student import quantile_series

_MEANS = ("mean", "weighted_mean", "ratio")  # the aggregates with intervals


def summary(results: Results) -> Plan:
    """Plan the mean (or run value) of every metric and cutoff, one row each."""
    wide, totals, below = _totals(results)
    clustered = results.clusters is not None
    by_clusters = clustered and results.interval.kind == "normal"
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in wide.tables}
    for position, request in enumerate(results.requests, start=1):
        name, column = wide.home(request)
        label = {"metric": request.name, "convention": request.convention}
        row = {**vars(column), **label, "position": position}
        of_run = column.grain == "run" and results.interval.of_runs
        if clustered:
            row["standard_error"] = ""  # that of a metric assumes independent lists
        if results.audit is not None:
            row["standard_error"] = f"{column.name}_audit_error"
        if column.weight or (of_run and not row["standard_error"]):
            row["standard_error"] = f"{column.name}_standard_error"
        rows[name].append(row)
    shares: Shares = {}
    for name, table in wide.tables.items():
        reads, tables = shares.setdefault(table.share, ({}, []))
        tables.append(described(rows[name], totals[name], reads))
        if name in below:
            gaps = below[name]
            tables.append(described(gaps.rows(rows[name]), {"name": gaps.node}, reads))
    numbers = ["value", "n_users", "std"]
    numbers += ["standard_error"] if by_clusters else ["ci_low", "ci_high"]
    numbers += ["n_clusters"] if clustered else []
    numbers += [] if results.audit is None else OF_AUDIT
    numbers += OF_RUNS if results.are_over_runs else []
    numbers += ["gap", "p_value"] if results.gaps else []
    columns = ["metric", "k", *numbers]
    summary_rows = rows_of_shares(
        results,
        "summary_rows",
        shares,
        columns,
        groups=results.groups,
        numbers=numbers,
        z=None if results.interval.kind == "none" else results.interval.z,
        with_convention=results.with_convention,
    )
    if by_clusters:
        columns = [name for name in columns if name != "standard_error"]
        summary_rows = results.planner.rendered(
            "cluster_intervals",
            {"rows": summary_rows},
            names=[*results.groups, *results.labels, *columns],
            z=results.interval.z,
            series=quantile_series(results.interval.confidence),
        )
        place = columns.index("std") + 1
        columns = [*columns[:place], "ci_low", "ci_high", *columns[place:]]
    slices = [column.column for column in results.slice_columns]
    models = [name for name in results.groups if name not in slices]
    order = [*models, *(["gap"] if results.gaps else []), *slices, "position"]
    columns = [name for name in columns if name != "gap"]
    note = _note(results.interval, clustered) if _has_intervals(rows.values()) else ""
    return ended(results, summary_rows, columns, order, note, results.gaps)


def _has_intervals(rows: Iterable[Sequence[Mapping[str, Any]]]) -> bool:
    """Return whether a row of wide tables has an interval; see the macro `summary_cell`."""
    return any(
        row["standard_error"] or (row["grain"] == "user" and row["aggregate"] in _MEANS)
        for of_table in rows
        for row in of_table
    )


def _note(interval: Interval, clustered: bool) -> str:
    if interval.kind == "normal" and clustered:
        share = f"{100 * interval.confidence:g} %"
        return f"the {share} interval is that of Student's t with n_clusters - 1 degrees of freedom"
    if interval.kind == "normal":
        return f"the interval is value ± {interval.z} standard errors"
    if interval.kind == "bootstrap":
        share = f"{100 * interval.confidence:g} %"
        note = f"the interval holds {share} of the means of {interval.resamples} resamples"
        of_runs = f"; for values of runs, value ± {interval.z} standard deviations of resamples"
        return note + (of_runs if interval.of_runs else "")
    return ""


def _totals(results: Results) -> tuple[Wide, dict[str, dict[str, Node]], dict[str, GapTable]]:
    """Plan the aggregates of values per slice, and the gaps between the slices.

    Returns the tables of values; for each the nodes of `name`: its totals; `percentiles` of
    resampled means, if any; `over_runs`: the spread over the runs of a model, if any; and for
    each the gaps, if they are asked for.
    """
    wide = results.wide
    totals: dict[str, dict[str, Node]] = {}
    below: dict[str, GapTable] = {}
    clustered = results.clusters is not None
    for name, table in wide.tables.items():
        own = [column for column in table.columns if column.part not in ("weight", "people")]
        rows, valued, names = table.node, own, table.names
        if table.by_run is not None and any(column.aggregate == "ratio" for column in own):
            rows, names = results.linearised(table), [column.name for column in own]
            valued = [column.linear for column in own]
        sliced = results.clustered_values(rows, names)
        reads, homes = {"per_user": sliced}, {}
        if lacks_groups(results):
            homes = group_homes(results, table)
            reads |= {home: node for home, (node, _) in homes.items()}
        aggregates = results.planner.rendered(
            "totals",
            reads,
            groups=results.groups,
            homes_of_groups={home: names for home, (_, names) in homes.items()},
            columns=[vars(column) for column in valued],
            z=results.interval.z,
        )
        totals[name] = {}
        if table.by_run is not None:
            by_run = results.sliced_values(table.by_run, ["run", *table.names])
            of_run = [vars(column) for column in own]
            aggregates, totals[name]["over_runs"] = totals_over_runs(
                results.planner, results.groups, aggregates, by_run, of_run, results.interval.z
            )
        totals[name]["name"] = aggregates
        if results.clusters is not None:
            totals[name]["clusters"] = results.clusters.errors(
                sliced, results.groups, [(column.name, column.weight) for column in valued]
            )
        if results.audit is not None:
            totals[name]["audit"] = results.audit.estimates(
                sliced, results.groups, [column.name for column in valued]
            )
        means = [
            column.name
            for column in valued
            if column.aggregate in ("mean", "weighted_mean", "ratio", "linear")
        ]
        weights = {column.name: column.weight for column in valued if column.weight}
        resampled = None
        if results.interval.kind == "bootstrap" and means:
            resampled = resampled_means(results, sliced, means, weights=weights)
            totals[name]["percentiles"] = percentiles(results, resampled, means)
        if results.gaps:
            # a value that stands for a ratio belongs to its slice: users cannot change theirs
            moved = [c.name for c in valued if c.name in means and c.aggregate != "linear"]
            groups_of_users = resample_groups(results, sliced, moved, weights) if moved else None
            values = {column.name: f"{column.name}_value" for column in valued}
            below[name] = Gaps(results).below(
                aggregates, values, moved, resampled if moved else None, groups_of_users,
                sliced if clustered else None,
            )  # fmt: skip
    if results.of_runs:
        of_runs, tables, gaps = _run_totals(results)
        wide, totals, below = wide | of_runs, totals | tables, below | gaps
    return wide, totals, below


def _run_totals(results: Results) -> tuple[Wide, dict[str, dict[str, Node]], dict[str, GapTable]]:
    """Plan the values of a run per slice of users, their spread over resamples, and gaps."""
    planner, resampled = results.planner, None
    if results.interval.of_runs:
        users = planner.members(results.lists, "resampled_users", planner.user_keys)
        if results.clusters is not None:
            users = results.clusters.added(users, planner.user_keys, [])
        resampling, resamples = _by_user(results, users)
        resampled = wide_tables(resampling, results.of_runs)
    per_slice = planner
    if results.slices is not None:
        per_slice, populations = _by_user(results)
    wide = wide_tables(per_slice, results.of_runs)
    groups = [*results.groups, *(["run"] if results.are_over_runs else [])]
    totals: dict[str, dict[str, Node]] = {}
    below: dict[str, GapTable] = {}
    for name, table in wide.tables.items():
        reads = {"per_model": table.node}
        if results.slices is not None:
            reads["populations"] = populations.instead("populations", table.values)
        clustered = results.clusters is not None
        # errors of a metric's own assume independent lists
        dropped = "standard_error" if clustered else ""
        own = [column.name for column in table.columns if column.part != dropped]
        varied: list[str] = []
        if resampled is not None:
            reads["resampled_values"] = resampled.tables[name].node
            reads["of_resamples"] = resamples.instead("populations", table.values)
            varied = [
                column.name
                for column in table.columns
                if column.part == "value" and (clustered or not column.standard_error)
            ]
        node = table.node
        if results.slices is not None or varied or own != table.names:
            node = planner.rendered(
                "totals_of_runs",
                reads,
                groups=groups,
                names=own,
                varied=varied,
                resamples=results.interval.resamples,
                sliced=results.slices is not None,
            )
        totals[name] = {"name": node}
        values = [column.name for column in table.columns if column.part == "value"]
        if results.are_over_runs:
            errors = [name for name in own if name not in values]
            errors += [f"{name}_standard_error" for name in varied]
            node = means_over_runs(planner, results.groups, node, values, errors)
            totals[name] = {"name": node, "over_runs": node}
        if results.gaps:
            in_resamples = None
            if varied:
                drawn = {part: reads[part] for part in ("resampled_values", "of_resamples")}
                in_resamples = planner.rendered(
                    "resampled_runs", drawn, groups=results.groups, names=varied
                )
            columns = dict(zip(values, values, strict=True))
            below[name] = Gaps(results).below(node, columns, varied, in_resamples)
    return wide, totals, below


def _by_user(results: Results, users: Node | None = None) -> tuple[Planner, SlicedStages]:
    """Return a planner for values of a run, in which a population of lists replaces a model.

    A population is a model within a slice of its users, or within a resample of `users`.
    """
    base, draws = results.planner, results.interval.draws
    more: dict[str, Node] = {}
    context: dict[str, Any] = {"slices": [], "resampled": users is not None}
    if results.slicing is not None and results.slices is not None:
        more = dict(zip(("slices", "slice_names"), results.slices, strict=True))
        context["slices"] = [one.column for one in results.slicing.columns(of_users=True)]
    if users is not None:
        cluster = results.clusters and results.clusters.column
        groups = base.rendered("user_groups", {"members": users}, cluster=cluster, **draws)
        half_samples = base.rendered("half_samples", {"user_groups": groups}, **draws)
        more |= {"user_groups": groups, "half_samples": half_samples}
        context |= draws
    stages = SlicedStages(base, "by_user", more, context)
    planner = replace(base, several_models=True, several_runs=False, keeps=False, stages=stages)
    return planner, stages
