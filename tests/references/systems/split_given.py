"""Code of all adapters of splits: it reads the events, and writes the rows that are held out.

An adapter is called with events.csv and the file to write. `splits` yields, for a frame of events,
the name of a splitter, our rule (arguments of sm.split) and the rows of the library's test set.
"""

import json
import sys
from pathlib import Path

import pandas as pd


def main(splits):
    """Write [{data, name, rule, truth}] for the splitters of a library."""
    events = pd.read_csv(sys.argv[1])
    cells = []
    for data in ("plain", "ties"):
        of_data = events[events["data"] == data].drop(columns="data").reset_index(drop=True)
        for name, rule, truth in splits(of_data):
            rows = sorted(int(row) for row in truth)
            cells.append({"data": data, "name": name, "rule": rule, "truth": rows})
    Path(sys.argv[2]).write_text(json.dumps(cells), encoding="utf-8")
