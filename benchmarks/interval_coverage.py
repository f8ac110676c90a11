"""Coverage of 95 % confidence intervals for values that are distributed like metrics.

    python benchmarks/interval_coverage.py [--repetitions 2000] [--resamples 1000] [--users 30 300]

Draws the values of n users many times from a distribution with a known mean, and counts how often
each interval contains this mean: value ± z standard errors (`evaluate`), percentiles of resampled
means (`ci="bootstrap"`), and the interval of the t-test (`compare`). It also counts the intervals
below and above the mean. The package's queries resample the means; every simulated run is a column
of the table of values.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pandas as pd

from sqlmetrics.sql.template_names import Keys
from sqlmetrics.sql.templates import environment
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.stats.paired_tests import finished

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
Draw: TypeAlias = Callable[[np.random.Generator, tuple[int, int]], Array]
Ends: TypeAlias = tuple[Array, Array]

AT_ONCE = 100  # runs that share a table and the draws of its users


def with_zeros(share: float, a: float, b: float) -> Draw:
    """Draw 0 for a share of users, and beta-distributed values for the others."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> Array:
        return np.where(random.random(shape) < share, 0.0, random.beta(a, b, shape))

    return draw


def difference(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Draw differences between two models, which are 0 for 70 % of users."""
    model, baseline = with_zeros(0.55, 2, 3), with_zeros(0.6, 2, 3)
    differs = random.random(shape) < 0.3
    return np.where(differs, model(random, shape) - baseline(random, shape), 0.0)


# values and their mean; the mean of a beta distribution is a / (a + b)
DISTRIBUTIONS: dict[str, tuple[Draw, float]] = {
    "60 % zeros, beta(2, 3)": (with_zeros(0.6, 2, 3), 0.4 * 2 / 5),
    "95 % zeros, beta(1, 4)": (with_zeros(0.95, 1, 4), 0.05 * 1 / 5),
    "difference of two models": (difference, 0.3 * (0.45 - 0.4) * 2 / 5),
}


def rendered(template: str, known: Mapping[str, Any]) -> str:
    """Render a query of the package over tables with the names that the query uses."""
    context = {
        **Keys().context,
        "groups": [],
        "weights": {},
        "counted": False,
        "cluster": None,
        **known,
    }
    return environment().get_template(f"results/{template}.sql.j2").render(context, ref=str)


def bootstrap(values: Array, interval: Interval) -> Ends:
    """Resample the users (rows) of several runs (columns)."""
    names = [f"run_{number}" for number in range(values.shape[1])]
    known = {"names": names, "flipped": False, "confidence": interval.confidence, **interval.draws}
    table = pd.DataFrame(values, columns=names)
    table["user_id"] = range(len(table))
    with duckdb.connect(config={"threads": 1}) as connection:  # other threads resample other runs
        connection.register("per_user", table)
        for name in ("resample_groups", "resampled"):
            connection.execute(f"CREATE TABLE {name} AS {rendered(name, known)}")
        found = connection.execute(rendered("percentiles", known)).fetchall()[0]
    return np.array(found[0::2]), np.array(found[1::2])


def normal(values: Array, interval: Interval) -> Ends:
    mean, reach = values.mean(axis=0), interval.z * values.std(axis=0, ddof=1) / len(values) ** 0.5
    return mean - reach, mean + reach


def of_t_test(values: Array, interval: Interval) -> Ends:
    """Compute the interval of `compare`, treating the values as differences."""
    mean = values.mean(axis=0)
    rows = pd.DataFrame({"metric": "simulated", "k": None, "model": "one", "baseline": "other",
                         "n_users": len(values), "value": mean, "baseline_value": 0.0,
                         "difference": mean, "std": values.std(axis=0, ddof=1),
                         "wins": 0, "ties": 0, "losses": 0})  # fmt: skip
    found = finished(
        rows, test="t", interval="normal", confidence=interval.confidence, correction="none"
    )
    return found["ci_low"].to_numpy(), found["ci_high"].to_numpy()


KINDS: dict[str, Callable[[Array, Interval], Ends]] = {
    "normal": normal,
    "bootstrap": bootstrap,
    "t": of_t_test,
}


def misses(
    draw: Draw, mean: float, users: int, repetitions: int, resamples: int
) -> dict[str, tuple[int, int]]:
    """Count the intervals of each kind below and above the mean."""

    def of_some(first: int) -> dict[str, Ends]:
        random = np.random.default_rng([users, first])
        values = draw(random, (users, min(AT_ONCE, repetitions - first)))
        interval = Interval("bootstrap", resamples=resamples, seed=first)
        return {kind: compute(values, interval) for kind, compute in KINDS.items()}

    counts = dict.fromkeys(KINDS, (0, 0))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(of_some, range(0, repetitions, AT_ONCE)):
            for kind, (low, high) in found.items():
                below, above = counts[kind]
                counts[kind] = below + int((high < mean).sum()), above + int((low > mean).sum())
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--users", type=int, nargs="+", default=[30, 300, 1000, 5000])
    options = parser.parse_args()
    repetitions = options.repetitions
    error = math.sqrt(0.95 * 0.05 / repetitions)
    print(f"{repetitions} repetitions, {options.resamples} resamples: % that hold the mean "
          f"(% that lie below it, above it); standard error {100 * error:.1f} at 95 %")  # fmt: skip
    print(f"{'values':26s}{'users':>6s}" + "".join(f"{kind:>20s}" for kind in KINDS))
    start = time.monotonic()
    for name, (draw, mean) in DISTRIBUTIONS.items():
        for users in options.users:
            cells = []
            counts = misses(draw, mean, users, repetitions, options.resamples)
            for below, above in counts.values():
                held, low, high = (
                    100 * count / repetitions
                    for count in (repetitions - below - above, below, above)
                )
                cells.append(f"{held:.1f} ({low:4.1f}, {high:3.1f})")
            print(f"{name:26s}{users:6d}" + "".join(f"{cell:>20s}" for cell in cells), flush=True)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
