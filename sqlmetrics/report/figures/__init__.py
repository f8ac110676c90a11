"""The figures of a report: one object per kind, with its query, its sentences and its charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.report.figures.cutoffs import Cutoffs
from sqlmetrics.report.figures.groups import Calibration, GroupExposure
from sqlmetrics.report.figures.items import Exposure, Popularity
from sqlmetrics.report.figures.kind import Kind
from sqlmetrics.report.figures.models import AgainstBest, Scores
from sqlmetrics.report.figures.slices import PopularityLift, Slices
from sqlmetrics.report.figures.trade_off import TradeOff
from sqlmetrics.report.figures.users import Differences, Distribution, Wins

FigureKind = Literal[
    "scores", "against_best", "cutoffs", "distribution", "differences", "wins", "slices",
    "exposure", "popularity", "group_exposure", "calibration", "popularity_lift", "trade_off",
]  # fmt: skip
# name, title, introduction, kinds of figures
SECTIONS = (
    ("models", "Comparing models", "", (Scores(), AgainstBest())),
    (
        "cutoffs",
        "Metrics by cutoff",
        "Values at every cutoff. Bands are the confidence intervals of the means, for up to four "
        "models; the data tables have all intervals.",
        (Cutoffs(),),
    ),
    (
        "users",
        "Per-user values",
        "The per-user values behind the means, and the users who gain or lose when one model "
        "replaces another.",
        (Distribution(), Differences(), Wins()),
    ),
    (
        "slices",
        "Slices",
        "Values for groups of users and for groups of relevant items.",
        (Slices(),),
    ),
    (
        "beyond",
        "Beyond accuracy",
        "Distribution of recommendations over items and groups of items, popularity bias, the fit "
        "of the lists to the histories, and the trade-off with accuracy.",
        (
            Exposure(),
            Popularity(),
            GroupExposure(),
            Calibration(),
            PopularityLift(),
            TradeOff(),
        ),
    ),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for *_, kinds in SECTIONS for kind in kinds}
"""The figures of `Evaluator.plot`, in the order of the report; see `docs/how-to/report.md`."""


def checked_kind(figure: str) -> Kind:
    """Check that a kind of figure exists, and return it.

    Raises:
        UsageError: there is no figure of this kind.
    """
    if figure not in KINDS:
        raise UsageError(
            f"unknown figure {figure!r}; choose one of {', '.join(KINDS)}"
            f"{suggestion(str(figure), KINDS)}"
        )
    return KINDS[figure]
