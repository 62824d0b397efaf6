"""Checks the exposition with promtool, with Prometheus' parsers, and for joins by labels."""

import contextlib
import pathlib
import subprocess
import unittest

import harness
from harness import wait_for

CONFIG = "[sampling]\ninterval = 100ms\n"
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}


class Metrics(harness.TestCase):
    def daemon_with_jobs(self, config=CONFIG):
        daemon = self.daemon(config)
        with daemon.client() as client:
            self.assert_status(client.begin("ended", rank=1, name='a "name"\\ grün', user="ada"), "OK")
            self.assert_status(client.begin("running"), "OK")
            daemon.wait_tick()
            daemon.wait_tick()
            self.assert_status(client.end("ended", exit_status=0), "OK")
        daemon.wait_tick()
        return daemon

    def test_promtool_has_no_complaint(self):
        promtool = harness.find_peer("promtool")
        daemon = self.daemon_with_jobs()
        for path in ("/metrics", "/metrics?collect[]=percpu", "/metrics?collect[]=node&collect[]=jobs&collect[]=self&collect[]=percpu"):
            checked = subprocess.run([promtool, "check", "metrics"], input=daemon.get(path).body, capture_output=True, check=False)
            self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, b"", b""), path)

    def test_openmetrics_parses_and_equals_the_text_format(self):
        harness.import_peer("prometheus_client.openmetrics.parser")
        import prometheus_client.openmetrics.parser
        import prometheus_client.parser
        daemon = self.daemon_with_jobs()
        path, stamp = "/metrics?collect[]=node&collect[]=jobs", "perfd_last_sample_timestamp_seconds"

        def ask_twice():
            """Returns both formats of the same sample."""
            answers = daemon.get(path, headers=OPENMETRICS), daemon.get(path)
            stamps = {harness.parse_metrics(answer.text)[stamp] for answer in answers}
            return len(stamps) == 1 and answers

        answer, plain = wait_for(ask_twice, "both forms between two samples")
        self.assertEqual(answer.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(answer.text.endswith("\n# EOF\n"))
        families = list(prometheus_client.openmetrics.parser.text_string_to_metric_families(answer.text))
        self.assertEqual(len({f.name for f in families}), len(families))
        for family in families:
            self.assertTrue(family.documentation, family.name)
            self.assertTrue(family.name.endswith(family.unit), family.name)
            self.assertEqual([s.timestamp for s in family.samples if s.timestamp], [])
        openmetrics = {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples}

        self.assertEqual(plain.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        text = {(s.name, tuple(sorted(s.labels.items()))): s.value
                for f in prometheus_client.parser.text_string_to_metric_families(plain.text) for s in f.samples}
        self.assertEqual(openmetrics, text)
        labels = {"isolation": "none", "job": "ended", "name": 'a "name"\\ grün', "rank": "1", "state": "finished",
                  "user": harness.USER_NAME}
        self.assertIn(("perfd_job_info", tuple(labels.items())), text)

    def test_each_series_occurs_once_and_families_are_contiguous(self):
        text = self.daemon_with_jobs().get("/metrics").text
        series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(series), len(set(series)))
        seen, last = set(), None
        for name in (s.split("{")[0] for s in series):
            if name != last:
                self.assertNotIn(name, seen)
                seen.add(name)
                last = name

    @harness.judges_the_machine
    def test_counters_only_grow_and_numbers_are_fresh(self):
        daemon = self.daemon_with_jobs()
        before = daemon.metrics()
        after = daemon.wait_tick()
        # The kernel may decrease iowait (proc(5)).
        shrunk = [s for s in before if "_total" in s and "iowait" not in s and after.get(s, 0) < before[s]]
        self.assertEqual(shrunk, [])
        self.assertGreater(after["perfd_last_sample_timestamp_seconds"], before["perfd_last_sample_timestamp_seconds"])
        self.assertGreater(after["perfd_node_observed_seconds_total"], before["perfd_node_observed_seconds_total"])
        self.assertGreater(after["perfd_samples_total"], before["perfd_samples_total"])

    @harness.judges_the_machine
    def test_scrapes_between_two_samples_have_what_is_new(self):
        """Scrapes share what one sample says; what perfd counts for each request is in the next answer."""
        daemon = self.daemon("[sampling]\ninterval = 1min\n")
        answered, held = 'perfd_http_requests_total{class="2xx"}', 'perfd_quota_held{resource="jobs"}'

        def scrape(**headers):
            return harness.parse_metrics(daemon.get("/metrics", headers=headers).text)

        first = before = scrape()
        with daemon.client() as client:
            for headers in ({}, {"Accept": "application/openmetrics-text"}) * 2:
                self.assert_status(client.begin(f"job-{before[answered]:.0f}"), "OK")
                after = scrape(**headers)
                self.assertGreater(after[held], before.get(held, 0))
                self.assertEqual(after[answered], before[answered] + 1)
                self.assertGreater(after["perfd_http_sent_bytes_total"], before["perfd_http_sent_bytes_total"])
                before = after
        self.assertEqual(before["perfd_samples_total"], first["perfd_samples_total"])

    def test_a_job_that_ended_long_enough_ago_vanishes(self):
        daemon = self.daemon_with_jobs(CONFIG + "[metrics]\nfinished_for = 0\n")
        metrics = wait_for(lambda: (m := daemon.metrics()) and not any('job="ended"' in s for s in m) and m, "the ended job's leave")
        self.assertTrue(any('job="running"' in s for s in metrics))
        self.assertEqual(metrics["perfd_jobs_running"], 1)

    def test_jobs_beyond_the_limit_are_counted_and_running_ones_come_first(self):
        daemon = self.daemon(CONFIG + "[metrics]\njobs = 3\n")
        with daemon.client() as client:
            for i in range(5):
                self.assert_status(client.begin(f"job-{i}"), "OK")
            self.assert_status(client.end("job-0"), "OK")
            self.assert_status(client.end("job-1"), "OK")
        daemon.wait_tick()
        metrics = daemon.wait_tick()
        self.assertEqual(metrics["perfd_jobs_not_exposed"], 2)
        shown = {s.split('"')[1] for s in metrics if s.startswith("perfd_job_info{")}
        self.assertEqual(shown, {"job-2", "job-3", "job-4"})
        self.assertEqual(len(daemon.get("/api/v1/jobs").json["jobs"]), 5)

    def test_collectors_can_be_chosen(self):
        daemon = self.daemon_with_jobs()

        def prefixes(query):
            names = harness.parse_metrics(daemon.get(f"/metrics{query}").text)
            return {p for p in ("perfd_node_cpu_core_seconds", "perfd_node_load1", "perfd_job_info", "process_cpu_seconds")
                    if any(n.startswith(p) for n in names)}

        self.assertEqual(prefixes(""), {"perfd_node_load1", "perfd_job_info", "process_cpu_seconds"})
        self.assertEqual(prefixes("?collect[]=node"), {"perfd_node_load1"})
        self.assertEqual(prefixes("?collect%5B%5D=jobs&collect[]=percpu"), {"perfd_job_info", "perfd_node_cpu_core_seconds"})
        self.assertEqual(prefixes("?collect[]=self"), {"process_cpu_seconds"})

    @harness.judges_the_machine
    def test_activity_of_perfd_is_counted(self):
        daemon = self.daemon(CONFIG)
        before = daemon.wait_tick()
        with daemon.client() as client:
            for _ in range(3):
                self.assert_status(client.submit(harness.indicator()), "OK")
            client.submit({"name": "invalid"})
            for _ in range(4):
                daemon.get("/nothing")
            after = daemon.wait_tick()
        grown = {s: after[s] - before[s] for s in after if s in before and after[s] != before[s]}
        self.assertEqual(grown['perfd_requests_total{status="OK"}'], 3)
        self.assertEqual(grown['perfd_requests_total{status="INVALID"}'], 1)
        self.assertEqual(grown['perfd_http_requests_total{class="4xx"}'], 4)
        self.assertEqual(after["perfd_connections_open"], before["perfd_connections_open"] + 1)
        for counter in ("perfd_store_commits_total", "perfd_store_commit_seconds_total", "perfd_http_cpu_seconds_total",
                        "perfd_sample_cpu_seconds_total", "process_cpu_seconds_total"):
            self.assertGreater(grown[counter], 0, counter)
        self.assertEqual((after["perfd_store_writable"], after["perfd_config_last_reload_successful"]), (1, 1))
        for gauge in ("process_resident_memory_bytes", "process_virtual_memory_bytes", "process_open_fds", "process_max_fds",
                      "process_start_time_seconds", "perfd_store_size_bytes", "perfd_store_size_limit_bytes"):
            self.assertGreater(after[gauge], 0, gauge)

    @harness.judges_the_machine
    def test_open_descriptors_are_those_of_its_directory(self):
        """Uses the size of the directory since Linux 6.2; on gVisor and older kernels the entries are counted."""
        daemon = self.daemon(CONFIG)
        directory = pathlib.Path(f"/proc/{daemon.process.pid}/fd")
        wait_for(lambda: directory.stat().st_size in (0, len(list(directory.iterdir()))), "a size that is the number of entries")
        def counted():
            """perfd counts every ten ticks, and this query itself uses connections."""
            before, metric, after = len(list(directory.iterdir())), daemon.metrics()["process_open_fds"], len(list(directory.iterdir()))
            return before - 1 <= metric <= after + 1
        wait_for(counted, "a count that agrees")
        with contextlib.ExitStack() as stack:
            for _ in range(50):
                stack.enter_context(daemon.client()).hello()
            self.assertGreater(len(list(directory.iterdir())), 60)
            wait_for(counted, "a count that agrees with 50 more")
        wait_for(counted, "a count that agrees without them")

    def test_a_missing_source_is_reported_and_affects_no_other(self):
        directory = self.temporary_directory()
        harness.Machine(directory)
        daemon = self.daemon(CONFIG, root=directory)
        metrics = daemon.wait_tick()
        self.assertEqual(metrics['perfd_source_up{source="stat"}'], 1)
        self.assertEqual(metrics['perfd_source_up{source="psi_cpu"}'], 0)
        self.assertGreater(metrics['perfd_source_failures_total{source="psi_cpu"}'], 0)
        self.assertEqual(metrics['perfd_node_psi_available{resource="cpu"}'], 0)
        self.assertFalse(any(s.startswith("perfd_node_pressure_cpu") for s in metrics))
        self.assertEqual(metrics["perfd_node_cpus"], 1)
        source = {s["name"]: s for s in daemon.get("/api/v1/node").json["sources"]}["psi_cpu"]
        self.assertIn("proc/pressure/cpu", source["error"])


if __name__ == "__main__":
    unittest.main()
