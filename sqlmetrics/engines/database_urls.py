"""URLs of databases: `postgres://user@host/db`, and those of SQLAlchemy."""

from __future__ import annotations

import contextlib
import logging
import re
import warnings
from collections.abc import Iterator
from typing import Any

from sqlmetrics.engines.database_systems import SYSTEMS, System
from sqlmetrics.errors import EngineError, UsageError
from sqlmetrics.texts.masking import masked, masked_url, without_secrets

_FLIGHT_SQL = "flightsql"  # a protocol of several systems, whose dialect the URL names
_BEHIND_FLIGHT_SQL = System("Flight SQL", "grpc://HOST:PORT")
# scheme -> dialect
_SCHEMES = {
    scheme.partition("+")[0]: name
    for name, one in SYSTEMS.items()
    if one.url
    for scheme in one.schemes or [name]
}
BEGINNINGS = ", ".join(f"{name}://" for name, one in SYSTEMS.items() if one.url) + " or grpc://"
EXPORT = "export the tables of other systems to Parquet files, and compute with DuckDB"
_URL = re.compile(rf"(grpc\+tls|grpc|{'|'.join(_SCHEMES)})(\+\w+)?://", re.I)
_ANY_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MOST = 400  # characters of a message
_OF_POSTGRES = {"autocommit": True, "application_name": "sqlmetrics"}
# parameters of ClickHouse that are on or off, and their values -> those that the library takes
_BLANK_SWITCH = re.compile(r"[?&](secure|verify)=?(?=&|\Z)", re.IGNORECASE)
_SWITCHES = {"secure", "verify"}
_ON_OR_OFF = {
    **dict.fromkeys(("1", "true", "yes", "on"), "true"),
    **dict.fromkeys(("0", "false", "no", "off"), "false"),
}
_NO_OUTPUT = logging.NullHandler()


def is_url(value: object) -> bool:
    """Return whether a value is the URL of a database that sqlmetrics connects to."""
    return isinstance(value, str) and _URL.match(value) is not None


def is_clear(url: str) -> bool:
    """Return whether every reader of the URL finds the same password in it."""
    rest = url.partition("://")[2].partition("?")[0]
    authority, _, database = rest.partition("/")
    return authority.count("@") <= 1 and "@" not in database


def shown(value: str) -> str:
    """Return a value given as an engine, as messages may show it.

    A text that is neither a name nor a URL may be a connection string with a password.
    """
    if _ANY_SCHEME.match(value):
        return masked_url(value)
    return repr(value) if re.fullmatch(r"[\w.-]+", value) else "the value"


def connect(url: str, wanted: str | None) -> tuple[Any, str]:
    """Connect to the database of a URL; return the connection of the library and the dialect.

    SQLAlchemy reads the URL and names the library. The connection is made without SQLAlchemy's
    first statements, which look up functions in the search path of the session.

    Args:
        url: the URL.
        wanted: the dialect that the user gave, for a protocol of several systems.

    Raises:
        UsageError: a package is not installed, or the URL is not valid.
        EngineError: the connection cannot be made.
    """
    match = _URL.match(url)
    assert match is not None
    kind = _SCHEMES.get(match[1].lower(), _FLIGHT_SQL)
    scheme = match[0].lower().removesuffix("://")
    system = SYSTEMS.get(kind, _BEHIND_FLIGHT_SQL)
    if system.schemes and scheme not in system.schemes:
        others = " or ".join(f"{name}://" for name in system.schemes)
        raise UsageError(
            f"engine: URLs that begin with {scheme}:// are not supported",
            remedy=f"replace {scheme}:// with {others}",
        )
    unread = UsageError(
        "the URL of the database cannot be read",
        remedy=f"write {system.url}, with special characters in percent notation (%40 for @)",
    )
    if not is_clear(url):
        raise unread
    try:
        import sqlalchemy
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError

        try:
            parsed = sqlalchemy.make_url(f"{scheme}://{url[match.end() :]}")
        except (ArgumentError, ValueError):  # quotes parts of the URL
            raise (_several_hosts() if kind == "postgres" and _has_hosts(url) else unread) from None
        if kind == _FLIGHT_SQL:
            return _flight_sql(parsed, wanted)
        if kind == "clickhouse":
            parsed = _with_switches(parsed, url)
        parsed = parsed.set(drivername=system.schemes.get(scheme, scheme))
        with _quiet(kind):
            try:
                dialect = sqlalchemy.create_engine(parsed).dialect
            except NoSuchModuleError as error:
                raise ImportError(str(error)) from error
            options: Any
            arguments, options = dialect.create_connect_args(parsed)
            ours = _OF_POSTGRES if kind == "postgres" else {}
            return dialect.connect(*arguments, **{**ours, **options}), kind
    except UsageError:
        raise
    except ImportError as error:
        raise UsageError(
            f"{masked_url(url)} needs a package that cannot be imported ({error}); run "
            f"pip install 'sqlmetrics[{kind}]'"
        ) from error
    except Exception as error:  # each library has classes of its own
        raise no_connection(url, error) from None


def _has_hosts(url: str) -> bool:
    """Return whether a URL has several hosts before its path, as URLs of libpq can."""
    return "," in re.split("[/?]", url.partition("://")[2])[0].rpartition("@")[2]


def _several_hosts() -> UsageError:
    return UsageError(
        "the URL of the database has several hosts before its path",
        remedy="write each host as a parameter: "
        "postgres://USER@/DATABASE?host=h1:5432&host=h2:5433",
    )


def _with_switches(parsed: Any, url: str) -> Any:
    """Return a URL of ClickHouse whose parameters `secure` and `verify` are true or false.

    With any other value of `secure`, clickhouse-connect sends the password without encryption.
    `url` is the text, because SQLAlchemy omits parameters without a value.
    """
    blank = _BLANK_SWITCH.search(url)
    given = {**parsed.query, **({blank[1]: ""} if blank else {})}
    switches: dict[str, str] = {}
    names = [name for name in given if name.lower() in _SWITCHES]
    for name in names:
        value = _ON_OR_OFF.get(str(given[name]).lower())
        if value is None:
            raise UsageError(
                f"engine: the parameter {name} of the URL is neither true nor false",
                remedy=f"write {name.lower()}=true or {name.lower()}=false",
            )
        switches[name.lower()] = value
    return parsed.difference_update_query(names).update_query_dict(switches)


@contextlib.contextmanager
def _quiet(kind: str) -> Iterator[None]:
    """Suppress messages of a library: logs of failures that it raises, and future warnings."""
    if name := SYSTEMS[kind].logger:
        logging.getLogger(name).addHandler(_NO_OUTPUT)
    if kind != "snowflake":
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about defaults of the library
        yield


def no_connection(url: str, error: BaseException) -> EngineError:
    """Return the error about a connection that could not be made, without secrets."""
    why = one_line(without_secrets(str(error), url)) or type(error).__name__
    return EngineError(
        f"no connection to {masked_url(url)}: {why}",
        remedy="check the address, the user and the password or token",
    )


def one_line(text: str) -> str:
    """Return a message in one line, without secrets and without a full stop at its end."""
    return masked(" ".join(text.split())).rstrip(" .;:")[:_MOST]


def _flight_sql(url: Any, wanted: str | None) -> tuple[Any, str]:
    import sqlalchemy
    from adbc_driver_flightsql import dbapi

    given = dict(url.query)
    options = {"username": url.username, "password": url.password}
    if token := given.pop("token", ""):
        options["adbc.flight.sql.authorization_header"] = f"Bearer {token}"
    dialect = given.pop("dialect", wanted or "")
    if given or url.database:
        raise UsageError(
            "engine: a URL of Flight SQL has a host, a port, and the parameters dialect and token"
        )
    connection = dbapi.connect(
        sqlalchemy.URL.create(url.drivername, host=url.host, port=url.port).render_as_string(),
        db_kwargs={name: value for name, value in options.items() if value},
        autocommit=True,
    )
    return connection, dialect
