"""Postgres: one read-only transaction per call, a safe search path, and the catalog."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sqlmetrics.engines.arrow_types import duckdb_type
from sqlmetrics.engines.connection import Connection, FailedStatement, State, state_of
from sqlmetrics.engines.database_dialects import Column, Dialect, FoundTable
from sqlmetrics.errors import UsageError
from sqlmetrics.sql.quoting import identifier, literal

# settings that change texts of numbers and times, or the meaning of a statement
_SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "3",  # doubles without loss, before Postgres 12, too
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "client_encoding": "UTF8",
    "idle_in_transaction_session_timeout": "0",  # DuckDB may compute in the meantime
}
# Statements find functions, operators and types in pg_catalog only. With the search path of the
# session, another role could create an operator that fits the types of a statement better, and the
# statement would run the code of that role as the caller (CVE-2018-1058). SET looks up no names.
_SAFE_PATH = "SET LOCAL search_path = pg_catalog, pg_temp"
# the only statement before it, so all its names have a schema
_SESSION_SCHEMAS = "SELECT pg_catalog.current_schemas(true) AS schemas"
# with the default of 4 MB, 9 metrics of 10 million rows did not end in 30 minutes; with 64 MB, they
# take one
_MORE_MEMORY = (
    "(SELECT set_config('work_mem', greatest(setting::bigint, 65536)::text, true) "
    "FROM pg_catalog.pg_settings WHERE name = 'work_mem')"
)
_OF_ONE_MOMENT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SAVEPOINT = "sqlmetrics"


_UNUSABLE = {
    State.CLOSED: ("is closed", "open a new connection and create a new Evaluator"),
    State.FAILED: (
        "is in a transaction that has failed",
        "end the transaction with connection.rollback()",
    ),
    State.BUSY: (
        "is running another statement",
        "wait for its end, or open a connection for sqlmetrics alone",
    ),
}


class Postgres(Dialect):
    """Postgres.

    Everything runs in a transaction that is rolled back, so that no setting remains. In a
    transaction of the user, a savepoint takes its place.
    """

    limits = "statement_timeout"
    # the version of other systems starts like that of Postgres
    number = re.compile(r"(?!.*(?:Redshift|Greenplum))PostgreSQL (\d+)\S*")
    oldest = (12,)  # has CTEs that are materialised on request

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.several_moments = ""
        self._schemas: list[str] = []  # in which the session looks up names, in this order

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run what follows in a transaction, or after a savepoint, and undo it.

        The rows of all statements are those of one moment, unless the transaction is the user's.
        Only built-in functions and temporary tables have names without a schema.

        Raises:
            UsageError: the connection cannot be used now.
        """
        raw, run = self.connection.raw, self.connection.run
        state = state_of(raw)
        if problem := _UNUSABLE.get(state):
            raise UsageError(f"the connection {problem[0]}", remedy=problem[1])
        is_within = state is State.OPEN
        begins = bool(raw.autocommit if hasattr(raw, "autocommit") else raw._autocommit)
        if is_within:
            run(f"SAVEPOINT {_SAVEPOINT}")
        else:  # without autocommit, the library begins
            run(f"{'BEGIN' if begins else 'SET TRANSACTION'} {_OF_ONE_MOMENT}")
        try:
            self._schemas = self.connection.fetch(_SESSION_SCHEMAS)["schemas"][0].as_py()
            run(_SAFE_PATH)
            calls = [f"set_config({literal(k)}, {literal(v)}, true)" for k, v in _SETTINGS.items()]
            run(f"SELECT {', '.join([*calls, _MORE_MEMORY])}")
            yield
        finally:
            # after the connection is lost, the server undoes the same
            with contextlib.suppress(FailedStatement):
                if is_within:
                    run(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
                    run(f"RELEASE SAVEPOINT {_SAVEPOINT}")
                elif begins:
                    run("ROLLBACK")
            if not is_within and not begins:
                with contextlib.suppress(Exception):
                    raw.rollback()

    # ---- catalog ---------------------------------------------------------------------------------

    def find(self, name: str) -> FoundTable | None:
        """Find a table or view by its name, as the database reads the name."""
        asked = {"name": name, "schemas": self._schemas}
        tables = self.rows("table", asked)
        rows = self.rows("columns", tables[0]) if tables else []
        if not rows:
            return None
        path = ".".join(identifier(rows[0][part]) for part in ("schema_name", "table_name"))
        columns = (_column(row) for row in rows if row["column_name"] is not None)
        return FoundTable(path, path, tuple(columns), collation="C")

    def tables(self) -> list[str]:
        """Return the names of the tables, without their schema where it is not needed."""
        rows = self.rows("tables", {"schemas": self._schemas})
        return [str(row["label"]) for row in rows]

    # ---- errors ----------------------------------------------------------------------------------

    def reason(self, error: Exception) -> str:
        """Return the primary message of the server, or else that of the library."""
        diagnosis = getattr(error, "diag", None)
        if primary := diagnosis and diagnosis.message_primary:
            return str(primary)
        return super().reason(error).rpartition("ERROR:")[2].partition(" SQLSTATE")[0]


def _column(row: Mapping[str, Any]) -> Column:
    """Return a column of the catalog.

    Values of types that DuckDB does not have are read as texts: libraries return them in different
    ways, and texts that are equal can have different letters.
    """
    kind = duckdb_type(row["full_type"], "postgres")
    cast = not row["is_deterministic"] or kind is None
    text = "VARCHAR[]" if row["full_type"].endswith("[]") else "VARCHAR"
    return Column(row["column_name"], text if kind is None or cast else kind, cast, row["readable"])
