"""Checks the documentation: its examples run, it lists all metrics, options and commands, and `make run` works."""

import os
import re
import signal
import subprocess
import unittest

import harness
from harness import BUILD, PERFCTL, PERFD, ROOT

PAGES = sorted((ROOT / "man").glob("*.[1-8]"))


def examples(page):
    """The commands of each display in EXAMPLES, without the prompts; here-documents and quotes span several lines."""
    text = page.read_text().partition(".Sh EXAMPLES\n")[2].partition("\n.Sh ")[0]
    for display in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, re.M | re.S):
        display = display.replace("\\en", "\\n").replace("\\e", "\\").replace("\\&", "").replace("\\-", "-")
        if not display.startswith("$ "):
            continue  # for root on an installed system
        yield "".join(line.removeprefix("$ ") for line in display.splitlines(keepends=True))


def readme_examples():
    """The commands of README.md's sections on jobs and indicators as one script, since later commands use earlier files."""
    text = (ROOT / "README.md").read_text()
    text = text[text.index("\n## Jobs\n"):text.index("\n## Test\n")]
    lines = [line[4:] for line in re.findall(r"(?m)^    .*$", text)]
    return "".join(line.removeprefix("$ ") + "\n" for line in lines)


class Examples(harness.TestCase):
    """Runs examples beside an ended job train-17, which the pages' examples use."""

    def setUp(self):
        super().setUp()
        self.running = self.daemon("[sampling]\ninterval = 100ms\n")
        with self.running.client() as client:
            self.assert_status(client.begin("train-17"), "OK")
            self.assert_status(client.end("train-17", 0), "OK")
        self.running.wait_tick()

    def run_example(self, script):
        environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "PERFD_SOCKET": str(self.running.socket),
                       "PERFD_PROTO": str(ROOT / "proto"), "PERFD_INCLUDE": str(ROOT / "client" / "wire"), "PERFD_LIB": str(BUILD)}
        return subprocess.run(["sh", "-euc", script], cwd=self.temporary_directory(), env=environment, text=True, capture_output=True,
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

    def test_what_the_readme_shows_works(self):
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

    def test_every_option_of_perfd_is_in_the_manual(self):
        usage = subprocess.run([PERFD, "--help"], capture_output=True, text=True).stdout
        text = (ROOT / "man" / "perfd.8").read_text()
        options = sorted(set(re.findall(r"  --([a-z][a-z-]+)", usage)))
        self.assertIn("check-config", options)
        self.assertEqual([option for option in options if not re.search(rf"(?m)^\.It .*Fl -{option}\b", text)], [])

    def test_every_command_of_perfctl_is_in_a_manual(self):
        """Takes commands and options from the help texts."""
        usage = subprocess.run([PERFCTL, "--help"], capture_output=True, text=True).stdout
        commands = [c for c in re.findall(r"^  ((?:[a-z]+ )?[a-z-]+) +[A-Z]", usage, re.M) if c != "perfctl"]
        self.assertLessEqual({"submit", "job list", "indicator rank", "import inspection"}, set(commands))
        text = "".join(page.read_text() for page in PAGES if page.name.startswith("perfctl"))
        missing = [command for command in commands if not re.search(rf"\b{command.replace(' ', '[ -]')}\b", text)]
        for command in commands:
            words = subprocess.run([PERFCTL, *command.split(), "--help"], capture_output=True, text=True).stdout
            missing += [f"{command} --{option}" for option in sorted(set(re.findall(r"  --([a-z][a-z-]+)", words)))
                        if not re.search(rf"Fl -{option}\b", text)]
        self.assertEqual(missing, [])


class Run(harness.TestCase):
    def test_make_run_shows_a_job_and_ends_with_control_c(self):
        process = subprocess.Popen([ROOT / "tools" / "run", BUILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "PERFD_HTTP": "127.0.0.1:0"}, start_new_session=True)
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                if line.rstrip().endswith("watch"):
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
        self.assertIn("$ perfctl report demo", text)
        self.assertNotIn("exit status", text)
        self.assertRegex(text, r"(?m)^ +1  c .*\n +2  python ")
        self.assertRegex(text, r"http://127\.0\.0\.1:\d+/")


if __name__ == "__main__":
    unittest.main()
