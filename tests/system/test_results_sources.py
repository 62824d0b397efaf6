"""Checks the values of results that other programs have, and the cache of what was read."""

import json
import pathlib
import shutil
import socket
import subprocess
import tarfile
import time
import unittest
import urllib.error
import urllib.request

import harness
from harness import PERFCTL, TIMEOUT_S
from test_perfctl_results import ResultsTestCase

START, END = "2026-11-28T10:00:00Z", "2026-11-28T10:10:00Z"
START_S = 1795860000


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus(ResultsTestCase):
    """The distribution's own server, with ten minutes of two GPUs: 10 and 30, then 20 and 60 for the last quarter."""

    def setUp(self):
        super().setUp()
        promtool, server = harness.find_peer("promtool"), harness.find_peer("prometheus")
        samples = [f'gpu{{gpu="{gpu}"}} {(10 if at < 450 else 20) * factor} {START_S + at}'
                   for gpu, factor in (("a", 1), ("b", 3)) for at in range(-100, 800, 10)]
        (self.directory / "samples").write_text("\n".join(["# TYPE gpu gauge", *samples, "# EOF\n"]))
        (self.directory / "prometheus.yml").write_text("global: {}\n")
        subprocess.run([promtool, "tsdb", "create-blocks-from", "openmetrics", "samples", "data"], cwd=self.directory, check=True,
                       capture_output=True, timeout=TIMEOUT_S * 3)
        self.url = f"http://127.0.0.1:{free_port()}"
        log = open(self.directory / "log", "w")
        self.addCleanup(log.close)
        server = subprocess.Popen([server, "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                                   f"--web.listen-address={self.url[7:]}", "--storage.tsdb.retention.time=100y"],
                                  cwd=self.directory, stdout=log, stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.await_ready(server)
        test = self.put("1", threads=1)
        for name, when in (("settings.yaml", START), ("exit_code", END)):
            subprocess.run(["touch", "-d", when, test / name], check=True)

    def await_ready(self, server):
        deadline = time.monotonic() + 10 * TIMEOUT_S
        while True:
            try:
                return urllib.request.urlopen(f"{self.url}/-/ready", timeout=TIMEOUT_S).close()
            except (urllib.error.URLError, OSError) as error:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((self.directory / "log").read_text()) from error
                time.sleep(0.1)

    def test_values_of_queries(self):
        self.declare({"prometheus": self.url, "values": {
            "max": {"query": 'gpu{gpu="a"}', "type": "float"}, "mean": {"query": 'gpu{gpu="a"}', "take": "mean"},
            "last": {"query": 'gpu{gpu="b"}', "take": "last"}, "most": {"query": "gpu", "series": "max"},
            "all": {"query": "gpu", "series": "all", "take": "min"}, "none": {"query": "absent_metric", "optional": True}}})
        values = {"max": 20, "mean": 12.5, "last": 60, "most": 60, "all": [10, 30], "none": None}
        self.assertEqual(self.matrix()["tests"][0]["values"], values)
        self.declare({"prometheus": self.url, "values": {"x": {"query": "gpu"}, "y": {"query": "gpu{"}, "z": {"query": "absent_metric"}}})
        done = self.results("parse", "tree", status=1)
        self.assertIn("1: 2 series match; select one", done.stderr)
        self.assertIn("HTTP status 400: 1:5: parse error", done.stderr)
        self.assertIn("1: no data in the time of the test, for the value z", done.stderr)


    def test_the_dump_of_a_test_is_served(self):
        test = next(self.tree.iterdir())
        self.environment["PATH"] = f"{pathlib.Path(harness.find_peer('prometheus')).parent}:{self.environment['PATH']}"
        self.environment |= {"TMPDIR": str(self.directory / "scratch"), "http_proxy": "http://127.0.0.1:1"}
        (self.directory / "scratch").mkdir()
        values = {"max": {"query": 'gpu{gpu="a"}', "type": "float"}, "all": {"query": "gpu", "series": "all", "take": "mean"}}
        self.declare({"prometheus": {"dump": "*/prometheus.t*"}, "values": values})
        (test / "001__dump").mkdir()

        def check(path, **more):
            before = {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in path.rglob("*")}
            self.assertEqual(self.matrix()["tests"][0]["values"], {"max": 20, "all": [12.5, 37.5]})
            self.assertEqual({file: (file.stat().st_mtime_ns, file.stat().st_size) for file in path.rglob("*")}, before)
            self.assertEqual(list((self.directory / "scratch").iterdir()), [])
            self.environment["PATH"], kept = "/usr/bin:/bin", self.environment["PATH"]
            self.assertEqual(self.matrix()["tests"][0]["values"]["max"], 20)  # of the cache: no server is needed
            self.environment["PATH"] = kept

        dump = test / "001__dump" / "prometheus.tsdb"
        shutil.copytree(self.directory / "data", dump)
        (dump / "wal").mkdir(exist_ok=True)
        (dump / "link").symlink_to("/etc")
        check(dump)
        shutil.rmtree(dump)
        with tarfile.open(test / "001__dump" / "prometheus.tar.gz", "w:gz") as archive:
            archive.add(self.directory / "data", "deep/prometheus")
        check(test / "001__dump")

        for path, text in ((None, "no dump matches"), (b"garbage", "tar: "), (tarfile, "has no database of Prometheus")):
            for file in (test / "001__dump").iterdir():
                file.unlink()
            if path is tarfile:
                with tarfile.open(test / "001__dump" / "prometheus.tar", "w") as archive:
                    archive.add(self.directory / "samples", "samples")
            elif path:
                (test / "001__dump" / "prometheus.tar").write_bytes(path)
            done = self.results("parse", "--json", "tree", status=1)
            self.assertEqual(json.loads(done.stdout)["tests"][0]["values"], {"max": None, "all": None})
            self.assertIn(text, done.stderr)
        self.environment["PATH"] = "/usr/bin:/bin"
        if not shutil.which("prometheus", path="/usr/bin:/bin"):
            self.assertIn("prometheus is not installed, for the value max", self.results("parse", "tree", status=1).stderr)
        self.assertEqual(list((self.directory / "scratch").iterdir()), [])
        (test / "001__dump" / "prometheus.tar").unlink()
        (test / "001__dump" / "prometheus.tar").symlink_to("/etc")
        self.assertIn("leads out", self.results("parse", "tree", status=1).stderr)
        # A server that does not answer, and perfctl is killed: neither a process nor a copy is left.
        (test / "001__dump" / "prometheus.tar").unlink()
        shutil.copytree(self.directory / "data", test / "001__dump" / "prometheus.tsdb")
        hung = self.directory / "hung"
        hung.mkdir()
        (hung / "prometheus").write_text(f"#!/bin/sh\necho $$ >{hung}/pid\nexec sleep 1000\n")
        (hung / "prometheus").chmod(0o755)
        with subprocess.Popen([PERFCTL, "results", "parse", "tree"], cwd=self.directory,
                              env={**self.environment, "PATH": f"{hung}:/usr/bin:/bin"}) as process:
            harness.wait_for(lambda: (hung / "pid").exists() and (hung / "pid").read_text().endswith("\n"), "the server")
            process.kill()
        harness.wait_for(lambda: not list((self.directory / "scratch").iterdir()), "the copy to be removed")
        self.assertFalse(pathlib.Path("/proc", (hung / "pid").read_text().strip()).exists())
        for wrong in ({"dump": "../x"}, {"dump": 1}, {}, {"dump": "x", "url": "y"}):
            self.declare({"prometheus": wrong, "values": values})
            self.assertIn("results.yaml:1:", self.results("parse", "tree", status=1).stderr)


class Servers(ResultsTestCase):
    """Servers that are no Prometheus."""

    def test_a_server_that_closes_answers_garbage_or_is_away(self):
        self.put("1", x=1)
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.declare({"prometheus": f"http://127.0.0.1:{listener.getsockname()[1]}",
                      "values": {"a": {"query": "up"}, "b": {"query": "up"}}})
        for answer, text in ((b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n\x00\xff\xfe{", "the answer is no JSON"),
                             (b"", "mpty reply"), (b"SSH-2.0-OpenSSH\r\n", "127.0.0.1")):
            process = subprocess.Popen([PERFCTL, "results", "parse", "--no-cache", "tree"], cwd=self.directory,
                                       env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            listener.settimeout(TIMEOUT_S)
            for _ in range(2 if answer[:4] == b"HTTP" else 1):
                connection, _ = listener.accept()
                connection.recv(4096)
                connection.sendall(answer)
                connection.close()
            _, said = process.communicate(timeout=TIMEOUT_S * 3)
            self.assertEqual(process.returncode, 1, said)
            self.assertIn(text, said)
        self.declare({"values": {"a": {"query": "up"}}})
        self.assertIn("needs 'prometheus:'", self.results("parse", "tree", status=1).stderr)
        self.declare({"prometheus": "localhost:9090", "values": {}})
        self.assertIn("is no URL", self.results("parse", "tree", status=1).stderr)


class Jobs(ResultsTestCase):
    def test_metrics_of_the_job_of_a_sweep(self):
        daemon = self.daemon()
        self.environment |= {"PERFD_SOCKET": str(daemon.socket)}
        (self.directory / "sweep.yaml").write_text(json.dumps(
            {"settings": {"n": [1]}, "command": ["sh", "-c", "exit 0"], "output": "tree"}))
        subprocess.run([PERFCTL, "sweep", "sweep.yaml"], cwd=self.directory, env=self.environment, check=True, capture_output=True,
                       timeout=TIMEOUT_S * 3)
        self.declare({"values": {"cpu": {"metric": "cpu_user_seconds", "type": "float"}, "bad": {"metric": "no_such", "optional": True}}})
        self.assertTrue(next(self.tree.glob("*/job")).read_text())
        test = self.matrix()["tests"][0]
        self.assertIsNone(test["values"]["bad"])
        self.environment["PERFD_SOCKET"] = str(self.directory / "absent.sock")
        self.assertEqual(self.matrix()["tests"][0]["values"], test["values"])  # of the cache
        test = json.loads(self.results("parse", "--json", "--no-cache", "tree").stdout)["tests"][0]
        self.assertEqual((test["values"]["cpu"], len(test["findings"])), (None, 2))


class Cache(ResultsTestCase):
    def test_what_was_read_is_kept(self):
        self.declare()
        test = self.put("1", files={"log": "rate: 104.5 MB/s\n"}, threads=1)
        first = self.matrix()
        cache = test / "perfd-results.cache"
        self.assertEqual(cache.stat().st_mode & 0o777, 0o600)
        cache.write_text(cache.read_text().replace("104.5", "999.5"))
        self.assertEqual(self.matrix()["tests"][0]["values"], {"rate": 999.5})
        self.assertEqual(self.matrix("--no-cache"), first)
        cache.chmod(0o666)
        self.assertEqual(self.matrix(), first)

    def test_a_cache_that_cannot_be_written_is_no_error(self):
        self.declare()
        test = self.put("1", files={"log": "rate: 104.5 MB/s\n"}, threads=1)
        (test / "perfd-results.cache").mkdir()
        self.assertEqual(self.matrix()["tests"][0]["values"], {"rate": 104.5})
        self.assertEqual(list((test / "perfd-results.cache").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
