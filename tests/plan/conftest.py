"""Fixtures of the tests of slices."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import sqlmetrics as sm
from tests.support.sliced_world import Parts


@pytest.fixture(scope="module", name="parts")
def parts_of_the_world() -> Iterable[Parts]:
    parts = Parts()
    yield parts
    for evaluator in parts.open.values():
        evaluator.close()


@pytest.fixture(scope="module", name="world")
def evaluator_of_the_world(parts: Parts) -> sm.Evaluator:
    return parts.get("", "")
