"""Checks `perfctl job groups`: process groups in the control group of a job, with real processes that end between two readings."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import harness
from harness import PERFCTL, wait_for
from test_job_groups import GroupTest

NOBODY = 65534

# Obeys a line of input each: an answer is a line of JSON.
AGENT = r"""
import json, os, resource, signal, sys
children = {}
def used(who=resource.RUSAGE_SELF):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime
def burn(seconds):
    begin = used()
    while used() - begin < seconds:
        pass
def start(name, seconds, apart):
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ready[0]); os.close(go[1])
        if apart:
            os.setpgid(0, 0)
        burn(float(seconds))
        os.write(ready[1], b"1")
        os.read(go[0], 1)
        os._exit(0)
    os.close(ready[1]); os.close(go[0])
    os.read(ready[0], 1)
    os.close(ready[0])
    children[name] = (pid, go[1])
    return pid
print(json.dumps(os.getpid()), flush=True)
for line in sys.stdin:
    verb, *words = line.split()
    answer = None
    if verb == "burn":
        burn(float(words[0]))
        answer = used()
    elif verb == "start":
        answer = start(words[0], words[1], len(words) > 2)
    elif verb == "finish":  # the child becomes a zombie
        os.close(children[words[0]][1])
        os.waitid(os.P_PID, children[words[0]][0], os.WEXITED | os.WNOWAIT)
    elif verb == "wait":
        usage = os.wait4(children[words[0]][0], 0)[2]
        answer = usage.ru_utime + usage.ru_stime
    elif verb == "ignore":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    elif verb == "reap":  # by the kernel, because SIGCHLD is ignored
        os.close(children[words[0]][1])
        try:
            os.waitpid(children[words[0]][0], 0)
        except ChildProcessError:
            pass
    elif verb == "write":
        with open(words[0], "wb") as file:
            file.write(b"x" * int(words[1]))
            os.fsync(file.fileno())
    elif verb == "used":
        answer = [used(), used(resource.RUSAGE_CHILDREN)]
    elif verb == "stop":
        os._exit(0)
    print(json.dumps(answer), flush=True)
"""


class Agent:
    def __init__(self, group, uid=None, **environment):
        user = {"user": uid, "group": uid, "extra_groups": []} if uid else {}
        environment = {k: v for k, v in os.environ.items() if "RANK" not in k and "SLURM" not in k} | environment
        self.process = subprocess.Popen([sys.executable, "-c", AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment, start_new_session=True, cwd="/", **user)
        group.processes.append(self.process)
        self.pid = json.loads(self.process.stdout.readline())
        (group.path / "cgroup.procs").write_text(str(self.pid))

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Watch:
    """Reads what a perfctl that goes on prints."""

    def __init__(self, daemon, *words):
        self.process = subprocess.Popen([str(PERFCTL), "--socket", str(daemon.socket), "job", "groups", "--watch", "--interval", "0.1",
                                         "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.readings = []

    def next(self):
        self.readings.append(json.loads(self.process.stdout.readline()))
        return {group["group"]: group for group in self.readings[-1]["groups"]}

    def after(self):
        """Returns a reading that began after now."""
        now_ms = time.time() * 1000
        while True:
            groups = self.next()
            if len(self.readings) > 1 and self.readings[-2]["time_ms"] > now_ms:
                return groups

    def close(self):
        self.process.kill()
        self.process.communicate()


class ProcessGroups(GroupTest):
    def begun(self):
        daemon, group = self.daemon(self.CONFIG), self.group()
        member = group.start()
        with daemon.client() as client:
            self.assertEqual(self.begin(client, "ranks", member).status, harness.wire.OK)
        return daemon, group

    def watch(self, daemon):
        watch = Watch(daemon, "ranks")
        self.addCleanup(watch.close)
        return watch

    def once(self, daemon, *words):
        done = daemon.perfctl("job", "groups", "--json", *words, "ranks")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answer = json.loads(done.stdout)
        return answer, {group["group"]: group for group in answer["groups"]}

    def assert_never_less(self, watch):
        before = {}
        for reading in watch.readings:
            for group in reading["groups"]:
                for key in ("cpu_seconds", "disk_read_bytes", "disk_written_bytes"):
                    self.assertGreaterEqual(group[key], before.get((group["group"], key), 0), (group, key))
                    before[group["group"], key] = group[key]
            self.assertLessEqual({number for number, _ in before}, {group["group"] for group in reading["groups"]})

    def test_two_ranks_in_one_control_group(self):
        daemon, group = self.begun()
        first, second = Agent(group, RANK="6", LOCAL_RANK="0"), Agent(group, SLURM_PROCID="7")
        first.tell("start", "worker", 0.2)
        first.tell("burn", 0.3)
        used = second.tell("burn", 0.1)
        answer, groups = self.once(daemon, "--pss")
        self.assertEqual((answer["job"], answer["interval_s"]), ("ranks", None))
        self.assertEqual(answer["cgroup"], self.job(daemon, "ranks")["cgroup"])
        a, b = groups[first.pid], groups[second.pid]
        self.assertEqual((a["rank"], a["local_rank"], a["processes"], a["leader_running"], a["cpus"]), (6, 0, 2, True, None))
        self.assertEqual((b["rank"], b["local_rank"], b["processes"], b["ended"]), (7, None, 1, False))
        self.assertIn("python", a["name"])
        self.assertGreaterEqual(a["cpu_seconds"], 0.46)
        self.assertAlmostEqual(b["cpu_seconds"], used, delta=0.03)
        for row in (a, b):
            self.assertTrue(0 < row["private_bytes"] <= row["pss_bytes"] <= row["rss_bytes"] * 1.05, row)
            self.assertEqual((row["memory_error"], row["disk_error"]), (None, None))
        self.assertLess(a["pss_bytes"], a["rss_bytes"], "the worker shares most pages with its parent")
        without = self.once(daemon)[1][first.pid]
        self.assertEqual((without["pss_bytes"], without["private_bytes"], without["memory_error"]), (None, None, None))

        wide = {"COLUMNS": "160"}
        text = daemon.perfctl("job", "groups", "ranks", "--pss", environment=wide).stdout
        self.assertRegex(text, rf"(?m)^ *{first.pid} +python\S* +6 +2 +- +\d+ ms .* MiB")
        self.assertRegex(text.splitlines()[0], r"GROUP +PROCESS +RANK +PROCS +CPUS +CPU TIME +RSS +PSS +PRIVATE +READ +WRITTEN")
        self.assertEqual(len(daemon.perfctl("job", "groups", "ranks", "--count", "2", "--interval", "0.1",
                                            environment=wide).stdout.splitlines()), 2 * 4 + 1)

    def test_what_children_had_used_stays(self):
        """Children end between two readings: waited for at once, or later, in a group of their own, or by nobody."""
        daemon, group = self.begun()
        agent = Agent(group)
        watch = self.watch(daemon)
        watch.after()
        for _ in range(3):
            agent.tell("start", "child", 0.15)
            watch.after()
            agent.tell("finish", "child")
            agent.tell("wait", "child")
            watch.after()

        agent.tell("start", "zombie", 0.15)
        watch.after()
        agent.tell("finish", "zombie")
        watch.after()
        watch.after()
        agent.tell("wait", "zombie")
        of_agent = watch.after()[agent.pid]
        self.assertAlmostEqual(of_agent["cpu_seconds"], sum(agent.tell("used")), delta=0.04)

        apart = agent.tell("start", "apart", 0.3, "apart")
        self.assertGreaterEqual(watch.after()[apart]["cpu_seconds"], 0.28)
        agent.tell("finish", "apart")
        of_apart = agent.tell("wait", "apart")
        groups = watch.after()
        self.assertAlmostEqual(groups[apart]["cpu_seconds"], of_apart, delta=0.03)
        self.assertTrue(groups[apart]["ended"])
        self.assertAlmostEqual(groups[agent.pid]["cpu_seconds"], sum(agent.tell("used")) - of_apart, delta=0.05)

        agent.tell("ignore")
        agent.tell("start", "lost", 0.2)
        before = watch.after()[agent.pid]["cpu_seconds"]
        agent.tell("reap", "lost")
        self.assertAlmostEqual(watch.after()[agent.pid]["cpu_seconds"], before, delta=0.03)
        self.assert_never_less(watch)
        self.assertGreater(max(group["cpus"] or 0 for reading in watch.readings for group in reading["groups"]), 0.2)

    def test_many_children_that_end_are_not_counted_twice(self):
        """A shell with a new child all the time: the sum of its group is what the kernel counts for the control group."""
        daemon, group = self.begun()
        command = (f"echo 0 >{group.path}/cgroup.procs; echo in; while read -t 0.001 line; [ $? -gt 128 ]; do "
                   f"{sys.executable} -Sc 'sum(range(300000))' & wait; done; echo out; read line")
        shell = subprocess.Popen(["bash", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        group.processes.append(shell)
        self.assertEqual(shell.stdout.readline(), "in\n")
        watch = self.watch(daemon)
        while len(watch.readings) < 40:
            watch.next()
        shell.stdin.write("\n")
        shell.stdin.flush()
        self.assertEqual(shell.stdout.readline(), "out\n")
        groups = watch.after()
        self.assertAlmostEqual(sum(row["cpu_seconds"] for row in groups.values()), group.cpu_seconds(), delta=0.12)
        self.assertGreater(groups[shell.pid]["cpu_seconds"], 0.5)
        self.assert_never_less(watch)

    def test_disk_io_is_that_of_the_kernel(self):
        daemon, group = self.begun()
        agent = Agent(group)
        file = self.temporary_directory() / "file"
        watch = self.watch(daemon)
        for child in ("first", "second"):
            agent.tell("start", child, 0)
            agent.tell("write", file, 300000)
            watch.after()
            agent.tell("finish", child)
            agent.tell("wait", child)
        found = watch.after()[agent.pid]
        counts = dict(line.split(": ") for line in pathlib.Path(f"/proc/{agent.pid}/io").read_text().splitlines())
        self.assertEqual((found["disk_read_bytes"], found["disk_written_bytes"]), (int(counts["read_bytes"]), int(counts["write_bytes"])))
        self.assert_never_less(watch)

    def test_a_group_whose_leader_has_ended(self):
        daemon, group = self.begun()
        agent = Agent(group)
        watch = self.watch(daemon)
        agent.tell("start", "child", 0.2)
        before = watch.after()[agent.pid]
        agent.process.stdin.write("stop\n")
        agent.process.stdin.flush()
        agent.process.wait()
        wait_for(lambda: watch.after()[agent.pid]["ended"], "the end of the leader, and then of the child that reads the end of its pipe")
        found = watch.after()[agent.pid]
        self.assertEqual((found["processes"], found["ended"], found["name"]), (0, True, before["name"]))
        self.assertGreaterEqual(found["cpu_seconds"], before["cpu_seconds"])

        agent = Agent(group)
        agent.tell("start", "child", 0.1)
        holder = os.open(f"/proc/{agent.pid}/fd/{self.pipe_of(agent.pid)}", os.O_WRONLY)  # keeps the child alive
        self.addCleanup(os.close, holder)
        watch.after()
        agent.process.stdin.write("stop\n")
        agent.process.stdin.flush()
        agent.process.wait()
        found = watch.after()[agent.pid]
        self.assertEqual((found["processes"], found["leader_running"], found["ended"]), (1, False, False))
        found = self.once(daemon)[1][agent.pid]
        self.assertEqual((found["processes"], found["leader_running"]), (1, False))
        self.assertIn("python", found["name"])
        self.assertIn("(no leader)", daemon.perfctl("job", "groups", "ranks", environment={"COLUMNS": "160"}).stdout)
        self.assert_never_less(watch)

    def pipe_of(self, pid):
        """The end of the pipe on which the newest child waits."""
        links = {int(link.name): os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
        return max(number for number, target in links.items() if number > 2 and target.startswith("pipe:"))

    def test_processes_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")  # processes of two users
        daemon, group = self.begun()
        other = Agent(group, uid=NOBODY, RANK="1")
        mine = Agent(group)
        mine.tell("burn", 0.1)
        daemon.directory.chmod(0o755)
        done = subprocess.run([self.for_others(), "--socket", daemon.socket, "job", "groups", "--pss", "--json", "ranks"], text=True,
                              capture_output=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        groups = {row["group"]: row for row in json.loads(done.stdout)["groups"]}
        of_root, of_other = groups[mine.pid], groups[other.pid]
        for key in ("disk_read_bytes", "disk_written_bytes", "pss_bytes", "private_bytes"):
            self.assertIsNone(of_root[key])
            self.assertIsNotNone(of_other[key])
        self.assertEqual((of_root["disk_error"], of_root["memory_error"]), ("Permission denied", "Permission denied"))
        self.assertGreaterEqual(of_root["cpu_seconds"], 0.1)
        self.assertGreater(of_root["rss_bytes"], 0)
        self.assertEqual(of_other["rank"], 1)
        text = subprocess.run([self.for_others(), "--socket", daemon.socket, "job", "groups", "--pss", "ranks"], text=True,
                              capture_output=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/").stdout
        self.assertIn(f"Disk I/O of group {mine.pid} is unavailable: Permission denied", text)

    def test_processes_that_proc_hides(self):
        daemon, group = self.begun()
        daemon.directory.chmod(0o755)
        as_other = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "mount -t proc -o hidepid=\"$0\" proc /proc && exec "
                    f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups \"$@\""]
        if subprocess.run([*as_other, "2", "true"], capture_output=True).returncode != 0:
            self.skipTest("no permission to mount")  # not root, or in a container
        mine, other = Agent(group), Agent(group, uid=NOBODY)
        mine.tell("start", "child", 0)
        for hidepid in ("1", "2"):
            command = [*as_other, hidepid, self.for_others(), "--socket", daemon.socket, "job", "groups", "ranks"]
            done = subprocess.run([*command, "--json"], text=True, capture_output=True, cwd="/")
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = json.loads(done.stdout)
            self.assertEqual((answer["hidden_processes"], [row["group"] for row in answer["groups"]]), (3, [other.pid]))
            self.assertIn("3 processes of other users are missing", subprocess.run(command, text=True, capture_output=True, cwd="/").stdout)

    def test_the_end_of_the_job_ends_the_watch(self):
        daemon, group = self.begun()
        agent = Agent(group)
        watch = self.watch(daemon)
        watch.after()
        agent.tell("burn", 0.1)
        watch.after()
        group.remove()
        output, errors = watch.process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual((watch.process.returncode, errors), (0, ""))
        last, = [row for row in json.loads(output.splitlines()[-1])["groups"] if row["group"] == agent.pid]
        self.assertEqual((last["ended"], last["processes"]), (True, 0))
        self.assertGreaterEqual(last["cpu_seconds"], 0.1)

    def test_jobs_without_groups(self):
        daemon = self.daemon(self.CONFIG)
        with daemon.client() as client:
            client.begin("bare")
            client.begin("over")
            client.end("over", 0)
        for job, words in (("bare", "job bare has no control group of its own"), ("over", "job over has ended"), ("never", "never")):
            done = daemon.perfctl("job", "groups", job)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
