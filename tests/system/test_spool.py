"""Checks what perfctl flush does with a large spool, and with entries that are no files of the user."""

import contextlib
import json
import os
import socket
import threading
import time
import unittest
import uuid

import harness


def spooled(n=1, n_bytes=10):
    """Returns the text of a file of the spool with n results."""
    line = {"kind": "indicator", "job": "", "time_ms": 1700000000000,
            "document": {**harness.indicator("kept"), "text": "x" * n_bytes}}
    return "".join(json.dumps({**line, "id": uuid.uuid4().hex}) + "\n" for _ in range(n))


class Delay:
    """Stands between perfctl and perfd: each answer comes delay_s later, and none after the first n_max."""

    def __init__(self, directory, target, delay_s, n_max=10 ** 9):
        self.path, self.target, self.delay_s, self.n_left = directory / "delay.sock", target, delay_s, n_max
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(self.path))
        self.listening.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self.target))
                threading.Thread(target=self.forward, args=(client, server), daemon=True).start()
                threading.Thread(target=self.answer, args=(server, client), daemon=True).start()

    def forward(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                sink.sendall(data)

    def answer(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                time.sleep(self.delay_s)
                self.n_left -= 1
                if self.n_left >= 0:
                    sink.sendall(data)


class Cut(Delay):
    """Forwards what perfctl sends; perfd is gone when its first answer arrives."""

    def answer(self, source, sink):
        source.recv(1 << 20)
        os.unlink(self.path)
        self.listening.close()
        sink.shutdown(socket.SHUT_RDWR)


class Spool(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()
        self.spool = self.temporary_directory()

    def flush(self, *words, socket_path=None):
        environment = {"PERFD_SOCKET": str(socket_path)} if socket_path else None
        return self.running.perfctl("flush", "--spool", self.spool, *words, environment=environment, timeout_s=60)

    def test_the_end_of_a_job_whose_begin_had_no_answer_is_kept(self):
        cut = Cut(self.temporary_directory(), self.running.socket, 0)
        environment = {"PERFD_SOCKET": str(cut.path), "PERFD_SPOOL": str(self.spool)}
        done = self.running.perfctl("run", "--job", "begun", "--", "sh", "-c", "exit 3", environment=environment)
        self.assertEqual(done.returncode, 3, done.stderr)
        done = self.running.perfctl("flush", environment={"PERFD_SPOOL": str(self.spool)})
        self.assertEqual((done.returncode, done.stdout), (0, "1 ends of jobs\n"), done.stderr)
        job = self.running.get("/api/v1/jobs/begun").json
        self.assertEqual((job["state"], job["exit"]["status"]), ("finished", 3))

    def test_odd_entries_are_named_and_skipped(self):
        others = self.temporary_directory() / "others.jsonl"
        others.write_text(spooled())
        (self.spool / "0-link.jsonl").symlink_to(others)
        (self.spool / "1-directory.jsonl").mkdir()
        os.mkfifo(self.spool / "2-fifo.jsonl")
        (self.spool / "3-gone.jsonl").symlink_to("/nonexistent")
        expected = {"0-link": "a symbolic link", "1-directory": "not a regular file", "2-fifo": "not a regular file",
                    "3-gone": "a symbolic link"}
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(str(self.spool / "4-socket.jsonl"))
        expected["4-socket"] = "No such device or address"
        if os.geteuid() == 0:
            (self.spool / "5-user.jsonl").write_text(spooled())
            os.chown(self.spool / "5-user.jsonl", 4321, 4321)
            expected["5-user"] = "belongs to uid 4321: run perfctl flush as this user"
        (self.spool / "9-good.jsonl").write_text(spooled(2))
        for n_stored in (2, 0):
            done = self.flush("--json")
            self.assertEqual(done.returncode, 1, done.stderr)
            answer = json.loads(done.stdout)
            self.assertEqual((answer["stored"], answer["skipped"], answer["left"]), (n_stored, len(expected), 0))
            for name, why in expected.items():
                self.assertIn(f"skipped {self.spool}/{name}.jsonl: {why}\n", done.stderr)
        self.assertEqual(len(list(self.spool.iterdir())), len(expected))
        results = self.running.get("/api/v1/indicators/kept/results").json["results"]
        self.assertEqual(len(results), 2)

    def test_a_refused_result_does_not_take_the_others_with_it(self):
        running = self.daemon("[store]\nkeep_results = 30d\n")
        lines = [{**json.loads(line), "time_ms": int(time.time() * 1000)} for line in spooled(200).splitlines()]
        for i in (0, 1, 150, 199):
            lines[i]["time_ms"] = 1700000000000
        running.perfctl("job", "begin", "ended")
        end = {"kind": "job_end", "job": "ended", "exit_status": 3, "signal": 0}
        name = "1-mixed.jsonl"
        (self.spool / name).write_text("".join(json.dumps(line) + "\n" for line in [*lines, end]))
        done = running.perfctl("flush", "--spool", self.spool)
        self.assertEqual((done.returncode, done.stdout), (1, "196 stored, 1 ends of jobs, 1 file rejected\n"), done.stderr)
        self.assertIn("rejected: indicator 4: time_ms: was measured at 2023-11-14", done.stderr)
        self.assertFalse((self.spool / name).exists())
        rejected = [json.loads(line)["id"] for line in (self.spool / "rejected" / name).read_text().splitlines()]
        self.assertEqual(rejected, [lines[i]["id"] for i in (0, 1, 150, 199)])
        reasons = (self.spool / "rejected" / f"{name}.reason").read_text().splitlines()
        self.assertEqual([line.split(": was measured at 2023-11-14")[0] for line in reasons],
                         [f"indicator {i}: time_ms" for i in (1, 2, 3, 4)])
        self.assertEqual(running.get("/api/v1/jobs/ended").json["exit"]["status"], 3)

    def test_the_limit_is_for_each_answer_and_the_place_is_kept(self):
        file = self.spool / "1-large.jsonl"
        file.write_text(spooled(180, 60000))
        slow = Delay(self.temporary_directory(), self.running.socket, 0.3)
        begin = time.monotonic()
        done = self.flush("--timeout", "2", "--json", socket_path=slow.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(time.monotonic() - begin, 2)
        self.assertEqual(json.loads(done.stdout)["stored"], 180)

        file.write_text(spooled(180, 60000))
        n_bytes = file.stat().st_size
        broken = Delay(self.temporary_directory(), self.running.socket, 0, n_max=5)
        done = self.flush("--timeout", "1", "--json", socket_path=broken.path)
        self.assertEqual((done.returncode, json.loads(done.stdout)["left"]), (3, 1), done.stderr)
        n_stored = json.loads(done.stdout)["stored"]
        self.assertGreater(n_stored, 10)
        self.assertLess(file.stat().st_size, n_bytes * (1 - n_stored / 200))
        answer = json.loads(self.flush("--json").stdout)
        self.assertEqual(answer["stored"] + answer["duplicate"] + n_stored, 180)
        self.assertLess(answer["duplicate"], 20)  # those of the request whose answer was lost


if __name__ == "__main__":
    unittest.main()
