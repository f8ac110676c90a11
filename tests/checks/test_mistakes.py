"""Typical mistakes give an error or a warning, and data without a mistake gives neither."""

from dataclasses import replace

import pytest

from benchmarks.mistakes import CLEAN, MISTAKES, MOST_SILENT, Outcomes, World, alarms_of, generated

# Nothing in the tables distinguishes these from correct ones
NOT_TO_BE_SEEN = {
    "lists_of_one_user_in_a_model",  # as a baseline of popular items
    "users_shuffled_without_history",
    "items_seen_without_history",
    "scores_shuffled",
    "all_interactions_alone",
    "half_of_the_rows",
    "half_of_the_history",
    "half_of_the_users_table",  # the result has a slice (none)
}


@pytest.fixture(scope="module")
def world() -> World:
    return replace(generated(n_users=120, n_items=150), threads=1)


def test_mistakes_are_not_silent(world: World) -> None:
    assert len(MISTAKES) >= 85
    assert len(NOT_TO_BE_SEEN) <= MOST_SILENT
    outcomes = Outcomes(world)
    silent = {name for name in MISTAKES if outcomes.of(name).outcome == "silent"}
    assert silent <= NOT_TO_BE_SEEN <= MISTAKES.keys()


def test_data_without_a_mistake_has_no_warning(world: World) -> None:
    alarms = {name: alarms_of(world, name) for name in CLEAN}
    assert {name: found for name, found in alarms.items() if found} == {}
