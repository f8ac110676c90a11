"""Gates: `als: ndcg@10 ci_low < -1%` decides whether a comparison of models fails a pipeline."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.metrics.spec import MetricSpec, parse_spec, unique

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("difference", "ci_low", "ci_high", "value", "baseline_value"),
    *("p_value", "p_adjusted", "relative"),
)
GRAMMAR = "[MODEL:] METRIC[@k] [COLUMN] OP NUMBER[%]"

_OF_BASELINE = ("difference", "ci_low", "ci_high")  # % is a share of the baseline's value
_OPERATORS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "<": (operator.lt, "below"),
    "<=": (operator.le, "at or below"),
    ">": (operator.gt, "above"),
    ">=": (operator.ge, "at or above"),
}
_GATE = re.compile(
    r"""\s* (?: (?P<model>\S.*?) \s* : \s* )?
        (?P<spec> [A-Za-z_]\w* (?: \s* \([^()]*\) )? (?: \s* @ \s* [^\s@<>=]+ )? )
        (?: \s+ (?P<column>[A-Za-z_]\w*) )? \s*
        (?P<operator> [<>]=? ) \s*
        (?P<number> [-+]? (?: \d+ (?:\.\d*)? | \.\d+ ) (?:[eE][-+]?\d+)? ) \s*
        (?P<percent> % )? \s*""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class Gate:
    """A condition that makes a comparison fail: a number of its row is beyond a threshold.

    `model` and `k` are None where the gate is about every one. `metric` is spelled as in results.
    `is_share`: the threshold was given in percent; it is 0.01 for `1%`.
    """

    text: str
    model: str | None
    metric: str
    k: int | None
    column: str
    operator: str
    threshold: float
    is_share: bool

    def is_about(self, row: Mapping[str, Any]) -> bool:
        """Return whether the gate is about a row of a comparison."""
        return (
            self.metric == row["metric"]
            and self.model in (None, str(row["model"]))
            and self.k in (None, row["k"])
        )

    def is_beyond(self, number: float, limit: float) -> bool:
        """Return whether a number is on the side of the limit where the gate fails."""
        return _OPERATORS[self.operator][0](number, limit)


def parse_gate(text: str, canonical: Callable[[MetricSpec], str] = lambda call: call.name) -> Gate:
    """Parse `[MODEL:] METRIC[@k] [COLUMN] OP NUMBER[%]`, which says when the gate fails.

    `ndcg@10 < -1%` fails if a model loses more than one percent of the baseline's value,
    `ndcg@10 ci_high < 0` if it surely loses something, and `ndcg@10 ci_low < -1%` unless it is
    ruled out that it loses more than one percent. Without MODEL the gate is about every model,
    without @k about every cutoff, and always about every slice and convention.

    COLUMN is one of `COLUMNS`, `difference` if it is left out. For `difference`, `ci_low` and
    `ci_high`, percent are of the size of the baseline's value, |baseline_value|: `-1%` is a loss
    also where that is negative. For `relative`, `10%` is 0.1. Other columns have no percent.

    `canonical`: spells a metric, without its cutoff, as results do (`AP` -> `map`).

    Raises:
        UsageError: the text has another form, or names an unknown column.
    """
    match = _GATE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise UsageError(
            f"cannot read the gate {text!r}; write it as {GRAMMAR} with an OP of "
            f"{', '.join(_OPERATORS)}, for example 'ndcg@10 < -1%' or 'als: ndcg@10 ci_high < 0'; "
            "it says when the gate fails"
        )
    column = match["column"] or "difference"
    if column not in COLUMNS:
        raise UsageError(
            f"the gate {text!r} names the column {column!r}; there are "
            + ", ".join(COLUMNS)
            + suggestion(column, COLUMNS)
        )
    is_share = match["percent"] is not None
    if is_share and column not in (*_OF_BASELINE, "relative"):
        raise UsageError(
            f"the gate {text!r} gives {column} in percent; that has a meaning only for "
            + ", ".join((*_OF_BASELINE, "relative"))
        )
    try:
        call = parse_spec(match["spec"])
    except UsageError as error:
        raise UsageError(f"the gate {text!r}: {error}") from None
    number = float(match["number"])
    return Gate(
        text=text.strip(),
        model=match["model"],
        metric=canonical(call),
        k=call.cutoff,
        column=column,
        operator=match["operator"],
        threshold=number / 100 if is_share else number,
        is_share=is_share,
    )


def check_known(
    gates: Iterable[Gate],
    metrics_and_ks: Iterable[tuple[str, int | None]],
    models: Iterable[str],
    *,
    interval: str | None = None,
) -> None:
    """Check that there will be something for every gate to look at.

    Args:
        gates: the gates.
        metrics_and_ks: the metrics that are compared, as results spell them, and their cutoffs;
            None for whole lists.
        models: the models that are compared with the baseline.
        interval: of the comparison; with "none" no gate can be about its ends.

    Raises:
        UsageError: a gate is about a metric, cutoff or model that is not compared, or about an
            interval where there is none.
    """
    pairs, names = unique(metrics_and_ks), unique(map(str, models))
    metrics = unique(metric for metric, _ in pairs)
    for gate in gates:
        about = f"the gate {gate.text!r} is about"
        if gate.model is not None and gate.model not in names:
            raise UsageError(f"{about} the model {gate.model!r}{_compared(gate.model, names)}")
        if gate.metric not in metrics:
            raise UsageError(f"{about} the metric {gate.metric!r}{_compared(gate.metric, metrics)}")
        cutoffs = [k for metric, k in pairs if metric == gate.metric]
        if gate.k is not None and gate.k not in cutoffs:
            there_are = ", ".join("whole lists" if k is None else f"@{k}" for k in cutoffs)
            raise UsageError(
                f"{about} {gate.metric}@{gate.k}; of {gate.metric} are compared: {there_are}"
            )
        if interval == "none" and gate.column in ("ci_low", "ci_high"):
            raise UsageError(
                f"{about} {gate.column}, and the interval is 'none'; ask for an interval"
            )


def _compared(name: str, known: Iterable[str]) -> str:
    there_are = ", ".join(known) or "nothing"
    return f", which is not compared; compared are: {there_are}{suggestion(name, known)}"


def failures(frame: pd.DataFrame, gates: str | Iterable[str | Gate]) -> list[str]:
    """Find the rows of a comparison that fail the gates.

    Args:
        frame: `[convention,] [columns of slices,] metric, k, model, baseline, value,
            baseline_value, difference, ci_low, ci_high, relative, …, p_value, p_adjusted, …,
            n_users`, one row per comparison.
        gates: the gates, such as `"ndcg@10 ci_low < -1%"`.

    Returns:
        One sentence per gate and row that fails it, in their order. A row that lacks the number
        which the gate is about fails it.

    Raises:
        UsageError: a gate cannot be read, or is about none of the rows.
    """
    given = [gates] if isinstance(gates, str) else gates
    read = [parse_gate(gate) if isinstance(gate, str) else gate for gate in given]
    rows: list[dict[Any, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    slices = list(map(str, frame.columns[: frame.columns.get_loc("metric")]))
    pairs = [(row["metric"], None if row["k"] is None else int(row["k"])) for row in rows]
    check_known(read, pairs, [row["model"] for row in rows])
    sentences = []
    for gate in read:
        chosen = [row for row in rows if gate.is_about(row)]
        if not chosen:
            raise UsageError(f"the gate {gate.text!r} is about none of the comparisons")
        for row in chosen:
            if problem := _problem(gate, row):
                sentences.append(f'{_place(row, slices)}: {problem}; gate "{gate.text}"')
    return sentences


def _place(row: Mapping[str, Any], slices: Iterable[str]) -> str:
    """Name a row: `als, ndcg@10, country=DE`."""
    metric = row["metric"] if row["k"] is None else f"{row['metric']}@{row['k']}"
    wheres = [f"{name}={'NULL' if row[name] is None else row[name]}" for name in slices]
    return ", ".join([str(row["model"]), metric, *wheres])


def _problem(gate: Gate, row: Mapping[str, Any]) -> str | None:
    """Say why a row fails, or None if it passes."""
    number, base = row[gate.column], row["baseline_value"]
    of_baseline = gate.is_share and gate.column in _OF_BASELINE
    if number is None or (of_baseline and base is None):
        missing = gate.column if number is None else "baseline_value"
        return f"there is no {missing}, {_why(missing, row)}"
    limit = gate.threshold * abs(base) if of_baseline else gate.threshold
    if not gate.is_beyond(number, limit):
        return None
    percent = 100 * gate.threshold
    if of_baseline:
        share = f"{_shown(gate, 100 * number / abs(base), percent)} % of " if base else ""
        size = f"|{base:.4g}|" if base < 0 else f"{base:.4g}"
        shown = f"{number:.4g} ({share}{row['baseline']}'s {size})"
    elif gate.is_share:
        shown = f"{_shown(gate, 100 * number, percent)} %"
    else:
        shown = _shown(gate, number, limit)
    bound = f"{percent:.12g} %" if gate.is_share else f"{limit:.12g}"
    return f"{gate.column} {shown} is {_OPERATORS[gate.operator][1]} {bound}"


def _shown(gate: Gate, number: float, bound: float) -> str:
    """Round to the fewest digits, from four, that leave the number beyond the bound."""
    texts = (f"{number:.{digits}g}" for digits in range(4, 17))
    return next((text for text in texts if gate.is_beyond(float(text), bound)), f"{number:.17g}")


def _why(missing: str, row: Mapping[str, Any]) -> str:
    """Say why a row lacks a number, as far as it tells."""
    users = row["n_users"]
    if users == 0:
        return f"because no user has a value of both it and {row['baseline']}"
    if missing == "relative" and row["baseline_value"] == 0:
        return f"because {row['baseline']}'s value is 0"
    return "because there is only one user" if users == 1 else f"over {users} users"
