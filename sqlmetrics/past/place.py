"""The place of a history: a table of a DuckDB file, or a folder of Parquet files."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from sqlmetrics.engines.database_files import is_database
from sqlmetrics.errors import DataError, SqlmetricsWarning, UsageError, issue, suggestion
from sqlmetrics.files import whole_file
from sqlmetrics.sql.quoting import identifier, literal, path_pattern
from sqlmetrics.texts.messages import Command, Message
from sqlmetrics.texts.wording import listed

FORMS = "FILE.duckdb:TABLE or FOLDER/"
OF_USERS = "_per_user"  # what the name of the table of per-user values adds
RESULTS, PER_USER = "results", "per_user"  # the views of a history
_NAMED = re.compile(r"(?P<path>.+):(?P<table>[A-Za-z_]\w*)", re.ASCII)
_DATABASES = (".duckdb", ".ddb", ".db")
_IN_USE = (duckdb.IOException, duckdb.ConnectionException)
_PATIENCE, _SILENCE, _PAUSE = 30.0, 3.0, 0.1  # seconds
# a database that two threads open at once lacks functions in one of them
_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True)
class Place(ABC):
    """The place of a history.

    Attributes:
        text: the place as the user wrote it.
        path: the path of the file or folder.
        table: the name of the table of results.
    """

    text: str
    path: Path
    table: str

    @property
    def of_users(self) -> str:
        """Return the name of the table of per-user values."""
        return self.table + OF_USERS

    @abstractmethod
    def exists(self) -> bool:
        """Return whether there may be a history at the place."""

    @abstractmethod
    def connected(self) -> contextlib.AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open the history for reading, with the views `results` and, if kept, `per_user`.

        Raises:
            DataError: there is no history, or it cannot be read.
        """

    @abstractmethod
    def added(
        self, rows: Callable[[duckdb.DuckDBPyConnection], Mapping[str, str]], run_id: str
    ) -> None:
        """Add the rows of a run; if that fails, the history stays as it was.

        Args:
            rows: registers the tables that its queries read; returns the query for each of the
                views, `results` first.
            run_id: the name of the run.

        Raises:
            DataError: the history has other columns, or cannot be written.
        """

    def _nothing(self, tables: Sequence[str] = ()) -> DataError:
        """Return the error for a history that does not exist, beside tables of its file."""
        there = f"{suggestion(self.table, tables) or '.'} The file has {listed(tables)}"
        return DataError(
            f"there is no history {self.text}{there if tables else ''}",
            remedy=Message("append results to it with ", Command("append")),
        )

    def _check_columns(self, what: str, there: Mapping[str, str], new: Mapping[str, str]) -> None:
        missing = [name for name in new if name not in there]
        more = [name for name in there if name not in new]
        other = [
            f"{name} is {there[name]} in the table and {new[name]} in the result"
            for name in new
            if name in there and there[name] != new[name]
        ]
        parts = [
            *([f"the table has no column {' and '.join(missing)}"] if missing else []),
            *([f"the result has no column {' and '.join(more)}"] if more else []),
            *other,
        ]
        if parts:
            raise DataError(
                f"{what} has other columns than the result: {'; '.join(parts)}. Nothing was "
                "written",
                remedy="ask for the same slices as in the runs before, or append to another table",
            )


def place_of(text: str | Path) -> Place:
    """Return the place of a history.

    Raises:
        UsageError: the text names neither a table of a DuckDB file nor a folder.
    """
    shown = str(text)
    named = _NAMED.fullmatch(shown)
    if named and (Path(named["path"]).suffix.lower() in _DATABASES or is_database(named["path"])):
        return _Table(shown, Path(named["path"]), named["table"])
    if shown.endswith(("/", "\\")) or Path(shown).is_dir():
        return _Folder(shown, Path(shown), Path(shown).name)
    raise UsageError(
        f"{shown} is not the place of a history of results; write {FORMS}, "
        "e.g. metrics.duckdb:results"
    )


class _Table(Place):
    """A table of a DuckDB file, and one of per-user values."""

    def exists(self) -> bool:
        if not self.path.exists():
            return False
        with self._opened(self._read) as connection:
            return self.table in _tables(connection)

    @contextlib.contextmanager
    def connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        if not self.path.exists():
            raise self._nothing()
        with self._opened(self._read) as connection:
            there = _tables(connection)
            for view, table in ((RESULTS, self.table), (PER_USER, self.of_users)):
                if table in there:
                    connection.execute(
                        f"CREATE TEMP VIEW {view} AS FROM {_full(connection, table)}"
                    )
                elif view == RESULTS:
                    raise self._nothing(there)
            yield connection

    def _read(self) -> duckdb.DuckDBPyConnection:
        try:
            return duckdb.connect(str(self.path), read_only=True)
        except duckdb.ConnectionException:  # this process has the file open for writing
            return duckdb.connect(str(self.path))

    def added(
        self,
        rows: Callable[[duckdb.DuckDBPyConnection], Mapping[str, str]],
        run_id: str,  # noqa: ARG002
    ) -> None:
        tables, is_new = {RESULTS: self.table, PER_USER: self.of_users}, not self.path.exists()
        with self._opened(lambda: duckdb.connect(str(self.path))) as connection:
            try:
                queries = rows(connection)
                connection.execute("BEGIN")
                for view, query in queries.items():
                    self._add(connection, tables[view], query)
                connection.execute("COMMIT")
            except BaseException as error:
                if is_new:
                    self._remove_if_empty(connection)
                if isinstance(error, duckdb.Error):
                    raise DataError(f"cannot append to {self.text}: {error}") from error
                raise

    def _remove_if_empty(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Remove the new file of a failed append, unless another process has added tables.

        No other process can open the file before the connection is closed.
        """
        with contextlib.suppress(duckdb.Error):
            connection.execute("ROLLBACK")
        with contextlib.suppress(duckdb.Error, OSError):
            if not _tables(connection):
                self.path.unlink()

    def _add(self, connection: duckdb.DuckDBPyConnection, table: str, query: str) -> None:
        name = _full(connection, table)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {name} AS FROM (\n{query}\n) LIMIT 0")
        columns = columns_of(connection, name), columns_of(connection, f"(\n{query}\n)")
        self._check_columns(f"{self.path}:{table}", *columns)
        connection.execute(f"INSERT INTO {name} BY NAME\n{query}")

    @contextlib.contextmanager
    def _opened(
        self, connect: Callable[[], duckdb.DuckDBPyConnection]
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file, one thread at a time; while another process has it open, wait."""
        if not self.path.parent.is_dir():
            raise DataError(f"the folder {self.path.parent} does not exist; create it")
        with _ONE_AT_A_TIME:
            started, told = time.monotonic(), False
            while True:
                waited = time.monotonic() - started
                # a file that another process creates is empty at first
                is_other = self.path.exists() and not is_database(str(self.path))
                if is_other and not _is_new(self.path):
                    raise DataError(f"{self.path} is not a DuckDB file; give another file name")
                try:
                    connection = connect()
                    break
                except duckdb.Error as error:
                    if not isinstance(error, _IN_USE) or waited > _PATIENCE:
                        raise DataError(
                            f"cannot open {self.path}: {error}. Nothing was written"
                        ) from error
                    if waited > _SILENCE and not told:
                        told = True
                        issue(
                            SqlmetricsWarning(
                                f"{self.path} is open in another process; waiting for at most "
                                f"{_PATIENCE:g} seconds"
                            )
                        )
                time.sleep(_PAUSE)
            try:
                yield connection
            finally:
                connection.close()  # rolls back what is not committed


class _Folder(Place):
    """A folder of Parquet files, one for each run, and one of per-user values beside it."""

    def _folder(self, view: str) -> Path:
        return self.path if view == RESULTS else self.path.parent / self.of_users

    def exists(self) -> bool:
        return any(self.path.glob("*.parquet"))

    @contextlib.contextmanager
    def connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with duckdb.connect() as connection:
            if not self._viewed(connection, RESULTS):
                raise self._nothing()
            self._viewed(connection, PER_USER)
            yield connection

    def _viewed(self, connection: duckdb.DuckDBPyConnection, view: str) -> bool:
        """Create the view of the files of a folder, if there are any."""
        folder = self._folder(view)
        if not any(folder.glob("*.parquet")):
            return False
        files = literal(path_pattern(str(folder.resolve())) + "/*.parquet")
        try:
            self._check_files(connection, files)
            connection.execute(
                f"CREATE TEMP VIEW {view} AS FROM read_parquet({files}, hive_partitioning = false)"
            )
        except duckdb.Error as error:
            raise DataError(f"cannot read {folder}: {error}") from error
        return True

    def _check_files(self, connection: duckdb.DuckDBPyConnection, files: str) -> None:
        """Check that all files have the columns of most files with runs, and none is a copy."""
        schemas = f"SELECT list_sort(list(name)), file_name FROM parquet_schema({files})"
        alike: dict[tuple[str, ...], list[str]] = {}  # files by the names in their schemas
        for names, file in connection.execute(f"{schemas} GROUP BY ALL ORDER BY ALL").fetchall():
            alike.setdefault(tuple(names), []).append(file)
        most = max(alike, key=lambda names: ("run_id" in names, len(alike[names]), len(names)))
        columns = {
            names: columns_of(connection, f"read_parquet({literal(path_pattern(of[0]))})")
            for names, of in alike.items()
        }
        for names, (file, *_) in alike.items():
            missing = [name for name in columns[most] if name not in columns[names]]
            more = [name for name in columns[names] if name not in columns[most]]
            if missing or more:
                raise DataError(
                    f"{self.text}: the file {file} has other columns than the runs beside it; "
                    + (f"it has no column {missing[0]}" if missing else f"it also has {more[0]}"),
                    remedy="move the file to another folder",
                )
        named = f"FROM read_parquet({files}, filename = 'file', hive_partitioning = false)"
        copies = connection.execute(
            f"SELECT run_id, min(file), max(file) {named} GROUP BY run_id "
            "HAVING count(DISTINCT file) > 1 ORDER BY run_id LIMIT 1"
        ).fetchone()
        if copies is not None:
            raise DataError(
                f"{self.text}: the files {copies[1]} and {copies[2]} both have the run {copies[0]}",
                remedy="remove the file that is a copy",
            )

    def added(
        self, rows: Callable[[duckdb.DuckDBPyConnection], Mapping[str, str]], run_id: str
    ) -> None:
        with contextlib.ExitStack() as stack, duckdb.connect() as connection:
            queries = rows(connection)
            folders = {view: self._folder(view) for view in queries}
            for view, folder in folders.items():
                if self._viewed(connection, view):
                    of_result = columns_of(connection, f"(\n{queries[view]}\n)")
                    self._check_columns(str(folder), columns_of(connection, view), of_result)
            for view, folder in folders.items():
                self._make(folder)
                # files get their names in reverse, so a run has its results last
                draft = stack.enter_context(whole_file(folder / f"{run_id}.parquet", force=False))
                try:
                    connection.execute(
                        f"COPY (\n{queries[view]}\n) TO {literal(str(draft))} (FORMAT parquet)"
                    )
                except duckdb.Error as error:
                    raise DataError(f"cannot append to {self.text}: {error}") from error

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise DataError(f"cannot create the folder {folder}: {error.strerror}") from error


def _is_new(path: Path) -> bool:
    """Return whether a file is empty, and was made a moment ago."""
    try:
        status = path.stat()
    except OSError:
        return False
    return not status.st_size and time.time() - status.st_mtime < _SILENCE


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    found = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' "
        "AND database_name = current_database() ORDER BY table_name"
    ).fetchall()
    return [str(name) for (name,) in found]


def _full(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return the name of a table of the file, which differs from those of temporary views."""
    found = connection.execute("SELECT current_database()").fetchone()
    assert found is not None
    return f"{identifier(found[0])}.main.{identifier(table)}"


def columns_of(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """Return the columns of a relation with their types."""
    found = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
    return {str(name): str(kind) for name, kind, *_ in found}
