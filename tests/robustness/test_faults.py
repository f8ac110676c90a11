"""What goes wrong around a run: one clear message, the old result as it was, nothing left behind.

Damaged files, full disks, limits and signals are real ones; nothing is mocked. What is stopped in
the middle of a query is in test_memory.py, broken pipes in test_cli.py.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from tests.support.processes import ENDLESS, PATIENCE, wait_for

resource = pytest.importorskip("resource", reason="limits of POSIX")

GROUP = 2_048  # rows of a row group; the lists have several of them
FULL = 4_096  # bytes that a file may have where the disk is full


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write lists of 20 items for 600 users, with ranks and with scores, and a hit for each."""
    folder = tmp_path_factory.mktemp("data")
    lists = "range(600) AS users (u), range(1, 21) AS places (p)"
    with duckdb.connect() as connection:
        for name, column in (("ranks", "p AS rank"), ("scores", "hash(u, p) % 97 AS score")):
            connection.execute(
                f"COPY (SELECT u AS user_id, (7 * u + 13 * p) % 997 AS item_id, {column} "
                f"FROM {lists} ORDER BY u, p) TO '{folder}/{name}.parquet' (ROW_GROUP_SIZE {GROUP})"
            )
        connection.execute(
            "COPY (SELECT u AS user_id, (7 * u + 13 * (1 + u % 20)) % 997 AS item_id "
            f"FROM range(600) AS users (u)) TO '{folder}/truth.parquet'"
        )
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for results; temporary files of this and of other processes go beside it."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def temporary_files(place: Path) -> list[str]:
    """Name what is left of a run in the folder for temporary files."""
    return [path.name for path in (place.parent / "temporary").iterdir()]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "sqlmetrics", *map(str, arguments)]


def little_disk(n_bytes: int = FULL) -> Callable[[], None]:
    """Let no file of a process grow further, as on a disk that is full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return limit


def failed(
    arguments: Sequence[str | Path],
    *words: str,
    disk: int | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> str:
    """Run a command that fails with exit code 1 and one message, which has these words."""
    with contextlib.ExitStack() as opened:
        result = subprocess.run(
            command(*arguments),
            stdin=subprocess.DEVNULL if stdin is None else opened.enter_context(stdin.open("rb")),
            stdout=subprocess.PIPE if stdout is None else opened.enter_context(stdout.open("wb")),
            stderr=subprocess.PIPE,
            preexec_fn=None if disk is None else little_disk(disk),
            timeout=PATIENCE,
        )
    message = result.stderr.decode()
    assert result.returncode == 1, message
    assert message.count("sqlmetrics: error: ") == 1, message
    assert "Traceback" not in message
    assert not result.stdout
    for word in words:
        assert word in message, message
    return message


# --- damaged files


def damaged(
    source: Path, target: Path, group: int, column: int, change: Callable[[int], int]
) -> Path:
    """Copy a Parquet file, with other bytes in one column of one row group."""
    where = pq.ParquetFile(source).metadata.row_group(group).column(column)
    start = where.data_page_offset
    if where.has_dictionary_page:
        start = min(start, where.dictionary_page_offset)
    content = bytearray(source.read_bytes())
    for position in range(start, start + where.total_compressed_size):
        content[position] = change(content[position])
    target.write_bytes(content)
    return target


CHANGES: dict[str, Callable[[int], int]] = {"zeros": lambda _: 0, "noise": lambda x: 31 * x % 256}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("table", ["recommendations", "interactions", "history"])
def test_damage_in_a_later_row_group_names_the_file(
    data: Path, tmp_path: Path, table: str, change: str
) -> None:
    """The start of the file and its end are whole, so only a query finds out."""
    whole = data / ("truth.parquet" if table == "interactions" else "ranks.parquet")
    last = pq.ParquetFile(whole).metadata.num_row_groups - 1
    assert last > 0 or table == "interactions"
    tables: dict[str, Any] = {
        "recommendations": data / "ranks.parquet",
        "interactions": data / "truth.parquet",
        "history": data / "ranks.parquet",
        table: damaged(whole, tmp_path / "broken.parquet", last, 1, CHANGES[change]),
    }
    for trust_input in (False, True):
        with (
            sm.Evaluator(**tables, trust_input=trust_input) as evaluator,
            pytest.raises(sm.DataError, match=rf"^{table}: \S+broken\.parquet cannot be read") as e,
        ):
            evaluator.evaluate(["ndcg@10", "surprisal@10"])
        assert "it is damaged" in str(e.value)
        assert "copy it again" in str(e.value)


def test_damage_is_found_in_partitions_too(data: Path, tmp_path: Path) -> None:
    last = pq.ParquetFile(data / "scores.parquet").metadata.num_row_groups - 1
    broken = damaged(data / "scores.parquet", tmp_path / "a.parquet", last, 1, CHANGES["zeros"])
    with (
        sm.Evaluator(broken, data / "truth.parquet", partitions=3) as evaluator,
        pytest.raises(sm.DataError, match=r"recommendations: \S+a\.parquet cannot be read"),
    ):
        evaluator.evaluate("ndcg@10")


@pytest.mark.parametrize("share", [0.999, 0.5, 0.001])
def test_a_truncated_file(data: Path, tmp_path: Path, share: float) -> None:
    content = (data / "ranks.parquet").read_bytes()
    path = tmp_path / "cut.parquet"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(sm.DataError, match=r"^recommendations: \S*cut\.parquet cannot be read"):
        sm.Evaluator(path, data / "truth.parquet")


def test_a_wrong_query_is_no_damaged_file(data: Path, tmp_path: Path) -> None:
    """Errors of other kinds keep their own message."""
    (tmp_path / "bad.sql.j2").write_text(
        '{#---\ntitle = "Fails"\n---#}\n'
        "SELECT {{ keys }}, k, max(error('no value')) AS value FROM hits GROUP BY {{ keys }}, k"
    )
    with (
        sm.Evaluator(
            data / "ranks.parquet", data / "truth.parquet", templates=tmp_path
        ) as evaluator,
        pytest.raises(sm.SqlmetricsError, match="no value") as caught,
    ):
        evaluator.evaluate("bad@3")
    assert "damaged" not in str(caught.value)


# --- files that change


def copied(data: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(data / "ranks.parquet", tmp_path / "lists.parquet"))


def replaced(path: Path, data: Path) -> None:
    """Put another table in its place, as an export does: with a rename."""
    other = path.with_name("new")
    pq.write_table(pq.read_table(data / "ranks.parquet").slice(0, 4_000), other)
    os.replace(other, path)


CHANGED: dict[str, Callable[[Path, Path], None]] = {
    "replaced": replaced,
    "shortened": lambda path, _: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path, _: path.write_bytes(b"") and None,
    "deleted": lambda path, _: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_file_that_changes_between_runs_is_refused(
    data: Path, tmp_path: Path, change: str
) -> None:
    """Stages that are kept would be of one version, and what is read again of another."""
    path = copied(data, tmp_path)
    with sm.Evaluator(path, data / "truth.parquet") as evaluator:
        evaluator.evaluate("recall@10")
        CHANGED[change](path, data)
        what = "is gone" if change == "deleted" else "changed"
        for call in (
            lambda: evaluator.evaluate("ndcg@10"),
            lambda: evaluator.per_user("ndcg@10"),
            lambda: evaluator.write_partition(tmp_path / "parts", "1/2", "ndcg@10"),
            lambda: evaluator.write_parquet(tmp_path / "out.parquet", "ndcg@10"),
        ):
            with pytest.raises(sm.DataError, match=rf"recommendations: \S+lists\.parquet {what}"):
                call()
    assert not (tmp_path / "out.parquet").exists()
    assert not (tmp_path / "parts").exists()


def test_a_file_that_changes_during_a_run(data: Path, tmp_path: Path) -> None:
    """Which row groups are of which version is the engine's luck, and nobody would notice."""
    path = copied(data, tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "slow.sql.j2").write_text(
        '{#---\ntitle = "Takes a second"\naudience = "recommended"\n---#}\n'
        "SELECT {{ keys }}, k, max((SELECT sum(hash(a.range * b.range)) FROM range(20000) AS a, "
        "range(5000) AS b)) AS value FROM listed GROUP BY {{ keys }}, k"
    )
    change = threading.Timer(0.2, lambda: replaced(path, data))
    with sm.Evaluator(path, data / "truth.parquet", templates=tmp_path / "own") as evaluator:
        evaluator.evaluate("precision@10")  # checks are done
        change.start()
        with pytest.raises(sm.DataError, match=r"recommendations: \S+lists\.parquet changed"):
            evaluator.evaluate("slow@10")
        change.join()


# --- full disks


@pytest.mark.parametrize("name", ["values.csv", "values.parquet"])
@pytest.mark.thorough
def test_a_full_disk_keeps_the_old_result(data: Path, place: Path, name: str) -> None:
    (place / name).write_text("what was there before")
    command_name = "evaluate" if name == "values.csv" else "per-user"
    message = failed(
        [command_name, "-r", data / "ranks.parquet", "-i", data / "truth.parquet", "ndcg", "map",
         "-k", "1:50", "-o", place / name, "--force"],
        "File too large", disk=FULL,
    )  # fmt: skip
    # Parquet goes to a folder of our own first
    assert str(place / name if name != "values.parquet" else place.parent / "temporary") in message
    assert (place / name).read_text() == "what was there before"
    assert os.listdir(place) == [name]
    assert temporary_files(place) == []


@pytest.mark.parametrize("unbuffered", ["1", pytest.param("", marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_a_full_disk_behind_stdout(
    data: Path, place: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    """Without a buffer, Python drops what a write did not take, and says nothing."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    failed(
        ["evaluate", "-r", data / "ranks.parquet", "-i", data / "truth.parquet", "ndcg", "map",
         "-k", "1:50", "--format", "csv"],
        "cannot be written", "File too large", disk=FULL, stdout=place / "out.csv",
    )  # fmt: skip


@pytest.mark.thorough
def test_a_full_disk_for_parts(data: Path, place: Path) -> None:
    asked = ["evaluate", "-r", data / "ranks.parquet", "-i", data / "truth.parquet", "ndcg", "map",
             "-k", "1:20", "-o", place / "parts", "--partition"]  # fmt: skip
    failed([*asked, "1/2"], "File too large", "--temp-directory", disk=FULL)
    assert os.listdir(place) == []
    with sm.Evaluator(data / "ranks.parquet", data / "truth.parquet") as evaluator:
        evaluator.write_partition(place / "parts", "1/2", ["ndcg", "map"], range(1, 21))
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    failed([*asked, "1/2", "--force"], "File too large", disk=FULL)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    assert temporary_files(place) == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        # what partitions hand over
        pytest.param(["--partitions", "3"], "partition 1/3", marks=pytest.mark.thorough),
        (["--partitions", "1", "--memory-limit", "10MB", "--threads", "1"], "computing"),
    ],
)
def test_a_full_disk_for_temporary_files(
    data: Path, place: Path, arguments: list[str], word: str
) -> None:
    failed(
        ["evaluate", "-r", data / "scores.parquet", "-i", data / "truth.parquet", "ndcg", "map",
         "-k", "1:20", *arguments],
        word, str(place.parent / "temporary"), "File too large", "--temp-directory", disk=FULL,
    )  # fmt: skip
    assert temporary_files(place) == []


def test_a_full_disk_for_what_comes_from_stdin(data: Path, place: Path) -> None:
    failed(
        ["evaluate", "-r", "-", "-i", data / "truth.parquet", "ndcg@10"],
        "stdin", "File too large", "--temp-directory", disk=FULL, stdin=data / "ranks.parquet",
    )  # fmt: skip
    assert temporary_files(place) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 8 KB, where that is allowed."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.thorough
def test_a_small_file_system(data: Path, place: Path, small_disk: Path) -> None:
    """A result goes to the temporary folder first, and from there to another file system."""
    with sm.Evaluator(data / "ranks.parquet", data / "truth.parquet") as evaluator:
        fits, does_not = small_disk / "small.parquet", small_disk / "large.parquet"
        evaluator.write_parquet(fits, "ndcg@10")
        assert len(pd.read_parquet(fits)) == 1
        metrics = ["ndcg", "map", "dcg", "mrr", "recall", "precision"]
        options: dict[str, Any] = {"metrics": metrics, "k": range(1, 21), "per_user": True}
        with pytest.raises(sm.DataError, match=r"cannot write \S+large\.parquet: No space left"):
            evaluator.write_parquet(does_not, **options)
        assert os.listdir(small_disk) == ["small.parquet"]
        evaluator.write_parquet(place / "large.parquet", **options)
        assert (place / "large.parquet").stat().st_size > 1 << 13
    with (
        sm.Evaluator(
            data / "ranks.parquet", data / "truth.parquet", temp_directory=small_disk
        ) as evaluator,
        pytest.raises(sm.EngineError, match=rf"does not fit into {small_disk} .*No space left"),
    ):
        evaluator.write_parquet(place / "again.parquet", **options)
    assert os.listdir(small_disk) == ["small.parquet"]
    assert os.listdir(place) == ["large.parquet"]
    assert temporary_files(place) == []


@pytest.mark.thorough
def test_a_folder_that_takes_no_files(data: Path) -> None:
    """Root may write everywhere but for file systems of the kernel."""
    if not Path("/proc/self").is_dir():
        pytest.skip("this system has no /proc")
    failed(
        ["evaluate", "-r", data / "ranks.parquet", "-i", data / "truth.parquet", "ndcg@10", "-o",
         "/proc/out.csv"],
        "cannot write /proc/out.csv",
    )  # fmt: skip


# --- memory


@pytest.mark.parametrize("limit", ["3MB", pytest.param("12MB", marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_too_little_memory(data: Path, place: Path, limit: str) -> None:
    (place / "out.csv").write_text("old")
    failed(
        ["evaluate", "-r", data / "scores.parquet", "-i", data / "truth.parquet", "all",
         "--skip-missing", "-k", "1:20", "--partitions", "1", "--memory-limit", limit, "-o",
         place / "out.csv", "--force"],
        f"memory limit of {limit}", "--memory-limit", "--partitions N",
    )  # fmt: skip
    assert (place / "out.csv").read_text() == "old"
    assert os.listdir(place) == ["out.csv"]
    assert temporary_files(place) == []


# --- interruption


@pytest.mark.parametrize(
    ("stage", "how"),
    [
        pytest.param("input", signal.SIGTERM, marks=pytest.mark.thorough),
        ("writing", signal.SIGINT),
        pytest.param("reader", signal.SIGTERM, marks=pytest.mark.thorough),
        pytest.param("input", signal.SIGINT, marks=pytest.mark.thorough),
        pytest.param("writing", signal.SIGTERM, marks=pytest.mark.thorough),
        pytest.param("reader", signal.SIGINT, marks=pytest.mark.thorough),
    ],
)
def test_a_run_that_is_stopped_at_any_stage(
    data: Path, place: Path, stage: str, how: signal.Signals
) -> None:
    """While it waits for more input, for the engine that writes, or for a reader of its output."""
    (place / "endless.sql.j2").write_text(ENDLESS)
    (place / "old.parquet").write_text("what was there before")
    before, temporary = set(place.iterdir()), place.parent / "temporary"
    lists, truth = data / "ranks.parquet", ["-i", data / "truth.parquet", "--templates", place]
    arguments: dict[str, list[str | Path]] = {
        "input": ["evaluate", "-r", "-", *truth, "ndcg@10"],
        "writing": ["per-user", "-r", lists, *truth, "endless@10", "-o", place / "old.parquet",
                    "--force"],
        "reader": ["per-user", "-r", lists, *truth, "ndcg", "map", "dcg", "-k", "1:30",
                   "--format", "json", "--no-check"],
    }  # fmt: skip
    with subprocess.Popen(
        command(*arguments[stage]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        try:
            if stage == "reader":
                process.stdout.read(1)  # there is more than a pipe holds
            else:
                ours = "sqlmetrics-*/" + ("sqlmetrics-*" if stage == "input" else "*/*.parquet")
                wait_for(lambda: list(temporary.glob(ours)), process)
            process.send_signal(how)
            if stage == "reader":
                wait_for(lambda: temporary_files(place) == [])
            process.stdin.close()
            messages, output = process.stderr.read().decode(), process.stdout.read()
            process.wait(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130, messages
    assert messages == "sqlmetrics: interrupted\n"
    assert stage == "reader" or output == b""
    assert set(place.iterdir()) == before
    assert (place / "old.parquet").read_text() == "what was there before"
    assert temporary_files(place) == []


@pytest.mark.thorough
def test_a_run_that_is_stopped_at_any_time(data: Path, place: Path) -> None:
    """At moments all over the run, from the start of the process to its end."""
    arguments = ["evaluate", "-r", data / "scores.parquet", "-i", data / "truth.parquet", "all",
                 "--skip-missing", "-k", "1:5", "--partitions", "3", "-o", place / "out.csv",
                 "--force"]  # fmt: skip
    started = time.monotonic()
    subprocess.run(command(*arguments), capture_output=True, timeout=PATIENCE, check=True)
    duration, whole, codes = time.monotonic() - started, pd.read_csv(place / "out.csv"), []
    for number in range(12):
        with subprocess.Popen(
            command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            time.sleep(duration * number / 12)
            process.send_signal(signal.SIGINT if number % 2 else signal.SIGTERM)
            _, messages = process.communicate(timeout=PATIENCE)
        # before our own code runs, Python ends as it does; at the very end, there is a result
        assert process.returncode in (130, 0, -signal.SIGINT, -signal.SIGTERM), messages
        assert process.returncode != 130 or b"Traceback" not in messages
        codes.append(process.returncode)
        assert [path.name for path in place.iterdir()] == ["out.csv"]
        found = pd.read_csv(place / "out.csv")
        pd.testing.assert_frame_equal(found, whole, rtol=1e-9)  # of this run, or of one before
        assert temporary_files(place) == []
    assert 130 in codes, codes


# --- a connection of the caller's


def state(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """List all that a run could leave in a connection, seen from another one and from itself."""
    queries = [
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() ORDER BY ALL",
        "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() ORDER BY ALL",
        "SELECT name, value FROM duckdb_settings() ORDER BY ALL",
        "SELECT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
        "SELECT schema_name FROM duckdb_schemas() ORDER BY ALL",
        "SELECT database_name FROM duckdb_databases() ORDER BY ALL",
        "SELECT type_name FROM duckdb_types() WHERE NOT internal ORDER BY ALL",
        "SELECT name FROM duckdb_prepared_statements() ORDER BY ALL",
        "SELECT n FROM of_the_caller ORDER BY ALL",
    ]
    return [connection.execute(query).fetchall() for query in queries]


@pytest.fixture
def connection(data: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(f"CREATE TABLE lists AS FROM '{data}/scores.parquet'")
        opened.execute(f"CREATE VIEW truth AS FROM '{data}/truth.parquet'")
        opened.execute("CREATE MACRO gain(x) AS 2 * x")
        opened.execute("SET default_null_order = 'nulls_first'")
        opened.execute("CREATE TABLE of_the_caller AS SELECT 1 AS n")
        yield opened


FAILING = """\
{#---
title = "Fails, or takes hours"
[params.how]
choices = ["fails", "endless"]
default = "fails"
---#}
SELECT {{ keys }}, k,
    {% if how == "fails" %} max(error('no value'))
    {% else %}
    max((SELECT sum(hash(a.range * b.range)) FROM range(100000) AS a, range(100000000) AS b))
    {% endif %} AS value
FROM hits
GROUP BY {{ keys }}, k
"""


def stop_once() -> Callable[..., None]:
    """Raise what Ctrl-C raises, once; for `watch`, which is called while a query runs."""
    interrupts = [KeyboardInterrupt]

    def stop(*_: object) -> None:
        if interrupts:
            raise interrupts.pop()

    return stop


RUNS: dict[str, tuple[str, type[BaseException] | None]] = {
    "ndcg@10": ("evaluate", None),
    "recall@10": ("per_user", None),
    "failing@10": ("evaluate", sm.SqlmetricsError),
    "failing(how=endless)@10": ("evaluate", KeyboardInterrupt),
}


@pytest.mark.parametrize(
    ("metric", "partitions"),
    [
        *((metric, None) for metric in RUNS),
        *(pytest.param(metric, 2, marks=pytest.mark.thorough) for metric in RUNS),
    ],
)
def test_a_connection_and_its_transaction_stay_as_they_were(
    data: Path,
    place: Path,
    connection: duckdb.DuckDBPyConnection,
    metric: str,
    partitions: int | None,
) -> None:
    """A run that ends well leaves the transaction open, an error of the engine aborts it.

    That is the engine's rule for every error. ROLLBACK undoes what the caller did in both cases.
    """
    (place / "failing.sql.j2").write_text(FAILING)
    method, error = RUNS[metric]
    committed = state(connection)
    connection.execute("BEGIN")
    connection.execute("INSERT INTO of_the_caller VALUES (2)")
    connection.execute("CREATE TABLE fresh AS SELECT 1 AS one")
    before = state(connection)
    history = pd.read_parquet(data / "ranks.parquet")
    with sm.Evaluator(
        "lists",
        "truth",
        history=history,
        connection=connection,
        templates=place,
        partitions=partitions,
        watch=stop_once() if error is KeyboardInterrupt else None,
    ) as evaluator:
        if error is None:
            getattr(evaluator, method)([metric, "surprisal@10"])
            assert state(connection) == before
        else:
            with pytest.raises(error):
                getattr(evaluator, method)([metric, "surprisal@10"])
            with pytest.raises(sm.UsageError, match="connection cannot be used"):
                sm.Evaluator("lists", "truth", connection=connection)
        connection.execute("ROLLBACK")
        assert state(connection) == committed
        assert len(evaluator.evaluate("precision@10")) == 1  # both can be used again
    assert state(connection) == committed
    assert temporary_files(place) == []


def test_rules_that_rows_break_leave_a_transaction_open(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    connection.execute("BEGIN")
    connection.execute("INSERT INTO lists VALUES (NULL, 1, 1)")
    with (
        sm.Evaluator("lists", "truth", connection=connection) as evaluator,
        pytest.raises(sm.DataError, match="NULL"),
    ):
        evaluator.evaluate("ndcg@10")
    connection.execute("INSERT INTO of_the_caller VALUES (2)")
    connection.execute("COMMIT")
    assert connection.sql("SELECT count(*) FROM of_the_caller").fetchall() == [(2,)]


# --- two runs at once


@pytest.mark.thorough
def test_two_runs_at_once_in_one_database(
    connection: duckdb.DuckDBPyConnection, data: Path
) -> None:
    """Each has a cursor of its own; frames of both are registered under the same names."""
    lists = pd.read_parquet(data / "scores.parquet")
    turned = lists.assign(score=-lists["score"])
    before = state(connection)
    found: dict[str, list[Any]] = {"as it is": [], "turned": []}

    def run(name: str, frame: pd.DataFrame) -> None:
        with sm.Evaluator(frame, "truth", connection=connection.cursor()) as evaluator:
            for k in range(1, 4):
                found[name].append(evaluator.per_user(["ndcg", "map"], k).to_dict("list"))

    threads = [
        threading.Thread(target=run, args=pair)
        for pair in (("as it is", lists), ("turned", turned))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, frame in (("as it is", lists), ("turned", turned)):
        with sm.Evaluator(frame, data / "truth.parquet") as evaluator:
            alone = [evaluator.per_user(["ndcg", "map"], k).to_dict("list") for k in range(1, 4)]
        assert found[name] == alone
    assert found["as it is"] != found["turned"]
    assert state(connection) == before


AT_ONCE = """
import sys, duckdb, sqlmetrics as sm
with duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read") as connection:
    with sm.Evaluator("lists", "truth", connection=connection, check=False) as evaluator:
        print(evaluator.rows("ndcg@10").values[0][2], flush=True)
        sys.stdin.read(1)
"""


@pytest.mark.thorough
def test_two_processes_with_one_database_file(data: Path, tmp_path: Path) -> None:
    """Readers run side by side. Beside a writer, the engine refuses to open the file."""
    path = str(tmp_path / "a.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE lists AS FROM '{data}/scores.parquet'")
        connection.execute(f"CREATE TABLE truth AS FROM '{data}/truth.parquet'")

    def run(how: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", AT_ONCE, path, how],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    readers = [run("read"), run("read")]
    try:
        values = [one.stdout.readline() for one in readers if one.stdout]  # both have it open
        with pytest.raises(duckdb.IOException, match="lock"):
            duckdb.connect(path)
    finally:
        messages = [one.communicate("x", timeout=PATIENCE)[1] for one in readers]
    assert messages == ["", ""]
    assert float(values[0]) == pytest.approx(float(values[1]), rel=1e-12)
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO lists VALUES (1, 1, 1)")
        late = run("read")
        _, message = late.communicate(timeout=PATIENCE)
    assert late.returncode == 1
    assert "lock" in message
    assert [one.name for one in tmp_path.iterdir()] == ["a.duckdb"]


# --- what a query can reach


READS = """\
{#---
title = "Reads what is none of the tables"
audience = "recommended"
---#}
SELECT {{ keys }}, k, max((SELECT count(*) FROM %s)) AS value
FROM listed
GROUP BY {{ keys }}, k
"""


@pytest.mark.parametrize(
    "what",
    ["read_csv('{file}')", "read_text('{file}')", "read_blob('{folder}/*')", "glob('{folder}/*')",
     "read_parquet('{data}/*.parquet')", "read_parquet('{data}/scores.parquet')"],
)  # fmt: skip
def test_templates_read_the_tables_and_no_other_files(
    data: Path, tmp_path: Path, what: str
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    own = tmp_path / "own"
    own.mkdir()
    reads = what.format(file=secret, folder=tmp_path, data=data)
    (own / "reads.sql.j2").write_text(READS % reads)
    lists, truth = data / "ranks.parquet", data / "truth.parquet"
    with sm.Evaluator(lists, truth, templates=own) as evaluator:
        with pytest.raises(sm.TemplateError) as caught:
            evaluator.evaluate("reads@10")
        assert "Cannot access file" in str(caught.value)
        assert "give the file as one of them" in str(caught.value)
        assert evaluator.evaluate("ndcg@10")["n_users"][0] == 600
    with (
        duckdb.connect() as connection,
        sm.Evaluator(lists, truth, templates=own, connection=connection) as evaluator,
    ):  # that is the caller's to decide
        assert evaluator.evaluate("reads@10")["value"][0] >= 1


def test_templates_do_not_see_what_the_caller_has(data: Path, tmp_path: Path) -> None:
    """A frame in a variable is no table; the engine would look for one by itself."""
    frame_of_the_caller = pd.DataFrame({"a": [1]})
    (tmp_path / "reads.sql.j2").write_text(READS % "frame_of_the_caller")
    with (
        sm.Evaluator(
            data / "ranks.parquet", data / "truth.parquet", templates=tmp_path
        ) as evaluator,
        pytest.raises(sm.TemplateError, match="frame_of_the_caller"),
    ):
        evaluator.evaluate("reads@10")
    assert len(frame_of_the_caller) == 1


def test_a_lock_is_of_the_files_as_they_were_named(data: Path, tmp_path: Path) -> None:
    """Links, and folders of links, lead where they lead; relative paths are of the folder then."""
    (tmp_path / "lists").symlink_to(data / "ranks.parquet")
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "a=1").symlink_to(data)
    truth = str(tmp_path / "truth" / "*" / "truth.parquet")
    relative = os.path.relpath(data / "ranks.parquet")
    values = []
    for lists in (tmp_path / "lists", relative, f"./{relative}"):
        with sm.Evaluator(lists, truth, temp_directory=os.path.relpath(tmp_path)) as evaluator:
            values.append(evaluator.evaluate("ndcg@10")["value"][0])
            evaluator.write_parquet(tmp_path / "out.parquet", "ndcg@10", force=True)
    assert len(set(values)) == 1


def test_parts_read_their_files_and_no_others(data: Path, tmp_path: Path) -> None:
    """A folder of parts may come from elsewhere, with a statement in it."""
    import hashlib
    import json

    folder = tmp_path / "parts"
    with sm.Evaluator(data / "ranks.parquet", data / "truth.parquet") as evaluator:
        evaluator.write_partition(folder, "1/1", "ndcg@10")
    assert len(sm.reduce(folder)) == 1
    (tmp_path / "secret.csv").write_text("a\n1\n")
    statement = f"SELECT * FROM read_csv('{tmp_path}/secret.csv')"
    (folder / "reduce.sql").write_text(statement)
    manifest = next(folder.glob("part-*.json"))
    entries = json.loads(manifest.read_text())
    entries["statement"] = hashlib.sha256(statement.encode()).hexdigest()
    manifest.write_text(json.dumps(entries))
    with pytest.raises(sm.SqlmetricsError, match=r"Cannot access file \S+secret\.csv"):
        sm.reduce(folder)
