"""Bytes that a run on Spark reads, sends between tasks and spills, per row and with skew.

    python benchmarks/spark_scale.py [--users 1e4 1e5 1e6] [--metrics ndcg@10 recall@10]

Lists of 100 items with scores, and ten held-out items per user, are evaluated without data checks.
The numbers are sums over all tasks, from the event log of Spark. Two cases have skew: half
of all held-out rows have one of five items; one user has as many listed items more as 3 % of all
users together. A row of the output has the case, rows of the lists, stages,
CPU seconds of tasks, seconds of the longest task, and bytes per row of the lists: read, sent,
spilled. Needs the extra `spark`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession

import sqlmetrics as sm

PER_USER = 100
ITEMS = 100_003  # a prime, so that the items of a list are different
LISTS = """
COPY (
    SELECT users.user_id, (places.place * 7919 + users.user_id * 31) % {items} AS item_id,
        (places.place * 7919 + users.user_id * 104729) % 1000003 / 1e6 AS score
    FROM range({users}) AS users (user_id), range({per_user}) AS places (place)
    {more}
) TO '{file}' (FORMAT parquet)
"""
LONG_LIST = """
    UNION ALL
    SELECT -1, {items} + range, range * 7919 % 1000003 / 1e6 FROM range({long})
"""
TRUTH = """
COPY (
    SELECT users.user_id,
        CASE WHEN {skewed} AND places.place % 2 = 0 THEN 7 + places.place * {items}
        ELSE (places.place * 31 * 7919 + users.user_id * 31) % {items} END AS item_id
    FROM range(-1, {users}) AS users (user_id), range(10) AS places (place)
) TO '{file}' (FORMAT parquet)
"""
CASES = {"even": (False, False), "one item": (True, False), "one user": (False, True)}


@dataclass
class Totals:
    """Sums over the tasks of a run; bytes, CPU nanoseconds, and milliseconds of the longest."""

    stages: int = 0
    cpu: int = 0
    longest: int = 0
    read: int = 0
    sent: int = 0
    spilled: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", nargs="+", type=float, default=[1e4, 1e5, 1e6])
    parser.add_argument("--metrics", nargs="+", default=["ndcg@10", "recall@10"])
    parser.add_argument("--memory", default="4g", help="memory of the one process of Spark")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {options.memory}, metrics {' '.join(options.metrics)}")
    print(f"{'case':9} {'rows':>12} {'s':>6} {'stages':>6} {'CPU s':>7} {'longest s':>9} "
          f"{'read':>6} {'sent':>6} {'spilled':>7}")  # fmt: skip
    for users in map(int, options.users):
        for name in CASES if users == int(max(options.users)) else ["even"]:
            with tempfile.TemporaryDirectory() as folder:
                rows = write_tables(Path(folder), users, *CASES[name])
                seconds, found = measured(Path(folder), options.metrics, options.memory)
            per_row = [f"{number / rows:.1f}" for number in (found.read, found.sent, found.spilled)]
            print(f"{name:9} {rows:12,} {seconds:6.1f} {found.stages:6} {found.cpu / 1e9:7.1f} "
                  f"{found.longest / 1e3:9.1f} {per_row[0]:>6} {per_row[1]:>6} {per_row[2]:>7}",
                  flush=True)  # fmt: skip


def write_tables(folder: Path, users: int, one_item: bool, one_user: bool) -> int:
    """Write the tables, and return the number of rows of the lists."""
    long = int(users * PER_USER * 0.03) if one_user else 0
    common = {"items": ITEMS, "users": users, "per_user": PER_USER, "long": long}
    more = LONG_LIST.format(**common) if one_user else ""
    with duckdb.connect() as shell:
        shell.execute(LISTS.format(file=folder / "lists.parquet", more=more, **common))
        shell.execute(TRUTH.format(file=folder / "truth.parquet", skewed=one_item, **common))
    return users * PER_USER + long


def measured(folder: Path, metrics: list[str], memory: str) -> tuple[float, Totals]:
    """Evaluate the tables of a folder, and return the seconds and the totals of all tasks."""
    log = folder / "log"
    log.mkdir()
    settings = {
        "spark.driver.memory": memory, "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.rolling.enabled": "false", "spark.local.dir": str(folder),
        "spark.eventLog.compress": "false",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    started = time.monotonic()
    with sm.Evaluator(
        str(folder / "lists.parquet"), str(folder / "truth.parquet"), engine=spark,
        trust_input=True,
    ) as evaluator:  # fmt: skip
        evaluator.evaluate(metrics)
    seconds = time.monotonic() - started
    spark.stop()
    return seconds, totals_of(log)


def totals_of(log: Path) -> Totals:
    """Add up the tasks of an event log."""
    found = Totals()
    for line in next(log.iterdir()).read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        found.stages += event["Event"] == "SparkListenerStageCompleted"
        task = event.get("Task Metrics") if event["Event"] == "SparkListenerTaskEnd" else None
        if task is not None:
            found.cpu += task["Executor CPU Time"]
            found.longest = max(found.longest, task["Executor Run Time"])
            found.read += task["Input Metrics"]["Bytes Read"]
            found.sent += task["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            found.spilled += task["Disk Bytes Spilled"]
    return found


if __name__ == "__main__":
    main()
