"""Runs faults that clients and the machine can cause against a real perfd; see run.

A fault is a function in a file faults_*.py:

    @fault("bytes that are no frame", "the connection is closed; others are served")
    def garbage(target):
        while target.goes_on():
            ...                                 # runs at least once, until the time of the fault is over
        return f"{n} connections"               # shown in the table, next to the measurements of each fault

Each fault has a separate perfd (target.daemon, see tests/system/harness.py) and uses random numbers from
target.random, so that HOSTILE_SEED= repeats a run. target.check(is_true, text) checks the promise of the row. At the
same time a bystander, who is another user if the tests run as root, submits results and reads /metrics. After each
fault, perfd must run, its log must contain no sanitizer report, and each result acknowledged to the bystander must be
in the database once. Options of fault():

    config=          text of perfd.conf
    restarts=True    perfd ends during the fault (target.daemon.kill(), .stop()); the bystander's requests may fail
    environment=     function that returns further environment variables of perfd
    tcp=True         target.daemon.port answers HTTP on 127.0.0.1
    memory_mib=      limit on the anonymous memory of perfd during the fault
    lateness_s=      limit on the delay of a sample during the fault
"""

import os
import random
import re
import socket
import sqlite3
import contextlib
import pathlib
import threading
import time
import uuid

import harness
from harness import wire

FAULTS = []
BYSTANDER_UID = 65534


def fault(what, promise, **options):
    def register(function):
        FAULTS.append((what, promise, function, options))
        return function
    return register


class Broken(AssertionError):
    """A property that does not hold."""


class Bystander(threading.Thread):
    """Submits results one after the other, and reads /metrics after each tenth result."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.is_over = target, threading.Event()
        self.acknowledged, self.latencies, self.scrapes, self.failures = [], [], [], []
        self.name_of_results = "bystander"

    def connect(self):
        """The kernel records the effective user of the connecting thread."""
        if os.geteuid() != 0:
            return self.target.daemon.client()
        libc_setresuid(BYSTANDER_UID)
        try:
            return self.target.daemon.client()
        finally:
            libc_setresuid(0)

    def submit(self, client):
        number = uuid.uuid4().bytes
        begin = time.monotonic()
        reply = client.submit(harness.indicator(name=self.name_of_results), ids=[number])
        if reply is None:
            raise ConnectionError("closed")
        if reply.status != wire.OK:
            raise Broken(f"{wire.Status.Name(reply.status)}: {reply.message}")
        self.latencies.append(time.monotonic() - begin)
        self.acknowledged.append(number)

    def scrape(self):
        begin = time.monotonic()
        if self.target.daemon.get("/metrics").status != 200:
            raise Broken("/metrics")
        self.scrapes.append(time.monotonic() - begin)

    def run(self):
        client, n = None, 0
        while not self.is_over.wait(0.01):
            try:
                client = client or self.connect()
                self.submit(client)
                if n % 10 == 0:
                    self.scrape()
                n += 1
            except Exception as error:  # every error is shown in the table
                self.failures.append(f"{type(error).__name__}: {error}")
                if client:
                    client.close()
                client = None


def libc_setresuid(uid):
    """Changes the effective user of this thread only, unlike os.setresuid()."""
    import ctypes
    number = {"x86_64": 117, "aarch64": 147}[os.uname().machine]
    if ctypes.CDLL(None, use_errno=True).syscall(number, -1, uid, -1) < 0:
        raise OSError(ctypes.get_errno(), "setresuid")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


class Target:
    def __init__(self, seconds, seed, options):
        self.random = random.Random(seed)
        self.seconds, self.options = seconds, options
        self.n_rounds, self.anonymous_kib = 0, 0
        self.environment = options["environment"]() if "environment" in options else {}
        self.daemon = harness.Daemon(options.get("config", ""), tcp=options.get("tcp", False), environment=self.environment)
        self.daemon.socket.parent.chmod(0o755)  # access for the bystander
        self.daemon.start()
        self.bystander = Bystander(self)
        self.end_s = 0.0

    def goes_on(self):
        """Returns true in the first round, and until the time of this fault is over."""
        self.note_memory()
        self.n_rounds += 1
        return self.n_rounds == 1 or time.monotonic() < self.end_s

    def check(self, is_true, text):
        if not is_true:
            raise Broken(text)

    def note_memory(self):
        with contextlib.suppress(OSError):  # between a stop and a start
            text = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
            self.anonymous_kib = max(self.anonymous_kib, int(re.search(r"^RssAnon:\s+(\d+)", text, re.M)[1]))

    def send(self, data, where="socket"):
        """Sends bytes over a new connection, shuts down writing, and returns all data received until the end."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(harness.TIMEOUT_S)
            s.connect(str(getattr(self.daemon, where)))
            answer = b""
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while piece := s.recv(65536):
                    answer += piece
            return answer

    def run(self, function):
        """Returns the observations, or raises Broken."""
        restarts = self.options.get("restarts", False)
        self.bystander.start()
        self.end_s = time.monotonic() + self.seconds
        seen = [function(self) or f"{self.n_rounds} rounds"]
        self.note_memory()
        self.bystander.is_over.set()
        self.bystander.join(harness.TIMEOUT_S)
        self.check(not self.bystander.is_alive(), "the bystander waits for an answer")
        self.check(restarts or not self.bystander.failures, f"the bystander: {self.bystander.failures[:3]}")
        self.check(self.daemon.process.poll() is None, f"perfd ended with {self.daemon.process.poll()}")
        seen.append(self.measure())
        self.check_store()
        return "; ".join(seen)

    def measure(self):
        lateness_s = self.daemon.metrics()["perfd_sample_lateness_max_seconds"]
        anonymous_mib = self.anonymous_kib / 1024
        limit_mib, limit_s = self.options.get("memory_mib", 1e6), self.options.get("lateness_s", 1e6)
        if not harness.IS_SANITIZED:
            self.check(anonymous_mib <= limit_mib, f"{anonymous_mib:.0f} MiB of anonymous memory, not {limit_mib}")
            self.check(lateness_s <= limit_s, f"a sample was {lateness_s * 1000:.0f} ms late, not {limit_s * 1000:.0f}")
        return (f"bystander: {len(self.bystander.acknowledged)} results, p99 {percentile(self.bystander.latencies, 0.99) * 1000:.1f} ms, "
                f"/metrics at most {max(self.bystander.scrapes, default=0) * 1000:.1f} ms; {anonymous_mib:.1f} MiB anonymous; "
                f"latest sample {lateness_s * 1000:.1f} ms late")

    def check_store(self):
        self.check(self.daemon.stop() == 0, f"perfd ended with {self.daemon.process.returncode}")
        stored = []
        for path in self.daemon.state.glob("perfd.db*"):
            if path.name.endswith(("-wal", "-shm")):
                continue
            with contextlib.suppress(sqlite3.DatabaseError, UnicodeDecodeError), contextlib.closing(sqlite3.connect(path)) as database:
                stored += [(path.name, row[0]) for row in database.execute("SELECT id FROM result")]
        current = [number for name, number in stored if name == "perfd.db"]
        self.check(len(current) == len(set(current)), "a result is stored twice")
        lost = set(self.bystander.acknowledged) - {number for _, number in stored}
        self.check(not lost, f"{len(lost)} of {len(self.bystander.acknowledged)} acknowledged results are lost")

    def close(self):
        self.bystander.is_over.set()
        log = self.daemon.close()
        for report in harness.SANITIZER_REPORTS:
            self.check(report not in log, f"the log has {report}")
        return log
