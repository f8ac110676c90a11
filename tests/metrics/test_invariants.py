"""Properties of results for any data: ranges, independence of the order of rows."""

from __future__ import annotations

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.calls import canonical
from tests.support.worlds import (
    CATALOG,
    CUTOFFS,
    FEW,
    OF_EVERY_METRIC,
    SOME,
    VARIANTS,
    of_users,
    variants,
    world,
)


def assert_same(
    evaluator: sm.Evaluator, world_specs: list[str], world_values: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    """Check per-user values bit by bit, and means to 1e-12."""
    users = evaluator.per_user(of_users(world_specs), k=CUTOFFS)
    means = evaluator.evaluate(world_specs, k=CUTOFFS)
    pd.testing.assert_frame_equal(users, world_values[0], check_exact=True)
    pd.testing.assert_frame_equal(means, world_values[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("world_specs", "threads", "seed"),
    [
        pytest.param(SOME, 8, 3, marks=pytest.mark.thorough),
        pytest.param(FEW, 8, 3, marks=pytest.mark.exhaustive),
        pytest.param(VARIANTS, 2, 2, marks=pytest.mark.exhaustive),
    ],
    indirect=["world_specs"],
)
def test_order_of_rows_and_threads_change_nothing(
    world_tables: dict[str, pd.DataFrame],
    world_specs: list[str],
    world_values: tuple[pd.DataFrame, pd.DataFrame],
    threads: int,
    seed: int,
) -> None:
    shuffled = {name: t.sample(frac=1, random_state=seed) for name, t in world_tables.items()}
    with sm.Evaluator(**shuffled, threads=threads) as evaluator:
        assert_same(evaluator, world_specs, world_values)


@pytest.mark.thorough
@OF_EVERY_METRIC
def test_files_give_the_same_as_frames(
    world_files: dict[str, str],
    world_specs: list[str],
    world_values: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    with sm.Evaluator(**world_files) as evaluator:
        assert_same(evaluator, world_specs, world_values)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("seed", "one_of"),
    [(0, 4), *(pytest.param(seed, 1, marks=pytest.mark.exhaustive) for seed in (0, 1, 2))],
)
def test_bounded_metrics_stay_in_their_range(seed: int, one_of: int) -> None:
    unbounded = (
        # an ideal of k positions worth 1 each is no bound for grades above 1
        lambda spec: "ideal=all_k" in spec and "gain=binary" not in spec,
        # weights that rise from rank 2 to rank 3 let a list beat the one in the best order
        lambda spec: "discount=course" in spec,
        lambda spec: CATALOG.metrics[spec.partition("(")[0]].range is None,
    )
    specs = variants(every_combination=True)[::one_of]
    specs = [spec for spec in specs if not any(holds(spec) for holds in unbounded)]
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
    world_tables: dict[str, pd.DataFrame],
    world_specs: list[str],
    world_values: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    newcomers = {  # not in the history, which is what popularity is about; nor a higher grade
        "recommendations": {"user_id": 999, "item_id": range(50), "score": 99.0},
        "interactions": {"user_id": 999, "item_id": range(0, 90, 2), "relevance": 4},
        "baseline": {"user_id": 999, "item_id": range(9), "rank": range(1, 10)},
    }
    more = dict(world_tables)
    for name, columns in newcomers.items():
        more[name] = pd.concat([world_tables[name], pd.DataFrame(columns)], ignore_index=True)
    with sm.Evaluator(**more) as evaluator:
        # who is drawn at random may change
        users = evaluator.per_user(
            [s for s in of_users(world_specs) if "sample" not in s], k=CUTOFFS
        )
    others = users[users["user_id"] != 999].reset_index(drop=True)
    assert len(others) < len(users)
    pd.testing.assert_frame_equal(others, world_values[0][list(others.columns)], check_exact=True)


def test_mean_of_users_is_the_mean(world_values: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    users, means = world_values
    for (metric, k), rows in means.groupby(["metric", "k"]):
        if metric in users.columns:
            values = users.loc[users["k"] == k, metric]
            mean, std = values.mean(), values.std()
            assert rows["value"].item() == pytest.approx(mean, abs=1e-12, nan_ok=True)
            assert rows["n_users"].item() == values.count()
            assert rows["std"].item() == pytest.approx(std, abs=1e-12, nan_ok=True)


@pytest.mark.exhaustive
def test_several_models_equal_each_by_itself(world_tables: dict[str, pd.DataFrame]) -> None:
    other = world(2)["recommendations"]
    models = {"first": world_tables["recommendations"], "second": other}
    rest = {name: table for name, table in world_tables.items() if name != "recommendations"}
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
