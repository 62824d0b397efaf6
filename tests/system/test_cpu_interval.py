"""Checks readings of the CPUs between two samples, on a machine whose two CPUs are busy and idle in turns.

The counters advance when perfd has read them, thus every reading of a busy phase is wholly busy, however late it is.
"""

import ctypes
import os
import pathlib
import select
import subprocess
import threading
import time
import unittest

import harness

READINGS_OF_A_PHASE = 5
N_PHASES = 12
IN_ACCESS = 0x1

libc = ctypes.CDLL(None, use_errno=True)


class Pulse(threading.Thread):
    """Advances the CPU counters of a machine after each reading of /proc/stat: `steps` are the busy and the idle ticks of each phase."""

    def __init__(self, directory, steps):
        super().__init__()
        self.machine, self.steps, self.is_over = harness.Machine(directory), steps, threading.Event()
        self.busy = self.idle = 1000
        self.readings = []      # (monotonic time, was the CPU busy since the reading before)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.write()
        path = pathlib.Path(directory) / "proc/stat"
        if self.fd < 0 or libc.inotify_add_watch(self.fd, os.fsencode(path), IN_ACCESS) < 0:
            raise OSError(ctypes.get_errno(), "cannot watch the readings of /proc/stat")

    def write(self):
        lines = [f"{cpu} {self.busy:012d} 0 0 {self.idle:012d} 0 0 0 0 0 0" for cpu in ("cpu ", "cpu0", "cpu1")]
        self.machine.set("proc/stat", "\n".join(lines) + "\nintr 0\nctxt 1\nbtime 0\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n")

    def run(self):
        is_busy = False
        while not self.is_over.is_set():
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            os.read(self.fd, 65536)
            self.readings.append((time.monotonic(), is_busy))
            phase = len(self.readings) // READINGS_OF_A_PHASE % len(self.steps)
            busy, idle = self.steps[phase]
            is_busy = busy > idle
            self.busy += busy
            self.idle += idle
            self.write()
        os.close(self.fd)

    def phases(self):
        return len(self.readings) // READINGS_OF_A_PHASE

    def busy_pct(self, first):
        """Returns the share of the time since the reading with this number that was spent in busy phases."""
        readings = self.readings[first:]
        busy_s = sum(end - begin for (begin, _), (end, is_busy) in zip(readings, readings[1:]) if is_busy)
        return 100 * busy_s / (readings[-1][0] - readings[0][0])


BUSY_THEN_IDLE = ((5, 0), (0, 5))
BOTH_WITHIN_A_READING = ((50, 50),)


class CpuInterval(harness.TestCase):
    def pulse(self, steps):
        directory = self.temporary_directory()
        pulse = Pulse(directory, steps)
        pulse.start()
        self.addCleanup(pulse.join)
        self.addCleanup(pulse.is_over.set)
        return directory, pulse

    def job_on_a_pulse(self, interval, steps):
        """Runs a job for some phases and returns its numbers and the share of the time that was busy."""
        directory, pulse = self.pulse(steps)
        daemon = self.daemon(f"[sampling]\ninterval = 1s\ncpu_interval = {interval}\n", root=directory)
        with daemon.client() as client:
            client.begin("job")
            first, phases = len(pulse.readings), pulse.phases()
            n = N_PHASES if interval != "0" else 1
            harness.wait_for(lambda: pulse.phases() >= phases + n, "readings")
            expected = pulse.busy_pct(first)
            client.end("job", 0)
        job = daemon.get("/api/v1/jobs/job").json
        return job["on"]["cpu_interval_ms"], {m["key"]: m["value"] for m in job["metrics"]}, expected

    @harness.judges_the_machine
    def test_phases_shorter_than_a_sample_are_found(self):
        for interval, ms in (("50ms", 50), ("100ms", 100)):
            interval_ms, found, expected = self.job_on_a_pulse(interval, BUSY_THEN_IDLE)
            self.assertEqual(interval_ms, ms)
            for key in ("cpu_avg_utilization_at100_pct", "cpu_all_cpus_over80_pct", "cpu_any_cpu_over80_pct"):
                self.assertAlmostEqual(found[key], expected, delta=12, msg=f"{interval}: {key}")
            self.assertEqual(found["max_t_cpu_pct_per_cpu_avg"], 100)

    @harness.judges_the_machine
    def test_phases_within_a_reading_are_averaged(self):
        interval_ms, found, _ = self.job_on_a_pulse("0", BOTH_WITHIN_A_READING)
        self.assertEqual(interval_ms, 1000)
        self.assertAlmostEqual(found["cpu_avg_utilization_pct"], 50, delta=1)
        for key in ("cpu_avg_utilization_at100_pct", "cpu_all_cpus_over80_pct", "cpu_any_cpu_over80_pct"):
            self.assertEqual(found[key], 0, key)

    @harness.judges_the_machine
    def test_a_job_asks_for_readings_while_it_runs(self):
        directory, pulse = self.pulse(BUSY_THEN_IDLE)
        daemon = self.daemon("[sampling]\ninterval = 1s\njob_cpu_interval = 100ms\njob_cpu_interval_shared = yes\n", root=directory)
        with daemon.client() as client:
            refused = client.begin("fast", sample_ms=50)
            self.assert_status(refused, "DENIED")
            self.assertIn("job_cpu_interval in [sampling]", refused.message)
            client.begin("before", sample_ms=0)
            first = daemon.metrics()["perfd_samples_total"]
            harness.wait_for(lambda: daemon.metrics()["perfd_samples_total"] >= first + 2, "samples")
            client.end("before", 0)
            self.assert_status(client.begin("job", sample_ms=100), "OK")
            reading = len(pulse.readings)
        daemon.wait_tick()
        self.assertEqual(daemon.metrics()["perfd_cpu_interval_seconds"], 0.1)
        daemon.kill()
        daemon.start()
        phases = pulse.phases()
        harness.wait_for(lambda: pulse.phases() >= phases + N_PHASES, "readings")
        self.assertEqual(daemon.metrics()["perfd_cpu_interval_seconds"], 0.1) # a restart does not forget
        expected = pulse.busy_pct(reading)
        with daemon.client() as client:
            client.end("job", 0)
        harness.wait_for(lambda: daemon.metrics()["perfd_cpu_interval_seconds"] == 1, "the interval of the node")

        job, before = (daemon.get(f"/api/v1/jobs/{name}").json for name in ("job", "before"))
        found = {m["key"]: m for m in job["metrics"]}
        self.assertAlmostEqual(found["cpu_all_cpus_over80_pct"]["value"], expected, delta=12)
        self.assertLess(found["cpu_interval_seconds"]["value"], 0.5)
        self.assertEqual(found["cpu_all_cpus_over80_pct"]["interval_ms"], round(found["cpu_interval_seconds"]["value"] * 1000))
        self.assertGreater(found["max_t_mem_percent"]["interval_ms"], 500)
        self.assertNotIn("interval_ms", found["cpu_user_seconds"])
        self.assertGreater({m["key"]: m["value"] for m in before["metrics"]}["cpu_interval_seconds"], 0.5)

    def test_perfctl_asks(self):
        daemon = self.daemon("[sampling]\ninterval = 1s\njob_cpu_interval = 100ms\njob_cpu_interval_shared = yes\n",
                             root=self.pulse(BUSY_THEN_IDLE)[0])
        self.assertEqual(daemon.perfctl("job", "begin", "--interval", "250ms", "by-hand").returncode, 0)
        daemon.wait_tick()
        self.assertEqual(daemon.metrics()["perfd_cpu_interval_seconds"], 0.25)
        run = daemon.perfctl("run", "--job", "run", "--interval", "50ms", "--", "true")
        self.assertEqual(run.returncode, 0)
        self.assertIn("50 ms is below the shortest interval that a job may request, 100 ms: job_cpu_interval in [sampling] of perfd.conf",
                      run.stderr)
        for wrong in ("10ms", "2s", "often"):
            run = daemon.perfctl("run", "--interval", wrong, "--", "true")
            self.assertEqual(run.returncode, 2)
            self.assertIn("a time from 50ms to 1s", run.stderr)

    def begin_as(self, daemon, name, uid, cpus=None):
        """Begins a job with readings, as a user where the test may become one, from a process that may run on these CPUs."""
        def enter():
            if cpus:
                os.sched_setaffinity(0, cpus)
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
        return subprocess.run([self.for_others(), "job", "begin", "--interval", "100ms", name], preexec_fn=enter, text=True, cwd="/",
                              capture_output=True, env={**os.environ, "PERFD_SOCKET": str(daemon.socket)}, timeout=harness.TIMEOUT_S)

    def test_readings_need_the_whole_node(self):
        cpus = os.sched_getaffinity(0)
        if len(cpus) < 2 or len(cpus) < os.sysconf("SC_NPROCESSORS_ONLN"):
            self.skipTest("needs a machine with two CPUs, and all of them")
        daemon = self.daemon("[sampling]\ninterval = 1s\n", notify=True)
        daemon.directory.chmod(0o755)
        refused = self.begin_as(daemon, "pinned", 1001, {min(cpus)})
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("perfctl: --interval: an interval of CPU readings needs all CPUs of the node, and this process may run on some "
                      "of them only", refused.stderr)
        self.assertIn("job_cpu_interval_shared in [sampling] of perfd.conf", refused.stderr)
        self.assertEqual(self.begin_as(daemon, "whole", 1001).returncode, 0)
        self.assertEqual(daemon.wait_tick()["perfd_cpu_interval_seconds"], 0.1)

        if os.geteuid() == 0:  # another user comes
            with daemon.client() as root:
                self.assert_status(root.begin("of-root"), "OK")
                self.assertEqual(daemon.wait_tick()["perfd_cpu_interval_seconds"], 1)
                refused = self.begin_as(daemon, "beside", 1001)
                self.assertIn("needs all CPUs of the node, and another user's job runs on them", refused.stderr)
                self.assert_status(root.begin("granted", sample_ms=500), "OK")
                self.assertEqual(daemon.wait_tick()["perfd_cpu_interval_seconds"], 0.5)

        daemon.configure("[sampling]\ninterval = 1s\njob_cpu_interval_shared = yes\n")
        daemon.reload()
        self.assertEqual(self.begin_as(daemon, "pinned", 1001, {min(cpus)}).returncode, 0)
        self.assertEqual(daemon.wait_tick()["perfd_cpu_interval_seconds"], 0.1)

    def test_a_reload_begins_and_ends_the_readings(self):
        daemon = self.daemon("[sampling]\ninterval = 60s\n", root=self.pulse(BUSY_THEN_IDLE)[0], notify=True)
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
