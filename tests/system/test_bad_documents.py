"""Checks that invalid documents are refused, with the message of each rule, and that perfd continues."""

import json
import math
import os
import subprocess
import unittest

import harness

GOOD = {"name": "PiMatmul", "component": "numpy", "@parameters": {"n": 512}, "@result": {"seconds": 1.25}}


def with_result(text):
    return '{"name": "M", "component": "c", "@parameters": {}, "@result": {"x": %s}}' % text


def nested(depth):
    return "[" * depth + "]" * depth


# A document, and the error message of perfctl after the file name.
CASES = (
    ("nothing", "", ":1: no document"),
    ("no JSON", "elapsed 3.5", ":1:"),
    ("a list", "[1]", ":1: no document: no line begins with a JSON object, or a list of some"),
    ("no parameters", '{"name": "M", "component": "c", "@result": {"x": 1}}', ":1: @parameters: missing: a script prints"),
    ("no result", '{"name": "M", "component": "c", "@parameters": {}}', ":1: @result: missing: a script prints"),
    ("an empty result", '{"name": "M", "component": "c", "@parameters": {}, "@result": {}}', ":1: @result: is empty: put at least one"),
    ("a result that is a number", '{"name": "M", "component": "c", "@parameters": {}, "@result": 3}',
     ":1: @result: is an integer, must be an object"),
    ("no name", '{"component": "c", "@parameters": {}, "@result": {"x": 1}}', ":1: name: missing: say what was measured"),
    ("a hostile name", '{"name": "../x; DROP", "component": "c", "@parameters": {}, "@result": {"x": 1}}',
     ":1: name: '../x; DROP' must be"),
    ("no component", '{"name": "M", "@parameters": {}, "@result": {"x": 1}}', ":1: component: missing: name the software"),
    ("two components", '{"name": "M", "component": "c", "framework": "d", "@parameters": {}, "@result": {"x": 1}}',
     ":1: framework: 'd' differs from component 'c': give one of them"),
    ("a score that is a word", '{"name": "M", "component": "c", "@parameters": {}, "@result": {"x": 1}, "overall_score": "high"}',
     ":1: overall_score: is a string, must be a number, null, or left out"),
    ("a version that is a number", '{"name": "M", "component": "c", "@parameters": {}, "@result": {"x": 1}, "version": 2}',
     ":1: version: is an integer, must be a string"),
    ("a collision", '{"name": "M", "component": "c", "@parameters": {"x": 1}, "@result": {"x": 1}}',
     ":1: @result.x: collision: 'x' is in @parameters as well; rename one of them"),
    ("a key that is given twice", with_result('1, "x": 2'),
     ":1:63: @result.x: is given twice in this object: rename or remove one"),
    ("a NUL", with_result('"a\\u0000b"'), "strings may not contain \\u0000: remove it"),
    ("a NUL in a key", with_result('1, "a\\u0000": 2'), "\\u0000: remove it"),
    ("an integer list item", "[%s, 5]" % with_result("1"), ":1: [1]: is an integer, must be an object"),
    ("a word in a list", "[[%s], [{}, {}]]" % with_result("1"), ":1: [1][0].@parameters: missing"),
    ("beyond 64 bits", with_result("18446744073709551616"), "an integer beyond 64 bits: print it with a decimal point, or as a string"),
    ("below 64 bits", with_result("-9223372036854775809"), "an integer beyond 64 bits"),
    ("beyond doubles", with_result("1e400"), "a number beyond 1.7976931348623157e308"),
    ("200 levels", with_result(nested(200)), "nested deeper than 32"),
    ("a million levels", with_result("[" * 1000000), "nested deeper than 32 levels: make it flatter"),
    ("70,000 keys", json.dumps({**GOOD, "@result": {f"k{i}": i for i in range(70000)}}), ":1: document: has more than 65536 keys in all"),
    ("a long string", with_result(json.dumps("x" * 65537)),
     ":1: @result.x: has 65537 bytes, more than the 65536 that a string may have: shorten or split it"),
    ("10 MB", json.dumps({**GOOD, "log": ["x" * 60000] * 170}), ":1: has 10"),
    ("half a surrogate pair", with_result('"\\ud800"'), ":1:71: @result.x: unpaired surrogate: write both escapes"),
    ("no digit before the point", with_result(".5"), "a number begins with a digit, as in 0.5"),
    ("a plus", with_result("+1"), "a number begins with a digit or -"),
    ("a leading zero", with_result("01"), "a number has no leading zeros"),
    ("Python's words", with_result("True"), "expected a value: JSON writes true"),
    ("Python's repr", "{'name': 'M'}", "JSON has \"double quotes\", as Python's json.dumps() writes them"),
    ("a word that begins as nan does", with_result("nano"), "expected ',' or '}'"),
    ("a stray backslash", with_result(r'"C:\x"'), "write a backslash as two"),
    ("a control character", with_result('"\x1b[2J"'), "control character in a string: write it as an escape such as \\n or \\u001b"),
    ("a comma too many", with_result("[1,]"), ":1:72: @result.x[1]: expected a value: remove the comma before it"),
    ("a comment", '{"name": "M", // mine\n"component": "c"}', ":1:15: expected a key in double quotes: JSON has no comments, remove it"),
    ("a comma too few", '{"name": "M" "component": "c"}', "a comma is missing before it"),
    ("truncated", with_result("1")[:-2], "the text is truncated"),
    ("cut off in a string", '{"name": "M', "the text is truncated"),
    ("bad UTF-8", with_result('"\udcff"'), ":1:70: @result.x: not UTF-8: save the file as UTF-8"),
    ("UTF-16", with_result("1").encode("utf-16").decode("utf-8", "surrogateescape"), ":1: is UTF-16 or UTF-32: save it as UTF-8"),
    ("UTF-32 without a mark", "\0\0\0{\0\0\0}", ":1: is UTF-16 or UTF-32: save it as UTF-8"),
    ("only text", "no result\n[today] at all\n", ":1: no document: no line begins with a JSON object"),
    ("text behind it", with_result("1") + " done", ":1:73: expected a value: an object"),
    ("an empty key", with_result('{"": 1}'), ":1: @result.x: member 1 has an empty key: give it a name"),
    ("a long key", with_result('{"%s": 1}' % ("k" * 257)), ":1: @result.x: the key of member 1 is longer than 256 bytes: shorten it"),
    ("an escape in a name", '{"name": "M\\u001b[2J", "component": "c", "@parameters": {}, "@result": {"x": 1}}',
     ":1: name: 'M\\x1b[2J' must be"),
    ("a name from right to left", '{"name": "M", "component": "c", "framework": "\u202ed", "@parameters": {}, "@result": {"x": 1}}',
     ":1: framework: '\\u{202e}d' differs from component 'c'"),
    ("a name that is null", '{"name": null, "component": "c", "@parameters": {}, "@result": {"x": 1}}',
     ":1: name: is null, must be a string"),
    ("an empty name", '{"name": "", "component": "c", "@parameters": {}, "@result": {"x": 1}}', ":1: name: '' must be 1 to 128"),
    ("an empty component", '{"name": "M", "component": "", "@parameters": {}, "@result": {"x": 1}}',
     ":1: component: must have 1 to 256 bytes"),
    ("a long component", json.dumps({**GOOD, "component": "c" * 257}), ":1: component: must have 1 to 256 bytes"),
    ("a long name", json.dumps({**GOOD, "name": "n" * 129}), "must be 1 to 128 letters"),
    ("a NUL behind it", with_result("1") + "\0", ":1:72:"),
)


class Words(harness.TestCase):
    def test_each_rule_reports_the_position_and_a_fix(self):
        daemon = self.daemon()
        path = self.temporary_directory() / "result.json"
        for what, text, words in CASES:
            with self.subTest(what):
                path.write_bytes(text.encode(errors="surrogateescape"))
                done = daemon.perfctl("submit", path)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                line = done.stderr.splitlines()[0]
                self.assertTrue(line.startswith(f"perfctl: {path}:1:"), line[:300])
                self.assertIn(words, line)
                self.assertLess(len(line), 600)
        self.assertEqual(daemon.get("/api/v1/results").json["results"], [])
        self.assertEqual(daemon.perfctl("submit", "-", stdin=json.dumps(GOOD)).returncode, 0)

    def test_hostile_keys_and_numbers_at_the_edge_are_data(self):
        daemon = self.daemon()
        parameters = {"'; DROP TABLE result; --": 1, "n\x1b[2J": "\u202e"}
        result = {"'; DROP TABLE point; --": 1, "../../etc/passwd": 2, "__proto__": {"constructor": 1}, "a": 1, "A": 2,
                  "x\x1b[2J": "\x1b[31m",
                  "\u202e": 5e-324, "zero": -0.0, "big": 1.7976931348623157e308, "max": 2**63 - 1, "min": -2**63, "\U0001f600": "\x7f\x85"}
        text = json.dumps({**GOOD, "version": "1\x1b[2J\n\u202e", "component": "c\x1b[2J", "@parameters": parameters,
                           "@result": result}).replace(", ", ",\r\n")
        self.assertEqual(daemon.perfctl("submit", "-", stdin=text).returncode, 0)
        row = daemon.get("/api/v1/results").json["results"][0]
        self.assertEqual(row["document"]["@result"], result)
        self.assertEqual(math.copysign(1, row["document"]["@result"]["zero"]), -1)
        for words in (("list",), ("show", "PiMatmul"), ("show", "PiMatmul", "--json"),
                      ("query", "PiMatmul", "--by", "component,version"),
                      ("query", "PiMatmul", "--stat", "median:\u202e"), ("query", "PiMatmul", "--where", "'; DROP TABLE result; --=1")):
            done = daemon.perfctl("indicator", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            for c in "\x1b\u202e\x85\x7f":
                self.assertNotIn(c, done.stdout + done.stderr, words)
        self.assertEqual(len(daemon.get("/api/v1/results").json["results"]), 1)

    def test_csv_and_metrics_escape_what_moves_a_cursor(self):
        daemon = self.daemon()
        self.assertEqual(daemon.perfctl("submit", "-", stdin=json.dumps({**GOOD, "component": "a\x1b[2jb\u202e"})).returncode, 0)
        words = ("indicator", "query", "PiMatmul", "--by", "component", "--format", "csv")
        self.assertEqual(daemon.perfctl(*words).stdout, "component,n,n_failed\na\\x1b[2jb\\u{202e},1,0\n")
        daemon.wait_tick()
        metrics = daemon.get("/metrics").text
        self.assertIn('component="a\\\\x1b[2jb\\\\u{202e}"', metrics)
        for c in "\x1b\u202e":
            self.assertNotIn(c, metrics)
        reading, terminal = os.openpty()
        self.addCleanup(os.close, reading)
        done = subprocess.run([harness.PERFCTL, *words], stdout=terminal, env={**os.environ, "PERFD_SOCKET": str(daemon.socket)})
        os.close(terminal)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(os.read(reading, 4096), b"component,n,n_failed\r\r\na\\x1b[2jb\\u{202e},1,0\r\r\n")

    def test_invalid_utf8_is_reported(self):
        daemon = self.daemon()
        path = self.temporary_directory() / "result.json"
        path.write_bytes(with_result('"caf\xe9"').encode("latin-1"))
        done = daemon.perfctl("submit", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not UTF-8: save the file as UTF-8", done.stderr)

    def test_integers_keep_all_64_bits(self):
        daemon = self.daemon()
        values = [2**63 - 1, -2**63, 2**53 + 1, 0, -1]
        self.assertEqual(daemon.perfctl("submit", "-", stdin=json.dumps({**GOOD, "@result": {"x": values, "y": 1}})).returncode, 0)
        self.assertEqual(daemon.get("/api/v1/results").json["results"][0]["document"]["@result"]["x"], values)

    def test_null_overall_score_and_nested_results_are_kept(self):
        daemon = self.daemon()
        document = {**GOOD, "overall_score": None, "@result": {"suite": {"runs": [{"ms": [1, 2.5, None]}]}},
                    "tensorflow_buildinfo": {"a": "b"}}
        self.assertEqual(daemon.perfctl("submit", "-", stdin=json.dumps(document)).returncode, 0)
        row = daemon.get("/api/v1/results").json["results"][0]
        self.assertEqual(row["document"], document)
        self.assertIsNone(row["score"])


class Printed(harness.TestCase):
    """Invalid output of a script: perfctl run forwards the output and reports the error."""

    CASES = (
        ("beyond 64 bits", with_result(2**64), "an integer beyond 64 bits"),
        ("truncated", with_result(1)[:-1], "output:"),
        ("a key that is given twice", with_result('1, "x": 2'), "rename or remove one"),
        ("200 levels", with_result(nested(200)), "nested deeper than 32 levels"),
        ("a hostile name", '{"name": "../x", "component": "c", "@parameters": {}, "@result": {"x": 1}}', "name: '../x' must be 1 to 128"),
        ("a collision", '{"name": "M", "component": "c", "@parameters": {"x": 1}, "@result": {"x": 1}}', "@result.x: collision"),
        ("too much", "x" * 2000000 + "\n" + json.dumps(GOOD), "the output is longer than 1024 KiB"),
    )

    def test_a_malformed_indicator_is_reported(self):
        daemon = self.daemon()
        path = self.temporary_directory() / "printed"
        for what, text, words in self.CASES:
            with self.subTest(what):
                path.write_text(f"begin\n{text}\n")
                done = daemon.perfctl("run", "--", "cat", path)
                self.assertEqual((done.returncode, done.stdout), (0, f"begin\n{text}\n"))
                self.assertIn("submitted: ", done.stderr)
                self.assertIn(words, done.stderr)
        self.assertEqual(daemon.get("/api/v1/results").json["results"], [])

    def test_other_output_is_ignored(self):
        daemon = self.daemon()
        for text in ("not json", "{'loss': 0.5}", "{", "[" * 100000, '{"level": "info"}', "x" * 2000000):
            done = daemon.perfctl("run", "--quiet", "--", "sh", "-c", "cat", stdin=text)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, text, ""), text[:30])

    def test_of_a_failed_run_too(self):
        daemon = self.daemon()
        done = daemon.perfctl("run", "--", "sh", "-c", "cat; exit 3",
                              stdin='{"name": "../x", "component": "c", "@parameters": {}, "@result": {"x": 1}}')
        self.assertEqual(done.returncode, 3)
        self.assertIn("an indicator in the output was not submitted: name: '../x' must be 1 to 128", done.stderr)


class Wire(harness.TestCase):
    """Documents from a client that does not check them: perfd checks them."""

    def test_perfd_checks_each_rule_as_well(self):
        daemon = self.daemon()
        deep = 1
        for _ in range(40):
            deep = {"x": deep}
        cases = (
            ({**GOOD, "@result": {"seconds": math.nan}}, "submit.indicators[0].@result.seconds",
             "is not a number, which JSON cannot express"),
            ({**GOOD, "@result": {"seconds": math.inf}}, "submit.indicators[0].@result.seconds", "is infinite"),
            ({**GOOD, "@result": {"n": 1}}, "submit.indicators[0].@result.n", "collision: 'n' is in @parameters as well"),
            ({**GOOD, "framework": "torch"}, "submit.indicators[0].framework", "'torch' differs from component 'numpy'"),
            ({**GOOD, "@result": {f"{i:x}": 1 for i in range(70000)}}, "submit.indicators[0].document", "has more than 65536 keys in all"),
            ({**GOOD, "@result": {"a\0b": 1}}, None, "strings may not contain \\u0000: remove it"),
            ({**GOOD, "@result": {"x": "a\0b"}}, None, "strings may not contain \\u0000: remove it"),
            ({**GOOD, "@result": {"x": deep}}, None, "nested"),
            ({**GOOD, "name": "x\x1b[2J"}, "submit.indicators[0].name", "must be 1 to 128 letters"),
        )
        with daemon.client() as client:
            for document, path, words in cases:
                with self.subTest(words):
                    reply = client.submit(document)
                    self.assert_status(reply, "INVALID")
                    self.assertEqual(reply.path, path or reply.path)
                    self.assertIn(words, reply.message)
            self.assert_status(client.submit(GOOD), "OK")
        self.assertEqual(len(daemon.get("/api/v1/results").json["results"]), 1)

    def test_invalid_json_is_refused_with_its_position(self):
        daemon = self.daemon()
        cases = (
            (b"{'a': 1}", "at byte 1: expected a key in double quotes"),
            (b'{"a":01}', "at byte 5: a number has no leading zeros"),
            (b'{"a":1,}', "at byte 7: expected a key in double quotes"),
            (b'{"a":"\\ud800"}', "unpaired surrogate"),
            (b'{"a":"\x01"}', "control character in a string"),
            (b'{"a":18446744073709551616}', "an integer beyond 64 bits"),
            (b'{"a":[1,2', "the text is truncated"),
            (b"{}{}", "at byte 2: text after the object"),
            (b"[]", "at byte 0: expected an object"),
            (b'{"a":\xef\xbb\xbf1}', "at byte 5: expected a value"),
        )
        with daemon.client() as client:
            for text, words in cases:
                with self.subTest(text):
                    request = client.submit_request(GOOD, GOOD)
                    request.submit.indicators[1].document = text
                    reply = client.call(request)
                    self.assert_status(reply, "INVALID")
                    self.assertEqual((reply.path, reply.item), ("submit.indicators[1].document", 1))
                    self.assertIn(words, reply.message)
                    self.assertTrue(reply.message.startswith("is not valid JSON at byte "))
        self.assertEqual(daemon.get("/api/v1/results").json["results"], [])

    def test_a_key_that_is_there_twice_is_named(self):
        daemon = self.daemon()
        with daemon.client() as client:
            request = client.submit_request(GOOD)
            request.submit.indicators[0].document = harness.to_json(GOOD)[:-1] + b',"again":1,"again":2}'
            reply = client.call(request)
            self.assert_status(reply, "INVALID")
            self.assertEqual((reply.path, reply.message), ("submit.indicators[0].again", "is given twice: keep one"))

    def test_models_follow_the_same_rules(self):
        daemon = self.daemon()
        deep = {"x": 1}
        for _ in range(30):
            deep = {"x": deep}
        cases = (
            ({"name": "M", "results": {"x": "int"}, "help": "a\0b"}, None, "strings may not contain \\u0000: remove it"),
            ({"name": "M", "results": {"x": deep}}, None, "nested"),
            ({"name": "M", "results": {f"r{i}": "int" for i in range(300)}}, "register.model",
             "has 300 parameters and results, may have up to 256"),
            ({"name": "M", "results": {f"{i:x}": "int" for i in range(70000)}}, "register.model", "has more than 65536 keys in all"),
            ({"name": "M", "parameters": {"p": {"values": [math.nan]}}, "results": {"x": "int"}}, "register.parameters.p.values[0]",
             "is not a number"),
            ({"name": "M", "parameters": {"p": {"type": "int", "values": ["a"]}}, "results": {"x": "int"}},
             "register.parameters.p.values[0]",
             "is a string, and the type is int"),
            ({"name": "M", "results": {"x": {"unit": "m\x1b[2Js"}}}, "register.results.x.unit", "has control characters: remove them"),
        )
        with daemon.client() as client:
            for model, path, words in cases:
                with self.subTest(words):
                    request = client.request()
                    request.register.model.append(harness.to_json(model))
                    reply = client.call(request)
                    self.assert_status(reply, "INVALID")
                    self.assertEqual(reply.path, path or reply.path)
                    self.assertIn(words, reply.message)
            request = client.request()
            request.register.SetInParent()
            reply = client.call(request)
            self.assert_status(reply, "INVALID")
            self.assertEqual((reply.path, reply.message), ("register.model", "missing"))
        self.assertEqual(daemon.get("/api/v1/models").json["models"], [])

    def test_long_texts_of_a_runner_are_truncated_instead_of_refused(self):
        daemon = self.daemon("[limits]\nstring_size = 256\n")
        script = self.temporary_directory() / "script.py"
        script.write_text("import json, sys\nprint('x' * 100000 + 'the end', file=sys.stderr)\n"
                          f"print(json.dumps({GOOD!r}))\n")
        done = daemon.perfctl("run", "--env", "LONG", "--", "python3", script, environment={"LONG": "y" * 1000})
        self.assertEqual(done.returncode, 0, done.stderr[-1000:])
        run = daemon.get("/api/v1/indicators/PiMatmul/results").json["results"][0]["run"]
        self.assertEqual((len(run["stderr"]), run["stderr"][-7:].strip(), run["stderr_cut"]), (256, "he end", True))
        self.assertEqual((run["environment"]["LONG"], run["environment"]["LONG_cut"]), ("y" * 256, True))

    def test_only_perfd_limits_the_length_of_strings(self):
        daemon = self.daemon("[limits]\nstring_size = 100K\n")
        path, spool = self.temporary_directory() / "inspection" / "results" / "0" / "result", self.temporary_directory()
        path.parent.mkdir(parents=True)
        for n, status, words in ((100 << 10, 0, ""), ((100 << 10) + 1, 1, "has 102401 bytes, more than the 102400 that a string may have")):
            document = json.dumps({**GOOD, "note": "x" * n})
            with self.subTest(n):
                done = daemon.perfctl("submit", "-", stdin=document)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"standard input:1: note: {words}" if status else "", done.stderr)

                path.write_text(json.dumps({"stdout": json.loads(document), "exit_code": 0}))
                done = daemon.perfctl("import", "amun", path.parents[2])
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"{path}: note: {words}" if status else "", done.stderr)

                done = daemon.perfctl("submit", "--socket", "/nonexistent", "--timeout", "0", "--spool", spool, "-", stdin=document)
                self.assertIn("kept in ", done.stderr)
                done = daemon.perfctl("flush", "--spool", spool)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"note: {words}" if status else "", done.stderr)
        self.assertEqual(len(daemon.get("/api/v1/results").json["results"]), 3)

    def test_a_refused_result_does_not_affect_others_of_the_run(self):
        daemon = self.daemon("[limits]\nstring_size = 1K\n")
        script = self.temporary_directory() / "script.py"
        script.write_text(f"import json\nfor n in (1, 1025, 2, 1026):\n    print(json.dumps(dict({GOOD!r}, note='x' * n)))\n")
        done = daemon.perfctl("run", "--job", "some", "--", "python3", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        for n in (1025, 1026):
            self.assertIn(f"an indicator in the output was not submitted: note: has {n} bytes, more than the 1024", done.stderr)
        self.assertCountEqual([row["document"]["note"] for row in daemon.get("/api/v1/results").json["results"]], ["x", "xx"])
        self.assertEqual(daemon.get("/api/v1/jobs/some").json["state"], "finished")

    def test_texts_of_a_runner_cannot_make_a_request_too_large(self):
        daemon = self.daemon("[limits]\nframe_size = 8K\nstring_size = 4K\n")
        script = self.temporary_directory() / "script.py"
        script.write_text("import json, sys\nprint('x' * 100000 + 'the end', file=sys.stderr)\n"
                          f"print(json.dumps({GOOD!r}))\nsys.exit(len(sys.argv) - 1)\n")
        for words, status in ((("--repeat", "2"), 0), ((), 3)):
            done = daemon.perfctl("run", *words, "--", "python3", script, *"abc"[:status])
            self.assertEqual(done.returncode, status, done.stderr[-500:])
        runs = [row["run"] for row in daemon.get("/api/v1/indicators/PiMatmul/results").json["results"]]
        self.assertEqual(len(runs), 3)
        for run in runs:
            self.assertTrue(run["stderr_cut"] and run["stderr"].endswith("xthe end\n"))
            self.assertLess(len(run["stderr"]), 8192)
        huge = {**GOOD, "log": ["x" * 3000] * 10}
        done = daemon.perfctl("submit", "-", stdin=json.dumps(huge))
        self.assertEqual(done.returncode, 1)
        self.assertIn("make it smaller, or raise [limits] frame_size", done.stderr)

    def test_a_failed_run_is_stored_with_its_output(self):
        daemon = self.daemon()
        with daemon.client() as client:
            request = client.request()
            item = request.submit.indicators.add(id=os.urandom(16), exit_status=1, name="PiMatmul")
            item.run = harness.to_json({"stderr": "No module named 'tensorflow'\n"})
            self.assert_status(client.call(request), "OK")
        self.assertEqual(len(daemon.get("/api/v1/indicators/PiMatmul/results").json["results"]), 1)


if __name__ == "__main__":
    unittest.main()
