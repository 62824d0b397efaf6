"""Checks perfctl doctor with perfd, without perfd, and with a database that is not writable."""

import json
import os
import signal
import subprocess

from harness import PERFCTL, ROOT, TIMEOUT_S, TestCase

TREES = ROOT / "tests" / "data" / "trees"
STATES = {"ok", "limited", "failed"}


def by_name(result):
    return {check["check"]: check for check in json.loads(result.stdout)}


class Doctor(TestCase):
    def perfctl(self, *words, **environment):
        return subprocess.run([str(PERFCTL), "doctor", *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1", **environment})

    def on_tree(self, daemon, tree, *words):
        """The exit status must not depend on the machine of the tests."""
        return daemon.perfctl("doctor", "--root", TREES / tree, "--spool", self.temporary_directory(), *words)

    def test_a_machine_that_is_well_ends_with_zero(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        daemon.wait_tick()
        result = self.on_tree(daemon, "doctor-well", "--json")
        checks = by_name(result)
        self.assertEqual((result.returncode, result.stderr), (0, ""), checks)
        self.assertEqual([name for name, check in checks.items() if check["state"] == "failed"], [])
        for name in ("kernel", "pressure", "cgroups", "own cgroup", "processes", "spool", "socket", "perfd", "http-socket",
                     "http", "store", "descriptors"):
            self.assertEqual((checks[name]["state"], checks[name]["effect"], checks[name]["fix"]), ("ok", None, None), checks[name])
        self.assertIn(str(daemon.socket), checks["socket"]["detail"])
        self.assertIn("every 100 ms", checks["sampling"]["detail"])

    def test_an_invalid_model_is_reported_until_it_is_fixed(self):
        directory = self.temporary_directory()
        (directory / "a.yaml").write_text("name: A\nresults: {x: floot}\n")
        (directory / "b.yaml").mkdir()
        (directory / "c.yaml").write_text("name: C\nresults: {x: float}\n")
        daemon = self.daemon(f"[indicators]\ndirectory = {directory}\n", notify=True)
        result = self.on_tree(daemon, "doctor-well", "--json")
        check = by_name(result)["models"]
        self.assertEqual((result.returncode, check["state"]), (0, "limited"))
        self.assertIn(f"{directory}/a.yaml:2:11: results.x: 'floot' is not a type", check["detail"])
        self.assertIn("and 1 more", check["detail"])
        self.assertIn("perfd --check-config", check["fix"])
        (directory / "a.yaml").write_text("name: A\nresults: {x: float}\n")
        (directory / "b.yaml").rmdir()
        daemon.reload()
        daemon.wait_tick()
        check = by_name(self.on_tree(daemon, "doctor-well", "--json"))["models"]
        self.assertEqual((check["state"], check["detail"]), ("ok", "2 indicator models"))

    def test_a_model_that_perfd_may_not_read_is_named(self):
        directory = self.temporary_directory()
        (directory / "a.yaml").symlink_to("/proc/1/mem/nothing")
        daemon = self.daemon(f"[indicators]\ndirectory = {directory}\n")
        check = by_name(self.on_tree(daemon, "doctor-well", "--json"))["models"]
        self.assertEqual(check["state"], "limited")
        self.assertIn(f"Cannot read the model file {directory}/a.yaml, ignoring the file: Not a directory", check["detail"])

    def test_a_limited_check_is_no_failure_and_has_a_fix(self):
        daemon = self.daemon()
        result = self.on_tree(daemon, "doctor-hidden", "--json")
        checks = by_name(result)
        self.assertEqual(result.returncode, 0, checks)
        for name in ("pressure", "controllers", "own cgroup", "processes", "perfd.socket"):
            self.assertEqual(checks[name]["state"], "limited")
            self.assertTrue(checks[name]["effect"] and checks[name]["fix"])

    def test_a_failed_check_exits_with_one(self):
        daemon = self.daemon()
        result = self.on_tree(daemon, "doctor-v1")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stdout, r"(?m)^failed +open files +95000 of 100000")

    def test_without_perfd_it_exits_with_three_after_other_checks(self):
        result = self.perfctl("--json", PERFD_SOCKET="/nonexistent/perfd.sock", HOME=str(self.temporary_directory()))
        checks = by_name(result)
        self.assertEqual(result.returncode, 3)
        self.assertTrue({"kernel", "machine", "pressure", "clock", "spool"} <= set(checks))
        self.assertFalse({"store", "sources", "sampling"} & set(checks))
        for name in ("socket", "perfd", "http-socket", "http"):
            self.assertEqual(checks[name]["state"], "failed")
        self.assertEqual({check["state"] for check in checks.values()} - STATES, set())

    def test_a_stale_socket_is_reported(self):
        daemon = self.daemon()
        daemon.kill()
        result = daemon.perfctl("doctor", "--json")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(by_name(result)["socket"]["state"], "ok")
        self.assertIn("Connection refused", by_name(result)["perfd"]["detail"])

    def test_a_perfd_that_hangs_is_not_waited_for(self):
        daemon = self.daemon()
        daemon.signal(signal.SIGSTOP)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        result = daemon.perfctl("doctor", "--json", "--timeout", "0.2")
        self.assertEqual(result.returncode, 3)
        self.assertIn("timed out", by_name(result)["perfd"]["detail"])
        self.assertIn("timed out", by_name(result)["http"]["detail"])

    def test_an_unwritable_store_fails(self):
        disk = self.temporary_directory()
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("needs root, to mount a file system")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        with self.assertRaises(OSError), open(disk / "filler", "wb", buffering=0) as f:
            while True:
                f.write(bytes(4096))
        daemon = self.daemon("[sampling]\ninterval = 100ms\n", args=["--state", disk])
        daemon.wait_tick()
        result = self.on_tree(daemon, "doctor-well", "--json")
        store = by_name(result)["store"]
        self.assertEqual((result.returncode, store["state"]), (1, "failed"), store)
        self.assertIn("not writable: cannot open", store["detail"])

    def test_spooled_results_are_counted(self):
        daemon, spool = self.daemon(), self.temporary_directory()
        submitted = self.run_submit(spool)
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        checks = by_name(daemon.perfctl("doctor", "--json", "--spool", spool))
        self.assertEqual(checks["spool"]["state"], "limited")
        self.assertIn("1 files wait", checks["spool"]["detail"])
        self.assertEqual(checks["spool"]["fix"], "perfctl flush")

    def run_submit(self, spool):
        document = {"name": "Copy", "component": "dd", "@parameters": {}, "@result": {"rate": 1.5}}
        return subprocess.run([str(PERFCTL), "submit", "--timeout", "0", "--spool", str(spool), "--socket", "/nonexistent/perfd.sock"],
                              input=json.dumps(document), capture_output=True, text=True, timeout=TIMEOUT_S)

    def test_output_fits_a_terminal_and_is_escaped(self):
        tree = self.temporary_directory()
        (tree / "proc/sys/kernel").mkdir(parents=True)
        (tree / "proc/sys/kernel/osrelease").write_bytes(b"4.1\x1b[2J\x9b\x07-evil\n")
        for columns in (60, 80, 120):
            text = self.perfctl("--root", tree, PERFD_SOCKET="/nonexistent/perfd.sock", COLUMNS=str(columns)).stdout
            self.assertIn("\\x1b[2J", text)
            self.assertEqual([c for c in text if ord(c) < 32 and c != "\n" or 0x7F <= ord(c) < 0xA0], [])
            self.assertLessEqual(max(map(len, text.splitlines())), columns)
        self.assertRegex(text, r"(?m)^\d+ ok, \d+ limited, \d+ failed$")

    def test_an_invalid_root_is_an_error(self):
        result = self.perfctl("--root", "/nonexistent")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("No such file or directory", result.stderr)
