"""Public calls of an evaluator: one at a time, whichever thread makes them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

from sqlmetrics.messages import Message
from sqlmetrics.metrics.requests import MetricRequest

if TYPE_CHECKING:
    from sqlmetrics.run.session import Session

_Method = TypeVar("_Method", bound=Callable[..., Any])
Lock = AbstractContextManager[Any]

NOT_COPIED = (
    "an Evaluator cannot be pickled or copied: it holds a connection to its engine. Make one in "
    "each process, from the same arguments"
)

_locks: WeakKeyDictionary[Any, Lock] = WeakKeyDictionary()  # of connections of others
_locks_guard = threading.Lock()


def lock_of(connection: Any) -> Lock:
    """Return the lock that all evaluators of one connection take; None: a lock of its own.

    A thread that holds it can take it again.
    """
    if connection is None:
        return threading.RLock()
    with _locks_guard:
        try:
            return _locks.setdefault(connection, threading.RLock())
        except TypeError:  # something that only looks like a connection
            return threading.RLock()


@dataclass
class PublicCall:
    """A public call while it runs, with all that it calls itself.

    Attributes:
        check: whether data warnings are looked for at its end; None: in lists that are not long.
        cutoffs: those of the results that it has computed, in their order.
        said: the warnings and notes that it has given.
    """

    check: bool | None = None
    cutoffs: dict[int | None, None] = field(default_factory=dict)
    said: set[Message] = field(default_factory=set)

    def ran(self, requests: Iterable[MetricRequest]) -> None:
        """Remember the cutoffs of requests that are computed."""
        self.cutoffs.update((request.k, None) for request in requests)

    def new(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages that were not given yet, which now they are."""
        new = [message for message in messages if message not in self.said]
        self.said.update(new)
        return new


class HasSession(Protocol):
    """A class with public calls."""

    _session: Session


def public(method: _Method) -> _Method:
    """Make a method of the evaluator a public call, unless another one makes it."""

    @functools.wraps(method)
    def called(evaluator: HasSession, *args: Any, **kwargs: Any) -> Any:
        with evaluator._session.calling():
            return method(evaluator, *args, **kwargs)

    return cast("_Method", called)
