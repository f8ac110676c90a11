"""Evaluate recommender systems with readable SQL, on files, data frames and database tables."""

from __future__ import annotations

from sqlmetrics.version import __version__

# not imported from typing, because imports here delay the handling of Ctrl-C
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlmetrics.array_metric import metric
    from sqlmetrics.describe.public import (
        description,
        list_conventions,
        list_metrics,
        list_slices,
        list_stages,
    )
    from sqlmetrics.engines.relation import TableName
    from sqlmetrics.errors import (
        DataError,
        DataWarning,
        EngineError,
        GateError,
        MissingTableError,
        SqlmetricsError,
        SqlmetricsWarning,
        TemplateError,
        UsageError,
    )
    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.past.append import append
    from sqlmetrics.past.trend import trend
    from sqlmetrics.run.one_user import User
    from sqlmetrics.run.splitting import split, split_sql
    from sqlmetrics.stats.gates import failures
    from sqlmetrics.stats.over_runs import variance_parts
    from sqlmetrics.stats.trackers import values_by_name
    from sqlmetrics.tables.arrays import from_arrays


__all__ = [
    "DataError",
    "DataWarning",
    "EngineError",
    "Evaluator",
    "GateError",
    "MissingTableError",
    "SqlmetricsError",
    "SqlmetricsWarning",
    "TableName",
    "TemplateError",
    "UsageError",
    "User",
    "__version__",
    "append",
    "description",
    "failures",
    "from_arrays",
    "list_conventions",
    "list_metrics",
    "list_slices",
    "list_stages",
    "metric",
    "split",
    "split_sql",
    "trend",
    "values_by_name",
    "variance_parts",
]

_MODULES = {
    "Evaluator": "evaluator",
    "TableName": "engines.relation",
    "User": "run.one_user",
    "append": "past.append",
    "description": "describe.public",
    "failures": "stats.gates",
    "from_arrays": "tables.arrays",
    "list_conventions": "describe.public",
    "list_metrics": "describe.public",
    "list_slices": "describe.public",
    "list_stages": "describe.public",
    "metric": "array_metric",
    "split": "run.splitting",
    "split_sql": "run.splitting",
    "trend": "past.trend",
    "values_by_name": "stats.trackers",
    "variance_parts": "stats.over_runs",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name on first use, because importing the engine takes half a second."""
        if name not in __all__:
            raise AttributeError(f"module 'sqlmetrics' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"sqlmetrics.{_MODULES.get(name, 'errors')}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
