"""Evaluate recommender systems with readable SQL, directly over Parquet."""

from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import (
    DataError,
    EngineError,
    MissingTableError,
    SqlmetricsError,
    SqlmetricsWarning,
    TemplateError,
    UsageError,
)

if TYPE_CHECKING:
    from sqlmetrics.evaluator import Evaluator

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "EngineError",
    "Evaluator",
    "MissingTableError",
    "SqlmetricsError",
    "SqlmetricsWarning",
    "TemplateError",
    "UsageError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Load the engine only when it is asked for, so that `sqlmetrics --help` answers at once."""
    if name == "Evaluator":
        from sqlmetrics.evaluator import Evaluator

        return Evaluator
    raise AttributeError(f"module 'sqlmetrics' has no attribute {name!r}")
