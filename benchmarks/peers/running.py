"""Run a system once, from the files to its numbers, in a separate process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .agreement import Number
from .registry import System
from .tables import Tables

_MEASURE = Path(__file__).resolve().with_name("measure.py")
# messages of libraries that run out of memory without being killed by the kernel
_OUT_OF_MEMORY = ("memoryerror", "out of memory", "bad_alloc", "memory allocation of")


@dataclass(frozen=True)
class Cost:
    """The cost of a run: seconds, CPU seconds, and peak memory in bytes."""

    wall: float
    cpu: float
    memory: int


@dataclass(frozen=True)
class Run:
    """The outcome of a run: numbers and their cost, or the reason for none.

    `outcome` is "measured", "time limit", "out of memory" or "failed"; `detail` says more.
    """

    outcome: str
    detail: str = ""
    numbers: tuple[Number, ...] = ()
    cost: Cost | None = None


def run(system: System, python: Path, tables: Tables, kind: str, limit: float) -> Run:
    """Run a system on lists of a kind; end it after `limit` seconds."""
    arguments = [argument.format(kind=kind) for argument in system.arguments]
    command = [str(python), str(system.script), str(tables.recommendations(kind))]
    command += [str(tables.interactions), *arguments]
    # -I -S: avoid imports that would enlarge the measuring process
    measure = [sys.executable, "-I", "-S", str(_MEASURE), str(limit)]
    done = subprocess.run([*measure, *command], capture_output=True, text=True)
    if done.returncode:
        return Run("failed", _last_line(done.stderr))
    *printed, usage = [line for line in done.stdout.splitlines() if line]
    found = json.loads(usage)
    if found["timed_out"]:
        return Run("time limit", f"more than {limit:.0f} s")
    if found["exit_code"]:
        killed = found["exit_code"] == -signal.SIGKILL
        if killed or any(phrase in done.stderr.lower() for phrase in _OUT_OF_MEMORY):
            return Run("out of memory")
        return Run("failed", _last_line(done.stderr))
    numbers = tuple(Number(name, k, value) for name, k, value in json.loads(printed[-1]))
    cost = Cost(found["wall"], found["cpu"], found["memory"])
    return Run("measured", numbers=numbers, cost=cost)


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2] or "no message"
