# SPDX-License-Identifier: Apache-2.0
"""Checks verdicts about the newest version with perfctl."""

import json
import unittest
import xml.etree.ElementTree

import yaml

from harness import ROOT, TestCase

NOISE = (0.2, -0.7, 1.1, -0.4, 0.8, -1, 0.1, 0.5, -0.3)


class KpiRegress(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon(f"[indicators]\ndirectory = {ROOT}/conf/indicators.d\n")
        self.n_runs = 0

    def submit_runs(self, *versions, component="runs"):
        """versions: (version, rate, number of runs)."""
        runs = [(version, level) for version, level, n in versions for _ in range(n)]
        documents = [{"name": "PiMatmul", "component": component, "version": version, "@parameters": {"reps": 50},
                      "@result": {"rate": level * (1 + NOISE[(i + self.n_runs) % 9] / 100), "elapsed": 10}}
                     for i, (version, level) in enumerate(runs)]
        self.n_runs += len(runs)
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(*documents)), "OK")

    def submit(self, levels, component="tensorflow"):
        """levels: the rate of each minor version, each with three runs."""
        documents = [{"name": "PiMatmul", "component": component, "version": f"2.{minor}.0",
                      "@parameters": {"matrix_size": 512, "dtype": "float32", "reps": 50, "device": "cpu"},
                      "@result": {"rate": level * (1 + NOISE[(3 * minor + i) % 9] / 100), "elapsed": 10}}
                     for minor, level in enumerate(levels) for i in range(3)]
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(*documents)), "OK")

    def regress(self, *words, status=0):
        done = self.running.perfctl("kpi", "check", *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status != 1 and status != 2 else done.stderr

    def test_a_regression_fails_with_its_version(self):
        self.submit([100] * 10 + [80] * 2)
        text = self.regress("PiMatmul.rate", status=4)
        self.assertRegex(text, r"PiMatmul\.rate .*regression +-\d+\.\d %.*2\.10\.0")
        self.assertIn("1 KPI: 1 regression", text)
        answer = json.loads(self.regress("PiMatmul.rate", "--json", status=4))
        kpi = answer["kpis"][0]
        self.assertTrue(kpi["low"] < -0.2 + 0.02 and -0.2 - 0.02 < kpi["high"] and kpi["low"] <= kpi["relative_change"] <= kpi["high"])
        self.assertEqual((kpi["direction"], kpi["unit"], kpi["since_version"], kpi["version"]), ("higher", "GFLOP/s", "2.10.0", "2.11.0"))
        self.assertEqual(json.loads(self.regress("PiMatmul.rate", "--json", status=4)), answer)
        self.regress("PiMatmul.rate", "--fail-on", "none")
        self.regress("PiMatmul.rate", "--fail-on", "none,regression", status=2)
        self.regress("PiMatmul.rate", "--fail-on", "improvement,no-verdict")

    def test_an_earlier_version_is_judged_without_the_later_ones(self):
        self.submit([100] * 10 + [80] * 2)
        text = self.regress("PiMatmul.rate", "--component-version", "2.9.0")
        self.assertIn("no change", text)
        self.assertIn("6 runs of versions later than the judged version ignored", text)
        self.assertIn("no selected result of PiMatmul has the version '9.9.9'",
                      self.regress("PiMatmul", "--component-version", "9.9.9", status=1))

    def test_indicators_without_models_do_not_count(self):
        self.submit([100] * 10 + [80] * 2)
        documents = [{"name": f"no-model-{i}", "component": "c", "@parameters": {}, "@result": {"rate": 1}} for i in range(5100)]
        with self.running.client() as client:
            for i in range(0, len(documents), 1000):
                self.assert_status(client.call(client.submit_request(*documents[i:i + 1000])), "OK")
        for name in ("PiMatmul", "PiMatmul.rate", "rate", "*.rate", "PiM*"):
            with self.subTest(name):
                self.assertIn("regression", self.regress(name, status=4))
        self.assertIn("no judged result matches 'no-*'; a pattern matches INDICATOR or INDICATOR.RESULT", self.running.perfctl(
            "kpi", "check", "no-*").stderr)
        answer = self.running.get("/api/v1/kpis/no-*/regress?objective=rate")
        self.assertEqual(answer.status, 413)
        self.assertIn("more than 5000 indicators to judge; name one", answer.text)

    def test_indicators_that_cannot_be_judged_are_named(self):
        self.submit([100] * 10 + [80] * 2)
        self.use_model("name: Load\nresults:\n  rate: {type: float, direction: higher}\n"
                       "  warmup: {type: float, ignored_for_regression: true}\n")
        self.submit_loads([100] * 9)
        entries = self.running.directory / "entries.yaml"
        entries.write_text(f"name: Load\nignore_entries: {{virtual_users: {list(range(65))}}}\nresults: {{rate: float}}\n")
        self.assertIn("has 65 values, may have up to 64", self.running.perfctl("model", "add", entries).stderr)
        answer = json.loads(self.regress("*", "--where", "matrix_size=512", "--json", status=4))
        self.assertRegex(answer["note"], r"^1 indicator was not judged, such as Load of serving: .*matrix_size")
        self.use_model("name: Load\nresults:\n  warmup: {type: float, ignored_for_regression: true}\n")
        self.assertIn("the models of Load declare no result that is judged; name one as Load.RESULT",
                      self.running.perfctl("kpi", "check", "Load").stderr)
        done = self.running.perfctl("kpi", "check", "PiMatmul", "--ignore-entry", "matrix_siz=512")
        self.assertEqual(done.returncode, 1)
        self.assertIn("matrix_size", done.stderr)
        done = self.running.perfctl("kpi", "check", "PiMatmul", "--ignore-entry", "matrix_size!=512")
        self.assertIn("KEY=VALUE", done.stderr)

    def test_facts_of_the_run_are_entries_to_ignore(self):
        documents = [{"name": "PiMatmul", "component": "c", "version": f"2.{i}.0", "@parameters": {"matrix_size": 512},
                      "@result": {"rate": 100 + i % 3}} for i in range(8)]
        for i, document in enumerate(documents):
            path = self.running.directory / "document.json"
            path.write_text(json.dumps(document))
            done = self.running.perfctl("run", "--label", f"set={'ab'[i % 2]}", "--", "cat", path)
            self.assertEqual(done.returncode, 0, done.stderr)
        for words, n in (((), 8), (("--ignore-entry", "run.labels.set=a"), 4)):
            answer = json.loads(self.regress("PiMatmul.rate", "--json", *words))
            self.assertEqual(answer["kpis"][0]["runs"], n)

    def test_a_gate_that_asks_for_verdicts_fails_without_them(self):
        document = self.running.directory / "document.json"
        document.write_text(json.dumps({"name": "PiMatmul", "component": "c", "@parameters": {}, "@result": {"rate": 1}}))
        self.running.kill()
        for fail_on, status in (("no-verdict", 5), ("regression", 0)):
            with self.subTest(fail_on):
                done = self.running.perfctl("submit", "--judge", "--fail-on", fail_on, "--timeout", "1", "--spool",
                                            self.running.directory / "spool", document)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn("there are no verdicts", done.stderr)
                done = self.running.perfctl("run", "--judge", "--fail-on", fail_on, "--", "true")
                self.assertEqual(done.returncode, status, done.stderr)

    def test_a_kpi_is_shown_with_its_history(self):
        self.submit([100] * 10 + [80] * 2)
        self.submit([50], component="jax")
        text = self.regress("PiMatmul.rate", status=4)
        jax, tensorflow = sorted(text.split("\n\n")[1:])
        self.assertRegex(tensorflow, r"^PiMatmul\.rate of tensorflow .*matrix_size=512")
        self.assertRegex(tensorflow, r"\n  79\.76 GFLOP/s at 2\.11\.0, higher is better; 36 runs of 12 versions\n"
                                     r"  regression: -\d+\.\d % \(.*\) since 2\.10\.0")
        self.assertRegex(jax, r"; 3 runs of 1 version\n  unknown: only 3 runs \(needs 2 more runs\)")
        shown = json.loads(self.running.perfctl("kpi", "check", "--json", "rate").stdout)
        self.assertEqual(shown["kpis"], json.loads(self.regress("PiMatmul.rate", "--json", status=4))["kpis"])
        self.assertAlmostEqual(min(kpi["value"] for kpi in shown["kpis"]), 50, delta=1)
        self.assertEqual(self.running.perfctl("kpi", "check", "Missing").returncode, 1)

    def test_runs_of_a_batch_are_repeats(self):
        script = self.running.directory / "bench.sh"
        document = {"name": "PiMatmul", "component": "c", "@parameters": {}, "@result": {"rate": 1}}
        script.write_text(f"echo '{json.dumps(document)}'\n")
        done = self.running.perfctl("run", "--repeat", "8", "--", "sh", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.regress("PiMatmul.rate")
        self.assertRegex(text, r"RUNS +DETECTABLE\n.* 1 \(8 repeats\) +-\n")
        self.assertIn("; 1 run (8 repeats) of 1 version\n", text)
        kpi, = json.loads(self.regress("PiMatmul.rate", "--json"))["kpis"]
        self.assertEqual((kpi["runs"], kpi["repeats"]), (1, 8))

    def test_runs_of_a_change_are_asked_for_until_it_is_decided(self):
        self.submit_runs(("1.0", 100, 20))
        self.assertRegex(self.regress("PiMatmul.rate"),
                         r"no change: changes below \d\.\d % would not be seen in 3 runs\n")
        for n, (needed, status) in enumerate((("2 more", 5), ("1 more", 5), (None, 4))):
            self.submit_runs(("2.0", 80, 1))
            text = self.regress("PiMatmul.rate", "--fail-on", "regression,no-verdict", status=status)
            with self.subTest(n=n):
                self.assertRegex(text, rf"  run again: {needed}: -\d+\.\d % .*since 2\.0\n" if needed else r"  regression: -\d+\.\d %")
                self.assertRegex(text, r"RUNS  DETECTABLE\n.* \d+\.\d % in \d+ runs\n")
        self.regress("PiMatmul.rate", status=4)

    def test_a_change_after_a_few_runs_says_what_is_missing(self):
        self.submit_runs(("1.0", 100, 3))
        for n in range(7):
            self.submit_runs(("1.1", 50, 1))
            text = self.regress("PiMatmul.rate", status=4 if n == 6 else 0)
            if n in (1, 5):
                self.assertRegex(" ".join(text.split()),
                                 rf" unknown: only 3 runs came before: -\d+\.\d % .*since 1\.1 \(needs {6 - n} more runs?\)$")
        self.assertIn("  regression: -", text)

    def test_a_level_that_comes_back_is_named(self):
        self.submit_runs(("1.9.0", 100, 10), ("2.0.0", 80, 8), ("2.1.0", 100, 8))
        self.assertRegex(self.regress("PiMatmul.rate"), r"  back at the level of 1\.9\.0: \+\d+\.\d % .*since 2\.1\.0\n")
        answer = json.loads(self.regress("PiMatmul.rate", "--json"))
        self.assertEqual((answer["kpis"][0]["verdict"], answer["kpis"][0]["back_to_version"], answer["counts"]["returned"]),
                         ("returned", "1.9.0", 1))
        self.submit_runs(("2.2.0", 125, 8), ("2.3.0", 100, 8))
        text = self.regress("PiMatmul.rate", status=4)
        self.assertRegex(text, r"\nPiMatmul\.rate .* regression to the level of 2\.1\.0 ")
        self.assertRegex(text, r"  regression to the level of 2\.1\.0: -\d+\.\d % .*since 2\.3\.0\n")

    def test_versions_that_were_run_in_turn_are_kept_apart(self):
        for old, new, order in (("1.0", "2.0", "version"), ("7e57c0d", "0ddba11", "time")):
            with self.subTest(new):
                self.submit_runs(*((version, level, 1) for _ in range(8) for version, level in ((old, 100), (new, 90))), component=order)
                kpi, = json.loads(self.regress("PiMatmul.rate", "--component", order, "--json", status=4))["kpis"]
                self.assertEqual((kpi["verdict"], kpi["since_version"], kpi["order"]), ("regression", new, order))

    def test_a_change_within_the_newest_version_has_no_verdict(self):
        self.submit_runs(("1.0", 100, 8), ("1.1", 100, 5), ("1.1", 70, 6))
        text = " ".join(self.regress("PiMatmul.rate").split())
        self.assertRegex(text, r"unknown: changed within the version, run the one before again: -\d\d\.\d % .* since \d{4}-[-\d]+ [:\d]+$")
        self.regress("PiMatmul.rate", "--fail-on", "no-verdict", status=5)

    def test_a_version_after_a_single_run_has_no_verdict(self):
        self.submit_runs(("1.0", 100, 1), ("1.1", 50, 6))
        text = " ".join(self.regress("PiMatmul.rate").split())
        self.assertRegex(text, r"unknown: only 1 run came before: -\d\d\.\d % since 1\.1 \(needs 4 more runs of the version before\)")

    def test_several_kpis_are_judged_together(self):
        self.submit([100] * 10 + [80] * 2)
        one, other, both = (json.loads(self.regress("--json", *words, status=status)) for words, status in (
            (("PiMatmul.rate",), 4), (("PiMatmul.elapsed",), 0), (("PiMatmul.rate", "PiMatmul.elapsed"), 4)))
        self.assertEqual(both["kpis"], one["kpis"] + other["kpis"])
        self.assertEqual((both["counts"]["regression"], both["counts"]["no change"], sum(both["counts"].values())), (1, 1, 2))
        self.assertIn("2 KPIs: 1 no change, 1 regression\n", self.regress("PiMatmul.rate", "PiMatmul.elapsed", status=4))

    def test_too_few_runs_have_no_verdict(self):
        self.submit([100])
        self.assertIn("unknown", self.regress("PiMatmul.rate"))
        self.assertIn("Too little data: 2 more runs (a batch is one run).",
                      self.regress("PiMatmul.rate", "--fail-on", "regression,no-verdict", status=5))

    def use_model(self, text):
        path = self.running.directory / "model.yaml"
        path.write_text(text)
        done = self.running.perfctl("model", "add", path)
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
                         [("regression", "v10", "version")] * 2)
        self.assertEqual(json.loads(self.regress("rate", "--json", status=4))["kpis"], answer["kpis"])
        self.assertEqual(json.loads(self.regress("Load.r*", "--json", status=4))["kpis"], answer["kpis"])
        self.assertEqual(len(json.loads(self.regress("Load.warmup", "--json", status=4))["kpis"]), 2)
        text = self.regress("Load", "--ignore-entry", "virtual_users=32", "--ignore", "virtual_users,node", "--json", status=4)
        kpis = json.loads(text)["kpis"]
        self.assertEqual([kpi["labels"]["parameters"] for kpi in kpis], [{}])

    def test_a_declared_parameter_version_tells_versions_apart(self):
        self.use_model("name: Train\nparameters: {version: {type: semver}, gpus: {type: int}}\n"
                       "results: {rate: {type: float, direction: higher}}\n")
        documents = [{"name": "Train", "component": "demo", "@parameters": {"version": f"1.{minor}.0", "gpus": 4},
                      "@result": {"rate": (100 if minor < 10 else 80) * (1 + NOISE[(3 * minor + i) % 9] / 100)}}
                     for minor in range(12) for i in range(3)]
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(*documents)), "OK")
        kpi, = json.loads(self.regress("Train", "--json", status=4))["kpis"]
        self.assertEqual((kpi["labels"]["parameters"], kpi["since_version"], kpi["version"], kpi["order"]),
                         ({"gpus": 4}, "1.10.0", "1.11.0", "semver"))
        kpi, = json.loads(self.regress("Train", "--component-version", "1.9.0", "--json"))["kpis"]
        self.assertEqual((kpi["version"], kpi["verdict"]), ("1.9.0", "no change"))
        self.assertEqual(len(json.loads(self.regress("Train", "--by", "version", "--json"))["kpis"]), 12)

    def test_names_in_the_lists_of_a_model_may_be_labels(self):
        self.use_model("name: Train\ncompare_by: [build]\nignore_entries: {pool: spare}\nparameters: {gpus: {type: int}}\n"
                       "results: {rate: {type: float, direction: higher}}\n")
        documents = [{"name": "Train", "component": "demo", "@parameters": {"gpus": 4},
                      "@labels": {"build": f"1.{minor}.0", "pool": pool},
                      "@result": {"rate": (100 if minor < 10 else 80) * (1 + NOISE[(3 * minor + i) % 9] / 100) / (1 + (pool == "spare"))}}
                     for minor in range(12) for i, pool in enumerate(("main", "main", "main", "spare"))]
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(*documents)), "OK")
        kpi, = json.loads(self.regress("Train", "--json", status=4))["kpis"]
        self.assertEqual((kpi["since_version"], kpi["version"], kpi["order"], kpi["runs"]), ("1.10.0", "1.11.0", "semver", 36))
        # a parameter precedes a label of its name
        self.use_model("name: Train\ncompare_by: [gpus]\nresults: {rate: {type: float, direction: higher}}\n")
        kpi, = json.loads(self.regress("Train", "--json", "--fail-on", "none"))["kpis"]
        self.assertEqual((kpi["version"], kpi["runs"]), ("4", 48))

    def test_all_kpis_are_judged_in_one_request(self):
        self.use_model("name: Load\ncompare_by: [image]\nignore: [node]\nresults:\n  rate: {type: float, direction: higher}\n")
        self.submit([100] * 10)
        self.submit_loads([100] * 10 + [70] * 5)
        answer = json.loads(self.regress("--json", status=4))
        self.assertEqual([(kpi["kpi"], kpi["verdict"]) for kpi in answer["kpis"]],
                         [("Load.rate", "regression"), ("PiMatmul.elapsed", "no change"), ("PiMatmul.rate", "no change")])
        self.assertIn("'rate' is a result of Load and of PiMatmul", self.regress("rate", status=1))

    def test_a_gate_has_a_budget(self):
        self.submit([100] * 10 + [80] * 2)
        self.regress("PiMatmul", "--allow-failures", "1")
        self.regress("PiMatmul", "--allow-failures", "0", status=4)
        self.regress("PiMatmul", "--allow-failures", "100%")
        self.regress("PiMatmul", "--allow-failures", "49%", status=4)
        self.assertIn("--allow-failures expects", self.regress("--allow-failures", "many", status=2))
        self.regress("Qi*", "--fail-on", "no-verdict", status=5)

    def test_programs_read_the_verdicts(self):
        self.submit([100] * 10 + [80] * 2)
        self.submit([100], component="a<b&c")
        answer = json.loads(self.regress("--format", "json", status=4))
        suites = xml.etree.ElementTree.fromstring(self.regress("--format", "junit", status=4))
        cases = suites.findall(".//testcase")
        self.assertEqual([case.get("classname") for case in cases], [kpi["kpi"] for kpi in answer["kpis"]])
        self.assertIn("a<b&c", cases[0].get("name"))
        self.assertRegex(suites.find(".//failure").get("message"), r"^regression: [-+]\d+\.\d % \(.* %\) since 2\.10\.0$")
        self.assertEqual(len(suites.findall(".//skipped")), 2)
        self.assertEqual(json.loads(json.dumps(yaml.safe_load(self.regress("--format", "yaml", status=4)))), answer)

    def test_the_summary_has_the_nine_keys(self):
        folder = self.running.directory
        self.submit([100] * 10 + [80] * 2)
        self.regress("PiMatmul", "--output", folder, status=4)
        summary = yaml.safe_load((folder / "regression_summary.yaml").read_text())
        self.assertEqual(summary, {
            "entries_count": 1, "failures": 1, "kpis_count": 2, "no_history": 0, "not_analyzed": 0, "total_points": 2,
            "significant_performance_decrease": 1, "significant_performance_increase": 0,
            "message": "Performed 2 KPI regression analyses over 1 entries x 2 KPIs. 1 KPIs didn't pass. "
                       "1 KPIs had a significant performance decrease."})
        self.regress("PiMatmul", "--output", folder / "missing", status=4)
        errors = self.regress("PiMatmul", "--output", folder / "missing", "--fail-on", "none", status=1)
        self.assertEqual(errors.count("cannot write"), 1, errors)
        self.regress("Qi*", "--output", folder)
        self.assertTrue((folder / "NO_RESULTS_FOUND").exists())
        self.regress("Nothing", "--output", folder, status=1)
        self.assertTrue((folder / "FAILURE").exists() and not (folder / "NO_RESULTS_FOUND").exists())
        self.submit([100], component="new")
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(
                {"name": "PiConv1D", "component": "new", "version": "1.0.0", "@parameters": {"length": 5}, "@result": {"rate": 1.0}})), "OK")
        self.regress("PiConv1D", "--output", folder)
        self.assertTrue((folder / "NO_HISTORICAL_RESULTS").exists() and not (folder / "FAILURE").exists())

    def test_a_submission_is_judged(self):
        self.submit([100] * 10 + [80] * 2)
        document = {"name": "PiMatmul", "component": "tensorflow", "version": "2.12.0", "@result": {"rate": 79.5, "elapsed": 10},
                    "@parameters": {"matrix_size": 512, "dtype": "float32", "reps": 50, "device": "cpu"}}
        done = self.running.perfctl("submit", "--judge", stdin=json.dumps(document))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"PiMatmul\.rate of tensorflow .*matrix_size=512.*: regression: -\d+\.\d % .* since 2\.10\.0")
        self.assertEqual(len(done.stderr.splitlines()), 2)
        done = self.running.perfctl("submit", "--judge", "--fail-on", "regression", stdin=json.dumps(document | {"version": "2.13.0"}))
        self.assertEqual((done.returncode, done.stdout), (4, "1 stored\n"), done.stderr)
        document["@parameters"]["matrix_size"] = 1024
        done = self.running.perfctl("submit", "--judge", "--fail-on", "regression,no-verdict", stdin=json.dumps(document))
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("matrix_size=1024 reps=50: unknown: only 1 run (needs 4 more runs)", done.stderr)
        self.assertNotIn("matrix_size=512", done.stderr)

    def test_kpis_of_other_results_do_not_fail_a_submission(self):
        """The history without the parameter `device`, and that of a later version, have no part in what is stored."""
        self.submit([100] * 10 + [80] * 2)
        parameters = {"matrix_size": 512, "dtype": "float32", "reps": 50, "device": "cpu"}
        document = {"name": "PiMatmul", "component": "tensorflow", "version": "2.13.0", "@result": {"rate": 100.5, "elapsed": 10},
                    "@parameters": parameters | {"reps": 51}}
        done = self.running.perfctl("submit", "--judge", "--fail-on", "regression", stdin=json.dumps(document))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("regression", done.stderr)
        document |= {"version": "2.9.0", "@parameters": parameters}
        done = self.running.perfctl("submit", "--judge", "--fail-on", "regression", stdin=json.dumps(document))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_run_is_judged(self):
        """Of its own history: results of unknown hardware are others."""
        self.submit([100] * 10 + [80] * 2)
        template = ("import json; print(json.dumps({'name': 'PiMatmul', 'component': 'tensorflow', 'version': '2.%d.0', "
                    "'@parameters': {'matrix_size': 512, 'dtype': 'float32', 'reps': 50, 'device': 'cpu'}, '@result': {'rate': %g}}))")
        for i, rate in enumerate([100] * 8 + [80] * 2):
            done = self.running.perfctl("run", "--collect", "yes", "--quiet", "--", "/usr/bin/python3", "-c",
                                        template % (i, rate * (1 + NOISE[i % 9] / 100)))
            self.assertEqual(done.returncode, 0, done.stderr)
        script = template % (12, 79.5)
        words = ("--collect", "yes", "--quiet", "--judge")
        done = self.running.perfctl("run", *words, "--", "/usr/bin/python3", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("PiMatmul.rate of tensorflow", done.stderr)
        done = self.running.perfctl("run", *words, "--fail-on", "regression", "--", "/usr/bin/python3", "-c", script)
        self.assertEqual(done.returncode, 4, done.stderr)
        done = self.running.perfctl("run", *words, "--fail-on", "regression", "--", "/usr/bin/python3", "-c", script + "; exit(7)")
        self.assertEqual(done.returncode, 7, done.stderr)
        done = self.running.perfctl("run", "--fail-on", "regression", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--fail-on requires --judge", done.stderr)

    def test_prereleases_come_before_their_release(self):
        versions = ["2.8.0", "2.9.0", "2.10.0-rc1", "2.10.0-rc2", "2.10.0", "2.11.0"]
        with self.running.client() as client:
            for version in reversed(versions):
                for i in range(3):
                    level = 100 if versions.index(version) < 3 else 150
                    self.assert_status(client.call(client.submit_request(
                        {"name": "PiMatmul", "component": "jax", "version": version, "@parameters": {"matrix_size": 512},
                         "@result": {"rate": level * (1 + NOISE[3 * versions.index(version) % 9 + i] / 100)}})), "OK")
        kpi = json.loads(self.regress("PiMatmul.rate", "--component-version", "2.11.0", "--json"))["kpis"][0]
        self.assertEqual((kpi["verdict"], kpi["since_version"], kpi["order"], kpi["runs"]), ("improvement", "2.10.0-rc2", "semver", 18))

    def test_versions_of_any_usual_form_are_selected_in_their_order(self):
        versions = ("v1.1", "v1.2-rc1", "v1.2", "v1.2-9-g1c2d3e4", "v1.2-14-gabc1234", "v1.10")
        self.submit_runs(*((version, 100, 1) for version in versions))
        for condition, n in (("version<v1.2", 2), ("version<v1.2-14-gabc1234", 4), ("version>v1.2-9-g1c2d3e4", 2), ("version<=1.2", 3)):
            with self.subTest(condition):
                kpi, = json.loads(self.regress("PiMatmul.rate", "-w", condition, "--json"))["kpis"]
                self.assertEqual(kpi["runs"], n)
        self.assertIn("a version such as 1.2", self.regress("PiMatmul.rate", "-w", "version<1c2d3e4f", status=2))

    def test_wrong_requests_say_what_is_right(self):
        self.submit([100])
        self.assertIn("did you mean rate?", self.regress("PiMatmul.ratte", status=1))
        self.assertIn("'nothing'", self.regress("PiMatmul", "--by", "nothing", status=1))
        self.assertIn("--fail-on expects", self.regress("PiMatmul", "--fail-on", "anything", status=2))


if __name__ == "__main__":
    unittest.main()
