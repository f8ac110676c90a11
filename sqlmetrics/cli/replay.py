"""Runs again what a record describes: reads it, gives its options, and says what differs now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlmetrics.cli.arguments import conventions_of, lists_of
from sqlmetrics.cli.options import COMPARED, EVALUATED, PER_USER, RANKED
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.metrics.conventions import EVERY, conventions
from sqlmetrics.metrics.spec import value_text
from sqlmetrics.record.record import FORMAT
from sqlmetrics.tables.reader import OPTIONS
from sqlmetrics.terminal import one_line

_SAME = 1e-9  # what sums in another order may differ by, of a value or, if it is larger, of 1
_FILES = ("parquet", "csv", "json", "trec_run", "trec_qrels")
# how a run is computed, not what: recorded, but up to whoever runs it again
_NOT_SET = (
    "threads",
    "memory_limit",
    "temp_directory",
    "temp_limit",
    "partitions",
    "trust_input",
)
# numbers that say whom a row of a result is about, but for these
_COUNTS = ("n_users", "wins", "ties", "losses")
_MOST_SHOWN = 20  # lines
_UNKNOWN = {"contents": "the contents of tables", "users": "counts of users", "rows": "values"}


@dataclass(frozen=True)
class Differences:
    """What differs between a record and a new one; `results`: data, users or values do.

    `unknown`: what one of the two does not say.
    """

    results: Sequence[str] = ()
    others: Sequence[str] = ()
    unknown: Sequence[str] = ()


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
            raise damaged(path, f"a record has no entry {_shown(where + name)}")
        if not forms[name](value):
            raise damaged(path, f"{where}{name} is {_shown(value)}")


def _check_models(path: str | Path, record: Mapping[str, Any]) -> None:
    """Check that a table is one source without a model, or recommendations of several models."""
    by_table: dict[str, list[str | None]] = {}
    for source in record["sources"]:
        by_table.setdefault(source["table"], []).append(source["model"])
    for table, models in by_table.items():
        are_models = len(set(models)) == len(models) and None not in models
        if models != [None] and not (table == "recommendations" and are_models):
            raise damaged(path, f"{table} is of the models {_shown(models)}")
    baseline = record["given"].get("baseline")
    if baseline is not None and baseline not in by_table.get("recommendations", []):
        raise damaged(path, f"given.baseline is {_shown(baseline)}, which is no model of it")


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
_GIVEN: Mapping[str, _Form] = {**_SET, **dict.fromkeys(_NOT_SET, _is_scalar)}
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


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "…"


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
            f"--from-record: {where}: the record says {_shown(given)}, which is no file; give it "
            f"with {option}"
        )
    reads.add(where, _several(given))
    if isinstance(given, list):  # as paths, so that they are not taken for ids
        return [one if "://" in one else Path(one) for one in given]
    return given


# ---- what differs -------------------------------------------------------------------------------


@dataclass
class _Found:
    results: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Differences:
    """Say what differs between two records of a result, line by line: what is, and what was."""
    found = _Found()
    found.others += _of_names("", old["versions"], new["versions"])
    for name in ("given", "asked"):
        theirs, ours = (
            {key: value for key, value in one[name].items() if value not in (None, [], {}, False)}
            for one in (old, new)
        )
        left_out = (*_NOT_SET, "metrics", "k", "engine")
        found.others += _of_names("", _without(theirs, left_out), _without(ours, left_out))
    found.others += _of_metrics(old, new)
    if old["sql"] != new["sql"]:
        found.others.append("the SQL is another")
    for name, compared in (("contents", _of_contents), ("users", _of_users), ("rows", _of_rows)):
        if name in old and name in new:
            found.results += compared(old, new)
        else:
            why = (old if name not in old else new).get("unknown", {}).get(name)
            text = f"{_UNKNOWN[name]} ({why})" if why else f"{_UNKNOWN[name]}, not in the record"
            found.unknown.append(text)
    return Differences(found.results, found.others, found.unknown)


def _without(entries: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if name not in names}


def _of_names(where: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            is_, was = (_text(one[name]) if name in one else "not given" for one in (new, old))
            yield f"{where}{name}: {is_}, was {was}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _shown(value)


def _of_metrics(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    def of(record: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
        return {
            (one["convention"], one["metric"]): {
                "k": one["k"],
                **record["settings"],
                **one["settings"],
            }
            for one in record["metrics"]
        }

    theirs, ours = of(old), of(new)
    for key in dict.fromkeys([*theirs, *ours]):
        name = f"{key[1]} ({key[0]})"
        if key not in ours:
            yield f"{name}: it is not computed any more"
        elif key not in theirs:
            yield f"{name}: it was not computed"
        else:
            yield from _of_names(f"{name}, ", theirs[key], ours[key])


def _of_contents(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    def of(record: Mapping[str, Any]) -> dict[tuple[Any, ...], Mapping[str, Any]]:
        return {
            (one["table"], one["model"], tuple(one["columns"])): one for one in record["contents"]
        }

    theirs, ours = of(old), of(new)
    for key in dict.fromkeys([*theirs, *ours]):
        table, model, columns = key
        where = table if model is None else f"{table} of {model}"
        if key not in ours:
            yield f"{where}: {', '.join(columns)} were read, and are not now"
        elif key not in theirs:
            yield f"{where}: {', '.join(columns)} are read, and were not"
        elif ours[key]["rows"] != theirs[key]["rows"]:
            yield f"{where}: {ours[key]['rows']:,} rows, were {theirs[key]['rows']:,}"
        elif ours[key]["fingerprint"] != theirs[key]["fingerprint"]:
            yield f"{where}: other values in {', '.join(columns)}"


def _of_users(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    counts = ("evaluated", "without_recommendations", "without_truth")

    def of(record: Mapping[str, Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
        return {
            (one["model"], one["convention"], tuple(one["metrics"])): {
                name: one[name] for name in counts
            }
            for one in record["users"]
        }

    theirs, ours = of(old), of(new)
    for key in [key for key in theirs if key in ours]:
        model, _, metrics = key
        shown = metrics[0] if len(metrics) == 1 else f"{metrics[0]} and {len(metrics) - 1} more"
        where = f"users of {shown}" + ("" if model is None else f", {model}")
        for line in _of_names("", theirs[key], ours[key]):
            yield f"{where}, {line.replace('_', ' ')}"


# ---- values -------------------------------------------------------------------------------------


def _of_rows(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Say for each metric the largest difference of its values."""
    if any(len(row) != len(one["columns"]) for one in (old, new) for row in one["rows"]):
        yield "values: the record is damaged: rows have more or fewer values than columns"
        return
    shared = [name for name in new["columns"] if name in old["columns"]]
    gone = [name for name in old["columns"] if name not in shared]
    more = [name for name in new["columns"] if name not in shared]
    if gone or more:
        texts = [f"there was {name}" for name in gone] + [f"there is {name}" for name in more]
        yield f"columns: {', '.join(texts)}"
    keys = _keys(shared, old, new)
    theirs, ours = _by_key(old, keys), _by_key(new, keys)
    largest: dict[tuple[str, str], tuple[float, str]] = {}
    for key in [key for key in ours if key in theirs]:
        label, about = _label(dict(zip(keys, key, strict=False)))
        for name in [name for name in shared if name not in keys]:
            distance = _distance(theirs[key][name], ours[key][name])
            is_wide = "metric" not in keys
            place = (name, "") if is_wide else (label, name)
            if distance > largest.get(place, (0.0, ""))[0]:
                row = ", ".join(filter(None, [label if is_wide else "", about]))
                was, is_ = _number(theirs[key][name]), _number(ours[key][name])
                far = "" if distance == float("inf") else f" differs by up to {distance:.2g}"
                where = f" ({row}: {is_}, was {was})" if row else f" ({is_}, was {was})"
                largest[place] = distance, f"{' '.join(filter(None, place))}{far or ':'}{where}"
    said: set[str] = set()
    for (label, column), (_, text) in largest.items():
        if label in said and column not in ("value", "difference"):
            continue  # the first column that differs is enough: others follow from it
        said.add(label)
        yield text
    for what, some, others in (("are not there any more", theirs, ours), ("are new", ours, theirs)):
        lost = [key for key in some if key not in others]
        if lost:
            label, about = _label(dict(zip(keys, lost[0], strict=False)))
            example = " ".join(filter(None, [label, about]))
            yield f"{len(lost):,} rows {what}, such as {example}"


def _keys(shared: Sequence[str], *records: Mapping[str, Any]) -> list[str]:
    """Find the columns that say what a row is about: no measured numbers, counts or marks."""
    keys = []
    for name in shared:
        values = [
            row[record["columns"].index(name)] for record in records for row in record["rows"]
        ]
        measured = any(isinstance(value, float) for value in values)
        if not (measured or name in _COUNTS or name.endswith(" mark") or set(values) == {None}):
            keys.append(name)
    return keys


def _by_key(
    record: Mapping[str, Any], keys: Sequence[str]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Find rows by what they are about; where several are about the same, by their place too."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for values in record["rows"]:
        row = dict(zip(record["columns"], values, strict=True))
        about = tuple(row[name] for name in keys)
        place = 0
        while (*about, place) in found:
            place += 1
        found[*about, place] = row
    return found


def _label(about: Mapping[str, Any]) -> tuple[str, str]:
    """Name the metric of a row, and say what else the row is about."""
    rest = dict(about)
    metric, k = rest.pop("metric", None), rest.pop("k", None)
    others = " ".join(str(value) for value in rest.values() if value is not None)
    if metric is None:
        return ("" if k is None else f"@{k}"), others
    return (str(metric) if k is None else f"{metric}@{k}"), others


def _distance(old: Any, new: Any) -> float:
    """Say how far two values are apart: 0 for what is the same, infinite for what is no number."""
    if isinstance(old, int | float) and isinstance(new, int | float):
        distance = abs(old - new)
        return 0.0 if distance <= _SAME * max(1.0, abs(old), abs(new)) else float(distance)
    return 0.0 if old == new else float("inf")


def _number(value: Any) -> str:
    return (
        f"{value:.6g}" if isinstance(value, float) else "missing" if value is None else str(value)
    )


# ---- the message --------------------------------------------------------------------------------


def message(path: str, found: Differences) -> str:
    """Say how a result compares with an earlier one, in one line if it is the same."""
    lines = [*found.results, *found.others]
    lines += [f"not compared: {text}" for text in found.unknown]
    if not lines:
        return f"the same as in {path}"
    if not found.results and len(lines) == 1:
        return f"the same as in {path}, but for {lines[0]}"
    head = "not the same as" if found.results else "the same result as"
    shown = lines[:_MOST_SHOWN]
    more = [f"and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
    tail = "" if found.results else ", but for"
    return "\n  ".join([f"{head} in {path}{tail}:", *shown, *more])
