"""Runs README's commands as root in a bare Debian 13, with the clone in /root: make run, make check and make deb.

The packages replace those of the previous commit, and are purged.
"""

import re
import shutil
import subprocess
import unittest

import bare_root
from harness import ROOT

PREVIOUS = "0.1.0~previous"
# Runs commands beside a perfd that is started by hand, as no systemd runs in the root. Prints the log of perfd.
WITH_PERFD = """mkdir -p /run/perfd
perfd --http off 2>/tmp/log & pid=$!
until perfctl status >/dev/null 2>&1; do kill -0 $pid || { cat /tmp/log; exit 1; }; sleep 0.1; done
%s
kill $pid; wait $pid; cat /tmp/log"""


@unittest.skipIf(bare_root.why_not(), bare_root.why_not())
class BareRoot(bare_root.BareRoot):
    release = "trixie"
    skips = f"{bare_root.LACKING}|/ as a mount point"

    def test_the_commands_of_the_readme(self):
        self.clone()
        self.expect_demonstration(self.run_demonstration())
        self.expect_passed(self.make("check", timeout_s=bare_root.BUILD_S + bare_root.TESTS_S))
        self.make("deb", timeout_s=bare_root.INSTALL_S + bare_root.BUILD_S)
        self.build_previous()
        self.replace_previous()

    def build_previous(self):
        """Builds the packages of the commit before the tree, without optimisation, as an older version."""
        status = subprocess.run(["git", "-C", ROOT, "status", "--porcelain"], check=True, capture_output=True).stdout
        commit = "HEAD" if status else "HEAD^"
        (self.root / "root/previous").mkdir()
        packed = subprocess.run(["git", "-C", ROOT, "archive", commit], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-C", self.root / "root/previous", "--no-same-owner", "-x"], input=packed, check=True)
        self.inside("sh", "-ec", f"""cd ~/previous; sed -i '1s/(.*)/({PREVIOUS})/' debian/changelog; exec 3>&1 >~/log 2>&1
            dpkg-buildpackage --build=binary --no-sign --jobs=$(nproc) || {{ tail -n 40 ~/log >&3; exit 1; }}""",
                    environment=("DEB_BUILD_OPTIONS=noopt noautodbgsym",), timeout_s=bare_root.BUILD_S)

    def replace_previous(self):
        install = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", "install")
        self.inside("sh", "-ec", f"{' '.join(install)} ~/perfd_*.deb ~/perfctl_*.deb", timeout_s=bare_root.INSTALL_S)
        self.inside("sh", "-ec", WITH_PERFD % "perfctl run --job kept -- true")

        words = re.search(r"(?m)^    make deb && sudo apt install (.*)$", (ROOT / "README.md").read_text())[1]
        self.inside("sh", "-ec", f"cd ~/perfd; {' '.join(install)} {words}", timeout_s=bare_root.INSTALL_S)
        self.assertNotIn("previous", self.inside("dpkg-query", "-W", "perfd", "perfctl"))
        shown = self.inside("sh", "-ec", WITH_PERFD % "perfctl run --job new -- true; perfctl job list")
        self.assertRegex(shown, r"(?m)^new ")
        # A file of another format is kept under another name, which is said.
        self.assertRegex(shown, r"(?m)^kept |of an older perfd")
        self.assertNotIn("damaged", shown, "the tables have changed, and SCHEMA_VERSION has not")

        self.inside("apt-get", "-qq", "-y", "purge", "perfd", "perfctl")
        left = self.inside("find", "/etc", "/var/lib", "/usr", "-regex", ".*perf\\(d\\|ctl\\).*", "-type", "f", "-not", "-path",
                           "*/dpkg/*")
        self.assertEqual(left, "")


if __name__ == "__main__":
    unittest.main()
