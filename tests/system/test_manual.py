"""Checks the documentation: examples run, all metrics, options and commands are listed, and `make run` works."""

import os
import re
import signal
import subprocess
import unittest

import harness
from harness import BUILD, PERFCTL, PERFD, ROOT

PAGES = sorted((ROOT / "man").glob("*.[1-8]"))


def examples(page):
    """Returns the commands of each display in EXAMPLES, without prompts; here-documents and quoted texts span several
    lines."""
    text = page.read_text().partition(".Sh EXAMPLES\n")[2].partition("\n.Sh ")[0]
    for display in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, re.M | re.S):
        display = display.replace("\\en", "\\n").replace("\\e", "\\").replace("\\&", "").replace("\\-", "-")
        if not display.startswith("$ "):
            continue  # requires root on an installed system
        yield "".join(line.removeprefix("$ ") for line in display.splitlines(keepends=True))


def readme_examples():
    """Returns the commands of README.md's sections on jobs and indicators as one script, since later commands use
    earlier files."""
    text = (ROOT / "README.md").read_text()
    text = text[text.index("\n## Jobs\n"):text.index("\n## Test\n")]
    lines = [line[4:] for line in re.findall(r"(?m)^    .*$", text)]
    return "".join(line.removeprefix("$ ") + "\n" for line in lines)


class Examples(harness.TestCase):
    """Runs the examples of the manual pages, which use an ended job train-17."""

    def setUp(self):
        super().setUp()
        self.running = self.daemon("[sampling]\ninterval = 100ms\n")
        with self.running.client() as client:
            self.assert_status(client.begin("train-17"), "OK")
            self.assert_status(client.end("train-17", 0), "OK")
        self.running.wait_tick()

    def run_example(self, script, files=()):
        directory = self.temporary_directory()
        for name, text in files:
            (directory / name).write_text(text)
        environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "PERFD_SOCKET": str(self.running.socket),
                       "PYTHONPATH": str(ROOT / "clients" / "python"),
                       "PERFD_EXAMPLES": str(ROOT / "examples"),
                       "PERFD_PROTO": str(ROOT / "proto"), "PERFD_INCLUDE": str(ROOT / "client" / "wire"), "PERFD_LIB": str(BUILD)}
        return subprocess.run(["sh", "-euc", script], cwd=directory, env=environment, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT_S * 2)

    def test_every_example_runs(self):
        n = 0
        for page in PAGES:
            for i, script in enumerate(examples(page), 1):
                with self.subTest(f"{page.name}, example {i}"):
                    done = self.run_example(script)
                    self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")
                    n += 1
        self.assertGreater(n, len(PAGES) // 2)

    def test_commands_of_the_readme_work(self):
        script = readme_examples()
        self.assertGreater(script.count("perfctl "), 8)
        done = self.run_example(script)
        self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")
        self.assertRegex(done.stdout, r"(?m)^Job hello .*finished: exit 0")
        self.assertRegex(done.stdout, r"(?m)^ +sort +")
        for level in (1, 6, 9):
            self.assertRegex(done.stdout, rf"(?m)^level {level} +5 +0 +")
            self.assertRegex(done.stdout, rf"(?m)^ +=?\d +gzip +level {level} +5 +")
        results = self.running.get("/api/v1/indicators/Pack/results").json["results"]
        self.assertEqual(len(results), 15 + 6)

    def quoted_messages(self, page):
        """Returns the error messages in perfctl's manual as patterns: numbers may differ, and ... stands for any
        text."""
        text = (ROOT / "man" / page).read_text()
        lists = re.findall(r"^Errors are reported.*?^\.Bl.*?\n(.*?)^\.El", text, re.M | re.S)
        messages = [m.replace("\\e", "\\") for items in lists for m in re.findall(r"(?m)^\.It Li (.*)$", items)]
        self.assertGreater(len(messages), 4, page)
        return {m: re.sub(r"[0-9]+", "[0-9]+", re.escape(m.removesuffix("...").rstrip())) for m in messages}

    def test_quoted_messages_of_submit_are_those_of_perfctl(self):
        start = '{"name": "A", "component": "b", "@parameters": '
        many = ", ".join(f'"k{i}": 1' for i in range(70000))
        documents = [start + '{"n": 1}, "@result": {}}', start + '{"n": 1}, "@result": {"n": 2}}',
                     start + f'{{{many}}}, "@result": {{"x": 1}}}}',
                     start + '{"n": "\\u0000"}, "@result": {"x": 1}}', start + '{"n": 99999999999999999999}, "@result": {"x": 1}}',
                     start + f'{{"n": [{", ".join(["1.5555555"] * 400000)}]}}, "@result": {{"x": 1}}}}']
        latencies = {"seconds.json": ['{"time_per_batch": [1, 2, 3, -1]}', '{"time_per_batch": [1, 2, 3], "batch_length": [1, 2]}'],
                     "seconds.txt": ["0.1\n" * 16 + "nan\n", ""]}
        printed = ""
        for text in documents:
            printed += self.run_example("! perfctl submit document.json", [("document.json", text)]).stderr
        for name, texts in latencies.items():
            for text in texts:
                printed += self.run_example(f"! perfctl submit --latencies {name}", [(name, text)]).stderr
        for message, pattern in self.quoted_messages("perfctl-submit.1").items():
            self.assertRegex(printed, pattern, message)

    def test_quoted_messages_of_sweep_are_those_of_perfctl(self):
        many = ", ".join(str(i) for i in range(400))
        printed = ""
        for settings, more in (("{threads: [4}", ""), ("{threads: []}", ""), ("{threads: [4]}", "extra: [{threads: 4}]"),
                               ("{other: [4]}", ""), (f"{{threads: [{many}], b: [{many}]}}", "")):
            command = "echo {thread}" if "other" in settings else "echo {threads}"
            text = f"command: {command}\nsettings: {settings}\n{more}\n"
            printed += self.run_example("! perfctl sweep --no-perfd sweep.yaml", [("sweep.yaml", text)]).stderr
        for message, pattern in self.quoted_messages("perfctl-sweep.1").items():
            self.assertRegex(printed, pattern, message)

    def test_every_page_has_examples(self):
        for page in PAGES:
            with self.subTest(page.name):
                self.assertIn("\n.Sh EXAMPLES\n", page.read_text())


class Completeness(harness.TestCase):
    def test_every_metric_is_in_the_manual_with_its_type(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        with daemon.client() as client:
            self.assert_status(client.begin("running"), "OK")
            self.assert_status(client.begin("ended", rank=0), "OK")
            daemon.wait_tick()
            daemon.wait_tick()
            self.assert_status(client.end("ended", 0), "OK")
        daemon.wait_tick()
        page = (ROOT / "man" / "perfd-metrics.7").read_text()
        documented = dict(re.findall(r"^\.It Li (\w+) Pq (\w+)", page, re.M))
        text = daemon.get("/metrics?collect[]=node&collect[]=jobs&collect[]=self&collect[]=percpu").text
        exposed = dict(re.findall(r"^# TYPE (\w+) (\w+)", text, re.M))
        self.assertGreater(len(exposed), 100)
        exposed = {name: "info" if name.endswith("_info") else kind for name, kind in exposed.items()}
        self.assertEqual({name: documented.get(name) for name in exposed}, exposed)

    def test_every_key_and_family_of_a_job_is_in_the_manual(self):
        """Reads the tables in the source, because a machine may lack some of the numbers."""
        page = (ROOT / "man" / "perfd-metrics.7").read_text()
        documented = dict(re.findall(r"^\.It Li perfd_job_(\w+) Pq (\w+)", page, re.M))
        wanted = {}
        for header in ("metric.h", "usage.h"):
            text = (ROOT / "lib" / "measure" / header).read_text()
            lines = re.findall(r'^ +X\(\w+, +"(\w+)",.*?"(\w+)", +"\w*", +(GAUGE|COUNTER),', text, re.M)
            self.assertGreater(len(lines), 20, header)
            for key, family, kind in lines:
                wanted[family + ("_total" if kind == "COUNTER" else "")] = kind.lower()
                self.assertRegex(page, rf"(?m)^\.Li {key}( |$)")
        self.assertEqual({name: documented.get(name) for name in wanted}, wanted)

    def test_every_counter_of_the_kernel_is_in_the_manual(self):
        page = (ROOT / "man" / "perfd-metrics.7").read_text()
        documented = dict(re.findall(r"^\.It Li (\w+) Pq (\w+)", page, re.M))
        text = (ROOT / "lib" / "measure" / "kernel_counter.h").read_text()
        counters = re.findall(r'^ +X\(\w+, +\w+, +\d, +"(\w+)", +"\w+", +"(\w+)",', text, re.M)
        self.assertGreater(len(counters), 8)
        for key, family in counters:
            for subject in ("node", "job"):
                self.assertEqual(documented.get(f"perfd_{subject}_{family}_total"), "counter", family)
            self.assertRegex(page, rf"(?m)^\.Li {key}( |$)")

    def test_every_counter_of_a_device_is_in_the_manual(self):
        page = (ROOT / "man" / "perfd-metrics.7").read_text()
        documented = dict(re.findall(r"^\.It Li (\w+) Pq (\w+)", page, re.M))
        text = (ROOT / "lib" / "measure" / "device_counter.h").read_text()
        families = re.findall(r'^ +X\(\w+, +\d, +"(\w+)",', text, re.M)
        self.assertGreater(len(families), 10)
        self.assertEqual([family for family in families if documented.get(f"perfd_node_{family}_total") != "counter"], [])

    def test_every_reason_for_an_absent_number_is_in_the_manual(self):
        reasons = re.findall(r'{ "absent", "(.*)" }', (ROOT / "lib" / "measure" / "metric.c").read_text())
        self.assertGreater(len(reasons), 4)
        page = (ROOT / "man" / "perfd-metrics.7").read_text().replace("\\&", "")
        self.assertEqual([reason for reason in reasons if f".It {reason}\n" not in page], [])

    def test_the_manual_has_no_metric_that_perfd_lacks(self):
        """Reads the names in the source, because a machine may lack some of the metrics."""
        source = "".join(path.read_text() for folder in ("daemon", "lib") for path in (ROOT / folder).rglob("*.[ch]"))
        page = (ROOT / "man" / "perfd-metrics.7").read_text()
        families = [re.sub(r"_(total|info)$", "", name) for name in re.findall(r"^\.It Li (\w+) Pq \w+", page, re.M)]
        self.assertGreater(len(families), 100)
        self.assertEqual([name for name in families if not re.search(rf'"({name}|{re.sub("^perfd_(node|job)_", "", name)})"', source)], [])

    def test_parts_and_rows_of_a_report_have_the_names_of_the_manual(self):
        source = "".join(path.read_text() for path in (ROOT / "client" / "report").glob("*.c"))
        page = (ROOT / "man" / "perfctl-report.1").read_text().partition(".Sh OPTIONS")[0]
        names = [name for line in re.findall(r"(?m)^\.It (?:Li )?(.+)$", page) for name in line.split(" , ")]  # columns
        self.assertGreater(len(names), 12)
        self.assertEqual([name for name in names if name != "Header" and not re.search(f'["|>]{re.escape(name)}', source)], [])

    def test_every_option_of_perfd_is_in_the_manual(self):
        usage = subprocess.run([PERFD, "--help"], capture_output=True, text=True).stdout
        text = (ROOT / "man" / "perfd.8").read_text()
        options = sorted(set(re.findall(r"  --([a-z][a-z-]+)", usage)))
        self.assertIn("check-config", options)
        self.assertEqual([option for option in options if not re.search(rf"(?m)^\.It .*Fl -{option}\b", text)], [])

    def test_every_command_of_perfctl_has_its_synopsis(self):
        """Checks that the synopses in perfctl.1 name the commands in the tables and their options."""
        text = (ROOT / "man" / "perfctl.1").read_text().partition(".Sh SYNOPSIS\n")[2].partition("\n.Sh ")[0]
        known, documented = perfctl_options(), set()
        for synopsis in re.split(r"(?m)^\.Nm\n", text)[1:]:
            name, _, rest = synopsis.removeprefix(".Cm ").partition("\n")
            group, _, words = name.partition(" ")
            names = [f"{group} {word}" for word in words.split(" | ")] if words else [group]
            documented |= set(names)
            for option in re.findall(r"Fl -([a-z][a-z-]+)", rest):
                for command in names:
                    self.assertIn(option, known.get(command, {}), command)
        self.assertEqual(documented, set(known))

    def test_every_option_of_perfctl_has_its_paragraph(self):
        """Checks that letters and placeholders match the tables, and that no paragraph describes an option that no
        command has."""
        documented = {}
        for page in PAGES:
            if not page.name.startswith("perfctl"):
                continue
            for letter, name, argument in re.findall(r"(?m)^\.It (?:Fl ([a-z]) , )?Fl -([a-z][a-z-]+)(.*)$", page.read_text()):
                argument = re.sub(r"\b(Ar|Ns|Op)\b|[ \\&]", "", argument).replace("...", "…").upper()
                documented.setdefault(name, set()).add((letter, argument))
        known = {"version": {("", "")}}
        for options in perfctl_options().values():
            for name, form in options.items():
                known.setdefault(name, set()).add(form)
        self.assertEqual(documented, known)

    def test_an_option_has_one_form_and_a_letter_one_option(self):
        # the source of an import is a server, and that of a run a format
        options = [(name, *form) for command, found in perfctl_options().items() for name, form in found.items()
                   if (command, name) != ("import kpis", "from")] + [("version", "", "")]
        forms = dict.fromkeys(options)
        names, letters = [name for name, _, _ in forms], [letter for _, letter, _ in forms if letter]
        self.assertEqual((sorted(set(names)), sorted(set(letters))), (sorted(names), sorted(letters)))


def perfctl_options():
    """Returns {command: {option: (letter, placeholder)}} from perfctl's help, which is generated from its tables."""
    usage = subprocess.run([PERFCTL, "help", "all"], capture_output=True, text=True).stdout
    commands = [c for c in re.findall(r"^  ((?:[a-z]+ )?[a-z-]+) +[A-Z]", usage, re.M) if not c.startswith("perfctl")]
    found = {}
    for command in commands:  # which grows by the commands of a program of their own
        text = subprocess.run([PERFCTL, *command.split(), "--help"], capture_output=True, text=True).stdout
        if text.startswith("Commands\n"):
            commands += re.findall(rf"(?m)^  ({command} [a-z-]+)  ", text)
            continue
        options = re.findall(r"^  (?:-([a-z]), |    )--([a-z-]+) ([A-Z=:,…]*)", text, re.M)
        found[command] = {name: (letter, argument) for letter, name, argument in options}
    return found


class Run(harness.TestCase):
    def test_make_run_shows_a_job_and_ends_with_control_c(self):
        process = subprocess.Popen([ROOT / "tools" / "run", BUILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "PERFD_HTTP": "127.0.0.1:0"}, start_new_session=True)
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                if line.rstrip().endswith("perfctl top"):
                    break
            os.killpg(process.pid, signal.SIGINT)
            status = process.wait(harness.TIMEOUT_S)
        finally:
            process.stdout.close()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        text = "".join(lines)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"(?m)^Job \S+ \(memset\)  finished: exit 0$")
        self.assertRegex(text, r"(?m)^ +1  c .*\n +2  python ")
        self.assertRegex(text, r"(?m)^  regression: \+.* since 1\.11\.0\n\(exit status 4\)$")
        self.assertRegex(text, r"(?m)^The training loop waited for data ")
        self.assertEqual(text.count("exit status"), 1, text)
        self.assertRegex(text, r"http://127\.0\.0\.1:\d+/")
        self.assertEqual(self.readme_lines() - {self.normalized(line.replace(f"{BUILD.name}/", "build/")) for line in lines},
                         set())

    @staticmethod
    def normalized(line):
        return " ".join(re.sub(r"\bj[0-9a-z]{15}\b|[0-9]+(\.[0-9]+)*", "#", line).split())

    def readme_lines(self):
        """Returns the lines without indentation in README.md, except those that depend on the machine or the
        directory."""
        text = (ROOT / "README.md").read_text()
        block = text[text.index("    $ make run\n"):text.index("\n## Install\n")]
        lines = {self.normalized(line) for line in re.findall(r"(?m)^    (\S.*)$", block)}
        self.assertGreater(len(lines), 10)
        return {line for line in lines
                if not line.startswith(("$ make run", "Hardware ", "Read ", "perfd # ", "The training loop ", "decode "))}

    def test_make_check_shows_what_the_readme_shows(self):
        screen = re.search(r"(?m)^    \$ make check TESTS=(\S+)\n((?:    .*\n)+)", (ROOT / "README.md").read_text())
        shown = subprocess.run([ROOT / "tests" / "run", BUILD, screen[1]], capture_output=True, text=True).stdout

        def without_times(text):
            return [re.sub(r"\(.* s\)", "", line.strip()) for line in text.splitlines()]
        self.assertEqual(without_times(screen[2]), without_times(shown))


if __name__ == "__main__":
    unittest.main()
