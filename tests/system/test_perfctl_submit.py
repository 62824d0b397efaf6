"""Checks perfctl submit and flush: all documents or none, each once, without loss."""

import json
import os
import signal
import socket
import subprocess
import time

from harness import PERFCTL, TestCase, indicator, wait_for


class SubmitTestCase(TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.spool = self.directory / "spool"
        self.absent = self.directory / "absent.sock"

    def perfctl(self, *words, socket=None, stdin="", **environment):
        return subprocess.run([str(PERFCTL), *map(str, words)], input=stdin, text=True, capture_output=True, timeout=60,
                              env={**{k: v for k, v in os.environ.items() if k != "PERFD_JOB"}, "NO_COLOR": "1",
                                   "PERFD_SOCKET": str(socket or self.absent), **environment})

    def submit(self, *words, **more):
        return self.perfctl("submit", "--spool", self.spool, *words, **more)

    def file(self, name, *documents, separator="\n"):
        path = self.directory / name
        path.write_text(separator.join(d if isinstance(d, str) else json.dumps(d) for d in documents))
        return path

    def results(self, daemon, name="demo"):
        results, page = [], ""
        while page is not None:
            answer = daemon.get(f"/api/v1/indicators/{name}/results?limit=1000{page}").json
            results += answer["results"]
            page = answer["next"] and f"&page={answer['next']}"
        return results

    def spooled_files(self):
        return sorted(self.spool.glob("*.jsonl"))

    def spooled(self):
        return [json.loads(line) for path in self.spooled_files() for line in path.read_text().splitlines()]


class Reading(SubmitTestCase):
    def test_files_and_standard_input_in_every_layout(self):
        daemon = self.daemon()
        one = self.file("one.json", json.dumps(indicator(), indent=4))
        lines = self.file("lines.jsonl", indicator(), indicator())
        dense = self.file("dense", indicator(), indicator(), indicator(), separator="")
        result = self.submit(one, lines, "-", dense, "--json", socket=daemon.socket, stdin=json.dumps(indicator()))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout), {"stored": 7, "duplicate": 0, "spooled": 0})
        self.assertEqual(len(self.results(daemon)), 7)

    def test_components_differ_by_more_than_case(self):
        daemon = self.daemon()
        documents = [{**indicator(), "framework": component} for component in ("TensorFlow", "tensorflow", "TENSORFLOW")]
        result = self.submit(self.file("three.jsonl", *documents), socket=daemon.socket)
        self.assertEqual(result.stderr.count("is compared without regard to case"), 1, result.stderr)
        indicator_, = daemon.get("/api/v1/indicators").json["indicators"]
        self.assertEqual((indicator_["component"], indicator_["results"]), ("TensorFlow", 3)) # as the first result wrote it
        self.assertEqual({r["component"] for r in self.results(daemon)}, {"TensorFlow"})
        groups = daemon.get("/api/v1/indicators/demo/query?group_by=component&stat=n:" + next(iter(indicator()["@result"]))).json["groups"]
        self.assertEqual([(group["key"]["component"], group["n"]) for group in groups], [("TensorFlow", 3)])
        for filtered in ("component=tensorFlow", "where=component%3DTensorFlow", "where=component!%3Dtorch"):
            self.assertEqual(len(daemon.get(f"/api/v1/indicators/demo/results?{filtered}").json["results"]), 3, filtered)
        self.assertEqual({r["document"]["framework"] for r in self.results(daemon)}, {"TensorFlow", "tensorflow", "TENSORFLOW"})

    def test_integers_of_64_bits_without_a_sign_are_kept(self):
        daemon = self.daemon()
        numbers = [2**63, 2**64 - 2, 2**64 - 1]
        self.submit(self.file("hashes.jsonl", *({**indicator(), "@parameters": {"hash": n}} for n in numbers)), socket=daemon.socket)
        self.assertEqual(sorted(r["document"]["@parameters"]["hash"] for r in self.results(daemon)), numbers)
        found = daemon.get(f"/api/v1/indicators/demo/results?where=hash%3D{2**64 - 1}").json["results"]
        self.assertEqual([r["document"]["@parameters"]["hash"] for r in found], [2**64 - 1])
        refused = self.submit(socket=daemon.socket, stdin=json.dumps({**indicator(), "hash": 2**64}))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("hash: an integer beyond 64 bits", refused.stderr)

    def test_the_number_of_keys_is_a_setting(self):
        many = {**indicator(), "@result": {f"b{i}": {"values": [i, i + 0.5]} for i in range(10_000)}}
        self.assertEqual(self.submit(socket=self.daemon().socket, stdin=json.dumps(many)).returncode, 0)
        refused = self.submit(socket=self.daemon("[limits]\ndocument_keys = 20000\n").socket, stdin=json.dumps(many))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("has more than 20000 keys in all", refused.stderr)

    def test_standard_input_is_the_default(self):
        daemon = self.daemon()
        result = self.submit(socket=daemon.socket, stdin=json.dumps(indicator()))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "1 stored\n", ""))

    def test_the_stored_document_equals_the_printed_one(self):
        daemon = self.daemon()
        document = indicator(rate=0.1, text="ü \"quoted\" \\ \n", big=2 ** 63 - 1, small=-2 ** 63, tiny=5e-324,
                             deep={"a": [1, 2.5, None, True, {}]})
        self.assertEqual(self.submit(socket=daemon.socket, stdin=json.dumps(document)).returncode, 0)
        self.assertEqual(self.results(daemon)[0]["document"], document)

    def test_the_job_is_given_or_found(self):
        daemon = self.daemon()
        text = json.dumps(indicator())
        self.submit(socket=daemon.socket, stdin=text, PERFD_JOB="from-environment")
        self.submit("--job", "given", socket=daemon.socket, stdin=text, PERFD_JOB="from-environment")
        self.assertEqual({r["job"] for r in self.results(daemon)}, {"from-environment", "given"})

    def test_an_invalid_job_id_is_a_usage_error(self):
        result = self.submit(stdin=json.dumps(indicator()), PERFD_JOB="a/b")
        self.assertEqual(result.returncode, 2)
        self.assertIn("$PERFD_JOB", result.stderr)


class Checking(SubmitTestCase):
    def refused(self, *words, socket, stdin=""):
        result = self.submit(*words, socket=socket, stdin=stdin)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        return result.stderr

    def test_with_an_invalid_document_nothing_is_sent(self):
        daemon = self.daemon()
        bad = indicator()
        del bad["@result"]
        good, mixed = self.file("good.json", indicator()), self.file("mixed.json", indicator(), bad)
        err = self.refused(good, mixed, socket=daemon.socket)
        self.assertIn("mixed.json:2: @result: ", err)
        self.assertIn("nothing was sent", err)
        self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"], [])
        self.assertEqual(self.spooled(), [])

    def test_a_syntax_error_has_line_and_column(self):
        path = self.file("result.json", '{"name": "x",\n "@result": }\n')
        err = self.refused(path, socket=self.absent)
        self.assertRegex(err, r"result\.json:2:1\d: ")

    def test_a_syntax_error_in_a_later_document_has_its_line_in_the_file(self):
        path = self.file("result.json", indicator(), indicator(), '  {"name" "x"}')
        self.assertRegex(self.refused(path, socket=self.absent), r"result\.json:3:\d+: ")

    def test_all_documents_are_complained_about_at_once(self):
        a, b = self.file("a.json", "\n\n{}"), self.file("b.json", "[{}]", "{} 4")
        err = self.refused(a, b, "-", socket=self.absent, stdin="[]")
        for words in ("a.json:3: ", "b.json:1: [0].@parameters: ", "b.json:2: @parameters: ", "b.json:2:4: ", "standard input:1: "):
            self.assertIn(words, err)

    def test_the_words_are_perfds(self):
        daemon = self.daemon()
        document = indicator()
        document["@result"]["n"] = 1
        with daemon.client() as client:
            reply = client.submit(document)
        self.assert_status(reply, "INVALID")
        self.assertIn(reply.message, self.refused(socket=daemon.socket, stdin=json.dumps(document)))

    def test_files_that_cannot_be_read_are_named(self):
        err = self.refused(self.directory / "absent.json", self.directory, socket=self.absent)
        self.assertIn("absent.json: No such file or directory", err)
        self.assertIn(": Is a directory", err)

    def test_an_empty_file_is_no_result(self):
        self.assertIn("standard input:1: no document", self.refused(socket=self.absent))

    def test_control_characters_of_a_document_do_not_reach_the_terminal(self):
        err = self.refused(socket=self.absent, stdin='{"name": "\\u001b[2J", "component": "c", "@parameters": {}, "@result": {}}')
        self.assertNotIn("\x1b", err)


class Sending(SubmitTestCase):
    def test_many_documents_are_one_request(self):
        daemon = self.daemon()
        before = daemon.wait_tick()
        path = self.file("many", *[indicator(rate=float(i)) for i in range(200)])
        result = self.submit(path, socket=daemon.socket)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "200 stored\n", ""))
        after = daemon.wait_tick()
        ok = 'perfd_requests_total{status="OK"}'
        found = [key for key in after if key.startswith("perfd_requests_total{") and '"ok"' in key.lower()]
        self.assertEqual(len(found), 1, f"{ok} among {[k for k in after if 'requests' in k]}")
        self.assertEqual(after[found[0]] - before.get(found[0], 0), 2, "the question how large a request may be, and one request")

    def test_results_beyond_a_frame_take_several_requests(self):
        daemon = self.daemon()
        path = self.file("large", *[indicator(rate=float(i), text="x" * 60000) for i in range(40)])
        result = self.submit(path, "--json", socket=daemon.socket)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["stored"], 40)
        self.assertRegex(result.stderr, r"sent \d+ requests")
        self.assertEqual(len(self.results(daemon)), 40)

    def test_small_frames_are_found_out_about(self):
        daemon = self.daemon("[limits]\nframe_size = 4K\nstring_size = 2K\n")
        result = self.submit(self.file("many", *[indicator(rate=float(i)) for i in range(200)]), "--json", socket=daemon.socket)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["stored"], 200)

    def test_a_document_that_no_frame_holds_is_named_before_anything_is_sent(self):
        daemon = self.daemon("[limits]\nframe_size = 64K\n")
        large = indicator(**{f"k{i}": "x" * 60000 for i in range(3)})
        others = [indicator(text="x" * 30000) for _ in range(5)]  # more than one frame can hold
        result = self.submit(self.file("large", *others, large), socket=daemon.socket)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"large:6: has \d+ bytes as a request, the limit is 65536: ")
        self.assertEqual(self.results(daemon), [])
        self.assertEqual(self.spooled(), [])

    def test_refusals_of_perfd_have_a_line(self):
        daemon = self.daemon("[limits]\nstring_size = 1K\n")
        path = self.file("long.json", indicator(), indicator(text="x" * 2000))
        result = self.submit(path, socket=daemon.socket)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"long\.json:2: text: ")
        self.assertEqual(self.results(daemon), [])

    def test_a_result_that_is_sent_again_is_stored_once(self):
        daemon = self.daemon()
        self.submit(stdin=json.dumps(indicator()), socket=self.absent)
        kept, = self.spooled_files()
        copy = kept.read_bytes()
        self.assertEqual(json.loads(self.flush(daemon).stdout)["stored"], 1)
        kept.write_bytes(copy)
        self.assertEqual(json.loads(self.flush(daemon).stdout)["duplicate"], 1)
        self.assertEqual(len(self.results(daemon)), 1)

    def flush(self, daemon):
        return self.perfctl("flush", "--spool", self.spool, "--json", socket=daemon.socket)

    def test_a_refusal_of_perfd_is_a_failure_and_not_spooled(self):
        daemon = self.daemon()
        if os.getuid() != 0:
            self.skipTest("needs root, to act as several users")
        with daemon.client() as client:
            self.assert_status(client.begin("theirs"), "OK")
        os.chmod(daemon.directory, 0o755)
        os.chmod(daemon.socket, 0o777)
        result = subprocess.run([self.for_others(), "submit", "--job", "theirs", "--spool", str(self.directory / "absent")],
                                input=json.dumps(indicator()), text=True, capture_output=True, timeout=60, user=65534, group=65534, cwd="/",
                                env={"PERFD_SOCKET": str(daemon.socket), "PATH": os.environ["PATH"]})
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("belongs to another user", result.stderr)

    def test_a_socket_that_is_forbidden_is_unreachable_at_once(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to act as several users")
        daemon = self.daemon()
        os.chmod(daemon.socket, 0o700)
        os.chmod(daemon.directory, 0o755)
        begin = time.monotonic()
        result = subprocess.run([self.for_others(), "submit", "--timeout", "30"], input=json.dumps(indicator()), text=True,
                                capture_output=True, timeout=60, user=65534, group=65534, cwd="/",
                                env={"PERFD_SOCKET": str(daemon.socket), "HOME": "/nonexistent"})
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("Permission denied", result.stderr)
        self.assertLess(time.monotonic() - begin, 15)


class Away(SubmitTestCase):
    """Tests while perfd is down, stopped or refuses documents."""

    def test_unsent_results_are_spooled_with_a_message(self):
        begin = time.time()
        result = self.submit("--timeout", "0.1", "--job", "j", "--json", stdin=json.dumps(indicator()))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout), {"stored": 0, "duplicate": 0, "spooled": 1})
        self.assertIn("not running", result.stderr)
        self.assertIn(str(self.spool), result.stderr)
        record, = self.spooled()
        self.assertEqual((record["kind"], record["job"], record["document"]), ("indicator", "j", indicator()))
        self.assertRegex(record["id"], "^[0-9a-f]{32}$")
        self.assertGreaterEqual(record["time_ms"], int(begin * 1000) - 1)
        path, = self.spooled_files()
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_the_next_submit_sends_the_spool_with_the_original_times(self):
        self.submit("--timeout", "0", stdin=json.dumps(indicator("early")))
        measured = self.spooled()[0]["time_ms"]
        daemon = self.daemon()
        result = self.submit(socket=daemon.socket, stdin=json.dumps(indicator("late")))
        self.assertEqual((result.returncode, result.stdout), (0, "1 stored\n"))
        self.assertIn("also sent from the spool: 1 results", result.stderr)
        self.assertEqual([r["time_ms"] for r in self.results(daemon, "early")], [measured])
        self.assertEqual(self.spooled(), [])

    def test_submit_waits_for_perfd_until_the_timeout(self):
        process = subprocess.Popen([str(PERFCTL), "submit", "--timeout", "30", "--socket", str(self.absent), "--spool", str(self.spool)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdin.write(json.dumps(indicator()))
        process.stdin.close()
        daemon = self.daemon()
        self.absent.symlink_to(daemon.socket)
        self.assertEqual(process.wait(40), 0)
        self.assertEqual(process.stdout.read(), "1 stored\n")
        process.stdout.close()
        process.stderr.close()

    def test_a_stopped_perfd_is_waited_for_no_longer_than_the_timeout(self):
        daemon = self.daemon()
        daemon.signal(signal.SIGSTOP)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        begin = time.monotonic()
        result = self.submit("--timeout", "0.3", socket=daemon.socket, stdin=json.dumps(indicator()))
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual((result.returncode, len(self.spooled())), (0, 1))
        # perfd receives the same document from its socket and from the spool.
        daemon.signal(signal.SIGCONT)
        self.assertEqual(self.perfctl("flush", "--spool", self.spool, socket=daemon.socket).returncode, 0)
        self.assertEqual(len(self.results(daemon)), 1)

    def test_a_spool_that_cannot_be_written_fails(self):
        self.spool.write_text("a file")
        result = self.submit("--timeout", "0", stdin=json.dumps(indicator()))
        self.assertEqual(result.returncode, 3)
        self.assertIn("cannot keep the results", result.stderr)

    def test_the_spool_is_in_the_state_directory_of_the_host(self):
        user = {"user": 65534, "group": 65534} if os.getuid() == 0 else {}  # root has another spool
        os.chmod(self.directory, 0o777)
        result = subprocess.run([self.for_others(), "submit", "--timeout", "0", "--socket", str(self.absent)],
                                input=json.dumps(indicator()), text=True, capture_output=True, timeout=60, cwd="/",
                                env={"XDG_STATE_HOME": str(self.directory)}, **user)
        self.assertEqual(result.returncode, 0, result.stderr)
        spool = self.directory / "perfd" / "spool" / socket.gethostname()
        self.assertEqual(len(list(spool.glob("*.jsonl"))), 1)
        self.assertEqual(spool.stat().st_mode & 0o777, 0o700)


class Flushing(SubmitTestCase):
    def keep(self, n=1, name="demo"):
        for i in range(n):
            self.assertEqual(self.submit("--timeout", "0", stdin=json.dumps(indicator(name, rate=float(i)))).returncode, 0)

    def flush(self, *words, **more):
        return self.perfctl("flush", "--spool", self.spool, *words, **more)

    def test_an_empty_spool_is_fine(self):
        result = self.flush()
        self.assertEqual((result.returncode, result.stdout), (0, "spool is empty\n"))

    def test_without_perfd_the_spool_is_unchanged(self):
        self.keep(3)
        result = self.flush("--timeout", "0.1", "--json")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(json.loads(result.stdout)["left"], 3)
        self.assertEqual(len(self.spooled()), 3)

    def test_refused_files_are_moved_and_the_others_are_sent(self):
        self.keep(3)
        first, second, third = self.spooled_files()
        second.write_text("no JSON\n")
        daemon = self.daemon()
        result = self.flush("--json", socket=daemon.socket)
        self.assertEqual(result.returncode, 1)
        counts = json.loads(result.stdout)
        self.assertEqual((counts["stored"], counts["rejected"], counts["left"]), (2, 1, 0))
        self.assertEqual((self.spool / "rejected" / second.name).read_text(), "no JSON\n")
        self.assertTrue((self.spool / "rejected" / f"{second.name}.reason").read_text())
        self.assertIn("rejected", result.stderr)

    def test_concurrent_flushes_lose_nothing_and_store_nothing_twice(self):
        self.keep(40)
        daemon = self.daemon()
        flushes = [subprocess.Popen([str(PERFCTL), "flush", "--spool", str(self.spool), "--socket", str(daemon.socket)],
                                    stdout=subprocess.DEVNULL) for _ in range(4)]
        for process in flushes:
            self.assertEqual(process.wait(60), 0)
        self.assertEqual(self.spooled(), [])
        self.assertEqual(sorted(r["document"]["@result"]["rate"] for r in self.results(daemon)), [float(i) for i in range(40)])

    def test_the_spool_is_sent_in_order_of_time(self):
        self.keep(5)
        self.assertEqual([r["document"]["@result"]["rate"] for r in self.spooled()], [0.0, 1.0, 2.0, 3.0, 4.0])
        times = [r["time_ms"] for r in self.spooled()]
        self.assertEqual(times, sorted(times))
