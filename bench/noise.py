"""How much a job that fills the node is disturbed: fixed work quanta on each CPU beside nothing, perfd, and other programs, in turns."""

import contextlib
import re
import statistics
import threading

import peers
from measure import Connection, Daemon, run_program
from table import Reference, Table, with_unit

N_TURNS = 5
NOTHING, PERFD = "nothing", "perfd"


@contextlib.contextmanager
def perfd(build):
    with Daemon(build) as daemon:
        daemon.wait_ticks(2)
        yield


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
            yield
        finally:
            is_over.set()
            thread.join()


def quanta(build, seconds):
    """Returns the 99.99th percentile of a quantum in µs, and the share of the time that was lost in ppm."""
    found = dict(re.findall(r"(\w+)=(\d+)", run_program(build, "noise", seconds)))
    return int(found["p9999"]) / 1e3, float(found["lost_ppm"])


def measure_noise(run):
    table = Table("noise", "Disturbance of a job that fills the node",
                  f"bench/noise repeats work of a tenth of a millisecond on each CPU for {run.sizes.noise_s} s, beside nothing and",
                  f"beside each program, in {N_TURNS} turns: medians of the 99.99th percentile of the work, and of the share of the",
                  "time beyond the fastest. Other processes on the machine are in all rows: the ranges tell by how much.")
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
            with start():
                found[name].append(quanta(run.build, run.sizes.noise_s))

    medians = {name: [statistics.median(values) for values in zip(*rows)] for name, rows in found.items()}
    alone_us, alone_ppm = medians[NOTHING]
    for name, (p9999_us, ppm) in medians.items():
        ranges = [f"{min(values):.0f} to {max(values):.0f}" for values in zip(*found[name])]
        text = f"p99.99 {ranges[0]} µs; lost {ranges[1]} ppm, {ppm / alone_ppm:.2f} × that beside nothing"
        if name == PERFD:
            table.at_most(name, p9999_us, "µs", Reference("beside nothing", alone_us), 2, text, compares_ratio=True)
        elif name == NOTHING:
            table.line(name, with_unit(p9999_us, "µs"), detail=text)
        else:
            table.line(f"*{name}*", with_unit(p9999_us, "µs"), ratio=f"{p9999_us / alone_us:.2f}", detail=text)
