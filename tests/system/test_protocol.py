"""Checks the protocol: ids, identities of clients, and compatibility of versions."""

import grp
import os
import resource
import unittest

import harness
from harness import wire

NOBODY = 65534
JOB_BEGIN, JOB_END, SUBMIT, MARK = 3, 4, 5, 6


def field(number, data):
    """Encodes a field with a string or a message."""
    return harness.varint(number << 3 | 2) + harness.varint(len(data)) + data


def name_job(kind, job):
    """Encodes a request with sequence 7 and a job id, including ids that Python's encoder refuses."""
    if kind == SUBMIT:
        body = field(1, field(1, os.urandom(16)) + field(2, job) + field(4, b""))
    else:
        body = field(1, job)
    return b"\x08\x07" + field(kind, body)


class Ids(harness.TestCase):
    def test_an_invalid_id_is_refused_in_each_request(self):
        daemon = self.daemon()
        ids = (b"a/b", b"../../etc/passwd", b"/", b"a b", b"a\nb", b"\x1b[31m", b"\x00", b"a\x00", b"\x7f", b"\xff\xfe", "ü".encode(),
               b"x" * 129, b"x" * 300, b"x" * 70_000)
        with daemon.client() as client:
            for kind, path in ((JOB_BEGIN, "job_begin.job"), (JOB_END, "job_end.job"), (MARK, "mark.job"),
                               (SUBMIT, "submit.indicators")):
                for job in ids:
                    with self.subTest(path, job=job[:20]):
                        client.send_bytes(harness.frame(name_job(kind, job)))
                        reply = client.receive()
                        self.assert_status(reply, "INVALID")
                        self.assertEqual(reply.sequence, 7)
                        self.assertTrue(reply.path.startswith(path), reply.path)
                        if b"\x00" in job:
                            self.assertIn("NUL", reply.message)
                        else:
                            self.assertIn("1 to 128 letters, digits, or any of _ . : -", reply.message)
            self.assert_status(client.submit(harness.indicator()), "OK")
        self.assertEqual(daemon.get("/api/v1/jobs").json["jobs"], [])

    def test_the_longest_id_is_valid(self):
        daemon = self.daemon()
        job = "x" * 128
        with daemon.client() as client:
            self.assert_status(client.begin(job), "OK")
            self.assert_status(client.submit(harness.indicator(), job=job), "OK")
            self.assert_status(client.end(job, 0), "OK")
        self.assertEqual(daemon.get(f"/api/v1/jobs/{job}").json["state"], "finished")


class Versions(harness.TestCase):
    """Sends the bytes of frames without the optional fields for cgroups, phases and ranks."""

    HELLO = bytes.fromhex("130801120f0a0d7065726663746c20302e312e30")
    BEGIN = bytes.fromhex("3b08021a370a056f6c642d311205747261696e1a10707974686f6e3320747261696e2e7079"
                          "2205616c6963652802320c0a0562617463681203323536")
    END = bytes.fromhex("1b080422170a056f6c642d311003220c09000000000000e03f188010")

    def test_an_older_client_is_understood(self):
        daemon = self.daemon()
        with daemon.client() as client:
            for sequence, data in ((1, self.HELLO), (2, self.BEGIN), (4, self.END)):
                client.send_bytes(data)
                reply = client.receive()
                self.assert_status(reply, "OK")
                self.assertEqual(reply.sequence, sequence)
                self.assertFalse(reply.HasField("mark"))
        job = daemon.get("/api/v1/jobs/old-1").json
        self.assertEqual((job["name"], job["command"], job["user"], job["rank"], job["labels"], job["exit"]["status"], job["uid"]),
                         ("train", "python3 train.py", harness.USER_NAME, 2, {"batch": "256"}, 3, os.geteuid()))

    def test_fields_of_a_newer_client_are_skipped_at_every_level(self):
        daemon = self.daemon()
        future = field(1000, b"what is not known yet") + b"\xc0\x3e\x01"
        begin = field(1, b"new-1") + field(6, field(1, b"key") + field(2, b"value") + future) + future
        with daemon.client() as client:
            client.send_bytes(harness.frame(b"\x08\x01" + field(JOB_BEGIN, begin) + future))
            self.assert_status(client.receive(), "OK")
        self.assertEqual(daemon.get("/api/v1/jobs/new-1").json["labels"], {"key": "value"})

    def test_an_unknown_isolation_is_treated_as_none(self):
        daemon = self.daemon()
        with daemon.client() as client:
            client.send_bytes(harness.frame(b"\x08\x01" + field(JOB_BEGIN, field(1, b"new-1") + b"\x58\x63")))
            self.assert_status(client.receive(), "OK")


class Begin(harness.TestCase):
    def test_a_place_outside_the_run_is_named(self):
        daemon = self.daemon()
        with daemon.client() as client:
            for path, words, more in (("job_begin.rank", "8 of 8 ranks", {"rank": 8, "ranks": 8}),
                                      ("job_begin.node", "2 of 2 nodes", {"node": 2, "nodes": 2}),
                                      ("job_begin.member_pid", "negative", {"member_pid": -1})):
                reply = client.begin("a", **more)
                self.assert_status(reply, "INVALID")
                self.assertEqual(reply.path, path)
                self.assertIn(words, reply.message)
            self.assert_status(client.begin("a", rank=7, ranks=8, node=1, nodes=2), "OK")


@unittest.skipUnless(os.geteuid() == 0, "needs root, to act as several users")
class Administrators(harness.TestCase):
    def client_of(self, daemon, uid, gid, groups=()):
        """The kernel records the identity of a client at the time of the connection."""
        os.chmod(daemon.directory, 0o755)
        before = os.getgroups()
        os.setgroups(groups)
        os.setegid(gid)
        os.seteuid(uid)
        try:
            client = daemon.client()
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(before)
        self.addCleanup(client.close)
        return client

    def assert_denied(self, reply):
        self.assert_status(reply, "DENIED")
        self.assertEqual(reply.path, "job_begin.uid")
        self.assertIn("[socket] admin_group", reply.message)

    def test_only_root_and_administrators_begin_jobs_of_others(self):
        name = grp.getgrgid(NOBODY).gr_name
        daemon = self.daemon(f"[socket]\nadmin_group = {name}\n", notify=True)
        primary, supplementary = self.client_of(daemon, 1000, NOBODY), self.client_of(daemon, 1001, 1001, [*range(2000, 2200), NOBODY])
        neither, root = self.client_of(daemon, 1002, 1002), self.client_of(daemon, 0, 0)
        for n, client in enumerate((primary, supplementary, root)):
            self.assert_status(client.begin(f"job-{n}", uid=4711), "OK")
            self.assertEqual(daemon.get(f"/api/v1/jobs/job-{n}").json["uid"], 4711)
        self.assert_denied(neither.begin("not", uid=4711))
        self.assert_denied(neither.begin("not", uid=0))
        self.assert_status(neither.begin("own", uid=1002), "OK")
        self.assertEqual(daemon.get("/api/v1/jobs/own").json["uid"], 1002)

        # The membership of connected clients is evaluated again.
        daemon.configure("[socket]\nadmin_group =\n")
        daemon.reload()
        self.assert_denied(primary.begin("not", uid=4711))
        self.assert_denied(supplementary.begin("not", uid=4711))
        self.assert_status(root.begin("roots", uid=4711), "OK")
        daemon.configure("[socket]\nadmin_group = 1002\n")
        daemon.reload()
        self.assert_status(neither.begin("now", uid=4711), "OK")

    def test_a_reload_with_an_unknown_group_changes_nothing(self):
        daemon = self.daemon(f"[socket]\nadmin_group = {NOBODY}\n", notify=True)
        client = self.client_of(daemon, 1000, NOBODY)
        daemon.configure("[socket]\nmode = 0666\nadmin_group = no-such-group\n")
        daemon.reload()
        self.assertIn("perfd.conf:3: [socket] admin_group = no-such-group: expected the name or number of an existing group", daemon.log())
        self.assert_status(client.begin("still", uid=4711), "OK")


class Descriptors(harness.TestCase):
    def test_the_soft_descriptor_limit_is_raised(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        try:
            daemon = self.daemon()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        clients = [daemon.client() for _ in range(200)]
        for client in clients:
            self.addCleanup(client.close)
        for client in clients:
            self.assert_status(client.hello(), "OK")
        self.assertEqual(daemon.metrics()["process_max_fds"], hard)

    def test_descriptors_of_connections_are_given_back(self):
        daemon = self.daemon()

        def count():
            return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
        before = count()
        clients = [daemon.client() for _ in range(50)]
        for client in clients:
            self.assert_status(client.submit(harness.indicator()), "OK")
        self.assertGreaterEqual(count(), before + 50)
        for client in clients:
            client.close()
        harness.wait_for(lambda: count() <= before + 2, "the end of the connections")  # HTTP messages may be in between


if __name__ == "__main__":
    unittest.main()
