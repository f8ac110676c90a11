"""Several models in one table: their names, their files and the columns that they share."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.tables.files import is_file, matching_files
from sqlmetrics.tables.runs import Runs, with_runs
from sqlmetrics.tables.schema import Source, SourceColumn, of_row, type_family
from sqlmetrics.texts.wording import listed

# in a path: stand for the name of a model and of one of its runs
PLACEHOLDER = "{model}"
PLACEHOLDER_OF_RUNS = "{run}"
_ORDERS = ("rank", "score")


# ---- names ---------------------------------------------------------------------------------------


def models_of(source: Any) -> Any:
    """Return a dict of models with their names as texts; other sources are returned unchanged.

    A path with `{model}` becomes a dict with the files of each model. A path with `{run}`, or a
    dict of sources as the source of a model, becomes `Runs`.

    Raises:
        UsageError: a name is empty, or two models or two runs of a model have the same name.
        DataError: no file matches the path.
    """
    if _is_pattern(source, PLACEHOLDER) or _is_pattern(source, PLACEHOLDER_OF_RUNS):
        return _by_file_name(str(source))
    if not is_models(source):
        return source
    return {name: _runs_of(part) for name, part in _named(source, "model").items()}


def _runs_of(source: Any) -> Any:
    """Return `Runs` if the source of a model has several runs; others are returned unchanged."""
    if _is_pattern(source, PLACEHOLDER_OF_RUNS):
        return _by_file_name(str(source))
    return Runs(_named(source, "run")) if is_models(source) else source


def _is_pattern(source: Any, placeholder: str) -> bool:
    return isinstance(source, str | Path) and placeholder in str(source) and not is_file(source)


def _named(source: Mapping[Any, Any], what: str) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for key, part in source.items():
        name = "" if key is None else str(key)
        check_name(name, what)
        if name in named:
            raise UsageError(f"recommendations: two {what}s have the name {name!r}; rename one")
        named[name] = part
    return named


def check_name(name: str, what: str = "model") -> None:
    """Check that a model or run can have this name, which can be any text that is not blank.

    Raises:
        UsageError: the name is blank or cannot be written to a file.
    """
    if not name.strip():
        raise UsageError(f"recommendations: the name of a {what} is empty ({name!r}); give a name")
    if "\0" in name or name != name.encode("utf-8", "ignore").decode():
        raise UsageError(
            f"recommendations: the name of the {what} {name!r} has a character that is not text; "
            f"rename the {what}"
        )


def is_models(source: Any) -> bool:
    """Return whether a source is a dict of models rather than `{user: [items]}`."""
    return (
        isinstance(source, Mapping)
        and not isinstance(source, Runs)
        and bool(source)
        and not any(map(_is_list_of_user, source.values()))
    )


def _is_list_of_user(value: Any) -> bool:
    """Return whether a value of a dict is the list of a user rather than the source of a model."""
    if isinstance(value, Runs) or is_models(value):
        return False
    if isinstance(value, Mapping):  # {item: score} of a user, or {user: [items]} of a model
        return not _is_list(next(iter(value.values()), ()))
    if value is None or isinstance(value, int | float | bytes | set | frozenset):
        return True
    if type(value).__module__.startswith("numpy"):
        return True
    is_series = type(value).__name__ == "Series" or _is_extension_array(value)
    if is_series:  # {user: items} of a model if its values are lists
        return not (len(value) and _is_list(next(iter(value))))
    if not isinstance(value, list | tuple):
        return False
    return not (value and all(isinstance(entry, Path) or is_file(entry) for entry in value))


def _is_extension_array(value: Any) -> bool:
    """Return whether a value is an array of pandas, such as the values of a Series of texts."""
    return any(kind.__name__ == "ExtensionArray" for kind in type(value).__mro__)


def _is_list(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes)


# ---- files ---------------------------------------------------------------------------------------


def _by_file_name(pattern: str) -> dict[str, Any]:
    """Return the files of each model and run, whose names are in the path at `{model}` and `{run}`.

    Without `{model}`, the files are the runs of one model.
    """
    if "://" in pattern:
        what = "model" if PLACEHOLDER in pattern else "run"
        raise UsageError(
            f"recommendations: {{{what}}} works for local files only, not for {pattern}; give "
            f"each {what} its own path"
        )
    named: dict[tuple[str, str], list[str]] = {}
    folder = re.split(r"\{(?:model|run)\}", pattern)[0].rpartition("/")[0]
    while folder and not os.path.isdir(folder):  # the rest may have characters of globs
        folder = folder.rpartition("/")[0]
    name_in = re.compile(re.escape(folder) + _regex(pattern[len(folder) :]))
    for path in matching_files(glob_of(pattern), folders=True):
        if match := name_in.fullmatch(path.replace(os.sep, "/")):
            names = {"model": "", "run": "", **match.groupdict()}
            named.setdefault((names["model"], names["run"]), []).append(path)
    if not named:
        raise DataError(f"recommendations: no file matches {pattern}")
    of_models: dict[str, dict[str, Any]] = {}
    for (model, run), paths in named.items():
        source = paths[0] if len(paths) == 1 else list(map(Path, paths))
        of_models.setdefault(model, Runs())[run] = source
    if PLACEHOLDER_OF_RUNS not in pattern:
        return {model: runs[""] for model, runs in of_models.items()}
    return of_models if PLACEHOLDER in pattern else of_models[""]


def glob_of(pattern: str) -> str:
    """Turn a path with `{model}` and `{run}` into a glob that matches all its files."""
    return pattern.replace(PLACEHOLDER, "*").replace(PLACEHOLDER_OF_RUNS, "*")


def _regex(pattern: str) -> str:
    """Turn a glob with `{model}` and `{run}` into a regular expression with these groups."""
    parts, groups = list[str](), set[str]()
    for part in re.split(r"(\{model\}|\{run\}|\*\*/|\*\*|\*|\?|\[!?\]?[^]]*\])", pattern):
        if part in (PLACEHOLDER, PLACEHOLDER_OF_RUNS):
            name = part[1:-1]
            parts.append(f"(?P={name})" if name in groups else f"(?P<{name}>[^/]+)")
            groups.add(name)
        elif part == "**/":
            parts.append("(?:.*/)?")
        elif part and part[0] in "*?":
            parts.append({"**": ".*", "*": "[^/]*", "?": "[^/]"}[part])
        elif part.startswith("[") and part.endswith("]") and len(part) > 2:
            parts.append("[" + re.sub(r"\A!", "^", part[1:].replace("\\", r"\\")))
        else:
            parts.append(re.escape(part))
    return "".join(parts)


def pattern_of_models(files: Sequence[str]) -> str:
    """Return the path with `{model}` that would read every file as a model; "" if there is none.

    The files differ in one part of their paths: in their names, or in the name of a folder.
    """
    split = [file.replace(os.sep, "/").split("/") for file in files]
    if len(files) < 2 or len({len(parts) for parts in split}) > 1 or "://" in files[0]:
        return ""
    different = [i for i, names in enumerate(zip(*split, strict=True)) if len(set(names)) > 1]
    if len(different) != 1:
        return ""
    (position,) = different
    parts = list(split[0])
    suffixes = {Path(names[position]).suffix for names in split}
    is_name = position == len(parts) - 1
    if is_name and len(suffixes) > 1:
        return ""
    parts[position] = PLACEHOLDER + (suffixes.pop() if is_name else "")
    return "/".join(parts)


# ---- columns -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aligned:
    """The sources of models with the same columns.

    Attributes:
        sources: the sources, all with the same columns in the same order.
        columns: the columns and their types.
        by_rank: the models whose ranks are read as scores, because others have only scores.
        warnings, notes: sentences about columns that are not read.
    """

    sources: Sequence[Source]
    columns: Mapping[str, str]
    by_rank: Sequence[str] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()


def aligned(name: str, sources: Sequence[Source]) -> Aligned:
    """Let all models have the columns that they share; without a shared order, each has its own.

    Raises:
        DataError: only some models have an order, or the types of a column differ.
    """
    notes: list[str] = []
    warnings: list[str] = []
    by_rank: list[str] = []
    sources = with_runs(sources)
    shared = _shared(sources)
    ordered = [source for source in sources if _order(source)]
    if ordered and not {*_ORDERS} & {*shared}:
        if len(ordered) < len(sources):
            without = next(source for source in sources if source not in ordered)
            raise DataError(
                f"{name}: {_shown(without)} has neither rank nor score, but {_shown(ordered[0])} "
                f"has {_order(ordered[0])}. Give all models a column rank or score"
            )
        by_rank = [str(source.model) for source in sources if _order(source) == "rank"]
        by_score = [str(source.model) for source in sources if _order(source) == "score"]
        notes.append(
            f"{name}: no column orders the lists of all models. These models are ordered by rank: "
            f"{listed(by_rank)}; by score: {listed(by_score)}"
        )
        sources = [_by_rank(source) for source in sources]
        shared = _shared(sources)
    if any(source.list_column for source in sources):
        shared.sort(key=lambda column: column in _ORDERS)  # the template appends ranks of lists
    for source in sources:
        unread = [column for column in _columns(source) if column not in shared]
        if not unread:
            continue
        are = "column {} of {} is" if len(unread) == 1 else "columns {} of {} are"
        text = (
            f"{name}: the {are.format(listed(unread), source.model)} not read, because not all "
            "models have the same columns"
        )
        if "rank" in unread:
            warnings.append(
                f"{text}; all models are ordered by score. To use the ranks of {source.model}, "
                "remove its column score"
            )
        else:
            notes.append(text)
    _check_types(name, sources, [c for c in shared if not (by_rank and c == "score")])
    columns = {column: _columns(sources[0])[column] for column in shared}
    read = [_with_columns(source, shared) for source in sources]
    return Aligned(read, columns, by_rank, warnings, notes)


def _shared(sources: Sequence[Source]) -> list[str]:
    held = [_columns(source) for source in sources]
    return [column for column in held[0] if all(column in columns for columns in held)]


def _order(source: Source) -> str:
    """Return the column that orders the lists of a source; "" if there is none."""
    return next((column for column in _ORDERS if column in _columns(source)), "")


def _shown(source: Source) -> str:
    return f"{source.model} ({source.label})"


def _columns(source: Source) -> dict[str, str]:
    """Return the columns of a source and their types, with the rank that a list gives."""
    columns = {column.name: column.type for column in source.columns}
    if source.list_column is not None:
        columns[source.list_order] = "BIGINT" if source.list_order == "rank" else "DOUBLE"
    return columns


def _by_rank(source: Source) -> Source:
    """Read the ranks of a source, if it has them, as scores: a lower rank is a higher score."""
    if _order(source) != "rank":
        return source
    kept = [column for column in source.columns if column.name != "score"]
    columns = [
        replace(column, name="score", type="DOUBLE", negative=True)
        if column.name == "rank"
        else column
        for column in kept
    ]
    return replace(source, columns=tuple(columns), list_order="score")


def _with_columns(source: Source, names: Iterable[str]) -> Source:
    known: dict[str, SourceColumn] = {column.name: column for column in source.columns}
    return replace(source, columns=tuple(known[name] for name in names if name in known))


def _check_types(name: str, sources: Sequence[Source], shared: Iterable[str]) -> None:
    first = _columns(sources[0])
    for column in shared:
        for source in sources[1:]:
            theirs = _columns(source)[column]
            if type_family(of_row(theirs)) != type_family(of_row(first[column])):
                raise DataError(
                    f"{name}, column {column}: the type is {first[column]} in "
                    f"{_shown(sources[0])}, but {theirs} in {_shown(source)}; convert the columns "
                    "to one type"
                )
