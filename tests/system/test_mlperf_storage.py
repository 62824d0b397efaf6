"""Checks perfctl import mlperf-storage with small files, and with a published run."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import FIXTURES, PERFCTL, ROOT, TIMEOUT_S

DATA = ROOT / "tests" / "data" / "mlperf-storage"
PUBLISHED = FIXTURES / "mlperf" / "unet3d_h100"


def show(directory, *options):
    return subprocess.run([str(PERFCTL), "import", "mlperf-storage", *options, str(directory)], text=True, capture_output=True,
                          timeout=TIMEOUT_S)


class MlperfStorage(unittest.TestCase):
    def test_shares_and_spread(self):
        done = show(DATA)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^ +0 +1 +block1 +4 +37\.5 +15\.0 +7\.5 +40\.0 +3\.00$")
        self.assertIn("Rank 0, epoch 2, block1: not known: 2 load times for 3 steps\n", done.stdout)
        self.assertIn("Epoch 1, block1: mean 33.8 %, 30.0 to 37.5 % over 2 ranks, lowest on rank 1\n", done.stdout)
        self.assertIn("Results of 2 of 3 accelerators.\n", done.stdout)

    def test_a_cut_file_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            run = pathlib.Path(directory, "run")
            shutil.copytree(DATA, run)
            text = (run / "1_output.json").read_text()
            (run / "1_output.json").write_text(text[:len(text) // 2])
            done = show(run)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"/run/1_output\.json:\d+:\d+: ")

    @unittest.skipUnless(PUBLISHED.is_dir(), "a published run is not there (PERFD_FIXTURES)")
    def test_a_published_run(self):
        """The run reports the utilization of each rank and epoch itself, by the clock of the rank."""
        blocks = json.loads(show(PUBLISHED, "--json").stdout)["blocks"]
        self.assertEqual(len(blocks), 15)
        for block in blocks:
            published = json.loads((PUBLISHED / f"{block['rank']}_output.json").read_text())[str(block["epoch"])]["au"][block["block"]]
            self.assertAlmostEqual(block["utilization_percent"], published, delta=0.03)
            parts = [block[f"{name}_percent"] for name in ("utilization", "loading", "other", "outside")]
            self.assertAlmostEqual(sum(parts), 100, delta=0.1)
        self.assertEqual([f"{blocks[0][f'{name}_percent']:.1f}" for name in ("utilization", "loading", "other", "outside")],
                         ["92.7", "1.0", "0.1", "6.1"])


if __name__ == "__main__":
    unittest.main()
