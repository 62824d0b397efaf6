"""perfctl top in a real terminal, tmux, in three sizes."""

import os
import re
import shutil
import subprocess
import unittest

from harness import BUILD, PERFCTL, TestCase, wait_for

SCREENSHOTS = BUILD / "screenshots"
NAMES = ("train-\u65e5\u672c\u8a9e", "e\u0301tude", "x" * 200)


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed (make interop-deps)")
class Screen(TestCase):
    def setUp(self):
        super().setUp()
        self.server = self.daemon("[sampling]\ninterval = 100ms\n")
        wait_for(lambda: self.server.get("/api/v1/node").json["latest"]["cpu_utilization"], "the second sample")
        with self.server.client() as client:
            for i, name in enumerate(NAMES):
                self.assert_status(client.begin(f"job-{i}", name=name), "OK")
        self.socket = self.temporary_directory() / "tmux"
        self.addCleanup(self.tmux, "kill-server")

    def tmux(self, *words):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "PERFD_SOCKET": str(self.server.socket)}
        environment.pop("TMUX", None)
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start(self, width, height, *words):
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), f"{PERFCTL} top --interval 100ms {' '.join(words)}; exec cat")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_screen(self, pattern):
        wait_for(lambda: re.search(pattern, self.screen()), f"{pattern!r} on the screen")
        return self.screen()

    def check(self, name, height):
        """The last line has the keys, and each line of the table begins with a job."""
        text = self.wait_screen(r"q quit\n*\Z")
        (SCREENSHOTS / f"top-{name}.txt").write_text(text)
        lines = text.split("\n")
        self.assertIn("q quit", lines[height - 1])
        for label in ("CPUs", "memory", "disk /", "disks", "network", "waited"):
            self.assertEqual(len([line for line in lines if line.startswith(f"{label} ")]), 1, label)
        head = next(i for i, line in enumerate(lines) if line.startswith(" JOB "))
        rows = "\n".join(lines[head + 1:head + 4])
        for start in ("train-", "e\u0301tude", "xxxx"):
            self.assertRegex(rows, rf"(?m)^[ >]{start}")
        return lines[head]

    def test_sizes_and_resizes(self):
        SCREENSHOTS.mkdir(exist_ok=True)
        self.start(80, 24)
        self.wait_screen("3 jobs")
        self.assertIn("USER", self.check("80x24", 24))
        for width, height, has in ((120, 40, "COMMAND"), (50, 20, "MEMORY"), (80, 24, "USER")):
            self.tmux("resize-window", "-x", str(width), "-y", str(height))
            self.wait_screen(rf" JOB .*{has}")
            wait_for(lambda: "q quit" in self.screen().split("\n")[height - 1], "the last line")
            self.assertIn(has, self.check(f"{width}x{height}", height))

    def test_pages_and_the_end(self):
        self.start(80, 24)
        self.wait_screen("(?m)^>")
        self.tmux("send-keys", "Enter")
        self.wait_screen("^Job job-.*running")
        self.tmux("send-keys", "Down")
        self.wait_screen(r"\A +command|\A +where")
        self.tmux("send-keys", "Escape")
        self.wait_screen("3 jobs")
        self.tmux("send-keys", "Left")
        self.wait_screen(r"\(past\)")
        self.tmux("send-keys", "n")
        wait_for(lambda: "(past)" not in self.screen(), "now")
        self.tmux("send-keys", "q")
        wait_for(lambda: "CPUs" not in self.screen(), "the end")

    def test_a_tiny_screen(self):
        self.start(20, 3)
        self.wait_screen("q|Enter")
        self.tmux("resize-window", "-x", "80", "-y", "24")
        self.wait_screen("q quit")


if __name__ == "__main__":
    unittest.main()
