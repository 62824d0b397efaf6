"""Checks perfctl mark and time: phases of a job, and a command that runs in all circumstances."""

import json
import os
import signal
import subprocess
import unittest

from harness import IS_SANITIZED, PERFCTL, TIMEOUT_S, TestCase, calm_s, wait_for
from test_job_groups import GroupTest

# Time to start and end a program on a busy machine, in addition to the delay by perfd.
SLACK_S = 1.5 if not IS_SANITIZED else 8


def perfctl(*words, socket="/nonexistent/perfd.sock", stdin="", **environment):
    return subprocess.run([str(PERFCTL), *map(str, words)], input=stdin, text=True, capture_output=True, timeout=TIMEOUT_S,
                          env={**{k: v for k, v in os.environ.items() if k != "PERFD_JOB"}, "PERFD_SOCKET": str(socket), **environment})


class Away(TestCase):
    """Tests without perfd, with a stopped perfd, and without a job."""

    def time(self, *command, name="phase", **more):
        return perfctl("time", name, "--", *command, **more)

    def assert_one_line(self, done, words):
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_the_command_always_runs_and_perfctl_exits_with_its_status(self):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + 15)):
            done = self.time("sh", "-c", f"cat; {script}", stdin="what it reads\n")
            self.assertEqual((done.returncode, done.stdout), (status, "what it reads\n"))
            self.assert_one_line(done, "'sh' runs without a mark")

    def test_a_missing_command_has_the_shells_status(self):
        for command, status in (("/nonexistent/command", 127), ("/etc/passwd", 126)):
            done = self.time(command)
            self.assertEqual(done.returncode, status)
            self.assertIn(f"{command}: ", done.stderr)

    def test_the_environment_is_unchanged(self):
        self.assertEqual(self.time("sh", "-c", 'echo "${PERFD_JOB-none}"').stdout, "none\n")
        self.assertEqual(self.time("sh", "-c", 'echo "$PERFD_JOB"', PERFD_JOB="a b").stdout, "a b\n")

    def test_an_invalid_job_id_does_not_stop_the_command(self):
        done = self.time("echo", "ran", PERFD_JOB="a/b")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assert_one_line(done, "invalid job id 'a/b' in $PERFD_JOB")

    def test_a_stopped_perfd_delays_the_command_by_two_fifths_of_a_second(self):
        daemon = self.daemon()
        daemon.signal(signal.SIGSTOP)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        for depth in (1, 2):
            begin = calm_s()
            command = ["echo", "ran"] if depth == 1 else [PERFCTL, "time", "inner", "--", "echo", "ran"]
            done = self.time(*command, socket=daemon.socket, PERFD_JOB="j")
            self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
            self.assertLess(calm_s() - begin, depth * (0.4 + SLACK_S))
            self.assertIn("perfd does not respond; continuing without waiting", done.stderr)

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
        self.assert_one_line(done, "perfd is not running (no socket /nonexistent/perfd.sock)")
        daemon = self.daemon()
        daemon.signal(signal.SIGSTOP)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        begin = calm_s()
        done = perfctl("mark", "load", socket=daemon.socket, PERFD_JOB="j")
        self.assertLess(calm_s() - begin, 0.2 + SLACK_S)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assert_one_line(done, "the mark may not be recorded")

    def test_wrong_usage(self):
        for words, text in ((("mark", ""), "argument must not be empty"), (("mark", "a\nb"), "invalid phase name"),
                            (("mark", "x" * 65), "1 to 64 bytes"), (("mark", "--job", "a\nb", "x"), "--job expects"),
                            (("mark",), "missing argument NAME; usage: perfctl mark "), (("mark", "a", "b"), "unexpected argument 'b'"),
                            (("time", "a"), "missing argument COMMAND"), (("time", "a", "--"), "missing argument COMMAND"),
                            (("time", "a", "echo", "ran"), "expected NAME, '--' and a command"),
                            (("time", "--", "a", "echo", "ran"), "expected NAME, '--' and a command"),
                            (("time", "a", "b", "--", "echo", "ran"), "expected NAME, '--' and a command"),
                            (("time", "a\x07", "--", "echo", "ran"), "invalid phase name")):
            done = perfctl(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(text, done.stderr)
        self.assertEqual(perfctl("mark", "load", PERFD_JOB="a/b").returncode, 2)


class Phases(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon("[sampling]\ninterval = 100ms\n")
        with self.running.client() as client:
            self.assert_status(client.begin("train-17"), "OK")

    def perfctl(self, *words, status=0, **environment):
        done = perfctl(*words, socket=self.running.socket, **{"PERFD_JOB": "train-17", **environment})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def end(self, job="train-17"):
        with self.running.client() as client:
            self.assert_status(client.end(job, 0), "OK")

    def phases(self, job="train-17"):
        return self.running.get(f"/api/v1/jobs/{job}").json["phases"]

    def names(self, job="train-17"):
        return [phase["name"] for phase in self.phases(job)]

    def test_a_mark_begins_a_phase_and_ends_the_one_before(self):
        first = self.perfctl("mark", "load", "--json")
        second = self.perfctl("mark", "größe µ", "--json", "--job", "train-17", PERFD_JOB="other")
        self.assertEqual(json.loads(first.stdout), {"job": "train-17", "phase": "load", "previous": ""})
        self.assertEqual(json.loads(second.stdout), {"job": "train-17", "phase": "größe µ", "previous": "load"})
        self.assertEqual(self.perfctl("mark", "evaluate").stdout, "")
        self.end()
        self.assertEqual([name for name in self.names() if name], ["load", "größe µ", "evaluate"])
        for phase in self.phases():
            self.assertLessEqual(phase["begin_ms"], phase["end_ms"])

    def test_a_missing_job_and_an_ended_one(self):
        done = self.perfctl("mark", "load", status=1, PERFD_JOB="absent")
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.end()
        self.assertEqual(len(self.perfctl("mark", "late", status=1).stderr.splitlines()), 1)
        done = self.perfctl("time", "late", "--", "echo", "ran")
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("ran\n", 1))
        self.assertIn("'echo' runs without a mark", done.stderr)

    def test_without_a_job_a_command_runs_all_the_same(self):
        done = self.perfctl("time", "load", "--", "echo", "ran", PERFD_JOB="")
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("ran\n", 1))

    def test_a_timed_command_has_its_seconds_and_the_previous_phase_continues(self):
        self.perfctl("mark", "main")
        done = self.perfctl("time", "load", "--", "sleep", "0.3")
        self.assertEqual(done.stderr, "")
        self.end()
        phases = [phase for phase in self.phases() if phase["name"]]
        self.assertEqual([phase["name"] for phase in phases], ["main", "load", "main"])
        self.assertGreaterEqual(phases[1]["seconds"], 0.3)
        self.assertLess(phases[1]["seconds"], 0.3 + SLACK_S)

    def test_timed_commands_can_be_nested(self):
        inner = [str(PERFCTL), "time", "inner", "--", "sleep", "0.2"]
        done = self.perfctl("time", "outer", "--", *inner)
        self.assertEqual(done.stderr, "")
        self.perfctl("mark", "rest")
        self.end()
        phases = [phase for phase in self.phases() if phase["name"]]
        self.assertEqual([phase["name"] for phase in phases], ["outer", "inner", "outer", "rest"])
        self.assertGreaterEqual(phases[1]["seconds"], 0.2)
        self.assertGreaterEqual(phases[2]["seconds"], phases[1]["seconds"])

    def test_seconds_of_a_command_with_marks_are_reported_with_their_phase(self):
        done = self.perfctl("time", "outer", "--", PERFCTL, "mark", "own")
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("phase 'outer' ended before its command: the seconds are recorded for phase 'own'", done.stderr)

    def test_a_script_run_as_a_job_has_phases(self):
        script = '"$0" mark load && "$0" time "read it" -- cat /proc/self/stat >/dev/null && "$0" mark train; exit 6'
        done = self.perfctl("run", "--job", "script-1", "--", "sh", "-c", script, str(PERFCTL), status=6, PERFD_JOB="other")
        self.assertNotIn("mark", done.stderr)
        self.assertEqual([name for name in self.names("script-1") if name], ["load", "read it", "load", "train"])
        last = self.phases("script-1")[-1]
        self.assertEqual(last["end_ms"], self.running.get("/api/v1/jobs/script-1").json["end_ms"])
        self.assertIn("duration_seconds", [metric["key"] for metric in last["metrics"]])

    def test_a_restart_of_perfd_loses_nothing(self):
        directory = self.temporary_directory()
        ready, go = directory / "ready", directory / "go"
        script = f"touch {ready}; while [ ! -e {go} ]; do sleep 0.05; done"
        process = subprocess.Popen([str(PERFCTL), "time", "load", "--", "sh", "-c", script], stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "PERFD_SOCKET": str(self.running.socket), "PERFD_JOB": "train-17"})
        wait_for(ready.exists, "the command")
        self.running.restart()
        go.touch()
        _, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, err), (0, ""))
        self.end()
        load, = [phase for phase in self.phases() if phase["name"] == "load"]
        self.assertGreater(load["seconds"], 0)

    @unittest.skipUnless(os.getuid() == 0, "needs root, to act as several users")
    def test_a_job_of_another_user_is_denied(self):
        os.chmod(self.running.directory, 0o755)
        os.chmod(self.running.socket, 0o777)
        done = subprocess.run([self.for_others(), "mark", "--job", "train-17", "theirs"], text=True, capture_output=True,
                              timeout=TIMEOUT_S, user=65534, group=65534, cwd="/", env={"PERFD_SOCKET": str(self.running.socket)})
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.end()
        self.assertEqual(self.names(), [])


class InItsGroup(GroupTest):
    """Tests without a job id: the control group determines the job."""

    def inside(self, group, daemon, *words):
        script = f'echo 0 > {group.path}/cgroup.procs && exec "$@"'
        environment = {k: v for k, v in os.environ.items() if k != "PERFD_JOB"}
        return subprocess.run(["sh", "-c", script, "sh", PERFCTL, *words], text=True, capture_output=True, timeout=TIMEOUT_S,
                              env={**environment, "PERFD_SOCKET": str(daemon.socket)})

    def test_a_mark_and_a_timed_command_find_the_job_they_are_in(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        with daemon.client() as client:
            self.assert_status(self.begin(client, "grouped", group.start()), "OK")
            self.assert_status(client.begin("other"), "OK")
            done = self.inside(group, daemon, "mark", "--json", "main")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(json.loads(done.stdout), {"job": "grouped", "phase": "main", "previous": ""})
            done = self.inside(group, daemon, "time", "load", "--", "sh", "-c", "exit 5")
            self.assertEqual((done.returncode, done.stderr), (5, ""))
            self.assert_status(client.end("grouped", 0), "OK")
        self.assertEqual([phase["name"] for phase in self.job(daemon, "grouped")["phases"] if phase["name"]], ["main", "load", "main"])
        self.assertEqual(self.job(daemon, "other")["phases"], [])


if __name__ == "__main__":
    unittest.main()
