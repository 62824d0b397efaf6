"""Boots a virtual machine with an installed perfd (boot-vm.sh), and runs commands in it."""

import base64
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, IS_SANITIZED, ROOT, SANITIZE, SANITIZER_REPORTS, TIMEOUT_S, wait_for

BOOT = ROOT / "tests/system/boot-vm.sh"
# The machine is emulated without hardware support, and may be slow.
SLOWNESS = 3
BOOT_S = 400
# Processes are slow, not hung; test_systemd detects hangs.
DROP_IN = "[Service]\nTimeoutStartSec=infinity\nWatchdogSec=0\n"
# A sanitizer needs more memory and ptrace.
SANITIZER_DROP_IN = "Environment=ASAN_OPTIONS=detect_leaks=0\nMemoryMax=infinity\n"


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    if platform.machine() != "x86_64":
        return "the virtual machine is an x86-64 one"
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    for program in ("qemu-system-x86_64", "mmdebstrap", "mke2fs", "apt-get"):
        if not shutil.which(program, path=path):
            return f"{program} is not installed (make interop-deps)"
    return None


def library_packages(*programs):
    """Returns the packages with the libraries of the programs and of the sanitizers, for one image for all builds."""
    listed = subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True).stdout
    paths = set(re.findall(r"=> (/\S+)", listed))
    # perfctl loads libcurl at run time.
    known = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    paths.update(re.findall(r"^\s*libcurl\.so\.4 .*=> (/\S+)", known, re.M))
    for name in ("asan", "ubsan", "tsan"):
        found = subprocess.run(["gcc", f"-print-file-name=lib{name}.so"], check=True, capture_output=True, text=True).stdout.strip()
        paths.add(os.path.realpath(found))
    # If /lib is a link to /usr/lib, packages may use either path.
    names = {name for path in paths for real in [os.path.realpath(path)] for name in (path, real, real.removeprefix("/usr"))}
    owned = subprocess.run(["dpkg-query", "-S", *sorted(names)], capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"^([^:\s]+):", owned, re.M)))


class Machine:
    """Boots once. `kernel`: words for the kernel's command line; `files`: files to copy, {path there: path here}; `resets`: the
    machine may be reset; `packages`: words, in addition; `modules`: the kernel has modules."""

    def __init__(self, kernel="", files=None, conf="", resets=False, packages="", modules=False):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="perfd-vm-", dir="/tmp"))
        self.boot = None
        try:
            self._start(kernel, files or {}, conf, packages, ["--resets"] * resets + ["--modules"] * modules)
        except BaseException:
            self.end()
            raise

    def _start(self, kernel, files, conf, packages, options):
        image = self.directory / "image"
        image.mkdir(mode=0o755)
        subprocess.run(["make", "-s", "-C", ROOT, "install", f"DESTDIR={image}", f"B={BUILD.relative_to(ROOT)}",
                        f"SANITIZE={SANITIZE}"], check=True,
                       env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "SANITIZE", "CC")})
        put(image / "etc/perfd/perfd.conf.d/test.conf", conf)
        put(image / "etc/systemd/system/perfd.service.d/test.conf", DROP_IN + (SANITIZER_DROP_IN if IS_SANITIZED else ""))
        copies = [f"{image}:/"] + [f"{here}:{there}" for there, here in files.items()]
        self.boot = subprocess.Popen(
            [BOOT, *options, "--packages", " ".join([*library_packages(BUILD / "perfd", BUILD / "perfctl"), packages]), "--kernel", kernel,
             *(word for copy in copies for word in ("--copy", copy)), "--", "sh", "-c", 'echo "$INSIDE"; cat'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.enter = self.boot.stdout.readline().split()
        if not self.enter:
            raise AssertionError("no boot, see above")
        self.run("systemd-sysusers && systemd-tmpfiles --create perfd.conf && systemctl start perfd.socket")
        self.run("systemctl start perfd.service")

    def end(self):
        journal = ""
        if self.boot:
            if self.boot.poll() is None and self.enter:
                journal = self.sh("journalctl --no-pager -b").stdout
            self.boot.stdin.close()
            self.boot.wait(60)
            self.boot.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        for report in SANITIZER_REPORTS:
            assert report not in journal, journal

    def reset(self):
        """Resets the machine as a power failure does, and returns when it has booted again."""
        subprocess.run([*self.enter, "--reset"], check=True, timeout=BOOT_S)

    def sh(self, script):
        """Runs a shell script in the machine; stdout has both outputs; the exit status is not checked."""
        return subprocess.run([*self.enter, "bash", "-c", script], text=True, capture_output=True, errors="replace",
                              timeout=TIMEOUT_S * SLOWNESS)

    def run(self, script):
        done = self.sh(script)
        if done.returncode:
            raise AssertionError(f"{script}: {done.returncode}\n{done.stdout}{done.stderr}\n{self.journal()}")
        return done.stdout

    def wait(self, script, what):
        """Waits until the script succeeds."""
        return wait_for(lambda: self.sh(script).returncode == 0, what, TIMEOUT_S * SLOWNESS)

    def journal(self):
        return self.sh("journalctl --no-pager -u perfd.service -n 40").stdout


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
