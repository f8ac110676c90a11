"""CPU time and memory per row, from a million to a billion rows.

    python benchmarks/scale.py [--rows 1e6 1e7 1e8 1e9] [--memory-limit 8GB] [--plot FILE.svg]

Three metrics at 10 of lists of 100 items, with scores and with ranks. Every run is a command in a
separate process, with all refusals of wrong tables. A row of the output has the kind of lists, the
number of rows, seconds, CPU seconds, nanoseconds of CPU time per row and peak memory. A billion
rows take 7 GB of disk. The plot needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import duckdb
from extremes import ACCURACY, measured

PER_USER = 100
ROWS_PER_FILE = 100_000_000
LISTS = """
COPY (
    SELECT
        rows.number // 100 AS user_id,
        rows.number % 100 * 7919 % 100003 AS item_id,
        CAST((rows.number * 7919 + rows.number // 100 * 104729) % 1000003 / 1e6 AS FLOAT) AS score,
        rows.number % 100 + 1 AS rank
    FROM range({first}, {end}) AS rows (number)
) TO '{file}' (COMPRESSION zstd)
"""
TRUTH = """
COPY (
    SELECT users.user_id, (users.user_id * 31 + places.place * 3) % 100 * 7919 % 100003 AS item_id
    FROM range({users}) AS users (user_id), range(5) AS places (place)
) TO '{file}'
"""
KINDS = {"score": "lists with scores", "rank": "lists with ranks"}
Points = dict[str, list[tuple[int, float, float]]]  # per kind: rows, ns of CPU per row, peak GB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=float, default=[1e6, 1e7, 1e8, 1e9])
    parser.add_argument("--memory-limit", metavar="SIZE", help="of the engine; default: its own")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    options = parser.parse_args()
    print(
        f"{os.cpu_count()} cores, Python {platform.python_version()}, DuckDB {duckdb.__version__}"
    )
    print(f"{'kind':5} {'rows':>13} {'s':>7} {'CPU s':>7} {'ns/row':>7} {'peak MB':>8}")
    points: Points = {kind: [] for kind in KINDS}
    for rows in map(int, sorted(options.rows)):
        with tempfile.TemporaryDirectory() as folder:
            # in a separate process, because the peak memory of a command includes its parent's
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as writer:
                writer.submit(write, rows, Path(folder)).result()
            for kind in KINDS:
                points[kind].append(measure(kind, rows, Path(folder), options.memory_limit))
    if options.plot:
        draw(points, options.plot)


def write(rows: int, folder: Path) -> None:
    """Write the lists, to several files if there are many rows, and the relevant items."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        for first in range(0, rows, ROWS_PER_FILE):
            file = folder / f"lists_{first // ROWS_PER_FILE:03d}.parquet"
            end = min(first + ROWS_PER_FILE, rows)
            connection.execute(LISTS.format(first=first, end=end, file=file))
        file = folder / "truth.parquet"
        connection.execute(TRUTH.format(users=rows // PER_USER, file=file))


def measure(kind: str, rows: int, folder: Path, limit: str | None) -> tuple[int, float, float]:
    """Evaluate the lists by their scores or ranks, print the cost and return it."""
    command = [
        sys.executable, "-m", "sqlmetrics", "evaluate", *ACCURACY, "--set", f"order={kind}",
        "-r", str(folder / "lists_*.parquet"), "-i", str(folder / "truth.parquet"),
        "--no-check", "-o", str(folder / "out.csv"), "--force",
        *(["--memory-limit", limit] if limit else []),
    ]  # fmt: skip
    code, seconds, cpu, peak, message = measured(command, folder)
    if code:
        raise SystemExit(message)
    per_row = cpu / rows * 1e9
    print(f"{kind:5} {rows:13,} {seconds:7.1f} {cpu:7.1f} {per_row:7.0f} {peak:8.0f}", flush=True)
    return rows, per_row, peak / 1024


def draw(points: Points, file: Path) -> None:
    """Draw CPU time per row and peak memory against rows."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    style = {"svg.hashsalt": "scale", "svg.fonttype": "none", "font.size": 9}
    with plt.rc_context(style | {"axes.spines.top": False, "axes.spines.right": False}):
        figure, all_axes = plt.subplots(1, 2, figsize=(9, 3.5))
        titles = ("CPU time per row, nanoseconds", "peak memory, GB")
        for place, (axes, title) in enumerate(zip(all_axes, titles, strict=True), start=1):
            for (kind, costs), colour, marker in zip(
                points.items(), ("#0072B2", "#D55E00"), "os", strict=True
            ):
                numbers = [cost[0] for cost in costs]
                values = [cost[place] for cost in costs]
                axes.plot(numbers, values, color=colour, marker=marker, label=KINDS[kind])
            axes.set(xscale="log", ylim=(0, None), xlabel="rows of recommendations")
            axes.set_title(title, loc="left")
            axes.grid(which="major", color="#dddddd", linewidth=0.6)
        all_axes[0].legend(frameon=False)
        figure.savefig(file, metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    main()
