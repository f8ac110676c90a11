"""Turn options of the command line into an evaluator, and into arguments of its methods."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics import interrupts
from sqlmetrics.cli.options import TABLES
from sqlmetrics.cli.spelling import spelled
from sqlmetrics.errors import UsageError
from sqlmetrics.files import check_not_read
from sqlmetrics.terminal import one_line, say

if TYPE_CHECKING:
    from rich.progress import Progress

    from sqlmetrics.evaluator import Evaluator

_PROGRESS_AFTER = 1.0  # seconds until a progress bar appears


def asked_of(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Pick the options that are arguments of a method of the evaluator."""
    asked = {name: options[name] for name in names}
    for name in ("by", "by_item"):
        # commas separate names, but for those inside of parentheses
        parts = [part for text in asked[name] for part in re.split(r",(?![^(]*\))", text)]
        asked[name] = parts or None
    return asked


def cutoffs_of(options: Mapping[str, Any]) -> list[int] | None:
    """Read -k."""
    from sqlmetrics.metrics.spec import parse_cutoffs

    return None if options["cutoffs"] is None else parse_cutoffs(options["cutoffs"])


@contextlib.contextmanager
def evaluator_of(options: Mapping[str, Any]) -> Iterator[Evaluator]:
    """Open an evaluator of the tables that were given, and close it, and Spark, in the end."""
    from sqlmetrics.evaluator import Evaluator

    bar = _ProgressBar() if sys.stderr.isatty() else None
    lists = options["recommendations"]
    several = lists if isinstance(lists, tuple) else ()
    given = [*several, *(options[table] for table, _, _ in TABLES)]
    if sum(str(source).rpartition("=")[2] == "-" for source in given) > 1:
        raise UsageError("stdin (-) can be one table only: of -r, -i and the others, give - to one")
    tables: dict[str, Any] = {
        "recommendations": lists_of(lists) if isinstance(lists, tuple) else lists,
        **{table: _path(options[table]) for table, _, _ in TABLES},
    }
    _check_outputs(options, tables)
    with _session(options) as session, _notes_on_stderr():
        evaluator = Evaluator(
            **tables,
            convention=conventions_of(options.get("conventions", ())),
            fallback=options["fallback"],
            settings=pairs_of("--set", options["settings"]),
            columns=pairs_of("--column", options["columns"]),
            where=pairs_of("--where", options["where"]),
            key=[name.strip() for name in options["key"].split(",")],
            threads=options["threads"],
            memory_limit=options["memory_limit"],
            temp_directory=options["temp_directory"],
            temp_limit=options["temp_limit"],
            partitions=options["partitions"],
            engine=session,
            templates=options["templates"],
            trust_input=options["trust_input"],
            check=options.get("check"),
            record=any(options.get(name) is not None for name in ("record", "from_record")),
            watch=bar,
        )
        closing = contextlib.closing(bar) if bar else contextlib.nullcontext()
        with evaluator, closing:
            yield evaluator


# options that name files to be read, beside those of tables
_OTHER_INPUTS = {
    "from_record": "record",
    "templates": "template",
    "conventions": "convention",
    "fallback": "convention",
}


def _check_outputs(options: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
    """Check that nothing is read from a file that is to be written, before anything is read.

    Raises:
        UsageError: one is.
    """
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
    """List the files that a source names: a path, folder or glob, or several of them."""
    if isinstance(source, Mapping):
        return [file for part in source.values() for file in _files_of(part)]
    if isinstance(source, list | tuple):
        return [file for part in source for file in _files_of(part)]
    if not isinstance(source, str):
        return []
    if os.path.isdir(source):
        return [str(path) for path in Path(source).rglob("*")]
    return [source] if os.path.exists(source) else glob.glob(source, recursive=True)


@contextlib.contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Show notes of the package about a run, such as the number of its partitions."""
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
    """Start a session of Spark for this command, if it is to run there."""
    if options["engine"] == "duckdb":
        if options["master"] is not None:
            raise UsageError("--master is of Spark: write --engine spark too")
        yield None
        return
    # said before Spark starts, which takes seconds
    limits = ("threads", "memory_limit", "temp_limit", "partitions")
    of_duckdb = [name for name in limits if options[name] is not None]
    if of_duckdb:
        names = " and ".join("--" + name.replace("_", "-") for name in of_duckdb)
        raise UsageError(
            f"{names}: of DuckDB, not of --engine spark; memory and processors of Spark are set "
            "where it is configured"
        )
    if options.get("partition") is not None:
        raise UsageError(
            "--partition: jobs without Spark share the users so; with --engine spark, Spark shares "
            "them itself"
        )
    from sqlmetrics.engines.open import open_session

    interrupts.unwind()  # Spark has to stop, and removes its files itself
    session = open_session(options["master"])
    try:
        yield session
    finally:
        session.stop()


def with_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Put the names of tables in a warehouse in place of files with the same columns."""
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

    parts = [name.partition("=") for name in names]
    of_models = [model for model, equals, _ in parts if equals and model.isidentifier()]
    if not of_models and len(names) == 1:
        if isinstance(like, dict):
            raise UsageError("-r names models: write --recommendations-table NAME=TABLE for each")
        return TableName(names[0], like)
    if len(of_models) < len(names):
        raise UsageError(
            "several --recommendations-table need names, one for each model: NAME=TABLE"
        )
    if len(set(of_models)) < len(names):
        raise UsageError("--recommendations-table gives a model twice")
    likes = like if isinstance(like, dict) else dict.fromkeys(of_models, like)
    if set(likes) != set(of_models):
        raise UsageError(
            f"-r names the models {', '.join(likes)}, --recommendations-table "
            f"{', '.join(of_models)}; name the same"
        )
    return {model: TableName(table, likes[model]) for model, _, table in parts}


def conventions_of(values: Sequence[str]) -> list[str] | str:
    """Read --convention: names separated by commas, or a file."""
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
        raise UsageError("an empty file name")
    return text


def lists_of(values: Sequence[str]) -> Any:
    """Read -r: one source, or NAME=FILE for several models. What exists as a path is a path."""
    if not values:
        return None
    named: dict[str, list[str]] = {}
    plain: list[str] = []
    for value in values:
        name, equals, path = value.partition("=")
        is_path = value == "-" or _is_path(value)
        if equals and name.isidentifier() and not is_path:
            if name in named:
                raise UsageError(f"-r gives the model {name} twice")
            named[name] = [_path(path) or ""]
        elif equals and not is_path and os.path.exists(path):
            raise UsageError(f"-r {value}: {name!r} cannot name a model; use letters, digits and _")
        else:
            plain.append(value)
    if named and plain:
        raise UsageError(f"-r {plain[0]} has no name and others have; write every -r as NAME=FILE")
    if named:
        return {name: paths[0] for name, paths in named.items()}
    if len(plain) > 1:
        raise UsageError("several -r need names, one for each model: -r NAME=FILE")
    return _path(plain[0])


def _is_path(value: str) -> bool:
    if os.path.exists(value):  # also of a name that is too long
        return True
    if not glob.has_magic(value):
        return False
    from sqlmetrics.tables.sources import matching_files

    with contextlib.suppress(OSError):  # said where it is read
        return bool(matching_files(value))
    return False


def pairs_of(option: str, values: Sequence[str]) -> dict[str, str]:
    """Read NAME=VALUE, as often as an option was given.

    Raises:
        UsageError: it has another form, or gives a name twice.
    """
    pairs: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not name.strip() or not rest.strip():
            forms = {"--column": "NAME=COLUMN", "--where": "TABLE=CONDITION"}
            raise UsageError(f"{option} {value}: write {forms.get(option, 'NAME=VALUE')}")
        if name.strip() in pairs and pairs[name.strip()] != rest.strip():
            hint = "; join the conditions with AND" if option == "--where" else ""
            raise UsageError(f"{option} gives {name.strip()} twice{hint}")
        pairs[name.strip()] = rest.strip()
    return pairs


class _ProgressBar:
    """Shows the running computation on stderr, after about a second."""

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
    """Clear the line of a progress bar, and show the cursor that it hides."""
    with contextlib.suppress(OSError):
        os.write(2, b"\r\x1b[2K\x1b[?25h")
