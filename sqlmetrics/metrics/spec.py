"""Metric specs: `ndcg(gain=exponential)@10` <-> `MetricSpec`, one canonical spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import Argument, Message

Value: TypeAlias = str | int | float | None

_SPEC = re.compile(
    r"""\s* (?P<name>[A-Za-z_][A-Za-z0-9_]*) \s*
        (?: \( (?P<params>[^()]*) \) )? \s*
        (?: @ \s* (?P<cutoff>[^\s@]+) )? \s*""",
    re.VERBOSE,
)
_PARAM = re.compile(r"\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>[^\s,=]+)\s*")


_LARGEST_CUTOFF = 1_000_000
_MOST_CUTOFFS = 1000  # in one range; each is a column of a query


@dataclass(frozen=True)
class MetricSpec:
    """A metric as the user asked for it: its name, its parameters, and its cutoff if one is given.

    `cutoff` is None where the spec has none; whether that means the whole list or the cutoffs of
    `k=` is decided by `expand_cutoffs`. `implied`: not named, but one of `all` or of the default
    set.
    """

    metric: str
    params: tuple[tuple[str, Value], ...] = ()
    cutoff: int | None = None
    implied: bool = field(default=False, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The spec without its cutoff; what the column `metric` of a result holds."""
        if not self.params:
            return self.metric
        inside = ", ".join(f"{name}={value_text(value)}" for name, value in self.params)
        return f"{self.metric}({inside})"

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"


def value_text(value: Value) -> str:
    """Spell a parameter value as a spec does: `none` for None, whole numbers without a point."""
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def parse_spec(text: str) -> MetricSpec:
    """Parse `name(param=value, …)@k`; only the form is checked here, not the names.

    Raises:
        UsageError: the text has another form, or the cutoff is not a positive whole number.
    """
    match = _SPEC.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        is_file = isinstance(text, str) and re.search(r"[./\\]", text)
        hint: Message | str = ""
        if is_file:
            recommendations, interactions = Argument("recommendations"), Argument("interactions")
            hint = Message(
                "a file is given with ", recommendations, " or ", interactions,
                ", and a glob in quotes",
            )  # fmt: skip
        raise UsageError(
            f"cannot read the metric {text!r}; write it as name, name@k or name(param=value, …)@k, "
            "for example ndcg(gain=exponential)@10",
            remedy=hint,
        )
    params: dict[str, Value] = {}
    if match["params"] and match["params"].strip():
        for part in match["params"].split(","):
            pair = _PARAM.fullmatch(part)
            if pair is None:
                raise UsageError(
                    f"cannot read {part.strip()!r} in the metric {text!r}; parameters are written "
                    "as name=value and separated by commas"
                )
            if pair["name"] in params:
                raise UsageError(f"the metric {text!r} gives {pair['name']} twice")
            params[pair["name"]] = pair["value"]
    cutoff = None if match["cutoff"] is None else parse_cutoff(match["cutoff"])
    return MetricSpec(match["name"].lower(), tuple(sorted(params.items())), cutoff)


def parse_cutoff(value: Any) -> int:
    """Check one cutoff: a positive whole number."""
    problem = UsageError(f"k must be a positive whole number, not {value!r}")
    if isinstance(value, bool):
        raise problem
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise problem from None
    if number != value and not isinstance(value, str):
        raise problem
    if number > _LARGEST_CUTOFF:
        raise UsageError(f"k is {_LARGEST_CUTOFF} at most, not {value!r}")
    if number < 1:
        raise problem
    return number


def parse_cutoffs(text: str) -> list[int]:
    """Parse cutoffs written as a text: `5,10` or a range with both ends, `1:20`."""
    cutoffs: list[int] = []
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        if colon and not (first and last):
            raise UsageError(f"the range {part.strip()!r} of k needs both ends, such as 1:20")
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


def expand_cutoffs(
    calls: Sequence[MetricSpec], k: int | Iterable[int] | None
) -> list[tuple[MetricSpec, int | None]]:
    """Pair every call with its cutoffs: its own if it has one, else those of `k`, else None."""
    if k is None:
        default: list[int | None] = [None]
    elif isinstance(k, Iterable) and not isinstance(k, str):
        default = unique([parse_cutoff(value) for value in k])
        if not default:
            raise UsageError("k is an empty list; leave it out to judge whole lists")
    else:
        default = [parse_cutoff(k)]
    if len(default) > _MOST_CUTOFFS:
        raise UsageError(f"k has {len(default)} cutoffs; {_MOST_CUTOFFS} are the most")
    return unique(
        (call, cutoff)
        for call in calls
        for cutoff in ([call.cutoff] if call.cutoff is not None else default)
    )


def unique(values: Iterable[Any]) -> list[Any]:
    """Return the values without repeats, in the order in which they first appear."""
    return list(dict.fromkeys(values))
