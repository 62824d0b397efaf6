"""Checks GPUs of AMD, of the node and of a job that was given one, on a captured tree of sysfs."""

import os
import shutil
import subprocess
import unittest

import harness
from harness import PERFCTL, TIMEOUT_S, wait_for


class Amdgpu(harness.TestCase):
    def test_gpus_are_those_of_the_node_and_of_the_job_that_has_them(self):
        machine = harness.Machine(self.temporary_directory())
        shutil.copytree("tests/data/trees/amdgpu/sys/class/drm", machine.directory / "sys/class/drm")
        node = self.daemon("[sampling]\ninterval = 100ms\n", root=machine.directory)
        wait_for(lambda: "gpus" in node.get("/api/v1/node").json["latest"], "the first reading")
        gpus = {g["gpu"]: g for g in node.get("/api/v1/node").json["latest"]["gpus"]}
        self.assertEqual(sorted(gpus), ["amd0", "amd1"])
        self.assertEqual((gpus["amd0"]["model"], gpus["amd0"]["gpu_utilization_ratio"], gpus["amd0"]["gpu_power_watts"]),
                         ("AMD Instinct MI300X OAM", 0.4, 310))
        self.assertEqual((gpus["amd1"]["gpu_utilization_ratio"], gpus["amd1"].get("gpu_power_watts")), (0, None))  # it sleeps

        job = subprocess.Popen([str(PERFCTL), "run", "--quiet", "--job", "job", "--gpus", "0", "--", "cat"], stdin=subprocess.PIPE,
                               env={**os.environ, "PERFD_SOCKET": str(node.socket)})
        self.addCleanup(lambda: (job.stdin.close(), job.wait(TIMEOUT_S)))

        def used():
            job_ = node.get("/api/v1/jobs/job")
            return job_.status == 200 and any(g.get("utilization") for g in job_.json["gpus"])

        wait_for(used, "the GPU of the job")
        given, = node.get("/api/v1/jobs/job").json["gpus"]
        self.assertEqual((given["gpu"], given["given"], given["temperature_celsius"]), ("amd0", "0", 56))
        self.assertAlmostEqual(given["utilization"], 0.4, 3)


if __name__ == "__main__":
    unittest.main()
