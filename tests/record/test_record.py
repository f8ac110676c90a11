"""What a result was made of: contents of tables, users, settings; and runs of the same again."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import sqlmetrics as sm
from sqlmetrics.cli import replay
from sqlmetrics.cli.commands import main
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.plan.planner import input_node
from sqlmetrics.record import diff, fingerprints
from sqlmetrics.record import record as records
from sqlmetrics.rows import Rows

LISTS = pa.table(
    {
        "user_id": [user for user in range(30) for _ in range(4)],
        "item_id": [f"i{(7 * user + place) % 11}" for user in range(30) for place in range(4)],
        # whole numbers and others, all of which a float of 32 bits holds
        "score": [float(4 - place) + user % 4 / 4 for user in range(30) for place in range(4)],
    }
)
TRUTH = pa.table({"user_id": [*range(40)], "item_id": [f"i{user % 11}" for user in range(40)]})


def contents(
    recommendations: Any = LISTS, interactions: Any = TRUTH, **more: Any
) -> list[fingerprints.Content]:
    """Read what is in the tables, without computing anything of them."""
    with sm.Evaluator(recommendations, interactions, **more) as evaluator:
        _, values = evaluator.conventions[0].resolve(None)
        planner, engine = evaluator._checking_planner, evaluator.engine
        assert isinstance(engine, DuckDBEngine)
        return fingerprints.contents(engine, [planner.node(n, values) for n in evaluator.tables])


@pytest.fixture(scope="module")
def expected() -> list[fingerprints.Content]:
    return contents()


def test_a_record_has_contents(expected: list[fingerprints.Content]) -> None:
    more: list[dict[str, Any]] = [{}, {"threads": 1}, {"partitions": 3}]
    for options in more:
        with sm.Evaluator(LISTS, TRUTH, record=True, **options) as evaluator:
            evaluator.rows("hit_rate@2")
            assert evaluator.last_record is not None
            assert evaluator.last_record["contents"] == [
                {
                    "table": "interactions",
                    "model": None,
                    "columns": ["item_id", "user_id"],
                    "rows": 40,
                    "fingerprint": expected[0].fingerprint,
                },
                {
                    "table": "recommendations",
                    "model": None,
                    "columns": ["item_id", "score", "user_id"],
                    "rows": 120,
                    "fingerprint": expected[1].fingerprint,
                },
            ]


@functools.cache
def engine() -> DuckDBEngine:
    return DuckDBEngine(threads=1)


def content_of(query: str) -> fingerprints.Content:
    """Read what a query returns."""
    node = input_node("interactions", query, "interactions")
    (found,) = fingerprints.content_of(engine(), node)
    return found


# --- fingerprints


def shuffled(table: pa.Table) -> pa.Table:
    return table.take([(53 * row) % table.num_rows for row in range(table.num_rows)])


def several_files(folder: Path) -> str:
    for number in range(3):
        pq.write_table(LISTS.slice(40 * number, 40), folder / f"part-{2 - number}.parquet")
    return str(folder / "*.parquet")


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


@pytest.mark.parametrize("way", SAME)
def test_the_same_rows_have_the_same_fingerprint(way: str, expected: Any, tmp_path: Path) -> None:
    truth = TRUTH.set_column(0, "user_id", TRUTH["user_id"].cast(pa.uint64()))
    # users of different types would not meet: those of the truth are of the same family
    assert contents(SAME[way](tmp_path), truth if way == "unsigned" else TRUTH) == expected


def test_names_in_the_source_do_not_matter(expected: Any) -> None:
    renamed = LISTS.rename_columns(["who", "what", "score"])
    columns = {"recommendations.user_id": "who", "recommendations.item_id": "what"}
    assert contents(renamed, columns=columns) == expected


def changed(row: int, column: str, value: Any) -> pa.Table:
    values = LISTS[column].to_pylist()
    values[row] = value
    return LISTS.set_column(LISTS.column_names.index(column), column, [values])


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


@pytest.mark.parametrize("way", OTHERS)
def test_other_rows_have_another_fingerprint(way: str, expected: Any) -> None:
    interactions, lists = contents(OTHERS[way]())
    assert interactions == expected[0]
    assert lists.fingerprint != expected[1].fingerprint


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


@pytest.mark.parametrize(
    ("texts", "types", "other"),
    [
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
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)  # fmt: skip
def test_values_of_any_type(texts: list[str], types: list[str], other: str) -> None:
    found = [values_of(texts, type_name) for type_name in types]
    assert {one.fingerprint for one in found} == {found[0].fingerprint}
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
        with sm.Evaluator(LISTS, TRUTH, users=users, record=True) as evaluator:
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


# --- users


def test_users_of_both_sides() -> None:
    # 1 has both, 2 no list, 3 no truth, 4 a list and nothing relevant
    lists = {"a": {1: ["x"], 3: ["x"], 4: ["x", "y"]}, "b": {1: ["x"], 2: ["y"]}}
    truth = pa.table({"user_id": [1, 2, 4], "item_id": ["x", "y", "x"], "relevance": [1, 1, 0]})
    with sm.Evaluator(lists, truth, history=truth, record=True) as evaluator:
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
    with sm.Evaluator(LISTS, history=TRUTH, record=True) as evaluator:
        evaluator.rows("surprisal@2")
        (users,) = (evaluator.last_record or {})["users"]
    assert users["evaluated"] == 30
    assert users["without_recommendations"] is users["without_truth"] is None


# --- what else a record says


def test_settings_of_every_metric() -> None:
    with sm.Evaluator(
        LISTS,
        TRUTH.append_column("relevance", pa.array([1] * len(TRUTH))),
        convention=iter(["rectools", "standard"]),
        settings={"map.divisor": "relevant", "relevant_from": float("-inf")},
    ) as evaluator:
        frame = evaluator.evaluate((m for m in ["ndcg(gain=exponential)@5", "map"]), k=iter([2, 3]))
    record = frame.attrs["sqlmetrics"]
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["given"]["convention"] == ["rectools", "standard"]
    assert record["asked"]["metrics"] == ["ndcg(gain=exponential)@5", "map"]
    assert record["asked"]["k"] == [2, 3]
    assert record["asked"]["seed"] == 1
    assert record["versions"].keys() == {"sqlmetrics", "python", "duckdb"}
    metrics = {(one["metric"], one["convention"]): one for one in record["metrics"]}
    assert metrics["map", "rectools"]["k"] == [2, 3]
    for one in metrics.values():
        resolved = {**record["settings"], **one["settings"]}
        assert resolved["relevant_from"] == "-inf"
        assert resolved.get("gain", "exponential") == "exponential"
        assert {"audience", "order", "ties", "aggregate"} <= resolved.keys()
        assert resolved["divisor" if one["metric"] == "map" else "gain"]
    assert metrics["map", "standard"]["settings"]["divisor"] == "relevant"


def test_sources_are_named_as_they_were_given(tmp_path: Path) -> None:
    path, copy = tmp_path / "lists.parquet", tmp_path / "copy.parquet"
    pq.write_table(LISTS, path)
    pq.write_table(LISTS, copy)
    connection = duckdb.connect()
    connection.register("truth", TRUTH)
    with sm.Evaluator(
        {"file": path, "files": [path, str(copy)], "frame": LISTS.to_pandas()},
        "truth",
        items={"i1"},
        history={1: ["i1"]},
        connection=connection,
        settings={"duplicate_recommendations": "dedup_then_cut"},
    ) as evaluator:
        frame = evaluator.evaluate("hit_rate@1")
    assert [tuple(one.values()) for one in frame.attrs["sqlmetrics"]["sources"]] == [
        ("recommendations", "file", str(path), "parquet", 1),
        ("recommendations", "files", [str(path), str(copy)], "parquet", 2),
        ("recommendations", "frame", None, "pandas.DataFrame"),
        ("interactions", None, "truth", "table"),
        ("history", None, None, "dict"),
        ("items", None, None, "set"),
    ]


@pytest.mark.thorough
def test_the_hash_of_the_sql(tmp_path: Path) -> None:
    def of(recommendations: Any, metrics: str, **more: Any) -> str:
        with sm.Evaluator(recommendations, TRUTH, **more) as evaluator:
            return str(evaluator.evaluate(metrics).attrs["sqlmetrics"]["sql"])

    one = of(LISTS, "ndcg@3")
    assert of(several_files(tmp_path), "ndcg@3") == one  # paths, and how many, do not matter
    assert of(LISTS.to_pandas(), "ndcg@3") == one
    others = [
        of(LISTS, "ndcg@2"),
        of(LISTS, "map@3"),
        of(LISTS, "ndcg@3", settings={"ties": "item_desc"}),
        of(LISTS, "ndcg@3", where={"recommendations": "score > 0"}),
        of(LISTS, "ndcg@3", where={"recommendations": "score > 1"}),
    ]
    assert len({one, *others}) == len(others) + 1


@pytest.fixture(scope="module")
def results() -> Iterator[Mapping[str, pd.DataFrame]]:
    models = {"als": LISTS, "other": shuffled(LISTS).slice(3)}
    with sm.Evaluator(models, TRUTH) as evaluator:
        yield {
            "evaluate": evaluator.evaluate("hit_rate@2"),
            "per_user": evaluator.per_user("hit_rate@2"),
            "compare": evaluator.compare("hit_rate@2", baseline="als", test="randomization"),
            "leaderboard": evaluator.leaderboard("hit_rate@2", test="randomization"),
        }


@pytest.mark.parametrize("name", ["evaluate", "per_user", "compare", "leaderboard"])
def test_frames_carry_their_records(
    name: str, results: Mapping[str, pd.DataFrame], tmp_path: Path
) -> None:
    frame = results[name]
    record = frame.attrs["sqlmetrics"]
    assert record["result"] == name
    assert not {"contents", "users", "rows"} & record.keys()  # they cost a pass over the tables
    assert record["metrics"][0]["k"] == [2]
    # pandas copies attrs, compares them and writes them as JSON
    pd.testing.assert_frame_equal(frame, frame.copy())
    assert pd.concat([frame, frame.copy()]).attrs == frame.attrs
    other = results["per_user" if name == "evaluate" else "evaluate"]
    assert len(pd.concat([frame, other])) == len(frame) + len(other)
    frame.to_parquet(tmp_path / "a.parquet")
    assert pd.read_parquet(tmp_path / "a.parquet").attrs == frame.attrs
    assert frame.head(1).attrs == frame.attrs
    assert len(json.loads(frame.to_json(orient="records"))) == len(frame)


def test_a_record_only_where_it_is_asked_for() -> None:
    with sm.Evaluator(LISTS, TRUTH) as evaluator:
        assert evaluator.last_record is None
        evaluator.evaluate("hit_rate@2")
        assert evaluator.last_record is not None
        evaluator.rows("hit_rate@1")
        assert evaluator.last_record is None  # not that of another result
        with pytest.raises(TypeError, match=r"evaluate\(\) got an unexpected keyword argument"):
            evaluator.evaluate("hit_rate@2", cutoff=3)  # type: ignore[call-arg]
        with pytest.raises(UsageError, match="unknown metric"):
            evaluator.evaluate("hit_rat")
        assert evaluator.evaluate("hit_rate@3").attrs["sqlmetrics"]["metrics"][0]["k"] == [3]


def test_a_connection_is_left_as_it_was() -> None:
    connection = duckdb.connect()
    connection.register("lists", LISTS)
    before = connection.execute("FROM duckdb_views() SELECT view_name ORDER BY 1").fetchall()
    with sm.Evaluator("lists", TRUTH, connection=connection, record=True) as evaluator:
        evaluator.rows("hit_rate@2")
        assert "users" in (evaluator.last_record or {})
    after = connection.execute("FROM duckdb_views() SELECT view_name ORDER BY 1").fetchall()
    assert before == after
    assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


# --- the command line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(LISTS, "als.parquet")
    pq.write_table(LISTS.slice(8), "other.parquet")
    pq.write_table(TRUTH, "truth.parquet")
    return tmp_path


def run(*arguments: str, code: int | tuple[int, ...] = 0, **options: Any) -> Result:
    result = CliRunner().invoke(main, list(arguments), **options)
    assert result.exit_code in (code if isinstance(code, tuple) else (code,)), result.output
    assert "Traceback" not in result.output
    return result


def again(name: str) -> tuple[str, ...]:
    """Run a record of one's own again."""
    return "--from-record", name, "--trust-record", "--trust-input"


ONE = ("-r", "als.parquet", "-i", "truth.parquet", "--trust-input")
TWO = ("-r", "als=als.parquet", "-r", "other=other.parquet", "-i", "truth.parquet", "--trust-input")
COMMANDS = {
    "evaluate": (*TWO, "recall", "map@2", "-k", "1,3", "--set", "map.divisor=relevant",
                 "--by", "activity", "--history", "truth.parquet", "--ci", "bootstrap",
                 "--seed", "3", "--where", "interactions=user_id < 35"),
    "per-user": (*ONE, "recall@2", "--key", "user_id"),
    "compare": (*TWO, "recall@2", "--baseline", "als", "--test", "randomization"),
    "leaderboard": (*TWO, "recall@2", "--test", "bootstrap", "--alpha", "0.1"),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_again(command: str, folder: Path) -> None:
    first = run(command, *COMMANDS[command], "--record", "a.json", "--format", "csv")
    second = run(command, *again("a.json"), "--record", "b.json", "--format", "csv")
    assert second.stdout.splitlines()[0] == first.stdout.splitlines()[0]
    assert len(second.stdout.splitlines()) == len(first.stdout.splitlines())
    head, *files, last = second.stderr.splitlines()
    assert head == "sqlmetrics: files named by a.json:"
    assert all(line.endswith(".parquet") for line in files)
    assert last == "sqlmetrics: the same as in a.json"
    one, other = (json.loads((folder / name).read_text()) for name in ("a.json", "b.json"))
    for name in ("metrics", "settings", "sources", "sql", "contents", "users", "columns"):
        assert one[name] == other[name], name
    assert len(one["rows"]) == len(first.stdout.splitlines()) - 1


@pytest.mark.usefixtures("folder")
def test_what_differs_is_said() -> None:
    run("evaluate", *TWO, "recall@2", "mrr@2", "--record", "a.json")
    pq.write_table(LISTS.slice(4), "als.parquet")
    truth = TRUTH.set_column(1, "item_id", [["none", *TRUTH["item_id"].to_pylist()[1:]]])
    pq.write_table(truth, "truth.parquet")
    result = run("evaluate", *again("a.json"), "--format", "csv", code=1)
    assert result.stdout.startswith("model,metric,k,value")  # the result is there nevertheless
    lines = result.stderr.splitlines()[4:]  # after the files
    assert lines[:4] == [
        "sqlmetrics: error: not the same as in a.json:",
        "  interactions: other values in item_id, user_id",
        "  recommendations of als: 116 rows, were 120",
        "  users of recall and 1 more, als, without recommendations: 11, was 10",
    ]
    # user 0, whose item i0 stood first, has one of 40 hits less
    values = {line.split("@")[0].strip(): line for line in lines[4:]}
    assert values.keys() == {"recall", "mrr"}
    for line in values.values():
        assert "value differs by up to 0.025 (als:" in line


def test_options_replace_what_the_record_says(folder: Path) -> None:
    run("evaluate", *TWO, "recall@2", "--record", "a.json", "--set", "ties=item_desc",
        "--set", "relevant_from=1")  # fmt: skip
    (folder / "als.parquet").rename(folder / "moved.parquet")
    missing = run("evaluate", *again("a.json"), code=1)
    assert "there is no file als.parquet" in missing.stderr
    moved = run("evaluate", *again("a.json"), "-r", "als=moved.parquet")
    assert "sqlmetrics: the same as in a.json" in moved.stderr  # paths do not matter
    one = ("-r", "als=moved.parquet", *again("a.json"), "--record", "b.json", "--force")
    run("evaluate", *one, "map@3", code=1)
    record = json.loads((folder / "b.json").read_text())
    assert [(entry["metric"], entry["k"]) for entry in record["metrics"]] == [("map", [3])]
    result = run("evaluate", *one, "--set", "ties=item_asc", code=0)
    assert "\n  recall (standard), ties: item_asc, was item_desc\n" in result.stderr
    assert "\n  the SQL is another" in result.stderr
    given = json.loads((folder / "b.json").read_text())["given"]
    assert given["settings"] == {"relevant_from": "1", "ties": "item_asc"}


def test_versions_alone_are_no_failure(folder: Path) -> None:
    run("evaluate", *ONE, "recall@2", "--record", "a.json")
    record = json.loads((folder / "a.json").read_text())
    record["versions"]["duckdb"] = "1.0.0"
    (folder / "a.json").write_text(json.dumps(record))
    result = run("evaluate", *again("a.json"))
    ours = duckdb.__version__
    assert result.stderr.endswith(f", but for duckdb: {ours}, was 1.0.0\n")


def test_attrs_are_a_record(folder: Path) -> None:
    with sm.Evaluator("als.parquet", "truth.parquet", trust_input=True) as evaluator:
        record = evaluator.evaluate(["recall@2"]).attrs["sqlmetrics"]
    (folder / "a.json").write_text(json.dumps(record))
    result = run("evaluate", *again("a.json"))
    for what in ("the contents of tables", "counts of users", "values"):
        assert f"\n  not compared: {what}, not in the record" in result.stderr


def test_results_in_files(folder: Path) -> None:
    run("evaluate", *ONE, "recall@2", "--record", "a.json", "-o", "a.parquet")
    result = run("evaluate", *again("a.json"), "-o", "a.csv", "--record", "b.json")
    assert "sqlmetrics: the same as in a.json" in result.stderr
    rows = [json.loads((folder / name).read_text())["rows"] for name in ("a.json", "b.json")]
    assert rows[0] == rows[1] == [list(pq.read_table("a.parquet").to_pylist()[0].values())]


def test_long_results_are_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_ROWS", 20)
    for target in ([], ["-o", "a.parquet"]):
        run("per-user", *ONE, "recall@2", "--record", "a.json", "--force", *target)
        record = json.loads((folder / "a.json").read_text())
        assert "rows" not in record
        assert record["unknown"] == {"rows": "the result has 40 rows, a record holds 20 at most"}
    result = run("per-user", *again("a.json"))
    why = "the result has 40 rows, a record holds 20 at most"
    assert result.stderr.endswith(f", but for not compared: values ({why})\n")


def test_a_record_is_written_whole_or_not_at_all(folder: Path) -> None:
    (folder / "a.json").write_text("mine")
    result = run("evaluate", *ONE, "recall@2", "--record", "a.json", code=1)
    assert "a.json exists and is not overwritten; add --force" in result.stderr
    assert result.stdout == ""  # said before anything is computed
    assert (folder / "a.json").read_text() == "mine"
    run("evaluate", "-r", "als.parquet", "-i", "none.parquet", "recall@2", "--record", "a.json",
        "--force", code=1)  # fmt: skip
    assert (folder / "a.json").read_text() == "mine"
    run("evaluate", *ONE, "recall@2", "--record", "a.json", "--force")
    assert json.loads((folder / "a.json").read_text())["record"] == records.FORMAT
    assert sorted(path.name for path in folder.iterdir()) == [
        "a.json", "als.parquet", "other.parquet", "truth.parquet"
    ]  # fmt: skip
    for target in ("", "-"):
        result = run("evaluate", *ONE, "recall@2", "--record", target, code=2)
        assert "--record: name a file of its own" in result.stderr
    result = run("evaluate", *ONE, "recall@2", "--record", "b.json", "-o", "b.json", code=2)
    assert "--record: name a file of its own" in result.stderr
    result = run(
        "evaluate", *ONE, "recall@2", "--record", "b.json", "--partition", "1/2", "-o", "p", code=2
    )
    assert "a part is no result that could have a record" in result.stderr


# --- records that cannot be run


def of_frames(folder: Path) -> dict[str, Any]:
    with sm.Evaluator(LISTS, "truth.parquet", record=True) as evaluator:
        record: dict[str, Any] = evaluator.evaluate("recall@2").attrs["sqlmetrics"]
    (folder / "a.json").write_text(json.dumps(record))
    return record


def test_what_cannot_be_read_again_has_to_be_given(folder: Path) -> None:
    of_frames(folder)
    result = run("evaluate", *again("a.json"), code=2)
    assert "recommendations: the record says pyarrow.Table, which cannot be read" in result.stderr
    assert "give it with -r FILE" in result.stderr
    run("evaluate", *again("a.json"), "-r", "als.parquet")
    text = (folder / "a.json").read_text()
    run("evaluate", "-r", "als.parquet", "-i", "-", "recall@2", "--record", "b.json",
        input=(folder / "truth.parquet").read_bytes())  # fmt: skip
    result = run("evaluate", *again("b.json"), code=2)
    assert "interactions: the record says stdin" in result.stderr
    assert "-i FILE" in result.stderr
    assert (folder / "a.json").read_text() == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "it cannot be read"),
        ("{", "this is not JSON"),
        ("[1]", "this is not a record"),
        ('{"a": 1}', "this is not a record"),
        ('{"record": 2, "versions": "x"}', "a record of format 2"),
        (b"\xff\xfe", "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
    ],
)
def test_what_is_no_record(text: str | bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run("evaluate", "--from-record", str(path), code=2)
    assert message in result.stderr
    assert len(result.stderr) < 1000


def test_a_record_of_another_command(folder: Path) -> None:
    of_frames(folder)
    result = run("per-user", *again("a.json"), code=2)
    assert "it is of evaluate: sqlmetrics evaluate --from-record a.json" in result.stderr


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Find the place of everything in a record."""
    yield ()
    inner = list(enumerate(value)) if isinstance(value, list) else []
    for key, entry in value.items() if isinstance(value, dict) else inner:
        yield from ((key, *rest) for rest in places(entry))


def with_junk(record: Any, place: tuple[Any, ...], junk: Any) -> Any:
    damaged = copy.deepcopy(record)
    inner = damaged
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = junk
    return damaged


def test_damaged_records_are_refused(folder: Path) -> None:
    """Whatever stands anywhere in a record: an error of ours, or options, never a traceback."""
    record = records.with_result(of_frames(folder), Rows(["metric", "k", "value"], [], [
        ("recall", 2, 0.5), ("map", None, None)]))  # fmt: skip
    record["sources"][0].update(source=["a.parquet", "b.parquet"], kind="parquet")
    path = folder / "b.json"
    typed = {"recommendations": (), "settings": (), "columns": (), "where": (), "by": (),
             "by_item": (), "metrics": (), "cutoffs": None, "engine": "duckdb", "baseline": None,
             "conventions": (), "key": "user_id", "templates": (), "fallback": None,
             **dict.fromkeys(replay.OPTIONS)}  # fmt: skip
    refused = taken = longest = 0
    for place in [place for place in places(record) if place]:
        for junk in (None, 5, -1.5, "x", [], {}, [None], {"a": {}}, [[]], {"a": 1}):
            damaged = with_junk(record, place, junk)
            path.write_text(json.dumps(damaged))
            try:
                read = replay.read(path, "evaluate")
                replay.again(read, typed, lambda _: False)
            except (UsageError, DataError) as error:
                refused += 1
                longest = max(longest, len(str(error)))
                continue
            taken += 1
            for pair in ((read, record), (record, read)):
                assert diff.message("b.json", diff.differences(*pair))
    assert refused > 500
    assert taken > 100
    assert longest < 600


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["evaluate", "leaderboard"])
def test_damaged_arguments_are_refused(command: str, folder: Path) -> None:
    more = ["--test", "bootstrap"] if command == "leaderboard" else []
    run(command, *TWO, "recall@2", "--record", "a.json", "--history", "truth.parquet", *more)
    record = json.loads((folder / "a.json").read_text())
    parts = ("asked", "given") if command == "evaluate" else ("asked",)
    places = [(part, name) for part in parts for name in record[part]]
    codes = set()
    for place in places:
        for junk in (5, 1e300, "x", [None], {"a": 1}):
            (folder / "b.json").write_text(json.dumps(with_junk(record, place, junk)))
            result = CliRunner().invoke(main, [command, "--from-record", "b.json"])
            assert isinstance(result.exception, SystemExit | None), (place, junk)
            codes.add(result.exit_code)
            assert result.exit_code in (0, 1, 2), (place, junk)
    assert 2 in codes


def test_error_of_differences_is_about_data(folder: Path) -> None:
    assert DataError.exit_code == 1
    run("evaluate", *ONE, "recall@2", "--record", "a.json")
    pq.write_table(LISTS.slice(1), "als.parquet")
    run("evaluate", *again("a.json"), "--record", "b.json", code=1)
    assert (folder / "b.json").exists()  # the new result has its record


# --- records of somebody else


# may a record set an option? Only one that can change a number
MAY_SET = {
    **dict.fromkeys(
        ["metrics", *replay.OPTIONS, "cutoffs", "conventions", "fallback", "settings", "columns",
         "key", "where", "templates", "by", "by_item", "skip_missing", "combinations", "ci",
         "confidence", "resamples", "seed", "run_ci", "partition", "test", "correction", "alpha"],
        True,
    ),
    **dict.fromkeys(
        ["trust_input", "engine", "master", "threads", "memory_limit", "temp_directory",
         "temp_limit", "partitions", "gates", "record", "from_record", "trust_record", "kind",
         "digits", "output", "force", "check"],
        False,
    ),
}  # fmt: skip
FORBIDDEN = [name for name in MAY_SET if not MAY_SET[name]]


def test_it_is_decided_of_every_option_whether_a_record_may_set_it() -> None:
    options = {str(param.name) for name in COMMANDS for param in main.commands[name].params}
    assert options == MAY_SET.keys()
    assert {name for name in MAY_SET if MAY_SET[name]} == replay.SET_BY_RECORDS


def test_every_argument_has_a_form_in_records() -> None:
    of_evaluator = inspect.signature(sm.Evaluator).parameters.keys() - records._NOT_GIVEN
    assert replay._GIVEN.keys() == of_evaluator | {"baseline"}
    for name, forms in replay._ASKED.items():
        assert forms.keys() == inspect.signature(getattr(sm.Evaluator, name)).parameters.keys() - {
            "self"
        }


@pytest.fixture
def honest(folder: Path) -> dict[str, Any]:
    (folder / "precious.txt").write_text("mine")
    run("evaluate", *ONE, "recall@2", "--record", "a.json")
    record: dict[str, Any] = json.loads((folder / "a.json").read_text())
    return record


def refused(record: Mapping[str, Any], *arguments: str, code: int | tuple[int, ...]) -> str:
    """Run a record again that somebody else has written."""
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    Path("b.json").write_text(json.dumps(record))
    result = run("evaluate", "--from-record", "b.json", *arguments, code=code)
    Path("b.json").unlink()
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize("place", ["asked", "given", ""])
@pytest.mark.parametrize("name", [*FORBIDDEN, "path", "connection", "watch", "--force", "\x1b[2J"])
def test_a_record_sets_no_other_option(name: str, place: str, honest: dict[str, Any]) -> None:
    part = honest[place] if place else honest
    if name in part:  # what is recorded, and not set: the test below
        return
    part.update({name: "precious.txt"})
    message = refused(honest, "--trust-record", code=1)
    assert "it is damaged: a record has no entry" in message
    assert json.dumps(f"{place}.{name}".lstrip(".")) in message


def test_what_is_recorded_and_not_set(honest: dict[str, Any], folder: Path) -> None:
    pq.write_table(pa.concat_tables([LISTS, LISTS]), "als.parquet")  # duplicates
    honest["given"].update(
        trust_input=True, threads=4000, memory_limit="1 KB", temp_directory="gone", partitions=9
    )
    assert "duplicate" in refused(honest, "--trust-record", code=1)  # is checked nevertheless
    assert not (folder / "gone").exists()


WRONG: list[tuple[str, str, Any]] = [
    ("asked", "metrics", {"a": "ndcg"}),
    ("asked", "metrics", [["ndcg"]]),
    ("asked", "metrics", 5),
    ("asked", "k", [None]),
    ("asked", "by", {"a": 1}),
    ("asked", "combinations", "yes"),
    ("asked", "ci", 5),
    ("asked", "ci", "--force"),
    ("asked", "confidence", "0.9"),
    ("asked", "resamples", 1.5),
    ("asked", "seed", True),
    ("asked", "skip_missing", [True]),
    ("given", "settings", "ties=item_desc"),
    ("given", "settings", {"ties": {"a": 1}}),
    ("given", "columns", {"user_id": 5}),
    ("given", "where", {"interactions": ["user_id > 3"]}),
    ("given", "key", 5),
    ("given", "convention", {"a": "standard"}),
    ("given", "templates", ["a\0b"]),
    ("given", "templates", [""]),
    ("given", "baseline", "precious.txt"),  # no model of it: not a file either
    ("given", "fallback", 5),
    ("given", "temp_directory", ["a"]),
]


@pytest.mark.parametrize(("part", "name", "value"), WRONG)
def test_arguments_of_another_form(
    part: str, name: str, value: Any, honest: dict[str, Any]
) -> None:
    honest[part][name] = value
    message = refused(honest, "--trust-record", code=1)
    assert "it is damaged: " in message
    assert name in message


@pytest.mark.parametrize(
    "option", ["-o=precious.txt", "--output=precious.txt", "--force", "-o", "-"]
)
def test_values_are_no_options(option: str, honest: dict[str, Any]) -> None:
    """What looks like an option stays the value that it stands for."""
    changes: list[tuple[str, str, Any]] = [
        *(("asked", name, [option]) for name in ("metrics", "by")),
        *(("given", name, [option]) for name in ("convention", "key")),
        ("given", "fallback", option),
        *(("given", name, {option: "user_id"}) for name in ("settings", "columns", "where")),
        ("given", "settings", {"ties": option}),
        ("given", "columns", {"user_id": option}),
        ("given", "where", {"interactions": option}),
    ]
    for part, name, value in changes:
        changed = copy.deepcopy(honest)
        changed[part][name] = value
        assert option in refused(changed, "--trust-record", code=(1, 2))


@pytest.mark.parametrize("path", ["-", "", "a\0b", ["als.parquet", "-"]])
def test_sources_that_are_no_files(path: Any, honest: dict[str, Any]) -> None:
    honest["sources"][1]["source"] = path
    assert "which is no file; give it with -i FILE" in refused(honest, "--trust-record", code=2)


def test_sources_are_paths_alone(honest: dict[str, Any]) -> None:
    honest["sources"][0]["source"] = "mine=als.parquet"  # no model of that name
    assert "mine=als.parquet" in refused(honest, "--trust-record", code=1).splitlines()[-1]


@pytest.mark.parametrize(
    ("table", "models"),
    [
        ("recommendations", [None, None]),
        ("recommendations", [None, "a"]),
        ("recommendations", ["a", "a"]),
        ("interactions", ["a"]),
        ("interactions", [None, None]),
    ],
)
def test_models_that_no_table_has(
    table: str, models: list[str | None], honest: dict[str, Any]
) -> None:
    others = [one for one in honest["sources"] if one["table"] != table]
    (source,) = (one for one in honest["sources"] if one["table"] == table)
    honest["sources"] = [*others, *({**source, "model": model} for model in models)]
    assert f"it is damaged: {table} is of the models" in refused(honest, code=1)


def test_files_are_listed_and_asked_for(honest: dict[str, Any]) -> None:
    honest["sources"][1]["source"] = ["/etc/\x1b[8mhostname", "truth.parquet"]
    honest["given"].update(convention=["standard", "mine.toml"], templates=["metrics"])
    message = refused(honest, code=2)
    assert message.splitlines() == [
        "sqlmetrics: files named by b.json:",
        "  convention: mine.toml",
        "  templates (SQL that is run): metrics",
        "  recommendations: als.parquet",
        "  interactions: /etc/\\x1b[8mhostname, truth.parquet",
        "sqlmetrics: error: --from-record b.json: these files were not read; add --trust-record "
        "to read the files that the record names, or name your own with -r, -i and the other "
        "options",
    ]
    message = refused(
        honest, "-i", "truth.parquet", "--templates", "metrics", "--convention", "standard", code=2
    )
    assert message.splitlines()[1:-1] == ["  recommendations: als.parquet"]


@pytest.mark.usefixtures("honest")
def test_what_is_typed_is_not_asked_for() -> None:
    result = run("evaluate", "--from-record", "a.json", *ONE)
    assert result.stderr == "sqlmetrics: the same as in a.json\n"
    result = run("evaluate", *ONE, "recall@2", "--trust-record", code=2)
    assert "--trust-record is about the record of --from-record FILE" in result.stderr


@pytest.mark.usefixtures("honest")
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("\n", 2), ("n\n", 2)])
def test_a_terminal_is_asked(answer: str, code: int) -> None:
    pty = pytest.importorskip("pty")  # of POSIX
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    process = subprocess.run(
        [sys.executable, "-m", "sqlmetrics", "evaluate", "--from-record", "a.json"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert process.returncode == code, said
    assert "Read these files? [y/N]" in said
    assert ("these files were not read" in said) == (code != 0)
    assert process.stdout.startswith(b"metric,k,value") == (code == 0)


def test_a_record_starts_no_other_engine(honest: dict[str, Any]) -> None:
    honest["versions"]["spark"] = honest["versions"].pop("duckdb")
    assert "add --engine spark, or --engine duckdb" in refused(honest, code=2)
    Path("b.json").write_text(json.dumps(honest))
    result = run("evaluate", "--engine", "duckdb", *again("b.json"))
    assert f"duckdb: {duckdb.__version__}, was not given" in result.stderr
