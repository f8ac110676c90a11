"""Connections of drivers inside the objects of SQLAlchemy and Ibis.

Neither library is imported unless an object of it is given.
"""

from __future__ import annotations

import sys
from typing import Any

from sqlmetrics.errors import UsageError


def connection_in(given: Any) -> Any:
    """Return the connection of a driver inside a connection of SQLAlchemy or a backend of Ibis.

    Other objects are returned as they are.

    Raises:
        UsageError: the connection is closed, or the object opens connections of its own.
    """
    sqlalchemy, ibis = map(sys.modules.get, ("sqlalchemy.engine", "ibis.backends"))
    if sqlalchemy is not None and isinstance(given, sqlalchemy.Engine):
        raise UsageError(
            "engine: an Engine of SQLAlchemy opens a connection for every use",
            remedy="pass one connection: engine=engine.connect()",
        )
    if sqlalchemy is not None and isinstance(given, sqlalchemy.Connection):
        if given.closed:
            raise UsageError("engine: the connection of SQLAlchemy is closed; open a new one")
        return given.connection.driver_connection
    if ibis is not None and isinstance(given, ibis.BaseBackend):
        return getattr(given, "con", None)
    return given
