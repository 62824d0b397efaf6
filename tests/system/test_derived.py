# SPDX-License-Identifier: Apache-2.0
"""Checks numbers that a model derives from documents: in answers, tables and verdicts, for older results, and without a value."""

import json
import re

from harness import TestCase, wait_for

MODEL = """name: Tuning
component: trainer
parameters:
  gpus: int
  model: {type: str, index: exact}
results:
  tokens: int
  elapsed: {type: float, unit: s, direction: lower}
  rate: {from: tokens / elapsed, unit: tokens/s, direction: higher, format: '{:.1f}'}
  rate_per_gpu: {from: tokens / elapsed / gpus, unit: tokens/s, direction: higher}
  slowest: {from: 'max(benchmarks[].mean)', unit: s, direction: lower}
"""


class Derived(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()

    def document(self, tokens, elapsed, version="1.0.0", model="llama", **more):
        return {"name": "Tuning", "component": "trainer", "version": version, "@parameters": {"gpus": 4, "model": model},
                "@result": {"tokens": tokens, "elapsed": elapsed, "benchmarks": [{"mean": 1.5}, {"mean": elapsed / 10}], **more}}

    def submit(self, *documents):
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(*documents)), "OK")

    def perfctl(self, *words, status=0):
        done = self.running.perfctl(*words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def write(self, text):
        file = self.temporary_directory() / "model.yaml"
        file.write_text(text)
        return file

    def register(self, text=MODEL, status=0):
        done = self.running.perfctl("model", "add", self.write(text))
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def latest(self):
        return self.running.get("/api/v1/indicators/Tuning/results?limit=1").json["results"][0]

    def test_results_stored_before_the_model_have_derived_numbers_and_stay_as_they_were(self):
        document = self.document(1000, 20)
        self.submit(document)
        self.assertEqual(self.latest().get("derived"), None)
        self.register()
        row = self.latest()
        self.assertEqual(row["derived"], {"rate": {"value": 50}, "rate_per_gpu": {"value": 12.5}, "slowest": {"value": 2}})
        self.assertEqual(row["document"], document)
        self.assertRegex(self.perfctl("indicator", "show", "Tuning"), r"(?s)Results\n.*Derived\n  rate +50 tokens/s, higher is better\n")
        self.register(MODEL.replace("tokens / elapsed,", "2 * tokens / elapsed,"))
        self.assertEqual(self.latest()["derived"]["rate"], {"value": 100})
        self.assertEqual(self.latest()["document"], document)
        self.running.restart()
        self.assertEqual(self.latest()["derived"]["rate"], {"value": 100})

    def test_a_number_that_cannot_be_computed_is_null_with_a_reason(self):
        self.register()
        self.submit(self.document(1000, 10), {**self.document(7, 0), "@parameters": {"model": "llama"}})
        derived = self.running.get("/api/v1/indicators/Tuning/results").json["results"][0]["derived"]
        self.assertEqual(derived["rate"], {"value": None, "reason": "division by zero at column 8"})
        self.assertEqual(derived["rate_per_gpu"]["reason"], "division by zero at column 8")
        self.assertIn("none: division by zero at column 8", self.perfctl("indicator", "show", "Tuning"))
        group, = json.loads(self.perfctl("indicator", "query", "Tuning", "-s", "mean:rate", "--json"))["groups"]
        self.assertEqual((group["n"], list(group["values"].values())), (2, [100]))
        self.submit({**self.document(7, 1), "@parameters": {"model": "llama"}})
        self.assertEqual(self.latest()["derived"]["rate_per_gpu"], {"value": None, "reason": "'gpus' is missing"})

    def test_questions_about_derived_numbers_agree_with_the_documents(self):
        self.register()
        self.submit(*[self.document(100 * i, 10, model=model) for i in range(1, 6) for model in ("llama", "granite")])
        self.submit(self.document(2000, 10, model="granite"))
        answer = json.loads(self.perfctl("indicator", "query", "Tuning", "-w", "model=granite", "-s", "max:rate,median:elapsed", "--json"))
        self.assertEqual(list(answer["groups"][0]["values"].values()), [200, 10])
        self.assertEqual(answer["groups"][0]["n"], 6)
        ranked = self.perfctl("indicator", "rank", "Tuning", "--objective", "rate", "--by", "model")
        self.assertRegex(ranked, r"(?s)higher is better.*granite +6 +35 .*llama +5 +30 ")
        self.assertRegex(self.perfctl("kpi", "list"), r"(?m)^rate +trainer gpus=4 model=granite +200\.0 tokens/s")

    def test_a_scrape_has_the_newest_derived_number(self):
        self.register()
        self.submit(self.document(2000, 10, model="granite"))
        series = r"(?m)^perfd_kpi_rate\{component=\"trainer\",(.*)\} (.*)$"
        found = wait_for(lambda: re.findall(series, self.running.get("/metrics").text), "rate")
        self.assertEqual([value for labels, value in found if 'model="granite"' in labels], ["200"])

    def test_a_regression_of_a_derived_number_is_found(self):
        self.register()
        self.submit(*[self.document(1000 * (1 + noise / 100) * (0.7 if minor > 8 else 1), 10, f"1.{minor}.0")
                      for minor in range(11) for noise in (-0.5, 0.1, 0.4)])
        answer = json.loads(self.perfctl("kpi", "check", "Tuning.rate", "--json", status=4))
        self.assertEqual((answer["kpis"][0]["since_version"], answer["kpis"][0]["unit"]), ("1.9.0", "tokens/s"))
        self.assertIn("Tuning.rate_per_gpu", self.perfctl("kpi", "check", status=4))

    def test_a_batch_has_derived_columns(self):
        self.register()
        script = self.temporary_directory() / "tune.sh"
        script.write_text("#!/bin/sh\necho '" + json.dumps(self.document(1000, 10)) + "'\n")
        script.chmod(0o755)
        self.perfctl("run", "--repeat", "3", "--", str(script))
        batch = self.latest()["batch"]
        answer = json.loads(self.perfctl("indicator", "show", "--batch", batch, "--json"))
        self.assertEqual((answer["statistics"]["rate"]["n"], answer["statistics"]["rate"]["median"]), (3, 100))
        self.assertEqual(answer["units"]["rate"], "tokens/s")

    def test_errors_are_named_when_the_model_is_read(self):
        self.assertRegex(self.register(MODEL.replace("tokens / elapsed,", "tokens /,"), status=1),
                         r"model.yaml:9:10: results\.rate\.from: column 9: the expression ends")
        self.assertIn("column 1: 'rate' is a derived number, too", self.register(MODEL.replace("tokens / elapsed / gpus", "rate / gpus"),
                                                                               status=1))
        self.register()
        schema = json.loads(self.perfctl("model", "schema", "--format", "json", self.write(MODEL)))
        rate, = (entry for entry in schema["models"][0]["results"] if entry["name"] == "rate")
        self.assertEqual(rate["from"], "tokens / elapsed")
