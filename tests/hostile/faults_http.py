"""Faults of the HTTP sockets."""

import contextlib
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
