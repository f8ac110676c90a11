"""Explain the values of one user: the list, its hits, and the arithmetic of each value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.plan import one_user as planning
from sqlmetrics.plan.request import Request, planned
from sqlmetrics.plan.slices import attributes_of
from sqlmetrics.run.path import own_templates_named, ready, results
from sqlmetrics.run.session import Session
from sqlmetrics.sql.dialects import checked
from sqlmetrics.sql.statement import statement as readable
from sqlmetrics.tables.schema import UNKNOWN

if TYPE_CHECKING:
    import pandas as pd

_INTEGERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\Z")
_KEYS = ("recommendations", "interactions")


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

    of, key = results(session, asked), _key(session, named)
    of.require_users("not a value for each user; use evaluate")
    shown = attributes_of(None, show, session.catalog, session.tables, session.planner.user_keys)
    with own_templates_named(session):
        plans = planning.one_user(of, key, shown)
        values = session.engine.frame(ready(session, planned(of, plans.values)))
        rows = session.engine.frame(session.physical(plans.list))
        missed = pd.DataFrame()
        if plans.missed is not None:
            missed = session.engine.frame(session.physical(plans.missed))
            missed["rank"] = missed["rank"].astype("Int64")
        stages = {
            name: session.engine.frame(session.physical(plan))
            for name, plan in plans.stages.items()
        }
    if rows.empty and missed.empty and values.empty:
        raise UsageError(
            f"there is no user {named!r} in {' and '.join(t for t in _KEYS if t in session.tables)}"
        )
    values["arithmetic"] = [
        arithmetic(of.requests[int(position) - 1], *map(float, numbers))
        for position, *numbers in zip(
            *(values[name] for name in ("position", "value", "numerator", "denominator")),
            strict=True,
        )
    ]
    values = values.drop(columns=["position", "numerator", "denominator"])
    return User(key, rows, missed, values, stages)


def extremes(session: Session, asked: Request, n: int, highest: bool) -> pd.DataFrame:
    """Return the users with the lowest or highest values; see `Evaluator.extreme_users`."""
    of = results(session, asked)
    of.require_users("not a value for each user; use evaluate")
    if len(of.requests) != 1:
        raise UsageError("name one metric with one cutoff, such as ndcg@10, to find users by")
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
    of = results(session, asked, planner)
    shown = attributes_of(None, show, session.catalog, planner.tables, planner.user_keys)
    plans = planning.one_user(of, _key(session, named), shown).plans
    return "\n".join(f"-- {name}\n{readable(plan, dialect)};\n" for name, plan in plans.items())


def arithmetic(request: MetricRequest, value: float, above: float, below: float) -> str:
    """Write how a value comes about, in the words of its formula: `hits 3 / k 10 = 0.3`."""
    if math.isnan(value):
        return "undefined: the user is not judged by this metric"
    # without definitions and remarks
    formula = re.split(r", where |; |\. ", request.metric.formula)[0]
    words = _divided(formula)
    if math.isnan(above) or math.isnan(below) or len(words) != 2:
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


def _key(session: Session, named: Any) -> dict[str, Any]:
    """Return the value of each key column, in the type of the column.

    Raises:
        UsageError: the user has too few or too many values, or a value has another type.
    """
    names = list(session.planner.user_keys)
    values = (
        [named]
        if len(names) == 1
        else list(named)
        if isinstance(named, (tuple, list))
        else [part.strip() for part in str(named).split(",")]
    )
    if isinstance(named, Mapping):
        values = [named.get(name) for name in names]
    if len(values) != len(names):
        raise UsageError(
            f"a user has the {len(names)} keys {' and '.join(names)}, not {len(values)}: {named!r}"
        )
    table = session.tables.get("recommendations") or next(iter(session.tables.values()))
    return {
        name: _typed(name, value, table.columns.get(name, ""))
        for name, value in zip(names, values, strict=True)
    }


def _typed(name: str, value: Any, type_name: str) -> Any:
    if type_name == UNKNOWN and str(value).isdecimal():  # of a table that is only named
        return int(value)
    if not _INTEGERS.match(type_name):
        return value if isinstance(value, str) else str(value)
    try:
        return int(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is a whole number ({type_name}), not {value!r}") from None
