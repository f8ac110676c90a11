"""Tables that change under an evaluator are held, read again, or refused."""

from collections.abc import Callable
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
from pyarrow import fs

import sqlmetrics as sm
from tests.support.calls import findings_of
from tests.support.evaluators import Evaluator

# user 1 finds item 11 at the top of the list, and at place 2 once the scores are turned round
SCORES = (0.9, 0.1, 0.9, 0.1)
TURNED = (0.1, 0.9, 0.1, 0.9)
LISTS = {"user_id": [1, 1, 2, 2], "item_id": [11, 12, 13, 14]}
TRUTH = {1: [11], 2: [13]}
HELD, READ_AGAIN = 1.0, 0.5


def lists(scores: Any = SCORES) -> pd.DataFrame:
    return pd.DataFrame({**LISTS, "score": list(scores)})


def named(scores: Any = SCORES, model: str = "a") -> pd.DataFrame:
    return lists(scores).assign(model=model)


def together(*frames: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(pd.concat(frames))


def mrr(evaluator: sm.Evaluator) -> float:
    return float(evaluator.evaluate("mrr@2")["value"][0])


# ---------------------------------------------------------------- frames and Arrow are held


def of_pandas(scores: np.ndarray) -> pd.DataFrame:
    columns = {**LISTS, "score": pd.Series(scores, copy=False)}
    return pd.DataFrame(columns, copy=False)


def with_missing_values(scores: np.ndarray) -> pd.DataFrame:
    extension = pd.arrays.FloatingArray(scores, np.zeros(len(scores), dtype=bool), copy=False)
    return pd.DataFrame({**LISTS, "score": pd.Series(extension, copy=False)}, copy=False)


def of_arrow(scores: np.ndarray) -> pa.Table:
    return pa.table({**LISTS, "score": pa.array(scores)})


# numbers in an array -> a source that uses its memory
OVER_NUMPY: dict[str, Callable[[np.ndarray], Any]] = {
    "pandas": of_pandas,
    "pandas with missing values": with_missing_values,
    "polars": lambda scores: pl.DataFrame({**LISTS, "score": scores}),
    "lazy polars": lambda scores: pl.LazyFrame({**LISTS, "score": scores}),
    "arrow": of_arrow,
    "a batch": lambda scores: of_arrow(scores).to_batches()[0],
    "a reader": lambda scores: of_arrow(scores).to_reader(),
    "a dataset in memory": lambda scores: ds.dataset(of_arrow(scores)),
    "lists in rows": lambda scores: pa.table(
        {
            "user_id": [1, 2],
            "item_id": [[11, 12], [13, 14]],
            "score": pa.ListArray.from_arrays([0, 2, 4], pa.array(scores)),
        }
    ),
}


@pytest.mark.parametrize("source", OVER_NUMPY)
def test_numbers_of_a_frame_are_held_whatever_becomes_of_their_memory(source: str) -> None:
    scores = np.array(SCORES)
    with Evaluator(OVER_NUMPY[source](scores), TRUTH) as evaluator:
        scores[:] = TURNED  # before anything was computed
        assert mrr(evaluator) == HELD
        # another stage than those that were kept
        ranked = evaluator.stage("ranked").sort_values(["user_id", "rank"])
        assert ranked["item_id"].tolist() == [11, 12, 13, 14]
    scores = np.array(SCORES)
    with Evaluator(OVER_NUMPY[source](scores), TRUTH) as evaluator:
        assert mrr(evaluator) == HELD
        scores[:] = TURNED
        assert mrr(evaluator) == HELD


def change_in_place(frame: pd.DataFrame) -> None:
    frame.loc[0, "score"] = -9.0
    frame["item_id"] = frame["item_id"] + 100
    del frame["user_id"]


def test_a_frame_that_is_changed_in_place_is_held() -> None:
    tables = {"recommendations": lists(), "interactions": pd.DataFrame({**LISTS, "g": 1})}
    with Evaluator(**tables) as evaluator, Evaluator(**tables) as later:
        before = evaluator.evaluate(["mrr@2", "recall@1"])
        change_in_place(tables["recommendations"])
        tables["interactions"]["item_id"] = 0
        for one in (evaluator, later):
            pd.testing.assert_frame_equal(one.evaluate(["mrr@2", "recall@1"]), before)


def test_dicts_are_held() -> None:
    recommended, truth = {1: [11, 12], 2: [13, 14]}, {1: [11], 2: [13]}
    with Evaluator(recommended, truth) as evaluator:
        recommended[1].reverse()
        truth[2].append(14)
        assert mrr(evaluator) == HELD


def test_a_duckdb_relation_is_held() -> None:
    connection = duckdb.connect()
    connection.register("frame", lists())
    connection.execute("CREATE TABLE given AS FROM frame")
    for own in (None, connection):
        with Evaluator(connection.table("given"), TRUTH, connection=own) as evaluator:
            connection.execute("UPDATE given SET score = 1 - score")
            assert mrr(evaluator) == HELD
            connection.execute("UPDATE given SET score = 1 - score")
            assert mrr(evaluator) == HELD


# ---------------------------------------------------------------- tables of a connection


def connection_with(statement: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("frame", lists())
    connection.execute(statement)
    return connection


TABLE = "CREATE TABLE given AS FROM frame"
VIEW = "CREATE VIEW given AS FROM frame"
_TURNED = "SELECT user_id, item_id, 1 - score AS score FROM frame"
CHANGES = {
    "updated": (TABLE, "UPDATE given SET score = 1 - score"),
    "inserted": (TABLE, "INSERT INTO given VALUES (1, 15, 2.0), (2, 15, 2.0)"),
    "replaced table": (TABLE, f"CREATE OR REPLACE TABLE given AS {_TURNED}"),
    "replaced view": (VIEW, f"CREATE OR REPLACE VIEW given AS {_TURNED}"),
    "dropped and created": (TABLE, f"DROP TABLE given; CREATE TABLE given AS {_TURNED}"),
    "a column more": (VIEW, f"CREATE OR REPLACE VIEW given AS SELECT *, 1 AS z FROM ({_TURNED})"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_tables_of_a_connection_are_read_again_in_every_call(change: str) -> None:
    before, after = CHANGES[change]
    connection = connection_with(before)
    with Evaluator("given", TRUTH, connection=connection) as evaluator:
        assert mrr(evaluator) == HELD
        connection.execute(after)
        assert mrr(evaluator) == READ_AGAIN
        assert evaluator.per_user("mrr@2", long=True)["mrr"].tolist() == [READ_AGAIN, READ_AGAIN]


def test_a_frame_that_is_registered_anew_is_read_again() -> None:
    connection = duckdb.connect()
    connection.register("given", lists())
    with Evaluator("given", TRUTH, connection=connection) as evaluator:
        assert mrr(evaluator) == HELD
        connection.register("given", lists(TURNED))
        assert mrr(evaluator) == READ_AGAIN


def test_models_of_a_table_are_read_again() -> None:
    connection = duckdb.connect()
    two = [named(model="a"), named(model="b")]
    connection.register("given", together(*two))
    with Evaluator("given", TRUTH, connection=connection) as evaluator:
        assert evaluator.compare("mrr@2", baseline="a")["model"].tolist() == ["b"]
        connection.register("given", together(*two, named(TURNED, "c")))
        assert evaluator.models == ["a", "b", "c"]
        found = evaluator.compare("mrr@2", baseline="a").set_index("model")["difference"]
        assert found.to_dict() == {"b": 0.0, "c": READ_AGAIN - HELD}
        board = evaluator.leaderboard("mrr@2").set_index("model")["mrr@2"]
        assert board.to_dict() == {"a": HELD, "b": HELD, "c": READ_AGAIN}


def test_rows_that_break_a_rule_are_found_once_they_are_there() -> None:
    connection = connection_with(TABLE)
    with Evaluator("given", TRUTH, connection=connection) as evaluator:
        assert mrr(evaluator) == HELD
        connection.execute("INSERT INTO given VALUES (1, 11, 0.5)")
        with pytest.raises(sm.DataError, match="repeats an item of the same user"):
            mrr(evaluator)
        connection.execute("DELETE FROM given WHERE score = 0.5")
        assert mrr(evaluator) == HELD


def test_findings_are_those_of_the_table_as_it_is() -> None:
    connection = connection_with(TABLE)
    history = {1: [12], 3: [11]}
    with Evaluator("given", TRUTH, history=history, connection=connection) as evaluator:
        assert "recommendations_seen" in {one.check for one in findings_of(evaluator, "mrr@2")}
        connection.execute("DELETE FROM given WHERE item_id = 12")
        assert "recommendations_seen" not in {one.check for one in findings_of(evaluator, "mrr@2")}


GONE = [
    (
        "DROP TABLE given",
        "recommendations: the table given existed when the Evaluator was created, but cannot be "
        "read now: Table with name given does not exist. Create the table again, or create a new "
        "Evaluator",
    ),
    (
        "ALTER TABLE given DROP score",
        "recommendations: column score of the table given is gone. It had the type DOUBLE when the "
        "Evaluator was created. Create a new Evaluator to read the current table",
    ),
    (
        "ALTER TABLE given ALTER user_id TYPE VARCHAR",
        "recommendations: column user_id of the table given now has the type VARCHAR. It had "
        "the type BIGINT",
    ),
]


def test_a_table_that_cannot_be_read_as_before_is_named() -> None:
    connection = connection_with(TABLE)
    with Evaluator("given", TRUTH, connection=connection) as evaluator:
        for statement, message in GONE:
            assert mrr(evaluator) == HELD
            connection.execute(statement)
            for call in (evaluator.evaluate, evaluator.per_user, evaluator.check):
                with pytest.raises(sm.DataError) as raised:
                    call("mrr@2")
                assert str(raised.value).startswith(message)
            connection.execute("CREATE OR REPLACE TABLE given AS FROM frame")
        assert mrr(evaluator) == HELD


# ---------------------------------------------------------------- files


def test_files_of_a_dataset_are_refused_once_they_have_changed(tmp_path: Path) -> None:
    for number, part in enumerate((lists()[:2], lists()[2:])):
        pq.write_table(pa.Table.from_pandas(part), tmp_path / f"{number}.parquet")
    sub = fs.SubTreeFileSystem(str(tmp_path.parent), fs.LocalFileSystem())
    datasets = [
        ds.dataset(tmp_path),
        ds.dataset(tmp_path).filter(ds.field("user_id") > 0),
        ds.dataset([ds.dataset(tmp_path / "0.parquet"), ds.dataset(tmp_path / "1.parquet")]),
        ds.dataset(tmp_path.name, filesystem=sub),
    ]
    evaluators = [Evaluator(dataset, TRUTH) for dataset in datasets]
    assert [mrr(one) for one in evaluators] == [HELD] * len(evaluators)
    pq.write_table(pa.Table.from_pandas(lists(TURNED)[2:]), tmp_path / "1.parquet")
    for evaluator in evaluators:
        with pytest.raises(sm.DataError, match=r"recommendations: .*1\.parquet changed after"):
            mrr(evaluator)
        evaluator.close()
    with Evaluator(ds.dataset(tmp_path), TRUTH) as evaluator:
        assert mrr(evaluator) == (HELD + READ_AGAIN) / 2


def test_files_behind_a_connection_are_refused_once_they_have_changed(tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    lists().to_parquet(path)
    connection = duckdb.connect()
    with Evaluator(path, TRUTH, connection=connection) as evaluator:
        assert mrr(evaluator) == HELD
        assert evaluator.engine.kept()  # what is held is not computed again
        lists(TURNED).to_parquet(path)
        with pytest.raises(sm.DataError, match="changed after the first read"):
            mrr(evaluator)
