"""Fused metrics give the values of each metric alone."""

from __future__ import annotations

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.calls import canonical, replan
from tests.support.worlds import CUTOFFS, FEW, SOME, VARIANTS, variants


@pytest.mark.parametrize(
    "step",
    [
        25,
        pytest.param(9, marks=pytest.mark.thorough),
        pytest.param(1, marks=pytest.mark.exhaustive),
    ],
)
def test_fused_equals_alone_for_every_combination_of_settings(
    world_tables: dict[str, pd.DataFrame], step: int
) -> None:
    """Each of some hundreds takes its time: most runs take some of them."""
    every = variants(every_combination=True)[::step]
    # DuckDB plans no statement with all of them
    for specs in (every[first : first + 150] for first in range(0, len(every), 150)):
        with sm.Evaluator(**world_tables) as evaluator:
            fused = evaluator.evaluate(specs, k=[2, 10])
            replan(evaluator, fuse=False)
            alone = evaluator.evaluate(specs, k=[2, 10])
        pd.testing.assert_frame_equal(fused, alone, rtol=0, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.every_case
@pytest.mark.parametrize(
    "world_specs",
    [FEW, *(pytest.param(specs, marks=pytest.mark.exhaustive) for specs in (SOME, VARIANTS))],
    ids=len,
    indirect=True,
)
def test_each_metric_asked_for_singly_gives_the_same(
    world_tables: dict[str, pd.DataFrame], world_values: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with sm.Evaluator(**world_tables) as evaluator:
        for name, together in world_values[1].groupby("metric", sort=False):
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


@pytest.mark.thorough
def test_settings_of_stages_in_one_call_equal_calls_of_their_own(
    world_tables: dict[str, pd.DataFrame],
) -> None:
    calls = [f"{metric}({s})" for s in STAGE_SETTINGS for metric in ("ndcg", "map")]
    with sm.Evaluator(**world_tables) as evaluator:
        together = evaluator.evaluate(calls, k=[3, 10])
        names = [canonical(evaluator, call) for call in calls]
    assert together["metric"].tolist() == [name for name in names for _ in range(2)]
    for place in range(0, len(calls), 2):  # the two metrics with one setting
        with sm.Evaluator(**world_tables) as evaluator:
            alone = evaluator.evaluate(calls[place : place + 2], k=[3, 10])
        rows = together[2 * place : 2 * place + 4].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone, rtol=0, atol=1e-12)
    thresholds = together[together["metric"].str.startswith("map(relevant_from")]
    assert thresholds["value"].nunique() == 4  # two thresholds at two cutoffs: four numbers
