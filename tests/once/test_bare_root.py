"""Runs README's first commands in a bare installation of the distribution: make, git and certificates, and no other package.

The root is made by mmdebstrap and has no systemd running. `make run` and `make check` install their packages there. The clone is
in a home with mode 0700: of root, then of another user.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from harness import ROOT

PACKAGES = "make,git,ca-certificates"
INSTALL_S, BUILD_S, TESTS_S = 600, 600, 600
# Tests that depend on the installation, on the user, or on the place of the clone. The whole suite runs on the machine.
OF_ROOT = ("system.test_examples.", "system.test_libperfd.", "system.test_perfctl_enclosure.", "system.test_privacy.",
           "system.test_reload.", "system.test_socket.", "system.test_inherited_job.", "system.test_perfctl_perfpy.")
OF_USER = ("unit.", "system.test_examples.", "system.test_perfctl_enclosure.", "system.test_privacy.", "system.test_start.")
# What a bare root, or an ordinary user, lacks.
EXPECTED_SKIPS = re.compile(r"make interop-deps|PERFD_FIXTURES|needs root|no cgroup|no group of this machine has members")
INSTALLS = (r"^Missing packages: .*\bpython3\b", r"^Installing \d+ packages \(1 min\) \.\.\.$")
USER = "guest"


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    for program in ("mmdebstrap", "unshare"):
        if not shutil.which(program):
            return f"{program} is not there (make interop-deps)"
    return None


def suite():
    """Name of the release that the root is made of."""
    return re.search(r"^VERSION_CODENAME=(\w+)$", pathlib.Path("/etc/os-release").read_text(), re.M)[1]


def proxies():
    """The machine's way to the packages; the root has only the distribution's own settings."""
    return subprocess.run(["apt-config", "dump", "--no-empty", "--format", '%F "%v";%n', "Acquire::http", "Acquire::https"],
                          check=True, capture_output=True, text=True).stdout


@unittest.skipIf(why_not(), why_not())
class BareRoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="perfd-bare-")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.root = pathlib.Path(cls.directory.name) / "root"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", suite(), cls.root],
                       check=True, timeout=INSTALL_S)
        (cls.root / "etc/apt/apt.conf.d/50machine").write_text(proxies())
        shutil.copy("/etc/resolv.conf", cls.root / "etc/resolv.conf")

    def enter(self, *command, environment=()):
        """The words of a command that runs in the root, in mounts of its own, which end with it."""
        # The root is a mount of its own, as it is on a machine.
        mounts = """mount --bind "$0" "$0"; mount -t proc proc "$0/proc"
            mount --rbind /sys "$0/sys"; mount --rbind /dev "$0/dev"; exec chroot "$0" "$@" """
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", mounts, self.root, "env", "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *environment, *command]

    def inside(self, *command, timeout_s=60, environment=()):
        done = subprocess.run(self.enter(*command, environment=environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout_s, check=False)
        print(f"$ {' '.join(map(str, command))}\n{done.stdout}", end="", flush=True)
        self.assertEqual(done.returncode, 0)
        return done.stdout

    @staticmethod
    def make_as(user, home, *arguments):
        return "setpriv", "--reuid", user, "--regid", user, "--init-groups", "make", "-C", f"{home}/perfd", *arguments

    def make(self, *arguments, home, user="root", timeout_s):
        return self.inside(*self.make_as(user, home, *arguments),
                           environment=(f"HOME={home}", f"USER={user}", "PERFD_TRY_AGAIN=1"), timeout_s=timeout_s)

    def run_demonstration(self, home, user="root"):
        """What `make run` prints until it waits for Ctrl-C, which ends it."""
        words = self.enter(*self.make_as(user, home, "run"), environment=(f"HOME={home}", f"USER={user}", "PERFD_HTTP=127.0.0.1:0"))
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", start_new_session=True)
        deadline = threading.Timer(INSTALL_S + BUILD_S, os.killpg, (process.pid, signal.SIGKILL))
        deadline.start()
        try:
            lines = []
            for line in process.stdout:
                print(line, end="", flush=True)
                lines.append(line)
                if line.startswith("or run in another terminal"):
                    os.killpg(process.pid, signal.SIGINT)
            process.wait()
        finally:
            deadline.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()
        return "".join(lines)

    def expect_demonstration(self, text, installs=()):
        for line in (*installs, r"^Building perfd in build \(1 min\) \.\.\.$", r"^Job demo-\d+ \(memset\)  finished: exit 0$",
                     r"^ +1  c +\S+ +5 ", r"^ +2  python +\S+ +5 ", r"^perfd has stopped\.$"):
            self.assertRegex(text, re.compile(line, re.M))
        self.assertEqual(re.findall(r".*(?:exit status|not found|No such file|[Ww]arning|Nothing to compare).*", text), [], text)

    def expect_passed(self, text):
        self.assertRegex(text, r"(?m)^[1-9]\d* passed, 0 failed, \d+ skipped$")
        reasons = re.findall(r"(?m)^skipped +\d+ (.*): ", text)
        self.assertEqual([reason for reason in reasons if not EXPECTED_SKIPS.search(reason)], [])

    def test_the_first_commands_of_the_readme(self):
        # The files of the working tree: what a clone of the commit will have.
        files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"], check=True, capture_output=True).stdout
        (self.root / "root").chmod(0o700)
        (self.root / "root/perfd").mkdir()
        with subprocess.Popen(["tar", "-C", ROOT, "--null", "-T", "-", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as packed:
            with subprocess.Popen(["tar", "-C", self.root / "root/perfd", "--no-same-owner", "-x"], stdin=packed.stdout):
                packed.stdin.write(files)
                packed.stdin.close()
        self.expect_demonstration(self.run_demonstration("/root"), INSTALLS)
        self.expect_passed(self.make("check", f"TESTS={' '.join(OF_ROOT)}", home="/root", timeout_s=INSTALL_S + BUILD_S + TESTS_S))

        home = f"/home/{USER}"
        self.inside("useradd", "--create-home", USER)
        self.inside("cp", "-a", "/root/perfd", home)
        self.inside("rm", "-r", f"{home}/perfd/build")
        self.inside("chown", "-R", f"{USER}:", home)
        self.inside("chmod", "700", home)
        self.expect_demonstration(self.run_demonstration(home, USER))
        self.expect_passed(self.make("check", f"TESTS={' '.join(OF_USER)}", home=home, user=USER, timeout_s=BUILD_S + TESTS_S))


if __name__ == "__main__":
    unittest.main()
