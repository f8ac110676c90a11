"""Numbers written as text, and tables in short notation."""

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

Recommendation = tuple[Any, ...]  # (user, item, score) or (user, item, score, rank)
Interaction = tuple[Any, Any, float | None]  # (user, item, relevance)
# (item, price, categories, features, propensity, [groups, [target of the groups]]), or None
Item = tuple[Any, ...]
Aspect = tuple[Any, ...]  # (item, aspect) or (user, item, aspect)
Decision = tuple[Any, ...]  # (user, item, reward) or (user, item, reward, propensity)


ITEM_COLUMNS = {
    "price", "category", "features", "propensity", "item_group", "group_target", "created_at",
}  # fmt: skip
_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log2": math.log2,
    "ln": math.log,
    "sqrt": math.sqrt,
}


def number(text: str | float) -> float:
    """Evaluate "1/3" or "(1 + 1/log2(4)) / 2": numbers, + - * / **, log2, ln and sqrt, no more."""

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
    """Read {"a": {"price": 3, "category": ["x", "y"], "features": [1, 0], "item_group": "m"}}.

    Each item may lack any of them.
    """

    def several(values: Any) -> Any:
        return [values] if isinstance(values, str) else values

    rows: list[Item] = []
    for name, given in items.items():
        assert set(given) <= ITEM_COLUMNS, given
        categories, groups = several(given.get("category")), several(given.get("item_group"))
        rest = (
            given.get("features"), given.get("propensity"), groups, given.get("group_target"),
            given.get("created_at"),
        )  # fmt: skip
        rows.append((item(name), given.get("price"), categories, *rest))
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
    """Read {"u1": "a:1 b:0"} (rewards) or {"u1": "a:1@0.5 b:0@0.25"} (and propensities).

    "a:1@0.5/0.75#2" also has the target propensity and the position, and "a:1#2" the position.
    """
    rows: list[Decision] = []
    for user, text in lists.items():
        for entry in text.split():
            name, _, decision = entry.partition(":")
            decision, _, position = decision.partition("#")
            decision, _, target = decision.partition("/")
            reward, _, propensity = decision.partition("@")
            row: Decision = (user, item(name), float(reward))
            if position:
                more = (float(part) if part else None for part in (propensity, target))
                rows.append((*row, *more, int(position)))
            else:
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
    _, prices, categories, features, propensities, *more = zip(*rows, strict=True)
    if any(price is not None for price in prices):
        frame["price"] = pd.array(prices, dtype="Float64")
    for name, held in zip(("category", "item_group"), (categories, *more), strict=False):
        if any(of_item is not None for of_item in held):
            single = all(of_item is None or len(of_item) == 1 for of_item in held)
            frame[name] = [
                of_item[0] if of_item is not None and single else of_item for of_item in held
            ]
    if any(vector is not None for vector in features):
        frame["features"] = list(features)
    if any(propensity is not None for propensity in propensities):
        frame["propensity"] = pd.array(propensities, dtype="Float64")
    if len(more) > 1 and any(target is not None for target in more[1]):
        frame["group_target"] = pd.array(more[1], dtype="Float64")
    if len(more) > 2 and any(time is not None for time in more[2]):
        frame["created_at"] = list(more[2])
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
    policy: Sequence[Decision] | None = None,
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
        names = ("user_id", "item_id", "reward", "propensity", "target_propensity", "position")
        frame = named_frame(logs, *names).dropna(axis="columns", how="all")
        if "target_propensity" in frame:  # of slates: one for each user
            frame["round_id"] = frame["user_id"].astype(str)
        frames["logs"] = frame
    if policy is not None:
        frames["policy"] = named_frame(policy, "user_id", "item_id", "probability", "predicted")
    return frames
