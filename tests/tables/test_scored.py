"""One table with scores and labels: `scored`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import RowsError
from tests.support.command_line import run
from tests.support.evaluators import Evaluator

# shoes: labels 0, 2, 1 by score; hats: 0, 1
SCORED = pd.DataFrame(
    {
        "user_id": ["shoes", "shoes", "shoes", "hats", "hats"],
        "item_id": [1, 2, 3, 4, 5],
        "relevance": [0, 2, 1, 1, 0],
        "score": [0.9, 0.8, 0.1, 0.3, 0.6],
    }
)
MRR = (1 / 2 + 1 / 2) / 2


def test_scores_and_labels_of_one_table() -> None:
    with Evaluator(scored=SCORED) as evaluator:
        frame = evaluator.evaluate(["mrr", "precision@2"])
    assert frame["value"].tolist() == [MRR, (1 / 2 + 1 / 2) / 2]


@pytest.mark.parametrize("suffix", ["", "csv", "parquet"])
def test_documents_without_ids(suffix: str, tmp_path: Path) -> None:
    """The ids only say which label belongs to which score, so the rows do as well."""
    without = SCORED.drop(columns="item_id").rename(columns={"user_id": "qid"})
    source: object = without
    if suffix:
        source = str(tmp_path / f"scored.{suffix}")
        getattr(without, f"to_{suffix}")(source, index=False)
    metrics = ["mrr", "ndcg(gain=linear)@2", "map"]
    with (
        Evaluator(scored=SCORED) as ids,
        Evaluator(scored=source, columns={"user_id": "qid"}) as no,
    ):
        pd.testing.assert_frame_equal(no.evaluate(metrics), ids.evaluate(metrics))


@pytest.mark.parametrize("convention", ["lightgbm", "xgboost", "sklearn"])
def test_equal_scores_keep_the_order_of_rows_without_ids(convention: str) -> None:
    """Ids that rise in each list give the same order as rows."""
    ties = SCORED.assign(score=[0.5, 0.5, 0.5, 0.3, 0.3])
    with (
        Evaluator(scored=ties, convention=convention) as ids,
        Evaluator(scored=ties.drop(columns="item_id"), convention=convention) as no,
    ):
        pd.testing.assert_frame_equal(no.evaluate("ndcg@2"), ids.evaluate("ndcg@2"))


def test_documents_of_different_queries_are_different() -> None:
    """Otherwise, checks would find the same items in all lists."""
    frame = pd.DataFrame({"user_id": range(40), "relevance": 1}).merge(
        pd.DataFrame({"score": [0.9, 0.8, 0.7]}), how="cross"
    )
    with Evaluator(scored=frame) as evaluator:
        found = evaluator.check("ndcg@2")["check"].tolist()
    assert "lists_identical" not in found
    assert "recommendations_dominant_items" not in found


def several(**labels: list[int]) -> pd.DataFrame:
    """Return the documents with the scores of two models; y has the opposite order of x."""
    models = {"x": SCORED, "y": SCORED.assign(score=-SCORED["score"])}
    return pd.concat(
        [
            frame.assign(model=name, relevance=labels.get(name, SCORED["relevance"]))
            for name, frame in models.items()
        ]
    )


@pytest.mark.parametrize("dropped", [[], ["item_id"]], ids=["ids", "no_ids"])
def test_several_models_share_labels(dropped: list[str]) -> None:
    """Labels by the scores of x: 0, 2, 1 and 0, 1; by those of y: 1, 2, 0 and 1, 0."""
    frame = several().sample(frac=1, random_state=0) if not dropped else several()
    with Evaluator(scored=frame.drop(columns=dropped)) as evaluator:
        found = evaluator.evaluate(["mrr", "precision@2", "n_relevant"])
    values = found.pivot(index="model", columns="metric", values="value")
    assert values["mrr"].to_dict() == {"x": MRR, "y": 1}
    assert values["precision"].to_dict() == {"x": 1 / 2, "y": (1 + 1 / 2) / 2}
    assert values["n_relevant"].to_dict() == {"x": 1.5, "y": 1.5}


def test_models_must_agree_on_labels() -> None:
    """Copies of items, which a setting can allow, are another problem."""
    frame = several(y=[0, 2, 1, 1, 1]).rename(columns={"relevance": "grade"})
    columns = {"relevance": "grade"}
    told = r"column relevance \(grade\): models have different labels for 1 item of a user"
    for setting in ("error", "set", "bag", "bag_size"):
        with pytest.raises(RowsError, match=told) as caught:
            Evaluator(scored=frame, columns=columns, settings={"duplicate_interactions": setting})
        assert "duplicate_interactions" not in str(caught.value)
    found = [dict(row) for row in caught.value.examples]
    assert found == [{"user_id": "hats", "item_id": 5, "lowest_label": 0, "highest_label": 1}]
    where = {"interactions": "item_id <> 5"}
    with Evaluator(scored=frame, columns=columns, where=where) as evaluator:
        assert evaluator.evaluate("n_relevant")["value"].tolist() == [1.5, 1.5]


def test_items_that_are_places_need_the_same_order_of_rows() -> None:
    """In the lists of y, the labels of shoes are 1, 2, 0 and those of hats 0, 1."""
    frame = several()
    turned = pd.concat([frame[frame["model"] == "x"], frame[frame["model"] == "y"][::-1]])
    with pytest.raises(RowsError, match="the same rows in the same order") as caught:
        Evaluator(scored=turned.drop(columns="item_id"))
    found = [(row["user_id"], row["place"]) for row in caught.value.examples]
    assert found == [("hats", 1), ("hats", 2), ("shoes", 1), ("shoes", 3)]
    assert "columns={'item_id': …}" in str(caught.value)


def test_a_row_without_a_model_moves_the_places_of_the_others() -> None:
    frame = pd.DataFrame({
        "model": ["x", None, "x", "y", "y", "y"], "user_id": 1,
        "score": [0.9, 0.8, 0.7, 0.5, 0.3, 0.2], "relevance": [1, 0, 2] * 2,
    })  # fmt: skip
    with pytest.raises(RowsError, match="fill in empty models") as caught:
        Evaluator(scored=frame)
    assert [row["place"] for row in caught.value.examples] == [1, 2]


def test_models_with_lists_in_rows_share_whole_lists() -> None:
    lists = {"item_id": [[1, 2], [1, 2]], "score": [[0.1, 0.2], [0.3, 0.1]]}
    frame = pd.DataFrame({"user_id": 7, "model": ["x", "y"], **lists})
    with Evaluator(scored=frame.assign(relevance=[[0, 1]] * 2)) as evaluator:
        assert evaluator.evaluate("mrr")["value"].tolist() == [1, 1 / 2]
    with pytest.raises(RowsError, match="different lists of labels for 2 items of users"):
        Evaluator(scored=frame.assign(relevance=[[0, 1], [1, 0]]))


def test_a_column_of_the_table_is_one_column() -> None:
    frame = SCORED.assign(market=["a", "a", "a", "b", "b"], size=[3, 3, 3, 2, 2])
    with Evaluator(scored=frame) as evaluator:
        found = evaluator.evaluate("precision@1", by=["market", "size(bins=3)"])
    assert found["market"].tolist() == ["a", "b"]
    assert found["value"].tolist() == [0, 0]
    with (
        Evaluator(frame, frame.copy()) as evaluator,
        pytest.raises(sm.UsageError, match="a column of recommendations and a column of inter"),
    ):
        evaluator.evaluate("mrr", by="market")


def test_a_reader_is_read_once() -> None:
    import pyarrow as pa

    reader = pa.Table.from_pandas(SCORED).to_reader()
    with Evaluator(scored=reader) as evaluator:
        assert evaluator.evaluate("mrr")["value"].item() == MRR


def test_command_line_and_its_record(tmp_path: Path) -> None:
    path, record = tmp_path / "scored.csv", tmp_path / "record.json"
    SCORED.rename(columns={"relevance": "label"}).to_csv(path, index=False)
    asked = ["evaluate", "mrr", "--scored", str(path), "--column", "relevance=label"]
    first = run(*asked, "--format", "csv", "--record", record)
    assert f"mrr,,{MRR},2" in first.stdout
    again = run("evaluate", "--from-record", record, "--trust-record", "--format", "csv")
    assert again.stdout == first.stdout


def test_what_the_table_lacks() -> None:
    with pytest.raises(sm.DataError, match="scored: there is no column relevance, the label"):
        Evaluator(scored=SCORED.drop(columns="relevance"))
    with pytest.raises(sm.UsageError, match="no table has a column 'doc'"):
        Evaluator(scored=SCORED, columns={"item_id": "doc"})
    evaluator = Evaluator(scored=SCORED.drop(columns="score"))
    with evaluator, pytest.raises(sm.SqlmetricsError, match="neither a column rank nor a column"):
        evaluator.evaluate("mrr")


def test_rows_without_ids_and_order(tmp_path: Path) -> None:
    """The engine numbers the rows of CSV and Parquet files, but not those of JSON and queries."""
    lines = tmp_path / "scored.jsonl"
    SCORED.drop(columns="item_id").to_json(lines, orient="records", lines=True)
    for source in (str(lines), f"SELECT * FROM '{lines}'"):
        with pytest.raises(sm.DataError, match=r"no column item_id, .* no order"):
            Evaluator(scored=source)


def test_it_is_both_tables() -> None:
    for other in ("recommendations", "interactions"):
        with pytest.raises(sm.UsageError, match=f"so {other}=… cannot be combined with it"):
            Evaluator(scored=SCORED, **{other: SCORED})


def test_sources_that_cannot_be_both() -> None:
    with pytest.raises(sm.UsageError, match="one table with a column model"):
        Evaluator(scored={"als": SCORED, "popular": SCORED})
    with pytest.raises(sm.UsageError, match="cannot be stdin"):
        Evaluator(scored="-")
