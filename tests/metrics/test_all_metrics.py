"""All metrics in one call: one table without missing values."""

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.calls import definitions
from tests.support.evaluators import Evaluator
from tests.support.further_tables import (
    ALL,
    CATALOG,
    EVERYTHING,
    GRADED,
    VALUES,
    close,
    evaluate,
    more,
)
from tests.support.paths import DATA

FIVE_CUTOFFS = [5, 8, 10, 15, 20]
EXAMPLE_TABLES = {
    name: DATA / f"{name}.parquet" for name in ("history", "items", "aspects", "logs")
}
# a relevance of 1 is judged and not relevant: pairs for AUC, differences for rank correlations
EXAMPLE_SETTINGS = {"relevant_from": 2}


def test_all_metrics_at_five_cutoffs_are_one_table() -> None:
    models = {name: DATA / f"recommendations_{name}.parquet" for name in ("als", "popular")}
    with Evaluator(
        models,
        DATA / "interactions.parquet",
        **EXAMPLE_TABLES,
        baseline="popular",
        settings=EXAMPLE_SETTINGS,
    ) as evaluator:
        result = evaluator.evaluate("all", k=FIVE_CUTOFFS)
    expected = [(model, metric, k) for model in models for metric in ALL for k in FIVE_CUTOFFS]
    keys = result[["model", "metric", "k"]].itertuples(index=False, name=None)
    assert list(keys) == expected
    assert result["value"].notna().all()


def test_metrics_that_need_ratings_or_a_whole_catalogue_are_not_among_all() -> None:
    """Nor `cwl`, whose default is rbp: its browsing models are metrics of their own. Few tables
    have times for `item_age`."""
    of_ratings = {metric.name for metric in CATALOG.metrics.values() if metric.family == "ratings"}
    of_logs = {metric.name for metric in CATALOG.metrics.values() if metric.family == "logs"}
    of_logs -= {"ctr", "ips", "doubly_robust"}
    others = {"cwl", "gauc", "item_age", "pearson"}
    assert CATALOG.metrics.keys() - ALL.keys() == of_ratings | of_logs | others


def test_all_is_every_metric_once(everything: sm.Evaluator) -> None:
    result = everything.evaluate("all")
    assert result["metric"].tolist() == list(ALL)
    assert result["k"].isna().all()
    # only one relevant item is not in the history, and so only one group of items
    assert result[result["value"].isna()]["metric"].tolist() == ["equal_opportunity"]
    values = result.set_index("metric")["value"].to_dict()
    known = {metric: value for metric, value in VALUES.items() if metric in values}
    assert len(known) > 10
    assert {metric: values[metric] for metric in known} == close(known)


def test_all_per_user_is_every_metric_that_has_such_values(everything: sm.Evaluator) -> None:
    frame = everything.per_user("all@2", long=True)
    of_users = [metric.name for metric in ALL.values() if metric.grain == "user"]
    assert list(frame.columns) == ["user_id", "k", *of_users]
    assert 0 < len(of_users) < len(ALL)
    assert frame["k"].tolist() == [2, 2]
    assert frame.notna().all(axis=None)


def test_all_at_a_cutoff(everything: sm.Evaluator) -> None:
    at_ten = everything.evaluate("all@10")
    assert at_ten["metric"].tolist() == list(ALL)
    assert set(at_ten["k"]) == {10}
    expected = everything.evaluate(list(ALL), k=10)
    pd.testing.assert_frame_equal(at_ten, expected)
    several = definitions(everything).specs(["mrr@2", "all@1", "all"], k=[1, 2])
    pairs = [(spec.name, k) for spec, cutoffs in several.items() for k in cutoffs]
    assert pairs[0] == ("mrr", 2)
    assert set(pairs) == {(metric, k) for metric in ALL for k in (1, 2)}


@pytest.mark.parametrize("spec", ["all(divisor=k)", "all(divisor=k)@10", "all(audience=both)"])
def test_all_takes_no_parameters(everything: sm.Evaluator, spec: str) -> None:
    for call in (everything.evaluate, everything.per_user, everything.sql):
        with pytest.raises(sm.UsageError) as caught:
            call(spec)
        assert spec in str(caught.value)
        assert "settings={'NAME': …}" in str(caught.value)


def test_settings_reach_all() -> None:
    truth = more(GRADED, {"user_id": 3, "item_id": 10, "relevance": 1})  # user 3 has no list
    settings = {"audience": "both", "map.divisor": "k"}
    result = evaluate("all@2", **{**EVERYTHING, "interactions": truth}, settings=settings)
    rows = result.set_index("metric")
    assert rows["n_users"]["mrr"] == 2
    assert rows["value"]["mrr"] == VALUES["mrr"]
    assert rows["value"]["map"] == pytest.approx(((1 / 1) / 2 + (1 / 2) / 2) / 2, abs=1e-15)
