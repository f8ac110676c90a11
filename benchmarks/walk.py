"""Count what a first call goes through, and list the stops of its way.

    python benchmarks/walk.py [METRIC …] [-k 10] [--stops 40]

A new process computes the metrics over the example tables, with validation and data checks. The
script prints the number of functions of sqlmetrics that the call enters (each counts once), their
modules, the rendered templates, the texts that sqlglot parses and the statements that DuckDB runs,
then the first functions in the order in which they are entered.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import jinja2
import sqlglot

import sqlmetrics as sm
from sqlmetrics.engines.duckdb import DuckDBEngine

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "sqlmetrics"
TABLES = {
    "recommendations": ROOT / "examples/data/recommendations_als.parquet",
    "interactions": ROOT / "examples/data/interactions.parquet",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("metrics", nargs="*", default=["ndcg"])
    parser.add_argument("-k", type=int, nargs="+", default=[10])
    parser.add_argument("--stops", type=int, default=0, help="the number of functions to list")
    options = parser.parse_args()
    counts = {"renderings": 0, "parses": 0, "statements": 0}
    counted(counts, jinja2.Template, "render", "renderings")
    counted(counts, sqlglot, "parse", "parses")
    counted(counts, DuckDBEngine, "_watched", "statements")
    stops = walked(options.metrics, options.k)
    modules = {module for module, _ in stops}
    print(f"functions {len(stops)}, modules {len(modules)}, "
          + ", ".join(f"{name} {count}" for name, count in counts.items()))  # fmt: skip
    for module, function in stops[: options.stops]:
        print(f"  {module:32s} {function}")


def counted(counts: dict[str, int], owner: Any, name: str, kind: str) -> None:
    """Count the calls of a function from now on."""
    usual = getattr(owner, name)

    def counting(*args: Any, **more: Any) -> Any:
        counts[kind] += 1
        return usual(*args, **more)

    setattr(owner, name, counting)


def walked(metrics: list[str], k: list[int]) -> list[tuple[str, str]]:
    """Compute metrics; return the module and name of every function, in the order of entry."""
    stops: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        is_function = event == "call" and not code.co_qualname.endswith(("<module>", ">"))
        if is_function and PACKAGE in path.parents:
            stops[path.relative_to(PACKAGE).as_posix(), code.co_qualname] = None

    warnings.simplefilter("ignore", sm.DataWarning)
    with sm.Evaluator(**TABLES, settings={"relevant_from": 2}) as evaluator:
        sys.setprofile(note)
        try:
            evaluator.evaluate(metrics, k=k)
        finally:
            sys.setprofile(None)
    return list(stops)


if __name__ == "__main__":
    main()
