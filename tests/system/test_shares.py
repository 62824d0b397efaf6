"""Checks that the resources that a user consumes in perfd are charged to this user, and that others are not delayed."""

import http.client
import os
import select
import signal
import socket
import unittest

import harness
from harness import wait_for

CONFIG = "[sampling]\ninterval = 100ms\n[http]\nquery_timeout = 60s\n"
OTHER_UID = 65534
N_RESULTS = 12000
# Groups and sorts all results: the slowest of the usual queries.
SLOW = "/api/v1/indicators/many/query?group_by=n&stat=median:rate,p95:rate,skew:rate"


class Asker:
    """A connection over TCP, as the test's user or another one, that sends a request without waiting for the answer."""

    def __init__(self, port, path, uid=None):
        self.socket = socket.socket()
        self.socket.settimeout(harness.TIMEOUT_S)
        # The user of a TCP connection is the one who created the socket.
        if uid is None:
            self.socket.connect(("127.0.0.1", port))
        else:
            self.socket.close()
            self.socket = make_socket_as(uid)
            self.socket.connect(("127.0.0.1", port))
        self.path = path
        self.answer = b""

    def fileno(self):
        return self.socket.fileno()

    def ask(self):
        self.socket.sendall(f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return self

    def wait(self):
        """Reads until the end and returns the status."""
        while piece := self.socket.recv(65536):
            self.answer += piece
        self.socket.close()
        return self.status

    @property
    def status(self):
        return int(self.answer.split(b" ", 2)[1]) if self.answer.startswith(b"HTTP/1.") else None


def make_socket_as(uid):
    """Returns a socket created by a process of another user and passed to this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    pid = os.fork()
    if pid == 0:
        try:
            os.setresuid(uid, uid, uid)
            socket.send_fds(theirs, [b"x"], [socket.socket().detach()])
        finally:
            os._exit(0)
    theirs.close()
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    os.waitpid(pid, 0)
    ours.close()
    made = socket.socket(fileno=fds[0])
    made.settimeout(harness.TIMEOUT_S)
    return made


def count_answered(askers):
    return len(select.select(askers, [], [], 0)[0])


class Queries(harness.TestCase):
    def start(self, config=""):
        daemon = self.daemon(CONFIG + config, tcp=True)
        with daemon.client() as client:
            for i in range(0, N_RESULTS, 500):
                documents = [harness.indicator("many", rate=float(k), **{"@parameters": {"n": k % 50}}) for k in range(i, i + 500)]
                self.assert_status(client.submit(*documents), "OK")
        return daemon

    def test_a_scrape_does_not_wait_for_queries(self):
        daemon = self.start()
        scrape = Asker(daemon.port, "/metrics")
        slow = [Asker(daemon.port, SLOW).ask() for _ in range(40)]
        scrape.ask()
        self.assertEqual(scrape.wait(), 200)
        answered = count_answered(slow)
        self.assertEqual(daemon.get("/-/healthy").status, 200)
        self.assertLess(answered, 20, "a scrape came after half of the queries that began before it")
        self.assertEqual([asker.wait() for asker in slow], [200] * 40)

    @unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
    def test_another_user_does_not_wait_for_all_queries_of_the_first(self):
        daemon = self.start()
        other = Asker(daemon.port, SLOW, uid=OTHER_UID)
        slow = [Asker(daemon.port, SLOW).ask() for _ in range(40)]
        other.ask()
        self.assertEqual(other.wait(), 200)
        self.assertLess(count_answered(slow), 20, "another user's only query came after half of the queries of the first user")
        self.assertEqual([asker.wait() for asker in slow], [200] * 40)

    def test_queries_beyond_the_share_are_refused_with_the_reason(self):
        daemon = self.start("[limits]\nqueries = 8\n")
        askers = [Asker(daemon.port, SLOW).ask() for _ in range(16)]
        answers = [asker.wait() for asker in askers]
        self.assertEqual(set(answers), {200, 429})
        refused = next(asker.answer for asker in askers if asker.status == 429)
        self.assertIn(b"[limits] queries = 8", refused)
        self.assertIn(b"Retry-After: 1", refused)
        self.assertEqual(Asker(daemon.port, SLOW).ask().wait(), 200)

        report = daemon.get("/api/v1/quota").json
        totals = {resource["name"]: resource for resource in report["resources"]}
        self.assertEqual(totals["queries"]["limit"], 8)
        self.assertEqual(totals["queries"]["refused"], answers.count(429))
        self.assertEqual(daemon.metrics()['perfd_quota_refused_total{resource="queries"}'], answers.count(429))
        text = daemon.perfctl("quota", "--all").stdout
        self.assertRegex(text, rf"uid {os.getuid()} +queries +\d+ +\d+ +{answers.count(429)} ")
        self.assertIn("--all and --user cannot be combined", daemon.perfctl("quota", "--all", "--user", "root").stderr)

    def test_stopping_answers_the_queries_that_wait(self):
        daemon = self.start()
        askers = [Asker(daemon.port, SLOW).ask() for _ in range(20)]
        wait_for(lambda: daemon.metrics()['perfd_quota_held{resource="queries"}'] + count_answered(askers) >= 20, "all queries in perfd")
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait_exit(), 0)
        self.assertLessEqual({asker.wait() for asker in askers}, {200, 503})

    def test_idle_connections_of_one_user_do_not_block_others(self):
        daemon = self.daemon(CONFIG + "[limits]\nhttp_connections = 64\n", tcp=True)
        idle = [Asker(daemon.port, "/metrics") for _ in range(100)]

        def refused():
            return [asker for asker in idle if select.select([asker], [], [], 0)[0]]

        def metrics():
            try:
                return daemon.metrics()
            except (OSError, http.client.HTTPException):
                return {'perfd_quota_held{resource="http_connections"}': 100}  # the share of this user is used up
        wait_for(lambda: len(refused()) > 30, "answers to the refused connections")
        if os.getuid() == 0:
            self.assertEqual(Asker(daemon.port, "/metrics", uid=OTHER_UID).ask().wait(), 200)
        self.assertIn(b"[limits] http_connections = 64", refused()[0].socket.recv(4096))
        for asker in idle:
            asker.socket.close()
        wait_for(lambda: metrics()['perfd_quota_held{resource="http_connections"}'] <= 1, "the end of the connections")
        self.assertGreater(daemon.metrics()['perfd_quota_refused_total{resource="http_connections"}'], 30)

    @unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
    def test_answers_that_a_user_does_not_read_are_refused_to_this_user_only(self):
        daemon = self.daemon(CONFIG + "[limits]\nanswers_size = 32M\n", tcp=True)
        with daemon.client() as client:
            for _ in range(10):
                self.assert_status(client.submit(*[harness.indicator("big", notes=["x" * 1500]) for _ in range(100)]), "OK")
        path = "/api/v1/results?limit=1000"
        askers = [Asker(daemon.port, path, uid=OTHER_UID) for _ in range(60)]
        for asker in askers:
            asker.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for _ in range(4):
                asker.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_for(lambda: daemon.metrics()['perfd_quota_refused_total{resource="answers_size"}'] > 0, "a refused answer")
        self.assertLess(daemon.metrics()['perfd_quota_held{resource="answers_size"}'], 12 << 20)
        for other in (None, 1):
            self.assertEqual(Asker(daemon.port, "/metrics", uid=other).ask().wait(), 200)
            self.assertEqual(Asker(daemon.port, path, uid=other).ask().wait(), 200)
        text = daemon.perfctl("quota", "--all").stdout
        self.assertRegex(text, rf"uid {OTHER_UID} +answers_size ")
        for asker in askers:
            asker.socket.close()
        wait_for(lambda: daemon.metrics()['perfd_quota_held{resource="answers_size"}'] == 0, "the end of the answers")
        self.assertEqual(Asker(daemon.port, path, uid=OTHER_UID).ask().wait(), 200)


if __name__ == "__main__":
    unittest.main()
