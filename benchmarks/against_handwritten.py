"""What all metrics at five cutoffs cost, as a multiple of the queries a careful analyst writes.

    python benchmarks/against_handwritten.py [--users 100000] [--per-user 100] [--runs 5]

Everything runs in this one process, in turn, and is measured in CPU seconds of the process. The
hand-written side gives the same guarantees as the checks: it ranks every list under the same tie
rule, joins the truth, and looks for duplicate rows exactly.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
from timing import measure

import sqlmetrics as sm
from sqlmetrics.demo import write_demo

CUTOFFS = [1, 5, 10, 20, 100]
ACCURACY = [
    *("hit_rate", "precision", "recall", "f1", "map", "mar"),
    *("mrr", "dcg", "ndcg", "r_precision"),
]
ALL = [*ACCURACY, "coverage"]
# as many again, each a different computation
MORE = [
    *("precision(divisor=length)", "recall(divisor=min_k_relevant)", "f_beta(beta=2)"),
    *("f_beta(beta=0.5)", "map(divisor=k)", "map(divisor=relevant)", "mar(divisor=hits)"),
    *("dcg(discount=log2_max2)", "ndcg(discount=log2_max2)", "ndcg(ideal=all_k)"),
    "coverage(counted=all)",
]

RANK_AND_JOIN = """
WITH ranked AS (
    SELECT user_id, item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM '{recommendations}'
)
SELECT count(*), sum(rank)
FROM ranked INNER JOIN '{interactions}' AS truth USING (user_id, item_id)
"""
DUPLICATES = """
SELECT count(*) FROM (
    SELECT 1 FROM '{table}' GROUP BY user_id, item_id HAVING count(*) > 1
)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--per-user", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--directory", type=Path, help="demo tables that are there already")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.directory or Path(temporary)
        if options.directory is None:
            write_demo(directory, users=options.users, per_user=options.per_user, models=1)
        run(directory, options.runs)


def run(directory: Path, runs: int) -> None:
    recommendations = str(directory / "recommendations_als.parquet")
    interactions = str(directory / "interactions.parquet")
    history = str(directory / "history.parquet")
    by_hand = duckdb.connect()

    def query(text: str) -> Callable[[], object]:
        return lambda: by_hand.execute(text).fetchall()

    def ours(metrics: list[str], trust: bool = False) -> Callable[[], object]:
        def action() -> object:
            with sm.Evaluator(
                recommendations, interactions, history=history, trust_input=trust
            ) as evaluator:
                return evaluator.evaluate(metrics, k=CUTOFFS)

        return action

    rank = RANK_AND_JOIN.format(recommendations=recommendations, interactions=interactions)
    times = measure(
        {
            "hand: rank + join": query(rank),
            "hand: duplicates": query(DUPLICATES.format(table=recommendations)),
            "ours: accuracy": ours(ACCURACY),
            "ours: all": ours(ALL),
            "ours: all, twice as many": ours([*ALL, *MORE]),
            "ours: accuracy, trusted": ours(ACCURACY, trust=True),
            "ours: all, trusted": ours(ALL, trust=True),
            "ours: all, twice as many, trusted": ours([*ALL, *MORE], trust=True),
        },
        runs,
    )
    rows, hits = by_hand.execute(
        f"SELECT (SELECT count(*) FROM '{recommendations}'), n FROM ({rank}) AS t (n, r)"
    ).fetchone() or (0, 0)
    print(f"{platform.machine()}, DuckDB {duckdb.__version__}, {rows:,} rows, {hits:,} hits")
    for name, seconds in times.items():
        print(f"{name:36s} {seconds:7.2f} CPU s")
    guarded = times["hand: rank + join"] + times["hand: duplicates"]
    print()
    for name, base, what in (
        ("ours: accuracy", guarded, "hand with duplicate check"),
        ("ours: all", guarded, "hand with duplicate check"),
        ("ours: all, twice as many", times["ours: all"], "ours: all"),
        ("ours: accuracy, trusted", times["hand: rank + join"], "hand: rank + join"),
        ("ours: all, trusted", times["hand: rank + join"], "hand: rank + join"),
        ("ours: all, twice as many, trusted", times["ours: all, trusted"], "ours: all, trusted"),
    ):
        print(f"{name:36s} {times[name] / base:5.2f} x {what}")


if __name__ == "__main__":
    main()
