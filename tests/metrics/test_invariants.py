"""Properties of results for any data, each of every metric, with a drawn value of its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import sqlmetrics as sm
from tests.support.calls import canonical
from tests.support.worlds import CATALOG, CUTOFFS, OF_LISTS, VARIANTS, of_users, world

PARTS = 6  # of the metrics: one part in a draw
SEARCH = settings(
    derandomize=False,
    database=None,
    deadline=None,
    max_examples=2,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
ROUNDING = 1e-12  # a sum of shares may pass its bound in the last digit
Tables = dict[str, pd.DataFrame]

# What must not change a value. Several at once are drawn, and a failure shrinks to one.
CHANGES = [
    "order of rows",
    "files",
    "threads",
    "another user",
    "larger cutoff",
    "scaled scores",
    "model column",
    "model sources",
]
TO_THE_LAST_BIT = {"order of rows", "files", "threads", "another user", "larger cutoff"}
OF_SCORES = {"doubly_robust"} | {
    metric.name for metric in CATALOG.metrics.values() if metric.family == "ratings"
}


def family_of(spec: str) -> str:
    return spec.partition("(")[0]


def part(number: int) -> st.SearchStrategy[list[str]]:
    """Draw a spec of each of these metrics; the simplest has no parameter."""
    names = list(OF_LISTS)[number::PARTS]
    of_metric = {name: [spec for spec in VARIANTS if family_of(spec) == name] for name in names}
    return st.tuples(*map(st.sampled_from, of_metric.values())).map(list)


@st.composite
def worlds(draw: Any) -> Tables:
    tables = world(draw(st.integers(0, 10**6)), users=draw(st.integers(4, 9)), n_items=40)
    lists, truth, logs = (tables[name] for name in ("recommendations", "interactions", "logs"))
    assume(set(lists["user_id"]) & set(truth["user_id"]))  # others are refused
    assume(set(lists["item_id"]) & set(truth["item_id"]))
    assume(set(lists["item_id"]) & set(logs["item_id"]))
    assume(all(map(len, tables.values())))
    return tables


def with_another_user(tables: Tables) -> Tables:
    """Add a user with items and grades that other users have, so that the catalogue is the same."""
    more = dict(tables)
    for name in ("recommendations", "interactions", "baseline"):
        rows = tables[name].drop_duplicates("item_id").assign(user_id=999)
        if name == "recommendations":
            rows["timestamp"] = rows["timestamp"].max()  # a list has one time
        if name == "baseline":
            rows["rank"] = range(1, len(rows) + 1)
        more[name] = pd.concat([tables[name], rows], ignore_index=True)
    return more


def changed(tables: Tables, changes: set[str], folder: Path) -> dict[str, Any]:
    """Return arguments of an evaluator whose values must be the same."""
    tables = dict(tables)
    if "another user" in changes:
        tables = with_another_user(tables)
    lists = tables["recommendations"]
    if "scaled scores" in changes:
        lists = lists.assign(score=lists["score"] * 8)
    if {"model column", "model sources"} & changes:
        # of the other model, items come in another order, and a user has no list
        other = lists[lists["user_id"] != lists["user_id"].max()]
        other = other.assign(score=1 - other["score"])
        lists = pd.concat([lists.assign(model="this"), other.assign(model="other")])
    tables["recommendations"] = lists
    if "order of rows" in changes:
        tables = {name: table.sample(frac=1, random_state=3) for name, table in tables.items()}
    given: dict[str, Any] = dict(tables)
    if "model sources" in changes:
        of_models = tables["recommendations"].groupby("model")
        given["recommendations"] = {
            name: rows.drop(columns="model") for name, rows in of_models if len(rows)
        }
    if "files" in changes:
        for name in tables:
            sources = given[name] if isinstance(given[name], dict) else {"": given[name]}
            for model, frame in sources.items():
                frame.to_parquet(folder / f"{name}{model}.parquet", row_group_size=97)
            paths = {model: folder / f"{name}{model}.parquet" for model in sources}
            given[name] = paths if isinstance(given[name], dict) else paths[""]
    return given | {"threads": 8 if "threads" in changes else 1}


def answers(
    given: dict[str, Any], specs: list[str], k: list[int]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return values per user of metrics that have them, and values of the run of the others."""
    users = of_users(specs)
    runs = [spec for spec in specs if spec not in users]
    with sm.Evaluator(**given, check=False) as evaluator:
        per_user = evaluator.per_user(users, k=k, long=True) if users else pd.DataFrame()
        means = evaluator.evaluate(runs, k=k) if runs else pd.DataFrame()
    return per_user, means


def of_this_model(frame: pd.DataFrame) -> pd.DataFrame:
    if "model" in frame:
        frame = frame[frame["model"] == "this"].drop(columns="model")
    return frame[frame["k"].isin(CUTOFFS)].reset_index(drop=True)


def within_range(per_user: pd.DataFrame, means: pd.DataFrame, names: dict[str, str]) -> None:
    """Check bounded metrics; of the specs below, the bounds are those of other parameters."""
    for spec, name in names.items():
        bounds = CATALOG.metrics[family_of(spec)].range
        # an ideal of k positions worth 1 each is no bound for grades above 1; weights that rise
        # from rank 2 to rank 3 let a list beat the one in the best order
        if bounds is None or "ideal=all_k" in spec or "discount=course" in spec:
            continue
        values = per_user[name] if name in per_user else means["value"][means["metric"] == name]
        lowest, highest = bounds[0] - ROUNDING, bounds[1] + ROUNDING
        assert values.dropna().between(lowest, highest).all(), (spec, values.min(), values.max())


@pytest.mark.parametrize("number", range(PARTS))
def test_changes_of_the_question_that_change_no_value(
    number: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tables")

    @SEARCH
    @given(
        tables=worlds(),
        specs=part(number),
        changes=st.sets(st.sampled_from(CHANGES), min_size=1, max_size=4),
    )
    def search(tables: Tables, specs: list[str], changes: set[str]) -> None:
        if "scaled scores" in changes:
            specs = [spec for spec in specs if family_of(spec) not in OF_SCORES]
        if "another user" in changes:  # who is drawn at random may change
            specs = [spec for spec in of_users(specs) if "sample" not in spec]
        per_user, means = answers({**tables, "threads": 1}, specs, CUTOFFS)
        cutoffs = [*CUTOFFS, 25] if "larger cutoff" in changes else CUTOFFS
        again = answers(changed(tables, changes, folder), specs, cutoffs)
        exact = changes <= TO_THE_LAST_BIT
        for wanted, frame in zip((per_user, means), again, strict=True):
            if wanted.empty:
                continue
            found = of_this_model(frame)
            if "another user" in changes:
                found = found[found["user_id"] != 999].reset_index(drop=True)
            if exact and "user_id" in wanted:
                pd.testing.assert_frame_equal(found, wanted, check_exact=True)
            else:
                pd.testing.assert_frame_equal(found, wanted, rtol=1e-12, atol=1e-12)
        with sm.Evaluator(**tables, check=False) as evaluator:
            within_range(per_user, means, {spec: canonical(evaluator, spec) for spec in specs})

    search()


def test_the_mean_of_users_is_the_mean() -> None:
    specs = of_users(OF_LISTS)
    with sm.Evaluator(**world(1), check=False, threads=1) as evaluator:
        users, means = (
            evaluator.per_user(specs, k=[1, 5], long=True),
            evaluator.evaluate(specs, k=[1, 5]),
        )
    assert len(means) == 2 * len(specs)
    for row in means.to_dict("records"):
        values = users.loc[users["k"] == row["k"], row["metric"]]
        assert row["n_users"] == values.count(), row
        for name, expected in (("value", values.mean()), ("std", values.std())):
            assert row[name] == pytest.approx(expected, abs=1e-12, nan_ok=True), row
