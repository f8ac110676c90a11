"""How often 95 % intervals of audited labels contain the true mean, and how wide they are.

    python benchmarks/audit_coverage.py --repetitions 4000

Values by people are like those of nDCG: 0 for three users in ten, else from a beta distribution.
The labels are right for a share of the users, and those of another user for the others. Of 1,000
users, some are audited. Widths are shares of the width of the interval by people alone (Student's
t).
"""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

USERS, LEVEL = 1000, 0.95
Array: TypeAlias = npt.NDArray[Any]


def values(draw: np.random.Generator, n: int) -> Array:
    """Return the values of users by people."""
    return np.where(draw.random(n) < 0.3, 0, draw.beta(2, 2, n))


def interval(labels: Array, people: Array) -> tuple[float, float]:
    """Return the estimate and half its interval: see `sqlmetrics/plan/audit.py`."""
    n, others = len(people), len(labels) - len(people)
    of_audited, of_others = labels[:n], labels[n:]
    covariance = ((people - people.mean()) * (of_audited - of_audited.mean())).mean()
    variance = (1 + n / others) * labels.var(ddof=1)
    weight = float(np.clip(covariance / variance, 0, 1))
    value = people.mean() + weight * (of_others.mean() - of_audited.mean())
    square = weight**2 * of_others.var() / others + (people - weight * of_audited).var() / n
    return value, float(stats.norm.ppf((1 + LEVEL) / 2) * np.sqrt(square))


def measured(audited: int, right: float, repetitions: int) -> tuple[float, float]:
    """Return the share of intervals that contain the mean, and the mean relative width."""
    draw = np.random.default_rng([audited, int(100 * right)])
    mean = 0.7 / 2
    found, widths, of_people = 0, 0.0, 0.0
    for _ in range(repetitions):
        truth = values(draw, USERS)
        labels = np.where(draw.random(USERS) < right, truth, values(draw, USERS))
        people = truth[:audited]
        value, half = interval(labels, people)
        found += abs(value - mean) <= half
        widths += half
        error = people.std(ddof=1) / np.sqrt(audited)
        of_people += stats.t.ppf((1 + LEVEL) / 2, audited - 1) * error
    return found / repetitions, widths / of_people


def main() -> None:
    """Print a row per share of right labels, a column per number of audited users."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=4000)
    repetitions = parser.parse_args().repetitions
    sizes = (5, 10, 20, 50, 200)
    print("| right labels |", " | ".join(f"{n} audited" for n in sizes), "|")
    print("|---:|" + "---|" * len(sizes))
    for right in (0, 0.5, 0.8, 0.95):
        found = (measured(n, right, repetitions) for n in sizes)
        cells = [f"{100 * share:.0f} ({width:.2f})" for share, width in found]
        print(f"| {100 * right:.0f} % |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
