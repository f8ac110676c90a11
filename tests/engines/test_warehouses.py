"""Systems without transactions: Flight SQL is run, the others are only connected to."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sqlmetrics as sm
from sqlmetrics.engines import arrow_types, database_urls
from sqlmetrics.engines.connection import Connection, FailedStatement, opened
from sqlmetrics.engines.database_dialects import Dialect, Problem
from sqlmetrics.texts.masking import masked_url, without_secrets
from tests.engines.databases import (
    LISTS,
    MRR,
    TRUTH,
    assert_same,
    columns,
    evaluated,
    run,
    tables,
)
from tests.engines.roapi_server import RoapiServer
from tests.engines.runners import EngineMissing, said_if_missing
from tests.engines.worlds import MODELS, TABLES, plain
from tests.support.evaluators import Evaluator

GIVEN = ("-r", "recs", "-i", "truth")
METRICS = [
    *("ndcg", "map", "recall", "precision", "mrr", "hit_rate", "coverage", "gini", "n_hits"),
    "intra_list_diversity",
]
DATAFUSION = {"dialect": "datafusion"}


@contextlib.contextmanager
def _started() -> Iterator[RoapiServer]:
    try:
        with said_if_missing("flight sql"):
            server = RoapiServer({**plain().stored(), "recs": LISTS, "truth": TRUTH})
    except EngineMissing as error:
        pytest.fail(str(error), pytrace=False)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def server() -> Iterator[RoapiServer]:
    """Return a server of Flight SQL, which runs DataFusion."""
    with _started() as one:
        yield one


@pytest.fixture
def connection(server: RoapiServer) -> Iterator[Any]:
    with contextlib.closing(server.connect()) as one:
        yield one


# ---- the same numbers -------------------------------------------------------------------------

ASKED: Mapping[str, Callable[[sm.Evaluator], pd.DataFrame]] = {
    "evaluate": lambda one: one.evaluate(METRICS, 10),
    "slices": lambda one: one.evaluate(["ndcg", "recall"], 5, by=["country", "month"]),
    "per user": lambda one: one.per_user(["ndcg", "n_hits"], [1, 5], by="country", long=True),
    "compare": lambda one: one.compare(["ndcg", "recall"], 5, baseline="als"),
    "explain": lambda one: one.explain("map", 5, start="recbole"),
    "stage": lambda one: one.stage("hits").sort_values(
        ["model", "user_id", "rank"], ignore_index=True
    ),
    "models": lambda one: pd.DataFrame(one.models),
}


def test_the_same_numbers(connection: Any) -> None:
    world = plain()
    named: dict[str, Any] = {table: f'"{world.names[table]}"' for table in TABLES}
    named["recommendations"] = {model: f'"{world.names[model]}"' for model in MODELS}
    with (
        Evaluator(**named, columns=columns(world), engine=connection, **DATAFUSION) as ours,
        Evaluator(**tables(world), columns=columns(world)) as duckdb,
    ):
        for ask in ASKED.values():
            assert_same(ask(ours), ask(duckdb))


def test_checks(connection: Any) -> None:
    asked = {"engine": connection, **DATAFUSION}
    with Evaluator("recs", "truth", **asked) as ours, Evaluator(LISTS, TRUTH) as duckdb:
        assert_same(ours.check().drop(columns="examples"), duckdb.check().drop(columns="examples"))
        with pytest.raises(sm.GateError):
            ours.evaluate("mrr", fail_if="mrr < 0.6")
        assert "DataFusion: each statement" in ours.last_record["unknown"]["moment"]


def test_conditions(connection: Any) -> None:
    asked = {"engine": connection, **DATAFUSION}
    # u1 has b second, u2 first
    found = evaluated("recs", "truth", where={"interactions": "item_id = 'b'"}, **asked)
    assert found == pytest.approx((1 / 2 + 1) / 2)
    with pytest.raises(sm.UsageError, match="the condition has the type Int64, not BOOLEAN"):
        evaluated("recs", "truth", where={"recommendations": "rank"}, **asked)
    with pytest.raises(sm.DataError, match="matches none of the 3 rows of the table truth"):
        evaluated("recs", "truth", where={"interactions": "item_id = 'x'"}, **asked)


def test_the_command_line(server: RoapiServer, tmp_path: Path) -> None:
    record, url = tmp_path / "record.json", server.url()
    result = run("evaluate", "mrr", *GIVEN, "--engine", url, "--format", "csv", "--record", record)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].startswith("mrr,,0.5,3,")
    assert "datafusion" in json.loads(record.read_text(encoding="utf-8"))["versions"]
    gated = run("evaluate", "mrr", *GIVEN, "--fail-if", "mrr < 0.6", env={"SQLMETRICS_ENGINE": url})
    assert gated.exit_code == 3, gated.output
    users = run("per-user", "mrr", *GIVEN, "--engine", url, "--format", "csv")
    assert users.stdout.splitlines()[1:] == ["u1,0.5", "u2,1.0", "u4,0.0"]
    statement = run("sql", "mrr", *GIVEN, "--engine", url)
    assert statement.exit_code == 0, statement.output
    assert re.search(r"\bFROM recs\b", statement.stdout)
    missing = run("evaluate", "mrr", "-r", "rec", "-i", "truth", "--engine", url)
    assert missing.exit_code == 1, missing.output


# ---- failures ---------------------------------------------------------------------------------


def test_tables_that_cannot_be_read(connection: Any) -> None:
    asked = {"engine": connection, **DATAFUSION}
    with pytest.raises(sm.DataError, match=r"recommendations: the table nothing cannot be read"):
        Evaluator("nothing", "truth", **asked)
    with pytest.raises(sm.DataError, match="the database has no table numbers"):
        Evaluator("numbers(3)", "truth", **asked)
    with pytest.raises(sm.UsageError, match="reads tables by name"):
        Evaluator(LISTS, "truth", **asked)
    with pytest.raises(sm.DataError, match=r"has no column 'x'.*It has user_id, item_id, rank"):
        Evaluator("recs", columns={"item_id": "x"}, **asked)


def test_a_template_that_the_system_rejects(connection: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.sql.j2").write_text(
        '{#---\ntitle = "Mine"\ngrain = "user"\naudience = "relevant"\nwhen_empty = 0\n'
        'range = [0, 1]\nhigher_is_better = true\nformula = "x"\n---#}\n'
        "SELECT {{ keys }}, k, max(nothing) AS value\nFROM hits\n"
        "GROUP BY {{ keys }}, k",
        encoding="utf-8",
    )
    asked = {"engine": connection, **DATAFUSION}
    with (
        Evaluator("recs", "truth", templates=tmp_path, **asked) as evaluator,
        pytest.raises(sm.TemplateError, match="nothing"),
    ):
        evaluator.evaluate("mine@1")


def test_closed_connections(server: RoapiServer) -> None:
    connection = server.connect()
    with Evaluator("recs", "truth", engine=connection, **DATAFUSION) as evaluator:
        connection.close()
        with pytest.raises(sm.UsageError, match="the connection is closed"):
            evaluator.evaluate("mrr")
    with pytest.raises(sm.UsageError, match="the connection is closed"):
        Evaluator("recs", "truth", engine=connection, **DATAFUSION)


def test_a_server_that_stops() -> None:
    with _started() as server:
        url = server.url()
        evaluator = Evaluator("recs", "truth", engine=url)
    with pytest.raises(sm.EngineError, match="DataFusion stopped") as caught:
        evaluator.evaluate("mrr")
    assert caught.value.exit_code == 1
    evaluator.close()
    with pytest.raises(sm.EngineError, match="no connection to"):
        Evaluator("recs", "truth", engine=url)


def test_flight_sql_of_an_unknown_system(server: RoapiServer, connection: Any) -> None:
    told = r"the dialect of RoAPI Flight SQL Server is not known\. Give dialect="
    url = server.url().partition("?")[0]
    for engine in (connection, url):
        with pytest.raises(sm.UsageError, match=told):
            Evaluator("recs", "truth", engine=engine)
    assert evaluated("recs", "truth", engine=url, **DATAFUSION) == pytest.approx(MRR)


# ---- URLs, without a server -------------------------------------------------------------------

PACKAGES = {
    "snowflake://me:s3cr@account/shop/public?warehouse=w": ("snowflake", "snowflake.sqlalchemy"),
    "bigquery://shop/public": ("bigquery", "sqlalchemy_bigquery"),
    "databricks://token:s3cr@host?http_path=/sql/1.0/warehouses/w": (
        "databricks",
        "databricks.sqlalchemy",
    ),
    "trino://me:s3cr@host:8443/shop/public": ("trino", "trino.sqlalchemy.dialect"),
    "clickhousedb://me:s3cr@host/shop": ("clickhouse", "clickhouse_connect.cc_sqlalchemy.dialect"),
    "grpc+tls://host:1?token=s3cr&dialect=trino": ("flightsql", "adbc_driver_flightsql"),
}


@pytest.mark.parametrize("url", PACKAGES)
def test_a_missing_package(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extra, package = PACKAGES[url]
    monkeypatch.setitem(sys.modules, package, None)
    result = run("evaluate", "mrr", *GIVEN, "--engine", url)
    assert result.exit_code == 2
    assert f"pip install 'sqlmetrics[{extra}]'" in " ".join(result.output.split())
    assert "s3cr" not in result.output


@pytest.mark.parametrize("url", [url for url in PACKAGES if "://me" in url or "token:" in url])
def test_the_dialect_of_a_url(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of SQLAlchemy reads the URL; no connection is made."""
    from sqlalchemy.engine.default import DefaultDialect

    given: dict[str, Any] = {}
    monkeypatch.setattr(DefaultDialect, "connect", lambda _, *__, **options: given.update(options))
    assert database_urls.connect(url, None) == (None, PACKAGES[url][0])
    assert "s3cr" in map(str, given.values()) or "auth" in given


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("url", [url for url in PACKAGES if "s3cr@host" in url])
def test_a_failed_connection_hides_secrets(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy.engine.default import DefaultDialect

    def connect(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"Invalid access token s3cr in {url}")

    monkeypatch.setattr(DefaultDialect, "connect", connect)
    with pytest.raises(
        sm.EngineError, match=r"no connection to .*Invalid access token \*\*\*"
    ) as e:
        Evaluator("recs", "truth", engine=url)
    assert "s3cr" not in str(e.value)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("trino://me:s3@cr@host/a/b", "cannot be read. Write trino://USER@HOST:PORT/CATALOG"),
        ("grpc://host:notaport", r"cannot be read. Write grpc://HOST:PORT, with"),
        ("grpc://host:1/db", "a URL of Flight SQL has a host, a port"),
        ("grpc://host:1?colour=blue", "a URL of Flight SQL has a host, a port"),
        ("snowflake://me:s3@cr@host/a", "cannot be read"),
    ],
)
def test_urls_that_cannot_be_read(url: str, told: str) -> None:
    with pytest.raises(sm.UsageError, match=told) as caught:
        Evaluator("recs", "truth", engine=url)
    assert "s3" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "snowflake://me:s3cr@account/db?passcode=s3cr&role=r",
        "snowflake://me@account/db?private_key_file=a.p8&private_key_file_pwd=s3cr",
        "snowflake://me@account/db?anything=s3cr&warehouse=w&pass%77ord=s3cr",
        "databricks://s3cr@host/sql/1.0/warehouses/w",
        "clickhouse://me:s3cr@host/db?final=1&sslkey=s3cr",
        "databricks://token:s3cr@host/sql/1.0/warehouses/w",
        "grpc+tls://host:1?token=s3cr&dialect=trino",
        "trino://me:s3cr@host/a/b",
        "postgresql+psycopg://me:s3cr@host/db",
    ],
)
def test_masked_urls(url: str) -> None:
    assert database_urls.is_url(url)
    assert masked_url(url) == url.replace("s3cr", "***")
    assert without_secrets("bad s3cr", url) == "bad ***"


# ---- what is known of systems that are not run ------------------------------------------------


class Cursor:
    """A cursor of DB-API 2.0 with the columns of a table, and one row of collations."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.statement = ""

    def execute(self, statement: str) -> None:
        self.statement = statement

    def fetch_arrow_all(self, force_return_table: bool) -> pa.Table:
        assert force_return_table
        if "COLLATION" in self.statement:
            return pa.table({"FOUND": ["en-ci" if "NAME" in self.statement else None]})
        return self.rows

    def close(self) -> None: ...


def in_snowflake(rows: pa.Table) -> Dialect:
    class Raw:
        """A connection of Snowflake."""

        def cursor(self) -> Cursor:
            return Cursor(rows)

    return Dialect(Connection(Raw(), "snowflake", None, False))


def test_names_of_snowflake() -> None:
    rows = pa.table({"USER_ID": ["u"], "Item": [1], "RANK": [Decimal(1)], "order": [1.5]})
    found = in_snowflake(rows).find("shop.recs")
    assert found is not None
    shown = [(one.name, one.type, one.spelled) for one in found.columns]
    assert shown == [
        ("user_id", "VARCHAR", ""),
        ("Item", "BIGINT", ""),
        ("rank", "BIGINT", ""),
        ("order", "DOUBLE", ""),
    ]
    assert in_snowflake(rows).fetch("SELECT 1").column_names == ["user_id", "Item", "rank", "order"]
    stored = pa.table({"user_id": ["u"], "ORDER": [1]})
    found = in_snowflake(stored).find("recs")
    assert found is not None
    assert [one.spelled for one in found.columns] == ['"user_id"', '"ORDER"']
    with pytest.raises(sm.DataError, match="the columns USER_ID and user_id, which differ only"):
        in_snowflake(pa.table({"USER_ID": [1], "user_id": [2]})).find("recs")
    with pytest.raises(sm.DataError, match="the column NAME of the table recs has the collation"):
        in_snowflake(pa.table({"NAME": ["a"]})).find("recs")


def test_dialects_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, dialect in (
        ("snowflake.connector.connection", "snowflake"),
        ("google.cloud.bigquery.dbapi.connection", "bigquery"),
        ("databricks.sql.client", "databricks"),
        ("trino.dbapi", "trino"),
    ):
        kind = type("Connection", (), {"cursor": None, "__module__": module})
        monkeypatch.setattr(kind, "cursor", lambda _: None, raising=False)
        connection = opened(kind())
        assert connection is not None
        assert connection.dialect == dialect


def test_clients_of_bigquery() -> None:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import bigquery
    from google.cloud.bigquery import dbapi

    client = bigquery.Client(project="p", credentials=AnonymousCredentials())
    for given in (client, dbapi.connect(client, prefer_bqstorage_client=False)):
        connection = opened(given)
        assert connection is not None
        assert (connection.raw, connection.dialect) == (client, "bigquery")
    client.default_query_job_config = bigquery.QueryJobConfig(destination="p.d.mine")
    with pytest.raises(sm.UsageError, match="writes the results of all queries to mine"):
        opened(client)


def test_rows_without_arrow() -> None:
    """A cursor such as Trino's, which names types and describes the columns at the end."""

    class Rows:
        """A cursor with two batches."""

        def __init__(self) -> None:
            self.description: Any = None
            self.batches: Any = [[(1, "1.5", None)], [(2, None, "x")], []]

        def fetchmany(self, _: int) -> Any:
            self.description = [("a", "integer"), ("b", "varchar(3)"), ("c", "array(char)")]
            return self.batches.pop(0)

    table = Connection(None, "trino", None, False)._rows(Rows())
    assert table.to_pydict() == {"a": [1, 2], "b": ["1.5", None], "c": [None, "x"]}
    assert [str(kind) for kind in table.schema.types[:2]] == ["int32", "string"]


class Coded(Exception):
    """An error with a code."""

    def __init__(self, sqlstate: str | None, text: str = "x") -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (Coded("42S02"), Problem.TABLE),
        (Coded("42000"), Problem.QUERY),
        (Coded("22012"), Problem.ROWS),
        (Coded("57014"), Problem.STOPPED),
        (Coded(None, "[X] no. SQLSTATE: 42703 (line 1)"), Problem.QUERY),
        (Coded("08001"), Problem.OTHER),
    ],
)
def test_codes_of_errors(error: Exception, problem: Problem) -> None:
    dialect = Dialect(Connection(None, "databricks", None, False))
    assert dialect.problem(FailedStatement(error, "SELECT 1")) is problem


def test_nanoseconds_are_cut() -> None:
    table = pa.table({"at": pa.array([1_234_567_891], pa.timestamp("ns"))})
    found = arrow_types.as_duckdb(table, "snowflake")["at"]
    assert found.type == pa.timestamp("us")
    assert found.cast(pa.int64()).to_pylist() == [1_234_567]


def test_types() -> None:
    kinds = {
        pa.int64(): "BIGINT", pa.list_(pa.string_view()): "VARCHAR[]",
        pa.dictionary(pa.int8(), pa.string()): "VARCHAR", pa.decimal128(9, 2): "DECIMAL",
        pa.timestamp("ns", "UTC"): "TIMESTAMP WITH TIME ZONE", pa.timestamp("ms"): "TIMESTAMP",
        pa.uuid(): "VARCHAR", pa.float32(): "FLOAT", pa.date32(): "DATE",
    }  # fmt: skip
    schema = pa.schema([(f"c{place}", kind) for place, kind in enumerate(kinds)])
    assert arrow_types.types_of(schema.empty_table(), "databricks") == list(kinds.values())
    whole = pa.schema([("id", pa.decimal128(38, 0)), ("price", pa.decimal128(9, 2))]).empty_table()
    assert arrow_types.types_of(whole, "snowflake") == ["BIGINT", "DECIMAL"]
    assert arrow_types.types_of(whole, "bigquery") == ["DECIMAL", "DECIMAL"]
    numeric = arrow_types.table_of(["a"], [arrow_types.arrow_type("decimal(9,2)", "trino")], [])
    assert arrow_types.types_of(numeric, "trino") == ["DECIMAL"]
    names = {
        "varchar(20)": "VARCHAR", "array(char(3))": "VARCHAR[]", "decimal(9,2)": "DECIMAL",
        "timestamp(3) with time zone": "TIMESTAMP WITH TIME ZONE", "row(a bigint)": None,
    }  # fmt: skip
    assert {name: arrow_types.duckdb_type(name, "trino") for name in names} == names
