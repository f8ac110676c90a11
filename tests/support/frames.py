"""Comparisons of data frames."""

from __future__ import annotations

import pandas as pd


def same(
    found: pd.DataFrame,
    expected: pd.DataFrame,
    *keys: str,
    where: str = "the frame",
    rtol: float = 1e-12,
) -> None:
    """Compare the columns of the second frame, with rows in the order of keys."""
    frames = [
        frame[expected.columns].sort_values(list(keys), ignore_index=True).convert_dtypes()
        for frame in (found, expected)
    ]
    pd.testing.assert_frame_equal(*frames, check_dtype=False, rtol=rtol, atol=1e-12, obj=where)
