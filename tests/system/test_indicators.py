"""Checks that queries return submitted documents unchanged, before and after a restart."""

import json
import unittest

from harness import FIXTURES, TestCase

# Small documents in the forms of Thoth's indicators: old and new key, int for float, nested values, null.
DOCUMENTS = [
    {"name": "PiMatmul", "framework": "tensorflow", "@parameters": {"dtype": "float32", "matrix_size": 512, "reps": 20000},
     "@result": {"rate": 0.009799366109955314, "elapsed": 27366}, "overall_score": 0.3, "tensorflow_upstream_buildinfo": None},
    {"name": "PiConv2D", "component": "pytorch", "@parameters": {"padding": 1, "device": "cpu"}, "@result": {"rate": 7.0},
     "pytorch_buildinfo": {"cuda": False, "flags": ["-O2", ""], "deep": {"er": [1, 1.0, -9007199254740993, None]}}},
    {"name": "PiImport", "component": "tensorflow", "@parameters": {}, "@result": {"elapsed": 1e-09}, "version": "2.1"},
    {"name": "PiPyPerformance", "component": "cpython", "framework": "cpython", "@parameters": {"HELLO_WORLD_REPS": 1},
     "@result": {"benchmarks": [{"name": "2to3", "runs": [{"values": [0.25, 0.5]}]}]}, "overall_score": None, "größe": "5 µm"},
]


def typed(value):
    """Compares with types: Python considers 1, 1.0 and True equal."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return type(value).__name__, value


class Indicators(TestCase):
    def come_back(self, documents):
        running = self.daemon()
        text = "\n".join(json.dumps(document, ensure_ascii=False) for document in documents)
        done = running.perfctl("submit", "--json", stdin=text)
        self.assertEqual((done.returncode, json.loads(done.stdout)["stored"]), (0, len(documents)), done.stderr)
        running.kill()
        running.start()
        for name in {document["name"] for document in documents}:
            rows = running.get(f"/api/v1/indicators/{name}/results?limit=1000").json["results"]
            expected = [document for document in documents if document["name"] == name]
            key = lambda document: json.dumps(document, sort_keys=True)
            self.assertEqual([typed(d) for d in sorted((row["document"] for row in rows), key=key)],
                             [typed(d) for d in sorted(expected, key=key)])
            for row in rows:
                self.assertEqual(row["component"], row["document"].get("component", row["document"].get("framework")))

    def test_every_key_round_trips_with_its_type(self):
        self.come_back(DOCUMENTS)

    def test_a_list_that_is_cut_off_says_so(self):
        running = self.daemon()
        documents = [{"name": f"{i:04}{'n' * 120}", "component": "c" * 250, "@parameters": {}, "@result": {"x": 1}} for i in range(3000)]
        with running.client() as client:
            for i in range(0, len(documents), 1000):
                self.assert_status(client.call(client.submit_request(*documents[i:i + 1000])), "OK")
        answer = running.get("/api/v1/indicators").json
        self.assertTrue(answer["truncated"])
        self.assertLess(len(answer["indicators"]), 3000)
        self.assertEqual(running.perfctl("model", "add", "-", stdin="{name: Load, results: {rate: float}}").returncode, 0)
        for words in (("indicator", "list"), ("model", "list")):
            done = running.perfctl(*words)
            self.assertEqual((done.returncode, done.stderr),
                             (0, f"perfctl: perfd lists the first {len(answer['indicators'])} indicators only, as many as fit into an "
                                 "answer\n"), words)

    @unittest.skipUnless((FIXTURES / "thoth").is_dir(), "the captured indicators are not there (PERFD_FIXTURES)")
    def test_output_of_real_scripts_round_trips(self):
        paths = sorted((FIXTURES / "thoth" / "stdout").glob("*.json"))
        self.assertGreater(len(paths), 10)
        self.come_back([json.loads(path.read_text()) for path in paths])


if __name__ == "__main__":
    unittest.main()
