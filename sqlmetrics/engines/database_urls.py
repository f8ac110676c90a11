"""URLs of databases: `postgres://user@host/db`."""

from __future__ import annotations

import re

from sqlmetrics.masking import masked_url

# dialects of the systems without temporary tables of ours
WAREHOUSES = ("snowflake", "bigquery", "databricks", "trino", "datafusion")
DATABASES = ("postgres", "clickhouse", *WAREHOUSES)  # dialects in which statements run
FLIGHT_SQL = "flightsql"  # a protocol of several systems, whose dialect the URL names
# dialect, or protocol, -> the form of its URLs
FORMS = {
    "postgres": "postgres://USER@HOST:PORT/DATABASE",
    "clickhouse": "clickhouse://USER@HOST:PORT/DATABASE",
    "snowflake": "snowflake://USER@ACCOUNT/DATABASE/SCHEMA",
    "bigquery": "bigquery://PROJECT/DATASET",
    "databricks": "databricks://HOST/sql/1.0/warehouses/ID",
    "trino": "trino://USER@HOST:PORT/CATALOG/SCHEMA",
    FLIGHT_SQL: "grpc://HOST:PORT",
}
EXAMPLES = ", ".join([*FORMS.values()][:-1]) + f" or {FORMS[FLIGHT_SQL]}"
_SCHEMES = {
    "postgres": "postgres", "postgresql": "postgres", "clickhouse": "clickhouse",
    "snowflake": "snowflake", "bigquery": "bigquery", "databricks": "databricks", "trino": "trino",
    "grpc": FLIGHT_SQL, "grpc+tls": FLIGHT_SQL,
}  # fmt: skip
_SCHEME = re.compile(rf"({'|'.join(map(re.escape, _SCHEMES))})://", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(value: object) -> bool:
    """Return whether a value is the URL of a database that sqlmetrics connects to."""
    return isinstance(value, str) and _SCHEME.match(value) is not None


def dialect_of(url: str) -> str:
    """Return the dialect of the database that a URL leads to, or "flightsql"."""
    match = _SCHEME.match(url)
    assert match is not None
    return _SCHEMES[match[1].lower()]


def has_scheme(value: object) -> bool:
    """Return whether a value starts as a URL does, of any system."""
    return isinstance(value, str) and _ANY_SCHEME.match(value) is not None


def is_clear(url: str) -> bool:
    """Return whether every reader of the URL finds the same password in it."""
    rest = url.partition("://")[2].partition("?")[0]
    authority, _, database = rest.partition("/")
    return authority.count("@") <= 1 and "@" not in database


def shown(value: str) -> str:
    """Return a value given as an engine, as messages may show it.

    A text that is neither a name nor a URL may be a connection string with a password.
    """
    if has_scheme(value):
        return masked_url(value)
    return repr(value) if re.fullmatch(r"[\w.-]+", value) else "the value"
