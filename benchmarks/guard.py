"""Compare six ratios of cost with the stored ones, to notice a version that became slower.

    python benchmarks/guard.py [--runs 5] [--renew]

Every ratio divides the CPU seconds of an evaluation by those of a query written by hand over the
same tables. Both run one after the other, in turn with those of the other ratios, so that other
work on the machine affects both. The result is the median of the ratios of pairs. A ratio that
exceeds its limit is measured again with twice the pairs, and the smaller result counts. The script
ends with exit code 1 if a ratio is still more than 1.5 times the stored one, which is in
`guard.json` beside it; `--renew` writes this file.

The tables are small, so that the ratios include the fixed cost of a call. They are not the ratios
of the other benchmarks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import loop
import startup
from data import Case
from limit import ACCURACY, CUTOFFS, JOIN, RANK_AND_JOIN, SETTINGS, TOGETHER, query
from timing import cpu

import sqlmetrics as sm
from sqlmetrics.run.demo import write_demo

STORED = Path(__file__).with_suffix(".json")
MOST = 1.5  # times the stored ratio
USERS_OF_LOOP = 1_000
ROWS = 1_000_000
ROWS_OF_ALL = 300_000

Action = Callable[[], object]
Pair = tuple[Action, Action]  # an evaluation, and the query by hand


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="pairs of each ratio")
    parser.add_argument("--renew", action="store_true", help=f"write {STORED.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # data warnings
    stored = {} if options.renew else json.loads(STORED.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        pairs = pairs_of(Path(temporary))
        ratios = measured(pairs, options.runs)
        if options.renew:
            text = json.dumps({name: round(ratio, 2) for name, ratio in ratios.items()}, indent=2)
            STORED.write_text(text + "\n", encoding="utf-8")
            stored = ratios
        slower = too_slow(ratios, stored)
        if slower:
            again = measured({name: pairs[name] for name in slower}, 2 * options.runs)
            ratios |= {name: min(ratios[name], ratio) for name, ratio in again.items()}
            slower = too_slow(ratios, stored)
    for name, ratio in ratios.items():
        verdict = f"  more than {MOST} times the stored ratio" if name in slower else ""
        print(f"{name:10s}{ratio:6.2f} x{stored[name]:8.2f} x stored{verdict}")
    return 1 if slower else 0


def too_slow(ratios: Mapping[str, float], stored: Mapping[str, float]) -> list[str]:
    """Return the names of the ratios that exceed their limits."""
    return [name for name, ratio in ratios.items() if ratio > MOST * stored[name]]


def measured(pairs: Mapping[str, Pair], runs: int) -> dict[str, float]:
    """Return the median ratio of each pair; the first run is a warm-up."""
    ratios: dict[str, list[float]] = {name: [] for name in pairs}
    for run in range(runs + 1):
        for name, (ours, by_hand) in pairs.items():
            ratio = seconds(ours) / seconds(by_hand)
            if run:
                ratios[name].append(ratio)
    return {name: statistics.median(known) for name, known in ratios.items()}


def seconds(action: Action) -> float:
    """Return the CPU seconds of an action, in this process and in its child processes."""
    start = cpu() + startup.cpu_of_children()
    action()
    return cpu() + startup.cpu_of_children() - start


def pairs_of(folder: Path) -> dict[str, Pair]:
    """Return the six measured pairs, over tables in a folder."""
    startup.write_tables(folder, users=100, per_user=100)
    commands = startup.commands(folder)
    modules = folder / "modules"
    repeated = loop.actions(USERS_OF_LOOP)
    return {
        "start-up": (
            lambda: startup.run_quietly(commands[startup.EVALUATE], modules),
            lambda: startup.run_quietly(commands[startup.BY_HAND], modules),
        ),
        "loop": (repeated["with_tables"], repeated[loop.STATEMENT]),
        "dense": of_case(folder, Case("dense"), RANK_AND_JOIN),
        "sparse": of_case(folder, Case("sparse"), RANK_AND_JOIN),
        "ranks": of_case(folder, Case("dense", order="rank"), JOIN),
        "all": of_all(folder),
    }


def of_case(folder: Path, case: Case, by_hand: str) -> Pair:
    """Return the accuracy metrics of trusted tables, and the query by hand."""
    lists, truth = case.write(folder, ROWS)

    def ours() -> object:
        with sm.Evaluator(lists, truth, trust_input=True) as evaluator:
            return evaluator.evaluate(ACCURACY, k=CUTOFFS)

    return ours, query(by_hand, lists=lists, truth=truth, order=case.order)


def of_all(folder: Path) -> Pair:
    """Return all metrics but those that compare the items of a list, and the query by hand."""
    demo = folder / "demo"
    write_demo(demo, users=ROWS_OF_ALL // 100, per_user=100)
    lists, truth = demo / "recommendations_als.parquet", demo / "interactions.parquet"
    others = {name: demo / f"{name}.parquet" for name in ("history", "items", "aspects", "logs")}
    baseline = demo / "recommendations_popular.parquet"
    metrics = TOGETHER

    def ours() -> object:
        with sm.Evaluator(
            lists, truth, **others, baseline=baseline, settings=SETTINGS, trust_input=True
        ) as evaluator:
            return evaluator.evaluate(metrics, k=CUTOFFS)

    return ours, query(RANK_AND_JOIN, lists=lists, truth=truth)


if __name__ == "__main__":
    sys.exit(main())
