"""Metric specs: parse and print `ndcg(gain=exponential)@10` in one canonical spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.texts.messages import Argument, Message

Value: TypeAlias = str | int | float | None

_SPEC = re.compile(
    # trec_eval has 11pt_avg and iprec_at_recall_0.10, and reads P.10 and iprec_at_recall.0.1
    r"""\s* (?P<name>[0-9]*[A-Za-z_][A-Za-z0-9_]*(?:_[0-9]\.[0-9]+|(?:\.[0-9]+){1,2})?) \s*
        (?: \( (?P<params>[^()]*) \) )? \s*
        (?: @ \s* (?P<cutoff>[^\s@]+) )? \s*""",
    re.VERBOSE,
)
_PARAM = re.compile(
    r"\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<quote>[\"']?)(?P<value>[^\s,=\"']+)(?P=quote)\s*"
)


AT = "@"  # as a parameter: a fraction after the @, which is no cutoff in some systems
_FRACTION = re.compile(r"0?\.[0-9]+|1\.0+")
_LARGEST_CUTOFF = 1_000_000
_MOST_CUTOFFS = 1000  # in one range; each becomes a column of a query


@dataclass(frozen=True)
class MetricSpec:
    """A requested metric: its name, parameters, and cutoff.

    `cutoff` is None if the spec has none; `expand_cutoffs` then applies the cutoffs of `k=`, or
    evaluates whole lists. `implied`: not requested by name, but through `all` or the default set.
    `typed`: the name as the user typed it, for messages.
    """

    metric: str
    params: tuple[tuple[str, Value], ...] = ()
    cutoff: int | None = None
    implied: bool = field(default=False, compare=False, repr=False)
    typed: str = field(default="", compare=False, repr=False)

    @property
    def name(self) -> str:
        """The spec without its cutoff, as in the column `metric` of a result."""
        if not self.params:
            return self.metric
        inside = ", ".join(f"{name}={value_text(value)}" for name, value in self.params)
        return f"{self.metric}({inside})"

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"


# specs, each with its cutoffs
Specs: TypeAlias = Mapping[MetricSpec, Sequence[int | None]]


def value_text(value: Value) -> str:
    """Format a parameter value as in a spec: `none` for None, whole numbers without a point."""
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def labelled(name: str, k: int | None) -> str:
    """Return the name of a metric with its cutoff: `ndcg@10`, or `ndcg` for whole lists."""
    return str(MetricSpec(name, cutoff=k))


def parse_spec(text: str) -> MetricSpec:
    """Parse `name(param=value, …)@k`; check the form, but not the names.

    A fraction after the @, as in `IPrec@0.1` of ir_measures, becomes the parameter `@`.

    Raises:
        UsageError: the form is invalid, or the cutoff is not a positive whole number.
    """
    match = _SPEC.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise UsageError(
            f"invalid metric {text!r}; write name, name@k or name(param=value, …)@k, for example "
            "ndcg(gain=exponential)@10",
            remedy=_hint(text) if isinstance(text, str) else "",
        )
    params: dict[str, Value] = {}
    if match["params"] and match["params"].strip():
        for part in match["params"].split(","):
            pair = _PARAM.fullmatch(part)
            if pair is None:
                raise UsageError(
                    f"invalid parameter {part.strip()!r} in the metric {text!r}; write parameters "
                    "as name=value, separated by commas"
                )
            if pair["name"] in params:
                raise UsageError(f"the metric {text!r} sets {pair['name']} twice; remove one")
            params[pair["name"]] = pair["value"]
    at = match["cutoff"]
    if at is not None and _FRACTION.fullmatch(at):
        params[AT] = str(float(at))
        at = None
    if at is not None and "," in at and (several := _hint(text)):  # e.g. ndcg@5,map
        raise UsageError(f"invalid metric {text!r}", remedy=several)
    cutoff = None if at is None else parse_cutoff(at)
    name = match["name"]
    return MetricSpec(name.lower(), tuple(sorted(params.items())), cutoff, typed=name)


def _hint(text: str) -> Message | str:
    if re.fullmatch(r"\d+([\s,]+\d+)*", text.strip()):
        cutoffs = [int(number) for number in re.findall(r"\d+", text)]
        return _give_cutoffs(sorted({5, *cutoffs}) if cutoffs != [5] else [5, 10])
    names = [part.strip() for part in re.split(r"[,;\s]+(?![^(]*\))", text.strip())]
    if len(names) > 1 and all(map(_SPEC.fullmatch, names)):
        return Message("give several metrics as ", Argument("metrics", names))
    if re.search(r"[./\\]", text):
        recommendations, interactions = Argument("recommendations"), Argument("interactions")
        return Message(
            "pass a file with ", recommendations, " or ", interactions,
            ", and put a glob in quotes",
        )  # fmt: skip
    return ""


def _give_cutoffs(cutoffs: list[int]) -> Message:
    return Message("give several cutoffs as ", Argument("k", cutoffs))


def parse_cutoff(value: Any) -> int:
    """Return a cutoff as an int; raise an error unless it is a positive whole number."""
    numbers = re.findall(r"\d+", value) if isinstance(value, str) else []
    problem = UsageError(
        f"k must be a positive whole number, not {value!r}",
        remedy=_give_cutoffs(list(map(int, numbers))) if len(numbers) > 1 else "",
    )
    if isinstance(value, bool):
        raise problem
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise problem from None
    if number != value and not isinstance(value, str):
        raise problem
    if number > _LARGEST_CUTOFF:
        raise UsageError(f"k must be at most {_LARGEST_CUTOFF}, not {value!r}")
    if number < 1:
        raise problem
    return number


def parse_cutoffs(text: str) -> list[int]:
    """Parse a text of cutoffs: a list, `5,10`, or a range with both ends, `1:20`."""
    cutoffs: list[int] = []
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        if colon and not (first and last):
            raise UsageError(f"the range {part.strip()!r} of k needs both ends, e.g. 1:20")
        try:
            low = parse_cutoff(first)
            high = parse_cutoff(last) if colon else low
        except UsageError as error:
            raise UsageError(f"k {part.strip()}: ", error) from None
        if high < low:
            raise UsageError(f"the range {part.strip()!r} of k ends before it starts")
        if high - low >= _MOST_CUTOFFS:
            raise UsageError(
                f"the range {part.strip()!r} of k has more than {_MOST_CUTOFFS} cutoffs"
            )
        cutoffs.extend(range(low, high + 1))
    return unique(cutoffs)


def expand_cutoffs(specs: Iterable[MetricSpec], k: int | Iterable[int] | None) -> Specs:
    """Give every spec its cutoffs: its own, else those of `k`, else None."""
    if k is None:
        default: list[int | None] = [None]
    elif isinstance(k, Iterable) and not isinstance(k, str):
        default = unique([parse_cutoff(value) for value in k])
        if not default:
            raise UsageError("k is an empty list; omit it to evaluate whole lists")
    else:
        default = [parse_cutoff(k)]
    if len(default) > _MOST_CUTOFFS:
        raise UsageError(f"k has {len(default)} cutoffs; at most {_MOST_CUTOFFS} are allowed")
    cutoffs: dict[MetricSpec, list[int | None]] = {}
    for spec in specs:
        cutoffs.setdefault(spec, default if spec.cutoff is None else [spec.cutoff])
    return cutoffs


def unique(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in the order of their first appearance."""
    return list(dict.fromkeys(values))
