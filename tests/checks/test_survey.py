"""`check`: every finding on tables that have it, none on good tables, and all of them at once."""

import re
import warnings
from collections.abc import Iterable
from math import log2
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.checks.survey import COLUMNS
from sqlmetrics.metrics.catalog import Catalog
from tests.support.calls import findings_of
from tests.support.survey import BROKEN, EVERYBODY, GOOD, HISTORY, LISTS, TRUTH, found, lists, pairs

CATALOG = Catalog.load()
SURVEYED = [check for check in CATALOG.checks.values() if check.needs]


def days(*numbers: int) -> list[pd.Timestamp]:
    return [pd.Timestamp(2026, 1, number) for number in numbers]


TIME_CHECKS = ["history_newer", "truth_before_end_of_history", "items_from_the_future"]
TWENTY = range(1, 21)
# user 1 has items 101 and 201 on the list, and so on; the first ones are the truth
TWO_EACH = lists(*((user, first + user, -first) for user in TWENTY for first in (100, 200)))
MANY_LISTS = lists(*((user, 1_000 + user, 0.5) for user in range(1, 41)))
TOPS = pairs(*((user, 100 + user) for user in TWENTY))
ITEMS = pd.DataFrame({"item_id": [11, 12, 13, 14]})
ALONE = {"history": None, "users": None}
WITHOUT_ZERO = {
    "recommendations": lists((1, 0, 0.9), (1, 3, 0.8), (2, 0, 0.7)),
    "interactions": pairs((1, 4), (2, 3)),
    "history": pairs((1, 1), (2, 5)),
    "users": None,
}
# three lists for every second of 40 users, two for the others
_MANY = pd.DataFrame(
    [(user, session) for user in range(40) for session in range(2 + user % 2)],
    columns=["user_id", "session"],
).assign(item_id=1)
SESSIONS = {"recommendations": _MANY.assign(score=0.5), "interactions": _MANY, **ALONE}
SESSIONS_OF_A_SITE = {
    name: None if frame is None else frame.assign(site="a", session=range(100))
    for name, frame in SESSIONS.items()
}
# what a case changes -> how many are found, what the text says, and the first of the examples
CASES: dict[str, list[tuple[dict[str, Any], int, str, dict[str, Any]]]] = {
    "recommendations_seen": [
        (
            {"history": pairs((1, 12), (2, 13), (3, 11), (1, 14))},
            2,
            "2 of 4 rows recommend an item that is in the user's history",
            {"user_id": 1, "item_id": 12},
        ),
    ],
    "interactions_seen": [
        (
            {"history": pairs((1, 14), (2, 14), (2, 11), (3, 12), (3, 13))},
            1,
            "1 of 2 rows is also in the history of the same user",
            {"user_id": 2, "item_id": 14},
        ),
    ],
    "history_newer": [
        (
            {
                "interactions": TRUTH.assign(timestamp=days(5, 5)),
                "history": HISTORY.assign(timestamp=days(1, 6, 5, 9)),
            },
            1,
            "1 of 2 users has history after their first row",
            {"user_id": 1, "first_of_truth": days(5)[0], "last_of_history": days(6)[0]},
        ),
        (
            {  # numbers of seconds can be compared too
                "interactions": TRUTH.assign(timestamp=[50, 50]),
                "history": HISTORY.assign(timestamp=[1, 1, 51, 99]),
            },
            1,
            "1 of 2 users",
            {"user_id": 2, "first_of_truth": 50, "last_of_history": 51},
        ),
    ],
    # the last row of the history is of user 3
    "truth_before_end_of_history": [
        (
            {
                "interactions": TRUTH.assign(timestamp=days(5, 5)),
                "history": HISTORY.assign(timestamp=days(1, 6, 5, 9)),
            },
            2,
            "2 of 2 rows are earlier than the last row of the history, and 1 is earlier than the "
            "last row of its own user",
            {"user_id": 1, "item_id": 11, "timestamp": days(5)[0], "end_of_history": days(9)[0]},
        ),
        (
            {  # a leave-last-one-out split: nothing of the own user is later
                "interactions": TRUTH.assign(timestamp=[5, 9]),
                "history": HISTORY.assign(timestamp=[1, 2, 3, 6]),
            },
            1,
            "1 of 2 rows is earlier than the last row of the history, and 0 are",
            {"user_id": 1, "item_id": 11, "timestamp": 5, "end_of_history": 6},
        ),
    ],
    "items_from_the_future": [
        (
            {
                "interactions": pairs((1, 11), (1, 12), (2, 11), (2, 99)).assign(
                    timestamp=[5, 6, 9, 1]
                ),
                "history": pairs((2, 11), (3, 11), (3, 12)).assign(timestamp=[7, 8, 6]),
            },
            1,
            "1 of 3 held-out items is in the history, but only after",
            {"item_id": 11, "first_of_truth": 5, "first_of_history": 7},
        ),
    ],
    "recommendations_newer": [
        (
            {
                "recommendations": LISTS.assign(timestamp=days(4, 4, 4, 5)),
                "interactions": TRUTH.assign(timestamp=days(4, 4)),
            },
            1,
            "1 of 2 lists was created after the first row of its user",
            {"user_id": 2, "last_made": days(5)[0], "first_of_truth": days(4)[0]},
        ),
    ],
    "recommendations_older": [
        (
            {
                "recommendations": LISTS.assign(timestamp=days(4, 4, 2, 4)),
                "history": HISTORY.assign(timestamp=days(1, 4, 3, 9)),
            },
            1,
            "1 of 2 lists was created before the last row",
            {"user_id": 2, "first_made": days(2)[0], "last_of_history": days(3)[0]},
        ),
    ],
    "recommendations_unknown_items": [
        (
            {"history": pairs((1, 13), (2, 11), (2, 14))},
            1,
            "1 of 3 recommended items is not in the catalogue (history)",
            {"item_id": 12, "n_recommended": 2},
        ),
        (
            {
                "items": pd.DataFrame({"item_id": [12, 14]}),
                "settings": {"catalogue": "items"},
            },
            2,
            "2 of 3 recommended items are not in the catalogue (items)",
            {"item_id": 11, "n_recommended": 1},
        ),
    ],
    "interactions_unknown_items": [
        (
            {"history": pairs((1, 13), (2, 11), (3, 12))},
            1,
            "1 of 2 held-out items is not in the catalogue (history)",
            {"item_id": 14, "n_held_out": 1},
        ),
    ],
    "models_without_common_items": [
        (
            {
                "recommendations": {
                    "als": LISTS,
                    "renamed": LISTS.assign(item_id=LISTS["item_id"] + 1000),
                }
            },
            1,
            "1 of 2 models recommends only items that are not in the interactions",
            {"model": "renamed", "first_item": '"1011"', "last_item": '"1013"'},
        ),
    ],
    "lists_in_clusters": [
        (  # sessions repeat, too, but have few values
            {**SESSIONS, "key": ["user_id", "session"]},
            100,
            "2.5 lists per user_id; intervals and tests assume independent lists",
            {"n_lists": 100, "n_values": 40},
        ),
        (  # a column with one value is the same for all; sessions have numbers of their own
            {**SESSIONS_OF_A_SITE, "key": ["site", "session", "user_id"]},
            100,
            "2.5 lists per user_id",
            {"n_lists": 100, "n_values": 40},
        ),
    ],
    "few_common_users": [
        (
            {"interactions": pairs((1, 11), (7, 14), (8, 14))},
            2,
            "2 of 3 users of the interactions have no recommendations",
            {},
        ),
        (  # half of them is not most of them
            {
                "recommendations": {"als": LISTS, "popular": LISTS[:2]},
                "interactions": pairs((1, 11), (2, 14), (7, 14), (8, 14)),
            },
            3,
            "3 of 4 users of the interactions have no recommendations of popular",
            {"model": "popular"},
        ),
        (  # a tenth of twenty users
            {"recommendations": TWO_EACH[4:], "interactions": TOPS},
            2,
            "2 of 20 users",
            {},
        ),
        (  # a tenth less one is not a finding without another model that has these users
            {
                "recommendations": {
                    "als": MANY_LISTS, "popular": MANY_LISTS[MANY_LISTS["user_id"] > 3],
                },
                "interactions": pairs(*((user, 1_000 + user) for user in range(1, 41))),
            },
            3,
            "3 of 40 users of the interactions have no recommendations of popular",
            {"model": "popular"},
        ),
    ],
    "lists_mostly_short": [
        (
            {"recommendations": lists(*((user, 11, 0.5) for user in TWENTY))},
            20,
            "20 of 20 lists have fewer than 2 items, the largest cutoff",
            {},
        ),
    ],
    "models_shorter_lists": [
        (
            {
                "recommendations": {"als": TWO_EACH, "knn": TWO_EACH[::2]},
                "interactions": TOPS,
            },
            20,
            "the lists of knn have 1 items on average in the top 2, those of another model 2",
            {"model": "knn"},
        ),
    ],
    "models_identical": [
        (
            {
                "recommendations": {
                    "als": TWO_EACH,
                    "knn": TWO_EACH.assign(score=-TWO_EACH["score"]),
                    "mf": TWO_EACH,
                },
                "interactions": TOPS,
            },
            1,
            "als and mf have the same lists: all items of the first 20 users are equal",
            {},
        ),
    ],
    "lists_identical": [
        (
            {"recommendations": TWO_EACH.assign(item_id=[11, 12] * 20)},
            20,
            "the first 20 users have the same 2 items",
            {},
        ),
        (  # all models
            {
                "recommendations": {
                    "als": TWO_EACH.assign(item_id=[11, 12] * 20),
                    "knn": TWO_EACH.assign(item_id=[13, 11] * 20),
                }
            },
            20,
            "the first 20 users have the same 2 items of als",
            {"model": "als"},
        ),
    ],
    "perfect_lists": [
        (
            {"recommendations": TWO_EACH, "interactions": TOPS},
            20,
            "the first item of all 20 lists is relevant to its user",
            {},
        ),
        (  # of one of two models
            {
                "recommendations": {
                    "als": TWO_EACH.assign(score=[1, 2] * 20), "knn": TWO_EACH,
                },
                "interactions": TOPS,
            },
            20,
            "the first item of all 20 lists of knn is relevant",
            {"model": "knn"},
        ),
    ],
    "models_without_hits": [
        (
            {
                "recommendations": TWO_EACH,
                "interactions": pairs(*((user, 201 + user % 20) for user in TWENTY)),
            },
            20,
            "no relevant item is in any of the 20 lists of users with relevant items",
            {},
        ),
    ],
    # 20 hits at the last of ten places: (11 - 20) * 20 = -180, more than 4 * sqrt(20 * 99 / 3)
    "hits_at_the_end": [
        (
            {
                "recommendations": lists(
                    *((user, 100 * user + place, -place) for user in TWENTY for place in range(10))
                ),
                "interactions": pairs(*((user, 100 * user + 9) for user in TWENTY)),
            },
            20,
            "20 of 20 hits are in the lower half of their list, more than by chance",
            {},
        ),
    ],
    "scores_consecutive": [
        (
            {"recommendations": TWO_EACH.assign(score=range(40)), "interactions": TOPS},
            20,
            "the scores of the first 20 lists are consecutive whole numbers",
            {},
        ),
    ],
    "scores_are_items": [
        (
            {"recommendations": TWO_EACH.assign(score=TWO_EACH["item_id"]), "interactions": TOPS},
            40,
            "the score of every item in the first 20 lists is its item id",
            {},
        ),
    ],
    "ranks_contradict_scores": [
        (
            {
                "recommendations": TWO_EACH.assign(rank=[1, 2] * 14 + [2, 1] * 6),
                "interactions": TOPS,
            },
            6,
            "in 6 of the first 20 lists, the score increases with the rank",
            {},
        ),
    ],
    "interactions_cut": [
        (
            {"recommendations": TWO_EACH, "interactions": TOPS[:10]},
            10,
            "no row belongs to the 10 users of the lists after the user 10",
            {},
        ),
    ],
    "users_without_lists": [
        (
            {"interactions": pairs((1, 11), (2, 14), (7, 14))},
            1,
            "1 of 3 users has no recommendations",
            {"user_id": 7},
        ),
    ],
    "users_without_truth": [
        (
            {"interactions": pairs((2, 13))},
            1,
            "1 of 2 lists belongs to a user who is not in the interactions",
            {"user_id": 1},
        ),
    ],
    "recommendations_short": [
        ({"k": 3}, 2, "2 of 2 lists have fewer than 3 items", {"user_id": 1, "n_recommended": 2}),
        (
            {"k": [1, 2], "recommendations": LISTS[:3]},
            1,
            "1 of 2 lists has fewer than 2 items",
            {"user_id": 2, "n_recommended": 1},
        ),
    ],
    "recommendations_copies": [
        (
            {
                "recommendations": lists((1, 11, 0.9), (1, 11, 0.8), (2, 12, 0.7), (2, 13, 0.1)),
                "settings": {"duplicate_recommendations": "keep"},
            },
            1,
            "duplicate_recommendations=keep applies to them",
            {"user_id": 1, "item_id": 11, "n_copies": 2},
        ),
    ],
    "interactions_copies": [
        (
            {
                "interactions": pairs((1, 11), (2, 14), (2, 14)),
                "settings": {"duplicate_interactions": "set"},
            },
            1,
            "duplicate_interactions=set applies to them",
            {"user_id": 2, "item_id": 14, "n_copies": 2},
        ),
    ],
    "recommendations_constant_scores": [
        (
            {"recommendations": LISTS.assign(score=[0.5, 0.5, 0.7, 0.6])},
            1,
            "1 of 2 lists with several items has the same score for all of them",
            {"user_id": 1, "n_items": 2, "score": 0.5},
        ),
    ],
    "recommendations_tied_scores": [
        (
            {"recommendations": LISTS.assign(score=[0.5, 0.5, 0.7, 0.6])},
            1,
            "1 of 2 lists has items with equal scores",
            {"user_id": 1, "n_items": 2, "n_scores": 1},
        ),
        (  # different as doubles, equal as floats
            {
                "recommendations": LISTS.assign(score=[0.5, 0.5 + 1e-12, 0.7, 0.6]),
                "settings": {"score_type": "float"},
            },
            1,
            "1 of 2 lists",
            {"user_id": 1, "n_items": 2, "n_scores": 1},
        ),
    ],
    # user 1: 11 (relevant) and 12 share places 1 and 2; user 2: no relevant item among the tied
    "recommendations_ties_decide": [
        (
            {"recommendations": LISTS.assign(score=[0.5, 0.5, 0.7, 0.7]), "k": [1, 2]},
            1,
            "the tie-breaking rule ties=item_asc decides",
            {"k": 1, "n_lists_cut": 1, "n_lists_ordered": 1, "n_lists": 2},
        ),
        (  # places 2 and 3 are shared: nothing at 1, which of them at 2, the order at 3
            {
                "recommendations": lists(
                    (1, 12, 0.9), (1, 11, 0.5), (1, 13, 0.5), (2, 12, 0.3), (2, 13, 0.2)
                ),
                "k": [1, 2, 3],
            },
            1,
            "decides",
            {"k": 2, "n_lists_cut": 1, "n_lists_ordered": 1, "n_lists": 2},
        ),
        (
            {
                "recommendations": lists((1, 12, 0.9), (1, 11, 0.5), (1, 13, 0.5), (2, 12, 0.3)),
                "k": 3,
            },
            1,
            "decides",
            {"k": 3, "n_lists_cut": 0, "n_lists_ordered": 1, "n_lists": 2},
        ),
    ],
    "recommendations_sampled": [
        (
            {
                "recommendations": lists(
                    *((user, user + place, -place) for user in TWENTY for place in range(3))
                ),
                "interactions": pairs(*((user, user + 1) for user in TWENTY)),
                "history": pairs((1, 1), (1, 30)),
            },
            20,
            "the lists of all 20 users contain every held-out item of the user, out of 22 items",
            {"shortest": 3, "longest": 3},
        ),
    ],
    "interactions_none_relevant": [
        (
            {
                "interactions": TRUTH.assign(relevance=[1, 2]),
                "settings": {"relevant_from": 3},
            },
            2,
            "no row is relevant with relevant_from=3; the relevance ranges from 1 to 2",
            {},
        ),
    ],
    "interactions_unread_relevance": [
        (
            {"interactions": TRUTH.assign(rating=[1, 5])},
            1,
            "the column rating (1 to 5) looks like a relevance, but is not read",
            {},
        ),
        (  # of several, the likeliest is named
            {"interactions": TRUTH.assign(weight=[0.5, 0.7], user_Stars=[2, 3])},
            2,
            "the column user_Stars (2 to 3)",
            {},
        ),
    ],
    "interactions_all_relevant": [
        (
            {"interactions": TRUTH.assign(relevance=[1, 3])},
            2,
            "all 2 rows count as relevant: the relevance ranges from 1 to 3",
            {},
        ),
    ],
    "interactions_negative": [
        (
            {"interactions": TRUTH.assign(relevance=[2.0, -1.0])},
            1,
            "1 of 2 rows has a relevance below 0",
            {"user_id": 2, "item_id": 14, "relevance": -1.0},
        ),
    ],
    "interactions_heavy_users": [
        (
            {
                "interactions": pairs(
                    *((user, 11) for user in range(1, 30)), *((30, item) for item in range(30))
                )
            },
            1,
            "1 user has more than 1 % of all 59 rows",
            {"user_id": 30, "n_own_rows": 30},
        ),
    ],
    "item_groups_small": [
        (  # 30 users have a relevant item of x, 29 of y, which also has item 13, and one of z
            {
                "interactions": pairs(
                    *((user, item) for user in range(1, 31) for item in (11, 12)[: 30 - user + 1]),
                    (2, 14),
                ),
                "items": pd.DataFrame(
                    {
                        "item_id": [11, 12, 13, 14],
                        "item_group": [["x"], ["y"], ["y"], ["z", "x"]],
                    }
                ),
            },
            2,
            "2 of 3 groups have relevant items of fewer than 30 users",
            {"item_group": "z", "n_items": 1, "n_users": 1},
        ),
        (  # a group without a relevant item
            {"items": pd.DataFrame({"item_id": [11, 13, 14], "item_group": ["x", "y", "x"]})},
            2,
            "2 of 2 groups",
            {"item_group": "y", "n_items": 1, "n_users": 0},
        ),
    ],
    "recommendations_dominant_items": [
        (
            {
                "recommendations": lists(
                    *((user, 11, 0.5) for user in TWENTY),
                    *((user, 100 + user, 0.1) for user in TWENTY),
                ),
                "interactions": pairs((1, 101)),
            },
            1,
            "1 item is in more than nine of ten lists",
            {"item_id": 11, "n_recommended": 20, "n_lists": 20},
        ),
    ],
    "users_unknown": [
        ({"users": EVERYBODY[:1]}, 1, "1 of 2 lists belongs to a user who is", {"user_id": 2}),
    ],
}  # fmt: skip
CASES |= {
    "interactions_other_spelling": [
        (
            {
                "recommendations": lists((1, "a1", 0.9), (1, "b", 0.8), (2, "caf\u00e9", 0.7)),
                "interactions": pairs((1, "A1 "), (1, "b"), (2, "cafe\u0301")),
                "history": None,
            },
            2,
            "2 of 3 different ids in item_id are in no list, and differ from a listed id only in",
            {"held_out_id": '"A1 "', "listed_id": '"a1"'},
        ),
        (
            {
                "recommendations": LISTS.assign(user_id=["007", "007", "8", "8"]),
                "interactions": pairs(("7", 11), ("8", 12)),
                **ALONE,
            },
            1,
            "1 of 2 different ids in user_id",
            {"held_out_id": '"7"', "listed_id": '"007"'},
        ),
    ],
    "recommendations_item_zero": [
        (
            WITHOUT_ZERO,
            2,
            "2 rows recommend item 0, but the item ids of the interactions and the history begin "
            "at 1",
            {},
        ),
    ],
    "recommendations_shifted_ids": [
        (
            {
                "recommendations": lists(*((user, 10 * user, 0.9) for user in range(20))),
                "interactions": pairs(*((user, 10 * user + 1) for user in range(20)), (1, 10)),
                **ALONE,
            },
            20,
            "1 recommended row is in the interactions, but 20 would be if item_id of the lists "
            "were 1 higher",
            {},
        ),
        (
            {
                "recommendations": lists(*((user + 1, 7 * user + 1, 0.9) for user in range(20))),
                "interactions": pairs(*((user, 7 * user) for user in range(20)), (2, 8)),
                **ALONE,
            },
            20,
            "if user_id and item_id of the lists were 1 lower",
            {},
        ),
    ],
    "items_joined_categories": [
        (
            {"items": ITEMS.assign(category=["Action|Comedy", "Action|Drama", "War", None])},
            2,
            "2 of 2 categories with a separator share a part with another one; each text counts as "
            "one category, also if '|' separates several",
            {"category": "Action|Comedy"},
        ),
        (
            {"items": ITEMS.assign(category=["['A', 'B']", "['C', 'B']", "D", None])},
            2,
            "also if ',' separates several",
            {"category": "['A', 'B']"},
        ),
    ],
    "interactions_time_units": [
        (
            {
                "interactions": TRUTH.assign(timestamp=[1_700_000_000_000, 1_700_000_000_001]),
                "history": HISTORY.assign(timestamp=1_700_000_000),
            },
            1,
            "the timestamps are milliseconds since 1970, but seconds in history",
            {"last_time": 1_700_000_000_001, "other_last_time": 1_700_000_000},
        ),
    ],
}
SAID = [(check, case) for check, cases in CASES.items() for case in cases]


@pytest.mark.parametrize(("check", "case"), SAID, ids=[check for check, _ in SAID])
def test_what_is_found(check: str, case: tuple[dict[str, Any], int, str, dict[str, Any]]) -> None:
    tables, n, text, example = case
    finding = found(tables)[check]
    assert finding.level == CATALOG.checks[check].level
    assert finding.n == n
    assert text in str(finding.found)
    assert finding.remedy
    assert (dict(finding.examples[0]) if finding.examples else {}) == example


def test_good_tables_have_nothing_that_is_found() -> None:
    assert found({}) == {}
    with sm.Evaluator(**GOOD, users=EVERYBODY) as evaluator:
        assert findings_of(evaluator, k=2) == []  # for no metric that they suffice for


def test_every_check_has_a_case() -> None:
    of_metrics = {"interactions_graded"}  # tested below
    of_results = {check.name for check in SURVEYED if check.of_result}  # tested in test_off_policy
    tested = set(CASES) | of_metrics | of_results
    assert {check.name for check in SURVEYED} == tested, "CASES of tests/checks/test_survey.py"
    assert all(check.level != "error" for check in SURVEYED)


@pytest.mark.parametrize(
    "tables",
    [
        # with ranks, scores order nothing
        {"recommendations": LISTS.assign(score=0.5, rank=[1, 2, 1, 2])},
        # all of the truth in the lists, which have half of all items: a good model may do that
        {
            "recommendations": lists(
                *((user, 1 + (user + place) % 6, -place) for user in TWENTY for place in range(3))
            ),
            "interactions": pairs(*((user, 1 + (user + 1) % 6) for user in TWENTY)),
            "history": pairs(*((99, item) for item in range(1, 7))),
            "users": pd.DataFrame({"user_id": TWENTY}),
        },
        # a relevance of 1 for all says nothing; neither does one with a threshold
        {"interactions": TRUTH.assign(relevance=1)},
        {"interactions": TRUTH.assign(rating=1.0)},
        {"interactions": TRUTH.assign(relevance=[1, 5]), "settings": {"relevant_from": 4}},
        {"interactions": TRUTH.assign(relevance=[1, 5]), "settings": {"relevant_from": "-inf"}},
        {"interactions": TRUTH.assign(relevance=[0, 5])},
        # a relevance that is read is chosen, whatever else there is
        {"interactions": TRUTH.assign(relevance=[0, 1], rating=[1, 5])},
        # nothing is compared with tables that are not there
        {"history": None},
        {"users": None},
    ],
)
def test_what_is_no_finding(tables: dict[str, Any]) -> None:
    assert found(tables) == {}


BOUGHT_AGAIN = {"interactions": pairs((1, 13), (2, 14)), "recommendations": LISTS}


@pytest.mark.parametrize(
    "tables",
    [
        # points for places, n to 1, with the hits at the top
        {"recommendations": TWO_EACH.assign(score=[2, 1] * 20), "interactions": TOPS[:19]},
        # one of several models recommends the same items to everyone, such as popular ones
        {
            "recommendations": {
                "als": TWO_EACH,
                "popular": TWO_EACH.assign(item_id=[101, 103] * 20),
            },
            "interactions": TOPS[::2],
        },
        # re-ranked lists follow the scores in most places
        {
            "recommendations": TWO_EACH.assign(rank=[1, 2] * 15 + [2, 1] * 5),
            "interactions": TOPS[::2],
        },
        # users who buy again: with repeated rows in the history, or a later timestamp
        {**BOUGHT_AGAIN, "history": pairs((1, 13), (1, 13), (1, 11), (2, 12), (2, 14))},
        {
            "recommendations": LISTS,
            "interactions": pairs((1, 13), (2, 14), timestamp=[8, 9]),
            "history": pairs((1, 13), (1, 11), (2, 12), (2, 14), timestamp=[1, 2, 3, 4]),
        },
    ],
    ids=["points", "popular", "re-ranked", "bought again", "bought again, with times"],
)
def test_usual_tables_have_no_warning(tables: dict[str, Any]) -> None:
    findings = found({**ALONE, **tables})
    assert [name for name, one in findings.items() if one.level != "note"] == []


def test_a_setting_of_data_ends_its_finding() -> None:
    seen = {"history": pairs((1, 12), (2, 13), (3, 11), (1, 14))}
    assert "recommendations_seen" in found(seen)
    assert "recommendations_seen" not in found({**seen, "settings": {"drop_seen": "true"}})


# ---------------------------------------------------------------- errors


def test_all_errors_are_found_at_once_and_evaluate_raises_one_of_them() -> None:
    with sm.Evaluator(**BROKEN) as evaluator:
        findings = findings_of(evaluator)
        errors = [finding for finding in findings if finding.level == "error"]
        assert [finding.check for finding in errors] == [
            "recommendations_duplicates",
            "recommendations_bad_scores",
            "interactions_duplicates",
        ]
        for _ in range(2):  # what was checked is still refused
            with pytest.raises(sm.DataError, match="repeats an item") as raised:
                evaluator.evaluate("ndcg@5")
            assert str(raised.value) in [finding.text for finding in errors]
            assert [one.text for one in findings_of(evaluator)] == [one.text for one in findings]


def test_nothing_in_common_and_an_empty_table_are_findings() -> None:
    apart = found({"interactions": pairs((7, 11))})
    assert apart["common_users"].level == "error"
    unlike = found({"interactions": pairs((1, 77), (2, 78))})
    assert unlike["common_items"].level == "error"
    assert unlike["common_items"].n == len(LISTS)
    nothing = found({"interactions": TRUTH[:0]})
    assert "common_items" not in nothing  # an empty table says enough
    empty = found({"history": HISTORY[:0]})
    assert str(empty["empty_table"].found) == "the table is empty (history=…)"
    assert "recommendations_unknown_items" not in empty


def test_tables_are_checked_for_the_metrics_that_are_named() -> None:
    items = pd.DataFrame({"item_id": [11, 12], "price": [1.0, 2.0]})
    with sm.Evaluator(**GOOD, items=items) as evaluator:
        missing = ["missing_prices", "missing_relevant_prices"]  # of 13, and of 14
        assert [finding.check for finding in findings_of(evaluator, k=2)] == missing
        assert findings_of(evaluator, "ndcg@2") == []
        with pytest.raises(sm.UsageError, match="unknown metric 'ndgc'"):
            findings_of(evaluator, "ndgc@2")
        with pytest.raises(sm.UsageError, match="needs"):
            findings_of(evaluator, "ctr@2")


def test_the_frame() -> None:
    with sm.Evaluator(**GOOD) as evaluator:
        frame = evaluator.check(k=5)
        nothing = evaluator.check(k=2)
    assert list(frame.columns) == list(nothing.columns) == list(COLUMNS)
    assert frame["n"].to_list() == [2]
    assert frame["examples"][0][0] == {"user_id": 1, "n_recommended": 2}
    assert len(nothing) == 0


def test_what_cannot_be_checked() -> None:
    with sm.Evaluator() as evaluator, pytest.raises(sm.UsageError, match="no table to check"):
        evaluator.check()
    with (
        sm.Evaluator(**GOOD, trust_input=True) as evaluator,
        pytest.raises(sm.UsageError, match="cannot be combined with trust_input=True"),
    ):
        evaluator.check()


# ---------------------------------------------------------------- small slices

MANY = range(1, 61)
COUNTRIES = ["A"] * 30 + ["B"] * 29 + ["C"]


def sliced(**asked: Any) -> list[Any]:
    """Return the findings about slices of 60 users and of the categories of their items."""
    tables = {
        "recommendations": lists(*((user, 11, 1) for user in MANY)),
        "interactions": pairs(*((user, 11 if user > 2 else 12) for user in MANY)),
        "users": pd.DataFrame({"user_id": MANY, "country": COUNTRIES}),
        "items": pd.DataFrame({"item_id": [11, 12], "category": ["red", "blue"]}),
        "history": pairs((99, 11), (99, 12)),
    }
    with sm.Evaluator(**tables) as evaluator:
        found = evaluator.findings(**asked)
    return [finding for finding in found if finding.check == "slices_small"]


def test_slices_of_few_users() -> None:
    assert sliced(metrics="recall@1") == []
    (finding,) = sliced(metrics="recall@1", by="country")
    assert (finding.level, finding.table, finding.column) == ("warning", "users", "country")
    assert str(finding.found) == "2 of 3 slices by country have fewer than 30 users"
    assert finding.n == 2
    assert list(finding.examples) == [
        {"country": "C", "n_users": 1},
        {"country": "B", "n_users": 29},
    ]
    of_users, of_items = sliced(by="country", by_item="category")
    assert of_users == finding
    assert str(of_items.found) == "1 of 2 slices by category have fewer than 30 users"
    assert list(of_items.examples) == [{"category": "blue", "n_users": 2}]


def test_slices_without_a_value_of_users() -> None:
    with pytest.raises(sm.UsageError, match="no metric has values of users in slices by country"):
        sliced(metrics="inter_list_diversity@1", by="country")
    with pytest.raises(sm.UsageError, match="unknown column or slice 'planet'"):
        sliced(metrics="recall@1", by="planet")
    with pytest.raises(sm.UsageError, match="slices of items support only metrics of relevant"):
        sliced(metrics="popularity@1", by_item="category")


def test_broken_tables_are_not_sliced() -> None:
    with sm.Evaluator(**BROKEN, users=EVERYBODY) as evaluator:
        found = evaluator.findings("recall@1", by="country")
    assert "error" in {finding.level for finding in found}
    assert "slices_small" not in {finding.check for finding in found}


# ---------------------------------------------------------------- found by using it


def test_every_convention_counts() -> None:
    scores = LISTS.assign(score=[0.5, 0.5, 0.7, 0.6])
    for conventions in (["elliot", "standard"], ["standard", "elliot"]):
        with sm.Evaluator(scores, TRUTH, convention=conventions) as evaluator:
            found = [finding.check for finding in findings_of(evaluator, "ndcg", 2, ["warning"])]
        assert sorted(found) == ["recommendations_constant_scores", "recommendations_ties_decide"]


@pytest.mark.parametrize(
    ("of_truth", "of_history", "said"),
    [
        (days(5, 5), [1, 2, 3, 4], "history.timestamp has type BIGINT"),
        (days(5, 5), pd.to_datetime(["2026-01-05T01:00Z"] * 4), "cannot be compared"),
        (["10/1/2026"] * 2, ["9/1/2026"] * 4, "cannot be compared"),
    ],
    ids=["numbers", "a zone", "texts"],
)
def test_times_of_two_kinds_are_not_compared(of_truth: Any, of_history: Any, said: str) -> None:
    truth, history = TRUTH.assign(timestamp=of_truth), HISTORY.assign(timestamp=of_history)
    findings = found({"interactions": truth, "history": history})
    assert list(findings) == TIME_CHECKS
    assert findings["history_newer"].level == "note"
    assert said in str(findings["history_newer"].found)


def test_a_sampled_model_beside_another() -> None:
    sampled = lists(*((user, user + place, -place) for user in TWENTY for place in range(3)))
    other = lists(*((user, 2 + user, 1) for user in TWENTY))
    truth = pairs(*((user, user + 1) for user in TWENTY))
    with sm.Evaluator({"a": sampled, "b": other}, truth) as evaluator:
        found = {finding.check: finding for finding in findings_of(evaluator, "ndcg", 1)}
    finding = found["recommendations_sampled"]
    assert finding.n == 20
    assert [row["model"] for row in finding.examples] == ["a"]


def test_tables_of_scores_are_samples_if_lists_have_as_many_other_items() -> None:
    """Each user has one relevant document and two others; then the last user has one other less."""
    rows = [(user, user + place, int(place == 0), -place) for user in TWENTY for place in range(3)]
    columns = ["user_id", "item_id", "relevance", "score"]
    for dropped, sampled in [(0, True), (1, False)]:
        table = pd.DataFrame(rows[: len(rows) - dropped], columns=columns)
        with sm.Evaluator(scored=table) as evaluator:
            checks = {finding.check for finding in findings_of(evaluator, "ndcg", 1)}
        assert ("recommendations_sampled" in checks) == sampled


def wanted(rows: Iterable[tuple[Any, Any]], truth: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Return tables of lists with these rows in this order, and of a truth."""
    ordered = lists(*((user, item, -place) for place, (user, item) in enumerate(rows)))
    return {"recommendations": ordered, "interactions": pairs(*truth), **ALONE}


def of_sessions(*key: str, **columns: Any) -> dict[str, Any]:
    rows = pd.DataFrame({**columns, "session": range(len(columns["user_id"])), "item_id": 1})
    return {"recommendations": rows.assign(score=0.5), "interactions": rows, "key": key, **ALONE}


NEIGHBOURS = [(user, item) for user in range(50) for item in (1, 2)]
HALF = [(user, item) for user, item in NEIGHBOURS if (user + item) % 3]
OTHERS = [(user, (3 * user + place) % 10) for user in range(60) for place in (0, 5)]
POPULAR = [(user, item) for user in range(60) for item in range(10) if (user, item) not in OTHERS]
ENDS = [-(2**63), -(2**63) + 1, 2**63 - 1, 5, 6]
AT_THE_ENDS = [(user, item) for user in range(30) for item in ENDS[user % 3 :]]
SPELLINGS = [(user, item) for user in range(40) for item in ("aA", "Aa", "7", "07")]
TEXTS = [(user, f"item{user}") for user in range(40)]
LEFT_OUT = {
    str(settings): {"interactions": pairs((1, 11), (7, 14), (8, 14)), "settings": settings}
    for settings in ({"no_recommendations": "drop"}, {"audience": "both"})
}
COPIES = [(user, 11 if user <= 10 else user, 0.5) for user in TWENTY for _ in range(2)]
# what could look like a finding: the finding -> tables that do not have it
NOT_FOUND: dict[str, dict[str, dict[str, Any]]] = {
    "lists_in_clusters": {
        "no user has two lists": of_sessions("user_id", "session", user_id=range(50)),
        "few sites": of_sessions("user_id", "site", user_id=range(50), site=[*"ab"] * 25),
        "two sites of one user": of_sessions(
            "user_id", "site", user_id=[*range(50), 0], site=["a"] * 50 + ["b"]
        ),
    },
    "recommendations_dominant_items": {
        "copies in a list": {
            "recommendations": lists(*COPIES),
            "settings": {"duplicate_recommendations": "keep"},
        },
    },
    "recommendations_item_zero": {
        "0 in the truth": {**WITHOUT_ZERO, "interactions": pairs((1, 0), (2, 3))},
        "0 in the history": {**WITHOUT_ZERO, "history": pairs((1, 0), (2, 3))},
    },
    "recommendations_shifted_ids": {
        # item n + 1 has about as many hits as item n if ids are sorted by popularity
        "popular neighbours": wanted(NEIGHBOURS, HALF),
        "texts": wanted([(str(user), str(item)) for user, item in NEIGHBOURS],
                        [(str(user), str(item)) for user, item in HALF]),
        # each list has the items 0 to 9 but for the two of its user, which other users want
        "items of others": wanted(POPULAR, OTHERS),
        "ends of the type": wanted(AT_THE_ENDS, AT_THE_ENDS[::2]),
    },
    "interactions_other_spelling": {
        "ids of both tables": wanted(SPELLINGS, SPELLINGS[::3]),
        "one pair": wanted([*TEXTS, (1, "b1")], [*TEXTS, (1, "B1")]),
    },
    "users_without_lists": LEFT_OUT,
    "few_common_users": LEFT_OUT,
}  # fmt: skip
USUAL = [(check, case) for check, cases in NOT_FOUND.items() for case in cases]


@pytest.mark.parametrize(("check", "case"), USUAL)
def test_what_could_look_like_a_finding(check: str, case: str) -> None:
    assert check not in found(NOT_FOUND[check][case])


def test_a_request_can_answer_that_lists_are_in_clusters() -> None:
    name = "lists per user_id"
    rows = pd.DataFrame({"user_id": [*range(30)] * 2, "session": [0] * 30 + [1] * 30, "item_id": 1})
    tables = {"recommendations": rows.assign(score=0.5), "interactions": rows}
    calls: list[tuple[dict[str, Any], bool]] = [
        ({}, True), ({"cluster": "user_id"}, False), ({"ci": "none"}, False),
    ]  # fmt: skip
    for call, is_warned in calls:
        with (
            sm.Evaluator(**tables, key=["user_id", "session"]) as evaluator,
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            evaluator.evaluate("mrr", **call)
        assert any(name in str(warning.message) for warning in caught) == is_warned, call
        if is_warned:
            texts = [str(warning.message) for warning in caught]
            assert any("add cluster='user_id'" in text for text in texts)


def test_shifted_ids_of_many_users_are_found_among_some() -> None:
    users = range(2_001)
    tables = {
        "recommendations": lists(*((user, 10 * user, 0.9) for user in users)),
        "interactions": pairs(*((user, 10 * user + 1) for user in users), (1, 10), (2, 20)),
    }
    finding = found({**tables, **ALONE})["recommendations_shifted_ids"]
    assert finding.n == 2_000
    assert re.search("[12] recommended rows? of 2,000 users (is|are) in the int", finding.text)


def test_ties_of_many_users_are_counted_among_some() -> None:
    users = range(2_001)
    tables = {
        "recommendations": lists(*((user, item, 0.5) for user in users for item in (1, 2))),
        "interactions": pairs(*((user, 2) for user in users)),
    }
    finding = found({**tables, **ALONE})["recommendations_ties_decide"]
    assert finding.n == 2_000
    assert "up to 2,000 lists of 2,000 users have relevant and other items" in finding.text


def test_grades_that_a_metric_does_not_use() -> None:
    """One user: the gains 4 and 1 at the ranks 2 and 1, in the wrong order."""
    truth = pairs((1, 11), (1, 12), relevance=[1.0, 4.0])
    best = {"linear": 4 + 1 / log2(3), "exponential": 15 + 1 / log2(3)}
    here = {"linear": 1 + 4 / log2(3), "exponential": 1 + 15 / log2(3)}
    values = [f"{here[gain] / best[gain]:.4f} with gain={gain}" for gain in best]
    text = f"ndcg@2 is 1.0000 with gain=binary, {' and '.join(values)}"
    with sm.Evaluator(LISTS.head(2), truth) as evaluator:
        of = {metric: evaluator.check(metric, k=2) for metric in ("ndcg", "recall")}
        graded = evaluator.check("ndcg(gain=linear)", k=2)
    row = of["ndcg"].set_index("check").loc["interactions_graded"]
    assert row["found"] == f"the relevant rows have 2 grades from 1 to 4, which count as 1. {text}"
    assert row["level"] == "note"
    for other in (of["recall"], graded):
        assert "interactions_graded" not in [*other["check"]]


def test_leaks_are_not_searched_in_different_units() -> None:
    """The same rows in seconds leak, in milliseconds and seconds they cannot be compared."""
    truth = pd.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"], "timestamp": [5, 9]})
    past = pd.DataFrame({"user_id": [1, 1, 2], "item_id": ["b", "a", "a"], "timestamp": [1, 7, 7]})
    start = 1_700_000_000
    leaks = {"truth_before_end_of_history", "items_from_the_future", "history_newer"}
    for factor, expected in ((1, leaks), (1000, {"interactions_time_units"})):
        tables = {
            "interactions": truth.assign(timestamp=truth["timestamp"] + start),
            "history": past.assign(timestamp=(past["timestamp"] + start) * factor),
        }
        with sm.Evaluator({1: ["a", "b"], 2: ["b"]}, **tables) as evaluator:
            found = {finding.check for finding in evaluator.findings()}
        assert found & {*leaks, "interactions_time_units"} == expected
