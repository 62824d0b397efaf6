"""Checks perfctl results: a directory of test results becomes values, with findings about what is missing or wrong."""

import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import unittest
import uuid
import xml.etree.ElementTree

import harness
from harness import BUILD, PERFCTL, TIMEOUT_S, TestCase

STORE = harness.FIXTURES / "topsail" / "simple_store_tree"
DECLARATION = {"name": "serving", "values": {"rate": {"file": "log", "line": "rate: (?<value>[0-9.]+)", "type": "float", "unit": "MB/s"}}}


class ResultsTestCase(TestCase):
    """Makes directories of results."""

    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.tree = self.directory / "tree"
        self.tree.mkdir()
        self.environment = {**os.environ, "PERFD_SOCKET": str(self.directory / "absent.sock"), "PERFD_SPOOL": str(self.directory / "spool"),
                            "NO_COLOR": "1"}

    def declare(self, declaration=None, **more):
        """Writes JSON, which is valid YAML."""
        (self.directory / "results.yaml").write_text(json.dumps({**(declaration or DECLARATION), **more}))

    def put(self, path, exit_code=0, files=(), **settings):
        """Makes a test."""
        test = self.tree / path
        test.mkdir(parents=True)
        (test / "settings.yaml").write_text(json.dumps(settings))
        (test / "exit_code").write_text(f"{exit_code}\n")
        for name, text in dict(files).items():
            (test / name).write_text(text)
        return test

    def results(self, *words, status=0, **more):
        done = subprocess.run([PERFCTL, "results", *map(str, words)], cwd=self.directory, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S * 3, **more)
        self.assertEqual(done.returncode, status, f"{done.stdout}{done.stderr}")
        return done

    def matrix(self, *words, status=0):
        return json.loads(self.results("parse", "--json", *words, "tree", status=status).stdout)


class Parse(ResultsTestCase):
    def test_values_of_a_tree(self):
        self.declare()
        self.put("1", files={"log": "rate: 104.5 MB/s\n"}, threads=1)
        self.put("2", exit_code=3, threads=2)
        done = self.results("parse", "--output-matrix", "matrix.json", "tree")
        self.assertRegex(done.stdout, r"(?m)^1 +threads=1 +finished +1 of 1 +0$")
        self.assertRegex(done.stdout, r"(?m)^2 +threads=2 +failed: exit 3 +0 of 1 +1$")
        self.assertIn("warning: 2/log: no such file", done.stderr)
        matrix = json.loads((self.directory / "matrix.json").read_text())
        self.assertEqual([test["values"] for test in matrix["tests"]], [{"rate": 104.5}, {"rate": None}])
        self.assertEqual(matrix["units"], {"rate": "MB/s"})

    def test_errors_end_with_status_1_and_the_rest_is_taken(self):
        self.declare()
        self.put("1", files={"log": "rate: 104.5 MB/s\n"}, threads=1)
        self.put("2", threads=2)
        done = self.results("parse", "tree", status=1)
        self.assertRegex(done.stdout, r"(?m)^1 +threads=1 +finished +1 of 1")
        self.assertIn("perfctl: 2/log: no such file, for the value rate", done.stderr)

    @unittest.skipUnless(STORE.exists(), "PERFD_FIXTURES has no topsail/simple_store_tree")
    def test_a_tree_of_matrix_benchmarking(self):
        self.declare({"values": {}})
        shutil.copytree(STORE, self.tree, dirs_exist_ok=True)
        matrix = self.matrix(status=1)
        self.assertEqual({test["path"]: test["exit_code"] for test in matrix["tests"]},
                         {"001__ok": 0, "002__failed": 1, "006__kv": 0, "009__gathered": 0})
        self.assertEqual({test["path"] for test in matrix["left_out"]},
                         {"003__empty_exit", "004__noexit", "005__skipped", "007__nonint", "008__dup"})

    def test_a_tree_of_a_sweep(self):
        self.declare({"values": {"level": {"file": "stdout", "line": "level (?<value>.*)"}}})
        (self.directory / "sweep.yaml").write_text(json.dumps(
            {"settings": {"level": [1, 2], "@repeat": [1, 2]}, "command": ["echo", "level {level}"], "output": "tree"}))
        subprocess.run([PERFCTL, "sweep", "--no-perfd", "sweep.yaml"], cwd=self.directory, env=self.environment, check=True,
                       capture_output=True, timeout=TIMEOUT_S * 3)
        matrix = self.matrix()
        self.assertEqual([test["values"]["level"] for test in matrix["tests"]], [1, 1, 2, 2])
        self.assertEqual(matrix["entries"], 2)

    def read_store(self):
        """Finds tests by the rules of MatrixBenchmarking's store "simple": {path: (settings, exit code)}."""
        yaml = harness.import_peer("yaml")
        found = {}
        for place, directories, files in os.walk(self.tree, followlinks=True):
            if not {"settings", "settings.yaml", "settings.yml"} & set(files):
                continue
            directories.clear()  # no tests below a test
            settings = {}
            for above in reversed([pathlib.Path(place), *pathlib.Path(place).parents]):
                for path in above.glob("settings*") if above.is_relative_to(self.tree) else ():
                    # Another suffix would be read as lines of KEY=VALUE.
                    self.assertRegex(path.name, r"\Asettings(\.[^.]+)*\.ya?ml\Z")
                    settings.update(yaml.safe_load(path.read_text()))
            self.assertNotIn("skip", files)
            code = (pathlib.Path(place) / "exit_code").read_text().strip() if "exit_code" in files else ""
            if code:  # otherwise the test still runs
                found[os.path.relpath(place, self.tree)] = settings, int(code)
        keys = [sorted(settings.items()) for settings, _ in found.values()]
        self.assertEqual([key for key in keys if keys.count(key) > 1], [])
        return found

    def test_the_tree_of_a_sweep_is_one_of_matrix_benchmarking(self):
        """Its rules find the tests that perfctl finds, with the same settings, also after the tests were processed."""
        daemon = self.daemon()
        self.environment |= {"PERFD_SOCKET": str(daemon.socket)}
        self.declare({"name": "swept", "values": {"said": {"file": "stdout", "line": "level (?<value>.*)"}}})
        (self.directory / "sweep.yaml").write_text(json.dumps(
            {"settings": {"level": [1, 2.5, "no"], "release": ["2.10", "2.9"], "@repeat": [1, 2], "mode": ["a b", "c/d"]},
             "command": ["sh", "-c", "echo level {level}; test {level} != no # {release} {mode}"], "output": "tree"}))
        words = [PERFCTL, "sweep", "sweep.yaml"]
        first = subprocess.run(words, cwd=self.directory, env=self.environment, capture_output=True, text=True, timeout=TIMEOUT_S * 6)
        found = self.read_store()
        self.assertEqual(sorted(code != 0 for _, code in found.values()), [False] * 16 + [True] * 8, first.stderr)
        self.results("process", "--no-check", "--output", "tree/report", "tree")
        self.assertTrue(list(self.tree.glob("*/perfd-results.cache")) and list(self.tree.glob("*/job")))
        (next(self.tree.glob("*level=1*")) / "exit_code").unlink()
        unfinished = self.read_store()
        self.assertEqual(len(unfinished), 23)
        matrix = self.matrix()
        self.assertEqual({test["path"]: ({**test["settings"]}, test["exit_code"]) for test in matrix["tests"]}, unfinished)
        subprocess.run(words, cwd=self.directory, env=self.environment, capture_output=True, text=True, timeout=TIMEOUT_S * 3)
        self.assertEqual(self.read_store().keys(), found.keys())

    def test_a_large_log_is_streamed(self):
        """No more than a few MiB of memory for a log of any size."""
        self.declare({"values": {"last": {"file": "log", "line": "n=(?<value>[0-9]+)$", "which": "last"}}})
        test = self.put("1", x=1)
        with open(test / "log", "w") as log:
            for n in range(300):
                log.write("a line of a log that nobody reads\n" * 1000 + f"n={n}\n")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        matrix = json.loads(self.results("parse", "--json", "tree", preexec_fn=limit).stdout)
        self.assertEqual(matrix["tests"][0]["values"], {"last": 299})
        if not harness.IS_SANITIZED:
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, max(before, 64 << 10) + 1)

    def test_devices_pipes_and_links_stay_what_they_are(self):
        self.declare()
        self.put("1", files={"log": "rate: 100\n"}, threads=4)
        pipe, link = self.directory / "pipe", self.directory / "link"
        os.mkfifo(pipe)
        link.symlink_to("target")
        with open(os.open(pipe, os.O_RDWR | os.O_NONBLOCK)) as reader:  # writing does not wait for a reader
            self.results("parse", "--output-matrix", pipe, "tree")
            self.assertTrue(pipe.is_fifo())
            self.assertIn('"rate":100', reader.read(4096))
        self.results("parse", "--output-matrix", link, "tree")
        self.assertTrue(link.is_symlink())
        self.assertIn('"rate":100', (self.directory / "target").read_text())
        self.assertIn("cannot write tree: Is a directory", self.results("parse", "--output-matrix", "tree", "tree", status=1).stderr)

    def test_a_declaration_in_the_tree_is_refused(self):
        self.put("1", x=1)
        (self.tree / "results.yaml").write_text(json.dumps({"parser": ["touch", str(self.directory / "pwned")], "values": {}}))
        done = self.results("parse", "--config", "tree/results.yaml", "tree", status=1)
        self.assertIn("is in the directory of results", done.stderr)
        done = subprocess.run([PERFCTL, "results", "parse", "."], cwd=self.tree, env=self.environment, capture_output=True,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 1)
        self.assertFalse((self.directory / "pwned").exists())


MODEL = {"name": "Serving", "parameters": {"threads": "int", "release": "semver"}, "compare_by": ["release"],
         "results": {"rate": {"type": "float", "unit": "MB/s", "direction": "higher"}, "items": "int",
                     "seconds": {"from": "items / rate", "unit": "s", "direction": "lower"}}}
VALUES = {"rate": {"file": "log", "line": "rate (?<value>[0-9.]+)", "type": "float"}, "n": {"file": "log", "line": "n (?<value>[0-9]+)"}}


class Process(ResultsTestCase):
    """From a directory to stored results and verdicts."""

    def setUp(self):
        super().setUp()
        self.declare({"model": MODEL, "values": VALUES, "results": {"rate": "rate", "items": "n"}})

    def put_runs(self, slow=5):
        """Six releases, of which the last ones are slower."""
        for release in range(6):
            for repeat in range(3):
                rate = (80 if release >= slow else 100) + repeat
                test = self.put(f"{release}.{repeat}", files={"log": f"rate {rate}\nn 1000\n"}, threads=4, release=f"1.{release}.0",
                                run_id=f"{release}", **{"@repeat": repeat})
                time_s = 1_700_000_000 + 86400 * release + repeat
                os.utime(test / "settings.yaml", (time_s, time_s))

    def page(self, name):
        """The data of a report."""
        text = (self.directory / "report" / f"{name}.html").read_text()
        return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])

    def serve(self):
        running = self.daemon()
        self.environment |= {"PERFD_SOCKET": str(running.socket)}
        return running

    def test_a_regression_ends_with_4_and_is_described(self):
        self.serve()
        self.put_runs()
        self.put("failed", exit_code=3, threads=4, release="1.5.0")
        done = self.results("process", "--output", "report", "--output-lts", "lts", "--fail-on", "regression", "tree", status=4)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines if not line.startswith("Serving")],
                         ["parse", "validate", "store", "check", "report", "publish"])
        self.assertIn("store    19 stored, 0 already stored", lines)
        self.assertRegex(done.stdout, r"(?m)^Serving.rate of threads=4: regression: -\d+\.\d % .* since 1\.5\.0$")
        self.assertRegex(done.stdout, r"(?m)^Serving.seconds of threads=4: regression: \+")
        summary = (self.directory / "report" / "regression_summary.yaml").read_text()
        self.assertIn("\nsignificant_performance_decrease: 2\n", summary)
        junit = xml.etree.ElementTree.parse(self.directory / "report" / "junit.xml").getroot()
        self.assertEqual({suite.get("name"): (suite.get("tests"), suite.get("failures")) for suite in junit},
                         {"perfctl results": ("19", "1"), "perfctl kpi check": ("3", "2")})
        self.assertEqual([(case.get("name"), case.find("failure").get("message")) for case in junit[0] if case.find("failure") is not None],
                         [("failed", "exit 3")])
        page = self.page("report")
        self.assertEqual((page["report"], page["parts"], len(page["run"]["tests"])), ("report", None, 19))
        self.assertEqual([len(history) for history in page["run"]["history"]], [6, 6, 6])
        self.assertEqual({change["version"] for kpi in page["run"]["verdicts"] for change in kpi["changes"]}, {"1.5.0"})
        self.assertIn("| Serving.rate | threads=4 | regression", (self.directory / "report" / "summary.md").read_text())
        payloads = [json.loads(path.read_text()) for path in (self.directory / "lts").glob("Serving_*.json")]
        self.assertEqual(len(payloads), 19)
        self.assertEqual({payload["metadata"]["status"] for payload in payloads}, {"Valid"})
        judged, = (payload for payload in payloads if payload["regression_results"])
        self.assertEqual(judged["regression_results"]["Serving.rate"]["verdict"], "regression")
        self.assertEqual(judged["metadata"]["settings"]["@repeat"], 2)

    def test_a_second_run_stores_nothing_and_improvements_are_no_failure(self):
        running = self.serve()
        self.put_runs(slow=6)
        self.results("process", "tree")
        again = self.results("process", "--fail-on", "regression", "tree")
        self.assertIn("store    0 stored, 18 already stored", again.stdout)
        results = running.get("/api/v1/indicators/Serving/results").json["results"]
        self.assertEqual(len(results), 18)
        self.assertEqual(results[0]["document"]["@labels"]["test_path"], "5.2")

    def test_payloads_are_those_that_import_kpis_reads(self):
        running = self.serve()
        self.put_runs()
        self.results("process", "--no-store", "--output-lts", "lts", "tree")
        files = sorted(map(str, (self.directory / "lts").glob("*.json")))
        done = running.perfctl("import", "kpis", "--model", "tuning", *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(running.get("/api/v1/indicators/tuning/results").json["results"]), 18)

    def test_without_perfd_the_results_are_kept(self):
        self.put_runs()
        done = self.results("process", "--timeout", "1ms", "--output", "report", "--fail-on", "regression", "tree", status=3)
        self.assertIn("store    18 kept in the spool", done.stdout)
        self.assertIn("no verdicts", done.stdout)
        self.assertTrue((self.directory / "report" / "summary.md").exists())
        running = self.serve()
        flushed = subprocess.run([PERFCTL, "flush"], env=self.environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(flushed.returncode, 0, flushed.stderr)
        self.assertEqual(len(running.get("/api/v1/indicators/Serving/results").json["results"]), 18)

    def test_what_differs_from_the_model_is_an_error_and_stops_nothing(self):
        running = self.serve()
        self.put("1", files={"log": "rate 100\nn 1000\n"}, threads="four", release="1.0.0")
        self.put("2", files={"log": "rate 100\nn 1000\n"}, threads=4, release="1.0.0")
        done = self.results("process", "--output-lts", "lts", "tree", status=1)
        self.assertIn("1: is not valid: @parameters.threads", done.stderr)
        self.assertIn("validate 2 payloads, 1 invalid", done.stdout)
        self.assertEqual(len(running.get("/api/v1/indicators/Serving/results").json["results"]), 2)
        payloads = [json.loads(path.read_text()) for path in (self.directory / "lts").glob("*.json")]
        self.assertEqual(sorted(payload["metadata"]["status"] for payload in payloads), ["Invalid", "Valid"])

    def test_what_perfd_refuses_is_named_and_the_rest_is_stored(self):
        running = self.daemon("[store]\nkeep_results = 365d\n")
        self.environment |= {"PERFD_SOCKET": str(running.socket)}
        for name, code in (("a", 0), ("b", 0), ("c", 0), ("d", -9), ("e", 256), ("f", 0)):
            self.put(name, code, files={"log": "rate 100\nn 1000\n"}, threads=ord(name), release="1.0.0")
        os.utime(self.tree / "b" / "settings.yaml", (1_500_000_000, 1_500_000_000))
        (self.tree / "c" / ".uuid").write_text(f"{uuid.UUID(int=0)}\n")
        done = self.results("process", "--output", "report", "tree", status=1)
        self.assertIn("store    4 stored, 0 already stored, 2 refused\n", done.stdout)
        self.assertIn("check    6 KPIs: ", done.stdout)
        for line in ("b: is not stored: time_ms: ", "c: is not stored: id: begins with"):
            self.assertIn(f"perfctl: {line}", done.stderr)
            self.assertIn(f"| {line}", (self.directory / "report" / "summary.md").read_text().replace("\\", ""))
        results = running.get("/api/v1/indicators/Serving/results").json["results"]
        self.assertEqual(sorted(each["document"]["@labels"]["test_path"] for each in results), ["a", "d", "e", "f"])

    def test_without_a_model_nothing_is_judged(self):
        self.serve()
        self.put("1", files={"log": "rate: 100\n"}, threads=4)
        self.declare()
        done = self.results("process", "tree")
        self.assertIn("store    1 stored, 0 already stored\ncheck    off: no model is declared\n", done.stdout)
        self.results("process", "--fail-on", "regression", "tree")
        self.results("process", "--fail-on", "no-verdict", "tree", status=5)

    def test_steps_are_switched_off(self):
        self.put_runs()
        self.declare({"model": MODEL, "values": VALUES, "results": {"rate": "rate", "items": "n"},
                      "presets": {"dry": {"store": {"enabled": False}}, "gate": {"regression": {"fail_test_on_regression": True}},
                                  "parse": {"payload": {"generate": False}}}})
        done = self.results("process", "--preset", "dry", "tree")
        self.assertIn("store    off: store.enabled", done.stdout)
        self.assertIn("check    off: nothing is stored", done.stdout)
        self.assertIn("validate off: payload.generate", self.results("process", "--preset", "parse", "tree").stdout)
        self.serve()
        self.results("process", "--preset", "gate", "tree", status=4)
        self.results("process", "--preset", "gate", "--fail-on", "none", "tree")
        self.results("process", "--fail-on", "sometimes", "tree", status=2)


    def test_reports_are_chosen_and_those_that_are_off_are_named(self):
        self.put_runs()
        self.put("failed", exit_code=3, files={"log": "rate 90\nboom\n"}, threads=4, release="1.5.0")
        self.declare({"model": MODEL, "values": VALUES, "results": {"rate": "rate", "items": "n"}, "logs": ["l*"],
                      "plots": {"rates": {"x": "release", "y": "rate"}},
                      "reports": {"short": ["kpis"], "long": [{"plot": "rates", "kind": "box"}, "errors"]},
                      "visualize": [{"id": "gating", "generate": ["short"]}]})
        words = ("process", "--no-store", "--output", "report")
        self.assertIn("report   report, short.html; off: long\n", self.results(*words, "tree").stdout)
        self.assertIn("| report | report, short.html; off: long |", (self.directory / "report" / "summary.md").read_text())
        self.assertIn("report, long.html, rates.html; off: short\n",
                      self.results(*words, "--generate", "long", "--generate", "rates", "tree").stdout)
        page = self.page("long")
        self.assertEqual(page["parts"][0], {"plot": "rates", "kind": "box"})
        failed, = (test for test in page["run"]["tests"] if test["exit_code"])
        self.assertEqual((failed["log"], failed["values"]["rate"]), ("log:\nrate 90\nboom\n", 90))
        self.assertEqual({"long.html", "rates.html", "short.html", "index.html", "summary.md", "junit.xml"},
                         {path.name for path in (self.directory / "report").iterdir()})
        self.assertIn("'none' is neither in reports", self.results(*words, "--generate", "none", "tree", status=2).stderr)

    def test_a_plot_about_one_test_says_how_many_match(self):
        for threads, rate in ((1, 5), (2, 6), (4, 6)):
            self.put(f"{threads}", files={"log": f"rate: {rate}\n"}, threads=threads, mode="a b")
        single, nested = {"x": "item", "y": "rate", "single": True}, {"plot": "all", "filter": {"mode": ["x"]}}
        plots = {"all": single, "two": {**single, "filter": {"threads": [4, 5, 1]}}, "text": {**single, "filter": "threads=5:4, mode=a b"},
                 "value": {**single, "filter": {"rate": 6}}, "one": {**single, "filter": {"rate": 5}}, "many": {**single, "single": False}}
        reports = {"full": [{"plot": name} for name in plots] + ["errors", nested, {"entries": [nested]},
                                                                 {"plot": "two", "filter": "threads=1"}, {"plot": "many", "single": True}]}
        self.declare(plots=plots)
        words = ("process", "--no-store", "--output", "report")

        def said(*more):
            text = self.results(*words, *more, "tree").stderr
            return re.findall(r"perfctl: (\S+)\.html: plot (\S+): select one test: (\d) match\n", text)
        listed = [("all", "3"), ("two", "2"), ("value", "2")]
        self.assertEqual(said(), [("report", *each) for each in listed])
        self.assertEqual(said("--generate", "two", "--generate", "one"), [("two", "two", "2")])
        self.declare(plots=plots, reports=reports)
        self.assertEqual(said(), [("full", *each) for each in [*listed, ("all", "0"), ("many", "3")]])

    def test_a_check_that_fails_leaves_a_marker(self):
        self.serve()
        self.put_runs()
        failure = self.directory / "report" / "FAILURE"
        self.results("process", "--output", "report", "--http-socket", "absent", "tree", status=3)
        self.assertTrue(failure.exists())
        self.assertFalse((self.directory / "report" / "regression_summary.yaml").exists())
        self.results("process", "--output", "report", "tree")
        self.assertFalse(failure.exists())


class Examples(ResultsTestCase):
    """Walks the examples as a user does."""

    def setUp(self):
        super().setUp()
        for path in (harness.ROOT / "examples" / "results").iterdir():
            shutil.copy(path, self.directory)

    def test_a_sweep_becomes_verdicts(self):
        running = self.daemon()
        self.environment |= {"PERFD_SOCKET": str(running.socket)}
        subprocess.run([PERFCTL, "sweep", "--no-perfd", "sweep.yaml"], cwd=self.directory, env=self.environment, check=True,
                       capture_output=True, timeout=TIMEOUT_S * 3)
        words = ("process", "--config", "serving.yaml", "--preset", "gating", "--output", "report", "out")
        done = self.results(*words, status=4)
        self.assertIn("parse    24 tests of 4 settings, 0 failed; 0 left out; errors: 0", done.stdout)
        self.assertIn("validate 24 payloads, 0 invalid", done.stdout)
        verdicts = dict(line.split(": ", 1) for line in done.stdout.splitlines() if line.startswith("serving-example"))
        regressions = {kpi for kpi, verdict in verdicts.items() if verdict.startswith("regression")}
        self.assertEqual(regressions, {f"serving-example.latency of users={n}" for n in (1, 8)}, verdicts)
        self.assertIn("24 already stored", self.results(*words, status=4).stdout)
        self.results("process", "--config", "serving.yaml", "--preset", "dry_run", "--output-lts", "lts", "out")
        self.assertEqual(len(list((self.directory / "lts").glob("*.json"))), 24)

    def test_fine_tuning(self):
        job = self.put("000__run", model_name="granite", tuning_method="lora", replicas=2, accelerators_per_replica=4,
                       rhoai_version="2.17.0", run_id="jobs/1") / "003__run_fine_tuning_job"
        job.mkdir()
        (job / "pod.log").write_text("{'loss': 1.25, 'epoch': 0.5}\n{'loss': 0.75, 'epoch': 1.0}\n"
                                     "{'train_runtime': 100.0, 'train_samples_per_second': 10.5, 'train_steps_per_second': 1.5, "
                                     "'train_tokens_per_second': 2062.25, 'epoch': 1.0}\n")
        (job / "dataset_stats.json").write_text(json.dumps({"total_tokens": 200000, "total_samples": 1000}))
        self.results("process", "--config", "fine_tuning.yaml", "--no-store", "--output-lts", "lts", "--output", "report",
                     "tree")
        self.assertEqual({path.stem for path in (self.directory / "report").glob("*.html")},
                         {"index", "sfttrainer_summary", "sfttrainer_progress", "regression", "error_report"})
        payload = json.loads(next((self.directory / "lts").glob("fine-tuning_*.json")).read_text())
        self.assertEqual(payload["metadata"]["status"], "Valid")
        self.assertEqual({name: kpi["value"] for name, kpi in payload["kpis"].items() if kpi["lower_better"] is not None},
                         {"train_runtime": 100.0, "train_samples_per_second": 10.5, "train_tokens_per_second": 2062.25,
                          "dataset_tokens_per_second": 2000.0, "dataset_tokens_per_second_per_gpu": 250.0,
                          "gpu_hours_per_million_tokens": 1e6 / 2000 / 3600 * 8})


    def test_statistics_of_a_pipeline(self):
        """Each line of a plot is a stage: the lists of x, y and legend are columns of one table."""
        test = self.put("000__run", workers=4)
        (test / "task_stats.csv").write_text("id,timestamp,name,num_tasks,num_failures,ave_time\n"
                                             "1,1774000000.5,decode,10,0,0.25\n2,1774000000.5,resize,20,0,0.125\n")
        (test / "queue_stats.csv").write_text("id,timestamp,name,elapsed,num_items,ave_put_time,ave_get_time,occupancy_rate\n"
                                              "1,1774000000.5,decode_queue,2.0,10,0.5,0.0,0.75\n"
                                              "2,1774000002.5,decode_queue,2.0,30,0.5,0.0,0.25\n")
        (test / "event_stats.csv").write_text("id,timestamp,event_name\n1,1774000001.0,gc_start\n2,1774000001.5,gc_stop\n")
        self.results("process", "--config", "pipeline.yaml", "--no-store", "--output", "report", "tree")
        text = (self.directory / "report" / "pipeline.html").read_text()
        data, = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["run"]["tests"]
        self.assertEqual((data["values"]["task"], data["values"]["ave_time"]), (["decode", "resize"], [0.25, 0.125]))
        self.assertEqual(data["results"], {"items_per_second": 10.0, "mean_readiness": 0.5})
        self.assertEqual(data["values"]["event"], ["gc_start", "gc_stop"])


class Program(ResultsTestCase):
    def test_perfctl_runs_the_program(self):
        self.assertIn("results parse", self.results("--help").stdout)
        self.assertIn("missing command after 'results'", self.results(status=2).stderr)
        done = subprocess.run([PERFCTL, "--no-color", "--socket", "x", "help", "results", "parse"], capture_output=True, text=True)
        self.assertIn("--output-matrix", done.stdout)
        done = subprocess.run([PERFCTL, "__complete", "results", "pa"], capture_output=True, text=True)
        self.assertIn("parse", done.stdout.splitlines())
        done = subprocess.run([PERFCTL, "help", "all"], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"(?m)^  results  ")

    def test_a_missing_program_is_named(self):
        alone, installed = self.directory / "bin" / "perfctl", self.directory / "libexec" / "perfd" / "perfctl-results"
        alone.parent.mkdir()
        installed.parent.mkdir(parents=True)
        shutil.copy(PERFCTL, alone)
        done = subprocess.run([alone, "results", "parse", "x"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("package perfd-results", done.stderr)
        shutil.copy(pathlib.Path(BUILD) / "perfctl-results", installed)
        self.assertIn("results parse", subprocess.run([alone, "results", "--help"], capture_output=True, text=True).stdout)
