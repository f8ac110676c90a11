"""The settings that a convention chooses."""

from __future__ import annotations

from sqlmetrics.describe.conventions import all_settings, choices, describe_convention
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.settings import Settings
from tests.support.conventions import CATALOG, NAMES


def test_choices_of_map() -> None:
    rows = choices(CATALOG, "map", all_settings(CATALOG))
    chosen = {(row["convention"], row["theirs"]): row for row in rows}
    divisors = {
        ("rectools", "MAP"): "relevant",
        ("rectools", "MAP(divide_by_k=True)"): "k",
        ("standard", "map"): "min_k_relevant",
        ("elliot", "MAP"): "all_positions",
        ("tutorial", "MAP@k"): "hits",
    }
    assert {key: chosen[key]["divisor"] for key in divisors} == divisors
    assert chosen["tutorial", "MAP@k"]["ties"] is None  # the order of rows has none
    assert chosen["replay", "MAP"]["ties"] == "item_desc"
    assert "catalogue" not in rows[0]
    assert {row["convention"] for row in rows} == {
        name for name in NAMES if Settings(CATALOG, Convention.load(name), {}).covers("map")
    }


def test_choices_of_an_alias_are_those_of_its_metric() -> None:
    known = all_settings(CATALOG)
    assert choices(CATALOG, "ap", known) == choices(CATALOG, "map", known)


def test_a_convention_in_full() -> None:
    text = describe_convention(CATALOG, "lenskit")
    for part in (
        "2025.8.1",
        "AveragePrecision",
        "map.divisor = min_relevant_length",
        "ZeroDivision",
    ):
        assert part in text
    assert "relevant_from = -inf" in text
