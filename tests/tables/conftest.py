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
def write(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, pa.Table], str]:
    """Write a file of each format in turn, without its ending, into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, table: pa.Table) -> str:
        path = Path(f"{name}.{request.param}")
        path.parent.mkdir(parents=True, exist_ok=True)
        WRITERS[request.param](path.absolute(), table)  # others take ~ for the home folder
        return str(path)

    return write_file
