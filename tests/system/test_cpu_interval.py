"""Checks readings of the CPUs between two samples, on a machine whose two CPUs are busy for half of each second."""

import threading
import time
import unittest

import harness

PERIOD_S = 1.0
N_PERIODS = 6


class Pulse(threading.Thread):
    """Writes the counters of a machine that is busy in the first half of each second, and keeps the share of time at 100 %."""

    def __init__(self, machine):
        super().__init__()
        self.machine, self.is_over = machine, threading.Event()
        self.busy = self.idle = 1000
        self.write()

    def write(self):
        lines = [f"{cpu} {self.busy:012d} 0 0 {self.idle:012d} 0 0 0 0 0 0" for cpu in ("cpu ", "cpu0", "cpu1")]
        self.machine.set("proc/stat", "\n".join(lines) + "\nintr 0\nctxt 1\nbtime 0\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n")

    def run(self):
        last = time.monotonic()
        while not self.is_over.is_set():
            time.sleep(0.005)
            while time.monotonic() - last >= 0.01:
                if last % PERIOD_S < PERIOD_S / 2:
                    self.busy += 1
                else:
                    self.idle += 1
                last += 0.01
            self.write()


class CpuInterval(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.pulse = Pulse(harness.Machine(self.directory))
        self.pulse.start()
        self.addCleanup(self.pulse.join)
        self.addCleanup(self.pulse.is_over.set)

    def test_halves_of_a_second_are_found(self):
        daemons = {interval: self.daemon(f"[sampling]\ninterval = 1s\ncpu_interval = {interval}\n", root=self.directory)
                   for interval in ("0", "50ms", "100ms")}
        for daemon in daemons.values():
            with daemon.client() as client:
                client.begin("job")
        first = {interval: daemon.metrics()["perfd_samples_total"] for interval, daemon in daemons.items()}
        for interval, daemon in daemons.items():
            harness.wait_for(lambda: daemon.metrics()["perfd_samples_total"] >= first[interval] + N_PERIODS, "samples")
        found = {}
        for interval, daemon in daemons.items():
            with daemon.client() as client:
                client.end("job", 0)
            job = daemon.get("/api/v1/jobs/job").json
            found[interval] = {m["key"]: m["value"] for m in job["metrics"]}
            self.assertEqual(job["on"]["cpu_interval_ms"], {"0": 1000, "50ms": 50, "100ms": 100}[interval])
            self.assertAlmostEqual(found[interval]["cpu_avg_utilization_pct"], 50, delta=10)
        for key in ("cpu_avg_utilization_at100_pct", "cpu_all_cpus_over80_pct", "cpu_any_cpu_over80_pct"):
            with self.subTest(key):
                self.assertLess(found["0"][key], 25)
                for interval in ("50ms", "100ms"):
                    self.assertAlmostEqual(found[interval][key], 50, delta=12)
        self.assertEqual(found["50ms"]["max_t_cpu_pct_per_cpu_avg"], 100)

    def test_a_job_asks_for_readings_while_it_runs(self):
        daemon = self.daemon("[sampling]\ninterval = 1s\njob_cpu_interval = 100ms\n", root=self.directory)
        with daemon.client() as client:
            refused = client.begin("fast", sample_ms=50)
            self.assert_status(refused, "DENIED")
            self.assertIn("job_cpu_interval in [sampling]", refused.message)
            client.begin("before", sample_ms=0)
            first = daemon.metrics()["perfd_samples_total"]
            harness.wait_for(lambda: daemon.metrics()["perfd_samples_total"] >= first + 2, "samples")
            client.end("before", 0)
            self.assert_status(client.begin("job", sample_ms=100), "OK")
        daemon.wait_tick()
        self.assertEqual(daemon.metrics()["perfd_cpu_interval_seconds"], 0.1)
        daemon.kill()
        daemon.start()
        first = daemon.metrics()["perfd_samples_total"]
        harness.wait_for(lambda: daemon.metrics()["perfd_samples_total"] >= first + N_PERIODS, "samples")
        self.assertEqual(daemon.metrics()["perfd_cpu_interval_seconds"], 0.1) # a restart does not forget
        with daemon.client() as client:
            client.end("job", 0)
        harness.wait_for(lambda: daemon.metrics()["perfd_cpu_interval_seconds"] == 1, "the interval of the node")

        job, before = (daemon.get(f"/api/v1/jobs/{name}").json for name in ("job", "before"))
        found = {m["key"]: m for m in job["metrics"]}
        self.assertAlmostEqual(found["cpu_all_cpus_over80_pct"]["value"], 50, delta=12)
        self.assertLess(found["cpu_interval_seconds"]["value"], 0.3)
        self.assertEqual(found["cpu_all_cpus_over80_pct"]["interval_ms"], round(found["cpu_interval_seconds"]["value"] * 1000))
        self.assertGreater(found["max_t_mem_percent"]["interval_ms"], 500)
        self.assertNotIn("interval_ms", found["cpu_user_seconds"])
        self.assertGreater({m["key"]: m["value"] for m in before["metrics"]}["cpu_interval_seconds"], 0.5)

    def test_perfctl_asks(self):
        daemon = self.daemon("[sampling]\ninterval = 1s\njob_cpu_interval = 100ms\n", root=self.directory)
        self.assertEqual(daemon.perfctl("job", "begin", "--sample", "250ms", "by-hand").returncode, 0)
        daemon.wait_tick()
        self.assertEqual(daemon.metrics()["perfd_cpu_interval_seconds"], 0.25)
        run = daemon.perfctl("run", "--job", "run", "--sample", "50ms", "--", "true")
        self.assertEqual(run.returncode, 0)
        self.assertIn("50 ms is below the least interval for which a job may ask, 100 ms: job_cpu_interval in [sampling] of perfd.conf",
                      run.stderr)
        for wrong in ("10ms", "2s", "often"):
            run = daemon.perfctl("run", "--sample", wrong, "--", "true")
            self.assertEqual(run.returncode, 2)
            self.assertIn("a time from 50ms to 1s", run.stderr)

    def test_a_reload_begins_and_ends_the_readings(self):
        daemon = self.daemon("[sampling]\ninterval = 60s\n", root=self.directory, notify=True)
        self.assertEqual(daemon.metrics()["perfd_cpu_interval_seconds"], 60)
        # The CPU time of sampling is updated by a reading, and no sample is due for a minute.
        for text, interval_s in (("cpu_interval = 50ms\n", 0.05), ("", 60)):
            daemon.configure("[sampling]\ninterval = 60s\n" + text)
            daemon.reload()
            self.assertEqual(daemon.metrics()["perfd_cpu_interval_seconds"], interval_s)

    def test_wrong_intervals_are_refused(self):
        for value in ("10ms", "2s", "-1s"):
            with self.subTest(value):
                daemon = harness.Daemon(f"[sampling]\ncpu_interval = {value}\n")
                self.addCleanup(daemon.close)
                daemon.start(wait=False)
                self.assertNotEqual(daemon.wait_exit(), 0)
                self.assertIn("a time from 50ms to 1s, or 0 for none", daemon.log())


if __name__ == "__main__":
    unittest.main()
