"""Hostile input: a result or one of our own errors, never a traceback, never a wrong number.

Names, values, files and command lines are drawn from what has a meaning somewhere: SQL, Jinja,
TOML, shells, Unicode. The right numbers come from the same data under plain names and types.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jinja2.sandbox import SandboxedEnvironment

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.errors import SqlmetricsError, SqlmetricsWarning, TemplateError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.sql.quoting import identifier, literal
from sqlmetrics.sql.templates import environment

FEW = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=3,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=10)

# names and values that mean something to somebody on the way
HOSTILE = [
    "select", "from", "order", "group", "all", "user", "k", "rank", "model", "metric", "value",
    "slice", "label", "position", "row_number", "user_id", "item_id", "score", "hits", "ranked",
    "relevant", "audience", "count", "sum", "null", "true", "none", "nan", "inf", "-inf", "1e400",
    "0", "-1", "007", "1.5", "a b", "a.b", "a,b", "a=b", "a@5", "(a)", "(none)", "(all)", "*", "%",
    'a"b', '"a""b"', "it's", "''", '"', "'", "x'; DROP TABLE recs; --", '"; DROP TABLE recs; --',
    "1); DROP TABLE recs; --", "/* */", "--", ";", "\\", "\\n", "a\nb", "a\tb", "\x00", "\x7f",
    "{{ 7 * 7 }}", "{% raw %}", "{#", "#}", "${x}", "$1", "?", ":x", "%s", "{}", "{0}", "{n}",
    "é", "ö", "İ", "ß", "日本語", "🙂", "\u200b", "\u202e", "\ud800", "ﬀ", "A", "ａ", " ", "",
    "sqlmetrics_row", "sqlmetrics_recommendations", "component_1", "label_1", "main", "temp",
]  # fmt: skip
NAMES = [name for name in HOSTILE if name.strip() and "\ud800" not in name and "\x00" not in name]


def some(values: Iterable[str], always: Collection[str]) -> list[Any]:
    """Return some values for every run of a test, and every sixth of the others where thorough."""
    values = list(values)
    assert set(always) <= set(values)
    values = [*always, *[value for value in values if value not in always][::6]]
    return [
        pytest.param(value, marks=() if value in always else pytest.mark.thorough)
        for value in values
    ]


OFTEN = [
    "select",
    '"a""b"',
    "x'; DROP TABLE recs; --",
]


PIECES = [
    *HOSTILE, "ndcg", "recall", "map", "err", "ips", "coverage", "@", "@5", "@0", "@-1", "@1e3",
    "@99999999999", "(", ")", "=", ",", "gain", "exponential", "divisor", "max_grade", "quantile",
    "aggregate", "relevant_from", "audience=all", "(gain=linear)", "ties=row", "beta=1e308",
    "max_grade=5e-324", "break_probability=1", "alpha=nan", "seed=1e15", "activity", "month",
    "popularity(groups=3)", "activity_group(groups=0)", "items.", "users.country", "all", "5,10",
    "1:20", "9:1", "1:", "٣", "１", "0x10", "1_000", "+3", "  ",
]  # fmt: skip

hostile_text = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), st.text(max_size=12)
)

# three users, lists with ranks 1 to 4, and what they like
LISTS = [(1, [11, 12, 13, 14]), (2, [12, 14, 15, 11]), (3, [15, 13])]
TRUTH = [(1, [12, 14]), (2, [11]), (3, [13, 12])]
METRICS = ["ndcg@3", "recall@2", "map", "mrr", "coverage"]


def list_rows() -> list[tuple[int, int, int]]:
    return [(u, i, rank) for u, items in LISTS for rank, i in enumerate(items, start=1)]


def lists_table() -> pa.Table:
    users, items, ranks = zip(*list_rows(), strict=True)
    scores = [10.0 - rank for rank in ranks]
    return pa.table({"user_id": users, "item_id": items, "rank": ranks, "score": scores})


def truth_table() -> pa.Table:
    users, items = zip(*((u, i) for u, items in TRUTH for i in items), strict=True)
    return pa.table({"user_id": users, "item_id": items, "relevance": [1.0, 2.0, 1.0, 3.0, 1.0]})


def history_table() -> pa.Table:
    return pa.table({"user_id": [1, 2, 2], "item_id": [11, 12, 15]})


def users_table() -> pa.Table:
    return pa.table({"user_id": [1, 2, 3], "country": ["it's", 'a"b', None]})


def values(frame: pd.DataFrame) -> list[float]:
    return [float(value) for value in frame["value"]]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let our own warnings pass: they are not what is asked here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SqlmetricsWarning)
        yield


@pytest.fixture(scope="module")
def expected() -> list[float]:
    tables = {"history": history_table(), "users": users_table()}
    with sm.Evaluator(lists_table(), truth_table(), **tables) as evaluator:
        return values(evaluator.evaluate(METRICS))


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of the user's, with the tables and one that nobody may touch."""
    connection = duckdb.connect()
    for name, table in (
        ("recs", lists_table()), ("truth", truth_table()), ("history", history_table()),
        ("users", users_table()),
    ):  # fmt: skip
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS FROM given")
        connection.unregister("given")
    connection.execute("CREATE TABLE precious AS SELECT 42 AS answer")
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def evaluator(database: duckdb.DuckDBPyConnection) -> Iterator[sm.Evaluator]:
    tables = {"history": "history", "users": "users"}
    with sm.Evaluator("recs", "truth", **tables, connection=database) as opened:
        yield opened


def state(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """Return what a connection has: tables, views, columns, settings, and the rows that matter."""
    queries = [
        "SELECT database_name, schema_name, table_name, estimated_size FROM duckdb_tables()",
        "SELECT view_name FROM duckdb_views() WHERE NOT internal",
        "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal",
        "SELECT name, value FROM duckdb_settings()",
        "SELECT function_name FROM duckdb_functions() WHERE NOT internal",
        "FROM precious",
        "FROM recs",
    ]
    return [sorted(connection.execute(query).fetchall(), key=repr) for query in queries]


def own_error_or(call: Callable[[], Any]) -> Any:
    """Return what a call returns, None where it refuses; anything else that is raised is a bug."""
    refused: list[str] = []
    with quiet():
        try:
            return call()
        except SqlmetricsError as error:
            refused.append(str(error))
    assert all(message.strip() for message in refused)
    return None


# ---------------------------------------------------------------- names and values in requests

REQUESTS: dict[str, Callable[[sm.Evaluator, str], Any]] = {
    "metric": lambda evaluator, text: evaluator.evaluate(text),
    "per user": lambda evaluator, text: evaluator.per_user([text]),
    "param": lambda evaluator, text: evaluator.evaluate(f"ndcg(gain={text})@3"),
    "number": lambda evaluator, text: evaluator.evaluate(f"f_beta(beta={text})@3"),
    "threshold": lambda evaluator, text: evaluator.evaluate(f"recall(relevant_from={text})@3"),
    "cutoff": lambda evaluator, text: evaluator.evaluate("recall", k=text),
    "cutoff in a spec": lambda evaluator, text: evaluator.evaluate(f"recall@{text}"),
    "by": lambda evaluator, text: evaluator.evaluate("recall@3", by=text),
    "by item": lambda evaluator, text: evaluator.evaluate("recall@3", by_item=text),
    "stage": lambda evaluator, text: evaluator.stage(text),
    "statement": lambda evaluator, text: evaluator.sql(text),
}


def request(evaluator: sm.Evaluator, kind: str, text: str) -> None:
    before = state(evaluator.engine.connection)
    found = own_error_or(lambda: REQUESTS[kind](evaluator, text))
    if isinstance(found, pd.DataFrame) and "value" in found:
        assert not any(math.isinf(value) for value in values(found))
    assert state(evaluator.engine.connection) == before


@pytest.mark.parametrize("kind", REQUESTS)
def test_requests(evaluator: sm.Evaluator, kind: str) -> None:
    @settings(FEW, max_examples=3)
    @given(text=hostile_text)
    @example(text="x'; DROP TABLE precious; --")
    def search(text: str) -> None:
        request(evaluator, kind, text)

    search()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", REQUESTS)
def test_more_requests(evaluator: sm.Evaluator, kind: str) -> None:
    @MANY
    @given(text=hostile_text)
    def search(text: str) -> None:
        request(evaluator, kind, text)

    search()


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    hostile_text,
    st.binary(max_size=4),
    st.lists(st.one_of(st.integers(-2, 30), st.floats(), hostile_text), max_size=3),
    st.dictionaries(hostile_text, st.integers(), max_size=2),
    st.just(object()),
)


@settings(FEW, max_examples=15)
@given(value=anything, name=st.sampled_from(["metrics", "k", "by", "by_item", "ci", "seed"]))
def test_arguments_of_any_type(value: Any, name: str) -> None:
    given = {"metrics": "recall@3", "k": 2, name: value}
    with sm.Evaluator(lists_table(), truth_table()) as evaluator:
        own_error_or(lambda: evaluator.evaluate(given.pop("metrics"), given.pop("k"), **given))


OF_EVALUATOR = ["settings", "columns", "key", "convention", "fallback", "templates"]


@settings(FEW, max_examples=40)
@given(
    value=st.one_of(
        anything,
        st.dictionaries(
            st.one_of(hostile_text, st.sampled_from(["ties", "map.divisor"])), anything
        ),
    ),
    name=st.sampled_from(OF_EVALUATOR),
)
def test_arguments_of_an_evaluator(value: Any, name: str) -> None:
    own_error_or(lambda: sm.Evaluator(lists_table(), truth_table(), **{name: value}).close())


@settings(FEW, max_examples=20)
@given(
    name=st.sampled_from(sorted(Catalog.load().known_settings())),
    value=st.one_of(st.sampled_from(PIECES), st.floats(), st.integers(), st.none(), st.booleans()),
)
def test_settings(name: str, value: Any) -> None:
    def call() -> pd.DataFrame:
        tables = {"history": history_table(), "settings": {name: value}}
        with sm.Evaluator(lists_table(), truth_table(), **tables) as evaluator:
            return evaluator.evaluate(["ndcg@3", "recall@2", "coverage"])

    found = own_error_or(call)
    if found is not None:
        assert not any(math.isinf(one) for one in values(found))


# ---------------------------------------------------------------- names of columns and tables


@pytest.mark.parametrize("name", some(NAMES, OFTEN))
def test_columns_with_hostile_names(name: str, expected: list[float]) -> None:
    """The item's column is called so, and mapped; the truth has a further column of that name."""
    lists = lists_table().rename_columns(["user_id", name, "rank", "points"])
    truth = truth_table()
    if name.lower() not in ("user_id", "item_id", "relevance"):
        truth = truth.append_column(name, pa.array(["x"] * len(truth)))
    columns = {"recommendations.item_id": name}
    if name.lower() in ("user_id", "rank"):
        lists = lists_table().rename_columns(["u", name, "r", "points"])
        columns |= {"recommendations.user_id": "u", "recommendations.rank": "r"}
    tables = {"history": history_table(), "users": users_table(), "columns": columns}
    with sm.Evaluator(lists, truth, **tables) as evaluator:
        assert values(evaluator.evaluate(METRICS)) == expected


# columns of results: slices cannot be called so
OF_RESULTS = {"user_id", "k", "model", "metric", "value", "position"}


@pytest.mark.parametrize("name", some(NAMES, OFTEN))
def test_tables_and_slices_with_hostile_names(
    name: str, expected: list[float], tmp_path: Path
) -> None:
    """A table of a connection is called so, and a column to slice by."""
    quoted = '"' + name.replace('"', '""') + '"'
    users = pa.table({"user_id": [1, 2, 3]})
    if name != "user_id":
        users = users.append_column(name, users_table()["country"])
    with duckdb.connect() as connection, contextlib.chdir(tmp_path):
        connection.register("just_now", lists_table())
        connection.execute(f"CREATE TABLE {quoted} AS FROM just_now")
        connection.unregister("just_now")
        connection.execute("CREATE TABLE recs AS SELECT 42 AS answer")
        tables = {"history": history_table(), "users": users, "connection": connection}
        with sm.Evaluator(name, truth_table(), **tables) as evaluator:
            assert values(evaluator.evaluate(METRICS)) == expected
            if name.lower() in OF_RESULTS:
                with pytest.raises(SqlmetricsError, match=f"by: .* {name} "):
                    evaluator.evaluate("recall@2", by=f"users.{name}")
            else:
                found = evaluator.evaluate("recall@2", by=f"users.{name}")
                assert next(iter(found.columns)) == name
                assert dict(zip(found[name], values(found), strict=True)) == {
                    "it's": 0.5, 'a"b': 0.0, "(none)": 0.5
                }  # fmt: skip
        assert connection.sql("FROM recs").fetchall() == [(42,)]


def test_models_with_hostile_names(expected: list[float]) -> None:
    """Every name is a model of its own, with the same lists."""
    names = [name for name in HOSTILE if "\ud800" not in name]
    lists = pa.concat_tables(
        [lists_table().append_column("model", pa.array([n] * 10, pa.string())) for n in names]
    )
    with sm.Evaluator(lists, truth_table(), history=history_table()) as evaluator:
        found = evaluator.evaluate(METRICS)
        users = evaluator.per_user(METRICS[:1])
        assert sorted(evaluator.models) == sorted(names)
    assert sorted(set(found["model"])) == sorted(names)
    for _, of_model in found.groupby("model"):
        assert values(of_model) == expected
    assert len(users) == 3 * len(names)


@pytest.mark.thorough
def test_ids_with_hostile_texts(expected: list[float]) -> None:
    """Users and items are texts that mean something to somebody; ranks give the order."""
    texts = [name for name in dict.fromkeys(HOSTILE) if "\ud800" not in name]
    assert len(texts) > 80
    for start in range(0, len(texts) - 20, 20):
        some = texts[start : start + 20]

        def named(table: pa.Table, some: list[str] = some) -> pa.Table:
            for place, column in enumerate(("user_id", "item_id")):
                if column in table.column_names:
                    of_row = [some[number] for number in table[column].to_pylist()]
                    table = table.set_column(place, column, pa.array(of_row))
            return table

        tables = {"history": named(history_table()), "users": named(users_table())}
        with sm.Evaluator(named(lists_table()), named(truth_table()), **tables) as evaluator:
            assert values(evaluator.evaluate(METRICS)) == expected
            users = evaluator.per_user(METRICS[:1])
            assert sorted(users["user_id"]) == sorted(some[1:4])
            sliced = evaluator.evaluate("recall@2", by="country")
            assert sorted(sliced["country"]) == ["(none)", 'a"b', "it's"]


# ---------------------------------------------------------------- types and special values

# expressions over the number `id`, such that different numbers stay different
ID_TYPES = {
    "TINYINT": "id::TINYINT", "SMALLINT": "id::SMALLINT", "INTEGER": "id::INTEGER",
    "BIGINT": "id::BIGINT", "HUGEINT": "10000000000000000000000000000000000000 - id::HUGEINT",
    "UTINYINT": "id::UTINYINT", "UBIGINT": "18446744073709551615 - id::UBIGINT",
    "UHUGEINT": "id::UHUGEINT", "FLOAT": "id::FLOAT", "DOUBLE": "id::DOUBLE / 3",
    "DECIMAL": "id::DECIMAL(18, 3) / 8", "WIDE": "id::DECIMAL(38, 10)", "VARCHAR": "id::VARCHAR",
    "BLOB": "('x' || id)::BLOB", "DATE": "DATE '2020-01-01' + id::INTEGER",
    "TIMESTAMP": "TIMESTAMP '2020-01-01' + id * INTERVAL 1 DAY",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2020-01-01 00:00:00+00' + id * INTERVAL 1 DAY",
    "TIMESTAMP_NS": "(TIMESTAMP '2020-01-01' + id * INTERVAL 1 DAY)::TIMESTAMP_NS",
    "TIME": "TIME '00:00:00' + id * INTERVAL 1 MINUTE", "INTERVAL": "id * INTERVAL 1 DAY",
    "UUID": "('00000000-0000-0000-0000-0000000000' || id + 10)::UUID",
    "ENUM": "CAST(id::VARCHAR AS ENUM('1','2','3','11','12','13','14','15'))",
    "BIT": "(id + 16)::INTEGER::BIT", "BOOLEAN": "id > 2", "STRUCT": "{'a': id}",
    "MAP": "MAP {'a': id}", "LIST": "[id]", "ARRAY": "array_value(id, id)",
    "JSON": "('{\"a\": ' || id || '}')::JSON", "BIGNUM": "id::BIGNUM",
    "UNION": "union_value(a := id)", "NULL": "NULL",
}  # fmt: skip
# no ids, or, as BOOLEAN and NULL, not enough of them
NO_IDS = {"BOOLEAN", "STRUCT", "MAP", "LIST", "ARRAY", "UNION", "NULL"}


@pytest.mark.parametrize("column", ["user_id", "item_id"])
@pytest.mark.parametrize("kind", some(ID_TYPES, ["HUGEINT", "ENUM"]))
def test_types_of_ids(kind: str, column: str, expected: list[float]) -> None:
    with duckdb.connect() as connection:
        tables = {}
        for name, table in (
            ("recommendations", lists_table()), ("interactions", truth_table()),
            ("history", history_table()),
        ):  # fmt: skip
            connection.register("given", table)
            expression = ID_TYPES[kind].replace("id", column)
            try:
                connection.execute(
                    f"CREATE TABLE {name} AS SELECT * REPLACE ({expression} AS {column}) FROM given"
                )
            except (duckdb.ParserException, duckdb.CatalogException, duckdb.BinderException):
                pytest.skip(f"this version of DuckDB has no {kind}")
            connection.unregister("given")
            tables[name] = name

        def call() -> list[float]:
            with sm.Evaluator(**tables, connection=connection) as evaluator:
                found = values(evaluator.evaluate(METRICS))
                assert len(evaluator.per_user(METRICS[:-1], k=2)["user_id"].unique()) == 3
                sliced = evaluator.evaluate("recall@2", by="activity")
                assert sum(sliced["n_users"]) == 3
                return found

        assert own_error_or(call) == (None if kind in NO_IDS else expected)


def test_times_with_a_zone_need_no_further_package() -> None:
    """DuckDB fetches them with the package pytz, which may not be there."""
    times = pa.array([0, 1, 2], pa.timestamp("us", tz="Europe/Paris"))
    history = history_table().append_column("timestamp", times)
    with sm.Evaluator(lists_table(), truth_table(), history=history) as evaluator:
        assert len(evaluator.evaluate("recall@2", by="activity")) > 0
    twice = pa.concat_tables([history, history])
    columns = {"interactions.item_id": "timestamp", "recommendations.item_id": "time"}
    lists = lists_table().slice(0, 3).append_column("time", times)
    shown = r"1970-01-01 0[01]:00:00(\.\d+)?\+0[01]:00"
    with (
        sm.Evaluator(lists, twice, columns=columns) as evaluator,
        pytest.raises(sm.DataError, match=shown),
    ):
        evaluator.evaluate("recall@2")


NUMBER_TYPES = {
    "TINYINT": True, "UTINYINT": True, "INTEGER": True, "BIGINT": True, "UBIGINT": True,
    "HUGEINT": True, "UHUGEINT": True, "FLOAT": True, "DOUBLE": True, "DECIMAL(9, 2)": True,
    "DECIMAL(38, 9)": True, "VARCHAR": False, "BLOB": False,
    "BOOLEAN": None, "BIGNUM": None, "JSON": False,
}  # fmt: skip


@pytest.mark.parametrize("column", ["score", "rank", "relevance"])
@pytest.mark.parametrize("kind", some(NUMBER_TYPES, ["DECIMAL(38, 9)"]))
def test_types_of_numbers(kind: str, column: str) -> None:
    """Numbers of any type order and count as they do in double precision; all else is refused."""
    table, name = (truth_table(), "truth") if column == "relevance" else (lists_table(), "lists")
    metrics = ["ndcg(gain=linear)@3", "recall@2", "err(max_grade=4)@3", "map"]
    options = {"settings": {} if column != "score" else {"order": "score"}}
    with sm.Evaluator(lists_table(), truth_table(), **options) as evaluator:
        plain = values(evaluator.evaluate(metrics))
    with duckdb.connect() as connection:
        connection.register("given", table)
        try:
            connection.execute(
                f"CREATE TABLE {name} AS SELECT * REPLACE (CAST({column} AS {kind}) AS {column}) "
                "FROM given"
            )
        except duckdb.Error:
            with contextlib.suppress(duckdb.Error):
                connection.execute(
                    f"CREATE TABLE {name} AS SELECT * REPLACE "
                    f"(CAST({column}::VARCHAR AS {kind}) AS {column}) FROM given"
                )
        connection.unregister("given")
        if not connection.execute("SELECT 1 FROM duckdb_tables()").fetchall():
            pytest.skip(f"no number can be written as {kind}")
        sources = (lists_table(), "truth") if column == "relevance" else ("lists", truth_table())

        def call() -> list[float]:
            with sm.Evaluator(*sources, **options, connection=connection) as evaluator:
                return values(evaluator.evaluate(metrics))

        found = own_error_or(call)
    if NUMBER_TYPES[kind] is True:
        assert found == pytest.approx(plain, rel=1e-12)
    elif NUMBER_TYPES[kind] is False:
        assert found is None
    elif found is not None and column == "relevance" and kind == "BOOLEAN":
        truth = truth_table().set_column(2, "relevance", pa.array([1.0] * 5))
        with sm.Evaluator(lists_table(), truth) as evaluator:
            assert found == values(evaluator.evaluate(metrics))


SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-30, 1e15, 2.0**53, 2.0**63,
    3.4028235e38, 3.5e38, 1e100, 1.7976931348623157e308, -1.7976931348623157e308, math.inf,
    -math.inf, math.nan, None,
]  # fmt: skip
BOUNDED = [
    f"{name}@3"
    for name, metric in Catalog.load().metrics.items()
    if metric.range == (0, 1) and metric.family in ("accuracy", "ranking", "money")
]


def within_range(frame: pd.DataFrame) -> None:
    for row in frame.to_dict("records"):
        if not pd.isna(row["value"]):
            assert -1e-9 <= row["value"] <= 1 + 1e-9, row


special_numbers = st.lists(
    st.one_of(st.sampled_from(SPECIAL), st.floats(width=64)), min_size=10, max_size=10
)
usual_numbers = st.sampled_from([1.0, 2.0, 0.0, -1.0, 0.5])


def special_scores(numbers: list[float | None], precision: str) -> None:
    """Scores of any size order a list as they do in Python; what is no number is refused."""
    lists = (
        lists_table()
        .select(["user_id", "item_id"])
        .append_column("score", pa.array(numbers, pa.float64()))
    )
    options = {"settings": {"score_type": precision}}

    def call() -> list[float]:
        with sm.Evaluator(lists, truth_table(), **options) as evaluator:
            return values(evaluator.evaluate(METRICS[:-1]))

    found = own_error_or(call)
    regular = all(number is not None and math.isfinite(number) for number in numbers)
    assert (found is not None) == regular
    if found is None or precision == "float":
        return
    rows = sorted(
        ((user, item, score) for (user, item, _), score in zip(list_rows(), numbers, strict=True)),
        key=lambda row: (row[0], -row[2], row[1]),
    )
    users = [row[0] for row in rows]
    ranks = [users[: place + 1].count(user) for place, user in enumerate(users)]
    plain = pa.table({"user_id": users, "item_id": [row[1] for row in rows], "rank": ranks})
    with sm.Evaluator(plain, truth_table()) as evaluator:
        assert found == values(evaluator.evaluate(METRICS[:-1]))


@FEW
@given(numbers=special_numbers, precision=st.sampled_from(["double", "float"]))
@example(numbers=[3.5e38, 1e100, -3.5e38, 0, 1, 2, 3, 4, 5, 6], precision="float")
@pytest.mark.thorough
def test_special_scores(numbers: list[float | None], precision: str) -> None:
    special_scores(numbers, precision)


@pytest.mark.thorough
@MANY
@given(
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=10, max_size=10),
    precision=st.sampled_from(["double", "float"]),
)
def test_more_special_scores(numbers: list[float | None], precision: str) -> None:
    special_scores(numbers, precision)


def special_relevance(numbers: list[float | None], gain: str, threshold: str) -> None:
    """Whatever the relevance is: refused, or values between 0 and 1."""
    truth = truth_table().set_column(2, "relevance", pa.array(numbers, pa.float64()))
    options = {"settings": {"relevant_from": threshold, "gain": gain}}

    def call() -> pd.DataFrame:
        with sm.Evaluator(lists_table(), truth, items=items_table(), **options) as evaluator:
            return evaluator.evaluate([*BOUNDED, "ndcg"])

    found = own_error_or(call)
    regular = all(number is not None and math.isfinite(number) for number in numbers)
    assert (found is not None) == regular
    if found is not None:
        within_range(found)


def items_table() -> pa.Table:
    return pa.table({"item_id": [11, 12, 13, 14, 15], "price": [1.0, 2.0, 3.0, 4.0, 5.0]})


relevances = st.lists(st.one_of(usual_numbers, st.sampled_from(SPECIAL)), min_size=5, max_size=5)


@FEW
@given(
    numbers=relevances,
    gain=st.sampled_from(["binary", "linear", "exponential"]),
    threshold=st.sampled_from(["none", "-inf", "0", "1e300", "1e-300"]),
)
def test_special_relevance(numbers: list[float | None], gain: str, threshold: str) -> None:
    special_relevance(numbers, gain, threshold)


@pytest.mark.thorough
@MANY
@given(
    numbers=st.lists(
        st.one_of(usual_numbers, st.floats(allow_nan=False, allow_infinity=False)),
        min_size=5,
        max_size=5,
    ),
    gain=st.sampled_from(["binary", "linear", "exponential"]),
    threshold=st.sampled_from(["none", "-inf", "0", "1e300", "1e-300"]),
)
def test_more_special_relevance(numbers: list[float | None], gain: str, threshold: str) -> None:
    special_relevance(numbers, gain, threshold)


def special_attributes(numbers: list[float | None]) -> None:
    """Prices, vectors, rewards and propensities of any size: refused, or numbers, never NaN."""
    prices, vectors = numbers[:5], [numbers[place : place + 2] for place in range(5, 15, 2)]
    items = pa.table(
        {
            "item_id": [11, 12, 13, 14, 15],
            "price": pa.array(prices, pa.float64()),
            "features": pa.array(vectors, pa.list_(pa.float64())),
        }
    )
    logs = pa.table(
        {
            "user_id": [1, 1, 2, 2, 3],
            "item_id": [11, 12, 12, 15, 13],
            "reward": pa.array(numbers[:5], pa.float64()),
            "propensity": pa.array(numbers[5:10], pa.float64()),
        }
    )
    with sm.Evaluator(lists_table(), truth_table(), items=items, logs=logs) as evaluator:
        for metric in ("money_precision", "money_recall", "intra_list_diversity"):
            found = own_error_or(lambda metric=metric: evaluator.evaluate(f"{metric}@3"))
            if found is not None and metric != "intra_list_diversity":
                within_range(found)
            elif found is not None:
                assert all(pd.isna(v) or -1e-9 <= v <= 2 + 1e-9 for v in found["value"])
        for metric in ("ctr", "ips", "doubly_robust"):
            own_error_or(lambda metric=metric: evaluator.evaluate(f"{metric}@3"))


attributes = st.lists(st.one_of(usual_numbers, st.sampled_from(SPECIAL)), min_size=15, max_size=15)


@FEW
@given(numbers=attributes)
@pytest.mark.thorough
def test_special_attributes(numbers: list[float | None]) -> None:
    special_attributes(numbers)


@pytest.mark.thorough
@MANY
@given(numbers=attributes)
def test_more_special_attributes(numbers: list[float | None]) -> None:
    special_attributes(numbers)


def test_null_anywhere_is_refused() -> None:
    """A row with a NULL id is in no number, and is not dropped without a word."""
    for table, column in (("lists", 0), ("lists", 1), ("truth", 0), ("truth", 1), ("truth", 2)):
        lists, truth = lists_table(), truth_table()
        of = lists if table == "lists" else truth
        broken = of[of.column_names[column]].to_pylist()
        broken[1] = None
        changed = of.set_column(column, of.column_names[column], pa.array(broken))
        tables = (changed, truth) if table == "lists" else (lists, changed)
        with sm.Evaluator(*tables) as evaluator, pytest.raises(sm.DataError, match="NULL"):
            evaluator.evaluate(["recall@3"])


# ---------------------------------------------------------------- files of the user's

toml_value = st.recursive(
    st.sampled_from(
        [
            "1",
            "-1",
            "0.5",
            "nan",
            "inf",
            "-inf",
            "1e400",
            '"x"',
            "'none'",
            "true",
            "[]",
            "{}",
            "[1, 2]",
            "[0]",
            '["a"]',
            "1979-05-27",
            "07:32:00",
            "99999999999999999999",
            '""',
            '"{{ 7 }}"',
            "'''\n'''",
            '"k"',
            '"user"',
            '"undefined"',
            '"relevant"',
            '"\\u0000"',
        ]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda parts: f"[{', '.join(parts)}]"),
        inner.map(lambda part: f"{{ a = {part} }}"),
    ),
    max_leaves=3,
)
METRIC_KEYS = [
    "title", "grain", "audience", "when_empty", "defined_for", "undefined", "unbounded", "range",
    "higher_is_better", "in_default_set", "formula", "cite", "aliases", "family", "params",
    "keep", "cutoff", "unique", "constant", "judged_only", "enough", "of", "missing", "surprise",
]  # fmt: skip
PARAM_KEYS = [
    "type", "choices", "default", "doc", "optional", "min", "max", "above", "whole", "unlimited",
    "only_with", "surprise",
]  # fmt: skip


@st.composite
def front_matters(draw: Any) -> str:
    keys = draw(st.lists(st.sampled_from(METRIC_KEYS), unique=True, max_size=4))
    lines = [f"{key} = {draw(toml_value)}" for key in keys]
    if "params" not in keys and draw(st.booleans()):
        param = {"type": '"number"', "default": "1"}
        for key in draw(st.lists(st.sampled_from(PARAM_KEYS), unique=True, max_size=3)):
            param[key] = draw(toml_value)
        name = draw(st.sampled_from(["after", "k", "gain", "ties", '"a b"', '""', "keys"]))
        lines += [f"[params.{name}]", *(f"{key} = {value}" for key, value in param.items())]
    if "aliases" not in keys and draw(st.booleans()):
        alias = draw(st.sampled_from(["x", "recall", "all", '"a b"', '""']))
        lines += ["[aliases]", f"{alias} = {draw(toml_value)}"]
    if draw(st.integers(0, 9)) == 0:
        lines.append(draw(hostile_text))
    return "\n".join(lines)


BODIES = [
    "SELECT {{ keys }}, k, count(*) / 2 AS value FROM hits GROUP BY {{ keys }}, k",
    "SELECT {{ 1 / 0 }}", "{{ nothing }}", "{% for %}", "{{ keys.__class__.__mro__ }}",
    "{{ [].append }}", "{{ 'a' * 3 ** 3 ** 3 }}", "{{ range(10 ** 9) }}", "{{ keys[10 ** 9] }}",
    "{{ keys() }}", "{{ refuse() }}", "{{ ident(3) }}", "{{ literal(keys, 3) }}", "", ";",
    "SELECT 1", "DROP TABLE recs", "SELECT 1; SELECT 2", "SELECT * FROM hits", "SELECT k FROM",
    "{% include 'x' %}", "{% import '../pyproject.toml' as x %}", "{{ {}['x'] }}",
    "{{ 'é' | int }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ keys | nothing }}", "\ud7ff",
    "{{ '%d' % 'x' }}",
    "SELECT {{ keys }}, k, 'x' AS value FROM hits", "{{ int('x') }}",
    "{{ (1).__init__.__globals__ }}",
]  # fmt: skip


def own_template(folder: Path, kind: str, matter: str, body: str) -> None:
    """Put a template into a folder, and ask for it."""
    path = folder / {"metric": ".", "stage": "stages", "slice": "slices"}[kind] / "mine.sql.j2"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"{{#---\n{matter}\n---#}}\n{body}", encoding="utf-8", errors="replace")
    try:

        def call() -> None:
            with sm.Evaluator(lists_table(), truth_table(), templates=folder) as evaluator:
                if kind == "metric":
                    evaluator.evaluate("mine@3")
                elif kind == "stage":
                    evaluator.stage("mine")
                else:
                    evaluator.evaluate("recall@3", by="mine")

        own_error_or(call)
    finally:
        path.unlink()


KINDS = ["metric", "stage", "slice"]


@settings(FEW, max_examples=80)
@given(kind=st.sampled_from(KINDS), matter=front_matters())
def test_front_matter(tmp_path_factory: pytest.TempPathFactory, kind: str, matter: str) -> None:
    own_template(tmp_path_factory.getbasetemp() / "hostile", kind, matter, BODIES[0])


@pytest.mark.thorough
@settings(MANY, max_examples=300)
@given(kind=st.sampled_from(KINDS), matter=front_matters())
def test_more_front_matter(
    tmp_path_factory: pytest.TempPathFactory, kind: str, matter: str
) -> None:
    own_template(tmp_path_factory.getbasetemp() / "hostile", kind, matter, BODIES[0])


@pytest.mark.parametrize("body", some(BODIES, BODIES[:12]))
def test_bodies_of_templates(tmp_path: Path, body: str) -> None:
    for kind in KINDS:
        own_template(tmp_path, kind, 'title = "mine"', body)


@st.composite
def convention_files(draw: Any) -> str:
    lines = []
    for table in ("", "settings", "covers", "metrics.map", "metrics", "metrics.nothing"):
        if draw(st.booleans()):
            continue
        lines += [f"[{table}]"] if table else []
        names = ["title", "release", "cite", "ties", "divisor", "audience", "map", "relevant_from",
                 "differs", "quantile", '"a b"', '""', "settings", "aggregate"]  # fmt: skip
        for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=3)):
            lines.append(f"{name} = {draw(toml_value)}")
    if draw(st.booleans()):
        lines += ["[[differs]]", f"there = {draw(toml_value)}", f"here = {draw(toml_value)}"]
    if draw(st.integers(0, 9)) == 0:
        lines.append(draw(hostile_text))
    return "\n".join(lines)


def convention_file(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8", errors="replace")

    def call() -> pd.DataFrame:
        with sm.Evaluator(lists_table(), truth_table(), convention=path) as evaluator:
            return evaluator.evaluate(["map@3", "ndcg@3"])

    own_error_or(call)


@settings(FEW, max_examples=80)
@given(text=convention_files())
def test_convention_files(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    convention_file(tmp_path_factory.getbasetemp() / "hostile_toml", text)


@pytest.mark.thorough
@settings(MANY, max_examples=300)
@given(text=convention_files())
def test_more_convention_files(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    convention_file(tmp_path_factory.getbasetemp() / "hostile_toml", text)


# ---------------------------------------------------------------- the command line

LINE = ["-r", "recs.parquet", "-i", "test.parquet"]
# what would take long, write elsewhere or reach the network is left out
SAFE = [
    text for text in PIECES
    if "/" not in text and "\\" not in text and text not in ("@99999999999", "1e15") and text != "."
]  # fmt: skip
line_text = st.lists(st.sampled_from(SAFE), min_size=1, max_size=3).map("".join)
OPTIONS = [
    "--set", "--column", "--by", "--by-item", "--convention", "--fallback", "-k", "--key",
    "--history", "--users", "--items", "--aspects", "--baseline", "--logs", "--ci",
    "--confidence", "--seed", "--digits", "--format", "--threads", "--memory-limit",
    "--templates", "-r", "-i", "--dialect", "--from", "--to", "--where", "--skip-missing",
    "--combinations", "--trust-input", "--nothing",
]  # fmt: skip
PAIRS = ["ties=item_desc", "user_id=user_id", "interactions.relevance=x", "map.divisor=k"]
COMMANDS = ["evaluate", "per-user", "compare", "leaderboard", "sql", "explain", "describe", "list",
            "conventions", "check"]  # fmt: skip


@st.composite
def command_lines(draw: Any) -> list[str]:
    command = draw(st.sampled_from(COMMANDS))
    line = [command, *(LINE if command not in ("describe", "list", "conventions") else [])]
    line += draw(st.lists(st.one_of(st.sampled_from(["recall@3", "ndcg"]), line_text), max_size=2))
    for option in draw(st.lists(st.sampled_from(OPTIONS), max_size=2)):
        line += [option, draw(st.one_of(line_text, st.sampled_from([*PAIRS, "recs.parquet", "3"])))]
    return line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("line")
    pq.write_table(lists_table(), folder / "recs.parquet")
    pq.write_table(truth_table(), folder / "test.parquet")
    return folder


def command_line(line: list[str]) -> None:
    result = CliRunner().invoke(main, line)
    assert result.exception is None or isinstance(result.exception, SystemExit), (
        line,
        result.exc_info,
    )
    assert result.exit_code in (0, 1, 2), (line, result.output)
    assert "Traceback" not in result.output
    if result.exit_code == 1 and line[0] == "check":  # its result says what is wrong
        assert result.output.strip(), line
    elif result.exit_code:
        assert result.stderr.strip(), line
        assert result.stdout == "", line


@settings(FEW, max_examples=12)
@given(line=command_lines())
def test_command_lines(folder: Path, line: list[str]) -> None:
    with contextlib.chdir(folder):
        before = sorted(folder.rglob("*"))
        command_line(line)
        assert sorted(folder.rglob("*")) == before


@pytest.mark.thorough
@settings(MANY, max_examples=300)
@given(line=command_lines())
def test_more_command_lines(folder: Path, line: list[str]) -> None:
    with contextlib.chdir(folder):
        before = sorted(folder.rglob("*"))
        command_line(line)
        assert sorted(folder.rglob("*")) == before


# ---------------------------------------------------------------- from text to SQL


def test_templates_run_in_a_sandbox() -> None:
    """Those of the package and those of users: one environment renders both."""
    assert isinstance(environment(), SandboxedEnvironment)
    for body in (
        "{{ ''.__class__.__mro__ }}",
        "{{ ident.__globals__ }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{% set x = literal.__code__ %}{{ x.co_code }}",
    ):
        from sqlmetrics.sql.templates import render

        with pytest.raises(TemplateError, match="unsafe"):
            render(body, {}, "a template")


@settings(FEW, max_examples=300)
@given(text=st.one_of(hostile_text, st.text()))
def test_identifiers_and_literals_are_read_back(text: str) -> None:
    """DuckDB reads a quoted name as that name, and a literal as that value, and nothing else."""
    if "\x00" in text or not text or any(0xD800 <= ord(c) < 0xE000 for c in text):
        return
    result = CONNECTION.execute(f"SELECT {literal(text)} AS {identifier(text)}")
    assert result.description[0][0] == text
    assert result.fetchall() == [(text,)]


CONNECTION = duckdb.connect()


@settings(FEW, max_examples=100)
@given(
    value=st.one_of(
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.none(),
    )
)
def test_literals_of_numbers_are_read_back(value: Any) -> None:
    if isinstance(value, int) and abs(value) >= 2**127:
        return
    ((found,),) = CONNECTION.execute(f"SELECT {literal(value)}").fetchall()
    assert (float(found) if isinstance(value, float) else found) == value
