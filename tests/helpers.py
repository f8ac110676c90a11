"""What several test files need: cases in short notation, tables, and one call of the package."""

import ast
import contextlib
import math
import operator
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

Recommendation = tuple[Any, ...]  # (user, item, score) or (user, item, score, rank)
Interaction = tuple[Any, Any, float | None]  # (user, item, relevance)
Item = tuple[Any, ...]  # (item, price, categories, features), None where it lacks one
Aspect = tuple[Any, ...]  # (item, aspect) or (user, item, aspect)
Decision = tuple[Any, ...]  # (user, item, reward) or (user, item, reward, propensity)

# ---------------------------------------------------------------- numbers written as text

_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[[float], float]] = {"log2": math.log2, "sqrt": math.sqrt}


def number(text: str | float) -> float:
    """Evaluate "1/3" or "(1 + 1/log2(4)) / 2": numbers, + - * / **, log2 and sqrt, nothing else."""

    def value(node: ast.AST) -> float:
        match node:
            case ast.Constant(value=int() | float() as constant):
                return constant
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](value(argument))
        raise ValueError(f"not arithmetic: {text!r}")

    return float(value(ast.parse(str(text), mode="eval").body))


# ---------------------------------------------------------------- tables in short notation


def recommendation_rows(
    lists: Mapping[str, str], item: Callable[[str], Any] = str
) -> list[Recommendation]:
    """Read {"u1": "a b c"} (best first: ranks 1, 2, 3) or {"u1": "a:5 b:5 c:3"} (scores)."""
    rows: list[Recommendation] = []
    for user, text in lists.items():
        for rank, entry in enumerate(text.split(), start=1):
            name, _, score = entry.partition(":")
            rows.append(
                (user, item(name), float(score)) if score else (user, item(name), None, rank)
            )
    return rows


def interaction_rows(
    lists: Mapping[str, str], item: Callable[[str], Any] = str
) -> list[Interaction]:
    """Read {"u1": "a c"} (no relevance column) or {"u1": "a:3 c:0"} (relevance)."""
    rows: list[Interaction] = []
    for user, text in lists.items():
        for entry in text.split():
            name, _, relevance = entry.partition(":")
            rows.append((user, item(name), float(relevance) if relevance else None))
    return rows


def item_rows(items: Mapping[str, Any], item: Callable[[str], Any] = str) -> list[Item]:
    """Read {"a": {"price": 3, "category": ["x", "y"], "features": [1, 0]}}, each of them or not."""
    rows: list[Item] = []
    for name, given in items.items():
        assert set(given) <= {"price", "category", "features"}, given
        category = given.get("category")
        categories = [category] if isinstance(category, str) else category
        rows.append((item(name), given.get("price"), categories, given.get("features")))
    return rows


def aspect_rows(aspects: Mapping[str, Any], item: Callable[[str], Any] = str) -> list[Aspect]:
    """Read {"a": "x y"} (aspects of items) or {"u1": {"a": "x y"}} (of items for one user)."""
    rows: list[Aspect] = []
    for name, given in aspects.items():
        if isinstance(given, str):
            rows += [(item(name), aspect) for aspect in given.split()]
        else:
            rows += [(name, *row) for row in aspect_rows(given, item)]
    return rows


def log_rows(lists: Mapping[str, str], item: Callable[[str], Any] = str) -> list[Decision]:
    """Read {"u1": "a:1 b:0"} (rewards) or {"u1": "a:1@0.5 b:0@0.25"} (and propensities)."""
    rows: list[Decision] = []
    for user, text in lists.items():
        for entry in text.split():
            name, _, decision = entry.partition(":")
            reward, _, propensity = decision.partition("@")
            row = (user, item(name), float(reward))
            rows.append((*row, float(propensity)) if propensity else row)
    return rows


def recommendation_frame(rows: Sequence[Recommendation], order: str = "auto") -> pd.DataFrame:
    """Return a frame with the column that gives the order: rank, score, or none for row order."""
    frame = pd.DataFrame({"user_id": [row[0] for row in rows], "item_id": [row[1] for row in rows]})
    if order == "row":
        return frame
    if all(row[2] is not None for row in rows):
        frame["score"] = [row[2] for row in rows]
    if all(len(row) == 4 for row in rows):
        frame["rank"] = [row[3] for row in rows]
    return frame


def interaction_frame(rows: Sequence[Interaction]) -> pd.DataFrame:
    frame = pd.DataFrame({"user_id": [row[0] for row in rows], "item_id": [row[1] for row in rows]})
    if all(row[2] is not None for row in rows):
        frame["relevance"] = [row[2] for row in rows]
    return frame


def item_frame(rows: Sequence[Item]) -> pd.DataFrame:
    """Return a frame with the columns that any item has a value in, NULL for the others."""
    frame = pd.DataFrame({"item_id": [row[0] for row in rows]})
    _, prices, categories, features = zip(*rows, strict=True)
    if any(price is not None for price in prices):
        frame["price"] = pd.array(prices, dtype="Float64")
    if any(of_item is not None for of_item in categories):
        single = all(of_item is None or len(of_item) == 1 for of_item in categories)
        frame["category"] = [
            of_item[0] if of_item is not None and single else of_item for of_item in categories
        ]
    if any(vector is not None for vector in features):
        frame["features"] = list(features)
    return frame


def named_frame(rows: Sequence[tuple[Any, ...]], *names: str) -> pd.DataFrame:
    """Return a frame of rows that all have the first of the columns, as many as they are long."""
    return pd.DataFrame(rows, columns=list(names[: len(rows[0])]))


def further_frames(
    order: str,
    history: Sequence[tuple[Any, Any]] | None = None,
    items: Sequence[Item] | None = None,
    aspects: Sequence[Aspect] | None = None,
    baseline: Sequence[Recommendation] | None = None,
    logs: Sequence[Decision] | None = None,
) -> dict[str, pd.DataFrame]:
    """Return frames of the tables that are given, beside recommendations and interactions."""
    frames: dict[str, pd.DataFrame] = {}
    if history is not None:
        frames["history"] = named_frame(history, "user_id", "item_id")
    if items is not None:
        frames["items"] = item_frame(items)
    if aspects is not None:
        names = ("user_id", "item_id", "aspect")[3 - len(aspects[0]) :]
        frames["aspects"] = named_frame(aspects, *names)
    if baseline is not None:
        frames["baseline"] = recommendation_frame(baseline, order)
    if logs is not None:
        frames["logs"] = named_frame(logs, "user_id", "item_id", "reward", "propensity")
    return frames


# ---------------------------------------------------------------- calls of the package


def spec(metric: str, params: Mapping[str, Any] | None = None, k: int | None = None) -> str:
    """Write a call: spec("recall", {"divisor": "relevant"}, 5) is "recall(divisor=relevant)@5"."""
    inside = ", ".join(f"{name}={value}" for name, value in (params or {}).items())
    return metric + (f"({inside})" if inside else "") + (f"@{k}" if k is not None else "")


def column(frame: pd.DataFrame, metric: str, params: Mapping[str, Any] | None = None) -> str:
    """Find the column of a call among canonical names, whatever the order of its parameters."""
    return name_among(frame.columns, metric, params)


def name_among(names: Iterable[Any], metric: str, params: Mapping[str, Any] | None = None) -> str:
    names = list(names)
    wanted = (metric, {name: str(value) for name, value in (params or {}).items()})
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
    (request,) = definitions(evaluator).requests(call, None)
    return request.call.name


def definitions(evaluator: sm.Evaluator) -> Definitions:
    """Return the conventions of an evaluator."""
    return evaluator._session.definitions


def replan(evaluator: sm.Evaluator, **changes: Any) -> Planner:
    """Change attributes of the planner of an evaluator."""
    session = evaluator._session
    planner = replace(session.planner, **changes)
    session.planner = session.executor.planner = session.data_warnings.planner = planner
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
    with sm.Evaluator(**tables, settings=settings) as evaluator:
        with no_propensities_expected(logs):
            means = at_k(evaluator.evaluate(calls, k=cutoffs), k)
        users = evaluator.per_user(of_users, k=cutoffs) if of_users else pd.DataFrame()
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


def without_check(stderr: str) -> str:
    """Drop the lines of stderr that warn of the data, as `check` does."""
    tables = ("recommendations", "interactions", "history")
    lines = stderr.splitlines(keepends=True)
    starts = tuple(f"sqlmetrics: {table}" for table in tables)
    return "".join(line for line in lines if not line.startswith(starts))


# ---------------------------------------------------------------- other processes

# the template of a metric that takes hours, for runs that are stopped
ENDLESS = """\
{#---
title = "Takes hours"
when_empty = 0
---#}
SELECT
    {{ keys }},
    k,
    max((SELECT sum(hash(a.range * b.range)) FROM range(100000) AS a, range(100000000) AS b))
        AS value
FROM hits
GROUP BY {{ keys }}, k
"""

PATIENCE = 600.0  # seconds until a process counts as stuck, on a machine of any load


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[Any] | None = None) -> None:
    """Wait until a condition holds; fail where the process that works towards it has ended."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
