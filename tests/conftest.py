"""Fixtures of the whole suite."""

from collections.abc import Iterator

import pytest

from sqlmetrics.catalog import Catalog


@pytest.fixture(autouse=True, scope="session")
def _templates_are_read_once() -> Iterator[None]:
    built_in, load = Catalog.load(), Catalog.load
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "load", lambda folders=(): load(folders) if folders else built_in)
        yield
