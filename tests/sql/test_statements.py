"""Printed statements run by hand."""

from __future__ import annotations

import duckdb
import pandas as pd

import sqlmetrics as sm
from tests.support.calls import replan
from tests.support.worlds import CUTOFFS, FEW, of_users


def test_printed_sql_run_by_hand_gives_the_numbers(world_files: dict[str, str]) -> None:
    with sm.Evaluator(**world_files, check=False) as evaluator:
        means, summary = evaluator.evaluate(FEW, k=CUTOFFS), evaluator.sql(FEW, k=CUTOFFS)
        specs = of_users(FEW)
        users = evaluator.per_user(specs, k=CUTOFFS)
        of_all_users = evaluator.sql(specs, k=CUTOFFS, per_user=True)
    with duckdb.connect() as shell:
        by_hand = shell.execute(summary).df()
        users_by_hand = shell.execute(of_all_users).df()
    for ours, theirs in ((means, by_hand), (users, users_by_hand)):
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False, rtol=0, atol=1e-12)


def test_whole_lists_run_by_hand(world_files: dict[str, str]) -> None:
    with sm.Evaluator(**world_files, check=False) as evaluator:
        text, ours = evaluator.sql(FEW), evaluator.evaluate(FEW)
        replan(evaluator, fuse=False)
        alone = evaluator.evaluate(FEW)
    assert ours["k"].isna().all()
    with duckdb.connect() as shell:
        by_hand = shell.execute(text).df()
    for other in (by_hand, alone):
        pd.testing.assert_frame_equal(ours, other, check_dtype=False, rtol=0, atol=1e-12)
