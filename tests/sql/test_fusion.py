"""Fused metrics give the values of each metric alone."""

from __future__ import annotations

import random

import pandas as pd

import sqlmetrics as sm
from tests.support.calls import canonical, replan
from tests.support.worlds import CUTOFFS, FEW, variants


def test_fused_equals_alone_for_combinations_of_settings(
    world_tables: dict[str, pd.DataFrame],
) -> None:
    """Other combinations in every run, from the seed of the run; each takes its time."""
    specs = random.sample(variants(every_combination=True), 120)
    with sm.Evaluator(**world_tables, check=False) as evaluator:
        fused = evaluator.evaluate(specs, k=[2, 10])
        replan(evaluator, fuse=False)
        alone = evaluator.evaluate(specs, k=[2, 10])
    pd.testing.assert_frame_equal(fused, alone, rtol=0, atol=1e-12)


def test_each_metric_asked_for_singly_gives_the_same(
    world_tables: dict[str, pd.DataFrame],
) -> None:
    with sm.Evaluator(**world_tables, check=False) as evaluator:
        metrics = evaluator.evaluate(FEW, k=CUTOFFS)
        for name, together in metrics.groupby("metric", sort=False):
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
        pd.testing.assert_frame_equal(rows, alone, rtol=0, atol=1e-12)
    thresholds = together[together["metric"].str.startswith("map(relevant_from")]
    assert thresholds["value"].nunique() == 4  # two thresholds at two cutoffs: four numbers
