"""The order of the values of categorical columns, which results keep in slices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlmetrics.tables.schema import Source

Levels: TypeAlias = tuple[str, ...]
"""The values of an ordered categorical column, in their order."""


def ordered_columns(table: pa.Table) -> dict[str, Levels]:
    """Return the levels of the ordered text dictionaries of an Arrow table, by column.

    These are ordered categories of pandas and Enum columns of Polars.
    """
    import pyarrow as pa

    found = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = field.type
        if not pa.types.is_dictionary(kind) or not kind.ordered:
            continue
        if not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
            continue
        if column.num_chunks:
            found[field.name] = tuple(column.unify_dictionaries().chunk(0).dictionary.to_pylist())
    return found


def ordered_enums(table: pa.Table) -> pa.Table:
    """Mark the dictionaries of a table as ordered: DuckDB does not mark its ENUM columns."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            kind = pa.dictionary(field.type.index_type, field.type.value_type, ordered=True)
            chunks = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary, ordered=True)
                for chunk in table.column(place).chunks
            ]
            table = table.set_column(place, field.with_type(kind), pa.chunked_array(chunks, kind))
    return table


_ENUM = re.compile(r"ENUM\((.*)\)(\[\d*\])?", re.DOTALL)


def levels_of(sources: Sequence[Source], name: str) -> Levels:
    """Return the levels of a column that are equal in all sources, or nothing."""
    found = {_in_source(source, name) for source in sources}
    return found.pop() if len(found) == 1 else ()


def _in_source(source: Source, name: str) -> Levels:
    column = source.find(name)
    if column is None:
        return ()
    if enum := _ENUM.fullmatch(column.type):
        return tuple(text.replace("''", "'") for text in re.findall(r"'((?:[^']|'')*)'", enum[1]))
    return source.levels.get(column.source, ())
