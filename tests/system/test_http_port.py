"""Checks that perfd does not depend on its TCP port: a taken port is tried again, and a reload moves the port."""

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import unittest

import harness
from harness import wait_for

LISTEN = "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); print(s.getsockname()[1], flush=True); input()"


def config(port):
    return f"[sampling]\ninterval = 100ms\n[http]\nlisten = {f'127.0.0.1:{port}' if port else 'off'}\n"


def n_threads(daemon):
    """Threads of a perfd but those that ask a driver once and end."""
    names = []
    for task in harness.pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # one that has ended meanwhile
            names.append((task / "comm").read_text())
    return len(names) - names.count("perfd-driver\n")


class HttpPort(harness.TestCase):
    def take_port(self, port=0):
        """Listens on a port in another process. Returns the process and the port."""
        process = subprocess.Popen([sys.executable, "-c", LISTEN, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.free_port, process)
        return process, int(process.stdout.readline())

    def free_port(self, process):
        if not process.stdin.closed:
            process.communicate("\n", timeout=harness.TIMEOUT_S)

    def two_free_ports(self):
        taken = [self.take_port() for _ in range(2)]
        for process, _ in taken:
            self.free_port(process)
        return [port for _, port in taken]

    def refuses(self, port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) != 0

    def test_a_port_in_use_affects_only_tcp_and_is_bound_when_free(self):
        other, port = self.take_port()
        daemon = self.daemon(config(port), tcp=None)
        reason = f"Cannot listen on 127.0.0.1:{port}: Address already in use"
        self.assertEqual(daemon.perfctl("run", "--job", "alone", "--", "true").returncode, 0)
        self.assertEqual(daemon.get("/api/v1/jobs/alone").json["state"], "finished")
        self.assertEqual(daemon.log().count(reason), 1, "one message, not one for each attempt")

        self.assertRegex(daemon.get("/-/healthy").text, rf"\Aok\nhttp: {reason}")
        self.assertIn(reason, daemon.get("/api/v1/node").json["http"]["error"])
        status = daemon.perfctl("status")
        self.assertEqual((status.returncode, "not healthy" in status.stdout), (1, True), status.stdout)
        self.assertRegex(status.stdout, f"(?m)^  http port +{reason}")
        check = {check["check"]: check for check in json.loads(daemon.perfctl("doctor", "--json").stdout)}["http-port"]
        self.assertEqual(check["state"], "failed")
        self.assertIn(reason, check["detail"])
        self.assertIn("listen= in [http]", check["fix"])

        self.free_port(other)
        daemon.wait_log(f"Serving http://127.0.0.1:{port}.")
        self.assertEqual(harness.http_get(port, "/-/healthy").text, "ok\n")
        self.assertEqual(daemon.perfctl("status").returncode, 0)

    def test_a_reload_moves_the_port_and_answers_who_is_connected(self):
        first, second = self.two_free_ports()
        daemon = self.daemon(config(first), tcp=None, notify=True)
        connection = http.client.HTTPConnection("127.0.0.1", first, timeout=harness.TIMEOUT_S)
        self.addCleanup(connection.close)
        connection.request("GET", "/-/healthy")
        connection.getresponse().read()

        daemon.configure(config(second))
        daemon.reload()
        self.assertEqual(harness.http_get(second, "/-/healthy").status, 200)
        self.assertTrue(self.refuses(first))
        # The store's threads answer this request, on a connection of the former port, which is closed then.
        connection.request("GET", "/api/v1/jobs")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.getheader("Connection")), (200, "close"))
        answer.read()

        daemon.configure(config(0))
        daemon.reload()
        self.assertTrue(self.refuses(second))
        self.assertEqual(daemon.get("/api/v1/node").json["http"], {"listen": "off", "address": None, "error": None})
        self.assertEqual(daemon.stop(), 0)

    def test_another_address_with_the_same_port_and_a_port_that_was_left_can_be_had(self):
        port = self.two_free_ports()[0]
        daemon = self.daemon(config(port), tcp=None, notify=True)
        for address in ("0.0.0.0", "127.0.0.1") * 3:
            with self.subTest(address):
                daemon.configure(config(port).replace("127.0.0.1", address))
                daemon.reload()
                self.assertEqual(daemon.get("/api/v1/node").json["http"]["address"], f"{address}:{port}")
                self.assertEqual(harness.http_get(port, "/-/healthy").status, 200)
        once = self.daemon(config(0), tcp=None)
        expected = n_threads(once) + 1
        wait_for(lambda: n_threads(daemon) == expected, "the end of the threads of former ports")

        daemon.configure(config(0))
        daemon.reload()
        wait_for(lambda: n_threads(daemon) == expected - 1, "the end of the last one")
        self.take_port(port)


if __name__ == "__main__":
    unittest.main()
