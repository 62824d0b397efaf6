"""Runs many valid and invalid clients concurrently: acknowledged data are stored once, and all clients get replies."""

import os
import subprocess
import threading
import unittest
import uuid

import harness
from harness import wait_for, wire

N_KILLED = 10_000


class Pipeline:
    """Writes and reads a connection concurrently with two threads, until the replies end."""

    def __init__(self, daemon, ids):
        self.client = daemon.client()
        self.ids = ids
        self.statuses = []
        self.threads = [threading.Thread(target=self.write), threading.Thread(target=self.read)]
        for thread in self.threads:
            thread.start()

    def write(self):
        data = b"".join(harness.frame(self.client.submit_request(harness.indicator("burst"), ids=[i])) for i in self.ids)
        try:
            self.client.send_bytes(data)
        except OSError:
            pass  # perfd has stopped, as some tests intend

    def read(self):
        while len(self.statuses) < len(self.ids) and (reply := self.client.receive()) is not None:
            self.statuses.append((reply.sequence, reply.status))

    def join(self):
        for thread in self.threads:
            thread.join(harness.TIMEOUT_S)
            assert not thread.is_alive(), "an answer is missing"
        self.client.close()
        return self.statuses


def new_ids(n):
    return [uuid.uuid4().bytes for _ in range(n)]


class Socket(harness.TestCase):
    def clients(self, daemon, n):
        clients = []
        for _ in range(n):
            clients.append(daemon.client())
            self.addCleanup(clients[-1].close)
        return clients

    def count_results(self, daemon):
        return sum(group["results"] for group in daemon.get("/api/v1/indicators").json["indicators"])

    def assert_well(self, daemon):
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")

    def test_five_hundred_clients_at_once(self):
        daemon = self.daemon()
        n_each = 20
        clients = self.clients(daemon, 500)
        for client in clients:
            client.send_bytes(b"".join(harness.frame(client.submit_request(harness.indicator())) for _ in range(n_each)))
        for client in clients:
            for sequence in range(1, n_each + 1):
                reply = client.receive()
                self.assert_status(reply, "OK")
                self.assertEqual(reply.sequence, sequence)
        self.assertEqual(self.count_results(daemon), len(clients) * n_each)
        for client in clients:
            client.close()
        wait_for(lambda: daemon.metrics()["perfd_connections_open"] == 0, "the end of the connections")

    def test_clients_that_send_single_bytes_do_not_affect_others(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        slow = self.clients(daemon, 50)
        frames = [harness.frame(client.submit_request(harness.indicator("slow"))) for client in slow]
        quick = self.clients(daemon, 1)[0]
        for at in range(max(map(len, frames))):
            for client, data in zip(slow, frames):
                client.send_bytes(data[at:at + 1])
            if at % 10 == 0:
                self.assert_status(quick.submit(harness.indicator("quick")), "OK")
        for client in slow:
            self.assert_status(client.receive(), "OK")
        self.assert_none_missed(daemon)

    def test_clients_that_never_read_do_not_affect_others(self):
        daemon = self.daemon()
        deaf = self.clients(daemon, 20)
        data = harness.frame(wire.Request(sequence=1, job_end=wire.JobEnd())) * 20_000
        for client in deaf:
            client.socket.setblocking(False)
            n_sent = 0
            while n_sent < len(data):
                try:
                    n_sent += client.socket.send(data[n_sent:])
                except BlockingIOError:
                    break
        for _ in range(20):
            self.assert_well(daemon)
        if not harness.IS_SANITIZED:
            self.assertLess(daemon.resident_bytes(), 24 << 20)
        for client in deaf:
            client.close()
        wait_for(lambda: daemon.metrics()["perfd_connections_open"] == 0, "the end of the connections")

    def test_an_idle_daemon_sleeps_whatever_clients_left_behind(self):
        """Idle connections with half a frame, unread replies or a completed hello do not keep the event loop busy."""
        daemon = self.daemon("[sampling]\ninterval = 10s\n")
        half, unread, idle = self.clients(daemon, 3)
        half.send_bytes(harness.frame(half.submit_request(harness.indicator()))[:-1])
        unread.socket.setblocking(False)
        try:
            while True:
                unread.send_bytes(harness.frame(wire.Request(sequence=1, job_end=wire.JobEnd())) * 1000)
        except BlockingIOError:
            pass
        self.assert_status(idle.hello(), "OK")

        def cpu_ticks():
            with open(f"/proc/{daemon.process.pid}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])

        # A spinning event loop would use a whole CPU, a hundred ticks in a second.
        before = cpu_ticks()
        end = os.times().elapsed + 1
        wait_for(lambda: os.times().elapsed > end, "a second")
        self.assertLess(cpu_ticks() - before, 20)

    def test_rows_acknowledged_before_a_kill_exist_exactly_once(self):
        daemon = self.daemon()
        ids = [new_ids(N_KILLED // 4) for _ in range(4)]
        pipelines = [Pipeline(daemon, own) for own in ids]
        wait_for(lambda: sum(len(p.statuses) for p in pipelines) > N_KILLED // 10, "the first thousand answers")
        daemon.kill()
        acknowledged = [p.join() for p in pipelines]
        for statuses in acknowledged:
            self.assertEqual(statuses, [(n + 1, wire.OK) for n in range(len(statuses))])
        daemon.start()
        self.assertGreaterEqual(self.count_results(daemon), sum(map(len, acknowledged)))
        for own, first in zip(ids, acknowledged):
            again = [status for _, status in Pipeline(daemon, own).join()]
            self.assertEqual(len(again), len(own))
            self.assertTrue(set(again[:len(first)]) <= {wire.DUPLICATE}, "something acknowledged was lost")
            self.assertTrue(set(again[len(first):]) <= {wire.DUPLICATE, wire.OK})
        self.assertEqual(self.count_results(daemon), N_KILLED)

    def test_a_store_at_its_size_limit_replaces_old_results(self):
        daemon = self.daemon("[store]\nmax_size = 16M\n")
        text = "x" * 60_000
        with daemon.client() as client:
            for n in range(400):
                self.assert_status(client.submit(harness.indicator("large", rate=float(n), log=text)), "OK")
        metrics = wait_for(lambda: (m := daemon.metrics())["perfd_store_rows_removed_total"] > 0 and m, "rows to be removed")
        self.assertLessEqual(metrics["perfd_store_size_bytes"], 16 << 20)
        self.assertLess(self.count_results(daemon), 400)
        newest = daemon.get("/api/v1/indicators/large/results?limit=1").json["results"][0]
        self.assertEqual(newest["document"]["@result"]["rate"], 399.0)

    def test_a_full_disk_refuses_results_only(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        daemon.stop()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", daemon.state],
                                               capture_output=True).returncode != 0:
            self.skipTest("needs root, to mount a file system")
        self.addCleanup(subprocess.run, ["umount", "-l", str(daemon.state)], check=True)
        daemon.start()
        filler = daemon.state / "filler"
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            reply = wait_for(lambda: (r := client.submit(harness.indicator(log="x" * 60_000))).status != wire.OK and r, "a full disk")
            self.assert_status(reply, "UNAVAILABLE")
            self.assertIn("full", reply.message)
            self.assertEqual(daemon.wait_tick()["perfd_store_writable"], 0)

            filler.unlink()
            wait_for(lambda: client.submit(harness.indicator()).status == wire.OK, "a store that goes on")
            self.assertEqual(daemon.wait_tick()["perfd_store_writable"], 1)


if __name__ == "__main__":
    unittest.main()
