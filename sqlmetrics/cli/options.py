"""Define the options of the command line, in groups that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from sqlmetrics.cli.formats import choices_of, suffixes_of
from sqlmetrics.engines import database_urls
from sqlmetrics.stats.gaps import GAPS
from sqlmetrics.stats.intervals import KINDS
from sqlmetrics.stats.over_runs import OVER
from sqlmetrics.stats.paired_tests import CORRECTIONS, TESTS

ENGINES = ["duckdb", "spark"]
TABLES = [
    (
        "interactions",
        ["-i", "--interactions"],
        "Held-out interactions: user_id, item_id, [relevance].",
    ),
    ("history", ["--history"], "Past interactions: user_id, item_id."),
    ("items", ["--items"], "Item attributes: item_id, …"),
    ("users", ["--users"], "User attributes: user_id, [weight], …"),
    ("aspects", ["--aspects"], "Item aspects: item_id, aspect."),
    (
        "baseline",
        ["--baseline"],
        "Recommendations to compare with, or the NAME of a model given with -r.",
    ),
    ("logs", ["--logs"], "Logged rounds: [round_id], user_id, item_id, reward, [propensity]."),
    (
        "policy",
        ["--policy"],
        "New policy to evaluate from logs: round_id or user_id, item_id, probability, [predicted].",
    ),
    (
        "audit",
        ["--audit"],
        "Labels by people for some users, which correct the interactions: user_id, item_id, "
        "[relevance].",
    ),
]

GROUPS = (
    "Tables", "Metrics", "Rule of the split", "Definitions", "Slices and intervals",
    "Checks and gates", "Engine", "Output",
)  # fmt: skip


# options that only --help-all shows
RARE = frozenset({
    "aspects", "audit", "logs", "policy", "scored",
    *(f"{table}_table" for table, _, _ in TABLES),
    "correction", "fallback", "templates", "combinations", "gap", "resamples", "seed", "run_ci",
    "trust_input", "fail_on_warnings", "verify", "master", "temp_directory", "temp_limit",
    "from_record", "trust_record", "no_examples", "title", "detect", "best",
    "over",
})  # fmt: skip


class Option(click.Option):
    """An option of a command with many options; `group` is its heading in help texts."""

    def __init__(self, *args: Any, group: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group = group


def option(group: str, *names: str, **settings: Any) -> Callable[[Any], Any]:
    """Return the decorator that adds an `Option` to a command."""
    return click.option(*names, cls=Option, group=group, **settings)


_table, _metric, _rule, _definition, _slice, _check, _engine = (
    functools.partial(option, group) for group in GROUPS[:-1]
)


class EngineType(click.Choice[str]):
    """The name of an engine, or the URL of a database."""

    def __init__(self) -> None:
        super().__init__(ENGINES)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name or the URL; the error about another value hides its password."""
        text = str(value).strip()
        if not database_urls.is_url(text) and text not in self.choices:
            known = ", ".join(map(repr, self.choices))
            self.fail(
                f"{database_urls.shown(text)} is not one of {known}, or a URL that begins with "
                f"{database_urls.BEGINNINGS}; {database_urls.EXPORT}",
                param,
                ctx,
            )
        return text

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        """Return the values as the help shows them."""
        return f"[{'|'.join([*self.choices, 'URL'])}]"


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for add in reversed(options):
            function = add(function)
        return function

    return decorate


templates_option = _definition(
    "--templates", multiple=True, metavar="DIR", help="Directory with your own templates."
)

set_option = _definition(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Override a setting of the convention; METRIC.NAME=VALUE for one metric.",
)

force_option = click.option("--force", is_flag=True, help="Overwrite an existing output file.")

engine_options = _options(
    _engine("--threads", type=click.IntRange(min=1), help="Number of engine threads."),
    _engine("--memory-limit", metavar="SIZE", help="Memory limit of the engine, e.g. 4GB."),
    _engine(
        "--temp-directory", metavar="DIR", help="Directory for data that does not fit in memory."
    ),
    _engine(
        "--temp-limit",
        metavar="SIZE",
        help="Maximum total size of temporary files, e.g. 20GB; default: half of the free space "
        "in the temporary directory.",
    ),
)

split_options = _options(
    _rule(
        "--by",
        required=True,
        metavar="RULE",
        help="time: the events from one moment on are held out; last=N: the last N events of each "
        "user; last-share=S: the last share of the events of each user; random: pairs of user and "
        "item; users: users with all of their events.",
    ),
    _rule("--at", metavar="TIME", help="With time: the first held-out moment, e.g. 2024-03-01."),
    _rule(
        "--share",
        metavar="S",
        help="With time, random and users: the share of events, pairs or users to hold out.",
    ),
    _rule(
        "--rounding",
        type=click.Choice(["ceil", "floor", "round", "train"]),
        help="With last-share: how to round the number of held-out events (default: ceil); train "
        "rounds the number of events of the history, half to even.",
    ),
    _rule(
        "--gap",
        metavar="TIME",
        help="Omit the events of this time before the border, e.g. 12h or 1d; for timestamps that "
        "are numbers, a number in their unit.",
    ),
    _rule("--seed", type=int, help="With random and users: seed of the hash. Default: 1."),
    _rule(
        "--drop",
        multiple=True,
        metavar="NAMES",
        help="Held-out events to drop: cold_users and cold_items (not in the history), seen (in "
        "the history of the user).",
    ),
    _rule(
        "--core",
        metavar="N,M",
        help="Remove users with fewer than N items and items with fewer than M users from the "
        "history, until all of them have enough.",
    ),
    _rule(
        "--core-of",
        type=click.Choice(["history", "events"]),
        help="Apply the core to the history (default), or to all events, which leaks.",
    ),
)

# the columns and rows of tables
column_options = _options(
    _table(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME=COLUMN",
        help="Name of the source column to read as NAME; TABLE.NAME=COLUMN for one table.",
    ),
    _table(
        "--key",
        default="user_id",
        metavar="NAMES",
        help="Comma-separated columns that identify a user.",
    ),
    _table(
        "--where",
        "where",
        multiple=True,
        metavar="TABLE=CONDITION",
        help="Keep only the rows of TABLE that match a SQL condition on its source columns, e.g. "
        '"interactions=rating >= 4". Pass at most once per table.',
    ),
)

input_options = _options(
    _table(
        "-r",
        "--recommendations",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Recommendations to evaluate: user_id, item_id, rank or score. A path, glob, folder "
        "or - for stdin. For several models, repeat as NAME=FILE, or write {model} in the path; "
        "for several runs, such as seeds, {run}.",
    ),
    *[_table(*names, table, metavar="FILE", help=text) for table, names, text in TABLES],
    _table(
        "--scored",
        metavar="FILE",
        help="One table of recommendations and interactions, as in learning to rank: user_id, "
        "score, relevance (the label), optionally item_id and model.",
    ),
    _table(
        "--database",
        metavar="FILE",
        help="DuckDB file with the tables: -r recs then reads its table recs. -r FILE:recs names "
        "both, and a table can also be a query in quotes: -r 'SELECT … FROM recs'.",
    ),
    _metric(
        "-k",
        "cutoffs",
        metavar="K",
        help="Cutoffs of the metrics that have none, such as ndcg: 5,10 or 1:20.",
    ),
    set_option,
    column_options,
    templates_option,
    _check(
        "--accept",
        multiple=True,
        metavar="CHECK",
        help="Hide the warnings of this check, after you have looked at them.",
    ),
    _check("--trust-input", is_flag=True, help="Skip the validation that has to scan the rows."),
    _metric(
        "--skip-missing", is_flag=True, help="Omit metrics whose tables or columns were not given."
    ),
    _engine(
        "--engine",
        type=EngineType(),
        default=ENGINES[0],
        help="Compute with DuckDB in this process, with Spark (tables must be Parquet or Spark "
        "catalog tables), or in the database of a URL (tables are given by name) that begins with "
        f"{database_urls.BEGINNINGS} (Flight SQL).",
    ),
    _engine(
        "--master",
        metavar="URL",
        help="Spark master URL, e.g. local[4]; default: Spark's configuration.",
    ),
    engine_options,
)

check_option = _check(
    "--check/--no-check",
    default=None,
    help="Show the warnings of sqlmetrics check with the result; default: --check for up to ten "
    "million recommendations in DuckDB.",
)

gate_options = _options(
    _check(
        "--fail-if",
        multiple=True,
        metavar="GATE",
        help="Exit with code 3 if any row matches: [MODEL:] METRIC[@K] [COLUMN] OP NUMBER[%] "
        "[where SLICE=VALUE].",
    ),
    _check(
        "--fail-on-warnings",
        is_flag=True,
        help="Exit with code 3 if sqlmetrics check would warn; implies --check.",
    ),
)

# names of tables that only the printed statement reads
name_options = _options(
    _table(
        "--recommendations-table",
        multiple=True,
        metavar="[NAME=]TABLE",
        help="Name of the recommendations table in the warehouse, or a dbt reference: "
        "\"{{ ref('recs') }}\". Repeat as NAME=TABLE for several models.",
    ),
    *[
        _table(
            f"--{table}-table", metavar="TABLE", help=f"Name of the {table} table, in the same way."
        )
        for table, _, _ in TABLES
    ],
)

fallback_option = _definition(
    "--fallback",
    metavar="NAME|FILE",
    help="Convention for metrics that the given convention does not define, e.g. standard.",
)

convention_options = _options(
    _definition(
        "--convention",
        "conventions",
        multiple=True,
        metavar="NAMES|FILE",
        help="Convention that defines the metrics (default: standard). Several comma-separated "
        "names give a row per convention; all selects every convention.",
    ),
    fallback_option,
)

one_convention_option = _definition(
    "--convention",
    default="standard",
    metavar="NAME|FILE",
    help="Convention that defines the metrics.",
)

tried_option = _definition(
    "--convention",
    "conventions",
    multiple=True,
    metavar="NAMES|FILE",
    help="Conventions to try, separated by commas (default: all).",
)


def _slice_options(of_by: str, of_by_item: str) -> Callable[[Any], Any]:
    """Return the options for slices; the arguments say what a command does with slices."""
    return _options(
        _slice(
            "--by",
            multiple=True,
            metavar="NAMES",
            help=f"{of_by} Slices: a column of users, or of recommendations "
            "or interactions if constant per user, with numbers in bins: 'age(groups=4)' or "
            "'age(bins=25|35|50)'; items.COLUMN; or a built-in slice, such as activity "
            "(sqlmetrics list --slices).",
        ),
        _slice(
            "--by-item",
            multiple=True,
            metavar="NAMES",
            help=f"{of_by_item} a column of items, or a built-in slice such as popularity.",
        ),
    )


slice_options = _slice_options("Report each slice in its own row.", "Slice the relevant items by")
small_slice_options = _slice_options(
    "Warn of slices with few users.", "Warn of slices with few users, of the relevant items by"
)

# the request: metrics, tables, conventions and slices
question_options = _options(
    click.argument("metrics", nargs=-1), input_options, convention_options, slice_options
)

combinations_option = _slice(
    "--combinations",
    is_flag=True,
    help="Also report every subset of the slicing columns, and the total.",
)

confidence_option = _slice(
    "--confidence", type=float, default=0.95, metavar="P", help="Confidence level of the interval."
)


cluster_option = _slice(
    "--cluster",
    metavar="COLUMN",
    help="Column that groups lists that depend on each other, e.g. user_id, for intervals and "
    "tests.",
)


def _interval_options(default: str) -> Callable[[Any], Any]:
    return _options(
        _slice(
            "--ci",
            type=click.Choice(KINDS),
            default=default,
            help="Kind of confidence interval in ci_low and ci_high.",
        ),
        confidence_option,
        cluster_option,
    )


interval_options = _interval_options("normal")
no_interval_options = _interval_options("none")

against_option = _metric(
    "--against",
    metavar="NAME",
    help="Model to test the others against, instead of the best one of each metric.",
)

long_option = _metric(
    "--long",
    is_flag=True,
    help="Return one row per user and cutoff, with the cutoff in the column k.",
)

alpha_option = _metric(
    "--alpha",
    type=float,
    default=0.05,
    metavar="P",
    help="Significance level: a model with an adjusted p-value below it is significantly worse "
    "than the best.",
)

resampling_options = _options(
    _slice(
        "--resamples",
        type=int,
        default=1000,
        metavar="N",
        help="Number of resamples of the bootstrap and the randomisation test.",
    ),
    _slice("--seed", type=int, default=1, help="Random seed of the resamples."),
)

summary_options = _options(
    combinations_option,
    _slice(
        "--gap",
        multiple=True,
        type=click.Choice(GAPS),
        help="Also report how far apart the slices are: their largest difference, the ratio of the "
        "smallest to the largest value, the mean difference of two slices (mad), or the standard "
        "deviation; with the p-value of a permutation test.",
    ),
    interval_options,
    resampling_options,
    _slice(
        "--run-ci",
        is_flag=True,
        help="With --ci bootstrap: also compute intervals for metrics of the whole run (coverage, "
        "…), by recomputing each metric for every resample.",
    ),
)

power_options = _options(
    _metric(
        "--power",
        type=float,
        metavar="P",
        help="Add mde, the smallest difference found with probability P.",
    ),
    _metric(
        "--detect",
        metavar="DELTA",
        help="Add the number of users (or clusters, runs) needed to find this difference, e.g. "
        "0.01, or 1% of the baseline's value.",
    ),
)

over_option = _metric(
    "--over",
    type=click.Choice(OVER),
    default="users",
    help="Units of the test: users; runs, such as seeds (Welch's t-test); or paired_runs, if runs "
    "of the same name belong together, such as folds.",
)

changed_options = _options(
    _metric(
        "--worst",
        metavar="N|all",
        help="Show the N users with the largest losses, with both lists.",
    ),
    _metric("--best", metavar="N|all", help="Like --worst, for the largest gains."),
    _metric(
        "--no-examples", is_flag=True, help="With --worst or --best, show neither ids nor lists."
    ),
)

test_options = _options(
    _metric(
        "--test",
        type=click.Choice(TESTS),
        default="t",
        help="Significance test of the paired differences.",
    ),
    _metric(
        "--correction",
        type=click.Choice(CORRECTIONS),
        default="holm",
        help="Correction of the p-values for multiple comparisons.",
    ),
)


format_option = click.option(
    "--format", "kind", type=click.Choice(choices_of()), help="Output format."
)


def _output_options(results: str = "", more: str = "") -> Callable[[Any], Any]:
    return _options(
        click.option(
            "--format",
            "kind",
            type=click.Choice(choices_of(results)),
            help=f"Output format; default: table on a terminal, csv in a pipe.{more}",
        ),
        click.option(
            "--digits",
            type=click.IntRange(0, 17),
            help="Decimal places; default: 4 in tables, all digits in CSV and JSON.",
        ),
        click.option(
            "-o",
            "--output",
            metavar="FILE",
            help=f"Write the result to FILE ({' '.join(suffixes_of(results))}).",
        ),
        force_option,
    )


columns_option = click.option(
    "--columns",
    "shown",
    metavar="NAMES|all",
    help="Comma-separated columns of the result to show or write, or all.",
)
output_options = _output_options()
verdict_output_options = _output_options("verdicts", " junit is XML of test results.")
tracked_output_options = _output_options(
    "values", " mlflow and dvc are JSON files of values for these trackers."
)


tags_option = click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="NAME=VALUE",
    help="Tag of a run in a history of results, e.g. date=2026-11-26.",
)
history_options = _options(
    option(
        "Output",
        "--append",
        is_flag=True,
        help="Add the rows to a history of results, -o FILE.duckdb:TABLE or, as Parquet files, "
        "-o FOLDER/. See sqlmetrics trend.",
    ),
    tags_option,
    option(
        "Output",
        "--per-user",
        is_flag=True,
        help="With --append, also keep the per-user values, for the intervals of trend.",
    ),
)


record_options = _options(
    click.option(
        "--record",
        metavar="FILE",
        help="Write a record of the result: versions, settings, table fingerprints, user counts.",
    ),
    click.option(
        "--from-record",
        metavar="FILE",
        help="Repeat the run of a record and report differences. Other options override the "
        "record.",
    ),
    click.option(
        "--trust-record",
        is_flag=True,
        help="Do not ask before reading the files that the record of --from-record names.",
    ),
)
