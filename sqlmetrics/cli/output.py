"""Compute the results of commands, lay them out and write them."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlmetrics.cli.arguments import asked_of, evaluator_of
from sqlmetrics.cli.formats import (
    FORMATS,
    PARQUET,
    format_of,
    has_summary,
    rendered,
    suffixes_of,
    with_columns,
)
from sqlmetrics.errors import DataError, DataWarning, GateError, UsageError
from sqlmetrics.rows import Rows
from sqlmetrics.texts.terminal import say, show
from sqlmetrics.texts.wording import by_number

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.stats.gates import Verdict

# options for the result, which --verify does not show
_OF_RESULTS = ("fail_if", "fail_on_warnings", "record", "from_record")


@contextlib.contextmanager
def record_kept(options: Mapping[str, Any]) -> Iterator[Callable[[Any, Any], None]]:
    """Write the record of a result (--record), and compare it with that of --from-record.

    Yields a function that takes the evaluator and the result.

    Raises:
        DataError: the result differs from the result in the record of --from-record.
    """
    given, before = options.get("record"), options.get("recorded")
    if given in ("", "-") or (given is not None and _same(given, options["output"])):
        raise UsageError("--record: pass a file name, different from that of -o")
    if given is None and before is None:
        yield lambda *_: None
        return
    import json

    from sqlmetrics.files import whole_file
    from sqlmetrics.record.record import with_result

    kept: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        file = given and stack.enter_context(whole_file(Path(given), options["force"]))
        yield lambda evaluator, result: kept.append(with_result(evaluator.last_record, result))
        if file:
            text = json.dumps(kept[0], indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            file.write_text(text, encoding="utf-8", newline="")
    if before is not None:
        from sqlmetrics.record.diff import differences, message

        comparison = differences(before, kept[0])
        text = message(options["from_record"], comparison)
        if comparison.results:
            raise DataError(text)
        say(text)


class Gates:
    """The gates of a command, which fails after its result is written."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._fails_on_warnings = bool(options.get("fail_on_warnings"))
        self.failed: list[GateError] = []
        self.verdicts: list[Verdict] = []
        self.n_warnings = 0

    def result_of(self, compute: Callable[[Any], Any], evaluator: Any) -> Any:
        """Compute a result, and return it even if it fails a gate."""
        with self._counted_warnings():
            try:
                result = compute(evaluator)
            except GateError as error:
                self.failed.append(error)
                result = error.frame
        from sqlmetrics.run.gating import last_verdicts

        self.verdicts = last_verdicts(evaluator)
        return result

    def text(
        self,
        result: Any,
        kind: str,
        digits: int | None,
        render: Callable[[Any, str, int | None], str],
    ) -> str:
        """Lay out a result, with the verdicts in the format for GitHub."""
        n_warnings = self.n_warnings if self._fails_on_warnings else 0
        if not has_summary(kind) or not (self.verdicts or n_warnings):
            return render(result, kind, digits)
        from sqlmetrics.cli.markdown import with_verdicts

        return with_verdicts(Rows.of(result), self.verdicts, digits, n_warnings)

    def check(self) -> None:
        """Raise a GateError if the result fails a gate, or if there were data warnings."""
        reasons = [reason for error in self.failed for reason in error.reasons]
        lines = [str(error) for error in self.failed]
        if self._fails_on_warnings and self.n_warnings:
            noun = by_number(self.n_warnings, "warning|warnings")
            reasons.append(f"{self.n_warnings} data {noun} (--fail-on-warnings), shown above")
            lines.append(reasons[-1])
        if reasons:
            raise GateError("\n  ".join(lines), reasons=reasons)

    @contextlib.contextmanager
    def _counted_warnings(self) -> Iterator[None]:
        show = warnings.showwarning

        def counted(message: Warning | str, category: type[Warning], *args: Any) -> None:
            self.n_warnings += issubclass(category, DataWarning)
            show(message, category, *args)

        with warnings.catch_warnings():
            warnings.showwarning = counted  # type: ignore[assignment]
            yield


def _same(path: str, other: str | None) -> bool:
    """Return whether two paths name the same file, which need not exist."""
    return other is not None and os.path.realpath(path) == os.path.realpath(other)


def write_values(metrics: Sequence[str], options: Mapping[str, Any], per_user: bool) -> None:
    """Compute means over users or per-user values, and write them."""
    from sqlmetrics.evaluator import Evaluator

    method = Evaluator.per_user if per_user else Evaluator.evaluate
    asked = asked_of(method, metrics, options)

    def compute(evaluator: Evaluator) -> pd.DataFrame:
        return method(evaluator, **asked)

    def means(evaluator: Evaluator) -> Rows:
        return evaluator.rows(**asked)

    def write_parquet(evaluator: Evaluator, path: Path | str) -> None:
        values = {name: value for name, value in asked.items() if name != "fail_if"}
        evaluator.write_parquet(path, per_user=per_user, force=options["force"], **values)

    is_spark, target = options["engine"] == "spark", options["output"]
    # gates and --columns need the rows, which the engine would write
    in_memory = asked.get("fail_if") or options["shown"] is not None
    if is_spark and ((per_user and target not in (None, "", "-")) or "://" in str(target)):
        _write_with_spark(options, write_parquet)
    elif is_spark or (in_memory and _is_parquet(options)):
        write(options, compute)
    else:
        write(options, compute if per_user else means, write_parquet)


def _is_parquet(options: Mapping[str, Any]) -> bool:
    return str(options["output"]).endswith(".parquet")


def verify_values(metrics: Sequence[str], options: Mapping[str, Any]) -> None:
    """Write the means over users that differ from those of DuckDB; end with exit code 1 if any.

    Raises:
        UsageError: an option for the result, which this is not.
    """
    for name in _OF_RESULTS:
        if options.get(name):
            raise UsageError(
                f"--{name.replace('_', '-')} does not apply to --verify, which shows only what "
                "differs; remove it"
            )
    counts: list[int] = []

    def compute(evaluator: Evaluator) -> pd.DataFrame:
        found = evaluator.verify(**asked_of(evaluator.evaluate, metrics, options))
        counts.append(len(found))
        return found

    write(options, compute)
    if any(counts):
        click.get_current_context().exit(1)
    say("all values equal those of DuckDB")


def comparison(
    metrics: Sequence[str], options: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[[Evaluator], pd.DataFrame]]:
    """Return the options that open the evaluator of a comparison, and the comparison."""
    from sqlmetrics.evaluator import Evaluator

    asked = asked_of(Evaluator.compare, metrics, options)
    given = options["recommendations"]
    named = [text.partition("=")[0] for text in given] if isinstance(given, tuple) else []
    models = given if isinstance(given, dict) else named
    # otherwise, it names a value of the column model, not a table
    table = options["baseline"] if options["baseline"] in models else None
    return {**options, "baseline": table}, lambda evaluator: evaluator.compare(**asked)


# options that --worst and --best, which compare no whole models, refuse
_OF_COMPARISONS = (
    "by", "by_item", "combinations", "fail_if", "cluster", "over", "power", "detect",
    "record", "from_record",
)  # fmt: skip


def write_changes(metrics: Sequence[str], options: Mapping[str, Any]) -> None:
    """Write the users that changed most in a comparison, in tables with their lists.

    Raises:
        UsageError: options that apply to whole comparisons.
    """
    from sqlmetrics.cli.one_user import changed

    for name in _OF_COMPARISONS:
        if options[name] and options[name] != "users":  # the default of --over
            raise UsageError(
                f"--{name.replace('_', '-')} does not apply to the users of --worst and --best; "
                "remove it"
            )
    opened, _ = comparison(metrics, options)
    shows_table = options["output"] in (None, "-")
    shows_table &= (options["kind"] or default_format()) == "table" and options["shown"] is None
    lists: list[str] = []

    def compute(evaluator: Evaluator) -> pd.DataFrame:
        found, text = changed(evaluator, metrics, options, shows_table)
        lists.append(text)
        return found

    def render(frame: pd.DataFrame, kind: str, digits: int | None) -> str:
        text = rendered(frame, kind, digits)
        return f"{text}\n{lists[0]}" if kind == "table" and lists[0] else text

    write(opened, compute, render=render)


def _write_with_spark(
    options: Mapping[str, Any], write_parquet: Callable[[Any, str], None]
) -> None:
    """Let Spark write a folder of Parquet files to a path or URI."""
    target = options["output"]
    if options["shown"] is not None:
        raise UsageError("--columns does not apply to Spark, which writes all columns; remove it")
    named = Path(target).suffix and "://" not in target
    kind = format_of(Path(target), options["kind"]) if named else options["kind"]
    if kind not in (None, "parquet"):
        raise UsageError(
            f"-o {target}: Spark writes a folder of Parquet files, not {kind}; remove --format or "
            "the suffix"
        )
    with record_kept(options) as keep, evaluator_of(options) as evaluator:
        write_parquet(evaluator, target)
        keep(evaluator, None)


def write(
    options: Mapping[str, Any],
    compute: Callable[[Any], Any],
    write_parquet: Callable[[Any, Path], None] | None = None,
    render: Callable[[Any, str, int | None], str] = rendered,
    opened: AbstractContextManager[Any] | None = None,
    results: str = "",
) -> None:
    """Write the result of `compute` in the format and to the file of the options.

    Args:
        write_parquet: writes the result as Parquet straight from the engine.
        render: lays out the result as text.
        opened: opens the object passed to `compute`; by default, an evaluator.
        results: "verdicts" for those of a file of gates.
    """
    from sqlmetrics.files import whole_file

    path = _file_of(options["output"])
    given = options["kind"]
    kind = (given or default_format()) if path is None else format_of(path, given, results)
    shown = options.get("shown")
    if shown is not None and FORMATS[kind].of == "values":
        raise UsageError(f"--columns does not apply to --format {kind}, which has no columns")
    gates = Gates(options)
    with record_kept(options) as keep:
        with opened or evaluator_of(options) as evaluator:
            if path is not None and kind == "parquet" and write_parquet is not None:
                gates.result_of(lambda opened: write_parquet(opened, path), evaluator)
                keep(evaluator, path)
            else:
                file = whole_file(path, options["force"]) if path else contextlib.nullcontext()
                with file as temporary:
                    result = gates.result_of(compute, evaluator)
                    keep(evaluator, result)
                    chosen: Any = with_columns(result, shown)
                    if kind == "parquet":
                        chosen.attrs.clear()  # so that equal values give equal files
                        chosen.to_parquet(temporary, index=False)
                    else:
                        text = gates.text(chosen, kind, options["digits"], render)
                        if temporary is not None:
                            temporary.write_text(text, encoding="utf-8", newline="")
        if path is None:
            show(text, FORMATS[kind].kind)
    gates.check()


def _file_of(target: str | None) -> Path | None:
    if target == "":
        raise UsageError("-o: the file name is empty")
    return None if target in (None, "-") else Path(str(target))


def write_text(target: str | None, force: bool, text: Callable[[], str]) -> None:
    """Write a text for programs to a file, or to stdout for None and -."""
    from sqlmetrics.files import whole_file

    path = _file_of(target)
    if path is None:
        show(text(), "data")
        return
    # a file that cannot be written is refused before the text, which takes seconds
    with whole_file(path, force) as temporary:
        temporary.write_text(text(), encoding="utf-8", newline="")


@contextlib.contextmanager
def evaluator_or_error(options: Mapping[str, Any]) -> Iterator[Evaluator | DataError]:
    """Open an evaluator, or yield the error if validation rejects the tables."""
    with contextlib.ExitStack() as stack:
        opened: Evaluator | DataError
        try:
            opened = stack.enter_context(evaluator_of(options))
        except DataError as error:
            opened = error
        yield opened


def check_not_parquet(options: Mapping[str, Any], what: str) -> None:
    """Raise a UsageError if the output is a Parquet file."""
    if _is_parquet(options):
        *others, last = [name for name in suffixes_of(what) if name not in PARQUET.suffixes]
        raise UsageError(
            f"-o: {what} cannot be written as Parquet; use {', '.join(others)} or {last}"
        )


def show_rows(rows: Rows, kind: str | None) -> None:
    """Write rows to stdout; by default as a table on a terminal, and as CSV in a pipe."""
    kind = kind or default_format()
    show(rendered(rows, kind, None), FORMATS[kind].kind)


def default_format() -> str:
    """Return the format of rows on stdout: a table on a terminal, CSV in a pipe."""
    return "table" if sys.stdout.isatty() else "csv"
