"""Checks queries, rankings and batches over HTTP and with perfctl."""

import contextlib
import csv
import io
import json
import math
import sqlite3
import statistics
import unittest
import urllib.parse
import uuid

from harness import FIXTURES, ROOT, TestCase, wait_for

SECRET = "'; DROP TABLE result; --"


def matmul(size=512, rate=1.0, component="tensorflow", version="2.1", dtype="float32", **more):
    return {"name": "PiMatmul", "component": component, "version": version, "@result": {"rate": rate, "elapsed": 1000 / rate},
            "@parameters": {"matrix_size": size, "dtype": dtype, "reps": 50}, **more}


class IndicatorQuery(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()

    def submit(self, *documents, **fields):
        """fields: fields of the items, named as in the protocol; a list has one value for each item."""
        with self.running.client() as client:
            request = client.submit_request(*documents)
            for i, item in enumerate(request.submit.indicators):
                for key, value in fields.items():
                    value = value[i] if isinstance(value, list) else value
                    if value is not None:
                        setattr(item, key, value)
            self.assert_status(client.call(request), "OK")

    def ask(self, path, status=200, **words):
        pairs = [(key, item) for key, value in words.items() for item in (value if isinstance(value, list) else [value])]
        answer = self.running.get(path + ("?" + urllib.parse.urlencode(pairs) if pairs else ""))
        self.assertEqual(answer.status, status, answer.text)
        return answer if words.get("format") == "csv" else answer.json

    def query(self, **words):
        return self.ask("/api/v1/indicators/PiMatmul/query", **words)

    def perfctl(self, *words, status=0):
        done = self.running.perfctl(*words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_groups_have_their_own_statistics(self):
        rates = {("tensorflow", "2.1"): [1, 2, 4, 8], ("tensorflow", "2.2"): [3, 5], ("pytorch", "1.4"): [7.5]}
        for (component, version), values in rates.items():
            self.submit(*(matmul(rate=rate, component=component, version=version) for rate in values))
        self.submit(matmul(size=1024, rate=99))
        answer = self.query(where="matrix_size=512", group_by="component,version", stat="median:rate,p75:rate,n,sd:rate,max:elapsed")
        self.assertEqual([(tuple(group["key"].values()), group["n"]) for group in answer["groups"]],
                         [(("pytorch", "1.4"), 1), (("tensorflow", "2.1"), 4), (("tensorflow", "2.2"), 2)])
        self.assertEqual((answer["scanned"], answer["truncated"]), (7, False))
        for group in answer["groups"]:
            values = rates[tuple(group["key"].values())]
            self.assertEqual(group["values"]["median:rate"], statistics.median(values))
            self.assertEqual(group["values"]["max:elapsed"], 1000 / min(values))
            sd = group["values"]["sd:rate"]
            self.assertTrue(sd is None if len(values) < 2 else math.isclose(sd, statistics.stdev(values)))
        self.assertEqual(answer["groups"][1]["values"]["p75:rate"], 5)

    def test_numbers_that_are_equal_make_one_group_and_are_in_order(self):
        self.submit(*(matmul(size=size) for size in (1024, 512, 512.0, 99)))
        self.assertEqual([(group["key"]["matrix_size"], group["n"]) for group in self.query(group_by="matrix_size")["groups"]],
                         [(99, 1), (512, 2), (1024, 1)])
        self.assertEqual(self.query(where="matrix_size=512.0")["scanned"], 2)
        self.assertEqual(self.query(where=["matrix_size>=512", "matrix_size<1024"])["scanned"], 2)

    def test_parameters_that_a_double_cannot_tell_apart_are_different(self):
        seeds = (2**53 + 1, 2**53, 2**53 + 2, 7)
        self.submit(*(matmul(rate=rate, version=version, **{"@parameters": {"seed": seed}}) for version in ("1", "2") for seed in seeds
                      for rate in (1, 2, 3)))
        rankings = self.ask("/api/v1/indicators/PiMatmul/rank", objective="rate", direction="higher")["rankings"]
        self.assertEqual([(ranking["parameters"], len(ranking["alternatives"])) for ranking in rankings],
                         [({"seed": seed}, 2) for seed in sorted(seeds)])

    def test_failed_runs_are_counted_apart(self):
        self.submit(*(matmul(rate=rate) for rate in (1, 3, 1000)), exit_status=[0, 0, 9])
        group = self.query(stat="mean:rate")["groups"][0]
        self.assertIsInstance(self.query(stat="n:rate")["groups"][0]["values"]["n:rate"], int)
        self.assertEqual((group["n"], group["n_failed"], group["values"]), (2, 1, {"mean:rate": 2}))

    def test_query_parameters_are_escaped(self):
        self.submit(matmul(dtype=SECRET), matmul(dtype="float32"))
        self.assertEqual(self.query(where=f"dtype={SECRET}")["scanned"], 1)
        for words in ({"where": f"{SECRET}=1"}, {"group_by": SECRET}, {"stat": f"mean:{SECRET}"}):
            self.assertIn(f"'{SECRET}'", self.query(status=400, **words)["error"]["message"])
        self.submit(matmul(dtype="x", **{"@parameters": {SECRET: 1}, "@result": {"a": 1, "b'": 2}}))
        self.assertEqual(self.query(where=f"{SECRET}=1", group_by=SECRET, stat="mean:b'")["groups"][0]["values"], {"mean:b'": 2})
        self.assertEqual(self.ask("/api/v1/indicators/PiMatmul/results", where=f"dtype={SECRET}")["results"][0]["document"],
                         matmul(dtype=SECRET))
        self.assertEqual(self.query(group_by="dtype")["groups"][0]["key"], {"dtype": SECRET})

    def test_an_invalid_query_gets_the_expected_values(self):
        for words, text in (({"where": "matrix_size"}, "KEY=VALUE"), ({"where": "matrix_size<many"}, "or a time after < or >"),
                            ({"stat": "middle:rate"}, "median:rate,p95:elapsed"), ({"stat": "p101:rate"}, "p0 to p100"),
                            ({"stat": "median:"}, "not 'median:'"), ({"group_by": "a,,b"}, "names of parameters"),
                            ({"format": "xml"}, "one of json, csv"), ({"limit": "0"}, "from 1 to 10000"),
                            ({"where": ["a=1"] * 17}, "more than 16 times"), ({"group_by": ",".join("abcdefghi")}, "more than 8"),
                            ({"stat": ",".join(f"n:r{i}" for i in range(17))}, "at most 16 results"),
                            ({"group_by": "dtype,version,dtype"}, "names 'dtype' twice"),
                            ({"stat": "median:rate,p95:rate,median:rate"}, "names 'median:rate' twice"),
                            ({"since_ms": "yesterday"}, "whole number"), ({"order": "rate"}, "no query parameter 'order'")):
            self.assertIn(text, self.query(status=400, **words)["error"]["message"], words)

    def start_with_models(self):
        self.running.configure(f"[indicators]\ndirectory = {ROOT}/conf/indicators.d\n")
        self.running.restart()

    def test_whatever_key_can_be_stored_can_be_asked_for(self):
        parameter, result = "p" * 256, "r" * 256
        self.submit({"name": "PiMatmul", "component": "c", "@parameters": {parameter: 1}, "@result": {result: 2.5}})
        for key in (parameter, "@parameters." + parameter):
            group = self.query(where=f"{key}=1", group_by=key, stat=f"standard_error:{result},p99.9:{result}")["groups"][0]
            self.assertEqual((group["key"], group["values"][f"p99.9:{result}"]), ({key: 1}, 2.5))
            shown = self.perfctl("indicator", "query", "PiMatmul", "-w", f"{key}=1", "-b", key, "-s", f"mean:{result}", "-f", "csv")
            self.assertEqual(shown.split()[-1], "1,1,0,2.5")

    def test_repeated_options_continue_their_list(self):
        self.submit(*(matmul(rate=rate, component=component) for rate, component in ((1, "a"), (2, "b"), (5, "b"))))
        text = self.perfctl("indicator", "query", "PiMatmul", "-s", "max:rate", "-b", "component", "-b", "dtype", "-s", "min:rate,n:rate",
                            "-f", "csv")
        self.assertEqual(text.splitlines(), ["component,dtype,n,n_failed,max:rate,min:rate,n:rate", "a,float32,1,0,1,1,1",
                                             "b,float32,2,0,5,2,2"])
        ranking = self.perfctl("indicator", "rank", "PiMatmul", "-b", "component", "-b", "dtype", "-o", "rate", "--direction", "higher",
                               "--hold", "matrix_size", "--hold", "version", "--json")
        self.assertEqual([one["key"] for one in json.loads(ranking)["rankings"][0]["excluded"]],
                         [{"component": "a", "dtype": "float32"}, {"component": "b", "dtype": "float32"}])
        self.assertIn("--by names 'dtype' twice", self.perfctl("indicator", "query", "PiMatmul", "-b", "dtype", "-b", "dtype", status=2))

    def test_a_misspelt_key_is_reported_with_the_existing_keys(self):
        self.submit(*(matmul(rate=rate) for rate in (1, 2, 3)))
        for has_model in (False, True):
            for words, text in (({"where": "matrix_sise=512"},
                                 "a parameter 'matrix_sise': did you mean matrix_size? existing keys: component,"),
                                ({"group_by": "versoin"}, "did you mean version?"), ({"stat": "median:raet"}, "did you mean rate?"),
                                ({"where": "rate>1"}, "a parameter 'rate', which is a result"),
                                ({"group_by": "quite_other"}, "existing keys: "),
                                ({"stat": "median:matrix_size"}, "which is a parameter"), ({"where": "hardware>2"}, "'hardware' is text"),
                                ({"where": "@parameters.version=2"}, "a parameter 'version'")):
                message = self.query(status=400, **words)["error"]["message"]
                self.assertIn(text, message, words)
                self.assertNotIn("did you mean", message if "quite_other" in str(words) else "")
                if "stat" not in words:
                    self.assertEqual(self.ask("/api/v1/indicators/PiMatmul/results", status=400, where=["matrix_size=512", "dtipe=1"])
                                     ["error"]["message"].split("?")[0],
                                     "no result of PiMatmul has a parameter 'dtipe': did you mean dtype")
            for words in ({"objective": "raet"}, {"objective": "rate", "by": "componet"}):
                self.assertIn("did you mean", self.ask("/api/v1/indicators/PiMatmul/rank", status=400, **words)["error"]["message"])
            self.assertIn("did you mean PiMatmul?", self.ask("/api/v1/indicators/PiMatmull/query", status=404)["error"]["message"])
            self.assertIn("did you mean matrix_size?", self.perfctl("indicator", "query", "PiMatmul", "-w", "matrix_siz=1", status=1))
            self.start_with_models()

    def test_a_key_that_only_older_results_have_is_known(self):
        self.submit(matmul(**{"@parameters": {"old": 1}, "@result": {"older": 2}}), time_ms=1000)
        self.submit(*(matmul() for _ in range(300)))
        self.assertEqual(self.query(where="old=1", stat="median:older")["groups"][0]["values"], {"median:older": 2})
        self.assertEqual(self.query(where="old=1", since_ms="2000")["note"], "no result of PiMatmul matches old=1 and "
                         "the time range; existing keys: component, version, hardware, matrix_size, dtype, reps")

    def test_a_value_is_held_against_its_model(self):
        self.start_with_models()
        self.submit(*(matmul(rate=rate) for rate in (1, 2, 3)), matmul(size="huge"))
        for where, text in (("matrix_size=abc", "'matrix_size' cannot be 'abc': its model declares it as int"),
                            ("matrix_size!=5.5", "declares it as int"),
                            ("dtype<5", "'dtype' is declared as str by its model, and < and > compare numbers, versions and times"),
                            ("reps=many", "declares it as int")):
            self.assertIn(text, self.query(status=400, where=where)["error"]["message"])
        self.assertEqual([self.query(where=where)["scanned"] for where in
                          ("matrix_size=512", "matrix_size=512.0", "matrix_size>5.5", "matrix_size=huge", "matrix_size!=huge", "dtype=5")],
                         [3, 3, 3, 1, 3, 0]) # a stored deviation can be queried
        padded = {"name": "PiConv2D", "component": "c", "@parameters": {"padding": "SAME"}, "@result": {"rate": 1.0, "elapsed": 2.0}}
        self.submit(padded, {**padded, "@parameters": {"padding": 1}})
        self.assertEqual([self.ask("/api/v1/indicators/PiConv2D/query", where=f"padding={padding}")["scanned"]
                          for padding in ("SAME", "1", "VALID")], [1, 1, 0])
        file = self.temporary_directory() / "model.yaml"
        file.write_text(json.dumps({"name": "Own", "parameters": {"mode": {"type": "str", "values": ["fast", "safe"]}},
                                    "results": {"r": None}}))
        self.perfctl("model", "add", str(file))
        self.assertIn("its model declares it as str, one of fast, safe",
                      self.ask("/api/v1/indicators/Own/query", status=400, where="mode=fsat")["error"]["message"])

    def test_an_empty_answer_has_a_reason(self):
        self.start_with_models()
        self.assertEqual(self.query()["note"], "no results of PiMatmul yet")
        self.submit(matmul(size=256), matmul(size=512, component="pytorch"), time_ms=1600000000000)
        for words, note in (({"where": "matrix_size=99"}, "matrix_size=99"), ({"where": "matrix_size>1e9"}, "matrix_size>1e9"),
                            ({"where": "component=x"}, "component=x"), ({"version": "9"}, "version=9"),
                            ({"since_ms": "1600000000001"}, "the time range"),
                            ({"where": ["matrix_size=256", "component=pytorch"]}, "matrix_size=256 and component=pytorch")):
            answer = self.query(**words)
            self.assertEqual((answer["groups"], answer["note"]),
                             ([], f"no result of PiMatmul matches {note}; existing keys: component, version, hardware, device, dtype, "
                                  "matrix_size, reps, mini_batch"))
        self.assertIsNone(self.query()["note"])
        done = self.running.perfctl("indicator", "rank", "PiMatmul", "-o", "rate", "-w", "matrix_size=99")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no result of PiMatmul matches matrix_size=99; existing keys: ", done.stderr)

    def test_several_values_of_a_key_are_alternatives(self):
        self.submit(*(matmul(size=n, dtype=dtype, version=v) for n, dtype in ((1, "a,b"), (2, "c"), (4, "d")) for v in ("1.9.0", "1.11.0")))
        for words, n in ((("version=1.9.0,1.11.0",), 6), (("version>1.10",), 3), (("version>1.9.0-3-g1c2d3e4",), 3),
                         (("version=1.9.0",), 3), (("matrix_size=1,4",), 4),
                         (("matrix_size=1", "matrix_size=4"), 4), (('dtype="a,b",c',), 4), (("dtype=a,b",), 0),
                         (("matrix_size=1,2", "version=1.9.0"), 2),
                         (("matrix_size=1,2,4", "matrix_size>1"), 4), (("matrix_size=1,2", "matrix_size!=1"), 2),
                         (("matrix_size!=1,2",), 2), (('dtype!="a,b"',), 4)):
            with self.subTest(words):
                options = [word for condition in words for word in ("-w", condition)]
                answer = json.loads(self.perfctl("indicator", "query", "PiMatmul", "--json", *options))
                self.assertEqual(sum(group["n"] for group in answer["groups"]), n)

    def test_lists_are_numbers_of_statistics(self):
        for means in ([1, 2, 9], [4]):
            self.submit({"name": "PiMatmul", "component": "c", "version": str(len(means)), "@parameters": {},
                         "@result": {"benchmarks": [{"mean": mean, "name": "b"} for mean in means], "times": means}})
        for stat in ("mean:benchmarks[].mean", "mean:times", "mean:times[]"):
            group, = self.query(stat=f"{stat},{stat.replace('mean', 'n', 1)}")["groups"]
            self.assertEqual((group["n"], *group["values"].values()), (2, 4, 4), stat)
        answer = self.ask("/api/v1/indicators/PiMatmul/query", status=400, stat="mean:benchmarks[].men")
        self.assertIn("no result of PiMatmul has a result 'benchmarks[].men'", answer["error"]["message"])
        ranked = self.ask("/api/v1/indicators/PiMatmul/rank", objective="times", direction="lower")
        self.assertEqual({group["key"]["version"]: group["n"] for ranking in ranked["rankings"] for group in ranking["excluded"]},
                         {"3": 1, "1": 1})

    def test_many_groups_are_refused_with_the_limit(self):
        for i in range(0, 10001, 500):
            self.submit(*(matmul(size=n) for n in range(i, min(i + 500, 10001))))
        self.assertIn("more than 10000 groups", self.query(status=413, group_by="matrix_size")["error"]["message"])
        answer = self.query(group_by="matrix_size", where="matrix_size<2000", limit=10)
        self.assertEqual((len(answer["groups"]), answer["truncated"], answer["scanned"]), (10, True, 2000))

    def test_csv_can_be_read_by_a_spreadsheet(self):
        hostile = ["=1+1", "a,b", 'say "x"', "two\nlines", "-x", "@x", "plain"]
        self.submit(*(matmul(dtype=dtype, rate=2.5) for dtype in hostile))
        self.submit(matmul(**{"@parameters": {"seldom": 1}}))
        answer = self.query(group_by="dtype,seldom", stat="mean:rate", format="csv", where="dtype!=")
        self.assertTrue(answer.headers["content-type"].startswith("text/csv"))
        self.assertEqual(answer.text.count("\r\n"), 1 + len(hostile))
        rows = list(csv.reader(io.StringIO(answer.text, newline="")))
        self.assertEqual(rows[0], ["dtype", "seldom", "n", "n_failed", "mean:rate"])
        self.assertEqual(sorted(row[0] for row in rows[1:]),
                         sorted(("'" if text[0] in "=-@" else "") + text for text in hostile))
        self.assertTrue(all(row[1:] == ["", "1", "0", "2.5"] for row in rows[1:]))
        self.assertEqual(self.perfctl("indicator", "query", "PiMatmul", "--by", "dtype,seldom", "--stat", "mean:rate",
                                      "--format", "csv", "--where", "dtype!="), answer.text.replace("\r\n", "\n"))

    def test_a_parameter_named_like_another_column_has_its_own_column(self):
        self.submit(*(matmul(**{"@parameters": {"n": n, "N": 7, "n_failed": 3, "median:rate": 4}}) for n in (1, 2, 2)))
        keys = "n,N,n_failed,median:rate"
        answer = self.query(group_by=keys, stat="median:rate", format="csv")
        heads = next(csv.reader(io.StringIO(answer.text, newline="")))
        self.assertEqual(heads[:4], ["'@parameters.n", "N", "'@parameters.n_failed", "'@parameters.median:rate"])
        self.assertEqual(heads[4:], ["n", "n_failed", "median:rate"])
        rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
        self.assertEqual([(row["'@parameters.n"], row["n"]) for row in rows], [("1", "1"), ("2", "2")])
        table = self.perfctl("indicator", "query", "PiMatmul", "--by", "component,n,N", "--stat", "n:rate").splitlines()
        self.assertEqual(table[0].split(), ["COMPONENT", "n", "N", "N", "FAILED", "n:rate"])

    def test_a_ranking_compares_like_with_like(self):
        for size in (256, 512):
            self.submit(*(matmul(size=size, rate=100 + i % 3, version="2.1") for i in range(9)))
            self.submit(*(matmul(size=size, rate=100 + i % 3, version="2.2") for i in range(9)))
            self.submit(*(matmul(size=size, rate=50 + i % 3, component="pytorch", version="1.4") for i in range(9)))
        self.submit(matmul(rate=1000, version="3.0"))
        path = "/api/v1/indicators/PiMatmul/rank"
        self.assertIn("direction=higher", self.ask(path, status=400, objective="rate")["error"]["message"])
        answer = self.ask(path, objective="rate", direction="higher")
        self.assertEqual(answer["confidence"], 0.95)
        self.assertEqual([ranking["parameters"]["matrix_size"] for ranking in answer["rankings"]], [256, 512])
        for ranking in answer["rankings"]:
            self.assertEqual([(a["rank"], a["tied"], a["key"]["version"], a["median"]) for a in ranking["alternatives"][:2]],
                             [(1, True, a["key"]["version"], 101) for a in ranking["alternatives"][:2]])
            last = ranking["alternatives"][2]
            self.assertEqual((last["key"], last["tied"], last["n"]), ({"component": "pytorch", "version": "1.4"}, False, 9))
            self.assertGreater(last["rank"], 1)
            self.assertTrue(last["low"] <= last["median"] <= last["high"])
        self.assertEqual([left["key"]["version"] for left in answer["rankings"][1]["excluded"]], ["3.0"])
        self.assertIn("fewer than 3", answer["rankings"][1]["excluded"][0]["reason"])
        self.assertEqual(len(self.ask(path, objective="rate", direction="higher", across="parameters,hardware")["rankings"]), 1)
        lower = self.ask(path, objective="elapsed", direction="lower", by="component")
        self.assertEqual(lower["rankings"][0]["alternatives"][0]["key"], {"component": "tensorflow"})
        by_size = self.ask(path, objective="rate", direction="higher", by="matrix_size", where="component=pytorch")
        self.assertEqual([a["key"]["matrix_size"] for a in by_size["rankings"][0]["alternatives"]], [256, 512])
        text = self.perfctl("indicator", "rank", "PiMatmul", "--objective", "rate", "--direction", "higher")
        self.assertIn("Left out: tensorflow 3.0", text)
        self.assertIn("=1  tensorflow  2.1", text)

    def test_every_result_is_compared_or_counted_as_excluded(self):
        without = matmul(version="2.1")
        del without["@result"]["rate"]
        self.submit(*(matmul(rate=100 + i, version=version) for version in ("2.1", "2.2") for i in range(5)), without,
                    matmul(rate=5, version="2.2"), exit_status=[0] * 11 + [9])
        self.submit(*(matmul(rate=1, size=64) for _ in range(4)), matmul(rate=2, version="3.0"), matmul(rate=3, version="3.0"))
        path = "/api/v1/indicators/PiMatmul/rank"
        answer = self.ask(path, objective="rate", direction="higher")
        self.assertEqual(answer["excluded"], {"failed": 1, "without_objective": 1, "too_few_runs": 2, "nothing_to_compare_with": 4})
        self.assertEqual((answer["compared"], answer["scanned"], answer["apart"]), (10, 18, ["matrix_size"]))
        small, large = answer["rankings"] # ordered by size, 64 and 512
        self.assertEqual([a["difference"] for a in small["alternatives"]], ["nothing to compare with"])
        self.assertEqual([(a["difference"], a["n"], a["n_failed"], a["n_without"]) for a in large["alternatives"]],
                         [("best", 5, 0, 1), ("noise", 5, 1, 0)])
        self.assertEqual([(left["key"]["version"], left["n"]) for left in large["excluded"]], [("3.0", 2)])
        text = self.perfctl("indicator", "rank", "PiMatmul", "-o", "rate", "--direction", "higher")
        for line in ("Compared: 10 of 18 results. Left out: 1 failed, 1 without the objective, 2 in\n",
                     "  matrix_size=64: tensorflow 2.1 (4)\n",
                     "Not counted: tensorflow 2.2 (1 failed)", "Not counted: tensorflow 2.1 (1 without rate)",
                     "noise: not significant. ",
                     "Left out: tensorflow 3.0 (fewer than 3 runs have this result: 2)", "(see --across): matrix_size"):
            self.assertIn(line, text)
        self.assertIn("Available: rate, elapsed", self.ask(path, status=400)["error"]["message"])
        self.assertIn("did you mean matrix_size?", self.ask(path, status=400, objective="rate", direction="higher",
                                                            across="matrix_siz")["error"]["message"])
        few = self.ask(path, objective="rate", direction="higher", by="matrix_size", where="version=2.1", confidence="0.999")
        self.assertEqual([a["difference"] for a in few["rankings"][0]["alternatives"]], ["best", "too few runs"])
        self.assertEqual(few["rankings"][0]["runs_needed"], 7) # 2/1716 exceeds 0.001, 2/3432 does not
        self.assertIn("Too few runs: distinguishing 2 alternatives at 99.9 % needs 7 runs of each",
                      self.perfctl("indicator", "rank", "PiMatmul", "-o", "rate", "--direction", "higher", "--by", "matrix_size",
                                   "-w", "version=2.1", "--confidence", "0.999"))

    def test_the_more_are_compared_the_more_certain_a_difference_must_be(self):
        path, words = "/api/v1/indicators/PiMatmul/rank", {"objective": "rate", "direction": "higher", "by": "version"}
        self.submit(*(matmul(rate=100 - 10 * k + i, version=f"1.{k}") for k in range(5) for i in range(5)))
        two = self.ask(path, where=["version!=1.2", "version!=1.3", "version!=1.4"], **words)["rankings"][0]
        five = self.ask(path, **words)["rankings"][0]
        self.assertEqual([(a["difference"], a["chance"]) for a in two["alternatives"]], [("best", None), ("significant", 2 / 252)])
        self.assertEqual([(a["difference"], a["rank"]) for a in five["alternatives"]], [("best", 1)] + [("too few runs", 1)] * 4)
        self.assertAlmostEqual(five["alternatives"][1]["chance"], 10 * 2 / 252)
        self.assertEqual((two["runs_needed"], five["runs_needed"]), (4, 6))
        self.submit(*(matmul(rate=99.5 - 10 * k, version=f"1.{k}") for k in range(5)))
        five = self.ask(path, **words)["rankings"][0]
        self.assertEqual([(a["difference"], a["rank"]) for a in five["alternatives"]],
                         [("best", 1)] + [("significant", k) for k in range(2, 6)])

    def test_versions_are_sorted_numerically(self):
        versions = ["1.2", "1.9", "1.9.1", "1.10", "1.10-rc1", "2.0", "10.0", "v9", "v10"]
        self.submit(*(matmul(rate=5, version=version) for version in reversed(versions)))
        self.assertEqual([group["key"]["version"] for group in self.query(group_by="version")["groups"]], versions)
        text = self.perfctl("indicator", "show", "PiMatmul")
        self.assertEqual([line.split()[1] for line in text.splitlines()[1:1 + len(versions)]], versions)
        mixed = ["007", "07", "7", "7a", "08", "8"]
        self.submit(*(matmul(version="x", dtype=dtype) for dtype in mixed))
        self.assertEqual([group["key"]["dtype"] for group in self.query(group_by="dtype", where="version=x")["groups"]], mixed)

    def test_an_empty_name_is_reported(self):
        for words in (["indicator", "query"], ["indicator", "show"], ["indicator", "rank"], ["report"],
                      ["model", "schema"], ["submit"]):
            done = self.running.perfctl(*words, "")
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(f"argument must not be empty; usage: perfctl {' '.join(words)} ", done.stderr)
        self.assertEqual(self.running.perfctl("run", "--", "printf", "%s.", "", "a").stdout, ".a.")

    def test_components_are_not_mixed_in_an_alternative(self):
        self.submit(*(matmul(rate=rate, dtype=dtype, component=component) for rate in (1, 2, 3, 4) for dtype in ("a", "b")
                      for component in ("pytorch", "tensorflow")))
        words = {"objective": "rate", "direction": "higher", "by": "dtype"}
        answer = self.ask("/api/v1/indicators/PiMatmul/rank", **words)
        self.assertEqual([(r["component"], r["version"], len(r["alternatives"])) for r in answer["rankings"]],
                         [("pytorch", "2.1", 2), ("tensorflow", "2.1", 2)])
        text = self.perfctl("indicator", "rank", "PiMatmul", "-o", "rate", "--direction", "higher", "--by", "dtype")
        self.assertIn("Component pytorch 2.1\nHardware unknown", text)
        mixed = self.ask("/api/v1/indicators/PiMatmul/rank", across="component", **words)["rankings"]
        self.assertEqual([[a["n"] for a in r["alternatives"]] for r in mixed], [[8, 8]])

    def test_different_units_are_not_compared(self):
        file = self.temporary_directory() / "model.yaml"
        for component, unit in (("a", "ms"), ("b", "s")):
            file.write_text(json.dumps({"name": "Own", "component": component, "results": {"t": {"unit": unit, "direction": "lower"}}}))
            self.perfctl("model", "add", str(file))
        self.submit(*({"name": "Own", "component": c, "@parameters": {}, "@result": {"t": t}} for c in "ab" for t in (1.0, 2.0, 3.0)))
        path = "/api/v1/indicators/Own"
        self.assertIn("different units", self.ask(path + "/rank", status=400, objective="t")["error"]["message"])
        self.assertIn("different units", self.ask(path + "/query", status=400, stat="mean:t")["error"]["message"])
        self.assertEqual(self.ask(path + "/query", stat="mean:t", where="component=b")["units"], {"mean:t": "s"})
        self.assertEqual(self.ask(path + "/query", stat="mean:t", group_by="component")["units"], {})
        self.assertEqual(self.ask(path + "/rank", objective="t", component="a")["unit"], "ms")

    def test_a_model_gives_units_directions_and_an_index(self):
        self.submit(*(matmul(rate=rate) for rate in (1, 2, 3)), matmul(component="pytorch", rate=9))
        before = self.query(group_by="component", stat="median:rate,cov:rate")
        self.assertEqual(before["units"], {})
        self.running.configure(f"[indicators]\ndirectory = {ROOT}/conf/indicators.d\n")
        self.running.restart()
        self.submit(*(matmul(rate=rate, component="pytorch") for rate in (5, 6, 7)))
        answer = self.query(group_by="component", stat="median:rate,cov:rate", where=["matrix_size=512", "dtype=float32"])
        self.assertEqual(answer["units"], {"median:rate": "GFLOP/s"})
        shown = self.perfctl("indicator", "show", "PiMatmul")
        self.assertRegex(shown, r"(?m)^  rate +7 GFLOP/s, higher is better$")
        self.assertRegex(shown, r"(?m)^  elapsed +142\.857[0-9]* ms, lower is better$")
        self.assertRegex(shown, r"(?m)^  matrix_size +512$")
        self.assertEqual([group["values"]["median:rate"] for group in answer["groups"]], [6.5, 2])

        def is_indexed():
            with contextlib.closing(sqlite3.connect(self.running.state / "perfd.db")) as database:
                return database.execute("SELECT count(*) FROM point").fetchone() == (7,)
        wait_for(is_indexed, "the results from before the model to be indexed")
        self.assertEqual(self.query(group_by="component", stat="median:rate,cov:rate", where="dtype=float32")["groups"], answer["groups"])
        ranked = self.ask("/api/v1/indicators/PiMatmul/rank", objective="elapsed", across="parameters")
        self.assertEqual((ranked["direction"], ranked["unit"]), ("lower", "ms"))
        self.assertEqual([a["key"]["component"] for a in ranked["rankings"][0]["alternatives"]], ["pytorch", "tensorflow"])
        self.assertIn("GFLOP/s", self.perfctl("indicator", "query", "PiMatmul", "--stat", "median:rate"))

    def test_perfctl_shows_tables(self):
        self.submit(*(matmul(rate=rate) for rate in (1, 2, 3)), matmul(component="pytorch", rate=4), time_ms=1600000000000)
        self.assertEqual([line.split()[:3] for line in self.perfctl("indicator", "list").splitlines()],
                         [["INDICATOR", "COMPONENT", "RESULTS"], ["PiMatmul", "pytorch", "1"], ["PiMatmul", "tensorflow", "3"]])
        table = self.perfctl("indicator", "query", "PiMatmul", "-w", "matrix_size=512", "-b", "component", "-s", "median:rate")
        self.assertEqual([line.split() for line in table.splitlines()],
                         [["COMPONENT", "N", "FAILED", "median:rate"], ["pytorch", "1", "0", "4"], ["tensorflow", "3", "0", "2"]])
        shown = self.perfctl("indicator", "show", "PiMatmul")
        self.assertIn("matrix_size", shown)
        self.assertIn("2.1", shown)
        self.assertEqual(self.perfctl("indicator", "query", "PiMatmul", "--since", "1d"), "")
        self.assertEqual(self.perfctl("indicator", "query", "PiMatmul", "--until", "1d"), self.perfctl("indicator", "query", "PiMatmul"))
        self.assertNotEqual(self.perfctl("indicator", "query", "PiMatmul"), "")
        self.assertIn("no results and no model of indicator 'PiNone'", self.perfctl("indicator", "show", "PiNone", status=1))
        self.assertIn("KEY=VALUE", self.perfctl("indicator", "query", "PiMatmul", "--where", "matrix_size", status=2))
        self.assertIn("indicator name must be", self.perfctl("indicator", "query", "a/b?c", status=1))

    @unittest.skipUnless((FIXTURES / "thoth").is_dir(), "the captured indicators are not there (PERFD_FIXTURES)")
    def test_batches_match_numpy_and_pandas(self):
        names = {"sd": "std_ddof1", "standard_error": "std_error", "q1": "q1_linear", "q3": "q3_linear", "skew": "skew_pandas"}
        golden = json.loads((FIXTURES / "thoth" / "golden_batch_statistics.json").read_text())
        compared = 0
        for batch in golden.values():
            columns = {key: column["values"] for key, column in batch["stats"].items()}
            runs = range(batch["n"])
            documents = [{"name": batch["name"], "component": batch["component"], "@parameters": batch["parameters"],
                          "@result": {key: values[i] for key, values in columns.items() if len(values) > i}} for i in runs]
            id_ = uuid.uuid4()
            self.submit(*documents, batch=id_.bytes, index=list(runs), exit_status=0)
            self.submit(documents[0], batch=id_.bytes, index=len(runs), exit_status=137)
            answer = self.ask(f"/api/v1/batches/{id_.hex}")
            self.assertEqual((answer["n"], answer["n_failed"], answer["failed"]),
                             (batch["n"], 1, [{"index": len(runs), "exit_status": 137}]))
            for key, column in batch["stats"].items():
                for name, value in answer["statistics"][key].items():
                    expected = column[names.get(name, name)]
                    if expected is None or (isinstance(expected, float) and math.isnan(expected)):
                        self.assertIsNone(value, (key, name))
                    else:
                        self.assertTrue(math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12), (key, name, value, expected))
                    compared += 1
            self.assertIn("Run %d failed with 137" % len(runs), self.perfctl("indicator", "show", "--batch", id_.hex))
        self.assertGreater(compared, 100)

    def test_a_batch_that_is_not_there(self):
        self.assertIn("no batch", self.ask("/api/v1/batches/" + "0" * 32, status=404)["error"]["message"])
        self.assertIn("32 hexadecimal digits", self.ask("/api/v1/batches/x", status=400)["error"]["message"])


if __name__ == "__main__":
    unittest.main()
