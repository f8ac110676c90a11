"""Metrics over pairs of items or users, against self-joins that make the pairs."""

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.support.calls import at_k, values_by_user
from tests.support.evaluators import Evaluator
from tests.support.pairs import DIMENSIONS, MODELS, OVER, World, our_runs

CUTOFFS = [1, 2, 3, 5, 10, 100]


def cutoffs() -> Iterator[int | None]:
    yield from CUTOFFS
    yield None


INTRA = """
WITH vectors AS ({vectors}),
top AS (
    SELECT model, user_id, place, vector, list_sum(list_transform(vector, lambda x: abs(x))) AS size
    FROM ranked INNER JOIN vectors USING (item_id)
    WHERE vector IS NOT NULL AND place <= {k}
)
SELECT a.model, a.user_id, avg(
    1 - CASE WHEN a.size = 0 OR b.size = 0 THEN 0
        ELSE list_cosine_similarity(a.vector, b.vector) END
)
FROM top AS a INNER JOIN top AS b
    ON a.model = b.model AND a.user_id = b.user_id AND a.place < b.place
GROUP BY a.model, a.user_id
"""
VECTORS = {
    "features": "SELECT item_id, CAST(features AS DOUBLE[]) AS vector FROM items",
    "category": "SELECT item_id, CAST(vector AS DOUBLE[]) AS vector FROM one_hot",
}
INTER = """
WITH top AS (SELECT * FROM ranked WHERE place <= {k}),
lengths AS (SELECT model, user_id, count(*) AS n FROM top GROUP BY model, user_id),
common AS (
    SELECT a.model, a.user_id AS a_user, b.user_id AS b_user, count(*) AS n
    FROM top AS a INNER JOIN top AS b
        ON a.model = b.model AND a.item_id = b.item_id AND a.user_id < b.user_id
    GROUP BY ALL
)
SELECT a.model, avg(1 - coalesce(common.n, 0) / sqrt(a.n * b.n))
FROM lengths AS a INNER JOIN lengths AS b ON a.model = b.model AND a.user_id < b.user_id
LEFT JOIN common
    ON common.model = a.model AND common.a_user = a.user_id AND common.b_user = b.user_id
GROUP BY a.model
"""
AUC = """
WITH matched AS (
    SELECT model, {predicted} AS predicted, relevance > 0 AS is_relevant
    FROM ranked INNER JOIN interactions USING (user_id, item_id)
    WHERE place <= {k}
)
SELECT a.model, avg(
    CASE WHEN a.predicted > b.predicted THEN 1.0 WHEN a.predicted = b.predicted THEN 0.5 ELSE 0 END
)
FROM matched AS a INNER JOIN matched AS b ON a.model = b.model
WHERE a.is_relevant AND NOT b.is_relevant
GROUP BY a.model
"""


def limit(k: int | None) -> int:
    return 10**9 if k is None else k


def intra_list(connection: duckdb.DuckDBPyConnection, over: str, k: int | None) -> dict[Any, float]:
    """Return {(model, user): value}."""
    query = INTRA.format(vectors=VECTORS[over], k=limit(k))
    return {(model, user): value for model, user, value in connection.execute(query).fetchall()}


def by_model(connection: duckdb.DuckDBPyConnection, query: str, **parts: Any) -> dict[str, float]:
    return dict(connection.execute(query.format(**parts)).fetchall())


def our_users(frame: pd.DataFrame, name: str, k: int | None) -> dict[Any, float]:
    return {
        (model, user): value
        for model in MODELS
        for user, value in values_by_user(frame[frame["model"] == model], name, k).items()
    }


def test_worlds_are_hard_enough(world: World) -> None:
    connection = world.connection()
    sizes = "SELECT DISTINCT len(features) FROM items WHERE features IS NOT NULL"
    assert connection.execute(sizes).fetchall() == [(DIMENSIONS,)]
    lengths = connection.execute("SELECT count(*) FROM ranked GROUP BY model, user_id").fetchall()
    assert lengths.count((1,)) > 5
    assert lengths.count((40,)) > 2
    missing = "SELECT DISTINCT item_id FROM ranked ANTI JOIN items USING (item_id)"
    assert len(connection.execute(missing).fetchall()) > 3
    assert world.items["features"].isna().sum() > 3
    zero = "SELECT count(*) FROM items WHERE list_max(features) = 0 AND list_min(features) = 0"
    assert connection.execute(zero).fetchone() > (3,)
    values = intra_list(connection, "features", None).values()
    assert min(values) == pytest.approx(0, abs=1e-9)
    assert max(values) == pytest.approx(2, abs=1e-9)
    assert len(values) < len(lengths) - 10  # lists with fewer than two vectors


def test_intra_list_diversity_is_the_mean_over_pairs_of_items(world: World) -> None:
    connection = world.connection()
    with world.evaluator() as evaluator:
        at_cutoffs = evaluator.per_user(OVER.values(), k=CUTOFFS, long=True)
        whole = evaluator.per_user(OVER.values(), long=True)
        means = evaluator.evaluate(OVER.values(), k=CUTOFFS)
    for over, name in OVER.items():
        for k in cutoffs():
            expected = intra_list(connection, over, k)
            assert (not expected) == (k == 1)
            ours = our_users(whole if k is None else at_cutoffs, name, k)
            assert ours == pytest.approx(expected, rel=0, abs=1e-9), f"{name}, k = {k}"
            if k is None:
                continue
            for model in MODELS:
                row = at_k(means[(means["metric"] == name) & (means["model"] == model)], k).iloc[0]
                of_model = [value for (m, _), value in expected.items() if m == model]
                assert row["n_users"] == len(of_model)
                if of_model:
                    mean = sum(of_model) / len(of_model)
                    assert row["value"] == pytest.approx(mean, rel=0, abs=1e-9)
                else:
                    assert pd.isna(row["value"])


def test_features_may_be_one_column_of_lists_or_several_columns(world: World) -> None:
    """Items without a vector are not in the table here, since a component must be a number."""
    names = [f"f {place}" for place in range(DIMENSIONS)]
    vectors = world.items.dropna(subset="features")
    wide = pd.DataFrame(vectors["features"].tolist(), columns=names)
    wide.insert(0, "item_id", vectors["item_id"].tolist())
    connection = world.connection()
    with world.evaluator(items=wide, columns={"items.features": ",".join(names)}) as evaluator:
        ours = evaluator.per_user("intra_list_diversity", k=[3, 10], long=True)
    for k in (3, 10):
        expected = intra_list(connection, "features", k)
        assert our_users(ours, "intra_list_diversity", k) == pytest.approx(
            expected, rel=0, abs=1e-9
        )


@pytest.mark.parametrize("kind", ["float lists", "float arrays", "integers"])
def test_vectors_of_other_types(kind: str) -> None:
    """The cosine of what single precision holds; equal vectors are not below 0."""
    draw = np.random.default_rng(5)
    vectors = draw.integers(-3, 4, (60, 19)).astype("int16" if kind == "integers" else "float32")
    if kind != "integers":
        vectors += draw.standard_normal((60, 19), dtype="float32")
    vectors[3:9] = vectors[2]
    as_type = {
        "float lists": pa.list_(pa.float32()),
        "float arrays": pa.list_(pa.float32(), 19),
        "integers": pa.list_(pa.int16()),
    }
    items = pa.table({"item_id": range(60), "features": pa.array(list(vectors), as_type[kind])})
    lists = {user: draw.permutation(60)[:9].tolist() for user in range(40)} | {99: [2, 3, 4, 8]}
    unit = vectors.astype(float)
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    with Evaluator(lists, items=items) as evaluator:
        ours = values_by_user(
            evaluator.per_user("intra_list_diversity", long=True), "intra_list_diversity", None
        )
    expected = {
        user: np.mean([1 - unit[a] @ unit[b] for a in chosen for b in chosen if a != b])
        if user != 99
        else 0.0
        for user, chosen in lists.items()
    }
    assert ours == pytest.approx(expected, rel=0, abs=1e-9)
    assert min(ours.values()) >= 0


def test_inter_list_diversity_is_the_mean_over_pairs_of_users(world: World) -> None:
    connection = world.connection()
    with world.evaluator() as evaluator:
        at_cutoffs = evaluator.evaluate("inter_list_diversity", k=CUTOFFS)
        whole = evaluator.evaluate("inter_list_diversity")
    for k in cutoffs():
        expected = by_model(connection, INTER, k=limit(k))
        ours = our_runs(whole if k is None else at_cutoffs, "inter_list_diversity", k)
        assert ours == pytest.approx(expected, rel=0, abs=1e-9), f"k = {k}"
        assert set(ours) == set(MODELS)
        assert all(0 < value < 1 for value in ours.values())


def test_auc_is_the_share_of_pairs_won(world: World) -> None:
    connection = world.connection()
    predicted = "-place" if world.by_rank else "score"
    with world.evaluator() as evaluator:
        at_cutoffs, whole = evaluator.evaluate("auc", k=CUTOFFS), evaluator.evaluate("auc")
    for k in cutoffs():
        expected = by_model(connection, AUC, k=limit(k), predicted=predicted)
        ours = our_runs(whole if k is None else at_cutoffs, "auc", k)
        assert set(expected) == set(MODELS)
        assert ours == pytest.approx(expected, rel=0, abs=1e-9), f"k = {k}"
