"""Partitions of users: what they hand over comes to exactly what one run computes."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import sqlglot
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main as cli
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.partitions.locality import (
    OF_USERS,
    Finding,
    Readable,
    Rows,
    aggregates_of,
    examine,
)
from sqlmetrics.partitions.split import Partition
from sqlmetrics.sql.query_graph import Plan
from tests.support.paths import ROOT

DATA = ROOT / "examples" / "data"
MODELS = {name: DATA / f"recommendations_{name}.parquet" for name in ("als", "popular")}
TABLES = {
    name: DATA / f"{name}.parquet" for name in ("history", "items", "aspects", "logs", "users")
}
# a relevance of 1 is judged and not relevant: pairs for AUC, differences for rank correlations
SETTINGS = {"relevant_from": 2}


def demo(**options: Any) -> sm.Evaluator:
    given = {"baseline": "popular", "settings": SETTINGS, **TABLES, **options}
    return sm.Evaluator(MODELS, DATA / "interactions.parquet", **given)


def frame(rows: Iterable[tuple[Any, ...]], *names: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(names))


def world() -> dict[str, pd.DataFrame]:
    """Return lists of two models: tied scores, short lists, users without a list or an item."""
    lists = [
        (model, user, item, (7 * user + 3 * item + len(model)) % 4)
        for model, user, item in itertools.product(("one", "other"), range(12), range(9))
        if (user + item) % 3 and not (model == "other" and user in (3, 8)) and user != 5
    ]
    truth = [(user, item, 1 + (user * item) % 3) for user in range(14) for item in range(user % 5)]
    return {
        "recommendations": frame(lists, "model", "user_id", "item_id", "score"),
        "interactions": frame(truth, "user_id", "item_id", "relevance"),
        "history": frame([(u, i) for u in range(20) for i in range(u % 6)], "user_id", "item_id"),
        "users": frame([(u, "ab"[u % 2]) for u in range(10)], "user_id", "kind"),
    }


def in_parts(
    evaluator: sm.Evaluator, folder: Path, of: int, *asked: Any, **options: Any
) -> pd.DataFrame:
    """Let every partition hand over its part, and put them together."""
    for number in range(1, of + 1):
        evaluator.write_partition(folder, f"{number}/{of}", *asked, **options)
    return sm.reduce(folder)


def assert_same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """The same rows in the same order, with the same types; values up to the last digits."""
    assert len(wanted)
    # sums of a run are of doubles, whose last digit depends on the order of rows
    pd.testing.assert_frame_equal(found, wanted, rtol=1e-12, atol=1e-12)


# --- the same numbers


@pytest.mark.parametrize(
    ("of", "asked"),
    [
        (2, {}),
        pytest.param(1, {}, marks=pytest.mark.thorough),
        pytest.param(7, {}, marks=pytest.mark.exhaustive),
        pytest.param(3, {"by": "country"}, marks=pytest.mark.thorough),
        pytest.param(
            7,
            {"by": ["activity_group", "country"], "combinations": True, "ci": "bootstrap",
             "resamples": 50},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            3,
            {"by": "activity", "ci": "bootstrap", "run_ci": True, "resamples": 20},
            marks=pytest.mark.exhaustive,
        ),
    ],
)  # fmt: skip
@pytest.mark.thorough
def test_every_metric_of_the_demo(tmp_path: Path, of: int, asked: dict[str, Any]) -> None:
    cutoffs = [5, 10] if asked else [5]
    with demo() as evaluator:
        found = in_parts(evaluator, tmp_path / "parts", of, "all", cutoffs, **asked)
        wanted = evaluator.evaluate("all", cutoffs, **asked)
    assert set(wanted["metric"]) == set(evaluator.catalog.metrics)
    assert_same(found, wanted)


SAMPLED = ["inter_list_diversity(sample_users=7, runs=3)", "inter_list_diversity"]
ACCURACY = ["ndcg", "recall", "map(divisor=all_positions)", "ndcg(aggregate=median)"]


WORLDS: list[tuple[list[str], dict[str, Any], dict[str, Any]]] = [
    (SAMPLED, {}, {}),
    (["coverage", "recall"], {"by": "kind"}, {}),
    (ACCURACY, {"by_item": "popularity", "by": "kind", "ci": "none"}, {}),
    (["coverage", "recall"], {"ci": "bootstrap", "run_ci": True, "resamples": 20}, {}),
    (ACCURACY, {"by": ["kind", "activity"], "combinations": True}, {}),
    (ACCURACY, {"ci": "bootstrap", "resamples": 30}, {"settings": {"audience": "either"}}),
    (["ndcg", "err"], {}, {"settings": {"duplicate_interactions": "bag_size"}}),
    (["map", "ndcg"], {}, {"convention": ["jurity", "rectools", "standard"]}),
    (["recall", "auc"], {}, {"settings": {"audience": "judged", "relevant_from": 3}}),
    (["recall", "coverage"], {}, {"settings": {"duplicate_recommendations": "cut_then_dedup"}}),
]


@pytest.mark.parametrize(
    ("metrics", "options", "given"),
    [
        pytest.param(*world, marks=[pytest.mark.thorough] if place > 1 else [])
        for place, world in enumerate(WORLDS)
    ],
    ids=[",".join([*options, *given]) or "plain" for _, options, given in WORLDS],
)
@pytest.mark.thorough
def test_small_world_with_two_models(
    tmp_path: Path, metrics: list[str], options: dict[str, Any], given: dict[str, Any]
) -> None:
    with sm.Evaluator(**world(), **given) as evaluator:
        found = in_parts(evaluator, tmp_path / "parts", 3, metrics, [2, 5], **options)
        assert_same(found, evaluator.evaluate(metrics, [2, 5], **options))


@pytest.mark.parametrize("of", [pytest.param(1, marks=pytest.mark.thorough), 5])
@pytest.mark.thorough
def test_any_number_of_partitions(tmp_path: Path, of: int) -> None:
    """Five partitions of three users: some have nobody at all."""
    lists = {"a": ["x", "y"], "b": ["y", "z"], "c": ["z"]}
    truth = {"a": ["y"], "b": ["y"], "c": ["x"]}
    with sm.Evaluator(lists, truth, items={"x", "y", "z", "w"}) as evaluator:
        metrics = ["recall", "coverage(catalogue=items)"]
        found = in_parts(evaluator, tmp_path / "parts", of, metrics, 1)
    assert found["value"].tolist() == [1 / 3, 3 / 4]
    sizes = [
        duckdb.sql(f"SELECT count(*) FROM read_parquet('{path}')").fetchall()[0][0]
        for path in (tmp_path / "parts" / "per_user").glob("*.parquet")
    ]
    assert len(sizes) == of
    assert sum(sizes) == len(lists)


@pytest.mark.thorough
def test_an_item_in_lists_of_two_partitions_counts_once(tmp_path: Path) -> None:
    """Coverage and pairs of lists are about all users: parts must not be added up."""
    lists = {user: ["x", "y"] for user in range(20)} | {20: ["y", "z"]}
    with sm.Evaluator(lists, {0: ["x"]}, items={"w", "x", "y", "z"}) as evaluator:
        metrics = ["coverage(catalogue=items)", "inter_list_diversity"]
        found = in_parts(evaluator, tmp_path / "parts", 4, metrics, [1, 2])
    with_user = [
        set(duckdb.sql(f"SELECT item_id FROM read_parquet('{path}')").fetchall())
        for path in sorted((tmp_path / "parts" / "exposure").glob("*.parquet"))
    ]
    assert sum(("x",) in items for items in with_user) > 1
    assert found["value"][0] == 2 / 4  # x and y stand on top of a list
    assert found["value"][1] == 3 / 4
    # at 1: 20 lists of x, one of y; of 210 pairs, the 20 with y share nothing
    assert found["value"][2] == pytest.approx(20 / 210)
    # at 2: those 20 share one item of two
    assert found["value"][3] == pytest.approx(20 / 2 / 210)


@pytest.mark.thorough
def test_large_whole_numbers_and_ordered_texts_come_back_as_they_were(tmp_path: Path) -> None:
    """Parquet has no whole numbers of 128 bits, and no texts with an order of their own."""
    with duckdb.connect() as connection:
        connection.sql("CREATE TYPE size AS ENUM ('small', 'medium', 'large')")
        connection.sql(
            "CREATE TABLE lists AS SELECT CAST('100000000000000000000' AS HUGEINT) + n AS user_id, "
            "n % 3 AS item_id, 1 AS rank FROM range(30) AS numbers (n)"
        )
        connection.sql(
            "CREATE TABLE truth AS SELECT CAST('100000000000000000000' AS HUGEINT) + n AS user_id, "
            "n % 2 AS item_id FROM range(30) AS numbers (n)"
        )
        connection.sql(
            "CREATE TABLE people AS SELECT user_id, "
            "CAST(['small', 'medium', 'large'][1 + item_id] AS size) AS size FROM lists"
        )
        with sm.Evaluator("lists", "truth", users="people", connection=connection) as evaluator:
            found = in_parts(evaluator, tmp_path / "parts", 2, ["recall"], 1, by="size")
            wanted = evaluator.evaluate("recall", 1, by="size")
            sampled = in_parts(evaluator, tmp_path / "sampled", 2, SAMPLED[:1], 1)
            assert_same(sampled, evaluator.evaluate(SAMPLED[:1], 1))
        assert connection.sql("SELECT count(*) FROM duckdb_tables()").fetchall() == [(3,)]
    assert found["size"].tolist() == ["small", "medium", "large"]
    assert_same(found, wanted)


@pytest.mark.parametrize("types", [("FLOAT", "DOUBLE"), ("DECIMAL(4,1)", "DECIMAL(6,3)")])
@pytest.mark.thorough
def test_ids_that_are_equal_go_to_one_partition(tmp_path: Path, types: tuple[str, str]) -> None:
    """0.1 as a FLOAT and as a DOUBLE are spelled alike and not equal; 1.0 and 1.000 are equal."""
    with duckdb.connect() as connection:
        for name, held in zip(("lists", "truth"), types, strict=True):
            connection.sql(
                f"CREATE TABLE {name} AS SELECT CAST(CAST(n / 10 AS {types[0]}) AS {held}) "
                "AS user_id, n % 2 AS item_id, 1 AS rank FROM range(40) AS numbers (n)"
            )
        with sm.Evaluator("lists", "truth", connection=connection) as evaluator:
            found = in_parts(evaluator, tmp_path / "parts", 5, "recall", 1)
    assert found["value"].tolist() == [1.0]
    assert found["n_users"].tolist() == [40]


def test_keys_of_several_columns(tmp_path: Path) -> None:
    lists = [(day, u, i, 9 - i) for day in "ab" for u in range(8) for i in range(3 + u % 2)]
    truth = [(day, u, (u + len(day)) % 4) for day in "ab" for u in range(9)]
    tables = {
        "recommendations": frame(lists, "day", "user id", "item_id", "score"),
        "interactions": frame(truth, "day", "user id", "item_id"),
    }
    with sm.Evaluator(**tables, key=("day", "user id")) as evaluator:
        metrics = ["ndcg", "coverage(catalogue=items)"][:1]
        found = in_parts(evaluator, tmp_path / "parts", 3, metrics, 3)
        assert_same(found, evaluator.evaluate(metrics, 3))
    assert found["n_users"].tolist() == [18]


OWN_METRICS = {
    # up to the longest list of all users, of which a partition knows only its own
    "harmonic": """
{#---
title = "The sums over all positions, for every hit"
---#}
SELECT hits.model, hits.user_id, hits.k, sum(harmonics.harmonic) AS value
FROM hits
CROSS JOIN harmonics
GROUP BY hits.model, hits.user_id, hits.k
""",
    # over all users, by an aggregate that no other is made of
    "spread": """
{#---
title = "How far ranks of hits are from their median, in the median"
grain = "run"
---#}
SELECT {{ model_of("hits") }} AS model, hits.k, mad(CAST(hits.rank AS DOUBLE)) AS value
FROM hits
GROUP BY {% if several_models %}hits.model, {% endif %}hits.k
""",
    # per user, but next to the user before: no partition has that one
    "next_to": """
{#---
title = "The hits of the user before, by id"
---#}
SELECT user_id, model, k, lag(n_hits, 1, 0) OVER (PARTITION BY model, k ORDER BY user_id) AS value
FROM (SELECT user_id, model, k, count(*) AS n_hits FROM hits GROUP BY user_id, model, k) AS counted
""",
}


def test_metrics_of_ones_own_need_say_nothing(tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    templates.mkdir()
    for name, text in OWN_METRICS.items():
        text = text.strip().replace(
            "SELECT user_id, model, k, lag", "SELECT model, user_id, k, lag"
        )
        (templates / f"{name}.sql.j2").write_text(text, encoding="utf-8")
    tables = world()
    long = frame([("one", 50, i, 100 - i) for i in range(40)], *tables["recommendations"].columns)
    tables["recommendations"] = pd.concat([tables["recommendations"], long])
    with sm.Evaluator(**tables, templates=templates) as evaluator:
        found = in_parts(evaluator, tmp_path / "parts", 3, list(OWN_METRICS), 5)
        wanted = evaluator.evaluate(list(OWN_METRICS), 5)
        assert wanted["value"].notna().all()
        assert_same(found, wanted)
        with pytest.raises(sm.UsageError, match=r"partition 1/4: .*all users at once \(next_to"):
            evaluator.per_user("next_to", 5, partition="1/4")


# --- values per user


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, marks=pytest.mark.thorough),
        {"by": ["kind", "activity"]},
        pytest.param({"by_item": "popularity"}, marks=pytest.mark.thorough),
    ],
)
def test_values_per_user_of_all_partitions(options: dict[str, Any]) -> None:
    with sm.Evaluator(**world()) as evaluator:
        parts = [
            evaluator.per_user(["ndcg@2", "recall"], partition=f"{n}/3", **options)
            for n in (1, 2, 3)
        ]
        wanted = evaluator.per_user(["ndcg@2", "recall"], **options)
    users = [set(part["user_id"]) for part in parts]
    assert all(users)
    assert not users[0] & users[1] | users[0] & users[2] | users[1] & users[2]
    order = [name for name in wanted.columns if name not in ("ndcg", "recall")]
    found = pd.concat(parts).sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(found, wanted.sort_values(order, ignore_index=True))
    for part in parts:
        assert part.sort_values(order, kind="stable").index.tolist() == part.index.tolist()


def test_a_partition_of_values_per_user_by_sql_and_in_a_file(tmp_path: Path) -> None:
    with demo() as evaluator:
        wanted = evaluator.per_user("recall", 5, partition="2/4")
        text = evaluator.sql("recall", 5, per_user=True, partition="2/4")
        evaluator.write_parquet(
            tmp_path / "part.parquet", "recall", 5, per_user=True, partition="2/4"
        )
        with pytest.raises(TypeError, match="evaluate has no argument 'partition'"):
            evaluator.sql("recall", 5, partition="2/4")
    with duckdb.connect() as connection:
        found = connection.sql(text).df()
        written = connection.sql(f"FROM read_parquet('{tmp_path / 'part.parquet'}')").df()
    for values in (found, written):
        pd.testing.assert_frame_equal(values, wanted, check_dtype=False)


@pytest.mark.parametrize(
    "metric",
    ["intra_list_diversity(over=category, sample_users=5)", SAMPLED[0]],
)
def test_what_needs_all_users_has_no_values_of_a_partition(metric: str) -> None:
    with demo() as evaluator, pytest.raises(sm.UsageError):
        evaluator.per_user(metric, 5, partition="1/2")


# --- the folder


def test_the_statement_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "parts [of] *"
    metrics = ["recall", "coverage", "inter_list_diversity"]
    with sm.Evaluator(**world()) as evaluator:
        found = in_parts(evaluator, folder, 2, metrics, [2, 4])
        assert_same(found, evaluator.evaluate(metrics, [2, 4]))
    text = (folder / "reduce.sql").read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    monkeypatch.chdir(folder)
    rows = duckdb.sql(text).df()
    pd.testing.assert_frame_equal(rows, found, check_dtype=False)


@pytest.mark.thorough
def test_every_job_writes_the_same_statement(tmp_path: Path) -> None:
    """Also one of another process, whose hashes of texts have another seed."""
    with sm.Evaluator(
        DATA / "recommendations_als.parquet", DATA / "interactions.parquet"
    ) as evaluator:
        evaluator.write_partition(tmp_path / "parts", "1/2", ["recall", "auc"], 5)
    before = (tmp_path / "parts" / "reduce.sql").read_text(encoding="utf-8")
    command = [
        sys.executable, "-m", "sqlmetrics", "evaluate", "recall", "auc", "-k", "5",
        "-r", str(DATA / "recommendations_als.parquet"), "-i", str(DATA / "interactions.parquet"),
        "--partition", "2/2", "-o", str(tmp_path / "parts"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert (tmp_path / "parts" / "reduce.sql").read_text(encoding="utf-8") == before
    assert len(sm.reduce(tmp_path / "parts")) == 2


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def written(folder: Path, *partitions: str, metrics: Any = "recall", **options: Any) -> Path:
    with sm.Evaluator(**world()) as evaluator:
        for partition in partitions:
            evaluator.write_partition(folder, partition, metrics, 3, **options)
    return folder


@pytest.mark.thorough
def test_a_part_is_not_overwritten(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/2", "2/2")
    before = files_in(folder)
    with pytest.raises(sm.DataError, match=r"parts has part 2/2 already.*--force"):
        written(folder, "2/2")
    assert files_in(folder) == before
    written(folder, "2/2", force=True)
    assert files_in(folder).keys() == before.keys()
    assert len(sm.reduce(folder)) == 2


@pytest.mark.thorough
def test_parts_of_other_requests_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "parts", "1/2")
    for asked in ({"metrics": ["ndcg", "map"]}, {"ci": "none"}):
        with pytest.raises(sm.DataError, match=r"parts of different requests.*1/2 of recall@3"):
            written(folder, "2/2", **asked)
    with pytest.raises(sm.DataError, match=r"different ways \(1/2 of 2 partitions; 2/3 of 3 part"):
        written(folder, "2/3")
    assert not [name for name in files_in(folder) if Path(name).name.startswith("part-0002")]
    with monkeypatch.context() as patched:  # before anything is computed
        patched.setattr("sqlmetrics.engines.duckdb.DuckDBEngine.write_parquet", None)
        with pytest.raises(sm.DataError, match="different requests"):
            written(folder, "2/2", metrics="map")
    written(folder, "2/2", metrics=["ndcg", "map"], force=True)
    with pytest.raises(sm.DataError, match=r"1/2 of recall@3; 2/2 of ndcg@3 map@3"):
        sm.reduce(folder)


def test_missing_parts_are_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/9", "4/9")
    with pytest.raises(
        sm.DataError, match=r"7 of 9 parts are missing: 2/9, 3/9, 5/9, 6/9, 7/9 and 2 more; run"
    ):
        sm.reduce(folder)


def test_a_folder_without_parts(tmp_path: Path) -> None:
    with pytest.raises(sm.DataError, match=r"has no parts; .*--partition 1/8"):
        sm.reduce(tmp_path)
    with pytest.raises(sm.DataError, match="there is no folder"):
        sm.reduce(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(sm.DataError, match="is a file"):
        written(tmp_path / "file", "1/1")
    with pytest.raises(sm.DataError, match="there is no folder"):
        written(tmp_path / "no" / "where", "1/1")


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    entries = json.loads(path.read_text(encoding="utf-8"))
    change(entries)
    path.write_text(json.dumps(entries), encoding="utf-8")


def test_versions_are_not_mixed(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/2", "2/2")
    first, second = sorted(folder.glob("*.json"))
    changed(second, lambda entries: entries["versions"].update(duckdb="1.9.9"))
    with pytest.raises(sm.DataError, match=r"different versions \(1/2 of .*2/2 of .*1\.9\.9\)"):
        sm.reduce(folder)
    changed(first, lambda entries: entries["versions"].update(duckdb="1.9.9"))
    with pytest.raises(sm.DataError, match=r"written by .*1\.9\.9, this is .*use the same"):
        sm.reduce(folder)


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/1")
    (folder / "reduce.sql").write_text("SELECT 1", encoding="utf-8")
    with pytest.raises(sm.DataError, match=r"reduce\.sql is not the statement"):
        sm.reduce(folder)
    (folder / "reduce.sql").unlink()
    with pytest.raises(sm.DataError, match=r"reduce\.sql cannot be read"):
        sm.reduce(folder)
    (folder / "part-0001-of-0001.json").write_text("{", encoding="utf-8")
    with pytest.raises(sm.DataError, match=r"part-0001-of-0001\.json cannot be read"):
        sm.reduce(folder)


def test_manifests_with_entries_of_other_types_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/1")
    path = folder / "part-0001-of-0001.json"
    right = path.read_text(encoding="utf-8")
    wrong: list[tuple[str, Any]] = [
        ("plan", 3), ("asked", "recall"), ("asked", [1]), ("sliced_by", [{"name": "a"}]),
        ("sliced_by", [1]), ("versions", []), ("versions", {"duckdb": 2}), ("tables", {}),
        ("files", []), ("files", {"per_user": 3}), ("files", {"../per_user": {}}),
        ("data", {"interactions": None}), ("partition", 1), ("partition", "1/2"), ("more", 1),
    ]  # fmt: skip
    for name, value in wrong:
        changed(path, lambda entries, name=name, value=value: entries.update({name: value}))
        with pytest.raises(
            sm.DataError, match=r"part-0001-of-0001\.json cannot be read \(.*delete"
        ):
            sm.reduce(folder)
        path.write_text(right, encoding="utf-8")
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(sm.DataError, match=r"cannot be read \(it is not an object"):
        sm.reduce(folder)


def test_files_of_parts_are_those_that_were_written(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/2", "2/2")
    wanted = sm.reduce(folder)
    first, second = sorted((folder / "per_user").glob("*.parquet"))
    right = first.read_bytes()
    entries = json.loads((folder / "part-0001-of-0002.json").read_text(encoding="utf-8"))
    ((count,),) = duckdb.sql(f"SELECT count(*) FROM read_parquet('{first}')").fetchall()
    assert entries["files"]["per_user"]["rows"] == count
    first.write_bytes(second.read_bytes() + b" ")
    with pytest.raises(sm.DataError, match=r"part-0001-of-0002\.parquet has \d+ bytes, not the"):
        sm.reduce(folder)
    first.write_bytes(right[:-20] + b"x" + right[-19:])
    with pytest.raises(sm.DataError, match=r"0001-of-0002\.parquet has other values.* part 1/2 a"):
        sm.reduce(folder)
    first.unlink()
    with pytest.raises(sm.DataError, match=r"0001-of-0002\.parquet is missing; run .* part 1/2 ag"):
        sm.reduce(folder)
    first.write_bytes(right)
    shutil.copy(second, folder / "per_user" / "part-0003-of-0002.parquet")  # one too many
    assert_same(sm.reduce(folder), wanted)


def test_the_statement_alone_misses_a_file_and_reads_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "parts", "1/2", "2/2")
    text = (folder / "reduce.sql").read_text(encoding="utf-8")
    monkeypatch.chdir(folder)
    wanted = duckdb.sql(text).df()
    shutil.copy("per_user/part-0002-of-0002.parquet", "per_user/part-0003-of-0002.parquet")
    pd.testing.assert_frame_equal(duckdb.sql(text).df(), wanted)
    Path("per_user/part-0002-of-0002.parquet").unlink()
    with pytest.raises(duckdb.IOException, match="part-0002-of-0002"):
        duckdb.sql(text).df()


def test_folders_that_look_like_columns(tmp_path: Path) -> None:
    """Parts are no Hive partitions, whatever their folder is called."""
    with sm.Evaluator(**world()) as evaluator:
        found = in_parts(evaluator, tmp_path / "model=als", 2, "ndcg", 3)
        assert_same(found, evaluator.evaluate("ndcg", 3))


def test_what_is_handed_over_is_read_as_it_is(tmp_path: Path) -> None:
    """Nor is a folder that Spark has written to."""
    folder = tmp_path / "model=als"
    folder.mkdir()
    duckdb.sql("SELECT 'one' AS model").write_parquet(str(folder / "rows.parquet"))
    engine = DuckDBEngine()
    assert engine.adopt("adopted", folder) == 1
    assert engine.query("SELECT model FROM adopted", "it") == [{"model": "one"}]
    engine.close()


@pytest.mark.thorough
def test_parts_of_other_data_are_refused(tmp_path: Path) -> None:
    tables = world()
    others = {**tables, "interactions": tables["interactions"].assign(relevance=2)}

    def write(partition: str, of: dict[str, Any], folder: str, force: bool = False) -> None:
        with sm.Evaluator(**of) as evaluator:
            evaluator.write_partition(tmp_path / folder, partition, "ndcg", 3, force=force)

    def saved(of: dict[str, Any], folder: str) -> dict[str, Any]:
        (tmp_path / folder).mkdir()
        paths = {name: tmp_path / folder / f"{name}.parquet" for name in of}
        for name, path in paths.items():
            of[name].to_parquet(path)
        return paths

    write("1/2", tables, "frames")
    with pytest.raises(sm.DataError, match=r"parts of different data: interactions differ \(1/2"):
        write("2/2", others, "frames")
    write("2/2", others, "frames", force=True)
    with pytest.raises(sm.DataError, match="different data: interactions differ"):
        sm.reduce(tmp_path / "frames")

    files = saved(tables, "here")
    write("1/2", files, "files")
    with pytest.raises(sm.DataError, match=r"parts of different data: interactions differ"):
        write("2/2", saved(others, "there"), "files")
    write("2/2", saved(tables, "copied"), "files")  # the same files, elsewhere
    assert len(sm.reduce(tmp_path / "files")) == 2


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "reduce.sql").write_text("SELECT 1", encoding="utf-8")
    for force in (False, True):
        with pytest.raises(sm.DataError, match=r"reduce\.sql was not written by sqlmetrics"):
            written(folder, "1/1", force=force)
    assert files_in(folder) == {"reduce.sql": b"SELECT 1"}
    (folder / "reduce.sql").rename(folder / "notes.txt")
    with pytest.raises(
        sm.DataError, match=r"has no parts, but other files \(notes\.txt\).*--force"
    ):
        written(folder, "1/2")
    written(folder, "1/2", force=True)
    written(folder, "2/2")  # there are parts now
    assert len(sm.reduce(folder)) == 2
    for manifest in folder.glob("*.json"):  # as where a job was stopped before its end
        manifest.unlink()
    (folder / "notes.txt").unlink()
    written(folder, "1/2")


def test_a_job_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = DuckDBEngine.write_parquet, itertools.count()

    def fail_at_the_second(self: DuckDBEngine, plan: Plan, *rest: Any) -> None:
        if next(calls):
            raise sm.EngineError("the disk is full")
        real(self, plan, *rest)

    monkeypatch.setattr(DuckDBEngine, "write_parquet", fail_at_the_second)
    with pytest.raises(sm.EngineError, match="full"):
        written(tmp_path / "parts", "1/1", metrics=["recall", "coverage"])
    assert files_in(tmp_path / "parts") == {}


def test_a_part_that_is_being_replaced_is_missing_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "parts", "1/1")
    replace = os.replace

    def fail_at_the_part(source: Path, target: Path) -> None:
        if target.name == "part-0001-of-0001.parquet":
            raise OSError("gone")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_at_the_part)
    with pytest.raises(OSError, match="gone"):
        written(folder, "1/1", force=True)
    with pytest.raises(sm.DataError, match="has no parts"):
        sm.reduce(folder)


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/10000", "", (1, 3)])
def test_partitions_that_are_none(text: Any) -> None:
    with pytest.raises(sm.UsageError, match=r"such as '3/8'"):
        Partition.parse(text)
    assert str(Partition.parse(" 3 / 8 ")) == "3/8"


# --- checks at the door


def test_rows_of_a_partition_are_checked(tmp_path: Path) -> None:
    """A rule that one user breaks fails the one job that has the user."""
    tables = world()
    lists = tables["recommendations"]
    twice = lists[(lists["model"] == "one") & (lists["user_id"] == 7)].head(1)
    tables["recommendations"] = pd.concat([lists, twice])
    failed = []
    with sm.Evaluator(**tables) as evaluator:
        for number in range(1, 5):
            try:
                evaluator.write_partition(tmp_path / "parts", f"{number}/4", "recall", 3)
            except sm.DataError as error:
                failed.append(str(error))
    (message,) = failed
    assert message.startswith("recommendations")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"recommendations": {1: ["a"]}, "interactions": {2: ["a"]}}, "no user in common"),
        ({"recommendations": {"m": {1: ["a"]}, "n": {}}, "interactions": {1: ["a"]}}, "empty"),
    ],
)
def test_rules_about_whole_tables_hold_in_every_partition(
    tmp_path: Path, tables: dict[str, Any], message: str
) -> None:
    if "n" in tables["recommendations"]:
        empty = frame([], "user_id", "item_id", "rank").astype("int64")
        some = frame([(1, 1, 1)], "user_id", "item_id", "rank")
        tables = {
            "recommendations": {"m": some, "n": empty},
            "interactions": frame([(1, 1)], "user_id", "item_id"),
        }
    with sm.Evaluator(**tables) as evaluator:
        for partition in ("1/3", "2/3", "3/3"):
            with pytest.raises(sm.DataError, match=message):
                evaluator.write_partition(tmp_path / "parts", partition, "recall", 3)


@pytest.mark.thorough
def test_an_item_in_common_is_looked_for_among_all_users(tmp_path: Path) -> None:
    users = range(6)
    lists = frame([(user, user, 1) for user in users], "user_id", "item_id", "rank")
    parts = [f"{number}/9" for number in range(1, 10)]  # most have one user, or none
    # the list of each user has what another user wants
    others = frame([(user, (user + 1) % 6) for user in users], "user_id", "item_id")
    with sm.Evaluator(lists, others) as evaluator:
        for part in parts:
            evaluator.write_partition(tmp_path / "parts", part, "recall", 3)
    messages = []
    with sm.Evaluator(lists, others.assign(item_id=others["item_id"] + 100)) as evaluator:
        for part in parts:
            try:
                evaluator.write_partition(tmp_path / "none", part, "recall", 3)
            except sm.DataError as error:
                messages.append(str(error))
    assert len(messages) >= 2  # of the partitions that have a user
    assert all("none of the recommended items (6 rows)" in message for message in messages)


def test_nothing_is_kept_of_a_partition(tmp_path: Path) -> None:
    with sm.Evaluator(**world()) as evaluator:
        evaluator.evaluate("recall", 3)
        before = dict(evaluator.engine.kept())
        evaluator.write_partition(tmp_path / "parts", "1/2", ["recall", "coverage"], 3)
        assert evaluator.engine.kept() == before


# --- what is found out about queries

USERS = Readable(Rows(of_users=True, keys={"u": 0}))
KNOWN = {
    "hits": USERS,
    "lists": USERS,
    "truth": Readable(USERS.rows, whole=True),
    "items": Readable(whole=True),
    "positions": Readable(Rows(enough=True, up_to=frozenset({"rank"}), always=5)),
    "models": Readable(groups=frozenset({"model"})),
    "sampled": Readable(),
}


@pytest.fixture(scope="module")
def aggregates() -> frozenset[str]:
    with duckdb.connect() as connection:
        connection.execute("CREATE MACRO twice(x) AS 2 * sum(x)")
        connection.execute("CREATE MACRO nested(x) AS twice(x) + 1")
        return aggregates_of(connection)


def found_out(sql: str, aggregates: frozenset[str]) -> Finding:
    return examine(
        sqlglot.parse_one(sql, read="duckdb"), 1, lambda t: KNOWN.get(t.name), aggregates
    )


LOCAL = [
    "SELECT u, count(*) AS n FROM hits GROUP BY u",
    "SELECT k, v FROM hits",  # rows of users, whose ids are not in them
    "SELECT h.u, l.n FROM hits AS h JOIN lists AS l ON l.u = h.u AND l.n > h.k",
    "SELECT h.u, l.n FROM hits AS h, lists AS l WHERE h.u = l.u",
    "SELECT t.u, l.n FROM truth AS t LEFT JOIN lists AS l ON t.u = l.u",
    "SELECT coalesce(a.u, b.u) AS u, count(*) AS n FROM hits AS a FULL JOIN lists AS b "
    "ON a.u = b.u GROUP BY coalesce(a.u, b.u)",
    "SELECT h.u FROM hits AS h CROSS JOIN items",
    "SELECT h.u, i.price FROM items AS i JOIN hits AS h ON h.i = i.i",
    "SELECT u, row_number() OVER (PARTITION BY u, k ORDER BY v) AS r FROM hits",
    "SELECT u, (SELECT max(price) FROM items) AS p FROM hits",
    "SELECT u, (SELECT count(DISTINCT u) FROM truth) AS p FROM hits",
    "SELECT DISTINCT u, k FROM hits",
    "SELECT u FROM hits UNION SELECT u FROM lists",
    "SELECT k FROM hits UNION ALL SELECT k FROM lists",
    "WITH a AS (SELECT u, sum(v) AS s FROM hits GROUP BY u) SELECT a.u, a.s FROM a "
    "JOIN lists ON lists.u = a.u",
    "WITH top AS (SELECT max(v) AS v FROM truth) SELECT h.u, top.v FROM hits AS h CROSS JOIN top",
    "WITH RECURSIVE r AS (SELECT u, 1 AS n FROM hits UNION ALL SELECT u, n + 1 FROM r WHERE n < 3) "
    "SELECT u, n FROM r",
    "SELECT h.u, p.gain FROM hits AS h LEFT JOIN positions AS p ON p.rank = h.k",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON least(5, h.n - 1) >= p.rank",
    "SELECT h.u, p.gain FROM positions AS p CROSS JOIN hits AS h WHERE p.rank = coalesce(h.k, 3)",
    "WITH p AS (SELECT rank AS r, gain FROM positions) SELECT h.u, p.gain FROM hits AS h "
    "LEFT JOIN p ON p.r = h.k",
    "SELECT h.u, m.model FROM hits AS h CROSS JOIN models AS m",
    "SELECT h.u, n.range AS q FROM hits AS h CROSS JOIN range(1, 3) AS n",
    "SELECT h.u FROM hits AS h SEMI JOIN lists AS l ON l.u = h.u",
    "SELECT u, sum(v) AS s FROM (SELECT u, v FROM hits WHERE v > 1) AS large GROUP BY u",
]
NOT_LOCAL = [
    "SELECT product(v) AS p FROM hits",
    "SELECT twice(v) AS p FROM hits",
    "SELECT nested(v) AS p FROM hits",
    "SELECT avg(v) AS p FROM hits",
    "SELECT k, quantile_cont(v, 0.5) AS q FROM hits GROUP BY k",
    "SELECT k, sum(v) / count(*) AS q FROM hits GROUP BY k",
    "SELECT k, count(DISTINCT v) AS q FROM hits GROUP BY k",
    "SELECT k, sum(v) AS q FROM hits GROUP BY k HAVING sum(v) > 1",
    "SELECT sum(v) AS q FROM hits GROUP BY k",  # sums of which k?
    "SELECT k, sum(v) AS q FROM hits GROUP BY ALL",
    "SELECT u, count(*) AS q FROM hits GROUP BY ROLLUP (u)",
    "SELECT u, row_number() OVER (ORDER BY v) AS r FROM hits",
    "SELECT u, sum(v) OVER (PARTITION BY k) AS r FROM hits",
    "SELECT u FROM hits LIMIT 3",
    "SELECT u FROM hits USING SAMPLE 3",
    "SELECT DISTINCT ON (k) k, u FROM hits",
    "SELECT k FROM hits UNION SELECT k FROM lists",
    "SELECT u FROM hits UNION ALL SELECT i AS u FROM items",
    "SELECT a.u FROM hits AS a JOIN lists AS b ON a.k = b.k",
    "SELECT a.u FROM hits AS a JOIN lists AS b ON a.u = b.u OR a.k = b.k",
    "SELECT a.u FROM hits AS a JOIN lists AS b ON a.u <> b.u",
    "SELECT i.i FROM items AS i LEFT JOIN hits AS h ON h.i = i.i",
    "SELECT i.i FROM hits AS h FULL JOIN items AS i ON h.i = i.i",
    "SELECT h.u FROM hits AS h RIGHT JOIN lists AS l ON h.u = l.u",
    "SELECT h.u FROM lists AS l POSITIONAL JOIN hits AS h",
    # of a user without a match, b.u is missing: all of them would be one group
    "SELECT b.u, avg(a.v) AS n FROM hits AS a LEFT JOIN lists AS b ON a.u = b.u GROUP BY b.u",
    "SELECT u, (SELECT max(n) FROM lists) AS p FROM hits",
    "SELECT u FROM hits WHERE k IN (SELECT k FROM lists)",
    "SELECT u, (SELECT max(gain) FROM positions) AS p FROM hits",
    "WITH all_positions AS (SELECT sum(gain) AS g FROM positions) "
    "SELECT h.u, a.g FROM hits AS h CROSS JOIN all_positions AS a",
    "SELECT h.u, m.n_lists FROM hits AS h CROSS JOIN models AS m",
    "SELECT u FROM sampled",
    "SELECT u FROM elsewhere",
    "WITH RECURSIVE r AS (SELECT u, 1 AS n FROM hits UNION ALL SELECT n AS u, n + 1 FROM r) "
    "SELECT u, n FROM r",
    "SELECT t.u FROM truth AS t LEFT JOIN items AS i ON TRUE JOIN lists AS l ON l.u = i.u",
    "SELECT upper(u) AS u, avg(v) AS n FROM hits GROUP BY upper(u)",
    "SELECT u, (SELECT sum(h.v)) AS s FROM hits AS h",
    # of nested queries, tables and joins, what is said beside their rows
    "SELECT t.u FROM ((SELECT u, k FROM hits) ORDER BY u, k LIMIT 7) AS t",
    "SELECT t.u FROM ((SELECT u, k FROM hits) ORDER BY u, k OFFSET 7) AS t",
    "SELECT t.u FROM (SELECT u FROM hits) AS t LIMIT 7",
    "SELECT t.u FROM ((SELECT u, k FROM hits UNION ALL SELECT u, k FROM lists) ORDER BY u, k "
    "LIMIT 7) AS t",
    "SELECT u, k FROM hits UNION ALL SELECT u, k FROM lists ORDER BY u, k OFFSET 7",
    "SELECT u, k FROM hits UNION ALL BY NAME SELECT u, k FROM lists",
    "SELECT s.u, avg(s.v) AS n FROM (SELECT k, v, u FROM hits) AS s(u, v, x) GROUP BY s.u",
    "SELECT s.u, avg(s.v) AS n FROM hits AS s(v, i, u) GROUP BY s.u",
    "WITH s(u, v) AS (SELECT k, v FROM hits) SELECT u, avg(v) AS n FROM s GROUP BY u",
    "SELECT u FROM (SELECT u FROM hits) AS t TABLESAMPLE reservoir(3 ROWS)",
    "SELECT h.u FROM hits AS h TABLESAMPLE reservoir(3 ROWS)",
    "SELECT h.u, l.n FROM hits AS h ASOF JOIN lists AS l ON l.u = h.u AND l.n >= h.n",
    # the numbers up to the longest list of all users
    "SELECT h.u, sum(p.gain) AS g FROM hits AS h CROSS JOIN positions AS p GROUP BY h.u",
    "SELECT h.u, p.gain FROM hits AS h LEFT JOIN positions AS p ON p.rank >= h.k",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank <> h.k",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.gain = h.k",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank = h.k + 1",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank = 6",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank = coalesce(h.k, 6)",
    "SELECT h.u, p.gain FROM hits AS h JOIN positions AS p ON p.rank = p.rank",
    "SELECT h.u, p.gain FROM hits AS h LEFT JOIN items ON TRUE JOIN positions AS p "
    "ON p.rank = items.price",
    "WITH p AS (SELECT rank + 1 AS rank, gain FROM positions) SELECT h.u, p.gain FROM hits AS h "
    "JOIN p ON p.rank = h.k",
]


@pytest.mark.parametrize("sql", LOCAL)
def test_queries_that_are_local(sql: str, aggregates: frozenset[str]) -> None:
    finding = found_out(sql, aggregates)
    assert finding.rows is not None
    assert finding.rows.of_users
    wanted = {"u": 0} if re.search(r"\bu\b.*FROM", sql) and "SELECT k" not in sql else {}
    assert finding.rows.keys == wanted


@pytest.mark.parametrize("sql", NOT_LOCAL)
def test_queries_that_are_not_local(sql: str, aggregates: frozenset[str]) -> None:
    assert found_out(sql, aggregates) == Finding()


@pytest.mark.parametrize(
    ("sql", "merge"),
    [
        ("SELECT k, min(v) AS m FROM hits GROUP BY k", {"k": None, "m": "min"}),
        (
            "SELECT 'x' AS model, count(*) AS n, max(v) AS m, sum(v) AS s FROM hits",
            {"model": None, "n": "sum", "m": "max", "s": "sum"},
        ),
        (
            "SELECT h.k, least(l.n, 3) AS n, count(l.n) FILTER (WHERE l.n > 1) AS c FROM hits AS h "
            "JOIN lists AS l ON l.u = h.u GROUP BY h.k, least(l.n, 3)",
            {"k": None, "n": None, "c": "sum"},
        ),
        ("SELECT DISTINCT k FROM hits", {"k": None}),
    ],
)
def test_queries_that_are_merged(
    sql: str, merge: dict[str, str | None], aggregates: frozenset[str]
) -> None:
    finding = found_out(sql, aggregates)
    assert finding.rows is None
    assert finding.merge == merge


def test_a_local_query_is_that_of_its_partitions(aggregates: frozenset[str]) -> None:
    """The definition itself: computed for the users of each partition, it is the whole result."""
    with duckdb.connect() as connection:
        for name, columns in (
            ("items", "n AS i, n * 1.5 AS price"),
            ("models", "'m' || n AS model"),
            ("positions", "n AS rank, n AS gain"),
        ):
            connection.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM range(9) AS t (n)")
        rows = "n % 7 AS u, n % 4 AS i, n % 3 AS k, n % 5 AS v, n % 6 AS n"
        for absent, name in enumerate(("hits", "lists", "truth")):
            some = f"range(40) AS t (n) WHERE n % 7 <> {absent}"
            connection.execute(f"CREATE TABLE {name} AS SELECT {rows} FROM {some}")
            for part in range(3):
                of_part = f"SELECT u, i, k, v, n FROM {name} WHERE u % 3 = {part}"
                connection.execute(f"CREATE VIEW {name}_{part} AS {of_part}")
        for sql in LOCAL:
            found = []
            for part in range(3):
                tree = sqlglot.parse_one(sql, read="duckdb")
                tables = [t for t in tree.find_all(sqlglot.exp.Table) if t.name in KNOWN]
                reads = found_out(sql, aggregates).reads
                for table, how in zip(tables, reads, strict=True):
                    if how == OF_USERS:
                        name, alias = table.name, table.alias_or_name
                        table.set("this", sqlglot.exp.to_identifier(f"{name}_{part}"))
                        table.set("alias", sqlglot.exp.TableAlias(this=alias))
                found += connection.execute(tree.sql("duckdb")).fetchall()
            whole = connection.execute(sql).fetchall()
            assert sorted(found, key=repr) == sorted(whole, key=repr), sql


# --- the command line and the page


def called(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


FILES = ["-r", str(MODELS["als"]), "-i", str(DATA / "interactions.parquet")]


@pytest.mark.thorough
def test_command_line(tmp_path: Path) -> None:
    parts = str(tmp_path / "parts")
    for number in (1, 2):
        asked = ["evaluate", "recall@5", *FILES, "--partition", f"{number}/2", "-o", parts]
        assert called(*asked) == ""
    kept = ["metric", "k", "n_users"]
    whole = pd.read_csv(io(called("evaluate", "recall@5", *FILES)))
    found = pd.read_csv(io(called("reduce", parts)))
    assert found[kept].equals(whole[kept])
    assert found["value"][0] == pytest.approx(whole["value"][0], abs=1e-12)
    for end in (".json", ".parquet"):
        path = tmp_path / f"result{end}"
        called("reduce", parts, "-o", str(path), "--threads", "1")
        result = pd.read_json(path) if end == ".json" else pd.read_parquet(path)
        assert result["value"][0] == pytest.approx(whole["value"][0], abs=1e-12)
        again = CliRunner().invoke(cli, ["reduce", parts, "-o", str(path)])
        assert again.exit_code == 1
        assert "--force" in again.stderr
    users = [
        pd.read_csv(io(called("per-user", "recall@5", *FILES, "--partition", f"{n}/2")))
        for n in (1, 2)
    ]
    assert len(users[0]) + len(users[1]) == whole["n_users"][0]
    assert min(map(len, users)) > 0


def io(text: str) -> Any:
    from io import StringIO

    return StringIO(text)


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--partition", "1/2"], 2, "name the folder"),
        (["--partition", "1/2", "-o", "-"], 2, "name the folder"),
        (["--partition", "5/2", "-o", "parts"], 2, "such as '3/8'"),
        (
            ["--partition", "1/2", "-o", "parts", "--format", "csv"],
            2,
            "--format is about the result",
        ),
        (["--partition", "1/2", "-o", "parts", "--digits", "3"], 2, "--digits is about the result"),
        (["--partition", "1/2", "-o", "no/parts"], 1, "there is no folder no"),
    ],
)
def test_command_line_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["evaluate", "recall@5", *FILES, *more])
    assert (result.exit_code, list(tmp_path.iterdir())) == (code, [])
    assert message in result.stderr


def test_nobody_has_a_value_of_a_column(tmp_path: Path) -> None:
    """What `evaluate` warns of, the reduction warns of: no job can know it."""
    tables = world()
    tables["users"] = frame([(100, "a")], "user_id", "kind")
    with sm.Evaluator(**tables) as evaluator:
        for partition in ("1/2", "2/2"):
            evaluator.write_partition(tmp_path / "parts", partition, "recall", 3, by="kind")
    with pytest.warns(sm.SqlmetricsWarning, match="no user has a value of kind in the table users"):
        sm.reduce(tmp_path / "parts")


@pytest.mark.thorough
def test_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "partitioned.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DATA, tmp_path / "examples" / "data")
    commands = []
    for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        for line in re.findall(r"^ *sqlmetrics (.*)$", block.replace("\\\n", " "), re.MULTILINE):
            loops = re.search(r"for i in ([\d ]+)", block)
            for number in loops[1].split() if loops else [""]:
                commands.append(line.replace("$i", number))
    assert len(commands) >= 5
    for command in commands:
        called(*command.split())
    shown = re.search(r"```console\n\$ sqlmetrics (reduce .*?)\n(.*?)\n```", page, re.DOTALL)
    assert shown is not None
    assert called(*shown[1].split(), "--format", "table").rstrip() == shown[2]
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert len(names["result"]) == 2
