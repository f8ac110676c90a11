"""Resampled intervals: the weights, the intervals that follow from them, and when they are refused.

The oracle draws the same numbers in Python: the group of a user from `hashlib`, a number for every
group and resample from integers modulo 2^31 - 1, the weight from scipy's Poisson distribution. What
follows (means of weighted users, percentiles) is numpy, from the values that `per_user` returns.
Whether these numbers are as good as random ones is looked at apart, against the distributions that
independent draws have. All seeds are fixed, so a bound that a right sampler passes with a
probability of 0.9999 fails no test by chance.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from helpers import at_k
from sklearn.metrics import roc_auc_score

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from sqlmetrics.render import environment, key_context, macro

GROUPS = 16**4
PRIME = 2**31 - 1
SEEDS = [1, 2, 42, 2**31 - 3]
Array = np.ndarray

# ---------------------------------------------------------------- the oracle


def group_of(seed: int, user: str) -> int:
    """Return the first four hexadecimal digits of the hash of a user, as a number."""
    return int(hashlib.md5(f"{seed}:{user}".encode()).hexdigest()[:4], 16)


def numbers(groups: Iterable[int], resamples: int, seed: int) -> Array:
    """Return the number from 0 to 2^31 - 2 of every group (row) and resample (column)."""
    groups = np.array(list(groups), dtype=np.int64)[:, None]
    number = (groups * 48271 + np.arange(1, resamples + 1) * 69621 + seed) % PRIME
    number = (number * number + 30269) % PRIME  # below 2^62: no product is too large
    number = (number * number + 76543) % PRIME
    return (number * 48271 + 11) % PRIME


def poisson(number: Array) -> Array:
    """Return how often a group is drawn: the quantile that belongs to its number; 9 is the most."""
    bounds = scipy.stats.poisson.cdf(np.arange(9), 1) * PRIME
    return np.searchsorted(bounds, number, side="right")


def is_in_half(number: Array) -> Array:
    return number >= PRIME / 2


def resampled_means(users: Sequence[str], values: Array, resamples: int, seed: int) -> Array:
    """Return the mean of every resample; NaN where it draws nobody with a value."""
    weights = poisson(numbers((group_of(seed, user) for user in users), resamples, seed))
    has_value = ~np.isnan(values)
    drawn = (weights * has_value[:, None]).sum(axis=0)
    total = (weights * np.where(has_value, values, 0)[:, None]).sum(axis=0)
    return np.divide(total, drawn, out=np.full(resamples, np.nan), where=drawn > 0)


def interval(means: Array, confidence: float = 0.95) -> tuple[float, float]:
    low, high = np.nanquantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return low, high


# ---------------------------------------------------------------- numbers from the engine


def drawn(groups: Iterable[int], resamples: int, seed: int, what: str) -> Array:
    """Return an expression of the drawn number, a row per group and a column per resample."""
    groups = list(groups)
    rows = duckdb.execute(
        f"WITH groups AS (SELECT unnest({groups}) AS resample_group), "
        f"{macro('drawn_numbers')('groups', resamples, seed)} "
        f"SELECT {what} AS value FROM drawn ORDER BY resample_group, resample"
    ).fetchnumpy()["value"]
    return np.asarray(rows).reshape(len(groups), resamples)


def weights_of(groups: Iterable[int], resamples: int, seed: int) -> Array:
    return drawn(groups, resamples, seed, macro("poisson_weight")("number"))


def replicates(
    values: Array, resamples: int, seed: int, users: Sequence[Any] | None = None, flip: bool = False
) -> Array:
    """Return the means that the queries of the package compute from a table of values."""
    table = pd.DataFrame({"user_id": range(len(values)) if users is None else users, "v": values})
    known = {
        **key_context(["user_id"], False, "recommendations"),
        "groups": [],
        "names": ["v"],
        "resamples": resamples,
        "seed": seed,
        "flipped": flip,
        "ref": str,
    }
    sums, means = (
        environment().get_template(f"summaries/{name}.sql.j2").render(known)
        for name in ("resample_groups", "resampled")
    )
    with duckdb.connect() as connection:
        connection.register("per_user", table)
        connection.execute(f"CREATE TABLE resample_groups AS {sums}")
        found = connection.execute(f"SELECT v FROM ({means}) ORDER BY resample").fetchnumpy()
    return np.ma.filled(found["v"].astype(float), np.nan)


# ---------------------------------------------------------------- the weights


@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_weights_and_signs_are_those_of_the_oracle(seed: int) -> None:
    groups = [*range(40), GROUPS // 2, GROUPS - 2, GROUPS - 1]
    expected = numbers(groups, 500, seed)
    assert (drawn(groups, 500, seed, "number") == expected).all()
    assert (weights_of(groups, 500, seed) == poisson(expected)).all()
    signs = drawn(groups, 500, seed, macro("random_sign")("number"))
    assert (signs == np.where(is_in_half(expected), 1, -1)).all()
    one = 123 * 48271 + 77 * 69621 + seed  # once with integers of any size
    for added in (30269, 76543):
        one = (one % PRIME) ** 2 + added
    assert numbers([123], 77, seed)[0, -1] == (one % PRIME * 48271 + 11) % PRIME


def test_weights_at_the_ends_and_thresholds() -> None:
    bounds = [math.ceil(bound) for bound in scipy.stats.poisson.cdf(np.arange(9), 1) * PRIME]
    ends = sorted({0, PRIME - 1, *bounds, *(bound - 1 for bound in bounds)})
    found = duckdb.execute(
        f"SELECT {macro('poisson_weight')('number')} AS weight, "
        f"{macro('random_sign')('number')} AS sign "
        f"FROM (SELECT unnest({[*ends, 2**30 - 1, 2**30]}) AS number) ORDER BY number"
    ).fetchnumpy()
    assert sorted(found["weight"]) == [0, 0, 0, *sorted([*range(1, 9)] * 2), 1, 1, 9, 9][:0] + sorted(
        poisson(np.array([*ends, 2**30 - 1, 2**30]))
    )
    assert found["sign"].tolist() == [-1 if n < 2**30 else 1 for n in sorted([*ends, 2**30 - 1, 2**30])]
