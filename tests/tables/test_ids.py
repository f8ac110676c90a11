"""Types of ids: integers of every width, text, UUIDs, decimals, dates."""

from __future__ import annotations

import decimal
import json
import uuid
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
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

WIDTHS = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()]


def test_integers_of_every_width_match_each_other() -> None:
    for kind in [*WIDTHS, pa.uint64()]:
        table = lists_table()
        for position, name in enumerate(("user_id", "item_id")):
            table = table.set_column(position, name, table[name].cast(kind))
        # upside down: the order of rows means nothing where there are ranks
        turned = table.take(list(range(table.num_rows))[::-1])
        check(values(turned, truth_table(), **CHECKED))


TEXTS: list[Callable[[int], str]] = [
    lambda n: f"użytkownik-{n}",
    lambda n: f"o'{n}\"--;",
    lambda n: "" if n == 12 else str(n),
    lambda n: f" {n} ",
    lambda n: f"{n}\n{n}",
    lambda n: "NULL" if n == 12 else str(n),
    lambda n: "\U0001f600" * n,
]


def test_text_ids() -> None:
    for text in TEXTS:
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


def test_ids_of_json_files_are_whole_numbers_in_parquet(tmp_path: Path) -> None:
    """DuckDB reads them with 128 bits, which a Parquet file would hold as doubles."""
    for offset in (-20, 2**53, 2**62):
        truth = pa.table({"user_id": [offset, offset + 1], "item_id": [1, 2]})
        lists = write_jsonl(tmp_path / "lists.jsonl", truth.append_column("rank", [[1, 1]]))
        write_jsonl(tmp_path / "truth.jsonl", truth)
        with Evaluator(lists, tmp_path / "truth.jsonl") as evaluator:
            evaluator.write_parquet(tmp_path / f"{offset}.parquet", "recall@1", per_user=True)
        ids = pq.read_table(tmp_path / f"{offset}.parquet")["user_id"]
        assert [int(value) for value in ids.to_pylist()] == [offset, offset + 1]
        assert not pa.types.is_floating(ids.type)


def test_a_frame_without_rows_is_empty_whatever_its_types() -> None:
    users = pd.DataFrame({"user_id": [], "country": []}, dtype="object")
    lists = pd.DataFrame({"user_id": [1], "item_id": [2], "rank": [1]})
    with (
        Evaluator(lists, lists[["user_id", "item_id"]], users=users) as evaluator,
        pytest.raises(sm.DataError, match=r"^users: the table is empty"),
    ):
        evaluator.evaluate("recall@1")


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


NEVER = "so no rows would match. Ids are never converted"
SAME_KIND = "check that both tables have the same kind of id"
D = decimal.Decimal
# ids of the column "sku no" of lists, and of item_id of interactions; what the message says
DIFFERENT: list[tuple[list[Any], list[Any], str, str]] = [
    (
        [1.0, None], [1, 2],
        "1 of 2 ids is missing in recommendations; pandas converts a column of integers to "
        "floats if some are missing",
        "remove the rows without an id and convert the ids of recommendations to integers, for "
        "example with frame.dropna(subset=['sku no']).astype({'sku no': 'int64'}) in pandas or "
        'CAST("sku no" AS BIGINT) in SQL',
    ),
    (
        [1.0, 2.0], ["1", "2"], f"DOUBLE and VARCHAR, {NEVER}",
        "convert the ids of recommendations to text, for example with "
        "frame.astype({'sku no': 'int64'}).astype({'sku no': str}) in pandas or "
        'CAST(CAST("sku no" AS BIGINT) AS VARCHAR) in SQL',
    ),
    ([1.5, 2.0], [1, 2], "1 of 2 ids of recommendations is not a whole number", SAME_KIND),
    (
        ["1", "2"], [1, 2], f"VARCHAR and BIGINT, {NEVER}",
        "convert the ids of interactions, for example with frame.astype({'item_id': str}) in "
        "pandas or CAST(item_id AS VARCHAR) in SQL",
    ),
    (
        [D(1), D(2)], [1, 12], f"DECIMAL(1,0) and BIGINT, {NEVER}",
        "convert the ids of recommendations to integers, for example with "
        "frame.astype({'sku no': 'int64'}) in pandas or CAST(\"sku no\" AS BIGINT) in SQL",
    ),
    (
        [D(10**20), D(2)], ["1", "2"], f"DECIMAL(21,0) and VARCHAR, {NEVER}",
        "convert the ids of recommendations to text, for example with "
        'CAST(CAST("sku no" AS HUGEINT) AS VARCHAR) in SQL',
    ),
    (
        [b"1", b"2"], ["1", "2"], f"BLOB and VARCHAR, {NEVER}",
        "convert the ids of recommendations, for example with "
        "frame['sku no'].str.decode('utf-8') in pandas or decode(\"sku no\") in SQL",
    ),
    (  # pandas would write True, SQL true
        [True, False], ["true", "false"], f"BOOLEAN and VARCHAR, {NEVER}",
        'convert the ids of recommendations, for example with CAST("sku no" AS VARCHAR) in SQL',
    ),
]  # fmt: skip


def test_ids_of_different_types_are_answered_with_a_conversion() -> None:
    for item_ids, truth_ids, found, remedy in DIFFERENT:
        lists = pd.DataFrame({"user_id": [1, 1], "sku no": item_ids, "rank": [1, 2]})
        truth = pd.DataFrame({"user_id": [1, 1], "item_id": truth_ids})
        with pytest.raises(sm.DataError) as raised:
            Evaluator(lists, truth, columns={"recommendations.item_id": "sku no"})
        assert str(raised.value.found).endswith(found)
        assert str(raised.value.remedy) == remedy


def test_uuids_and_integers_have_no_conversion(tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    duckdb.sql("SELECT 1 AS user_id, uuid() AS item_id, 1 AS rank").write_parquet(str(path))
    with pytest.raises(sm.DataError) as raised:
        Evaluator(path, pa.table({"user_id": [1], "item_id": [1]}))
    assert str(raised.value.found).endswith(f"UUID and BIGINT, {NEVER}")
    assert str(raised.value.remedy) == SAME_KIND


def test_conversions_of_ids_that_messages_propose(tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    held: list[Any]
    for held, wanted, remedy in (
        ([1.0, 2.0], [1, 2], "CAST(item_id AS BIGINT)"),
        ([1.0, 2.0], ["1", "2"], "CAST(CAST(item_id AS BIGINT) AS VARCHAR)"),
        ([D("1.00"), D(2)], [1, 2], "CAST(item_id AS BIGINT)"),
        ([D(10**20), D(2)], [str(10**20), "2"], "CAST(CAST(item_id AS HUGEINT) AS VARCHAR)"),
        (["é".encode(), b"b"], ["é", "b"], "decode(item_id)"),
        ([1, 2], ["1", "2"], "CAST(item_id AS VARCHAR)"),
        ([True, False], ["true", "false"], "CAST(item_id AS VARCHAR)"),
        (
            [datetime(2020, 1, 1), datetime(2020, 1, 1, 1)],
            ["2020-01-01 00:00:00", "2020-01-01 01:00:00"], "CAST(item_id AS VARCHAR)",
        ),
    ):  # fmt: skip
        pq.write_table(pa.table({"user_id": [1, 1], "item_id": held, "rank": [1, 2]}), path)
        truth = pa.table({"user_id": [1, 1], "item_id": wanted})
        with pytest.raises(sm.DataError) as raised:
            Evaluator(path, truth)
        assert f"{remedy} in SQL" in str(raised.value)
        query = f"SELECT user_id, {remedy} AS item_id, rank FROM '{path}'"
        with Evaluator(query, truth) as evaluator:
            assert evaluator.rows("recall@2")["value"] == [1]


S, MS, US, NS = (pa.timestamp(unit) for unit in ("s", "ms", "us", "ns"))
US_UTC, NS_UTC = pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")
AT_UTC = "item_id AT TIME ZONE 'UTC'"
of_zoned_nanoseconds = pytest.mark.skipif(
    not duckdb.sql("FROM duckdb_types() WHERE type_name = 'timestamptz_ns'").fetchall(),
    reason="this version of DuckDB reads nanoseconds with a time zone as microseconds",
)


@pytest.mark.parametrize(
    ("coarse", "fine", "remedy"),
    [
        (pa.date32(), S, "CAST(item_id AS TIMESTAMP_S)"),
        (pa.date32(), US, "CAST(item_id AS TIMESTAMP)"),
        (S, NS, "CAST(item_id AS TIMESTAMP_NS)"),
        (S, MS, "CAST(item_id AS TIMESTAMP_MS)"),
        (US, NS, "CAST(item_id AS TIMESTAMP_NS)"),
        (US, US_UTC, AT_UTC),
        (pa.date32(), US_UTC, "CAST(item_id AS TIMESTAMP) AT TIME ZONE 'UTC'"),
        pytest.param(
            S,
            NS_UTC,
            "CAST(item_id AS TIMESTAMP_NS) AT TIME ZONE 'UTC'",
            marks=of_zoned_nanoseconds,
        ),
        (US_UTC, NS, f"CAST({AT_UTC} AS TIMESTAMP_NS)"),
        pytest.param(US_UTC, NS_UTC, "CAST(item_id AS TIMESTAMPTZ_NS)", marks=of_zoned_nanoseconds),
        pytest.param(NS, NS_UTC, AT_UTC, marks=of_zoned_nanoseconds),
        (US_UTC, pa.string(), f"CAST({AT_UTC} AS VARCHAR)"),
    ],
)
def test_times_are_converted_to_the_finer_type(
    coarse: pa.DataType, fine: pa.DataType, remedy: str
) -> None:
    """Ids stay different, whichever table has the coarser type, and in every time zone."""
    times = [datetime(2020, 1, 1) + timedelta(hours=hours) for hours in (0, 24, 25)]
    finer = pa.array([str(time) for time in times] if fine == pa.string() else times).cast(fine)
    of_types = {"coarse": pa.array(times[:2]).cast(coarse), "fine": finer}
    engine = duckdb.connect()
    engine.execute("SET TimeZone = 'America/New_York'")
    for ranked_type, relevant_type, recall in (("coarse", "fine", 2 / 3), ("fine", "coarse", 1)):
        ids = of_types[ranked_type]
        ranks = range(1, len(ids) + 1)
        lists = pa.table({"user_id": [1] * len(ids), "item_id": ids, "rank": ranks})
        ids = of_types[relevant_type]
        tables = {
            "recommendations": lists,
            "interactions": pa.table({"user_id": [1] * len(ids), "item_id": ids}),
        }
        with pytest.raises(sm.DataError) as raised:
            Evaluator(**tables)
        coarser = "recommendations" if ranked_type == "coarse" else "interactions"
        assert f"convert the ids of {coarser}, for example with {remedy} in SQL" in str(
            raised.value.remedy
        )
        engine.register("held", tables[coarser])
        tables[coarser] = engine.sql(f"SELECT * REPLACE ({remedy} AS item_id) FROM held")
        with Evaluator(**tables) as evaluator:
            assert evaluator.rows("recall@3")["value"] == pytest.approx([recall])


@pytest.mark.parametrize("offset", [2**64, 10**21, 10**30])
def test_ids_above_64_bits_in_json_files(tmp_path: Path, offset: int) -> None:
    """The engine reads such integers as floating-point numbers, of which neighbours are equal."""
    rows = [{"user_id": offset + user, "item_id": offset + user, "rank": 1} for user in (1, 2)]
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    whole_lists = tmp_path / "whole_lists.jsonl"
    lists = [{"user_id": row["user_id"], "item_id": [row["item_id"], offset]} for row in rows]
    whole_lists.write_text("".join(f"{json.dumps(row)}\n" for row in lists))
    truth = tmp_path / "truth.csv"
    truth.write_text("user_id,item_id\n" + f"{offset + 1},{offset + 1}\n{offset + 2},{offset}\n")
    for source, others in ((path, path), (path, truth), (whole_lists, whole_lists)):
        with Evaluator(source, others) as evaluator:
            found = evaluator.evaluate(["hit_rate@1", "n_relevant"])
        assert found["n_users"].tolist() == [2, 2]
        assert found["value"].tolist() == [
            0.5 if others is truth else 1, 2 if others is whole_lists else 1
        ]  # fmt: skip


def test_floating_point_ids_that_can_stand_for_several_ids() -> None:
    for kind, last, type_name in ((pa.float64(), 2**53, "DOUBLE"), (pa.float32(), 2**24, "FLOAT")):
        ids = pa.array([1.0, last - 1.0], kind)
        lists = pa.table({"user_id": [1, 1], "item_id": ids, "rank": [1, 2]})
        with Evaluator(lists, lists) as evaluator:
            assert evaluator.rows("recall@2")["value"] == [1]
        ids = pa.array([1.0, float(last), None], kind)
        lists = pa.table({"user_id": [1, 1, 1], "item_id": ids, "rank": [1, 2, 3]})
        with pytest.raises(sm.DataError, match=f"1 of 3 ids is {last} or more, .* as {type_name}"):
            Evaluator(lists, lists)
