#!/usr/bin/env python3
"""Example of an indicator: latency of a small synchronous write.

Appends blocks to a temporary file and waits for each block with fdatasync(2). Settings: DISK_DIRECTORY (directory of the
file), DISK_BLOCK_BYTES, DISK_REPS.
"""

import json
import os
import platform
import statistics
import sys
import tempfile
import time

directory = os.environ.get("DISK_DIRECTORY", tempfile.gettempdir())
block_bytes, reps = int(os.environ.get("DISK_BLOCK_BYTES", 4096)), int(os.environ.get("DISK_REPS", 200))
print(f"writing {reps} blocks of {block_bytes} bytes to {directory}", file=sys.stderr)

times, block = [], bytes(block_bytes)
with tempfile.TemporaryFile(dir=directory) as file:
    for _ in range(reps):
        begin = time.perf_counter()
        os.write(file.fileno(), block)
        os.fdatasync(file.fileno())
        times.append((time.perf_counter() - begin) * 1e6)

times.sort()
print(json.dumps({
    "name": "DiskLatency",
    "component": "linux",
    "version": platform.release(),
    "@parameters": {"block_bytes": block_bytes, "reps": reps},
    "@result": {"median_us": statistics.median(times), "p99_us": times[min(len(times) - 1, int(0.99 * len(times)))], "max_us": times[-1]},
}))
