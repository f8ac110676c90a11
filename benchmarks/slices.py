"""Cost of every slice and of every pair of slices, compared with the metrics without slices.

    python benchmarks/slices.py [--users 1000 50000] [--per-user 100] [--repeats 1]
        [--data FOLDER] [--temp-limit 500MB]

Each case is `evaluate` with a new evaluator: tables in files or data frames, one or three models,
one or two slices. Its cost is compared with that of the statement that `sqlmetrics sql` prints for
it (including printing, run in a new connection), and with that of the same evaluation without
slices, times the number of slices that a user can be in. Costs are CPU seconds; temporary files are
limited to `--temp-limit`. The tables are the package's demo data, or those of `--data`, a folder
with files of the same names (`test` and `train` may replace interactions and history).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
from timing import cpu

import sqlmetrics as sm
from sqlmetrics.run.demo import write_demo

METRICS = ["recall@10", "ndcg@10", "map@10"]
OF_USERS = ("activity", "activity_group", "country", "gender")
OF_ITEMS = ("popularity", "month", "items.category", "items.genres")
LEAST = 0.05  # CPU seconds; ratios of smaller costs are not meaningful


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, nargs="+", default=[1000, 50_000])
    parser.add_argument("--per-user", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder with tables to use instead of demo data")
    parser.add_argument("--month", default="month", help="spelling of the slice by month")
    parser.add_argument("--temp-limit", default="500MB")
    options = parser.parse_args()
    warnings.simplefilter("ignore", sm.SqlmetricsWarning)
    if options.data:
        report(options.data, options)
        return
    for users in options.users:
        with tempfile.TemporaryDirectory() as folder:
            write_demo(Path(folder), users=users, per_user=options.per_user)
            report(Path(folder), options)


def report(folder: Path, options: argparse.Namespace) -> None:
    """Measure every case and print a row for each."""
    print(f"\n{'tables':7} {'models':>6} {'slices':45} {'rows':>5} {'CPU s':>7} {'s':>6} "
          f"{'x printed':>9} {'x unsliced':>10}")  # fmt: skip
    worst: dict[str, float] = {}
    for kind, n_models in itertools.product(("files", "frames"), (1, 3)):
        given = tables(folder, kind, n_models)
        whole = statistics.median(
            evaluated(given, None, options)[1] for _ in range(options.repeats + 1)
        )
        for by in cases(given, options.month):
            runs = [evaluated(given, by, options) for _ in range(options.repeats)]
            frame, spent, clock = runs[len(runs) // 2]
            spent = statistics.median(run[1] for run in runs)
            columns = [name.removeprefix("items.").partition("(")[0] for name in by]
            of_items = [name for name in columns if name not in OF_USERS]
            n_slices = len(frame[of_items].drop_duplicates()) if of_items else 1
            alone = printed(given, by, options)
            ratios = (
                spent / max(alone, LEAST),
                spent / max(whole * n_slices, LEAST),
            )
            print(f"{kind:7} {n_models:6} {', '.join(by):45} {len(frame):5} {spent:7.2f} "
                  f"{clock:6.2f} {ratios[0]:9.2f} {ratios[1]:10.2f}", flush=True)  # fmt: skip
            for name, ratio in zip(("printed", "unsliced"), ratios, strict=True):
                worst[name] = max(worst.get(name, 0.0), ratio)
    print("\nthe largest ratios: " + ", ".join(f"x {n} {r:.2f}" for n, r in worst.items()))


def tables(folder: Path, kind: str, n_models: int) -> dict[str, Any]:
    """Return the paths of the tables in a folder, or read them into data frames."""
    lists = sorted(folder.glob("rec*_*.parquet"))[:n_models]
    models = {path.stem.rpartition("_")[2]: read(path, kind) for path in lists}
    others = {"interactions": ("test", "interactions"), "history": ("train", "history"),
              "items": ("items",), "users": ("users",)}  # fmt: skip
    found = {
        table: next(path for name in names if (path := folder / f"{name}.parquet").exists())
        for table, names in others.items()
    }
    lists_given = models if n_models > 1 else next(iter(models.values()))
    return {"recommendations": lists_given, **{t: read(path, kind) for t, path in found.items()}}


def read(path: Path, kind: str) -> Any:
    return pd.read_parquet(path) if kind == "frames" else str(path)


def cases(given: dict[str, Any], month: str) -> Iterator[tuple[str, ...]]:
    """Yield every slice that the tables support, then every pair."""
    known = {name: list(duckdb.from_df(table).columns) if isinstance(table, pd.DataFrame)
             else duckdb.read_parquet(table).columns
             for name, table in given.items() if name in ("items", "users")}  # fmt: skip
    there = {"activity", "activity_group", "popularity", "month", *known["users"]}
    there |= {f"items.{column}" for column in known["items"]}
    singles = [name for name in (*OF_USERS, *OF_ITEMS) if name in there]
    singles = [month if name == "month" else name for name in singles]
    yield from ((name,) for name in singles)
    yield from itertools.combinations(singles, 2)


def limited(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace) -> None:
    connection.execute(f"SET max_temp_directory_size = '{options.temp_limit}'")


def evaluated(
    given: dict[str, Any], by: tuple[str, ...] | None, options: argparse.Namespace
) -> tuple[pd.DataFrame, float, float]:
    """Evaluate once with a new evaluator; return the result, CPU seconds and seconds."""
    with sm.Evaluator(**given) as evaluator:
        limited(evaluator.engine.connection, options)
        start, began = cpu(), time.perf_counter()
        frame = evaluator.evaluate(METRICS, by=by)
        return frame, cpu() - start, time.perf_counter() - began


def printed(given: dict[str, Any], by: tuple[str, ...], options: argparse.Namespace) -> float:
    """Return the CPU seconds of printing the statement and running it."""
    with sm.Evaluator(**given) as evaluator:
        start = cpu()
        statement = evaluator.sql(METRICS, by=by, physical=True)
        spent = cpu() - start
        frames = dict(evaluator.engine._bound)
    with duckdb.connect() as connection:
        limited(connection, options)
        for name, table in frames.items():
            connection.register(name, table)
        start = cpu()
        connection.execute(statement).fetchall()
        return spent + cpu() - start


if __name__ == "__main__":
    main()
