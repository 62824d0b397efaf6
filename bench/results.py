"""The sections of bench/run about results: stored, with models, and queried."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

import measure
import peers
from measure import Connection, Daemon, cpu_us, run_program
from table import Reference, Table

def submit_text(result):
    p50, p99, p999, longest = (result[f"{name}_us"] / 1e3 for name in ("p50", "p99", "p999", "max"))
    return f"CPU each {result['cpu_us']:.1f} µs; p50 {p50:.2f}, p99 {p99:.2f}, p99.9 {p999:.2f}, longest {longest:.1f} ms"


def indicators_in(daemon):
    listed = json.loads(Connection(daemon.http_socket).get("/api/v1/indicators"))
    return sum(indicator["results"] for indicator in listed["indicators"])


def rates_text(rates):
    return "thousands a second, for each 100,000: " + " ".join(f"{rate / 1e3:.0f}" for rate in rates)


def submit(daemon, **words):
    """Result of bench/load with what perfd needed for each, and the rates on the way."""
    cpu = cpu_us(daemon.pid)
    result, rates = daemon.load("submit", **words)
    result["cpu_us"] = (cpu_us(daemon.pid) - cpu) / result["ok"]
    return result, rates


def paced_words(run, per_second):
    """One row of load at a fifth of a rate that was measured, and at most 10,000 requests each second."""
    rate = int(min(10_000, per_second / 5))
    return {"connections": 64, "window": 1000, "rate": rate, "seconds": run.sizes.rate_s, "count": rate * run.sizes.rate_s}


def paced_text(result, words):
    return f"{submit_text(result)}; {result['per_second']:,.0f} of {words['rate']:,}/s"


def submit_rows(table, run, daemon):
    """Ends with sizes.n_results rows or a few more in the database; returns how many were acknowledged."""
    sizes, sync = run.sizes, Reference("one write and fdatasync", run.references.sync_ms)
    sqlite = Reference("SQLite alone, 4096 rows in a transaction", run.references.sqlite_per_s)
    group = Reference("SQLite alone and one sync, 64 rows in a transaction", run.references.group_commit_per_s(64))
    single = {"connections": 64, "window": 1, "seconds": sizes.burst_s}
    piped = {"connections": 8, "window": 256, "count": 100_000}
    fresh, _ = submit(daemon, **single)
    table.at_least("64 connections with one request in flight, empty database", fresh["per_second"], "rows/s", group, 0.15,
                   submit_text(fresh))
    table.keep("64 connections with one request in flight, CPU time", fresh["cpu_us"])
    first, _ = submit(daemon, **piped)
    table.at_least("8 connections with 256 requests in flight", first["per_second"], "rows/s", sqlite, 0.2, submit_text(first))
    table.keep("8 connections with 256 requests in flight, CPU time", first["cpu_us"])

    missing = sizes.n_results - int(fresh["ok"] + first["ok"]) - 100_000
    filled, rates = submit(daemon, **{**piped, "count": max(missing, 100_000), "report": 100_000, "seconds": 240})
    last, _ = submit(daemon, **piped)
    n_rows = int(fresh["ok"] + first["ok"] + filled["ok"] + last["ok"])
    table.at_least("the same, the last 100,000 rows", last["per_second"], "rows/s",
                   Reference("the first 100,000 rows", first["per_second"]), 0.8,
                   f"{n_rows:,} rows; CPU time ÷ the first {last['cpu_us'] / first['cpu_us']:.2f}; {rates_text(rates)}")

    full, _ = submit(daemon, **single)
    n_rows += int(full["ok"])
    table.at_least("64 connections with one request in flight, full database", full["per_second"], "rows/s", group, 0.15,
                   f"{n_rows:,} rows; {submit_text(full)}")

    words = paced_words(run, full["per_second"])
    paced, _ = submit(daemon, **words)
    table.at_most("p99 at a fifth of that rate, from the time when each request was due", paced["p99_us"] / 1e3, "ms", sync, 80,
                  paced_text(paced, words))
    return n_rows + int(paced["ok"])


def measure_submissions(run, daemon):
    table = Table("submissions", "Durable submissions",
                  "Each request is a PiMatmul document, acknowledged when it is on disk. The generator uses the same processors as perfd.")
    busy_s, begin = measure.busy_s() - daemon.load_cpu_s - cpu_us(daemon.pid) / 1e6, time.monotonic()
    n_acked = submit_rows(table, run, daemon)
    others = (measure.busy_s() - daemon.load_cpu_s - cpu_us(daemon.pid) / 1e6 - busy_s) / (time.monotonic() - begin)
    daemon.n_results = indicators_in(daemon)
    table.same("rows acknowledged, and found by a query", (n_acked, daemon.n_results))

    table.beside("CPUs used by other processes meanwhile", f"{others:.2f} of {os.cpu_count()}")
    for line in (run_program(run.build, "ingest") or "").splitlines():
        table.beside("bench/ingest, without the rest of perfd", line.removeprefix("ingest: "))
    for line in run.references.store_lines:
        table.beside("bench/store, without the rest of perfd", line.removeprefix("store: "))
    if not run.has_peers:
        return
    rates = peers.push_rates(run.sizes.push_s, run.sizes.n_pushes)
    if rates:
        table.beside(f"pushgateway, 8 connections, not durable, {run.sizes.n_pushes} × {run.sizes.push_s} s",
                     " → ".join(f"{rate:,.0f}" for rate in rates) + " /s")
    else:
        table.absent("pushgateway")


def measure_questions(run):
    text = run_program(run.build, "query", run.build, run.sizes.n_results)
    if not text:
        return
    found = {key: float(value) for key, value in re.findall(r"(\w+)=([0-9.]+)", text)}
    rows_ms = found["rows"] / run.references.sqlite_per_s * 1e3
    table = Table("questions", "Queries of many results of one indicator",
                  f"bench/query, without the rest of perfd: {found['rows']:,.0f} results with a model in {found['series']:.0f} series.",
                  "The reference is the time that SQLite alone takes to write as many rows as the query reads.")
    table.at_most("an indexed filter that 1 % of the results pass, with their median", found["filter_ms"], "ms",
                  Reference("SQLite alone writes 1 % of the rows", rows_ms / 100), 0.5, f"CPU time {found['filter_cpu_ms']:.2f} ms")
    table.at_most("median of all results, by component and version", found["aggregate_ms"], "ms",
                  Reference("SQLite alone writes the rows", rows_ms), 0.5, f"CPU time {found['aggregate_cpu_ms']:.0f} ms")
    table.at_most("a query by a package that a twentieth of the results has, with their median", found["package_ms"], "ms",
                  Reference("SQLite alone writes a twentieth of the rows", rows_ms / 20), 0.5,
                  f"20 stacks of 200 packages; CPU time {found['package_cpu_ms']:.2f} ms")
    table.at_most("median of all results, by the version of a package", found["by_package_ms"], "ms",
                  Reference("SQLite alone writes the rows", rows_ms), 0.5, f"CPU time {found['by_package_cpu_ms']:.0f} ms")
    table.plain("results stored with a stack of 200 packages, which is there already ÷ without", found["stack_ratio"], "",
                f"one result in each submission: {found['with_stack']:,.0f}/s ÷ {found['without_stack']:,.0f}/s", is_lower_better=False)
    table.plain("results stored with a model ÷ without", found["model_ratio"], "",
                f"{found['with_model']:,.0f}/s ÷ {found['without_model']:,.0f}/s", is_lower_better=False)
    table.plain("results stored while that median is queried ÷ without the query", found["asked_ratio"], "",
                f"{found['while_asked']:,.0f}/s ÷ {found['alone']:,.0f}/s", is_lower_better=False)
    table.plain("disk for each result with its index", found["row_bytes"], "bytes")


MODELS = pathlib.Path(__file__).resolve().parent.parent / "conf" / "indicators.d"
MEDIAN_OF_ALL = "/api/v1/indicators/PiMatmul/query?group_by=component,version&stat=median:rate"


@contextlib.contextmanager
def asked_again_and_again(daemon, path):
    """Yields the milliseconds that each answer took so far."""
    took_ms, must_end = [], threading.Event()

    def ask():
        connection = Connection(daemon.http_socket)
        while not must_end.is_set():
            begin = time.monotonic()
            connection.get(path)
            took_ms.append((time.monotonic() - begin) * 1e3)

    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        asker = executor.submit(ask)
        try:
            yield took_ms
        finally:
            must_end.set()
            asker.result()


@contextlib.contextmanager
def busy_process():
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


SYNC_BYTES, SYNC_PAUSE_S = 16384, 0.005


@contextlib.contextmanager
def synced_again_and_again(directory):
    """Yields the milliseconds that each write and fdatasync of another file took so far, about 200 in a second.

    A single slow sync decides the p99 of requests that come at a steady rate: at 4,000 a second for 4 s, 1 % is a stall of 40 ms.
    """
    took_ms, must_end = [], threading.Event()

    def sync():
        with open(pathlib.Path(directory) / "sync-beside", "wb", buffering=0) as file:
            while not must_end.wait(SYNC_PAUSE_S):
                begin = time.monotonic()
                os.pwrite(file.fileno(), bytes(SYNC_BYTES), len(took_ms) % 256 * SYNC_BYTES)
                os.fdatasync(file.fileno())
                took_ms.append((time.monotonic() - begin) * 1e3)

    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        syncer = executor.submit(sync)
        try:
            yield took_ms
        finally:
            must_end.set()
            syncer.result()


def longest_syncs(directory, measure_once):
    """The longest sync of another file while a function ran, and what the function returned."""
    with synced_again_and_again(directory) as took_ms:
        found = measure_once()
    return max(took_ms), found


# Repetitions of the rows with a p99, in turn, since one slow second of the disk decides over a single one.
N_PACED = 5


def p99s_ms(measured):
    return [result["p99_us"] / 1e3 for result in measured]


def interval_text(p99_ms, measured, words):
    """The interval of the p99, and the run whose p99 is the median."""
    median = sorted(measured, key=lambda result: result["p99_us"])[len(measured) // 2]
    return f"p99 of {len(p99_ms)} runs from {min(p99_ms):.2f} to {max(p99_ms):.2f} ms; the median run: {paced_text(median, words)}"


def measure_models(run):
    sizes = run.sizes
    table = Table("models", "Results with a model, and queries meanwhile",
                  "All of perfd, with the models that it ships: each result is indexed.")
    with Daemon(run.build, f"[indicators]\ndirectory = {MODELS}\n[http]\nquery_timeout = 30s\n") as daemon:
        single, _ = submit(daemon, window=1, connections=64, seconds=sizes.burst_s)
        table.plain("64 connections with one request in flight", single["per_second"], "rows/s", submit_text(single), is_lower_better=False)
        piped, _ = submit(daemon, window=256, connections=8, count=sizes.n_results)
        table.plain("8 connections with 256 requests in flight", piped["per_second"], "rows/s", submit_text(piped), is_lower_better=False)
        n_rows = int(single["ok"] + piped["ok"])

        words = paced_words(run, single["per_second"])
        words["seconds"] = -(-words["seconds"] // N_PACED)
        words["count"] = words["rate"] * words["seconds"]
        alone, beside, asked, all_ms = [], [], [], []
        syncs = {"alone": [], "beside": [], "asked": []}

        def measure_once(measured, kind):
            longest_ms, (result, _) = longest_syncs(daemon.state, lambda: submit(daemon, **words))
            measured.append(result)
            syncs[kind].append(longest_ms)

        for _ in range(N_PACED):
            measure_once(alone, "alone")
            with busy_process():
                measure_once(beside, "beside")
            with asked_again_and_again(daemon, MEDIAN_OF_ALL) as took_ms:
                measure_once(asked, "asked")
            all_ms += took_ms
        for title, measured, kind in (("p99 at a fifth of that rate", alone, "alone"),
                                      ("the same, while another process keeps a CPU busy", beside, "beside"),
                                      ("the same, while the median of all results is queried without pause", asked, "asked")):
            p99_ms = p99s_ms(measured)
            table.at_most(title, statistics.median(p99_ms), "ms",
                          Reference("the longest of the syncs of another file meanwhile", statistics.median(syncs[kind])), 4,
                          f"{n_rows:,} rows; {interval_text(p99_ms, measured, words)}")
        table.plain("that query", statistics.median(all_ms), "ms", f"{len(all_ms)} times, longest {max(all_ms):.0f} ms")
