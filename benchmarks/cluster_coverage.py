"""How often 95 % intervals contain the true mean when users have several lists.

    python benchmarks/cluster_coverage.py --repetitions 2000

Lists of a user have hits with a probability of the user, drawn from a beta distribution with the
mean 0.2, so that the values of two lists of a user have the given correlation. The intervals are
those of the formulas that the tests compare the statements with: value ± z standard errors of
independent lists, --cluster, --cluster with --ci bootstrap.

There is a table for the mean over all lists, for a weighted mean (lists with the weights 1, 2 or
5), and for a slice (half of the lists, each by a fair coin).
"""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

MEAN, ENDS, RESAMPLES = 0.2, (0.025, 0.975), 1000
SIZES = (10, 30, 200, 2000)
# the weights of lists; 0 is a list outside the slice
WEIGHTS = {"all lists": [1], "weighted mean": [1, 2, 5], "slice": [0, 1]}
Array: TypeAlias = npt.NDArray[Any]


def hits(draw: np.random.Generator, users: int, lists: int, correlation: float) -> Array:
    """Return whether each list of each user has a hit."""
    shares = np.full((users, 1), MEAN)
    if correlation > 0:
        size = 1 / correlation - 1
        shares = draw.beta(MEAN * size, (1 - MEAN) * size, (users, 1))
    found: Array = draw.random((users, lists)) < shares
    return found


def contain(values: Array, weights: Array, times: Array) -> list[bool]:
    """Return whether the intervals contain the true mean: normal, clusters, bootstrap.

    `values` and `weights` have a row per user and a column per list; `times` has a row per resample
    and a column per user. A user without a list in the slice does not count.
    """
    inside = (weights > 0).any(axis=1)
    n, users, total = (weights > 0).sum(), inside.sum(), weights.sum()
    value = (weights * values).sum() / total
    residuals = weights * (values - value)
    error = np.sqrt(n / (n - 1) * (residuals**2).sum()) / total
    of_clusters = np.sqrt(users / (users - 1) * (residuals.sum(axis=1) ** 2).sum()) / total
    distance = abs(value - MEAN)
    sums, counts = times @ (weights * values).sum(axis=1), times @ weights.sum(axis=1)
    low, high = np.quantile(sums[counts > 0] / counts[counts > 0], ENDS)
    z, t = special.ndtri(ENDS[1]), special.stdtrit(users - 1, ENDS[1])
    return [distance <= z * error, distance <= t * of_clusters, low <= MEAN <= high]


def coverage(kind: str, users: int, lists: int, correlation: float, repetitions: int) -> str:
    """Return the shares of intervals of each kind that contain the mean, in percent.

    All repetitions have the same resamples, as all runs with the same --seed.
    """
    draw = np.random.default_rng([users, lists, int(100 * correlation), len(kind)])
    times = draw.poisson(1, (RESAMPLES, users)).astype(float)
    found = [
        contain(
            hits(draw, users, lists, correlation),
            draw.choice(WEIGHTS[kind], (users, lists)),
            times,
        )
        for _ in range(repetitions)
    ]
    return " / ".join(f"{share:.0f}" for share in 100 * np.mean(found, axis=0))


def main() -> None:
    """Print a table per mean: a row per correlation and number of lists, a column per users."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    repetitions = parser.parse_args().repetitions
    for kind in WEIGHTS:
        print(f"\n{kind}\n")
        print("| correlation | lists per user |", " | ".join(f"{n:,} users" for n in SIZES), "|")
        print("|---:|---:|" + "---|" * len(SIZES))
        for correlation in (0.0, 0.1, 0.3):
            for lists in (3, 5, 10):
                cells = [coverage(kind, n, lists, correlation, repetitions) for n in SIZES]
                print(f"| {correlation:g} | {lists} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
