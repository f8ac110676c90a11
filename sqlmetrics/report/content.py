"""The content of a report as plain values, for the page to lay out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Cell: TypeAlias = str | int | float | None
"""A table cell: text, count, number, or None for an empty cell."""


@dataclass(frozen=True)
class FigureTable:
    """The data table of a figure; `note` states how many rows are omitted."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure: a chart, its description and its data table.

    Attributes:
        name: unique name, of letters and underscores.
        title: short title.
        text: description of one or two sentences.
        chart: Vega-Lite specification of one view, as wide as its container, with or without
            parameters bound to inputs; None if the figure is only a table.
        alternative: text alternative of the chart for screen readers.
        table: the data that the chart shows.
        note: statement of omitted data, or empty.
        wide: whether the figure takes the full width of the page; other figures are placed side by
            side.
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
    """A section of the report with its figures; `note` states what missing figures need."""

    name: str
    title: str
    text: str
    figures: Sequence[Figure]
    note: str = ""


@dataclass(frozen=True)
class Score:
    """The value of a metric for one model; `mark` is "best", "not worse" or empty."""

    value: float | None
    low: float | None = None
    high: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """Models from best to worst with a score per metric; `legend` names the significance test."""

    metrics: Sequence[str]
    rows: Sequence[tuple[str, int | None, Sequence[Score]]]  # model, users, scores
    legend: str = ""


@dataclass(frozen=True)
class Listed:
    """A recommended item: its rank, its name and id, and whether it is a hit."""

    rank: int
    item: str
    hit: bool


@dataclass(frozen=True)
class ExampleList:
    """The ranked list of a model for a user, and its value of the primary metric."""

    model: str
    value: float | None
    items: Sequence[Listed]


@dataclass(frozen=True)
class Example:
    """An example user with the ranked lists of several models.

    Attributes:
        user: the key of the user, such as `user_id = 7`.
        kind: "best", "typical" or "worst".
        n_relevant: the number of relevant items.
        relevant: the first few relevant items.
        lists: the ranked lists.
    """

    user: str
    kind: str
    n_relevant: int
    relevant: Sequence[str]
    lists: Sequence[ExampleList]


@dataclass(frozen=True)
class Definition:
    """The definition of a metric: formula, facts as (label, text), settings and query."""

    metric: str
    title: str
    formula: str
    facts: Sequence[tuple[str, str]]
    settings: Sequence[tuple[str, str]]
    sql: str


@dataclass(frozen=True)
class Warned:
    """A finding of the data checks: level ("warning" or "note"), check, finding and remedy."""

    level: str
    check: str
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Content:
    """The content of a report.

    Attributes:
        title: the title of the page.
        facts: models, audience, conventions and tables of the run, as (label, text).
        warnings: the findings of the data checks.
        leaderboard: the models with their scores.
        sections: the sections in page order.
        definitions: the definitions of the metrics.
        statement: the SQL of the leaderboard's values.
        made_by: the versions of the software that made the page.
        unchecked: the reason why the data checks were skipped, or empty.
        examples: example users with their lists.
        examples_text: the rule by which the example users were selected.
        result: the result in one sentence, or empty.
        decisions: a sentence per metric: how the models differ from the best.
        differs: the settings that differ from the convention, or empty.
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
    result: str = ""
    decisions: Sequence[str] = ()
    differs: str = ""
