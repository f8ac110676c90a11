"""Compare models by the values of their runs, such as seeds or folds, and part their variance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.spec import labelled
from sqlmetrics.stats.paired_tests import ROUNDING, adjusted_within, powers, t_interval, t_test
from sqlmetrics.stats.power import Power
from sqlmetrics.texts.messages import Argument, Message
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd

Over = Literal["users", "runs", "paired_runs"]
OVER: tuple[Over, ...] = get_args(Over)


def over_runs(
    values: pd.DataFrame,
    baseline: str,
    *,
    paired: bool,
    interval: bool,
    confidence: float,
    correction: str,
    power: Power | None = None,
) -> pd.DataFrame:
    """Compare the values of the runs of every model with those of the baseline.

    Args:
        values: the result of `Evaluator.evaluate` with a row per run, and only these slices.
        baseline: the model to compare with.
        paired: whether runs with the same name are a pair; otherwise all runs are independent.
        interval: whether to compute intervals.
        confidence: the confidence level of the interval.
        correction: see `paired_tests.finished`.
        power: adds `mde` and `mde_relative`, as there, and `runs_needed` with a difference to
            detect: the number of runs of each model, or of pairs. The standard deviations are
            those of the runs, and the degrees of freedom those of the test.

    Returns:
        One row per slice, metric, cutoff and model: the columns of slices, `metric, k, model,
        baseline, value, baseline_value, difference, ci_low, ci_high, relative, test, p_value,
        p_adjusted, n_runs, baseline_runs`. Values are means over runs. `test` is "welch" (as
        `scipy.stats.ttest_ind(equal_var=False)`) or, for pairs, "paired" (`ttest_rel`). Intervals
        and p-values are missing if a model has a single run.

    Raises:
        UsageError: runs are paired, and a model has other runs than the baseline, or no value of a
            metric in a run in which the baseline has one, or the reverse.
    """
    import numpy as np
    import pandas as pd

    names = list(values.columns)
    slices = [name for name in names[: names.index("metric")] if name not in ("model", "run")]
    keys = [*slices, "metric", "k"]
    rows: list[dict[str, Any]] = []
    for key, of_key in values.groupby(keys, sort=False, dropna=False):
        runs = {
            str(model): of_model.set_index("run")["value"].astype("float64")
            for model, of_model in of_key.groupby("model", sort=False)
        }
        known = dict(zip(keys, key, strict=True))
        for model, own in runs.items():
            if model != baseline:
                if paired:
                    _check_pairs({model: own, baseline: runs[baseline]}, known)
                row = {"model": model, "baseline": baseline}
                both = own.dropna(), runs[baseline].dropna()
                rows.append({**known, **row, **_compared(*both, paired)})
    frame = pd.DataFrame(rows)
    difference, error = frame["difference"].to_numpy(), frame.pop("error").to_numpy()
    n = frame.pop("freedom").to_numpy() + 1
    deviation, of_one = frame.pop("deviation").to_numpy(), frame.pop("freedom_of_one").to_numpy()
    low, high = t_interval(difference, error, n, confidence)
    missing = np.full(len(frame), np.nan)
    p_values = np.where(np.isnan(error), np.nan, t_test(difference, error, n))
    base = frame["baseline_value"].abs().to_numpy()
    frame["ci_low"], frame["ci_high"] = (low, high) if interval else (missing, missing)
    frame["relative"] = np.divide(difference, base, out=missing.copy(), where=base != 0)
    frame["test"] = "paired" if paired else "welch"
    frame["p_value"] = p_values
    frame["p_adjusted"] = adjusted_within(frame, p_values, correction)
    ending = ["ci_low", "ci_high", "relative", "test", "p_value", "p_adjusted", "n_runs",
              "baseline_runs"]  # fmt: skip
    leading = [name for name in frame.columns if name not in ending]
    counts = ["k", "n_runs", "baseline_runs"]
    if power is not None:
        spread = error, n, deviation, of_one
        found = powers(frame, p_values, spread, 1 - confidence, correction, power, "runs")
        frame, ending = frame.assign(**found), [*ending, *found]
        counts += [name for name in found if name == "runs_needed"]
    return frame[[*leading, *ending]].astype(dict.fromkeys(counts, "Int64"))


def _check_pairs(runs: Mapping[str, pd.Series], known: Mapping[str, Any]) -> None:
    """Check that two models have the same runs, and values in the same runs."""
    import pandas as pd

    own, other = runs.values()
    if alone := sorted({*own.index} ^ {*other.index}):
        raise UsageError(
            f"{' and '.join(runs)} have different runs: {listed(map(str, alone))}",
            remedy=Message("compare runs that are no pairs by ", Argument("over", "runs")),
        )
    (*slices, (_, metric), (_, k)) = known.items()
    of = labelled(metric, None if pd.isna(k) else int(k))
    of += "".join(f", {name}={value}" for name, value in slices)
    for model, values in runs.items():
        for run in values.index[values.isna() & (own.notna() | other.notna())]:
            raise UsageError(
                f"run {run} of {model} has no value of {of}, so that it is no pair of the run "
                f"{run} of {next(name for name in runs if name != model)}",
                remedy=f"omit run {run} of both models",
            )


def _compared(own: pd.Series, other: pd.Series, paired: bool) -> dict[str, Any]:
    # as in the queries: values that differ by rounding alone are equal
    rounding = ROUNDING * max(1, own.abs().max(), other.abs().max())

    def deviation(values: pd.Series) -> float:
        return 0.0 if values.max() - values.min() <= rounding else float(values.std())

    difference = own.mean() - other.mean()
    found = {
        "value": own.mean(), "baseline_value": other.mean(),
        "difference": 0.0 if abs(difference) <= rounding else difference,
        **dict.fromkeys(("error", "freedom", "deviation", "freedom_of_one"), math.nan),
        "n_runs": len(own), "baseline_runs": len(other),
    }  # fmt: skip
    if paired:
        if len(own) > 1:
            of_pairs = deviation(own - other)
            found |= {"error": of_pairs / math.sqrt(len(own)), "freedom": len(own) - 1}
            found |= {"deviation": of_pairs, "freedom_of_one": 1.0}
        return found
    if min(len(own), len(other)) > 1:
        of_runs = deviation(own) ** 2, deviation(other) ** 2
        found["error"], found["freedom"] = _welch(of_runs, (len(own), len(other)))
        # of a run of each model: n runs of each have n - 1 times its degrees of freedom
        error, freedom = _welch(of_runs, (2, 2))
        found |= {"deviation": error * math.sqrt(2), "freedom_of_one": freedom}
    return found


def _welch(variances: tuple[float, float], counts: tuple[int, int]) -> tuple[float, float]:
    """Return the standard error of a difference of means, and its degrees of freedom."""
    parts = [variance / n for variance, n in zip(variances, counts, strict=True)]
    below = sum(part**2 / (n - 1) for part, n in zip(parts, counts, strict=True))
    return math.sqrt(sum(parts)), sum(parts) ** 2 / below if below else sum(counts) - 2


def variance_parts(per_user: pd.DataFrame) -> pd.DataFrame:
    """Part the variance of per-user values: that of users, of runs (such as seeds), and the rest.

    The parts are those of a table of users and runs, from its mean squares (Searle, Casella and
    McCulloch, Variance Components, 1992). A part below 0 means that there is no sign of it, and
    counts as 0 in the errors.

    Args:
        per_user: the result of `Evaluator.per_user(metrics, by="run")`, of metrics that are means:
            the rounds of ratios such as snipw have rewards without their weights.

    Returns:
        One row per model (and convention) and metric with its cutoff: `value`, the mean;
        `n_users`, `n_runs`; `var_users`, `var_runs`, `var_rest`; and standard errors of the mean:
        `se_users` for other users and the same runs, `se_runs` for other runs and the same users,
        and `se` for both: √(var_users / n_users + var_runs / n_runs + var_rest / (n_users n_runs)).

    Raises:
        UsageError: there is no column `run`, a model has one run or one user, or a user has no
            value in a run.
    """
    import pandas as pd

    if "run" not in per_user.columns:
        raise UsageError(
            "variance_parts needs a row per user and run",
            remedy="compute the values by per_user(metrics, by='run')",
        )
    names = list(per_user.columns)
    metrics = names[names.index("run") + 1 :]
    keys = names[: names.index("run") + 1]
    texts = [name for name in metrics if not pd.api.types.is_numeric_dtype(per_user[name])]
    if texts or per_user.duplicated(keys).any():
        raise UsageError(
            "variance_parts needs one row per user and run"
            + (f", without the columns {', '.join(texts)}" if texts else ""),
            remedy="compute the values by per_user(metrics, by='run'), without other slices",
        )
    leading = [name for name in ("model", "convention") if name in names]
    users = [name for name in names[: names.index("run")] if name not in leading]
    rows = []
    groups = per_user.groupby(leading, sort=False) if leading else [((), per_user)]
    for key, of_key in groups:
        known: dict[str, Any] = dict(zip(leading, key, strict=True))
        for metric in metrics:
            of_metric = of_key.dropna(subset=[metric])
            if len(of_metric):
                table = of_metric.pivot_table(metric, users, "run", observed=True)
                where = ", ".join(map(str, [*key, metric]))
                rows.append({**known, "metric": metric, **_parts(table, where)})
    return pd.DataFrame(rows)


def _parts(table: pd.DataFrame, where: str) -> dict[str, Any]:
    """Return the row of one metric; `table` has a row per user and a column per run."""
    n, r = table.shape
    if n < 2 or r < 2 or bool(table.isna().any().any()):
        raise UsageError(
            f"{where}: {n} users and {r} runs with {int(table.count().sum()):,} values; "
            "variance_parts needs two runs and two users, and a value of every user in every run",
            remedy="remove users without a value in all runs",
        )
    values = table.to_numpy("float64")
    mean, of_users, of_runs = values.mean(), values.mean(axis=1), values.mean(axis=0)
    rest = values - of_users[:, None] - of_runs[None, :] + mean
    ms_users = r * ((of_users - mean) ** 2).sum() / (n - 1)
    ms_runs = n * ((of_runs - mean) ** 2).sum() / (r - 1)
    ms_rest = (rest**2).sum() / ((n - 1) * (r - 1))
    var_users, var_runs = (ms_users - ms_rest) / r, (ms_runs - ms_rest) / n
    parts = max(0.0, var_users) / n, max(0.0, var_runs) / r, ms_rest / (n * r)
    return {
        "value": mean, "n_users": n, "n_runs": r,
        "var_users": var_users, "var_runs": var_runs, "var_rest": ms_rest,
        "se_users": math.sqrt(parts[0] + parts[2]), "se_runs": math.sqrt(parts[1] + parts[2]),
        "se": math.sqrt(sum(parts)),
    }  # fmt: skip
