"""How far estimates of a new policy are from its true value, and how often intervals contain it.

Every user has five rounds, a type that decides how likely each of ten items is to be rewarded, and
a taste that makes all of their rewards more or less likely, so that the rounds of a user are
correlated. The policy of the logs and the new policies depend on the type.

    python benchmarks/off_policy.py
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

import sqlmetrics as sm

ITEMS, TYPES, ROUNDS = 10, 4, 5
METRICS = ["ipw", "ipw(max_weight=20)", "snipw", "beta_ipw", "dm", "dr", "sndr"]
POLICIES = ("stochastic", "deterministic", "far")


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities of items, one row per type."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


class World:
    """The rewards of items, their predictions, and the probabilities of all policies, by type."""

    def __init__(self) -> None:
        draw = np.random.default_rng(7)
        self.rewards = draw.uniform(0.25, 0.75, (TYPES, ITEMS))
        self.predicted = self.rewards + draw.normal(0.03, 0.1, (TYPES, ITEMS))
        scores = draw.normal(0, 1, (TYPES, ITEMS))
        self.logged = softmax(scores)
        better = softmax(scores / 2 + 4 * self.rewards)
        best = np.zeros((TYPES, ITEMS))
        best[range(TYPES), self.predicted.argmax(axis=1)] = 1
        self.new = dict(zip(POLICIES, (better, best, softmax(-3 * scores)), strict=True))

    def value(self, policy: str) -> float:
        """Return the true mean reward of a policy."""
        return float((self.new[policy] * self.rewards).sum() / TYPES)

    def logs(self, n_rounds: int, n_logs: int, seed: int) -> pd.DataFrame:
        """Draw several logs, one below the other, in the column `log`."""
        draw = np.random.default_rng(seed)
        n_users = n_rounds // ROUNDS * n_logs
        user = np.repeat(np.arange(n_users), ROUNDS)
        kind = draw.integers(0, TYPES, n_users)[user]
        taste = draw.uniform(-0.25, 0.25, n_users)[user]
        chances = self.logged.cumsum(axis=1)[kind]
        item = (draw.random(len(user))[:, None] > chances).sum(axis=1).clip(0, ITEMS - 1)
        return pd.DataFrame(
            {
                "round_id": np.arange(len(user)),
                "log": user // (n_rounds // ROUNDS),
                "user_id": user,
                "type": kind,
                "item_id": item,
                "reward": (draw.random(len(user)) < self.rewards[kind, item] + taste).astype(int),
                "propensity": self.logged[kind, item],
            }
        )

    def policy(self, logs: pd.DataFrame, name: str) -> pd.DataFrame:
        """Return the probabilities and predictions of all items for the users of logs."""
        users = logs.drop_duplicates("user_id")
        kind = users["type"].to_numpy()
        return pd.DataFrame(
            {
                "user_id": np.repeat(users["user_id"].to_numpy(), ITEMS),
                "item_id": np.tile(np.arange(ITEMS), len(users)),
                "probability": self.new[name][kind].ravel(),
                "predicted": self.predicted[kind].ravel(),
            }
        )


def estimates(world: World, name: str, n_rounds: int, n_logs: int, seed: int) -> pd.DataFrame:
    """Evaluate several logs in one call, by rounds and by users."""
    logs = world.logs(n_rounds, n_logs, seed)
    frames = []
    with sm.Evaluator(logs=logs, policy=world.policy(logs, name), check=False) as evaluator:
        for cluster in (None, "user_id"):
            frame = evaluator.evaluate(METRICS, by="log", cluster=cluster)
            frames.append(
                frame.assign(by="covered by rounds" if cluster is None else "covered by users")
            )
        size = evaluator.evaluate("ess", by="log").assign(by="")
    return pd.concat([*frames, size])


def rows(sizes: list[tuple[int, int, int]]) -> Iterator[dict[str, object]]:
    """Yield a row per policy, size and estimator, with the standard errors of the simulation."""
    world = World()
    for name in POLICIES:
        truth = world.value(name)
        for n_rounds, n_logs, n_calls in sizes:
            frames = [estimates(world, name, n_rounds, n_logs, seed) for seed in range(n_calls)]
            yield from summarised(pd.concat(frames), name, n_rounds, truth)


def summarised(
    found: pd.DataFrame, name: str, n_rounds: int, truth: float
) -> Iterator[dict[str, object]]:
    """Yield a row per estimator, from its estimates of many logs."""
    key = {"policy": name, "rounds": f"{n_rounds:,}"}
    key["effective"] = f"{found[found['metric'] == 'ess']['value'].mean():,.0f}"
    for metric, group in found[found["metric"] != "ess"].groupby("metric", sort=False):
        is_covered = (group["ci_low"] <= truth) & (truth <= group["ci_high"])
        shares = is_covered.groupby(group["by"]).mean()
        values = group[group["by"] == "covered by rounds"]["value"]
        bias, spread, n_logs = values.mean() - truth, values.std(), len(values)
        errors = np.sqrt(shares * (1 - shares) / n_logs)
        yield key | {
            "metric": metric,
            "covered": ", ".join(
                f"{100 * share:.1f} ± {100 * error:.1f}"
                for share, error in zip(shares, errors, strict=True)
            ),
            "bias": f"{bias:+.4f} ± {spread / n_logs**0.5:.4f}",
            "spread": f"{spread:.4f}",
        }


def markdown(frame: pd.DataFrame, column: str) -> str:
    """Lay out one number per policy and size (rows) and estimator (columns)."""
    keys = ["policy", "rounds", "effective"]
    wide = frame.pivot(index=keys, columns="metric", values=column)[METRICS].reset_index()
    order = wide["policy"].map({name: place for place, name in enumerate(POLICIES)})
    wide = wide.iloc[np.lexsort((wide["rounds"].str.len(), order))]
    lines = [[*keys, *(f"`{metric}`" for metric in METRICS)], ["---", *["---:"] * 9]]
    lines += wide.astype(str).to_numpy().tolist()
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=2000, help="logs of 1,000 rounds")
    parser.add_argument(
        "--large", type=int, default=20, help="calls with 20 logs of 100,000 rounds"
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore", sm.SqlmetricsWarning)
    frame = pd.DataFrame(rows([(1_000, given.small, 1), (100_000, 20, given.large)]))
    for column, title in (
        ("covered", "95 % intervals that contain the truth, in per cent: by rounds, by users"),
        ("bias", "mean estimate - truth"),
        ("spread", "standard deviation of the estimates"),
    ):
        print(f"\n{title}\n\n{markdown(frame, column)}")


if __name__ == "__main__":
    main()
