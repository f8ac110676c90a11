"""Commands in other processes, and their output."""

import subprocess
import time
from collections.abc import Callable
from typing import Any

# the template of a metric that takes hours, for runs that are stopped
ENDLESS = """\
{#---
title = "Takes hours"
when_empty = 0
---#}
SELECT
    {{ keys }},
    k,
    max((SELECT sum(hash(a.range * b.range)) FROM range(100000) AS a, range(100000000) AS b))
        AS value
FROM hits
GROUP BY {{ keys }}, k
"""

PATIENCE = 600.0  # seconds until a process counts as stuck, on a machine of any load


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[Any] | None = None) -> None:
    """Wait until a condition holds; fail where the process that works towards it has ended."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
