"""Runs real data pipelines of SPDL, from PyPI, and of PyTorch with the adapters of clients/python, and asks a real perfd about them."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import unittest

import harness
from harness import BUILD, ROOT

CLIENTS = ROOT / "clients" / "python"
VERSIONS = {"0.6": ("spdl==0.6.0", "spdl_core==0.6.0", "spdl_io==0.6.0"), "newest": ("spdl==0.8.0",)}

# 4 workers decode for 10 ms each, and every item takes the loop 1 ms: the loop waits for decode. One item of eight fails.
SPDL = """
    import time
    import perfd_spdl

    perfd_spdl.install(interval=0.2)
    from spdl.pipeline import PipelineBuilder

    def decode(item):
        time.sleep(0.01)
        if item % 8 == 7:
            raise ValueError(item)
        return item

    builder = PipelineBuilder().add_source(range(240)).pipe(decode, concurrency=4).add_sink(3)
    pipeline = builder.build(num_threads=8)
    items = []
    with pipeline.auto_stop():
        for item in pipeline:
            items.append(item)
            time.sleep(0.001)
    print(len(items))
    """

# The same pipeline as users run it: it logs its statistics, and exports those of the intervals as SPDL's example does.
LOGGED = """
    import collections, json, logging, sys, time
    from spdl.pipeline import PipelineBuilder, StatsQueue, TaskStatsHook

    logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", stream=sys.stdout)
    lists = collections.defaultdict(list)

    def export(label, stats, *names):
        lists[f"{label}_timestamp"].append(time.time())
        for name in names:
            lists[f"{label}_{name}"].append(getattr(stats, name))

    class Hook(TaskStatsHook):
        async def interval_stats_callback(self, stats):
            await super().interval_stats_callback(stats)
            export(self.info, stats, "num_tasks", "num_failures", "ave_time")

    class Queue(StatsQueue):
        async def interval_stats_callback(self, stats):
            await super().interval_stats_callback(stats)
            export(f"{self.info}_queue", stats, "qps", "occupancy_rate", "ave_put_time", "ave_get_time", "num_items")

    def decode(item):
        time.sleep(0.01)
        if item % 8 == 7:
            raise ValueError(item)
        return item

    interval = float(sys.argv[1])
    builder = PipelineBuilder().add_source(range(240)).pipe(decode, concurrency=4).add_sink(3)
    pipeline = builder.build(num_threads=8, task_hook_factory=lambda info: [Hook(info, interval=interval)],
                             queue_class=lambda info, **more: Queue(info, **{**more, "interval": interval}))
    with pipeline.auto_stop():
        for item in pipeline:
            time.sleep(0.001)
    with open(sys.argv[2], "w") as file:
        json.dump(lists, file)
    """

TORCH = """
    import copy
    import pickle
    import time
    import torch
    from perfd_torch import DataLoader

    class Samples(torch.utils.data.Dataset):
        size = 48

        def __len__(self):
            return self.size

        def __getitem__(self, index):
            time.sleep(0.01)
            return torch.tensor(index)

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(8))

    class Range(torch.utils.data.IterableDataset):
        start, end = 0, 4

        def __iter__(self):
            return iter(range(self.start, self.end))

    def share(worker):
        # The documentation of PyTorch shares the work of an iterable dataset in this way.
        dataset = torch.utils.data.get_worker_info().dataset
        dataset.start, dataset.end = 2 * worker, 2 * worker + 2

    loader = DataLoader(Samples(), batch_size=4, num_workers=2, report_interval=0.1)
    print(loader.dataset.size, len(loader), [sum(int(batch.sum()) for batch in loader) for _ in range(2)])
    print([batch.tolist() for batch in DataLoader(Stream(), batch_size=4)])
    print(sorted(int(batch) for batch in DataLoader(Range(), batch_size=None, num_workers=2, worker_init_fn=share)))
    print(isinstance(loader.dataset, Samples))
    copies = copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(DataLoader(range(8), batch_size=4)))
    print([sum(len(batch) for batch in each) for each in copies])
    """

SPAWNED = """
    from perfd_torch import DataLoader

    if __name__ == "__main__":
        print(sum(int(batch.sum()) for batch in DataLoader(range(12), batch_size=4, num_workers=1, multiprocessing_context="spawn")))
    """

# A loader for each epoch, whose workers start slowly, and one without workers.
EPOCHS = """
    import time
    import torch
    from perfd_torch import DataLoader

    class Samples(torch.utils.data.Dataset):
        def __len__(self):
            return 48

        def __getitem__(self, index):
            time.sleep(0.005)
            return torch.tensor(index)

    samples, others = Samples(), Samples()
    for epoch in range(4):
        for batch in DataLoader(samples, batch_size=4, num_workers=2, worker_init_fn=lambda _: time.sleep(0.5)):
            time.sleep(0.02)
    for batch in DataLoader(others, batch_size=4):
        time.sleep(0.06)
    """

# As programs are written that know nothing of perfd: a library makes the loader.
UNAWARE = """
    import os, sys, time
    import torch.distributed
    import torch.utils.data

    class Samples(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, index):
            time.sleep(0.01)
            return torch.tensor(index)

    sampler = None
    if "RANK" in os.environ:
        torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=int(os.environ["RANK"]), world_size=2)
        sampler = torch.utils.data.DistributedSampler(Samples(), shuffle=False)
    n = 0
    for batch in torch.utils.data.DataLoader(Samples(), batch_size=2, num_workers=2, sampler=sampler):
        total = torch.tensor([int(batch.numel())])
        if sampler:
            torch.distributed.all_reduce(total)
        n += int(total)
    print(n)
    """


def find_spdl(version):
    return harness.python_environment(f"spdl-{version}", *VERSIONS[version])


class Adapters(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.server = self.daemon("[sampling]\ninterval = 100ms\n")
        with self.server.client() as client:
            self.assert_status(client.begin("train"), "OK")

    def python(self, interpreter, program, *words, **more):
        environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "PERFD_SOCKET": str(self.server.socket),
                       "PERFD_JOB": "train", "PYTHONPATH": str(CLIENTS), "PYTHONDONTWRITEBYTECODE": "1", **more}
        # Workers that are spawned read the program from a file.
        path = pathlib.Path(self.temporary_directory()) / "program.py"
        path.write_text(textwrap.dedent(program))
        done = subprocess.run([interpreter, path, *words], env=environment, text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def stages(self, number=0):
        stages = self.server.get("/api/v1/jobs/train/pipeline").json["stages"]
        return {stage["name"]: stage for stage in stages if stage["pipeline"] == number}

    def diagnosis(self, number=0):
        done = self.server.perfctl("pipeline", "show", "--json", "train")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["pipelines"][number]

    def check_spdl(self, version):
        self.assertEqual(self.python(find_spdl(version), SPDL), "210\n")
        stages = self.stages()
        self.assertEqual(list(stages), ["src", "decode", "sink"])
        decode = stages["decode"]["tasks"]
        # All tasks are there: those of the regular intervals, and those after the last.
        self.assertEqual([decode["num_tasks"], decode["num_failures"]], [240, 30])
        self.assertGreaterEqual(decode["intervals"], 3)
        self.assertEqual(stages["sink"]["queue"]["buffer_size"], 3)
        self.assertTrue(stages["decode"]["producer"].startswith("spdl 0."))
        self.assertEqual(self.server.get("/api/v1/jobs/train/pipeline").json["description"]["threads"], 8)
        said = self.diagnosis()
        self.assertEqual([said[key] for key in ("limit", "stage", "direction")], ["stage", "decode", "more concurrency"])
        self.assertGreater(said["first_batch_seconds"], said["first_wait_seconds"])
        self.assertGreaterEqual(said["first_wait_seconds"], 0)
        self.assertGreater(said["wait_share"], 0.3)

    def test_spdl_0_6(self):
        self.check_spdl("0.6")

    def test_newest_spdl(self):
        self.check_spdl("newest")

    def imported(self, job, path):
        """Imports a file into a job of its own. Returns its stages."""
        with self.server.client() as client:
            self.assert_status(client.begin(job), "OK")
        lines = harness.spdl_lines(path)
        self.assertEqual((lines.returncode, lines.stderr), (0, ""))
        done = self.server.perfctl("pipeline", "submit", "--job", job, "-", stdin=lines.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {stage["name"]: stage for stage in self.server.get(f"/api/v1/jobs/{job}/pipeline").json["stages"]}

    def test_logs_and_exports_of_spdl_are_imported(self):
        for version in VERSIONS:
            for interval in (0.2, -1):
                with self.subTest(version=version, interval=interval):
                    directory = pathlib.Path(self.temporary_directory())
                    text = self.python(find_spdl(version), LOGGED, str(interval), str(directory / "stats.json"))
                    (directory / "spdl.log").write_text(text)
                    job = f"{version}-{interval}".replace(".", "_")
                    logged = self.imported(f"log-{job}", directory / "spdl.log")
                    self.assertEqual(list(logged), ["src", "decode", "sink"])
                    tasks = logged["decode"]["tasks"]
                    self.assertEqual([tasks["num_tasks"], tasks["num_failures"]], [240, 30])
                    self.assertGreater(tasks["success_s"] / 210, 0.0099) # each sleeps 10 ms, more on a busy machine
                    if interval < 0:
                        self.assertEqual(tasks["intervals"], 1)
                        continue
                    # The export has the intervals of the log without the last one.
                    exported = self.imported(f"export-{job}", directory / "stats.json")
                    for name in logged:
                        for part, count in (("tasks", "num_tasks"), ("queue", "num_items")):
                            if logged[name][part]:
                                self.assertGreaterEqual(logged[name][part]["intervals"], exported[name][part]["intervals"])
                                self.assertLessEqual(logged[name][part]["intervals"], exported[name][part]["intervals"] + 1)
                                self.assertEqual(logged[name][part]["first_interval"][count], exported[name][part]["first_interval"][count])
                    self.assertLess(exported["decode"]["tasks"]["num_tasks"], 240)

    def test_verdicts_about_planted_pipelines(self):
        """Runs those of bench/pipelines.py whose tasks sleep, with one limit of each kind."""
        find_spdl("newest")
        done = subprocess.run([sys.executable, ROOT / "bench" / "pipelines.py", BUILD, "slow download", "slow source", "few threads",
                               "slow loop"], text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("4 of 4 limits and directions are right", done.stdout)

    def test_spdl_without_perfd(self):
        self.assertEqual(self.python(find_spdl("newest"), SPDL, PERFD_SOCKET="/nonexistent/perfd.sock"), "210\n")
        self.assertEqual(self.python(find_spdl("newest"), SPDL, PATH="/nonexistent"), "210\n")

    def need_torch(self):
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
            self.skipTest("python3-torch is not installed (make interop-deps)")

    def user_site(self):
        """Makes a directory of packages of a user, to which the adapters were installed. Returns the environment variable that names it."""
        base = pathlib.Path(self.temporary_directory())
        packages = subprocess.run([sys.executable, "-c", "import site; print(site.getusersitepackages())"], text=True, check=True,
                                  capture_output=True, env={"PYTHONUSERBASE": str(base)}).stdout.strip()
        pathlib.Path(packages).mkdir(parents=True)
        for path in CLIENTS.glob("perfd*"):
            (pathlib.Path(packages) / path.name).symlink_to(path)
        return {"PYTHONUSERBASE": str(base), "PYTHONPATH": ""}

    def test_torch_by_a_variable(self):
        self.need_torch()
        site = self.user_site()
        self.assertEqual(self.python(sys.executable, UNAWARE, **site), "16\n")
        self.assertEqual(self.python(sys.executable, UNAWARE, **site, PERFD_TORCH="0"), "16\n")
        self.assertEqual(self.stages(), {})
        self.assertEqual(self.python(sys.executable, UNAWARE, **site, PERFD_TORCH="1"), "16\n")
        self.assertEqual(self.stages()["load"]["tasks"]["num_tasks"], 8)

    def test_spdl_by_a_variable(self):
        site = self.user_site()
        packages = subprocess.run([find_spdl("newest"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True,
                                  check=True, capture_output=True).stdout.strip()
        program = SPDL.replace("import perfd_spdl", "").replace("perfd_spdl.install(interval=0.2)", "")
        self.assertEqual(self.python(sys.executable, program, **{**site, "PYTHONPATH": packages}, PERFD_SPDL="1"), "210\n")
        self.assertEqual(self.stages()["decode"]["tasks"]["num_tasks"], 240)

    def test_ranks_of_distributed_torch(self):
        """Two ranks, started as torchrun does: each has its own pipeline in the job."""
        self.need_torch()
        starter = """
            import os, subprocess, sys
            ranks = [subprocess.Popen([sys.executable, *sys.argv[1:]], env={**os.environ, "RANK": str(n), "LOCAL_RANK": str(n)})
                     for n in range(2)]
            sys.exit(max(rank.wait() for rank in ranks))
            """
        directory = pathlib.Path(self.temporary_directory())
        program = directory / "rank.py"
        program.write_text(textwrap.dedent(UNAWARE))
        done = self.python(sys.executable, starter, str(program), str(directory / "meet"), **self.user_site(), PERFD_TORCH="1")
        self.assertEqual(done, "16\n16\n")
        for pipeline in (0, 10000):
            self.assertEqual([self.stages(pipeline)["load"]["tasks"]["num_tasks"], self.stages(pipeline)["sink"]["queue"]["num_items"]],
                             [4, 4])

    def test_torch(self):
        self.need_torch()
        self.assertEqual(self.python(sys.executable, TORCH), "48 12 [1128, 1128]\n[[0, 1, 2, 3], [4, 5, 6, 7]]\n[0, 1, 2, 3]\nTrue\n"
                         "[48, 48, 8]\n")
        stages = self.stages()
        self.assertEqual(list(stages), ["load", "sink"])
        self.assertEqual([stages["load"]["concurrency"], stages["load"]["tasks"]["num_tasks"]], [2, 36])
        self.assertGreaterEqual(stages["load"]["tasks"]["success_s"], 3 * 48 * 0.01)
        self.assertEqual(stages["sink"]["queue"]["num_items"], 36)
        self.assertEqual(self.stages(1)["load"]["tasks"]["num_tasks"], 2)
        said = self.diagnosis()
        self.assertEqual(said["limit"], "stage")
        self.assertEqual(said["stage"], "load")

    def test_spawned_workers_of_torch(self):
        self.need_torch()
        self.assertEqual(self.python(sys.executable, SPAWNED), "66\n")
        self.assertEqual([self.stages()["load"][key] for key in ("concurrency", "name")], [1, "load"])
        self.assertEqual(self.stages()["load"]["tasks"]["num_tasks"], 3)

    def test_epochs_of_torch(self):
        self.need_torch()
        self.python(sys.executable, EPOCHS)
        self.assertEqual(self.stages(0)["sink"]["queue"]["num_items"], 48)
        said = self.diagnosis()
        self.assertEqual([said[key] for key in ("limit", "direction")], ["start", "keep workers"])
        self.assertIn("start of the workers in each epoch", said["sentence"])
        said = self.diagnosis(1)
        self.assertEqual([said[key] for key in ("limit", "stage", "direction")], ["stage", "load", "more concurrency"])
        self.assertIn("Try num_workers=2", said["advice"])


if __name__ == "__main__":
    unittest.main()
