#!/usr/bin/env python3
"""Example of an indicator: product of two square matrices in plain Python. Settings: MATMUL_MATRIX_SIZE, MATMUL_REPS."""

import json
import os
import platform
import statistics
import sys
import time


def setting(name, initial):
    value = int(os.environ.get(name, initial))
    print(f"{name}={value}", file=sys.stderr)
    return value


def multiply(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


n, reps = setting("MATMUL_MATRIX_SIZE", 64), setting("MATMUL_REPS", 5)
a = [[float((i * n + j) % 7) for j in range(n)] for i in range(n)]
b = [[float((i * n + j) % 5) for j in range(n)] for i in range(n)]

times = []
for _ in range(reps):
    begin = time.perf_counter()
    multiply(a, b)
    times.append(time.perf_counter() - begin)

elapsed_ms = statistics.median(times) * 1e3
print(json.dumps({
    "name": "PiMatmul",
    "component": "python",
    "version": platform.python_version(),
    "@parameters": {"device": "cpu", "dtype": "float64", "matrix_size": n, "reps": reps},
    "@result": {"elapsed": elapsed_ms, "rate": n * n * (2 * n - 1) / elapsed_ms / 1e6},
}))
