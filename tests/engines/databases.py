"""Tables and helpers of the tests of evaluators in databases."""

from __future__ import annotations

from typing import Any

import click.testing
import pandas as pd
import pyarrow as pa

from sqlmetrics.cli.commands import main as cli
from tests.engines.worlds import MODELS, TABLES, World
from tests.support.evaluators import Evaluator

SCHEMA = "The shop"
LISTS = pa.table({
    "user_id": ["u1", "u1", "u1", "u2", "u2", "u3"],
    "item_id": ["a", "b", "c", "b", "a", "c"],
    "rank": [1, 2, 3, 1, 2, 1],
})  # fmt: skip
TRUTH = pa.table({"user_id": ["u1", "u2", "u4"], "item_id": ["b", "b", "a"]})
MRR = (1 / 2 + 1 + 0) / 3  # of these lists: u1 has b second, u2 first, and u4 no list
SMALL = ("small.recs", "small.truth")
GIVEN = ("-r", "small.recs", "-i", "small.truth")


def names(server: Any, world: World) -> dict[str, Any]:
    """Load the tables of a world, and return their names as arguments of an evaluator."""
    server.load(world.stored(), schema=SCHEMA)

    def named(table: str) -> str:
        return f"{server.quoted(SCHEMA)}.{server.quoted(world.names[table])}"

    lists = {model: named(model) for model in MODELS}
    return {"recommendations": lists, **{table: named(table) for table in TABLES}}


def tables(world: World) -> dict[str, Any]:
    lists = {model: world.tables[model] for model in MODELS}
    return {"recommendations": lists, **{table: world.tables[table] for table in TABLES}}


def columns(world: World) -> dict[str, str]:
    return {"features": "f1,f2", **world.columns}


def assert_same(got: pd.DataFrame, expected: pd.DataFrame) -> None:
    """The same columns, types, texts and counts, and numbers to 1e-9."""
    assert len(expected)
    pd.testing.assert_frame_equal(got, expected, check_exact=False, rtol=1e-9, atol=1e-12)


def left_in_clickhouse(engine: Any) -> list[Any]:
    """List the tables of ours, and the changed settings of the session."""
    found = "SELECT name FROM system.tables WHERE name LIKE 'sqlmetrics%' OR is_temporary"
    settings = "SELECT name, value FROM system.settings WHERE changed ORDER BY name"
    return [*engine.run(found), *engine.run(settings)]


def evaluated(*given: Any, **more: Any) -> float:
    with Evaluator(*given, **more) as evaluator:
        return float(evaluator.evaluate("mrr")["value"].item())


def run(*arguments: str, **more: Any) -> click.testing.Result:
    return click.testing.CliRunner().invoke(cli, list(arguments), **more)
