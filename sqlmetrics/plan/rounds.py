"""Plan metrics of rounds: what a new policy would have earned, from the logs of another policy.

A value belongs to a round of the logs instead of a user, so these metrics have a planner of their
own, whose lists are rounds: means, standard errors, clusters, slices and comparisons are those of
lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.plan.planner import Planner, StageSource
from sqlmetrics.plan.sliced import SlicedStages
from sqlmetrics.plan.slices import Slicing
from sqlmetrics.sql.query_graph import Node, Query
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.tables.schema import ROUND
from sqlmetrics.texts.messages import Message, give, joined, map_column


class _Rounds(StageSource):
    """The stages of `base`, whose keys are those of users; metrics add the key of the round."""

    def __init__(self, base: Planner) -> None:
        self.base = base

    def node(
        self,
        planner: Planner,  # noqa: ARG002
        name: str,
        values: Mapping[str, Any],
    ) -> Query:
        """Plan a stage or table with the keys of users."""
        return self.base.node(name, values)

    def of_checks(self, planner: Planner) -> Planner:  # noqa: ARG002
        """Return the planner with the keys of users."""
        return self.base


def planner_of(planner: Planner, requests: Sequence[MetricRequest]) -> Planner:
    """Return the planner of the values of requests: this one, or that of rounds.

    Raises:
        UsageError: the requests are about rounds and about lists, one has a cutoff, or the policy
            is given twice.
    """
    of_rounds = [request for request in requests if request.metric.grain == "round"]
    if not of_rounds:
        return planner
    for request in requests:
        if request not in of_rounds:
            raise UsageError(
                f"{of_rounds[0].name} has a value per round of the logs, {request.name} has one "
                "per list",
                remedy="request them in separate calls",
            )
        if request.k is not None:
            raise UsageError(
                f"{request.column}: a policy shows one item per round, so {request.name} has no "
                "cutoff; remove it"
            )
    _check_policy(planner)
    base = planner
    if "policy" in planner.tables or planner.inputs.has("logs", "target_propensity"):
        named = planner.inputs.has("policy", "model")
        base = replace(planner, several_models=named, several_runs=False)
    return replace(base, user_keys=(ROUND, *planner.user_keys), keeps=False, stages=_Rounds(base))


def _check_policy(planner: Planner) -> None:
    """Check that the new policy is given, and once, and that its rows belong to rounds."""
    has = planner.inputs.has
    given = [
        *(["logs"] if has("logs", "target_propensity") else []),
        *(table for table in ("policy", "recommendations") if table in planner.tables),
    ]
    if len(given) != 1:
        ways = {
            "logs": Message("a column of the logs, ", map_column("logs", "target_propensity")),
            "policy": Message("a table of probabilities, ", give("policy")),
            "recommendations": Message(
                "lists whose first items it shows, ", give("recommendations")
            ),
        }
        how = joined(" and " if given else " or ", [ways[table] for table in given or ways])
        raise UsageError(
            Message("the new policy is given twice: with ", how)
            if given
            else Message("no new policy is given: it is ", how),
            remedy="give one of them",
        )
    if given == ["policy"] and not (has("policy", ROUND) or planner.inputs.has_user("policy")):
        raise UsageError(
            f"the policy has neither a column round_id nor {' and '.join(planner.user_keys)}",
            table="policy",
            column=ROUND,
            remedy=Message("name the column of rounds with ", map_column("policy", ROUND)),
        )
    if has("policy", ROUND) and not has("logs", ROUND):
        raise UsageError(
            "the policy has a column round_id, but the logs do not",
            table="logs",
            column=ROUND,
            remedy=Message("name the column of rounds with ", map_column("logs", ROUND)),
        )


def sliced(planner: Planner, slicing: Slicing, rows: Sequence[Node]) -> tuple[Planner, Node]:
    """Return the planner of values of rounds per slice, and the names of the slices.

    `rows` are the queries whose rounds are assigned to slices.
    """
    slices, names = slicing.slices(rows, of_users=True)
    columns = [column.column for column in slicing.columns(of_users=True)]
    base = replace(planner, slices_of_rounds=())
    stages = SlicedStages(
        base,
        "by_round",
        more={"slices": slices},
        context={"member_keys": list(map(identifier, planner.user_keys)), "slices": columns},
    )
    own = replace(
        planner,
        user_keys=(*planner.user_keys, *columns),
        slices_of_rounds=columns,
        stages=stages,
    )
    return own, names
