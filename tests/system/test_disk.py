"""Starts perfd on a full disk: sampling and scraping continue, and submissions fail with a reason."""

import os
import subprocess
import unittest

import harness
from harness import wait_for
from test_job_groups import Group

CONFIG = "[sampling]\ninterval = 100ms\n[http]\nquery_timeout = 60s\n" # a query takes longer with a sanitizer


class Disk(harness.TestCase):
    def fill(self, filler):
        with self.assertRaises(OSError), open(filler, "wb", buffering=0) as f:
            while True:
                f.write(bytes(4096))

    def small_disk(self, size="2m"):
        """Mounts a full file system. Returns its directory, and the file to delete to free space."""
        directory = self.temporary_directory()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", directory]).returncode != 0:
            self.skipTest("needs root, to mount a file system")
        self.addCleanup(subprocess.run, ["umount", "--lazy", directory])
        filler = directory / "filler"
        self.fill(filler)
        return directory, filler

    def daemon_on(self, directory):
        """The last --state takes effect."""
        return self.daemon(CONFIG, args=["--state", directory])

    def test_perfd_starts_on_a_full_disk_and_stores_when_there_is_space(self):
        directory, filler = self.small_disk()
        daemon = self.daemon_on(directory)

        self.assertEqual(daemon.wait_tick()["perfd_store_writable"], 0)
        self.assertIn("cannot open", daemon.get("/api/v1/node").json["store"]["error"])
        self.assertEqual(daemon.get("/api/v1/indicators").status, 503)
        ready = daemon.get("/-/ready")
        self.assertEqual((ready.status, ready.text.startswith("not ready\nstore: cannot open")), (503, True), ready.text)
        log = daemon.wait_log("answering submissions with UNAVAILABLE")
        self.assertIn(f"Continuing without a database; will keep retrying: cannot open {directory}/perfd.db: No space left on", log)
        with daemon.client() as client:
            request = client.request()
            request.register.model.append(harness.to_json({"name": "Early", "results": {"x": "int"}}))
            for reply in (client.submit(harness.indicator()), client.begin("early"), client.call(request)):
                self.assert_status(reply, "UNAVAILABLE")
                self.assertIn("No space left on device", reply.message)

            filler.unlink()
            reply = wait_for(lambda: (r := client.submit(harness.indicator())).status != harness.wire.UNAVAILABLE and r, "the store")
            self.assert_status(reply, "OK")
            self.assert_status(client.begin("early"), "OK")
            self.assert_status(client.end("early", 0), "OK")
        daemon.wait_log("The store is writable again")
        self.assertEqual(daemon.wait_tick()["perfd_store_writable"], 1)
        self.assertEqual(daemon.get("/-/ready").text, "ready\n")
        self.assertEqual(daemon.get("/api/v1/jobs/early").json["state"], "finished")
        self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"][0]["results"], 1)

    def test_a_job_from_before_a_start_on_a_full_disk_is_interrupted_and_may_still_end(self):
        directory, filler = self.small_disk()
        filler.unlink()
        daemon = self.daemon_on(directory)
        with daemon.client() as client:
            self.assert_status(client.begin("before"), "OK")
            request = client.request()
            request.register.model.append(harness.to_json({"name": "Kept", "results": {"x": "int"}}))
            self.assert_status(client.call(request), "OK")
        daemon.stop()
        self.fill(filler)

        daemon.start()
        self.assertEqual(daemon.wait_tick()["perfd_store_writable"], 0)
        filler.unlink()
        wait_for(lambda: daemon.metrics()["perfd_store_writable"] == 1, "the store")
        job = daemon.get("/api/v1/jobs/before").json
        self.assertEqual(job["state"], "interrupted")
        self.assertIn("could not open its database", job["note"])
        wait_for(lambda: [m["name"] for m in daemon.get("/api/v1/models").json["models"]] == ["Kept"], "the registered model")
        with daemon.client() as client:
            self.assert_status(client.end("before", 3), "OK")
        self.assertEqual(daemon.get("/api/v1/jobs/before").json["state"], "finished")

    def test_a_disk_that_fills_while_results_are_indexed_leaves_the_answers_right(self):
        directory, filler = self.small_disk("16m")
        filler.unlink()
        daemon = self.daemon_on(directory)
        model = {"name": "demo", "parameters": {"n": {"type": "int", "index": "int"}}, "results": {"rate": "float"}}

        def ask():
            answer = daemon.get("/api/v1/indicators/demo/query?where=n%3D3&group_by=version&stat=median:rate,n:rate")
            self.assertEqual(answer.status, 200, answer.text)
            return [(group["key"], group["n"], group["values"]) for group in answer.json["groups"]]

        def register(client):
            request = client.request()
            request.register.model.append(harness.to_json(model))
            return client.call(request)
        with daemon.client() as client:
            for k in range(10):
                documents = [{**harness.indicator(rate=float(i)), "version": f"v{i % 3}", "@parameters": {"n": i % 7}}
                             for i in range(1000 * k, 1000 * (k + 1))]
                self.assert_status(client.submit(*documents), "OK")
            before = ask()
            self.assertEqual(sum(n for _, n, _ in before), 1429)
            self.assert_status(register(client), "OK")
            self.fill(filler)
            for _ in range(20):
                self.assertEqual(ask(), before)
            wait_for(lambda: client.submit(harness.indicator()).status == harness.wire.UNAVAILABLE, "the full disk to be noticed")
            self.assertEqual(ask(), before)
            daemon.kill()
            filler.unlink()
        daemon.start()
        self.assertEqual(ask(), before)
        with daemon.client() as client:
            self.assert_status(register(client), "DUPLICATE")
            self.assert_status(client.submit({**harness.indicator(rate=1e9), "@parameters": {"n": 3}, "version": "new"}), "OK")
        self.assertEqual(len(ask()), len(before) + 1)

    def test_a_mark_that_cannot_be_stored_changes_nothing(self):
        directory, filler = self.small_disk()
        filler.unlink()
        daemon = self.daemon_on(directory)
        phases = [""]
        with daemon.client() as client:
            self.assert_status(client.begin("job"), "OK")
            self.assert_status(client.mark("load", job="job"), "OK")
            phases.append("load")
            with self.assertRaises(OSError), open(filler, "wb", buffering=0) as f:
                while True:
                    f.write(bytes(4096))
            # The database still has room for some rows.
            while (reply := client.mark(f"more {len(phases)}", job="job")).status == harness.wire.OK:
                phases.append(f"more {len(phases)}")
                self.assertLess(len(phases), 900)
            self.assert_status(reply, "UNAVAILABLE")
            for i in range(3):
                client.send(self.mark_request(client, f"refused {i}"))
            for _ in range(3):
                self.assert_status(client.receive(), "UNAVAILABLE")

            filler.unlink()
            reply = wait_for(lambda: (r := client.mark("last", job="job")).status != harness.wire.UNAVAILABLE and r, "the store")
            self.assert_status(reply, "OK")
            self.assertEqual(reply.mark.previous, phases[-1])
            self.assert_status(client.end("job", 0), "OK")
        found = daemon.get("/api/v1/jobs/job").json["phases"]
        self.assertEqual([(p["index"], p["name"]) for p in found], list(enumerate(phases + ["last"])))
        for before, after in zip(found, found[1:]):
            self.assertEqual(before["end_ms"], after["begin_ms"])

    def test_a_first_mark_that_could_not_be_stored_leaves_no_phases(self):
        directory, filler = self.small_disk()
        filler.unlink()
        daemon = self.daemon_on(directory)
        with daemon.client() as client:
            for n in range(2000):  # the database still has room for some rows
                self.assert_status(client.begin(f"job-{n}"), "OK")
                if n == 0:
                    with self.assertRaises(OSError), open(filler, "wb", buffering=0) as f:
                        while True:
                            f.write(bytes(4096))
                if (reply := client.mark("load", job=f"job-{n}")).status != harness.wire.OK:
                    break
            self.assert_status(reply, "UNAVAILABLE")
            self.assertEqual(daemon.wait_tick()["perfd_store_writable"], 0)
            self.assertEqual(daemon.get(f"/api/v1/jobs/job-{n}").json["phases"], [])
            filler.unlink()
            reply = wait_for(lambda: (r := client.mark("load", job=f"job-{n}")).status != harness.wire.UNAVAILABLE and r, "the store")
            self.assert_status(reply, "OK")
            self.assertEqual(reply.mark.previous, "")
            self.assert_status(client.end(f"job-{n}", 0), "OK")
        self.assertEqual([p["name"] for p in daemon.get(f"/api/v1/jobs/job-{n}").json["phases"]], ["", "load"])

    def test_a_job_that_is_found_on_a_full_disk_is_stored_when_there_is_space(self):
        top = Group()
        self.addCleanup(top.remove)
        config = CONFIG + f"[jobs]\nlinger = 0\n[patterns]\nother = /{top.path.name}/job_{{job}}\nslurm =\nslurm_v1 =\n"
        directory, filler = self.small_disk()
        daemon = self.daemon(config, args=["--state", directory])
        self.assertEqual(daemon.wait_tick()["perfd_store_writable"], 0)

        runs, over = (Group(name=name, parent=top) for name in ("job_runs", "job_over"))
        for group in (runs, over):
            self.addCleanup(group.remove)
            group.used(group.start(cpu_seconds=0.1))
        wait_for(lambda: daemon.metrics()["perfd_cgroups_found_total"] == 2, "both to be found")
        daemon.wait_tick() # the tick reads both groups
        truth = {"runs": runs.cpu_seconds(), "over": over.cpu_seconds()}
        over.remove()
        filler.unlink()

        wait_for(lambda: daemon.metrics()["perfd_jobs_running"] == 1, "the one to run and the other to be over")
        for job, state in (("runs", "running"), ("over", "finished")):
            found = wait_for(lambda: (r := daemon.get(f"/api/v1/jobs/{job}")).status == 200 and r.json["state"] == state and r.json,
                             f"job {job} to be {state}")
            used = next(m for m in found["metrics"] if m["key"] == "job_cpu_seconds")
            self.assertAlmostEqual(used["value"], truth[job], delta=0.02)

    @staticmethod
    def mark_request(client, name):
        request = client.request()
        request.mark.job, request.mark.name = "job", name
        return request


if __name__ == "__main__":
    unittest.main()
