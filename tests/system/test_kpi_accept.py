# SPDX-License-Identifier: Apache-2.0
"""Accepts new levels of KPIs with perfctl, as an administrator and as a user."""

import json
import os
import subprocess
import unittest

from harness import ROOT, TIMEOUT_S, TestCase

NOBODY = 65534
NOISE = (0.2, -0.7, 1.1, -0.4, 0.8, -1, 0.1, 0.5, -0.3)


class KpiAccept(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon(f"[indicators]\ndirectory = {ROOT}/conf/indicators.d\n")

    def submit(self, levels, first=0, size=512):
        """levels: the rate of each minor version, each with three runs."""
        documents = [{"name": "PiMatmul", "component": "tensorflow", "version": f"2.{minor}.0",
                      "@parameters": {"matrix_size": size, "dtype": "float32", "reps": 50, "device": "cpu"},
                      "@result": {"rate": level * (1 + NOISE[(3 * minor + i) % 9] / 100), "elapsed": 10}}
                     for minor, level in enumerate(levels, first) for i in range(3)]
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(*documents)), "OK")

    def kpi(self, *words, status=0, user=None):
        if user is None:
            done = self.running.perfctl("kpi", *words)
        else:
            self.running.directory.chmod(0o755)
            done = subprocess.run([self.for_others(), "kpi", *words], user=user, cwd="/", text=True, capture_output=True,
                                  timeout=TIMEOUT_S, env={**os.environ, "PERFD_SOCKET": str(self.running.socket), "NO_COLOR": "1"})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def regress(self, status=0, **more):
        return {kpi["labels"]["parameters"]["matrix_size"]: kpi
                for kpi in json.loads(self.kpi("check", "PiMatmul.rate", "--json", status=status, **more))["kpis"]}

    def test_a_new_level_is_accepted_and_survives_a_crash(self):
        self.submit([100] * 10 + [80] * 2)
        self.assertEqual(self.regress(status=4)[512]["verdict"], "regression")
        self.assertIn("PiMatmul.rate of tensorflow", text := self.kpi("accept", "rate", "--note", "slower, but exact"))
        self.assertRegex(text, r": accepted 79\.76 GFLOP/s at 2\.11\.0\n$")
        self.running.kill()
        self.running.start()
        first = self.kpi("check", "PiMatmul.rate", "--json")
        self.assertEqual(self.kpi("check", "PiMatmul.rate", "--json"), first)
        kpi = json.loads(first)["kpis"][0]
        self.assertEqual((kpi["verdict"], kpi["runs"], kpi["excluded"]["accepted"]), ("no change", 6, 30))
        self.assertEqual((kpi["accepted"]["version"], kpi["accepted"]["uid"], kpi["accepted"]["for_all"], kpi["accepted"]["note"]),
                         ("2.11.0", os.getuid(), os.getuid() == 0, "slower, but exact"))
        self.assertIn(f"baseline: level of 2.11.0, accepted by {'root' if os.getuid() == 0 else ''}",
                      shown := " ".join(self.kpi("check", "PiMatmul.rate").split()))
        self.assertIn("slower, but exact", " ".join(shown.split()))
        self.assertIn("30 runs before the baseline ignored", shown)
        self.assertNotIn("@accepted", self.running.perfctl("model", "list").stdout)

        self.submit([60] * 2, first=12)
        kpi = self.regress(status=4)[512]
        self.assertEqual((kpi["verdict"], kpi["since_version"]), ("regression", "2.12.0"))
        self.assertAlmostEqual(kpi["relative_change"], -0.25, delta=0.02)

        self.assertRegex(self.kpi("accept", "--list"), r"PiMatmul\.rate +- .* slower, but exact")
        self.assertIn("no level of other is accepted", self.kpi("accept", "--remove", "other", status=1))
        self.assertEqual(self.kpi("accept", "--remove", "PiMatmul.rate"), "PiMatmul.rate (-): no longer accepted\n")
        self.assertEqual(self.regress(status=4)[512]["excluded"]["accepted"], 0)
        self.assertIn("no level is accepted", self.kpi("accept", "--list"))

    def test_an_unchanged_history_keeps_its_level(self):
        self.submit([100] * 10 + [80] * 2)
        self.submit([100] * 12, size=1024)
        text = self.kpi("accept", "PiMatmul.rate")
        self.assertRegex(text, r"matrix_size=512 reps=50: accepted 79\.76 GFLOP/s at 2\.11\.0\n")
        self.assertRegex(text, r"matrix_size=1024 reps=50: unchanged\n")
        kpis = self.regress()
        self.assertEqual((kpis[512]["runs"], kpis[512]["excluded"]["accepted"]), (6, 30))
        self.assertEqual((kpis[1024]["runs"], kpis[1024]["excluded"]["accepted"]), (36, 0))
        self.assertNotIn("accepted", kpis[1024])
        self.kpi("accept", "--remove", "PiMatmul.rate")
        self.assertRegex(self.kpi("accept", "PiMatmul.rate", "-w", "matrix_size=1024"), r": unchanged\n$")
        self.assertIn("no level is accepted", self.kpi("accept", "--list"))
        self.kpi("accept", "PiMatmul", "-w", "matrix_size=512,1024")
        self.assertEqual(self.regress()[512]["excluded"]["accepted"], 30)
        self.assertRegex(self.kpi("accept", "--remove", "PiMatmul", "-w", "matrix_size=512,1024"),
                         r"^PiMatmul \(matrix_size=512 matrix_size=1024\): no longer accepted\n$")

    def test_a_condition_selects_series(self):
        self.submit([100] * 8 + [80] * 2)
        self.submit([100] * 8 + [80] * 2, size=1024)
        self.kpi("accept", "PiMatmul", "--where", "matrix_size=1024")
        kpis = self.regress(status=4)
        self.assertEqual((kpis[512]["verdict"], kpis[1024]["verdict"]), ("regression", "no change"))
        self.assertIn("'version' does not separate histories of PiMatmul", self.kpi("accept", "PiMatmul", "-w", "version=2.9.0", status=2))
        self.assertIn("did you mean matrix_size?", self.kpi("accept", "PiMatmul", "-w", "matrix_siz=512", status=1))
        self.assertIn("no runs of PiMatmul to accept", self.kpi("accept", "PiMatmul", "-w", "matrix_size=7", status=1))
        self.assertIn("missing argument KPI", self.kpi("accept", status=2))
        self.assertIn("--list takes no KPI", self.kpi("accept", "--list", "PiMatmul", status=2))
        self.assertIn("cannot be combined with --where, --ignore, --note or --remove", self.kpi("accept", "--list", "--remove", status=2))
        self.assertIn("matrix_size=1024", self.kpi("accept", "--remove", "--where", "matrix_size=1024", "PiMatmul"))

    def test_a_user_accepts_for_own_questions_and_an_administrator_for_all(self):
        if os.getuid() != 0:
            self.skipTest("only root can act as another user")  # the kernel tells perfd who asks
        self.submit([100] * 10 + [80] * 2)
        self.kpi("accept", "PiMatmul.rate", user=NOBODY)
        self.assertEqual(self.regress(user=NOBODY)[512]["verdict"], "no change")
        self.assertEqual(self.regress(status=4)[512]["verdict"], "regression")
        self.assertIn("no level is accepted", self.kpi("accept", "--list"))
        self.assertRegex(self.kpi("accept", "--list", user=NOBODY), r" nobody +own\n$")
        self.assertEqual(self.kpi("accept", "--remove", "PiMatmul.rate", user=NOBODY), "PiMatmul.rate (-): no longer accepted\n")
        self.assertEqual(self.regress(status=4, user=NOBODY)[512]["verdict"], "regression")

        self.kpi("accept", "PiMatmul.rate")
        self.assertEqual(self.regress(user=NOBODY)[512]["accepted"]["for_all"], True)
        self.assertIn("an administrator accepted the level", self.kpi("accept", "--remove", "PiMatmul.rate", status=1, user=NOBODY))
        self.kpi("accept", "PiMatmul.rate", user=NOBODY)
        self.assertEqual(self.regress(user=NOBODY)[512]["verdict"], "no change")

        # With a level of both, the user removes the own one.
        self.assertEqual(self.kpi("accept", "--remove", "PiMatmul.rate", user=NOBODY), "PiMatmul.rate (-): no longer accepted\n")
        self.assertRegex(self.kpi("accept", "--list", user=NOBODY), r" root +all\n$")
        self.assertEqual(self.kpi("accept", "--remove", "PiMatmul.rate"), "PiMatmul.rate (-): no longer accepted\n")


if __name__ == "__main__":
    unittest.main()
