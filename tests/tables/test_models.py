"""Several models: as a dict, a column or repeated options."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sqlmetrics as sm
from sqlmetrics.tables.models import pattern_of_models
from tests.support.command_line import run
from tests.support.evaluators import Evaluator
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
    result = run("per-user", METRIC, *arguments)
    both({
        (row["model"], row["user_id"]): row["mrr@3"]
        for row in json.loads(result.stdout)
    })  # fmt: skip


def test_one_named_model_gives_a_column() -> None:
    with Evaluator({"als": lists_table()}, truth_table()) as evaluator:
        assert list(evaluator.evaluate("mrr")["model"]) == ["als"]
    with Evaluator(lists_table(), truth_table()) as evaluator:
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


NAMES = ["SASRec+ (ours)", "als v2.1", "k=10", "model-00", "{{ x }}"]


def test_models_may_have_any_name(tmp_path: Path) -> None:
    models = {name: lists_table() for name in NAMES} | {7: upside_down()}
    with Evaluator(models, truth_table()) as evaluator:
        assert sorted(evaluator.leaderboard("mrr")["model"]) == sorted([*NAMES, "7"])
    truth = write_parquet(tmp_path / "truth.parquet", truth_table())
    path = write_parquet(tmp_path / "a=1.parquet", lists_table())
    options = [part for name in NAMES for part in ("-r", f"{name}={path}")]
    result = run("evaluate", "mrr", *options, "-i", truth, "--format", "json")
    assert [row["model"] for row in json.loads(result.stdout)] == NAMES


def test_names_that_cannot_be_written_are_refused() -> None:
    models: Any
    for models, error in (
        ({" ": lists_table()}, "the name of a model is empty"),
        ({1: lists_table(), "1": lists_table()}, "two models have the name '1'"),
        ({"a\0b": lists_table()}, "has a character that is not text"),
        ({None: lists_table(), "b": lists_table()}, "the name of a model is empty"),
    ):
        with pytest.raises(sm.UsageError, match=error):
            Evaluator(models, truth_table())


def test_a_dict_is_of_models_or_of_users_by_its_values() -> None:
    lists = lists_table().to_pandas().groupby("user_id")["item_id"]
    of_users = {user: list(items) for user, items in lists}
    with Evaluator({1: of_users, 2: of_users}, truth_table()) as evaluator:
        assert evaluator.models == ["1", "2"]
    with Evaluator(dict(iter(lists)), truth_table()) as evaluator:
        assert evaluator.models == []  # a series of items per user


# ---- models in files -----------------------------------------------------------------------------


def test_models_named_by_their_files(tmp_path: Path) -> None:
    tmp_path = tmp_path / "runs [1]"
    for model, table in (("a", lists_table()), ("b", upside_down())):
        (tmp_path / "runs" / model).mkdir(parents=True)
        write_parquet(tmp_path / f"{model}.parquet", table)
        write_parquet(tmp_path / "runs" / model / "1.parquet", table.slice(0, 3))
        write_parquet(tmp_path / "runs" / model / "2.parquet", table.slice(3))
    keys = ("model", "user_id")
    both(values(str(tmp_path / "{model}.parquet"), keys=keys))
    both(values(tmp_path / "runs" / "{model}", keys=keys))
    both(values(str(tmp_path / "runs/{model}/*.parquet"), keys=keys))
    both(values(str(tmp_path / "**" / "{model}" / "[!3].parquet"), keys=keys))
    with pytest.raises(sm.DataError, match=r"no file matches .*\{model\}\.csv"):
        Evaluator(str(tmp_path / "{model}.csv"), truth_table())


@pytest.mark.usefixtures("here")
def test_a_path_that_names_models_may_have_an_equals_sign() -> None:
    """Folders as Hive names them; NAME=FILE is another form of the same option."""
    write_csv(Path("truth.csv"), truth_table())
    for model in ("als", "popular"):
        for path in (Path(f"runs/model={model}/a.csv"), Path(f"k=1/{model}.csv")):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_csv(path, lists_table())
    for pattern in ("runs/model={model}/a.csv", "runs/model={model}", "k=1/{model}.csv"):
        command = ["evaluate", METRIC, "-r", pattern, "-i", "truth.csv", "--format", "json"]
        result = run(*command, "--no-check")
        assert [row["model"] for row in json.loads(result.stdout)] == ["als", "popular"]


def test_the_pattern_of_files_that_differ_in_one_name() -> None:
    for files, pattern in (
        (["runs/a-1.csv", "runs/b.csv"], "runs/{model}.csv"),
        (["runs/a/recs.csv", "runs/b/recs.csv"], "runs/{model}/recs.csv"),
        (["a.csv", "b.csv.gz"], ""),
        (["a/1.csv", "b/2.csv"], ""),
        (["a.csv"], ""),
        (["s3://runs/a.csv", "s3://runs/b.csv"], ""),
    ):
        assert pattern_of_models(files) == pattern


def test_duplicates_in_several_files_may_be_models(tmp_path: Path) -> None:
    for model in "ab":
        write_parquet(tmp_path / f"{model}.parquet", lists_table("score"))
    with (
        Evaluator(str(tmp_path / "*.parquet"), truth_table()) as evaluator,
        pytest.raises(sm.DataError) as raised,
    ):
        evaluator.evaluate("mrr")
    named = f"recommendations={str(tmp_path / '{model}.parquet')!r}"
    assert str(raised.value.remedy).startswith(
        f"if each of the 2 files is a model, write {named}; otherwise remove the repeated rows"
    )


# ---- columns -------------------------------------------------------------------------------------


def with_list_column() -> pa.Table:
    """Return the lists as one row per user."""
    lists = lists_table().sort_by([("user_id", "ascending"), ("rank", "ascending")])
    frame = lists.to_pandas().groupby("user_id")["item_id"].apply(list).reset_index()
    return pa.Table.from_pandas(frame, preserve_index=False)


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (lists_table("score"), "by rank: b; by score: a"),
        (lists_table("rank").append_column("day", [[1] * len(lists_table())]), "by rank: b, a"),
    ],
    ids=["scores", "ranks"],
)
def test_models_with_different_columns(
    other: pa.Table, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Models without a shared order have their own, also as a list per user."""
    with caplog.at_level(logging.INFO, "sqlmetrics"):
        both(values({"b": upside_down(), "a": other}, keys=("model", "user_id")))
        of_lists = values({"a": with_list_column(), "b": other}, keys=("model", "user_id"))
    both_right = {(model, user): value for model in "ab" for user, value in EXPECTED.items()}
    assert of_lists == pytest.approx(both_right)
    said = " ".join(record.getMessage() for record in caplog.records)
    assert (note in said) is ("score" in other.column_names)


def test_ranks_that_are_not_read_are_warned_of() -> None:
    ranked = lists_table("score").append_column("rank", upside_down()["rank"])
    with pytest.warns(sm.SqlmetricsWarning, match="the column rank of a is not read") as caught:
        found = values({"a": ranked, "b": lists_table("score")}, keys=("model", "user_id"))
    assert len(caught) == 1
    assert found["a", 1] == found["b", 1] == EXPECTED[1]


def test_an_order_that_a_model_lacks() -> None:
    models = {"a": lists_table("rank"), "b": lists_table("score")}
    with (
        Evaluator(models, truth_table(), settings={"order": "rank"}) as evaluator,
        pytest.raises(sm.DataError, match="recommendations of b has no column rank to order"),
    ):
        evaluator.evaluate("mrr")


def test_ranks_are_not_predictions() -> None:
    logs = pa.table({"user_id": [1], "item_id": [1], "reward": [1.0], "propensity": [0.5]})
    models = {"a": lists_table("score"), "b": lists_table("rank")}
    with (
        Evaluator(models, truth_table(), logs=logs) as evaluator,
        pytest.raises(sm.MissingTableError, match="given as recommendations of b does not have"),
    ):
        evaluator.evaluate("doubly_robust@2")
