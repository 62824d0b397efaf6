"""Checks perfctl pipeline show with lines of real SPDL pipelines, errors of the input and wrong usage. No perfd is running."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from harness import PERFCTL, ROOT, spdl_lines

DATA = ROOT / "tests" / "data" / "pipelines"


def show(*words, stdin=""):
    return subprocess.run([str(PERFCTL), "pipeline", "show", *map(str, words)], input=stdin, text=True, capture_output=True, timeout=60,
                          env={**os.environ, "NO_COLOR": "1", "PERFD_SOCKET": "/nonexistent/perfd.sock"})


def lines_of(path):
    return spdl_lines(path, TZ="UTC").stdout


def export(n=4, text=False, **changed):
    """A stage that is always busy, in the dialect with a shared clock and without numbers of items."""
    value = {"event_time": 0, "0:src_qps": 10, "0:src_queue_put": 0.09, "0:src_queue_get": 0.0001, "1:work_num_tasks": 600,
             "1:work_ave_time": 0.0995, "1:work_qps": 10, "1:work_queue_put": 0.0001, "1:work_queue_get": 0.09,
             "1:work_queue_occupancy_rate": 0.1, "2:sink_qps": 10, "2:sink_queue_put": 0.0001, "2:sink_queue_get": 0.05}
    lists = {key: [v] * n for key, v in value.items()}
    lists["event_time"] = [1700000000 + 60 * i for i in range(n)]
    lists.update({key.replace("__", ":"): v for key, v in changed.items()})
    return json.dumps({key: [str(v) for v in values] if text else values for key, values in lists.items()})


def minutes(**changed):
    """Returns the lines of the export."""
    return spdl_lines("-", stdin=export(**changed)).stdout


class Pipeline(unittest.TestCase):
    def answer(self, *words, stdin=""):
        done = show("--json", *words, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["pipelines"]

    def logged(self, text):
        done = spdl_lines("--begin", "2026-11-23T05:12:36Z", "-", stdin=text, TZ="UTC")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, status, text, *words, stdin=""):
        done = show(*words, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertIn(text, done.stderr)

    def test_a_slow_stage_of_a_real_pipeline(self):
        pipeline, = self.answer("--producer", "spdl=0.8.0", "-", stdin=lines_of(DATA / "spdl_0.8_slow_stage.json"))
        self.assertEqual([pipeline[key] for key in ("limit", "stage", "direction", "confidence", "next_stage")],
                         ["stage", "first", "more concurrency", "medium", "second"])
        self.assertAlmostEqual(pipeline["wait_share"], 0.83, delta=0.01)
        first = next(stage for stage in pipeline["stages"] if stage["name"] == "first")
        self.assertAlmostEqual(first["busy"] + first["starved"] + first["blocked"], 1, delta=0.05)

    def test_a_small_pool_of_a_real_pipeline(self):
        lines = lines_of(DATA / "spdl_0.8_small_pool.json")
        pipeline, = self.answer("--threads", 4, "-", stdin=lines)
        self.assertEqual((pipeline["limit"], pipeline["direction"]), ("pool", "more threads"))
        pipeline, = self.answer("-", stdin=lines)
        self.assertEqual(pipeline["limit"], "stage")

    def test_the_log_of_a_real_pipeline(self):
        """SPDL takes items from its own queue classes without blocking: the loop waits, and no get time is measured."""
        log = DATA / "spdl_0.8_exact_queues.log"
        pipeline, = self.answer("--producer", "spdl=0.8", "-", stdin=lines_of(log))
        self.assertEqual([pipeline[key] for key in ("limit", "stage", "direction", "confidence", "is_wait_bound")],
                         ["stage", "decode", "more concurrency", "medium", True])
        stages = {stage["name"]: stage for stage in pipeline["stages"]}
        self.assertEqual(stages["decode"]["declared_concurrency"], 4)
        self.assertAlmostEqual(stages["decode"]["busy"], (800 * 0.0216 - 175 * 0.0218) / (4.5 - 1) / 4, places=3)  # without the first
        self.assertIn("waited for data at most 96.1 % of the time", show("--producer", "spdl=0.8", "-", stdin=lines_of(log)).stdout)

        lines = log.read_text().splitlines(True)
        intervals = [line for line in lines if "(QPS" not in line or "4.4 [sec]" not in line and "4.5 [sec]" not in line]
        intervals = [line for line in intervals if "800 tasks" not in line and "801 tasks" not in line and "  200 tasks" not in line]
        self.assertEqual(len(lines) - len(intervals), 8)
        before, = self.answer("--producer", "spdl=0.8", "-", stdin=self.logged("".join(intervals)))  # of a run that has not ended
        self.assertEqual(before["stage"], "decode")
        self.assertAlmostEqual(before["stages"][1]["busy"], stages["decode"]["busy"], delta=0.02)

        # A second interval that lasts longer than the first is no total.
        line = ("[0:1:sink_queue]\tProcessed   {} items in   {} [sec] (QPS:    1.7) Ave wait time: put:    1.0 [ ms], "
                "get (by next stage):    3.7 [ us]. Occupancy rate: {}%\n")
        two, = self.answer("--producer", "spdl=0.8", "-", stdin=self.logged(line.format(100, 60.0, 90) + line.format(50, 60.3, 10)))
        self.assertAlmostEqual(two["stages"][0]["readiness"], 0.5, delta=0.01)

        done = spdl_lines("-", stdin="".join(lines)[:-200])
        self.assertEqual(done.returncode, 0)
        self.assertIn("left out 1 interval ", done.stderr)

    def test_a_straggler_of_several_files_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            files = [pathlib.Path(directory) / f"rank{i}.json" for i in range(4)]
            for i, file in enumerate(files):
                file.write_text(minutes(**({"1:work_ave_time": [0.25] * 4, "1:work_num_tasks": [240] * 4} if i == 2 else {})))
            done = show("--json", *files)
            answer = json.loads(done.stdout)
            straggler, = answer["stragglers"]
            self.assertAlmostEqual(straggler.pop("median"), 0.0995)
            self.assertEqual(straggler, {"rank": str(files[2]), "stage": "work", "measure": "time", "value": 0.25, "ranks": 4,
                                         "in_turn": []})
            self.assertEqual(len(answer["pipelines"]), 4)
            self.assertIn("rank2.json is a straggler: a task of work takes 250 ms, the median of 4 ranks is 99.5 ms.",
                          " ".join(show(*files).stdout.split()))
            self.assertEqual(json.loads(show("--json", *files[:2]).stdout)["stragglers"], [])

    def test_a_straggler_of_one_measure_is_named(self):
        ranks = {"event_time": ["1", "2", "3"], **{str(i): ["0.5", "0.9", ""] for i in range(5)}, "7": ["0.9", "0.2", None]}
        done = show("--measure", "readiness", "-", stdin=json.dumps(ranks))
        self.assertEqual((done.returncode, done.stdout),
                         (0, "Rank 7 is a straggler: data are ready 20 % of the time, the median of 6 ranks is\n90 %.\n"))
        del ranks["7"]
        self.assertEqual(show("--measure", "time", "-", stdin=json.dumps(ranks)).stdout, "None of the 5 ranks is a straggler.\n")
        for text, stdin in (("rank '0', interval 2: expected a number that is not negative", '{"0": [1, -1]}'),
                            ("expected a list of numbers for each rank", '{"0": 1}'), ("standard input:1:2:", "{"),
                            ("expected one JSON object", "[]")):
            with self.subTest(text):
                self.refused(1, text, "--measure", "time", "-", stdin=stdin)

    def test_a_slow_rank_that_changes_is_no_slow_rank(self):
        def said(*slow):
            """slow: the rank that is slow in each tenth of the run."""
            ranks = {str(rank): [0.1 if slow[i // 3] == rank else 1 for i in range(30)] for rank in range(5)}
            found = json.loads(show("--json", "--measure", "readiness", "-", stdin=json.dumps(ranks)).stdout)["stragglers"]
            return [(straggler["rank"], straggler["in_turn"]) for straggler in found], json.dumps(ranks)

        for slow, expected in (((2, 2, 2, 2, 4, 4, 4, 4, 4, 4), ("4", ["2", "4"])), ((2, 2, 3, 3, 0, 0, 1, 1, 4, 4), (None, list("23014"))),
                               ((2, 4, 4, 4, 4, 4, 4, 4, 4, 4), ("4", [])), ((2, 2, 4, 4, 4, 4, 4, 4, 4, 4), ("4", []))):
            with self.subTest(slow):
                found, text = said(*slow)
                self.assertEqual(found, [expected])
                self.assertEqual("The slow rank changes within the run: " in show("--measure", "readiness", "-", stdin=text).stdout,
                                 bool(expected[1]))
        self.assertEqual(said(*[9] * 10)[0], [])

    def test_numbers_may_be_texts(self):
        self.assertEqual(self.answer("-", stdin=minutes()), self.answer("-", stdin=minutes(text=True)))

    def test_the_text_names_the_wait_and_the_stage(self):
        done = show("-", stdin=minutes())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("The training loop waited for data 50.0 % of the time (1 min 30 s, 50 ms per item). work is the limit: its 1 "
                      "worker is busy "
                      "100 % of the time. Try a concurrency of 2, and fewer if it does not help; the training loop limits next. "
                      "Confidence: medium.", " ".join(done.stdout.split()))

    def test_no_line_is_wider_than_the_terminal(self):
        """Names, times and rates of any size: a row stays a row, and all cells but names are complete."""
        lines = "".join(json.dumps({"stage": f"0:{i}:{name}", "elapsed": 60, "num_items": n, "ave_put_time": 60 / n, "ave_get_time": 0}) +
                        "\n" + json.dumps({"stage": f"0:{i}:{name}", "num_tasks": n, "num_failures": n // 3, "ave_time": mean}) + "\n"
                        for i, (name, n, mean) in enumerate((("a" * 100, 1, 7200), ("preprocess_images[12]", 86_000_000, 8.799e-7),
                                                             ("aggregate(8)", 10_750_000, 0.0000123456), ("sink", 3, 99.95))))
        shown = show("-", stdin=lines).stdout
        self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)
        heads, *rows = shown[shown.index("STAGE"):].splitlines()
        self.assertEqual(len(heads.split()), 8)  # READY, which was not measured, is left out
        self.assertEqual([len(re.sub(r"(?<=\d) (?=%|ns|us|ms|s|min|h)", "", row).split()) for row in rows], [8] * 4, shown)
        self.assertIn("880 ns", shown)
        shares = [float(share) for share in re.findall(r"([\d.]+) %", shown)]
        self.assertLessEqual(max(shares), 100, shown)

    def test_each_pipeline_and_file_has_a_verdict(self):
        two = minutes().replace('"stage": "', '"stage": "3:') + minutes().replace('"stage": "', '"stage": "7:')
        self.assertEqual([p["pipeline"] for p in self.answer("-", stdin=two)], [3, 7])
        with tempfile.TemporaryDirectory() as directory:
            files = [pathlib.Path(directory) / name for name in ("a.jsonl", "b.jsonl")]
            for file, lines in zip(files, (minutes(), two)):
                file.write_text(lines)
            self.assertEqual([p["file"] for p in self.answer(*files)], [str(files[i]) for i in (0, 1, 1)])

    def test_readiness_without_items(self):
        def ready(rate, *words, occupancy=1.0):
            pipeline, = self.answer(*words, "-", stdin=minutes(**{"1:work_qps": rate, "1:work_queue_occupancy_rate": [occupancy] * 4}))
            return pipeline["stages"][1]["readiness"], pipeline["stages"][1]["readiness_state"]

        self.assertEqual(ready([0] * 4), (None, "not measured"))
        self.assertEqual(ready([0] * 4, "--producer", "spdl=0.6"), (None, "not measured"))
        self.assertEqual(ready([0] * 4, "--producer", "spdl=0.8", occupancy=0), (0, "known"))
        self.assertEqual(ready([10, 10, 10, 0]), (None, "stalled"))
        self.assertEqual(ready([10, 0, 10, 10]), (1, "known"))

    def test_repeated_and_missing_intervals_are_left_out(self):
        for text, changed in (("left out 4 intervals", {"event_time": [1700000000, 1700000060, 1700000060, 1700000120]}),
                              ("left out 1 interval ", {"1:work_num_tasks": [600, None, 600, 600]})):
            done = spdl_lines("-", stdin=export(**changed))
            self.assertEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)

    def test_the_producer_of_the_lines_counts(self):
        """Lines may name the library themselves. SPDL 0.8 counts an open period without items as empty."""
        lines = minutes(**{"1:work_qps": [0] * 4, "1:work_queue_occupancy_rate": [0] * 4})
        for producer, readiness in (("spdl 0.6", None), ("spdl 0.8.0", 0)):
            pipeline, = self.answer("-", stdin=json.dumps({"producer": producer}) + "\n" + lines)
            self.assertEqual(pipeline["stages"][1]["readiness"], readiness)

    def test_errors_name_the_line(self):
        first = minutes().splitlines(True)[0]
        for text, stdin in (
                ("standard input:1:2: ", "{]"), ("standard input:2: expected \"stage\", \"event\"", first + '{"a": 1}\n'),
                ("standard input:1: expected a JSON object on the line; 'python3 -m perfd_spdl import'", "[]"),
                ("no line has statistics of a stage", ""), ("no line has statistics of a stage", "\n\n"),
                ("standard input:2: \"ave_time\" is -1, expected 0 to", first + '{"stage": "1:a", "num_tasks": 1, "ave_time": -1}'),
                ("standard input:2: \"num_failures\" is 6, expected 0 to 5", first + '{"stage": "1:a", "num_tasks": 5, "num_failures": 6}'),
                ("standard input:2: \"occupancy_rate\" is 1.5", first + '{"stage": "1:a", "num_items": 1, "occupancy_rate": 1.5}'),
                ("standard input:2: the line has more than 64 KiB", first + " " * 70000)):
            with self.subTest(text=text):
                self.refused(1, text, "-", stdin=stdin)
        self.refused(1, "No such file", "/nonexistent/stats.jsonl")

    def test_wrong_usage(self):
        self.refused(2, "spdl=VERSION", "--producer", "torch=2", "-")
        self.refused(2, "", "--threads", "x", "-")


if __name__ == "__main__":
    unittest.main()
