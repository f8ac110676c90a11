"""Data warnings: findings about the tables of a result that do not invalidate it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmetrics.checks.survey import Survey, applicable, times_that_differ
from sqlmetrics.checks.validate import TOTALS, Finding
from sqlmetrics.errors import DataWarning, SqlmetricsError, SqlmetricsWarning
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.metrics.spec import unique
from sqlmetrics.sql.query_graph import Plan
from sqlmetrics.texts.messages import Argument, Command, Message, joined

IN_CLUSTERS = "lists_in_clusters"  # a check that results without intervals, or of clusters, pass
_ACCEPTED = "accepted"  # the level of findings that a user has accepted
# rows of lists; up to here, checks cost less than metrics and fit in memory
_MOST_CHECKED = 10_000_000
_TO_CHECK = ("; add ", Argument("check", True), ", or run ", Command("check"), ".")
_NOT_DUCKDB = Message(
    "The data was not checked: data checks run by default only with DuckDB",
    *_TO_CHECK,
)


@dataclass(frozen=True)
class Noticed:
    """Findings about the tables of a result, or the reason for skipped checks."""

    findings: Sequence[Finding] = ()
    unchecked: Message = field(default_factory=Message)


@dataclass
class DataWarnings(Survey):
    """Finds data warnings and caches them.

    Attributes, besides those of `Survey`:
        trusted: skip the checks of rows.
        accepted: the checks whose warnings a user has looked at.
    """

    trusted: bool
    accepted: Set[str] = frozenset()
    _n_rows: int | None = field(default=None, init=False)  # of the lists

    def forget(self) -> None:
        """Clear cached findings after tables may have changed."""
        self._known.clear()
        self._n_rows = None

    def settled(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings with the level "accepted", last, if a user has accepted their check."""
        settled = [
            replace(finding, level=_ACCEPTED)
            if finding.check in self.accepted and finding.level != "error"
            else finding
            for finding in findings
        ]
        return sorted(settled, key=lambda finding: finding.level == _ACCEPTED)

    def of_result(
        self, requests: Sequence[MetricRequest], check: bool | None, settled: Set[str] = frozenset()
    ) -> list[SqlmetricsWarning]:
        """Return a warning for each finding in the tables of a result, or for skipped checks.

        Args:
            requests: the requests of the result; empty if there is no result.
            settled: checks that the request has answered.
            check: run data checks; None: only with DuckDB, on lists that the result reads and that
                are not too long.
        """
        if not self._applies(requests, check):
            return []
        if check is None and self.engine.embedded is None:
            return [SqlmetricsWarning(_NOT_DUCKDB)]
        if unchecked := self.why_unchecked(check):
            return [SqlmetricsWarning(unchecked)]
        return [
            finding.warning() if finding.level == "warning" else DataWarning(_unread(finding))
            for finding in self._found(requests)
            if finding.check not in settled
        ]

    def stages(self, requests: Sequence[MetricRequest], check: bool | None) -> set[str]:
        """Return the identities of the stages that the checks of a result will read."""
        if not self._applies(requests, check) or self.why_unchecked(check):
            return set()
        checks = applicable(
            self.planner,
            self.settings(requests),
            unique(request.k for request in requests),
            {"warning"},
            self._read_by(requests),
        )
        plans = [
            self.planner.check(check_, values)
            for check_, needs, values in checks
            if not times_that_differ(self.planner, needs)
        ]
        return {node.key for plan in plans for node in plan.nodes() if node.keep}

    def _applies(self, requests: Sequence[MetricRequest], check: bool | None) -> bool:
        """Return whether the checks are about a result; by default, only about its lists."""
        if not requests or check is False or self.trusted:
            return False
        return check is not None or bool({"recommendations", "rounds"} & self._read_by(requests))

    def noticed(self, requests: Sequence[MetricRequest], check: bool | None) -> Noticed:
        """Return the findings for a report or a record, or the reason for skipped checks."""
        is_skipped = self.trusted or check is False
        if not (is_skipped or self._applies(requests, check)):
            return Noticed()
        unchecked = self.why_unchecked(check)
        if unchecked:
            return Noticed(unchecked=unchecked)
        try:
            findings = self._found(requests, ["warning", "note"])
        except Exception as error:  # the rest of the report is still valid
            return Noticed(unchecked=Message(stopped(error), "."))
        checks = self.planner.catalog.checks  # an unreadable table is an error of any check
        found = [one for one in findings if one.level == checks[one.check].level]
        unread = [_unread(one) for one in findings if one.level != checks[one.check].level]
        return Noticed(found, Message(joined("; ", unread), ".") if unread else Message())

    def _found(
        self, requests: Sequence[MetricRequest], levels: Sequence[str] = ("warning",)
    ) -> list[Finding]:
        cutoffs = unique(request.k for request in requests)
        found = self.survey([], requests, cutoffs, levels, self._read_by(requests))
        return [finding for finding in found if finding.check not in self.accepted]

    def _read_by(self, requests: Sequence[MetricRequest]) -> set[str]:
        calls = calls_of(requests)
        return {name for call in calls for name in self.planner.queries(call).nodes}

    def why_unchecked(self, check: bool | None) -> Message:
        """Return the reason for skipping data checks; empty if they run."""
        if self.trusted:
            trusted = Argument("trust_input", True)
            return Message("Data checks were skipped because of ", trusted, ".")
        if check is False:
            return Message("Data checks were skipped; run ", Command("check"), ".")
        if check is None and (n_rows := self._rows_of_lists()) > _MOST_CHECKED:
            return Message(
                f"The data was not checked: the lists have {n_rows:,} rows, and data checks run by "
                f"default only up to {_MOST_CHECKED:,} rows", *_TO_CHECK,
            )  # fmt: skip
        return Message()

    def _rows_of_lists(self) -> int:
        """Return the number of rows of all lists, as counted by the checks; or that of the logs."""
        if self._n_rows is None and "recommendations" not in self.planner.tables:
            logs = self.planner.node("logs", self.definitions.values)
            n_rows = Plan(self.planner.rendered("n_rows", {"counted_rows": logs}))
            self._n_rows = int(self.records(n_rows)[0]["n_rows"])
        if self._n_rows is None:
            # do not search for duplicates again
            values = {**self.definitions.values, "duplicate_recommendations": "keep"}
            checks = self.planner.catalog.checks
            totals = self.planner.check(checks[TOTALS["recommendations"]], values)
            self._n_rows = int(self.records(totals)[0]["n_rows"])
        return self._n_rows


def stopped(error: Exception) -> Message:
    """Return the message that data checks failed."""
    first: Any = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, SqlmetricsError):
        first = error.found
    return Message("data checks failed: ", first)


def _unread(finding: Finding) -> Message:
    return Message("data checks cannot read a table: ", finding.found)
