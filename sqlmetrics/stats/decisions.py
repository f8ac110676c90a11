"""One sentence per metric of a comparison, for a decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sqlmetrics.metrics.spec import labelled
from sqlmetrics.stats.paired_tests import n_tests
from sqlmetrics.stats.power import Power
from sqlmetrics.texts.wording import by_number

if TYPE_CHECKING:
    import pandas as pd

ATTRIBUTE = "sqlmetrics_decisions"  # key of the sentences in the attrs of a comparison
_MOST = 12  # sentences; more are no help for a decision


def are_few(frame: pd.DataFrame) -> bool:
    """Are there so few metrics, cutoffs and slices that a sentence about each helps?"""
    keys = list(frame.columns)[: list(frame.columns).index("k") + 1]
    return len(frame[keys].drop_duplicates()) <= _MOST


def decisions(
    frame: pd.DataFrame,
    better: Mapping[str, bool | None],
    alpha: float,
    power: Power,
    correction: str = "none",
    unit: str = "users",
) -> list[str]:
    """Say which model is better by each metric, by how much, and what could not have been seen.

    Args:
        frame: the result of `Evaluator.compare`, over users or runs, with the column `mde`.
        better: for every metric, whether higher values are better; None if neither direction is.
        alpha: a difference is significant if its corrected p-value is below it.
        power: the power of the column `mde`.
        correction: the correction of the p-values.
        unit: the units that the column n_users counts.

    Returns: one sentence per metric, cutoff and slice; none if there are very many.
    """
    if not are_few(frame):
        return []
    names = list(frame.columns)
    slices = names[: names.index("metric")]
    numbers = n_tests(frame, frame["p_value"].to_numpy("float64"), correction)
    known = frame.assign(n_tests=numbers)
    records: list[dict[Any, Any]] = (
        known.astype(object).where(known.notna(), None).to_dict("records")
    )
    groups: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
    for row in records:
        key = (*(row[name] for name in slices), row["metric"], row["k"])
        groups.setdefault(key, []).append(row)
    sentences = []
    for (*values, metric, k), rows in groups.items():
        where = "".join(f", {name}={value}" for name, value in zip(slices, values, strict=True))
        where += ", over runs" if "n_runs" in names else ""
        about = labelled(metric, None if k is None else int(k)) + where
        higher = better.get(metric, better.get(metric.partition("(")[0]))
        sentences.append(f"{about}: {'; '.join(_parts(rows, higher, alpha, power, unit))}.")
    return sentences


def _parts(
    rows: list[dict[Any, Any]], higher: bool | None, alpha: float, power: Power, unit: str
) -> Iterator[str]:
    """Yield the statements about the models that differ from the baseline, and about the others."""
    open_: list[dict[Any, Any]] = []
    for row in rows:
        p = row["p_adjusted"]
        if row["difference"] is None:
            yield f"{row['model']} and {row['baseline']} have {_nothing_to_compare(row, unit)}"
        elif p is None:
            yield f"the difference of {row['model']} is not tested"
        elif p >= alpha:
            open_.append(row)
        else:
            yield _difference(row, higher, p)
    if open_:
        *first, last = (str(row["model"]) for row in open_)
        models = f"{', '.join(first)} and {last}" if first else last
        baseline = open_[0]["baseline"]
        are = by_number(len(open_), "is|are")
        text = f"{models} {are} not significantly different from {baseline}"
        if len(open_) == 1:
            text += f" ({_signed(open_[0]['difference'])}{_interval(open_[0])})"
        yield text + _unseen(open_, alpha, power, unit)


def _nothing_to_compare(row: Mapping[Any, Any], unit: str) -> str:
    if "n_runs" not in row:
        return f"no {unit.removesuffix('s')} in common"
    return "no run with a value" + (" in common" if row["test"] == "paired" else " each")


def _difference(row: Mapping[Any, Any], higher: bool | None, p: float) -> str:
    difference, relative = row["difference"], row["relative"]
    if higher is None:
        word = "above" if difference > 0 else "below"
    else:
        word = "better than" if (difference > 0) == higher else "worse than"
    share = "" if relative is None else f" ({_percent(abs(relative))})"
    certainty = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    size = f"{abs(difference):.3g}"
    return (
        f"{row['model']} is {word} {row['baseline']} by {size}{share}{_interval(row)}, {certainty}"
    )


def _interval(row: Mapping[Any, Any]) -> str:
    if row["ci_low"] is None or row["ci_high"] is None:
        return ""
    return f", interval {_signed(row['ci_low'])} to {_signed(row['ci_high'])}"


def _signed(number: float) -> str:
    return f"{number:+.3g}"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:,.0f} %" if percent >= 10 else f"{percent:.2g} %"


def _unseen(rows: list[dict[Any, Any]], alpha: float, power: Power, unit: str) -> str:
    """Return the differences that the test could find, of the model with the largest."""
    known = [row for row in rows if row["mde"] is not None]
    if not known:
        return ""
    row = max(known, key=lambda one: one["mde"])
    if "n_runs" in row:
        units = f"{row['n_runs']} and {row['baseline_runs']} runs"
        if row["test"] == "paired":
            units = f"{row['n_runs']} pairs of runs"
    elif row.get("n_clusters") is not None:
        units = f"{row['n_clusters']:,} clusters"
    elif row.get("n_audited") is not None:
        units = f"{row['n_audited']:,} audited {unit}"
    else:
        units = f"{row['n_users']:,} {unit}"
    share = "" if row["mde_relative"] is None else f" ({_percent(row['mde_relative'])})"
    level = f"{alpha:.3g}" + (f" / {row['n_tests']:.0f}" if row["n_tests"] > 1 else "")
    return (
        f"; with these {units}, only differences above {row['mde']:.3g}{share} would "
        f"show (power {100 * power.power:.3g} %, level {level})"
    )
