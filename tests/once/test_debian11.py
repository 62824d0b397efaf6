"""Builds perfd in a bare Debian 11, which has SQLite 3.34, libmicrohttpd 0.9.72 and glibc 2.31, and runs the unit tests there. A
database of that perfd is used by the perfd of this machine, and again by that one."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import unittest

import bare_root
import harness

# Submits a result in the root: perfd is started by hand.
SUBMIT = """rm -rf /tmp/run; mkdir /tmp/run; trap 'kill "$pid"' EXIT
~/perfd/build/perfd --http off --socket /tmp/run/perfd.sock --state /tmp/state 2>/tmp/log & pid=$!
export PERFD_SOCKET=/tmp/run/perfd.sock
until ~/perfd/build/perfctl status >/dev/null 2>&1; do kill -0 $pid || { cat /tmp/log; exit 1; }; sleep 0.1; done
echo '{"name": "Eleven", "component": "c", "@parameters": {}, "@result": {"n": 1}}' | ~/perfd/build/perfctl submit
~/perfd/build/perfctl indicator list
trap - EXIT; kill $pid; wait $pid; cat /tmp/log"""


@unittest.skipIf(bare_root.why_not(), bare_root.why_not())
class Debian11(bare_root.Debian11):
    def test_unit_tests_pass_and_databases_are_shared(self):
        self.clone()
        self.make(f"-j{os.cpu_count()}", "-s", "CFLAGS=-O0 -Werror", "all", "examples", "unit-tests", timeout_s=bare_root.BUILD_S)
        text = self.inside("sh", "-c", "cd ~/perfd && tests/run build unit.", timeout_s=bare_root.TESTS_S)
        self.assertRegex(text, r"(?m)^[1-9]\d\d\d passed, 0 failed, \d+ skipped$")
        self.check_databases()

    def check_databases(self):
        self.assertRegex(self.inside("sh", "-ec", SUBMIT), r"(?m)^Eleven ")
        own = self.root / "tmp/state"
        daemon = harness.Daemon()
        self.addCleanup(daemon.close)
        shutil.rmtree(daemon.state)
        shutil.copytree(own, daemon.state)
        daemon.start()
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator("Later")), "OK")
        self.assertEqual(daemon.stop(), 0)
        shutil.rmtree(own)
        shutil.copytree(daemon.state, own)
        shown = self.inside("sh", "-ec", SUBMIT)
        self.assertRegex(shown, r"(?m)^Later ")
        self.assertNotIn("damaged", shown)
        with contextlib.closing(sqlite3.connect(own / "perfd.db")) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM result").fetchone()[0], 3)


if __name__ == "__main__":
    unittest.main()
