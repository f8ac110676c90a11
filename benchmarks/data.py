"""Create tables for the benchmarks, one kind of lists and interactions at a time, with DuckDB."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path

import duckdb

#: Number of items in the catalogue: a prime, so that no user gets an item twice.
ITEMS = 100_003

#: Share of the recommended rows that are relevant.
SHARES = {"dense": 0.1, "sparse": 0.001}
LENGTHS = (10, 100, 1000)
#: Expressions over positions from 0. Scores of a list are distinct, or equal in groups of four.
ORDERS = {
    "score": "spread * ({length} - place + noise) AS score",
    "ties": "spread * ({length} - place // 4) AS score",
    "rank": "place + 1 AS rank",
}
#: Rows sorted by user and rank, as in exports; or shuffled rows.
FILES = {"sorted": "row_number", "shuffled": "hash(row_number)"}

# The items of a user are a constant step apart, and every user has another step. The interactions
# have a share of the list, and items after the end of the list, a tenth of its length.
_ROWS = """
SELECT
    row_number,
    row_number // {places} AS user_id,
    row_number % {places} AS place,
    hash(user_id, 2) % {items} AS first_item,
    1 + hash(user_id, 3) % ({items} - 1) AS step,
    (first_item + place * step) % {items} AS item_id,
    0.5 + hash(user_id, 1) / pow(2.0, 64) AS spread,
    hash(user_id, place) / pow(2.0, 64) AS noise
FROM range({users} * {places}) AS rows (row_number)
"""
_RECOMMENDATIONS = """
SELECT user_id, CAST(item_id AS BIGINT) AS item_id, {order}
FROM ({rows})
ORDER BY {file}
"""
_INTERACTIONS = """
SELECT user_id, CAST(item_id AS BIGINT) AS item_id
FROM ({rows})
WHERE place >= {length} OR hash(place, user_id) / pow(2.0, 64) < {share}
ORDER BY {file}
"""


@dataclass(frozen=True)
class Case:
    """A kind of data: share of hits, length and order of lists, order of rows."""

    hits: str = "dense"
    length: int = 100
    order: str = "score"
    file: str = "sorted"

    @property
    def name(self) -> str:
        """Return the name of the case, such as `dense/100/score/sorted`."""
        return "/".join(str(getattr(self, field.name)) for field in fields(self))

    def write(self, directory: Path, rows: int) -> tuple[Path, Path]:
        """Write the lists and the interactions unless they exist; return their files."""
        folder = directory / f"{rows}-{self.name.replace('/', '-')}"
        lists, truth = folder / "recommendations.parquet", folder / "interactions.parquet"
        folder.mkdir(parents=True, exist_ok=True)
        users, length = max(rows // self.length, 1), self.length
        with duckdb.connect() as connection:
            for path, query, places in (
                (lists, _RECOMMENDATIONS, length),
                (truth, _INTERACTIONS, length + max(length // 10, 1)),
            ):
                if path.exists():
                    continue
                text = query.format(
                    rows=_ROWS.format(users=users, places=places, items=ITEMS),
                    order=ORDERS[self.order].format(length=length),
                    share=SHARES[self.hits],
                    file=FILES[self.file],
                    length=length,
                )
                draft = path.with_suffix(".tmp")
                connection.execute(f"COPY ({text}) TO '{draft}' (FORMAT parquet)")
                draft.rename(path)
        return lists, truth


#: All combinations.
GRID = [Case(*values) for values in product(SHARES, LENGTHS, ORDERS, FILES)]


def one_at_a_time() -> list[Case]:
    """Return the cases that differ from the default in one respect, for dense and sparse hits."""
    usual = Case()
    return [
        case
        for case in GRID
        if sum(
            getattr(case, field.name) != getattr(usual, field.name)
            for field in fields(Case)
            if field.name != "hits"
        )
        <= 1
    ]
