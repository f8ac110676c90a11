"""Render templates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

import jinja2

from sqlmetrics.errors import (
    SqlmetricsError,
    TemplateError,
    UndefinedNameError,
)


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


def is_true(condition: str, context: Mapping[str, Any], where: str) -> bool:
    """Decide a condition of a template in Jinja, such as `order == "score"`."""
    return render(f"{{{{ 1 if {condition} else 0 }}}}", context, f"{where}, when") == "1"


def render_file(template: str, context: Mapping[str, Any]) -> str:
    """Render a built-in template by its path in `sql_templates` without the extension."""
    return environment().get_template(f"{template}.sql.j2").render(context).strip()


@functools.lru_cache(maxsize=512)
def _compile(source: str, where: str) -> jinja2.Template:
    def of(name: str) -> str | None:
        return source if name == where else None

    return jinja2.FunctionLoader(of).load(environment(), where, environment().globals)
