"""The section of bench/run about directories of test results."""

import os
import pathlib
import subprocess
import tempfile
import time

from table import Table

N_TESTS, LINES = 1000, 2000
DECLARATION = """values:
  rate: {file: out.json, path: summary.rate}
  times: {file: '*.json', path: 'runs[].t'}
  loss: {file: log, line: 'loss: (?<value>[0-9.]+)', which: last}
"""


def put_tests(tree):
    log = "".join(f"step {k} of a log that has some text, loss: {k * 0.5}\n" for k in range(LINES))
    out = '{"summary": {"rate": %d}, "runs": [' + ",".join('{"t": %d.5}' % k for k in range(50)) + "]}"
    for i in range(N_TESTS):
        test = tree / f"{i:04d}"
        test.mkdir(parents=True)
        settings = f"n: {i}\nthreads: 4\nmodel: llama\n"
        for name, text in (("settings.yaml", settings), ("exit_code", "0\n"), ("out.json", out % i), ("log", log)):
            (test / name).write_text(text)


def parse(run, directory):
    """Seconds, MiB of memory, and the CPU time as a text."""
    begin = time.monotonic()
    process = subprocess.Popen([run.build / "perfctl", "results", "parse", "tree"], cwd=directory, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"perfctl results parse ended with {status}")
    return time.monotonic() - begin, usage.ru_maxrss / 1024, f"CPU time {usage.ru_utime + usage.ru_stime:.2f} s"


def measure_trees(run):
    table = Table("trees", "A directory of 1,000 tests",
                  f"`perfctl results parse` with three values of each: of JSON, and of a log of {LINES:,} lines.")
    with tempfile.TemporaryDirectory(prefix="perfd-bench-") as name:
        directory = pathlib.Path(name)
        put_tests(directory / "tree")
        (directory / "results.yaml").write_text(DECLARATION)
        cold, cold_mib, cold_cpu = parse(run, directory)
        cached, cached_mib, cached_cpu = min(parse(run, directory) for _ in range(3))
    table.amount("all values read", cold, "s", 10, cold_cpu)
    table.amount("all values of the caches", cached, "s", 2, cached_cpu)
    table.amount("memory, the larger of both", max(cold_mib, cached_mib), "MiB", 128)
