"""Typical mistakes give an error or a warning, and data without a mistake gives neither."""

import functools

import pytest

from benchmarks import mistakes
from benchmarks.mistakes import CLEAN, MISTAKES, World, alarms_of, generated, outcome_of

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


@functools.cache
def world() -> World:
    return generated()


@pytest.mark.parametrize("name", sorted(MISTAKES.keys() - NOT_TO_BE_SEEN))
def test_a_mistake_is_not_silent(name: str) -> None:
    outcome = outcome_of(world(), name)
    assert outcome.outcome != "silent"


def test_few_mistakes_cannot_be_seen() -> None:
    assert len(MISTAKES) >= 85
    assert len(NOT_TO_BE_SEEN) <= mistakes.MOST_SILENT
    assert MISTAKES.keys() >= NOT_TO_BE_SEEN


@pytest.mark.parametrize("name", CLEAN)
def test_data_without_a_mistake_has_no_warning(name: str) -> None:
    assert alarms_of(world(), name) == []
