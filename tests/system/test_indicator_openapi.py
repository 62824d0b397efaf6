"""Checks answers about indicators against openapi.json: runs, failed runs, batches, models, and errors."""

import os
import unittest
import urllib.parse
import uuid

import harness
from harness import to_json, wait_for
from test_http import Schema

SCRIPT = """echo '{"name": "Copy", "component": "dd", "@parameters": {"size": 1, "mode": null}, "@result": {"rate": '$1', "text": "x"}}'
echo warm >&2; exit $2"""


class Described(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon(f"[indicators]\ndirectory = {harness.ROOT}/conf/indicators.d\n")
        self.document = self.running.get("/api/v1/openapi.json").json
        self.schema = Schema(self.document)

    def ask(self, path, status=200, name="Copy", id_=None, **words):
        """path: as in openapi.json; words: query parameters."""
        pairs = [(key, item) for key, value in words.items() for item in (value if isinstance(value, list) else [value])]
        asked = path.replace("{name}", name).replace("{id}", id_ or "") + ("?" + urllib.parse.urlencode(pairs) if pairs else "")
        answer = self.running.get(asked)
        self.assertEqual(answer.status, status, f"{asked}: {answer.text}")
        described = self.document["paths"][path]["get"]
        undescribed = set(words) - {self.schema.resolve(p)["name"] for p in described["parameters"]} if words else set()
        self.assertTrue(not undescribed or status == 400, undescribed)
        response = described["responses"].get(str(status))
        self.assertIsNotNone(response, f"{path} does not describe {status}")
        content = self.schema.resolve(response)["content"]
        kind = answer.headers["content-type"].split(";")[0]
        self.assertIn(kind, content, asked)
        if kind != "application/json":
            return answer.text
        self.assertEqual(self.schema.complaints(answer.json, content[kind]["schema"]), [], asked)
        return answer.json

    def run_batch(self, rate=1, status=0, repeat=3):
        self.running.perfctl("run", "--repeat", repeat, "--indicator", "Copy", "--component", "dd", "--collect", "yes", "--",
                             "sh", "-c", SCRIPT, "copy", rate, status)

    def test_queries_of_real_runs(self):
        self.run_batch()
        self.run_batch(status=3)
        results = self.ask("/api/v1/indicators/{name}/results")["results"]
        self.assertEqual(sorted(r["exit_status"] for r in results), [0, 0, 0, 3, 3, 3])
        self.assertTrue(all(r["run"]["rusage"] and r["job"] for r in results))
        self.assertEqual(len(self.ask("/api/v1/results", where="size=1", name="Copy")["results"]), 6)
        for batch in {r["batch"] for r in results}:
            shown = self.ask("/api/v1/batches/{id}", id_=batch)
            self.assertEqual(shown["n"] + shown["n_failed"], 3)
        group = self.ask("/api/v1/indicators/{name}/query", group_by="mode,hardware", stat="median:rate,sd:rate,skew:rate")
        self.assertEqual(group["scanned"], 6)
        self.assertIn("n,n_failed", self.ask("/api/v1/indicators/{name}/query", format="csv"))
        ranking = self.ask("/api/v1/indicators/{name}/rank", objective="rate", direction="higher")
        self.assertTrue(any(r["alternatives"] for r in ranking["rankings"]))
        self.ask("/api/v1/indicators/{name}/rank", objective="rate", direction="lower", across="parameters,hardware", by="mode")
        self.assertEqual(self.ask("/api/v1/indicators")["indicators"][0]["name"], "Copy")

    def test_models_from_files_and_registered(self):
        self.assertEqual(len(self.ask("/api/v1/models")["models"]), 5)
        with self.running.client() as client:
            request = client.request()
            request.register.model.append(to_json({
                "name": "Copy", "component": "dd", "help": "h",
                "parameters": {"size": {"type": ["int", "str"], "values": [1, "a"], "optional": True}},
                "results": {"rate": {"unit": "1/s", "direction": "higher"}}}))
            self.assert_status(client.call(request), "OK")
        self.running.wait_tick()
        self.assertEqual([m["uid"] for m in self.ask("/api/v1/models")["models"] if m["name"] == "Copy"], [os.getuid()])
        self.run_batch()
        self.assertEqual(self.ask("/api/v1/indicators/{name}/rank", objective="rate")["unit"], "1/s")
        self.assertEqual(self.ask("/api/v1/indicators/{name}/query", stat="p5:rate")["units"], {"p5:rate": "1/s"})

    def test_empty_answers(self):
        for path in ("/api/v1/indicators", "/api/v1/indicators/{name}/results", "/api/v1/results"):
            self.ask(path)
        # In a new database, the models of files exist after the first commit.
        wait_for(lambda: self.running.get("/api/v1/indicators/PiMatmul/rank?objective=rate").status == 200, "the models in the store")
        self.assertEqual(self.ask("/api/v1/indicators/{name}/query", name="PiMatmul")["groups"], [])
        self.assertEqual(self.ask("/api/v1/indicators/{name}/rank", name="PiMatmul", objective="rate")["rankings"], [])

    def test_refusals(self):
        self.ask("/api/v1/batches/{id}", status=404, id_=uuid.uuid4().hex)
        self.ask("/api/v1/batches/{id}", status=400, id_="0x")
        for path in ("/api/v1/indicators/{name}/query", "/api/v1/indicators/{name}/rank"):
            self.ask(path, status=404)
        for path in ("/api/v1/indicators/{name}/results", "/api/v1/indicators/{name}/query", "/api/v1/indicators/{name}/rank",
                     "/api/v1/results"):
            self.ask(path, status=400, where="size")
            self.ask(path, status=400, colour="red")
        self.ask("/api/v1/indicators/{name}/rank", status=400, name="PiMatmul", direction="up")
        with self.running.client() as client:
            for i in range(0, 10001, 1000):
                documents = [{"name": "Copy", "component": "dd", "@parameters": {"size": k}, "@result": {"rate": 1}}
                             for k in range(i, min(i + 1000, 10001))]
                self.assert_status(client.submit(*documents), "OK")
        self.ask("/api/v1/indicators/{name}/query", status=413, group_by="size")
        self.ask("/api/v1/indicators/{name}/rank", status=413, objective="rate", direction="higher")


if __name__ == "__main__":
    unittest.main()
