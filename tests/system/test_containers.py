"""Checks perfctl-static in a container that has only it and /run/perfd: no other program, no library, no /proc and no user names."""

import json
import os
import re
import subprocess
import unittest

import harness
from harness import BUILD, ROOT, spdl_lines
from test_pid_namespaces import NOBODY, as_nobody

# Sanitizers need the dynamic C library: their tests use the program of the plain build.
STATIC = next((path for path in (BUILD / "perfctl-static", ROOT / "build" / "perfctl-static") if path.exists()), None)
PERFCTL = "/usr/bin/perfctl"
DATA = ROOT / "tests" / "data" / "pipelines" / "spdl_0.8_slow_stage.json"
# Mounts an empty root, with the two mounts of the manual.
ENTER = f"""
set -e
root=$1 run=$2 program=$3; shift 3
mount -t tmpfs -o mode=755 none "$root"
mkdir -p "$root/run/perfd" "$root/usr/bin"
touch "$root{PERFCTL}"
mount --bind "$run" "$root/run/perfd"
mount --bind "$program" "$root{PERFCTL}"
mount -o remount,bind,ro "$root/run/perfd"
mount -o remount,bind,ro "$root{PERFCTL}"
exec chroot "$root" "$@"
"""
OF_ROOT = ["unshare", "--mount"]
ROOTLESS = ["unshare", "--user", "--map-root-user", "--mount"]
# The locale is one whose character set the C library would load a library for.
ENVIRONMENT = {"PATH": os.environ["PATH"], "PERFD_SPOOL": "/run/spool", "LC_ALL": "de_DE.ISO-8859-1"}


def can(command):
    done = subprocess.run([*command, "sh", "-c", "mount -t tmpfs none /tmp && chroot / true"], capture_output=True)
    return done.returncode == 0


@unittest.skipUnless(STATIC, "perfctl-static is not built: libraries without a static one")
class Containers(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.node = self.daemon()
        self.node.directory.chmod(0o755)
        self.program = self.for_others(STATIC)
        self.root = self.temporary_directory()

    def inside(self, command, *words, stdin="", status=0, run=None):
        done = subprocess.run([*command, "sh", "-c", ENTER, "sh", self.root, run or self.node.directory, self.program, PERFCTL, *words],
                              input=stdin, capture_output=True, text=True, timeout=harness.TIMEOUT_S, env=ENVIRONMENT)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def check(self, command, uid):
        self.assertEqual(self.inside(command, "submit", stdin=json.dumps(harness.indicator("Inside"))), "1 stored\n")
        self.inside(command, "run", "--job", "training", "--", PERFCTL, "mark", "epoch")
        self.inside(command, "job", "begin", "loading")
        self.inside(command, "pipeline", "submit", "--job", "loading", "-", stdin=spdl_lines(DATA).stdout)
        self.inside(command, "job", "end", "loading")
        self.assertEqual(self.inside(command, "flush"), "spool is empty\n")

        job = self.node.get("/api/v1/jobs/training").json
        self.assertEqual((job["state"], job["uid"], job["exit"]["status"], job["phases"][-1]["name"]), ("finished", uid, 0, "epoch"))
        self.assertIn("0:1:first", [stage["stage"] for stage in self.node.get("/api/v1/jobs/loading/pipeline").json["stages"]])
        self.assertEqual([row["uid"] for row in self.node.get("/api/v1/results?name=Inside").json["results"]], [uid])

    @unittest.skipUnless(can(OF_ROOT), "needs the right to mount")
    def test_an_empty_image_of_root(self):
        self.check(OF_ROOT, os.getuid())

    @unittest.skipUnless(can(as_nobody(ROOTLESS)), "needs user namespaces")
    def test_an_empty_rootless_image(self):
        self.check(as_nobody(ROOTLESS), NOBODY if os.getuid() == 0 else os.getuid())

    @unittest.skipUnless(can(as_nobody(ROOTLESS)), "needs user namespaces")
    def test_what_is_missing_is_named(self):
        command = as_nobody(ROOTLESS)
        self.assertIn("libcurl.so.4 (Debian: apt-get install libcurl4): perfctl-static loads no libraries; use perfctl on the host",
                      self.inside(command, "job", "list", status=1))
        self.assertIn("libpcre2-8.so.0 (package libpcre2-8-0, or pcre2): perfctl-static loads no libraries",
                      self.inside(command, "submit", "--indicator", "Timed", "--component", "c", "--line", "(?<seconds>[0-9.]+)",
                                  stdin="1.5", status=1))
        self.assertIn("the name of a user of this machine, or a number",
                      self.inside(command, "job", "begin", "other", "--user", "alice", status=2))
        self.assertRegex(self.inside(command, "doctor"), "(?m)^ok +perfd .*\n(.*\n)*.*libcurl.so.4")
        without = self.inside(command, "doctor", status=3, run=self.temporary_directory())
        self.assertIn("in a container: mount /run/perfd of the host there", " ".join(without.split()))


class Files(unittest.TestCase):
    """Checks that the files for container engines have the mounts that the tests above use."""

    def mounts(self, name, pattern):
        text = (ROOT / "deploy" / "container" / name).read_text()
        return re.findall(pattern, re.sub("(?m)^#.*", "", text))

    def test_each_file_has_the_two_mounts(self):
        sockets, program = ("/run/perfd", "/run/perfd"), ("/usr/bin/perfctl-static", PERFCTL)
        self.assertEqual(self.mounts("enroot.fstab", r"(?m)^(/\S+) (/\S+) none x-create=(?:dir|file),bind,ro,\S*nofail 0 0$"),
                         [sockets, program])
        self.assertEqual(self.mounts("podman.conf", r'"(/[^:"]+):(/[^:"]+):ro"'), [sockets, program])
        self.assertEqual(self.mounts("apptainer.conf", r"(?m)^bind path = ([^:\n]+):?(.*)$"), [("/run/perfd", ""), program])
        manual = (ROOT / "man" / "perfd-containers.7").read_text()
        self.assertEqual(re.findall(r"-v ([^:]+):([^:]+):ro", manual), [sockets, program])


if __name__ == "__main__":
    unittest.main()
