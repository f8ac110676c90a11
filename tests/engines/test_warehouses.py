"""Evaluators of connections to warehouses: the numbers of DuckDB, and clear errors."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv

import sqlmetrics as sm
from sqlmetrics.engines import database_urls, warehouse_drivers, warehouse_types, warehouse_urls
from sqlmetrics.engines.warehouse_drivers import SourceColumn
from sqlmetrics.masking import masked_url, without_secrets
from tests.engines import warehouse_servers as servers
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
from tests.engines.warehouse_backend import DENIED, PASSWORD, Backend
from tests.engines.worlds import MODELS, TABLES, World, awkward, plain
from tests.support.evaluators import Evaluator
from tests.support.paths import EXAMPLES, ROOT

# warnings of the libraries about their own defaults
pytestmark = [pytest.mark.filterwarnings("ignore:enable_server_session_keep_alive:FutureWarning")]
GIVEN = ("-r", "recs", "-i", "truth")
SETTINGS = {"ROWS_PER_RESULTSET": "0", "QUOTED_IDENTIFIERS_IGNORE_CASE": "false"}
METRICS = [
    *("ndcg", "map", "recall", "precision", "mrr", "hit_rate", "coverage", "gini", "n_hits"),
    "intra_list_diversity",
]


@dataclass(frozen=True)
class Warehouse:
    """A running system, or its stand-in.

    Args:
        title: its name in messages.
        dialect: the dialect of its statements.
        connect: returns a new connection.
        url: its URL.
        world: the tables that it has, beside `recs` and `truth`.
        quoted: writes a name as it is.
        backend: the engine of a stand-in; None for a real system.
        server: the server of a stand-in, if it has one.
    """

    title: str
    dialect: str
    connect: Callable[[], Any]
    url: str
    world: World
    quoted: Callable[[str], str]
    backend: Any = None
    server: Any = None
    opened: list[Any] = field(default_factory=list)

    def connection(self) -> Any:
        """Return a new connection, which is closed with the system."""
        self.opened.append(self.connect())
        return self.opened[-1]

    def close(self) -> None:
        """Close the connections."""
        for connection in self.opened:
            with contextlib.suppress(Exception):  # it is closed
                connection.close()

    def names(self) -> dict[str, Any]:
        """Return the tables of the world by their names."""

        def named(table: str) -> str:
            return self.quoted(self.world.names[table])

        lists = {model: named(model) for model in MODELS}
        return {"recommendations": lists, **{table: named(table) for table in TABLES}}

    def given(self) -> dict[str, str]:
        """Return the option that tells the dialect, where the system does not."""
        return {"dialect": self.dialect} if self.backend is None else {}


def _backend(dialect: str) -> Backend:
    backend = Backend(dialect, "9.9")
    backend.settings = dict(SETTINGS)
    backend.load({**awkward().stored(), "recs": LISTS, "truth": TRUTH}, "small")
    return backend


@contextlib.contextmanager
def _served(title: str, kind: type[servers.Server]) -> Iterator[Warehouse]:
    backend = _backend(title.lower())
    server: Any
    with servers.serving(kind(backend)) as server:
        yield Warehouse(
            title, backend.dialect, server.connect, server.url(), awkward(), backend.quoted,
            backend, server,
        )  # fmt: skip


@contextlib.contextmanager
def _snowflake() -> Iterator[Warehouse]:
    with pytest.MonkeyPatch.context() as patch, _served("Snowflake", servers.Snowflake) as one:
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # the library looks for its cloud
        yield one


@contextlib.contextmanager
def _bigquery() -> Iterator[Warehouse]:
    with (
        _served("BigQuery", servers.BigQuery) as one,
        pytest.MonkeyPatch.context() as patch,
        contextlib.ExitStack() as stack,
    ):
        import tempfile

        file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".json"))
        json.dump(one.server.credentials(), file)
        file.flush()
        patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", file.name)
        yield one


@contextlib.contextmanager
def _databricks() -> Iterator[Warehouse]:
    from databricks import sql

    backend = _backend("databricks")
    with pytest.MonkeyPatch.context() as patch:

        def connect(**options: Any) -> Any:
            assert options["http_path"] == "/sql/1.0/warehouses/w"
            if options["access_token"] != PASSWORD:
                raise sql.exc.RequestError(f"Invalid access token {options['access_token']}")
            return servers.databricks(backend)

        patch.setattr(sql, "connect", connect)
        yield Warehouse(
            "Databricks", "databricks", lambda: servers.databricks(backend),
            "databricks://token:s3cr%40t@dbc.example.com/sql/1.0/warehouses/w", awkward(),
            backend.quoted, backend, None,
        )  # fmt: skip


@contextlib.contextmanager
def _flight_sql() -> Iterator[Warehouse]:
    server = RoapiServer({**plain().stored(), "recs": LISTS, "truth": TRUTH})
    try:
        yield Warehouse(
            "DataFusion", "datafusion", server.connect, server.url(), plain(),
            lambda name: f'"{name}"',
        )  # fmt: skip
    finally:
        server.stop()


SYSTEMS: Mapping[str, Callable[[], contextlib.AbstractContextManager[Warehouse]]] = {
    "snowflake": _snowflake,
    "bigquery": _bigquery,
    "databricks": _databricks,
    "trino": lambda: _served("Trino", servers.Trino),
    "flight sql": _flight_sql,
}


@contextlib.contextmanager
def _started(name: str) -> Iterator[Warehouse]:
    with contextlib.ExitStack() as stack:
        try:
            with said_if_missing(name):
                one = stack.enter_context(SYSTEMS[name]())
        except EngineMissing as error:
            pytest.fail(str(error), pytrace=False)
        with contextlib.closing(one):
            yield one


@pytest.fixture(scope="module", params=SYSTEMS)
def warehouse(request: pytest.FixtureRequest) -> Iterator[Warehouse]:
    """Return each system."""
    with _started(request.param) as one:
        yield one


@pytest.fixture(scope="module")
def snowflake() -> Iterator[Warehouse]:
    with _started("snowflake") as one:
        yield one


# ---- the same numbers -------------------------------------------------------------------------

Ask = Callable[[sm.Evaluator], pd.DataFrame]
ASKED: Mapping[str, Ask] = {
    "evaluate": lambda one: one.evaluate(METRICS, 10),
    "slices": lambda one: one.evaluate(["ndcg", "recall"], 5, by=["country", "month"]),
    "per user": lambda one: one.per_user(["ndcg", "n_hits"], [1, 5], by="country"),
    "compare": lambda one: one.compare(["ndcg", "recall"], 5, baseline="als"),
    "explain": lambda one: one.explain("map", 5, start="recbole"),
    "stage": lambda one: one.stage("hits").sort_values(
        ["model", "user_id", "rank"], ignore_index=True
    ),
    "models": lambda one: pd.DataFrame(one.models),
}


@functools.cache
def _of_duckdb(kind: Callable[[], World]) -> dict[str, pd.DataFrame]:
    world = kind()
    with Evaluator(**tables(world), columns=columns(world)) as duckdb:
        return {name: ask(duckdb) for name, ask in ASKED.items()}


def test_the_same_numbers(warehouse: Warehouse) -> None:
    expected = _of_duckdb(plain if warehouse.backend is None else awkward)
    with Evaluator(
        **warehouse.names(),
        columns=columns(warehouse.world),
        engine=warehouse.connection(),
        **warehouse.given(),
    ) as ours:
        for name, ask in ASKED.items():
            assert_same(ask(ours), expected[name])


@pytest.mark.parametrize(
    "warehouse",
    [
        "databricks",
        "flight sql",
        "snowflake",
        "bigquery",
        "trino",
    ],
    indirect=True,
)
def test_checks(warehouse: Warehouse) -> None:
    asked = {"engine": warehouse.connection(), **warehouse.given()}
    with Evaluator("recs", "truth", **asked) as ours, Evaluator(LISTS, TRUTH) as duckdb:
        assert_same(ours.check().drop(columns="examples"), duckdb.check().drop(columns="examples"))
        with pytest.raises(sm.GateError):
            ours.evaluate("mrr", fail_if="mrr < 0.6")
        assert "moment" in ours.last_record["unknown"]


# ---- the command line -------------------------------------------------------------------------


def test_the_command_line(warehouse: Warehouse, tmp_path: Path) -> None:
    record, url = tmp_path / "record.json", warehouse.url
    result = run("evaluate", "mrr", *GIVEN, "--engine", url, "--format", "csv", "--record", record)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].startswith("mrr,,0.5,3,")
    text = record.read_text(encoding="utf-8")
    assert "s3cr" not in text + result.output
    assert warehouse.dialect in json.loads(text)["versions"]
    gated = run("evaluate", "mrr", *GIVEN, "--fail-if", "mrr < 0.6", env={"SQLMETRICS_ENGINE": url})
    assert gated.exit_code == 3, gated.output
    users = run("per-user", "mrr", *GIVEN, "--engine", url, "--format", "csv")
    assert users.stdout.splitlines()[1:] == ["u1,,0.5", "u2,,1.0", "u4,,0.0"]
    statement = run("sql", "mrr", *GIVEN, "--engine", url)
    assert statement.exit_code == 0, statement.output
    assert re.search(r"\bFROM recs\b", statement.stdout)
    # the stand-in reports 1,234,567,890 bytes for every statement
    told = "BigQuery would read 1.23 GB for this statement"
    assert (told in statement.stderr) is (warehouse.dialect == "bigquery")
    missing = run("evaluate", "mrr", "-r", "rec", "-i", "truth", "--engine", url)
    assert missing.exit_code == 1, missing.output
    assert "s3cr" not in missing.output


# ---- failures ---------------------------------------------------------------------------------


def test_tables_that_cannot_be_read(warehouse: Warehouse) -> None:
    asked = {"engine": warehouse.connection(), **warehouse.given()}
    told = r"recommendations: the (database has no table|table) nothing"
    with pytest.raises(sm.DataError, match=told):
        Evaluator("nothing", "truth", **asked)
    if warehouse.backend is not None:
        denied = f"interactions: the table {DENIED} cannot be read: .*the role may not read"
        with pytest.raises(sm.DataError, match=denied):
            Evaluator("recs", DENIED, **asked)
    with pytest.raises(sm.UsageError, match="reads tables by name"):
        Evaluator(LISTS, "truth", **asked)
    with pytest.raises(sm.DataError, match=r"has no column 'x'.*It has user_id, item_id, rank"):
        Evaluator("recs", columns={"item_id": "x"}, **asked)


def test_a_template_that_the_system_rejects(warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "mine.sql.j2").write_text(
        '{#---\ntitle = "Mine"\ngrain = "user"\naudience = "relevant"\nwhen_empty = 0\n'
        'range = [0, 1]\nhigher_is_better = true\nformula = "x"\n---#}\n'
        "SELECT {{ keys }}, k, max(nothing) AS value\nFROM hits\n"
        "GROUP BY {{ keys }}, k",
        encoding="utf-8",
    )
    asked = {"engine": warehouse.connection(), **warehouse.given()}
    with (
        Evaluator("recs", "truth", templates=tmp_path, **asked) as evaluator,
        pytest.raises(sm.TemplateError, match="nothing"),
    ):
        evaluator.evaluate("mine@1")


# the others give the same code to all errors of a statement
@pytest.mark.parametrize("warehouse", ["snowflake", "databricks", "trino"], indirect=True)
def test_values_that_cannot_be_computed_with(warehouse: Warehouse) -> None:
    warehouse.backend.execute(
        "CREATE OR REPLACE VIEW small.broken AS "
        "SELECT user_id, item_id, CAST(item_id AS INTEGER) AS rank FROM small.recs"
    )
    with (
        Evaluator("broken", "truth", engine=warehouse.connection()) as evaluator,
        pytest.raises(sm.DataError, match="Could not convert"),
    ):
        evaluator.evaluate("mrr")


# a closed connection of the others still runs statements
@pytest.mark.parametrize("warehouse", ["snowflake", "databricks", "flight sql"], indirect=True)
def test_closed_connections(warehouse: Warehouse) -> None:
    connection = warehouse.connection()
    with Evaluator("recs", "truth", engine=connection, **warehouse.given()) as evaluator:
        connection.close()
        with pytest.raises(sm.UsageError, match="the connection is closed"):
            evaluator.evaluate("mrr")
    with pytest.raises(sm.UsageError, match="the connection is closed"):
        Evaluator("recs", "truth", engine=connection, **warehouse.given())


@pytest.mark.parametrize("name", ["trino", "flight sql"])
def test_a_server_that_stops(name: str) -> None:
    with _started(name) as warehouse:
        url = warehouse.url
        evaluator = Evaluator("recs", "truth", engine=url)
    with pytest.raises(sm.EngineError, match=f"{warehouse.title} stopped") as caught:
        evaluator.evaluate("mrr")
    assert caught.value.exit_code == 1
    evaluator.close()
    with pytest.raises(sm.EngineError, match="no connection to") as caught:
        Evaluator("recs", "truth", engine=url)
    assert "s3cr" not in str(caught.value)


@pytest.mark.parametrize("name", ["snowflake", "trino", "bigquery"])
def test_an_interrupt_cancels_the_statement(name: str) -> None:
    with (
        _started(name) as warehouse,
        Evaluator("recs", "truth", engine=warehouse.url) as evaluator,
    ):
        server = warehouse.server
        server.holds.clear()

        def interrupt() -> None:
            server.waiting.wait(20)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                evaluator.evaluate("mrr")
        finally:
            server.holds.set()
            thread.join()
        assert warehouse.backend.cancelled
        assert evaluator.evaluate("mrr")["value"].item() == pytest.approx(MRR)


# the URL of BigQuery contains no secret, and the server of Flight SQL checks none
@pytest.mark.parametrize("warehouse", ["snowflake", "databricks", "trino"], indirect=True)
def test_secrets(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PASSWORD == "s3cr@t"
    for name in ("SNOWFLAKE_PASSWORD", "TRINO_PASSWORD", "DATABRICKS_TOKEN"):
        monkeypatch.setenv(name, "wr0ng")
    url = warehouse.url.replace(":s3cr%40t", "")
    with pytest.raises(sm.SqlmetricsError) as caught:
        Evaluator("recs", "truth", engine=url)
    assert "wr0ng" not in str(caught.value)
    with pytest.raises(sm.SqlmetricsError) as caught:
        Evaluator("recs", "truth", engine=warehouse.url.replace("s3cr%40t", "wr0ng"))
    assert "wr0ng" not in str(caught.value)


# ---- Snowflake --------------------------------------------------------------------------------


def test_names_of_snowflake(snowflake: Warehouse) -> None:
    small = {
        "lower": LISTS.rename_columns(["User_Id", "item_id", "rank"]),
        "ranked": LISTS,
    }
    snowflake.backend.load(small, "small")
    # names in quotes: one in mixed case, others in lower case
    for old, new in (("ITEM_ID", "item_id"), ("RANK", "order")):
        snowflake.backend.execute(f'ALTER TABLE small.LOWER RENAME "{old}" TO "{new}"')
    asked = {"user_id": "User_Id", "recommendations.rank": "order"}
    mapped = {**asked, "interactions.user_id": "user_id"}
    found = evaluated("lower", "truth", columns=mapped, engine=snowflake.connection())
    assert found == pytest.approx(MRR)
    # a table with the name of one of our queries
    assert evaluated("ranked", "truth", engine=snowflake.connection()) == pytest.approx(MRR)
    assert evaluated("RECS", "shop.small.TRUTH", engine=snowflake.url) == pytest.approx(MRR)


def test_columns_that_differ_in_case(snowflake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [SourceColumn(name, "VARCHAR") for name in ("USER_ID", "ITEM_ID", "user_id")]
    monkeypatch.setattr(warehouse_drivers.Snowflake, "columns", lambda *_: columns)
    with pytest.raises(sm.DataError, match="the columns USER_ID and user_id, which differ only"):
        Evaluator("recs", "truth", engine=snowflake.connection())


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_snowflake(snowflake: Warehouse, name: str) -> None:
    with Evaluator("recs", "truth", engine=snowflake.connection()) as evaluator:
        snowflake.backend.settings[name] = "TRUE" if "CASE" in name else "5"
        try:
            with pytest.raises(sm.UsageError, match=f"the setting {name} = .*ALTER SESSION SET"):
                evaluator.evaluate("mrr")
        finally:
            snowflake.backend.settings.update(SETTINGS)
        assert evaluator.evaluate("mrr")["value"].item() == pytest.approx(MRR)


def test_collations(snowflake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snowflake.backend, "collation", "en-ci")
    with pytest.raises(sm.DataError, match=r"recommendations: the column USER_ID .* en-ci"):
        Evaluator("recs", "truth", engine=snowflake.connection())


def test_ids_that_no_double_holds(snowflake: Warehouse) -> None:
    user = 2**60 + 1
    big = pa.table({"user_id": [user], "item_id": ["a"], "rank": [1]})
    snowflake.backend.load({"big": big}, "small")
    with Evaluator("big", engine=snowflake.connection()) as evaluator:
        assert evaluator.per_user("n_recommended")["user_id"].tolist() == [user]


def test_python_of_the_page(snowflake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    import snowflake.connector as library

    page = (ROOT / "docs" / "how-to" / "databases.md").read_text(encoding="utf-8")
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "snowflake" in b)
    files = {"recs": "recommendations", "held_out": "interactions"}
    paths = {name: EXAMPLES / "five_users" / f"{file}.csv" for name, file in files.items()}
    snowflake.backend.load({name: csv.read_csv(path) for name, path in paths.items()}, "shop")
    connection = snowflake.connection()
    monkeypatch.setattr(library, "connect", lambda **_: connection)
    names: dict[str, Any] = {}
    with pytest.warns(sm.SqlmetricsWarning, match="The data was not checked"):
        exec(block, names)
    with Evaluator(*paths.values()) as duckdb:
        assert_same(names["result"], duckdb.evaluate(["map", "recall"], k=3))


# ---- connections and URLs ---------------------------------------------------------------------


def test_a_client_that_writes_its_results() -> None:
    from google.cloud import bigquery

    with _started("bigquery") as warehouse:
        client = warehouse.connection()
        client.default_query_job_config = bigquery.QueryJobConfig(destination="p.d.mine")
        with pytest.raises(sm.UsageError, match="writes the results of all queries to mine"):
            Evaluator("recs", "truth", engine=client)
        assert warehouse.backend.statements == []


def test_flight_sql_of_an_unknown_system() -> None:
    with _started("flight sql") as warehouse:
        told = r"the dialect of RoAPI Flight SQL Server is not known\. Give dialect="
        with pytest.raises(sm.UsageError, match=told):
            Evaluator("recs", "truth", engine=warehouse.connection())
        with pytest.raises(sm.UsageError, match=told):
            Evaluator("recs", "truth", engine=warehouse.url.partition("?")[0])
        with pytest.raises(sm.UsageError, match="x is not a parameter of a URL of Flight SQL"):
            Evaluator("recs", "truth", engine=f"{warehouse.url}&x=1")
        url = warehouse.url.partition("?")[0]
        with Evaluator("recs", "truth", engine=url, dialect="datafusion") as evaluator:
            assert evaluator.evaluate("mrr")["value"].item() == pytest.approx(MRR)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("trino://me:s3cr@host/a/b?http_scheme=http", "through HTTPS only"),
        ("trino://me:s3cr@host/a/b/c", r"cannot be read. Write trino://USER@HOST:PORT/CATALOG"),
        ("trino://me@host/a/b?colour=blue", "a parameter of the URL is not one of the library"),
        ("grpc://host:notaport", r"cannot be read. Write grpc://HOST:PORT, with"),
        ("grpc://host:1/db", r"has parts that .* not use. Write grpc://HOST:PORT"),
        ("bigquery://p:1/d", "has parts that this system does not use"),
        ("bigquery://p/d?maximum_bytes_billed=1GB", "maximum_bytes_billed=1GB .* whole number"),
        ("databricks://s3crettoken@host/sql/1.0/warehouses/w", "parts that this system does not"),
        ("databricks://host/sql/1.0/warehouses/w", "no token for Databricks. Set .*_TOKEN"),
        ("snowflake://me:s3@cr@host/a", "cannot be read"),
        ("bigquery://p/d?colour=blue", "colour is not a parameter"),
        ("grpc://host:1?dialect=mysql", "unknown dialect 'mysql'"),
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
    ],
)
def test_masked_urls(url: str) -> None:
    assert database_urls.is_url(url)
    assert masked_url(url) == url.replace("s3cr", "***")
    assert without_secrets("bad s3cr", url) == "bad ***"


def test_values_of_parameters() -> None:
    parts = warehouse_urls._parts(
        "trino://me@host/a?verify=false&http_scheme=https&request_timeout=5&private_key_pwd=12&"
        "verify=/etc/ca.pem", "TRINO", "",
    )  # fmt: skip
    assert parts.given == {
        "http_scheme": "https", "request_timeout": 5, "private_key_pwd": "12",
        "verify": "/etc/ca.pem",
    }  # fmt: skip
    flags = warehouse_urls._parts("databricks://host/w?_tls_no_verify=false", "DATABRICKS", "")
    assert flags.given == {"_tls_no_verify": False}


def test_nanoseconds_are_cut() -> None:
    table = pa.table({"at": pa.array([1_234_567_891], pa.timestamp("ns"))})
    found = warehouse_types.as_duckdb_returns(table)["at"]
    assert found.type == pa.timestamp("us")
    assert found.cast(pa.int64()).to_pylist() == [1_234_567]


def test_types() -> None:
    assert warehouse_types.of_snowflake(0, 0) == ("BIGINT", False)
    assert warehouse_types.of_snowflake(0, 2) == ("DECIMAL", False)
    assert warehouse_types.of_snowflake(5, None) == ("VARCHAR", True)
    assert warehouse_types.of_trino("varchar(20)") == ("VARCHAR", False)
    assert warehouse_types.of_trino("array(char(3))") == ("VARCHAR[]", True)
    zoned = "timestamp(3) with time zone"
    assert warehouse_types.of_trino(zoned) == ("TIMESTAMP WITH TIME ZONE", False)
    assert warehouse_types.of_bigquery("INTEGER", repeated=True) == "BIGINT[]"
    for kind, name in (
        (pa.list_(pa.string_view()), "VARCHAR[]"),
        (pa.dictionary(pa.int8(), pa.string()), "VARCHAR"),
        (pa.decimal128(9, 2), "DECIMAL"),
        (pa.timestamp("ns", "UTC"), "TIMESTAMP WITH TIME ZONE"),
    ):
        assert warehouse_types.of_arrow(kind) == name
