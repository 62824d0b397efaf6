"""The web page with names, labels, versions and texts that try to be markup, code, escapes or very long, with unknown things in the
URL, and with very many jobs and KPIs."""

import json
import os
import time
import unittest
import urllib.parse

from page import PageCase

HOSTILE = (
    "<script>window.evil=1</script>", "<img src=x onerror=window.evil=1>", "javascript:window.evil=1",
    "\"' onmouseover=window.evil=1 x='",
    "\u202egnp.exe\u2066\u200f", "\u200b\ufeffempty", "{{constructor.constructor('window.evil=1')()}}", "../../../etc/passwd",
    "%2e%2e%2f%00",
    "' OR 1=1 --", "\N{PILE OF POO}" * 8, "__proto__", "=1+1", "a\nb\tc",
)
LONG = "x" * 10240
# Parts of URLs: whatever is in them, a view says what is wrong.
URLS = ("#/job/{}", "#/jobs?search={}", "#/jobs?state={}&sort={}&page={}&span={}", "#/jobs?label={}&pick={}&user={}", "#/compare/{},{}",
        "#/kpis?name={}", "#/kpi/{}?where={}&component={}", "#/pipelines/{}", "#/pipelines?page={}", "#/indicator/{}?objective={}&by={}",
        "#/indicator/Evil?x={}&legend={}&facet={}&kind={}&objective={}&where={}", "#/node?from={}&to={}&range={}", "#/{}", "#/health?{}={}")
PAGES = ("#/node", "#/jobs", "#/kpis", "#/pipelines", "#/indicators", "#/health")
N_JOBS, N_KPIS = int(os.environ.get("MANY_JOBS", "20000")), 5_000  # 100,000 jobs take some minutes
# With a reserve for a machine that does other things: a list that read or drew all jobs would take much longer.
PATIENCE_S = 20


class Hostile(PageCase):
    def assert_is_text(self, where):
        self.assertIsNone(self.browser.evaluate("window.evil ?? null"), where)
        self.assertEqual(self.count("#view script, #view img, #view iframe, #view object, #view form[action], #view base"), 0, where)
        bad = self.browser.evaluate("[...document.querySelectorAll('a')].map((a) => a.href).filter((h) => !h.startsWith(document.baseURI))")
        self.assertEqual(bad, [], where)
        text = self.browser.evaluate("document.querySelector('#view').textContent + document.title")
        unsafe = [c for c in text if c in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200f\u200e\x1b\x07\x00"]
        self.assertEqual(unsafe, [], where)
        wider = self.browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        self.assertLessEqual(wider, 0, f"{where} is wider than the window")
        self.assertEqual([c for c in self.browser.complaints if "status of 4" not in c and "status of 503" not in c], [], where)

    def look(self, url, is_fresh=True):
        if is_fresh:
            self.browser.open(self.base + url)
        else:
            self.browser.evaluate(f"location.hash = {json.dumps(url)}; null")
        self.browser.wait("document.querySelector('#view')?.dataset.shown === location.hash", url)
        self.assert_is_text(url)

    def call_all(self, client, requests):
        for request in requests:
            client.send(request)
        for _ in requests:
            self.assert_status(client.receive(), "OK")

    def try_submit(self, client, document):
        """Submits what perfd takes of a document: a name that it refuses cannot be on the page."""
        return client.submit(document).status

    def submit_everywhere(self):
        ids = []
        with self.server.client() as client:
            for i, text in enumerate((*HOSTILE, "\x1b[2J\x1b]0;evil\x07", LONG)):
                job = f"hostile-{i}"
                for label_value in (text, text[:200], ""):
                    reply = client.begin(job, name=text[:200], command=text, user=text[:60], labels={"k": label_value})
                    if reply.status == 0:
                        ids.append(job)
                        break
                client.mark(text[:100], job)
                for n in (len(text), 50):
                    document = {"name": "Evil", "component": text[:n], "version": text[:n],
                                "@parameters": {"p": text, text[:100]: 1},
                                "@result": {"rate": 1 + i, "text": text}}
                    self.try_submit(client, document)
                    self.try_submit(client, {**document, "@parameters": {"p": text[:200]}})
                request = client.request()
                report = request.pipeline_report
                report.job, report.producer = job, text[:60]
                stage = report.stages.add(stage=f"0:0:{text[:60]}[2]")
                stage.tasks.elapsed, stage.tasks.num_tasks, stage.tasks.ave_time = 1, 10, 0.01
                client.call(request)
                client.end(job, exit_status=i % 3)
        model = self.server.directory / "evil.yaml"
        model.write_text(json.dumps({"name": "Evil", "help": HOSTILE[0], "results": {
            "rate": {"type": "float", "direction": "higher", "help": HOSTILE[1], "unit": "<b>"}}}))
        self.shell(f"perfctl model add {model}")
        self.shell("perfctl kpi accept Evil.rate --note '<script>window.evil=1</script>'")
        self.shell("perfctl run --name evil -- sh -c 'printf \"<script>window.evil=1</script>\\033[2J\" >&2; exit 3'")
        return ids

    def test_texts_of_jobs_are_text_in_every_view(self):
        ids = self.submit_everywhere()
        self.assertGreater(len(ids), 10)
        for width in (1280, 390):
            self.browser.resize(width, 800)
            for url in PAGES + ("#/indicator/Evil", "#/indicator/Evil?kind=distribution&x=p&legend=component&facet=version",
                                "#/kpi/Evil.rate", f"#/compare/{','.join(ids[:4])}"):
                self.look(url)
        for job in ids:
            self.look(f"#/job/{job}")
            self.look(f"#/pipelines/{job}")

    def test_hostile_values_in_the_url_are_answered_by_a_page(self):
        self.submit_everywhere()
        self.look("#/health")
        texts = (*HOSTILE, "", "-1", "1e999", "NaN", "99999999999999999999", "%", "constructor", LONG[:3000])
        for text in texts:
            for url in URLS:
                self.look(url.replace("{}", text if text == "%" else urllib.parse.quote(text, safe="")), is_fresh=False)

    def test_very_many_jobs_and_kpis(self):
        with self.server.client() as client:
            for i in range(0, N_JOBS, 500):
                begins, ends = [], []
                for k in range(i, i + 500):
                    begins.append(client.request())
                    begins[-1].job_begin.job, begins[-1].job_begin.name = f"many-{k}", f"name-{k % 1000}"
                self.call_all(client, begins)
                for k in range(i, i + 500):
                    ends.append(client.request())
                    ends[-1].job_end.job, ends[-1].job_end.exit_status = f"many-{k}", int(k % 100 == 0)
                self.call_all(client, ends)
            for i in range(0, N_KPIS, 500):
                documents = [{"name": "Many", "component": "c", "version": "1.0.0", "@parameters": {"n": n}, "@result": {"rate": n}}
                             for n in range(i, i + 500)]
                self.assert_status(client.submit(*documents), "OK")
        model = self.server.directory / "many.yaml"
        model.write_text("name: Many\nparameters: {n: int}\nresults:\n  rate: {type: float, direction: higher}\n")
        self.assertEqual(self.shell(f"perfctl model add {model}").returncode, 0)
        for url in ("#/jobs", "#/jobs?search=many-77", "#/jobs?sort=-duration", "#/jobs?state=failed&span=86400", "#/kpis",
                    "#/indicator/Many", "#/node"):
            begin = time.monotonic()
            self.look(url)
            took = time.monotonic() - begin
            print(f"@time {url}: {took:.2f} s")
            # A search or an order reads many jobs: on a busy machine the limit of queries ends that, and the page says how to ask for less.
            if "query_timeout" in self.browser.evaluate("document.querySelector('#view').innerText"):
                self.assertRegex(url, "sort=|search=")
                self.wait_text("Try again")
            self.assertLess(took, PATIENCE_S, url)
            self.assertLess(self.count("#view *"), 20000, url)


if __name__ == "__main__":
    unittest.main()
