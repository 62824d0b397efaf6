"""Ways in which one user floods a perfd, for flood.py.

A way is a function with the decorator @way(what). The function runs in a process of its own, as the attacker, until the process is
killed, and adds to counter.value what it has done. The target has the paths of the sockets and the port of a perfd.
"""

import contextlib
import os
import selectors
import socket
import time

import harness
from harness import wire

WAYS = []
SLOW = "/api/v1/indicators/many/query?group_by=n&stat=median:rate,p95:rate,skew:rate"
N_RESULTS_TO_ASK = 40000
ID = b"\xaa" * 16


class Way:
    def __init__(self, what, unit, function, config="", is_asking=False):
        self.what, self.unit, self.function, self.config, self.is_asking = what, unit, function, config, is_asking


def way(what, unit, **options):
    def register(function):
        WAYS.append(Way(what, unit, function, **options))
        return function
    return register


# --- frames --------------------------------------------------------------------------------------

def body(kind, **fields):
    request = wire.Request(sequence=1)
    message = getattr(request, kind)
    message.SetInParent()
    for key, value in fields.items():
        if isinstance(value, list):
            getattr(message, key).extend(value)
        else:
            setattr(message, key, value)
    return harness.frame(request)


def submit_frame(documents, **fields):
    request = wire.Request(sequence=1)
    for document in documents:
        request.submit.indicators.add(id=ID, document=harness.to_json(document), **fields)
    return harness.frame(request)


class Template:
    """A frame of submissions that gets new ids each time."""

    def __init__(self, documents, **fields):
        self.parts = submit_frame(documents, **fields).split(ID)
        assert len(self.parts) == len(documents) + 1

    def new(self):
        ids = os.urandom(16 * (len(self.parts) - 1))
        pieces = [self.parts[0]]
        for i, part in enumerate(self.parts[1:]):
            pieces += ids[16 * i:16 * i + 16], part
        return b"".join(pieces)


# --- connections ---------------------------------------------------------------------------------

def connect(address):
    s = socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX)
    s.settimeout(harness.TIMEOUT_S)
    s.connect(address if isinstance(address, tuple) else str(address))
    s.setblocking(False)
    return s


class Pump:
    """Connections that send what next_bytes() returns as fast as perfd takes it, and read and forget the answers."""

    def __init__(self, address, n, next_bytes):
        self.address, self.next_bytes = address, next_bytes
        self.selector, self.unsent = selectors.DefaultSelector(), {}
        for _ in range(n):
            self.add()

    def add(self):
        with contextlib.suppress(OSError):
            s = connect(self.address)
            self.unsent[s] = memoryview(b"")
            self.selector.register(s, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def remove(self, s):
        self.selector.unregister(s)
        del self.unsent[s]
        s.close()

    def serve(self, s, events):
        if events & selectors.EVENT_READ and not s.recv(1 << 16):
            raise ConnectionResetError
        if events & selectors.EVENT_WRITE:
            self.unsent[s] = self.unsent[s] or memoryview(self.next_bytes())
            self.unsent[s] = self.unsent[s][s.send(self.unsent[s]):]

    def run(self):
        while True:
            for key, events in self.selector.select(1):
                try:
                    self.serve(key.fileobj, events)
                except BlockingIOError:
                    pass
                except OSError:
                    self.remove(key.fileobj)
                    self.add()


def hold(address, n, counter, first_bytes=b""):
    """Takes n connections, sends something on each, and takes new connections for those that perfd closes."""
    held = []
    while True:
        try:
            while len(held) < n:
                s = connect(address)
                held.append(s)
                counter.value += 1
                with contextlib.suppress(OSError):
                    s.send(first_bytes)
        except OSError:
            pass
        time.sleep(0.05)
        for s in list(held):
            with contextlib.suppress(BlockingIOError):
                with contextlib.suppress(ConnectionResetError):
                    if s.recv(65536):
                        continue
                held.remove(s)
                s.close()


# --- the submission socket -----------------------------------------------------------------------

@way("1 MB frames that do not end, on as many connections as there are", "connections")
def unfinished_frames(target, counter):
    hold(target.socket, 4000, counter, harness.varint(1000000) + b"x" * 150000)


@way("all connections", "connections")
def all_connections(target, counter):
    hold(target.socket, 5000, counter)


@way("submissions of one result, 64 connections without waiting", "results")
def single_results(target, counter):
    template = Template([harness.indicator("flood")])

    def next_bytes():
        counter.value += 100
        return b"".join(template.new() for _ in range(100))
    Pump(target.socket, 64, next_bytes).run()


@way("submissions of 1,000 results, 64 connections without waiting", "results")
def many_results(target, counter):
    template = Template([harness.indicator("flood", rate=float(i)) for i in range(1000)])

    def next_bytes():
        counter.value += 1000
        return template.new()
    Pump(target.socket, 64, next_bytes).run()


@way("submissions of 8,000 results, 8 connections without waiting", "results")
def full_frames(target, counter):
    template = Template([{"name": "flood", "framework": "perfd.test", "@parameters": {}, "@result": {"rate": i}} for i in range(8000)])

    def next_bytes():
        counter.value += 8000
        return template.new()
    Pump(target.socket, 8, next_bytes).run()


def report_of_200_stages(begin_ms, name="stage"):
    request = wire.Request(sequence=1)
    report = request.pipeline_report
    report.job, report.producer = "piped", "flood 1.0"
    for i in range(200):
        stage = report.stages.add(stage=f"0:{i}:{name}[4]", time_ms=begin_ms)
        stage.tasks.elapsed, stage.tasks.num_tasks, stage.tasks.ave_time = 1, 100, 0.01
        stage.queue.elapsed, stage.queue.num_items, stage.queue.occupancy_rate = 1, 100, 0.5
    return request


@way("intervals of 200 stages of a pipeline, 8 connections without waiting", "intervals")
def pipeline_intervals(target, counter):
    begin_ms = int(time.time() * 1000)
    request = report_of_200_stages(begin_ms)

    def next_bytes():
        frames = [] if counter.value else [body("job_begin", job="piped")]
        for _ in range(20):
            counter.value += 200
            for stage in request.pipeline_report.stages:
                stage.time_ms = begin_ms + counter.value // 200
            frames.append(harness.frame(request))
        return b"".join(frames)
    Pump(target.socket, 8, next_bytes).run()


def keys(n):
    """Keys of three letters, without and with digits."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
    return [letters[i // 65 // 65] + letters[i // 65 % 65] + letters[i % 65] for i in range(n)]


@way("legal frames of 1 MB with 98,000 keys", "frames")
def many_keys(target, counter):
    document = {"name": "keys", "framework": "perfd.test", "@parameters": {}, "@result": {key: 1 for key in keys(4080)}}
    template = Template([document] * 24)

    def next_bytes():
        counter.value += 1
        return template.new()
    Pump(target.socket, 8, next_bytes).run()


@way("an object of 98,000 keys, refused", "frames")
def one_large_object(target, counter):
    frame = submit_frame([{"name": "keys", "framework": "perfd.test", "@parameters": {}, "@result": {key: 1 for key in keys(98000)}}])

    def next_bytes():
        counter.value += 1
        return frame
    Pump(target.socket, 8, next_bytes).run()


@way("results of 60 KB until max_size is reached", "MB", config="[store]\nmax_size = 16M\n")
def large_results(target, counter):
    template = Template([harness.indicator("large", notes=["x" * 60000] * 16)])
    n_bytes = 0

    def next_bytes():
        nonlocal n_bytes
        n_bytes += 960000
        counter.value = n_bytes // 1000000
        return template.new()
    Pump(target.socket, 8, next_bytes).run()


@way("200,000 names, each declared again and again", "names and models")
def many_names(target, counter):
    n = 0

    def next_bytes():
        nonlocal n
        n += 1
        counter.value += 200
        if n % 2:
            return Template([harness.indicator(f"name-{(100 * n + i) % 200000}") for i in range(200)]).new()
        return b"".join(body("register", model=[harness.to_json({"name": f"name-{(100 * n + i) % 2000}", "results": {"rate": "float"}})])
                        for i in range(200))
    Pump(target.socket, 8, next_bytes).run()


@way("models for the results of others", "models")
def foreign_models(target, counter):
    units = ["GB/s", "MB/s", "ms"]

    def next_bytes():
        counter.value += 30
        return b"".join(body("register", model=[harness.to_json({
            "name": "bystander", "parameters": {"n": {"type": "int", "index": "int"}},
            "results": {"rate": {"type": "float", "unit": unit, "direction": "lower"}}})]) for unit in units * 10)
    Pump(target.socket, 4, next_bytes).run()


@way("results for jobs of others and jobs to come, dated ahead", "results")
def claimed_results(target, counter):
    n = 0

    def next_bytes():
        nonlocal n
        n += 1
        counter.value += 40
        ahead_ms = int(time.time() * 1000) + 1800000 * (n % 3)  # the last is refused
        return b"".join(Template([harness.indicator("claimed")] * 10, job=job, time_ms=ahead_ms).new()
                        for job in ("bystander", f"root-{n % 200}", f"root-{n % 100}", f"to-come-{n}"))
    Pump(target.socket, 8, next_bytes).run()


@way("all jobs", "jobs")
def all_jobs(target, counter):
    def next_bytes():
        counter.value += 100
        return b"".join(body("job_begin", job=f"flood-{counter.value + i}") for i in range(100))
    Pump(target.socket, 8, next_bytes).run()


@way("ids of jobs burnt without end", "ids")
def burnt_ids(target, counter):
    def next_bytes():
        counter.value += 50
        ids = [f"root-{counter.value + i}" for i in range(50)]
        return b"".join(body("job_begin", job=job) + body("job_end", job=job, exit_status=0) for job in ids)
    Pump(target.socket, 8, next_bytes).run()


# --- HTTP ----------------------------------------------------------------------------------------

def ask(address, n, counter, path=SLOW):
    """n connections that ask, read the answer, and ask again."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    selector = selectors.DefaultSelector()

    def add():
        s = connect(address)
        with contextlib.suppress(OSError):
            s.send(request)
        selector.register(s, selectors.EVENT_READ)

    for _ in range(n):
        add()
    while True:
        for key, _ in selector.select(1):
            with contextlib.suppress(BlockingIOError):
                with contextlib.suppress(ConnectionResetError):
                    if key.fileobj.recv(1 << 16):
                        continue
                selector.unregister(key.fileobj)
                key.fileobj.close()
                counter.value += 1
                add()


@way("20 askers of an expensive question, Unix socket", "answers", is_asking=True)
def ask_20(target, counter):
    ask(target.http_socket, 20, counter)


@way("64 askers of an expensive question, Unix socket", "answers", is_asking=True)
def ask_64(target, counter):
    ask(target.http_socket, 64, counter)


@way("64 askers of an expensive question, TCP", "answers", is_asking=True)
def ask_64_tcp(target, counter):
    ask(("127.0.0.1", target.port), 64, counter)


@way("64 askers of /metrics, with as much text of pipelines as fits", "answers")
def ask_64_metrics(target, counter):
    with target.client() as client:
        for frame in body("job_begin", job="piped"), harness.frame(report_of_200_stages(int(time.time() * 1000), "s" * 120)):
            client.send_bytes(frame)
            assert client.receive().status == wire.OK
    ask(target.http_socket, 64, counter, "/metrics")


@way("600 idle connections, TCP", "connections")
def idle_tcp(target, counter):
    hold(("127.0.0.1", target.port), 600, counter)


def results_to_ask():
    """Frames that store what the expensive question is about."""
    def documents(first):
        return [harness.indicator("many", rate=k * 0.5, **{"@parameters": {"n": k % 50}}) for k in range(first, first + 1000)]
    return [Template(documents(i)).new() for i in range(0, N_RESULTS_TO_ASK, 1000)]
