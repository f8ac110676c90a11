"""Ask other libraries how they split events: splits/NAME.json has the rows that they hold out.

    python tests/references/make_splits.py [NAME ...] [--envs DIR]

The environments are those of make.py. An adapter (systems/split_NAME.py) is called with events.csv
and the file to write; the events are those of splits/events.csv, which `events` makes.
tests/cli/test_split_references.py compares our rows with theirs.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make

HERE = Path(__file__).resolve().parent / "splits"
SYSTEMS = ("replay", "recommenders", "rectools", "lenskit")
START, DAY = 1_700_006_400, 86_400  # 2023-11-15, in seconds since 1970


def events() -> Iterator[tuple[str, int, int, int, int]]:
    """Yield data, row, user, item and time in seconds: in `ties`, users have ties of their own."""
    for data, step in (("plain", 1), ("ties", 5)):
        draw = random.Random(48)
        row, hours = 0, iter(draw.sample(range(24 * 60), 24 * 60))
        for user in range(1, 13):
            for _ in range(draw.choice([1, 2, 3, 4, 5, 8, 13])):
                day, hour = divmod(next(hours), 24)
                # a tie of days has one moment, so that the events of users meet
                time = START + (day // step * step) * DAY + (hour * 3600 if step == 1 else 0)
                yield data, row, user, draw.randint(1, 9), time
                row += 1


def write_events(path: Path) -> None:
    """Write all events."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["data", "row", "user_id", "item_id", "timestamp"])
        writer.writerows(events())


def asked(name: str, envs: Path) -> dict[str, Any]:
    """Return the rows that a library holds out, for each of its splitters."""
    python = make.environment(name, envs)
    installed = make.installed_in(python)
    package = make.SYSTEMS[name].package
    with tempfile.TemporaryDirectory() as scratch:
        said = Path(scratch) / "said.json"
        adapter = HERE.parent / "systems" / f"split_{name}.py"
        subprocess.run([python, adapter, HERE / "events.csv", said], check=True)
        cells = json.loads(said.read_text(encoding="utf-8"))
    known = ("python", "numpy", "pandas", "polars")
    made_with = {one: installed[one] for one in known if one in installed}
    release = installed[package.lower()]
    return {"system": package, "release": release, "made_with": made_with, "cells": cells}


def main() -> None:
    """Ask the systems that were named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SYSTEMS))
    parser.add_argument("--envs", type=Path, help="where the environments are kept")
    given = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    write_events(HERE / "events.csv")
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.names or SYSTEMS:
            result = asked(name, given.envs or Path(scratch))
            (HERE / f"{name}.json").write_text(make.one_cell_per_line(result), encoding="utf-8")
            print(f"{name}: {len(result['cells'])} cells", flush=True)


if __name__ == "__main__":
    main()
