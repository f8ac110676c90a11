"""Run plans as a whole or, to limit memory, for one partition of the users after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from sqlmetrics.checks.validate import RowsOf, all_rows
from sqlmetrics.engines.base import EmbeddedEngine, Engine
from sqlmetrics.errors import RowsError, UsageError
from sqlmetrics.lazy import lazy
from sqlmetrics.partitions.sizing import Division, divide
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.query_graph import Plan, Query

if TYPE_CHECKING:
    from sqlmetrics.partitions import locality, sequential
    from sqlmetrics.partitions import split as splits
else:  # a run over small tables needs none of these modules
    locality, sequential, splits = lazy(
        "sqlmetrics.partitions.locality",
        "sqlmetrics.partitions.sequential",
        "sqlmetrics.partitions.split",
    )

_T = TypeVar("_T")
# function that checks rows of a plan's tables; the set holds the checks that have passed
Validate = Callable[[RowsOf, set[str]], None]


@dataclass
class Executor:
    """Runs plans on an engine and remembers the checks that the tables have passed.

    Attributes:
        engine: the engine that runs the plans.
        planner: knows the tables, and the engine's alternatives for stages.
        asked: the number of partitions requested by the user, or None.
        passed: the checks of all rows that have passed.
    """

    engine: Engine
    planner: Planner
    asked: int | None = None
    passed: set[str] = field(default_factory=set)

    def run(
        self,
        plan: Plan,
        validate: Validate,
        deliver: Callable[[Plan], _T],
        note: Callable[[str], None],
    ) -> _T:
        """Check the tables of a plan and run the plan.

        Args:
            plan: the logical plan.
            validate: function that checks rows, called for all rows or for every partition.
            deliver: function that runs a plan and returns its result; for a partitioned run, it
                receives the plan that combines the results of partitions.
            note: function that receives the reason why a run is split.

        Raises:
            DataError: a table breaks a rule.
        """
        division, engine = self.division(plan), self.engine.embedded
        plan = self.physical(plan)
        if division.is_whole or engine is None:
            validate(all_rows, self.passed)
            return deliver(plan)
        note(str(division))
        split = self.split(keeps=not division.bounds and not division.to_sort)
        before, passed = set(engine.kept()), list[set[str]]()

        def check(partition: splits.Partition) -> None:
            passed.append(set(self.passed))
            try:
                validate(split.rows_of(partition), passed[-1])
            except RowsError as error:
                text = f"\nThese counts refer to partition {partition} of the users."
                raise error.with_text(text) from error

        try:
            with engine.scratch() as folder:
                reduced = sequential.in_turn(engine, split, plan.root, division, folder, check)
                self.passed |= set.intersection(*passed)
                return deliver(replace(plan, root=reduced.root))
        finally:
            engine.forget(set(engine.kept()) - before)

    def physical(self, plan: Plan) -> Plan:
        """Plan how the engine runs a plan."""
        return physical(self.planner, plan)

    def division(self, plan: Plan) -> Division:
        """Decide whether to compute a result as a whole or by partitions of the users."""
        if self.engine.embedded is None:
            return Division()
        read = {node.table for node in plan.nodes() if isinstance(node, Query) and node.is_input}
        tables = {name: table for name, table in self.planner.tables.items() if name in read}
        division = divide(self.engine.embedded, tables, self.planner.user_keys, self.asked)
        if division.is_whole:
            return division
        return replace(division, whole=sequential.tables_needed_whole(self.split(), plan.root))

    def split(self, enough: Iterable[str] = (), keeps: bool = True) -> splits.Split:
        """Create a `Split`; `keeps`: keep the rows of a partition for reuse."""
        engine = self.embedded()
        lists = self.planner.tables.get("recommendations")
        types: Mapping[str, str] = {} if lists is None else lists.columns
        return splits.Split(
            self.planner.user_keys,
            types,
            engine.interruptible(lambda: locality.aggregates_of(engine.connection)),
            # in a user's connection, rows would be kept as Arrow, with other types
            keeps=keeps and engine.owned,
            enough=frozenset(enough),
        )

    def one_of(self, partition: str) -> splits.Partition:
        """Parse the partition that a job computes.

        Raises:
            UsageError: the text is not a partition, or the engine is Spark.
        """
        if self.asked not in (None, 1):
            raise UsageError(
                "partition (one of several jobs) and partitions (a split in this process) cannot "
                "be combined; pass one of them"
            )
        return splits.Partition.parse(partition)

    def embedded(self) -> EmbeddedEngine:
        """Return the engine if it is DuckDB.

        Raises:
            UsageError: the engine is not DuckDB.
        """
        if self.engine.embedded is None:
            raise UsageError("partitions need DuckDB; other engines divide their work themselves")
        return self.engine.embedded

    def forget(self) -> None:
        """Forget the checks that the tables have passed."""
        self.passed.clear()
