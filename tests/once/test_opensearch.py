"""Checks the publishing of payloads to a real OpenSearch, and the import of its history."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
import harness  # noqa: E402
from harness import PERFCTL, TIMEOUT_S  # noqa: E402
from test_perfctl_results import MODEL, VALUES, ResultsTestCase  # noqa: E402

VERSION = "2.19.3"
START_S, INSTALL_S = 180, 600
NOBODY = "65534"
NAME = "org.opensearch.distribution.integ-test-zip:opensearch"


def request(url, body=None):
    asked = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as answer:
        return json.load(answer)


class OpenSearch(ResultsTestCase):
    """The server refuses to run as root, and is run by nobody then."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in ("java", "mvn", "unzip"):
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} is not installed (make interop-deps)")
        repository = pathlib.Path.home() / ".m2/repository" / NAME.replace(".", "/").replace(":", "/")
        archive = repository / VERSION / f"opensearch-{VERSION}.zip"
        if not archive.exists():
            subprocess.run(["mvn", "-q", "dependency:get", f"-Dartifact={NAME}:{VERSION}:zip", "-Dtransitive=false"], check=True,
                           capture_output=True, timeout=INSTALL_S)
        cls.home = pathlib.Path(subprocess.run(["mktemp", "-d", "/tmp/perfd-opensearch-XXXXXX"], check=True, capture_output=True,
                                               text=True).stdout.strip())
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        subprocess.run(["unzip", "-q", archive, "-d", cls.home], check=True)
        cls.start()

    @classmethod
    def start(cls):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            cls.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        command = [next(cls.home.glob("opensearch-*/bin/opensearch")), "-E", "discovery.type=single-node", "-E", "http.host=127.0.0.1",
                   "-E", f"http.port={cls.url.rpartition(':')[2]}", "-E", "transport.host=127.0.0.1", "-E", "transport.port=0"]
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", NOBODY, cls.home], check=True)
            command = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", *command]
        java = pathlib.Path(shutil.which("java")).resolve().parents[1]
        with open(cls.home.parent / f"{cls.home.name}.log", "w") as log:
            cls.addClassCleanup(os.unlink, log.name)
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", env={
                "PATH": os.environ["PATH"], "HOME": str(cls.home), "JAVA_HOME": str(java), "OPENSEARCH_JAVA_OPTS": "-Xms512m -Xmx512m"})
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.kill)
        deadline = time.monotonic() + START_S
        while True:
            try:
                return request(cls.url)
            except (urllib.error.URLError, OSError) as error:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(pathlib.Path(log.name).read_text()) from error
                time.sleep(0.5)

    def publish(self, *words, index, status=0, **export):
        self.declare({"model": MODEL, "values": VALUES, "results": {"rate": "rate", "items": "n"},
                      "export": {"enabled": True, "instance": self.url, "index": index, **export}})
        return self.results("process", "--no-store", *words, "tree", status=status)

    def put_tests(self, n):
        for i in range(n):
            self.put(str(i), files={"log": f"rate {100 + i}\nn 1000\n"}, threads=i % 2, release=f"1.{i}.0")

    def hits(self, index, **query):
        return request(f"{self.url}/{index}/_search", {"size": 10000, **query})["hits"]["hits"]

    def test_payloads_are_published_once_and_found(self):
        self.put_tests(4)
        self.assertRegex(self.publish(index="serving", index_prefix="ci-").stdout, r"publish  4 to http")
        self.publish("--replot", index="serving", index_prefix="ci-", enabled_on_replot=True)
        found = self.hits("ci-serving")  # upstream's query without filters
        self.assertEqual(len(found), 4)
        self.assertTrue(all(hit["_id"] == hit["_source"]["metadata"]["test_uuid"] for hit in found))
        self.assertEqual(len(self.hits("ci-serving", query={"bool": {"must": [{"term": {"metadata.settings.threads": "1"}}]}})), 2)
        mapping = request(f"{self.url}/ci-serving/_mapping")["ci-serving"]["mappings"]["properties"]
        self.assertEqual({name: field["type"] for name, field in mapping.items()},
                         dict.fromkeys(("metadata", "kpis", "results", "regression_results"), "flat_object"))

    def test_the_bulk_file_is_what_the_server_takes(self):
        self.put_tests(2)
        self.declare({"model": MODEL, "values": VALUES, "results": {"rate": "rate", "items": "n"}, "export": {"index": "file"}})
        self.results("process", "--no-store", "--output-opensearch", "bulk", "tree")
        sent = urllib.request.Request(f"{self.url}/_bulk?refresh=true", (self.directory / "bulk").read_bytes(),
                                      {"Content-Type": "application/x-ndjson"})
        with urllib.request.urlopen(sent, timeout=TIMEOUT_S) as answer:
            self.assertFalse(json.load(answer)["errors"])
        self.assertEqual(len(self.hits("file")), 2)

    def test_history_is_imported(self):
        daemon = self.daemon()
        self.put_tests(3)
        self.publish(index="history")
        self.environment |= {"PERFD_SOCKET": str(daemon.socket)}
        words = ["--from", self.url, "--index", "history"]
        for more, counts in ((["--filter", "threads=1"], [(2, 1, 0)]), ([], [(2, 0, 1), (2, 1, 0), (2, 1, 0)]), ([], [(2, 0, 1)] * 3)):
            done = subprocess.run([PERFCTL, "import", "kpis", "--json", *words, *more], env=self.environment, text=True,
                                  capture_output=True, timeout=TIMEOUT_S * 3)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(sorted((i["kpis"], i["stored"], i["duplicate"]) for i in lines), sorted(counts))
        done = subprocess.run([PERFCTL, "import", "kpis", "--from", self.url, "--index", "absent"], env=self.environment, text=True,
                              capture_output=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such index [absent]", done.stderr)


if __name__ == "__main__":
    unittest.main()
