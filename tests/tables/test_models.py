"""Several models: as a dict, a column or repeated options."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.source_rows import (
    EXPECTED,
    METRIC,
    both,
    lists_table,
    truth_table,
    upside_down,
    values,
    write_csv,
    write_parquet,
)


def test_models_by_dict(tmp_path: Path) -> None:
    keys = ("model", "user_id")
    both(values({"a": lists_table(), "b": upside_down()}, keys=keys))
    path = write_parquet(tmp_path / "b.parquet", upside_down())
    both(values({"a": lists_table().to_pandas(), "b": str(path)}, keys=keys))
    both(
        values({"a": [write_parquet(tmp_path / "a.parquet", lists_table())], "b": path}, keys=keys)
    )


def test_models_by_column() -> None:
    tables = [
        table.append_column("model", [[name] * table.num_rows])
        for name, table in (("b", upside_down()), ("a", lists_table()))
    ]
    both(values(pa.concat_tables(tables), keys=("model", "user_id")))


def test_models_by_option(tmp_path: Path) -> None:
    a = write_parquet(tmp_path / "a.parquet", lists_table())
    b = write_csv(tmp_path / "b=1.csv", upside_down())
    truth = write_parquet(tmp_path / "truth.parquet", truth_table())
    arguments = ["-r", f"a={a}", "-r", f"b={b}", "-i", str(truth), "--format", "json"]
    result = CliRunner().invoke(main, ["per-user", METRIC, *arguments])
    assert result.exit_code == 0, result.stderr
    both({
        (row["model"], row["user_id"]): row["mrr"]
        for row in json.loads(result.stdout)
    })  # fmt: skip


def test_one_named_model_gives_a_column() -> None:
    with sm.Evaluator({"als": lists_table()}, truth_table()) as evaluator:
        assert list(evaluator.evaluate("mrr")["model"]) == ["als"]
    with sm.Evaluator(lists_table(), truth_table()) as evaluator:
        assert "model" not in evaluator.evaluate("mrr").columns


def test_models_with_integers_of_different_widths() -> None:
    narrow = upside_down()
    narrow = narrow.set_column(0, "user_id", narrow["user_id"].cast(pa.int16()))
    both(values({"a": lists_table(), "b": narrow}, keys=("model", "user_id")))


def test_a_model_without_some_users_is_filled() -> None:
    found = values({"a": lists_table(), "b": lists_table().slice(0, 3)}, keys=("model", "user_id"))
    assert found["b", 3] == 0
    assert len(found) == 2 * len(EXPECTED)


def test_the_columns_of_models_may_stand_in_any_order() -> None:
    turned = upside_down().select(["rank", "item_id", "user_id"])
    both(values({"a": lists_table(), "b": turned}, keys=("model", "user_id")))
