"""Faults that a review found, each as it was found."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import sqlmetrics as sm

LISTS = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [10, 12, 11, 13], "rank": [1, 2, 1, 2]})
TRUTH = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [10, 14, 11, 14]})


@pytest.mark.parametrize("name", ["map.divisor", "ap.divisor", "MAP.divisor"])
def test_a_setting_of_one_metric_holds_in_every_spelling(name: str) -> None:
    # one hit at rank 1: AP@3 = 1 / 3 with divisor k, 1 / 2 with the default
    with sm.Evaluator(LISTS, TRUTH, settings={name: "k"}) as evaluator:
        assert evaluator.evaluate("map@3")["value"][0] == pytest.approx(1 / 3)


def test_two_spellings_with_two_values_are_refused() -> None:
    with pytest.raises(sm.UsageError, match="set twice"):
        sm.Evaluator(LISTS, TRUTH, settings={"map.divisor": "k", "ap.divisor": "relevant"})


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_negative_grades_are_worth_nothing(gain: str) -> None:
    truth = TRUTH.assign(relevance=[-2, -1, -1, 3])
    with sm.Evaluator(LISTS, truth, settings={"relevant_from": -2}) as evaluator:
        users = evaluator.per_user([f"ndcg(gain={gain})", "recall"])
    # every hit has a grade below 0; the best list is worth more than nothing for user 2 only
    assert users[f"ndcg(gain={gain})"].tolist() == [0, 0]
    assert users["recall"].tolist() == [0.5, 0.5]


def test_unsigned_grades() -> None:
    truth = TRUTH.assign(relevance=pd.array([1, 3, 2, 3], dtype="uint8"))
    with sm.Evaluator(LISTS, truth) as evaluator:
        users = evaluator.per_user(["dcg(gain=exponential)@1"])
    assert users["dcg(gain=exponential)"].tolist() == pytest.approx([1, 3])


@pytest.mark.parametrize("key", ["n_relevant", "n_rows", "hit_number"])
def test_a_key_with_the_name_of_a_computed_column_is_refused(key: str) -> None:
    lists, truth = (t.rename(columns={"user_id": key}) for t in (LISTS, TRUTH))
    with pytest.raises(sm.UsageError, match=key):
        sm.Evaluator(lists, truth, key=key).evaluate("ndcg")


def own(folder: Path, name: str, query: str) -> Path:
    text = f'{{#---\ntitle = "x"\nwhen_empty = 0\n---#}}\n{query}'
    (folder / f"{name}.sql.j2").write_text(text, encoding="utf-8")
    return folder


def test_several_rows_for_one_user_and_k_are_refused(tmp_path: Path) -> None:
    truth = pd.concat([TRUTH, pd.DataFrame({"user_id": [1], "item_id": [12]})])
    folder = own(tmp_path, "rows", "SELECT {{ keys }}, k, rank AS value FROM hits")
    with (
        pytest.raises(sm.SqlmetricsError, match="rows: several rows for one user and k"),
        sm.Evaluator(LISTS, truth, templates=folder) as evaluator,
    ):
        evaluator.evaluate("rows@2")


def test_a_metric_may_be_called_like_a_word_of_sql(tmp_path: Path) -> None:
    query = "SELECT {{ keys }}, k, product(rank) AS value FROM hits GROUP BY {{ keys }}, k"
    folder = own(tmp_path, "union", query)
    with sm.Evaluator(LISTS, TRUTH, templates=folder) as evaluator:
        assert evaluator.evaluate("union@2")["value"][0] == 1


@pytest.mark.parametrize("value", ["coalesce(k)", "coalesce(NULL, k)", "least(k, NULL)"])
def test_expressions_of_k_that_are_null_for_whole_lists(tmp_path: Path, value: str) -> None:
    query = f"SELECT {{{{ keys }}}}, k, {value} AS value FROM hits GROUP BY {{{{ keys }}}}, k"
    with sm.Evaluator(LISTS, TRUTH, templates=own(tmp_path, "mine", query)) as evaluator:
        (row,) = evaluator.evaluate("mine").to_dict("records")
    assert row["n_users"] == 0  # NULL in a row: undefined, which is not the value of an empty list
    assert pd.isna(row["value"])


def test_ids_of_csv_files_stay_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text(
        "user_id,item_id,rank\n1,1e2,1\n1,007,2\n1,2020-1-1,3\n1,x,4\n"
    )
    (tmp_path / "truth.csv").write_text("user_id,item_id\n1,100\n1,7\n1,2020-01-01\n1,x\n")
    with sm.Evaluator(tmp_path / "lists.csv", tmp_path / "truth.csv") as evaluator:
        assert evaluator.evaluate("recall")["value"][0] == 1 / 4  # x alone
        items = evaluator.stage("ranked").sort_values("rank")["item_id"]
        assert items.tolist() == ["1e2", "007", "2020-1-1", "x"]


@pytest.mark.parametrize(
    "item",
    [{"item_id": [["a", "b"]], "score": [0.1]}, {"item_id": ["a"], "score": [[0.1, 0.2]]}],
)
def test_lists_beside_single_values_are_refused(item: dict[str, list[object]]) -> None:
    with pytest.raises(sm.DataError, match="score"):
        sm.Evaluator(pd.DataFrame({"user_id": ["u"], **item}), {"u": ["a"]})


def test_order_auto_is_no_other_metric() -> None:
    with sm.Evaluator(LISTS, TRUTH) as evaluator:
        assert evaluator.evaluate(["ndcg", "ndcg(order=auto)"])["metric"].tolist() == ["ndcg"]
