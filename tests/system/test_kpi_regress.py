# SPDX-License-Identifier: Apache-2.0
"""Checks verdicts about the newest version with perfctl."""

import json
import unittest

from harness import ROOT, TestCase

NOISE = (0.2, -0.7, 1.1, -0.4, 0.8, -1, 0.1, 0.5, -0.3)


class KpiRegress(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon(f"[indicators]\ndirectory = {ROOT}/conf/indicators.d\n")

    def submit(self, levels, component="tensorflow"):
        """levels: the rate of each minor version, each with three runs."""
        documents = [{"name": "PiMatmul", "component": component, "version": f"2.{minor}.0",
                      "@parameters": {"matrix_size": 512, "dtype": "float32", "reps": 50, "device": "cpu"},
                      "@result": {"rate": level * (1 + NOISE[(3 * minor + i) % 9] / 100), "elapsed": 10}}
                     for minor, level in enumerate(levels) for i in range(3)]
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(*documents)), "OK")

    def regress(self, *words, status=0):
        done = self.running.perfctl("kpi", "regress", *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status != 1 and status != 2 else done.stderr

    def test_a_regression_fails_with_its_version(self):
        self.submit([100] * 10 + [80] * 2)
        text = self.regress("PiMatmul.rate", status=4)
        self.assertRegex(text, r"PiMatmul\.rate .*regression +-\d+\.\d %.*2\.10\.0")
        self.assertIn("1 KPIs: 1 regression", text)
        answer = json.loads(self.regress("PiMatmul.rate", "--json", status=4))
        kpi = answer["kpis"][0]
        self.assertTrue(kpi["low"] < -0.2 + 0.02 and -0.2 - 0.02 < kpi["high"] and kpi["low"] <= kpi["relative_change"] <= kpi["high"])
        self.assertEqual((kpi["direction"], kpi["unit"], kpi["since_version"], kpi["version"]), ("higher", "GFLOP/s", "2.10.0", "2.11.0"))
        self.assertEqual(json.loads(self.regress("PiMatmul.rate", "--json", status=4)), answer)
        self.regress("PiMatmul.rate", "--fail-on", "none")
        self.regress("PiMatmul.rate", "--fail-on", "improvement,no-verdict")

    def test_an_earlier_version_is_judged_without_the_later_ones(self):
        self.submit([100] * 10 + [80] * 2)
        text = self.regress("PiMatmul.rate", "--current", "2.9.0")
        self.assertIn("inline", text)
        self.assertIn("Left out: 6 runs of versions later", text)
        self.assertIn("no selected result of PiMatmul has the version '9.9.9'", self.regress("PiMatmul", "--current", "9.9.9", status=1))

    def test_too_few_runs_have_no_verdict(self):
        self.submit([100])
        self.assertIn("unknown", self.regress("PiMatmul.rate"))
        self.assertIn("2 more runs are needed", self.regress("PiMatmul.rate", "--fail-on", "regression,no-verdict", status=5))

    def use_model(self, text):
        path = self.running.directory / "model.yaml"
        path.write_text(text)
        done = self.running.perfctl("indicator", "register", path)
        self.assertEqual(done.returncode, 0, done.stderr)

    def submit_loads(self, levels, users=(4,), component="serving"):
        documents = [{"name": "Load", "component": component, "@parameters": {"image": f"v{build}", "virtual_users": n, "node": f"n{build}",
                                                                    "run_id": f"{build}"},
                      "@result": {"rate": level * (1 + NOISE[build % 9] / 100), "warmup": level / 2}}
                     for build, level in enumerate(levels) for n in users]
        with self.running.client() as client:
            for document in documents:
                self.assert_status(client.call(client.submit_request(document)), "OK")

    def test_the_model_says_what_is_compared(self):
        self.use_model("name: Load\ncompare_by: [image]\nignore: [node]\nsort_by: [virtual_users]\n"
                       "ignore_entries: {virtual_users: [8, 16]}\n"
                       "results:\n  rate: {type: float, direction: higher}\n"
                       "  warmup: {type: float, direction: higher, ignored_for_regression: true}\n")
        self.submit_loads([100] * 10 + [70] * 5, users=(32, 4, 8))
        answer = json.loads(self.regress("Load", "--json", status=4))
        self.assertEqual([(kpi["kpi"], kpi["labels"]["parameters"]) for kpi in answer["kpis"]],
                         [("Load.rate", {"virtual_users": 4}), ("Load.rate", {"virtual_users": 32})])
        self.assertEqual([(kpi["verdict"], kpi["since_version"], kpi["order"]) for kpi in answer["kpis"]],
                         [("regression", "v10", "time")] * 2)
        self.assertEqual(json.loads(self.regress("rate", "--json", status=4))["kpis"], answer["kpis"])
        self.assertEqual(json.loads(self.regress("Load.r*", "--json", status=4))["kpis"], answer["kpis"])
        self.assertEqual(len(json.loads(self.regress("Load.warmup", "--json", status=4))["kpis"]), 2)
        text = self.regress("Load", "--ignore-entry", "virtual_users=32", "--ignore", "virtual_users,node", "--json", status=4)
        kpis = json.loads(text)["kpis"]
        self.assertEqual([kpi["labels"]["parameters"] for kpi in kpis], [{}])

    def test_all_kpis_are_judged_in_one_request(self):
        self.use_model("name: Load\ncompare_by: [image]\nignore: [node]\nresults:\n  rate: {type: float, direction: higher}\n")
        self.submit([100] * 10)
        self.submit_loads([100] * 10 + [70] * 5)
        answer = json.loads(self.regress("--json", status=4))
        self.assertEqual([(kpi["kpi"], kpi["verdict"]) for kpi in answer["kpis"]],
                         [("Load.rate", "regression"), ("PiMatmul.elapsed", "inline"), ("PiMatmul.rate", "inline")])
        self.assertIn("'rate' is a result of Load and of PiMatmul", self.regress("rate", status=1))

    def test_prereleases_come_before_their_release(self):
        versions = ["2.8.0", "2.9.0", "2.10.0-rc1", "2.10.0-rc2", "2.10.0", "2.11.0"]
        with self.running.client() as client:
            for version in reversed(versions):
                for i in range(3):
                    level = 100 if versions.index(version) < 3 else 150
                    self.assert_status(client.call(client.submit_request(
                        {"name": "PiMatmul", "component": "jax", "version": version, "@parameters": {"matrix_size": 512},
                         "@result": {"rate": level * (1 + NOISE[3 * versions.index(version) % 9 + i] / 100)}})), "OK")
        kpi = json.loads(self.regress("PiMatmul.rate", "--current", "2.11.0", "--json"))["kpis"][0]
        self.assertEqual((kpi["verdict"], kpi["since_version"], kpi["order"], kpi["runs"]), ("improvement", "2.10.0-rc2", "semver", 18))

    def test_wrong_requests_say_what_is_right(self):
        self.submit([100])
        self.assertIn("did you mean rate?", self.regress("PiMatmul.ratte", status=1))
        self.assertIn("'nothing'", self.regress("PiMatmul", "--compare-by", "nothing", status=1))
        self.assertIn("--fail-on expects", self.regress("PiMatmul", "--fail-on", "anything", status=2))


if __name__ == "__main__":
    unittest.main()
