"""Explain the values of one user: the list, its hits, and the arithmetic of each value."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import UnreadableError, UsageError
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.plan import one_user as planning
from sqlmetrics.plan.request import Request, planned
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.slices import Attribute, columns_there
from sqlmetrics.run.path import own_templates_named, ready, results
from sqlmetrics.run.printing import require_names
from sqlmetrics.run.session import Session
from sqlmetrics.sql.dialects import checked
from sqlmetrics.sql.statement import statement as readable
from sqlmetrics.tables.schema import UNKNOWN, type_family
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd

_KEYS = ("recommendations", "interactions")
_TAKEN = ("model", "rank", "item_id", "score", "gain", "hit")  # columns of a list


@dataclass(frozen=True)
class User:
    """One user, as judged.

    Attributes:
        user: the value of each key column.
        list: one row per recommended item (and model), from the top: `rank`, `item_id`, the columns
            of `show`, `score`, the terms of each metric that is a sum, and their sum so far, `gain`
            (if the interactions have a relevance), `hit`.
        missed: one row per relevant item that is not in the top of the list, with its `rank` if it
            is further down; empty without interactions.
        values: one row per metric and cutoff (and model): `metric, k, value, arithmetic`.
        stages: the rows of the user in the stages that metrics with several steps read.
    """

    user: Mapping[str, Any]
    list: pd.DataFrame
    missed: pd.DataFrame
    values: pd.DataFrame
    stages: Mapping[str, pd.DataFrame]


def user(session: Session, asked: Request, named: Any, show: str | Iterable[str] | None) -> User:
    """Explain the values of a user; see `Evaluator.user`."""
    import pandas as pd

    of = results(session, asked)
    key, plans = _planned(session, of, named, show)
    with own_templates_named(session):
        try:
            values = session.engine.frame(ready(session, planned(of, plans.values)))
            rows = session.engine.frame(session.physical(plans.list))
        except UnreadableError as error:
            raise UsageError(f"{' and '.join(key)} cannot be {named!r}: {error.reason}") from error
        missed = pd.DataFrame()
        if plans.missed is not None:
            missed = session.engine.frame(session.physical(plans.missed))
            missed["rank"] = missed["rank"].astype("Int64")
        stages = {
            name: session.engine.frame(session.physical(plan))
            for name, plan in plans.stages.items()
        }
    if rows.empty and missed.empty and values.empty:
        there = " and ".join(name for name in _KEYS if name in session.tables)
        raise UsageError(f"there is no user {named!r} in {there}")
    values["arithmetic"] = [
        arithmetic(of.requests[int(position) - 1], *map(float, numbers))
        for position, *numbers in zip(
            *(values[name] for name in ("position", "value", "numerator", "denominator")),
            strict=True,
        )
    ]
    values = values.drop(columns=["position", "numerator", "denominator"])
    return User(key, rows.rename(columns=dict(plans.labels)), missed, values, stages)


def _planned(
    session: Session, of: Results, named: Any, show: str | Iterable[str] | None
) -> tuple[dict[str, Any], planning.OneUser]:
    """Return the key of a user, and plan the values."""
    if session.planner.several_runs:
        raise UsageError(
            "one user is explained for a single run of each model, but the recommendations have a "
            "column run",
            table="recommendations",
            column="run",
            remedy="pass the lists of one run without the column run",
        )
    of.require_users("not a value for each user; use evaluate")
    key = _key(session, named)
    shown = list(_shown(session, show))
    plans = planning.one_user(of, key, shown)
    for name in {one.name for one in shown} & {*_TAKEN, *plans.labels.values()}:
        raise UsageError(f"show: {name} is also a column of the list; rename the column of items")
    return key, plans


def extremes(session: Session, asked: Request, n: int, highest: bool) -> pd.DataFrame:
    """Return the users with the lowest or highest values; see `Evaluator.extreme_users`."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise UsageError(f"n must be a whole number of at least 1, not {n!r}")
    of = results(session, asked)
    of.require_users("not a value for each user; use evaluate")
    with own_templates_named(session):
        plan = planned(of, planning.extremes(of, n, highest))
        return session.engine.frame(ready(session, plan))


def statements(
    session: Session, asked: Request, named: Any, show: str | Iterable[str] | None,
    dialect: str | None,
) -> str:  # fmt: skip
    """Return the statements that `user` runs; see `Evaluator.user`."""
    dialect = session.engine.dialect if dialect is None else checked(dialect)
    planner = session.printing_planner(dialect)
    _, one = _planned(session, results(session, asked, planner), named, show)
    for plan in one.plans.values():
        require_names(session, plan, dialect)
        session.warn(plan.warnings)
    return "\n".join(f"-- {name}\n{readable(plan, dialect)};\n" for name, plan in one.plans.items())


def arithmetic(request: MetricRequest, value: float, above: float, below: float) -> str:
    """Write how a value comes about, in the words of its formula: `hits 3 / k 10 = 0.3`."""
    if math.isnan(value):
        return "undefined: the user is not judged by this metric"
    # without definitions and remarks
    formula = re.split(r", where |; |\. ", request.metric.formula)[0]
    words = _divided(formula)
    if len(words) == 2 and value == 0 and math.isnan(above) and not words[0].isdecimal():
        return f"0, because {words[0]} is 0"  # no rows, such as hits, in the top k
    if len(words) != 2 or math.isnan(above) or math.isnan(below):
        return f"{formula} = {value:.4g}"
    sides = (
        number if word == number else f"{word} {number}"
        for word, number in zip(words, (f"{above:.4g}", f"{below:.4g}"), strict=True)
    )
    return f"{' / '.join(sides)} = {value:.4g}"


def _divided(formula: str) -> list[str]:
    """Split a formula at the divisions that are not in parentheses."""
    parts, depth = [""], 0
    for token in re.split(r"( / |[()])", formula):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == " / " and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def _shown(session: Session, show: str | Iterable[str] | None) -> Iterator[Attribute]:
    names = [] if show is None else [show] if isinstance(show, str) else list(show)
    for asked in dict.fromkeys(names):
        name = str(asked).removeprefix("items.")
        for _, column in columns_there("items", name, f"show: {asked}", "show", session.tables):
            if column.is_list or column.type.startswith(("STRUCT", "MAP", "UNION")):
                raise UsageError(
                    f"show: the column {name} of items has the type {column.type}, which is no "
                    "single value; export one value per item"
                )
        yield Attribute(name, "items", "items")


def _key(session: Session, named: Any) -> dict[str, Any]:
    """Return the value of each key column, in the type of the column."""
    names = list(session.planner.user_keys)
    if isinstance(named, Mapping):
        if {*named} != {*names}:
            raise UsageError(f"a user has the keys {' and '.join(names)}, not {listed(named)}")
        values = [named[name] for name in names]
    elif isinstance(named, tuple | list):
        values = list(named)
    elif len(names) > 1:
        rows = csv.reader(io.StringIO(str(named), newline=""), skipinitialspace=True)
        values = [part.strip() for part in next(rows, [])]
    else:
        values = [named]
    if len(values) != len(names):
        raise UsageError(
            f"a user has the {len(names)} keys {' and '.join(names)}, not {len(values)}: {named!r}",
            remedy="enclose a value with a comma in double quotes, as in CSV: 'a,\"b,c\"'"
            if isinstance(named, str) and len(values) > len(names)
            else "",
        )
    table = session.tables.get("recommendations") or next(iter(session.tables.values()))
    return {
        name: _typed(name, value, table.columns.get(name, ""))
        for name, value in zip(names, values, strict=True)
    }


def _typed(name: str, value: Any, type_name: str) -> Any:
    if value is None:
        raise UsageError(f"{name} of a user is missing")
    if type_name == UNKNOWN and isinstance(value, int):  # of a table that is only named
        return value
    if type_family(type_name) != "integer":
        return value if isinstance(value, str | bytes) else str(value)
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or isinstance(value, bool) or (not isinstance(value, str) and whole != value):
        raise UsageError(f"{name} is a whole number ({type_name}), not {value!r}")
    return whole
