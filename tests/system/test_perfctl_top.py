"""perfctl top against a running perfd: for scripts, and its program for terminals on a pseudo-terminal."""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from harness import BUILD, PERFCTL, TIMEOUT_S, TestCase, wait_for

EVIL = "evil\u202e\u65e5\u672c\u8a9e"


class Top(TestCase):
    def setUp(self):
        super().setUp()
        self.server = self.daemon("[sampling]\ninterval = 100ms\n")
        wait_for(lambda: self.server.get("/api/v1/node").json["latest"]["cpu_utilization"], "the second sample")
        with self.server.client() as client:
            for name in ("steady", EVIL):
                self.assert_status(client.begin(f"id-{len(name)}", name=name, command="./train.py"), "OK")

    def run_top(self, *words, program=PERFCTL, **environment):
        return subprocess.run([program, "top", *words], capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PERFD_SOCKET": str(self.server.socket), "LC_ALL": "C.UTF-8", "COLUMNS": "120",
                                   **environment})

    def ask(self, *words, **environment):
        done = self.run_top(*words, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_once_prints_the_screen(self):
        text = self.ask("--once")
        for words in ("CPUs", "memory", "disk /", "disks", "network", "cores ", "waited", "*CPUS", "2 jobs", "steady",
                      "evil\\u{202e}\u65e5", "./train.py"):
            self.assertIn(words, text)
        self.assertNotIn("\x1b", text)
        self.assertLessEqual(max(map(len, self.ask("--once", COLUMNS="50").splitlines())), 50)
        self.assertIn("*MEMORY", self.ask("--once", "--sort", "memory"))

    def test_json_has_rates_and_a_document_for_each_update(self):
        documents = [json.loads(line) for line in self.ask("--json", "--limit", "3", "--interval", "100ms").splitlines()]
        self.assertEqual(len(documents), 3)
        for one, next_one in zip(documents, documents[1:]):
            self.assertLess(one["time_ms"], next_one["time_ms"])
        self.assertEqual({job["name"] for job in documents[0]["jobs"]}, {"steady", EVIL})
        self.assertIsInstance(documents[0]["cpu_utilization"], float)
        self.assertIsInstance(documents[0]["disk_read_bytes_per_second"], float)
        if os.path.exists("/proc/pressure/cpu"):
            self.assertIsInstance(documents[0]["pressure_cpu_ratio"], float)
        self.assertEqual(len(self.ask("--json", "--once").splitlines()), 1)

    def test_an_earlier_time_has_the_jobs_of_then(self):
        self.wait_for_history()
        with self.server.client() as client:
            self.assert_status(client.end("id-6"), "OK")
        ended_ms = self.server.get("/api/v1/jobs/id-6").json["end_ms"]
        wait_for(lambda: json.loads(self.ask("--once", "--json"))["time_ms"] > ended_ms + 1000, "a second after the end")
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ended_ms // 1000))
        then = json.loads(self.ask("--once", "--json", "--at", at))
        self.assertTrue(then["past"])
        self.assertEqual(then["time_ms"], ended_ms // 1000 * 1000)
        begin_ms = self.server.get("/api/v1/jobs/id-6").json["begin_ms"]
        self.assertEqual("steady" in {job["name"] for job in then["jobs"]}, begin_ms <= then["time_ms"] < ended_ms)
        self.assertNotIn("steady", {job["name"] for job in json.loads(self.ask("--once", "--json"))["jobs"]})

    def wait_for_history(self):
        wait_for(lambda: self.server.get("/api/v1/node/samples").json["timeline"]["series"]["cpu"]["mean"], "a row of history")

    def test_wrong_use_is_explained(self):
        for words, text in ((("--at", "25:00"), "--at expects a past time such as 03:00"), (("--at", "2999-01-01 00:00"), "--at expects"),
                            (("--sort", "age"), "--sort expects"), ((), "not a terminal: use --once or --json")):
            done = self.run_top(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr)

    def test_json_outlives_a_restart(self):
        process = subprocess.Popen([PERFCTL, "top", "--json", "--interval", "100ms", "--socket", self.server.socket],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertTrue(process.stdout.readline())
        self.server.stop()
        self.assertIn("perfd is away, trying again", process.stderr.readline())
        while select.select([process.stdout], [], [], 0)[0]:
            os.read(process.stdout.fileno(), 65536)
        self.server.start()
        self.assertTrue(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT_S)
        process.stdout.close()
        process.stderr.close()

    def test_a_missing_program_or_library_is_named(self):
        alone = self.temporary_directory() / "perfctl"
        shutil.copy(PERFCTL, alone)
        status, text = self.on_terminal(program=alone)
        self.assertEqual(status, 1)
        self.assertIn("cannot run perfctl-top: No such file or directory (package perfctl)", text)
        self.assertIn("2 jobs", self.run_top("--once", program=alone).stdout)
        installed = self.temporary_directory()
        for source, place in ((PERFCTL, "bin/perfctl"), (BUILD / "perfctl-top", "libexec/perfd/perfctl-top")):
            (installed / place).parent.mkdir(parents=True)
            shutil.copy(source, installed / place)
        status, text = self.on_terminal("--limit", "1", program=installed / "bin/perfctl")
        self.assertEqual(status, 0, text)
        self.assertIn("steady", text)

    def test_terminals_without_a_cursor_are_refused(self):
        for name in ("dumb", "no-such-terminal", ""):
            status, text = self.on_terminal(TERM=name)
            self.assertEqual(status, 1)
            self.assertIn(f"the terminal '{name}' cannot show a screen: set TERM, or use --once or --json", text)

    def on_terminal(self, *words, program=PERFCTL, keys=b"", **environment):
        """Returns the exit status and the output on a terminal, into which keys are typed after the first screen."""
        pid, master = pty.fork()
        if pid == 0:
            os.environ.pop("NO_COLOR", None)
            os.environ.update({"PERFD_SOCKET": str(self.server.socket), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment})
            os.execv(program, [str(program), "top", *words])
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        data, typed = b"", not keys

        def finished():
            nonlocal data, typed
            if not select.select([master], [], [], 0)[0]:
                return False
            try:
                chunk = os.read(master, 65536)
            except OSError:
                return True
            data += chunk
            if not typed and b"steady" in data:
                typed = True
                os.write(master, keys)
            return not chunk
        wait_for(finished, "the end of perfctl top")
        os.close(master)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), data.decode()

    def test_keys_lead_through_the_screens(self):
        status, text = self.on_terminal(keys=b"j\rq")
        self.assertEqual(status, 0, text)
        self.assertIn("Esc back", text)
        self.assertNotIn("\u202e", text)
        self.assertIn("\x1b[36m", text)
        status, text = self.on_terminal(keys=b"mipc\x1b[D\x1b[C[]nq", NO_COLOR="1")
        self.assertEqual(status, 0, text)
        self.assertIn("(past)", text)
        self.assertNotIn("\x1b[36m", text)

    def test_characters_of_other_locales_are_marks(self):
        status, text = self.on_terminal("--limit", "1", LC_ALL="C")
        self.assertEqual(status, 0, text)
        self.assertTrue(text.isascii())
        self.assertIn("evil\\u{202e}??????", text)

    def spawn(self):
        """Starts on a terminal. Returns functions: whether the screen has shown words, type keys, wait for the exit status."""
        pid, master = pty.fork()
        if pid == 0:
            os.execve(PERFCTL, [str(PERFCTL), "top", "--interval", "100ms"],
                      {"PERFD_SOCKET": str(self.server.socket), "TERM": "xterm", "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})
        self.addCleanup(os.close, master)
        data = b""

        def shows(words):
            nonlocal data
            if select.select([master], [], [], 0)[0]:
                try:
                    data += os.read(master, 65536)
                except OSError:  # it has ended
                    pass
            return words in data

        def end():
            def ended():
                shows(b"")
                return os.waitpid(pid, os.WNOHANG)
            return os.waitstatus_to_exitcode(wait_for(lambda: (found := ended())[0] and found, "the end")[1])
        return shows, lambda keys: os.write(master, keys), end

    def test_perfd_away_is_said(self):
        shows, press, end = self.spawn()
        wait_for(lambda: shows(b"steady"), "the screen")
        self.server.stop()
        wait_for(lambda: shows(b"perfd does not answer since "), "the message")
        self.server.start()
        with self.server.client() as client:
            self.assert_status(client.begin("later", name="begun-later"), "OK")
        wait_for(lambda: shows(b"begun-later"), "the job that began after the restart")
        press(b"q")
        self.assertEqual(end(), 0)

    def test_a_perfd_that_hangs_is_said_and_keys_work(self):
        shows, press, end = self.spawn()
        wait_for(lambda: shows(b"steady"), "the screen")
        self.server.signal(signal.SIGSTOP)
        self.addCleanup(self.server.signal, signal.SIGCONT)
        wait_for(lambda: shows(b"perfd does not answer since "), "the message")
        press(b"jmq")
        self.assertEqual(end(), 0)
        self.assertFalse(shows(b"No job runs"))  # what was known stays


if __name__ == "__main__":
    unittest.main()
