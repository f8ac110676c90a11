"""The pages of docs/metrics: one per metric, from its template, its cases and the conventions."""

from __future__ import annotations

import contextlib
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from conventions_page import escaped, meaning, of_frame, table

import sqlmetrics as sm
from sqlmetrics.describe.conventions import difference_text
from sqlmetrics.describe.metric import (
    metric_facts,
    metric_query,
    standard_values,
    tables_needed,
)
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import value_text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds only what lies beside it
from tests.support.notation import number  # noqa: E402

Rows = list[dict[str, str | None]]

DATA = "examples/data"
OPTIONS = {
    "recommendations": ("-r", f"{DATA}/recommendations_als.parquet"),
    "interactions": ("-i", f"{DATA}/interactions.parquet"),
    "history": ("--history", f"{DATA}/history.parquet"),
    "items": ("--items", f"{DATA}/items.parquet"),
    "aspects": ("--aspects", f"{DATA}/aspects.parquet"),
    "baseline": ("--baseline", f"{DATA}/recommendations_popular.parquet"),
    "logs": ("--logs", f"{DATA}/logs.parquet"),
}
# the tables of metrics whose columns the example data does not have, by name
_ROUNDS = pd.DataFrame(
    {"round_id": [1], "user_id": [1], "item_id": [1], "reward": [1], "propensity": [0.5]}
)
_POLICY = pd.DataFrame({"round_id": [1], "item_id": [1], "probability": [1.0], "predicted": [0.5]})
_LISTS = pd.DataFrame({"user_id": [1], "item_id": [1], "rank": [1]})
_TIME = pd.Timestamp("2026-11-28")
BY_NAME = {
    "rounds": {"logs": _ROUNDS, "policy": _POLICY},
    "slates": {"logs": _ROUNDS.assign(target_propensity=0.5, position=1)},
    "logged": {"recommendations": _LISTS, "logs": _ROUNDS.assign(position=1)},
    "item_age": {
        "recommendations": _LISTS.assign(timestamp=_TIME),
        "items": pd.DataFrame({"item_id": [1], "created_at": _TIME}),
    },
}
LABELS = {
    "averaged over": "averaged over",
    "if empty": "users without a hit or a list",
    "undefined": "undefined for",
    "range": "range",
    "best is": "better",
}
BETTER = {"high": "higher values", "low": "lower values"}
FAMILIES = {
    "accuracy": "Accuracy: relevant items in the top k",
    "ranking": "Ranking: order and grades of the judged items",
    "judged": "Judged pools: items with and without a judgement",
    "debiased": "Debiased accuracy: hits weighted by the popularity of their items",
    "money": "Money: prices of the hits",
    "novelty": "Novelty: popularity of the recommended items",
    "diversity": "Diversity: differences between recommended items",
    "catalogue": "Catalogue: spread of the recommendations over the items",
    "fairness": "Fairness: exposure and hits of groups of items",
    "ratings": "Ratings and probabilities",
    "lists": "Lists: length and completeness of the lists",
    "logs": "Logs: estimates from logged rewards",
}
INDEX = """# Metrics

sqlmetrics computes {count} metrics. Each has a page with its formula, its settings, its SQL, a
worked example and the definitions of other libraries. `python docs/generate.py` writes these pages
from the template of the metric, its worked cases in `tests/cases` and the files of the conventions.

A cutoff follows the name: `ndcg@10`. Settings go in brackets: `ndcg(gain=exponential)@10`. Without
a cutoff, the metric is computed for whole lists. `all` stands for every metric except those
of [ratings and probabilities](#ratings-and-probabilities), whose scores must be in the unit of the
relevance, or probabilities.
"""
NOTATION = """## Notation

All formulas are for one user, unless they have a sum over users, and for the
[default settings](../reference/settings.md).

| symbol | meaning |
|---|---|
| k | the cutoff; without a cutoff, the length of the list in divisors, and no limit elsewhere |
| n | number of items in the top k: the smaller of k and the length of the list |
| N | number of relevant items of the user |
| h with index r | 1 if the item at rank r is relevant (a hit), otherwise 0 |
| H with index r | number of hits at ranks 1 to r |
| [ … ] | 1 if the condition in the brackets holds, otherwise 0 |

The value of a metric is the mean over users.
[Settings](../reference/settings.md#which-users-count-and-with-which-value) says who counts.
"""


def metric_pages(
    catalog: Catalog, known: Sequence[Settings], chosen: Mapping[str, Rows]
) -> dict[Path, str]:
    """Return the text of docs/metrics: the index and a page for every metric.

    `known`: all conventions, `chosen`: `choices` of each metric.
    """
    folder = ROOT / "docs" / "metrics"
    pages = {folder / "README.md": _index(catalog)}
    with contextlib.chdir(ROOT), contextlib.ExitStack() as stack:
        arguments = {name: path for name, (_, path) in OPTIONS.items()}
        evaluator = stack.enter_context(sm.Evaluator(**arguments, check=False))
        for name, metric in catalog.metrics.items():
            libraries = _libraries(metric, known, chosen[name])
            pages[folder / f"{name}.md"] = _page(catalog, metric, evaluator) + "\n" + libraries
    return pages


def families(catalog: Catalog) -> dict[str, list[Metric]]:
    """Return the metrics of each family by its title."""
    names = dict.fromkeys([*FAMILIES, *(metric.family for metric in catalog.metrics.values())])
    members = {
        FAMILIES.get(family, family.capitalize()): [
            metric for metric in catalog.metrics.values() if metric.family == family
        ]
        for family in names
    }
    return {title: metrics for title, metrics in members.items() if metrics}


def _index(catalog: Catalog) -> str:
    parts = [INDEX.format(count=len(catalog.metrics))]
    for title, metrics in families(catalog).items():
        rows = [
            [f"[`{metric.name}`]({metric.name}.md)", metric.title, metric.formula]
            for metric in metrics
        ]
        parts.append(f"## {title}\n\n{table(['metric', 'name', 'formula'], rows)}\n")
    return "\n".join([*parts, NOTATION])


def _page(catalog: Catalog, metric: Metric, evaluator: sm.Evaluator) -> str:
    before, after = descriptions(catalog, metric)
    return "\n".join([*before, _sql(catalog, metric, evaluator), *after])


def descriptions(catalog: Catalog, metric: Metric) -> tuple[list[str], list[str]]:
    """Return the parts of a page before its SQL and after it, which need no evaluator."""
    before = [f"# {metric.title} (`{metric.name}`)\n", _facts(catalog, metric), _formula(metric)]
    if metric.params:
        before.append(_settings(metric))
    cases = ROOT / "tests" / "cases" / f"{metric.name}.toml"
    after = [_cases(metric, cases.read_text(encoding="utf-8"))] if cases.exists() else []
    return before, after


def _facts(catalog: Catalog, metric: Metric) -> str:
    rows = [["tables", ", ".join(f"`{one}`" for one in tables_needed(catalog, metric))]]
    if metric.aliases:
        aliases = [
            f"`{alias}`" + "".join(f" (`{name}={value_text(v)}`)" for name, v in params.items())
            for alias, params in metric.aliases.items()
        ]
        rows.append(["also called", ", ".join(aliases)])
    for fact, text in metric_facts(catalog, metric, standard_values(catalog, metric)):
        rows.append([LABELS[fact], BETTER[text] if fact == "best is" else text])
    if metric.cite:
        rows.append(["source", metric.cite])
    rows.append(["template", f"`{metric.path.relative_to(ROOT)}`"])
    return table(["property", "value"], rows) + "\n"


def _formula(metric: Metric) -> str:
    parts = ["## Formula\n"]
    parts += [f"```math\n{line}\n```\n" for line in metric.tex.strip().splitlines()]
    words = metric.formula[:1].upper() + metric.formula[1:]
    return "\n".join([*parts, f"{words}. [Notation](README.md#notation) explains the symbols.\n"])


def _settings(metric: Metric) -> str:
    rows = [
        [f"`{param.name}`", param.range_text(), f"`{param.default_text()}`", meaning(param)]
        for param in metric.params.values()
    ]
    return (
        f"## Settings\n\n{table(['setting', 'values', 'default', 'meaning'], rows)}\n\n"
        "[Settings](../reference/settings.md) lists the settings that all metrics share.\n"
    )


def _sql(catalog: Catalog, metric: Metric, evaluator: sm.Evaluator) -> str:
    needed = [one.partition(" ")[0] for one in tables_needed(catalog, metric)]
    options = " \\\n    ".join(" ".join(OPTIONS[name]) for name in OPTIONS if name in needed)
    spec, data = f"{metric.name}@10", "the example data"
    if tables := BY_NAME.get(metric.name, BY_NAME.get(metric.audience)):
        spec, data = spec if metric.grain == "user" else metric.name, "tables of these names"
        flags = {"recommendations": "-r"}
        options = " ".join(f"{flags.get(name, f'--{name}')} {name}.parquet" for name in tables)
        named = {name: sm.TableName(name, frame) for name, frame in tables.items()}
        with sm.Evaluator(**named) as other:
            statement = other.sql([spec])
    else:
        statement = evaluator.sql([spec])
    return (
        f"## SQL\n\nThe query of the metric reads [named queries]"
        "(../explanation/statements.md#printed-statements) that all metrics share:\n\n"
        f"```sql\n{metric_query(catalog, metric).rstrip()}\n```\n\n"
        '<details markdown="1">\n<summary>The whole statement for ' + data + "</summary>\n\n"
        f"```sh\nsqlmetrics sql {spec} \\\n    {options}\n```\n\n"
        f"```sql\n{statement.rstrip()}\n```\n\n</details>\n"
    )


def _cases(metric: Metric, text: str) -> str:
    cases = tomllib.loads(text)["case"]
    plain = [one for one in cases if not one.keys() & {"params", "settings", "call"}] or cases
    case = plain[0]
    notes = " ".join(
        line.removeprefix("#").strip() for line in text.partition("metric =")[0].splitlines()
    )
    parts = [f"## Example\n\n`{_call(metric, case)}`, computed by hand:\n", _tables(case)]
    parts.append(f"Calculation: {_plain(case['why'])}.\n")
    if "mean" in case:
        parts.append(f"Result: **{_value(case['mean'])}**\n")
    rows = [
        [_plain(one["name"]), f"`{_call(metric, one)}`", _plain(one["why"]), _value(one["mean"])]
        for one in cases
        if "mean" in one
    ]
    parts.append(
        f"## Edge cases\n\nThese {len(rows)} cases are computed by hand and checked by tests; "
        f"`tests/cases/{metric.name}.toml` has their tables.\n\n"
        '<details markdown="1">\n<summary>Worked cases</summary>\n\n'
        + (f"Definition: {_plain(notes)}\n\n" if notes else "")
        + table(["case", "request", "calculation", "result"], rows)
        + "\n\n</details>\n"
    )
    return "\n".join(parts)


def _call(metric: Metric, case: dict[str, Any]) -> str:
    chosen = {**case.get("params", {}), **case.get("settings", {})}
    inside = ", ".join(f"{name}={value_text(value)}" for name, value in chosen.items())
    cutoff = f"@{case['k']}" if "k" in case else ""
    return f"{case.get('call', metric.name)}{f'({inside})' if inside else ''}{cutoff}"


def _tables(case: dict[str, Any]) -> str:
    columns = {"recommendations": "list, best first", "interactions": "interactions"}
    given = {name: case[name] for name in columns if name in case}
    users = sorted(
        {user for rows in given.values() for user in rows} | set(case.get("per_user", {}))
    )
    values = case.get("per_user")
    rows = []
    for user in users:
        row = [f"`{user}`", *(f"{given[name].get(user) or '–'}" for name in given)]
        if values is not None:
            row.append(_value(values[user]) if user in values else "–")
        rows.append(row)
    header = [
        "user",
        *(columns[name] for name in given),
        *(["value"] if values is not None else []),
    ]
    parts = [table(header, rows) + "\n"] if rows else []
    for name in ("history", "items", "aspects", "baseline", "logs", "policy"):
        if name in case:
            rows = [[f"`{one}`", _entry(entry)] for one, entry in case[name].items()]
            key = "item" if name in ("items", "aspects") else "user"
            parts.append(table([key, name], rows) + "\n")
    return "\n".join(parts)


def _entry(entry: Any) -> str:
    if isinstance(entry, dict):
        return ", ".join(f"{name} {_entry(value)}" for name, value in entry.items())
    if isinstance(entry, list):
        return "(" + ", ".join(map(str, entry)) + ")"
    return str(entry)


def _value(value: Any) -> str:
    """Show a value as it was written, and as a decimal number where that is more."""
    text = str(value)
    if text == "undefined":
        return text
    result = number(value)
    if text == f"{result:g}" or text == str(int(result)):
        return text
    return f"{_plain(text)} = {result:.4f}"


def _plain(text: str) -> str:
    """Return a text in which nothing is Markdown."""
    return escaped(text, "\\*_<[`$")


def _libraries(metric: Metric, known: Sequence[Settings], rows: Rows) -> str:
    parts = ["## Other libraries\n"]
    if len(rows) < 2:
        return parts[0] + "\nNo convention of another library covers this metric.\n"
    frame = pd.DataFrame(rows)
    frame["convention"] = [
        f"[`{name}`](../reference/conventions/{name}.md)" if name != "standard" else "`standard`"
        for name in frame["convention"]
    ]
    for column in ("theirs", "ours"):
        frame[column] = "`" + frame[column] + "`"
    frame = frame.rename(columns={"theirs": "name there", "ours": "name here"})
    parts.append(
        "Names and settings that reproduce the numbers of other libraries. In an empty cell, "
        "the setting makes no difference.\n\n" + of_frame(frame) + "\n"
    )
    notes = []
    for settings in known[1:]:
        convention = settings.convention
        notes += [
            f"- `{convention.name}`: {difference_text(difference)}"
            for difference in convention.differs
            if metric.name in difference.metrics
        ]
    if notes:
        parts.append("Differences that are not reproduced:\n\n" + "\n".join(notes) + "\n")
    return "\n".join(parts)
