"""Checks the numbers of the steps of a scheduler's job: in trees of both versions of cgroups, and in the machine's v2 hierarchy.

A step can only end in a real hierarchy: a file that was removed from a tree can still be read.
"""

import json
import shutil
import unittest

from harness import ROOT, TestCase, wait_for
from test_job_groups import GroupTest

JOB_V2 = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_42"
LIMIT = 32


def steps(job):
    return {step["name"] or step["kind"]: step for step in job["steps"]}


class Trees(TestCase):
    def start(self, tree):
        self.root = self.temporary_directory()
        for source in ("small", tree):
            shutil.copytree(ROOT / "tests/data/trees" / source, self.root, symlinks=True, dirs_exist_ok=True)
        self.perfd = self.daemon("[sampling]\ninterval = 100ms\n[patterns]\nkubernetes =\n", root=self.root)
        return wait_for(lambda: (r := self.perfd.get("/api/v1/jobs/42")).status == 200 and r.json["steps"] and r.json, "job 42")

    def numbers(self, step):
        return tuple(step[key] for key in ("cpu_seconds", "memory_peak_bytes", "read_bytes", "written_bytes"))

    def test_v2_the_steps_and_the_rest_are_the_job(self):
        job = self.start("cgroup-v2")
        found = steps(job)
        self.assertEqual(set(found), {"extern", "batch", "0", "rest"})
        self.assertEqual(self.numbers(found["0"]), (110, 2130706432, 900000, 1900000))
        self.assertEqual(self.numbers(found["batch"]), (3.444444, 16777216, 20000, 1000))
        self.assertIsNone(found["rest"]["memory_peak_bytes"])
        for key, total in (("cpu_seconds", "job_cpu_seconds"), ("read_bytes", "job_io_read_bytes"),
                           ("written_bytes", "job_io_written_bytes")):
            value = next(m["value"] for m in job["metrics"] if m["key"] == total)
            self.assertAlmostEqual(sum(step[key] for step in job["steps"]), value, msg=key)

    def test_v2_a_part_that_was_not_read_is_absent(self):
        job = self.start("cgroup-v2")
        shutil.copytree(self.root / JOB_V2 / "step_extern", self.root / JOB_V2 / "new",
                        ignore=shutil.ignore_patterns("io.stat", "memory.*"))
        (self.root / JOB_V2 / "new").rename(self.root / JOB_V2 / "step_1")
        job = wait_for(lambda: (j := self.perfd.get("/api/v1/jobs/42").json) and "1" in steps(j) and j, "step 1")
        self.assertEqual(self.numbers(steps(job)["1"]), (0.012345, None, None, None))
        shown = self.perfd.perfctl("report", "42.1").stdout
        self.assertRegex(shown, r"(?m)^  1 .* - +- +- *$")

    def test_v1_the_steps_and_the_rest_are_the_job(self):
        found = steps(self.start("cgroup-v1"))
        self.assertEqual(self.numbers(found["0"]), (90, 80000, 4000, 8000))
        self.assertEqual(self.numbers(found["batch"]), (1.5, 20000, 96, 192))
        self.assertAlmostEqual(found["rest"]["cpu_seconds"], 98.765432109 - 91.5, places=5)
        self.assertEqual((found["rest"]["read_bytes"], found["rest"]["written_bytes"]), (100, 200))

    def test_v1_hierarchies_of_a_step_may_come_one_after_the_other(self):
        self.start("cgroup-v1")
        for hierarchy in ("cpu,cpuacct", "memory"):
            place = self.root / f"sys/fs/cgroup/{hierarchy}/slurm/uid_1000/job_42"
            shutil.copytree(place / "step_batch", place / "new")
            (place / "new").rename(place / "step_7")
            wait_for(lambda: steps(self.perfd.get("/api/v1/jobs/42").json).get("7"), "step 7")
            seen = self.perfd.metrics()["perfd_samples_total"]
            wait_for(lambda: self.perfd.metrics()["perfd_samples_total"] >= seen + 5, "samples")
        wait_for(lambda: (step := steps(self.perfd.get("/api/v1/jobs/42").json).get("7")) and step["memory_peak_bytes"] == 20000
                 and step["cpu_seconds"] == 1.5, "all numbers of step 7")

    def test_the_report_shows_them_and_a_single_one(self):
        self.start("cgroup-v2")
        shown = self.perfd.perfctl("report", "42").stdout
        for name in ("Steps", "extern", "batch", "0", "in no step"):
            self.assertRegex(shown, rf"(?m)^ *{name} ")
        shown = self.perfd.perfctl("report", "42.0").stdout
        self.assertRegex(shown, r"(?m)^  0 .*1 min 50 s.*1\.98 GiB")
        self.assertNotIn("extern", shown)
        self.assertEqual(json.loads(self.perfd.perfctl("report", "--json", "42.batch").stdout)["cpu_seconds"], 3.444444)
        refused = self.perfd.perfctl("report", "42.9")
        self.assertEqual((refused.returncode, refused.stderr), (1, "perfctl: job 42 has no step '9'\n"))

    def test_reports_of_two_nodes_add_up(self):
        job = self.start("cgroup-v2")
        text = self.perfd.perfctl("report", "--json", "42").stdout
        files = []
        for node in ("cn1", "cn2"):
            job = json.loads(text)
            job["on"]["hostname"], job["labels"] = node, {**job["labels"], "slurm_job": "42"}
            files.append(self.perfd.directory / f"{node}.json")
            files[-1].write_text(json.dumps(job))
        shown = self.perfd.perfctl("report", "--all-nodes", *files).stdout
        self.assertRegex(shown, r"(?m)^  0 .*3 min 40 s.*1\.98 GiB.*1\.72 MiB")


class Groups(GroupTest):
    def start(self, job):
        self.top = self.group()
        self.perfd = self.daemon(self.config(self.top, linger="1h"))
        self.in_job = self.group(name=f"job_{job}", parent=self.top)

    def step(self, name, cpu_seconds):
        step = self.group(name=f"step_{name}", parent=self.in_job)
        process = step.start(cpu_seconds=cpu_seconds)
        step.used(process)
        return step

    def steps(self, job):
        return steps(self.job(self.perfd, job))

    def wait_used(self, job, name, cpu_seconds):
        """Waits until perfd has read what the kernel has counted."""
        wait_for(lambda: self.steps(job).get(name, {}).get("cpu_seconds", 0) >= cpu_seconds, f"step {name} of {job}")

    def test_what_a_step_used_stays_when_it_has_ended(self):
        self.start(31)
        first = self.step("0", 0.2)
        wait_for(lambda: self.perfd.get("/api/v1/jobs/31").status == 200, "job 31")
        truth = first.cpu_seconds()
        self.wait_used(31, "0", truth)
        second = self.step("1", 0.1)
        first.remove()
        wait_for(lambda: self.steps(31)["0"]["end_ms"], "the end of step 0")
        self.wait_used(31, "1", second.cpu_seconds())
        running = self.steps(31)
        self.assertGreaterEqual(running["0"]["cpu_seconds"], truth)
        self.assertIsNone(running["1"]["end_ms"])

        self.perfd.restart()
        self.assertEqual(self.steps(31)["0"], running["0"])
        self.assertEqual(self.steps(31)["1"]["begin_ms"], running["1"]["begin_ms"])
        second.stop()
        with self.perfd.client() as client:
            self.assert_status(client.end("31", 0), "OK")
        ended = self.job(self.perfd, 31)
        self.assertEqual(steps(ended)["0"], running["0"])
        self.assertEqual(steps(ended)["1"]["end_ms"] > 0, True)
        self.assertAlmostEqual(sum(step["cpu_seconds"] for step in ended["steps"]), self.metric(ended, "job_cpu_seconds")["value"])

    def test_steps_beyond_the_limit_are_added_up(self):
        self.start(32)
        lasting = self.step("lasting", 0.1)
        wait_for(lambda: self.perfd.get("/api/v1/jobs/32").status == 200, "job 32")
        for i in range(LIMIT + 5):
            step = self.group(name=f"step_{i}", parent=self.in_job)
            wait_for(lambda: str(i) in self.steps(32), f"step {i}")
            step.remove()
            wait_for(lambda: self.steps(32)[str(i)]["end_ms"], f"the end of step {i}")
        found = self.steps(32)
        self.assertEqual((len(found), found["other"]["n_steps"]), (LIMIT + 2, 6))
        self.assertIsNone(found["lasting"]["end_ms"])
        self.assertGreaterEqual(found["lasting"]["cpu_seconds"], 0.1)
        self.assertRegex(self.perfd.perfctl("report", "32").stdout, r"(?m)^  6 others ")
        lasting.stop()


if __name__ == "__main__":
    unittest.main()
