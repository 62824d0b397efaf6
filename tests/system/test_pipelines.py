"""Checks statistics of data pipelines: submitted over the socket or by perfctl, kept over a crash, shown over HTTP and in a terminal."""

import contextlib
import csv
import io
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import unittest
import urllib.parse

import harness
from harness import PERFCTL, spdl_lines, wait_for

CONFIG = "[sampling]\ninterval = 100ms\n[http]\nquery_timeout = 60s\n" # a query takes longer with a sanitizer
STAGE = "0:1:decode[4]"
BEGIN_S = 1764000000


def lines(minutes, producer="spdl 0.8.0"):
    """A pipeline whose stage decode is always busy: the loop waits half of the time."""
    yield {"producer": producer, "threads": 16}
    for minute in range(1, minutes + 1):
        end = BEGIN_S + 60 * minute
        yield {"stage": "0:0:src_queue", "time": end, "elapsed": 60, "num_items": 2400, "ave_put_time": 0.02, "ave_get_time": 0.00001,
               "occupancy_rate": 0.99}
        yield {"stage": STAGE, "time": end, "num_tasks": 2400, "num_failures": 0, "ave_time": 0.0995, "p90_time": 0.12}
        yield {"stage": STAGE + "_queue", "time": end + 0.5, "elapsed": 60, "num_items": 2400, "ave_put_time": 0.0001,
               "ave_get_time": 0.0125, "occupancy_rate": 0.5, "buffer_size": 2}


def text_of(items):
    return "".join(json.dumps(item) + "\n" for item in items)


class Pipelines(harness.TestCase):
    def perfctl(self, daemon, *words, stdin="", status=0, **environment):
        done = subprocess.run([str(PERFCTL), "--socket", str(daemon.socket), "pipeline", *words], input=stdin, text=True, timeout=60,
                              capture_output=True, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **environment})
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done

    def begun(self, job="train"):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            self.assert_status(client.begin(job), "OK")
        return daemon

    def stage(self, daemon, name="decode", job="train"):
        stages = daemon.get(f"/api/v1/jobs/{job}/pipeline").json["stages"]
        return next(stage for stage in stages if stage["name"] == name)

    def described(self, **description):
        """What is said of two intervals of a stage after a long start, with the members that an adapter adds to the description."""
        daemon = self.begun()
        start = [{"stage": STAGE, "time": BEGIN_S, "elapsed": 600, "num_tasks": 1, "num_failures": 0, "ave_time": 600},
                 {"stage": STAGE + "_queue", "time": BEGIN_S, "elapsed": 600, "num_items": 1, "ave_put_time": 0, "ave_get_time": 600},
                 {"event": "first_batch", "time": BEGIN_S - 600, "seconds": 600}]
        text = text_of([*start, *list(lines(1))[1:], {"producer": "spdl 0.8.0", "pipeline": 0, "threads": 16, **description}])
        self.perfctl(daemon, "submit", "--job", "train", "-", stdin=text)
        of_job, of_file = (json.loads(self.perfctl(daemon, "show", "--json", *words).stdout)["pipelines"][0] for words in (
            ("train",), ("--producer", "spdl=0.8", self.written(text))))
        if of_job["limit"] != "lock":  # what a job uses shows which lock it is
            self.assertEqual([of_job[key] for key in ("limit", "stage", "sentence", "wait_share", "first_wait_seconds")],
                             [of_file[key] for key in ("limit", "stage", "sentence", "wait_share", "first_wait_seconds")])
        return of_job

    def written(self, text):
        path = pathlib.Path(self.temporary_directory()) / "stats.jsonl"
        path.write_text(text)
        return str(path)

    def test_the_start_is_left_out(self):
        said = self.described()
        self.assertEqual((said["limit"], said["stage"], said["confidence"]), ("stage", "decode", "medium"))
        self.assertAlmostEqual(said["wait_share"], 0.5, places=2)
        self.assertEqual(said["first_wait_seconds"], 600)

    def test_a_full_executor_is_named(self):
        said = self.described(pools=[{"threads": 16, "shared": True, "stages": ["a", "b"], "waiting": 0.1},
                                     {"threads": 2, "shared": False, "stages": ["decode"], "waiting": 0.97}])
        self.assertEqual((said["limit"], said["stage"], said["direction"]), ("pool", "decode", "more threads"))
        self.assertIn("The executor of decode with 2 workers is the limit: a task waited for a thread 97 % of the time",
                      said["evidence"][1])

    def test_the_lock_of_the_interpreter_is_named(self):
        said = self.described(process={"seconds": 100, "cpu_seconds": 99, "tasks_cpu_seconds": 99, "tasks_cpu_wait_seconds": 0,
                                       "lock_wait": 0.83})
        self.assertEqual((said["limit"], said["direction"]), ("lock", "less concurrency"))
        self.assertIn("a thread waited for it 83 % of the time, and the process used 0.99 CPUs", said["evidence"][1])

    def test_a_slow_worker_is_named(self):
        workers = [[100, 10], [100, 10.5], [25, 10], [100, 9.8]]
        said = self.described(workers={STAGE: workers})
        self.assertEqual((said["limit"], said["stage"], said["direction"]), ("stage", "decode", "faster task"))
        self.assertIn("Worker 2 of decode is the limit: its tasks take 400 ms, the median of 4 workers is 10", said["evidence"][1])

    def test_a_description_that_makes_no_sense_is_no_evidence(self):
        for strange in ({"pools": 3, "process": [], "workers": "x"},
                        {"pools": [3, {"threads": "2", "stages": [7], "waiting": "x"}] * 9, "process": {"seconds": 0, "cpu_seconds": -1},
                         "workers": {"no label": [[1, 2]], STAGE: [[1], [0, 0], 3, ["a", "b"]]}}):
            self.assertEqual(self.described(**strange)["stage"], "decode", strange)

    def test_impossible_numbers_are_refused_by_line(self):
        daemon = self.begun()
        first = list(lines(1))
        process = {"seconds": 10, "cpu_seconds": 9}
        for words, line in (('"lock_wait" is 7, expected 0 to 1', {"threads": 1, "process": {**process, "lock_wait": 7}}),
                            ('"lock_held" is -0.1', {"threads": 1, "process": {**process, "lock_held": -0.1}}),
                            ('"waiting" is 1.5', {"threads": 1, "pools": [{"threads": 2, "stages": ["decode"], "waiting": 1.5}]}),
                            ('"pipeline" is -1', {"threads": 1, "pipeline": -1}),
                            ('"workers" is -10', {"threads": 1, "workers": {STAGE: [[9, 1], [9, -10]]}}),
                            ('"ave_time"', {"stage": STAGE, "num_tasks": 5, "ave_time": float("nan")}),
                            ("ends more than an hour ahead", {"stage": STAGE, "time": 4e9, "num_tasks": 5, "ave_time": 1}),
                            ("ends more than an hour ahead", {"event": "first_batch", "time": BEGIN_S, "seconds": 1e9}),
                            ("a name of 1 to 127 bytes", {"stage": "0:1:" + 128 * "n", "num_tasks": 5, "ave_time": 1})):
            done = self.perfctl(daemon, "submit", "--job", "train", stdin=text_of([*first, line]), status=1)
            self.assertIn("standard input:5: ", done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "3 sent\n")

    def test_what_perfd_refuses_costs_no_other_line(self):
        daemon = self.begun()
        done = self.perfctl(daemon, "submit", "--json", "--job", "train", status=1, stdin=text_of(
            [{"producer": "spdl 0.8.0", "note": ["x" * 70000]}, *list(lines(2))[1:]]))
        self.assertIn("description: has 70", done.stderr)
        self.assertEqual(json.loads(done.stdout), {"sent": 6, "refused": 0, "refused_lines": 1, "lost": 0})
        self.assertEqual(self.stage(daemon)["tasks"]["num_tasks"], 4800)

    def test_lines_without_a_time_are_intervals_of_their_own(self):
        daemon = self.begun()
        self.perfctl(daemon, "submit", "--job", "train", stdin=50 * text_of([{"stage": STAGE, "num_tasks": 2, "ave_time": 1}]))
        self.assertEqual([self.stage(daemon)["tasks"][key] for key in ("intervals", "num_tasks")], [50, 100])

    def test_contradictions_are_named_everywhere(self):
        daemon = self.begun()
        text = text_of([*lines(3)]).replace("decode[4]", "decode[1]")
        self.perfctl(daemon, "submit", "--job", "train", stdin=text)
        words = "the times of decode add up to 3.98 workers, and it has a concurrency of 1."
        verdict, = daemon.get("/api/v1/jobs/train/pipeline").json["verdicts"]
        self.assertEqual((verdict["limit"], verdict["confidence"], verdict["advice"]), ("unknown", "none", None))
        self.assertIn(words, verdict["sentence"])
        for shown in (self.perfctl(daemon, "show", "train"), self.perfctl(daemon, "show", self.written(text)),
                      daemon.perfctl("report", "train")):
            self.assertIn(words, " ".join(shown.stdout.split()))

    def test_a_change_of_concurrency_is_compared_with_the_run_before(self):
        """Jobs of the same name: with 8 workers, 141 items per second leave the pipeline; with 16, 100."""
        daemon = self.daemon(CONFIG)

        def run(job, concurrency, rate, name="train"):
            with daemon.client() as client:
                self.assert_status(client.begin(job, name=name), "OK")
                self.assert_status(client.end(job, 0), "OK")
            label = f"0:1:decode[{concurrency}]"
            report = [{"stage": label, "time": BEGIN_S + 60, "num_tasks": 60 * rate, "ave_time": 0.99 * concurrency / rate},
                      {"stage": label, "time": BEGIN_S + 60, "elapsed": 60, "num_items": 60 * rate, "ave_get_time": 0.5 / rate}]
            self.perfctl(daemon, "submit", "--job", job, stdin=text_of(report))
            verdict, = daemon.get(f"/api/v1/jobs/{job}/pipeline").json["verdicts"]
            return verdict

        self.assertEqual((run("first", 8, 141)["comparison"], run("other", 4, 141, "test")["comparison"]), (None, None))
        self.assertEqual([run(job, n, 100, "")["comparison"] for job, n in (("unnamed", 8), ("unnamed-2", 16))], [None, None])
        slower = run("second", 16, 100)
        self.assertEqual([slower[key] for key in ("direction", "confidence", "advice")],
                         ["less concurrency", "medium", "Try a concurrency of 4 for decode."])
        self.assertIn("With a concurrency of 16 for decode instead of 8 it is 29.1 % slower than in job first", slower["sentence"])
        worse = run("third", 4, 70)
        self.assertEqual((worse["comparison"]["job"], worse["comparison"]["best"]), ("second", 8))
        self.assertEqual([tried["value"] for tried in worse["comparison"]["tried"]], [4, 8, 16])
        self.assertEqual(worse["advice"], "Go back to a concurrency of 8 for decode.")
        self.assertEqual(run("fourth", 8, 140)["direction"], "faster task")

    def test_changes_within_a_run_are_found(self):
        daemon = self.begun()

        def minutes():
            for minute in range(1, 241):
                # decode becomes slower for good after two hours; read is slow for 6 minutes. The noise is 2 %.
                noise = 1 + 0.02 * ((minute * 7919 % 13) / 6 - 1)
                times_s = {"read": 0.041 if 100 < minute <= 106 else 0.02, "decode": 0.06 if minute > 120 else 0.04, "augment": 0.01}
                yield from ({"stage": f"0:{n}:{name}", "time": BEGIN_S + 60 * minute, "elapsed": 60, "num_tasks": 100,
                             "ave_time": noise * times_s[name]} for n, name in enumerate(times_s))
                yield {"stage": "0:3:sink", "time": BEGIN_S + 60 * minute, "elapsed": 60, "num_items": 100, "ave_get_time": 0.1}

        self.perfctl(daemon, "submit", "--job", "train", stdin=text_of(minutes()))
        pipeline, = json.loads(self.perfctl(daemon, "show", "--json", "train").stdout)["pipelines"]
        found = [(change["stage"], (change["begin_ms"] / 1000 - BEGIN_S) / 60,
                  change["end_ms"] and (change["end_ms"] / 1000 - BEGIN_S) / 60, round(change["before_seconds"], 2),
                  round(change["during_seconds"], 2)) for change in pipeline["changes"]]
        self.assertEqual(found, [("read", 100, 106, 0.02, 0.04), ("decode", 120, None, 0.04, 0.06)])
        text = self.perfctl(daemon, "show", "train", TZ="UTC").stdout
        self.assertRegex(text, r"(?m)^From 2025-11-24 17:40:00 for 6 min 00 s, a task of read took 4[01]\.?\d* ms instead of 20 ms\.$")
        self.assertRegex(text, r"(?m)^From 2025-11-24 18:00:00, a task of decode took (60|59\.\d+) ms instead of 40 ms\.$")
        report = daemon.perfctl("report", "train", environment={"COLUMNS": "200", "TZ": "UTC"}).stdout
        self.assertRegex(report, r"\nSTAGE +WORKERS +BUSY .*\n  read +~1 +\d")
        self.assertIn("\n  From 2025-11-24 17:40:00 for 6 min 00 s, a task of read took 4", report)
        self.assertNotIn("changes", daemon.get("/api/v1/jobs/train/pipeline?changes=0").json["verdicts"][0])

    def import_file(self, daemon, path, status=0, producer="spdl=0.8"):
        """Pipes the lines of a file to perfctl. status: of the import. Returns the output of perfctl and the messages of both."""
        lines = spdl_lines(path)
        self.assertEqual(lines.returncode, status, lines.stderr)
        done = self.perfctl(daemon, "submit", "--job", "train", "--producer", producer, "-", stdin=lines.stdout)
        return done.stdout, lines.stderr + done.stderr

    def import_rows(self, daemon, tasks=(), queues=(), events=(), status=0, path=None):
        path = path or os.path.join(self.temporary_directory(), "stats.db")
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS task_stats (id INTEGER PRIMARY KEY, timestamp REAL, name TEXT, num_tasks, num_failures,"
                       " ave_time, p90_time, p99_time)")
            db.execute("CREATE TABLE IF NOT EXISTS queue_stats (id INTEGER PRIMARY KEY, timestamp REAL, name TEXT, elapsed, num_items,"
                       " ave_put_time, ave_get_time, p90_put_time, p99_put_time, p90_get_time, p99_get_time, occupancy_rate)")
            db.execute("CREATE TABLE IF NOT EXISTS event_stats (id INTEGER PRIMARY KEY, timestamp REAL, event_name TEXT)")
            db.executemany("INSERT INTO task_stats VALUES (NULL, ?, ?, ?, ?, ?, 0.2, 0.3)", tasks)
            db.executemany("INSERT INTO queue_stats VALUES (NULL, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?)", queues)
            db.executemany("INSERT INTO event_stats VALUES (NULL, ?, ?)", events)
        return self.import_file(daemon, path, status), path

    def test_a_database_of_spdl_is_imported_once(self):
        daemon = self.begun()
        minutes = range(1, 1501)
        done, path = self.import_rows(daemon, [(BEGIN_S + 60 * m, STAGE, 2400, 2, 0.0995) for m in minutes],
                                      [(BEGIN_S + 60 * m, STAGE + "_queue", 60, 2398, 0.001, 0.0125, 0.5) for m in minutes],
                                      [(BEGIN_S, "gc_start"), (BEGIN_S + 0.5, "gc_stop"), (BEGIN_S + 9, "gc_stop")])
        self.assertEqual(done, ("3001 sent\n", ""))
        for _ in range(2):
            stage = self.stage(daemon)
            self.assertEqual([stage["tasks"][key] for key in ("num_tasks", "num_failures", "intervals")], [3600000, 3000, 1500])
            self.assertAlmostEqual(stage["queue"]["ready_s"], 45000)
            self.assertEqual(daemon.get("/api/v1/jobs/train/pipeline").json["events"], {"count": 1, "seconds": 0.5})
            (_, messages), _ = self.import_rows(daemon, path=path)
            self.assertEqual(messages.count("intervals were stored before"), 1)

    def test_a_file_is_stored_without_merging(self):
        """More intervals than perfctl keeps while perfd is away, faster than one report a second."""
        daemon = self.begun()
        n = 25000
        text = text_of({"stage": f"0:{i % 50}:s{i % 50}", "time": BEGIN_S + i // 50, "elapsed": 1, "num_tasks": 2, "ave_time": 0.1}
                       for i in range(n))
        done = self.perfctl(daemon, "submit", "--job", "train", "-", stdin=text)
        self.assertEqual((done.stdout, done.stderr), (f"{n} sent\n", ""))
        stages = daemon.get("/api/v1/jobs/train/pipeline").json["stages"]
        self.assertEqual({(stage["tasks"]["num_tasks"], stage["tasks"]["intervals"]) for stage in stages}, {(2 * n // 50, n // 50)})

    def test_a_database_of_an_older_spdl_has_no_percentiles_and_no_occupancy(self):
        daemon = self.begun()
        path = os.path.join(self.temporary_directory(), "old.db")
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE task_stats (id INTEGER PRIMARY KEY, timestamp REAL, name TEXT, num_tasks, num_failures, ave_time)")
            db.execute("CREATE TABLE queue_stats (id INTEGER PRIMARY KEY, timestamp REAL, name TEXT, elapsed, num_items, ave_put_time,"
                       " ave_get_time)")
            db.execute("CREATE TABLE event_stats (id INTEGER PRIMARY KEY, timestamp REAL, event_name TEXT)")
            db.execute("INSERT INTO task_stats VALUES (NULL, ?, ?, 240, 0, 0.1)", (BEGIN_S + 60, STAGE))
            db.execute("INSERT INTO queue_stats VALUES (NULL, ?, ?, 60, 240, 0.001, 0.01)", (BEGIN_S + 60, STAGE + "_queue"))
            db.executemany("INSERT INTO event_stats VALUES (NULL, ?, ?)",
                           [(BEGIN_S, "gc_start"), (BEGIN_S + 0.1, "epoch"), (BEGIN_S + 0.5, "gc_stop")])
        self.assertEqual(self.import_file(daemon, path, producer="spdl=0.1"), ("3 sent\n", ""))
        stage = self.stage(daemon)
        self.assertEqual((stage["tasks"]["num_tasks"], stage["queue"]["num_items"], stage["queue"]["readiness_measured_s"]), (240, 240, 0))
        self.assertEqual(daemon.get("/api/v1/jobs/train/pipeline").json["events"], {"count": 1, "seconds": 0.5})

    def test_rows_with_errors_are_named(self):
        daemon = self.begun()
        (_, messages), _ = self.import_rows(daemon, [(BEGIN_S + 60, STAGE, "2400", "0", "0.1"), (BEGIN_S + 120, STAGE, 10, 0, -1),
                                            (BEGIN_S + 180, STAGE, 10, 11, 1), (BEGIN_S + 240, "decode", 10, 0, 1)],
                                   [(BEGIN_S + 60, STAGE, 60, 0, 0, 0, 1.5)], status=1)
        for words in ('task_stats, row 2: "ave_time" is -1', 'task_stats, row 3: "num_failures" is 11', 'task_stats, row 4: "stage"',
                      'queue_stats, row 1: "occupancy_rate" is 1.5'):
            self.assertIn(words, messages)
        self.assertEqual(self.stage(daemon)["tasks"]["num_tasks"], 2400)

    def test_files_that_are_no_database_of_spdl_are_refused(self):
        daemon = self.begun()
        directory = self.temporary_directory()
        _, path = self.import_rows(daemon, [(BEGIN_S + 60 * m, STAGE, 10, 0, 0.1) for m in range(1, 2000)])
        with open(path, "rb") as file:
            content = file.read()
        cases = ((b"no database", "neither a database or a JSON object"), (b"", "nor a log"), (content[:20000], "malformed"))
        for n, (text, words) in enumerate(cases):
            path = os.path.join(directory, str(n))
            with open(path, "wb") as file:
                file.write(text)
            self.assertIn(words, self.import_file(daemon, path, status=1)[1])

    def test_lines_are_stored_and_diagnosed(self):
        daemon = self.begun()
        self.assertEqual(self.perfctl(daemon, "submit", "--job", "train", stdin=text_of(lines(10))).stdout, "30 sent\n")
        again = self.perfctl(daemon, "submit", "--job", "train", stdin=text_of(lines(10)))
        self.assertIn("30 of 30 intervals were stored before", again.stderr)
        stage = self.stage(daemon)
        self.assertEqual((stage["concurrency"], stage["tasks"]["num_tasks"], stage["tasks"]["intervals"]), (4, 24000, 10))
        self.assertAlmostEqual(stage["queue"]["get_wait_s"], 300)
        with daemon.client() as client:
            self.assert_status(client.end("train", 0), "OK")  # the report of a running job changes
        pipeline, = json.loads(self.perfctl(daemon, "show", "--json", "train").stdout)["pipelines"]
        self.assertEqual([pipeline[key] for key in ("job", "limit", "stage", "direction")],
                         ["train", "stage", "decode", "more concurrency"])
        self.assertAlmostEqual(pipeline["wait_share"], 0.5)
        verdict, = daemon.get("/api/v1/jobs/train/pipeline").json["verdicts"]
        self.assertEqual({**verdict, "job": "train"}, pipeline)  # perfctl adds the job only
        self.assertEqual(pipeline["evidence"], [verdict["headline"], f"{verdict['sentence']} {verdict['advice']}"])
        shown = self.perfctl(daemon, "show", "train").stdout
        for words in (verdict["headline"], verdict["sentence"], verdict["advice"], "Confidence: medium."):
            self.assertIn(words, " ".join(shown.split()))
        self.assertRegex(shown, r"(?s)^train, pipeline 0\nThe training loop waited for data 50\.0 % of the time.*\nSTAGE .*\ndecode +4 +99")
        stages = self.perfctl(daemon, "show", "--stages", "train").stdout
        self.assertEqual(stages, "train, pipeline 0\n" + shown[shown.index("STAGE"):])
        report = subprocess.run([str(PERFCTL), "--socket", str(daemon.socket), "report", "train"], text=True, capture_output=True,
                                env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"})
        self.assertIn("Data pipeline\n  The training loop waited for data 50.0 % of the time", report.stdout)
        self.assertIn("Confidence: medium.", report.stdout)
        report, job = json.loads(daemon.perfctl("report", "--json", "train").stdout), daemon.get("/api/v1/jobs/train").json
        self.assertEqual(report["pipelines"], [verdict])
        self.assertEqual(report.keys(), {*job, "pipelines"})
        file = os.path.join(self.temporary_directory(), "train.json")
        pathlib.Path(file).write_text(json.dumps(report))
        page = os.path.join(self.temporary_directory(), "page.html")
        one, merged = (json.loads(daemon.perfctl("report", "--json", "--html", page, *words).stdout)
                       for words in (["train"], ["--all-nodes", file]))
        del one["on"]["time_ms"], report["on"]["time_ms"]  # the clock of the node
        self.assertEqual((one, merged["reports"][0]["pipelines"]), (report, [verdict]))
        self.assertIn('"id":"train"', pathlib.Path(page).read_text())
        self.assertIn("needs a FILE", daemon.perfctl("report", "--json", "--html", "-", "train").stderr)

    def run_beside(self, n_neighbours):
        """Runs a job beside busy processes that are not of it. Returns its diagnosis.

        Beside others it has as many busy processes as its intervals tell of; alone it has one.
        """
        daemon = self.daemon(CONFIG)
        spin = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass\n"
        neighbours = [subprocess.Popen(["python3", "-c", spin.format(60)]) for _ in range(n_neighbours)]
        try:
            work = " & ".join(f"python3 -c '{spin.format(1.5)}'" for _ in range(4 if n_neighbours else 1))
            done = subprocess.run([str(PERFCTL), "--socket", str(daemon.socket), "run", "-q", "--job", "train", "--label", "gpus=2", "--",
                                   "sh", "-c", work + "; wait"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()
        if "job_psi_cpu_some_seconds" not in {metric["key"] for metric in daemon.get("/api/v1/jobs/train").json["metrics"]}:
            self.skipTest("the kernel has no pressure stall information of cgroups here")
        self.perfctl(daemon, "submit", "--job", "train", stdin=text_of(lines(10)))
        found = json.loads(self.perfctl(daemon, "show", "--json", "train").stdout)["pipelines"][0]
        return found, self.perfctl(daemon, "show", "train").stdout

    def test_the_job_is_the_newest_and_is_watched_until_it_ends(self):
        daemon = self.daemon(CONFIG)
        self.assertEqual(daemon.perfctl("job", "begin", "train").returncode, 0)
        watch = subprocess.Popen([str(PERFCTL), "--socket", str(daemon.socket), "pipeline", "show", "--watch", "--interval", "0.1"],
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(watch.stdout.readline(), "job train has no statistics of a data pipeline yet\n")
        self.perfctl(daemon, "submit", "--job", "train", stdin=text_of(lines(10)))
        for words in (["begin", "other"], ["end", "train"]):  # the watched job stays the same
            self.assertEqual(daemon.perfctl("job", *words).returncode, 0)
        output, errors = watch.communicate(timeout=60)
        self.assertEqual((watch.returncode, errors), (0, ""))
        self.assertRegex(output, "train, pipeline 0\nThe training loop waited")
        for words in (["a", "b"], ["--measure", "time", "-"], ["-"]):
            self.assertIn("--watch expects a job", self.perfctl(daemon, "show", "--watch", *words, status=2).stderr)
        self.assertIn("--measure expects a file", self.perfctl(daemon, "show", "--measure", "time", status=2).stderr)

    def test_a_noisy_neighbour_is_named(self):
        found, shown = self.run_beside(3 * os.cpu_count())
        self.assertEqual([found[key] for key in ("limit", "stage", "direction")], ["host", None, "other host"], found)
        self.assertIn("processes outside the job use", shown)
        self.assertIn("(9 GPU-minutes, 12.5 ms per item)", shown)

    def test_a_job_alone_has_no_noisy_neighbour(self):
        found, shown = self.run_beside(0)
        use = re.search(r"processes outside the job use (\S+)", shown)
        if use and float(use.group(1)) >= os.cpu_count() / 4:
            return  # other processes keep the machine busy: then the verdict is right
        self.assertNotEqual(found["limit"], "host", found)

    def test_the_time_to_the_first_batch_is_told(self):
        daemon = self.begun()
        begin_s = daemon.get("/api/v1/jobs/train").json["begin_ms"] / 1000
        first = [{"event": "first_batch", "time": begin_s + after, "seconds": 2.5} for after in (700, 30)]
        self.perfctl(daemon, "submit", "--job", "train", stdin=text_of([*lines(3), *first, {"event": "gc", "seconds": 1}]))
        answer = daemon.get("/api/v1/jobs/train/pipeline").json
        self.assertEqual(answer["events"], {"count": 1, "seconds": 1})
        self.assertEqual(answer["first_batch"]["seconds"], 2.5)
        self.assertIn("The first batch came 32.5 s after the start of the job; the loop waited 2.5 s for it.",
                      " ".join(self.perfctl(daemon, "show", "train").stdout.split()))
        found = json.loads(self.perfctl(daemon, "show", "--json", "train").stdout)["pipelines"][0]
        self.assertAlmostEqual(found["first_batch_seconds"], 32.5, delta=0.01)

    def test_the_wait_of_all_ranks_is_added_up(self):
        daemon = self.begun()
        with daemon.client() as client:
            self.assert_status(client.begin("train-2"), "OK")
        for job in ("train", "train-2"):
            self.perfctl(daemon, "submit", "--job", job, stdin=text_of(lines(10)))
        self.assertIn("The training loops of 2 ranks waited for data for 9 rank-minutes.",
                      self.perfctl(daemon, "show", "train", "train-2").stdout)
        found = json.loads(self.perfctl(daemon, "show", "--json", "train", "train-2").stdout)
        self.assertAlmostEqual(found["rank_seconds_waited"], 540)

    def test_statistics_survive_a_crash_and_continue(self):
        daemon = self.begun()
        everything = list(lines(10))
        self.perfctl(daemon, "submit", "--job", "train", stdin=text_of(everything[:16]))
        before = self.stage(daemon)
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
        daemon.start()
        self.assertEqual(self.stage(daemon), before)
        self.perfctl(daemon, "submit", "--job", "train", stdin=text_of(everything))  # with those that are stored
        self.assertEqual(self.stage(daemon)["tasks"]["num_tasks"], 24000)
        name = f'perfd_job_pipeline_tasks_total{{job="train",pipeline_stage="{STAGE}"}}'
        wait_for(lambda: f"{name} 24000\n" in daemon.get("/metrics").text, "the totals of before the crash")

    def test_a_pipe_outlives_perfd(self):
        """The producer writes on while perfd is away; nothing is lost."""
        daemon = self.begun()
        process = subprocess.Popen([str(PERFCTL), "--socket", str(daemon.socket), "pipeline", "submit", "--job", "train"], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            everything = list(lines(10))
            process.stdin.write(text_of(everything[:4]))
            process.stdin.flush()
            wait_for(lambda: daemon.get("/api/v1/jobs/train/pipeline").json["stages"], "the first statistics")
            daemon.stop()
            process.stdin.write(text_of(everything[4:]))
            process.stdin.flush()
            self.assertIn("kept until perfd accepts them", process.stderr.readline())
            daemon.start()
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
        self.assertEqual((process.returncode, output), (0, "30 sent\n"), errors)
        self.assertEqual(self.stage(daemon)["tasks"]["num_tasks"], 24000)

    def test_invalid_lines_are_reported_and_the_others_are_stored(self):
        daemon = self.begun()
        bad = ['{"stage": "decode", "num_tasks": 1}', '{"stage": "1:a", "num_tasks": -3}', "no JSON", '{"stage": "1:a", "num_ta']
        text = bad[0] + "\n" + bad[1] + "\n" + text_of(lines(1)) + bad[2] + "\n" + bad[3]
        done = self.perfctl(daemon, "submit", "--job", "train", stdin=text, status=1)
        self.assertEqual(done.stdout, "3 sent\n")
        for words in ("standard input:1: \"stage\"", "standard input:2: \"num_tasks\" is -3", "standard input:7:1: ",
                      "standard input:8:25: "):
            self.assertIn(words, done.stderr)
        self.assertEqual(self.stage(daemon)["tasks"]["num_tasks"], 2400)

    def test_a_line_that_is_too_long_is_reported_once(self):
        """The second is complete and longer than the limit; the first does not fit into memory at once."""
        daemon = self.begun()
        long = '{"stage": "1:a", "text": "' + "x" * 1_500_000 + '"}\n'
        done = self.perfctl(daemon, "submit", "--job", "train", stdin="z" * 8_000_000 + "\n" + long + text_of(lines(1)), status=1)
        self.assertEqual(done.stdout, "3 sent\n")
        self.assertEqual(done.stderr.splitlines(), [f"perfctl: standard input:{i}: the line has more than 1 MiB" for i in (1, 2)])

    def test_a_job_that_is_missing_or_of_another_user_is_refused(self):
        daemon = self.begun()
        done = self.perfctl(daemon, "submit", "--job", "never", stdin=text_of(lines(1)), status=1)
        self.assertIn("no such job on this node", done.stderr)
        done = self.perfctl(daemon, "submit", stdin=text_of(lines(1)), status=1)
        self.assertIn("not inside a perfd job", done.stderr)
        done = self.perfctl(daemon, "show", "train", status=1)
        self.assertIn("no statistics of a data pipeline", done.stderr)

    def test_stages_beyond_the_limit_are_counted(self):
        daemon = self.begun()
        text = text_of({"stage": f"0:{i % 2400}:s{i % 2400}", "time": BEGIN_S + i // 2400, "num_tasks": 1, "ave_time": 1}
                       for i in range(4800))
        done = self.perfctl(daemon, "submit", "--job", "train", stdin=text, status=1)
        self.assertEqual(done.stdout, "4800 sent, 2000 stored, 2800 refused\n")
        self.assertIn("are not stored: a job may have up to 1000 stages", done.stderr)
        self.assertEqual(len(daemon.get("/api/v1/jobs/train/pipeline").json["stages"]), 1000)
        done = self.perfctl(daemon, "submit", "--json", "--job", "train", stdin=text, status=1)
        self.assertEqual(json.loads(done.stdout), {"sent": 4800, "refused": 2800, "refused_lines": 0, "lost": 0})

    def test_a_report_of_an_ended_job_is_stored(self):
        daemon = self.begun()
        with daemon.client() as client:
            self.assert_status(client.end("train", 0), "OK")
        self.perfctl(daemon, "submit", "--job", "train", stdin=text_of(lines(2)))
        self.assertEqual(self.stage(daemon)["tasks"]["num_tasks"], 4800)

    def test_intervals_and_events_as_json_and_csv(self):
        daemon = self.begun()
        events = [{"event": "gc", "time": BEGIN_S + i, "seconds": 0.25} for i in range(3)]
        self.perfctl(daemon, "submit", "--job", "train", stdin=text_of([*lines(3), *events]))
        path = "/api/v1/jobs/train/pipeline"
        answer = daemon.get(f"{path}/intervals?stage=0:1:decode%5B4%5D").json
        self.assertEqual([(i["part"], i["end_ms"]) for i in answer["intervals"]],
                         [("tasks", 1000 * (BEGIN_S + 60 * i)) for i in (1, 2, 3)] +
                         [("queue", 1000 * (BEGIN_S + 60 * i) + 500) for i in (1, 2, 3)])
        rows = list(csv.DictReader(io.StringIO(daemon.get(f"{path}/intervals?format=csv").text)))
        self.assertEqual(len(rows), 9)
        self.assertEqual({row["qps"] for row in rows if row["part"] == "queue"}, {"40"})
        self.assertEqual([e["seconds"] for e in daemon.get(f"{path}/events").json["events"]], [0.25] * 3)
        self.assertEqual(daemon.get(path).json["events"], {"count": 3, "seconds": 0.75})
        self.assertEqual(daemon.get(path).json["description"]["threads"], 16)

    def test_a_long_list_of_intervals_has_pages(self):
        daemon = self.begun()
        n_stages, n_reports = 100, 120
        with daemon.client() as client:
            for k in range(n_reports):
                request = client.request()
                request.pipeline_report.job, request.pipeline_report.producer = "train", "test 1"
                for i in range(n_stages):
                    stage = request.pipeline_report.stages.add(stage=f"0:{i}:stage{i}[4]", time_ms=1000 * (BEGIN_S + k))
                    stage.tasks.elapsed, stage.tasks.num_tasks, stage.tasks.ave_time = 1, 10, 0.01
                self.assert_status(client.call(request), "OK")
        path, seen, page, n_pages = "/api/v1/jobs/train/pipeline/intervals", [], "", 0
        while page is not None:
            answer = daemon.get(path + (f"?page={page}" if page else ""))
            text = daemon.get(path + "?format=csv" + (f"&page={page}" if page else ""))
            self.assertLess(len(answer.body), 5 << 20)
            rows = [(i["stage"], i["end_ms"]) for i in answer.json["intervals"]]
            self.assertEqual([(i["stage"], int(i["end_ms"])) for i in csv.DictReader(io.StringIO(text.text))], rows)
            seen, page, n_pages = seen + rows, answer.json["next"], n_pages + 1
            self.assertEqual(answer.json["truncated"], page is not None)
            self.assertEqual(text.headers.get("perfd-next-page"), page)
        self.assertGreater(n_pages, 1)
        self.assertEqual(len(seen), n_stages * n_reports)
        self.assertEqual(len(set(seen)), len(seen))
        self.assertEqual(seen, sorted(seen))

    def test_a_report_over_the_socket(self):
        daemon = self.begun()
        with daemon.client() as client:
            request = client.request()
            report = request.pipeline_report
            report.job, report.producer = "train", "test 1"
            stage = report.stages.add(stage="3:sink", time_ms=1000 * BEGIN_S)
            stage.queue.elapsed, stage.queue.num_items, stage.queue.ave_get_time = 10, 5, 1
            self.assert_status(client.call(request), "OK")
            self.assert_status(client.call(request), "DUPLICATE")
            stage.queue.elapsed = -1
            reply = client.call(request)
            self.assert_status(reply, "INVALID")
            self.assertEqual(reply.path, "pipeline_report.stages[0].queue.elapsed")
        self.assertEqual(self.stage(daemon, "sink")["queue"]["num_items"], 5)


if __name__ == "__main__":
    unittest.main()
