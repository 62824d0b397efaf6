"""A machine with equipment: ports of a fabric and meters of energy whose counters grow, for the option --root of perfd."""

import shutil
import threading
import time

import harness
from harness import ROOT

PORT = "sys/class/infiniband/mlx5_{}/ports/1"
METERS = "sys/class/powercap"
STEP_S = 0.05


class Equipped(harness.Machine):
    """Counters grow with time until close()."""

    def __init__(self, directory):
        super().__init__(directory)
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
        """A port with 40 MB/s sent and 80 MB/s received, one that is down, and meters with 10 W each."""
        passed_s = time.monotonic() - self.begin_s
        for number, factor in ((0, passed_s), (1, 1)):
            for name, per_s in (("port_xmit_data", 10e6), ("port_rcv_data", 20e6), ("port_xmit_packets", 1e4), ("port_rcv_packets", 2e4),
                                ("symbol_error", 0), ("link_downed", number), ("port_rcv_errors", 0)):
                self.set(f"{PORT.format(number)}/counters/{name}", f"{round(factor * per_s):020d}\n")
        for path in self.meters:
            self.set(path, f"{round(passed_s * 10e6):020d}\n")

    def live(self):
        while not self.is_closed.wait(STEP_S):
            self.grow()

    def close(self):
        self.is_closed.set()
        self.thread.join()
