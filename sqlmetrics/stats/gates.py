"""Gates such as `als: ndcg@10 ci_low < -1%`, which make a comparison of models fail."""

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

_OF_BASELINE = ("difference", "ci_low", "ci_high")  # percentages are shares of the baseline's value
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
    """A condition under which a comparison fails: a column of its row is beyond a threshold.

    `model` and `k` are None if the gate applies to all models or cutoffs. `metric` is spelled as in
    results. `is_share` is true if the threshold was given in percent; `1%` is stored as 0.01.
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
        """Return whether the gate applies to a row of a comparison."""
        return (
            self.metric == row["metric"]
            and self.model in (None, str(row["model"]))
            and self.k in (None, row["k"])
        )

    def is_beyond(self, number: float, limit: float) -> bool:
        """Return whether a number is beyond the limit, so that the gate fails."""
        return _OPERATORS[self.operator][0](number, limit)


def parse_gate(text: str, canonical: Callable[[MetricSpec], str] = lambda call: call.name) -> Gate:
    """Parse a gate, `[MODEL:] METRIC[@k] [COLUMN] OP NUMBER[%]`: the condition of failure.

    `ndcg@10 < -1%` fails if a model loses more than 1 % of the baseline's value. `ndcg@10
    ci_high < 0` fails if the whole confidence interval is a loss. `ndcg@10 ci_low < -1%` fails
    unless the interval excludes a loss of more than 1 %. A gate without MODEL applies to all
    models, a gate without @k to all cutoffs. Gates always apply to all slices and conventions.

    COLUMN is one of `COLUMNS`, by default `difference`. For `difference`, `ci_low` and `ci_high`,
    percentages are relative to |baseline_value|, so `-1%` is a loss even if that value is negative.
    For `relative`, `10%` is 0.1. Other columns accept no percentage.

    `canonical`: function that spells a metric, without its cutoff, as in results (`AP` -> `map`).

    Raises:
        UsageError: the text is not a gate, or names an unknown column.
    """
    match = _GATE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise UsageError(
            f"cannot parse the gate {text!r}; write {GRAMMAR}, where OP is one of "
            f"{', '.join(_OPERATORS)}, e.g. 'ndcg@10 < -1%' or 'als: ndcg@10 ci_high < 0'; "
            "a gate states when the comparison fails"
        )
    column = match["column"] or "difference"
    if column not in COLUMNS:
        raise UsageError(
            f"the gate {text!r} has an unknown column {column!r}; use one of "
            + ", ".join(COLUMNS)
            + suggestion(column, COLUMNS)
        )
    is_share = match["percent"] is not None
    if is_share and column not in (*_OF_BASELINE, "relative"):
        raise UsageError(
            f"the gate {text!r} gives {column} in percent; percentages are allowed only for "
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
    """Check that every gate applies to at least one row of the comparison.

    Args:
        gates: the gates.
        metrics_and_ks: the compared metrics, spelled as in results, with their cutoffs; None for
            whole lists.
        models: the models compared with the baseline.
        interval: the confidence interval of the comparison; "none" allows no gates on its ends.

    Raises:
        UsageError: a gate names a metric, cutoff or model that is not compared, or a confidence
            limit if there is no interval.
    """
    pairs, names = unique(metrics_and_ks), unique(map(str, models))
    metrics = unique(metric for metric, _ in pairs)
    for gate in gates:
        about = f"the gate {gate.text!r} names"
        if gate.model is not None and gate.model not in names:
            raise UsageError(f"{about} the model {gate.model!r}{_compared(gate.model, names)}")
        if gate.metric not in metrics:
            raise UsageError(f"{about} the metric {gate.metric!r}{_compared(gate.metric, metrics)}")
        cutoffs = [k for metric, k in pairs if metric == gate.metric]
        if gate.k is not None and gate.k not in cutoffs:
            there_are = ", ".join("whole lists" if k is None else f"@{k}" for k in cutoffs)
            raise UsageError(
                f"{about} {gate.metric}@{gate.k}; cutoffs compared for {gate.metric}: {there_are}"
            )
        if interval == "none" and gate.column in ("ci_low", "ci_high"):
            raise UsageError(
                f"{about} {gate.column}, but no confidence interval is computed; "
                "choose another interval than 'none'"
            )


def _compared(name: str, known: Iterable[str]) -> str:
    there_are = ", ".join(known) or "nothing"
    return f", which is not compared; compared: {there_are}{suggestion(name, known)}"


def failures(frame: pd.DataFrame, gates: str | Iterable[str | Gate]) -> list[str]:
    """Find the rows of a comparison that fail the gates.

    Args:
        frame: one row per comparison, with the columns `[convention,] [columns of slices,] metric,
            k, model, baseline, value, baseline_value, difference, ci_low, ci_high, relative, …,
            p_value, p_adjusted, …, n_users`.
        gates: the gates, such as `"ndcg@10 ci_low < -1%"`.

    Returns:
        One sentence per gate and row that fails it, in their order. A row fails a gate if it has no
        value in the gate's column.

    Raises:
        UsageError: a gate cannot be parsed, or applies to no row.
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
            raise UsageError(f"the gate {gate.text!r} applies to no comparison")
        for row in chosen:
            if problem := _problem(gate, row):
                sentences.append(f'{_place(row, slices)}: {problem}; gate "{gate.text}"')
    return sentences


def _place(row: Mapping[str, Any], slices: Iterable[str]) -> str:
    """Return the name of a row: `als, ndcg@10, country=DE`."""
    metric = row["metric"] if row["k"] is None else f"{row['metric']}@{row['k']}"
    wheres = [f"{name}={'NULL' if row[name] is None else row[name]}" for name in slices]
    return ", ".join([str(row["model"]), metric, *wheres])


def _problem(gate: Gate, row: Mapping[str, Any]) -> str | None:
    """Return why a row fails a gate, or None if it passes."""
    number, base = row[gate.column], row["baseline_value"]
    of_baseline = gate.is_share and gate.column in _OF_BASELINE
    if number is None or (of_baseline and base is None):
        missing = gate.column if number is None else "baseline_value"
        return f"{missing} is missing, {_why(missing, row)}"
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
    """Round to the fewest digits, at least four, that keep the number beyond the bound."""
    texts = (f"{number:.{digits}g}" for digits in range(4, 17))
    return next((text for text in texts if gate.is_beyond(float(text), bound)), f"{number:.17g}")


def _why(missing: str, row: Mapping[str, Any]) -> str:
    """Return why a row lacks a number, as far as the row shows it."""
    users = row["n_users"]
    if users == 0:
        return f"because no user has values of both this model and {row['baseline']}"
    if missing == "relative" and row["baseline_value"] == 0:
        return f"because {row['baseline']}'s value is 0"
    return "because there is only one user" if users == 1 else f"over {users} users"
