"""Runs plans: as a whole or, where memory demands it, for partitions of the users in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlmetrics.checks.validate import RowsOf, all_rows
from sqlmetrics.engines.base import EmbeddedEngine, Engine
from sqlmetrics.errors import RowsError, UsageError
from sqlmetrics.partitions.locality import aggregates_of
from sqlmetrics.partitions.sequential import in_turn, tables_needed_whole
from sqlmetrics.partitions.sizing import Division, divide
from sqlmetrics.partitions.split import Partition, Split
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.query_graph import Plan, Query

_T = TypeVar("_T")
# looks at some rows of the tables of a plan; the set is of the checks that have passed for these
Validate = Callable[[RowsOf, set[str]], None]


@dataclass
class Executor:
    """Runs plans on an engine, and remembers which checks the tables have passed.

    Attributes:
        engine: where plans run.
        planner: knows the tables, and the alternatives that the engine has for single stages.
        asked: the number of partitions, if it is not to be decided here.
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
        """Check the tables of a plan and run it.

        Args:
            plan: the logical plan.
            validate: checks rows; is called for all rows, or for those of every partition.
            deliver: runs a plan and returns its result. After partitions, the plan that it gets
                puts their results together.
            note: is told why a run is split.

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

        def check(partition: Partition) -> None:
            passed.append(set(self.passed))
            try:
                validate(split.rows_of(partition), passed[-1])
            except RowsError as error:
                text = f"\nThese are rows of partition {partition} of the users."
                raise error.with_text(text) from error

        try:
            with engine.scratch() as folder:
                reduced = in_turn(engine, split, plan.root, division, folder, check)
                self.passed |= set.intersection(*passed)
                return deliver(replace(plan, root=reduced.root))
        finally:
            engine.forget(set(engine.kept()) - before)

    def physical(self, plan: Plan) -> Plan:
        """Plan how the engine runs a plan."""
        return physical(self.planner, plan)

    def division(self, plan: Plan) -> Division:
        """Decide whether a result is computed as a whole, or for partitions of the users."""
        if self.engine.embedded is None:
            return Division()
        read = {node.table for node in plan.nodes() if isinstance(node, Query) and node.is_input}
        tables = {name: table for name, table in self.planner.tables.items() if name in read}
        division = divide(self.engine.embedded, tables, self.planner.user_keys, self.asked)
        if division.is_whole:
            return division
        return replace(division, whole=tables_needed_whole(self.split(), plan.root))

    def split(self, enough: Iterable[str] = (), keeps: bool = True) -> Split:
        """Make what cuts plans by users; `keeps`: the rows of a partition, read again and again."""
        engine = self.embedded()
        lists = self.planner.tables.get("recommendations")
        types: Mapping[str, str] = {} if lists is None else lists.columns
        return Split(
            self.planner.user_keys,
            types,
            engine.interruptible(lambda: aggregates_of(engine.connection)),
            # in a connection of others, it would be as Arrow: other types
            keeps=keeps and engine.owned,
            enough=frozenset(enough),
        )

    def one_of(self, partition: str) -> Partition:
        """Read which partition a job computes.

        Raises:
            UsageError: it is none, or the engine is Spark.
        """
        if self.asked not in (None, 1):
            raise UsageError(
                "partition is the share of one of several jobs, partitions splits a run in this "
                "process: give one of them"
            )
        return Partition.parse(partition)

    def embedded(self) -> EmbeddedEngine:
        """Return the engine, where it has to be DuckDB.

        Raises:
            UsageError: it is not.
        """
        if self.engine.embedded is None:
            raise UsageError("partitions are for DuckDB; Spark splits its work by itself")
        return self.engine.embedded

    def forget(self) -> None:
        """Forget what the tables have passed."""
        self.passed.clear()
