"""Opens reports that are one file each in Chromium: of a job, and of the nodes of a run."""

import base64
import json
import os
import pathlib
import re
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

    def check(self, file, texts, name):
        """Opens the file in each size and prints it."""
        SCREENSHOTS.mkdir(exist_ok=True)
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
        self.assertEqual(self.browser.evaluate(f"document.querySelectorAll('{outside}').length"), 0)
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
            (self.directory / f"{i}.json").write_text(json.dumps(changed))
        file = self.directory / "run.html"
        self.perfctl("report", "--all-nodes", "--html", str(file), *(str(self.directory / f"{i}.json") for i in range(3)))
        self.check(file, ("3 reports", "cn0, rank 0", "cn1, rank 1", "cn2, rank 2", "killed (signal 9)"), "report-run")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('section.report h1').length"), 3)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('section.report .pill.bad').length"), 1)

    def test_what_is_no_file_is_not_replaced(self):
        with self.server.client() as client:
            self.assert_status(client.begin("j"), "OK")
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        for path, why in ((fifo, "it is not a regular file"), (self.directory / "none" / "x", "No such file or directory")):
            done = subprocess.run([PERFCTL, "report", "j", "--html", path, "--socket", self.server.socket], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, f"perfctl: cannot write '{path}': {why}\n"))
        self.assertTrue(pathlib.Path(fifo).is_fifo())


if __name__ == "__main__":
    unittest.main()
