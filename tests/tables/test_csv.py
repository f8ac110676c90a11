"""CSV files: delimiters, quotes, ids that look like numbers, damaged lines."""

from __future__ import annotations

import csv
import io
import itertools
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.source_rows import (
    LISTS,
    TRUTH,
    check,
    lists_table,
    packed,
    truth_table,
    values,
    write_csv,
    write_parquet,
)


def test_csv(tmp_path: Path, order: str) -> None:
    for name in ("a.csv", "a.tsv", "a.csv.gz", "a.tsv.gz", "A.CSV"):
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


def mrr_of(source: Any, truth: Any, **options: Any) -> list[float]:
    """Return the reciprocal rank of every user, in the order of users."""
    with Evaluator(source, truth, threads=1, **options) as evaluator:
        values: list[float] = evaluator.per_user("mrr")["mrr"].tolist()
        return values


def test_csv_ids_that_are_numbers_stay_what_they_are(tmp_path: Path) -> None:
    for item in ("007", "+7", "0x7", "7.0"):
        (tmp_path / "a.csv").write_text(f"user_id,item_id,rank\n1, 7,1\n1,{item},2\n")
        assert mrr_of(tmp_path / "a.csv", {1: [item]}) == [0.5]


def test_csv_ids_of_the_users_of_aspects_stay_what_they_are(tmp_path: Path) -> None:
    """The table may lack users; where it has them, they are read as in the other tables."""
    (tmp_path / "lists.csv").write_text("user_id,item_id,rank\n007,a,1\n")
    (tmp_path / "truth.csv").write_text("user_id,item_id\n007,a\n")
    (tmp_path / "aspects.csv").write_text("user_id,item_id,aspect\n007,a,x\n")
    paths = {name: tmp_path / f"{name}.csv" for name in ("lists", "truth", "aspects")}
    with Evaluator(paths["lists"], paths["truth"], aspects=paths["aspects"]) as evaluator:
        assert evaluator.per_user("alpha_ndcg")["alpha_ndcg"].tolist() == [1.0]


def test_apostrophes_are_a_part_of_ids(tmp_path: Path) -> None:
    """The engine takes them for quotes where every id that starts with one ends with one."""
    (tmp_path / "a.csv").write_text(HEADER + "u1,'a',1\nu1,a,2\nu1,'',3\n")
    assert mrr_of(tmp_path, {"u1": ["a"]}) == [0.5]
    (tmp_path / "b.csv").write_text(HEADER + "u2,b,1\n")
    assert mrr_of(tmp_path, {"u1": ["a"]}) == [0.5]


def test_apostrophes_of_a_later_csv_file_without_other_quotes(tmp_path: Path) -> None:
    """The engine detects other types in the second file, and then apostrophes as quotes."""
    (tmp_path / "a.csv").write_text("user_id,signup\nu1,2024-02-01\n")
    (tmp_path / "b.csv").write_text("user_id,signup\n'',\n")
    with Evaluator({"u1": ["a"]}, {"u1": ["a"]}, users=tmp_path) as evaluator:
        assert sorted(evaluator.stage("users")["user_id"]) == ["''", "u1"]


def test_apostrophes_and_quotes_of_a_later_csv_file(tmp_path: Path) -> None:
    """The engine takes the apostrophes of the second file for quotes, and its times for texts."""
    header = "user_id,item_id,relevance,cohort,timestamp,a,b\n"
    (tmp_path / "a.csv").write_text(
        header + 'u1,x,1.0,,2025-04-13 06:00:00,p,A\nu1,"a,b",1.0,,2025-01-01 00:00:00,p,\'\n'
    )
    (tmp_path / "b.csv").write_text(
        header
        + '"""",%,1.0,,2025-04-13 06:00:00,p,\'\'\n'
        + "',12:30,4.0,old,2025-02-04 02:00:00,p,%\n"
        + "u3,'',3.0,,2025-02-21 03:00:00,p,z\n"
        + 'u3,\',3.0,,2025-02-21 03:00:00,p,"a,b"\n'
    )
    lists = {"u1": ["a,b"], '"': ["%"], "'": ["12:30"], "u3": ["'", "''"]}
    with Evaluator(lists, tmp_path) as evaluator:
        found = evaluator.per_user("n_hits").set_index("user_id")["n_hits"]
    assert found.to_dict() == {"u1": 1.0, '"': 1.0, "'": 1.0, "u3": 2.0}


def test_columns_that_hide_the_number_of_a_row(tmp_path: Path) -> None:
    """The order of rows was taken from them, where it gives the ranking."""
    for name in ("file_row_number", "File_Index", "sqlmetrics_row"):
        lists = pa.table({"user_id": [1, 1], "item_id": [5, 6], name: [2, 1]})
        for kind, write in (("parquet", write_parquet), ("csv", write_csv)):
            path = write(tmp_path / f"a.{kind}", lists)
            if kind == "csv" and name != "sqlmetrics_row":
                assert mrr_of(path, {1: [6]}, settings={"order": "row"}) == [0.5]
            else:
                with pytest.raises(sm.DataError, match=f"column {name}, which hides .* Rename"):
                    mrr_of(path, {1: [6]}, settings={"order": "row"})


def test_several_csv_files(tmp_path: Path) -> None:
    table = lists_table()
    write_csv(tmp_path / "a1.csv", table.slice(0, 4))
    write_csv(tmp_path / "a2.csv", table.slice(4))
    check(values(str(tmp_path / "a*.csv")))


def test_quotes_of_a_later_csv_file(tmp_path: Path) -> None:
    """The engine looks for quotes in the first file, and read those of the others as values."""
    (tmp_path / "a.csv").write_text(HEADER + "u1,i0,1\nu1,i2,2\n")
    for quoted in ('"""i1"""', '"i""1"', '"i1"', '"i,1"'):
        (tmp_path / "b.csv").write_text(HEADER + f"u2,{quoted},1\nu2,i2,2\n")
        truth = {"u2": [quoted[1:-1].replace('""', '"')]}
        assert mrr_of(str(tmp_path / "*.csv"), truth) == [1.0]


def test_ids_of_csv_files_that_are_numbers_in_one_of_them(tmp_path: Path) -> None:
    """Ids are read as in one file: as they stand, unless all of them are whole numbers."""
    (tmp_path / "a.csv").write_text(HEADER + "1,10,1\n1,011,2\n")
    for others in ("2,x,1\n2,10,2\n", "2,2020-01-02,1\n2,10,2\n", "2,1.5,1\n2,10,2\n"):
        (tmp_path / "b.csv").write_text(HEADER + others)
        assert mrr_of(tmp_path, {1: ["10"], 2: ["10"]}) == [1.0, 0.5]


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
    told = r"recommendations: .*a\.csv has a column note, but .*b\.csv only has user_id, item_id"
    with pytest.raises(sm.DataError, match=told):
        Evaluator(tmp_path, truth_table())


HEADER = "user_id,item_id,rank\n"


def test_names_of_several_columns(tmp_path: Path) -> None:
    """The engine renames the second, and the first was read."""
    for header, name in (("rank,rank", "rank"), ("rank,Rank", "rank"), ("RANK,Rank", "rank")):
        (tmp_path / "a.csv").write_text(f"user_id,item_id,{header}\nu1,a,1,2\nu1,b,2,1\n")
        told = rf"column {name}: several columns in the header of .*a\.csv have this name"
        with pytest.raises(sm.DataError, match=told):
            Evaluator(tmp_path / "a.csv", {"u1": ["b"]})
    lists = tmp_path / "b.csv"
    lists.write_text("user_id,item_id,rank,market,Market,,\nu1,a,1,x,y,,\nu1,b,2,x,y,,\n")
    with Evaluator(lists, {"u1": ["b"]}) as evaluator:
        assert evaluator.per_user("mrr")["mrr"].tolist() == [1 / 2]
        with pytest.raises(sm.DataError, match="column market: several columns in the header"):
            evaluator.evaluate("mrr", by="recommendations.market")
    with pytest.raises(sm.UsageError, match="It has user_id, item_id, rank, column5, column6"):
        Evaluator(lists, {"u1": ["b"]}, where={"recommendations": "market = 'x'"})


def test_a_split_writes_no_column_of_an_unclear_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("user_id,item_id,timestamp,x,X\nu1,a,1,5,6\nu1,b,2,5,6\n")
    with pytest.raises(sm.DataError, match=r"column x: several columns .* Rename one"):
        sm.split(path, tmp_path / "parts", by="time", at=2)


def test_packed_files_without_rows_or_torn(tmp_path: Path) -> None:
    header = HEADER.encode()
    zstd = pa.compress(header, "zstd", asbytes=True)
    for name, content, told in (
        ("a.csv.gz", packed(header), "is empty: the file has a header"),
        ("b.csv.gz", packed(b""), "is empty$"),
        ("a.jsonl.gz", packed(b"\n"), "is empty$"),
        ("c.csv.gz", packed(header)[:-9], "is damaged or incomplete"),
        ("d.csv.gz", header, "is damaged or incomplete: Not a gzipped file"),
        ("a.csv.zst", zstd, "has a header"),
        ("b.csv.zst", zstd[:-1], "incomplete"),
        ("c.csv.zst", header, "is damaged or incomplete"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(sm.DataError, match=told):
            Evaluator(tmp_path / name, truth_table())


def test_a_packed_file_that_is_torn_near_its_end(tmp_path: Path) -> None:
    text = HEADER + "".join(f"{n},{n * 7919 % 100_003},1\n" for n in range(50_000))
    packed = pa.compress(text.encode(), "zstd", asbytes=True)
    path = tmp_path / "a.csv.zst"
    path.write_bytes(packed)
    with Evaluator(path, truth_table()) as evaluator:
        assert evaluator.per_user("recall")["user_id"].tolist() == list(TRUTH)
    path.write_bytes(packed[:-5])
    with pytest.raises(sm.DataError, match="damaged or incomplete: Truncated"):
        Evaluator(path, truth_table())


UNCLOSED = (
    r"recommendations: \S+/a\.csv has an unclosed quote in or after line {}\. Close the quote; in "
    r"values that contain quotes, double them and enclose the value in quotes$"
)


def test_no_id_is_made_by_a_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for lines, told in {
        'u1,"i1,1\nu1,i2,2\n': UNCLOSED.format(2),
        'u1,i1,1\nu1,i2,2\n"u2,i1,1\n': UNCLOSED.format(4),
        'u1,"i1",1\nu1,"i2,2\n': UNCLOSED.format(3),
        "u1,i1,1\nu1,i\0,2\n": "column item_id: .*NUL byte",
        "u1,i1,1\n\0u1,i2,1\n": "column user_id: .*NUL byte",
    }.items():
        path.write_text(HEADER + lines)
        with pytest.raises(sm.DataError, match=told):
            Evaluator(path, {"u1": ["i1"]})


def test_an_unclosed_quote_far_down_a_long_file(tmp_path: Path) -> None:
    """There, the engine finds single quotes, which the file lacks, and reads the others as text."""
    rows = [f'{n},"i{n % 20}",1' if n % 10 == 3 else f"{n},i{n % 20},1" for n in range(60_000)]
    rows[50_003] = rows[50_003].replace('",', ",")
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n")
    with pytest.raises(sm.DataError, match=UNCLOSED.format(50_005)):
        Evaluator(path, pd.DataFrame({"user_id": [1], "item_id": ["i1"]}))


def test_an_id_of_several_lines_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(HEADER + 'u1,"i1,1\nu1,i2",2\nu2,i3,1\n')
    with pytest.warns(sm.SqlmetricsWarning, match="column item_id: .* has an id with line breaks"):
        Evaluator(path, {"u1": ["i1"]}).close()


def test_quotes_that_belong_to_ids_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(HEADER + 'u1,"""i1""",1\nu1,"i,2",2\nu1,i"3,3\n')
    with Evaluator(path, {"u1": ['"i1"', "i,2"]}) as evaluator:
        assert evaluator.per_user("recall@2", long=True)["recall"].tolist() == [1.0]


def test_a_row_of_another_length_is_refused(tmp_path: Path) -> None:
    for text, told in {
        # DuckDB would skip the first two as comments and as lines before the header
        HEADER + "u1,i1,1\n#2,i1\nu1,i2,2\n": (
            "line 3 should have 3 values, as the header has, but has 2: '#2,i1'"
        ),
        "user_id,item_id\nu2,i1\nuser_id,item_id,score\n" + "u1,i2,2\nu1,i1,1\n" * 4: (
            "line 3 should have 2 values, as the header has, but has 3: 'user_id,item_id,score'"
        ),
        HEADER + "u1,i1,1\nu1,i2\n": "line 3 should have 3 values, .*, but has 2: 'u1,i2'",
        "user_id\titem_id\tscore\nu1\ti1;i2\n": "line 2 should have 3 values, .*, but has 2",
    }.items():
        (tmp_path / "a.csv").write_text(text)
        (tmp_path / "a.csv.gz").write_bytes(packed(text.encode()))
        for name in ("a.csv", "a.csv.gz"):
            with pytest.raises(sm.DataError, match=told):
                Evaluator(tmp_path / name, {"u1": ["i1"]})


@pytest.mark.parametrize(
    "above", ["", "\n\n", "# of May\n", "# of May, 2026\n\n# als\n", "sep={}\n"]
)
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
    path.write_text(above.format(separator) + text.getvalue())
    with Evaluator(path, {"u1": ["a|b"], "#2": ["a,b"]}) as evaluator:
        found = evaluator.per_user(["recall@1", "recall@2"], long=True)
    assert found["user_id"].tolist() == ["#2", "#2", "u1", "u1"]
    assert found["recall"].tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("ends", ["\r\n|\r\n|\n", "\n|\r\n|\n", "\r\r\n", "\r|\r|\n", "\r|\r|\r\n"])
@pytest.mark.parametrize("above", ["", "# of May"])
def test_mixed_line_ends_are_told(tmp_path: Path, above: str, ends: str) -> None:
    """The advised command mends them, and the advice for other encodings is not given."""
    lines = [*filter(None, [above]), "user_id,item_id,rank", 'u1,"a\nb",1', "u1,c,2"]
    text = "".join(map("".join, zip(lines, itertools.cycle(ends.split("|")), strict=False)))
    (tmp_path / "a.csv").write_bytes(text.encode())
    with pytest.raises(sm.DataError, match=r"a\.csv has mixed line ends: ") as caught:
        Evaluator(tmp_path / "a.csv", {"u1": ["c"]})
    assert "UTF-8" not in str(caught.value)
    command = str(caught.value).partition("e.g. with ")[2]
    command = command.replace("NEW_FILE", "b.csv").replace("FILE", "a.csv")
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    with pytest.warns(sm.SqlmetricsWarning, match="line breaks"):
        assert mrr_of(tmp_path / "b.csv", {"u1": ["c"]}) == [1 / 2]


def test_a_line_break_in_quotes_is_no_line_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'user_id,item_id,rank\r\nu1,"a\nb",1\r\nu1,caf\xe9,2\r\n')
    with pytest.raises(sm.DataError, match="iconv"):
        Evaluator(path, {"u1": ["c"]})


def test_the_only_column_of_a_file_is_not_split(tmp_path: Path) -> None:
    """DuckDB would split ids at other separators, and not find the column."""
    for name, ids in {
        "users.csv": ["a|b", "c|d", "x;y"],
        "users.tsv.gz": ["a|b", "c,d", "x;y"],
    }.items():
        text = ("user_id\n" + "".join(f"{one}\n" for one in ids)).encode()
        (tmp_path / name).write_bytes(packed(text) if name.endswith("gz") else text)
        truth = dict.fromkeys(ids, ("i",))
        with Evaluator(truth, truth, users=tmp_path / name) as evaluator:
            assert sorted(evaluator.stage("users")["user_id"]) == sorted(ids)


def test_files_with_different_separators_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "u1,i1,1\n")
    (tmp_path / "b.csv").write_text((HEADER + "u2,i1,1\n").replace(",", ";"))
    with pytest.raises(sm.DataError, match="have different separators"):
        Evaluator(str(tmp_path / "*.csv"), {"u1": ["i1"]})


def test_quotes_that_are_all_closed_are_no_fault(tmp_path: Path) -> None:
    """DuckDB takes the apostrophes in these ids for quotes."""
    ids = ["'", "''", '"', 'a"b', "%", "(none)", " a", "#", "\\", "it's"]
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(["user_id", "item_id", "score"])
    writer.writerows([user, item, n] for user in ids for n, item in enumerate(ids))
    path = tmp_path / "a.tsv"
    path.write_text(text.getvalue())
    with Evaluator(path, dict.fromkeys(ids, ids[-1:])) as evaluator:
        found = evaluator.per_user("recall@1", long=True)
    assert sorted(found["user_id"]) == sorted(ids)
    assert found["recall"].tolist() == [1] * len(ids)


def test_ids_of_csv_files_stay_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text(
        "user_id,item_id,rank\n1,1e2,1\n1,007,2\n1,2020-1-1,3\n1,x,4\n"
    )
    (tmp_path / "truth.csv").write_text("user_id,item_id\n1,100\n1,7\n1,2020-01-01\n1,x\n")
    with Evaluator(tmp_path / "lists.csv", tmp_path / "truth.csv") as evaluator:
        assert evaluator.evaluate("recall")["value"][0] == 1 / 4  # x alone
        items = evaluator.stage("ranked").sort_values("rank")["item_id"]
        assert items.tolist() == ["1e2", "007", "2020-1-1", "x"]


@pytest.mark.parametrize("scores", [["-inf", "0.5", ""], ["-Infinity", "-inf"], ["inf", "1"]])
def test_infinite_scores_in_the_first_row_are_numbers(tmp_path: Path, scores: list[str]) -> None:
    """The engine alone takes them for dates, or reads the whole column as text."""
    rows = [f"1,{item},{score}" for item, score in enumerate(scores)]
    (tmp_path / "a.csv").write_text("\n".join(["user_id,item_id,score", *rows, ""]))
    numbers = [float(score) if score else None for score in scores]
    frame = pa.table({"user_id": [1] * len(rows), "item_id": range(len(rows)), "score": numbers})

    def answer(source: object) -> object:
        try:
            return mrr_of(source, {1: [1]}, settings={"masked_scores": "drop"})
        except sm.DataError as error:
            return str(error).partition(";")[0]

    assert answer(tmp_path / "a.csv") == answer(frame)


def test_texts_among_scores_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user_id,item_id,score\n1,1,-inf\n1,2,high\n")
    with pytest.raises(sm.DataError, match=r"column score: the type in .*a\.csv is VARCHAR"):
        Evaluator(tmp_path / "a.csv", {1: [1]})


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("u1,i1,5\nu1,i2,4\nu2,i3,3\n", ("u1", "i1", "5")),
        ("u1,i1,a\nu1,i2,b\nu2,i3,c\n", ("u1", "i1", "a")),
        ("u1\ti1\t5\nu2\ti2\t4\n", ("u1", "i1", "5")),
    ],
)
def test_a_first_row_is_no_header(text: str, columns: tuple[str, ...]) -> None:
    """To map the columns to its values would drop the row. Both remedies of the message work."""
    path = Path("a.tsv" if "\t" in text else "a.csv")
    path.write_text(text)
    truth = {"u1": ["i1"]}
    names = ("user_id", "item_id", "score")
    for given in ({}, dict(zip(names, columns, strict=True))):
        with pytest.raises(sm.DataError, match=rf"{path} has no header: its first line") as caught:
            Evaluator(path, truth, columns=given)
    if "a\n" in text:
        return
    query = str(caught.value).partition("in a query: ")[2].replace("['user_id', …]", str([*names]))
    path.write_text(re.sub(r"\W", "\t" if "\t" in text else ",", " ".join(names)) + "\n" + text)
    for source in (path, f"{query.partition(', header')[0]})"):
        assert mrr_of(source, truth) == [1]
    path.write_text(text)
    assert mrr_of(query, truth) == [1]


def test_parts_without_headers(tmp_path: Path) -> None:
    """As Spark writes CSV by default."""
    (tmp_path / "a.csv").write_text("1,10,5\n1,11,4\n")
    (tmp_path / "b.csv").write_text("2,12,3\n2,13,2\n")
    with pytest.raises(sm.DataError, match=r"a\.csv has no header: its first line has values"):
        Evaluator(tmp_path, truth_table())
    (tmp_path / "a.csv").write_text(HEADER + "1,11,4\n")
    with pytest.raises(sm.DataError, match=r"b\.csv has no header: its first line has values"):
        Evaluator(tmp_path, truth_table())


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("0,1,2", {"user_id": "0", "item_id": "1", "recommendations.rank": "2"}),
        (",0,1,2", {"user_id": "0", "item_id": "1", "recommendations.rank": "2"}),
        ("user,item,2026", {"user_id": "user", "item_id": "item", "recommendations.rank": "2026"}),
    ],
)
def test_names_that_are_numbers(tmp_path: Path, header: str, columns: dict[str, str]) -> None:
    """Frames without names of columns are written with their numbers."""
    rows = ["u0,i0,2", "u0,i1,1"]
    first = "0," if header.startswith(",") else ""
    (tmp_path / "a.csv").write_text("\n".join([header, *(first + row for row in rows), ""]))
    truth = pa.table({columns["user_id"]: ["u0"], columns["item_id"]: ["i0"]})
    assert mrr_of(tmp_path / "a.csv", truth, columns=columns) == [1 / 2]


def test_parts_without_rows(tmp_path: Path) -> None:
    """Jobs that write in parallel leave them."""
    write_csv(tmp_path / "b.csv", lists_table())
    (tmp_path / "a.csv").write_text(HEADER)
    check(values(tmp_path))
    (tmp_path / "c.csv").touch()
    with pytest.warns(sm.SqlmetricsWarning, match=r"c\.csv is empty and not read"):
        check(values(tmp_path))
    (tmp_path / "c.csv").write_text("user_id,item_id,score\n")  # of another table
    with pytest.raises(sm.DataError, match=r"c\.csv is empty: the file has a header but no rows"):
        Evaluator(tmp_path, truth_table())


def test_parts_of_other_formats_without_rows(tmp_path: Path) -> None:
    for suffix, empty, rows in (
        ("jsonl", "", '{"user_id": "q1", "item_id": "d1", "rank": 1}\n'),
        ("run", "\n", "q1 Q0 d1 1 1 t\n"),
    ):
        folder = tmp_path / suffix
        folder.mkdir()
        (folder / f"a.{suffix}").write_text(empty)
        (folder / f"b.{suffix}").write_text(rows)
        with pytest.warns(sm.SqlmetricsWarning, match=rf"a\.{suffix} is empty and not read"):
            assert mrr_of(folder, {"q1": ["d1"]}) == [1]


@pytest.mark.parametrize(
    ("dates", "time", "is_told"),
    [
        (["05/03/2024", "06/12/2024"], "", True),
        (["05/03/2024", "06/12/2024"], " 10:00:00", True),
        (["05/03/2024", "13/12/2024"], "", False),  # only day first
        (["05/03/2024", "12/13/2024"], "", False),  # only month first
        (["2024-03-05", "2024-12-06"], "", False),
    ],
)
def test_dates_that_may_be_month_first_are_told(
    dates: list[str], time: str, is_told: bool, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{user},{user},{date}{time}\n" for user, date in enumerate(dates)]
    path.write_text("user_id,item_id,timestamp\n" + "".join(rows))
    lists = {0: [0], 1: [1]}
    with sm.Evaluator(lists, path, check=False) as evaluator:
        evaluator.evaluate("recall@1")
    texts = [str(one.message) for one in recwarn if "month first" in str(one.message)]
    assert len(texts) == is_told
    if is_told:
        assert f"a.csv, such as 05/03/2024{time}, were read day first" in texts[0]
        query = texts[0].partition("pass the query ")[2]
        with sm.Evaluator(lists, query, check=False) as evaluator:
            months = evaluator.evaluate("recall@1", by_item="month")["month"].tolist()
        assert months == ["2024-05", "2024-06"]


def test_dates_of_several_files_are_read_by_one_query(tmp_path: Path) -> None:
    paths = [tmp_path / f"{user}.csv" for user in range(2)]
    for user, path in enumerate(paths):
        path.write_text(f"user_id;item_id;timestamp\n{user};{user};05/0{user + 1}/2024\n")
    with (
        pytest.warns(sm.SqlmetricsWarning, match="may be month first") as warned,
        sm.Evaluator({0: [0], 1: [1]}, paths, check=False),
    ):
        query = str(warned[0].message).partition("pass the query ")[2]
    with sm.Evaluator({0: [0], 1: [1]}, query, check=False) as evaluator:
        assert evaluator.evaluate("recall@1")["n_users"].tolist() == [2]


def test_another_encoding_than_utf_8_is_told(tmp_path: Path) -> None:
    truth = {"u1": ["caf\xe9"]}
    for name, text in {
        "a.csv": "user_id,item_id,rank\nu1,caf\xe9,1\n",
        "a.jsonl": '{"user_id": "u1", "item_id": "caf\xe9", "rank": 1}\n',
        "a.run": "u1 Q0 caf\xe9 1 0.9 tag\n",
    }.items():
        path = tmp_path / name
        path.write_text(text, encoding="latin-1")
        with pytest.raises(sm.DataError, match=r"(?i)utf-8.* Convert .* iconv -f LATIN1 -t UTF-8$"):
            values(path, truth)
        path.write_text(text, encoding="utf-8")
        assert mrr_of(path, truth) == [1]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("scores", "best"),
    [
        (("7,25", "7,5"), "b"),  # the item with the highest score, in each reading
        (("0,750", "0,500"), "a"),
        (("999", "1,500"), "ab"),  # 1.5 or 1500
        (("1,250,000", "2,500"), "a"),
        (("1,500.25", "999.5"), "a"),
        (("1,500", "2.5"), "a"),
    ],
)
def test_numbers_with_commas_are_told(scores: tuple[str, str], best: str) -> None:
    """The queries of the message read them, of all files; two, if the commas have two meanings."""
    for user in ("u1", "u2"):
        rows = [f"{user};{item};{score}\n" for item, score in zip("ab", scores, strict=True)]
        Path(f"{user}.csv").write_text("user_id;item_id;score\n" + "".join(rows))
    for source, users in (("u1.csv", ["u1"]), (["u1.csv", "u2.csv"], ["u1", "u2"])):
        with pytest.raises(sm.DataError, match="is VARCHAR, not a number") as caught:
            Evaluator(source, {"u1": ["a"]})
        queries = re.findall(
            r"(?:SELECT .*? )?FROM read_csv\(.*?\)(?=; if|, or)", str(caught.value)
        )
        for query, item in zip(queries, best, strict=True):
            assert mrr_of(query, {user: [item] for user in users}) == [1.0] * len(users)


@pytest.mark.parametrize("scores", [("1.250,75", "2,5"), ("1,500", "2,5", "3.5")])
def test_numbers_that_no_query_reads(tmp_path: Path, scores: Sequence[str]) -> None:
    rows = [f"u1;i{n};{score}\n" for n, score in enumerate(scores)]
    (tmp_path / "a.csv").write_text("user_id;item_id;score\n" + "".join(rows))
    told = r"Write numbers with a decimal point and no other separator, or map"
    with pytest.raises(sm.DataError, match=told):
        Evaluator(tmp_path / "a.csv", {"u1": ["a"]})


@pytest.mark.parametrize("ends", [["\r\n", "\n"], ["\n"] * 40_000 + ["\r\n"], ["\r", "\n"]])
def test_trec_files_with_mixed_line_ends_are_named(tmp_path: Path, ends: list[str]) -> None:
    good = {"run": tmp_path / "good.run", "qrels": tmp_path / "good.qrels"}
    for kind, line in (("run", "q{} Q0 d1 1 0.9 x"), ("qrels", "q{} 0 d1 1")):
        good[kind].write_text(line.format(0) + "\n")
        lines = [line.format(n) + end for n, end in enumerate(ends)]
        (tmp_path / f"mixed.{kind}").write_text("".join(lines), newline="")
    for run, qrels, table in (
        (tmp_path / "mixed.run", good["qrels"], "recommendations"),
        (good["run"], tmp_path / "mixed.qrels", "interactions"),
    ):
        with (
            sm.Evaluator(run, qrels) as evaluator,
            pytest.raises(sm.DataError, match=rf"^{table}: .*mixed\..* has mixed line ends: "),
        ):
            evaluator.evaluate("recall@1")
