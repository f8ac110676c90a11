"""The lists and descriptions in Python, and what tools for writing code see of the package."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.report.figures import KINDS, FigureKind


def test_the_package_shows_its_public_names_only() -> None:
    assert dir(sm) == sorted(sm.__all__)
    assert all(getattr(sm, name) is not None for name in sm.__all__)
    assert Path(str(sm.__file__)).with_name("py.typed").is_file()
    assert get_args(FigureKind) == tuple(KINDS)


def test_an_argument_of_another_method_names_the_method() -> None:
    with sm.Evaluator({"a": {1: ["x"]}, "b": {1: ["y"]}}, {1: ["x"]}) as evaluator:
        message = r"compare has no argument 'gap'; it is an argument of evaluate$"
        with pytest.raises(TypeError, match=message):
            evaluator.compare("recall@1", baseline="a", gap="difference")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"compare has no argument 'gaps'$"):
            evaluator.compare("recall@1", baseline="a", gaps="mad")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="per_user has no argument 'gap'"):
            evaluator.per_user("recall@1", gap="difference")


@pytest.mark.parametrize("method", ["report", "check", "findings"])
def test_an_unknown_option_that_is_passed_on_names_the_method(method: str) -> None:
    with sm.Evaluator({"a": {1: ["x"]}}, {1: ["x"]}) as evaluator:
        with pytest.raises(TypeError, match=rf"^{method} has no argument 'titel'$"):
            getattr(evaluator, method)("recall@1", titel="nightly")
        with pytest.raises(TypeError, match=r"^plot has no argument 'titel'$"):
            evaluator.plot("cutoffs", titel="nightly")
    with pytest.raises(TypeError, match=r"^split_sql has no argument 'shares'$"):
        sm.split_sql("events.csv", by="random", shares=0.2)


def test_lists() -> None:
    catalog = Catalog.load()
    assert list(sm.list_metrics()["metric"]) == list(catalog.metrics)
    assert list(sm.list_slices()["slice"]) == list(catalog.slices)
    assert list(sm.list_stages()["stage"]) == list(catalog.stages)
    assert set(sm.list_conventions()["convention"]) >= {"standard", "rectools", "trec_eval"}


def test_the_description_of_a_call_has_its_query_and_settings() -> None:
    plain = sm.description("ndcg")
    text = sm.description("NDCG(divide_by_achievable=True)@10", convention="rectools")
    assert repr(plain) == plain
    assert text.startswith("ndcg(duplicate_recommendations=join, ideal=min_k_relevant)@10: ")
    assert "convention:    rectools\n" in text
    assert "duplicate_interactions = error | set | bag | bag_size [error], here bag\n" in text
    assert ", here" not in plain
    assert "power(2" in sm.description("ndcg(gain=exponential)").rpartition("SELECT")[2]
    assert "power(2" not in plain.rpartition("SELECT")[2]


def test_shared_settings_are_described_where_they_matter() -> None:
    diversity, ndcg = sm.description("inter_list_diversity"), sm.description("ndcg")
    for setting, of_ndcg in (("relevant_from", True), ("rank_gaps", True), ("catalogue", False)):
        assert (f"\n  {setting} = " in ndcg) is of_ndcg
    assert "\n  relevant_from = " not in diversity


def test_the_description_of_a_stage_has_its_columns_and_readers() -> None:
    text = sm.description("hits")
    assert text.startswith("stage hits: one row per hit")
    assert "reads:           hit_ranks, relevant_users, lists\n" in text
    readers = next(line for line in text.splitlines() if line.startswith("read by metrics:"))
    assert {"ndcg,", "recall,"} <= set(readers.split())
    assert "  n_relevant      number of relevant items of the user\n" in text
    assert sm.description("activity").startswith("slice activity: ")
    assert sm.description("rectools").startswith("rectools: RecTools")


@pytest.mark.parametrize(
    ("name", "convention", "error"),
    [
        ("hitz", "standard", "unknown metric, slice or stage 'hitz'; did you mean 'hits'"),
        ("recip_rank", "standard", "'recip_rank'; it is the name of mrr in"),
        ("coverage", "trec_eval", "the convention trec_eval does not cover coverage"),
        ("ndcg", "trec", "unknown convention 'trec'"),
    ],
)
def test_names_that_nothing_has(name: str, convention: str, error: str) -> None:
    with pytest.raises(sm.UsageError, match=error):
        sm.description(name, convention=convention)


def test_an_evaluator_shows_what_is_loaded() -> None:
    lists = pd.DataFrame({"user_id": [1], "item_id": [1], "rank": [1]})
    given = {"settings": {"ties": "item_desc"}, "where": {"interactions": "item_id > 0"}}
    with sm.Evaluator({"als": lists, 2: lists}, lists[["user_id", "item_id"]], **given) as ours:
        shown = repr(ours).splitlines()
    assert shown[:-1] == [
        "Evaluator",
        "  recommendations: 2 models (als, 2): user_id, item_id, rank, model",
        "  interactions: the table given as interactions: user_id, item_id",
        "  convention: standard",
        "  settings: ties=item_desc",
        "  where: interactions: item_id > 0",
    ]
    assert shown[-1].startswith("  engine: duckdb ")
