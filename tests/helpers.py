"""What several test files need: cases in short notation, tables, and one call of the package."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

import sqlmetrics as sm

Recommendation = tuple[Any, ...]  # (user, item, score) or (user, item, score, rank)
Interaction = tuple[Any, Any, float | None]  # (user, item, relevance)

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


# ---------------------------------------------------------------- calls of the package


def spec(metric: str, params: Mapping[str, Any] | None = None, k: int | None = None) -> str:
    """Write a call: spec("recall", {"divisor": "relevant"}, 5) is "recall(divisor=relevant)@5"."""
    inside = ", ".join(f"{name}={value}" for name, value in (params or {}).items())
    return metric + (f"({inside})" if inside else "") + (f"@{k}" if k is not None else "")


def column(frame: pd.DataFrame, metric: str, params: Mapping[str, Any] | None = None) -> str:
    """Find the column of a call among canonical names, whatever the order of its parameters."""
    wanted = (metric, {name: str(value) for name, value in (params or {}).items()})
    for name in frame.columns:
        if match := re.fullmatch(r"(\w+)(?:\((.*)\))?", str(name)):
            pairs = [pair.split("=") for pair in (match[2] or "").split(",") if pair]
            if (match[1], {pair[0].strip(): pair[1].strip() for pair in pairs}) == wanted:
                return str(name)
    raise AssertionError(f"no column for {wanted} in {list(frame.columns)}")


def at_k(frame: pd.DataFrame, k: int | None) -> pd.DataFrame:
    """Return the rows of one cutoff; None is the whole list."""
    return frame[frame["k"].isna() if k is None else (frame["k"] == k).fillna(False)]


def values_by_user(frame: pd.DataFrame, name: str, k: int | None) -> dict[Any, float]:
    """Return {user: value} of one column of `per_user` at one cutoff."""
    rows = at_k(frame, k)
    assert not rows["user_id"].duplicated().any(), "a user has two rows at one cutoff"
    users = rows["user_id"].tolist()
    return {u: v for u, v in zip(users, rows[name].tolist(), strict=True) if not pd.isna(v)}


@dataclass
class Result:
    mean: float | None
    n_users: int | None
    users: dict[Any, float]


def run(
    recommendations: Sequence[Recommendation],
    interactions: Sequence[Interaction] | None,
    metric: str,
    k: int | None = None,
    params: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    history: Sequence[tuple[Any, Any]] | None = None,
    largest_k: int | None = None,
    convention: str = "standard",
    users: bool = True,
) -> Result:
    """Evaluate one metric at one cutoff with the package, from frames."""
    settings = {name: value for name, value in (settings or {}).items() if value is not None}
    tables: dict[str, pd.DataFrame] = {
        "recommendations": recommendation_frame(recommendations, settings.get("order", "auto"))
    }
    if interactions is not None:
        tables["interactions"] = interaction_frame(interactions)
    if history is not None:
        tables["history"] = pd.DataFrame(history, columns=["user_id", "item_id"])
    evaluator = sm.Evaluator(**tables, convention=convention, settings=settings)
    calls = [spec(metric, params)]
    cutoffs = None if k is None else sorted({k, largest_k or k})

    result = at_k(evaluator.evaluate(calls, k=cutoffs), k)
    assert len(result) == 1, f"not one row: {result}"
    value, n_users = result["value"].iloc[0], result["n_users"].iloc[0]
    by_user: dict[Any, float] = {}
    if users:
        frame = evaluator.per_user(calls, k=cutoffs)
        (name,) = set(frame.columns) - {"user_id", "k"}
        by_user = values_by_user(frame, name, k)
    return Result(
        mean=None if pd.isna(value) else float(value),
        n_users=None if pd.isna(n_users) else int(n_users),
        users=by_user,
    )
