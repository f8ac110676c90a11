"""The engines that statements are run on, all behind the same two methods: load and run.

    engine = start("postgres")
    engine.load({"my recs": table})
    engine.run('SELECT count(*) AS n FROM "my recs"')   # [{"n": 3}]

A statement is given to an engine as it is, in its dialect. The settings of an engine are those that
it comes with, as far as they change results: a statement that needs another one has to say so.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, object]


class EngineMissing(Exception):
    """An engine is not installed, or does not start here."""


def plain(value: object) -> object:
    """Return a value as all engines give it: no decimals, no time zones."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)  # all engines are set to UTC
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def rows_of(names: list[str], rows: list[tuple[object, ...]]) -> list[Row]:
    """Return rows as dictionaries.

    Raises:
        ValueError: two columns have one name.
    """
    if len(set(names)) < len(names):
        raise ValueError(f"columns of one name: {names}")
    return [dict(zip(names, map(plain, row), strict=True)) for row in rows]


def rows_of_arrow(table: pa.Table) -> list[Row]:
    """Return the rows of an Arrow table."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_timestamp(field.type):  # Python has no nanoseconds
            column = column.cast(pa.timestamp("us", field.type.tz))
        columns.append(column.to_pylist())
    return rows_of(table.column_names, list(zip(*columns, strict=True)))


class Engine(ABC):
    """One running engine."""

    name: ClassVar[str]
    dialect: ClassVar[str]  # the name that sqlmetrics calls its SQL by
    schema_word: ClassVar[str] = "SCHEMA"

    def __init__(self) -> None:
        self._tables: set[str] = set()  # quoted
        self._schemas: set[str] = set()

    def load(self, tables: Mapping[str, pa.Table], schema: str | None = None) -> None:
        """Make tables of these names, in the place of those that have them; in a schema if named.

        A name is one name, whatever is in it: it is quoted here.
        """
        prefix = ""
        if schema is not None:
            if schema not in self._schemas:
                self.execute(f"CREATE {self.schema_word} {self.quoted(schema)}")
                self._schemas.add(schema)
            prefix = f"{self.quoted(schema)}."
        for name, table in tables.items():
            quoted = prefix + self.quoted(name)
            if quoted in self._tables:
                self._drop(quoted)
                self._tables.remove(quoted)
            self._create(quoted, table)
            self._tables.add(quoted)

    def run(self, statement: str) -> list[Row]:
        """Run one statement and return its rows, in their order; [] of one that returns none.

        Numbers are int or float (also what the engine counts as DECIMAL), timestamps have no zone.
        """
        return self._run(statement.rstrip().removesuffix(";"))

    def execute(self, statement: str) -> None:
        """Run one statement whose result does not matter."""
        self.run(statement)

    @staticmethod
    def quoted(name: str) -> str:
        """Return a name as this engine takes it literally."""
        return '"' + name.replace('"', '""') + '"'

    def _drop(self, quoted: str) -> None:
        self.execute(f"DROP TABLE {quoted}")

    @abstractmethod
    def _create(self, quoted: str, table: pa.Table) -> None: ...

    @abstractmethod
    def _run(self, statement: str) -> list[Row]: ...

    @abstractmethod
    def close(self) -> None:
        """End the engine."""


class DuckDB(Engine):
    """The engine of record, for the same statements as the others."""

    name = "duckdb"
    dialect = "duckdb"

    def __init__(self) -> None:
        import duckdb

        super().__init__()
        self.connection = duckdb.connect()

    def _create(self, quoted: str, table: pa.Table) -> None:
        self.connection.register("loading", table)
        self.connection.execute(f"CREATE TABLE {quoted} AS SELECT * FROM loading")
        self.connection.unregister("loading")

    def _run(self, statement: str) -> list[Row]:
        result = self.connection.execute(statement)
        names = [column[0] for column in result.description or ()]
        return rows_of(names, result.fetchall())

    def close(self) -> None:
        self.connection.close()


class Postgres(Engine):
    """A server of its own; see postgres_server.py."""

    name = "postgres"
    dialect = "postgres"
    TYPES: ClassVar[dict[pa.DataType, str]] = {
        pa.bool_(): "boolean",
        pa.int32(): "integer",
        pa.int64(): "bigint",
        pa.float64(): "double precision",
        pa.string(): "text",
        pa.date32(): "date",
        pa.timestamp("us"): "timestamp",
        pa.timestamp("us", "UTC"): "timestamptz",
        pa.float32(): "real",
        pa.decimal128(9, 2): "numeric(9, 2)",
    }

    def __init__(self) -> None:
        import psycopg

        from tests.engines.postgres_server import PostgresMissing, PostgresServer

        super().__init__()
        try:
            self.server = PostgresServer()
        except PostgresMissing as error:
            raise EngineMissing(str(error)) from error
        self.connection = psycopg.connect(self.server.connection(), autocommit=True)

    def _type(self, kind: pa.DataType) -> str:
        if pa.types.is_list(kind):
            return f"{self._type(kind.value_type)}[]"
        return self.TYPES[kind]

    def _create(self, quoted: str, table: pa.Table) -> None:
        columns = [f"{self.quoted(field.name)} {self._type(field.type)}" for field in table.schema]
        self.execute(f"CREATE TABLE {quoted} ({', '.join(columns)})")
        with (
            self.connection.cursor() as cursor,
            cursor.copy(f"COPY {quoted} FROM STDIN") as copy,
        ):
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)

    def _run(self, statement: str) -> list[Row]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            if cursor.description is None:
                return []
            return rows_of([column.name for column in cursor.description], cursor.fetchall())

    def close(self) -> None:
        self.connection.close()
        self.server.stop()


def _integers(column: pa.ChunkedArray) -> pa.Array:
    """Return integers of 128 bits, which ClickHouse gives as their bytes."""
    values = (
        value and int.from_bytes(value, "little", signed=True) for value in column.to_pylist()
    )
    return pa.array([value if value is None else Decimal(value) for value in values])


class ClickHouse(Engine):
    """ClickHouse inside this process (chdb).

    A column may hold NULLs only if it does: most columns of ClickHouse tables may not, and joins
    and sums behave differently then.
    """

    name = "clickhouse"
    dialect = "clickhouse"
    schema_word = "DATABASE"
    TYPES: ClassVar[dict[pa.DataType, str]] = {
        pa.bool_(): "Bool",
        pa.int32(): "Int32",
        pa.int64(): "Int64",
        pa.float64(): "Float64",
        pa.string(): "String",
        pa.date32(): "Date32",
        pa.timestamp("us"): "DateTime64(6, 'UTC')",
        pa.timestamp("us", "UTC"): "DateTime64(6, 'America/Los_Angeles')",
        pa.float32(): "Float32",
        pa.decimal128(9, 2): "Decimal(9, 2)",
    }

    def __init__(self) -> None:
        from chdb.session import Session

        super().__init__()
        self.session = Session()
        # the tests put all metrics into one statement
        for limit in ("max_query_size", "max_ast_elements", "max_expanded_ast_elements"):
            self.session.query(f"SET {limit} = 10000000")

    @staticmethod
    def quoted(name: str) -> str:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def _type(self, column: pa.ChunkedArray) -> str:
        if pa.types.is_list(column.type):
            return f"Array({self._type(pa.chunked_array([column.combine_chunks().flatten()]))})"
        kind = self.TYPES[column.type]
        return f"Nullable({kind})" if column.null_count else kind

    def _create(self, quoted: str, table: pa.Table) -> None:
        columns = [
            f"{self.quoted(name)} {self._type(column)}"
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        self.execute(f"CREATE TABLE {quoted} ({', '.join(columns)}) ENGINE = Memory")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "table.parquet"
            pq.write_table(table, file)
            self.execute(f"INSERT INTO {quoted} SELECT * FROM file('{file}', Parquet)")

    def _arrow(self, statement: str) -> pa.Table:
        return self.session.query(statement, "ArrowTable")

    def _run(self, statement: str) -> list[Row]:
        table = self._arrow(statement)
        for number, field in enumerate(table.schema):
            if pa.types.is_fixed_size_binary(field.type):
                table = table.set_column(number, field.name, _integers(table.column(number)))
        return rows_of_arrow(table)

    def close(self) -> None:
        self.session.close()


class ServedClickHouse(ClickHouse):
    """ClickHouse behind the stand-in for a server; see clickhouse_server.py."""

    def __init__(self) -> None:
        from tests.engines.clickhouse_server import ClickHouseServer

        Engine.__init__(self)
        self.server = ClickHouseServer()
        self.client = self.server.client()

    def _arrow(self, statement: str) -> pa.Table:
        if not statement.lstrip().startswith(("SELECT", "WITH")):
            self.client.command(statement)
            return pa.table({})
        answer = self.client.raw_query(statement, fmt="ArrowStream")
        return pa.ipc.open_stream(answer).read_all()

    def close(self) -> None:
        self.client.close()
        self.server.stop()


class DataFusion(Engine):
    """Apache DataFusion inside this process."""

    name = "datafusion"
    dialect = "datafusion"

    def __init__(self) -> None:
        from datafusion import SessionConfig, SessionContext

        super().__init__()
        # two partitions: rows of one group meet only if the engine brings them together
        self.context = SessionContext(SessionConfig().with_target_partitions(2))

    def _create(self, quoted: str, table: pa.Table) -> None:
        half = (table.num_rows + 1) // 2
        partitions = [table.slice(0, half).to_batches(), table.slice(half).to_batches()]
        empty = pa.RecordBatch.from_pylist([], schema=table.schema)
        self.context.register_record_batches(quoted, [batches or [empty] for batches in partitions])

    def _run(self, statement: str) -> list[Row]:
        return rows_of_arrow(self.context.sql(statement).to_arrow_table())

    def close(self) -> None:
        self.context = None


class Spark(Engine):
    """Spark, by default with two threads in the JVM beside this process."""

    name = "spark"
    dialect = "spark"
    schema_word = "DATABASE"

    def __init__(self, session: Any = None) -> None:
        from tests.engines import spark_sessions

        super().__init__()
        self.session = session or spark_sessions.classic()

    @staticmethod
    def quoted(name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def _create(self, quoted: str, table: pa.Table) -> None:
        frame = self.session.createDataFrame(table)
        if "`.`" in quoted:  # a view of a session can be in no schema
            frame.write.saveAsTable(quoted)
        else:
            frame.createTempView(quoted)

    def _drop(self, quoted: str) -> None:
        self.execute(f"DROP {'TABLE' if '`.`' in quoted else 'VIEW'} {quoted}")

    def _run(self, statement: str) -> list[Row]:
        return rows_of_arrow(self.session.sql(statement).toArrow())

    def close(self) -> None:
        self.session.stop()


ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (DuckDB, Postgres, ClickHouse, DataFusion, Spark)
}
OTHERS: dict[str, type[Engine]] = {"clickhouse server": ServedClickHouse}


@contextmanager
def said_if_missing(name: str) -> Iterator[None]:
    """Say what to install, if what starts an engine finds that a package is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise EngineMissing(f"{name}: {error}; pip install -e '.[engines]'") from error


def start(name: str) -> Engine:
    """Start an engine.

    Raises:
        EngineMissing: it is not installed, or does not start here; says what to install.
    """
    with said_if_missing(name):
        return {**ENGINES, **OTHERS}[name]()
