"""The same answer for any number of threads, order of rows, layout of files and kind of table.

Values per user are equal to the last bit, and so is all that is counted, sorted or resampled from
them: sums of a user are sums of integers (docs/explanation/decisions.md). What is
summed over users as floating-point numbers, means and standard deviations, may differ by the order
in which that is done; the bound of docs/explanation/trust.md is what is tested here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.run.demo import write_demo
from tests.support.evaluators import Evaluator

SETTINGS = {"relevant_from": 2}
MODELS = ("als", "item_knn")
UNIT = 2.0**-53  # of rounding
# of standard deviations, of intervals and of what is computed from both, relative to the largest
LAST_DIGITS = 1e-12
# sums over users that are no sums of integers: estimates from logs, and mean overlap of all lists
OF_RUNS = ("doubly_robust", "inter_list_diversity", "ips", "ctr")


@dataclass(frozen=True)
class Way:
    """A way to give the same tables, and to compute with them.

    `give` turns a Parquet file into a source; a folder for files of its own is the second argument.
    """

    give: Callable[[Path, Path], Any]
    options: dict[str, Any] = field(default_factory=dict)


def shuffled(path: Path, seed: int) -> pa.Table:
    table = pq.read_table(path)
    order = pd.Series(range(table.num_rows)).sample(frac=1, random_state=seed)
    return table.take(pa.array(order.to_numpy()))


def row_groups(path: Path, folder: Path) -> Path:
    pq.write_table(shuffled(path, 1), folder / path.name, row_group_size=999)
    return folder / path.name


def many_files(path: Path, folder: Path) -> Path:
    """Write a folder of files of different sizes, some without a row."""
    table, target = shuffled(path, 2), folder / path.stem
    target.mkdir()
    cuts = [0, 0, 1, table.num_rows // 7, table.num_rows // 2, table.num_rows]
    for number, (low, high) in enumerate(itertools.pairwise(cuts)):
        pq.write_table(table.slice(low, high - low), target / f"{9 - number}.parquet")
    return target


def by_column(path: Path, folder: Path) -> Path:
    """Write a folder for every value of a column, as partitioned exports have them."""
    target, column = folder / path.stem, "user_id" if "items" not in path.stem else "item_id"
    column = column if column in pq.read_schema(path).names else "item_id"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT *, {column} % 5 AS part FROM '{path}') TO '{target}' "
            "(FORMAT parquet, PARTITION_BY (part))"
        )
    return target


def chunks(path: Path, _: Path) -> pa.Table:
    table = shuffled(path, 3)
    size = max(1, table.num_rows // 13)
    return pa.concat_tables(table.slice(n, size) for n in range(0, table.num_rows, size))


def dataset(path: Path, folder: Path) -> Any:
    return pyarrow.dataset.dataset(row_groups(path, folder))


def in_pandas(path: Path, _: Path) -> pd.DataFrame:
    return shuffled(path, 4).to_pandas(types_mapper=pd.ArrowDtype)


def in_polars(path: Path, _: Path) -> pl.DataFrame:
    frame = pl.from_arrow(shuffled(path, 5))
    assert isinstance(frame, pl.DataFrame)
    return frame


def relation(path: Path, _: Path) -> duckdb.DuckDBPyRelation:
    return duckdb.sql(f"FROM '{path}' ORDER BY hash(columns(*)) DESC")


def dicts(path: Path, folder: Path) -> Any:
    """Give lists and history as dicts, and frames where there is more to tell."""
    if path.stem.startswith("recommendations"):
        scores: dict[Any, dict[Any, float]] = {}
        for row in shuffled(path, 6).to_pylist():
            scores.setdefault(row["user_id"], {})[row["item_id"]] = row["score"]
        return scores
    if path.stem != "history":
        return in_pandas(path, folder)
    seen: dict[Any, list[Any]] = {}
    for row in shuffled(path, 6).to_pylist():
        seen.setdefault(row["user_id"], []).append(row["item_id"])
    return seen


def as_it_is(path: Path, _: Path) -> Path:
    return path


FIRST = Way(as_it_is, {"threads": 1})
# of sums, ordered sums, pairs, shares of items, and of the whole run
A_FEW = ["ndcg", "map", "intra_list_diversity", "surprisal", "alpha_ndcg", "auc", "ips", "coverage"]
OF_USERS = A_FEW[:5]
WITH_EVERY_METRIC = {
    "8 threads, many files": Way(many_files, {"threads": 8}),
    "frames": Way(in_polars, {"threads": 2}),
}
# they give the same rows to the same stages, so a few metrics tell
WAYS = {
    "8 threads": Way(as_it_is, {"threads": 8}),
    "row groups": Way(row_groups, {"threads": 8}),
    "folders": Way(by_column, {"threads": 2}),
    "chunks": Way(chunks, {"threads": 8}),
    "dataset": Way(dataset, {"threads": 2}),
    "pandas": Way(in_pandas, {"threads": 8}),
    "relation": Way(relation, {"threads": 2}),
    "dicts": Way(dicts, {"threads": 2}),
    "little memory": Way(row_groups, {"threads": 2, "memory_limit": "400MB"}),
}


@dataclass(frozen=True)
class Answer:
    """All that a run says."""

    per_user: pd.DataFrame
    means: pd.DataFrame
    of_slices: pd.DataFrame
    resampled: pd.DataFrame
    compared: pd.DataFrame
    randomized: pd.DataFrame


def answer(data: Path, way: Way, folder: Path, everything: bool = True) -> Answer:
    folder.mkdir(exist_ok=True)

    def source(name: str) -> Any:
        target = folder / name
        target.mkdir()
        return way.give(data / f"{name}.parquet", target)

    tables = ("interactions", "history", "items", "aspects", "users", "logs")
    with Evaluator(
        {model: source(f"recommendations_{model}") for model in MODELS},
        **{name: source(name) for name in tables},
        baseline=MODELS[1],
        settings=SETTINGS,
        **way.options,
    ) as evaluator:
        few = ["ndcg", "recall(aggregate=median)", "coverage"]
        values = evaluator.per_user("all" if everything else OF_USERS, [5, 10], long=True)
        means = evaluator.evaluate("all" if everything else A_FEW, [5, 10])
        sliced = evaluator.evaluate(few[:2], 10, by=["country", "popularity"])
        resampled = evaluator.evaluate(few, 10, ci="bootstrap", resamples=40, run_ci=True)
        few = ["ndcg", "recall"]
        compared = evaluator.compare(few, 10, baseline="als", test="wilcoxon")
        randomized = evaluator.compare(
            few, 10, baseline="als", test="randomization", ci="bootstrap", resamples=40
        )
    return Answer(values, means, sliced, resampled, compared, randomized)


def assert_same(found: Answer, wanted: Answer) -> None:
    assert_equal(found.per_user, wanted.per_user)
    counts = ["model", "metric", "k", "n_users"]
    assert_equal(found.means[counts], wanted.means[counts])
    assert_means_close(found.means, wanted.means, wanted.per_user)
    keys = ["country", "popularity", *counts]
    assert_equal(found.of_slices[keys], wanted.of_slices[keys])
    assert_close(found.of_slices, wanted.of_slices, LAST_DIGITS)
    # resampled means are ratios of sums of integers, medians are one of the values
    of_users = found.resampled["n_users"].notna()
    assert_equal(
        found.resampled.loc[of_users, [*counts, "ci_low", "ci_high"]],
        wanted.resampled.loc[of_users, [*counts, "ci_low", "ci_high"]],
    )
    medians = wanted.resampled["metric"] == "recall(aggregate=median)"
    assert_equal(found.resampled.loc[medians, ["value"]], wanted.resampled.loc[medians, ["value"]])
    assert_close(found.resampled, wanted.resampled, LAST_DIGITS)
    exact = ["metric", "k", "model", "baseline", "wins", "ties", "losses", "test", "n_users"]
    assert_equal(found.compared[[*exact]], wanted.compared[[*exact]])
    assert_equal(found.compared[["p_value"]], wanted.compared[["p_value"]])
    exact += ["ci_low", "ci_high", "p_value", "p_adjusted"]
    assert_equal(found.randomized[exact], wanted.randomized[exact])
    assert_close(found.randomized, wanted.randomized, LAST_DIGITS)


def assert_equal(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    assert len(wanted)
    pd.testing.assert_frame_equal(found, wanted, check_exact=True)


def assert_close(found: pd.DataFrame, wanted: pd.DataFrame, bound: float) -> None:
    """Numbers differ by this share of the largest of their column at most."""
    for name in wanted.select_dtypes("float"):
        most = bound * wanted[name].abs().max()
        assert (found[name].isna() == wanted[name].isna()).all()
        assert ((found[name] - wanted[name]).abs().fillna(0) <= most).all(), name


def assert_means_close(found: pd.DataFrame, wanted: pd.DataFrame, values: pd.DataFrame) -> None:
    """A sum of n numbers has an error of n · 2^-53 times the sum of their sizes, in any order."""
    rows = zip(found.to_dict("records"), wanted.to_dict("records"), strict=True)
    for one, other in rows:
        difference = abs(one["value"] - other["value"])
        if one["metric"] in OF_RUNS or one["metric"] not in values:
            assert difference <= LAST_DIGITS * max(1, abs(other["value"])), one
            continue
        mine = values[(values["model"] == one["model"]) & (values["k"] == one["k"])][one["metric"]]
        n = mine.notna().sum()
        assert n == one["n_users"]
        assert difference <= 2 * n * UNIT * mine.abs().mean(), one
        for name in ("std", "ci_low", "ci_high"):
            size = max(abs(other["value"]), abs(other["std"]))
            near = abs(one[name] - other[name]) <= LAST_DIGITS * size
            assert near or (n < 2 and pd.isna(one[name]) and pd.isna(other[name])), (name, one)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_demo(folder, users=120, per_user=20, seed=5, models=2)
    return folder


def test_every_metric_is_the_same_in_any_order_of_rows(data: Path, tmp_path: Path) -> None:
    first = answer(data, FIRST, tmp_path / "first")
    metrics = Catalog.load().metrics.values()
    of_users = {one.name for one in metrics if one.grain == "user" and one.in_all}
    assert of_users <= {*first.per_user.columns}
    assert set(first.means["metric"]) == {one.name for one in metrics if one.in_all}
    for name, way in WITH_EVERY_METRIC.items():
        assert_same(answer(data, way, tmp_path / name), first)


def test_every_way_gives_the_same_answer(data: Path, tmp_path: Path) -> None:
    first = answer(data, FIRST, tmp_path / "first", everything=False)
    for name, way in WAYS.items():
        assert_same(answer(data, way, tmp_path / name, everything=False), first)


def test_distances_of_any_size_do_not_depend_on_the_order_of_rows() -> None:
    """Sums of distances have no largest term that all of them could be multiples of."""
    draw = np.random.default_rng(3)
    features = draw.normal(0, 1, (40, 6)) * 10.0 ** draw.integers(-9, 9, 6)
    items = pd.DataFrame({"item_id": range(40), **{f"x{n}": features[:, n] for n in range(6)}})
    ranks = [
        (user, int(item), rank)
        for user in range(25)
        for rank, item in enumerate(draw.permutation(40)[:12], start=1)
    ]
    lists = pd.DataFrame(ranks, columns=["user_id", "item_id", "rank"])
    found = []
    for seed in range(3):
        columns = [f"x{n}" for n in np.random.default_rng(seed).permutation(6)]
        with Evaluator(
            lists.sample(frac=1, random_state=seed),
            items=items.sample(frac=1, random_state=seed),
            columns={"items.features": columns},
        ) as evaluator:
            values = evaluator.per_user(
                [
                    "intra_list_diversity(distance=euclidean)@5",
                    "intra_list_diversity(distance=euclidean)",
                ],
                long=True,
            )
        found.append(values.sort_values(["user_id", "k"], ignore_index=True))
    for other in found[1:]:
        pd.testing.assert_frame_equal(found[0], other, check_exact=True)


def test_lists_that_are_read_by_several_threads(tmp_path: Path) -> None:
    """DuckDB reads row groups of 122,880 rows side by side, and hashes in as many parts."""
    folder = tmp_path / "data"
    write_demo(folder, users=7_500, per_user=50, seed=6, models=2)
    lists = pq.ParquetFile(folder / "recommendations_als.parquet").metadata
    assert lists.num_row_groups >= 3
    wanted = answer(folder, FIRST, tmp_path / "first", everything=False)
    for name, way in WITH_EVERY_METRIC.items():
        assert_same(answer(folder, way, tmp_path / name, everything=False), wanted)
