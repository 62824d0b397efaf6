"""Checks that perfctl run does not affect the command, and the information that perfd receives."""

import fcntl
import hashlib
import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys

from harness import BUILD, IS_SANITIZED, PERFCTL, TIMEOUT_S, TestCase, calm_s, indicator, wait_for

# perfd delays a job by at most 0.2 s at its start and 0.5 + 0.2 s at its end.
BOUND_S = 1.5 if not IS_SANITIZED else 10


class RunTestCase(TestCase):
    """Creates a directory with a spool for each test."""

    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.spool = self.directory / "spool"
        self.absent = self.directory / "absent.sock"

    def environment(self, socket, **more):
        environment = {**os.environ, "PERFD_SOCKET": str(socket), "NO_COLOR": "1", **more}
        for name in list(environment):
            if name not in more and name.startswith(("PERFD_JOB", "PERFD_HTTP_SOCKET", "SLURM_", "PMI", "MPI_", "OMPI_")):
                environment.pop(name)
        return environment

    def start(self, *command, socket=None, options=(), environment=None, **more):
        return subprocess.Popen([str(PERFCTL), "run", "--quiet", "--spool", str(self.spool), *options, "--", *map(str, command)],
                                env=self.environment(socket or self.absent, **(environment or {})), **more)

    def perfctl_run(self, *command, stdin=b"", **more):
        """Returns (exit status, stdout, stderr), the output as bytes."""
        process = self.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        out, err = process.communicate(stdin, timeout=TIMEOUT_S)
        return process.returncode, out, err

    def spooled(self):
        return [json.loads(line) for path in sorted(self.spool.glob("*.jsonl")) for line in path.read_text().splitlines()]

    def job(self, daemon, job="j"):
        return daemon.get(f"/api/v1/jobs/{job}").json


class Transparency(RunTestCase):
    """Compares a command under perfctl run, with and without perfd, with the command alone."""

    def sockets(self):
        return [self.daemon().socket, self.absent]

    def test_exit_status_is_the_commands(self):
        for socket in self.sockets():
            for status in (0, 1, 2, 3, 126, 127, 255):
                self.assertEqual(self.perfctl_run("sh", "-c", f"exit {status}", socket=socket)[0], status)

    def test_a_signal_counts_as_128_and_its_number(self):
        for socket in self.sockets():
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGPIPE):
                status = self.perfctl_run("sh", "-c", f"ulimit -c 0; kill -{int(number)} $$", socket=socket)[0]
                self.assertEqual(status, 128 + number)

    def test_a_command_that_is_not_there_is_127(self):
        for socket in self.sockets():
            status, out, err = self.perfctl_run("no-such-command-anywhere", socket=socket)
            self.assertEqual((status, out), (127, b""))
            self.assertIn(b"no-such-command-anywhere: command not found", err)

    def test_a_command_that_cannot_be_run_is_126(self):
        path = self.directory / "data"
        path.write_text("not a program")
        path.chmod(0o644)
        for command in (path, self.directory):
            status, _, err = self.perfctl_run(command)
            self.assertEqual(status, 126)
            self.assertIn(b"Permission denied", err)

    def test_an_interpreter_that_is_not_there_is_named(self):
        path = self.directory / "script"
        path.write_text("#!/nonexistent/python -u\n")
        path.chmod(0o755)
        status, _, err = self.perfctl_run(path)
        self.assertEqual(status, 127)
        self.assertIn(f"{path}: interpreter /nonexistent/python not found\n".encode(), err)

    def test_a_script_without_interpreter_line_runs_in_the_shell(self):
        path = self.directory / "script"
        path.write_text("exit 7\n")
        path.chmod(0o755)
        self.assertEqual(self.perfctl_run(path)[0], 7)

    def test_input_and_outputs_pass_byte_for_byte(self):
        data = bytes(range(256)) * 1000 + b"no newline at the end"
        program = "import sys; d = sys.stdin.buffer.read(); sys.stdout.buffer.write(d); sys.stderr.buffer.write(d[::-1])"
        for socket in self.sockets():
            for mode in ("auto", "yes", "no"):
                status, out, err = self.perfctl_run("/usr/bin/python3", "-c", program, stdin=data, socket=socket,
                                                    options=("--collect", mode))
                self.assertEqual(status, 0)
                self.assertEqual(out, data)
                self.assertIn(data[::-1], err)

    def test_a_closed_output_leaves_the_connection_alone(self):
        daemon = self.daemon()
        command = [PERFCTL, "run", "--spool", self.spool, "--job", "j", "--", "sh", "-c", "echo into nowhere; exit 7"]
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', *map(str, command)], env=self.environment(daemon.socket),
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn(b"cannot write to standard output: Bad file descriptor", done.stderr)
        self.assertEqual(self.job(daemon)["exit"]["status"], 7)
        self.assertEqual(self.spooled(), [])

    def test_output_that_could_not_be_written_is_a_failure(self):
        for command, status in (("echo hi", 1), ("echo hi; exit 7", 7), ("true", 0)):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([str(PERFCTL), "run", "--spool", str(self.spool), "--", "sh", "-c", command], stdout=full,
                                      env=self.environment(self.absent), stderr=subprocess.PIPE, timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(b"cannot write to standard output: No space left on device" in done.stderr, status != 0)

        closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', str(PERFCTL), "run", "--spool", str(self.spool), "--", "echo", "hi"],
                                env=self.environment(self.absent), stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        self.assertEqual(closed.returncode, 1, closed.stderr)

    def test_a_hundred_megabytes_pass_unchanged(self):
        n = 100_000_000
        program = f"import os, hashlib; d = os.urandom(1 << 20) * 96; d = d[:{n}]; d += b'x' * ({n} - len(d))\n" \
                  "import sys; sys.stdout.buffer.write(d); sys.stderr.write(hashlib.sha256(d).hexdigest())"
        for target in ("pipe", "file"):
            with open(self.directory / "out", "w+b") as file:
                process = self.start("/usr/bin/python3", "-c", program, stderr=subprocess.PIPE,
                                     stdout=subprocess.PIPE if target == "pipe" else file)
                digest, length = hashlib.sha256(), 0
                if target == "pipe":
                    while chunk := process.stdout.read(1 << 20):
                        digest.update(chunk)
                        length += len(chunk)
                    process.stdout.close()
                err = process.stderr.read().decode()
                process.stderr.close()
                self.assertEqual(process.wait(TIMEOUT_S), 0)
                if target == "file":
                    file.seek(0)
                    digest, length = hashlib.sha256(data := file.read()), len(data)
                self.assertEqual(length, n)
                self.assertIn(digest.hexdigest(), err)

    def test_output_is_appended_to_a_file_that_is_appended_to(self):
        path = self.directory / "log"
        path.write_bytes(b"before\n")
        with open(path, "ab") as file:
            self.assertEqual(self.start("echo", "after", stdout=file, stderr=subprocess.DEVNULL).wait(TIMEOUT_S), 0)
        self.assertEqual(path.read_bytes(), b"before\nafter\n")

    def test_output_is_forwarded_immediately(self):
        process = self.start("sh", "-c", "echo first; read line; echo $line", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), b"first\n")
        self.assertEqual(process.communicate(b"second\n", timeout=TIMEOUT_S)[0], b"second\n")

    def test_a_closed_reader_is_reported_to_the_command(self):
        for mode in ("auto", "no"):
            process = self.start("sh", "-c", "while :; do echo line; done", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 options=("--collect", mode))
            self.assertEqual(process.stdout.readline(), b"line\n")
            process.stdout.close()
            self.assertEqual(process.wait(TIMEOUT_S), 128 + signal.SIGPIPE)

    def test_a_closed_reader_ends_a_command_that_checks_late(self):
        process = self.start("sh", "-c", "read line; echo one; read line; echo two; exit 9", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        [command] = wait_for(lambda: self.children(process.pid), "the command")
        wait_for(lambda: self.output_of(command) != self.output_of(process.pid), "its output to be perfctl's to pass on")
        output = self.output_of(command)
        process.stdout.close()
        wait_for(lambda: output not in self.files_of(process.pid), "perfctl to have noticed")
        process.stdin.write(b"\n")
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT_S), 128 + signal.SIGPIPE)

    @staticmethod
    def output_of(pid):
        return os.readlink(f"/proc/{pid}/fd/1")

    @staticmethod
    def files_of(pid):
        """Returns the open files of a process; files may be closed concurrently."""
        directory = f"/proc/{pid}/fd"
        return [os.readlink(f"{directory}/{fd}") for fd in os.listdir(directory) if os.path.lexists(f"{directory}/{fd}")]

    def test_a_slow_reader_does_not_keep_signals_from_the_command(self):
        process = self.start("sh", "-c", "trap 'exit 5' TERM; while :; do head -c 4096 /dev/zero; done", stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        self.assertTrue(process.stdout.read(1))
        # Without a reader, all pipes fill up.
        wait_for(lambda: self.is_full(process.stdout.fileno()), "a full pipe")
        process.terminate()
        wait_for(lambda: len(self.children(process.pid)) == 0 or process.poll() is not None or self.drain(process), "the command's end")
        self.drain(process)
        self.assertEqual(process.wait(TIMEOUT_S), 5)
        process.stdout.close()

    @staticmethod
    def is_full(fd):
        n = bytearray(4)
        fcntl.ioctl(fd, 0x541B, n)  # FIONREAD
        return int.from_bytes(n, sys.byteorder) >= 65536 - 4096

    @staticmethod
    def drain(process):
        """Reads available output without waiting. Returns False, so that wait_for() continues."""
        while select.select([process.stdout], [], [], 0)[0]:
            if not os.read(process.stdout.fileno(), 1 << 20):
                break
        return False

    @staticmethod
    def children(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except FileNotFoundError:
            return []

    def test_what_outlives_the_command_keeps_its_output(self):
        out = self.directory / "fifo"
        os.mkfifo(out)
        reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        go = self.directory / "go"
        with open(out, "wb") as file:
            process = self.start("sh", "-c", f"(until [ -e {go} ]; do sleep 0.01; done; echo late) & echo early", stdout=file,
                                 stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            # The command and perfctl have ended, although another process holds the output open.
            self.assertEqual(process.wait(TIMEOUT_S), 0)
        go.touch()
        data = b""

        def read():
            nonlocal data
            try:
                data += os.read(reader, 4096)
            except BlockingIOError:
                pass
            return b"late\n" in data
        wait_for(read, "what the command left behind has to say")
        self.assertEqual(data, b"early\nlate\n")

    def test_the_command_has_the_callers_surroundings(self):
        program = "import os, signal, json; print(json.dumps([sorted(map(int, os.listdir('/proc/self/fd'))), " \
                  "[l for l in open('/proc/self/status') if l.startswith(('SigBlk', 'SigIgn'))], os.getppid()]))"
        alone = subprocess.run(["/usr/bin/python3", "-c", program], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        for socket in self.sockets():
            status, out, _ = self.perfctl_run("/usr/bin/python3", "-c", program, socket=socket)
            self.assertEqual(status, 0)
            self.assertEqual(json.loads(out)[:2], json.loads(alone.stdout)[:2])

    def test_ignored_signals_stay_ignored(self):
        process = self.start("sh", "-c", "kill -HUP $$; kill -CHLD $$; echo alive", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             preexec_fn=lambda: [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGHUP, signal.SIGCHLD)])
        self.assertEqual(process.communicate(timeout=TIMEOUT_S)[0], b"alive\n")
        self.assertEqual(process.returncode, 0)

    def test_the_job_is_in_the_environment(self):
        status, out, _ = self.perfctl_run("sh", "-c", "echo $PERFD_JOB $PERFD_SOCKET", options=("--job", "my-job"))
        self.assertEqual(out.decode().split(), ["my-job", str(self.absent)])


class Signals(RunTestCase):
    def test_signals_to_perfctl_are_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            process = self.start("sh", "-c", f"ulimit -c 0; trap 'exit 5' {int(number)}; echo ready; while :; do sleep 0.01; done",
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(number)
            self.assertEqual(process.wait(TIMEOUT_S), 5, number)
            process.stdout.close()

    def test_a_command_without_handlers_ends_by_the_signal(self):
        for options in ((), ("--collect", "no")):
            process = self.start("sh", "-c", "echo ready; exec sleep 1000", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 options=options)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.terminate()
            self.assertEqual(process.wait(TIMEOUT_S), 128 + signal.SIGTERM)
            process.stdout.close()

    def on_terminal(self, *command):
        """Starts a shell as a session leader with a terminal. Returns (pid, master)."""
        pid, master = pty.fork()
        if pid == 0:
            os.execvpe(command[0], list(map(str, command)), self.environment(self.absent, TERM="xterm", PS1="$ "))
        self.addCleanup(os.close, master)
        return pid, master

    @staticmethod
    def read_until(master, word):
        data = b""

        def read():
            nonlocal data
            if select.select([master], [], [], 0)[0]:
                try:
                    data += os.read(master, 4096)
                except OSError:
                    return True
            return word in data
        wait_for(read, f"{word!r}")
        return data

    @staticmethod
    def wait_status(pid):
        return wait_for(lambda: (r := os.waitpid(pid, os.WNOHANG))[0] and r, "the end")[1]

    def test_ctrl_c_reaches_the_command_once(self):
        pid, master = self.on_terminal(PERFCTL, "run", "--spool", self.spool, "--", "/usr/bin/python3", "-c",
                                       "import signal, time\nn = 0\n"
                                       "def on(*_):\n  global n; n += 1\n"
                                       "signal.signal(signal.SIGINT, on)\nsignal.signal(signal.SIGUSR1, lambda *_: exit(n))\n"
                                       "print('ready', flush=True)\nwhile n == 0: time.sleep(0.01)\n"
                                       "print('interrupted', flush=True)\nwhile True: time.sleep(0.01)")
        self.read_until(master, b"ready")
        os.write(master, b"\x03")
        self.read_until(master, b"interrupted")
        # A second SIGINT would have arrived before this signal.
        os.kill(pid, signal.SIGUSR1)
        self.assertEqual(os.waitstatus_to_exitcode(self.wait_status(pid)), 1)

    def test_on_a_terminal_the_command_has_the_terminal(self):
        pid, master = self.on_terminal(PERFCTL, "run", "--spool", self.spool, "--", "sh", "-c",
                                       "test -t 0 && test -t 1 && test -t 2 && echo all-three")
        data = self.read_until(master, b"all-three")
        self.assertIn(b"all-three", data)
        self.assertEqual(os.waitstatus_to_exitcode(self.wait_status(pid)), 0)

    def test_with_indicator_yes_output_is_captured_on_a_terminal_as_well(self):
        pid, master = self.on_terminal(PERFCTL, "run", "--spool", self.spool, "--collect", "yes", "--", "sh", "-c",
                                       "test -t 1 || echo a-pipe")
        self.read_until(master, b"a-pipe")
        self.assertEqual(os.waitstatus_to_exitcode(self.wait_status(pid)), 0)

    def test_ctrl_z_stops_both_and_fg_continues_both(self):
        pid, master = self.on_terminal("bash", "--norc", "-i")
        self.read_until(master, b"$ ")
        os.write(master, f"{PERFCTL} run --spool {self.spool} -- sh -c 'echo re''ady; read line; echo got-$line'\n".encode())
        self.read_until(master, b"ready")
        os.write(master, b"\x1a")
        # A line that arrives before the prompt may lose its first character to the shell's change of the terminal's mode.
        if b"$ " not in self.read_until(master, b"Stopped").partition(b"Stopped")[2]:
            self.read_until(master, b"$ ")
        os.write(master, b"fg\n")
        # The shell prints the command that it continues. A line that arrives before may be read by the shell.
        self.read_until(master, b"read line")
        os.write(master, b"word\n")
        self.read_until(master, b"got-word")
        os.write(master, b"exit 0\n")
        self.assertEqual(os.waitstatus_to_exitcode(self.wait_status(pid)), 0)

    def test_stop_and_continue_sent_to_perfctl_alone_reach_the_command(self):
        # Not an orphaned process group, in which the kernel discards SIGTSTP.
        process = self.start("sh", "-c", "echo $$; exec sleep 1000", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             preexec_fn=os.setpgrp)
        child = int(process.stdout.readline())
        state = lambda pid: pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        process.send_signal(signal.SIGTSTP)
        wait_for(lambda: state(child) == "T" and state(process.pid) == "T", "both to stop")
        process.send_signal(signal.SIGCONT)
        wait_for(lambda: state(child) != "T" and state(process.pid) != "T", "both to go on")
        process.terminate()
        self.assertEqual(process.wait(TIMEOUT_S), 128 + signal.SIGTERM)
        process.stdout.close()


class Recording(RunTestCase):
    """Checks the data that perfd has stored afterwards."""

    def test_a_job_with_all_members(self):
        daemon = self.daemon()
        status, _, err = self.perfctl_run("sh", "-c", "exit 3", socket=daemon.socket,
                                          options=("--job", "j", "--name", "n", "--label", "a=b", "--label", "c=d=e", "--rank", "4"))
        self.assertEqual((status, err), (3, b""))
        job = self.job(daemon)
        self.assertEqual((job["state"], job["name"], job["command"], job["rank"]), ("finished", "n", "sh -c 'exit 3'", 4))
        self.assertEqual(job["labels"], {"a": "b", "c": "d=e"})
        self.assertEqual(job["exit"], {"status": 3, "signal": 0})
        self.assertEqual(job["uid"], os.getuid())
        self.assertEqual(len(job["rusage"]), 16)
        self.assertGreater(job["rusage"]["ru_maxrss"], 100)

    def test_a_signal_is_recorded(self):
        daemon = self.daemon()
        self.perfctl_run("sh", "-c", "kill -9 $$", socket=daemon.socket, options=("--job", "j"))
        self.assertEqual(self.job(daemon)["exit"], {"status": 137, "signal": 9})

    def test_a_command_that_is_not_there_is_recorded(self):
        daemon = self.daemon()
        self.perfctl_run("no-such-command-anywhere", socket=daemon.socket, options=("--job", "j"))
        job = self.job(daemon)
        self.assertEqual(job["exit"], {"status": 127, "signal": 0})
        self.assertIsNone(job["rusage"])

    def test_rusage_is_that_of_the_command(self):
        daemon = self.daemon()
        self.perfctl_run("/usr/bin/python3", "-c", "x = bytearray(64 << 20); n = 0\nwhile n < 2000000: n += 1",
                         socket=daemon.socket, options=("--job", "j"))
        rusage = self.job(daemon)["rusage"]
        self.assertGreater(rusage["ru_maxrss"], 64 << 10)
        self.assertGreater(rusage["ru_utime"], 0.02)

    def test_a_short_job_has_exact_totals(self):
        daemon = self.daemon()
        begin = calm_s()
        self.perfctl_run("sleep", "0.2", socket=daemon.socket, options=("--job", "j"))
        self.assertLess(calm_s() - begin, 0.2 + BOUND_S)
        job = self.job(daemon)
        metrics = {m["key"]: m for m in job["metrics"]}
        self.assertEqual(metrics["duration_seconds"]["quality"], "exact")
        self.assertGreater(metrics["duration_seconds"]["value"], 0.19)
        self.assertLess(metrics["duration_seconds"]["value"], 0.2 + BOUND_S)

    def test_the_rank_comes_from_the_launcher(self):
        daemon = self.daemon()
        self.perfctl_run("true", socket=daemon.socket, options=("--job", "j"), environment={"SLURM_PROCID": "12"})
        self.assertEqual(self.job(daemon)["rank"], 12)

    def test_a_task_of_slurm_has_its_id_from_it(self):
        daemon = self.daemon()
        task = {"SLURM_JOB_ID": "42", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3", "SLURM_NTASKS": "8"}
        _, out, _ = self.perfctl_run("sh", "-c", "echo $PERFD_JOB", socket=daemon.socket, environment=task)
        self.assertEqual(out, b"42.0.3\n")
        self.assertEqual((self.job(daemon, "42.0.3")["state"], self.job(daemon, "42.0.3")["rank"]), ("finished", 3))

    def test_commands_of_one_task_are_jobs_of_their_own(self):
        daemon = self.daemon()
        task = {"SLURM_JOB_ID": "42", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3"}
        inner = f"echo $PERFD_JOB; {PERFCTL} run -q -- sh -c 'echo $PERFD_JOB'; exit 4"
        status, out, err = self.perfctl_run("sh", "-c", inner, socket=daemon.socket, environment=task)
        self.assertEqual((status, err), (4, b""))
        _, more, err = self.perfctl_run("sh", "-c", "echo $PERFD_JOB", socket=daemon.socket, environment=task)
        self.assertEqual(err, b"")
        ids = (out + more).decode().split()
        self.assertEqual(ids[0], "42.0.3")
        for job in ids[1:]:
            self.assertRegex(job, r"^42\.0\.3\.j[0-9a-z]{15}$")
        self.assertEqual([self.job(daemon, job)["exit"]["status"] for job in ids], [4, 0, 0])

    def test_verbose_names_ignored_variables(self):
        daemon = self.daemon()
        _, _, err = self.perfctl_run("true", socket=daemon.socket, options=("-v",), environment={"SLURM_PROCID": "3", "SLURM_NTASKS": "2"})
        self.assertIn(b"ignoring $SLURM_NTASKS", err)
        _, _, err = self.perfctl_run("true", socket=daemon.socket, environment={"SLURM_PROCID": "3", "SLURM_NTASKS": "2"})
        self.assertEqual(err, b"")

    def test_an_id_is_made_if_none_is_given(self):
        daemon = self.daemon()
        _, out, _ = self.perfctl_run("sh", "-c", "echo $PERFD_JOB", socket=daemon.socket)
        self.assertRegex(out.decode(), r"^j[0-9a-z]{15}\n$")
        self.assertEqual(self.job(daemon, out.decode().strip())["state"], "finished")

    def test_verbose_reports_progress_and_quiet_prints_nothing(self):
        daemon = self.daemon()
        _, _, err = self.perfctl_run("true", socket=daemon.socket, options=("--job", "j"))
        self.assertEqual(err, b"")
        _, _, err = self.perfctl_run("true", socket=daemon.socket, options=("--job", "k", "-v"))
        self.assertIn(b"job k: begun", err)
        self.assertIn(b"perfctl report k", err)

    def test_the_end_is_reported_in_one_line_unless_quiet(self):
        daemon = self.daemon()
        done = daemon.perfctl("run", "--job", "j", "--", "sh", "-c", "exit 4")
        self.assertRegex(done.stderr, r"^perfctl: job j: exit 4 after .* details: perfctl report j\n$")
        done = daemon.perfctl("run", "--quiet", "--job", "k", "--", "true")
        self.assertEqual(done.stderr, "")

    def test_what_runs_at_the_end_finds_the_numbers_final(self):
        daemon = self.daemon()
        done = daemon.perfctl("run", "--quiet", "--job", "j", "--report", "--at-end", f"{PERFCTL} report --brief $PERFD_JOB; exit 3", "--",
                              "true")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Job j  finished: exit 0", done.stdout)
        self.assertIn("Job j  finished: exit 0", done.stderr)
        self.assertIn("the command of --at-end exited with status 3\n", done.stderr)

    def test_without_the_end_nothing_runs_at_the_end(self):
        for option in (("--report",), ("--at-end", "touch ran")):
            _, _, err = self.perfctl_run("true", options=option)
            self.assertIn(f"perfd has not stored the end of the job: {option[0]} is ignored".encode(), err)

    def test_indicators_in_the_output_are_submitted_for_the_job(self):
        daemon = self.daemon()
        text = "starting\n" + json.dumps(indicator("a", rate=1.5)) + "\nin between\n" + json.dumps(indicator("b"), indent=1) + "\ndone\n"
        for job, mode in (("j", "auto"), ("k", "yes")):
            status, out, err = self.perfctl_run("printf", "%s", text, socket=daemon.socket, options=("--job", job, "--collect", mode))
            self.assertEqual((status, out.decode(), err), (0, text, b""))
        for name in ("a", "b"):
            results = daemon.get(f"/api/v1/indicators/{name}/results").json["results"]
            self.assertEqual(sorted(r["job"] for r in results), ["j", "k"])

    def test_indicators_of_a_failed_command_are_kept_too(self):
        daemon = self.daemon()
        self.assertEqual(self.perfctl_run("sh", "-c", f"echo '{json.dumps(indicator('a'))}'; exit 4", socket=daemon.socket)[0], 4)
        self.assertEqual(len(daemon.get("/api/v1/indicators/a/results").json["results"]), 1)

    def test_with_indicator_no_nothing_is_submitted(self):
        daemon = self.daemon()
        self.perfctl_run("echo", json.dumps(indicator("a")), socket=daemon.socket, options=("--collect", "no"))
        self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"], [])

    def test_with_indicator_yes_a_missing_indicator_is_reported_only(self):
        daemon = self.daemon()
        for text, words in (("nothing", b"no JSON object with @result"), ('{"@result": .5}', b"output:1:"),
                            ('{"@result": {}}', b"was not submitted: "), ("x" * (2 << 20), b"longer than 1024 KiB")):
            status, out, err = self.perfctl_run("cat", stdin=text.encode(), socket=daemon.socket, options=("--collect", "yes"))
            self.assertEqual((status, out), (0, text.encode()))
            self.assertIn(words, err)

    def test_an_id_that_was_used_before_runs_without_perfd(self):
        daemon = self.daemon()
        self.assertEqual(self.perfctl_run("true", socket=daemon.socket, options=("--job", "j"))[0], 0)
        status, _, err = self.perfctl_run("sh", "-c", "exit 6", socket=daemon.socket, options=("--job", "j"))
        self.assertEqual(status, 6)
        self.assertIn(b"every job needs its own", err)
        self.assertEqual(self.job(daemon)["exit"], {"status": 0, "signal": 0})

    def test_a_killed_perfctl_without_a_group_leaves_an_interrupted_job(self):
        daemon = self.daemon()
        process = self.start("sh", "-c", "echo $$; exec sleep 1000", socket=daemon.socket, stdout=subprocess.PIPE,
                             options=("--job", "j", "--isolation", "subreaper"))
        child = int(process.stdout.readline())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdout.close()
        wait_for(lambda: self.job(daemon)["state"] == "interrupted", "the interruption")


class Trouble(RunTestCase):
    """Checks that failures of perfd do not affect jobs."""

    def timed(self, *command, **more):
        begin = calm_s()
        result = self.perfctl_run(*command, **more)
        return (calm_s() - begin, *result)

    def test_without_perfd_a_command_runs_at_once(self):
        seconds, status, out, err = self.timed("sh", "-c", "echo done; exit 3")
        self.assertLess(seconds, 1 if not IS_SANITIZED else BOUND_S)
        self.assertEqual((status, out), (3, b"done\n"))
        self.assertIn(b"the job is recorded only if perfd can be reached before it ends", err)

    def test_without_perfd_indicators_are_spooled(self):
        status, _, err = self.perfctl_run("echo", json.dumps(indicator("a")), options=("--job", "j"))
        self.assertEqual(status, 0)
        self.assertIn(b"are kept in", err)
        self.assertEqual([(r["kind"], r["job"], r["document"]["name"]) for r in self.spooled()], [("indicator", "j", "a")])

        daemon = self.daemon()
        self.assertEqual(daemon.perfctl("flush", "--spool", self.spool).returncode, 0)
        self.assertEqual(daemon.get("/api/v1/indicators/a/results").json["results"][0]["job"], "j")
        self.assertEqual(self.spooled(), [])

    def test_a_stopped_perfd_does_not_delay_a_job_beyond_the_bound(self):
        daemon = self.daemon()
        daemon.signal(signal.SIGSTOP)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        seconds, status, out, err = self.timed("sh", "-c", f"echo '{json.dumps(indicator('a'))}'; exit 3", socket=daemon.socket,
                                               options=("--job", "j"))
        self.assertEqual(status, 3)
        self.assertLess(seconds, 1 if not IS_SANITIZED else BOUND_S)
        self.assertIn(b"does not respond", err)
        self.assertEqual({r["kind"] for r in self.spooled()}, {"indicator", "job_end"})

        # The result is in the socket and in the spool, and is stored once. The job ended before perfd saw it.
        daemon.signal(signal.SIGCONT)
        flushed = daemon.perfctl("flush", "--spool", self.spool, "--json")
        self.assertEqual(flushed.returncode, 0, flushed.stderr)
        self.assertEqual(len(daemon.get("/api/v1/indicators/a/results").json["results"]), 1)
        self.assertEqual(self.spooled(), [])

    def test_a_begin_that_perfd_answers_late_counts(self):
        daemon = self.daemon()
        daemon.signal(signal.SIGSTOP)
        process = self.start("sh", "-c", "echo ready; read line; exit 3", socket=daemon.socket, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, options=("--job", "j"))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        daemon.signal(signal.SIGCONT)
        wait_for(lambda: daemon.get("/api/v1/jobs/j").status == 200, "the job")
        process.communicate(b"\n", timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 3)
        job = self.job(daemon)
        self.assertEqual((job["state"], job["exit"]), ("finished", {"status": 3, "signal": 0}))

    def test_an_end_finds_a_perfd_that_was_restarted(self):
        daemon = self.daemon()
        process = self.start("sh", "-c", "echo ready; read line; exit 3", socket=daemon.socket, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, options=("--job", "j"))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        daemon.restart()
        _, err = process.communicate(b"\n", timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, err), (3, b""))
        self.assertEqual(self.job(daemon)["exit"], {"status": 3, "signal": 0})

    def test_an_end_that_perfd_misses_is_spooled(self):
        daemon = self.daemon()
        process = self.start("sh", "-c", "echo ready; read line; exit 3", socket=daemon.socket, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, options=("--job", "j"))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        daemon.stop()
        _, err = process.communicate(b"\n", timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 3)
        self.assertIn(b"are kept in", err)
        self.assertEqual([r["exit_status"] for r in self.spooled()], [3])

        daemon.start()
        self.assertEqual(daemon.perfctl("flush", "--spool", self.spool).returncode, 0)
        job = self.job(daemon)
        self.assertEqual((job["state"], job["exit"]), ("finished", {"status": 3, "signal": 0}))

    def test_the_next_run_sends_the_spool(self):
        self.perfctl_run("echo", json.dumps(indicator("a")))
        daemon = self.daemon()
        self.perfctl_run("true", socket=daemon.socket)
        self.perfctl_run("echo", json.dumps(indicator("b")), socket=daemon.socket)
        self.assertEqual({i["name"] for i in daemon.get("/api/v1/indicators").json["indicators"]}, {"a", "b"})

    def test_an_unwritable_spool_is_reported(self):
        self.spool.write_text("a file")
        status, out, err = self.perfctl_run("echo", json.dumps(indicator("a")))
        self.assertEqual(status, 0)
        self.assertIn(b"are lost", err)

    def test_another_program_on_the_socket_is_harmless(self):
        import socket
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        path = self.directory / "other.sock"
        listener.bind(str(path))
        listener.listen(1)
        seconds, status, out, _ = self.timed("sh", "-c", "echo done; exit 3", socket=path)
        self.assertEqual((status, out), (3, b"done\n"))
        self.assertLess(seconds, BOUND_S)
