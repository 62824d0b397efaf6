"""Holds the objects of deploy/kubernetes against the schemas of Kubernetes, of an old release and of a recent one."""

import subprocess
import sys
import unittest

import yaml

from harness import ROOT, TestCase

VERSION = "kubernetes-validate==1.29.1"
RELEASES = ("1.22", "1.29")


class Schemas(TestCase):
    def setUp(self):
        super().setUp()
        environment = ROOT / "build" / "interop" / VERSION
        self.program = environment / "bin" / "kubernetes-validate"
        if not self.program.exists():
            if subprocess.run([sys.executable, "-m", "venv", "--clear", environment], capture_output=True).returncode:
                raise unittest.SkipTest("python3-venv is not installed (make interop-deps)")
            subprocess.run([environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", VERSION], check=True)

    def validate(self, path, release):
        return subprocess.run([self.program.parent / "python3", self.program, "-k", release, "--strict", path],
                              capture_output=True, text=True)

    def test_the_objects_are_valid(self):
        for path in sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml")):
            n = sum(document is not None for document in yaml.safe_load_all(path.read_text()))
            for release in RELEASES:
                with self.subTest(path=path.name, release=release):
                    done = self.validate(path, release)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertEqual((done.stdout + done.stderr).count(" passed "), n)

    def test_a_member_that_does_not_exist_is_found(self):
        path = self.temporary_directory() / "object.yaml"
        path.write_text((ROOT / "deploy" / "kubernetes" / "perfd.yaml").read_text().replace("hostPID:", "hostPid:"))
        self.assertNotEqual(self.validate(path, RELEASES[0]).returncode, 0)
