"""The block of docs/how-to/warehouse.md for Postgres: psql prints what the page shows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.engines.runners import Engine, Postgres
from tests.support.evaluators import Evaluator
from tests.support.pages import shell_blocks, shell_output
from tests.support.paths import ROOT

FIVE = ROOT / "examples" / "five_users"


def rows(text: str) -> list[list[str | float]]:
    """Read CSV without its header: numbers as numbers, since the last digit is the engine's."""
    return [
        [float(cell) if re.fullmatch(r"[\d.e-]+", cell) else cell for cell in line.split(",")]
        for line in text.strip().splitlines()[1:]
    ]


def test_five_users_in_postgres(engines: Callable[[str], Engine], tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "warehouse.md").read_text(encoding="utf-8")
    ((commands, shown),) = shell_blocks(page, "postgres")
    postgres = engines("postgres")
    assert isinstance(postgres, Postgres)
    psql = postgres.server.psql()
    assert psql is not None, "there is no psql beside the server, nor on the PATH"
    told = dict(part.split("=") for part in postgres.server.connection().split())
    try:
        printed = shell_output(
            commands,
            tmp_path,
            PATH=f"{Path(psql[0]).parent}{os.pathsep}{os.environ['PATH']}",
            PGHOST=told["host"], PGPORT=told["port"], PGUSER=told["user"],
            PGDATABASE=told["dbname"], PSQLRC=os.devnull,
        )  # fmt: skip
    finally:
        for table in ("recs", "held_out"):
            postgres.execute(f"DROP TABLE IF EXISTS {table}")
    assert printed.splitlines()[0] == shown.splitlines()[0]
    found, expected = pd.DataFrame(rows(printed)), pd.DataFrame(rows(shown))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    conventions = ["jurity", "rectools", "standard"]
    with Evaluator(
        FIVE / "recommendations.csv", FIVE / "interactions.csv", convention=conventions
    ) as evaluator:
        here = evaluator.evaluate("map@3")
    assert found[3].tolist() == pytest.approx(here["value"].tolist(), rel=1e-9)
    page = (ROOT / "docs/how-to/migrate/README.md").read_text(encoding="utf-8")
    for _, row in here.iterrows():
        assert f"│ map    │ 3 │ {row['value']:.4f} │" in page
