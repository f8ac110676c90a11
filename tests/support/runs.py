"""Lists of two models with three runs each, with known reciprocal ranks."""

from __future__ import annotations

from typing import Any

import pandas as pd

import sqlmetrics as sm
from tests.support.further_tables import Evaluator

HIT, MISS = 10, [11, 12, 13]  # the relevant item of every user, and others
# the lists by their reciprocal rank
LISTS = {
    1: [HIT, 11], 1 / 2: [11, HIT], 1 / 4: [*MISS, HIT], 0: [11], None: [],
}  # fmt: skip
# Reciprocal ranks of two models, three runs each, and four users; None is a user without a list.
#
#        u1   u2   u3   u4    mean of the run
# a 1    1    1/2  1/4  0     21/48
#   2    1/2  1/2  0    0     12/48
#   3    1    0    1/4  1     27/48    std of the runs: 1, -8 and 7 from the mean: √(114/2) / 48
#  mean  5/6  2/6  1/6  2/6   20/48    std of the users: √((2.5² + 0.5² + 1.5² + 0.5²) / 3) / 6
#
# b 1    1/2  1/2  1/2  1/2   12/24
#   2    1/2  1/2  1/4  1/4    9/24
#   3    1    1    None None  12/24    std of the runs: √((1² + 2² + 1²) / 2) / 24
#  mean  2/3  2/3  1/4  1/4   11/24
#
# If users without a list are dropped, run 3 of b counts u1 and u2: its value is 1, and the means
# of u3 and u4 are those of two runs, 3/8. Runs of b: 4/8, 3/8 and 8/8, whose std is √(14/2) / 8.
VALUES: dict[str, dict[int, list[float | None]]] = {
    "a": {1: [1, 1 / 2, 1 / 4, 0], 2: [1 / 2, 1 / 2, 0, 0], 3: [1, 0, 1 / 4, 1]},
    "b": {1: [1 / 2] * 4, 2: [1 / 2, 1 / 2, 1 / 4, 1 / 4], 3: [1, 1, None, None]},
}
OF_USERS = {"a": [5 / 6, 2 / 6, 1 / 6, 2 / 6], "b": [2 / 3, 2 / 3, 1 / 4, 1 / 4]}
TRUTH = pd.DataFrame({"user_id": [1, 2, 3, 4], "item_id": HIT})
HISTORY = pd.DataFrame({"user_id": 9, "item_id": [HIT, *MISS]})


def frame_of(values: dict[int, list[float | None]]) -> dict[int, pd.DataFrame]:
    """Return the lists of a model by run."""
    return {
        run: pd.DataFrame(
            [
                (user, item, rank)
                for user, value in enumerate(of_run, start=1)
                for rank, item in enumerate(LISTS[value], start=1)
            ],
            columns=["user_id", "item_id", "rank"],
        )
        for run, of_run in values.items()
    }


FRAMES = {model: frame_of(runs) for model, runs in VALUES.items()}
IN_A_COLUMN = pd.concat(
    [
        lists.assign(model=model, run=run)
        for model, runs in FRAMES.items()
        for run, lists in runs.items()
    ],
    ignore_index=True,
)


def evaluator(recommendations: Any = IN_A_COLUMN, **options: Any) -> sm.Evaluator:
    return Evaluator(recommendations, TRUTH, history=HISTORY, **options)
