"""The one Jinja environment, and the quoting of names and values in SQL."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from sqlmetrics.errors import DataError, SqlmetricsError, TemplateError, UsageError

_DEMO = "demo"  # the macros that evaluations do not read, and so do not compile
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")
# words that DuckDB does not take as the name of a column
_RESERVED_WORDS = """
    all analyse analyze and any array as asc asymmetric both case cast check collate column
    constraint create default deferrable desc describe distinct do else end except false fetch
    for foreign from grant group having in initially intersect into lambda lateral leading limit
    not null offset on only or order pivot pivot_longer pivot_wider placing primary qualify
    references returning select show some summarize symmetric table then to trailing true union
    unique unpivot using variadic when where window with
"""
# words that stand for a function without parentheses, in DuckDB or elsewhere: in Postgres,
# `SELECT user` is not a column, but who is logged in
_FUNCTION_WORDS = """
    current_catalog current_database current_date current_path current_role current_schema
    current_time current_timestamp current_user localtime localtimestamp session_user sysdate
    system_user today user
"""
_RESERVED = frozenset((_RESERVED_WORDS + _FUNCTION_WORDS).split())


def template_root() -> Path:
    """Find `sql_templates`: inside an installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parent
    for root in (package / "sql_templates", package.parent / "sql_templates"):
        if (root / "metrics").is_dir():
            return root
    raise TemplateError(f"the installation is damaged: no sql_templates beside {package}")


@functools.cache
def environment() -> jinja2.Environment:
    """Build the environment that renders every template; macros and quoting are its globals."""
    root = template_root()
    env = SandboxedEnvironment(
        loader=jinja2.FileSystemLoader(root),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # SQL, not HTML: names and values pass through ident() and literal()
        keep_trailing_newline=True,
    )
    env.globals.update(
        ident=identifier,
        literal=literal,
        path_literal=path_literal,
        refuse=_refuse,
        refuse_setting=_refuse_setting,
    )
    for path in sorted((root / "macros").glob("*.sql")):
        if path.stem != _DEMO:
            env.globals.update(_macros_of(env, path.stem))
    return env


def demo_macros() -> dict[str, Any]:
    """Find the macros that only the templates of the demo read."""
    return _macros_of(environment(), _DEMO)


def _macros_of(env: jinja2.Environment, file: str) -> dict[str, Any]:
    module = env.get_template(f"macros/{file}.sql").module
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


def macro(name: str) -> Callable[..., str]:
    """Find a macro of `sql_templates/macros`."""
    return cast("Callable[..., str]", environment().globals[name])


def render(source: str, context: Mapping[str, Any], where: str) -> str:
    """Render a template's text; `where` names it in the message of a TemplateError."""
    try:
        return _compile(source).render(context).strip()
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"{where}, line {error.lineno}: {error.message}") from error
    except jinja2.TemplateError as error:
        raise TemplateError(f"{where}: {error.message}") from error
    except SqlmetricsError:  # a template that refuses its tables or settings
        raise
    except Exception as error:  # bad arithmetic, a call of what is not callable, endless recursion
        raise TemplateError(f"{where}: {type(error).__name__}: {error}") from error


@functools.lru_cache(maxsize=512)
def _compile(source: str) -> jinja2.Template:
    return environment().from_string(source)


def _refuse(message: str, settings: bool = False) -> None:
    """Let a template refuse tables that its settings make no sense for, or settings alone."""
    raise (UsageError if settings else DataError)(message)


def _refuse_setting(name: str, value: str, choices: Sequence[str], why: str) -> str:
    """Let a template refuse the values of a setting that mean nothing for it."""
    if value in choices:
        raise UsageError(
            f"{name}={value} has no meaning for {why}; say what repeated rows mean there with "
            f"--set METRIC.{name}=VALUE"
        )
    return ""


def identifier(name: str) -> str:
    """Spell a column or table name so that SQL reads it as that name and nothing else."""
    if _PLAIN.match(name) and name not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Spell a value as a SQL literal; a sequence becomes a list literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(literal(entry) for entry in value) + "]"
    return "'" + str(value).replace("'", "''") + "'"


def path_literal(paths: str | Sequence[str]) -> str:
    """Spell the path of a file, or several, so that the engine reads these files and no others."""
    return literal(path_pattern(paths) if isinstance(paths, str) else [*map(path_pattern, paths)])


def path_pattern(path: str) -> str:
    """Spell a path as a pattern that matches this path only, since the engine reads patterns.

    A URL (`s3://…`) stays as it is, with its wildcards.
    """
    if "://" in path:
        return path
    if os.sep == "\\":
        path = path.replace("\\", "/")
    # the engine takes ~ for the home folder, and file: for a URL
    if re.search(r"(\A|/)~|\Afile:", path):
        path = os.path.abspath(path)
    return re.sub(r"([*?\[])", r"[\1]", path)


def path_of_pattern(pattern: str) -> str:
    """Return the path that `path_pattern` spelled."""
    return pattern if "://" in pattern else re.sub(r"\[([*?\[])\]", r"\1", pattern)


def key_context(
    user_keys: Sequence[str], several_models: bool, model: str, dialect: str = "duckdb"
) -> dict[str, Any]:
    """Build what every template knows: about keys, and the dialect that its query is printed in.

    `keys` are the columns of one list (model and user), `user_keys` those of one user. Queries are
    always written in DuckDB's SQL; for another dialect, in the part of it that is the same
    everywhere.
    """
    users = [identifier(name) for name in user_keys]
    keys = ["model", *users] if several_models else users

    def listed(names: Sequence[str], alias: str) -> str:
        return ", ".join(f"{alias}.{name}" for name in names)

    def equal(names: Sequence[str], left: str, right: str) -> str:
        return " AND ".join(f"{left}.{name} = {right}.{name}" for name in names)

    def either(name: str, left: str, right: str) -> str:
        return f"coalesce({left}.{name}, {right}.{name})"

    return {
        "dialect": dialect,
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
        "same_coalesced_user": lambda table, left, right: " AND ".join(
            f"{table}.{name} = {either(name, left, right)}" for name in users
        ),
        "no_keys": " OR ".join(f"{name} IS NULL" for name in keys),
        "no_user": " OR ".join(f"{name} IS NULL" for name in users),
        "user_texts_of": lambda alias: " || ':' || ".join(
            f"CAST({alias}.{name} AS VARCHAR)" for name in users
        ),
        "several_models": several_models,
        "model_of": lambda alias: f"{alias}.model" if several_models else literal(model),
    }
