"""Faults of the submission socket: incomplete frames, invalid frames, and frames that are too large to decode."""

import contextlib
import socket

import harness
from harness import wire
from hostile import fault

TICKS = "[sampling]\ninterval = 100ms\n"


def connect_all(target, n):
    sockets = []
    for _ in range(n):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(harness.TIMEOUT_S)
        s.connect(str(target.daemon.socket))
        sockets.append(s)
    return sockets


@fault("frames of 1 MB that end after 64 KiB, on 32 connections", "kept or refused within the limits; others are served", config=TICKS)
def unfinished_frames(target):
    n = 0
    while target.goes_on():
        with contextlib.ExitStack() as stack:
            for s in connect_all(target, 32):
                stack.enter_context(s)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    s.sendall(harness.varint(1000000) + target.random.randbytes(65536))
                n += 1
            target.note_memory()
    return f"{n} connections"


@fault("bytes that are no frame", "the connection is closed, and counted; others are served", config=TICKS)
def garbage_on_the_socket(target):
    n = 0
    while target.goes_on():
        target.send(target.random.randbytes(target.random.choice((1, 5, 50, 500, 70000))))
        n += 1
    return f"{n} connections, {target.daemon.wait_tick()['perfd_protocol_errors_total']:.0f} protocol errors"


def sample_requests(target):
    """Valid requests of each kind."""
    client = harness.Client.__new__(harness.Client)  # used for encoding only
    client.sequence = 0
    requests = [client.submit_request(harness.indicator(), harness.indicator(name="other", notes=["x" * 200] * 3), time_ms=1)]
    for kind, fields in (("hello", {"client": "hostile"}), ("job_begin", {"job": "hostile-1", "name": "n", "command": "c"}),
                         ("job_end", {"job": "hostile-1", "exit_status": 3}), ("mark", {"job": "hostile-1", "name": "load"})):
        request = client.request()
        for key, value in fields.items():
            setattr(getattr(request, kind), key, value)
        requests.append(request)
    return [request.SerializeToString() for request in requests]


def mutate(random, data):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(data))
        how = random.randrange(5)
        if how == 0:
            data[at] ^= 1 << random.randrange(8)
        elif how == 1:
            data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif how == 2:
            data[at:at] = random.randbytes(random.randrange(1, 9))
        elif how == 3:
            data[at:at] = data[at:at + 40]
        elif len(data) > 8:
            del data[at:at + random.randrange(1, 9)]
        data = data or bytearray(1)
    return bytes(data)


@fault("requests with changed, doubled, inserted and missing bytes", "answered or closed; others are served", config=TICKS)
def mutated_requests(target):
    samples, n, statuses = sample_requests(target), 0, {}
    while target.goes_on():
        frames = [harness.frame(mutate(target.random, target.random.choice(samples))) for _ in range(20)]
        n += len(frames)
        with target.daemon.client() as client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.send_bytes(b"".join(frames))
            client.socket.shutdown(socket.SHUT_WR)
            while (reply := client.receive()) is not None:
                name = wire.Status.Name(reply.status)
                statuses[name] = statuses.get(name, 0) + 1
    return f"{n} requests; " + ", ".join(f"{statuses[name]} {name}" for name in sorted(statuses))


def send_large(target, *documents):
    """Sends the frame again and again. Returns the number of frames with the statuses of the answers."""
    n, statuses = 0, set()
    while target.goes_on():
        with target.daemon.client() as client:
            reply = client.submit(*documents)
            target.check(reply is not None, "no answer")
            statuses.add(wire.Status.Name(reply.status))
            n += 1
    return f"{n} frames: {', '.join(sorted(statuses))}"


def with_keys(n):
    return {"name": "keys", "framework": "perfd.test", "@parameters": {}, "@result": {f"{i:x}": 1 for i in range(n)}}


@fault("a legal frame of 1 MB with 98,000 keys, in 24 results", "stored; others are served", config=TICKS)
def many_keys(target):
    return send_large(target, *[with_keys(4083)] * 24)


@fault("a frame of 1 MB with an object of 98,000 keys", "refused; others are served", config=TICKS)
def many_keys_in_one_object(target):
    return send_large(target, with_keys(98000))


@fault("a frame of 1 MB with a list of 450,000 numbers", "stored; others are served", config=TICKS)
def many_numbers(target):
    return send_large(target, harness.indicator("numbers", samples=[i % 10 for i in range(450000)]))


@fault("clients that send a byte at a time, and clients that do not read their answers", "they wait; others are served", config=TICKS)
def slow_connections(target):
    data = b"".join(harness.frame(request) for request in sample_requests(target))
    slow = connect_all(target, 20)
    deaf = connect_all(target, 10)
    for s in slow + deaf:
        s.setblocking(False)
    sent = 0
    while target.goes_on():
        for s in slow:
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                sent += s.send(data[sent % len(data):][:1])
        for s in deaf:
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                s.send(data * 20)
    for s in slow + deaf:
        s.close()
    return f"{sent} bytes one by one on 20 connections, 10 that do not read"


@fault("control and bidi characters in every text", "HTML, CSV and /metrics escape them", config=TICKS)
def characters_that_move_a_cursor(target):
    bad = "\x1b[2J\u202e\u2066\x9b"
    n = 0
    while target.goes_on():
        n += 1
        with target.daemon.client() as client:
            reply = client.submit({"name": "cursor", "component": f"c{bad}", "version": bad, "notes": bad,
                                   "@parameters": {f"k{bad}": bad, "n": n}, "@result": {f"r{bad}": 1.0, "s": bad}})
            target.check(reply.status == wire.OK, f"{wire.Status.Name(reply.status)} {reply.message}")
            # A name is a line of text; other texts are refused.
            target.check(client.begin(f"cursor-{n}", name=f"n{bad}").status == wire.INVALID, "a name with control characters")
            reply = client.begin(f"cursor-{n}", name="n\u202e", command=f"echo {bad}")
            target.check(reply.status == wire.OK, f"{wire.Status.Name(reply.status)} {reply.message}")
            client.end(f"cursor-{n}", exit_status=0)
    target.daemon.wait_tick()
    paths = ("/", "/indicators/cursor", f"/jobs/cursor-{n}", "/metrics", "/api/v1/indicators/cursor/query?group_by=component&format=csv")
    for path in paths:
        answer = target.daemon.get(path)
        raw = [hex(ord(c)) for c in answer.text if c in bad and c not in "[2J"]
        target.check(answer.status == 200, f"{path}: {answer.status} {answer.text[:200]}")
        target.check(not raw, f"{path} has {sorted(set(raw))}")
    return f"{n} results and jobs, {len(paths)} answers read"


@fault("results under 2,000 names", "/metrics keeps the series of other users", config=TICKS)
def many_names(target):
    n = 0
    while target.goes_on() or n < 2000:
        with target.daemon.client() as client:
            for _ in range(10):
                client.submit(*(harness.indicator(name=f"name-{n + i}") for i in range(20)))
                n += 20
    metrics = target.daemon.wait_tick()
    stored = [metrics[key] for key in metrics if key.startswith('perfd_indicators_total{indicator="bystander",') and "stored" in key]
    target.check(sum(stored) > 0, "the bystander's series is gone")
    return f"{n} names, {sum(key.startswith('perfd_indicators_total') for key in metrics) // 3} series"
