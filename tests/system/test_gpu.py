"""Checks perfd-gpu with a stand-in for the library of the driver (tests/nvml/standin.c): the file, requests, and faults."""

import os
import pathlib
import signal
import socket
import struct
import subprocess
import time
import unittest

import harness
from booted import Booted
from harness import BUILD, wait_for

PERFD_GPU = BUILD / "perfd-gpu"
LIBRARY = BUILD / "tests" / "nvml" / "libnvidia-ml.so.1"


class Reader:
    """perfd-gpu with the stand-in, whose orders are lines such as 'state matmul'."""

    def __init__(self, directory, orders="", library=LIBRARY, environment=None):
        self.directory = pathlib.Path(directory)
        self.readings = self.directory / "readings"
        self.orders = self.directory / "orders"
        self.n_orders = 0
        self.environment = {**os.environ, "RUNTIME_DIRECTORY": str(directory), "STANDIN_NVML": str(self.orders), **(environment or {})}
        if library:
            self.environment["PERFD_NVML"] = str(library)
        self.order(orders)
        self.start()

    def start(self):
        self.process = subprocess.Popen([PERFD_GPU], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.environment)

    def order(self, text):
        self.orders.with_suffix(".new").write_text(text)
        self.n_orders += 1
        os.utime(self.orders.with_suffix(".new"), (self.n_orders, self.n_orders))
        self.orders.with_suffix(".new").rename(self.orders)

    def head(self):
        """sequence, time in ns, state, number of GPUs and reason of the latest reading; None before the first."""
        try:
            content = self.readings.read_bytes()
        except FileNotFoundError:
            return None
        magic, _, _, sequence, time_ns, state, n_gpus = struct.unpack_from("<8sIIQQII", content)
        assert magic == b"PRFDGPU1", magic
        return sequence, time_ns, state, n_gpus, content[104:264].split(b"\0")[0].decode()

    def wait(self, predicate, what):
        """Waits for a reading; predicate gets what head() returns."""
        return wait_for(lambda: (head := self.head()) and predicate(*head) and head, f"{what}; the latest reading is {self.head()}")

    def calls(self):
        """Names of the functions that were called while the orders had 'log 1'."""
        log = self.directory / "orders.log"
        return log.read_text() if log.exists() else ""

    def request(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b"?", str(self.directory / "request"))

    def close(self):
        """Returns the exit status and standard error."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.send_signal(signal.SIGCONT)
        try:
            return self.process.wait(harness.TIMEOUT_S), self.process.stderr.read()
        finally:
            self.process.kill()
            self.process.stderr.close()


class Gpu(harness.TestCase):
    def reader(self, orders="", **more):
        reader = Reader(self.temporary_directory(), orders, **more)
        self.addCleanup(self._end, reader)
        return reader

    def _end(self, reader):
        if not reader.process.stderr.closed:
            _, errors = reader.close()
            for report in harness.SANITIZER_REPORTS:
                self.assertNotIn(report, errors)

    def test_each_second_has_a_reading_before_it_is_full(self):
        reader = self.reader("state matmul\n")
        first, begin_ns, *_ = reader.wait(lambda sequence, *_: sequence >= 2, "a second reading")
        last, end_ns, state, n_gpus, reason = reader.wait(lambda sequence, *_: sequence >= first + 3, "three more readings")
        self.assertEqual((state, n_gpus, reason), (0, 1, ""))
        self.assertAlmostEqual((end_ns - begin_ns) / 1e9, last - first, delta=0.9)
        self.assertEqual(reader.readings.stat().st_mode & 0o777, 0o640)
        ages = [time.time() - reader.readings.stat().st_mtime]
        self.assertLess(ages[0], 2)
        self.assertEqual(reader.close(), (-signal.SIGTERM, ""))

    def test_more_processes_than_are_told_apart_are_in_the_log_once(self):
        reader = self.reader("gpus 2\nstate matmul\nprocesses 300\n")
        reader.wait(lambda sequence, *_: sequence >= 3, "readings")
        self.assertEqual(reader.close()[1], "perfd-gpu: 300 processes of GPU-00000000-0000-0000-0000-000000000002 are not told apart, "
                                            "beyond 64: for jobs it is shared\n")

    def test_a_request_has_a_reading_at_once(self):
        reader = self.reader("gpus 8\nstate matmul\n")
        reader.wait(lambda sequence, *_: sequence >= 2, "a reading")
        best = 1.0
        for _ in range(5):  # one that is not disturbed, nor that of a second
            before, begin = reader.head()[0], time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            reader.request()
            _, time_ns, *_ = reader.wait(lambda sequence, *_: sequence > before, "a reading after the request")
            self.assertGreaterEqual(time_ns, begin)
            best = min(best, (time_ns - begin) / 1e9)
        self.assertLess(best, 0.05)

    def test_a_flood_of_requests_has_few_readings(self):
        reader = self.reader("state matmul\n")
        before, begin_ns, *_ = reader.wait(lambda sequence, *_: sequence >= 2, "a reading")
        for _ in range(2000):
            try:
                reader.request()
            except BlockingIOError:
                pass
        last, end_ns, *_ = reader.wait(lambda _, time_ns, *rest: time_ns > begin_ns + 2e9, "a reading after the flood")
        self.assertLess(last - before, (end_ns - begin_ns) / 1e9 * 51 + 2)

    def test_states_of_the_driver_are_named(self):
        reader = self.reader("init 18\n")
        reader.wait(lambda sequence, time_ns, state, n, reason: state == 3 and "version mismatch" in reason, "the mismatch")
        reader.order("init 9\n")
        reader.wait(lambda sequence, time_ns, state, n, reason: state == 2 and "is not loaded" in reason, "the missing driver")
        reader.order("gpus 16\n")
        reader.wait(lambda sequence, time_ns, state, n, reason: (state, n, reason) == (0, 16, ""), "16 GPUs")
        reader.order("gpus 16\nlost 3\n")
        reader.wait(lambda sequence, time_ns, state, n, reason: (state, n) == (0, 16) and "fallen off the bus" in reason, "the lost GPU")

    def test_a_call_that_hangs_makes_the_readings_old_and_can_be_ended(self):
        reader = self.reader("state matmul\n")
        reader.wait(lambda sequence, *_: sequence >= 2, "a reading")
        reader.order("state matmul\nlog 1\nhang Energy\n")
        reader.request()
        wait_for(lambda: "TotalEnergy" in reader.calls(), "the call that hangs")
        stopped = reader.head()
        time_ns = stopped[1]
        wait_for(lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME) > time_ns + 3e9, "readings that are old")
        self.assertEqual(reader.head(), stopped)
        reader.process.send_signal(signal.SIGABRT)  # as the watchdog
        self.assertEqual(reader.process.wait(harness.TIMEOUT_S), -signal.SIGABRT)
        reader.close()
        reader.order("state matmul\n")
        reader.start()
        reader.wait(lambda sequence, *_: sequence > stopped[0], "a reading of the next process")

    def test_the_service_manager_is_told(self):
        directory = self.temporary_directory()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(directory / "notify"))
            manager.settimeout(harness.TIMEOUT_S)
            reader = Reader(directory, environment={"NOTIFY_SOCKET": str(directory / "notify")})
            self.addCleanup(self._end, reader)
            self.assertEqual([manager.recv(100) for _ in range(3)], [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"])

    def test_without_driver_it_ends_so_that_its_unit_waits(self):
        reader = self.reader(library=None)
        if os.path.exists("/dev/nvidiactl"):  # the driver of this machine, which may be of any state
            reader.wait(lambda sequence, *_: sequence >= 2, "a second reading")
            return
        self.assertEqual(reader.process.wait(harness.TIMEOUT_S), 0)
        self.assertEqual(reader.head()[2], 1)
        self.assertIn("libnvidia-ml.so.1", reader.head()[4])

    def test_an_argument_or_a_directory_that_is_wrong_is_named(self):
        for words, directory, status, text in ((["--nonsense"], "/tmp", 2, "unexpected argument '--nonsense'"),
                                               ([], "/nowhere", 1, "/nowhere: No such file or directory"),
                                               ([], "/tmp/" + 110 * "x", 1, "File name too long")):
            done = subprocess.run([PERFD_GPU, *words], capture_output=True, text=True, timeout=harness.TIMEOUT_S,
                                  env={**os.environ, "RUNTIME_DIRECTORY": directory})
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(text, done.stderr)


class Node(harness.TestCase):
    """perfd with the readings of perfd-gpu below its root directory."""

    def setUp(self):
        super().setUp()
        root = self.temporary_directory()
        harness.Machine(root)
        (root / "run/perfd-gpu").mkdir(parents=True)
        self.reader = Reader(root / "run/perfd-gpu", "gpus 2\nstate duty\n")
        self.addCleanup(self.reader.close)
        self.reader.wait(lambda sequence, *_: sequence >= 3, "readings")
        self.node = self.daemon("[sampling]\ninterval = 200ms\n", root=root)

    def gpus(self):
        return self.node.get("/api/v1/node").json["latest"].get("gpus")

    def test_the_node_shows_its_gpus(self):
        first, second = wait_for(self.gpus, "GPUs")
        self.assertEqual({key: first[key] for key in ("gpu", "uuid", "model", "driver", "state", "counted")},
                         {"gpu": "0", "uuid": "GPU-00000000-0000-0000-0000-000000000001", "model": "NVIDIA H200",
                          "driver": "580.159.04", "state": "ok", "counted": True})
        self.assertEqual(second["gpu"], "1")
        self.assertEqual((first["gpu_utilization_ratio"], first["gpu_memory_used_bytes"]), (0.94, 1059913728))
        self.assertAlmostEqual(first["gpu_sm_active_ratio"], 0.3988, places=4)
        self.assertAlmostEqual(first["gpu_power_watts"], 440.231)
        later = wait_for(lambda: (now := self.gpus()[0])["gpu_sm_observed_seconds"] > first["gpu_sm_observed_seconds"] + 2 and now,
                         "growth")
        grown = {key: later[key] - first[key] for key in ("gpu_sm_active_seconds", "gpu_sm_observed_seconds", "gpu_utilized_seconds")}
        self.assertAlmostEqual(grown["gpu_sm_active_seconds"] / grown["gpu_sm_observed_seconds"], 0.39882, places=3)
        self.assertGreater(grown["gpu_utilized_seconds"], 1.8)
        self.assertGreater(self.node.metrics()['perfd_node_gpu_energy_joules_total{gpu="1"}'], 3000)

    def test_readings_that_are_old_are_absent_with_the_reason_and_come_back(self):
        wait_for(self.gpus, "GPUs")
        self.reader.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: self.gpus() is None, "the absence of GPUs")
        self.assertEqual(self.node.metrics()['perfd_source_up{source="gpu"}'], 0)
        doctor = self.node.perfctl("doctor").stdout
        self.assertRegex(" ".join(doctor.split()),
                         r"failed gpus run/perfd-gpu/readings: \d+ s old: the driver hangs, or perfd-gpu does not run")
        self.reader.process.send_signal(signal.SIGCONT)
        wait_for(self.gpus, "GPUs that are read again")
        self.assertEqual(self.node.metrics()['perfd_source_up{source="gpu"}'], 1)

    def test_a_lost_gpu_is_named_and_keeps_its_counters(self):
        before = wait_for(self.gpus, "GPUs")
        self.reader.order("gpus 2\nstate duty\nlost 1\n")
        after = wait_for(lambda: (gpus := self.gpus()) and gpus[1]["state"] == "lost" and gpus, "the loss")
        self.assertEqual(after[0]["state"], "ok")
        self.assertNotIn("gpu_power_watts", after[1])
        self.assertGreaterEqual(after[1]["gpu_energy_joules"], before[1]["gpu_energy_joules"])
        self.assertIn("failed gpus GPU 1: lost", " ".join(self.node.perfctl("doctor").stdout.split()))

    def test_the_reason_of_the_driver_is_that_of_perfd(self):
        self.reader.order("gone 1\n")
        reason = "failed gpus run/perfd-gpu/readings: the NVIDIA driver is not loaded"
        wait_for(lambda: reason in " ".join(self.node.perfctl("doctor").stdout.split()), "the reason")
        self.assertIsNone(self.gpus())

    def test_files_of_others_in_its_place_hurt_nothing(self):
        wait_for(self.gpus, "GPUs")
        self.reader.process.send_signal(signal.SIGSTOP)
        for make in (lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir(),
                     lambda path: path.write_bytes(os.urandom(1 << 20)), lambda path: path.write_bytes(b"")):
            self.reader.readings.unlink() if not self.reader.readings.is_dir() else self.reader.readings.rmdir()
            make(self.reader.readings)
            wait_for(lambda: self.gpus() is None, "the absence of GPUs")
            self.assert_none_missed(self.node, 0.2)


class Unit(Booted):
    """The units, with a file in the place of the driver's device."""

    def setUp(self):
        self.run_inside("systemctl", "start", "perfd-gpu.path")

    def tearDown(self):
        self.run_inside("systemctl", "stop", "perfd-gpu.path", "perfd-gpu.service")
        self.run_inside("rm", "-f", "/dev/nvidiactl", "/usr/lib/libnvidia-ml.so.1")

    def state(self):
        return self.show("ActiveState", "perfd-gpu.service")

    def test_the_device_starts_the_service_which_only_perfd_can_read(self):
        self.assertEqual(self.state(), "inactive")
        self.run_inside("cp", LIBRARY, "/usr/lib/libnvidia-ml.so.1")
        self.run_inside("touch", "/dev/nvidiactl")
        wait_for(lambda: self.state() == "active", "the service")
        readings = "/run/perfd-gpu/readings"
        as_perfd = ["setpriv", "--reuid=perfd", "--regid=perfd", "--clear-groups"]
        wait_for(lambda: self.inside(*as_perfd, "grep", "-q", "NVIDIA H200", readings).returncode == 0, "readings")
        self.assertNotEqual(self.inside("setpriv", "--reuid=65534", "--clear-groups", "cat", readings).returncode, 0)
        ask = "import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'?', '/run/perfd-gpu/request')"
        self.run_inside(*as_perfd, "/usr/bin/python3", "-c", ask)
        self.assertNotEqual(self.inside("setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c", ask).returncode, 0)
        pid = self.show("MainPID", "perfd-gpu.service")
        self.assertEqual(self.run_inside("stat", "-c", "%U", f"/proc/{pid}").strip(), "perfd-gpu")

    def test_without_driver_the_unit_waits_for_it(self):
        for _ in range(2):
            self.run_inside("touch", "/dev/nvidiactl")
            wait_for(lambda: self.state() == "active", "the service")
            wait_for(lambda: self.inside("grep", "-q", "cannot be loaded", "/run/perfd-gpu/readings").returncode == 0, "the reason")
            self.run_inside("rm", "/dev/nvidiactl")
            wait_for(lambda: self.state() == "inactive", "the end of the service")
            self.assertEqual(self.show("Result", "perfd-gpu.service"), "success")


if __name__ == "__main__":
    unittest.main()
