"""A stand-in for a ClickHouse server: the HTTP interface, in front of the engine of chDB.

No registry has a current server. Statements, settings, types, temporary tables and the formats of
results are those of ClickHouse; users, sessions and the codes of HTTP are imitated here, as far as
clickhouse-connect and the tests use them. A process of its own, so that it can be killed:

    python -m tests.engines.clickhouse_server

It prints its port, and ends when its standard input does.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PASSWORD = "s3cr@t"
# the setting `readonly` of each user
USERS = {"tests": "0", "reader": "2", "guest": "1"}
# parameters of a request that are no settings
_OF_REQUESTS = {
    *("query", "session_id", "session_timeout", "session_check", "wait_end_of_query", "query_id"),
    *("enable_http_compression", "client_protocol_version", "database"),
    *("send_progress_in_http_headers", "http_headers_progress_interval_ms"),
}
_AUTHENTICATION_FAILED, _READONLY, _SESSION_IS_LOCKED = 516, 164, 373
_STATUS = {_AUTHENTICATION_FAILED: 403, 497: 403, 60: 404, 47: 404, 62: 400}


class Refused(Exception):
    """An error with a code of ClickHouse."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"Code: {code}. DB::Exception: {text}")
        self.code = code


class Sessions:
    """Connections to the engine, each with its own temporary tables."""

    def __init__(self) -> None:
        import chdb

        self._open = lambda: chdb.connect(":memory:")
        self._keep = self._open()  # the engine ends with its last connection
        self._known: dict[tuple[str, str], tuple[Any, threading.Lock]] = {}
        self._lock = threading.Lock()

    def run(self, user: str, name: str, settings: dict[str, str], statement: str) -> bytes:
        """Run a statement in a session; without a name, in one that ends with it."""
        with self._lock:
            connection, lock = self._known.get((user, name)) or (self._open(), threading.Lock())
            if name:
                self._known[user, name] = connection, lock
        if not lock.acquire(blocking=False):
            raise Refused(_SESSION_IS_LOCKED, "Session is locked by a concurrent client")
        try:
            return self._run(connection, user, settings, statement)
        finally:
            lock.release()
            if not name:
                connection.close()

    @staticmethod
    def _run(connection: Any, user: str, settings: dict[str, str], statement: str) -> bytes:
        database = settings.pop("database", "default")
        changes = [f"USE `{database}`", *(f"SET {k} = '{v}'" for k, v in settings.items())]
        back = [f"SET {name} = DEFAULT" for name in settings]
        if USERS[user] != "0":
            changes.insert(0, f"SET readonly = {USERS[user]}")
        try:
            for change in changes:
                if USERS[user] == "1" and change == changes[0] and settings:
                    raise Refused(_READONLY, f"Cannot modify '{next(iter(settings))}' setting in "
                                  "readonly mode. (READONLY)")  # fmt: skip
                connection.query(change)
            return bytes(connection.query(statement, "TabSeparated").bytes())
        finally:
            for change in back if USERS[user] == "0" else ():
                connection.query(change)


class Handler(BaseHTTPRequestHandler):
    """Answers requests as the HTTP interface does."""

    protocol_version = "HTTP/1.1"
    sessions: Sessions

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        try:
            status, content, headers = 200, self._ran(body.decode()), {}
        except Exception as error:
            found = re.search(r"Code: (\d+)", str(error))
            code = int(found[1]) if found else 1001
            status, content = _STATUS.get(code, 500), str(error).encode()
            headers = {"X-ClickHouse-Exception-Code": str(code)}
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _ran(self, body: str) -> bytes:
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        user, _, password = base64.b64decode(given).decode().partition(":")
        if kind != "Basic" or user not in USERS or password != PASSWORD:
            raise Refused(
                _AUTHENTICATION_FAILED,
                f"{user}: Authentication failed: password is "
                "incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)",
            )
        asked = dict(parse_qsl(urlsplit(self.path).query))
        settings = {k: v for k, v in asked.items() if k not in _OF_REQUESTS or k == "database"}
        statement = f"{asked.get('query', '')}\n{body}".strip()
        return self.sessions.run(user, asked.get("session_id", ""), settings, statement)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def serve() -> None:
    """Serve until the standard input ends."""
    Handler.sessions = Sessions()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)  # without waiting for statements


class ClickHouseServer:
    """The process of a stand-in."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.engines.clickhouse_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the tests only
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise ModuleNotFoundError("chdb or the stand-in for a ClickHouse server")
        self.port = int(line)

    def client(self, user: str = "tests", **options: Any) -> Any:
        """Return a client of clickhouse-connect."""
        import clickhouse_connect

        given = {"host": "127.0.0.1", "port": self.port, "username": user, "password": PASSWORD}
        return clickhouse_connect.get_client(**{**given, **options})

    def url(self, user: str = "tests") -> str:
        """Return the URL of the server."""
        return f"clickhouse://{user}:{PASSWORD.replace('@', '%40')}@127.0.0.1:{self.port}/default"

    def stop(self) -> None:
        """End the process."""
        self.process.communicate()  # closes the standard input that it reads


if __name__ == "__main__":
    serve()
