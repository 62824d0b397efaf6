"""Checks that perfd answers or closes misbehaving clients, stays within its limits, and continues."""

import contextlib
import os
import pathlib
import random
import resource
import socket
import sqlite3
import subprocess
import threading
import time
import unittest

import harness
from harness import wait_for, wire

SMALL = """
[sampling]
interval = 100ms
[limits]
frame_size = 8K
string_size = 1K
connections = 12
in_flight = 4
jobs = 4
"""
NOBODY = 65534


class Limits(harness.TestCase):
    def assert_well(self, daemon):
        """Checks that perfd still accepts valid requests."""
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")

    def cpu_s(self, daemon):
        """Returns the CPU time of all threads of perfd."""
        fields = pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_without_descriptors_perfd_waits_and_reports_it(self):
        daemon = self.daemon()
        pid = daemon.process.pid
        n_max = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")), n_max[1]))
        waiting = [daemon.client() for _ in range(8)]
        asking = socket.socket(socket.AF_UNIX)
        self.addCleanup(asking.close)
        asking.settimeout(harness.TIMEOUT_S)
        asking.connect(str(daemon.http_socket))
        asking.sendall(b"GET /-/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        daemon.wait_log("No file descriptors left")
        before_s, begin_s = self.cpu_s(daemon), time.monotonic()
        wait_for(lambda: time.monotonic() > begin_s + 2, "two seconds")
        self.assertLess((self.cpu_s(daemon) - before_s) / (time.monotonic() - begin_s), 0.15)
        for client in waiting:
            client.close()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, n_max)
        self.assertTrue(asking.recv(100).startswith(b"HTTP/1.1 200"))

    @unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
    def test_connections_of_one_user_have_a_share(self):
        daemon = self.daemon(SMALL)
        for path in (daemon.directory, daemon.socket):
            path.chmod(0o777)
        os.seteuid(NOBODY)  # the kernel records the credentials at connect()
        try:
            clients = [daemon.client() for _ in range(6)]
            one_more = daemon.client()
        finally:
            os.seteuid(0)
        try:
            for client in clients:
                self.assert_status(client.hello(), "OK")
            reply = one_more.receive()
            self.assert_status(reply, "QUOTA")
            self.assertIn(f"uid {NOBODY} holds 6 connections", reply.message)
            self.assertIn("[limits] connections = 12", reply.message)
            self.assertIsNone(one_more.receive())
            self.assertGreaterEqual(daemon.wait_tick()["perfd_connections_refused_total"], 1)
            self.assert_well(daemon)  # root is another user
        finally:
            for client in [*clients, one_more]:
                client.close()
        wait_for(lambda: daemon.wait_tick()["perfd_connections_open"] == 0, "the end of the connections")

    @unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
    def test_unfinished_requests_hold_a_share_of_memory_and_others_go_on(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n[limits]\ninput_size = 4M\n")
        for path in (daemon.directory, daemon.socket):
            path.chmod(0o777)
        os.seteuid(NOBODY)
        try:
            clients = [daemon.client() for _ in range(100)]
        finally:
            os.seteuid(0)
        request = clients[0].submit_request(harness.indicator(notes=["x" * 60000] * 16))
        whole = harness.frame(request)
        for client in clients:
            client.send_bytes(whole[:5000])
        wait_for(lambda: daemon.metrics()['perfd_quota_refused_total{resource="input_size"}'] > 0, "a request that waits")
        self.assertLess(daemon.metrics()['perfd_quota_held{resource="input_size"}'], 2 << 20)
        self.assert_well(daemon)
        # Waiting requests are accepted after others are complete.
        for client in clients:
            client.socket.settimeout(harness.TIMEOUT_S)
        senders = [threading.Thread(target=client.send_bytes, args=(whole[5000:],)) for client in clients[:20]]
        for sender in senders:
            sender.start()
        for client in clients[20:]:
            client.close()
        for client in clients[:20]:
            reply = client.receive()
            self.assertIn(wire.Status.Name(reply.status), ("OK", "DUPLICATE"), reply.message)
        for sender in senders:
            sender.join()
        for client in clients[:20]:
            client.close()
        wait_for(lambda: daemon.metrics()['perfd_quota_held{resource="input_size"}'] == 0, "the end of the input")

    def test_a_frame_above_the_limit_is_answered_and_the_connection_closed(self):
        daemon = self.daemon(SMALL)
        with daemon.client() as client:
            client.send_bytes(harness.varint(8193))
            self.assert_status(client.receive(), "TOO_LARGE")
            self.assertIsNone(client.receive())
        self.assert_well(daemon)

    def test_a_frame_of_the_maximum_size_is_accepted(self):
        daemon = self.daemon(SMALL)
        with daemon.client() as client:
            notes = ["x" * 1010] * 7 + [""]
            request = client.submit_request(harness.indicator(notes=notes))
            notes[-1] = "x" * (8192 - len(request.SerializeToString()))
            request.submit.indicators[0].document = harness.to_json(harness.indicator(notes=notes))
            self.assertEqual(len(request.SerializeToString()), 8192)
            self.assert_status(client.call(request), "OK")

    def test_a_string_above_the_limit_is_named(self):
        daemon = self.daemon(SMALL)
        with daemon.client() as client:
            reply = client.submit(harness.indicator(), harness.indicator(notes={"long": "x" * 1025}))
            self.assert_status(reply, "INVALID")
            self.assertIn("submit.indicators[1]", reply.path)
            self.assertIn("notes.long", reply.path)
            self.assertIn("1024", reply.message)
        self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"], [], "all or nothing")

    def test_invalid_bytes_close_the_connection(self):
        daemon = self.daemon(SMALL)
        generator = random.Random(1)
        for data in (b"\xff" * 16, b"GET / HTTP/1.1\r\nHost: perfd\r\n\r\n", b"\x03\xff\xff\xff", b"\x00",
                     *(generator.randbytes(200) for _ in range(50))):
            with self.subTest(data[:8]), daemon.client() as client:
                try:
                    client.send_bytes(data)
                    client.socket.shutdown(socket.SHUT_WR)
                    while (reply := client.receive()) is not None:
                        self.assertNotEqual(reply.status, wire.OK)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # already closed, which is acceptable
        self.assert_well(daemon)

    def test_an_incomplete_frame_changes_nothing(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        whole = harness.frame(wire.Request(sequence=1, hello=wire.Hello(client="x" * 100)))
        for n in range(0, len(whole), 7):
            with daemon.client() as client:
                client.send_bytes(whole[:n])
        self.assert_well(daemon)
        wait_for(lambda: daemon.wait_tick()["perfd_connections_open"] == 0, "the end of the connections")

    def test_a_frame_may_come_byte_by_byte(self):
        daemon = self.daemon(SMALL)
        with daemon.client() as client:
            for byte in harness.frame(client.submit_request(harness.indicator())):
                client.send_bytes(bytes([byte]))
            self.assert_status(client.receive(), "OK")

    def test_requests_of_a_client_that_does_not_read_are_not_read(self):
        """A client that does not read replies: perfd stops reading, the kernel's buffers fill, and perfd's memory does not grow."""
        daemon = self.daemon(SMALL)
        with daemon.client() as client:
            self.assert_status(client.hello(), "OK")
            before = daemon.resident_bytes()
            client.socket.setblocking(False)
            data = harness.frame(wire.Request(sequence=1, hello=wire.Hello(client="x" * 1000))) * 64
            n_sent, is_full = 0, False
            while not is_full and n_sent < 64 << 20:
                try:
                    n_sent += client.socket.send(data[n_sent % (len(data) // 64):])
                except BlockingIOError:
                    # The buffers are full twice, with time for perfd in between: perfd has stopped reading.
                    n_pending = n_sent
                    daemon.wait_tick()
                    try:
                        n_sent += client.socket.send(data[n_sent % (len(data) // 64):])
                    except BlockingIOError:
                        is_full = True
                    self.assertLess(n_sent - n_pending, 8 << 20)
            self.assertTrue(is_full, f"{n_sent} bytes were taken without anybody reading the replies")
            if not harness.IS_SANITIZED:  # a sanitizer keeps freed memory
                self.assertLess(daemon.resident_bytes() - before, 4 << 20)
        self.assert_well(daemon)

    def test_all_descriptors_that_may_be_had_are_used(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, limits[1]))
        daemon = self.daemon()
        self.assertEqual(resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE), (limits[1], limits[1]))
        self.assertEqual(daemon.metrics()["process_max_fds"], limits[1])

    def test_without_descriptors_left_running_jobs_go_on(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 1s\n")
        log = daemon.state / "perfd.db-wal"
        with daemon.client() as client:
            self.assert_status(client.begin("job", pid=os.getpid()), "OK")
            open_files = {int(name) for name in os.listdir(f"/proc/{daemon.process.pid}/fd")}
            limits = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
            lowest_free = min(set(range(len(open_files) + 1)) - open_files)
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
            self.assert_status(client.begin("another", pid=os.getpid()), "UNAVAILABLE")
            for _ in range(2):
                before = log.stat().st_mtime_ns
                wait_for(lambda: log.stat().st_mtime_ns != before, "a checkpoint")
            self.assert_status(client.end("job", exit_status=0), "OK")
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, limits)
            self.assertEqual(daemon.get("/api/v1/jobs/job").json["state"], "finished")
            self.assert_status(client.begin("another", pid=os.getpid()), "OK")

    def test_a_thread_can_represent_a_job(self):
        """A thread has no pidfd of its own: perfd accepts the job and continues."""
        daemon = self.daemon("[jobs]\ncheckpoint_interval = 1s\n")
        started, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: (started.set(), done.wait()))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(done.set)
        started.wait()
        with daemon.client() as client:
            self.assert_status(client.begin("thread", pid=thread.native_id), "OK")
            self.assert_status(client.submit(harness.indicator()), "OK")
        daemon.restart()
        self.assertEqual(daemon.get("/api/v1/jobs/thread").json["state"], "running")
        done.set()
        wait_for(lambda: daemon.get("/api/v1/jobs/thread").json["state"] == "interrupted", "the end of the thread")

    def test_a_full_queue_is_waited_for_at_rest(self):
        """Another process locks the database: requests wait in the socket, and perfd's event loop sleeps."""
        daemon = self.daemon("[sampling]\ninterval = 100ms\n[store]\nqueue_rows = 16\n")
        loop = pathlib.Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/schedstat")
        with daemon.client() as client, contextlib.closing(sqlite3.connect(daemon.state / "perfd.db", isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            for _ in range(64):
                client.send(client.submit_request(harness.indicator()))
            wait_for(lambda: daemon.metrics()["perfd_store_queue_rows"] == 16, "a full queue")
            begin_ns, begin_cpu_ns = time.monotonic_ns(), int(loop.read_text().split()[0])
            for _ in range(5):
                daemon.wait_tick()
            cpu_ns, elapsed_ns = int(loop.read_text().split()[0]) - begin_cpu_ns, time.monotonic_ns() - begin_ns
            database.execute("ROLLBACK")
            self.assertLess(cpu_ns, elapsed_ns / 4)
            for _ in range(64):
                self.assert_status(client.receive(), "OK")

    @staticmethod
    def make(client, kind, **fields):
        request = client.request()
        for name, value in fields.items():
            setattr(getattr(request, kind), name, value)
        return request

    def test_jobs_that_end_between_two_samples_are_not_piled_up(self):
        daemon = self.daemon("[sampling]\ninterval = 60s\n")
        with daemon.client() as client:
            def all_at_once(requests):
                for request in requests:
                    client.send(request)
                for _ in range(50):
                    self.assert_status(client.receive(), "OK")

            for first in range(0, 8000, 50):
                ids = [f"job-{i}" for i in range(first, first + 50)]
                all_at_once(self.make(client, "job_begin", job=job, command="x" * 1000) for job in ids)
                all_at_once(self.make(client, "job_end", job=job, exit_status=0) for job in ids)
                if first == 2000:
                    before = daemon.resident_bytes()
            if not harness.IS_SANITIZED:  # a sanitizer keeps freed memory
                self.assertLess(daemon.resident_bytes() - before, 4 << 20)

    def test_many_requests_in_flight_are_answered_in_order(self):
        daemon = self.daemon(SMALL)
        with daemon.client() as client:
            n = 200
            client.send_bytes(b"".join(harness.frame(client.submit_request(harness.indicator())) for _ in range(n)))
            for sequence in range(1, n + 1):
                reply = client.receive()
                self.assert_status(reply, "OK")
                self.assertEqual(reply.sequence, sequence)

    def test_a_small_queue_makes_clients_wait_and_refuses_nobody(self):
        daemon = self.daemon("[store]\nqueue_rows = 16\nqueue_size = 2M\n")
        clients = [daemon.client() for _ in range(8)]
        try:
            for client in clients:
                client.send_bytes(b"".join(harness.frame(client.submit_request(harness.indicator())) for _ in range(100)))
            for client in clients:
                for _ in range(100):
                    self.assert_status(client.receive(), "OK")
        finally:
            for client in clients:
                client.close()
        self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"][0]["results"], 800)

    def test_an_invalid_indicator_is_named_and_nothing_is_stored(self):
        daemon = self.daemon()
        good = harness.indicator()
        with daemon.client() as client:
            for document, path in (({}, "@parameters"), ({**good, "@result": {}}, "@result"), ({**good, "name": "a b"}, "name"),
                                   ({**good, "@result": {"n": 2}}, "@result.n"), ({**good, "overall_score": "high"}, "overall_score"),
                                   ({**good, "@result": {"rate": float("nan")}}, "@result.rate")):
                with self.subTest(path):
                    reply = client.submit(good, document)
                    self.assert_status(reply, "INVALID")
                    self.assertEqual(reply.path, f"submit.indicators[1].{path}")
                    self.assertTrue(reply.message)
            self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"], [])
            short = client.submit_request(good, ids=[b"short"])
            self.assert_status(client.call(short), "INVALID")

    def test_a_request_of_the_future_is_unsupported(self):
        daemon = self.daemon()
        with daemon.client() as client:
            # Field 1000 of a request: a message with a string.
            client.send_bytes(harness.frame(b"\x08\x07" + b"\xc2\x3e\x03\x0a\x01x"))
            reply = client.receive()
            self.assert_status(reply, "UNSUPPORTED")
            self.assertEqual(reply.sequence, 7)
            self.assert_status(client.submit(harness.indicator()), "OK")

    def test_unknown_fields_of_a_known_request_are_skipped(self):
        daemon = self.daemon()
        with daemon.client() as client:
            body = client.submit_request(harness.indicator()).SerializeToString() + b"\xc0\x3e\x01"
            client.send_bytes(harness.frame(body))
            self.assert_status(client.receive(), "OK")

    def test_a_pid_must_be_there(self):
        daemon = self.daemon()
        process = subprocess.Popen(["true"])
        process.wait()
        with daemon.client() as client:
            self.assert_status(client.begin("gone", pid=process.pid), "INVALID")
            self.assert_status(client.begin("negative", pid=-1), "INVALID")


@unittest.skipUnless(os.geteuid() == 0, "needs root, to act as several users")
class OtherUsers(harness.TestCase):
    def client_of_nobody(self, daemon):
        """The kernel records the identity of a client at the time of the connection."""
        os.chmod(daemon.directory, 0o755)
        os.seteuid(NOBODY)
        try:
            return daemon.client()
        finally:
            os.seteuid(0)

    def test_a_user_cannot_touch_the_job_of_another(self):
        daemon = self.daemon()
        with daemon.client() as root, self.client_of_nobody(daemon) as nobody:
            self.assert_status(root.begin("roots"), "OK")
            self.assert_status(nobody.end("roots", 0), "DENIED")
            self.assert_status(nobody.begin("roots"), "DENIED")
            self.assert_status(nobody.submit(harness.indicator(), job="roots"), "DENIED")
            self.assert_status(nobody.begin("others", pid=os.getpid()), "DENIED")
            self.assert_status(nobody.begin("others"), "OK")
            self.assert_status(root.end("roots", 0), "OK")
            # Root may end the jobs of all users.
            self.assert_status(root.end("others", 0), "OK")

    def test_identities_come_from_the_kernel(self):
        daemon = self.daemon()
        with self.client_of_nobody(daemon) as nobody:
            self.assert_status(nobody.begin("boast", user="root"), "OK")
        self.assertEqual(daemon.get("/api/v1/jobs/boast").json["uid"], NOBODY)

    def test_jobs_of_one_user_have_a_limit_also_after_a_restart(self):
        daemon = self.daemon(SMALL)
        process = subprocess.Popen(["sleep", "infinity"], user=NOBODY)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with self.client_of_nobody(daemon) as nobody, daemon.client() as root:
            for job in "ab":
                self.assert_status(nobody.begin(job, pid=process.pid), "OK")
            reply = nobody.begin("c", pid=process.pid)
            self.assert_status(reply, "QUOTA")
            self.assertIn(f"uid {NOBODY} holds 2 running jobs", reply.message)
            self.assertIn("[limits] jobs = 4", reply.message)
            for i in range(4):
                self.assert_status(root.begin(f"root-{i}", uid=1001), "OK")
        daemon.restart()
        self.assertEqual(daemon.metrics()["perfd_jobs_running"], 6)
        with self.client_of_nobody(daemon) as nobody, daemon.client() as root:
            reply = nobody.begin("c", pid=process.pid)
            self.assert_status(reply, "QUOTA")
            self.assertIn("running jobs, of which those whose process or cgroup perfd does not watch count twice", reply.message)
            self.assert_status(root.begin("another", uid=1001), "OK")
            self.assert_status(nobody.end("a", 0), "OK")

    def test_a_mode_can_keep_others_out(self):
        daemon = self.daemon("[socket]\nmode = 0600\n")
        with self.assertRaises(PermissionError):
            self.client_of_nobody(daemon)


if __name__ == "__main__":
    unittest.main()
