"""Fixtures of the tests of metrics."""

import pytest

from tests.support.pairs import WORLDS, World


@pytest.fixture(scope="module", params=WORLDS.values(), ids=WORLDS.keys())
def world(request: pytest.FixtureRequest) -> World:
    return request.param  # type: ignore[no-any-return]
