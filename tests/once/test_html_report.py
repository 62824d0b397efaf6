"""Opens reports that are one file each in Chromium: of a job, of the nodes of a run, and of test results."""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness
from chromium import Browser
from harness import BUILD, PERFCTL, ROOT

SCREENSHOTS = BUILD / "screenshots"
EVIL = '</script><script>alert(1)</script><!--&"\u202egnp.exe'
SIZES = {"1280": (1280, 800, False), "390": (390, 844, False), "dark": (1280, 800, True)}


class HtmlReport(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.browser = Browser(self.temporary_directory())
        self.addCleanup(self.browser.close)
        self.directory = self.temporary_directory()
        self.server = self.daemon(f"[sampling]\ninterval = 100ms\n[indicators]\ndirectory = {ROOT}/conf/indicators.d\n")

    def perfctl(self, *words):
        path = os.pathsep.join([str(BUILD), os.environ["PATH"]])
        done = subprocess.run([PERFCTL, *words], cwd=ROOT, capture_output=True, text=True, timeout=harness.TIMEOUT_S,
                              env={**os.environ, "PATH": path, "PERFD_SOCKET": str(self.server.socket), "LOADER_ITEMS": "1000"})
        self.assertEqual((done.returncode, done.stderr if words[0] != "run" else ""), (0, ""), done)
        return done.stdout

    def show(self, file):
        self.browser.open(file.as_uri())
        return self.browser.wait("document.querySelector('#view')?.dataset.shown === 'report' && document.body.innerText", "the report")

    def check(self, file, texts, name, n_links=0):
        """Opens the file in each size and prints it. n_links: links that lead out of it."""
        SCREENSHOTS.mkdir(exist_ok=True)
        self.browser.requests.clear()
        for size, (width, height, is_dark) in SIZES.items():
            self.browser.resize(width, height, is_dark)
            text = self.show(file)
            for words in texts:
                self.assertIn(words, text)
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, size)
            self.browser.screenshot(SCREENSHOTS / f"{name}-{size}.png")
        self.browser.resize(1280, 800)
        self.show(file)
        pdf = base64.b64decode(self.browser.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
        (SCREENSHOTS / f"{name}.pdf").write_bytes(pdf)
        self.assertEqual(self.browser.complaints, [])
        self.assertEqual({url for url in self.browser.requests if not url.startswith(("about:", "data:"))}, {file.as_uri()})
        # Each script and style element is one that the policy names, and no link leads out of the file.
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', file.read_text())[1]
        self.assertIn("default-src 'none'", policy)
        self.assertEqual(len(re.findall("sha256-", policy)), self.browser.evaluate(
            "document.querySelectorAll('script:not([type=\"application/json\"]), style').length"))
        outside = "[src], link:not([rel=icon]), a:not([href^=\"#report-\"])"
        self.assertEqual(self.browser.evaluate(f"document.querySelectorAll('{outside}').length"), n_links)
        return pdf

    def test_of_a_job(self):
        script = f"perfctl mark load; sleep 0.5; perfctl mark compute; {BUILD}/examples/loader; perfctl mark rest; sleep 0.5"
        self.perfctl("run", "--name", EVIL, "--label", f"k={EVIL}", "--", "sh", "-c", script)
        self.perfctl("run", "--indicator", "Sleep", "--name", "later", "--", "true")
        job = next(j["id"] for j in self.server.get("/api/v1/jobs").json["jobs"] if j["name"] == EVIL)
        file = self.directory / "job.html"
        self.perfctl("report", job, "--html", str(file))
        self.assertEqual([f.name for f in self.directory.iterdir()], ["job.html"])
        self.assertLess(file.stat().st_size, 250_000)
        pdf = self.check(file, ("</script><script>alert(1)</script><!--", "\\u{202e}", "finished", "Allocated and used", "CPU of the node",
                                "Phases", "compute", "Data pipeline", "metrics"), "report")
        self.assertTrue(pdf.startswith(b"%PDF"))
        # The same on standard output.
        text = self.perfctl("report", job, "--html", "-")
        self.assertEqual(re.sub(r"\d{13}", "", text), re.sub(r"\d{13}", "", file.read_text()))

    def test_of_a_running_job(self):
        with self.server.client() as client:
            self.assert_status(client.begin("runs", name="still-running"), "OK")
        file = self.directory / "job.html"
        self.perfctl("report", "runs", "--html", str(file))
        self.assertIn("running", self.show(file))
        self.assertEqual(self.browser.complaints, [])

    def test_of_a_run_on_several_nodes(self):
        """From files, as on a machine without perfd. The jobs may have the same id."""
        self.perfctl("run", "--name", "train", "--", "sh", "-c", "i=0; while [ $i -lt 99999 ]; do i=$((i+1)); done")
        report = json.loads(self.perfctl("report", "--json", "last"))
        for i in range(3):
            changed = {**report, "rank": i, "ranks": 3, "on": {**report["on"], "hostname": f"cn{i}"},
                       "exit": {"status": 0, "signal": 9 if i == 2 else 0}}
            if i == 1:  # one node with GPUs
                changed["metrics"] = [m for m in report["metrics"] if m["key"] != "duration_seconds"] + [
                    {"key": key, "value": value, "unit": "s", "scope": "job", "quality": "exact"}
                    for key, value in (("duration_seconds", 10), ("job_gpu_seconds", 40), ("job_gpu_used_seconds", 30))]
            (self.directory / f"{i}.json").write_text(json.dumps(changed))
        file = self.directory / "run.html"
        self.perfctl("report", "--all-nodes", "--html", str(file), *(str(self.directory / f"{i}.json") for i in range(3)))
        self.check(file, ("3 reports", "cn0, rank 0", "cn1, rank 1", "cn2, rank 2", "killed (signal 9)",
                          "GPUs used", "3 of 4"), "report-run")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('section.report h1').length"), 3)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('section.report .pill.bad').length"), 1)

    def process(self, *words):
        """Processes the sweep of the examples, with a test that failed and one whose texts are hostile."""
        for path in (ROOT / "examples" / "results").iterdir():
            shutil.copy(path, self.directory)
        env = {**os.environ, "PERFD_SOCKET": str(self.server.socket), "NO_COLOR": "1"}
        subprocess.run([PERFCTL, "sweep", "--no-perfd", "sweep.yaml"], cwd=self.directory, env=env, check=True, capture_output=True,
                       timeout=harness.TIMEOUT_S * 3)
        bad = self.directory / "out" / "bad"
        bad.mkdir()
        (bad / "settings.yaml").write_text(json.dumps({"users": 8, "release": "2.0.0", "@repeat": EVIL}))
        (bad / "exit_code").write_text("3\n")
        (bad / "stderr").write_text(f"first line\n{EVIL}\n")
        (bad / "stdout").write_text("loaded the model in 19.5 s\n")
        done = subprocess.run([PERFCTL, "results", "process", "--config", "serving.yaml", "--output", "report", *words, "out"],
                              cwd=self.directory, env=env, capture_output=True, text=True, timeout=harness.TIMEOUT_S * 3)
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")
        return self.directory / "report"

    def rows(self, title):
        """The data of a figure, as a reader takes them."""
        self.browser.evaluate(f"""[...document.querySelectorAll('figure')].find((f) => f.ariaLabel === '{title}')
            .querySelector('details.data').open = true""")
        return self.browser.wait(f"""[...document.querySelectorAll('[aria-label="Numbers of {title}"] tbody tr')]
            .map((tr) => [...tr.cells].map((c) => c.textContent).join(' ')).join('\\n')""", "the data")

    def test_of_test_results(self):
        report = self.process()
        self.assertEqual(sorted(f.name for f in report.glob("*.html")), ["details.html", "index.html", "load_time.html", "overview.html"])
        texts = ("25 tests", "1 failed", "2 regression", "Throughput over users", "Latency of each release", "changed at 2.0.0",
                 "12 runs of 2 versions")
        self.check(report / "overview.html", texts, "results-overview", n_links=1)
        self.assertEqual(self.rows("Throughput over users").splitlines()[0], "1 1.9.0 103.5 101 106 6")
        self.assertEqual(len(self.rows("Latency of each release").splitlines()), 24)
        # Verdicts are words beside their colours, where the newest run of the history stands.
        cells = "document.querySelector('[aria-label=KPIs] tbody').rows"
        self.assertEqual(self.browser.evaluate(f"[...{cells}].map((r) => r.querySelectorAll('.pill').length).join()"), "0,5,0,5")
        bad = f"[...{cells}[1].querySelectorAll('.pill.bad')].map((p) => p.textContent).join()"
        self.assertEqual(self.browser.evaluate(bad), "regression")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.chart .change.bad').length"), 2)

        texts = ("users=8, release=2.0.0", "Select one test: 6 match", "failed: exit 3", "first line", "\\u{202e}",
                 "</script><script>alert(1)</script><!--", "latency: mean(latencies)")
        pdf = self.check(report / "details.html", texts, "results-details", n_links=1)
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.browser.evaluate("""(() => { const s = document.querySelector('select'); s.selectedIndex = 1;
            s.dispatchEvent(new Event('change')); })()""")
        self.assertEqual(self.rows("Latencies within one test").splitlines()[1].split()[1], "43")
        self.check(report / "load_time.html", ("Crosses are tests that failed", "data, 25 rows"), "results-plot", n_links=1)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.mark.failed').length"), 1)
        texts = ("overview", "details", "load time", "10 KPIs: 8 no change, 2 regression")
        self.check(report / "index.html", texts, "results-index", n_links=3)

    def test_of_chosen_test_results(self):
        report = self.process("--generate", "gating", "--no-store")
        self.assertEqual([f.name for f in report.glob("*.html")], ["overview.html"])
        self.check(report / "overview.html", ("25 tests", "No verdicts", "off: nothing is stored"), "results-chosen")

    def test_what_is_no_file_is_not_replaced(self):
        with self.server.client() as client:
            self.assert_status(client.begin("j"), "OK")
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        for path, why in ((fifo, "it is not a regular file"), (self.directory / "none" / "x", "No such file or directory")):
            done = subprocess.run([PERFCTL, "report", "j", "--html", path, "--socket", self.server.socket], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, f"perfctl: cannot write {path}: {why}\n"))
        self.assertTrue(pathlib.Path(fifo).is_fifo())


if __name__ == "__main__":
    unittest.main()
