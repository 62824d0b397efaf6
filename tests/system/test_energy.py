"""Checks the energy of the node and of its jobs on a machine whose meters and CPU times the test sets, with real cgroups of jobs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import harness
from harness import PERFCTL, TIMEOUT_S

POWERCAP = "sys/class/powercap"
RANGE_UJ = 262143328850
WIDTH_UJ = 262143328912
CONFIG = "[sampling]\ninterval = 100ms\n"
# Uses as much CPU time as each line says.
WORK = """
import sys, time
for line in sys.stdin:
    end = time.process_time() + float(line)
    while time.process_time() < end:
        pass
    print("done", flush=True)
"""
MODEL = """name: training
of: job
parameters: {tokens: int}
results:
  joules_per_million: {from: job_energy_joules / tokens * 1000000, unit: J, direction: lower}
"""


def manual_example(page, first):
    """The example of a manual page that begins with a line."""
    text = (harness.ROOT / "man" / page).read_text()
    return text[text.index(f"\n{first}\n") + 1:].split(".Ed")[0]


class Energy(harness.TestCase):
    def begin(self, has_meters=True):
        self.machine = harness.Machine(self.temporary_directory())
        if has_meters:
            shutil.copytree(f"tests/data/trees/rapl/{POWERCAP}", self.machine.directory / POWERCAP)
            self.uj = int((self.machine.directory / POWERCAP / "intel-rapl:0/energy_uj").read_text())
        self.node = self.daemon(CONFIG, root=self.machine.directory)

    def start_job(self, name="job"):
        job = subprocess.Popen([str(PERFCTL), "run", "--quiet", "--job", name, "--isolation", "cgroup", "--label", "tokens=5000000", "--",
                                sys.executable, "-I", "-S", "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PERFD_SOCKET": str(self.node.socket)})
        self.addCleanup(lambda: (job.stdin.close(), job.wait(TIMEOUT_S), job.stdout.close()))
        self.work(job, 0.001)
        if self.job(name)["isolation"] != "cgroup":
            self.skipTest("no cgroup on this machine")
        return job

    def work(self, job, cpu_s):
        job.stdin.write(f"{cpu_s}\n")
        job.stdin.flush()
        self.assertEqual(job.stdout.readline(), "done\n")

    def set(self, joules, busy_s):
        """The meter of package 0, of which the file is replaced as a whole, and the CPU time of all processes."""
        self.uj = (self.uj + int(joules * 1e6)) % WIDTH_UJ
        self.assertLessEqual(self.uj, RANGE_UJ)
        (self.machine.directory / POWERCAP / "intel-rapl:0/energy_uj").write_text(f"{self.uj}\n")
        self.machine.update(user_ticks=self.machine.user_ticks + round(busy_s * 100))

    def pass_time(self, job, joules, cpu_s, busy_s):
        """All happens between two samples."""
        os.kill(self.node.process.pid, signal.SIGSTOP)
        try:
            self.work(job, cpu_s)
            self.set(joules, busy_s)
        finally:
            os.kill(self.node.process.pid, signal.SIGCONT)
        self.node.wait_tick()
        self.node.wait_tick()

    def job(self, name="job"):
        return self.node.get(f"/api/v1/jobs/{name}").json

    def number(self, key, job=None):
        return next(m["value"] for m in (job or self.job())["metrics"] if m["key"] == key)

    def test_a_job_has_a_share_of_the_energy_by_cpu_time(self):
        self.begin()
        job = self.start_job()
        self.node.wait_tick()
        before = self.job()
        self.pass_time(job, 100, 0.2, 0.5)
        after = self.job()
        cpu_s = self.number("job_cpu_seconds", after) - self.number("job_cpu_seconds", before)
        energy_j = self.number("job_energy_joules", after) - self.number("job_energy_joules", before)
        self.assertAlmostEqual(energy_j, 100 * cpu_s / 0.5, delta=0.5)
        self.assertEqual(next(m for m in after["metrics"] if m["key"] == "job_energy_joules")["quality"], "sampled")
        self.assertEqual(self.number("total_energy_joules", after), 100)  # over a wrap
        self.assertEqual(next(m for m in after["metrics"] if m["key"] == "total_energy_joules")["quality"], "exact")

        report = self.node.perfctl("report", "job").stdout
        energy_j = self.number("job_energy_joules", after)
        self.assertRegex(report, rf"\n  energy +{energy_j:.0f} J~ of 100 J of the node's processors and memory\n")

        metrics = self.node.metrics()
        self.assertAlmostEqual(metrics['perfd_job_energy_joules_total{job="job",scope="job"}'], energy_j, 3)
        self.assertEqual(metrics['perfd_node_energy_joules_total{meter="package-0"}'], 262143.3 + 100)
        self.assertEqual(metrics['perfd_node_energy_joules_total{meter="psys"}'], 777)

    def test_joules_per_million_tokens_are_a_kpi(self):
        self.begin()
        model = self.temporary_directory() / "model.yaml"
        model.write_text(MODEL)
        self.assertEqual(self.node.perfctl("model", "add", model).returncode, 0)
        job = self.start_job()
        self.node.wait_tick()
        self.pass_time(job, 10, 0.1, 0.1)
        job.stdin.close()
        job.wait(TIMEOUT_S)
        result, = self.node.get("/api/v1/indicators/training/results").json["results"]
        energy_j = self.number("job_energy_joules")
        self.assertGreater(energy_j, 9)
        self.assertAlmostEqual(result["derived"]["joules_per_million"]["value"], energy_j / 5)

    def submit(self, tokens, *words):
        document = json.dumps({"name": "Epoch", "component": "x", "@parameters": {}, "@result": {"tokens": tokens}})
        done = self.node.perfctl("submit", "--job", "job", "--energy", *words, stdin=document)
        self.assertEqual((done.returncode, done.stdout), (0, "1 stored\n"), done.stderr)
        return self.node.get("/api/v1/indicators/Epoch/results?limit=1").json["results"][0], done.stderr

    def test_a_result_has_the_energy_since_the_last(self):
        self.begin()
        model = self.temporary_directory() / "model.yaml"
        model.write_text(manual_example("perfd-indicators.5", "name: Epoch"))
        self.assertEqual(self.node.perfctl("model", "add", model).returncode, 0)
        job = self.start_job()
        self.node.wait_tick()
        self.pass_time(job, 10, 0.1, 0.1)
        first, said = self.submit(5000000)
        self.assertEqual(said, "")
        self.assertAlmostEqual(first["document"]["@result"]["energy_joules"], self.number("job_energy_joules"))
        self.pass_time(job, 40, 0.1, 0.1)
        total_j = self.number("job_energy_joules")
        result, _ = self.submit(2000000)
        energy_j = result["document"]["@result"]["energy_joules"]
        self.assertAlmostEqual(result["document"]["@result"]["energy_total_joules"], total_j)
        self.assertAlmostEqual(energy_j, total_j - first["document"]["@result"]["energy_joules"])
        self.assertGreater(energy_j, 39)
        self.assertAlmostEqual(result["derived"]["joules_per_million"]["value"], energy_j / 2)
        self.assertEqual(self.node.metrics()["perfd_indicator_deviations_total"], 0)
        others = 100 * (json.dumps({"name": "Other", "component": "x", "@parameters": {}, "@result": {"a": 1}}) + "\n")
        self.assertEqual(self.node.perfctl("submit", "--job", "job", stdin=others).returncode, 0)
        result, said = self.submit(1)
        self.assertEqual((result["document"]["@result"], said),
                         ({"tokens": 1}, "perfctl: no energy: none of the last 100 results of the job has it\n"))
        document = '{"name": "Epoch", "component": "x", "@parameters": {}, "@result": {"a": 1}}\n'
        two = self.node.perfctl("submit", "--job", "job", "--energy", stdin=2 * document)
        self.assertEqual(two.returncode, 1)
        self.assertIn("--energy is that of one document: submit each when it was measured", two.stderr)

    def test_a_result_without_meters_has_no_energy_and_the_reason(self):
        self.begin(has_meters=False)
        self.start_job()
        self.node.wait_tick()
        result, said = self.submit(1)
        self.assertEqual(result["document"]["@result"], {"tokens": 1})
        self.assertRegex(said, "no energy: processors and memory: .+")
        done = self.node.perfctl("submit", "--energy", stdin='{"name": "Epoch", "component": "x", "@parameters": {}, "@result": {"a": 1}}',
                                 environment={"PERFD_JOB": "", "SLURM_JOB_ID": ""})
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "no energy: .+")

    def test_phases_add_up_and_a_restart_loses_nothing(self):
        self.begin()
        job = self.start_job()
        self.node.wait_tick()
        self.pass_time(job, 10, 0.1, 0.1)
        self.node.perfctl("mark", "--job", "job", "second")
        self.pass_time(job, 50, 0.1, 0.2)
        used_j = self.number("job_energy_joules")
        self.node.kill()
        self.work(job, 0.2)
        self.set(1000, 0.4)
        self.node.start()
        self.node.wait_tick()
        self.node.wait_tick()
        gained_j = self.number("job_energy_joules") - used_j
        self.assertGreater(gained_j, 450)
        self.assertLess(gained_j, 600)
        self.pass_time(job, 20, 0.1, 0.1)
        job.stdin.close()
        job.wait(TIMEOUT_S)

        ended = self.job()
        parts = [self.number("job_energy_joules", phase) for phase in ended["phases"]]
        self.assertEqual(len(parts), 2)
        self.assertAlmostEqual(sum(parts), self.number("job_energy_joules", ended), 6)
        self.assertAlmostEqual(self.number("total_energy_joules", ended), 1080, 6)
        self.assertLessEqual(self.number("job_energy_joules", ended), 1080)

    def test_without_meters_nothing_is_shown_and_the_doctor_says_why(self):
        self.begin(has_meters=False)
        self.start_job()
        self.node.wait_tick()
        self.assertNotIn("energy", json.dumps(self.job()))
        self.assertNotIn("energy", self.node.get("/metrics").text)
        self.assertNotIn("energy", json.dumps(self.node.get("/api/v1/node").json))
        self.assertIn("no meter: a virtual machine", self.node.perfctl("doctor").stdout)

    def test_a_meter_that_cannot_be_read_is_absent_with_the_reason(self):
        self.begin()
        (self.machine.directory / POWERCAP / "intel-rapl:0/energy_uj").unlink()
        self.node.restart()
        self.start_job()
        self.node.wait_tick()
        self.assertEqual({a["reason"] for a in self.job()["absent"] if "energy" in a["key"] and "gpu" not in a["key"]},
                         {"Not readable at the start or the end."})
        said = " ".join(self.node.perfctl("doctor").stdout.split())
        self.assertIn("intel-rapl:0/energy_uj: No such file or directory", said)
        self.assertIn("no energy of the node and of jobs", said)


if __name__ == "__main__":
    unittest.main()
