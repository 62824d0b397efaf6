"""Checks the numbers of jobs with all controllers of cgroup v2. See vm_jobs; test_cgroup_v1_vm has the other versions."""

import json
import re
import unittest

import vm
from harness import TIMEOUT_S, wait_for
from vm_jobs import DISK_FILE, MIB, ROOT_GROUP, TICK_S, Everywhere, patient

# Message of perfctl, which waits 200 ms for systemd and not much longer for perfd; both may be slow here.
LATE = "did not answer in time|does not respond|timed out|kept in"


@unittest.skipIf(vm.why_not(), vm.why_not())
class Unified(Everywhere, unittest.TestCase):
    """Tests with cgroup v2 only."""

    KERNEL = "cgroup_no_v1=all"

    @classmethod
    def prepare(cls):
        cls.machine.run(f"cd {ROOT_GROUP} && mkdir jobs above bare && all='+cpu +cpuset +io +memory +pids' && "
                        "echo $all >cgroup.subtree_control && echo $all >jobs/cgroup.subtree_control && "
                        "echo $all >above/cgroup.subtree_control")

    @patient
    def test_a_removed_group_reports_its_last_numbers(self):
        """systemd and perfd race for the last values of an empty group, which systemd removes."""
        for i in [next(self.NUMBERS) for _ in range(3)]:
            done = self.machine.run(f"systemd-run --wait --unit=job-gone{i} work burn 0.3 1")
            seconds, unit = re.search(r"CPU time consumed: ([\d.]+)(s|ms)$", done, re.M).groups()
            consumed = float(seconds) / (1000 if unit == "ms" else 1)
            shown = self.end(f"gone{i}")
            used = self.metric(shown, "job_cpu_seconds")
            if used["quality"] == "exact":
                self.assert_near(used["value"], consumed, TICK_S)
            else:
                self.assertLess(used["value"], consumed + TICK_S)
                self.assertIn("cgroup was removed", shown["note"])

    def test_a_group_removed_between_two_samples_has_the_last_numbers(self):
        job = self.make("removed")
        self.machine.run(f"setsid work --in {ROOT_GROUP}/jobs/{job} burn 60 1 >/dev/null 2>&1 &")
        # Wait until the group has been read once; it is not read again.
        seen = wait_for(lambda: (shown := self.show(job)) and next(
            (m["value"] for m in shown["metrics"] if m["key"] == "job_cpu_seconds" and m["value"] > 0.5), None), "numbers")
        # systemd may be slow, so that its number is not queried.
        self.machine.run(f"set -e; cd {ROOT_GROUP}/jobs; read -r perfd <../system.slice/perfd.service/cgroup.procs; kill -STOP $perfd; "
                         f"echo 1 >{job}/cgroup.kill; until rmdir {job} 2>/dev/null; do :; done; kill -CONT $perfd")
        shown = self.end(job)
        used = self.metric(shown, "job_cpu_seconds")
        self.assertEqual(used["quality"], "sampled")
        self.assertGreaterEqual(used["value"], seen)
        self.assertIn("cgroup was removed", shown["note"])

    @patient
    def test_groups_below_belong_to_the_job(self):
        job = self.make("nested")
        output = self.machine.run(f"cd {ROOT_GROUP}/jobs/{job} && mkdir -p a/b c && (work --in a/b burn 0.8 1 & "
                                  f"work --in c burn 0.4 1 + write {DISK_FILE} 4; wait)")
        shown = self.end(job)
        self.assert_cpu(shown, job, sum(int(us) for us in re.findall(r"cpu_us=(\d+)", output)) / 1e6, 2)
        self.assert_near(self.exact(shown, "job_io_written_bytes"), 4 * MIB)
        for below in ("a", "b", "c"):
            self.assertIsNone(self.show(below), "it is no job")

    def test_limits_of_groups_above_are_the_jobs(self):
        self.machine.run(f"cd {ROOT_GROUP}/above && echo {100 * MIB} >memory.max && echo '150000 100000' >cpu.max")
        job = self.make("limited", parent="above", memory_max=200 * MIB)
        self.work(job, "burn 0.3 1", parent="above")
        shown = self.end(job)
        self.assertEqual(self.exact(shown, "job_memory_limit_bytes"), 100 * MIB)
        self.assertEqual(self.exact(shown, "job_cpus_given"), 1.5)
        # This group's file does not contain the throttling of its parent.
        self.assertIn("job_cpu_throttled_ratio", [a["key"] for a in shown["absent"]])

    @patient
    def test_a_cpuset_determines_the_allocated_cpus(self):
        job = self.make("pinned", cpuset_cpus="1")
        used = self.work(job, "burn 0.5 2")
        shown = self.end(job)
        self.assertEqual(self.exact(shown, "job_cpus_given"), 1)
        self.assert_cpu(shown, job, used, 3)
        # Two threads on one CPU: one thread always waits.
        self.assertGreater(self.exact(shown, "job_psi_cpu_some_seconds"), 0.4)

    def test_pressure_is_the_kernels(self):
        """Four threads on two CPUs: some threads always wait."""
        job = self.make("pressure")
        self.work(job, "burn 0.4 4")
        shown = self.end(job)
        for resource, kinds in (("cpu", ("some",)), ("memory", ("some", "full")), ("io", ("some", "full"))):
            text = self.machine.run(f"cat {ROOT_GROUP}/jobs/{job}/{resource}.pressure")
            for kind in kinds:
                total_us = int(re.search(rf"^{kind} .*total=(\d+)$", text, re.M)[1])
                self.assert_near(self.exact(shown, f"job_psi_{resource}_{kind}_seconds"), total_us / 1e6, 1e-6)
        self.assertGreater(self.exact(shown, "job_psi_cpu_some_seconds"), 0.1)

    @patient
    def test_without_controllers_there_is_a_reason_in_place_of_a_number(self):
        job = self.make("bare", parent="bare")
        used = self.work(job, "burn 0.2 1", parent="bare")
        shown = self.end(job)
        self.assert_cpu(shown, job, used, parent="bare")
        reasons = {a["key"]: a["reason"] for a in shown["absent"] if a["scope"] == "job"}
        for key in ("job_memory_peak_bytes", "job_io_written_bytes", "job_pids_peak", "job_oom_kills", "job_cpu_throttled_seconds"):
            self.assertIn("not enabled", reasons[key])

    def test_limited_page_cache_counts(self):
        job = self.make("high", memory_high=16 * MIB)
        self.work(job, f"buffer {DISK_FILE}3 40")
        events = self.kernel(job, "memory.events")
        shown = self.end(job)
        self.assertGreater(events["high"], 0)
        self.assertEqual(self.exact(shown, "job_memory_high_events"), events["high"])
        self.assert_near(self.exact(shown, "job_io_written_bytes"), 40 * MIB)
        for key in ("job_psi_memory_some_seconds", "job_psi_memory_full_seconds", "job_psi_io_some_seconds", "job_psi_io_full_seconds"):
            self.exact(shown, key)

    @patient
    def test_perfctl_run_makes_a_scope_that_counts_everything(self):
        def tried():
            job = f"scoped{next(self.NUMBERS)}"
            done = self.machine.run(f"echo $BASHPID >{ROOT_GROUP}/cgroup.procs; "
                                    f"perfctl run -v -j {job} -- work burn 0.5 1 + write {DISK_FILE}4 6")
            return not re.search(LATE, done) and (job, done)
        job, done = wait_for(tried, "a systemd that is in time", TIMEOUT_S * vm.SLOWNESS)
        used = int(re.search(r"cpu_us=(\d+)", done)[1]) / 1e6
        shown = self.show(job)
        self.assertEqual((shown["state"], shown["isolation"]), ("finished", "scope"))
        # perfctl itself is in the group, from before the start until its exit.
        self.assertGreaterEqual(self.exact(shown, "job_cpu_seconds"), used)
        self.assertLess(self.exact(shown, "job_cpu_seconds"), used + 0.3)
        self.assert_near(self.exact(shown, "job_io_written_bytes"), 6 * MIB)
        self.assertGreater(self.exact(shown, "job_memory_peak_bytes"), MIB)
        # All numbers except the unset limit. systemd enables the cpu controller for a unit with a quota; the kernel may lack two files.
        absent = {a["key"] for a in shown["absent"] if a["scope"] == "job"}
        self.assertEqual(absent - {"job_cpu_throttled_seconds", "job_cpu_throttled_ratio", "job_cpu_throttled_local_seconds",
                                   "job_psi_irq_full_seconds"}, {"job_memory_limit_bytes"})

    def spec(self, memory, *script, cpu="2", batch_size=1):
        """Runs the command outside of the root group. Returns its output, its exit status, and the name of the indicator."""
        lines = "".join(f"  {line}\n" for line in ("#!/bin/sh", *script))
        requests = f"{{requests: {{cpu: {cpu}, memory: {memory}}}}}"

        def tried():
            name = f"limited{next(self.NUMBERS)}"
            file = f"/tmp/{name}.yaml"
            done = self.machine.sh(f"cat >{file} <<'END'\nidentifier: {name}\nbatch_size: {batch_size}\nrun: {requests}\nscript: |\n{lines}"
                                   f"END\necho $BASHPID >{ROOT_GROUP}/cgroup.procs; exec perfctl run --spec {file} 2>&1")
            return not re.search(LATE, done.stdout) and (done.stdout, done.returncode, name)
        return wait_for(tried, "a systemd and a perfd that are in time", TIMEOUT_S * vm.SLOWNESS)

    def test_a_specification_has_the_limits_it_requests(self):
        """Checks both controllers: systemd enables the cpu controller for a unit that requests it."""
        group = f"{ROOT_GROUP}$(sed -n s/^0:://p /proc/self/cgroup)"
        printed, status, _ = self.spec("64Mi", f"cat {group}/cpu.max {group}/memory.max", f"cat {group}/memory.swap.max || echo 0",
                                       cpu="500m")
        self.assertEqual(status, 0, printed)
        self.assertIn(f"50000 100000\n{64 * MIB}\n", printed)
        self.assertNotIn("not applied", printed)

    def test_a_specification_beyond_its_memory_is_killed_with_a_message(self):
        printed, status, name = self.spec("64Mi", "echo begins >&2", "exec work eat 200", batch_size=2)
        self.assertEqual(status, 137, printed)
        self.assertEqual(printed.count("begins"), 2, printed)
        self.assertEqual(printed.count("the kernel killed 1 process of the command: the job exceeded its memory limit of "
                                       f"{64 * MIB} bytes"), 2, printed)
        self.assertIn("2 runs, 2 failed", printed)
        answer = self.machine.run("exec 4<>/dev/tcp/127.0.0.1/9847 && "
                                  f"printf 'GET /api/v1/indicators/{name}/results HTTP/1.0\\r\\n\\r\\n' >&4 && cat <&4")
        results = json.loads(answer.partition("\n\n")[2])["results"]
        self.assertEqual([result["exit_status"] for result in results], [137, 137])
        self.assertEqual([result["run"]["oom_kills"] for result in results], [1, 1])

    def test_an_oom_kill_of_a_child_is_reported(self):
        printed, status, _ = self.spec("64Mi", "work eat 200", "echo it ended with $?")
        self.assertEqual(status, 0, printed)
        self.assertIn("it ended with 137", printed)
        self.assertIn("the kernel killed 1 process of the command", printed)

    def test_perfctl_run_in_a_delegated_service_has_the_services_limits(self):
        self.machine.run("systemd-run --quiet --pipe --wait --unit=delegated -p Delegate=yes -p MemoryMax=64M -p CPUQuota=150% "
                         "perfctl run -j delegated -- work burn 0.2 1")
        shown = self.show("delegated")
        self.assertEqual((shown["state"], shown["isolation"]), ("finished", "cgroup"))
        self.assertIn("/delegated.service/", shown["cgroup"])
        self.assertEqual(self.exact(shown, "job_memory_limit_bytes"), 64 * MIB)
        self.assertEqual(self.exact(shown, "job_cpus_given"), 1.5)
        self.assertGreater(self.exact(shown, "job_cpu_seconds"), 0.2)

    def test_a_service_with_limits_is_a_job(self):
        """Checks controllers that systemd has enabled."""
        self.machine.run("systemd-run --quiet --unit=job-unit -p MemoryMax=64M -p CPUQuota=50% -p TasksMax=30 "
                         "-p RemainAfterExit=yes work burn 0.6 1")
        shown = wait_for(lambda: (s := self.show("unit")) and any(a["key"] == "job_cpus_given" for a in s["metrics"]) and s, "the job")
        self.machine.wait("[ $(systemctl show -P SubState job-unit.service) = exited ]", "the service to end")
        self.machine.run("systemctl stop job-unit.service")
        shown = self.end("unit")
        self.assertEqual(self.exact(shown, "job_memory_limit_bytes"), 64 * MIB)
        self.assertEqual(self.exact(shown, "job_cpus_given"), 0.5)
        self.assertEqual(shown["isolation"], "found")
