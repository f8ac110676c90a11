"""The build backend: hatchling, except on a Python that is too old.

An old pip, such as that of Python 3.10, otherwise tries versions of the dependencies for minutes
before it says so.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(f"sqlmetrics needs Python 3.11 or newer; this is Python {sys.version.split()[0]}")

from hatchling.build import *  # noqa: F403
