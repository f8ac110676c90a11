"""Validate plain values, as in JSON and TOML, against shapes declared by types.

A shape is `str`, `int`, `float`, `bool`, `None`, `Any`, a Literal, a union, a list, tuple or
mapping of shapes, `Annotated[shape, Constraint]`, or named entries: a dataclass, a TypedDict, or a
dict of shapes, whose entries are all optional. A value must not have entries that its shape lacks.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)  # fmt: skip

from sqlmetrics.texts.wording import shown

_T = TypeVar("_T")
_NOUNS = {str: "text", int: "whole number", float: "number"}
_NAMES = {bool: "true or false", NoneType: "null"}


class ShapeError(ValueError):
    """A value does not have its shape; the message names the entry."""


@dataclass(frozen=True)
class Constraint:
    """An additional condition on a value; `words` describe the values that satisfy it."""

    words: str
    holds: Callable[[Any], bool]


def read(value: Any, shape: Any, where: str) -> Any:
    """Validate a value and convert it to the types of its shape; `where` names it in messages.

    If the shape requires it, a list becomes a tuple, an object becomes a dataclass, and an integer
    becomes a float.

    Raises:
        ShapeError: the value does not have the shape.
    """
    if shape is Any or type(value) is shape:  # nearly all entries of the headers of templates
        return value
    origin, inner = get_origin(shape), get_args(shape)
    if origin is Annotated:
        inside = read(value, inner[0], where)
        if all(rule.holds(inside) for rule in inner[1:]):
            return inside
    elif origin in (Union, UnionType):
        if type(value) in inner:  # fast, for the rows of a record
            return value
        choices = [choice for choice in inner if value is None or choice is not NoneType]
        if len(choices) == 1:  # the message for one choice is more precise than for the union
            return read(value, choices[0], where)
        for choice in choices:
            with contextlib.suppress(ShapeError):
                return read(value, choice, where)
    elif origin is Literal:
        if any(type(value) is type(choice) and value == choice for choice in inner):
            return value
    elif origin in (list, tuple, Sequence) and isinstance(value, list):
        is_open = origin is not tuple or inner[-1] is ...
        of = inner[:1] * len(value) if is_open else inner
        if len(of) == len(value):
            entries = [read(value[i], of[i], f"{where}[{i}]") for i in range(len(value))]
            return tuple(entries) if origin is tuple else entries
    elif origin in (dict, Mapping) and isinstance(value, dict):
        return {name: read(value[name], inner[1], f"{where}.{name}") for name in value}
    elif _has_entries(shape) and isinstance(value, dict):
        return (made if is_dataclass(shape) else entries_of)(value, shape, where)
    elif shape is float and isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            return float(value)
    raise ShapeError(f"{where} must be {_words(shape)}, not {shown(value)}")


def entries_of(
    value: Any, shape: Any, where: str = "", but: Collection[str] = ()
) -> dict[str, Any]:
    """Validate an object and return its entries, converted to the types of its shape.

    The object must not have the entries named in `but`.

    Raises:
        ShapeError: an entry is unknown, is missing or does not have its shape.
    """
    if not isinstance(value, dict):
        raise ShapeError(
            f"{where or 'the value'} must be a table of named entries, not {shown(value)}"
        )
    shapes, required = (shape, ()) if isinstance(shape, dict) else _declared(shape)
    inside = f"{where}." if where else ""
    known = [name for name in shapes if name not in but]
    for name in value:
        if name not in known:
            there_are = ", ".join(known)
            raise ShapeError(f"unknown entry {shown(inside + name)} (known: {there_are})")
    for name in required:
        if name not in value and name not in but:
            raise ShapeError(f"{inside}{name} is missing")
    return {name: read(value[name], shapes[name], inside + name) for name in value}


def made(value: Any, kind: type[_T], where: str = "", **own: Any) -> _T:
    """Create a dataclass from the entries of an object; `own` are fields that are not entries.

    Raises:
        ShapeError: an entry is unknown, is missing or does not have its shape.
    """
    return kind(**entries_of(value, kind, where, own), **own)


def _has_entries(shape: Any) -> bool:
    return is_typeddict(shape) or is_dataclass(shape) or isinstance(shape, dict)


@functools.cache
def _declared(kind: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the shapes of the entries of a dataclass or TypedDict, and the required entries."""
    shapes = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        return shapes, [
            field.name for field in fields(kind)
            if field.default is MISSING and field.default_factory is MISSING
        ]  # fmt: skip
    optional = [name for name in shapes if get_origin(shapes[name]) is NotRequired]
    shapes |= {name: get_args(shapes[name])[0] for name in optional}
    return shapes, [name for name in shapes if name not in optional]


def _words(shape: Any, several: bool = False) -> str:
    origin, inner = get_origin(shape), get_args(shape)
    if shape in _NOUNS:
        return f"{_NOUNS[shape]}s" if several else f"a {_NOUNS[shape]}"
    if origin is Annotated:
        return str(inner[1].words)
    if origin in (Union, UnionType):
        return " or ".join(_words(choice, several) for choice in inner)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin in (list, tuple, Sequence):
        number = "" if origin is not tuple or inner[-1] is ... else f"{len(inner)} "
        return f"{'lists' if several else 'a list'} of {number}{_words(inner[0], True)}"
    return _NAMES.get(shape, "a table of named entries")
