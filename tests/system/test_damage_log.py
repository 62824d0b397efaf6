"""Damages the log of the database: what is lost is said, and a log that merely ends early is none."""

import random
import re
import unittest
import uuid

import damage
import harness
from harness import wait_for


class Damage(harness.TestCase):
    def test_a_byte_flipped_in_the_log_is_found_and_costs_its_page_only(self):
        """SQLite takes the first bad frame for the end of its log: all that was acknowledged behind it would be gone in silence."""
        daemon = self.daemon()
        ids = []
        with daemon.client() as client:
            for _ in range(60):
                ids += [uuid.uuid4().bytes for _ in range(5)]
                self.assert_status(client.submit(*[harness.indicator()] * 5, ids=ids[-5:]), "OK")
        daemon.kill()
        files = {path.name: path.read_bytes() for path in daemon.state.glob("perfd.db*")}
        log = files["perfd.db-wal"]
        frame = 24 + damage.PAGE
        n_frames = (len(log) - 32) // frame
        self.assertGreater(n_frames, 100)
        rng = random.Random(damage.SEED)
        # In the header, the header of the first frame, pages, salts and checksums of frames, and the last frame.
        places = [5, 17, 25, 33, 41, len(log) - 100, len(log) - frame + 5, 32 + frame * (n_frames // 2) + 9, 32 + frame * 20 + 18]
        places += [rng.randrange(len(log)) for _ in range(damage.N_DAMAGES)]
        for place in places:
            with self.subTest(place=place, frame=(place - 32) // frame, of=n_frames):
                if daemon.process.poll() is None:
                    daemon.kill()
                for left in daemon.state.glob("perfd.db*"):
                    left.unlink()
                for name, data in files.items():
                    (daemon.state / name).write_bytes(data)
                damaged = log[:place] + bytes([log[place] ^ 0x10]) + log[place + 1:]
                (daemon.state / "perfd.db-wal").write_bytes(damaged)
                daemon.start()
                wait_for(lambda: daemon.get("/api/v1/node").json["store"]["salvage"], "the salvage")
                store = daemon.get("/api/v1/node").json["store"]
                said = r"the checksums of (\d+) frames of perfd\.db-wal are wrong, with (\d+) frames behind them"
                self.assertRegex(store["damage"], said)
                self.assertEqual([path.read_bytes() for path in daemon.state.glob("perfd.db.salvaged-*Z-wal")], [damaged])
                bad, behind = map(int, re.search(said, store["damage"]).groups())
                self.assertEqual(daemon.metrics()["perfd_store_damaged_log_frames_total"], bad + behind)
                self.assertLessEqual(bad, 2)
                self.assertAlmostEqual(behind, n_frames - max(0, (place - 32) // frame + 1), delta=2)
                self.assertRegex(daemon.get("/-/ready").text, said)
                self.assertRegex(daemon.perfctl("status").stdout.replace("\n", " "), r"checksums of")
                self.assertRegex(daemon.log(), said)
                with daemon.client() as client:
                    kept = sum(client.submit(harness.indicator(), ids=[i]).status == harness.wire.DUPLICATE for i in ids)
                self.assertGreaterEqual(kept, len(ids) - 45)

    def test_a_salt_flipped_in_the_last_frame_is_found_without_the_index(self):
        """The checksum of the log goes on in the frame, so that it is none of a former log, which may lie behind the last one."""
        daemon = self.daemon()
        ids = [uuid.uuid4().bytes for _ in range(20)]
        with daemon.client() as client:
            for i in ids:
                self.assert_status(client.submit(harness.indicator(), ids=[i]), "OK")
        daemon.kill()
        path = daemon.state / "perfd.db-wal"
        log = path.read_bytes()
        for place in (8, 15):
            at = len(log) - 24 - damage.PAGE + place
            path.write_bytes(log[:at] + bytes([log[at] ^ 1]) + log[at + 1:])
            (daemon.state / "perfd.db-shm").unlink(missing_ok=True)
            files = {each: each.read_bytes() for each in daemon.state.glob("perfd.db*") if each != path}
            daemon.start()
            wait_for(lambda: daemon.get("/api/v1/node").json["store"]["salvage"], "the salvage")
            self.assertRegex(daemon.get("/api/v1/node").json["store"]["damage"], r"the checksums of 1 frames of perfd\.db-wal are wrong")
            with daemon.client() as client:
                self.assertEqual([client.submit(harness.indicator(), ids=[i]).status for i in ids], [harness.wire.DUPLICATE] * len(ids))
            daemon.kill()
            for left in daemon.state.glob("perfd.db*"):
                left.unlink()
            for each, data in files.items():
                each.write_bytes(data)

    def test_a_log_that_ends_early_is_no_damage(self):
        """A write that was interrupted, and frames of a former log, are behind the last transaction of many logs."""
        daemon = self.daemon()
        with daemon.client() as client:
            for _ in range(20):
                self.assert_status(client.submit(harness.indicator()), "OK")
        daemon.kill()
        files = {path: path.read_bytes() for path in daemon.state.glob("perfd.db*")}
        path = daemon.state / "perfd.db-wal"
        log = files[path]
        frame = 24 + damage.PAGE
        interrupted = log[-frame:][:4] + bytes(4) + log[-frame:][8:]
        for tail in (interrupted[:100], interrupted[:24] + bytes(damage.PAGE), interrupted * 3,
                     (interrupted[:8] + bytes(8) + interrupted[16:]) * 2):
            for each, data in files.items():
                each.write_bytes(data + (tail if each == path else b""))
            daemon.start()
            self.assertIsNone(daemon.get("/api/v1/node").json["store"]["damage"])
            self.assertEqual(daemon.get("/-/ready").text, "ready\n")
            self.assertEqual(daemon.get("/api/v1/indicators").json["indicators"][0]["results"], 20)
            daemon.kill()


if __name__ == "__main__":
    unittest.main()
