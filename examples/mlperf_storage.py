#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Show the accelerator utilization (AU) of a run of MLPerf Storage, and submit its data pipeline to perfd.

    mlperf_storage.py [--json] [--job JOB] DIRECTORY

The directory has 0_output.json, 1_output.json and so on, per_epoch_stats.json, and perhaps summary.json. The benchmark emulates an
accelerator on each rank: a step (`proc`) loads a batch (`load`), and then sleeps for a fixed time (`compute`). The shares are those of
the block of steps without its first step, in which the pipeline starts, and add up to 100 %:

    AU       compute times of the other steps. The rules demand 90 % for unet3d and resnet50, and 70 % for cosmoflow
    LOADING  load times of the other steps, which faster storage could save
    OTHER    rest of the other steps; negative if a rank computed for less than the fixed time
    OUTSIDE  time in no step, such as the start of the workers and the wait for other ranks. One rank measures the duration: slightly
             negative if the steps of another rank took longer

With --job, each block of a rank becomes an interval of a pipeline of this job, whose number is the rank, through perfctl pipeline submit:
the loads are the waits of the training loop.
"""

import argparse
import datetime
import json
import math
import pathlib
import re
import subprocess
import sys

UNKNOWN = dict.fromkeys(("seconds", "au", "loading", "other", "outside", "first_step_seconds"))


class Failed(Exception):
    """A file cannot be read: its name, the place and the reason."""


def read(path):
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise Failed(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise Failed(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise Failed(f"{path}: expected a JSON object")
    return document


def member(document, *keys):
    """Return a member of nested objects, or None."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def clock(stats, key):
    """Return a time of per_epoch_stats.json, which is in UTC, in seconds since 1970, or None."""
    try:
        return datetime.datetime.fromisoformat(stats[key]).replace(tzinfo=datetime.timezone.utc).timestamp()
    except (KeyError, TypeError, ValueError):
        return None


def read_duration(stats):
    """Prefer the two times, which have microseconds, to the duration, which is rounded to 10 ms."""
    begin, end = clock(stats, "start"), clock(stats, "end")
    if begin is not None and end is not None and end > begin:
        return end - begin
    try:
        seconds = float(member(stats, "duration"))
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise ValueError("no duration in per_epoch_stats.json")
    return seconds


def read_times(epoch, part, block, n_steps=None):
    times = member(epoch, part, block)
    if not isinstance(times, list):
        raise ValueError(f"no list of {part} times")
    if n_steps is not None and len(times) != n_steps:
        raise ValueError(f"{len(times)} {part} times for {n_steps} steps")
    for i, seconds in enumerate(times):
        if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 <= seconds < math.inf:
            raise ValueError(f"{part}[{i}] is not a time in seconds")
    return times


def measure(epoch, block, stats):
    """Return the numbers of a block of steps. Raises ValueError with the reason why they are not known."""
    steps = read_times(epoch, "proc", block)
    load, compute = (read_times(epoch, part, block, len(steps)) for part in ("load", "compute"))
    if len(steps) < 2:
        raise ValueError(f"too few steps: {len(steps)}")
    seconds = read_duration(stats)
    rest = seconds - steps[0]
    if rest <= 0:
        raise ValueError("the first step took as long as the block")
    shares = {"au": sum(compute[1:]), "loading": sum(load[1:]), "other": sum(steps[1:]) - sum(compute[1:]) - sum(load[1:]),
              "outside": rest - sum(steps[1:])}
    return {"steps": len(steps), "seconds": seconds, "first_step_seconds": steps[0], "load_seconds": sum(load),
            **{name: 100 * share / rest for name, share in shares.items()}}


def read_blocks(directory):
    """Return the blocks of all ranks and epochs, and the number of ranks."""
    files = {int(match[1]): path for path in directory.glob("*_output.json") if (match := re.fullmatch(r"(\d+)_output\.json", path.name))}
    if not files:
        raise Failed(f"{directory}: no results of MLPerf Storage; a directory of a run has 0_output.json, 1_output.json and so on, and "
                     "per_epoch_stats.json")
    stats, blocks = read(directory / "per_epoch_stats.json"), []
    for rank, path in sorted(files.items()):
        epochs = {int(key): epoch for key, epoch in read(path).items() if key.isdecimal()}
        for number, epoch in sorted(epochs.items()):
            for name in member(epoch, "proc") if isinstance(member(epoch, "proc"), dict) else ():
                of_block = member(stats, str(number), name)
                block = {"rank": rank, "epoch": number, "block": name, "end": clock(of_block, "end"), **UNKNOWN}
                try:
                    block.update(measure(epoch, name, of_block))
                except ValueError as error:
                    block["reason"] = str(error)
                blocks.append(block)
    if not blocks:
        raise Failed(f"{directory}: no steps: an output file has them in proc, load and compute of each epoch")
    return blocks, len(files)


def print_screen(blocks, n_ranks, n_accelerators):
    print(f"{'RANK':>4} {'EPOCH':>5} {'BLOCK':8} {'STEPS':>6} {'AU %':>6} {'LOADING %':>9} {'OTHER %':>7} {'OUTSIDE %':>9} FIRST STEP s")
    for block in blocks:
        text = f"{block['rank']:4} {block['epoch']:5} {block['block']:8} {block.get('steps', ''):>6}"
        if "reason" in block:
            print(f"{text}  not known: {block['reason']}")
        else:
            print(f"{text} {block['au']:6.1f} {block['loading']:9.1f} {block['other']:7.1f} {block['outside']:9.1f} "
                  f"{block['first_step_seconds']:12.2f}")
    print()
    for epoch, name in dict.fromkeys((block["epoch"], block["block"]) for block in blocks):
        known = [(block["au"], block["rank"]) for block in blocks
                 if (block["epoch"], block["block"]) == (epoch, name) and block["au"] is not None]
        if known:
            mean = sum(au for au, _ in known) / len(known)
            print(f"Epoch {epoch}, {name}: mean {mean:.1f} %, {min(known)[0]:.1f} to {max(known)[0]:.1f} % over {len(known)} "
                  f"rank{'s' * (len(known) != 1)}, lowest on rank {min(known)[1]}")
        else:
            print(f"Epoch {epoch}, {name}: utilization not known")
    if n_accelerators and n_accelerators > n_ranks:
        print(f"Results of {n_ranks} of {n_accelerators} accelerators.")


def submit(blocks, job):
    """Pipe an interval for each block to perfctl. Returns the exit status."""
    status, lines = 0, ['{"producer": "mlperf-storage"}']
    for block in blocks:
        if "reason" in block or block["end"] is None:
            status = 1
            print(f"mlperf_storage: rank {block['rank']}, epoch {block['epoch']}, {block['block']}: not submitted: "
                  f"{block.get('reason', 'no end in per_epoch_stats.json')}", file=sys.stderr)
            continue
        lines.append(json.dumps({"stage": f"{block['rank']}:0:load", "time": block["end"], "elapsed": block["seconds"],
                                 "num_items": block["steps"], "ave_get_time": block["load_seconds"] / block["steps"]}))
    try:
        done = subprocess.run(["perfctl", "pipeline", "submit", "--job", job, "-"], input="\n".join(lines), text=True)
    except OSError as error:
        raise Failed(f"cannot start perfctl: {error.strerror}") from error
    return done.returncode or status


def main():
    parser = argparse.ArgumentParser(description="Show the accelerator utilization of a run of MLPerf Storage.")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    parser.add_argument("--job", help="submit the data pipeline of the run for this job of perfd, which may have ended")
    parser.add_argument("directory", type=pathlib.Path)
    options = parser.parse_args()
    try:
        blocks, n_ranks = read_blocks(options.directory)
        summary = options.directory / "summary.json"
        n_accelerators = member(read(summary), "num_accelerators") if summary.exists() else None
        if options.json:
            print(json.dumps({"ranks": n_ranks, "accelerators": n_accelerators, "blocks": blocks}))
        else:
            print_screen(blocks, n_ranks, n_accelerators)
        sys.stdout.flush()
        return submit(blocks, options.job) if options.job else 0
    except Failed as error:
        print(f"mlperf_storage: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
