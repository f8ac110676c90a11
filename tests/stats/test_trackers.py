"""Names and values for experiment trackers."""

from __future__ import annotations

import posixpath
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.stats.trackers import nested_values


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    base = {"metric": "ndcg", "k": 10, "value": 0.5, "n_users": 3, "std": 0.1}
    made = pd.DataFrame([{**base, **row} for row in rows]).astype({"k": "Int64"})
    return made[[*made.columns.difference(list(base), sort=False), *base]]


def accepted_by_mlflow(name: str) -> bool:
    """Return whether mlflow 3.17 accepts the name of a metric, also on Windows."""
    whole = posixpath.normpath(name) == name and not name.startswith(("..", "/")) and name != "."
    return whole and re.match(r"^[/\w.\- ]*$", name) is not None


def test_names() -> None:
    assert sm.values_by_name(frame({}, {"k": None, "value": 1})) == {"ndcg_at_10": 0.5, "ndcg": 1.0}
    result = frame({"model": "als", "convention": "ranx", "country": "DE"})
    assert sm.values_by_name(result) == {"als/ranx/country_DE/ndcg_at_10": 0.5}
    assert nested_values(result) == {"als": {"ranx": {"country=DE": {"ndcg@10": 0.5}}}}


@pytest.mark.parametrize(
    ("model", "metric", "name"),
    [
        ("als v2.1 (ours)", "ndcg", "als v2.1 _ours/ndcg_at_10"),
        ("s3://lists/a", "f_beta(beta=0.5)", "s3_lists_a/f_beta_beta_0.5_at_10"),
        ("..", "ndcg(gain=linear, ideal=all_k)", "_/ndcg_gain_linear_ideal_all_k_at_10"),
        ("@@", "ndcg", "_/ndcg_at_10"),
        ("日本", "ndcg", "日本/ndcg_at_10"),
    ],
)
def test_names_are_accepted_by_mlflow(model: str, metric: str, name: str) -> None:
    assert list(sm.values_by_name(frame({"model": model, "metric": metric}))) == [name]
    assert accepted_by_mlflow(name)
    assert not accepted_by_mlflow(f"{model}/{metric}@10")


def test_missing_values_are_omitted() -> None:
    result = frame({"model": "a", "value": np.nan}, {"model": "b"})
    assert sm.values_by_name(result) == {"b/ndcg_at_10": 0.5}
    assert nested_values(result) == {"b": {"ndcg@10": 0.5}}


def test_equal_names_and_other_results_are_refused() -> None:
    with pytest.raises(sm.UsageError, match="same name for trackers, 'a_b/ndcg_at_10'; rename"):
        sm.values_by_name(frame({"model": "a:b"}, {"model": "a=b"}))
    with pytest.raises(sm.UsageError, match="take results of evaluate"):
        sm.values_by_name(frame({}).drop(columns="std"))
