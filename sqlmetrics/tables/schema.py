"""The schema of the input tables: names and types of columns, and the classes of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlmetrics.engines.relation import Unread
from sqlmetrics.errors import DataError
from sqlmetrics.tables.filters import columns_of
from sqlmetrics.tables.formats import hides_rows
from sqlmetrics.texts.messages import Message, map_column, set_to

# columns other than the user keys: required, then optional
COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "recommendations": (("item_id",), ("rank", "score", "model", "run", "timestamp")),
    "interactions": (("item_id",), ("relevance", "timestamp")),
    "history": (("item_id",), ("timestamp", "weight")),
    "items": (
        ("item_id",),
        (
            "price",
            "category",
            "item_group",
            "group_target",
            "features",
            "propensity",
            "created_at",
        ),
    ),
    "users": ((), ("weight",)),
    "aspects": (("item_id", "aspect"), ()),
    "baseline": (("item_id",), ("rank", "score")),
    "logs": (
        ("item_id", "reward"),
        ("round_id", "propensity", "target_propensity", "position", "examination"),
    ),
    "policy": (("item_id", "probability"), ("round_id", "predicted", "model")),
    "audit": (("item_id",), ("relevance", "timestamp")),
}
ROUND = "round_id"  # the column of logs and policies that identifies a round
# item attributes that are separate tables in the queries, with one row per item and value
ATTRIBUTES = {
    "item_categories": ("items", "category"),
    "item_groups": ("items", "item_group"),
    "item_features": ("items", "features"),
}
# names of columns that the queries compute
RESULT_NAMES = {
    "k", "metric", "row_number", "value", "slice", "item_slice", "resample", "resample_group",
    "resample_hash", "label", "position", "example_kind", "example_item", "example_title",
    "example_rank",
}  # fmt: skip
NUMBERED = re.compile(r"(slice|item_slice|position|all)_[0-9]+\Z")
# columns of numbers
NUMBERS = (
    "score", "rank", "price", "reward", "propensity", "relevance", "features", "weight",
    "group_target", "target_propensity", "probability", "predicted",
    "position", "examination",
)  # fmt: skip
NO_TYPE = '"NULL"'  # the type of a column of a frame or JSON file without values
UNKNOWN = "UNKNOWN"  # the type of other columns, in a table of which only the name is known
# types of times with a time zone, and of the same times without
ZONED = {"TIMESTAMP WITH TIME ZONE": "TIMESTAMP", "TIMESTAMPTZ_NS": "TIMESTAMP_NS"}
# the types of these columns in a table of which only the name is known
ASSUMED = {
    "rank": "BIGINT", "score": "DOUBLE", "model": "VARCHAR", "run": "VARCHAR",
    "relevance": "DOUBLE", "timestamp": "TIMESTAMP", "price": "DOUBLE", "category": "VARCHAR",
    "item_group": "VARCHAR", "group_target": "DOUBLE", "features": "DOUBLE[]",
    "aspect": "VARCHAR", "reward": "DOUBLE", "propensity": "DOUBLE", "weight": "DOUBLE",
    "target_propensity": "DOUBLE", "probability": "DOUBLE", "predicted": "DOUBLE",
    "position": "BIGINT", "examination": "DOUBLE", "created_at": "TIMESTAMP",
}  # fmt: skip
OF_MODELS = ("recommendations", "policy")  # tables with a column model
WITHOUT_USER = {"items"}
USER_IS_OPTIONAL = {"aspects", "policy"}

_INTEGERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)\Z")
_FLOATS = re.compile(r"(FLOAT|DOUBLE|REAL)\Z")
# words in the names of columns that may contain relevance, the most likely first
_LIKE_RELEVANCE = (
    "relevance", "rating", "ratings", "stars", "star", "grade", "grades", "score", "scores",
    "label", "labels", "weight", "weights", "rate",
)  # fmt: skip
# words that count only as the whole name (`value`, but not `order_value`)
_LIKE_RELEVANCE_ALONE = ("value", "values")
# words in the names of columns about a relevance, such as its id, time or number
_ABOUT_RELEVANCE = {
    "id", "ids", "idx", "index", "key", "hash", "time", "timestamp", "ts", "date", "day", "month",
    "year", "at", "count", "counts", "n", "num",
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class SourceColumn:
    """A column of a source and its name in the queries.

    `parts` are several columns of the source that are read as one list. `negative` reads minus
    the value, which turns ranks into scores. `as_given`: only the user's own templates read the
    column, and lists stay lists. `constant` is the text that all rows have, if there is no column.
    """

    name: str
    source: str
    type: str
    cast: str | None = None
    parts: tuple[str, ...] = ()
    negative: bool = False
    as_given: bool = False
    constant: str | None = None

    @property
    def is_list(self) -> bool:
        """Whether each row holds a whole list, which becomes several rows."""
        return self.type.endswith("]") and not self.as_given

    @property
    def has_zone(self) -> bool:
        """Whether the values are times with a time zone."""
        return self.type in ZONED


@dataclass(frozen=True)
class Source:
    """One relation of a table, with its model and run (None if these have no names).

    `types` has every column of the relation, including those that queries do not use; `unread` are
    the columns that cannot be read, with the reasons. `files` are
    the files of the relation, and `format` is their format. `watched` and `is_held` are those of
    the relation. `where` is the condition on the rows in DuckDB's SQL, or "". `list_column` has
    whole lists, whose order is read as the column `list_order`: "rank", or "score" for minus the
    rank. `levels` are the values of ordered categories in their order, by column. `of_folders` are
    the columns that only folder names have and that no note has named yet.
    """

    relation: str
    ordered_relation: str
    columns: tuple[SourceColumn, ...]
    label: str
    model: str | None = None
    row_number: str | None = None
    list_column: str | None = None
    list_order: str = "rank"
    types: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()
    format: str = ""
    watched: Sequence[str] = ()
    is_held: bool = True
    only_named: bool = False
    where: str = ""
    unread: Mapping[str, Unread] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    run: str | None = None
    of_folders: tuple[str, ...] = ()

    def find_read(self, name: str) -> SourceColumn | None:
        """Find a column that queries read, by its name in the queries."""
        return next((column for column in self.columns if column.name == name), None)

    def find(self, name: str) -> SourceColumn | None:
        """Find a column by its name in the queries, or else by its name in the source."""
        lowered = {column.lower(): column for column in self.types}
        known = self.find_read(name)
        actual = name if name in self.types else lowered.get(name.lower())
        if known is not None or actual is None:
            return known
        return SourceColumn(name, actual, self.types[actual])

    def folder_note(self, table: str, name: str) -> str | None:
        """Return the note for a column that queries read from folder names; None for others."""
        found = self.find(name)
        if found is None or found.source not in self.of_folders:
            return None
        return (
            f"{table}: the column {name} of {self.label} is read from the names of folders "
            f"({found.source}=…/), because the files do not have this column"
        )

    def assume(self, name: str) -> SourceColumn | None:
        """Return a column of a table of which only the name is known; None for other tables."""
        return SourceColumn(name, name, UNKNOWN) if self.only_named else None


@dataclass(frozen=True)
class Table:
    """An input table with canonical names.

    `columns` maps canonical names to types. `by_rank` are the models whose scores are read from
    their ranks.
    """

    name: str
    sources: tuple[Source, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    by_rank: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """The names of the models that have sources of their own."""
        return list(dict.fromkeys(s.model for s in self.sources if s.model is not None))

    @property
    def rank_is_whole(self) -> bool:
        """Whether the rank column has an integer type."""
        return bool(_INTEGERS.match(self.columns.get("rank", "")))

    @property
    def unread_relevance(self) -> list[str]:
        """Numeric columns that may contain relevance, the most likely first.

        The names are those of the source. The list is empty if the table has a relevance column.
        Columns that are mapped or used in the condition on the rows are excluded.
        """
        source = self.sources[0]
        read = {name for column in source.columns for name in (column.source, *column.parts)}
        read |= columns_of(source.where) if source.where else set()
        candidates = {
            name: likeness
            for name, type_name in source.types.items()
            if name not in read and is_number(type_name)
            if (likeness := _likeness_to_relevance(name)) is not None
        }
        ordered = sorted(candidates, key=lambda name: candidates[name])
        return [] if "relevance" in self.columns else ordered

    def require_order(self, order: str, ties: str) -> bool:
        """Check that lists can be ordered by `order`; return whether the order of rows is needed.

        Raises:
            DataError: the table lacks the column, or a source has no row order.
        """
        if order != "row" and order not in self.columns:
            lacking = (s for s in self.sources if s.model not in self.by_rank or order != "rank")
            neither = not {"rank", "score"} & set(self.columns)
            raise DataError(
                f"{self.name}: {next(lacking, self.sources[0]).label} has "
                + ("neither a column rank nor a column score" if neither else f"no column {order}")
                + " to order the lists by",
                table=self.name,
                column=order,
                remedy=Message(
                    "map a column with ", map_column(self.name, order),
                    ", or choose another order (rank, score, or row, the order of the rows) with ",
                    set_to("order"),
                ),
            )  # fmt: skip
        if order != "row" and (order != "score" or ties not in ("row", "row_reversed")):
            return False
        for source in self.sources:
            if hiding := hides_rows(source.format, source.types):
                raise DataError(
                    f"{self.name}: the order of rows is the ranking, but {source.label} has a "
                    f"column {hiding}, which hides the row numbers of the engine",
                    table=self.name,
                    column=hiding,
                    remedy="rename the column",
                )
            if source.row_number is None:
                raise DataError(
                    f"{self.name}: {source.label} has no row order to use as the ranking (only "
                    "frames, Arrow tables, TREC runs, Parquet and CSV files have one)",
                    table=self.name,
                    remedy=Message(
                        "choose another tie-breaking rule with ",
                        set_to("ties", "item_asc"), ", or add a column rank",
                    )
                    if order == "score"
                    else "add a column rank or score",
                )  # fmt: skip
        return True

    def require_time(
        self, column: str, unit: str, asked: str, setting: str, can_read_numbers: bool = True
    ) -> None:
        """Check that a column holds timestamps, or numbers if `unit` is seconds or milliseconds.

        `asked` is the slice or metric without a unit, and `setting` the setting with the unit, for
        messages. `can_read_numbers`: a remedy may be a unit.

        Raises:
            DataError: the column has another type.
        """
        held = self.columns[column]
        is_time = held.startswith(("TIMESTAMP", "DATE"))
        fits = is_time if unit == "timestamp" else is_number(held)
        # of a table of which only the name is known, the type is an assumption
        if fits or (is_time and all(source.only_named for source in self.sources)):
            return
        if is_time:
            remedy = f"remove {setting}: {asked}"
        elif is_number(held) and can_read_numbers:
            name, _, params = asked.removesuffix(")").partition("(")
            units = (
                f"{name}({params}{', ' if params else ''}{setting}={one})"
                for one in ("seconds", "milliseconds")
            )
            remedy = f"write {' or '.join(units)} for time since 1970"
        else:
            remedy = f"export the column as timestamps, and write {asked} without {setting}"
        wanted = "timestamps" if unit == "timestamp" else f"numbers of {unit}"
        raise DataError(
            f"{self.name}, column {self.describe_column(column)}: the type in "
            f"{self.sources[0].label} is {held}, not {wanted}",
            table=self.name,
            column=column,
            remedy=remedy,
        )

    def describe_column(self, name: str) -> str:
        """Return a column name for messages, with the name in the source if that differs."""
        actual = {c.source for s in self.sources for c in s.columns if c.name == name}
        return name if actual <= {name} else f"{name} ({', '.join(sorted(actual))})"


def _likeness_to_relevance(name: str) -> int | None:
    """Rank a column name by the chance that the column has relevance: 0 is best, None no match."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if words and words[0] in _LIKE_RELEVANCE_ALONE and len(words) == 1:
        return len(_LIKE_RELEVANCE)
    if _ABOUT_RELEVANCE & set(words):
        return None
    places = [_LIKE_RELEVANCE.index(word) for word in words if word in _LIKE_RELEVANCE]
    return min(places, default=None)


def unreadable_column(
    table: str, column: str, unread: Unread, is_number: bool = False
) -> DataError:
    """Return the error for a column without a common type, or whose name is not unique."""
    if unread.remedy:
        where = f"{table}, column {column}"
        return DataError(
            f"{where}: {unread.reason}", table=table, column=column, remedy=unread.remedy
        )
    how = (
        unread.to_numbers or f"pandas.to_numeric(frame[{column!r}]) in pandas" if is_number
        else unread.to_ids or f"frame[{column!r}].astype(str) in pandas"
    )  # fmt: skip
    return DataError(
        f"{table}, column {column}: the values have different or unsupported types: "
        f"{unread.reason}",
        table=table,
        column=column,
        remedy=f"convert the values to one type, for example with {how}",
    )


def type_family(type_name: str) -> str:
    """Return the group of types with comparable values, such as all integers or all texts."""
    if _INTEGERS.match(type_name):
        return "integer"
    if type_name == "VARCHAR" or type_name.startswith("ENUM"):
        return "text"
    if _FLOATS.match(type_name):
        return "floating-point"
    if type_name.startswith("DECIMAL"):
        return "decimal"
    return type_name


def of_row(type_name: str) -> str:
    """Return the type of the values in a list column."""
    return type_name[: type_name.rindex("[")] if type_name.endswith("]") else type_name


def is_number(type_name: str) -> bool:
    """Return whether values of a type are numbers, and can be scores."""
    return type_family(type_name) in ("integer", "floating-point", "decimal")


def can_compare_times(type_names: Iterable[str]) -> bool:
    """Return whether the values of columns of these types can be compared as times."""

    def kind_of(type_name: str) -> str:
        if is_number(type_name):
            return "number"
        if type_name.startswith(("DATE", "TIMESTAMP")):
            return "time with a zone" if type_name in ZONED else "time"
        return "text"

    kinds = {kind_of(type_name) for type_name in type_names}
    return len(kinds) < 2 and "text" not in kinds  # text is not ordered like times


def can_be_number(type_name: str) -> bool:
    """Return whether a column of a type has numbers, or no values at all."""
    return type_name == NO_TYPE or is_number(type_name)
