"""What must hold whatever the data: ranges, independence of order, fusion, one reading of SQL."""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Param
from sqlmetrics.metrics.spec import value_text
from tests.support.calls import canonical

CATALOG = Catalog.load()
CUTOFFS = [1, 5, 20]
TABLES = ["recommendations", "interactions", "history", "items", "aspects", "baseline", "logs"]
SCANNED = TABLES[:3]  # the large ones


def numbers(param: Param) -> list[str]:
    """Return values that a number can have, other than its default where there are others."""
    found = []
    for text in ("4.5", "30") if param.name == "max_grade" else ("0.5", "2", "30"):
        with contextlib.suppress(sm.UsageError):
            found.append(value_text(param.parse(text, param.name)))
    return found[:1] if param.whole else found[:2]


def variants(every_combination: bool) -> list[str]:
    """Return every metric with each value of its choices, one at a time or in all combinations."""
    specs = []
    for metric in CATALOG.metrics.values():
        choices = [
            [(param.name, choice) for choice in param.choices or numbers(param)]
            for param in metric.params.values()
        ]
        if every_combination:
            combinations = list(itertools.product(*choices))
        else:
            combinations = [(), *((pair,) for pairs in choices for pair in pairs)]
        for combination in combinations:
            if ("gain", "exponential_from") in combination:
                if every_combination and ("discount", "log2") not in combination:
                    continue  # it is one more gain, and a discount is one whatever the gain
                combination = (*combination, ("relevant_from", "1"))  # which it needs
            inside = ", ".join(f"{name}={value}" for name, value in combination)
            specs.append(f"{metric.name}({inside})" if inside else metric.name)
    return specs


VARIANTS = variants(every_combination=False)
# every metric as it is, and one of three of the others
FEW = [spec for place, spec in enumerate(VARIANTS) if "(" not in spec or place % 3 == 0]
RUN_GRAIN = {metric.name for metric in CATALOG.metrics.values() if metric.grain == "run"}


def of_users(specs: Iterable[str]) -> list[str]:
    return [spec for spec in specs if spec.partition("(")[0] not in RUN_GRAIN]


def world(seed: int, users: int = 60) -> dict[str, pd.DataFrame]:
    """Make lists with ties, of every length, graded truth, and users on one side only."""
    draw = random.Random(seed)
    lists, truth, history, baseline, logs = [], [], [], [], []
    for user in range(users):
        items = draw.sample(range(100), draw.choice([0, 1, 3, 10, 30]))
        lists += [(user, item, float(draw.randint(0, 8))) for item in items]
        relevant = draw.sample(range(100), draw.choice([0, 1, 2, 8, 25]))
        truth += [(user, item, draw.randint(0, 4)) for item in relevant]
        history += [(user, item) for item in draw.sample(range(90), 5)]
        expected = draw.sample(range(100), draw.choice([0, 5, 20]))
        baseline += [(user, item, place) for place, item in enumerate(expected, start=1)]
        decided = draw.sample(range(100), draw.choice([0, 3, 20]))
        logs += [(user, item, draw.randint(0, 1), draw.uniform(0.05, 1)) for item in decided]
    items_rows, aspects = [], []
    for item in range(100):
        vector = [0.0] * 11 if item == 7 else [draw.gauss(0, 1) for _ in range(11)]
        kinds = draw.sample(["x", "y", "z", "w"], draw.randint(1, 3))
        items_rows.append((item, draw.choice([0.0, 1.5, 9.99, 100.0]), kinds, vector))
        aspects += [(item, kind) for kind in draw.sample("abcde", draw.randint(1, 3))]
    columns = {
        "recommendations": (lists, ["user_id", "item_id", "score"]),
        "interactions": (truth, ["user_id", "item_id", "relevance"]),
        "history": (history, ["user_id", "item_id"]),
        "items": (items_rows, ["item_id", "price", "category", "features"]),
        "aspects": (aspects, ["item_id", "aspect"]),
        "baseline": (baseline, ["user_id", "item_id", "rank"]),
        "logs": (logs, ["user_id", "item_id", "reward", "propensity"]),
    }
    return {name: pd.DataFrame(rows, columns=names) for name, (rows, names) in columns.items()}


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return world(1)


@pytest.fixture(scope="module")
def files(tables: dict[str, pd.DataFrame], tmp_path_factory: Any) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tables")
    for name, frame in tables.items():
        frame.to_parquet(folder / f"{name}.parquet", row_group_size=97)
    return {name: str(folder / f"{name}.parquet") for name in tables}


@pytest.fixture(params=[FEW, pytest.param(VARIANTS, marks=pytest.mark.thorough)], ids=len)
def specs(request: pytest.FixtureRequest) -> list[str]:
    found: list[str] = request.param
    return found


OF_ALL = pytest.mark.parametrize("specs", [VARIANTS], ids=len, indirect=True)


@functools.cache
def values(*specs: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    with sm.Evaluator(**world(1), threads=1) as evaluator:
        return evaluator.per_user(of_users(specs), k=CUTOFFS), evaluator.evaluate(specs, k=CUTOFFS)


@pytest.fixture
def expected(specs: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return values(*specs)


def assert_same(
    evaluator: sm.Evaluator, specs: list[str], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    """Check per-user values bit by bit, and means to 1e-12."""
    users = evaluator.per_user(of_users(specs), k=CUTOFFS)
    means = evaluator.evaluate(specs, k=CUTOFFS)
    pd.testing.assert_frame_equal(users, expected[0], check_exact=True)
    pd.testing.assert_frame_equal(means, expected[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("specs", "threads", "seed"),
    [
        pytest.param(FEW, 8, 3, marks=pytest.mark.thorough),
        pytest.param(VARIANTS, 2, 2, marks=pytest.mark.thorough),
    ],
    indirect=["specs"],
)
def test_order_of_rows_and_threads_change_nothing(
    tables: dict[str, pd.DataFrame],
    specs: list[str],
    expected: tuple[pd.DataFrame, pd.DataFrame],
    threads: int,
    seed: int,
) -> None:
    shuffled = {name: t.sample(frac=1, random_state=seed) for name, t in tables.items()}
    with sm.Evaluator(**shuffled, threads=threads) as evaluator:
        assert_same(evaluator, specs, expected)


@pytest.mark.thorough
@OF_ALL
def test_files_give_the_same_as_frames(
    files: dict[str, str], specs: list[str], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with sm.Evaluator(**files) as evaluator:
        assert_same(evaluator, specs, expected)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_fused_equals_alone_for_every_combination_of_settings(
    tables: dict[str, pd.DataFrame], step: int
) -> None:
    """Each of some hundreds takes its time: one of five, but for the thorough run."""
    specs = variants(every_combination=True)[::step]
    with sm.Evaluator(**tables) as evaluator:
        fused = evaluator.evaluate(specs, k=[2, 10])
        evaluator._checking_planner.fuse = False
        alone = evaluator.evaluate(specs, k=[2, 10])
    pd.testing.assert_frame_equal(fused, alone, rtol=0, atol=1e-12)


@pytest.mark.thorough
@OF_ALL
def test_each_metric_asked_for_singly_gives_the_same(
    tables: dict[str, pd.DataFrame], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with sm.Evaluator(**tables) as evaluator:
        for name, together in expected[1].groupby("metric", sort=False):
            singly = evaluator.evaluate([str(name)], k=CUTOFFS)
            pd.testing.assert_frame_equal(
                singly, together.reset_index(drop=True), rtol=0, atol=1e-12
            )


STAGE_SETTINGS = [
    "relevant_from=2",
    "relevant_from=4",
    "audience=both",
    "audience=either",
    "audience=recommended",
    "audience=judged",
    "no_recommendations=drop",
    "audience=either, no_relevant=drop",
    "ties=item_desc",
    "ties=item_desc_text",
    "ties=row",
    "order=row",
    "score_type=float",
]


@pytest.mark.thorough
def test_settings_of_stages_in_one_call_equal_calls_of_their_own(
    tables: dict[str, pd.DataFrame],
) -> None:
    calls = [f"{metric}({s})" for s in STAGE_SETTINGS for metric in ("ndcg", "map")]
    with sm.Evaluator(**tables) as evaluator:
        together = evaluator.evaluate(calls, k=[3, 10])
        names = [canonical(evaluator, call) for call in calls]
    assert together["metric"].tolist() == [name for name in names for _ in range(2)]
    for place in range(0, len(calls), 2):  # the two metrics with one setting
        with sm.Evaluator(**tables) as evaluator:
            alone = evaluator.evaluate(calls[place : place + 2], k=[3, 10])
        rows = together[2 * place : 2 * place + 4].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone, rtol=0, atol=1e-12)
    thresholds = together[together["metric"].str.startswith("map(relevant_from")]
    assert thresholds["value"].nunique() == 4  # two thresholds at two cutoffs: four numbers


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bounded_metrics_stay_in_their_range(seed: int) -> None:
    unbounded = (
        # an ideal of k positions worth 1 each is no bound for grades above 1
        lambda spec: "ideal=all_k" in spec and "gain=binary" not in spec,
        # weights that rise from rank 2 to rank 3 let a list beat the one in the best order
        lambda spec: "discount=course" in spec,
        lambda spec: CATALOG.metrics[spec.partition("(")[0]].range is None,
    )
    specs = [s for s in variants(every_combination=True) if not any(u(s) for u in unbounded)]
    with sm.Evaluator(**world(seed)) as evaluator:
        users = evaluator.per_user(of_users(specs), k=[1, 7])
        means = evaluator.evaluate(specs, k=[1, 7]).set_index("metric")["value"]
        names = {spec: canonical(evaluator, spec) for spec in specs}
    for spec, name in names.items():
        bounds = CATALOG.metrics[spec.partition("(")[0]].range
        assert bounds is not None
        values = users[name].dropna() if name in users else means[name].dropna()
        assert values.between(*bounds).all(), (spec, values.min(), values.max())


def test_another_user_changes_nobody_elses_value(
    tables: dict[str, pd.DataFrame],
    specs: list[str],
    expected: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    newcomers = {  # not in the history, which is what popularity is about; nor a higher grade
        "recommendations": {"user_id": 999, "item_id": range(50), "score": 99.0},
        "interactions": {"user_id": 999, "item_id": range(0, 90, 2), "relevance": 4},
        "baseline": {"user_id": 999, "item_id": range(9), "rank": range(1, 10)},
    }
    more = dict(tables)
    for name, columns in newcomers.items():
        more[name] = pd.concat([tables[name], pd.DataFrame(columns)], ignore_index=True)
    with sm.Evaluator(**more) as evaluator:
        # who is drawn at random may change
        users = evaluator.per_user([s for s in of_users(specs) if "sample" not in s], k=CUTOFFS)
    others = users[users["user_id"] != 999].reset_index(drop=True)
    assert len(others) < len(users)
    pd.testing.assert_frame_equal(others, expected[0][list(others.columns)], check_exact=True)


def test_mean_of_users_is_the_mean(expected: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    users, means = expected
    for (metric, k), rows in means.groupby(["metric", "k"]):
        if metric in users.columns:
            values = users.loc[users["k"] == k, metric]
            mean, std = values.mean(), values.std()
            assert rows["value"].item() == pytest.approx(mean, abs=1e-12, nan_ok=True)
            assert rows["n_users"].item() == values.count()
            assert rows["std"].item() == pytest.approx(std, abs=1e-12, nan_ok=True)


def test_printed_sql_run_by_hand_gives_the_numbers(
    files: dict[str, str], specs: list[str], expected: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with sm.Evaluator(**files) as evaluator:
        summary = evaluator.sql(specs, k=CUTOFFS)
        users = evaluator.sql(of_users(specs), k=CUTOFFS, per_user=True)
    with duckdb.connect() as shell:
        by_hand = shell.execute(summary).df()
        users_by_hand = shell.execute(users).df()
    for ours, theirs in ((expected[1], by_hand), (expected[0], users_by_hand)):
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False, rtol=0, atol=1e-12)


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_several_models_equal_each_by_itself(tables: dict[str, pd.DataFrame]) -> None:
    other = world(2)["recommendations"]
    models = {"first": tables["recommendations"], "second": other}
    rest = {name: table for name, table in tables.items() if name != "recommendations"}
    specs = [*CATALOG.metrics, "precision(divisor=length, audience=recommended)"]
    specs += ["recall(audience=either)", "mrr(audience=both)"]
    specs += ["inter_list_diversity(sample_users=9)", "intra_list_diversity(sample_users=3)"]
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
def scans(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count, in the engine's own plans, how often each table is scanned."""
    counts: dict[str, int] = {}

    def counted(method: Any) -> Any:
        def run(self: DuckDBEngine, title: str, statement: str) -> Any:
            rows = self.connection.execute(f"EXPLAIN (FORMAT json) {statement}").fetchall()
            for name in SCANNED:
                found = re.findall(rf'"Table": "[^"]*\b{name}"', rows[0][1])
                counts[name] = counts.get(name, 0) + len(found)
            return method(self, title, statement)

        return run

    for name in ("_run", "_arrow"):
        monkeypatch.setattr(DuckDBEngine, name, counted(getattr(DuckDBEngine, name)))
    return counts


@pytest.fixture
def connection(tables: dict[str, pd.DataFrame]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, frame in tables.items():
            connection.register("frame", frame)
            connection.execute(f"CREATE TABLE {name} AS FROM frame")
        connection.unregister("frame")
        yield connection


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.thorough
def test_inputs_are_read_a_few_times(
    connection: duckdb.DuckDBPyConnection, scans: dict[str, int], trust: bool
) -> None:
    tables = {name: name for name in TABLES}
    with sm.Evaluator(**tables, connection=connection, trust_input=trust) as evaluator:
        evaluator.evaluate("all", k=CUTOFFS)
    # to look for repeated items, a table is read once more, and lists of a million rows another
    # time; recommendations also to see whether items have the attributes that are asked for
    more = {} if trust else {"recommendations": 3, "interactions": 2}
    assert all(1 <= scans[name] <= 2 + more.get(name, 0) for name in SCANNED), scans


def test_lists_without_ties_are_not_ranked_item_by_item(
    connection: duckdb.DuckDBPyConnection, scans: dict[str, int]
) -> None:
    with sm.Evaluator(
        "recommendations", "interactions", connection=connection, trust_input=True
    ) as evaluator:
        evaluator.evaluate(["ndcg", "map"], k=CUTOFFS)
    # their lengths; hits; scores of lists with hits; ties and long lists, if there are any
    assert scans["recommendations"] == 5
    assert scans["interactions"] == 1


@pytest.mark.thorough
def test_without_attributes_of_items_lists_are_read_twice(
    connection: duckdb.DuckDBPyConnection, scans: dict[str, int]
) -> None:
    tables = {name: name for name in ("recommendations", "interactions", "history", "logs")}
    with sm.Evaluator(**tables, connection=connection) as evaluator, warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.SqlmetricsWarning)
        evaluator.evaluate("all", k=CUTOFFS, skip_missing=True)
    more = {"recommendations": 2, "interactions": 2}  # to look for repeated items
    assert all(1 <= scans[name] <= 2 + more.get(name, 0) for name in SCANNED), scans


def test_a_second_call_does_not_rank_or_check_again(
    tables: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    watched = DuckDBEngine._watched

    def noted(self: DuckDBEngine, title: str, work: Any) -> Any:
        titles.append(title)
        return watched(self, title, work)

    monkeypatch.setattr(DuckDBEngine, "_watched", noted)
    with sm.Evaluator(**tables) as evaluator:
        evaluator.evaluate(["ndcg", "coverage"], k=5)
        first = set(titles)
        titles.clear()
        evaluator.evaluate(["map", "precision(divisor=length)", "coverage"], k=[5, 50])
        evaluator.per_user(["recall"])
        evaluator.stage("hits")
    assert {"recommendation_profile", "hits", "common_users"} <= first
    assert set(titles) == {"summary", "per_user", "look"}
