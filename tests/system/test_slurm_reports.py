"""Writes and reads reports in a directory that all nodes share: by the epilog of Slurm, as the user of the job, and by perfctl on a
machine without perfd."""

import json
import os
import pathlib
import subprocess
import unittest

from harness import PERFCTL, ROOT, TestCase, wait_for

USER, OTHER = (54321, 54322) if os.getuid() == 0 else (os.getuid(), os.getuid())
JOB = {"SLURM_JOB_ID": "4711", "SLURM_JOB_UID": str(USER), "SLURM_JOB_GID": str(USER), "SLURM_JOB_USER": "alice",
       "SLURM_JOB_PARTITION": "batch", "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_NODELIST": "cn[1-3]", "SLURMD_NODENAME": "cn1"}


class ReportsTestCase(TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.directory.chmod(0o755)
        self.shared = self.directory / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o3777)
        self.keep = self.directory / "keep"
        self.program = self.for_others()
        for name in ("prolog", "epilog", "save_report", "epilog_slurmctld"):
            text = (ROOT / "conf" / "slurm" / name).read_text().replace("/usr/bin/perfctl", str(PERFCTL))
            text = text.replace("/usr/share/perfd/slurm", str(self.directory)).replace("/etc/perfd", str(self.directory))
            self.write_script(name, text)

    def write_script(self, name, text):
        (self.directory / name).write_text(text)
        (self.directory / name).chmod(0o755)

    def run_script(self, name, socket_path="/absent.sock", *words, **changes):
        environment = {**JOB, "PERFD_SOCKET": str(socket_path), "PERFD_SLURM_DIRECTORY": str(self.keep),
                       "PERFD_REPORTS": str(self.shared), **changes}
        sanitizers = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}
        done = subprocess.run([self.directory / name, *words], env={**sanitizers, **environment}, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def perfctl(self, *words, uid=USER, **environment):
        """Runs perfctl as a user of a machine without perfd."""
        who = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if os.getuid() == 0 else []
        variables = {"PERFD_SOCKET": "/absent/perfd.sock", "PERFD_REPORTS": str(self.shared), **environment}
        return subprocess.run([*who, "env", *(f"{k}={v}" for k, v in variables.items()), self.program, *words], capture_output=True,
                              text=True, timeout=60)

    def path(self, node="cn1", id="4711", uid=USER):
        return self.shared / str(uid) / f"{id}@{node}.json"

    def put(self, report, node, id="4711", uid=USER, **changes):
        """Writes the report of another node or job, which belongs to the user."""
        path = self.path(node, id, uid)
        path.parent.mkdir(exist_ok=True)
        labels = {**report["labels"], "slurm_node": node, "slurm_job": id.split(".")[0]}
        path.write_text(json.dumps({**report, "id": id, "uid": uid, "labels": labels, "on": {**report["on"], "hostname": node},
                                    **changes}))
        for owned in (path.parent, path):
            os.chown(owned, uid, uid)

    def put_state(self, id, **members):
        path = self.shared / "state" / f"{id}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(members))

    def job(self, daemon):
        """Runs a job from prolog to epilog. Returns its report."""
        self.run_script("prolog", daemon.socket)
        self.run_script("epilog", daemon.socket, SLURM_JOB_EXIT_CODE2="0:0")
        wait_for((self.path().parent / ".cleaned").exists, "the report")
        return json.loads(self.path().read_text())


class Write(ReportsTestCase):
    def test_the_epilog_writes_a_report_as_the_user(self):
        report = self.job(self.daemon())
        self.assertEqual((report["id"], report["state"], report["labels"]["nodelist"]), ("4711", "finished", "cn[1-3]"))
        for path, mode in ((self.path(), 0o640), (self.path().parent, 0o2750)):
            status = path.stat()
            self.assertEqual((status.st_uid, status.st_mode & 0o7777), (USER, mode), path)
        self.assertEqual(sorted(path.name for path in self.path().parent.iterdir()), [".cleaned", self.path().name])

    def test_privacy_decides_who_may_read(self):
        daemon = self.daemon()
        self.run_script("prolog", daemon.socket)
        for setting, mode in (("= all", 0o644), ("= private", 0o600), (": private", 0o600), ("= own", 0o640)):
            (self.directory / "perfd.conf").write_text(f"[http]\n#privacy = own\nprivacy {setting}\n")
            self.run_script("save_report", daemon.socket, "4711")
            self.assertEqual(self.path().stat().st_mode & 0o777, mode, setting)

    def test_names_that_others_have_taken(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to act as several users")
        daemon = self.daemon()
        own, there = self.shared / str(USER), self.directory / "there"
        there.mkdir()
        os.chown(there, USER, USER)
        for make in (lambda: own.mkdir(), lambda: own.symlink_to(there), lambda: own.write_text(""), lambda: os.mkfifo(own)):
            make()
            os.chown(own, OTHER, OTHER, follow_symlinks=False)
            self.run_script("prolog", daemon.socket)
            self.run_script("save_report", daemon.socket, "4711")
            self.assertEqual((list(there.iterdir()), own.is_dir() and list(own.iterdir())), ([], [] if own.is_dir() else False))
            own.rmdir() if own.is_dir() and not own.is_symlink() else own.unlink()
        # A link in the user's own directory is replaced, and not followed.
        own.mkdir()
        os.chown(own, USER, USER)
        (there / "file").write_text("kept")
        self.path().symlink_to(there / "file")
        self.run_script("save_report", daemon.socket, "4711")
        self.assertEqual(((there / "file").read_text(), self.path().is_symlink()), ("kept", False))

    def test_root_and_names_that_are_no_names_have_no_report(self):
        daemon = self.daemon()
        self.run_script("prolog", daemon.socket)
        for words, changes in ((["../4711"], {}), (["4711"], {"SLURM_JOB_UID": "0"}), (["4711"], {"SLURM_JOB_UID": "$(id)"}),
                               (["4711"], {"SLURMD_NODENAME": "../x"}), (["4711"], {"PERFD_REPORTS": "relative"}), ([], {})):
            self.run_script("save_report", daemon.socket, *words, **changes)
        self.assertEqual(list(self.shared.iterdir()), [])

    def test_the_epilog_does_not_wait_for_the_file_system(self):
        daemon = self.daemon()
        self.write_script("save_report", f"#!/bin/sh\necho $$ >{self.directory}/pid\nexec sleep 600\n")
        self.run_script("prolog", daemon.socket)
        self.run_script("epilog", daemon.socket)
        pid = wait_for(lambda: (p := self.directory / "pid").exists() and p.read_text().strip(), "the process that hangs")
        os.kill(int(pid), 9)

    def test_old_reports_are_removed(self):
        report = self.job(self.daemon())
        self.put(report, "cn1", "17")
        os.utime(self.path(id="17"), (0, 0))
        os.utime(self.path().parent / ".cleaned", (0, 0))
        daemon = self.daemon()
        self.run_script("prolog", daemon.socket)
        self.run_script("save_report", daemon.socket, "4711")
        self.assertEqual((self.path(id="17").exists(), self.path().exists()), (False, True))


class Read(ReportsTestCase):
    def setUp(self):
        super().setUp()
        self.report = self.job(self.daemon())
        self.put(self.report, "cn1")

    def test_the_nodes_of_a_job_are_one_report_that_names_those_without(self):
        self.put(self.report, "cn2", exit=None)
        shown = self.perfctl("report", "4711")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertRegex(shown.stdout, r"Run 4711 .*finished: exit status unknown")
        self.assertIn("2 of 3 hosts", shown.stdout)
        self.assertRegex(shown.stdout, r"missing +reports of cn3\n")
        self.put_state("4711", state="TIMEOUT", slurm_job="4711", exit_status=0, signal=15)
        self.assertRegex(self.perfctl("report", "4711").stdout, r"Run 4711 .*TIMEOUT: signal 15")
        line = self.perfctl("report", "--one-line", "4711").stdout
        self.assertRegex(line, r" on 2 nodes of 3")
        self.assertEqual(line.count("\n"), 1)
        merged = json.loads(self.perfctl("report", "--json", "4711").stdout)
        self.assertEqual((len(merged["reports"]), merged["run"]["slurm"]["state"]), (2, "TIMEOUT"))

    def test_names_of_slurm_and_requeued_jobs(self):
        self.put(self.report, "cn1", "4711.r1", name="again")
        page = self.directory / "page.html"
        self.assertEqual(json.loads(self.perfctl("report", "--json", "--html", page, "4711", uid=os.getuid()).stdout)["id"], "4711.r1")
        self.assertIn('"id":"4711.r1"', page.read_text())
        self.put_state("5000_7", slurm_job="4711", state="COMPLETED")
        self.put_state("4711.r1", slurm_job="4711", state="OUT_OF_MEMORY")
        self.put_state("4711", slurm_job="4711", state="REQUEUED")
        for name, id, state in (("5000_7", "4711.r1", "OUT_OF_MEMORY"), ("4711.r1", "4711.r1", "OUT_OF_MEMORY")):
            shown = json.loads(self.perfctl("report", "--json", name).stdout)
            self.assertEqual((shown["id"], shown["slurm"]["state"]), (id, state))
        self.assertIn("no socket", self.perfctl("report", "5000_8").stderr)

    def test_own_jobs_are_listed_and_those_that_failed(self):
        self.put(self.report, "cn2", exit=None)
        self.put(self.report, "cn1", "4712", name="late", exit=None)
        self.put(self.report, "cn1", "4713", name="wrong", exit={"status": 3, "signal": 0})
        self.put(self.report, "cn1", "4714", exit=None)
        self.put_state("4712", slurm_job="4712", state="TIMEOUT")

        def ids(*words):
            done = self.perfctl("job", "list", "--json", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return [job["id"] for job in json.loads(done.stdout)["jobs"]]

        self.assertEqual(ids(), ["4714", "4713", "4712", "4711"])
        self.assertEqual(ids("--failed"), ["4713", "4712"])
        self.assertEqual(ids("--limit", "2"), ["4714", "4713"])
        self.assertEqual((ids("--name", "late"), ids("--label", "slurm_job=4711"), ids("--state", "running")), (["4712"], ["4711"], []))
        self.assertEqual((ids("--since", "1d"), ids("--user", "1")), (["4714", "4713", "4712", "4711"], []))
        self.assertRegex(self.perfctl("job", "list").stdout, r"4712 +TIMEOUT ")

    def test_files_that_are_not_of_the_user_are_not_read(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to act as several users")
        self.put(self.report, "cn1", "1")
        os.chown(self.path(id="1"), OTHER, OTHER)
        self.path(id="2").symlink_to(self.path())
        os.mkfifo(self.path(id="3"))
        self.path(id="4").write_text("{")
        os.chown(self.path(id="4"), USER, USER)
        for id in ("1", "2", "3", "4"):
            shown = self.perfctl("report", id, uid=0)
            self.assertEqual((shown.returncode, shown.stdout), (1, ""), id)
        self.assertEqual([job["id"] for job in json.loads(self.perfctl("job", "list", "--json").stdout)["jobs"]], ["4711"])
        # A directory that another user has made.
        self.put(self.report, "cn1", "5", uid=OTHER)
        os.chown(self.path(uid=OTHER).parent, USER, USER)
        self.assertIn("no socket", self.perfctl("report", "5", uid=0).stderr)
        # Root and others who may read the file find the reports of a user.
        self.assertEqual(json.loads(self.perfctl("report", "--json", "4711", uid=0).stdout)["id"], "4711")
        # A user who writes a report of another job, or of a job of another user.
        for forged in ({"uid": USER}, {"uid": USER, "id": "9"}, {"uid": str(OTHER)}):
            for id in ("4711", "6"):
                self.put(self.report, "cn1", id, uid=OTHER)
                self.path(id=id, uid=OTHER).write_text(json.dumps({**self.report, "id": id, "uid": OTHER, **forged}))
            self.assertEqual(json.loads(self.perfctl("report", "--json", "4711", uid=0).stdout)["uid"], USER)
            self.assertEqual(self.perfctl("report", "6", uid=0).returncode, 1)
            self.assertEqual(self.perfctl("report", "6", uid=OTHER).returncode, 1)
        # States of another than the owner of the directory.
        self.put_state("4711", state="FAILED")
        os.chown(self.shared / "state", OTHER, OTHER)
        self.assertNotIn("slurm", json.loads(self.perfctl("report", "--json", "4711").stdout))


class FinalState(ReportsTestCase):
    """test_slurm.py has the real slurmctld, without accounting. Here, scripts with the output of its commands take their place."""

    def state(self, id="4711", fields="TIMEOUT   |0  |batch |(null) |long |N/A |1-00:00:00 |cn[1-3] |", **changes):
        (self.shared / "state").mkdir(exist_ok=True)
        self.write_script("squeue", f"#!/bin/sh\necho '{fields}'\n")
        self.write_script("sacctmgr", f"#!/bin/sh\nfor word; do echo \"$word\"; done >{self.directory}/accounted\n")
        self.run_script("epilog_slurmctld", "/absent.sock", PERFD_SLURM_BIN=str(self.directory), **changes)
        path = self.shared / "state" / f"{id}.json"
        text = wait_for(lambda: path.exists() and path.read_text(), "the state")
        path.unlink()
        return json.loads(text)

    def test_the_state_has_what_slurm_tells(self):
        self.assertEqual(self.state(SLURM_JOB_EXIT_CODE2="0:15"),
                         {"slurm_job": "4711", "state": "TIMEOUT", "exit_status": 0, "signal": 15, "restarts": 0, "partition": "batch",
                          "qos": "long", "time_limit": "1-00:00:00", "nodelist": "cn[1-3]"})
        state = self.state(fields='COMPLETED|1|a"b|c\\d|{}|e|||', SLURM_JOB_RESTART_COUNT="1", id="4711.r1")
        self.assertEqual(state, {"slurm_job": "4711", "state": "COMPLETED", "restarts": 1, "reservation": "e"})
        self.assertEqual(self.state(fields="PENDING|1||||||", SLURM_JOB_RESTART_COUNT="1")["state"], "REQUEUED")

    def test_a_line_in_the_comment_of_the_accounting(self):
        report = self.job(self.daemon())
        self.put(report, "cn1")
        self.put(report, "cn2")
        self.state(PERFD_ADMIN_COMMENT="yes")
        words = wait_for(lambda: (p := self.directory / "accounted").exists() and p.read_text().splitlines(), "the comment", 60)
        self.assertEqual(words[:6], ["-i", "update", "job", "where", "jobid=4711", "set"])
        self.assertRegex(words[6], r"^AdminComment=perfd: TIMEOUT, .* on 2 nodes of 3")


if __name__ == "__main__":
    unittest.main()
