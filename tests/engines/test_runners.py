"""The runners give what they were given, and engines differ where they are known to.

Where engines differ by what they come with (the order of texts and of NULLs, joins without NULLs),
a runner that hid the difference would hide the errors that the dialects are to be free of.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from tests.engines import jvm, postgres_server
from tests.engines.runners import ENGINES, Engine, EngineMissing, Postgres, rows_of, start
from tests.engines.spark_process import SparkError, SparkProcess
from tests.support.paths import ROOT

AWKWARD = 'My "recs" `of` o\'clock \\ 2'
COLUMNS = ["User Id", "order", 'the "price"', "`text` \\", "WHEN"]
KINDS = [pa.int64(), pa.int32(), pa.float64(), pa.string(), pa.timestamp("us")]
ROWS: list[tuple[Any, ...]] = [
    (2**53 + 1, 1, 0.1, "é 'x'\n\\", datetime(2024, 2, 29, 23, 59, 59, 123456)),
    (-5, None, -math.inf, "", None),
    (None, -(2**31), None, None, datetime(1969, 12, 31, 1, 2, 3)),
    (0, 0, math.nan, "NULL", datetime(2024, 7, 1)),  # midnight where summer time may shift it
]


def table(names: list[str], kinds: list[pa.DataType], rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip(names, arrays, strict=True)))


def same(rows: list[dict[str, object]], expected: list[dict[str, object]]) -> bool:
    """Compare rows in any order; NaN is NaN, and 1 is not 1.0."""
    return sorted(map(repr, rows)) == sorted(map(repr, expected))


# ---------------------------------------------------------------- every engine


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], []], ids=["all", "one", "none"])
def test_tables_come_back_as_they_were_given(engine: Engine, rows: list[tuple[Any, ...]]) -> None:
    engine.load({AWKWARD: table(COLUMNS, KINDS, rows)})
    found = engine.run(f"SELECT * FROM {engine.quoted(AWKWARD)};\n")
    assert same(found, [dict(zip(COLUMNS, row, strict=True)) for row in rows])


def test_arrays_come_back_as_they_were_given(engine: Engine) -> None:
    columns = {"items": pa.list_(pa.int64()), "texts": pa.list_(pa.string())}
    rows = [([3, 1, 2], ["b", "a"]), ([], ["", "x"])]
    engine.load({"lists": table(list(columns), list(columns.values()), rows)})
    found = engine.run("SELECT items, texts FROM lists")
    assert same(found, [dict(zip(columns, row, strict=True)) for row in rows])


RECS = table(
    ["User Id", "item", "order"],
    [pa.int64(), pa.string(), pa.int32()],
    [(1, "b", 1), (1, "a", 2), (2, "B", 1), (None, "A", 2)],
)
PRICES = table(["item", "from"], [pa.string(), pa.float64()], [("a", 1.5), ("B", 2.5)])

JOIN = """
SELECT
    r.{user_id} AS user_id,
    r.item AS item,
    row_number() OVER (PARTITION BY r.{user_id} ORDER BY r.{order} DESC) AS place,
    p.{price} AS price
FROM {recs} AS r
LEFT JOIN {prices} AS p ON r.item = p.item
ORDER BY {text}
"""


def joined(engine: Engine, text: str = "r.item", suffix: str = "") -> list[dict[str, object]]:
    engine.load({"My recs": RECS, "select": PRICES})
    names = {"user_id": "User Id", "order": "order", "recs": "My recs", "prices": "select"}
    quoted = {word: engine.quoted(name) for word, name in {**names, "price": "from"}.items()}
    return engine.run(JOIN.format(**quoted, text=text) + suffix)


def row(user_id: int | None, item: str, place: int, price: float | None) -> dict[str, object]:
    return {"user_id": user_id, "item": item, "place": place, "price": price}


def test_a_join_a_window_and_the_order_of_texts(engine: Engine) -> None:
    without = 0.0 if engine.name == "clickhouse" else None  # an item that has no price
    in_bytes = [
        row(None, "A", 1, without),
        row(2, "B", 1, 2.5),
        row(1, "a", 1, 1.5),
        row(1, "b", 2, without),
    ]
    found = joined(engine)
    if isinstance(engine, Postgres) and engine.server.text_order != "C":
        assert [line["item"] for line in found] == ["a", "A", "b", "B"]
        found = joined(engine, 'r.item COLLATE "C"')
    assert found == in_bytes


def test_clickhouse_joins_with_nulls_where_the_statement_says_so(
    engines: Callable[[str], Engine],
) -> None:
    found = joined(engines("clickhouse"), suffix="SETTINGS join_use_nulls = 1")
    assert [line["price"] for line in found] == [None, 2.5, 1.5, None]


def test_the_order_of_nulls(engine: Engine) -> None:
    engine.load({"numbers": table(["n"], [pa.int64()], [(2,), (None,), (1,)])})
    found = [line["n"] for line in engine.run("SELECT n FROM numbers ORDER BY n")]
    assert found == ([None, 1, 2] if engine.name == "spark" else [1, 2, None])


def test_decimals_are_floats_and_sums_are_numbers(engine: Engine) -> None:
    engine.load({"numbers": table(["n"], [pa.int64()], [(2**62,), (2**62 - 1,)])})
    (found,) = engine.run(
        "SELECT CAST(0.25 AS DECIMAL(10, 2)) AS quarter, sum(n) AS total, max(n) AS most"
        " FROM numbers"
    )
    assert repr(found["quarter"]) == "0.25"
    assert found["total"] == pytest.approx(2**63 - 1)  # a float where the engine has a decimal
    assert found["most"] == 2**62


def test_a_table_takes_the_place_of_one_and_schemas_are_apart(engine: Engine) -> None:
    first, second, third = (table(["n"], [pa.int64()], [(n,)]) for n in (1, 2, 3))
    engine.load({"numbers": first})
    engine.load({"numbers": second})
    engine.load({"numbers": first}, schema="other_schema")
    engine.load({"numbers": third}, schema="other_schema")
    assert engine.run("SELECT n FROM numbers") == [{"n": 2}]
    assert engine.run("SELECT n FROM other_schema.numbers") == [{"n": 3}]


def test_a_statement_that_fails_leaves_the_engine_usable(engine: Engine) -> None:
    with pytest.raises(Exception, match="no_such_table"):
        engine.run("SELECT n FROM no_such_table")
    assert engine.run("SELECT 1 AS n") == [{"n": 1}]


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="columns of one name"):
        rows_of(["n", "n"], [(1, 2)])


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("duckdb", "duckdb"),
        ("postgres", "psycopg"),
        ("clickhouse", "chdb.session"),
        ("datafusion", "datafusion"),
        ("spark", "pyspark.sql"),
    ],
)
def test_what_is_not_installed_is_said(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert name in ENGINES
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EngineMissing, match=rf"{name}: .*{module}.* pip install"):
        start(name)


# ---------------------------------------------------------------- 128-bit integers


@pytest.mark.parametrize(("name", "kind"), [("duckdb", "HUGEINT"), ("clickhouse", "Int128")])
def test_integers_of_128_bits(engines: Callable[[str], Engine], name: str, kind: str) -> None:
    literals = {"small": "-3", "large": "'170141183460469231731687303715884105727'"}
    columns = ", ".join(f"CAST({value} AS {kind}) AS {key}" for key, value in literals.items())
    (found,) = engines(name).run(f"SELECT {columns}")
    assert found == {"small": -3, "large": pytest.approx(2.0**127)}


# ---------------------------------------------------------------- the server of Postgres


def test_psql_reads_the_tables(engines: Callable[[str], Engine]) -> None:
    engine = engines("postgres")
    assert isinstance(engine, Postgres)
    engine.load({"numbers": table(["n"], [pa.int64()], [(7,)])})
    psql = engine.server.psql()
    assert psql is not None, "the programs of a Postgres server come with psql"
    for statement, said, status in (("SELECT n FROM numbers;", "7\n", 0), ("SELECT x;", "", 3)):
        run = subprocess.run(
            [*psql, "--tuples-only", "--no-align"],
            input=statement,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert (run.stdout, run.returncode) == (said, status), run.stderr


@pytest.mark.parametrize("may_run", [True, False], ids=["in its place", "copied"])
def test_the_server_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may_run: bool
) -> None:
    monkeypatch.setattr(shutil, "which", {}.get)  # finds no program
    monkeypatch.setattr(postgres_server, "SYSTEM", tmp_path)
    assert postgres_server.programs() == postgres_server.packaged()
    if not may_run:
        monkeypatch.setattr(postgres_server, "_may_run", lambda *_: False)
    server = postgres_server.PostgresServer()
    folder = server.folder
    try:
        with psycopg.connect(server.connection()) as connection:
            assert connection.execute("SELECT 1 + 1").fetchall() == [(2,)]
        assert may_run or folder in server.programs.parents
    finally:
        server.stop()
    assert not folder.exists()


def test_the_server_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import time; from tests.engines.postgres_server import PostgresServer;"
        " server = PostgresServer(); print(server.connection());"
        " print(server.folder, flush=True); time.sleep(600)"
    )
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with process:
        assert process.stdout is not None
        connection = process.stdout.readline()
        folder = Path(process.stdout.readline().strip())
        psycopg.connect(connection).close()
        assert folder.exists()
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not folder.exists()


# ---------------------------------------------------------------- Java, and Spark elsewhere


def test_the_wrapper_of_java_drops_one_option_and_keeps_the_others(tmp_path: Path) -> None:
    home = jvm.wrapper(tmp_path)
    assert (jvm.version_of(home) or 0) >= jvm.OLDEST
    run = subprocess.run(
        [
            home / "bin" / "java",
            "-Dfirst=two words",
            "--add-modules=jdk.incubator.vector",
            '-Dsecond=$HOME "quoted"',
            "-XshowSettings:properties",
            "-version",
        ],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    properties = [line.strip() for line in run.stderr.splitlines()]
    assert "first = two words" in properties
    assert 'second = $HOME "quoted"' in properties


def test_a_java_that_is_too_old_or_broken_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    (old / "bin").mkdir(parents=True)
    java = old / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    assert jvm.version_of(old) == 8
    assert jvm.version_of(tmp_path / "none") is None
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(old / "bin"))
    monkeypatch.setattr(jvm, "wrapper", lambda folder: folder / "wrapped")
    assert jvm.java_home(tmp_path) == tmp_path / "wrapped"


HITS = """
SELECT count(*) AS items, sum(hits) AS hits
FROM (
    SELECT r.item_id, count(*) AS hits
    FROM `my recs` AS r
    INNER JOIN truth AS t ON r.user_id = t.user_id AND r.item_id = t.item_id
    GROUP BY r.item_id
) AS by_item
"""


def lists(step: int) -> pa.Table:
    pairs = [(n % 200, n * step % 531) for n in range(4000)]
    return table(["user_id", "item_id"], [pa.int64(), pa.int64()], pairs)


def hits_by_hand() -> dict[str, int]:
    truth = lists(11).to_pylist()
    found = [
        recommended["item_id"]
        for recommended in lists(7).to_pylist()
        for other in truth
        if recommended == other
    ]
    return {"items": len(set(found)), "hits": len(found)}


def kind_of_session(session: Any, setting: str) -> tuple[str, str]:
    return type(session).__module__, session.conf.get(setting)


def test_the_cluster_shares_the_work(spark_cluster: SparkProcess) -> None:
    spark_cluster.load({"my recs": lists(7), "truth": lists(11)})
    spark_cluster.work()
    assert spark_cluster.run(HITS) == [hits_by_hand()]
    work = spark_cluster.work()
    # an executor that the machine ends is replaced by another one, and its tasks are done again
    assert len(work.tasks) >= 2
    assert work.remote_bytes > 0
    assert work.local_bytes > 0
    # and what needs no other executor is seen to need none
    assert len(spark_cluster.run("SELECT user_id FROM truth WHERE item_id = 11")) == 8
    idle = spark_cluster.work()
    assert sum(idle.tasks.values()) >= 4  # one for each file
    assert (idle.remote_bytes, idle.local_bytes) == (0, 0)


def test_a_function_is_given_the_session_of_the_cluster(spark_cluster: SparkProcess) -> None:
    module, partitions = spark_cluster.call(kind_of_session, "spark.sql.shuffle.partitions")
    assert module == "pyspark.sql.session"
    assert partitions == "4"


def test_spark_connect(spark_connect: SparkProcess) -> None:
    module, partitions = spark_connect.call(kind_of_session, "spark.sql.shuffle.partitions")
    assert module == "pyspark.sql.connect.session"
    assert partitions == "2"
    spark_connect.load({"my recs": lists(7), "truth": lists(11)})
    assert spark_connect.run(HITS) == [hits_by_hand()]
    spark_connect.load({AWKWARD: table(COLUMNS, KINDS, ROWS)})
    found = spark_connect.run(f"SELECT * FROM {spark_connect.quoted(AWKWARD)}")
    assert same(found, [dict(zip(COLUMNS, row, strict=True)) for row in ROWS])
    with pytest.raises(SparkError, match=r"AnalysisException: .*`no_such_table`"):
        spark_connect.run("SELECT user_id FROM no_such_table")
