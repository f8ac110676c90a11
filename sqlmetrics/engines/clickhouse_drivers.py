"""Run statements in ClickHouse: on a server (clickhouse-connect), or in this process (chDB).

Settings apply to the statements of a call only. An interrupt stops the running statement also in
the database. Nothing here imports a library unless a connection of it, or a URL, is given.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sqlmetrics import interrupts
from sqlmetrics.engines.database_drivers import (
    Driver,
    no_connection,
    numbers,
    one_line,
    unread,
    without_driver,
)
from sqlmetrics.engines.database_urls import is_clear
from sqlmetrics.errors import UsageError
from sqlmetrics.sql.quoting import literal

if TYPE_CHECKING:
    from decimal import Decimal

    import pyarrow as pa

MARK = "log_comment"  # the setting that marks the statements of sqlmetrics
_CODE = re.compile(r"Code: (\d+)\.")
_BEFORE = re.compile(r"\A.*?DB::Exception: ", re.DOTALL)
# the statement, hints, the name and the version at the end of a message
_AFTER = re.compile(
    r"(\. |: )?(Maybe you meant|In scope |While processing|: while executing).*|"
    r"\s*\(([A-Z][A-Z0-9_]+)\)(\s*\(.*)?\s*\Z",
    re.DOTALL,
)
_SESSION_SECONDS = 300  # without a statement, after which a server drops temporary tables
_STOP_SECONDS = 10  # that an interrupt waits for the end of a statement
_LOCKED = "373"  # SESSION_IS_LOCKED: another statement of the session has not ended yet
_TRIES, _PAUSE = 40, 0.1
_BYTES_OF_INT128 = 16


class ClickHouseDriver(Driver):
    """A connection to ClickHouse.

    Attributes:
        settings: the settings of the running call.
        created: the temporary tables of the running call.
    """

    dialect = "clickhouse"

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.settings: Mapping[str, str] = {}
        self.created: list[str] = []

    def values_of(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the settings of the session that the database knows: name -> value and state."""
        from sqlmetrics.sql.templates import render_file

        row = self.one_row(render_file("databases/clickhouse/settings", {"asked": names}))
        columns = (row[name] for name in ("setting_names", "setting_values", "changed", "readonly"))
        return {
            name: {"name": name, "value": value, "changed": changed, "readonly": readonly}
            for name, value, changed, readonly in zip(*columns, strict=True)
        }

    def one_row(self, query: str) -> dict[str, Any]:
        """Return the row of a query that has one row, whatever the session sets.

        Raises:
            UsageError: the session skips the row.
        """
        rows: list[dict[str, Any]] = self.fetch(query).to_pylist()
        if len(rows) != 1:
            raise removes_rows("offset", "additional_result_filter")
        return rows[0]

    @abstractmethod
    def using(self, settings: Mapping[str, str]) -> contextlib.AbstractContextManager[None]:
        """Use settings for the statements inside; the first statement may fail because of them."""

    def stop(self) -> None:
        """Stop the statement of this call in the database; errors are suppressed."""
        # without a mark, the statement would stop those of other programs
        if mark := self.settings.get(MARK):
            with contextlib.suppress(Exception):
                self._stop(f"KILL QUERY WHERE Settings['{MARK}'] = {literal(mark)} SYNC")

    @abstractmethod
    def _stop(self, statement: str) -> None:
        """Run a statement that stops those of this call."""

    def drop_created(self) -> None:
        """Drop the temporary tables of the running call; errors are suppressed."""
        while self.created:
            self._drop(self.created.pop(), self.run)

    def _drop(self, name: str, run: Callable[[str], object]) -> None:
        for _ in range(_TRIES):
            try:
                run(f"DROP TEMPORARY TABLE IF EXISTS {name}")
            except self.errors as error:
                if self.code(error) != _LOCKED:
                    return
                time.sleep(_PAUSE)
            else:
                return

    def code(self, error: BaseException) -> str:
        """Return the number of an error of ClickHouse, such as 60."""
        code = getattr(error, "code", None)
        if isinstance(code, int):
            return str(code)
        found = _CODE.search(str(error))
        return found[1] if found else ""

    def reason(self, error: BaseException) -> str:
        """Return the message of ClickHouse in one line, without the statement."""
        return reason_of(error)


def removes_rows(*settings: str) -> UsageError:
    """Return the error about a setting, or one of several, that removes rows."""
    return UsageError(
        f"engine: the session has the setting {' or '.join(settings)}, which removes rows from all "
        "results",
        remedy=f"reset it (SET {settings[0]} = DEFAULT)",
    )


def reason_of(error: BaseException) -> str:
    """Return the message of an error of ClickHouse in one line, without the statement."""
    return one_line(_AFTER.sub("", _BEFORE.sub("", str(error)))) or type(error).__name__


# ---- a server ------------------------------------------------------------------------------------


class ClickHouseConnect(ClickHouseDriver):
    """A client of clickhouse-connect.

    Statements run in the session of the client, which has its temporary tables, or else in one of
    their own.

    Args:
        connection: the client.
        again: returns another client for the same server; an interrupt uses it to stop the
            statement of the first one.
    """

    def __init__(self, connection: Any, again: Callable[[], Any] | None = None) -> None:
        super().__init__(connection)
        self._again = again
        self._session = connection.get_client_setting("session_id") or _new_session()

    @contextlib.contextmanager
    def using(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Send settings with each statement inside."""
        self.settings = settings
        interrupts.add(self.stop)
        try:
            yield
        finally:
            interrupts.drop(self.stop)
            self.settings = {}

    def _ask(self, statement: str, form: str | None) -> bytes:
        try:
            answer = self.connection.raw_query(
                statement, settings={**self.settings, **self._in_session()}, fmt=form
            )
            return bytes(answer)
        except KeyboardInterrupt:
            self.stop()
            raise

    def _in_session(self) -> dict[str, str]:
        return {"session_id": self._session, "session_timeout": str(_SESSION_SECONDS)}

    def run(self, statement: str) -> None:
        """Run a statement whose rows do not matter."""
        self._ask(statement, None)

    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows."""
        import pyarrow as pa

        return _as_others_return(pa.ipc.open_stream(self._ask(statement, "ArrowStream")).read_all())

    def _stop(self, statement: str) -> None:
        """Run the statement in another session, and drop the temporary tables of this call.

        A client that is interrupted has not ended its session, so another client is needed to drop
        the tables; without one, `drop_created` does it when the interrupt has ended the statement.
        """
        client = self.connection if self._again is None else self._again()
        elsewhere = {"session_id": _new_session(), "session_timeout": "1"}
        client.raw_query(statement, settings=elsewhere)
        if self._again is not None:
            for name in self.created:
                self._drop(name, lambda text: client.raw_query(text, settings=self._in_session()))

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The classes of errors of clickhouse-connect, and of answers that cannot be read."""
        import pyarrow as pa
        from clickhouse_connect.driver.exceptions import ClickHouseError

        return ClickHouseError, pa.ArrowException

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _new_session() -> str:
    return f"sqlmetrics-{uuid.uuid4()}"


def connect(url: str) -> ClickHouseConnect:
    """Connect to the server of a URL.

    Parameters of the URL are settings of ClickHouse, such as `?final=1`, except `secure`, `verify`
    and `ca_cert`.

    Raises:
        UsageError: clickhouse-connect is not installed, or the URL is not valid.
        EngineError: the connection cannot be made.
    """
    try:
        import clickhouse_connect
        from clickhouse_connect.driver.exceptions import ClickHouseError
    except ImportError as error:
        raise without_driver(url, error, "clickhouse-connect", "clickhouse") from error
    try:
        parts = urlsplit(url)
        host, port, given = parts.hostname, parts.port, dict(parse_qsl(parts.query))
    except ValueError:  # quotes parts of the URL
        raise unread(url) from None
    if not is_clear(url) or "/" in parts.path[1:]:
        raise unread(url)
    # it logs failures that are raised, too
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
    options: dict[str, Any] = {"ca_cert": given.pop("ca_cert")} if "ca_cert" in given else {}
    options["verify"] = _is_on(given.pop("verify", "yes"), "verify")
    user, password = given.pop("user", ""), given.pop("password", "")
    user = unquote(parts.username or "") or user or os.environ.get("CLICKHOUSE_USER", "")
    password = unquote(parts.password or "") or password
    options |= {
        "host": host or "localhost",
        "port": port,
        "username": user or "default",
        "password": password or os.environ.get("CLICKHOUSE_PASSWORD", ""),
        "database": unquote(parts.path[1:]) or None,
        "secure": _is_on(given.pop("secure", "no"), "secure"),
        "settings": given,
        "client_name": "sqlmetrics",
    }

    def client() -> Any:
        return clickhouse_connect.get_client(**options)

    try:
        return ClickHouseConnect(client(), again=client)
    except ClickHouseError as error:
        raise no_connection(
            url,
            reason_of(error),
            "check the host, the HTTP port, the user and the password, which sqlmetrics also "
            "reads from CLICKHOUSE_USER and CLICKHOUSE_PASSWORD",
        ) from None


def _is_on(text: str, name: str) -> bool:
    """Read a parameter of the URL that is on or off.

    Raises:
        UsageError: it is neither, and a guess could send a password without encryption.
    """
    if text.lower() not in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        raise UsageError(
            f"engine: the parameter {name} of the URL is {text!r}", remedy="write 1 or 0"
        )
    return text.lower() in ("1", "true", "yes", "on")


# ---- this process --------------------------------------------------------------------------------


class Chdb(ClickHouseDriver):
    """A connection of chDB: a session, or a connection of `chdb.connect` or of its module `dbapi`.

    A statement runs in a thread of its own, because chDB blocks interrupts while it computes.
    """

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._folder: str | None = None  # of the tables, if they are not in memory; None: not read
        self._thread: threading.Thread | None = None  # runs the last statement

    def _handle(self) -> Any:
        """Return the object that runs statements.

        Raises:
            UsageError: the connection is closed.
        """
        handle, closed = self.connection, getattr(self.connection, "_closed", False)
        if not hasattr(handle, "send_insert"):  # a session or a connection of `dbapi`
            handle = handle._conn
        if closed or handle is None or handle._conn is None:
            raise UsageError(
                "the connection is closed",
                remedy="open a new connection and create a new Evaluator",
            )
        return handle

    @contextlib.contextmanager
    def using(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Set the settings of the session, and restore them."""
        from sqlmetrics.sql.templates import render_file

        before = self.values_of(list(settings))
        if self._folder is None:
            folders = self.fetch(render_file("databases/clickhouse/path", {})).to_pylist()
            self._folder = folders[0]["folder"].rstrip("/") if folders else ""
        self.settings = settings
        try:
            for name, value in settings.items():
                self.run(f"SET {name} = {_quoted(value)}")
            yield
        finally:
            self.settings = {}
            with contextlib.suppress(*self.errors):
                for row in before.values():
                    value = _quoted(row["value"]) if row["changed"] else "DEFAULT"
                    self.run(f"SET {row['name']} = {value}")

    def _ask(self, statement: str, form: str) -> Any:
        if self._thread is not None and self._thread.is_alive():
            raise RuntimeError("the statement that was interrupted has not ended")
        handle, answers, failures = self._handle(), list[Any](), list[BaseException]()

        def work() -> None:
            try:
                answers.append(handle.query(statement, form))
            except BaseException as error:
                failures.append(error)

        self._thread = thread = threading.Thread(target=work, name="sqlmetrics-chdb", daemon=True)
        thread.start()
        try:
            thread.join()
        except KeyboardInterrupt:
            self.stop()
            thread.join(_STOP_SECONDS)
            raise
        if failures:
            raise failures[0]
        return answers[0]

    def run(self, statement: str) -> None:
        """Run a statement whose rows do not matter."""
        self._ask(statement, "CSV")

    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows."""
        return _as_others_return(self._ask(statement, "ArrowTable"))

    def _stop(self, statement: str) -> None:
        """Run the statement through another connection to the same engine."""
        import chdb

        # chDB opens only the place of this process
        for place in filter(None, (self._folder, ":memory:")):
            with contextlib.suppress(RuntimeError):
                other: Any = chdb.connect(place)
                try:
                    other.query(statement)
                finally:
                    other.close()
                return

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The class of errors of chDB, and of answers that cannot be read."""
        import pyarrow as pa

        return RuntimeError, pa.ArrowException

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def escaped(text: str) -> str:
    """Escape the backslashes of a text, which ClickHouse reads in literals."""
    return text.replace("\\", "\\\\")


def _quoted(value: str) -> str:
    return literal(escaped(str(value)))


def _as_others_return(table: pa.Table) -> pa.Table:
    """Return exact numbers as doubles, as far as doubles hold them, and times without a zone.

    Raises:
        ArrowInvalid: a text is not UTF-8.
    """
    import pyarrow as pa

    arrays = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_fixed_size_binary(kind) and kind.byte_width == _BYTES_OF_INT128:
            array: Any = numbers(map(_whole, column.to_pylist()))
        elif pa.types.is_binary(kind):  # a text, before the settings of a call apply
            array = column.cast(pa.string())
        elif pa.types.is_list(kind) and pa.types.is_binary(kind.value_type):
            array = column.cast(pa.list_(pa.string()))
        elif pa.types.is_decimal(kind):
            array = numbers(column.to_pylist())
        elif pa.types.is_timestamp(kind):  # always in UTC
            array = column.cast(pa.timestamp(kind.unit))
        else:
            array = column
            if pa.types.is_string(kind):
                array.validate(full=True)
        arrays.append(array)
    return pa.Table.from_arrays(arrays, names=table.column_names)


def _whole(value: bytes | None) -> Decimal | None:
    """Return an integer of 128 bits from its bytes."""
    from decimal import Decimal

    return None if value is None else Decimal(int.from_bytes(value, "little", signed=True))
