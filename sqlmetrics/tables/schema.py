"""The schema of the input tables: names and types of columns, and the classes of tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlmetrics.errors import DataError
from sqlmetrics.messages import Message, map_column, set_to
from sqlmetrics.tables.filters import columns_of
from sqlmetrics.tables.relevance_names import likeness_to_relevance
from sqlmetrics.tables.sources import hides_rows

# columns beside the keys of the user: required, then optional
COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "recommendations": (("item_id",), ("rank", "score", "model", "timestamp")),
    "interactions": (("item_id",), ("relevance", "timestamp")),
    "history": (("item_id",), ("timestamp",)),
    "items": (("item_id",), ("price", "category", "features")),
    "users": ((), ()),
    "aspects": (("item_id", "aspect"), ()),
    "baseline": (("item_id",), ("rank", "score")),
    "logs": (("item_id", "reward"), ("propensity",)),
}
# attributes of items that are tables of their own in the queries: one row per item and value
ATTRIBUTES = {"item_categories": ("items", "category"), "item_features": ("items", "features")}
# names of columns that the queries compute
RESULT_NAMES = {
    "k", "metric", "row_number", "value", "slice", "item_slice", "resample", "resample_group",
    "resample_hash", "label", "position", "example_kind", "example_item", "example_title",
    "example_rank",
}  # fmt: skip
NUMBERED = re.compile(r"(label|position|all)_[0-9]+\Z")
UNKNOWN = "UNKNOWN"  # the type of a column of a table of which only the name is known
# what the queries take other columns of such a table for
ASSUMED = {
    "rank": "BIGINT", "score": "DOUBLE", "model": "VARCHAR", "relevance": "DOUBLE",
    "timestamp": "TIMESTAMP", "price": "DOUBLE", "category": "VARCHAR", "features": "DOUBLE[]",
    "aspect": "VARCHAR", "reward": "DOUBLE", "propensity": "DOUBLE",
}  # fmt: skip
WITHOUT_USER = {"items"}
USER_IS_OPTIONAL = {"aspects"}

_INTEGERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)\Z")
_FLOATS = re.compile(r"(FLOAT|DOUBLE|REAL)\Z")


@dataclass(frozen=True)
class SourceColumn:
    """A column of a source and the name that the queries know it by.

    `parts`: several columns of the source that make one list.
    """

    name: str
    source: str
    type: str
    cast: str | None = None
    parts: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        """Does it hold a whole list in one row?"""
        return self.type.endswith("]")


@dataclass(frozen=True)
class Source:
    """One relation of a table, with the model it belongs to (None where models are not named).

    `types`: every column of the relation, also those that no query knows by name. `files` are those
    that it reads, of a `format`. `watched` and `is_held` are those of the relation. `where`: the
    condition that rows satisfy, in DuckDB's SQL, or "".
    """

    relation: str
    ordered_relation: str
    columns: tuple[SourceColumn, ...]
    label: str
    model: str | None = None
    row_number: str | None = None
    list_column: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()
    format: str = ""
    watched: Sequence[str] = ()
    is_held: bool = True
    only_named: bool = False
    where: str = ""

    def find(self, name: str) -> SourceColumn | None:
        """Find a column: by the name that the queries know it by, else by its own."""
        lowered = {column.lower(): column for column in self.types}
        known = next((column for column in self.columns if column.name == name), None)
        actual = name if name in self.types else lowered.get(name.lower())
        if known is not None or actual is None:
            return known
        return SourceColumn(name, actual, self.types[actual])

    def assume(self, name: str) -> SourceColumn | None:
        """Assume that a column exists in a table of which only the name is known."""
        return SourceColumn(name, name, UNKNOWN) if self.only_named else None


@dataclass(frozen=True)
class Table:
    """An input table under the names of the queries. `columns`: canonical name -> type."""

    name: str
    sources: tuple[Source, ...]
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def rank_is_whole(self) -> bool:
        """Is the rank column of an integer type?"""
        return bool(_INTEGERS.match(self.columns.get("rank", "")))

    @property
    def unread_relevance(self) -> list[str]:
        """Columns of numbers that look like a relevance, the likeliest first; none if one is read.

        Their names are those of the source. A condition on the rows reads its columns, too.
        """
        source = self.sources[0]
        read = {name for column in source.columns for name in (column.source, *column.parts)}
        read |= columns_of(source.where) if source.where else set()
        candidates = {
            name: likeness
            for name, type_name in source.types.items()
            if name not in read and is_number(type_name)
            if (likeness := likeness_to_relevance(name)) is not None
        }
        ordered = sorted(candidates, key=lambda name: candidates[name])
        return [] if "relevance" in self.columns else ordered

    def require_order(self, order: str, ties: str) -> bool:
        """Check that lists can be ordered so; tells whether the order of rows is needed.

        Raises:
            DataError: the table lacks the column, or a source has no order of rows.
        """
        if order != "row" and order not in self.columns:
            neither = not {"rank", "score"} & set(self.columns)
            raise DataError(
                f"{self.name}: {self.sources[0].label} has "
                + ("neither a column rank nor a column score" if neither else f"no column {order}")
                + " to order the lists by",
                table=self.name,
                column=order,
                remedy=Message(
                    "name the column that holds it with ", map_column(self.name, order),
                    ", or choose another order (rank, score, or row, the order of the rows) with ",
                    set_to("order"),
                ),
            )  # fmt: skip
        if "row" not in (order, ties if order == "score" else None):
            return False
        for source in self.sources:
            if hiding := hides_rows(source.format, source.types):
                raise DataError(
                    f"{self.name}: the order of rows gives the ranking, and {source.label} has a "
                    f"column {hiding}, which hides the number that every row has in its file",
                    table=self.name,
                    column=hiding,
                    remedy="rename the column",
                )
            if source.row_number is None:
                raise DataError(
                    f"{self.name}: {source.label} has no order of rows that could be the ranking "
                    "(only frames, Arrow tables, Parquet and CSV files have one)",
                    table=self.name,
                    remedy=Message(
                        "choose another rule for the order of equal scores with ",
                        set_to("ties", "item_asc"), ", or give it a column rank",
                    )
                    if order == "score"
                    else "give it a column rank or score",
                )  # fmt: skip
        return True

    def require_time(self, column: str, unit: str) -> None:
        """Check that a column holds timestamps, or numbers if `unit` is seconds or milliseconds.

        Raises:
            DataError: the column has another type.
        """
        held = self.columns[column]
        is_time = held.startswith(("TIMESTAMP", "DATE"))
        fits = is_time if unit == "timestamp" else is_number(held)
        if fits or all(source.only_named for source in self.sources):
            return
        if is_time:
            remedy = "leave out unit: month"
        elif is_number(held):
            remedy = "write month(unit=seconds) or month(unit=milliseconds) for numbers since 1970"
        else:
            remedy = "export it as timestamps, and write month without unit"
        wanted = "timestamps" if unit == "timestamp" else f"numbers of {unit}"
        raise DataError(
            f"{self.name}, column {self.describe_column(column)}: {self.sources[0].label} "
            f"holds {held}, not {wanted}",
            table=self.name,
            column=column,
            remedy=remedy,
        )

    def describe_column(self, name: str) -> str:
        """Name a column in a message: its own name, and the one in the file where that differs."""
        actual = {c.source for s in self.sources for c in s.columns if c.name == name}
        return name if actual <= {name} else f"{name} ({', '.join(sorted(actual))})"


def type_family(type_name: str) -> str:
    """Group types whose values can be equal: all integers, all texts; others stand alone."""
    if _INTEGERS.match(type_name):
        return "integer"
    if type_name == "VARCHAR" or type_name.startswith("ENUM"):
        return "text"
    if _FLOATS.match(type_name):
        return "floating-point"
    if type_name.startswith("DECIMAL"):
        return "decimal"
    return type_name


def is_number(type_name: str) -> bool:
    """Can values of this type be compared as scores?"""
    return type_family(type_name) in ("integer", "floating-point", "decimal")
