"""The entry point of the command line.

Signal handlers are installed before heavy imports, so that Ctrl-C during an import shows no
traceback.
"""

import gc
import os
import sys

from sqlmetrics import interrupts

_NEW_OBJECTS = 50_000  # between garbage collections; 700 by default, 60 collections per command


def main() -> None:
    """Run the command line as the main program."""
    gc.set_threshold(_NEW_OBJECTS)
    interrupts.install()
    _replace_closed_streams()
    from sqlmetrics.cli.commands import main as command_line

    try:
        command_line(prog_name="sqlmetrics")
    finally:
        interrupts.finish()


def _replace_closed_streams() -> None:
    """Replace the standard streams that the caller has closed.

    Otherwise the next opened file would get the file descriptor of the stream, and messages would
    be written into that file. With the replacement, reading stdin and writing to stdout fail, and
    messages to stderr are dropped.
    """
    for name, flags, mode in (
        ("stdin", os.O_WRONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, flags)  # the lowest free descriptor, that of the stream
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    main()
