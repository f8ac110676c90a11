"""Options of `--from-record`: reads a record and runs its request again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlmetrics.cli.arguments import conventions_of, lists_of
from sqlmetrics.cli.options import COMPARED, EVALUATED, PER_USER, RANKED
from sqlmetrics.cli.spelling import OPTIONS
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.metrics.conventions import EVERY, conventions
from sqlmetrics.metrics.spec import value_text
from sqlmetrics.record.diff import HOW_COMPUTED, shown
from sqlmetrics.record.record import FORMAT
from sqlmetrics.terminal import one_line

_FILES = ("parquet", "csv", "json", "trec_run", "trec_qrels")


# ---- reading ------------------------------------------------------------------------------------


def read(path: str | Path, command: str) -> dict[str, Any]:
    """Read a record of a result of a command.

    Raises:
        UsageError: there is none, it is of a newer version, or of another command.
        DataError: it is damaged: an entry is missing, has another form or is no part of a record.
    """
    where = f"--from-record {path}"
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{where}: it cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: this is not JSON: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("record"), int):
        raise UsageError(f"{where}: this is not a record: --record FILE writes one")
    if record["record"] != FORMAT:
        raise UsageError(
            f"{where}: it is a record of format {record['record']}, this version of sqlmetrics "
            f"reads format {FORMAT}; use the one that wrote it: {record.get('versions')}"
        )
    for name in _FORM:
        if name not in record:
            raise damaged(path, f"there is no entry {name}")
    _check(path, "", record, {**_FORM, **_OPTIONAL})
    if record["result"] != command:
        theirs = record["result"].replace("_", "-")
        raise UsageError(f"{where}: it is of {theirs}: sqlmetrics {theirs} {where}")
    _check(path, "given.", record["given"], _GIVEN)
    _check(path, "asked.", record["asked"], _ASKED[command])
    _check_models(path, record)
    return record


def damaged(path: str | Path, what: str) -> DataError:
    """Return the error of a record that no version of sqlmetrics writes."""
    return DataError(f"--from-record {path}: it is damaged: {what}")


def _check(
    path: str | Path, where: str, entries: Mapping[str, Any], forms: Mapping[str, _Form]
) -> None:
    """Check that entries are those of a record, each in its form."""
    for name, value in entries.items():
        if name not in forms:
            raise damaged(path, f"a record has no entry {shown(where + name)}")
        if not forms[name](value):
            raise damaged(path, f"{where}{name} is {shown(value)}")


def _check_models(path: str | Path, record: Mapping[str, Any]) -> None:
    """Check that a table is one source without a model, or recommendations of several models."""
    by_table: dict[str, list[str | None]] = {}
    for source in record["sources"]:
        by_table.setdefault(source["table"], []).append(source["model"])
    for table, models in by_table.items():
        are_models = len(set(models)) == len(models) and None not in models
        if models != [None] and not (table == "recommendations" and are_models):
            raise damaged(path, f"{table} is of the models {shown(models)}")
    baseline = record["given"].get("baseline")
    if baseline is not None and baseline not in by_table.get("recommendations", []):
        raise damaged(path, f"given.baseline is {shown(baseline)}, which is no model of it")


_Form = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_path(value: Any) -> bool:
    """Is it the name of a file, a folder or a table? `-` is stdin, which is no file."""
    return isinstance(value, str) and value not in ("", "-") and "\0" not in value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, int) and value in (0, 1)


def _one_or_more(of: _Form) -> _Form:
    """Check an argument that is one value, a list of them, or was not given."""
    return lambda value: value is None or of(value) or _list_of(of)(value)


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _named(of: _Form) -> _Form:
    return lambda value: isinstance(value, dict) and all(map(of, value.values()))


def _pairs(of: _Form) -> _Form:
    """Check values by name that can be written as NAME=VALUE."""
    return lambda value: _named(of)(value) and not any("=" in name for name in value)


def _list_of(of: _Form) -> _Form:
    return lambda value: isinstance(value, list) and all(map(of, value))


def _entry(**kinds: _Form) -> _Form:
    """Check an object that has these entries, and maybe others."""

    def is_right(value: Any) -> bool:
        return isinstance(value, dict) and all(
            name in value and of(value[name]) for name, of in kinds.items()
        )

    return is_right


def _maybe(of: _Form) -> _Form:
    return lambda value: value is None or of(value)


def _is_scalar_or_list(value: Any) -> bool:
    return _is_scalar(value) or _list_of(_is_scalar)(value)


# what a record may say of the arguments that can change numbers; of every other it may say nothing
_ARGUMENTS: Mapping[str, _Form] = {
    "metrics": _one_or_more(_is_text),
    "k": _one_or_more(lambda value: _is_number(value) or _is_text(value)),
    "by": _one_or_more(_is_text),
    "by_item": _one_or_more(_is_text),
    "skip_missing": _is_flag,
    "partition": _maybe(_is_text),
    "combinations": _is_flag,
    "ci": _is_text,
    "confidence": _is_number,
    "resamples": _is_whole,
    "seed": _is_whole,
    "run_ci": _is_flag,
    "baseline": _maybe(_is_text),
    "test": _is_text,
    "correction": _is_text,
    "alpha": _is_number,
}
# by the command: the arguments of its method
_ASKED: Mapping[str, Mapping[str, _Form]] = {
    command: {name: _ARGUMENTS[name] for name in ("metrics", "k", *names)}
    for command, names in {
        "evaluate": EVALUATED,
        "per_user": (*PER_USER, "partition"),
        "compare": ("baseline", *COMPARED),
        "leaderboard": RANKED,
    }.items()
}
# arguments of the evaluator, but for the tables
_SET: Mapping[str, _Form] = {
    "convention": _one_or_more(_is_text),
    "fallback": _maybe(_is_text),
    "settings": _maybe(_pairs(_is_scalar_or_list)),
    "columns": _maybe(_pairs(_is_text)),
    "key": _one_or_more(_is_text),
    "where": _maybe(_pairs(_is_text)),
    "templates": _one_or_more(_is_path),
    "baseline": _maybe(_is_text),  # the name of a model
}
_GIVEN: Mapping[str, _Form] = {**_SET, **dict.fromkeys(HOW_COMPUTED, _is_scalar)}
# options of another name than the argument
_OPTION = {"k": "cutoffs", "convention": "conventions"}
# every option that a record may set
SET_BY_RECORDS = frozenset(_OPTION.get(name, name) for name in (*_SET, *_ARGUMENTS, *OPTIONS))

_MODEL = _maybe(_is_text)
# the entries of a record, and those that some lack
_FORM: Mapping[str, _Form] = {
    "record": _is_whole,
    "result": _is_text,
    "started": _is_text,
    "versions": _named(_is_text),
    "given": lambda value: isinstance(value, dict),
    "asked": lambda value: isinstance(value, dict),
    "settings": _named(_is_scalar),
    "metrics": _list_of(
        _entry(
            metric=_is_text,
            convention=_is_text,
            k=_list_of(_maybe(_is_whole)),
            settings=_named(_is_scalar),
        )
    ),
    "sql": _is_text,
    "sources": _list_of(
        _entry(
            table=lambda value: value in [*OPTIONS],
            model=_MODEL,
            source=_one_or_more(_is_text),
            kind=_is_text,
        )
    ),
}
_OPTIONAL: Mapping[str, _Form] = {
    "seconds": _is_number,
    "contents": _list_of(
        _entry(table=_is_text, model=_MODEL, columns=_texts, rows=_is_whole, fingerprint=_is_text)
    ),
    "users": _list_of(
        _entry(
            model=_MODEL,
            convention=_is_text,
            metrics=_texts,
            audience=_is_scalar,
            evaluated=_maybe(_is_whole),
            without_recommendations=_maybe(_is_whole),
            without_truth=_maybe(_is_whole),
        )
    ),
    "unknown": _named(_is_text),
    "columns": _texts,
    "rows": _list_of(_list_of(_is_scalar)),
}


# ---- options ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Again:
    """The options of a run again, and what of them is a file or folder that only the record names.

    `reads`: what it is -> its name, as it can be shown.
    """

    options: dict[str, Any]
    reads: dict[str, str]


def again(
    record: Mapping[str, Any], typed: Mapping[str, Any], is_typed: Callable[[str], bool]
) -> Again:
    """Return the options of a command as a record has them, but for those that were typed.

    Of options that name what they are about (--set, --column, --where, -r NAME=FILE), those that
    were typed replace the ones of the same name.

    Raises:
        UsageError: a source of the record cannot be read again and was not given.
    """
    given, asked = record["given"], record["asked"]
    options, reads = dict(typed), _Reads()

    def put(option: str, value: Any) -> bool:
        sets = option in SET_BY_RECORDS and option in options and not is_typed(option)
        if sets and value is not None:
            options[option] = value
        return sets

    if "spark" in record["versions"] and not is_typed("engine"):
        raise UsageError(
            "--from-record: the record is of Spark, which a record does not start; add --engine "
            "spark, or --engine duckdb to compare with DuckDB"
        )
    put("metrics", tuple(_several(asked.get("metrics"))))
    cutoffs = ",".join(map(value_text, _several(asked.get("k"))))
    put("cutoffs", cutoffs or None)
    names = _several(conventions_of(_several(given.get("convention"))))
    if put("conventions", tuple(names)):
        reads.add_conventions("convention", names)
    if put("fallback", given.get("fallback")):
        reads.add_conventions("fallback", _several(given.get("fallback")))
    put("key", ",".join(_several(given.get("key"))) or None)
    templates = tuple(_several(given.get("templates")))
    if put("templates", templates):
        reads.add("templates (SQL that is run)", templates)
    for name in ("settings", "columns", "where"):
        ours = {text.partition("=")[0].strip() for text in options[name]}
        kept = {key: _several(value) for key, value in (given.get(name) or {}).items()}
        texts = (f"{key}={','.join(map(value_text, kept[key]))}" for key in kept if key not in ours)
        options[name] = (*texts, *options[name])
    lists = [source for source in record["sources"] if source["table"] == "recommendations"]
    options["recommendations"] = _lists(lists, options, is_typed("recommendations"), reads)
    for source in record["sources"]:
        table = source["table"]
        if table != "recommendations" and not is_typed(table):
            put(table, _source(source, options, OPTIONS[table], reads))
    put("baseline", given.get("baseline"))
    for name in set(asked) - {"metrics", "k"}:
        put(name, tuple(_several(asked[name])) if name in ("by", "by_item") else asked[name])
    return Again(options, reads.found)


@dataclass
class _Reads:
    """Gathers what only a record names to be read."""

    found: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, names: Sequence[str]) -> None:
        """Add files or folders; in their names, what a terminal does not show as it is spelled."""
        if names:
            self.found[one_line(what)] = ", ".join(map(one_line, names))

    def add_conventions(self, what: str, names: Sequence[str]) -> None:
        """Add those conventions that are files, and not of the package."""
        self.add(what, [name for name in names if name not in (*conventions(), EVERY)])


def _several(value: Any) -> list[Any]:
    """Read an argument that is one value or a list of them."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _lists(
    sources: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    is_typed: bool,
    reads: _Reads,
) -> Any:
    """Put the lists that were typed in place of those of the record, model by model."""
    typed = lists_of(options["recommendations"]) if is_typed else None
    models = [source["model"] for source in sources]
    if typed is not None and (not isinstance(typed, dict) or models == [None]):
        return options["recommendations"]
    if models == [None]:
        return _source(sources[0], options, OPTIONS["recommendations"], reads)
    kept: dict[str, Any] = dict(typed or {})
    for source in sources:
        if source["model"] not in kept:
            option = f"-r {source['model']}=FILE"
            kept[source["model"]] = _source(source, options, option, reads)
    return {model: kept[model] for model in dict.fromkeys([*models, *kept])}


def _source(
    source: Mapping[str, Any], options: Mapping[str, Any], option: str, reads: _Reads
) -> Any:
    """Return a source of a record, as the evaluator takes it, and note that it is read."""
    given, kind = source["source"], source["kind"]
    where = source["table"] + ("" if source["model"] is None else f" of {source['model']}")
    of_spark = options.get("engine") == "spark" and kind == "table"
    if given is None or not (kind in _FILES or of_spark):
        what = "a table of a connection" if kind == "table" else kind
        raise UsageError(
            f"--from-record: {where}: the record says {what}, which cannot be read again; give it "
            f"with {option}"
        )
    if not all(map(_is_path, _several(given))):
        raise UsageError(
            f"--from-record: {where}: the record says {shown(given)}, which is no file; give it "
            f"with {option}"
        )
    reads.add(where, _several(given))
    if isinstance(given, list):  # as paths, so that they are not taken for ids
        return [one if "://" in one else Path(one) for one in given]
    return given
