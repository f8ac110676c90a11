"""The databases in which statements run, one entry each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class System:
    """A database, whose key in `SYSTEMS` is its dialect, and the extra that installs its packages.

    Attributes:
        title: its name in messages, and in the answers of its ADBC driver.
        url: the form of its URLs; empty if its connections have another protocol.
        packages: the packages of its connections.
        schemes: scheme of a URL -> its name in SQLAlchemy, if only one library is supported.
        version: the query for its version.
        quote: the quote of names in a system with collations, with which different ids can be
            equal; empty in others.
        logger: the logger of a library that logs failures which it raises, too.
    """

    title: str
    url: str = ""
    packages: tuple[str, ...] = ()
    schemes: Mapping[str, str] = field(default_factory=dict)
    version: str = "SELECT version() AS v"
    quote: str = ""
    logger: str = ""


SYSTEMS = {
    "postgres": System(
        "Postgres",
        "postgres://USER@HOST:PORT/DATABASE",
        ("psycopg",),
        dict.fromkeys(("postgres", "postgresql", "postgresql+psycopg"), "postgresql+psycopg"),
    ),
    "clickhouse": System(
        "ClickHouse",
        "clickhouse://USER@HOST:PORT/DATABASE",
        ("clickhouse_connect", "chdb"),
        dict.fromkeys(("clickhouse", "clickhousedb", "clickhousedb+connect"), "clickhousedb"),
        logger="clickhouse_connect",
    ),
    "snowflake": System(
        "Snowflake",
        "snowflake://USER@ACCOUNT/DATABASE/SCHEMA",
        ("snowflake",),
        version="SELECT CURRENT_VERSION() AS v",
        quote='"',
        logger="snowflake.connector",
    ),
    "bigquery": System(
        "BigQuery",
        "bigquery://PROJECT/DATASET",
        ("google",),
        version="SELECT 'unknown' AS v",
    ),
    "databricks": System(
        "Databricks",
        "databricks://token:TOKEN@HOST?http_path=PATH",
        ("databricks",),
        quote="`",
    ),
    "trino": System("Trino", "trino://USER@HOST:PORT/CATALOG/SCHEMA", ("trino",)),
    "datafusion": System("DataFusion"),
}
