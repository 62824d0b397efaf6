"""Checks the streams of events: they arrive, are limited, and hold up neither perfd nor its end."""

import contextlib
import json
import socket
import time
import unittest

import harness
from harness import wait_for

ENDS = (b"\n\n\r\n", b"\n\n")  # of an event: libmicrohttpd 0.9.72 does not send it as a chunk
CONFIG = "[sampling]\ninterval = 1s\n[http]\ntimeout = 1s\n[limits]\nstreams = 6\n"


class Events(harness.TestCase):
    def open_stream(self, daemon, buffer_bytes=None):
        stream = socket.socket(socket.AF_UNIX)
        self.addCleanup(stream.close)
        if buffer_bytes:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        stream.settimeout(harness.TIMEOUT_S)
        stream.connect(str(daemon.http_socket))
        stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return stream

    def read_until(self, stream, done, text=b""):
        while not done(text):
            data = stream.recv(65536)
            if not data:
                self.fail(f"the stream ended: {text[-300:]}")
            text += data
        return text

    def held(self, daemon):
        return daemon.metrics()['perfd_quota_held{resource="streams"}']

    def test_each_sample_is_an_event(self):
        daemon = self.daemon(CONFIG)
        wait_for(lambda: daemon.get("/api/v1/node/recent").json["times_ms"], "a point")
        text = self.read_until(self.open_stream(daemon), lambda t: t.count(b"event: sample") >= 3 and t.endswith(ENDS))
        head, body = text.split(b"\r\n\r\n", 1)
        self.assertIn(b"Content-Type: text/event-stream", head)
        self.assertTrue(head.startswith(b"HTTP/1.1 200"))
        events = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]
        times = [event["times_ms"][0] for event in events]
        self.assertEqual(times, sorted(set(times)))
        self.assertTrue(all(len(event["times_ms"]) == 1 for event in events))
        recent = daemon.get("/api/v1/node/recent").json
        self.assertLessEqual(set(times), set(recent["times_ms"]))
        at = recent["times_ms"].index(times[0])
        self.assertEqual(recent["series"]["cpu"][at], events[0]["series"]["cpu"][0])
        self.assertEqual([core[at] for core in recent["cores"]], [core[0] for core in events[0]["cores"]])
        later = daemon.get(f"/api/v1/node/recent?since_ms={times[0]}").json
        self.assertEqual(later["times_ms"], [t for t in later["times_ms"] if t > times[0]])

    def test_streams_beyond_the_share_are_refused_with_the_reason(self):
        daemon = self.daemon(CONFIG)
        wait_for(lambda: daemon.get("/api/v1/node/recent").json["times_ms"], "a point")
        streams, answers = [], []
        for _ in range(8):
            streams.append(self.open_stream(daemon))
            answers.append(self.read_until(streams[-1], lambda t: b"\r\n\r\n" in t))
        refused = [a for a in answers if a.startswith(b"HTTP/1.1 429")]
        self.assertGreater(len(refused), 0)
        self.assertIn(b"[limits] streams = 6", refused[0] + streams[answers.index(refused[0])].recv(4096))
        self.assertEqual(self.held(daemon), 8 - len(refused))
        for stream in streams:
            stream.close()
        wait_for(lambda: self.held(daemon) == 0, "the end of the streams of clients that have gone")
        self.read_until(self.open_stream(daemon), lambda t: b"event: sample" in t)

    def test_a_client_that_does_not_read_is_dropped(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n[http]\ntimeout = 1s\n")
        wait_for(lambda: daemon.get("/api/v1/node/recent").json["times_ms"], "a point")
        idle, reading = self.open_stream(daemon, 2048), self.open_stream(daemon)
        self.read_until(reading, lambda t: b"event: sample" in t)
        deadline = time.monotonic() + 3 * harness.TIMEOUT_S
        while self.held(daemon) > 1 and time.monotonic() < deadline:
            self.read_until(reading, lambda t: b"event: sample" in t)
        self.assertEqual(self.held(daemon), 1)
        self.read_until(reading, lambda t: b"event: sample" in t)
        idle.close()

    def test_open_streams_do_not_hold_up_the_end(self):
        daemon = self.daemon(CONFIG, watchdog_s=5)
        wait_for(lambda: daemon.get("/api/v1/node/recent").json["times_ms"], "a point")
        streams = [self.open_stream(daemon) for _ in range(2)]
        for stream in streams:
            self.read_until(stream, lambda t: b"event: sample" in t)
        daemon.stop()
        for stream in streams:
            with contextlib.suppress(ConnectionResetError):
                while stream.recv(65536):
                    pass


if __name__ == "__main__":
    unittest.main()
