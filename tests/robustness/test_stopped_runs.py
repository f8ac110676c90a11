"""Runs that are stopped at any stage leave nothing behind."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import command, temporary_files
from tests.support.processes import ENDLESS, PATIENCE, wait_for


@pytest.mark.parametrize(
    ("stage", "how"),
    [("input", signal.SIGTERM), ("writing", signal.SIGINT), ("reader", signal.SIGTERM)],
)
def test_a_run_that_is_stopped_at_any_stage(
    data: Path, place: Path, stage: str, how: signal.Signals
) -> None:
    """While it waits for more input, for the engine that writes, or for a reader of its output."""
    (place / "endless.sql.j2").write_text(ENDLESS)
    (place / "old.parquet").write_text("what was there before")
    before, temporary = set(place.iterdir()), place.parent / "temporary"
    lists, truth = data / "ranks.parquet", ["-i", data / "truth.parquet", "--templates", place]
    arguments: dict[str, list[str | Path]] = {
        "input": ["evaluate", "-r", "-", *truth, "ndcg@10"],
        "writing": ["per-user", "-r", lists, *truth, "endless@10", "-o", place / "old.parquet",
                    "--force"],
        "reader": ["per-user", "-r", lists, *truth, "ndcg", "map", "dcg", "-k", "1:30",
                   "--format", "json", "--no-check"],
    }  # fmt: skip
    with subprocess.Popen(
        command(*arguments[stage]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        try:
            if stage == "reader":
                process.stdout.read(1)  # there is more than a pipe holds
            else:
                # the input, or the folder to write to: the file itself is there from its first row
                wait_for(lambda: list(temporary.glob("sqlmetrics-*/sqlmetrics-*")), process)
            process.send_signal(how)
            if stage == "reader":
                wait_for(lambda: temporary_files(place) == [])
            process.stdin.close()
            messages, output = process.stderr.read().decode(), process.stdout.read()
            process.wait(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130, messages
    assert messages == "sqlmetrics: interrupted\n"
    assert stage == "reader" or output == b""
    assert set(place.iterdir()) == before
    assert (place / "old.parquet").read_text() == "what was there before"
    assert temporary_files(place) == []
