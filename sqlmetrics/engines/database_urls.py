"""URLs of databases (`postgres://user@host/db`), whose passwords no message may show."""

from __future__ import annotations

import re

# dialects of the systems without temporary tables of ours
WAREHOUSES = ("snowflake", "bigquery", "databricks", "trino", "datafusion")
DATABASES = ("postgres", "clickhouse", *WAREHOUSES)  # dialects in which statements run
EXAMPLES = "postgres://USER@HOST/DATABASE or snowflake://USER@ACCOUNT/DATABASE/SCHEMA"
FLIGHT_SQL = "flightsql"  # a protocol of several systems, whose dialect the URL names
_SCHEMES = {
    "postgres": "postgres", "postgresql": "postgres", "clickhouse": "clickhouse",
    "snowflake": "snowflake", "bigquery": "bigquery", "databricks": "databricks", "trino": "trino",
    "grpc": FLIGHT_SQL, "grpc+tls": FLIGHT_SQL,
}  # fmt: skip
_SCHEME = re.compile(rf"({'|'.join(map(re.escape, _SCHEMES))})://", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# user:password@ at the start, and password=… among the parameters
_PASSWORDS = (
    re.compile(r"(?P<before>\A[^:/?#]*://[^:@/?#]*:)(?P<password>.*)(?=@)", re.DOTALL),
    re.compile(
        r"(?P<before>[?&][^=&#]*(?:password|token|passphrase|passcode|secret)=)(?P<password>[^&#]*)",
        re.IGNORECASE,
    ),
)
_MASK = "***"


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
    """Return a URL with `***` instead of its passwords."""
    for pattern in _PASSWORDS:
        url = pattern.sub(rf"\g<before>{_MASK}", url)
    return url


def without_passwords(text: str, url: str) -> str:
    """Return the message of a driver without the passwords of the URL that was passed to it."""
    from urllib.parse import unquote

    found = [match["password"] for pattern in _PASSWORDS for match in pattern.finditer(url)]
    secrets = {spelled for secret in found for spelled in (secret, unquote(secret))}
    text = text.replace(url, masked(url))
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return text
