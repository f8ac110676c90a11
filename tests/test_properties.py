"""What must hold whatever the data: ranges, independence of order, fusion, one reading of SQL."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.catalog import Catalog
from sqlmetrics.engines.duckdb import DuckDBEngine

CATALOG = Catalog.load()
CUTOFFS = [1, 2, 5, 20]


def variants() -> list[str]:
    """Return every metric with every value of every choice of its own."""
    specs = []
    for metric in CATALOG.metrics.values():
        choices = [
            [(param.name, choice) for choice in (param.choices or ("0.5", "2"))]
            for param in metric.params.values()
        ]
        for combination in itertools.product(*choices):
            inside = ", ".join(f"{name}={value}" for name, value in combination)
            specs.append(f"{metric.name}({inside})" if inside else metric.name)
    return specs


VARIANTS = variants()
PER_USER = [spec for spec in VARIANTS if not spec.startswith("coverage")]


def world(seed: int, users: int = 60) -> dict[str, pd.DataFrame]:
    """Make lists with ties, of every length, graded truth, and users on one side only."""
    draw = random.Random(seed)
    lists, truth, history = [], [], []
    for user in range(users):
        items = draw.sample(range(100), draw.choice([0, 1, 3, 10, 30]))
        lists += [(user, item, float(draw.randint(0, 8))) for item in items]
        relevant = draw.sample(range(100), draw.choice([0, 1, 2, 8, 25]))
        truth += [(user, item, draw.randint(0, 4)) for item in relevant]
        history += [(user, item) for item in draw.sample(range(90), 5)]
    return {
        "recommendations": pd.DataFrame(lists, columns=["user_id", "item_id", "score"]),
        "interactions": pd.DataFrame(truth, columns=["user_id", "item_id", "relevance"]),
        "history": pd.DataFrame(history, columns=["user_id", "item_id"]),
    }


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return world(1)


@pytest.fixture(scope="module")
def files(tables: dict[str, pd.DataFrame], tmp_path_factory: Any) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tables")
    for name, frame in tables.items():
        frame.to_parquet(folder / f"{name}.parquet", row_group_size=97)
    return {name: str(folder / f"{name}.parquet") for name in tables}


@pytest.fixture(scope="module")
def expected(tables: dict[str, pd.DataFrame]) -> tuple[pd.DataFrame, pd.DataFrame]:
    with sm.Evaluator(**tables, threads=1) as evaluator:
        return evaluator.per_user(PER_USER, k=CUTOFFS), evaluator.evaluate(VARIANTS, k=CUTOFFS)


def assert_same(
    evaluator: sm.Evaluator, expected: tuple[pd.DataFrame, pd.DataFrame], exact: bool = True
) -> None:
    """Check per-user values bit by bit (unless not `exact`), and means to 1e-12."""
    users = evaluator.per_user(PER_USER, k=CUTOFFS)
    means = evaluator.evaluate(VARIANTS, k=CUTOFFS)
    tolerance = {"check_exact": True} if exact else {"rtol": 0, "atol": 1e-12}
    pd.testing.assert_frame_equal(users, expected[0], **tolerance)
    pd.testing.assert_frame_equal(means, expected[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_order_of_rows_and_threads_change_nothing(
    tables: dict[str, pd.DataFrame],
    expected: tuple[pd.DataFrame, pd.DataFrame],
    threads: int,
    seed: int,
) -> None:
    shuffled = {name: t.sample(frac=1, random_state=seed) for name, t in tables.items()}
    with sm.Evaluator(**shuffled, threads=threads) as evaluator:
        assert_same(evaluator, expected)


def test_files_give_the_same_as_frames(
    files: dict[str, str], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with sm.Evaluator(**files) as evaluator:
        assert_same(evaluator, expected)


def test_fused_equals_alone(
    tables: dict[str, pd.DataFrame], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with sm.Evaluator(**tables) as evaluator:
        evaluator._checking_planner.fuse = False
        assert_same(evaluator, expected, exact=False)


def test_each_metric_asked_for_singly_gives_the_same(
    tables: dict[str, pd.DataFrame], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with sm.Evaluator(**tables) as evaluator:
        for name, together in expected[1].groupby("metric", sort=False):
            singly = evaluator.evaluate([str(name)], k=CUTOFFS)
            pd.testing.assert_frame_equal(
                singly, together.reset_index(drop=True), rtol=0, atol=1e-12
            )


def test_settings_of_stages_in_one_call_equal_calls_of_their_own(
    tables: dict[str, pd.DataFrame],
) -> None:
    specs = [
        f"{metric}({name}={value})"
        for metric in ("ndcg(gain=linear)"[:4], "map", "precision")
        for name, value in [
            ("relevant_from", "2"),
            ("relevant_from", "4"),
            ("audience", "both"),
            ("audience", "either"),
            ("audience", "recommended"),
            ("audience", "judged"),
            ("no_recommendations", "drop"),
            ("ties", "item_desc"),
            ("ties", "item_desc_text"),
            ("score_type", "float"),
        ]
    ]
    with sm.Evaluator(**tables) as evaluator:
        together = evaluator.evaluate(specs, k=[3, 10])
    assert together["metric"].drop_duplicates().tolist() == [s for s in specs if "float" not in s] + [
        s for s in specs if "float" in s
    ] or len(together) == 2 * len(specs)
    for spec in specs:
        with sm.Evaluator(**tables) as evaluator:
            alone = evaluator.evaluate([spec], k=[3, 10])
        rows = together[together["metric"] == alone["metric"][0]].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone, rtol=0, atol=1e-12)
    thresholds = together[together["metric"].str.startswith("map(relevant_from")]
    assert thresholds["value"].nunique() == 4  # two thresholds at two cutoffs: four numbers


@pytest.mark.parametrize("seed", range(5))
def test_bounded_metrics_stay_in_their_range(seed: int) -> None:
    # graded gains can pass an ideal of k positions worth 1 each; that ideal is not a bound
    specs = [s for s in PER_USER if not ("ideal=all_k" in s and "gain=binary" not in s)]
    # a discount that rises between ranks 2 and 3 lets a list beat the "best" one
    specs = [s for s in specs if "discount=course" not in s]
    with sm.Evaluator(**world(seed)) as evaluator:
        users = evaluator.per_user(specs, k=CUTOFFS)
    for spec in specs:
        bounds = CATALOG.metrics[spec.partition("(")[0]].range
        if bounds is None:
            continue
        name = next(c for c in users.columns if c == str(canonical(evaluator, spec)))
        values = users[name]
        assert not values.isna().any(), spec
        assert values.between(*bounds).all(), (spec, values.min(), values.max())


def canonical(evaluator: sm.Evaluator, spec: str) -> str:
    call, _ = evaluator._planner.resolve(evaluator.parse(spec)[0][0])
    assert call is not None
    return call.name


def test_another_user_changes_nobody_elses_value(
    tables: dict[str, pd.DataFrame], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    more = {
        name: pd.concat([table, newcomer], ignore_index=True)
        for (name, table), newcomer in zip(
            tables.items(),
            (
                pd.DataFrame({"user_id": 999, "item_id": range(50), "score": 99.0}),
                pd.DataFrame({"user_id": 999, "item_id": range(0, 90, 2), "relevance": 9}),
                pd.DataFrame({"user_id": [999], "item_id": [7]}),
            ),
            strict=True,
        )
    }
    with sm.Evaluator(**more) as evaluator:
        users = evaluator.per_user(PER_USER, k=CUTOFFS)
    others = users[users["user_id"] != 999].reset_index(drop=True)
    assert len(others) < len(users)
    pd.testing.assert_frame_equal(others, expected[0], check_exact=True)


def test_mean_of_users_is_the_mean(expected: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    users, means = expected
    for (metric, k), rows in means.groupby(["metric", "k"]):
        if metric in users.columns:
            values = users.loc[users["k"] == k, metric]
            assert rows["value"].item() == pytest.approx(values.mean(), abs=1e-12)
            assert rows["n_users"].item() == values.count()
            assert rows["std"].item() == pytest.approx(values.std(), abs=1e-12)


def test_printed_sql_run_by_hand_gives_the_numbers(
    files: dict[str, str], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with sm.Evaluator(**files) as evaluator:
        summary = evaluator.sql(VARIANTS, k=CUTOFFS)
        users = evaluator.sql(PER_USER, k=CUTOFFS, per_user=True)
    with duckdb.connect() as shell:
        by_hand = shell.execute(summary).df()
        users_by_hand = shell.execute(users).df()
    for ours, theirs in ((expected[1], by_hand), (expected[0], users_by_hand)):
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False, rtol=0, atol=1e-12)


def test_whole_lists_run_by_hand(files: dict[str, str]) -> None:
    with sm.Evaluator(**files) as evaluator:
        text, ours = evaluator.sql(VARIANTS), evaluator.evaluate(VARIANTS)
        evaluator._checking_planner.fuse = False
        alone = evaluator.evaluate(VARIANTS)
    assert ours["k"].isna().all()
    with duckdb.connect() as shell:
        by_hand = shell.execute(text).df()
    for other in (by_hand, alone):
        pd.testing.assert_frame_equal(ours, other, check_dtype=False, rtol=0, atol=1e-12)


def test_several_models_equal_each_by_itself(tables: dict[str, pd.DataFrame]) -> None:
    other = world(2)["recommendations"]
    models = {"first": tables["recommendations"], "second": other}
    rest = {name: tables[name] for name in ("interactions", "history")}
    specs = ["ndcg", "map", "precision(divisor=length, audience=recommended)", "coverage"]
    specs += ["recall(audience=either)", "mrr(audience=both)"]
    with sm.Evaluator(models, **rest) as evaluator:
        together = evaluator.evaluate(specs, k=CUTOFFS)
        users = evaluator.per_user(["ndcg", "map"], k=CUTOFFS)
    assert together.columns[0] == users.columns[0] == "model"
    for model, lists in models.items():
        with sm.Evaluator(lists, **rest) as evaluator:
            alone = evaluator.evaluate(specs, k=CUTOFFS)
            alone_users = evaluator.per_user(["ndcg", "map"], k=CUTOFFS)
        for rows, single in ((together, alone), (users, alone_users)):
            part = rows[rows["model"] == model].drop(columns="model").reset_index(drop=True)
            pd.testing.assert_frame_equal(part, single, rtol=0, atol=1e-12)


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Count, in the engine's own plans, how often each file is scanned."""
    counts: dict[str, int] = {}

    def counted(method: Any) -> Any:
        def run(self: DuckDBEngine, title: str, statement: str) -> Any:
            query = statement.partition(" AS ")[2] if statement.startswith("CREATE") else statement
            text = self.connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()[0][1]
            for name in ("recommendations", "interactions", "history"):
                counts[name] = counts.get(name, 0) + text.count(f"{name}.parquet")
            return method(self, title, statement)

        return run

    for name in ("_run", "_arrow"):
        monkeypatch.setattr(DuckDBEngine, name, counted(getattr(DuckDBEngine, name)))
    yield counts


@pytest.mark.parametrize("trust", [False, True])
def test_no_input_is_read_more_than_twice(
    files: dict[str, str], scans: dict[str, int], trust: bool
) -> None:
    with sm.Evaluator(**files, trust_input=trust) as evaluator:
        evaluator.evaluate([*CATALOG.metrics], k=CUTOFFS)
    assert set(scans) == {"recommendations", "interactions", "history"}
    assert all(1 <= count <= 2 for count in scans.values()), scans


def test_a_second_call_does_not_rank_or_check_again(
    files: dict[str, str], scans: dict[str, int]
) -> None:
    with sm.Evaluator(**files) as evaluator:
        evaluator.evaluate(["ndcg", "coverage"], k=5)
        before = dict(scans)
        evaluator.evaluate(["map", "precision(divisor=length)", "coverage"], k=[5, 50])
        evaluator.per_user(["recall"])
        evaluator.stage("hits")
    assert scans == before
