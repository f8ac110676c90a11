"""Every column of a dbt package has a description, and every description has its column."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Stage, template_root
from sqlmetrics.tables.schema import COLUMNS
from tests.support.dbt_packages import yaml_of
from tests.support.paths import DATA

STAGES = Catalog.load().stages
DESCRIBED = [stage for stage in STAGES.values() if stage.columns]


def is_in(column: str, text: str) -> bool:
    return re.search(rf"\b{column.removesuffix('N')}", text) is not None


@pytest.mark.parametrize("stage", DESCRIBED, ids=lambda stage: stage.name)
def test_stages_have_the_columns_that_they_describe(stage: Stage) -> None:
    included = re.findall(r'{% include "([^"]+)" %}', stage.body)
    texts = [(template_root() / name).read_text(encoding="utf-8") for name in included]
    body = "\n".join([stage.body, *texts])
    assert [column for column in stage.columns if not is_in(column, body)] == []


def test_shared_descriptions_are_of_columns_that_are_there() -> None:
    root = template_root()
    shared = tomllib.loads((root / "columns.toml").read_text(encoding="utf-8"))
    texts = [path.read_text(encoding="utf-8") for path in root.rglob("*.sql*")]
    of_inputs = {name for columns in COLUMNS.values() for some in columns for name in some}
    everything = "\n".join([*texts, *of_inputs])
    assert [column for column in shared if not is_in(column, everything)] == []


def test_columns_of_seldom_read_stages_are_described(tmp_path: Path) -> None:
    """`test_dbt` looks at the stages that the metrics read without settings of their own."""
    tables = ("recommendations_als", "recommendations_popular", "interactions", "history")
    als, popular, interactions, history = (
        sm.TableName(f"shop.{table}", DATA / f"{table}.parquet") for table in tables
    )
    metrics = [
        "map(divisor=all_positions)", "ndcg(gain=exponential)", "popularity(counted=rows)",
        "inter_list_diversity(sample_users=10)",
    ]  # fmt: skip
    with sm.Evaluator(als, interactions, history=history, baseline=popular) as evaluator:
        evaluator.dbt(tmp_path / "package", metrics, 10)
    models = yaml_of(tmp_path / "package", "models/schema.yml")["models"]
    stages = {
        model["name"].removeprefix("sqlmetrics_"): model["columns"]
        for model in models
        if model["name"].removeprefix("sqlmetrics_") in STAGES
    }
    assert {"harmonics", "ideal_lists", "listed_rows", "sampled_users"} <= stages.keys()
    undescribed = [
        (name, column["name"])
        for name, columns in stages.items()
        for column in columns
        if not column.get("description")
    ]
    assert undescribed == []
