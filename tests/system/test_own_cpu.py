"""Checks that the CPU time of perfctl is not that of the job, against getrusage(2) of the job's command."""

import os
import signal
import subprocess
import sys
import unittest

import harness
from harness import PERFCTL, TIMEOUT_S, judges_the_machine

# Writes, then uses CPU time, and reports its own use to a file.
WORK = """
import os, resource, sys, time
for _ in range(int(sys.argv[2])):
    os.write(1, b"x" * 65536)
while time.process_time() < float(sys.argv[3]):
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
open(sys.argv[1], "w").write(str(used.ru_utime + used.ru_stime))
os._exit(0)
"""
KINDS = ("cgroup", "subreaper")


class JobCpu(harness.TestCase):
    def run_job(self, daemon, job, kind, n_chunks=0, cpu_s=0.0, options=(), command=None, **more):
        """Returns the metrics of the job, the CPU time of its command, and that of perfctl."""
        told = self.temporary_directory() / "told"
        command = command or (sys.executable, "-I", "-S", "-c", WORK, told, n_chunks, cpu_s)
        with open(told.parent / "output", "wb") as output:
            process = subprocess.Popen([str(PERFCTL), "run", "--quiet", "--job", job, "--isolation", kind, *options, "--",
                                        *map(str, command)], stdin=subprocess.DEVNULL, stdout=output,
                                       env={**os.environ, "PERFD_SOCKET": str(daemon.socket)}, **more)
            _, status, all_of_it = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        command_s = float(told.read_text()) if told.exists() else 0
        record = daemon.get(f"/api/v1/jobs/{job}").json
        if record["isolation"] != kind:
            self.skipTest(f"no {kind} on this machine")
        metrics = {m["key"]: m for m in record["metrics"] if m["key"].startswith("job_cpu")}
        return metrics, command_s, all_of_it.ru_utime + all_of_it.ru_stime - command_s


class OwnCpu(JobCpu):
    def test_passing_output_on_is_not_counted(self):
        daemon = self.daemon()
        metrics, command_s, perfctl_s = self.run_job(daemon, "job", "cgroup", 8000, 0.1, ("--collect", "yes"), stderr=subprocess.DEVNULL)
        self.assertGreater(perfctl_s, 0.02)
        used_s = metrics["job_cpu_seconds"]["value"]
        self.assertAlmostEqual(used_s, command_s, delta=0.25 * perfctl_s)
        self.assertEqual(metrics["job_cpu_seconds"]["quality"], "exact")
        self.assertAlmostEqual(metrics["job_cpu_user_seconds"]["value"] + metrics["job_cpu_system_seconds"]["value"], used_s, delta=3e-6)

    def test_counters_do_not_decrease_when_the_end_excludes_it(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        command = ("sh", "-c", "head -c 300000000 /dev/zero; sleep 0.5")
        with open(os.devnull, "wb") as null:
            process = subprocess.Popen([str(PERFCTL), "run", "--quiet", "--job", "job", "--isolation", "cgroup", "--collect", "yes", "--",
                                        *command], stdin=null, stdout=null, stderr=null,
                                       env={**os.environ, "PERFD_SOCKET": str(daemon.socket)})
        shown = {}
        while process.poll() is None:
            shown.update(daemon.wait_tick())
        after = daemon.wait_tick()
        record = daemon.get("/api/v1/jobs/job").json
        if record["isolation"] != "cgroup":
            self.skipTest("no cgroup on this machine")
        of_job = {s: v for s, v in shown.items() if s.startswith("perfd_job_cpu_") and s.split("{")[0].endswith("_total")}
        self.assertEqual({s: (v, after[s]) for s, v in of_job.items() if after[s] < v}, {})
        used_s = next(m["value"] for m in record["metrics"] if m["key"] == "job_cpu_seconds")
        self.assertLess(used_s, of_job['perfd_job_cpu_seconds_total{job="job",scope="job"}'])

    def test_a_short_job_has_its_own_cpu_time(self):
        """Compares with a job without a cgroup, whose CPU time is that of the command from its exec to its exit."""
        daemon = self.daemon()
        runs = {kind: [] for kind in KINDS}
        for i in range(20):
            for kind in KINDS:
                runs[kind].append(self.run_job(daemon, f"{kind}-{i}", kind, 0, 0.02))
        # Interrupts and cold caches only add CPU time: the smallest value is that of the programs, also on a busy machine.
        error_s = {kind: min(metrics["job_cpu_seconds"]["value"] - command_s for metrics, command_s, _ in runs[kind]) for kind in KINDS}
        perfctl_s = min(of_perfctl_s for kind in KINDS for _, _, of_perfctl_s in runs[kind])
        self.assertLess(abs(error_s["cgroup"] - error_s["subreaper"]), 0.25 * perfctl_s)

    @judges_the_machine
    def test_the_mean_and_the_total_have_the_same_cpu_time(self):
        daemon = self.daemon()
        for i in range(5):
            metrics, _, _ = self.run_job(daemon, f"j{i}", "cgroup", 0, 0.02)
            elapsed_s = (metrics["job_cpu_seconds"]["value"] + metrics["job_cpu_unused_seconds"]["value"]) / \
                metrics["job_cpus_given"]["value"]
            self.assertAlmostEqual(metrics["job_cpus_used"]["value"] * elapsed_s, metrics["job_cpu_seconds"]["value"], delta=0.001)


class ProcessTree(JobCpu):
    """Whether the CPU time of a tree of processes is known exactly."""

    def quality(self, command, **more):
        metrics, _, _ = self.run_job(self.daemon(), "job", "subreaper", command=command, **more)
        self.assertEqual(metrics["job_cpus_given"]["quality"], "exact")
        self.assertEqual(metrics["job_cpus_used"]["quality"], metrics["job_cpu_seconds"]["quality"])
        return metrics["job_cpu_seconds"]["quality"]

    def test_processes_that_were_waited_for_are_exact(self):
        self.assertEqual(self.quality(("sh", "-c", "true; true")), "exact")

    def test_a_living_process_is_counted_in_ticks(self):
        pid_file = self.temporary_directory() / "pid"
        self.addCleanup(lambda: os.kill(int(pid_file.read_text()), signal.SIGKILL))
        quality = self.quality(("sh", "-c", f"sleep 1000 >&- 2>&- & echo $! >{pid_file}"), stderr=subprocess.DEVNULL)
        self.assertEqual(quality, "sampled")

    def test_children_of_a_command_that_ignores_sigchld_are_missing(self):
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        self.assertEqual(self.quality(("true",), preexec_fn=ignore), "sampled")


if __name__ == "__main__":
    unittest.main()
