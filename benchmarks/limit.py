"""Cost of the metrics compared with the minimum cost in the engine.

    python benchmarks/limit.py [--rows 10000000] [--runs 5] [--cases 'dense/100/*']
    python benchmarks/limit.py --all [--each] [--metrics ndcg …] [--rows 10000000] [--runs 5]

For every kind of data, these steps run alternately in one process: scan the lists; scan them and
join the interactions; rank and join them, as an analyst would; search for duplicate rows; compute
all accuracy metrics at five cutoffs, with checks and with `trust_input`. Each step opens a new
connection and reads the files. The script prints medians of CPU seconds, and their multiples. Cases
are named hits/length/order/file, as in `benchmarks/data.py`; without `--cases`, they differ in at
most one respect from lists of 100 with distinct scores, sorted by user.

With `--all`, every metric is computed over the demo data at the same cutoffs: most metrics
together, and the metrics that compare the items of a list with each other separately. With
`--each`, each of the other metrics is also computed separately.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
from data import GRID, Case, one_at_a_time
from timing import measure

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.run.demo import write_demo

CUTOFFS = [1, 5, 10, 20, 100]
ACCURACY = [
    *("hit_rate", "precision", "recall", "f1", "map", "mar"),
    *("mrr", "dcg", "ndcg", "r_precision"),
]
# metrics that compare the items of a list with each other
ALONE = ["alpha_ndcg", "intra_list_diversity", "kendall_tau"]
# all others, but for those of rounds and positions, whose logs have further columns
TOGETHER = [
    name
    for name, metric in Catalog.load().metrics.items()
    if name not in {*ALONE, "item_age"}  # the lists of the demo data have no times
    and (metric.in_all or metric.family != "logs")
]
# relevance 1 is judged but not relevant: pairs for AUC, differences for rank correlations
SETTINGS = {"relevant_from": 2}

SCAN = "SELECT sum(user_id), sum(item_id), sum({order}) FROM '{lists}'"
JOIN = """
SELECT count(*), sum({order})
FROM '{lists}' INNER JOIN '{truth}' USING (user_id, item_id)
"""
RANK_AND_JOIN = """
WITH ranked AS (
    SELECT user_id, item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM '{lists}'
)
SELECT count(*), sum(rank)
FROM ranked INNER JOIN '{truth}' USING (user_id, item_id)
"""
DUPLICATES = """
SELECT count(*)
FROM (SELECT 1 FROM '{lists}' GROUP BY user_id, item_id HAVING count(*) > 1)
"""


def query(text: str, **names: object) -> Callable[[], object]:
    def action() -> object:
        with duckdb.connect() as connection:
            return connection.execute(text.format(**names)).fetchall()

    return action


def ours(lists: Path, truth: Path, trust: bool) -> Callable[[], object]:
    def action() -> object:
        with sm.Evaluator(lists, truth, trust_input=trust) as evaluator:
            return evaluator.evaluate(ACCURACY, k=CUTOFFS)

    return action


def measured(case: Case, directory: Path, rows: int, runs: int) -> dict[str, float]:
    """Measure one case: name of the step -> CPU seconds."""
    lists, truth = case.write(directory, rows)
    names = {"lists": lists, "truth": truth, "order": "rank" if case.order == "rank" else "score"}
    # lists with ranks need no ranking
    rank_and_join = JOIN if case.order == "rank" else RANK_AND_JOIN
    return measure(
        {
            "scan": query(SCAN, **names),
            "join": query(JOIN, **names),
            "rank + join": query(rank_and_join, **names),
            "duplicates": query(DUPLICATES, **names),
            "metrics": ours(lists, truth, trust=False),
            "metrics, trusted": ours(lists, truth, trust=True),
        },
        runs,
    )


def print_multiples(title: str, times: dict[str, float]) -> None:
    """Print times, and their multiples of the handwritten queries."""
    bases = {name: times[name] for name in ("scan", "join", "rank + join") if name in times}
    bases["and duplicates"] = times["rank + join"] + times["duplicates"]
    print(f"\n{title:32s}{'CPU s':>8s}" + "".join(f"{'x ' + name:>18s}" for name in bases))
    for name, seconds in times.items():
        multiples = "".join(f"{seconds / base:18.2f}" for base in bases.values())
        print(f"  {name:30s}{seconds:8.3f}{multiples}", flush=True)


def measured_all(
    directory: Path, rows: int, runs: int, each: bool, names: Sequence[str] = ()
) -> None:
    """Measure metrics over the demo data, and print their multiples of rank + join.

    `names` are the metrics to compute together; by default all, with ALONE separately.
    """
    folder = directory / f"demo-{rows}"
    if not folder.exists():
        write_demo(folder, users=max(rows // 100, 1), per_user=100)
    lists, truth = folder / "recommendations_als.parquet", folder / "interactions.parquet"
    others = {name: folder / f"{name}.parquet" for name in ("history", "items", "aspects", "logs")}
    baseline = folder / "recommendations_popular.parquet"

    def computed(metrics: Sequence[str], trust: bool) -> Callable[[], object]:
        def action() -> object:
            with sm.Evaluator(
                lists, truth, **others, baseline=baseline, settings=SETTINGS, trust_input=trust
            ) as evaluator:
                return evaluator.evaluate(metrics, k=CUTOFFS)

        return action

    together = names or TOGETHER
    alone = () if names else ALONE
    asked = {f"{len(together)} metrics": together, **{metric: [metric] for metric in alone}}
    if each:
        asked.update({metric: [metric] for metric in together})
    times = measure(
        {
            "rank + join": query(RANK_AND_JOIN, lists=lists, truth=truth),
            "duplicates": query(DUPLICATES, lists=lists),
        }
        | {name: computed(metrics, trust=False) for name, metrics in asked.items()}
        | {f"{name}, trusted": computed(metrics, trust=True) for name, metrics in asked.items()},
        runs,
    )
    print_multiples("demo", times)


def chosen(patterns: Sequence[str]) -> list[Case]:
    """Return the cases whose names match.

    Raises:
        SystemExit: no case matches.
    """
    if not patterns:
        return one_at_a_time()
    cases = [case for case in GRID if any(fnmatch.fnmatch(case.name, p) for p in patterns)]
    if not cases:
        raise SystemExit(f"no case matches {' or '.join(patterns)}; an example is {GRID[0].name}")
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="recommendations")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cases", nargs="+", default=[], help="names of cases; * matches any text")
    parser.add_argument("--all", action="store_true", help="all metrics, over the demo data")
    parser.add_argument("--metrics", nargs="+", default=[], help="with --all: only these, together")
    parser.add_argument("--each", action="store_true", help="with --all: also each metric alone")
    parser.add_argument("--directory", type=Path, help="folder of the tables, created if missing")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, DuckDB {duckdb.__version__}, "
          f"{options.rows:,} rows")  # fmt: skip
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.directory or Path(temporary)
        if options.all:
            measured_all(directory, options.rows, options.runs, options.each, options.metrics)
            return
        for case in chosen(options.cases):
            print_multiples(case.name, measured(case, directory, options.rows, options.runs))


if __name__ == "__main__":
    main()
