"""The web page of a perfd that has run real jobs, in Chromium."""

import os
import re
import subprocess
import time

import harness
from chromium import Browser
from equipped import Equipped
from harness import BUILD, ROOT

EVIL = '<img src=x onerror=alert(1)>&"\u202egnp.exe'


class PageCase(harness.TestCase):
    """A perfd, and a Chromium that looks at its page."""

    def setUp(self):
        super().setUp()
        self.browser = Browser(self.temporary_directory())
        self.addCleanup(self.browser.close)
        self.server = self.daemon(f"[sampling]\ninterval = 200ms\n[indicators]\ndirectory = {ROOT}/conf/indicators.d\n", tcp=True,
                                  root=self.root())
        self.base = f"http://127.0.0.1:{self.server.port}/"

    def root(self):
        """The directory of the machine; None: the one on which the test runs."""
        return None

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
        self.report_ranks()
        jobs = self.server.get("/api/v1/jobs").json["jobs"]
        self.assertTrue(all(job["end_ms"] for job in jobs))
        return {**{job["name"]: job["id"] for job in jobs}, "evil": next(job["id"] for job in jobs if job["name"] == EVIL)}

    def report_ranks(self):
        """Two ranks of a run report their pipelines; that of the second is slower."""
        now_ms = 1000 * int(time.time())
        with self.server.client() as client:
            for rank in range(2):
                self.assert_status(client.begin(f"rank-{rank}", rank=rank, ranks=2, name="ddp"), "OK")
            for rank in range(2):
                request = client.request()
                report = request.pipeline_report
                report.job, report.producer = f"rank-{rank}", "spdl 0.8.0"
                for k in range(12):
                    time_ms = now_ms - 10000 * (11 - k)
                    stages = (("decode[8]", 0.02 + 0.03 * rank, 0.97 - 0.6 * rank), ("collate[1]", 0.004, 0.3))
                    for i, (stage, task_s, readiness) in enumerate(stages):
                        tasks = report.stages.add(stage=f"0:{i}:{stage}", time_ms=time_ms)
                        tasks.tasks.elapsed, tasks.tasks.num_tasks, tasks.tasks.num_failures = 10, 1500 + 7 * k, k % 3
                        tasks.tasks.ave_time = task_s * (1 + 0.01 * k)
                        tasks.queue.elapsed, tasks.queue.num_items, tasks.queue.occupancy_rate = 10, 1500, readiness
                        tasks.queue.ave_put_time, tasks.queue.ave_get_time, tasks.queue.buffer_size = 0.002, 0.0005, 2
                    sink = report.stages.add(stage="0:2:sink", time_ms=time_ms).queue
                    sink.elapsed, sink.num_items, sink.ave_get_time, sink.occupancy_rate = 10, 1500, 0.004, 0.4
                for at_s in (45, 20):
                    report.events.add(name="gc", time_ms=now_ms - 1000 * at_s, seconds=2)
                self.assert_status(client.call(request), "OK")
            for rank in range(2):
                self.assert_status(client.end(f"rank-{rank}", exit_status=0), "OK")

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


class EquippedCase(PageCase):
    """A perfd on a machine with equipment, of which jobs have GPUs."""

    def root(self):
        machine = Equipped(self.temporary_directory())
        self.addCleanup(machine.close)
        return machine.directory

    def fill(self):
        harness.wait_for(lambda: self.server.get("/api/v1/node").json["latest"].get("gpus_active"), "GPUs that work")
        for name, gpus, duration_s in (("first", "0,1", 4), ("second", "GPU-77", 1)):
            done = self.shell(f"perfctl run --name {name} --gpus {gpus} -- sleep {duration_s}")
            self.assertEqual(done.returncode, 0, done.stderr)
        return {job["name"]: job["id"] for job in self.server.get("/api/v1/jobs").json["jobs"]}
