"""Turn files, folders and globs into relations of an engine."""

from __future__ import annotations

import errno
import glob
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlmetrics.engines import folders, lakes
from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import FolderColumn, Folders, Layout, Relation, Unread
from sqlmetrics.engines.unfinished import check_finished
from sqlmetrics.errors import DataError
from sqlmetrics.sql.templates import macro, render_file
from sqlmetrics.tables.csv_layout import names_like_values, no_header, repeated_names
from sqlmetrics.tables.csv_quotes import check_lines, common_layout, quotes_of_files
from sqlmetrics.tables.formats import (
    format_by_name,
    format_of,
    head_of,
    hides_rows,
    is_header_only,
    lines_of,
)
from sqlmetrics.texts.messages import RANKED
from sqlmetrics.texts.wording import and_more, listed

# the start of the URL of a local file
_LOCAL = re.compile(r"^file:(//(localhost)?)?(?=/)", re.IGNORECASE)


@dataclass(frozen=True)
class Expanded:
    """The files of a path, folder or glob, and warnings about files that are not read."""

    paths: Sequence[str]
    warnings: Sequence[str] = ()


def expand(engine: Engine, label: str, source: str | Path) -> Expanded | None:
    """Expand a path, folder or glob; None if no file matches and the text may name a table.

    Raises:
        DataError: no file can be read, or a job is still writing into a folder.
    """
    text = without_scheme(str(source))
    if not text or (isinstance(source, Path) and text == "."):
        raise DataError(f"{label}: the file name is empty")
    if any(ord(character) < 32 for character in text):
        if engine.find_table(text) is not None:
            return None
        raise DataError(f"{label}: the file name {text!r} has control characters")
    if text == "-":
        return Expanded([str(engine.spool(sys.stdin.buffer))])
    if "://" in text:
        return Expanded([text])
    path = Path(text)
    try:
        if path.is_dir():
            lakes.check_paths(label, [text])
            entries = sorted(path.rglob("*"))
            _check_readable(label, *(entry for entry in entries if not _is_hidden(entry.name)))
            found = [str(entry) for entry in entries if entry.is_file()]
            files = _visible(label, text, text, found)
            if not files.paths:
                raise DataError(f"{label}: the folder {text} has no files")
            return files
        _check_readable(label, path)
        if path.exists():
            return Expanded([text])
        if glob.has_magic(text):
            matched = map(Path, matching_files(text, folders=True))
            _check_readable(label, *(path for path in matched if not _is_hidden(path.name)))
            if matches := matching_files(text):
                return _visible(label, text, _existing_folder(text), matches)
            if engine.find_table(text) is None:
                raise DataError(f"{label}: no file matches {text}")
    except OSError as error:
        raise DataError(f"{label}: {text[:80]} cannot be read: {error.strerror}") from error
    return None


def _check_readable(label: str, *paths: Path) -> None:
    for path in paths:
        if path.is_fifo():
            raise DataError(
                f"{label}: {path} is a pipe, which cannot be read more than once",
                remedy="pass - and pipe the rows into standard input, or write them to a file",
            )
        if path.is_symlink() and not path.exists():
            raise DataError(
                f"{label}: {path} is a symbolic link to {os.readlink(path)}, which cannot be found",
                remedy="correct the link, or give another file",
            )


def _visible(label: str, shown: str, base: str, paths: Sequence[str]) -> Expanded:
    """Omit hidden files, and those in hidden folders, below the folder `base`.

    The pattern `shown` can name them: `lists/_old/*.parquet`.
    """
    rest = shown[len(base) :].lstrip("/")
    if re.search(r"(\A|/)[_.][^/]", rest):
        return Expanded(paths)
    root = base or "."
    above = {parent for path in paths for parent in Path(path).parents}
    inside = {root, *(str(folder) for folder in above if folder.is_relative_to(root))}
    check_finished(label, shown, sorted(inside))
    kept = [
        path for path in paths if not any(map(_is_hidden, Path(os.path.relpath(path, root)).parts))
    ]
    omitted = sorted({*filter(format_by_name, paths)} - {*kept})
    warned = (
        f"{label}: {and_more(omitted)} {'is' if len(omitted) == 1 else 'are'} not read, because "
        "names that begin with _ or . do not belong to a table; to read such a file, give its path"
    )
    return Expanded(kept, [warned] if omitted else [])


def _is_hidden(name: str) -> bool:
    """Return whether files and folders of a name belong to no table, unlike a folder `_day=1/`."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def without_scheme(source: str) -> str:
    """Return the path of a `file:` URL, and other texts unchanged."""
    text = _LOCAL.sub("", source)
    if text != source and not os.path.lexists(text):
        return unquote(text)  # as Path.as_uri() writes it
    return text


def is_file(value: Any) -> bool:
    """Return whether a value is the path of an existing file."""
    try:
        return isinstance(value, str | Path) and Path(value).is_file()
    except (OSError, ValueError):
        return False


def matching_files(pattern: str, folders: bool = False) -> list[str]:
    """Return the sorted files that match a glob; leading folders that exist are taken literally.

    `folders`: return folders that match, too.

    Raises:
        OSError: the glob is too long, or a folder cannot be read.
    """
    folder = _existing_folder(pattern)
    exact = glob.escape(folder) + pattern[len(folder) :]
    try:
        matches = glob.glob(exact, recursive=True)
        return sorted(match for match in matches if folders or os.path.isfile(match))
    except RecursionError:  # the glob has about a thousand nested folders
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)) from None


def _existing_folder(pattern: str) -> str:
    """Return the leading folders of a glob that exist, with the slash behind them."""
    folder = ""
    first, slash, rest = pattern.partition("/")
    while slash and (not first or os.path.isdir(folder + first)):
        folder += first + slash
        first, slash, rest = rest.partition("/")
    return folder


def _engine_reads_exact_names() -> bool:
    """Return whether DuckDB can read file names with * ? [ literally, which needs version 2.0."""
    import duckdb

    return int(duckdb.__version__.partition(".")[0]) >= 2


def _check_names(label: str, paths: Sequence[str]) -> None:
    """Check that no file is given twice, and that the engine can read every file name."""
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


def read_files(engine: Engine, table: str, label: str, expanded: Sequence[Expanded]) -> Relation:
    """Turn files of one format into a relation.

    Raises:
        DataError: a file cannot be read, or the files do not belong to one table.
    """
    paths = [path for files in expanded for path in files.paths]
    _check_names(label, paths)
    shown = [engine.shown(path) for path in paths]
    # checked before the formats, because lake tables also have logs in other formats
    lakes.check_paths(label, (path for path in paths if format_by_name(path) == "parquet"))
    heads = [head_of(label, path, name) for path, name in zip(paths, shown, strict=True)]
    paths, shown, heads, warned = _without_empty(label, paths, shown, heads)
    kinds = [format_of(label, *file) for file in zip(paths, shown, heads, strict=True)]
    if len(set(kinds)) > 1:
        raise DataError(f"{label}: the files have different formats: {listed(shown)}")
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
    given: str | list[str] = paths[0] if len(paths) == 1 else paths
    options: dict[str, Any] = {}
    layout = None
    like_values: list[Mapping[int, str]] = []
    unread: dict[str, Unread] = {}
    if kind == "csv":
        options["layout"] = layout = common_layout(label, paths, shown, heads)
        like_values = [names_like_values(head, layout) if layout else {} for head in heads]
        unread = _repeated(shown, heads, layout) if layout else {}
    source: Callable[..., str] = macro(f"source_{kind}")
    if kind == "trec_run":
        source = partial(source, tag=lines_of(heads[0])[0].split()[-1])
    try:
        if kind == "csv":
            options["quotes"] = quotes_of_files(engine, label, paths, options["layout"])
        parts, read_of_folders, of_folders = _columns_of_files(
            engine, label, kind, paths, shown, partial(source, **options)
        )
    except DataError as error:
        if kind == "csv":
            check_lines(label, paths, shown, layout, error)
        raise
    row_number, ordered = None, None
    if kind == "csv":
        options["by_name"] = _are_in_different_orders(label, parts, layout, like_values)
    if kind == "parquet" and "://" not in paths[0]:
        if read_of_folders is None or not read_of_folders.added:
            row_number = macro("row_in_parquet")()
        else:
            row_number, ordered = (
                "sqlmetrics_row",
                source(given, read_of_folders, in_order=True),
            )
    elif kind in ("csv", "trec_run"):
        row_number = "sqlmetrics_row"
        ordered = source(given, read_of_folders, in_order=True, **options)
    if hides_rows(kind, parts[0][1]):
        row_number, ordered = None, None
    # a column whose name is not unique has that name, or the one that the engine gave it
    renamed = {[*parts[0][1]][n] for n in repeated_names(heads[0], layout)} if layout else ()
    types = {
        name: kind
        for name, kind in parts[0][1].items()
        if name not in renamed and name.lower() not in unread
    }
    return Relation(
        source(given, read_of_folders, **options),
        types,
        name,
        row_number,
        ordered,
        parts if len(parts) > 1 else (),
        paths,
        kind,
        is_held=not any("://" in path for path in paths),
        folders=read_of_folders,
        warnings=[*(text for files in expanded for text in files.warnings), *warned, *of_folders],
        like_values=[[*parts[0][1]][n] for n in like_values[0]] if like_values else (),
        unread=unread,
        **options,
    )


def _repeated(shown: Sequence[str], heads: Sequence[bytes], layout: Layout) -> dict[str, Unread]:
    """Return the columns of CSV files whose names are not unique; the engine renames the second."""
    return {
        spelled: Unread(
            f"several columns in the header of {name} have this name", remedy="rename one"
        )
        for name, head in zip(shown, heads, strict=True)
        for column in repeated_names(head, layout).values()
        for spelled in (column.lower(), column)
    }


def _without_empty(
    label: str, paths: list[str], shown: list[str], heads: list[bytes]
) -> tuple[list[str], list[str], list[bytes], list[str]]:
    """Omit files without rows if others have rows: jobs that write in parallel leave such files.

    Returns:
        The paths, names and first bytes of the other files, and warnings about files without a
        header, which may be incomplete.
    """
    headers = {lines_of(head)[0] for head in heads if head.strip() and not is_header_only(head)}
    blank, kept = [], []
    for path, name, head in zip(paths, shown, heads, strict=True):
        kind = "parquet" if "://" in path else format_by_name(path)
        if not head.strip() and kind != "parquet":
            blank.append(name)
        elif kind != "csv" or not is_header_only(head) or lines_of(head)[0] not in headers:
            kept.append((path, name, head))
    if not kept or len(kept) == len(paths):
        return paths, shown, heads, []
    warned = [f"{label}: {and_more(blank)} {'is' if len(blank) == 1 else 'are'} empty and not read"]
    return (
        [path for path, _, _ in kept],
        [name for _, name, _ in kept],
        [head for _, _, head in kept],
        warned if blank else [],
    )


def _columns_of_files(
    engine: Engine,
    label: str,
    kind: str,
    paths: list[str],
    shown: Sequence[str],
    source: Callable[..., str],
) -> tuple[list[tuple[str, Mapping[str, str]]], Folders | None, list[str]]:
    """Find the columns of files, and the columns from names of folders (`name=value/`).

    `source` returns the FROM clause of files.

    Returns:
        The columns and types for each path, the columns from names of folders, and warnings.
    """
    named = [folders.columns_of(file) for path in paths for file in _matched(engine, label, path)]
    unread = Folders() if any(named) else None
    own: list[tuple[str, Mapping[str, str]]] = [
        (text, engine.describe(source(path, unread), f"{label}: {text}"))
        for path, text in zip(paths, shown, strict=True)
    ]
    if unread is None or kind.startswith("trec"):
        return own, unread, []

    in_files = [name for _, types in own for name in types]
    wanted, hidden = folders.to_add_and_to_hide(named, in_files)
    more: dict[str, str] = {}
    if wanted:
        relation = source(paths, Folders((FolderColumn("", ""),)))
        all_types = engine.describe(relation, f"{label}: {shown[0]}")
        more = {name: all_types[name] for name in wanted}
    warned = []
    for column in hidden:
        having = [
            (path, text, types)
            for path, (text, types) in zip(paths, own, strict=True)
            if column.lower() in map(str.lower, types)
        ]
        paths_having = [path for path, *_ in having]
        relation = source(paths_having, Folders(with_file=True))
        _, text, types = having[0]
        warned.append(folders.contradiction(engine, label, text, column, types, relation))
    parts = [(text, {**types, **more}) for text, types in own]
    columns = tuple(FolderColumn(name, kind) for name, kind in more.items())
    return [*parts], Folders(columns, tuple(hidden)), [*filter(None, warned)]


def _are_in_different_orders(
    label: str,
    parts: Sequence[tuple[str, Mapping[str, str]]],
    layout: Layout | None,
    like_values: Sequence[Mapping[int, str]],
) -> bool:
    (first, columns), *others = parts
    for part, theirs in others:
        absent = [name for name in columns if name not in theirs]
        if absent:
            for (text, _), names in zip(parts, like_values, strict=True):
                if names and layout:
                    raise no_header(label, text, layout, [*names.values()])
            raise DataError(
                f"{label}: {first} has a column {absent[0]}, but {part} only has "
                f"{listed(theirs)}. Write all files with the same columns"
            )
    return any([*theirs][: len(columns)] != [*columns] for _, theirs in others)


def _matched(engine: Engine, label: str, path: str) -> list[str]:
    """Return the files that match a remote path (`s3://…`) with wildcards."""
    if "://" not in path or not glob.has_magic(path):
        return [path]
    query = render_file("inputs/files_matched", {"pattern": path})
    return [row["file"] for row in engine.query(query, f"{label}: {path}")] or [path]
