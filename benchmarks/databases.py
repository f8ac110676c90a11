"""Cost of an evaluation inside a database, against an export that DuckDB evaluates.

    python benchmarks/databases.py postgres://… [--users 20000] [--per-user 50] [--repeats 3]
    python benchmarks/databases.py clickhouse://…
    python benchmarks/databases.py chdb

The script loads the lists, held-out interactions and histories of the package's demo data into a
new schema of the database, which it drops at the end. It then computes the same metrics, without
data checks, in two ways: inside the database, and with DuckDB from Parquet files, which are made of
the output of COPY (Postgres) or are the output of the database (ClickHouse). It prints medians of
wall-clock seconds and the bytes that leave the database, and checks that the values agree.
"""

from __future__ import annotations

import argparse
import io
import platform
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pandas as pd
import pyarrow.csv
import pyarrow.parquet as pq

import sqlmetrics as sm
from sqlmetrics.run.demo import write_demo

TABLES = {
    "recommendations_als": ("user_id", "item_id", "score"),
    "interactions": ("user_id", "item_id", "relevance"),
    "history": ("user_id", "item_id"),
}
METRICS = ["ndcg", "recall", "precision", "map", "mrr", "hit_rate"]
CUTOFFS = [5, 10, 20]
FURTHER = [*METRICS, "coverage", "gini", "surprisal"]


class Postgres:
    """A server of Postgres."""

    def __init__(self, url: str) -> None:
        import psycopg

        self.connection = psycopg.connect(url, autocommit=True)
        self.title = f"Postgres {self.connection.info.server_version // 10_000}"

    def execute(self, statement: str) -> None:
        self.connection.execute(statement)

    def create_schema(self, schema: str) -> None:
        self.execute(f"CREATE SCHEMA {schema}")

    def drop_schema(self, schema: str) -> None:
        self.execute(f"DROP SCHEMA {schema} CASCADE")

    def load(self, name: str, table: pyarrow.Table) -> None:
        kinds = {"string": "text", "double": "double precision"}
        columns = ", ".join(
            f"{field.name} {kinds.get(str(field.type), 'bigint')}" for field in table.schema
        )
        self.execute(f"CREATE TABLE {name} ({columns})")
        text = io.BytesIO()
        without_header = pyarrow.csv.WriteOptions(include_header=False)
        pyarrow.csv.write_csv(table, text, without_header)
        with self.connection.cursor().copy(f"COPY {name} FROM STDIN CSV") as copy:
            copy.write(text.getvalue())
        self.execute(f"ANALYZE {name}")

    def export(self, query: str, file: Path) -> int:
        """Write the rows of a query to a Parquet file; return the bytes that leave the database."""
        csv, size = file.with_suffix(".csv"), 0
        copied = f"COPY ({query}) TO STDOUT CSV HEADER"
        with csv.open("wb") as target, self.connection.cursor().copy(copied) as copy:
            for block in copy:
                size += target.write(block)
        pq.write_table(pyarrow.csv.read_csv(csv), file)
        return size


class ClickHouse:
    """A server of ClickHouse, or chDB in this process."""

    def __init__(self, url: str) -> None:
        import clickhouse_connect

        if url == "chdb":
            import chdb

            self.client = clickhouse_connect.get_client(interface="chdb")
            self.connection = chdb.connect(":memory:")
        else:
            parts = urlsplit(url)
            self.connection = self.client = clickhouse_connect.get_client(
                host=parts.hostname,
                port=parts.port,
                username=unquote(parts.username or "default"),
                password=unquote(parts.password or ""),
            )
        self.title = f"ClickHouse {self.client.server_version}"

    def create_schema(self, schema: str) -> None:
        self.client.command(f"CREATE DATABASE {schema}")

    def drop_schema(self, schema: str) -> None:
        self.client.command(f"DROP DATABASE {schema}")

    def load(self, name: str, table: pyarrow.Table) -> None:
        kinds = {"string": "String", "double": "Float64"}
        columns = ", ".join(
            f"{field.name} {kinds.get(str(field.type), 'Int64')}" for field in table.schema
        )
        self.client.command(
            f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY (user_id, item_id)"
        )
        held = io.BytesIO()
        pq.write_table(table, held)
        self.client.raw_insert(name, insert_block=held.getvalue(), fmt="Parquet")

    def export(self, query: str, file: Path) -> int:
        """Write the rows of a query to a Parquet file; return the bytes that leave the database."""
        return file.write_bytes(self.client.raw_query(query, fmt="Parquet"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", help="postgres://…, clickhouse://… or chdb")
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--per-user", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    schema = f"sqlmetrics_{uuid.uuid4().hex[:8]}"
    is_postgres = options.url.startswith("postgres")
    database: Any = Postgres(options.url) if is_postgres else ClickHouse(options.url)
    with tempfile.TemporaryDirectory() as folder:
        write_demo(Path(folder), users=options.users, per_user=options.per_user, models=1)
        database.create_schema(schema)
        try:
            counts = load(database, schema, Path(folder))
            report(database, schema, Path(folder), counts, options.repeats)
        finally:
            database.drop_schema(schema)


def load(database: Any, schema: str, folder: Path) -> dict[str, int]:
    """Create the tables and return their numbers of rows."""
    counts = {}
    for name, wanted in TABLES.items():
        table = pq.read_table(folder / f"{name}.parquet", columns=list(wanted))
        database.load(f"{schema}.{name}", table)
        counts[name] = table.num_rows
    return counts


def export(database: Any, schema: str, folder: Path) -> int:
    """Write the tables to Parquet files; return the number of bytes that leave the database."""
    return sum(
        database.export(
            f"SELECT {', '.join(wanted)} FROM {schema}.{name}", folder / f"{name}.parquet"
        )
        for name, wanted in TABLES.items()
    )


def report(database: Any, schema: str, folder: Path, counts: dict[str, int], repeats: int) -> None:
    rows = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"{rows}; {database.title}, {platform.machine()}")
    for metrics in (METRICS, FURTHER):
        names = {name: f"{schema}.{name}" for name in TABLES}
        files = {name: str(folder / f"{name}.parquet") for name in TABLES}
        moved = [0]

        def inside(names: dict[str, str] = names, metrics: list[str] = metrics) -> Any:
            return evaluate(names, metrics, engine=database.connection)

        def outside(
            files: dict[str, str] = files,
            metrics: list[str] = metrics,
            moved: list[int] = moved,
        ) -> Any:
            moved[0] = export(database, schema, folder)
            return evaluate(files, metrics)

        values = {}
        for title, call in ((f"inside {database.title}", inside), ("export and DuckDB", outside)):
            values[title], seconds = timed(call, repeats)
            size = moved[0] or len(values[title].to_csv())
            print(f"  {len(metrics)} metrics, {title}: {seconds:.1f} s, {size:,} bytes moved")
        pd.testing.assert_frame_equal(*values.values(), check_exact=False, rtol=1e-9)


def evaluate(tables: dict[str, str], metrics: list[str], **more: Any) -> pd.DataFrame:
    lists, truth, history = tables.values()
    with sm.Evaluator(lists, truth, history=history, check=False, **more) as evaluator:
        return evaluator.evaluate(metrics, CUTOFFS)


def timed(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Return the result of a call, and the median of its seconds after a warm-up."""
    result, seconds = call(), []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return result, statistics.median(seconds)


if __name__ == "__main__":
    main()
