"""Checks that the cgroup takes precedence over an outdated $PERFD_JOB, and that no results are lost."""

import json
import os
import pathlib
import subprocess
import unittest

import harness
from harness import PERFCTL, indicator
from test_job_groups import GroupTest


class InheritedJob(GroupTest):
    def setUp(self):
        super().setUp()
        self.running = self.daemon(self.CONFIG)

    def perfctl(self, *words, inside=None, inherited="", uid=None, stdin=""):
        """Runs perfctl with this $PERFD_JOB in a group."""
        def enter():
            if inside:
                pathlib.Path(inside.path / "cgroup.procs").write_text("0")
            if uid:
                os.setgid(uid)
                os.setuid(uid)
        directory = self.temporary_directory()
        directory.chmod(0o777)
        environment = {k: v for k, v in os.environ.items() if k != "PERFD_JOB"}
        environment.update({"PERFD_SOCKET": str(self.running.socket), "PERFD_SPOOL": str(directory)})
        if inherited:
            environment["PERFD_JOB"] = inherited
        return subprocess.run([self.for_others() if uid else PERFCTL, *words], input=stdin, text=True, capture_output=True, env=environment,
                              preexec_fn=enter, timeout=harness.TIMEOUT_S)

    def submit(self, name, *words, **more):
        return self.perfctl("submit", *words, "-", stdin=json.dumps(indicator(name)), **more)

    def job_of(self, name):
        results = self.running.get(f"/api/v1/indicators/{name}/results").json["results"]
        self.assertEqual(len(results), 1)
        return results[0]["job"]

    def begun(self, job, group=None, pid=0, **more):
        with self.running.client() as client:
            if group:
                self.assert_status(self.begin(client, job, group.start(), **more), "OK")
            else:
                self.assert_status(client.begin(job, pid=pid, **more), "OK")

    def ended(self, job):
        with self.running.client() as client:
            self.assert_status(client.end(job, 0), "OK")

    def test_results_submitted_in_the_cgroup_of_another_job_belong_to_it(self):
        first, second = self.group(), self.group()
        self.begun("first", first)
        self.begun("second", second)
        done = self.submit("one", inside=second, inherited="first")
        self.assertEqual((done.returncode, done.stdout), (0, "1 stored\n"))
        self.assertEqual(done.stderr, "perfctl: this process is not in the job that $PERFD_JOB names: recorded for 'second', "
                                      "the job of its cgroup; use --job to choose\n")
        self.assertEqual(self.job_of("one"), "second")

        self.ended("first")
        self.assertIn("recorded for 'second'", self.submit("two", inside=second, inherited="first").stderr)
        self.assertEqual(self.job_of("two"), "second")
        self.assertIn("recorded for 'second'", self.submit("three", inside=second, inherited="never-begun").stderr)
        self.assertEqual(self.job_of("three"), "second")

    def test_an_explicit_job_is_used(self):
        first, second = self.group(), self.group()
        self.begun("first", first)
        self.begun("second", second)
        done = self.submit("one", "--job", "first", inside=second, inherited="second")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.job_of("one"), "first")

    def test_no_remark_if_both_agree_or_only_one_is_known(self):
        first = self.group()
        self.begun("first", first)
        for name, inside, inherited in (("one", first, "first"), ("two", None, "first"), ("three", None, "on-another-node")):
            done = self.submit(name, inside=inside, inherited=inherited)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertEqual(self.job_of(name), inherited)

    def test_a_job_without_a_group_is_nearer_when_it_runs_inside_the_other(self):
        outer, other = self.group(), self.group()
        self.begun("outer", outer)
        self.begun("other", other)
        self.begun("script")
        self.begun("tree", pid=outer.start().pid)
        for name, inside, inherited, job in (("one", outer, "tree", "tree"), ("two", other, "tree", "other"),
                                             ("three", outer, "script", "script")):
            self.submit(name, inside=inside, inherited=inherited)
            self.assertEqual(self.job_of(name), job, name)

    def test_a_result_with_the_environment_of_an_ended_job_is_stored_without_a_job(self):
        self.begun("over")
        self.ended("over")
        done = self.submit("late", inherited="over")
        self.assertEqual((done.returncode, done.stdout), (0, "1 stored\n"))
        self.assertEqual(done.stderr,
                         "perfctl: the job that $PERFD_JOB names has ended: recorded without a job; use --job to choose\n")
        self.assertIsNone(self.job_of("late"))
        self.submit("said", "--job", "over", inherited="over")
        self.assertEqual(self.job_of("said"), "over")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to act as several users")
    def test_an_inherited_job_of_another_user_does_not_refuse_a_result(self):
        self.running.socket.chmod(0o666)
        self.running.directory.chmod(0o755)
        self.begun("roots")
        done = self.submit("of-nobody", inherited="roots", uid=1001)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("$PERFD_JOB names a job of another user: recorded without a job", done.stderr)
        self.assertIsNone(self.job_of("of-nobody"))
        self.assertIn("belongs to another user", self.submit("claimed", "--job", "roots", uid=1001).stderr)
        self.assertIn("belongs to another user", self.perfctl("mark", "x", inherited="roots", uid=1001).stderr)

    def test_marks_go_the_same_way(self):
        first, second = self.group(), self.group()
        self.begun("first", first)
        self.begun("second", second)
        done = self.perfctl("mark", "load", "--json", inside=second, inherited="first")
        self.assertEqual(json.loads(done.stdout)["job"], "second")
        self.assertIn("recorded for 'second'", done.stderr)
        done = self.perfctl("time", "train", "--", "true", inside=second, inherited="first")
        self.assertEqual((done.returncode, done.stderr.count("recorded for 'second'")), (0, 1))
        self.running.wait_tick()
        self.assertEqual([p["name"] for p in self.job(self.running, "second")["phases"]], ["", "load", "train", "load"])
        self.assertEqual(self.job(self.running, "first")["phases"], [])

        done = self.perfctl("mark", "load", inherited="over")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the job that $PERFD_JOB names is not running on this node", done.stderr)


if __name__ == "__main__":
    unittest.main()
