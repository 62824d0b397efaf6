"""Checks perfctl kpi check --file: formats of the input, methods, output and wrong usage. No perfd is running."""

import json
import os
import subprocess
import unittest

from harness import PERFCTL, ROOT

LEVELS = [20.1, 20.0, 20.2, 19.9, 20.1, 20.0, 20.1, 21.9, 22.1, 22.0, 22.2]


def check(*words, stdin="", file="-"):
    return subprocess.run([str(PERFCTL), "kpi", "check", "--file", str(file), *map(str, words)], input=stdin, text=True,
                          capture_output=True, timeout=60,
                          env={**os.environ, "NO_COLOR": "1", "PERFD_SOCKET": "/nonexistent/perfd.sock"})


class CheckFile(unittest.TestCase):
    def answer(self, *words, stdin="", file="-"):
        done = check("--json", "--fail-on", "none", *words, stdin=stdin, file=file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def points(self, *words, stdin=""):
        return [point["index"] for point in self.answer(*words, stdin=stdin)["change_points"]]

    def refused(self, status, text, *words, stdin="", file="-"):
        done = check(*words, stdin=stdin, file=file)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertIn(text, done.stderr)

    def test_each_format_of_the_input(self):
        lines = "".join(f"{v}\n" for v in LEVELS)
        days = [f"2026-01-{i + 1:02}" for i in range(len(LEVELS))]
        for text, words in (
                (lines, ()), ("# ms\n\nms\n" + lines, ()), (lines.replace("\n", "\r\n"), ()),
                (json.dumps(LEVELS), ()), (json.dumps({"name": "x", "ms": LEVELS}), ()),
                (json.dumps({"a": LEVELS, "b": [1, 2]}), ("--column", "a")),
                (json.dumps([{"time": day, "value": v} for day, v in zip(days, LEVELS)]), ()),
                ("".join(f"{day},{v}\n" for day, v in zip(days, LEVELS)), ()),
                ("time;a;b\n" + "".join(f'"{day}";7;{v}\n' for day, v in zip(days, LEVELS)), ("--column", "b")),
                ("".join(f"7\t{v}\t7\n" for v in LEVELS), ("--column", "2"))):
            with self.subTest(text=text[:40], words=words):
                self.assertEqual(self.points(*words, stdin=text), [7])

    def test_rows_are_sorted_by_time(self):
        rows = [f"{1700000000 + i},{v}\n" for i, v in enumerate(LEVELS)]
        done = check("--json", stdin="".join(reversed(rows)))
        point, = json.loads(done.stdout)["change_points"]
        self.assertEqual((point["index"], point["time"]), (7, "1700000007"))
        self.assertIn("sorted by time", done.stderr)

    def test_times_without_an_order_are_said(self):
        for form in ("{:02}.01.2026", "01/{:02}/2026", "Jan {:02}"):
            done = check("--json", stdin="".join(f"{form.format(i + 1)},{v}\n" for i, v in enumerate(LEVELS)))
            self.assertIn(f"do not begin with a year, as in 2026-12-31: {len(LEVELS)}; the values are judged in the order of the input",
                          done.stderr)

    def test_missing_values_count_in_the_index(self):
        answer = self.answer(stdin=json.dumps([None, *LEVELS[:3], None, *LEVELS[3:]]))
        self.assertEqual(([point["index"] for point in answer["change_points"]], answer["n"], answer["missing"]), ([9], 11, 2))

    def test_verdicts(self):
        for direction, verdict in (("lower", "regression"), ("higher", "improvement"), ("none", "changed")):
            answer = self.answer("--direction", direction, stdin=json.dumps(LEVELS))
            self.assertEqual((answer["verdict"]["verdict"], answer["verdict"]["since"]), (verdict, 7))
            self.assertAlmostEqual(answer["verdict"]["relative_change"], 0.1, delta=0.01)
        for series, verdict in (([], "unknown"), ([3], "unknown"), ([5] * 30, "no change"), (LEVELS[:7] + [40], "run again")):
            answer = self.answer(stdin=json.dumps(series))
            self.assertEqual((answer["verdict"]["verdict"], answer["change_points"]), (verdict, []))
        self.assertIn("index 7: 20.1 to 22.05, +9.7 %", check(stdin=json.dumps(LEVELS)).stdout)

    def test_other_methods(self):
        last = json.dumps([20.1, 20.0, 20.2, 19.9, 20.1, 20.0, 20.1, 19.9, 20.0, 25])
        for method in ("hunter", "stdev", "zscore", "relative"):
            answer = self.answer("--method", method, "--direction", "lower", stdin=last)
            self.assertEqual((answer["method"], [p["index"] for p in answer["change_points"]], answer["verdict"]["verdict"]),
                             (method, [9], "regression"))
        self.assertEqual(self.points("--method", "hunter", "--min-magnitude", "0.3", stdin=last), [])
        self.assertEqual(self.points("--method", "hunter", "--max-pvalue", "1e-12", stdin=last), [])
        status = self.answer("--method", "hunter", "--as", "matrix-benchmarking", "--direction", "lower", stdin=last)["compat"]
        self.assertEqual(status["description"], "Regression")
        self.assertEqual(self.answer("--method", "stdev", "--as", "matrix-benchmarking", stdin=last)["compat"]["accepted"], False)

    def test_wrong_usage_and_input(self):
        for option in ("--window=10", "--max-pvalue=0.1", "--min-magnitude=0"):
            self.refused(2, f"{option.split('=')[0]} requires --method hunter", option)
        self.refused(2, "--max-pvalue expects a number from 0 to 1, not '2'", "--method", "hunter", "--max-pvalue", "2")
        self.refused(2, "--as requires --method", "--as", "matrix-benchmarking")
        self.refused(1, "cannot read /nonexistent/x", file="/nonexistent/x")
        for text, message in (("1\n2\nx\n", "standard input:3: 'x' is not a number"), ("a,b,c\n1,2,3\n", "3 columns; choose"),
                              ("a,b\n1,2\n1\n", "standard input:3: 1 columns; the values are in column 2"),
                              ("[1, \"a\"]", "value 2 of the list is a string"),
                              ("[1,", "standard input:1:"), ("{}", "expected a list of numbers"), ("[{\"v\": 1}]", "has no 'value'"),
                              ("# of a run\ntime,value\n", "standard input:2: a header without rows below"),
                              ("1\n" * 20001, "20001 values; at most 20000")):
            self.refused(1, message, stdin=text)
        self.refused(1, "no column 'd'", "--column", "d", stdin="a,b,c\n1,2,3\n")

    def test_the_gate_judges_a_series(self):
        series = json.dumps(LEVELS)
        for words, status in (((), 0), (("--direction", "lower"), 4), (("--direction", "higher"), 0), (("--fail-on", "changed"), 4),
                              (("--direction", "lower", "--fail-on", "none"), 0)):
            self.assertEqual(check(*words, stdin=series).returncode, status, words)
        self.assertEqual(check("--fail-on", "no-verdict", stdin="3\n").returncode, 5)

    def test_a_file_has_no_stored_results(self):
        for words in (("rate",), ("--where", "a=1"), ("--component-version", "1"), ("--output", "."), ("--format", "junit")):
            self.refused(2, "--file", *words)
        done = subprocess.run([str(PERFCTL), "kpi", "check", "--column", "2"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("require --file", done.stderr)

    def test_captured_tables(self):
        path = ROOT.parent / "shared/fixtures/hunter/sample.csv"
        if not path.exists():
            self.skipTest("captured files are not there (PERFD_FIXTURES)")
        self.assertEqual(self.answer("--column", "metric1", file=path)["n"], sum(1 for _ in path.open()) - 1)


if __name__ == "__main__":
    unittest.main()
