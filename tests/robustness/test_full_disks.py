"""Full disks and too little memory: one clear message, the old result as it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.commands import command, temporary_files
from tests.support.evaluators import Evaluator
from tests.support.processes import PATIENCE

resource = pytest.importorskip("resource", reason="limits of POSIX")
FULL = 4_096  # bytes that a file may have where the disk is full


def little_disk(n_bytes: int = FULL) -> Callable[[], None]:
    """Let no file of a process grow further, as on a disk that is full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return limit


def failed(
    arguments: Sequence[str | Path],
    *words: str,
    disk: int | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> str:
    """Run a command that fails with exit code 1 and one message, which has these words."""
    with contextlib.ExitStack() as opened:
        result = subprocess.run(
            command(*arguments),
            stdin=subprocess.DEVNULL if stdin is None else opened.enter_context(stdin.open("rb")),
            stdout=subprocess.PIPE if stdout is None else opened.enter_context(stdout.open("wb")),
            stderr=subprocess.PIPE,
            preexec_fn=None if disk is None else little_disk(disk),
            timeout=PATIENCE,
        )
    message = result.stderr.decode()
    assert result.returncode == 1, message
    assert message.count("sqlmetrics: error: ") == 1, message
    assert "Traceback" not in message
    assert not result.stdout
    for word in words:
        assert word in message, message
    return message


# ---------------------------------------------------------------- full disks
@pytest.mark.parametrize("name", ["values.csv", "values.parquet"])
def test_a_full_disk_keeps_the_old_result(data: Path, place: Path, name: str) -> None:
    (place / name).write_text("what was there before")
    command_name = "evaluate" if name == "values.csv" else "per-user"
    message = failed(
        [command_name, "-r", data / "ranks.parquet", "-i", data / "truth.parquet", "ndcg", "map",
         "-k", "1:50", "-o", place / name, "--force"],
        "File too large", disk=FULL,
    )  # fmt: skip
    # Parquet goes to a folder of our own first
    assert str(place / name if name != "values.parquet" else place.parent / "temporary") in message
    assert (place / name).read_text() == "what was there before"
    assert os.listdir(place) == [name]
    assert temporary_files(place) == []


@pytest.mark.parametrize("unbuffered", ["1", ("")])
def test_a_full_disk_behind_stdout(
    data: Path, place: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    """Without a buffer, Python drops what a write did not take, and says nothing."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    failed(
        ["evaluate", "-r", data / "ranks.parquet", "-i", data / "truth.parquet", "ndcg", "map",
         "-k", "1:50", "--format", "csv"],
        "cannot be written", "File too large", disk=FULL, stdout=place / "out.csv",
    )  # fmt: skip


def test_a_full_disk_for_temporary_files(data: Path, place: Path) -> None:
    failed(
        ["evaluate", "-r", data / "scores.parquet", "-i", data / "truth.parquet", "ndcg", "map",
         "-k", "1:20", "--memory-limit", "10MB", "--threads", "1"],
        "computing", str(place.parent / "temporary"), "File too large", "--temp-directory",
        disk=FULL,
    )  # fmt: skip
    assert temporary_files(place) == []


def test_a_full_disk_for_what_comes_from_stdin(data: Path, place: Path) -> None:
    failed(
        ["evaluate", "-r", "-", "-i", data / "truth.parquet", "ndcg@10"],
        "stdin", "File too large", "--temp-directory", disk=FULL, stdin=data / "ranks.parquet",
    )  # fmt: skip
    assert temporary_files(place) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 8 KB, where that is allowed."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_small_file_system(data: Path, place: Path, small_disk: Path) -> None:
    """A result goes to the temporary folder first, and from there to another file system."""
    with Evaluator(data / "ranks.parquet", data / "truth.parquet") as evaluator:
        fits, does_not = small_disk / "small.parquet", small_disk / "large.parquet"
        evaluator.write_parquet(fits, "ndcg@10")
        assert len(pd.read_parquet(fits)) == 1
        metrics = ["ndcg", "map", "dcg", "mrr", "recall", "precision"]
        options: dict[str, Any] = {"metrics": metrics, "k": range(1, 21), "per_user": True}
        with pytest.raises(sm.DataError, match=r"cannot write \S+large\.parquet: No space left"):
            evaluator.write_parquet(does_not, **options)
        assert os.listdir(small_disk) == ["small.parquet"]
        evaluator.write_parquet(place / "large.parquet", **options)
        assert (place / "large.parquet").stat().st_size > 1 << 13
    with (
        Evaluator(
            data / "ranks.parquet", data / "truth.parquet", temp_directory=small_disk
        ) as evaluator,
        pytest.raises(sm.EngineError, match=rf"does not fit into {small_disk} .*No space left"),
    ):
        evaluator.write_parquet(place / "again.parquet", **options)
    assert os.listdir(small_disk) == ["small.parquet"]
    assert os.listdir(place) == ["large.parquet"]
    assert temporary_files(place) == []


def test_a_folder_that_takes_no_files(data: Path) -> None:
    """Root may write everywhere but for file systems of the kernel."""
    if not Path("/proc/self").is_dir():
        pytest.skip("this system has no /proc")
    failed(
        ["evaluate", "-r", data / "ranks.parquet", "-i", data / "truth.parquet", "ndcg@10", "-o",
         "/proc/out.csv"],
        "cannot write /proc/out.csv",
    )  # fmt: skip


# ---------------------------------------------------------------- memory
@pytest.mark.parametrize("limit", ["3MB", ("12MB")])
def test_too_little_memory(data: Path, place: Path, limit: str) -> None:
    (place / "out.csv").write_text("old")
    failed(
        ["evaluate", "-r", data / "scores.parquet", "-i", data / "truth.parquet", "all",
         "--skip-missing", "-k", "1:20", "--memory-limit", limit, "-o",
         place / "out.csv", "--force"],
        f"memory limit of {limit}", "--memory-limit", "--where",
    )  # fmt: skip
    assert (place / "out.csv").read_text() == "old"
    assert os.listdir(place) == ["out.csv"]
    assert temporary_files(place) == []
