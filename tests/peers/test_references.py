"""Numbers of other libraries, run on tables made from a seed: references/NAME.json against ours.

Every file was written by references/make.py, from the library itself in an environment of its own.
For each name in the table `covers` of the convention of that name, the convention must give the
library's number, at five cutoffs, for two models.
"""

import json
import re
from functools import cache
from typing import Any

import pandas as pd
import pytest

from tests.references import data, ours
from tests.support.paths import TESTS

REFERENCES = TESTS / "references"

STORED = sorted(path.stem for path in REFERENCES.glob("*.json"))

# (convention, name): the cutoffs at which the library has no value on any of the tables, and why
WITHOUT_VALUE = {
    **{("ir_measures", name): ({1}, "not divided there at 1") for name in ("ERR_IA", "alpha_DCG")},
    **{
        ("jurity", f"DiversityRecoMetrics.IntraListDiversity{metric}"): (
            {1},
            "no pair of items: None there",
        )
        for metric in ("", '(metric="euclidean")')
    },
    **{
        ("clayrs", f"Correlation(method={method})"): ({1}, "no pair of items: no row there")
        for method in ("pearson", "kendall", "spearman")
    },
}
# (convention, table): names that a [[differs]] of the convention is about, and why
DIFFERENT = {
    ("rectools", "partial"): ({"Accuracy", "MCC"}, "recommended items outside the catalogue"),
}


@cache
def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((REFERENCES / f"{name}.json").read_text(encoding="utf-8"))
    return found


@cache
def frames(name: str) -> dict[str, pd.DataFrame]:
    return {table: pd.DataFrame(rows) for table, rows in data.tables(name).items()}


def test_every_system_that_is_asked_has_stored_numbers() -> None:
    asked = {path.stem for path in (REFERENCES / "requirements").glob("*.txt")}
    gaps = {path.stem for path in (REFERENCES / "gaps").glob("*.json")}
    assert {*STORED, *gaps} == asked
    assert len(STORED) >= 12


def test_stored_numbers_are_of_the_tables_and_releases_of_now() -> None:
    """The tables as they are made now, and the release that the convention names."""
    wrong = []
    for name in STORED:
        found = stored(name)
        for data_name, fingerprint in found["data"].items():
            if data.fingerprint(data.tables(data_name)) != fingerprint:
                wrong.append((name, data_name))
        release = re.escape(found["release"])
        named = ours.convention(name)["release"]
        if not re.search(rf"(?<![\d.]){release}(?![\d.])", named):
            wrong.append((name, named))
    assert wrong == []


def test_every_covered_metric_is_compared_at_five_cutoffs() -> None:
    wrong: dict[tuple[str, ...], Any] = {}
    for name in STORED:
        cells = stored(name)["cells"]
        covers = ours.convention(name)["covers"]
        cutoffs: dict[tuple[str, ...], set[int | None]] = {}
        for cell in cells:
            cutoffs.setdefault((cell["name"], cell["model"]), set()).add(cell["k"])
        if {theirs for theirs, _ in cutoffs} != set(covers):
            wrong[name,] = {theirs for theirs, _ in cutoffs} ^ set(covers)
        for theirs in covers:
            left_out, _ = WITHOUT_VALUE.get((name, theirs), (set(), ""))
            wanted = set(data.CUTOFFS) - left_out
            for model in data.MODELS:
                found = cutoffs.get((theirs, model), set())
                # None for what has no cutoff there, and for what is also asked without
                if not (found == {None} or found - {None} == wanted):
                    wrong[name, theirs, model] = found
    assert wrong == {}, "tests/references/systems/run_NAME.py yields other metrics or cutoffs"


@pytest.mark.parametrize(
    ("name", "data_name"), [(name, of) for name in STORED for of in stored(name)["data"]]
)
@pytest.mark.filterwarnings("ignore:logs. there is no column propensity")
def test_convention_gives_the_numbers_of_the_library(name: str, data_name: str) -> None:
    different, _ = DIFFERENT.get((name, data_name), (set(), ""))
    cells = [
        cell
        for cell in stored(name)["cells"]
        if cell["data"] == data_name and cell["name"] not in different
    ]
    assert cells
    tolerance = ours.SINGLE if stored(name).get("precision") == "single" else ours.TOLERANCE
    wrong = [
        f"{cell['name']}@{cell['k']} of {cell['model']}: {cell['value']} there, {here} here"
        for cell, here in ours.disagreements(name, frames(data_name), cells, tolerance)
    ]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(cells)} cells", *wrong])
