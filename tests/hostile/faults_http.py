"""Faults of the HTTP sockets."""

import collections
import concurrent.futures
import contextlib
import os
import socket

import harness
from hostile import fault
from faults_frames import TICKS, mutate

REQUEST = b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n"


@fault("300 arguments, long paths and 300 headers", "414 or 431 at once", config=TICKS)
def long_requests(target):
    requests = {
        "300 arguments": (b"414", REQUEST % (b"/api/v1/results?" + b"&".join(b"a%d=1" % i for i in range(300)), b"")),
        "a path of 10,000 bytes": (b"414", REQUEST % (b"/" + b"a" * 10000, b"")),
        "a query of 40,000 bytes": (b"414", REQUEST % (b"/api/v1/results?name=" + b"a" * 40000, b"")),
        "300 headers": (b"431", REQUEST % (b"/metrics", b"".join(b"X-%d: 1\r\n" % i for i in range(300)))),
    }
    n = 0
    while target.goes_on():
        for what, (status, request) in requests.items():
            answer = target.send(request, "http_socket")
            target.check(status in answer.split(b"\r\n", 1)[0], f"{what}: {answer[:100]}")
            n += 1
    return f"{n} requests"


@fault("HTTP requests with changed, doubled, inserted and missing bytes", "answered, or closed after [http] timeout; others are served",
       config=TICKS + "[http]\ntimeout = 1s\n")
def mutated_http(target):
    paths = (b"/metrics", b"/api/v1/jobs?limit=2&state=running", b"/jobs/x",
             b"/api/v1/indicators/bystander/query?stat=mean:rate&group_by=n")
    statuses, n = {}, 0
    while target.goes_on():
        request = REQUEST % (target.random.choice(paths), b"Accept-Encoding: gzip\r\nAccept: text/html\r\n")
        answer = target.send(mutate(target.random, request), "http_socket")
        status = answer[9:12].decode("latin-1") or "closed"
        statuses[status] = statuses.get(status, 0) + 1
        n += 1
    return f"{n} requests; " + ", ".join(f"{statuses[status]} {status}" for status in sorted(statuses))


@fault("HTTP clients that send a byte at a time", "they wait or are closed; others are served", config=TICKS)
def slow_http(target):
    request, sockets, sent = REQUEST % (b"/metrics", b""), [], 0
    for _ in range(20):
        s = socket.socket(socket.AF_UNIX)
        s.connect(str(target.daemon.http_socket))
        s.setblocking(False)
        sockets.append(s)
    while target.goes_on():
        for s in sockets:
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                sent += s.send(request[sent // 20 % (len(request) - 4):][:1])
    for s in sockets:
        s.close()
    return f"{sent} bytes one by one on 20 connections"


@fault("64 clients that ask for /metrics over and over", "answered, or 503 at the limit of connections; others are served", config=TICKS)
def many_scrapers(target):
    statuses = collections.Counter()

    def scrape(_):
        with contextlib.suppress(ConnectionError):
            answer = target.send(REQUEST % (b"/metrics", b""), "http_socket")
            statuses[answer[9:12].decode("latin-1") or "closed"] += 1
            target.check(not answer.startswith(b"HTTP/1.1 200") or answer.rstrip().endswith(b"# EOF") or b"perfd_" in answer, "a part")

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        while target.goes_on():
            list(pool.map(scrape, range(256)))
    target.check(set(statuses) <= {"200", "429", "503", "closed"} and statuses["200"] > 0, str(statuses))
    return "; ".join(f"{n} {status}" for status, n in sorted(statuses.items()))


@fault("requests with two lengths, a length and chunks, or two hosts", "400, and the connection is closed", config=TICKS)
def two_ends(target):
    lengths, hosts = (b"Content-Length: %d\r\n", b"Transfer-Encoding: chunked\r\n"), (b"Host: localhost\r\n", b"Host: example.org\r\n")
    n = 0
    while target.goes_on():
        some = [target.random.choice(lengths) for _ in range(2)]
        headers = [header % target.random.randrange(3) if b"%" in header else header for header in some]
        if target.random.random() < 0.3:
            headers = [target.random.choice(hosts)]
        headers = headers + [hosts[0]]
        target.random.shuffle(headers)
        smuggled = b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = target.send(b"GET /metrics HTTP/1.1\r\n" + b"".join(headers) + b"\r\n0\r\n\r\n" + smuggled, "http_socket")
        target.check(answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1, f"{headers}: {answer[:100]}")
        n += 1
    return f"{n} requests"


@fault("a user's results named as metrics of the node and of Prometheus", "on /metrics each has the prefix perfd_kpi_", config=TICKS)
def borrowed_names(target):
    names = ("up", "node_load1", "perfd_node_cpus", "perfd_kpi_series_not_exposed", "series_not_exposed", "process_cpu_seconds",
             "pipe_elapsed", "scrape_duration_seconds")
    own = {line.split()[2] for line in target.daemon.get("/metrics").text.splitlines() if line.startswith("# TYPE ")}
    n = 0
    with target.bystander.connect() as client:
        while target.goes_on():
            name = target.random.choice(names)
            request = client.request()
            model = {"name": f"I{n % 4}", "kpi_name": name, "results": {"x": {"type": "float", "direction": "lower"}}}
            request.register.model.append(harness.to_json(model))
            client.call(request)
            client.submit({"name": model["name"], "component": "c", "@parameters": {}, "@result": {"x": 99.0}})
            n += 1
    text = target.daemon.wait_tick() and target.daemon.get("/metrics").text
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")]
    target.check(len(families) == len(set(families)), "a family appears twice")
    foreign = [name for name in set(families) - own if not name.startswith("perfd_")]
    target.check(not foreign, f"names of a user on /metrics: {foreign}")
    return f"{n} results, {len(set(families) - own)} more families"


@fault("members of run that perfd does not know", "they are shown to their user only", config=TICKS)
def unknown_members(target):
    import test_privacy
    n = 0
    if os.getuid() != 0:
        return "needs root, to act as several users"
    with target.bystander.connect() as client:
        while target.goes_on():
            request = client.submit_request(harness.indicator("secret"))
            key = "".join(target.random.choice("abcdefghij") for _ in range(8))
            request.submit.indicators[0].run = harness.to_json({key: "s3cret", "host": {"hostname": "h", key: ["s3cret"]}, "os": "s3cret"})
            client.call(request)
            n += 1
            if n % 50 == 0:
                made = test_privacy.connect_as(40002, target.daemon.http_socket)
                answer = test_privacy.get_over(made, "/api/v1/indicators/secret/results?limit=50").text
                target.check('"hostname"' in answer and "s3cret" not in answer, "a member of another user's run is shown")
    return f"{n} results"
