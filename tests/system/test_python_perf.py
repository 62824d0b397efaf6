"""Checks clients/python/perfd_perf.py against results of perf.py, and with a real perfd."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import harness
from harness import FIXTURES, ROOT

CLIENTS = ROOT / "clients" / "python"
FIELDS = ["cpu_pct_per_cpu_avg", "cpu_pct_per_cpu_min", "cpu_pct_per_cpu_max", "mem_percent", "disk_usage_percent", "disk_io_read_mb",
          "disk_io_write_mb", "net_io_lo_sent_mb", "net_io_ext_sent_mb", "net_io_lo_recv_mb", "net_io_ext_recv_mb", "timestamp"]
LOGGER = """
    import json, os, sys, time
    from perfd_perf import PerformanceMetricsCollector, PerformanceReportingThread, PerfReportPlotter

    class Logger:
        def __init__(self):
            self.metrics = []

        def log_metric(self, key, value, step):
            self.metrics.append([key, value, step])
    """


class PythonPerf(harness.TestCase):
    def python(self, program, *words, socket="/nonexistent/perfd.sock"):
        environment = {**os.environ, "PERFD_SOCKET": str(socket), "PYTHONPATH": str(CLIENTS), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(LOGGER) + textwrap.dedent(program), *map(str, words)], text=True,
                              env=environment, capture_output=True, timeout=harness.TIMEOUT_S * 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_metrics_are_those_of_perf_py(self):
        directory = FIXTURES / "perfpy"
        if not directory.is_dir():
            self.skipTest("captured files are not there (PERFD_FIXTURES)")
        golden = json.loads((directory / "metrics_golden.json").read_text())
        made = self.python("""
            plotter = PerfReportPlotter(Logger())
            for node, reports in json.load(open(sys.argv[1])).items():
                plotter.add_perf_reports(reports, node=int(node))
            plotter.report_nodes_perf()
            path = plotter.save_to()
            print(json.dumps([plotter.metrics_logger.metrics, path, open(path).read()]))
            os.unlink(path)
            """, directory / golden["artifact"])
        metrics, path, text = made
        self.assertRegex(pathlib.Path(path).name, r"^tmp\w+\.json$")
        self.assertEqual(text, (directory / golden["artifact"]).read_text())
        expected = {(each["key_raw"], each["step"]): each["value"] for each in golden["metrics"]}
        self.assertEqual({(key, step) for key, _, step in metrics}, set(expected))
        for key, value, step in metrics:
            if not key.startswith("node_"):  # perf.py takes the end of the job for that of the last report
                self.assertAlmostEqual(value, expected[key, step], places=9, msg=key)

    def test_merged_reports_lose_nothing(self):
        made = self.python("""
            collector = PerformanceMetricsCollector(max_length=9)
            for n in range(1, 101):
                collector.append_perf_metrics({"cpu_pct_per_cpu_avg": n % 2 * 100, "mem_percent": n == 37, "disk_io_read_mb": n,
                                               "timestamp": n})
            collector.report_thread.start()
            collector.finalize()
            print(json.dumps([collector.max_length, collector.perf_reports_freqs, collector.perf_reports,
                              collector.report_thread.n_failed]))
            """)
        length, freqs, reports, n_failed = made
        self.assertEqual((length, freqs), (10, 16))
        self.assertLessEqual(len(reports), 10)
        self.assertEqual({report["cpu_pct_per_cpu_avg"] for report in reports}, {50})
        self.assertEqual(max(report["mem_percent"] for report in reports), 1)
        self.assertEqual((reports[-1]["timestamp"], reports[-1]["disk_io_read_mb"]), (100, 100))
        self.assertEqual([report["timestamp"] for report in reports[:-1]], [16 * n for n in range(1, 7)])
        self.assertGreaterEqual(n_failed, 1)  # perfd is away, and the thread lives

    def test_readings_are_those_of_perfd(self):
        server = self.daemon("[sampling]\ninterval = 100ms\n")
        harness.wait_for(lambda: (server.get("/api/v1/node").json["latest"] or {}).get("cpu_utilization"), "the second sample")
        made = self.python("""
            ends = []
            collector = PerformanceMetricsCollector()
            assert collector.report_thread.time_increment == 1.0
            thread = PerformanceReportingThread(initial_time_increment=0.05, cpu_interval=0.05, callback_on_exit=lambda: ends.append(1),
                                                callback_on_loop=collector.append_perf_metrics)
            thread.start()
            while len(collector.perf_reports) < 5:
                time.sleep(0.01)
            thread.finalize()
            plotter = PerfReportPlotter(Logger())
            plotter.add_perf_reports(collector.perf_reports, node=3)
            plotter.report_nodes_perf()
            print(json.dumps([ends, collector.perf_reports, plotter.metrics_logger.metrics]))
            """, socket=server.socket)
        ends, reports, metrics = made
        self.assertEqual(ends, [1])
        for report in reports:
            self.assertEqual(list(report), FIELDS)
        first = reports[0]
        self.assertEqual([first[field] for field in FIELDS if "_io_" in field], [0.0] * 6)
        self.assertTrue(all(0 <= first[field] <= 100 for field in FIELDS[:5]), first)
        self.assertEqual((len(metrics), {step for _, _, step in metrics}), (18, {3}))


if __name__ == "__main__":
    harness.unittest.main()
