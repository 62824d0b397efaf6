"""Threshold times of a load that changes within a second, against an independent reader of /proc/stat at 100 Hz.

The reader and two perfds, one with readings of the CPUs every 50 ms and one without, observe the same seconds: the load of others on
the machine is in all three. The reader averages over a length of time that suits the load. An average over w ms exceeds 80 % for 0.6 w ms
less than a pulse lasts, so that pulses of half a second need a short one, of 20 ms; averages over 100 ms would find 44 % for 50 %. A load
of which the period is 30 ms is steady only in averages that are longer, of 50 ms for the mean of the CPUs and 100 ms for single CPUs.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time

from measure import Connection, Daemon, busy_s, cpu_us
from table import Table

TICK_S = 0.01
OTHERS_MAX = 0.25  # largest share of the CPUs that other processes, which include both perfds, may use
# Key of the metric, readings in an average of a steady load, and whether the average of the CPUs' shares exceeds the threshold.
METRICS = {
    "cpu_avg_utilization_over80_pct": (5, lambda shares: sum(shares) / len(shares) > 0.8),
    "cpu_all_cpus_over80_pct": (10, lambda shares: min(shares) > 0.8),
    "cpu_any_cpu_over80_pct": (10, lambda shares: max(shares) > 0.8),
}
PULSE_S, PULSE_READINGS = 0.5, 2  # shortest load that is no steady one, and the readings in an average
# Each is busy for a part of its period, on a CPU of its own: the halves of a second coincide, the short periods do not.
LOAD = """
import os, random, sys, time
cpu, busy_s, idle_s = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, [cpu])
period_s = busy_s + idle_s
if period_s < 0.5:
    time.sleep(random.random() * period_s)
while True:
    begin = time.monotonic() // period_s * period_s if period_s >= 0.5 else time.monotonic()
    while time.monotonic() < begin + busy_s:
        pass
    time.sleep(max(0, begin + period_s - time.monotonic()))
"""


class Reader(threading.Thread):
    """Reads /proc/stat at 100 Hz: the busy and the whole time of each CPU, with the time of the reading."""

    def __init__(self):
        super().__init__()
        self.readings, self.is_over = [], threading.Event()

    def run(self):
        with open("/proc/stat", "rb", buffering=0) as file:
            due = time.monotonic()
            while not self.is_over.is_set():
                file.seek(0)
                lines = [line.split() for line in file.read(65536).splitlines() if line.startswith(b"cpu") and line[3:4] != b" "]
                values = [[int(n) for n in line[1:9]] for line in lines]
                self.readings.append((time.monotonic(), [(sum(v) - v[3] - v[4], sum(v)) for v in values]))
                due = max(due + TICK_S, time.monotonic())
                time.sleep(max(0, due - time.monotonic()))

    def share_pct(self, n, exceeds):
        """Returns the share of time in which averages over n readings exceed the threshold."""
        over_s = whole_s = 0
        for before, now, then in zip(self.readings, self.readings[n - 1:], self.readings[n:]):
            shares = [(b - a) / max(1, d - c) for (a, c), (b, d) in zip(before[1], then[1])]
            whole_s += then[0] - now[0]
            over_s += (then[0] - now[0]) * exceeds(shares)
        return 100 * over_s / whole_s


@contextlib.contextmanager
def loaded(busy_s, idle_s):
    processes = [subprocess.Popen([sys.executable, "-c", LOAD, str(cpu), str(busy_s), str(idle_s)])
                 for cpu in sorted(os.sched_getaffinity(0))]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def busy_by_others_s(load):
    return busy_s() - sum(cpu_us(pid) for pid in load) / 1e6


def tell(daemon, *words):
    subprocess.run([daemon.build / "perfctl", "job", *words], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "PERFD_SOCKET": str(daemon.socket)})


def observe(daemons, seconds):
    """Returns the metrics of the same seconds by each daemon, and the reader."""
    reader = Reader()
    for daemon in daemons:
        tell(daemon, "begin", "duty")
    reader.start()
    time.sleep(seconds)
    reader.is_over.set()
    reader.join()
    for daemon in daemons:
        tell(daemon, "end", "duty")
    jobs = [json.loads(Connection(daemon.http_socket).get("/api/v1/jobs/duty")) for daemon in daemons]
    return [{m["key"]: m["value"] for m in job["metrics"]} for job in jobs], reader


def distances(run, pulse_s, idle_s):
    """Returns the largest distance from the reader in points, of readings each 50 ms and each second, and what was found."""
    with Daemon(run.build, "[sampling]\ncpu_interval = 50ms\n") as often, Daemon(run.build) as seldom, \
            loaded(pulse_s, idle_s) as load:
        before_s = busy_by_others_s(load)
        found, reader = observe([often, seldom], run.sizes.rate_s)
        others = (busy_by_others_s(load) - before_s) / run.sizes.rate_s
    expected = {key: reader.share_pct(PULSE_READINGS if pulse_s >= PULSE_S else n, exceeds) for key, (n, exceeds) in METRICS.items()}
    text = ", ".join(f"{key.removeprefix('cpu_').removesuffix('_pct')} {found[0][key]:.1f} and {found[1][key]:.1f}"
                     f" for {expected[key]:.1f} %" for key in METRICS)
    return *(max(abs(one[key] - expected[key]) for key in METRICS) for one in found), others, text


def put(table, run, name, pulse_s, idle_s, limit):
    """limit: function of the distance at 1 Hz. A machine that others keep busy has no load that changes, and shows nothing."""
    often, seldom, others, text = distances(run, pulse_s, idle_s)
    text = f"{text}; at 1 Hz {seldom:.3g} points; others used {others:.2f} CPUs"
    if others > OTHERS_MAX * os.cpu_count():
        table.line(name, f"{often:.3g} points", detail=f"no budget, because the CPUs were not idle between the pulses: {text}")
    else:
        table.amount(name, often, "points", limit(seldom), text)


def measure_duty(run):
    table = Table("duty", "Threshold times of a load that changes within a second",
                  "Largest distance of the times above 80 % (of the mean of the CPUs, all CPUs, any CPU) from an independent reader of",
                  "/proc/stat at 100 Hz in the same seconds, with [sampling] cpu_interval = 50ms, and with samples of one second alone.")
    put(table, run, "50 % duty at 1 s", 0.5, 0.5, lambda seldom: 5)
    put(table, run, "a steady 37 %", 0.0111, 0.0189, lambda seldom: max(seldom, 5))
