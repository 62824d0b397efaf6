"""Runs jobs in a virtual machine with all controllers (boot-vm.sh).

The jobs have a known cost (work.c), and run in groups that perfd detects. Tests compare perfd's numbers with those of the
program, with the limits, and with the kernel's final numbers of the group.
"""

import functools
import itertools
import json
import pathlib
import re
import subprocess
import tempfile

import vm
from harness import ROOT, TIMEOUT_S, wait_for

CONF = """
[jobs]
linger = 0
[patterns]
service = /system.slice/job-{job}.service
other = /jobs/{job} /above/{job} /bare/{job}
"""
TICK_S = 0.01
MIB = 1 << 20
ROOT_GROUP = "/sys/fs/cgroup"
DISK_FILE = "/var/tmp/file"


def patient(test):
    """Retries a test that compares CPU times once, since the hypervisor may take away the CPU."""
    @functools.wraps(test)
    def tried(self):
        for _ in range(2):
            try:
                return test(self)
            except AssertionError as failure:
                print(f"once more: {failure}")
        return test(self)
    return tried


class Jobs:
    """Boots one machine for a class of tests. DIRECTORIES: hierarchies in which a job has a group; the hierarchy that counts CPU
    time comes last, since it is entered last."""

    KERNEL = ""
    DIRECTORIES = (ROOT_GROUP,)
    NUMBERS = itertools.count(1)

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="perfd-work-") as directory:
            work = pathlib.Path(directory) / "work"
            subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", work, ROOT / "tests/system/work.c"], check=True)
            cls.machine = vm.Machine(cls.KERNEL, files={"/usr/local/bin/work": work}, conf=CONF)
        cls.addClassCleanup(cls.machine.end)
        cls.prepare()

    @classmethod
    def prepare(cls):
        cls.machine.run(f"mkdir {' '.join(f'{d}/jobs' for d in cls.DIRECTORIES)}")

    def make(self, name, parent="jobs", **files):
        """Creates a group for a job and returns the job's id. Values are written to files: memory_max="48M" to memory.max."""
        job = f"{name}{next(self.NUMBERS)}"
        script = f"mkdir {' '.join(f'{d}/{parent}/{job}' for d in self.DIRECTORIES)}"
        for name, value in files.items():
            file = f"{parent}/{job}/{name.replace('_', '.', 1)}"
            script += f" && for d in {' '.join(self.DIRECTORIES)}; do [ ! -e $d/{file} ] || echo '{value}' >$d/{file}; done"
        self.machine.run(script)
        groups = " ".join(f"{d}/{parent}/{job}" for d in self.DIRECTORIES)
        self.addCleanup(self.machine.sh, f"find {groups} -depth -type d -exec rmdir {{}} +")
        return job

    def entries(self, job, parent="jobs"):
        """Returns the arguments that make work enter the job's group."""
        return " ".join(f"--in {d}/{parent}/{job}" for d in self.DIRECTORIES)

    def work(self, job, words, parent="jobs", status=0):
        """Runs work in the job's group. Returns its CPU seconds."""
        done = self.machine.sh(f"exec work {self.entries(job, parent)} {words}")
        self.assertEqual(done.returncode, status, done.stdout)
        found = re.search(r"cpu_us=(\d+)", done.stdout)
        return int(found[1]) / 1e6 if found else None

    def show(self, job):
        """Returns perfd's answer, or None. Uses shell builtins, since starting programs is slow."""
        answer = self.machine.sh("exec 4<>/dev/tcp/127.0.0.1/9847 && "
                                 f"printf 'GET /api/v1/jobs/{job} HTTP/1.0\\r\\n\\r\\n' >&4 && cat <&4").stdout
        head, _, body = answer.partition("\n\n")
        return json.loads(body) if re.match(r"HTTP/1\.[01] 200 ", head) else None

    def end(self, job):
        """Returns the ended job. A job ends when its group is empty."""
        return wait_for(lambda: (shown := self.show(job)) and shown["state"] != "running" and shown, f"job {job} to end",
                        TIMEOUT_S * vm.SLOWNESS)

    def kernel(self, job, file, parent="jobs"):
        """Returns {name: number} of a file of the group while the group exists."""
        text = self.machine.sh(f"cat {' '.join(f'{d}/{parent}/{job}/{file}' for d in self.DIRECTORIES)} 2>/dev/null").stdout
        return {name: int(number) for name, number in re.findall(r"^(\S+) (\d+)$", text, re.M)}

    def metric(self, shown, key):
        found = next((m for m in shown["metrics"] if m["key"] == key), None)
        self.assertIsNotNone(found, f"{key} is absent: {[a for a in shown['absent'] if a['key'] == key]}")
        return found

    def exact(self, shown, key):
        found = self.metric(shown, key)
        self.assertEqual(found["quality"], "exact", key)
        return found["value"]

    def assert_near(self, value, truth, slack=0.0):
        """Compares with a tolerance of one percent, or the slack."""
        self.assertLessEqual(abs(value - truth), max(abs(truth) * 0.01, slack), f"{value} instead of {truth}")

    def assert_cpu(self, shown, job, used, ticks=1, parent="jobs"):
        """Compares with the kernel's final value and with the program's own. A process leaves the group shortly before its end, and
        its own measurement ends even earlier; both delays are long on a slow machine."""
        own = self.exact(shown, "job_cpu_seconds")
        text = self.machine.run(f"cat {self.DIRECTORIES[-1]}/{parent}/{job}/cpuacct.usage 2>/dev/null || "
                                f"cat {self.DIRECTORIES[-1]}/{parent}/{job}/cpu.stat")
        counted = int(re.search(r"^usage_usec (\d+)$", text, re.M)[1]) / 1e6 if "usage_usec" in text else int(text) / 1e9
        self.assert_near(own, counted, ticks * TICK_S)
        self.assert_near(own, used, 3 * ticks * TICK_S)


class Everywhere(Jobs):
    """Tests for all kinds of hierarchies. MEMORY_LIMIT: file; QUOTA: file and value for a fifth of a CPU."""

    MEMORY_LIMIT, QUOTA = "memory_max", ("cpu_max", "20000 100000")

    def is_io_counted(self):
        """Linux 6.1 with cgroup v1 counts I/O only for throttled devices."""
        file = f"{ROOT_GROUP}/blkio/blkio.throttle.io_service_bytes"
        return self.machine.sh(f"[ ! -e {file} ] || grep -q '^Total [1-9]' {file}").returncode == 0

    @patient
    def test_cpu_seconds_are_those_of_the_work(self):
        job = self.make("cpu")
        used = self.work(job, "burn 1.5 2")
        shown = self.end(job)
        self.assertGreaterEqual(used, 3)
        self.assert_cpu(shown, job, used, 2)
        self.assert_near(self.exact(shown, "job_cpu_user_seconds") + self.exact(shown, "job_cpu_system_seconds"),
                         self.exact(shown, "job_cpu_seconds"), 2 * TICK_S)
        self.assertGreater(self.metric(shown, "job_cpus_used_peak")["value"], 0.5)

    @patient
    def test_a_job_of_50_ms_has_all_of_its_cpu_time(self):
        job = self.make("short")
        used = self.work(job, "burn 0.05 1")
        self.assert_cpu(self.end(job), job, used)

    def test_bytes_are_those_that_were_written_and_read(self):
        job = self.make("io")
        self.work(job, f"write {DISK_FILE} 12 + read {DISK_FILE} 8")
        shown = self.end(job)
        if not self.is_io_counted():
            reasons = {a["key"]: a["reason"] for a in shown["absent"] if a["scope"] == "job"}
            self.assertIn("not enabled", reasons["job_io_written_bytes"])
            return
        self.assert_near(self.exact(shown, "job_io_written_bytes"), 12 * MIB)
        self.assert_near(self.exact(shown, "job_io_read_bytes"), 8 * MIB)
        self.assertGreaterEqual(self.exact(shown, "job_io_writes"), 12)
        self.assertGreaterEqual(self.exact(shown, "job_io_reads"), 8)

    def test_memory_that_runs_into_its_limit(self):
        job = self.make("memory", **{self.MEMORY_LIMIT: 48 * MIB})
        self.work(job, "eat 100", status=137)
        shown = self.end(job)
        self.assertEqual(self.exact(shown, "job_memory_limit_bytes"), 48 * MIB)
        self.assert_near(self.exact(shown, "job_memory_peak_bytes"), 48 * MIB)
        self.assert_near(self.exact(shown, "job_memory_peak_ratio"), 1)
        self.assertEqual(self.exact(shown, "job_oom_kills"), 1)
        self.assertEqual(shown["limits"]["memory_bytes"], 48 * MIB)

    def test_a_fork_bomb_stays_in_its_limit_and_everybody_else_goes_on(self):
        job = self.make("bomb", pids_max=40)
        before = self.machine.run("systemctl show -P MainPID perfd.service")
        enough = f"/tmp/{job}.enough"
        self.machine.run(f"setsid work {self.entries(job)} bomb {enough} >/dev/null 2>&1 &")
        self.addCleanup(self.machine.sh, f"touch {enough}")
        # perfd still answers, and has read the group at its limit.
        wait_for(lambda: (shown := self.show(job)) and [m for m in shown["metrics"] if (m["key"], m["value"]) == ("job_pids_peak", 40)],
                 "a look at all of it", TIMEOUT_S * vm.SLOWNESS)
        self.machine.run(f"touch {enough}")
        self.assertEqual(self.metric(self.end(job), "job_pids_peak")["value"], 40)
        self.assertEqual(self.machine.run("systemctl show -P MainPID perfd.service"), before)

    @patient
    def test_a_quota_is_what_was_given_and_its_periods_are_counted(self):
        job = self.make("quota", **{self.QUOTA[0]: self.QUOTA[1]})
        used = self.work(job, "burn 0.6 1")
        stat = self.kernel(job, "cpu.stat")
        shown = self.end(job)
        self.assertEqual(self.exact(shown, "job_cpus_given"), 0.2)
        self.assertEqual(shown["limits"]["cpus"], 0.2)
        self.assert_cpu(shown, job, used)
        self.assertGreater(stat["nr_throttled"], 10)
        # One or two periods may have ended in between.
        self.assert_near(self.exact(shown, "job_cpu_throttled_ratio"), stat["nr_throttled"] / stat["nr_periods"], 2 / stat["nr_periods"])
        throttled_s = stat["throttled_usec"] / 1e6 if "throttled_usec" in stat else stat["throttled_time"] / 1e9
        self.assert_near(self.exact(shown, "job_cpu_throttled_seconds"), throttled_s, 0.2)
        # The job used at most its quota, and nearly all of it.
        self.assertGreater(self.exact(shown, "job_cpu_seconds"), 0.5)

    @patient
    def test_jobs_together_have_not_more_than_the_node(self):
        whole = f"whole{next(self.NUMBERS)}"
        self.machine.run(f"perfctl job begin {whole} >/dev/null")
        jobs = [self.make("left"), self.make("right")]
        left, right = map(self.entries, jobs)
        self.machine.run(f"work {left} burn 1.2 1 & work {right} write {DISK_FILE}2 8; wait")
        own = [self.end(job) for job in jobs]
        self.machine.run(f"perfctl job end {whole} >/dev/null")
        node = self.show(whole)
        cpu_s = self.metric(node, "cpu_user_seconds")["value"] + self.metric(node, "cpu_system_seconds")["value"]
        self.assertGreater(sum(self.exact(job, "job_cpu_seconds") for job in own), 1.2)
        # The node's counters have a resolution of one tick for each CPU and mode.
        self.assertLessEqual(sum(self.exact(job, "job_cpu_seconds") for job in own), cpu_s + 4 * TICK_S)
        if self.is_io_counted():
            self.assertLessEqual(sum(self.exact(job, "job_io_written_bytes") for job in own),
                                 self.metric(node, "total_disk_io_write_mb")["value"] * MIB)
        self.assertEqual({m["scope"] for m in node["metrics"]}, {"node"})
