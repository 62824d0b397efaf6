"""Checks the output of perfctl in perf.py's formats: the list of metrics for MLflow and the artifact with samples."""

import itertools
import json
import os
import time

from harness import Machine, ROOT, TestCase, judges_the_machine, wait_for

EIGHTEEN = ["max_t_cpu_pct_per_cpu_avg", "cpu_avg_utilization_pct", "cpu_avg_utilization_at100_pct", "cpu_avg_utilization_over80_pct",
            "cpu_avg_utilization_over40_pct", "cpu_avg_utilization_over20_pct", "max_t_cpu_pct_per_cpu_min", "max_t_cpu_pct_per_cpu_max",
            "node_cpu_hours", "node_unused_cpu_hours", "max_t_mem_percent", "max_t_disk_usage_percent", "total_disk_io_read_mb",
            "total_disk_io_write_mb", "total_net_io_lo_sent_mb", "total_net_io_ext_sent_mb", "total_net_io_lo_recv_mb",
            "total_net_io_ext_recv_mb"]
FIELDS = ["cpu_pct_per_cpu_avg", "cpu_pct_per_cpu_min", "cpu_pct_per_cpu_max", "mem_percent", "disk_usage_percent", "disk_io_read_mb",
          "disk_io_write_mb", "net_io_lo_sent_mb", "net_io_ext_sent_mb", "net_io_lo_recv_mb", "net_io_ext_recv_mb", "timestamp"]


class WithJob(TestCase):
    """Creates a job of rank 2 with observations."""

    def setUp(self):
        super().setUp()
        self.running = self.daemon("[sampling]\ninterval = 100ms\n")
        with self.running.client() as client:
            self.assert_status(client.begin("train-17", rank=2), "OK")
            for _ in range(5):
                self.running.wait_tick()
            self.assert_status(client.end("train-17", 0), "OK")
        self.job = self.running.get("/api/v1/jobs/train-17").json
        self.metric = {metric["key"]: metric["value"] for metric in self.job["metrics"]}
        self.compat = {metric["key"]: metric["value"] for metric in self.job["compat"]}

    def ask(self, *words, status=0):
        done = self.running.perfctl(*words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done


class List(WithJob):
    def list(self, *words):
        done = self.ask("metrics", "--mlflow", *words)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def test_every_metric_of_a_job_has_its_rank_as_step(self):
        metrics = self.list("--job", "train-17")
        self.assertEqual([(m["key"], m["value"], m["timestamp"], m["step"]) for m in self.job["metrics"]],
                         [(m["key"], m["value"], m["timestamp"], m["step"]) for m in metrics])
        self.assertEqual({(*sorted(m), m["step"], m["timestamp"]) for m in metrics},
                         {("key", "step", "timestamp", "value", 2, self.job["end_ms"])})
        self.assertTrue(set(EIGHTEEN) <= {m["key"] for m in metrics})

    def test_compat_is_perf_pys_eighteen_in_its_order(self):
        metrics = self.list("--job", "train-17", "--as", "perf.py")
        self.assertEqual([m["key"] for m in metrics], EIGHTEEN)
        self.assertEqual({m["key"]: m["value"] for m in metrics}, self.compat)

    def test_raw_names_are_those_before_perf_py_changed_them(self):
        keys = [m["key"] for m in self.list("--job", "train-17", "--as", "perf.py", "--names", "raw")]
        self.assertEqual([key.replace("(", "").replace(")", "") for key in keys], EIGHTEEN)
        self.assertEqual(sum("(" in key for key in keys), 4)

    def test_a_prefix_is_cleaned_and_cut_with_the_name(self):
        keys = [m["key"] for m in self.list("--job", "train-17", "--as", "perf.py", "--prefix", "größe (of it)/")]
        self.assertEqual(keys, [("gre of it/" + key)[:50] for key in EIGHTEEN])

    def test_names_that_become_equal_are_reported_and_kept(self):
        done = self.ask("metrics", "--mlflow", "--as", "perf.py", "--job", "train-17",
                        "--prefix", "a-prefix-of-forty-characters-and-no-more/")
        keys = [m["key"] for m in json.loads(done.stdout)]
        self.assertEqual(len(keys), 18)
        self.assertIn(f"{len(keys) - len(set(keys))} names are duplicates", done.stderr)
        self.assertIn("'a-prefix-of-forty-characters-and-no-more/cpu_avg_u' first", done.stderr)

    def test_the_node_has_a_list_too(self):
        metrics = self.list()
        self.assertTrue(set(EIGHTEEN) <= {m["key"] for m in metrics})
        self.assertEqual({m["step"] for m in metrics}, {0})

    @judges_the_machine
    def test_all_ranks_are_one_list(self):
        with self.running.client() as client:
            self.assert_status(client.begin("train-17.3", rank=3), "OK")
            self.assert_status(client.begin("train-17.4", rank=4), "OK")
            self.running.wait_tick()
            self.assert_status(client.end("train-17.3", 0), "OK")
            self.assert_status(client.end("train-17.4", 0), "OK")
        path = self.temporary_directory() / "node2.json"
        path.write_text(self.ask("report", "--json", "train-17.4").stdout)
        alone = [self.list("--as", "perf.py", "--job", job) for job in ("train-17.3", "train-17.4")]
        together = self.list("--as", "perf.py", "--all-ranks", path, "train-17.3")
        self.assertEqual(together, alone[0] + alone[1])
        self.assertEqual([m["step"] for m in together], [3] * 18 + [4] * 18)
        report = json.loads(path.read_text())
        path.write_text(json.dumps({**report, "id": "train-17.03", "rank": 3}))
        self.assertIn("same rank", self.ask("metrics", "--mlflow", "--all-ranks", "train-17.3", path, status=1).stderr)
        self.assertIn("requires --mlflow", self.ask("metrics", "--all-ranks", "train-17.3", status=2).stderr)
        self.assertIn("requires the jobs or files", self.ask("metrics", "--mlflow", "--all-ranks", status=2).stderr)
        self.ask("metrics", "train-17.3", "train-17.4", status=2)

    def test_wrong_usage(self):
        for words, text in ((("--as", "perf.py",), "--as requires --mlflow"), (("--prefix", "a"), "--prefix requires --mlflow"),
                            (("--names", "raw"), "--names requires --mlflow"), (("--mlflow", "--names", "row"), "sanitised or raw"),
                            (("--mlflow", "--prefix", "x" * 201), "--prefix is longer than 200 bytes"),
                            (("--mlflow", "--prefix", "/x/"), "makes the name '/x/max_t_cpu_pct_per_cpu_avg', which MLflow rejects"),
                            (("--mlflow", "--prefix", "a/../"), "which MLflow rejects")):
            done = self.ask("metrics", *words, status=2)
            self.assertEqual(done.stdout, "")
            self.assertIn(text, done.stderr)


def reference(samples, reporting_s, cpus):
    """What perf.py's plotter computes from the samples of one node, by its formulas."""
    column = lambda field: [sample[field] for sample in samples]
    cpu = column("cpu_pct_per_cpu_avg")
    share = lambda threshold: 100 * sum(u >= threshold for u in cpu) / len(cpu)
    mean = sum(cpu) / len(cpu)
    hours = (reporting_s - samples[0]["timestamp"]) * cpus / 3600
    values = [max(cpu), mean, share(100), share(80), share(40), share(20), max(column("cpu_pct_per_cpu_min")),
              max(column("cpu_pct_per_cpu_max")), hours, hours * (100 - mean) / 100, max(column("mem_percent")),
              max(column("disk_usage_percent"))]
    counters = ["disk_io_read_mb", "disk_io_write_mb", "net_io_lo_sent_mb", "net_io_ext_sent_mb", "net_io_lo_recv_mb", "net_io_ext_recv_mb"]
    values += [max(column(counter)) for counter in counters]
    assert len(values) == len(EIGHTEEN)
    return dict(zip(EIGHTEEN, values))


class Artifact(WithJob):
    def export(self, *words):
        done = self.ask("metrics", "--samples", "train-17", *words)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def samples(self, *words):
        report = json.loads(self.export(*words))
        self.assertEqual(list(report), ["2"])
        self.assertEqual({tuple(sample) for sample in report["2"]}, {tuple(FIELDS)})
        return report["2"]

    def column(self, samples, field):
        return [sample[field] for sample in samples]

    def test_the_format_is_that_of_pythons_json(self):
        for words in ((), ("--as", "perf.py",)):
            text = self.export(*words)
            self.assertEqual(json.dumps(json.loads(text), indent=4), text)

    @judges_the_machine
    def test_perf_pys_formulas_give_the_jobs_numbers(self):
        """With --as perf.py, the eighteen metrics computed from the samples are those that perfd computed from all observations."""
        cpus = self.running.metrics()["perfd_node_cpus"]
        computed = reference(self.samples("--as", "perf.py"), self.job["end_ms"] / 1000, cpus)
        for key, value in computed.items():
            self.assertAlmostEqual(value, self.compat[key], delta=1e-6 if "hours" not in key else 1e-3 * cpus / 3600 * 2, msg=key)

    def test_maxima_of_the_artifact_equal_the_jobs_metrics(self):
        samples = self.samples()
        self.assertGreater(len(samples), 2)
        for field, key in (("cpu_pct_per_cpu_min", "max_t_cpu_pct_per_cpu_min"), ("cpu_pct_per_cpu_max", "max_t_cpu_pct_per_cpu_max"),
                           ("disk_io_read_mb", "total_disk_io_read_mb"), ("disk_io_write_mb", "total_disk_io_write_mb"),
                           ("net_io_lo_sent_mb", "total_net_io_lo_sent_mb"), ("net_io_ext_sent_mb", "total_net_io_ext_sent_mb"),
                           ("net_io_lo_recv_mb", "total_net_io_lo_recv_mb"), ("net_io_ext_recv_mb", "total_net_io_ext_recv_mb")):
            self.assertAlmostEqual(max(self.column(samples, field)), self.metric[key], delta=1e-5, msg=field)
        for field, key in (("mem_percent", "max_t_mem_percent"), ("disk_usage_percent", "max_t_disk_usage_percent")):
            self.assertLessEqual(max(self.column(samples, field)), self.metric[key] + 1e-5) # the gauges at the start count for the job
        self.assertLessEqual(max(self.column(samples, "cpu_pct_per_cpu_avg")), self.metric["max_t_cpu_pct_per_cpu_avg"] + 1e-5)

    @judges_the_machine
    def test_time_and_counters_never_go_back(self):
        for words in ((), ("--as", "perf.py",)):
            samples = self.samples(*words)
            for field in FIELDS[5:]:
                column = self.column(samples, field)
                self.assertEqual(column, sorted(column), field)
            times = self.column(samples, "timestamp")
            self.assertGreater(times[0], self.job["begin_ms"] / 1000)
            self.assertLessEqual(times[-1], self.job["end_ms"] / 1000)
            self.assertGreater(times[-1], self.job["end_ms"] / 1000 - 0.1)

    def test_a_running_job_and_a_short_one(self):
        names = (f"short{number}" for number in itertools.count())

        # A job that a tick of the clock fell into has numbers of all fields.
        def a_short_job():
            short = next(names)
            with self.running.client() as client:
                self.assert_status(client.begin(short), "OK")
                self.assert_status(client.end(short, 0), "OK")
            done = self.running.perfctl("metrics", "--samples", "--as", "perf.py", short)
            self.assertTrue(done.returncode == 0 or "without --as perf.py" in done.stderr, done.stderr)
            return short if done.returncode == 1 else None

        short = wait_for(a_short_job, "a job between two samples")
        with self.running.client() as client:
            self.assert_status(client.begin("runs"), "OK")
        for job in (short, "runs"):
            done = wait_for(lambda: (d := self.running.perfctl("metrics", "--samples", job)).returncode == 0 and d, "its first numbers")
            samples, = json.loads(done.stdout).values()
            self.assertGreaterEqual(len(samples), 1)
            unknown = [field for field in FIELDS if None in self.column(samples, field)]
            self.assertEqual([field in done.stderr for field in unknown], [True] * len(unknown))
        before = json.loads(self.ask("metrics", "--samples", "runs").stdout)["0"]
        wait_for(lambda: len(json.loads(self.ask("metrics", "--samples", "runs").stdout)["0"]) > len(before), "more samples")
        with self.running.client() as client:
            self.assert_status(client.end("runs", 0), "OK")
        after = json.loads(self.ask("metrics", "--samples", "runs", "--as", "perf.py").stdout)["0"]
        self.assertEqual(self.column(after, "timestamp")[:len(before) - 1], self.column(before, "timestamp")[:-1])

    def test_the_artifact_is_written_to_a_file(self):
        path = self.temporary_directory() / "perf_report.json"
        path.write_text("x" * 100000)
        self.assertEqual(self.export("--output", path), "")
        self.assertEqual(path.read_text(), self.export())
        done = self.ask("metrics", "--samples", "train-17", "--output", ROOT, status=1)
        self.assertIn(f"cannot write to {ROOT}: Is a directory", done.stderr)
        if os.path.exists("/dev/full"):
            self.assertIn("No space left", self.ask("metrics", "--samples", "train-17", "--output", "/dev/full", status=1).stderr)

    @judges_the_machine
    def test_several_ranks_become_one_artifact(self):
        with self.running.client() as client:
            self.assert_status(client.begin("other", rank=1), "OK")
            self.running.wait_tick()
            self.assert_status(client.end("other", 0), "OK")
            self.assert_status(client.begin("twin", rank=2), "OK")
            self.running.wait_tick()
            self.assert_status(client.end("twin", 0), "OK")
        path = self.temporary_directory() / "node2.json"
        path.write_text(self.export().replace('"2": [', '"7": ['))
        alone = {job: json.loads(self.ask("metrics", "--samples", job).stdout) for job in ("train-17", "other")}
        together = json.loads(self.ask("metrics", "--samples", "train-17", path, "other").stdout)
        self.assertEqual(list(together), ["1", "2", "7"])
        self.assertEqual(together["2"], alone["train-17"]["2"])
        self.assertEqual(together["1"], alone["other"]["1"])
        self.assertEqual(together["7"], together["2"])
        done = self.ask("metrics", "--samples", "train-17", "twin", status=1)
        self.assertEqual(done.stdout, "")
        self.assertIn("'train-17' and 'twin' both have rank 2; --renumber", done.stderr)
        renumbered = json.loads(self.ask("metrics", "--samples", "--renumber", "train-17", "twin", path).stdout)
        self.assertEqual(list(renumbered), ["0", "1", "2"])

    def test_a_failed_export_is_reported(self):
        self.assertIn("no job 'absent' on this node", self.ask("metrics", "--samples", "absent", status=1).stderr)
        self.assertIn("cannot read a/b: No such file", self.ask("metrics", "--samples", "train-17", "a/b", status=1).stderr)
        path = self.temporary_directory() / "wrong.json"
        path.write_text('{"0": [{"timestamp": 3}]}')
        self.assertIn("rank 0, sample 1: 'cpu_pct_per_cpu_avg' is missing", self.ask("metrics", "--samples", path, status=1).stderr)
        for words, said in ((["--samples"], "--samples requires the jobs or files"), (["--samples", "--json", "j"], "with --json"),
                            (["--renumber", "j"], "--renumber requires --samples"), (["--as", "perf.py"], "--mlflow or --samples")):
            self.assertIn(said, self.ask("metrics", *words, status=2).stderr)
        self.running.stop()
        self.assertIn("not running", self.ask("metrics", "--samples", "train-17", status=3).stderr)


class Golden(TestCase):
    """A machine whose CPU is busy in 7 of 20 intervals, none of which begins with an interval of perfd's grid."""

    BUSY = [1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0]

    def test_each_sample_is_of_one_interval(self):
        machine = Machine(self.temporary_directory())
        daemon = self.daemon("[sampling]\ninterval = 60s\n", root=machine.directory)
        user, idle = 1000, 1000
        with daemon.client() as client:
            self.assert_status(client.begin("golden"), "OK")
            for i, busy in enumerate(self.BUSY):
                user, idle = user + 10 * busy, idle + 10 * (1 - busy)
                machine.update(user_ticks=user, idle_ticks=idle, sectors_read=1000 + 2048 * (i + 1))
                time.sleep(0.1)
                self.assert_status(client.mark(f"step-{i}", "golden"), "OK") # takes a sample
            self.assert_status(client.end("golden", 0), "OK")
        for words in ((), ("--as", "perf.py",)):
            samples, = json.loads(daemon.perfctl("metrics", "--samples", "golden", *words).stdout).values()
            self.assertEqual([sample["cpu_pct_per_cpu_avg"] for sample in samples], [100.0 * busy for busy in self.BUSY])
            first = samples[0]["disk_io_read_mb"]
            self.assertEqual([sample["disk_io_read_mb"] - first for sample in samples], list(range(20)))
            self.assertEqual(reference([{field: value or 0 for field, value in sample.items()} for sample in samples],
                                       0, 1)["cpu_avg_utilization_at100_pct"], 35)
        metrics = {m["key"]: m["value"] for m in daemon.get("/api/v1/jobs/golden").json["compat"]}
        self.assertEqual(metrics["cpu_avg_utilization_at100_pct"], 35)
