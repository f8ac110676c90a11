"""Time and memory of off-policy estimates of many rounds, next to a query by hand.

    python benchmarks/rounds.py [--rows 1e7 1e8]

Five estimates and diagnostics of logs with a column `target_propensity`, with ids in order and
shuffled. Every run is a separate process: a query by hand without checks, the command with
`--trust-input`, and the command with its usual refusals. 100 million rounds take 2 GB of disk.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from extremes import measured

METRICS = ["ipw", "snipw", "beta_ipw", "ess", "importance_weight"]
LOGS = """
COPY (
    SELECT
        number AS round_id,
        number // 10 AS user_id,
        hash(number) % 50 AS item_id,
        CAST(hash(number + 7) % 10 < 2 AS INTEGER) AS reward,
        (1 + hash(number) % 5) / 150 AS propensity,
        (5 - hash(number) % 5) / 150 AS target_propensity
    FROM range({rows}) AS rounds (number)
    {order}
) TO '{file}'
"""
BY_HAND = """
WITH rounds AS (
    SELECT reward, target_propensity / propensity AS weight FROM '{file}'
), totals AS (
    SELECT
        sum((weight * weight - weight) * reward) / sum(weight * weight - weight) AS beta,
        sum(weight * reward) / sum(weight) AS snipw
    FROM rounds
)
SELECT
    avg(weight * reward),
    stddev_samp(weight * reward) / sqrt(count(*)),
    any_value(snipw),
    sqrt(sum((weight * (reward - snipw)) ** 2)) / sum(weight),
    avg(weight * (reward - beta) + beta),
    stddev_samp(weight * (reward - beta) + beta) / sqrt(count(*)),
    sum(weight) ** 2 / sum(weight * weight),
    avg(weight),
    stddev_samp(weight) / sqrt(count(*))
FROM rounds, totals
"""


def commands(file: Path) -> dict[str, list[str]]:
    """Return the commands to measure, by name."""
    query = f"import duckdb; print(duckdb.sql({BY_HAND.format(file=file)!r}).fetchall())"
    evaluate = [sys.executable, "-m", "sqlmetrics", "evaluate", *METRICS, "--logs", str(file)]
    return {
        "by hand": [sys.executable, "-c", query],
        "trusted": [*evaluate, "--trust-input"],
        "with checks": evaluate,
    }


def main() -> None:
    """Print a row per size, order of rows and command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e7, 1e8])
    print("| rounds | ids | command | s | CPU s | peak MB |\n|---:|---|---|---:|---:|---:|")
    for rows in map(int, parser.parse_args().rows):
        for ids, order in (("in order", ""), ("shuffled", "ORDER BY hash(number + 1)")):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "logs.parquet"
                # another process, as children count the memory of this one
                query = LOGS.format(rows=rows, order=order, file=file)
                subprocess.run([sys.executable, "-c", f"import duckdb; duckdb.sql({query!r})"])
                for name, command in commands(file).items():
                    code, seconds, cpu, megabytes, message = measured(command, Path(folder))
                    if code:
                        sys.exit(f"{name}: {message}")
                    print(
                        f"| {rows:,} | {ids} | {name} | {seconds:.1f} | {cpu:.1f} | "
                        f"{megabytes:,.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
