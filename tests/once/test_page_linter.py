"""The scripts of the page have no finding of ESLint, which npm downloads with 80 packages: not part of .ci/run."""

import subprocess
import unittest

from harness import ROOT
from test_chromium_axe import find_package

ESLINT = "eslint@9.39.1"


class Linter(unittest.TestCase):
    def test_the_linter_has_no_finding(self):
        eslint = find_package(ESLINT, ".bin/eslint")
        done = subprocess.run([eslint, "--config", "tests/once/eslint.config.mjs", "--max-warnings", "0", "web"], cwd=ROOT,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
