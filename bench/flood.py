"""One user floods perfd, and others measure what they notice: bench/run BUILD_DIRECTORY flood [--quick] [WORD...]

Each way of floods.py is tried on two perfd with default settings: first the flood goes to B and then to A, while a bystander submits to
A and asks A, and root begins jobs at A. So the machine is as busy in both halves, and the difference is what the flood does to the
others inside of perfd. Each row is the median of five runs (--quick: one) and has the p99 of the bystander with the flood at B and at
A. The promise: at most twice as much or 5 ms, every answer OK, /metrics within 50 ms, samples within 20 ms, 64 MiB of anonymous memory,
and nothing of the others lost or changed. WORDs choose ways by name.
"""

import contextlib
import multiprocessing
import os
import pathlib
import re
import resource
import signal
import sqlite3
import statistics
import sys
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "system"))
CONFIG = "[sampling]\ninterval = 100ms\n"
ATTACKER, BYSTANDER = 65533, 65534
HALF_S, SETTLE_S = 2.5, 0.3
RATIO_MAX, SURE_MS, SCRAPE_MS, LATE_MS, MEMORY_MIB = 2, 5, 50, 20, 64
FORK = multiprocessing.get_context("fork")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def median(values):
    values = [value for value in values if value == value]
    return statistics.median(values) if values else float("nan")


# --- processes of users --------------------------------------------------------------------------

def become(uid):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def attack(function, target, counter):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    become(ATTACKER)
    function(target, counter)


@contextlib.contextmanager
def attacked(way, target):
    counter = FORK.Value("q", 0, lock=False)
    process = FORK.Process(target=attack, args=(way.function, target, counter), daemon=True)
    process.start()
    try:
        time.sleep(SETTLE_S)
        yield counter
        if process.exitcode is not None:
            raise RuntimeError(f"the attacker ended with {process.exitcode}: {way.what}")
    finally:
        process.kill()
        process.join()


class Series:
    """What one kind of request took, and what went wrong."""

    def __init__(self):
        self.ms, self.failures, self.done = [], [], []

    def measure(self, function, what=None):
        begin = time.monotonic()
        try:
            complaint = function()
        except Exception as error:  # whatever it is, it is told in the table
            complaint = f"{type(error).__name__}: {error}"
        self.ms.append((time.monotonic() - begin) * 1e3)
        if complaint:
            self.failures.append(complaint)
        elif what is not None:
            self.done.append(what)


def paced(interval_s, seconds):
    """Yields at each interval, late if the work before took longer."""
    begin, n = time.monotonic(), 0
    while True:
        n = max(n + 1, int((time.monotonic() - begin) / interval_s))
        if n * interval_s > seconds:
            return
        time.sleep(max(0, begin + n * interval_s - time.monotonic()))
        yield n


def complain(reply, wire):
    if reply is None:
        return "closed"
    return None if reply.status == wire.OK else f"{wire.Status.Name(reply.status)}: {reply.message}"


def submit(target, seconds):
    import harness
    series = {"submit": Series()}
    client = target.client()
    client.begin("bystander")
    for n in paced(0.01, seconds):
        number = uuid.uuid4().bytes
        job = "bystander" if n % 2 else ""
        series["submit"].measure(
            lambda: complain(client.submit(harness.indicator("bystander"), ids=[number], job=job), harness.wire), number.hex())
    return series


def ask_all(target, seconds):
    series = {"status": Series(), "metrics": Series()}

    def get(path, tcp):
        answer = target.get(path, tcp=tcp)
        return None if answer.status == 200 else f"{path}: {answer.status} {answer.text[:200]}"
    for n in paced(0.01, seconds):
        series["metrics" if n % 2 else "status"].measure(lambda: get("/metrics" if n % 2 else "/api/v1/node", tcp=n % 4 > 1))
    return series


def connect(target):
    """A connection that waits while the queue of new connections is full, as perfctl does; the harness' sockets do not wait."""
    while True:
        with contextlib.suppress(BlockingIOError):
            return target.client()
        time.sleep(0.001)


def begin_jobs(target, seconds):
    import harness
    series = {"root": Series()}

    def begin(job):
        with connect(target) as client:
            return (complain(client.begin(job, uid=BYSTANDER), harness.wire) or complain(client.end(job, exit_status=3), harness.wire) or
                    (None if target.get("/metrics").status == 200 else "/metrics"))
    for n in paced(0.02, seconds):
        job = f"root-{target.n_root_jobs + n}"
        series["root"].measure(lambda: begin(job), job)
    return series


def run_as(uid, function, target, seconds, pipe):
    become(uid) if uid else None
    try:
        pipe.send(function(target, seconds))
    except Exception as error:
        pipe.send(error)


OTHERS = ((BYSTANDER, submit), (BYSTANDER, ask_all), (0, begin_jobs))


def measure_others(target, seconds):
    """Returns {kind: Series} of all others, and the largest anonymous memory meanwhile, in MiB."""
    pipes, processes, peak_mib = [], [], 0
    for uid, function in OTHERS:
        ours, theirs = FORK.Pipe()
        processes.append(FORK.Process(target=run_as, args=(uid, function, target, seconds, theirs), daemon=True))
        processes[-1].start()
        pipes.append(ours)
    while any(process.is_alive() for process in processes) and not all(pipe.poll() for pipe in pipes):
        peak_mib = max(peak_mib, anonymous_mib(target))
        time.sleep(0.02)
    series = {}
    for pipe, process in zip(pipes, processes):
        found = pipe.recv()
        process.join()
        if isinstance(found, Exception):
            raise found
        series.update(found)
    target.n_root_jobs += 1000
    return series, peak_mib


def anonymous_mib(target):
    text = pathlib.Path(f"/proc/{target.process.pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+)", text, re.M)[1]) / 1024


# --- one run -------------------------------------------------------------------------------------

def start(way, results):
    import harness
    daemon = harness.Daemon(CONFIG + way.config, tcp=True)
    daemon.directory.chmod(0o755)
    daemon.n_root_jobs = 0
    daemon.start()
    if way.is_asking:
        with daemon.client() as client:
            for frame in results:
                client.send_bytes(frame)
                assert client.receive().status == harness.wire.OK
    return daemon


def look_at(target, series):
    """Returns what is wrong with what perfd has of the others."""
    wrong = []
    listed = target.get("/api/v1/results?job=bystander&limit=1000").json["results"]
    if {result["name"] for result in listed} != {"bystander"}:
        wrong.append(f"the bystander's job has {sorted({result['name'] for result in listed})}")
    for model in target.get("/api/v1/models").json["models"]:
        if model["name"] == "bystander" and model["applies_to_uid"] != ATTACKER:
            wrong.append("a model of another user applies to the bystander")
    if target.stop() != 0:
        wrong.append(f"perfd ended with {target.process.returncode}")
    with contextlib.closing(sqlite3.connect(target.state / "perfd.db")) as database:
        stored = {row[0].hex() for row in database.execute("SELECT id FROM result")}
        ended = {row[0] for row in database.execute("SELECT id FROM job WHERE exit_status = 3")}
    for what, kind, kept in (("results", "submit", stored), ("jobs", "root", ended)):
        acknowledged = {done for half in series for done in half[kind].done}
        if acknowledged - kept:
            wrong.append(f"{len(acknowledged - kept)} of {len(acknowledged)} {what} are lost")
    return wrong


def run_once(way, results):
    a, b = start(way, results), start(way, results)
    found = {}
    try:
        with attacked(way, b):
            found["control"], _ = measure_others(a, HALF_S)
        found["late_control"] = a.metrics()["perfd_sample_lateness_max_seconds"] * 1e3
        with attacked(way, a) as counter:
            found["flood"], found["anonymous_mib"] = measure_others(a, HALF_S)
            metrics = a.metrics()
        found["done"], found["late"] = counter.value, metrics["perfd_sample_lateness_max_seconds"] * 1e3
        found["held_ms"] = a.kept_waiting_s() * 1e3
        found["wrong"] = look_at(a, (found["control"], found["flood"]))
        found["wrong"] += [f"{kind}: {len(s.failures)} of {len(s.ms)} failed, first: {s.failures[0]}"
                           for kind, s in found["flood"].items() if s.failures]
    finally:
        a.close()
        b.close()
    return found


# --- the table -----------------------------------------------------------------------------------

KINDS = ("submit", "status", "metrics", "root")
HEAD = ("flood", "done", *(f"{kind}: p50, p99 beside → under" for kind in KINDS), "latest sample, beside → under", "own pages",
        "wrong", "kept")


class Row:
    def __init__(self, way, runs):
        self.way, self.runs = way, runs

    def of(self, half, kind, share):
        return median([percentile(run[half][kind].ms, share) for run in self.runs])

    def is_within(self, kind):
        beside, under = self.of("control", kind, 0.99), self.of("flood", kind, 0.99)
        return under <= max(RATIO_MAX * beside, SURE_MS)

    def latency(self, kind):
        beside, under = self.of("control", kind, 0.99), self.of("flood", kind, 0.99)
        return (f"{self.of('control', kind, 0.5):.1f} → {self.of('flood', kind, 0.5):.1f}, {beside:.1f} → {under:.1f} ms "
                f"({'' if self.is_within(kind) else '**'}× {under / beside:.1f}{'' if self.is_within(kind) else '**'})")

    def missed(self):
        late, late_control = (median([run[key] for run in self.runs]) for key in ("late", "late_control"))
        missed = [kind for kind in KINDS if not self.is_within(kind)]
        if self.of("flood", "metrics", 0.99) > max(SCRAPE_MS, RATIO_MAX * self.of("control", "metrics", 0.99)):
            missed.append("50 ms")
        if late > max(LATE_MS, RATIO_MAX * late_control):
            missed.append("late")
        if self.memory() > MEMORY_MIB:
            missed.append("memory")
        if any(run["wrong"] for run in self.runs):
            missed.append("wrong")
        return missed

    def memory(self):
        return max(run["anonymous_mib"] for run in self.runs)

    def cells(self):
        late, late_control = (median([run[key] for run in self.runs]) for key in ("late", "late_control"))
        wrong = [text for run in self.runs for text in run["wrong"]]
        done = median([run["done"] for run in self.runs])
        return [self.way.what, f"{done:,.0f} {self.way.unit}", *(self.latency(kind) for kind in KINDS),
                f"{late_control:.1f} → {late:.1f} ms", f"{self.memory():.1f} MiB",
                f"{len(wrong)}: {wrong[0][:300]}" if wrong else "nothing",
                f"**no**: {', '.join(self.missed())}" if self.missed() else "yes"]


def main(build, quick, words):
    if os.geteuid() != 0:
        sys.exit("bench/run flood acts as several users: run it as root.")
    os.environ["PERFD_BUILD"] = str(build)
    import floods
    ways = [way for way in floods.WAYS if not words or any(word in way.function.__name__ or word in way.what for word in words)]
    results, n_missed, begin = floods.results_to_ask(), 0, time.monotonic()
    print(f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} CPUs, {1 if quick else 5} runs of 2 × {HALF_S} s\n")
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    for way in ways:
        row = Row(way, [run_once(way, results) for _ in range(1 if quick else 5)])
        print("| " + " | ".join(re.sub(r"\s+", " ", cell).replace("|", "\\|") for cell in row.cells()) + " |", flush=True)
        n_missed += bool(row.missed())
    print(f"\n{len(ways) - n_missed} of {len(ways)} floods are noticed by nobody else, in {time.monotonic() - begin:.0f} s; "
          f"load {os.getloadavg()[0]:.2f}.")
    return n_missed > 0
