"""Boots a temporary real systemd with the shipped units (boot-systemd.sh)."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, IS_SANITIZED, ROOT, SANITIZE, SANITIZER_REPORTS, TIMEOUT_S

# The watchdog must detect a hang within the test's timeout. A sanitizer needs ptrace and more memory.
DROP_IN = "[Service]\nWatchdogSec=2s\n"
SANITIZER_DROP_IN = "Environment=ASAN_OPTIONS=detect_leaks=0\nMemoryMax=infinity\nWatchdogSec=10s\n"


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    if not os.access("/lib/systemd/systemd", os.X_OK):
        return "systemd is not installed (make interop-deps)"
    mounts = pathlib.Path("/proc/mounts").read_text()
    if not re.search(r"^\S+ \S+ cgroup2 rw", mounts, re.M):
        return "no cgroup v2 that can be written"
    probe = subprocess.run(["unshare", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--net", "--fork", "true"], capture_output=True)
    return "namespaces are not allowed here" if probe.returncode else None


class Booted(unittest.TestCase):
    """Boots once for all tests of a class, and starts perfd."""

    @classmethod
    def setUpClass(cls):
        if why_not():
            raise unittest.SkipTest(why_not())
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="perfd-", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        image = cls.directory / "image"
        image.mkdir(mode=0o755)
        subprocess.run(["make", "-s", "-C", ROOT, "install", f"DESTDIR={image}", f"B={BUILD.relative_to(ROOT)}",
                        f"SANITIZE={SANITIZE}"], check=True, umask=0o077,  # which must not affect the modes of installed files
                       env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "SANITIZE", "CC")})
        for unit in "perfd", "perfd-gpu":
            drop_in = image / f"etc/systemd/system/{unit}.service.d/test.conf"
            drop_in.parent.mkdir(parents=True)
            drop_in.write_text(DROP_IN + (SANITIZER_DROP_IN if IS_SANITIZED else ""))
        cls.journal_file = cls.directory / "journal"
        cls.journal_file.touch()
        cls.boot_up(image)
        cls.addClassCleanup(cls.shut_down)
        cls.run_inside("systemctl", "enable", "--now", "perfd.socket")
        cls.run_inside("systemctl", "start", "perfd.service")

    @classmethod
    def boot_up(cls, image):
        """Retries the boot, which can fail when other processes change the shared root file system."""
        for _ in range(3):
            cls.boot = subprocess.Popen(
                [ROOT / "tests/system/boot-systemd.sh", "--copy", f"{image}:/", "--journal", cls.journal_file,
                 "--setup", "systemd-sysusers && systemd-tmpfiles --create perfd.conf", "--", "sh", "-c", 'echo "$INSIDE"; cat'],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            cls.enter = cls.boot.stdout.readline().split()
            if cls.enter:
                return
            cls.boot.communicate()
        raise AssertionError("no boot in three tries, see above")

    @classmethod
    def shut_down(cls):
        cls.boot.stdin.close()
        cls.boot.wait(60)
        cls.boot.stdout.close()
        journal = cls.journal_file.read_text(errors="replace")
        for report in SANITIZER_REPORTS:
            assert report not in journal, journal

    @classmethod
    def inside(cls, *words, **more):
        """Runs a command inside the boot, without checking its exit status."""
        return subprocess.run([*cls.enter, *words], text=True, capture_output=True, timeout=TIMEOUT_S * 3, **more)

    @classmethod
    def run_inside(cls, *words, **more):
        done = cls.inside(*words, **more)
        if done.returncode:
            raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}\n{cls.journal()}")
        return done.stdout

    @classmethod
    def journal(cls):
        return cls.inside("journalctl", "--no-pager", "-u", "perfd.service", "-n", "40").stdout

    @classmethod
    def show(cls, name, unit="perfd.service"):
        return cls.run_inside("systemctl", "show", "-P", name, unit).strip()
