"""Evaluate recommender systems with readable SQL, directly over Parquet."""

from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import (
    DataError,
    DataWarning,
    EngineError,
    MissingTableError,
    SqlmetricsError,
    SqlmetricsWarning,
    TemplateError,
    UsageError,
)

if TYPE_CHECKING:
    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.parts import reduce
    from sqlmetrics.sources import TableName

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "DataWarning",
    "EngineError",
    "Evaluator",
    "MissingTableError",
    "SqlmetricsError",
    "SqlmetricsWarning",
    "TableName",
    "TemplateError",
    "UsageError",
    "__version__",
    "reduce",
]


def __getattr__(name: str) -> Any:
    """Load the engine only when it is asked for, so that `sqlmetrics --help` answers at once."""
    if name == "Evaluator":
        from sqlmetrics.evaluator import Evaluator

        return Evaluator
    if name == "reduce":
        from sqlmetrics.parts import reduce

        return reduce
    if name == "TableName":
        from sqlmetrics.sources import TableName

        return TableName
    raise AttributeError(f"module 'sqlmetrics' has no attribute {name!r}")
