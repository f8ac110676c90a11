"""TREC runs and qrels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.source_rows import check, ranked, relevant, trec_run, values


def trec_qrels(rows: list[tuple[Any, Any]], delimiter: str = " ") -> str:
    lines = [[user, 0, item, 1] for user, item in rows]
    lines.append([1, 0, 99, 0])  # judged and not relevant
    return "".join(delimiter.join(map(str, line)) + "\n" for line in lines)


def test_trec(tmp_path: Path) -> None:
    (tmp_path / "line=9").mkdir()  # a word of such files
    pairs = [("run", "qrels"), ("a.run", "a.qrels"), ("a.txt", "b.test")]
    for names in [*pairs, ("line=9/run", "line=9/qrels")]:
        for delimiter in (" ", "\t", "  "):
            run, qrels = (tmp_path / name for name in names)
            run.write_text(trec_run(ranked(), delimiter))
            qrels.write_text(trec_qrels(relevant(), delimiter))
            check(values(run, qrels), str)


def test_trec_with_blank_lines_and_windows_ends(tmp_path: Path) -> None:
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_bytes(("\n" + trec_run(ranked()) + "\n").replace("\n", "\r\n").encode())
    qrels.write_text(trec_qrels(relevant()).rstrip("\n"))
    check(values(run, qrels), str)


RATINGS = "".join(f"{user}\t{6 + user}\t{1 + user % 5}\t{{}}\n" for user in range(9))
NAMES = ["user_id", "item_id", "rating", "timestamp"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (RATINGS.format(*[880_000_000] * 9), "its fourth column has times"),
        (RATINGS.format(*range(9)), "its second column has several values"),
        (RATINGS.format(*range(9)).replace("\t", " "), "its second column has several values"),
        ("1 10 5 880000000\n", "its fourth column has times"),
    ],
)
def test_ratings_without_a_header_are_no_qrels(text: str, why: str) -> None:
    """The rating became the item, and the time the relevance."""
    for name in ("u.data", "ratings.txt", "u1"):
        Path(name).write_text(text)
        told = rf"{name} has no header, and is not .*{why}"
        with pytest.raises(sm.DataError, match=told) as caught:
            Evaluator({0: [6]}, name)
    query = str(caught.value).partition("in a query: ")[2].replace("['user_id', …]", str(NAMES))
    user, item, *_ = map(int, text.split())
    with Evaluator({user: [item]}, query) as evaluator:
        found = evaluator.per_user("recall@1", long=True).set_index("user_id")["recall"]
    assert found[user] == 1


def test_six_columns_without_a_header_are_no_run(tmp_path: Path) -> None:
    (tmp_path / "lists.txt").write_text("u1 i1 x 1 0.9 a\nu1 i2 x 2 0.8 a\n")
    with pytest.raises(sm.DataError, match=r"is not a TREC run .* second column has several"):
        Evaluator(tmp_path / "lists.txt", {"u1": ["i1"]})


def test_qrels_are_read_with_any_suffix(tmp_path: Path) -> None:
    """MS MARCO's are `qrels.dev.small.tsv`."""
    for name in ("qrels.dev.tsv", "dev.csv", "dev.txt"):
        (tmp_path / name).write_text("1\t0\t10\t1\n2\t0\t12\t1\n")
        with Evaluator({"1": ["10", "11"], "2": ["13", "12"]}, tmp_path / name) as evaluator:
            assert evaluator.per_user("mrr")["mrr"].tolist() == [1, 1 / 2]


def test_qrels_of_several_rounds(tmp_path: Path) -> None:
    """The second column of TREC-COVID's qrels is the round."""
    (tmp_path / "qrels.txt").write_text("1 0.5 a 1\n1 1 b 2\n")
    with Evaluator({"1": ["c", "b"]}, tmp_path / "qrels.txt") as evaluator:
        assert evaluator.per_user("mrr")["mrr"].tolist() == [1 / 2]


GOOD = "q1 Q0 d2 1 0.9 tag\n"


def test_a_first_line_that_is_no_row_of_a_run(tmp_path: Path) -> None:
    for text, told in {
        "q1 Q0 d2 1 None tag\n": "rank and score are numbers: 'q1 Q0 d2 1 None tag'",
        "qid Q0 docno rank score tag\n" + GOOD: "'qid Q0 docno rank score tag'",
        "qid iter docno rank score tag\n" + GOOD: "'qid iter docno rank score tag'",
        "# made by x\n" + GOOD: "'# made by x'",
        "q1 Q0 d2 1 0.9\n": "'q1 Q0 d2 1 0.9'",
        "q1 Q0 d2 1 0.9 my tag\n": "'q1 Q0 d2 1 0.9 my tag'",
        "q1 Q0 d2 1 0,9 tag\n": "'q1 Q0 d2 1 0,9 tag'",
    }.items():
        (tmp_path / "a.trec").write_text(text)
        line = rf"a\.trec, line 1 is not a line of a TREC .*{told}"
        with pytest.raises(sm.DataError, match=line):
            Evaluator(tmp_path / "a.trec", {"q1": ["d2"]})


def test_a_first_line_that_is_no_row_of_qrels(tmp_path: Path) -> None:
    (tmp_path / "truth").write_text("query iter doc rel\nq1 0 d2 1\n")
    with pytest.raises(sm.DataError, match=r"line 1 is not .* qrels .* the relevance is a number"):
        Evaluator({"q1": ["d2"]}, tmp_path / "truth")


def test_a_later_line_that_is_no_row_of_a_run(tmp_path: Path) -> None:
    for line, told in {
        "q1 Q0 d1 2 None tag": "the score in a line of a TREC run must be a number: q1 Q0 d1",
        "q1 Q0 d1 2": "a line of a TREC run must have 6 columns, not 4: q1 Q0 d1 2",
        "q1 Q0 d1 2 0.8 other": "the run tag tag, but another line has the tag other",
    }.items():
        (tmp_path / "run").write_text(GOOD + line + "\n")
        with pytest.raises(sm.DataError, match=told):
            values(tmp_path / "run", {"q1": ["d2"]})


def test_runs_of_two_tags_are_read_as_models(tmp_path: Path) -> None:
    """Their lists were merged where they shared no item. The remedy of the message works."""
    for tag, items in (("a", "d1 d2"), ("b", "d3 d4")):
        lines = [f"q1 Q0 {item} 1 {-n} {tag}\n" for n, item in enumerate(items.split())]
        (tmp_path / f"{tag}.run").write_text("".join(lines))
    with pytest.raises(sm.DataError, match=r"run tag a, .* tag b\. Write each run to its own file"):
        values(str(tmp_path / "*.run"), {"q1": ["d2"]})
    models = {tag: tmp_path / f"{tag}.run" for tag in ("a", "b")}
    with Evaluator(models, {"q1": ["d2"]}) as evaluator:
        assert evaluator.evaluate("mrr")["value"].tolist() == [1 / 2, 0]
