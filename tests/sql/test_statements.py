"""Printed statements run by hand."""

from __future__ import annotations

import duckdb
import pandas as pd

import sqlmetrics as sm
from tests.support.calls import replan
from tests.support.worlds import CUTOFFS, MANY, of_users


def test_printed_sql_run_by_hand_gives_the_numbers(
    world_files: dict[str, str],
    world_specs: list[str],
    world_values: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    with sm.Evaluator(**world_files) as evaluator:
        summary = evaluator.sql(world_specs, k=CUTOFFS)
        users = evaluator.sql(of_users(world_specs), k=CUTOFFS, per_user=True)
    with duckdb.connect() as shell:
        by_hand = shell.execute(summary).df()
        users_by_hand = shell.execute(users).df()
    for ours, theirs in ((world_values[1], by_hand), (world_values[0], users_by_hand)):
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False, rtol=0, atol=1e-12)


def test_whole_lists_run_by_hand(world_files: dict[str, str]) -> None:
    with sm.Evaluator(**world_files) as evaluator:
        text, ours = evaluator.sql(MANY), evaluator.evaluate(MANY)
        replan(evaluator, fuse=False)
        alone = evaluator.evaluate(MANY)
    assert ours["k"].isna().all()
    with duckdb.connect() as shell:
        by_hand = shell.execute(text).df()
    for other in (by_hand, alone):
        pd.testing.assert_frame_equal(ours, other, check_dtype=False, rtol=0, atol=1e-12)
