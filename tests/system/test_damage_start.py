"""Damages one page of the database at a time: perfd starts, and keeps what it acknowledges then."""

import contextlib
import random
import sqlite3
import unittest
import uuid

import damage
import harness


class Damage(harness.TestCase):
    def test_perfd_starts_whatever_page_is_damaged(self):
        """Damages the first page of each table and index, and of the file, one at a time: acknowledged rows exist
        after the next start."""
        daemon = self.daemon()
        damage.fill(self, daemon, 400, 12)
        daemon.stop()
        path = daemon.state / "perfd.db"
        sound = path.read_bytes()
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            roots = {"the file": 1, **dict(database.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))}
        self.assertGreater(len(roots), 30)
        for name, root in roots.items():
            with self.subTest(name):
                for left in daemon.state.glob("perfd.db*"):
                    left.unlink()
                at = (root - 1) * damage.PAGE
                path.write_bytes(sound[:at] + random.Random(root).randbytes(damage.PAGE) + sound[at + damage.PAGE:])
                if daemon.process.poll() is None:
                    daemon.kill()  # in case the test of the previous page failed
                daemon.start()
                new = [uuid.uuid4().bytes for _ in range(2)]
                with daemon.client() as client:
                    self.assert_status(client.submit(harness.indicator(), ids=new[:1]), "OK")
                    self.assert_status(client.begin("new"), "OK")
                    self.assert_status(client.mark("phase", job="new"), "OK")
                    self.assert_status(client.end("new", 0), "OK")
                    self.assert_status(client.submit(harness.indicator(), ids=new[1:]), "OK")
                daemon.stop()
                daemon.start()
                with daemon.client() as client:
                    for i in new:
                        self.assert_status(client.submit(harness.indicator(), ids=[i]), "DUPLICATE")
                self.assertEqual(daemon.get("/api/v1/jobs/new").json["state"], "finished")
                daemon.stop()


if __name__ == "__main__":
    unittest.main()
