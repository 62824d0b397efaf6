"""Checks what perfctl says about the cases that SPDL's documentation has published, and about recordings of our own of the same pipelines.

Each row of the tables has the case, what has to be said, and words of the sentence. The statistics are read from the file, and imported
into a job of a real perfd: both have the same verdict. The neighbour of a job is in test_pipelines, as its numbers are those of the job.
"""

import json
import pathlib
import unittest

import harness
from harness import FIXTURES, ROOT, spdl_lines

OWN = ROOT / "tests" / "data" / "pipelines"
PUBLISHED = FIXTURES / "spdl" / "data"
MORE = "more concurrency"
FAST = ("consumer", None, "none"), "keeps up with the training loop, which is the limit"
BESIDE = FAST[0], "keeps up with the training loop, which waits for another pipeline"  # the recording has several in one job

# Published cases: file, words of the command, (limit, stage, direction), words that are said.
CASES = (
    ("pipeline_performance_analysis", ("--threads", 12), ("handover", "sink", "larger buffer"), "gpu_transfer waits for room 74 %"),
    ("example_simu_single1", (), *FAST),
    ("example_simu_single2", (), ("stage", "35ms", MORE), "35ms is the limit"),
    ("example_simu_multi1", (), ("stage", "40ms", MORE), "40ms is the limit: its 1 worker is busy 100 %"),
    ("example_simu_multi2", (), ("stage", "40ms", MORE), "the training loop limits next."),
    ("example_simu_multi3", (), *FAST),
    ("example_simu_agg1", (), *FAST),
)
# The same pipelines and two more of the documentation, recorded with SPDL 0.8 and a loop of 30 ms: number of the pipeline.
RECORDED = (
    ("one stage of 25 ms", 0, *BESIDE),
    ("one stage of 35 ms", 1, ("stage", "35ms", MORE), "35ms is the limit"),
    ("10, 25 and 40 ms", 2, ("stage", "40ms", MORE), "40ms is the limit: its 1 worker is busy 99 %"),
    ("40, 25 and 10 ms", 3, ("stage", "40ms", MORE), "40ms is the limit: its 1 worker is busy 99 %"),
    ("10, 25 and 40 ms with two workers", 4, *BESIDE),
    ("6 ms and batches of 4", 5, *BESIDE),
    ("6 ms and batches of 6", 6, ("stage", "6ms", MORE), "6ms is the limit"),
)
# Published measures of each rank: file, measure, straggler, and the ranks that are slow in turn.
RANKS = (
    ("straggler_data_readiness", "readiness", "0", ["4", "0"]),
    ("across_ranks_data_readiness", "readiness", "19", []),
    ("across_ranks_compose", "readiness", "19", []),
    ("across_ranks_decompress", "readiness", None, []),
    ("across_ranks_download", "time", None, []),
    ("across_ranks_compose_ave_time", "time", None, []),
)


def verdict(pipeline):
    return tuple(pipeline[key] for key in ("limit", "stage", "direction"))


class PipelineCases(harness.TestCase):
    def begun(self, *jobs):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        with daemon.client() as client:
            for job in jobs:
                self.assert_status(client.begin(job), "OK")
        return daemon

    def said(self, daemon, *words, stdin=None):
        done = daemon.perfctl("pipeline", "show", "--json", *words, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def imported(self, daemon, job, path, *words):
        """Pipes the lines of a file to perfctl. Returns the lines."""
        lines = spdl_lines(path)
        self.assertEqual((lines.returncode, lines.stderr), (0, ""))
        done = daemon.perfctl("pipeline", "submit", "--job", job, *words, "-", stdin=lines.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return lines.stdout

    def check(self, case, expected, sentence, pipelines):
        """Compares what is said of a file and of a job with what has to be said."""
        table = [f"{case}: expected {', '.join(map(str, expected))}; said {', '.join(map(str, verdict(pipeline)))}: "
                 f"{' '.join(pipeline['evidence'])}" for pipeline in pipelines]
        for pipeline, row in zip(pipelines, table):
            self.assertEqual(verdict(pipeline), expected, row)
            self.assertIn(sentence, " ".join(pipeline["evidence"]), row)
        of_file, of_job = pipelines
        self.assertAlmostEqual(of_file["wait_share"], of_job["wait_share"], places=4)
        self.assertEqual(len(of_file["stages"]), len(of_job["stages"]))

    @unittest.skipUnless(PUBLISHED.is_dir(), "no published data are there")  # they are not part of the project
    def test_published_pipelines(self):
        daemon = self.begun(*(case[0] for case in CASES))
        for file, words, expected, sentence in CASES:
            with self.subTest(file):
                path = PUBLISHED / f"{file}.json"
                lines = self.imported(daemon, file, path)
                again = daemon.perfctl("pipeline", "submit", "--job", file, "-", stdin=lines)
                self.assertRegex(again.stderr, r"(\d+) of \1 intervals were stored before")
                self.check(file, expected, sentence, self.said(daemon, *words, "-", file, stdin=lines)["pipelines"])

    def test_recorded_pipelines(self):
        daemon = self.begun("recorded")
        path = OWN / "spdl_0.8_simulations.json"
        lines = self.imported(daemon, "recorded", path, "--producer", "spdl=0.8")
        pipelines = self.said(daemon, "--producer", "spdl=0.8", "-", "recorded", stdin=lines)["pipelines"]
        self.assertEqual(len(pipelines), 2 * len(RECORDED))
        for case, number, expected, sentence in RECORDED:
            with self.subTest(case):
                self.check(case, expected, sentence, [pipeline for pipeline in pipelines if pipeline["pipeline"] == number])

    @unittest.skipUnless(PUBLISHED.is_dir(), "no published data are there")  # they are not part of the project
    def test_published_stragglers(self):
        daemon = self.begun()
        for file, measure, rank, in_turn in RANKS:
            with self.subTest(file):
                found = self.said(daemon, "--measure", measure, PUBLISHED / f"{file}.json")["stragglers"]
                self.assertEqual([(straggler["rank"], straggler["in_turn"]) for straggler in found], [(rank, in_turn)] if rank else [],
                                 f"{file}: said {found}")

    def test_the_straggler_of_a_run_is_the_job_of_its_rank(self):
        """Ranks are jobs. One of them has the pipeline whose first stage takes 40 ms instead of 10 ms."""
        lists = json.loads((OWN / "spdl_0.8_simulations.json").read_text())
        jobs = [f"rank-{rank}" for rank in range(5)]
        daemon = self.begun(*jobs)
        for rank, job in enumerate(jobs):
            one = {name.replace("40ms" if rank == 3 else "10ms", "decode"): values for name, values in lists.items()
                   if name.startswith(("3:0:", "3:1:") if rank == 3 else ("2:0:", "2:1:"))}
            path = pathlib.Path(self.temporary_directory()) / "rank.json"
            path.write_text(json.dumps({f"0:{name[2:]}": values for name, values in one.items()}))
            self.imported(daemon, job, path, "--producer", "spdl=0.8")
        stragglers = self.said(daemon, *jobs)["stragglers"]
        self.assertIn(("rank-3", "decode", "time"), [(found["rank"], found["stage"], found["measure"]) for found in stragglers])
        self.assertEqual({found["rank"] for found in stragglers}, {"rank-3"})
        text = daemon.perfctl("pipeline", "show", *jobs).stdout
        self.assertRegex(" ".join(text.split()),
                         r"rank-3 is a straggler: a task of decode takes 40\.\d* ms, the median of 5 ranks is 10\.\d* ms")
