"""Connect to the warehouses that URLs name; secrets may be in the environment instead."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sqlmetrics.engines.database_drivers import (
    no_connection,
    no_dialect,
    one_line,
    unread,
    without_driver,
)
from sqlmetrics.engines.database_urls import FLIGHT_SQL, FORMS, dialect_of, is_clear
from sqlmetrics.engines.warehouse_drivers import (
    AdbcWarehouse,
    BigQuery,
    Databricks,
    Snowflake,
    Trino,
    WarehouseDriver,
    dialect_of_vendor,
)
from sqlmetrics.errors import UsageError
from sqlmetrics.masking import MASK, masked_url
from sqlmetrics.sql.dialects import checked

_OF_TEXT = re.compile("pass|pwd|pin|token|secret|key|name|user|account", re.IGNORECASE)


@dataclass(frozen=True)
class Parts:
    """The parts of a URL, decoded; missing ones are empty.

    Args:
        url: the URL itself.
        user, password: from the URL or, for some systems, from the environment.
        host, port: the address, as written.
        path: the path without the slash at its start.
        given: the parameters; flags and whole numbers are not texts.
        dialect: the dialect that the user gave apart from the URL.
    """

    url: str
    user: str
    password: str
    host: str
    port: int | None
    path: str
    given: Mapping[str, Any]
    dialect: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """Return the two names of the path, such as a catalog and a schema.

        Raises:
            UsageError: the path has more names.
        """
        names = [*filter(None, self.path.split("/")), "", ""]
        if len(names) > 4:
            raise unread(self.url)
        return names[0], names[1]

    def reject(self, *unused: object) -> None:
        """Reject parts that the system has no use for, if they have a value.

        Raises:
            UsageError: one has.
        """
        if any(unused):
            raise UsageError(
                f"engine: {masked_url(self.url)} has parts that this system does not use",
                remedy=f"write {FORMS[dialect_of(self.url)]}",
            )


def _value(name: str, text: str) -> Any:
    """Return the value of a parameter: a flag, a whole number or the text, such as a password."""
    if _OF_TEXT.search(name):
        return text
    flags = {"true": True, "false": False}
    return flags.get(text.lower(), int(text) if text.isdecimal() else text)


def _parts(url: str, prefix: str, dialect: str) -> Parts:
    """Split a URL; `prefix` begins the environment variables of its user and password."""
    try:
        split = urlsplit(url)
        port, host = split.port, split.hostname
    except ValueError:  # quotes parts of the URL
        raise unread(url) from None
    if not is_clear(url):
        raise unread(url)
    return Parts(
        url,
        unquote(split.username or "") or os.environ.get(f"{prefix}_USER", ""),
        unquote(split.password or "") or os.environ.get(f"{prefix}_PASSWORD", ""),
        host or "",
        port,
        unquote(split.path).strip("/"),
        {name: _value(name, text) for name, text in parse_qsl(split.query)},
        dialect,
    )


def _known(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value not in ("", None)}


# ---- systems -------------------------------------------------------------------------------------


def _snowflake(parts: Parts) -> WarehouseDriver:
    import snowflake.connector as library

    logging.getLogger("snowflake.connector").addHandler(logging.NullHandler())
    database, schema = parts.names
    options = {
        "account": parts.host, "port": parts.port, "user": parts.user, "password": parts.password,
        "database": database, "schema": schema, "application": "sqlmetrics",
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about defaults of the library
        return Snowflake(library.connect(**{**_known(options), **parts.given}))


def _bigquery(parts: Parts) -> WarehouseDriver:
    from google.cloud import bigquery as library

    project, dataset = parts.names[0], ""
    if parts.host:  # the project; the path is the dataset
        project, dataset = urlsplit(parts.url).netloc, parts.names[0]
        parts.reject("@" in project, parts.port, parts.names[1])
    given = dict(parts.given)
    config = library.QueryJobConfig()
    if dataset:
        config.default_dataset = f"{project}.{dataset}"
    if limit := given.pop("maximum_bytes_billed", ""):
        if not isinstance(limit, int):
            raise UsageError(
                f"engine: maximum_bytes_billed={limit} in the URL is not a whole number",
                remedy="give the number of bytes",
            )
        config.maximum_bytes_billed = limit
    options: dict[str, Any] = {"location": given.pop("location", "")}
    if endpoint := given.pop("api_endpoint", ""):
        options["client_options"] = {"api_endpoint": endpoint}
    if given:
        raise UsageError(
            f"engine: {next(iter(given))} is not a parameter of a URL of BigQuery",
            remedy="give location, maximum_bytes_billed or api_endpoint",
        )
    client = library.Client(project=project, default_query_job_config=config, **_known(options))
    return BigQuery(client)


def _databricks(parts: Parts) -> WarehouseDriver:
    from databricks import sql

    token = parts.password or os.environ.get("DATABRICKS_TOKEN", "")
    parts.reject(parts.port, parts.user and not parts.password)
    if not token and "auth_type" not in parts.given:
        raise UsageError(
            "engine: there is no token for Databricks",
            remedy="set the environment variable DATABRICKS_TOKEN, or add auth_type=… to the URL",
        )
    options = {
        "server_hostname": parts.host or os.environ.get("DATABRICKS_HOST", ""),
        "http_path": f"/{parts.path}", "access_token": token, "user_agent_entry": "sqlmetrics",
    }  # fmt: skip
    library: Any = sql
    return Databricks(library.connect(**{**_known(options), **parts.given}))


def _trino(parts: Parts) -> WarehouseDriver:
    from trino import auth, dbapi

    catalog, schema = parts.names
    given, user = dict(parts.given), parts.user or "sqlmetrics"
    options: dict[str, Any] = {
        "host": parts.host or "localhost", "port": parts.port, "user": user,
        "catalog": catalog, "schema": schema, "source": "sqlmetrics",
        "http_scheme": given.pop("http_scheme", "https" if parts.password else ""),
    }  # fmt: skip
    if (verify := given.pop("verify", None)) is not None:  # a flag, or a file of certificates
        options["verify"] = bool(verify) if isinstance(verify, int) else verify
    if parts.password:
        if options["http_scheme"] != "https":
            raise UsageError(
                "engine: Trino accepts a password through HTTPS only",
                remedy="remove http_scheme from the URL, or the password from the URL and from "
                "TRINO_PASSWORD",
            )
        options["auth"] = auth.BasicAuthentication(user, parts.password)
    connect_to: Any = dbapi.connect
    return Trino(connect_to(**_known(options), **given))


def _flight_sql(parts: Parts) -> WarehouseDriver:
    from adbc_driver_flightsql import dbapi

    given = dict(parts.given)
    parts.reject(parts.path)
    wanted = given.pop("dialect", "") or parts.dialect
    wanted = checked(wanted) if wanted else ""
    options = {"username": parts.user, "password": parts.password}
    if token := given.pop("token", ""):
        options["adbc.flight.sql.authorization_header"] = f"Bearer {token}"
    if given:
        raise UsageError(
            f"engine: {next(iter(given))} is not a parameter of a URL of Flight SQL",
            remedy="give dialect or token",
        )
    scheme = parts.url.partition("://")[0].lower()
    port = f":{parts.port}" if parts.port else ""
    address = f"{scheme}://{parts.host}{port}"
    connection = dbapi.connect(address, db_kwargs=_known(options), autocommit=True)
    try:
        vendor = str(connection.adbc_get_info().get("vendor_name", ""))
        dialect = dialect_of_vendor(vendor, wanted or None)
        if dialect is None:
            raise no_dialect(vendor)
    except BaseException:
        connection.close()
        raise
    return AdbcWarehouse(connection, dialect)


@dataclass(frozen=True)
class _Kind:
    """The systems of a scheme of URLs.

    Args:
        connect: connects to the system.
        package: its package on PyPI.
        extra: the extra that installs it.
        secrets: the environment variables with a secret.
        remedy: what to check if no connection can be made.
    """

    connect: Callable[[Parts], WarehouseDriver]
    package: str
    extra: str
    secrets: tuple[str, ...]
    remedy: str


_KINDS: Mapping[str, _Kind] = {
    "snowflake": _Kind(
        _snowflake, "snowflake-connector-python", "snowflake", ("SNOWFLAKE_PASSWORD",),
        "check the account, the user and the password, which sqlmetrics also reads from "
        "SNOWFLAKE_USER and SNOWFLAKE_PASSWORD",
    ),
    "bigquery": _Kind(
        _bigquery, "google-cloud-bigquery", "bigquery", (),
        "check the project, and the credentials in GOOGLE_APPLICATION_CREDENTIALS or of gcloud "
        "auth application-default login",
    ),
    "databricks": _Kind(
        _databricks, "databricks-sql-connector", "databricks", ("DATABRICKS_TOKEN",),
        "check the host, the path of the SQL warehouse, and the token, which sqlmetrics also reads "
        "from DATABRICKS_TOKEN",
    ),
    "trino": _Kind(
        _trino, "trino", "trino", ("TRINO_PASSWORD",),
        "check the host, the port, the user and the password, which sqlmetrics also reads from "
        "TRINO_USER and TRINO_PASSWORD",
    ),
    FLIGHT_SQL: _Kind(
        _flight_sql, "adbc-driver-flightsql", "flightsql", ("FLIGHTSQL_PASSWORD",),
        "check the host, the port, the user and the password, which sqlmetrics also reads from "
        "FLIGHTSQL_USER and FLIGHTSQL_PASSWORD",
    ),
}  # fmt: skip


def connect(url: str, wanted: str | None = None) -> WarehouseDriver:
    """Connect to the warehouse of a URL, and run a first query.

    Args:
        url: the URL.
        wanted: the dialect that the user gave.

    Raises:
        UsageError: the driver is not installed, or the URL is not valid.
        EngineError: the connection cannot be made.
    """
    name = dialect_of(url)
    kind = _KINDS[name]
    parts = _parts(url, name.upper(), wanted or "")
    try:
        driver = kind.connect(parts)
    except ImportError as error:
        raise without_driver(url, error, kind.package, kind.extra) from error
    except UsageError:
        raise
    except TypeError as error:  # of the library's function, about an unknown parameter
        raise UsageError(
            f"engine: a parameter of the URL is not one of the library: {one_line(str(error))}"
        ) from None
    except Exception as error:  # each library has classes of its own for configurations
        raise no_connection(url, _hidden(one_line(str(error)), kind), kind.remedy) from None
    try:
        driver.run("SELECT 1 AS one")
    except driver.errors as error:
        why = _hidden(driver.reason(error), kind)
        driver.close()
        raise no_connection(url, why, kind.remedy) from None
    return driver


def _hidden(why: str, kind: _Kind) -> str:
    """Return a message without the secrets of the environment."""
    for name in kind.secrets:
        if secret := os.environ.get(name):
            why = why.replace(secret, MASK)
    return why
