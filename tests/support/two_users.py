"""Lists of two users with one hit each."""

from __future__ import annotations

import pandas as pd

SHORT_LISTS = pd.DataFrame(
    {"user_id": [1, 1, 2, 2], "item_id": [10, 12, 11, 13], "rank": [1, 2, 1, 2]}
)
SHORT_TRUTH = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [10, 14, 11, 14]})
