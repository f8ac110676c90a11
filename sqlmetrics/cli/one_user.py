"""Lay out the values of one user: the list, what it lacks, and the arithmetic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlmetrics.cli.arguments import cutoffs_of
from sqlmetrics.cli.formats import rendered
from sqlmetrics.errors import UsageError
from sqlmetrics.texts.terminal import one_line

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.run.one_user import User


_SHOWN = 10  # rows of a stage; --format json has all


def explained(evaluator: Evaluator, words: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the values of a user, or of the users with the worst or best values, as text."""
    how_many, highest = options["worst"] or options["best"], options["best"] is not None
    if options["worst"] and options["best"]:
        raise UsageError("--worst and --best name different users; give one of them")
    metrics = words if how_many else words[1:]
    columns = [name.strip() for text in options["show"] for name in text.split(",")]
    asked: dict[str, Any] = {
        "metrics": list(metrics) or None, "k": cutoffs_of(options), "show": columns or None,
        "skip_missing": options["skip_missing"],
    }  # fmt: skip
    if options["as_sql"]:
        if how_many:
            raise UsageError("--sql prints the statements of one user; give an ID")
        return evaluator.user_sql(words[0], dialect=options["dialect"], **asked)
    if options["dialect"]:
        raise UsageError("--dialect applies to --sql only; add --sql or remove it")
    named: Sequence[Any] = [words[0]]
    if how_many:
        found = evaluator.extreme_users(metrics[0], how_many, highest=highest, k=asked["k"])
        keys = [name for name in found.columns if name not in ("model", "value")]
        rows = found[keys].drop_duplicates().itertuples(index=False, name=None)
        named = [row[0] if len(keys) == 1 else row for row in rows]
    users = [evaluator.user(one, **asked) for one in named]
    if options["format"] == "json":
        objects = [_object(one) for one in users]
        return json.dumps(objects if how_many else objects[0], indent=2, default=str) + "\n"
    return "\n".join("".join(_sections(one, options["format"])) for one in users)


def _sections(user: User, kind: str) -> Iterator[str]:
    """Yield a heading and a table for each part."""
    key = ", ".join(f"{name} {value}" for name, value in user.user.items())
    yield _heading(key, kind, 1)
    for model, rows in _by_model(user.list):
        depth = max((k for k in user.values["k"].dropna()), default=len(rows))
        top = rows[rows["rank"] <= depth]
        yield _heading(f"list of {model}" if model else "list", kind, 2)
        yield _table(top, kind) if len(top) else "no list\n"
        if len(rows) > len(top):
            yield f"and {len(rows) - len(top)} more items below rank {int(depth)}\n"
    for model, rows in _by_model(user.missed):
        of = f" of {model}" if model else ""
        yield _heading(f"relevant items that are not in the top{of}", kind, 2)
        yield _table(rows, kind)
    for name, rows in user.stages.items():
        yield _heading(f"rows of {name}", kind, 2)
        yield _table(rows.drop(columns=list(user.user)).head(_SHOWN), kind)
        if len(rows) > _SHOWN:
            yield f"and {len(rows) - _SHOWN} more rows\n"
    yield _heading("values", kind, 2)
    for row in user.values.to_dict("records"):
        label = " ".join(
            str(row[name]) for name in ("model", "convention", "metric") if name in row
        )
        at = "" if row["k"] is None or row["k"] != row["k"] else f"@{int(row['k'])}"
        yield one_line(f"{label}{at}: {row['arithmetic']}") + "\n"


def _heading(text: str, kind: str, level: int) -> str:
    if kind == "markdown":
        return f"\n{'#' * (level + 1)} {one_line(text)}\n\n"
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
    """Return a user as JSON."""

    def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", date_format="iso"))
        return found

    return {
        "user": dict(user.user),
        "list": rows(user.list),
        "missed": rows(user.missed),
        "values": rows(user.values),
        "stages": {name: rows(frame) for name, frame in user.stages.items()},
    }
