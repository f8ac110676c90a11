"""Coverage of the 95 % intervals of gaps between groups of users, and levels of their p-values.

    python benchmarks/gap_coverage.py [--repetitions 500] [--resamples 400] [--users 300 1000]

Draws the recall of the users of several groups many times from distributions with known means, and
counts how often the interval of each gap contains the gap of these means. If the means are equal,
it also counts how often the p-value is at most 0.05. Every repetition is a model of one evaluation.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

import sqlmetrics as sm

AT_ONCE = 50  # models of one evaluation
LENGTH = 10  # items of a list, and relevant items of a user

# the share of users and the mean recall of each group
GROUPS: Mapping[str, Sequence[tuple[float, float]]] = {
    "2 equal groups": [(0.5, 0.3), (0.5, 0.3)],
    "2 groups, 0.1 apart": [(0.5, 0.25), (0.5, 0.35)],
    "2 equal groups, 9 to 1": [(0.9, 0.3), (0.1, 0.3)],
    "2 groups, 9 to 1, 0.1 apart": [(0.9, 0.35), (0.1, 0.25)],
    "5 equal groups": [(0.2, 0.3)] * 5,
    "5 groups, 0.2 apart": [(0.2, mean) for mean in (0.2, 0.25, 0.3, 0.35, 0.4)],
}
GAPS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "difference": lambda means: max(means) - min(means),
    "ratio": lambda means: min(means) / max(means),
    "mad": lambda means: statistics.fmean(
        abs(one - other) for one, other in itertools.combinations(means, 2)
    ),
    "std": statistics.pstdev,
}


def n_hits(random: np.random.Generator, mean: float, n_users: int) -> list[int]:
    """Draw hits of users: for 40 % of them none, for the others with a probability of their own."""
    share = random.beta(2, 2 * (0.6 - mean) / mean, n_users)
    return [int(hits) for hits in random.binomial(LENGTH, share * (random.random(n_users) < 0.6))]


def one_evaluation(
    random: np.random.Generator, groups: Sequence[tuple[float, float]], users: int, resamples: int
) -> list[tuple[str, float, float, float]]:
    """Evaluate models whose users have recalls from the same distributions."""
    sizes = [round(share * users) for share, _ in groups]
    of_group = [number for number, size in enumerate(sizes) for _ in range(size)]
    rows: dict[str, list[int]] = {"model": [], "user_id": [], "item_id": [], "rank": []}
    for model in range(AT_ONCE):
        drawn = [
            n for (_, mean), size in zip(groups, sizes, strict=True)
            for n in n_hits(random, mean, size)
        ]  # fmt: skip
        for user, hits in enumerate(drawn):
            rows["model"] += [model] * LENGTH
            rows["user_id"] += [user] * LENGTH
            rows["item_id"] += range(LENGTH - hits, 2 * LENGTH - hits)
            rows["rank"] += range(1, LENGTH + 1)
    n_users = len(of_group)
    relevant = {
        "user_id": np.repeat(np.arange(n_users), LENGTH),
        "item_id": np.tile(np.arange(LENGTH), n_users),
    }
    group = {"user_id": list(range(n_users)), "team": [f"team {number}" for number in of_group]}
    with sm.Evaluator(
        pa.table(rows), pa.table(relevant), users=pa.table(group), trust_input=True, check=False
    ) as evaluator:
        found = evaluator.evaluate(
            "recall@10", by="team", gap=[*GAPS], ci="bootstrap", resamples=resamples,
            seed=int(random.integers(2**30)),
        )  # fmt: skip
    below = found[found["team"].str.startswith("(")]
    columns = ("team", "ci_low", "ci_high", "p_value")
    return list(zip(*(below[column] for column in columns), strict=True))


def main() -> None:
    """Print one line per distribution, number of users and gap."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--users", type=int, nargs="+", default=[300, 1000])
    options = parser.parse_args()
    started = time.process_time()
    print("groups | users | gap | covered | p <= 0.05")
    for name, groups in GROUPS.items():
        means = [mean for _, mean in groups]
        for users in options.users:
            random = np.random.default_rng(users)
            rows = [
                row
                for _ in range(options.repetitions // AT_ONCE)
                for row in one_evaluation(random, groups, users, options.resamples)
            ]
            for gap, of in GAPS.items():
                true = of(means)
                own = [(low, high, p) for label, low, high, p in rows if label == f"({gap})"]
                covered = statistics.fmean(
                    low - 1e-9 <= true <= high + 1e-9 for low, high, _ in own
                )
                small = statistics.fmean(p <= 0.05 for *_, p in own)
                level = f"{small:.3f}" if len({*means}) == 1 else ""
                print(f"{name} | {users} | {gap} | {covered:.3f} | {level}", flush=True)
    print(f"{time.process_time() - started:.0f} CPU s")


if __name__ == "__main__":
    main()
