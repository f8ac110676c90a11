"""The entries of a record as types, which records read from files are validated against."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from sqlmetrics.metrics.shapes import Constraint
from sqlmetrics.texts.messages import TABLES

FORMAT = 1  # format of records; later formats have entries that this version does not know

ResultName = Literal["evaluate", "per_user", "compare", "leaderboard"]
Scalar = str | int | float | bool | None


class MetricEntry(TypedDict):
    """A metric under one convention; `settings` are those that differ between metrics."""

    metric: str
    convention: str
    k: list[int | None]
    settings: dict[str, Scalar]


class SourceEntry(TypedDict):
    """The source of a table or model; `source` is None for a source without a name."""

    table: Annotated[str, Constraint("the name of a table", TABLES.__contains__)]
    model: str | None
    run: NotRequired[str]
    source: str | list[str] | None
    kind: str
    files: NotRequired[int]


class ContentsEntry(TypedDict):
    """The rows that were read from a table or model."""

    table: str
    model: str | None
    columns: list[str]
    rows: int
    fingerprint: str


class UsersEntry(TypedDict):
    """Counts of users for metrics with one audience; per run if models have several."""

    model: str | None
    run: NotRequired[str]
    convention: str
    metrics: list[str]
    audience: Scalar
    evaluated: int | None
    without_recommendations: int | None
    without_truth: int | None


class FindingEntry(TypedDict):
    """A finding of the data checks."""

    level: str
    check: str
    table: str
    found: str


class Record(TypedDict):
    """A record; see `docs/reference/record.md` for its entries."""

    record: int
    result: ResultName
    started: str
    versions: dict[str, str]
    given: dict[str, Any]
    asked: dict[str, Any]
    settings: dict[str, Scalar]
    metrics: list[MetricEntry]
    sql: str
    sources: list[SourceEntry]
    seconds: NotRequired[float]
    contents: NotRequired[list[ContentsEntry]]
    users: NotRequired[list[UsersEntry]]
    findings: NotRequired[list[FindingEntry]]
    unknown: NotRequired[dict[str, str]]
    columns: NotRequired[list[str]]
    rows: NotRequired[list[list[Scalar]]]
