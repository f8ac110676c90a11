"""The pages of conventions: their index, one page of each, and all of them on five users."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

import sqlmetrics as sm
from sqlmetrics.describe.conventions import listing
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.front_matter import Param
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec, value_text

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/five_users"
K = 3
WALKS = [("map", "jurity"), ("ndcg", "lenskit"), ("map", "rectools")]
# tests of conventions that have no file of numbers in tests/references
TESTS = {
    "course": "tests/peers/test_documents.py",
    "elliot": "tests/peers/test_elliot.py",
    "sklearn": "tests/peers/test_scipy_and_sklearn.py",
    "tutorial": "tests/peers/test_documents.py",
}


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


def five_users() -> dict[str, str]:
    """Return the generated parts of the page of five users, by their marks."""
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
    # relevance from 1 to 3, and all of it relevant, is what data checks warn of
    with sm.Evaluator(**tables, convention="all", check=False) as evaluator:
        values = evaluator.evaluate("map", k=K).set_index("convention")["value"]
        by_user = evaluator.per_user("map", k=K)
        averages = by_user.pivot(index="convention", columns="user_id", values=f"map@{K}")
        averages = averages.assign(mean=values).dropna(how="all").round(4)
        same: dict[tuple[Any, ...], list[str]] = {}
        for one in evaluator._session.definitions.conventions:
            if (name := one.convention.name) in averages.index:
                same.setdefault(tuple(averages.loc[name].fillna("")), []).append(f"`{name}`")
        walks = []
        for metric, start in WALKS:
            steps = evaluator.explain(metric, k=K, start=start)
            kept = ["step", "setting", "before", "after", "value", "change", "n_users"]
            walks.append(f"`{metric}`, from `{start}` to `standard`:\n\n{of_frame(steps[kept])}")
    rows = [
        [", ".join(names), *(f"{value:.4f}" if value != "" else "" for value in row)]
        for row, names in same.items()
    ]
    return {
        "users": users,
        "averages": table(["conventions", *map(str, averages.columns)], rows),
        "walks": "\n\n".join(walks),
    }


def conventions_table(catalog: Catalog) -> str:
    """Return the index of all conventions."""
    rows = []
    for row in listing(catalog):
        name = str(row["convention"])
        link = f"[`{name}`]({name}.md)" if name != "standard" else "`standard`"
        rows.append([link, *(str(row[key]) for key in ("title", "release", "metrics"))])
    return table(["convention", "title", "release", "metrics"], rows)


def convention_page(catalog: Catalog, settings: Settings) -> str:
    """Return the page of a convention."""
    convention = settings.convention
    name, of = convention.name, f"{convention.title}, release {convention.release}"
    parts = [
        f"# The convention {escaped(name)}",
        f"`--convention {name}` gives the numbers of {escaped(of)} (source: {convention.cite}).",
        "## Names of metrics",
        "Under the convention, you can use the name here or the name there.",
        _covers(catalog, convention),
        "## Settings",
        _chosen(catalog, settings),
        "## What is not reproduced",
        _differs(convention),
        "## Evidence",
        _evidence(convention),
    ]
    return "\n\n".join(parts) + "\n"


def _covers(catalog: Catalog, convention: Convention) -> str:
    rows, same = [], []
    for theirs, ours in (convention.covers or {}).items():
        name = catalog.metric(parse_spec(ours).metric)[0].name
        link = f"](../../metrics/{name}.md)"
        if theirs.lower().replace("_", "") == ours.replace("_", ""):
            same.append(f"[`{theirs}`{link}")
        else:
            rows.append([f"`{theirs}`", f"[`{ours}`{link}"])
    parts = [f"Names that differ only in case and `_`: {', '.join(same)}."] if same else []
    return "\n\n".join([*parts, *([table(["name there", "name here"], rows)] if rows else [])])


def _chosen(catalog: Catalog, settings: Settings) -> str:
    """Return the settings that a convention changes, beside those of the default."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for setting, value in settings.of_convention.items():
        metric, _, name = setting.rpartition(".")
        owner = catalog.metrics.get(metric)
        param = (owner.params.get(name) if owner else None) or catalog.stage_params[name]
        default = (
            {"audience": owner.audience, "aggregate": owner.aggregate}.get(name) if owner else ""
        )
        row = (f"`{name}`", f"`{value_text(value)}`", f"`{default or param.default_text()}`")
        rows.setdefault(row, []).append(f"`{metric}`" if metric else "all metrics")
    if not rows:
        return "It has the settings of the standard definitions."
    return table(
        ["setting", "value", "standard", "for"],
        [[*row, ", ".join(metrics)] for row, metrics in rows.items()],
    )


def _differs(convention: Convention) -> str:
    if not convention.differs:
        return "No difference is known."
    rows = [
        [", ".join(one.metrics) or "all", escaped(one.there), escaped(one.here)]
        for one in convention.differs
    ]
    return table(["metrics", "there", "here"], rows)


def _evidence(convention: Convention) -> str:
    path = f"tests/references/{convention.name}.json"
    if not (ROOT / path).exists():
        assert convention.name in TESTS, (
            f"there is no {path}: run python tests/references/make.py {convention.name}, or name "
            "another test of the numbers in TESTS of docs/conventions_page.py"
        )
        return f"`{TESTS[convention.name]}` compares the numbers."
    stored = json.loads((ROOT / path).read_text(encoding="utf-8"))
    cells = stored["cells"]
    return (
        f"`{path}` has {len(cells):,} numbers of {len({cell['name'] for cell in cells})} measures, "
        f"computed by release {stored['release']} itself. The tests compare each of them."
    )
