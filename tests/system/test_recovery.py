"""Checks recovery after a crash: acknowledged data, totals of running jobs, and the state of ended jobs."""

import collections
import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import threading
import time
import unittest
import uuid

import harness
from harness import wait_for

CONFIG = "[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 1s\n"


OTHER_UID = 65534


@contextlib.contextmanager
def submitting(uid, daemon):
    """A process of another user that submits results, one at a time."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setresuid(uid, uid, uid)
            with daemon.client() as client:
                while client.submit(harness.indicator("small"), ids=[uuid.uuid4().bytes]):
                    pass
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Recovery(harness.TestCase):
    def job(self, daemon, name):
        return daemon.get(f"/api/v1/jobs/{name}").json

    def job_metrics(self, daemon, name):
        """Returns {key: (value in MLflow's unit, quality)}."""
        return {m["key"]: m for m in self.job(daemon, name)["metrics"]}

    def wait_checkpoint(self, daemon):
        """Waits for the next commit, which is a checkpoint if no other rows are stored."""
        n = daemon.metrics()["perfd_store_commits_total"]
        wait_for(lambda: daemon.metrics()["perfd_store_commits_total"] > n + 1, "two checkpoints")

    def run_perfd(self, *words):
        """Starts a daemon that is expected to exit by itself."""
        return subprocess.run([harness.PERFD, "--config", "/dev/null", "--http", "off", *words], capture_output=True, text=True,
                              timeout=harness.TIMEOUT_S)

    def test_acknowledged_rows_survive_a_kill(self):
        daemon = self.daemon()
        ids = [uuid.uuid4().bytes for _ in range(100)]
        with daemon.client() as client:
            for i in ids:
                client.send(client.submit_request(harness.indicator(), ids=[i]))
            for _ in ids:
                self.assert_status(client.receive(), "OK")
            daemon.kill()
        daemon.start()
        with daemon.client() as client:
            for i in ids:
                self.assert_status(client.submit(harness.indicator(), ids=[i]), "DUPLICATE")
        self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"][0]["results"], len(ids))

    @unittest.skipIf(os.getuid() != 0, "only root can be two users")
    def test_a_large_submission_is_stored_completely_or_not_at_all(self):
        """While another user submits as well, a large submission is stored in several transactions."""
        daemon, documents = self.daemon(), [harness.indicator("large", rate=float(i)) for i in range(1000)]
        sent, acknowledged = [], 0
        daemon.directory.chmod(0o755)
        for delay_s in (0.3, 0.5, 0.7, 0.9):
            with submitting(OTHER_UID, daemon):
                threading.Timer(delay_s, daemon.process.kill).start()
                with contextlib.suppress(OSError), daemon.client() as client:
                    while True:
                        sent.append(uuid.uuid4().bytes[:8])
                        reply = client.submit(*documents, ids=[sent[-1] + i.to_bytes(8, "big") for i in range(1000)])
                        if reply is None:
                            break
                        self.assert_status(reply, "OK")
                        acknowledged += 1
                daemon.process.wait()
            daemon.start()
        self.assertEqual(daemon.stop(), 0)
        with contextlib.closing(sqlite3.connect(daemon.state / "perfd.db")) as database:
            found = collections.Counter(row[0][:8] for row in database.execute("SELECT id FROM result WHERE uid = 0"))
            counted, = database.execute("SELECT sum(n_results) FROM indicator WHERE uid = 0").fetchone()
        self.assertEqual(set(found.values()), {1000})
        self.assertEqual(counted, sum(found.values()))
        self.assertLessEqual(set(found), set(sent))
        self.assertGreaterEqual(len(found), acknowledged)

    def test_totals_are_exact_across_a_kill(self):
        machine = harness.Machine(self.temporary_directory())
        daemon = self.daemon(CONFIG, root=machine.directory)
        with daemon.client() as client:
            self.assert_status(client.begin("exact"), "OK")
        machine.update(user_ticks=1100, system_ticks=1050, idle_ticks=1500, sectors_read=3048, sent=5000)
        self.wait_checkpoint(daemon)
        daemon.kill()
        machine.update(user_ticks=1400, system_ticks=1060, idle_ticks=2500, sectors_read=5096, sent=9000)
        daemon.start()
        with daemon.client() as client:
            self.assertEqual(self.job(daemon, "exact")["state"], "running")
            machine.update(user_ticks=1523, system_ticks=1077, idle_ticks=3000, sectors_read=1000 + 2 * 4096, sent=1000 + (3 << 20))
            self.assert_status(client.end("exact", 0), "OK")
        job, metrics = self.job(daemon, "exact"), self.job_metrics(daemon, "exact")
        self.assertEqual(job["state"], "finished")
        self.assertIn("restarted", job["note"])
        for key, value in (("cpu_user_seconds", 5.23), ("cpu_system_seconds", 0.77), ("total_disk_io_read_mb", 4.0),
                           ("total_net_io_ext_sent_mb", 3.0), ("total_disk_io_write_mb", 0.0)):
            with self.subTest(key):
                self.assertAlmostEqual(metrics[key]["value"], value, 9)
                self.assertEqual(metrics[key]["quality"], "exact")

    def test_a_job_continues_across_a_clean_restart(self):
        daemon = self.daemon(CONFIG)
        labels = {f"key{n}": "v" * 256 for n in range(64)}
        with daemon.client() as client:
            self.assert_status(client.begin("steady", labels=labels, rank=3), "OK")
        begin = self.job(daemon, "steady")
        self.assertEqual(begin["labels"], labels)
        daemon.restart()
        again = self.job(daemon, "steady")
        for key in ("state", "begin_ms", "labels", "rank"):
            self.assertEqual(begin[key], again[key])
        with daemon.client() as client:
            self.assert_status(client.begin("steady"), "DUPLICATE")
            self.assert_status(client.end("steady", 0), "OK")
            self.assert_status(client.end("steady", 0), "DUPLICATE")

    def test_a_job_whose_process_ended_meanwhile_is_interrupted(self):
        daemon = self.daemon(CONFIG)
        process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with daemon.client() as client:
            self.assert_status(client.begin("abandoned", pid=process.pid), "OK")
        self.wait_checkpoint(daemon)
        daemon.kill()
        process.kill()
        process.wait()
        daemon.start()
        job = wait_for(lambda: (j := self.job(daemon, "abandoned"))["state"] != "running" and j, "the end of the job")
        self.assertEqual(job["state"], "interrupted")
        self.assertIn("while perfd was down", job["note"])
        with daemon.client() as client:
            self.assert_status(client.begin("abandoned"), "INVALID")

    def test_a_job_with_a_running_process_is_still_watched(self):
        daemon = self.daemon(CONFIG)
        process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with daemon.client() as client:
            self.assert_status(client.begin("watched", pid=process.pid), "OK")
        daemon.kill()
        daemon.start()
        self.assertEqual(self.job(daemon, "watched")["state"], "running")
        process.kill()
        process.wait()
        job = wait_for(lambda: (j := self.job(daemon, "watched"))["state"] != "running" and j, "the end of the job")
        self.assertEqual(job["state"], "interrupted")

    def test_jobs_of_another_boot_are_interrupted_at_their_last_checkpoint(self):
        machine = harness.Machine(self.temporary_directory())
        daemon = self.daemon(CONFIG, root=machine.directory)
        with daemon.client() as client:
            self.assert_status(client.begin("rebooted"), "OK")
        machine.update(user_ticks=1250)
        daemon.wait_tick()
        self.wait_checkpoint(daemon)
        daemon.kill()
        machine.reboot()
        machine.update(user_ticks=7)
        daemon.start()
        job = wait_for(lambda: (j := self.job(daemon, "rebooted"))["state"] == "interrupted" and j, "the end of the job")
        metrics = self.job_metrics(daemon, "rebooted")
        self.assertIn("rebooted", job["note"])
        self.assertAlmostEqual(metrics["cpu_user_seconds"]["value"], 2.5, 9)
        self.assertEqual(daemon.wait_tick()['perfd_node_cpu_seconds_total{mode="user"}'], 0.07)
        # The epilog of a batch system ends the job later.
        end = daemon.perfctl("job", "end", "--exit-status", "0", "rebooted")
        self.assertEqual((end.returncode, end.stderr), (0, ""))
        later = self.job(daemon, "rebooted")
        for key in ("state", "end_ms", "exit", "note", "metrics"):
            self.assertEqual(later[key], job[key], key)

    def test_a_job_that_began_just_before_a_reboot_has_an_unknown_duration(self):
        machine = harness.Machine(self.temporary_directory())
        daemon = self.daemon("[sampling]\ninterval = 10s\n", root=machine.directory)
        with daemon.client() as client:
            self.assert_status(client.begin("brief"), "OK")
        daemon.kill()
        machine.reboot()
        daemon.start()
        job = wait_for(lambda: (j := self.job(daemon, "brief"))["state"] == "interrupted" and j, "the end of the job")
        self.assertIsNone(job["end_ms"])
        self.assertNotIn("duration_seconds", self.job_metrics(daemon, "brief"))
        self.assertRegex(daemon.perfctl("report", "brief").stdout, r"time +unknown, since ")
        self.assertRegex(daemon.perfctl("job", "list").stdout, r"brief +interrupted +\S+ +\S+ +- ")
        self.assertNotIn('job="brief"', daemon.get("/metrics").text)
        with daemon.client() as client:
            request = client.request()
            request.job_end.job, request.job_end.exit_status, request.job_end.time_ms = "brief", 0, job["begin_ms"] + 1
            self.assert_status(client.call(request), "OK")
        job = self.job(daemon, "brief")
        self.assertEqual((job["state"], job["end_ms"] - job["begin_ms"]), ("finished", 1))
        self.assertEqual(self.job_metrics(daemon, "brief")["duration_seconds"]["value"], 0.001)

    def test_a_late_end_of_an_interrupted_job_makes_it_finished(self):
        daemon = self.daemon(CONFIG)
        process = subprocess.Popen(["sleep", "1000"])
        with daemon.client() as client:
            self.assert_status(client.begin("late", pid=process.pid), "OK")
            process.kill()
            process.wait()
            wait_for(lambda: self.job(daemon, "late")["state"] == "interrupted", "the interruption")
            self.assert_status(client.end("late", 137, signal_number=9), "OK")
        job = self.job(daemon, "late")
        self.assertEqual((job["state"], job["exit"]), ("finished", {"status": 137, "signal": 9}))

    def test_a_corrupt_database_is_put_aside(self):
        daemon = self.daemon()
        self.assertEqual(daemon.stop(), 0)
        for path in daemon.state.glob("perfd.db*"):
            path.unlink()
        (daemon.state / "perfd.db").write_bytes(b"no database at all, but long enough to be one\n" * 100)
        daemon.start()
        self.assertIn("perfd.db.damaged-", daemon.log())
        wait_for(lambda: len(list(daemon.state.glob("perfd.db.salvaged-*"))) == 1, "the old file to be kept")
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")

    def test_a_database_of_an_older_perfd_is_put_aside_and_named(self):
        daemon = self.daemon()
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")
        self.assertEqual(daemon.stop(), 0)
        with contextlib.closing(sqlite3.connect(daemon.state / "perfd.db")) as database:
            database.execute("PRAGMA user_version = 1")
        daemon.start()
        older, = daemon.state.glob("perfd.db.older-*Z")
        self.assertIn(f"has format 1 of an older perfd, which this perfd cannot read: moved to {older}", daemon.log())
        self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"], [])
        with contextlib.closing(sqlite3.connect(older)) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM result").fetchall(), [(1,)])
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")

    def test_a_database_of_a_newer_perfd_ends_perfd_for_good(self):
        daemon = self.daemon()
        self.assertEqual(daemon.stop(), 0)
        with contextlib.closing(sqlite3.connect(daemon.state / "perfd.db")) as database:
            database.execute("PRAGMA user_version = 99")
        ended = self.run_perfd("--socket", daemon.socket, "--state", daemon.state)
        self.assertEqual(ended.returncode, 6)
        self.assertIn("install the newer perfd again, or move the file away", ended.stderr)
        unit = (harness.ROOT / "systemd" / "perfd.service").read_text()
        self.assertRegex(unit, r"(?m)^RestartPreventExitStatus=.*\b6\b")

    def test_the_state_is_private_and_the_sockets_are_not(self):
        for mask in (0, 0o077):
            directory = self.temporary_directory() / "new"
            before = os.umask(mask)
            try:
                daemon = self.daemon(args=["--state", directory / "state", "--socket", directory / "run" / "perfd.sock"], wait=False)
            finally:
                os.umask(before)
            daemon.http_socket = directory / "run" / "http.sock"
            daemon.wait_ready()
            modes = {name: (directory / name).stat().st_mode & 0o777
                     for name in (".", "state", "state/perfd.db", "state/perfd.db-wal", "run", "run/perfd.sock", "run/http.sock")}
            self.assertEqual(list(modes.values()), [0o755, 0o700, 0o600, 0o600, 0o755, 0o666, 0o666], modes)

    def test_two_do_not_share_a_state_directory(self):
        daemon = self.daemon()
        second = self.run_perfd("--socket", daemon.directory / "other" / "perfd.sock", "--state", daemon.state)
        self.assertEqual(second.returncode, 1)
        self.assertIn(str(daemon.state), second.stderr)

    def test_two_do_not_share_a_socket(self):
        daemon = self.daemon()
        second = self.run_perfd("--socket", daemon.socket, "--state", daemon.directory / "other")
        self.assertEqual(second.returncode, 1)
        self.assertIn("another process listens on it", second.stderr)

    def test_a_stale_socket_after_a_crash_is_replaced(self):
        daemon = self.daemon()
        daemon.kill()
        self.assertTrue(daemon.socket.is_socket())
        daemon.start()
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")

    def test_a_clean_shutdown_answers_accepted_requests(self):
        """Sends pipelined requests and SIGTERM concurrently: each request is answered and stored, or was not accepted."""
        daemon = self.daemon()
        n = 500
        ids = [uuid.uuid4().bytes for _ in range(n)]
        with daemon.client() as client:
            client.send_bytes(b"".join(harness.frame(client.submit_request(harness.indicator(), ids=[i])) for i in ids))
            client.receive()
            daemon.signal(signal.SIGTERM)
            n_acknowledged = 1
            while (reply := client.receive()) is not None:
                self.assert_status(reply, "OK")
                n_acknowledged += 1
        self.assertEqual(daemon.wait_exit(), 0)
        daemon.start()
        with daemon.client() as client:
            for i in ids[:n_acknowledged]:
                self.assert_status(client.submit(harness.indicator(), ids=[i]), "DUPLICATE")

    def test_clients_wait_in_an_inherited_socket(self):
        """The socket outlives the daemon, as under systemd: the next daemon answers pending requests."""
        daemon = self.daemon(inherit=True)
        self.assertEqual(daemon.stop(), 0)
        with daemon.client() as client:
            client.send(client.submit_request(harness.indicator()))
            daemon.start()
            self.assert_status(client.receive(), "OK")
        self.assertTrue(pathlib.Path(daemon.socket).is_socket(), "an inherited socket is not perfd's to remove")

    def test_each_of_many_jobs_has_its_checkpoint(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            for n in range(200):
                self.assert_status(client.begin(f"many-{n}"), "OK")
        with contextlib.closing(sqlite3.connect(f"file:{daemon.state}/perfd.db?mode=ro", uri=True)) as database:
            def oldest():
                return database.execute("SELECT min(checkpoint_ms), count(*) FROM running").fetchone()

            for _ in range(2):
                now_ms = time.time() * 1000
                wait_for(lambda: oldest() > (now_ms, 0), "a checkpoint of every job")
            self.assertEqual(oldest()[1], 200)

            # The last checkpoint at shutdown is not delayed.
            now_ms = daemon.wait_tick()["perfd_last_sample_timestamp_seconds"] * 1000
            daemon.stop()
            self.assertGreaterEqual(oldest()[0], int(now_ms))
        daemon.start()
        self.assertEqual(len(daemon.get("/api/v1/jobs?state=running&limit=1000").json["jobs"]), 200)


if __name__ == "__main__":
    unittest.main()
