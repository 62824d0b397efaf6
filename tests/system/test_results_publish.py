"""Checks when payloads are published, and that a directory of payloads is imported."""

import http.server
import json
import shutil
import subprocess
import threading
import unittest

import harness
from harness import PERFCTL, TIMEOUT_S
from test_perfctl_results import MODEL, VALUES, ResultsTestCase

LTS = harness.FIXTURES / "topsail" / "lts"


class Server(http.server.BaseHTTPRequestHandler):
    """Takes all documents, as OpenSearch does; test_opensearch.py has the real one."""

    def do_PUT(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, text.decode(), self.headers.get("Authorization")))
        answer = self.server.answer
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_PUT

    def log_message(self, *_):
        pass


class Publish(ResultsTestCase):
    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        self.server.requests, self.server.answer = [], b'{"errors": false, "items": []}'
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.put("1", files={"log": "rate 100\nn 1000\n"}, threads=1, release="1.0.0")

    def publish(self, *words, status=0, **export):
        self.declare({"model": MODEL, "values": VALUES, "results": {"rate": "rate", "items": "n"},
                      "export": {"enabled": True, "instance": f"http://127.0.0.1:{self.server.server_port}", **export}})
        done = self.results("process", "--no-store", *words, "tree", status=status)
        return next(line for line in done.stdout.splitlines() if line.startswith("publish"))

    def test_a_directory_is_published_once(self):
        self.assertIn("off: export.enabled_on_replot", self.publish("--replot"))
        self.assertIn("off: export.enabled", self.publish(enabled=False, status=0))
        (self.tree / ".perfd-processed").unlink()
        (self.directory / "login").write_text("ci:secret\n")
        self.environment["PERFD_OPENSEARCH_LOGIN"] = str(self.directory / "login")
        self.assertIn("publish  1 to http", self.publish("--output", "report"))
        self.assertIn("| publish | 1 to http", (self.directory / "report" / "summary.md").read_text())
        self.assertEqual([(path, login) for path, _, login in self.server.requests],
                         [("/serving", "Basic Y2k6c2VjcmV0"), ("/_bulk?refresh=true", "Basic Y2k6c2VjcmV0")])
        action, payload = map(json.loads, self.server.requests[1][1].splitlines())
        self.assertEqual(action["index"]["_id"], payload["metadata"]["test_uuid"])
        self.assertIn("off: export.enabled_on_replot", self.publish())
        self.assertIn("publish  1 to http", self.publish(enabled_on_replot=True))

    def test_errors_keep_payloads_back(self):
        self.put("2", files={"log": "rate 100\n"}, threads=2, release="1.0.0")
        self.assertIn("off: there are errors", self.publish(status=1))
        self.assertEqual(self.server.requests, [])
        self.assertFalse((self.tree / ".perfd-processed").exists())

    def test_failures_of_the_server(self):
        self.server.answer = b'{"errors": true, "items": [{"index": {"error": {"reason": "too many fields"}}}]}'
        self.assertIn("too many fields", self.publish(status=1))
        self.assertIn("too many fields", self.publish(fail_test_on_fail=False))
        self.server.answer = b"\xff\xfe garbage"
        self.assertIn("the answer is no JSON", self.publish(status=1))

    def test_payloads_in_files(self):
        self.publish("--output-opensearch", "bulk", "--output-horreum", "runs", enabled=False, test_name="nightly", index="load")
        action, payload = map(json.loads, (self.directory / "bulk").read_text().splitlines())
        self.assertEqual(action["index"], {"_index": "load", "_id": payload["metadata"]["test_uuid"]})
        (run,) = json.loads((self.directory / "runs").read_text())
        self.assertEqual(run["testname"], "nightly")
        self.assertEqual(run["data"].pop("$schema"), "urn:Serving:1.0.0")
        self.assertEqual(run["data"], payload)


class Import(ResultsTestCase):
    def run_import(self, *words, status=0):
        done = subprocess.run([PERFCTL, "import", "kpis", *map(str, words)], env=self.environment, text=True, capture_output=True,
                              timeout=TIMEOUT_S * 3)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_directories_with_an_anchor(self):
        if not LTS.exists():
            self.skipTest("PERFD_FIXTURES has no topsail/lts")
        daemon = self.daemon()
        self.environment["PERFD_SOCKET"] = str(daemon.socket)
        shutil.copytree(LTS, self.tree / "deep" / "lts")
        (self.tree / "other.json").write_text("no payload")
        (self.tree / "deep" / "lts" / ".hidden").write_text("no payload")
        n = len(list(LTS.glob("*.json")))
        self.assertEqual(self.run_import(self.tree).stdout.count("1 results: 1 stored"), n)
        self.assertEqual(self.run_import(self.tree).stdout.count("0 stored, 1 already stored"), n)
        listed = json.loads(subprocess.run([PERFCTL, "indicator", "list", "--json"], env=self.environment, text=True, capture_output=True,
                                           check=True).stdout)
        self.assertIn("topsail-fine-tuning", json.dumps(listed))
        (self.tree / "deep" / "lts" / "bad.json").write_text("{")
        self.assertIn("bad.json:1:", self.run_import(self.tree, status=1).stderr)

    def test_wrong_use(self):
        self.run_import(status=2)
        self.run_import("--from", "http://127.0.0.1:1", status=2)
        self.assertIn("there is no source.lts.yaml", self.run_import(self.tree, status=1).stderr)
        self.assertIn("Connection refused", self.run_import("--from", "http://127.0.0.1:1", "--index", "x", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
