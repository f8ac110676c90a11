"""What the package asks of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.engines.relation import Relation
    from sqlmetrics.rows import Rows
    from sqlmetrics.sql.query_graph import Plan


class Engine(Protocol):
    """Reads sources and runs plans.

    `dialect`: the SQL that its queries are printed in. `fetches_users`: may values per user come
    to this process, or are there too many of them?
    """

    dialect: str
    fetches_users: bool
    owned: bool  # is the connection one of our own, without tables of others?

    # ---- inputs --------------------------------------------------------------------------------

    def relation(self, table: str, label: str, source: Any) -> Relation | None:
        """Read a source in the engine's own way; None: as a file or an Arrow table, as others."""

    def bind(self, name: str, table: Any) -> str:
        """Make an Arrow object readable as a table; returns the name to use in SQL."""

    def spool(self, stream: IO[bytes]) -> Path:
        """Copy a stream to a temporary file, which `close` removes."""

    def shown(self, path: str) -> str:
        """Name a file in a message."""

    def describe(self, relation: str, label: str) -> dict[str, str]:
        """Return the columns of a relation and their types, as DuckDB calls these."""

    def query(self, statement: str, label: str) -> list[dict[str, Any]]:
        """Run a query about a source, written in DuckDB's SQL."""

    def find_table(self, name: str) -> str | None:
        """Find a table or view by name; returns its full name, quoted."""

    def printed(self, relation: str) -> str:
        """Say what stands in place of a relation in a statement that is to run without us."""

    # ---- running -------------------------------------------------------------------------------

    def records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run a plan with a small result and return its rows."""

    def rows(self, plan: Plan) -> Rows:
        """Run a plan with a small result and return its rows, with the kinds of its columns."""

    def frame(self, plan: Plan) -> pd.DataFrame:
        """Run a plan and return its rows as a DataFrame."""

    def new_file(self, target: Path | str, force: bool) -> AbstractContextManager[Path | str]:
        """Hand out where to write what is to become `target`.

        Raises:
            DataError: it exists and `force` is not set, or it cannot be written.
        """

    def write_parquet(self, plan: Plan, target: Path | str, force: bool) -> None:
        """Run a plan and write its rows as Parquet where `new_file` said."""

    def kept(self) -> Mapping[str, str]:
        """Return the intermediate relations that are kept: identity -> table."""

    def close(self) -> None:
        """Give back what the engine holds for us."""
