"""Write the tables that all systems read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from sqlmetrics.run.demo import write_demo

PER_USER = 100
# lists of the demo are shorter for some users, and missing for others
_ROWS_PER_USER = 94

_SCORED = "recommendations_als"


@dataclass(frozen=True)
class Tables:
    """The tables of one size.

    Attributes:
        folder: the folder of the files.
        rows: the number of rows in a file of recommendations.
        users: the number of users with a list.
        hits: the number of recommended rows that are in the interactions.
    """

    folder: Path
    rows: int
    users: int
    hits: int

    @property
    def interactions(self) -> Path:
        return self.folder / "interactions.parquet"

    def recommendations(self, kind: str) -> Path:
        return self.folder / f"{_SCORED if kind == 'score' else 'recommendations_ranked'}.parquet"


def write_tables(folder: Path, rows: int) -> Tables:
    """Return tables of about this many recommendations, and write them if missing.

    Two files have the same lists, one with scores and one with ranks. No list has equal scores,
    even in single precision, because systems order ties differently.
    """
    ranked, scored = folder / "recommendations_ranked.parquet", folder / f"{_SCORED}.parquet"
    with duckdb.connect(config={"temp_directory": str(folder / "spilled")}) as connection:
        if not ranked.exists():
            print(f"writing tables of about {rows:,} rows to {folder}", flush=True)
            users = max(1, rows // _ROWS_PER_USER)
            write_demo(folder, users=users, per_user=PER_USER, models=1, force=True)
            _refuse_ties(connection, scored)
            draft = ranked.with_suffix(".tmp")
            connection.execute(f"""
                COPY (
                    SELECT
                        user_id,
                        item_id,
                        row_number() OVER (PARTITION BY user_id ORDER BY score DESC) AS rank
                    FROM '{scored}'
                    ORDER BY user_id, rank
                ) TO '{draft}' (FORMAT parquet, COMPRESSION zstd)
            """)
            draft.rename(ranked)
        counts = connection.execute(f"""
            SELECT
                (SELECT count(*) FROM '{ranked}'),
                (SELECT count(*) FROM '{ranked}' WHERE rank = 1),
                (
                    SELECT count(*)
                    FROM '{ranked}'
                    JOIN '{folder / "interactions.parquet"}' USING (user_id, item_id)
                )
        """).fetchall()[0]
    return Tables(folder, *counts)


def _refuse_ties(connection: duckdb.DuckDBPyConnection, scored: Path) -> None:
    tied = connection.execute(f"""
        SELECT user_id
        FROM '{scored}'
        GROUP BY user_id, score::float
        HAVING count(*) > 1
        LIMIT 1
    """).fetchone()
    if tied:
        raise SystemExit(f"{scored}: user {tied[0]} has equal scores")
