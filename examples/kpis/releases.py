#!/usr/bin/env python3
"""Example of a KPI: times of fifteen versions of a search, measured here, as JSON for perfctl submit; search.yaml is the model.

Version 1.11 searches a list instead of a dictionary: perfctl kpi check finds it. RELEASES_RUNS is the number of runs of a version.
"""

import json
import os
import time

WORDS = [f"word{i}" for i in range(16)]
TEXT = WORDS * 300


def search(places):
    return sum(word in places for word in TEXT)


def measure_us(places):
    begin_ns = time.process_time_ns()
    search(places)
    return (time.process_time_ns() - begin_ns) / 1e3


def measure_versions():
    """Returns the least of nine times of each version, which take turns: a change of the machine's speed is not one of a version."""
    places = [dict.fromkeys(WORDS) if version < 11 else WORDS for version in range(1, 16)]
    return [min(times) for times in zip(*([measure_us(one) for one in places] for _ in range(9)))]


runs = [measure_versions() for _ in range(int(os.environ.get("RELEASES_RUNS", "3")))]
for version, times in enumerate(zip(*runs), 1):
    for elapsed in times:
        print(json.dumps({"name": "Search", "component": "example", "version": f"1.{version}.0",
                          "@parameters": {"words": len(TEXT)}, "@result": {"elapsed": elapsed}}))
