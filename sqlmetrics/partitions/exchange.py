"""Write the rows of partitions to Parquet files, and plan the result from these files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlmetrics.engines.base import HUGE_INTEGERS, EmbeddedEngine
from sqlmetrics.partitions.split import Piece, Split, for_parquet, reader
from sqlmetrics.sql.query_graph import Node, Plan, new_name

# types that Parquet files preserve
_SAME_IN_PARQUET = re.compile(
    r"(BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|BLOB|"
    r"DATE|TIME|TIMESTAMP|TIMESTAMP WITH TIME ZONE|TIMESTAMP_NS|UUID)(\[\])*\Z"
)


@dataclass(frozen=True)
class Written:
    """A named piece with the columns of its Parquet files; `files` is their list in SQL."""

    name: str
    piece: Piece
    columns: Sequence[Mapping[str, Any]]
    files: str


def named(pieces: Iterable[Piece]) -> dict[str, Piece]:
    """Assign a name to every piece that is valid as a folder name."""
    by_name: dict[str, Piece] = {}
    for piece in pieces:
        by_name[new_name(re.sub(r"\W+", "_", piece.node.name.lower()), by_name)] = piece
    return by_name


def columns_of(engine: EmbeddedEngine, piece: Piece, node: Node) -> list[dict[str, Any]]:
    """Return for each column of a piece its merge aggregate and its type before the Parquet file.

    `node` is the query of the piece for one partition.
    """
    kept = engine.kept()
    relation = kept.get(node.key) or f"({Plan(node).statement(kept, pretty=False)})"
    types = engine.describe(relation, node.name)
    columns = []
    for name, type_name in types.items():
        merge = None if piece.merge is None else piece.merge[name]
        differs = merge == "sum" or not _SAME_IN_PARQUET.match(type_name)
        columns.append(
            {
                "name": name,
                "merge": merge,
                "type": type_name if differs else None,
                "is_huge": type_name in HUGE_INTEGERS,
            }
        )
    return columns


def write_rows(
    engine: EmbeddedEngine, node: Node, columns: Sequence[Mapping[str, Any]], path: Path
) -> None:
    """Write the rows that one partition computes for a piece."""
    engine.write_rows(Plan(for_parquet(node, columns)), path)


def reduction(split: Split, root: Node, written: Iterable[Written]) -> Plan:
    """Plan the result from the Parquet files of all partitions."""
    readers = {
        output.piece.node.key: reader(
            output.piece, output.name, output.files, output.columns, _title(output.piece.node)
        )
        for output in written
    }
    return split.reduction(root, readers)


def _title(node: Node) -> str:
    """Return the description of a row of a piece."""
    if node.stage is not None:
        return node.stage.title
    text = node.sql({key: parent.name for key, parent in node.parents.items()}, pretty=True)
    match = re.match(r"\s*(?:--|/\*)\s*(one row per [^\n]*?)[ ,;:]*(?:\*/|\n)", text)
    return match[1] if match and not node.has_ctes else f"rows of {node.name}"
