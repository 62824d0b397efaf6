"""Checks that a wrong clock does not empty the store: retention by age with a clock 400 days ahead of the rows."""

import contextlib
import sqlite3
import subprocess
import unittest

import harness

DAY_MS = 86400 * 1000
N_JOBS = 300
TIME_OK, TIME_ERROR = 0, 5
# The clock of a machine cannot be set for a test: what perfd asks the kernel with adjtimex(2) is answered from $FAKE_CLOCK.
FAKE_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

long syscall(long number, ...) {
        long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
        long a[6];
        va_list list;

        va_start(list, number);
        for (int i = 0; i < 6; i++)
                a[i] = va_arg(list, long);
        va_end(list);
        if (number == SYS_adjtimex) {
                struct timex *timex = (struct timex *)a[0];
                char text[2] = "";
                int fd = open(getenv("FAKE_CLOCK"), O_RDONLY | O_CLOEXEC);

                (void)!read(fd, text, 1);
                close(fd);
                memset(timex, 0, sizeof(*timex));
                timex->status = atoi(text) == TIME_ERROR ? STA_UNSYNC : STA_PLL;
                return atoi(text);
        }
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


class Clock(harness.TestCase):
    def set_state(self, state):
        """What adjtimex(2) returns from now on."""
        self.state.with_suffix(".new").write_text(str(state))
        self.state.with_suffix(".new").rename(self.state)

    def store_jobs(self, state):
        """Returns a stopped daemon with N_JOBS ended jobs."""
        directory = self.temporary_directory()
        self.state = directory / "state"
        self.set_state(state)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", directory / "clock.so", "-ldl"], input=FAKE_CLOCK, text=True,
                       check=True)
        daemon = self.daemon("[store]\nkeep_jobs = 365d\n", notify=True,
                             environment={"LD_PRELOAD": harness.preloaded(directory / "clock.so"), "FAKE_CLOCK": str(self.state)})
        with daemon.client() as client:
            for i in range(N_JOBS):
                self.assert_status(client.begin(f"job-{i}"), "OK")
                self.assert_status(client.end(f"job-{i}", exit_status=0), "OK")
        daemon.stop()
        return daemon

    def make_older(self, daemon, condition):
        """Moves jobs 400 days into the past. Without a condition, no row is newer."""
        with contextlib.closing(sqlite3.connect(daemon.state / "perfd.db", isolation_level=None)) as database:
            database.execute(f"UPDATE job SET begin_ms = begin_ms - {400 * DAY_MS}, end_ms = end_ms - {400 * DAY_MS} WHERE {condition}")
            if condition == "true":
                database.execute("DELETE FROM node_sample")
                database.execute(f"UPDATE clock SET trusted_ms = trusted_ms - {400 * DAY_MS}")
            else:
                database.execute("DELETE FROM clock")  # before there is a trusted time, the newest row tells
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def count_jobs(self, daemon):
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.state / "perfd.db")) as database:
            return database.execute("SELECT count(*) FROM job").fetchone()[0]

    def test_a_clock_ahead_of_all_rows_removes_nothing_until_it_is_synchronised(self):
        daemon = self.store_jobs(TIME_ERROR)
        self.make_older(daemon, "true")
        daemon.start()
        log = daemon.wait_log("removing no rows because of their age")
        self.assertIn("The clock is not synchronised, and 400.0 days ahead of the newest row", log)
        daemon.wait_tick()
        self.assertIn("not synchronised, 400.0 days ahead of the newest row", daemon.perfctl("status").stdout)
        self.assertAlmostEqual(daemon.get("/api/v1/node").json["store"]["clock_ahead_seconds"], 400 * DAY_MS / 1000, delta=3600)
        self.assertEqual(self.count_jobs(daemon), N_JOBS)

        # The rows of that start have the wrong time, and do not confirm it. A reload applies the retention times at once.
        daemon.start()
        harness.wait_for(lambda: daemon.log().count("removing no rows because of their age") == 2, "a second message about the clock")
        self.set_state(TIME_OK)
        daemon.reload()
        log = daemon.wait_log("Removed 3 rows because of their age")
        self.assertIn("The clock is trusted again", log)
        daemon.wait_tick()
        self.assertNotIn("days ahead", daemon.perfctl("status").stdout)
        self.assertEqual(self.count_jobs(daemon), N_JOBS - 3)

    def test_a_synchronised_clock_removes_a_hundredth_in_a_minute(self):
        daemon = self.store_jobs(TIME_OK)
        self.make_older(daemon, "true")
        daemon.start()
        daemon.wait_log("Removed 3 rows because of their age ([store] keep_samples, keep_minutes, keep_jobs, keep_results); "
                        "since start: 3 of job.")
        daemon.reload()
        daemon.wait_tick()
        self.assertEqual(self.count_jobs(daemon), N_JOBS - 3)

    def test_a_clock_that_agrees_with_the_newest_row_is_trusted(self):
        daemon = self.store_jobs(TIME_ERROR)
        self.make_older(daemon, f"id <> 'job-{N_JOBS - 1}'")
        daemon.start()
        daemon.wait_log("Removed 3 rows because of their age ([store] keep_samples, keep_minutes, keep_jobs, keep_results); "
                        "since start: 3 of job.")
        self.assertEqual(self.count_jobs(daemon), N_JOBS - 3)


if __name__ == "__main__":
    unittest.main()
