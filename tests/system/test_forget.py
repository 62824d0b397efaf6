"""Checks perfctl db forget: no byte of a user's data is left, other users keep theirs, and an interrupted command can be repeated."""

import contextlib
import json
import os
import pathlib
import subprocess
import threading
import time
import unittest
import uuid

import harness
from harness import wait_for
from test_privacy import OTHER_UID, OwnedClient, connect_as

LEAVER, STAYER = 40011, 40012
ADMIN_GID = 40101
CONFIG = (f"[sampling]\ninterval = 100ms\n[socket]\nadmin_group = {ADMIN_GID}\n[store]\nkeep_results = 0\n"
          "[metrics]\ntotals_label = group\n")
N_RESULTS = 400  # of each user, in turn: the pages of indexes are divided


def mark(word, uid):
    """A text that is found again in the bytes of files, also where it is folded or a part of another."""
    return f"zq{word}q{uid}qz"


class Sender:
    """A user who gives perfd texts of every kind that it takes."""

    def __init__(self, daemon, uid):
        self.uid, self.daemon = uid, daemon
        self.client = OwnedClient(uid, daemon.socket)
        self.job = self.text("job")

    def text(self, word):
        return mark(word, self.uid)

    def begin(self, job=None):
        return self.client.begin(job or self.job, name=self.text("name"), command=self.text("command"),
                                 labels={self.text("key"): self.text("value"), "group": self.text("group")})

    def document(self, i=0):
        return {"name": self.text("indicator"), "component": self.text("component"), "version": self.text("version"),
                "@parameters": {self.text("parameter"): f"{self.text('setting')}{i}"},
                "@result": {self.text("result"): float(i), "note": self.text("note")}}

    def submit(self, *numbers, job="", **more):
        return self.client.submit(*(self.document(i) for i in numbers), job=job, **more)

    def submit_run(self):
        """A result with a run record, a batch, a software stack and a specification; the last two are also those of others."""
        request = self.client.submit_request(self.document(), self.document())
        common = {"packages": [{"name": "zqshared", "kind": "python", "version": "1"}]}
        own = {"packages": [{"name": self.text("package"), "kind": "python", "version": self.text("build")}]}
        for k, item in enumerate(request.submit.indicators):
            item.run = json.dumps({"stderr": self.text("stderr"), "script": self.text("script")}).encode()
            item.exit_status, item.batch, item.index = 0, bytes(range(15)) + bytes([self.uid % 256]), k
            item.stack = item.specification = k + 1
        request.submit.stacks.extend([json.dumps(common).encode(), json.dumps(own).encode()])
        request.submit.specifications.extend([b'{"common":"zqshared"}', json.dumps({"own": self.text("specification")}).encode()])
        return self.client.call(request)

    def register(self, name=None):
        request = self.client.request()
        request.register.model.append(json.dumps(
            {"name": name or self.text("indicator"), "parameters": {self.text("parameter"): {}},
             "results": {self.text("result"): {"unit": self.text("unit"), "direction": "higher"}}}).encode())
        return self.client.call(request)

    def report_pipeline(self):
        request = self.client.request()
        report = request.pipeline_report
        report.job, report.producer = self.job, self.text("producer")
        report.description = json.dumps({"pipeline": self.text("description")}).encode()
        stage = report.stages.add(stage=f"0:1:{self.text('stage')}[4]")
        stage.tasks.elapsed, stage.tasks.num_tasks, stage.tasks.ave_time = 1, 10, 0.01
        report.events.add(name=self.text("event"), seconds=0.5)
        return self.client.call(request)

    def all_kinds(self):
        """Returns the replies."""
        yield self.begin()
        yield self.client.mark(self.text("phase"), job=self.job)
        yield self.client.mark(self.text("later"), job=self.job)
        yield self.register()
        yield self.report_pipeline()
        yield self.submit(*range(20), job=self.job)
        yield self.submit_run()
        yield self.client.end(self.job, exit_status=0)
        yield self.submit(1, job=self.job)


@unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
class Forget(harness.TestCase):
    def started(self, config=CONFIG, n_results=0):
        daemon = self.daemon(config, inherit=True, environment={"RUNTIME_DIRECTORY": str(self.temporary_directory())})
        daemon.directory.chmod(0o755)
        daemon.socket.chmod(0o666)
        leaver, stayer = Sender(daemon, LEAVER), Sender(daemon, STAYER)
        for sender in (leaver, stayer):
            for reply in sender.all_kinds():
                self.assert_status(reply, "OK")
        for i in range(0, n_results, 5):
            for sender in (leaver, stayer):
                self.assert_status(sender.submit(*range(i, i + 5)), "OK")
                for reply in (sender.begin(f"{sender.job}.{i}"), sender.client.end(f"{sender.job}.{i}", exit_status=0)):
                    self.assert_status(reply, "OK")
        return daemon, leaver, stayer

    def forget(self, daemon, *words, uid=LEAVER):
        return daemon.perfctl("db", "forget", "--user", uid, *words)

    def found(self, daemon, uid):
        """Returns the marks of a user in all files of perfd, and in what it shows."""
        files = [path for directory in (daemon.state, pathlib.Path(daemon.environment["RUNTIME_DIRECTORY"]))
                 for path in directory.rglob("*") if path.is_file()]
        texts = [path.read_bytes() for path in files]
        texts += [daemon.get(path).body for path in ("/metrics", "/api/v1/jobs", "/api/v1/indicators", "/api/v1/models", "/api/v1/quota")]
        end, marks = f"q{uid}qz".encode(), set()
        for text in texts:
            at = -1
            while (at := text.find(end, at + 1)) >= 0:
                marks.add(text[text.rfind(b"zq", 0, at):at + len(end)].decode(errors="replace"))
        return marks

    def rows(self, daemon, uid):
        """Rows of a user, by the API."""
        jobs = [job["id"] for job in daemon.get("/api/v1/jobs?limit=1000").json["jobs"] if job["uid"] == uid]
        results = daemon.get(f"/api/v1/indicators/{mark('indicator', uid)}/results?limit=1000")
        return sorted(jobs), results.status == 200 and len(results.json["results"])

    def assert_healthy(self, daemon):
        check = daemon.perfctl("db", "check", "--directory", daemon.state)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def test_no_byte_of_a_user_is_left(self):
        daemon, _, stayer = self.started(n_results=N_RESULTS)
        kept, marks = self.rows(daemon, STAYER), self.found(daemon, STAYER)
        # what is sought is found before
        self.assertEqual({m.replace(str(LEAVER), str(STAYER)) for m in self.found(daemon, LEAVER)}, marks)
        self.assertLessEqual({mark(word, LEAVER) for word in (
            "job", "name", "command", "key", "value", "group", "indicator", "component", "version", "parameter", "setting",
            "result", "note", "stderr", "script", "package", "build", "specification", "unit", "producer", "description", "stage",
            "event", "phase", "later")}, self.found(daemon, LEAVER))
        accounts = pathlib.Path(daemon.environment["RUNTIME_DIRECTORY"])
        self.assertIn(mark("group", LEAVER), (accounts / "account.users").read_text(errors="replace"))

        done = self.forget(daemon)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"^uid {LEAVER} forgotten: \d+ of job, \d+ of result\n$")
        self.assertIn("/.local/state/perfd/spool", done.stderr)
        self.assertEqual(self.found(daemon, LEAVER), set())
        self.assertNotIn(f'"{LEAVER}"', daemon.get("/metrics").text)
        self.assertEqual(self.found(daemon, STAYER), marks)
        self.assertEqual(self.rows(daemon, STAYER), kept)
        self.assert_healthy(daemon)
        daemon.wait_log(f"Forgot uid {LEAVER}")

        # nothing comes back with a restart, and what others share works
        daemon.restart()
        self.assertEqual(self.found(daemon, LEAVER), set())
        self.assertEqual(self.rows(daemon, STAYER), kept)
        stayer.client = OwnedClient(STAYER, daemon.socket)
        self.assert_status(stayer.submit_run(), "OK")
        self.assertNotIn(str(LEAVER), daemon.get("/api/v1/quota").text)

    def test_only_what_is_older_is_forgotten(self):
        daemon, leaver, _ = self.started()
        day_ms = 86400 * 1000
        old = time.time_ns() // 10**6 - 40 * day_ms
        self.assert_status(leaver.submit(100, 101, time_ms=old), "OK")
        self.assert_status(leaver.begin("running"), "OK")
        n_results = self.rows(daemon, LEAVER)[1]
        done = self.forget(daemon, "--before", "30d")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("forgotten: 2 of result\n", done.stdout)
        self.assertEqual(self.rows(daemon, LEAVER), (["running", leaver.job], n_results - 2))
        self.assertIn(leaver.text("indicator"), daemon.get("/api/v1/models").text)

    def test_a_user_with_a_running_job_is_refused(self):
        daemon, leaver, _ = self.started()
        self.assert_status(leaver.begin("running"), "OK")
        before = self.rows(daemon, LEAVER)
        done = self.forget(daemon)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"uid {LEAVER} has 1 running jobs, such as running", done.stderr)
        self.assertEqual(self.rows(daemon, LEAVER), before)

    def test_only_administrators_may_forget(self):
        daemon, *_ = self.started()
        words = ["--socket", str(daemon.socket), "db", "forget", "--user", str(LEAVER)]
        done = subprocess.run([self.for_others(), *words], text=True, capture_output=True, user=LEAVER, group=LEAVER, extra_groups=[])
        self.assertEqual(done.returncode, 1)
        self.assertIn("permission denied: forgetting a user needs root or a member of the administrators' group ([socket] admin_group)",
                      done.stderr)
        self.assertEqual(self.rows(daemon, LEAVER)[0], [mark("job", LEAVER)])
        done = subprocess.run([self.for_others(), *words], text=True, capture_output=True, user=OTHER_UID, group=OTHER_UID,
                              extra_groups=[ADMIN_GID])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rows(daemon, LEAVER), ([], False))

    def test_unknown_users(self):
        daemon = self.daemon(CONFIG)
        done = daemon.perfctl("db", "forget", "--user", "no-such-user")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no such user: no-such-user; of a user who was removed, give the number", done.stderr)
        self.assertEqual(daemon.perfctl("db", "forget").returncode, 2)
        self.assertIn("nothing was stored", self.forget(daemon, uid=4242).stdout)

    def test_models_of_an_administrator_stay_without_the_name(self):
        daemon, *_ = self.started()
        with contextlib.closing(harness.Client.__new__(harness.Client)) as admin:
            admin.socket, admin.buffer, admin.sequence = connect_as(LEAVER, daemon.socket, [ADMIN_GID]), b"", 0
            request = admin.request()
            request.register.model.append(b'{"name": "site", "results": {"rate": {"unit": "1/s"}}}')
            self.assert_status(admin.call(request), "OK")
        self.assertEqual(self.forget(daemon).returncode, 0)
        for _ in range(2):
            model, = (m for m in daemon.get("/api/v1/models").json["models"] if m["name"] == "site")
            self.assertEqual(model["uid"], 0)
            daemon.restart()

    def test_copies_are_deleted_on_request_only(self):
        daemon, *_ = self.started()
        for word in ("older", "salvaged"):
            (daemon.state / f"perfd.db.{word}-2026-11-22T14:00:00Z").write_text(mark("copy", LEAVER))
        done = self.forget(daemon)
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 files that were put aside", done.stderr)
        self.assertIn("--copies", done.stderr)
        self.assertEqual(self.rows(daemon, LEAVER), ([], False))
        done = self.forget(daemon, "--copies")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.found(daemon, LEAVER), set())

    def test_a_kill_in_the_middle(self):
        """The command is repeated until it comes to its end; what others store meanwhile is kept."""
        daemon, _, stayer = self.started(n_results=N_RESULTS)
        acknowledged = []
        for delay_s in (0, 0.001, 0.005, 0.02, 0.05):
            process = subprocess.Popen([str(harness.PERFCTL), "--socket", str(daemon.socket), "db", "forget", "--user", str(LEAVER)],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_for(lambda: process.poll() is not None or self.n_of(daemon) < 2 * N_RESULTS, "the first removal")
            time.sleep(delay_s)
            daemon.kill()
            daemon.start() # a request that still waited in the socket is carried out now
            process.wait(harness.TIMEOUT_S)
            stayer.client = OwnedClient(STAYER, daemon.socket)
            acknowledged.append(uuid.uuid4().bytes)
            self.assert_status(stayer.submit(0, ids=acknowledged[-1:]), "OK")
        self.assertEqual(self.forget(daemon).returncode, 0)
        self.assertEqual(self.found(daemon, LEAVER), set())
        for i in acknowledged:
            self.assert_status(stayer.submit(0, ids=[i]), "DUPLICATE")
        self.assert_healthy(daemon)

    def n_of(self, daemon):
        try:
            return sum(i["results"] for i in daemon.get("/api/v1/indicators").json["indicators"])
        except OSError:
            return 0

    def test_a_full_disk_is_said_and_the_command_repeated(self):
        directory = self.temporary_directory()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", directory]).returncode != 0:
            self.skipTest("needs root, to mount a file system")
        self.addCleanup(subprocess.run, ["umount", "--lazy", directory])
        daemon = self.daemon(CONFIG, args=["--state", directory])
        daemon.directory.chmod(0o755)
        daemon.state = directory
        leaver, stayer = Sender(daemon, LEAVER), Sender(daemon, STAYER)
        for k in range(20):
            for sender in (leaver, stayer):
                documents = [{**sender.document(i), "more": os.urandom(1000).hex()} for i in range(100 * k, 100 * k + 100)]
                self.assert_status(sender.client.submit(*documents), "OK")
        # room for the removal, but not for the database that is written anew
        filler = directory / "filler"
        filler.write_bytes(bytes(os.statvfs(directory).f_bavail * 4096 - (4 << 20)))
        done = self.forget(daemon)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stderr, "; bytes of removed rows may be left: .*full.*; repeat the command")
        filler.unlink()
        done = self.forget(daemon)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rows(daemon, LEAVER), ([], False))
        self.assertFalse([path for path in directory.iterdir() if f"q{LEAVER}qz".encode() in path.read_bytes()])
        self.assertEqual(self.n_of(daemon), 2000)
        self.assert_healthy(daemon)

    def test_others_are_served_meanwhile(self):
        daemon, _, stayer = self.started(n_results=N_RESULTS)
        done = []
        thread = threading.Thread(target=lambda: done.append(self.forget(daemon)))
        thread.start()
        while thread.is_alive():
            self.assert_status(stayer.submit(0), "OK")
            self.assertEqual(daemon.get("/api/v1/jobs").status, 200)
        self.assertEqual(done[0].returncode, 0, done[0].stderr)
        self.assertEqual(self.found(daemon, LEAVER), set())
        self.assert_healthy(daemon)


if __name__ == "__main__":
    unittest.main()
