"""Gates such as `als: ndcg@10 ci_low < -1%`, which make a comparison or an evaluation fail."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlmetrics.errors import (
    SqlmetricsWarning,
    UsageError,
    issue,
    suggestion,
)
from sqlmetrics.metrics.spec import MetricSpec, parse_spec, unique
from sqlmetrics.rows import Rows
from sqlmetrics.texts.messages import Argument, Message, joined, map_column
from sqlmetrics.texts.terminal import one_line
from sqlmetrics.texts.wording import by_number, listed

if TYPE_CHECKING:
    import pandas as pd

OF_RUNS = ("n_runs", "std_runs")  # columns of results for models with several runs
OF_RUNS_COMPARED = ("n_runs", "baseline_runs")  # columns of comparisons over runs
GRAMMAR = "[MODEL:] METRIC[@k] [COLUMN] OP NUMBER[%] [where SLICE=VALUE, …]"
OF_POWER = ("mde", "mde_relative", "users_needed", "clusters_needed", "runs_needed")


@dataclass(frozen=True)
class Gated:
    """A kind of result with gates.

    Attributes:
        name: the name of the result.
        computed: the participle for metrics and models of the result.
        columns: the columns that gates can name, the default first.
        of_baseline: the columns whose percentages are shares of the baseline's value.
        examples: gates for messages.
    """

    name: str
    computed: str
    columns: tuple[str, ...]
    of_baseline: tuple[str, ...]
    examples: tuple[str, ...]

    @property
    def in_percent(self) -> tuple[str, ...]:
        """Return the columns whose thresholds can be given in percent."""
        return (*self.of_baseline, "relative", "mde_relative") if self.of_baseline else ()


COMPARISON = Gated(
    "comparison",
    "compared",
    (
        *("difference", "ci_low", "ci_high", "value", "baseline_value"),
        *("p_value", "p_adjusted", "relative", "n_users", "n_clusters", "n_audited"),
        *(*OF_RUNS_COMPARED, *OF_POWER),
    ),
    ("difference", "ci_low", "ci_high", "mde"),
    ("ndcg@10 < -1%", "als: ndcg@10 ci_high < 0"),
)
EVALUATION = Gated(
    "evaluation",
    "computed",
    ("value", "ci_low", "ci_high", "std", "n_users", "n_clusters", "n_audited", *OF_RUNS),
    (),
    ("ndcg@10 < 0.2", "ndcg@10 n_users < 1000"),
)

# columns that a comparison has only with arguments: those columns, and a column of each argument
_ONLY_WITH = {
    "n_clusters": {"cluster": "n_clusters"}, "n_audited": {"audit": "n_audited"},
    "n_runs": {"over": "n_runs"}, "baseline_runs": {"over": "n_runs"},
    "mde": {"power": "mde"}, "mde_relative": {"power": "mde"},
    "users_needed": {"detect": "users_needed"},
    "clusters_needed": {"cluster": "n_clusters", "detect": "clusters_needed"},
    "runs_needed": {"over": "n_runs", "detect": "runs_needed"},
}  # fmt: skip
_OPERATORS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "<": (operator.lt, "below"),
    "<=": (operator.le, "at or below"),
    ">": (operator.gt, "above"),
    ">=": (operator.ge, "at or above"),
}
_PLAIN = r"(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
_OF_PAST = r"(?:mean|std)\s*\(\s*\d+\s*\)"
_TERM = rf"(?:{_PLAIN}\s*\*?\s*{_OF_PAST}|{_OF_PAST}|{_PLAIN})"
_GATE = re.compile(
    rf"""\s* (?: (?P<model>\S.*?) \s* : \s* )?
        (?P<spec> [A-Za-z_]\w* (?: \s* \([^()]*\) )? (?: \s* @ \s* [^\s@<>=]+ )? )
        (?: \s+ (?P<column>[A-Za-z_]\w*) )? \s*
        (?P<operator> [<>]=? ) \s*
        (?: (?P<number> [-+]?{_PLAIN} ) \s* (?P<percent> % )?
          | (?P<past> [-+]?\s*{_TERM} (?: \s*[-+]\s*{_TERM} )* ) ) \s*
        (?: \s where \s+ (?P<slices>\S.*?) \s* )?""",
    re.VERBOSE | re.ASCII,
)


_PART = re.compile(
    rf"""(?P<sign>[-+])? \s* (?P<number>{_PLAIN})? \s* \*? \s*
         (?: (?P<name>mean|std) \s* \( \s* (?P<runs>\d+) \s* \) )?""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class Past:
    """A term of a threshold: `factor` times the mean, or standard deviation, of the last runs."""

    factor: float
    name: str
    n_runs: int


# the number of runs that the past of a row has, and their number of a term; None without a value
OfPast: TypeAlias = Callable[["Gate", Past, Mapping[str, Any]], tuple[int, float | None]]


@dataclass(frozen=True)
class Gate:
    """A condition under which a result fails: a column of one of its rows is beyond a threshold.

    `model` and `k` are None if the gate applies to all models or cutoffs. `metric` is spelled as in
    results. `is_share` is true if the threshold was given in percent; `1%` is stored as 0.01.
    `slices` are the names and values of the slices that the gate applies to; none for all. `past`
    are terms of earlier runs, which are added to the threshold.
    """

    text: str
    model: str | None
    metric: str
    k: int | None
    column: str
    operator: str
    threshold: float
    is_share: bool
    slices: tuple[tuple[str, str], ...] = ()
    past: tuple[Past, ...] = ()

    def is_about(self, row: Mapping[str, Any]) -> bool:
        """Return whether the gate applies to a row of a result."""
        return (
            self.metric == row["metric"]
            and self.model in (None, str(row.get("model")))
            and self.k in (None, row["k"])
            and all(str(row[name]) == value for name, value in self.slices)
        )

    def is_beyond(self, number: float, limit: float) -> bool:
        """Return whether a number is beyond the limit, so that the gate fails."""
        return _OPERATORS[self.operator][0](number, limit)


@dataclass(frozen=True)
class Verdict:
    """The verdict of a gate on one row of a result.

    Attributes:
        gate: the gate.
        row: the number of the row, from 0.
        place: the name of the row: `als, ndcg@10, country=DE`.
        number: the number in the column of the gate; None if it is missing.
        problem: why the row fails the gate; None if it passes.
    """

    gate: Gate
    row: int
    place: str
    number: float | None
    problem: str | None

    @property
    def sentence(self) -> str:
        """Return the sentence about a row that fails, in one line."""
        return one_line(f'{self.place}: {self.problem}; gate "{self.gate.text}"')


def parse_gate(
    text: str,
    canonical: Callable[[MetricSpec], str] = lambda spec: spec.name,
    of: Gated = COMPARISON,
) -> Gate:
    """Parse a gate, the condition of failure; see `GRAMMAR`.

    A comparison fails `ndcg@10 < -1%` if a model loses more than 1 % of the baseline's value,
    `ndcg@10 ci_high < 0` if the whole confidence interval is a loss, and `ndcg@10 ci_low < -1%`
    unless the interval excludes a loss of more than 1 %. An evaluation fails `ndcg@10 < 0.2` if the
    value is below 0.2. A gate without MODEL applies to all models, without @k to all
    cutoffs, without `where` to all slices and conventions.

    COLUMN is one of the columns of `of`, by default the first. For `difference`, `ci_low` and
    `ci_high` of a comparison, percentages are relative to |baseline_value|, so `-1%` is a loss even
    if that value is negative. For `relative`, `10%` is 0.1. Other columns accept no percentage.

    `canonical`: function that spells a metric, without its cutoff, as in results (`AP` -> `map`).

    Raises:
        UsageError: the text is not a gate, or names an unknown column.
    """
    match = _GATE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        examples = " or ".join(map(repr, of.examples))
        raise UsageError(
            f"cannot parse the gate {text!r}; write {GRAMMAR}, where OP is one of "
            f"{', '.join(_OPERATORS)}, e.g. {examples}; a gate states when the {of.name} fails"
        )
    column = match["column"] or of.columns[0]
    if column not in of.columns:
        raise UsageError(
            f"the gate {text!r} has an unknown column {column!r}; use one of "
            + ", ".join(of.columns)
            + suggestion(column, of.columns)
        )
    number, past = _threshold(text, match)
    if not all(map(math.isfinite, (number, *(term.factor for term in past)))):
        raise UsageError(f"the gate {text!r} can never fail or pass: its number is too large")
    is_share = match["percent"] is not None
    if past and of is not EVALUATION:
        raise UsageError(
            f"the gate {text!r} reads past results, which only evaluations have; write a number"
        )
    if is_share and column not in of.in_percent:
        allowed = (
            f"percentages are allowed only for {', '.join(of.in_percent)}"
            if of.in_percent
            else f"percentages are allowed only in comparisons; write {number / 100:g}"
        )
        raise UsageError(f"the gate {text!r} gives {column} in percent; {allowed}")
    if match["spec"] in of.columns:
        metric, _, others = text.partition(match["spec"])
        raise UsageError(
            f"the gate {text!r} names no metric; {match['spec']} is a column. Write a metric in "
            f"front, e.g. '{metric}ndcg@10 {match['spec']}{others}'"
        )
    try:
        spec = parse_spec(match["spec"])
    except UsageError as error:
        raise UsageError(f"the gate {text!r}: {error}") from None
    return Gate(
        text=text.strip(),
        model=match["model"],
        metric=canonical(spec),
        k=spec.cutoff,
        column=column,
        operator=match["operator"],
        threshold=number / 100 if is_share else number,
        is_share=is_share,
        slices=_slices_of(text, match["slices"]) if match["slices"] else (),
        past=past,
    )


def _threshold(text: str, match: re.Match[str]) -> tuple[float, tuple[Past, ...]]:
    """Return the number of a threshold, and its terms of the past."""
    if match["past"] is None:
        return float(match["number"]), ()
    number, past = 0.0, []
    for part in _PART.finditer(match["past"]):
        if not (part["number"] or part["name"]):
            continue
        factor = float(part["number"] or 1) * (-1 if part["sign"] == "-" else 1)
        if not part["name"]:
            number += factor
            continue
        n_runs, least = int(part["runs"]), 2 if part["name"] == "std" else 1
        if n_runs < least:
            raise UsageError(
                f"the gate {text!r}: {part['name']} needs at least {least} runs, not {n_runs}"
            )
        past.append(Past(factor, part["name"], n_runs))
    return number, tuple(past)


def _slices_of(text: str, slices: str) -> tuple[tuple[str, str], ...]:
    """Parse `country=DE, age=20`; values may contain commas."""
    pairs = [part.partition("=") for part in re.split(r",\s*(?=[^,=]+=)", slices)]
    if not all(name.strip() and equals and value.strip() for name, equals, value in pairs):
        raise UsageError(
            f"the gate {text!r}: cannot parse {slices!r}; write where SLICE=VALUE, e.g. "
            "'where country=DE'"
        )
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def check_known(
    gates: Iterable[Gate],
    metrics_and_ks: Iterable[tuple[str, int | None]],
    models: Iterable[str] | None,
    *,
    interval: str | None = None,
    slices: Iterable[str] = (),
    further: Iterable[str] = (),
    several_runs: bool = True,
    of: Gated = COMPARISON,
) -> None:
    """Check that every gate applies to at least one row of the result.

    Args:
        gates: the gates.
        metrics_and_ks: the metrics, spelled as in results, with their cutoffs; None for whole
            lists.
        models: the models with rows; None if they are not known yet.
        interval: the kind of confidence interval; "none" allows no gates on its ends.
        slices: the names of the columns to slice by.
        further: the columns of clusters, of an audit and of power that the result has.
        several_runs: whether values are means over the runs of a model.
        of: the kind of result.

    Raises:
        UsageError: a gate names a metric, cutoff, model or column of slices without rows, a
            confidence limit if there is no interval, or a column of runs if there are none.
    """
    pairs, columns = unique(metrics_and_ks), unique(slices)
    names = None if models is None else unique(map(str, models))
    metrics = unique(metric for metric, _ in pairs)
    for gate in gates:
        about = f"the gate {gate.text!r} names"
        if gate.model is not None and names is not None and gate.model not in names:
            there_are = _others(gate.model, names, of)
            if not names and of is EVALUATION:
                there_are = ", but the models have no names; remove it"
            raise UsageError(f"{about} the model {gate.model!r}{there_are}")
        if gate.metric not in metrics:
            there_are = _others(gate.metric, metrics, of)
            raise UsageError(f"{about} the metric {gate.metric!r}{there_are}")
        cutoffs = [k for metric, k in pairs if metric == gate.metric]
        if gate.k is not None and gate.k not in cutoffs:
            there_are = listed("whole lists" if k is None else f"@{k}" for k in cutoffs)
            raise UsageError(
                f"{about} {gate.metric}@{gate.k}; cutoffs {of.computed} for {gate.metric}: "
                f"{there_are}"
            )
        if interval == "none" and gate.column in ("ci_low", "ci_high"):
            raise UsageError(
                f"{about} {gate.column}, but no confidence interval is computed; "
                "choose another interval than 'none'"
            )
        if of is EVALUATION and not several_runs and gate.column in OF_RUNS:
            raise UsageError(
                f"{about} {gate.column}, but the result has no means over runs: the "
                "recommendations have no column run, or the rows are by run",
                remedy=Message("map a column with ", map_column("recommendations", "run")),
            )
        if gate.column in _ONLY_WITH and gate.column not in further:
            lacking = [name for name, own in _ONLY_WITH[gate.column].items() if own not in further]
            remedy = Message("add ", joined(" and ", [Argument(name, ...) for name in lacking]))
            raise UsageError(f"{about} {gate.column}, which is not computed", remedy=remedy)
        for name, _ in gate.slices:
            if name not in columns:
                there_are = f"slices: {listed(columns)}" if columns else "there are no slices"
                raise UsageError(
                    f"{about} the slice column {name!r}; {there_are}{suggestion(name, columns)}"
                )


def _others(name: str, known: Iterable[str], of: Gated) -> str:
    there_are = listed(known) or "nothing"
    return f", which is not {of.computed}; {of.computed}: {there_are}{suggestion(name, known)}"


def failures(frame: pd.DataFrame, gates: str | Iterable[str | Gate]) -> list[str]:
    """Find the rows of a comparison or an evaluation that fail the gates.

    Args:
        frame: the result of `Evaluator.compare` or `Evaluator.evaluate`.
        gates: the gates, such as `"ndcg@10 ci_low < -1%"` (comparison) or `"ndcg@10 < 0.2"`
            (evaluation).

    Returns:
        One sentence per gate and row that fails it, in their order. A row fails a gate if it has no
        value in the gate's column.

    Raises:
        UsageError: a gate cannot be parsed, or applies to no row.
    """
    of = COMPARISON if "baseline" in frame.columns else EVALUATION
    given = [gates] if isinstance(gates, str) else gates
    read = [parse_gate(gate, of=of) if isinstance(gate, str) else gate for gate in given]
    judged = verdicts(Rows.of_frame(frame), read, of)
    return [verdict.sentence for verdict in judged if verdict.problem]


def verdicts(
    result: Rows, gates: Sequence[Gate], of: Gated, of_past: OfPast | None = None
) -> list[Verdict]:
    """Return the verdict of every gate on every row that it applies to.

    A gate that reads more runs than there are is not judged, with a warning.

    Raises:
        UsageError: a gate applies to no row, or reads the past without a history.
    """
    if of_past is None and (reading := [gate.text for gate in gates if gate.past]):
        raise UsageError(
            f"the gate {reading[0]!r} reads past results, but no history is named",
            remedy=Message("name the history of an evaluation with ", Argument("past", ...)),
        )
    rows: list[dict[str, Any]] = [
        {
            name: None if value != value else value  # NaN
            for name, value in zip(result.names, row, strict=True)
        }
        for row in result.values
    ]
    slices = [name for name in result.names[: result.names.index("metric")] if name != "model"]
    pairs = [(row["metric"], None if row["k"] is None else int(row["k"])) for row in rows]
    models = [row["model"] for row in rows] if "model" in result.names else []
    several_runs = set(OF_RUNS) <= set(result.names)
    check_known(
        gates, pairs, models, slices=slices, further=result.names, several_runs=several_runs, of=of
    )
    found = []
    for gate in gates:
        chosen = [(number, row) for number, row in enumerate(rows) if gate.is_about(row)]
        if not chosen:
            raise UsageError(f"the gate {gate.text!r} applies to no row{_values(gate, rows)}")
        unknown = []
        for number, row in chosen:
            place = _place(row, slices)
            judged = gate if of_past is None else _with_past(gate, row, of_past)
            if judged is None:
                unknown.append(place)
            else:
                problem = _problem(judged, row)
                found.append(Verdict(gate, number, place, row[gate.column], problem))
        if unknown:
            _warn_of_past(gate, unknown)
    return found


def _with_past(gate: Gate, row: Mapping[str, Any], of_past: OfPast) -> Gate | None:
    """Add the terms of the past to the threshold of a gate; None if there are too few runs."""
    threshold = gate.threshold
    for term in gate.past:
        n_runs, number = of_past(gate, term, row)
        if n_runs < term.n_runs or number is None:
            return None
        threshold += term.factor * number
    return replace(gate, threshold=threshold)


def _warn_of_past(gate: Gate, places: Sequence[str]) -> None:
    n_runs = max(term.n_runs for term in gate.past)
    rows = by_number(len(places), "row|rows")
    issue(
        SqlmetricsWarning(
            f'the gate "{gate.text}" is not judged for {len(places)} {rows}, e.g. {places[0]}: the '
            f"history has fewer than {n_runs} runs of this row with the same settings"
        )
    )


def _values(gate: Gate, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the known slices, if the gate names an unknown one."""
    for name, value in gate.slices:
        known = unique(str(row[name]) for row in rows)
        if value not in known:
            return f": no slice {name}={value}; there are {listed(known)}"
    return ""


def _place(row: Mapping[str, Any], slices: Iterable[str]) -> str:
    """Return the name of a row: `als, ndcg@10, country=DE`."""
    models = [str(row["model"])] if "model" in row else []
    metric = row["metric"] if row["k"] is None else f"{row['metric']}@{row['k']}"
    wheres = [f"{name}={'NULL' if row[name] is None else row[name]}" for name in slices]
    return ", ".join([*models, metric, *wheres])


def _problem(gate: Gate, row: Mapping[str, Any]) -> str | None:
    """Return why a row fails a gate, or None if it passes."""
    number, base = row[gate.column], row.get("baseline_value")
    of_baseline = gate.is_share and gate.column in COMPARISON.of_baseline
    if number is None or (of_baseline and base is None):
        missing = gate.column if number is None else "baseline_value"
        return f"{missing} is missing{_why(missing, row)}"
    limit = gate.threshold * abs(base) if of_baseline and base is not None else gate.threshold
    if not gate.is_beyond(number, limit):
        return None
    percent = 100 * gate.threshold
    if of_baseline and base is not None:
        share = f"{_shown(gate, 100 * number / abs(base), percent)} % of " if base else ""
        size = f"|{base:.4g}|" if base < 0 else f"{base:.4g}"
        shown = f"{number:.4g} ({share}{row['baseline']}'s {size})"
    elif gate.is_share:
        shown = f"{_shown(gate, 100 * number, percent)} %"
    else:
        shown = _shown(gate, number, limit)
    bound = f"{percent:.12g} %" if gate.is_share else f"{limit:.{6 if gate.past else 12}g}"
    return f"{gate.column} {shown} is {_OPERATORS[gate.operator][1]} {bound}"


def _shown(gate: Gate, number: float, bound: float) -> str:
    """Round to the fewest digits, at least four, that keep the number beyond the bound."""
    if isinstance(number, int):
        return str(number)
    texts = (f"{number:.{digits}g}" for digits in range(4, 17))
    return next((text for text in texts if gate.is_beyond(float(text), bound)), f"{number:.17g}")


def _why(missing: str, row: Mapping[str, Any]) -> str:
    """Return why a row lacks a number, as far as the row shows it."""
    if "baseline_runs" in row:
        counts = zip(OF_RUNS_COMPARED, ("model", "baseline"), strict=True)
        few = [f"{row[count]} of {row[model]}" for count, model in counts if row[count] < 2]
        return f", with the runs: {listed(few)}" if few else ""
    users = row["n_users"]
    if users is None:
        return f", because {row['metric']} has one value for all users together"
    if users == 0 and "baseline" in row:
        return f", because no user has values of both this model and {row['baseline']}"
    if users == 0:
        return ", because no user has a value"
    if missing == "relative" and row["baseline_value"] == 0:
        return f", because {row['baseline']}'s value is 0"
    return ", because there is only one user" if users == 1 else f", over {users} users"
