"""Checks the history of the node over restarts: points lie on their times, and pages neither overlap nor lose a point."""

import contextlib
import sqlite3
import time
import unittest

import harness
from harness import wait_for

CONFIG = "[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 2s\n"
JITTER_S = 0.35  # a row begins at the sample before its time


class RestartHistory(harness.TestCase):
    def rows(self, daemon):
        with contextlib.closing(sqlite3.connect(f"file:{daemon.state}/perfd.db?mode=ro", uri=True)) as database:
            return database.execute("SELECT begin_ms, interval_ms FROM node_sample ORDER BY begin_ms").fetchall()

    def pages(self, daemon, limit=100):
        since = 0
        while since is not None:
            answer = daemon.get(f"/api/v1/node/samples?since_ms={since}&limit={limit}").json
            yield answer["timeline"]
            since = answer["next"]

    def points(self, daemon, limit=100):
        """Returns (begin, length) of each point in seconds, without gaps."""
        points, end_s = [], 0
        for timeline in self.pages(daemon, limit):
            begin_s, interval_s = timeline["begin_ms"] / 1000, timeline["interval_ms"] / 1000
            self.assertGreaterEqual(begin_s, end_s - JITTER_S, "pages overlap")
            values = timeline["series"]["cpu"]["mean"]
            points += [(begin_s + i * interval_s, interval_s) for i, value in enumerate(values) if value is not None]
            end_s = begin_s + len(values) * interval_s
        return points

    def check(self, daemon):
        rows = [(begin / 1000, interval / 1000) for begin, interval in self.rows(daemon)]
        for limit in (1, 2, 100):
            with self.subTest(limit=limit):
                points = self.points(daemon, limit)
                self.assertEqual(len(points), len(rows))
                for (begin, length), (row_begin, row_length) in zip(points, rows):
                    self.assertAlmostEqual(begin, row_begin, delta=JITTER_S)
                    self.assertEqual(length, row_length)
        for (begin, length), (next_begin, _) in zip(rows, rows[1:]):
            self.assertLessEqual(begin + length, next_begin + JITTER_S, "a row lasts longer than until the next")
        return rows

    def wait_rows(self, daemon, n):
        wait_for(lambda: len(self.rows(daemon)) >= n, f"{n} rows")

    def test_a_stop(self):
        daemon = self.daemon(CONFIG)
        self.wait_rows(daemon, 2)
        time.sleep(0.9)  # into the interval that is cut short
        daemon.stop()
        stopped = time.time()
        rows = self.rows(daemon)
        self.assertLess(rows[-1][1], 1500)
        self.assertAlmostEqual(sum(rows[-1]) / 1000, stopped, delta=0.5)
        time.sleep(0.5)  # off the grid of the former intervals
        daemon.start()
        self.wait_rows(daemon, len(rows) + 2)
        self.check(daemon)

    def test_a_kill(self):
        daemon = self.daemon(CONFIG)
        self.wait_rows(daemon, 2)
        time.sleep(0.9)
        daemon.kill()
        n = len(self.rows(daemon))
        daemon.start()
        started = time.time()
        self.wait_rows(daemon, n + 2)
        rows = self.check(daemon)
        self.assertAlmostEqual(rows[n][0], started, delta=0.8)


if __name__ == "__main__":
    unittest.main()
