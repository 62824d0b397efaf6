"""Runs a real Slurm under a real systemd with all controllers of cgroup v2 in a virtual machine.

slurmd, the distribution's program, requests a scope for its jobs from systemd, and perfd detects the jobs in this scope.
"""

import json
import pathlib
import shutil
import tempfile
import unittest

import harness
import vm
from harness import PEERS, wait_for

UNPACKED = PEERS.parent / "root" / "usr"
PROGRAMS = {"sbin": ("slurmd", "slurmctld", "slurmstepd"), "bin": ("srun", "sbatch", "scontrol", "sinfo", "squeue", "scancel")}
# Not part of Debian's base system.
LIBRARIES = ("libhwloc.", "liblua5.1.", "libnuma.")

SLURM_CONF = """
ClusterName=test
SlurmctldHost=node(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SchedulerParameters=sched_interval=1
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
MpiDefault=none
SwitchType=switch/none
FirstJobId=4711
Prolog=/etc/slurm/perfd-prolog
Epilog=/etc/slurm/perfd-epilog
EpilogSlurmctld=/etc/slurm/perfd-epilog_slurmctld
TaskProlog=/usr/share/perfd/slurm/task_prolog
PrologFlags=Contain
ReturnToService=2
NodeName=node NodeAddr=127.0.0.1 CPUs=2 RealMemory=500 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES State=UP
"""

CGROUP_CONF = """
CgroupPlugin=cgroup/v2
ConstrainCores=yes
ConstrainRAMSpace=yes
"""

UNIT = """
[Service]
ExecStartPre=/usr/local/sbin/add-address
ExecStartPre=mkdir -p /var/spool/slurmctld /var/spool/slurmd
ExecStart=/usr/sbin/{} -D
KillMode=process
Delegate=yes
[Install]
WantedBy=multi-user.target
"""

# With 127.0.0.1 alone, getaddrinfo(3) assumes that there is no network.
ADDRESS = """#!/bin/sh
exec perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0);
ioctl(S, 0x8916, pack("a16 a16", "lo:1", pack_sockaddr_in(0, inet_aton("10.99.0.1")))) or die $!'"""

SCRIPT = """#!/bin/sh
echo $PERFD_JOB
perfctl mark busy
srun sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'
sed -n 's/usage_usec //p' /sys/fs/cgroup/system.slice/node_slurmstepd.scope/job_$SLURM_JOB_ID/cpu.stat
exit 3
"""
# Ends with exit status 0: the state of the job is that of its memory alone.
HUNGRY = """#!/bin/sh
head -c 150m /dev/zero | tail >/dev/null
exit 0
"""
REPORTS = "/shared"
START = f"install -d -m 3777 {REPORTS}; install -d {REPORTS}/state; systemctl -q enable --now slurmctld slurmd perfd.socket perfd.service"
NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"


def slurm_tree(directory):
    """Installs Slurm as its packages do."""
    for folder, names in PROGRAMS.items():
        (directory / "usr" / folder).mkdir(parents=True)
        for name in names:
            # A Slurm daemon checks its own name, which Debian sets as an alternative.
            source = UNPACKED / folder / (f"{name}-wlm" if folder == "sbin" else name)
            if not source.exists():
                raise unittest.SkipTest(f"{name} is not installed (make interop-deps)")
            shutil.copy(source, directory / "usr" / folder / name)
    libraries = next(UNPACKED.glob("lib/*-linux-gnu*"))
    here = directory / "usr/lib" / libraries.name
    shutil.copytree(libraries / "slurm-wlm", here / "slurm-wlm")
    for library in libraries.glob("lib*.so*"):
        if library.name.startswith(LIBRARIES):
            shutil.copy(library, here / library.name, follow_symlinks=False)
    vm.put(directory / "etc/slurm/slurm.conf", SLURM_CONF)
    vm.put(directory / "etc/slurm/cgroup.conf", CGROUP_CONF)
    vm.put(directory / "etc/hosts", "127.0.0.1 localhost node\n")
    vm.put(directory / "tmp/script", SCRIPT)
    vm.put(directory / "tmp/hungry", HUNGRY)
    vm.put(directory / "usr/local/sbin/add-address", ADDRESS)
    (directory / "usr/local/sbin/add-address").chmod(0o755)
    # Scripts take longer in an emulated machine.
    settings = f"limit=60 PERFD_REPORTS={REPORTS}; export PERFD_REPORTS"
    wrapper = (harness.ROOT / "conf/slurm/wrapper").read_text().replace("\nlimit=1\n", f"\n{settings}\n")
    for name in ("prolog", "epilog", "epilog_slurmctld"):
        vm.put(directory / f"etc/slurm/perfd-{name}", wrapper)
        (directory / f"etc/slurm/perfd-{name}").chmod(0o755)
    for daemon in ("slurmctld", "slurmd"):
        vm.put(directory / f"etc/systemd/system/{daemon}.service", UNIT.format(daemon))


class Jobs(unittest.TestCase):
    def setUp(self):
        why_not = vm.why_not()
        if why_not:
            self.skipTest(why_not)
        directory = pathlib.Path(tempfile.mkdtemp(prefix="perfd-slurm-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, directory)
        slurm_tree(directory)
        self.vm = vm.Machine(files={"/": directory}, conf="[sampling]\ninterval = 500ms\n")
        self.addCleanup(self.vm.end)
        self.vm.run(f"chmod 1777 /tmp; {START}")
        self.vm.wait("sinfo -h -o %T | grep -q idle", "an idle node")

    def job(self, job):
        done = self.vm.sh(f"perfctl report --json {job}")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def metric(self, job, key):
        return next(m for m in job["metrics"] if m["key"] == key)

    def test_a_batch_job_in_the_scope_of_slurmd(self):
        self.vm.run(f"{NOBODY} sbatch --mem=200 --chdir=/tmp --output=/tmp/out /tmp/script")
        job = wait_for(lambda: (j := self.job(4711)) and j["state"] == "finished" and j, "the job's end",
                       harness.TIMEOUT_S * vm.SLOWNESS * 2)
        # Slurm may print other lines in between.
        lines = self.vm.run("cat /tmp/out").splitlines()
        self.assertEqual(lines[0], "4711", lines)
        self.assertEqual((job["exit"]["status"], job["uid"], job["isolation"]), (3, 65534, "found"))
        self.assertEqual(job["cgroup"], "/system.slice/node_slurmstepd.scope/job_4711")
        self.assertEqual({key: job["labels"].get(key) for key in ("slurm_job", "user", "partition")},
                         {"slurm_job": "4711", "user": "nobody", "partition": "batch"})
        self.assertEqual([phase["name"] for phase in job["phases"]], ["", "busy"])
        self.assertEqual(job["limits"], {"cpus": 1, "memory_bytes": 200 << 20})
        used, truth = self.metric(job, "job_cpu_seconds"), int(lines[-1]) / 1e6
        self.assertGreaterEqual(used["value"], truth)
        self.assertLess(used["value"], truth + 2) # CPU time of Slurm in the group until its removal
        self.assertLess(self.metric(job, "job_memory_peak_bytes")["value"], 200 << 20)
        steps = {step["name"] or step["kind"]: step for step in job["steps"]}
        self.assertEqual(set(steps), {"extern", "batch", "0", "rest"})
        self.assertAlmostEqual(sum(step["cpu_seconds"] for step in steps.values()), used["value"], places=6)
        self.assertGreater(steps["0"]["memory_peak_bytes"], 0)
        self.assertRegex(self.vm.run("perfctl report 4711.batch"), r"(?m)^  batch ")
        self.assertEqual(self.vm.run("perfctl job list --json | grep -c 4711").strip(), "1")
        self.check_a_job_out_of_memory()

    def check_a_job_out_of_memory(self):
        self.vm.run(f"{NOBODY} sbatch --mem=60 --chdir=/tmp --output=/tmp/out /tmp/hungry")
        login = f"{NOBODY} env PERFD_REPORTS={REPORTS} PERFD_SOCKET=/absent perfctl"
        wait_for(lambda: "OUT_OF_MEMORY" in self.vm.sh(f"{login} job list --failed").stdout, "the final state",
                 harness.TIMEOUT_S * vm.SLOWNESS * 2)
        shown = self.vm.run(f"{login} report 4712")
        self.assertRegex(shown, r"(?m)^Job 4712  OUT_OF_MEMORY$")
        self.assertIn("[oom-killed]", shown)
        job = self.job(4712)
        self.assertEqual((job["state"], job["exit"]["status"]), ("finished", 137))
        self.assertGreaterEqual(self.metric(job, "job_oom_kills")["value"], 1)


if __name__ == "__main__":
    unittest.main()
