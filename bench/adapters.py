"""CPU time that clients/python/perfd_spdl.py adds to SPDL's own hooks, in the training process.

One process runs the same pipeline again and again, by turns with SPDL's own hooks and with the adapter, both with an interval of 1 s. An
item takes about 1 ms of the CPU in one of three stages, in a function that releases the interpreter's lock, as decoders do; a further row
has tasks that do nothing, where the cost of all hooks is as large a part of the time as it can be. perfd is there, does not answer, or is
away.
"""

import hashlib
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import time

from measure import Daemon
from table import Reference, Table

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT = 1.01

PROGRAM = """
import hashlib, json, sys, time
import perfd_spdl
from spdl.pipeline import PipelineBuilder

N_ITEMS, N_ROUNDS, N_BYTES = map(int, sys.argv[1:])
DATA = bytes(N_BYTES)

def work(item):
    if N_BYTES:
        hashlib.sha256(DATA).digest()
    return item

def run():
    builder = PipelineBuilder().add_source(range(N_ITEMS))
    for name in ("read", "decode", "augment"):
        builder.pipe(work if name == "decode" else lambda item: item, concurrency=2, name=name)
    pipeline = builder.add_sink(3).build(num_threads=4, report_stats_interval=1)
    begin = time.process_time()
    with pipeline.auto_stop():
        n = sum(1 for _ in pipeline)
    assert n == N_ITEMS
    return 1e6 * (time.process_time() - begin) / n

run()
own, adapter = [], []
for number in range(2 * N_ROUNDS):
    if number % 4 in (1, 2):
        perfd_spdl.install(1)
        adapter.append(run())
        perfd_spdl.uninstall()
    else:
        own.append(run())
print(json.dumps([own, adapter]))
"""


def find_interpreter(build):
    """tests/once/test_python_adapters.py installs SPDL there."""
    path = build / "interop" / "spdl-newest" / "bin" / "python"
    return path if path.exists() else None


def find_work():
    """Returns the number of bytes that are hashed in a millisecond of the CPU."""
    data, n, begin = bytes(1 << 20), 0, time.process_time()
    while time.process_time() - begin < 0.1:
        hashlib.sha256(data).digest()
        n += len(data)
    return int(n / (time.process_time() - begin) * 0.001)


def run_rounds(run, interpreter, socket, n_bytes):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), "PATH": f"{run.build}:{os.environ['PATH']}",
                   "PERFD_SOCKET": str(socket), "PERFD_JOB": "pipelines"}
    # Longer than an interval, as a training run is: what is sent at the begin and the end of a run is not a part of each interval.
    n_items, n_rounds = (300, 8) if run.is_quick else (2000, 40)
    command = [interpreter, "-c", PROGRAM, *map(str, (n_items, n_rounds, n_bytes))]
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    return json.loads(done.stdout)


def put(table, name, values, has_budget=True):
    own = statistics.median(values[0])
    ratios = sorted(b / a for a, b in zip(*values))
    # The ranks of the ends of a 95 % interval of a median.
    off = math.ceil(0.98 * math.sqrt(len(ratios)))
    middle = len(ratios) // 2
    detail = (f"{statistics.median(ratios):.4f} is the median of the ratios of {len(ratios)} neighbouring runs, 95 % interval"
              f" {ratios[max(0, middle - off)]:.3f} to {ratios[min(len(ratios) - 1, middle + off)]:.3f}")
    value = own * statistics.median(ratios)
    if has_budget:
        table.at_most(name, value, "µs per item", Reference("SPDL's own hooks", own), LIMIT, detail, compares_ratio=True)
    else:
        table.plain(name, value, "µs per item", detail)


def measure_adapters(run):
    table = Table("adapters", "Adapter of SPDL, in the training process",
                  "CPU time of a pipeline of 3 stages, whose items take about 1 ms in one of them, with an interval of 1 s.")
    interpreter = find_interpreter(run.build)
    if not interpreter:
        table.absent("SPDL")
        return
    with Daemon(run.build) as daemon:
        subprocess.run([run.build / "perfctl", "job", "begin", "pipelines"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PERFD_SOCKET": str(daemon.socket)})
        n_bytes = find_work()
        put(table, "perfd is there", run_rounds(run, interpreter, daemon.socket, n_bytes))
        put(table, "tasks do nothing", run_rounds(run, interpreter, daemon.socket, 0), has_budget=False)
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            put(table, "perfd does not answer", run_rounds(run, interpreter, daemon.socket, n_bytes))
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
    put(table, "perfd is away", run_rounds(run, interpreter, "/nonexistent/perfd.sock", n_bytes))
