"""Checks deploy/kubernetes: pods get the names of the kubelet's directories, and the manifest mounts what the programs read."""

import os
import re
import subprocess
import unittest

import yaml

from harness import PERFCTL, PERFD, ROOT, TIMEOUT_S, TestCase, wait_for
from test_job_groups import GroupTest

FOLDER = ROOT / "deploy" / "kubernetes"
DRIVERS = {"11111111-2222-3333-4444-555555555555": "kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice",
           "66666666-7777-8888-9999-000000000000": "pod66666666-7777-8888-9999-000000000000"}


class PodNames(GroupTest):
    def start_names(self, daemon, logs, groups):
        environment = {**os.environ, "PATH": f"{PERFCTL.parent}:{os.environ['PATH']}", "PERFD_SOCKET": str(daemon.socket)}
        names = subprocess.Popen([FOLDER / "pod-names", logs, groups], env=environment)
        self.addCleanup(names.wait, TIMEOUT_S)
        self.addCleanup(names.terminate)

    def test_found_pods_get_their_names_and_end_with_their_cgroup(self):
        top, logs = self.group(), self.temporary_directory()
        daemon = self.daemon("[sampling]\ninterval = 100ms\n[jobs]\nlinger = 60s\n[patterns]\nslurm =\nslurm_v1 =\nslurm_sluid =\n"
                             f"kubernetes = /{top.path.name}/*kube*-pod{{job}}.slice /{top.path.name}/pod{{job}}\n")
        pods = {uid: self.group(name=name, parent=top) for uid, name in DRIVERS.items()}
        jobs = {uid: re.search(r"pod([0-9].*?)(\.slice)?$", name)[1] for uid, name in DRIVERS.items()}
        for job in jobs.values():
            wait_for(lambda: daemon.get(f"/api/v1/jobs/{job}").status == 200, "the job of the pod")
        (logs / "training_ended-0_99999999-7777-8888-9999-000000000000").mkdir()
        self.start_names(daemon, logs, top.path)
        for uid, pod in pods.items():
            pod.start()
            (logs / f"training_web-{uid[0]}_{uid}").mkdir()
        wanted = {job: f"training/web-{uid[0]}" for uid, job in jobs.items()}
        wait_for(lambda: {job["id"]: job["name"] for job in daemon.get("/api/v1/jobs").json["jobs"]} == wanted, "the names of the pods")
        for pod in pods.values():
            pod.remove()
        for uid, job in jobs.items():
            self.assertEqual(self.wait_state(daemon, job, "finished")["name"], wanted[job])


class Manifest(TestCase):
    def setUp(self):
        super().setUp()
        documents = list(yaml.safe_load_all((FOLDER / "perfd.yaml").read_text()))
        self.assertEqual([document["kind"] for document in documents], ["Namespace", "ConfigMap", "DaemonSet"])
        self.config, self.pod = documents[1]["data"], documents[2]["spec"]["template"]["spec"]
        self.paths = {volume["name"]: volume.get("hostPath", {}).get("path") for volume in self.pod["volumes"]}

    def mounts(self, kind, name):
        container, = (one for one in self.pod[kind] if one["name"] == name)
        return {mount["mountPath"]: (self.paths[mount["name"]], mount.get("readOnly", False)) for mount in container["volumeMounts"]}

    def test_each_program_has_the_files_of_the_node_that_it_reads(self):
        self.assertEqual(self.mounts("containers", "perfd"),
                         {"/host": ("/", True), "/run/perfd": ("/run/perfd", False), "/var/lib/perfd": ("/var/lib/perfd", False),
                          "/etc/perfd/perfd.conf.d": (None, True)})
        names = self.mounts("containers", "pod-names")
        self.assertEqual(names, {path: (path, True) for path in ("/var/log/pods", "/sys/fs/cgroup", "/run/perfd")})
        defaults = re.search(r"default: (\S+) (\S+)", (FOLDER / "pod-names").read_text()).groups()
        self.assertEqual(set(defaults), names.keys() - {"/run/perfd"})
        self.assertEqual(self.mounts("initContainers", "client"), {"/opt/perfd/bin": ("/opt/perfd/bin", False)})
        self.assertTrue(self.pod["hostPID"] and self.pod["hostNetwork"])

    def test_the_pod_of_the_readme_mounts_what_the_daemon_set_provides(self):
        text = (ROOT / "deploy" / "README.md").read_text()
        spec = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.S)[1])["spec"]
        paths = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
        for mount in spec["containers"][0]["volumeMounts"]:
            self.assertTrue(mount["readOnly"])
            self.assertIn(paths[mount["name"]], self.paths.values())

    def test_perfd_accepts_the_settings(self):
        for text in self.config.values():
            path = self.temporary_directory() / "perfd.conf"
            path.write_text(text)
            subprocess.run([PERFD, "--check-config", "--config", path], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main()
