"""Read a record for `--from-record`, and turn it into command-line options."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from sqlmetrics.cli.arguments import conventions_of, lists_of
from sqlmetrics.cli.spelling import OPTIONS, PARAMETERS, parameters
from sqlmetrics.engines import lakes
from sqlmetrics.engines.database_files import has_query
from sqlmetrics.engines.database_systems import SYSTEMS
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.metrics.conventions import EVERY, conventions
from sqlmetrics.metrics.shapes import Constraint, ShapeError, entries_of
from sqlmetrics.metrics.spec import value_text
from sqlmetrics.record.diff import HOW_COMPUTED
from sqlmetrics.record.entries import FORMAT, Record, Scalar
from sqlmetrics.tables.runs import Runs
from sqlmetrics.texts.masking import MASK, masked
from sqlmetrics.texts.terminal import one_line
from sqlmetrics.texts.wording import shown

_FILES = ("parquet", "csv", "json", "trec_run", "trec_qrels", "duckdb", *lakes.KINDS)


# ---- reading ------------------------------------------------------------------------------------


def read(path: str | Path, command: str) -> dict[str, Any]:
    """Read the record of a result of a command.

    Raises:
        UsageError: the record does not exist, or is of another version or another command.
        DataError: the record is damaged: an entry is missing, malformed or unknown.
    """
    where = f"--from-record {path}"
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{where}: the file cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: the file is not JSON: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("record"), int):
        raise UsageError(f"{where}: the file is not a record; --record FILE writes one")
    if record["record"] != FORMAT:
        raise UsageError(
            f"{where}: the record has format {record['record']}, but this version of sqlmetrics "
            f"reads format {FORMAT}; use the version that wrote it: {record.get('versions')}"
        )
    try:
        entries_of(record, Record)
        entries_of(record["given"], _GIVEN, "given")
        entries_of(record["asked"], _asked(record["result"]), "asked")
    except ShapeError as error:
        raise damaged(path, str(error)) from error
    if record["result"] != command:
        theirs = record["result"].replace("_", "-")
        raise UsageError(
            f"{where}: the record is of the command {theirs}; run sqlmetrics {theirs} {where}"
        )
    _check_models(path, record)
    return record


def damaged(path: str | Path, what: str) -> DataError:
    """Return the error for a record that no version of sqlmetrics writes."""
    return DataError(f"--from-record {path}: the record is damaged: {what}")


def _check_models(path: str | Path, record: Mapping[str, Any]) -> None:
    """Check that each table has one source without a model, or is recommendations of models.

    The sources of a model are one without a run, or all have different runs.
    """
    by_table: dict[str, dict[str | None, list[str | None]]] = {}
    for source in record["sources"]:
        of_models = by_table.setdefault(source["table"], {})
        of_models.setdefault(source["model"], []).append(source.get("run"))
    for table, of_models in by_table.items():
        are_models = len(of_models) == 1 or None not in of_models
        are_runs = all(
            runs == [None] or (len(set(runs)) == len(runs) and None not in runs)
            for runs in of_models.values()
        )
        is_one = list(of_models.items()) == [(None, [None])]
        if not is_one and not (table == "recommendations" and are_models and are_runs):
            models = [model for model, runs in of_models.items() for _ in runs]
            raise damaged(path, f"{table} has the models {shown(models)}")
    baseline = record["given"].get("baseline")
    if baseline is not None and baseline not in by_table.get("recommendations", {}):
        raise damaged(path, f"given.baseline is {shown(baseline)}, which is not one of its models")


# the name of a file, folder or table, but not `-`, which is stdin, and not a query
_PATH = Constraint(
    "the name of a file",
    lambda value: value not in ("", "-") and "\0" not in value and not has_query(value),
)
_Path = Annotated[str, _PATH]
_Flag = bool | Literal[0, 1]
_Several = str | list[str] | None  # one value, a list of values, or not given
_NAMES = Constraint(
    "names without =, as in NAME=VALUE", lambda value: not any("=" in n for n in value)
)

# arguments of the evaluator other than tables
_SET: Mapping[str, Any] = {
    "convention": _Several,
    "fallback": str | None,
    "settings": Annotated[dict[str, Scalar | list[Scalar]], _NAMES] | None,
    "columns": Annotated[dict[str, str], _NAMES] | None,
    "key": _Several,
    "where": Annotated[dict[str, str], _NAMES] | None,
    "templates": _Path | list[_Path] | None,
    "accept": _Several,
    "baseline": str | None,  # the name of a model
}
_GIVEN: Mapping[str, Any] = {**_SET, **dict.fromkeys(HOW_COMPUTED, Scalar)}


def _asked(result: str) -> dict[str, Any]:
    """Return the shapes of the arguments of a method: those that can change numbers."""
    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.record.record import NOT_RECORDED

    return {
        name: _shape(parameters()[PARAMETERS.get(name, name)])
        for name in inspect.signature(getattr(Evaluator, result)).parameters
        if name not in {"self", *NOT_RECORDED}
    }


def _shape(option: click.Parameter) -> Any:
    if option.name == "cutoffs":
        return float | str | list[float | str] | None
    if option.multiple or option.nargs == -1:
        return _Several
    if isinstance(option, click.Option) and option.is_flag:
        return _Flag
    if option.name in ("power", "detect"):  # without a default; a difference may be a share: "1%"
        return float | None if option.name == "power" else float | str | None
    shapes = {"integer": int, "float": float, "choice": str}
    return shapes.get(option.type.name, str | None)


# ---- options ------------------------------------------------------------------------------------


def again(
    record: Mapping[str, Any], typed: Mapping[str, Any], is_typed: Callable[[str], bool]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the options of a repeated run, and the files and folders that only the record names.

    Typed options override those of the record. The files are named in printable form, by their
    purpose, such as a table.

    For options of the form NAME=VALUE (--set, --column, --where, -r NAME=FILE), a typed option
    overrides only the one with the same name.

    Raises:
        UsageError: a source of the record cannot be read again and was not given.
    """
    given, asked = record["given"], record["asked"]
    options, reads = dict(typed), Reads()

    def put(option: str, value: Any) -> bool:
        sets = option in options and not is_typed(option)
        if sets and value is not None:
            options[option] = value
        return sets

    others = [name for name in SYSTEMS if name in record["versions"]]
    if others and not is_typed("engine"):
        raise UsageError(
            "--from-record: the result of the record was computed in a database "
            f"({others[0]}); add --engine URL to compute in a database, or --engine duckdb to use "
            "DuckDB"
        )
    if "spark" in record["versions"] and not is_typed("engine"):
        raise UsageError(
            "--from-record: the result of the record was computed by Spark; add --engine spark to "
            "start Spark, or --engine duckdb to use DuckDB"
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
    return options, reads.named


class Reads:
    """The files, folders and queries that only a record, or a file of tests, names."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, None]] = {}

    @property
    def named(self) -> dict[str, str]:
        """Return the names, as messages show them, by their purpose, such as a table."""
        return {what: ", ".join(names) for what, names in self._names.items()}

    def add(self, what: str, names: Sequence[str]) -> None:
        """Add files or folders; control characters are escaped, and secrets are hidden."""
        if names:
            known = self._names.setdefault(one_line(what), {})
            known.update(dict.fromkeys(one_line(masked(name)) for name in names))

    def add_conventions(self, what: str, names: Sequence[str]) -> None:
        """Add those conventions that are files, not built in."""
        self.add(what, [name for name in names if name not in (*conventions(), EVERY)])


def _several(value: Any) -> list[Any]:
    """Return an argument that is None, one value or a list of values as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _lists(
    sources: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    is_typed: bool,
    reads: Reads,
) -> Any:
    """Return the sources of the recommendations; typed models override those of the record."""
    typed = lists_of(options["recommendations"]) if is_typed else None
    by_model: dict[str | None, list[Mapping[str, Any]]] = {}
    for source in sources:
        by_model.setdefault(source["model"], []).append(source)
    if typed is not None and (not isinstance(typed, dict) or None in by_model):
        return options["recommendations"]
    if None in by_model:
        return _runs(by_model[None], options, OPTIONS["recommendations"], reads)
    kept: dict[str | None, Any] = dict(typed or {})
    for model, of_model in by_model.items():
        if model not in kept:
            kept[model] = _runs(of_model, options, f"-r {model}=FILE", reads)
    return {model: kept[model] for model in dict.fromkeys([*by_model, *kept])}


def _runs(
    sources: Sequence[Mapping[str, Any]], options: Mapping[str, Any], option: str, reads: Reads
) -> Any:
    """Return the source of a model, or `Runs` if it has several."""
    if "run" not in sources[0]:
        return _source(sources[0], options, option, reads)
    return Runs({source["run"]: _source(source, options, option, reads) for source in sources})


def _source(
    source: Mapping[str, Any], options: Mapping[str, Any], option: str, reads: Reads
) -> Any:
    """Return a source of a record in the form that the evaluator takes, and add it to `reads`."""
    given, kind = source["source"], source["kind"]
    where = source["table"] + ("" if source["model"] is None else f" of {source['model']}")
    where += "" if "run" not in source else f", run {source['run']}"
    of_catalog = options.get("engine", "duckdb") != "duckdb" and kind == "table"
    if kind == "query":
        raise UsageError(
            f"--from-record: {where}: the source in the record is the query {shown(given)}, which "
            "is not run, because somebody else may have written the record; if you trust the "
            f"query, pass it with {option.replace('FILE', 'QUERY')}"
        )
    if given is None or not (kind in _FILES or of_catalog):
        what = "a table of a connection" if kind == "table" else kind
        raise UsageError(
            f"--from-record: {where}: the source in the record is {what}, which cannot be read "
            f"again; give the table with {option}"
        )
    if not all(map(_PATH.holds, _several(given))):
        raise UsageError(
            f"--from-record: {where}: the source in the record is {shown(given)}, which is not a "
            f"file name; give the table with {option}"
        )
    if any("://" in path and MASK in path for path in _several(given)):
        raise UsageError(
            f"--from-record: {where}: the record hides the secrets of the URL {shown(given)}; give "
            f"the table with {option}"
        )
    reads.add(where, _several(given))
    if isinstance(given, list):  # as paths, because the evaluator reads a list of strings as ids
        return [path if "://" in path else Path(path) for path in given]
    return given
