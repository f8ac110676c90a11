"""Ratings of one list, with and without a relevance column."""

import pandas as pd

LISTS = pd.DataFrame({"user_id": [1, 1], "item_id": [11, 12], "rank": [1, 2]})
STARS = pd.DataFrame({"user_id": [1, 1], "item_id": [11, 12], "rating": [1, 5]})
MAPPED = {"interactions.relevance": "rating"}
