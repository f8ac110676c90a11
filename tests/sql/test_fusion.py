"""Fused metrics give the values of each metric alone."""

from __future__ import annotations

import duckdb
import pandas as pd
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import sqlmetrics as sm
from tests.support.calls import canonical, replan
from tests.support.worlds import CUTOFFS, FEW, SOME, variants, world


def assert_fused_equals_alone(tables: dict[str, pd.DataFrame], specs: list[str]) -> None:
    with sm.Evaluator(**tables, threads=1, check=False) as evaluator:  # random tables
        fused = evaluator.evaluate(specs, k=[2, 10])
        replan(evaluator, fuse=False)
        alone = evaluator.evaluate(specs, k=[2, 10])
    pd.testing.assert_frame_equal(fused, alone, rtol=1e-12, atol=1e-12)


def test_fused_equals_alone_for_every_metric(world_tables: dict[str, pd.DataFrame]) -> None:
    assert_fused_equals_alone(world_tables, FEW)


COMBINATIONS = variants(every_combination=True)


@settings(max_examples=3, deadline=None, print_blob=True, phases=[Phase.reuse, Phase.generate])
@given(st.sets(st.sampled_from(COMBINATIONS), min_size=1, max_size=15))
def test_fused_equals_alone_for_combinations_of_settings(specs: set[str]) -> None:
    """There are over a thousand; each run draws others, and also runs the printed statement."""
    tables, named = world(1), sorted(specs)
    assert_fused_equals_alone(tables, named)
    with duckdb.connect(config={"threads": 1}) as shell:
        for name, frame in tables.items():
            shell.register(f"frame_{name}", frame)
            shell.execute(f"CREATE TABLE own_{name} AS FROM frame_{name}")
        names = {name: f"own_{name}" for name in tables}
        with sm.Evaluator(**names, connection=shell, check=False) as evaluator:  # random tables
            ours = evaluator.evaluate(named, k=[2, 10])
            by_hand = shell.execute(evaluator.sql(named, k=[2, 10])).df()
    # components of vectors are multiples of 2**-40 in a run, and plain numbers in what is printed
    pd.testing.assert_frame_equal(ours, by_hand, check_dtype=False, rtol=0, atol=1e-11)


def test_a_metric_asked_for_singly_gives_the_same(world_tables: dict[str, pd.DataFrame]) -> None:
    with sm.Evaluator(**world_tables, threads=1, check=False) as evaluator:  # random tables
        together = evaluator.evaluate(SOME, k=CUTOFFS)
        for name, rows in together.groupby("metric", sort=False):
            singly = evaluator.evaluate([str(name)], k=CUTOFFS)
            pd.testing.assert_frame_equal(
                singly, rows.reset_index(drop=True), rtol=1e-12, atol=1e-12
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
    "audience=judged, no_relevant=one",
    "ties=item_desc",
    "ties=item_desc_text",
    "ties=row",
    "order=row",
    "score_type=float",
]


def test_settings_of_stages_in_one_call_equal_calls_of_their_own(
    world_tables: dict[str, pd.DataFrame],
) -> None:
    calls = [f"{metric}({s})" for s in STAGE_SETTINGS for metric in ("ndcg", "map")]
    with sm.Evaluator(**world_tables, check=False) as evaluator:
        together = evaluator.evaluate(calls, k=[3, 10])
        names = [canonical(evaluator, call) for call in calls]
    assert together["metric"].tolist() == [name for name in names for _ in range(2)]
    for place in range(0, len(calls), 2):  # the two metrics with one setting
        with sm.Evaluator(**world_tables, check=False) as evaluator:
            alone = evaluator.evaluate(calls[place : place + 2], k=[3, 10])
        rows = together[2 * place : 2 * place + 4].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone, rtol=1e-12, atol=1e-12)
    thresholds = together[together["metric"].str.startswith("map(relevant_from")]
    assert thresholds["value"].nunique() == 4  # two thresholds at two cutoffs: four numbers
