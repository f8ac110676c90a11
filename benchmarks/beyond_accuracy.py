"""Cost of metrics beyond accuracy, as a multiple of ranking and joining the lists.

    python benchmarks/beyond_accuracy.py [--rows 10000000] [--runs 3] [--cutoffs 5 10 20] [--each]

The lists, the held-out interactions, the history and the items with categories and groups are the
demo data, with lists of up to 100 items. These steps run alternately, each in a separate Python
process: rank the lists and join the interactions, as an analyst would; search for duplicate rows;
compute twelve metrics of popularity, novelty, calibration, diversity and fairness together, with
checks and with `trust_input`. Each process first computes the step over the tables of ten users, so
that imports are not measured. The script prints medians of CPU seconds and of the peak memory of
the process. With `--each`, every metric is also computed separately, and so are six further
metrics; two of them read a baseline list of the same size.
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
import warnings
from pathlib import Path

import duckdb
from compare_cost import peak_memory
from limit import DUPLICATES, RANK_AND_JOIN
from timing import cpu

import sqlmetrics as sm
from sqlmetrics.run.demo import write_demo

LENGTH = 100
SMALL = "small"  # folder of the tables of ten users
TWELVE = [
    *("epc", "efd", "unseen", "tail_share", "popularity_lift", "serendipity"),
    *("category_coverage", "category_entropy", "calibration"),
    *("gini", "exposure_parity", "awrf"),
]
FURTHER = [
    *("item_entropy", "statistical_parity", "group_popularity_lift"),
    *("intra_list_diversity(over=category)", "overlap", "rbo"),
]
BY_HAND = {"rank + join": RANK_AND_JOIN, "duplicates": DUPLICATES}
TOGETHER = f"{len(TWELVE)} metrics"
TRUSTED = ", trusted"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="recommendations")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cutoffs", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--each", action="store_true", help="also each metric separately")
    parser.add_argument("--directory", type=Path, help="folder of the tables, created if missing")
    parser.add_argument("--step", help="run only this step and print its cost")
    options = parser.parse_args()
    if options.step:
        print(json.dumps(run(options)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        options.directory = options.directory or Path(temporary)
        if not (options.directory / "logs.parquet").exists():
            # 6 % of the rows are missing, because some lists are shorter or empty
            users = max(round(1.06 * options.rows / LENGTH), 1)
            write_demo(options.directory, users=users, per_user=LENGTH, models=2)
        if not (options.directory / SMALL).exists():
            write_demo(options.directory / SMALL, users=10, per_user=LENGTH, models=2)
        report(options)


def report(options: argparse.Namespace) -> None:
    """Run every step, and print medians and their multiples of the queries by hand."""
    lists = options.directory / "recommendations_als.parquet"
    (rows,) = duckdb.execute(f"SELECT count(*) FROM '{lists}'").fetchall()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, DuckDB {duckdb.__version__}, "
          f"{rows:,} rows, cutoffs {options.cutoffs}")  # fmt: skip
    steps = [*BY_HAND, TOGETHER, TOGETHER + TRUSTED]
    if options.each:
        steps += [metric + TRUSTED for metric in (*TWELVE, *FURTHER)]
    taken: dict[str, list[dict[str, float]]] = {step: [] for step in steps}
    for _ in range(options.runs):
        for step in steps:
            taken[step].append(in_a_process(step, options))
    medians = {
        step: {name: statistics.median(one[name] for one in runs) for name in runs[0]}
        for step, runs in taken.items()
    }
    by_hand = medians["rank + join"]["cpu"]
    with_duplicates = by_hand + medians["duplicates"]["cpu"]
    print(f"{'':50s}{'CPU s':>8s}{'x rank + join':>18s}{'x and duplicates':>18s}{'MB':>8s}")
    for step, of in medians.items():
        print(f"  {step:48s}{of['cpu']:8.3f}{of['cpu'] / by_hand:18.2f}"
              f"{of['cpu'] / with_duplicates:18.2f}{of['memory']:8.0f}")  # fmt: skip


def in_a_process(step: str, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, "--step", step, "--directory", str(options.directory)]
    command += ["--cutoffs", *map(str, options.cutoffs)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(output)
    return found


def run(options: argparse.Namespace) -> dict[str, float]:
    """Run one step, and return its CPU seconds and the megabytes of the process."""
    warnings.simplefilter("ignore", sm.DataWarning)
    compute(options, options.directory / SMALL)
    start = cpu()
    compute(options, options.directory)
    return {"cpu": cpu() - start, "memory": peak_memory()}


def compute(options: argparse.Namespace, folder: Path) -> None:
    """Compute a step over the tables of a folder."""
    lists, truth = folder / "recommendations_als.parquet", folder / "interactions.parquet"
    step, comma, _ = options.step.partition(TRUSTED)
    if step in BY_HAND:
        with duckdb.connect() as connection:
            connection.execute(BY_HAND[step].format(lists=lists, truth=truth)).fetchall()
        return
    others = {name: folder / f"{name}.parquet" for name in ("history", "items")}
    if step in ("overlap", "rbo"):
        others["baseline"] = folder / "recommendations_item_knn.parquet"
    with sm.Evaluator(lists, truth, **others, trust_input=bool(comma)) as evaluator:
        evaluator.evaluate(TWELVE if step == TOGETHER else [step], k=options.cutoffs)


if __name__ == "__main__":
    main()
