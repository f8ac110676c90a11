"""Fixtures of the tests on other engines. An engine that is not there is a failure, never a skip:
these tests run only when they are asked for, with --engines.

An engine starts when the first test needs it and runs until the end; pytest runs the tests of one
engine together, and with `-n 2 --dist loadfile` those of a file in one process. Tables stay loaded
between tests: load those that a test needs, or name a fixture of session scope that does, and do
not count on a table not being there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.engines import spark_sessions
from tests.engines.databases import LISTS, TRUTH
from tests.engines.runners import ENGINES, Engine, EngineMissing, Spark, said_if_missing, start
from tests.engines.spark_process import SparkProcess

T = TypeVar("T")

THIRD_PARTY = (
    # pyspark 4 with pandas 3, wherever it touches pandas
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in THIRD_PARTY:
                item.add_marker(pytest.mark.filterwarnings(warning))


def _started(start: Callable[[], T]) -> T:
    try:
        return start()
    except EngineMissing as error:
        return pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def engines(pytestconfig: pytest.Config) -> Iterator[Callable[[str], Engine]]:
    """Return what gives the engine of a name, started once."""
    running: dict[str, Engine] = {}
    by_connect = pytestconfig.getoption("--spark-connect")

    def started(name: str) -> Engine:
        if name != "spark" or not by_connect:
            return start(name)
        with said_if_missing(name):
            return Spark(spark_sessions.connect(spark_sessions.QUICK))

    def engine_of(name: str) -> Engine:
        if name not in running:
            running[name] = _started(lambda: started(name))
        return running[name]

    yield engine_of
    for engine in running.values():
        engine.close()


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest, engines: Callable[[str], Engine]) -> Engine:
    """Return each engine in turn."""
    return engines(request.param)


def _spark(kind: str) -> SparkProcess:
    with said_if_missing(kind):
        return SparkProcess(kind)


@pytest.fixture(scope="session")
def spark_cluster() -> Iterator[SparkProcess]:
    """Return a Spark of two executors, whose work can be measured."""
    spark = _started(lambda: _spark("local_cluster"))
    yield spark
    spark.close()


@pytest.fixture(scope="session")
def spark_connect() -> Iterator[SparkProcess]:
    """Return a Spark that is reached by Spark Connect."""
    spark = _started(lambda: _spark("connect"))
    yield spark
    spark.close()


@pytest.fixture(scope="session")
def chdb(engines: Callable[[str], Engine]) -> Any:
    """Return ClickHouse in this process, with the small tables."""
    engine = engines("clickhouse")
    engine.load({"recs": LISTS, "truth": TRUTH}, schema="small")
    return engine


@pytest.fixture(scope="session")
def clickhouse_server(engines: Callable[[str], Engine]) -> Any:
    """Return the stand-in for a server of ClickHouse, with the small tables."""
    engine = engines("clickhouse server")
    engine.load({"recs": LISTS, "truth": TRUTH}, schema="small")
    return engine
