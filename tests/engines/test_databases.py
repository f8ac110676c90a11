"""Evaluators of a connection to a database: the numbers of DuckDB, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.engines.connection import Connection
from sqlmetrics.engines.database import DatabaseEngine
from sqlmetrics.metrics.catalog import Catalog
from tests.engines.databases import (
    GIVEN,
    LISTS,
    MRR,
    SCHEMA,
    SMALL,
    TRUTH,
    assert_same,
    columns,
    evaluated,
    left_in_clickhouse,
    names,
    run,
    tables,
)
from tests.engines.runners import Engine
from tests.engines.worlds import World, awkward, plain
from tests.support.evaluators import Evaluator
from tests.support.pages import shell_blocks, shell_output
from tests.support.paths import EXAMPLES, ROOT

METRICS = [name for name, one in Catalog.load(()).metrics.items() if one.grain != "round"]
VARIANTS = [
    "ndcg(gain=exponential)@5",
    "ndcg(aggregate=weighted_mean)@5",
    "map(aggregate=geometric_mean)@5",
    "recall(aggregate=half_width)@5",
    "n_hits(aggregate=sum)@5",
    "precision(aggregate=median)@5",
    "precision(aggregate=quantile_low,quantile=0.9)@5",
    "intra_list_diversity(over=category,distance=hamming)@10",
    "intra_list_diversity(sample_users=9,runs=2,seed=3)@10",
    "surprisal(scale=bits)@10",
    "cwl(browsing=inst,output=depth)@10",
    "calibration(divergence=hellinger)@10",
    "tail_share(tail_by=items,tail=0.3,no_history=head)@10",
    "awrf(divergence=kl,target=history)@5",
    "expected_exposure(groups=items)@5",
    "alpha_ndcg(normalise=ideal_ideal)@5",
]


@pytest.fixture(scope="session")
def server(engines: Callable[[str], Engine]) -> Any:
    """Return the running Postgres, with the small tables."""
    engine: Any = engines("postgres")
    engine.load({"recs": LISTS, "truth": TRUTH}, schema="small")
    for role in ("reader", "guest"):
        engine.execute(f"CREATE ROLE {role} LOGIN")
    engine.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    engine.execute("GRANT USAGE ON SCHEMA small TO reader, guest")
    engine.execute("GRANT SELECT ON ALL TABLES IN SCHEMA small TO reader")
    yield engine
    engine.execute("DROP OWNED BY reader; DROP OWNED BY guest")
    engine.execute("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
    engine.execute("DROP ROLE reader, guest")


def left(server: Any) -> list[Any]:
    """List the temporary tables of all sessions, and other tables with names of ours."""
    rows = server.run(
        "SELECT nspname || '.' || relname AS name FROM pg_class JOIN pg_namespace AS n "
        "ON n.oid = relnamespace WHERE nspname LIKE 'pg_temp%' OR relname LIKE 'sqlmetrics%'"
    )
    return [row["name"] for row in rows]


@pytest.fixture
def connect(server: Any) -> Iterator[Callable[..., Any]]:
    """Return what opens a connection, and check that the database is left as it was."""
    import psycopg

    opened: list[Any] = []

    def open_one(user: str = "tests", **options: Any) -> Any:
        conninfo = server.server.connection().replace("user=tests", f"user={user}")
        opened.append(psycopg.connect(conninfo, **{"autocommit": True, **options}))
        return opened[-1]

    yield open_one
    found = left(server)  # while the connections are open, with their temporary tables
    for connection in opened:
        connection.close()
    assert found == []


@pytest.fixture
def connection(connect: Callable[..., Any]) -> Any:
    return connect()


# ---- databases that the same tests run in -----------------------------------------------------


@dataclass(frozen=True)
class Database:
    """A running database, with the small tables.

    Args:
        title: its name in messages.
        runner: loads tables, and runs statements.
        connection: a connection as an engine.
    """

    title: str
    runner: Any
    connection: Any


@pytest.fixture
def in_chdb(chdb: Any) -> Iterator[Database]:
    before = left_in_clickhouse(chdb)
    yield Database("ClickHouse", chdb, chdb.session)
    assert left_in_clickhouse(chdb) == before


@pytest.fixture
def in_clickhouse_server(clickhouse_server: Any) -> Iterator[Database]:
    with contextlib.closing(clickhouse_server.server.client()) as client:
        yield Database("ClickHouse", clickhouse_server, client)
        left = "SELECT count() FROM system.tables WHERE name LIKE 'sqlmetrics%' OR is_temporary"
        assert client.command(left) == 0  # in the session of the client


@pytest.fixture
def in_postgres(server: Any, connection: Any) -> Database:
    return Database("Postgres", server, connection)


@pytest.fixture(
    params=[
        "in_postgres",
        "in_chdb",
        "in_clickhouse_server",
    ]
)
def database(request: pytest.FixtureRequest) -> Database:
    """Return each database."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def url(server: Any) -> str:
    """Return the URL of the server, with a password that it does not ask for."""
    return f"postgresql://tests:s3cr%40t@127.0.0.1:{server.server.port}/postgres"


def adbc(server: Any, **options: Any) -> Any:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    return dbapi.connect(f"postgresql://tests@127.0.0.1:{server.server.port}/postgres", **options)


# ---- the same numbers -------------------------------------------------------------------------


@pytest.fixture
def psycopg_connection(in_postgres: Database) -> Database:
    return in_postgres


@pytest.fixture
def adbc_connection(server: Any) -> Iterator[Database]:
    with contextlib.closing(adbc(server)) as connection:
        yield Database("Postgres", server, connection)


@pytest.fixture
def postgres_reader(server: Any, connect: Any) -> Database:
    """Return a connection of a role that may only read."""
    names(server, plain())
    names(server, awkward())
    server.execute(f"GRANT USAGE ON SCHEMA {server.quoted(SCHEMA)} TO reader")
    server.execute(
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA {server.quoted(SCHEMA)} GRANT SELECT ON TABLES "
        "TO reader"
    )
    return Database("Postgres", server, connect("reader"))


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (awkward, "psycopg_connection"),
        (awkward, "in_chdb"),
        (plain, "adbc_connection"),
        (awkward, "postgres_reader"),
        (plain, "in_clickhouse_server"),
    ],
)
def test_every_metric(kind: Callable[[], World], how: str, request: pytest.FixtureRequest) -> None:
    assert_like_duckdb(kind(), request.getfixturevalue(how))


def assert_like_duckdb(world: World, database: Database) -> None:
    """Compare all metrics and variants with the values of DuckDB."""
    given, connection = names(database.runner, world), database.connection
    with contextlib.ExitStack() as stack:
        evaluator = Evaluator(**given, columns=columns(world), engine=connection)
        duckdb = Evaluator(**tables(world), columns=columns(world))
        stack.enter_context(evaluator)
        stack.enter_context(duckdb)
        assert_same(evaluator.evaluate(METRICS, [1, 10]), duckdb.evaluate(METRICS, [1, 10]))
        assert_same(evaluator.evaluate(VARIANTS), duckdb.evaluate(VARIANTS))
        of_runs = {"ci": "bootstrap", "resamples": 20, "run_ci": True}
        assert_same(
            evaluator.evaluate(["ndcg", "coverage"], 5, **of_runs),
            duckdb.evaluate(["ndcg", "coverage"], 5, **of_runs),
        )


SLICES: list[dict[str, Any]] = [
    {"by": "users.country"},
    {"by": ["activity", "items.category"]},
    {"by": "month"},
    {"by": "time(every=week)"},
    {"by": "time(every=quarter)"},
    {"by_item": "popularity"},
    {"by": ["activity_group", "users.country"], "combinations": True},
    {"by": "country", "gap": ["difference", "ratio"], "resamples": 20},
    {"by": "country", "cluster": "user_id"},
]


@pytest.mark.filterwarnings("ignore:gap. 3 of 3 slices:sqlmetrics.SqlmetricsWarning")
@pytest.mark.filterwarnings("ignore:.* clusters:sqlmetrics.SqlmetricsWarning")
@pytest.mark.parametrize("options", SLICES)
def test_slices(database: Database, options: dict[str, Any]) -> None:
    world = awkward()
    given = names(database.runner, world)
    with (
        Evaluator(**given, columns=columns(world), engine=database.connection) as evaluator,
        Evaluator(**tables(world), columns=columns(world)) as duckdb,
    ):
        assert_same(
            evaluator.evaluate(["ndcg", "recall"], [1, 5], **options),
            duckdb.evaluate(["ndcg", "recall"], [1, 5], **options),
        )


Ask = Callable[[sm.Evaluator], pd.DataFrame]
ASKED: Mapping[str, Ask] = {
    "per user": lambda one: one.per_user(["ndcg", "n_hits"], [1, 5], by="country", long=True),
    "compare": lambda one: one.compare(["ndcg", "recall"], [1, 5], baseline="als", by="country"),
    "compare, resampled": lambda one: one.compare(
        "ndcg@5", baseline="als", test="randomization", ci="bootstrap", resamples=40
    ),
    "compare, clusters": lambda one: one.compare(
        "ndcg@5", baseline="als", test="randomization", cluster="user_id", resamples=40
    ),
    "leaderboard": lambda one: one.leaderboard(["ndcg", "coverage"], [1, 5]),
    "explain": lambda one: one.explain("map", 5, start="recbole"),
    # the rows that show a problem are the first in the order of texts, which is the database's
    "check": lambda one: one.check(by="country").drop(columns="examples"),
    "stage": lambda one: one.stage("hits").sort_values(
        ["model", "user_id", "rank"], ignore_index=True
    ),
    "rows": lambda one: pd.DataFrame(one.rows("recall", [1, 5]).values),
    "models": lambda one: pd.DataFrame(one.models),
}


@pytest.mark.filterwarnings("ignore:.* clusters:sqlmetrics.SqlmetricsWarning")
@pytest.mark.parametrize("asked", ASKED)
def test_other_calls(database: Database, asked: str) -> None:
    world = awkward()
    given = names(database.runner, world)
    with (
        Evaluator(**given, columns=columns(world), engine=database.connection) as evaluator,
        Evaluator(**tables(world), columns=columns(world)) as duckdb,
    ):
        assert_same(ASKED[asked](evaluator), ASKED[asked](duckdb))


def test_parquet_files(database: Database, tmp_path: Path) -> None:
    world = plain()
    given = names(database.runner, world)
    files = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    with (
        Evaluator(**given, columns=columns(world), engine=database.connection) as evaluator,
        Evaluator(**tables(world), columns=columns(world)) as duckdb,
    ):
        for one, file in zip((evaluator, duckdb), files, strict=True):
            one.write_parquet(file, ["ndcg", "recall"], [1, 5], per_user=True)
        with pytest.raises(sm.DataError, match="exists and is not overwritten"):
            evaluator.write_parquet(files[0], "mrr")
    ours, theirs = (pq.read_table(file) for file in files)
    assert ours.schema.names == theirs.schema.names
    assert_same(ours.to_pandas(), theirs.to_pandas())


def test_conditions_and_settings(database: Database) -> None:
    world = awkward()
    asked: dict[str, Any] = {
        "columns": columns(world),
        "convention": ["standard", "recbole"],
        "settings": {"ties": "item_desc_text"},
        "where": {
            "interactions": '"Group" >= 1 AND year(timestamp) IN (2024, 2025)',
            "users": r"country = upper(country) OR country LIKE '\%'",
        },
    }
    given = names(database.runner, world)
    with (
        Evaluator(**given, engine=database.connection, **asked) as evaluator,
        Evaluator(**tables(world), **asked) as duckdb,
    ):
        metrics = ["ndcg", "recall", "map"]
        assert_same(evaluator.evaluate(metrics, [1, 5]), duckdb.evaluate(metrics, [1, 5]))
    with pytest.raises(sm.UsageError, match=r"has the type (bigint|Int64), not BOOLEAN"):
        Evaluator(*SMALL, where={"recommendations": "rank"}, engine=database.connection)
    with pytest.raises(sm.DataError, match=r"matches none of the 6 rows of the table small\.recs"):
        Evaluator(*SMALL, where={"recommendations": "rank > 9"}, engine=database.connection)


def test_ids_that_are_floats(database: Database) -> None:
    recs = pa.table({"user_id": [1.5, 1.5, 2.0], "item_id": [7.0, 8.0, 7.0], "rank": [1, 2, 1]})
    wide = recs.set_column(1, "item_id", pa.array([2.0**53, math.inf, math.nan]))
    truth = pa.table({"user_id": [1.5, 2.0], "item_id": [8.0, 7.0]})
    database.runner.load({"floats": recs, "wide": wide, "ftruth": truth}, schema="small")
    found = evaluated("small.floats", "small.ftruth", engine=database.connection)
    assert found == pytest.approx((1 / 2 + 1) / 2)
    with pytest.raises(sm.DataError, match=r"column item_id: 2 of 3 ids are 9007199254740992 or"):
        Evaluator("small.wide", "small.ftruth", engine=database.connection)


# ---- tables -----------------------------------------------------------------------------------


@pytest.fixture
def shop(server: Any) -> Iterator[Callable[[str], None]]:
    """Return what runs a statement in a schema that is dropped afterwards."""
    server.execute("CREATE SCHEMA shop")
    yield lambda statement: server.execute(f"SET search_path = shop; {statement}")
    server.execute("SET search_path = DEFAULT; DROP SCHEMA shop CASCADE")


VIEWS = {
    "a view": "CREATE VIEW recs AS SELECT * FROM small.recs",
    "a materialised view": "CREATE MATERIALIZED VIEW recs AS SELECT * FROM small.recs",
    "partitions": "CREATE TABLE recs (LIKE small.recs) PARTITION BY LIST (user_id); "
    "CREATE TABLE other PARTITION OF recs DEFAULT; INSERT INTO recs SELECT * FROM small.recs",
    "a domain": "CREATE DOMAIN one AS text; CREATE DOMAIN id AS one; CREATE VIEW recs AS "
    "SELECT user_id::id, item_id::id, rank FROM small.recs",
    "an enumeration": "CREATE TYPE item AS ENUM ('c', 'b', 'a'); CREATE VIEW recs AS "
    "SELECT user_id, item_id::item, rank FROM small.recs",
    "varchar and char": "CREATE VIEW recs AS SELECT user_id::varchar(9), item_id::char(3), rank "
    "FROM small.recs",
    "numeric scores": "CREATE VIEW recs AS SELECT user_id, item_id, (9 - rank)::numeric(9, 2) / 10 "
    "AS score FROM small.recs",
    "lists": "CREATE VIEW recs AS SELECT user_id, array_agg(item_id ORDER BY rank) AS item_id "
    "FROM small.recs GROUP BY user_id",
}


@pytest.mark.parametrize("kind", VIEWS)
def test_kinds_of_tables(shop: Any, kind: str, connect: Any) -> None:
    shop(VIEWS[kind])
    assert evaluated("shop.recs", "small.truth", engine=connect()) == pytest.approx(MRR)
    # a name without a schema is looked up as the session does
    here = connect(options="-c search_path=shop,small")
    assert evaluated("recs", "truth", engine=here) == pytest.approx(MRR)
    assert evaluated("postgres.shop.recs", "Truth", engine=here) == pytest.approx(MRR)


def test_texts_are_compared_by_their_bytes(shop: Any, connection: Any) -> None:
    shop(
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false);"
        "CREATE TABLE recs (user_id text COLLATE loose, item_id text COLLATE loose, score real);"
        "INSERT INTO recs VALUES ('u1', 'a', 1), ('u1', 'B', 1), ('u1', 'A', 1)"
    )
    truth = "SELECT 'u1' COLLATE loose AS user_id, 'a' COLLATE loose AS item_id"
    shop(f"CREATE VIEW truth AS {truth}")
    # three different items, in the order A, B, a
    assert evaluated("shop.recs", "shop.truth", engine=connection) == pytest.approx(1 / 3)


def test_ids_that_no_double_holds(shop: Any, connection: Any) -> None:
    user = 2**60 + 1
    shop(f"CREATE VIEW recs AS SELECT {user}::numeric AS user_id, 'a' AS item_id, 1 AS rank")
    with Evaluator("shop.recs", engine=connection) as evaluator:
        assert [int(one) for one in evaluator.per_user("n_recommended")["user_id"]] == [user]


# as Postgres casts them; clients return them as bytes, objects or numbers of their own
OTHER_TYPES = {
    "inet '10.0.0.1'": "10.0.0.1/32",
    "macaddr '08:00:2b:01:02:03'": "08:00:2b:01:02:03",
    "b'101'": "101",
    "int4range(1, 5)": "[1,5)",
    "jsonb '{\"a\": 1}'": '{"a": 1}',
    "timetz '10:00+01'": "10:00:00+01",
    "interval '1 day'": "1 day",
    "point '(1,2)'": "(1,2)",
    "oid '5'": "5",
    "uuid '00000000-0000-0000-0000-00000000000a'": "00000000-0000-0000-0000-00000000000a",
}


@pytest.mark.parametrize("how", ["psycopg_connection", "adbc_connection"])
def test_ids_of_other_types_are_texts(shop: Any, how: str, request: pytest.FixtureRequest) -> None:
    engine = request.getfixturevalue(how).connection
    for number, (value, text) in enumerate(OTHER_TYPES.items()):
        shop(f"CREATE TABLE r{number} AS SELECT {value} AS user_id, {value} AS item_id, 1 AS rank")
        shop(f"CREATE TABLE lists{number} AS SELECT user_id, ARRAY[item_id] AS item_id "
             f"FROM r{number}")  # fmt: skip
        for lists in (f"shop.r{number}", f"shop.lists{number}"):
            with Evaluator(lists, f"shop.r{number}", engine=engine) as evaluator:
                found = evaluator.per_user("mrr")
            assert (found["user_id"].tolist(), found["mrr"].tolist()) == ([text], [1.0])


def test_names_that_the_queries_have_too(shop: Any, connection: Any) -> None:
    for name in ("ranked", "recommendations"):
        shop(f"CREATE TABLE {name} AS SELECT * FROM small.recs")
        shop("CREATE TABLE interactions AS SELECT * FROM small.truth" if name == "ranked" else "")
        found = evaluated(f"shop.{name}", "shop.interactions", engine=connection)
        assert found == pytest.approx(MRR)


def test_statements_run_without_sqlmetrics(shop: Any, connection: Any, server: Any) -> None:
    shop("CREATE TABLE ranked AS SELECT * FROM small.recs")
    with Evaluator("shop.ranked", "small.truth", engine=connection) as evaluator:
        statement = evaluator.sql("mrr")
        assert evaluator.sql("mrr", dialect="postgres") == statement
    (row,) = server.run(statement)
    assert row["value"] == pytest.approx(MRR)


# ---- the session ------------------------------------------------------------------------------


def test_settings_of_the_session_change_no_number(server: Any, shop: Any, connect: Any) -> None:
    # a function of the user, in the place of that of Postgres (test_search_path.py has all others)
    shop("CREATE FUNCTION ln(double precision) RETURNS double precision LANGUAGE sql "
         "AS 'SELECT 1::double precision'")  # fmt: skip
    settings = {
        "search_path": "shop, pg_catalog, public",
        "TimeZone": "America/Los_Angeles",
        "DateStyle": "German, DMY",
        "extra_float_digits": "-15",
        "standard_conforming_strings": "off",
        "client_encoding": "LATIN1",
    }
    world = awkward()
    given = names(server, world)
    connection = connect()
    for name, value in settings.items():
        connection.execute(f"SELECT set_config('{name}', '{value}', false)")
    before = connection.execute("SHOW ALL").fetchall()
    asked: dict[str, Any] = {
        "columns": columns(world), "where": {"history": r"""lower("User Id") <> 'u7''s \ ü'"""},
    }  # fmt: skip
    with (
        Evaluator(**given, **asked, engine=connection) as evaluator,
        Evaluator(**tables(world), **asked) as duckdb,
    ):
        for options in ({}, {"by": "month"}, {"by": "activity"}):
            metrics = ["ndcg", "recall", "map"]
            assert_same(
                evaluator.evaluate(metrics, 5, **options), duckdb.evaluate(metrics, 5, **options)
            )
    assert connection.execute("SHOW ALL").fetchall() == before


def test_a_call_has_enough_memory(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch, found = Connection.fetch, set[str]()

    def with_setting(driver: Any, statement: str) -> Any:
        if "current_schemas" not in statement:  # the first one, before all settings
            found.add(driver.raw.execute("SHOW work_mem").fetchone()[0])
        return fetch(driver, statement)

    monkeypatch.setattr(Connection, "fetch", with_setting)
    for given, used in (("4MB", "64MB"), ("80MB", "80MB")):
        connection.execute(f"SET work_mem = '{given}'")
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)
        assert found == {used}
        assert connection.execute("SHOW work_mem").fetchone() == (given,)
        found.clear()


def test_rows_and_values_of_other_kinds_of_cursors(connect: Any) -> None:
    import psycopg
    from psycopg.rows import dict_row

    class Shouting(psycopg.ClientCursor[Any]):
        """A cursor of the user, which must not be used."""

        def execute(self, *_: Any, **__: Any) -> Any:
            raise AssertionError

    connection = connect(row_factory=dict_row, cursor_factory=Shouting)
    assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)


@pytest.mark.parametrize("loader", ["FloatLoader", "TextLoader"])
def test_loaders_of_the_user_are_not_used(connect: Any, server: Any, loader: str) -> None:
    """As in the manual of psycopg, which reads numeric as a float."""
    from psycopg.types.numeric import FloatLoader
    from psycopg.types.string import TextLoader

    server.execute(
        "CREATE TABLE small.exact AS SELECT CAST(1 AS numeric) AS user_id, 7 AS item_id, 1 AS rank"
    )
    connection = connect()
    for kind in ("numeric", "int8", "float8", "text"):
        connection.adapters.register_loader(
            kind, {"FloatLoader": FloatLoader, "TextLoader": TextLoader}[loader]
        )
    try:
        with Evaluator("small.exact", "small.exact", engine=connection) as evaluator:
            assert evaluator.per_user("mrr")["mrr"].tolist() == [1.0]
            assert evaluator.evaluate("mrr")["n_users"].tolist() == [1]
    finally:
        server.execute("DROP TABLE small.exact")


@pytest.mark.parametrize("kind", ["text", "mood", "citext"])
def test_lists_of_ids_that_are_compared_as_texts(connect: Any, server: Any, kind: str) -> None:
    server.execute(
        "CREATE COLLATION small.careless (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)"
    )
    if kind == "mood":
        server.execute("CREATE TYPE small.mood AS ENUM ('b', 'B', 'a')")
    elif kind == "citext":
        server.execute("CREATE EXTENSION citext SCHEMA small")
    held = {"text": "text[] COLLATE small.careless"}.get(kind, f"small.{kind}[]")
    server.execute(f"CREATE TABLE small.held (user_id integer, item_id {held})")
    server.execute(
        "INSERT INTO small.held VALUES (1, ARRAY['b', 'B', 'a']::text[]::"
        + ("text[])" if kind == "text" else f"small.{kind}[])")
    )
    server.execute("CREATE TABLE small.wanted AS SELECT 1 AS user_id, CAST('B' AS text) AS item_id")
    try:
        with Evaluator("small.held", "small.wanted", engine=connect()) as evaluator:
            assert evaluator.evaluate("mrr")["value"].tolist() == [1 / 2]
            assert evaluator.evaluate("n_recommended")["value"].tolist() == [3]
    finally:
        server.execute("DROP TABLE small.held; DROP TABLE small.wanted")
        server.execute("DROP TYPE IF EXISTS small.mood; DROP EXTENSION IF EXISTS citext")
        server.execute("DROP COLLATION small.careless")


def test_identify(database: Database) -> None:
    asked = f"mrr@3={MRR:.4f}"
    with (
        Evaluator(*SMALL, engine=database.connection) as ours,
        Evaluator(LISTS, TRUTH) as duckdb,
    ):
        found = ours.identify(asked)
        assert found["matches"].any()
        pd.testing.assert_frame_equal(found, duckdb.identify(asked))


# ---- transactions -----------------------------------------------------------------------------


def status(connection: Any) -> str:
    return str(connection.info.transaction_status.name)


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_connection_without_a_transaction_has_none_afterwards(
    connect: Any, autocommit: bool
) -> None:
    connection = connect(autocommit=autocommit)
    with Evaluator(*SMALL, engine=connection) as evaluator:
        assert status(connection) == "IDLE"
        for _ in range(2):
            assert evaluator.evaluate("mrr")["value"].item() == pytest.approx(MRR)
            assert status(connection) == "IDLE"
        assert connection.autocommit is autocommit
    assert not connection.closed


def test_a_transaction_of_the_user_stays_as_it_is(server: Any, connect: Any) -> None:
    connection = connect(autocommit=False)
    connection.execute("CREATE TEMPORARY TABLE mine ON COMMIT DROP AS SELECT * FROM small.truth")
    connection.execute("INSERT INTO mine VALUES ('u3', 'c')")
    connection.execute("INSERT INTO small.truth VALUES ('u3', 'c')")
    with Evaluator("small.recs", "mine", engine=connection) as evaluator:
        # with u3, whose only item is in the first place
        for _ in range(2):
            assert evaluator.evaluate("mrr")["value"].item() == pytest.approx((3 * MRR + 1) / 4)
            assert status(connection) == "INTRANS"
        with pytest.raises(sm.UsageError, match="unknown metric"):
            evaluator.evaluate("mmr")
    assert evaluated(*SMALL, engine=connection) == pytest.approx((3 * MRR + 1) / 4)
    # nothing was committed, nothing was undone
    assert connection.execute("SELECT count(*) FROM mine").fetchone() == (4,)
    assert len(server.run("SELECT * FROM small.truth")) == len(TRUTH)
    connection.rollback()


def test_a_transaction_of_adbc_stays_as_it_is(server: Any) -> None:
    with contextlib.closing(adbc(server)) as connection:
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO small.truth VALUES ('u3', 'c')")
        assert evaluated(*SMALL, engine=connection) == pytest.approx((3 * MRR + 1) / 4)
        assert len(server.run("SELECT * FROM small.truth")) == len(TRUTH)
        connection.rollback()
        # the driver begins a transaction for every question, which is none of the user's
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)
        option = "adbc.postgresql.transaction_status"
        assert connection.adbc_connection.get_option(option) == "idle"
    with contextlib.closing(adbc(server, autocommit=True)) as connection:
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)
        with pytest.raises(sm.DataError, match=r"no table small\.rec; did you mean 'small\.recs'"):
            evaluated("small.rec", engine=connection)
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)


def test_connections_inside_sqlalchemy(connect: Any) -> None:
    import sqlalchemy

    pool = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=functools.partial(connect, autocommit=False)
    )
    # nothing else refers to the connection, which the pool would reset
    assert evaluated(*SMALL, engine=pool.connect()) == pytest.approx(MRR)
    with pool.connect() as outer:
        outer.execute(sqlalchemy.text("INSERT INTO small.truth VALUES ('u3', 'c')"))
        assert evaluated(*SMALL, engine=outer) == pytest.approx((3 * MRR + 1) / 4)
        assert outer.in_transaction()
        outer.rollback()
        assert evaluated(*SMALL, engine=outer) == pytest.approx(MRR)
    with pytest.raises(sm.UsageError, match="the connection of SQLAlchemy is closed"):
        evaluated(*SMALL, engine=outer)
    assert evaluated(*SMALL, engine=pool) == pytest.approx(MRR)
    assert pool.pool.checkedout() == 0
    pool.dispose()


def test_connections_inside_ibis(connect: Any) -> None:
    import ibis

    backend = ibis.postgres.from_connection(connect())
    assert evaluated(*SMALL, engine=backend) == pytest.approx(MRR)
    assert evaluated(*SMALL, engine=backend, dialect="postgres") == pytest.approx(MRR)
    with pytest.raises(sm.UsageError, match="pass a DuckDB connection as connection"):
        evaluated(*SMALL, engine=ibis.duckdb.connect())


def test_connections_that_cannot_be_used(connect: Any) -> None:
    connection = connect(autocommit=False)
    evaluator = Evaluator(*SMALL, engine=connection)
    with contextlib.suppress(Exception):
        connection.execute("SELECT 1 / 0")
    for ask in (lambda: evaluator.evaluate("mrr"), lambda: Evaluator(*SMALL, engine=connection)):
        with pytest.raises(sm.UsageError, match=r"transaction that has failed.*rollback\(\)"):
            ask()
    assert status(connection) == "INERROR"
    connection.rollback()
    assert evaluator.evaluate("mrr")["value"].item() == pytest.approx(MRR)
    connection.close()
    with pytest.raises(sm.UsageError, match="the connection is closed"):
        evaluator.evaluate("mrr")
    evaluator.close()
    with pytest.raises(sm.UsageError, match="the evaluator is closed"):
        evaluator.evaluate("mrr")


def test_a_call_sees_the_rows_of_one_moment_and_the_next_call_new_ones(
    server: Any, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, statements = Connection.fetch, list[str]()

    def with_new_rows(driver: Any, statement: str) -> Any:
        statements.append(statement)
        found = fetch(driver, statement)
        server.execute("INSERT INTO small.truth VALUES ('u3', 'c')")  # one more after each
        return found

    with Evaluator(*SMALL, engine=connection, settings={"duplicate_interactions": "set"}) as one:
        try:
            monkeypatch.setattr(Connection, "fetch", with_new_rows)
            first = one.evaluate("mrr")["value"].item()
            monkeypatch.undo()
            assert len(statements) > 2
            second = one.evaluate("mrr")["value"].item()
        finally:
            server.execute("DELETE FROM small.truth WHERE user_id = 'u3'")
        assert first == pytest.approx(MRR)
        assert second == pytest.approx((3 * MRR + 1) / 4)
        assert one.evaluate("mrr")["value"].item() == pytest.approx(MRR)
        server.execute("INSERT INTO small.truth VALUES ('u1', 'b')")
        try:
            with pytest.raises(sm.DataError, match="duplicate"):
                evaluated(*SMALL, engine=connection)
        finally:
            server.execute("DELETE FROM small.truth; INSERT INTO small.truth VALUES ('u1', 'b'), "
                           "('u2', 'b'), ('u4', 'a')")  # fmt: skip


# ---- failures ---------------------------------------------------------------------------------


def test_names_of_no_table(connection: Any) -> None:
    wrong = {
        "small.rec": r"recommendations: the database has no table small\.rec; did you mean",
        "small.recs_pkey.x.y": "recommendations: the table .* cannot be read: ",
        "elsewhere.small.recs": "recommendations: .*cross-database references",
        'small."recs': "recommendations: the table .* cannot be read: .* not a valid identifier",
        "": "reads tables by name",
        "README.md": r"no table README\.md.*Load the file into the database, or remove engine",
    }
    for name, told in wrong.items():
        with pytest.raises(sm.SqlmetricsError, match=told) as caught:
            Evaluator(name, engine=connection)
        assert caught.value.table in ("recommendations", "")
    with pytest.raises(sm.DataError, match=r"has no column 'x'.*It has user_id, item_id, rank"):
        Evaluator("small.recs", columns={"item_id": "x"}, engine=connection)


@pytest.mark.parametrize(
    "source",
    [LISTS, LISTS.to_pandas(), {"u1": ["a"]}, Path("recs.parquet"), ["a.parquet"], "-"],
    ids=lambda source: type(source).__name__,
)
def test_rows_from_elsewhere(database: Database, source: Any) -> None:
    told = (
        rf"{database.title} reads tables by name, such as schema\.table.*"
        "Load the rows into the database"
    )
    with pytest.raises(sm.UsageError, match=told):
        Evaluator(source, "small.truth", engine=database.connection)
    with pytest.raises(sm.UsageError, match=rf"items: {database.title} reads tables by name"):
        Evaluator("small.recs", items={"a", "b"}, engine=database.connection)


def test_a_role_without_privileges(connect: Any, shop: Any) -> None:
    guest, reader = connect("guest"), connect("reader")
    with pytest.raises(sm.DataError, match=r"may not read the table small\.recs.*GRANT") as caught:
        Evaluator(*SMALL, engine=guest)
    assert (caught.value.table, caught.value.column) == ("recommendations", "")
    shop("CREATE TABLE recs AS SELECT * FROM small.recs")
    with pytest.raises(sm.DataError, match=r": .*permission denied for schema shop"):
        Evaluator("shop.recs", engine=reader)
    shop("ALTER TABLE recs ADD score integer; GRANT USAGE ON SCHEMA shop TO reader")
    shop("GRANT SELECT (user_id, item_id, rank) ON recs TO reader")
    # without its score, the order of the lists might be another one
    with pytest.raises(sm.DataError, match=r"the column score of the table shop\.recs") as caught:
        Evaluator("shop.recs", engine=reader)
    assert caught.value.column == "score"
    shop("GRANT SELECT ON recs TO reader")
    with Evaluator("shop.recs", "small.truth", engine=reader) as evaluator:
        shop("REVOKE SELECT ON recs FROM reader; REVOKE SELECT (user_id, item_id, rank) ON recs "
             "FROM reader")  # fmt: skip
        with pytest.raises(sm.DataError, match=r"recommendations: .*may not read.*shop\.recs"):
            evaluator.evaluate("mrr")
    # a view whose owner may no longer read what is behind it
    shop("CREATE VIEW seen AS SELECT * FROM recs; ALTER VIEW seen OWNER TO guest")
    shop("GRANT SELECT ON seen TO reader")
    with (
        Evaluator("shop.seen", engine=reader, trust_input=True) as evaluator,
        pytest.raises(sm.DataError, match="permission denied for"),
    ):
        evaluator.per_user("n_recommended")


def test_tables_that_change_between_calls(shop: Any, connection: Any) -> None:
    shop("CREATE TABLE recs AS SELECT * FROM small.recs")
    with Evaluator("shop.recs", "small.truth", engine=connection) as evaluator:
        shop("ALTER TABLE recs ALTER rank TYPE text")
        with pytest.raises(sm.DataError, match=r"rank .* now has the type VARCHAR") as caught:
            evaluator.evaluate("mrr")
        assert (caught.value.table, caught.value.column) == ("recommendations", "rank")
        shop("ALTER TABLE recs DROP rank")
        with pytest.raises(sm.DataError, match=r"column rank .* is gone"):
            evaluator.evaluate("mrr")
        shop("DROP TABLE recs")
        with pytest.raises(sm.DataError, match=r"recommendations: .*no longer exists"):
            evaluator.evaluate("mrr")
        shop("CREATE TABLE recs AS SELECT * FROM small.recs")
        assert evaluator.evaluate("mrr")["value"].item() == pytest.approx(MRR)


def test_wrong_rows(shop: Any, connection: Any) -> None:
    shop("CREATE TABLE recs AS SELECT * FROM small.recs UNION ALL SELECT * FROM small.recs")
    with (
        Evaluator("shop.recs", "small.truth", engine=connection) as evaluator,
        pytest.raises(sm.DataError, match="recommendations") as caught,
    ):
        evaluator.evaluate("mrr")
    assert caught.value.table == "recommendations"
    shop("DROP TABLE recs")
    shop("CREATE TABLE recs AS SELECT user_id, item_id, 'NaN'::float8 AS score FROM small.recs")
    with (
        Evaluator("shop.recs", "small.truth", engine=connection) as evaluator,
        pytest.raises(sm.DataError, match="NaN"),
    ):
        evaluator.evaluate("mrr")
    shop("CREATE VIEW broken AS SELECT user_id, item_id, rank / (rank - rank) AS rank "
         "FROM small.recs")  # fmt: skip
    with (
        Evaluator("shop.broken", "small.truth", engine=connection) as evaluator,
        pytest.raises(sm.DataError, match="division by zero"),
    ):
        evaluator.evaluate("mrr")


def test_a_template_that_the_database_rejects(database: Database, tmp_path: Path) -> None:
    (tmp_path / "mine.sql.j2").write_text(
        '{#---\ntitle = "Mine"\ngrain = "user"\naudience = "lists"\nwhen_empty = 0\n'
        "range = [0, 1]\n"
        'higher_is_better = true\nformula = "x"\n---#}\n'
        "SELECT {{ keys }}, k, max(nothing) AS value\nFROM {{ ref('ranked') }}\n"
        "GROUP BY {{ keys }}, k",
        encoding="utf-8",
    )
    with (
        Evaluator(*SMALL, engine=database.connection, templates=tmp_path) as evaluator,
        pytest.raises(sm.TemplateError) as caught,
    ):
        evaluator.evaluate("mine@1")
    assert caught.value.exit_code == 2
    assert evaluated(*SMALL, engine=database.connection) == pytest.approx(MRR)


@contextlib.contextmanager
def locked(connect: Callable[..., Any], table: str) -> Iterator[None]:
    """Let every statement that reads a table wait."""
    holder = connect(autocommit=False)
    holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    yield
    holder.rollback()


def wait_for(server: Any, condition: str) -> int:
    """Wait until a process of the server meets a condition, and return its number."""
    for _ in range(1200):  # 60 seconds, for slow machines
        rows = server.run(f"SELECT pid FROM pg_stat_activity WHERE {condition}")
        if rows:
            return int(rows[0]["pid"])
        time.sleep(0.05)
    raise AssertionError(f"no process with {condition}")


WAITING = "wait_event_type = 'Lock' AND pid <> pg_backend_pid()"


@pytest.mark.parametrize("end", ["pg_terminate_backend", "pg_cancel_backend"])
def test_a_server_that_stops_in_the_middle(server: Any, connect: Any, end: str) -> None:
    connection = connect()
    with Evaluator(*SMALL, engine=connection) as evaluator, locked(connect, "small.truth"):
        ending = threading.Thread(
            target=lambda: server.run(f"SELECT {end}({wait_for(server, WAITING)})")
        )
        ending.start()
        with pytest.raises(sm.EngineError, match="Postgres stopped") as caught:
            evaluator.evaluate("mrr")
        ending.join()
    assert caught.value.exit_code == 1
    assert connection.closed is (end == "pg_terminate_backend")
    if not connection.closed:
        assert status(connection) == "IDLE"
        assert evaluated(*SMALL, engine=connection) == pytest.approx(MRR)


def test_a_limit_of_time(connect: Any) -> None:
    connection = connect(options="-c statement_timeout=200ms")
    with Evaluator(*SMALL, engine=connection) as evaluator, locked(connect, "small.truth"):
        with pytest.raises(sm.EngineError, match=r"statement timeout.*statement_timeout"):
            evaluator.evaluate("mrr")
        assert status(connection) == "IDLE"


@pytest.mark.parametrize(
    ("role", "options"), [("tests", "-c default_transaction_read_only=on"), ("reader", "")]
)
def test_sessions_that_may_not_write(connect: Any, role: str, options: str) -> None:
    connection = connect(role, options=options)
    with Evaluator(*SMALL, engine=connection) as evaluator:
        assert evaluator.evaluate(["mrr", "n_recommended"]).loc[0, "value"] == (pytest.approx(MRR))
        assert len(evaluator.check())


# ---- what is refused ----------------------------------------------------------------------------


def test_calls_that_need_duckdb(database: Database) -> None:
    with Evaluator(*SMALL, engine=database.connection) as evaluator:
        with pytest.raises(sm.UsageError, match=r"reports and charts need DuckDB.*a database"):
            evaluator.report("mrr")
        with pytest.raises(sm.UsageError, match="write_table needs Spark"):
            evaluator.write_table("x", "mrr")
        with pytest.raises(sm.UsageError, match="with_tables needs DuckDB"):
            evaluator.with_tables(recommendations=LISTS)
    for option in ("threads", "temp_directory"):
        with pytest.raises(sm.UsageError, match=option):
            Evaluator(*SMALL, engine=database.connection, **{option: 2})


def test_engines_and_dialects(connect: Any, url: str) -> None:
    import sqlite3

    import psycopg

    assert evaluated(*SMALL, engine=connect(), dialect="postgres") == pytest.approx(MRR)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"engine": connect(), "dialect": "redshift"}, "does not run statements in redshift"),
        ({"engine": connect(), "dialect": "postgre"}, "unknown dialect 'postgre'; did you mean"),
        ({"engine": connect(), "dialect": "athena"}, r"Evaluator\.sql"),
        ({"engine": connect(), "dialect": "snowflake"}, "the SQL of this connection is postgres"),
        ({"dialect": "postgres"}, "dialect applies only to a connection"),
        ({"engine": "postgres"}, "'postgres' is neither a SparkSession nor a connection"),
        ({"engine": "mysql://me:s3cret@host/db"}, r"mysql://me:\*\*\*@host/db is neither"),
        ({"engine": object()}, "engine must be a SparkSession, a connection"),
        ({"engine": "postgres://me:s3cret@127.0.0.1:1/db"}, r"no connection to postgres://me:\*"),
        ({"engine": "postgres://me:s3c@ret@127.0.0.1:1/db"}, "URL of the database cannot be read"),
        ({"engine": "postgres://me:s3c/ret@127.0.0.1:1/db"}, "URL of the database cannot be read"),
    ]
    for options, told in wrong:
        with pytest.raises(sm.SqlmetricsError, match=told) as caught:
            Evaluator(*SMALL, **options)
        assert "s3c" not in "".join(map(str, (caught.value, caught.value.__cause__)))
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as other,
        pytest.raises(sm.UsageError, match="a connection of sqlite3 is not supported"),
    ):
        Evaluator(*SMALL, engine=other)

    async def asynchronous() -> None:
        async with await psycopg.AsyncConnection.connect(url) as waiting:
            with pytest.raises(sm.UsageError, match="an asynchronous connection of psycopg"):
                Evaluator(*SMALL, engine=waiting)

    asyncio.run(asynchronous())


@pytest.mark.parametrize(
    "version",
    [
        "PostgreSQL 11.22 (Debian) on x86_64",
        "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc, Redshift 1.0.54239",
        "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)",
    ],
)
def test_servers_that_are_not_postgres(
    connection: Any, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    fetch = Connection.fetch

    def answered(driver: Any, statement: str) -> Any:
        return fetch(driver, statement.replace("version()", f"'{version}'"))

    monkeypatch.setattr(Connection, "fetch", answered)
    with pytest.raises(sm.UsageError, match="in Postgres 12 or newer, and the server is"):
        Evaluator(*SMALL, engine=connection)
    assert status(connection) == "IDLE"


# ---- the command line ---------------------------------------------------------------------------


@pytest.fixture(params=["postgres", "clickhouse"])
def served(request: pytest.FixtureRequest) -> tuple[str, Any]:
    """Return the URL of each server, and what runs statements there."""
    if request.param == "postgres":
        return request.getfixturevalue("url"), request.getfixturevalue("server")
    runner = request.getfixturevalue("clickhouse_server")
    return runner.server.url(), runner


def test_the_command_line(served: tuple[str, Any], tmp_path: Path) -> None:
    url, server = served
    before = (left_in_clickhouse if "clickhouse" in url else left)(server)
    record = tmp_path / "record.json"
    result = run("evaluate", "mrr", *GIVEN, "--engine", url, "--format", "csv", "--record", record)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].startswith("mrr,,0.5,3,")
    assert "s3cr" not in record.read_text(encoding="utf-8") + result.output
    again = run("evaluate", "--from-record", record, "--trust-record", "--engine", url)
    assert again.exit_code == 0, again.output
    assert "the same result as in" in again.stderr
    assert run("evaluate", "--from-record", record, "--trust-record").exit_code == 2
    gated = run("evaluate", "mrr", *GIVEN, "--fail-if", "mrr < 0.6", env={"SQLMETRICS_ENGINE": url})
    assert gated.exit_code == 3
    users = run("per-user", "mrr", *GIVEN, "--engine", url, "--format", "csv")
    assert users.stdout.splitlines()[1:] == ["u1,0.5", "u2,1.0", "u4,0.0"]
    models = ("-r", "one=small.recs", "-r", "two=small.recs", "-i", "small.truth")
    compared = run("compare", "mrr", *models, "--baseline", "one", "--engine", url)
    assert compared.exit_code == 0, compared.output
    statement = run("sql", "mrr", *GIVEN, "--engine", url)
    assert server.run(statement.stdout)[0]["value"] == pytest.approx(MRR)
    assert run("check", *GIVEN, "--engine", url).exit_code == 0
    assert (left_in_clickhouse if "clickhouse" in url else left)(server) == before


def test_schemes_in_upper_case(served: tuple[str, Any]) -> None:
    scheme, _, rest = served[0].partition("://")
    assert evaluated(*SMALL, engine=f"{scheme.upper()}://{rest}") == pytest.approx(MRR)


WRONG = [
    (["evaluate", "mrr", "-r", "small.rec"], 1, "no table small.rec; did you mean 'small.recs'"),
    (["evaluate", "mrr", *GIVEN, "--threads", "2"], 2, "--threads: not available with a database"),
    (["evaluate", "mrr", *GIVEN, "--master", "x"], 2, "--master applies to Spark only"),
    (["report", *GIVEN, "-o", "x.html"], 2, "reports and charts need DuckDB"),
]


@pytest.mark.parametrize(("arguments", "code", "told"), WRONG)
def test_wrong_commands(
    served: tuple[str, Any], arguments: list[str], code: int, told: str
) -> None:
    result = run(*arguments, "--engine", served[0])
    assert (result.exit_code, told in result.output) == (code, True), result.output
    assert "s3cr" not in result.output


@pytest.mark.parametrize("engine", ["mysql://me:s3cr@t@host/db", "postgres"])
def test_wrong_engines(engine: str) -> None:
    result = run("evaluate", "mrr", *GIVEN, "--engine", engine)
    assert result.exit_code == 2
    assert "s3cr" not in result.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_statement_in_the_database(
    server: Any, connect: Any, url: str, number: int
) -> None:
    command = [sys.executable, "-m", "sqlmetrics", "evaluate", "mrr", *GIVEN, "--engine", url]
    with locked(connect, "small.truth"):
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            wait_for(server, WAITING)
            os.kill(process.pid, number)
            output = b"".join(process.communicate(timeout=20))
        assert process.returncode == 130, output
        assert b"Traceback" not in output
        for _ in range(100):
            rows = server.run("SELECT 1 AS one FROM pg_stat_activity "
                              "WHERE application_name = 'sqlmetrics'")  # fmt: skip
            if not rows:
                break
            time.sleep(0.05)
        assert not rows


INTERRUPTED = """
import sys
import psycopg
import sqlmetrics as sm

connection = psycopg.connect(sys.argv[1])
with sm.Evaluator(*sys.argv[2:], engine=connection, check=False) as evaluator:
    try:
        evaluator.evaluate("mrr")
    except KeyboardInterrupt:
        print("interrupted", connection.info.transaction_status.name)
query = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sqlmetrics%'"
print(connection.execute(query).fetchone())
"""


def test_an_interrupt_in_python_leaves_the_connection_usable(
    server: Any, connect: Any, url: str
) -> None:
    command = [sys.executable, "-c", INTERRUPTED, url, *SMALL]
    with (
        locked(connect, "small.truth"),
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process,
    ):
        wait_for(server, WAITING)
        os.kill(process.pid, signal.SIGINT)
        output = process.communicate(timeout=20)[0].decode()
    assert output.splitlines() == ["interrupted IDLE", "(0,)"]


# ---- the page -----------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "how-to" / "databases.md").read_text(encoding="utf-8")
SHOWN = "postgres://analyst@db.example.com/shop"


@pytest.fixture
def five_users(server: Any) -> Iterator[None]:
    """Load the tables of the page."""
    server.execute("CREATE SCHEMA shop")
    for name, file, column in (
        ("recs", "recommendations", "score double precision"),
        ("held_out", "interactions", "relevance integer"),
    ):
        server.execute(f"CREATE TABLE shop.{name} (user_id text, item_id text, {column})")
        text = (EXAMPLES / "five_users" / f"{file}.csv").read_text(encoding="utf-8")
        with server.connection.cursor().copy(f"COPY shop.{name} FROM STDIN CSV HEADER") as copy:
            copy.write(text)
    yield
    server.execute("DROP SCHEMA shop CASCADE")


@pytest.mark.usefixtures("five_users")
def test_shell_of_the_page(url: str, tmp_path: Path) -> None:
    blocks = shell_blocks(PAGE, "postgres")
    assert len(blocks) == 2
    for commands, shown in blocks:
        assert SHOWN in commands
        assert shell_output(commands.replace(SHOWN, url), tmp_path) == shown


PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def of_five_users() -> sm.Evaluator:
    return Evaluator(
        *(EXAMPLES / "five_users" / f"{name}.csv" for name in ("recommendations", "interactions"))
    )


@pytest.mark.usefixtures("five_users")
def test_python_of_the_page(url: str) -> None:
    block = PYTHON[0]
    assert SHOWN in block
    names: dict[str, Any] = {}
    with pytest.warns(sm.SqlmetricsWarning, match="The data was not checked"):
        exec(block.replace(SHOWN, url), names)
    with of_five_users() as duckdb:
        assert_same(names["result"], duckdb.evaluate(["map", "recall"], k=3))
        assert_same(names["values"], duckdb.per_user("map", k=3))


@contextlib.contextmanager
def five_users_in_clickhouse(engine: Any) -> Iterator[None]:
    engine.execute("CREATE DATABASE shop")
    for name, file in (("recs", "recommendations"), ("held_out", "interactions")):
        path = EXAMPLES / "five_users" / f"{file}.csv"
        engine.execute(f"CREATE TABLE shop.{name} ENGINE = MergeTree ORDER BY tuple() AS "
                       f"SELECT * FROM file('{path}', CSVWithNames)")  # fmt: skip
    yield
    engine.execute("DROP DATABASE shop")


def test_shell_of_the_page_in_clickhouse(clickhouse_server: Any, tmp_path: Path) -> None:
    ((commands, shown),) = shell_blocks(PAGE, "clickhouse")
    url = "clickhouse://analyst@db.example.com/shop"
    assert url in commands
    with five_users_in_clickhouse(clickhouse_server):
        commands = commands.replace(url, clickhouse_server.server.url())
        assert shell_output(commands, tmp_path) == shown


def test_python_of_the_page_in_clickhouse(chdb: Any) -> None:
    block = PYTHON[1]
    assert '"shop.chdb"' in block
    names: dict[str, Any] = {}
    with five_users_in_clickhouse(chdb), of_five_users() as duckdb:
        with pytest.warns(sm.SqlmetricsWarning, match="The data was not checked"):
            exec(block.replace('"shop.chdb"', '":memory:"'), names)
        assert_same(names["in_clickhouse"], duckdb.evaluate(["map", "recall"], k=3))
        names["connection"].close()


# ---- --verify -----------------------------------------------------------------------------------


def test_verify(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    world = awkward()
    given = names(database.runner, world)
    asked: dict[str, Any] = {"columns": columns(world), "where": {"users": "country <> 'x'"}}
    with Evaluator(**given, **asked, engine=database.connection) as evaluator:
        metrics = ["ndcg", "coverage", "surprisal", "intra_list_diversity"]
        for options in ({}, {"by": "users.country"}):
            assert evaluator.verify(metrics, [1, 5], users=5, **options).empty
    frame = DatabaseEngine.frame

    def wrong(engine: Any, plan: Any) -> pd.DataFrame:
        found = frame(engine, plan)
        return found.assign(value=found["value"].where(found["metric"] != "mrr", 0.25))

    monkeypatch.setattr(DatabaseEngine, "frame", wrong)
    with Evaluator(*SMALL, engine=database.connection) as evaluator:
        (row,) = evaluator.verify(["mrr", "recall"], 3).to_dict("records")
    assert (row["metric"], row["value"]) == ("mrr", 0.25)
    assert row["value_in_duckdb"] == pytest.approx(MRR)
    with (
        Evaluator(LISTS, TRUTH) as duckdb,
        pytest.raises(sm.UsageError, match="verify compares a database"),
    ):
        duckdb.verify("mrr")


def test_verify_of_tables_that_lack_users(shop: Any, connection: Any) -> None:
    """The first user has no history, and is in one of the two models."""
    for name, rows in {
        "recs": "('o''Hara', 'it''1', 1), ('o''Hara', 'x\\y', 2), ('zoe', 'b', 1)",
        "others": "('zoe', 'c', 1), ('zoe', 'b', 2)",
        "truth": "('o''Hara', 'x\\y', 0), ('zoe', 'b', 0)",
        "past": "('zoe', 'c', 0), ('zoe', 'x\\y', 0)",
    }.items():
        columns = '"User Id", "item""id", rank'
        shop(f"CREATE TABLE shop.{name} AS SELECT * FROM (VALUES {rows}) AS r ({columns})")
    shop("CREATE TABLE shop.nothing AS SELECT * FROM shop.past WHERE rank > 9")
    recs, others = "shop.recs", "shop.others"
    columns = {"user_id": "User Id", "item_id": 'item"id'}
    for lists in (recs, {"a": recs, "b": others}, {"a": {"1": recs, "2": others}, "b": recs}):
        tables = {"recommendations": lists, "interactions": "shop.truth", "columns": columns}
        with Evaluator(**tables, history="shop.past", engine=connection) as evaluator:
            assert evaluator.verify(["mrr", "popularity"], 2, users=1).empty
    with (
        Evaluator(**tables, history="shop.nothing", engine=connection) as evaluator,
        pytest.raises(sm.DataError, match=r"^history: the table shop.nothing is empty"),
    ):
        evaluator.verify("mrr", users=1)


def test_verify_on_the_command_line(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("evaluate", "mrr", "recall", *GIVEN, "--engine", url, "--verify", "--format", "csv")
    result = run(*asked)
    assert result.exit_code == 0, result.output
    assert "all values equal those of DuckDB" in result.stderr
    frame = DatabaseEngine.frame
    monkeypatch.setattr(
        DatabaseEngine, "frame", lambda engine, plan: frame(engine, plan).assign(value=0.25)
    )
    result = run(*asked)
    assert result.exit_code == 1, result.output
    assert "mrr,,0.25,0.5,3" in result.stdout
