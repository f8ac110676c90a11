"""Compute p-values, confidence intervals and effect sizes from statistics of paired differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.stats.intervals import KINDS, OF_AUDIT
from sqlmetrics.stats.power import Power, smallest_difference, units_needed
from sqlmetrics.stats.student import special

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Numbers: TypeAlias = npt.NDArray[np.float64]

SignificanceTest = Literal["t", "wilcoxon", "randomization", "bootstrap"]
Correction = Literal["holm", "bh", "none"]
TESTS: tuple[SignificanceTest, ...] = get_args(SignificanceTest)
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

FEW = 50  # maximum number of non-zero differences for an exact Wilcoxon test
ROUNDING = 1e-12  # a smaller relative spread is only rounding error

_FEW_TIED = 13  # maximum number for which all signs are enumerated if differences are tied
_COUNTS = ("k", "wins", "ties", "losses", "n_users")
_COLUMNS = (
    *("metric", "k", "model", "baseline", "value", "baseline_value", "difference"),
    *("ci_low", "ci_high", "relative", "wins", "ties", "losses"),
    *("test", "p_value", "p_adjusted", "effect_size", "n_users"),
)


def checked(
    *, test: str | None = None, interval: str | None = None, correction: str | None = None
) -> None:
    """Check the names of tests, intervals and corrections.

    Raises:
        UsageError: an unknown name.
    """
    for what, name, known in (
        ("test", test, TESTS),
        ("interval", interval, KINDS),
        ("correction", correction, CORRECTIONS),
    ):
        if name is not None and name not in known:
            there_are = ", ".join(known)
            close = suggestion(str(name), known)
            raise UsageError(f"unknown {what} {name!r}; choose one of {there_are}{close}")


def check_scipy(*, test: str | None = None, interval: str | None = None) -> None:
    """Check that scipy is installed if the test or the interval needs it.

    Raises:
        UsageError: scipy is needed but not installed.
    """
    needs = {"t": "the t-test", "wilcoxon": "the Wilcoxon test"}
    needed_by = [needs[test]] if test in needs else []
    needed_by += ["the interval 'normal'"] if interval == "normal" else []
    if needed_by:
        special(" and ".join(needed_by))


def finished(
    rows: pd.DataFrame,
    *,
    test: str,
    interval: str,
    confidence: float,
    correction: str,
    power: Power | None = None,
) -> pd.DataFrame:
    """Compute confidence intervals, p-values and effect sizes from totals computed in SQL.

    Args:
        rows: one row per comparison: any identifying columns, then `metric, k, model, baseline,
            n_users, value, baseline_value, difference, std, wins, ties, losses`. `std` is the
            sample standard deviation of the per-user differences, missing for fewer than two users.
            Without users, `n_users` is 0 and all statistics are missing. Further columns:

            - for the test "wilcoxon": `n_nonzero`, the number of non-zero differences;
              `positive_ranks` and `negative_ranks`, the sums of the midranks of the absolute
              differences, over positive and negative differences; `tie_term`, the sum of t³ − t
              over groups of t equal absolute differences; `few_ranks`, an array with twice the
              midrank of each such difference, negative for a negative difference, read only if
              there are at most `FEW` of them;
            - for the tests "randomization" and "bootstrap": `n_resamples`, and `n_extreme`, the
              number of resamples whose mean is at least as extreme as the observed one;
            - for the interval "bootstrap": `interval_low` and `interval_high`;
            - if lists are in clusters: `n_clusters`, and the `standard_error` of the difference.
              Intervals and the t-test then have n_clusters - 1 degrees of freedom;
            - if people have audited labels: the columns `OF_AUDIT` and the
              `standard_error`. The t-test then is the z-test, that of the normal distribution,
              which is the limit for many degrees of freedom, and there is no effect size.
        test: one of `TESTS`.
        interval: one of `KINDS`. "normal" is the interval of the t-test: difference ± quantile
            of Student's t with n − 1 degrees of freedom times std / √n.
        confidence: the confidence level of the interval "normal".
        correction: one of `CORRECTIONS`, over all rows of a convention that have a p-value; see
            `adjusted`.
        power: adds `mde`, the smallest difference that the t-test finds with this power, at the
            level 1 - confidence, and `mde_relative`, its share of |baseline_value|; with a
            difference to detect, also the number of users (or clusters) for it, `users_needed` or
            `clusters_needed`. If p-values are corrected, the level is divided by their number.

    Returns:
        The rows in their order: the columns before `metric`, then `metric, k, model, baseline,
        value, baseline_value, difference, ci_low, ci_high, relative, wins, ties, losses, test,
        p_value, p_adjusted, effect_size, n_users`, and `n_clusters` or the columns of an audit if
        they are given. Counts are
        Int64, with NA for missing counts; other numbers are float64, with NaN. `relative` is
        difference / baseline_value, missing if that value is 0. All tests are two-sided:

        - "t": as `scipy.stats.ttest_rel`. If all differences are equal, `p_value` is 1 for
          differences of 0, else 0. `effect_size` is Cohen's d of the paired differences,
          difference / std; if std is 0, it is 0 for a difference of 0, else missing. Both are
          missing for fewer than two users.
        - "wilcoxon": as `scipy.stats.wilcoxon` of the differences, which drops differences of 0.
          The p-value is exact for at most `FEW` users without ties and without differences of 0,
          and for at most 13 users in any case. Otherwise it is the normal approximation with
          correction for ties and without continuity correction. It is 1 if all differences are 0.
          `effect_size` is the matched-pairs rank-biserial correlation, (positive − negative) /
          (positive + negative) ranks; 0 if all differences are 0.
        - "randomization", "bootstrap": (1 + n_extreme) / (1 + n_resamples), missing for fewer than
          two users; `effect_size` as for "t".

    Raises:
        UsageError: an unknown name, or scipy is needed but not installed.
    """
    import numpy as np
    import pandas as pd

    checked(test=test, interval=interval, correction=correction)
    check_scipy(test=test, interval=interval)
    n = _numbers(rows, "n_users")
    difference, std = _numbers(rows, "difference"), _numbers(rows, "std")
    std = np.where(std <= ROUNDING * np.abs(difference), 0.0, std)
    error, n_units = _divided(std, np.sqrt(n)), n
    if clustered := "n_clusters" in rows.columns:
        error, n_units = _numbers(rows, "standard_error"), _numbers(rows, "n_clusters")
        error = np.where(error <= ROUNDING * np.abs(difference), 0.0, error)
    if audited := "n_audited" in rows.columns:
        error = _numbers(rows, "standard_error")
        n_units = np.full(len(rows), np.inf)  # degrees of freedom: the normal distribution
    if interval == "normal":
        low, high = t_interval(difference, error, n_units, confidence)
    elif interval == "bootstrap":
        low, high = _numbers(rows, "interval_low"), _numbers(rows, "interval_high")
    else:
        low = high = np.full(len(rows), np.nan)
    if test == "t":
        p = t_test(difference, error, n_units)
    elif test == "wilcoxon":
        p = _wilcoxon(rows)
    else:
        p = (1 + _numbers(rows, "n_extreme")) / (1 + _numbers(rows, "n_resamples"))
        p = np.where(n_units > 1, p, np.nan)  # no p-value for a single user or cluster
    if test == "wilcoxon":
        positive, negative = _numbers(rows, "positive_ranks"), _numbers(rows, "negative_ranks")
        effect = _divided(positive - negative, positive + negative)
        effect = np.where(_numbers(rows, "n_nonzero") == 0, 0.0, effect)
    else:
        effect = np.where((std == 0) & (difference == 0), 0.0, _divided(difference, std))
        effect = np.full(len(rows), np.nan) if audited else effect  # std is that of labels
    nobody = ~(n > 0)
    p, effect = np.where(nobody, np.nan, p), np.where(nobody, np.nan, effect)
    columns: dict[str, Any] = {
        "difference": difference,
        "value": _numbers(rows, "value"),
        "baseline_value": _numbers(rows, "baseline_value"),
        "ci_low": low,
        "ci_high": high,
        "relative": _divided(difference, _numbers(rows, "baseline_value")),
        "test": pd.Series(["z" if audited else test] * len(rows), index=rows.index, dtype=str),
        "p_value": p,
        "p_adjusted": adjusted_within(rows, p, correction),
        "effect_size": effect,
    }
    if audited:
        columns |= {name: _numbers(rows, name) for name in OF_AUDIT}
    if power is not None:
        unit = "clusters" if clustered else "users"
        of_unit = error * np.sqrt(n if audited else n_units)  # an audit refuses to detect by it
        spread = error, n_units, of_unit, np.ones(len(rows))
        columns |= powers(rows, p, spread, 1 - confidence, correction, power, unit)
    further = [name for name in columns if name not in _COLUMNS]
    before = list(rows.columns).index("metric")
    leading = [name for name in rows.columns[:before] if name not in _COLUMNS]
    counts = [*_COUNTS, *(["n_clusters"] if clustered else [])]
    names = [*leading, *_COLUMNS, *counts[len(_COUNTS) :], *further]
    counts += [name for name in further if name.endswith("_needed") or name == "n_audited"]
    frame = rows.assign(**columns)[names].reset_index(drop=True)
    return frame.astype(dict.fromkeys(counts, "Int64"))


def powers(
    rows: pd.DataFrame,
    p_values: Numbers,
    spread: tuple[Numbers, Numbers, Numbers, Numbers],
    alpha: float,
    correction: str,
    power: Power,
    unit: str,
) -> dict[str, Numbers]:
    """Return the columns of the power of every comparison.

    `spread` has, for every row, the standard error, one more than its degrees of freedom, and for
    the number of a `unit` that a difference needs: the standard deviation of the difference of one
    unit, and the degrees of freedom that a further unit adds.
    """
    import numpy as np

    levels = alpha / n_tests(rows, p_values, correction)
    base = np.abs(_numbers(rows, "baseline_value"))
    error, n_units, deviation, of_one = spread
    known = zip(error, n_units, levels, strict=True)
    mde = np.array([smallest_difference(*one, power.power) for one in known], dtype=np.float64)
    columns = {"mde": mde, "mde_relative": _divided(mde, base)}
    if power.detect is not None:
        sought = power.detect * (base if power.is_share else np.ones(len(rows)))
        columns[f"{unit}_needed"] = np.array(
            [
                units_needed(difference, of_unit, level, power.power, freedom)
                for difference, of_unit, level, freedom in zip(
                    sought, deviation, levels, of_one, strict=True
                )
            ],
            dtype=np.float64,
        )
    return columns


def n_tests(rows: pd.DataFrame, p_values: Numbers, correction: str) -> Numbers:
    """Return the number of p-values that are corrected together with that of each row, or 1."""
    import numpy as np

    numbers = np.ones(len(rows))
    if correction != "none":
        for of_it in _conventions(rows):
            numbers[of_it] = max(1, int(np.count_nonzero(~np.isnan(p_values[of_it]))))
    return numbers


def _conventions(rows: pd.DataFrame) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield which rows belong to each convention."""
    import numpy as np

    conventions = rows["convention"] if "convention" in rows.columns else np.zeros(len(rows))
    for convention in dict.fromkeys(conventions):
        yield np.asarray(conventions == convention)


def adjusted_within(rows: pd.DataFrame, p_values: Numbers, correction: str) -> Numbers:
    """Correct p-values for multiple comparisons, separately for each convention.

    Conventions are other definitions of the same comparisons, not additional comparisons.
    """
    import numpy as np

    result = np.array(p_values, dtype=np.float64)
    for of_it in _conventions(rows):
        result[of_it] = adjusted(result[of_it], correction)
    return result


def adjusted(p_values: Numbers, correction: str) -> Numbers:
    """Correct p-values for their number m; NaN stays NaN and does not count.

    "holm" bounds the probability of at least one false discovery under any dependence: the i-th
    smallest p-value is multiplied by m − i + 1, raised to the largest of the preceding results and
    capped at 1. "bh" (Benjamini and Hochberg) bounds the expected share of false discoveries for
    independent or positively dependent tests: the i-th smallest is multiplied by m / i and lowered
    to the smallest of the following results. "none" returns the p-values unchanged.
    """
    import numpy as np

    result = np.array(p_values, dtype=np.float64)
    places = np.flatnonzero(~np.isnan(result))
    places = places[np.argsort(result[places], kind="stable")]
    m, ascending = len(places), result[places]
    if correction == "holm":
        result[places] = np.minimum(np.maximum.accumulate(ascending * np.arange(m, 0, -1)), 1)
    elif correction == "bh":
        scaled = ascending * m / np.arange(1, m + 1)
        result[places] = np.minimum.accumulate(scaled[::-1])[::-1]
    return result


def _numbers(rows: pd.DataFrame, name: str) -> Numbers:
    """Return a column of any type as floats, with NaN for missing values."""
    import numpy as np

    values = rows[name].astype("Float64").to_numpy("float64", na_value=np.nan)
    return np.asarray(values, dtype=np.float64)


def _divided(above: Numbers, below: Numbers) -> Numbers:
    """Divide, with NaN for undefined quotients."""
    import numpy as np

    result: Numbers = np.full(len(above), np.nan)
    np.divide(above, below, out=result, where=below != 0)
    return result


def t_test(difference: Numbers, error: Numbers, n: Numbers) -> Numbers:
    """Compute two-sided p-values; `error` is the standard error of the mean difference."""
    import numpy as np

    distributions = special("the t-test")
    t = _divided(difference, error)
    p: Numbers = 2 * distributions.stdtr(n - 1, -np.abs(t))
    return np.where(error == 0, np.where(difference == 0, 1.0, 0.0), p)


def t_interval(
    difference: Numbers, error: Numbers, n: Numbers, confidence: float
) -> tuple[Numbers, Numbers]:
    """Return the ends of the intervals of the t-test; `n` is one more than the freedom."""
    distributions = special("the interval 'normal'")
    half = distributions.stdtrit(n - 1, (1 + confidence) / 2) * error
    return difference - half, difference + half


def _wilcoxon(rows: pd.DataFrame) -> Numbers:
    """Compute two-sided p-values of the signed-rank test, ignoring differences of 0."""
    import numpy as np

    distributions = special("the Wilcoxon test")
    n, positive = _numbers(rows, "n_nonzero"), _numbers(rows, "positive_ranks")
    mean = n * (n + 1) / 4
    variance = n * (n + 1) * (2 * n + 1) / 24 - _numbers(rows, "tie_term") / 48
    z = _divided(positive - mean, np.sqrt(variance))
    p: Numbers = np.where(n == 0, 1.0, 2 * distributions.ndtr(-np.abs(z)))
    n_users = _numbers(rows, "n_users")
    for place in np.flatnonzero((n > 0) & (n_users <= FEW)):
        exact = _exact_wilcoxon(np.asarray(rows["few_ranks"].iloc[place]), int(n_users[place]))
        p[place] = p[place] if exact is None else exact
    return p


def _exact_wilcoxon(signed: npt.NDArray[np.int64], n_users: int) -> float | None:
    """Return the exact p-value, in which all signs are equally likely; None if approximated.

    The choice between exact and approximate p-values is that of scipy 1.15 and newer; older
    releases use the distribution of untied ranks also for ties. The signs are counted here because
    scipy enumerates all signs of tied ranks, which takes seconds per comparison.
    """
    import numpy as np

    n, ranks = len(signed), np.abs(signed)  # twice the midranks, which makes them integers
    if len(np.unique(ranks)) < n_users and n_users > _FEW_TIED:  # some differences are tied or 0
        return None
    patterns = np.zeros(ranks.sum() + 1)  # numbers of sign patterns by the sum of positive ranks
    patterns[0] = 1
    for rank in ranks:
        patterns[rank:] += patterns[:-rank].copy()
    observed = ranks[signed > 0].sum()
    tail = min(patterns[: observed + 1].sum(), patterns[observed:].sum())
    return float(min(1, 2 * tail / 2**n))
