#!/usr/bin/python3
"""Measures verdicts about changes, and their cost: bench/regress.py BUILD_DIRECTORY [--quick]

Quality: series with and without a planted step are analyzed with perfd's method and with hunter's (e-divisive means) by the same program,
and compared with the limits that the method is to keep. If PERFD_REGRESSION_KIT names a directory with annotated series, they are analyzed
as well. Cost: a perfd judges 1,000 KPIs over their versions.
"""

import argparse
import json
import math
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from measure import Daemon, cpu_us  # noqa: E402

METHODS = ("perfd", "hunter")
KINDS = ("gauss", "skew", "t3", "spikes", "bimodal", "autocorrelated", "drift")
SPREADS = (0.005, 0.01, 0.02, 0.05, 0.10)  # relative standard deviation of the noise
STEPS = (0.01, 0.02, 0.05, 0.10, 0.20)     # relative
N_BEFORE = (5, 10, 20, 50, 100, 400)       # runs before a step
N_AFTER, N_QUIET = 30, 100
MARGIN, HORIZON = 5, 40                    # runs between a planted and a found change; runs that are watched
KIT = pathlib.Path(os.environ.get("PERFD_REGRESSION_KIT", pathlib.Path(__file__).resolve().parents[2] / "shared" / "regression"))
N_MODELS, N_RESULTS = 4, 250           # 1,000 KPIs
N_CHANGED = 3                          # last versions, which are slower
LIMITS = {200: 1.0, 500: 5.0}          # CPU seconds for all KPIs with so many versions
MEMORY_MAX_MIB = 64


# --- series -------------------------------------------------------------------------------------

def noise(kind, n, random_):
    """Returns n values with a standard deviation of 1; of spikes, that of the values without them."""
    gauss = random_.gauss
    if kind == "skew":
        return [(random_.gammavariate(2, 1) - 2) / math.sqrt(2) for _ in range(n)]
    if kind == "t3":
        return [gauss(0, 1) / math.sqrt(random_.gammavariate(1.5, 2) / 3) / math.sqrt(3) for _ in range(n)]
    if kind == "spikes":
        return [gauss(0, 1) + (random_.uniform(5, 30) if random_.random() < 0.05 else 0) for _ in range(n)]
    if kind == "bimodal":
        return [(gauss(0, 1) + (6 if random_.random() < 0.25 else 0) - 1.5) / math.sqrt(1 + 36 * 0.25 * 0.75) for _ in range(n)]
    values = [gauss(0, 1)]
    while len(values) < n:
        values.append(0.5 * values[-1] + math.sqrt(0.75) * gauss(0, 1) if kind == "autocorrelated" else gauss(0, 1))
    return values


def make_series(kind, spread, n_before, n_after, step, random_):
    values = noise(kind, n_before + n_after, random_)
    drift = 2 * spread / 100 if kind == "drift" else 0
    return [max(0.1, 100 * (1 + spread * v) * (1 + drift * i) * (1 + step if i >= n_before else 1)) for i, v in enumerate(values)]


class Judge:
    """The program bench/verdicts, which judges many series."""

    def __init__(self, build):
        self.program = build / "bench" / "verdicts"

    def ask(self, method, work, items):
        """items: (first, direction, series)."""
        lines = "".join(f"{method} {work} {first} {direction} {' '.join(map(repr, series))}\n" for first, direction, series in items)
        return subprocess.run([self.program], input=lines, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()

    def points(self, method, series):
        line, = self.ask(method, "points", [(0, "none", list(map(float, series)))])
        return list(map(int, line.split()))

    def alerts(self, method, items):
        """items: (first, series). Returns for each the alerts (number of runs, index, direction), each change once."""
        found = []
        for (first, series), line in zip(items, self.ask(method, "online", [(first, "none", series) for first, series in items])):
            alerts = []
            for n, points in enumerate(line.split(";"), start=first):
                points = [0, *map(int, points.split()), n]
                for before, at, end in zip(points, points[1:], points[2:]):
                    sign = 1 if statistics.fmean(series[at:end]) > statistics.fmean(series[before:at]) else -1
                    if at >= n - HORIZON and not any(s == sign and abs(a - at) <= 5 for _, a, s in alerts):
                        alerts.append((n, at, sign))
            found.append(alerts)
        return found

    def verdicts(self, items):
        """items: (direction, series). Returns (verdict, since, needed, back_to, smallest, runs)."""
        answers = self.ask("perfd", "verdict", [(0, direction, series) for direction, series in items])
        return [(word, int(since), int(needed), int(back), float(smallest), int(runs))
                for word, since, needed, back, smallest, runs in (answer.split(";") for answer in answers)]


# --- quality ------------------------------------------------------------------------------------

def count_apart(places):
    """Returns the number of places of which each is more than five from the one before."""
    return sum(i == 0 or abs(at - places[i - 1]) > 5 for i, at in enumerate(places))


def score_step(alerts, at, sign):
    """Returns the number of runs of the new level after which the step is found; None: not found."""
    return next((n - at for n, index, s in sorted(alerts) if s == sign and at - MARGIN <= index and at < n <= at + HORIZON), None)


def say(bar, what, value, limit, is_kept):
    """hunter is measured beside perfd, and has no limits."""
    kept = "–" if what.startswith("hunter") or limit == "–" else "yes" if is_kept else "NO"
    print(f"| {bar} | {what} | {value} | {limit} | {kept} |", flush=True)


def measure_synthetic(judge, method, random_, n_repeats):
    quiet = [(kind, make_series(kind, spread, N_QUIET, 0, 0, random_)) for kind in KINDS for spread in SPREADS
             for _ in range(6 * n_repeats)]
    false = {kind: [] for kind in KINDS}
    for (kind, _), alerts in zip(quiet, judge.alerts(method, [(5, series) for _, series in quiet])):
        false[kind].append(count_apart([index for _, index, _ in sorted(alerts)]))
    steps = [(step / spread, n, sign, make_series(kind, spread, n, N_AFTER, sign * step, random_))
             for kind in KINDS for spread in SPREADS for step in STEPS if step >= spread / 2 for n in N_BEFORE
             for sign in [random_.choice((-1, 1))] for _ in range(max(1, n_repeats // 8))]
    delays = [(size, score_step(alerts, n, sign)) for (size, n, sign, _), alerts in
              zip(steps, judge.alerts(method, [(n + 1, series) for _, n, _, series in steps]))]
    rates = {"all": 100 * statistics.fmean(v for values in false.values() for v in values),
             **{kind: 100 * statistics.fmean(values) for kind, values in false.items()}}
    limits = {"all": 4, "gauss": 1, "spikes": 5, "bimodal": 3, "autocorrelated": 12}
    for kind, rate in rates.items():
        limit = limits.get(kind)
        say(3, f"{method}: false alarms per 100 quiet series, {kind}", f"{rate:.1f}", f"≤ {limit}" if limit else "–",
            not limit or rate <= limit)
    for low, high, limit in ((1.5, 3, 0.70), (3, 6, 0.98), (6, 1000, 0.99)):
        of_size = [delay for size, delay in delays if low <= size + 1e-9 < high]
        found = [delay for delay in of_size if delay is not None]
        size, share = f"{low:g} {'or more' if high == 1000 else f'to {high:g}'}", len(found) / len(of_size)
        say(3, f"{method}: steps of {size} spreads found, median delay {statistics.median(found or [0]):g}", f"{share:.3f}",
            f"≥ {limit}", share >= limit)


def measure_verdicts(judge, random_, n_repeats):
    """A true step is not called `no change`; quiet runs are seldom asked to be repeated; the smallest change is found."""
    for low, high, limit in ((2, 4, 0.05), (5, 6, 0.02), (7, 40, 0.005)):
        items = [make_series("gauss", spread, n, k, sign * size * spread, random_) for _ in range(20 * n_repeats)
                 for spread in (0.01, 0.02, 0.05) for size in (6, 8, 12) for k in (2, 3, 5, 10, 20)
                 for n, sign in [(random_.randint(low, high), random_.choice((-1, 1)))] if n + k >= 5]
        missed = sum(verdict[0] == "no change" for verdict in judge.verdicts([("none", series) for series in items])) / len(items)
        say(8, f"steps of 6 or more spreads after {low} to {high} runs that are called no change", f"{100 * missed:.2f} %",
            f"≤ {100 * limit:g} %", missed <= limit)
    items = [make_series("gauss", 0.01, n, k, 0.5, random_) for _ in range(5 * n_repeats) for n in range(2, 21) for k in (2, 3, 5, 10)
             if n + k >= 5]
    missed = sum(verdict[0] == "no change" for verdict in judge.verdicts([("none", series) for series in items]))
    say(8, "steps of 50 % with a spread of 1 % that are called no change", missed, "0", missed == 0)
    items = [series[:n] for kind in KINDS for spread in SPREADS for _ in range(n_repeats)
             for series in [make_series(kind, spread, N_QUIET, 0, 0, random_)] for n in range(5, N_QUIET + 1)]
    again = 100 * sum(verdict[0] == "run again" for verdict in judge.verdicts([("none", series) for series in items])) / len(items)
    say(8, "run again per 100 quiet runs", f"{again:.2f}", "≤ 1.4", again <= 1.4)
    for n in (5, 10, 20, 50, 100, 200):
        bases = [make_series("gauss", 0.02, n, 0, 0, random_) for _ in range(25 * n_repeats)]
        grown = [(direction, base + [v * (1 + verdict[4] if direction == "lower" else 1 / (1 + verdict[4]))
                                     for v in make_series("gauss", 0.02, verdict[5], 0, 0, random_)])
                 for base, verdict in zip(bases, judge.verdicts([("none", base) for base in bases]))
                 for direction in [random_.choice(("lower", "higher"))]]
        found = sum(verdict[0] == "regression" and abs(verdict[1] - n) <= MARGIN for verdict in judge.verdicts(grown)) / len(grown)
        say(9, f"detectable changes that are found after {n} runs", f"{100 * found:.0f} %", "70 to 95 %", 0.70 <= found <= 0.95)


def measure_annotated(judge, method):
    """Scores as the kit does: F1 of benchmark histories, and F1 and cover of TCPD with its annotators."""
    sys.path.insert(0, str(KIT / "lib"))
    import common
    histories = common.load_perfreal()
    counts = [common.score_perf(must, maybe, judge.points(method, values)) for values, must, maybe in histories.values()]
    hits, false, missed = (sum(count[i] for count in counts) for i in range(3))
    f1 = 2 * hits / max(2 * hits + false + missed, 1)
    say(1, f"{method}: F1 of {len(histories)} benchmark histories", f"{f1:.3f}", "≥ 0.93", f1 >= 0.93)
    series = common.load_tcpd().values()
    scores = [(common.f1_tcpd(marks, points)[0], common.cover_tcpd(marks, points, len(values)))
              for values, marks in series for points in [judge.points(method, values)]]
    f1, cover = (statistics.fmean(score[i] for score in scores) for i in range(2))
    limits = ("≥ 0.72", "≥ 0.66") if len(scores) >= 38 else ("–", "–")  # of all 38 univariate series
    say(4, f"{method}: F1 of {len(scores)} series of TCPD", f"{f1:.3f}", limits[0], f1 >= 0.72)
    say(4, f"{method}: cover", f"{cover:.3f}", limits[1], cover >= 0.66)


def quiet_windows(histories):
    """Returns windows of 100 runs between the labelled changes, half of which overlap with the one before, and the places in them that the
    annotator was not sure about."""
    windows = []
    for values, must, maybe in histories.values():
        values, ends = list(map(float, values)), [0, *must, len(values)]
        for begin, end in zip(ends, ends[1:]):
            windows += [(values[at:at + N_QUIET], [place - at for place in maybe])
                        for at in range(begin + MARGIN, end - MARGIN - N_QUIET + 1, N_QUIET // 2)]
    return windows


def plant_step(window, size, random_):
    """Returns the place, the direction and the series. size: in robust spreads at least, if it is above 1."""
    middle = statistics.median(window)
    spread = 1.4826 * statistics.median(abs(v - middle) for v in window) / middle
    size = next((step for step in STEPS if step >= size * spread), STEPS[-1]) if size > 1 else size
    sign, n = random_.choice((-1, 1)), random_.choice((10, 20, 50, N_QUIET - N_AFTER))
    return n, sign, [v * (1 + sign * size if i >= n else 1) for i, v in enumerate(window[:n + N_AFTER])]


def measure_real_noise(judge, method, random_):
    """Windows of real histories as they are, in random order, and with a planted step."""
    sys.path.insert(0, str(KIT / "lib"))
    import common
    windows = quiet_windows(common.load_perfreal())
    shuffled = [(random_.sample(window, len(window)), []) for window, _ in windows for _ in range(10)]
    for what, quiet, limit in (("as they are", windows, 15), ("in random order", shuffled, 2)):
        found = judge.alerts(method, [(5, window) for window, _ in quiet])
        rate = 100 * statistics.fmean(count_apart([index for _, index, _ in sorted(alerts) if all(abs(index - m) > 7 for m in maybe)])
                                      for (_, maybe), alerts in zip(quiet, found))
        say(2, f"{method}: false alarms per 100 windows of real noise {what}, of {len(quiet)}", f"{rate:.1f}", f"≤ {limit}",
            rate <= limit)
    delays = []
    for size, what, limit in ((3, "3 or more spreads", 0.97), (0.05, "5 %", 0.92), (0.10, "10 %", 0.98)):
        steps = [plant_step(window, size, random_) for window, _ in shuffled]
        found = [score_step(alerts, n, sign) for (n, sign, _), alerts in
                 zip(steps, judge.alerts(method, [(n + 1, series) for n, _, series in steps]))]
        share = sum(delay is not None for delay in found) / len(found)
        delays += [delay for delay in found if delay is not None]
        say(2, f"{method}: steps of {what} in real noise found", f"{share:.3f}", f"≥ {limit}", share >= limit)
    delay = statistics.median(delays)
    say(2, f"{method}: median delay", f"{delay:g} runs", "≤ 3 runs", delay <= 3)


def measure_golden(judge):
    cases = json.loads((KIT / "data" / "dev" / "pseg_golden.json").read_text())["cases"]
    same = statistics.fmean(judge.points("perfd", case["x"]) == case["change_points"] for case in cases)
    say(5, f"change points of {len(cases)} series that are those of the reference", f"{100 * same:.1f} %", "≥ 99.5 %", same >= 0.995)
    cases = json.loads((KIT / "data" / "dev" / "verdict_golden.json").read_text())["cases"]
    names = {"inline": "no change", "rerun": "run again"}
    same = 0
    for case, (word, since, needed, back, smallest, runs) in zip(cases, judge.verdicts([(case["direction"], case["x"]) for case in cases])):
        n = len(case["x"])
        wanted = tuple(n if case[key] is None else case[key] for key in ("change", "back_to"))
        same += (word, (since, back), needed, runs) == (names.get(case["verdict"], case["verdict"]), wanted, case["needed"],
                                                         case["smallest_runs"]) and \
            (case["smallest"] is None or abs(smallest - case["smallest"]) <= 1e-3 * abs(case["smallest"]))
    say(7, f"verdicts about {len(cases)} series that are those of the reference", f"{100 * same / len(cases):.1f} %", "≥ 99 %",
        same >= 0.99 * len(cases))


def measure_time(judge, random_):
    for n, limit in ((200, 1), (512, 8)):
        items = [(0, "none", make_series("gauss", 0.01, n // 2, n - n // 2, 0.1, random_)) for _ in range(100)]
        usage = [resource.getrusage(resource.RUSAGE_CHILDREN) for _ in range(1)]
        judge.ask("perfd", "points", items)
        usage.append(resource.getrusage(resource.RUSAGE_CHILDREN))
        ms = 1e3 * (usage[1].ru_utime - usage[0].ru_utime) / len(items)
        say(5, f"CPU time of the change points of {n} runs, with reading them", f"{ms:.2f} ms", f"≤ {limit} ms", ms <= limit)


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
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    perfctl, judge = options.build.resolve() / "perfctl", Judge(options.build.resolve())
    n_repeats, random_ = 2 if options.quick else 8, random.Random(options.seed)
    print(f"\nSeed {options.seed}; hunter has the settings of Apache Otava, p = 0.001 and changes of 1 % or more.\n"
          "\n| bar | number | measured | limit | kept |\n|---|---|---|---|---|")
    if KIT.exists():
        for method in METHODS:
            measure_annotated(judge, method)
            measure_real_noise(judge, method, random_)
        measure_golden(judge)
    for method in METHODS:
        measure_synthetic(judge, method, random_, n_repeats)
    measure_time(judge, random_)
    measure_verdicts(judge, random_, n_repeats)
    print("\n| KPIs × versions | CPU time of perfd | budget | peak resident | budget | verdicts |\n|---|---|---|---|---|---|")
    for n_versions in LIMITS:
        measure_cost(options.build.resolve(), perfctl, n_versions)


if __name__ == "__main__":
    main()
