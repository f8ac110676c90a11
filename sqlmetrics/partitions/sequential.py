"""Compute a run for one partition of the users after another, in this process.

The pieces of every partition are written to files, so that memory holds one partition at a time.
The result is planned from these files. It equals the result of the whole run, up to the last digits
of sums.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlmetrics.engines.base import EmbeddedEngine
from sqlmetrics.errors import DataError, UnreadableError
from sqlmetrics.partitions.bounds import Bounds
from sqlmetrics.partitions.exchange import Written, columns_of, named, reduction, write_rows
from sqlmetrics.partitions.sizing import Division, ranges, row_groups
from sqlmetrics.partitions.split import (
    Partition,
    Piece,
    Split,
    for_parquet,
    reader,
)
from sqlmetrics.sql.query_graph import Node, Plan, Query
from sqlmetrics.sql.quoting import path_literal

_GROUPS = 8  # row groups of a sorted table per partition
_LEAST, _MOST = 2_048, 122_880  # rows per row group: minimum and default of the engine


def tables_needed_whole(split: Split, root: Node) -> list[str]:
    """Return the tables of users that a result needs completely."""
    return [piece.node.name for piece in _pieces(split, root) if piece.node.is_input]


def _pieces(split: Split, root: Node) -> list[Piece]:
    """Find the queries below a result whose rows differ between partitions.

    The result itself is excluded, because its rows have an order, which is lost in files of
    partitions.
    """
    return [piece for piece in split.pieces(root, below=True) if not piece.once]


def in_turn(
    engine: EmbeddedEngine,
    split: Split,
    root: Node,
    division: Division,
    folder: Path,
    check: Callable[[Partition], None],
) -> Plan:
    """Compute the pieces for each partition, and plan the result from their rows.

    Args:
        engine: the engine that runs all queries.
        split: splits the plan.
        root: the result.
        division: the number of partitions, or the ranges of their users.
        folder: an empty folder, which must exist until the result is computed.
        check: function that checks the rows of a partition before they are used.

    Raises:
        DataError: a table that has to be sorted cannot be read.
    """
    pieces = named(piece for piece in _pieces(split, root) if not piece.node.is_input)
    columns = {}
    # compute queries of whole tables only once
    shared = {*engine.kept(), *(node.key for node in Plan(root).nodes())}
    for name in pieces:
        (folder / name).mkdir()
    partitions = _partitions(engine, split, root, division, folder)
    for partition in partitions:
        with engine.part(f"partition {partition}"):
            check(partition)
            for name, piece in pieces.items():
                node = split.piece_of(piece.node, partition)
                if name not in columns:
                    columns[name] = columns_of(engine, piece, node)
                path = folder / name / f"{partition.stem}.parquet"
                write_rows(engine, node, columns[name], path)
            engine.forget(set(engine.kept()) - shared)
            split.forget(partition)
    written = [
        Written(
            name,
            piece,
            columns[name],
            path_literal(
                [str(folder / name / f"{partition.stem}.parquet") for partition in partitions]
            ),
        )
        for name, piece in pieces.items()
    ]
    return reduction(split, root, written)


def _partitions(
    engine: EmbeddedEngine, split: Split, root: Node, division: Division, folder: Path
) -> list[Partition]:
    """Assign the users to partitions; sort unsorted tables first."""
    bounds = division.bounds
    for number, node in enumerate(Plan(root).nodes()):
        if isinstance(node, Query) and node.is_input and node.table in division.to_sort:
            file = folder / f"sorted_{number}.parquet"
            _sort(engine, split, node, division, file)
            if node.table == "recommendations":
                bounds = _bounds(engine, split, node, division, file)
    if not bounds:
        return [Partition(number, division.count) for number in range(1, division.count + 1)]
    return [
        Partition(number, len(bounds), its_bounds)
        for number, its_bounds in enumerate(bounds, start=1)
    ]


def _sort(
    engine: EmbeddedEngine, split: Split, node: Query, division: Division, file: Path
) -> None:
    """Write the rows of a table sorted by user, for the partitions to read."""
    piece = Piece(node, node.columns)
    columns = columns_of(engine, piece, node)
    # several row groups per partition, of at most the default size
    rows = min(max(division.rows // (_GROUPS * division.count), _LEAST), _MOST)
    written = for_parquet(node, columns, sorted_by=split.user_keys[0])
    try:
        engine.write_rows(Plan(written), file, rows_per_group=rows)
    except UnreadableError as error:
        raise DataError(f"{node.table}: the table cannot be read: {error.reason}") from error
    title = f"one row per row of {node.table}, sorted by user"
    split.sorted[node.key] = reader(piece, node.name, path_literal([str(file)]), columns, title)


def _bounds(
    engine: EmbeddedEngine, split: Split, node: Query, division: Division, file: Path
) -> list[Bounds]:
    key = split.user_keys[0]
    groups = row_groups(engine, [str(file)], key, split.types[key], "item_id", node.table)
    # rows without a user are at the end, in row groups without bounds
    return ranges([group for group in groups if group.low is not None], division.count)
