"""Checks that every reader takes the texts of all editors, and refuses what it cannot read by name. Not one of them reads a half."""

import json
import os
import subprocess
import unittest

import harness
from harness import PERFCTL, indicator

BOM = b"\xef\xbb\xbf"


def edited(text):
    """The text as editors and shells of other systems write it."""
    lines = text.encode()
    return {"CRLF": BOM + lines.replace(b"\n", b"\r\n"), "CR": lines.replace(b"\n", b"\r"), "mark": BOM + lines,
            "marks": b"".join(BOM + line + b"\r\n" for line in lines.splitlines())}


class Readers(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()

    def perfctl(self, daemon, *words, stdin=None, **environment):
        return subprocess.run([PERFCTL, *map(str, words)], input=stdin, capture_output=True, timeout=60,
                              env={**os.environ, "PERFD_SOCKET": str(daemon.socket), "PERFD_SPOOL": str(self.directory), **environment})

    def done(self, *words, **more):
        done = self.perfctl(*words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def refused(self, text, *words, **more):
        done = self.perfctl(*words, **more)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(text, done.stderr.decode())

    def file(self, name, content):
        path = self.directory / name
        path.write_bytes(content)
        return path

    def test_submit_and_run_and_import(self):
        daemon = self.daemon()
        text = "".join(json.dumps(indicator(rate=i), indent=1) + "\n" for i in range(3))
        kpis = "# HELP ms time (in ms)\nms{a=\"b\"} 5\nms{a=\"c\"} 6\n"
        for what, content in edited(text).items():
            with self.subTest(what):
                self.assertEqual(self.done(daemon, "submit", stdin=content)[0], "3 stored\n")
                path = self.file("printed", content)
                self.done(daemon, "run", "--job", f"job-{what}", "--", "cat", path)
                self.assertEqual(len(daemon.get(f"/api/v1/results?job=job-{what}").json["results"]), 3)
                path = self.file("kpis.txt", edited(kpis)[what])
                self.assertIn("2 KPIs in 2 results: 2 stored", self.done(daemon, "import", "kpis", "--model", f"m{what}", path)[0])
        for encoding in ("utf-16", "utf-16-le", "utf-32"):
            path = self.file("foreign", text.encode(encoding))
            self.refused("is UTF-16 or UTF-32: save it as UTF-8", daemon, "submit", path)
            self.refused("is UTF-16 or UTF-32: save it as UTF-8", daemon, "import", "kpis", path)
            done = self.perfctl(daemon, "run", "--collect", "yes", "--", "cat", path)
            self.assertIn(b"UTF-16 or UTF-32", done.stderr)

    def test_series_and_models_and_sweeps_and_pipelines(self):
        daemon = self.daemon()
        levels = [20.1, 20.0, 20.2, 19.9, 20.1, 20.0, 20.1, 21.9, 22.1, 22.0, 22.2]
        series = "day,ms\n" + "".join(f"2026-01-{i + 1:02},{v}\n" for i, v in enumerate(levels))
        model = "name: M{}\nresults:\n  rate: {{unit: ms,\n    direction: lower}}\n"
        plan = "command: \"true\"\nsettings:\n  a: [1, 2]\n"
        line = json.dumps({"stage": "1:a", "num_tasks": 1, "ave_time": 0.5}) + "\n"
        for i, (what, content) in enumerate(edited(series).items()):
            with self.subTest(what):
                answer = json.loads(self.done(daemon, "kpi", "check", "--json", "--fail-on", "none", "--file", "-", stdin=content)[0])
                self.assertEqual((answer["n"], answer["change_points"][0]["index"]), (len(levels), 7))
                self.done(daemon, "model", "add", self.file("model.yaml", edited(model.format(i))[what]))
                out = self.directory / f"sweep{i}"
                self.done(daemon, "sweep", self.file("plan.yaml", edited(plan)[what]), "--output", out)
                settings = next(out.glob("**/settings.yaml"))
                settings.write_bytes(edited(settings.read_text())[what])
                self.done(daemon, "run", "--job", f"pipe{i}", "--", PERFCTL, "pipeline", "submit", stdin=edited(line)[what])
                self.assertIn("2 done", "".join(self.done(daemon, "sweep", self.directory / "plan.yaml", "--output", out)))
        for words in (("kpi", "check", "--file"), ("model", "add"), ("sweep",)):
            self.refused("is UTF-16 or UTF-32: save it as UTF-8", daemon, *words, self.file("foreign", series.encode("utf-16")))

    def test_models_and_settings_of_the_administrator(self):
        models = self.directory / "models"
        models.mkdir()
        for i, content in enumerate(edited("name: FOO\nresults:\n  rate: {unit: ms}\n").values()):
            (models / f"m{i}.yaml").write_bytes(content.replace(b"FOO", b"Foo%d" % i))
        (models / "utf16.yaml").write_bytes("name: X\n".encode("utf-16"))
        daemon = self.daemon(f"[indicators]\ndirectory = {models}\n")
        self.assertEqual(sorted(m["name"] for m in daemon.get("/api/v1/models").json["models"] if m["name"].startswith("Foo")),
                         [f"Foo{i}" for i in range(4)])
        self.assertIn("it is UTF-16 or UTF-32: save it as UTF-8", daemon.log())
        path = self.directory / "perfd.conf"
        for what, content in edited("[sampling]\ninterval = 2s # slow\n\n[http]\nthreads = 3\n").items():
            path.write_bytes(content)
            done = subprocess.run([harness.PERFD, "--config", path, "--check-config"], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, (what, done.stderr))
            path.write_bytes(content.replace(b"threads = 3", b"threads = 3x"))
            done = subprocess.run([harness.PERFD, "--config", path, "--check-config"], capture_output=True, text=True, timeout=60)
            self.assertIn("perfd.conf:5:", done.stderr, what)
        path.write_bytes("[http]\n".encode("utf-16"))
        done = subprocess.run([harness.PERFD, "--config", path, "--check-config"], capture_output=True, text=True, timeout=60)
        self.assertIn("perfd.conf:1: is UTF-16 or UTF-32: save it as UTF-8", done.stderr)

    def test_numbers_that_are_not_finite_are_null_and_the_others_are_stored(self):
        daemon = self.daemon()
        text = json.dumps([indicator(rate=1.5), indicator(rate=float("nan"), n=[1, float("-inf"), 3]), indicator(rate=2)])
        out, err = self.done(daemon, "submit", stdin=("Loading …\n[INFO] ready\n\n" + text + "\nbye\n").encode())
        self.assertEqual(out, "3 stored\n")
        self.assertIn("numbers that are NaN or infinite, stored as null: 2", err)
        self.assertIn("skipped lines that are not JSON: 3", err)
        rows = daemon.get("/api/v1/results").json["results"]
        self.assertEqual([row["document"]["@result"]["rate"] for row in rows].count(None), 1)
        path = self.file("printed", text.encode())
        out, err = self.done(daemon, "run", "--job", "nan", "--", "cat", path)
        self.assertIn("stored as null: 2", err)
        self.assertEqual(len(daemon.get("/api/v1/results?job=nan").json["results"]), 3)


class Tables(unittest.TestCase):
    """perfctl kpi check --file, without perfd."""

    def check(self, text, *words):
        return subprocess.run([PERFCTL, "kpi", "check", "--file", "-", "--json", "--fail-on", "none", *words], input=text, text=True,
                              capture_output=True, timeout=60)

    def test_a_header_is_a_line_whose_cells_are_no_numbers(self):
        for text, n in (("ms\n1\n2\n", 2), ("day,ms\n1,5.5\n2,6.5\n", 2), ('"a;b";"the ""ms"""\n1;5\n2;6\n', 2),
                        ('time,ms\n"2026-01-01","1"\n"2026-01-02","2"\n', 2), ("nan\n1\ninf\n", 1), ("2026-01-01,5.5\n2026-01-02,6\n", 2),
                        ("1700000000,5\n1700000001,6\n", 2)):
            with self.subTest(text):
                done = self.check(text)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["n"], n)
        self.assertEqual(json.loads(self.check('x,"a,b"\n1,2\n', "--column", "a,b").stdout)["n"], 1)

    def test_what_cannot_be_read_is_refused(self):
        for text, why in (("0,98\n1,02\n", ":1: decimal comma?"), ("1.234,5\n12.345,67\n-1.234.567,8\n", ":1: decimal comma?"),
                          ("\n0,98\n", ":2: decimal comma?"),
                          ("t;v\n1;0,98\n", ":2: '0,98' is not a number: decimal comma?"),
                          ("time,ms\n2026-01-01,0,98\n", ":2: 3 columns, the first line has 2: decimal comma?"),
                          ("2026-01-01,failed\n2026-01-02,5\n", ":1: 'failed' is not a number"), ("5ms\n6\n", ":1: '5ms' is not a number"),
                          ('t,ms\n1,"5\n', ":2: a quoted cell has no end"), ('"1" 2,3\n', ":1: a quoted cell")):
            with self.subTest(text):
                done = self.check(text)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
