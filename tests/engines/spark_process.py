"""Spark in a process of its own: Spark Connect, and a cluster whose work is measured.

cluster = SparkProcess("local_cluster")
cluster.load({"recs": table})
rows = cluster.run("SELECT …")
cluster.work()                        # Work(tasks={"0": 9, "1": 7}, remote_bytes=…, …)
cluster.call(function, *arguments)    # what function(session, *arguments) returns over there
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from tests.engines import spark_sessions
from tests.engines.runners import Row, Spark

T = TypeVar("T")
FILES = 4  # of each table of the cluster


class SparkError(Exception):
    """An error in the other process."""


@dataclass(frozen=True)
class Work:
    """What a cluster did: the tasks of each executor, and what they read of each other's results.

    `local_bytes` were read by the executor that had written them, `remote_bytes` by another one.
    """

    tasks: dict[str, int]
    remote_bytes: int
    local_bytes: int


class _Cluster(Spark):
    """The cluster, inside its process. Its tables are Parquet files, as those in use are.

    Tables handed over by the driver would be shuffled before any query does: the work would look
    spread without the query being so.
    """

    def __init__(self) -> None:
        super().__init__(spark_sessions.local_cluster())
        self._context = self.session.sparkContext
        folder = Path(urlparse(self._context.getConf().get("spark.eventLog.dir")).path)
        self._log = folder / self._context.applicationId
        self._seen = 0

    def _create(self, quoted: str, table: pa.Table) -> None:
        folder = spark_sessions.scratch()
        size = -(-table.num_rows // FILES)
        for number in range(FILES):
            pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
        self.session.read.parquet(str(folder)).createTempView(quoted)

    def work(self) -> Work:
        """Return what was done since the last call, from the event log of Spark."""
        self._context._jsc.sc().listenerBus().waitUntilEmpty(120_000)  # ms
        (log,) = self._log.parent.glob(f"{self._log.name}*")  # .inprogress while it runs
        with log.open("rb") as file:
            file.seek(self._seen)
            written = file.read()
        whole = written[: written.rfind(b"\n") + 1]  # Spark may be in the middle of a line
        events = [json.loads(line) for line in whole.splitlines()]
        self._seen += len(whole)
        tasks = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
        reads = [task["Task Metrics"]["Shuffle Read Metrics"] for task in tasks]
        return Work(
            tasks=dict(Counter(task["Task Info"]["Executor ID"] for task in tasks)),
            remote_bytes=sum(read["Remote Bytes Read"] for read in reads),
            local_bytes=sum(read["Local Bytes Read"] for read in reads),
        )


def _connect() -> Spark:
    return Spark(spark_sessions.connect())


_KINDS: dict[str, Callable[[], Spark]] = {"connect": _connect, "local_cluster": _Cluster}
_here: Spark | None = None  # in the other process


@contextmanager
def _errors_as_text() -> Iterator[None]:
    """Raise SparkError for any error: those of pyspark do not survive the way between processes."""
    try:
        yield
    except ModuleNotFoundError:  # which is told from others: see said_if_missing
        raise
    except Exception as error:
        raise SparkError(f"{type(error).__name__}: {error}") from None


def _end_with_the_tests() -> None:
    """Wait for the process of the tests to end, even killed, and end this one; so does its JVM."""
    tests = multiprocessing.parent_process()
    assert tests is not None
    tests.join()
    os._exit(1)


def _start(kind: str, folder: str) -> None:
    global _here
    tempfile.tempdir = folder
    threading.Thread(target=_end_with_the_tests, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they end this
    # pyspark 4 with pandas 3: nothing here uses pandas
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with _errors_as_text():
        _here = _KINDS[kind]()


def _stop() -> None:
    if _here is not None:  # it started
        _here.close()


def _do(method: str, *arguments: Any) -> Any:
    with _errors_as_text():
        return getattr(_here, method)(*arguments)


def _call(function: Callable[..., T], *arguments: Any) -> T:
    with _errors_as_text():
        return function(_here.session, *arguments)


class SparkProcess:
    """A Spark of one kind, "connect" or "local_cluster", in a process of its own.

    What fails over there raises SparkError here, with the name of the error and its message.
    """

    dialect = Spark.dialect
    quoted = staticmethod(Spark.quoted)

    def __init__(self, kind: str) -> None:
        # not forked: a process that has a JVM and threads cannot be copied
        context = multiprocessing.get_context("spawn")
        self._process = ProcessPoolExecutor(max_workers=1, mp_context=context)
        self._folder = tempfile.mkdtemp(prefix=f"{kind}-")  # all that is written over there
        try:
            self._process.submit(_start, kind, self._folder).result()
        except BaseException:
            self.close()
            raise

    def load(self, tables: Mapping[str, pa.Table], schema: str | None = None) -> None:
        """As Engine.load."""
        self._process.submit(_do, "load", dict(tables), schema).result()

    def run(self, statement: str) -> list[Row]:
        """As Engine.run."""
        return self._process.submit(_do, "run", statement).result()

    def work(self) -> Work:
        """Return what a cluster did since the last call."""
        return self._process.submit(_do, "work").result()

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function of a module with the session and these arguments, in the process.

        What it is given and returns is pickled on the way.
        """
        return self._process.submit(_call, function, *arguments).result()

    def close(self) -> None:
        """End the session and the process."""
        try:
            self._process.submit(_stop).result()
        finally:
            self._process.shutdown()
            shutil.rmtree(self._folder, ignore_errors=True)
