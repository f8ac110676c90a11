"""Runs in partitions under a memory limit: same results, limits, temporary files."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main as cli
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.partitions import sizing
from tests.support.evaluators import Evaluator
from tests.support.paths import DATA
from tests.support.processes import ENDLESS, without_check

MODELS = ("als", "popular")
METRICS = ["ndcg", "recall(aggregate=median)", "coverage"]


def assert_same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """The same rows in the same order; values up to the last digits of sums."""
    assert len(wanted)
    pd.testing.assert_frame_equal(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def by_user(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write lists in the order of their users, in several row groups; the ids are texts."""
    folder = tmp_path_factory.mktemp("by_user")
    with duckdb.connect() as connection:
        for model in MODELS:
            connection.execute(
                f"COPY (SELECT * REPLACE (format('u{{:04d}}', user_id) AS user_id) FROM "
                f"'{DATA}/recommendations_{model}.parquet' ORDER BY user_id) "
                f"TO '{folder}/{model}.parquet' (ROW_GROUP_SIZE 2048)"
            )
        for table in ("interactions", "history"):
            connection.execute(
                "COPY (SELECT * REPLACE (format('u{:04d}', user_id) AS user_id) FROM "
                f"'{DATA}/{table}.parquet') TO '{folder}/{table}.parquet'"
            )
    return {path.stem: str(path) for path in folder.iterdir()}


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no table be too small to be split, and the limit be two megabytes."""
    monkeypatch.setattr(sizing, "_SMALL", 0)
    monkeypatch.setattr(DuckDBEngine, "memory_limit", lambda _: 2_000_000)
    monkeypatch.setattr(DuckDBEngine, "has_default_limit", False)


def opened(tables: dict[str, Any], partitions: Any = None, **options: Any) -> sm.Evaluator:
    lists = {model: tables[model] for model in MODELS}
    given = {"history": tables["history"], **options}
    return Evaluator(lists, tables["interactions"], partitions=partitions, **given)


# ---------------------------------------------------------------- the same results


def how(evaluator: sm.Evaluator) -> str:
    """Return the first line of the physical statement, which says how users are divided."""
    return evaluator.sql("ndcg@5", physical=True).partition("\n")[0]


def test_partitions_give_the_same_results(by_user: dict[str, str]) -> None:
    with opened(by_user) as whole, opened(by_user, 2) as divided:
        assert "by ranges" in how(divided)
        for method, metrics, options in (
            ("evaluate", METRICS, {"k": 3}),
            ("evaluate", "ndcg@3", {"by": "activity", "ci": "bootstrap", "resamples": 20}),
            ("per_user", ["ndcg@3", "recall@5"], {}),
            ("compare", "ndcg@3", {"baseline": "als"}),
            ("explain", "map@3", {"start": "jurity"}),
        ):
            wanted = getattr(whole, method)(metrics, **options)
            assert_same(getattr(divided, method)(metrics, **options), wanted)


def test_lists_in_no_order_are_sorted(by_user: dict[str, str], tmp_path: Path) -> None:
    mixed = dict(by_user)
    for model in MODELS:
        mixed[model] = str(tmp_path / f"{model}.parquet")
        duckdb.sql(f"FROM '{by_user[model]}' ORDER BY hash(user_id, item_id)").write_parquet(
            mixed[model], row_group_size=2048
        )
    with opened(by_user) as whole, opened(mixed, 2) as divided:
        assert how(divided).endswith("by ranges of the key, after sorting recommendations")
        assert_same(divided.evaluate(METRICS, 3), whole.evaluate(METRICS, 3))


def test_frames_of_a_connection_of_ones_own_are_split(by_user: dict[str, str]) -> None:
    with duckdb.connect() as connection:
        frames = {name: connection.sql(f"FROM '{path}'").df() for name, path in by_user.items()}
        state = "SELECT name, value FROM duckdb_settings() ORDER BY name"
        before = [connection.sql(query).fetchall() for query in ("SHOW ALL TABLES", state)]
        with opened(by_user) as whole:
            divided = opened(frames, 2, connection=connection)
            # texts may have another order here
            assert how(divided).endswith("by a hash of the key")
            assert_same(divided.evaluate("ndcg", 3), whole.evaluate("ndcg", 3))
            divided.close()
        after = [connection.sql(query).fetchall() for query in ("SHOW ALL TABLES", state)]
        assert after == before


def test_rows_without_a_user_are_in_a_partition(by_user: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "als.parquet"
    duckdb.sql(
        f"FROM '{by_user['als']}' UNION ALL SELECT NULL, 1, 1 ORDER BY user_id NULLS FIRST"
    ).write_parquet(str(path), row_group_size=2048)
    told = r"NULL(.|\n)*These counts refer to partition \d/\d"
    with (
        Evaluator(path, by_user["interactions"], partitions=2) as divided,
        pytest.raises(sm.DataError, match=told),
    ):
        divided.evaluate("ndcg@5")


# ---------------------------------------------------------------- memory limits


@pytest.mark.usefixtures("little_memory")
def test_what_does_not_fit_is_split_and_says_so(by_user: dict[str, str]) -> None:
    command = ["evaluate", "-r", by_user["als"], "-i", by_user["interactions"], "ndcg@10"]
    limited = CliRunner().invoke(cli, command)
    assert limited.stderr.startswith("sqlmetrics: 13,340 rows need about 1.6 MB of memory")
    assert "the limit is 2.0 MB: computed in" in limited.stderr
    assert "partitions of the users, by ranges of the key" in limited.stderr
    whole = CliRunner().invoke(cli, [*command, "--partitions", "1"])
    assert without_check(whole.stderr) == ""
    found, wanted = (pd.read_csv(io.StringIO(result.stdout)) for result in (limited, whole))
    assert_same(found, wanted)


@pytest.mark.usefixtures("little_memory")
def test_what_needs_all_users_at_once_is_named(by_user: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "middle.sql.j2").write_text(
        '{#---\ntitle = "Median score"\ngrain = "run"\n---#}\n'
        "SELECT model, 10 AS k, median(score) AS value FROM recommendations GROUP BY model"
    )
    with (
        opened(by_user, templates=tmp_path) as limited,
        opened(by_user, 1, templates=tmp_path) as whole,
    ):
        statement = limited.sql("middle@10", physical=True)
        assert "; all users of recommendations are needed at once\n" in statement
        assert "needed at once" not in limited.sql("ndcg@10", physical=True)
        assert_same(limited.evaluate("middle@10"), whole.evaluate("middle@10"))


def test_a_run_without_a_limit_leaves_memory_for_others(
    by_user: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It uses two fifths of the engine's default, which is four fifths of the machine."""
    monkeypatch.setattr(sizing, "_SMALL", 0)
    with opened(by_user) as evaluator:
        assert evaluator.sql("ndcg@3", physical=True).startswith("WITH")  # what fits is left whole
    monkeypatch.setattr(DuckDBEngine, "memory_limit", lambda _: 5_000_000)
    for chosen, limit in ((None, "the default limit is 2.0 MB"), ("5MB", "the limit is 5.0 MB")):
        with opened(by_user, memory_limit=chosen) as evaluator:
            assert f"of memory, {limit}: computed in" in how(evaluator)


def test_a_job_is_not_split_again(tmp_path: Path) -> None:
    lists, truth = DATA / "recommendations_als.parquet", DATA / "interactions.parquet"
    with Evaluator(lists, truth, partitions=3) as evaluator:
        for call in (
            lambda: evaluator.write_partition(tmp_path / "parts", "1/2", "ndcg"),
            lambda: evaluator.per_user("ndcg", partition="1/2"),
            lambda: evaluator.sql("ndcg", per_user=True, partition="1/2"),
        ):
            with pytest.raises(sm.UsageError, match="pass one of them"):
                call()
    assert not (tmp_path / "parts").exists()


def test_a_limit_below_zero_is_none() -> None:
    with pytest.raises(sm.UsageError, match="memory_limit must be a size such as 4GB, not '-1GB'"):
        Evaluator({"u": ["a"]}, {"u": ["a"]}, memory_limit="-1GB")
    with pytest.raises(sm.UsageError, match="temp_limit must be a size such as 4GB, not '-1GB'"):
        Evaluator({"u": ["a"]}, {"u": ["a"]}, temp_limit="-1GB")


def limit_of_temporary_files(**options: Any) -> str:
    with Evaluator({"u": ["a"]}, {"u": ["a"]}, **options) as evaluator:
        connection = evaluator.engine.connection
        found = connection.execute("SELECT current_setting('max_temp_directory_size')").fetchone()
    return str(found[0])


def test_temporary_files_take_at_most_half_of_the_free_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = 10 * 1024**3
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert limit_of_temporary_files() == "5.0 GiB"
    assert limit_of_temporary_files(temp_limit="3GiB") == "3.0 GiB"


def folder_with_metric(tmp_path: Path, name: str, query: str) -> Path:
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / f"{name}.sql.j2").write_text(query)
    return folder


SORTS_MUCH = """\
{#---
title = "Sorts three million texts"
when_empty = 0
---#}
SELECT
    {{ keys }},
    k,
    max((
        SELECT max(n) FROM (
            SELECT n, lag(n) OVER (ORDER BY md5(CAST(n AS VARCHAR))) AS m
            FROM range(3000000) AS numbers (n)
        ) WHERE m > n
    )) AS value
FROM hits
GROUP BY {{ keys }}, k
"""


def test_a_run_that_writes_too_many_temporary_files_says_which_limit_it_reached(
    by_user: dict[str, str], tmp_path: Path
) -> None:
    templates = folder_with_metric(tmp_path, "sorts", SORTS_MUCH)
    # with room for the buffers of the sort, so that it is the files that are too many
    limits = {"memory_limit": "120MB", "temp_limit": "4MB", "threads": 1, "templates": templates}
    with (
        opened(by_user, 1, **limits) as evaluator,
        pytest.raises(sm.EngineError, match=r"computing .*temporary files.*limit.*temp_limit"),
    ):
        evaluator.evaluate("sorts@5")


def test_wrong_numbers_of_partitions() -> None:
    for partitions in (0, -1, 10_000, 1.5, "3", True):
        with pytest.raises(sm.UsageError, match="partitions must be an integer from 1 to 9999"):
            Evaluator({"u": ["a"]}, {"u": ["a"]}, partitions=partitions)


def test_a_limit_that_is_too_small(by_user: dict[str, str]) -> None:
    with (
        opened(by_user, 1, memory_limit="1MB") as evaluator,
        pytest.raises(sm.EngineError, match=r"memory limit of 1MB is too small.*memory_limit"),
    ):
        evaluator.evaluate("ndcg@10")


# ---------------------------------------------------------------- temporary files


def test_the_temporary_folder_is_removed(by_user: dict[str, str], tmp_path: Path) -> None:
    spilled = tmp_path / "made" / "spilled"
    with opened(by_user, 2, temp_directory=spilled) as evaluator:
        assert not spilled.parent.exists()  # nothing has run yet
        evaluator.evaluate("ndcg@3")
        (folder,) = spilled.iterdir()
        assert [path.name for path in folder.rglob("*") if path.is_file()] == ["lock"]
    assert list(tmp_path.glob("made")) == []


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """Write a metric that takes hours."""
    return folder_with_metric(tmp_path, "endless", ENDLESS)


def test_a_stopped_call_leaves_a_connection_usable(endless: Path, by_user: dict[str, str]) -> None:
    interrupts = [KeyboardInterrupt]

    def stop(*_: object) -> None:
        """Raise what Ctrl-C does, once; a signal may be ignored, as in a job in the background."""
        if interrupts:
            raise interrupts.pop()

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE of_the_user AS SELECT 1 AS one")
        evaluator = Evaluator(
            by_user["als"],
            by_user["interactions"],
            connection=connection,
            templates=endless,
            watch=stop,
        )
        with pytest.raises(KeyboardInterrupt):
            evaluator.evaluate("endless@3")
        assert connection.sql("FROM of_the_user").fetchall() == [(1,)]
        assert connection.sql("SHOW TABLES").fetchall() == [("of_the_user",)]
        assert len(evaluator.evaluate("recall@3")) == 1
        evaluator.close()
