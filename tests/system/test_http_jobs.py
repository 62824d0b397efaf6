"""Queries a job with a cgroup in all ways: both scopes, phases, limits and time blocks."""

import re
import subprocess
import unittest

import harness
from test_http import Schema
from test_job_groups import GroupTest

NAMES = ('lo"ad\\', "träin <b>{{x}}</b>", "duration_seconds", 'lo"ad\\')  # the two phases of this name are added up
PROMETHEUS_LINE = re.compile(r'^(?P<name>\w+)\{(?P<labels>(?:\w+="(?:[^"\\]|\\.)*",?)*)\} (?P<value>\S+)$')


class JobOverHttp(GroupTest):
    def setUp(self):
        super().setUp()
        self.server = self.daemon(self.CONFIG)
        self.own_group = self.group()
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        member = self.own_group.start(cpu_seconds=0.3)
        self.assert_status(self.begin(self.client, "own", member, rank=3, name='a "name" of <two> words', user="ada"), "OK")
        self.assert_status(self.client.begin("shared"), "OK")
        for name in NAMES:
            self.mark(name)
            self.server.wait_tick()
        self.own_group.used(member)
        self.server.wait_tick()

    def mark(self, name, seconds=None):
        request = self.client.request()
        request.mark.job, request.mark.name = "own", name
        if seconds is not None:
            request.mark.seconds = seconds
        self.assert_status(self.client.call(request), "OK")

    def end(self):
        self.assert_status(self.client.end("own", 0), "OK")
        self.server.wait_tick()

    def series(self, job):
        """Returns {(name, scope): value} of a job's series without other labels."""
        found = {}
        for line in self.server.get("/metrics?collect[]=jobs").text.splitlines():
            m = PROMETHEUS_LINE.match(line)
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m["labels"])) if m else {}
            if set(labels) == {"job", "scope"} and labels["job"] == job:
                self.assertNotIn((m["name"], labels["scope"]), found)
                found[m["name"], labels["scope"]] = float(m["value"])
        return found

    def test_all_answers_match_the_description(self):
        schema = Schema(self.server.get("/api/v1/openapi.json").json)
        for state in ("running", "finished"):
            job = self.job(self.server, "own")
            self.assertEqual(job["state"], state)
            for path in ("/api/v1/jobs", "/api/v1/jobs/{id}", "/api/v1/jobs/{id}/metrics"):
                answer = self.server.get(path.replace("{id}", "own"))
                described = schema.document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
                self.assertEqual(schema.complaints(answer.json, described), [], path)
            self.assertEqual((job["isolation"], job["rank"], job["node_index"]), ("cgroup", 3, None))
            self.assertTrue(job["cgroup"].endswith(f"/{self.own_group.path.name}"), job["cgroup"])
            self.assertEqual([p["name"] for p in job["phases"]], ["", *NAMES])
            self.assertFalse(job["phases_truncated"])
            self.assertEqual(job["limits"]["cpus"], job["on"]["cpus"])
            if state == "running":
                self.end()

    def test_both_scopes_are_there_and_the_jobs_is_part_of_the_nodes(self):
        self.end()
        job = self.job(self.server, "own")
        scopes = [m["scope"] for m in job["metrics"]]
        self.assertEqual(scopes, sorted(scopes, reverse=True))  # scope node comes first
        keys = {m["key"]: m["value"] for m in job["metrics"]}
        self.assertGreaterEqual(keys["job_cpu_seconds"], 0.3)
        # The node's counters have a resolution of one tick for each CPU.
        ticks = 0.01 * 2 * job["on"]["cpus"]
        self.assertLessEqual(keys["job_cpu_seconds"], keys["cpu_user_seconds"] + keys["cpu_system_seconds"] + ticks)
        self.assertEqual({a["scope"] for a in job["absent"] if a["key"].startswith("job_")}, {"job"})
        self.assertEqual(set(keys) & {a["key"] for a in job["absent"]}, set())

        listed = {j["id"]: j for j in self.server.get("/api/v1/jobs").json["jobs"]}
        self.assertEqual(listed["own"]["metrics"], keys)
        self.assertFalse(any(key.startswith("job_") for key in listed["shared"]["metrics"]))
        for scope in ("node", "job"):
            chosen = self.server.get(f"/api/v1/jobs/own/metrics?scope={scope}").json["metrics"]
            self.assertEqual([m["key"] for m in chosen], [m["key"] for m in job["metrics"] if m["scope"] == scope])

    def test_a_job_without_a_group_has_a_reason(self):
        job = self.job(self.server, "shared")
        self.assertEqual((job["isolation"], job["cgroup"], job["limits"]), ("none", None, {"cpus": None, "memory_bytes": None}))
        self.assertEqual({a["reason"] for a in job["absent"] if a["scope"] == "job"}, {"The job has no cgroup of its own."})

    def test_series_of_both_scopes_share_a_family(self):
        before = self.series("own")
        self.server.wait_tick()
        own, shared = self.series("own"), self.series("shared")
        self.assertEqual({scope for _, scope in shared}, {"node"})
        for family in ("perfd_job_cpu_user_seconds_total", "perfd_job_cpu_unused_seconds", "perfd_job_cpu_utilization_ratio"):
            self.assertIn((family, "job"), own)
            self.assertIn((family, "node"), own)
        self.assertGreaterEqual(own["perfd_job_cpu_seconds_total", "job"], 0.3)
        shrunk = [key for key in before if key[0].endswith("_total") and own[key] < before[key]]
        self.assertEqual(shrunk, [])
        metrics = self.server.metrics()
        self.assertEqual(metrics["perfd_jobs_with_cgroup"], 1)
        for job, n_max in (("own", 79), ("shared", 52)):
            self.assertLessEqual(sum(f'job="{job}"' in s for s in metrics), n_max)
        self.assertEqual(sum("name=" in s for s in metrics), 2)

    def test_promtool_and_openmetrics_have_no_complaint(self):
        promtool = harness.find_peer("promtool")
        harness.import_peer("prometheus_client.openmetrics.parser")
        import prometheus_client.openmetrics.parser
        checked = subprocess.run([promtool, "check", "metrics"], input=self.server.get("/metrics").body, capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, b"", b""))
        text = self.server.get("/metrics", headers={"Accept": "application/openmetrics-text"}).text
        families = list(prometheus_client.openmetrics.parser.text_string_to_metric_families(text))
        self.assertEqual(len({f.name for f in families}), len(families))
        scopes = {s.labels["scope"] for f in families for s in f.samples if "scope" in s.labels}
        self.assertEqual(scopes, {"node", "job"})

    def test_time_blocks_are_metrics_of_their_names(self):
        self.mark("after", seconds=12.5)  # the last phase named load, measured by the test
        self.end()
        plain = {m["key"]: m["value"] for m in self.server.get("/api/v1/jobs/own/metrics").json["metrics"]}
        blocks = {m["key"]: m["value"] for m in self.server.get("/api/v1/jobs/own/metrics?phases=1").json["metrics"]}
        phases = self.job(self.server, "own")["phases"]
        self.assertEqual({key: blocks[key] for key in plain}, plain)
        self.assertEqual(set(blocks) - set(plain), {'lo"ad\\', "träin <b>{{x}}</b>", "phase/duration_seconds", "after"})
        self.assertEqual(blocks['lo"ad\\'], 12.5)  # only phases with measured seconds
        self.assertEqual(blocks["phase/duration_seconds"], phases[3]["seconds"])
        self.assertEqual(phases[4]["seconds"], 12.5)


if __name__ == "__main__":
    unittest.main()
