"""Fingerprints of tables, and the users of both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sqlmetrics.record import fingerprints
from sqlmetrics.sql.binding import input_node
from tests.support.evaluators import Evaluator
from tests.support.recorded import LISTS, TRUTH, changed, contents, engine, several_files, shuffled


def content_of(query: str) -> fingerprints.Content:
    """Read what a query returns."""
    node = input_node("interactions", query, "interactions")
    (found,) = fingerprints.content_of(engine(), node)
    return found


# ---------------------------------------------------------------- fingerprints


def written(folder: Path, write: Callable[[pa.Table, Path], Any], name: str) -> str:
    write(LISTS, folder / name)
    return str(folder / name)


def with_types(**types: pa.DataType) -> pa.Table:
    return pa.table(
        {name: LISTS[name].cast(types.get(name, LISTS[name].type)) for name in LISTS.column_names}
    )


def polars_frame(_: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(LISTS.to_pydict())


SAME: dict[str, Callable[[Path], Any]] = {
    "shuffled": lambda _: shuffled(LISTS),
    "columns in another order": lambda _: LISTS.select(["score", "item_id", "user_id"]),
    "one more column": lambda _: LISTS.append_column("note", pa.nulls(LISTS.num_rows)),
    "chunks": lambda _: pa.concat_tables([LISTS.slice(0, 7), LISTS.slice(7)]),
    "several files": several_files,
    "row groups": lambda folder: written(
        folder, lambda table, path: pq.write_table(table, path, row_group_size=9), "a.parquet"
    ),
    "csv": lambda folder: written(folder, pyarrow.csv.write_csv, "a.csv"),
    "pandas": lambda _: LISTS.to_pandas(),
    "pandas categories": lambda _: LISTS.to_pandas().astype({"item_id": "category"}),
    "polars": polars_frame,
    "small integers": lambda _: with_types(user_id=pa.int8()),
    "unsigned": lambda _: with_types(user_id=pa.uint64()),
    "dictionary": lambda _: with_types(item_id=pa.dictionary(pa.int32(), pa.string())),
    "large text": lambda _: with_types(item_id=pa.large_string()),
    "short floats": lambda _: with_types(score=pa.float32()),
    "decimals": lambda _: with_types(score=pa.decimal128(9, 3)),
    "lists": lambda _: LISTS.group_by("user_id").aggregate([("item_id", "list"), ("score", "list")])
    .rename_columns(["user_id", "item_id", "score"]),
}  # fmt: skip


def test_the_same_rows_have_the_same_fingerprint(expected: Any, tmp_path: Path) -> None:
    truth = TRUTH.set_column(0, "user_id", TRUTH["user_id"].cast(pa.uint64()))
    for number, (way, make) in enumerate(SAME.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        # users of different types would not meet: those of the truth are of the same family
        found = contents(make(folder), truth if way == "unsigned" else TRUTH)
        assert found == expected, way


def test_names_in_the_source_do_not_matter(expected: Any) -> None:
    renamed = LISTS.rename_columns(["who", "what", "score"])
    columns = {"recommendations.user_id": "who", "recommendations.item_id": "what"}
    assert contents(renamed, columns=columns) == expected


OTHERS: dict[str, Callable[[], pa.Table]] = {
    "one value": lambda: changed(17, "score", LISTS["score"][17].as_py() + 2**-40),
    "one id": lambda: changed(17, "item_id", "other"),
    "two values swapped": lambda: LISTS.set_column(
        2, "score", LISTS["score"].take([1, 0, *range(2, 120)])
    ),
    "users swapped": lambda: LISTS.set_column(
        0, "user_id", pc.subtract(29, LISTS["user_id"])  # the same values in every column
    ),
    "a row less": lambda: LISTS.slice(1),
}  # fmt: skip


def test_other_rows_have_another_fingerprint(expected: Any) -> None:
    for way, make in OTHERS.items():
        interactions, lists = contents(make())
        assert interactions == expected[0], way
        assert lists.fingerprint != expected[1].fingerprint, way


def test_a_row_that_is_there_twice_counts_twice(expected: Any) -> None:
    _, lists = contents(pa.concat_tables([LISTS, LISTS.slice(5, 1)]))
    assert lists.rows == 121
    assert lists.fingerprint != expected[1].fingerprint
    # a row in place of another one: as many rows
    _, lists = contents(pa.concat_tables([LISTS.slice(1), LISTS.slice(5, 1)]))
    assert lists.rows == 120
    assert lists.fingerprint != expected[1].fingerprint


def values_of(texts: list[str], type_name: str) -> fingerprints.Content:
    """Read a column of values of a type."""
    entries = ", ".join(f"({number}, CAST({text} AS {type_name}))" for number, text in
                        enumerate(texts))  # fmt: skip
    return content_of(f"SELECT user_id, timestamp FROM (VALUES {entries}) AS t(user_id, timestamp)")


# equal values of several types, and a value that differs from the first
VALUES: list[tuple[list[str], list[str], str]] = [
        (["'2020-01-01'", "'1969-12-31'", "NULL"],
         ["DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S"],
         "'2020-01-02'"),
        (["'2020-01-01 10:00:00.12'", "'2020-01-01'"],
         ["TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP_NS"],
         "'2020-01-01 10:00:00.121'"),
        (["'2020-01-01 10:00:00+00'"], ["TIMESTAMP WITH TIME ZONE"], "'2020-01-01 10:00:00+01'"),
        (["'2020-01-01 10:00:00.123456789'"], ["TIMESTAMP_NS"],
         "'2020-01-01 10:00:00.123456788'"),
        (["127", "-128", "0", "NULL"],
         ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE",
          "DECIMAL(5, 0)", "DECIMAL(9, 3)"],
         "126"),
        (["9223372036854775807"], ["BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT"],
         "9223372036854775806"),
        (["18446744073709551615"], ["UBIGINT", "HUGEINT", "UHUGEINT"], "18446744073709551614"),
        (["0.25", "-1e300::DOUBLE", "'inf'::DOUBLE", "'nan'::DOUBLE"], ["DOUBLE"], "0.250001"),
        (["0.25", "1e10::DOUBLE"], ["FLOAT", "DOUBLE"], "0.5"),
        (["'a'", "''", "NULL"], ["VARCHAR", "ENUM('', 'a', 'b')", "ENUM('b', 'a', '')"], "'b'"),
        (["true", "false", "NULL"], ["BOOLEAN"], "false"),
    ]  # fmt: skip


def test_values_of_any_type() -> None:
    for texts, types, other in VALUES:
        found = [values_of(texts, type_name) for type_name in types]
        assert {one.fingerprint for one in found} == {found[0].fingerprint}, texts
        for type_name in types:
            assert values_of([other, *texts[1:]], type_name) != found[0]
            assert values_of(["NULL", *texts[1:]], type_name) != found[0]
            assert values_of(texts[::-1], type_name) != found[0] or texts == texts[::-1]


def test_values_of_other_kinds() -> None:
    found = [values_of(["1"], kind).fingerprint for kind in ("BIGINT", "VARCHAR", "BOOLEAN")]
    assert len(set(found)) == 3
    assert values_of(["-0.0::DOUBLE"], "DOUBLE") == values_of(["0"], "INTEGER")
    names = [content_of(f"SELECT 1 AS {name}").fingerprint for name in ("user_id", "item_id")]
    assert len(set(names)) == 2


def test_columns_to_slice_by() -> None:
    found = []
    for countries in (["de", None], [None, "de"]):
        users = pa.table({"user_id": [0, 1], "country": countries, "note": ["x", "y"]})
        with Evaluator(LISTS, TRUTH, users=users, record=True) as evaluator:
            evaluator.rows("hit_rate@2", by="country")
            assert evaluator.last_record is not None
            found += [e for e in evaluator.last_record["contents"] if e["table"] == "users"]
    assert [set(one["columns"]) for one in found] == [{"user_id", "country"}] * 2
    assert [one["rows"] for one in found] == [2, 2]
    assert found[0]["fingerprint"] != found[1]["fingerprint"]


def test_every_model_has_its_own() -> None:
    files = {"als": LISTS, "other": shuffled(LISTS)}
    of_files = contents(files)[1:]
    column = pa.concat_tables(
        [t.append_column("model", [[n] * t.num_rows]) for n, t in files.items()]
    )
    assert contents(column)[1:] == of_files
    assert [one.model for one in of_files] == ["als", "other"]
    assert len({one.fingerprint for one in [*of_files, contents()[1]]}) == 1


def test_the_hash_of_the_engine() -> None:
    """Fingerprints outlive versions: DuckDB 1.4.0 and 2.0.0 both return these numbers."""
    query = "SELECT hash(42::BIGINT), hash('abc'), hash(1.5::DOUBLE), hash(NULL::BIGINT)"
    assert duckdb.sql(query).fetchall() == [
        (7199933130570745587, 1924864467101078684, 1706605666616485939, 13787848793156543929)
    ]


# ---------------------------------------------------------------- users


def test_users_of_both_sides() -> None:
    # 1 has both, 2 no list, 3 no truth, 4 a list and nothing relevant
    lists = {"a": {1: ["x"], 3: ["x"], 4: ["x", "y"]}, "b": {1: ["x"], 2: ["y"]}}
    truth = pa.table({"user_id": [1, 2, 4], "item_id": ["x", "y", "x"], "relevance": [1, 1, 0]})
    with Evaluator(lists, truth, history=truth, record=True) as evaluator:
        evaluator.rows(["recall@1", "map@1", "recall(audience=both)@1", "coverage@1"])
        record = evaluator.last_record
    assert record is not None
    names = ("model", "audience", "evaluated", "without_recommendations", "without_truth")
    assert [tuple(one[name] for name in names) for one in record["users"]] == [
        ("a", "relevant", 2, 1, 2),
        ("b", "relevant", 2, 0, 0),
        ("a", "both", 1, 1, 2),
        ("b", "both", 2, 0, 0),
    ]
    assert [one["metrics"] for one in record["users"]][::2] == [
        ["recall", "map"], ["recall(audience=both)"]
    ]  # fmt: skip


def test_users_without_interactions() -> None:
    with Evaluator(LISTS, history=TRUTH, record=True) as evaluator:
        evaluator.rows("surprisal@2")
        (users,) = (evaluator.last_record or {})["users"]
    assert users["evaluated"] == 30
    assert users["without_recommendations"] is users["without_truth"] is None
