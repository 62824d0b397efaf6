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
    def run_jobs(self, daemon, name, n, cpu_seconds=0.0, **more):
        """Begins and ends jobs without a cgroup, which report their CPU time at the end."""
        with daemon.client() as client:
            for i in range(n):
                self.assert_status(client.begin(f"{name}-{i}", **more), "OK")
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

    def test_the_values_of_a_label_have_totals(self):
        daemon = self.daemon(CONFIG + "totals_label = account\n", notify=True)
        daemon.wait_notified("READY=1")

        def series(value, label="account"):
            return f'perfd_label_jobs_cpu_seconds_total{{label="{label}",value="{value}"}}'

        self.run_jobs(daemon, "physics", 3, 0.5, labels={"account": "physics"})
        self.run_jobs(daemon, "none", 1, 2.0)
        metrics = daemon.wait_tick()
        self.assertEqual((metrics[series("physics")], metrics[series("")], metrics[CPU]), (1.5, 2, 3.5))
        daemon.kill()
        daemon.start()
        daemon.wait_notified("READY=1")
        self.assertEqual(daemon.wait_tick()[series("physics")], 1.5)
        daemon.configure(CONFIG + "totals_label = team\n")
        daemon.reload()
        self.run_jobs(daemon, "red", 1, 1.0, labels={"team": "red"})
        metrics = daemon.wait_tick()
        self.assertEqual(metrics[series("red", "team")], 1)
        self.assertNotIn(series("physics"), metrics)
        daemon.configure(CONFIG)
        daemon.reload()
        self.assertNotIn("perfd_label_jobs", daemon.get("/metrics").text)

    def test_the_database_has_the_totals_without_a_runtime_directory(self):
        daemon = self.daemon(CONFIG, inherit=True)
        self.assertFalse((daemon.directory / "account.users").exists())
        self.run_jobs(daemon, "job", 2, 1.0)
        daemon.restart()
        self.assertEqual(daemon.wait_tick()[CPU], 2)

    def test_another_boot_continues(self):
        machine = harness.Machine(self.temporary_directory())
        daemon = self.daemon(CONFIG, root=machine.directory)
        self.run_jobs(daemon, "old", 2, 1.0)
        self.assertEqual(daemon.wait_tick()[CPU], 2)
        daemon.stop()
        machine.reboot()
        (daemon.directory / "account.users").unlink()  # the directory is in memory
        daemon.start()
        self.run_jobs(daemon, "new", 1, 1.0)
        self.assertEqual(daemon.wait_tick()[CPU], 3)

    def test_the_number_of_users_is_limited(self):
        if os.getuid() != 0:
            self.skipTest("only root begins jobs for other users")
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            for uid in range(1000, 1110):
                self.assert_status(client.begin(f"of-{uid}", uid=uid), "OK")
                self.assert_status(client.end(f"of-{uid}", 0), "OK")
        metrics = wait_for(lambda: (m := daemon.metrics())['perfd_user_jobs_ended_total{uid="other"}'] == 10 and m, "the other users")
        self.assertEqual(sum(series.startswith("perfd_user_jobs_ended_total") for series in metrics), 101)

    def test_jobs_beyond_the_limit_are_not_exposed(self):
        daemon = self.daemon(CONFIG)
        self.run_jobs(daemon, "many", 200)
        metrics = daemon.wait_tick()
        shown = sum(series.startswith("perfd_job_info") for series in metrics)
        self.assertEqual(shown, 60)
        self.assertEqual(metrics["perfd_jobs_not_exposed"], 140)


if __name__ == "__main__":
    unittest.main()
