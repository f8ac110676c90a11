"""Plan comparisons of models: differences per user, and the statistics that tests need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.plan.clusters import not_tested
from sqlmetrics.plan.resampling import percentiles, resampled_means
from sqlmetrics.plan.result_rows import Shares, described, ended, row_groups, rows_of_shares
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.values import WideTable
from sqlmetrics.sql.query_graph import Node, Plan
from sqlmetrics.stats.intervals import OF_AUDIT
from sqlmetrics.stats.paired_tests import FEW


def check_comparable(results: Results) -> None:
    """Check that every metric is a mean over users.

    Raises:
        UsageError: a metric has one value for the whole run, or is not a mean over users.
    """
    results.require_users("not per-user values to compare; use evaluate")
    for request in results.requests:
        if request.values["aggregate"] != "mean":
            raise UsageError(
                f"{request.spec}: models are compared by means, not by aggregate="
                f"{request.values['aggregate']}"
            )


def comparison(results: Results, baseline: str, test: str) -> Plan:
    """Plan the statistics for a comparison of every model with `baseline`, one row each.

    The columns are those that `paired_tests.finished` reads.

    Raises:
        UsageError: as for `check_comparable`.
    """
    check_comparable(results)
    if results.clusters is not None:
        not_tested(test)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in results.wide.tables}
    for position, request in enumerate(results.requests, start=1):
        name, column = results.wide.home(request)
        rows[name].append(
            {
                "name": column.name,
                "position": position,
                "metric": request.name,
                "k": request.k,
                "convention": request.convention,
                "low_is_better": request.higher_is_better is False,
            }
        )
    shares: Shares = {}
    for name, table in results.wide.tables.items():
        reads, tables = shares.setdefault(table.share, ({}, []))
        compared = _compared(results, table, baseline, rows[name], test)
        tables.append(described(rows[name], compared, reads))
    columns = [
        "metric", "k", "baseline", "n_users", "value", "baseline_value", "difference", "std",
        "wins", "ties", "losses",
    ]  # fmt: skip
    if results.interval.kind == "bootstrap":
        columns += ["interval_low", "interval_high"]
    if test in ("randomization", "bootstrap"):
        columns += ["n_extreme", "n_resamples"]
    if results.clusters is not None:
        columns += ["n_clusters", "standard_error"]
    if results.audit is not None:
        columns += [*OF_AUDIT, "standard_error"]
    names = [*results.labels, *columns]
    if test == "wilcoxon":
        columns += ["n_nonzero", "positive_ranks", "negative_ranks", "tie_term"]
        columns += ["few_ranks"]
    comparison_rows = rows_of_shares(
        results,
        "comparison_rows",
        shares,
        columns,
        groups=results.groups,
        names=names,
        baseline=baseline,
        with_convention=results.with_convention,
    )
    slices = [name for name in results.groups if name != "model"]
    return ended(results, comparison_rows, columns, [*slices, "position", "model"])


def changes(results: Results, baseline: str, n: int | None, by_gain: bool) -> Plan:
    """Plan the users with the largest losses, or gains, of every model by the only request.

    `n` is the number of users of each model; None for all, in the same order.
    """
    check_comparable(results)
    request = results.only_request()
    name, column = results.wide.home(request)
    pairs = _pairs(results, results.wide.tables[name], baseline)
    return Plan(
        results.of_users_planner.rendered(
            "user/changes",
            {"pairs": pairs},
            column=column.name,
            n=n,
            by_gain=by_gain,
            low_is_better=request.higher_is_better is False,
        ),
        results.warnings,
    )


def _pairs(results: Results, table: WideTable, baseline: str) -> Node:
    """Plan the values of every model beside those of the baseline, and their difference."""
    values = results.linearised(table)
    names = [column.name for column in table.columns if column.part != "weight"]
    return results.of_users_planner.rendered(
        "pairs", {"per_user": values}, often=True, names=names, baseline=baseline
    )


def _compared(
    results: Results, table: WideTable, baseline: str, rows: Sequence[Mapping[str, Any]], test: str
) -> dict[str, Node]:
    """Plan the statistics of the differences in one audience: totals and inputs of the test."""
    planner = results.planner
    names = [column.name for column in table.columns if column.part != "weight"]
    pairs = _pairs(results, table, baseline)
    parts = [f"{name}{end}" for name in names for end in ("", "_baseline", "_difference")]
    sliced = results.clustered_values(pairs, parts)
    low = {row["name"]: row["low_is_better"] for row in rows}
    columns = [{"name": name, "low_is_better": low[name]} for name in names if name in low]
    groups: dict[str, Any] = {"groups": results.groups}
    reads = {"pairs": sliced, "row_groups": row_groups(results, table, baseline)}
    totals = planner.rendered("difference_totals", reads, columns=columns, **groups)
    compared = {"totals": totals}
    differences = [f"{name}_difference" for name in names]
    if results.clusters is not None:
        compared["clusters"] = results.clusters.errors(
            sliced, results.groups, [(name, "") for name in differences]
        )
    if results.audit is not None:
        ends = ("", "_baseline", "_difference")
        compared["audit"] = results.audit.estimates(sliced, results.groups, list(low), ends)
    if "bootstrap" in (results.interval.kind, test):
        resampled = resampled_means(results, sliced, differences)
    if results.interval.kind == "bootstrap":
        compared["percentiles"] = percentiles(results, resampled, differences)
    if test in ("bootstrap", "randomization"):
        flipped = test == "randomization"
        drawn = resampled_means(results, sliced, differences, True) if flipped else resampled
        reads = {"resampled": drawn, "totals": totals}
        compared["extremes"] = planner.rendered(
            "extremes", reads, names=differences, flipped=flipped, **groups
        )
    if test == "wilcoxon":
        compared["signed_ranks"] = planner.rendered(
            "signed_ranks", {"pairs": sliced}, rows=rows, few=FEW, **groups
        )
    return compared
