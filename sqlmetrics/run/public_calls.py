"""Run the public calls of an evaluator one at a time, from any thread."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from weakref import WeakKeyDictionary

from sqlmetrics.masking import masked
from sqlmetrics.messages import Message
from sqlmetrics.metrics.requests import MetricRequest

if TYPE_CHECKING:
    from sqlmetrics.plan.request import PlannedRun
    from sqlmetrics.run.session import Session

_Method = TypeVar("_Method", bound=Callable[..., Any])
Lock = AbstractContextManager[Any]

_NOT_COPIED = (
    "an Evaluator cannot be pickled or copied, because it holds a connection to its engine. Create "
    "one in each process from the same arguments"
)

_locks: WeakKeyDictionary[Any, Lock] = WeakKeyDictionary()  # locks of connections given by users
_locks_guard = threading.Lock()


def lock_of(connection: Any) -> Lock:
    """Return the reentrant lock shared by all evaluators of a connection; for None, a new lock."""
    if connection is None:
        return threading.RLock()
    with _locks_guard:
        try:
            return _locks.setdefault(connection, threading.RLock())
        except TypeError:  # not a real connection
            return threading.RLock()


@dataclass
class PublicCall:
    """A running public call, with the public calls that it makes itself.

    Attributes:
        check: whether to check for data warnings at the end; None to decide by the table size.
        runs: the runs of the computed results, in order.
        is_recorded: whether a record is made of the runs.
        said: the warnings and notes that were already issued.
    """

    check: bool | None = None
    runs: list[PlannedRun] = field(default_factory=list)
    is_recorded: bool = False
    said: set[Message] = field(default_factory=set)

    @property
    def requests(self) -> list[MetricRequest]:
        """The requests of the computed results, in order."""
        return [request for run in self.runs for request in run.requests]

    def new(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages that were not issued yet, and remember them as issued."""
        new = [message for message in messages if message not in self.said]
        self.said.update(new)
        return new


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


def _check_arguments(method: str, given: Iterable[str]) -> None:
    """Check that a method has all of the given arguments.

    Raises:
        TypeError: the method has no such argument; the message names methods that have it.
    """
    for name in given:
        if name not in _arguments[method]:
            others = [other for other, names in _arguments.items() if name in names]
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
            if not takes_all:
                _check_arguments(method.__name__, kwargs)
            return method(evaluator, *args, **kwargs)

    return cast("_Method", called)
