"""Handle Ctrl-C and SIGTERM on the command line: remove unfinished output and end the process.

This module imports nothing heavy, because it handles the signals before anything else is loaded. A
handler that raises KeyboardInterrupt is not enough: imports, callbacks and destructors swallow the
exception or turn it into other errors, and the engine may take seconds to notice. The handler
therefore runs the registered undo actions and ends the process itself. As a library, the package
installs no handlers.
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
    """The state of the process, which decides the effect of an interrupt.

    Attributes:
        undo: actions to run before an interrupted process ends, in reverse order.
        ending: a signal was received.
        decided: the result is being moved to its place; interrupts are ignored.
        unwinds: an interrupt raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.undo: list[Callable[[], None]] = []
        self.ending = False
        self.decided = False
        self.unwinds = False


_state = _State()


def install() -> None:
    """Handle the signals from now on, except those that the caller ignores (nohup, shell jobs)."""
    for number in _numbers():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupted)


def finish() -> None:
    """Ignore the signals from now on, because only the shutdown of the interpreter is left."""
    for number in _numbers():
        signal.signal(number, signal.SIG_IGN)


def add(action: Callable[[], None]) -> None:
    """Register the action that undoes the next step; call this before the step."""
    _state.undo.append(action)


def drop(action: Callable[[], None]) -> None:
    """Unregister an action that was run or is no longer needed."""
    if action in _state.undo:
        _state.undo.remove(action)


def decide() -> None:
    """Ignore interrupts from now on, because the result is about to be moved to its place.

    The move takes milliseconds. An interrupted command therefore leaves all files unchanged.
    """
    _state.decided = True


def unwind() -> None:
    """Let interrupts raise KeyboardInterrupt, so that the caller can stop other processes."""
    _state.unwinds = True


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]


def _interrupted(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Run the undo actions and end the process."""
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
    """Write a message to stderr without using its buffer, which may be in use."""
    with contextlib.suppress(OSError):  # stderr is closed
        os.write(2, f"sqlmetrics: {text}\n".encode())
