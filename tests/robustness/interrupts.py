"""Interrupt every command at random moments, and look at what is left.

    python -m tests.robustness.interrupts --moments 20 --load 2

Every run begins with the same files in a folder of its own: an old result, which is to be replaced.
A signal is sent at a random moment between the first line of ours (the interpreter handles signals
before it by itself) and the end of the command. Either the command ends with exit code 130, and the
folder is as it was, or it was done already, and the folder is as after a complete run. The table
has, for each command and signal, the exit codes, the longest time from the signal to the end, and
what was wrong.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.paths import DATA

TIMEOUT = 120  # seconds until a run counts as one that hangs
ENDED = (0, 1, 4)  # exit codes of commands that came to their end; 4: identify found nothing
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
                 *TEMPORARY, "--partitions", "2", "--record", "record.json"],
    "evaluate to stdout": ["evaluate", *ONE, "ndcg@10", "map@10", *TEMPORARY],
    "evaluate to Parquet": ["evaluate", *ONE, "ndcg@10", "map@10", *to("old.parquet"), *TEMPORARY],
    "evaluate --partition": ["evaluate", *ONE, "ndcg@10", "--partition", "2/3", "-o", "parts"],
    "evaluate --partition again": ["evaluate", *ONE, "ndcg@10", "--partition", "1/1",
                                   *to("complete")],
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
    "reduce": ["reduce", "complete", *to("old.csv"), *TEMPORARY],
    "list": ["list"],
    "describe": ["describe", "ndcg"],
    "conventions": ["conventions", "ndcg"],
}  # fmt: skip
SIGNALS = (signal.SIGINT, signal.SIGTERM)
# sitecustomize.py, which the interpreter runs at its start: the import of one module never ends
HELD = """
import os, sys, time
class Finder:
    def find_spec(self, name, *_):
        while name == os.environ["HELD_IN"]:
            time.sleep(0.01)
sys.meta_path.insert(0, Finder())
"""


@dataclass
class Tally:
    """What happened to one command and one signal; seconds from the signal to the end.

    `longest`: of runs that were interrupted; `late`: of runs whose result was being put in place.
    """

    codes: collections.Counter[int] = field(default_factory=collections.Counter)
    longest: float = 0.0
    late: float = 0.0
    problems: list[str] = field(default_factory=list)


def command(*arguments: str | Path) -> list[str]:
    """Spell a command as a process of its own."""
    return [sys.executable, "-m", "sqlmetrics", *map(str, arguments)]


def prepared(folder: Path) -> Path:
    """Fill a folder with what is there before a run: old results, a table of parts, a demo."""
    place = folder / "before"
    place.mkdir()
    for name in ("old.csv", "old.parquet", "old.html", "old.txt", "old.sql"):
        (place / name).write_text(OLD)
    (place / "temporary").mkdir()
    (place / "demo").mkdir()
    (place / "demo" / "users.parquet").write_text(OLD)
    (place / "demo" / "mine.txt").write_text(OLD)
    part = ["evaluate", *ONE, "ndcg@10", "--partition", "1/1", "-o", place / "complete"]
    subprocess.run(command(*part), check=True, capture_output=True)
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


def complete(name: str, before: Path, folder: Path) -> tuple[float, int, dict[str, bytes | None]]:
    """Run a command to its end; return the seconds, the exit code and what there is then."""
    with started(name, before, folder) as (process, place):
        begun = time.monotonic()
        _, messages = process.communicate(timeout=TIMEOUT)
        seconds = time.monotonic() - begun
        assert process.returncode in ENDED, (name, process.returncode, messages.decode())
        return seconds, process.returncode, state(place)


def interrupted(
    name: str, before: Path, folder: Path, how: signal.Signals, moment: float, tally: Tally
) -> None:
    """Interrupt a command after some seconds, and note what happens."""
    with started(name, before, folder) as (process, place):
        time.sleep(moment)
        ended = process.poll() is not None
        sent = time.monotonic()
        process.send_signal(how)
        try:
            _, messages = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            tally.problems.append(f"{moment:.3f} s: hangs")
            return
        seconds = time.monotonic() - sent
        if process.returncode == 130:
            tally.longest = max(tally.longest, seconds)
        elif not ended:
            tally.late = max(tally.late, seconds)
        tally.codes[process.returncode] += 1
        text, found = messages.decode(), state(place)
    if process.returncode == 130:
        if text.count("sqlmetrics: interrupted\n") != 1 or "Traceback" in text:
            tally.problems.append(f"{moment:.3f} s: {text.strip()[-300:]!r}")
        before_it = state(before)
        if found != before_it:
            changed = {k for k in {*found, *before_it} if found.get(k, 0) != before_it.get(k, 0)}
            tally.problems.append(f"{moment:.3f} s: changed: {', '.join(sorted(changed))}")
    elif process.returncode in ENDED:
        whole = complete_names[name]
        if {*found} != whole:
            tally.problems.append(f"{moment:.3f} s: not complete: {sorted({*found} ^ whole)}")
        if "Traceback" in text:
            tally.problems.append(f"{moment:.3f} s: {text.strip()[-300:]!r}")
    else:
        tally.problems.append(f"{moment:.3f} s: {process.returncode}, {text.strip()[-300:]!r}")


complete_names: dict[str, set[str]] = {}  # command -> the files after a complete run


def measured(
    name: str, before: Path, folder: Path, moments: int, numbers: random.Random
) -> dict[signal.Signals, Tally]:
    """Interrupt a command at several moments by each of the signals."""
    seconds, code, after = complete(name, before, folder)
    complete_names[name] = {*after}
    tallies = {how: Tally() for how in SIGNALS}
    for how, tally in tallies.items():
        for _ in range(moments):
            interrupted(name, before, folder, how, numbers.uniform(0, seconds), tally)
        unexpected = {*tally.codes} - {code, 130}
        if unexpected:
            tally.problems.append(f"exit codes {unexpected}; without a signal {code}")
    return tallies


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep processors busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main(say: Callable[[str], None] = print) -> int:
    """Measure the commands that are asked for; return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--moments", type=int, default=20, help="for each command and signal")
    parser.add_argument("--load", type=int, default=2, help="busy processes beside it")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--only", nargs="*", default=list(COMMANDS), metavar="COMMAND")
    given = parser.parse_args()
    numbers, wrong = random.Random(given.seed), 0
    say("| command | signal | exit codes | longest time to the end (s) | too late (s) | problems |")
    say("|---|---|---|---:|---:|---|")
    with tempfile.TemporaryDirectory() as name, load(given.load):
        folder = Path(name)
        before = prepared(folder)
        for one in given.only:
            for how, tally in measured(one, before, folder, given.moments, numbers).items():
                codes = ", ".join(f"{code}: {n}" for code, n in sorted(tally.codes.items()))
                wrong += len(tally.problems)
                problems = "; ".join(tally.problems) or "none"
                times = f"{tally.longest:.2f} | {tally.late:.2f}"
                say(f"| {one} | {how.name} | {codes} | {times} | {problems} |")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
