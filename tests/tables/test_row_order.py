"""The order of rows as the ranking."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.source_rows import (
    both,
    check,
    columns_of,
    connection_with_tables,
    lists_table,
    values,
    write_csv,
    write_jsonl,
    write_parquet,
)


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
        with Evaluator(source, LARGE_TRUTH, threads=threads, **options) as evaluator:
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
    with Evaluator(
        frame, LARGE_TRUTH, connection=connection, settings={"order": "row"}
    ) as evaluator:
        result = evaluator.per_user("mrr")
    found = dict(zip(result["user_id"], result["mrr"], strict=True))
    assert found == pytest.approx(large_expected(), abs=1e-12)


def test_order_of_rows_of_several_models() -> None:
    lists = {"a": lists_table("row"), "b": lists_table("row").take(list(range(10))[::-1])}
    both(values(lists, keys=("model", "user_id"), settings={"order": "row"}))


def test_sources_without_an_order_of_rows_are_refused(tmp_path: Path) -> None:
    connection = connection_with_tables()
    connection.execute("CREATE VIEW seen AS SELECT user_id, item_id FROM lists")
    for source in ("lists", "seen", write_jsonl(tmp_path / "a.jsonl", lists_table("row"))):
        with pytest.raises(sm.DataError, match=r"no row order.*rank or score"):
            values(source, connection=connection, settings={"order": "row"})


def test_rows_break_ties() -> None:
    lists = lists_table("score")
    lists = lists.set_column(2, "score", pa.array([1.0] * 10))
    check(values(lists, settings={"ties": "row"}))
