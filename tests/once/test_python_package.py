"""Installs the package of clients/python with pip, uses its modules with the oldest and the newest Python, and checks their types."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import tomllib
import unittest

import harness
from harness import ROOT

SOURCE = ROOT / "clients" / "python"
PYTHONS = [f"python3.{minor}" for minor in range(8, 16)]
TESTS = ["clients", "mlflow", "perf"]  # which need no package but that of the protocol
USER = """
    import perfd_mlflow, perfd_perf, perfd_pipeline, perfd_spdl, perfd_torch

    runs: list[str] = perfd_mlflow.push(["a"], series=60)
    with perfd_mlflow.job() as live:
        live({0})
    for name in perfd_pipeline.Pipeline(["read", ("decode", 4)]).wait(["a", "b"]):
        live(len(name))
    perfd_perf.PerformanceMetricsCollector(max_length=10).start()
    """


def pythons():
    """Returns the interpreters of this machine that run, those of pyenv among them, by version."""
    names = [*PYTHONS, *map(str, pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))]
    found = {}
    for name in names:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            version = subprocess.run([name, "-c", "import sys; print(*sys.version_info[:2])"], check=True, text=True, capture_output=True)
            found[tuple(map(int, version.stdout.split()))] = name
    return {version: name for version, name in sorted(found.items()) if version >= (3, 8)}


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

    def test_the_modules_work_with_the_oldest_and_the_newest_python(self):
        found = pythons()
        self.assertTrue(found)
        for version in {min(found), max(found)}:
            with self.subTest(version=version):
                directory = pathlib.Path(self.temporary_directory())
                made = subprocess.run([found[version], "-m", "venv", directory / "venv"], capture_output=True)
                if made.returncode:
                    self.skipTest("python3-venv is not installed (make interop-deps)")
                subprocess.run([directory / "venv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "pytest",
                                "protobuf<6"], check=True)
                files = [f"tests/system/test_python_{name}.py" for name in TESTS]
                done = subprocess.run([directory / "venv" / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
                                      cwd=ROOT, text=True, capture_output=True,
                                      env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "system"), "PYTHONDONTWRITEBYTECODE": "1"})
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"\b\d+ passed")

    def test_the_types_are_those_of_the_code(self):
        python = harness.python_environment("mypy", "mypy==2.4.1")
        done = subprocess.run([python, "-m", "mypy", "--config-file", "pyproject.toml", *(path.name for path in SOURCE.glob("perfd_*.py"))],
                              cwd=SOURCE, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        directory = pathlib.Path(self.temporary_directory())
        shutil.copytree(SOURCE, directory / "source")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall",
                        directory / "source"], check=True)
        program = directory / "user.py"
        for argument, status in (("5", 0), ('"5"', 1)):
            program.write_text(textwrap.dedent(USER).format(argument))
            done = subprocess.run([python, "-m", "mypy", "--strict", program], cwd=directory, text=True, capture_output=True)
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def test_the_project_lists_all_modules(self):
        project = tomllib.loads((SOURCE / "pyproject.toml").read_text())
        self.assertEqual(project["project"]["version"], (ROOT / "VERSION").read_text().strip())
        self.assertEqual(project["tool"]["setuptools"]["py-modules"], sorted(path.stem for path in SOURCE.glob("perfd_*.py")))


if __name__ == "__main__":
    unittest.main()
