"""The content of a report as plain values, which the page lays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Cell: TypeAlias = str | int | float | None
"""A text, a count, a number, or nothing."""


@dataclass(frozen=True)
class FigureTable:
    """The numbers of a figure: rows of cells under named columns; `note` names omitted rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A chart, its description in words, and its numbers.

    Attributes:
        name: tells figures apart; letters and underscores.
        title: a short title.
        text: a description, one or two sentences.
        chart: a Vega-Lite specification of one view, as wide as its container; it may have
            parameters that are bound to inputs. None: there is only the table.
        alternative: the text for readers who do not see the chart.
        table: the numbers that are drawn.
        note: names omitted data, if any.
        wide: takes the whole width of the page; others stand side by side.
    """

    name: str
    title: str
    text: str = ""
    chart: Mapping[str, Any] | None = None
    alternative: str = ""
    table: FigureTable | None = None
    note: str = ""
    wide: bool = True


@dataclass(frozen=True)
class Section:
    """Figures about one question."""

    name: str
    title: str
    text: str
    figures: Sequence[Figure]


@dataclass(frozen=True)
class Score:
    """The value of a metric for one model; `mark` is "best", "not worse" or empty."""

    value: float | None
    low: float | None = None
    high: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """Models, the best first, with a score for every metric; `legend` says how it was tested."""

    metrics: Sequence[str]
    rows: Sequence[tuple[str, int | None, Sequence[Score]]]  # model, users, scores
    legend: str = ""


@dataclass(frozen=True)
class Listed:
    """A recommended item: its place, its id and name, and whether it is a hit."""

    rank: int
    item: str
    hit: bool


@dataclass(frozen=True)
class ExampleList:
    """The recommendations of a model for a user, from the top, and their value."""

    model: str
    value: float | None
    items: Sequence[Listed]


@dataclass(frozen=True)
class Example:
    """A user: who (`user_id = 7`), of which kind ("best", "typical", "worst"), and the lists.

    `relevant` are the items that the user has in the held-out truth, at most a few of the
    `n_relevant`.
    """

    user: str
    kind: str
    n_relevant: int
    relevant: Sequence[str]
    lists: Sequence[ExampleList]


@dataclass(frozen=True)
class Definition:
    """The definition of a metric: formula, facts (label, text), settings, and its own query."""

    metric: str
    title: str
    formula: str
    facts: Sequence[tuple[str, str]]
    settings: Sequence[tuple[str, str]]
    sql: str


@dataclass(frozen=True)
class Warned:
    """Something that `check` found: its level ("warning" or "note"), name, finding and remedy."""

    level: str
    check: str
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Content:
    """All that a report says.

    Attributes:
        title: of the page.
        facts: what was judged, on whom and how: (label, text).
        warnings: what `check` found; `unchecked` says why it did not look, if so.
        leaderboard: the models.
        sections: figures, in their order.
        examples: users with their lists; `examples_text` says how they were chosen.
        definitions: how every metric is computed.
        statement: the SQL of the whole result.
        made_by: what made the page.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[Warned]
    leaderboard: Leaderboard
    sections: Sequence[Section]
    definitions: Sequence[Definition]
    statement: str
    made_by: str
    unchecked: str = ""
    examples: Sequence[Example] = field(default_factory=tuple)
    examples_text: str = ""
