"""URLs of databases (`postgres://user@host/db`), whose passwords no message may show."""

from __future__ import annotations

import re
from urllib.parse import unquote

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
# user:password@ and, for Databricks, token@ at the start, and the parameters
_SECRETS = (
    re.compile(r"(?P<before>\Adatabricks://)(?P<secret>[^:@/?#]*)(?=@)", re.IGNORECASE),
    re.compile(r"(?P<before>\A[^:/?#]*://[^:@/?#]*:)(?P<secret>.*)(?=@)", re.DOTALL),
    re.compile(r"(?P<before>[?&](?P<name>[^=&#]*)=)(?P<secret>[^&#]*)"),
)
# parameters, and values of parameters, that are no secrets; others can be
_CLEAR_NAMES = (
    "account", "api_endpoint", "application_name", "auth_type", "authenticator", "catalog",
    "connect_timeout", "connection_name", "database", "dialect", "host", "http_scheme", "location",
    "maximum_bytes_billed", "options", "port", "private_key_file", "region", "role", "schema",
    "service", "sslmode", "user", "verify", "warehouse",
)  # fmt: skip
_CLEAR_VALUES = ("0", "1", "true", "false", "yes", "no", "on", "off")
MASK = "***"


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
        return masked(value)
    return repr(value) if re.fullmatch(r"[\w.-]+", value) else "the value"


def masked(url: str) -> str:
    """Return a URL with `***` instead of its passwords, and of parameters that can be secret."""

    def hidden(match: re.Match[str]) -> str:
        return match["before"] + (MASK if _is_secret(match) else match["secret"])

    for pattern in _SECRETS:
        url = pattern.sub(hidden, url)
    return url


def _is_secret(match: re.Match[str]) -> bool:
    name = unquote(match.groupdict().get("name") or "").lower()
    return name not in _CLEAR_NAMES and match["secret"].lower() not in _CLEAR_VALUES


def without_passwords(text: str, url: str) -> str:
    """Return the message of a driver without the passwords of the URL that was passed to it."""
    matches = (match for pattern in _SECRETS for match in pattern.finditer(url))
    found = [match["secret"] for match in matches if _is_secret(match)]
    secrets = {spelled for secret in found for spelled in (secret, unquote(secret))}
    text = text.replace(url, masked(url))
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text
