"""Render templates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import jinja2

from sqlmetrics.errors import (
    SqlmetricsError,
    TemplateError,
    UndefinedNameError,
)
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.sql.quoting import identifier, literal


@functools.cache
def environment() -> jinja2.Environment:
    """Return the environment that renders every template."""
    from sqlmetrics.sql.environment import new_environment  # needs Jinja

    return new_environment()


def demo_macros() -> dict[str, Any]:
    """Return the macros that only the demo templates use."""
    from sqlmetrics.sql.environment import DEMO, macros_of

    return macros_of(environment(), DEMO)


def macro(name: str) -> Callable[..., str]:
    """Return a macro of `sql_templates/macros`."""
    return cast("Callable[..., str]", environment().globals[name])


def render(source: str, context: Mapping[str, Any], where: str) -> str:
    """Render the text of a template; `where` names the template in errors."""
    try:
        return _compile(source, where).render(context).strip()
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"{where}, line {error.lineno}: {error.message}") from error
    except jinja2.TemplateError as error:
        raise TemplateError(f"{where}: {error.message}") from error
    except UndefinedNameError as error:
        raise UndefinedNameError(f"{where}: ", error, name=error.name) from error
    except SqlmetricsError:  # raised by the template about tables or settings
        raise
    except Exception as error:  # e.g. arithmetic errors, calls of non-callables, infinite recursion
        raise TemplateError(f"{where}: {type(error).__name__}: {error}") from error


def render_file(template: str, context: Mapping[str, Any]) -> str:
    """Render a built-in template by its path in `sql_templates` without the extension."""
    return environment().get_template(f"{template}.sql.j2").render(context).strip()


@functools.lru_cache(maxsize=512)
def _compile(source: str, where: str) -> jinja2.Template:
    def of(name: str) -> str | None:
        return source if name == where else None

    return jinja2.FunctionLoader(of).load(environment(), where, environment().globals)


@dataclass(frozen=True)
class Keys:
    """The columns that identify lists and users, and the conditions on them in templates.

    Attributes:
        users: the columns that identify a user.
        several_models: whether lists also have a column `model`.
        several_runs: whether lists also have a column `run`: the run of the model.
        model: the name of the only model, if lists have no such column.
        dialect: the dialect in which the query is printed. Queries are written in DuckDB's SQL; for
            another dialect, in its portable part.
    """

    users: tuple[str, ...] = ("user_id",)
    several_models: bool = False
    model: str = "recommendations"
    dialect: str = NATIVE
    several_runs: bool = False

    @property
    def models(self) -> list[str]:
        """Return the columns of lists that identify the run of a model."""
        models = ["model"] if self.several_models else []
        return [*models, *(["run"] if self.several_runs else [])]

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
        """Return the variables of keys, which all templates have."""
        return _key_context(self)


@functools.lru_cache(maxsize=64)
def _key_context(known: Keys) -> Mapping[str, Any]:
    users = [identifier(name) for name in known.users]
    keys = [*known.models, *users]

    def listed(names: Sequence[str], alias: str) -> str:
        return ", ".join(f"{alias}.{name}" for name in names)

    def equal(names: Sequence[str], left: str, right: str) -> str:
        return " AND ".join(f"{left}.{name} = {right}.{name}" for name in names)

    def model_of(alias: str) -> str:
        return f"{alias}.model" if known.several_models else literal(known.model)

    def either(name: str, left: str, right: str) -> str:
        return f"coalesce({left}.{name}, {right}.{name})"

    return {
        "dialect": known.dialect,
        "keys": ", ".join(keys),
        "user_keys": ", ".join(users),
        "first_user_key": users[0],
        "keys_of": lambda alias: listed(keys, alias),
        "user_keys_of": lambda alias: listed(users, alias),
        "same_keys": lambda left, right: equal(keys, left, right),
        "same_user": lambda left, right: equal(users, left, right),
        "coalesced_keys": lambda left, right: ", ".join(
            f"{either(name, left, right)} AS {name}" for name in keys
        ),
        "same_coalesced_keys": lambda table, left, right: " AND ".join(
            f"{table}.{name} = {either(name, left, right)}" for name in keys
        ),
        "same_coalesced_user": lambda table, left, right: " AND ".join(
            f"{table}.{name} = {either(name, left, right)}" for name in users
        ),
        "no_keys": " OR ".join(f"{name} IS NULL" for name in keys),
        "no_user": " OR ".join(f"{name} IS NULL" for name in users),
        "user_texts_of": lambda alias: " || ':' || ".join(
            f"CAST({alias}.{name} AS VARCHAR)" for name in users
        ),
        "several_models": known.several_models,
        "several_runs": known.several_runs,
        "model_of": model_of,
        # the columns of lists that identify the run of a model, maybe none
        "model_columns": known.models,
        "listed_model_columns": ", ".join(known.models),
        "model_columns_of": lambda alias: listed(known.models, alias),
        # the columns of queries with a value per run of a model, at least the model
        "model_keys": ", ".join(known.values_of_models),
        "model_keys_of": lambda alias: listed(known.values_of_models, alias),
        "models_of": lambda alias: ", ".join(
            [f"{model_of(alias)} AS model", *([f"{alias}.run"] if known.several_runs else [])]
        ),
        "same_model_keys": lambda left, right: equal(known.values_of_models, left, right),
        "same_model": lambda left, right: " AND ".join(
            [
                f"{model_of(left)} = {right}.model",
                *([f"{left}.run = {right}.run"] if known.several_runs else []),
            ]
        ),
    }
