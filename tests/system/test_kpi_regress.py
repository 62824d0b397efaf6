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

    def test_wrong_requests_say_what_is_right(self):
        self.submit([100])
        self.assertIn("did you mean rate?", self.regress("PiMatmul.ratte", status=1))
        self.assertIn("'nothing'", self.regress("PiMatmul", "--compare-by", "nothing", status=1))
        self.assertIn("--fail-on expects", self.regress("PiMatmul", "--fail-on", "anything", status=2))


if __name__ == "__main__":
    unittest.main()
