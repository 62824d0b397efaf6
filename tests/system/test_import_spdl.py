"""Checks python3 -m perfd_spdl import with exports as JSON and with logs of SPDL; test_pipelines checks databases."""

import json
import os
import pathlib
import types

import harness
from harness import ROOT, spdl_lines

CONFIG = "[sampling]\ninterval = 100ms\n"
DATA = ROOT / "tests" / "data" / "pipelines"
BEGIN_S = 1764000000
VERDICT = ("limit", "stage", "direction", "confidence")


def columns(minutes, time="{}_timestamp", queue="{}_queue", put="_ave_put_time", get="_ave_get_time"):
    """A pipeline whose stage decode is always busy, in one of the dialects of SPDL's exports."""
    ends = [BEGIN_S + 60 * minute for minute in range(1, minutes + 1)]
    lists = {}

    def add(name, values):
        lists.setdefault(name, [value + minute * 1e-4 for minute, value in enumerate([values] * minutes)])

    for stage, put_s, get_s, ready in (("0:0:src", 0.02, 0.00001, 0.9), ("0:1:decode[4]", 0.0001, 0.0125, 0.4)):
        label = queue.format(stage)
        lists[label + "_num_items"] = [2400] * minutes
        lists[label + "_qps"] = [40.0] * minutes
        add(label + put, put_s)
        add(label + get, get_s)
        add(label + "_occupancy_rate", ready)
        lists[time.format(label)] = ends
    lists["0:1:decode[4]_num_tasks"] = [2400] * minutes
    lists["0:1:decode[4]_num_failures"] = [0, 24] + [0] * (minutes - 2)
    add("0:1:decode[4]_ave_time", 0.0995)
    lists[time.format("0:1:decode[4]")] = ends
    return lists


def log_line(part, time, stage, *numbers):
    prefix = f"{time} [INFO] spdl: " if time else ""
    if part == "tasks":
        return (f"{prefix}[{stage}]\tCompleted {numbers[0]:5d} tasks ({numbers[1]:3d} failed). Ave task time: {numbers[2]:6.1f} [ ms]. "
                "P90:   11.0 [ ms]. P99:   12.0 [ ms].\n")
    items, elapsed, put, get, ready = numbers
    return (f"{prefix}[{stage}_queue]\tProcessed {items:5d} items in {elapsed:6.1f} [sec] (QPS: {items / elapsed:6.1f}) Ave wait time: "
            f"put: {put:6.1f} [ ms], get (by next stage): {get:6.1f} [ ms]. P90: put:    1.0 [ ms], get:    2.0 [ ms]. "
            f"P99: put:    3.0 [ ms], get:    4.0 [ ms]. Occupancy rate: {ready}%\n")


class ImportSpdl(harness.TestCase):
    def begun(self, *jobs):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            for job in jobs or ("train",):
                self.assert_status(client.begin(job), "OK")
        return daemon

    def file(self, text, name="stats"):
        path = os.path.join(self.temporary_directory(), name)
        pathlib.Path(path).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return path

    def imported(self, daemon, path, *words, job="train", producer="", status=0, stdin="", **environment):
        """Pipes the lines of a file to perfctl. status: of the import. Returns the output of perfctl and the messages of both."""
        lines = spdl_lines(*words, path, stdin=stdin, **environment)
        self.assertEqual(lines.returncode, status, lines.stderr)
        done = daemon.perfctl("pipeline", "submit", "--job", job, *(["--producer", producer] if producer else []), "-", stdin=lines.stdout)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return types.SimpleNamespace(stdout=done.stdout, stderr=lines.stderr + done.stderr)

    def stages(self, daemon, job="train"):
        return {stage["stage"]: stage for stage in daemon.get(f"/api/v1/jobs/{job}/pipeline").json["stages"]}

    def intervals(self, daemon, stage, part):
        intervals = daemon.get(f"/api/v1/jobs/train/pipeline/intervals").json["intervals"]
        return [interval for interval in intervals if (interval["stage"], interval["part"]) == (stage, part)]

    def verdicts(self, daemon, job, path):
        """Returns the verdicts about a job and about the lines of a file."""
        done = daemon.perfctl("pipeline", "show", "--json", "--producer", "spdl=0.8", job, "-", stdin=spdl_lines(path, TZ="UTC").stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["pipelines"]

    def test_an_export_has_the_verdict_of_the_file(self):
        """Dialects: SPDL 0.8; SPDL 0.6, in which the queue's name has no suffix; a shared clock with put and get; numbers as texts."""
        texts = {name: [str(value) for value in values] for name, values in columns(5, time="event_time").items()}
        dialects = {"0.8": columns(5), "0.6": columns(5, queue="{}"), "prefix": {f"pipeline:{k}": v for k, v in columns(5).items()},
                    "shared": columns(5, "event_time", put="_put", get="_get"), "texts": texts,
                    "rates": {name: values for name, values in texts.items() if "num_items" not in name}}
        daemon = self.begun(*dialects)
        numbers = []
        for name, lists in dialects.items():
            with self.subTest(name):
                path = self.file(lists)
                done = self.imported(daemon, path, producer="spdl=0.8", job=name)
                self.assertEqual((done.stdout, done.stderr), ("15 sent\n", ""))
                again = self.imported(daemon, path, producer="spdl=0.8", job=name)
                self.assertIn("15 of 15 intervals were stored before", again.stderr)
                stage = self.stages(daemon, name)["0:1:decode[4]"]
                self.assertEqual([stage["tasks"][key] for key in ("num_tasks", "num_failures", "intervals")], [12000, 24, 5])
                self.assertEqual((stage["queue"]["num_items"], stage["queue"]["elapsed_s"]), (12000, 300))
                self.assertAlmostEqual(stage["queue"]["ready_s"], 60 * (5 * 0.4 + 10e-4))
                numbers.append([stage["tasks"], stage["queue"]])
                of_job, of_file = self.verdicts(daemon, name, path)
                self.assertEqual([of_job[key] for key in VERDICT], ["stage", "decode", "more concurrency", "medium"])
                self.assertEqual([of_job[key] for key in VERDICT], [of_file[key] for key in VERDICT])
                self.assertAlmostEqual(of_job["wait_share"], of_file["wait_share"])
                self.assertEqual(len(of_job["stages"]), len(of_file["stages"]))
                for got, expected in zip(of_job["stages"], of_file["stages"]):
                    self.assertEqual(list(got), list(expected))
                    for key, value in expected.items():
                        self.assertAlmostEqual(got[key], value, places=9) if isinstance(value, float) else self.assertEqual(got[key], value)
                self.assertIn("decode", daemon.perfctl("pipeline", "show", name).stdout)
        self.assertEqual(numbers, numbers[:1] * len(dialects))

    def test_rows_of_an_export_with_errors_are_named(self):
        daemon = self.begun()
        lists = columns(5)
        lists["0:1:decode[4]_ave_time"][1] = -1
        lists["0:1:decode[4]_ave_time"][2] = "slow"
        lists["0:1:decode[4]_num_tasks"][3] = None
        lists["0:1:decode[4]_queue_occupancy_rate"][4] = 1.5
        path = self.file(lists)
        done = self.imported(daemon, path, status=1)
        for words in ("left out 1 interval ", "stage '0:1:decode[4]', tasks, interval 2: \"ave_time\" is -1",
                      "stage '0:1:decode[4]', tasks, interval 3: \"ave_time\" is 'slow', expected a number",
                      "stage '0:1:decode[4]', queue, interval 5: \"occupancy_rate\" is 1.5"):
            self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "11 sent\n")
        self.assertEqual(self.stages(daemon)["0:1:decode[4]"]["tasks"]["num_tasks"], 4800)
        for text, words in (("{]", f"{path}:1:2: "), ("{}", "no member is a stage"), ({"1:a_qps": 1}, "expected a list"),
                            ({"1:work_qps": [1], "1:work_queue_qps": [1]}, "a second list of these values"), ("", "nor a log"),
                            ('{"1:a_num_tasks": [1, 2], "1:a_ave_time": [1]}', "stage '1:a', tasks: the lists have 2 and 1 values"),
                            ("{}{}", f"{path}:1:3: Extra data; expected one JSON object"),
                            ("Processed 5 items in 1.0 [sec]\n] Completed 5 tasks (0 failed)\n", "neither a database or a JSON object")):
            pathlib.Path(path).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
            self.assertIn(words, self.imported(daemon, path, status=1).stderr)
        self.assertIn("a database must be a file, not a pipe", self.imported(daemon, "-", status=1, stdin="SQLite format 3\0").stderr)
        self.assertIn("No such file", self.imported(daemon, path + "x", status=1).stderr)

    def test_an_export_without_times_needs_the_begin(self):
        daemon = self.begun()
        lists = {name: values for name, values in columns(3).items() if "_timestamp" not in name}
        text = json.dumps(lists)
        done = self.imported(daemon, "-", stdin=text, status=1)
        self.assertIn("standard input: stage '0:0:src', queue, interval 1: no date and time: ", done.stderr)
        self.assertIn('a list "event_time"', done.stderr)
        self.assertIn("--begin", done.stderr)
        self.assertIn("--begin: expects a date and time", self.imported(daemon, "-", "--begin", "noon", status=2).stderr)
        for _ in range(2):
            done = self.imported(daemon, "-", "--begin", "2025-11-24T16:00:00Z", stdin=text)
            for part in ("tasks", "queue"):
                ends = [interval["end_ms"] for interval in self.intervals(daemon, "0:1:decode[4]", part)]
                self.assertEqual(ends, [1000 * (BEGIN_S + 60 * minute) for minute in (1, 2, 3)])
        self.assertIn("9 of 9 intervals were stored before", done.stderr)

    # --- logs ------------------------------------------------------------------------------------

    def test_the_log_of_a_real_pipeline(self):
        """The log has three intervals and the totals of the run: the totals are kept exactly, with the last interval."""
        daemon = self.begun()
        lines = (DATA / "spdl_0.8_exact_queues.log").read_text().splitlines(True)
        running = self.file("".join(lines[:20]), "running.log")  # the log as it was when the run went on
        self.imported(daemon, running, producer="spdl=0.8", TZ="UTC")
        before = self.intervals(daemon, "0:1:decode[4]", "queue")
        done = self.imported(daemon, str(DATA / "spdl_0.8_exact_queues.log"), producer="spdl=0.8", TZ="UTC")
        self.assertIn("20 of ", done.stderr)
        again = self.imported(daemon, str(DATA / "spdl_0.8_exact_queues.log"), producer="spdl=0.8", TZ="UTC")
        self.assertRegex(again.stderr, r"(\d+) of \1 intervals were stored before")

        stage = self.stages(daemon)["0:1:decode[4]"]
        self.assertEqual((stage["tasks"]["num_tasks"], stage["queue"]["num_items"]), (800, 693))
        self.assertAlmostEqual(stage["queue"]["elapsed_s"], 4.5, delta=0.001)
        self.assertAlmostEqual(stage["tasks"]["success_s"], 800 * 0.0216, places=6)
        self.assertAlmostEqual(stage["queue"]["get_wait_s"], 693 * 0.0063, places=6)
        for stage in self.stages(daemon).values():
            for part in ("tasks", "queue"):
                if stage[part]:
                    total = 4.4 if stage["name"] == "src" else 4.5
                    self.assertAlmostEqual(stage[part]["elapsed_s"] or total, total, delta=0.001)
        queue = self.intervals(daemon, "0:1:decode[4]", "queue")
        self.assertEqual(queue[:len(before)], before)
        self.assertEqual([interval["num_items"] for interval in queue][-1], 693 - sum(i["num_items"] for i in queue[:-1]))
        self.assertEqual(queue[0]["end_ms"], 1795410757736)  # 2026-11-23 05:12:37,736
        self.assertEqual([round(1e6 * queue[0][key], 1) for key in ("p90_put_time", "p90_get_time")], [14.7, 18500])
        of_job, of_file = self.verdicts(daemon, "train", DATA / "spdl_0.8_exact_queues.log")
        self.assertEqual([of_job[key] for key in VERDICT], ["stage", "decode", "more concurrency", "medium"])
        self.assertEqual([of_job[key] for key in (*VERDICT, "next_stage")], [of_file[key] for key in (*VERDICT, "next_stage")])

    def test_totals_are_told_from_intervals(self):
        """Cases: logged lines of a queue as (end, items, seconds), and the intervals that are stored."""
        cases = (("intervals of the same length", [(60, 100, 60), (120, 100, 60.2), (180, 100, 60)], [100, 100, 100]),
                 ("totals after one interval", [(60, 100, 60), (70, 120, 70)], [100, 20]),
                 ("a run that ends with an interval", [(60, 100, 60), (120, 90, 60), (120, 190, 120)], [100, 90]),
                 ("totals alone", [(300, 500, 300)], [500]),
                 ("two runs", [(60, 100, 60), (70, 120, 70), (160, 50, 60), (220, 60, 60), (240, 120, 140)], [100, 20, 50, 60, 10]),
                 ("a slow start", [(60, 0, 60), (120, 5, 60), (180, 80, 60), (240, 90, 60)], [0, 5, 80, 90]),
                 ("a stalled end", [(60, 100, 60), (120, 100, 60), (160, 200, 160)], [100, 100, 0]))
        daemon = self.begun()
        for n, (name, lines, expected) in enumerate(cases):
            with self.subTest(name):
                stage = f"{n}:1:work[2]"
                text = "".join(log_line("tasks", f"2026-11-23T05:{end // 60:02}:{end % 60:02}.{n}00Z", stage, items, 0, 10) +
                               log_line("queue", f"2026-11-23T05:{end // 60:02}:{end % 60:02}.{n}01Z", stage, items, seconds, 1, 2, 50)
                               for end, items, seconds in lines)
                self.imported(daemon, self.file(text))
                self.assertEqual([i["num_items"] for i in self.intervals(daemon, stage, "queue")], expected)
                tasks = [i["num_tasks"] for i in self.intervals(daemon, stage, "tasks")]
                self.assertEqual([count for count in tasks if count], [count for count in expected if count])

    def test_lines_with_the_same_time(self):
        """A line that two handlers log is one interval; other lines of the same second are intervals of their own."""
        daemon = self.begun()
        lines = [log_line("queue", f"2026-11-23 05:12:{second:02}", "0:1:work", items, 0.5, 1, 2, 50)
                 for second, items in ((1, 5), (1, 6), (2, 5), (2, 5), (2, 7))]
        lines.append(log_line("queue", "2026-11-23 05:12:03", "0:1:work", 30, 2.5, 1, 2, 50))
        for _ in range(2):
            self.imported(daemon, self.file("".join(line * 2 for line in lines)), TZ="UTC")
            intervals = self.intervals(daemon, "0:1:work", "queue")
            self.assertEqual([interval["num_items"] for interval in intervals], [5, 6, 5, 7, 7])  # and not twice 5 at 05:12:02
            self.assertEqual([interval["end_ms"] % 10000 for interval in intervals], [1000, 1001, 2000, 2001, 3000])

    def test_a_log_without_times_needs_the_begin(self):
        daemon = self.begun()
        lines = [log_line("queue", "", "0:0:src", 100, 60, 1, 2, 90), "epoch 1\n", log_line("tasks", "", "0:1:work", 100, 1, 10),
                 log_line("queue", "", "0:1:work", 99, 60, 1, 2, 50)] * 2
        path = self.file("epoch 0\n" + "".join(lines))
        done = self.imported(daemon, path, status=1)
        self.assertIn(f"{path}:2: no date and time: before the stage", done.stderr)
        self.assertIn("--begin", done.stderr)
        for _ in range(2):
            done = self.imported(daemon, path, "--begin", "2025-11-24 18:00:00,000", TZ="Etc/GMT-2")
            for part, count in (("tasks", "num_tasks"), ("queue", "num_items")):
                self.assertEqual([(i["end_ms"], i[count]) for i in self.intervals(daemon, "0:1:work", part)],
                                 [(1000 * (BEGIN_S + end), 100 if part == "tasks" else 99) for end in (60, 120)])
        self.assertIn("6 of 6 intervals were stored before", done.stderr)
        lonely = self.file(log_line("tasks", "", "0:1:work", 100, 1, 10))
        self.assertIn(":1: the tasks have no time, and no interval of their queue",
                      self.imported(daemon, lonely, "--begin", "2025-11-24 16:00:00", status=1).stderr)

    def test_bad_lines_of_a_log_are_named(self):
        daemon = self.begun()
        time = "2026-11-23 05:12:37,735"
        cut = log_line("tasks", time.replace("37", "38"), "0:1:work", 5, 1, 10)[:90] + "\n"
        text = (log_line("queue", time, "0:1:work", 99, 60, 1, 2, 150) + log_line("tasks", time, "0:1:work", 5, 6, 10) + cut +
                log_line("tasks", time, "0:2:next", 5, 1, 10))
        path = self.file(text)
        done = self.imported(daemon, path, status=1)
        for words in (f'{path}:1: "occupancy_rate" is 1.5', f'{path}:2: "num_failures" is 6 of 5 tasks',
                      "left out 1 interval "):
            self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "1 sent\n")

    def test_the_intervals_of_a_job_are_an_export(self):
        """The intervals that perfd returns as JSON, as lists for each stage, have the numbers of the job."""
        daemon = self.begun("train", "copy")
        self.imported(daemon, str(DATA / "spdl_0.8_slow_stage.json"), producer="spdl=0.8")
        export = {}
        for interval in daemon.get("/api/v1/jobs/train/pipeline/intervals").json["intervals"]:
            is_queue = interval["part"] == "queue"
            label = interval["stage"] + ("_queue" if is_queue else "")
            for key in (("qps", "num_items", "occupancy_rate", "ave_put_time", "ave_get_time") if is_queue else
                        ("num_tasks", "num_failures", "ave_time")):
                export.setdefault(f"{label}_{key}", []).append(interval[key])
            export.setdefault(f"{label}_timestamp", []).append(interval["end_ms"] / 1000)
        self.assertEqual(self.imported(daemon, self.file(export), producer="spdl=0.8", job="copy").stderr, "")
        original, copy = self.stages(daemon), self.stages(daemon, "copy")
        self.assertEqual(list(copy), list(original))
        for label, stage in original.items():
            for part in ("tasks", "queue"):
                for key, value in (stage[part] or {}).items():
                    if isinstance(value, (int, float)):
                        with self.subTest(stage=label, part=part, key=key):
                            self.assertAlmostEqual(copy[label][part][key], value, delta=1e-9 + 1e-9 * abs(value))
