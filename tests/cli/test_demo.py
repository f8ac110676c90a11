"""The tables of `demo`: contents, sizes, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlmetrics.errors import DataError, EngineError, UsageError
from sqlmetrics.run import demo
from sqlmetrics.run.demo import write_demo
from tests.support.paths import DATA

MODELS = ["als", "item_knn", "popular"]
LISTS = [f"recommendations_{model}" for model in MODELS]
TABLES = [*LISTS, "interactions", "history", "items", "aspects", "users", "logs"]
SCHEMAS = {
    "recommendations_als": "user_id BIGINT, item_id BIGINT, score DOUBLE",
    "recommendations_item_knn": "user_id BIGINT, item_id BIGINT, score DOUBLE",
    "recommendations_popular": "user_id BIGINT, item_id BIGINT, score DOUBLE",
    "interactions": "user_id BIGINT, item_id BIGINT, relevance INTEGER, timestamp TIMESTAMP",
    "history": "user_id BIGINT, item_id BIGINT, timestamp TIMESTAMP",
    "items": "item_id BIGINT, title VARCHAR, price DOUBLE, category VARCHAR[], "
    "seller_size VARCHAR, item_group VARCHAR, features FLOAT[]",
    "aspects": "item_id BIGINT, aspect VARCHAR",
    "users": "user_id BIGINT, country VARCHAR, age_group VARCHAR, device VARCHAR",
    "logs": "user_id BIGINT, item_id BIGINT, reward INTEGER, propensity DOUBLE",
}


class Database:
    """The tables of a folder under their names."""

    def __init__(self, folder: Path) -> None:
        self.connection = duckdb.connect()
        for path in folder.glob("*.parquet"):
            self.connection.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()

    def number(self, query: str) -> float:
        return float(self.rows(query)[0][0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo")
    write_demo(path, users=3000, per_user=20)
    return path


@pytest.fixture(scope="module")
def db(folder: Path) -> Iterator[Database]:
    database = Database(folder)
    yield database
    database.connection.close()


def contents(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    with duckdb.connect() as connection:
        return {
            path.stem: sorted(connection.execute(f"FROM '{path}'").fetchall(), key=repr)
            for path in sorted(folder.iterdir())
        }


# ---------------------------------------------------------------- the same again


def test_committed_example_is_what_the_defaults_write(tmp_path: Path) -> None:
    committed = contents(DATA)
    for name, threads, memory_limit in (("one", 1, "1GB"), ("four", 4, None)):
        write_demo(tmp_path / name, threads=threads, memory_limit=memory_limit)
        assert contents(tmp_path / name) == committed
    assert sorted(committed) == sorted(TABLES)
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 700_000


def test_another_seed_gives_other_content(tmp_path: Path) -> None:
    write_demo(tmp_path / "1", users=20)
    write_demo(tmp_path / "2", users=20, seed=2)
    first, second = contents(tmp_path / "1"), contents(tmp_path / "2")
    assert [table for table in TABLES if first[table] == second[table]] == []
    # and another number of models the same tables
    paths = write_demo(tmp_path / "3", users=20, models=1)
    assert [path.stem for path in paths] == ["recommendations_als", *TABLES[3:]]
    assert contents(tmp_path / "3") == {path.stem: first[path.stem] for path in paths}


# ---------------------------------------------------------------- what is in the tables


def test_columns_have_no_null(db: Database) -> None:
    for table, columns in SCHEMAS.items():
        found = [f"{name} {kind}" for name, kind, *_ in db.rows(f"DESCRIBE {table}")]
        assert ", ".join(found) == columns
        complete = " AND ".join(f"{column.split()[0]} IS NOT NULL" for column in found)
        assert db.rows(f"SELECT count(*) > 0, bool_and({complete}) FROM {table}") == [(True, True)]


def test_keys_are_unique_and_known(db: Database) -> None:
    for table in (*LISTS, "interactions", "history", "logs"):
        assert db.number(f"SELECT count(*) - count(DISTINCT (user_id, item_id)) FROM {table}") == 0
        assert db.number(f"SELECT count(*) FROM {table} ANTI JOIN items USING (item_id)") == 0
        assert db.number(f"SELECT count(*) FROM {table} ANTI JOIN users USING (user_id)") == 0


def test_list_lengths(db: Database) -> None:
    for table in LISTS:
        lengths = dict(
            db.rows(
                f"SELECT n, count(*) FROM (SELECT count(*) AS n FROM {table} GROUP BY user_id) "
                "GROUP BY n"
            )
        )
        assert max(lengths) == 20
        assert 0.88 < lengths[20] / 3000 < 0.94
        assert 0.01 < 1 - sum(lengths.values()) / 3000 < 0.03
    unlisted = " ".join(f"ANTI JOIN {table} USING (user_id)" for table in LISTS)
    assert db.number(f"SELECT count(DISTINCT user_id) FROM interactions {unlisted}") > 0


def test_better_models_hit_more_and_earlier(db: Database) -> None:
    recall: dict[str, tuple[float, float]] = {}
    for model in MODELS:
        query = f"""
            WITH ranked AS (
              SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS r
              FROM recommendations_{model}
            ), per_user AS (
              SELECT i.user_id, count(*) FILTER (r <= 10) / count(*) AS top,
                     count(*) FILTER (r > 10) / count(*) AS rest
              FROM interactions i LEFT JOIN ranked r USING (user_id, item_id) GROUP BY i.user_id
            ) SELECT avg(top), avg(rest) FROM per_user"""
        recall[model] = db.rows(query)[0]
    assert 0.15 < recall["als"][0] < 0.25
    assert 0.08 < recall["item_knn"][0] < 0.13
    assert 0.02 < recall["popular"][0] < 0.07
    assert recall["als"][0] > 2 * recall["als"][1]


def test_ties(db: Database) -> None:
    tied = [
        db.number(
            f"SELECT avg(CAST(n > 1 AS INTEGER)) FROM (SELECT count(*) OVER "
            f"(PARTITION BY user_id, score) AS n FROM {table})"
        )
        for table in LISTS
    ]
    assert tied[0] < 0.01 < tied[1] < 0.5 < 0.9 < tied[2]
    per_item = "SELECT count(DISTINCT score) AS n FROM recommendations_popular GROUP BY item_id"
    assert db.number(f"SELECT max(n) FROM ({per_item})") == 1


def test_history_differs_from_the_truth_and_is_seldom_recommended(db: Database) -> None:
    assert (
        db.number("SELECT count(*) FROM history SEMI JOIN interactions USING (user_id, item_id)")
        == 0
    )
    for table in LISTS:
        known = db.number(
            f"SELECT count(*) FROM {table} SEMI JOIN history USING (user_id, item_id)"
        )
        assert 0.001 < known / db.number(f"SELECT count(*) FROM {table}") < 0.02
    assert db.rows(
        "SELECT max(h.timestamp) < min(i.timestamp) FROM history h, interactions i "
        "WHERE h.user_id % 50 = 0 AND i.user_id % 50 = 0"
    ) == [(True,)]


def test_activity_has_a_heavy_tail(db: Database) -> None:
    per_user = "SELECT count(*) AS n FROM interactions GROUP BY user_id"
    users, mean, low, median, high = db.rows(
        f"SELECT count(*), avg(n), min(n), median(n), max(n) FROM ({per_user})"
    )[0]
    assert 0.95 < users / 3000 < 0.99
    assert 7 < mean < 9
    assert (low, high) >= (1, 50)
    assert median < 0.6 * mean
    assert high <= 60
    assert 17 < db.number("SELECT count(*) FROM history") / 3000 < 23
    grades = [
        n
        for (n,) in db.rows(
            "SELECT count(*) FROM interactions GROUP BY relevance ORDER BY relevance"
        )
    ]
    assert len(grades) == 3
    assert grades == sorted(grades, reverse=True)


def test_popularity_is_skewed_and_not_told_by_the_id(db: Database) -> None:
    for table in ("interactions", "history"):
        counts = f"SELECT item_id, count(*) AS n FROM {table} GROUP BY item_id"
        top = db.number(f"SELECT sum(n) FROM (SELECT n FROM ({counts}) ORDER BY n DESC LIMIT 60)")
        assert top / db.number(f"SELECT count(*) FROM {table}") > 0.25  # a tenth of the catalogue
        assert abs(db.number(f"SELECT corr(item_id, n) FROM ({counts})")) < 0.1


def test_items(db: Database) -> None:
    assert db.rows(
        "SELECT count(*), min(price) > 0, bool_and(price = round(price, 2)), min(len(category)), "
        "max(len(category)), bool_and(len(category) = len(list_distinct(category))), "
        "min(len(features)), max(len(features)) FROM items"
    ) == [(600, True, True, 1, 3, True, 16, 16)]
    assert db.number("SELECT count(DISTINCT category[1]) FROM items") == 15
    # large sellers have more items, and most of the history
    of_large = "avg(CASE WHEN seller_size = 'large' THEN 1 ELSE 0 END)"
    assert 0.45 < db.number(f"SELECT {of_large} FROM items") < 0.65
    assert db.number(f"SELECT {of_large} FROM history INNER JOIN items USING (item_id)") > 0.6
    assert db.rows("SELECT DISTINCT seller_size FROM items ORDER BY 1") == [("large",), ("small",)]
    assert db.number("SELECT count(DISTINCT item_group) FROM items") == 16
    assert db.number("SELECT count(*) FROM items WHERE NOT starts_with(title, item_group)") == 0
    similar = dict(
        db.rows(
            "SELECT a.category[1] = b.category[1] AS same, "
            "avg(list_cosine_similarity(a.features, b.features)) FROM items a "
            "INNER JOIN items b ON a.item_id < b.item_id GROUP BY same"
        )
    )
    assert similar[True] > 0.7 > 0.2 > similar[False]
    aspects = "SELECT count(*) AS n, count(DISTINCT aspect) AS d FROM aspects GROUP BY item_id"
    assert db.rows(f"SELECT count(*), min(n), max(n), bool_and(n = d) FROM ({aspects})") == [
        (600, 2, 4, True)
    ]


def test_users(db: Database) -> None:
    assert db.rows(
        "SELECT count(*), count(DISTINCT user_id), count(DISTINCT country) FROM users"
    ) == [(3000, 3000, 5)]


def test_rewards_follow_relevance(db: Database) -> None:
    assert db.rows("SELECT min(propensity) > 0, max(propensity) <= 1 FROM logs") == [(True, True)]
    assert 4 < db.number("SELECT count(*) FROM logs") / 3000 < 6
    rewards = [
        reward
        for (reward,) in db.rows(
            "SELECT avg(reward) FROM logs LEFT JOIN interactions USING (user_id, item_id) "
            "GROUP BY coalesce(relevance, 0) ORDER BY coalesce(relevance, 0)"
        )
    ]
    assert len(rewards) == 4
    assert rewards == sorted(rewards)
    matched = db.number(
        "SELECT count(*) FROM logs SEMI JOIN recommendations_als USING (user_id, item_id)"
    )
    assert 0.3 < matched / db.number("SELECT count(*) FROM logs") < 0.9


# ---------------------------------------------------------------- sizes, refusals and failures


def test_odd_sizes(tmp_path: Path) -> None:
    for users, per_user, items in ((1, 1, 200), (3, 500, 1000)):
        write_demo(tmp_path / str(users), users=users, per_user=per_user)
        odd = Database(tmp_path / str(users))
        assert odd.number("SELECT count(*) FROM items") == items
        pairs = "count(*) - count(DISTINCT (user_id, item_id))"
        for table in LISTS:
            assert odd.number(f"SELECT {pairs} FROM {table}") == 0
            assert odd.number(f"SELECT count(*) FROM {table} ANTI JOIN items USING (item_id)") == 0


def test_arguments_out_of_range(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"users": 0}, {"users": 3_000_000_000}, {"per_user": 0}, {"per_user": 10_001},
        {"models": 0}, {"models": 4}, {"threads": 0}, {"memory_limit": "much"},
    ]  # fmt: skip
    for arguments in wrong:
        with pytest.raises(UsageError, match=next(iter(arguments))):
            write_demo(tmp_path / "demo", **arguments)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_files_are_replaced_only_with_force(tmp_path: Path) -> None:
    target = tmp_path / "users.parquet"
    target.write_text("mine")
    with pytest.raises(DataError, match=r"users\.parquet exists.*force=True"):
        write_demo(tmp_path, users=10)
    assert [path.name for path in tmp_path.iterdir()] == ["users.parquet"]
    assert target.read_text() == "mine"
    paths = write_demo(tmp_path, users=10, force=True)
    assert [path.stem for path in paths] == TABLES
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert Database(tmp_path).number("SELECT count(*) FROM users") == 10


@pytest.mark.parametrize(
    ("failure", "raised"), [(KeyboardInterrupt(), KeyboardInterrupt), (duckdb.Error(), EngineError)]
)
def test_a_failure_leaves_everything_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    raised: type[BaseException],
) -> None:
    (tmp_path / "users.parquet").write_text("mine")
    render = demo._render

    def fail_at_logs(template: str, context: dict[str, object]) -> str:
        if template == "logs":
            # the drafts of the other tables
            assert len(list(tmp_path.glob(".sqlmetrics-*/new/*.parquet"))) > 5
            raise failure
        return render(template, context)

    monkeypatch.setattr(demo, "_render", fail_at_logs)
    with pytest.raises(raised):
        write_demo(tmp_path, users=10, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["users.parquet"]
    assert (tmp_path / "users.parquet").read_text() == "mine"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "it's").write_text("")
    with pytest.raises(DataError, match="cannot write to"):
        write_demo(tmp_path / "it's" / "demo", users=10)
    assert all(path.exists() for path in write_demo(tmp_path / "it's not", users=10))
