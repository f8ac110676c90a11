"""The interface of engines, and what most of them do in the same way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar

from sqlmetrics.errors import UsageError
from sqlmetrics.files import whole_file
from sqlmetrics.rows import Rows, frame_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from sqlmetrics.engines.relation import Relation
    from sqlmetrics.sql.query_graph import Node, Plan

_T = TypeVar("_T")
# progress callback, called several times a second with the name of the computation, the fraction
# done (0 to 1) and the elapsed seconds
Watch = Callable[[str, float, float], None]


HUGE_INTEGERS = ("HUGEINT", "UHUGEINT")
"""Types of DuckDB that Parquet does not have: integers of 128 bits."""


class Engine(Protocol):
    """Reads sources and runs plans; optional capabilities are attributes that may be None.

    Args:
        dialect: the dialect of the engine's queries.
        fetches_users: whether per-user values may be fetched into this process.
        owned: whether sqlmetrics opened the connection, so that it has no tables of the user.
    """

    dialect: str
    fetches_users: bool = True
    owned: bool = True

    @property
    def version(self) -> str:
        """Return the version of the engine."""

    @property
    def embedded(self) -> EmbeddedEngine | None:
        """Return the engine if it runs in this process, else None."""
        return None

    @property
    def changing(self) -> ChangingEngine | None:
        """Return the engine if tables may change between calls, which it then reads again."""
        return None

    # ---- inputs --------------------------------------------------------------------------------

    def relation(self, table: str, label: str, source: Any) -> Relation | None:
        """Read a source natively; return None for files and Arrow tables read in the common way."""

    def bind(self, name: str, table: Any) -> str:  # noqa: ARG002
        """Make an Arrow object readable as a table, and return its name in SQL."""
        raise AssertionError("rejected by `relation`")

    def spool(self, stream: IO[bytes]) -> Path:  # noqa: ARG002
        """Copy a stream to a temporary file, which `close` removes."""
        raise AssertionError("rejected by `relation`")

    def shown(self, path: str) -> str:
        """Return the name of a file for messages."""
        return path

    def describe(self, relation: str, label: str) -> dict[str, str]:
        """Return the columns of a relation with their DuckDB types, without reading its rows.

        Raises:
            DataError: the relation cannot be read.
        """

    def query(self, statement: str, label: str) -> list[dict[str, Any]]:
        """Run a query about a source, written in DuckDB's SQL; `label` names it in messages.

        Raises:
            DataError: the source cannot be read.
            EngineError: the memory limit is too small.
        """

    def find_table(self, name: str) -> str | None:  # noqa: ARG002
        """Find a table of a user's connection, and return its full name, quoted."""
        return None

    def printed(self, relation: str) -> str:
        """Return a relation as it is written in a statement that runs without sqlmetrics."""
        return relation

    # ---- running -------------------------------------------------------------------------------

    def arrow(self, plan: Plan) -> pa.Table:
        """Run a plan and return its rows as an Arrow table."""

    def records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run a plan with a small result and return its rows."""
        return list(self.arrow(plan).to_pylist())

    def rows(self, plan: Plan) -> Rows:
        """Run a plan with a small result and return its rows, with the kinds of columns."""
        return Rows.of_frame(self.frame(plan))

    def frame(self, plan: Plan) -> pd.DataFrame:
        """Run a plan and return its rows as a DataFrame."""
        return frame_of(self.arrow(plan))

    def new_file(self, target: Path | str, force: bool) -> AbstractContextManager[Path | str]:
        """Return a temporary path whose file or folder becomes `target`.

        Raises:
            DataError: `target` exists and `force` is not set, or it cannot be written.
        """
        return whole_file(Path(target), force)

    def write_parquet(self, plan: Plan, target: Path | str, force: bool) -> None:
        """Run a plan and write its rows as Parquet to the path from `new_file`."""

    def check_table(self, name: str, force: bool) -> None:  # noqa: ARG002
        """Check that a table of the engine's catalog may be written, before computing anything.

        Raises:
            UsageError: the engine has no catalog, or the name is not a table name.
            DataError: the table exists and `force` is not set, or is read by the run; or its schema
                is missing.
        """
        raise UsageError(
            "write_table needs Spark, because it writes to Spark's catalog; with other engines, "
            "use write_parquet"
        )

    def write_table(self, plan: Plan, name: str, force: bool) -> None:  # noqa: ARG002
        """Run a plan and write its rows to a table of the engine's catalog."""
        raise AssertionError("rejected by `check_table`")

    def check_comparisons(self) -> None:
        """Check that the engine can compare models.

        Raises:
            UsageError: a required option is missing.
        """
        return

    def comparison(
        self,
        plan: Plan,
        of_users: Collection[Node],  # noqa: ARG002
        level: int,  # noqa: ARG002
    ) -> pd.DataFrame:
        """Run a plan that compares models by the per-user values of `of_users`.

        `level`: the stack level of the caller, for warnings.
        """
        return self.frame(plan)

    def close(self) -> None:
        """Release the resources that the engine holds."""


class ChangingEngine(Engine, Protocol):
    """An engine with tables that other programs or the user change between calls."""

    @property
    def several_moments(self) -> str:
        """Return why a call may read rows of several moments; an empty text if it cannot."""
        return ""

    def calling(self) -> AbstractContextManager[None]:
        """Run everything inside as one call, on the rows of one moment if the engine can."""
        return nullcontext()

    def check_columns(
        self, table: str, relation: str, label: str, before: Mapping[str, str]
    ) -> None:
        """Check that a table still has the columns that queries were planned for.

        Raises:
            DataError: the table or a column is missing or may no longer be read, or a column has
                another type.
        """

    def kept(self) -> Mapping[str, str]:
        """Return the kept intermediate relations: identity -> table."""
        return {}

    def forget(self, identities: Iterable[str]) -> None:  # noqa: ARG002
        """Drop kept intermediate relations."""
        return


class EmbeddedEngine(ChangingEngine, Protocol):
    """An engine in this process, which detects changed files.

    Args:
        databases: path of an attached file -> name of the database.
        queries: name of a table or view -> its rows in SQL.
    """

    connection: Any
    databases: dict[str, str]
    queries: dict[str, str]

    @property
    def can_be_shared(self) -> bool:
        """Return whether `sharing` can return an engine for further tables."""

    def sharing(self, relations: Set[str], identities: Set[str]) -> EmbeddedEngine:
        """Return an engine with a second connection to the same database.

        Args:
            relations: the relations of tables in memory that the new engine reads, too.
            identities: the kept intermediate relations that the new engine reads, too.
        """

    # ---- inputs --------------------------------------------------------------------------------

    def lock(self, files: Mapping[str, str], watched: Mapping[str, str] | None = None) -> None:
        """Restrict access to these files (path -> table)."""

    def check_files(self) -> None:
        """Check that no file has changed since `lock`.

        Raises:
            DataError: names a file that has changed.
        """

    # ---- running -------------------------------------------------------------------------------

    def memory_limit(self) -> int:
        """Return the memory limit of the engine in bytes."""

    def is_in_memory(self, relation: str) -> bool:
        """Return whether `bind` made a relation readable from a table in memory."""

    def holding(self, nodes: Sequence[Node]) -> AbstractContextManager[None]:
        """Compute nodes once for all plans that run in this context."""

    def expect(self, identities: Iterable[str]) -> None:
        """Note that later statements read these nodes, too, so that a result holds them."""

    def interruptible(self, work: Callable[[], _T]) -> _T:
        """Run a function on the connection so that an interrupt stops it."""
