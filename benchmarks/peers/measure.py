"""Runs a command as a process of its own, and says what it cost.

    python measure.py SECONDS COMMAND [ARGUMENT ...]

The last line of the output is a JSON object: seconds on the clock, CPU seconds of the process and
of those that it started, the largest amount of memory that one of them held, in bytes, how the
process ended, and whether that was because SECONDS were over. What the command prints stands above.

This is a program of its own, since the kernel counts the memory of a new process from that of the
process that starts it: the less this one holds, the smaller the processes that can be measured.
"""

import contextlib
import json
import os
import signal
import sys
import time


def main() -> None:
    limit, command = float(sys.argv[1]), sys.argv[2:]
    # where memory runs out, the kernel ends what is measured here and nothing else
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")

    timed_out = False
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, setpgroup=0)

    def stop(*_: object) -> None:
        nonlocal timed_out
        timed_out = True
        with contextlib.suppress(ProcessLookupError):  # it just ended
            os.killpg(child, signal.SIGKILL)

    def pass_on(number: int, _: object) -> None:
        os.killpg(child, signal.SIGKILL)
        sys.exit(128 + number)

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGINT, pass_on)
    signal.signal(signal.SIGTERM, pass_on)
    signal.setitimer(signal.ITIMER_REAL, limit)
    _, status, usage = os.wait4(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)

    found = {
        "wall": time.perf_counter() - start,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "exit_code": os.waitstatus_to_exitcode(status),
        "timed_out": timed_out,
    }
    print("\n" + json.dumps(found))


main()
