"""Files and folders: globs, partitioned folders, awkward names."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pytest

import sqlmetrics as sm
from tests.support.command_line import run
from tests.support.evaluators import Evaluator
from tests.support.source_rows import (
    CHECKED,
    LISTS,
    METRIC,
    both,
    check,
    lists_table,
    truth_table,
    upside_down,
    values,
    write_csv,
    write_parquet,
)


def test_parquet(tmp_path: Path) -> None:
    folder = tmp_path / "lists of today"
    folder.mkdir()
    table = lists_table()
    one = write_parquet(tmp_path / "all.parquet", table)
    first = write_parquet(folder / "part-1.parquet", table.slice(0, 4))
    second = write_parquet(folder / "part-2.parquet", table.slice(4))
    (folder / "_SUCCESS").touch()
    (folder / ".part-1.parquet.crc").write_bytes(b"crc")
    sources: list[Any] = [
        str(one),
        one,
        [str(first), str(second)],
        (first, second),
        str(folder / "part-*.parquet"),
        [str(folder / "part-1*"), str(folder / "part-2*")],
        folder,
        str(tmp_path / "**" / "part*.parquet"),
    ]
    for source in sources:
        check(values(source))


def test_a_path_relative_to_the_current_folder(here: Path) -> None:
    write_parquet(here / "all.parquet", lists_table())
    check(values("all.parquet"))
    check(values("./all.parquet"))


def test_awkward_names_of_files(tmp_path: Path) -> None:
    names = ["it's.parquet", 'a"b.parquet', "ü 1;--.parquet", "a=b.parquet", "a[1].parquet"]
    for name in [*names, "{x}.pq", "ALL.PARQUET"]:
        check(values(str(write_parquet(tmp_path / name, lists_table()))))


def test_a_partitioned_folder_keeps_its_partition_column(tmp_path: Path) -> None:
    for model in ("als", "popular"):
        folder = tmp_path / f"model={model}"
        folder.mkdir()
        write_parquet(folder / "part.parquet", lists_table())
    found = values(tmp_path, keys=("model", "user_id"))
    check({user: value for (model, user), value in found.items() if model == "als"})
    check({user: value for (model, user), value in found.items() if model == "popular"})


Write = Callable[[str, pa.Table], str]
GRADED = pa.table({"user_id": [1, 1, 2], "item_id": [14, 11, 12], "relevance": [1, 3, 2]})


def dcg(interactions: Any) -> float:
    with Evaluator(lists_table(), interactions, trust_input=True) as evaluator:
        return float(evaluator.evaluate("dcg(gain=linear)@3")["value"].item())


def test_the_name_of_a_folder_replaces_no_column(write: Write) -> None:
    first = write("parts/relevance=9/part", GRADED.slice(0, 2))
    second = write("parts/relevance=8/part", GRADED.slice(2))
    whole = write("whole/relevance=9/part", GRADED)
    told = (
        r"interactions: the column relevance of \w+/relevance=(8|9)/part\.\w+ has values that "
        r"differ from its folder name, e\.g\. \d in the folder relevance=(8|9)\. The column of "
        r"the file is used"
    )
    for source in (whole, "parts/*/part.*", "parts", [first, second]):
        with pytest.warns(sm.SqlmetricsWarning, match=told) as warned:
            found = dcg(source)
        assert len(warned) == 1
        assert found == dcg(GRADED)


def test_folders_tell_of_columns_that_files_lack(write: Write) -> None:
    """Also beside folders that tell of columns that they have, in another case of letters."""
    write("parts/relevance=2/part", GRADED.drop_columns("relevance").slice(0, 1))
    write("parts/relevance=3/part", GRADED.drop_columns("relevance").slice(1))
    write("others/User_Id=7/relevance=2/part", GRADED.drop_columns("relevance").slice(0, 1))
    write("others/User_Id=8/relevance=3/part", GRADED.drop_columns("relevance").slice(1))
    expected = dcg(GRADED.set_column(2, "relevance", pa.array([2, 3, 3])))
    assert dcg("parts") == expected
    with pytest.warns(sm.SqlmetricsWarning, match=r"others/User_Id=7/.* in the folder User_Id=7"):
        assert dcg("others") == expected


@pytest.mark.usefixtures("here")
def test_the_order_of_rows_with_columns_of_files_and_of_folders() -> None:
    for write, name in ((write_parquet, "a.parquet"), (write_csv, "a.csv")):
        folder = Path(name[2:], "model=als", "item_id=1")
        folder.mkdir(parents=True)
        write(folder / name, lists_table("row"))
        with pytest.warns(sm.SqlmetricsWarning, match="column item_id"):
            found = values(
                Path(name[2:]), keys=("model", "user_id"), settings={"order": "row", "ties": "row"}
            )
        check({user: value for (_, user), value in found.items()})


def test_folders_that_repeat_a_column_of_the_files_are_no_news(write: Write) -> None:
    """As polars and DuckDB write partitions, if asked: no warning, which would be an error here."""
    for user in LISTS:
        table = lists_table()
        write(f"parts/user_id={user}/part", table.filter(pa.compute.field("user_id") == user))
    check(values("parts"))


def test_files_of_which_some_lack_what_folders_tell(write: Write) -> None:
    first = write("parts/relevance=2/a", GRADED.slice(0, 1).drop_columns("relevance"))
    second = write("parts/relevance=3/b", GRADED.slice(1))
    told = rf"{second} has (the|a) column.*, but {first} (does not|only has)"
    with pytest.raises(sm.DataError, match=told):
        Evaluator(lists_table(), [second, first])


def test_a_folder_without_the_column_among_those_with_it(write: Write) -> None:
    """What is in no such folder has no value, so the column is none."""
    first = write("parts/relevance=2/a", GRADED.slice(0, 2).drop_columns("relevance"))
    second = write("b", GRADED.slice(2).drop_columns("relevance"))
    with Evaluator(lists_table(), [first, second]) as evaluator:
        assert "relevance" not in evaluator.tables["interactions"].columns


def test_a_url_with_wildcards_reads_folders_by_the_same_rule(write: Write) -> None:
    file = Path(write("parts/relevance=9/part", GRADED)).absolute()
    url = file.as_uri().replace("relevance%3D9", "*").replace("relevance=9", "*")
    with pytest.warns(sm.SqlmetricsWarning, match="column relevance"):
        assert dcg(url) == dcg(GRADED)


@pytest.mark.usefixtures("here")
def test_columns_of_folders_are_noted() -> None:
    Path("parts/model=als").mkdir(parents=True)
    write_parquet(Path("parts/model=als/a.parquet"), lists_table())
    write_parquet(Path("truth.parquet"), truth_table())
    result = run("evaluate", METRIC, "-r", "parts", "-i", "truth.parquet")
    assert result.stderr == (
        "sqlmetrics: recommendations: the column model of parts/model=als/a.parquet is read from "
        "the names of folders (model=…/), because the files do not have this column\n"
    )


def test_a_link_to_no_file_is_told(tmp_path: Path) -> None:
    """Also a link to itself; before, the message suggested the name of the link."""
    link = tmp_path / "link.parquet"
    for target in ("missing.parquet", "link.parquet"):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        told = f"recommendations: {link} is a symbolic link to {target}, which cannot be found"
        for source in (str(link), [link], str(tmp_path), str(tmp_path / "*.parquet")):
            with pytest.raises(sm.DataError, match=re.escape(told)):
                Evaluator(source, truth_table())


@pytest.mark.usefixtures("here")
def test_columns_of_folders_that_slices_and_conditions_read_are_noted() -> None:
    Path("users/country=FR").mkdir(parents=True)
    users = pa.table({"user_id": list(LISTS), "tier": ["new"] * len(LISTS)})
    write_parquet(Path("users/country=FR/a.parquet"), users)
    write_parquet(Path("lists.parquet"), lists_table())
    write_parquet(Path("truth.parquet"), truth_table())
    tables = ["-r", "lists.parquet", "-i", "truth.parquet", "--users", "users", "--no-check"]
    for more, n_notes in (
        (["--by", "country"], 1),
        (["--by", "users.COUNTRY"], 1),
        (["--where", "users=country = 'FR'", "--by", "tier"], 1),
        (["--where", "users=country = 'FR'", "--by", "country"], 1),
        ([], 0),
    ):
        result = run("evaluate", METRIC, *tables, *more)
        assert result.stderr.count("is read from the names of folders (country=…/)") == n_notes
        assert result.stderr.count("\n") == n_notes


# name of a file -> one that it would match as a glob, or that is the home folder's
PATTERNS = {
    "part[1]": "part1",
    "[!p]": "q",
    "a*": "ab",
    "a?": "ab",
    "**/a": "b/a",
    "day[1]/a": "day1/a",
    "~": "home",
    "~/a": "home/a",
    "~a/b": "c",
    "back\\slash": "back",
    "file:a": "a",
    "[": "a",
    "a[1]/ü*/[[]": "a1/üb/[",
}


@pytest.mark.skipif(os.name == "nt", reason="these are no names of files there")
@pytest.mark.parametrize("write", ["parquet"], indirect=True)
@pytest.mark.parametrize("name", PATTERNS)
def test_a_path_that_exists_is_no_pattern(
    write: Write, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(Path("home").absolute()))
    path, other = write(name, lists_table()), write(PATTERNS[name], upside_down())
    check(values(path, **CHECKED))
    both(values({"a": path, "b": other}, keys=("model", "user_id")))
    if (folder := Path(path).parent) != Path():
        check(values(folder))


def test_the_folders_of_a_glob_that_exist_are_no_patterns(write: Write) -> None:
    write("day[1]/a", lists_table())
    write("day1/a", upside_down())
    check(values("day[1]/*"))
    check(values("./day[1]/a.*"))
    assert values("day?/*")[1] == 1


@pytest.mark.usefixtures("here")
def test_statements_and_records_of_paths_that_look_like_patterns() -> None:
    write_parquet(Path("part[1].parquet"), lists_table())
    write_parquet(Path("part1.parquet"), upside_down())
    write_parquet(Path("truth.parquet"), truth_table())
    tables = ["-r", "part[1].parquet", "-i", "truth.parquet", "--no-check"]
    (row,) = duckdb.sql(run("sql", METRIC, *tables[:4]).stdout).fetchall()
    assert row[2] == pytest.approx(1 / 3)
    run("evaluate", METRIC, *tables, "--record", "record.json")
    again = run("evaluate", "--from-record", "record.json", "--trust-record")
    assert "the same as in record.json" in again.stderr
    result = run(
        "evaluate", METRIC, *tables, "--temp-directory", "temporary[1]", "--format", "json"
    )
    assert json.loads(result.stdout)[0]["value"] == pytest.approx(1 / 3)


@pytest.mark.skipif(os.name == "nt", reason="this is no name of a file there")
@pytest.mark.parametrize("write", ["parquet"], indirect=True)
def test_a_name_that_the_engine_cannot_read_is_refused(write: Write) -> None:
    path = write("a\\[1]", lists_table())
    with pytest.raises(sm.DataError, match="both a backslash and one of"):
        Evaluator(path, truth_table())


def test_a_file_that_is_given_twice_is_refused(write: Write) -> None:
    path = write("a", lists_table())
    os.symlink(path, f"b{path[1:]}")
    for source, spelled in (
        ([path, path], ""),
        ([path, f"./{path}"], f", as {path} and as ./{path}"),
        ([Path(path), Path(path).absolute()], f", as {path} and as "),
        ("*", f", as {path} and as b{path[1:]}"),
        (".", f", as {path} and as b{path[1:]}"),
    ):
        with pytest.raises(sm.DataError, match=f"is given twice{spelled}") as caught:
            Evaluator(source, truth_table())
        assert "Give the file once" in str(caught.value)
    both_same = values({"a": path, "b": f"./{path}"}, keys=("model", "user_id"))
    check({user: value for (model, user), value in both_same.items() if model == "b"})


def test_a_name_that_is_too_long_is_told(tmp_path: Path) -> None:
    truth = write_parquet(tmp_path / "truth.parquet", truth_table())
    for source in ("x" * 5000, "x*" * 3000, "m=" + "x" * 5000, "[{" + "x/" * 3000):
        result = run("evaluate", METRIC, "-r", source, "-i", truth, code=1)
        assert result.stderr.startswith("sqlmetrics: error: recommendations")
        assert "File name too long" in result.stderr
        assert len(result.stderr) < 200


def test_a_file_can_be_written_again_after_close(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", lists_table())
    check(values(path))
    os.replace(write_parquet(tmp_path / "b.parquet", upside_down()), path)
    assert values(path)[1] == pytest.approx(1)


@pytest.mark.parametrize(
    "text",
    [
        "{{ x }},item_id\n1,2\n",
        "[x],item_id\n1,2\n",
        '{"[x]": 1, "item_id": 2}\n',
        '[\n  {\n    "[x]": 1, "item_id": 2\n  }\n]\n',
    ],
)
def test_the_format_of_a_file_without_a_suffix(tmp_path: Path, text: str) -> None:
    """A name of a column may begin with a bracket, as JSON does."""
    (tmp_path / "truth").write_text(text)
    name = "{{ x }}" if "{{ x }}" in text else "[x]"
    columns = {"interactions.user_id": name}
    with Evaluator({1: [2]}, tmp_path / "truth", columns=columns) as evaluator:
        assert evaluator.evaluate("recall@1")["value"].tolist() == [1]


def test_hidden_files_are_not_read(tmp_path: Path) -> None:
    """As Spark reads folders: nothing below `_old/` or `.old/`, but what is below `_day=1/`."""
    table = lists_table()
    folder = tmp_path / "lists"
    for name in ("_day=1", "_old", ".old"):
        (folder / name).mkdir(parents=True)
        write_parquet(folder / name / "part.parquet", table)
    (folder / "_old" / "_SUCCESS").touch()
    for source in (folder, str(folder / "*" / "*.parquet"), [folder]):
        with pytest.warns(sm.SqlmetricsWarning, match=r"old/part\.parquet.* not read, because"):
            check(values(source))
    check(values(str(folder / "_old" / "*.parquet")))
    check(values(folder / "_old"))


@pytest.mark.parametrize("name", ["_temporary", ".spark-staging-1f3", ".hive-staging_hive_2026"])
def test_files_that_a_job_is_writing_are_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "lists"
    (folder / "day=1" / name).mkdir(parents=True)
    write_parquet(folder / "day=1" / "part.parquet", lists_table())
    patterns = [folder, str(folder / "**" / "*.parquet"), str(tmp_path / "*" / "day=1" / "*")]
    for source in [*patterns, [folder]]:
        with pytest.raises(sm.DataError, match=rf"is incomplete: .*day=1/{name} is the folder of"):
            values(source)
    check(values(folder / "day=1" / "part.parquet"))


def zipped(content: bytes) -> bytes:
    with io.BytesIO() as target:
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr("a.csv", content)
        return target.getvalue()


def feather(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    pa.feather.write_feather(pa.table({"text": [content]}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "written", "told"),
    [
        ("a.csv.bz2", bz2.compress, "is compressed with bzip2"),
        ("a.csv.xz", lzma.compress, "is compressed with xz"),
        ("a.csv.zip", zipped, "is a ZIP archive"),
        ("a.csv", zipped, "is a ZIP archive"),
        ("a.csv", gzip.compress, "is compressed with gzip, .* Add .gz to its name"),
        ("a.csv.gz", lambda text: gzip.compress(bz2.compress(text)), "is compressed with bzip2"),
        ("a.pkl", pickle.dumps, "is a pickle"),
        ("a.json", pickle.dumps, "is a pickle"),
        ("a.feather", feather, "is an Arrow"),
        ("a.csv", lambda text: text.decode().encode("utf-16"), "is encoded in UTF-16"),
        ("a.csv", lambda text: text.decode().encode("utf-16-le"), "is encoded in UTF-16"),
        ("a.run", lambda text: text.decode().encode("utf-16-be"), "is encoded in UTF-16"),
    ],
)
def test_files_of_other_formats_are_named(
    tmp_path: Path, name: str, written: Callable[[bytes], bytes], told: str
) -> None:
    (tmp_path / name).write_bytes(written(b"user_id,item_id,rank\n1,2,1\n"))
    with pytest.raises(sm.DataError, match=rf"{name} {told}") as caught:
        Evaluator(tmp_path / name, truth_table())
    assert "which cannot be read. " in str(caught.value)
    assert "double quotes" not in str(caught.value)


def test_names_of_columns_like_those_of_formats(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for name in ("ORCID", "BZh", "ARROW1"):
        path.write_text(f"{name},item_id\n1,2\n")
        with Evaluator({1: [2]}, path, columns={"interactions.user_id": name}) as evaluator:
            assert evaluator.rows("mrr")["value"] == [1]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("text", "delimiter"), [("1::2::5::978300760", "::"), ("1 2 5", " ")])
def test_a_text_of_an_unknown_format_is_shown(text: str, delimiter: str) -> None:
    """The query that the message gives reads it."""
    Path("ratings.dat").write_text(f"{text}\n{text}\n".replace("2", "3", 1))
    with pytest.raises(
        sm.DataError, match=r"cannot tell the format of ratings\.dat, whose"
    ) as told:
        Evaluator(truth_table(), "ratings.dat")
    query = str(told.value).partition("in a query: ")[2].replace("…", "'item_id'")
    assert f"delim = '{delimiter}'" in query
    with Evaluator({1: [2]}, query) as evaluator:
        assert evaluator.per_user("recall")["recall"].tolist() == [1 / 2]
