#!/usr/bin/python3
"""Measures verdicts about data pipelines: bench/pipelines.py BUILD_DIRECTORY [--follow] [PLANT...]

Each plant is a pipeline of the real SPDL, whose limit is planted. It runs for some seconds as a job of a real perfd, and
'perfctl pipeline show --json JOB' has to name the limit and the direction. Tasks sleep where the CPU is not the subject. With --follow,
each plant has two more variants, the verdict is followed, every other single change is tried, and a verdict is right if it reaches 90 %
of what the best change does. This takes some minutes on 16 CPUs, and an hour and a half on two.
"""

import argparse
import asyncio
import concurrent.futures
import copy
import functools
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import zlib

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
SPDL = "spdl==0.8.0"
RUN_S, WARM_UP_S, INTERVAL_S = 3.0, 1.0, 0.5
VARIANTS = (0.6, 1.6)
GOOD = 0.9
AT_ONCE = 4  # pipelines that sleep
MORE, LESS = "more concurrency", "less concurrency"
FASTER, THREADS, BUFFER, ORDER, NONE = "faster source", "more threads", "larger buffer", "output order", "none"
ADVISED = "as advised", None  # the number that a verdict names


# --- the pipelines ------------------------------------------------------------------------------

class Plant:
    """A planted pipeline. stages: (name, kind of task, milliseconds, concurrency, and where its tasks run: "async", "in order", or the
    number of workers of an executor of its own, ("threads", 2) or ("processes", 2), or of one that stages share, ("shared", 2)); or
    ("batch", "aggregate", 0, 1, size) and ("single", "disaggregate", 0, 1). expected: limit or stage, and direction. source, loop:
    milliseconds of an item, or of `every` items; of_python: they compute. start: seconds of the first tasks. n_merged: of the first
    stages, which have a source each, and are merged."""

    def __init__(self, name, stages, expected, source=0, loop=0, threads=32, buffer=3, every=1, cpu=False, of_python=False, start=0,
                 n_merged=0):
        self.name, self.stages, self.expected = name, [[*stage, None][:5] for stage in stages], expected
        self.loop, self.every, self.cpu, self.of_python, self.start = loop, every, cpu, of_python, start
        self.n_merged = n_merged
        self.numbers = {"threads": threads, "buffer": buffer, "source": source,
                        **{name: n for name, kind, _, n, _ in self.stages if not kind.endswith("aggregate")}}
        self.numbers.update({f"executor of {name}": place[1] for name, _, _, _, place in self.stages if isinstance(place, tuple)})
        self.numbers.update({f"order of {name}": "input" for name, _, _, _, place in self.stages if place == "in order"})

    def variant(self, factor):
        """Return the pipeline with longer or shorter tasks, whose limit is the same."""
        other = copy.deepcopy(self)
        other.name = f"{self.name} x{factor}"
        other.stages = [[name, kind, ms * factor, concurrency, place] for name, kind, ms, concurrency, place in self.stages]
        other.loop *= factor
        other.numbers["source"] *= factor
        return other

    def plan(self, numbers):
        return {"stages": self.stages, "loop": self.loop, "every": self.every, "of_python": self.of_python, "start": self.start,
                "n_merged": self.n_merged, "numbers": numbers}

    def changes(self):
        """Return each single change of a number, by what a verdict calls it."""
        ret = {}
        for name, value in self.numbers.items():
            if name in ("threads", "buffer"):
                ret[THREADS if name == "threads" else BUFFER, None] = {name: value * (2 if name == "threads" else 4)}
            elif name == "source":
                ret[FASTER, "src"] = {name: value / 2}
            elif name.startswith("order of "):
                ret[ORDER, name.removeprefix("order of ")] = {name: "completion"}
            elif name.startswith("executor of "):
                ret[THREADS, name.removeprefix("executor of ")] = {name: value * 2}
            else:
                ret[MORE, name] = {name: value * 2}
                if value > 1:
                    ret[LESS, name] = {name: value // 2}
        return ret


PLANTS = (
    Plant("slow download", (("download", "sleep", 20, 2), ("decode", "sleep", 4, 4)), ("download", MORE), loop=1),
    Plant("slow decode", (("download", "sleep", 4, 2), ("decode", "sleep", 20, 2)), ("decode", MORE), loop=2),
    Plant("slow collate", (("download", "sleep", 10, 8), ("decode", "sleep", 10, 8), ("collate", "sleep", 15, 1)), ("collate", MORE),
          loop=2),
    Plant("first of four", (("list", "sleep", 20, 1), ("download", "sleep", 12, 4), ("decode", "sleep", 8, 4), ("augment", "sleep", 4, 4)),
          ("list", MORE), loop=2),
    Plant("two alike, one slower", (("download", "sleep", 20, 4), ("decode", "sleep", 30, 4)), ("decode", MORE), loop=2),
    Plant("uneven decode", (("download", "sleep", 4, 4), ("decode", "uneven", 16, 4)), ("decode", MORE), loop=1),
    Plant("coroutine downloads", (("download", "sleep", 40, 8, "async"), ("decode", "sleep", 5, 4)), ("download", MORE), loop=1, threads=4),
    Plant("threads decode", (("download", "sleep", 10, 8, "async"), ("decode", "sleep", 20, 3)), ("decode", MORE), loop=1, threads=8),
    Plant("executor too small", (("decode", "sleep", 20, 8, ("threads", 2)),), ("decode", THREADS), loop=1, threads=4),
    Plant("executor with room", (("decode", "sleep", 20, 4, ("threads", 16)), ("augment", "sleep", 2, 4)), ("decode", MORE), loop=1,
          threads=4),
    Plant("processes too few", (("decode", "sleep", 20, 8, ("processes", 2)),), ("decode", THREADS), loop=1),
    Plant("slow source", (("download", "sleep", 10, 4), ("decode", "sleep", 4, 4)), ("src", FASTER), source=10, loop=2),
    Plant("bursts of the source", (("download", "sleep", 4, 4),), ("src", FASTER), source=100, every=10, loop=2),
    Plant("long bursts of the source", (("decode", "sleep", 4, 4),), ("src", FASTER), source=640, every=64, loop=4),
    Plant("bursts, slow tasks", (("decode", "sleep", 10, 4),), ("src", FASTER), source=300, every=32, loop=6, buffer=8),
    Plant("slow loop", (("download", "sleep", 10, 8), ("decode", "sleep", 10, 8)), ("consumer", NONE), loop=10),
    Plant("slow loop, one stage", (("decode", "sleep", 5, 4),), ("consumer", NONE), loop=8),
    Plant("slow start, slow loop", (("decode", "sleep", 10, 4),), ("consumer", NONE), loop=20, start=1.7),
    Plant("slow start, slow stage", (("decode", "sleep", 20, 2),), ("decode", MORE), loop=1, start=1.7),
    Plant("few threads", (("download", "sleep", 10, 4), ("decode", "sleep", 10, 4)), ("pool", THREADS), threads=4, loop=1),
    Plant("few threads, three stages", (("download", "sleep", 10, 4), ("decode", "sleep", 10, 4), ("augment", "sleep", 5, 4)),
          ("pool", THREADS), threads=5, loop=1),
    Plant("few threads, one large stage", (("download", "sleep", 5, 2), ("decode", "sleep", 30, 16)), ("pool", THREADS), threads=6,
          loop=1),
    Plant("half of the tasks fail", (("fetch", "fail half", 10, 2), ("decode", "sleep", 4, 4)), ("fetch", MORE), loop=2),
    Plant("failures take long", (("fetch", "time out", 60, 4), ("decode", "sleep", 2, 4)), ("fetch", MORE), loop=2),
    Plant("storage for two readers", (("read", "two at once", 10, 8),), ("read", LESS), loop=1),
    Plant("in order, one slow of 16", (("decode", "one of 16", 5, 4, "in order"),), ("decode", ORDER), loop=1),
    Plant("in order, between stages", (("fetch", "sleep", 5, 4), ("decode", "one of 16", 5, 8, "in order"), ("augment", "sleep", 2, 4)),
          ("decode", ORDER), loop=1),
    Plant("small buffer, uneven tasks", (("decode", "bursts", 10, 1),), ("sink", BUFFER), loop=11, buffer=1),
    Plant("small buffer, uneven loop", (("decode", "sleep", 9, 1),), ("sink", BUFFER), loop=100, every=10, buffer=1),
    Plant("in order, even tasks", (("decode", "sleep", 20, 4, "in order"),), ("decode", MORE), loop=1),
    Plant("storage slows with readers", (("read", "slower with others", 5, 8), ("decode", "sleep", 2, 4)), ("read", LESS), loop=1),
    Plant("executor of two stages", (("download", "sleep", 10, 4, ("shared", 4)), ("decode", "sleep", 10, 4, ("shared", 4))),
          ("decode", THREADS), loop=1),
    Plant("slow collate of batches", (("decode", "sleep", 5, 8), ("batch", "aggregate", 0, 1, 8), ("collate", "sleep", 80, 1)),
          ("collate", MORE), loop=10),
    Plant("slow decode of a batch's items", (("download", "sleep", 5, 8), ("batch", "aggregate", 0, 1, 8),
                                             ("single", "disaggregate", 0, 1), ("decode", "sleep", 8, 2)), ("decode", MORE), loop=1),
    Plant("generator of items", (("read", "generate", 10, 2), ("decode", "sleep", 5, 4)), ("read", MORE), loop=1),
    Plant("merged sources, slow next stage", (("a", "sleep", 5, 2), ("b", "sleep", 10, 2), ("augment", "sleep", 20, 2)),
          ("augment", MORE), loop=1, n_merged=2),
    Plant("Python's lock", (("parse", "python", 4, 8),), ("lock", NONE), cpu=True),
    Plant("Python in one worker", (("parse", "python", 4, 1),), ("lock", NONE), cpu=True),
    Plant("Python and C", (("parse", "python and C", 4, 3),), ("lock", NONE), cpu=True),
    Plant("Python in the source", (("decode", "sleep", 3, 3),), ("lock", NONE), source=5, loop=1, cpu=True, of_python=True),
    Plant("Python in the loop", (("parse", "python", 4, 2),), ("lock", NONE), loop=4, cpu=True, of_python=True),
    Plant("empty tasks", (("nothing", "sleep", 0, 8),), ("lock", NONE), cpu=True),
    Plant("C in one worker", (("inflate", "inflate", 8, 1),), ("inflate", MORE), cpu=True),
    Plant("more workers than CPUs", (("inflate", "inflate", 8, 16),), ("inflate", LESS), cpu=True),
    Plant("lock of a decoder", (("demux", "lock", 3, 8), ("decode", "sleep", 2, 4)), ("demux", LESS), loop=1, cpu=True),
)


class Tasks:
    """The work of the stages, in the process of the pipeline."""

    def __init__(self):
        self.lock, self.n, self.n_waiting = threading.Lock(), itertools.count(), 0
        self.readers = threading.Semaphore(2)
        self.packed = zlib.compress(os.urandom(1 << 16) * 40, 1)

    def sleep(self, s):
        time.sleep(s)

    def uneven(self, s):
        time.sleep(2.5 * s if next(self.n) % 4 == 0 else s / 2)

    def one_of_16(self, s):
        time.sleep(32 * s if next(self.n) % 16 == 0 else s)

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

    def two_at_once(self, s):
        with self.readers:
            time.sleep(s)

    def slower_with_others(self, s):
        with self.lock:
            self.n_waiting += 1
        time.sleep(s * self.n_waiting ** 1.6)
        with self.lock:
            self.n_waiting -= 1

    def python_and_C(self, s):
        self.python(s)
        self.inflate(s / 2)

    def inflate(self, s):
        for _ in range(int(s * 250)):
            zlib.decompress(self.packed)

    def lock_(self, s):
        """Serializes; each waiting thread makes the holder slower, as contention for a cache line does."""
        self.n_waiting += 1
        with self.lock:
            time.sleep(s * (1 + 0.1 * self.n_waiting))
            self.n_waiting -= 1


def sleep_in_process(item, s):
    time.sleep(s)
    return item


def work_of(tasks, name, kind, ms, place, start):
    """Return the function of a stage. The first tasks last as long as the start."""
    task, begin = getattr(tasks, {"lock": "lock_"}.get(kind, kind.replace(" ", "_")), None), time.monotonic()

    def work(item):
        task(max(ms / 1000, start - (time.monotonic() - begin)))
        return item

    async def wait(item):
        await asyncio.sleep(ms / 1000)
        return item

    async def generate(item):
        for _ in range(4):
            await asyncio.sleep(ms / 1000)
            yield item

    if isinstance(place, list) and place[0] == "processes":
        return functools.partial(sleep_in_process, s=ms / 1000)
    chosen = generate if kind == "generate" else wait if place == "async" else work
    chosen.__name__ = name
    return chosen


def add_stages(builder, plan, stages, tasks, shared):
    """Return the builder with stages. shared: the executor of those that share one, once it is made."""
    numbers = plan["numbers"]
    for name, kind, ms, _, place in stages:
        if kind.endswith("aggregate"):
            builder = builder.aggregate(place) if kind == "aggregate" else builder.disaggregate()
            continue
        executor = None
        if isinstance(place, list):
            made = concurrent.futures.ProcessPoolExecutor if place[0] == "processes" else concurrent.futures.ThreadPoolExecutor
            executor = shared[0] if place[0] == "shared" and shared else made(max(
                n for key, n in numbers.items() if key == f"executor of {name}" or place[0] == "shared" and key.startswith("executor of ")))
            shared += [executor] if place[0] == "shared" else []
        builder = builder.pipe(work_of(tasks, name, kind, ms, place, plan["start"]), concurrency=numbers[name], name=name,
                               output_order=numbers.get(f"order of {name}", "completion"), executor=executor)
    return builder


def run_pipeline(plan):
    """Runs in the interpreter that has SPDL. Prints the items per second."""
    import perfd_spdl
    perfd_spdl.install(interval=INTERVAL_S)
    from spdl.pipeline import PipelineBuilder, build_pipeline
    from spdl.pipeline.defs import Merge, PipelineConfig

    numbers, tasks, shared = plan["numbers"], Tasks(), []
    pause = tasks.python if plan["of_python"] else tasks.sleep

    def items():
        for i in itertools.count():
            if numbers["source"] and i % plan["every"] == 0:
                pause(numbers["source"] / 1000)
            yield i

    def config_of(stages):
        return add_stages(PipelineBuilder().add_source(items()), plan, stages, tasks, shared).add_sink(numbers["buffer"]).get_config()

    merged = [config_of([stage]) for stage in plan["stages"][:plan["n_merged"]]]
    config = config_of(plan["stages"][plan["n_merged"]:])
    if merged:
        config = PipelineConfig(src=Merge(merged), pipes=config.pipes, sink=config.sink)
    pipeline = build_pipeline(config, num_threads=numbers["threads"])
    begin, n, first = time.monotonic(), 0, None
    with pipeline.auto_stop():
        for i, _ in enumerate(pipeline):
            now = time.monotonic() - begin - plan["start"]
            if now >= WARM_UP_S and first is None:
                first, n = now, -1
            n += 1
            if now >= RUN_S:
                break
            if plan["loop"] and i % (plan["every"] if not numbers["source"] else 1) == 0:
                pause(plan["loop"] / 1000)
    print(json.dumps(n / (now - first)))


# --- verdicts -----------------------------------------------------------------------------------

class Bench:
    def __init__(self, build, daemon, python):
        self.perfctl, self.daemon, self.python = build / "perfctl", daemon, python
        self.ids = itertools.count()

    def call(self, *words):
        return subprocess.run([self.perfctl, "--socket", self.daemon.socket, *words], stdout=subprocess.PIPE, text=True, check=True).stdout

    def run(self, plant, numbers):
        """Returns the items per second and the name of the job."""
        job = f"pipeline-{os.getpid()}-{next(self.ids)}"
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'clients' / 'python'}:{os.environ.get('PYTHONPATH', '')}",
                       "PERFD_SOCKET": str(self.daemon.socket), "PATH": f"{self.perfctl.parent}:{os.environ['PATH']}",
                       "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([self.perfctl, "--socket", self.daemon.socket, "run", "--job", job, "--collect", "no", "--",
                               self.python, __file__, "--pipeline", json.dumps(plant.plan(numbers))],
                              env=environment, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{plant.name}: {done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1]), job

    def diagnose(self, job):
        pipeline, = json.loads(self.call("pipeline", "show", "--json", job))["pipelines"]
        return pipeline


def advice_of(said):
    """Returns the change that a verdict asks for."""
    direction, stage = said["direction"], said["stage"]
    return direction, (None if direction in (BUFFER, NONE) else stage)


def says(said):
    if said["limit"] == "lock":  # several directions are right
        return "lock", NONE
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


class Outcome:
    """A verdict, whether it names the planted limit, and what it gains. Without trials, nothing is gained. rates: by change, of the rate
    without a change."""

    def __init__(self, plant, said, rates=None):
        self.plant, self.said, self.rates = plant, said, rates
        self.is_expected = says(said) == plant.expected
        if rates is not None:
            self.best = max(1, *rates.values())
            # Advice that is no change of a number, such as to use processes, is measured by what is lost without one.
            self.gain = rates.get(ADVISED) or rates.get(advice_of(said), 1)
            self.factor = re.search(r"at (\S+) times the throughput", said["advice"] or "")
        self.is_right = self.gain >= GOOD * self.best if rates is not None else self.is_expected

    def is_factor_right(self):
        """Tells whether a promised factor is near the gain; None without a promise."""
        return self.factor and abs(self.gain / float(self.factor[1]) - 1) <= 0.25

    def __str__(self):
        line = (f"{self.plant.name:34} {', '.join(self.plant.expected):28} {', '.join(says(self.said)):28} {self.said['confidence']:7} "
                f"{'right' if self.is_right else 'WRONG'}")
        if self.rates is None:
            return line
        promised = "" if not self.factor else f", promised x{self.factor[1]}{'' if self.is_factor_right() else ' WRONG'}"
        return line + f"  x{self.gain:.2f}, best x{self.best:.2f}{promised}"

    def details(self):
        """Yields the sentences, the gain of each change, and the numbers of the stages."""
        yield from self.said["evidence"]
        if self.rates is not None:
            yield ", ".join(f"{' '.join(filter(None, change))} x{rate:.2f}" for change, rate in self.rates.items())
        for stage in self.said["stages"]:
            yield str({key: value for key, value in stage.items() if key not in ("order", "is_inferred")})


def measure(bench, plant, is_followed):
    rate, job = bench.run(plant, plant.numbers)
    said = bench.diagnose(job)
    if not is_followed:
        return Outcome(plant, said)
    changes = plant.changes()
    advised = re.search(r"(?:Try a concurrency of|raise its concurrency from \d+ to) (\d+)", said["advice"] or "")
    if advised and said["stage"] in plant.numbers:
        changes[ADVISED] = {said["stage"]: int(advised[1])}
    rates = {change: bench.run(plant, {**plant.numbers, **numbers})[0] / rate for change, numbers in changes.items()}
    return Outcome(plant, said, rates)


def choose(names, is_followed):
    plants = [plant for plant in PLANTS if not names or plant.name in names]
    return plants + [plant.variant(factor) for plant in plants for factor in VARIANTS] if is_followed else plants


def summarize(outcomes, is_followed):
    if not is_followed:
        print(f"{sum(outcome.is_right for outcome in outcomes)} of {len(outcomes)} limits and directions are right")
        return
    for confidence in ("high", "medium", "low", "none"):
        of = [outcome for outcome in outcomes if outcome.said["confidence"] == confidence]
        if of:
            print(f"confidence {confidence}: {sum(outcome.is_right for outcome in of)} of {len(of)} reach {GOOD:.0%} of the best change")
    factors = [outcome.is_factor_right() for outcome in outcomes if outcome.factor]
    print(f"factors within 25 %: {sum(factors)} of {len(factors)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--follow", action="store_true", help="follow each verdict, try every other change, and vary the times")
    parser.add_argument("--evidence", action="store_true", help="print the sentences and the numbers of the stages")
    parser.add_argument("--python", type=pathlib.Path, help="an interpreter that has SPDL, instead of one that is installed")
    parser.add_argument("plants", nargs="*")
    options = parser.parse_intermixed_args()
    sys.path.insert(0, str(ROOT / "bench"))
    from measure import Daemon

    build = options.build.resolve()
    chosen = choose(options.plants, options.follow)
    outcomes = []
    print(f"{'PLANT':34} {'EXPECTED':28} {'SAID':28} {'SURE':7}")
    with Daemon(build, "[sampling]\ninterval = 100ms\n") as daemon:
        bench = Bench(build, daemon, options.python or find_python())
        for cpu, n in ((False, max(AT_ONCE, os.cpu_count() // 2)), (True, max(1, os.cpu_count() // 8))):
            with concurrent.futures.ThreadPoolExecutor(n) as pool:
                plants = [plant for plant in chosen if plant.cpu == cpu]
                for outcome in pool.map(lambda plant: measure(bench, plant, options.follow), plants):
                    outcomes.append(outcome)
                    print(outcome, flush=True)
                    for line in outcome.details() if options.evidence else ():
                        print("    ", line)
    summarize(outcomes, options.follow)
    return 0 if sum(outcome.is_right for outcome in outcomes) >= GOOD * len(outcomes) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pipeline"]:
        run_pipeline(json.loads(sys.argv[2]))
        sys.exit(0)
    sys.exit(main())
