"""The result of a report in sentences, and the settings that differ from the convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from sqlmetrics.metrics.spec import value_text
from sqlmetrics.report.analysis import Study
from sqlmetrics.stats.decisions import decisions
from sqlmetrics.stats.paired_tests import powers
from sqlmetrics.stats.power import Power
from sqlmetrics.stats.student import special

if TYPE_CHECKING:
    from sqlmetrics.metrics.conventions import Convention


def result(study: Study) -> str:
    """Return the value of the best model, and its lead over the second one; tests are below it.

    Returns an empty text if the primary metric has no value, or several models and no direction.
    """
    name = study.primary.column
    rows = study.at_main[study.at_main["label"] == name]
    values = {row["model"]: row for row in rows.to_dict("records")}
    ranked = [model for model in study.models if not pd.isna(values[model]["value"])]
    if not ranked:
        return ""
    best = values[ranked[0]]
    if not study.planner.several_models:
        return f"{name} is {_number(best['value'])}{_interval(best, study)}."
    if study.primary.higher_is_better is None:
        return ""
    if len(ranked) == 1:
        return f"{ranked[0]} is the only model with a value of {name}: {_number(best['value'])}."
    second = values[ranked[1]]
    value, other = float(best["value"]), float(second["value"])
    if _number(value) == _number(other):
        return f"{ranked[0]} and {ranked[1]} have the best {name}, {_number(value)}."
    side = "above" if value > other else "below"
    lead = f"{100 * abs(value - other) / abs(other):.2g} % {side}" if other else side
    return (
        f"{ranked[0]} is best by {name}, {_number(value)}: {lead} {ranked[1]} ({_number(other)})."
    )


def of_metrics(study: Study) -> list[str]:
    """Return a sentence per metric: how the models differ from the best, and what is unseen.

    The tests and their correction are those of the marks of the leaderboard. There are none if
    there are very many metrics.
    """
    rows = study.from_best
    if not len(rows):
        return []
    unit = "users" if study.how.cluster is None else "clusters"
    count = rows[f"n_{unit}"].to_numpy("float64", na_value=float("nan"))
    error = (rows["ci_high"] - rows["ci_low"]).to_numpy("float64") / 2
    error /= special("the t-test").stdtrit(count - 1, (1 + study.how.confidence) / 2)
    p_values, correction = rows["p_value"].to_numpy("float64"), study.how.correction
    spread = error, count, error * count**0.5, count * 0 + 1
    found = powers(rows, p_values, spread, study.how.alpha, correction, Power(), unit)
    return decisions(rows.assign(**found), study.better, study.how.alpha, Power(), correction)


def differences(conventions: Sequence[Convention], settings: Mapping[str, Any]) -> str:
    """Return the settings of the run that override those of the convention."""
    if not settings:
        return ""
    names = " and ".join(convention.name for convention in conventions) or "the convention"
    texts = ", ".join(f"{name} = {value_text(value)}" for name, value in settings.items())
    return f"Settings that differ from {names}: {texts}."


def _interval(row: Mapping[Any, Any], study: Study) -> str:
    if pd.isna(row["ci_low"]) or pd.isna(row["ci_high"]):
        return ""
    share = f"{100 * study.how.confidence:g} %"
    return f" ({share} interval {_number(row['ci_low'])} to {_number(row['ci_high'])})"


def _number(value: Any) -> str:
    return f"{float(value):#.4g}".rstrip(".")
