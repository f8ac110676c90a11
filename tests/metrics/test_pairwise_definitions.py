"""Algebraic shortcuts against the definitions, written as pairwise self-joins.

Diversity within lists and between lists, and pooled AUC, are means over pairs that the package
computes without making the pairs. Here they are made: in SQL over the same tables, with the
cosine that DuckDB computes of two lists.

Samples of users are compared with the exact values, and their spread with theory.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.calls import at_k, values_by_user

MODELS = ["als", "popular"]
CUTOFFS = [1, 2, 3, 5, 10, 100]
ITEMS = 90
CATEGORIES = ["rock", "pop", "Jazz", "", "folk music", "été"]
DIMENSIONS = 11
USERS = 2000  # of the tables that users are drawn from

# ---------------------------------------------------------------- tables


@dataclass
class World:
    """Lists of two models, judgments, and items with vectors and categories.

    Lists have 1 to 40 items; some are the same, some have nothing in common, some hold only one
    item with attributes, or none. Items lack a vector or a category either because they are not in
    the table or because it is NULL; some vectors are zero, equal, or opposite.
    """

    seed: int
    integer_ids: bool
    by_rank: bool
    several_texts: bool = False

    def __post_init__(self) -> None:
        draw = random.Random(self.seed)
        items = [self.item(number) for number in range(ITEMS)]
        bare = items[::9]  # neither vector nor category
        same, opposite = items[4:6], items[6:8]
        rows = []
        for model in MODELS:
            before: list[Any] = items[:4]
            for number in range(45):
                if (number + len(model)) % 11 == 4:  # without a list in this model
                    continue
                chosen = draw.sample(items, draw.choice([1, 1, 2, 3, 4, 7, 12, 40]))
                if number % 10 == 1:
                    chosen = list(before)
                elif number % 10 == 2:  # only items without attributes
                    chosen = draw.sample(bare, 3)
                elif number % 10 == 3:  # and one with
                    chosen = [*draw.sample(bare, 2), items[number + 1]]
                elif number % 10 == 5:
                    chosen = list(same if number < 20 else opposite)
                before = chosen
                scores = [float(draw.randint(0, 5)) for _ in chosen]
                ranks = range(1, len(chosen) + 1)
                user = self.user(number)
                values = ranks if self.by_rank else scores
                rows += [(model, user, i, v) for i, v in zip(chosen, values, strict=True)]
        order = "rank" if self.by_rank else "score"
        self.recommendations = pd.DataFrame(rows, columns=["model", "user_id", "item_id", order])

        judged = [
            (user, item, draw.choice([0, 0, 1, 2]))
            for user in sorted({row[1] for row in rows})
            for item in draw.sample(items, 25)
        ]
        self.interactions = pd.DataFrame(judged, columns=["user_id", "item_id", "relevance"])

        known = [item for item in items if item not in bare[::2]]
        vectors: dict[Any, Any] = {item: self.vector(draw) for item in known}
        vectors[same[0]] = vectors[same[1]] = [0.1 * x for x in range(1, DIMENSIONS + 1)]
        vectors[opposite[0]] = [-0.3 * x for x in vectors[same[0]]]
        vectors[opposite[1]] = [1e9 * x for x in vectors[same[0]]]
        texts: dict[Any, Any] = {
            item: draw.sample(CATEGORIES, draw.choice([1, 1, 2, 4]) if self.several_texts else 1)
            for item in known
        }
        for item in bare:
            vectors[item] = texts[item] = None
        self.items = pd.DataFrame({"item_id": known})
        self.items["features"] = [vectors[item] for item in known]
        self.items["category"] = [texts[item] for item in known]
        self.given_items = self.items.copy()
        if not self.several_texts:
            self.given_items["category"] = self.items["category"].str[0]

    def item(self, number: int) -> Any:
        return 1000 - number * 7 if self.integer_ids else f"{'iI-é'[number % 4]}{number}"

    def user(self, number: int) -> Any:
        return number * 10**12 if self.integer_ids else f"user {number}"

    @staticmethod
    def vector(draw: random.Random) -> list[float]:
        kind = draw.choice(["dense", "dense", "counts", "tiny", "huge", "zero"])
        if kind == "zero":
            return [0.0] * DIMENSIONS
        if kind == "counts":
            return [float(draw.choice([0, 0, 0, 1, 2])) for _ in range(DIMENSIONS)]
        scale = {"dense": 1.0, "tiny": 1e-30, "huge": 1e30}[kind]
        return [draw.gauss(0.3, 1) * scale for _ in range(DIMENSIONS)]

    def connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.register("recommendations", self.recommendations)
        connection.register("interactions", self.interactions)
        connection.register("items", self.items)
        connection.execute(RANKED.format(order="rank" if self.by_rank else "score DESC, item_id"))
        connection.execute(ONE_HOT)
        return connection

    def evaluator(self, **changed: Any) -> sm.Evaluator:
        tables: dict[str, Any] = {"items": self.given_items, **changed}
        settings = {"missing_attributes": "ignore"}
        return sm.Evaluator(self.recommendations, self.interactions, settings=settings, **tables)


WORLDS = {
    "integer ids by score": World(1, True, False),
    "text ids by rank": World(2, False, True, several_texts=True),
    "text ids by score": World(3, False, False, several_texts=True),
}


@pytest.fixture(scope="module", params=WORLDS.values(), ids=WORLDS.keys())
def world(request: pytest.FixtureRequest) -> World:
    return request.param  # type: ignore[no-any-return]


def cutoffs() -> Iterator[int | None]:
    yield from CUTOFFS
    yield None


# ---------------------------------------------------------------- definitions, pair by pair

RANKED = """
CREATE TEMP TABLE ranked AS
SELECT *, row_number() OVER (PARTITION BY model, user_id ORDER BY {order}) AS place
FROM recommendations
"""

# a component for each category that there is
ONE_HOT = """
CREATE TEMP TABLE one_hot AS
WITH long AS (
    SELECT item_id, unnest(category) AS category FROM items
),
names AS (SELECT DISTINCT category FROM long)
SELECT item_id, list(CASE WHEN has THEN 1.0 ELSE 0.0 END ORDER BY category) AS vector
FROM (
    SELECT i.item_id, n.category, bool_or(i.category = n.category) AS has
    FROM long AS i, names AS n
    GROUP BY i.item_id, n.category
)
GROUP BY item_id
"""

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


def our_runs(frame: pd.DataFrame, name: str, k: int | None) -> dict[str, float]:
    rows = at_k(frame[frame["metric"] == name], k)
    return dict(zip(rows["model"], rows["value"], strict=True))


OVER = {"features": "intra_list_diversity", "category": "intra_list_diversity(over=category)"}

# ---------------------------------------------------------------- shortcut and definition


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


@pytest.mark.thorough
def test_intra_list_diversity_is_the_mean_over_pairs_of_items(world: World) -> None:
    connection = world.connection()
    with world.evaluator() as evaluator:
        at_cutoffs = evaluator.per_user(OVER.values(), k=CUTOFFS)
        whole = evaluator.per_user(OVER.values())
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
        ours = evaluator.per_user("intra_list_diversity", k=[3, 10])
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
    with sm.Evaluator(lists, items=items) as evaluator:
        ours = values_by_user(
            evaluator.per_user("intra_list_diversity"), "intra_list_diversity", None
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


# ---------------------------------------------------------------- samples of users

SAMPLED = ["intra_list_diversity", "intra_list_diversity(over=category)", "inter_list_diversity"]


def sampled(name: str, **params: Any) -> str:
    inside = ", ".join(f"{param}={value}" for param, value in params.items())
    head, _, rest = name.partition("(")
    return f"{head}({rest.removesuffix(')')}{', ' if rest else ''}{inside})"


@pytest.fixture(scope="module")
def crowd() -> dict[str, pd.DataFrame]:
    """Return 2,000 users, who differ in how popular and how alike their items are."""
    draw = np.random.default_rng(9)
    lists = []
    for user in range(USERS):
        length = int(draw.integers(2, 13))
        spread = draw.choice([15, 60, 400])
        chosen = draw.permutation(spread)[:length]
        lists.append(
            pd.DataFrame({"user_id": user, "item_id": chosen, "rank": range(1, length + 1)})
        )
    vectors = draw.standard_normal((400, 6)) + np.arange(400)[:, None] / 200
    categories = [CATEGORIES[n % 5 if n > 50 else 0] for n in range(400)]
    return {
        "recommendations": pd.concat(lists, ignore_index=True),
        "items": pd.DataFrame(
            {"item_id": range(400), "features": list(vectors), "category": categories}
        ),
    }


def evaluate(tables: dict[str, pd.DataFrame], metrics: Any, k: Any = None, **more: Any) -> Any:
    """Return {(metric, k or 0): value} and {…: n_users}."""
    with sm.Evaluator(**tables, **more) as evaluator:
        frame = evaluator.evaluate(metrics, k=k)
    keys = list(zip(frame["metric"], frame["k"].fillna(0).astype(int), strict=True))
    return dict(zip(keys, frame["value"], strict=True)), dict(
        zip(keys, frame["n_users"], strict=True)
    )


@pytest.mark.thorough
def test_a_sample_of_all_lists_of_each_model_is_exact(world: World) -> None:
    names = [sampled(name, sample_users=45, runs=3) for name in SAMPLED]
    with world.evaluator() as evaluator:
        for k in (3, None):
            frame = evaluator.evaluate([*SAMPLED, *names], k=k)
            metrics = list(dict.fromkeys(frame["metric"]))
            for exact, drawn in zip(metrics[:3], metrics[3:], strict=True):
                values = our_runs(frame, exact, k)
                assert our_runs(frame, drawn, k) == pytest.approx(values, rel=0, abs=1e-12)


@pytest.mark.parametrize("size", [USERS, 10**6])
@pytest.mark.thorough
def test_a_sample_of_everybody_is_exact(crowd: dict[str, pd.DataFrame], size: int) -> None:
    names = [sampled(name, sample_users=size, runs=2) for name in SAMPLED]
    values, _ = evaluate(crowd, [*SAMPLED, *names], k=[2, 10])
    columns = list(dict.fromkeys(metric for metric, _ in values))
    assert len(columns) == 6
    for exact, drawn in zip(columns[:3], columns[3:], strict=True):
        for k in (2, 10):
            assert values[drawn, k] == pytest.approx(values[exact, k], rel=0, abs=1e-12)


@pytest.mark.thorough
def test_a_seed_draws_the_same_users(crowd: dict[str, pd.DataFrame]) -> None:
    """On any number of threads, in any order of rows; another seed draws others."""
    names = [sampled(name, sample_users=100, runs=3, seed=4) for name in SAMPLED]
    first, _ = evaluate(crowd, names, k=[2, 10], threads=1)
    shuffled = {name: table.sample(frac=1, random_state=3) for name, table in crowd.items()}
    for tables, threads in ((crowd, 4), (shuffled, 1), (shuffled, 4)):
        again, _ = evaluate(tables, names, k=[2, 10], threads=threads)
        assert again == pytest.approx(first, rel=0, abs=1e-12)
    others = [sampled(name, sample_users=100, runs=3, seed=5) for name in SAMPLED]
    other, _ = evaluate(crowd, others, k=[2, 10])
    for one, two in zip(first.values(), other.values(), strict=True):
        assert abs(one - two) > 1e-6


@pytest.mark.parametrize("over", OVER)
@pytest.mark.thorough
def test_sampled_users_keep_their_own_values(crowd: dict[str, pd.DataFrame], over: str) -> None:
    """`runs` times `sample_users` users have the value that they have without a sample."""
    name = sampled(OVER[over], sample_users=40, runs=5)
    runs: dict[int | None, list[dict[Any, float]]] = {5: [], None: []}
    for threads, table in ((1, crowd["recommendations"]), (4, crowd["recommendations"][::-1])):
        with sm.Evaluator(table, items=crowd["items"], threads=threads) as evaluator:
            for k, seen in runs.items():
                frame = evaluator.per_user([OVER[over], name], k=k)
                exact, drawn = (c for c in frame.columns if c not in ("user_id", "k"))
                everybody = values_by_user(frame, exact, k)
                seen.append(values_by_user(frame, drawn, k))
                assert len(everybody) == USERS
                assert len(seen[-1]) == 200
                assert seen[-1] == {user: everybody[user] for user in seen[-1]}
    for one, other in runs.values():
        assert one == other


@pytest.mark.thorough
def test_a_sampled_mean_is_as_near_as_theory_says(crowd: dict[str, pd.DataFrame]) -> None:
    """Of n out of N users drawn without replacement the mean strays by s · sqrt((1 - n/N) / n)."""
    seeds = range(1, 21)
    specs = [sampled("intra_list_diversity", sample_users=50, runs=10, seed=seed) for seed in seeds]
    values, users = evaluate(crowd, [*specs, "intra_list_diversity"], k=5)
    exact = values.pop(("intra_list_diversity", 5))
    users.pop(("intra_list_diversity", 5))
    assert set(users.values()) == {500}
    with sm.Evaluator(**crowd) as evaluator:
        frame = evaluator.per_user("intra_list_diversity", k=5)
    spread = frame["intra_list_diversity"].std() * math.sqrt((1 - 500 / USERS) / 500)
    assert_like_draws(list(values.values()), exact, spread)


def test_a_sampled_diversity_of_lists_is_as_near_as_theory_says(
    crowd: dict[str, pd.DataFrame],
) -> None:
    """Of m users a mean over pairs strays as a U-statistic (Hoeffding) of m out of N users does."""
    size, runs, k = 60, 4, 5
    seeds = range(1, 21)
    specs = [
        sampled("inter_list_diversity", sample_users=size, runs=runs, seed=seed) for seed in seeds
    ]
    values, _ = evaluate(crowd, [*specs, "inter_list_diversity"], k=k)
    exact = values.pop(("inter_list_diversity", k))
    table = crowd["recommendations"].query("rank <= @k")
    lists = np.zeros((USERS, 400))
    lists[table["user_id"], table["item_id"]] = 1
    lists /= np.linalg.norm(lists, axis=1)[:, None]
    distances = 1 - lists @ lists.T
    pairs = distances[np.triu_indices(USERS, 1)]
    assert exact == pytest.approx(pairs.mean(), rel=0, abs=1e-9)
    of_user = (distances.sum(axis=1) - distances.diagonal()) / (USERS - 1)
    variance = (4 * (size - 2) * of_user.var() + 2 * pairs.var()) / (size * (size - 1))
    assert_like_draws(list(values.values()), exact, math.sqrt(variance / runs))


def assert_like_draws(values: list[float], exact: float, spread: float) -> None:
    """Twenty estimates are around the exact value, as far from it as they should be.

    Each within 5 standard errors, their mean within 4 of its own; their spread within a factor that
    twenty normal draws leave once in ten thousand samples.
    """
    draws = np.array(values)
    assert len(set(values)) == len(values) == 20
    assert np.abs(draws - exact).max() < 5 * spread
    assert abs(draws.mean() - exact) < 4 * spread / math.sqrt(20)
    assert 0.45 < draws.std(ddof=1) / spread < 1.7


def test_runs_draw_different_users(crowd: dict[str, pd.DataFrame]) -> None:
    """With runs that drew the same users, ten runs would say what one says."""
    specs = [sampled("inter_list_diversity", sample_users=30, runs=runs) for runs in (1, 2, 10)]
    values, _ = evaluate(crowd, specs, k=5)
    assert len(set(values.values())) == 3
