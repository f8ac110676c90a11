"""Output and temporary files and streams: links, devices, inputs, closed and full streams.

tests/robustness has the tests with full disks and signals.
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import DataError
from sqlmetrics.files import whole_file
from tests.support.command_line import run
from tests.support.evaluators import Evaluator
from tests.support.paths import DATA
from tests.support.processes import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and devices of POSIX")

LISTS, TRUTH = DATA / "recommendations_popular.parquet", DATA / "interactions.parquet"
INPUT = ["-r", str(LISTS), "-i", str(TRUTH)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder; temporary files of this and of other processes go beside it."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("SQLMETRICS_CHECK", "false")
    monkeypatch.setattr("tempfile.tempdir", None)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


# ---------------------------------------------------------------- temporary directories


def test_a_mistake_in_the_command_makes_no_temporary_directory(place: Path) -> None:
    two = ["-r", f"als={LISTS}", "-r", f"same={LISTS}", "-i", str(TRUTH), "--baseline", "same"]
    error = run("compare", *two, "nonsense@10", "--temp-directory", "x.parquet", code=2).stderr
    assert "unknown metric" in error
    assert os.listdir(place) == []


def test_a_temporary_directory_goes_with_its_parents(place: Path) -> None:
    """Those that were made for the run, and no others."""
    for there in ([], ["a"]):
        for name in there:
            Path(name).mkdir()
        run("evaluate", *INPUT, "ndcg@10", "--temp-directory", "a/b/c")
        assert os.listdir(place) == there
    assert not Path("a/b").exists()


def test_a_temporary_directory_that_got_another_file_stays(place: Path) -> None:
    with Evaluator(LISTS, TRUTH, temp_directory="a/b") as evaluator:
        evaluator.evaluate("ndcg@10")
        Path("a/b/mine.txt").write_text("mine")
    assert [str(path.relative_to(place)) for path in place.rglob("*.txt")] == ["a/b/mine.txt"]
    assert os.listdir("a/b") == ["mine.txt"]


def test_a_temporary_directory_that_cannot_be_made(place: Path) -> None:
    Path("file").write_text("")
    for name in ("file/x", "file"):
        error = run("evaluate", *INPUT, "ndcg@10", "--temp-directory", name, code=2).stderr
        assert f"temp_directory {name}: Not a directory" in error
    assert os.listdir(place) == ["file"]


# ---------------------------------------------------------------- links, devices, modes


@pytest.mark.usefixtures("place")
def test_a_replaced_file_keeps_its_mode_and_owner() -> None:
    Path("out.csv").write_text("old")
    if os.geteuid() == 0:  # only root gives files away
        os.chown("out.csv", 1234, 4321)
    before = os.stat("out.csv")
    for mode in (0o600, 0o640, 0o444, 0o755):
        Path("out.csv").chmod(mode)
        run("evaluate", *INPUT, "ndcg@10", "-o", "out.csv", "--force")
        assert Path("out.csv").read_text().startswith("metric,")
        found = os.stat("out.csv")
        assert stat.S_IMODE(found.st_mode) == mode
        assert (found.st_uid, found.st_gid) == (before.st_uid, before.st_gid)


@pytest.mark.usefixtures("place")
def test_a_new_file_has_the_mode_of_new_files() -> None:
    Path("other").write_text("")
    run("evaluate", *INPUT, "ndcg@10", "-o", "out.parquet")
    assert os.stat("out.parquet").st_mode == os.stat("other").st_mode


def test_through_a_link_its_file_is_replaced(place: Path) -> None:
    target = place / "elsewhere" / "kept"
    target.parent.mkdir()
    for name in ("out.csv", "out.parquet"):
        target.write_text("old")
        Path(name).symlink_to("elsewhere/kept")
        assert "Add --force" in run("evaluate", *INPUT, "ndcg@10", "-o", name, code=1).stderr
        run("evaluate", *INPUT, "ndcg@10", "-o", name, "--force")
        assert os.readlink(name) == "elsewhere/kept"
        assert target.read_bytes() != b"old"
        assert os.listdir("elsewhere") == ["kept"]


def test_a_dangling_link_is_refused(place: Path) -> None:
    Path("out.csv").symlink_to("nowhere.csv")
    for force in ([], ["--force"]):
        error = run("evaluate", *INPUT, "ndcg@10", "-o", "out.csv", *force, code=1).stderr
        assert "out.csv: the path is a symbolic link to nowhere.csv, which does not exist" in error
        assert os.readlink("out.csv") == "nowhere.csv"
        assert os.listdir(place) == ["out.csv"]


def test_a_pipe_is_written_to(place: Path) -> None:
    os.mkfifo("pipe")
    asked = ["evaluate", *INPUT, "ndcg@10", "--format", "csv"]
    for command in (asked, [*asked, "--force"], ["macros", "ndcg", "--force"]):
        received: list[str] = []
        reader = threading.Thread(target=lambda: received.append(Path("pipe").read_text()))  # noqa: B023
        reader.start()
        run(*command, "-o", "pipe")
        reader.join(60)
        assert len(received[0]) > 100
        assert Path("pipe").is_fifo()
        assert os.listdir(place) == ["pipe"]


def test_a_device_is_written_to() -> None:
    """As root, /dev/null was replaced by a file."""
    before = os.stat(os.devnull)
    run("evaluate", *INPUT, "ndcg@10", "--format", "csv", "-o", os.devnull, "--force")
    assert os.stat(os.devnull).st_rdev == before.st_rdev
    if Path("/dev/full").exists():
        error = run("macros", "ndcg", "-o", "/dev/full", code=1).stderr
        assert error == "sqlmetrics: error: cannot write /dev/full: No space left on device\n"


@pytest.mark.usefixtures("place")
def test_what_is_neither_a_file_nor_a_stream_is_refused() -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        error = run("macros", "ndcg", "-o", "socket", "--force", code=1).stderr
    assert "not a file, a pipe" in error
    assert Path("socket").is_socket()


def test_links_in_a_package_are_not_replaced(place: Path) -> None:
    tables = ["--recommendations-table", "recs", "--interactions-table", "truth"]
    run("dbt", "package", "ndcg@10", *tables)
    for name in ("dbt_project.yml", "models/schema.yml"):
        path = Path("package") / name
        path.rename("kept")
        path.symlink_to(place / "kept")
        before = Path("kept").read_text()
        error = run("dbt", "package", "recall@10", *tables, "--force", code=1).stderr
        assert f"package/{name} is a symbolic link and is not replaced" in error
        assert path.is_symlink()
        assert Path("kept").read_text() == before
        path.unlink()
        Path("kept").rename(path)


# ---------------------------------------------------------------- inputs


@pytest.fixture
def inputs(place: Path) -> bytes:  # noqa: ARG001 - it works there
    """Put an input into a folder, with a hard and a symbolic link beside it."""
    Path("in").mkdir()
    shutil.copy(LISTS, "in/lists.parquet")
    os.link("in/lists.parquet", "hard.parquet")
    Path("soft.parquet").symlink_to("in/lists.parquet")
    return Path("in/lists.parquet").read_bytes()


def test_an_input_is_not_overwritten(inputs: bytes) -> None:
    for source, target, option in itertools.product(
        ["in/lists.parquet", "in", "in/*.parquet", "soft.parquet"],
        ["./in/lists.parquet", "hard.parquet", "soft.parquet"],
        ["-o", "--record"],
    ):
        arguments = ["-r", source, "-i", str(TRUTH), "ndcg@10", option, target, "--force"]
        error = run("evaluate", *arguments, code=2).stderr
        assert f"{Path(target)} is not overwritten: the rows of recommendations are read" in error
        assert Path("in/lists.parquet").read_bytes() == inputs
        assert sorted(os.listdir()) == ["hard.parquet", "in", "soft.parquet"]


def test_an_input_given_as_a_url_is_not_overwritten(inputs: bytes) -> None:
    """The engine writes Parquet files, other files are written by the command line."""
    for name in ("lists.parquet", "lists.csv"):
        target = Path("in", name)
        Path("in/lists.parquet").rename(target)
        for start in ("file://", "file:", "FILE://localhost", "delta:", "delta:file:"):
            url = f"{start}{Path('in').absolute() if 'delta' in start else target.absolute()}"
            arguments = ["-r", url, "-i", str(TRUTH), "ndcg@10", "-o", target, "--force"]
            refused = run("evaluate", *arguments, code=2).stderr
            assert "is not overwritten: the rows of rec" in refused
            assert target.read_bytes() == inputs


def test_the_inputs_of_tests_are_not_overwritten(inputs: bytes) -> None:
    gates = f"""[evaluate]
        recommendations = "in/lists.parquet"
        interactions = {str(TRUTH)!r}
        metrics = "ndcg@10"
        fail-if = "ndcg@10 < 0"
    """
    Path("gates.toml").write_text(gates)
    os.rename("hard.parquet", "hard.csv")
    for target in ("hard.csv", "gates.toml"):
        target_options = ["-o", f"./{target}", "--format", "csv", "--force"]
        command = ["test", "gates.toml", "--trust-file", *target_options]
        assert f"{target} is not overwritten: the" in run(*command, code=2).stderr
        assert Path("in/lists.parquet").read_bytes() == Path("hard.csv").read_bytes() == inputs
        assert Path("gates.toml").read_text() == gates


def test_an_input_on_stdin_is_not_overwritten(inputs: bytes) -> None:
    Path("lists.csv").write_bytes(inputs)
    command = [sys.executable, "-m", "sqlmetrics", "evaluate", "-r", "-", "-i", str(TRUTH)]
    with Path("lists.csv").open("rb") as lists:
        done = subprocess.run(
            [*command, "ndcg@10", "-o", "./lists.csv", "--force"], stdin=lists, capture_output=True
        )
    assert done.returncode == 2
    assert b"lists.csv is not overwritten: the rows of recommendations" in done.stderr
    assert Path("lists.csv").read_bytes() == inputs


@pytest.mark.usefixtures("place")
def test_a_pipe_is_no_input() -> None:
    """It would be read once to find its format, and then be empty, or wait forever."""
    os.mkfifo("lists")
    error = run("evaluate", "-r", "lists", "-i", str(TRUTH), "ndcg@10", code=1).stderr
    assert "recommendations: lists is a pipe, which cannot be read more than once" in error
    assert "Pass - and pipe the rows into standard input" in error


def test_no_command_overwrites_an_input(inputs: bytes) -> None:
    os.link("in/lists.parquet", "hard.csv")
    several = ["-r", "a=in", "-r", "b=hard.parquet"]
    for name, command in {
        "per-user": ["-r", "in"],
        "compare": [*several, "--baseline", "b"],
        "leaderboard": several,
        "explain": ["-r", "in", "--from", "replay"],
        "check": ["-r", "in", "--format", "csv"],
        "identify": ["-r", "in"],
    }.items():
        target = "hard.csv" if name == "check" else "hard.parquet"
        arguments = [name, *command, "-i", str(TRUTH), "ndcg@10", "-o", target, "--force"]
        assert "is not overwritten: the rows of" in run(*arguments, code=2).stderr
        assert Path("in/lists.parquet").read_bytes() == inputs


@pytest.mark.usefixtures("place")
def test_a_damaged_input_is_not_overwritten_by_what_check_finds() -> None:
    Path("lists.csv").write_text("no,columns\n1,2\n")
    arguments = ["-r", "lists.csv", "-i", str(TRUTH), "-o", "lists.csv", "--force"]
    assert "is not overwritten" in run("check", *arguments, code=2).stderr
    assert Path("lists.csv").read_text() == "no,columns\n1,2\n"


def test_an_input_is_not_overwritten_from_python(inputs: bytes) -> None:
    with (
        Evaluator("in/lists.parquet", TRUTH) as evaluator,
        pytest.raises(
            sm.UsageError, match=r"soft\.parquet is not overwritten: the rows of recommend"
        ),
    ):
        evaluator.write_parquet("soft.parquet", "ndcg@10", force=True)
    assert Path("in/lists.parquet").read_bytes() == inputs


@pytest.mark.usefixtures("place")
def test_a_record_that_is_read_is_not_overwritten() -> None:
    run("evaluate", *INPUT, "ndcg@10", "--record", "record.json", "-o", "out.csv")
    before = Path("record.json").read_bytes()
    again = ["--from-record", "record.json", "--trust-record", "--force"]
    for option in ("-o", "--record"):
        error = run("evaluate", *again, option, "record.json", code=2).stderr
        assert "record.json is not overwritten: the record is read from it" in error
        assert Path("record.json").read_bytes() == before


def test_a_record_and_a_result_need_files_of_their_own(place: Path) -> None:
    arguments = ["ndcg@10", "-o", "out.json", "--record", "./out.json"]
    assert "--record" in run("evaluate", *INPUT, *arguments, code=2).stderr
    assert os.listdir(place) == []


def test_a_file_written_meanwhile_is_left(place: Path) -> None:
    def write() -> None:
        with whole_file(place / "out.csv", force=False) as draft:
            draft.write_text("ours")
            (place / "out.csv").write_text("theirs")

    with pytest.raises(DataError, match="written by another process meanwhile"):
        write()
    assert os.listdir(place) == ["out.csv"]
    assert Path("out.csv").read_text() == "theirs"


# ---------------------------------------------------------------- standard streams

# a text that click prints, and one that is printed after a run; messages of both
SHORT, LONG = ["--help"], ["evaluate", *INPUT, "ndcg@10", "--no-check"]
WRONG, REFUSED = ["evaluate", "--nonsense"], ["evaluate", *INPUT, "nonsense"]


def shell(arguments: list[str], redirections: str) -> tuple[int, str, str]:
    """Run a command in a shell, with redirections; return its exit code, output and messages."""
    words = ["bash", "-c", f'set -o pipefail; "$@" {redirections}', "-"]
    result = subprocess.run(
        [*words, sys.executable, "-m", "sqlmetrics", *arguments],
        capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert "Traceback" not in result.stderr
    assert "Exception" not in result.stderr
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("arguments", "where", "unbuffered"),
    [
        (SHORT, ">&-", ""),
        (SHORT, "> /dev/full", ""),
        (SHORT, "> /dev/full", "1"),
        (LONG, ">&-", "1"),
        (LONG, "> /dev/full", ""),
    ],
)
def test_output_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], where: str, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    code, _, messages = shell(arguments, where)
    assert messages.startswith("sqlmetrics: error: the result cannot be written: ")
    assert (code, messages.count("\n")) == (1, 1)


@pytest.mark.parametrize("where", ["2>&-", "2> /dev/full"])
@pytest.mark.parametrize(("arguments", "expected"), [(SHORT, 0), (WRONG, 2), (REFUSED, 2)])
def test_messages_that_cannot_be_written(arguments: list[str], expected: int, where: str) -> None:
    code, output, _ = shell(arguments, where)
    assert code == expected
    assert bool(output) == (expected == 0)


def test_a_reader_that_is_gone() -> None:
    """As shells say of SIGPIPE, and without a word."""
    for arguments in (SHORT, LONG):
        reader, writer = os.pipe()
        os.close(reader)
        line = [sys.executable, "-m", "sqlmetrics", *arguments]
        done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, timeout=PATIENCE)
        os.close(writer)
        assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.usefixtures("place")
def test_streams_that_are_closed() -> None:
    code, output, messages = shell(["evaluate", "-r", "-", *INPUT[2:], "ndcg@10"], "<&-")
    assert (code, output) == (1, "")
    assert messages.startswith("sqlmetrics: error: stdin cannot be read: Bad file descriptor")
    # no file that the run opens gets the number of a stream
    code, _, _ = shell(["evaluate", *INPUT, "ndcg@10", "-o", "out.csv"], "<&- >&- 2>&-")
    assert code == 0
    assert Path("out.csv").read_text().startswith("metric,k,value")


def test_ids_of_bytes_are_written_as_duckdb_casts_them_to_text(place: Path) -> None:
    ids = [bytes(range(256)), b"ab"]
    tables = pa.table({"user_id": pa.array(ids, pa.binary()), "item_id": [1, 2], "rank": [1, 1]})
    pq.write_table(tables, place / "blobs.parquet")
    texts = [duckdb.execute("SELECT CAST($1 AS VARCHAR)", [one]).fetchall()[0][0] for one in ids]
    assert texts[1] == "ab"
    given = ["recall@1", "-r", place / "blobs.parquet", "-i", place / "blobs.parquet"]
    for suffix in ("csv", "jsonl"):
        file = place / f"values.{suffix}"
        run("per-user", *given, "--no-check", "-o", file)
        relation = duckdb.read_csv(str(file)) if suffix == "csv" else duckdb.read_json(str(file))
        assert sorted(relation.project("user_id").fetchall()) == sorted((text,) for text in texts)
