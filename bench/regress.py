#!/usr/bin/python3
"""Measures verdicts about changes, and their cost: bench/regress.py BUILD_DIRECTORY [--quick]

Quality: series with and without a planted step are analyzed with perfd's method and with hunter's (e-divisive means) by the same program.
If the directory ../shared/regression is there, its annotated series are analyzed as well. Cost: a perfd judges 1,000 KPIs over their
versions.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from measure import Daemon, cpu_us  # noqa: E402

METHODS = ("perfd", "hunter")
SPREADS = (0.01, 0.02, 0.05)           # relative standard deviation of the noise
STEPS = (0.02, 0.05, 0.10, 0.20)       # relative
N_BEFORE, N_AFTER = 40, 20
TOLERANCE = 3                          # points between a planted and a found change
KIT = pathlib.Path(os.environ.get("PERFD_REGRESSION_KIT", pathlib.Path(__file__).resolve().parents[2] / "shared" / "regression"))
N_MODELS, N_RESULTS = 4, 250           # 1,000 KPIs
N_CHANGED = 3                          # last versions, which are slower
LIMITS = {200: 1.0, 500: 5.0}          # CPU seconds for all KPIs with so many versions
MEMORY_MAX_MIB = 64


# --- quality ------------------------------------------------------------------------------------

def normal(random_, spread):
    return random_.gauss(0, spread)


def with_outliers(random_, spread):
    return abs(random_.gauss(0, 8 * spread)) if random_.random() < 0.05 else random_.gauss(0, spread)


NOISES = {"normal noise": normal, "5 % outliers": with_outliers}


def make_series(random_, noise, spread, n, step=0.0, at=0):
    return [100 * (1 + noise(random_, spread)) * (1 + step if step and i >= at else 1) for i in range(n)]


def find_changes(perfctl, series, method):
    done = subprocess.run([perfctl, "analyze", "series", "--json", "--method", method], input="\n".join(map(repr, series)), text=True,
                          stdout=subprocess.PIPE, check=True)
    return [point["index"] for point in json.loads(done.stdout)["change_points"]]


def find_delay(perfctl, series, method):
    """Returns the number of points of the new level after which the step is found; None: not found."""
    for n in range(N_BEFORE + 1, len(series) + 1):
        if any(abs(index - N_BEFORE) <= TOLERANCE for index in find_changes(perfctl, series[:n], method)):
            return n - N_BEFORE
    return None


def measure_planted(perfctl, n_repeats):
    print("\n| series | method | false changes per 100 points | steps found | median delay, points |\n|---|---|---|---|---|")
    for name, noise in NOISES.items():
        for method in METHODS:
            random_ = random.Random(name)
            n_false, n_points, delays, n_steps = 0, 0, [], 0
            for spread in SPREADS:
                for _ in range(10 * n_repeats):
                    n_false += len(find_changes(perfctl, make_series(random_, noise, spread, 100), method))
                    n_points += 100
                for step in (step for step in STEPS if step >= 2 * spread):
                    for _ in range(n_repeats):
                        sign = random_.choice((-1, 1))
                        series = make_series(random_, noise, spread, N_BEFORE + N_AFTER, sign * step, N_BEFORE)
                        delays.append(find_delay(perfctl, series, method))
                        n_steps += 1
            found = [delay for delay in delays if delay is not None]
            print(f"| {name} | {method} | {100 * n_false / n_points:.2f} | {len(found)} of {n_steps} | "
                  f"{statistics.median(found) if found else '–'} |", flush=True)


def measure_annotated(perfctl):
    """Scores as the kit does: F1 of TCPD with its annotators, and of benchmark histories."""
    sys.path.insert(0, str(KIT / "lib"))
    import common
    print("\n| annotated series | method | F1 | precision | recall |\n|---|---|---|---|---|")
    for method in METHODS:
        scores = [common.f1_tcpd(annotations, find_changes(perfctl, list(map(float, values)), method))
                  for values, annotations in common.load_tcpd().values()]
        means = (statistics.mean(score[i] for score in scores) for i in range(3))
        print(f"| TCPD, {len(scores)} | {method} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |", flush=True)
        histories = common.load_perfreal()
        counts = [common.score_perf(must, maybe, find_changes(perfctl, list(map(float, values)), method))
                  for values, must, maybe in histories.values()]
        hits, false, missed = (sum(count[i] for count in counts) for i in range(3))
        precision, recall = hits / max(hits + false, 1), hits / max(hits + missed, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        print(f"| benchmark histories, {len(histories)} | {method} | {f1:.3f} | {precision:.3f} | {recall:.3f} |", flush=True)


# --- cost ---------------------------------------------------------------------------------------

def submit_history(daemon, perfctl, n_versions):
    random_ = random.Random(n_versions)
    results = [f"number_{i}" for i in range(N_RESULTS)]
    for name in (f"Wide{i}" for i in range(N_MODELS)):
        model = {"name": name, "results": {result: {"type": "float", "direction": "lower"} for result in results}}
        path = daemon.directory / "model.json"
        path.write_text(json.dumps(model))
        subprocess.run([perfctl, "model", "add", "--socket", daemon.socket, path], check=True, stdout=subprocess.DEVNULL)
        documents = []
        for version in range(n_versions):
            level = 1.1 if version >= n_versions - N_CHANGED else 1
            documents.append({"name": name, "component": "bench", "version": f"1.{version}.0", "@parameters": {},
                              "@result": {result: level * (100 + random_.gauss(0, 1)) for result in results}})
        subprocess.run([perfctl, "submit", "--socket", daemon.socket, "--timeout", "60"], input="\n".join(map(json.dumps, documents)),
                       text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def peak_mib(pid):
    line, = (line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def measure_cost(build, perfctl, n_versions):
    with Daemon(build, "[http]\nquery_timeout = 60s\n") as daemon:
        submit_history(daemon, perfctl, n_versions)
        begin = cpu_us(daemon.pid)
        done = subprocess.run([perfctl, "kpi", "check", "--socket", daemon.socket, "--http-socket", daemon.http_socket, "--json",
                               "--fail-on", "none", "Wide*"], check=True, stdout=subprocess.PIPE)
        cpu_s, counts = (cpu_us(daemon.pid) - begin) / 1e6, json.loads(done.stdout)["counts"]
        print(f"| {sum(counts.values())} × {n_versions} | {cpu_s:.2f} s | {LIMITS[n_versions]:g} s | {peak_mib(daemon.pid):.1f} MiB | "
              f"{MEMORY_MAX_MIB} MiB | {', '.join(f'{n} {verdict}' for verdict, n in counts.items() if n)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="analyze fewer series")
    options = parser.parse_args()
    perfctl = options.build.resolve() / "perfctl"
    measure_planted(perfctl, 2 if options.quick else 8)
    if KIT.exists():
        measure_annotated(perfctl)
    print("\n| KPIs × versions | CPU time of perfd | budget | peak resident | budget | verdicts |\n|---|---|---|---|---|---|")
    for n_versions in LIMITS:
        measure_cost(options.build.resolve(), perfctl, n_versions)


if __name__ == "__main__":
    main()
