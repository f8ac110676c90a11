"""Turn command-line options into an evaluator and arguments of its methods."""

from __future__ import annotations

import contextlib
import glob
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics import interrupts
from sqlmetrics.cli.options import TABLES
from sqlmetrics.cli.spelling import spelled
from sqlmetrics.engines import database_files
from sqlmetrics.engines.lakes import is_lake_table, parts_of
from sqlmetrics.errors import UsageError
from sqlmetrics.files import check_not_read
from sqlmetrics.texts.terminal import one_line, say
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    from rich.progress import Progress

    from sqlmetrics.evaluator import Evaluator

_PROGRESS_AFTER = 1.0  # seconds until a progress bar appears


def asked_of(
    method: Callable[..., Any], metrics: Sequence[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a method of the evaluator: every parameter that has an option."""
    asked = {
        name: options[name] for name in inspect.signature(method).parameters if name in options
    }
    asked |= {"metrics": metrics or None, "k": cutoffs_of(options)}
    for name in {"by", "by_item"} & asked.keys():
        # split at commas, except inside parentheses
        parts = [part for text in asked[name] for part in re.split(r",(?![^(]*\))", text)]
        asked[name] = parts or None
    return asked


def names_of(values: Sequence[str]) -> list[str]:
    """Return the names in the values of an option, each with one or several between commas."""
    return [name.strip() for value in values for name in value.split(",")]


def cutoffs_of(options: Mapping[str, Any]) -> list[int] | None:
    """Return the cutoffs given with -k."""
    from sqlmetrics.metrics.spec import parse_cutoffs

    return None if options["cutoffs"] is None else parse_cutoffs(options["cutoffs"])


@contextlib.contextmanager
def evaluator_of(options: Mapping[str, Any]) -> Iterator[Evaluator]:
    """Open an evaluator for the given tables; close it, and the Spark session, at the end."""
    from sqlmetrics.evaluator import Evaluator

    bar = _ProgressBar() if sys.stderr.isatty() else None
    lists = options["recommendations"]
    several = lists if isinstance(lists, tuple) else ()
    given = [*several, *(options[table] for table, _, _ in TABLES)]
    if sum(str(source).rpartition("=")[2] == "-" for source in given) > 1:
        raise UsageError("stdin (-) was given for several tables; pass - for one table only")
    tables: dict[str, Any] = {
        "recommendations": lists_of(lists) if isinstance(lists, tuple) else lists,
        **{table: _path(options[table]) for table, _, _ in TABLES},
        "scored": _path(options.get("scored")),
    }
    if options.get("database") is not None:
        tables = _in_database(options["database"], tables)
    _check_outputs(options, tables)
    with _session(options) as session, notes_on_stderr():
        evaluator = Evaluator(
            **tables,
            convention=conventions_of(options.get("conventions", ())),
            fallback=options["fallback"],
            settings=pairs_of("--set", options["settings"]),
            columns=pairs_of("--column", options["columns"]),
            where=pairs_of("--where", options["where"]),
            key=names_of([options["key"]]),
            threads=options["threads"],
            memory_limit=options["memory_limit"],
            temp_directory=options["temp_directory"],
            temp_limit=options["temp_limit"],
            engine=session,
            templates=options["templates"],
            trust_input=options["trust_input"],
            check=_check_of(options),
            accept=names_of(options["accept"]),
            record=any(options.get(name) is not None for name in ("record", "from_record")),
            watch=bar,
        )
        closing = contextlib.closing(bar) if bar else contextlib.nullcontext()
        with evaluator, closing:
            yield evaluator


def _check_of(options: Mapping[str, Any]) -> bool | None:
    """Return whether to check the tables for data problems; None to decide by their size."""
    check = options.get("check")
    if not options.get("fail_on_warnings"):
        return check
    for opposite, is_given in (
        ("--no-check", check is False),
        ("--trust-input", options["trust_input"]),
    ):
        if is_given:
            raise UsageError(
                f"--fail-on-warnings needs the checks that {opposite} skips; remove one of them"
            )
    return True


# options other than tables that name input files
_OTHER_INPUTS = {
    "from_record": "record",
    "templates": "template",
    "conventions": "convention",
    "fallback": "convention",
}


def _check_outputs(options: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
    """Check, before reading anything, that no output file is also an input file."""
    targets = [Path(options[name]) for name in ("output", "record") if options.get(name)]
    if any(target.is_file() for target in targets):
        files = {file: table for table, source in tables.items() for file in _files_of(source)}
        others = {
            file: f"the {what}"
            for option, what in _OTHER_INPUTS.items()
            for file in _files_of(options.get(option))
            if option != "templates" or file.endswith(".sql.j2")
        }
        for target in targets:
            check_not_read(target, files)
            check_not_read(target, others, "{} is")


def _files_of(source: Any) -> list[str]:
    """List the files of a source: a path, folder or glob, or several of them."""
    if isinstance(source, Mapping):
        return [file for part in source.values() for file in _files_of(part)]
    if isinstance(source, list | tuple):
        return [file for part in source for file in _files_of(part)]
    if not isinstance(source, str):
        return []
    if source == "-":
        return ["/dev/stdin"]
    from sqlmetrics.tables.files import without_scheme

    source = without_scheme(parts_of(source)[1] if is_lake_table(source) else source)
    if database := database_files.split(source):
        return [database[0]]
    if os.path.isdir(source):
        return [str(path) for path in Path(source).rglob("*")]
    if os.path.exists(source):
        return [source]
    from sqlmetrics.tables.models import glob_of

    return glob.glob(glob_of(source), recursive=True)


@contextlib.contextmanager
def notes_on_stderr() -> Iterator[None]:
    """Show log messages of the package on stderr, such as columns read from folder names."""
    import logging

    class _Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(spelled(record.msg) if not record.args else record.getMessage())

    logger, handler = logging.getLogger("sqlmetrics"), _Handler()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


@contextlib.contextmanager
def _session(options: Mapping[str, Any]) -> Iterator[Any]:
    """Start Spark for this command if --engine is spark; return the URL of a database."""
    engine = options["engine"]
    if engine != "spark" and options["master"] is not None:
        raise UsageError("--master applies to Spark only; add --engine spark or remove --master")
    if engine == "duckdb":
        yield None
        return
    is_spark = engine == "spark"
    where = "--engine spark" if is_spark else "a database"
    # rejected before Spark starts, which takes seconds
    limits = ("threads", "memory_limit", "temp_limit")
    of_duckdb = [name for name in limits if options[name] is not None]
    if of_duckdb:
        names = " and ".join("--" + name.replace("_", "-") for name in of_duckdb)
        raise UsageError(
            f"{names}: not available with {where}; set memory and processors in the "
            f"configuration of {'Spark' if is_spark else 'its server'}"
        )
    if not is_spark:
        interrupts.unwind()  # lets the driver cancel the statement, and end the transaction
        yield engine
        return
    from sqlmetrics.engines.open import open_session

    interrupts.unwind()  # lets Spark stop and remove its own files
    session = open_session(options["master"])
    try:
        yield session
    finally:
        session.stop()


def with_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Replace files by the warehouse tables that have the same columns."""
    from sqlmetrics.engines.relation import TableName

    changed = dict(options)
    for table, _, _ in TABLES:
        if name := options[f"{table}_table"]:
            changed[table] = TableName(name, _path(options[table]))
    if names := options["recommendations_table"]:
        like = lists_of(options["recommendations"])
        changed["recommendations"] = _named(names, like)
    return changed


def _named(names: Sequence[str], like: Any) -> Any:
    """Read --recommendations-table: one name, or NAME=TABLE for several models."""
    from sqlmetrics.engines.relation import TableName

    parts = [
        (model, table) if model.strip() and equals else (None, name)
        for name in names
        for model, equals, table in [name.partition("=")]
    ]
    found = _by_model("--recommendations-table", "NAME=TABLE", parts)
    if isinstance(found, str):
        if isinstance(like, dict):
            raise UsageError(
                "-r names models; pass --recommendations-table NAME=TABLE for each model"
            )
        return TableName(found, like)
    likes = like if isinstance(like, dict) else dict.fromkeys(found, like)
    if set(likes) != set(found):
        raise UsageError(
            f"-r names the models {listed(likes)}, but --recommendations-table names "
            f"{listed(found)}; use the same names"
        )
    return {model: TableName(table, likes[model]) for model, table in found.items()}


def _by_model(
    option: str, form: str, values: Sequence[tuple[str | None, str]]
) -> dict[str, str] | str:
    """Return the values of an option by the name of their model, or its only value without one."""
    named: dict[str, str] = {}
    plain = [value for name, value in values if name is None]
    for name, value in values:
        if name in named:
            raise UsageError(
                f"{option} names the model {name} twice; use a different name for each model"
            )
        if name is not None:
            named[name] = value
    if named and plain:
        raise UsageError(
            f"{option} {plain[0]} has no model name but others have; write every {option} as {form}"
        )
    if len(plain) > 1:
        raise UsageError(f"several {option} need model names; write each as {option} {form}")
    return named or plain[0]


def conventions_of(values: Sequence[str]) -> list[str] | str:
    """Read --convention: comma-separated names, or a file."""
    names = [
        name.strip()
        for value in values
        for name in ([value] if Path(value).is_file() else value.split(","))
    ]
    if len(names) == 1:
        return names[0]
    return names or "standard"


def _path(text: Any) -> Any:
    if text == "":
        raise UsageError("a file name is empty; give the name of a file")
    return text


def lists_of(values: Sequence[str]) -> Any:
    """Read -r: one source, or NAME=FILE for several models; an existing path is always a path."""
    if not values:
        return None
    parts = [(name, _path(path)) for name, path in map(_name_and_path, values)]
    return _by_model("-r", "NAME=FILE", parts)


def _in_database(path: str, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Read tables that are neither files nor the names of models from a DuckDB file."""
    if not database_files.is_database(path):
        why = "is not a DuckDB file" if os.path.exists(path) else "does not exist"
        raise UsageError(f"--database: {path} {why}")
    lists = tables["recommendations"]
    models = lists if isinstance(lists, dict) else {}

    def located(source: Any) -> Any:
        if isinstance(source, dict):
            return type(source)({name: located(part) for name, part in source.items()})
        if isinstance(source, str) and source not in models:
            _check_name(path, source)
        elsewhere = not isinstance(source, str) or "://" in source or _is_path(source)
        if elsewhere or source in models or _is_named_table(source):
            return source
        return f"{path}:{source}"

    return {table: located(source) for table, source in tables.items()}


def _check_name(database: str, name: str) -> None:
    """Check that the name of a table of a DuckDB file is not also that of a file or folder.

    A name with a slash or the suffix of a format is that of a file.
    """
    from sqlmetrics.tables.formats import format_by_name

    if "/" in name or os.sep in name or format_by_name(name) or not os.path.exists(name):
        return
    kind = "folder" if os.path.isdir(name) else "file"
    raise UsageError(
        f"--database: {name} may be a table of {database}, but there is also a {kind} {name}",
        remedy=f"write {database}:{name} for the table, or ./{name} for the {kind}",
    )


def _name_and_path(value: str) -> tuple[str | None, str]:
    """Split NAME=FILE, where both may contain =; the name is None if the value is a path.

    The first split with an existing file counts, or else the first split.
    """
    if "=" not in value or "://" in value.partition("=")[0] or _is_path(value):
        return None, value
    if database_files.is_query(value) or _is_named_table(value):
        return None, value
    parts = value.split("=")
    splits = [("=".join(parts[:n]), "=".join(parts[n:])) for n in range(1, len(parts))]
    return next((split for split in splits if _is_path(split[1])), splits[0])


def _is_named_table(value: str) -> bool:
    """Return whether a value names a table of a DuckDB file or of a lake."""
    return is_lake_table(value) or database_files.split(value) is not None


def _is_path(value: str) -> bool:
    if value == "-" or os.path.exists(value):  # False, not an error, for a name that is too long
        return True
    from sqlmetrics.tables.models import glob_of

    pattern = glob_of(value)
    if not glob.has_magic(pattern):
        return False
    from sqlmetrics.tables.files import matching_files

    with contextlib.suppress(OSError):  # reading the source reports the error
        return bool(matching_files(pattern, folders=pattern != value))
    return False


def pairs_of(option: str, values: Sequence[str]) -> dict[str, str]:
    """Read the NAME=VALUE pairs of a repeatable option.

    Raises:
        UsageError: a value is not NAME=VALUE, or two values give the same name.
    """
    pairs: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not name.strip() or not rest.strip():
            forms = {"--column": "NAME=COLUMN", "--where": "TABLE=CONDITION"}
            raise UsageError(f"{option} {value}: write {forms.get(option, 'NAME=VALUE')}")
        if name.strip() in pairs and pairs[name.strip()] != rest.strip():
            hint = "; join the conditions with AND" if option == "--where" else ""
            raise UsageError(f"{option} sets {name.strip()} twice{hint}")
        pairs[name.strip()] = rest.strip()
    return pairs


class _ProgressBar:
    """Progress of the computation on stderr, shown after about a second."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def __call__(self, title: str, share: float, seconds: float) -> None:
        if self._progress is None:
            if seconds < _PROGRESS_AFTER:
                return
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("", total=1.0)
            interrupts.add(_show_cursor)
            self._progress.start()
        from rich.markup import escape

        shown = escape(one_line(title.replace("_", " ")))
        self._progress.update(self._task, description=shown, completed=share)

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()
            interrupts.drop(_show_cursor)


def _show_cursor() -> None:
    """Clear the line of the progress bar and show the cursor again."""
    with contextlib.suppress(OSError):
        os.write(2, b"\r\x1b[2K\x1b[?25h")
