"""Checks jobs with cgroups in the machine's real v2 hierarchy, with real processes.

The tests are skipped without a v2 hierarchy or the permission to create groups. Numbers of controllers that the machine does
not have in v2 are tested in test_cgroup_vm and test_cgroup_v1_vm.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time
import types
import unittest
import uuid

import harness
from harness import indicator, wait_for, wire

NOBODY = 65534

BUSY = """
import os, resource, sys, time
open(sys.argv[1] + "/cgroup.procs", "w").write("0")
print("in", flush=True)
seconds = float(sys.argv[2])
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
begin = used()
while used() - begin < seconds:
    pass
print(used() - begin, flush=True)
sys.stdin.read()
"""


def find_hierarchy():
    """Returns a directory in which groups can be created, or raises SkipTest."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2" and os.access(fields[4], os.W_OK):
            return pathlib.Path(fields[4])
    raise unittest.SkipTest("no cgroup v2 hierarchy in which this user may make groups")


class Group:
    """Creates a group with processes that use CPU time and then wait."""

    def __init__(self, name=None, parent=None):
        self.path = (parent.path if parent else find_hierarchy()) / (name or f"perfd-test-{uuid.uuid4().hex[:12]}")
        try:
            self.path.mkdir()
        except PermissionError:
            raise unittest.SkipTest("cgroups may not be made here") from None
        self.processes = []

    def start(self, cpu_seconds=0.0, uid=None):
        """Starts a process, and returns it after it has entered the group."""
        user = {"user": uid, "group": uid} if uid else {}
        if uid:
            os.chown(self.path / "cgroup.procs", uid, uid)
        process = subprocess.Popen([sys.executable, "-c", BUSY, str(self.path), str(cpu_seconds)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, **user)
        self.processes.append(process)
        assert process.stdout.readline() == "in\n"
        return process

    def used(self, process):
        """Returns the CPU seconds that the process reports."""
        return float(process.stdout.readline())

    def cpu_seconds(self):
        """Returns the kernel's count."""
        for line in (self.path / "cpu.stat").read_text().splitlines():
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
        raise AssertionError("no usage_usec in cpu.stat")

    def stop(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()
            process.stdout.close()
        self.processes = []

    def remove(self):
        self.stop()
        if self.path.exists():
            wait_for(self._try_remove, f"{self.path} to be empty")

    def _try_remove(self):
        try:
            self.path.rmdir()
            return True
        except OSError:
            return False


class GroupTest(harness.TestCase):
    CONFIG = "[sampling]\ninterval = 100ms\n[jobs]\nlinger = 0\n"

    def config(self, top, linger="0"):
        """Starts perfd with patterns that detect jobs in the group."""
        return (self.CONFIG.replace("linger = 0", f"linger = {linger}") +
                f"[patterns]\nother = /{top.path.name}/job_{{job}}\nslurm_sluid = /{top.path.name}/{{sluid}}\n"
                "slurm =\nslurm_v1 =\nkubernetes =\n")

    def group(self, **more):
        group = Group(**more)
        self.addCleanup(group.remove)
        return group

    def begin(self, client, job, member, fresh=True, isolation=wire.CGROUP, pid=0, **more):
        request = client.request()
        body = request.job_begin
        body.job, body.member_pid, body.fresh, body.isolation, body.pid = job, member.pid, fresh, isolation, pid
        for key, value in more.items():
            setattr(body, key, value)
        return client.call(request)

    def job(self, daemon, job):
        return daemon.get(f"/api/v1/jobs/{job}").json

    def metric(self, job, key):
        return next((m for m in job["metrics"] if m["key"] == key), None)

    def wait_state(self, daemon, job, state):
        return wait_for(lambda: (j := self.job(daemon, job))["state"] == state and j, f"job {job} to be {state}")


class Accounting(GroupTest):
    def test_a_jobs_cpu_seconds_are_the_kernels_however_short_it_is(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        with daemon.client() as client:
            process = group.start(cpu_seconds=0.05)
            self.assertEqual(self.begin(client, "short", process).status, wire.OK)
            group.used(process)
            truth = group.cpu_seconds()
            self.assertEqual(client.end("short", 0).status, wire.OK)
        job = self.job(daemon, "short")
        used = self.metric(job, "job_cpu_seconds")
        self.assertEqual(used["quality"], "exact")
        self.assertEqual(used["scope"], "job")
        self.assertAlmostEqual(used["value"], truth, delta=max(0.01 * truth, 0.01))
        self.assertEqual(job["isolation"], "cgroup")
        self.assertEqual(job["cgroup"], "/" + group.path.name)

    def test_two_jobs_are_separate_and_their_sum_is_at_most_the_nodes(self):
        daemon, busy, idle = self.daemon(self.CONFIG), self.group(), self.group()
        with daemon.client() as client:
            whole = client.begin("whole")
            self.assertEqual(whole.status, wire.OK)
            a, b = busy.start(cpu_seconds=0.6), idle.start()
            self.begin(client, "busy", a)
            self.begin(client, "idle", b)
            used = busy.used(a)
            for job in ("busy", "idle", "whole"):
                self.assertEqual(client.end(job, 0).status, wire.OK)
        cpu = {name: self.metric(self.job(daemon, name), "job_cpu_seconds") for name in ("busy", "idle", "whole")}
        self.assertAlmostEqual(cpu["busy"]["value"], used, delta=max(0.01 * used, 0.05))
        self.assertLess(cpu["idle"]["value"], 0.1)
        self.assertIsNone(cpu["whole"], "it has no cgroup of its own")
        node = self.job(daemon, "whole")
        node_busy = sum(self.metric(node, key)["value"] for key in ("cpu_user_seconds", "cpu_system_seconds"))
        # The node's counters have a resolution of 10 ms for each CPU and mode.
        self.assertLessEqual(cpu["busy"]["value"] + cpu["idle"]["value"], node_busy + 0.02 * os.cpu_count() + 0.01)

    def test_unavailable_metrics_are_absent_with_a_reason(self):
        daemon = self.daemon(self.CONFIG)
        with daemon.client() as client:
            client.begin("plain")
            client.end("plain", 0)
        job = self.job(daemon, "plain")
        reasons = {a["key"]: a["reason"] for a in job["absent"]}
        self.assertIn("no cgroup", reasons["job_cpu_seconds"])
        self.assertIsNone(job["cgroup"])
        self.assertEqual(job["isolation"], "none")

    def test_a_group_belongs_to_one_job(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        with daemon.client() as client:
            process = group.start()
            self.begin(client, "first", process)
            self.assertEqual(self.begin(client, "second", process).status, wire.OK)
        self.assertIsNotNone(self.job(daemon, "first")["cgroup"])
        second = self.job(daemon, "second")
        self.assertIsNone(second["cgroup"])
        self.assertEqual(second["isolation"], "none")


class Ends(GroupTest):
    def test_a_group_that_becomes_empty_ends_its_job_with_exact_numbers(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        with daemon.client() as client:
            process = group.start(cpu_seconds=0.2)
            self.begin(client, "job", process)
            group.used(process)
            group.stop()
        job = self.wait_state(daemon, "job", "interrupted")
        self.assertIn("no end was reported", job["note"])
        used = self.metric(job, "job_cpu_seconds")
        self.assertEqual(used["quality"], "exact")
        self.assertAlmostEqual(used["value"], group.cpu_seconds(), delta=0.005)

    def test_numbers_end_when_the_group_is_empty_and_the_end_may_follow_later(self):
        daemon, group = self.daemon(self.CONFIG.replace("linger = 0", "linger = 1h")), self.group()
        with daemon.client() as client:
            process = group.start(cpu_seconds=0.1)
            self.begin(client, "job", process)
            group.used(process)
            group.stop()
            for _ in range(3):
                daemon.wait_tick()  # the event loop has been notified by then
            told = time.time()
            for _ in range(3):
                daemon.wait_tick()
            self.assertEqual(self.job(daemon, "job")["state"], "running")
            self.assertEqual(client.end("job", 3).status, wire.OK)
        job = self.job(daemon, "job")
        self.assertEqual((job["state"], job["exit"]["status"]), ("finished", 3))
        self.assertEqual(job["note"], "")
        self.assertLess(job["end_ms"] / 1e3, told)

    def test_a_group_that_is_populated_again_continues(self):
        daemon, group = self.daemon(self.CONFIG.replace("linger = 0", "linger = 1h")), self.group()
        with daemon.client() as client:
            first = group.start(cpu_seconds=0.1)
            self.begin(client, "job", first)
            used = group.used(first)
            group.stop()
            daemon.wait_tick()
            second = group.start(cpu_seconds=0.1)
            used += group.used(second)
            truth = group.cpu_seconds()
            client.end("job", 0)
        value = self.metric(self.job(daemon, "job"), "job_cpu_seconds")["value"]
        self.assertGreaterEqual(value, used)
        self.assertAlmostEqual(value, truth, delta=max(0.01 * truth, 0.01))

    def test_a_removed_group_ends_its_job_with_a_note(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        with daemon.client() as client:
            process = group.start()
            self.begin(client, "job", process)
            # The daemon is stopped between these two steps.
            os.kill(daemon.process.pid, signal.SIGSTOP)
            group.remove()
            os.kill(daemon.process.pid, signal.SIGCONT)
        job = self.wait_state(daemon, "job", "interrupted")
        used = self.metric(job, "job_cpu_seconds")
        self.assertEqual(used["quality"], "sampled")
        self.assertIn("cgroup was removed", job["note"])

    def test_a_group_missing_at_a_mark_ends_its_job(self):
        hierarchy = types.SimpleNamespace(path=pathlib.Path("/sys/fs/cgroup/cpuacct")) # cgroup v1 does not report changes
        if not os.access(hierarchy.path / "cgroup.procs", os.W_OK):
            self.skipTest("no cgroup v1 hierarchy in which this user may make groups")
        daemon, group = self.daemon(self.CONFIG.replace("100ms", "2s")), self.group(parent=hierarchy)
        with daemon.client() as client:
            self.assert_status(self.begin(client, "job", group.start()), "OK")
            self.assertEqual(wait_for(lambda: daemon.get("/api/v1/jobs/job").json["cgroup"], "its cgroup"),
                             "cpuacct:/" + group.path.name)
            group.remove()
            request = client.request()
            request.mark.job, request.mark.name = "job", "late"
            self.assert_status(client.call(request), "OK")
        job = self.wait_state(daemon, "job", "interrupted")
        self.assertEqual(self.metric(job, "job_cpu_seconds")["quality"], "sampled")
        self.assertIn("cgroup was removed", job["note"])

    def test_a_job_outlives_the_process_that_began_it(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        with daemon.client() as client:
            member, announcer = group.start(cpu_seconds=0.1), subprocess.Popen(["cat"], stdin=subprocess.PIPE)
            self.begin(client, "job", member, pid=announcer.pid)
            announcer.stdin.close()
            announcer.wait()
            wait_for(lambda: "its process ended, no end was reported" in self.job(daemon, "job")["note"], "the word of it")
            self.assertEqual(self.job(daemon, "job")["state"], "running")
            group.used(member)
            group.stop()
        self.assertEqual(self.metric(self.wait_state(daemon, "job", "interrupted"), "job_cpu_seconds")["quality"], "exact")

    def test_the_process_tree_of_a_job_without_a_group_is_exact_by_its_rusage(self):
        daemon = self.daemon(self.CONFIG)
        with daemon.client() as client:
            request = client.request()
            request.job_begin.job, request.job_begin.isolation = "tree", wire.SUBREAPER
            client.call(request)
            request = client.request()
            request.job_end.job, request.job_end.rusage.utime, request.job_end.rusage.stime = "tree", 1.5, 0.25
            self.assertEqual(client.call(request).status, wire.OK)
        job = self.job(daemon, "tree")
        self.assertEqual(self.metric(job, "job_cpu_seconds")["value"], 1.75)
        self.assertEqual(self.metric(job, "job_cpu_seconds")["quality"], "exact")
        self.assertEqual(job["isolation"], "subreaper")


class Recovery(GroupTest):
    def test_totals_go_on_over_kill_and_restart(self):
        daemon, group = self.daemon(self.CONFIG + "checkpoint_interval = 1s\n"), self.group()
        with daemon.client() as client:
            process = group.start(cpu_seconds=0.3)
            self.begin(client, "job", process)
        daemon.kill()
        group.used(process)
        daemon.start()
        with daemon.client() as client:
            truth = group.cpu_seconds()
            self.assertEqual(client.end("job", 0).status, wire.OK)
        job = self.job(daemon, "job")
        used = self.metric(job, "job_cpu_seconds")
        self.assertEqual(used["quality"], "exact")
        self.assertAlmostEqual(used["value"], truth, delta=max(0.01 * truth, 0.01))
        self.assertEqual(job["cgroup"], "/" + group.path.name)

    def test_a_group_missing_after_a_restart_has_the_checkpoints_numbers(self):
        daemon, group = self.daemon(self.CONFIG + "checkpoint_interval = 1s\n"), self.group()
        with daemon.client() as client:
            process = group.start(cpu_seconds=0.1)
            group.used(process)
            self.begin(client, "job", process)
        daemon.kill()
        group.remove()
        daemon.start()
        job = self.wait_state(daemon, "job", "interrupted")
        self.assertEqual(self.metric(job, "job_cpu_seconds")["quality"], "sampled")


class Identity(GroupTest):
    SUBMIT = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
open(sys.argv[2] + "/cgroup.procs", "w").write("0")
import harness, os
if sys.argv[5]:
    os.setgid(int(sys.argv[5]))
    os.setuid(int(sys.argv[5]))
with harness.Client(sys.argv[3]) as client:
    reply = client.submit(harness.indicator("from-inside"), job=sys.argv[4])
    print(reply.status, reply.path)
"""

    def results(self, daemon, name):
        return daemon.get(f"/api/v1/indicators/{name}/results").json["results"]

    def submit_inside(self, daemon, group, job="", uid=None):
        command = [sys.executable, "-c", self.SUBMIT, str(pathlib.Path(__file__).parent), str(group.path), str(daemon.socket), job,
                   str(uid or "")]
        done = subprocess.run(command, text=True, capture_output=True, check=True)
        return done.stdout.split()

    def test_a_result_from_inside_a_job_belongs_to_it(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        with daemon.client() as client:
            self.begin(client, "job", group.start())
            self.assertEqual(self.submit_inside(daemon, group)[0], str(wire.OK))
            self.assertEqual(client.submit(indicator("from-outside")).status, wire.OK)
        jobs = [self.results(daemon, name)[0]["job"] for name in ("from-inside", "from-outside")]
        self.assertEqual(jobs, ["job", None])

    def test_users_in_a_shared_group_have_separate_jobs(self):
        group = self.group()
        daemon = self.daemon(self.CONFIG)
        daemon.socket.chmod(0o666)
        daemon.directory.chmod(0o755)
        mine = group.start(uid=1001)
        begin = """
import os, sys
sys.path.insert(0, sys.argv[1])
import harness
os.setgid(1001)
os.setuid(1001)
with harness.Client(sys.argv[2]) as client:
    request = client.request()
    request.job_begin.job, request.job_begin.member_pid, request.job_begin.fresh = "mine", int(sys.argv[3]), True
    print(client.call(request).status)
"""
        command = [sys.executable, "-c", begin, str(pathlib.Path(__file__).parent), str(daemon.socket), str(mine.pid)]
        done = subprocess.run(command, text=True, capture_output=True, check=True)
        self.assertEqual(done.stdout.strip(), str(wire.OK))
        self.assertIsNotNone(self.job(daemon, "mine")["cgroup"])
        self.submit_inside(daemon, group, uid=1002)
        self.submit_inside(daemon, group, uid=1001)
        self.assertEqual([(r["uid"], r["job"]) for r in self.results(daemon, "from-inside")], [(1001, "mine"), (1002, None)])

    def test_the_innermost_job_is_used(self):
        daemon, outer = self.daemon(self.CONFIG), self.group()
        inner = self.group(parent=outer)
        deep = self.group(parent=inner)
        with daemon.client() as client:
            # Move processes first: with controllers enabled, a group with children must not have processes.
            self.begin(client, "outer", outer.start())
            self.begin(client, "inner", inner.start())
            self.submit_inside(daemon, deep)
            self.submit_inside(daemon, outer)
        self.assertEqual(sorted(r["job"] for r in self.results(daemon, "from-inside")), ["inner", "outer"])


class Found(GroupTest):
    def test_a_detected_job_is_exact_from_its_creation_to_its_end(self):
        top = self.group()
        daemon = self.daemon(self.config(top))
        group = self.group(name="job_17", parent=top)
        step = self.group(name="step_0", parent=group)
        process = step.start(cpu_seconds=0.1)
        step.used(process)
        job = wait_for(lambda: (r := daemon.get("/api/v1/jobs/17")).status == 200 and r.json, "job 17")
        self.assertEqual((job["state"], job["isolation"]), ("running", "found"))
        truth = group.cpu_seconds()
        step.stop()
        job = self.wait_state(daemon, "17", "finished")
        used = self.metric(job, "job_cpu_seconds")
        self.assertEqual(used["quality"], "exact")
        self.assertGreaterEqual(used["value"], truth)
        self.assertAlmostEqual(used["value"], group.cpu_seconds(), delta=0.001)
        self.assertEqual(daemon.wait_tick()["perfd_jobs_running"], 0)

    def test_jobs_that_ran_before_perfd_did_are_found(self):
        top = self.group()
        group = self.group(name="job_18", parent=top)
        group.start()
        daemon = self.daemon(self.config(top))
        wait_for(lambda: daemon.get("/api/v1/jobs/18").status == 200, "job 18")
        self.assertEqual(self.job(daemon, "18")["state"], "running")

    def test_a_begun_job_gets_a_group_created_later(self):
        top = self.group()
        daemon = self.daemon(self.config(top, linger="1h"))
        with daemon.client() as client:
            self.assert_status(client.begin("19", name="named"), "OK")
            group = self.group(name="job_19", parent=top)
            process = group.start(cpu_seconds=0.1)
            group.used(process)
            wait_for(lambda: self.job(daemon, "19")["cgroup"], "its cgroup")
            group.stop()
            daemon.wait_tick()
            truth = group.cpu_seconds()
            group.remove()
            self.assert_status(client.end("19", 0), "OK")
        job = self.job(daemon, "19")
        self.assertEqual((job["name"], job["isolation"], job["state"]), ("named", "found", "finished"))
        self.assertAlmostEqual(self.metric(job, "job_cpu_seconds")["value"], truth, places=6)

    def test_a_group_found_after_the_last_checkpoint_counts_from_its_creation(self):
        top = self.group()
        daemon = self.daemon(self.config(top, linger="1h"))
        with daemon.client() as client:
            self.assert_status(client.begin("20"), "OK")
            group = self.group(name="job_20", parent=top)
            process = group.start(cpu_seconds=0.2)
            group.used(process)
            wait_for(lambda: self.job(daemon, "20")["cgroup"], "its cgroup")
        daemon.kill()
        daemon.start()
        with daemon.client() as client:
            self.assert_status(client.end("20", 0), "OK")
        used = self.metric(self.job(daemon, "20"), "job_cpu_seconds")
        self.assertAlmostEqual(used["value"], group.cpu_seconds(), delta=0.02)

    def test_steps_with_consecutive_groups_are_one_job(self):
        top = self.group()
        daemon = self.daemon(self.config(top, linger="1h"))
        with daemon.client() as client:
            client.begin("20")
            truth = 0.0
            for _ in range(2):
                group = self.group(name="job_20", parent=top)
                process = group.start(cpu_seconds=0.1)
                group.used(process)
                daemon.wait_tick()
                daemon.wait_tick()
                group.stop()
                daemon.wait_tick()
                truth += group.cpu_seconds()
                group.remove()
                daemon.wait_tick()
            client.end("20", 0)
        used = self.metric(self.job(daemon, "20"), "job_cpu_seconds")
        self.assertAlmostEqual(used["value"], truth, delta=0.02 * truth + 0.01)

    def test_a_sluid_is_matched_to_the_job_begun_with_it(self):
        top, sluid = self.group(), "s0123456789ABC"
        daemon = self.daemon(self.config(top))
        with daemon.client() as client:
            client.begin("21", labels={"sluid": sluid})
            group = self.group(name=sluid, parent=top)
            group.start()
            wait_for(lambda: self.job(daemon, "21")["cgroup"], "its cgroup")
        self.assertEqual(daemon.get(f"/api/v1/jobs/{sluid}").status, 404)

    def test_a_user_cannot_claim_the_group_of_another_users_job(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to act as several users")
        top = self.group()
        daemon = self.daemon(self.config(top, linger="1h"))
        daemon.directory.chmod(0o755)
        os.seteuid(NOBODY)
        try:
            nobody = daemon.client()
        finally:
            os.seteuid(0)
        with nobody, daemon.client() as root:
            self.assert_status(nobody.begin("24"), "OK")
            self.assert_status(nobody.begin("another", labels={"slurm_job": "24"}), "OK")
            self.group(name="job_24", parent=top).start()
            found = wait_for(lambda: [j for j in daemon.get("/api/v1/jobs").json["jobs"] if j["cgroup"]], "the group's job")
            self.assertRegex(found[0]["id"], r"^24\.[0-9]+$")
            self.assertIsNone(self.job(daemon, "24")["cgroup"])
            self.assert_status(root.begin("24", uid=1001), "OK")
            daemon.wait_tick()
            self.assertEqual(self.job(daemon, "24")["uid"], 1001)
            self.assertIsNone(self.job(daemon, "another")["cgroup"])

    def test_a_reused_id_gets_a_suffix_with_the_time(self):
        top = self.group()
        daemon = self.daemon(self.config(top))
        for _ in range(2):
            group = self.group(name="job_22", parent=top)
            group.start()
            wait_for(lambda: daemon.metrics()["perfd_jobs_running"] == 1, "the job")
            group.remove()
            wait_for(lambda: daemon.metrics()["perfd_jobs_running"] == 0, "its end")
        ids = [job["id"] for job in daemon.get("/api/v1/jobs").json["jobs"]]
        self.assertEqual(len(ids), 2)
        self.assertEqual(ids[1], "22")
        self.assertRegex(ids[0], r"^22\.[0-9]+$")


if __name__ == "__main__":
    unittest.main()
