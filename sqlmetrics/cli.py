"""The command line. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from sqlmetrics.errors import (
    GateError,
    SqlmetricsError,
    SqlmetricsWarning,
    UsageError,
    suggestion,
)
from sqlmetrics.intervals import KINDS
from sqlmetrics.statistics import CORRECTIONS, TESTS

if TYPE_CHECKING:
    import pandas as pd
    from rich.progress import Progress

    from sqlmetrics.evaluator import Evaluator

FORMATS = ["table", "csv", "json", "jsonl", "markdown", "latex"]
_PROGRESS_AFTER = 1.0  # seconds until a progress bar appears

_TABLES = [
    ("interactions", ["-i", "--interactions"], "Held-out truth: user_id, item_id, [relevance]."),
    ("history", ["--history"], "Past interactions: user_id, item_id."),
    ("items", ["--items"], "Attributes of items: item_id, …"),
    ("users", ["--users"], "Attributes of users: user_id, …"),
    ("aspects", ["--aspects"], "Aspects of items: item_id, aspect."),
    ("baseline", ["--baseline"], "Other lists to compare with, or a NAME given with -r."),
    ("logs", ["--logs"], "Logged decisions: user_id, item_id, reward, [propensity]."),
]

_EXAMPLE = """
\b
Example:
  sqlmetrics evaluate -r recs.parquet -i test.parquet ndcg@10 recall map -k 5,10
"""


_COMPARISON = """
\b
Example:
  sqlmetrics compare -r als=als.parquet -r popular=popular.parquet -i test.parquet \\
      --baseline popular ndcg@10 recall@10 --fail-if "ndcg@10 ci_low < -1%"
"""

# which options are arguments of the methods of the evaluator
_PER_USER = ("by", "by_item", "skip_missing")
_OF_INTERVAL = ("ci", "confidence")
_RESAMPLED = ("resamples", "seed")
_EVALUATED = (*_PER_USER, "combinations", *_OF_INTERVAL, *_RESAMPLED, "run_ci")
_COMPARED = (*_PER_USER, "combinations", *_OF_INTERVAL, *_RESAMPLED, "test", "correction")


class _Command(click.Command):
    """A command whose errors are one clear message and the exit code of their kind."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_on_stderr():
                result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except SqlmetricsError as error:
            click.echo(f"sqlmetrics: error: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("sqlmetrics: interrupted", err=True)
            ctx.exit(130)
        except BrokenPipeError:
            sys.stderr.close()
            ctx.exit(141)
        except OSError as error:
            click.echo(f"sqlmetrics: error: the result cannot be written: {error}", err=True)
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - nothing is left to flush at exit
            ctx.exit(1)


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
            click.echo(f"sqlmetrics: {message}", err=True)
        else:
            others(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", SqlmetricsWarning)
        warnings.showwarning = show
        yield


class _Group(click.Group):
    """Commands in the order of use; the closest names where one is mistyped."""

    command_class = _Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            close = suggestion(args[0], self.commands)
            ctx.fail(f"no such command {args[0]!r}{close}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sqlmetrics")
def main() -> None:
    """Evaluate recommender systems with readable SQL, directly over Parquet."""


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_templates_option = click.option(
    "--templates", multiple=True, metavar="DIR", help="A folder with metrics of your own."
)

_input_options = _options(
    click.option(
        "-r",
        "--recommendations",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Lists to judge: user_id, item_id, rank or score. A path, glob, folder or - for "
        "stdin; repeat it as NAME=FILE for several models.",
    ),
    *[click.option(*names, table, metavar="FILE", help=text) for table, names, text in _TABLES],
    click.option("-k", "cutoffs", metavar="K", help="Cutoffs of metrics without one: 5,10 or 1:20"),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A choice that differs from the convention; METRIC.NAME=VALUE for one metric.",
    ),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME=COLUMN",
        help="The column that holds NAME; TABLE.NAME=COLUMN for one table.",
    ),
    click.option(
        "--key",
        default="user_id",
        metavar="NAMES",
        show_default=True,
        help="The columns that make a user, separated by commas.",
    ),
    _templates_option,
    click.option(
        "--trust-input", is_flag=True, help="Skip the checks that need a pass over the rows."
    ),
    click.option(
        "--skip-missing",
        is_flag=True,
        help="Leave out metrics that need a table or column that was not given.",
    ),
    click.option("--threads", type=click.IntRange(min=1), help="Threads of the engine."),
    click.option("--memory-limit", metavar="SIZE", help="Memory of the engine, such as 4GB."),
    click.option("--temp-directory", metavar="DIR", help="Where the engine puts what exceeds it."),
)

_fallback_option = click.option(
    "--fallback",
    metavar="NAME|FILE",
    help="The convention for metrics that the others do not have: standard.",
)

_convention_options = _options(
    click.option(
        "--convention",
        "conventions",
        multiple=True,
        metavar="NAMES|FILE",
        help="Whose definitions to use (default: standard); several names, separated by commas, "
        "give a row for each, and all every one there is.",
    ),
    _fallback_option,
)

_slice_options = _options(
    click.option(
        "--by",
        multiple=True,
        metavar="NAMES",
        help="A row for every slice: columns of users (or of recommendations or interactions, the "
        "same in all rows of a user), items.COLUMN, activity, activity_group, popularity, month.",
    ),
    click.option(
        "--by-item",
        multiple=True,
        metavar="NAMES",
        help="Slices of the relevant items: columns of items, or popularity, month.",
    ),
)

# what is asked for, of which tables, by whose definitions
_question_options = _options(
    click.argument("metrics", nargs=-1), _input_options, _convention_options, _slice_options
)

_combinations_option = click.option(
    "--combinations", is_flag=True, help="Also the slices by fewer of these columns, and by none."
)

_interval_options = _options(
    click.option(
        "--ci",
        type=click.Choice(KINDS),
        default="normal",
        show_default=True,
        help="The interval ci_low to ci_high.",
    ),
    click.option(
        "--confidence",
        type=float,
        default=0.95,
        show_default=True,
        metavar="P",
        help="Of the interval.",
    ),
)

_resampling_options = _options(
    click.option(
        "--resamples",
        type=int,
        default=1000,
        show_default=True,
        metavar="N",
        help="How often users are drawn, for bootstrap and randomization.",
    ),
    click.option(
        "--seed", type=int, default=1, show_default=True, help="The same seed, the same draws."
    ),
)

_summary_options = _options(
    _combinations_option,
    _interval_options,
    _resampling_options,
    click.option(
        "--run-ci",
        is_flag=True,
        help="With --ci bootstrap: also for metrics of the whole run (coverage, …), each computed "
        "anew for every resample.",
    ),
)

_test_options = _options(
    click.option(
        "--test",
        type=click.Choice(TESTS),
        default="t",
        show_default=True,
        help="The test of paired differences.",
    ),
    click.option(
        "--correction",
        type=click.Choice(CORRECTIONS),
        default="holm",
        show_default=True,
        help="Of the p-values, for their number.",
    ),
)

_output_options = _options(
    click.option(
        "--format",
        "kind",
        type=click.Choice(FORMATS),
        help="Default: a table on a terminal, CSV in a pipe.",
    ),
    click.option("--digits", type=click.IntRange(0, 17), help="Digits behind the point."),
    click.option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write to a file (.csv .json .jsonl .md .tex .txt .parquet).",
    ),
    click.option("--force", is_flag=True, help="Overwrite the file of -o."),
)


@main.command(epilog=_EXAMPLE)
@_question_options
@_summary_options
@_output_options
def evaluate(metrics: tuple[str, ...], **options: Any) -> None:
    """Compute METRICS (such as ndcg@10), averaged over users.

    Without METRICS: the default set at 10. The word all stands for every metric there is.
    """
    _result(metrics, options, per_user=False)


@main.command("per-user")
@_question_options
@_output_options
def per_user(metrics: tuple[str, ...], **options: Any) -> None:
    """Compute METRICS for every user."""
    _result(metrics, options, per_user=True)


@main.command(epilog=_COMPARISON)
@_question_options
@_combinations_option
@_test_options
@_interval_options
@_resampling_options
@click.option(
    "--fail-if",
    "gates",
    multiple=True,
    metavar="EXPRESSION",
    help="End with exit code 3 if a row is so: [MODEL:] METRIC[@K] [COLUMN] OP NUMBER[%].",
)
@_output_options
def compare(metrics: tuple[str, ...], gates: tuple[str, ...], **options: Any) -> None:
    """Compare every model with one of them, --baseline NAME: paired differences, user by user.

    A gate is about the column difference unless it names another (ci_low, ci_high, value,
    p_adjusted, …); with %, relative to the baseline's value.
    """
    from sqlmetrics.gate import failures

    chosen, cutoffs, asked = metrics or None, _cutoffs(options), _asked(options, *_COMPARED)
    asked["baseline"] = options["baseline"]
    if not any(given.startswith(f"{asked['baseline']}=") for given in options["recommendations"]):
        options["baseline"] = None  # a value of the column model, not another table
    failed: list[str] = []

    def compute(evaluator: Evaluator) -> pd.DataFrame:
        read = evaluator.gates(gates, chosen, cutoffs, baseline=asked["baseline"], ci=options["ci"])
        frame = evaluator.compare(chosen, cutoffs, **asked)
        failed.extend(failures(frame, read))
        return frame

    _write(options, compute)
    if failed:
        raise GateError("\n  ".join(["the comparison fails", *failed]))


@main.command()
@_question_options
@_combinations_option
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    metavar="P",
    help="An adjusted p-value below it makes a model significantly worse than the best.",
)
@_test_options
@_resampling_options
@_output_options
def leaderboard(metrics: tuple[str, ...], **options: Any) -> None:
    """Rank models: a row for each, the best of every metric and what is not worse marked."""
    from sqlmetrics.output import render_leaderboard

    asked = _asked(options, "alpha", *(name for name in _COMPARED if name not in _OF_INTERVAL))
    correction = {"holm": "Holm-adjusted ", "bh": "Benjamini-Hochberg-adjusted ", "none": ""}
    test = {"t": "paired t-test", "wilcoxon": "Wilcoxon's signed-rank test"}
    how = (
        f"{test.get(options['test'], options['test'])}, {correction[options['correction']]}"
        f"p >= {options['alpha']:g}; metrics of the whole run are not tested"
    )
    _write(
        options,
        lambda evaluator: evaluator.leaderboard(metrics or None, _cutoffs(options), **asked),
        render=lambda frame, kind, digits: render_leaderboard(frame, kind, digits, how),
    )


@main.command()
@_question_options
@_summary_options
@click.option("--per-user", is_flag=True, help="The statement behind per-user.")
def sql(metrics: tuple[str, ...], per_user: bool, **options: Any) -> None:
    """Print the statement that computes METRICS; it runs alone in the DuckDB shell."""
    asked = _asked(options, *(_PER_USER if per_user else _EVALUATED))
    if per_user:
        given = click.get_current_context().get_parameter_source
        for name in _EVALUATED:
            if name not in _PER_USER and given(name) is not ParameterSource.DEFAULT:
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} is about means over users; drop it, or --per-user")
    with _evaluator(options) as evaluator:
        text = evaluator.sql(metrics or None, _cutoffs(options), per_user=per_user, **asked)
    click.echo(text, nl=False)


@main.command()
@click.argument("metrics", nargs=-1)
@_input_options
@click.option(
    "--from", "start", required=True, metavar="NAME|FILE", help="The convention to start from."
)
@click.option(
    "--to",
    "end",
    default="standard",
    metavar="NAME|FILE",
    show_default=True,
    help="The convention to end at.",
)
@_fallback_option
@_output_options
def explain(metrics: tuple[str, ...], start: str, end: str, **options: Any) -> None:
    """Walk from one convention's number to another's, one setting at a time.

    Each step changes one setting that METRICS read, and stays changed; the column change says how
    much that moves the value on your tables.
    """
    _write(
        options,
        lambda evaluator: evaluator.explain(
            metrics or None,
            _cutoffs(options),
            start=start,
            end=end,
            skip_missing=options["skip_missing"],
        ),
    )


@main.command()
@click.argument("name", required=False)
@_templates_option
@click.option("--format", "kind", type=click.Choice(FORMATS), help="As of evaluate.")
def conventions(name: str | None, templates: tuple[str, ...], kind: str | None) -> None:
    """List the conventions; of one NAME: all that it chooses; of a metric: who chooses what."""
    import pandas as pd

    from sqlmetrics.catalog import Catalog
    from sqlmetrics.choices import choices, describe_convention, listing
    from sqlmetrics.convention import conventions as known
    from sqlmetrics.output import render_frame

    catalog = Catalog.load(templates)
    if name is not None and (name in known() or name.endswith(".toml")):
        if kind is not None:
            raise UsageError("--format is for tables; what a convention chooses is a text")
        click.echo(describe_convention(catalog, name), nl=False)
        return
    metrics = [*catalog.metrics, *catalog.aliases]
    if name is not None and name.lower() not in metrics:
        raise UsageError(
            f"{name!r} is neither a convention nor a metric{suggestion(name, [*known(), *metrics])}"
        )
    rows: Any = listing(catalog) if name is None else choices(catalog, name)
    click.echo(render_frame(pd.DataFrame(rows), kind or _default_format(), None), nl=False)


@main.command("list")
@_templates_option
@click.option("--slices", is_flag=True, help="What --by knows beside columns, instead.")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="As of evaluate.")
def list_metrics(templates: tuple[str, ...], slices: bool, kind: str | None) -> None:
    """List all metrics."""
    import pandas as pd

    from sqlmetrics.catalog import Catalog
    from sqlmetrics.output import render_frame

    catalog = Catalog.load(templates)
    rows = [
        {
            "metric": metric.name,
            "aliases": " ".join(metric.aliases),
            "family": metric.family,
            "title": metric.title,
            "settings": " ".join(metric.params),
        }
        for metric in catalog.metrics.values()
    ]
    if slices:
        rows = [
            {"slice": one.name, "of": one.of, "title": one.title, "settings": " ".join(one.params)}
            for one in catalog.slices.values()
        ]
    click.echo(render_frame(pd.DataFrame(rows), kind or _default_format(), None), nl=False)


@main.command()
@click.argument("metric")
@_templates_option
def describe(metric: str, templates: tuple[str, ...]) -> None:
    """Say how METRIC (or a slice) is computed: formula, settings, source and SQL."""
    from sqlmetrics.catalog import Catalog
    from sqlmetrics.describe import describe_metric, describe_slice
    from sqlmetrics.spec import parse_spec

    catalog, name = Catalog.load(templates), parse_spec(metric).metric
    texts = [describe_slice(catalog, name)] if name in catalog.slices else []
    if not texts or name in catalog.metrics:
        texts.insert(0, describe_metric(catalog, name))
    click.echo("\n".join(texts), nl=False)


@main.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--users", type=click.IntRange(min=1), default=500, show_default=True, help="Number of users."
)
@click.option("--per-user", type=click.IntRange(min=1), default=20, show_default=True,
              help="Length of the lists.")  # fmt: skip
@click.option(
    "--seed", type=int, default=1, show_default=True, help="The same seed, the same tables."
)
@click.option(
    "--models", type=click.IntRange(1, 3), default=3, show_default=True, help="Number of models."
)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def demo(directory: Path, users: int, per_user: int, seed: int, models: int, force: bool) -> None:
    """Write example tables to DIRECTORY, the same for the same seed."""
    from sqlmetrics.demo import write_demo

    paths = write_demo(
        directory, users=users, per_user=per_user, seed=seed, models=models, force=force
    )
    for path in paths:
        click.echo(str(path))


# ---- from options to an evaluator ---------------------------------------------------------------


def _result(metrics: Sequence[str], options: Mapping[str, Any], per_user: bool) -> None:
    chosen, cutoffs = metrics or None, _cutoffs(options)
    asked = _asked(options, *(_PER_USER if per_user else _EVALUATED))

    def compute(evaluator: Evaluator) -> pd.DataFrame:
        method = evaluator.per_user if per_user else evaluator.evaluate
        return method(chosen, cutoffs, **asked)

    def write_parquet(evaluator: Evaluator, path: Path) -> None:
        evaluator.write_parquet(
            path, chosen, cutoffs, per_user=per_user, force=options["force"], **asked
        )

    _write(options, compute, write_parquet)


def _asked(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Pick the options that are arguments of a method of the evaluator."""
    asked = {name: options[name] for name in names}
    for name in ("by", "by_item"):
        # commas separate names, but for those inside of parentheses
        parts = [part for text in asked[name] for part in re.split(r",(?![^(]*\))", text)]
        asked[name] = parts or None
    return asked


def _write(
    options: Mapping[str, Any],
    compute: Callable[[Evaluator], pd.DataFrame],
    write_parquet: Callable[[Evaluator, Path], None] | None = None,
    render: Callable[[pd.DataFrame, str, int | None], str] | None = None,
) -> None:
    """Write what `compute` returns where the options say; Parquet straight from the engine."""
    from sqlmetrics.output import format_of, render_frame, whole_file

    render = render or render_frame
    target = options["output"]
    if target == "":
        raise UsageError("-o: an empty file name")
    path = None if target in (None, "-") else Path(target)
    if path is None:
        kind = options["kind"] or _default_format()
    else:
        kind = format_of(path, options["kind"])
    with _evaluator(options) as evaluator:
        if path is not None and kind == "parquet" and write_parquet is not None:
            write_parquet(evaluator, path)
            return
        if path is not None:
            with whole_file(path, options["force"]) as temporary:
                frame = compute(evaluator)
                if kind == "parquet":
                    frame.to_parquet(temporary, index=False)
                else:
                    text = render(frame, kind, options["digits"])
                    temporary.write_text(text, encoding="utf-8")
            return
        text = render(compute(evaluator), kind, options["digits"])
    click.echo(text, nl=False)


def _default_format() -> str:
    return "table" if sys.stdout.isatty() else "csv"


def _cutoffs(options: Mapping[str, Any]) -> list[int] | None:
    from sqlmetrics.spec import parse_cutoffs

    return None if options["cutoffs"] is None else parse_cutoffs(options["cutoffs"])


@contextlib.contextmanager
def _evaluator(options: Mapping[str, Any]) -> Iterator[Evaluator]:
    from sqlmetrics.evaluator import Evaluator

    bar = _ProgressBar() if sys.stderr.isatty() else None
    given = [*options["recommendations"], *(options[table] for table, _, _ in _TABLES)]
    if sum(str(source).rpartition("=")[2] == "-" for source in given) > 1:
        raise UsageError("stdin (-) can be one table only: of -r, -i and the others, give - to one")
    tables: dict[str, Any] = {table: _path(options[table]) for table, _, _ in _TABLES}
    evaluator = Evaluator(
        recommendations=_recommendations(options["recommendations"]),
        **tables,
        convention=_conventions(options.get("conventions", ())),
        fallback=options["fallback"],
        settings=_pairs("--set", options["settings"]),
        columns=_pairs("--column", options["columns"]),
        key=[name.strip() for name in options["key"].split(",")],
        threads=options["threads"],
        memory_limit=options["memory_limit"],
        temp_directory=options["temp_directory"],
        templates=options["templates"],
        trust_input=options["trust_input"],
        watch=bar,
    )
    with evaluator, contextlib.closing(bar) if bar else contextlib.nullcontext():
        yield evaluator


def _conventions(values: Sequence[str]) -> list[str] | str:
    """Read --convention: names separated by commas, or a file."""
    names = [
        name.strip()
        for value in values
        for name in ([value] if Path(value).is_file() else value.split(","))
    ]
    if len(names) == 1:
        return names[0]
    return names or "standard"


def _path(text: str | None) -> str | None:
    if text == "":
        raise UsageError("an empty file name")
    return text


def _recommendations(values: Sequence[str]) -> Any:
    """Read -r: one source, or NAME=FILE for several models. What exists as a path is a path."""
    import glob

    if not values:
        return None
    named: dict[str, list[str]] = {}
    plain: list[str] = []
    for value in values:
        name, equals, path = value.partition("=")
        is_path = (
            value == "-"
            or Path(value).exists()
            or (glob.has_magic(value) and bool(glob.glob(value, recursive=True)))
        )
        if equals and name.isidentifier() and not is_path:
            if name in named:
                raise UsageError(f"-r gives the model {name} twice")
            named[name] = [_path(path) or ""]
        elif equals and not is_path and Path(path).exists():
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


def _pairs(option: str, values: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not name.strip() or not rest.strip():
            what = "NAME=COLUMN" if option == "--column" else "NAME=VALUE"
            raise UsageError(f"{option} {value}: write {what}")
        if name.strip() in pairs and pairs[name.strip()] != rest.strip():
            raise UsageError(f"{option} gives {name.strip()} twice")
        pairs[name.strip()] = rest.strip()
    return pairs


class _ProgressBar:
    """Shows on stderr what is being computed, once it takes longer than about a second."""

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
            self._progress.start()
        self._progress.update(self._task, description=title.replace("_", " "), completed=share)

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()


if __name__ == "__main__":
    main()
