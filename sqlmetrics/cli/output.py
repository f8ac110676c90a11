"""Compute the results of commands, lay them out and write them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.cli.arguments import asked_of, cutoffs_of, evaluator_of
from sqlmetrics.cli.options import EVALUATED, PER_USER
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.terminal import say, show

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.rows import Rows


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
            file.write_text(text, encoding="utf-8")
    if before is not None:
        from sqlmetrics.record.diff import differences, message

        comparison = differences(before, kept[0])
        text = message(options["from_record"], comparison)
        if comparison.results:
            raise DataError(text)
        say(text)


def _same(path: str, other: str | None) -> bool:
    """Return whether two paths name the same file, which need not exist."""
    return other is not None and os.path.realpath(path) == os.path.realpath(other)


def write_part(metrics: Sequence[str], options: Mapping[str, Any]) -> None:
    """Compute one partition of the users and write its part."""
    if options["record"] is not None or options["from_record"] is not None:
        raise UsageError("--partition: a part has no record; remove --record and --from-record")
    if options["output"] in (None, "", "-"):
        raise UsageError("--partition: name the folder for the parts with -o FOLDER")
    for name in ("format", "digits"):
        if options["kind" if name == "format" else name] is not None:
            raise UsageError(
                f"--{name} does not apply to --partition; pass it to sqlmetrics reduce"
            )
    with evaluator_of(options) as evaluator:
        evaluator.write_partition(
            options["output"],
            options["partition"],
            metrics or None,
            cutoffs_of(options),
            force=options["force"],
            **asked_of(options, *EVALUATED),
        )


def write_values(metrics: Sequence[str], options: Mapping[str, Any], per_user: bool) -> None:
    """Compute means over users or per-user values, and write them."""
    from sqlmetrics.cli.layout import render_rows

    chosen, cutoffs = metrics or None, cutoffs_of(options)
    asked = asked_of(options, *(PER_USER if per_user else EVALUATED))
    if per_user:
        asked["partition"] = options["partition"]

    def compute(evaluator: Evaluator) -> pd.DataFrame:
        method = evaluator.per_user if per_user else evaluator.evaluate
        return method(chosen, cutoffs, **asked)

    def means(evaluator: Evaluator) -> Rows:
        return evaluator.rows(chosen, cutoffs, **asked)

    def write_parquet(evaluator: Evaluator, path: Path | str) -> None:
        evaluator.write_parquet(
            path, chosen, cutoffs, per_user=per_user, force=options["force"], **asked
        )

    if options["engine"] == "duckdb" and not per_user:
        write(options, means, write_parquet, render=render_rows)
    elif options["engine"] == "duckdb":
        write(options, compute, write_parquet)
    elif (per_user and options["output"] not in (None, "", "-")) or "://" in str(options["output"]):
        _write_with_spark(options, write_parquet)
    else:
        write(options, compute)


def _write_with_spark(
    options: Mapping[str, Any], write_parquet: Callable[[Any, str], None]
) -> None:
    """Let Spark write a folder of Parquet files to a path or URI."""
    from sqlmetrics.cli.layout import format_of

    target = options["output"]
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
    render: Callable[[Any, str, int | None], str] | None = None,
    opened: AbstractContextManager[Any] | None = None,
) -> None:
    """Write the result of `compute` in the format and to the file of the options.

    Args:
        write_parquet: writes the result as Parquet straight from the engine.
        render: lays out the result as text; by default, the result is a data frame.
        opened: opens the object passed to `compute`; by default, an evaluator.
    """
    from sqlmetrics.cli.layout import format_of, render_frame
    from sqlmetrics.files import whole_file

    render = render or render_frame
    target = options["output"]
    if target == "":
        raise UsageError("-o: the file name is empty")
    path = None if target in (None, "-") else Path(target)
    given = options["kind"]
    kind = (given or default_format()) if path is None else format_of(path, given)
    with record_kept(options) as keep:
        with opened or evaluator_of(options) as evaluator:
            if path is not None and kind == "parquet" and write_parquet is not None:
                write_parquet(evaluator, path)
                keep(evaluator, path)
                return
            if path is not None:
                with whole_file(path, options["force"]) as temporary:
                    frame = compute(evaluator)
                    keep(evaluator, frame)
                    if kind == "parquet":
                        frame.attrs.clear()  # so that equal values give equal files
                        frame.to_parquet(temporary, index=False)
                    else:
                        text = render(frame, kind, options["digits"])
                        temporary.write_text(text, encoding="utf-8")
                return
            result = compute(evaluator)
            keep(evaluator, result)
            text = render(result, kind, options["digits"])
        show(text, kind)


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


def default_format() -> str:
    """Return the format for stdout: table on a terminal, csv in a pipe."""
    return "table" if sys.stdout.isatty() else "csv"
