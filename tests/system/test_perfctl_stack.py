"""Checks perfctl run --stack: the software that results are stored with, from lock files and from the environment."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import unittest

from harness import PERFCTL, TestCase

SCRIPT = """#!/bin/sh\necho '{"name": "m", "component": "c", "@parameters": {}, "@result": {"r": 1}}'\n"""
HASHES = [f"sha256:{i:064x}" for i in range(3)]
FORMS = {
    "Pipfile.lock": (json.dumps({
        "_meta": {"requires": {"python_version": "3.8"},
                  "sources": [{"name": "pypi", "url": "https://a/simple"}, {"name": "own", "url": "https://b/simple"}]},
        "default": {"absl-py": {"hashes": HASHES[:2], "index": "own", "version": "==0.9.0"}, "numpy": {"version": "==1.18.5"}}}),
        [("absl-py", "python", "0.9.0"), ("numpy", "python", "1.18.5")]),
    "requirements.txt": (f"# comment\n-i https://a/simple\nabsl_py==0.9.0 ; python_version >= '3.6' \\\n    --hash={HASHES[0]} \\\n"
                         f"    --hash={HASHES[1]}\nNumPy[extra]==1.18.5  # why\n-e .\nlocal @ https://b/x.whl\n",
                         [("absl-py", "python", "0.9.0"), ("local", "python", None), ("numpy", "python", "1.18.5")]),
    "explicit.txt": ("# platform: linux-64\n@EXPLICIT\nhttps://c/conda-forge/linux-64/ca-certificates-2024.2.2-hbcca054_0.conda#2f43\n"
                     "https://c/conda-forge/noarch/tzdata-2024a-h0c530f3_0.tar.bz2\n",
                     [("ca-certificates", "conda", "2024.2.2"), ("tzdata", "conda", "2024a")]),
    "list.json": (json.dumps([{"name": "numpy", "version": "1.26.4", "build_string": "py311_0", "channel": "conda-forge"},
                              {"name": "torch", "version": "2.2.0", "build_string": "pypi_0", "channel": "pypi"}]),
                  [("numpy", "conda", "1.26.4"), ("torch", "python", "2.2.0")]),
}


class Stacks(TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        (self.directory / "m.sh").write_text(SCRIPT)
        self.environment = {**os.environ, "PERFD_SOCKET": str(self.directory / "absent.sock"), "NO_COLOR": "1",
                            "PERFD_SPOOL": str(self.directory / "spool"), "XDG_CACHE_HOME": str(self.directory / "cache")}
        for name in ("PERFD_STACK", "VIRTUAL_ENV", "CONDA_PREFIX", "LOADEDMODULES"):
            self.environment.pop(name, None)

    def run_with(self, *options, status=0, **more):
        done = subprocess.run([PERFCTL, "run", "-q", *options, "--", "sh", "m.sh"], cwd=self.directory, capture_output=True, text=True,
                              env={**self.environment, **more})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def stored(self):
        """Returns the packages of the stack that was stored last."""
        with contextlib.closing(sqlite3.connect(self.running.state / "perfd.db")) as database:
            return [tuple(word or None for word in row) for row in database.execute(
                "SELECT name, kind, version, source, hash, build FROM stack_package AS s JOIN package AS p ON p.id = s.package"
                " WHERE s.stack = (SELECT max(id) FROM stack) ORDER BY name")]

    def refused(self, name, content, words):
        (self.directory / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        self.assertIn(f"perfctl: {name}:{words}", self.run_with("--stack", name, status=2))

    def test_a_bad_file_is_refused_with_its_line_before_the_command_runs(self):
        (self.directory / "m.sh").write_text("touch ran\n")
        pipfile = FORMS["Pipfile.lock"][0]
        self.refused("cut.lock", pipfile[:60], "2:1: ")
        self.refused("poetry.lock", '# by Poetry\n\n[[package]]\nname = "numpy"\n', "3: '[[package]]' is not a requirement")
        self.refused("uv.lock", 'version = 1\n\n[[package]]\n', "3: '[[package]]' is not a requirement: expected NAME==VERSION")
        self.refused("cut.txt", "a==1\nb==2 \\\n", "2: the file ends within the requirement of 'b'")
        self.refused("latin.txt", b"a==1\nb\xe9==2\n", "2: is not UTF-8: convert the file")
        self.refused("nul.txt", b"a==1\nb\0==2\n", "2: has a NUL byte")
        self.refused("two.txt", "numpy==1\nscipy==2\nNumPy==3\n", "3: packages has 'numpy' (python) twice, with versions 1 and 3")
        self.refused("huge.txt", "".join(f"p{i}==1\n" for i in range(50001)), "50001: has more than 50000 packages")
        self.refused("words.txt", "a==1\nhello: world\n", "2: 'hello: world' is not a requirement: expected NAME==VERSION")
        self.refused("empty.txt", "", " names no package (read as requirements.txt)")
        self.refused("other.json", "{}", " is not a list of packages: expected Pipfile.lock, ")
        self.assertFalse((self.directory / "ran").exists())

    def test_the_default_of_the_environment_prevents_no_run(self):
        self.assertIn("perfctl: cannot read absent.lock", self.run_with(PERFD_STACK="absent.lock"))
        self.assertIn("--stack conda: the environment of the command has no such packages", self.run_with(PERFD_STACK="conda"))
        self.assertIn("--stack conda: the environment of the command has no such packages", self.run_with("--stack", "conda", status=2))

    def start(self):
        self.running = self.daemon("[sampling]\ninterval = 100ms\n")
        self.environment["PERFD_SOCKET"] = str(self.running.socket)

    def test_results_have_the_packages_of_a_lock_file(self):
        self.start()
        for name, (text, packages) in FORMS.items():
            with self.subTest(name):
                (self.directory / name).write_text(text)
                self.assertEqual(self.run_with("--stack", name), "")
                self.assertEqual([row[:3] for row in self.stored()], packages)
        self.run_with("--stack", "Pipfile.lock")
        results = self.running.get("/api/v1/indicators/m/results").json["results"]
        self.assertEqual(len({result["stack"] for result in results}), len(FORMS))

    def test_results_have_index_hash_and_build(self):
        self.start()
        for name, text, row in (("one.txt", f"-i https://a/simple\nabsl-py==2.1.0 --hash={HASHES[0]}\n",
                                 ("absl-py", "python", "2.1.0", "https://a/simple", HASHES[0], None)),
                                ("explicit.txt", FORMS["explicit.txt"][0],
                                 ("ca-certificates", "conda", "2024.2.2", "https://c/conda-forge/linux-64", "2f43", "hbcca054_0"))):
            (self.directory / name).write_text(text)
            self.run_with("--stack", name)
            self.assertEqual(self.stored()[0], row)

    def test_installed_packages_are_listed_once_until_they_change(self):
        if not shutil.which("dpkg-query"):
            self.skipTest("dpkg-query is not there")
        self.start()
        listed = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version} ${Architecture}\n"], check=True,
                                capture_output=True, text=True).stdout.splitlines()
        expected = sorted(tuple(line.split()[1:]) for line in listed if line.startswith("installed "))
        self.run_with("--stack", "dpkg")
        self.assertEqual(sorted((row[0], row[2], row[5]) for row in self.stored()), expected)
        for _ in range(2):
            self.run_with("--stack", "dpkg")
        results = self.running.get("/api/v1/indicators/m/results").json["results"]
        self.assertEqual((len(results), len({result["stack"] for result in results})), (3, 1))
        self.assertTrue(list((self.directory / "cache" / "perfd" / "packages").glob("*/dpkg")))

    def test_the_modules_that_are_loaded_are_packages(self):
        self.start()
        self.run_with("--stack", "module", LOADEDMODULES="gcc/12.2.0:mpi/openmpi/4.1:slurm")
        self.assertEqual([row[:3] for row in self.stored()],
                         [("gcc", "module", "12.2.0"), ("mpi/openmpi", "module", "4.1"), ("slurm", "module", None)])

    def test_distributions_of_a_virtual_environment_are_read_without_python(self):
        self.start()
        venv = self.directory / "venv"
        done = subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest(f"python3-venv is not there: {done.stdout}{done.stderr}")
        info = next(venv.glob("lib/python3*/site-packages")) / "own-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Own\nVersion: 1.2\n\nName: no\n")
        (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
        (info / "direct_url.json").write_text('{"url": "https://b/own.whl", "archive_info": {}}')
        (venv / "bin" / "python").unlink()
        packages = [("own", "python", "1.2", "https://b/own.whl", None, "cp311-cp311-linux_x86_64")]
        self.run_with("--stack", "pip", VIRTUAL_ENV=str(venv))
        self.assertEqual(self.stored(), packages)

        # A program of another environment than the active one.
        info = info.rename(info.with_name("own-1.3.dist-info"))
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Own\nVersion: 1.3\n")
        shutil.copy(self.directory / "m.sh", venv / "bin" / "tool")
        (venv / "bin" / "tool").chmod(0o755)
        done = subprocess.run([PERFCTL, "run", "-q", "--stack", "pip", "--", "venv/bin/tool"], cwd=self.directory, capture_output=True,
                              text=True, env={**self.environment, "VIRTUAL_ENV": str(self.directory)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([row[:3] for row in self.stored()], [("own", "python", "1.3")])

    def test_build_information_that_a_run_prints_is_the_build_of_its_package(self):
        self.start()
        (self.directory / "lock.txt").write_text("tensorflow==2.1.0\nnumpy==1.18\ntorch==2.2\n")
        builds = []
        for document in ({}, {"tensorflow_aicoe_buildinfo": {"gcc": "9"}, "pytorch_buildinfo": None},
                         {"tensorflow_aicoe_buildinfo": {"gcc": "10"}, "pytorch_buildinfo": "cuda"}):
            (self.directory / "m.json").write_text(json.dumps({"name": "m", "component": "c", "@parameters": {}, "@result": {"r": 1},
                                                               **document}))
            (self.directory / "m.sh").write_text("cat m.json\n")
            self.run_with("--stack", "lock.txt")
            builds.append({row[0]: row[5] for row in self.stored()})
        self.assertEqual(builds[0], {"numpy": None, "tensorflow": None, "torch": None})
        self.assertRegex(builds[1].pop("tensorflow"), "^buildinfo:[0-9a-f]{12}$")
        self.assertEqual(builds[1], {"numpy": None, "torch": None})
        self.assertRegex(builds[2]["torch"], "^buildinfo:[0-9a-f]{12}$")
        self.assertIsNotNone(builds[2]["tensorflow"])

    def test_two_builds_of_one_version_are_two_alternatives(self):
        self.start()
        for build, digest in (("slow", "a"), ("fast", "b")):
            info = self.directory / build / "lib" / "python3.11" / "site-packages" / "own-1.2.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.2\n")
            (info / "RECORD").write_text(f"own/core.so,sha256={digest},9\nown-1.2.dist-info/INSTALLER,sha256=z{digest},4\n")
            for _ in range(3):
                self.run_with("--stack", "pip", VIRTUAL_ENV=str(self.directory / build))
        rank = "/api/v1/indicators/m/rank?objective=r&direction=higher&by="
        self.assertEqual(self.running.get(rank + "component").json["rankings"][0]["also_differ"][0]["key"], "package.own.build")
        self.assertEqual(self.running.get(rank + "no-such-key").status, 400)
        found = self.running.get("/api/v1/indicators/m/rank?by=package.own.build&objective=r&direction=higher").json["rankings"][0]
        self.assertEqual(len(found["alternatives"]), 2, found)
        for alternative in found["alternatives"]:
            self.assertRegex(alternative["key"]["package.own.build"], r"^1\.2 files-sha256:[0-9a-f]{12}$")


if __name__ == "__main__":
    unittest.main()
