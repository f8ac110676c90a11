"""Relations: the FROM clauses of sources, with columns, types and files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.sql.templates import macro


@dataclass(frozen=True)
class FolderColumn:
    """A column in folder names, and the type of its values."""

    name: str
    type: str

    @property
    def pattern(self) -> str:
        """Return the regular expression for the path of a file, whose first group is the value."""
        return rf"(?:^|[/\\]){re.escape(self.name)}=([^/\\=]*)[/\\]"


@dataclass(frozen=True)
class Folders:
    """Columns whose values are in folder names.

    `columns` are missing from the files. `hidden` are also columns of the files, which take
    precedence. `with_file` adds the path of the file as a column.
    """

    columns: tuple[FolderColumn, ...] = ()
    hidden: tuple[str, ...] = ()
    with_file: bool = False

    @property
    def by_engine(self) -> bool:
        """Return whether the engine can read these columns; it reads all folder names or none."""
        return bool(self.columns) and not self.hidden

    @property
    def added(self) -> tuple[FolderColumn, ...]:
        """Return the columns that must be extracted from file paths instead."""
        return self.columns if self.hidden else ()


@dataclass(frozen=True)
class Layout:
    """The separator of a CSV file, and the number of lines before its header."""

    separator: str
    n_above: int = 0


@dataclass(frozen=True)
class Unread:
    """Why a column is not read, and how to convert it to ids or texts, or to numbers.

    `remedy`: how to solve another problem than that of a type.
    """

    reason: str
    to_ids: str = ""
    to_numbers: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Relation:
    """The FROM clause of a source, and the type of every column.

    Attributes (in part):
        row_number: an expression that numbers the rows in file order in `ordered`; None if the
            order of rows has no meaning.
        parts: the types in each of several files.
        files: the files that it reads, all with the same `format`.
        watched: further local files from which the rows come.
        is_held: whether the rows cannot change, or a change is detected.
        only_named: whether it is a table name for a statement and cannot be read here; without
            `types`, its columns are unknown.
        folders: the columns from folder names; None if there are none.
        warnings: warnings for the user.
        by_name: whether CSV files have their columns in different orders.
        quotes: the quote and escape characters of CSV files; "" if the engine detects them.
        layout: the other CSV options; None if the engine detects them.
        csv_types: the types of columns whose types the engine does not detect.
        has_own_names: whether the source has names of columns; a dict has none, so that its
            columns have those of sqlmetrics.
        unread: the columns that cannot be read, and the reasons.
        levels: the values of ordered categories in their order, by column.
        texts: an example of the texts in columns of numbers of CSV files, by column.
        like_values: the columns of CSV files whose names look like values of a first row.
    """

    sql: str
    types: Mapping[str, str]
    label: str
    row_number: str | None = None
    ordered: str | None = None
    parts: Sequence[tuple[str, Mapping[str, str]]] = ()
    files: Sequence[str] = ()
    format: str = ""
    watched: Sequence[str] = ()
    is_held: bool = True
    only_named: bool = False
    folders: Folders | None = None
    warnings: Sequence[str] = ()
    by_name: bool = False
    quotes: str = ""
    layout: Layout | None = None
    csv_types: Mapping[str, str] = field(default_factory=dict)
    has_own_names: bool = True
    unread: Mapping[str, Unread] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    like_values: Sequence[str] = ()

    @property
    def of_folders(self) -> set[str]:
        """Return the columns that only folder names have."""
        return {column.name for column in self.folders.columns} if self.folders else set()

    def with_types(self, changed: Mapping[str, str]) -> Relation:
        """Return the relation with other types of columns; the caller changes how it is read."""
        parts = [(part, {**types, **changed}) for part, types in self.parts]
        return replace(self, types={**self.types, **changed}, parts=parts)

    def json(self, changed: Mapping[str, str]) -> str:
        """Return the SQL that reads JSON files with other types for some columns."""
        types = {**self.types, **changed}
        own = {name: held for name, held in types.items() if name not in self.of_folders}
        return macro("source_json")(list(self.files), self.folders, own)

    def csv(self, *, in_order: bool = False, types: Mapping[str, str] | None = None) -> str:
        """Return the SQL that reads CSV files, with `csv_types` and `types`."""
        return macro("source_csv")(
            list(self.files),
            self.folders,
            in_order,
            {**self.csv_types, **(types or {})},
            self.by_name,
            self.quotes,
            self.layout,
        )


@dataclass(frozen=True)
class TableName:
    """A table of a warehouse that a printed statement reads; sqlmetrics does not read its rows.

    Args:
        name: the name of the table (`analytics.recs`), quoted as in the dialect, or a dbt reference
            (`{{ ref('recs') }}`).
        like: a source with the same columns, such as an export of the table, which provides their
            names and types. Without it, the table has the required columns, `rank` (unless `score`
            is mapped), and the other columns that `columns` maps.
    """

    name: str
    like: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise UsageError(f"the name of a table must be text, not {self.name!r}")


def check_type(table: str, column: str, label: str, before: str, now: str | None) -> None:
    """Check that a column still has the type that queries were planned for.

    Raises:
        DataError: the column is missing (`now` is None) or has another type.
    """
    if now != before:
        change = "is gone" if now is None else f"now has the type {now}"
        raise DataError(
            f"{table}: column {column} of {label} {change}. It had the type {before} when the "
            "Evaluator was created",
            table=table,
            column=column,
            remedy="create a new Evaluator to read the current table",
        )
