"""--columns, and the columns of a comparison in a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from sqlmetrics.cli.layout import render_comparison
from tests.support.command_line import run

USERS = range(1, 41)
# `new` has the relevant item at rank 1 for every second user, `old` never, `same` as `old`
LISTS = {
    "new": [user % 2 for user in USERS],
    "old": [0 for _ in USERS],
    "same": [0 for _ in USERS],
}


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    for name, hits in LISTS.items():
        items = [1 if hit else 2 for hit in hits]
        pd.DataFrame({"user_id": USERS, "item_id": items, "rank": 1}).to_csv(
            f"{name}.csv", index=False
        )
    pd.DataFrame({"user_id": USERS, "item_id": 1}).to_csv("truth.csv", index=False)
    return here


GIVEN = [*(part for name in LISTS for part in ("-r", f"{name}={name}.csv")), "-i", "truth.csv"]
COMPARE = ["compare", "mrr@5", *GIVEN, "--baseline", "old", "--no-check"]


def test_a_comparison_fits_into_a_terminal() -> None:
    lines = run(*COMPARE, "--format", "table").stdout.splitlines()
    assert max(map(len, lines)) < 80
    head = [cell.strip() for cell in lines[1].strip("┃").split("┃")]
    assert head == ["metric", "model", "value", "difference", "ci_low", "ci_high", "p"]
    new, same = ([cell.strip() for cell in line.strip("│").split("│")] for line in lines[3:5])
    assert new[:4] == ["mrr@5", "new", "0.5000", "0.5000 *"]
    assert same[:4] == ["mrr@5", "same", "0.0000", "0.0000"]
    assert "* differs significantly from old (paired t-test, Holm-adjusted p < 0.05)" in lines


@pytest.mark.parametrize(
    ("p", "alpha", "marked"),
    [(0.049, 0.05, True), (0.05, 0.05, False), (0.009, 0.01, True), (None, 0.05, False)],
)
def test_a_difference_is_marked_below_alpha(p: float | None, alpha: float, marked: bool) -> None:
    row = {
        "metric": ["mrr"], "k": pd.array([None], dtype="Int64"), "model": ["a"], "baseline": ["b"],
        "value": [0.5], "difference": [0.25], "ci_low": [0.1], "ci_high": [0.4],
        "p_adjusted": pd.array([p], dtype="float64"),
    }  # fmt: skip
    text = render_comparison(pd.DataFrame(row), None, alpha, "how")
    assert ("0.2500 *" in text) == marked


def test_other_formats_have_all_columns() -> None:
    header = run(*COMPARE, "--format", "csv").stdout.splitlines()[0].split(",")
    assert {"baseline_value", "wins", "p_value", "p_adjusted", "n_users"} <= {*header}
    everything = run(*COMPARE, "--format", "table", "--columns", "all").stdout
    assert all(name in everything for name in header)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (["evaluate", "mrr@5", *GIVEN], ["value", "model"]),
        (["per-user", "mrr@5", *GIVEN], ["user_id", "mrr@5"]),
        (COMPARE, ["model", "p_value"]),
        (["check", "mrr@5", *GIVEN], ["level", "check"]),
    ],
)
def test_columns_are_chosen_in_their_order(command: list[str], names: list[str]) -> None:
    more = [] if command[0] in ("check", "compare") else ["--no-check"]
    chosen = [*command, *more, "--columns", ", ".join(names)]
    assert run(*chosen, "--format", "csv").stdout.splitlines()[0] == ",".join(names)
    assert [*json.loads(run(*chosen, "--format", "json").stdout)[0]] == names
    table = run(*chosen, "--format", "table").stdout.splitlines()[1]
    assert [cell.strip() for cell in table.strip("┃").split("┃")] == names


@pytest.mark.parametrize("command", ["evaluate", "per-user"])
def test_columns_of_a_parquet_file(command: str, folder: Path) -> None:
    run(command, "mrr@5", *GIVEN, "--no-check", "--columns", "model", "-o", "out.parquet")
    assert list(pd.read_parquet(folder / "out.parquet").columns) == ["model"]


def test_a_column_of_a_leaderboard_comes_with_its_marks() -> None:
    board = ["leaderboard", "mrr@5", "recall@5", *GIVEN, "--no-check", "--columns", "model,mrr@5"]
    assert run(*board, "--format", "csv").stdout.splitlines()[0] == "model,mrr@5,mrr@5 mark"
    assert "0.5000 *" in run(*board, "--format", "table").stdout


def test_unknown_columns_are_refused() -> None:
    result = run("evaluate", "mrr", *GIVEN, "--columns", "model,valu", code=2)
    assert "--columns: there is no column 'valu'; did you mean 'value'?" in result.stderr
    assert "the result has model, metric, k, value, n_users, std, ci_low, ci_high" in result.stderr
    asked = ["evaluate", "mrr", *GIVEN, "--columns", "value", "--format", "mlflow"]
    assert "--columns does not apply to --format mlflow" in run(*asked, code=2).stderr
