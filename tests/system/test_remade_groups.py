"""Checks groups that are detected late, or recreated with the same name: their numbers and their jobs."""

import contextlib
import os
import sqlite3
import unittest

import harness
from harness import indicator, wait_for
from test_job_groups import NOBODY, GroupTest


class RemadeGroups(GroupTest):
    def config(self, top, linger="0"):
        return super().config(top, linger).replace("[jobs]\n", "[jobs]\ncheckpoint_interval = 1s\n")

    def jobs(self, daemon):
        return {job["id"]: job for job in daemon.get("/api/v1/jobs").json["jobs"]}

    def found(self, daemon, job):
        return wait_for(lambda: (r := daemon.get(f"/api/v1/jobs/{job}")).status == 200 and r.json, f"job {job}")

    def later(self, daemon, job):
        """Returns the job that was detected with the id of an earlier job."""
        return wait_for(lambda: next((j for i, j in self.jobs(daemon).items() if i.startswith(f"{job}.")), None), "the later job")

    def pressure(self, group):
        """Returns the seconds in which at least one task waited for a CPU, from the kernel."""
        return int((group.path / "cpu.pressure").read_text().split("total=")[1].split()[0]) / 1e6

    def remake(self, group, top, cpu_seconds):
        """Recreates the group with another process. Returns the CPU seconds of the first group."""
        used = group.cpu_seconds()
        group.remove()
        again = self.group(name=group.path.name, parent=top)
        again.used(again.start(cpu_seconds=cpu_seconds))
        return again, used

    def test_pressure_before_a_job_was_found_is_not_counted(self):
        top = self.group()
        group = self.group(name="job_31", parent=top)
        if not (group.path / "cpu.pressure").exists():
            self.skipTest("no pressure of cgroups here")
        many = [group.start(cpu_seconds=0.4) for _ in range(2 * os.cpu_count() + 1)]
        for process in many:
            group.used(process)
        before = self.pressure(group)
        self.assertGreater(before, 0.2)
        daemon = self.daemon(self.config(top))
        self.found(daemon, "31")
        truth = group.cpu_seconds()
        with daemon.client() as client:
            self.assert_status(client.end("31", 0), "OK")
        job, after = self.job(daemon, "31"), self.pressure(group)
        self.assertLessEqual(self.metric(job, "job_psi_cpu_some_seconds")["value"], after - before + 1e-6)
        self.assertGreaterEqual(self.metric(job, "job_cpu_seconds")["value"], truth - 1e-6)

    def test_a_group_recreated_while_perfd_was_down_is_another_job(self):
        top = self.group()
        daemon = self.daemon(self.config(top))
        group = self.group(name="job_32", parent=top)
        group.used(group.start(cpu_seconds=0.3))
        self.found(daemon, "32")
        daemon.kill()
        again, _ = self.remake(group, top, 0.1)
        daemon.start()
        job = self.wait_state(daemon, "32", "interrupted")
        self.assertEqual(job["note"], "the job ended while perfd was down; the metrics of the node end at the last sample before, "
                                      "and those of the job at the last kept sample, because its cgroup was removed")
        later = self.later(daemon, "32")
        self.assertEqual(later["state"], "running")
        again.stop()
        later = self.wait_state(daemon, later["id"], "finished")
        self.assertAlmostEqual(self.metric(later, "job_cpu_seconds")["value"], again.cpu_seconds(), delta=0.001)

    def test_the_next_step_of_a_begun_job_belongs_to_it_after_a_restart(self):
        top = self.group()
        daemon = self.daemon(self.config(top, linger="1h"))
        with daemon.client() as client:
            self.assert_status(client.begin("33"), "OK")
        group = self.group(name="job_33", parent=top)
        process = group.start(cpu_seconds=0.3)
        wait_for(lambda: self.job(daemon, "33")["cgroup"], "its cgroup")
        group.used(process)
        daemon.stop()  # with a last checkpoint
        again, used = self.remake(group, top, 0.1)
        daemon.start()
        job = self.job(daemon, "33")
        self.assertEqual(job["state"], "running")
        self.assertIn("its cgroup was recreated while perfd was down", job["note"])
        with daemon.client() as client:
            self.assert_status(client.end("33", 0), "OK")
        seconds = self.metric(self.job(daemon, "33"), "job_cpu_seconds")
        self.assertEqual(seconds["quality"], "sampled")
        self.assertAlmostEqual(seconds["value"], used + again.cpu_seconds(), delta=0.02)
        self.assertEqual(set(self.jobs(daemon)), {"33"})

    def counters(self, daemon, job):
        metrics = harness.parse_metrics(daemon.get("/metrics?collect[]=jobs").text)
        return {s: v for s, v in metrics.items() if f'{{job="{job}",scope="job"' in s and s.split("{")[0].endswith("_total")}

    def assert_counters_continue(self, daemon, job, before):
        """Checks that no counter went back, at the start and while the job goes on."""
        for _ in range(2):
            after = self.counters(daemon, job)
            self.assertEqual({s: (v, after.get(s)) for s, v in before.items() if after.get(s, -1) < v}, {})
            daemon.wait_tick()

    def test_counters_of_a_job_of_several_steps_continue_after_a_kill(self):
        top = self.group()
        daemon = self.daemon(self.config(top, linger="1h").replace("interval = 1s", "interval = 10min"))
        with daemon.client() as client:
            self.assert_status(client.begin("36"), "OK")
        group = self.group(name="job_36", parent=top)
        group.used(group.start(cpu_seconds=0.4))
        wait_for(lambda: self.counters(daemon, "36").get('perfd_job_cpu_seconds_total{job="36",scope="job"}', 0) >= 0.4, "its CPU time")
        again, _ = self.remake(group, top, 0.1)
        daemon.wait_tick()
        for end in (daemon.kill, daemon.stop):
            before = self.counters(daemon, "36")
            self.assertGreaterEqual(before['perfd_job_cpu_seconds_total{job="36",scope="job"}'], 0.5)
            end()
            daemon.start()
            self.assert_counters_continue(daemon, "36", before)
        before = self.counters(daemon, "36")
        daemon.kill()
        last, _ = self.remake(again, top, 0.1)
        daemon.start()
        self.assert_counters_continue(daemon, "36", before)
        with daemon.client() as client:
            self.assert_status(client.end("36", 0), "OK")
        seconds = self.metric(self.job(daemon, "36"), "job_cpu_seconds")["value"]
        cpu = before['perfd_job_cpu_seconds_total{job="36",scope="job"}']
        self.assertAlmostEqual(seconds, cpu + last.cpu_seconds(), delta=0.001)

    def test_a_group_recreated_while_its_job_is_stored_is_another_job(self):
        top = self.group()
        daemon = self.daemon(self.config(top))
        group = self.group(name="job_34", parent=top)
        group.used(group.start(cpu_seconds=0.05))
        self.found(daemon, "34")
        with daemon.client() as client, contextlib.closing(sqlite3.connect(daemon.state / "perfd.db", isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            request = client.request()
            request.job_end.job = "34"
            client.send(request)
            wait_for(lambda: daemon.metrics()["perfd_store_queue_rows"] > 0, "its end on the way to the disk")
            again, _ = self.remake(group, top, 0.1)
            daemon.wait_tick()
            database.execute("ROLLBACK")
            self.assert_status(client.receive(), "OK")
        later = self.later(daemon, "34")
        self.assertEqual(later["state"], "running")
        again.stop()
        later = self.wait_state(daemon, later["id"], "finished")
        self.assertAlmostEqual(self.metric(later, "job_cpu_seconds")["value"], again.cpu_seconds(), delta=0.001)

    @unittest.skipIf(os.geteuid() != 0, "needs root, to act as several users")
    def test_a_detected_job_keeps_the_owner_who_began_it_after_a_restart(self):
        top = self.group()
        daemon = self.daemon(self.config(top, linger="1h"))
        daemon.directory.chmod(0o755)
        self.group(name="job_35", parent=top).start()
        self.assertIsNone(self.found(daemon, "35")["uid"])
        with daemon.client() as root:
            self.assert_status(root.begin("35", uid=NOBODY), "DUPLICATE")
        daemon.kill()
        daemon.start()
        self.assertEqual(self.job(daemon, "35")["uid"], NOBODY)
        os.seteuid(NOBODY)
        try:
            nobody = daemon.client()
        finally:
            os.seteuid(0)
        with nobody:
            self.assert_status(nobody.submit(indicator("of-35"), job="35"), "OK")
            self.assert_status(nobody.end("35", 0), "OK")


if __name__ == "__main__":
    unittest.main()
