"""The page docs/reference/dialects.md: tested systems, and what differs between them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.sql.dialects import DIALECTS

TESTS = Path(__file__).resolve().parent.parent / "tests"
RECORD = TESTS / "engines" / "executed.json"  # dialect that tests run -> metrics it refuses

INTRODUCTION = """# Dialects

Which systems run the statements, which did the tests run, and what differs between them?

`sqlmetrics sql --dialect NAME` prints one statement for a system, of any of the {count} metrics:

- *executed*: a test runs the statement of every metric on the engine, at several cutoffs, on tables
  with ties, short lists, missing users, text ids and names that need quotes. The numbers equal
  those of DuckDB to 1e-9 (`tests/engines/test_metrics.py`). Postgres is a server whose collation
  does not sort by bytes; ClickHouse is the embedded build; Spark runs locally, and once with two
  executors.
- *parsed*: an independent parser accepts the statement of every metric (sqlfluff's grammar of the
  dialect, `tests/sql/test_dialects.py`). The statement was **not** run, because the system was not
  available.

[Warehouses](../how-to/warehouse.md) lists the settings and options that some dialects reject, such
as quantiles: the message names the missing feature and a remedy.
"""

NOTES = """## Silent differences between systems

- In Postgres, items with equal scores are ordered by `item_id`. Texts are compared by their bytes
  (`COLLATE "C"`) if the types are known from an export; otherwise, a warning says that the
  collation of the database decides.
- Each system sorts texts in its own order, so models may come in another order.
- Each system formats doubles, decimals and times differently: slices by them have other labels. If
  such values are ids, `sample_users` and resampled intervals draw other users.
- DataFusion 55 ignores keys of an ORDER BY after `row_number()`: with slices, rows can come in
  another order. Their values are the same. It also drops a key of GROUP BY, so statements with gaps
  (`--gap`) of several models are refused.
- Functions and casts in a condition (`--where`) have the meaning of the system: in ClickHouse,
  `length` counts bytes; `CAST(1.5 AS INTEGER)` is 2 in DuckDB and 1 in Spark.
- A printed statement does not validate its tables. Run `sqlmetrics evaluate` on an export.

## Rewritten SQL

Templates use SQL that has the same meaning in all systems (`sqlmetrics/sql/portable.py`). Passes
rewrite the remaining differences, such as divisions of integers, exact decimals, NULL in LEAST and
times with a zone; `sqlmetrics/sql/transpile.py` has each pass with its reason. ClickHouse
statements end in a required SETTINGS clause: without it, a LEFT JOIN without a match returns 0
instead of NULL.
"""


def dialects_page(catalog: Catalog, table: Any) -> str:
    """Write the page; `table` makes a table of Markdown."""
    refused: dict[str, list[str]] = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = [
        [
            ", ".join(f"`{name}`" for name in DIALECTS if (name in refused) == executed),
            "executed" if executed else "parsed",
            ", ".join(f"`{one}` by {name}" for name, metrics in refused.items() for one in metrics)
            if executed
            else "",
        ]
        for executed in (True, False)
    ]
    systems = table(["dialects", "statements", "refused metrics"], rows)
    return "\n".join([INTRODUCTION.format(count=len(catalog.metrics)), systems, "", NOTES])
