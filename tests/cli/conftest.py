"""Fixtures for the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.conventions import FIVE_USERS


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("SQLMETRICS_CHECK", "false")  # five users are too few
    paths = {"-r": tmp_path / "lists.parquet", "-i": tmp_path / "truth.parquet"}
    for path, table in zip(paths.values(), FIVE_USERS.values(), strict=True):
        table.to_parquet(path)
    return [str(part) for pair in paths.items() for part in pair]
