"""Ctrl-C and SIGTERM on the command line: remove what was made, and end the process.

Nothing heavy is imported here: the signals are handled before anything else is loaded. A handler
that raises KeyboardInterrupt would not do: imports, callbacks and destructors swallow it or turn it
into other errors, and the engine may take seconds to notice. So the handler undoes what is
registered here and ends the process itself. Used as a library, the package installs no handlers.
"""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

EXIT_CODE = 130
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # not every system has all of them


class _State:
    """The progress of the process, which decides the effect of an interrupt.

    Attributes:
        undo: what to do before an interrupted process ends, the last one first.
        ending: a signal has come.
        decided: the result is being put in its place; it is too late to interrupt.
        unwinds: an interrupt raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.undo: list[Callable[[], None]] = []
        self.ending = False
        self.decided = False
        self.unwinds = False


_state = _State()


def install() -> None:
    """Handle the signals from now on, unless the caller ignores them (nohup, background jobs)."""
    for number in _numbers():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupted)


def finish() -> None:
    """Ignore the signals from now on: the work is done, and the interpreter only shuts down."""
    for number in _numbers():
        signal.signal(number, signal.SIG_IGN)


def add(action: Callable[[], None]) -> None:
    """Register what undoes the next step; call this before the step."""
    _state.undo.append(action)


def drop(action: Callable[[], None]) -> None:
    """Forget an action, which has been done or is not needed any more."""
    if action in _state.undo:
        _state.undo.remove(action)


def decide() -> None:
    """Ignore interrupts from now on: the result is about to be put in its place.

    What follows takes milliseconds. An interrupted command thus leaves everything as it was.
    """
    _state.decided = True


def unwind() -> None:
    """Raise KeyboardInterrupt instead of ending the process: another process must be told."""
    _state.unwinds = True


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]


def _interrupted(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Undo what was done, and end the process."""
    if _state.decided or _state.ending:
        return
    _state.ending = True
    if _state.unwinds:
        raise KeyboardInterrupt
    for action in reversed(_state.undo[:]):
        try:
            action()
        except Exception as error:
            say(f"{type(error).__name__}: {error}")
    say("interrupted")
    os._exit(EXIT_CODE)


def say(text: str) -> None:
    """Write a message to stderr, past its buffer, which may be in use."""
    with contextlib.suppress(OSError):  # nobody reads it
        os.write(2, f"sqlmetrics: {text}\n".encode())
