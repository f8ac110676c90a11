"""The commands. Results go to stdout, messages to stderr."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sqlmetrics.cli import options as shared
from sqlmetrics.cli.arguments import (
    asked_of,
    conventions_of,
    cutoffs_of,
    evaluator_of,
    pairs_of,
    with_names,
)
from sqlmetrics.cli.formats import rendered
from sqlmetrics.cli.history import append_values, is_appended
from sqlmetrics.cli.output import (
    check_not_parquet,
    comparison,
    default_format,
    evaluator_or_error,
    show_rows,
    verify_values,
    write,
    write_changes,
    write_text,
    write_values,
)
from sqlmetrics.cli.process import Command, CommandGroup
from sqlmetrics.cli.recorded import as_recorded
from sqlmetrics.cli.spelling import on_command_line
from sqlmetrics.errors import (
    DataError,
    UsageError,
    suggestion,
)
from sqlmetrics.sql.dialects import DIALECTS, NATIVE
from sqlmetrics.texts.masking import masked
from sqlmetrics.texts.terminal import show
from sqlmetrics.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.checks.validate import Finding
    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.rows import Rows
    from sqlmetrics.sql.dialects import Dialect

_EXAMPLE = """
\b
Example:
  sqlmetrics evaluate -r recs.parquet -i test.parquet ndcg@10 recall map -k 5,10
"""


_START = """
\b
Example:
  sqlmetrics evaluate -r recs.parquet -i test.parquet ndcg@10 recall@10
  sqlmetrics evaluate --help
"""

_COMPARISON = """
\b
Example:
  sqlmetrics compare -r als=als.parquet -r popular=popular.parquet -i test.parquet \\
      --baseline popular ndcg@10 recall@10 --fail-if "ndcg@10 ci_low < -1%"
"""


_WIDTH = 79  # of a terminal


@click.group(
    cls=CommandGroup,
    epilog=_START,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__)
def main() -> None:
    """Evaluate recommender systems with readable SQL, on files and database tables."""


@main.command(epilog=_EXAMPLE)
@shared.question_options
@shared.summary_options
@shared.check_option
@shared.gate_options
@shared.record_options
@shared.columns_option
@shared.tracked_output_options
@shared.history_options
@shared.option(
    "Checks and gates",
    "--verify",
    is_flag=True,
    help="Compute the values for 100 users in the database and in DuckDB, and list those that "
    "differ; exit with code 1 if any value differs.",
)
def evaluate(metrics: tuple[str, ...], verify: bool, **options: Any) -> None:
    """Compute the mean of METRICS (e.g. ndcg@10) over users.

    Without METRICS, compute hit_rate, map, mrr, ndcg, precision and recall at cutoff 10. The name
    all stands for every metric except those of ratings and probabilities.
    """
    metrics, options = as_recorded("evaluate", metrics, options)
    if verify:
        verify_values(metrics, options)
    elif is_appended(options):
        append_values(metrics, options)
    else:
        write_values(metrics, options, per_user=False)


_TREND = """
\b
Example:
  sqlmetrics trend metrics.duckdb:results ndcg@10 --by country --last 30
"""


@main.command(epilog=_TREND)
@click.argument("history")
@click.argument("metric")
@click.option("--by", multiple=True, metavar="NAMES", help="Split the changes by these slices.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Show the last N runs only.")
@click.option(
    "--plot", metavar="FILE", help="Also write a chart of the values to FILE (.html .png .svg)."
)
@shared.tags_option
@shared.confidence_option
@shared.output_options
def trend(history: str, metric: str, **options: Any) -> None:
    """Show METRIC, and its changes, over the runs of HISTORY.

    HISTORY is the history of results that evaluate --append writes: FILE.duckdb:TABLE or FOLDER/.
    Changes are relative to the previous run. Slices (--by) split a change into four columns, which
    add up to it: within (other values in the slice), mix (another share of users), appeared and
    disappeared (slices of one of the two runs only).
    """
    from sqlmetrics.cli.history import show_trend

    show_trend(history, metric, options)


@main.command("per-user")
@shared.question_options
@shared.long_option
@shared.check_option
@shared.record_options
@shared.columns_option
@shared.output_options
def per_user(metrics: tuple[str, ...], **options: Any) -> None:
    """Compute the per-user values of METRICS.

    The result has one row per user, with a column per metric and cutoff.
    """
    metrics, options = as_recorded("per_user", metrics, options)
    write_values(metrics, options, per_user=True)


@main.command()
@click.argument("metrics", nargs=-1)
@shared.input_options
@shared.convention_options
@shared.small_slice_options
@shared.option(
    "Checks and gates", "--strict", is_flag=True, help="Exit with code 1 on warnings too."
)
@shared.columns_option
@shared.output_options
def check(metrics: tuple[str, ...], strict: bool, **options: Any) -> None:
    """Check the tables for data problems.

    Errors are problems for which evaluate rejects the tables. Warnings are data problems that may
    distort results. Notes are other facts worth knowing. Name METRICS to check the tables for
    these metrics only; the default is every metric that the tables allow. With --by or --by-item,
    also warn of slices with few users. Exit with code 1 if there are errors.
    """
    from sqlmetrics.checks.survey import rows_of, unreadable
    from sqlmetrics.cli.layout import render_findings
    from sqlmetrics.run import looking

    check_not_parquet(options, "findings")
    findings: list[Finding] = []

    def compute(evaluator: Evaluator | DataError) -> Rows:
        if isinstance(evaluator, DataError):
            findings.append(unreadable(evaluator))
        else:
            asked = asked_of(looking.findings, metrics, options)
            findings.extend(evaluator.findings(**asked))
        return rows_of(findings, on_command_line)

    render = render_findings if options["shown"] is None else rendered
    write(options, compute, render=render, opened=evaluator_or_error(options))
    worst = {"error", "warning"} if strict else {"error"}
    if worst & {finding.level for finding in findings}:
        click.get_current_context().exit(1)


@main.command(epilog=_COMPARISON)
@shared.question_options
@shared.combinations_option
@shared.changed_options
@shared.test_options
@shared.power_options
@shared.over_option
@shared.interval_options
@shared.resampling_options
@shared.check_option
@shared.gate_options
@shared.record_options
@shared.columns_option
@shared.output_options
def compare(metrics: tuple[str, ...], **options: Any) -> None:
    """Compare every model with a baseline, user by user.

    Pass the name of the baseline model with --baseline. A gate (--fail-if) tests the column
    difference unless it names another one (ci_low, ci_high, value, p_adjusted, …). A NUMBER with %
    is relative to the value of the baseline. In a table, the result has the columns that fit into
    a terminal; --columns all shows the others.
    """
    from sqlmetrics.cli.layout import render_comparison
    from sqlmetrics.stats.decisions import ATTRIBUTE

    if options["worst"] or options["best"]:
        write_changes(metrics, options)
        return
    metrics, options = as_recorded("compare", metrics, options)
    how = f"{_test_of(options)}p < {1 - options['confidence']:.3g}"
    options, compute = comparison(metrics, options)

    def render(frame: pd.DataFrame, kind: str, digits: int | None) -> str:
        if kind != "table" or options["shown"] is not None:
            return rendered(frame, kind, digits)
        table = render_comparison(frame, digits, 1 - options["confidence"], how)
        sentences = [
            textwrap.fill(sentence, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
            for sentence in frame.attrs.get(ATTRIBUTE, ())
        ]
        return "\n".join([table.rstrip("\n"), *sentences]) + "\n"

    write(options, compute, render=render)


def _test_of(options: Mapping[str, Any]) -> str:
    """Return the words for the test and the correction of the options."""
    correction = {"holm": "Holm-adjusted ", "bh": "Benjamini-Hochberg-adjusted ", "none": ""}
    if options.get("over", "users") != "users":
        paired = options["over"] == "paired_runs"
        of_runs = "paired t-test over runs" if paired else "Welch's t-test over runs"
        return f"{of_runs}, {correction[options['correction']]}"
    of_t = "paired z-test" if options.get("audit") else "paired t-test"
    test = {"t": of_t, "wilcoxon": "Wilcoxon's signed-rank test"}
    return f"{test.get(options['test'], options['test'])}, {correction[options['correction']]}"


_SUITE = """
\b
Example:
  sqlmetrics test gates.toml --trust-file -r new=new.parquet
"""


@main.command(
    "test",
    epilog=_SUITE,
    context_settings={"ignore_unknown_options": True},
    options_metavar="[OPTIONS OF evaluate OR compare]",
)
@click.argument("file")
@click.argument("typed", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.option(
    "--trust-file",
    is_flag=True,
    help="Do not ask before reading the files, and running the SQL, that FILE names.",
)
@shared.verdict_output_options
def run_tests(file: str, typed: tuple[str, ...], trust_file: bool, **options: Any) -> None:
    """Run the gates of a TOML FILE, which say when a model fails.

    The tables [evaluate] and [compare] of FILE are tests. Their keys are the options of these
    commands, and metrics. Keys at the top of FILE apply to all tests. Further options on the
    command line override those of FILE. The engine and its connection are options of the command
    line only. Exit with code 3 if a test fails.
    """
    from sqlmetrics.cli.suite import Suite

    check_not_parquet(options, "verdicts")
    tested = {"evaluate": evaluate, "compare": compare}  # the commands with gates
    suite = Suite(file, tested, typed, options["output"], trust_file)
    opened = contextlib.nullcontext()
    write(options, lambda _: suite.run(), None, suite.text, opened, "verdicts")
    suite.check()


@main.command()
@shared.question_options
@shared.combinations_option
@shared.against_option
@shared.alpha_option
@shared.test_options
@shared.no_interval_options
@shared.resampling_options
@shared.check_option
@shared.record_options
@shared.columns_option
@shared.output_options
def leaderboard(metrics: tuple[str, ...], **options: Any) -> None:
    """Rank the models by METRICS.

    The first metric decides the order. For each metric, the best model and the models that are not
    significantly worse are marked. With --against NAME, the models that are significantly better or
    worse than the model NAME are marked. --format latex is a table for papers.
    """
    from sqlmetrics.cli.layout import render_leaderboard
    from sqlmetrics.cli.paper import display_names

    metrics, options = as_recorded("leaderboard", metrics, options)
    than, sign = ("the best", ">=") if options["against"] is None else (options["against"], "<")
    how = (
        f"{_test_of(options)}p {sign} {options['alpha']:g}; metrics of the whole run are not tested"
    )
    names: dict[str, str] = {}

    def compute(evaluator: Evaluator) -> pd.DataFrame:
        frame = evaluator.leaderboard(**asked_of(evaluator.leaderboard, metrics, options))
        names.update(display_names(evaluator.catalog, frame))
        return frame

    write(
        options,
        compute,
        render=lambda frame, kind, digits: render_leaderboard(
            frame, kind, digits, how, than, names
        ),
    )


_TABLE = """
\b
Example:
  sqlmetrics leaderboard ndcg@10 -r 'ml/{model}.parquet' -i ml/test.parquet -o ml.csv
  sqlmetrics leaderboard ndcg@10 -r 'beauty/{model}.parquet' -i beauty/test.parquet -o beauty.csv
  sqlmetrics table ML-1M=ml.csv Beauty=beauty.csv --ranks --format latex
"""


@main.command(epilog=_TABLE)
@click.argument("datasets", nargs=-1, required=True, metavar="NAME=FILE…")
@click.option(
    "--ranks",
    is_flag=True,
    help="Add the mean rank of each model over the datasets, and tests whether ranks differ. "
    "Needs scipy.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="With --ranks, also draw the critical difference diagram to FILE (.html .png .svg).",
)
@shared.output_options
def table(datasets: tuple[str, ...], ranks: bool, plot: str | None, **options: Any) -> None:
    """Put the leaderboards of several datasets side by side.

    Every FILE is a result of sqlmetrics leaderboard, saved with -o as .csv, .json or .parquet. Each
    dataset has a block of columns with its own best values and marks.
    """
    from sqlmetrics.cli.datasets import Datasets

    read = Datasets.read(datasets, options["output"], ranks, plot)

    def compute(read: Datasets) -> pd.DataFrame:
        read.save_chart(plot, options["force"])
        return read.frame()

    write(options, compute, render=read.render, opened=contextlib.nullcontext(read))


_REPORT = """
\b
Example:
  sqlmetrics report -r als=als.parquet -r popular=popular.parquet -i test.parquet \\
      --history train.parquet --items items.parquet --users users.parquet -o report.html
"""


@main.command(epilog=_REPORT)
@shared.question_options
@shared.option(
    "Metrics",
    "--primary",
    metavar="METRIC[@K]",
    help="Metric that ranks the models, and the cutoff of comparisons; default: ndcg@10 or the "
    "closest match.",
)
@shared.alpha_option
@shared.test_options
@shared.confidence_option
@shared.cluster_option
@shared.check_option
@click.option(
    "--no-examples",
    is_flag=True,
    help="Omit example users and their lists; show aggregates only.",
)
@click.option("--title", metavar="TEXT", help="Title of the page.")
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="Page to write (.html), or - for stdout."
)
@shared.force_option
def report(metrics: tuple[str, ...], no_examples: bool, **options: Any) -> None:
    """Write an HTML report of METRICS.

    The report is one self-contained file with models, cutoffs, users, slices, items and the SQL.
    Without METRICS, it shows the default set, and the
    novelty, diversity and coverage metrics that the tables allow, at cutoffs 1, 3, 5 and 10.
    Without --by, it slices by columns of users with few distinct values and, if there is a history,
    by activity_group; without --by-item, by popularity.
    """
    from sqlmetrics.report import check_name
    from sqlmetrics.report.analysis import Question

    target = options["output"]

    def page() -> str:
        with evaluator_of(options) as evaluator:
            asked = asked_of(Question, metrics, options)
            asked |= {name: options[name] for name in ("check", "title")}
            return evaluator.report(examples=not no_examples, **asked).html

    if target != "-":
        check_name(target)
    write_text(target, options["force"], page)


class _SqlCommand(Command):
    """The command that prints statements: `sql split …` prints those of `split …`."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        """Parse the arguments, for the command whose statements are printed."""
        if args[:1] == ["split"]:
            return split.make_context("split", ["--sql", *args[1:]], parent, **more)
        return super().make_context(info_name, args, parent, **more)


@main.command(cls=_SqlCommand)
@shared.question_options
@shared.summary_options
@shared.option("Output", "--per-user", is_flag=True, help="Print the statement of per-user.")
@shared.long_option
@shared.option(
    "Output",
    "--dialect",
    type=click.Choice(DIALECTS),
    help="SQL dialect of the statement; default: that of the engine.",
)
@shared.option(
    "Metrics",
    "--physical",
    is_flag=True,
    help="Print the optimised statement that sqlmetrics runs on DuckDB; it returns the same rows.",
)
@shared.name_options
def sql(
    metrics: tuple[str, ...],
    per_user: bool,
    dialect: Dialect | None,
    physical: bool,
    **options: Any,
) -> None:
    """Print the SQL statement that computes METRICS.

    The statement runs without sqlmetrics, in DuckDB or a warehouse. In a warehouse, it reads tables
    by name: pass, for example, --recommendations-table analytics.recs. Add -r FILE, an export of
    that table, to take the columns and their types from the file. Without -r, the table is assumed
    to have user_id, item_id and rank (or the column of --column recommendations.score=NAME), and
    the other columns that --column maps. sqlmetrics sql split prints the statements of split.
    """
    from sqlmetrics.evaluator import Evaluator

    options = with_names(options)
    of_means, of_users = (
        asked_of(method, metrics, options) for method in (Evaluator.evaluate, Evaluator.per_user)
    )
    given = click.get_current_context().get_parameter_source
    for name in of_means:
        if per_user and name not in of_users and given(name) is ParameterSource.COMMANDLINE:
            option_name = "--" + name.replace("_", "-")
            raise UsageError(
                f"{option_name} applies to means over users only; remove it or --per-user"
            )
    if options["long"] and not per_user:
        raise UsageError("--long applies to per-user values only; add --per-user")
    with evaluator_of(options) as evaluator:
        text = evaluator.sql(
            per_user=per_user,
            dialect=dialect,
            physical=physical,
            **(of_users if per_user else of_means),
        )
    show(text, "data")


class _RecordedCommand(Command):
    """A command that keeps the arguments as typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.obj = list(args)
        return super().parse_args(ctx, args)


_PACKAGE = """
\b
Example:
  sqlmetrics dbt packages/sqlmetrics ndcg recall -k 10 --dialect snowflake \\
      --recommendations-table "{{ ref('recs') }}" --interactions-table "{{ ref('held_out') }}"
"""


@main.command(cls=_RecordedCommand, epilog=_PACKAGE)
@click.argument("directory", type=click.Path(path_type=Path))
@shared.question_options
@shared.summary_options
@shared.option(
    "Output",
    "--dialect",
    type=click.Choice(DIALECTS),
    default=NATIVE,
    help="SQL dialect of the warehouse that dbt uses.",
)
@shared.name_options
@click.option(
    "--name",
    default="sqlmetrics",
    help="Name of the package, and prefix of its model names.",
)
@click.option("--force", is_flag=True, help="Replace an existing package.")
@click.pass_obj
def dbt(
    typed: list[str],
    /,
    directory: Path,
    metrics: tuple[str, ...],
    dialect: Dialect,
    name: str,
    force: bool,
    **options: Any,
) -> None:
    """Write a dbt package that computes METRICS.

    DIRECTORY receives the models, their descriptions and tests. Name the tables as for sql.
    --recommendations-table "{{ ref('recs') }}" makes the model recs part of the dbt lineage;
    --recommendations-table analytics.recs is copied as a plain table name.
    """
    import shlex

    options = with_names(options)
    with evaluator_of(options) as evaluator:
        paths = evaluator.dbt(
            directory,
            dialect=dialect,
            name=name,
            command=masked(shlex.join(["sqlmetrics", "dbt", *typed])),
            force=force,
            **asked_of(evaluator.evaluate, metrics, options),
        )
    for path in paths:
        show(f"{path}\n", "data")


_ONE_USER = """
\b
Example:
  sqlmetrics user 42 ndcg@10 recall@10 -r recs.parquet -i test.parquet \\
      --items items.parquet --show title
"""


@main.command("user", epilog=_ONE_USER, short_help="Explain the values of one user.")
@click.argument("words", nargs=-1, required=True, metavar="ID METRICS...")
@shared.input_options
@shared.convention_options
@shared.option(
    "Metrics", "--show", multiple=True, metavar="COLUMNS", help="Columns of items to show."
)
@shared.option(
    "Metrics",
    "--worst",
    type=click.IntRange(min=1),
    metavar="N",
    help="Explain the N users (of each model) with the lowest values of the first metric, instead "
    "of ID.",
)
@shared.option(
    "Metrics",
    "--best",
    type=click.IntRange(min=1),
    metavar="N",
    help="Explain the N users with the highest values.",
)
@shared.option("Output", "--sql", "as_sql", is_flag=True, help="Print the statements instead.")
@shared.option("Output", "--dialect", type=click.Choice(DIALECTS), help="SQL dialect of --sql.")
@shared.name_options
@shared.option(
    "Output",
    "--format",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    help="Output format.",
)
def user(words: tuple[str, ...], **options: Any) -> None:
    """Explain the values of METRICS for the user ID.

    Show the list from the top, with its hits and the terms of each sum; the relevant items that are
    not in the top of the list; and the calculation of each value. With several key columns, ID is
    their values, separated by commas. Omit ID with --worst or --best.
    """
    from sqlmetrics.cli.one_user import explained

    options = with_names(options) if options["as_sql"] else options
    # warnings about whole tables come with the values of all users
    with evaluator_of({**options, "check": False}) as evaluator:
        is_data = options["as_sql"] or options["format"] == "json"
        show(explained(evaluator, words, options), "data" if is_data else "table")


@main.command()
@click.argument("metrics", nargs=-1)
@shared.input_options
@shared.option(
    "Metrics",
    "--from",
    "start",
    required=True,
    metavar="NAME|FILE",
    help="Convention to start from.",
)
@shared.option(
    "Metrics",
    "--to",
    "end",
    default="standard",
    metavar="NAME|FILE",
    help="Convention to end at.",
)
@shared.fallback_option
@shared.check_option
@shared.output_options
def explain(metrics: tuple[str, ...], start: str, end: str, **options: Any) -> None:
    """Explain why two conventions (libraries) differ.

    Each step changes one more setting that METRICS depend on. The column change shows how far the
    step moves the value on your tables.
    """
    write(
        options,
        lambda evaluator: evaluator.explain(
            **asked_of(evaluator.explain, metrics, {**options, "start": start, "end": end})
        ),
    )


_IDENTIFIED = """
\b
Example:
  sqlmetrics identify -r recs.parquet -i test.parquet map@10=0.7616 ndcg@10=0.41
"""
_NOT_IDENTIFIED = 4  # exit code


@main.command(
    epilog=_IDENTIFIED, short_help="Find the conventions (libraries) that give reported numbers."
)
@click.argument("numbers", nargs=-1, required=True)
@shared.input_options
@shared.tried_option
@shared.option(
    "Metrics",
    "--nearest",
    type=click.IntRange(min=1),
    default=3,
    metavar="N",
    help="Number of distinct values to show for a number that no convention gives.",
)
@shared.check_option
@shared.columns_option
@shared.output_options
def identify(
    numbers: tuple[str, ...], conventions: tuple[str, ...], nearest: int, **options: Any
) -> None:
    """Find the conventions that give NUMBERS, such as map@10=0.7616, to the digits of each number.

    A number is [MODEL:] METRIC[@K]=NUMBER[%]. If no convention gives a number, one setting of
    a convention is changed at a time. If nothing gives any of the numbers, write the nearest
    values and exit with code 4.
    """
    from sqlmetrics.cli.layout import render_identified

    found: list[bool] = []

    def compute(evaluator: Evaluator) -> pd.DataFrame:
        tried = conventions_of(conventions) if conventions else "all"
        frame = evaluator.identify(
            numbers,
            cutoffs_of(options),
            nearest=nearest,
            skip_missing=options["skip_missing"],
            convention=tried,
        )
        found.extend(frame["matches"])
        return frame

    def render(frame: pd.DataFrame, kind: str, digits: int | None) -> str:
        if kind != "table" or options["shown"] is not None:
            return rendered(frame, kind, digits)
        return render_identified(frame, digits)

    write({**options, "fallback": None}, compute, render=render)
    if not any(found):
        click.get_current_context().exit(_NOT_IDENTIFIED)


@main.command()
@click.argument("metrics", nargs=-1)
@shared.one_convention_option
@shared.fallback_option
@shared.set_option
@shared.templates_option
@click.option("-o", "--output", metavar="FILE", help="Write the script to FILE.")
@shared.force_option
def macros(
    metrics: tuple[str, ...],
    convention: str,
    fallback: str | None,
    settings: tuple[str, ...],
    templates: tuple[str, ...],
    output: str | None,
    force: bool,
) -> None:
    """Write table macros for the DuckDB shell.

    The script has one macro per metric. METRICS are names, or all. Without METRICS, the script has
    the default set.

    \b
    Run sqlmetrics macros -o sqlmetrics.sql; then, in DuckDB:
      .read sqlmetrics.sql
      FROM sm_evaluate('recs', 'truth', k := 10);
    """
    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.export.duckdb_macros import script

    def text() -> str:
        return script(
            Evaluator, metrics, convention=convention, settings=pairs_of("--set", settings),
            fallback=fallback, templates=templates,
        )  # fmt: skip

    write_text(output, force, text)


@main.command()
@click.argument("name", required=False)
@shared.templates_option
@shared.format_option
def conventions(name: str | None, templates: tuple[str, ...], kind: str | None) -> None:
    """List the conventions (libraries), or describe one.

    If NAME is a convention, show all its settings. If NAME is a metric, show the settings that each
    convention chooses for it.
    """
    from sqlmetrics.describe.conventions import (
        all_settings,
        choices,
        describe_convention,
        listing,
    )
    from sqlmetrics.metrics.catalog import Catalog
    from sqlmetrics.metrics.conventions import conventions as known
    from sqlmetrics.rows import Rows

    catalog = Catalog.load(templates)
    if name is not None and (name in known() or name.endswith(".toml")):
        if kind is not None:
            raise UsageError("--format does not apply to one convention, shown as text; remove it")
        show(describe_convention(catalog, name))
        return
    metrics = [*catalog.metrics, *catalog.aliases]
    if name is not None and name.lower() not in metrics:
        raise UsageError(
            f"{name!r} is neither a convention nor a metric{suggestion(name, [*known(), *metrics])}"
        )
    records = listing(catalog) if name is None else choices(catalog, name, all_settings(catalog))
    rows = Rows.of_records(records, prose=("release", "title"))
    show_rows(rows, kind)


@main.command("list", short_help="List the metrics.")
@click.argument("text", required=False)
@shared.templates_option
@click.option("--slices", is_flag=True, help="List the built-in slices of --by instead.")
@click.option("--stages", is_flag=True, help="List the stages that templates read instead.")
@shared.format_option
def list_metrics(
    text: str | None, templates: tuple[str, ...], slices: bool, stages: bool, kind: str | None
) -> None:
    """List all metrics, or those with TEXT in their name, family, title or settings.

    A table on a terminal has the names and titles only.
    """
    from sqlmetrics.describe import listing
    from sqlmetrics.metrics.catalog import Catalog
    from sqlmetrics.rows import Rows

    if slices and stages:
        raise UsageError("--slices and --stages list different things; remove one")
    listed = listing.slices if slices else listing.stages if stages else listing.metrics
    prose = ("aliases", "title", "settings")
    records = listed(Catalog.load(templates))
    if text is not None:
        wanted = text.lower()
        names = [next(iter(record.values())) for record in records]
        records = [record for record in records if wanted in " ".join(record.values()).lower()]
        if not records:
            raise UsageError(f"nothing is called {text!r}{suggestion(text, names)}")
    if (kind or default_format()) == "table":
        records = [
            {name: record[name] for name in (next(iter(record)), "title")} for record in records
        ]
    show_rows(Rows.of_records(records, prose), kind)


@main.command(short_help="Describe a metric or a slice: formula, settings and SQL.")
@click.argument("metric")
@shared.one_convention_option
@shared.templates_option
def describe(metric: str, convention: str, templates: tuple[str, ...]) -> None:
    """Describe a metric, slice or stage: settings and SQL.

    METRIC can have settings: 'ndcg(gain=exponential)@10'.
    """
    from sqlmetrics.describe.public import describe as description
    from sqlmetrics.metrics.catalog import Catalog

    show(description(Catalog.load(templates), metric, convention))


_SPLIT = """
\b
Example:
  sqlmetrics split events.parquet --by time --share 0.2 --gap 1d -o split/
  sqlmetrics split events.parquet --by last=1 --drop cold_items -o split/
"""


@main.command(epilog=_SPLIT)
@click.argument("events", required=False)
@shared.split_options
@shared.column_options
@shared.engine_options
@shared.option("Output", "--sql", "as_sql", is_flag=True, help="Print the statements instead.")
@shared.option("Output", "--dialect", type=click.Choice(DIALECTS), help="SQL dialect of --sql.")
@shared.option(
    "Tables",
    "--interactions-table",
    metavar="TABLE",
    help="For --sql: name of the table of events in the warehouse.",
)
@click.option("-o", "--output", metavar="FOLDER", help="Folder of the three files.")
@shared.force_option
def split(events: str | None, **options: Any) -> None:
    """Split EVENTS into a history and held-out interactions.

    EVENTS is a table with user_id, item_id and timestamp, and is read as the table interactions.
    The folder of -o receives history.parquet, interactions.parquet, and split.json with the
    numbers, which are also printed: rows, users, items, cold users and items, and leaks. Events
    with equal timestamps stay together: those at the border are held out. sqlmetrics sql split
    prints the statements.
    """
    from sqlmetrics.cli.split import split_events

    split_events(events, options)


@main.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--users", type=click.IntRange(min=1), default=500, help="Number of users.")
@click.option("--per-user", type=click.IntRange(min=1), default=20,
              help="Length of the lists.")  # fmt: skip
@click.option("--seed", type=int, default=1, help="Random seed.")
@click.option("--models", type=click.IntRange(1, 3), default=3, help="Number of models.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def demo(directory: Path, users: int, per_user: int, seed: int, models: int, force: bool) -> None:
    """Write example tables to DIRECTORY.

    The same seed gives the same tables.
    """
    from sqlmetrics.run.demo import write_demo

    paths = write_demo(
        directory, users=users, per_user=per_user, seed=seed, models=models, force=force
    )
    for path in paths:
        show(f"{path}\n", "data")
