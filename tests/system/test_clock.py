"""Checks that a wrong clock does not empty the store: retention by age with a clock 400 days ahead of the rows."""

import contextlib
import ctypes
import sqlite3
import unittest

import harness

DAY_MS = 86400 * 1000
N_JOBS = 300
TIME_ERROR = 5


def is_synchronised():
    state = ctypes.create_string_buffer(512)  # struct timex with modes = 0: read only
    return 0 <= ctypes.CDLL(None).adjtimex(state) < TIME_ERROR


class Clock(harness.TestCase):
    def store_jobs(self):
        """Returns a stopped daemon with N_JOBS ended jobs."""
        daemon = self.daemon("[store]\nkeep_jobs = 365d\n")
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
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def count_jobs(self, daemon):
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.state / "perfd.db")) as database:
            return database.execute("SELECT count(*) FROM job").fetchone()[0]

    def test_a_clock_ahead_of_all_rows_removes_nothing_unless_it_is_synchronised(self):
        daemon = self.store_jobs()
        self.make_older(daemon, "true")
        daemon.start()
        if is_synchronised():
            daemon.wait_log("Removed 3 rows because of their age")
            self.assertEqual(self.count_jobs(daemon), N_JOBS - 3)
        else:
            log = daemon.wait_log("removing no rows because of their age")
            self.assertIn("The clock is not synchronised, and 400.0 days ahead of the newest row", log)
            self.assertEqual(self.count_jobs(daemon), N_JOBS)

    def test_a_hundredth_of_old_rows_goes_at_once_and_is_logged(self):
        daemon = self.store_jobs()
        self.make_older(daemon, f"id <> 'job-{N_JOBS - 1}'")
        daemon.start()
        daemon.wait_log("Removed 3 rows because of their age ([store] keep_samples, keep_jobs, keep_results); since start: 3 of job.")
        self.assertEqual(self.count_jobs(daemon), N_JOBS - 3)


if __name__ == "__main__":
    unittest.main()
