"""Runs a program, and prints what it and all that it waited for used.

Usage: measured.py PROGRAM ARGUMENT...

Prints one line of JSON: code (0 to 255), wall_ms, cpu_ms (user and system), resident_kib (the most of one process).
The program is started by a small process, because Linux counts the memory of the process that starts another one
as memory of that other one, so a measurement is never below that of this script (about 9 MiB).
"""

import json
import os
import sys
import time

begun = time.monotonic()
pid = os.fork()
if pid == 0:
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)
    # What it prints is of interest only when it fails.
    os.dup2(2, 1)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        print(f"{sys.argv[1]}: {error}", file=sys.stderr)
        os._exit(127)
_, status, used = os.wait4(pid, 0)
ended = time.monotonic()
print(
    json.dumps(
        {
            "code": os.waitstatus_to_exitcode(status) & 255,
            "wall_ms": (ended - begun) * 1000,
            "cpu_ms": (used.ru_utime + used.ru_stime) * 1000,
            "resident_kib": used.ru_maxrss,
        }
    )
)
