"""Who got worse: the users with the largest losses and gains of a comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sqlmetrics.errors import UsageError
from tests.support.command_line import run
from tests.support.evaluators import Evaluator

# ranks of the relevant item 1 by user: reciprocal ranks and differences
#        u1   u2   u3   u4   u5
# live   1    1/2  1/2  1    -
# new    1/2  1    1/4  1/2  1
#       -1/2 +1/2 -1/4 -1/2
PLACES = {"live": [1, 2, 2, 1, None], "new": [2, 1, 4, 2, 1]}


def lists(model: str) -> pd.DataFrame:
    rows = [
        (user, 1 if place == rank else 10 + rank, rank)
        for user, place in enumerate(PLACES[model], start=1)
        if place is not None
        for rank in range(1, 5)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


TRUTH = pd.DataFrame({"user_id": range(1, 6), "item_id": 1})


def evaluator(**options: Any) -> Any:
    known = {model: lists(model) for model in PLACES}
    settings = {"no_recommendations": "drop"}
    return Evaluator(known, TRUTH, baseline="live", settings=settings, **options)


CASES: list[tuple[dict[str, Any], list[int], list[float]]] = [
    # of equal losses, the smallest id; user 5 has no value of live
    ({}, [1, 4, 3], [-1 / 2, -1 / 2, -1 / 4]),
    ({"n": 2}, [1, 4], [-1 / 2, -1 / 2]),
    ({"best": True}, [2], [1 / 2]),
    ({"n": None}, [1, 4, 3, 2], [-1 / 2, -1 / 2, -1 / 4, 1 / 2]),
    ({"n": None, "best": True}, [2, 3, 1, 4], [1 / 2, -1 / 4, -1 / 2, -1 / 2]),
]


@pytest.mark.parametrize(("call", "users", "differences"), CASES)
def test_users_by_the_size_of_their_loss(
    call: dict[str, Any], users: list[int], differences: list[float]
) -> None:
    with evaluator() as compared:
        found = compared.changed_users("mrr", **call)
    names = ["model", "user_id", "baseline", "value", "baseline_value", "difference"]
    assert list(found.columns) == names
    assert found["user_id"].tolist() == users
    assert found["difference"].tolist() == differences
    assert (found["value"] - found["baseline_value"]).tolist() == differences
    assert (found["model"] == "new").all()
    assert (found["baseline"] == "live").all()


def test_a_higher_value_is_a_loss_where_lower_is_better() -> None:
    """Mean ranks of the relevant item: + 1, - 1, + 2, + 1."""
    with evaluator() as compared:
        worst = compared.changed_users("mean_rank")
        best = compared.changed_users("mean_rank", best=True)
    assert worst[["user_id", "difference"]].to_numpy().tolist() == [[3, 2], [1, 1], [4, 1]]
    assert best[["user_id", "difference"]].to_numpy().tolist() == [[2, -1]]


def test_every_model_has_users_of_its_own() -> None:
    known = {model: lists(model) for model in PLACES} | {"same": lists("live")}
    key = ["user_id", "site"]
    tables = {model: frame.assign(site="a") for model, frame in known.items()}
    with Evaluator(tables, TRUTH.assign(site="a"), baseline="new", key=key) as compared:
        found = compared.changed_users("mrr", 1)
    assert found[["model", "user_id", "site"]].to_numpy().tolist() == [
        ["live", 5, "a"], ["same", 5, "a"],
    ]  # fmt: skip


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ("mrr", {"n": 0}, "n must be a whole number"),
    (["mrr", "ndcg"], {}, "name one metric with one cutoff"),
    ("mrr(aggregate=median)", {}, "compared by means"),
    ("mrr", {"baseline": "old"}, "there is no model 'old'"),
]


@pytest.mark.parametrize(("metric", "call", "message"), WRONG)
def test_what_finds_no_users_is_refused(metric: Any, call: dict[str, Any], message: str) -> None:
    with evaluator() as compared, pytest.raises(UsageError, match=message):
        compared.changed_users(metric, **call)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("tables")
    for model in PLACES:
        lists(model).to_parquet(folder / f"{model}.parquet")
    TRUTH.to_parquet(folder / "truth.parquet")
    return [
        *("-r", f"live={folder}/live.parquet", "-r", f"new={folder}/new.parquet"),
        *("-i", f"{folder}/truth.parquet", "--baseline", "live", "--no-check"),
        *("--set", "no_recommendations=drop"),
    ]


def test_a_table_has_the_lists_of_both_models(tables: list[str]) -> None:
    text = run("compare", "mrr@2", "--worst", "1", "--format", "table", *tables).stdout
    assert text.index("-0.5000") < text.index("user_id 1\n") < text.index("list of live")
    assert "list of new" in text
    assert "user_id 4" not in text
    assert text.count("yes") == 2


def test_ids_can_be_left_out(tables: list[str]) -> None:
    text = run(
        "compare", "mrr", "--worst", "2", "--no-examples", "--format", "table", *tables
    ).stdout
    assert "user_id" not in text
    assert "list of" not in text
    assert text.count("-0.5000") == 2


def test_all_users_go_to_a_file(tables: list[str], tmp_path: Path) -> None:
    target = tmp_path / "diff.parquet"
    run("compare", "mrr", "--worst", "all", "-o", target, *tables)
    assert pd.read_parquet(target)["user_id"].tolist() == [1, 4, 3, 2]
    found = json.loads(run("compare", "mrr", "--best", "5", "--format", "json", *tables).stdout)
    assert [row["user_id"] for row in found] == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--worst", "0"], "take a number of users or all, not '0'"),
        (["--worst", "some"], "take a number of users or all, not 'some'"),
        (["--worst", "1", "--best", "1"], "--worst and --best name different users"),
        (["--worst", "1", "--over", "runs"], "--over does not apply to the users of --worst"),
        (["--worst", "1", "--by", "user_id"], "--by does not apply"),
        (["--worst", "1", "--fail-if", "mrr < 0"], "--fail-if does not apply"),
        (["--worst", "1", "--record", "x.json"], "--record does not apply"),
    ],
)
def test_options_of_whole_comparisons_are_refused(
    tables: list[str], arguments: list[str], message: str
) -> None:
    assert message in run("compare", "mrr", *arguments, *tables, code=2).stderr
