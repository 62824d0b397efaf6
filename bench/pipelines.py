#!/usr/bin/python3
"""Measures verdicts about data pipelines: bench/pipelines.py BUILD_DIRECTORY [--grid] [CASE...]

Each case is a pipeline of the real SPDL, whose limit is planted. It runs for some seconds as a job of a real perfd, and
'perfctl pipeline show --json JOB' has to name the limit and the direction. Tasks sleep where the CPU is not the subject. With --grid,
the verdict is also followed, one number at a time, and what this reaches is compared with the best of a grid.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import zlib

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
SPDL = "spdl==0.8.0"
RUN_S, WARM_UP_S, INTERVAL_S = 3.0, 1.0, 0.5
FOLLOWED_RUNS = 6
GOOD = 0.9
AT_ONCE = 4  # pipelines that sleep
MORE, LESS = "more concurrency", "less concurrency"
FASTER, THREADS, BUFFER, NONE = "faster source", "more threads", "larger buffer", "none"


# --- the pipelines ------------------------------------------------------------------------------

class Case:
    """A planted pipeline. stages: (name, kind of task, milliseconds, concurrency); expected: limit or stage, and direction."""

    def __init__(self, name, stages, expected, source=0, loop=0, threads=32, buffer=3, every=1, grid=None, cpu=False):
        self.name, self.stages, self.expected = name, stages, expected
        self.source, self.loop, self.every = source, loop, every
        self.numbers = {"threads": threads, "buffer": buffer, **{stage[0]: stage[3] for stage in stages}}
        self.grid, self.cpu = grid or {}, cpu


CASES = (
    Case("slow download", (("download", "sleep", 20, 2), ("decode", "sleep", 4, 4)), ("download", MORE), loop=1,
         grid={"download": (2, 4, 8, 16), "decode": (4, 8)}),
    Case("slow decode", (("download", "sleep", 4, 2), ("decode", "sleep", 20, 2)), ("decode", MORE), loop=2,
         grid={"decode": (2, 4, 8, 16), "download": (2, 4)}),
    Case("slow collate", (("download", "sleep", 10, 8), ("decode", "sleep", 10, 8), ("collate", "sleep", 15, 1)), ("collate", MORE),
         loop=2, grid={"collate": (1, 2, 4, 8), "decode": (8, 16)}),
    Case("first of four", (("list", "sleep", 20, 1), ("download", "sleep", 12, 4), ("decode", "sleep", 8, 4), ("augment", "sleep", 4, 4)),
         ("list", MORE), loop=2, grid={"list": (1, 2, 4, 8), "download": (4, 8)}),
    Case("two alike, one slower", (("download", "sleep", 20, 4), ("decode", "sleep", 30, 4)), ("decode", MORE), loop=2,
         grid={"decode": (4, 8, 16), "download": (4, 8, 16)}),
    Case("uneven decode", (("download", "sleep", 4, 4), ("decode", "uneven", 16, 4)), ("decode", MORE), loop=1,
         grid={"decode": (4, 8, 16), "download": (4, 8)}),
    Case("slow source", (("download", "sleep", 10, 4), ("decode", "sleep", 4, 4)), ("src", FASTER), source=10, loop=2),
    Case("bursts of the source", (("download", "sleep", 4, 4),), ("src", FASTER), source=100, every=10, loop=2),
    Case("slow loop", (("download", "sleep", 10, 8), ("decode", "sleep", 10, 8)), ("consumer", NONE), loop=10),
    Case("slow loop, one stage", (("decode", "sleep", 5, 4),), ("consumer", NONE), loop=8),
    Case("few threads", (("download", "sleep", 10, 4), ("decode", "sleep", 10, 4)), ("pool", THREADS), threads=4, loop=1,
         grid={"threads": (4, 8, 16), "download": (4, 8), "decode": (4, 8)}),
    Case("few threads, three stages", (("download", "sleep", 10, 4), ("decode", "sleep", 10, 4), ("augment", "sleep", 5, 4)),
         ("pool", THREADS), threads=5, loop=1, grid={"threads": (5, 10, 20), "download": (4, 8), "decode": (4, 8)}),
    Case("few threads, one large stage", (("download", "sleep", 5, 2), ("decode", "sleep", 30, 16)), ("pool", THREADS), threads=6, loop=1,
         grid={"threads": (6, 12, 24), "decode": (16, 32)}),
    Case("half of the tasks fail", (("fetch", "fail half", 10, 2), ("decode", "sleep", 4, 4)), ("fetch", MORE), loop=2,
         grid={"fetch": (2, 4, 8, 16)}),
    Case("failures take long", (("fetch", "time out", 60, 4), ("decode", "sleep", 2, 4)), ("fetch", MORE), loop=2,
         grid={"fetch": (4, 8, 16, 32)}),
    Case("small buffer, uneven tasks", (("decode", "bursts", 10, 1),), ("sink", BUFFER), loop=11, buffer=1,
         grid={"buffer": (1, 4, 16, 64)}),
    Case("small buffer, uneven loop", (("decode", "sleep", 9, 1),), ("sink", BUFFER), loop=100, every=10, buffer=1,
         grid={"buffer": (1, 4, 16, 64)}),
    Case("Python's lock", (("parse", "python", 4, 8),), ("parse", LESS), loop=0, cpu=True, grid={"parse": (1, 2, 4, 8)}),
    Case("more workers than CPUs", (("inflate", "inflate", 8, 16),), ("inflate", LESS), loop=0, cpu=True,
         grid={"inflate": (1, 2, 4, 8, 16)}),
    Case("lock of a decoder", (("demux", "lock", 3, 8), ("decode", "sleep", 2, 4)), ("demux", LESS), loop=1,
         grid={"demux": (1, 2, 3, 4, 6, 8)}),
)


class Tasks:
    """The work of the stages, in the process of the pipeline."""

    def __init__(self):
        self.lock, self.n, self.n_waiting = threading.Lock(), itertools.count(), 0
        self.packed = zlib.compress(os.urandom(1 << 16) * 40, 1)

    def sleep(self, s):
        time.sleep(s)

    def uneven(self, s):
        time.sleep(2.5 * s if next(self.n) % 4 == 0 else s / 2)

    def bursts(self, s):
        time.sleep(s * 3.7 if next(self.n) % 10 < 2 else s * 0.325)

    def fail_half(self, s):
        time.sleep(s)
        if next(self.n) % 2:
            raise ValueError("planted")

    def time_out(self, s):
        if next(self.n) % 3 == 0:
            time.sleep(s)
            raise TimeoutError("planted")
        time.sleep(s / 20)

    def python(self, s):
        for _ in range(int(s * 2e7)):
            pass

    def inflate(self, s):
        for _ in range(int(s * 250)):
            zlib.decompress(self.packed)

    def lock_(self, s):
        """Serializes; each waiting thread makes the holder slower, as contention for a cache line does."""
        self.n_waiting += 1
        with self.lock:
            time.sleep(s * (1 + 0.1 * self.n_waiting))
            self.n_waiting -= 1


def run_pipeline(plan):
    """Runs in the interpreter that has SPDL. Prints the items per second."""
    import perfd_spdl
    perfd_spdl.install(interval=INTERVAL_S)
    from spdl.pipeline import PipelineBuilder

    numbers, tasks = plan["numbers"], Tasks()

    def items():
        for i in itertools.count():
            if plan["source"] and i % plan["every"] == 0:
                time.sleep(plan["source"] / 1000)
            yield i

    def work_of(name, kind, ms):
        task = getattr(tasks, {"lock": "lock_"}.get(kind, kind.replace(" ", "_")))

        def work(item):
            task(ms / 1000)
            return item

        work.__name__ = name
        return work

    builder = PipelineBuilder().add_source(items())
    for name, kind, ms, _ in plan["stages"]:
        builder = builder.pipe(work_of(name, kind, ms), concurrency=numbers[name], name=name)
    pipeline = builder.add_sink(numbers["buffer"]).build(num_threads=numbers["threads"])
    begin, n, first = time.monotonic(), 0, None
    with pipeline.auto_stop():
        for i, _ in enumerate(pipeline):
            now = time.monotonic() - begin
            if now >= WARM_UP_S and first is None:
                first, n = now, -1
            n += 1
            if now >= RUN_S:
                break
            if plan["loop"] and i % (plan["every"] if not plan["source"] else 1) == 0:
                time.sleep(plan["loop"] / 1000)
    print(json.dumps(n / (now - first)))


# --- verdicts -----------------------------------------------------------------------------------

class Bench:
    def __init__(self, build, daemon, python):
        self.perfctl, self.daemon, self.python = build / "perfctl", daemon, python
        self.ids = itertools.count()

    def call(self, *words):
        return subprocess.run([self.perfctl, "--socket", self.daemon.socket, *words], stdout=subprocess.PIPE, text=True, check=True).stdout

    def run(self, case, numbers):
        """Returns the items per second and the name of the job."""
        job = f"pipeline-{os.getpid()}-{next(self.ids)}"
        plan = {"stages": case.stages, "source": case.source, "loop": case.loop, "every": case.every, "numbers": numbers}
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), "PERFD_SOCKET": str(self.daemon.socket),
                       "PATH": f"{self.perfctl.parent}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([self.perfctl, "--socket", self.daemon.socket, "run", "--job", job, "--collect", "no", "--",
                               self.python, __file__, "--pipeline", json.dumps(plan)],
                              env=environment, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{case.name}: {done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1]), job

    def diagnose(self, job):
        pipeline, = json.loads(self.call("pipeline", "show", "--json", job))["pipelines"]
        return pipeline

    def follow(self, case):
        """Changes one number after another as the verdict says. Returns the first verdict, and the items per second of each run."""
        numbers, rates, first = dict(case.numbers), [], None
        while len(rates) < FOLLOWED_RUNS:
            rate, job = self.run(case, numbers)
            said = self.diagnose(job)
            first = first or said
            rates.append(rate)
            if not change(numbers, said, case):
                break
        return first, rates

    def best(self, case):
        names, values = list(case.grid), list(case.grid.values())
        points = [{**case.numbers, **dict(zip(names, point))} for point in itertools.product(*values)]
        assert len(points) <= 12, case.name
        with concurrent.futures.ThreadPoolExecutor(1 if case.cpu else AT_ONCE) as pool:
            return max(rate for rate, _ in pool.map(lambda point: self.run(case, point), points))


def change(numbers, said, case):
    """Changes the number that a verdict names. Returns whether there was one."""
    direction, stage = said["direction"], said["stage"]
    if direction in (MORE, LESS) and stage in case.numbers:
        numbers[stage] = numbers[stage] * 2 if direction == MORE else numbers[stage] // 2
        return numbers[stage] > 0
    if direction in (THREADS, BUFFER):
        numbers["threads" if direction == THREADS else "buffer"] *= 2 if direction == THREADS else 4
        return True
    return False


def says(said):
    where = said["stage"] if said["stage"] else said["limit"]
    return where, said["direction"]


def find_python():
    """Returns an interpreter with SPDL, which is installed from PyPI at first. tests/once/test_python_adapters.py has the same one."""
    directory = ROOT / "build" / "interop" / "spdl-newest"
    mark = directory / SPDL
    if not mark.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
        subprocess.run([directory / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", SPDL], check=True)
        mark.touch()
    return directory / "bin" / "python"


def measure(bench, case, with_grid):
    if not with_grid:
        return bench.diagnose(bench.run(case, case.numbers)[1]), [], None
    said, rates = bench.follow(case)
    return said, rates, bench.best(case) if case.grid else None


def report(case, said, rates, best):
    right = says(said) == case.expected
    line = f"{case.name:30} {', '.join(case.expected):28} {', '.join(says(said)):28} {said['confidence']:7} {'right' if right else 'WRONG'}"
    if best:
        line += f"  {max(rates) / best:4.0%} of the best {best:.0f}/s after {len(rates)} runs"
    print(line, flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--grid", action="store_true", help="follow the verdicts, and compare with the best of a grid")
    parser.add_argument("--evidence", action="store_true", help="print the sentences and the numbers of the stages")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "bench"))
    from measure import Daemon

    build = options.build.resolve()
    chosen = [case for case in CASES if not options.cases or case.name in options.cases]
    results = []
    print(f"{'CASE':30} {'EXPECTED':28} {'SAID':28} {'SURE':7}")
    with Daemon(build, "[sampling]\ninterval = 100ms\n") as daemon:
        bench = Bench(build, daemon, find_python())
        sleeping = [case for case in chosen if not case.cpu]
        with concurrent.futures.ThreadPoolExecutor(1 if options.grid else AT_ONCE) as pool:
            outcomes = list(pool.map(lambda case: measure(bench, case, options.grid), sleeping))
        outcomes += [measure(bench, case, options.grid) for case in chosen if case.cpu]
        for case, (said, rates, best) in zip(sleeping + [case for case in chosen if case.cpu], outcomes):
            results.append((report(case, said, rates, best), not best or max(rates) >= GOOD * best))
            if options.evidence:
                print("    " + "\n    ".join(said["evidence"]))
                for stage in said["stages"]:
                    print("    ", {key: value for key, value in stage.items() if key not in ("order", "is_inferred")})
    print(f"{sum(right for right, _ in results)} of {len(results)} limits and directions are right")
    if options.grid:
        print(f"{sum(good for _, good in results)} of {len(results)} reach {GOOD:.0%} of the best throughput")
    return 0 if sum(right for right, _ in results) >= GOOD * len(results) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pipeline"]:
        run_pipeline(json.loads(sys.argv[2]))
        sys.exit(0)
    sys.exit(main())
