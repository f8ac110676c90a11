"""The cache of compiled templates is a help that no run depends on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sqlmetrics.sql.environment import new_environment

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders of POSIX")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "sqlmetrics"


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


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_folder_that_others_can_write_to(cache: Path, mode: int) -> None:
    cache.mkdir()
    cache.chmod(mode)
    assert new_environment().bytecode_cache is None
    assert list(cache.iterdir()) == []


def test_a_link_to_another_folder(cache: Path) -> None:
    cache.symlink_to(cache.parent)
    assert new_environment().bytecode_cache is None


def test_no_place_for_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert new_environment().bytecode_cache is None
