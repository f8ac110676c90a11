"""Run a command in a separate process and report its cost.

    python measure.py SECONDS COMMAND [ARGUMENT ...]

The last line of the output is a JSON object: seconds, CPU seconds of the process and its children,
peak memory of the largest process in bytes, the exit status, and whether the process was ended
after SECONDS. The output of the command precedes it.

This is a separate program because the kernel counts the memory of a new process from that of its
parent: the smaller the parent, the smaller the processes that can be measured.
"""

import contextlib
import json
import os
import signal
import sys
import time


def main() -> None:
    limit, command = float(sys.argv[1]), sys.argv[2:]
    # if memory runs out, the kernel kills the measured process first
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")

    timed_out = False
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, setpgroup=0)

    def stop(*_: object) -> None:
        nonlocal timed_out
        timed_out = True
        with contextlib.suppress(ProcessLookupError):  # the process has just ended
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
