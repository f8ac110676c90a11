"""Run the public calls of an evaluator one at a time, from any thread."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar, cast

from sqlmetrics.errors import UsageError
from sqlmetrics.run.session import Session
from sqlmetrics.texts.masking import masked
from sqlmetrics.texts.messages import Argument

# the public calls whose values people can correct, and those without values
_AUDITED = {"models", "evaluate", "rows", "compare", "write_parquet", "write_table", "sql", "stage"}

_Method = TypeVar("_Method", bound=Callable[..., Any])

_NOT_COPIED = (
    "an Evaluator cannot be pickled or copied, because it holds a connection to its engine. Create "
    "one in each process from the same arguments"
)


class OnSession:
    """An object whose public methods run on a session."""

    _session: Session

    def _open(self, session: Session) -> None:
        self._session = session
        self.catalog, self.engine = session.catalog, session.engine
        self.tables, self.where = session.tables, session.where

    def with_tables(self, **tables: Any) -> Self:
        """Return an evaluator of other tables that shares everything else with this one.

        The new evaluator uses the same connection, and does not check or prepare the other tables
        again if this evaluator has done so. It can be used at the same time, and is closed by
        itself; close this evaluator last.

        Args:
            tables: the new tables by name, each a data frame, an Arrow table, a dict of lists or a
                dict of models, e.g. `recommendations=frame`.

        Raises:
            UsageError: a new table is not in memory, or the engine is not DuckDB or has a
                connection of yours.
            DataError: see the class.
        """
        other = object.__new__(type(self))
        other._open(self._session.with_tables(tables))
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Raise TypeError, because the object can be neither pickled nor copied."""
        raise TypeError(_NOT_COPIED)

    def __repr__(self) -> str:
        """Return the name of the class, and a line per table and setting."""
        return masked("\n  ".join([type(self).__name__, *self._session.shown()]))


_arguments: dict[str, set[str]] = {}  # of every public call, by its name


def check_arguments(method: str, given: Iterable[str], function: Callable[..., Any]) -> None:
    """Check that a function has the arguments that a public call was given for it.

    Raises:
        TypeError: it lacks one; the message names the call.
    """
    known = inspect.signature(function).parameters
    for name in given:
        if name not in known:
            others = [
                other for other, names in _arguments.items() if name in names and other != method
            ]
            of = f"; it is an argument of {', '.join(others)}" if others else ""
            raise TypeError(f"{method} has no argument {name!r}{of}")


def public(method: _Method) -> _Method:
    """Turn a method of the evaluator into a public call; a nested call joins the outer one."""
    parameters = inspect.signature(method).parameters.values()
    _arguments[method.__name__] = {one.name for one in parameters}
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters)

    @functools.wraps(method)
    def called(evaluator: OnSession, *args: Any, **kwargs: Any) -> Any:
        with evaluator._session.calling():
            if "audit" in evaluator.tables and method.__name__ not in _AUDITED:
                raise UsageError(
                    Argument("audit"),
                    " corrects the results of evaluate, compare and sql, and no others; remove it",
                )
            if not takes_all:  # others check what they pass on
                check_arguments(method.__name__, kwargs, method)
            return method(evaluator, *args, **kwargs)

    return cast("_Method", called)
