"""Builds the packages of packaging/perfd.spec, compares their files with those of the Debian packages and of make install, and
installs and removes them in an empty root."""

import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import ROOT

NAMES = {"perfd": "perfd", "perfctl": "perfctl", "libperfd0": "libperfd", "libperfd-dev": "libperfd-devel",
         "perfd-slurm": "perfd-slurm", "perfd-results": "perfd-results", "python3-perfd": "python3-perfd", "perfd-doc": "perfd-doc"}
DOCUMENTS = re.compile(r"usr/share/(doc|licenses)/|usr/lib/\.build-id")


def plain(path):
    """The name of an installed file without what differs between distributions: links of /, compression and libraries' folder."""
    path = re.sub(r"^/?(usr/)?lib/systemd/", "usr/lib/systemd/", path.strip().lstrip("/"))
    return re.sub(r"^usr/lib(64|/[a-z0-9_]+-linux-gnu)/", "usr/lib/", path.removesuffix(".gz"))


def files_below(top):
    return {plain(str(path.relative_to(top))) for path in top.rglob("*") if not path.is_dir() or path.is_symlink()}


def debian_owner(file):
    """The Debian package that a file is in by debian/*.install."""
    for name in NAMES:
        listing = ROOT / f"debian/{name}.install"
        for line in listing.read_text().splitlines() if listing.exists() else ():
            pattern = plain(line.replace("/*/", "/x-linux-gnu/"))
            if fnmatch.fnmatchcase(file, pattern) or file.startswith(pattern + "/"):
                return name
    return "perfd-doc"


@unittest.skipUnless(shutil.which("rpmbuild"), "rpmbuild is not installed (make interop-deps)")
class Rpm(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="perfd-rpm-", dir="/tmp")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        subprocess.run([ROOT / "tools/rpm", cls.directory / "rpm"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "CFLAGS": "-O0"})
        cls.packages = {re.sub(r"-[\d.]+-1\..*", "", path.name): path for path in (cls.directory / "rpm").glob("*.rpm")}

    def query(self, *words):
        return subprocess.run(["rpm", *words], check=True, capture_output=True, text=True).stdout

    def listed(self, package):
        return {plain(line) for line in self.query("-qpl", self.packages[package]).splitlines()}

    def test_the_packages_have_the_files_of_the_debian_packages(self):
        self.assertEqual(set(self.packages) - {"perfd-debuginfo", "perfd-debugsource"}, set(NAMES.values()))
        staging = self.directory / "staging"
        subprocess.run(["make", "-s", "install", f"B={harness.BUILD}", f"DESTDIR={staging}"], cwd=ROOT, check=True)
        installed = {file for file in files_below(staging) if not DOCUMENTS.search(file)}
        owners = {}
        for name in NAMES.values():
            for file in self.listed(name):
                if file in installed:
                    self.assertNotIn(file, owners)
                    owners[file] = name
        self.assertEqual(owners, {file: NAMES[debian_owner(file)] for file in installed})
        for line in (ROOT / "debian/perfd-doc.docs").read_text().split():
            self.assertTrue(any(file.endswith(pathlib.Path(line).name) for file in self.listed("perfd-doc")), line)

    def test_configuration_is_kept(self):
        for name in ("perfd", "perfctl"):
            marked = {plain(line) for line in self.query("-qpc", self.packages[name]).splitlines()}
            self.assertEqual(marked, {file for file in self.listed(name) if file.startswith("etc/") and "." in pathlib.Path(file).name
                                      and not file.endswith(".d")})

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_an_empty_root_gets_the_packages_and_loses_them(self):
        top = self.directory / "top"
        top.mkdir()
        subprocess.run(["rpm", "--root", top, "--initdb"], check=True)
        subprocess.run(["rpm", "--root", top, "-i", "--nodeps", "--noscripts", *self.packages.values()], check=True)
        done = subprocess.run(["rpm", "--root", top, "-Va", "--nodeps", "--noscripts"], capture_output=True, text=True)
        self.assertEqual(done.stdout, "")
        for program in ("usr/sbin/perfd", "usr/bin/perfctl"):
            self.assertIn((ROOT / "VERSION").read_text().strip(), self.run_it(top / program, "--version"))
        self.assertIn("/usr/sbin/perfd", (top / "usr/lib/systemd/system/perfd.service").read_text())
        with (top / "etc/perfd/perfd.conf").open("a") as file:
            file.write("# own\n")
        subprocess.run(["rpm", "--root", top, "-e", "--nodeps", "--noscripts", *self.packages], check=True, capture_output=True)
        left = {file for file in files_below(top) if "rpm/" not in file and ".rpmdb/" not in file}
        self.assertEqual(left, {"etc/perfd/perfd.conf.rpmsave"})

    def run_it(self, *words):
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    unittest.main()
