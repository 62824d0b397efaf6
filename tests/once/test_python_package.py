"""Installs the package of clients/python with pip, and uses its modules."""

import pathlib
import shutil
import subprocess
import sys
import tomllib
import unittest

import harness
from harness import ROOT

SOURCE = ROOT / "clients" / "python"


class Package(harness.TestCase):
    def test_pip_brings_all_modules(self):
        directory = pathlib.Path(self.temporary_directory())
        shutil.copytree(SOURCE, directory / "source")
        made = subprocess.run([sys.executable, "-m", "venv", directory / "venv"], capture_output=True)
        if made.returncode:
            self.skipTest("python3-venv is not installed (make interop-deps)")
        pip = [directory / "venv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, directory / "source"], check=True)
        done = subprocess.run([directory / "venv" / "bin" / "python", "-c", "import perfd_pipeline, perfd_mlflow, perfd_perf; "
                               "print(perfd_mlflow.__file__)"], text=True, capture_output=True, cwd=directory)
        self.assertIn(f"{directory}/venv", done.stdout, done.stderr)
        listed = subprocess.run([directory / "venv" / "bin" / "pip", "freeze", "--all"], text=True, capture_output=True).stdout
        self.assertLessEqual({line.split("=")[0].split(" ")[0] for line in listed.splitlines()}, {"perfd-client", "pip", "setuptools"})
        self.assertEqual([path.read_text() for path in directory.glob("venv/lib/python*/site-packages/perfd.pth")],
                         [(SOURCE / "perfd.pth").read_text()])
        done = subprocess.run([directory / "venv" / "bin" / "perfd-mlflow", "push", "a"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("-m pip install mlflow", done.stderr)

    def test_the_project_lists_all_modules(self):
        project = tomllib.loads((SOURCE / "pyproject.toml").read_text())
        self.assertEqual(project["project"]["version"], (ROOT / "VERSION").read_text().strip())
        self.assertEqual(project["tool"]["setuptools"]["py-modules"], sorted(path.stem for path in SOURCE.glob("perfd_*.py")))


if __name__ == "__main__":
    unittest.main()
