"""One table with scores and labels: `scored`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
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


def test_a_reader_is_read_once() -> None:
    import pyarrow as pa

    reader = pa.Table.from_pandas(SCORED).to_reader()
    with Evaluator(scored=reader) as evaluator:
        assert evaluator.evaluate("mrr")["value"].item() == MRR


def test_command_line_and_its_record(tmp_path: Path) -> None:
    path, record = tmp_path / "scored.csv", tmp_path / "record.json"
    SCORED.rename(columns={"relevance": "label"}).to_csv(path, index=False)
    asked = ["evaluate", "mrr", "--scored", str(path), "--column", "relevance=label"]
    first = CliRunner().invoke(main, [*asked, "--format", "csv", "--record", str(record)])
    assert first.exit_code == 0, first.output
    assert f"mrr,,{MRR},2" in first.stdout
    again = ["evaluate", "--from-record", str(record), "--trust-record", "--format", "csv"]
    assert CliRunner().invoke(main, again).stdout == first.stdout


def test_what_the_table_lacks() -> None:
    with pytest.raises(sm.DataError, match="scored: there is no column relevance, the label"):
        Evaluator(scored=SCORED.drop(columns="relevance"))
    with pytest.raises(sm.DataError, match="has no column 'item_id'"):
        Evaluator(scored=SCORED.drop(columns="item_id"))
    evaluator = Evaluator(scored=SCORED.drop(columns="score"))
    with evaluator, pytest.raises(sm.SqlmetricsError, match="neither a column rank nor a column"):
        evaluator.evaluate("mrr")


def test_it_is_both_tables() -> None:
    for other in ("recommendations", "interactions"):
        with pytest.raises(sm.UsageError, match=f"so {other}=… cannot be combined with it"):
            Evaluator(scored=SCORED, **{other: SCORED})


def test_sources_that_cannot_be_both() -> None:
    with pytest.raises(sm.UsageError, match="one table with the scores of one model"):
        Evaluator(scored={"als": SCORED, "popular": SCORED})
    with pytest.raises(sm.UsageError, match="cannot be stdin"):
        Evaluator(scored="-")
