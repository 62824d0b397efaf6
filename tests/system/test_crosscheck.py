"""Compares the numbers of the node with other programs.

Each comparison takes a value of the other program, then a sample of perfd, then a value of the other program again. Counters
only grow, so that perfd's value must lie between the two. The only tolerance is the rounding of the other program.
"""

import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import harness

TICK_S = 0.01  # both programs count clock ticks, and may read within a tick
CONFIG = "[sampling]\ninterval = 100ms\nfilesystems_interval = 1s\n"
# Not monotonic: the kernel may decrease iowait (proc(5)).
COUNTED_MODES = ("user", "nice", "system", "irq", "softirq", "steal")


def by_labels(metrics, family, *names):
    """Returns {(values of the labels): value} of one family."""
    found = {}
    for series, value in metrics.items():
        name, _, labels = series.partition("{")
        if name == family:
            pairs = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            key = tuple(pairs[n] for n in names)
            found[key] = found.get(key, 0) + value
    return found


def stir(seconds=0.3):
    """Changes the counters: uses a CPU, writes a file, and sends bytes over the loopback interface."""
    with tempfile.TemporaryFile(dir=harness.ROOT) as f:
        f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        received = threading.Thread(target=lambda: [None for _ in iter(lambda: peer.recv(65536), b"")])
        received.start()
        client.sendall(bytes(4 << 20))
        client.shutdown(socket.SHUT_WR)
        received.join()
        peer.close()
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Bracket(harness.TestCase):
    def between(self, what, before, ours, after, quantum=0.0):
        """Checks that the keys are equal and that each value of perfd lies between the other program's values."""
        self.assertTrue(ours, f"perfd has no {what}")
        common = before.keys() & after.keys()
        self.assertEqual(sorted(common - ours.keys()), [], f"{what}: not known to perfd")
        for key in common:
            with self.subTest(what, of=key):
                self.assertGreaterEqual(ours[key], before[key] - quantum)
                self.assertLessEqual(ours[key], after[key] + quantum)

    def bracket(self, read_theirs):
        """Returns (theirs, ours, theirs), sampled in this order, with activity in between."""
        daemon = self.daemon(CONFIG)
        stir()
        before = read_theirs()
        ours = daemon.wait_tick()
        return before, ours, read_theirs(), daemon


class Psutil(Bracket):
    def setUp(self):
        super().setUp()
        self.psutil = harness.import_peer("psutil")

    def read(self):
        psutil = self.psutil
        cpu = psutil.cpu_times()
        return {
            "cpu": {(mode,): getattr(cpu, mode) for mode in COUNTED_MODES},
            "disk": {(name,): disk for name, disk in psutil.disk_io_counters(perdisk=True, nowrap=False).items()},
            "net": {(name,): net for name, net in psutil.net_io_counters(pernic=True, nowrap=False).items()},
            "memory": psutil.virtual_memory(),
            "switches": psutil.cpu_stats().ctx_switches,
        }

    def test_cpu_times_agree(self):
        before, ours, after, _ = self.bracket(self.read)
        cpu = by_labels(ours, "perfd_node_cpu_seconds_total", "mode")
        # The kernel includes guest time in user and nice; perfd shows each second once.
        cpu["user",] += cpu["guest",]
        cpu["nice",] += cpu["guest_nice",]
        self.between("CPU time", before["cpu"], cpu, after["cpu"], TICK_S)

    def test_context_switches_agree(self):
        before, ours, after, _ = self.bracket(self.read)
        self.between("context switches", {0: before["switches"]}, {0: ours["perfd_node_context_switches_total"]},
                     {0: after["switches"]})

    def test_memory_agrees(self):
        before, ours, after, _ = self.bracket(self.read)
        self.assertEqual(ours["perfd_node_memory_total_bytes"], before["memory"].total)
        # A gauge can change in both directions: the tolerance is the difference of the readings plus the change in
        # 0.1 s.
        low, high = sorted((before["memory"].available, after["memory"].available))
        slack = before["memory"].total * 0.02
        self.assertGreaterEqual(ours["perfd_node_memory_available_bytes"], low - slack)
        self.assertLessEqual(ours["perfd_node_memory_available_bytes"], high + slack)

    def test_disks_agree(self):
        before, ours, after, _ = self.bracket(self.read)
        for family, field in (("read_bytes", "read_bytes"), ("written_bytes", "write_bytes"),
                              ("reads", "read_count"), ("writes", "write_count")):
            found = by_labels(ours, f"perfd_node_disk_{family}_total", "device")
            theirs = [{key: getattr(disk, field) for key, disk in reading["disk"].items() if key in found}
                      for reading in (before, after)]
            self.between(f"disk {family}", theirs[0], found, theirs[1])

    def test_network_interfaces_agree(self):
        before, ours, after, _ = self.bracket(self.read)
        for family, field in (("received_bytes", "bytes_recv"), ("sent_bytes", "bytes_sent"), ("received_packets", "packets_recv")):
            theirs = [{key: getattr(net, field) for key, net in reading["net"].items()} for reading in (before, after)]
            self.between(f"network {family}", theirs[0], by_labels(ours, f"perfd_node_network_{family}_total", "device"), theirs[1])

    def test_file_system_sizes_agree(self):
        daemon = self.daemon(CONFIG)
        sizes = by_labels(daemon.wait_tick(), "perfd_node_filesystem_size_bytes", "mountpoint")
        self.assertTrue(sizes)
        for (mount_point,), size in sizes.items():
            with self.subTest(mount_point):
                self.assertEqual(size, self.psutil.disk_usage(mount_point).total)

    def test_totals_of_a_job_agree(self):
        """Takes four readings: the job's difference lies between those of the inner two and of the outer two."""
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            a0 = self.read()
            self.assert_status(client.begin("bracketed"), "OK")
            a1 = self.read()
            stir()
            b0 = self.read()
            self.assert_status(client.end("bracketed", 0), "OK")
            b1 = self.read()

        metrics = daemon.wait_tick()

        def job(family):
            return metrics[f'perfd_job_{family}{{job="bracketed",scope="node"}}']

        def cpu(reading, *modes):
            return sum(reading["cpu"][mode,] for mode in modes)

        def loopback(reading):
            return reading["net"]["lo",].bytes_sent

        for family, read, quantum in (("cpu_user_seconds_total", lambda r: cpu(r, "user", "nice"), 2 * TICK_S),
                                      ("cpu_system_seconds_total", lambda r: cpu(r, "system", "irq", "softirq"), 3 * TICK_S),
                                      ("network_loopback_sent_bytes_total", loopback, 0),
                                      ("context_switches_total", lambda r: r["switches"], 0)):
            with self.subTest(family):
                self.assertGreaterEqual(job(family), read(b0) - read(a1) - quantum)
                self.assertLessEqual(job(family), read(b1) - read(a0) + quantum)
        self.assertGreaterEqual(job("cpu_user_seconds_total") + job("cpu_system_seconds_total"), 0.25, "the load itself")
        self.assertGreaterEqual(job("network_loopback_sent_bytes_total"), 4 << 20)


class NodeExporter(Bracket):
    def setUp(self):
        super().setUp()
        program = harness.find_peer("prometheus-node-exporter")
        self.log = tempfile.TemporaryFile(mode="w+")
        self.addCleanup(self.log.close)
        # The program does not report the port for port 0: use a port that was just free.
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen([program, f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.terminate)
        harness.wait_for(self.answers, "node_exporter")

    def answers(self):
        try:
            return harness.http_get(self.port, "/").status == 200
        except OSError:
            return False

    def read(self):
        return harness.parse_metrics(harness.http_get(self.port, "/metrics").text)

    def test_counters_agree(self):
        before, ours, after, _ = self.bracket(self.read)
        for mine, theirs in (("disk_read_bytes", "disk_read_bytes"), ("disk_written_bytes", "disk_written_bytes"),
                             ("disk_reads", "disk_reads_completed"), ("disk_writes", "disk_writes_completed"),
                             ("network_received_bytes", "network_receive_bytes"), ("network_sent_bytes", "network_transmit_bytes")):
            found = by_labels(ours, f"perfd_node_{mine}_total", "device")
            readings = [by_labels(r, f"node_{theirs}_total", "device") for r in (before, after)]
            readings = [{key: value for key, value in r.items() if key in found} for r in readings]
            self.assertTrue(readings[0], f"nothing in common in {mine}")
            self.between(mine, readings[0], found, readings[1])

    def test_cpu_time_and_pressure_agree(self):
        before, ours, after, _ = self.bracket(self.read)
        found = by_labels(ours, "perfd_node_cpu_seconds_total", "mode")
        found["user",] += found["guest",]
        found["nice",] += found["guest_nice",]
        n_cpus = len(by_labels(before, "node_cpu_seconds_total", "cpu"))
        readings = [{(mode,): by_labels(r, "node_cpu_seconds_total", "mode")[mode,] for mode in COUNTED_MODES} for r in (before, after)]
        # The other value is a sum over CPUs, each truncated to a tick; perfd uses the kernel's sum.
        self.between("CPU time", readings[0], found, readings[1], TICK_S * (n_cpus + 1))
        for mine, theirs in (("cpu_waiting", "cpu_waiting"), ("memory_waiting", "memory_waiting"), ("io_stalled", "io_stalled")):
            name = f"node_pressure_{theirs}_seconds_total"
            if name in before:
                found = {0: ours[f"perfd_node_pressure_{mine}_seconds_total"]}
                self.between(name, {0: before[name]}, found, {0: after[name]}, 1e-6)

    def test_each_cpu_agrees(self):
        daemon = self.daemon(CONFIG)
        stir()
        before, now = self.read(), time.time()
        harness.wait_for(lambda: daemon.metrics()["perfd_last_sample_timestamp_seconds"] > now, "a new sample")
        ours = harness.parse_metrics(daemon.get("/metrics?collect[]=percpu").text)
        ours = by_labels(ours, "perfd_node_cpu_core_seconds_total", "cpu", "mode")
        after = self.read()
        readings = [by_labels(r, "node_cpu_seconds_total", "cpu", "mode") for r in (before, after)]
        readings = [{key: value for key, value in r.items() if key[1] in ("system", "irq", "softirq", "steal")} for r in readings]
        self.between("time of each CPU", readings[0], ours, readings[1], TICK_S)


if __name__ == "__main__":
    unittest.main()
