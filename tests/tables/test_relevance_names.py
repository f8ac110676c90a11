"""Columns whose names look like a relevance, and that are not read."""

from pathlib import Path
from typing import Any

import pandas as pd

from sqlmetrics.tables.schema import Source, Table
from tests.support.calls import findings_of
from tests.support.evaluators import Evaluator
from tests.support.stars import LISTS, MAPPED, STARS


def unread(types: dict[str, str], read: str = "") -> list[str]:
    columns = {"user_id": "BIGINT", "item_id": "BIGINT", **({read: "BIGINT"} if read else {})}
    source = Source("t", "t", (), "t", types=types)
    return Table("interactions", (source,), columns).unread_relevance


LIKE_RELEVANCE = [
    "rating", "Rating", "RATINGS", "user_rating", "rating_x", "userRating", "rating2", "stars",
    "review_score", "Relevance_1", "grade", "label", "item-weight", "rate", "value", "Value",
]  # fmt: skip
OTHERS = [
    "price", "order_value", "rating_id", "rating_time", "ratingTimestamp", "rating_count",
    "n_ratings", "generated", "operating", "underscore", "timestamp", "quantity", "",
]  # fmt: skip


def test_names_that_look_like_a_relevance() -> None:
    for name in LIKE_RELEVANCE:
        for type_name in ("BIGINT", "DOUBLE", "DECIMAL(3,1)", "TINYINT"):
            assert unread({name: type_name}) == [name]
        assert unread({name: "VARCHAR"}) == []
        assert unread({name: "BIGINT"}, read="relevance") == []
    assert [name for name in OTHERS if unread({name: "DOUBLE"}) != []] == []


def test_the_likeliest_comes_first() -> None:
    names = ["value", "weight", "stars", "rating", "item_relevance", "label"]
    found = unread(dict.fromkeys(names, "DOUBLE"))
    assert found == ["item_relevance", "rating", "stars", "label", "weight", "value"]


def findings(truth: Any, **options: Any) -> dict[str, Any]:
    with Evaluator(LISTS, truth, **options) as evaluator:
        found = findings_of(evaluator, "ndcg@2")
    # grades that a binary gain does not use are a note of their own
    return {one.check: one for one in found if one.check != "interactions_graded"}


def test_what_the_finding_proposes_ends_it() -> None:
    (found,) = findings(STARS).values()
    assert (found.check, found.level) == ("interactions_unread_relevance", "warning")
    assert "columns={'interactions.relevance': 'rating'}" in str(found.remedy)
    assert "settings={'relevant_from': …}" in str(found.remedy)
    (found,) = findings(STARS, columns=MAPPED).values()
    assert (found.check, found.level) == ("interactions_all_relevant", "warning")
    assert "settings={'relevant_from': …}" in str(found.remedy)
    assert findings(STARS, columns=MAPPED, settings={"relevant_from": 4}) == {}
    assert findings(STARS, columns=MAPPED, settings={"relevant_from": "-inf"}) == {}


def test_only_rows_that_are_kept_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "stars.parquet"
    STARS.to_parquet(path)
    assert findings(path, where={"interactions": "item_id > 11"}) == {}  # of one rating
    assert list(findings(path, where={"interactions": "item_id > 0"})) == [
        "interactions_unread_relevance"
    ]


def test_a_condition_reads_the_ratings(tmp_path: Path) -> None:
    path = tmp_path / "stars.parquet"
    STARS.to_parquet(path)
    for condition in ("rating >= 1", "Rating between 1 and 5", "coalesce(rating, 0) > 0"):
        assert findings(path, where={"interactions": condition}) == {}


def test_values_that_are_no_numbers_are_not_looked_at() -> None:
    truth = pd.concat([STARS, STARS.assign(item_id=[13, 14])]).assign(
        rating=[float("nan"), 2, 4, float("inf")]
    )
    (found,) = findings(truth).values()
    assert "the column rating (2 to 4)" in str(found.found)
