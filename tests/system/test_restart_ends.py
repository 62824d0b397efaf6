"""Checks the numbers of jobs that end while perfd is down."""

import os
import subprocess
import time
import unittest

import harness
from harness import wait_for

CONFIG = "[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 10s\n"
BURN = "import time; end = time.time() + {seconds}\nwhile time.time() < end: pass\nprint(time.time())"


class RestartEnds(harness.TestCase):
    def job(self, daemon, name):
        return daemon.get(f"/api/v1/jobs/{name}").json

    def metrics(self, job):
        """Returns {key: (value, quality)} of both scopes."""
        return {m["key"]: (m.get("value"), m["quality"]) for m in job["metrics"]}

    def start_job(self, daemon, name, *options, seconds=2.0):
        """Starts a job that uses one CPU, and returns when perfd knows it."""
        self.spool = self.temporary_directory()
        command = [harness.PERFCTL, "run", "--quiet", "--job", name, *options, "--", "python3", "-c", BURN.format(seconds=seconds)]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "PERFD_SOCKET": str(daemon.socket), "PERFD_SPOOL": str(self.spool)})
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        wait_for(lambda: daemon.get(f"/api/v1/jobs/{name}").status == 200, "the job")
        return process

    def end_during_outage(self, end, *options):
        """Ends perfd, lets the job end, and starts perfd 2 s later. Returns the daemon, and the job's end and its rusage."""
        daemon = self.daemon(CONFIG)
        process = self.start_job(daemon, "away", *options)
        daemon.wait_tick()
        getattr(daemon, end)()
        output, messages = process.communicate(timeout=harness.TIMEOUT_S)
        self.assertIn("are kept in", messages)
        time.sleep(2)  # the outage that must not be counted
        daemon.start()
        return daemon, float(output)

    def check_unreported(self, daemon):
        """What perfd knows before it has the report: the job has ended, but not when."""
        job = wait_for(lambda: (j := self.job(daemon, "away"))["state"] == "interrupted" and j, "the interruption")
        self.assertIn("the job ended while perfd was down", job["note"])
        duration, quality = self.metrics(job)["duration_seconds"]
        self.assertEqual(quality, "sampled")
        self.assertLess(duration, 2.3)

    def check_reported(self, daemon, ended, has_usage=True):
        job = self.job(daemon, "away")
        metrics = self.metrics(job)
        self.assertEqual((job["state"], job["exit"]["status"]), ("finished", 0))
        self.assertNotIn("no end was reported", job["note"] or "")
        self.assertAlmostEqual(job["end_ms"] / 1000, ended, delta=0.2)
        duration, quality = metrics["duration_seconds"]
        self.assertEqual(quality, "exact")
        self.assertAlmostEqual(duration, (job["end_ms"] - job["begin_ms"]) / 1000, delta=0.002)
        if has_usage:
            rusage = job["rusage"]["ru_utime"] + job["rusage"]["ru_stime"]
            self.assertAlmostEqual(metrics["job_cpu_seconds"][0], rusage, delta=0.2)
            self.assertAlmostEqual(metrics["job_cpus_used"][0], metrics["job_cpu_seconds"][0] / duration, delta=0.01)
        for key in ("cpu_user_seconds", "node_cpu_hours"):
            self.assertEqual(metrics[key][1], "sampled", key)
        # the capacity is that of the time until the last sample, without the outage
        self.assertLess(metrics["node_cpu_hours"][0] * 3600 / os.cpu_count(), duration + 0.2)

    def check(self, end, *options):
        daemon, ended = self.end_during_outage(end, *options)
        self.check_unreported(daemon)
        flush = daemon.perfctl("flush", environment={"PERFD_SPOOL": str(self.spool)})
        self.assertEqual(flush.returncode, 0, flush.stderr)
        self.check_reported(daemon, ended)

    def test_a_kill(self):
        self.check("kill")

    def test_a_stop(self):
        self.check("stop")

    def test_a_process_tree(self):
        self.check("kill", "--isolation", "subreaper")

    def test_no_isolation(self):
        self.check("stop", "--isolation", "none")

    def test_a_report_that_waits_in_the_socket(self):
        """The end is read before perfd has closed the job."""
        daemon = self.daemon(CONFIG)
        process = subprocess.Popen(["sleep", "1000"])
        with daemon.client() as client:
            self.assert_status(client.begin("away", pid=process.pid), "OK")
        daemon.wait_tick()
        daemon.kill()
        process.kill()
        process.wait()
        ended = time.time()
        time.sleep(1)
        daemon.start()
        with daemon.client() as client:
            request = client.request()
            request.job_end.job, request.job_end.exit_status, request.job_end.time_ms = "away", 0, int(ended * 1000)
            self.assertIn(harness.wire.Status.Name(client.call(request).status), ("OK", "DUPLICATE"))
        self.check_reported(daemon, ended, has_usage=False)

    def test_the_time_of_an_observed_end_is_perfds(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            self.assert_status(client.begin("here"), "OK")
            request = client.request()
            request.job_end.job, request.job_end.time_ms = "here", 1
            self.assert_status(client.call(request), "OK")
        self.assertAlmostEqual(self.job(daemon, "here")["end_ms"] / 1000, time.time(), delta=5)

    def test_a_report_cannot_move_the_end_out_of_the_outage(self):
        for time_ms in (1, 2 ** 62):
            with self.subTest(time_ms=time_ms):
                daemon = self.daemon(CONFIG)
                process = subprocess.Popen(["sleep", "1000"])
                with daemon.client() as client:
                    self.assert_status(client.begin("away", pid=process.pid), "OK")
                last_s = daemon.wait_tick()["perfd_last_sample_timestamp_seconds"]
                daemon.kill()
                process.kill()
                process.wait()
                daemon.start()
                wait_for(lambda: self.job(daemon, "away")["state"] == "interrupted", "the interruption")
                with daemon.client() as client:
                    request = client.request()
                    request.job_end.job, request.job_end.time_ms = "away", time_ms
                    self.assert_status(client.call(request), "OK")
                end_s = self.job(daemon, "away")["end_ms"] / 1000
                self.assertGreaterEqual(end_s, last_s - 0.001)
                self.assertLessEqual(end_s, time.time() + 0.001)

    def test_a_late_report_removes_the_note_that_none_came(self):
        daemon = self.daemon(CONFIG)
        process = subprocess.Popen(["sleep", "1000"])
        with daemon.client() as client:
            self.assert_status(client.begin("late", pid=process.pid), "OK")
            process.kill()
            process.wait()
            job = wait_for(lambda: (j := self.job(daemon, "late"))["state"] == "interrupted" and j, "the interruption")
            self.assertIn("no end was reported", job["note"])
            self.assert_status(client.end("late", 137, signal_number=9), "OK")
        self.assertIsNone(self.job(daemon, "late")["note"] or None)


if __name__ == "__main__":
    unittest.main()
