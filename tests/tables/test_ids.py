"""Types of ids: integers of every width, text, UUIDs, decimals, dates."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.source_rows import (
    CHECKED,
    LISTS,
    TRUTH,
    check,
    columns_of,
    lists_table,
    ranked,
    truth_table,
    values,
    write_csv,
    write_jsonl,
)


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


@pytest.mark.parametrize("offset", [-20, 2**53, 2**62])
def test_ids_of_json_files_are_whole_numbers_in_parquet(tmp_path: Path, offset: int) -> None:
    """DuckDB reads them with 128 bits, which a Parquet file would hold as doubles."""
    lists, truth = (
        pa.table({"user_id": [offset, offset + 1], "item_id": [1, 2], **more})
        for more in ({"rank": [1, 1]}, {})
    )
    arguments = ["per-user", "recall@1", "-o", str(tmp_path / "values.parquet")]
    for option, table in (("-r", lists), ("-i", truth)):
        arguments += [option, str(write_jsonl(tmp_path / f"{option}.jsonl", table))]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    ids = pq.read_table(tmp_path / "values.parquet")["user_id"]
    assert [int(value) for value in ids.to_pylist()] == [offset, offset + 1]
    assert not pa.types.is_floating(ids.type)


def test_a_frame_without_rows_has_ids_of_any_type() -> None:
    users = pd.DataFrame({"user_id": [], "country": []}, dtype="object")
    lists = pd.DataFrame({"user_id": [1], "item_id": [2], "rank": [1]})
    with sm.Evaluator(lists, lists[["user_id", "item_id"]], users=users) as evaluator:
        assert evaluator.evaluate("recall@1")["value"].tolist() == [1]


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


@pytest.mark.parametrize(
    ("item_ids", "truth_ids", "found", "remedy"),
    [
        (
            [1.0, None],
            [1, 2],
            "1 of 2 ids is missing in recommendations; pandas converts a column of integers to "
            "floats if some are missing",
            "remove the rows without an id and convert the ids of recommendations to integers, for "
            "example with frame.dropna(subset=['sku no']).astype({'sku no': 'int64'}) in pandas or "
            'CAST("sku no" AS BIGINT) in SQL',
        ),
        (
            [1.0, 2.0],
            ["1", "2"],
            "DOUBLE and VARCHAR, so no rows would match. Ids are never converted",
            "convert the ids of recommendations to text, for example with "
            "frame.astype({'sku no': 'int64'}).astype({'sku no': str}) in pandas or "
            'CAST(CAST("sku no" AS BIGINT) AS VARCHAR) in SQL',
        ),
        (
            [1.5, 2.0],
            [1, 2],
            "1 of 2 ids of recommendations are not whole numbers",
            "check that both tables have the same kind of id",
        ),
        (
            ["1", "2"],
            [1, 2],
            "VARCHAR and BIGINT, so no rows would match. Ids are never converted",
            "convert the ids of interactions, for example with frame.astype({'item_id': str}) in "
            "pandas or CAST(item_id AS VARCHAR) in SQL",
        ),
    ],
    ids=["missing", "floats and text", "fractions", "text and integers"],
)
def test_ids_of_different_types_are_answered_with_a_conversion(
    item_ids: list[Any], truth_ids: list[Any], found: str, remedy: str
) -> None:
    lists = pd.DataFrame({"user_id": [1, 1], "sku no": item_ids, "rank": [1, 2]})
    truth = pd.DataFrame({"user_id": [1, 1], "item_id": truth_ids})
    with pytest.raises(sm.DataError) as raised:
        sm.Evaluator(lists, truth, columns={"recommendations.item_id": "sku no"})
    assert str(raised.value.found).endswith(found)
    assert str(raised.value.remedy) == remedy
