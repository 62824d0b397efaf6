"""Runs README's commands as a user without privileges in a bare Debian 12, with the clone in a home with mode 0700.

Packages are installed with sudo, after a question.
"""

import unittest

import bare_root


@unittest.skipIf(bare_root.why_not(), bare_root.why_not())
class BareUser(bare_root.BareRoot):
    release, packages = "bookworm", f"{bare_root.BareRoot.packages},sudo"
    user, home = "guest", "/home/guest"
    skips = f"{bare_root.LACKING}|root|[Nn]o (c?group|permission)|no pressure stall information of cgroups here"

    def test_the_commands_of_the_readme(self):
        self.inside("useradd", "--create-home", self.user, user="root")
        (self.root / "etc/sudoers.d/guest").write_text("guest ALL=(ALL) NOPASSWD: ALL\n")
        self.clone()
        self.inside("chown", "-R", f"{self.user}:", self.home, user="root")
        self.expect_demonstration(self.run_demonstration())
        self.expect_passed(self.make("check", timeout_s=bare_root.INSTALL_S + bare_root.BUILD_S + bare_root.TESTS_S))


if __name__ == "__main__":
    unittest.main()
