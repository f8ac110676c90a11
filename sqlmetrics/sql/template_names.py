"""The names that every template may use: columns that identify users, lists and models.

`docs/reference/template-names.md` is made of the docstrings here and in `plan/template_names.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.sql.quoting import identifier, literal


@dataclass(frozen=True)
class Keys:
    """The columns that identify lists and users.

    Attributes:
        users: the columns that identify a user.
        several_models: whether lists also have a column `model`.
        several_runs: whether lists also have a column `run`: the run of the model.
        model: the name of the only model, if lists have no such column.
        slices: the columns of rounds that are slices, among the columns of users.
        dialect: the dialect in which the query is printed. Queries are written in DuckDB's SQL; for
            another dialect, in its portable part.
    """

    users: tuple[str, ...] = ("user_id",)
    several_models: bool = False
    model: str = "recommendations"
    dialect: str = NATIVE
    several_runs: bool = False
    slices: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """Return the columns of lists that identify the run of a model."""
        models = ["model"] if self.several_models else []
        return [*models, *(["run"] if self.several_runs else [])]

    @property
    def groups(self) -> list[str]:
        """Return the columns of rounds that are evaluated together."""
        return [*self.models, *self.slices]

    @property
    def lists(self) -> list[str]:
        """Return the columns that identify a list."""
        return [*self.models, *self.users]

    @property
    def values_of_models(self) -> list[str]:
        """Return the columns that identify a value of a run metric; one is always the model."""
        return ["model", *(["run"] if self.several_runs else [])]

    @property
    def context(self) -> Mapping[str, Any]:
        """Return the names of `KeyNames`, which all templates have."""
        return _context_of(self)


class KeyNames:
    """Names of the columns that identify users, lists and models.

    In metrics with the grain `run`, `keys`, `keys_of` and `same_keys` are those of models:
    `model_keys`, `model_keys_of` and `same_model_keys`.
    """

    def __init__(self, keys: Keys) -> None:
        self._known = keys
        self._users = [identifier(name) for name in keys.users]
        self._lists = [*keys.models, *self._users]

    @property
    def keys(self) -> str:
        """The columns that identify a list: those of the model, if several are evaluated, and of
        the user."""
        return ", ".join(self._lists)

    def keys_of(self, table: str) -> str:
        """The same with the name of a table."""
        return _listed(self._lists, table)

    def same_keys(self, left: str, right: str) -> str:
        """The condition that rows of two tables belong to the same list."""
        return _equal(self._lists, left, right)

    @property
    def user_keys(self) -> str:
        """The columns that identify a user."""
        return ", ".join(self._users)

    def user_keys_of(self, table: str) -> str:
        """The same with the name of a table."""
        return _listed(self._users, table)

    def same_user(self, left: str, right: str) -> str:
        """The condition that rows of two tables belong to the same user."""
        return _equal(self._users, left, right)

    @property
    def user_key_columns(self) -> list[str]:
        """The names of the columns that identify a user, without quotes."""
        return [*self._known.users]

    @property
    def first_user_key(self) -> str:
        """The first of the columns that identify a user."""
        return self._users[0]

    @property
    def no_keys(self) -> str:
        """The condition that a column that identifies a list is missing."""
        return " OR ".join(f"{name} IS NULL" for name in self._lists)

    @property
    def no_user(self) -> str:
        """The condition that a column that identifies a user is missing."""
        return " OR ".join(f"{name} IS NULL" for name in self._users)

    def user_texts_of(self, table: str) -> str:
        """The columns that identify a user as one text."""
        return " || ':' || ".join(f"CAST({table}.{name} AS VARCHAR)" for name in self._users)

    def coalesced_keys(self, left: str, right: str) -> str:
        """The columns of a list from a FULL JOIN of two tables."""
        return ", ".join(f"{_either(name, left, right)} AS {name}" for name in self._lists)

    def same_coalesced_keys(self, table: str, left: str, right: str) -> str:
        """The condition that a row belongs to the list of a FULL JOIN before it."""
        return _coalesced(self._lists, table, left, right)

    def same_coalesced_user(self, table: str, left: str, right: str) -> str:
        """The condition that a row belongs to the user of a FULL JOIN before it."""
        return _coalesced(self._users, table, left, right)

    @property
    def several_models(self) -> bool:
        """Do lists have a column `model`?"""
        return self._known.several_models

    @property
    def several_runs(self) -> bool:
        """Do lists have a column `run`: the run of the model?"""
        return self._known.several_runs

    @property
    def model_columns(self) -> list[str]:
        """The columns of lists that identify the run of a model, maybe none."""
        return self._known.models

    @property
    def listed_model_columns(self) -> str:
        """The same, with commas between them."""
        return ", ".join(self._known.models)

    @property
    def group_columns(self) -> list[str]:
        """The columns of rounds that are evaluated together, maybe none: those of the model, and
        slices."""
        return self._known.groups

    def model_columns_of(self, table: str) -> str:
        """The same with the name of a table."""
        return _listed(self._known.models, table)

    @property
    def model_keys(self) -> str:
        """The columns of queries with a value per run of a model: at least `model`."""
        return ", ".join(self._known.values_of_models)

    def model_keys_of(self, table: str) -> str:
        """The same with the name of a table."""
        return _listed(self._known.values_of_models, table)

    def same_model_keys(self, left: str, right: str) -> str:
        """The condition that rows of two such queries belong to the same run of a model."""
        return _equal(self._known.values_of_models, left, right)

    def model_of(self, table: str) -> str:
        """The model of a row of the lists; the name of the only model, if there is no column."""
        return f"{table}.model" if self.several_models else literal(self._known.model)

    def models_of(self, table: str) -> str:
        """The columns `model` and, with several runs, `run`, for queries with `model_keys`."""
        run = [f"{table}.run"] if self.several_runs else []
        return ", ".join([f"{self.model_of(table)} AS model", *run])

    def same_model(self, left: str, right: str) -> str:
        """The condition that a row of the lists belongs to a row of a query with `model_keys`."""
        run = [f"{left}.run = {right}.run"] if self.several_runs else []
        return " AND ".join([f"{self.model_of(left)} = {right}.model", *run])

    @property
    def dialect(self) -> str:
        """The dialect in which the query is printed; only alternatives for one engine read it."""
        return self._known.dialect


def names_of(kind: type[KeyNames]) -> Iterator[tuple[str, str, str]]:
    """Yield the names of a class, each with its arguments, if it is a function, and its docstring.

    They are in the order of their definition, those of a base class first.
    """
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if not name.startswith("_") and base is not object:
                is_value = isinstance(value, property)
                arguments = "" if is_value else str(inspect.signature(value)).replace("self, ", "")
                yield name, arguments, inspect.cleandoc(value.__doc__ or "")


def context_of(names: KeyNames) -> dict[str, Any]:
    """Return the values and functions of an object, by name, as the context of a template."""
    return {name: getattr(names, name) for name in dir(names) if not name.startswith("_")}


@functools.lru_cache(maxsize=64)
def _context_of(keys: Keys) -> Mapping[str, Any]:
    return context_of(KeyNames(keys))


def _listed(names: Sequence[str], table: str) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


def _equal(names: Sequence[str], left: str, right: str) -> str:
    return " AND ".join(f"{left}.{name} = {right}.{name}" for name in names)


def _either(name: str, left: str, right: str) -> str:
    return f"coalesce({left}.{name}, {right}.{name})"


def _coalesced(names: Sequence[str], table: str, left: str, right: str) -> str:
    return " AND ".join(f"{table}.{name} = {_either(name, left, right)}" for name in names)
