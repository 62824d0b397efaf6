"""Checks jobs that begin while perfd is down: the messages, and the recorded numbers."""

import contextlib
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import harness
from harness import PERFCTL, wait_for
from test_job_groups import GroupTest

BUSY = ("import time; begin = time.process_time()\nwhile time.process_time() - begin < 0.3: pass\n"
        "print('ready', flush=True); input()")


class BegunLate(GroupTest):
    NUMBERS = itertools.count(1)

    def start(self, daemon, job):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PERFD_", "SLURM_", "PMI", "OMPI_"))}
        environment.update({"PERFD_SOCKET": str(daemon.socket), "PERFD_SPOOL": str(self.temporary_directory())})
        process = subprocess.Popen([str(PERFCTL), "run", "-v", "--job", job, "--", sys.executable, "-c", BUSY], text=True, env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def finish(self, process):
        _, err = process.communicate("\n", timeout=harness.TIMEOUT_S)
        self.assertEqual(process.returncode, 0, err)
        return err

    def run_late(self, daemon):
        """Runs a job that begins while perfd is down and ends while perfd is running again, within perfctl's timeout. Returns (job,
        time before its start, time after its start, output of perfctl)."""
        def tried():
            job = f"late-{next(self.NUMBERS)}"
            daemon.stop()
            before = time.time()
            process = self.start(daemon, job)
            after = time.time()
            daemon.start()
            err = self.finish(process)
            return "not recorded, perfd could not be reached" not in err and (job, before, after, err)
        return wait_for(tried, "a perfd that is in time", harness.TIMEOUT_S * 3)

    def test_a_perfd_started_before_the_end_knows_the_jobs_usage(self):
        daemon = self.daemon(self.CONFIG)
        name, before, after, err = self.run_late(daemon)
        self.assertIn(f"perfd is not running (no socket {daemon.socket}); "
                      "the job is recorded only if perfd can be reached before it ends", err)
        self.assertNotIn(f"job {name}: begun", err)
        self.assertIn(f"; details: perfctl report {name}\n", err)
        job = self.job(daemon, name)
        self.assertEqual((job["state"], job["exit"]["status"]), ("finished", 0))
        self.assertRegex(job["note"], r"^the start was reported [0-9]+\.[0-9] s late; metrics of the node cover the time since the report$")
        self.assertGreaterEqual(job["begin_ms"] / 1000, before - 0.1)
        self.assertLessEqual(job["begin_ms"] / 1000, after)
        self.assertGreaterEqual(self.metric(job, "job_cpu_seconds")["value"], 0.3)
        lasted = (job["end_ms"] - job["begin_ms"]) / 1000
        self.assertAlmostEqual(self.metric(job, "job_cpus_used")["value"], self.metric(job, "job_cpu_seconds")["value"] / lasted, delta=0.1)

    def test_a_perfd_that_is_back_sees_the_job_run(self):
        daemon = self.daemon(self.CONFIG)
        daemon.stop()
        process = self.start(daemon, "seen")
        daemon.start()
        wait_for(lambda: daemon.get("/api/v1/jobs/seen").status == 200, "the job")
        job = self.job(daemon, "seen")
        if job["isolation"] in ("scope", "cgroup"):  # otherwise, perfctl reads what the job used at its end
            job = wait_for(lambda: (j := self.job(daemon, "seen")) and self.metric(j, "job_cpu_seconds") and j, "what it used until now")
            self.assertGreaterEqual(self.metric(job, "job_cpu_seconds")["value"], 0.3)
            self.assertEqual(job["cgroup"], self.group_of(process))
        self.assertEqual((job["state"], process.poll()), ("running", None))
        err = self.finish(process)
        self.assertIn("; details: perfctl report seen\n", err)
        job = self.job(daemon, "seen")
        self.assertEqual((job["state"], job["exit"]["status"]), ("finished", 0))
        self.assertRegex(job["note"], "^the start was reported ")
        self.assertEqual(len(daemon.get("/api/v1/jobs").json["jobs"]), 1)

    def group_of(self, process):
        with open(f"/proc/{process.pid}/cgroup") as file:
            return next(line.split(":", 2)[2].rstrip("\n") for line in file if line.startswith("0::"))

    def test_a_constantly_writing_command_is_announced_as_well(self):
        daemon = self.daemon(self.CONFIG)
        daemon.stop()
        code = "import select\nn = 0\nwhile not select.select([0], [], [], 0.001)[0]:\n    print(n, flush=True); n += 1"
        with open(self.temporary_directory() / "output", "w+") as output:
            words = [str(PERFCTL), "run", "--job", "writes", "--collect", "yes", "--", sys.executable, "-c", code]
            environment = {**os.environ, "PERFD_SOCKET": str(daemon.socket), "PERFD_SPOOL": str(self.temporary_directory())}
            process = subprocess.Popen(words, text=True, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            daemon.start()
            wait_for(lambda: daemon.get("/api/v1/jobs/writes").status == 200, "the job")
            self.finish(process)
            output.seek(0)
            lines = output.read().splitlines()
        self.assertEqual(lines, [str(n) for n in range(len(lines))])
        self.assertEqual(self.job(daemon, "writes")["state"], "finished")

    def test_a_stopped_perfd_gets_the_begin_when_it_continues(self):
        daemon = self.daemon(self.CONFIG)
        daemon.signal(signal.SIGSTOP)
        try:
            process = self.start(daemon, "stopped")
        finally:
            daemon.signal(signal.SIGCONT)
        wait_for(lambda: daemon.get("/api/v1/jobs/stopped").status == 200, "the job")
        err = self.finish(process)
        self.assertIn("perfd does not respond; continuing without waiting", err)
        self.assertNotIn("job stopped: begun", err)
        job = self.job(daemon, "stopped")
        self.assertEqual((job["state"], job["note"]), ("finished", ""))

    def test_only_recorded_jobs_are_reported_as_recorded(self):
        daemon = self.daemon(self.CONFIG)
        daemon.stop()
        err = self.finish(self.start(daemon, "never"))
        self.assertIn("job never: not recorded, perfd could not be reached", err)
        self.assertNotIn("job never: begun", err)
        self.assertNotIn("details: perfctl report", err)

    def test_a_begin_is_not_earlier_than_its_process(self):
        daemon = self.daemon(self.CONFIG)
        before = time.time()
        process = subprocess.Popen(["sleep", "60"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with daemon.client() as client:
            for job, pid in (("with", process.pid), ("without", 0)):
                request = client.request()
                request.job_begin.job, request.job_begin.pid, request.job_begin.late_ms = job, pid, 10 ** 15
                self.assert_status(client.call(request), "OK")
        daemon.wait_tick()
        for job in ("with", "without"):
            self.assertGreaterEqual(self.job(daemon, job)["begin_ms"] / 1000, before - 0.1)


class Ends(GroupTest):
    def test_a_reported_end_is_applied_after_perfds_own(self):
        """The process ends, and its end is reported while perfd stores the job as interrupted."""
        daemon = self.daemon(self.CONFIG)
        process = subprocess.Popen(["sleep", "60"])
        with daemon.client() as client, contextlib.closing(sqlite3.connect(daemon.state / "perfd.db", isolation_level=None)) as database:
            self.assert_status(client.begin("gone", pid=process.pid), "OK")
            database.execute("BEGIN IMMEDIATE")
            process.kill()
            process.wait()
            wait_for(lambda: daemon.metrics()["perfd_store_queue_rows"] > 0, "its end on the way to the disk")
            request = client.request()
            request.job_end.job, request.job_end.exit_status = "gone", 7
            client.send(request)
            wait_for(lambda: daemon.metrics()["perfd_store_queue_rows"] > 1, "the end that was said")
            database.execute("ROLLBACK")
            self.assert_status(client.receive(), "OK")
        job = self.wait_state(daemon, "gone", "finished")
        self.assertEqual(job["exit"]["status"], 7)


if __name__ == "__main__":
    unittest.main()
