"""As an analyst would: the five users of examples/, their statements for Postgres, and psql.

The systems themselves gave these numbers; peers/test_published_conventions.py has all of them.
"""

from __future__ import annotations

import csv
import io
import subprocess
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from sqlmetrics.cli.commands import main as cli
from tests.engines.runners import Engine, Postgres
from tests.support.notation import number
from tests.support.paths import EXAMPLES
from tests.support.processes import PATIENCE
from tests.support.published_numbers import FIVE_USERS

EXAMPLE = EXAMPLES / "five_users"
# docs/how-to/warehouse.md shows these; by hand: u1 hits a and c, u2 hits c, u6 hits d and e
STANDARD = {
    "hit_rate": "3/5",
    "precision": "(2/3 + 1/3 + 2/3) / 5",
    "recall": "(2/4 + 1 + 2/5) / 5",
    "map": "((1 + 2/3)/3 + (1/2)/1 + (1 + 2/3)/3) / 5",
    "mrr": "(1 + 1/2 + 1) / 5",
}
SPECS: dict[str, dict[str, str]] = {"standard": STANDARD}
for _row in FIVE_USERS:
    for _name, _spec in _row.specs.items():
        SPECS.setdefault(_name, {})[_spec] = _row.exact


@pytest.fixture(scope="module")
def psql(engines: Callable[[str], Engine]) -> Callable[[str], list[dict[str, str]]]:
    """Return what runs a script with psql, on tables that psql has read from the CSV files."""
    postgres = engines("postgres")
    assert isinstance(postgres, Postgres)
    command = postgres.server.psql()
    assert command is not None, "the programs of a Postgres server come with psql"

    def run(script: str) -> list[dict[str, str]]:
        done = subprocess.run(
            [*command, "--csv", "--quiet"],
            input=script, capture_output=True, encoding="utf-8", check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return list(csv.DictReader(io.StringIO(done.stdout)))

    for name, column in (("recommendations", "score"), ("interactions", "relevance")):
        run(
            f"DROP TABLE IF EXISTS five_{name};\n"
            f"CREATE TABLE five_{name} (user_id text, item_id text, {column} integer);\n"
            f"\\copy five_{name} FROM '{EXAMPLE / name}.csv' CSV HEADER\n"
        )
    return run


@pytest.mark.parametrize("convention", SPECS)
def test_numbers_of_the_table(convention: str, psql: Callable[[str], list[dict[str, str]]]) -> None:
    specs = SPECS[convention]
    arguments = [
        *("sql", *specs, "-k", "3", "--dialect", "postgres", "--convention", convention),
        *(
            "-r",
            f"{EXAMPLE}/recommendations.csv",
            "--recommendations-table",
            "five_recommendations",
        ),
        *("-i", f"{EXAMPLE}/interactions.csv", "--interactions-table", "five_interactions"),
        *("--history", f"{EXAMPLE}/interactions.csv", "--history-table", "five_interactions"),
        # some systems read lists, or leave equal scores, in the order of rows: a table has none
        *("--set", "order=score", "--set", "ties=item_asc"),
    ]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    rows = psql(result.stdout)
    expected = [number(exact) for exact in specs.values()]
    assert [float(row["value"]) for row in rows] == pytest.approx(expected, rel=0, abs=1e-9)
