"""Cost of an evaluation inside Postgres, against an export that DuckDB evaluates.

    python benchmarks/databases.py URL [--users 20000] [--per-user 50] [--repeats 3]

The script loads the lists, held-out interactions and histories of the package's demo data into a
new schema of the database, which it drops at the end. It then computes the same metrics, without
data checks, in two ways: inside the database, and with DuckDB from Parquet files, which are made of
the output of COPY. It prints medians of wall-clock seconds and the bytes that leave the database,
and checks that the values agree.
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

import pandas as pd
import psycopg
import pyarrow.csv
import pyarrow.parquet as pq

import sqlmetrics as sm
from sqlmetrics.demo import write_demo

TABLES = {
    "recommendations_als": "user_id bigint, item_id bigint, score double precision",
    "interactions": "user_id bigint, item_id bigint, relevance bigint",
    "history": "user_id bigint, item_id bigint",
}
METRICS = ["ndcg", "recall", "precision", "map", "mrr", "hit_rate"]
CUTOFFS = [5, 10, 20]
FURTHER = [*METRICS, "coverage", "gini", "surprisal"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", help="postgres://…")
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--per-user", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    schema = f"sqlmetrics_{uuid.uuid4().hex[:8]}"
    with (
        tempfile.TemporaryDirectory() as folder,
        psycopg.connect(options.url, autocommit=True) as connection,
    ):
        write_demo(Path(folder), users=options.users, per_user=options.per_user, models=1)
        connection.execute(f"CREATE SCHEMA {schema}")
        try:
            counts = load(connection, schema, Path(folder))
            report(connection, schema, Path(folder), counts, options.repeats)
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


def load(connection: Any, schema: str, folder: Path) -> dict[str, int]:
    """Create the tables and return their numbers of rows."""
    counts = {}
    for name, columns in TABLES.items():
        wanted = [column.split()[0] for column in columns.split(", ")]
        table = pq.read_table(folder / f"{name}.parquet", columns=wanted)
        columns = columns.replace("bigint, item", f"{_type(table, 0)}, item", 1)
        columns = columns.replace("item_id bigint", f"item_id {_type(table, 1)}")
        connection.execute(f"CREATE TABLE {schema}.{name} ({columns})")
        text = io.BytesIO()
        without_header = pyarrow.csv.WriteOptions(include_header=False)
        pyarrow.csv.write_csv(table, text, without_header)
        with connection.cursor().copy(f"COPY {schema}.{name} FROM STDIN CSV") as copy:
            copy.write(text.getvalue())
        counts[name] = table.num_rows
    connection.execute("ANALYZE")
    return counts


def _type(table: Any, place: int) -> str:
    return "text" if str(table.schema.types[place]) == "string" else "bigint"


def export(connection: Any, schema: str, folder: Path) -> int:
    """Write the tables to Parquet files; return the number of bytes that leave the database."""
    size = 0
    for name, columns in TABLES.items():
        wanted = ", ".join(column.split()[0] for column in columns.split(", "))
        query = f"COPY (SELECT {wanted} FROM {schema}.{name}) TO STDOUT CSV HEADER"
        csv = folder / f"{name}.csv"
        with csv.open("wb") as file, connection.cursor().copy(query) as copy:
            for block in copy:
                size += file.write(block)
        pq.write_table(pyarrow.csv.read_csv(csv), folder / f"{name}.parquet")
    return size


def report(
    connection: Any, schema: str, folder: Path, counts: dict[str, int], repeats: int
) -> None:
    rows = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    server = connection.info.server_version // 10_000
    print(f"{rows}; Postgres {server}, {platform.machine()}")
    for metrics in (METRICS, FURTHER):
        names = {name: f"{schema}.{name}" for name in TABLES}
        files = {name: str(folder / f"{name}.parquet") for name in TABLES}

        def inside(names: dict[str, str] = names, metrics: list[str] = metrics) -> Any:
            return evaluate(names, metrics, engine=connection)

        def outside(files: dict[str, str] = files, metrics: list[str] = metrics) -> Any:
            export(connection, schema, folder)
            return evaluate(files, metrics)

        values = {}
        for title, call in (("inside Postgres", inside), ("export and DuckDB", outside)):
            values[title], seconds = timed(call, repeats)
            moved = export(connection, schema, folder) if title != "inside Postgres" else 0
            moved = moved or len(values[title].to_csv())
            print(f"  {len(metrics)} metrics, {title}: {seconds:.1f} s, {moved:,} bytes moved")
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
