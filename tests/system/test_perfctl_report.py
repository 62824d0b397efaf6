"""Checks that reports of real jobs match the JSON answer, and that reports of several nodes are merged."""

import json
import os
import pty
import re
import subprocess
import unittest

from harness import PERFCTL, TIMEOUT_S, indicator, wait_for
from test_job_groups import GroupTest

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class ReportTest(GroupTest):
    def report(self, daemon, *words, status=0, **more):
        result = daemon.perfctl("report", *words, **more)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout if status == 0 else result.stderr

    def row(self, text, label):
        """Returns the text of a row of the report, including its continuation lines."""
        match = re.search(rf"^  {label} .*(?:\n {{12}}.*)*", text, re.M)
        self.assertIsNotNone(match, f"no row '{label}' in\n{text}")
        return " ".join(match[0].split()).removeprefix(label).strip()

    def busy_job(self, daemon, job, cpu_seconds=0.3, marks=(), **more):
        """Runs a job with a group that uses CPU time, and returns the answer after its end."""
        group = self.group()
        with daemon.client() as client:
            process = group.start(cpu_seconds=cpu_seconds)
            self.assert_status(self.begin(client, job, process, **more), "OK")
            for mark in marks:
                self.assert_status(client.mark(mark, job=job), "OK")
                daemon.wait_tick()
            group.used(process)
            self.assert_status(client.end(job, 0), "OK")
        group.remove()
        return self.job(daemon, job)


class OneJob(ReportTest):
    def test_the_numbers_of_the_job_itself_are_those_of_the_answer(self):
        daemon = self.daemon(self.CONFIG)
        job = self.busy_job(daemon, "own")
        text = self.report(daemon, "own")
        used = self.metric(job, "job_cpus_used")["value"]
        self.assertTrue(self.row(text, "cores").startswith(f"{used:.2f} of {job['on']['cpus']}"), text)
        self.assertIn("used", self.row(text, "CPU time"))
        self.assertEqual(self.row(text, "cgroup"), f"{job['cgroup']} (created for this job)")
        self.assertIn("Node during the job", text)
        self.assertNotIn("CPUs over", text)

    def test_absent_metrics_have_a_reason(self):
        daemon = self.daemon(self.CONFIG)
        job = self.busy_job(daemon, "own")
        text = " ".join(self.report(daemon, "own").split())
        absent = {a["key"]: a["reason"] for a in job["absent"]}
        for key, words in (("job_memory_peak_bytes", "memory"), ("job_io_read_bytes", "disks"), ("job_pids_peak", "number of processes")):
            if key in absent:
                reason = absent[key][0].lower() + absent[key][1:].rstrip(".")
                self.assertRegex(text, rf"unavailable: [^(]*{words}[^(]*\({re.escape(reason)}\)")
            else:
                self.assertNotRegex(text, rf"unavailable: [^(]*{words}")

    def test_phases_are_in_the_report(self):
        daemon = self.daemon(self.CONFIG)
        job = self.busy_job(daemon, "marked", marks=("load", "train"))
        self.assertEqual([p["name"] for p in job["phases"]], ["", "load", "train"])
        text = self.report(daemon, "marked")
        self.assertIn("\nPhases ", text)
        for words in ("before the first mark", "load", "train"):
            self.assertIn(f"\n  {words} ", text)

    def test_a_running_job_has_a_report(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        with daemon.client() as client:
            self.assert_status(self.begin(client, "running", group.start()), "OK")
            self.assert_status(client.mark("load", job="running"), "OK")
            daemon.wait_tick()
            daemon.wait_tick()
            text = self.report(daemon, "running")
            self.assert_status(client.end("running", 0), "OK")
        self.assertRegex(text, r"^Job running  running\n")
        self.assertIn("load (so far)", text)
        self.assertIn("cores", text)

    def test_results_of_the_job_are_in_its_report_and_those_of_others_are_not(self):
        daemon = self.daemon(self.CONFIG)
        with daemon.client() as client:
            for job in ("one", "two"):
                self.assert_status(client.begin(job), "OK")
            self.assert_status(client.submit(indicator("Copy", 1.5, component="d d/é&", framework="d d/é&"), job="one"), "OK")
            self.assert_status(client.submit(indicator("Scale", 2.5), job="two"), "OK")
            self.assert_status(client.submit(indicator("Triad", 3.5, overall_score=99.5), job="one"), "OK")
            for job in ("one", "two"):
                self.assert_status(client.end(job, 0), "OK")
        text = self.report(daemon, "one")
        self.assertRegex(text, r"\nMeasured\n(  Copy \(d d/é&\) +rate 1\.50\n|  Triad .* score 99\.5\n){2}")
        self.assertNotIn("Scale", text)

    def test_json_is_the_answer_itself(self):
        daemon = self.daemon(self.CONFIG)
        self.busy_job(daemon, "own", marks=("load",))
        # Except for the time of the node's last sample, which changes.
        texts = (self.report(daemon, "own", "--json"), daemon.get("/api/v1/jobs/own").text)
        printed, answered = (re.sub(r'"time_ms":\d+', "", text).strip() for text in texts)
        self.assertEqual(printed, answered)

    def test_a_terminal_gets_colours_and_its_width(self):
        daemon = self.daemon(self.CONFIG)
        self.busy_job(daemon, "own", marks=("load",))
        for columns in (60, 80, 120):
            master, slave = pty.openpty()
            environment = {**os.environ, "PERFD_SOCKET": str(daemon.socket), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
                           "COLUMNS": str(columns)}
            environment.pop("NO_COLOR", None)
            process = subprocess.Popen([PERFCTL, "report", "own"], stdout=slave, env=environment)
            os.close(slave)
            data = b""
            while chunk := self.read(master):
                data += chunk
            os.close(master)
            self.assertEqual(process.wait(TIMEOUT_S), 0)
            text = data.decode()
            self.assertRegex(text, ESCAPES)
            lines = ESCAPES.sub("", text).splitlines()
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertLessEqual(len(lines), 40 if columns >= 80 else 44)
            self.assertIn("█", text)

    def read(self, fd):
        try:
            return os.read(fd, 65536)
        except OSError:
            return b""


class AllNodes(ReportTest):
    """Two daemons represent two nodes. Both have this machine's name, so that the node index distinguishes them."""

    def setUp(self):
        super().setUp()
        self.nodes = [self.daemon(self.CONFIG), self.daemon(self.CONFIG)]
        self.directory = self.temporary_directory()

    def run_rank(self, rank, node, ranks=3, job=None):
        daemon = self.nodes[node]
        more = {"ranks": ranks, "node": node, "nodes": 2, "name": "solve", "rank": rank}
        self.busy_job(daemon, job or f"solve-17.{rank}", cpu_seconds=0.1 * (rank + 1), **more)
        path = self.directory / f"{rank}.json"
        path.write_text(self.report(daemon, "--json", job or f"solve-17.{rank}"))
        return path

    def merge(self, *paths, status=0, **more):
        return self.report(self.nodes[0], "--all-nodes", *paths, status=status, **more)

    def total(self, merged, key):
        return next(t["value"] for t in merged["total"] if t["key"] == key)

    def test_ranks_on_two_nodes_are_one_run(self):
        paths = [self.run_rank(0, 0), self.run_rank(1, 0), self.run_rank(2, 1)]
        reports = [json.loads(path.read_text()) for path in paths]
        merged = json.loads(self.merge("--json", *reversed(paths)))
        self.assertEqual([(r["rank"], r["step"], r["node_index"]) for r in merged["reports"]], [(0, 0, 0), (1, 1, 0), (2, 2, 1)])
        self.assertEqual((merged["run"]["id"], merged["run"]["ranks"], merged["run"]["missing_ranks"]), ("solve-17", 3, ""))
        self.assertAlmostEqual(self.total(merged, "job_cpu_seconds"),
                               sum(self.metric(r, "job_cpu_seconds")["value"] for r in reports), places=6)
        self.assertEqual({m["step"] for r in merged["reports"][2:] for m in r["metrics"]}, {2})

        # The numbers of a node with two ranks are counted once.
        self.assertEqual([(h["node_index"], h["reports"]) for h in merged["hosts"]], [(0, 2), (1, 1)])
        longest = max(reports[:2], key=lambda r: self.metric(r, "duration_seconds")["value"])
        capacity = self.metric(longest, "node_cpu_hours")["value"] + self.metric(reports[2], "node_cpu_hours")["value"]
        self.assertAlmostEqual(self.total(merged, "node_cpu_hours"), capacity, places=9)

        text = self.merge(*paths)
        self.assertRegex(text, r"^Run solve-17 \(solve\)  all 3 finished: exit 0\n")
        self.assertEqual(self.row(text, "where").split(", ")[:2], ["3 of 3 ranks", "2 hosts"])
        self.assertLessEqual(len(text.splitlines()), 40)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_reports_come_from_standard_input_as_well(self):
        paths = [self.run_rank(0, 0), self.run_rank(2, 1)]
        text = self.merge("-", stdin="".join(path.read_text() for path in paths))
        self.assertEqual(self.row(text, "missing"), "rank 1 of 3")

    def test_merging_needs_no_perfd(self):
        path = self.run_rank(0, 0)
        for node in self.nodes:
            node.stop()
        self.assertIn("missing   ranks 1-2 of 3\n", self.merge(path))

    def test_a_report_of_a_running_rank_is_replaced_by_a_later_one(self):
        group = self.group()
        with self.nodes[0].client() as client:
            self.assert_status(self.begin(client, "solve-17.0", group.start(), rank=0, ranks=1), "OK")
            self.nodes[0].wait_tick()
            early = self.report(self.nodes[0], "--json", "solve-17.0")
            self.assertRegex(self.merge("-", stdin=early), r"^Job solve-17.0  running\n")
            self.assert_status(client.end("solve-17.0", 3), "OK")
        late = self.report(self.nodes[0], "--json", "solve-17.0")
        result = self.nodes[0].perfctl("report", "--all-nodes", "-", stdin=late + early)
        self.assertRegex(result.stdout, r"^Job solve-17.0  finished: exit 3\n")
        self.assertIn("each job counts once", result.stderr)

    def test_reports_of_two_runs_are_refused(self):
        first, second = self.run_rank(0, 0), self.run_rank(1, 1, job="other-18.1")
        changed = self.directory / "changed.json"
        changed.write_text(second.read_text().replace('"name":"solve"', '"name":"evaluate"'))
        self.assertRegex(self.merge(first, second), r"^Run solve  all 2 finished")
        error = self.merge(first, changed, status=1)
        self.assertRegex(error, r"belongs to another run than .*: neither ids .* nor names and commands agree")
        changed.write_text(second.read_text().replace('"rank":1', '"rank":0'))
        self.assertRegex(self.merge(first, changed, status=1), "same rank")

    def test_every_file_that_is_wrong_is_named(self):
        good, bad, error = self.run_rank(0, 0), self.directory / "bad.json", self.directory / "error.json"
        bad.write_text(good.read_text() + '\n{"id": "x",\n')
        error.write_text(self.nodes[0].get("/api/v1/jobs/absent").text)
        text = self.merge(good, bad, self.directory / "absent.json", error, "/", status=1)
        for words in (r"bad\.json:\d+:\d+: ", r"cannot read .*absent\.json: No such file",
                      r"error\.json:1: error message of perfd instead of a report: no job", "cannot read /: Is a directory"):
            self.assertRegex(text, words)

    def test_members_that_are_damaged_are_named_and_the_rest_is_reported(self):
        path = self.run_rank(0, 0)
        report = json.loads(path.read_text())
        report["rank"], report["on"]["cpus"], report["metrics"][1]["value"] = "0", None, "many"
        path.write_text(json.dumps(report))
        result = self.nodes[0].perfctl("report", "--all-nodes", path)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, f"perfctl: {path}:1: ignoring members that differ from those of perfd: rank, metrics[1].value\n")
        self.assertIn("Job solve-17.0 (solve)", result.stdout)
        report["phases"], report["advice"], report["note"], report["uid"], report["ranks"] = {}, [3], 7, -1, 1.5
        path.write_text(json.dumps(report))
        result = self.nodes[0].perfctl("report", "--all-nodes", "--json", path)
        self.assertEqual((result.returncode, json.loads(result.stdout)["reports"][0]["id"]), (1, "solve-17.0"))
        self.assertIn("of perfd: note, uid, rank, ranks and 3 more\n", result.stderr)

    def test_a_merged_report_is_not_merged_again(self):
        merged = self.merge("--json", self.run_rank(0, 0))
        self.assertIn("standard input:1: already merged", self.merge("-", status=1, stdin=merged))


if __name__ == "__main__":
    unittest.main()
