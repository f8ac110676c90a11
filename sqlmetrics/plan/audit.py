"""Plan audits: labels of all users, such as those of a language model, that people correct.

A result is an estimate of the mean over all users of the values by people (prediction-powered
inference: Angelopoulos, Duchi and Zrnic, PPI++, arXiv 2311.01453, 2023). With the values f by the
labels, and y by people for n audited users, besides whom there are N others, it is

    mean of y + λ (mean of f over the others - mean of f over the audited users)

with the standard error √(λ² var(f of the others) / N + var(y - λ f of the audited users) / n), and
λ = cov(y, f) / ((1 + n / N) var(f of all users)), at least 0 and at most 1. The last variance is
that of a sample; the others, and the covariance, are those of the users at hand, as in ppi-python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlmetrics.errors import MissingTableError, UsageError
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.values import Column, Wide, WideTable, wide_tables
from sqlmetrics.sql.query_graph import Node, Plan, new_name
from sqlmetrics.texts.messages import Argument

TABLE = "audit"
READ_AS_INTERACTIONS = "This applies to audit, which is read as interactions."


@dataclass(frozen=True)
class Audit:
    """The values by people of audited users.

    Attributes:
        planner: plans queries that read the audit in place of the interactions.
        users: the query with a row per audited user.
        labels: the values by the labels.
        people: the values by people.
        requests: the metrics and cutoffs.
    """

    planner: Planner
    users: Node
    labels: Wide
    people: Wide
    requests: tuple[MetricRequest, ...]

    @classmethod
    def of(cls, planner: Planner, requests: Sequence[MetricRequest], labels: Wide) -> Audit | None:
        """Plan the values by people beside those by the labels; None if no audit was given.

        Raises:
            UsageError: there are several runs, or a metric is not a mean over users.
        """
        if TABLE not in planner.tables:
            return None
        if planner.several_runs:
            raise UsageError(Argument(TABLE), " cannot correct the values of several runs")
        for request in requests:
            if request.metric.grain != "user" or request.values["aggregate"] != "mean":
                raise UsageError(Argument(TABLE), f" corrects means over users, not {request.spec}")
            audience, columns = request.values["audience"], planner.tables[TABLE].columns
            if audience in ("recommended", "either", "judged") and "relevance" not in columns:
                raise UsageError(
                    Argument(TABLE),
                    " has no column relevance, and so no user for whom people found nothing; "
                    f"audience={audience} counts such users",
                    remedy="add the column, and rows with the relevance 0 for these users",
                )

        def auditing() -> Planner:
            given = {name: table for name, table in planner.tables.items() if name != TABLE}
            given["interactions"] = planner.tables[TABLE]
            return replace(planner, tables=given)

        reader = planner.once((TABLE,), auditing)
        users = reader.node("interaction_profile", requests[0].values)
        try:
            people = wide_tables(reader, requests)
        except MissingTableError as error:
            raise error.with_text(f"\n{READ_AS_INTERACTIONS}") from None
        return cls(reader, users, labels, people, tuple(requests))

    @property
    def both(self) -> Wide:
        """Return the tables of values by the labels, with the values by people in more columns."""
        tables: dict[str, WideTable] = {}
        homes = dict(self.labels.homes)
        for name, table in self.labels.tables.items():
            reads = {"labels": table.node, "audited": self.users}
            values: dict[tuple[str, str], Column] = {}  # the columns of both -> that of the result
            columns: list[Column] = []
            selected: list[dict[str, str]] = []
            for request in self.requests:
                home, column = self.labels.home(request)
                if home != name:
                    continue
                source, of_people = self.people.home(request)
                reads[f"people_{source}"] = self.people.tables[source].node
                pair = (column.name, of_people.name)
                if pair not in values:
                    own = new_name(column.name, {known.name for known in values.values()})
                    people = f"{own}_people"
                    values[pair] = replace(column, name=own, people=people)
                    columns += [values[pair], replace(column, name=people, part="people")]
                    selected.append(
                        {"name": own, "labels": column.name, "people": people,
                         "source": f"people_{source}", "value": of_people.name}
                    )  # fmt: skip
                homes[request.label] = name, values[pair]
            node = self.planner.rendered(
                "audited_values", reads, name=f"{name}_and_audit", of_both=selected,
                sources=[source for source in reads if source.startswith("people_")],
            )  # fmt: skip
            tables[name] = replace(table, node=node, columns=columns)
        return Wide(tables, homes)

    def estimates(
        self, values: Node, groups: Sequence[str], names: Sequence[str], ends: Sequence[str] = ("",)
    ) -> Node:
        """Plan the estimate of every column, with its standard error and `OF_AUDIT`.

        With `ends`, a column has one estimate for each of these ends of its name. The weight of
        labels is that of the last one, so that estimates of two models differ by their difference.
        """
        return self.planner.rendered(
            "audit_estimates", {"per_user": values}, groups=groups, names=names, ends=ends
        )

    @property
    def unpaired(self) -> list[Plan]:
        """Plan queries for audited users with values by labels or by people only."""
        pairs: dict[tuple[str, str], list[dict[str, str]]] = {}
        for request in self.requests:
            name, column = self.labels.home(request)
            source, of_people = self.people.home(request)
            compared = {"labels": column.name, "people": of_people.name, "metric": request.column}
            pairs.setdefault((name, source), []).append(compared)
        return [
            Plan(
                self.planner.rendered(
                    "audit_unpaired",
                    {
                        "labels": self.labels.tables[name].node,
                        "people": self.people.tables[source].node,
                        "audited": self.users,
                    },
                    of_both=columns,
                )
            )
            for (name, source), columns in pairs.items()
        ]

    @property
    def unjudged(self) -> list[Plan]:
        """Plan queries for items in the lists of audited users that people have not judged.

        An audit without relevance has the relevant items only, and metrics may not read it.
        """
        plans = {}
        for call in calls_of(self.requests):
            nodes = self.planner.queries(call).nodes
            graded = self.planner.inputs.has("interactions", "relevance")
            if not graded or "interactions" not in nodes:
                continue
            node = self.planner.rendered(
                "audit_unjudged",
                {
                    "ranked": self.planner.node("ranked", call.values),
                    "judged": self.planner.node("judged", call.values),
                    "audited": self.users,
                },
                deepest=call.values["max_cutoff"],
            )
            plans[node.key] = Plan(node)
        return list(plans.values())
