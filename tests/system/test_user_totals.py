"""Checks the totals of users' ended jobs on /metrics, and the number of jobs that are left out."""

import os
import time
import unittest

import harness
from harness import wait_for

CONFIG = "[sampling]\ninterval = 100ms\n[metrics]\njobs = 60\n"
CPU = f'perfd_user_jobs_cpu_seconds_total{{uid="{os.getuid()}"}}'
ENDED = f'perfd_user_jobs_ended_total{{uid="{os.getuid()}"}}'


class UserTotals(harness.TestCase):
    def run_jobs(self, daemon, name, n, cpu_seconds=0.0):
        """Begins and ends jobs without a cgroup, which report their CPU time at the end."""
        with daemon.client() as client:
            for i in range(n):
                self.assert_status(client.begin(f"{name}-{i}"), "OK")
                request = client.request()
                request.job_end.job, request.job_end.exit_status = f"{name}-{i}", 0
                request.job_end.rusage.utime = cpu_seconds
                self.assert_status(client.call(request), "OK")

    def test_jobs_between_two_scrapes_are_counted_over_a_kill(self):
        daemon = self.daemon(CONFIG)
        self.run_jobs(daemon, "first", 1, 0.25)
        before = daemon.wait_tick()
        self.run_jobs(daemon, "short", 100, 0.2274)
        after = daemon.wait_tick()
        self.assertAlmostEqual(after[CPU] - before[CPU], 22.74, delta=0.2274)
        self.assertEqual(after[ENDED] - before[ENDED], 100)
        daemon.kill()
        daemon.start()
        again = daemon.wait_tick()
        for series in (CPU, ENDED):
            self.assertEqual(again[series], after[series])
        self.run_jobs(daemon, "later", 3, 1.0)
        self.assertAlmostEqual(daemon.wait_tick()[CPU] - after[CPU], 3, delta=0.03)

    def test_counters_have_the_time_of_their_begin_on_request(self):
        openmetrics = {"Accept": "application/openmetrics-text;version=1.0.0"}
        daemon = self.daemon(CONFIG)
        self.run_jobs(daemon, "plain", 1)
        daemon.wait_tick()
        self.assertNotIn("_created", daemon.get("/metrics", headers=openmetrics).text)
        begin = time.time()
        daemon = self.daemon(CONFIG + "created = yes\n")
        self.run_jobs(daemon, "dated", 1)
        daemon.wait_tick()
        text = daemon.get("/metrics", headers=openmetrics).text
        created = dict(line.rsplit(" ", 1) for line in text.splitlines() if "_created" in line)
        self.assertIn(CPU.replace("_total", "_created"), created)
        self.assertTrue(any(series.startswith("perfd_job_") for series in created), created)
        for series, seconds in created.items():
            if 'uid="other"' not in series:
                self.assertTrue(begin - 1 <= float(seconds) <= time.time(), series)
            self.assertIn(series.replace("_created", "_total") + " ", text)
        self.assertNotIn("_created", daemon.get("/metrics").text)
        harness.import_peer("prometheus_client.openmetrics.parser")
        import prometheus_client.openmetrics.parser
        families = prometheus_client.openmetrics.parser.text_string_to_metric_families(text)
        self.assertEqual(sum(s.name.endswith("_created") for f in families for s in f.samples), len(created))

    def test_another_boot_begins_at_zero(self):
        machine = harness.Machine(self.temporary_directory())
        daemon = self.daemon(CONFIG, root=machine.directory)
        self.run_jobs(daemon, "old", 2, 1.0)
        self.assertEqual(daemon.wait_tick()[CPU], 2)
        daemon.kill()
        machine.reboot()
        daemon.start()
        self.assertNotIn(CPU, daemon.metrics())

    def test_the_number_of_users_is_limited(self):
        if os.getuid() != 0:
            self.skipTest("only root begins jobs for other users")
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            for uid in range(1000, 1060):
                self.assert_status(client.begin(f"of-{uid}", uid=uid), "OK")
                self.assert_status(client.end(f"of-{uid}", 0), "OK")
        metrics = wait_for(lambda: (m := daemon.metrics())['perfd_user_jobs_ended_total{uid="other"}'] == 10 and m, "the other users")
        self.assertEqual(sum(series.startswith("perfd_user_jobs_ended_total") for series in metrics), 51)

    def test_jobs_beyond_the_limit_are_not_exposed(self):
        daemon = self.daemon(CONFIG)
        self.run_jobs(daemon, "many", 200)
        metrics = daemon.wait_tick()
        shown = sum(series.startswith("perfd_job_info") for series in metrics)
        self.assertEqual(shown, 60)
        self.assertEqual(metrics["perfd_jobs_not_exposed"], 140)


if __name__ == "__main__":
    unittest.main()
