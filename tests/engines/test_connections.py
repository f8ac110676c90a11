"""URLs and connections of databases that are rejected, or read, without a server."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

import sqlmetrics as sm
from sqlmetrics.engines import connection as connections
from sqlmetrics.engines import database_urls
from sqlmetrics.engines.connection import opened
from tests.support.evaluators import Evaluator

SMALL = ("small.recs", "small.truth")


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the options that SQLAlchemy passes to a library; no connection is made."""
    from sqlalchemy.engine.default import DefaultDialect

    given: dict[str, Any] = {}
    monkeypatch.setattr(DefaultDialect, "connect", lambda _, *__, **found: given.update(found))
    return given


# ---- URLs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["clickhouse", "clickhousedb", "CLICKHOUSEDB+connect"])
@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("secure=yes", {"secure": "true"}),
        ("secure=1&verify=Off&final=1", {"secure": "true", "verify": "false", "final": "1"}),
        ("Secure=On&verify=YES", {"secure": "true", "verify": "true"}),
        ("secure=no&verify=0", {"secure": "false", "verify": "false"}),
    ],
)
def test_encryption(scheme: str, query: str, read: dict[str, str], options: dict[str, Any]) -> None:
    database_urls.connect(f"{scheme}://me:s3cr@h/db?{query}", None)
    host = {"host": "h", "username": "me", "password": "s3cr", "database": "db"}
    assert options == {**host, **read}


@pytest.mark.parametrize(
    "query", ["secure=s3cr", "secure", "secure=&final=1", "verify=", "secure=1&secure=0"]
)
def test_encryption_that_is_not_clear(query: str) -> None:
    with pytest.raises(sm.UsageError, match=r"is neither true nor false\. Write \w+=true") as e:
        Evaluator(*SMALL, engine=f"clickhouse://me:s3cr@h/db?{query}")
    assert "s3cr" not in str(e.value)


@pytest.mark.parametrize(
    "scheme", ["postgresql+psycopg2", "postgres+psycopg2", "postgresql+asyncpg", "postgres+psycopg"]
)
def test_other_libraries_in_urls(scheme: str) -> None:
    with pytest.raises(sm.UsageError) as caught:
        Evaluator(*SMALL, engine=f"{scheme}://me:s3cr@h/db")
    told = f"Replace {scheme}:// with postgres:// or postgresql:// or postgresql+psycopg://"
    assert told in str(caught.value)
    assert "s3cr" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_urls_of_postgres(scheme: str, options: dict[str, Any]) -> None:
    assert database_urls.connect(f"{scheme}://me@/db?host=h1:1&host=h2:2", None)[1] == "postgres"
    assert (options["host"], options["port"], options["dbname"]) == ("h1,h2", "1,2", "db")


def test_several_hosts() -> None:
    with pytest.raises(sm.UsageError, match=r"several hosts.*\?host=h1:5432&host=h2:5433"):
        Evaluator(*SMALL, engine="postgres://me:s3cr@h1:1,h2:2/db")
    with pytest.raises(sm.UsageError, match="the URL of the database cannot be read"):
        Evaluator(*SMALL, engine="postgres://me:s3,cr@h:port/db")


def test_the_address_of_flight_sql_has_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    from adbc_driver_flightsql import dbapi

    called: list[Any] = []
    monkeypatch.setattr(dbapi, "connect", lambda *given, **more: called.append((given, more)))
    database_urls.connect("grpc+tls://me:s3cr@host:1?dialect=trino&token=t", None)
    ((address,), more) = called[0]
    assert address == "grpc+tls://host:1"
    assert (more["db_kwargs"]["username"], more["db_kwargs"]["password"]) == ("me", "s3cr")


def test_warnings_of_snowflake(monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy.engine.default import DefaultDialect

    def connect(*_: Any, **__: Any) -> None:
        warnings.warn("a default will change", FutureWarning, stacklevel=1)

    monkeypatch.setattr(DefaultDialect, "connect", connect)
    database_urls.connect("snowflake://me:s3cr@account/shop", None)


def test_logs_of_clickhouse() -> None:
    """clickhouse-connect logs a failure that it also raises."""
    arguments = ("evaluate", "mrr", "-r", "recs", "-i", "truth")
    ran = subprocess.run(
        [sys.executable, "-m", "sqlmetrics", *arguments, "--engine", "clickhouse://127.0.0.1:1/db"],
        capture_output=True,
        check=False,
        timeout=100,
    )
    shown = ran.stderr.decode()
    assert "no connection to clickhouse://127.0.0.1:1/db" in " ".join(shown.split())
    assert "Unexpected Http Driver" not in shown


@pytest.mark.parametrize("before", [380, 390, 399])
def test_secrets_where_a_message_is_cut(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Raw:
        """A connection that fails at the first statement."""

        def cursor(self) -> Any:
            raise RuntimeError("x" * before + "s3cr" * 5)

        def close(self) -> None: ...

    monkeypatch.setattr(connections, "connect", lambda *_: (Raw(), "trino"))
    with pytest.raises(sm.EngineError, match="no connection to trino://me:") as caught:
        connections.connected(f"trino://me:{'s3cr' * 5}@host/a", None)
    assert "s" not in str(caught.value).rpartition("x")[2].partition(".")[0]


# ---- connections of other libraries -----------------------------------------------------------


def fake(module: str) -> Any:
    """Return a connection of DB-API 2.0, such as a library returns it."""
    kind = type("Connection", (), {"cursor": lambda _: pytest.fail("ran"), "__module__": module})
    return kind()


@pytest.mark.parametrize("dialect", ["postgres", None])
@pytest.mark.parametrize("module", ["psycopg2.extensions", "pg8000.dbapi", "asyncpg.connection"])
def test_other_libraries_for_postgres(module: str, dialect: Any) -> None:
    package = module.partition(".")[0]
    own = type("Mine", (type(fake(module)),), {"__module__": "mine"})()
    for connection in (fake(module), own):
        with pytest.raises(sm.UsageError, match=f"a connection of {package} is not") as caught:
            Evaluator(*SMALL, engine=connection, dialect=dialect)
        for told in ("psycopg 3", "adbc_driver_postgresql", "postgresql+psycopg://"):
            assert told in str(caught.value)


@pytest.mark.parametrize(
    ("module", "dialect", "told"),
    [
        ("mine", "postgres", "a connection of mine is not supported. For Postgres, pass"),
        ("clickhouse_driver.dbapi", "clickhouse", r"For ClickHouse, pass a client of clickhouse-c"),
        ("clickhouse_driver.dbapi", None, "or a connection of chDB"),
        ("mine", None, r"and dialect=… if the system is not recognised"),
    ],
)
def test_other_libraries(module: str, dialect: Any, told: str) -> None:
    with pytest.raises(sm.UsageError, match=told):
        Evaluator(*SMALL, engine=fake(module), dialect=dialect)


def test_adbc_of_another_system() -> None:
    """A driver that does not report the state of a transaction is none for Postgres."""
    connection = fake("adbc_driver_manager.dbapi")
    connection._autocommit, connection.adbc_connection = True, None
    connection.adbc_get_info = lambda: {"vendor_name": "Another"}
    with pytest.raises(sm.UsageError, match="For Postgres, pass a connection of psycopg 3"):
        opened(connection, "postgres")
    with pytest.raises(sm.UsageError, match=r"of Another is not known\. Give dialect=… with one "
                       "of snowflake, bigquery"):  # fmt: skip
        opened(connection)
    found = opened(connection, "trino")
    assert found is not None
    assert found.dialect == "trino"


def test_a_rejected_engine_of_sqlalchemy_has_its_connection_back() -> None:
    import sqlalchemy

    pool = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.QueuePool)
    with pytest.raises(sm.UsageError, match="a connection of sqlite3 is not supported") as caught:
        Evaluator(*SMALL, engine=pool)
    assert pool.pool.checkedout() == 0, caught  # which refers to the connection
    pool.dispose()
