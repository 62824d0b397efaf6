# SPDX-License-Identifier: Apache-2.0
"""Checks results of models of jobs (of: job), which perfd makes of a job's numbers when the job ends."""

import json
import os
import subprocess
import time

import harness
from harness import PERFCTL, TestCase, wait_for

MODEL = """name: training
of: job
match: {name: 'train-*', labels: {model: 'llama*'}}
parameters: {model: str, gpus: int, fast: bool}
results:
  cpu: {from: job_cpu_seconds, unit: s, direction: lower}
  share: {from: job_cpu_seconds / duration_seconds, direction: higher}
  duration_seconds: {type: float, unit: s, direction: lower}
"""
WAITING = """name: waiting
component: loader
of: job
results:
  waited: {from: pipeline.sink.wait_share, direction: lower}
  busy: {from: 'pipelines[0].decode.busy_share', direction: higher}
"""
BURN = ("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")


class JobResults(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon("[sampling]\ninterval = 100ms\n")

    def register(self, text):
        file = self.temporary_directory() / "model.yaml"
        file.write_text(text)
        done = self.running.perfctl("model", "add", file)
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_job(self, *options, command=BURN, status=0):
        done = subprocess.run([str(PERFCTL), "--socket", str(self.running.socket), "run", "--quiet", *options, "--", *command],
                              capture_output=True, text=True, timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stderr)

    def results(self, name="training"):
        answer = self.running.get(f"/api/v1/indicators/{name}/results")
        self.assertEqual(answer.status, 200, answer.text)
        return answer.json["results"]

    def test_a_result_has_the_metrics_and_labels_of_its_job(self):
        self.register(MODEL)
        self.run_job("--job", "a", "--name", "train-1", "--label", "model=llama3", "--label", "gpus=4", "--label", "fast=true",
                     "--label", "owner=me")
        result, = self.results()
        job = self.running.get("/api/v1/jobs/a").json
        metrics = {metric["key"]: metric.get("value") for metric in job["metrics"]}
        self.assertEqual((result["job"], result["component"], result["time_ms"]), ("a", "job", job["end_ms"]))
        document = result["document"]
        self.assertEqual(document["@parameters"], {"model": "llama3", "gpus": 4, "fast": True})
        self.assertEqual(set(document["@result"]), {"job_cpu_seconds", "duration_seconds"})
        self.assertAlmostEqual(document["@result"]["job_cpu_seconds"], metrics["job_cpu_seconds"])
        self.assertAlmostEqual(result["derived"]["share"]["value"], metrics["job_cpu_seconds"] / metrics["duration_seconds"])
        self.assertIn("model=llama3", self.running.perfctl("kpi", "check", "training.cpu").stdout)
        labels = f'component="job",uid="{os.getuid()}",model="llama3",gpus="4",fast="true"'
        wait_for(lambda: f"perfd_kpi_cpu{{{labels}}} " in self.running.get("/metrics").text, "the series")
        # a label that is not declared is a label of the result
        rows = self.running.get("/api/v1/indicators/training/query?where=label.owner=me&stat=mean:cpu").json
        self.assertEqual(len(rows["groups"]), 1, rows)

    def test_only_jobs_that_fit_have_results(self):
        self.register(MODEL)
        self.run_job("--name", "train-1", "--label", "model=gpt")
        self.run_job("--name", "train-1")
        self.run_job("--name", "other", "--label", "model=llama3")
        self.assertEqual(self.results(), [])
        self.run_job("--name", "train-2", "--label", "model=llama2", command=("sh", "-c", "exit 3"), status=3)
        self.assertEqual([result["exit_status"] for result in self.results()], [3])
        self.running.perfctl("model", "remove", "training")
        self.run_job("--name", "train-2", "--label", "model=llama2")
        self.assertEqual(len(self.results()), 1)

    def test_numbers_of_the_data_pipelines_can_be_used(self):
        self.register(WAITING)
        lines = [{"producer": "spdl 0.8.0"}]
        for minute in range(4):
            time_s = time.time() - 240 + 60 * minute
            lines.append({"stage": "0:0:src_queue", "time": time_s, "elapsed": 60, "num_items": 2400, "ave_put_time": 0.02,
                          "ave_get_time": 0.00001, "occupancy_rate": 0.99})
            lines.append({"stage": "0:1:decode[4]", "time": time_s, "num_tasks": 2400, "num_failures": 0, "ave_time": 0.075,
                          "elapsed": 60})
            lines.append({"stage": "0:2:sink", "time": time_s, "elapsed": 60, "num_items": 2400, "ave_put_time": 0.0001,
                          "ave_get_time": 0.0125, "occupancy_rate": 0.5})
        file = self.temporary_directory() / "lines"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.run_job("--job", "train", command=("sh", "-c", f"{PERFCTL} pipeline submit <{file}"))
        result, = self.results("waiting")
        self.assertAlmostEqual(result["derived"]["waited"]["value"], 0.5)
        self.assertAlmostEqual(result["derived"]["busy"]["value"], 0.75)
        found = json.loads(self.running.perfctl("pipeline", "show", "--json", "train").stdout)["pipelines"][0]
        self.assertAlmostEqual(found["wait_share"], result["derived"]["waited"]["value"])
        self.run_job()
        self.assertEqual(self.results("waiting")[0]["derived"]["waited"]["value"], None)

    def test_a_model_of_a_user_is_about_the_jobs_of_that_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")  # jobs of two users
        file = self.temporary_directory() / "model.yaml"
        file.write_text(WAITING)
        self.running.directory.chmod(0o755)
        other = {"user": 65534, "group": 65534, "extra_groups": []}
        perfctl = self.for_others()
        done = subprocess.run([perfctl, "--socket", self.running.socket, "model", "add", "/dev/stdin"], stdin=file.open(),
                              capture_output=True, text=True, **other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_job("--job", "of-root")
        subprocess.run([perfctl, "--socket", self.running.socket, "run", "--quiet", "--job", "of-other", "--", "true"], check=True, **other)
        self.assertEqual([result["job"] for result in self.results("waiting")], ["of-other"])

    def test_the_result_is_stored_with_the_end(self):
        """Kills perfd as soon as an end is acknowledged."""
        self.register(MODEL)
        for n in range(5):
            self.run_job("--job", f"j{n}", "--name", "train-x", "--label", "model=llama3", command=("true",))
            self.running.kill()
            self.running.start()
            ended = {job["id"] for job in self.running.get("/api/v1/jobs").json["jobs"] if job["state"] == "finished"}
            self.assertEqual({result["job"] for result in self.results()}, ended)
            self.assertEqual(len(ended), n + 1)

    def test_a_late_report_of_an_end_makes_the_result(self):
        self.register(MODEL)
        spool = self.temporary_directory()
        environment = {**os.environ, "PERFD_SOCKET": str(self.running.socket), "PERFD_SPOOL": str(spool)}
        job = subprocess.Popen([str(PERFCTL), "run", "--quiet", "--job", "away", "--name", "train-1", "--label", "model=llama3", "--",
                                "sleep", "1"], env=environment, stderr=subprocess.PIPE)
        wait_for(lambda: self.running.get("/api/v1/jobs/away").status == 200, "the job")
        self.running.kill()
        job.communicate(timeout=harness.TIMEOUT_S)
        self.running.start()
        wait_for(lambda: self.running.get("/api/v1/jobs/away").json["state"] == "interrupted", "the interruption")
        self.assertEqual(self.results(), [])
        flushed = self.running.perfctl("flush", environment={"PERFD_SPOOL": str(spool)})
        self.assertEqual(flushed.returncode, 0, flushed.stdout + flushed.stderr)
        results = self.results()
        self.assertEqual([result["job"] for result in results], ["away"], (flushed, self.running.get("/api/v1/jobs/away").text))
        result = results[0]
        self.assertAlmostEqual(result["document"]["@result"]["duration_seconds"], 1, delta=0.5)

    def test_the_example_of_the_manual(self):
        text = (harness.ROOT / "man" / "perfd-indicators.5").read_text().partition(".Ss Results of jobs")[2]
        self.register(text.partition(".Bd -literal -offset indent\n")[2].partition(".Ed")[0])
        self.run_job("--name", "train-1", "--label", "model=llama3", "--label", "gpus=2")
        derived = self.results()[0]["derived"]
        self.assertGreater(derived["gpu_hours"]["value"], 0)
        self.assertGreater(derived["cpus_used"]["value"], 0)
        self.assertIn("pipeline.sink.wait_share", derived["waited"]["reason"])

    def test_wrong_declarations_are_refused(self):
        for text, words in ((MODEL.replace("of: job", "of: node"), "'node' is not one of job"),
                            (MODEL.replace("of: job\n", ""), "add of: job"),
                            (MODEL.replace("model: 'llama*'", "model: 3"), "must be a pattern in quotation marks"),
                            (MODEL.replace("match: {name", "match: {nme"), "nme")):
            file = self.temporary_directory() / "model.yaml"
            file.write_text(text)
            done = self.running.perfctl("model", "add", file)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    harness.main()
