"""What the rows of bench/run are compared with: measured in the same run, on the same disk and processors."""

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
    """Measured once, before the rows."""

    def __init__(self, build, sizes):
        found = re.findall(r"(\d+) ns", run_program(build, "sample"))
        self.sample_us, self.reads_us = (int(n) / 1e3 for n in found[:2])
        self.store_lines = (run_program(build, "store", build, sizes.n_results) or "").splitlines()
        alone = re.search(r"fdatasync ([\d.]+) ms; SQLite alone, groups of \d+: (\d+) rows/s", self.store_lines[0])
        self.sync_ms, self.sqlite_per_s = float(alone[1]), float(alone[2])

    def group_commit_per_s(self, n_rows):
        """Rows per second of transactions of so many rows: as long as SQLite alone takes for the rows, and one sync."""
        return n_rows / (self.sync_ms / 1e3 + n_rows / self.sqlite_per_s)
