"""Runs jobs of a real Slurm with one node, from prolog to epilog, with perfd.

slurmctld and slurmd are the distribution's programs. They run in namespaces, since they trust the identity claimed by
a client, and use the machine's cgroup v1.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from harness import PEERS, PERFCTL, ROOT, TestCase, find_peer, indicator, wait_for

NOBODY = 65534
V1 = pathlib.Path("/sys/fs/cgroup")
HIERARCHIES = ("freezer", "cpuset", "cpuacct", "memory", "devices")

# PID 1 of the namespaces, which sets up the loopback interface (SIOCSIFFLAGS, SIOCSIFADDR). The interface needs a second
# address: with 127.0.0.1 alone, getaddrinfo(3) assumes that there is no network.
INIT = """
import fcntl, signal, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x49))
fcntl.ioctl(s, 0x8916, struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton("10.99.0.1")))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""

SLURM_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
AuthInfo=cred_expire=5
SchedulerParameters=sched_interval=1
CredType=cred/none
PluginDir={plugins}
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SwitchType=switch/none
MinJobAge=300
FirstJobId=4711
Prolog={directory}/prolog.d/*
Epilog={directory}/perfd-epilog
EpilogSlurmctld={directory}/perfd-epilog_slurmctld
PrologFlags=Contain
MaxArraySize=10001
MaxJobCount=20000
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES State=UP
PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP
"""

CGROUP_CONF = """
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=yes
ConstrainRAMSpace=yes
"""


class Slurm:
    """The node has a unique name, so that its groups do not collide with others."""

    def __init__(self, directory, perfd):
        self.directory = directory
        self.node = f"perfd-test-{os.getpid()}"
        self.host = os.uname().nodename.split(".")[0]
        self.bin = directory / "bin"
        self.find_programs()
        self.write_files(perfd)
        self.holder = None
        self.daemons = []

    def find_programs(self):
        """Links a Slurm daemon under the name that it expects, which Debian sets as an alternative."""
        unpacked = PEERS.parent / "root" / "usr"
        self.bin.mkdir()
        for name in ("slurmctld", "slurmd", "slurmstepd"):
            found = [path for path in (unpacked / "sbin" / f"{name}-wlm", pathlib.Path("/usr/sbin") / name) if path.exists()]
            if not found:
                raise unittest.SkipTest(f"{name} is not installed (make interop-deps)")
            (self.bin / name).symlink_to(found[0])
        self.is_unpacked = (unpacked / "sbin" / "slurmd-wlm").exists()
        libraries = [path for path in unpacked.glob("lib/*-linux-gnu*") if self.is_unpacked]
        self.plugins = next(path for path in [*(p / "slurm-wlm" for p in libraries), *pathlib.Path("/usr/lib").glob("*/slurm-wlm"),
                                              pathlib.Path("/usr/lib64/slurm")] if path.is_dir())
        self.environment = {"PATH": f"{self.bin}:{unpacked / 'bin'}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/",
                            "SLURM_CONF": str(self.directory / "slurm.conf"),
                            "LD_LIBRARY_PATH": ":".join(map(str, [*libraries, self.plugins]))}

    def write_files(self, perfd):
        for name in ("state", "spool"):
            (self.directory / name).mkdir()
        (self.directory / "work").mkdir(mode=0o777)
        (self.directory / "work").chmod(0o777)
        shutil.copy(PERFCTL, self.bin / "perfctl")
        (self.directory / "slurm.conf").write_text(SLURM_CONF.format(
            host=self.host, node=self.node, directory=self.directory, plugins=self.plugins, cpus=os.cpu_count()))
        (self.directory / "hosts").write_text(f"127.0.0.1 localhost {self.host}\n")
        (self.directory / "cgroup.conf").write_text(CGROUP_CONF)
        self.scripts = self.directory / "scripts"
        self.scripts.mkdir()
        (self.directory / "prolog.d").mkdir()
        self.shared = self.directory / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o3777)
        (self.shared / "state").mkdir()
        for name in ("prolog", "epilog", "save_report", "epilog_slurmctld"):
            text = (ROOT / "conf" / "slurm" / name).read_text().replace("/usr/bin/perfctl", str(self.bin / "perfctl"))
            self.write_script(self.scripts / name, text.replace("/usr/share/perfd/slurm", str(self.scripts)))
        self.write_wrappers(perfd, 30) # a script takes longer on a busy machine and with a sanitizer

    def write_wrappers(self, perfd, limit_s):
        # Slurm does not pass its environment to scripts.
        settings = f"PERFD_SOCKET={perfd} PERFD_SLURM_DIRECTORY={self.directory}/keep PERFD_REPORTS={self.shared}"
        programs = f"PERFD_SLURM_BIN={self.environment['PATH'].split(':')[1]} SLURM_CONF={self.environment['SLURM_CONF']}"
        libraries = f"LD_LIBRARY_PATH={self.environment['LD_LIBRARY_PATH']}"
        wrapper = (ROOT / "conf" / "slurm" / "wrapper").read_text().replace("/usr/share/perfd/slurm", str(self.scripts))
        for path, words in (("prolog.d/perfd-prolog", settings), ("perfd-epilog", settings),
                            ("perfd-epilog_slurmctld", f"{settings} {programs} {libraries}")):
            names = " ".join(word.partition("=")[0] for word in words.split())
            self.write_script(self.directory / path, wrapper.replace("\nlimit=1\n", f"\n{words}; export {names}\nlimit={limit_s}\n"))

    @staticmethod
    def write_script(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def start(self):
        self.holder = subprocess.Popen(["unshare", "--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child=KILL",
                                        "sh", "-c", 'mount --bind "$1" /etc/hosts && exec "$2" -I -S -c "$3"', "sh",
                                        self.directory / "hosts", sys.executable, INIT], stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "up\n":
            raise unittest.SkipTest("no namespaces can be made here")
        children = f"/proc/{self.holder.pid}/task/{self.holder.pid}/children"
        self.pid = wait_for(lambda: pathlib.Path(children).read_text().split(), "the first process in there")[0]
        for daemon in (["slurmctld", "-D"], ["slurmd", "-D", "-N", self.node, "-d", str(self.bin / "slurmstepd")]):
            self.daemons.append(subprocess.Popen(self.inside(daemon), env=self.environment, stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        wait_for(lambda: "idle" in self.run("sinfo", "-h", "-o", "%T", check=False), f"an idle node\n{self.log()}", 20)

    def inside(self, words):
        return ["nsenter", "-t", self.pid, "--net", "--pid", "--mount", "--", *map(str, words)]

    def run(self, *words, uid=0, check=True):
        who = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
        done = subprocess.run(self.inside([*who, *words]), env=self.environment, text=True,
                              capture_output=True, timeout=60)
        if check and done.returncode:
            raise AssertionError(f"{words}: {done.stderr}{self.log()}")
        return done.stdout

    def submit(self, script, perfd, *words):
        """Submits the batch script as user nobody. Returns the job number."""
        path = self.directory / "work" / "script"
        path.write_text(f"#!/bin/sh\nexport PERFD_SOCKET={perfd}\n{script}")
        work = self.directory / "work"
        return self.run("sbatch", "--parsable", f"--chdir={work}", f"--output={work}/%j.out", *words, path, uid=NOBODY).strip()

    def output(self, job):
        return (self.directory / "work" / f"{job}.out").read_text()

    def log(self):
        """Returns the errors in the daemons' logs."""
        text = "".join(path.read_text(errors="replace") for path in self.directory.glob("*.log"))
        return "\n".join(line for line in text.splitlines() if re.search("error|fatal", line) and "pmix" not in line)

    def close(self):
        if self.holder:
            self.holder.kill()
            self.holder.wait()
            self.holder.stdout.close()
        for daemon in self.daemons:
            daemon.wait()
        for hierarchy in HIERARCHIES:
            top = V1 / hierarchy / f"slurm_{self.node}"
            for directory, _, _ in os.walk(top, topdown=False):
                wait_for(lambda: self.remove(directory), f"{directory} to be empty")

    @staticmethod
    def remove(directory):
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True


class Jobs(TestCase):
    def setUp(self):
        super().setUp()
        if os.getuid() != 0:
            self.skipTest("slurmd is for root")
        if not (V1 / "cpuacct" / "cgroup.procs").exists():
            self.skipTest("this machine has no control groups of version 1")
        for command in ("unshare", "nsenter", "setpriv"):
            find_peer(command)
        self.perfd = self.daemon("[sampling]\ninterval = 100ms\n[patterns]\nkubernetes =\n")
        self.perfd.directory.chmod(0o755)
        directory = self.temporary_directory()
        directory.chmod(0o755)
        self.slurm = Slurm(directory, self.perfd.socket)
        self.addCleanup(self.slurm.close)
        self.slurm.start()

    def job(self, job):
        answer = self.perfd.get(f"/api/v1/jobs/{job}.{self.slurm.node}")
        return answer.json if answer.status == 200 else None

    def wait_job(self, job, predicate, what):
        try:
            return wait_for(lambda: (j := self.job(job)) and predicate(j) and j, f"job {job} {what}", 20)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.job(job)}\n{self.slurm.log()}") from None

    def wait_state(self, job, state):
        return self.wait_job(job, lambda j: j["state"] == state, f"to be {state}")

    def metric(self, job, key):
        return next(m for m in job["metrics"] if m["key"] == key)

    def test_a_batch_job_from_prolog_to_epilog(self):
        result = json.dumps(indicator("from-slurm"))
        job = self.slurm.submit(f"perfctl report --brief\ncat /proc/self/cgroup\nperfctl mark busy\n"
                                f"srun {sys.executable} -c 'import time\nwhile time.process_time() < 0.5: pass'\n"
                                f"echo '{result}' | perfctl submit\n"
                                f"cat /sys/fs/cgroup/cpuacct/slurm_{self.slurm.node}/uid_{NOBODY}/job_$SLURM_JOB_ID/cpuacct.usage\n"
                                f"exit 3\n", self.perfd.socket, "--job-name=train")
        record = self.wait_state(job, "finished")
        output = self.slurm.output(job)
        self.assertTrue(output.startswith(f"Job {job}.{self.slurm.node} "), output)
        self.assertEqual((record["exit"]["status"], record["uid"], record["isolation"]), (3, NOBODY, "found"))
        self.assertEqual(record["cgroup"], f"cpuacct:/slurm_{self.slurm.node}/uid_{NOBODY}/job_{job}")
        self.assertEqual({key: record["labels"].get(key) for key in ("slurm_job", "slurm_node", "user", "partition")},
                         {"slurm_job": job, "slurm_node": self.slurm.node, "user": "nobody", "partition": "batch"})

        # The last step removes the group; its counters were read when the batch script's group was removed.
        used = self.metric(record, "job_cpu_seconds")
        truth = int(output.split()[-1]) / 1e9
        self.assertGreater(truth, 0.5)
        self.assertGreaterEqual(used["value"], truth)
        self.assertLess(used["value"], truth * 1.01 + 0.05)
        self.assertEqual(used["quality"], "sampled")
        self.assertGreater(self.metric(record, "job_memory_peak_bytes")["value"], 0)
        results = self.perfd.get("/api/v1/indicators/from-slurm/results").json["results"]
        self.assertEqual([(r["job"], r["uid"]) for r in results], [(f"{job}.{self.slurm.node}", NOBODY)])

    def test_a_requeued_job_is_another_run(self):
        job = self.slurm.submit("[ \"${SLURM_RESTART_COUNT:-0}\" -gt 0 ] || sleep 600\nexit 3\n", self.perfd.socket, "--requeue")
        self.wait_job(job, lambda j: j["cgroup"], "to have a group")
        self.slurm.run("scontrol", "requeue", job)
        self.wait_state(job, "finished")
        record = self.wait_state(f"{job}.r1", "finished")
        self.assertEqual((record["exit"]["status"], record["labels"]["slurm_job"], record["isolation"]), (3, job, "found"))
        states = self.slurm.shared / "state"
        wait_for((states / f"{job}.r1.json").exists, "the state of the second run")
        self.assertEqual([json.loads((states / f"{id}.json").read_text())["state"] for id in (job, f"{job}.r1")],
                         ["REQUEUED", "FAILED"])

    def wait_done(self, job):
        """Waits until Slurm has ended the job and the node is free, which it is not if it is drained."""
        wait_for(lambda: "JobState=COMPLETED" in self.slurm.run("scontrol", "show", "job", job), f"job {job} to be completed", 40)
        wait_for(lambda: self.slurm.run("sinfo", "-h", "-o", "%T").strip() == "idle", "an idle node", 40)

    def test_a_missing_or_hanging_script_neither_fails_a_job_nor_drains_the_node(self):
        scripts, away = self.slurm.scripts, self.slurm.directory / "away"
        self.slurm.write_wrappers(self.perfd.socket, 1)
        scripts.rename(away)
        self.wait_done(self.slurm.submit("exit 0\n", self.perfd.socket))
        scripts.mkdir()
        for name in ("prolog", "epilog"):
            self.slurm.write_script(scripts / name, "#!/bin/sh\nexec sleep 600\n")
        self.wait_done(self.slurm.submit("exit 0\n", self.perfd.socket))
        for name in ("prolog", "epilog"):
            self.slurm.write_script(scripts / name, "#!/bin/sh\nexit 1\n")
        self.wait_done(self.slurm.submit("exit 0\n", self.perfd.socket))
        # The package is there again.
        self.slurm.write_wrappers(self.perfd.socket, 30)
        shutil.rmtree(scripts)
        away.rename(scripts)
        job = self.slurm.submit("exit 0\n", self.perfd.socket)
        self.wait_done(job)
        self.assertEqual(self.wait_state(job, "finished")["labels"]["user"], "nobody")

    def report(self, job):
        """Returns the shared report of a job, as its user reads it on a machine without perfd, once its final state is known."""
        def read():
            shown = self.slurm.run("env", f"PERFD_REPORTS={self.slurm.shared}", "PERFD_SOCKET=/absent/perfd.sock", "perfctl", "report",
                                   "--json", job, uid=NOBODY, check=False)
            return shown and (report := json.loads(shown)).get("slurm") and report
        return wait_for(read, f"the report of job {job}\n{self.slurm.log()}", 40)

    def test_final_states_are_in_the_shared_reports(self):
        failed = self.slurm.submit("exit 3\n", self.perfd.socket)
        cancelled = self.slurm.submit("sleep 600\n", self.perfd.socket)
        array = self.slurm.submit("exit 0\n", self.perfd.socket, "--array=1-2")
        self.wait_job(cancelled, lambda j: j["cgroup"], "to have a group")
        self.slurm.run("scancel", cancelled)
        for name, state, status in ((failed, "FAILED", 3), (cancelled, "CANCELLED", 0), (f"{array}_1", "COMPLETED", 0),
                                    (f"{array}_2", "COMPLETED", 0)):
            slurm = self.report(name)["slurm"]
            self.assertEqual((slurm["state"], slurm["exit_status"], slurm["partition"]), (state, status, "batch"), name)
        self.assertEqual(self.report(f"{array}_2")["slurm"]["array_task_id"], "2")
        listed = self.slurm.run("env", f"PERFD_REPORTS={self.slurm.shared}", "PERFD_SOCKET=/absent/perfd.sock", "perfctl", "job", "list",
                                "--failed", uid=NOBODY)
        self.assertEqual(re.findall(r"(FAILED|CANCELLED|COMPLETED) ", listed), ["CANCELLED", "FAILED"], listed)

    def test_a_job_that_another_preempts(self):
        job = self.slurm.submit("sleep 600\n", self.perfd.socket, "--exclusive")
        self.wait_job(job, lambda j: j["cgroup"], "to have a group")
        self.slurm.submit("exit 0\n", self.perfd.socket, "--exclusive", "--partition=urgent")
        self.assertEqual(self.report(job)["slurm"]["state"], "PREEMPTED")

    def test_a_job_cancelled_in_its_prolog(self):
        hangs = self.slurm.directory / "prolog.d" / "slow"
        mark = self.slurm.directory / "in-prolog"
        self.slurm.write_script(hangs, f"#!/bin/sh\n: >{mark}\nsleep 5\n")
        job = self.slurm.submit("exit 0\n", self.perfd.socket)
        wait_for(mark.exists, "the prolog")
        self.slurm.run("scancel", job)
        hangs.unlink()
        next_job = self.slurm.submit("exit 0\n", self.perfd.socket)
        self.wait_done(next_job) # the node is not drained
        self.wait_state(next_job, "finished")
        self.assertNotEqual((self.job(job) or {"state": "none"})["state"], "running")

    def test_an_array_of_ten_thousand_tasks(self):
        array = self.slurm.submit("srun true\n", self.perfd.socket, "--array=0-9999%2")
        report = self.report(f"{array}_1")
        self.slurm.run("scancel", array)
        self.assertEqual((report["slurm"]["array_job_id"], report["slurm"]["array_task_id"]), (array, "1"))
        wait_for(lambda: self.slurm.run("squeue", "-h").strip() == "", "the end of all tasks", 60)
        self.assertEqual(self.slurm.run("sinfo", "-h", "-o", "%T").strip(), "idle")


if __name__ == "__main__":
    unittest.main()
