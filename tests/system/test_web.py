"""Checks how the web page is served: files, headers, errors, and what the page asks of the JSON API."""

import gzip
import re
import unittest
import urllib.parse

import harness
from harness import ROOT, wait_for

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
CONFIG = "[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 1s\n"
FIRST_VIEW_BYTES = 250 << 10


def files():
    return [str(path.relative_to(ROOT / "web")) for folder in ("app", "figures", "vendor/uplot")
            for path in sorted((ROOT / "web" / folder).iterdir()) if path.suffix in (".js", ".css", ".svg")]


class Web(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.server = self.daemon(CONFIG)

    def test_each_file_is_served_once_and_compressed(self):
        total = 0
        for path in ("", *files()):
            answer = self.server.get(f"/{path}", headers={"Accept-Encoding": "gzip"})
            self.assertEqual((answer.status, answer.headers["content-encoding"]), (200, "gzip"), path)
            self.assertEqual(gzip.decompress(answer.body), (ROOT / "web" / (path or "index.html")).read_bytes(), path)
            total += len(answer.body)
            again = self.server.get(f"/{path}", headers={"If-None-Match": answer.headers["etag"]})
            self.assertEqual((again.status, again.body, again.headers["etag"]), (304, b"", answer.headers["etag"]), path)
            changed = self.server.get(f"/{path}", headers={"If-None-Match": '"other"'})
            self.assertEqual((changed.status, len(changed.body)), (200, (ROOT / "web" / (path or "index.html")).stat().st_size), path)
        print(f"@web {total} bytes of {len(files()) + 1} files")
        self.assertLess(total, FIRST_VIEW_BYTES)

    def test_the_policy_allows_nothing_from_elsewhere_and_nothing_inline(self):
        answer = self.server.get("/", headers=HTML)
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        self.assertEqual(policy["default-src"], "'self'")
        self.assertNotIn("unsafe", str(policy))
        self.assertNotRegex(answer.text, r"<style|style=|<script>|\son[a-z]+=|https?://(?!www\.w3\.org/)")

    def test_a_browser_gets_the_page_for_what_does_not_exist(self):
        for path, status in (("/jobs/nosuch", 404), ("/nothing", 404), ("/a/b/c/d", 404), ("/jobs/%20", 400), ("/indicators/any", 200)):
            page = self.server.get(path, headers=HTML)
            self.assertEqual((page.status, page.headers["content-type"]), (status, "text/html; charset=utf-8"), path)
            base = re.search('<base href="([^"]+)">', page.text)[1]
            self.assertEqual(base, "../" * (path.count("/") - 1) or "./", path)
            self.assertIn("<noscript>", page.text)
        for path in ("/api/v1/jobs/nosuch", "/api/v1/nothing", "/metrics/x"):
            self.assertEqual(self.server.get(path, headers=HTML).json["error"]["status"], 404)
        self.assertEqual(self.server.get("/jobs/nosuch").json["error"]["status"], 404)

    def test_jobs_are_searched_by_their_texts(self):
        with self.server.client() as client:
            for job, name, labels in (("a", "Train", {"project": "web"}), ("b", "other", {"project": "wEbsite", "city": "k\u00f6ln \"1\""}),
                                      ("c", "third", {})):
                self.assert_status(client.begin(job, name=name, labels=labels, command=f"./run-{job} --quick"), "OK")
                self.assert_status(client.end(job, 0), "OK")
        for text, found in (("tRAIN", "a"), ("web", "ba"), ("run-C", "c"), ("quick", "cba"), ("nothing", ""), ("%", ""),
                            ("site", "b"), ("k\u00f6ln", "b"), ('n "1', "b"), ('"k', "")):
            answer = self.server.get("/api/v1/jobs?" + urllib.parse.urlencode({"search": text}))
            self.assertEqual("".join(job["id"] for job in answer.json["jobs"]), found, text)

    def jobs(self, **query):
        """Ids of a list, page by page."""
        found, token = [], ""
        while token is not None:
            answer = self.server.get("/api/v1/jobs?" + urllib.parse.urlencode({**query, **({"page": token} if token else {})})).json
            found += [job["id"] for job in answer["jobs"]]
            token = answer["next"]
        return found

    def test_jobs_are_sorted_page_by_page(self):
        with self.server.client() as client:
            for job in "abcde":
                self.assert_status(client.begin(job, labels={"of": "list" if job < "e" else "other"}), "OK")
            for job in "dbeac":
                self.assert_status(client.end(job, 0), "OK")
        durations = {job["id"]: job["end_ms"] - job["begin_ms"] for job in self.server.get("/api/v1/jobs").json["jobs"]}
        self.assertEqual(len(durations), 5)
        for sign in (1, -1):
            for limit in (1, 2, 100):
                listed = self.jobs(sort="duration" if sign > 0 else "-duration", limit=limit)
                self.assertEqual(sorted(listed), ["a", "b", "c", "d", "e"])
                of = [sign * durations[job] for job in listed]
                self.assertEqual(of, sorted(of))
        begins = {job["id"]: job["begin_ms"] for job in self.server.get("/api/v1/jobs").json["jobs"]}
        of = [begins[job] for job in self.jobs(sort="begin", limit=2)]
        self.assertEqual(of, sorted(begins.values()))
        self.assertEqual(self.jobs(sort="-begin", limit=2), self.jobs(limit=3))
        # Jobs without the number are listed as well.
        self.assertEqual(sorted(self.jobs(sort="-memory", limit=2, label="of=list")), ["a", "b", "c", "d"])

    def test_jobs_with_a_pipeline_are_found(self):
        with self.server.client() as client:
            for job in ("with", "without"):
                self.assert_status(client.begin(job), "OK")
        line = '{"stage": "0:0:decode[2]", "elapsed": 1, "num_tasks": 10, "num_failures": 0, "ave_time": 0.1}'
        done = self.server.perfctl("pipeline", "submit", "--job", "with", "-", stdin=line)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.jobs(pipeline=1), ["with"])
        self.assertEqual(self.jobs(pipeline=1, sort="begin"), ["with"])
        listed = self.server.get("/api/v1/jobs").json["jobs"]
        self.assertEqual({job["id"]: job["pipeline"] for job in listed}, {"with": True, "without": False})

    def test_history_comes_in_steps(self):
        path = "/api/v1/node/samples?step_ms="
        wait_for(lambda: len(self.server.get(path + "1000").json["timeline"]["series"]["cpu"]["mean"]) >= 5, "five seconds of history")
        fine = self.server.get(path + "1000").json["timeline"]
        coarse = self.server.get(path + "4000").json
        self.assertIsNone(coarse["next"])
        timeline = coarse["timeline"]
        self.assertEqual((timeline["interval_ms"], timeline["begin_ms"] % 4000), (4000, 0))
        self.assertLessEqual(timeline["begin_ms"], fine["begin_ms"])
        self.assertGreater(len(fine["series"]["cpu"]["mean"]), len(timeline["series"]["cpu"]["mean"]))
        bounded = self.server.get(path + "1000&limit=2").json["timeline"]
        self.assertLessEqual(len(bounded["series"]["cpu"]["mean"]), 2)


if __name__ == "__main__":
    unittest.main()
