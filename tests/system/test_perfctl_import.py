"""Checks perfctl import amun and perfctl submit with results of Amun: all formats, failed runs, repetitions."""

import json
import os
import pathlib
import subprocess
import unittest

from harness import FIXTURES, IS_SANITIZED, PERFCTL, TIMEOUT_S, TestCase

PRINTED = {"@parameters": {"n": 512}, "@result": {"rate": 2.5}, "name": "PiMatmul", "component": "tensorflow"}
USAGE = {"ru_utime": 1.5, "ru_stime": 0.25, **{f"ru_{key}": 7 for key in (
    "maxrss", "ixrss", "idrss", "isrss", "minflt", "majflt", "nswap", "inblock", "oublock", "msgsnd", "msgrcv", "nsignals", "nvcsw",
    "nivcsw")}}
SHA256 = "5cbc36b86b8d85255de5acea5dda4247da1eb54c9362c638da799712f4853c10"


def result(stdout=PRINTED, **more):
    """Returns a result in the format of Amun."""
    return {"stdout": stdout, "stderr": "DTYPE set to float32\n", "exit_code": 0, "script_sha256": SHA256, "usage": USAGE,
            "datetime": "2020-08-18T16:33:32.052043", "hostname": "node17", **more}


class Import(TestCase):
    def write(self, path, document):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return str(path)

    def inspection(self, results, specification=None, name="inspection-matmul-0001"):
        directory = pathlib.Path(self.temporary_directory()) / name
        for n, document in results.items():
            self.write(directory / "results" / str(n) / "result", document)
        if specification:
            self.write(directory / "build" / "specification", specification)
        return directory

    def perfctl(self, *words, status=0):
        done = self.running.perfctl(*map(str, words))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def stored(self, name="PiMatmul"):
        return self.running.get(f"/api/v1/indicators/{name}/results").json["results"]


class Submit(Import):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()
        self.directory = pathlib.Path(self.temporary_directory())

    def test_every_nesting_and_both_forms_of_stdout_are_the_same_indicator(self):
        inner = result()
        shapes = [result(), result(json.dumps(PRINTED)), result("warming up\n" + json.dumps(PRINTED) + "\n"),
                  {"job_log": inner, "specification": {"script": "https://example.org/matmul.py"}}, {"log": inner},
                  {"job_log": result(json.dumps(PRINTED))}, {**PRINTED, **{k: v for k, v in inner.items() if k != "stdout"}}]
        files = [self.write(self.directory / f"{i}.json", shape) for i, shape in enumerate(shapes)]
        self.assertEqual(self.perfctl("submit", *files).stdout, f"{len(shapes)} stored\n")
        stored = self.stored()
        self.assertEqual(len(stored), len(shapes))
        for row in stored:
            self.assertEqual(row["document"], {**PRINTED, "version": SHA256})
            self.assertEqual((row["version"], row["time_ms"]), (SHA256, 1597768412052))

    def test_the_scripts_own_version_and_keys_stay(self):
        plain = {**PRINTED, "version": "2.2", "hostname": "mine", "exit_code": "none", "stdout": 1}
        self.perfctl("submit", self.write(self.directory / "plain.json", plain),
                     self.write(self.directory / "wrapped.json", result({**PRINTED, "version": "2.2", "hostname": "mine"})))
        self.assertCountEqual([row["document"] for row in self.stored()], [plain, {**PRINTED, "version": "2.2", "hostname": "mine"}])

    def test_errors_have_their_position(self):
        for document, text in ((result("hello\n"), "stdout: contains no JSON object with @result, but 'hello"),
                               (result('{"@result": {"a": 1,}}'), "stdout: contains no indicator: stdout:1:"),
                               (result({"@result": {"a": 1}}), "stdout.@parameters: missing"),
                               ({"job_log": result({**PRINTED, "@result": {"n": 1}})}, "job_log.stdout.@result.n: collision"),
                               (result(5), "stdout: is an integer, must be what a script prints"),
                               (result(exit_code=900), "exit_code: must be a whole number"),
                               (result(datetime="yesterday"), "datetime: 'yesterday' is not a time"),
                               (result("", exit_code=1), "name: a failed run names no indicator: use --indicator"),
                               (result(json.dumps(PRINTED) + "\n" + json.dumps(PRINTED)), "stdout: contains 2 indicators")):
            file = self.write(self.directory / "bad.json", document)
            done = self.perfctl("submit", file, status=1)
            self.assertIn(f"{file}:1: {text}", done.stderr)
            self.assertIn("nothing was sent", done.stderr)

    def test_a_failed_run_is_kept_under_the_name_that_is_given(self):
        file = self.write(self.directory / "failed.json", result("", exit_code=-9, stderr="Killed\n"))
        self.perfctl("submit", "--indicator", "PiMatmul", "--component", "tensorflow", file)
        self.assertEqual(len(self.stored()), 1)
        file = self.write(self.directory / "named.json", {"job_log": result("", exit_code=1),
                                                          "specification": {"script": "https://example.org/a/conv2d.py"}})
        self.perfctl("submit", file)
        self.assertEqual(len(self.stored("conv2d")), 1)


class Inspections(Import):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()

    def test_a_batch_with_gaps_and_failures_is_imported_once(self):
        directory = self.inspection({0: result(), 2: result(json.dumps(PRINTED)), 3: result("", exit_code=1),
                                     11: result(None), "notes": "not a run"},
                                    {"identifier": "matmul", "base": "ubi8", "batch_size": "20", "script": "https://example.org/m.py",
                                     "run": {"requests": {"cpu": "500m", "memory": "4Gi"}},
                                     "environment": [{"name": "OMP_NUM_THREADS", "value": "2"}]})
        first = self.perfctl("import", "amun", directory)
        self.assertRegex(first.stdout, r"^inspection-matmul-0001: batch [0-9a-f]{32}: 4 stored, 2 failed\n$")
        again = self.perfctl("import", "amun", f"{directory}/")
        self.assertRegex(again.stdout, r": 0 stored, 4 already stored, 2 failed\n$")
        self.assertEqual(first.stdout.split(": ")[1], again.stdout.split(": ")[1])
        self.assertEqual(len(self.stored()), 4)
        # A query for these parameters also counts failed runs with these parameters.
        group, = self.running.get("/api/v1/indicators/PiMatmul/query?where=n%3D512").json["groups"]
        self.assertEqual((group["n"], group["n_failed"]), (2, 2))

        self.write(directory / "results" / "1" / "result", result())
        more = json.loads(self.perfctl("import", "amun", "--json", directory).stdout)
        self.assertEqual((more["stored"], more["duplicate"], more["failed"], more["skipped"]), (1, 4, 2, 0))
        self.assertEqual(more["inspections"][0]["inspection"], "inspection-matmul-0001")

    def test_a_broken_file_leaves_the_others(self):
        directory = self.inspection({0: result(), 1: "{\"stdout\": ", 2: "", 3: "[1]", 4: result("nothing"), 5: result()}, "{]")
        (directory / "results" / "6").mkdir()
        done = self.perfctl("import", "amun", directory, status=1)
        self.assertRegex(done.stdout, ": 2 stored, 5 skipped\n$")
        for text in ("build/specification:1:2: ", "results/1/result:1:", "results/2/result:1: is empty",
                     "results/3/result:1: is a list, must be an object", "results/4/result: stdout: contains no JSON object",
                     f"cannot read {directory}/results/6/result: No such file"):
            self.assertIn(text, done.stderr)

    def test_pipes_and_devices_are_skipped(self):
        directory = self.inspection({0: result(), 1: result()}, {"identifier": "matmul"})
        for path in (directory / "results" / "0" / "hwinfo", directory / "results" / "2" / "result", directory / "build" / "x"):
            path.parent.mkdir(exist_ok=True)
            os.mkfifo(path)
        (directory / "build" / "specification").unlink()
        (directory / "build" / "x").rename(directory / "build" / "specification")
        (directory / "results" / "3").mkdir()
        (directory / "results" / "3" / "result").symlink_to("/dev/zero")
        done = self.perfctl("import", "amun", directory, status=1)
        self.assertRegex(done.stdout, ": 2 stored, 2 skipped\n$")
        for file in ("build/specification", "results/0/hwinfo", "results/2/result", "results/3/result"):
            self.assertIn(f"cannot read {directory}/{file}: it is not a regular file\n", done.stderr)

    def test_links_of_the_same_user_are_followed(self):
        directory = self.inspection({0: result(), 1: result()})
        elsewhere = pathlib.Path(self.temporary_directory())
        (directory / "results" / "1").rename(elsewhere / "run")
        (directory / "results" / "1").symlink_to(elsewhere / "run")
        self.assertRegex(self.perfctl("import", "amun", directory).stdout, ": 2 stored\n$")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to act as several users")
    def test_links_of_others_lead_nowhere(self):
        directory = self.inspection({0: result(), 1: result(), 2: result()}, {"identifier": "matmul"})
        elsewhere = pathlib.Path(self.temporary_directory())
        (directory / "results" / "1").rename(elsewhere / "run")
        (directory / "results" / "1").symlink_to(elsewhere / "run")
        (directory / "results" / "2" / "result").rename(elsewhere / "result")
        (directory / "results" / "2" / "result").symlink_to(elsewhere / "result")
        (directory / "build").rename(elsewhere / "build")
        (directory / "build").symlink_to(elsewhere / "build")
        os.chown(directory, 65534, 65534)
        done = self.perfctl("import", "amun", directory, status=1)
        self.assertRegex(done.stdout, ": 1 stored, 2 skipped\n$")
        for file in ("build/specification", "results/1/result", "results/2/result"):
            self.assertIn(f"cannot read {directory}/{file}: symbolic links in a directory of another user are not followed\n", done.stderr)

    def test_an_invalid_inspection_does_not_affect_others(self):
        good = self.inspection({0: result()})
        empty = self.inspection({"x": result()}, name="inspection-empty")
        done = self.perfctl("import", "amun", "/nonexistent", empty, good, status=1)
        self.assertIn("cannot import /nonexistent: No such file or directory; an inspection has results/0/result", done.stderr)
        self.assertIn(f"cannot import {empty}: no results", done.stderr)
        self.assertRegex(done.stdout, ": 1 stored\n$")

    def test_a_directorys_name_moves_no_cursor(self):
        done = self.perfctl("import", "amun", self.inspection({0: result()}, name="two\nlines\x1b[2J\u202e"))
        self.assertTrue(done.stdout.startswith("two\\nlines\\x1b[2J\\u{202e}: batch "), done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), 1)

    def test_results_beyond_the_retention_are_refused_with_a_message(self):
        self.running = self.daemon("[store]\nkeep_results = 30d\n")
        directory = self.inspection({0: result()})
        done = self.perfctl("import", "amun", directory, status=1)
        self.assertIn(f"{directory}/results/0/result: time_ms: was measured at 2020-08-18T16:33:32.052Z, but [store] keep_results is "
                      "30 days; raise keep_results, or set it to 0", done.stderr)
        self.assertEqual(self.stored(), [])
        self.assertEqual(self.perfctl("submit", self.write(directory / "new", PRINTED)).stdout, "1 stored\n")

    def test_all_failed_runs_take_the_scripts_name_or_the_one_given(self):
        runs = {0: result("", exit_code=1), 1: result("Traceback", exit_code=1)}
        specification = {"script": "https://example.org/tensorflow/matmul.py"}
        self.perfctl("import", "amun", self.inspection(runs, specification))
        self.assertEqual(len(self.stored("matmul")), 2)
        self.perfctl("import", "amun", "--indicator", "PiMatmul", self.inspection(runs, specification, name="inspection-2"))
        self.assertEqual(len(self.stored()), 2)
        done = self.perfctl("import", "amun", self.inspection(runs, name="inspection-3"), status=1)
        self.assertIn("results/0/result: name: a failed run names no indicator", done.stderr)

    def test_names_come_from_the_first_run_that_has_them(self):
        second = {**PRINTED, "name": "Second", "component": "other"}
        directory = self.inspection({0: result("", exit_code=1), 1: "{]", 2: result(), 3: result(second), 4: result("", exit_code=1)})
        done = self.perfctl("import", "amun", directory, status=1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)  # one line, although the document is read twice
        self.assertIn("results/1/result:1:2: ", done.stderr)
        self.assertCountEqual([(row["component"], "exit_status" in row and row["exit_status"] == 1) for row in self.stored()],
                              [("tensorflow", True), ("tensorflow", False), ("tensorflow", True)])
        self.assertEqual(len(self.stored("Second")), 1)

    def peak_kib(self, directory):
        """Imports a directory and checks that all runs are stored."""
        process = subprocess.Popen([str(PERFCTL), "import", "amun", "--json", "--socket", self.running.socket, str(directory)],
                                   stdout=subprocess.PIPE)
        with process.stdout:
            counts = json.load(process.stdout)
        status, used = os.wait4(process.pid, 0)[1:]
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual((process.returncode, counts["skipped"]), (0, 0))
        return used.ru_maxrss, counts

    def test_memory_does_not_grow_with_the_number_of_runs(self):
        self.running = self.daemon("[store]\nvolatile = yes\n")
        directory = self.inspection({0: result(padding=[0] * 10000)})  # members of the runner, which are read but not stored
        first = directory / "results" / "0" / "result"
        peaks = []
        for n in (10, 1000):
            for i in range(1, n):
                (directory / "results" / str(i)).mkdir(exist_ok=True)
                if not (path := directory / "results" / str(i) / "result").exists():
                    os.link(first, path)
            peak, counts = self.peak_kib(directory)
            peaks.append(peak)
            self.assertEqual(counts["stored"] + counts["duplicate"], n)
        self.assertEqual(counts["duplicate"], 10)
        if not IS_SANITIZED:  # a sanitizer keeps freed memory
            self.assertLess(peaks[1], 1.5 * peaks[0])

    def test_without_perfd_nothing_is_lost(self):
        directory = self.inspection({0: result(), 1: result()})
        done = subprocess.run([str(PERFCTL), "import", "amun", "--socket", "/nonexistent", "--timeout", "0", str(directory)],
                              text=True, capture_output=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 3)
        self.assertIn("repeat the import", done.stderr)

    @unittest.skipUnless((FIXTURES / "thoth").is_dir(), "what Amun wrote is not installed (PERFD_FIXTURES)")
    def test_real_inspections(self):
        directories = sorted((FIXTURES / "thoth").glob("inspection-*"))
        done = self.perfctl("import", "amun", *directories)
        self.assertIn("3 inspections: 12 stored\n", done.stdout)
        for name, directory in (("PiMatmul", "matmul"), ("PiConv2D", "conv2d")):
            printed = [json.loads(path.read_text())["stdout"] for path in (FIXTURES / "thoth").glob(f"*{directory}*/results/*/result")]
            self.assertCountEqual([row["document"]["@result"]["elapsed"] for row in self.stored(name)],
                                  [document["@result"]["elapsed"] for document in printed])

    @unittest.skipUnless((FIXTURES / "thoth").is_dir(), "what Amun wrote is not installed (PERFD_FIXTURES)")
    def test_statistics_of_real_batches_are_pandas(self):
        keys = {"mean": "mean", "median": "median", "sd": "std_ddof1", "standard_error": "std_error", "min": "min", "max": "max",
                "q1": "q1_linear", "q3": "q3_linear", "iqr": "iqr", "cov": "cov", "covm": "covm", "skew": "skew_pandas", "n": "n"}
        golden = json.loads((FIXTURES / "thoth" / "golden_batch_statistics.json").read_text())
        done = json.loads(self.perfctl("import", "amun", "--json", *(FIXTURES / "thoth" / name for name in golden)).stdout)
        for inspection in done["inspections"]:
            expected = golden[inspection["inspection"]]
            batch = self.running.get(f"/api/v1/batches/{inspection['batch']}").json
            self.assertEqual((batch["name"], batch["component"], batch["n"], batch["n_failed"]),
                             (expected["name"], expected["component"], expected["n"], 0))
            for column, values in expected["stats"].items():
                got = batch["statistics"][column]
                for ours, theirs in keys.items():
                    with self.subTest(f"{inspection['inspection']} {column} {ours}"):
                        if values[theirs] is None:
                            self.assertIsNone(got[ours])
                        else:
                            self.assertAlmostEqual(got[ours], values[theirs], delta=1e-9 * max(1, abs(values[theirs])))


if __name__ == "__main__":
    unittest.main()
