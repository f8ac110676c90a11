"""Stand-ins for Snowflake, BigQuery and Trino: the HTTP interfaces that their clients use.

Each is in front of `warehouse_backend`, and answers as the documentation of the system describes,
as far as the clients and the tests use it. `Databricks` is a connection without a server.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from tests.engines.warehouse_backend import PASSWORD, Backend, Failed

_HELD = 1  # seconds that a statement waits at most
Answer = tuple[int, dict[str, Any]]


class Server(ABC):
    """A server in threads of this process.

    Attributes:
        port: its port.
        holds: while it is cleared, statements wait, as long ones do.
        waiting: is set when a statement waits.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.holds, self.waiting = threading.Event(), threading.Event()
        self.holds.set()
        self.has_stopped = False
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # headers and content in one packet

            def _serve(self) -> None:
                if server.has_stopped:  # without an answer
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                status, content = server.answer(
                    self.command, self.path, dict(self.headers.items()), body.decode()
                )
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):  # a client that has ended
                    self.wfile.write(data)

            do_GET = do_POST = do_DELETE = _serve

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def run(self, statement: str, schema: str) -> pa.Table:
        """Run a statement, after `holds` is set."""
        if not self.holds.is_set() and "SYSTEM$CANCEL" not in statement:
            self.waiting.set()
            self.holds.wait(_HELD)
        return self.backend.run(statement, schema)

    @abstractmethod
    def answer(self, method: str, path: str, headers: dict[str, str], body: str) -> Answer:
        """Answer a request."""

    def stop(self) -> None:
        """Stop serving, and close the port."""
        self.has_stopped = True
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


# ---- Snowflake -----------------------------------------------------------------------------------

# kind of error -> number, code of the SQL standard, beginning of the message
_OF_SNOWFLAKE = {
    "table": ("002003", "42S02", "SQL compilation error:\n"),
    "denied": ("003001", "42501", "SQL access control error:\n"),
    "column": ("000904", "42000", "SQL compilation error:\n"),
    "syntax": ("001003", "42000", "SQL compilation error:\n"),
    "division": ("100051", "22012", ""),
    "cast": ("100038", "22018", ""),
    "internal": ("000603", "XX000", ""),
}


def _snowflake_column(column: pa.ChunkedArray) -> tuple[Any, dict[str, Any]]:
    """Return a column as Snowflake sends it, and its description."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return column, {"type": "boolean"}
    if pa.types.is_decimal(kind) or str(kind) in ("hugeint", "uint64"):
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        return column.cast(pa.decimal128(38, scale)), {"type": "fixed", "scale": scale}
    if pa.types.is_integer(kind):
        return column, {"type": "fixed", "scale": 0}
    if pa.types.is_floating(kind):
        return column.cast(pa.float64()), {"type": "real"}
    if pa.types.is_date(kind):
        return column.cast(pa.date32()), {"type": "date"}
    if pa.types.is_timestamp(kind):
        # the time in microseconds; with a zone, in UTC
        name = "timestamp_ntz" if kind.tz is None else "timestamp_ltz"
        return column.cast(pa.timestamp("us")).cast(pa.int64()), {"type": name, "scale": 6}
    return column.cast(pa.string()), {"type": "text"}


class Snowflake(Server):
    """The interface of snowflake-connector-python."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: str) -> Answer:
        """Log in, run a statement, or end a session."""
        del method, headers
        given = json.loads(body) if body else {}
        where = urlsplit(path)
        if where.path == "/session/v1/login-request":
            if given["data"].get("PASSWORD") != PASSWORD:
                return 200, {
                    "success": False, "code": "390100", "data": {},
                    "message": "Incorrect username or password was specified.",
                }  # fmt: skip
            schema = dict(parse_qsl(where.query)).get("schemaName", "small")
            data = {
                "token": schema, "masterToken": "master", "validityInSeconds": 3600,
                "masterValidityInSeconds": 14400, "sessionId": 1,
                "parameters": [{"name": "TIMEZONE", "value": "UTC"}],
                "serverVersion": "9.30.1", "firstLogin": False, "remMeToken": None,
                "displayUserName": "ME", "healthCheckInterval": 45, "sessionInfo": {
                    "databaseName": "SHOP", "schemaName": "SMALL", "warehouseName": "W",
                    "roleName": "R",
                },
            }  # fmt: skip
            return 200, {"success": True, "code": None, "message": None, "data": data}
        if where.path == "/queries/v1/query-request":
            return 200, self._ran(given["sqlText"])
        return 200, {"success": True, "code": None, "message": None, "data": {}}

    def _ran(self, statement: str) -> dict[str, Any]:
        try:
            table = self.run(statement, "small")
        except Failed as error:
            number, state, start = _OF_SNOWFLAKE[error.kind]
            data: dict[str, Any] = {
                "errorCode": number, "sqlState": state, "queryId": str(uuid.uuid4()),
                "internalError": False, "type": "COMPILATION", "line": -1, "pos": -1,
            }  # fmt: skip
            return {"success": False, "code": number, "message": f"{start}{error}", "data": data}
        fields, arrays, described = [], [], []
        for name, column in zip(table.column_names, table.columns, strict=True):
            array, about = _snowflake_column(column)
            scale = about.get("scale", 0)
            described.append({
                "name": name, "database": "", "schema": "", "table": "", "nullable": True,
                "precision": 38, "length": 16777216, "byteLength": 16777216, "collation": None,
                "scale": scale, "type": about["type"],
            })  # fmt: skip
            metadata = {"logicalType": about["type"].upper(), "precision": "38",
                        "scale": str(scale), "charLength": "16777216"}  # fmt: skip
            fields.append(pa.field(name, array.type, metadata=metadata))
            arrays.append(array)
        sent = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
        data = {
            "parameters": [], "rowtype": described, "total": len(table), "returned": len(table),
            "queryId": str(uuid.uuid4()), "databaseProvider": None, "finalDatabaseName": "SHOP",
            "finalSchemaName": "SMALL", "finalWarehouseName": "W", "finalRoleName": "R",
            "numberOfBinds": 0, "arrayBindSupported": False, "statementTypeId": 4096, "version": 1,
            "sendResultTime": 0,
        }  # fmt: skip
        if statement.startswith("SHOW"):
            rows = [[*map(str, row.values())] for row in table.to_pylist()]
            data |= {"queryResultFormat": "json", "rowset": rows}
        else:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, sent.schema) as writer:
                writer.write_table(sent)
            text = base64.b64encode(sink.getvalue().to_pybytes()).decode() if len(table) else ""
            data |= {"queryResultFormat": "arrow", "rowsetBase64": text, "rowset": []}
        return {"success": True, "code": None, "message": None, "data": data}

    def url(self, password: str = PASSWORD) -> str:
        """Return the URL of the server."""
        secret = password.replace("@", "%40")
        return (
            f"snowflake://me:{secret}@shop-account/shop/small?host=127.0.0.1&port={self.port}"
            "&protocol=http&login_timeout=2"
        )

    def connect(self) -> Any:
        """Connect with the library."""
        import snowflake.connector

        return snowflake.connector.connect(
            account="shop-account", user="me", password=PASSWORD, host="127.0.0.1", port=self.port,
            protocol="http", database="shop", schema="small",
        )  # fmt: skip


# ---- Trino ---------------------------------------------------------------------------------------

_OF_TRINO = {
    "table": ("TABLE_NOT_FOUND", "USER_ERROR"),
    "denied": ("PERMISSION_DENIED", "USER_ERROR"),
    "column": ("COLUMN_NOT_FOUND", "USER_ERROR"),
    "syntax": ("SYNTAX_ERROR", "USER_ERROR"),
    "division": ("DIVISION_BY_ZERO", "USER_ERROR"),
    "cast": ("INVALID_CAST_ARGUMENT", "USER_ERROR"),
    "internal": ("GENERIC_INTERNAL_ERROR", "INTERNAL_ERROR"),
}


def _trino_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array({_trino_type(kind.value_type)})"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp(6)" if kind.tz is None else "timestamp(6) with time zone"
    names = {"bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "integer",
             "float": "real", "double": "double", "date32[day]": "date", "int64": "bigint",
             "uint64": "decimal(20,0)"}  # fmt: skip
    return names.get(str(kind), "varchar")


def _signature(name: str) -> dict[str, Any]:
    """Return a type as the client reads it."""
    plain, _, given = name.partition("(")
    if plain == "array":
        inner = {"kind": "TYPE", "value": _signature(given[:-1])}
        return {"rawType": "array", "arguments": [inner]}
    end = name.rpartition(")")[2]
    numbers = [int(part) for part in given.partition(")")[0].split(",") if part]
    arguments = [{"kind": "LONG", "value": number} for number in numbers]
    return {"rawType": plain + end, "arguments": arguments}


def _trino_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_trino_value(entry) for entry in value]
    if isinstance(value, datetime):
        zone = "" if value.tzinfo is None else " UTC"
        return value.replace(tzinfo=None).isoformat(" ", "microseconds") + zone
    return value if value is None or isinstance(value, bool | int | float) else str(value)


class Trino(Server):
    """The interface of the trino client."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._asked: dict[str, tuple[str, str]] = {}  # id -> statement and schema

    def answer(self, method: str, path: str, headers: dict[str, str], body: str) -> Answer:
        """Take a statement, return its rows, or cancel it."""
        number = path.rpartition("/")[2]
        if method == "DELETE":
            self.backend.cancelled.append(self._asked[number][0])
            return 204, {}
        if path == "/v1/statement":
            number = uuid.uuid4().hex
            self._asked[number] = body, headers.get("X-Trino-Schema", "small")
            return 200, self._page(number, "QUEUED") | {
                "nextUri": f"http://127.0.0.1:{self.port}/v1/statement/{number}"
            }
        page = self._page(number, "FINISHED")
        try:
            table = self.run(*self._asked[number])
        except Failed as error:
            name, kind = _OF_TRINO[error.kind]
            return 200, page | {"error": {
                "message": f"line 1:15: {error}", "errorCode": 1, "errorName": name,
                "errorType": kind, "failureInfo": {"type": name},
            }}  # fmt: skip
        columns = []
        for field in table.schema:
            name = _trino_type(field.type)
            columns.append({"name": field.name, "type": name, "typeSignature": _signature(name)})
        rows = [[_trino_value(value) for value in row.values()] for row in table.to_pylist()]
        return 200, page | {"columns": columns, "data": rows}

    def _page(self, number: str, state: str) -> dict[str, Any]:
        stats = {"state": state, "queued": False, "scheduled": True, "nodes": 1}
        return {"id": number, "infoUri": f"http://127.0.0.1:{self.port}/ui", "stats": stats}

    def url(self, password: str = "") -> str:
        """Return the URL of the server, whose users have no passwords."""
        who = f"me:{password}" if password else "me"
        return f"trino://{who}@127.0.0.1:{self.port}/hive/small"

    def connect(self) -> Any:
        """Connect with the library."""
        import trino

        return trino.dbapi.connect(
            host="127.0.0.1", port=self.port, user="me", catalog="hive", schema="small"
        )


# ---- BigQuery ------------------------------------------------------------------------------------

_OF_BIGQUERY = {
    "table": (404, "notFound"), "denied": (403, "accessDenied"), "column": (400, "invalidQuery"),
    "syntax": (400, "invalidQuery"), "division": (400, "invalidQuery"),
    "cast": (400, "invalidQuery"), "internal": (500, "backendError"),
}  # fmt: skip


def _bigquery_field(field: pa.Field) -> dict[str, Any]:
    kind, mode = field.type, "NULLABLE"
    if pa.types.is_list(kind):
        kind, mode = kind.value_type, "REPEATED"
    if pa.types.is_decimal(kind):
        name = "BIGNUMERIC" if kind.precision > 29 else "NUMERIC"
    elif pa.types.is_timestamp(kind):
        name = "DATETIME" if kind.tz is None else "TIMESTAMP"
    elif pa.types.is_integer(kind):
        name = "INTEGER"
    elif pa.types.is_floating(kind):
        name = "FLOAT"
    else:
        name = {"bool": "BOOLEAN", "date32[day]": "DATE"}.get(str(kind), "STRING")
    return {"name": field.name, "type": name, "mode": mode}


def _bigquery_value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"v": [_bigquery_value(entry) for entry in value]}
    if isinstance(value, bool):
        return {"v": str(value).lower()}
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            return {"v": str(int(value.timestamp() * 1_000_000))}
        return {"v": value.isoformat()}
    if isinstance(value, date):
        return {"v": value.isoformat()}
    return {"v": None if value is None else str(value)}


class BigQuery(Server):
    """The interface of google-cloud-bigquery."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._results: dict[str, pa.Table] = {}

    def answer(self, method: str, path: str, headers: dict[str, str], body: str) -> Answer:
        """Give a token, start a job, return the rows of one, or cancel it."""
        where = urlsplit(path).path
        if where == "/token":
            return 200, {"access_token": "token", "expires_in": 3600, "token_type": "Bearer"}
        given = next((v for k, v in headers.items() if k.lower() == "authorization"), "")
        if not given.startswith("Bearer "):
            return 401, _bigquery_error(401, "required", "Login Required.")
        if where.endswith("/cancel"):
            self.backend.cancelled.append(where)
            return 200, {"job": self._job(where.split("/")[-2], None)}
        if method == "POST":
            return self._started(json.loads(body))
        parts = where.split("/")
        if "tables" in parts:
            return 200, {"tables": [
                {"tableReference": {"projectId": "p", "datasetId": "small", "tableId": name}}
                for name in self.backend.names("small")
            ]}  # fmt: skip
        number = parts[-1]
        if "jobs" in parts:
            return 200, self._job(number, None)
        table = self._results[number]
        asked = dict(parse_qsl(urlsplit(path).query))
        page = {
            "jobComplete": True, "jobReference": _reference(number), "totalRows": str(len(table)),
            "schema": {"fields": [*map(_bigquery_field, table.schema)]},
        }  # fmt: skip
        if not self.holds.is_set():
            self.waiting.set()
            self.holds.wait(_HELD)
        if asked.get("maxResults") == "0":  # asks only whether the job has ended
            return 200, page
        rows = [{"f": [*map(_bigquery_value, row.values())]} for row in table.to_pylist()]
        return 200, page | {"rows": rows}

    def _started(self, asked: dict[str, Any]) -> Answer:
        given = asked["configuration"]
        number = asked["jobReference"]["jobId"]
        try:
            table = self.backend.run(given["query"]["query"])
        except Failed as error:
            status, reason = _OF_BIGQUERY[error.kind]
            return status, _bigquery_error(status, reason, str(error))
        self._results[number] = table
        return 200, self._job(number, given)

    def _job(self, number: str, given: dict[str, Any] | None) -> dict[str, Any]:
        table = self._results[number]
        query = {"schema": {"fields": [*map(_bigquery_field, table.schema)]},
                 "totalBytesProcessed": "1234567890", "statementType": "SELECT"}  # fmt: skip
        configuration = given or {"query": {"query": ""}}
        configuration.setdefault("jobType", "QUERY")
        return {
            "kind": "bigquery#job", "id": number, "jobReference": _reference(number),
            "configuration": configuration, "status": {"state": "DONE"},
            "statistics": {"query": query, "totalBytesProcessed": "1234567890"},
        }  # fmt: skip

    def url(self, password: str = "") -> str:
        """Return the URL of the server; the credentials are in a file."""
        del password
        return f"bigquery://my-project/small?api_endpoint=http://127.0.0.1:{self.port}"

    def credentials(self) -> dict[str, str]:
        """Return the content of a file of credentials, whose tokens the server gives."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return {
            "type": "service_account", "client_email": "me@example.com", "project_id": "p",
            "private_key": key.decode(), "token_uri": f"http://127.0.0.1:{self.port}/token",
        }  # fmt: skip

    def connect(self) -> Any:
        """Connect with the library."""
        from google.cloud import bigquery
        from google.oauth2.service_account import Credentials

        return bigquery.Client(
            project="my-project",
            credentials=Credentials.from_service_account_info(self.credentials()),
            client_options={"api_endpoint": f"http://127.0.0.1:{self.port}"},
            default_query_job_config=bigquery.QueryJobConfig(default_dataset="my-project.small"),
        )


def _reference(number: str) -> dict[str, str]:
    return {"projectId": "my-project", "jobId": number, "location": "EU"}


def _bigquery_error(status: int, reason: str, message: str) -> dict[str, Any]:
    errors = [{"reason": reason, "message": message}]
    return {"error": {"code": status, "message": message, "errors": errors}}


# ---- Databricks ----------------------------------------------------------------------------------

_OF_DATABRICKS = {
    "table": ("TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    "denied": ("INSUFFICIENT_PERMISSIONS", "42501"),
    "column": ("UNRESOLVED_COLUMN", "42703"),
    "syntax": ("PARSE_SYNTAX_ERROR", "42601"),
    "division": ("DIVIDE_BY_ZERO", "22012"),
    "cast": ("CAST_INVALID_INPUT", "22018"),
    "internal": ("INTERNAL_ERROR", "XX000"),
}


def databricks(backend: Backend) -> Any:
    """Return a connection of databricks-sql-connector that has no server."""
    from databricks.sql import client, exc

    class Cursor:
        description: Any = None
        table: Any = None

        def execute(self, statement: str) -> None:
            if not connection.open:
                raise exc.InterfaceError("Cannot create cursor from closed connection")
            try:
                self.table = backend.run(statement)
            except Failed as error:
                name, state = _OF_DATABRICKS[error.kind]
                text = f"[{name}] {error} SQLSTATE: {state}; line 1 pos 14;\n'Project [*]"
                raise exc.ServerOperationError(text) from error
            self.description = [
                (field.name, str(field.type), None, None, None, None, True)
                for field in self.table.schema
            ]

        def fetchall_arrow(self) -> Any:
            return self.table

        def fetchall(self) -> Any:
            return [tuple(row.values()) for row in self.table.to_pylist()]

        def cancel(self) -> None:
            backend.cancelled.append("cursor")

        def close(self) -> None:
            """Keep nothing."""

    class Connection(client.Connection):  # type: ignore[misc]
        open = True

        def __init__(self) -> None:
            """Open no session."""

        def cursor(self, *_: Any, **__: Any) -> Any:
            return Cursor()

        def close(self) -> None:
            self.open = False

        def __del__(self) -> None:
            """Log nothing."""

    connection = Connection()
    return connection


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Stop a server afterwards."""
    try:
        yield server
    finally:
        server.stop()
