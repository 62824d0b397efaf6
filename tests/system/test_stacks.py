"""Checks software stacks from the import of inspections to rankings: keys, what else differs, contradictions, removal."""

import json
import pathlib
import unittest

from harness import TestCase

STACK_DIGITS = 16


class Stacks(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()
        self.directory = pathlib.Path(self.temporary_directory())

    def perfctl(self, *words, status=0):
        done = self.running.perfctl(*map(str, words))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def ask(self, *words):
        return json.loads(self.perfctl("indicator", *words, "--json").stdout)

    def stack(self, *words):
        return json.loads(self.perfctl("stack", *words, "--json").stdout)

    def inspect(self, name, rate, index="pypi", numpy="1.18.5", has_lock=True, has_facts=True, status=0, exit_code=0, more=None):
        """Imports an inspection of four runs."""
        lock = {"_meta": {"sources": [{"name": "pypi", "url": "https://pypi.org/simple"}, {"name": "avx2", "url": "https://avx2/simple"}]},
                "default": {"tensorflow": {"version": "==2.2.0", "index": index, "hashes": [f"sha256:{index}"]},
                            "NumPy": {"version": f"=={numpy}"}}}
        specification = {"base": "ubi8", "package_manager": "pipenv", "python": {"requirements_locked": lock} if has_lock else {}}
        printed = {"@parameters": {"n": 512}, "name": "PiMatmul", "component": "tensorflow", **(more or {})}
        directory = self.directory / name
        (directory / "build").mkdir(parents=True, exist_ok=True)
        (directory / "build" / "specification").write_text(json.dumps(specification if has_facts else {}))
        for i in range(4):
            run = directory / "results" / str(i)
            run.mkdir(parents=True, exist_ok=True)
            (run / "result").write_text(json.dumps({
                "stdout": {**printed, "@result": {"rate": rate + i / 100}}, "exit_code": exit_code, "datetime": "2020-08-18T16:33:32",
                "runtime_environment": {"operating_system": {"name": "rhel", "version": "8.2"},
                                        "python_version": "3.8"} if has_facts else {}}))
        return self.perfctl("import", "amun", directory, status=status)

    def test_two_builds_of_one_version_are_ranked(self):
        self.inspect("a", 100, "avx2")
        self.inspect("b", 50, "pypi")
        self.inspect("c", 100, "avx2", numpy="1.21.0")
        words = ("rank", "PiMatmul", "--by", "package.tensorflow.build", "-o", "rate", "--direction", "higher")

        ranking, = self.ask(*words)["rankings"]
        best, other = ranking["alternatives"]
        self.assertEqual(best["key"]["package.tensorflow.build"], "2.2.0 https://avx2/simple sha256:avx2")
        self.assertEqual((best["n"], other["n"], other["difference"]), (8, 4, "significant"))
        self.assertEqual(ranking["also_differ"], [{"key": "package.numpy", "values": [
            {"value": "1.18.5", "results": 8, "failed": 0}, {"value": "1.21.0", "results": 4, "failed": 0}]}])
        self.assertIn("Also differ: package.numpy 1.18.5/1.21.0 in 4 of 12 runs", self.perfctl("indicator", *words).stdout)

        held = self.ask(*words, "--hold", "package.numpy")
        self.assertEqual([len(ranking["alternatives"]) for ranking in held["rankings"]], [2, 1])
        self.assertEqual([ranking["also_differ"] for ranking in held["rankings"]], [[], []])
        held, = self.ask(*words, "--hold", "package.numpy=1.18.5")["rankings"]
        self.assertEqual([alternative["n"] for alternative in held["alternatives"]], [4, 4])

    def test_the_build_information_of_a_framework_distinguishes_builds(self):
        self.inspect("a", 100, more={"tensorflow_aicoe_buildinfo": {"flags": "-mavx2"}, "tensorflow_upstream_buildinfo": None})
        self.inspect("b", 50, more={"tensorflow_aicoe_buildinfo": None})
        ranking, = self.ask("rank", "PiMatmul", "--by", "package.tensorflow.build", "-o", "rate", "--direction", "higher")["rankings"]
        best, other = (alternative["key"]["package.tensorflow.build"] for alternative in ranking["alternatives"])
        self.assertRegex(best, "^2.2.0 https://pypi.org/simple sha256:pypi buildinfo:[0-9a-f]{12}$")
        self.assertEqual(other, "2.2.0 https://pypi.org/simple sha256:pypi")
        group, = self.ask("query", "PiMatmul", "-w", f"package.tensorflow.build={best}", "-s", "n:rate")["groups"]
        self.assertEqual(group["n"], 4)
        # a run that printed nothing was measured with the same build
        result = self.directory / "a" / "results" / "4" / "result"
        result.parent.mkdir()
        good = json.loads((self.directory / "a" / "results" / "0" / "result").read_text())
        result.write_text(json.dumps({**good, "stdout": "", "exit_code": 1}))
        self.perfctl("import", "amun", self.directory / "a")
        self.assertEqual(sorted(stack["results"] for stack in self.stack("list")["stacks"]), [4, 5])

    def test_facts_of_stacks_are_keys(self):
        self.inspect("a", 100, "avx2")
        self.inspect("b", 50, "pypi", numpy="1.21.0")
        groups = self.ask("query", "PiMatmul", "-b", "package.tensorflow,os,python,base_image,stack", "-s", "median:rate")["groups"]
        self.assertEqual(len(groups), 2)
        for group in groups:
            digits = group["key"].pop("stack")
            self.assertEqual(group["key"], {"package.tensorflow": "2.2.0", "os": "rhel 8.2", "python": "3.8", "base_image": "ubi8"})
            by_digits, = self.ask("query", "PiMatmul", "-w", f"stack={digits[:6]}", "-s", "median:rate")["groups"]
            self.assertEqual(by_digits["n"], group["n"])
        for condition, n in (("package.numpy=1.21.0", 4), ("package.NumPy!=1.21.0", 4), ("package.\"numpy\"=1.18.5", 4), ("os=rhel 8.2", 8),
                             ("run.runtime.python=3.8", 8)):
            group, = self.ask("query", "PiMatmul", "-w", condition, "-s", "median:rate")["groups"]
            self.assertEqual(group["n"], n, condition)
        self.assertIn("no result of PiMatmul matches package.numpy=1", self.perfctl("indicator", "query", "PiMatmul", "-w",
                                                                                "package.numpy=1", "-s", "median:rate").stderr)
        for words in (("-w", "package.tensorflw=1"), ("-b", "package.tensorflw.build")):
            self.assertIn("no software stack has the package 'tensorflw': did you mean tensorflow? Packages: numpy, tensorflow",
                          self.perfctl("indicator", "query", "PiMatmul", *words, "-s", "median:rate", status=1).stderr)
        self.assertEqual(len(self.ask("query", "PiMatmul", "-b", "batch", "-s", "median:rate")["groups"]), 2)

    def test_an_import_completes_stacks_and_reports_others(self):
        self.inspect("a", 100, has_lock=False)
        self.inspect("b", 50)
        before, = (stack for stack in self.stack("list")["stacks"] if stack["n_packages"] == 0)
        done = self.inspect("a", 100)
        self.assertIn("already stored with another software stack, which is kept", done.stderr)
        self.assertIn(before["digest"], [stack["digest"] for stack in self.stack("list")["stacks"]])

        self.inspect("c", 10, has_facts=False)
        group, = self.ask("query", "PiMatmul", "-w", "stack!=0000", "-s", "mean:rate")["groups"]
        self.assertEqual(group["n"], 8) # a result without a stack meets no condition on the stack
        self.assertIn("the software stack and the specification were added", self.inspect("c", 10).stderr)
        group, = self.ask("query", "PiMatmul", "-w", "package.numpy=1.18.5", "-s", "mean:rate")["groups"]
        self.assertEqual(group["n"], 8)
        self.assertNotIn("stack", self.inspect("c", 10).stderr)

    def test_an_import_keeps_the_specification_and_names_what_differs(self):
        self.inspect("a", 100)
        result, *others = self.running.get("/api/v1/indicators/PiMatmul/results").json["results"]
        self.assertEqual({other["specification"] for other in others}, {result["specification"]})
        kept = self.running.get(f"/api/v1/specifications/{result['specification']}").json
        self.assertEqual(kept["results"], 4)
        self.assertEqual(kept["specification"], json.loads((self.directory / "a" / "build" / "specification").read_text()))
        shown = self.perfctl("indicator", "show", "PiMatmul").stdout
        self.assertRegex(shown, r"Specification\n  base +ubi8\n  package_manager +pipenv\n")

        again = self.inspect("a", 200)
        self.assertIn("results/0/result: already stored, and kept unchanged: @result.rate is 100.0, and is 200.0 now", again.stderr)
        self.assertIn("0 stored, 4 already stored", again.stdout)
        self.assertEqual(self.inspect("a", 100).stderr, "")

    def test_a_run_of_a_specification_keeps_it(self):
        printed = {"name": "mm", "component": "c", "@parameters": {}, "@result": {"r": 1}}
        specification = {"batch_size": 2, "base": "ubi8", "script": f"#!/bin/sh\necho '{json.dumps(printed)}'\n"}
        (self.directory / "spec.json").write_text(json.dumps(specification))
        self.perfctl("run", "-q", "--spec", self.directory / "spec.json")
        first, second = self.running.get("/api/v1/indicators/mm/results").json["results"]
        self.assertEqual(first["specification"], second["specification"])
        self.assertEqual(self.running.get(f"/api/v1/specifications/{first['specification']}").json,
                         {"results": 2, "specification": specification})

    def test_settings_of_a_sweep_are_keys(self):
        printed = json.dumps({"name": "s", "component": "c", "@parameters": {}, "@result": {"r": 1}})
        (self.directory / "s.sh").write_text(f"echo '{printed}'\n")
        for i in range(3):
            (self.directory / "s.json").write_text(json.dumps({
                "command": f"sh {self.directory}/s.sh {{x}}", "settings": {"x": ["a", "b,c=d"]},
                "output": str(self.directory / f"output{i}")}))
            self.perfctl("sweep", self.directory / "s.json")
        group, = self.ask("query", "s", "-w", 'run.labels.x="b,c=d"', "-s", "mean:r")["groups"]
        self.assertEqual(group["n"], 3)
        ranking, = self.ask("rank", "s", "--by", "x", "-o", "r", "--direction", "higher")["rankings"]
        self.assertEqual(sorted(alternative["key"]["x"] for alternative in ranking["alternatives"]), ["a", "b,c=d"])

    def test_fields_of_a_specification_are_swept(self):
        (self.directory / "spec.json").write_text(json.dumps({
            "batch_size": 2, "script": "https://a/b.py", "environment": [{"name": "THREADS", "value": "1"}],
            "python": {"requirements": {"packages": {"tensorflow": {"index": "own", "version": "==2.2.0"}}}}}))
        printed = {"name": "s", "component": "TensorFlow", "@parameters": {}, "@result": {"r": 1}}
        (self.directory / "s.sh").write_text(f"""#!/bin/sh\ngrep -q '"version":"==2.1.0"' $PERFD_SPECIFICATION && rate=2\n"""
                                             f"""echo '{json.dumps(printed)}' | sed "s/1}}/$THREADS${{rate:-1}}}}/"\n""")
        version, threads = "python.requirements.packages.tensorflow.version", "environment.THREADS"
        (self.directory / "s.yaml").write_text(json.dumps({
            "specification": str(self.directory / "spec.json"), "script": str(self.directory / "s.sh"),
            "settings": {version: ["==2.1.0", "==2.2.0"], threads: [1, 4]}, "output": str(self.directory / "swept")}))
        self.perfctl("sweep", self.directory / "s.yaml")
        groups = self.ask("query", "s", "-b", f"run.labels.{version},run.labels.{threads}", "-s", "mean:r")["groups"]
        self.assertEqual([(*group["key"].values(), group["n"], *group["values"].values()) for group in groups],
                         [("==2.1.0", "1", 2, 12), ("==2.1.0", "4", 2, 42), ("==2.2.0", "1", 2, 11), ("==2.2.0", "4", 2, 41)])
        results = self.running.get("/api/v1/indicators/s/results").json["results"]
        kept = [self.running.get(f"/api/v1/specifications/{digest}").json["specification"]
                for digest in {result["specification"] for result in results}]
        self.assertEqual(sorted((one["python"]["requirements"]["packages"]["tensorflow"]["version"], one["environment"][0]["value"])
                                for one in kept), [("==2.1.0", "1"), ("==2.1.0", "4"), ("==2.2.0", "1"), ("==2.2.0", "4")])
        self.assertIn("4 points: 4 recorded", self.perfctl("sweep", "--dry-run", self.directory / "s.yaml").stdout)

    def test_stacks_are_listed_shown_and_compared(self):
        self.inspect("a", 100, "avx2")
        self.inspect("b", 50, "pypi", numpy="1.21.0", exit_code=1)
        failed, good = self.stack("list")["stacks"]
        self.assertEqual((good["results"], failed["results"]), (4, 4))
        shown = self.stack("show", good["digest"][:STACK_DIGITS])
        self.assertEqual([package["name"] for package in shown["packages"]], ["numpy", "tensorflow"])
        differ = self.stack("diff", good["digest"][:8], failed["digest"][:8])["differ"]
        self.assertEqual([difference["key"] for difference in differ], ["package.numpy", "package.tensorflow.build"])
        differ = self.stack("diff", "--runs", "PiMatmul")["differ"]
        self.assertEqual(differ[0]["values"], [{"value": "1.18.5", "results": 4, "failed": 0},
                                               {"value": "1.21.0", "results": 0, "failed": 4}])
        table = self.perfctl("stack", "diff", good["digest"], failed["digest"]).stdout.splitlines()
        self.assertEqual(table[1].split(), ["package.numpy", "1.18.5", "1.21.0"])
        self.assertIn("no result has a stack", self.perfctl("stack", "show", "00000000", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
