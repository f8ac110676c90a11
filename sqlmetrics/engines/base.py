"""The methods that the package needs of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.engines.relation import Relation
    from sqlmetrics.rows import Rows
    from sqlmetrics.sql.query_graph import Node, Plan

_T = TypeVar("_T")
# shows progress: called several times a second with what is being computed, the share of it that
# is done (0 to 1), and the seconds it has taken so far
Watch = Callable[[str, float, float], None]


class Engine(Protocol):
    """Read sources and run plans. Optional capabilities are attributes that may be None.

    Args:
        dialect: the SQL that its queries are printed in.
        fetches_users: may values per user come to this process, or are there too many of them?
        owned: is the connection one of our own, without tables of others?
    """

    dialect: str
    fetches_users: bool
    owned: bool

    @property
    def version(self) -> str:
        """The version of the system that runs the queries."""

    @property
    def embedded(self) -> EmbeddedEngine | None:
        """The engine, if it runs in this process."""

    @property
    def catalog(self) -> CatalogEngine | None:
        """The engine, if it can write tables to a catalog."""

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
        """Return the spelling of a relation in a statement that runs without sqlmetrics."""

    # ---- running -------------------------------------------------------------------------------

    def records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run a plan with a small result and return its rows."""

    def rows(self, plan: Plan) -> Rows:
        """Run a plan with a small result and return its rows, with the kinds of its columns."""

    def frame(self, plan: Plan) -> pd.DataFrame:
        """Run a plan and return its rows as a DataFrame."""

    def new_file(self, target: Path | str, force: bool) -> AbstractContextManager[Path | str]:
        """Return a temporary path whose file or folder becomes `target`.

        Raises:
            DataError: it exists and `force` is not set, or it cannot be written.
        """

    def write_parquet(self, plan: Plan, target: Path | str, force: bool) -> None:
        """Run a plan and write its rows as Parquet where `new_file` said."""

    def check_comparisons(self) -> None:
        """Check that the engine can compare models.

        Raises:
            UsageError: a required option is missing.
        """

    def comparison(self, plan: Plan, of_users: Collection[Node], level: int) -> pd.DataFrame:
        """Run a plan that compares models by the per-user values of `of_users`.

        `level`: the stack level of the caller, for warnings.
        """

    def kept(self) -> Mapping[str, str]:
        """Return the intermediate relations that are kept: identity -> table."""

    def close(self) -> None:
        """Give back what the engine holds for us."""


class EmbeddedEngine(Engine, Protocol):
    """An engine in this process: supports partitioned runs, and detects changed files."""

    connection: Any

    # ---- inputs --------------------------------------------------------------------------------

    def lock(self, files: Mapping[str, str], watched: Mapping[str, str] | None = None) -> None:
        """Restrict access to these files (path -> table)."""

    def check_files(self) -> None:
        """Check that no file has changed since `lock`.

        Raises:
            DataError: names a file that has changed.
        """

    def check_columns(
        self, table: str, relation: str, label: str, before: Mapping[str, str]
    ) -> None:
        """Check that a table of the connection still has the columns that queries were made for.

        Raises:
            DataError: it is gone, or has others.
        """

    # ---- running -------------------------------------------------------------------------------

    def memory_limit(self) -> int:
        """Return how much memory the engine may use, in bytes."""

    def scratch(self) -> AbstractContextManager[Path]:
        """Hand out an empty folder that is removed in the end."""

    def part(self, name: str) -> AbstractContextManager[None]:
        """Run a part of something larger as long as it lasts; progress shows its name."""

    def holding(self, nodes: Sequence[Node]) -> AbstractContextManager[None]:
        """Compute nodes once for all plans that run as long as it lasts."""

    def write_rows(self, plan: Plan, path: Path, rows_per_group: int | None = None) -> None:
        """Run a plan, whose columns have types of Parquet, and write its rows to a new file."""

    def forget(self, identities: Iterable[str]) -> None:
        """Drop intermediate relations that are kept."""

    def interruptible(self, work: Callable[[], _T]) -> _T:
        """Run work on the connection; an interrupt stops it."""


class CatalogEngine(Engine, Protocol):
    """An engine with a catalog, such as Spark's."""

    def check_table(self, name: str, force: bool) -> None:
        """Check that a table may be written, before anything is computed.

        Raises:
            UsageError: it is no name.
            DataError: it exists and `force` is not set, is read, or its schema does not exist.
        """

    def write_table(self, plan: Plan, name: str, force: bool) -> None:
        """Run a plan and write its rows to a table."""
