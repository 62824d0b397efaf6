"""Power failures of a node, again and again, while a job of a real Slurm runs: what perfd has acknowledged is there, and nothing wrong
is shown. Not in .ci/run: the emulated machine boots several times."""

import json
import pathlib
import shutil
import tempfile
import unittest

import test_slurm_vm
import vm

N_FAILURES = 3
# The result is acknowledged when the mark is there.
SCRIPT = """#!/bin/sh
touch /tmp/runs.$SLURM_JOB_ID
while [ ! -e /tmp/go.$SLURM_JOB_ID ]; do sleep 0.1; done
echo "{\\"name\\": \\"Run\\", \\"component\\": \\"c\\", \\"@parameters\\": {\\"job\\": $SLURM_JOB_ID}, \\"@result\\": {\\"n\\": 1}}" |
        perfctl submit && touch /tmp/acknowledged.$SLURM_JOB_ID
exec sleep "$1"
"""


class PowerFailures(unittest.TestCase):
    def setUp(self):
        why_not = vm.why_not()
        if why_not:
            self.skipTest(why_not)
        directory = pathlib.Path(tempfile.mkdtemp(prefix="perfd-slurm-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, directory)
        test_slurm_vm.slurm_tree(directory)
        vm.put(directory / "usr/share/until-power-fails", SCRIPT)
        self.vm = vm.Machine(files={"/": directory}, conf="[sampling]\ninterval = 500ms\n", resets=True)
        self.addCleanup(self.vm.end)
        self.vm.run(f"chmod 1777 /tmp; {test_slurm_vm.START}")

    def submit(self, seconds):
        """Returns the number of a job whose result perfd has acknowledged."""
        self.vm.wait("sinfo -h -o %T | grep -q idle", "an idle node")
        job = self.vm.run(f"{test_slurm_vm.NOBODY} sbatch --parsable --no-requeue --chdir=/tmp --output=/dev/null "
                          f"/usr/share/until-power-fails {seconds}").strip()
        self.vm.wait(f"[ -e /tmp/runs.{job} ]", f"job {job}")
        # Slurm writes its state seconds after a change: until then, a power failure makes it run the job again, or give its id to
        # another.
        self.vm.run("touch /tmp/now; scancel $(sbatch --parsable --hold --wrap=true)")
        self.vm.wait("[ /var/spool/slurmctld/job_state -nt /tmp/now ]", "the state of Slurm on the disk")
        self.vm.run(f"sync /var/spool/slurmctld; touch /tmp/go.{job}")
        self.vm.wait(f"[ -e /tmp/acknowledged.{job} ]", f"the result of job {job}")
        return job

    def report(self, job):
        return json.loads(self.vm.run(f"perfctl report --json {job}"))

    def check(self, jobs):
        """Each job is there once, ended by the failure, with its result; perfd has started at once, and moved nothing away."""
        self.vm.wait("perfctl status", "perfd")
        self.assertRegex(self.vm.run("perfctl status"), r"(?m)^perfd \S+ on node: healthy$")
        self.assertEqual(self.vm.run("systemctl show -P NRestarts perfd.service; systemctl list-units --failed --no-legend"), "0\n")
        self.assertEqual(self.vm.run("find /var/lib/perfd -name '*damaged*'"), "")
        listed = self.vm.run("perfctl job list").splitlines()[1:]
        self.assertEqual([line.split()[:2] for line in listed], [[job, "interrupted"] for job in reversed(jobs)])
        for job in jobs:
            self.assertNotIn("status", self.report(job)["exit"] or {})
            self.assertRegex(self.vm.run(f"perfctl report {job}"), rf"(?m)^Job {job} +interrupted$")
        self.assertRegex(self.vm.run("perfctl indicator list"), rf"(?m)^Run +c +{len(jobs)} ")

    def test_a_node_that_loses_power_again_and_again(self):
        jobs = []
        for i in range(N_FAILURES):
            jobs.append(self.submit(100000))
            self.vm.reset()
            if i == 0:
                self.vm.reset()  # perfd may be reading what the first failure has left
            self.check(jobs)
            # Slurm finds out later: its epilog ends a job that has been interrupted.
            self.vm.run(f"scancel {jobs[-1]}")
            self.vm.wait("[ -z \"$(squeue -h)\" ]", "the end of the job in Slurm")
            self.check(jobs)
        last = self.submit(0)  # Slurm's status 0 is not taken, see perfd-slurm(7)
        self.vm.wait(f"perfctl job list | grep -q '^{last} *finished'", "the end of a job without a failure")


if __name__ == "__main__":
    unittest.main()
