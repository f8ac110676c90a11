"""Compute per-user values in Spark, and results from these values in DuckDB.

A comparison aggregates the per-user differences in many ways, also over resamples. One machine can
do that for all users, and Spark's SQL lacks some of the required functions. Spark therefore writes
the values as Parquet to a shared folder, where DuckDB reads them.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.errors import DataError, SqlmetricsWarning
from sqlmetrics.sql.query_graph import Plan
from sqlmetrics.texts.messages import Argument, Message

if TYPE_CHECKING:
    import pandas as pd


def frame(plan: Plan, folders: Mapping[str, Path], folder: Path, level: int) -> pd.DataFrame:
    """Run the part of a plan above the nodes whose rows Spark has written.

    Args:
        plan: the plan.
        folders: the folders of Parquet files of nodes, by identity; they are removed.
        folder: the folder around them, for temporary files.
        level: the number of stack frames between this function and the caller, for warnings.

    Raises:
        DataError: this process cannot see the files that Spark has written.
    """
    try:
        for written in folders.values():
            if not list(written.glob("*.parquet")):
                raise DataError(
                    f"Spark has written per-user values to {written}, but this process finds no "
                    "file there",
                    remedy=Message(
                        Argument("temp_directory"),
                        " must be a folder that Spark's executors and this process share",
                    ),
                )
        local = DuckDBEngine(temp_directory=folder / "duckdb")
        try:
            n_rows = sum(local.adopt(key, folder) for key, folder in folders.items())
            warnings.warn(
                f"Spark has written {n_rows:,} rows of per-user values to {folder}; "
                "DuckDB computes the comparison from these values in this process",
                SqlmetricsWarning,
                stacklevel=level + 1,
            )
            return local.frame(plan)
        finally:
            local.close()
    finally:
        for written in folders.values():
            shutil.rmtree(written, ignore_errors=True)
