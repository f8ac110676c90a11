"""Run plans in a database, through a connection of the user or one that a URL names.

The statements run in the database, one per result, and only the rows of results come to this
process. Nothing is created in the database.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.engines.base import ChangingEngine
from sqlmetrics.engines.clickhouse import ClickHouse
from sqlmetrics.engines.connection import Connection, FailedStatement
from sqlmetrics.engines.database_dialects import Dialect, FoundTable, Problem
from sqlmetrics.engines.database_urls import one_line
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.engines.per_user_values import nodes_below
from sqlmetrics.engines.postgres import Postgres
from sqlmetrics.engines.relation import Relation, check_type
from sqlmetrics.errors import (
    DataError,
    EngineError,
    QueryError,
    SqlmetricsError,
    UnreadableError,
    UsageError,
    suggestion,
)
from sqlmetrics.sql import transpile
from sqlmetrics.sql.query_graph import Node, Plan, parse
from sqlmetrics.texts.messages import Argument, Message
from sqlmetrics.texts.wording import and_more

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_WITHOUT = Message("remove ", Argument("engine"), " to compute with DuckDB")
_MOST_NAMES = 10  # tables that an error lists


class DatabaseEngine(ChangingEngine):
    """A connection to a database that runs plans."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        kinds: Mapping[str, type[Dialect]] = {"postgres": Postgres, "clickhouse": ClickHouse}
        self._database = kinds.get(connection.dialect, Dialect)(connection)
        self.dialect = connection.dialect
        self._tables: dict[str, FoundTable] = {}  # by relation
        self._is_within = False  # in the transaction of a call
        self._closed = False
        with self._transaction(), self._translated("the version"):
            self._version = self._database.version()

    @property
    def changing(self) -> DatabaseEngine:
        """Return the engine itself, because its tables may change between calls."""
        return self

    @property
    def version(self) -> str:
        """Return the version of the database."""
        return self._version

    # ---- inputs --------------------------------------------------------------------------------

    def relation(self, table: str, label: str, source: Any) -> Relation | None:
        """Find a table or view of the database by its name.

        Raises:
            UsageError: the source is not the name of a table.
            DataError: there is no such table, or the role may not read it.
        """
        if not isinstance(source, str) or source.strip() in ("", "-"):
            shown = str(source) if isinstance(source, str | Path) else type(source).__name__
            raise UsageError(
                f"{label}: {self._database.title} reads tables by name, such as schema.table, and "
                f"{shown} is not a name",
                remedy=Message("load the rows into the database, or ", _WITHOUT),
            )
        of_table = self._translated(f"the table {source}", label, table)
        with self._transaction(), of_table:
            try:
                found = self._database.find(source)
            except DataError as error:
                raise DataError(f"{label}: ", error) from error
            if found is None:
                raise self._not_found(label, source)
        # an optional column that is not read, such as the relevance, would change the result
        if denied := [column.name for column in found.columns if not column.readable]:
            raise _denied(table, label, source, denied, len(found.columns))
        self._tables[found.relation] = found
        types = {column.name: column.type for column in found.columns}
        return Relation(found.relation, types, f"the table {source}", is_held=False, format="table")

    def _not_found(self, label: str, name: str) -> DataError:
        names = self._database.tables()
        close = suggestion(name, names or ()) or "."
        there = f" It has {and_more(names, _MOST_NAMES)}" if names else " It has no tables"
        is_file = os.path.exists(name)
        return DataError(
            f"{label}: the database has no table {name}{close}{'' if names is None else there}",
            remedy=Message("load the file into the database, or ", _WITHOUT) if is_file else "",
        )

    def describe(self, relation: str, label: str) -> dict[str, str]:  # noqa: ARG002
        """Return the columns of a table with their DuckDB types."""
        return {column.name: column.type for column in self._tables[relation].columns}

    def query(self, statement: str, label: str) -> list[dict[str, Any]]:
        """Run a query about a source, written in DuckDB's SQL."""
        text = transpile.printed(parse(statement, label), self.dialect, pretty=False, is_input=True)
        with self._transaction():
            try:
                return list(self._database.fetch(text).to_pylist())
            except FailedStatement as failed:
                why = self._reason(failed)
                raise UnreadableError(f"{label} cannot be read: {why}", reason=why) from failed

    # ---- between calls -------------------------------------------------------------------------

    def calling(self) -> AbstractContextManager[None]:
        """Run everything inside as one call, on the rows of one moment if the database can."""
        return self._transaction()

    @property
    def several_moments(self) -> str:
        """Return why a call may read rows of several moments; empty if it cannot."""
        return self._database.several_moments

    def check_columns(
        self, table: str, relation: str, label: str, before: Mapping[str, str]
    ) -> None:
        """Check that a table still has the columns that queries were planned for."""
        known = self._tables[relation]
        with self._transaction(), self._translated(label, table, table):
            found = self._database.find(known.name)
        if found is None:
            raise DataError(
                f"{table}: {label} existed when the Evaluator was created, but no longer exists",
                table=table,
                remedy="create the table again, or create a new Evaluator",
            )
        now = {column.name: column for column in found.columns}
        for name, kind in before.items():
            column = now.get(name)
            if column is not None and not column.readable:
                raise _denied(table, table, known.path, [name], len(found.columns))
            check_type(table, name, label, kind, None if column is None else column.type)

    # ---- running -------------------------------------------------------------------------------

    def arrow(self, plan: Plan) -> pa.Table:
        """Run a plan as one statement."""
        statement = plan.statement({}, pretty=False, dialect=self.dialect)
        with self._transaction(), self._translated(plan.root.name):
            return self._database.fetch(statement)

    def write_parquet(self, plan: Plan, target: Path | str, force: bool) -> None:  # noqa: ARG002
        """Run a plan and write its rows to the Parquet file from `new_file`."""
        import pyarrow.parquet as pq

        table = self.arrow(plan)
        try:
            pq.write_table(table, target)
        except OSError as error:
            why = error.strerror or str(error)
            raise EngineError(f"{target} cannot be written: {why}") from error

    def comparison(
        self,
        plan: Plan,
        of_users: Collection[Node],
        level: int,  # noqa: ARG002
    ) -> pd.DataFrame:
        """Run a plan that compares models: DuckDB computes it from the per-user values."""
        below, local = nodes_below(plan.root, of_users), DuckDBEngine()
        try:
            with self._transaction():
                for node in below:
                    local.adopt(node.key, self.arrow(Plan(node)))
            return local.frame(plan)
        finally:
            local.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run what follows in the transaction of the running call, which is begun if needed."""
        if self._closed:
            raise UsageError("the evaluator is closed")
        if self._is_within:
            yield
            return
        with contextlib.ExitStack() as stack:
            with self._translated("the first statement"):
                stack.enter_context(self._database.transaction())
            self._is_within = True
            try:
                yield
            finally:
                self._is_within = False

    @contextlib.contextmanager
    def _translated(self, title: str, label: str = "", table: str = "") -> Iterator[None]:
        """Translate an error of the database; `label` and `table` are empty for plans."""
        try:
            yield
        except FailedStatement as failed:
            raise self._our_error(failed, title, label, table) from failed

    def _reason(self, failed: FailedStatement) -> str:
        return one_line(self._database.reason(failed.error)) or type(failed.error).__name__

    def _our_error(
        self, failed: FailedStatement, title: str, label: str, table: str
    ) -> SqlmetricsError:
        why, problem = self._reason(failed), self._database.problem(failed)
        name = self._database.title
        if table and problem in (Problem.TABLE, Problem.QUERY, Problem.ROWS):
            return DataError(f"{label}: {title} cannot be read: {why}", table=table)
        if problem is Problem.TABLE:
            return DataError(
                f"a table cannot be read any more: {why}",
                remedy="check that the tables and the privileges of the role are as before, and "
                "run again",
            )
        if problem is Problem.ROWS:
            return UnreadableError(why)
        if problem is Problem.QUERY:
            return QueryError(f"the query for {title} is invalid: {why}")
        if problem is Problem.STOPPED:
            return EngineError(
                f"{name} stopped the statement for {title}: {why}",
                remedy=f"a limit such as {self._database.limits} may apply to the role or the "
                "session; nothing was left in the database",
            )
        return EngineError(f"{name} stopped while computing {title}: {why}")

    def close(self) -> None:
        """Close the connection, if sqlmetrics has opened it."""
        self._closed = True
        self._connection.close()


def _denied(table: str, label: str, name: str, columns: Sequence[str], n_columns: int) -> DataError:
    what = f"the column {columns[0]} of " if len(columns) < n_columns else ""
    return DataError(
        f"{label}: the role of the connection may not read {what}the table {name}",
        table=table,
        column=columns[0] if what else "",
        remedy=f"grant it (GRANT SELECT ON {name} TO …)"
        + (", or give a view without the column" if what else ""),
    )
