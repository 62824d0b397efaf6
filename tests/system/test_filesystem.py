"""Checks the use of the root file system in jobs and phases, with a tmpfs that the test fills."""

import os
import shutil
import subprocess
import unittest

import harness

SIZE_BYTES = 64 << 20
# A tmpfs of its own mount namespace, which ends with perfd, is the root that perfd samples; /proc is the machine's.
WITH_TMPFS = ["unshare", *([] if os.getuid() == 0 else ["--user", "--map-root-user"]), "--mount", "sh", "-ec",
              f'mount -t tmpfs -o size={SIZE_BYTES},mode=700 tmpfs "$1"; mkdir "$1/proc"; mount --rbind /proc "$1/proc"; '
              'shift; exec "$@"', "sh"]
CONFIG = "[sampling]\ninterval = 1s\nfilesystems_interval = 1h\n"


class DaemonOfTmpfs(harness.Daemon):
    def command(self):
        return [*WITH_TMPFS, str(self.root), *super().command()]

    def file(self, name):
        return f"/proc/{self.process.pid}/root{self.root}/{name}"

    def fill(self, share, name="file"):
        with open(self.file(name), "wb") as f:
            f.write(b"\1" * int(share * SIZE_BYTES))


@unittest.skipUnless(subprocess.run([*WITH_TMPFS, "/tmp", "true"], capture_output=True).returncode == 0,
                     "needs root or namespaces of users, and / as a mount point, to mount a file system")
class RootFilesystem(harness.TestCase):
    def start(self):
        daemon = DaemonOfTmpfs(CONFIG, root=self.temporary_directory())
        self.addCleanup(self._close, daemon)
        daemon.start()
        if not any(name.startswith('perfd_node_filesystem_size_bytes{mountpoint="/"') for name in daemon.metrics()):
            self.skipTest("the type of the machine's root file system is not one that perfd reads")
        return daemon

    def peak_pct(self, metrics):
        return next(m["value"] for m in metrics if m["key"] == "max_t_disk_usage_percent")

    def test_a_fill_between_two_readings_of_the_mounts_is_in_the_peak(self):
        daemon = self.start()
        with daemon.client() as client:
            client.begin("job")
            daemon.fill(0.5)
            daemon.wait_tick()
            os.unlink(daemon.file("file"))
            daemon.wait_tick()
            client.end("job", 0)
        self.assertAlmostEqual(self.peak_pct(daemon.get("/api/v1/jobs/job").json["metrics"]), 50, delta=1)

    def test_what_was_freed_before_the_begin_is_not_charged(self):
        daemon = self.start()
        daemon.fill(0.5)
        daemon.wait_tick()
        os.unlink(daemon.file("file"))
        daemon.metrics()
        with daemon.client() as client:
            client.begin("job")
            daemon.fill(0.1)
            client.end("job", 0)
        self.assertAlmostEqual(self.peak_pct(daemon.get("/api/v1/jobs/job").json["metrics"]), 10, delta=1)

    def test_each_phase_has_its_own_peak(self):
        daemon = self.start()
        with daemon.client() as client:
            client.begin("job")
            for name, share in (("small", 0.2), ("large", 0.6), ("last", 0.4)):
                self.assert_status(client.mark(name, "job"), "OK")
                daemon.fill(share)
            client.end("job", 0)
        job = daemon.get("/api/v1/jobs/job").json
        peaks = [round(self.peak_pct(phase["metrics"])) for phase in job["phases"]]
        self.assertEqual(peaks, [0, 20, 60, 60])
        self.assertEqual(round(self.peak_pct(job["metrics"])), 60)


if __name__ == "__main__":
    unittest.main()
