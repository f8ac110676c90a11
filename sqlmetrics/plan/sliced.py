"""Replace stages by stages that are computed once per slice.

A template in the folder replaces the stage of the same name. Queries that read a replaced stage are
planned again; other queries do not change. One template can replace several stages: `by_user/lists`
also replaces `ranked` and `audience`, `by_round/rounds` also `slates`, `by_item/judged` every stage
with `judged_only` in its header, and `by_item/lists` every stage with `every_slice`. A stage with
`slices_of` in its header stays as it is, and takes the slices of its rows from that stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.front_matter import Metric, Stage, template_root
from sqlmetrics.metrics.requests import MetricCall
from sqlmetrics.plan.planner import Planner, StageSource
from sqlmetrics.plan.slices import Slicing
from sqlmetrics.plan.values import WideTable
from sqlmetrics.sql.binding import Text, bound, tables_of
from sqlmetrics.sql.query_graph import Node, Query, identity_of
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.simplify.relations import named
from sqlmetrics.sql.templates import render
from sqlmetrics.sql.trees import find_all
from sqlmetrics.texts.messages import RANKED, Message

BY_ITEM = "_by_item"  # at the end of names: queries that assign rows to slices of items


class SlicedStages(StageSource):
    """The stages of `base`, computed once per slice.

    Args:
        base: the planner of the stages that are not sliced.
        folder: the folder of the templates, "by_user", "by_item" or "by_round".
        more: further queries that these templates read, by name.
        context: further variables of these templates.
    """

    def __init__(
        self, base: Planner, folder: str, more: Mapping[str, Node], context: Mapping[str, Any]
    ) -> None:
        self.base = base
        self.folder = folder
        self.more = more
        self.context = context
        paths = (template_root() / folder).iterdir()
        self._templates = {path.name.split(".")[0]: path for path in paths}
        if folder == "by_item":
            stages = base.catalog.stages.values()
            judged, lists = self._templates["judged"], self._templates["lists"]
            self._templates |= {stage.name: judged for stage in stages if stage.judged_only}
            self._templates |= {stage.name: lists for stage in stages if stage.every_slice}
        elif folder == "by_user":
            self._templates |= dict.fromkeys(("ranked", "audience"), self._templates["lists"])
        else:
            self._templates["slates"] = self._templates["rounds"]
        self._is_sliced: dict[str, bool] = {}  # by the identity of a query of `base`

    def node(
        self,
        planner: Planner,
        name: str,
        values: Mapping[str, Any],
    ) -> Query | None:
        """Plan a stage once per slice; return that of `base` if it reads no sliced stage."""
        usual, stage = self.base.node(name, values), self.base.catalog.stages.get(name)
        if name in self._templates:
            return self.instead(name, values)
        if self.folder == "by_item" and stage is not None and stage.slices_of:
            return self._with_slices(usual, stage, planner.node(stage.slices_of, values))
        return None if self._reads_sliced(usual) else usual

    def _with_slices(self, usual: Query, stage: Stage, sliced: Query) -> Query:
        """Let a stage read another one as it is per slice of items, and take its slices."""
        parents = {one.key: sliced if one.name == stage.slices_of else one
                   for one in usual.parents.values()}  # fmt: skip
        tree = usual.tree.copy()
        tables = [table for table in find_all(tree, exp.Table) if table.name in parents]
        for table in tables:
            table.set("this", exp.to_identifier(parents[table.name].key))
        # with users and slices of two tables, an engine may join all users of a slice
        own = [exp.column(named(name), table=stage.slices_of) for name in self.base.user_keys]
        others = [one for one in tree.expressions if one.alias_or_name not in self.base.user_keys]
        slices = [exp.column(column, table=stage.slices_of) for column in self.context["slices"]]
        tree.set("expressions", [*own, *others, *slices])
        return replace(
            usual,
            key=identity_of(usual.key, sliced.key),
            name=f"{stage.name}{BY_ITEM}",
            parents={one.key: one for one in parents.values()},
            stage=replace(stage, keep=False),
            tree=tree,
            tables=tables,
            values=None,
        )

    def instead(self, name: str, values: Mapping[str, Any]) -> Query:
        """Plan the template of the folder that replaces a stage."""
        path = self._templates[name]
        stage, names = self.base.catalog.stages.get(name), list[str]()
        if stage is not None:
            stage = replace(stage, keep=False)
            names = self.base.node(name, values).columns
        context = {
            **self.base.keys.context, **self.context, "stage": name, "names": names,
            "every_item": name == "judged" and all_are_relevant(self.base, values),
        }  # fmt: skip
        text = Text(render(path.read_text(encoding="utf-8"), context, str(path)), str(path))

        read = {table: self._read(table, values) for table in tables_of(text)}
        return bound(f"{name}_{self.folder}", text, read, stage)

    def _read(self, table: str, values: Mapping[str, Any]) -> Node:
        if table == "populations":
            return self.instead(table, values)
        return self.more.get(table) or self.base.node(table, values)

    def everybody(self, metric: Metric, values: Mapping[str, Any]) -> Query | None:
        """Plan the populations that get a value of a run, including those without a list.

        In resamples, populations without a list are not included: a draw without lists provides no
        information about the others.
        """
        if metric.grain == "run" and not self.context.get("resampled"):
            return self.instead("populated", values)
        return None

    def check_metric(self, metric: Metric, query: Query) -> None:
        """Check that a metric reads no lists that are not sliced.

        Raises:
            UsageError: the metric reads the table of recommendations directly.
        """
        parents = (parent for parent in query.parents.values() if isinstance(parent, Query))
        if any(parent.table in RANKED for parent in parents):
            raise UsageError(
                f"{metric.name} reads the table recommendations directly; for slices and "
                "resamples, a metric must read the stages ranked or lists, or stages based on them"
            )

    def _reads_sliced(self, node: Node) -> bool:
        """Return whether a query of `base` reads a stage that is computed once per slice.

        Slices of items do not change the order of lists, also where relevance breaks ties.
        """
        if self.folder == "by_item" and node.name == "ranked":
            return False
        if node.key not in self._is_sliced:
            self._is_sliced[node.key] = any(
                parent.name in self._templates or self._reads_sliced(parent)
                for parent in node.parents.values()
            )
        return self._is_sliced[node.key]


def all_are_relevant(planner: Planner, values: Mapping[str, Any]) -> bool:
    """Return whether the relevant items are the different items of the interactions."""
    graded = planner.inputs.has("interactions", "relevance")
    once = values["duplicate_interactions"] in ("error", "set")
    return not graded and once and values["unjudged"] != "best"


@dataclass(frozen=True)
class ItemSlices:
    """Plans values for slices of items, in which the ground truth is split into slices.

    Attributes:
        planner: plans the metrics.
        usual: plans the same metrics without slices.
        slices: the users or items of each slice.
        names: the names of the slices.
    """

    planner: Planner
    usual: Planner
    slices: Node
    names: Node

    @classmethod
    def of(cls, slicing: Slicing, values: Sequence[Mapping[str, Any]]) -> ItemSlices:
        """Create slices by item; `values` are the settings of all metrics to be requested."""
        base = slicing.planner
        every_row = ({**settings, "judged_from": None} for settings in values)
        judged = {node.key: node for node in (base.node("judged", rows) for rows in every_row)}
        slices, names = slicing.slices(list(judged.values()), of_users=False)
        columns = [column.column for column in slicing.columns(of_users=False)]
        stages = SlicedStages(
            base,
            "by_item",
            more={"item_slices": slices, "item_slice_names": names},
            context={
                "member_keys": list(map(identifier, slicing.member_keys(of_users=False))),
                "slices": columns,
            },
        )
        planner = replace(base, user_keys=(*base.user_keys, *columns), keeps=False, stages=stages)
        return cls(planner, base, slices, names)

    def has_users(self, table: WideTable) -> bool:
        """Return whether every slice has users in the audience of a table.

        It has if the users with relevant items are averaged over, and every judged item is
        relevant.
        """
        values = table.values
        return (
            values["audience"] == "relevant"
            and values["no_recommendations"] == "zero"
            and all_are_relevant(self.usual, values)
        )

    def judgeable(self, calls: Iterable[MetricCall]) -> tuple[list[MetricCall], list[Message]]:
        """Return the metrics that support slices of items, and warnings about the other metrics.

        Metrics that the user did not name are omitted.

        Raises:
            UsageError: a named metric has no per-user values, or uses items that are not relevant.
        """
        kept: list[MetricCall] = []
        warnings: list[Message] = []
        problem = ""
        for call in calls:
            why = self._why_not(call)
            if not why:
                kept.append(call)
                continue
            problem = (
                f"{call.name} {why}; slices of items support only metrics of relevant items, "
                "such as recall and ndcg"
            )
            if not all(request.spec.implied for request in call.requests):
                raise UsageError(problem)
            warnings.append(Message(f"omitted: {problem}"))
        if not kept:
            raise UsageError(problem)
        return kept, warnings

    def _why_not(self, call: MetricCall) -> str:
        if call.metric.grain != "user":
            return "has one value for all users"
        if call.values["unjudged"] == "best":
            return "counts unjudged items, which are in no slice, with unjudged=best"
        queries = self.planner.queries(call)
        in_slices = [node for node in queries.nodes.values() if self._comes_per_slice(node)]
        keys = {node.key for node in in_slices}
        # `nodes` may have a slice under the name of the metric
        for node in (queries.values, *in_slices):
            if node.name.endswith(BY_ITEM):  # assigns rows to slices
                continue
            for parent in node.parents.values():
                columns = {*parent.columns} if isinstance(parent, Query) else set()
                if parent.key not in keys and {*self.usual.user_keys} <= columns:
                    return f"reads {parent.name} in {node.name}"
        return ""

    def _comes_per_slice(self, node: Node) -> bool:
        parents = node.parents
        return not parents.keys().isdisjoint((self.slices.key, self.names.key)) or any(
            self._comes_per_slice(parent) for parent in parents.values()
        )
