"""Checks perfctl submit --from, --each and --line: each shipped format, paths, regular expressions, and what is refused by name."""

import json
import resource
import unittest

import harness

DATA = harness.ROOT / "tests" / "data" / "formats"
LATENCIES = dict.fromkeys(("latency_min", "latency_avg", "latency_max", "latency_percentile"), "ms")

# Format, file, and for each document its component, version, parameters, results, units, numbers of samples and time.
FORMATS = (
    ("hyperfine", "hyperfine.json", (
        ("hyperfine", None, {"command": "zstd -3 in", "level": "3"}, {"elapsed": 0.3, "mean": 0.31, "user": 0.2, "system": 0.05},
         dict.fromkeys(("elapsed", "mean", "user", "system"), "s"), {"elapsed": 4}, None),
        ("hyperfine", None, {"command": "zstd -9 in"}, {"elapsed": 1.5, "mean": 1.5, "user": 1.4, "system": 0.06},
         dict.fromkeys(("elapsed", "mean", "user", "system"), "s"), {"elapsed": 1}, None))),
    ("google-benchmark", "google-benchmark.json", (
        ("google-benchmark", None, {"name": "BM_sum/64", "threads": 2},
         {"real_time": 25.0, "cpu_time": 24.0, "bytes_per_second": None, "items_per_second": 4e7},
         {"real_time": "ns", "cpu_time": "ns", "bytes_per_second": "B/s", "items_per_second": "1/s"}, {}, 1790841600000),
        ("google-benchmark", None, {"name": "BM_sum/64", "threads": 2}, {"real_time": 27.0, "cpu_time": 26.0, "items_per_second": 4e7},
         {"real_time": "ns", "cpu_time": "ns", "items_per_second": "1/s"}, {}, 1790841600000))),
    ("pytest-benchmark", "pytest-benchmark.json", (
        ("parser", "0a1b2c", {"name": "tests/test_parse.py::test_parse[big]", "size": "big"},
         {"seconds": 0.02, "median": 0.02, "mean": 0.03, "min": 0.01, "ops": 33.3},
         {"seconds": "s", "median": "s", "mean": "s", "min": "s", "ops": "1/s"}, {"seconds": 3}, 1790841600250),)),
    ("pyperf", "pyperf.json", (
        ("pypy", "3.10.14 (64-bit)", {"name": "json_loads"}, {"value": 0.5}, {"value": "second"}, {"value": 3}, None),
        ("pypy", "3.10.14 (64-bit)", {"name": "json_dumps"}, {"value": 2.0}, {"value": "second"}, {"value": 1}, None))),
    ("fio", "fio.json", (
        ("fio", "fio-3.36", {"ioengine": "libaio", "bs": "8k", "rw": "randrw", "jobname": "mix"},
         {"read_iops": 1000.5, "read_bytes_per_second": 4096000, "read_latency_mean": 90000.5, "read_latency_p99": 200000,
          "write_iops": 500.25, "write_bytes_per_second": 2048000, "write_latency_mean": 80000, "write_latency_p99": 300000},
         {f"{way}_{what}": unit for way in ("read", "write") for what, unit in (
          ("iops", "1/s"), ("bytes_per_second", "B/s"), ("latency_mean", "ns"), ("latency_p99", "ns"))}, {}, 1790000000000),)),
    ("iperf3", "iperf3.json", (
        ("iperf3", "iperf 3.16", {"protocol": "TCP", "streams": 4, "seconds": 10, "block_bytes": 131072, "reverse": 1},
         {"sent": 9.5e9, "received": 9.4e9, "retransmits": 7}, {"sent": "bit/s", "received": "bit/s"}, {}, 1790000000000),)),
    ("sysbench", "sysbench.txt", (
        ("sysbench", "1.0.20", {"threads": 4, "prime_limit": 20000, "percentile": 95},
         {"events_per_second": 2500.5, "total_time": 10.0012, "events": 25010, "latency_min": 1.5, "latency_avg": 1.6, "latency_max": 9.0,
          "latency_percentile": 2.0}, {"events_per_second": "1/s", "total_time": "s", **LATENCIES}, {}, None),)),
    ("sysbench", "sysbench-memory.txt", (
        ("sysbench", "1.1.0", {"threads": 1, "percentile": 95},
         {"operations_per_second": 500000.0, "mib_per_second": 488.28, "events_per_second": 500000.0, "total_time": 2.0,
          "events": 1000000, "latency_min": 0.0, "latency_avg": 0.0, "latency_max": 1.25, "latency_percentile": 0.01},
         {"operations_per_second": "1/s", "mib_per_second": "MiB/s", "events_per_second": "1/s", "total_time": "s",
          **LATENCIES}, {}, None),)),
    ("STREAM", "stream.txt", tuple(
        ("stream", "5.10", {"array_size": 80000000, "threads": 8, "function": function},
         {"rate": rate, "avg_time": times[0], "min_time": times[1], "max_time": times[2]},
         {"rate": "MB/s", "avg_time": "s", "min_time": "s", "max_time": "s"}, {}, None)
        for function, rate, times in (("Copy", 90000.5, (0.0145, 0.0142, 0.015)), ("Scale", 80000.0, (0.0165, 0.016, 0.017))))),
    ("HPL", "hpl.txt", (
        ("hpl", "2.3", {"variant": "WR00L2L2", "N": 20000, "NB": 256, "P": 4, "Q": 8}, {"time": 25.5, "gflops": 209.15},
         {"time": "s", "gflops": "Gflop/s"}, {}, None),)),
    ("OSU", "osu.txt", (
        ("osu", "5.9", {"benchmark": "MPI Bandwidth", "measure": "Bandwidth", "size": 1}, {"value": 3.25}, {"value": "MB/s"}, {}, None),
        ("osu", "5.9", {"benchmark": "MPI Bandwidth", "measure": "Bandwidth", "size": 65536}, {"value": 11000.75},
         {"value": "MB/s"}, {}, None),
        ("osu", "7.4", {"benchmark": "MPI-CUDA Latency", "measure": "Avg Latency", "size": 8}, {"value": 2.5}, {"value": "us"}, {}, None),
        ("osu", "7.4", {"benchmark": "MPI Multiple Bandwidth / Message Rate", "measure": "MB/s", "size": 4}, {"value": 7.5},
         {"value": "MB/s"}, {}, None))),
    ("nccl-tests", "nccl-tests.txt", (
        ("nccl", None, {"threads": 1, "gpus": 8, "size": 1024, "count": 256, "type": "half", "redop": "max", "root": -1},
         {"time": 30.25, "algbw": 0.5, "busbw": 0.75, "in_place_time": 28.5, "in_place_algbw": 0.6, "in_place_busbw": 0.9},
         {"time": "us", "algbw": "GB/s", "busbw": "GB/s", "in_place_time": "us", "in_place_algbw": "GB/s", "in_place_busbw": "GB/s"},
         {}, None),
        ("nccl", None, {"threads": 1, "gpus": 8, "size": 2048, "count": 512, "type": "float", "redop": "sum"},
         {"time": 40.5, "algbw": 1.0, "busbw": 2.0, "in_place_time": 41.5, "in_place_algbw": 1.1, "in_place_busbw": 2.2},
         {"time": "us", "algbw": "GB/s", "busbw": "GB/s", "in_place_time": "us", "in_place_algbw": "GB/s", "in_place_busbw": "GB/s"},
         {}, None),
        ("nccl", None, {"threads": 1, "gpus": 8}, {"avg_busbw": 0.825}, {"avg_busbw": "GB/s"}, {}, None))),
    ("asv", "asv.json", (
        ("asv", "0a1b2c", {"benchmark": "suite.time_one", "environment": "virtualenv-py3.12", "machine": "box"}, {"value": 0.5}, {}, {},
         1790000000000), *(
        ("asv", "0a1b2c", {"benchmark": "suite.time_two", "param0": first, "param1": second, "environment": "virtualenv-py3.12",
                           "machine": "box"}, {"value": value}, {}, {}, 1790000000000)
        for value, first, second in ((1, "'a'", "1"), (2, "'a'", "2"), (3, "'a'", "3"), (4, "'b'", "1"), (5, "'b'", "2"),
                                     (None, "'b'", "3"))))),
    ("Phoronix", "phoronix.json", (
        ("pts/compress-7zip-1.11.0", "23.01", {"title": "7-Zip", "description": "Compression", "system": "before"},
         {"value": 100.5, "raw": 100.5}, {"value": "MIPS", "raw": "MIPS"}, {"raw": 3}, None),
        ("pts/compress-7zip-1.11.0", "23.01", {"title": "7-Zip", "description": "Compression", "system": "after"},
         {"value": 120, "raw": 120.0}, {"value": "MIPS", "raw": "MIPS"}, {"raw": 2}, None),
        ("phoronix", None, {"title": "Sensor", "description": "two disks", "system": "before"}, {"value": 55},
         {"value": "Watts"}, {}, None))),
    ("MLLOG", "mllog.txt", (
        ("mlperf", None, {"benchmark": "bert", "key": "eval_accuracy", "epoch": 2}, {"value": 0.71}, {}, {}, 1790000005000),)),
    ("github-action-benchmark", "github-action-benchmark.json", (
        ("github-action-benchmark", None, {"name": "Parse"}, {"value": 1250}, {"value": "ns/iter"}, {}, None),
        ("github-action-benchmark", None, {"name": "Throughput"}, {"value": 88.5}, {"value": "MB/s"}, {}, None))),
    ("Bencher", "bencher.json", (
        ("bencher", None, {"benchmark": "sort"}, {"latency": 10.5, "latency_lower": 9.5, "latency_upper": 11.5}, {}, {}, None),
        ("bencher", None, {"benchmark": "parse"}, {"latency": 3, "throughput": 7.5}, {}, {}, None))),
)


class Formats(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()
        self.directory = self.temporary_directory()

    def submit(self, *words, stdin=None, status=0, environment=None):
        done = self.running.perfctl("submit", *words, stdin=stdin, environment=environment)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def rows(self, name):
        rows = self.running.get(f"/api/v1/indicators/{name}/results?limit=100").json["results"]
        return rows[::-1]

    def test_each_format_is_stored_with_its_component_parameters_values_and_units(self):
        self.assertEqual({path.stem for path in (harness.ROOT / "conf" / "formats.d").glob("*.conf")},
                         {name.lower() for name, _, _ in FORMATS})
        for name, file, documents in FORMATS:
            with self.subTest(file):
                before = len(self.rows(name.lower())) if name == "sysbench" and "memory" in file else 0
                self.submit("--from", name, DATA / file)
                rows = self.rows(name.lower())[before:]
                self.assertEqual(len(rows), len(documents), rows)
                key = lambda document: json.dumps([document["@parameters"], document["@result"]], sort_keys=True)
                rows.sort(key=lambda row: key(row["document"]))
                for row, expected in zip(rows, sorted(documents, key=lambda d: json.dumps([d[2], d[3]], sort_keys=True))):
                    document = row["document"]
                    self.assertEqual((document["component"], document.get("version"), document["@parameters"], document["@result"],
                                      document.get("units", {}), document.get("samples", {})), expected[:6])
                    if expected[6]:
                        self.assertEqual(row["time_ms"], expected[6])

    def test_runs_that_failed_are_left_out(self):
        nccl = "# nThread 1 nGpus 2\n{} 4 float sum -1 9.89 0.10 0.10 {} 9.80 0.20 0.20 {}\n# Out of bounds values : {}\n"
        hpl = "WR00L2L2 {} 192 2 2 35.01 1.5e+02\nHPL_pdgesv() start\n||Ax-b|| = 1.2 ...... {}\n"
        stream = "STREAM version $Revision: 5.10 $\nCopy: {}.0 0.1 0.1 0.1\n-----\n{}\n"
        for name, text, results in (
                ("google-benchmark", json.dumps({"benchmarks": [
                    {"name": "a", "skipped": True, "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
                    {"name": "b", "real_time": 7, "cpu_time": 7, "time_unit": "ns"}]}),
                 [{"real_time": 7, "cpu_time": 7}]),
                ("hyperfine", json.dumps({"results": [{"command": "a", "times": [1, 1], "mean": 1, "exit_codes": codes}
                                                      for codes in ([0, 127], [0, 0], [None, 0])]}), [{"elapsed": 1, "mean": 1}]),
                ("iperf3", json.dumps([{"start": {"test_start": {"protocol": "TCP", "num_streams": 1}}, **more,
                                        "end": {"sum_sent": {"bits_per_second": rate}, "sum_sent_bidir_reverse": {"bits_per_second": 5}}}
                                       for rate, more in ((1, {"error": "control socket has closed"}), (2, {}))]),
                 [{"sent": 2, "sent_reverse": 5}]),
                ("iperf3", json.dumps([{"start": {"test_start": {"protocol": "UDP", "num_streams": 1}}, "end": {"sum": {
                    "bits_per_second": rate, "jitter_ms": 0, "lost_percent": 0}, **more}}
                    for rate, more in ((0, {}), (3, {"sum_received": {"bits_per_second": 0}}), (4, {}))]),
                 [{"udp": 4, "jitter": 0, "lost": 0}]),
                ("fio", json.dumps({"jobs": [{"jobname": "j", "error": 0, **{
                    way: {"total_ios": n, "iops": n, "bw_bytes": n, "clat_ns": {"N": 0, "mean": 0}} for way, n in (
                        ("read", reads), ("write", 0), ("trim", 0))}} for reads in (0, 8)]}),
                 [{"read_iops": 8, "read_bytes_per_second": 8}]),
                ("sysbench", "".join(f"sysbench 1.0.20\n reads/s: {rate}.0\n writes/s: 0.00\n total number of events: {n}\n"
                                     f"Latency (ms):\n min: 1.0\n avg: 2.0\n max: 3.0\n" for n, rate in ((0, 0), (9, 7))),
                 [{"reads_per_second": 7.0, "events": 9, "latency_min": 1.0, "latency_avg": 2.0, "latency_max": 3.0}]),
                ("pytest-benchmark", json.dumps({"benchmarks": [
                    {"fullname": "t", "stats": {"rounds": n, "median": n, "mean": n, "min": n}} for n in (0, 5)]}),
                 [{"median": 5, "mean": 5, "min": 5}]),
                ("hpl", hpl.format(1000, "FAILED") + hpl.format(2000, "PASSED"), [{"time": 35.01, "gflops": 150}]),
                ("nccl-tests", nccl.format(8, 12, 0, "12 FAILED") + nccl.format(16, 0, "N/A", "0 OK") + nccl.format(32, 0, 3, "3 FAILED"),
                 [{"time": 9.89, "algbw": 0.1, "busbw": 0.1, "in_place_time": 9.8, "in_place_algbw": 0.2, "in_place_busbw": 0.2}]),
                ("stream", stream.format(1, "Failed Validation on array a[]") + stream.format(2, "Solution Validates"),
                 [{"rate": 2, "avg_time": 0.1, "min_time": 0.1, "max_time": 0.1}]),
                ("osu", "# OSU MPI Latency Test v7.3\n# Size Latency (us) Validation\n1 1.2e+03 Pass\n2 0.11 Fail\n", [{"value": 1200}]),
                ("phoronix", json.dumps({"results": {"x": {"identifier": "pts/x", "results": {"one": {"value": ""}, "two": {"value": "3"}}},
                                                     "y": {"display_format": "LINE_GRAPH", "results": {"one": {"value": "1,2.5,3"}}}}}),
                 [{"value": None}, {"value": 3}]),
                ("phoronix", json.dumps({"results": {name: {"display_format": name, "results": {"s": {"value": value}}} for name, value in (
                    ("PASS_FAIL", "PASS"), ("BAR_GRAPH", 9))}}), [{"value": 9}]),
                ("asv", json.dumps({"commit_hash": "1a", "results": {"a": None, "b": [None, []], "c": [[2.5], []]}}), [{"value": 2.5}]),
                ("mllog", "".join(f':::MLLOG {{"time_ms": 1790000000000, "key": "a", "value": {value}}}\n' for value in (
                    '"x", "metadata": {"value": 3}', "NaN", 2)),
                 [{"value": None}, {"value": 2}])):
            with self.subTest(name):
                n = len(self.rows(name))
                err = self.submit("--from", name, stdin=text)
                self.assertEqual([row["document"]["@result"] for row in self.rows(name)[n:]], results)
                self.assertRegex(err, "leaves out: [1-9]|do not count: 1")

    def test_asv_of_before_version_0_5(self):
        self.submit("--from", "asv", stdin=json.dumps({"commit_hash": "1a", "params": {"machine": "box"}, "version": 1, "results": {
            "time_one": 0.5, "time_failed": None, "time_stats": {"result": [0.25], "stats": [{"n": 3}]}, "track_exact": True,
            "time_two": {"params": [["'a'", "'b'"], ["1", "2"]], "result": [1, None, 3, 4]}}}))
        read = lambda row: ({key: v for key, v in row["document"]["@parameters"].items() if key != "machine"},
                            row["document"]["@result"]["value"])
        self.assertEqual([read(row) for row in self.rows("asv")], [
            ({"benchmark": "time_one"}, 0.5), ({"benchmark": "time_stats"}, 0.25), ({"benchmark": "track_exact"}, True),
            *(({"benchmark": "time_two", "param0": first, "param1": second}, value)
              for first, second, value in (("'a'", "1", 1), ("'a'", "2", None), ("'b'", "1", 3), ("'b'", "2", 4)))])

    def test_a_heading_is_of_its_own_run(self):
        runs = "sysbench 1.0.20\nPrime numbers limit: 10000\n events per second: 1234.5\n{0}sysbench 1.0.20\n{0}".format(
            " total number of events: 10\nLatency (ms):\n min: 1.0\n avg: 2.0\n max: 3.0\n")
        self.submit("--from", "sysbench", stdin=runs)
        self.assertEqual(["events_per_second" in row["document"]["@result"] for row in self.rows("sysbench")], [True, False])
        self.submit("--from", "osu", stdin="# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# [ pairs: 4 ]\n"
                    "# Size  MB/s  Messages/s\n1 8.55 8549623.33\n# OSU MPI Allreduce Latency Test v7.3\n"
                    "# Size   Avg Latency(us)\n4 2.38\n")
        self.assertEqual([(row["document"]["@parameters"]["measure"], row["document"]["@result"]["value"]) for row in self.rows("osu")],
                         [("MB/s", 8.55), ("Avg Latency", 2.38)])

    def test_elements_and_paths_are_options(self):
        self.submit("--each", "x[].in", "--indicator", "inner", "--component", "c", "--parameter-from", "k=@key", "--parameter-from", "n=n",
                    "--result-from", "v=v", stdin='{"x": {"a": {"n": "out", "in": {"v": 1}}, "b": {"n": "x", "in": {"v": 2, "n": "own"}}}}')
        self.assertEqual([row["document"]["@parameters"] for row in self.rows("inner")], [{"k": "a", "n": "out"}, {"k": "b", "n": "own"}])
        text = json.dumps({"app": "solver", "runs": {"a": [{"v": [3, [1, 2], None], "deep": {"x-y": [{"s": "7.5"}]}}], "b": [{"v": []}]}})
        err = self.submit("--each", "runs[][]", "--indicator", "own", "--component-from", "app", "--parameter-from", "kind=@key[1]",
                          "--parameter-from", "index=@key", "--result-from", "v=v", "--result-from", 's=deep."x-y"[0].s?', "--unit", "v=ms",
                          "--unit", "none=s", stdin="starting\n" + text)
        self.assertIn("numbers that are null, NaN or infinite, and do not count: 1", err)
        a, b = (row["document"] for row in self.rows("own"))
        self.assertEqual((a["component"], a["@parameters"], a["@result"], a["units"], a["samples"]),
                         ("solver", {"kind": "a", "index": "0"}, {"v": 2.0, "s": 7.5}, {"v": "ms"}, {"v": 3}))
        self.assertEqual((b["@result"], "samples" in b), ({"v": None}, False))

    def test_lines_are_matched_with_named_groups(self):
        text = "solver 2.1\n  rate: 10.5 MB/s ok\nrate 11\r\nrate: 1e3 GB/s bad\n"
        self.submit("--line", r"rate: (?<rate>[\d.e]+) (?<unit>\S+) (?<state>\w+)", "--heading", r"^(?<component>\w+) (?<version>[\d.]+)",
                    "--unit-from", "rate=unit", "--indicator", "lines", "--where", "state!=bad", stdin=text)
        document, = (row["document"] for row in self.rows("lines"))
        self.assertEqual(document, {"name": "lines", "component": "solver", "version": "2.1", "@parameters": {"state": "ok"},
                                    "@result": {"rate": 10.5}, "units": {"rate": "MB/s"}})

    def test_many_lines_take_time_in_proportion(self):
        text = "".join(f"row {i} \u00b1 rate {i}.5 MB/s \n" for i in range(20000))
        words = ("--line", r"^row (?<row>\d+) . rate (?<rate>[\d.]+).MB/s", "--indicator", "many", "--component", "c",
                 "--where", "row=19999")
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.submit(*words, "--parameter-from", "row=row", stdin=text)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(end.ru_utime - begin.ru_utime, 5) # 30 s if each match checked the whole text
        self.assertEqual([row["document"]["@result"] for row in self.rows("many")], [{"rate": 19999.5}])

    def test_what_is_missing_or_wrong_is_named(self):
        good = ("--indicator", "i", "--component", "c", "--result-from")
        for words, stdin, text, status in (
                ((*good, "v=a.b"), '{"a": {}}', ":1: 'a.b' is missing", 1),
                (("--each", "x[].y", *good, "v=v"), '{"x": [{"y": {"v": 1}}, {"v": 1}]}', ":1: [1]: 'x[].y' is missing", 1),
                (("--each", "x[]", *good, "v=v"), '\n{"x": [{"v": 1}, {"v": "0,98"}]}',
                 ":2: [1]: 'v' is '0,98', not a number: decimal comma?", 1),
                (("--each", "x[]", *good, "v=v"), '{"x": [{"v": [1, true]}]}', ":1: [0]: 'v' is a boolean, not a number", 1),
                (("--each", "x[]", "--each", "y.z[]", *good, "v=v"), '{"y": {}}', ":1: 'y.z[]' is missing", 1),
                (("--result-where", "v", *good, "v=v"), "{}", "--result-where expects NAME=CONDITION", 2),
                (("--result-where", "v=n!=0", *good, "v=v"), '{"v": 0, "n": 0}', "--where leaves out all elements: 1 (v=n!=0)", 1),
                (("--each", "x[]", *good, "v=v"), '{"x": [{"v": {}}]}', ":1: [0]: 'v' is an object, not a number", 1),
                (("--each", "x[]", *good, "v=v?"), '{"x": [{}]}', ":1: [0]: has no result", 1),
                (("--each", "x[]", *good, "v=v"), '{"x": []}', ":1: has nothing of this format", 1),
                (("--each", "x[]", "--where", "a=1", *good, "v=v"), '{"x": [{}, {}]}', "--where leaves out all elements: 2 (a=1)", 1),
                ((*good, "v=v", "--time-from", "t"), '{"v": 1, "t": "noon"}', "'t' is 'noon', not a time", 1),
                ((*good, "v=v"), '{"v": 1,}', ":1: column 9: expected a key", 1),
                (("--component", "c", "--each", "x[]"), "{}", "needs the name of its indicator", 2),
                (("--indicator", "i", "--result-from", "v=v"), "{}", "needs a component", 2),
                (("--indicator", "i", "--component", "c", "--each", "x[]"), "{}", "needs at least one result", 2),
                ((*good, "v=a..b"), "{}", "--result-from expects NAME=PATH", 2),
                (("--each", "a[*]"), "{}", "--each expects a path", 2),
                (("--indicator", "i", "--component", "c", "--line", "(?<a>1"), "1", "missing closing parenthesis at character 7", 1),
                (("--indicator", "i", "--component", "c", "--line", "1"), "1", "expected 1 to 64 named groups", 1),
                (("--indicator", "i", "--component", "c", "--line", "(?<v>(a+)+$)"), "a" * 50 + "b", "match limit exceeded", 1),
                (("--indicator", "i", "--component", "c", "--line", "(?<v>x)"), "y\n", "has nothing of this format", 1),
                (("--indicator", "i", "--component", "c", "--line", r"(?<v>\S+)"), "0,98",
                 ":1: has no result: 'v' is '0,98', not a number: decimal comma?", 1),
                (("--indicator", "i", "--line", r"(?<v>\S+)"), "1", "needs a component: add --component, --component-from or a group", 2),
                (("--from", "none"), "{}", "unknown format 'none'; ", 2),
                (("--from", "none"), "{}", "formats.d has asv, bencher, fio, ", 2)):
            with self.subTest(words=words):
                self.assertIn(text, self.submit(*words, stdin=stdin, status=status))
        self.assertEqual(self.running.get("/api/v1/results").json["results"], [])

    def test_a_file_of_options_may_be_ones_own(self):
        path = self.directory / "mine.conf"
        path.write_bytes("\ufeff# mine\r\nindicator = mine\r\ncomponent = c\r\neach = []\r\nresult-from = v=v\r\n".encode())
        rows = '[{"v": 1, "n": "x"}]'
        self.submit("--from", path, "--parameter-from", "n=n", stdin=rows)
        self.submit("--from", "mine", "--component", "own", stdin=rows, environment={"PERFD_FORMATS": str(self.directory)})
        self.assertEqual([(row["document"]["component"], row["document"]["@parameters"]) for row in self.rows("mine")],
                         [("c", {"n": "x"}), ("own", {})])
        for line, text in (("colour = red", "mine.conf:1: expected an option of a format"), ("each =", "mine.conf:1: expected an option"),
                           ("\neach = a[", "mine.conf:2: --each expects a path"), ("from = fio", "mine.conf:1: expected an option")):
            path.write_text(line + "\n")
            self.assertIn(text, self.submit("--from", path, stdin="{}", status=1))

    def test_a_run_prints_the_format(self):
        done = self.running.perfctl("run", "--job", "timed", "--from", "hyperfine", "--component", "zstd", "--",
                                    "cat", DATA / "hyperfine.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.running.get("/api/v1/results?job=timed").json["results"]
        self.assertEqual({(row["document"]["component"], row["document"]["@result"]["elapsed"]) for row in rows},
                         {("zstd", 0.3), ("zstd", 1.5)})
        self.assertIn("wall_seconds", rows[0]["run"])
        done = self.running.perfctl("run", "--from", "fio", "--", "echo", "no json")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no indicator submitted: output:1: has nothing of this format", done.stderr)
        self.assertEqual(self.running.perfctl("run", "--from", "none", "--", "true").returncode, 2)

    def test_without_the_library_text_is_refused_and_json_read(self):
        library = self.directory / "libpcre2-8.so.0"
        library.write_bytes(b"")
        environment = {"LD_LIBRARY_PATH": str(self.directory)}
        err = self.submit("--from", "stream", DATA / "stream.txt", status=1, environment=environment)
        self.assertIn("regular expressions need libpcre2-8.so.0 (package libpcre2-8-0, or pcre2): ", err)
        self.submit("--from", "bencher", DATA / "bencher.json", environment=environment)


if __name__ == "__main__":
    unittest.main()
