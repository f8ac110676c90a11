"""Confidence intervals of values, and their resampling."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any, Literal, get_args

from sqlmetrics.errors import UsageError, check_choice
from sqlmetrics.texts.messages import Argument, Message

IntervalKind = Literal["normal", "bootstrap", "none"]
KINDS: tuple[IntervalKind, ...] = get_args(IntervalKind)
FEW_CLUSTERS = 30  # below, intervals of means over clusters cover the true mean too rarely
FEW_AUDITED = 10  # users; below, intervals of audited labels do so
# columns of results with an audit: the number of users with labels by people, the weight of the
# other labels, and the means by either kind alone
OF_AUDIT = ("n_audited", "label_weight", "labels_alone", "people_alone")
_MOST_RESAMPLES = 100_000


@dataclass(frozen=True)
class Interval:
    """A confidence interval: its kind, its level, and the resampling of users.

    `of_runs`: resample also metrics with one value for the whole run; each resample then computes
    these metrics again.

    Raises:
        UsageError: an invalid value.
    """

    kind: str = "normal"
    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 1
    of_runs: bool = False

    def __post_init__(self) -> None:
        check_choice("ci", self.kind, KINDS)
        number = self.confidence
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < 1:
            raise UsageError(f"confidence must be between 0 and 1, not {number!r}")
        for name in ("resamples", "seed"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        if not _is_whole(self.resamples) or not 1 <= self.resamples <= _MOST_RESAMPLES:
            raise UsageError(
                f"resamples must be an integer from 1 to {_MOST_RESAMPLES}, not {self.resamples!r}"
            )
        if not _is_whole(self.seed) or not 0 <= self.seed < 2**31 - 1:
            raise UsageError(f"seed must be an integer from 0 to 2^31 - 2, not {self.seed!r}")
        if self.of_runs and self.kind != "bootstrap":
            raise UsageError(
                "metrics with one value for the whole run have only bootstrap intervals",
                remedy=Message("set ", Argument("ci", "bootstrap")),
            )

    @property
    def z(self) -> float:
        """Return the half width of the normal interval in standard errors."""
        from statistics import NormalDist

        return NormalDist().inv_cdf((1 + self.confidence) / 2)

    @property
    def draws(self) -> dict[str, Any]:
        """Return the variables of templates that resample users."""
        return {"resamples": self.resamples, "seed": self.seed}


def _plain(value: Any) -> Any:
    """Convert an integer of another library, such as NumPy, to int."""
    return value if isinstance(value, bool) or not hasattr(value, "__index__") else index(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
