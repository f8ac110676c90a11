"""Every kind of source gives the same values for every user."""

from __future__ import annotations

import csv
import decimal
import gzip
import io
import itertools
import json
import os
import uuid
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main

Values = dict[Any, float]
Rows = list[tuple[Any, Any, int]]

METRIC = "mrr@3"
# No list is in the order of its items, so that an order lost on the way changes the values.
LISTS = {1: [14, 11, 12], 2: [12, 14], 3: [13, 11, 15, 12], 4: [15]}
TRUTH = {1: [12], 2: [11, 13], 3: [12, 13], 5: [11]}
EXPECTED: Values = {1: 1 / 3, 2: 0, 3: 1, 5: 0}


def ranked(convert: Callable[[int], Any] = int) -> Rows:
    return [
        (convert(user), convert(item), rank)
        for user, items in LISTS.items()
        for rank, item in enumerate(items, start=1)
    ]


def relevant(convert: Callable[[int], Any] = int) -> list[tuple[Any, Any]]:
    return [(convert(user), convert(item)) for user, items in TRUTH.items() for item in items]


def columns_of(rows: Rows, order: str) -> dict[str, list[Any]]:
    """Return the columns of the lists, with `order` (rank, score or row) telling the order."""
    columns = {"user_id": [row[0] for row in rows], "item_id": [row[1] for row in rows]}
    if order == "rank":
        columns["rank"] = [row[2] for row in rows]
    elif order == "score":
        columns["score"] = [10.0 - row[2] for row in rows]
    return columns


def lists_table(order: str = "rank", convert: Callable[[int], Any] = int) -> pa.Table:
    return pa.table(columns_of(ranked(convert), order))


def truth_table(convert: Callable[[int], Any] = int) -> pa.Table:
    rows = relevant(convert)
    return pa.table({"user_id": [row[0] for row in rows], "item_id": [row[1] for row in rows]})


def values(
    recommendations: Any,
    interactions: Any = None,
    keys: tuple[str, ...] = ("user_id",),
    **options: Any,
) -> Values:
    """Evaluate and return {user: value of METRIC}, the user by the columns `keys`.

    Rows are checked only where a test asks for it: it takes half of the time.
    """
    options = {"trust_input": True, **options}
    if interactions is None:
        interactions = truth_table()
    with sm.Evaluator(recommendations, interactions, **options) as evaluator:
        frame = evaluator.per_user(METRIC)
    assert list(frame.columns)[-1] == "mrr"
    assert (frame["k"] == 3).all()
    users = [tuple(row) for row in frame[list(keys)].itertuples(index=False, name=None)]
    assert len(set(users)) == len(users)
    return {
        user[0] if len(keys) == 1 else user: float(value)
        for user, value in zip(users, frame["mrr"], strict=True)
    }


CHECKED = {"trust_input": False}


def check(actual: Values, convert: Callable[[int], Any] = int) -> None:
    expected = {convert(user): value for user, value in EXPECTED.items()}
    assert set(actual) == set(expected)
    assert actual == pytest.approx(expected, abs=1e-12)


def write_csv(path: Path, table: pa.Table, delimiter: str = ",") -> Path:
    rows = [table.column_names, *zip(*table.to_pydict().values(), strict=True)]
    text = "".join(delimiter.join(map(str, row)) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def write_jsonl(path: Path, table: pa.Table) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    path.write_text(text, encoding="utf-8")
    return path


def write_parquet(path: Path, table: pa.Table, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


@pytest.fixture
def order() -> str:
    """The column that orders the lists, where a test does not use the rank."""
    return "score"


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("kind", ["text", "path", "list", "paths", "glob", "folder", "nested"])
def test_parquet(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "lists of today"
    folder.mkdir()
    table = lists_table()
    one = write_parquet(tmp_path / "all.parquet", table)
    first = write_parquet(folder / "part-1.parquet", table.slice(0, 4))
    second = write_parquet(folder / "part-2.parquet", table.slice(4))
    (folder / "_SUCCESS").touch()
    (folder / ".part-1.parquet.crc").write_bytes(b"crc")
    sources: dict[str, Any] = {
        "text": str(one),
        "path": one,
        "list": [str(first), str(second)],
        "paths": (first, second),
        "glob": str(folder / "part-*.parquet"),
        "folder": folder,
        "nested": str(tmp_path / "**" / "part*.parquet"),
    }
    check(values(sources[kind]))


def test_a_list_of_globs(tmp_path: Path) -> None:
    table = lists_table()
    write_parquet(tmp_path / "a-1.parquet", table.slice(0, 4))
    write_parquet(tmp_path / "b-1.parquet", table.slice(4))
    check(values([str(tmp_path / "a-*.parquet"), str(tmp_path / "b-*.parquet")]))


def test_a_path_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(tmp_path / "all.parquet", lists_table())
    monkeypatch.chdir(tmp_path)
    check(values("all.parquet"))
    check(values("./all.parquet"))


@pytest.mark.parametrize(
    "name",
    ["it's.parquet", 'a"b.parquet', "ü 1;--.parquet", "a=b.parquet", "a[1].parquet", "{x}.pq"],
)
def test_awkward_names_of_files(tmp_path: Path, name: str) -> None:
    check(values(str(write_parquet(tmp_path / name, lists_table()))))


def test_a_name_in_capitals(tmp_path: Path) -> None:
    check(values(write_parquet(tmp_path / "ALL.PARQUET", lists_table())))


def test_a_partitioned_folder_keeps_its_partition_column(tmp_path: Path) -> None:
    for model in ("als", "popular"):
        folder = tmp_path / f"model={model}"
        folder.mkdir()
        write_parquet(folder / "part.parquet", lists_table())
    found = values(tmp_path, keys=("model", "user_id"))
    check({user: value for (model, user), value in found.items() if model == "als"})
    check({user: value for (model, user), value in found.items() if model == "popular"})


WRITERS: dict[str, Callable[[Path, pa.Table], Path]] = {
    "parquet": write_parquet,
    "csv": write_csv,
    "jsonl": write_jsonl,
}


@pytest.fixture(params=WRITERS)
def write(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, pa.Table], str]:
    """Write a file of each format in turn, without its ending, into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, table: pa.Table) -> str:
        path = Path(f"{name}.{request.param}")
        path.parent.mkdir(parents=True, exist_ok=True)
        WRITERS[request.param](path.absolute(), table)  # others take ~ for the home folder
        return str(path)

    return write_file


Write = Callable[[str, pa.Table], str]
GRADED = pa.table({"user_id": [1, 1, 2], "item_id": [14, 11, 12], "relevance": [1, 3, 2]})


def dcg(interactions: Any) -> float:
    with sm.Evaluator(lists_table(), interactions, trust_input=True) as evaluator:
        return float(evaluator.evaluate("dcg(gain=linear)@3")["value"].item())


@pytest.mark.parametrize("kind", ["file", "glob", "folder", "list"])
def test_the_name_of_a_folder_replaces_no_column(write: Write, kind: str) -> None:
    files = [
        write(f"parts/relevance={9 - number}/part", GRADED.slice(number * 2, 2))
        for number in range(2)
    ]
    if kind == "file":
        files = [write("parts/relevance=9/part", GRADED)]
    source: Any = {
        "file": files[0],
        "glob": "parts/*/part.*",
        "folder": "parts",
        "list": files,
    }[kind]
    told = (
        r"interactions: parts/relevance=(8|9)/part\.\w+ has a column relevance with other values "
        r"than the name of its folder, e\.g\. \d in the folder relevance=(8|9)\. The column of "
        r"the file is read"
    )
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


def test_the_order_of_rows_with_columns_of_files_and_of_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
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
    told = rf"{second} has (it|a column relevance), {first} has (not|none)"
    with pytest.raises(sm.DataError, match=told):
        sm.Evaluator(lists_table(), [second, first])


def test_a_folder_without_the_column_among_those_with_it(write: Write) -> None:
    """What is in no such folder has no value, so the column is none."""
    first = write("parts/relevance=2/a", GRADED.slice(0, 2).drop_columns("relevance"))
    second = write("b", GRADED.slice(2).drop_columns("relevance"))
    with sm.Evaluator(lists_table(), [first, second]) as evaluator:
        assert "relevance" not in evaluator.tables["interactions"].columns


def test_a_url_with_wildcards_reads_folders_by_the_same_rule(write: Write) -> None:
    file = Path(write("parts/relevance=9/part", GRADED)).absolute()
    url = file.as_uri().replace("relevance%3D9", "*").replace("relevance=9", "*")
    with pytest.warns(sm.SqlmetricsWarning, match="column relevance"):
        assert dcg(url) == dcg(GRADED)


def test_words_of_trec_files_are_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "line=9"
    folder.mkdir()
    (folder / "run").write_text(trec_run(ranked()))
    (folder / "qrels").write_text(trec_qrels(relevant()))
    check(values(folder / "run", folder / "qrels"), str)


def test_columns_of_folders_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts/model=als").mkdir(parents=True)
    write_parquet(Path("parts/model=als/a.parquet"), lists_table())
    write_parquet(Path("truth.parquet"), truth_table())
    result = CliRunner().invoke(main, ["evaluate", METRIC, "-r", "parts", "-i", "truth.parquet"])
    assert result.exit_code == 0
    assert result.stderr == (
        "sqlmetrics: recommendations: the column model of parts/model=als/a.parquet is read from "
        "the names of folders (model=…/), since the files have none\n"
    )


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
@pytest.mark.parametrize("name", PATTERNS)
def test_a_path_that_exists_is_no_pattern(
    write: Write, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(Path("home").absolute()))
    path, other = write(name, lists_table()), write(PATTERNS[name], upside_down())
    check(values(path, **CHECKED))
    check(values([path]))
    check(values(Path(path).absolute(), partitions=2))
    both(values({"a": path, "b": other}, keys=("model", "user_id")))
    if (folder := Path(path).parent) != Path():
        check(values(folder))


def test_the_folders_of_a_glob_that_exist_are_no_patterns(write: Write) -> None:
    write("day[1]/a", lists_table())
    write("day1/a", upside_down())
    check(values("day[1]/*"))
    check(values("./day[1]/a.*"))
    assert values("day?/*")[1] == 1


def test_a_printed_statement_reads_a_path_that_looks_like_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_parquet(Path("part[1].parquet"), lists_table())
    write_parquet(Path("part1.parquet"), upside_down())
    write_parquet(Path("truth.parquet"), truth_table())
    tables = ["-r", "part[1].parquet", "-i", "truth.parquet"]
    result = CliRunner().invoke(main, ["sql", METRIC, *tables])
    assert result.exit_code == 0, result.stderr
    (row,) = duckdb.sql(result.stdout).fetchall()
    assert row[2] == pytest.approx(1 / 3)
    again = ["--from-record", "record.json", "--trust-record"]
    for options in (["--record", "record.json"], again):
        given = tables if "--record" in options else []
        result = CliRunner().invoke(main, ["evaluate", METRIC, *given, *options])
        assert result.exit_code == 0, result.stderr
    assert "the same as in record.json" in result.stderr


def test_parts_of_files_and_in_folders_that_look_like_patterns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_parquet(Path("part[1].parquet"), lists_table())
    write_parquet(Path("part1.parquet"), upside_down())
    write_parquet(Path("truth.parquet"), truth_table())
    tables = ["-r", "part[1].parquet", "-i", "truth.parquet"]
    for part in ("1/2", "2/2"):
        arguments = ["evaluate", METRIC, *tables, "--partition", part, "-o", "parts[1]"]
        assert CliRunner().invoke(main, arguments).exit_code == 0
    with_folder = ["--temp-directory", "temporary[1]", "--partitions", "2"]
    for arguments in (["reduce", "parts[1]"], ["evaluate", METRIC, *tables, *with_folder]):
        result = CliRunner().invoke(main, [*arguments, "--format", "json"])
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)[0]["value"] == pytest.approx(1 / 3)


@pytest.mark.skipif(os.name == "nt", reason="this is no name of a file there")
def test_a_name_that_the_engine_cannot_read_is_refused(write: Write) -> None:
    path = write("a\\[1]", lists_table())
    with pytest.raises(sm.DataError, match="both a backslash and one of"):
        sm.Evaluator(path, truth_table())


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
            sm.Evaluator(source, truth_table())
        assert "Give it once" in str(caught.value)
    both_same = values({"a": path, "b": f"./{path}"}, keys=("model", "user_id"))
    check({user: value for (model, user), value in both_same.items() if model == "b"})


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.gz", "A.CSV"])
def test_csv(tmp_path: Path, name: str, order: str) -> None:
    delimiter = "\t" if ".tsv" in name else ","
    lists = write_csv(tmp_path / name, lists_table(order), delimiter)
    truth = write_csv(tmp_path / f"truth{name}", truth_table(), delimiter)
    check(values(lists, truth))


def test_csv_with_semicolons_windows_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", lists_table(), ";")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    check(values(path))


def test_csv_with_text_and_quotes(tmp_path: Path) -> None:
    table = lists_table("rank", lambda n: f'"a ""{n}"", b"')
    truth = truth_table(lambda n: f'"a ""{n}"", b"')
    found = values(write_csv(tmp_path / "a.csv", table), write_csv(tmp_path / "b.csv", truth))
    check(found, lambda n: f'a "{n}", b')


@pytest.mark.parametrize("item", ["007", "+7", "0x7", "7.0"])
def test_csv_ids_that_are_numbers_stay_what_they_are(tmp_path: Path, item: str) -> None:
    (tmp_path / "a.csv").write_text(f"user_id,item_id,rank\n1, 7,1\n1,{item},2\n")
    with sm.Evaluator(tmp_path / "a.csv", {1: [item]}) as evaluator:
        assert evaluator.per_user("mrr")["mrr"].tolist() == [0.5]


def test_csv_ids_of_the_users_of_aspects_stay_what_they_are(tmp_path: Path) -> None:
    """The table may lack users; where it has them, they are read as in the other tables."""
    (tmp_path / "lists.csv").write_text("user_id,item_id,rank\n007,a,1\n")
    (tmp_path / "truth.csv").write_text("user_id,item_id\n007,a\n")
    (tmp_path / "aspects.csv").write_text("user_id,item_id,aspect\n007,a,x\n")
    paths = {name: tmp_path / f"{name}.csv" for name in ("lists", "truth", "aspects")}
    with sm.Evaluator(paths["lists"], paths["truth"], aspects=paths["aspects"]) as evaluator:
        assert evaluator.per_user("alpha_ndcg")["alpha_ndcg"].tolist() == [1.0]


@pytest.mark.parametrize("several", [False, True])
def test_apostrophes_are_a_part_of_ids(tmp_path: Path, several: bool) -> None:
    """The engine takes them for quotes where every id that starts with one ends with one."""
    (tmp_path / "a.csv").write_text(HEADER + "u1,'a',1\nu1,a,2\nu1,'',3\n")
    if several:
        (tmp_path / "b.csv").write_text(HEADER + "u2,b,1\n")
    with sm.Evaluator(tmp_path, {"u1": ["a"]}) as evaluator:
        assert evaluator.per_user("mrr")["mrr"].tolist() == [0.5]


@pytest.mark.parametrize("name", ["file_row_number", "File_Index", "sqlmetrics_row"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_columns_that_hide_the_number_of_a_row(tmp_path: Path, name: str, kind: str) -> None:
    """The order of rows was taken from them, where it gives the ranking."""
    lists = pa.table({"user_id": [1, 1], "item_id": [5, 6], name: [2, 1]})
    path = tmp_path / f"a.{kind}"
    (write_parquet if kind == "parquet" else write_csv)(path, lists)
    with sm.Evaluator(path, {1: [6]}, settings={"order": "row"}) as evaluator:
        if kind == "csv" and name != "sqlmetrics_row":
            assert evaluator.per_user("mrr")["mrr"].tolist() == [0.5]
        else:
            with pytest.raises(sm.DataError, match=f"column {name}, which hides .* rename it"):
                evaluator.per_user("mrr")


def test_csv_ids_keep_their_leading_zeros(tmp_path: Path) -> None:
    """Quoted or not, 007 and 7 are read by the same rule on both sides, and never matched."""
    lists = tmp_path / "a.csv"
    lists.write_text("user_id,item_id,rank\nu1,007,1\nu1,x,2\n")
    truth = tmp_path / "b.csv"
    truth.write_text("user_id,item_id\nu1,7\nu1,y\n")
    assert values(lists, truth) == {"u1": 0}


def test_several_csv_files(tmp_path: Path) -> None:
    table = lists_table()
    write_csv(tmp_path / "a1.csv", table.slice(0, 4))
    write_csv(tmp_path / "a2.csv", table.slice(4))
    check(values(str(tmp_path / "a*.csv")))


@pytest.mark.parametrize("quoted", ['"""i1"""', '"i""1"', '"i1"', '"i,1"'])
def test_quotes_of_a_later_csv_file(tmp_path: Path, quoted: str) -> None:
    """The engine looks for quotes in the first file, and read those of the others as values."""
    (tmp_path / "a.csv").write_text(HEADER + "u1,i0,1\nu1,i2,2\n")
    (tmp_path / "b.csv").write_text(HEADER + f"u2,{quoted},1\nu2,i2,2\n")
    truth = {"u2": [quoted[1:-1].replace('""', '"')]}
    with sm.Evaluator(str(tmp_path / "*.csv"), truth) as evaluator:
        assert evaluator.per_user("recall")["recall"].tolist() == [1.0]


def test_ids_of_csv_files_that_are_numbers_in_one_of_them(tmp_path: Path) -> None:
    """Ids are read as in one file: as they stand, unless all of them are whole numbers."""
    (tmp_path / "a.csv").write_text(HEADER + "1,10,1\n1,011,2\n")
    for others in ("2,x,1\n2,10,2\n", "2,2020-01-02,1\n2,10,2\n", "2,1.5,1\n2,10,2\n"):
        (tmp_path / "b.csv").write_text(HEADER + others)
        with sm.Evaluator(tmp_path, {1: ["10"], 2: ["10"]}) as evaluator:
            assert evaluator.per_user("mrr")["mrr"].tolist() == [1.0, 0.5]


def test_csv_files_with_their_columns_in_other_orders(tmp_path: Path) -> None:
    """The engine would take the types by place, and compare scores as texts."""
    lists = {user: [item + 100 for item in items] for user, items in LISTS.items()}
    rows = [
        (f"u{u}", f"i{i}", 12.5 - 3.25 * n) for u, its in lists.items() for n, i in enumerate(its)
    ]
    for name, order in (("a", "user_id,item_id,score"), ("b", "score,item_id,user_id")):
        part = [
            row if name == "a" else row[::-1] for row in rows if (row[0] < "u3") == (name == "a")
        ]
        text = "".join(",".join(map(str, row)) + "\n" for row in part)
        (tmp_path / f"{name}.csv").write_text(f"{order}\n{text}")
    truth = {f"u{user}": [f"i{item + 100}" for item in items] for user, items in TRUTH.items()}
    for source in (tmp_path, [tmp_path / "b.csv", tmp_path / "a.csv"]):
        check(values(source, truth), lambda n: f"u{n}")
        by_row = values(source, truth, settings={"order": "row", "ties": "row"})
        check(by_row, lambda n: f"u{n}")


def test_a_csv_file_without_a_column_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user_id,item_id,rank,note\n1,2,1,x\n")
    (tmp_path / "b.csv").write_text("user_id,item_id,rank\n2,2,1\n")
    told = (
        r"recommendations: .*a\.csv has a column note, .*b\.csv has none; it has user_id, item_id"
    )
    with pytest.raises(sm.DataError, match=told):
        sm.Evaluator(tmp_path, truth_table())


HEADER = "user_id,item_id,rank\n"


def packed(content: bytes) -> bytes:
    """Compress without the time, so that tests have the same names in every process."""
    return gzip.compress(content, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv.gz", packed(HEADER.encode()), "is empty: it has the names of columns"),
        ("a.csv.gz", packed(b""), "is empty$"),
        ("a.jsonl.gz", packed(b"\n"), "is empty$"),
        ("a.csv.gz", packed(HEADER.encode())[:-9], "is damaged or not whole"),
        ("a.csv.gz", HEADER.encode(), "is damaged or not whole: Not a gzipped file"),
        ("a.csv.zst", pa.compress(HEADER.encode(), "zstd", asbytes=True), "names of columns"),
        ("a.csv.zst", pa.compress(HEADER.encode(), "zstd", asbytes=True)[:-1], "not whole"),
        ("a.csv.zst", HEADER.encode(), "is damaged or not whole"),
    ],
    ids=[
        "gzip: only names", "gzip: nothing", "gzip: a blank line", "gzip: torn", "gzip: not packed",
        "zstd: only names", "zstd: torn", "zstd: not packed",
    ],
)  # fmt: skip
def test_packed_files_without_rows_or_torn(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(sm.DataError, match=told):
        sm.Evaluator(tmp_path / name, truth_table())


def test_a_packed_file_that_is_torn_near_its_end(tmp_path: Path) -> None:
    text = HEADER + "".join(f"{n},{n * 7919 % 100_003},1\n" for n in range(50_000))
    packed = pa.compress(text.encode(), "zstd", asbytes=True)
    path = tmp_path / "a.csv.zst"
    path.write_bytes(packed)
    with sm.Evaluator(path, truth_table()) as evaluator:
        assert evaluator.per_user("recall")["user_id"].tolist() == list(TRUTH)
    path.write_bytes(packed[:-5])
    with pytest.raises(sm.DataError, match="damaged or not whole: Truncated"):
        sm.Evaluator(path, truth_table())


UNCLOSED = (
    r"recommendations: \S+/a\.csv has an unclosed quote in or after line {}\. Close the quote; in "
    r"values that contain quotes, double them and enclose the value in quotes$"
)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('u1,"i1,1\nu1,i2,2\n', UNCLOSED.format(2)),
        ('u1,i1,1\nu1,i2,2\n"u2,i1,1\n', UNCLOSED.format(4)),
        ('u1,"i1",1\nu1,"i2,2\n', UNCLOSED.format(3)),
        ("u1,i1,1\nu1,i\0,2\n", "column item_id: .*NUL byte"),
        ("u1,i1,1\n\0u1,i2,1\n", "column user_id: .*NUL byte"),
    ],
)
@pytest.mark.every_case
def test_no_id_is_made_by_a_broken_line(tmp_path: Path, lines: str, told: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(HEADER + lines)
    with pytest.raises(sm.DataError, match=told):
        sm.Evaluator(path, {"u1": ["i1"]})


def test_an_unclosed_quote_far_down_a_long_file(tmp_path: Path) -> None:
    """There, the engine finds single quotes, which the file lacks, and reads the others as text."""
    rows = [f'{n},"i{n % 20}",1' if n % 10 == 3 else f"{n},i{n % 20},1" for n in range(60_000)]
    rows[50_003] = rows[50_003].replace('",', ",")
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n")
    with pytest.raises(sm.DataError, match=UNCLOSED.format(50_005)):
        sm.Evaluator(path, pd.DataFrame({"user_id": [1], "item_id": ["i1"]}))


def test_an_id_of_several_lines_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(HEADER + 'u1,"i1,1\nu1,i2",2\nu2,i3,1\n')
    with pytest.warns(sm.SqlmetricsWarning, match="column item_id: .* has an id of several lines"):
        sm.Evaluator(path, {"u1": ["i1"]}).close()


def test_quotes_that_belong_to_ids_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(HEADER + 'u1,"""i1""",1\nu1,"i,2",2\nu1,i"3,3\n')
    with sm.Evaluator(path, {"u1": ['"i1"', "i,2"]}) as evaluator:
        assert evaluator.per_user("recall@2")["recall"].tolist() == [1.0]


@pytest.mark.parametrize("source", ["x" * 5000, "x*" * 3000, "m=" + "x" * 5000, "[{" + "x/" * 3000])
def test_a_name_that_is_too_long_is_told(tmp_path: Path, source: str) -> None:
    truth = write_parquet(tmp_path / "truth.parquet", truth_table())
    result = CliRunner().invoke(main, ["evaluate", METRIC, "-r", source, "-i", str(truth)])
    assert result.exit_code == 1
    assert result.stderr.startswith("sqlmetrics: error: recommendations")
    assert "File name too long" in result.stderr
    assert len(result.stderr) < 200


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    lists = write_jsonl(tmp_path / name, lists_table("score"))
    check(values(lists, write_jsonl(tmp_path / f"truth-{name}", truth_table())))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2020-01-01", "2020-1-1"),
        ("12:30", "12:30:00"),
        ("2020-01-01 10:00", "2020-01-01 10:00:00"),
        ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B810-9dad-11d1-80b4-00c04fd430c8"),
    ],
)
def test_text_ids_of_json_stay_what_they_are(tmp_path: Path, one: str, other: str) -> None:
    """The engine would read both as the same date, time or UUID."""
    rows = [{"user_id": "u", "item_id": item, "rank": n} for n, item in enumerate((one, other), 1)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.json").write_text(json.dumps([{"user_id": "v", "item_id": "x", "rank": 1}]))
    whole = tmp_path / "c.json"  # the list in one row
    whole.write_text(json.dumps([{"user_id": "u", "item_id": [one, other]}]))
    for lists in (path, [path, tmp_path / "b.json"], [tmp_path / "b.json", path], whole):
        with sm.Evaluator(lists, {"u": [other]}) as evaluator:
            assert evaluator.per_user("mrr")["mrr"].tolist() == [0.5]


def test_dates_of_json_that_are_spelled_as_such_are_dates(tmp_path: Path) -> None:
    rows = [{"user_id": 1, "item_id": f"2020-01-0{n}", "rank": n} for n in (1, 2)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    truth = pa.table({"user_id": [1], "item_id": [date(2020, 1, 2)]})
    with sm.Evaluator(path, truth) as evaluator:
        assert evaluator.per_user("mrr")["mrr"].tolist() == [0.5]


def test_json_array(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(lists_table().to_pylist()))
    check(values(path))


def test_gzipped_json_lines(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", lists_table())
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    check(values(packed))


def trec_run(rows: Rows, delimiter: str = " ") -> str:
    lines = ([user, "Q0", item, rank, 10 - rank, "tag"] for user, item, rank in rows)
    return "".join(delimiter.join(map(str, line)) + "\n" for line in lines)


def trec_qrels(rows: list[tuple[Any, Any]], delimiter: str = " ") -> str:
    lines = [[user, 0, item, 1] for user, item in rows]
    lines.append([1, 0, 99, 0])  # judged and not relevant
    return "".join(delimiter.join(map(str, line)) + "\n" for line in lines)


@pytest.mark.parametrize("delimiter", [" ", "\t", "  "])
@pytest.mark.parametrize("names", [("run", "qrels"), ("a.run", "a.qrels"), ("a.txt", "b.test")])
def test_trec(tmp_path: Path, names: tuple[str, str], delimiter: str) -> None:
    run, qrels = (tmp_path / name for name in names)
    run.write_text(trec_run(ranked(), delimiter))
    qrels.write_text(trec_qrels(relevant(), delimiter))
    check(values(run, qrels), str)


def test_trec_with_blank_lines_and_windows_ends(tmp_path: Path) -> None:
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_bytes(("\n" + trec_run(ranked()) + "\n").replace("\n", "\r\n").encode())
    qrels.write_text(trec_qrels(relevant()).rstrip("\n"))
    check(values(run, qrels), str)


# ---------------------------------------------------------------- frames


def test_pandas(order: str) -> None:
    check(values(lists_table(order).to_pandas(), truth_table().to_pandas()))


def test_pandas_with_a_shuffled_index_that_means_nothing() -> None:
    frame = lists_table().to_pandas().sample(frac=1, random_state=3)
    frame.index = frame.index[::-1] * 0
    check(values(frame))


@pytest.mark.parametrize("index", [["user_id"], ["user_id", "item_id"]])
def test_pandas_with_index_columns(index: list[str]) -> None:
    check(values(lists_table().to_pandas().set_index(index)))


@pytest.mark.parametrize("ordered", [False, True])
def test_pandas_with_categorical_ids(ordered: bool) -> None:
    def categorical(table: pa.Table, reverse: bool) -> pd.DataFrame:
        frame = table.to_pandas()
        for name in ("user_id", "item_id"):
            categories = sorted(set(frame[name]), reverse=reverse)
            frame[name] = pd.Categorical(frame[name], categories=categories, ordered=ordered)
        return frame

    lists = categorical(lists_table("rank", str), False)
    truth = categorical(truth_table(str), True)
    check(values(lists, truth, **CHECKED), str)
    check(values(lists, truth_table(str), **CHECKED), str)
    check(values(lists_table("rank", str), truth), str)


def test_pandas_with_categorical_integers() -> None:
    frame = lists_table().to_pandas()
    frame["user_id"] = frame["user_id"].astype("category")
    check(values(frame))


@pytest.mark.parametrize(
    "kinds",
    [
        {"user_id": "Int64", "item_id": "Int32", "rank": "Int8"},
        {"user_id": "int64[pyarrow]", "item_id": "uint8[pyarrow]", "rank": "double[pyarrow]"},
        {"rank": "Float64"},
        {"rank": "float32"},
    ],
)
def test_pandas_with_other_types_of_numbers(kinds: Mapping[str, str]) -> None:
    check(values(lists_table().to_pandas().astype(dict(kinds))))


@pytest.mark.parametrize("kind", ["object", "string", "string[pyarrow]", "str"])
def test_pandas_with_every_type_of_text(kind: str) -> None:
    names = {"user_id": kind, "item_id": kind}
    lists = lists_table("rank", str).to_pandas().astype(names)
    check(values(lists, truth_table(str).to_pandas().astype(names)), str)


def test_pandas_with_columns_that_are_not_read() -> None:
    frame = lists_table().to_pandas()
    frame["seen"] = pd.Timestamp("2024-01-01")
    frame["mixed"] = [1, "a"] * 5
    frame[7] = 1
    check(values(frame))


@pytest.mark.parametrize("lazy", [False, True])
def test_polars(lazy: bool, order: str) -> None:
    frame = pl.from_arrow(lists_table(order))
    assert isinstance(frame, pl.DataFrame)
    truth = pl.DataFrame(
        {"user_id": [r[0] for r in relevant()], "item_id": [r[1] for r in relevant()]}
    )
    check(values(frame.lazy() if lazy else frame, truth.lazy() if lazy else truth))


@pytest.mark.parametrize("kind", [pl.Categorical, pl.String])
def test_polars_text(kind: Any) -> None:
    casts = [pl.col("user_id").cast(kind), pl.col("item_id").cast(kind)]
    frame = pl.from_arrow(lists_table("rank", str))
    assert isinstance(frame, pl.DataFrame)
    check(values(frame.with_columns(casts), truth_table(str)), str)


# ---------------------------------------------------------------- Arrow


def test_arrow_table(order: str) -> None:
    check(values(lists_table(order)))


def test_arrow_record_batch(order: str) -> None:
    (batch,) = lists_table(order).to_batches()
    check(values(batch))


def test_arrow_reader_can_be_asked_twice(order: str) -> None:
    reader = pa.RecordBatchReader.from_batches(
        lists_table(order).schema, lists_table(order).to_batches(max_chunksize=2)
    )
    with sm.Evaluator(reader, truth_table()) as evaluator:
        first = evaluator.per_user(METRIC)
        assert evaluator.per_user(METRIC).equals(first)
        assert evaluator.evaluate("mrr@3")["value"].item() == pytest.approx(1 / 3)


def test_arrow_dataset(tmp_path: Path, order: str) -> None:
    table = lists_table(order)
    write_parquet(tmp_path / "a.parquet", table.slice(0, 4))
    write_parquet(tmp_path / "b.parquet", table.slice(4))
    check(values(ds.dataset(tmp_path), ds.dataset(truth_table())))


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_arrow_kinds_of_text(kind: pa.DataType) -> None:
    table = lists_table("rank", str)
    for position, name in enumerate(("user_id", "item_id")):
        table = table.set_column(position, name, table[name].combine_chunks().cast(kind))
    check(values(table, truth_table(str)), str)


def test_any_object_with_the_arrow_stream_protocol() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return lists_table().__arrow_c_stream__(requested_schema)

    check(values(Stream()))


# ---------------------------------------------------------------- DuckDB


def connection_with_tables() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("given_lists", lists_table())
    connection.register("given_truth", truth_table())
    connection.execute("CREATE TABLE lists AS FROM given_lists")
    connection.execute("CREATE TABLE truth AS FROM given_truth")
    connection.unregister("given_lists")
    connection.unregister("given_truth")
    return connection


def test_duckdb_relation() -> None:
    connection = connection_with_tables()
    check(values(connection.table("lists"), connection.sql("FROM truth")))
    check(values(connection.sql("FROM lists"), connection.table("truth"), connection=connection))


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("SELECT 1", "lists"),
        ("CREATE VIEW best AS FROM lists", "best"),
        ("CREATE TEMP TABLE best AS FROM lists", "best"),
        ("CREATE TEMP VIEW best AS FROM lists", "best"),
        ("CREATE SCHEMA s; CREATE TABLE s.best AS FROM lists", "s.best"),
        ("CREATE SCHEMA s; CREATE TABLE s.best AS FROM lists; DROP TABLE lists", "memory.s.best"),
        ("ATTACH ':memory:' AS other; CREATE TABLE other.best AS FROM lists", "other.main.best"),
        ("ATTACH ':memory:' AS other; CREATE TABLE other.best AS FROM lists", "other.best"),
        ('CREATE TABLE "My Lists" AS FROM lists', "My Lists"),
        ('CREATE TABLE "My Lists" AS FROM lists', '"My Lists"'),
        ('CREATE TABLE "a""b" AS FROM lists', 'a"b'),
        ('CREATE TABLE "a.b" AS FROM lists', "a.b"),
        ('CREATE TABLE "select" AS FROM lists', "select"),
        ('CREATE TABLE "hits" AS FROM lists', "hits"),
        ('CREATE TABLE "recommendations" AS FROM lists', "recommendations"),
        ("CREATE TABLE MixedCase AS FROM lists", "MixedCase"),
        ("CREATE TABLE MixedCase AS FROM lists", "mixedcase"),
    ],
)
def test_table_of_a_connection(statement: str, name: str) -> None:
    connection = connection_with_tables()
    connection.execute(statement)
    check(values(name, "truth", connection=connection))


def test_temporary_table_hides_a_table_of_the_same_name() -> None:
    connection = connection_with_tables()
    connection.execute("CREATE TEMP TABLE lists AS SELECT 9 AS user_id, 9 AS item_id, 1 AS rank")
    with pytest.raises(sm.DataError, match=r"no user in common.* 9,"):
        values("lists", "truth", connection=connection, **CHECKED)


def test_tables_called_as_our_stages(order: str) -> None:
    """Both tables have the names that the statement uses itself, for other things."""
    connection = duckdb.connect()
    lists, truth = lists_table(order), truth_table()
    connection.execute("CREATE TABLE interactions AS FROM lists")
    connection.execute("CREATE TABLE recommendations AS FROM truth")
    del lists, truth
    check(values("interactions", "recommendations", connection=connection))


def count(connection: duckdb.DuckDBPyConnection) -> int:
    return int(connection.execute("SELECT count(*) FROM lists").fetchall()[0][0])


def state(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    queries = [
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() ORDER BY ALL",
        "SELECT database_name, schema_name, view_name, temporary FROM duckdb_views() ORDER BY ALL",
        "SELECT name, value FROM duckdb_settings() ORDER BY ALL",
        "SELECT database_name FROM duckdb_databases() ORDER BY ALL",
        "SELECT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
        "SELECT schema_name FROM duckdb_schemas() ORDER BY ALL",
    ]
    return [connection.execute(query).fetchall() for query in queries]


def test_a_connection_stays_as_it_was() -> None:
    connection = connection_with_tables()
    before = state(connection)
    evaluator = sm.Evaluator(
        "lists",
        "truth",
        history=pd.DataFrame({"user_id": [1], "item_id": [7]}),
        connection=connection,
    )
    assert state(connection) == before
    evaluator.evaluate(["mrr@3", "ndcg", "coverage"])
    assert state(connection) == before
    evaluator.per_user(["mrr@3"])
    evaluator.stage("hits")
    evaluator.sql("mrr@3")
    assert state(connection) == before
    with pytest.raises(sm.UsageError):
        evaluator.evaluate("mrrr")
    evaluator.close()
    assert state(connection) == before
    assert count(connection) == 10


def test_a_connection_stays_as_it_was_after_an_error() -> None:
    connection = connection_with_tables()
    before = state(connection)
    with pytest.raises(sm.DataError):
        sm.Evaluator(pd.DataFrame({"user_id": [1]}), "truth", connection=connection)
    broken = lists_table().to_pandas()
    broken.loc[0, "rank"] = 3
    with (
        sm.Evaluator(broken, "truth", connection=connection) as evaluator,
        pytest.raises(sm.DataError),
    ):
        evaluator.evaluate("mrr@3")
    assert state(connection) == before


def test_frames_and_tables_of_a_connection_go_together() -> None:
    connection = connection_with_tables()
    check(values(lists_table().to_pandas(), "truth", connection=connection))
    check(values("lists", truth_table(), connection=connection))


def test_a_view_of_the_caller_with_our_name_survives() -> None:
    connection = connection_with_tables()
    connection.execute("CREATE TABLE sqlmetrics_recommendations AS SELECT 'mine' AS note")
    connection.execute("CREATE TEMP VIEW sqlmetrics_interactions AS SELECT 'mine' AS note")
    before = state(connection)
    check(values(lists_table(), truth_table(), connection=connection))
    assert state(connection) == before
    assert connection.sql("FROM sqlmetrics_recommendations").fetchall() == [("mine",)]
    assert connection.sql("FROM sqlmetrics_interactions").fetchall() == [("mine",)]


def test_inside_an_open_transaction() -> None:
    connection = connection_with_tables()
    connection.begin()
    connection.execute("DELETE FROM lists WHERE user_id = 4")
    connection.execute("CREATE TABLE fresh AS FROM truth")
    check(values("lists", "fresh", connection=connection))
    check(values(lists_table(), "fresh", connection=connection))
    connection.rollback()
    assert count(connection) == 10
    with pytest.raises(sm.DataError, match="fresh"):
        sm.Evaluator("lists", "fresh", connection=connection)


def test_an_error_inside_an_open_transaction_leaves_it_open() -> None:
    connection = connection_with_tables()
    connection.begin()
    connection.execute("INSERT INTO lists VALUES (1, 14, 4)")
    with (
        sm.Evaluator("lists", "truth", connection=connection) as evaluator,
        pytest.raises(sm.DataError, match="repeat"),
    ):
        evaluator.evaluate("mrr@3")
    assert count(connection) == 11
    connection.rollback()
    assert count(connection) == 10


def test_a_cursor_of_a_connection() -> None:
    check(values("lists", "truth", connection=connection_with_tables().cursor()))


def test_a_closed_evaluator_does_not_close_the_connection() -> None:
    connection = connection_with_tables()
    sm.Evaluator("lists", "truth", connection=connection).close()
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_a_read_only_database(tmp_path: Path) -> None:
    path = str(tmp_path / "a.duckdb")
    lists, truth = lists_table(), truth_table()
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE lists AS FROM lists")
        connection.execute("CREATE TABLE truth AS FROM truth")
    del lists, truth
    with duckdb.connect(path, read_only=True) as connection:
        check(values("lists", "truth", connection=connection))


# ---------------------------------------------------------------- dicts, lists, stdin


def test_dict_of_lists() -> None:
    check(values(LISTS, TRUTH))
    check(values(LISTS, {user: set(items) for user, items in TRUTH.items()}))
    check(values({user: tuple(items) for user, items in LISTS.items()}, TRUTH))
    check(values({user: np.array(items) for user, items in LISTS.items()}, TRUTH))


def test_dict_of_scores() -> None:
    scores = {u: {i: -float(n) for n, i in enumerate(items)} for u, items in LISTS.items()}
    check(values(scores, {user: dict.fromkeys(items, 1) for user, items in TRUTH.items()}))


def test_dict_of_text() -> None:
    lists = {str(user): [str(item) for item in items] for user, items in LISTS.items()}
    truth = {str(user): {str(item): 1 for item in items} for user, items in TRUTH.items()}
    check(values(lists, truth), str)


def test_dict_with_users_without_items() -> None:
    check(values({**LISTS, 8: []}, {**TRUTH, 9: []}))


def test_dict_as_history() -> None:
    with sm.Evaluator(LISTS, TRUTH, history={1: [11, 16], 2: [17]}) as evaluator:
        assert evaluator.evaluate("coverage@1")["value"].item() == pytest.approx(0)


@pytest.mark.thorough
def test_list_columns(tmp_path: Path) -> None:
    lists = pa.table({"user_id": list(LISTS), "item_id": list(LISTS.values())})
    truth = pa.table({"user_id": list(TRUTH), "item_id": list(TRUTH.values())})
    check(values(lists, truth, **CHECKED))
    check(values(lists.to_pandas(), truth.to_pandas()))
    check(values(pl.from_arrow(lists), truth))
    check(values(write_parquet(tmp_path / "a.parquet", lists), truth))
    check(values(write_jsonl(tmp_path / "a.jsonl", lists), truth))
    large = lists.cast(pa.schema({"user_id": pa.int64(), "item_id": pa.large_list(pa.int64())}))
    check(values(large, truth))


def test_list_columns_with_scores() -> None:
    scores = [[float(i) for i in range(len(items))] for items in LISTS.values()]
    items = [items[::-1] for items in LISTS.values()]
    check(values(pa.table({"user_id": list(LISTS), "item_id": items, "score": scores})))


def test_list_columns_of_fixed_size() -> None:
    table = pa.table(
        {
            "user_id": [1, 2],
            "item_id": pa.array([[14, 11, 12], [12, 14, 16]], pa.list_(pa.int64(), 3)),
        }
    )
    assert values(table)[1] == pytest.approx(1 / 3)


def test_list_columns_with_empty_and_missing_lists() -> None:
    lists = pa.table({"user_id": [*LISTS, 8, 9], "item_id": [*LISTS.values(), [], None]})
    check(values(lists))


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "trec"])
def test_stdin(tmp_path: Path, kind: str) -> None:
    convert = str if kind == "trec" else int
    truth = write_parquet(tmp_path / "truth.parquet", truth_table(convert))
    path = tmp_path / f"a.{kind}"
    if kind == "trec":
        path.write_text(trec_run(ranked()))
    else:
        write = {"parquet": write_parquet, "csv": write_csv, "jsonl": write_jsonl}[kind]
        write(path, lists_table())
    arguments = ["per-user", "mrr@3", "-r", "-", "-i", str(truth), "--format", "json"]
    result = CliRunner().invoke(main, arguments, input=path.read_bytes())
    assert result.exit_code == 0, result.stderr
    found = {row["user_id"]: row["mrr"] for row in json.loads(result.stdout)}
    assert found == pytest.approx({convert(user): v for user, v in EXPECTED.items()})


# ---------------------------------------------------------------- ids


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.uint8(),
        pa.int16(),
        pa.uint16(),
        pa.int32(),
        pa.uint32(),
        pa.int64(),
        pa.uint64(),
    ],
    ids=str,
)
def test_integers_of_every_width_match_each_other(kind: pa.DataType) -> None:
    table = lists_table()
    for position, name in enumerate(("user_id", "item_id")):
        table = table.set_column(position, name, table[name].cast(kind))
    check(values(truth_swapped(table), truth_table(), **CHECKED))


def truth_swapped(table: pa.Table) -> pa.Table:
    """Return the lists upside down: the order of rows means nothing where there are ranks."""
    return table.take(list(range(table.num_rows))[::-1])


@pytest.mark.parametrize(
    "text",
    [
        lambda n: f"użytkownik-{n}",
        lambda n: f"o'{n}\"--;",
        lambda n: "" if n == 12 else str(n),
        lambda n: f" {n} ",
        lambda n: f"{n}\n{n}",
        lambda n: "NULL" if n == 12 else str(n),
        lambda n: "\U0001f600" * n,
    ],
    ids=["unicode", "quotes", "empty", "spaces", "lines", "null", "emoji"],
)
def test_text_ids(text: Callable[[int], str]) -> None:
    check(values(lists_table("score", text), truth_table(text), **CHECKED), text)


def test_text_ids_are_not_normalised() -> None:
    lists = {"\u00e9": ["a"], "A": ["b"], "b ": ["c"], "x": ["y"]}
    truth = {"e\u0301": ["a"], "A": ["B"], "b ": ["c "], "x": ["y"]}
    found = values(lists, truth)
    assert {user for user, value in found.items() if value > 0} == {"x"}


def test_uuids(tmp_path: Path) -> None:
    connection = duckdb.connect()
    lists, truth = lists_table("rank", lambda n: str(uuid.UUID(int=n))), None
    truth = truth_table(lambda n: str(uuid.UUID(int=n)))
    for name in ("lists", "truth"):
        connection.execute(
            f"COPY (SELECT * REPLACE (user_id::UUID AS user_id, item_id::UUID AS item_id)"
            f" FROM {name}) TO '{tmp_path / name}.parquet'"
        )
    del lists, truth
    found = values(tmp_path / "lists.parquet", tmp_path / "truth.parquet", **CHECKED)
    check({str(user): value for user, value in found.items()}, lambda n: str(uuid.UUID(int=n)))


@pytest.mark.parametrize("offset", [2**53, 2**62, 2**63, 2**64 - 100])
def test_large_integers_are_never_cast(tmp_path: Path, offset: int) -> None:
    """Neighbours beyond 2^53 are one number as doubles."""
    kind = pa.uint64() if offset >= 2**63 else pa.int64()

    def table(columns: Mapping[str, list[Any]]) -> pa.Table:
        return pa.table(
            {
                name: pa.array([n + offset for n in cells], kind) if name != "rank" else cells
                for name, cells in columns.items()
            }
        )

    lists = table(columns_of(ranked(), "rank"))
    truth = table(truth_table().to_pydict())
    check(values(lists, truth, **CHECKED), lambda n: n + offset)
    check(values(lists.to_pandas(), truth.to_pandas()), lambda n: n + offset)
    lists_csv, truth_csv = (
        write_csv(tmp_path / "a.csv", lists),
        write_csv(tmp_path / "b.csv", truth),
    )
    check(values(lists_csv, truth_csv), lambda n: n + offset)
    lists_json = write_jsonl(tmp_path / "a.jsonl", lists)
    check(values(lists_json, write_jsonl(tmp_path / "b.jsonl", truth)), lambda n: n + offset)


def test_large_integers_in_dicts() -> None:
    big = 2**60
    lists = {big + user: [big + item for item in items] for user, items in LISTS.items()}
    truth = {big + user: [big + item for item in items] for user, items in TRUTH.items()}
    check(values(lists, truth), lambda n: big + n)


def test_decimals_and_dates_as_ids() -> None:
    lists, truth = lists_table("rank", decimal.Decimal), truth_table(decimal.Decimal)
    check(values(lists, truth, **CHECKED), decimal.Decimal)
    days = [date.fromordinal(738000 + n) for n in range(20)]
    lists, truth = lists_table("rank", days.__getitem__), truth_table(days.__getitem__)
    found = values(lists, truth, **CHECKED)
    check({pd.Timestamp(user).date(): value for user, value in found.items()}, days.__getitem__)


# ---------------------------------------------------------------- models


def both(found: Mapping[tuple[str, Any], float]) -> None:
    """Model `a` is the usual one; model `b` has the same lists upside down."""
    check({user: value for (model, user), value in found.items() if model == "a"})
    b = {user: value for (model, user), value in found.items() if model == "b"}
    assert b[1] == pytest.approx(1)
    assert b[3] == pytest.approx(1)
    assert set(b) == set(EXPECTED)
    assert len(found) == 2 * len(EXPECTED)


def upside_down() -> pa.Table:
    lists = {user: items[::-1] for user, items in LISTS.items()}
    rows = [(u, i, r) for u, items in lists.items() for r, i in enumerate(items, start=1)]
    return pa.table(columns_of(rows, "rank"))


def test_models_by_dict(tmp_path: Path) -> None:
    keys = ("model", "user_id")
    both(values({"a": lists_table(), "b": upside_down()}, keys=keys))
    path = write_parquet(tmp_path / "b.parquet", upside_down())
    both(values({"a": lists_table().to_pandas(), "b": str(path)}, keys=keys))
    both(
        values({"a": [write_parquet(tmp_path / "a.parquet", lists_table())], "b": path}, keys=keys)
    )


def test_models_by_column() -> None:
    tables = [
        table.append_column("model", [[name] * table.num_rows])
        for name, table in (("b", upside_down()), ("a", lists_table()))
    ]
    both(values(pa.concat_tables(tables), keys=("model", "user_id")))


def test_models_by_option(tmp_path: Path) -> None:
    a = write_parquet(tmp_path / "a.parquet", lists_table())
    b = write_csv(tmp_path / "b=1.csv", upside_down())
    truth = write_parquet(tmp_path / "truth.parquet", truth_table())
    arguments = ["-r", f"a={a}", "-r", f"b={b}", "-i", str(truth), "--format", "json"]
    result = CliRunner().invoke(main, ["per-user", METRIC, *arguments])
    assert result.exit_code == 0, result.stderr
    both({
        (row["model"], row["user_id"]): row["mrr"]
        for row in json.loads(result.stdout)
    })  # fmt: skip


def test_one_named_model_gives_a_column() -> None:
    with sm.Evaluator({"als": lists_table()}, truth_table()) as evaluator:
        assert list(evaluator.evaluate("mrr")["model"]) == ["als"]
    with sm.Evaluator(lists_table(), truth_table()) as evaluator:
        assert "model" not in evaluator.evaluate("mrr").columns


def test_models_with_integers_of_different_widths() -> None:
    narrow = upside_down()
    narrow = narrow.set_column(0, "user_id", narrow["user_id"].cast(pa.int16()))
    both(values({"a": lists_table(), "b": narrow}, keys=("model", "user_id")))


def test_a_model_without_some_users_is_filled() -> None:
    found = values({"a": lists_table(), "b": lists_table().slice(0, 3)}, keys=("model", "user_id"))
    assert found["b", 3] == 0
    assert len(found) == 2 * len(EXPECTED)


def test_the_columns_of_models_may_stand_in_any_order() -> None:
    turned = upside_down().select(["rank", "item_id", "user_id"])
    both(values({"a": lists_table(), "b": turned}, keys=("model", "user_id")))


# ---------------------------------------------------------------- columns and keys


def test_mapping_for_all_tables_and_for_one() -> None:
    lists = lists_table().rename_columns(["uid", "movie", "place"])
    truth = truth_table().rename_columns(["uid", "film"])
    mapping = {
        "user_id": "uid",
        "item_id": "film",
        "recommendations.item_id": "movie",
        "rank": "place",
    }
    check(values(lists, truth, columns=mapping))


def test_a_mapping_wins_over_a_column_of_that_name() -> None:
    table = lists_table()
    lists = table.append_column("item_number", table["item_id"])
    lists = lists.set_column(1, "item_id", pa.array(range(10)))
    check(values(lists, columns={"recommendations.item_id": "item_number"}))


def test_names_of_columns_in_other_cases() -> None:
    check(values(lists_table().rename_columns(["USER_ID", "Item_Id", "Rank"])))


@pytest.mark.parametrize(
    "name",
    ["select", 'a"b', "k", "value", "rank", "with space", "model", "ünï", "1", "a.b", "a'b", "hits",
     "row_number", "sqlmetrics_row", "users", "x -- y", "{{ x }}", "=", "%s", "order"],
)  # fmt: skip
def test_awkward_names_of_columns(name: str) -> None:
    """A column that is mapped to one name is not read under its own name as well."""
    lists = lists_table("score").rename_columns([name, "item_id", "score"])
    truth = truth_table().rename_columns([name, "item_id"])
    check(values(lists, truth, columns={"user_id": name}))


@pytest.mark.parametrize(
    "name", ["select", 'a"b', "k", "rank", "with space", "a.b", "item", "hits"]
)
def test_awkward_names_of_columns_in_files(tmp_path: Path, name: str) -> None:
    lists, truth = lists_table("score"), truth_table()
    lists = lists.rename_columns(["user_id", name, "score"])
    path = write_parquet(tmp_path / "a.parquet", lists)
    check(values(path, truth, columns={"recommendations.item_id": name}))


def test_score_from_a_column_called_rank() -> None:
    lists = lists_table("score").rename_columns(["user_id", "item_id", "rank"])
    check(values(lists, columns={"score": "rank"}, settings={"order": "score"}))


def two_keys(table: pa.Table) -> pa.Table:
    """Split the user n into (n / 2, n mod 2)."""
    users = table["user_id"].to_pylist()
    table = table.drop_columns(["user_id"])
    table = table.append_column("user_id", pa.array([user // 2 for user in users]))
    return table.append_column("session", pa.array([f"s{user % 2}" for user in users]))


@pytest.mark.parametrize("key", [["user_id", "session"], ("session", "user_id")])
def test_several_keys(key: Any, order: str) -> None:
    found = values(two_keys(lists_table(order)), two_keys(truth_table()), keys=tuple(key), key=key)
    position = list(key).index("user_id")
    check({2 * user[position] + int(user[1 - position][1]): v for user, v in found.items()})


def test_another_key() -> None:
    lists = lists_table().rename_columns(["visit", "item_id", "rank"])
    truth = truth_table().rename_columns(["visit", "item_id"])
    check(values(lists, truth, key="visit", keys=("visit",)))


@pytest.mark.parametrize("key", ["select", 'a"b', "with space", "hits", "Visit"])
def test_awkward_keys(key: str) -> None:
    lists = lists_table("score").rename_columns([key, "item_id", "score"])
    truth = truth_table().rename_columns([key, "item_id"])
    check(values(lists, truth, key=key, keys=(key,)))


@pytest.mark.parametrize("key", ["k", "rank", "model", "item_id", "score", "value"])
def test_keys_with_the_name_of_another_column_are_refused(key: str) -> None:
    names = [key if name == "user_id" else name for name in ("user_id", "item_id", "score")]
    if len(set(names)) < 3:
        names = [key, *(f"other_{name}" for name in names[1:])]
    lists, truth = (
        lists_table("score").rename_columns(names),
        truth_table().rename_columns(names[:2]),
    )
    with pytest.raises(sm.UsageError, match=key):
        values(lists, truth, key=key, keys=(key,))


# ---------------------------------------------------------------- order of rows


def large_lists() -> pa.Table:
    """Lists of 40 users in blocks that no sort would give."""
    lists = {user: [(item * 37 + user) % 101 for item in range(100)] for user in range(40)}
    return pa.table(columns_of([(u, i, 0) for u, items in lists.items() for i in items], "row"))


LARGE_TRUTH = pa.table({"user_id": list(range(40)), "item_id": [(3 * u) % 101 for u in range(40)]})


def large_expected() -> dict[int, float]:
    table = large_lists().to_pydict()
    lists: dict[int, list[int]] = {}
    for user, item in zip(table["user_id"], table["item_id"], strict=True):
        lists.setdefault(user, []).append(item)
    wanted = dict(zip(*LARGE_TRUTH.to_pydict().values(), strict=True))
    return {u: 1 / (1 + xs.index(wanted[u])) if wanted[u] in xs else 0.0 for u, xs in lists.items()}


@pytest.mark.parametrize(
    "kind", ["pandas", "polars", "arrow", "batch", "reader", "parquet", "parts", "csv", "csv.gz"]
)
def test_order_of_rows(tmp_path: Path, kind: str) -> None:
    table = large_lists()
    source: Any
    match kind:
        case "pandas":
            source = table.to_pandas()
        case "polars":
            source = pl.from_arrow(table)
        case "arrow":
            source = pa.concat_tables([table.slice(n, 7) for n in range(0, table.num_rows, 7)])
        case "batch":
            source = table.combine_chunks().to_batches()[0]
        case "reader":
            source = pa.RecordBatchReader.from_batches(
                table.schema, table.to_batches(max_chunksize=11)
            )
        case "parquet":
            source = write_parquet(tmp_path / "a.parquet", table, row_group_size=333)
        case "parts":
            cuts = [0, 999, 1000, 2048, 4000]
            for n, (low, high) in enumerate(itertools.pairwise(cuts)):
                write_parquet(
                    tmp_path / f"part-{n}.parquet", table.slice(low, high - low), row_group_size=100
                )
            source = str(tmp_path / "part-*.parquet")
        case _:
            source = write_csv(tmp_path / f"a.{kind}", table)
    options = {"settings": {"order": "row"}}
    for threads in (1, 2):
        with sm.Evaluator(source, LARGE_TRUTH, threads=threads, **options) as evaluator:
            if kind == "reader":
                source = table
            frame = evaluator.per_user("mrr")
        found = dict(zip(frame["user_id"], frame["mrr"], strict=True))
        assert found == pytest.approx(large_expected(), abs=1e-12)


def test_order_of_rows_follows_the_list_of_files(tmp_path: Path) -> None:
    table = lists_table("row")
    last = write_parquet(tmp_path / "1.parquet", table.slice(4))
    first = write_parquet(tmp_path / "2.parquet", table.slice(0, 4))
    check(values([first, last], settings={"order": "row"}))
    one = {"user_id": [1, 1, 1], "item_id": [14, 11, 12]}
    a = write_parquet(tmp_path / "z.parquet", pa.table(one).slice(0, 2))
    b = write_parquet(tmp_path / "y.parquet", pa.table(one).slice(2))
    assert values([a, b], settings={"order": "row"})[1] == pytest.approx(1 / 3)
    assert values([b, a], settings={"order": "row"})[1] == pytest.approx(1)


def test_order_of_rows_in_a_passed_connection() -> None:
    connection = duckdb.connect()
    frame = large_lists().to_pandas()
    with sm.Evaluator(
        frame, LARGE_TRUTH, connection=connection, settings={"order": "row"}
    ) as evaluator:
        result = evaluator.per_user("mrr")
    found = dict(zip(result["user_id"], result["mrr"], strict=True))
    assert found == pytest.approx(large_expected(), abs=1e-12)


def test_order_of_rows_of_several_models() -> None:
    lists = {"a": lists_table("row"), "b": lists_table("row").take(list(range(10))[::-1])}
    both(values(lists, keys=("model", "user_id"), settings={"order": "row"}))


@pytest.mark.parametrize("kind", ["json", "view", "table"])
def test_sources_without_an_order_of_rows_are_refused(tmp_path: Path, kind: str) -> None:
    connection = connection_with_tables()
    source: Any = "lists"
    if kind == "json":
        source = write_jsonl(tmp_path / "a.jsonl", lists_table("row"))
    elif kind == "view":
        connection.execute("CREATE VIEW seen AS SELECT user_id, item_id FROM lists")
        source = "seen"
    with pytest.raises(sm.DataError, match=r"no order of rows.*rank or score"):
        values(source, connection=connection, settings={"order": "row"})


def test_rows_break_ties() -> None:
    lists = lists_table("score")
    lists = lists.set_column(2, "score", pa.array([1.0] * 10))
    check(values(lists, settings={"ties": "row"}))


# ---------------------------------------------------------------- ways to change files


def test_a_file_can_be_written_again_after_close(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", lists_table())
    check(values(path))
    os.replace(write_parquet(tmp_path / "b.parquet", upside_down()), path)
    assert values(path)[1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # DuckDB would skip the first two as comments and as lines before the header
        (
            HEADER + "u1,i1,1\n#2,i1\nu1,i2,2\n",
            "line 3 has 2 values, but the header has 3: '#2,i1'",
        ),
        (
            "user_id,item_id\nu2,i1\nuser_id,item_id,score\n" + "u1,i2,2\nu1,i1,1\n" * 4,
            "line 3 has 3 values, but the header has 2: 'user_id,item_id,score'",
        ),
        (HEADER + "u1,i1,1\nu1,i2\n", "line 3 has 2 values, but the header has 3: 'u1,i2'"),
        ("user_id\titem_id\tscore\nu1\ti1;i2\n", "line 2 has 2 values, but the header has 3"),
    ],
)
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_row_of_another_length_is_refused(
    tmp_path: Path, text: str, told: str, packed: str
) -> None:
    path = tmp_path / f"a.csv{packed}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(sm.DataError, match=told):
        sm.Evaluator(path, {"u1": ["i1"]})


@pytest.mark.parametrize("above", ["", "\n\n", "# of May\n", "# of May, 2026\n\n# als\n"])
@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_the_header_says_what_separates_values(tmp_path: Path, above: str, separator: str) -> None:
    """DuckDB would take the other separators in the ids for the separator of the file."""
    rows = [
        ("user_id", "item_id", "score"),
        ("u1", "a;b", "2"),
        ("u1", "a|b", "1"),
        ("#2", "a,b", "1"),
    ]
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    path = tmp_path / "a.csv"
    path.write_text(above + text.getvalue())
    with sm.Evaluator(path, {"u1": ["a|b"], "#2": ["a,b"]}) as evaluator:
        found = evaluator.per_user(["recall@1", "recall@2"])
    assert found["user_id"].tolist() == ["#2", "#2", "u1", "u1"]
    assert found["recall"].tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(
    ("suffix", "ids"), [("csv", ["a|b", "c|d", "x;y"]), ("tsv.gz", ["a|b", "c,d", "x;y"])]
)
def test_the_only_column_of_a_file_is_not_split(
    tmp_path: Path, suffix: str, ids: list[str]
) -> None:
    """DuckDB would split ids at other separators, and not find the column."""
    path = tmp_path / f"users.{suffix}"
    text = "user_id\n" + "".join(f"{one}\n" for one in ids)
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    truth = dict.fromkeys(ids, ("i",))
    with sm.Evaluator(truth, truth, users=path) as evaluator:
        found = evaluator.stage("users")
    assert sorted(found["user_id"]) == sorted(ids)


def test_files_with_different_separators_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "u1,i1,1\n")
    (tmp_path / "b.csv").write_text((HEADER + "u2,i1,1\n").replace(",", ";"))
    with pytest.raises(sm.DataError, match="have different separators"):
        sm.Evaluator(str(tmp_path / "*.csv"), {"u1": ["i1"]})


def test_quotes_that_are_all_closed_are_no_fault(tmp_path: Path) -> None:
    """DuckDB takes the apostrophes in these ids for quotes."""
    ids = ["'", "''", '"', 'a"b', "%", "(none)", " a", "#", "\\", "it's"]
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(["user_id", "item_id", "score"])
    writer.writerows([user, item, n] for user in ids for n, item in enumerate(ids))
    path = tmp_path / "a.tsv"
    path.write_text(text.getvalue())
    with sm.Evaluator(path, dict.fromkeys(ids, ids[-1:])) as evaluator:
        found = evaluator.per_user("recall@1")
    assert sorted(found["user_id"]) == sorted(ids)
    assert found["recall"].tolist() == [1] * len(ids)


def test_uuids_of_json_are_texts(tmp_path: Path) -> None:
    ids = [str(uuid.UUID(int=n)) for n in range(3)]
    lists = pd.DataFrame({"user_id": ids, "item_id": "a", "score": 1.0})
    lists.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    with sm.Evaluator(tmp_path / "a.jsonl", {key: ["a"] for key in ids}) as evaluator:
        assert evaluator.evaluate("recall@1")["value"].item() == 1
