"""The entry point of the command line: first what must hold from the start, then the rest.

Signals are handled before anything heavy is imported: Ctrl-C during imports is no traceback.
"""

import os
import sys

from sqlmetrics import interrupts


def main() -> None:
    """Run the command line in a process of its own."""
    interrupts.install()
    _replace_closed_streams()
    from sqlmetrics.cli.commands import main as command_line

    try:
        command_line(prog_name="sqlmetrics")
    finally:
        interrupts.finish()


def _replace_closed_streams() -> None:
    """Put something in the place of standard streams that the caller has closed.

    Otherwise the next file that is opened gets the number of the stream, and messages go into it.
    Reading stdin and writing to stdout fail then; messages to stderr are dropped.
    """
    for name, flags, mode in (
        ("stdin", os.O_WRONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, flags)  # the lowest free one, that of the stream
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    main()
