"""Cost of a comparison with resampling, as a multiple of computing the metrics alone.

    python benchmarks/compare_cost.py [--users 100000] [--per-user 100] [--repeats 3]
        [--memory-limit 4GB]

`evaluate` computes two metrics of every model. `compare` compares all models with the last one by
the same metrics, with bootstrap intervals and p-values. The calls run alternately, each in a
separate Python process. The script prints medians of CPU seconds without imports and of the peak
memory of the process. It writes the tables from the package's demo data to a temporary directory,
or to `--data` unless they exist there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from timing import cpu

import sqlmetrics as sm
from sqlmetrics.run.demo import write_demo

MODELS = ("als", "item_knn", "popular")
METRICS = ["ndcg@10", "recall@10"]
CALLS = ("evaluate", "compare")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--per-user", type=int, default=100)
    parser.add_argument("--models", type=int, default=3, choices=[2, 3])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--memory-limit", default="4GB", help="memory limit of the engine")
    parser.add_argument("--data", type=Path, help="folder of the tables, created if missing")
    parser.add_argument("--call", choices=CALLS, help="run only this call and print its cost")
    options = parser.parse_args()
    if options.call:
        print(json.dumps(run(options)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        options.data = options.data or Path(temporary)
        models = MODELS[: options.models]
        needed = ["interactions", *(f"recommendations_{model}" for model in models)]
        if not all((options.data / f"{name}.parquet").exists() for name in needed):
            write_demo(
                options.data, users=options.users, per_user=options.per_user, models=options.models
            )
        report(options)


def report(options: argparse.Namespace) -> None:
    """Run every call, and print the medians and their ratio."""
    lists = [str(options.data / f"recommendations_{model}.parquet")
             for model in MODELS[: options.models]]  # fmt: skip
    rows, users = duckdb.execute(
        "SELECT count(*), count(DISTINCT user_id) FROM read_parquet($lists)", {"lists": lists}
    ).fetchall()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, DuckDB {duckdb.__version__}, "
          f"{options.models} models, {users:,} users, {rows:,} rows")  # fmt: skip
    taken: dict[str, list[dict[str, float]]] = {call: [] for call in CALLS}
    for _ in range(options.repeats):
        for call in CALLS:
            taken[call].append(in_a_process(call, options))
    medians = {
        call: {name: statistics.median(one[name] for one in runs) for name in runs[0]}
        for call, runs in taken.items()
    }
    for call, of in medians.items():
        print(f"{call:10s} {of['cpu']:8.2f} CPU s {of['wall']:8.2f} s {of['memory']:8.0f} MB")
    evaluate, compare = (medians[call] for call in CALLS)
    print(f"compare / evaluate: {compare['cpu'] / evaluate['cpu']:.2f} x CPU, "
          f"{compare['memory'] / evaluate['memory']:.2f} x memory")  # fmt: skip


def in_a_process(call: str, options: argparse.Namespace) -> dict[str, float]:
    arguments = {"--call": call, "--data": options.data, "--models": options.models,
                 "--resamples": options.resamples,
                 "--memory-limit": options.memory_limit}  # fmt: skip
    command = [sys.executable, __file__]
    for name, value in arguments.items():
        command += [name, str(value)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(output)
    return found


def run(options: argparse.Namespace) -> dict[str, float]:
    """Run one call, and return its CPU seconds, its seconds and the megabytes of the process."""
    models = MODELS[: options.models]
    lists: dict[str, Any] = {m: str(options.data / f"recommendations_{m}.parquet") for m in models}
    truth = str(options.data / "interactions.parquet")
    start, wall = cpu(), time.monotonic()
    with sm.Evaluator(lists, truth, memory_limit=options.memory_limit) as evaluator:
        if options.call == "evaluate":
            evaluator.evaluate(METRICS)
        else:
            evaluator.compare(
                METRICS, baseline=models[-1], test="bootstrap", ci="bootstrap",
                resamples=options.resamples,
            )  # fmt: skip
    return {"cpu": cpu() - start, "wall": time.monotonic() - wall, "memory": peak_memory()}


def peak_memory() -> float:
    """Return the peak memory of this process in MB.

    `getrusage` may report the peak of the parent for a new process.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (kilobytes,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return int(kilobytes) / 1024


if __name__ == "__main__":
    main()
