"""Evaluate recommender systems with readable SQL, directly over Parquet."""

from sqlmetrics.errors import (
    DataError,
    EngineError,
    MissingTableError,
    SqlmetricsError,
    TemplateError,
    UsageError,
)
from sqlmetrics.evaluator import Evaluator

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "EngineError",
    "Evaluator",
    "MissingTableError",
    "SqlmetricsError",
    "TemplateError",
    "UsageError",
    "__version__",
]
