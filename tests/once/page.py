"""The web page of a perfd that has run real jobs, in Chromium."""

import os
import re
import subprocess
import time

import harness
from chromium import Browser
from harness import BUILD, ROOT

EVIL = '<img src=x onerror=alert(1)>&"\u202egnp.exe'


class PageCase(harness.TestCase):
    """A perfd, and a Chromium that looks at its page."""

    def setUp(self):
        super().setUp()
        self.browser = Browser(self.temporary_directory())
        self.addCleanup(self.browser.close)
        self.server = self.daemon(f"[sampling]\ninterval = 200ms\n[indicators]\ndirectory = {ROOT}/conf/indicators.d\n", tcp=True)
        self.base = f"http://127.0.0.1:{self.server.port}/"

    def shell(self, script):
        path = os.pathsep.join([str(BUILD), os.environ["PATH"]])
        return subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=harness.TIMEOUT_S,
                              env={**os.environ, "PATH": path, "PERFD_SOCKET": str(self.server.socket), "EVIL": EVIL,
                                   "MATMUL_MATRIX_SIZE": "48", "MATMUL_REPS": "3", "LOADER_ITEMS": "1000"})

    def fill(self):
        """Returns the ids of jobs by name."""
        marks = "perfctl mark load; sleep 0.5; perfctl mark compute; sleep 1"
        for script in (f"perfctl run --name train --label project=web --label epoch=3 -- sh -c '{marks}'",
                       "perfctl run --name failed --label project=other -- sh -c 'exit 3'",
                       "perfctl run --name killed -- sh -c 'kill -9 $$'",
                       'perfctl run --name "$EVIL" --label "k=$EVIL" -- true',
                       f"for p in {BUILD}/examples/matmul examples/indicators/matmul.py; do perfctl run --repeat 5 -- $p; done",
                       "perfctl model add examples/kpis/search.yaml && examples/kpis/releases.py | perfctl submit",
                       f"perfctl run --name loader -- {BUILD}/examples/loader"):
            done = self.shell(script)
            self.assertIn(done.returncode, (0, 3, 137), done.stderr)
        jobs = self.server.get("/api/v1/jobs").json["jobs"]
        self.assertTrue(all(job["end_ms"] for job in jobs))
        return {**{job["name"]: job["id"] for job in jobs}, "evil": next(job["id"] for job in jobs if job["name"] == EVIL)}

    def shown(self):
        """Waits for the view of the URL."""
        return self.browser.wait("document.querySelector('#view')?.dataset.shown === location.hash && "
                                 "document.querySelector('#view').innerText", "the view")

    def count(self, selector):
        return self.browser.evaluate(f"document.querySelectorAll('{selector}').length")

    def wait_text(self, text):
        self.browser.wait(f"document.querySelector('#view')?.innerText.includes('{text}')", text)

    def wait_match(self, pattern):
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not re.search(pattern, text := self.browser.evaluate("document.querySelector('#view').innerText")):
            if time.monotonic() > deadline:
                raise AssertionError(f"{pattern} is not in: {text}")
            time.sleep(0.05)
