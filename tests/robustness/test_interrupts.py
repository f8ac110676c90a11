"""Signals to the command line: it ends with exit code 130 and leaves everything as it was.

The signals are real ones.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sqlmetrics.files import OwnFolder, whole_file
from tests.robustness import interrupts
from tests.support.commands import command
from tests.support.evaluators import Evaluator
from tests.support.processes import ENDLESS, wait_for

if not Path("/proc/self/status").exists():
    pytest.skip("this system has no /proc", allow_module_level=True)

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return interrupts.prepared(tmp_path_factory.mktemp("interrupts"))


def ended(process: subprocess.Popen[bytes], how: signal.Signals) -> str:
    """Send a signal; return what the process says until its end."""
    process.send_signal(how)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130, messages
    return messages.decode()


@pytest.mark.parametrize("how", SIGNALS)
def test_an_interrupt_while_modules_are_imported(
    before: Path, tmp_path: Path, how: signal.Signals
) -> None:
    """A loaded machine may take long to send the signal, so the imports do not end."""
    held = interrupts.started("evaluate", before, tmp_path, held_in="sqlmetrics.cli.commands")
    with held as (process, place):
        assert ended(process, how) == "sqlmetrics: interrupted\n"
        assert interrupts.state(place) == interrupts.state(before)


@pytest.mark.parametrize("name", ["demo", "demo --force"])
@pytest.mark.parametrize("how", SIGNALS[:2])
def test_an_interrupted_demo_leaves_nothing(
    before: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    how: signal.Signals,
) -> None:
    """Neither some of its files nor the folders that were made; files that were there stay."""
    arguments = [*interrupts.COMMANDS[name], "--users", "2000000"]
    monkeypatch.setitem(interrupts.COMMANDS, name, arguments)
    with interrupts.started(name, before, tmp_path) as (process, place):
        wait_for(lambda: list(place.rglob("recommendations_als.parquet")))
        assert ended(process, how) == "sqlmetrics: interrupted\n"
        assert interrupts.state(place) == interrupts.state(before)


def test_an_ignored_signal_stays_ignored(before: Path, tmp_path: Path) -> None:
    """As with nohup, or in a job that a shell has started in the background."""
    ignored = [signal.SIGHUP]
    with interrupts.started("describe", before, tmp_path, ignored=ignored) as (process, _):
        process.send_signal(signal.SIGHUP)
        _, messages = process.communicate(timeout=60)
    assert (process.returncode, messages) == (0, b"")


def test_an_interrupt_while_the_scripts_of_a_report_are_made(before: Path, tmp_path: Path) -> None:
    """That call holds the interpreter for seconds, so it runs in a process of its own."""
    pytest.importorskip("vl_convert", reason="for reports")
    with interrupts.started("report", before, tmp_path) as (process, place):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_for(children.read_text)
        (child,) = children.read_text().split()
        assert ended(process, signal.SIGTERM).endswith("sqlmetrics: interrupted\n")
        assert interrupts.state(place) == interrupts.state(before)

    def has_ended() -> bool:
        try:
            return Path(f"/proc/{child}/cmdline").read_bytes() == b""  # nobody has waited for it
        except OSError:
            return True

    wait_for(has_ended)


def test_an_interrupt_at_random_moments(before: Path, tmp_path: Path) -> None:
    """Three commands of all: each is interrupted, or ends before."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    draw = random.Random(seed)
    for name in draw.sample(list(interrupts.COMMANDS), 3):
        with interrupts.started(name, before, tmp_path) as (process, place):
            time.sleep(draw.uniform(0, 1))
            process.send_signal(draw.choice(SIGNALS))
            _, messages = process.communicate(timeout=60)
            assert process.returncode in (0, 1, 4, 130), (name, messages)  # 4: nothing identified
            assert b"Traceback" not in messages, name
            if process.returncode == 130:
                assert messages.count(b"sqlmetrics: interrupted\n") == 1, name
                assert interrupts.state(place) == interrupts.state(before), name


# ---------------------------------------------------------------- processes that are killed


@contextlib.contextmanager
def endless_run(place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run that never ends; hand it out once it has temporary files of both kinds."""
    (place / "own").mkdir(exist_ok=True)
    (place / "own" / "endless.sql.j2").write_text(ENDLESS)
    known = set(place.rglob("lock"))

    def complete() -> set[Path]:
        # an empty lock is in creation, and the next run leaves its folder alone
        return {lock for lock in {*place.rglob("lock")} - known if lock.stat().st_size}

    arguments = ["evaluate", *interrupts.ONE, "endless@10", "--templates", "own", "-o", "out.csv",
                 "--temp-directory", "temporary"]  # fmt: skip
    with subprocess.Popen(
        command(*arguments), cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            wait_for(lambda: len(complete()) == 2)
            yield process
        finally:
            process.kill()


def folders(place: Path) -> set[str]:
    """Name the temporary folders beside the result and in the directory for temporary files."""
    found = [*place.glob(".sqlmetrics-*"), *place.glob("temporary/sqlmetrics-*")]
    return {str(path.relative_to(place)) for path in found}


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    with endless_run(tmp_path) as process:
        process.kill()
    left = folders(tmp_path)
    assert len(left) == 2
    with endless_run(tmp_path) as running:
        its_own = folders(tmp_path)
        assert len(its_own) == 2
        assert its_own.isdisjoint(left)
        # what a process that lives has made is left to it
        lists, truth = interrupts.ALS, interrupts.TRUTH[1]
        with Evaluator(lists, truth, temp_directory=tmp_path / "temporary") as evaluator:
            evaluator.write_parquet(tmp_path / "other.parquet", "ndcg@10")
        assert folders(tmp_path) == its_own
        ended(running, signal.SIGTERM)
    assert folders(tmp_path) == set()
    assert {path.name for path in tmp_path.iterdir()} == {"own", "other.parquet", "temporary"}


def test_only_folders_of_ours_are_removed(tmp_path: Path) -> None:
    """A name alone does not make a folder ours, nor does a lock that somebody holds."""
    number = "0123456789abcdef"
    mine = [f"sqlmetrics-{number}", "sqlmetrics-results", f".sqlmetrics-{number}"]
    for name in mine:
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.txt").write_text("mine")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "lock").write_text("")
    (tmp_path / f"sqlmetrics-{number[::-1]}").symlink_to("target")
    elsewhere = tmp_path / f"sqlmetrics-{'0' * 16}"
    elsewhere.mkdir()
    (elsewhere / "lock").write_text("another-machine 12\n")
    known = interrupts.state(tmp_path)
    with OwnFolder(tmp_path) as folder:
        assert set(os.listdir(folder)) == {"lock"}
    assert interrupts.state(tmp_path) == known


@pytest.mark.parametrize("lock", [False, True])
def test_a_folder_in_creation_is_left_alone(tmp_path: Path, lock: bool) -> None:
    """Another process made the folder, and has not locked it yet."""
    other = tmp_path / f"sqlmetrics-{'a' * 16}"
    other.mkdir()
    if lock:
        (other / "lock").touch()
    known = interrupts.state(tmp_path)
    with OwnFolder(tmp_path):
        pass
    assert interrupts.state(tmp_path) == known


def test_threads_make_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnFolder(tmp_path)
    mkdir = Path.mkdir
    waiting = threading.Barrier(2)

    def slow(path: Path, *args: Any, **kwargs: Any) -> None:
        """Create the folder when both threads want to, or when only one of them can."""
        with contextlib.suppress(threading.BrokenBarrierError):
            waiting.wait(0.2)
        mkdir(path, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", slow)
    with ThreadPoolExecutor(2) as pool:
        made = [future.result() for future in [pool.submit(own.make) for _ in range(2)]]
    assert made == [own.path] * 2
    assert os.listdir(own.path) == ["lock"]
    own.remove()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("lock", [False, True])
def test_a_folder_of_a_process_killed_while_it_made_it(tmp_path: Path, lock: bool) -> None:
    """The process was killed before it locked the folder, which is older than an hour."""
    left = tmp_path / f".sqlmetrics-{'a' * 16}"
    left.mkdir()
    if lock:
        (left / "lock").touch()
    os.utime(left, (0, time.time() - 4000))
    with whole_file(tmp_path / "out.csv", force=False) as draft:
        draft.write_text("new")
    assert os.listdir(tmp_path) == ["out.csv"]
