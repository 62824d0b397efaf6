"""Runs the system tests in a bare Debian 11. Not in .ci/run, where test_debian11 runs the unit tests there."""

import os
import unittest

import bare_root


@unittest.skipIf(bare_root.why_not(), bare_root.why_not())
class BareDebian11(bare_root.Debian11):
    def test_system_tests_pass(self):
        self.clone()
        self.make(f"-j{os.cpu_count()}", "-s", "CFLAGS=-O2", "all", "examples", timeout_s=bare_root.BUILD_S)
        text = self.inside("sh", "-c", "cd ~/perfd && tests/run build system.", timeout_s=bare_root.TESTS_S)
        self.assertRegex(text, r"(?m)^[1-9]\d\d+ passed, 0 failed, \d+ skipped$")


if __name__ == "__main__":
    unittest.main()
