"""Decide whether a run fits into memory as a whole or needs partitions of the users.

The memory of a run is estimated from the numbers of rows of its tables. If it exceeds the engine's
limit, the users are split by ranges of the key. If the rows are sorted by user, as in most exports,
every partition reads its own row groups, so that all partitions together read the file once.
Unsorted tables would be scanned for every partition, which costs more than sorting them once into a
temporary file. Keys with unknown order are split by a hash.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlmetrics.engines.base import EmbeddedEngine
from sqlmetrics.errors import UsageError
from sqlmetrics.partitions.bounds import MOST, Bounds
from sqlmetrics.sql.templates import environment
from sqlmetrics.tables.schema import Source, Table, type_family

# bytes of a value in memory; text includes the data behind its pointer
_WIDTH = 8
_TEXT_WIDTH = 32
_COPIES = 2  # of the rows of a table: as read, and sorted or hashed
# measured bytes per user or list of a table, for counts, aggregates and hits
_OF_USER = 300
# share of the default limit of the engine, which is four fifths of the machine
_OF_DEFAULT = 2 / 5
_OF_WHOLE = 1 / 2  # maximum share of the limit for a run that is computed as a whole
_OF_PARTITION = 1 / 4  # maximum share for a partition; smaller, since more partitions cost little
_SMALL = 1 << 24  # maximum bytes of files and tables in memory that are not examined
_BYTES_OF_TEXT = 6  # bytes of a value in a CSV file, including its comma
# maximum share of rows in row groups that span a boundary between two ranges: half of the rows of
# an unsorted file, one row group of a sorted file; and maximum share of rows read again in total
_ACROSS = 0.35
_REREAD = 2


@dataclass(frozen=True)
class Division:
    """The partitions of a run, and the sizes that decided their number.

    Without `bounds` and `to_sort`, users are split by a hash.

    Attributes:
        rows: the number of rows of all tables with users.
        needed: the estimated memory for these rows, in bytes.
        limit: the memory for the run, in bytes.
        is_default: whether the user chose no limit.
        count: the number of partitions; 1 for a run computed as a whole.
        bounds: the ranges of users of the partitions, if known.
        to_sort: tables to sort by user, after which the ranges are known.
        whole: tables that the run needs completely in any case.
    """

    rows: int = 0
    needed: int = 0
    limit: int = 0
    is_default: bool = False
    count: int = 1
    bounds: Sequence[Bounds] = ()
    to_sort: Sequence[str] = ()
    whole: Sequence[str] = ()

    @property
    def is_whole(self) -> bool:
        """Return whether the run is computed as a whole."""
        return self.count == 1

    def __str__(self) -> str:
        how = "ranges" if self.bounds or self.to_sort else "a hash"
        # the boundaries of row groups are known only after sorting
        count = f"up to {self.count}" if self.to_sort else str(self.count)
        limit = "the default limit is" if self.is_default else "the limit is"
        text = (
            f"{self.rows:,} rows need about {_size(self.needed)} of memory, {limit} "
            f"{_size(self.limit)}: computed in {count} partitions of the users, by {how} of "
            "the key"
        )
        if self.to_sort:
            text += f", after sorting {_listed(self.to_sort)}"
        if self.whole:
            text += f"; all users of {_listed(self.whole)} are needed at once"
        return text


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.1f} MB"


@dataclass(frozen=True)
class RowGroup:
    """Rows of a Parquet file, and the range of their user keys."""

    rows: int
    low: Any
    high: Any


def divide(
    engine: EmbeddedEngine,
    tables: Mapping[str, Table],
    user_keys: Sequence[str],
    asked: int | None = None,
) -> Division:
    """Decide how to compute a run over these tables.

    Args:
        engine: the engine, whose memory limit applies.
        tables: the tables that the run reads, by name.
        user_keys: the columns that identify a user.
        asked: the number of partitions requested by the user, or None; 1 means no split.

    Raises:
        DataError: a table cannot be read.
    """
    engine.check_files()
    of_users = [table for table in tables.values() if {*user_keys} <= table.columns.keys()]
    sources = [source for table in of_users for source in table.sources]
    if (
        asked == 1
        or "recommendations" not in tables
        or any(source.only_named for source in sources)
    ):
        return Division()
    if asked is None and _are_small(engine, sources):
        return Division()
    groups = {
        table.name: [
            group
            for source in table.sources
            for group in _groups_of(engine, table, source, user_keys[0])
        ]
        for table in of_users
    }
    rows = {name: sum(group.rows for group in its) for name, its in groups.items()}
    needed = {
        table.name: _COPIES * rows[table.name] * _width(table, user_keys) for table in of_users
    }
    limit, is_default = engine.memory_limit(), engine.has_default_limit
    if is_default:
        limit = int(_OF_DEFAULT * limit)
    whole = Division(sum(rows.values()), sum(needed.values()), limit, is_default)
    # count users, which takes a scan, only if assuming one user per row would exceed the limit
    if asked is None and whole.needed + _OF_USER * whole.rows > _OF_WHOLE * limit:
        users = sum(
            _users_of(engine, table, source, user_keys)
            for table in of_users
            for source in table.sources
        )
        whole = replace(whole, needed=whole.needed + _OF_USER * users)
    if asked is None and whole.needed <= _OF_WHOLE * limit:
        return whole
    room = _OF_PARTITION * limit
    count = asked or min(-int(-whole.needed // room), MOST)
    if not all(_has_order(engine, source, user_keys[0]) for source in sources):
        return replace(whole, count=count)
    bounds = ranges(groups["recommendations"], count)
    to_sort = [] if bounds else ["recommendations"]
    to_sort += [
        name
        for name, its in groups.items()
        # small tables are scanned for every partition
        if name != "recommendations" and needed[name] > room and not ranges(its, count)
    ]
    return replace(whole, count=len(bounds) or count, bounds=bounds, to_sort=to_sort)


def checked_count(asked: int | None) -> int | None:
    """Validate a number of partitions and return it; None is valid.

    Raises:
        UsageError: the number is invalid.
    """
    if asked is not None and not (type(asked) is int and 1 <= asked <= MOST):
        raise UsageError(f"partitions must be an integer from 1 to {MOST}, not {asked!r}")
    return asked


def ranges(groups: Sequence[RowGroup], count: int) -> list[Bounds]:
    """Split users into at most `count` ranges of similar size; return none for unsorted rows."""
    if not groups or any(group.low is None or group.high is None for group in groups):
        return []
    ordered = sorted(groups, key=lambda group: group.low)
    rows = sum(group.rows for group in ordered)
    before = list(itertools.accumulate((group.rows for group in ordered), initial=0))
    starts = (bisect.bisect_left(before, number * rows / count) for number in range(1, count))
    cuts = sorted({ordered[start].low for start in starts if start < len(ordered)})
    cuts = [cut for cut in cuts if cut > ordered[0].low]
    # a row group is read again for every boundary that it spans
    reread = sum(
        group.rows * (bisect.bisect_right(cuts, group.high) - bisect.bisect_right(cuts, group.low))
        for group in ordered
    )
    if not cuts or reread > min(_ACROSS * len(cuts), _REREAD) * rows:
        return []
    return [Bounds(low, high) for low, high in itertools.pairwise([None, *cuts, None])]


# ---- what the tables hold -----------------------------------------------------------------------


def row_groups(
    engine: EmbeddedEngine, files: Sequence[str], key: str, key_type: str, item: str, label: str
) -> list[RowGroup]:
    """List the row groups of Parquet files.

    Args:
        engine: the engine that reads the files.
        files: the paths of the files.
        key: the column of the key, with the type `key_type`: text or an integer type.
        item: the column of items; a list of items counts as several rows.
        label: the name of the files in messages.

    Raises:
        DataError: a file cannot be read.
    """
    statement = _rendered("row_groups", table=label, files=files, key=key, item=item)
    read = int if type_family(key_type) == "integer" else str
    return [
        RowGroup(row["n_rows"] or 0, *(_read(read, row[end]) for end in ("low", "high")))
        for row in engine.query(statement, label)
    ]


def _read(read: type[int] | type[str], text: str | None) -> int | str | None:
    return None if text is None else read(text)


def _groups_of(engine: EmbeddedEngine, table: Table, source: Source, key: str) -> list[RowGroup]:
    """Count the rows of a source: per row group of Parquet files, in total for other sources."""
    key_column, item = source.find(key), source.find("item_id")
    assert key_column is not None
    if source.format == "parquet":
        counted = (item or key_column).source
        return row_groups(
            engine, source.files, key_column.source, key_column.type, counted, source.label
        )
    if source.files:
        size = sum(Path(file).stat().st_size for file in source.files if "://" not in file)
        return [RowGroup(size // (_BYTES_OF_TEXT * len(source.types)), None, None)]
    column = item.source if item is not None and item.is_list else None
    statement = _rendered(
        "row_count", table=table.name, relation=source.relation, list_column=column
    )
    return [RowGroup(engine.query(statement, source.label)[0]["n_rows"] or 0, None, None)]


def _users_of(
    engine: EmbeddedEngine, table: Table, source: Source, user_keys: Sequence[str]
) -> int:
    """Estimate the number of users of a source, or of its lists; 0 if unknown."""
    if any("://" in file for file in source.files):
        return 0
    columns = [
        column.source
        for name in (*user_keys, "model", "run")
        if (column := source.find(name)) and column.source
    ]
    statement = _rendered("user_count", table=table.name, relation=source.relation, columns=columns)
    return int(engine.query(statement, source.label)[0]["n_users"])


def _rendered(template: str, **context: Any) -> str:
    return environment().get_template(f"inputs/{template}.sql.j2").render(context)


def _are_small(engine: EmbeddedEngine, sources: Iterable[Source]) -> bool:
    """Return whether all sources are small files or small tables in memory.

    Under a limit that the user chose, tables in memory are examined, however small they are.
    """
    size = 0
    for source in sources:
        if any("://" in file for file in source.files):
            return False
        in_memory = engine.bytes_in_memory(source.relation) if engine.has_default_limit else None
        if not source.files and in_memory is None:
            return False
        size += (in_memory or 0) + sum(Path(file).stat().st_size for file in source.files)
    return size < _SMALL


def _width(table: Table, user_keys: Collection[str]) -> int:
    """Return the bytes of a row: key, item, and a score, rank or relevance."""
    types = [table.columns[name] for name in (*user_keys, "item_id") if name in table.columns]
    return _WIDTH + sum(
        _TEXT_WIDTH if type_family(type_name) == "text" else _WIDTH for type_name in types
    )


def _has_order(engine: EmbeddedEngine, source: Source, key: str) -> bool:
    """Return whether a file sorts the type of the key in the same order as the engine.

    The order of text is known only in a connection created by sqlmetrics; other connections may
    have a collation.
    """
    column = source.find(key)
    assert column is not None
    return type_family(column.type) == "integer" or (column.type == "VARCHAR" and engine.owned)
