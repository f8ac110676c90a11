"""Every alternative has the rows of the query that it replaces; exact sums are those of a sum.

`tests/plan/test_hit_ranks.py` looks closer at the alternative that finds hits by their scores.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.requests import cutoff_context
from sqlmetrics.metrics.spec import parse_spec
from sqlmetrics.plan.per_user import per_user
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.results import results_of
from sqlmetrics.plan.summary import summary
from sqlmetrics.sql import exact_sums
from sqlmetrics.sql.query_graph import Plan, Query, Rendered, parse
from sqlmetrics.stats.intervals import Interval
from tests.support.calls import replan
from tests.support.evaluators import Evaluator
from tests.support.templates import (
    CATALOG,
    LOGICAL,
    METRICS,
    ROOT,
    STANDARD,
    slicing,
    under_standard,
)

KEYS = [["user_id"], ["user_id", "shop"]]


def world(
    seed: int, key: Sequence[str] = ("user_id",), repeats: bool = False, longest: int = 12
) -> dict[str, Any]:
    """Draw tables with ties, gaps, short lists, users without lists and lists without users."""
    draw = random.Random(seed)
    items = range(40)

    def rows(users: range, least: int, most: int, **columns: Any) -> pd.DataFrame:
        drawn = []
        for user in users:
            chosen = draw.sample(items, min(draw.randint(least, most), len(items)))
            if repeats and chosen:
                chosen += draw.choices(chosen, k=draw.randint(0, 2))
            drawn += [
                {"user_id": user, "item_id": item, **{n: f(place) for n, f in columns.items()}}
                for place, item in enumerate(chosen, start=1)
            ]
        frame = pd.DataFrame(drawn)
        return frame.assign(shop=frame["user_id"] % 3) if "shop" in key else frame

    def lists() -> pd.DataFrame:
        return rows(
            range(30),
            0,
            longest,
            rank=lambda place: place + draw.choice([0, 0, 0, 1, 130]),
            score=lambda _: draw.randrange(6) / 4,
        )

    return {
        "recommendations": {"als": lists(), "popular": lists()},
        "interactions": rows(range(5, 35), 1, 8, relevance=lambda _: draw.randint(0, 4)),
        "history": rows(range(35), 3, 9),
        "baseline": rows(range(30), 0, 6, score=lambda _: draw.randrange(6) / 4),
        "items": pd.DataFrame(
            {
                "item_id": items,
                "price": [draw.randint(1, 9) / 3 for _ in items],
                "category": [draw.choice("abc") for _ in items],
                "item_group": ["pq"[item % 2] for item in items],
                "features": [[draw.randint(-3, 3) / 7 for _ in range(5)] for _ in items],
            }
        ),
        "users": pd.DataFrame(
            [{"user_id": user, "shop": user % 3, "country": draw.choice("xy")}
             for user in range(35)]
        ),
        "aspects": pd.DataFrame(
            [(item, aspect) for item in items for aspect in draw.sample("pqrs", 2)],
            columns=["item_id", "aspect"],
        ),
        "logs": rows(range(30), 1, 8, reward=lambda _: 1).pipe(numbered, repeats),
        "key": list(key),
    }  # fmt: skip


def numbered(logs: pd.DataFrame, repeats: bool) -> pd.DataFrame:
    """Number the rounds; some of those that repeat ascend, and some have no number."""
    rounds = [place // 2 if place % 10 < 4 else place for place in range(len(logs))]
    with_gaps = [None if place % 9 == 8 else place for place in rounds]
    return logs.assign(round_id=pd.array(with_gaps if repeats else range(len(logs)), "Int64"))


def by_score(tables: dict[str, Any]) -> dict[str, Any]:
    """Leave the ranks of lists out, which are not 1, 2, 3, …"""
    lists = tables["recommendations"]
    return {**tables, "recommendations": {name: lists[name].drop(columns="rank") for name in lists}}


@contextlib.contextmanager
def evaluator_of(tables: Mapping[str, Any]) -> Iterator[sm.Evaluator]:
    several = len(tables["key"]) > 1
    users = tables["users"] if several else tables["users"].drop(columns="shop")
    with Evaluator(**{**tables, "users": users}) as evaluator:
        yield evaluator


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(list(frame.columns), na_position="first").reset_index(drop=True)


def assert_same(one: pd.DataFrame, other: pd.DataFrame, within: float = 1e-13) -> None:
    assert len(one) > 0
    # sums of doubles depend on the order of rows in their last digits
    pd.testing.assert_frame_equal(
        in_order(one), in_order(other), rtol=1e-12, atol=within, check_dtype=False
    )


# ---------------------------------------------------------------- of stages

STAGES: dict[tuple[str, str], dict[str, list[Any]]] = {  # the settings that are tried together
    ("duckdb", "hit_ranks"): {
        "order": ["score"],
        "ties": [
            "item_asc",
            "item_desc",
            "item_asc_text",
            "item_desc_text",
            "row",
            "row_reversed",
        ],
        "score_type": ["double", "float"],
        "duplicate_recommendations": ["error", "keep"],
    },
    ("duckdb", "recommendation_profile"): {
        "order": ["rank"],
        "rank_gaps": ["error"],
        "duplicate_recommendations": ["error", "keep", "dedup_then_cut"],
    },
    ("duckdb", "repeated_recommendations"): {},
    ("duckdb", "repeated_interactions"): {},
    ("duckdb", "repeated_baseline"): {},
    ("duckdb", "repeated_rounds"): {},
    ("spark", "diverse_ideal"): {"alpha": [0, 0.3, 0.5], "ideal_ties": ["item_asc", "item_desc"]},
}
# with repeated items, the rank among equals is another for each of them
WITHOUT_REPEATS = {"hit_ranks", "diverse_ideal"}


def choices(settings: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(settings, c, strict=True)) for c in itertools.product(*settings.values())]


def stage_of(
    evaluator: sm.Evaluator, name: str, settings: Mapping[str, Any], engine: str | None
) -> tuple[pd.DataFrame, str]:
    """Compute a stage as its template says it, or as an engine would; also return the query."""
    values = {**STANDARD.values(), **cutoff_context([1, 4, 9]), **settings}
    plans = replan(evaluator, dialect=engine or "duckdb")
    stage = plans.node(name, values)
    look = plans.rendered("look", {"looked_at": stage}, names=stage.columns, limit=None)
    plan = physical(plans, Plan(look)) if engine else Plan(look)
    (node,) = (node for node in plan.nodes() if node.name == name)
    assert isinstance(node, Query)
    return evaluator.engine.frame(plan), node.tree.sql()


@pytest.mark.parametrize("key", KEYS, ids=len)
@pytest.mark.parametrize(("engine", "name"), STAGES)
def test_stages_are_the_same(engine: str, name: str, key: list[str]) -> None:
    for seed, repeats in ((1, False), (2, True)):
        if repeats and name in WITHOUT_REPEATS:
            continue
        longest = 40 if name == "recommendation_profile" else 12
        with evaluator_of(world(seed, key, repeats, longest)) as evaluator:
            for chosen in choices(STAGES[engine, name]):
                logical, query = stage_of(evaluator, name, chosen, None)
                other, replaced = stage_of(evaluator, name, chosen, engine)
                assert query != replaced
                if repeats or not name.startswith("repeated"):
                    assert_same(logical, other)
                else:
                    assert len(logical) == len(other) == 0


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([1, 2, 5, 9], {}),
        ([2, 1, 3, 2], {2: 2}),
        ([1, 1, 2, 3], {1: 2}),
        ([1, None, 2], {None: 1}),
        ([None, 1, 2], {None: 1}),
        (["a", "b", "b"], {"b": 2}),
        # more rows than one thread reads at once, in two parts that ascend
        ([*range(200_000), *range(199_999, 400_000)], {199_999: 2}),
    ],
)
def test_repeated_rounds(rounds: list[Any], expected: dict[Any, int], tmp_path: Path) -> None:
    path = tmp_path / "logs.parquet"
    ones = {name: [1] * len(rounds) for name in ("user_id", "item_id", "reward")}
    pq.write_table(pa.table({"round_id": rounds, **ones}), path)
    with Evaluator(logs=str(path)) as evaluator:
        found, _ = stage_of(evaluator, "repeated_rounds", {}, "duckdb")
    known = [None if pd.isna(one) else one for one in found["round_id"]]
    assert dict(zip(known, found["n_rows"], strict=True)) == expected


# ---------------------------------------------------------------- of results

RESULTS = [("duckdb", "summary_rows"), ("spark", "summary_rows"), ("duckdb", "pivoted"),
           ("", "resampled"), ("", "resample_groups")]  # fmt: skip
METRICS_OF_RESULTS = ["ndcg", "kendall_tau", "hit_rate(aggregate=median)", "coverage"]
INTERVALS = [
    Interval("none"), Interval(), Interval("bootstrap", resamples=30),
    Interval("bootstrap", resamples=30, of_runs=True),
]  # fmt: skip


def summary_of(
    evaluator: sm.Evaluator, interval: Interval, sliced: bool, engine: str | None
) -> tuple[pd.DataFrame, set[str]]:
    """Compute a summary as the templates say it, or as an engine would."""
    plans = replan(evaluator, dialect=engine or "duckdb", fuse=False)
    specs = dict.fromkeys(map(parse_spec, METRICS_OF_RESULTS), (2, None))
    requests = under_standard(plans, specs)
    slices = slicing(plans, ["country"]) if sliced else None
    plan = summary(results_of(plans, requests, slicing=slices, interval=interval))
    plan = physical(plans, plan) if engine else plan
    templates = {node.template for node in plan.nodes() if isinstance(node, Rendered)}
    return evaluator.engine.frame(plan), templates


@pytest.mark.parametrize(("key", "sliced"), [(KEYS[0], False), (KEYS[1], True)])
def test_results_are_the_same(key: list[str], sliced: bool) -> None:
    with evaluator_of(by_score(world(3, key))) as evaluator:
        for interval in INTERVALS:
            logical, templates = summary_of(evaluator, interval, sliced, None)
            assert not any(template.startswith("physical/") for template in templates)
            for engine in ("duckdb", "spark"):
                other, templates = summary_of(evaluator, interval, sliced, engine)
                expected = {one for one in RESULTS if one[0] in ("", engine)}
                if interval.kind != "bootstrap":
                    expected -= {("", "resampled"), ("", "resample_groups")}
                assert {"/".join(["physical", *filter(None, one)]) for one in expected} <= templates
                assert_same(logical, other)


# ---------------------------------------------------------------- of metrics

# the variants that are tried, a stage that only the alternative reads, and the tolerance
BY_METRIC: dict[tuple[str, str], tuple[list[str], str, float]] = {
    ("", "intra_list_diversity"): (
        ["over=features", "over=category", "sample_users=9, runs=2"],
        "list_blocks",
        1e-9,  # components of blocks are rounded to units of 2^-40
    ),
    ("", "category_coverage"): (
        [f"divisor={one}" for one in ("k", "length", "min_k_categories", "categories")],
        "category_weights",
        1e-13,
    ),
    ("", "category_entropy"): (
        ["scale=bits", "scale=normalised", "scale=effective, rank_weight=log2",
         "rank_weight=geometric"],
        "category_weights",
        1e-13,
    ),
    ("", "calibration"): (
        [*(f"divergence={one}" for one in ("kl", "js", "hellinger", "tv")),
         "divergence=tv, rank_weight=log2", "smoothing=0.1, rank_weight=geometric"],
        "category_weights",
        1e-13,
    ),
    ("", "awrf"): (
        [*(f"divergence={one}, patience=0.7" for one in ("tv", "js", "kl")),
         "discount=log2, target=equal", "discount=none, groups=popularity"],
        "group_weights",
        1e-13,
    ),
}  # fmt: skip


def with_further_attributes(tables: dict[str, Any]) -> dict[str, Any]:
    """Give items several categories or groups, or none."""
    draw = random.Random(13)
    several = [draw.sample("abcde", draw.choice([0, 1, 1, 2, 3])) for _ in range(40)]
    groups = [draw.choice([["p"], ["q"], ["p", "q"], []]) for _ in range(40)]
    return {**tables, "items": tables["items"].assign(category=several, item_group=groups)}


@pytest.mark.parametrize("key", KEYS, ids=len)
def test_metrics_are_the_same(key: list[str]) -> None:
    drawn = world(7, key)
    # ranks have gaps, some of them beyond all cutoffs; more than 20 cutoffs have several statements
    kinds: list[tuple[dict[str, Any], tuple[int | None, ...], int]] = [
        (by_score(drawn), (1, 4, None), 9),
        (with_further_attributes(drawn), (9, 3), 9),
    ]
    if key == KEYS[0]:
        kinds.append((with_further_attributes(drawn), (None, *range(1, 22)), 1))
    for tables, cutoffs, n_variants in kinds:
        with evaluator_of(tables) as evaluator:
            planner, seen = evaluator._session.planner, set[str]()
            for (_, metric), (variants, stage, within) in BY_METRIC.items():
                if n_variants == 1 and stage in seen:  # one metric of each stage
                    continue
                seen.add(stage)
                specs = [parse_spec(f"{metric}({one})") for one in variants[:n_variants]]
                requests = under_standard(planner, dict.fromkeys(specs, cutoffs))
                logical = per_user(results_of(planner, requests), long=True)
                other = physical(planner, logical)
                assert stage not in {node.name for node in logical.nodes()}
                assert stage in {node.name for node in other.nodes()}
                expected = evaluator.engine.frame(logical)
                assert_same(expected, evaluator.engine.frame(other), within)
                assert expected.drop(columns=key).notna().any().all()


def test_every_alternative_is_tested() -> None:
    known = {(one.engine, one.name): one for one in CATALOG.alternatives}
    assert known.keys() == STAGES.keys() | set(RESULTS) | set(BY_METRIC)
    for one, settings in STAGES.items():
        for name, values in known[one].when.items():
            assert set(values) <= set(settings[name]), f"{one}: {name}"


# ---------------------------------------------------------------- exact sums


def exact(query: str, *columns: str) -> str:
    tree = parse(query, "a test")
    exact_sums.mark(tree, columns)
    summed = exact_sums.exact(tree)
    assert tree.sql("duckdb") == parse(query, "a test").sql("duckdb")
    return "unchanged" if summed is None else summed.sql("duckdb", normalize_functions="lower")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT sum(x) AS value FROM t",
         "SELECT (sum(CAST(round((x) * 1e15) AS INT128)) / 1e15) AS value FROM t"),
        ("SELECT sum(x) AS other FROM t", "unchanged"),
        ("SELECT count(x) AS value FROM t", "unchanged"),
        ("SELECT 2 * sum(a + b) / max(c) AS value, sum(d) AS n FROM t",
         "SELECT 2 * (sum(CAST(round((a + b) * 1e15) AS INT128)) / 1e15) / max(c) AS value, "
         "sum(d) AS n FROM t"),
        ("SELECT sum(CASE WHEN k > 1 THEN x END) AS value FROM t",
         "SELECT (sum(CASE WHEN k > 1 THEN CAST(round((x) * 1e15) AS INT128) END) / 1e15) AS value "
         "FROM t"),
        ("SELECT sum(CASE WHEN k > 1 THEN x ELSE y END) AS value FROM t",
         "SELECT (sum(CAST(round((CASE WHEN k > 1 THEN x ELSE y END) * 1e15) AS INT128)) / 1e15) "
         "AS value FROM t"),
        ("SELECT sum(x) OVER (PARTITION BY y) AS value FROM t",
         "SELECT (sum(CAST(round((x) * 1e15) AS INT128)) OVER (PARTITION BY y) / 1e15) AS value "
         "FROM t"),
        ("WITH s AS (SELECT sum(x) AS value FROM t) SELECT value FROM s",
         "WITH s AS (SELECT (sum(CAST(round((x) * 1e15) AS INT128)) / 1e15) AS value FROM t) "
         "SELECT value FROM s"),
    ],
)  # fmt: skip
def test_sums_of_columns_are_exact(query: str, expected: str) -> None:
    assert exact(query, "value") == expected


def test_exact_sums_stay_as_they_are() -> None:
    tree = parse("SELECT sum(x) AS value FROM t", "a test")
    exact_sums.mark(tree, ["value"])
    summed = exact_sums.exact(tree)
    assert summed is not None
    assert exact_sums.exact(summed) is None


def test_statements_have_plain_sums() -> None:
    with evaluator_of(world(4)) as evaluator:
        metrics = ["ndcg@5", "map@5", "err@5"]
        assert "HUGEINT" not in evaluator.sql(metrics).upper().replace("INT128", "HUGEINT")
        # of these, of the ideal list, and of the probabilities to look at an item
        assert evaluator.sql(metrics, physical=True).count("1e15") == 2 * 5


def test_values_are_those_of_plain_sums() -> None:
    """All metrics that have values per user, of lists with one order: ranks of `world` repeat."""
    with evaluator_of(by_score(world(5, KEYS[1]))) as evaluator:
        planner = evaluator._session.planner
        names = [metric.name for metric in METRICS if metric.grain == "user"]
        names = [name for name in names if can_be_planned(planner, name)]
        assert len(names) > 20
        requests = under_standard(planner, dict.fromkeys(map(parse_spec, names), (4,)))
        plain = per_user(results_of(planner, requests))
        frames = [evaluator.engine.frame(plan) for plan in (plain, physical(planner, plain))]
    assert_same(*frames, 1e-9)  # blocks of components are rounded to units of 2^-40


def can_be_planned(planner: Planner, metric: str) -> bool:
    try:
        per_user(results_of(planner, under_standard(planner, {parse_spec(metric): (4,)})))
    except sm.UsageError:
        return False
    return True


# ---------------------------------------------------------------- the logical plan


def test_templates_of_the_logical_plan_know_no_dialect() -> None:
    """What an engine needs differently is a pass over the parsed query or an alternative."""
    files = [*ROOT.rglob("*.j2"), *ROOT.rglob("*.sql")]
    logical = [path for path in files if ROOT / "physical" not in path.parents]
    assert {template.path for template in LOGICAL} <= set(logical)
    assert [path.name for path in logical if "dialect" in path.read_text(encoding="utf-8")] == []
