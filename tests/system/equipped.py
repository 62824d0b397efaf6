"""A machine with equipment, for the option --root of perfd: GPUs, ports of a fabric, a network file system and meters of energy."""

import shutil
import threading
import time

import harness
from harness import ROOT
from test_gpu import Reader

PORT = "sys/class/infiniband/mlx5_{}/ports/1"
METERS = "sys/class/powercap"
STEP_S = 0.05
MOUNTS = """24 1 259:1 / / rw - ext4 /dev/sda rw
60 24 0:41 / /home rw,relatime - nfs4 10.0.0.7:/export/home rw,vers=4.2
"""
STATISTICS = """device 10.0.0.7:/export/home mounted on /home with fstype nfs4 statvers=1.1
\tage:\t7200
\tbytes:\t0 0 0 0 {read} {written} 0 0
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\tper-op statistics
\t        READ: {reads} {reads} 0 0 0 0 0 {read_ms} 0
\t       WRITE: {writes} {writes} 0 0 0 0 0 {written_ms} 0
\t     GETATTR: {others} {others} 0 0 0 0 0 0 0

"""


class Equipped(harness.Machine):
    """Counters grow with time until close(). orders: of the stand-in for the library of the driver of GPUs."""

    def __init__(self, directory, orders="gpus 2\nstate duty\n"):
        super().__init__(directory)
        (self.directory / "run" / "perfd-gpu").mkdir(parents=True)
        self.gpus = Reader(self.directory / "run" / "perfd-gpu", orders)
        (self.directory / "proc" / "self").mkdir()
        self.set("proc/self/mountinfo", MOUNTS)
        shutil.copytree(ROOT / "tests" / "data" / "trees" / "rapl" / METERS, self.directory / METERS)
        self.meters = list((self.directory / METERS).glob("*/energy_uj"))
        for number, state in ((0, "4: ACTIVE"), (1, "1: DOWN")):
            (self.directory / PORT.format(number) / "counters").mkdir(parents=True)
            for name, text in (("link_layer", "InfiniBand"), ("state", state), ("rate", "100 Gb/sec (4X EDR)")):
                self.set(f"{PORT.format(number)}/{name}", f"{text}\n")
        self.begin_s = time.monotonic()
        self.grow()
        self.is_closed = threading.Event()
        self.thread = threading.Thread(target=self.live, daemon=True)
        self.thread.start()

    def grow(self):
        """A port with 40 MB/s sent and 80 MB/s received, one that is down, 2 MB/s read from a server, and meters with 10 W each."""
        passed_s = time.monotonic() - self.begin_s
        for number, factor in ((0, passed_s), (1, 1)):
            for name, per_s in (("port_xmit_data", 10e6), ("port_rcv_data", 20e6), ("port_xmit_packets", 1e4), ("port_rcv_packets", 2e4),
                                ("symbol_error", 0), ("link_downed", number), ("port_rcv_errors", 0)):
                self.set(f"{PORT.format(number)}/counters/{name}", f"{round(factor * per_s):020d}\n")
        per_s = {"read": 2e6, "written": 1e6, "reads": 100, "writes": 50, "others": 500, "read_ms": 300, "written_ms": 100}
        self.set("proc/self/mountstats", STATISTICS.format(**{name: f"{round(passed_s * n):012d}" for name, n in per_s.items()}))
        for path in self.meters:
            self.set(path, f"{round(passed_s * 10e6):020d}\n")

    def live(self):
        while not self.is_closed.wait(STEP_S):
            self.grow()

    def close(self):
        self.is_closed.set()
        self.thread.join()
        if not self.gpus.process.stderr.closed:
            self.gpus.close()
