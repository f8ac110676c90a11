"""Fixtures of the tests of sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.source_rows import WRITERS


@pytest.fixture
def order() -> str:
    """The column that orders the lists, where a test does not use the rank."""
    return "score"


@pytest.fixture(params=WRITERS)
def write(request: pytest.FixtureRequest, here: Path) -> Callable[[str, pa.Table], str]:
    """Write a file of each format in turn, without its ending, into the current folder."""

    def write_file(name: str, table: pa.Table) -> str:
        path = here / f"{name}.{request.param}"
        path.parent.mkdir(parents=True, exist_ok=True)
        WRITERS[request.param](path, table)
        return str(path.relative_to(here))

    return write_file
