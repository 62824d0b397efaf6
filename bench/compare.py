#!/usr/bin/python3
"""Measures how often the verdicts of perfctl compare are right

bench/compare.py BUILD_DIRECTORY [--runs N] [--real N] [--seconds S] [--times FILE]

Records the times of N real runs of a command of S seconds of CPU time, on the machine as it is, under load of its own. Pairs drawn from
neighbouring runs are compared as perfctl compare does it: 1,000 times A with A, and 100 times A with A made 2 % longer. Then
perfctl compares the real commands, A with A and A with 2 % more work, and hyperfine the same ones, if it is installed.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

N_EQUAL, N_PLANTED, N_PAIRS, PLANTED = 1000, 100, 60, 1.02
SOURCE = """#include <stdlib.h>
int main(int n, char **words) { volatile unsigned long x = 1; for (long i = 0; n > 1 && i < atol(words[1]); i++) x = x * 3 + i; }
"""


def build_work(directory, seconds):
    """Returns the program and the number of steps that take so much CPU time."""
    program = directory / "work"
    subprocess.run(["cc", "-O1", "-x", "c", "-o", program, "-"], input=SOURCE, text=True, check=True)
    begin = os.times().children_user
    subprocess.run([program, str(10**8)], check=True)
    return program, int(seconds * 10**8 / (os.times().children_user - begin))


def record(command, n):
    """Returns (wall time, CPU time) of n runs."""
    found = []
    for _ in range(n):
        begin, used = time.monotonic(), os.times()
        subprocess.run(command, check=True)
        end = os.times()
        found.append((time.monotonic() - begin, end.children_user + end.children_system - used.children_user - used.children_system))
    return found


def draw_pair(times, random_):
    """Two runs that followed each other, at a random place, in random order."""
    i = random_.randrange(len(times) - 1)
    return (times[i], times[i + 1]) if random_.random() < 0.5 else (times[i + 1], times[i])


def judge(build, times, factor, n, seed, second=1.0):
    """second: by which the later run of each pair takes longer, whichever command it is."""
    random_ = random.Random(seed)
    lines = []
    for _ in range(n):
        pairs = [draw_pair(times, random_) for _ in range(N_PAIRS)]
        lines.append(" ".join(repr(factor * b / a * second ** random_.choice((1, -1))) for a, b in pairs))
    answer = subprocess.run([build / "bench" / "compared"], input="\n".join(lines) + "\n", text=True, stdout=subprocess.PIPE, check=True)
    return [tuple(map(int, line.split())) for line in answer.stdout.splitlines()]


def say(what, value, limit, is_kept):
    print(f"| {what} | {value} | {limit} | {'–' if is_kept is None else 'yes' if is_kept else 'NO'} |", flush=True)


def measure_resampled(build, what, times):
    logs = [math.log(b / a) for a, b in zip(times, times[1:])]
    say(f"{what}: spread of the ratio of neighbouring runs, sd and median", f"{100 * statistics.pstdev(logs):.1f} %, "
        f"{100 * statistics.median(map(abs, logs)):.1f} %", "–", None)
    equal = judge(build, times, 1, N_EQUAL, 1)
    wrong = sum(verdict >= 2 for verdict, _ in equal) / N_EQUAL
    say(f"{what}: A against A called different, of {N_EQUAL:,}", f"{100 * wrong:.1f} %", "≤ 1 %", wrong <= 0.01)
    ordered = sum(verdict >= 2 for verdict, _ in judge(build, times, 1, N_EQUAL, 3, second=1.1)) / N_EQUAL
    say(f"{what}: the same, with each second run 10 % longer", f"{100 * ordered:.1f} %", "≤ 1 %", ordered <= 0.01)
    say(f"{what}: A against A called the same", f"{100 * sum(v == 1 for v, _ in equal) / N_EQUAL:.0f} %", "–", None)
    planted = judge(build, times, PLANTED, N_PLANTED, 2)
    found = sum(verdict == 3 for verdict, _ in planted) / N_PLANTED
    n_pairs = statistics.median(n for _, n in planted)
    say(f"{what}: 2 % more found in ≤ {N_PAIRS} pairs, of {N_PLANTED}", f"{100 * found:.0f} %, after {n_pairs:.0f} pairs", "≥ 90 %",
        found >= 0.9)


def measure_real(build, program, steps, n, directory):
    environment = {**os.environ, "PERFD_SOCKET": str(directory / "none"), "PERFD_SPOOL": str(directory / "spool")}
    for what, factor in (("equal", 1), ("2 % more work", PLANTED)):
        verdicts, claims = [], []
        for _ in range(n):
            commands = [f"{program} {steps}", f"{program} {int(factor * steps)}"]
            done = subprocess.run([build / "perfctl", "compare", "--json", "--objective", "CPU time", *commands], env=environment,
                                  capture_output=True, text=True, check=True)
            answer = json.loads(done.stdout)
            verdicts.append(f"{answer['verdict']} ({answer['rows'][0]['pairs']})")
            if shutil.which("hyperfine"):
                shown = subprocess.run(["hyperfine", "-N", "--style", "basic", "--runs", "20", *commands], capture_output=True, text=True)
                claims += re.findall(r"(\S+) ± (\S+) times faster", shown.stdout)
        say(f"real: perfctl compare by CPU time, {what}", ", ".join(verdicts), "–", None)
        text = ", ".join(f"{ratio} ± {error} times faster" for ratio, error in claims) if shutil.which("hyperfine") else "not installed"
        say(f"real: hyperfine with 20 runs, {what}", text, "–", None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--real", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1, help="CPU time of the command")
    parser.add_argument("--times", type=pathlib.Path, help="keep the recorded times in this file, and use those that are there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        program, steps = build_work(directory, options.seconds)
        if options.times and options.times.exists():
            times = json.loads(options.times.read_text())
        else:
            times = record([program, str(steps)], options.runs)
        if options.times:
            options.times.write_text(json.dumps(times))
        print(f"A command of {options.seconds:g} s of CPU time; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs\n")
        print("| What | Measured | Limit | Kept |\n|:---|---:|---:|---|")
        measure_resampled(options.build, "wall time", [wall for wall, _ in times])
        measure_resampled(options.build, "CPU time", [cpu for _, cpu in times])
        if options.real > 0:
            measure_real(options.build, program, steps, options.real, directory)


if __name__ == "__main__":
    sys.exit(main())
