"""Checks who can see the command lines, environments and standard error of other users, and for which hosts perfd
answers over TCP."""

import http.client
import os
import pathlib
import signal
import socket
import subprocess
import unittest
import urllib.parse
import uuid

import harness

OWNER_UID, OTHER_UID = 40001, 40002
ADMIN_GID = 40100
SECRET = "s3cret"
BATCH = uuid.UUID("5e" * 16)
CONFIG = f"[sampling]\ninterval = 100ms\n[socket]\nadmin_group = {ADMIN_GID}\n"
PATHS = ("/", "/metrics", "/api/v1/jobs", "/api/v1/jobs/secret", "/api/v1/jobs/secret/metrics",
         "/api/v1/jobs/secret/samples", "/api/v1/jobs/secret/perf-report", "/api/v1/results", "/api/v1/indicators",
         "/api/v1/indicators/secret/results",
         "/api/v1/indicators/secret/results?job=secret", "/api/v1/indicators/secret/query?group_by=n",
         "/api/v1/indicators/secret/query?group_by=n&format=csv", "/api/v1/indicators/secret/rank?objective=rate&direction=higher",
         f"/api/v1/batches/{BATCH.hex}", "/api/v1/quota", "/api/v1/node", "/api/v1/node/samples", "/api/v1/models")
PRIVATE_PATHS = ("/api/v1/jobs", "/api/v1/jobs/secret", "/api/v1/results",
                 "/api/v1/indicators/secret/results", "/api/v1/indicators/secret/results?job=secret")


def connect_as(uid, where, groups=()):
    """Returns a connection made by a process of another user and passed to this one. where: a port, or the path of a
    Unix socket."""
    family, address = (socket.AF_INET, ("127.0.0.1", where)) if isinstance(where, int) else (socket.AF_UNIX, str(where))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups(groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            made = socket.socket(family)
            made.connect(address)
            socket.send_fds(theirs, [b"x"], [made.detach()])
        finally:
            os._exit(0)
    theirs.close()
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    os.waitpid(pid, 0)
    ours.close()
    made = socket.socket(fileno=fds[0])
    made.settimeout(harness.TIMEOUT_S)
    return made


def get_over(made, path, host="localhost"):
    connection = http.client.HTTPConnection(host)
    connection.sock = made
    try:
        connection.request("GET", path)
        return harness.Response(connection.getresponse())
    finally:
        connection.close()


def send_request(connection, path):
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def ask_again(connection, path):
    """The body of the answer, on a connection that stays open."""
    send_request(connection, path)
    return read_answer(connection)


def read_answer(connection):
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.read().decode()


class OwnedClient(harness.Client):
    """A client of the submission socket that belongs to another user."""

    def __init__(self, uid, path):
        self.socket, self.buffer, self.sequence = connect_as(uid, path), b"", 0


@unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
class Private(harness.TestCase):
    def start(self, config="", **more):
        daemon = self.daemon(CONFIG + config, tcp=True, **more)
        daemon.directory.chmod(0o711)
        with OwnedClient(OWNER_UID, daemon.socket) as client:
            self.assert_status(client.begin("secret", command=f"./train --token {SECRET}-command", name="train"), "OK")
            request = client.submit_request(harness.indicator("secret"), harness.indicator("secret", rate=2.0), job="secret")
            failed, good = request.submit.indicators
            failed.exit_status = 1
            for i, item in enumerate((failed, good)):
                item.batch, item.index = BATCH.bytes, i
                item.run = harness.to_json({"stderr": f"no such token: {SECRET}-stderr", "environment": {"TOKEN": f"{SECRET}-value"},
                                            "directory": f"/home/owner/{SECRET}",
                                            "script": {"sha256": "ab", "origin": f"/home/owner/{SECRET}.py"},
                                            "wall_seconds": 1.5, "argv": ["--token", f"{SECRET}-argument"],
                                            "host": {"hostname": "n1", "login": {"as": f"{SECRET}-user"}}})
            self.assert_status(client.call(request), "OK")
        daemon.wait_tick()
        return daemon

    def check_sees(self, what, ask, sees):
        """ask: function that requests a path and returns the response."""
        for path in PATHS:
            response = ask(path)
            self.assertEqual(response.status, 200, f"{what}, {path}: {response.text}")
            self.assertEqual(SECRET in response.text, sees and path in PRIVATE_PATHS, f"{what}, {path}: {response.text}")

    def test_private_values_are_for_their_user_and_administrators(self):
        daemon = self.start()
        port, path = daemon.port, daemon.http_socket
        self.check_sees("the owner over TCP", lambda p: get_over(connect_as(OWNER_UID, port), p), True)
        self.check_sees("the owner", lambda p: get_over(connect_as(OWNER_UID, path), p), True)
        self.check_sees("root", daemon.get, True)
        self.check_sees("a member of the group", lambda p: get_over(connect_as(OTHER_UID, path, [ADMIN_GID]), p), True)
        self.check_sees("another user", lambda p: get_over(connect_as(OTHER_UID, path, [ADMIN_GID + 1]), p), False)
        self.check_sees("another user over TCP", lambda p: get_over(connect_as(OTHER_UID, port), p), False)
        self.check_sees("a member of the group over TCP", lambda p: get_over(connect_as(OTHER_UID, port, [ADMIN_GID]), p), False)
        self.check_sees("root over TCP", lambda p: daemon.get(p, tcp=True), False)

    def test_hidden_members_are_absent_with_the_reason(self):
        daemon = self.start()
        reason = "[http] privacy = own"
        job = daemon.get("/api/v1/jobs/secret", tcp=True).json
        self.assertIsNone(job["command"])
        self.assertIn(reason, job["hidden"]["command"])
        self.assertEqual(job["name"], "train")
        self.assertEqual(daemon.get("/api/v1/jobs/secret").json["hidden"], {})
        for result in daemon.get("/api/v1/indicators/secret/results", tcp=True).json["results"]:
            self.assertEqual(result["run"], {"script": {"sha256": "ab"}, "wall_seconds": 1.5, "host": {"hostname": "n1"}})
            self.assertEqual(set(result["hidden"]), {"run.stderr", "run.environment", "run.directory", "run.script.origin",
                                                     "run.argv", "run.host.login"})
            self.assertIn(reason, result["hidden"]["run.stderr"])
        self.assertNotIn("hidden", daemon.get("/api/v1/indicators/secret/results").json["results"][0])
        for word in ("train", "SECRET"):
            self.assertEqual([job["id"] for job in daemon.get(f"/api/v1/jobs?search={word}", tcp=True).json["jobs"]], ["secret"], word)
        command = daemon.get("/api/v1/jobs/secret").json["command"]
        for tcp, found in ((True, []), (False, ["secret"])):
            answer = daemon.get("/api/v1/jobs?search=" + urllib.parse.quote(command[2:12]), tcp=tcp)
            self.assertEqual([job["id"] for job in answer.json["jobs"]], found, "a command line is found by those who see it")

    def test_root_over_tcp_owns_its_own_jobs(self):
        daemon = self.start()
        with daemon.client() as client:
            self.assert_status(client.begin("own", command="./backup --to elsewhere"), "OK")
        self.assertEqual(daemon.get("/api/v1/jobs/own", tcp=True).json["command"], "./backup --to elsewhere")
        self.assertIsNone(get_over(connect_as(OTHER_UID, daemon.port), "/api/v1/jobs/own").json["command"])

    def test_privacy_all_shows_them_and_a_reload_applies_it(self):
        daemon = self.start(notify=True)
        daemon.configure(CONFIG + "[http]\nprivacy = all\n")
        daemon.reload()
        self.check_sees("another user", lambda p: get_over(connect_as(OTHER_UID, daemon.port), p), True)
        daemon.configure(CONFIG)
        daemon.reload()
        self.check_sees("another user", lambda p: get_over(connect_as(OTHER_UID, daemon.port), p), False)

    def test_a_reload_changes_who_is_an_administrator_on_open_connections(self):
        daemon = self.start(notify=True)
        connection = connect_as(OTHER_UID, daemon.http_socket, [ADMIN_GID])
        self.assertIn(SECRET, ask_again(connection, "/api/v1/jobs/secret"))
        daemon.configure(CONFIG.replace(str(ADMIN_GID), str(ADMIN_GID + 1)))
        daemon.reload()
        self.assertNotIn(SECRET, ask_again(connection, "/api/v1/jobs/secret"))
        daemon.configure(CONFIG)
        daemon.reload()
        self.assertIn(SECRET, ask_again(connection, "/api/v1/jobs/secret"))

    def test_perfctl_shows_why_a_command_is_hidden(self):
        daemon = self.start()
        perfctl = self.for_others()
        as_other = {"user": OTHER_UID, "group": OTHER_UID, "extra_groups": []}
        for words in (["report", "--brief", "secret"], ["report", "secret"]):
            done = subprocess.run([perfctl, *words], capture_output=True, text=True, timeout=harness.TIMEOUT_S,
                                  env={**os.environ, "PERFD_SOCKET": str(daemon.socket), "NO_COLOR": "1", "HOME": "/"}, **as_other)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"command +shown to its user and to administrators only")
            self.assertNotIn(SECRET, done.stdout)
            self.assertIn(f"--token {SECRET}-command", daemon.perfctl(*words).stdout)


class Hosts(harness.TestCase):
    def test_a_refused_host_gets_the_name_of_the_setting(self):
        daemon = self.daemon("[http]\nhosts = perf.example.org\n", tcp=True)
        node = daemon.get("/api/v1/node").json["hostname"]
        for host in ("localhost", f"127.0.0.1:{daemon.port}", "[::1]:80", "perf.example.org", "PERF.example.org:8080", node):
            self.assertEqual(daemon.get("/metrics", tcp=True, headers={"Host": host}).status, 200, host)
        for path in ("/", "/metrics", "/api/v1/jobs", "/-/healthy", "/nothing"):
            response = daemon.get(path, tcp=True, headers={"Host": "rebound.example:9847"})
            self.assertEqual(response.status, 421)
            self.assertIn("hosts= in [http] of perfd.conf", response.json["error"]["message"])
            self.assertIn("'rebound.example:9847'", response.json["error"]["message"])
        self.assertEqual(daemon.get("/metrics", headers={"Host": "rebound.example"}).status, 200)


class Reports(harness.TestCase):
    def test_users_at_their_limit_are_named(self):
        daemon = self.daemon("[limits]\nhttp_connections = 8\n", tcp=True)
        self.assertEqual(harness.json.loads(daemon.perfctl("status", "--json").stdout)["users_at_limit"], [])
        idle = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(12)]

        def is_refused():
            try:
                response = daemon.get("/metrics")
            except (OSError, harness.http.client.HTTPException):
                return True  # the same user is refused here, too
            return (response.status != 200 or
                    harness.parse_metrics(response.text)['perfd_quota_refused_total{resource="http_connections"}'] > 0)

        harness.wait_for(is_refused, "a refused connection")
        for connection in idle:  # one that perfd accepts after this has no owner any more, and may be refused as well
            connection.close()

        users = harness.json.loads(daemon.perfctl("status", "--json").stdout)["users_at_limit"]
        user = {user["user"]: user for user in users}[f"uid {os.getuid()}"]
        self.assertEqual([resource["name"] for resource in user["resources"]], ["http_connections"])
        self.assertGreater(user["resources"][0]["refused"], 0)
        status = daemon.perfctl("status")
        self.assertEqual(status.returncode, 0)
        self.assertRegex(status.stdout, r"at limit +\S+: http_connections \(\d+ refused since 2\d\d\d-")
        doctor = daemon.perfctl("doctor").stdout
        self.assertRegex(doctor, r"limited +quota +\S+: http_connections \(\d+ refused since")
        self.assertIn("perfctl quota --all", " ".join(doctor.split()))

    @unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
    def test_a_user_with_many_connections_does_not_stand_before_others(self):
        daemon = self.daemon()
        daemon.directory.chmod(0o711)
        many = [connect_as(OWNER_UID, daemon.http_socket) for _ in range(48)]
        others = [connect_as(OTHER_UID, daemon.http_socket) for _ in range(2)]
        state = lambda: pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        answered = lambda text: sum(v for k, v in harness.parse_metrics(text).items() if k.startswith("perfd_http_requests_total"))
        before = max(answered(ask_again(connection, "/metrics")) for connection in (*many, *others))
        daemon.signal(signal.SIGSTOP)
        harness.wait_for(lambda: state() == "T", "the stop of perfd")
        # A turn is a time: texts that all ask for are made once, and many of them fit into one; the state of the node is made each time.
        for connection in (others[0], *many, others[1]):
            send_request(connection, "/metrics" if connection in others else "/api/v1/node")
        for connection in many[::6]:
            connection.shutdown(socket.SHUT_WR)
        daemon.signal(signal.SIGCONT)
        for connection in others:
            self.assertLess(answered(read_answer(connection)) - before, 36)
        for connection in many:
            self.assertIn("cpu_utilization", read_answer(connection))
            connection.close()

    def test_weights_of_users_make_larger_shares(self):
        plain = self.daemon("[limits]\nqueries = 100\n")
        heavy = self.daemon(f"[limits]\nqueries = 100\nweights = 65533=3 {os.getuid()}=3\n")

        def share(daemon, uid):
            user = daemon.get(f"/api/v1/quota?uid={uid}").json["users"][0]
            return next(r["share"] for r in user["resources"] if r["name"] == "queries")

        self.assertEqual(share(plain, 65533), 48)  # (100 - 4) / 2
        self.assertEqual(share(heavy, 65533), 72)  # (100 - 4) * 3 / 4
        self.assertEqual(share(heavy, 65532), 48)


if __name__ == "__main__":
    unittest.main()
