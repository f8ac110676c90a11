"""The page docs/reference/conventions.md: choices of libraries, and the example of five users."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import sqlmetrics as sm
from sqlmetrics.describe.conventions import difference_text, listing
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Param
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import value_text

EXAMPLE = Path(__file__).resolve().parent.parent / "examples/five_users"
K = 3
METRICS = ["hit_rate", "precision", "recall", "f1", "map", "mrr", "ndcg", "roc_auc", "r_precision"]
WALKS = [
    ("map", "jurity"),
    ("map", "tutorial"),
    ("map", "lenskit"),
    ("ndcg", "lenskit"),
    ("map", "rectools"),
]

INTRODUCTION = """# Conventions

`python docs/generate.py` writes this page from the files in `sqlmetrics/metrics/conventions` and
from a run on the example.

A metric of the same name has different values in different libraries, because libraries choose
different audiences, divisors and tie-breaking rules. In sqlmetrics, each choice is a setting. A
convention is a file with the settings of one release of one library, and reproduces its numbers:

```sh
sqlmetrics evaluate map@10 -r recs.parquet -i test.parquet --convention jurity
sqlmetrics evaluate map@10 -r recs.parquet -i test.parquet --convention jurity,rectools,standard
sqlmetrics evaluate map@10 -r recs.parquet -i test.parquet --convention all
```

Several names give one row each, with a column `convention`, in one pass. A metric that a library
does not have is rejected under its convention, unless `--fallback standard` computes it by the
standard definition; the column `convention` then shows `standard`. Your own convention is a file of
the same form, given by its path; a file without `[covers]` covers every metric. Your settings
(`--set`, or in brackets) take precedence over the convention, and a column `rank` always defines
the order. [Add your own convention](../how-to/own-convention.md) has an example.

```toml
title = "Our team"

[settings]                  # for all metrics
audience = "recommended"

[metrics.map]               # for one
divisor = "k"
```

| command | output |
| --- | --- |
| `sqlmetrics conventions` | the list of conventions |
| `sqlmetrics conventions jurity` | all settings of one convention |
| `sqlmetrics describe map --convention jurity` | the query and settings of one metric |
| `sqlmetrics conventions map` | the settings of all conventions for one metric |
| `sqlmetrics explain map@10 -r … -i … --from jurity` | the change of your value by each setting |
| `sqlmetrics identify map@10=0.7616 -r … -i …` | [its conventions](../how-to/identify.md) |

In Python: `Evaluator(…, convention=["jurity", "standard"])` and `evaluator.explain("map@10",
start="jurity", end="standard")`.

Under a convention, metrics can also have the names of its system: with `--convention rectools`,
`MeanInvUserFreq@10` is `surprisal@10`. The [page of a metric](../metrics/README.md) has its names
in all libraries, and the settings in which they differ.
"""

FIVE_USERS = """## Example: five users

The tables are in `examples/five_users`.

{users}

At k = 3,

- `u1` has hits at 1 and 3, and two more relevant items: one below k, one that is not in the list.
- `u2` has a list shorter than k.
- `u3` has no hit.
- `u4` has a list and no interactions, `u5` interactions and no list. Libraries that average over
  lists count `u4`, libraries that average over interactions count `u5`, and others count neither.
- `u6` has more relevant items than k.
"""

AVERAGE_PRECISION = """### Average precision, user by user

All libraries except `elliot` sum (hits so far / rank) over the hits: 1/1 + 2/3 = 5/3 for `u1` and
`u6`, 1/2 for `u2`. They differ in the divisor (k = 3; relevant items: 4, 1 and 5; the smaller of
both; the length of the list; the number of hits) and in the audience. `elliot` sums the precision
at every rank from 1 to k.
"""

WALK = """### Steps between two conventions

`sqlmetrics explain map@3 --from NAME` changes one setting after another, in the order of
[the settings](settings.md). The change by one setting depends on the settings before it; all
changes add up to the difference. Rejection of duplicate rows is not a step: if one convention
rejects them and the other handles them, all steps handle them.
"""


def table(header: list[str], rows: list[list[str]]) -> str:
    assert not any("\n" in cell for row in rows for cell in row), "a cell of Markdown is one line"
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def meaning(param: Param) -> str:
    """Spell the explanation of a setting for a cell of a table: each value in a line of its own."""
    title, *values = param.doc.splitlines()
    return "<br>".join([title, *(re.sub(r"^(\S+): ", r"`\1`: ", value) for value in values)])


def escaped(text: str, signs: str = "*_<[") -> str:
    """Return a text in which these signs are no Markdown."""
    return "".join(f"\\{sign}" if sign in signs else sign for sign in text)


def of_frame(frame: pd.DataFrame) -> str:
    def cell(value: Any) -> str:
        if pd.isna(value):
            return ""
        return f"{value:.4f}" if isinstance(value, float) else str(value)

    rows = [[cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return table([str(name) for name in frame.columns], rows)


def five_users() -> list[str]:
    tables = {name: EXAMPLE / f"{name}.csv" for name in ("recommendations", "interactions")}
    lists, truth = (pd.read_csv(path) for path in tables.values())
    users = table(
        ["user", "list, best first", "relevant items (grade)"],
        [
            [
                f"`{user}`",
                " ".join(lists[lists["user_id"] == user]["item_id"]) or "–",
                " ".join(
                    f"{row.item_id} ({row.relevance})"
                    for row in truth[truth["user_id"] == user].itertuples()
                )
                or "–",
            ]
            for user in sorted({*lists["user_id"], *truth["user_id"]})
        ],
    )
    parts = [FIVE_USERS.format(users=users)]
    # relevance from 1 to 3, and all of it relevant, is what data checks warn of
    with sm.Evaluator(**tables, convention="all", check=False) as evaluator:
        values = evaluator.evaluate(METRICS, k=K)
        by_user = evaluator.per_user("map", k=K)
        wide = values.pivot(index="convention", columns="metric", values="value")
        order = [one.convention.name for one in evaluator._session.definitions.conventions]
        names = {"f1": "f_beta"}
        wide = wide.reindex(order)[[names.get(name, name) for name in METRICS]]
        parts.append(of_frame(wide.reset_index().rename(columns={"f_beta": "f1"})) + "\n")
        parts.append(AVERAGE_PRECISION)
        averages = by_user.pivot(index="convention", columns="user_id", values=f"map@{K}").reindex(
            order
        )
        means = values[values["metric"] == "map"].set_index("convention")["value"]
        averages = averages.assign(mean=means).dropna(how="all")
        parts.append(of_frame(averages.reset_index()) + "\n")
        parts.append(WALK)
        for metric, start in WALKS:
            steps = evaluator.explain(metric, k=K, start=start)
            kept = ["step", "setting", "before", "after", "value", "change", "n_users"]
            parts.append(f"`{metric}`, from `{start}` to `standard`:\n\n{of_frame(steps[kept])}\n")
    return parts


def in_full(settings: Settings) -> str:
    convention = settings.convention
    lines = [f"### {convention.name}", "", f"{convention.title}. Release: {convention.release}."]
    lines += [f"Source: {convention.cite}.", ""]
    chosen = [f"`{name} = {value_text(value)}`" for name, value in settings.of_convention.items()]
    lines += ["Settings: " + ", ".join(chosen) + ".", ""]
    if convention.differs:
        lines += ["Not reproduced:", ""]
        lines += [f"- {difference_text(difference)}" for difference in convention.differs] + [""]
    return "\n".join(lines)


def conventions_page(catalog: Catalog, known: Sequence[Settings]) -> str:
    """Return the page; `known`: all conventions."""
    frame = pd.DataFrame(listing(catalog))
    frame["convention"] = "`" + frame["convention"] + "`"
    parts = [INTRODUCTION, "## The conventions\n", of_frame(frame) + "\n"]
    parts += five_users()
    parts.append("## Conventions in detail\n")
    parts += [in_full(settings) for settings in known[1:]]
    return "\n".join(parts)
