"""Asks every path that the API describes, and every pattern of /metrics, as users who may not know the jobs of others."""

import itertools
import os
import re
import subprocess
import unittest
import urllib.parse

import harness
from test_privacy import BATCH, OTHER_UID, OWNER_UID, OwnedClient, connect_as, get_over

READER_UID, ADMIN_GID = 40003, 40100
CONFIG = f"[sampling]\ninterval = 100ms\n[socket]\nadmin_group = {ADMIN_GID}\n[metrics]\nreaders = {READER_UID}\ntotals_label = project\n"
PRIVATE = "[http]\nprivacy = private\n"

# Texts of the owner: none of them is in an answer to another user.
TEXTS = {what: f"{what}-q7" for what in (
    "job-name", "label-key", "label-value", "command", "phase", "indicator", "component", "version", "parameter", "result",
    "result-label", "package", "fact", "script", "stage", "event", "pipeline", "model", "hostname")}
MARK = "q7"
MODEL = {"name": "model-q7", "component": "component-q7", "results": {"result_q7": {"direction": "higher"}}}

# Values of the parameters. What nobody has is named as what the owner has, with another mark.
DIGEST, OTHER_MARK = "0123456789abcdef" * 4, "z9"
VALUES = {
    "where": "parameter_q7=1", "component": "component-q7", "version": "version-q7", "since_ms": "0", "until_ms": "4000000000000",
    "limit": "5", "objective": "result_q7", "direction": "higher", "by": "parameter_q7", "hold": "parameter_q7", "across": "parameter_q7",
    "collect[]": "jobs", "state": "running", "name": "indicator-q7", "user": str(OWNER_UID), "label": "label-key-q7=label-value-q7",
    "failed": "0", "page": "0" * 32, "key": "cpu_seconds", "scope": "job", "compat": "1", "names": "raw", "phases": "1",
    "stage": "0:0:stage-q7", "format": "csv", "job": "hidden-job", "group_by": "parameter_q7", "stat": "mean:result_q7",
    "confidence": "0.9", "current": "version-q7", "compare_by": "parameter_q7", "ignore": "parameter_q7",
    "ignore_entry": "parameter_q7=1", "order": "version", "method": "judge", "fdr": "0.1", "to": DIGEST, "uid": str(OWNER_UID),
    "step_ms": "60000", "search": "job-name-q7", "sort": "begin", "pipeline": "1", "threads": "4", "changes": "1", "kpis": "1"}
NEEDED = {"/api/v1/indicators/{name}/rank": ("objective", "direction"), "/api/v1/kpis/{name}/regress": ("objective",),
          "/api/v1/stacks/{digest}/diff": ("to",)}


def names_of(document, path, item):
    for parameter in [*item.get("parameters", []), *item["get"].get("parameters", [])]:
        if "$ref" in parameter:
            parameter = document["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[1]]
        if parameter["in"] == "query":
            yield parameter["name"]


def requests_of(document):
    """Yields (path, its query parameters) for each path alone, and with each parameter in addition to the required ones."""
    for path, item in document["paths"].items():
        if path == "/api/v1/events":
            continue  # its answer does not end; test_events reads it
        names, needed = list(names_of(document, path, item)), NEEDED.get(path, ())
        yield path, needed
        for name in names:
            yield path, (*needed, *(() if name in needed else (name,)))


def fill(path, names, values):
    for place, value in values.items():
        path = path.replace(place, value)
    query = urllib.parse.urlencode([(name, VALUES[name]) for name in names])
    return path + (f"?{query}" if query else "")


def absent_of(text, values):
    """Replaces what the owner has by what nobody has."""
    for present, absent in ((MARK, OTHER_MARK), ("hidden-job", "absent-job"), ("hidden-ended", "absent-ended"), (BATCH.hex, "ab" * 16),
                            (str(OWNER_UID), str(OWNER_UID + 7)), (values["{digest}"], DIGEST[::-1])):
        text = text.replace(present, absent)
    return text


def settled(text):
    """The connection and the query of the question before may still be held, or not."""
    return re.sub(r'("name":"(?:http_connections|queries|answers_size)"[^}]*)"held":\d+,"users":\d+', r"\1", text)


@unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
class PrivateSites(harness.TestCase):
    def start(self, config=PRIVATE, **more):
        daemon = self.daemon(CONFIG + config, tcp=True, **more)
        daemon.directory.chmod(0o711)
        with OwnedClient(OWNER_UID, daemon.socket) as client:
            for job in ("hidden-job", "hidden-ended"):
                self.assert_status(client.begin(job, command="command-q7", name="job-name-q7",
                                                labels={"label-key-q7": "label-value-q7"}), "OK")
                self.assert_status(client.mark("phase-q7", job=job), "OK")
            request = client.request()
            request.register.model.append(harness.to_json(MODEL))
            self.assert_status(client.call(request), "OK")
            # KPIs of the owner, with a model
            model = {**MODEL, "name": "indicator-q7"}
            request = client.request()
            request.register.model.append(harness.to_json(model))
            self.assert_status(client.call(request), "OK")
            self.submit(client)
            request = client.request()
            request.pipeline_report.job, request.pipeline_report.producer = "hidden-job", "pipeline-q7 1"
            stage = request.pipeline_report.stages.add(stage="0:0:stage-q7")
            stage.queue.elapsed, stage.queue.num_items, stage.queue.ave_get_time = 10, 5, 1
            request.pipeline_report.events.add(name="event-q7", seconds=1)
            self.assert_status(client.call(request), "OK")
            daemon.wait_tick()
            self.assert_status(client.end("hidden-ended", exit_status=3), "OK")
        daemon.wait_tick()
        daemon.wait_tick()
        return daemon

    def submit(self, client):
        documents = [{"name": "indicator-q7", "framework": "component-q7", "version": "version-q7", "@parameters": {"parameter_q7": i},
                      "@labels": {"result-label-q7": "x"}, "@result": {"result_q7": 1.0 + i}} for i in range(3)]
        request = client.submit_request(*documents, job="hidden-job")
        for i, item in enumerate(request.submit.indicators):
            item.batch, item.index, item.version, item.stack, item.specification = BATCH.bytes, i, "version-q7", 1, 1
            item.run = harness.to_json({"host": {"hostname": "hostname-q7"}, "wall_seconds": 1.5})
        request.submit.stacks.append(harness.to_json({"os": {"name": "fact-q7", "version": "1"},
                                                      "packages": [{"name": "package-q7", "version": "1"}]}))
        request.submit.specifications.append(harness.to_json({"script": "script-q7"}))
        self.assert_status(client.call(request), "OK")

    def viewers(self, daemon):
        return {"a stranger": lambda path: get_over(connect_as(OTHER_UID, daemon.http_socket), path),
                "the owner over TCP": lambda path: get_over(connect_as(OWNER_UID, daemon.port), path),
                "root over TCP": lambda path: daemon.get(path, tcp=True)}

    def owned(self, daemon):
        """Values of the placeholders in paths that name what the owner has."""
        result = daemon.get("/api/v1/indicators/indicator-q7/results").json["results"][0]
        stack = daemon.get("/api/v1/stacks").json["stacks"][0]["digest"]
        for path_part, id_ in (("/batches/", BATCH.hex), ("", "hidden-job"), ("", "hidden-ended")):
            digests = {"/specifications/": result["specification"]}
            yield path_part, lambda path, id_=id_: {"{id}": id_, "{name}": "indicator-q7",
                                                    "{digest}": next((d for part, d in digests.items() if part in path), stack)}

    def check_nothing(self, what, asked, answer):
        for text in (answer.text, str(answer.headers)):
            self.assertNotIn(MARK, text, f"{what}, {asked}")
            self.assertIsNone(re.search(rf"\b{OWNER_UID}\b", text), f"{what}, {asked}: {text}")

    def test_no_path_shows_anything_of_others(self):
        daemon = self.start()
        seen = ""
        for (path, names), (part, owned) in itertools.product(requests_of(daemon.get("/api/v1/openapi.json").json), self.owned(daemon)):
            values = owned(path)
            if ("/batches/" in path) != bool(part) or ("{id}" not in path and values["{id}"] == "hidden-ended"):
                continue
            asked = fill(path, names, values)
            for what, ask in self.viewers(daemon).items():
                answer = ask(asked)
                if absent_of(asked, values) == asked:
                    self.check_nothing(what, asked, answer)
                    continue
                # the answer about what is hidden is the answer about what does not exist
                absent = ask(absent_of(asked, values))
                self.assertEqual((answer.status, settled(absent_of(answer.text, values))), (absent.status, settled(absent.text)),
                                 f"{what}, {asked}")
            seen += get_over(connect_as(OWNER_UID, daemon.http_socket), asked).text
        for what, text in TEXTS.items():  # the walk reaches everything
            self.assertTrue(text in seen or text.replace("-", "_") in seen, what)

    def test_metrics_have_ids_and_numbers_only_but_for_readers(self):
        daemon = self.start()
        for accept in ("text/plain", "application/openmetrics-text"):
            for what, ask in self.viewers(daemon).items():
                text = ask("/metrics").text
                self.check_nothing(what, accept, ask("/metrics"))
                self.assertIn('perfd_job_info{job="hidden-job",state="running"', text)
                self.assertIn('perfd_user_jobs_ended_total{uid="other"} 1\n', text)
                self.assertIn('perfd_label_jobs_ended_total{label="', text)
        reader = get_over(connect_as(READER_UID, daemon.http_socket), "/metrics").text
        self.assertIn(f'job="hidden-job",name="job-name-q7",user="{OWNER_UID}"', reader)
        self.assertIn("perfd_kpi", reader)
        self.check_nothing("a reader over TCP", "/metrics", get_over(connect_as(READER_UID, daemon.port), "/metrics"))
        self.check_nothing("a reader", "/api/v1/jobs", get_over(connect_as(READER_UID, daemon.http_socket), "/api/v1/jobs"))

    def test_jobs_of_others_are_counted(self):
        daemon = self.start()
        answer = get_over(connect_as(OTHER_UID, daemon.http_socket), "/api/v1/jobs").json
        self.assertEqual((answer["jobs"], answer["others"]), ([], {"running": 1}))
        done = subprocess.run([self.for_others(), "job", "list"], capture_output=True, text=True, timeout=harness.TIMEOUT_S,
                              env={**os.environ, "PERFD_SOCKET": str(daemon.socket), "HOME": "/"},
                              user=OTHER_UID, group=OTHER_UID, extra_groups=[])
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("running jobs of others: 1, which only they and administrators see", done.stderr)
        own = get_over(connect_as(OWNER_UID, daemon.http_socket), "/api/v1/jobs").json
        self.assertEqual(({job["id"] for job in own["jobs"]}, own["others"]), ({"hidden-job", "hidden-ended"}, {"running": 0}))
        everything = get_over(connect_as(OTHER_UID, daemon.http_socket, [ADMIN_GID]), "/api/v1/jobs").json
        self.assertEqual(len(everything["jobs"]), 2)
        self.assertNotIn("others", everything)

    def test_requests_that_name_a_hidden_job_are_answered_as_if_it_did_not_exist(self):
        daemon = self.start()
        with OwnedClient(OTHER_UID, daemon.socket) as client:
            for job, kind, inherited in itertools.product(("hidden-job", "hidden-ended"), ("end", "mark", "report", "submit"), (0, 1)):
                replies = []
                for name in (job, "absent-job"):
                    request = client.request()
                    if kind == "report":
                        request.pipeline_report.job, request.pipeline_report.inherited = name, inherited
                        request.pipeline_report.events.add(name="x", seconds=1)
                    elif kind == "mark":
                        request.mark.job, request.mark.name, request.mark.inherited = name, "x", inherited
                    elif kind == "submit":
                        request = client.submit_request(harness.indicator("of-other"), job=name)
                        request.submit.indicators[0].inherited = inherited
                    else:
                        request.job_end.job, request.job_end.exit_status = name, 0
                    replies.append(client.call(request))
                self.assert_status(replies[0], "OK" if kind == "submit" else "NOT_FOUND")
                replies[0].sequence = replies[1].sequence
                self.assertEqual(replies[0], replies[1], f"{kind} {job} {inherited}")
            running, ended = client.begin("hidden-job"), client.begin("hidden-ended")
            self.assert_status(running, "DENIED")
            self.assertEqual(running.message, "this id cannot be used: every job needs its own")
            ended.sequence = running.sequence
            self.assertEqual(running, ended)
            for name, status in (("indicator-q7", "NOT_FOUND"), ("absent-q7", "NOT_FOUND"), (MODEL["name"], "NOT_FOUND")):
                request = client.request()
                request.unregister.name, request.unregister.component = name, "component-q7"
                reply = client.call(request)
                self.assert_status(reply, status)
                self.assertEqual(reply.message, f"no model of '{name}' of component-q7 is registered")
        results = get_over(connect_as(OTHER_UID, daemon.http_socket), "/api/v1/indicators/of-other/results").json["results"]
        self.assertEqual(sorted(result["job"] for result in results), ["absent-job"] * 4 + ["hidden-ended"] * 2 + ["hidden-job"] * 2)
        # the owner does not have them
        for job in ("hidden-job", "hidden-ended"):
            results = get_over(connect_as(OWNER_UID, daemon.http_socket), f"/api/v1/results?job={job}").json["results"]
            self.assertNotIn("of-other", {result["name"] for result in results})

    def test_a_reload_applies_it(self):
        daemon = self.start("", notify=True)
        self.assertIn(MARK, self.viewers(daemon)["a stranger"]("/api/v1/jobs").text)
        daemon.configure(CONFIG + PRIVATE)
        daemon.reload()
        self.check_nothing("a stranger", "/api/v1/jobs", self.viewers(daemon)["a stranger"]("/api/v1/jobs"))
        with OwnedClient(OTHER_UID, daemon.socket) as client:
            self.assert_status(client.end("hidden-job", 0), "NOT_FOUND")


if __name__ == "__main__":
    unittest.main()
