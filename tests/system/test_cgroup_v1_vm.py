"""Checks the numbers of jobs with the controllers of cgroup v1, alone and beside cgroup v2. See vm_jobs."""

import unittest

import vm
from vm_jobs import MIB, ROOT_GROUP, Everywhere


# One measurement is enough on a slow machine: the code is that of version 2, with other files.
class OfVersion1(Everywhere):
    MEMORY_LIMIT, QUOTA = "memory_limit_in_bytes", ("cpu_cfs_quota_us", "20000")


@unittest.skipIf(vm.why_not(), vm.why_not())
class Hybrid(OfVersion1, unittest.TestCase):
    """Tests with the controllers of cgroup v1, and cgroup v2 without controllers."""

    KERNEL = "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=0"
    DIRECTORIES = tuple(f"{ROOT_GROUP}/{name}" for name in ("memory", "blkio", "pids", "cpu,cpuacct", "unified"))

    def test_pressure_is_version_2s(self):
        """Four threads on two CPUs: some threads always wait."""
        job = self.make("pressure")
        self.work(job, "burn 0.3 4")
        shown = self.end(job)
        self.assertGreater(self.exact(shown, "job_psi_cpu_some_seconds"), 0.1)
        self.assertEqual(shown["cgroup"], f"/jobs/{job}")


@unittest.skipIf(vm.why_not(), vm.why_not())
class Legacy(OfVersion1, unittest.TestCase):
    """Tests with cgroup v1 only, which does not report empty groups: the end is reported explicitly."""

    KERNEL = "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1"
    DIRECTORIES = tuple(f"{ROOT_GROUP}/{name}" for name in ("memory", "blkio", "pids", "cpu,cpuacct"))

    def end(self, job):
        self.machine.wait(f"perfctl job end {job}", f"job {job} to be found and ended")
        return super().end(job)

    def test_pressure_is_version_2s_alone(self):
        job = self.make("pressure")
        self.work(job, "burn 0.1 1")
        absent = {a["key"] for a in self.end(job)["absent"]}
        self.assertLessEqual({"job_psi_cpu_some_seconds", "job_psi_memory_full_seconds", "job_psi_io_some_seconds"}, absent)

    def test_limits_of_groups_above_are_the_jobs(self):
        memory, cpu = self.DIRECTORIES[0], self.DIRECTORIES[-1]
        self.machine.run(f"echo {100 * MIB} >{memory}/jobs/memory.limit_in_bytes && echo 150000 >{cpu}/jobs/cpu.cfs_quota_us")
        self.addCleanup(self.machine.run, f"echo -1 >{memory}/jobs/memory.limit_in_bytes && echo -1 >{cpu}/jobs/cpu.cfs_quota_us")
        job = self.make("limited")
        self.work(job, "burn 0.1 1")
        shown = self.end(job)
        self.assertEqual(self.exact(shown, "job_memory_limit_bytes"), 100 * MIB)
        self.assertEqual(self.exact(shown, "job_cpus_given"), 1.5)
