"""Makes a bare installation of Debian (make, git and certificates, and no other package), and runs README's commands there.

The root is made by mmdebstrap and has no systemd running. Its / is no mount point: a plain chroot, as build systems use it.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import harness
from harness import ROOT

INSTALL_S, BUILD_S, TESTS_S = 600, 900, 1800
KEYS = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# What a bare installation lacks: packages that only .ci/run installs, captured files that are not part of the tree, and the
# namespaces that the kernel may refuse in a root that is not the machine's.
LACKING = (r"make interop-deps|PERFD_FIXTURES|no (published data|captured specifications) are there|"
           r"no group of this machine has members|needs the right to (make a PID namespace|mount)|needs user namespaces")


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    for program in ("mmdebstrap", "unshare"):
        if not shutil.which(program):
            return f"{program} is not installed (make interop-deps)"
    return None if KEYS.exists() else "the keys of Debian's archive are not there"


def proxies():
    """The machine's way to the packages; the root has only the distribution's own settings."""
    return subprocess.run(["apt-config", "dump", "--no-empty", "--format", '%F "%v";%n', "Acquire::http",
                           "Acquire::https"], check=True, capture_output=True, text=True).stdout


class BareRoot(harness.TestCase):
    release, packages = "", "make,git,ca-certificates"
    options = ()  # of mmdebstrap
    user, home = "root", "/root"
    skips = LACKING

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="perfd-bare-", dir="/tmp")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.root = pathlib.Path(cls.directory.name) / "root"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={cls.packages}", *cls.options,
                        cls.release, cls.root],
                       check=True, timeout=INSTALL_S)
        (cls.root / "etc/apt/apt.conf.d/50machine").write_text(proxies())
        # Packages are not synced to the disk: the root does not outlive the test.
        (cls.root / "etc/dpkg/dpkg.cfg.d/50machine").write_text("force-unsafe-io\n")
        (cls.root / "etc/hosts").write_text(f"127.0.0.1 localhost {os.uname().nodename}\n")
        shutil.copy("/etc/resolv.conf", cls.root / "etc/resolv.conf")

    def enter(self, *command, user=None, environment=()):
        """The words of a command that runs in the root, in mounts of its own, which end with it."""
        mounts = """mount -t proc proc "$0/proc"; mount --rbind /sys "$0/sys"
            mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts"; mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
            exec chroot "$0" "$@" """
        user = user or self.user
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", mounts, self.root, "env", "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", f"USER={user}",
                f"HOME={'/root' if user == 'root' else self.home}", "PERFD_HTTP=127.0.0.1:0", "PERFD_TRY_AGAIN=1",
                *environment, "setpriv", "--reuid", user, "--regid", user, "--init-groups", *command]

    def inside(self, *command, timeout_s=60, answer="", **more):
        begin = time.monotonic()
        done = subprocess.run(self.enter(*command, **more), input=answer, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=timeout_s, check=False)
        print(f"$ {' '.join(map(str, command))}\n{done.stdout}({time.monotonic() - begin:.0f} s)", flush=True)
        self.assertEqual(done.returncode, 0)
        return done.stdout

    def make(self, *arguments, timeout_s):
        return self.inside("make", "-C", f"{self.home}/perfd", *arguments, timeout_s=timeout_s, answer="y\n")

    def clone(self):
        """Copies the files of the working tree: what a clone of the commit will have."""
        files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"], check=True,
                               capture_output=True).stdout.split(b"\0")
        files = b"\0".join(name for name in files if name and os.path.lexists(ROOT / os.fsdecode(name)))
        to = self.root / self.home.lstrip("/")
        (to / "perfd").mkdir()
        packed = subprocess.run(["tar", "-C", ROOT, "--null", "-T", "-", "-c"], input=files, check=True,
                                capture_output=True).stdout
        subprocess.run(["tar", "-C", to / "perfd", "--no-same-owner", "-x"], input=packed, check=True)
        to.chmod(0o700)

    def run_demonstration(self):
        """Returns what `make run` prints until it waits for Ctrl-C, which ends it, and prints when the first page was there."""
        begin = time.monotonic()
        process = subprocess.Popen(self.enter("make", "-C", f"{self.home}/perfd", "run"), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   start_new_session=True)
        deadline = threading.Timer(INSTALL_S + BUILD_S, os.killpg, (process.pid, signal.SIGKILL))
        deadline.start()
        try:
            process.stdin.write("y\n")
            process.stdin.close()
            lines = []
            for line in process.stdout:
                print(f"{time.monotonic() - begin:5.1f} s  {line}", end="", flush=True)
                lines.append(line)
                if line.startswith("Next: "):
                    os.killpg(process.pid, signal.SIGINT)
            process.wait()
        finally:
            deadline.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()
        return "".join(lines)

    def expect_demonstration(self, text):
        for line in (r"Missing packages: .*\bpython3\b", r"(?:.*\[y/N\] )?Installing \d+ packages",
                     r"Building perfd: \d+ files \.\.\.", r"\[ *\d+/\d+\] build/", r"Open http://127\.0\.0\.1:\d+/",
                     r"Job \S+ \(memset\)  finished: exit 0$", r" +1  c +\S+ +5 ", r" +2  python +\S+ +5 ",
                     r"  regression: \+.* since 1\.11\.0\n\(exit status 4\)$", r"The training loop waited for data ",
                     r"Next: make check ", r"perfd has stopped\.$"):
            self.assertRegex(text, re.compile("^" + line, re.M))
        wrong = r".*(?:exit status [^4]|not found|No such file|[Ww]arning|Nothing to compare).*"
        self.assertEqual(re.findall(wrong, text), [], text)

    def expect_passed(self, text):
        self.assertRegex(text, r"(?m)^[1-9]\d\d\d passed, 0 failed, \d+ skipped$")
        self.assertRegex(text, r"(?m)^Next: 'make run' ")
        self.assertEqual(re.findall(r".*[Ww]arning:.*", text), [])
        reasons = re.findall(r"(?m)^skipped +\d+ (.*): ", text)
        self.assertEqual([reason for reason in reasons if not re.search(self.skips, reason)], [])


class Debian11(BareRoot):
    """The oldest distribution on which perfd is built. make deps and test-deps are installed with the root: one run of apt less."""

    release = "bullseye"
    packages = ("gcc,make,pkg-config,binutils,libsystemd-dev,protobuf-c-compiler,libprotobuf-c-dev,libmicrohttpd-dev,libsqlite3-dev,"
                "nettle-dev,libinih-dev,libyaml-dev,libcurl4-openssl-dev,zlib1g-dev,libncurses-dev,libcmocka-dev,libjansson-dev,"
                "libpcre2-8-0,python3,python3-protobuf,python3-yaml,protobuf-compiler,git,ca-certificates")
    # The package lists of a release without support have expired.
    options = ("--aptopt=Acquire::Check-Valid-Until false",)
