"""Makes a root file system of this distribution that has only systemd and what apt downloaded for some packages, for
boot-systemd.sh --root. It is made once for the dependencies of the packages, and is kept in build/interop."""

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import booted
from harness import ROOT

CACHE = ROOT / "build" / "interop"
PACKAGES = "systemd,systemd-sysv,dbus,bash-completion"
# apt in the boot has no network: it installs what was downloaded here.
DOWNLOAD = "chroot \"$1\" sh -c 'apt-get -qq -y --download-only -o APT::Sandbox::User=root install /root/deb/*.deb'"


def why_not():
    for program in ("mmdebstrap", "dpkg-deb", "apt-get"):
        if not shutil.which(program):
            return f"{program} is not installed (make interop-deps)"
    return booted.why_not()


def suite():
    return re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.M)[1]


def needs_of(debs):
    """Returns the dependencies of the packages as text."""
    return "".join(subprocess.run(["dpkg-deb", "--field", deb, "Depends", "Recommends"], check=True, capture_output=True, text=True).stdout
                   for deb in sorted(debs))


def make(debs):
    key = hashlib.sha256((needs_of(debs) + pathlib.Path(__file__).read_text()).encode()).hexdigest()[:16]
    root = CACHE / f"root-{key}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "root.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            for old in CACHE.glob("root-*"):
                shutil.rmtree(old)
            # In /tmp, whose users can be others: mmdebstrap's own apt is not root.
            with tempfile.TemporaryDirectory(prefix="perfd-root-", dir="/tmp") as work:
                made = pathlib.Path(work) / "root"
                subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "--skip=cleanup/apt",
                                "--customize-hook=mkdir \"$1/root/deb\"", f"--customize-hook=copy-in {' '.join(map(str, debs))} /root/deb",
                                f"--customize-hook={DOWNLOAD}", "--customize-hook=rm -r \"$1/root/deb\"", suite(), made],
                               check=True, stdin=subprocess.DEVNULL)
                subprocess.run(["mv", made, root], check=True)
    return root
