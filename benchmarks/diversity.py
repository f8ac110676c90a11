"""Cost of diversity: all pairs of a million users, and all pairs of items in their lists.

    python benchmarks/diversity.py [--users 1000000] [--lists 100000] [--runs 5]

Between lists: the exact mean over all pairs of users, as a multiple of a plain GROUP BY over the
same file. Within lists: the exact mean over all pairs of items of each list, as a multiple of a
handwritten ranking. All queries run alternately in this process; the costs are CPU seconds.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from timing import measure

import sqlmetrics as sm

CATALOGUE = 20_000
DIMENSIONS = 32

# Popular items are drawn more often: the item is the square of a number between 0 and 1. Repeated
# items of a list are dropped, so some lists are a little shorter than --per-user.
DRAWN = """
SELECT
    user_id,
    CAST(floor(pow(uniform, 2) * {items}) AS BIGINT) AS item_id,
    min(place) AS place
FROM (
    SELECT user_id, place, hash(user_id * {length} + place) / pow(2.0, 64) AS uniform
    FROM range({users}) AS u (user_id), range({length}) AS p (place)
)
GROUP BY ALL
"""
RANKED_LISTS = """
COPY (
    SELECT user_id, item_id, row_number() OVER (PARTITION BY user_id ORDER BY place) AS rank
    FROM ({drawn})
    ORDER BY user_id, rank
) TO '{path}'
"""
SCORED_LISTS = """
COPY (
    SELECT user_id, item_id, hash(user_id * 1000003 + item_id) / pow(2.0, 64) AS score
    FROM ({drawn})
    ORDER BY user_id, hash(item_id)
) TO '{path}'
"""
ITEMS = """
COPY (
    SELECT
        item_id,
        list_transform(
            range({dimensions}),
            lambda place: CAST(hash(item_id * {dimensions} + place) / pow(2.0, 63) - 1 AS FLOAT)
        ) AS features,
        'category ' || CAST(hash(item_id) % 25 AS VARCHAR) AS category
    FROM range({items}) AS i (item_id)
) TO '{path}'
"""

# the sums prevent the engine from skipping unread columns
BY_ITEM = "SELECT sum(n) FROM (SELECT item_id, count(*) AS n FROM '{lists}' GROUP BY item_id)"
BY_USER = "SELECT sum(n) FROM (SELECT user_id, count(*) AS n FROM '{lists}' GROUP BY user_id)"
RANKING = """
SELECT count(*), sum(rank)
FROM (
    SELECT
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM '{lists}'
)
"""
DUPLICATES = """
SELECT count(*) FROM (
    SELECT 1 FROM '{lists}' GROUP BY user_id, item_id HAVING count(*) > 1
)
"""
SIZES = """
SELECT sum(n), sum(n * (n - 1) // 2)
FROM (SELECT count(*) FROM '{lists}' GROUP BY user_id) AS t (n)
"""


def query(connection: duckdb.DuckDBPyConnection, text: str, lists: str) -> Callable[[], object]:
    return lambda: connection.execute(text.format(lists=lists)).fetchall()


def ours(metric: str, k: int | None, trust: bool, **tables: str) -> Callable[[], object]:
    def action() -> Any:
        with sm.Evaluator(**tables, trust_input=trust) as evaluator:
            return evaluator.evaluate(metric, k=k)

    return action


def report(times: dict[str, float], bases: list[str]) -> None:
    """Print times, and ours as multiples of the handwritten queries (and duplicates)."""
    for name, seconds in times.items():
        line = f"{name:40s} {seconds:6.2f} CPU s"
        if name.startswith("hand"):
            print(line)
            continue
        ratios = [f"{seconds / times[base]:.2f} x {base}" for base in bases]
        if "trusted" not in name:
            guarded = times[bases[0]] + times["hand: duplicates"]
            ratios.append(f"{seconds / guarded:.2f} x {bases[0]} + duplicates")
        print(f"{line}  {', '.join(ratios)}")


def between_lists(directory: Path, users: int, length: int, runs: int) -> None:
    lists = str(directory / "ranked.parquet")
    connection = duckdb.connect()
    drawn = DRAWN.format(users=users, length=length, items=CATALOGUE)
    connection.execute(RANKED_LISTS.format(drawn=drawn, path=lists))
    rows, _ = connection.execute(SIZES.format(lists=lists)).fetchone() or (0, 0)
    actions = {
        "hand: by item": query(connection, BY_ITEM, lists),
        "hand: by user": query(connection, BY_USER, lists),
        "hand: duplicates": query(connection, DUPLICATES, lists),
    }
    for trust in (False, True):
        for k in (None, length, length // 2):
            name = "inter_list_diversity" + ("" if k is None else f"@{k}")
            actions[name + (", trusted" if trust else "")] = ours(
                "inter_list_diversity", k, trust, recommendations=lists
            )
    print(f"{users:,} users, {rows:,} rows with ranks: {users * (users - 1) // 2:,} pairs of users")
    report(measure(actions, runs), ["hand: by item", "hand: by user"])


def inside_lists(directory: Path, users: int, length: int, runs: int) -> None:
    lists, items = str(directory / "scored.parquet"), str(directory / "items.parquet")
    connection = duckdb.connect()
    drawn = DRAWN.format(users=users, length=length, items=CATALOGUE)
    connection.execute(SCORED_LISTS.format(drawn=drawn, path=lists))
    connection.execute(ITEMS.format(items=CATALOGUE, dimensions=DIMENSIONS, path=items))
    rows, pairs = connection.execute(SIZES.format(lists=lists)).fetchone() or (0, 0)
    actions = {
        "hand: ranking": query(connection, RANKING, lists),
        "hand: duplicates": query(connection, DUPLICATES, lists),
    }
    for trust in (False, True):
        for over in ("features", "category"):
            actions[f"intra_list_diversity, {over}" + (", trusted" if trust else "")] = ours(
                f"intra_list_diversity(over={over})",
                length,
                trust,
                recommendations=lists,
                items=items,
            )
    print(f"{users:,} users, {rows:,} rows with scores: {pairs:,} pairs of items")
    report(measure(actions, runs), ["hand: ranking"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=1_000_000, help="users of pairs of lists")
    parser.add_argument("--lists", type=int, default=100_000, help="lists of pairs of items")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(f"{platform.machine()}, DuckDB {duckdb.__version__}")
    with tempfile.TemporaryDirectory() as directory:
        between_lists(Path(directory), options.users, 10, options.runs)
        print()
        inside_lists(Path(directory), options.lists, 100, options.runs)


if __name__ == "__main__":
    main()
