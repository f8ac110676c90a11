"""Recognise the names of columns that may contain relevance."""

from __future__ import annotations

import re

# words in the names of columns that may contain relevance, the most likely first
_LIKE_RELEVANCE = (
    "relevance", "rating", "ratings", "stars", "star", "grade", "grades", "score", "scores",
    "label", "labels", "weight", "weights", "rate",
)  # fmt: skip
# words that count only as the whole name (`value`, but not `order_value`)
_LIKE_RELEVANCE_ALONE = ("value", "values")
# words in the names of columns about a relevance, such as its id, time or number
_ABOUT_RELEVANCE = {
    "id", "ids", "idx", "index", "key", "hash", "time", "timestamp", "ts", "date", "day", "month",
    "year", "at", "count", "counts", "n", "num",
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def likeness_to_relevance(name: str) -> int | None:
    """Rank a column name by the chance that the column has relevance: 0 is best, None no match."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if words and words[0] in _LIKE_RELEVANCE_ALONE and len(words) == 1:
        return len(_LIKE_RELEVANCE)
    if _ABOUT_RELEVANCE & set(words):
        return None
    places = [_LIKE_RELEVANCE.index(word) for word in words if word in _LIKE_RELEVANCE]
    return min(places, default=None)
