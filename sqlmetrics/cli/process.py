"""Run the command line: exit codes, errors of the output streams, and warnings."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

import click
from click.core import ParameterSource

from sqlmetrics import interrupts
from sqlmetrics.cli import spelling
from sqlmetrics.cli.options import GROUPS, RARE
from sqlmetrics.cli.spelling import commands_with, spelled
from sqlmetrics.errors import (
    DataWarning,
    SqlmetricsError,
    SqlmetricsWarning,
    UsageError,
    long_forms,
    suggestion,
)
from sqlmetrics.texts.masking import masked
from sqlmetrics.texts.terminal import say, show, visible

_READER_GONE = 141  # exit code of shells for SIGPIPE: the reader closed the pipe


def _exit_code(run: Callable[[], Any]) -> int:
    """Run a command line and return its exit code; show at most one message for any failure."""
    try:
        with _written_whole(), _warnings_on_stderr():
            code = run()
        sys.stdout.flush()
        return code or 0
    except click.ClickException as error:
        is_help = isinstance(error, click.exceptions.NoArgsIsHelpError)
        if isinstance(error, click.UsageError) and not is_help:  # which quotes arguments
            text = visible(masked(error.format_message()))
            error = click.UsageError(text, error.ctx)
        with contextlib.suppress(OSError):
            error.show()
        return error.exit_code
    except SqlmetricsError as error:
        say(f"error: {spelled(error)}")
        for note in getattr(error, "__notes__", ()):
            say(note)
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return interrupts.EXIT_CODE
    except MemoryError:
        say(
            "error: out of memory; lower the memory of the engine with --memory-limit, so that it "
            "writes more data to disk"
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
    """Convert exceptions that click would handle itself, so that `_exit_code` handles them."""
    try:
        yield
    except BrokenPipeError as error:
        raise click.exceptions.Exit(_READER_GONE) from error
    except KeyboardInterrupt as error:
        say("interrupted")
        raise click.exceptions.Exit(interrupts.EXIT_CODE) from error


def _drop_unwritten(stream: TextIO) -> None:
    """Keep Python from writing again, at exit, output that could not be written."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # tests use streams without a descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def _written_whole() -> Iterator[None]:
    """Write the whole result to stdout, or fail.

    With PYTHONUNBUFFERED, Python silently drops output that does not fit on a full disk.
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
    """Show every warning of the package as a message, once; leave other warnings to Python."""
    others = warnings.showwarning
    shown: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, SqlmetricsWarning):
            text = spelled(message)
            if text not in shown:
                brief = message.in_brief if isinstance(message, DataWarning) else ""
                say(f"{brief} (sqlmetrics check explains)" if brief else text)
            shown.add(text)
        else:
            others(visible(masked(str(message))), category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", SqlmetricsWarning)
        warnings.showwarning = show
        yield


def _is_from_environment(ctx: click.Context, option: click.Parameter) -> bool:
    return ctx.get_parameter_source(str(option.name)) is ParameterSource.ENVIRONMENT


_MANY_OPTIONS = 11  # options of a command whose help has groups


def _show_all(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        ctx.meta[_HELP_ALL.name] = True
        show(f"{ctx.get_help()}\n")
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
    help="Show all options, including rare ones, and exit.",
)  # fmt: skip


class _Lines(click.types.StringParamType):
    """A text; an environment variable with several of them has one per line."""

    envvar_list_splitter = "\n"


# what to write for several values of an option that can be given once
_SEVERAL = {
    "cutoffs": " Separate cutoffs by commas, as in -k 5,10.",
    "key": " Separate columns by commas, as in --key user_id,session.",
    "policy": " For several policies, write {model} in the path.",
}
_SEVERAL_FILES = " For several files, give a glob or a folder."


class Command(click.Command):
    """A command whose options can be set by environment variables, such as SQLMETRICS_THREADS."""

    def __init__(self, *args: Any, **extra: Any) -> None:
        super().__init__(*args, **extra)
        for option in self.params:
            if isinstance(option, click.Option):
                longest = max(option.opts, key=len).lstrip("-")
                option.envvar = f"SQLMETRICS_{longest.replace('-', '_').upper()}"
                if option.multiple and option.type is click.STRING:
                    option.type = _Lines()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; the error for a value from the environment names the variable."""
        try:
            given = [*args]
            rest = super().parse_args(ctx, args)  # --help ends here
            self._check_given_once(ctx, given)
            return rest
        except click.NoSuchOption as error:
            if others := commands_with(error.option_name):
                text = f"{error.message} It is an option of {', '.join(others)}."
                raise click.UsageError(text, error.ctx) from error
            options = [param for param in self.params if isinstance(param, click.Option)]
            names = [name for option in options for name in option.opts]
            if not (short := long_forms(error.option_name, names)):
                raise
            close = dict.fromkeys([*short, *(error.possibilities or ())])
            text = f"{error.message} (Did you mean one of: {', '.join(map(repr, close))}?)"
            raise click.UsageError(text, error.ctx) from error
        except click.BadParameter as error:
            if isinstance(error.param, click.Option) and _is_from_environment(ctx, error.param):
                option = error.param.get_error_hint(ctx)
                error.param_hint = f"{option} (environment variable {error.param.envvar})"
            raise

    def _check_given_once(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Refuse a table or cutoffs that are given twice, of which click would take the last."""
        if ctx.resilient_parsing:
            return
        order = self.make_parser(ctx).parse_args(args=[*args])[2]
        for option in order:
            is_read = getattr(option, "group", "") == "Tables" or option.name == "cutoffs"
            is_single = isinstance(option, click.Option) and not (option.multiple or option.is_flag)
            if is_read and is_single and order.count(option) > 1:
                of_files = _SEVERAL_FILES if option.metavar == "FILE" else ""
                hint = _SEVERAL.get(str(option.name), of_files)
                raise click.UsageError(f"{option.opts[0]} must be given only once.{hint}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; usage errors are followed by the variables that set its options."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            names = [
                str(option.envvar) for option in self.params if _is_from_environment(ctx, option)
            ]
            if names:
                error.add_note(f"options set by environment variables: {', '.join(names)}")
            raise

    @property
    def has_groups(self) -> bool:
        """Return whether the help has groups, without rare options."""
        return sum(isinstance(param, click.Option) for param in self.params) >= _MANY_OPTIONS

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; --help-all precedes --help."""
        params = super().get_params(ctx)
        if self.has_groups:
            params.insert(len(self.params), _HELP_ALL)
        return params

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups, if there are many; rare options only for --help-all."""
        if not self.has_groups:
            super().format_options(ctx, formatter)
            return
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS}
        for option in options:
            is_shown = ctx.meta.get(_HELP_ALL.name) or option.name not in RARE
            record = option.get_help_record(ctx) if is_shown else None
            if record is not None:
                records[getattr(option, "group", GROUPS[-1])].append(record)
        for title, shown in records.items():
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


class CommandGroup(click.Group):
    """Command group that keeps the order of definition and suggests names for unknown commands."""

    command_class = Command

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, and let messages name its options."""
        super().add_command(cmd, name)
        spelling.register(str(name or cmd.name), cmd)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and exit with its exit code."""
        run = functools.partial(super().main, args, prog_name, complete_var, False, **extra)
        return sys.exit(_exit_code(run)) if standalone_mode else run()

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the arguments before the command name."""
        with _past_click():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _past_click():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """List the commands in the order of definition."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or fail with the closest names."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            from sqlmetrics.evaluator import Evaluator

            close = suggestion(args[0], self.commands)
            method = args[0].replace("-", "_")
            is_method = not method.startswith("_") and hasattr(Evaluator, method)
            if is_method and method.replace("_", "-") not in self.commands:
                close = f"; Evaluator.{method} is for Python only"
            ctx.fail(f"no such command {args[0]!r}{close}")
        return super().resolve_command(ctx, args)
