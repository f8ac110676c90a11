"""Templates read the tables of the user, and no other files."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator

READS = """\
{#---
title = "Reads what is none of the tables"
audience = "recommended"
---#}
SELECT {{ keys }}, k, max((SELECT count(*) FROM %s)) AS value
FROM listed
GROUP BY {{ keys }}, k
"""


@pytest.mark.parametrize(
    "what",
    ["read_csv('{file}')", "read_text('{file}')", "read_blob('{folder}/*')", "glob('{folder}/*')",
     "read_parquet('{data}/*.parquet')", "read_parquet('{data}/scores.parquet')"],
)  # fmt: skip
def test_templates_read_the_tables_and_no_other_files(
    data: Path, tmp_path: Path, what: str
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    own = tmp_path / "own"
    own.mkdir()
    reads = what.format(file=secret, folder=tmp_path, data=data)
    (own / "reads.sql.j2").write_text(READS % reads)
    lists, truth = data / "ranks.parquet", data / "truth.parquet"
    with Evaluator(lists, truth, templates=own) as evaluator:
        with pytest.raises(sm.TemplateError) as caught:
            evaluator.evaluate("reads@10")
        assert "Cannot access file" in str(caught.value)
        assert "Pass the file as a table" in str(caught.value)
        assert evaluator.evaluate("ndcg@10")["n_users"][0] == 600
    with (
        duckdb.connect() as connection,
        Evaluator(lists, truth, templates=own, connection=connection) as evaluator,
    ):  # that is the caller's to decide
        assert evaluator.evaluate("reads@10")["value"][0] >= 1


def test_templates_do_not_see_what_the_caller_has(data: Path, tmp_path: Path) -> None:
    """A frame in a variable is no table; the engine would look for one by itself."""
    frame_of_the_caller = pd.DataFrame({"a": [1]})
    (tmp_path / "reads.sql.j2").write_text(READS % "frame_of_the_caller")
    with (
        Evaluator(data / "ranks.parquet", data / "truth.parquet", templates=tmp_path) as evaluator,
        pytest.raises(sm.TemplateError, match="frame_of_the_caller"),
    ):
        evaluator.evaluate("reads@10")
    assert len(frame_of_the_caller) == 1


def test_a_lock_is_of_the_files_as_they_were_named(data: Path, tmp_path: Path) -> None:
    """Links, and folders of links, lead where they lead; relative paths are of the folder then."""
    (tmp_path / "lists").symlink_to(data / "ranks.parquet")
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "a=1").symlink_to(data)
    truth = str(tmp_path / "truth" / "*" / "truth.parquet")
    relative = os.path.relpath(data / "ranks.parquet")
    values = []
    for lists in (tmp_path / "lists", relative, f"./{relative}"):
        with Evaluator(lists, truth, temp_directory=os.path.relpath(tmp_path)) as evaluator:
            values.append(evaluator.evaluate("ndcg@10")["value"][0])
            evaluator.write_parquet(tmp_path / "out.parquet", "ndcg@10", force=True)
    assert len(set(values)) == 1
