"""Results with a record, and the tables that they are made of."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.record import fingerprints
from tests.support.calls import definitions
from tests.support.command_line import run
from tests.support.evaluators import Evaluator

LISTS = pa.table(
    {
        "user_id": [user for user in range(30) for _ in range(4)],
        "item_id": [f"i{(7 * user + place) % 11}" for user in range(30) for place in range(4)],
        # whole numbers and others, all of which a float of 32 bits holds
        "score": [float(4 - place) + user % 4 / 4 for user in range(30) for place in range(4)],
    }
)
TRUTH = pa.table({"user_id": [*range(40)], "item_id": [f"i{user % 11}" for user in range(40)]})


def contents(
    recommendations: Any = LISTS, interactions: Any = TRUTH, **more: Any
) -> list[fingerprints.Content]:
    """Read what is in the tables, without computing anything of them."""
    with Evaluator(recommendations, interactions, **more) as evaluator:
        values = definitions(evaluator).values
        planner, engine = evaluator._session.planner, evaluator.engine
        assert isinstance(engine, DuckDBEngine)
        return fingerprints.contents(engine, [planner.node(n, values) for n in evaluator.tables])


@functools.cache
def engine() -> DuckDBEngine:
    return DuckDBEngine(threads=1)


def shuffled(table: pa.Table) -> pa.Table:
    return table.take([(53 * row) % table.num_rows for row in range(table.num_rows)])


def several_files(folder: Path) -> str:
    for number in range(3):
        pq.write_table(LISTS.slice(40 * number, 40), folder / f"part-{2 - number}.parquet")
    return str(folder / "*.parquet")


def changed(row: int, column: str, value: Any) -> pa.Table:
    values = LISTS[column].to_pylist()
    values[row] = value
    return LISTS.set_column(LISTS.column_names.index(column), column, [values])


def again(name: str) -> tuple[str, ...]:
    """Run a record of one's own again."""
    return "--from-record", name, "--trust-record", "--trust-input"


ONE = ("-r", "als.parquet", "-i", "truth.parquet", "--trust-input")
TWO = ("-r", "als=als.parquet", "-r", "other=other.parquet", "-i", "truth.parquet", "--trust-input")
COMMANDS = {
    "evaluate": (*TWO, "recall", "map@2", "-k", "1,3", "--set", "map.divisor=relevant",
                 "--by", "activity", "--history", "truth.parquet", "--ci", "bootstrap",
                 "--seed", "3", "--where", "interactions=user_id < 35"),
    "per-user": (*ONE, "recall@2", "--key", "user_id"),
    "compare": (*TWO, "recall@2", "--baseline", "als", "--test", "randomization"),
    "leaderboard": (*TWO, "recall@2", "--test", "bootstrap", "--alpha", "0.1"),
}  # fmt: skip


def refused(record: Mapping[str, Any], *arguments: str, code: int | tuple[int, ...]) -> str:
    """Run a record again that somebody else has written."""
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    Path("b.json").write_text(json.dumps(record))
    result = run("evaluate", "--from-record", "b.json", *arguments, code=code)
    Path("b.json").unlink()
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    assert result.stdout == ""
    return result.stderr
