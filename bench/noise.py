"""How much a job that fills the node is disturbed: fixed work quanta on each CPU beside nothing, perfd, and other programs, in turns.

The times of the quanta contain all processes of the machine. What a program itself takes from the job is the kernel's count for its
threads: CPU time, and how often a CPU was given to one, which it kept until it waited or was interrupted.
"""

import contextlib
import pathlib
import re
import statistics
import threading
import time

import peers
from measure import Connection, Daemon, cpu_us, run_program
from table import Reference, Table, with_unit

N_TURNS = 5
BUSY_PPM = 100000  # share of the time that others may use beside nothing, for the quanta to say something about a program
NOTHING, PERFD = "nothing", "perfd"


@contextlib.contextmanager
def perfd(build):
    with Daemon(build) as daemon:
        daemon.wait_ticks(2)
        yield daemon


@contextlib.contextmanager
def scraped_node_exporter():
    """node_exporter reads the node only when it is asked: once a second, as the others do."""
    with peers.node_exporter() as process:
        is_over = threading.Event()

        def scrape():
            while not is_over.wait(1):
                Connection(process.port).get("/metrics")
        thread = threading.Thread(target=scrape)
        thread.start()
        try:
            yield process
        finally:
            is_over.set()
            thread.join()


def counts(pid):
    """Returns CPU time in µs, and how often a thread waited for something, and how often it was interrupted by another process."""
    n_waits = n_interrupted = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            switches = re.findall(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.M)
        except (FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            continue
        n_waits += int(switches[0])
        n_interrupted += int(switches[1])
    return cpu_us(pid), n_waits, n_interrupted


def measure_turn(build, seconds, process):
    """Returns the 99.99th percentile of a quantum in µs, the share of the time that was lost in ppm, and what the process was given in
    a second: µs, waits and interruptions."""
    begin = time.monotonic(), *(counts(process.pid) if process else ())
    found = dict(re.findall(r"(\w+)=(\d+)", run_program(build, "noise", seconds)))
    end = time.monotonic(), *(counts(process.pid) if process else ())
    took_s = end[0] - begin[0]
    return int(found["p9999"]) / 1e3, float(found["lost_ppm"]), *((b - a) / took_s for a, b in zip(begin[1:], end[1:]))


def measure_noise(run):
    table = Table("noise", "Disturbance of a job that fills the node",
                  f"bench/noise repeats work of a tenth of a millisecond on each CPU for {run.sizes.noise_s} s, beside nothing and",
                  f"beside each program, in {N_TURNS} turns: medians of the 99.99th percentile of the work, and of the share of the",
                  "time beyond the fastest. Other processes on the machine are in all rows: the ranges tell by how much.",
                  "What a program was given itself is the kernel's count for its threads in a second, which is the interval of each:",
                  "CPU time, and slices of it, which end when the thread waits or is interrupted by another process. perfd also looks",
                  "when a group is created.")
    if not (run.build / "bench" / "noise").exists():
        table.line(PERFD, "bench/noise is not built")
        return
    programs = {NOTHING: contextlib.nullcontext, PERFD: lambda: perfd(run.build)}
    others = {"node_exporter, scraped each second": ("prometheus-node-exporter", scraped_node_exporter),
              "sadc": ("sadc", peers.sadc_at_1hz)}
    for name, (command, start) in others.items() if run.has_peers else ():
        if peers.find(command):
            programs[name] = start
        else:
            table.absent(name)
    found = {name: [] for name in programs}
    for turn in range(N_TURNS):
        for name, start in list(programs.items())[::1 if turn % 2 == 0 else -1]:
            with start() as process:
                found[name].append(measure_turn(run.build, run.sizes.noise_s, process))

    alone_us, alone_ppm = (statistics.median(values) for values in zip(*found[NOTHING]))
    for name, turns in found.items():
        p9999_us, _, *given = (statistics.median(values) for values in zip(*turns))
        ranges = [f"{min(values):.0f} to {max(values):.0f}" for values in zip(*turns)]
        # A turn is compared with the one beside nothing of the same turn: the load of others is more alike.
        more_ppm = statistics.median(turn[1] - alone[1] for turn, alone in zip(turns, found[NOTHING]))
        text = f"p99.99 {ranges[0]} µs; lost {ranges[1]} ppm"
        if name != NOTHING:
            text += f", {more_ppm:+.0f} to the turn beside nothing, at {alone_ppm:.0f}; given {given[0] / 1e3:.2f} ms in " \
                    f"{given[1] + given[2]:.1f} slices, {given[2]:.1f} interrupted"
        if name == PERFD and alone_ppm > BUSY_PPM:
            table.line(name, with_unit(p9999_us, "µs"), ratio=f"{p9999_us / alone_us:.2f}",
                       detail=f"{text}; not judged: others use {alone_ppm / 1e4:.0f} % of the CPUs")
        elif name == PERFD:
            table.at_most(name, p9999_us, "µs", Reference("beside nothing", alone_us), 2, text, compares_ratio=True)
        elif name == NOTHING:
            table.line(name, with_unit(p9999_us, "µs"), detail=text)
        else:
            table.line(f"*{name}*", with_unit(p9999_us, "µs"), ratio=f"{p9999_us / alone_us:.2f}", detail=text)
