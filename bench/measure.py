"""A perfd to measure, process statistics of the kernel, and the programs of bench/*.c."""

import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIMEOUT_S = 30


def wait_for(predicate, what, timeout_s=TIMEOUT_S):
    deadline = time.monotonic() + timeout_s
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.01)


# --- processes -----------------------------------------------------------------------------------

def cpu_us(pid):
    """Returns the CPU time of all threads, including finished ones, from the process's CPU clock, see
    clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e3


def busy_s():
    """Returns the CPU seconds that all processors together were busy."""
    fields = [int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def memory_kib(pid):
    """Returns VmRSS and its parts, and Pss, which divides shared pages by the number of processes that share them."""
    fields = {}
    for name in ("status", "smaps_rollup"):
        for line in pathlib.Path(f"/proc/{pid}/{name}").read_text().splitlines():
            words = line.split()
            if words and words[-1] == "kB":
                fields.setdefault(words[0].rstrip(":"), int(words[1]))
    return {name: fields[name] for name in ("VmRSS", "RssAnon", "RssFile", "Pss")}


def resident_mib(pid):
    return memory_kib(pid)["VmRSS"] / 1024


def libraries_of(program):
    lines = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [m[1] for m in (re.search(r"=> (/\S+)", line) for line in lines) if m]


def read_ahead(program):
    """Reads a program and its libraries into the page cache, which affects how much of a file is resident."""
    for path in [program, *libraries_of(program)]:
        pathlib.Path(path).read_bytes()


def end(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def spawn_ms(command, n, environment=None):
    """Returns the median wall time of processes from fork to exit."""
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


# --- HTTP ----------------------------------------------------------------------------------------

class Connection(http.client.HTTPConnection):
    """A persistent connection, as used by scrapers. where: a port, or the path of a Unix socket."""

    def __init__(self, where):
        super().__init__("127.0.0.1", where if isinstance(where, int) else 80, timeout=TIMEOUT_S)
        self.where = where

    def connect(self):
        if isinstance(self.where, int):
            super().connect()
            return
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.where))

    def get(self, path, headers=None):
        self.request("GET", path, headers=headers or {})
        response = self.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {body[:200]}")
        return body


def series_in(exposition):
    return [line for line in exposition.decode().splitlines() if line and not line.startswith("#")]


def scrape_cost(pid, connection, path, headers, n, idle_us_per_s, pause_s=0):
    """Returns the CPU time of the process for one scrape, minus its normal use in the same time. pause_s: before each scrape."""
    connection.get(path, headers)
    cpu, begin = cpu_us(pid), time.monotonic()
    for _ in range(n):
        time.sleep(pause_s)
        connection.get(path, headers)
    return (cpu_us(pid) - cpu - idle_us_per_s * (time.monotonic() - begin)) / n


# --- perfd ---------------------------------------------------------------------------------------

class Daemon:
    """A separate perfd with its state below the build directory: on a disk, unlike /tmp on some systems."""

    def __init__(self, build, config="", root=None, program="perfd"):
        self.build = build
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="perfd-"))
        self.state = pathlib.Path(tempfile.mkdtemp(prefix="bench-state-", dir=build))
        self.socket, self.http_socket = self.directory / "perfd.sock", self.directory / "http.sock"
        self.config = self.directory / "perfd.conf"
        self.config.write_text(f"{config}\n[store]\nkeep_results = 0\n")
        self.command = [str(word) for word in (
            build / program, "--config", self.config, "--socket", self.socket,
            "--state", self.state, "--http", "off", *(("--root", root) if root else ()))]
        self.process = None
        self.n_results = 0
        self.load_cpu_s = 0

    def __enter__(self):
        read_ahead(self.command[0])
        log = open(self.directory / "log", "wb")
        with log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_for(self.is_ready, "perfd")
        except RuntimeError:
            self.__exit__()
            raise
        self.pid = self.process.pid
        return self

    def __exit__(self, *_):
        end(self.process)
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)

    def log(self):
        return (self.directory / "log").read_text(errors="replace")

    def is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"perfd ended with {self.process.returncode}:\n{self.log()}")
        try:
            return Connection(self.http_socket).get("/-/ready")
        except (OSError, http.client.HTTPException, RuntimeError):
            return False

    def metrics(self):
        pairs = (line.rsplit(" ", 1) for line in series_in(Connection(self.http_socket).get("/metrics")))
        return {name: float(value) for name, value in pairs}

    def wait_ticks(self, n):
        goal = self.metrics()["perfd_samples_total"] + n
        wait_for(lambda: self.metrics()["perfd_samples_total"] >= goal, f"{n} ticks", n + TIMEOUT_S)

    def reconfigure(self, config):
        n_reloads = self.log().count("Configuration")
        self.config.write_text(f"{config}\n[store]\nkeep_results = 0\n")
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.log().count("Configuration") > n_reloads, "the reload")

    def load(self, kind, **words):
        """Runs bench/load; returns its last line as {key: number}, and the intermediate rates."""
        command = [self.build / "bench" / "load", self.socket, kind, *(f"{key}={value}" for key, value in words.items())]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}; perfd's log:\n{self.log()}")
        lines = [dict(pair.split("=") for pair in line.split()) for line in done.stdout.splitlines()]
        result = {key: float(value) for key, value in lines[-1].items()}
        self.load_cpu_s += result["client_cpu_seconds"]
        return result, [float(line["per_second"]) for line in lines[:-1]]


def run_program(build, name, *words):
    """Returns the output of a program of bench/*.c; None if the program was not built."""
    program = build / "bench" / name
    if not program.exists():
        return None
    return subprocess.run([str(program), *map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout
