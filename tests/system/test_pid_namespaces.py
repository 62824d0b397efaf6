"""Checks that a client in a container names processes by the pids that they have there."""

import os
import pathlib
import pwd
import signal
import subprocess
import unittest

import harness
from harness import wait_for

ROOT = ["unshare", "--pid", "--fork", "--mount-proc"]
USER = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
NOBODY = 65534


def can(command):
    return subprocess.run([*command, "true"], capture_output=True).returncode == 0


def as_nobody(command):
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command] if os.getuid() == 0 else command


class PidNamespaces(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.node = self.daemon("[sampling]\ninterval = 200ms\n")
        self.node.directory.chmod(0o755)
        self.perfctl = self.for_others()

    def inside(self, command, *words):
        process = subprocess.Popen([*command, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**os.environ, "PERFD_SOCKET": str(self.node.socket)})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def job(self, name):
        reply = self.node.get(f"/api/v1/jobs/{name}")
        return reply.json if reply.status == 200 else {}

    def run_and_kill(self, command):
        self.inside(command, self.perfctl, "run", "--job", "run", "--", "sleep", "1000")
        pid = wait_for(lambda: self.job("run").get("pid"), "the job")
        self.assertIn(b"\0run\0--job\0run\0", pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        uid = os.stat(f"/proc/{pid}").st_uid
        self.assertEqual((self.job("run")["uid"], self.job("run")["user"]), (uid, pwd.getpwuid(uid).pw_name))
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self.job("run")["state"] != "running", "the end of the job")

    @unittest.skipUnless(can(ROOT), "needs the right to make a PID namespace")
    def test_a_run_is_bound_to_its_own_process(self):
        self.run_and_kill(ROOT)

    @unittest.skipUnless(can(as_nobody(USER)), "needs user namespaces")
    def test_a_run_of_a_user_namespace_is_bound_to_its_own_process(self):
        self.run_and_kill(as_nobody(USER))

    @unittest.skipUnless(can(ROOT), "needs the right to make a PID namespace")
    def test_pids_are_those_of_the_client(self):
        script = 'sleep 1000 & "$0" job begin sibling --pid $!; "$0" job begin shell --pid $$; "$0" job begin none --pid 77; echo; read end'
        process = self.inside(ROOT, "sh", "-c", script, self.perfctl)
        process.stdout.readline()
        wait_for(lambda: self.job("shell").get("pid"), "the job of the shell")
        self.assertEqual(pathlib.Path(f"/proc/{self.job('sibling')['pid']}/cmdline").read_bytes(), b"sleep\x001000\x00")
        self.assertIn(script.encode(), pathlib.Path(f"/proc/{self.job('shell')['pid']}/cmdline").read_bytes())
        _, errors = process.communicate("\n")
        self.assertIn("no such process near the client in its PID namespace", errors)
        self.assertEqual(self.job("none"), {})


if __name__ == "__main__":
    unittest.main()
