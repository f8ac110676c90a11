"""Bins of a column of numbers to slice by: `age(groups=4)`, `age(bins=25|35|50)`."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.front_matter import Param

_CALL = re.compile(r"(?P<column>.*?[^\s.])\s*\((?P<params>[^()]*)\)", re.DOTALL)
_GROUPS = Param("groups", 4, min=2, max=100, whole=True)
_FORM = "write COLUMN(groups=4) for groups of equal size, or COLUMN(bins=25|35|50) for limits"


@dataclass(frozen=True)
class Bins:
    """Groups of a column of numbers: their number, or the limits between them."""

    groups: int | None = None
    limits: tuple[float, ...] = ()

    @property
    def cases(self) -> list[dict[str, str]]:
        """The label of each bin and the condition on a value; a limit belongs to the upper bin."""
        if not self.limits:
            return []
        texts = [f"{limit:.15g}" for limit in self.limits]
        labels = [f"below {texts[0]}"]
        labels += [f"{low} to below {high}" for low, high in itertools.pairwise(texts)]
        labels.append(f"{texts[-1]} or more")
        conditions = [f"value < {text}" for text in texts]
        return [
            {"label": label, "condition": condition}
            for label, condition in zip(labels, [*conditions, ""], strict=True)
        ]


def parse_bins(text: str, option: str) -> tuple[str, Bins] | None:
    """Split `age(groups=4)` into the column and its bins; None for a text without parentheses.

    Raises:
        UsageError: the bins are neither a number of groups nor increasing limits.
    """
    match = _CALL.fullmatch(text.strip())
    if match is None or not match["params"].strip():
        return None
    name, equals, value = (part.strip() for part in match["params"].partition("="))
    where = f"{option}: {text}"
    if name == "groups" and equals:
        groups = _GROUPS.parse(value, where)
        return match["column"], Bins(groups=int(str(groups)))
    if name != "bins" or not equals:
        raise UsageError(f"{where}: {_FORM}")
    try:
        limits = tuple(float(limit) for limit in value.split("|"))
    except ValueError:
        raise UsageError(f"{where}: the limits must be numbers, separated by |; {_FORM}") from None
    if not all(map(math.isfinite, limits)) or list(limits) != sorted(set(limits)):
        raise UsageError(f"{where}: the limits must be finite and increase; {_FORM}")
    return match["column"], Bins(limits=limits)
