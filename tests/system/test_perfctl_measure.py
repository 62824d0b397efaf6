"""Checks benchmarks with perfctl run: records of runs, failed runs, batches."""

import contextlib
import hashlib
import json
import os
import platform
import pty
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys

from harness import PERFCTL, TIMEOUT_S, TestCase, wait_for

PRINTED = {"@parameters": {"n": 1}, "@result": {"rate": 2.5}, "name": "PiTest", "component": "shell"}
PRINT = f"echo '{json.dumps(PRINTED)}'"


class Measure(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()
        self.directory = self.temporary_directory()

    def run_command(self, *command, options=(), environment=None, status=0, **more):
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        environment = {**os.environ, "PERFD_SOCKET": str(self.running.socket), **(environment or {})}
        done = subprocess.run([str(PERFCTL), "run", "--spool", str(self.directory / "spool"), *options, "--", *map(str, command)],
                              env=environment, timeout=TIMEOUT_S, cwd=self.directory, stdin=subprocess.DEVNULL, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def script(self, text, name="bench.sh"):
        path = self.directory / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def rows(self):
        """Returns the stored results, oldest first."""
        with contextlib.closing(sqlite3.connect(f"file:{self.running.state}/perfd.db?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT t.text, r.exit_status, r.batch, r.batch_index, r.run, r.version, r.document, r.job "
                                    "FROM result r JOIN term t ON t.id = r.name ORDER BY r.row").fetchall()
        keys = ("name", "exit_status", "batch", "index", "run", "version", "document", "job")
        return [{**dict(zip(keys, row)), "run": json.loads(row[4]) if row[4] else None} for row in rows]

    def row(self):
        rows = self.rows()
        self.assertEqual(len(rows), 1)
        return rows[0]


class Record(Measure):
    def test_a_run_record_has_usage_time_and_host(self):
        self.run_command("sh", "-c", f"{PRINT}; echo warning >&2", options=("--env", "FLAVOUR", "--env", "ABSENT"),
                         environment={"FLAVOUR": "vanilla"})
        row = self.row()
        run = row["run"]
        self.assertEqual((row["name"], row["exit_status"], row["batch"], row["version"]), ("PiTest", 0, None, None))
        self.assertEqual(len(run["rusage"]), 16)
        self.assertGreater(run["rusage"]["ru_maxrss"], 0)
        self.assertEqual((run["stderr"], run["stderr_cut"]), ("warning\n", False))
        self.assertEqual(run["environment"], {"FLAVOUR": "vanilla"})
        self.assertEqual(run["directory"], os.path.realpath(self.directory))
        self.assertEqual(run["kernel"], platform.release())
        self.assertEqual(run["host"]["hostname"], platform.node())
        self.assertEqual(run["host"]["memory_bytes"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        self.assertEqual(run["host"]["cpu"]["threads"], os.sysconf("SC_NPROCESSORS_ONLN"))
        self.assertLess(run["begin"], run["end"])
        self.assertRegex(run["begin"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertLess(0, run["wall_seconds"])
        self.assertNotIn("script", run)

    def test_a_scripts_digest_is_the_default_version(self):
        path = self.script(f"#!/bin/sh\n{PRINT}\n")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        for command in ((path,), ("sh", path), ("./bench.sh",), ("bench.sh",)):
            self.run_command(*command, environment={"PATH": f"{self.directory}:{os.environ['PATH']}"})
        self.script(f"#!/bin/sh\n{PRINT.replace('shell', 'sh')[:-2]}, \"version\": \"7\"}}'\n", "own.sh")
        self.run_command("./own.sh")
        rows = self.rows()
        self.assertEqual([row["version"] for row in rows], [digest] * 4 + ["7"])
        for row in rows[:4]:
            self.assertEqual(row["run"]["script"], {"sha256": digest, "origin": os.path.realpath(path)})
        self.assertEqual(rows[4]["run"]["script"]["origin"], os.path.realpath(self.directory / "own.sh"))

    def test_standard_error_is_kept_apart_and_reaches_ours_unchanged(self):
        program = "import sys; sys.stderr.buffer.write(b'\\xff\\0' + bytes(range(1, 128)) * 2000 + b'end');"
        done = self.run_command(sys.executable, "-c", f"{program}print('{json.dumps(PRINTED)}')", options=("--quiet",))
        self.assertEqual(done.stderr, b"\xff\0" + bytes(range(1, 128)) * 2000 + b"end")
        self.assertEqual(json.loads(done.stdout), PRINTED)
        run = self.row()["run"]
        self.assertTrue(run["stderr_cut"])
        self.assertEqual(run["stderr"], done.stderr[-65536:].decode())

    def test_invalid_bytes_are_replaced(self):
        self.run_command("sh", "-c", rf"{PRINT}; printf 'a\377\000b' >&2")
        self.assertEqual(self.row()["run"]["stderr"], "a\ufffd\ufffdb")

    def test_in_one_file_output_and_errors_keep_their_order(self):
        path = self.directory / "both"
        with open(path, "wb") as both:
            self.run_command("sh", "-c", f"{PRINT}; for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done", stdout=both, stderr=both,
                             options=("--quiet",))
        errors = [line for line in path.read_text().split() if line.startswith("e")]
        self.assertEqual(errors, [f"e{i}" for i in range(1, 10)])
        self.assertNotIn("stderr", self.row()["run"])

    def test_a_terminal_stays_the_commands_standard_error(self):
        pid, master = pty.openpty()
        self.addCleanup(os.close, pid)
        self.addCleanup(os.close, master)
        self.run_command("sh", "-c", f"test -t 2 && {PRINT}", stderr=master)
        self.assertNotIn("stderr", self.row()["run"])


class Failed(Measure):
    def test_output_of_a_failed_run_is_no_result(self):
        self.run_command("sh", "-c", f"{PRINT}; exit 3", status=3)
        row = self.row()
        self.assertEqual((row["name"], row["exit_status"]), ("PiTest", 3))
        self.assertEqual(json.loads(row["document"]), PRINTED)

    def test_a_failure_of_something_else_is_no_indicator(self):
        self.run_command("sh", "-c", "exit 3", status=3)
        self.assertEqual(self.rows(), [])

    def test_a_failed_indicator_is_stored_with_its_name(self):
        path = self.script("#!/bin/sh\necho broken >&2\nkill -9 $$\n", "matmul.sh")
        self.run_command(path, options=("--collect", "yes"), status=137)
        self.run_command(path, options=("--collect", "yes", "--indicator", "PiMatmul", "--component", "numpy"), status=137)
        self.assertEqual([(row["name"], row["exit_status"], row["run"]["stderr"]) for row in self.rows()],
                         [("matmul", 137, "broken\n"), ("PiMatmul", 137, "broken\n")])

    def test_a_result_that_is_refused_does_not_keep_the_job_from_ending(self):
        running = self.daemon("[indicators]\ndirectory =\npolicy = strict\n")
        self.running = running
        done = self.run_command("sh", "-c", PRINT, options=("--job", "j"))
        self.assertIn(b"an indicator in the output was not submitted: ", done.stderr)
        self.assertEqual(self.rows(), [])
        self.assertEqual(running.get("/api/v1/jobs/j").json["state"], "finished")


class Repeat(Measure):
    def test_a_batch_that_is_refused_has_no_results(self):
        self.running = self.daemon("[indicators]\ndirectory =\npolicy = strict\n")
        done = self.run_command("sh", "-c", PRINT, options=("--repeat", "3"))
        self.assertEqual(self.rows(), [])
        self.assertIn(b"3 runs, 0 failed, 0 results, 3 results not stored\n", done.stderr)
        self.assertNotIn(b"perfctl indicator show --batch", done.stderr)

    def test_every_run_is_stored_with_its_index_in_the_batch(self):
        path = self.script("#!/bin/sh\necho x >> runs\nn=$(wc -l < runs)\n" + PRINT.replace("2.5", "'$n'") + "\n")
        done = self.run_command(path, options=("--job", "b", "--repeat", "4", "--warmup", "2"))
        self.assertEqual(len(done.stdout.splitlines()), 6)
        rows = self.rows()
        self.assertEqual([row["index"] for row in rows], [0, 1, 2, 3])
        self.assertEqual([json.loads(row["document"])["@result"]["rate"] for row in rows], [3, 4, 5, 6])
        self.assertEqual({row["job"] for row in rows}, {"b"})
        batch, = {row["batch"] for row in rows}
        summary = done.stderr.decode()
        self.assertIn(f"batch {batch.hex()}: 4 runs, 0 failed, 4 results\n", summary)
        self.assertIn("PiTest of shell\n", summary)
        self.assertRegex(summary, r"rate +median 4\.5 ± 29 %, 4 runs")
        job = self.running.get("/api/v1/jobs/b").json
        self.assertEqual((job["state"], job["exit"]["status"]), ("finished", 0))

    def test_failed_runs_count_apart_and_take_the_name_of_the_others(self):
        path = self.script("#!/bin/sh\necho x >> runs\nn=$(wc -l < runs)\n[ $n = 1 ] && exit 5\n[ $n = 3 ] && exit 6\n" + PRINT + "\n")
        done = self.run_command(path, options=("--repeat", "4"), status=5)
        rows = sorted(self.rows(), key=lambda row: row["index"])
        self.assertEqual([(row["name"], row["exit_status"]) for row in rows], [("PiTest", 5), ("PiTest", 0), ("PiTest", 6), ("PiTest", 0)])
        self.assertIn(b"4 runs, 2 failed, 4 results", done.stderr)
        self.assertRegex(done.stderr.decode(), "rate +median 2.5 ± 0.0 %, 2 runs")
        batch = rows[0]["batch"].hex()
        self.assertIn(f"details: perfctl indicator show --batch {batch}", done.stderr.decode())
        # Otherwise the runs would belong to another alternative.
        self.assertEqual({row["version"] for row in rows}, {hashlib.sha256(path.read_bytes()).hexdigest()})

    def test_failed_runs_have_the_parameters_that_all_others_have(self):
        path = self.script("#!/bin/sh\necho x >> runs\n[ $(wc -l < runs) = 2 ] && exit 5\n" + PRINT + "\n")
        self.run_command(path, options=("--repeat", "3"), status=5)
        for question in ("where=n%3D1", "group_by=n"):
            group, = self.running.get(f"/api/v1/indicators/PiTest/query?{question}").json["groups"]
            self.assertEqual((group["n"], group["n_failed"]), (2, 1), question)

    def test_parameters_that_differ_are_not_given_to_a_failed_run(self):
        printed = PRINT.replace('"n": ', '"n": \'$n\'', 1)
        self.assertNotEqual(printed, PRINT)
        path = self.script("#!/bin/sh\necho x >> runs\nn=$(wc -l < runs)\n[ $n = 2 ] && exit 5\n" + printed + "\n")
        self.run_command(path, options=("--repeat", "3"), status=5)
        results = self.running.get("/api/v1/indicators/PiTest/results").json["results"]
        self.assertEqual([result["document"] and result["document"]["@parameters"] for result in results], [{"n": 31}, None, {"n": 11}])

    def test_a_batch_has_the_units_of_models_and_of_the_kernel(self):
        model = self.directory / "model.yaml"
        model.write_text("name: PiTest\nparameters: {n: int}\nresults: {rate: {type: float, unit: GFLOP/s}}\n")
        self.assertEqual(self.running.perfctl("model", "add", model).returncode, 0)
        done = self.run_command("sh", "-c", PRINT, options=("--repeat", "2"))
        self.assertIn("median 2.5 GFLOP/s ± 0.0 %, 2 runs".encode(), done.stderr)
        batch = self.rows()[0]["batch"].hex()
        self.assertEqual(self.running.get(f"/api/v1/batches/{batch}").json["units"],
                         {"rate": "GFLOP/s", "ru_utime": "s", "ru_stime": "s", "ru_maxrss": "KiB"})
        shown = self.running.perfctl("indicator", "show", "--batch", batch).stdout
        self.assertRegex(shown, r"(?m)^RESULT +UNIT +n +median ")
        self.assertRegex(shown, r"(?m)^rate +GFLOP/s +2 +2\.5 ")

    def test_the_latest_result_is_shown_in_numbers_as_people_write_them(self):
        document = {"name": "Big", "component": "x", "version": "1", "@parameters": {"rows": 12345678, "alpha": 0.1},
                    "@result": {"bytes": 1234567890123, "latency_s": 0.0001234567890123456, "rate": 3.5300000000000002, "ok": True}}
        self.assertEqual(self.running.perfctl("submit", "-", stdin=json.dumps(document)).returncode, 0)
        shown = self.running.perfctl("indicator", "show", "Big").stdout
        lines = dict(line.split() for line in shown[shown.index("Parameters"):].splitlines() if line.startswith("  "))
        self.assertEqual(lines, {"rows": "12345678", "alpha": "0.1", "bytes": "1,234,567,890,123", "latency_s": "0.000123457",
                                 "rate": "3.53", "ok": "true"})

    def test_failed_runs_have_the_version_that_the_others_print(self):
        printed = PRINT.replace('"name"', '"version": "1.2", "name"', 1)
        path = self.script("#!/bin/sh\necho x >> runs\n[ $(wc -l < runs) = 1 ] && exit 5\n" + printed + "\n")
        self.run_command(path, options=("--repeat", "2"), status=5)
        self.assertEqual([row["version"] for row in self.rows()], ["1.2", "1.2"])

    def test_an_interrupt_ends_the_batch_and_keeps_its_results(self):
        path = self.script("#!/bin/sh\necho x >> runs\n[ $(wc -l < runs) = 3 ] && { echo > third; exec sleep 1000; }\n" + PRINT + "\n")
        environment = {**os.environ, "PERFD_SOCKET": str(self.running.socket)}
        process = subprocess.Popen([str(PERFCTL), "run", "--job", "i", "--repeat", "9", "--", str(path)], cwd=self.directory,
                                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for((self.directory / "third").exists, "the third run")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 143)
        self.assertIn("3 runs, 1 failed, 3 results", errors)
        self.assertEqual([(row["index"], row["exit_status"]) for row in self.rows()], [(0, 0), (1, 0), (2, 143)])
        self.assertEqual(self.running.get("/api/v1/jobs/i").json["state"], "finished")

    def test_a_signal_mask_is_the_same_in_every_run(self):
        path = self.script("#!/bin/sh\ngrep Sig /proc/self/status >> masks\n" + PRINT + "\n")
        self.run_command(path, options=("--repeat", "3"))
        masks = re.findall(r"SigQ.*?SigCgt:\s+\w+", (self.directory / "masks").read_text(), re.S)
        self.assertEqual(len(masks), 3)
        self.assertEqual(len({re.sub(r"SigQ.*|SigPnd.*", "", mask) for mask in masks}), 1)

    def test_without_perfd_the_batch_waits_in_the_spool(self):
        path = self.script("#!/bin/sh\n" + PRINT + "\n")
        done = self.run_command(path, options=("--repeat", "3", "--socket", "/nonexistent/sock"))
        self.assertEqual(done.stderr.count(b"are kept in"), 1)
        self.assertIn(b"3 runs, 0 failed, 3 results\n", done.stderr)
        self.assertNotIn(b"perfctl indicator show --batch", done.stderr)
        self.assertEqual(self.running.perfctl("flush", "--spool", str(self.directory / "spool")).returncode, 0)
        self.assertEqual([row["index"] for row in self.rows()], [0, 1, 2])

    def test_wrong_usage(self):
        for options, text in ((("--warmup", "1"), "--warmup requires --repeat"), (("--repeat", "0"), "--repeat expects a number from 1"),
                              (("--output", "x.csv"), "--output requires --repeat"),
                              (("--repeat", "2", "--output", "x.txt"), "--output expects a file whose name ends in .csv, .json or .md"),
                              (("--env", "A=b"), "--env expects the name of a variable")):
            done = self.run_command("touch", "ran", options=options, status=2)
            self.assertIn(text, done.stderr.decode())
        self.assertFalse((self.directory / "ran").exists())


class Command(Measure):
    """A command that prints no indicator is measured as a benchmark itself."""

    def test_each_repeated_run_is_a_result_of_the_command(self):
        done = self.run_command("sh", "-c", "exit 0", options=("--repeat", "3"))
        rows = self.rows()
        self.assertEqual([(row["name"], row["exit_status"], row["index"]) for row in rows], [("sh", 0, 0), ("sh", 0, 1), ("sh", 0, 2)])
        for row in rows:
            document = json.loads(row["document"])
            self.assertEqual((document["component"], document["@parameters"]), ("command", {"command": "sh -c 'exit 0'"}))
            self.assertEqual(document["@result"]["max_rss"], row["run"]["rusage"]["ru_maxrss"] * 1024)
            self.assertEqual(document["@result"]["elapsed"], row["run"]["wall_seconds"])
        self.assertRegex(done.stderr.decode(), r"perfctl: sh: mean .* ± .*, median .*, range .* to .*, 3 runs\n")
        self.assertIn(b"3 runs, 0 failed, 3 results\n", done.stderr)
        batch = rows[0]["batch"].hex()
        self.assertEqual(self.running.perfctl("indicator", "show", "--batch", batch).returncode, 0)

    def test_two_builds_of_a_program_are_two_versions(self):
        program = self.temporary_directory() / "prog"
        for source in ("true", "echo", "true"):
            program.unlink(missing_ok=True)
            shutil.copyfile(shutil.which(source), program)
            program.chmod(0o755)
            self.run_command(program, options=("--repeat", "1"))
        self.run_command(program, options=("--repeat", "1", "--component", "solver", "--component-version", "2.0"))
        *versions, given = [(document["component"], document["version"]) for document in
                            (json.loads(row["document"]) for row in self.rows())]
        self.assertEqual(given, ("solver", "2.0"))
        self.assertEqual((len(set(versions)), versions[0]), (2, versions[2]))
        for component, version in versions:
            self.assertEqual(component, "command")
            self.assertRegex(version, "^[0-9a-f]{32,64}$")
        shown = self.running.perfctl("indicator", "show", "prog").stdout
        for _, version in versions:
            self.assertIn(version[:8], shown)
            self.assertNotIn(version[:12], shown)

    def test_two_commands_of_one_name_are_ranked(self):
        for seconds in ("0.01", "0.2"):
            self.run_command("sleep", seconds, options=("--repeat", "4"))
        done = self.running.perfctl("indicator", "rank", "sleep", "--by", "command", "-o", "elapsed", "--direction", "lower", "--json")
        ranking, = json.loads(done.stdout)["rankings"]
        self.assertEqual([(a["key"]["command"], a["n"]) for a in ranking["alternatives"]], [("sleep 0.01", 4), ("sleep 0.2", 4)])

    def test_the_only_number_is_ranked_by_default(self):
        document = {"name": "One", "component": "c", "version": "1", "@parameters": {}, "@result": {"ms": 1.5, "mode": "fast"}}
        self.run_command("echo", json.dumps(document), options=("--repeat", "3"))
        done = self.running.perfctl("indicator", "rank", "One", "--direction", "lower", "--json")
        self.assertEqual(json.loads(done.stdout)["objective"], "ms", done.stderr)

    def test_a_run_with_a_named_indicator_is_a_result_without_its_command_line(self):
        self.run_command("sh", "-c", "exit 0", options=("--indicator", "my job (v2)"))
        row = self.row()
        self.assertEqual((row["name"], row["batch"]), ("my_job__v2_", None))
        self.assertEqual(json.loads(row["document"])["@parameters"], {})

    def test_a_run_without_an_indicator_is_no_result(self):
        self.run_command("sh", "-c", "exit 0")
        self.run_command("sh", "-c", "exit 0", options=("--name", "named"))
        self.run_command("sh", "-c", "exit 0", options=("--repeat", "2", "--collect", "yes"))
        self.assertEqual(self.rows(), [])

    def test_the_output_need_not_be_captured(self):
        done = self.run_command("sh", "-c", PRINT, options=("--repeat", "2", "--collect", "no"))
        self.assertEqual(done.stdout.count(b"@result"), 2)
        self.assertEqual({row["name"] for row in self.rows()}, {"sh"})

    def test_an_invalid_indicator_is_not_replaced(self):
        done = self.run_command("sh", "-c", "echo '{\"@result\": {'", options=("--repeat", "2"))
        self.assertIn(b"an indicator in the output was not submitted", done.stderr)
        self.assertEqual(self.rows(), [])

    def test_a_run_that_prints_no_indicator_after_others_did_is_reported(self):
        path = self.script(f"#!/bin/sh\necho x >> runs\n[ $(wc -l < runs) = 2 ] || {PRINT}\n")
        done = self.run_command(path, options=("--repeat", "3"))
        self.assertIn(b"no indicator submitted", done.stderr)
        self.assertEqual({row["name"] for row in self.rows()}, {"PiTest"})

    def test_failed_runs_are_no_results_but_counted(self):
        path = self.script("#!/bin/sh\necho x >> runs\n[ $(wc -l < runs) != 1 ] || exit 4\n")
        done = self.run_command(path, options=("--repeat", "3"), status=4)
        rows = sorted(self.rows(), key=lambda row: row["index"])
        self.assertEqual([(row["name"], row["exit_status"]) for row in rows], [("bench", 4), ("bench", 0), ("bench", 0)])
        self.assertIn(b"2 runs\n", done.stderr)
        component, = self.running.get("/api/v1/indicators").json["indicators"]
        self.assertEqual(component["component"], "command")

    def test_the_statistics_are_exported(self):
        for name, begin in (("x.csv", "indicator,component,result,n,"), ("x.md", "| Indicator |")):
            self.run_command("true", options=("--repeat", "2", "--output", name))
            self.assertTrue((self.directory / name).read_text().startswith(begin))
        self.run_command("true", options=("--repeat", "3", "--output", "x.json"))
        exported = json.loads((self.directory / "x.json").read_text())
        elapsed, = [result for result in exported["results"] if result["result"] == "elapsed"]
        self.assertEqual(elapsed["values"], [json.loads(row["document"])["@result"]["elapsed"] for row in self.rows()[-3:]])
        done = self.run_command("true", options=("--repeat", "2", "--output", "absent/x.csv"), status=1)
        self.assertIn(b"cannot write absent/x.csv: No such file or directory", done.stderr)


if __name__ == "__main__":
    import unittest
    unittest.main()
