"""Checks perfctl compare: two commands in pairs, until a verdict is clear."""

import json
import os
import signal
import subprocess

from harness import PERFCTL, TIMEOUT_S, TestCase, wait_for

# Different work by a factor of ten, which no noise of a machine hides. CPU time is judged where the machine may be busy.
LITTLE, MUCH = (f"i=0; while [ $i -lt {n} ]; do i=$((i+1)); done" for n in (20_000, 200_000))


def printing(rate):
    return "echo '" + json.dumps({"name": "Copy", "component": "shell", "@parameters": {}, "@result": {"rate": rate}}) + "'"


class Compare(TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.environment = {**os.environ, "PERFD_SOCKET": str(self.directory / "none.sock"), "PERFD_SPOOL": str(self.directory / "spool")}

    def with_daemon(self):
        running = self.daemon()
        self.environment["PERFD_SOCKET"] = str(running.socket)
        return running

    def compare(self, *words, status=0):
        done = subprocess.run([PERFCTL, "compare", *map(str, words)], env=self.environment, cwd=self.directory, text=True,
                              timeout=10 * TIMEOUT_S, capture_output=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def ask(self, *words, status=0):
        return json.loads(self.compare("--json", *words, status=status).stdout)


class Verdicts(Compare):
    def test_more_work_is_found_and_fails_a_pipeline(self):
        answer = self.ask("--objective", "CPU time", "--fail-on", "worse", LITTLE, MUCH, status=4)
        row = answer["rows"][0]
        self.assertEqual((answer["verdict"], row["name"], row["unit"]), ("more", "CPU time", "s"), answer)
        self.assertTrue(0 < row["low"] <= row["change"] <= row["high"], row)
        self.assertEqual(self.ask("--objective", "CPU time", "--fail-on", "worse", MUCH, LITTLE)["verdict"], "less")
        self.compare("--objective", "CPU time", "--fail-on", "worse", "--direction", "higher", LITTLE, MUCH, status=4)

    def test_words_after_dashes_are_no_shell_and_the_screen_has_a_sentence(self):
        text = self.compare("--objective", "memory", "--", "sh", "-c", "exit $#", "--", "sh", "-c", ":").stdout
        self.assertRegex(text, r"(?m)^A: sh -c 'exit \$#'\nB: sh -c :\n\nMEDIAN +A +B  B AGAINST A\npeak memory ")
        self.assertRegex(text, r"(?m)^peak memory of B against A: .*after \d+ pairs")
        self.assertRegex(text, r"(?m)^wall time ")
        self.assertIn("without perfd: ", text)

    def test_numbers_that_the_commands_print_are_judged(self):
        words = ("--objective", "rate", printing(5), printing(10))
        answer = self.ask(*words)
        self.assertEqual((answer["rows"][0]["name"], answer["verdict"], answer["rows"][0]["a"]), ("Copy rate", "more", 5.0))
        self.assertAlmostEqual(answer["rows"][0]["change"], 1)
        self.assertIn("'Copy rate' are better? Use --direction", self.compare("--fail-on", "worse", *words, status=2).stderr)
        self.compare("--fail-on", "worse", "--direction", "lower", *words, status=4)
        self.compare("--fail-on", "worse", "--direction", "higher", *words)
        refused = self.compare("--pairs", 1, "--objective", "x", "true", "true", status=2).stderr
        self.assertIn("only: wall time, CPU time, peak memory", refused)

    def test_a_number_that_one_command_does_not_print_is_named(self):
        text = self.compare("--pairs", 3, "--objective", "rate", printing(5), "true").stdout
        self.assertRegex(text, r"(?m)^Copy rate +- +- +unknown$")
        self.assertRegex(text, r"(?m)^B has no Copy rate in (\d) of \1 runs$")
        self.assertNotIn("A has no", text)
        refused = self.compare("--pairs", 1, "--objective", "rate", "echo '{\"@result\": {\"rate\": 1}}'", "true", status=2).stderr
        self.assertIn("perfctl run says why", refused)

    def test_few_pairs_are_unknown_and_the_floor_is_a_against_a(self):
        answer = self.ask("--pairs", 2, "--floor", "--fail-on", "no-verdict", "true", "true", status=5)
        self.assertEqual((answer["verdict"], answer["rows"][0]["pairs"]), ("unknown", 2))
        self.assertIn("noise floor, A against A: unknown", answer["remarks"])
        self.assertIn("a verdict needs at least 10 pairs", answer["remarks"])

    def test_each_run_is_prepared_and_all_runs_see_the_same(self):
        record = "echo $0 $PWD $(taskset -cp $$ 2>&1 | sed 's/.*: //') $(cat | wc -c) >> log"
        self.compare("--pairs", 3, "--warmup", 1, "--prepare", "echo prepared >> log", record, record)
        lines = (self.directory / "log").read_text().splitlines()
        self.assertEqual(lines[0::2], ["prepared"] * 8)
        self.assertEqual(len(set(lines[1::2])), 1, lines)

    def test_order_is_a_coin(self):
        self.compare("--pairs", 30, "--warmup", 0, "--objective", "bytes read", "--within", 0,
                     f"echo A >> log; {printing(1)}", f"echo B >> log; {printing(1)}")
        letters = (self.directory / "log").read_text().split()
        pairs = {"".join(letters[i:i + 2]) for i in range(0, len(letters), 2)}
        self.assertEqual(pairs, {"AB", "BA"})


class Trouble(Compare):
    def test_a_command_that_fails_stops_after_three(self):
        done = self.compare("true", "echo cannot >&2; exit 3", status=1)
        self.assertIn("B failed 3 times in a row, the last time with status 3: cannot", done.stderr)
        self.assertIn("status 4\n", self.compare("true", "exit 4", status=1).stderr)
        self.assertIn("A cannot be run: No such file", self.compare("--", "/no/such", "--", "true", status=1).stderr)
        self.assertIn("--prepare failed with status 7", self.compare("--prepare", "exit 7", "true", "true", status=1).stderr)

    def test_a_run_that_fails_leaves_its_pair_out(self):
        answer = self.ask("--pairs", 4, "--warmup", 0, "true", "echo >> n; test $(wc -l < n) -ne 2")
        self.assertEqual((answer["rows"][0]["pairs"], answer["failed"]), (4, 1), answer)
        self.assertTrue(any("1 failed" in remark for remark in answer["remarks"]), answer)

    def test_a_command_that_hangs_is_terminated_with_all_it_started(self):
        done = self.compare("--timeout", "1s", "true", "echo $$ > pid; sleep 1000 & trap : TERM; wait; sleep 1000", status=1)
        self.assertIn("B did not end within --timeout, 3 times in a row", done.stderr)
        pid = int((self.directory / "pid").read_text())
        wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the command")
        late = self.compare("--timeout", "1s", "--prepare", "sleep 1000", "true", "true", status=1).stderr
        self.assertIn("the command of --prepare did not end within --timeout", late)

    def test_processes_that_a_command_leaves_are_told(self):
        text = self.compare("--pairs", 2, "--warmup", 0, "true", "sleep 60 & echo $! >> pids").stdout
        for pid in (self.directory / "pids").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        self.assertIn("2 runs of B left processes running, which may delay later runs", text)

    def test_ctrl_c_shows_what_is_known(self):
        words = ("--warmup", "0", "--pairs", "1000", "--within", "0", "echo >> n", "sleep 0.01; echo >> n")
        process = subprocess.Popen([PERFCTL, "compare", *words],
                                   env=self.environment, cwd=self.directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        log = self.directory / "n"
        wait_for(lambda: log.exists() and len(log.read_text()) >= 6, "three pairs")
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(text, r"(?m)^(wall time of B against A: unknown|B is ).*after \d+ pairs")

    def test_bad_command_lines_are_refused(self):
        for words, message in (((), "expected two commands"), (("true",), "expected two commands"),
                               (("a", "b", "c"), "expected two commands"), (("--", "a", "b"), "expected two commands"),
                               (("--", "a", "--"), "expected two commands"), (("--", "", "--", "b"), "expected two commands"),
                               (("", "b"), "expected two commands"), (("a", " "), "expected two commands"),
                               (("--timeout", 0, "a", "b"), "a time of at least 1ms"),
                               (("--pairs", 0, "a", "b"), "--pairs expects"), (("--within", "x", "a", "b"), "--within expects"),
                               (("--fail-on", "better", "a", "b"), "--fail-on expects"),
                               (("--runs", "a", "--floor", "b"), "--floor runs commands")):
            with self.subTest(words=words):
                self.assertIn(message, self.compare(*words, status=2).stderr)


class Stored(Compare):
    def test_each_run_is_a_job_and_its_batches_are_compared_again(self):
        running = self.with_daemon()
        answer = self.ask("--pairs", 12, "--objective", "rate", "--within", 0, printing(5), printing(10))
        self.assertEqual(answer["verdict"], "more")
        self.assertFalse(any("without perfd" in remark for remark in answer["remarks"]), answer)
        jobs = running.get("/api/v1/jobs?label=side%3DA").json["jobs"]
        self.assertGreaterEqual(len(jobs), answer["rows"][0]["pairs"])
        again = self.ask("--objective", "rate", "--runs", answer["batch_a"], answer["batch_b"])
        self.assertEqual((again["verdict"], again["rows"][0]["change"]), ("more", answer["rows"][0]["change"]))
        self.assertGreaterEqual(again["rows"][0]["pairs"], answer["rows"][0]["pairs"])
        self.assertIn("wall time", [row["name"] for row in again["rows"]])
        self.compare("--runs", "0" * 32, answer["batch_b"], status=1)

    def test_files_of_runs_are_compared(self):
        for name, command in (("a.json", LITTLE), ("b.json", MUCH)):
            subprocess.run([PERFCTL, "run", "--quiet", "--repeat", "12", "--output", name, "--", "sh", "-c", command], check=True,
                           env=self.environment, cwd=self.directory, timeout=10 * TIMEOUT_S, capture_output=True)
        answer = self.ask("--objective", "cpu time", "--runs", "a.json", "b.json")
        self.assertEqual((answer["verdict"], answer["rows"][0]["pairs"]), ("more", 12))
        (self.directory / "c.json").write_text("{}")
        self.assertIn("c.json has no runs", self.compare("--runs", "a.json", "c.json", status=1).stderr)
        self.assertIn("d.json", self.compare("--runs", "a.json", "d.json", status=1).stderr)

    def test_perfd_that_goes_away_ends_no_comparison(self):
        running = self.with_daemon()
        command = f"test -e killed || kill -9 {running.process.pid}; touch killed"
        answer = self.ask("--pairs", 3, "true", command)
        self.assertEqual(answer["rows"][0]["pairs"], 3)


if __name__ == "__main__":
    import unittest
    unittest.main()
