"""Start commands in a copy of a folder, for signals to them.

Every run begins with the same files in a folder of its own: an old result, which is to be replaced.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from tests.support.commands import command
from tests.support.paths import DATA

OLD = "what was there before"

ALS, POPULAR = DATA / "recommendations_als.parquet", DATA / "recommendations_popular.parquet"
TRUTH = ["-i", DATA / "interactions.parquet"]
ONE = ["-r", ALS, *TRUTH]
TWO = ["-r", f"als={ALS}", "-r", f"popular={POPULAR}", *TRUTH]
MORE = [
    *("--history", DATA / "history.parquet", "--items", DATA / "items.parquet"),
    *("--users", DATA / "users.parquet"),
]
TEMPORARY = ["--temp-directory", "new/temporary"]


def to(name: str) -> list[str]:
    """Replace an old file."""
    return ["-o", name, "--force"]


COMMANDS: dict[str, Sequence[str | Path]] = {
    "evaluate": ["evaluate", *ONE, *MORE, "all", "--skip-missing", "-k", "5,10", *to("old.csv"),
                 *TEMPORARY, "--record", "record.json"],
    "evaluate to stdout": ["evaluate", *ONE, "ndcg@10", "map@10", *TEMPORARY],
    "evaluate to Parquet": ["evaluate", *ONE, "ndcg@10", "map@10", *to("old.parquet"), *TEMPORARY],
    "per-user": ["per-user", *ONE, "ndcg", "map", "-k", "5,10", *to("old.parquet"), *TEMPORARY],
    "compare": ["compare", *TWO, "--baseline", "popular", "ndcg@10", *to("old.csv"), *TEMPORARY],
    "leaderboard": ["leaderboard", *TWO, "ndcg@10", *to("old.csv"), *TEMPORARY],
    "report": ["report", *TWO, *MORE, "ndcg", "recall", "-k", "5,10", *to("old.html"), *TEMPORARY],
    "check": ["check", *ONE, *to("old.txt"), *TEMPORARY],
    "sql": ["sql", *ONE, "ndcg@10", "map@10", *TEMPORARY],
    "dbt": ["dbt", "new/package", "ndcg@10", "--recommendations-table", "recs",
            "--interactions-table", "truth", *TEMPORARY],
    "macros": ["macros", *to("old.sql")],
    "explain": ["explain", *ONE, "map@10", "--from", "replay", *to("old.csv"), *TEMPORARY],
    "identify": ["identify", *ONE, "map@10=0.5", *to("old.csv"), *TEMPORARY],
    "demo": ["demo", "new/demo", "--users", "20000"],
    "demo --force": ["demo", "demo", "--users", "20000", "--force"],
    "list": ["list"],
    "describe": ["describe", "ndcg"],
    "conventions": ["conventions", "ndcg"],
}  # fmt: skip
# sitecustomize.py, which the interpreter runs at its start: the import of one module never ends
HELD = """
import os, sys, time
class Finder:
    def find_spec(self, name, *_):
        while name == os.environ["HELD_IN"]:
            time.sleep(0.01)
sys.meta_path.insert(0, Finder())
"""


def prepared(folder: Path) -> Path:
    """Fill a folder with what is there before a run: old results, a demo."""
    place = folder / "before"
    place.mkdir()
    for name in ("old.csv", "old.parquet", "old.html", "old.txt", "old.sql"):
        (place / name).write_text(OLD)
    (place / "temporary").mkdir()
    (place / "demo").mkdir()
    (place / "demo" / "users.parquet").write_text(OLD)
    (place / "demo" / "mine.txt").write_text(OLD)
    return place


def state(place: Path) -> dict[str, bytes | None]:
    """Return all that is in a folder: path -> content, None of folders."""
    return {
        str(path.relative_to(place)): None if path.is_dir() else path.read_bytes()
        for path in place.rglob("*")
    }


def handles_signals(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether a process has begun to handle SIGTERM by itself."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path(f"/proc/{process.pid}/status").read_text()
        caught = int(text.partition("SigCgt:")[2].split()[0], 16)
        return bool(caught >> (signal.SIGTERM - 1) & 1)
    return False


@contextlib.contextmanager
def ignoring(ignored: Collection[signal.Signals]) -> Iterator[None]:
    """Let new processes ignore some signals and no others.

    A process inherits ignored signals: Ctrl-C in a background job, and SIGHUP below nohup.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if number in ignored:
            signal.signal(number, signal.SIG_IGN)
        elif handlers[number] is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)  # a new process does not inherit it
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def started(
    name: str,
    before: Path,
    folder: Path,
    ignored: Collection[signal.Signals] = (),
    held_in: str = "",
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start a command in a copy of a folder; hand it out once it handles signals.

    The command ignores the signals in `ignored`, and never gets past the import of `held_in`.
    """
    place = Path(shutil.copytree(before, folder / "run"))
    environment = {**os.environ, "TMPDIR": str(place / "temporary")}
    if held_in:
        (folder / "sitecustomize.py").write_text(HELD)
        environment |= {"PYTHONPATH": str(folder), "HELD_IN": held_in}
    try:
        with ignoring(ignored):
            running = subprocess.Popen(
                command(*COMMANDS[name]),
                cwd=place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        with running as process:
            try:
                while process.poll() is None and not handles_signals(process):
                    time.sleep(0.001)
                yield process, place
            finally:
                process.kill()
    finally:
        shutil.rmtree(place)
