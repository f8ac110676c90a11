"""ClickHouse as an engine: what differs from other databases."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sqlmetrics as sm
from sqlmetrics.engines import clickhouse
from sqlmetrics.engines.clickhouse import type_of
from sqlmetrics.engines.connection import Connection
from tests.engines.clickhouse_server import PASSWORD, ClickHouseServer
from tests.engines.databases import (
    GIVEN,
    MRR,
    SMALL,
    assert_same,
    columns,
    evaluated,
    left_in_clickhouse,
    names,
    run,
    tables,
)
from tests.engines.worlds import awkward
from tests.support.evaluators import Evaluator


@pytest.fixture
def shop(chdb: Any) -> Iterator[Callable[..., None]]:
    """Return what runs statements in a database that is dropped afterwards."""
    chdb.execute("CREATE DATABASE shop")

    def execute(*statements: str) -> None:
        for statement in statements:
            chdb.execute(statement)

    yield execute
    chdb.execute("DROP DATABASE shop")


@pytest.fixture
def connection(chdb: Any) -> Any:
    return chdb.session


RECS = "SELECT user_id, item_id, rank FROM small.recs"
MERGE_TREE = "ENGINE = MergeTree ORDER BY user_id AS"


# ---- types ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("UInt64", ("UBIGINT", False)),
        ("LowCardinality(Nullable(String))", ("VARCHAR", False)),
        ("Nullable(Decimal(9, 2))", ("DECIMAL", False)),
        ("Array(LowCardinality(String))", ("VARCHAR[]", False)),
        ("Array(UUID)", ("VARCHAR[]", True)),
        ("Enum8('a(' = 1, 'Nullable(b)' = 2)", ("VARCHAR", True)),
        ("FixedString(3)", ("VARCHAR", True)),
        ("DateTime", ("TIMESTAMP", True)),
        ("Nullable(DateTime64(3, 'America/Los_Angeles'))", ("TIMESTAMP", True)),
        ("SimpleAggregateFunction(max, Nullable(Float64))", ("DOUBLE", False)),
        ("UInt128", ("VARCHAR", True)),
        ("Int256", ("VARCHAR", True)),
        ("JSON", ("JSON", False)),
    ],
)
def test_types(name: str, known: tuple[str, bool]) -> None:
    assert type_of(name) == known


KINDS = {
    "unsigned ids": "SELECT toUInt64(substring(user_id, 2)) AS user_id, item_id, "
    "toUInt8(rank) AS rank FROM small.recs",
    "dictionaries": "SELECT toLowCardinality(user_id) AS user_id, "
    "CAST(item_id AS LowCardinality(Nullable(String))) AS item_id, rank FROM small.recs",
    "fixed texts": "SELECT toFixedString(user_id, 5) AS user_id, toFixedString(item_id, 1) AS "
    "item_id, rank FROM small.recs",
    "an enumeration": "SELECT user_id, CAST(item_id AS Enum8('c' = 1, 'b' = 2, 'a' = 3)) AS "
    "item_id, rank FROM small.recs",
    "decimal scores": "SELECT user_id, item_id, CAST(1.5 / rank AS Decimal(9, 4)) AS score "
    "FROM small.recs",
    "lists": "SELECT user_id, groupArray(item_id) AS item_id FROM "
    "(SELECT * FROM small.recs ORDER BY rank) GROUP BY user_id",
    "NULL where nothing is": "SELECT toNullable(user_id) AS user_id, item_id, toNullable(rank) "
    "AS rank FROM small.recs",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_columns(shop: Any, connection: Any, kind: str) -> None:
    shop(f"CREATE VIEW shop.recs AS {KINDS[kind]}")
    truth = "small.truth"
    if kind == "unsigned ids":  # compared with signed ids
        shop("CREATE VIEW shop.truth AS SELECT toInt64(substring(user_id, 2)) AS user_id, item_id "
             "FROM small.truth")  # fmt: skip
        truth = "shop.truth"
    assert evaluated("shop.recs", truth, engine=connection) == pytest.approx(MRR)


def test_ties_of_ids_that_clickhouse_orders_otherwise(shop: Any, connection: Any) -> None:
    # ClickHouse orders a UUID by its second half, and an enumeration by its numbers
    small, large = "00000000-0000-0000-9000-000000000000", "10000000-0000-0000-8000-000000000000"
    for kind, first, second in (
        ("UUID", small, large),
        ("Enum8('b' = 1, 'a' = 2)", "a", "b"),
    ):
        for name, items in (("recs", (first, second)), ("truth", (second,))):
            rows = ", ".join(f"('u', '{item}')" for item in items)
            shop(
                f"CREATE OR REPLACE TABLE shop.{name} (user_id String, item_id {kind}, "
                "score Float64 DEFAULT 1) ENGINE = Memory",
                f"INSERT INTO shop.{name} (user_id, item_id) VALUES {rows}",
            )
        assert evaluated("shop.recs", "shop.truth", engine=connection) == 1 / 2


@pytest.mark.parametrize("zone", ["", ", 'UTC'", ", 'America/Los_Angeles'"])
def test_months_are_those_of_utc(shop: Any, connection: Any, zone: str) -> None:
    kind = f"DateTime64(3{zone})"
    shop(
        f"CREATE TABLE shop.truth (user_id String, item_id String, timestamp {kind}) "
        "ENGINE = Memory",
        # 00:30 on 1 March in UTC
        "INSERT INTO shop.truth SELECT user_id, item_id, fromUnixTimestamp64Milli(1709253000000) "
        "FROM small.truth",
    )
    connection.query("SET session_timezone = 'America/Los_Angeles'")
    try:
        with Evaluator("small.recs", "shop.truth", engine=connection) as evaluator:
            assert set(evaluator.evaluate("mrr", by="month")["month"]) == {"2024-03"}
    finally:
        connection.query("SET session_timezone = DEFAULT")


def test_texts_that_are_not_utf_8(shop: Any, connection: Any) -> None:
    shop(f"CREATE VIEW shop.recs AS SELECT unhex('FF') AS user_id, item_id, rank FROM ({RECS} "
         "LIMIT 1)")  # fmt: skip
    with (
        Evaluator("shop.recs", engine=connection) as evaluator,
        pytest.raises(sm.DataError, match="UTF8"),
    ):
        evaluator.per_user("n_recommended")


def test_nan_and_duplicates(shop: Any, connection: Any) -> None:
    shop(f"CREATE VIEW shop.recs AS SELECT user_id, item_id, nan AS score FROM ({RECS})")
    with (
        Evaluator("shop.recs", "small.truth", engine=connection) as evaluator,
        pytest.raises(sm.DataError, match="NaN"),
    ):
        evaluator.evaluate("mrr")
    # rows of a replacing table, of which FINAL keeps the last
    shop(
        "CREATE TABLE shop.kept (user_id String, item_id String, rank Int64, version Int64) "
        "ENGINE = ReplacingMergeTree(version) ORDER BY (user_id, item_id)",
        "SYSTEM STOP MERGES shop.kept",
        "INSERT INTO shop.kept SELECT user_id, item_id, 4 - rank, 1 FROM small.recs",
        "INSERT INTO shop.kept SELECT user_id, item_id, rank, 2 FROM small.recs",
    )
    with pytest.raises(sm.DataError, match="duplicate"):
        evaluated("shop.kept", "small.truth", engine=connection)
    shop("CREATE VIEW shop.last AS SELECT * FROM shop.kept FINAL")
    assert evaluated("shop.last", "small.truth", engine=connection) == pytest.approx(MRR)


# ---- settings ---------------------------------------------------------------------------------


def test_settings_of_the_session_change_no_number(chdb: Any) -> None:
    import chdb as library

    world = awkward()
    given = names(chdb, world)
    connection = library.connect(":memory:")
    with contextlib.closing(connection):
        for setting in (
            "join_use_nulls = 0",
            "group_by_use_nulls = 0",
            "aggregate_functions_null_for_empty = 0",
            "session_timezone = 'America/Los_Angeles'",
        ):
            connection.query(f"SET {setting}")
        changed = "SELECT name, value FROM system.settings WHERE changed ORDER BY name"
        before = connection.query(changed).bytes()
        with (
            Evaluator(**given, columns=columns(world), engine=connection) as evaluator,
            Evaluator(**tables(world), columns=columns(world)) as duckdb,
        ):
            for options in ({}, {"by": "month"}, {"by": "activity"}):
                metrics = ["ndcg", "recall", "mrr"]
                assert_same(
                    evaluator.evaluate(metrics, 5, **options),
                    duckdb.evaluate(metrics, 5, **options),
                )
            assert connection.query(changed).bytes() == before


@pytest.mark.usefixtures("chdb")
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("limit", "1"),
        ("offset", "1"),
        ("additional_table_filters", "{'small.recs': 'rank = 1'}"),
        ("additional_result_filter", "'1 = 0'"),
        ("transform_null_in", "1"),
        ("count_distinct_implementation", "'uniqHLL12'"),
        ("empty_result_for_aggregation_by_empty_set", "1"),
        ("cast_keep_nullable", "1"),
        ("data_type_default_nullable", "1"),
        ("apply_deleted_mask", "0"),
        ("group_by_overflow_mode", "'any'"),
        ("read_overflow_mode_leaf", "'break'"),
        ("timeout_overflow_mode_leaf", "'break'"),
    ],
)
def test_settings_that_change_results(setting: str, value: str) -> None:
    import chdb as library

    told = f"has the setting .*{setting}.*, which changes results"
    with contextlib.closing(library.connect(":memory:")) as connection:
        with Evaluator(*SMALL, engine=connection) as evaluator:
            connection.query(f"SET {setting} = {value}")
            with pytest.raises(sm.UsageError, match=told):
                evaluator.evaluate("mrr")
        with pytest.raises(sm.UsageError, match=told):
            Evaluator(*SMALL, engine=connection)


@pytest.mark.usefixtures("chdb")
def test_texts_of_old_settings() -> None:
    """Before the settings of a call apply, texts come as bytes."""
    import chdb as library

    # a connection of its own: DEFAULT would leave the settings that this one changes
    with contextlib.closing(library.connect(":memory:")) as connection:
        connection.query("SET compatibility = '24.1'")
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)


def test_conditions_on_columns_of_low_cardinality(shop: Any, connection: Any) -> None:
    shop(
        "CREATE TABLE shop.users (user_id String, country LowCardinality(Nullable(String))) "
        "ENGINE = Memory",
        "INSERT INTO shop.users VALUES ('u1', 'DE'), ('u2', 'FR'), ('u4', NULL)",
    )
    for condition in ("country = 'DE'", "country IN ('DE')", "NOT (country <> 'DE')"):
        with Evaluator(
            *SMALL, users="shop.users", where={"users": condition}, engine=connection
        ) as evaluator:
            found = evaluator.evaluate("mrr", by="users.country").set_index("country")["value"]
            assert found["DE"] == pytest.approx(1 / 2)


def test_a_role_that_may_set_nothing(clickhouse_server: Any) -> None:
    with (
        contextlib.closing(clickhouse_server.server.client("guest")) as client,
        pytest.raises(sm.EngineError, match="is readonly"),
    ):
        Evaluator(*SMALL, engine=client)
    with contextlib.closing(clickhouse_server.server.client("reader")) as client:
        assert evaluated(*SMALL, engine=client) == pytest.approx(MRR)


def test_an_old_server(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = Connection.fetch

    def answered(driver: Any, statement: str) -> Any:
        return fetch(driver, statement.replace("version()", "'24.11.1.2557'"))

    monkeypatch.setattr(Connection, "fetch", answered)
    told = r"in ClickHouse 24\.12 or newer, and the server is 24\.11\.1\.2557"
    with pytest.raises(sm.UsageError, match=told):
        Evaluator(*SMALL, engine=connection)


# ---- tables -----------------------------------------------------------------------------------


def test_names(shop: Any, connection: Any) -> None:
    shop(
        f'CREATE TABLE shop."a ""b"" \\\\ `c`" {MERGE_TREE} {RECS}',
        f"CREATE TEMPORARY TABLE mine AS {RECS}",
    )
    try:
        for name in ('shop."a ""b"" \\\\ `c`"', "mine", "small.recs", "`small`.recs"):
            assert evaluated(name, "small.truth", engine=connection) == pytest.approx(MRR)
    finally:
        shop("DROP TABLE mine")
    for name in ("small.rec", "Small.recs", "numbers(3)", "(SELECT 1)", "small.recs AS r", "a b",
                 "small.recs; DROP TABLE small.recs", "x.small.recs"):  # fmt: skip
        with pytest.raises(sm.DataError, match="the database has no table"):
            Evaluator(name, engine=connection)


def test_tables_that_change_between_calls(shop: Any, connection: Any) -> None:
    shop(f"CREATE TABLE shop.recs {MERGE_TREE} {RECS}")
    with Evaluator("shop.recs", "small.truth", engine=connection) as evaluator:
        assert evaluator.evaluate("mrr")["value"].item() == pytest.approx(MRR)
        shop("ALTER TABLE shop.recs DELETE WHERE user_id = 'u2' SETTINGS mutations_sync = 1")
        assert evaluator.evaluate("mrr")["value"].item() == pytest.approx(MRR - 1 / 3)
        shop("ALTER TABLE shop.recs MODIFY COLUMN rank String SETTINGS mutations_sync = 1")
        with pytest.raises(sm.DataError, match=r"rank .* now has the type VARCHAR"):
            evaluator.evaluate("mrr")
        shop("DROP TABLE shop.recs")
        with pytest.raises(sm.DataError, match=r"recommendations: .*no longer exists"):
            evaluator.evaluate("mrr")


def test_the_record_says_that_rows_may_be_of_several_moments(connection: Any) -> None:
    with Evaluator(*SMALL, engine=connection) as evaluator:
        record = evaluator.evaluate("mrr").attrs["sqlmetrics"]
    assert "ClickHouse has no transactions" in record["unknown"]["moment"]
    assert re.fullmatch(r"\d+(\.\d+)+", record["versions"]["clickhouse"])


# ---- connections ------------------------------------------------------------------------------


@pytest.mark.usefixtures("chdb")
def test_kinds_of_connections(clickhouse_server: Any) -> None:
    import chdb as library
    import clickhouse_connect
    from chdb import dbapi

    server = clickhouse_server.server
    opened = [
        library.connect(":memory:"),
        dbapi.connect(),
        clickhouse_connect.get_client(interface="chdb"),
        server.client(),
        server.client(autogenerate_session_id=False),
    ]
    for connection in opened:
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)
        assert evaluated(*SMALL, engine=connection, dialect="clickhouse") == pytest.approx(MRR)
        with pytest.raises(sm.UsageError, match="SQL of this connection is clickhouse"):
            Evaluator(*SMALL, engine=connection, dialect="postgres")
        connection.close()
    for connection in opened[:2]:
        with pytest.raises(sm.UsageError, match="the connection is closed"):
            Evaluator(*SMALL, engine=connection)


def test_an_asynchronous_client() -> None:
    class AsyncClient:
        """Looks as the asynchronous client does, whose package needs another one."""

        async def command(self) -> None: ...

    with pytest.raises(sm.UsageError, match="an asynchronous connection of tests"):
        Evaluator(*SMALL, engine=AsyncClient())


def test_urls(clickhouse_server: Any) -> None:
    server = clickhouse_server.server
    assert evaluated(*SMALL, engine=server.url()) == pytest.approx(MRR)
    same = server.url().replace("clickhouse://", "clickhousedb+connect://")
    assert evaluated(*SMALL, engine=f"{same}?final=1") == pytest.approx(MRR)
    for url, told in (
        (server.url().replace("s3cr", "wr0ng"), "no connection to .*Authentication failed"),
        ("clickhouse://me:s3cr@127.0.0.1:1/db", r"no connection to clickhouse://me:\*\*\*@"),
        ("clickhouse://me:s3c@r@h/db", "the URL of the database cannot be read"),
        ("clickhouse://me:s3cr@h:s3cr/db", "the URL of the database cannot be read"),
        (f"{server.url()}?foo=1", "no connection to .*foo"),
    ):
        with pytest.raises(sm.SqlmetricsError, match=told) as caught:
            Evaluator(*SMALL, engine=url)
        shown = "".join(map(str, (caught.value, caught.value.__cause__)))
        assert not any(secret in shown for secret in ("s3c", "wr0ng"))


def test_a_missing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clickhouse_connect", None)
    result = run("evaluate", "mrr", *GIVEN, "--engine", "clickhouse://me:s3cret@host/db")
    assert result.exit_code == 2
    assert "pip install 'sqlmetrics[clickhouse]'" in " ".join(result.output.split())
    assert "s3cret" not in result.output


# ---- failures ---------------------------------------------------------------------------------

SLOW = (
    "CREATE VIEW {name} AS SELECT user_id, item_id, rank FROM numbers(4000000000000) AS n "
    "CROSS JOIN small.recs WHERE sipHash64(n.number) = 1"
)


@pytest.fixture
def slow(clickhouse_server: Any) -> Iterator[str]:
    """Return the name of lists that take hours to read."""
    clickhouse_server.execute(SLOW.format(name="small.slow"))
    yield "small.slow"
    clickhouse_server.execute("DROP VIEW small.slow")


def running(engine: Any) -> list[Any]:
    """List the statements that read the slow lists."""
    return [
        row
        for row in engine.run("SELECT query FROM system.processes")
        if "small" in row["query"] and "system.processes" not in row["query"]
    ]


def wait_until(condition: Callable[[], Any]) -> None:
    for _ in range(2400):  # 120 seconds, for slow machines
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_of_the_command_line(clickhouse_server: Any, slow: str, number: int) -> None:
    url = clickhouse_server.server.url()
    command = [sys.executable, "-m", "sqlmetrics", "per-user", "mrr", "-r", slow, "-i",
               "small.truth", "--engine", url]  # fmt: skip
    before = left_in_clickhouse(clickhouse_server)
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        wait_until(lambda: running(clickhouse_server))
        os.kill(process.pid, number)
        output = b"".join(process.communicate(timeout=120))
    assert process.returncode == 130, output
    assert b"Traceback" not in output
    wait_until(lambda: not running(clickhouse_server))
    assert left_in_clickhouse(clickhouse_server) == before


INTERRUPTED = """
import sys, threading, os, signal, time
import sqlmetrics as sm

RUNNING = "SELECT count() FROM system.processes WHERE query NOT LIKE '%system.processes%'"
TEMPORARY = "SELECT count() FROM system.tables WHERE is_temporary"

def interrupt():
    time.sleep(3)
    os.kill(os.getpid(), signal.SIGINT)

def tried(connection, left):
    with sm.Evaluator("small.slow", "small.truth", engine=connection, trust_input=True) as one:
        threading.Thread(target=interrupt).start()
        try:
            one.evaluate("mrr")
        except KeyboardInterrupt:
            print("interrupted")
    while str(left(RUNNING)) != "0":
        time.sleep(0.05)
    print(left(TEMPORARY))
    with sm.Evaluator("small.recs", "small.truth", engine=connection) as one:
        print(one.evaluate("mrr")["value"].item())
"""
ON_A_SERVER = (
    INTERRUPTED
    + """
import clickhouse_connect
connection = clickhouse_connect.get_client(
    host="127.0.0.1", port=int(sys.argv[1]), username="tests", password=sys.argv[2])
tried(connection, connection.command)
"""
)


@pytest.mark.usefixtures("slow")
def test_an_interrupt_in_python(clickhouse_server: Any) -> None:
    given = [str(clickhouse_server.server.port), PASSWORD]
    ran = subprocess.run(
        [sys.executable, "-c", ON_A_SERVER, *given], capture_output=True, timeout=300, check=False
    )
    assert ran.stdout.decode().split() == ["interrupted", "0", str(MRR)], ran
    wait_until(lambda: not running(clickhouse_server))


def test_a_server_that_ends_in_the_middle() -> None:
    server = ClickHouseServer()
    client = server.client()
    for name, columns_ in (("recs", "'u' AS user_id, 'a' AS item_id, 1 AS rank"),
                           ("truth", "'u' AS user_id, 'a' AS item_id")):  # fmt: skip
        client.command(f"CREATE TABLE {name} ENGINE = Memory AS SELECT {columns_}")
    client.command("CREATE DATABASE small")
    client.command("CREATE VIEW small.recs AS SELECT * FROM recs")
    client.command(SLOW.format(name="slow"))
    with Evaluator("slow", "truth", engine=client, trust_input=True) as evaluator:
        ending = threading.Timer(2, server.process.kill)
        ending.start()
        with pytest.raises(sm.EngineError, match="ClickHouse stopped while computing") as caught:
            evaluator.evaluate("mrr")
        ending.join()
    assert caught.value.exit_code == 1
    assert PASSWORD not in str(caught.value)
    server.process.communicate()


@pytest.mark.parametrize(
    ("setting", "told"),
    [("max_execution_time = 1", "max_execution_time"), ("max_memory_usage = 1000", "memory limit")],
)
def test_limits(shop: Any, setting: str, told: str) -> None:
    import chdb as library

    shop(SLOW.format(name="shop.slow"))
    with contextlib.closing(library.connect(":memory:")) as connection:
        with Evaluator(
            "shop.slow", "small.truth", engine=connection, trust_input=True
        ) as evaluator:
            connection.query(f"SET {setting}")
            with pytest.raises(sm.EngineError, match=rf"(?i)ClickHouse stopped.*{told}"):
                evaluator.evaluate("mrr")
        connection.query("SET max_execution_time = 0, max_memory_usage = 0")
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)


def test_rows_that_cannot_be_computed(shop: Any, connection: Any) -> None:
    shop(f"CREATE VIEW shop.broken AS SELECT user_id, item_id, intDiv(rank, rank - rank) AS rank "
         f"FROM ({RECS})")  # fmt: skip
    with (
        Evaluator("shop.broken", "small.truth", engine=connection) as evaluator,
        pytest.raises(sm.DataError, match="Division by zero"),
    ):
        evaluator.evaluate("mrr")


def test_codes_of_errors() -> None:
    """No code has two meanings."""
    codes = [code for codes in clickhouse._SQLSTATES.values() for code in codes]
    assert len(codes) == len(set(codes))
