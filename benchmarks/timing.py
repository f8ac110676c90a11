"""Measure alternatives in one process."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Callable


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(actions: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Return the median CPU seconds of each action; the actions run alternately after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for run in range(runs + 1):
        for name, action in actions.items():
            start = cpu()
            action()
            if run:
                times[name].append(cpu() - start)
    return {name: statistics.median(values) for name, values in times.items()}
