"""One call of the package, its names and values."""

import contextlib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

import sqlmetrics as sm
from sqlmetrics.checks.validate import Finding
from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.front_matter import LEVELS
from sqlmetrics.plan.planner import Planner
from sqlmetrics.report.analysis import Question, Study
from sqlmetrics.run import looking, reporting
from tests.support.evaluators import Evaluator
from tests.support.notation import (
    Decision,
    Interaction,
    Recommendation,
    further_frames,
    interaction_frame,
    recommendation_frame,
)


def spec(metric: str, params: Mapping[str, Any] | None = None, k: int | None = None) -> str:
    """Write a call: spec("recall", {"divisor": "relevant"}, 5) is "recall(divisor=relevant)@5"."""
    inside = ", ".join(f"{name}={value}" for name, value in (params or {}).items())
    return metric + (f"({inside})" if inside else "") + (f"@{k}" if k is not None else "")


def column(frame: pd.DataFrame, metric: str, params: Mapping[str, Any] | None = None) -> str:
    """Find the column of a call among canonical names, whatever the order of its parameters."""
    return name_among(frame.columns, metric, params)


def text(value: Any) -> str:
    return "none" if value is None else str(value)


def name_among(names: Iterable[Any], metric: str, params: Mapping[str, Any] | None = None) -> str:
    names = list(names)
    wanted = (metric, {name: text(value) for name, value in (params or {}).items()})
    for name in names:
        if match := re.fullmatch(r"(\w+)(?:\((.*)\))?", str(name)):
            pairs = [pair.split("=") for pair in (match[2] or "").split(",") if pair]
            if (match[1], {pair[0].strip(): pair[1].strip() for pair in pairs}) == wanted:
                return str(name)
    raise AssertionError(f"no column for {wanted} in {names}")


def at_k(frame: pd.DataFrame, k: int | None) -> pd.DataFrame:
    """Return the rows of one cutoff; None is the whole list."""
    return frame[frame["k"].isna() if k is None else (frame["k"] == k).fillna(False)]


def values_by_user(frame: pd.DataFrame, name: str, k: int | None) -> dict[Any, float]:
    """Return {user: value} of one column of `per_user` at one cutoff."""
    rows = at_k(frame, k)
    assert not rows["user_id"].duplicated().any(), "a user has two rows at one cutoff"
    users = rows["user_id"].tolist()
    return {u: v for u, v in zip(users, rows[name].tolist(), strict=True) if not pd.isna(v)}


@contextlib.contextmanager
def no_propensities_expected(logs: Sequence[Decision] | None) -> Iterator[None]:
    """Let the warning pass that logs without a column propensity give."""
    with warnings.catch_warnings():
        if logs is not None and len(logs[0]) == 3:
            warnings.filterwarnings("ignore", "logs: there is no column propensity")
        yield


@dataclass
class Result:
    mean: float | None
    n_users: int | None
    users: dict[Any, float]
    undefined: set[Any]


def canonical(evaluator: sm.Evaluator, call: str) -> str:
    """Return the name that a call has in results."""
    known = definitions(evaluator)
    (request,) = known.requests(known.specs(call, None))
    return request.name


def definitions(evaluator: sm.Evaluator) -> Definitions:
    """Return the conventions of an evaluator."""
    return evaluator._session.definitions


def replan(evaluator: sm.Evaluator, **changes: Any) -> Planner:
    """Change attributes of the planner of an evaluator."""
    session = evaluator._session
    planner = replace(session.planner, **changes)
    session.planner = session.data_warnings.planner = planner
    return planner


def findings_of(
    evaluator: sm.Evaluator, metrics: Any = None, k: Any = None, levels: Sequence[str] = LEVELS
) -> list[Finding]:
    """Find what `Evaluator.check` returns, of some levels."""
    with evaluator._session.calling():
        return looking.findings(evaluator._session, metrics, k, levels)


@contextlib.contextmanager
def studied(evaluator: sm.Evaluator, question: Question) -> Iterator[Study]:
    """Compute the values of a report once, for questions about them."""
    with evaluator._session.calling(), reporting.studied(evaluator._session, question) as study:
        yield study


def run_calls(
    recommendations: Sequence[Recommendation],
    interactions: Sequence[Interaction] | None,
    calls: Mapping[str, bool],
    k: int | None = None,
    settings: Mapping[str, Any] | None = None,
    largest_k: int | None = None,
    logs: Sequence[Decision] | None = None,
    **more: Any,
) -> dict[str, Result]:
    """Evaluate calls at one cutoff with the package, from frames; per user where they say True."""
    settings = {name: value for name, value in (settings or {}).items() if value is not None}
    order = settings.get("order", "auto")
    tables = {"recommendations": recommendation_frame(recommendations, order)}
    if interactions is not None:
        tables["interactions"] = interaction_frame(interactions)
    tables |= further_frames(order, logs=logs, **more)
    cutoffs = None if k is None else sorted({k, largest_k or k})
    of_users = [call for call, per_user in calls.items() if per_user]
    found = {}
    with Evaluator(**tables, settings=settings) as evaluator:
        with no_propensities_expected(logs):
            means = at_k(evaluator.evaluate(list(calls), k=cutoffs), k)
        users = evaluator.per_user(of_users, k=cutoffs, long=True) if of_users else pd.DataFrame()
        names = {call: canonical(evaluator, call) for call in calls}
    assert means["metric"].tolist() == list(dict.fromkeys(names.values())), "not a row for each"
    rows = {row["metric"]: row for row in means.to_dict("records")}
    for call, per_user in calls.items():
        value, n_users = rows[names[call]]["value"], rows[names[call]]["n_users"]
        by_user = values_by_user(users, names[call], k) if per_user else {}
        found[call] = Result(
            mean=None if pd.isna(value) else float(value),
            n_users=None if pd.isna(n_users) else int(n_users),
            users=by_user,
            undefined=set(at_k(users, k)["user_id"]) - set(by_user) if per_user else set(),
        )
    return found


def run(
    recommendations: Sequence[Recommendation],
    interactions: Sequence[Interaction] | None,
    metric: str,
    k: int | None = None,
    params: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    users: bool = True,
    **more: Any,
) -> Result:
    """Evaluate one metric at one cutoff with the package, from frames."""
    calls = {spec(metric, params): users}
    (result,) = run_calls(recommendations, interactions, calls, k, settings, **more).values()
    return result
