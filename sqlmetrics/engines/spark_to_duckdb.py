"""Compute per-user values in Spark, and results from these values in DuckDB.

A comparison aggregates the per-user differences in many ways, also over resamples. One machine can
do that for all users, and Spark's SQL lacks some of the required functions. Spark therefore writes
the values as Parquet to a shared folder, where DuckDB reads them.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.engines.per_user_values import nodes_below
from sqlmetrics.errors import DataError, SqlmetricsWarning, UsageError
from sqlmetrics.messages import Argument, Message
from sqlmetrics.sql.query_graph import Node, Plan

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.engines.spark import SparkEngine


def require_folder(engine: SparkEngine) -> None:
    """Check that a shared folder for per-user values is configured.

    Raises:
        UsageError: the folder is not configured.
    """
    if engine.temp_directory is None:
        raise UsageError(
            "comparisons on Spark need a folder for per-user values, which Spark writes and DuckDB "
            "reads",
            remedy=Message(
                "set a folder shared by Spark and this process with ",
                Argument("temp_directory", "DIR"),
                "; temporary files in it are removed",
            ),
        )


def frame(engine: SparkEngine, plan: Plan, of_users: Collection[Node], level: int) -> pd.DataFrame:
    """Run a plan: Spark computes the stages and the nodes `of_users`, DuckDB the nodes above them.

    `level` is the number of stack frames between this function and the caller, for warnings.

    Raises:
        DataError: this process cannot see the files that Spark has written.
    """
    require_folder(engine)
    below = nodes_below(plan.root, of_users)
    folders = engine.write_nodes(below)
    try:
        for node in below:
            if not list(folders[node.key].glob("*.parquet")):
                raise DataError(
                    f"Spark has written {node.name} to {folders[node.key]}, but this process "
                    "finds no file there",
                    remedy=Message(
                        Argument("temp_directory"),
                        " must be a folder that Spark's executors and this process share",
                    ),
                )
        local = DuckDBEngine(temp_directory=engine.folder() / "duckdb")
        try:
            n_rows = sum(local.adopt(key, folder) for key, folder in folders.items())
            warnings.warn(
                f"Spark has written {n_rows:,} rows of per-user values to {engine.folder()}; "
                "DuckDB computes the comparison from these values in this process",
                SqlmetricsWarning,
                stacklevel=level + 1,
            )
            return local.frame(plan)
        finally:
            local.close()
    finally:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)
