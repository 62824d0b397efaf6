"""Checks examples/mlperf_storage.py with small files, with a published run, and with a real perfd."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import harness
from harness import BUILD, FIXTURES, ROOT, TIMEOUT_S

DATA = ROOT / "tests" / "data" / "mlperf-storage"
PUBLISHED = FIXTURES / "mlperf" / "unet3d_h100"


def show(directory, *options, **environment):
    return subprocess.run([sys.executable, ROOT / "examples" / "mlperf_storage.py", *options, str(directory)], text=True,
                          capture_output=True, timeout=TIMEOUT_S, env={**os.environ, **environment})


class MlperfStorage(harness.TestCase):
    def changed(self, name, change):
        """Shows a copy of the run in which the text of a file is changed."""
        run = pathlib.Path(self.temporary_directory(), "run")
        shutil.copytree(DATA, run)
        (run / name).write_text(change((run / name).read_text()))
        return show(run)

    def test_shares_and_spread(self):
        done = show(DATA)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^ +0 +1 +block1 +4 +37\.5 +15\.0 +7\.5 +40\.0 +3\.00$")
        self.assertRegex(done.stdout, r"(?m)^ +0 +2 +block1 +not known: 2 load times for 3 steps$")
        self.assertIn("Epoch 1, block1: mean 33.8 %, 30.0 to 37.5 % over 2 ranks, lowest on rank 1\n", done.stdout)
        self.assertIn("Results of 2 of 3 accelerators.\n", done.stdout)

    def test_a_cut_file_is_named(self):
        done = self.changed("1_output.json", lambda text: text[:len(text) // 2])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"/run/1_output\.json:\d+:\d+: ")

    def test_shares_that_are_not_known_have_a_reason(self):
        for name, old, new, reason in (("1_output.json", "3.0", "-1", "proc[0] is not a time in seconds"),
                                       ("1_output.json", '"compute"', '"idle"', "no list of compute times"),
                                       ("1_output.json", "3.0", "20.0", "the first step took as long as the block"),
                                       ("per_epoch_stats.json", '"block1"', '"block2"', "no duration in per_epoch_stats.json")):
            with self.subTest(reason):
                done = self.changed(name, lambda text: text.replace(old, new))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"not known: {reason}", done.stdout)
        self.assertIn("no results of MLPerf Storage", show(self.temporary_directory()).stderr)

    def test_the_pipeline_of_a_run_is_submitted(self):
        """The loads are the waits of the loop. An epoch without its end cannot be submitted, and is named."""
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        with daemon.client() as client:
            self.assert_status(client.begin("run"), "OK")
        done = show(DATA, "--job", "run", PATH=f"{BUILD}:{os.environ['PATH']}", PERFD_SOCKET=str(daemon.socket))
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.endswith("\n2 sent\n"), done.stdout)
        self.assertEqual(done.stderr.splitlines(), [
            "mlperf_storage: rank 0, epoch 2, block1: not submitted: 2 load times for 3 steps",
            "mlperf_storage: rank 1, epoch 2, block1: not submitted: no end in per_epoch_stats.json"])
        stages = daemon.get("/api/v1/jobs/run/pipeline").json["stages"]
        self.assertEqual([(stage["pipeline"], stage["queue"]["num_items"], stage["queue"]["get_wait_s"]) for stage in stages],
                         [(0, 4, 3.5), (1, 4, 3.5)])
        self.assertEqual({stage["queue"]["elapsed_s"] for stage in stages}, {13})
        self.assertIn("waited for data 26.9 % of the time", daemon.perfctl("pipeline", "show", "run").stdout)

    @unittest.skipUnless(PUBLISHED.is_dir(), "a published run is not installed (PERFD_FIXTURES)")
    def test_a_published_run(self):
        """The run reports the utilization of each rank and epoch itself, by the clock of the rank."""
        blocks = json.loads(show(PUBLISHED, "--json").stdout)["blocks"]
        self.assertEqual(len(blocks), 15)
        for block in blocks:
            published = json.loads((PUBLISHED / f"{block['rank']}_output.json").read_text())[str(block["epoch"])]["au"][block["block"]]
            self.assertAlmostEqual(block["au"], published, delta=0.03)
            parts = [block[name] for name in ("au", "loading", "other", "outside")]
            self.assertAlmostEqual(sum(parts), 100, delta=0.1)
        self.assertEqual([f"{blocks[0][name]:.1f}" for name in ("au", "loading", "other", "outside")],
                         ["92.7", "1.0", "0.1", "6.1"])


if __name__ == "__main__":
    unittest.main()
