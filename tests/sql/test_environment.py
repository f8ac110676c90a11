"""The cache of compiled templates is a help that no run depends on."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from sqlmetrics.sql.environment import new_environment

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders of POSIX")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"_jinja2-cache-{os.getuid()}"


def test_compiled_templates_are_private(cache: Path) -> None:
    new_environment()
    assert list(cache.iterdir())
    assert cache.stat().st_mode & 0o077 == 0


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    environment = new_environment()
    shutil.rmtree(cache)
    assert environment.from_string("{{ 1 + 1 }}").render() == "2"
    assert environment.get_template("results/look.sql.j2")
    assert not cache.exists()


def test_a_folder_of_somebody_else(cache: Path) -> None:
    cache.symlink_to(cache.parent)
    assert new_environment().bytecode_cache is None
    assert list(cache.parent.iterdir()) == [cache]
