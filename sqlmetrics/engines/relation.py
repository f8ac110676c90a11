"""Relations: the FROM clause of a source, with its columns, types and files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.sql.templates import macro


@dataclass(frozen=True)
class FolderColumn:
    """A column that folders are called after, and the type of its values."""

    name: str
    type: str

    @property
    def pattern(self) -> str:
        """Return the regular expression whose first group is the value, in the path of a file."""
        return rf"(?:^|[/\\]){re.escape(self.name)}=([^/\\=]*)[/\\]"


@dataclass(frozen=True)
class Folders:
    """Columns whose values are the names of folders.

    `columns`: those that the files lack. `hidden`: names of columns that the files have, so that
    folders are not asked. `with_file`: read the path of the file as a column too.
    """

    columns: tuple[FolderColumn, ...] = ()
    hidden: tuple[str, ...] = ()
    with_file: bool = False

    @property
    def by_engine(self) -> bool:
        """Can the engine read the columns? It reads all of the folders or none."""
        return bool(self.columns) and not self.hidden

    @property
    def added(self) -> tuple[FolderColumn, ...]:
        """Return the columns that are taken from the paths of the files, where it cannot."""
        return self.columns if self.hidden else ()


@dataclass(frozen=True)
class Layout:
    """The separator of a CSV file, and the number of lines before its header."""

    separator: str
    n_above: int = 0


@dataclass(frozen=True)
class Relation:
    """The FROM clause of a source, and the type of every column.

    `row_number` is an expression that numbers the rows in their order in `ordered`, or None where
    the order of rows means nothing. `parts` are the types in each of several files. `files`: those
    that it reads, all of one `format`; `watched` are further local files that its rows come from.
    `is_held`: its rows stay as they are now, or a change is noticed. `only_named`: it is a name for
    a statement, nothing that can be read here; without `types`, its columns are not known.
    `folders`: the columns from names of folders, None where they name no column. `warnings`:
    warnings for the reader of a result. `by_name`: CSV files have their columns in different
    orders. `quotes`: the characters that enclose and escape their values, "" where the engine finds
    them by itself. `layout`: the other characters that say where a value is, None where it finds
    these, too.
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

    @property
    def of_folders(self) -> set[str]:
        """The columns that only the names of folders hold."""
        return {column.name for column in self.folders.columns} if self.folders else set()

    def with_types(self, changed: Mapping[str, str]) -> Relation:
        """Return it with other types of some columns; how it is read is for the caller to say."""
        parts = [(part, {**types, **changed}) for part, types in self.parts]
        return replace(self, types={**self.types, **changed}, parts=parts)

    def json(self, changed: Mapping[str, str]) -> str:
        """Spell how JSON files are read, with other types of some columns."""
        types = {**self.types, **changed}
        own = {name: held for name, held in types.items() if name not in self.of_folders}
        return str(macro("source_json")(list(self.files), self.folders, own))

    def csv(self, *, in_order: bool = False, text_columns: Sequence[str] = ()) -> str:
        """Spell how CSV files are read, with some columns as they stand."""
        return str(
            macro("source_csv")(
                list(self.files),
                self.folders,
                in_order,
                text_columns,
                self.by_name,
                self.quotes,
                self.layout,
            )
        )


@dataclass(frozen=True)
class TableName:
    """A table of a warehouse that a statement reads: nothing is read here.

    Args:
        name: what it is called there (`analytics.recs`), in the spelling of the dialect, or a
            reference that dbt fills in (`{{ ref('recs') }}`).
        like: a source with the same columns, such as an export of the table, that tells their names
            and types. Without it, the table has the required columns, `rank` (unless `score` is
            mapped), and the other columns that `columns` maps.
    """

    name: str
    like: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise UsageError(f"the name of a table is a text, not {self.name!r}")
