"""Every metric in one call over the example tables: one table, nothing missing in it."""

import re

import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from tests.support.paths import DATA

CUTOFFS = [5, 8, 10, 15, 20]
TABLES = {name: DATA / f"{name}.parquet" for name in ("history", "items", "aspects", "logs")}
# a relevance of 1 is judged and not relevant: pairs for AUC, differences for rank correlations
SETTINGS = {"relevant_from": 2}


def test_all_metrics_at_five_cutoffs_are_one_table() -> None:
    models = {name: DATA / f"recommendations_{name}.parquet" for name in ("als", "popular")}
    with sm.Evaluator(
        models, DATA / "interactions.parquet", **TABLES, baseline="popular", settings=SETTINGS
    ) as evaluator:
        result = evaluator.evaluate("all", k=CUTOFFS)
    expected = [
        (model, metric, k) for model in models for metric in Catalog.load().metrics for k in CUTOFFS
    ]
    keys = result[["model", "metric", "k"]].itertuples(index=False, name=None)
    assert list(keys) == expected
    assert result["value"].notna().all()


@pytest.mark.thorough
def test_what_cannot_be_computed_is_left_out_by_name() -> None:
    some = {name: TABLES[name] for name in ("history", "aspects")}
    with sm.Evaluator(
        DATA / "recommendations_als.parquet",
        DATA / "interactions.parquet",
        **some,
        settings=SETTINGS,
    ) as evaluator:
        with pytest.warns(sm.SqlmetricsWarning) as warned:
            result = evaluator.evaluate("all", k=CUTOFFS, skip_missing=True)
        with pytest.raises(sm.MissingTableError, match=r"intra_list_diversity .*items.*--items"):
            evaluator.evaluate("all", k=CUTOFFS)
    (message,) = {str(warning.message) for warning in warned if "left out" in str(warning.message)}
    left_out = set(re.findall(r"\b[a-z_]+\b", " ".join(re.findall(r"\): ([^;]+)", message))))
    assert left_out == {
        "ctr", "doubly_robust", "intra_list_diversity", "ips", "money_precision", "money_recall",
        "unexpectedness",
    }  # fmt: skip
    assert set(result["metric"]) == set(Catalog.load().metrics) - left_out
    assert result["value"].notna().all()
