"""Checks the node and jobs as shown by perfctl, and the command line."""

import json
import os
import pathlib
import pty
import pwd
import re
import select
import signal
import subprocess
import unittest

from harness import BUILD, IS_SANITIZED, PERFCTL, ROOT, TIMEOUT_S, TestCase, calm_s, wait_for

COMMANDS = ["run", "submit", "report", "metrics", "sweep", "job list", "job wait", "job begin", "job end",
            "status", "doctor", "mark", "time", "flush", "import amun",
            "indicator list", "indicator show", "indicator query", "indicator rank", "model list", "model schema",
            "model add", "model remove", "stack list", "stack show", "stack diff"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class WithJobs(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon("[sampling]\ninterval = 100ms\n")
        with self.running.client() as client:
            self.assert_status(client.begin("done", name="train", command="python3 train.py", user="alice", rank=2,
                                            labels={"batch": "256"}), "OK")
            self.running.wait_tick()
            self.assert_status(client.end("done", 3), "OK")
            self.assert_status(client.begin("evil", command="a\x1b[2J\x9bb \x07\n\x7f"), "OK")
        self.running.wait_tick()

    def ask(self, *words, status=0, **more):
        result = self.running.perfctl(*words, **more)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout

    def on_terminal(self, *words, until=None, environment=None):
        """Returns the output on a terminal: up to `until`, followed by Ctrl-C, or up to the end."""
        pid, master = pty.fork()
        if pid == 0:
            os.environ.pop("NO_COLOR", None)
            os.environ.update({"PERFD_SOCKET": str(self.running.socket), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
                               **(environment or {})})
            os.execv(PERFCTL, [str(PERFCTL), *words])
        data, interrupted = b"", False

        def finished():
            nonlocal data, interrupted
            if not select.select([master], [], [], 0)[0]:
                return False
            try:
                chunk = os.read(master, 65536)
            except OSError:
                return True
            data += chunk
            if until and until in data and not interrupted:
                interrupted = True
                os.write(master, b"\x03")
            return not chunk
        wait_for(finished, f"the end of perfctl {' '.join(words)}")
        os.close(master)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), data.decode()


class Questions(WithJobs):
    def test_a_report_has_what_ran_how_long_and_all_eighteen_numbers(self):
        text = self.ask("report", "done")
        for words in ("Job done (train)", "exit 3", "python3 train.py", "rank 2", f"by {pwd.getpwuid(os.geteuid()).pw_name}", "batch=256"):
            self.assertIn(words, text)
        numbers = ("busy", "peak", "busiest", "idlest CPU", "CPUs over", "file system /", "available",
                   "unused", "read", "written")
        self.assertEqual([word for word in numbers if word not in text.partition("Node during the job")[2]], [])
        self.assertEqual((text.count(" received"), text.count(" sent")), (2, 2))
        self.assertLessEqual(len(text.splitlines()), 30)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_a_report_as_json_is_the_answer_itself(self):
        # Except for the time of the node's last sample, which changes.
        printed, answered = json.loads(self.ask("report", "done", "--json")), self.running.get("/api/v1/jobs/done").json
        self.assertLessEqual(printed["on"].pop("time_ms"), answered["on"].pop("time_ms"))
        self.assertEqual(printed, answered)

    def test_a_job_that_runs_has_a_report_too(self):
        self.assertIn("running", self.ask("report", "evil"))

    def test_a_job_that_is_not_there(self):
        result = self.running.perfctl("report", "absent")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("no job 'absent' on this node", result.stderr)

    def test_a_name_is_the_newest_job_of_the_name(self):
        for job in ("named-1", "named-2"):
            self.assertEqual(self.running.perfctl("run", "--quiet", "--job", job, "--name", "a name", "--", "true").returncode, 0)
        self.assertIn("Job named-2 ", self.ask("report", "a name"))
        self.assertIn("Job named-2 ", self.ask("report"))
        self.assertIn("Job named-2 ", self.ask("report", "--brief"))
        self.assertIn("Job named-1 ", self.running.perfctl("report", environment={"PERFD_JOB": "named-1"}).stdout)

    def test_jobs_are_listed_by_what_is_known_of_them(self):
        user = pwd.getpwuid(os.geteuid()).pw_name
        for job, label, status in (("l-1", "set=a", 0), ("l-2", "set=b", 3), ("l-3", "set=a", 4)):
            self.running.perfctl("run", "--quiet", "--job", job, "--name", "listed", "--label", label, "--label", "x=y=z", "--",
                                 "sh", "-c", f"exit {status}")
        for options, ids in (((), ["l-3", "l-2", "l-1"]), (("--failed",), ["l-3", "l-2"]), (("--label", "set=a"), ["l-3", "l-1"]),
                             (("--label", "set=a", "--label", "x=y=z", "--failed"), ["l-3"]), (("--label", "set=c"), []),
                             (("--user", user), ["l-3", "l-2", "l-1"]), (("--user", os.geteuid()), ["l-3", "l-2", "l-1"]),
                             (("--user", "nobody-here"), []),
                             (("--since", "1h"), ["l-3", "l-2", "l-1"]), (("--since", "0"), [])):
            listed = json.loads(self.ask("job", "list", "--name", "listed", "--json", *options))["jobs"]
            self.assertEqual([job["id"] for job in listed], ids, options)
        self.assertEqual(self.running.get("/api/v1/jobs?label=set").status, 400)
        self.assertEqual(self.running.get("/api/v1/jobs?failed=x").status, 400)

    @unittest.skipUnless(os.geteuid() == 0, "changing the user requires root")
    def test_a_user_without_a_name_has_a_number(self):
        self.running.directory.chmod(0o755)
        environment = {**os.environ, "PERFD_SOCKET": str(self.running.socket), "PERFD_SPOOL": str(self.temporary_directory())}
        environment.pop("USER", None)
        for words, expected in ((("run", "--quiet", "--job", "nameless", "--", "true"), ""), (("report", "--brief"), "Job nameless "),
                                (("job", "list", "--user", "61234"), " 61234 "), (("report",), "Job nameless ")):
            done = subprocess.run([self.for_others(), *words], env=environment, user=61234, group=61234, extra_groups=[], cwd="/",
                                  text=True, capture_output=True, timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(expected, done.stdout)

    def test_waiting_for_a_job_ends_with_the_job(self):
        self.assertEqual(self.running.perfctl("job", "begin", "waited").returncode, 0)
        result = self.running.perfctl("job", "wait", "--timeout", "0.2", "waited")
        self.assertEqual((result.returncode, result.stderr), (1, "perfctl: job waited is still running\n"))
        process = subprocess.Popen([str(PERFCTL), "job", "wait", "waited"], env={**os.environ, "PERFD_SOCKET": str(self.running.socket)})
        self.assertEqual(self.running.perfctl("job", "end", "waited").returncode, 0)
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertEqual(self.running.perfctl("job", "wait", "waited").returncode, 0)
        self.assertEqual(self.running.perfctl("job", "wait", "absent").returncode, 1)

    def test_a_word_that_is_no_id_is_a_name(self):
        for command in (("report", "../node"), ("report", "--brief", "a b")):
            result = self.running.perfctl(*command)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"no job '{command[-1]}' on this node", result.stderr)

    def test_an_id_of_dots_is_an_id(self):
        for job in (".", ".."):
            self.assertEqual(self.running.perfctl("job", "begin", job).returncode, 0)
            self.assertEqual(self.running.perfctl("job", "end", job).returncode, 0)
            result = self.running.perfctl("report", job)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(result.stdout.split()[:2], ["Job", job])

    def test_jobs_are_listed(self):
        lines = self.ask("job", "list").splitlines()
        self.assertEqual(lines[0].split(), ["JOB", "STATE", "BEGAN", "DURATION", "EXIT", "USER", "NAME"])
        self.assertRegex(lines[1], r"^evil +running ")
        self.assertRegex(lines[2], rf"^done +finished .* 3 +{pwd.getpwuid(os.geteuid()).pw_name} +train$")
        self.assertEqual(len(self.ask("job", "list", "--state", "running").splitlines()), 2)
        self.assertEqual(len(json.loads(self.ask("job", "list", "--limit", "1", "--json"))["jobs"]), 1)
        result = self.running.perfctl("job", "list", "--state", "interrupted")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_the_list_fits_a_terminal_and_is_whole_elsewhere(self):
        name = "a-name-that-is-longer-than-there-is-room-for " * 3
        with self.running.client() as client:
            self.assert_status(client.begin("long", name=name), "OK")
        self.assertIn(name.strip(), self.ask("job", "list"))
        for columns in (80, 120):
            lines = ESCAPES.sub("", self.on_terminal("job", "list", environment={"COLUMNS": str(columns)})[1]).splitlines()
            self.assertGreater(len(lines), 3)
            self.assertLessEqual(max(map(len, lines)), columns)

    def test_rows_are_named_by_what_varies(self):
        sets = [f"model_name={model} users={n}" for model in ("granite", "llama3") for n in (1, 8)]
        for words in sets:
            options = [word for pair in ("image=quay.io/modh/training:2.17", "instance_type=g5.2xlarge", *words.split())
                       for word in ("--parameter", pair)]
            self.ask("kpi", "submit", *options, "first_token", "5")
        query = ("indicator", "query", "first_token", "-b", "component,image,instance_type,model_name,users", "-s", "mean:first_token")
        for words in (("kpi", "list"), ("kpi", "check"), query):
            with self.subTest(words):
                text = ESCAPES.sub("", self.on_terminal(*words, environment={"COLUMNS": "80"})[1])
                table = text.split("\r\n\r\n")[0]
                self.assertLessEqual(max(map(len, table.splitlines())), 80)
                self.assertIn("All rows: ", table)
                self.assertEqual((table.count("quay.io"), table.count("g5.2xlarge")), (1, 1))
                for values in sets if words[0] == "kpi" else [" +".join(re.findall(r"=(\S+)", each)) for each in sets]:
                    self.assertEqual(len(re.findall(rf"\r\n{values} ", table)), 1, table)
                self.assertNotIn("All rows", self.ask(*words))

    def test_a_job_is_shown(self):
        text = self.ask("report", "--brief", "done")
        self.assertIn("python3 train.py", text)
        self.assertNotIn("CPUs of the node", text)

    def test_metrics_are_columns_for_other_programs(self):
        for words in (("metrics",), ("metrics", "--job", "done")):
            lines = self.ask(*words).splitlines()
            self.assertGreater(len(lines), 30)
            rows = {line.split()[0]: line.split()[1:] for line in lines}
            self.assertEqual(rows["duration_seconds"][1:], ["s", "exact"])
            self.assertGreater(float(rows["duration_seconds"][0]), 0)
        self.assertIn("metrics", json.loads(self.ask("metrics", "--json")))

    def test_begin_and_end_are_idempotent(self):
        for words, more in ((("begin", "x"), "begun"), (("begin", "x"), "already begun"),
                            (("end", "--exit-status", "4", "x"), "ended"), (("end", "x"), "already ended")):
            self.assertEqual(self.ask("job", *words), f"job x: {more}\n")
        self.assertEqual(json.loads(self.ask("report", "x", "--json"))["exit"]["status"], 4)
        self.assertEqual(json.loads(self.ask("job", "end", "x", "--json")), {"job": "x", "ended": True, "duplicate": True})

    def test_an_end_without_a_job_fails(self):
        result = self.running.perfctl("job", "end", "absent")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no such job", result.stderr)

    def test_status_when_all_is_well(self):
        text = self.ask("status")
        self.assertRegex(text, r"^perfd \S+ on \S+: healthy\n")
        for words in (str(self.running.socket), str(self.running.http_socket), "every 100 ms", "1 running", "writable"):
            self.assertIn(words, text)
        answer = json.loads(self.ask("status", "--json"))
        self.assertEqual((answer["reachable"], answer["healthy"]), (True, True))

    def test_status_of_a_stopped_perfd_has_one_deadline(self):
        self.running.signal(signal.SIGSTOP)
        self.addCleanup(self.running.signal, signal.SIGCONT)
        for words, limit_s in (((), 5), (("--timeout", "0.2"), 0.2), (("--timeout", "0"), 0)):
            begin = calm_s()
            self.assertIn("timed out", self.ask("status", *words, status=3))
            self.assertLess(calm_s() - begin, limit_s + (0.9 if not IS_SANITIZED else 5))


class Terminal(WithJobs):
    def test_colours_are_used_on_a_terminal_and_can_be_disabled(self):
        self.assertNotIn("\x1b", self.ask("report", "done", environment={"NO_COLOR": ""}))
        status, text = self.on_terminal("report", "done")
        self.assertEqual(status, 0)
        self.assertIn("\x1b[1m", text)
        for words, environment in ((("--no-color",), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"})):
            status, text = self.on_terminal("report", *words, "done", environment=environment)
            self.assertEqual(status, 0)
            self.assertNotIn("\x1b", text)

    def test_text_of_a_job_is_escaped_on_the_terminal(self):
        for words in (("report", "evil"), ("report", "--brief", "evil"), ("job", "list"), ("report", "--json", "evil")):
            text = ESCAPES.sub("", self.on_terminal(*words)[1]) if "--json" not in words else self.on_terminal(*words)[1]
            for character in ("\x1b", "\x07", "\x9b", "\x7f"):
                self.assertNotIn(character, text)


class Unreachable(TestCase):
    def perfctl(self, *words, **environment):
        return subprocess.run([str(PERFCTL), *words], capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PERFD_SOCKET": "/nonexistent/perfd.sock", **environment})

    def test_every_question_ends_with_three(self):
        for words in (["report", "j"], ["metrics"], ["top", "--once"], ["job", "list"], ["report", "--brief", "j"], ["status"],
                      ["job", "begin", "--timeout", "0", "j"], ["job", "end", "--timeout", "0", "j"]):
            result = self.perfctl(*words)
            self.assertEqual(result.returncode, 3, words)
            self.assertRegex(result.stdout + result.stderr, r"not running \(no socket |No such file or directory")
        self.assertFalse(json.loads(self.perfctl("status", "--json").stdout)["reachable"])

    def test_a_proxy_in_the_environment_is_not_asked(self):
        daemon = self.daemon()
        result = daemon.perfctl("metrics", environment={"http_proxy": "http://192.0.2.1:9", "ALL_PROXY": "http://192.0.2.1:9"})
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_http_socket_can_be_given(self):
        daemon = self.daemon()
        self.assertEqual(self.perfctl("--http-socket", str(daemon.http_socket), "metrics").returncode, 0)
        self.assertEqual(self.perfctl("metrics", PERFD_HTTP_SOCKET=str(daemon.http_socket)).returncode, 0)


class CommandLine(TestCase):
    def perfctl(self, *words):
        return subprocess.run([str(PERFCTL), *words], capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)

    def test_help_is_everywhere_with_examples(self):
        for command in COMMANDS:
            for words in ([*command.split(), "--help"], [*command.split(), "-h"], ["help", *command.split()]):
                result = self.perfctl(*words)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn("Examples\n", result.stdout)
                self.assertIn(f"perfctl {command} ", result.stdout)
        self.assertEqual(self.perfctl("--help").returncode, 0)
        self.assertIn("job begin ", self.perfctl("job", "--help").stdout)
        self.assertEqual(self.perfctl("job", "-h").returncode, 0)
        for command in COMMANDS:
            self.assertIn(f"  {command} ", self.perfctl("help", "all").stdout)
        admin = self.perfctl("help", "admin").stdout
        self.assertTrue("  db check " in admin and "  job begin " in admin and "  report " not in admin, admin)

    def test_no_arguments_show_the_overview_and_fail(self):
        result = self.perfctl()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("\n\n  perfctl run ", result.stderr)
        self.assertLessEqual(len(result.stderr.splitlines()), 20)
        self.assertLessEqual(max(map(len, result.stderr.splitlines())), 80)

    def test_wrong_usage_is_two_with_a_suggestion(self):
        for words, text in ((["sumbit"], "did you mean 'submit'?"), (["jobs"], "did you mean 'job list'?"),
                            (["indicator", "compare"], "did you mean 'indicator rank'?"),
                            (["top", "--count", "3"], "did you mean '--limit'?"), (["job", "lst"], "did you mean 'job list'?"),
                            (["job"], "list, wait, begin or end"),
                            (["submit", "--tiemout", "3"], "did you mean '--timeout'?"),
                            (["report", "--all-nodes"], "--all-nodes requires files"), (["report", "a", "b"], "unexpected argument 'b'"),
                            (["--sokcet"], "did you mean '--socket'?"), (["run"], "missing argument COMMAND; usage: perfctl run "),
                            (["run", "--rank", "4", "--ranks", "4", "--", "true"], "--rank 4 is out of range"),
                            (["run", "--label", "a=b", "--label", "a=c", "--", "true"], "each KEY once"),
                            (["run", "--label", "ab", "--", "true"], "KEY=VALUE"),
                            (["run", "--name", "a\nb", "--", "echo", "was run"], "without control characters"),
                            (["job", "begin", "--label", "a=b", "--label", "a=c", "j"], "each KEY once"),
                            (["metrics", "--job"], "missing argument of --job")):
            result = self.perfctl(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(text, result.stderr)

    def test_the_version(self):
        self.assertEqual(self.perfctl("--version").stdout, f"perfctl {(ROOT / 'VERSION').read_text().strip()}\n")

    def test_an_output_that_is_full_is_a_failure(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([str(PERFCTL), "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left on device", result.stderr)


class Completion(TestCase):
    def complete(self, line, **environment):
        words = line.split(" ")
        script = f"source {ROOT}/client/perfctl.bash\nCOMP_WORDS=({' '.join(repr(w) for w in words)})\nCOMP_CWORD={len(words) - 1}\n" \
                 '_perfctl\nprintf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S,
                              env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", **environment})
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands_and_options(self):
        self.assertEqual(self.complete("perfctl su"), ["submit"])
        self.assertEqual(self.complete("perfctl job b"), ["begin"])
        self.assertEqual(self.complete("perfctl submit --timeo"), ["--timeout"])
        self.assertEqual(self.complete("perfctl --socket x job end --ex"), ["--exit-status"])
        self.assertEqual(self.complete("perfctl job list --state r"), ["running"])
        self.assertEqual(self.complete("perfctl run --collect y"), ["yes"])

    def test_every_kind_of_candidates_has_its_case(self):
        source, script = ((ROOT / "client" / name).read_text() for name in ("perfctl.c", "perfctl.bash"))
        kinds = set(re.findall(r'\[OPTION_VALUE_\w+\] = +"(\w+)"', source))
        self.assertEqual(set(re.findall(r"(?m)^ +(\w+)\) ", script)), kinds - {"none"} | {"words"})

    def test_every_option_of_every_command(self):
        for command in COMMANDS:
            usage = subprocess.run([str(PERFCTL), *command.split(), "--help"], capture_output=True, text=True).stdout
            options = set(re.findall(r"  (--[a-z-]+)", usage))
            self.assertGreater(len(options), 2)
            self.assertEqual(options - set(self.complete(f"perfctl {command} --")), set(), command)

    def test_jobs(self):
        daemon = self.daemon()
        with daemon.client() as client:
            self.assert_status(client.begin("job-one"), "OK")
        self.assertEqual(self.complete("perfctl report job", PERFD_SOCKET=str(daemon.socket)), ["job-one"])

    def test_without_perfd_there_are_no_candidates(self):
        self.assertEqual(self.complete("perfctl report x", PERFD_SOCKET="/nonexistent"), [])
