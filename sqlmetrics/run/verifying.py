"""Compare the values of a database with those that DuckDB computes, for some users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import UsageError
from sqlmetrics.run.session import Session
from sqlmetrics.sql.quoting import identifier, literal
from sqlmetrics.sql.templates import render_file
from sqlmetrics.tables.schema import Source
from sqlmetrics.texts.messages import Argument, Message

if TYPE_CHECKING:
    import pandas as pd

_OF_DATABASE = ("engine", "dialect")


def samples(session: Session, n_users: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of two evaluators of the same users: in the database, and in DuckDB.

    Args:
        session: a session with a database.
        n_users: the number of users, the first ones of the held-out interactions.

    Raises:
        UsageError: the engine is not a database, there are no interactions, or the number of users
            is not a whole number of at least 1.
    """
    if not isinstance(n_users, int) or isinstance(n_users, bool) or n_users < 1:
        raise UsageError(f"users must be a whole number of at least 1, not {n_users!r}")
    engine = session.engine
    is_database = engine.embedded is None and engine.changing is not None
    if not is_database or "interactions" not in session.tables:
        raise UsageError(
            "verify compares a database with DuckDB and needs interactions",
            remedy=Message("give the URL or connection of a database with ", Argument("engine")),
        )
    source = session.tables["interactions"].sources[0]
    users = _rows(session, source, session.where.get("interactions"), n_users=n_users)
    # notes about the data would be about these users only
    ours = {**session.given, "check": False}
    theirs = {**ours, **dict.fromkeys(_OF_DATABASE)}
    conditions = dict(session.where)
    for name, table in session.tables.items():
        tables: dict[str | None, Any] = {}
        for source in table.sources:
            condition = _of_users(_keys(session, source), users)
            whole = " AND ".join(f"({one})" for one in (session.where.get(name), condition) if one)
            tables[source.model] = _rows(session, source, whole)
            if whole:
                conditions[name] = whole
        theirs[name] = tables if table.models else tables[None]
    ours["where"] = conditions
    return ours, theirs


def _keys(session: Session, source: Source) -> list[str]:
    """Return the columns that identify a user in a source; empty if it lacks one."""
    found = [source.find(key) for key in session.planner.user_keys]
    return [column.source for column in found if column is not None] if all(found) else []


def _rows(session: Session, source: Source, condition: str | None, n_users: int = 0) -> Any:
    """Return the rows of a source, or its first users, as an Arrow table."""
    import pyarrow as pa

    columns = _keys(session, source) if n_users else list(source.types)
    text = render_file(
        "inputs/sample",
        {
            "relation": source.relation,
            "where": condition,
            "columns": columns,
            "n_users": n_users,
        },
    )
    rows = session.engine.query(text, source.label)
    return pa.Table.from_pylist(rows)


def _of_users(keys: Sequence[str], users: Any) -> str:
    """Return the condition that a row belongs to one of the users; empty without user columns."""
    if not keys:
        return ""
    names = list(map(identifier, keys))
    rows = (zip(names, map(literal, row.values()), strict=True) for row in users.to_pylist())
    each = (" AND ".join(f"{name} = {value}" for name, value in row) for row in rows)
    return "(" + " OR ".join(f"({one})" for one in each) + ")"


def differences(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a result whose numbers differ from those of DuckDB.

    `value_in_duckdb` follows `value`.
    """
    import numpy as np
    from pandas.api.types import is_numeric_dtype

    keys = [name for name in ours.columns if not is_numeric_dtype(ours[name]) or name == "k"]
    both = ours.merge(theirs, how="outer", on=keys, suffixes=("", "_in_duckdb"))
    numbers = [name for name in ours.columns if name not in keys]
    same = np.ones(len(both), dtype=bool)
    for name in numbers:
        one, other = (both[n].astype("float64") for n in (name, f"{name}_in_duckdb"))
        same &= np.isclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True)
    shown = list(ours.columns)
    shown.insert(shown.index("value") + 1, "value_in_duckdb")
    return both.loc[~same, shown].reset_index(drop=True)
