"""The cache between processes stays small, and notices changed source files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sqlmetrics import disk_cache
from sqlmetrics.disk_cache import DiskCache, state_of


def test_the_oldest_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path)
    monkeypatch.setattr(disk_cache, "_MOST_BYTES", 1000)
    cache = DiskCache("things", [], most_files=3)
    for number in range(5):
        cache.save(str(number), [number])
        os.utime(cache._path(str(number)), (number, number))
    assert [cache.load(str(number)) for number in range(5)] == [
        None, None, [2], [3], [4]
    ]  # fmt: skip
    cache.save("large", "x" * 1000)
    assert cache.load("large") is None
    assert len(list((tmp_path / "things").iterdir())) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="files of POSIX")
def test_files_that_are_not_those_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path)
    cache = DiskCache("things", [])
    cache.save("a", "of a")
    cache.save("b", "of b")
    path, other = cache._path("a"), cache._path("b")
    assert (cache.load("a"), cache.load("b")) == ("of a", "of b")
    content, of_other = path.read_bytes(), other.read_bytes()

    def put(mine: bytes) -> None:
        path.write_bytes(mine)

    for change in (
        lambda: put(of_other),  # exchanged
        lambda: put(content + b"x"),
        lambda: os.mkfifo(path),
        path.mkdir,
        lambda: path.symlink_to(other),
        lambda: path.symlink_to("/dev/zero"),
        *(lambda n=n: put(content[:n] + bytes([content[n] ^ 1]) + content[n + 1 :])  # type: ignore[misc]
          for n in range(len(content))),
    ):  # fmt: skip
        path.unlink()
        change()
        assert cache.load("a") is None
        if path.is_dir():
            path.rmdir()
        cache.save("a", "again")
        assert cache.load("a") == "again"


def test_the_state_of_source_files(tmp_path: Path) -> None:
    def state() -> str:
        state_of.cache_clear()
        return state_of(tmp_path)

    file = tmp_path / "folder" / "stage.sql.j2"
    file.parent.mkdir()
    file.write_text("SELECT 1")
    states = [state()]
    file.write_text("SELECT 12")
    states.append(state())
    os.utime(file, (1, 1))
    states.append(state())
    file.rename(file.with_name("other.sql.j2"))
    states.append(state())
    assert len(set(states)) == 4
    (tmp_path / "__pycache__").mkdir()
    assert state() == states[-1]
    state_of.cache_clear()
