"""Checks that samples are at multiples of the interval of the wall clock plus the offset, also after the clock was set."""

import subprocess
import time
import unittest

import harness

INTERVAL_S, OFFSET_S, LATE_S = 0.5, 0.3, 0.1
N_IN_PHASE = 3
# The clock of a machine cannot be set for a test: perfd's CLOCK_REALTIME differs by the microseconds in $FAKE_CLOCK.
FAKE_CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *ret) {
        long r = syscall(SYS_clock_gettime, id, ret), us;
        char text[32] = "";
        int fd;

        if (r < 0 || id != CLOCK_REALTIME)
                return (int)r;
        fd = open(getenv("FAKE_CLOCK"), O_RDONLY | O_CLOEXEC);
        (void)!read(fd, text, sizeof(text) - 1);
        close(fd);
        us = ret->tv_sec * 1000000 + ret->tv_nsec / 1000 + atol(text);
        ret->tv_sec = us / 1000000;
        ret->tv_nsec = us % 1000000 * 1000;
        return 0;
}
"""


class Ticks(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.steps = self.directory / "steps"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", self.directory / "clock.so"], input=FAKE_CLOCK, text=True,
                       check=True)

    def set_clock(self, ahead_s):
        self.steps.with_suffix(".new").write_text(str(round(ahead_s * 1e6)))
        self.steps.with_suffix(".new").rename(self.steps)

    def start(self, config, ahead_s=0.0):
        self.set_clock(ahead_s)
        return self.daemon(f"[sampling]\n{config}\n", notify=True,
                           environment={"LD_PRELOAD": harness.preloaded(self.directory / "clock.so"), "FAKE_CLOCK": str(self.steps)})

    def wait_phase(self, daemon, offset_s):
        """Waits for samples that are no later than LATE_S after their time: on a busy machine, some are later."""
        times = set()

        def is_in_phase():
            sampled_s = daemon.metrics()["perfd_last_sample_timestamp_seconds"]
            if (sampled_s - offset_s + 0.001) % INTERVAL_S < LATE_S:
                times.add(sampled_s)
            return len(times) >= N_IN_PHASE
        harness.wait_for(is_in_phase, f"samples in phase with {offset_s} s")
        return times

    def test_a_clock_that_is_set_neither_skips_nor_repeats_samples(self):
        daemon = self.start(f"interval = {INTERVAL_S}s\noffset = {OFFSET_S}s", ahead_s=-400 * 86400.123)
        self.wait_phase(daemon, OFFSET_S)
        steps_s = (0.0, 0.217, 3600.4321, -7200.1)
        for ahead_s in steps_s:
            before, begin = daemon.metrics(), time.monotonic()
            self.set_clock(ahead_s)
            self.wait_phase(daemon, OFFSET_S)
            n, most = daemon.metrics()["perfd_samples_total"] - before["perfd_samples_total"], (time.monotonic() - begin) / INTERVAL_S + 1.5
            self.assertLessEqual(n, most, ahead_s)
        self.assertGreaterEqual(daemon.metrics()["perfd_meter_clock_steps_total"], 2)

    def test_a_reload_moves_the_samples(self):
        daemon = self.start("interval = 500ms\noffset = 0")
        self.wait_phase(daemon, 0)
        daemon.configure("[sampling]\ninterval = 500ms\noffset = 200ms\n")
        daemon.reload()
        self.wait_phase(daemon, 0.2)

    def test_an_offset_that_is_not_below_the_interval_is_refused(self):
        daemon = self.start("interval = 500ms\noffset = 0")
        for text in ("interval = 500ms\noffset = 500ms", "offset = 1s", "interval = 60s\noffset = 61s"):
            daemon.configure(f"[sampling]\n{text}\n")
            daemon.reload()
            error = daemon.perfctl("status").stdout
            self.assertIn("offset", error)
            self.assertIn("below interval", error)


if __name__ == "__main__":
    unittest.main()
