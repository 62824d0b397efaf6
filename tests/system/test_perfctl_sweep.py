"""Checks perfctl sweep: points are run, recorded, interrupted and resumed."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from harness import PERFCTL, TIMEOUT_S, TestCase, import_peer, wait_for

HOSTILE = ["it's", 'say "hi" $(touch pwned) `touch pwned`', "../../up", "a b\n* ~ \\", "-n", "", "ä 😀", "{y}", "#"]


def has_ended(pid):
    """Tolerates that the process has been reaped concurrently."""
    try:
        return "State:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


class SweepTestCase(TestCase):
    """Creates a directory with a spool for each test; perfd runs only if a test starts it."""

    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.out = self.directory / "out"
        self.environment = {**os.environ, "PERFD_SOCKET": str(self.directory / "absent.sock"), "PERFD_SPOOL": str(self.directory / "spool"),
                            "NO_COLOR": "1"}

    def write(self, **sweep):
        """Writes JSON, which is valid YAML."""
        (self.directory / "sweep.yaml").write_text(json.dumps({"output": "out", **sweep}, ensure_ascii=False))

    def start(self, *options, **more):
        return subprocess.Popen([PERFCTL, "sweep", *options, "sweep.yaml"], cwd=self.directory, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def sweep(self, *options, status=0):
        """Returns standard error; standard output is in self.printed."""
        process = self.start(*options)
        self.printed, said = process.communicate(timeout=TIMEOUT_S * 2)
        self.assertEqual(process.returncode, status, said)
        return said

    def lines_on_terminal(self, columns, *options):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        process = subprocess.Popen([PERFCTL, "sweep", *options, "sweep.yaml"], cwd=self.directory, stdout=slave,
                                   env={**self.environment, "TERM": "xterm"})
        os.close(slave)
        self.addCleanup(process.kill)
        printed = b""
        with contextlib.suppress(OSError):  # EIO marks the end of the output
            while chunk := os.read(master, 4096):
                printed += chunk
        self.assertEqual(process.wait(TIMEOUT_S), 0, printed)
        return printed.decode().splitlines()

    def points(self):
        return sorted(path.name for path in self.out.iterdir())

    def read(self, point, file="stdout"):
        path = self.out / point / file
        return path.read_text() if path.exists() else None


class Points(SweepTestCase):
    def test_each_point_has_settings_output_and_exit_code(self):
        self.write(command="echo {a}-{b}; test {directory} = $PERFD_SWEEP_DIRECTORY || exit 9; echo to stderr >&2; exit {b}",
                   settings={"a": ["x", "y"], "b": [0, 3]})
        said = self.sweep(status=1)
        self.assertEqual(self.points(), ["001__a=x__b=0", "002__a=x__b=3", "003__a=y__b=0", "004__a=y__b=3"])
        self.assertEqual(self.read("002__a=x__b=3"), "x-3\n")
        self.assertIn("to stderr\n", self.read("002__a=x__b=3", "stderr"))
        self.assertEqual(self.read("002__a=x__b=3", "settings.yaml"), 'a: "x"\nb: 3\n')
        self.assertEqual([self.read(point, "exit_code") for point in self.points()], ["0\n", "3\n", "0\n", "3\n"])
        self.assertIn("002__a=x__b=3: failed with 3 after", said)
        self.assertRegex(said, r"3 of 4 points: 2 done, 1 failed, 1 left, about \d")
        self.assertIn("4 of 4 points: 2 done, 2 failed, 0 left in ", said)

    def test_recorded_points_are_not_run_again(self):
        self.write(command="echo {a} >> ran; exit {a}", settings={"a": [0, 1]})
        self.sweep(status=1)
        said = self.sweep(status=1)
        self.assertIn("2 of 2 points are already recorded in ", said)
        self.assertIn("; use --retry-failed to run failed points again", said)
        self.assertEqual((self.directory / "ran").read_text(), "0\n1\n")
        # A value before others changes the numbers of the points, but not the points.
        self.write(command="echo {a} >> ran; exit {a}", settings={"a": [7, 0, 1]})
        self.sweep(status=1)
        self.assertEqual((self.directory / "ran").read_text(), "0\n1\n7\n")
        self.sweep("--retry-failed", status=1)
        self.assertEqual((self.directory / "ran").read_text(), "0\n1\n7\n7\n1\n")
        self.assertEqual(self.points(), ["001__a=0", "001__a=7", "002__a=1"])

    def test_a_point_without_a_usable_exit_code_is_run_again(self):
        self.write(command=["echo", "{a}"], settings={"a": [1, 2]})
        self.sweep()
        (self.out / "002__a=2" / "exit_code").write_text("")
        (self.out / "002__a=2" / "stdout").write_text("half")
        self.assertIn("1 of 2 points are already recorded", self.sweep())
        self.assertEqual((self.read("002__a=2"), self.read("002__a=2", "exit_code")), ("2\n", "0\n"))

    def test_hostile_values_are_data(self):
        for command in (["printf", "%s", "{x}"], "printf %s {x}", 'printf %s "{x}"', "f() { printf %s {x}; }; set -- no; f no"):
            with self.subTest(command):
                self.write(command=command, settings={"x": HOSTILE}, output=f"out{len(str(command))}")
                self.out = self.directory / f"out{len(str(command))}"
                self.sweep("--no-perfd")
                self.assertEqual([self.read(point) for point in self.points()], HOSTILE)
                self.assertFalse([path for path in self.directory.rglob("pwned")])
                self.assertTrue(all(len(point) <= 200 and ".." not in point for point in self.points()))

    def test_a_command_may_have_any_number_of_words(self):
        """The array of words grows at some of these sizes, and ends with NULL."""
        for n in (1, 62, 63, 64, 65, 127, 128, 1000):
            words = [f"{i}" for i in range(n)]
            self.write(command=["echo", *words, "{a}"], settings={"a": "last"}, output=f"out{n}")
            self.out = self.directory / f"out{n}"
            self.sweep("--no-perfd")
            self.assertEqual(self.read("001__a=last"), " ".join([*words, "last\n"]))

    def test_extra_and_exclude_and_a_dry_run(self):
        self.write(command=["./bench", "{a}", "{b}"], settings={"a": [1, 2], "b": ["x y", "z"]}, extra=[{"a": 9, "b": "z"}],
                   exclude=[{"a": 1, "b": "z"}])
        self.sweep("--dry-run")
        self.assertEqual(self.printed.splitlines(), [
            "Command of point 001: ./bench 1 'x y'", "",
            "POINT  SETTINGS   STATE",
            "001    a=1 b=x y  to run",
            "002    a=2 b=x y  to run",
            "003    a=2 b=z    to run",
            "004    a=9 b=z    to run", "",
            "4 points: 0 recorded, 4 to run"])
        self.assertFalse(self.out.exists())

    def test_a_dry_run_says_which_points_are_recorded_and_fits_a_terminal(self):
        settings = {"size": [1, 20], "dataset": ["criteo-of-a-week", "higgs"],
                    "solver": ["gradient-boosting", "x"]}
        self.write(command=["true"], settings=settings)
        self.sweep("--no-perfd")
        self.write(command=["true"], settings={**settings, "size": [1, 20, 300]})
        lines = self.lines_on_terminal(80, "--dry-run")
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(lines[-1], "12 points: 8 recorded, 4 to run")
        table = lines[lines.index("") + 1:-2]
        self.assertRegex(table[0], "^POINT  SETTINGS +STATE$")
        self.assertEqual([line.split("  ")[-1].strip() for line in table[1:]], ["recorded"] * 8 + ["to run"] * 4)

    def test_a_dry_run_of_points_with_different_settings(self):
        self.write(command=["true"], settings=None, extra=[{"a": [1, 2]}, {"b": "z"}])
        self.sweep("--dry-run")
        self.assertEqual(self.printed.splitlines()[-6:-2], ["POINT  SETTINGS  STATE", "001    a=1       to run", "002    a=2       to run",
                                                            "003    b=z       to run"])

    def test_a_version_read_as_a_number_causes_a_warning(self):
        file = self.directory / "sweep.yaml"
        file.write_text("# \u00fc\ncommand: [echo, '{v}', '{w}']\noutput: out\n"
                        "settings: {w: \u00fc, v: ['3.20', 3.10, 3.9, 1.0, 1e3]}\nextra: [{\"v\" :  2.500, w: 1}, {w: 4.0, v: 1.50}]\n")
        said = self.sweep("--dry-run")
        self.assertEqual([line.split("sweep.yaml: ")[1] for line in said.splitlines()],
                         ["settings.v[1]: 3.10 is read as the number 3.1: quote it if it is text",
                          "extra[0].v: 2.500 is read as the number 2.5: quote it if it is text",
                          "extra[1].v: 1.50 is read as the number 1.5: quote it if it is text"])

    def test_a_sweep_can_stop_at_the_first_failure(self):
        self.write(command="exit {a}", settings={"a": [0, 5, 6]})
        said = self.sweep("--stop-on-failure", "--no-perfd", status=1)
        self.assertEqual(self.points(), ["001__a=0", "002__a=5"])
        self.assertIn("2 of 3 points: 1 done, 1 failed, 1 left in ", said)

    def test_a_missing_command_fails_its_point(self):
        self.write(command=["./no-such-program", "{a}"], settings={"a": 1})
        for options in ((), ("--no-perfd", "--retry-failed")):
            self.sweep(*options, status=1)
            self.assertEqual(self.read("001__a=1", "exit_code"), "127\n")
            self.assertIn("./no-such-program: No such file or directory", self.read("001__a=1", "stderr"))

    def test_invalid_files_are_reported_with_the_position(self):
        for text, complaint in (("command: [a\nsettings: x", "sweep.yaml:2:9: "),
                                ("command: a\nsettings: {a: []}", "settings.a: is an empty list"),
                                ("command: a\nsetings: {a: 1}", "did you mean 'settings'?"), ("", "expected a mapping"),
                                ("command: a\nsettings: {a: 1}", "missing output directory"),
                                ("a: 1\na: 2", "sweep.yaml:2:1: the key 'a' is given twice")):
            (self.directory / "sweep.yaml").write_text(text)
            with self.subTest(text):
                self.assertIn(complaint, self.sweep(status=2))
        (self.directory / "sweep.yaml").unlink()
        self.assertIn("cannot read sweep.yaml: No such file", self.sweep(status=1))

    def test_the_tree_can_be_read_by_other_programs(self):
        yaml = import_peer("yaml")
        settings = {"s": HOSTILE, "n": [1, 0.5, 1e300], "yes": [True, None]}
        self.write(command="exec true", settings=settings)
        self.sweep("--no-perfd")
        read = [yaml.safe_load(self.read(point, "settings.yaml")) for point in self.points()]
        self.assertEqual(read, [{"s": s, "n": n, "yes": y} for s in HOSTILE for n in settings["n"] for y in settings["yes"]])


class Terminal(SweepTestCase):
    def watch(self, columns, until, *options):
        """Returns the output on a terminal with this width, up to the given bytes and after them."""
        self.write(command="read x < fifo; : {a}", settings={"a": [1]})
        os.mkfifo(self.directory / "fifo")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        self.environment["TERM"] = "xterm"
        process = subprocess.Popen([PERFCTL, "sweep", *options, "sweep.yaml"], cwd=self.directory, env=self.environment, stderr=slave)
        os.close(slave)
        self.addCleanup(process.kill)
        seen, deadline = b"", time.monotonic() + TIMEOUT_S
        while until not in seen:
            self.assertLess(time.monotonic(), deadline, seen)
            seen += os.read(master, 4096) if select.select([master], [], [], 1)[0] else b""
        (self.directory / "fifo").write_text("x\n")
        rest = b""
        with contextlib.suppress(OSError):  # EIO marks the end of the output
            while chunk := os.read(master, 4096):
                rest += chunk
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        return seen, rest

    def test_on_a_terminal_one_line_is_updated_while_a_point_runs(self):
        seen, rest = self.watch(100, b" so far", "--no-perfd")
        self.assertTrue(seen.startswith(b"\r\x1b[K0 of 1 points: 0 done, 0 failed, 1 left"), seen)
        self.assertNotIn(b"\n", seen)
        self.assertTrue(rest.endswith(f"1 of 1 points: 1 done, 0 failed, 0 left in {self.out}\r\n".encode()), rest)


class Interrupted(SweepTestCase):
    def interrupt(self, *options, command="echo began > began-{a}; exec sleep 1000", number=signal.SIGINT):
        """Interrupts the sweep during its second point. Returns standard error."""
        # A shell may lose a signal while it starts a process.
        self.write(command=f"[ -e go ] || [ {{a}} != 2 ] || {{{{ {command}; }}}}; echo {{a}}".replace("{{", "{").replace("}}", "}"),
                   settings={"a": [1, 2, 3]})
        process = self.start(*options)
        wait_for((self.directory / "began-2").exists, "the second point to begin")
        process.send_signal(number)
        said = process.communicate(timeout=TIMEOUT_S)[1]
        self.assertEqual(process.returncode, 128 + number)
        return said

    def test_a_sweep_is_resumed_after_control_c(self):
        for options in ((), ("--no-perfd",)):
            with self.subTest(options):
                self.out = self.directory / f"out{len(options)}"
                for path in self.directory.glob("began-*"):
                    path.unlink()
                (self.directory / "go").unlink(missing_ok=True)
                options = (*options, "--output", self.out)
                said = self.interrupt(*options)
                self.assertIn("terminating the running point", said)
                self.assertIn("1 of 3 points: 1 done, 0 failed, 2 left", said)
                self.assertEqual(self.points(), ["001__a=1", "002__a=2"])
                self.assertEqual([self.read(point, "exit_code") for point in self.points()], ["0\n", None])
                (self.directory / "go").touch()
                said = self.sweep(*options)
                self.assertIn("1 of 3 points are already recorded", said)
                self.assertEqual([(self.read(point), self.read(point, "exit_code")) for point in self.points()],
                                 [("1\n", "0\n"), ("2\n", "0\n"), ("3\n", "0\n")])

    def test_all_processes_of_a_point_are_interrupted(self):
        """The child of the shell receives the signal as well."""
        self.interrupt(command="sh -c 'trap \"echo told > told; exit 7\" INT; echo > began-2; while :; do sleep 0.01; done'")
        self.assertEqual((self.directory / "told").read_text(), "told\n")

    def test_processes_that_ignore_signals_are_killed(self):
        self.write(command="trap '' INT; trap 'echo > asked' TERM; echo > began; while :; do sleep 0.01; done; : {a}",
                   settings={"a": 1})
        process = self.start("--no-perfd")
        wait_for((self.directory / "began").exists, "the point to begin")
        process.send_signal(signal.SIGINT)
        self.assertIn("terminating the running point", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        wait_for((self.directory / "asked").exists, "the point to be asked")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 130)
        self.assertIsNone(self.read("001__a=1", "exit_code"))

    def test_points_end_with_a_sweep_that_is_killed(self):
        """Points end with all their processes, before the next sweep can begin."""
        for options in ((), ("--no-perfd",)):
            with self.subTest(options):
                file = self.directory / "pid"
                file.unlink(missing_ok=True)
                self.write(command="sleep 1000 & echo $! > pid.new && mv pid.new pid; wait; : {a}", settings={"a": 1})
                process = self.start(*options)
                pid = int(wait_for(lambda: file.exists() and file.read_text(), "the point to begin"))
                process.kill()
                process.communicate(timeout=TIMEOUT_S)
                wait_for(lambda: has_ended(pid), "what the point started to end")
                self.assertIsNone(self.read("001__a=1", "exit_code"))
                self.write(command="exit 0; : {a}", settings={"a": 1})
                wait_for(lambda: self.start(*options).wait(TIMEOUT_S) == 0, "the next sweep")
                self.assertEqual(self.read("001__a=1", "exit_code"), "0\n")
                (self.directory / "out/001__a=1/exit_code").unlink()

    def test_processes_that_outlive_a_point_are_left_running(self):
        self.write(command="setsid -f sh -c 'until [ -e go ]; do sleep 0.01; done; echo > lived'; "
                           "(until [ -e go ]; do sleep 0.01; done; echo > lived2) & : {a}", settings={"a": 1})
        self.sweep("--no-perfd")
        (self.directory / "go").touch()
        wait_for(lambda: (self.directory / "lived").exists() and (self.directory / "lived2").exists(), "what went on")

    def test_two_sweeps_do_not_share_a_directory(self):
        self.write(command="echo > began; read x < fifo; : {a}", settings={"a": 1})
        os.mkfifo(self.directory / "fifo")
        process = self.start("--no-perfd")
        wait_for((self.directory / "began").exists, "the point to begin")
        self.assertIn("another sweep is running in out; wait for it", self.sweep("--no-perfd", status=1))
        (self.directory / "fifo").write_text("x\n")
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 0)


class Jobs(SweepTestCase):
    def test_each_point_is_a_job_with_labels_and_its_results(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        self.environment["PERFD_SOCKET"] = str(daemon.socket)
        self.write(name="bench/1", settings={"a": [1, 2], "text": "x\ny", "@n": 0},
                   command="""printf '{"name": "m", "component": "c", "@parameters": {}, "@result": {"a": %s}}' {a}; : {text}""")
        said = self.sweep()
        self.assertIn("label 'text' omitted", said)
        results = daemon.get("/api/v1/indicators/m/results").json["results"]
        jobs = [self.read(point, "job").strip() for point in self.points()]
        self.assertEqual({result["job"]: result["document"]["@result"]["a"] for result in results}, dict(zip(jobs, [1, 2])))
        for a, point in enumerate(self.points(), 1):
            job = daemon.get(f"/api/v1/jobs/{self.read(point, 'job').strip()}").json
            self.assertEqual((job["name"], job["exit"]["status"]), ("bench/1", 0))
            self.assertEqual(job["labels"], {"sweep": "bench/1", "a": str(a), "n": "0"})
            self.assertTrue(job["id"].startswith(f"bench_1-00{a}-"))

    def test_each_set_of_settings_has_a_history_of_its_own(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        self.environment["PERFD_SOCKET"] = str(daemon.socket)
        self.write(settings={"model_name": ["llama3", "granite"], "virtual_users": [1, 8], "version": "2.0", "@repeat": [1, 2]},
                   command=f"""printf '{{"name": "serve", "component": "c", "version": "1.%s", "@parameters": {{"gpu": 1}},'
                               printf '"@result": {{"rate": 1}}}}' {{@repeat}}
                               {PERFCTL} kpi submit ttft 1
                               echo '{{"name": "load", "component": "c", "@parameters": {{}}, "@result": {{"load": 1}}}}' | {PERFCTL} submit
                               : {{model_name}} {{virtual_users}} {{version}}""")
        self.sweep()
        sets = [{"model_name": model, "virtual_users": n} for model in ("granite", "llama3") for n in (1, 8)]
        for kpi, more in (("serve.rate", {"gpu": 1}), ("ttft.ttft", {"version": "2.0"}), ("load.load", {"version": "2.0"})):
            with self.subTest(kpi):
                kpis = daemon.get(f"/api/v1/kpis/{kpi}/regress").json["kpis"]
                self.assertEqual([(each["labels"]["parameters"], each["runs"]) for each in kpis], [({**more, **each}, 2) for each in sets])
        answer = daemon.get("/api/v1/indicators/load/rank?by=model_name&objective=load&direction=lower&across=virtual_users").json
        ranking, = answer["rankings"]
        self.assertEqual([each["key"] for each in ranking["alternatives"]], [{"model_name": "granite"}, {"model_name": "llama3"}])

    def test_fields_of_a_specification_are_no_parameters(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        self.environment["PERFD_SOCKET"] = str(daemon.socket)
        script = """#!/bin/sh\necho '{"name": "Sum", "component": "c", "@parameters": {}, "@result": {"ms": 1}}'"""
        self.write(settings={"environment.THREADS": [1, 2]},
                   specification={"environment": [{"name": "THREADS", "value": "1"}], "script": script})
        self.sweep()
        results = daemon.get("/api/v1/indicators/Sum/results").json["results"]
        self.assertEqual([result["document"]["@parameters"] for result in results], [{}, {}])

    def test_a_variable_that_is_no_object_is_an_error(self):
        self.environment["PERFD_PARAMETERS"] = "threads=4"
        for status, *words in ((2, "kpi", "submit", "speed", "1"), (1, "submit", "-")):
            done = subprocess.run([PERFCTL, *words], env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  input='{"name": "m", "component": "c", "@parameters": {}, "@result": {"a": 1}}', timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("$PERFD_PARAMETERS: must be a JSON object, such as {\"threads\": 4}, not 'threads=4'", done.stderr)


if __name__ == "__main__":
    import unittest
    unittest.main()
