"""The process of a command line: exit codes, streams that are closed or full, and warnings."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

import click

from sqlmetrics import interrupts
from sqlmetrics.cli.spelling import spelled
from sqlmetrics.errors import SqlmetricsError, SqlmetricsWarning, suggestion
from sqlmetrics.terminal import say, visible

_READER_GONE = 141  # what shells say of SIGPIPE: the reader of a pipe has closed it


def _exit_code(run: Callable[[], Any]) -> int:
    """Run a command line; whatever happens is one clear message at most, and an exit code."""
    try:
        with _written_whole(), _warnings_on_stderr():
            code = run()
        sys.stdout.flush()
        return code or 0
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
        return error.exit_code
    except SqlmetricsError as error:
        say(f"error: {spelled(error)}")
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return interrupts.EXIT_CODE
    except MemoryError:
        say(
            "error: the system gave no more memory; split the users with --partitions N, or give "
            "the engine less with --memory-limit"
        )
        return 1
    except BrokenPipeError:
        return _READER_GONE
    except OSError as error:
        say(f"error: the result cannot be written: {error}")
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            _drop_unwritten(stream)


@contextlib.contextmanager
def _past_click() -> Iterator[None]:
    """Let exceptions that click would handle in its own way reach `_exit_code`."""
    try:
        yield
    except BrokenPipeError as error:
        raise click.exceptions.Exit(_READER_GONE) from error
    except KeyboardInterrupt as error:
        say("interrupted")
        raise click.exceptions.Exit(interrupts.EXIT_CODE) from error


def _drop_unwritten(stream: TextIO) -> None:
    """Let Python not try again, at exit, to write what could not be written."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # a stream without a number, as in tests
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def _written_whole() -> Iterator[None]:
    """Write all of a result, or fail.

    Without a buffer (PYTHONUNBUFFERED), what a full disk does not take is dropped without an error.
    """
    import io

    before = sys.stdout
    raw = getattr(before, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        yield
        return
    buffered = open(  # noqa: SIM115 - closed below, where it may fail
        raw.fileno(), "w", encoding=before.encoding, errors=before.errors, closefd=False
    )
    sys.stdout = buffered
    try:
        yield
        buffered.flush()
    finally:
        sys.stdout = before
        with contextlib.suppress(OSError):
            buffered.close()


@contextlib.contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Show our own warnings as messages, each of them; others as Python does."""

    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, SqlmetricsWarning):
            say(spelled(message))
        else:
            others(visible(str(message)), category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", SqlmetricsWarning)
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _visible_errors() -> Iterator[None]:
    """Show control characters in what click says of the arguments, such as an unknown option."""
    try:
        yield
    except click.UsageError as error:
        text = error.format_message()
        if visible(text) == text:
            raise
        raise click.UsageError(visible(text), error.ctx) from error


class CommandGroup(click.Group):
    """Commands in the order of use; the closest names where one is mistyped."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line, and end the process with its exit code."""
        run = functools.partial(super().main, args, prog_name, complete_var, False, **extra)
        return sys.exit(_exit_code(run)) if standalone_mode else run()

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read what is given before the name of the command."""
        with _past_click(), _visible_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _past_click(), _visible_errors():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands in the order of use."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; a mistyped name is answered with the closest ones."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            close = suggestion(args[0], self.commands)
            ctx.fail(f"no such command {args[0]!r}{close}")
        return super().resolve_command(ctx, args)
