"""Turn files, frames, Arrow objects, dicts and tables into relations of an engine."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.engines import folders, lakes
from sqlmetrics.engines.relation import FolderColumn, Folders, Layout, Relation, TableName
from sqlmetrics.errors import DataError, UsageError, suggestion
from sqlmetrics.sql import transpile
from sqlmetrics.sql.templates import environment, macro
from sqlmetrics.tables import csv_layout
from sqlmetrics.tables.csv_layout import PACKED
from sqlmetrics.tables.levels import ordered_columns, ordered_enums
from sqlmetrics.wording import and_more

if TYPE_CHECKING:
    from sqlmetrics.engines.base import Engine

RANKED = ("recommendations", "baseline")  # tables of ranked lists

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
_QUOTE = '"'  # quote character of CSV files
# columns with row numbers; a column of a file with such a name hides that of the engine
_ROW_NUMBERS = {
    "parquet": ("file_index", "file_row_number", "sqlmetrics_row"),
    "csv": ("sqlmetrics_row",),
}
# an object or an array of objects, but not the name of a column, such as {x}
_JSON = re.compile(r"\s*(\{\s*[\"}]|\[\s*[\]{])")
_KNOWN_FORMATS = ".parquet, .csv, .tsv or .jsonl, a TREC run (6 columns) or qrels (4 columns)"


def read_source(engine: Engine, table: str, label: str, source: Any) -> Relation:
    """Turn one source of a table into a relation; `label` names it in messages.

    Raises:
        DataError: the source cannot be read.
        UsageError: the object is not a valid source.
    """
    if isinstance(source, TableName):
        types = {} if source.like is None else read_source(engine, table, label, source.like).types
        named = f"the table {source.name}"
        return Relation(transpile.table(source.name), types, named, only_named=True)
    own = engine.relation(table, label, source)
    if own is not None:
        return own
    if isinstance(source, str | Path):
        paths = _expand(engine, label, source)
        if paths is None:
            return _table_of_connection(engine, label, str(source))
        return _read_files(engine, table, label, paths)
    if isinstance(source, list | tuple) and source and _all_texts(source):
        files: list[str] = []
        for entry in source:
            paths = _expand(engine, label, entry)
            if paths is None:
                hint = "; to give ids, pass a set" if table == "items" else ""
                raise DataError(f"{label}: there is no file {entry}{hint}")
            files += paths
        return _read_files(engine, table, label, files)
    if isinstance(source, list | tuple) and not source:
        raise UsageError(f"{label}: the list of files is empty; give at least one file")
    ids = _ids(source) if table == "items" else None
    if ids == []:
        raise DataError(f"{label}: the table is empty; give at least one item")
    if ids is not None and any(isinstance(item, list | tuple | dict | set) for item in ids):
        raise DataError(
            f"{label}: {ids[0]!r} is a list, not an item id; give a flat collection of ids"
        )
    if ids is not None:
        data = _arrow_columns(label, {"item_id": ids})
    elif table == "aspects" and isinstance(source, Mapping):
        data = _arrow_from_aspects(label, source)
    elif isinstance(source, Mapping):
        data = _arrow_from_dict(table, label, source)
    else:
        unread: dict[str, str] = {}
        data = _to_arrow(label, source, unread)
        return replace(_register(engine, table, label, data), unread=unread)
    return replace(_register(engine, table, label, data), has_own_names=False)


def _all_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str | Path) for value in values)


def is_file(value: Any) -> bool:
    """Return whether a value is the path of an existing file."""
    try:
        return isinstance(value, str | Path) and Path(value).is_file()
    except (OSError, ValueError):
        return False


# ---- tables and frames --------------------------------------------------------------------------


def _table_of_connection(engine: Engine, label: str, name: str) -> Relation:
    full_name = engine.find_table(name)
    if full_name is None:
        folder = Path(name).parent
        try:
            nearby = [str(path) for path in folder.glob("*")] if folder.is_dir() else []
        except OSError:
            nearby = []
        hint = suggestion(name, nearby)
        elsewhere = "" if engine.owned else ", and the connection has no such table"
        raise DataError(f"{label}: there is no file {name}{elsewhere}{hint}")
    types = engine.describe(full_name, label)
    return Relation(full_name, types, f"the table {name}", is_held=False)


def _register(engine: Engine, table: str, label: str, data: Any) -> Relation:
    import pyarrow as pa

    row_number = None
    if isinstance(data, pa.Table):
        names = [name.lower() for name in data.column_names]
        twice = [name for name in data.column_names if names.count(name.lower()) > 1]
        if twice:
            raise DataError(
                f"{label}: several columns have the same name: {', '.join(twice)}; rename one"
            )
        if table in RANKED:
            row_number = "sqlmetrics_row"
            while row_number in names:
                row_number += "_"
            data = data.append_column(row_number, _numbers(data.num_rows))
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
    )


def _numbers(count: int) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.arange(count, dtype=np.int64))


def _ids(source: Any) -> list[Any] | None:
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


def _arrow_from_aspects(label: str, source: Mapping[Any, Any]) -> Any:
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
    return _arrow_columns(label, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def _arrow_from_dict(table: str, label: str, source: Mapping[Any, Any]) -> Any:
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
    return _arrow_columns(label, columns)


def _arrow_columns(label: str, columns: Mapping[str, Sequence[Any]]) -> Any:
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


def _to_arrow(label: str, source: Any, unread: dict[str, str]) -> Any:
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
        return _copied(source.read_all())
    kind = type(source)
    module = kind.__module__.partition(".")[0]
    if module == "narwhals" and hasattr(source, "to_native"):
        return _to_arrow(label, source.to_native(), unread)
    if module == "pyarrow" and kind.__name__ == "InMemoryDataset":
        return _copied(source.to_table())
    if module == "pyarrow" and hasattr(source, "scanner"):
        lakes.check_dataset(label, source)
        return source
    if module == "pandas" and kind.__name__ == "Series":
        return _copied(_from_pandas(_frame_of_lists(label, source), unread))
    if module == "pandas" and kind.__name__ == "DataFrame":
        return _copied(_from_pandas(source, unread))
    if module == "polars" and kind.__name__ in ("DataFrame", "LazyFrame"):
        return _copied((source.collect() if hasattr(source, "collect") else source).to_arrow())
    if hasattr(source, "to_arrow_table"):  # a DuckDB relation, computed now
        return ordered_enums(source.to_arrow_table())
    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "to_frame"):
        return _copied(pa.table(source))
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    raise UsageError(
        f"{label}: cannot read a value of the type {name}; give a path, a frame, an Arrow table, a "
        "DuckDB relation or a dict of lists"
    )


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


def _files_behind(data: Any) -> list[str]:
    """Return the local files of an Arrow dataset, or an empty list for other data.

    The list is also empty if some files are remote, because then not all files can be watched.
    """
    from pyarrow import fs

    if children := getattr(data, "children", None):  # a union of datasets
        of_children = [_files_behind(child) for child in children]
        return [file for files in of_children for file in files] if all(of_children) else []
    system, folder = getattr(data, "filesystem", None), ""
    while isinstance(system, fs.SubTreeFileSystem):
        system, folder = system.base_fs, system.base_path + folder
    if not isinstance(system, fs.LocalFileSystem):
        return []
    return [os.path.abspath(folder + file) for file in data.files]


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


def _from_pandas(frame: Any, unread: dict[str, str]) -> Any:
    """Convert a pandas frame column by column; omit columns that cannot be converted.

    An omitted column is added to `unread`, and is an error only if it is needed.
    """
    import pyarrow as pa

    if any(frame.index.names):
        levels = [n for n in frame.index.names if n is not None and n not in frame.columns]
        frame = frame.reset_index(level=levels) if levels else frame
    arrays: list[Any] = []
    names: list[str] = []
    failed: dict[str, Exception] = {}
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
            failed[str(name)] = error
    unread.update({name: str(reason) for name, reason in failed.items()})
    chunks = [a if isinstance(a, pa.ChunkedArray) else pa.chunked_array([a]) for a in arrays]
    return pa.table(chunks, names=names)


def _without_intervals(series: Any) -> Any:
    """Return intervals, such as those of `pandas.cut`, as text: `(18, 25]`; other values as is."""
    categories = getattr(series.dtype, "categories", None)
    if not str((series if categories is None else categories).dtype).startswith("interval"):
        return series
    if categories is not None:
        return series.cat.rename_categories(categories.astype(str))
    return series.astype(str).where(series.notna(), None).astype(object)


# ---- files --------------------------------------------------------------------------------------


def _expand(engine: Engine, label: str, source: str | Path) -> list[str] | None:
    """Expand a path, folder or glob; None if no file matches and the text may name a table."""
    text = str(source)
    if not text or (isinstance(source, Path) and text == "."):
        raise DataError(f"{label}: the file name is empty")
    if any(ord(character) < 32 for character in text):
        if engine.find_table(text) is not None:
            return None
        raise DataError(f"{label}: the file name {text!r} has control characters")
    if text == "-":
        return [str(engine.spool(sys.stdin.buffer))]
    if "://" in text:
        return [text]
    path = Path(text)
    try:
        if path.is_dir():
            lakes.check_paths(label, [text])
            files = [p for p in sorted(path.rglob("*")) if p.is_file() and p.name[0] not in "._"]
            if not files:
                raise DataError(f"{label}: the folder {text} has no files")
            return [str(file) for file in files]
        if path.exists():
            return [text]
        if glob.has_magic(text):
            matches = matching_files(text)
            if matches:
                return matches
            if engine.find_table(text) is None:
                raise DataError(f"{label}: no file matches {text}")
    except OSError as error:
        raise DataError(f"{label}: {text[:80]} cannot be read: {error.strerror}") from error
    return None


def matching_files(pattern: str, folders: bool = False) -> list[str]:
    """Return the sorted files that match a glob; leading folders that exist are taken literally.

    `folders`: return folders that match, too.

    Raises:
        OSError: the glob is too long, or a folder cannot be read.
    """
    folder = ""
    first, slash, rest = pattern.partition("/")
    while slash and (not first or os.path.isdir(folder + first)):
        folder += first + slash
        first, slash, rest = rest.partition("/")
    exact = glob.escape(folder) + first + slash + rest
    try:
        matches = glob.glob(exact, recursive=True)
        return sorted(match for match in matches if folders or os.path.isfile(match))
    except RecursionError:  # the glob has about a thousand nested folders
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)) from None


def _engine_reads_exact_names() -> bool:
    """Return whether DuckDB can read file names with * ? [ literally, which needs version 2.0."""
    import duckdb

    return int(duckdb.__version__.partition(".")[0]) >= 2


def _check_names(label: str, paths: Sequence[str]) -> None:
    """Check that no file is given twice, and that the engine can read every file name.

    Raises:
        DataError: names the file and, for a file given twice, both spellings.
    """
    first: dict[str, str] = {}
    for path in paths:
        if os.sep == "/" and "\\" in path and glob.has_magic(path) and "://" not in path:
            raise DataError(
                f"{label}: the engine cannot read {path}, because the name has both a backslash "
                "and one of * ? [; rename the file"
            )
        if glob.has_magic(path) and "://" not in path and not _engine_reads_exact_names():
            raise DataError(
                f"{label}: this version of DuckDB reads the name {path} as a pattern and may find "
                "another file; rename the file, or install DuckDB 2.0 or newer"
            )
        real = path if "://" in path else os.path.realpath(path)
        if real in first:
            spelled = "" if first[real] == path else f", as {first[real]} and as {path}"
            raise DataError(
                f"{label}: the file {path} is given twice{spelled}; its rows would count twice. "
                "Give the file once"
            )
        first[real] = path


def _read_files(engine: Engine, table: str, label: str, paths: list[str]) -> Relation:
    _check_names(label, paths)
    shown = [engine.shown(path) for path in paths]
    # checked before the formats, because lake tables also have logs in other formats
    lakes.check_paths(label, (path for path in paths if _format_by_name(path) == "parquet"))
    heads = [_head(label, path, name) for path, name in zip(paths, shown, strict=True)]
    kinds = [_format(label, *file) for file in zip(paths, shown, heads, strict=True)]
    if len(set(kinds)) > 1:
        raise DataError(f"{label}: the files have different formats: {', '.join(shown)}")
    kind = kinds[0]
    if kind == "parquet":  # now also files without the suffix
        lakes.check_paths(label, paths)
    if (kind == "trec_run") != (table in RANKED) and kind in ("trec_run", "trec_qrels"):
        is_run = kind == "trec_run"
        raise DataError(
            f"{label}: {shown[0]} is a TREC {'run' if is_run else 'qrels file'}, which contains "
            f"{'recommendations' if is_run else 'interactions'}, not {table}"
        )
    name = and_more(shown)
    source = macro(f"source_{kind}")
    given: str | list[str] = paths[0] if len(paths) == 1 else paths
    options: dict[str, Any] = {}
    if kind == "csv":
        options["layout"] = _layout_of_files(label, paths, shown, heads)
    try:
        if kind == "csv":
            options["quotes"] = _quotes_of_files(engine, label, paths, options["layout"])
        parts, read_of_folders, warned = _columns_of_files(
            engine, label, kind, paths, shown, options
        )
    except DataError as error:
        if kind == "csv":
            _check_lines(label, paths, shown, options["layout"], error)
        raise
    row_number, ordered = None, None
    if kind == "csv":
        options["by_name"] = _are_in_different_orders(label, parts)
    if kind == "parquet" and "://" not in paths[0]:
        if read_of_folders is None or not read_of_folders.added:
            row_number = str(macro("row_in_parquet")())
        else:
            row_number, ordered = (
                "sqlmetrics_row",
                str(source(given, read_of_folders, in_order=True)),
            )
    elif kind == "csv":
        row_number = "sqlmetrics_row"
        ordered = str(source(given, read_of_folders, in_order=True, **options))
    if hides_rows(kind, parts[0][1]):
        row_number, ordered = None, None
    return Relation(
        str(source(given, read_of_folders, **options)),
        parts[0][1],
        name,
        row_number,
        ordered,
        parts if len(parts) > 1 else (),
        paths,
        kind,
        is_held=not any("://" in path for path in paths),
        folders=read_of_folders,
        warnings=warned,
        **options,
    )


def _layout_of_files(
    label: str, paths: Sequence[str], shown: Sequence[str], heads: Sequence[bytes]
) -> Layout | None:
    """Return the common layout of CSV files, or None if the engine has to detect it.

    `heads` has the first bytes of each file, decompressed.

    Raises:
        DataError: two files have different layouts.
    """
    if any("://" in path for path in paths):
        return None
    first, *others = map(csv_layout.layout, paths, heads)
    for name, other in zip(shown[1:], others, strict=True):
        if other != first:
            raise DataError(
                f"{label}: {shown[0]} and {name} have different separators, or a different number "
                "of lines before the header. Write all files in the same format"
            )
    return first


def _check_lines(
    label: str,
    paths: Sequence[str],
    shown: Sequence[str],
    layout: Layout | None,
    error: Exception,
) -> None:
    """Look for lines with a wrong number of values or an unclosed quote.

    Raises:
        DataError: names the file and the line.
    """
    for path, name in zip(paths, shown, strict=True):
        if layout and (fault := csv_layout.broken_line(path, layout)):
            raise DataError(f"{label}: {name}{fault}") from error


@contextlib.contextmanager
def lines_checked(engine: Engine, table: str, relation: Relation) -> Iterator[None]:
    """Name the broken line of a CSV file whose rows the engine cannot read.

    Raises:
        DataError: names the table, the file and the line.
    """
    try:
        yield
    except DataError as error:
        shown = [engine.shown(path) for path in relation.files]
        _check_lines(table, relation.files, shown, relation.layout, error)
        raise


def _quotes_of_files(
    engine: Engine, label: str, paths: Sequence[str], layout: Layout | None
) -> str:
    """Return the quote and escape characters of CSV files, or "" if the engine detects them.

    The engine detects them in the first file only, so that quotes in other files would become part
    of their values. It may also detect apostrophes, which are part of values, as quotes.
    """
    if not any(_may_break(path, b"\"'") for path in paths):
        return ""
    first, _ = _quotes(engine, label, paths[0], layout)
    if first == _QUOTE and len(paths) == 1:
        return ""
    for path in paths:
        character, escape = _quotes(engine, label, path, layout)
        if character == _QUOTE:
            return character + (escape or character)
    return _QUOTE * 2 if first else ""


def _quotes(engine: Engine, label: str, path: str, layout: Layout | None) -> tuple[str, str]:
    """Return the quote and escape characters that the engine detects in a CSV file.

    A character that the engine does not detect is an empty text.
    """
    query = environment().get_template("inputs/quotes.sql.j2").render(files=path, layout=layout)
    (row,) = engine.query(query, f"{label}: {path}")
    quote, escape = (
        str(row[f"{what}_character"]).replace("(empty)", "") for what in ("quote", "escape")
    )
    return quote, escape


def hides_rows(kind: str, columns: Iterable[str]) -> str:
    """Return the first column whose name hides the engine's row numbers, or an empty text."""
    known = _ROW_NUMBERS.get(kind, ())
    return next((name for name in columns if name.lower() in known), "")


def _are_in_different_orders(label: str, parts: Sequence[tuple[str, Mapping[str, str]]]) -> bool:
    """Return whether CSV files have their columns in different orders.

    Raises:
        DataError: a file lacks a column that the first file has.
    """
    (first, columns), *others = parts
    for part, theirs in others:
        absent = [name for name in columns if name not in theirs]
        if absent:
            raise DataError(
                f"{label}: {first} has a column {absent[0]}, but {part} only has "
                f"{', '.join(theirs)}. Write all files with the same columns"
            )
    return any([*theirs][: len(columns)] != [*columns] for _, theirs in others)


def _columns_of_files(
    engine: Engine,
    label: str,
    kind: str,
    paths: list[str],
    shown: Sequence[str],
    options: Mapping[str, Any],
) -> tuple[list[tuple[str, Mapping[str, str]]], Folders | None, list[str]]:
    """Find the columns of files, and the columns from names of folders (`name=value/`).

    `options` are the options of the file reader.

    Returns:
        The columns and types for each path, the columns from names of folders, and warnings.
    """
    source = macro(f"source_{kind}")
    named = [folders.columns_of(file) for path in paths for file in _matched(engine, label, path)]
    unread = Folders() if any(named) else None
    own: list[tuple[str, Mapping[str, str]]] = [
        (text, engine.describe(str(source(path, unread, **options)), f"{label}: {text}"))
        for path, text in zip(paths, shown, strict=True)
    ]
    if unread is None or kind.startswith("trec"):
        return own, unread, []

    def types_with_folders() -> Mapping[str, str]:
        relation = f"{source(paths, Folders((FolderColumn('', ''),)), **options)}"
        return engine.describe(relation, f"{label}: {shown[0]}")

    from_folders = folders.of_files(named, [types for _, types in own], types_with_folders)
    warned = []
    for column in from_folders.hidden:
        having = [
            (path, text, types)
            for path, (text, types) in zip(paths, own, strict=True)
            if column.lower() in map(str.lower, types)
        ]
        paths_having = [path for path, *_ in having]
        relation = str(source(paths_having, Folders(with_file=True), **options))
        _, text, types = having[0]
        warned.append(folders.contradiction(engine, label, text, column, types, relation))
    more = {column.name: column.type for column in from_folders.columns}
    parts = [(text, {**types, **more}) for text, types in own]
    return [*parts], from_folders, [*filter(None, warned)]


def _matched(engine: Engine, label: str, path: str) -> list[str]:
    """Return the files that match a remote path (`s3://…`) with wildcards."""
    if "://" not in path or not glob.has_magic(path):
        return [path]
    query = environment().get_template("inputs/files_matched.sql.j2").render(pattern=path)
    return [row["file"] for row in engine.query(query, f"{label}: {path}")] or [path]


def check_quotes(
    engine: Engine, table: str, relation: Relation, columns: Sequence[str]
) -> list[str]:
    """Check that no unclosed quote or NUL byte has changed an id in a CSV file.

    Returns:
        Warnings about ids with line breaks.

    Raises:
        DataError: names the file, and the line of the quote or the id with the NUL byte.
    """
    texts = [
        name
        for name in columns
        if relation.types[name] == "VARCHAR" and name not in relation.of_folders
    ]
    if relation.format != "csv" or not texts or not any(map(_may_break, relation.files)):
        return []
    probe = environment().get_template("inputs/broken_ids.sql.j2")
    with lines_checked(engine, table, relation):
        row = engine.query(probe.render(columns=texts, relation=relation.sql), relation.label)[0]
    warned = []
    for number, column in enumerate(texts, start=1):
        where = f"{table}, column {column}: {relation.label}"
        with_quote, with_nul, lines = (
            row[f"{kind}_{number}"] for kind in ("quote", "nul", "lines")
        )
        if with_nul is not None:
            raise DataError(
                f"{where} has an id with a NUL byte, e.g. {with_nul[:80]!r}; the file is damaged. "
                "Export or copy the file again"
            )
        if with_quote is not None and (
            fault := _unclosed_quote(engine, relation, f"in the id {with_quote[:80]!r}")
        ):
            raise DataError(f"{table}: {fault}")
        if lines is not None:
            warned.append(
                f"{where} has an id with line breaks, e.g. {lines[:80]!r}. If these lines are "
                "separate rows, close the quote before them"
            )
    return warned


def _may_break(path: str, characters: bytes = b'"\0') -> bool:
    """Return whether a CSV file may contain a quote or a NUL byte, or one of `characters`.

    The search is much faster than reading the ids. It returns True for compressed and remote files.
    """
    if "://" in path or path.lower().endswith(PACKED):
        return True
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            if any(character in block for character in characters):
                return True
    return False


def _unclosed_quote(engine: Engine, relation: Relation, place: str) -> str:
    """Return the name and fault of the first CSV file with an unclosed quote, or an empty text.

    A file without a fault may reach this point, because the engine may detect single quotes, or
    none, although all double quotes are closed. `place` describes the fault of a file that only the
    engine can read.
    """
    of = relation.layout
    for path in filter(_may_break, relation.files):
        if _quotes(engine, relation.label, path, of)[0] != _QUOTE:
            fault = csv_layout.broken_line(path, of) if of else csv_layout.unclosed_quote(place)
            if fault:
                return f"{engine.shown(path)}{fault}"
    return ""


def uneven_lists(
    engine: Engine, relation: Relation, columns: Sequence[str], where: str = ""
) -> Any:
    """Return a row whose lists have different lengths, among the rows that match a condition."""
    probe = environment().get_template("inputs/uneven_lists.sql.j2")
    query = probe.render(columns=columns, relation=relation.sql, where=where)
    rows = engine.query(query, relation.label)
    return rows[0] if rows else None


def _head(label: str, path: str, shown: str) -> bytes:
    """Return the first bytes of a local file, decompressed; an empty value for a remote file.

    Raises:
        DataError: the file cannot be read, or is empty.
    """
    if "://" in path:
        return b""
    is_packed = path.lower().endswith(PACKED)
    try:
        head = _start_of(path)
    except (EOFError, zlib.error) as error:
        raise DataError(
            f"{label}: {shown} cannot be read; the file is damaged or incomplete: {error}"
        ) from error
    except OSError as error:
        if is_packed and error.errno is None:  # raised by the decompressor
            raise DataError(
                f"{label}: {shown} cannot be read; the file is damaged or incomplete: {error}"
            ) from error
        raise DataError(f"{label}: {shown} cannot be read: {error.strerror}") from error
    if not head.strip():
        raise DataError(f"{label}: {shown} is empty")
    return head


def _format(label: str, path: str, shown: str, head: bytes) -> str:
    """Return the format of a file by its suffix or, for an unknown suffix, by its first bytes.

    Raises:
        DataError: the file has no rows, or its suffix does not match its format.
    """
    by_name = _format_by_name(path)
    if "://" in path:
        return by_name or "parquet"
    is_parquet = head[:4] == b"PAR1"
    if by_name == "csv" and len(head.strip().splitlines()) == 1:
        raise DataError(f"{label}: {shown} is empty: the file has a header but no rows")
    if by_name is None:
        by_start = "parquet" if is_parquet else _text_format(head)
        if by_start is None:
            raise DataError(
                f"{label}: cannot tell the format of {shown}; supported are {_KNOWN_FORMATS}"
            )
        return by_start
    if (by_name == "parquet") != is_parquet and not path.lower().endswith(PACKED):
        actual = "a Parquet file" if is_parquet else f"not a Parquet file (it starts {head[:8]!r})"
        raise DataError(f"{label}: {shown} is {actual}; rename the file to match its format")
    return by_name


def _start_of(path: str) -> bytes:
    """Return the first bytes of a file, decompressed.

    A file compressed by zstd is read to its end, because the engine does not detect a truncated
    file.
    """
    with csv_layout.opened(path) as file:
        start = file.read(65536)
        if path.lower().endswith(".zst"):
            while file.read(1 << 22):
                pass
        return start


def _format_by_name(path: str) -> str | None:
    name = path.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return next((kind for end, kind in _FORMATS.items() if name.endswith(end)), None)


def _text_format(start: bytes) -> str | None:
    text = start.decode("utf-8", errors="replace")
    if _JSON.match(text):
        return "json"
    lines = [line for line in text.splitlines() if line.strip()]
    words = lines[0].split()
    if len(words) == 6 and _is_number(words[3]) and _is_number(words[4]):
        return "trec_run"
    if len(words) == 4 and _is_number(words[3]):
        return "trec_qrels"
    return "csv" if "," in lines[0] or "\t" in lines[0] else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
