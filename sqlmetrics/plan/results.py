"""Plan results from values: summaries, per-user values and comparisons of models."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.plan.gaps import Gaps, GapTable
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.runs import Spread, models_of
from sqlmetrics.plan.sliced import ItemSlices, by_user
from sqlmetrics.plan.slices import SliceColumn, Slicing
from sqlmetrics.plan.values import Wide, WideTable, wide_tables
from sqlmetrics.sql.query_graph import SUMMARY, Node, Plan, new_name
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.stats.gates import OF_RUNS
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.stats.paired_tests import FEW
from sqlmetrics.texts.messages import Message

# share of the cutoffs -> the nodes of its wide tables, and its branches
_Shares: TypeAlias = dict[int, tuple[dict[str, Node], list[dict[str, Any]]]]


@dataclass
class Results:
    """Plans results for requests, over all users or per slice.

    `planner` plans queries without slices. `groups` are the columns that values are grouped by: the
    model, and the names of the slices in each of `slice_columns`.
    """

    planner: Planner
    requests: Sequence[MetricRequest]
    with_convention: bool = False
    slicing: Slicing | None = None
    interval: Interval = field(default_factory=Interval)
    warnings: tuple[Message, ...] = ()
    gaps: Sequence[str] = ()

    def __post_init__(self) -> None:
        of_users = [request for request in self.requests if request.metric.grain == "user"]
        self.of_runs = [request for request in self.requests if request.metric.grain == "run"]
        planner = self.planner
        self.own_user_keys = [identifier(key) for key in planner.user_keys]
        self.groups = ["model"] if planner.several_models else []
        self.slice_columns: list[SliceColumn] = []
        self.names: dict[str, Node] = {}  # of slices, by the names of their tables
        self.slices: tuple[Node, Node] | None = None
        self.item_slices: ItemSlices | None = None
        self.of_users_planner = planner
        if self.slicing is not None and self.slicing.of_items:
            calls = calls_of(self.requests)
            self.item_slices = ItemSlices.of(self.slicing, [call.values for call in calls])
            judgeable = self.item_slices.judgeable(calls)
            self.warnings += judgeable.warnings
            self.requests = [request for call in judgeable.calls for request in call.requests]
            of_users, self.of_runs = self.requests, []
            self.of_users_planner = self.item_slices.planner
        self.wide = wide_tables(self.of_users_planner, of_users)
        self.of_users_planner = self.of_users_planner.over_runs
        if self.slicing is not None and self.slicing.of_users:
            self._slice_users(self.slicing)
        if self.slicing is not None and self.item_slices is not None:
            self._name(self.slicing.columns(of_users=False), self.item_slices.names)

    def narrowed(self, requests: Sequence[MetricRequest]) -> Results:
        """Return results for some of the requests with per-user values, from the same tables."""
        narrow = copy.copy(self)
        narrow.requests, narrow.of_runs = list(requests), []
        tables: dict[str, WideTable] = {}
        for request in requests:
            name, column = self.wide.home(request)
            table = tables.setdefault(name, replace(self.wide.tables[name], columns=[]))
            every = self.wide.tables[name].columns
            weights = [other for other in every if column.weight and other.name == column.weight]
            new = [other for other in (*weights, column) if other not in table.columns]
            tables[name] = replace(table, columns=[*table.columns, *new])
        narrow.wide = Wide(tables, self.wide.homes)
        return narrow

    def sliced(self, slicing: Slicing) -> Results:
        """Return the same results for slices of users, from the same per-user values."""
        sliced = copy.copy(self)
        sliced.slicing, sliced.groups = slicing, [*self.groups]
        sliced.slice_columns, sliced.names = [*self.slice_columns], {**self.names}
        sliced._slice_users(slicing)
        return sliced

    def _slice_users(self, slicing: Slicing) -> None:
        members = [table.node for table in self.wide.tables.values()]
        lists = {node.key: node for node in self._lists()}
        self.slices = slicing.slices([*members, *lists.values()], of_users=True)
        self._name(slicing.columns(of_users=True), self.slices[1])

    def _name(self, columns: Sequence[SliceColumn], names: Node) -> None:
        self.slice_columns += columns
        self.groups += [column.column for column in columns]
        self.names[columns[0].table] = names

    @property
    def of_users(self) -> list[Node]:
        """Return the nodes of per-user values, slices of users and slice names."""
        tables = [table.node for table in self.wide.tables.values()]
        return [*tables, *(self.slices or ()), *self.names.values()]

    @property
    def of_everybody(self) -> list[Node]:
        """Return the nodes of the per-user values and of the values of the whole run."""
        of_runs = wide_tables(self.planner, self.of_runs).tables if self.of_runs else {}
        return [table.node for table in (*self.wide.tables.values(), *of_runs.values())]

    @property
    def of_slices(self) -> list[Node]:
        """Return the nodes of the slices of users or items, and of the slice names."""
        by_item = self.item_slices
        return [*(self.slices or ()), *((by_item.slices, by_item.names) if by_item else ())]

    def _lists(self) -> list[Node]:
        """Plan the lists, and the users without a list, that the values of a run depend on."""
        found: list[Node] = []
        for call in calls_of(self.of_runs):
            found.append(self.planner.node("lists", call.values))
            if (audience := self.planner.queries(call).nodes.get("audience")) is not None:
                found.append(audience)
        return found

    # ---- summaries -----------------------------------------------------------------------------

    def summary(self) -> Plan:
        """Plan the mean (or run value) of every metric and cutoff, one row each."""
        wide, totals, below = self._totals()
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in wide.tables}
        for position, request in enumerate(self.requests, start=1):
            name, column = wide.home(request)
            label = {"metric": request.name, "convention": request.convention}
            row = {**vars(column), **label, "position": position}
            of_run = column.grain == "run" and self.interval.of_runs and not column.standard_error
            if column.weight or of_run:
                row["standard_error"] = f"{column.name}_standard_error"
            rows[name].append(row)
        shares: _Shares = {}
        for name, table in wide.tables.items():
            reads, tables = shares.setdefault(table.share, ({}, []))
            known: dict[str, Any] = {"rows": rows[name], "percentiles": "", "over_runs": ""}
            for part, node in totals[name].items():
                known[part] = new_name(node.name, reads)
                reads[known[part]] = node
            tables.append(known)
            if name in below:
                tables.append(below[name].table(rows[name], reads))
        numbers = ["value", "n_users", "std", "ci_low", "ci_high"]
        numbers += OF_RUNS if self.planner.several_runs else []
        numbers += ["gap", "p_value"] if self.gaps else []
        columns = ["metric", "k", *numbers]
        summary_rows = self._rows(
            "summary_rows",
            shares,
            columns,
            groups=self.groups,
            numbers=numbers,
            z=None if self.interval.kind == "none" else self.interval.z,
            with_convention=self.with_convention,
        )
        slices = [column.column for column in self.slice_columns]
        models = [name for name in self.groups if name not in slices]
        order = [*models, *(["gap"] if self.gaps else []), *slices, "position"]
        columns = [name for name in columns if name != "gap"]
        return self._ended(summary_rows, columns, order, self._note(), self.gaps)

    def _note(self) -> str:
        interval = self.interval
        if interval.kind == "normal":
            return f"the interval is value ± {interval.z} standard errors"
        if interval.kind == "bootstrap":
            share = f"{100 * interval.confidence:g} %"
            note = f"the interval holds {share} of the means of {interval.resamples} resamples"
            of_runs = f"; for values of runs, value ± {interval.z} standard deviations of resamples"
            return note + (of_runs if interval.of_runs else "")
        return ""

    def _rows(self, template: str, shares: _Shares, columns: Sequence[str], **context: Any) -> Node:
        """Plan the rows of a result from wide tables, separately for every share of the cutoffs.

        An engine would take long to plan one statement for all shares.
        """
        several = len(shares) > 1
        parts = {
            f"{template}_{number}" if several else template: self.planner.rendered(
                template,
                reads,
                name=f"{template}_{number}" if several else template,
                often=any(len(table["rows"]) > 1 for table in tables),
                apart=several,
                tables=tables,
                **context,
            )
            for number, (reads, tables) in enumerate(shares.values(), start=1)
        }
        if not several:
            return parts[template]
        labels = ["position", *(["convention"] if self.with_convention else [])]
        names = [*self.groups, *labels, *columns]
        return self.planner.rendered(
            "united", parts, name=template, parts=[*parts], names=names, order=[]
        )

    def _ended(
        self,
        rows: Node,
        columns: Sequence[str],
        order: Sequence[str],
        note: str = "",
        gaps: Sequence[str] = (),
    ) -> Plan:
        """Name the columns of slices, and sort the rows."""
        ordered = {column.table for column in self.slice_columns if column.position}
        summary = self.planner.rendered(
            SUMMARY,
            {"summary_rows": rows, **{table: self.names[table] for table in ordered}},
            columns=columns,
            order=order,
            slice_of={column.column: column for column in self.slice_columns},
            combinations=self.slicing is not None and self.slicing.combinations,
            with_convention=self.with_convention,
            note=note,
            gaps=gaps,
        )
        return Plan(summary, self.warnings)

    def _totals(self) -> tuple[Wide, dict[str, dict[str, Node]], dict[str, GapTable]]:
        """Plan the aggregates of values per slice, and the gaps between the slices.

        Returns the tables of values; for each the nodes of `name`: its totals; `percentiles` of
        resampled means, if any; `over_runs`: the spread over the runs of a model, if any; and for
        each the gaps, if they are asked for.
        """
        wide = self.wide
        totals: dict[str, dict[str, Node]] = {}
        below: dict[str, GapTable] = {}
        for name, table in wide.tables.items():
            sliced = self._sliced(table.node, _columns(table))
            reads = {"per_user": sliced}
            if filled_in := self._lacks_groups():
                reads["row_groups"] = self._row_groups(table)
            valued = [column for column in table.columns if column.part != "weight"]
            columns = [vars(column) for column in valued]
            aggregates = self.planner.rendered(
                "totals",
                reads,
                groups=self.groups,
                filled_in=filled_in,
                columns=columns,
                z=self.interval.z,
            )
            totals[name] = {"name": aggregates}
            if table.by_run is not None:
                by_run = self._sliced(table.by_run, ["run", *_columns(table)])
                over_runs = self._spread.of_users(by_run, columns, self.interval.z)
                totals[name]["over_runs"] = over_runs
            means = [
                column.name for column in valued if column.aggregate in ("mean", "weighted_mean")
            ]
            weights = {column.name: column.weight for column in valued if column.weight}
            resampled = None
            if self.interval.kind == "bootstrap" and means:
                resampled = self._resampled(sliced, means, weights=weights)
                totals[name]["percentiles"] = self._percentiles(resampled, means)
            if self.gaps:
                groups_of_users = self._resample_groups(sliced, means, weights) if means else None
                values = {column.name: f"{column.name}_value" for column in valued}
                below[name] = self._gaps.below(
                    aggregates, values, means, resampled, groups_of_users
                )
        if self.of_runs:
            of_runs, tables, gaps = self._run_totals()
            wide, totals, below = wide | of_runs, totals | tables, below | gaps
        return wide, totals, below

    @property
    def _gaps(self) -> Gaps:
        groups = [name for name in self.groups if name == "model"]
        (names,) = self.names.values()
        return Gaps(self.planner, self.gaps, groups, self.slice_columns, names, self.interval)

    @property
    def _spread(self) -> Spread:
        return Spread(self.planner, self.groups)

    def _lacks_groups(self) -> bool:
        """Return whether a model, or the audience of a table, may have no user in a slice."""
        if not self.slice_columns or self.item_slices is not None:
            return bool(self.slice_columns)
        audiences = {table.everybody.key for table in self.wide.tables.values()}
        return self.planner.several_models or len(audiences) > 1 or bool(self.of_runs)

    def _row_groups(self, table: WideTable, baseline: str | None = None) -> Node:
        """Plan the groups that get values: every model, except the baseline, in every slice."""
        reads = dict(self.names)
        if "model" in self.groups:
            models = self.planner.node("models", table.values)
            reads = {"models": models_of(self.planner, models), **reads}
        return self.planner.rendered(
            "row_groups", reads, groups=self.groups, homes=[*reads], baseline=baseline
        )

    def _sliced(self, values: Node, columns: Sequence[str]) -> Node:
        """Repeat the values of a user for every slice of the user."""
        if self.slicing is None or self.slices is None:
            return values
        names = [*self.of_users_planner.keys.lists, *columns]
        return self.slicing.sliced(values, names, f"{values.name}_and_slice")

    def _run_totals(self) -> tuple[Wide, dict[str, dict[str, Node]], dict[str, GapTable]]:
        """Plan the values of a run per slice of users, their spread over resamples, and gaps."""
        planner, resampled = self.planner, None
        if self.interval.of_runs:
            lists = {f"members_{n}": node for n, node in enumerate(self._lists(), start=1)}
            users = planner.rendered(
                "members",
                lists,
                name="resampled_users",
                sources=list(lists),
                of_users=True,
                member_keys=self.own_user_keys,
            )
            resampling, resamples = by_user(
                planner, self.slicing, self.slices, users, self.interval
            )
            resampled = wide_tables(resampling, self.of_runs)
        per_slice = planner
        if self.slices is not None:
            per_slice, populations = by_user(planner, self.slicing, self.slices)
        wide = wide_tables(per_slice, self.of_runs)
        groups = [*self.groups, *(["run"] if planner.several_runs else [])]
        totals: dict[str, dict[str, Node]] = {}
        below: dict[str, GapTable] = {}
        for name, table in wide.tables.items():
            reads = {"per_model": table.node}
            if self.slices is not None:
                reads["populations"] = populations.populations(table.values)
            own = [column.name for column in table.columns]
            varied: list[str] = []
            if resampled is not None:
                reads["resampled_values"] = resampled.tables[name].node
                reads["of_resamples"] = resamples.populations(table.values)
                varied = [
                    column.name
                    for column in table.columns
                    if column.part == "value" and not column.standard_error
                ]
            node = table.node
            if self.slices is not None or varied:
                node = planner.rendered(
                    "totals_of_runs",
                    reads,
                    groups=groups,
                    names=own,
                    varied=varied,
                    resamples=self.interval.resamples,
                    sliced=self.slices is not None,
                )
            totals[name] = {"name": node}
            values = [column.name for column in table.columns if column.part == "value"]
            if planner.several_runs:
                errors = [name for name in own if name not in values]
                errors += [f"{name}_standard_error" for name in varied]
                node = self._spread.of_models(node, values, errors)
                totals[name] = {"name": node, "over_runs": node}
            if self.gaps:
                in_resamples = None
                if varied:
                    drawn = {part: reads[part] for part in ("resampled_values", "of_resamples")}
                    in_resamples = planner.rendered(
                        "resampled_runs", drawn, groups=self.groups, names=varied
                    )
                columns = dict(zip(values, values, strict=True))
                below[name] = self._gaps.below(node, columns, varied, in_resamples)
        return wide, totals, below

    # ---- resampling ----------------------------------------------------------------------------

    def _resampled(
        self,
        values: Node,
        names: Sequence[str],
        flipped: bool = False,
        weights: Mapping[str, str] = MappingProxyType({}),
    ) -> Node:
        """Plan the means of resampled users, with the same draws for every column.

        `weights` maps the columns that are weighted to the columns with the weights of users.
        """
        return self.planner.rendered(
            "resampled",
            {"resample_groups": self._resample_groups(values, names, weights)},
            name="flipped" if flipped else None,
            often=True,
            flipped=flipped,
            groups=self.groups,
            names=names,
            weights=weights,
            **self.interval.draws,
        )

    def _resample_groups(
        self, values: Node, names: Sequence[str], weights: Mapping[str, str]
    ) -> Node:
        """Plan the groups of users that are drawn, or permuted to find out how large gaps are."""
        return self.planner.rendered(
            "resample_groups",
            {"per_user": values},
            groups=self.groups,
            names=names,
            weights=weights,
            counted=bool(self.gaps),
            **self.interval.draws,
        )

    def _percentiles(self, resampled: Node, names: Sequence[str]) -> Node:
        return self.planner.rendered(
            "percentiles",
            {"resampled": resampled},
            groups=self.groups,
            names=names,
            confidence=self.interval.confidence,
        )

    # ---- values per user -----------------------------------------------------------------------

    def per_user(self) -> Plan:
        """Plan the per-user values: one row per user (and model, and convention) and cutoff.

        Raises:
            UsageError: a metric has one value for the whole run and no per-user values.
        """
        self._require_users("not per-user values; use evaluate")
        sliced = {column.name.lower() for column in self.slice_columns}
        for request in self.requests:
            if request.name.lower() in sliced:
                raise UsageError(
                    f"per_user: {request.name} is the name of both a metric and a slice; "
                    "rename the column in its table"
                )
        metrics = list(dict.fromkeys(request.name for request in self.requests))
        shares: _Shares = {}
        for convention in dict.fromkeys(request.convention for request in self.requests):
            own = [request for request in self.requests if request.convention == convention]
            node = self._everyone(own)
            at: dict[int | None, list[MetricRequest]] = {}
            for request in own:
                at.setdefault(request.k, []).append(request)
            for k in at:
                branch = {"convention": convention, "k": k, **self._branch(metrics, at[k])}
                tables = {name: self.wide.tables[name] for name in branch["sources"]}
                reads, branches = shares.setdefault(next(iter(tables.values())).share, ({}, []))
                everyone = next((name for name, read in reads.items() if read.key == node.key), "")
                everyone = everyone or new_name("everyone", reads)
                reads |= {name: table.node for name, table in tables.items()}
                reads[everyone] = node
                branches.append({**branch, "everyone": everyone})
        slices = {} if self.slices is None else {"slices": self.slices[0]}
        several = len(shares) > 1
        parts = {
            f"per_user_{number}": self.of_users_planner.rendered(
                "per_user",
                {**reads, **slices},
                name=f"rows_{number}" if several else None,
                often=len(branches) > 1,
                apart=several,
                branches=branches,
                in_order=not several,
                own_user_keys=self.own_user_keys,
                sliced=self.slices is not None,
                slice_columns=self.slice_columns,
                with_convention=self.with_convention,
            )
            for number, (reads, branches) in enumerate(shares.values(), start=1)
        }
        if not several:
            return Plan(parts["per_user_1"], self.warnings)
        keys = [
            *(["model"] if self.planner.several_models else []),
            *(["convention"] if self.with_convention else []),
            *self.planner.user_keys,
            *(column.name for column in self.slice_columns),
            "k",
        ]
        names = [*keys, *metrics]
        return Plan(
            self.planner.rendered(
                "united", parts, name="per_user", parts=[*parts], names=names, order=keys
            ),
            self.warnings,
        )

    def _everyone(self, requests: Sequence[MetricRequest]) -> Node:
        """Plan the users of all audiences of a result."""
        reads: dict[str, tuple[str, Node]] = {}  # audience -> one of its tables
        for request in requests:
            name, _ = self.wide.home(request)
            table = self.wide.tables[name]
            reads.setdefault(table.everybody.key, (name, table.node))
        tables = dict(reads.values())
        return self.of_users_planner.rendered("everyone", tables, audiences=[*tables])

    def _branch(self, metrics: Sequence[str], requests: Sequence[MetricRequest]) -> dict[str, Any]:
        """Return the tables and columns of per-user values at one cutoff; None if not requested."""
        homes = {request.name: self.wide.home(request) for request in requests}
        columns = []
        for metric in metrics:
            source, column = homes.get(metric, (None, None))
            columns.append({"metric": metric, "source": source, "name": column and column.name})
        sources = list(dict.fromkeys(source for source, _ in homes.values()))
        return {"columns": columns, "sources": sources}

    def per_user_long(self) -> Plan | None:
        """Plan the per-user values in long form: one row per user, metric and cutoff, or None.

        Slices of users are omitted, because a user's value is the same in all of them.
        """
        homes = []
        for request in self.requests:
            if request.metric.grain == "user":
                source, column = self.wide.home(request)
                homes.append(
                    {
                        "source": source,
                        "name": column.name,
                        "convention": request.convention,
                        "metric": request.name,
                        "k": request.k,
                    }
                )
        if not homes:
            return None
        return Plan(
            self.of_users_planner.rendered(
                "per_user_long",
                {name: table.node for name, table in self.wide.tables.items()},
                homes_of_values=homes,
                own_user_keys=self.own_user_keys,
                with_convention=self.with_convention,
                item_slices=[
                    column for column in self.slice_columns if column.attribute.of != "users"
                ],
            )
        )

    def _require_users(self, instead: str) -> None:
        for request in self.of_runs:
            raise UsageError(f"{request.spec} has one value for all users, {instead}")

    # ---- comparisons ---------------------------------------------------------------------------

    def check_comparable(self) -> None:
        """Check that every metric is a mean over users.

        Raises:
            UsageError: a metric has one value for the whole run, or is not a mean over users.
        """
        self._require_users("not per-user values to compare; use evaluate")
        for request in self.requests:
            if request.values["aggregate"] != "mean":
                raise UsageError(
                    f"{request.spec}: models are compared by means, not by aggregate="
                    f"{request.values['aggregate']}"
                )

    def comparison(self, baseline: str, test: str) -> Plan:
        """Plan the statistics for a comparison of every model with `baseline`, one row each.

        The columns are those that `paired_tests.finished` reads.

        Raises:
            UsageError: as for `check_comparable`.
        """
        self.check_comparable()
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in self.wide.tables}
        for position, request in enumerate(self.requests, start=1):
            name, column = self.wide.home(request)
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
        shares: _Shares = {}
        for name, table in self.wide.tables.items():
            reads, tables = shares.setdefault(table.share, ({}, []))
            compared = self._compared(table, baseline, rows[name], test)
            known: dict[str, Any] = dict.fromkeys(("percentiles", "extremes", "signed_ranks"))
            known["rows"] = rows[name]
            for part, node in compared.items():
                known[part] = new_name(node.name, reads)
                reads[known[part]] = node
            tables.append(known)
        columns = [
            "metric", "k", "baseline", "n_users", "value", "baseline_value", "difference", "std",
            "wins", "ties", "losses",
        ]  # fmt: skip
        if self.interval.kind == "bootstrap":
            columns += ["interval_low", "interval_high"]
        if test in ("randomization", "bootstrap"):
            columns += ["n_extreme", "n_resamples"]
        names = ["position", *(["convention"] if self.with_convention else []), *columns]
        if test == "wilcoxon":
            columns += ["n_nonzero", "positive_ranks", "negative_ranks", "tie_term"]
            columns += ["few_ranks"]
        comparison_rows = self._rows(
            "comparison_rows",
            shares,
            columns,
            groups=self.groups,
            names=names,
            baseline=baseline,
            with_convention=self.with_convention,
        )
        slices = [name for name in self.groups if name != "model"]
        return self._ended(comparison_rows, columns, [*slices, "position", "model"])

    def _compared(
        self, table: WideTable, baseline: str, rows: Sequence[Mapping[str, Any]], test: str
    ) -> dict[str, Node]:
        """Plan the statistics of the differences in one audience: totals and inputs of the test."""
        planner = self.planner
        names = [column.name for column in table.columns]
        pairs = self.of_users_planner.rendered(
            "pairs", {"per_user": table.node}, often=True, names=names, baseline=baseline
        )
        parts = [f"{name}{end}" for name in names for end in ("", "_baseline", "_difference")]
        sliced = self._sliced(pairs, parts)
        low = {row["name"]: row["low_is_better"] for row in rows}
        columns = [{"name": name, "low_is_better": low[name]} for name in names]
        groups: dict[str, Any] = {"groups": self.groups}
        reads = {"pairs": sliced, "row_groups": self._row_groups(table, baseline)}
        totals = planner.rendered("difference_totals", reads, columns=columns, **groups)
        compared = {"totals": totals}
        differences = [f"{name}_difference" for name in names]
        if "bootstrap" in (self.interval.kind, test):
            resampled = self._resampled(sliced, differences)
        if self.interval.kind == "bootstrap":
            compared["percentiles"] = self._percentiles(resampled, differences)
        if test in ("bootstrap", "randomization"):
            flipped = test == "randomization"
            drawn = self._resampled(sliced, differences, True) if flipped else resampled
            reads = {"resampled": drawn, "totals": totals}
            compared["extremes"] = planner.rendered(
                "extremes", reads, names=differences, flipped=flipped, **groups
            )
        if test == "wilcoxon":
            compared["signed_ranks"] = planner.rendered(
                "signed_ranks", {"pairs": sliced}, rows=rows, few=FEW, **groups
            )
        return compared


def _columns(table: WideTable) -> list[str]:
    return [column.name for column in table.columns]
