"""A real Flight SQL server for the tests: RoAPI, which runs DataFusion over Parquet files.

A small shell process watches over it. The shell waits for its standard input to end, which happens
however these tests end, even killed: then it stops the server and removes the folder.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_WATCH = """
folder=$1
shift
"$@" > "$folder/log" 2>&1 &
server=$!
cat > /dev/null
kill -KILL "$server"
wait "$server"
rm -rf "$folder"
"""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class RoapiServer:
    """A server with tables, whose names may have no spaces."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        program = Path(sys.executable).with_name("roapi")
        found = str(program) if program.exists() else shutil.which("roapi")
        if found is None:
            raise ModuleNotFoundError("roapi, a server of Flight SQL, is missing")
        folder = tempfile.mkdtemp(prefix="sqlmetrics-roapi-")
        given = []
        for name, table in tables.items():
            file = Path(folder) / f"{name}.parquet"
            pq.write_table(table, file)
            given += ["--table", f"{name}={file}"]
        self.port = _free_port()
        addresses = [
            *("--addr-flight-sql", f"127.0.0.1:{self.port}"),
            *("--addr-http", f"127.0.0.1:{_free_port()}"),
            *("--addr-postgres", f"127.0.0.1:{_free_port()}"),
        ]
        self._watch = subprocess.Popen(
            ["sh", "-c", _WATCH, "sh", folder, found, *addresses, *given],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the tests only
        )
        self._wait()

    def _wait(self) -> None:
        for _ in range(200):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        self.stop()
        raise ModuleNotFoundError("roapi does not start here")

    def url(self) -> str:
        """Return the URL of the server, which has no users."""
        return f"grpc://127.0.0.1:{self.port}?dialect=datafusion"

    def connect(self) -> Any:
        """Connect with the library."""
        from adbc_driver_flightsql import dbapi

        return dbapi.connect(f"grpc://127.0.0.1:{self.port}", autocommit=True)

    def stop(self) -> None:
        """End the process."""
        self._watch.communicate()  # closes the standard input that it reads
