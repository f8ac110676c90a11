"""Run the gates of a file: `sqlmetrics test FILE`.

The file is TOML. Its keys are the options of evaluate and compare without dashes in front, and
`metrics`. Keys at the top apply to every test. A test is a table `[evaluate]` or `[compare]`, or
one of several tables `[[evaluate]]` or `[[compare]]`.

Somebody else may have written the file, so it is read as a record is: it cannot choose the engine
and its connection, and the user must agree to the files and the SQL that it names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sqlmetrics.cli import markdown
from sqlmetrics.cli.arguments import asked_of, conventions_of, evaluator_of, lists_of
from sqlmetrics.cli.formats import has_summary, rendered
from sqlmetrics.cli.junit import FAILED, PASSED
from sqlmetrics.cli.options import TABLES
from sqlmetrics.cli.output import Gates, comparison
from sqlmetrics.cli.recorded import let_read
from sqlmetrics.cli.replay import Reads
from sqlmetrics.engines.database_files import has_query
from sqlmetrics.errors import GateError, UsageError, suggestion
from sqlmetrics.files import check_not_read
from sqlmetrics.rows import NUMBER, TEXT, Rows
from sqlmetrics.texts.terminal import one_line
from sqlmetrics.texts.wording import by_number

if TYPE_CHECKING:
    from sqlmetrics.evaluator import Evaluator

NAME = "name"
# parameters that choose the output, which is that of the command test
_OF_OUTPUT = {
    "kind", "digits", "shown", "output", "force", "record", "from_record", "trust_record",
    "verify", "append", "tags", "per_user", "help",
}  # fmt: skip
# parameters that choose where statements run and where their data go
_OF_ENGINE = {"engine", "master", "temp_directory"}


@dataclass(frozen=True)
class Case:
    """A test of a file.

    Attributes:
        name: the name of the test in results and messages.
        command: the command that computes the result, "evaluate" or "compare".
        options: the values of the command's parameters, by the name of the parameter.
    """

    name: str
    command: click.Command
    options: Mapping[str, Any]


class Suite:
    """The tests of a file, and their verdicts.

    Args:
        path: the file.
        typed: further options of the command line, which override those of the file.
        output: the file for the verdicts; None for stdout.
        trusted: whether to read the files that `path` names without asking.

    Raises:
        UsageError: the file cannot be read, is also the output, has an unknown key or a test
            without gates, or names files that the user does not want to read.
    """

    def __init__(
        self,
        path: str,
        commands: Mapping[str, click.Command],
        typed: Sequence[str],
        output: str | None = None,
        trusted: bool = False,
    ) -> None:
        if output:
            check_not_read(Path(output), {path: "tests"}, "the {} are")
        self._path, self._output = path, output
        self._tests = list(_tests_of(path, commands))
        self._reads = Reads()
        self._options = [self._parsed(test, typed) for test in self._tests]
        let_read(path, path, self._reads.named, trusted, "--trust-file")
        self.failed: list[str] = []  # the reasons
        self._n_failed = 0

    def _parsed(self, test: Case, typed: Sequence[str]) -> dict[str, Any]:
        """Return the options of a test, as click parses those of a command line."""
        defaults = {name: value for name, value in test.options.items() if name != "metrics"}
        name = str(test.command.name)
        current = click.get_current_context(silent=True)  # its options for help have two names
        parent = None if current is None else current.find_root()
        try:
            context = test.command.make_context(
                name, list(typed), parent=parent, default_map=defaults
            )
        except click.UsageError as error:
            raise UsageError(f"{self._path}, {test.name}: {error.format_message()}") from None
        for parameter in context.command.params:
            source = context.get_parameter_source(str(parameter.name))
            if parameter.name in _OF_OUTPUT and source is ParameterSource.COMMANDLINE:
                raise UsageError(
                    f"{parameter.opts[-1]} does not apply to sqlmetrics test; remove it"
                )
        options = context.params
        options["metrics"] = options["metrics"] or tuple(test.options.get("metrics", ()))
        if not (options["fail_if"] or options["fail_on_warnings"]):
            raise UsageError(
                f"{self._path}, {test.name}: the test cannot fail; add fail-if or fail-on-warnings"
            )
        of_file = {
            key: value
            for key, value in options.items()
            if context.get_parameter_source(key) is ParameterSource.DEFAULT_MAP
        }
        _add_reads(self._reads, name, of_file, lists_of(options["recommendations"]))
        return options

    def run(self) -> Rows:
        """Run the tests, and return a row per gate and row of a result."""
        found: list[tuple[Any, ...]] = []
        for test, options in zip(self._tests, self._options, strict=True):
            gates = Gates(options)
            self._compute(test, options, gates)
            found += [
                (
                    FAILED if verdict.problem else PASSED,
                    *(test.name, verdict.place, verdict.gate.column, verdict.number),
                    verdict.gate.text,
                )
                for verdict in gates.verdicts
            ]
            if options["fail_on_warnings"]:
                verdict = FAILED if gates.n_warnings else PASSED
                of_tables = ("tables", "warnings", gates.n_warnings, "fail-on-warnings")
                found.append((verdict, test.name, *of_tables))
            try:
                gates.check()
            except GateError as error:
                self._n_failed += 1
                self.failed += [f"{one_line(test.name)}: {reason}" for reason in error.reasons]
        names = ["verdict", "test", "row", "column", "number", "gate"]
        return Rows(names, [TEXT, TEXT, TEXT, TEXT, NUMBER, TEXT], found)

    def _compute(self, test: Case, options: dict[str, Any], gates: Gates) -> None:
        """Compute the result of a test; `gates` keeps the verdicts."""
        metrics = options["metrics"]
        if test.command.name == "compare":
            options, compute = comparison(metrics, options)
        else:

            def compute(evaluator: Evaluator) -> Any:
                return evaluator.rows(**asked_of(evaluator.evaluate, metrics, options))

        with evaluator_of({**options, "output": self._output}) as evaluator:
            gates.result_of(compute, evaluator)

    def text(self, rows: Rows, kind: str, digits: int | None) -> str:
        """Lay out the verdicts; GitHub gets signs and a summary."""
        if not has_summary(kind):
            return rendered(rows, kind, digits)
        signs = {PASSED: markdown.PASSED, FAILED: markdown.FAILED}
        values = [(signs[verdict], *row) for verdict, *row in rows.values]
        head = markdown.summary(self._n_failed, len(self._tests), "test")
        return f"{head}\n{rendered(Rows(rows.names, rows.kinds, values), kind, digits)}"

    def check(self) -> None:
        """Raise a GateError if a test failed."""
        if self.failed:
            n_all = len(self._tests)
            found = f"{self._n_failed} of {n_all} {by_number(n_all, 'test|tests')} failed"
            raise GateError("\n  ".join([found, *self.failed]), reasons=self.failed)


def _add_reads(reads: Reads, command: str, of_file: Mapping[str, Any], lists: Any) -> None:
    """Add what options that are not typed read, and the SQL that they run; `lists` may be typed."""

    def add(what: str, source: str) -> None:
        reads.add(f"{what} (SQL that is run)" if has_query(source) else what, [source])

    models = lists if isinstance(lists, dict) else {}
    if "recommendations" in of_file:
        if not models:
            add("recommendations", lists)
        for model, source in models.items():
            add(f"recommendations of {model}", source)
    for table in ("database", "scored", *(table for table, _, _ in TABLES)):
        source = of_file.get(table)
        # the baseline of a comparison is the name of a model
        is_model = table == "baseline" and (command == "compare" or source in models)
        if source is not None and not is_model:
            add(table, source)
    reads.add("templates (SQL that is run)", of_file.get("templates", ()))
    conventions = conventions_of(of_file.get("conventions", ()))
    names = [conventions] if isinstance(conventions, str) else conventions
    reads.add_conventions("convention", names)
    reads.add_conventions("fallback", [of_file["fallback"]] if of_file.get("fallback") else [])


def _tests_of(path: str, commands: Mapping[str, click.Command]) -> Iterator[Case]:
    content = _read(path)
    shared = {key: value for key, value in content.items() if key not in commands}
    known = {key for command in commands.values() for key in _keys(command)}
    _check_keys(path, "", shared, known, [*known, *commands])
    for command, given in content.items():
        if command not in commands:
            continue
        sections = given if isinstance(given, list) else [given]
        for number, section in enumerate(sections, start=1):
            if not isinstance(section, Mapping):
                raise UsageError(f"{path}: {command} is not a table; write [{command}]")
            name = command if len(sections) == 1 else f"{command} {number}"
            keys = _keys(commands[command])
            _check_keys(path, f", {name}", section, {*keys, NAME}, [*keys, NAME])
            values = {**{key: shared[key] for key in shared if key in keys}, **section}
            name = str(values.pop(NAME, name))
            options = {
                str(keys[key].name): _value(keys[key], value, f"{path}, {name}: {key}")
                for key, value in values.items()
            }
            yield Case(name, commands[command], options)
    if not any(command in content for command in commands):
        raise UsageError(f"{path}: the file has no test; add a table [evaluate] or [compare]")


def _read(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None


def _keys(command: click.Command) -> dict[str, click.Parameter]:
    """Map the keys of files to the parameters of a command: `memory-limit`, `k`, `metrics`."""
    keys = {}
    for parameter in command.params:
        if parameter.name not in _OF_OUTPUT | _OF_ENGINE:
            is_option = isinstance(parameter, click.Option)
            longest = max(parameter.opts, key=len) if is_option else str(parameter.name)
            keys[longest.lstrip("-")] = parameter
    return keys


def _check_keys(
    path: str, where: str, given: Mapping[str, Any], known: set[str], names: Sequence[str]
) -> None:
    for key in given:
        if (name := key.replace("-", "_")) in _OF_ENGINE:
            raise UsageError(
                f"{path}{where}: a file cannot set {key!r}; pass --{name.replace('_', '-')} on the "
                f"command line, or set the environment variable SQLMETRICS_{name.upper()}"
            )
        if key not in known:
            raise UsageError(
                f"{path}{where}: unknown key {key!r}; keys are metrics and the options of evaluate "
                f"and compare, without the dashes in front{suggestion(key, names)}"
            )


def _value(parameter: click.Parameter, value: Any, what: str) -> Any:
    """Return the value of a key, in the form that click takes from its own configuration."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{what} must be true or false, not {value!r}")
        return value
    several = parameter.multiple or parameter.nargs == -1
    if isinstance(value, Mapping):
        if not several or "=" not in str(parameter.metavar):
            raise UsageError(f"{what} cannot be a table; write a text")
        value = [f"{name}={_text(entry, what)}" for name, entry in value.items()]
    texts = [_text(entry, what) for entry in (value if isinstance(value, list) else [value])]
    return texts if several else ",".join(texts)


def _text(value: Any, what: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{what} must be a text, a number or a list of them, not {value!r}")
