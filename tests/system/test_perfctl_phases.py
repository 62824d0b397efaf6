"""perfctl mark and time: phases of a job, and a command that nothing of perfd's can stop."""

import os
import signal
import subprocess
import time
import unittest

from harness import IS_SANITIZED, PERFCTL, TIMEOUT_S, TestCase, wait_for

# What a program may take to start and end on a busy machine, besides what perfd may delay it by.
SLACK_S = 1.5 if not IS_SANITIZED else 8


def perfctl(*words, socket="/nonexistent/perfd.sock", stdin="", **environment):
    return subprocess.run([str(PERFCTL), *map(str, words)], input=stdin, text=True, capture_output=True, timeout=TIMEOUT_S,
                          env={**{k: v for k, v in os.environ.items() if k != "PERFD_JOB"}, "PERFD_SOCKET": str(socket), **environment})


class Away(TestCase):
    """perfd is down, stopped, or has no such job."""

    def time(self, *command, name="phase", **more):
        return perfctl("time", name, "--", *command, **more)

    def assert_one_line(self, done, words):
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_the_command_runs_all_the_same_and_its_status_is_perfctls(self):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + 15)):
            done = self.time("sh", "-c", f"cat; {script}", stdin="what it reads\n")
            self.assertEqual((done.returncode, done.stdout), (status, "what it reads\n"))
            self.assert_one_line(done, "No such file or directory. Running 'sh' without marking it")

    def test_a_command_that_is_none_has_the_shells_status(self):
        for command, status in (("/nonexistent/command", 127), ("/etc/passwd", 126)):
            done = self.time(command)
            self.assertEqual(done.returncode, status)
            self.assertIn(f"Cannot run '{command}'", done.stderr)

    def test_its_environment_is_left_alone(self):
        self.assertEqual(self.time("sh", "-c", 'echo "${PERFD_JOB-none}"').stdout, "none\n")
        self.assertEqual(self.time("sh", "-c", 'echo "$PERFD_JOB"', PERFD_JOB="a b").stdout, "a b\n")

    def test_a_job_that_is_none_does_not_stop_the_command(self):
        done = self.time("echo", "ran", PERFD_JOB="a/b")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assert_one_line(done, "$PERFD_JOB is 'a/b'")

    def test_a_stopped_perfd_delays_it_by_two_fifths_of_a_second(self):
        daemon = self.daemon()
        daemon.signal(signal.SIGSTOP)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        for depth in (1, 2):
            begin = time.monotonic()
            command = ["echo", "ran"] if depth == 1 else [PERFCTL, "time", "inner", "--", "echo", "ran"]
            done = self.time(*command, socket=daemon.socket, PERFD_JOB="j")
            self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
            self.assertLess(time.monotonic() - begin, depth * (0.4 + SLACK_S))
            self.assertIn("perfd does not answer: going on without waiting for it", done.stderr)

    def test_signals_reach_the_command(self):
        directory = self.temporary_directory()
        ready, got = directory / "ready", directory / "got"
        script = f"trap 'echo usr1 > {got}' USR1; touch {ready}; while [ ! -e {got} ]; do sleep 0.05; done; exit 9"
        process = subprocess.Popen([str(PERFCTL), "time", "phase", "--", "sh", "-c", script], stderr=subprocess.DEVNULL,
                                   env={**os.environ, "PERFD_SOCKET": "/nonexistent/perfd.sock"})
        wait_for(ready.exists, "the command")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(TIMEOUT_S), 9)

    def test_a_mark_fails_with_a_reason_and_soon(self):
        done = perfctl("mark", "load", PERFD_JOB="j")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assert_one_line(done, "cannot be reached at /nonexistent/perfd.sock: No such file or directory")
        daemon = self.daemon()
        daemon.signal(signal.SIGSTOP)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        begin = time.monotonic()
        done = perfctl("mark", "load", socket=daemon.socket, PERFD_JOB="j")
        self.assertLess(time.monotonic() - begin, 0.2 + SLACK_S)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assert_one_line(done, "whether it has the mark is not known")

    def test_wrong_usage(self):
        for words, text in ((("mark", ""), "'' cannot name a phase"), (("mark", "a\nb"), "cannot name a phase"),
                            (("mark", "x" * 65), "1 to 64 bytes"), (("mark", "--job", "a/b", "x"), "--job expects"),
                            (("mark",), "Something is missing"), (("mark", "a", "b"), "'b' is one word too many"),
                            (("time", "a"), "Something is missing"), (("time", "a", "--"), "Something is missing"),
                            (("time", "a", "echo", "ran"), "Expected one NAME before '--'"),
                            (("time", "--", "a", "echo", "ran"), "Expected one NAME before '--'"),
                            (("time", "a", "b", "--", "echo", "ran"), "Expected one NAME before '--'"),
                            (("time", "a\x07", "--", "echo", "ran"), "cannot name a phase")):
            done = perfctl(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(text, done.stderr)
        self.assertEqual(perfctl("mark", "load", PERFD_JOB="a/b").returncode, 2)


if __name__ == "__main__":
    unittest.main()
