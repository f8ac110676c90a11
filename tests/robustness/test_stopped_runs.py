"""Runs that are stopped at any moment leave nothing behind."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.support.commands import command, temporary_files
from tests.support.processes import ENDLESS, PATIENCE, wait_for

N_MOMENTS = 3


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


def test_a_run_that_is_stopped_at_any_time(data: Path, place: Path) -> None:
    """At moments all over the run, from the start of the process to its end."""
    arguments = ["evaluate", "-r", data / "scores.parquet", "-i", data / "truth.parquet", "all",
                 "--skip-missing", "-k", "1:5", "-o", place / "out.csv",
                 "--force"]  # fmt: skip
    started = time.monotonic()
    subprocess.run(command(*arguments), capture_output=True, timeout=PATIENCE, check=True)
    duration, whole, codes = time.monotonic() - started, pd.read_csv(place / "out.csv"), []
    for number in range(N_MOMENTS):
        with subprocess.Popen(
            command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            time.sleep(duration * number / N_MOMENTS)
            process.send_signal(signal.SIGINT if number % 2 else signal.SIGTERM)
            _, messages = process.communicate(timeout=PATIENCE)
        # before our own code runs, Python ends as it does; at the very end, there is a result
        assert process.returncode in (130, 0, -signal.SIGINT, -signal.SIGTERM), messages
        assert process.returncode != 130 or b"Traceback" not in messages
        codes.append(process.returncode)
        assert [path.name for path in place.iterdir()] == ["out.csv"]
        found = pd.read_csv(place / "out.csv")
        pd.testing.assert_frame_equal(found, whole, rtol=1e-9)  # of this run, or of one before
        assert temporary_files(place) == []
    assert 130 in codes, codes
