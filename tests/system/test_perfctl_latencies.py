"""Checks the indicator of perfctl submit --latencies against the percentiles of numpy."""

import json
import random
import subprocess
import unittest

from harness import FIXTURES, PERFCTL, TIMEOUT_S, TestCase, import_peer


class Latencies(TestCase):
    def submit(self, text, *words, status=0):
        """Returns the document that perfd has stored."""
        running = self.daemon()
        done = running.perfctl("submit", "--latencies", *words, stdin=text if isinstance(text, str) else json.dumps(text))
        self.assertEqual(done.returncode, status, done.stderr)
        results = running.get("/api/v1/indicators/inference_latency/results").json["results"]
        self.assertEqual(len(results), 1)
        return results[0]["document"]

    def assert_same(self, got, expected):
        self.assertEqual(got.keys(), expected.keys())
        for key in expected:
            self.assertAlmostEqual(got[key], expected[key], delta=1e-9 * max(1, abs(expected[key])), msg=key)

    def test_a_document_with_all_there_is_to_say(self):
        document = self.submit({"time_per_batch": [0.002, 0.004], "batch_length": [1, 4], "framework": "lightgbm", "version": "3.3",
                                "model": "tiny", "threads": 2})
        self.assertEqual((document["framework"], document["version"]), ("lightgbm", "3.3"))
        self.assertEqual(document["@parameters"], {"batch_length_min": 1, "batch_length_max": 4, "model": "tiny", "threads": 2})
        self.assertEqual(document["@result"]["prediction_queries"], 5)
        self.assertEqual(document["units"], {"prediction_latency_avg": "us"})

    def test_numbers_on_lines(self):
        document = self.submit("0.25\n0.75\n", "--batch-length", "2")
        self.assertEqual(document["@parameters"], {"batch_length": 2})
        self.assertEqual({key: document["@result"][key] for key in ("prediction_batches", "batch_latency_p50_usecs",
                                                                    "prediction_latency_p50_usecs")},
                         {"prediction_batches": 2, "batch_latency_p50_usecs": 500000.0, "prediction_latency_p50_usecs": 250000.0})

    def test_percentiles_are_numpys(self):
        numpy = import_peer("numpy")
        chance = random.Random(3)
        for n in (2, 3, 10, 101, 1000):
            seconds = [chance.lognormvariate(-7, 1) for _ in range(n)]
            lengths = [chance.choice((1, 7, 64)) for _ in range(n)]
            batches, queries = numpy.array(seconds) * 1e6, numpy.array(seconds) * 1e6 / numpy.array(lengths)
            expected = {"prediction_batches": n, "prediction_queries": sum(lengths),
                        "prediction_latency_avg": sum(seconds) * 1e6 / sum(lengths)}
            for share in (50, 75, 90, 95, 99):
                expected[f"batch_latency_p{share}_usecs"] = float(numpy.percentile(batches, share))
                expected[f"prediction_latency_p{share}_usecs"] = float(numpy.percentile(queries, share))
            self.assert_same(self.submit({"time_per_batch": seconds, "batch_length": lengths})["@result"], expected)

    @unittest.skipUnless((FIXTURES / "perfpy").is_dir(), "what upstream logged is not installed (PERFD_FIXTURES)")
    def test_latencies_match_upstreams_log(self):
        golden = json.loads((FIXTURES / "perfpy" / "inference_latency_golden.json").read_text())
        both = {"time_per_batch": golden["time_per_batch_s"], "batch_length": golden["batch_length"]}
        self.assert_same(self.submit(both)["@result"], golden["metrics"])
        self.assert_same(self.submit("\n".join(map(repr, golden["time_per_batch_s"])))["@result"], golden["metrics_const_len_1"])
        self.assert_same(self.submit({"time_per_batch": golden["single"]["time_per_batch_s"]})["@result"], golden["single"]["metrics"])

    def test_bad_input_has_its_place_and_nothing_is_sent(self):
        directory = self.temporary_directory()
        for text, words in (('{"time_per_batch": [0.1, -1]}', ":1: time_per_batch[1]: is negative"),
                            ('\n{"time_per_batch": [0.1, NaN]}', ":2: time_per_batch[1]: is null, must be a number of seconds"),
                            ('{"time_per_batch": [0.1], "batch_length": [1, 2]}', ":1: batch_length: has 2 items"),
                            ('{"time_per_batch": [1]} {"time_per_batch": []}', ":1:25: time_per_batch: is empty"),
                            ("0.1\n\n0,2\n", ":3: '0,2' is not a finite number"), ("", ":1: contains no time"),
                            ("0.1\n-0.5\n", ":2: -0.5: is negative")):
            path = directory / "seconds"
            path.write_text(text)
            done = subprocess.run([str(PERFCTL), "submit", "--latencies", "--socket", "/nonexistent", str(path)], text=True,
                                  capture_output=True, timeout=TIMEOUT_S)
            self.assertEqual((done.returncode, done.stdout), (1, ""), text)
            self.assertIn(f"{path}{words}", done.stderr)
            self.assertIn("nothing was sent", done.stderr)

    def test_a_length_without_latencies_is_wrong_usage(self):
        for words, text in ((("--batch-length", "3"), "--batch-length requires --latencies"),
                            (("--latencies", "--batch-length", "0"), "--batch-length expects a number from 1")):
            done = subprocess.run([str(PERFCTL), "submit", *words], text=True, capture_output=True, stdin=subprocess.DEVNULL,
                                  timeout=TIMEOUT_S)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
