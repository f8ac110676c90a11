"""pandas and Polars frames, and Arrow tables."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.source_rows import (
    CHECKED,
    METRIC,
    check,
    lists_table,
    truth_table,
    values,
    write_parquet,
)

# ---------------------------------------------------------------- pandas and Polars


def test_pandas(order: str) -> None:
    check(values(lists_table(order).to_pandas(), truth_table().to_pandas()))


def test_pandas_with_a_shuffled_index_that_means_nothing() -> None:
    frame = lists_table().to_pandas().sample(frac=1, random_state=3)
    frame.index = frame.index[::-1] * 0
    check(values(frame))


def test_pandas_with_index_columns() -> None:
    for index in (["user_id"], ["user_id", "item_id"]):
        check(values(lists_table().to_pandas().set_index(index)))


def test_pandas_with_categorical_ids() -> None:
    def categorical(table: pa.Table, reverse: bool, ordered: bool) -> pd.DataFrame:
        frame = table.to_pandas()
        for name in ("user_id", "item_id"):
            categories = sorted(set(frame[name]), reverse=reverse)
            frame[name] = pd.Categorical(frame[name], categories=categories, ordered=ordered)
        return frame

    for ordered in (False, True):
        lists = categorical(lists_table("rank", str), False, ordered)
        truth = categorical(truth_table(str), True, ordered)
        check(values(lists, truth, **CHECKED), str)
        check(values(lists, truth_table(str), **CHECKED), str)
        check(values(lists_table("rank", str), truth), str)


def test_pandas_with_categorical_integers() -> None:
    frame = lists_table().to_pandas()
    frame["user_id"] = frame["user_id"].astype("category")
    check(values(frame))


def test_pandas_with_other_types_of_numbers_and_texts() -> None:
    for kinds in (
        {"user_id": "Int64", "item_id": "Int32", "rank": "Int8"},
        {"user_id": "int64[pyarrow]", "item_id": "uint8[pyarrow]", "rank": "double[pyarrow]"},
        {"rank": "Float64"},
        {"rank": "float32"},
    ):
        check(values(lists_table().to_pandas().astype(kinds)))
    for kind in ("object", "string", "string[pyarrow]", "str"):
        names = {"user_id": kind, "item_id": kind}
        lists = lists_table("rank", str).to_pandas().astype(names)
        check(values(lists, truth_table(str).to_pandas().astype(names)), str)


def test_pandas_with_columns_that_are_not_read() -> None:
    frame = lists_table().to_pandas()
    frame["seen"] = pd.Timestamp("2024-01-01")
    frame["mixed"] = [1, "a"] * 5
    frame[7] = 1
    check(values(frame))


def test_polars_and_narwhals(order: str) -> None:
    import narwhals

    frame, truth = pl.DataFrame(lists_table(order)), pl.DataFrame(truth_table())
    check(values(frame, truth))
    check(values(frame.lazy(), truth.lazy()))
    for native in (frame, frame.lazy()):
        check(values(narwhals.from_native(native)))
    for kind in (pl.Categorical, pl.String):
        casts = [pl.col("user_id").cast(kind), pl.col("item_id").cast(kind)]
        texts = pl.DataFrame(lists_table("rank", str)).with_columns(casts)
        check(values(texts, truth_table(str)), str)


# ---------------------------------------------------------------- Arrow


def test_arrow_table(order: str) -> None:
    check(values(lists_table(order)))


def test_arrow_reader_can_be_asked_twice(order: str) -> None:
    reader = pa.RecordBatchReader.from_batches(
        lists_table(order).schema, lists_table(order).to_batches(max_chunksize=2)
    )
    with Evaluator(reader, truth_table()) as evaluator:
        first = evaluator.per_user(METRIC, long=True)
        assert evaluator.per_user(METRIC, long=True).equals(first)
        assert evaluator.evaluate("mrr@3")["value"].item() == pytest.approx(1 / 3)


def test_arrow_dataset(tmp_path: Path, order: str) -> None:
    table = lists_table(order)
    write_parquet(tmp_path / "a.parquet", table.slice(0, 4))
    write_parquet(tmp_path / "b.parquet", table.slice(4))
    check(values(ds.dataset(tmp_path), ds.dataset(truth_table())))


def test_arrow_kinds_of_text() -> None:
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        table = lists_table("rank", str)
        for position, name in enumerate(("user_id", "item_id")):
            table = table.set_column(position, name, table[name].combine_chunks().cast(kind))
        check(values(table, truth_table(str)), str)


def test_any_object_with_the_arrow_stream_protocol() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return lists_table().__arrow_c_stream__(requested_schema)

    check(values(Stream()))


@pytest.mark.parametrize(
    ("module", "remedy"),
    [
        ("elsewhere", "Convert it to an Arrow table or a pandas frame"),
        ("pyspark.sql.classic.dataframe", r"engine=frame\.sparkSession"),
    ],
)
def test_a_stream_that_fails(module: str, remedy: str) -> None:
    """As the stream of a Spark DataFrame does if Spark's Python workers have no pyarrow."""

    def fails(self: Any, requested_schema: Any = None) -> Any:  # noqa: ARG001
        raise pa.ArrowInvalid("Unknown error: no result\n\tat Executor.run\n" * 90)

    frame = type("DataFrame", (), {"__module__": module, "__arrow_c_stream__": fails})()
    with pytest.raises(sm.DataError, match=remedy) as caught:
        Evaluator(frame)
    told = f"recommendations: a value of the type {module}.DataFrame cannot be converted to Arrow"
    assert str(caught.value).startswith(f"{told}: Unknown error: no result")
    assert len(str(caught.value)) < 400


# ---------------------------------------------------------------- Series of lists


def test_a_series_of_lists() -> None:
    lists = lists_table().to_pandas().groupby("user_id")["item_id"].apply(list)
    truth = truth_table().to_pandas().groupby("user_id")["item_id"].apply(tuple)
    check(values(lists, truth))
    check(values(lists.rename(None).rename_axis(None), truth))
    renamed = lists.rename("sku").rename_axis("customer")
    names = {"recommendations.user_id": "customer", "recommendations.item_id": "sku"}
    check(values(renamed, truth, columns=names))
    models = values({"a": lists, "b": lists_table()}, truth, keys=("model", "user_id"))
    check({user: value for (model, user), value in models.items() if model == "a"})
    with pytest.raises(sm.UsageError, match="give a Series with a list of items per user"):
        Evaluator(lists.explode())


# ---------------------------------------------------------------- columns of different types


def test_a_needed_column_of_different_types() -> None:
    for column, names, remedy in (
        ("sku", {"recommendations.item_id": "sku"}, "frame['sku'].astype(str)"),
        ("item_id", {}, "frame['item_id'].astype(str)"),
        ("rank", {}, "pandas.to_numeric(frame['rank'])"),
    ):
        frame = lists_table().to_pandas().rename(columns={"item_id": "sku"} if names else {})
        frame[column] = [*frame[column].astype(object)[:-1], "x"]
        with pytest.raises(sm.DataError) as raised:
            Evaluator(frame, truth_table(), columns=names)
        assert raised.value.column == column
        assert "the values have different or unsupported types" in str(raised.value)
        assert remedy in str(raised.value.remedy)


UNKNOWN_TO_ARROW: list[tuple[Any, str, str, Any]] = [
    (pl.Int128, "item_id", "cast(polars.Int64)", lambda s: s.cast(pl.Int64)),
    (pl.UInt128, "rank", "cast(polars.Float64)", lambda s: s.cast(pl.Float64)),
    (pl.Object, "item_id", "map_elements(str, return_dtype=polars.String)",
     lambda s: pl.Series([str(value) for value in s])),
    (pl.Object, "rank", "map_elements(float, return_dtype=polars.Float64)",
     lambda s: s.map_elements(float, return_dtype=pl.Float64)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::polars.exceptions.PolarsInefficientMapWarning")
def test_columns_of_polars_that_arrow_has_no_type_for() -> None:
    """They are no error unless they are needed; the conversion of the message works."""
    values = {"user_id": ["u", "u"], "item_id": [7, 8], "rank": [1, 2]}
    frame = pl.DataFrame(values)
    for kind, name, remedy, converted in UNKNOWN_TO_ARROW:
        column = pl.Series(name, values[name], dtype=kind)
        unread = frame.with_columns(column.alias("other"))
        truth = {"u": ["8" if "str" in remedy else 8]}
        for lists in (unread, unread.lazy()):
            with Evaluator(lists, {"u": [8]}) as evaluator:
                assert evaluator.rows("mrr")["value"] == [0.5]
        lists = frame.with_columns(column)
        with pytest.raises(sm.DataError, match=f"column {name}: .* no type for {kind}") as raised:
            Evaluator(lists, truth)
        assert f"frame['{name}'].{remedy} in Polars" in str(raised.value.remedy)
        with Evaluator(lists.with_columns(converted(lists[name]).alias(name)), truth) as evaluator:
            assert evaluator.rows("mrr")["value"] == [0.5]


def test_sparse_columns_of_pandas() -> None:
    frame = pd.DataFrame({"user_id": 1, "item_id": [7, 8], "rank": pd.arrays.SparseArray([1, 2])})
    with pytest.raises(sm.DataError, match=r"rank: .* the column is sparse") as raised:
        Evaluator(frame, {1: [8]})
    assert "frame['rank'].sparse.to_dense() in pandas" in str(raised.value.remedy)
    frame["rank"] = frame["rank"].sparse.to_dense()
    with Evaluator(frame, {1: [8]}) as evaluator:
        assert evaluator.rows("mrr")["value"] == [0.5]


def test_a_slice_of_different_types() -> None:
    users = pd.DataFrame({"user_id": [1, 2], "age": [30, "old"], "timestamp": [1, "now"]})
    with Evaluator(lists_table(), truth_table(), users=users) as evaluator:
        for name in ("age", "users.age"):
            with pytest.raises(sm.DataError, match="users, column age: the values have different"):
                evaluator.evaluate("mrr", by=name)


def decimals(*texts: str) -> pa.Array:
    return pa.array(map(Decimal, texts), pa.decimal256(50, 3))


def mrr_of(source: Any, **options: Any) -> list[float]:
    with Evaluator(source, {"u": ["b"]}, threads=1, **options) as evaluator:
        return list(evaluator.rows("mrr")["value"])


HALF = np.array([0.25, 0.5], dtype="float16")


def test_numbers_that_the_engine_does_not_know() -> None:
    """Models that run in half precision write such scores (duckdb#5923)."""
    dictionary = pa.DictionaryArray.from_arrays([0, 1], HALF)
    lists = pa.table({"user_id": ["u", "u"], "item_id": ["a", "b"]})
    for scores in (pa.array(HALF), dictionary, decimals("0.25", "0.5")):
        assert mrr_of(lists.append_column("score", scores)) == [1]
    vectors = [np.array(row, dtype="float16") for row in ([1, 0], [0, 1])]
    items = pd.DataFrame({"item_id": ["a", "b"], "features": vectors})
    with Evaluator({"u": ["a", "b"]}, {"u": ["b"]}, items=items) as evaluator:
        assert evaluator.rows("intra_list_diversity")["value"] == [1]


def test_unread_columns_of_types_that_the_engine_does_not_know() -> None:
    kinds = {
        "half": pa.float16(),
        "list": pa.list_(pa.float16()),
        "pair": pa.list_(pa.float16(), 2),
        "large": pa.large_list(pa.float16()),
        "struct": pa.struct([("x", pa.float16())]),
        "map": pa.map_(pa.string(), pa.decimal256(5, 2)),
    }
    columns = {name: pa.nulls(1, kind) for name, kind in kinds.items()}
    columns["long"] = decimals(f"1{'0' * 40}")
    lists = pa.table({"user_id": ["u"], "item_id": ["b"], "score": [0.5], **columns})
    assert mrr_of(lists) == [1]
    with pytest.raises(sm.DataError, match=r"column long: .*does not fit in precision 38"):
        Evaluator(lists, {"u": ["b"]}, columns={"recommendations.score": "long"})


def test_a_dataset_with_half_precision(tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    lists = pa.table({"user_id": ["u", "u"], "item_id": ["a", "b"], "score": HALF})
    dataset = ds.dataset(write_parquet(path, lists))
    with pytest.raises(sm.DataError, match="column score of the dataset has the type halffloat"):
        Evaluator(dataset, {"u": ["b"]})
    for remedy in (path, dataset.to_table()):
        assert mrr_of(remedy) == [1]


def test_a_reader_that_was_read_before() -> None:
    for name in ("recommendations", "scored"):
        reader = lists_table().to_reader()
        reader.read_all()
        with pytest.raises(
            sm.DataError, match=rf"{name}: the reader has no rows; it may have been"
        ):
            Evaluator(**{name: reader})
