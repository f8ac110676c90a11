"""The options of the command line, in the groups that commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from sqlmetrics.stats.intervals import KINDS
from sqlmetrics.stats.paired_tests import CORRECTIONS, TESTS

ENGINES = ["duckdb", "spark"]
FORMATS = ["table", "csv", "json", "jsonl", "markdown", "latex"]
TABLES = [
    ("interactions", ["-i", "--interactions"], "Held-out truth: user_id, item_id, [relevance]."),
    ("history", ["--history"], "Past interactions: user_id, item_id."),
    ("items", ["--items"], "Attributes of items: item_id, …"),
    ("users", ["--users"], "Attributes of users: user_id, …"),
    ("aspects", ["--aspects"], "Aspects of items: item_id, aspect."),
    ("baseline", ["--baseline"], "Other lists to compare with, or a NAME given with -r."),
    ("logs", ["--logs"], "Logged decisions: user_id, item_id, reward, [propensity]."),
]

# which options are arguments of the methods of the evaluator
PER_USER = ("by", "by_item", "skip_missing")
OF_INTERVAL = ("ci", "confidence")
RESAMPLED = ("resamples", "seed")
EVALUATED = (*PER_USER, "combinations", *OF_INTERVAL, *RESAMPLED, "run_ci")
REPORTED = (
    *("by", "by_item", "primary", "title", "check"),
    *("test", "correction", "alpha", "confidence"),
)
COMPARED = (*PER_USER, "combinations", *OF_INTERVAL, *RESAMPLED, "test", "correction")
RANKED = ("alpha", *(name for name in COMPARED if name not in OF_INTERVAL))


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


templates_option = click.option(
    "--templates", multiple=True, metavar="DIR", help="A folder with metrics of your own."
)

engine_options = _options(
    click.option("--threads", type=click.IntRange(min=1), help="Threads of the engine."),
    click.option("--memory-limit", metavar="SIZE", help="Memory of the engine, such as 4GB."),
    click.option(
        "--temp-directory", metavar="DIR", help="Directory for data that does not fit in memory."
    ),
    click.option(
        "--temp-limit",
        metavar="SIZE",
        help="Largest size of the engine's temporary files, such as 20GB; default: half of the "
        "space that is free in the temporary directory.",
    ),
)

input_options = _options(
    click.option(
        "-r",
        "--recommendations",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Lists to judge: user_id, item_id, rank or score. A path, glob, folder or - for "
        "stdin; repeat it as NAME=FILE for several models.",
    ),
    *[click.option(*names, table, metavar="FILE", help=text) for table, names, text in TABLES],
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
    click.option(
        "--where",
        "where",
        multiple=True,
        metavar="TABLE=CONDITION",
        help="Keep only the rows of TABLE that satisfy a SQL condition on its own columns, such as "
        '"interactions=rating >= 4"; once for each table.',
    ),
    templates_option,
    click.option(
        "--trust-input", is_flag=True, help="Skip the checks that need a pass over the rows."
    ),
    click.option(
        "--skip-missing",
        is_flag=True,
        help="Leave out metrics that need a table or column that was not given.",
    ),
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default=ENGINES[0],
        show_default=True,
        help="What computes: DuckDB here, or Spark (-r and the others are Parquet or tables of its "
        "catalog).",
    ),
    click.option(
        "--master", metavar="URL", help="Of Spark, such as local[4]; default: as it is configured."
    ),
    engine_options,
    click.option(
        "--partitions",
        type=click.IntRange(min=1),
        metavar="N",
        help="Compute about N partitions of the users in turn; default: as memory demands.",
    ),
)

check_option = click.option(
    "--check/--no-check",
    default=None,
    help="Warn of what the command check finds; default: for lists of up to a million rows.",
)

# tables that only the printed statement reads
name_options = _options(
    click.option(
        "--recommendations-table",
        multiple=True,
        metavar="[NAME=]TABLE",
        help="What the lists are called in the warehouse, or a reference of dbt: "
        "\"{{ ref('recs') }}\"; repeat it as NAME=TABLE for several models.",
    ),
    *[
        click.option(f"--{table}-table", metavar="TABLE", help=f"The same for the table {table}.")
        for table, _, _ in TABLES
    ],
)

fallback_option = click.option(
    "--fallback",
    metavar="NAME|FILE",
    help="The convention for metrics that the others do not have: standard.",
)

convention_options = _options(
    click.option(
        "--convention",
        "conventions",
        multiple=True,
        metavar="NAMES|FILE",
        help="Whose definitions to use (default: standard); several names, separated by commas, "
        "give a row for each, and all every one there is.",
    ),
    fallback_option,
)

tried_option = click.option(
    "--convention",
    "conventions",
    multiple=True,
    metavar="NAMES|FILE",
    help="Conventions to try, separated by commas (default: all).",
)

slice_options = _options(
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
question_options = _options(
    click.argument("metrics", nargs=-1), input_options, convention_options, slice_options
)

combinations_option = click.option(
    "--combinations", is_flag=True, help="Also the slices by fewer of these columns, and by none."
)

confidence_option = click.option(
    "--confidence",
    type=float,
    default=0.95,
    show_default=True,
    metavar="P",
    help="Of the interval.",
)

interval_options = _options(
    click.option(
        "--ci",
        type=click.Choice(KINDS),
        default="normal",
        show_default=True,
        help="The interval ci_low to ci_high.",
    ),
    confidence_option,
)

alpha_option = click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    metavar="P",
    help="An adjusted p-value below it makes a model significantly worse than the best.",
)

resampling_options = _options(
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

summary_options = _options(
    combinations_option,
    interval_options,
    resampling_options,
    click.option(
        "--run-ci",
        is_flag=True,
        help="With --ci bootstrap: also for metrics of the whole run (coverage, …), each computed "
        "anew for every resample.",
    ),
)

test_options = _options(
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

output_options = _options(
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


record_options = _options(
    click.option(
        "--record",
        metavar="FILE",
        help="Write what the result was made of: versions, settings, contents of tables, users.",
    ),
    click.option(
        "--from-record",
        metavar="FILE",
        help="Run again what a record says, and say what differs; what is given beside it replaces "
        "what the record says.",
    ),
    click.option(
        "--trust-record",
        is_flag=True,
        help="Read the files that the record of --from-record names without a question.",
    ),
)


partition_option = click.option(
    "--partition", metavar="I/N", help="Only the users of one partition, such as 3/8."
)
