"""Let Spark compute values per user, and DuckDB the results from these values.

A comparison sums up the differences of every user in many ways, over resamples too: for the values
of all users, that is work for one machine, and some of it is not there in Spark's SQL. So Spark
writes them as Parquet into a folder that both see, and DuckDB reads them there.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.errors import DataError, SqlmetricsWarning, UsageError
from sqlmetrics.messages import Argument, Message
from sqlmetrics.sql.query_graph import Node, Plan, Query

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.engines.spark import SparkEngine


def require_folder(engine: SparkEngine) -> None:
    """Check that there is a folder to hand values over in.

    Raises:
        UsageError: there is none.
    """
    if engine.temp_directory is None:
        raise UsageError(
            "models are compared from values per user, which Spark writes and DuckDB reads in a "
            "folder",
            remedy=Message(
                "name a folder that Spark and this process both see with ",
                Argument("temp_directory", "DIR"),
                "; it is left as it was found",
            ),
        )


def frame(engine: SparkEngine, plan: Plan, of_users: Collection[Node], level: int) -> pd.DataFrame:
    """Run a plan: Spark computes the nodes `of_users` and the stages, DuckDB all above them.

    `level`: how many frames above this one the caller is whom the message is for.

    Raises:
        DataError: what Spark has written is not to be seen here.
    """
    require_folder(engine)
    below = _below(plan.root, {node.key for node in of_users})
    folders = engine.write_nodes(below)
    try:
        for node in below:
            if not list(folders[node.key].glob("*.parquet")):
                raise DataError(
                    f"Spark has written {node.name} to {folders[node.key]}, where this process "
                    "sees no file",
                    remedy=Message(
                        Argument("temp_directory"),
                        " must be a folder that Spark's executors and this process share",
                    ),
                )
        local = DuckDBEngine(temp_directory=engine.folder() / "duckdb")
        try:
            n_rows = sum(local.adopt(key, folder) for key, folder in folders.items())
            warnings.warn(
                f"Spark has written {n_rows:,} rows of values per user to {engine.folder()}; "
                "DuckDB computes the comparison from them, in this process",
                SqlmetricsWarning,
                stacklevel=level + 1,
            )
            return local.frame(plan)
        finally:
            local.close()
    finally:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)


def _below(root: Node, of_users: Collection[str]) -> list[Node]:
    """Find the nodes nearest to the result that Spark computes."""
    nodes: dict[str, Node] = {}

    def visit(node: Node) -> None:
        if node.key in of_users or isinstance(node, Query):
            nodes[node.key] = node
        else:
            for parent in node.parents.values():
                visit(parent)

    visit(root)
    return list(nodes.values())
