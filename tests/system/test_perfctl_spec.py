"""Checks perfctl run --spec, which runs the script of an Amun specification on this node."""

import json
import os
import pathlib
import re
import signal
import subprocess

from harness import FIXTURES, PERFCTL, TIMEOUT_S, TestCase, wait_for


class Specifications(TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.scratch = self.directory / "tmp"
        self.scratch.mkdir()
        self.environment = {**os.environ, "PERFD_SOCKET": str(self.directory / "absent.sock"), "NO_COLOR": "1",
                            "PERFD_SPOOL": str(self.directory / "spool"), "TMPDIR": str(self.scratch)}

    def start(self, *options, **spec):
        (self.directory / "spec.json").write_text(json.dumps(spec))
        return subprocess.Popen([PERFCTL, "run", "--spec", "spec.json", *options], cwd=self.directory, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def run_spec(self, *options, status=0, **spec):
        process = self.start(*options, **spec)
        printed, self.said = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, status, self.said)
        return printed

    def test_the_script_finds_its_files_and_environment(self):
        printed = self.run_spec(script="#!/bin/sh\ncat data/in.txt\nprintf '<%s>' \"$A\" \"$B\"\npwd\n", base="image", packages=["gcc"],
                                environment=[{"name": "A", "value": "it's $HOME\n"}, {"name": "B", "value": ""}],
                                files=[{"path": "data/in.txt", "content": "ä 😀\n"}])
        self.assertTrue(printed.startswith(f"ä 😀\n<it's $HOME\n><>{self.scratch}/perfd-run-"), printed)
        self.assertIn("ignoring parts that build images or install packages: base, packages", self.said)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_a_local_script_replaces_the_one_that_is_named(self):
        (self.directory / "local.sh").write_text("#!/bin/sh\necho local $A\n")
        environment = [{"name": "A", "value": "7"}]
        for script in ("https://example.org/x.py", "matmul.py", None):
            printed = self.run_spec("--script", "local.sh", script=script, environment=environment)
            self.assertEqual(printed, "local 7\n")
        for script, words in ((b"", "is not a script: it is empty"), (b"echo a\0b", "contains NUL bytes")):
            (self.directory / "local.sh").write_bytes(script)
            self.run_spec("--script", "local.sh", status=2)
            self.assertIn(words, self.said)
        done = subprocess.run([PERFCTL, "run", "--script", "local.sh", "--", "true"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--script is the script of a specification: add --spec", done.stderr)

    def test_variables_beyond_the_stored_number_are_set(self):
        printed = self.run_spec(script="env | grep -c ^V_", environment=[{"name": f"V_{i}", "value": "x"} for i in range(70)])
        self.assertEqual(printed, "70\n")
        self.assertIn("the last 6 variables of environment are set but not recorded: the limit is 64", self.said)

    def test_a_batch_is_a_job_with_so_many_results(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        self.environment["PERFD_SOCKET"] = os.path.relpath(daemon.socket, self.directory)
        script = """#!/bin/sh\necho '{"name": "m", "component": "c", "@parameters": {}, "@result": {"r": 1}}'"""
        self.run_spec("--job", "j", "--label", "a=b", script=script, identifier="bench", batch_size="3",
                      environment=[{"name": "OMP_NUM_THREADS", "value": "2"}])
        job = daemon.get("/api/v1/jobs/j").json
        self.assertEqual((job["name"], job["labels"], job["exit"]["status"]), ("bench", {"a": "b"}, 0))
        results = daemon.get("/api/v1/indicators/m/results").json["results"]
        self.assertEqual([result["job"] for result in results], ["j"] * 3)
        self.assertEqual(len({result["batch"] for result in results}), 1)
        self.assertIn('"OMP_NUM_THREADS": "2"', json.dumps(results[0]))

    def test_keys_of_the_specification_are_found(self):
        daemon = self.daemon()
        self.environment["PERFD_SOCKET"] = str(daemon.socket)
        script = """#!/bin/sh\necho '{"name": "m", "component": "c", "@parameters": {}, "@result": {"r": 1}}'"""
        for base in ("fedora:40", "fedora:40", "fedora:41"):
            self.run_spec(script=script, base=base, environment=[{"name": "A", "value": base[-2:]}])
        groups = json.loads(daemon.perfctl("indicator", "query", "m", "--json", "-s", "mean:r", "-b",
                                           "run.specification.base").stdout)["groups"]
        self.assertEqual(sorted((group["key"]["run.specification.base"], group["n"]) for group in groups),
                         [("fedora:40", 2), ("fedora:41", 1)])
        group, = json.loads(daemon.perfctl("indicator", "query", "m", "--json", "-w", "run.specification.base=fedora:41").stdout)["groups"]
        self.assertEqual(group["n"], 1)
        ranking, = json.loads(daemon.perfctl("indicator", "rank", "m", "--objective", "r", "--direction", "lower", "--json",
                                             "--by", "run.specification.base").stdout)["rankings"]
        self.assertEqual(sorted(item["n"] for item in ranking["excluded"]), [1, 2])  # fewer than three runs have no rank
        kpi, = json.loads(daemon.perfctl("kpi", "check", "m.r", "--by", "run.specification.base", "--json").stdout)["kpis"]
        self.assertEqual((kpi["version"], kpi["versions"]), ("fedora:41", 2))

    def test_the_exit_status_is_that_of_the_script(self):
        self.run_spec(script="exit 7", status=7)
        self.run_spec(script="[ -e nothing ]", batch_size=2, status=1)
        self.assertIn("2 runs, 2 failed", self.said)

    def test_the_directory_can_be_kept(self):
        self.run_spec("--keep", script="echo x > y")
        path = pathlib.Path(self.said.rpartition("kept the directory of the run: ")[2].strip())
        self.assertEqual((path / "work" / "y").read_text(), "x\n")
        self.assertEqual(path.stat().st_mode & 0o777, 0o700)

    def test_nothing_is_left_after_control_c(self):
        # A shell may lose a signal while it starts a process.
        process = self.start(script=f"echo > {self.directory}/began; exec sleep 1000", batch_size=5)
        wait_for((self.directory / "began").exists, "the script to begin")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        said = process.communicate(timeout=TIMEOUT_S)[1]
        self.assertEqual(process.returncode, 130, said)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_limits_are_applied_or_reported_as_not_applied(self):
        printed = self.run_spec(run={"requests": {"cpu": "500m", "memory": "256Mi"}},
                                script="g=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup); cat $g/cpu.max $g/memory.max || :")
        if not re.search("limits not applied", self.said):
            self.assertEqual(printed, f"50000 100000\n{256 << 20}\n")
        self.assertNotIn("cannot", printed)

    def test_an_invalid_specification_is_refused(self):
        for spec, complaint in (({"script": "https://example.org/x.py"}, "spec.json: script: https://example.org/x.py is an address"),
                                ({"script": "/bin/x.sh"}, "is the path of a file"),
                                ({"script": "a b", "files": [{"path": "/tmp/x", "content": ""}]}, "is outside the run's directory")):
            self.run_spec(status=2, **spec)
            self.assertIn(complaint, self.said)
        self.assertEqual(list(self.scratch.iterdir()), [])
        result = subprocess.run([PERFCTL, "run", "--spec", "x", "--", "true"], capture_output=True, text=True, env=self.environment)
        self.assertEqual(result.returncode, 2)
        self.assertIn("unexpected argument 'true'", result.stderr)
        result = subprocess.run([PERFCTL, "run", "--limits", "cpu=fast", "--", "true"], capture_output=True, text=True,
                                env=self.environment)
        self.assertIn("--limits expects cpu=", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_real_specifications_are_understood(self):
        """Their scripts are URLs: a local file runs instead."""
        specs = [*FIXTURES.glob("thoth/*/build/specification"), *FIXTURES.glob("thoth/specification/*.json")]
        if not specs:
            self.skipTest("no captured specifications are there")
        (self.directory / "local.sh").write_text("echo $OMP_NUM_THREADS.")
        for path in specs:
            with self.subTest(path.name):
                spec = json.loads(path.read_text())
                printed = self.run_spec("--script", "local.sh", "--repeat", "1", **spec)
                self.assertEqual(printed, "2.\n" if spec.get("environment") else ".\n")
                self.assertIn("packages: base, build", self.said)


if __name__ == "__main__":
    import unittest
    unittest.main()
