"""Cost of the cgroups of jobs: bench/cgroup on this machine and in a virtual machine, and perfd with a thousand
groups."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

import measure
from measure import ROOT, Daemon, cpu_us, memory_kib, run_program
from table import Reference


class Reading:
    """Parses a line of bench/cgroup: µs of CPU per group."""

    def __init__(self, line):
        n = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}
        self.n_groups, self.n_files = n["groups"], n["files"]
        self.sample, self.bare, self.everything, self.bare_everything, self.cold, self.cold_bare = (
            n[name] / 1e3 for name in ("sample", "bare", "everything", "bare_everything", "cold", "cold_bare_everything"))

    def text(self):
        return (f"{self.n_files} files; all of them each time: {self.bare_everything:.1f} µs of bare reads; half a second later: "
                f"{self.cold:.1f}, all files {self.cold_bare:.1f} µs; a begin or an end: {self.everything:.0f} µs")


def readings(output):
    return [Reading(line) for line in (output or "").splitlines() if line.startswith("cgroup: groups=")]


def in_virtual_machine(build):
    """Returns the lines of bench/cgroup from a machine with all controllers, or the reason why there are none."""
    os.environ["PERFD_BUILD"] = str(build)
    sys.path.insert(0, str(ROOT / "tests/system"))
    try:
        import vm
    except ImportError as missing:
        return None, str(missing)
    if vm.why_not():
        return None, vm.why_not()
    machine = vm.Machine("cgroup_no_v1=all", files={"/root/cgroup": build / "bench" / "cgroup"})
    try:
        command = "echo +cpu +cpuset +io +memory +pids >/sys/fs/cgroup/cgroup.subtree_control && /root/cgroup"
        return subprocess.run([*machine.enter, "bash", "-c", command], check=True, stdout=subprocess.PIPE, text=True).stdout, None
    finally:
        machine.end()


@contextlib.contextmanager
def many_groups(n):
    """Returns the mount point of cgroup v2 and the path below it of a group that contains n groups; None if they
    cannot be created."""
    mounts = [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"]
    base = pathlib.Path(mounts[0] if mounts else "/nowhere") / f"perfd-bench-{os.getpid()}"
    try:
        base.mkdir()
    except OSError:
        yield None
        return
    try:
        for i in range(n):
            (base / str(i)).mkdir()
        yield base
    finally:
        for group in [*base.glob("[0-9]*"), base]:
            group.rmdir()


def measure_daemon(run, table, cold_bare):
    """Starts perfd, which finds n jobs, with one sample per second. cold_bare: µs for all files of a group, half a second later."""
    sizes = run.sizes
    with many_groups(sizes.n_jobs) as base:
        if not base:
            table.beside("perfd with jobs of their own cgroups", "not measured: this user cannot make cgroups here")
            return
        with Daemon(run.build, f"[patterns]\nother = /{base.name}/{{job}}\n") as daemon:
            measure.wait_for(lambda: daemon.metrics()["perfd_jobs_with_cgroup"] >= sizes.n_jobs, "all jobs to be found")
            daemon.wait_ticks(12)
            first, cpu, begin = daemon.metrics(), cpu_us(daemon.pid), time.monotonic()
            time.sleep(sizes.idle_s)
            us = cpu_us(daemon.pid) - cpu - run.idle_us_per_s * (time.monotonic() - begin)
            n = daemon.metrics()["perfd_samples_total"] - first["perfd_samples_total"]
            table.at_most(f"perfd with {sizes.n_jobs:,} jobs found, each job and sample", us / n / sizes.n_jobs, "µs",
                          Reference("bare reads of all files, cold", cold_bare), 1.5, "with publishing and checkpoints")
            table.plain("descriptors of each job", len(os.listdir(f"/proc/{daemon.pid}/fd")) / sizes.n_jobs, "")
            memory = memory_kib(daemon.pid)
            table.plain("resident memory", memory["VmRSS"] / 1024, "MiB", f"anonymous {memory['RssAnon'] / 1024:.1f} MiB")
            table.keep("resident memory, anonymous", memory["RssAnon"] / 1024)


def measure_groups(run, table):
    found = readings(run_program(run.build, "cgroup"))
    for reading in found:
        bare = Reference("bare reads as often", reading.bare)
        table.at_most(f"sample of one of {reading.n_groups:,} groups", reading.sample, "µs", bare, 2, reading.text(), compares_ratio=True)
    if found:
        measure_daemon(run, table, found[-1].cold_bare)
    if run.is_quick or not run.has_peers:
        return
    output, why_not = in_virtual_machine(run.build)
    if not output:
        table.beside(f"in a virtual machine with every controller: {why_not}", "not measured")
    for reading in readings(output):
        table.beside(f"in an emulated machine with every controller, one of {reading.n_groups:,} groups",
                     f"{reading.sample:.0f} µs, {reading.sample / reading.bare:.2f} × bare reads as often: {reading.text()}")
