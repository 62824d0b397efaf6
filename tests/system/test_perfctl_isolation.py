"""Checks the isolation of perfctl run, and its accounting of processes that outlive their parents.

On a machine with a writable v2 hierarchy and without systemd, root gets a cgroup and other users get a subreaper. Scopes of
systemd are tested in test_perfctl_scope.py.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

import harness
from harness import PERFCTL, TIMEOUT_S, TestCase, wait_for, wire

NOBODY = 65534
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def group_of(pid):
    """Returns the path of the process in the v2 hierarchy."""
    try:
        return re.search(r"^0::(.*)$", pathlib.Path(f"/proc/{pid}/cgroup").read_text(), re.M)[1]
    except FileNotFoundError:
        return None


def hierarchy():
    """Returns the mount point of cgroup v2, or None."""
    m = re.search(r"^\S+ (\S+) cgroup2 rw", pathlib.Path("/proc/mounts").read_text(), re.M)
    return m and pathlib.Path(m[1])


def own_directory():
    return hierarchy() / group_of("self").lstrip("/")


def why_no_group():
    if os.path.exists("/run/systemd/system"):
        return "systemd runs here: it decides about groups"
    if not hierarchy() or not group_of("self") or not os.access(own_directory() / "cgroup.procs", os.W_OK):
        return "no cgroup v2 that can be written"
    return None


def children_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []


class Recorder:
    """Answers like perfd, and records the requests together with /proc information about the sender."""

    def __init__(self, path):
        self.path = path
        self.requests = []
        self.said = ""  # messages of perfctl about the requests
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(16)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.converse, args=(connection,), daemon=True).start()

    def converse(self, connection):
        data = b""
        with connection:
            pid = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little")
            while chunk := connection.recv(65536):
                data += chunk
                while (taken := self.take(data)):
                    request, data = taken
                    self.note(request, pid)
                    reply = wire.Reply(sequence=request.sequence)
                    if request.WhichOneof("body") == "hello":
                        reply.hello.server, reply.hello.frame_max_bytes, reply.hello.in_flight_max = "perfd 0", 1 << 20, 16
                    connection.sendall(harness.frame(reply))

    @staticmethod
    def take(data):
        n = shift = 0
        for at, byte in enumerate(data, 1):
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                body = data[at:at + n]
                return (wire.Request.FromString(body), data[at + n:]) if len(body) == n else None
        return None

    def note(self, request, pid):
        kind = request.WhichOneof("body")
        if kind in ("job_begin", "job_end"):
            self.requests.append((kind, getattr(request, kind), {"pid": pid, "group": group_of(pid), "children": children_of(pid)}))

    def one(self, kind):
        """Returns the only request of this kind with the recorded information."""
        of_kind = [(request, facts) for k, request, facts in self.requests if k == kind]
        assert len(of_kind) == 1, (self.requests, self.said)
        return of_kind[0]

    def close(self):
        self.listener.close()


# Forked copies of the program use CPU time and report the amount.
TREE = """
import os, select, sys, time
directory = sys.argv[1]
def burn(seconds):
    while time.process_time() < seconds: pass
def note(name):
    with open(f"{directory}/cpu-{name}.tmp", "w") as f: print(time.process_time(), file=f)
    os.rename(f"{directory}/cpu-{name}.tmp", f"{directory}/cpu-{name}")
def child(name, seconds, after=lambda: None, twice=False):
    pid = os.fork()
    if pid == 0:
        if twice:
            os.setsid()
            if os.fork(): os._exit(0)
        with open(f"{directory}/pid-{name}", "w") as f: print(os.getpid(), file=f)
        after_fork = time.process_time()
        burn(after_fork + seconds)
        note(name)
        after()
        os._exit(0)
    return pid
def wait_for(path):
    while not os.path.exists(f"{directory}/{path}"): time.sleep(0.01)
def wait_end(name):
    wait_for(f"cpu-{name}")
    try:
        with open(f"{directory}/pid-{name}") as f: fd = os.pidfd_open(int(f.read()))
    except ProcessLookupError:
        return  # perfctl has waited for it already
    select.select([fd], [], [])
    os.close(fd)
"""


class IsolationTestCase(TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.directory.chmod(0o777)
        self.recorder = Recorder(self.directory / "perfd.sock")
        self.addCleanup(self.recorder.close)
        os.chmod(self.recorder.path, 0o777)
        self.addCleanup(self.remove_groups)

    def remove_groups(self):
        for group in own_directory().glob("perfd-t-*") if not why_no_group() else ():
            for pid in (group / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            wait_for(lambda: "populated 0" in (group / "cgroup.events").read_text(), "an empty group")
            group.rmdir()

    def start(self, *command, options=(), socket=None, **more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PERFD_JOB", "SLURM_", "PMI", "OMPI_"))}
        environment.update(PERFD_SOCKET=str(socket or self.recorder.path), NO_COLOR="1")
        perfctl = self.for_others() if "user" in more else PERFCTL
        return subprocess.Popen([str(perfctl), "run", "--quiet", "--spool", str(self.directory / "spool"), *options, "--",
                                 *map(str, command)], env=environment, stdin=subprocess.DEVNULL, **more)

    def run_job(self, *command, **more):
        """Returns (exit status, stdout, stderr). Retries if perfctl's timeout for perfd has expired on a busy machine."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            for path in self.directory.glob("cpu-*"):
                path.unlink()
            self.recorder.requests.clear()
            process = self.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
            out, err = process.communicate(timeout=TIMEOUT_S)
            self.recorder.said = err
            if "socket" in more or not re.search("does not respond|timed out|are kept in", err) or time.monotonic() > deadline:
                break
        return process.returncode, out, err

    def tree(self, program, **more):
        return self.run_job("/usr/bin/python3", "-c", TREE + program, self.directory, **more)

    def cpu(self, *names):
        return sum(float((self.directory / f"cpu-{name}").read_text()) for name in names)

    def told_cpu(self):
        end, _ = self.recorder.one("job_end")
        return end.rusage.utime + end.rusage.stime

    def assert_cpu(self, told, known):
        """Compares with a tolerance of 1 %, or one tick for each rounding of the kernel."""
        self.assertAlmostEqual(told, known, delta=max(0.01 * known, TICK_S))


@unittest.skipIf(why_no_group(), why_no_group())
class Group(IsolationTestCase):
    def test_the_command_has_its_own_group(self):
        before = group_of("self").rstrip("/")
        status, out, _ = self.run_job("sh", "-c", "grep ^0:: /proc/self/cgroup /proc/$PPID/cgroup; exit 3", options=("--job", "t-own"))
        self.assertEqual(status, 3)
        self.assertEqual([line.rsplit("::", 1)[1] for line in out.splitlines()], [f"{before}/perfd-t-own"] * 2)
        self.assertFalse((own_directory() / "perfd-t-own").exists(), "the group should be gone")

    def test_perfd_is_told_before_the_command_starts_and_while_the_group_is_there(self):
        self.run_job("true", options=("--job", "t-told"))
        begin, facts = self.recorder.one("job_begin")
        self.assertEqual((begin.pid, begin.member_pid, begin.fresh), (facts["pid"], facts["pid"], True))
        self.assertEqual(wire.Isolation.Name(begin.isolation), "CGROUP")
        self.assertTrue(facts["group"].endswith("/perfd-t-told"), facts)
        self.assertEqual(facts["children"], [])
        _, facts = self.recorder.one("job_end")
        self.assertTrue(facts["group"].endswith("/perfd-t-told"), facts)

    def test_a_run_within_a_run_has_a_group_within_the_group(self):
        status, out, err = self.run_job(PERFCTL, "run", "--quiet", "--job", "t-inner", "--", "cat", "/proc/self/cgroup",
                                        options=("--job", "t-outer"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("/perfd-t-outer/perfd-t-inner\n", out)
        self.assertFalse((own_directory() / "perfd-t-outer").exists(), "the groups should be gone")

    def test_the_longest_id_fits(self):
        job = "t-" + "x" * 126
        self.assertIn(f"/perfd-{job}\n", self.run_job("cat", "/proc/self/cgroup", options=("--job", job))[1])

    def test_remaining_processes_keep_the_group_and_are_reported(self):
        status, _, err = self.run_job("sh", "-c", "sleep 1000 >&- 2>&- & echo $! > $0", self.directory / "pid", options=("--job", "t-left"))
        self.assertEqual(status, 0)
        self.assertIn("1 process of the command is still running; its further usage is not counted", err)
        pid = (self.directory / "pid").read_text().strip()
        self.assertTrue(group_of(pid).endswith("/perfd-t-left"))

    def test_without_perfd_remaining_processes_are_not_reported(self):
        _, _, err = self.run_job("sh", "-c", "sleep 1000 >&- 2>&- &", options=("--job", "t-left"), socket=self.directory / "absent.sock")
        self.assertNotIn("not counted", err)

    def test_a_killed_perfctl_leaves_the_command_in_its_group(self):
        process = self.start("sh", "-c", "echo $$; exec sleep 1000", stdout=subprocess.PIPE, text=True, options=("--job", "t-killed"))
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
        process.stdout.close()
        self.assertTrue(group_of(pid).endswith("/perfd-t-killed"))
        os.kill(pid, 0)

        # The id is in use: another run with this id does not join the group.
        self.assertNotIn("perfd-t-killed", self.run_job("cat", "/proc/self/cgroup", options=("--job", "t-killed"))[1])

    def test_a_group_that_cannot_be_entered_is_harmless(self):
        """All groups below a threaded group are threaded."""
        threaded = own_directory() / "perfd-t-threaded"
        threaded.mkdir()
        (threaded / "cgroup.type").write_text("threaded")
        self.addCleanup(wait_for, lambda: not threaded.exists() or threaded.rmdir() or True, "the removal")

        def enter():
            (threaded / "cgroup.procs").write_text("0")
        status, out, err = self.run_job("cat", "/proc/self/cgroup", options=("--job", "t-inner", "-v"), preexec_fn=enter)
        self.assertEqual(status, 0)
        self.assertIn("/perfd-t-threaded\n", out)
        self.assertIn("no cgroup: cannot be created: Operation not supported", err)
        self.assertEqual(wire.Isolation.Name(self.recorder.one("job_begin")[0].isolation), "SUBREAPER")
        self.assertEqual([p.name for p in threaded.iterdir() if p.is_dir()], [])

    def test_no_more_is_tried_than_wanted(self):
        for wanted, found in (("scope", "CGROUP"), ("cgroup", "CGROUP"), ("subreaper", "SUBREAPER"), ("none", "NONE")):
            self.recorder.requests.clear()
            status, out, _ = self.run_job("cat", "/proc/self/cgroup", options=("--job", "t-kind", "--isolation", wanted))
            begin, facts = self.recorder.one("job_begin")
            self.assertEqual((status, wire.Isolation.Name(begin.isolation)), (0, found))
            self.assertEqual("/perfd-t-kind" in out, found == "CGROUP")
            self.assertEqual((begin.member_pid, begin.fresh), (facts["pid"], True) if found == "CGROUP" else (0, False))

    def test_the_rusage_is_that_of_the_command_alone(self):
        self.tree("child('daemon', 0.3, twice=True); wait_for('cpu-daemon'); burn(0.1); note('first'); os._exit(0)",
                  options=("--job", "t-first"))
        self.assert_cpu(self.told_cpu(), self.cpu("first"))


@unittest.skipIf(why_no_group(), why_no_group())
class Numbers(IsolationTestCase):
    """Tests with the real perfd."""

    def job(self, daemon, job, kind, program):
        """Returns the ended job. On a busy machine, perfctl may have saved the end in the spool."""
        self.tree(program, options=("--job", job, "--isolation", kind), socket=daemon.socket)
        daemon.perfctl("flush", "--spool", self.directory / "spool")
        return wait_for(lambda: (j := daemon.get(f"/api/v1/jobs/{job}").json)["state"] == "finished" and j, "the job's end")

    def test_a_job_with_a_group_has_numbers_of_its_own(self):
        daemon = self.daemon()
        job = self.job(daemon, "t-own", "cgroup", "child('daemon', 0.4, twice=True); child('child', 0.3); "
                       "wait_for('cpu-daemon'); wait_for('cpu-child'); note('first'); os._exit(0)")
        self.assertEqual(job["isolation"], "cgroup")
        self.assertTrue(job["cgroup"].endswith("/perfd-t-own"))
        used = [m for m in job["metrics"] if m["key"] == "job_cpu_seconds"][0]
        self.assertEqual((used["quality"], used["scope"]), ("exact", "job"))
        # perfctl itself is in the group: it starts the command and reports to perfd.
        self.assertAlmostEqual(used["value"], self.cpu("daemon", "child", "first"), delta=0.03 * (1 if not harness.IS_SANITIZED else 20))

    def test_a_job_without_a_group_has_the_cpu_time_of_its_tree(self):
        daemon = self.daemon()
        job = self.job(daemon, "t-tree", "subreaper",
                       "child('daemon', 0.4, twice=True); wait_end('daemon'); note('first'); os._exit(0)")
        self.assertEqual((job["isolation"], job["cgroup"]), ("subreaper", None))
        used = [m for m in job["metrics"] if m["key"] == "job_cpu_seconds"][0]
        self.assert_cpu(used["value"], self.cpu("daemon", "first"))

    def test_a_perfd_that_is_late_finds_the_group_still_there(self):
        daemon = self.daemon("[jobs]\nlinger = 0\n")
        go = self.directory / "go"
        program = "print('ready', flush=True); wait_for('go'); burn(0.4); note('first'); os._exit(3)"
        process = self.start("/usr/bin/python3", "-c", TREE + program, self.directory, socket=daemon.socket, options=("--job", "t-late"),
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        daemon.wait_tick()
        daemon.signal(signal.SIGSTOP)
        go.touch()
        process.stdout.close()
        self.assertEqual(process.wait(TIMEOUT_S), 3)
        self.assertTrue((own_directory() / "perfd-t-late").exists())
        daemon.signal(signal.SIGCONT)
        daemon.perfctl("flush", "--spool", self.directory / "spool")
        job = wait_for(lambda: (j := daemon.get("/api/v1/jobs/t-late").json)["state"] != "running" and j, "the job's end")
        used = [m for m in job["metrics"] if m["key"] == "job_cpu_seconds"][0]
        self.assertEqual(used["quality"], "exact")
        self.assertAlmostEqual(used["value"], self.cpu("first"), delta=0.03 if not harness.IS_SANITIZED else 0.6)

    def test_a_job_goes_on_without_perfctl_as_long_as_its_group_is_populated(self):
        daemon = self.daemon("[jobs]\nlinger = 0\n")
        process = self.start("sh", "-c", "echo $$; exec sleep 1000", stdout=subprocess.PIPE, text=True, socket=daemon.socket,
                             options=("--job", "t-killed"))
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
        process.stdout.close()
        daemon.wait_tick()
        daemon.wait_tick()
        self.assertEqual(daemon.get("/api/v1/jobs/t-killed").json["state"], "running")
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: daemon.get("/api/v1/jobs/t-killed").json["state"] == "interrupted", "the end of a job with an empty group")


class Subreaper(IsolationTestCase):
    """Runs as a user who may not create groups; the numbers are the same for all users."""

    def test_cpu_time_is_not_exact_if_a_parent_ignores_its_children(self):
        daemon = self.daemon()
        ignore = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
        programs = {"exact": "pass", "command": ignore,
                    "left": f"os.fork() or ({ignore}, time.sleep(0.2))"} # outlives the command
        for name, program in programs.items():
            run = daemon.perfctl("run", "--job", name, "--isolation", "subreaper", "--wait", "--", "/usr/bin/python3", "-c",
                                 f"import os, signal, time\n{program}")
            self.assertEqual(run.returncode, 0, run.stderr)
            job = daemon.get(f"/api/v1/jobs/{name}").json
            used = [m for m in job["metrics"] if m["key"] == "job_cpu_seconds"][0]
            self.assertEqual(used["quality"], "exact" if name == "exact" else "sampled", name)

    def setUp(self):
        super().setUp()
        self.as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        self.counted = {"options": ("--job", "j", "--isolation", "subreaper")}

    def test_a_user_who_cannot_create_groups_gets_a_subreaper(self):
        status, out, err = self.run_job("cat", "/proc/self/cgroup", options=("--job", "j", "-v"), **self.as_nobody)
        self.assertEqual((status, group_of("self")), (0, re.search(r"^0::(.*)$", out, re.M)[1]))
        self.assertIn("no cgroup for the job (no scope: ", err)
        begin, facts = self.recorder.one("job_begin")
        self.assertEqual(wire.Isolation.Name(begin.isolation), "SUBREAPER")
        self.assertEqual((begin.pid, begin.member_pid, begin.fresh), (facts["pid"], 0, False))

    def test_children_that_fork_twice_are_counted(self):
        status, _, err = self.tree("""
child('waited', 0.2)
os.wait()
child('daemon', 0.3, twice=True)
child('another', 0.25, twice=True)
wait_end('daemon')
wait_end('another')
burn(0.1)
note('first')
os._exit(0)
""", **self.counted)
        self.assertEqual((status, err), (0, ""))
        known = self.cpu("waited", "daemon", "another", "first")
        self.assertGreater(known, 0.85)
        self.assert_cpu(self.told_cpu(), known)

    def test_children_that_are_not_waited_for_are_counted(self):
        self.tree("child('child', 0.4); wait_end('child'); note('first'); os._exit(0)", **self.counted)
        self.assert_cpu(self.told_cpu(), self.cpu("child", "first"))

    def test_running_processes_are_counted_up_to_the_end(self):
        status, _, err = self.tree("""
def lie_down():
    os.close(1), os.close(2)
    time.sleep(1000)
child('daemon', 0.4, lie_down, twice=True)
wait_for('cpu-daemon')
note('first')
os._exit(7)
""", **self.counted)
        os.kill(int((self.directory / "pid-daemon").read_text()), signal.SIGKILL)
        self.assertEqual(status, 7)
        self.assertIn("1 process of the command is still running", err)
        # For running processes, the kernel reports whole ticks of user and system time.
        self.assertAlmostEqual(self.told_cpu(), self.cpu("daemon", "first"), delta=3 * TICK_S)

    def test_several_processes_are_reported_once(self):
        _, _, err = self.run_job("sh", "-c", "for i in 1 2; do sleep 1000 >&- 2>&- & echo $! >> $0; done", self.directory / "pids",
                                 **self.counted)
        for pid in (self.directory / "pids").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        self.assertEqual(err.count("2 processes of the command are still running"), 1)
        self.assertEqual(err.count("\n"), 1)

    def test_the_largest_resident_set_is_reported_instead_of_the_sum(self):
        self.tree("""
def grow(): x = bytearray(96 << 20); time.sleep(0)
child('a', 0, grow)
child('b', 0, grow)
os.wait(); os.wait()
os._exit(0)
""", **self.counted)
        end, _ = self.recorder.one("job_end")
        self.assertGreater(end.rusage.maxrss, 96 << 10)
        self.assertLess(end.rusage.maxrss, 160 << 10)

    def test_nothing_is_adopted_with_no_isolation(self):
        program = """
first = os.getpid()
def look():
    while os.getppid() == between: time.sleep(0.01)
    with open(f"{directory}/parent", "w") as f: print(os.getppid(), file=f)
if os.fork() == 0:
    between = os.getpid()
    child('orphan', 0, look)
    os._exit(0)
os.wait()
wait_for('cpu-orphan')
while not os.path.exists(f"{directory}/parent") or not open(f"{directory}/parent").read(): time.sleep(0.01)
"""
        for kind, is_adopted in (("subreaper", True), ("none", False)):
            self.recorder.requests.clear()
            self.tree(program, options=("--job", "j", "--isolation", kind))
            pid = self.recorder.one("job_begin")[1]["pid"]
            self.assertEqual((self.directory / "parent").read_text() == f"{pid}\n", is_adopted)
            (self.directory / "parent").unlink()


class Wait(IsolationTestCase):
    KINDS = ("cgroup", "subreaper", "none")

    def test_wait_includes_all_started_processes(self):
        for kind in self.KINDS:
            with self.subTest(kind):
                done = self.directory / f"done-{kind}"
                status, out, err = self.run_job("sh", "-c", f"echo early; (setsid sh -c 'sleep 0.3; echo late; touch {done}' &); exit 7",
                                                options=("--job", f"t-{kind}", "--isolation", kind, "--wait"))
                self.assertTrue(done.exists())
                self.assertEqual((status, out, err), (7, "early\nlate\n", ""))

    def test_awaited_processes_are_counted(self):
        self.tree("child('daemon', 0.4, twice=True); note('first'); os._exit(0)",
                  options=("--job", "j", "--isolation", "subreaper", "--wait"))
        self.assert_cpu(self.told_cpu(), self.cpu("daemon", "first"))

    def test_waiting_can_be_interrupted(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            ready, pid = self.directory / "ready", self.directory / "pid"
            process = self.start("sh", "-c", f"(setsid sh -c 'echo $$ > {pid}; : > {ready}; exec sleep 1000' &); exit 7",
                                 options=("--job", f"t-{int(number)}", "--wait"), stderr=subprocess.PIPE, text=True,
                                 stdout=subprocess.DEVNULL)
            wait_for(ready.exists, "the process that is left")
            wait_for(lambda: children_of(process.pid) == pid.read_text().split(), "its adoption")
            process.send_signal(number)
            self.assertEqual(process.wait(TIMEOUT_S), 7)
            os.kill(int(pid.read_text()), signal.SIGKILL)
            self.assertIn("still running", process.stderr.read())
            process.stderr.close()
            ready.unlink()
            pid.unlink()

    def test_a_command_without_children_ends_as_before(self):
        begin = time.monotonic()
        self.assertEqual(self.run_job("sh", "-c", "exit 4", options=("--wait",))[0], 4)
        self.assertLess(time.monotonic() - begin, TIMEOUT_S / 2)

    def test_only_known_kinds_are_accepted(self):
        for kind in ("found", "auto", ""):
            status, _, err = self.run_job("true", options=("--isolation", kind))
            self.assertEqual(status, 2)
            self.assertIn("--isolation expects none, scope, cgroup or subreaper", err)


if __name__ == "__main__":
    unittest.main()
