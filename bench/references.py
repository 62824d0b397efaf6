"""What the rows of bench/run are compared with: measured in the same run, on the same disk and processors."""

import functools
import re
import socket
import statistics
import threading
import time
import zlib

from measure import run_program

N_TURNS = 30


def thread_cpu_us():
    return time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID) / 1e3


def send_us(body):
    """CPU time that one thread takes to send a body through a Unix socket, median; another thread receives it."""
    sender, receiver = socket.socketpair()
    with sender, receiver:
        def receive():
            while receiver.recv(1 << 20):
                pass

        thread = threading.Thread(target=receive)
        thread.start()
        taken = []
        for _ in range(N_TURNS):
            begin = thread_cpu_us()
            sender.sendall(body)
            taken.append(thread_cpu_us() - begin)
        sender.shutdown(socket.SHUT_WR)
        thread.join()
    return statistics.median(taken)


def zlib_us(body):
    """CPU time of zlib for a body at its fastest level, median."""
    taken = []
    for _ in range(N_TURNS):
        begin = thread_cpu_us()
        zlib.compress(body, zlib.Z_BEST_SPEED)
        taken.append(thread_cpu_us() - begin)
    return statistics.median(taken)


class References:
    """Measured at the first use."""

    def __init__(self, build, sizes):
        self.build, self.sizes = build, sizes

    @functools.cached_property
    def sample_and_reads_us(self):
        return [int(n) / 1e3 for n in re.findall(r"(\d+) ns", run_program(self.build, "sample"))[:2]]

    @property
    def sample_us(self):
        return self.sample_and_reads_us[0]

    @property
    def reads_us(self):
        return self.sample_and_reads_us[1]

    @functools.cached_property
    def store_lines(self):
        return run_program(self.build, "store", self.build, self.sizes.n_results).splitlines()

    @functools.cached_property
    def store_alone(self):
        found = re.search(r"fdatasync ([\d.]+) ms; SQLite alone, groups of \d+: (\d+) rows/s", self.store_lines[0])
        return float(found[1]), float(found[2])

    @property
    def sync_ms(self):
        return self.store_alone[0]

    @property
    def sqlite_per_s(self):
        return self.store_alone[1]

    def group_commit_per_s(self, n_rows):
        """Rows per second of transactions of so many rows: as long as SQLite alone takes for the rows, and one sync."""
        return n_rows / (self.sync_ms / 1e3 + n_rows / self.sqlite_per_s)
