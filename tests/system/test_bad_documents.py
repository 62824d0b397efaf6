"""Documents that are none: each rule by the words a person sees, and perfd goes on."""

import json
import math
import os
import unittest

import harness

GOOD = {"name": "PiMatmul", "component": "numpy", "@parameters": {"n": 512}, "@result": {"seconds": 1.25}}


def with_result(text):
    return '{"name": "M", "component": "c", "@parameters": {}, "@result": {"x": %s}}' % text


def nested(depth):
    return "[" * depth + "]" * depth


# What is printed, and what perfctl says of it: after the file's name.
CASES = (
    ("nothing", "", ":1: holds no document"),
    ("no JSON", "elapsed 3.5", ":1:"),
    ("a list", "[1]", ":1: is a list, must be an object: a script prints"),
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
    ("a key that is there twice", with_result('1, "x": 2'), "duplicate object key near '\"x\"': rename or remove one of the two"),
    ("a NUL", with_result('"a\\u0000b"'), "strings may not contain \\u0000: remove it"),
    ("a NUL in a key", with_result('1, "a\\u0000": 2'), "\\u0000: remove it"),
    ("NaN", with_result("NaN"), "JSON has no such number, print null instead"),
    ("infinity", with_result("-Infinity"), "print null instead"),
    ("beyond 64 bits", with_result("9223372036854775808"), "an integer beyond 64 bits: print it with a decimal point, or as a string"),
    ("below 64 bits", with_result("-9223372036854775809"), "an integer beyond 64 bits"),
    ("beyond doubles", with_result("1e400"), "a number beyond 1.7976931348623157e308"),
    ("200 levels", with_result(nested(200)), "nested deeper than 32"),
    ("a million levels", with_result("[" * 1000000), "nested deeper than 32 levels: make it flatter"),
    ("10,000 keys", json.dumps({**GOOD, "@result": {f"k{i}": i for i in range(10000)}}), ":1: has more than 4096 keys in all"),
    ("a long string", with_result(json.dumps("x" * 65537)), ":1: @result.x: has 65537 bytes, more than the 65536 that a string may have"),
    ("10 MB", json.dumps({**GOOD, "log": ["x" * 60000] * 170}), ":1: takes 10"),
    ("an unpaired surrogate", with_result('"\\ud800"'), ":1:"),
)


class Words(harness.TestCase):
    def test_each_rule_says_where_and_what_to_do(self):
        daemon = self.daemon()
        path = self.temporary_directory() / "result.json"
        for what, text, words in CASES:
            with self.subTest(what):
                path.write_text(text)
                done = daemon.perfctl("submit", path)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                line = done.stderr.splitlines()[0]
                self.assertTrue(line.startswith(f"perfctl: {path}:1:"), line[:300])
                self.assertIn(words, line)
                self.assertLess(len(line), 600)
        self.assertEqual(daemon.get("/api/v1/results").json["results"], [])
        self.assertEqual(daemon.perfctl("submit", "-", stdin=json.dumps(GOOD)).returncode, 0)

    def test_bytes_that_are_no_utf8_are_named(self):
        daemon = self.daemon()
        path = self.temporary_directory() / "result.json"
        path.write_bytes(with_result('"caf\xe9"').encode("latin-1"))
        done = daemon.perfctl("submit", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("this is not UTF-8, save it as UTF-8", done.stderr)

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


class Wire(harness.TestCase):
    """From a client that does not check: perfd does."""

    def test_each_rule_is_perfds_as_well(self):
        daemon = self.daemon()
        deep = 1
        for _ in range(40):
            deep = {"x": deep}
        cases = (
            ({**GOOD, "@result": {"seconds": math.nan}}, "submit.indicators[0].@result.seconds",
             "is not a number, which no JSON number can be"),
            ({**GOOD, "@result": {"seconds": math.inf}}, "submit.indicators[0].@result.seconds", "is infinite"),
            ({**GOOD, "@result": {"n": 1}}, "submit.indicators[0].@result.n", "collision: 'n' is in @parameters as well"),
            ({**GOOD, "framework": "torch"}, "submit.indicators[0].framework", "'torch' differs from component 'numpy'"),
            ({**GOOD, "@result": {f"k{i}": i for i in range(5000)}}, "submit.indicators[0].document", "has more than 4096 keys in all"),
            ({**GOOD, "@result": {"a\0b": 1}}, None, "has a NUL byte inside"),
            ({**GOOD, "@result": {"x": "a\0b"}}, None, "has a NUL byte inside"),
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

    def test_a_key_that_is_there_twice_is_named(self):
        daemon = self.daemon()
        with daemon.client() as client:
            request = client.submit_request(GOOD)
            for value in (1, 2):
                member = request.submit.indicators[0].document.members.add(key="again")
                harness.to_value(value, member.value)
            reply = client.call(request)
            self.assert_status(reply, "INVALID")
            self.assertEqual((reply.path, reply.message), ("submit.indicators[0].again", "is there twice: keep one of them"))

    def test_models_are_held_to_the_same(self):
        daemon = self.daemon()
        deep = {"x": 1}
        for _ in range(30):
            deep = {"x": deep}
        cases = (
            ({"name": "M", "results": {"x": "int"}, "help": "a\0b"}, None, "has a NUL byte inside"),
            ({"name": "M", "results": {"x": deep}}, None, "nested"),
            ({"name": "M", "results": {f"r{i}": "int" for i in range(300)}}, "register.model",
             "has 300 parameters and results, may have up to 256"),
            ({"name": "M", "results": {f"r{i}": "int" for i in range(5000)}}, "register.model", "has more than 4096 keys in all"),
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
                    harness.to_object(model, request.register.model)
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

    def test_what_a_runner_wrote_down_is_cut_rather_than_refused(self):
        daemon = self.daemon("[limits]\nstring_size = 256\n")
        script = self.temporary_directory() / "script.py"
        script.write_text("import json, sys\nprint('x' * 100000 + 'the end', file=sys.stderr)\n"
                          f"print(json.dumps({GOOD!r}))\n")
        done = daemon.perfctl("run", "--env", "LONG", "--", "python3", script, environment={"LONG": "y" * 1000})
        self.assertEqual(done.returncode, 0, done.stderr[-1000:])
        run = daemon.get("/api/v1/indicators/PiMatmul/results").json["results"][0]["run"]
        self.assertEqual((len(run["stderr"]), run["stderr"][-7:].strip(), run["stderr_cut"]), (256, "he end", True))
        self.assertEqual((run["environment"]["LONG"], run["environment"]["LONG_cut"]), ("y" * 256, True))

    def test_a_failed_run_is_kept_with_what_it_left(self):
        daemon = self.daemon()
        with daemon.client() as client:
            request = client.request()
            item = request.submit.indicators.add(id=os.urandom(16), exit_status=1, name="PiMatmul")
            harness.to_object({"stderr": "No module named 'tensorflow'\n"}, item.run)
            self.assert_status(client.call(request), "OK")
        self.assertEqual(len(daemon.get("/api/v1/indicators/PiMatmul/results").json["results"]), 1)


if __name__ == "__main__":
    unittest.main()
