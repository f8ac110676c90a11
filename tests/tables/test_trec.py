"""TREC runs and qrels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.source_rows import check, ranked, relevant, trec_run, values


def test_words_of_trec_files_are_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "line=9"
    folder.mkdir()
    (folder / "run").write_text(trec_run(ranked()))
    (folder / "qrels").write_text(trec_qrels(relevant()))
    check(values(folder / "run", folder / "qrels"), str)


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
