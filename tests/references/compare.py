"""Compare our numbers with those that make.py --data got from other libraries.

    python tests/references/make.py NAME ... --data TABLES --out SAID --cutoffs 1,5,10,20,50
    python tests/references/compare.py --data TABLES SAID

Prints for every system how many cells (a metric of a model at a cutoff) were compared and how many
agree to 1e-9, and every cell that does not.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

import data
import make
import ours
import pandas as pd


def frames(tables: data.Tables) -> dict[str, pd.DataFrame]:
    """Return the tables as data frames."""
    return {name: pd.DataFrame(rows) for name, rows in tables.items()}


def main() -> None:
    """Compare the files of a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("said", type=Path, help="the folder with the files that make.py wrote")
    parser.add_argument("--data", type=Path, required=True, help="the folder with the tables")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "logs: there is no column propensity")
    tables = make.outside(given.data)
    total = agreeing = 0
    for path in sorted(given.said.glob("*.json")):
        name = path.stem
        said = json.loads(path.read_text(encoding="utf-8"))
        broken_ties = not make.SYSTEMS[name].settles_ties
        asked_about = make.untied(tables) if broken_ties else tables
        wrong = ours.disagreements(name, frames(asked_about), said["cells"])
        total += len(said["cells"])
        agreeing += len(said["cells"]) - len(wrong)
        note = ", scores replaced by 1 / rank" if broken_ties else ""
        counts = f"{len(said['cells']) - len(wrong)} of {len(said['cells'])} cells agree"
        print(f"{name} {said['release']}: {counts}{note}", flush=True)
        for cell, here in wrong:
            where = f"{cell['name']}@{cell['k']} of {cell['model']}"
            print(f"    {where}: {cell['value']!r} there, {here!r} here")
        reasons = {(cell["name"], cell["why"]) for cell in said["without_value"]}
        for metric, why in sorted(reasons):
            print(f"    no value there: {metric}: {why}")
    print(f"all: {agreeing} of {total} cells agree to {ours.TOLERANCE}")


if __name__ == "__main__":
    sys.exit(main())
