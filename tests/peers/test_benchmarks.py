"""Medians, ratios and stored results of benchmarks/peers; .ci/run makes the runs."""

import csv
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from benchmarks.peers import results
from benchmarks.peers.agreement import Agreement, Number
from benchmarks.peers.registry import BY_NAME, QUICK, REFERENCE
from benchmarks.peers.results import Cell, Results, Size
from benchmarks.peers.running import Cost
from benchmarks.peers.tables import write_tables
from tests.support.paths import ROOT

HALF = Cell(1000, "rank", "polars", "measured", runs=3, cost=Cost(1.0, 3.0, 50))
OURS = Cell(1000, "rank", REFERENCE, "measured", runs=3, cost=Cost(2.0, 2.0, 200))
SLOW = Cell(1000, "rank", "lenskit", "time limit", "more than 240 s", runs=1)
MEASURED = Results(
    date="2025-06-01",
    machine="a machine",
    versions={REFERENCE: "0.1.0", "polars": "2.1.0", "lenskit": "2025.8.1"},
    sizes=(Size(1000, 950, 10, 40),),
    cells=(OURS, HALF, SLOW),
)


def history(path: Path) -> dict[tuple[str, ...], tuple[str, ...]]:
    with path.open(newline="") as file:
        return {
            (row["version"], row["rows"], row["system"]): (row["outcome"], row["wall"], row["cpu"])
            for row in csv.DictReader(file)
        }


def test_medians_are_taken_of_each_measure_by_itself() -> None:
    costs = [Cost(1.0, 9.0, 20), Cost(5.0, 1.0, 30), Cost(2.0, 4.0, 10)]
    assert results.median_cost(costs) == Cost(2.0, 4.0, 20)
    assert results.median_cost(costs[:2]) == Cost(3.0, 5.0, 25)


def test_ratios_are_multiples_of_the_reference() -> None:
    assert HALF.cost is not None
    assert OURS.cost is not None
    assert results.ratios(HALF.cost, OURS.cost) == (0.5, 1.5, 0.25)


def test_history_has_ratios_and_replaces_those_of_its_version(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    results.write_history(path, results.history_rows(MEASURED))
    assert history(path) == {
        ("0.1.0", "1000", "polars"): ("measured", "0.50", "1.50"),
        ("0.1.0", "1000", "lenskit"): ("time limit", "", ""),
    }
    faster = replace(MEASURED, cells=(OURS, replace(HALF, cost=Cost(0.5, 1.0, 50))))
    results.write_history(path, results.history_rows(faster))
    newer = replace(MEASURED, versions={REFERENCE: "0.2.0"}, cells=(OURS, HALF))
    results.write_history(path, results.history_rows(newer))
    assert history(path) == {
        ("0.1.0", "1000", "polars"): ("measured", "0.25", "0.50"),
        ("0.1.0", "1000", "lenskit"): ("time limit", "", ""),
        ("0.2.0", "1000", "polars"): ("measured", "0.50", "1.50"),
    }


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert results.read_results(tmp_path / "results.json") is None
    results.write_results(tmp_path / "results.json", MEASURED)
    assert results.read_results(tmp_path / "results.json") == MEASURED


def test_sizes_of_the_same_machine_and_versions_stand_together() -> None:
    larger = replace(
        MEASURED, sizes=(Size(5000, 4900, 50, 200),), cells=(replace(OURS, rows=5000),)
    )
    assert [size.asked for size in larger.merged(MEASURED).sizes] == [1000, 5000]
    again = replace(MEASURED, date="2025-06-02", cells=(OURS,))
    assert MEASURED.merged(again) == again
    elsewhere = replace(larger, machine="another")
    assert MEASURED.merged(elsewhere) == elsewhere


@pytest.mark.parametrize(
    ("outcome", "ended"), [("time limit", True), ("out of memory", True), ("failed", False)]
)
def test_what_a_larger_table_cannot_mend_is_left_out_of_it(outcome: str, ended: bool) -> None:
    found = replace(MEASURED, cells=(OURS, replace(SLOW, outcome=outcome)))
    assert set(found.ended_below(5000)) == ({("lenskit", "rank")} if ended else set())
    assert not found.ended_below(1000)


def test_every_system_says_how_it_is_installed_and_asked() -> None:
    for system in BY_NAME.values():
        assert system.script.is_file()
        pins = system.requirements.read_text(encoding="utf-8").splitlines()
        assert all("==" in pin for pin in pins if not pin.startswith("#"))
    assert set(QUICK) <= set(BY_NAME)


def test_sqlmetrics_is_measured_with_all_packages_that_it_needs() -> None:
    """It is installed without dependencies, which the file pins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split("[<>=]", text)[0].lower() for text in project["dependencies"]}
    folder = ROOT / "benchmarks" / "peers" / "systems" / REFERENCE
    pinned = re.findall(r"(?m)^([\w-]+)==", (folder / "requirements.txt").read_text())
    assert needed <= {name.lower() for name in pinned}


def test_a_number_that_is_not_ours_disagrees(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, 2000)
    counted = duckdb.sql(f"""
        SELECT count(DISTINCT lists.user_id), count(DISTINCT truth.user_id)
        FROM '{tables.interactions}' AS truth
        LEFT JOIN (
            SELECT user_id, item_id FROM '{tables.recommendations("rank")}' WHERE rank <= 5
        ) AS lists USING (user_id, item_id)
    """).fetchall()
    ((hit, users),) = counted
    assert 0 < hit < users
    agreement = Agreement(tables)
    right = Number("HitRate", 5, hit / users)
    wrong = [replace(right, value=value) for value in (hit / users + 1e-8, float("nan"))]
    assert not agreement.disagreements(BY_NAME["rectools"], "rank", [right])
    assert len(agreement.disagreements(BY_NAME["rectools"], "rank", [right, *wrong])) == 2
    assert agreement.disagreements(BY_NAME["rectools"], "rank", [])
