"""Runs each example as a job with small sizes, and checks the stored results."""

import subprocess
import unittest

import harness

SMALL = {
    "MATMUL_MATRIX_SIZE": "24", "MATMUL_REPS": "3", "BANDWIDTH_MIB": "1", "BANDWIDTH_REPS": "3", "DISK_REPS": "3",
    "HELLO_REPS": "2", "HELLO_PYTHON": "/usr/bin/python3", "MEMSET_BLOCKS": "4", "MEMSET_REPS": "2",
}
# Program: name, component, expected parameters, expected results.
EXPECTED = {
    "matmul": ("PiMatmul", "c", {"matrix_size": 24, "reps": 3}, ("elapsed", "rate")),
    "matmul.py": ("PiMatmul", "python", {"matrix_size": 24, "reps": 3}, ("elapsed", "rate")),
    "bandwidth": ("MemoryBandwidth", "c", {"array_mib": 1, "reps": 3}, ("elapsed_s", "bytes_per_second")),
    "disk_latency.py": ("DiskLatency", "linux", {"block_bytes": 4096, "reps": 3}, ("median_us", "p99_us", "max_us")),
    "hello_import.sh": ("HelloImport", "python", {"reps": 2}, ("elapsed_s",)),
    "memset.sh": ("Memset", "coreutils", {"blocks": 4, "reps": 2}, ("elapsed_s", "rate_mib_per_s")),
}
SOURCES = harness.ROOT / "examples" / "indicators"


def find_program(name):
    return SOURCES / name if "." in name else harness.BUILD / "examples" / name


class Examples(harness.TestCase):
    def test_each_is_known_here(self):
        found = {p.name for p in SOURCES.iterdir() if p.suffix in (".py", ".sh")} | {p.stem for p in SOURCES.glob("*.c")}
        self.assertEqual(found, set(EXPECTED))

    def test_what_each_measures_is_stored_for_its_job(self):
        daemon = self.daemon(f"[indicators]\ndirectory = {harness.ROOT}/conf/indicators.d\n")
        for program, (name, component, parameters, results) in EXPECTED.items():
            with self.subTest(program):
                job = f"example-{program}"
                done = daemon.perfctl("run", "--job", job, "--", find_program(program), environment=SMALL)
                self.assertEqual(done.returncode, 0, done.stderr)
                stored = daemon.get(f"/api/v1/results?job={job}").json["results"]
                self.assertEqual([(r["name"], r["component"]) for r in stored], [(name, component)])
                document = stored[0]["document"]
                self.assertLessEqual(parameters.items(), document["@parameters"].items())
                self.assertEqual(set(document["@result"]), set(results))
                self.assertTrue(all(value >= 0 for value in document["@result"].values()), document)

        # Results with a model conform to the model.
        self.assertEqual(daemon.metrics()["perfd_indicator_deviations_total"], 0)

    def test_wrong_settings_are_named(self):
        for program in ("matmul", "bandwidth"):
            done = subprocess.run([find_program(program)], env={"MATMUL_REPS": "none", "BANDWIDTH_MIB": "0"}, text=True,
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("expected an integer of at least 1", done.stderr)


if __name__ == "__main__":
    unittest.main()
