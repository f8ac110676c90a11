"""Lay out the values of one user: the list, what it lacks, and the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlmetrics.cli import markdown
from sqlmetrics.cli.arguments import cutoffs_of, names_of
from sqlmetrics.cli.formats import json_text, records_of, rendered
from sqlmetrics.errors import UsageError
from sqlmetrics.texts.terminal import one_line
from sqlmetrics.texts.wording import by_number

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.run.one_user import User

CHANGED = ("model", "baseline", "value", "baseline_value", "difference")
_SHOWN = 10  # rows of a stage; --format json has all


def explained(evaluator: Evaluator, words: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the values of a user, or of the users with the worst or best values, as text."""
    how_many, highest = options["worst"] or options["best"], options["best"] is not None
    if options["worst"] and options["best"]:
        raise UsageError("--worst and --best name different users; give one of them")
    metrics = words if how_many else words[1:]
    columns = names_of(options["show"])
    asked: dict[str, Any] = {
        "metrics": list(metrics) or None, "k": cutoffs_of(options), "show": columns or None,
        "skip_missing": options["skip_missing"],
    }  # fmt: skip
    named: list[Any] = [_number(words[0])]
    if options["as_sql"]:
        if how_many:
            raise UsageError("--sql prints the statements of one user; give an ID")
        return evaluator.user_sql(named[0], dialect=options["dialect"], **asked)
    if options["dialect"]:
        raise UsageError("--dialect applies to --sql only; add --sql or remove it")
    if how_many:
        found = evaluator.extreme_users(metrics[0], how_many, highest=highest, k=asked["k"])
        keys = [name for name in found.columns if name not in ("model", "value")]
        named = list(found[keys].drop_duplicates().itertuples(index=False, name=None))
    users = [evaluator.user(one, **asked) for one in named]
    if options["format"] == "json":
        objects = [_object(one) for one in users]
        return json_text(objects if how_many else objects[0], 2)
    return "\n".join("".join(_sections(one, options["format"])) for one in users)


def changed(
    evaluator: Evaluator, words: Sequence[str], options: Mapping[str, Any], with_lists: bool
) -> tuple[pd.DataFrame, str]:
    """Return the users that changed most, and their lists as text.

    Raises:
        UsageError: an invalid number of users, or both --worst and --best.
    """
    if options["worst"] and options["best"]:
        raise UsageError("--worst and --best name different users; give one of them")
    given = options["worst"] or options["best"]
    n = None if given == "all" else int(given) if given.isdecimal() and int(given) else 0
    if n == 0:
        raise UsageError(f"--worst and --best take a number of users or all, not {given!r}")
    asked: dict[str, Any] = {"k": cutoffs_of(options), "baseline": options["baseline"]}
    best = options["best"] is not None
    found = evaluator.changed_users(list(words) or None, n, best=best, **asked)
    keys = [name for name in found.columns if name not in CHANGED]
    if options["no_examples"]:
        return found.drop(columns=keys), ""
    if n is None or not with_lists:
        return found, ""
    lists = []
    for row in found.to_dict("records"):
        user = tuple(row[name] for name in keys)
        one = evaluator.user(user, list(words), k=asked["k"])
        models = (row["model"], row["baseline"])
        shown = {
            name: rows[rows["model"].astype(str).isin(models)] if len(rows) else rows
            for name, rows in (("list", one.list), ("missed", one.missed), ("values", one.values))
        }
        lists.append("".join(_sections(replace(one, **shown), "table")))  # type: ignore[arg-type]
    return found, "\n".join(lists)


def _number(word: str) -> Any:
    """Return an ID that is a whole number as such: a table of a warehouse does not say its type."""
    return int(word) if word.isdecimal() and str(int(word)) == word else word


def _sections(user: User, kind: str) -> Iterator[str]:
    key = ", ".join(f"{name} {value}" for name, value in user.user.items())
    yield _heading(key, kind, 1)
    cutoffs = user.values["k"]
    depth = None if cutoffs.isna().any() or cutoffs.empty else int(cutoffs.max())
    if user.list.empty:
        yield _heading("list", kind, 2) + _line("no list", kind)
    for model, rows in _by_model(user.list):
        top = rows if depth is None else rows[rows["rank"] <= depth]
        yield _heading(f"list of {model}" if model else "list", kind, 2)
        yield _table(top, kind)
        if len(rows) > len(top):
            below = len(rows) - len(top)
            items = by_number(below, "item|items")
            yield _line(f"and {below} more {items} below rank {depth}", kind)
    for model, rows in _by_model(user.missed):
        of = f" of {model}" if model else ""
        yield _heading(f"relevant items that are not in the top{of}", kind, 2)
        yield _table(rows, kind)
    for name, rows in user.stages.items():
        yield _heading(f"rows of {name}", kind, 2)
        yield _table(rows.drop(columns=list(user.user)).head(_SHOWN), kind)
        if len(rows) > _SHOWN:
            yield _line(f"and {len(rows) - _SHOWN} more rows", kind)
    yield _heading("values", kind, 2)
    for row in user.values.to_dict("records"):
        label = " ".join(
            str(row[name]) for name in ("model", "convention", "metric") if name in row
        )
        at = "" if row["k"] is None or row["k"] != row["k"] else f"@{int(row['k'])}"
        text = f"{label}{at}: {row['arithmetic']}"
        yield f"- {markdown.inline(text)}\n" if kind == "markdown" else one_line(text) + "\n"


def _line(text: str, kind: str) -> str:
    return f"\n{text}\n" if kind == "markdown" else f"{text}\n"


def _heading(text: str, kind: str, level: int) -> str:
    if kind == "markdown":
        return f"\n{'#' * (level + 1)} {markdown.inline(text)}\n\n"
    return f"{one_line(text)}\n" if level == 1 else f"\n{one_line(text)}\n"


def _by_model(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each model, without the column; all rows, if models have no names."""
    if "model" not in rows.columns:
        if len(rows):
            yield "", rows
        return
    for model, own in rows.groupby("model", sort=False):
        yield str(model), own.drop(columns="model")


def _table(rows: pd.DataFrame, kind: str) -> str:
    shown = rows.copy()
    if "hit" in shown.columns:
        shown["hit"] = shown["hit"].map({True: "yes", False: ""})
    return rendered(shown, kind, None)


def _object(user: User) -> dict[str, Any]:
    return {
        "user": dict(user.user),
        "list": records_of(user.list, None),
        "missed": records_of(user.missed, None),
        "values": records_of(user.values, None),
        "stages": {name: records_of(frame, None) for name, frame in user.stages.items()},
    }
