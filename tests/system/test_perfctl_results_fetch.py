"""Fetches test results from a real HTTP server, by the real wget and tar, and tries what such a server may do wrong."""

import functools
import http.server
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
import unittest
from pathlib import Path

import harness

BEGIN, END = 1735787045, 1735787105


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/cut.log" and "Range" not in self.headers:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"x" * 10)
            self.close_connection = True
        else:
            super().do_GET()

    def log_request(self, code="-", size="-"):
        self.server.answers.append((self.path, int(code)))

    def log_message(self, *words):
        pass


@unittest.skipUnless(shutil.which("wget"), "wget is not installed (make interop-deps)")
class Fetch(harness.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="perfd-fetch-")
        self.addCleanup(directory.cleanup)
        self.directory, self.site = Path(directory.name), Path(directory.name) / "site"
        for test, setting in (("one", 1), ("two", 2)):
            self.write(f"runs/{test}/settings.yaml", f"threads: {setting}\n", BEGIN)
            self.write(f"runs/{test}/exit_code", "0\n", END)
            self.write(f"runs/{test}/artifacts/001__load/rate.json", '{"rate": %d}' % (100 * setting))
            self.write(f"runs/{test}/big.log", "line\n" * 1000)
        self.write("other/secret.txt", "not asked for")
        handler = functools.partial(Handler, directory=self.site)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.answers = []
        self.addCleanup(self.server.server_close)
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def write(self, name, text, seconds=None):
        path = self.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if seconds:
            os.utime(path, (seconds, seconds))

    def archive(self, name, members, mode="w"):
        """members: name: content, or a TarInfo's type and link."""
        with tarfile.open(self.site / name, mode) as archive:
            for member, content in members.items():
                info = tarfile.TarInfo(member)
                info.mtime = BEGIN
                if isinstance(content, str):
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content.encode()))
                else:
                    info.type, info.linkname = content
                    archive.addfile(info)

    def perfctl(self, *words, status=0):
        environment = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        done = subprocess.run([harness.PERFCTL, *words], cwd=self.directory, env=environment, text=True, capture_output=True,
                              timeout=harness.TIMEOUT_S * 3)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def files(self, directory="results"):
        root = self.directory / directory
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())

    def test_what_is_below_a_url_is_fetched_with_its_times_and_once(self):
        self.perfctl("results", "fetch", f"{self.url}/runs/")
        host = f"127.0.0.1:{self.server.server_port}"
        self.assertEqual(self.files(), [".perfd-processed"] + sorted(
            f"{host}/runs/{test}/{name}" for test in ("one", "two")
            for name in ("artifacts/001__load/rate.json", "big.log", "exit_code", "settings.yaml")))
        settings = self.directory / "results" / host / "runs/one/settings.yaml"
        self.assertEqual(settings.stat().st_mtime, BEGIN)

        self.server.answers.clear()
        (self.directory / "results" / host / "runs/two/big.log").unlink()
        self.perfctl("results", "fetch", f"{self.url}/runs/")
        logs = sorted(answer for answer in self.server.answers if answer[0].endswith(".log"))
        self.assertEqual(logs, [("/runs/one/big.log", 304), ("/runs/two/big.log", 200)])

    def test_only_files_that_matter_are_fetched_if_the_declaration_names_them(self):
        self.declare()
        self.perfctl("results", "fetch", "--save", "in/here", f"{self.url}/runs/", status=1)
        (self.directory / "in").mkdir()
        (self.directory / "urls").write_text(f"# of today\n\n  {self.url}/runs/ \r\n")
        self.perfctl("results", "fetch", "--save", "in/here", "--url-file", "urls")
        names = {Path(path).name for path in self.files("in/here")}
        self.assertEqual(names, {".perfd-processed", "rate.json", "exit_code", "settings.yaml"})
        self.assertFalse([path for path, _ in self.server.answers if path.startswith("/other")])

    def declare(self, more=""):
        (self.directory / "results.yaml").write_text("important_files: ['artifacts/*/rate.json']\nartifacts: {load: 'artifacts/*__load'}\n"
                                                     "values:\n  rate: {artifact: load, file: rate.json, path: rate}\n" + more)

    def values(self, directory, status=0):
        self.perfctl("results", "parse", "--output-matrix", "matrix", directory, status=status)
        return {Path(test["path"]).name: test["values"]["rate"] for test in json.loads((self.directory / "matrix").read_text())["tests"]}

    def test_caches_are_fetched_instead_of_files(self):
        self.write("runs/a b %/settings.yaml", "threads: 3\n", BEGIN)
        self.write("runs/a b %/exit_code", "0\n", END)
        self.write("runs/a b %/artifacts/001__load/rate.json", '{"rate": 300}')
        self.write("runs2/other/settings.yaml", "threads: 5\n")
        self.assertIn("needs a declaration", self.perfctl("results", "fetch", "--prefer-cache", self.url, status=2))
        self.declare()
        (self.site / "runs/a b %/artifacts/001__load").rename(self.site / "runs/a b %/artifacts/later")
        self.perfctl("results", "parse", "site/runs", status=1)  # without the value of one
        (self.site / "runs/a b %/artifacts/later").rename(self.site / "runs/a b %/artifacts/001__load")
        (self.site / "runs/a b %/perfd-results.cache").write_text('{"key": 1, "declaration"')
        cache = self.site / "runs/one/perfd-results.cache"
        cache.write_text(cache.read_text().replace("100", "101"))  # to be told from the file
        host = f"127.0.0.1:{self.server.server_port}"
        for n_caches in (2, 0):
            self.server.answers.clear()
            self.perfctl("results", "fetch", "--prefer-cache", f"{self.url}/runs/")
            self.assertEqual([path for path in self.files() if path.endswith(".json")],
                             [f"{host}/runs/a b %/artifacts/001__load/rate.json"])
            self.assertEqual(self.values("results"), {"one": 101, "two": 200, "a b %": 300})
            fetched = [path for path, code in self.server.answers if code == 200 and path.endswith("cache")]
            self.assertEqual(len([path for path in fetched if "a%20b" not in path]), n_caches)
        # What was fetched is of no use with another declaration, nor once a file is there that it was not made of.
        self.declare("name: other\n")
        self.perfctl("results", "fetch", "--prefer-cache", f"{self.url}/runs/")
        self.assertEqual(self.values("results"), {"one": 100, "two": 200, "a b %": 300})

    def test_a_cache_in_an_archive_and_one_that_is_hostile(self):
        self.declare()
        self.assertEqual(self.values("site/runs"), {"one": 100, "two": 200})
        with tarfile.open(self.site / "good.tar", "w") as archive:
            archive.add(self.site / "runs/one", "t")
        cache = json.loads((self.site / "runs/one/perfd-results.cache").read_text())
        self.perfctl("results", "fetch", "--prefer-cache", f"{self.url}/good.tar")
        adopted = self.directory / "results/good/t/perfd-results.cache"
        self.assertNotEqual(json.loads(adopted.read_text())["key"], cache["key"])
        self.assertEqual({**json.loads(adopted.read_text()), "key": ""}, {**cache, "key": ""})
        adopted.write_text(adopted.read_text().replace("100", "101"))
        self.assertEqual(self.values("results"), {"t": 101})
        # A file changed since: the old cache is not taken for a new one.
        (self.directory / "results/good/t/artifacts/001__load/rate.json").write_text('{"rate": 7}')
        for more in ([], ["--prefer-cache"]):
            self.perfctl("results", "fetch", *more, f"{self.url}/runs/two/")
            self.assertEqual(self.values("results"), {"t": 7, "two": 200})
        for wrong in ({"values": {"rate": {"deep": [1, {}]}, "more": 1}}, {"values": []}, {"further": [1]},
                      {"findings": [1, "warning: x\n\ny" * 999]}):
            (self.site / "runs/two/perfd-results.cache").write_text(json.dumps({**cache, **wrong}))
            os.utime(self.site / "runs/two/perfd-results.cache")
            shutil.rmtree(self.directory / "results" / f"127.0.0.1:{self.server.server_port}")
            self.perfctl("results", "fetch", "--prefer-cache", f"{self.url}/runs/two/")
            self.perfctl("results", "process", "--no-store", "--output", "report", "results")

    def test_a_file_that_was_cut_is_continued(self):
        self.write("cut.log", "x" * 1000)
        self.perfctl("results", "fetch", f"{self.url}/cut.log")
        path = self.directory / "results" / f"127.0.0.1:{self.server.server_port}" / "cut.log"
        self.assertEqual(path.stat().st_size, 1000)

    def test_of_an_archive_only_files_within_it_are_unpacked(self):
        good = {"./t/settings.yaml": "threads: 1\n", "t/exit_code": "0\n", "t/ä b": "c"}
        self.archive("good.tar.gz", good, "w:gz")
        self.archive("bad.tar", {**good, "../out": "1", "/tmp/perfd-out": "2", "t/../../out": "3", "a\nb": "4",
                                 "t/link": (tarfile.SYMTYPE, "/etc"), "t/link/passwd": "5", "t/hard": (tarfile.LNKTYPE, "/etc/passwd"),
                                 "t/pipe": (tarfile.FIFOTYPE, ""), "t/null": (tarfile.CHRTYPE, "")})
        said = self.perfctl("results", "fetch", f"{self.url}/good.tar.gz", f"{self.url}/bad.tar?token=1#x")
        self.assertEqual(self.files("results/good"), ["t/exit_code", "t/settings.yaml", "t/ä b"])
        self.assertEqual(self.files("results/bad"), ["t/exit_code", "t/link/passwd", "t/settings.yaml", "t/ä b"])
        self.assertIn("../out is left out", said)
        self.assertIn("7 more members are left out", said)
        self.assertFalse((self.directory / "out").exists() or (self.directory / "results/out").exists())
        self.assertEqual((self.directory / "results/good/t/settings.yaml").stat().st_mtime, BEGIN)

    def test_an_archive_has_limits(self):
        with tarfile.open(self.site / "many.tar.gz", "w:gz", compresslevel=1) as archive:
            for i in range(100001):
                archive.addfile(tarfile.TarInfo(f"{i}"))
        self.assertIn("more than 100000 members", self.perfctl("results", "fetch", f"{self.url}/many.tar.gz", status=1))
        self.write("broken.tgz", "no archive")
        self.assertIn("tar exited with 2", self.perfctl("results", "fetch", f"{self.url}/broken.tgz", status=1))
        self.assertEqual(self.files(), [".perfd-processed", "broken.tgz", "many.tar.gz"])

    def test_what_is_wrong_is_named_and_the_rest_is_fetched(self):
        said = self.perfctl("results", "fetch", f"{self.url}/none/", f"{self.url}/runs/one/", status=1)
        self.assertIn(f"{self.url}/none/: wget exited with 8", said)
        self.assertTrue(any(path.endswith("one/exit_code") for path in self.files()))
        for wrong in ("runs/", "file:///etc/", "--output-document=x", "-"):
            self.assertIn("expected a URL that begins with http", self.perfctl("results", "fetch", "--", wrong, status=2))
        self.assertIn("expected a URL, or --url-file", self.perfctl("results", "fetch", status=2))


if __name__ == "__main__":
    unittest.main()
