"""Inputs of libraries' own test suites whose numbers a convention does not give by itself.

Each row has the number of the library, run at the release that the convention names, and as a
formula; ours, worked by hand; and words of the `[[differs]]` entry about it. `as_there` are
settings with which we give the number of the library, where there are any: an entry or a message
that suggests a setting is tested here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.conventions import Convention
from tests.support.notation import number

NONE = math.nan
HAMMING = "intra_list_diversity(distance=hamming)"


@dataclass(frozen=True)
class Row:
    """One metric on small tables: lists and baselines as {user: "a b"}, relevance per item."""

    convention: str
    spec: str
    lists: Mapping[str, str]
    there: tuple[float, str]  # as printed by the library, and as a formula
    here: str | float
    words: str
    interactions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    as_there: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, list[float]] = field(default_factory=dict)
    categories: Mapping[str, str | None] = field(default_factory=dict)
    logs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


GRADED = {"q": {"a": 1, "b": 2}}
LABELS = {"u": {"a": 1}, "v": {"b": 0}}
LISTS = {"u": "a b", "v": "a", "w": "b"}
LOGS = {"u1": {"i1": 0}, "u2": {"i2": 1}, "u3": {"i0": 0}, "u4": {"i3": 0}}
LOGGED = {"u1": "i1", "u2": "i2", "u3": "i2", "u4": "i3"}
NEGATIVE = {"u": {"a": -1, "c": 3, "z": -2}}

ROWS = [
    Row("trec_eval", "ndcg", {"q": "a b"}, (0.859719, "(1 + 2/log2(3)) / (2 + 1/log2(3))"),
        "1/log2(3)", "ignores -l", GRADED, {"relevant_from": 2}, {"ndcg.relevant_from": 1}),
    # w has a list and no labels, as a row of the RDD
    Row("spark", "precision@2", LISTS, (0.166667, "(1/2 + 0 + 0) / 3"), "1/4",
        "every row of the RDD", LABELS, {}, {"audience": "either"}),
    Row("spark", "recall@1", {"u": "a b"}, (0.5, "1/2"), 0, "label of relevance 0",
        {"u": {"a": 0, "b": 2}}, {}, {"relevant_from": "-inf"}),
    Row("torchmetrics", "precision@2", {"u": "a b"}, (0.0, "0"), NONE, "if none is left",
        {"u": {"a": 0, "b": 0}}, {"no_relevant": "drop"}),
    Row("recommenders", "r_precision@2", {"u": "a b"}, (0.0, "0"), NONE, "no user has a hit",
        {"u": {"c": 1}}),
    Row("lenskit", "dcg(gain=linear)@3", {"u": "a b c"}, (0.892789, "3/log2(3) - 1"),
        "3/log2(3)", "from release 2026.1 on", NEGATIVE),
    Row("lenskit", "ndcg(gain=linear)@3", {"u": "a b c"},
        (1.209511, "(3/log2(3) - 1) / (3 - 1 - 2/log2(3))"), "1/log2(3)",
        "from release 2026.1 on", NEGATIVE),
    # as the smoothing makes all three categories equal
    Row("lenskit", "category_entropy@3", {"u": "b"}, (1.584963, "log2(3)"), NONE,
        "such items only", settings={"missing_attributes": "ignore"},
        categories={"a": "x", "b": None, "c": "y", "d": "z"}),
    # z is not in the catalogue a to e
    Row("rectools", "accuracy@2", {"u": "z a"}, (0.8, "(1 + 5 - 2) / 5"), "(1 + 4) / 5",
        "items outside the catalogue", {"u": {"a": 1}}, {"catalogue": "items"},
        features={item: [1.0] for item in "abcde"}),
    Row("rectools", "mcc@2", {"u": "z a"}, (0.612372, "3 / sqrt(2 * 1 * 4 * 3)"), "1",
        "items outside the catalogue", {"u": {"a": 1}}, {"catalogue": "items"},
        features={item: [1.0] for item in "abcde"}),
    Row("jurity", "ips(statistic=support)@2", LOGGED, (4, "4"), "3", "support", logs=LOGS),
    Row("jurity", "doubly_robust(statistic=support)@2", LOGGED, (4, "4"), "3", "support",
        logs=LOGS),
]  # fmt: skip


def evaluate(row: Row, settings: Mapping[str, Any]) -> float:
    lists = pd.DataFrame(
        [(user, item, 1 - place / 10) for user, items in row.lists.items()
         for place, item in enumerate(items.split())],
        columns=["user_id", "item_id", "score"],
    )  # fmt: skip
    tables: dict[str, pd.DataFrame] = {}
    for name, given, column in (
        ("interactions", row.interactions, "relevance"),
        ("logs", row.logs, "reward"),
    ):
        if given:
            rows = [(user, *pair) for user, items in given.items() for pair in items.items()]
            tables[name] = pd.DataFrame(rows, columns=["user_id", "item_id", column])
    for column, values in (("features", row.features), ("category", row.categories)):
        if values:
            tables["items"] = pd.DataFrame({"item_id": list(values), column: list(values.values())})
    with sm.Evaluator(
        lists, **tables, convention=row.convention, settings=settings, check=False
    ) as evaluator:
        return float(evaluator.evaluate(row.spec, ci="none")["value"].iloc[0])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.convention} {row.spec}")
@pytest.mark.filterwarnings("ignore:logs. there is no column propensity")
def test_numbers_of_both_sides(row: Row) -> None:
    printed, formula = row.there
    assert number(formula) == pytest.approx(printed, abs=5e-7)
    here = number(row.here) if isinstance(row.here, str) else row.here
    assert here != pytest.approx(printed, abs=1e-6)
    found = evaluate(row, row.settings)
    assert found == pytest.approx(here, abs=1e-12, nan_ok=True)
    if row.as_there:
        found = evaluate(row, {**row.settings, **row.as_there})
        assert found == pytest.approx(number(formula), abs=1e-12)
        told = [d.here for d in Convention.load(row.convention).differs if row.words in d.there]
        assert all(name in told[0] for name in row.as_there)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.convention} {row.spec}")
def test_convention_names_the_difference(row: Row) -> None:
    metric = row.spec.partition("@")[0].partition("(")[0]
    told = [d for d in Convention.load(row.convention).differs
            if row.words in f"{d.there} {d.here}"]  # fmt: skip
    assert len(told) == 1
    assert not told[0].metrics or metric in told[0].metrics


def test_relevant_items_of_a_query_without_a_list() -> None:
    """NumRel of ir_measures is 3 and 0 for these queries, 3 in all: r has no list."""
    interactions = [("q", "a", 1), ("q", "b", 2), ("q", "c", 1), ("r", "a", 1)]
    truth = pd.DataFrame(interactions, columns=["user_id", "item_id", "relevance"])
    lists = pd.DataFrame({"user_id": "q", "item_id": ["a", "x"], "score": [0.9, 0.8]})
    with sm.Evaluator(lists, truth, convention="ir_measures", check=False) as evaluator:
        total = evaluator.evaluate("NumRel", ci="none")["value"].tolist()
        users = evaluator.per_user("NumRel", long=True)
    assert total == [3]
    assert users["user_id"].tolist() == ["q"]
    assert any("NumRel" in d.there for d in Convention.load("ir_measures").differs)


# ---------------------------------------------------------------- RecTools 0.19.0

RANKED = [("u1", "a", 1), ("u1", "b", 2), ("u2", "a", 1), ("u2", "new", 2), ("u3", "a", 1),
          ("u3", "b", 2), ("u3", "new", 3), ("u4", "a", 1)]  # fmt: skip


def ranked(rows: list[tuple[str, str, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def test_diversity_of_lists_with_items_that_have_no_features() -> None:
    """u1: 1, u2: NaN, u3: 1, u4: 0 in RecTools, whose mean over the others is 2/3."""
    items = pd.DataFrame({"item_id": ["a", "b"], "features": [[0.0, 1.0], [1.0, 1.0]]})
    with sm.Evaluator(ranked(RANKED), items=items, convention="rectools") as evaluator:
        value = evaluator.evaluate(HAMMING, k=3, ci="none")["value"].tolist()
        users = evaluator.per_user(HAMMING, k=3, long=True)
    values = dict(zip(users["user_id"], users.iloc[:, -1], strict=True))
    assert value == pytest.approx([2 / 3])
    assert values == pytest.approx({"u1": 1, "u2": math.nan, "u3": 1, "u4": 0}, nan_ok=True)


def test_gaps_in_ranks_are_rejected_and_the_remedy_says_that_numbers_change() -> None:
    """MAP@3 of a at 2, b at 4 and c at 5 is (1/2) / 2 in RecTools, (1 + 1) / 2 without gaps."""
    lists = ranked([("u", "a", 2), ("u", "b", 4), ("u", "c", 5)])
    truth = pd.DataFrame({"user_id": "u", "item_id": ["a", "b"]})
    options: dict[str, Any] = {"convention": "rectools"}
    with (
        pytest.raises(sm.DataError, match="moves items up and so changes the values") as error,
        sm.Evaluator(lists, truth, **options) as evaluator,
    ):
        evaluator.evaluate("map@3")
    assert "rank_gaps" in str(error.value)
    with sm.Evaluator(lists, truth, settings={"rank_gaps": "close"}, **options) as evaluator:
        assert evaluator.evaluate("map@3", ci="none")["value"].tolist() == [1]
    told = Convention.load("rectools").differs
    assert any("ranks" in d.there and "rank_gaps=close" in d.here for d in told)


def test_overlap_with_an_empty_baseline_is_rejected() -> None:
    lists = ranked(RANKED[:2])
    with (
        pytest.raises(sm.DataError, match="baseline: the table is empty"),
        sm.Evaluator(lists, baseline=lists.iloc[:0], convention="rectools") as evaluator,
    ):
        evaluator.evaluate("overlap@2")
    assert any("no rows" in d.there for d in Convention.load("rectools").differences("overlap"))


@pytest.mark.parametrize(
    ("convention", "words"),
    [
        ("trec_eval", "Rprec_mult"),
        ("ir_measures", "with judged_only=True; gains of nDCG"),
        ("rectools", 'insufficient_handling="exclude"'),
        ("jurity", "every distance of scikit-learn"),
        ("lenskit", "a missing rating"),
    ],
)
def test_uncovered_choices_are_listed(convention: str, words: str) -> None:
    assert any(words in difference.there for difference in Convention.load(convention).differs)


def test_ignore_is_the_handling_of_short_lists() -> None:
    """RecTools has 1/2, 1/2, 1, 0 of these users with "ignore", and u2 and u3 with "exclude"."""
    lists = ranked([("u1", "a", 1), ("u1", "x", 2), ("u1", "b", 3), ("u2", "a", 1),
                    ("u2", "x", 2), ("u2", "y", 3), ("u3", "a", 1), ("u3", "b", 2)])  # fmt: skip
    truth = pd.DataFrame(
        [("u1", "a"), ("u1", "b"), ("u1", "c"), ("u2", "a"), ("u2", "c"), ("u3", "a"),
         ("u3", "b"), ("u4", "a")], columns=["user_id", "item_id"],
    )  # fmt: skip
    with sm.Evaluator(lists, truth, convention="rectools", check=False) as evaluator:
        users = evaluator.per_user(["PartialAUC", "PAP"], k=2, long=True)
    assert users["partial_auc"].tolist() == pytest.approx([0.5, 0.5, 1, 0])
    assert users["pap"].tolist() == pytest.approx([0.75, 0.5, 1, 0])
