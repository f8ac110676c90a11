"""Fixtures of the tests of records."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sqlmetrics.record import fingerprints
from tests.support.recorded import LISTS, TRUTH, contents


@pytest.fixture(scope="module")
def expected() -> list[fingerprints.Content]:
    return contents()


@pytest.fixture
def folder(here: Path) -> Path:
    pq.write_table(LISTS, "als.parquet")
    pq.write_table(LISTS.slice(8), "other.parquet")
    pq.write_table(TRUTH, "truth.parquet")
    return here
