"""The engine of the stand-ins for warehouses: DuckDB, with statements that sqlglot translates.

A stand-in reads the statements of sqlmetrics in the dialect of its system, so that a statement that
the dialect cannot read fails, and it answers with the types, names and errors of the system. It
does not show that the system itself computes the same.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

DENIED = "secret"  # a table that the role may not read
PASSWORD = "s3cr@t"


class Failed(Exception):
    """A statement fails.

    Args:
        kind: the subject: table, denied, column, syntax, division, cast or internal.
        message: the message.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


_KINDS = (
    (duckdb.CatalogException, "table"),
    (duckdb.BinderException, "column"),
    (duckdb.ParserException, "syntax"),
    (duckdb.ConversionException, "cast"),
    (duckdb.OutOfRangeException, "division"),
)


class Backend:
    """Tables, and what runs the statements of a dialect."""

    def __init__(self, dialect: str, version: str) -> None:
        self.dialect = dialect
        self.collation = ""  # of all columns of texts
        self.settings: dict[str, str] = {}  # of the session, for SHOW PARAMETERS
        self.statements: list[str] = []  # that were run
        self.cancelled: list[str] = []
        self._version = version
        self._connection = duckdb.connect(config={"enable_external_access": False})
        self._connection.execute("SET TimeZone = 'UTC'")
        self._lock = threading.Lock()

    @property
    def _upper(self) -> bool:
        return self.dialect == "snowflake"

    def load(self, tables: Mapping[str, pa.Table], schema: str) -> None:
        """Make tables of a schema; a name is one name, whatever is in it."""
        self._connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        for name, table in tables.items():
            names = [self._stored(column) for column in table.column_names]
            self._connection.register("loading", table.rename_columns(names))
            self._connection.execute(
                f'CREATE OR REPLACE TABLE "{schema}"."{self._stored(name)}" AS FROM loading'
            )
            self._connection.unregister("loading")

    def execute(self, statement: str) -> None:
        """Run a statement of DuckDB."""
        self._connection.execute(statement)

    def _stored(self, name: str) -> str:
        """Return the name that an identifier without quotes has in the system."""
        plain = name.replace("_", "a").isalnum() and name.islower()
        return name.upper() if self._upper and plain else name

    def quoted(self, name: str) -> str:
        """Return a name as the system takes it literally."""
        stored = self._stored(name)
        mark = "`" if self.dialect in ("bigquery", "databricks") else '"'
        return mark + stored + mark

    def run(self, statement: str, schema: str = "small") -> pa.Table:
        """Run a statement in a schema.

        Raises:
            Failed: it fails.
        """
        self.statements.append(statement)
        words = statement.split()
        if words[:2] == ["SHOW", "PARAMETERS"]:
            keys, values = [*self.settings], [*self.settings.values()]
            return pa.table({"key": pa.array(keys, pa.string()),
                             "value": pa.array(values, pa.string())})  # fmt: skip
        if words[0] == "SHOW":
            return self._tables(schema if words[1] == "TABLES" else "")
        if "SYSTEM$CANCEL" in statement:
            self.cancelled.append(statement)
            return pa.table({"done": ["cancelled"]})
        text = self._translated(statement)
        with self._lock:
            try:
                self._connection.execute(f'SET schema = "{schema}"')
                return self._connection.sql(text).to_arrow_table()
            except duckdb.Error as error:
                message = str(error).partition("\n\nLINE")[0]
                kind = next((kind for one, kind in _KINDS if isinstance(error, one)), "internal")
                raise Failed(kind, message) from error

    def names(self, schema: str) -> list[str]:
        """Return the names of the tables of a schema."""
        rows = self._connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = ? ORDER BY 1", [schema]
        ).fetchall()
        return [name for (name,) in rows]

    def _tables(self, schema: str) -> pa.Table:
        column = {"snowflake": "name", "databricks": "tableName", "trino": "Table"}[self.dialect]
        return pa.table({column: pa.array(self.names(schema), pa.string())})

    def _translated(self, statement: str) -> str:
        try:
            tree = sqlglot.parse_one(statement, read=self.dialect)
        except sqlglot.errors.ParseError as error:
            raise Failed("syntax", str(error).partition("\n")[0]) from error
        for node in list(tree.find_all(exp.Func)):
            name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
            if name in ("version", "current_version"):
                node.replace(exp.Literal.string(self._version))
            elif name == "collation":
                node.replace(exp.Literal.string(self.collation))
        if self._upper:
            normalize_identifiers(tree, dialect=self.dialect)
        for table in tree.find_all(exp.Table):
            if table.name.lower() == DENIED:
                raise Failed("denied", f"the role may not read {table.name}")
            table.set("catalog", None)
        return tree.sql("duckdb")
