"""Turn frames, Arrow objects, dicts and collections of ids into tables of an engine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlmetrics.engines import duckdb_errors, lakes
from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import Relation, Unread
from sqlmetrics.engines.spark_errors import reason
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.tables.levels import ordered_columns, ordered_enums
from sqlmetrics.texts.messages import RANKED
from sqlmetrics.texts.wording import listed


def register(
    engine: Engine, table: str, label: str, data: Any, unread: Mapping[str, Unread] | None = None
) -> Relation:
    """Give an Arrow table or dataset to the engine; rows of ranked lists get numbers.

    `unread` are the columns that `data` lacks because Arrow has no type for them, and the reasons.

    Raises:
        DataError: two columns have the same name, or the engine cannot read a column of a dataset.
    """
    import numpy as np
    import pyarrow as pa

    row_number = None
    unread = dict(unread or {})
    if isinstance(data, pa.Table):
        data = _with_known_types(data, unread)
        names = [name.lower() for name in data.column_names]
        twice = [name for name in data.column_names if names.count(name.lower()) > 1]
        if twice:
            raise DataError(
                f"{label}: several columns have the same name: {listed(twice)}; rename one"
            )
        if table in RANKED:
            row_number = "sqlmetrics_row"
            while row_number in names:
                row_number += "_"
            numbers = np.arange(data.num_rows, dtype=np.int64)
            data = data.append_column(row_number, pa.array(numbers))
    else:
        for field in data.schema:
            if _known_type(field.type) != field.type:
                raise DataError(
                    f"{label}: the column {field.name} of the dataset has the type {field.type}, "
                    "which the engine cannot read",
                    table=table,
                    column=field.name,
                    remedy="give the files of the dataset, or dataset.to_table()",
                )
    if isinstance(data, pa.Table) and not data.column_names:
        raise DataError(
            f"{label}: the table given as {label} has no columns", remedy="give a table with rows"
        )
    name = engine.bind(f"sqlmetrics_{re.sub(r'[^a-z0-9]+', '_', label.lower())}", data)
    types = engine.describe(name, label)
    types.pop(str(row_number), None)
    watched = _files_behind(data)
    return Relation(
        name,
        types,
        f"the table given as {label}",
        row_number,
        watched=watched,
        is_held=isinstance(data, pa.Table) or bool(watched),
        levels=ordered_columns(data) if isinstance(data, pa.Table) else {},
        unread=unread,
    )


def _with_known_types(table: Any, unread: dict[str, Unread]) -> Any:
    """Convert columns of types that engines do not know; columns that cannot be are omitted.

    An omitted column is added to `unread`, with the reason, and is an error only if it is needed.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        known = _known_type(field.type)
        if known == field.type:
            continue
        try:
            columns[field.name] = column.cast(known)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            unread[field.name] = Unread(str(error))
    for name in unread.keys() & set(table.column_names):
        table = table.drop_columns([name])
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _known_type(kind: Any) -> Any:
    """Return the type that engines know for an Arrow type: single precision for half precision.

    Decimals of 256 bits become decimals of 128 bits with the same scale.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_float16(kind):
        return pa.float32()
    if types.is_decimal256(kind):
        return pa.decimal128(38, kind.scale)
    if types.is_dictionary(kind):
        inner = _known_type(kind.value_type)
        return kind if inner == kind.value_type else inner
    if types.is_struct(kind):
        return pa.struct([field.with_type(_known_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_known_type(kind.key_type), _known_type(kind.item_type))
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_known_type(kind.value_type)), kind.list_size)
    for is_list, list_of in ((types.is_list, pa.list_), (types.is_large_list, pa.large_list)):
        if is_list(kind):
            return list_of(kind.value_field.with_type(_known_type(kind.value_type)))
    return kind


def ids_of(source: Any) -> list[Any] | None:
    """Read a bare collection of ids: a set, list, array or series; None for other objects."""
    if isinstance(source, set | frozenset):
        return sorted(source, key=repr)
    if isinstance(source, list | tuple):  # not of texts, which would be files
        return list(source)
    if not hasattr(source, "columns"):  # an array or a series
        for method in ("to_pylist", "tolist", "to_list"):  # Arrow, NumPy and pandas, Polars
            if hasattr(source, method):
                return list(getattr(source, method)())
    return None


def from_aspects(label: str, source: Mapping[Any, Any]) -> Any:
    """Turn `{user: [{items of one aspect}, {items of another}]}` into a long Arrow table."""
    rows = []
    for user, groups in source.items():
        if isinstance(groups, str | bytes | Mapping) or not hasattr(groups, "__iter__"):
            raise DataError(
                f"{label}: user {user!r} has {groups!r}, not a list of sets of items, one set per "
                "aspect"
            )
        for number, items in enumerate(groups, start=1):
            if isinstance(items, str | bytes | Mapping) or not hasattr(items, "__iter__"):
                raise DataError(
                    f"{label}: aspect {number} of user {user!r} is {items!r}, not a set of items"
                )
            rows += [(user, item, number) for item in items]
    if not rows:
        raise DataError(f"{label}: the dict is empty; give at least one item")
    names = ("user_id", "item_id", "aspect")
    return from_columns(label, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def from_dict(table: str, label: str, source: Mapping[Any, Any]) -> Any:
    """Turn `{user: [items]}` or `{user: {item: number}}` into a long Arrow table."""
    if not source:
        raise DataError(f"{label}: the dict is empty")
    ranked = table in RANKED
    scored = isinstance(next(iter(source.values())), Mapping)
    columns: dict[str, list[Any]] = {"user_id": [], "item_id": []}
    numbers: list[Any] = []
    for user, value in source.items():
        if isinstance(value, Mapping) != scored:
            raise DataError(
                f"{label}: user {user!r} has a {type(value).__name__}, but earlier users have a "
                f"{'dict' if scored else 'list'}; use one type for all users"
            )
        if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
            raise DataError(f"{label}: user {user!r} has {value!r}, not a list of items")
        if ranked and isinstance(value, set | frozenset):
            raise DataError(
                f"{label}: user {user!r} has a set of items, which has no order; give a list"
            )
        items = list(value)
        if items and not scored and isinstance(items[0], tuple | list):
            raise DataError(
                f"{label}: user {user!r} has pairs such as {items[0]!r}; give a dict "
                "{item: score} for each user, or a list of items in ranked order"
            )
        columns["user_id"] += [user] * len(items)
        columns["item_id"] += items
        numbers += [value[item] for item in items] if scored else range(1, len(items) + 1)
    if not numbers:
        raise DataError(f"{label}: the dict is empty; give at least one item of a user")
    if scored:
        columns["score" if ranked else "relevance"] = numbers
    elif ranked:
        columns["rank"] = numbers
    return from_columns(label, columns)


def from_columns(label: str, columns: Mapping[str, Sequence[Any]]) -> Any:
    """Create an Arrow table from Python values."""
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        plain = [value.item() if hasattr(value, "item") else value for value in values]
        try:
            arrays[name] = pa.array(plain)
        except OverflowError as error:
            raise DataError(
                f"{label}, column {name}: a number does not fit into 64 bits; convert such ids to "
                "text"
            ) from error
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            kinds = {type(value): value for value in reversed(plain)}
            shown = ", ".join(f"{value!r} is {kind.__name__}" for kind, value in kinds.items())
            raise DataError(
                f"{label}, column {name}: values of different types: {shown}; convert them to one "
                "type"
            ) from error
    return pa.table(arrays)


def to_arrow(label: str, source: Any, unread: dict[str, Unread]) -> Any:
    """Turn a frame, an Arrow object or a DuckDB relation into an Arrow table or dataset.

    Columns that cannot be converted are omitted and added to `unread`, with the reason. A table
    is a snapshot: later changes of the source do not affect it. Readers are read to the end,
    because they cannot be read twice.
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return _copied(source)
    if isinstance(source, pa.RecordBatch):
        return _copied(pa.Table.from_batches([source]))
    if isinstance(source, pa.RecordBatchReader):
        return _copied(read_once(label, source))
    kind = type(source)
    module = kind.__module__.partition(".")[0]
    if module == "narwhals" and hasattr(source, "to_native"):
        return to_arrow(label, source.to_native(), unread)
    if module == "pyarrow" and kind.__name__ == "InMemoryDataset":
        return _copied(source.to_table())
    if module == "pyarrow" and hasattr(source, "scanner"):
        for is_parquet, files in _datasets_of_files(source):
            lakes.check_paths(label, files if is_parquet else [])
        return source
    if module == "pandas" and kind.__name__ == "Series":
        return _copied(_from_pandas(_frame_of_lists(label, source), unread))
    if module == "pandas" and kind.__name__ == "DataFrame":
        return _copied(_from_pandas(source, unread))
    if module == "polars" and kind.__name__ in ("DataFrame", "LazyFrame"):
        frame = source.collect() if hasattr(source, "collect") else source
        return _copied(_from_polars(frame, unread))
    if hasattr(source, "to_arrow_table"):  # a DuckDB relation, computed now
        return ordered_enums(_of_duckdb(label, source))
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "to_frame"):
        try:
            return _copied(pa.table(source))
        except Exception as error:  # of the library of the object, which may compute its rows now
            raise DataError(
                f"{label}: a value of the type {name} cannot be converted to Arrow: "
                f"{reason(error)}",
                remedy="compute in Spark with engine=frame.sparkSession, where frame is this value"
                if module == "pyspark"
                else "convert it to an Arrow table or a pandas frame",
            ) from error
    if name == "numpy.ndarray":
        raise UsageError(
            f"{label}: an array (numpy.ndarray) does not say whose lists these are",
            remedy="make a table with sqlmetrics.from_arrays(users, items, scores) from the arrays "
            "that recommend of a model returns, or with from_arrays(users, scores=matrix, k=10) "
            "from a matrix with a score for every item",
        )
    raise UsageError(
        f"{label}: cannot read a value of the type {name}; give a path, a frame, an Arrow table, a "
        "DuckDB relation or a dict of lists"
    )


def read_once(label: str, reader: Any) -> Any:
    """Read the rows of an Arrow reader.

    Raises:
        DataError: there are none.
    """
    table = reader.read_all()
    if not table.num_rows:
        raise DataError(
            f"{label}: the reader has no rows; it may have been read before, and can be read once",
            remedy="read it into a table, reader.read_all(), and give the table each time",
        )
    return table


def _of_duckdb(label: str, relation: Any) -> Any:
    """Compute a DuckDB relation."""
    import duckdb

    try:
        return relation.to_arrow_table()
    except duckdb.Error as error:
        is_closed = isinstance(error, duckdb.ConnectionException)
        raise DataError(
            f"{label}: the DuckDB relation cannot be read: {duckdb_errors.reason(error)}",
            remedy="keep its connection open until the evaluator was created" if is_closed else "",
        ) from error


def _copied(table: Any) -> Any:
    """Copy the columns whose memory may be shared with a NumPy array, which can be changed later.

    Numbers and times of frames, and Arrow arrays made from NumPy arrays, share memory; texts do
    not.
    """
    import pyarrow as pa

    texts = (pa.string(), pa.large_string())

    def copied(column: pa.ChunkedArray) -> pa.ChunkedArray:
        if column.type in texts:
            return column
        # concat_arrays returns a single array without copying it
        chunks = [pa.concat_arrays([chunk, chunk.slice(0, 0)]) for chunk in column.chunks]
        return pa.chunked_array(chunks, type=column.type)

    columns = [copied(column) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _datasets_of_files(data: Any) -> Iterator[tuple[bool, list[str]]]:
    """Yield whether a dataset has Parquet files and its local files, for each of a union.

    There are no local files in file systems of their own, such as that of
    `DeltaTable.to_pyarrow_dataset()`, which lists only current files.
    """
    import pyarrow.dataset as ds
    from pyarrow import fs

    if isinstance(data, ds.UnionDataset):
        for child in data.children:
            yield from _datasets_of_files(child)
        return
    system, folder = getattr(data, "filesystem", None), ""
    while isinstance(system, fs.SubTreeFileSystem):
        system, folder = system.base_fs, f"{system.base_path.rstrip('/')}/{folder}"
    is_local = isinstance(system, fs.LocalFileSystem)
    files = [os.path.abspath(folder + file) for file in data.files] if is_local else []
    yield is_local and isinstance(data.format, ds.ParquetFileFormat), files


def _files_behind(data: Any) -> list[str]:
    """Return the local files of an Arrow dataset, or an empty list for other data.

    The list is also empty if some files are remote, because then not all files can be watched.
    """
    files = [files for _, files in _datasets_of_files(data)]
    return [file for of_one in files for file in of_one] if all(files) else []


def _frame_of_lists(label: str, series: Any) -> Any:
    """Turn a pandas Series with a list of items per user into a frame with a row per user.

    The names of the index are those of the user keys, by default `user_id`; the name of the series
    is that of the items, by default `item_id`.
    """
    if not len(series) or not all(
        isinstance(items, list | tuple) or type(items).__module__ == "numpy" for items in series
    ):
        raise UsageError(
            f"{label}: cannot read a pandas.Series without lists; give a Series with a list of "
            "items per user, such as frame.groupby('user_id')['item_id'].apply(list)"
        )
    if series.index.nlevels == 1 and series.index.name is None:
        series = series.rename_axis("user_id")
    return series.rename(series.name or "item_id").reset_index()


def _from_pandas(frame: Any, unread: dict[str, Unread]) -> Any:
    """Convert a pandas frame column by column; omit columns that cannot be converted.

    An omitted column is added to `unread`, and is an error only if it is needed.
    """
    import pyarrow as pa

    if any(frame.index.names):
        levels = [n for n in frame.index.names if n is not None and n not in frame.columns]
        frame = frame.reset_index(level=levels) if levels else frame
    arrays: list[Any] = []
    names: list[str] = []
    for position, name in enumerate(frame.columns):
        try:
            arrays.append(pa.array(_without_intervals(frame.iloc[:, position]), from_pandas=True))
            names.append(str(name))
        except (
            pa.ArrowInvalid,
            pa.ArrowTypeError,
            pa.ArrowNotImplementedError,
            OverflowError,  # an integer does not fit into 64 bits
        ) as error:
            is_sparse = str(frame.dtypes.iloc[position]).startswith("Sparse")
            dense = f"frame[{name!r}].sparse.to_dense() in pandas" if is_sparse else ""
            unread[str(name)] = Unread(
                "the column is sparse" if dense else str(error), dense, dense
            )
    chunks = [a if isinstance(a, pa.ChunkedArray) else pa.chunked_array([a]) for a in arrays]
    return pa.table(chunks, names=names)


def _from_polars(frame: Any, unread: dict[str, Unread]) -> Any:
    """Convert a Polars frame column by column; omit columns that Arrow has no type for.

    An omitted column is added to `unread`, and is an error only if it is needed.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name, kind in frame.schema.items():
        column = f"frame[{name!r}]"
        if str(kind) == "Object":  # the Arrow column has the addresses of the values in memory
            unread[name] = Unread(
                "Arrow has no type for Object of Polars",
                f"{column}.map_elements(str, return_dtype=polars.String) in Polars",
                f"{column}.map_elements(float, return_dtype=polars.Float64) in Polars",
            )
            continue
        try:
            columns[name] = frame.select(name).to_arrow().column(0)
        except pa.ArrowInvalid:  # 128-bit integers
            unread[name] = Unread(
                f"Arrow has no type for {kind} of Polars",
                f"{column}.cast(polars.Int64) in Polars, or polars.String for ids beyond 64 bits",
                f"{column}.cast(polars.Float64) in Polars",
            )
    return pa.table(columns)


def _without_intervals(series: Any) -> Any:
    """Return intervals, such as those of `pandas.cut`, as text: `(18, 25]`; other values as is."""
    categories = getattr(series.dtype, "categories", None)
    if not str((series if categories is None else categories).dtype).startswith("interval"):
        return series
    if categories is not None:
        return series.cat.rename_categories(categories.astype(str))
    return series.astype(str).where(series.notna(), None).astype(object)
