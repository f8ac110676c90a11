"""Tables and columns that a metric needs and that are not given; skip_missing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.further_tables import (
    ALL,
    CATALOG,
    EVERYTHING,
    HISTORY,
    NEED_MORE,
    NEEDS,
    RANKED,
    TABLES,
    TRUTH,
    VALUES,
    Evaluator,
    changed,
    evaluate,
    left_out,
    renamed,
)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_was_not_given(table: str) -> None:
    given = {name: source for name, source in EVERYTHING.items() if name != table}
    with Evaluator(**given) as evaluator:
        for metric, column in NEEDS[table].items():
            with pytest.raises(sm.MissingTableError) as caught:
                evaluator.evaluate(["mrr", metric])
            message = str(caught.value)
            name = metric.partition("(")[0]
            for words in (f"the metric {name} ", f"table {table}", f"{table}=…",
                          "skip_missing=True"):  # fmt: skip
                assert words in message
            # of several columns that the metric needs, the message names the first
            of_items = ["item_group"] if metric.endswith("(target=given)") else []
            named = [f"column {one}" in message for one in [*of_items, column] if one]
            assert named[:1] in ([], [True])
            assert "\n" not in message
        assert evaluator.evaluate("mrr")["value"].item() == VALUES["mrr"]


COLUMNS = {
    (table, column): [metric for metric, other in metrics.items() if other == column]
    for table, metrics in NEEDS.items()
    for column in metrics.values()
    if column is not None
}


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_column_that_was_not_given(table: str, column: str) -> None:
    fewer = {**EVERYTHING, table: EVERYTHING[table].drop_columns(column)}
    with Evaluator(**fewer) as evaluator:
        for metric in COLUMNS[table, column]:
            with pytest.raises(sm.MissingTableError) as caught:
                evaluator.evaluate(["mrr", metric])
            for words in (f"the metric {metric.partition('(')[0]} ", f"column {column}",
                          f"table {table}",
                          f"'{table}.{column}'", "skip_missing=True"):  # fmt: skip
                assert words in str(caught.value)


def test_a_column_that_is_named_as_the_message_proposes(everything: sm.Evaluator) -> None:
    metrics = [metric for group in COLUMNS.values() for metric in group]
    given = dict(EVERYTHING)
    for table, column in COLUMNS:
        given[table] = renamed(given[table], column)
    columns = {f"{table}.{column}": f"the_{column}" for table, column in COLUMNS}
    found = evaluate(metrics, **given, columns=columns)
    pd.testing.assert_frame_equal(found, everything.evaluate(metrics))


@pytest.mark.parametrize("way", ["evaluate", "per_user", "sql", "write_parquet"])
def test_skip_missing_leaves_out_what_cannot_be_computed(
    smallest: sm.Evaluator, way: str, tmp_path: Path
) -> None:
    path = [tmp_path / "a.parquet"] if way == "write_parquet" else []
    with pytest.warns(sm.SqlmetricsWarning) as warned:
        result = getattr(smallest, way)(*path, "all", skip_missing=True)
    missing = set(NEED_MORE)
    if way == "per_user":
        missing = {name for name in missing if CATALOG.metrics[name].grain == "user"}
    (warning,) = warned
    messages = left_out(str(warning.message))
    assert set(messages) == missing
    for table, metrics in NEEDS.items():
        for metric, column in metrics.items():
            message = messages.get(metric, "")
            others = [one for one in NEEDS if one != table and metric in NEEDS[one]]
            named = table in message or not any(one in message for one in others)
            if message and named:  # the first that is missing, of metrics that need several
                option = f"{table}=…" if table in TABLES else f"columns={{'{table}.{column}': …}}"
                for words in (table, column or "", option):
                    assert words in message
    if way == "per_user":
        assert missing.isdisjoint(result.columns)
        assert {"mrr", "ndcg"} <= set(result.columns)
    elif way != "sql":
        result = pd.read_parquet(path[0]) if path else result
        assert set(result["metric"]) == ALL.keys() - missing
        assert result.set_index("metric")["value"]["mrr"] == VALUES["mrr"]


def test_skip_missing_names_a_metric_once(smallest: sm.Evaluator) -> None:
    with pytest.warns(sm.SqlmetricsWarning, match=": ips$") as warned:
        result = smallest.evaluate(["ips", "mrr", "ips@1"], k=[1, 2], skip_missing=True)
    assert len(warned) == 1
    pairs = list(result[["metric", "k"]].itertuples(index=False, name=None))
    assert pairs == [("mrr", 1), ("mrr", 2)]


def test_skip_missing_leaves_out_nothing_that_can_be_computed(everything: sm.Evaluator) -> None:
    found = everything.evaluate("all@2", skip_missing=True)  # a warning would be an error here
    pd.testing.assert_frame_equal(found, everything.evaluate("all@2"))


def test_skip_missing_of_everything(smallest: sm.Evaluator) -> None:
    for call in (smallest.evaluate, smallest.per_user, smallest.sql):
        with pytest.raises(sm.MissingTableError, match=r"popularity.*history=…") as caught:
            call(["popularity", "surprisal"], skip_missing=True)
        assert "skip_missing" not in str(caught.value)  # which was given


def test_skip_missing_is_not_for_other_mistakes() -> None:
    with Evaluator(RANKED, TRUTH, history=changed(HISTORY, "user_id", 1, None)) as evaluator:
        with pytest.raises(sm.DataError, match="history"):
            evaluator.evaluate(["mrr", "popularity"], skip_missing=True)
        with pytest.raises(sm.UsageError, match="unknown metric"):
            evaluator.evaluate(["mrr", "popularityy"], skip_missing=True)
