"""Checks marks: phases with numbers of their own, which are on disk when the mark is acknowledged."""

import subprocess
import time
import unittest

import harness
from harness import wait_for

CONFIG = "[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 1s\n"


class Phases(harness.TestCase):
    def mark(self, client, name, job="job", seconds=None):
        request = client.request()
        request.mark.job, request.mark.name = job, name
        if seconds is not None:
            request.mark.seconds = seconds
        return client.call(request)

    def job(self, daemon, job="job"):
        return daemon.get(f"/api/v1/jobs/{job}").json

    def phases(self, daemon, job="job"):
        return [(p["index"], p["name"]) for p in self.job(daemon, job)["phases"]]

    def test_a_job_without_marks_has_no_phases(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            client.begin("job")
            client.end("job", 0)
        self.assertEqual(self.job(daemon)["phases"], [])

    def test_phases_follow_one_another_without_a_gap(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            client.begin("job")
            reply = self.mark(client, "load")
            self.assert_status(reply, "OK")
            self.assertEqual((reply.mark.job, reply.mark.previous), ("job", ""))
            daemon.wait_tick()
            self.assertEqual(self.mark(client, "train").mark.previous, "load")
            daemon.wait_tick()
            self.assertEqual(self.phases(daemon), [(0, ""), (1, "load"), (2, "train")])
            self.assertIsNone(self.job(daemon)["phases"][-1]["end_ms"])
            client.end("job", 0)

        job = self.job(daemon)
        phases = job["phases"]
        self.assertEqual([(p["index"], p["name"]) for p in phases], [(0, ""), (1, "load"), (2, "train")])
        self.assertEqual(phases[0]["begin_ms"], job["begin_ms"])
        self.assertEqual(phases[-1]["end_ms"], job["end_ms"])
        for before, after in zip(phases, phases[1:]):
            self.assertEqual(before["end_ms"], after["begin_ms"])

    def test_totals_of_the_phases_are_the_jobs(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            client.begin("job")
            for name in ("a", "b", "c"):
                self.mark(client, name)
                daemon.wait_tick()
            client.end("job", 0)

        job = self.job(daemon)
        whole = {m["key"]: m["value"] for m in job["metrics"]}
        parts = [{m["key"]: m["value"] for m in p["metrics"]} for p in job["phases"]]
        for key in ("duration_seconds", "cpu_user_seconds", "node_cpu_hours", "context_switches"):
            self.assertAlmostEqual(sum(part[key] for part in parts), whole[key], delta=1e-6 * max(1, whole[key]), msg=key)
        peak = "max_t_mem_percent"
        self.assertAlmostEqual(max(part[peak] for part in parts), whole[peak], places=9)

    def test_a_mark_takes_a_sample_immediately(self):
        daemon = self.daemon("[sampling]\ninterval = 60s\n")
        with daemon.client() as client:
            client.begin("job")
            for name in ("busy", "rest"):
                self.assert_status(self.mark(client, name), "OK")
                end = time.process_time() + (0.3 if name == "busy" else 0)
                while time.process_time() < end:
                    pass
        busy = {m["key"]: m["value"] for m in self.job(daemon)["phases"][1]["metrics"] if m["scope"] == "node"}
        # The node's counters have a resolution of one tick for each mode.
        self.assertGreater(busy["cpu_user_seconds"] + busy["cpu_system_seconds"], 0.25)

    def test_the_seconds_of_the_client_are_stored(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            client.begin("job")
            self.mark(client, "timed")
            self.mark(client, "", seconds=1.25)
            client.end("job", 0)
        self.assertEqual([p["seconds"] for p in self.job(daemon)["phases"]][1], 1.25)

    def test_phases_survive_a_kill(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            client.begin("job")
            self.mark(client, "before")
            self.mark(client, "over the kill")
        daemon.kill()
        daemon.start()
        with daemon.client() as client:
            self.assertEqual(self.mark(client, "after").mark.previous, "over the kill")
            client.end("job", 0)
        self.assertEqual(self.phases(daemon), [(0, ""), (1, "before"), (2, "over the kill"), (3, "after")])
        begins = [p["begin_ms"] for p in self.job(daemon)["phases"]]
        self.assertEqual(begins, sorted(begins))

    def test_a_job_that_is_interrupted_ends_its_phase(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
            client.begin("job", pid=process.pid)
            self.mark(client, "last words")
            process.stdin.close()
            process.wait()
        wait_for(lambda: self.job(daemon)["state"] == "interrupted", "the job to be interrupted")
        self.assertEqual(self.phases(daemon), [(0, ""), (1, "last words")])
        self.assertIsNotNone(self.job(daemon)["phases"][-1]["end_ms"])

    def test_invalid_marks_are_answered(self):
        daemon = self.daemon(CONFIG + "[limits]\nphases = 3\n")
        with daemon.client() as client:
            self.assert_status(self.mark(client, "x", job="nobody"), "NOT_FOUND")
            self.assert_status(self.mark(client, "x", job=""), "NOT_FOUND")
            client.begin("job")
            for name in ("new\nline", "x" * 65):
                reply = self.mark(client, name)
                self.assert_status(reply, "INVALID")
                self.assertEqual(reply.path, "mark.name")
            self.assert_status(self.mark(client, "a"), "OK")
            self.assert_status(self.mark(client, "b"), "OK")
            reply = self.mark(client, "c")
            self.assert_status(reply, "QUOTA")
            self.assertIn("[limits] phases", reply.message)
            client.end("job", 0)
            self.assert_status(self.mark(client, "late"), "NOT_FOUND")


if __name__ == "__main__":
    unittest.main()
