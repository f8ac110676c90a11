"""Partitions give exactly the numbers of one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.partitions import DATA, MODELS, assert_same, frame, in_parts, world

TABLES = {
    name: DATA / f"{name}.parquet" for name in ("history", "items", "aspects", "logs", "users")
}
# a relevance of 1 is judged and not relevant: pairs for AUC, differences for rank correlations
SETTINGS = {"relevant_from": 2}


def demo(**options: Any) -> sm.Evaluator:
    given = {"baseline": "popular", "settings": SETTINGS, **TABLES, **options}
    return Evaluator(MODELS, DATA / "interactions.parquet", **given)


# ---------------------------------------------------------------- results


def test_every_metric_of_the_demo(tmp_path: Path) -> None:
    with demo() as evaluator:
        found = in_parts(evaluator, tmp_path / "parts", 2, "all", 5)
        wanted = evaluator.evaluate("all", 5)
    known = evaluator.catalog.metrics.values()
    assert set(wanted["metric"]) == {metric.name for metric in known if metric.in_all}
    assert_same(found, wanted)


SAMPLED = ["inter_list_diversity(sample_users=7, runs=3)", "inter_list_diversity"]
ACCURACY = ["ndcg", "recall", "map(divisor=all_positions)", "ndcg(aggregate=median)"]
# options of the evaluator, and the requests that one evaluator answers
WORLDS: list[tuple[dict[str, Any], list[tuple[list[str], dict[str, Any]]]]] = [
    (
        {},
        [
            (SAMPLED, {}),
            (["coverage", "recall"], {"by": "kind"}),
            (ACCURACY, {"by_item": "popularity", "by": "kind", "ci": "none"}),
            (["coverage", "recall"], {"ci": "bootstrap", "run_ci": True, "resamples": 20}),
            (ACCURACY, {"by": ["kind", "activity"], "combinations": True}),
        ],
    ),
    ({"settings": {"audience": "either"}}, [(ACCURACY, {"ci": "bootstrap", "resamples": 30})]),
    ({"settings": {"duplicate_interactions": "bag_size"}}, [(["ndcg", "err"], {})]),
    ({"convention": ["jurity", "rectools", "standard"]}, [(["map", "ndcg"], {})]),
    ({"settings": {"audience": "judged", "relevant_from": 3}}, [(["recall", "auc"], {})]),
    (
        {"settings": {"duplicate_recommendations": "cut_then_dedup"}},
        [(["recall", "coverage"], {})],
    ),
]


@pytest.mark.parametrize(("given", "requests"), WORLDS, ids=range(len(WORLDS)))
def test_small_world_with_two_models(
    tmp_path: Path, given: dict[str, Any], requests: list[tuple[list[str], dict[str, Any]]]
) -> None:
    with Evaluator(**world(), **given, threads=1) as evaluator:
        for number, (metrics, options) in enumerate(requests):
            folder = tmp_path / f"parts{number}"
            found = in_parts(evaluator, folder, 2, metrics, [2, 5], **options)
            assert_same(found, evaluator.evaluate(metrics, [2, 5], **options))


def test_more_partitions_than_users(tmp_path: Path) -> None:
    """Five partitions of three users: some have nobody at all."""
    lists = {"a": ["x", "y"], "b": ["y", "z"], "c": ["z"]}
    truth = {"a": ["y"], "b": ["y"], "c": ["x"]}
    with Evaluator(lists, truth, items={"x", "y", "z", "w"}) as evaluator:
        metrics = ["recall", "coverage(catalogue=items)"]
        found = in_parts(evaluator, tmp_path / "parts", 5, metrics, 1)
    assert found["value"].tolist() == [1 / 3, 3 / 4]
    sizes = [
        duckdb.sql(f"SELECT count(*) FROM read_parquet('{path}')").fetchall()[0][0]
        for path in (tmp_path / "parts" / "per_user").glob("*.parquet")
    ]
    assert len(sizes) == 5
    assert sum(sizes) == len(lists)


def test_an_item_in_lists_of_two_partitions_counts_once(tmp_path: Path) -> None:
    """Coverage and pairs of lists are about all users: parts must not be added up."""
    lists = {user: ["x", "y"] for user in range(20)} | {20: ["y", "z"]}
    with Evaluator(lists, {0: ["x"]}, items={"w", "x", "y", "z"}) as evaluator:
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
        with Evaluator("lists", "truth", users="people", connection=connection) as evaluator:
            found = in_parts(evaluator, tmp_path / "parts", 2, ["recall"], 1, by="size")
            wanted = evaluator.evaluate("recall", 1, by="size")
            sampled = in_parts(evaluator, tmp_path / "sampled", 2, SAMPLED[:1], 1)
            assert_same(sampled, evaluator.evaluate(SAMPLED[:1], 1))
        assert connection.sql("SELECT count(*) FROM duckdb_tables()").fetchall() == [(3,)]
    assert found["size"].tolist() == ["small", "medium", "large"]
    assert_same(found, wanted)


@pytest.mark.parametrize("types", [("FLOAT", "DOUBLE"), ("DECIMAL(4,1)", "DECIMAL(6,3)")])
def test_ids_that_are_equal_go_to_one_partition(tmp_path: Path, types: tuple[str, str]) -> None:
    """0.1 as a FLOAT and as a DOUBLE are spelled alike and not equal; 1.0 and 1.000 are equal."""
    with duckdb.connect() as connection:
        for name, held in zip(("lists", "truth"), types, strict=True):
            connection.sql(
                f"CREATE TABLE {name} AS SELECT CAST(CAST(n / 10 AS {types[0]}) AS {held}) "
                "AS user_id, n % 2 AS item_id, 1 AS rank FROM range(40) AS numbers (n)"
            )
        with Evaluator("lists", "truth", connection=connection) as evaluator:
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
    with Evaluator(**tables, key=("day", "user id")) as evaluator:
        found = in_parts(evaluator, tmp_path / "parts", 3, "ndcg", 3)
        assert_same(found, evaluator.evaluate("ndcg", 3))
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
SELECT model, user_id, k, lag(n_hits, 1, 0) OVER (PARTITION BY model, k ORDER BY user_id) AS value
FROM (SELECT user_id, model, k, count(*) AS n_hits FROM hits GROUP BY user_id, model, k) AS counted
""",
}


def test_metrics_of_ones_own_need_say_nothing(tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    templates.mkdir()
    for name, text in OWN_METRICS.items():
        (templates / f"{name}.sql.j2").write_text(text.strip(), encoding="utf-8")
    tables = world()
    long = frame([("one", 50, i, 100 - i) for i in range(40)], *tables["recommendations"].columns)
    tables["recommendations"] = pd.concat([tables["recommendations"], long])
    with Evaluator(**tables, templates=templates) as evaluator:
        found = in_parts(evaluator, tmp_path / "parts", 3, list(OWN_METRICS), 5)
        wanted = evaluator.evaluate(list(OWN_METRICS), 5)
        assert wanted["value"].notna().all()
        assert_same(found, wanted)
        with pytest.raises(sm.UsageError, match=r"partition 1/4: .*all users at once \(next_to"):
            evaluator.per_user("next_to", 5, partition="1/4")


# ---------------------------------------------------------------- values per user


def test_values_per_user_of_all_partitions() -> None:
    with Evaluator(**world()) as evaluator:
        for options in ({}, {"by": ["kind", "activity"]}, {"by_item": "popularity"}):
            parts = [
                evaluator.per_user(["ndcg@2", "recall"], partition=f"{n}/3", **options)
                for n in (1, 2, 3)
            ]
            users = [set(part["user_id"]) for part in parts]
            assert all(users)
            assert not users[0] & users[1] | users[0] & users[2] | users[1] & users[2]
            wanted = evaluator.per_user(["ndcg@2", "recall"], **options)
            order = [name for name in wanted.columns if name not in ("ndcg", "recall")]
            found = pd.concat(parts).sort_values(order, ignore_index=True)
            pd.testing.assert_frame_equal(found, wanted.sort_values(order, ignore_index=True))
            for part in parts:
                assert part.sort_values(order, kind="stable").index.tolist() == [*part.index]


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


def test_what_needs_all_users_has_no_values_of_a_partition() -> None:
    with demo() as evaluator:
        for metric in ("intra_list_diversity(over=category, sample_users=5)", SAMPLED[0]):
            with pytest.raises(sm.UsageError):
                evaluator.per_user(metric, 5, partition="1/2")
