"""Sends requests that schemathesis derives from web/openapi.json, valid and invalid ones, to a real perfd with data.

perfd must answer as the document says: no 500, no undocumented status or content, invalid values refused, valid ones accepted."""

import os
import subprocess
import sys
import unittest

import harness
from harness import ROOT

VERSIONS = ("schemathesis==4.32.5", "hypothesis==6.170.15")
ENVIRONMENT = ROOT / "build" / "interop" / "schemathesis"
N_EXAMPLES = 15
LIMIT_S = 300  # usually 20 s


def find_schemathesis():
    """Installs schemathesis from PyPI in an environment of its own."""
    program = ENVIRONMENT / "bin" / "schemathesis"
    mark = ENVIRONMENT / "-".join(VERSIONS)
    if not mark.exists():
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], capture_output=True, text=True)
        if made.returncode:
            raise unittest.SkipTest("python3-venv is not installed (make interop-deps)")
        subprocess.run([ENVIRONMENT / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *VERSIONS], check=True)
        mark.touch()
    return program


class Conformance(harness.TestCase):
    def setUp(self):
        super().setUp()
        program = find_schemathesis()
        self.server = self.daemon(f"[indicators]\ndirectory = {ROOT}/conf/indicators.d\n", tcp=True)
        with self.server.client() as client:
            self.assert_status(client.begin("x"), "OK")
            self.assert_status(client.mark("load", job="x"), "OK")
            for rate in range(4):
                self.assert_status(client.submit(harness.indicator("demo", rate=float(rate)), job="x"), "OK")
            self.assert_status(client.end("x", 0), "OK")
        self.command = [program, "--config-file", ROOT / "tests" / "once" / "schemathesis.toml", "run",
                        "--url", f"http://127.0.0.1:{self.server.port}", "--phases", "coverage,fuzzing", "--generation-deterministic",
                        "--max-examples", str(N_EXAMPLES), "--suppress-health-check", "all", "--no-shrink", "--continue-on-failure",
                        "--no-color", "--warnings", "off"]

    def run_schemathesis(self, document):
        return subprocess.run([*self.command, document], cwd=self.temporary_directory(), capture_output=True, text=True, timeout=LIMIT_S,
                              env={**os.environ, "HOME": str(self.server.directory)})

    def test_the_answers_are_those_of_the_document(self):
        done = self.run_schemathesis(ROOT / "web" / "openapi.json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        n_paths = len(self.server.get("/api/v1/openapi.json").json["paths"]) - 1  # without the stream
        self.assertIn(f"Tested: {n_paths} ", " ".join(done.stdout.split()))
        self.assertEqual(self.server.get("/-/healthy").status, 200)

    def test_a_parameter_of_another_path_is_refused_by_name(self):
        for path in ("/api/v1/node?page=1", "/api/v1/quota?page=1", "/api/v1/indicators/demo/query?page=1", "/metrics?page=1"):
            answer = self.server.get(path)
            self.assertEqual(answer.status, 400, path)
            self.assertIn("'page'", answer.json["error"]["message"])

    def test_switches_are_those_of_the_document(self):
        for value, status in (("1", 200), ("0", 200), ("true", 200), ("false", 200), ("yes", 400), ("TRUE", 400), ("", 400)):
            for path in ("/api/v1/jobs?failed=", "/api/v1/jobs/x/metrics?phases=", "/api/v1/jobs/x/perf-report?compat="):
                self.assertEqual((path, value, self.server.get(path + value).status), (path, value, status))


if __name__ == "__main__":
    unittest.main()
