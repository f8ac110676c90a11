"""Compare the values of a database with those that DuckDB computes, for some users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import DataError, UsageError
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
    users = _sampled(session, n_users)
    # notes about the data would be about these users only
    ours = {**session.given, "check": False}
    theirs = {**ours, **dict.fromkeys(_OF_DATABASE)}
    conditions = dict(session.where)
    for name, table in session.tables.items():
        tables: dict[str | None, Any] = {}
        for source in table.sources:
            whole = _condition(session, name, source, users)
            rows = _rows(session, source, whole)
            if not rows.num_rows:
                raise DataError(f"{name}: {source.label} is empty", table=name)
            if source.run is None:
                tables[source.model] = rows
            else:
                tables.setdefault(source.model, {})[source.run] = rows
            if whole:
                conditions[name] = whole
        theirs[name] = tables if table.models else tables[None]
    ours["where"] = conditions
    return ours, theirs


def _sampled(session: Session, n_users: int) -> list[tuple[Any, ...]]:
    """Return the first users of the held-out interactions, and one of every source without them."""
    users: list[tuple[Any, ...]] = []
    tables = dict(sorted(session.tables.items(), key=lambda item: item[0] != "interactions"))
    for name, table in tables.items():
        for source in table.sources:
            if not _keys(session, source):
                continue
            of_users = _condition(session, name, source, users)
            if not users or not _rows(session, source, of_users, n_users=1).num_rows:
                n = 1 if users else n_users
                found = _rows(session, source, session.where.get(name), n_users=n)
                users += [tuple(row.values()) for row in found.to_pylist()]
    return users


def _condition(
    session: Session, name: str, source: Source, users: Sequence[tuple[Any, ...]]
) -> str:
    """Return the condition on the rows of a source, for these users only."""
    parts = (session.where.get(name), _of_users(_keys(session, source), users))
    return " AND ".join(f"({part})" for part in parts if part)


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


def _of_users(keys: Sequence[str], users: Sequence[tuple[Any, ...]]) -> str:
    """Return the condition that a row belongs to one of the users; empty without user columns."""
    if not (keys and users):
        return ""
    names = list(map(identifier, keys))
    rows = (zip(names, map(literal, row), strict=True) for row in users)
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
