"""Checks the output of perfctl in perf.py's formats: the list of metrics for MLflow and the artifact with samples."""

import json
import os

from harness import ROOT, TestCase, wait_for

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
        metrics = self.list("--job", "train-17", "--compat")
        self.assertEqual([m["key"] for m in metrics], EIGHTEEN)
        self.assertEqual({m["key"]: m["value"] for m in metrics}, self.compat)

    def test_raw_names_are_those_before_perf_py_changed_them(self):
        keys = [m["key"] for m in self.list("--job", "train-17", "--compat", "--names", "raw")]
        self.assertEqual([key.replace("(", "").replace(")", "") for key in keys], EIGHTEEN)
        self.assertEqual(sum("(" in key for key in keys), 4)

    def test_a_prefix_is_cleaned_and_cut_with_the_name(self):
        keys = [m["key"] for m in self.list("--job", "train-17", "--compat", "--prefix", "größe (of it)/")]
        self.assertEqual(keys, [("gre of it/" + key)[:50] for key in EIGHTEEN])

    def test_names_that_become_equal_are_reported_and_kept(self):
        done = self.ask("metrics", "--mlflow", "--compat", "--job", "train-17", "--prefix", "a-prefix-of-forty-characters-and-no-more/")
        keys = [m["key"] for m in json.loads(done.stdout)]
        self.assertEqual(len(keys), 18)
        self.assertIn(f"{len(keys) - len(set(keys))} names are duplicates", done.stderr)
        self.assertIn("'a-prefix-of-forty-characters-and-no-more/cpu_avg_u' first", done.stderr)

    def test_the_node_has_a_list_too(self):
        metrics = self.list()
        self.assertTrue(set(EIGHTEEN) <= {m["key"] for m in metrics})
        self.assertEqual({m["step"] for m in metrics}, {0})

    def test_wrong_usage(self):
        for words, text in ((("--compat",), "--compat requires --mlflow"), (("--prefix", "a"), "--prefix requires --mlflow"),
                            (("--names", "raw"), "--names requires --mlflow"), (("--mlflow", "--names", "row"), "sanitised or raw"),
                            (("--mlflow", "--prefix", "x" * 201), "--prefix is longer than 200 bytes"),
                            (("--mlflow", "--prefix", "/x/"), "makes the name '/x/max_t_cpu_pct_per_cpu_avg', which MLflow rejects"),
                            (("--mlflow", "--prefix", "a/../"), "which MLflow rejects")):
            done = self.ask("metrics", *words, status=2)
            self.assertEqual(done.stdout, "")
            self.assertIn(text, done.stderr)


class Artifact(WithJob):
    def export(self, *words):
        done = self.ask("export", "perf-report", "train-17", *words)
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
        for words in ((), ("--compat",)):
            text = self.export(*words)
            self.assertEqual(json.dumps(json.loads(text), indent=4), text)

    def test_maxima_of_the_artifact_equal_the_jobs_metrics(self):
        samples = self.samples()
        self.assertGreater(len(samples), 2)
        for field, key in (("cpu_pct_per_cpu_min", "max_t_cpu_pct_per_cpu_min"), ("cpu_pct_per_cpu_max", "max_t_cpu_pct_per_cpu_max"),
                           ("disk_usage_percent", "max_t_disk_usage_percent"), ("disk_io_read_mb", "total_disk_io_read_mb"),
                           ("disk_io_write_mb", "total_disk_io_write_mb"), ("net_io_lo_sent_mb", "total_net_io_lo_sent_mb"),
                           ("net_io_ext_sent_mb", "total_net_io_ext_sent_mb"), ("net_io_lo_recv_mb", "total_net_io_lo_recv_mb"),
                           ("net_io_ext_recv_mb", "total_net_io_ext_recv_mb")):
            self.assertEqual(max(self.column(samples, field)), self.metric[key], field)
        self.assertAlmostEqual(max(self.column(samples, "mem_percent")), self.metric["max_t_mem_percent"], delta=0.1)
        times = [self.job["begin_ms"] / 1000, *self.column(samples, "timestamp")]
        busy = sum(u * (end - begin) for u, begin, end in zip(self.column(samples, "cpu_pct_per_cpu_avg"), times, times[1:]))
        self.assertAlmostEqual(busy / (times[-1] - times[0]), self.metric["cpu_avg_utilization_pct"], delta=5)
        self.assertLessEqual(max(self.column(samples, "cpu_pct_per_cpu_avg")), self.metric["max_t_cpu_pct_per_cpu_avg"] + 0.1)

    def test_compat_ends_with_counters_since_boot(self):
        ours, theirs = self.samples(), self.samples("--compat")
        for field, key in (("disk_io_read_mb", "total_disk_io_read_mb"), ("disk_io_write_mb", "total_disk_io_write_mb"),
                           ("net_io_ext_sent_mb", "total_net_io_ext_sent_mb"), ("net_io_ext_recv_mb", "total_net_io_ext_recv_mb"),
                           ("cpu_pct_per_cpu_max", "max_t_cpu_pct_per_cpu_max")):
            self.assertEqual(max(self.column(theirs, field)), self.compat[key], field)
        self.assertEqual(self.column(ours, "timestamp"), self.column(theirs, "timestamp"))

    def test_time_and_counters_never_go_back(self):
        for words in ((), ("--compat",)):
            samples = self.samples(*words)
            for field in FIELDS[5:]:
                column = self.column(samples, field)
                self.assertEqual(column, sorted(column), field)
            self.assertEqual(samples[-1]["timestamp"], self.job["end_ms"] / 1000)

    def test_a_running_job_and_a_short_one(self):
        with self.running.client() as client:
            self.assert_status(client.begin("short"), "OK")
            self.assert_status(client.end("short", 0), "OK")
            self.assert_status(client.begin("runs"), "OK")
        self.assertIn("without --compat", self.ask("export", "perf-report", "--compat", "short", status=1).stderr)
        for job in ("short", "runs"):
            done = wait_for(lambda: (d := self.running.perfctl("export", "perf-report", job)).returncode == 0 and d, "its first numbers")
            samples, = json.loads(done.stdout).values()
            self.assertGreaterEqual(len(samples), 1)
            unknown = [field for field in FIELDS if None in self.column(samples, field)]
            self.assertEqual([field in done.stderr for field in unknown], [True] * len(unknown))

    def test_the_artifact_is_written_to_a_file(self):
        path = self.temporary_directory() / "perf_report.json"
        path.write_text("x" * 100000)
        self.assertEqual(self.export("--output", path), "")
        self.assertEqual(path.read_text(), self.export())
        done = self.ask("export", "perf-report", "train-17", "--output", ROOT, status=1)
        self.assertIn(f"cannot write to {ROOT}: Is a directory", done.stderr)
        if os.path.exists("/dev/full"):
            self.assertIn("No space left", self.ask("export", "perf-report", "train-17", "--output", "/dev/full", status=1).stderr)

    def test_a_failed_export_is_reported(self):
        self.assertIn("no job 'absent' on this node", self.ask("export", "perf-report", "absent", status=1).stderr)
        self.assertIn("no job 'a/b' on this node", self.ask("export", "perf-report", "a/b", status=1).stderr)
        self.assertIn("missing command after 'export': perf-report", self.ask("export", status=2).stderr)
        self.assertIn("missing argument JOB", self.ask("export", "perf-report", status=2).stderr)
        self.running.stop()
        self.assertIn("not running", self.ask("export", "perf-report", "train-17", status=3).stderr)
