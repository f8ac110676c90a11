"""What the adapters share: reading the tables they are given, and writing what a system says.

An adapter runs in the environment of its system, some of them old: standard library, Python 3.8.
It is called with a folder of tables and the file to write.
"""

import csv
import json
import math
import sys
import warnings
from pathlib import Path


def _number(text):
    value = float(text)
    return int(value) if value.is_integer() and "." not in text and "e" not in text else value


class Given:
    """The tables of one data set; rows are dicts, in the order of the file."""

    def __init__(self, folder):
        self.folder = Path(folder)
        request = json.loads((self.folder / "request.json").read_text(encoding="utf-8"))
        self.cutoffs = request["cutoffs"]
        self.models = request["models"]
        self._integers = request["integers"]  # columns of ids that are integers

    def rows(self, table):
        """Return the rows of a table; an absent table is empty."""
        path = self.folder / (table + ".csv")
        if not path.exists():
            return []
        with path.open(newline="", encoding="utf-8") as file:
            return [
                {name: self._value(name, text) for name, text in row.items()}
                for row in csv.DictReader(file)
            ]

    def _value(self, name, text):
        if name in ("model", "aspect", "category") or (
            name in ("user_id", "item_id") and name not in self._integers
        ):
            return text
        return _number(text)

    def lists(self, model):
        """Return the rows of one model's recommendations, in the order of the file."""
        return [row for row in self.rows("recommendations") if row["model"] == model]

    def by_user(self, rows):
        """Return {user: [items]}, by rank where the rows have one."""
        found = {}
        for row in sorted(rows, key=lambda row: row.get("rank", 0)):
            found.setdefault(row["user_id"], []).append(row["item_id"])
        return found

    def labelled(self, model):
        """Return [(labels, scores)] of the lists of one model; every item of a list has a label."""
        grades = {(r["user_id"], r["item_id"]): r["relevance"] for r in self.rows("interactions")}
        lists = {}
        for row in self.lists(model):
            labels, scores = lists.setdefault(row["user_id"], ([], []))
            labels.append(grades[row["user_id"], row["item_id"]])
            scores.append(row["score"])
        return list(lists.values())


def columns(rows, **names):
    """Return the columns for a data frame, under the names of the system: user="user_id"."""
    return {name: [row[source] for row in rows] for name, source in names.items()}


def main(measure):
    """Write the cells of all models: measure(given, model) yields (name, k, call).

    A system that raises, or has no number, has no value for the cell: the reason is written.
    """
    warnings.simplefilter("ignore")
    given = Given(sys.argv[1])
    cells, without = [], []
    for model in given.models:
        for name, k, call in measure(given, model):
            cell = {"model": model, "name": name, "k": k}
            try:
                value = float(call())
                why = "" if math.isfinite(value) else str(value)
            except Exception as error:
                why = type(error).__name__ + ": " + str(error).split("\n")[0][:80]
            if why:
                without.append(dict(cell, why=why))
            else:
                cells.append(dict(cell, value=value))
    result = {"cells": cells, "without_value": without}
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")
