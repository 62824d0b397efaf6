"""Walks the pages behind a portal, which passes requests on under a prefix, and checks for whom a portal may ask."""

import html.parser
import http.client
import http.server
import os
import pwd
import re
import threading
import unittest
import urllib.parse

import harness
from test_privacy import ADMIN_GID, BATCH, OTHER_UID, OwnedClient, connect_as, get_over

PREFIX = "/rnode/node1.example.org/9847/"
PROXY_UID = 40020
NAME, NAMED_UID = next((user.pw_name, user.pw_uid) for user in pwd.getpwall() if 0 < user.pw_uid < 1000 and user.pw_name.isalpha())
CONFIG = f"[sampling]\ninterval = 100ms\n[socket]\nadmin_group = {ADMIN_GID}\n[http]\n"


class Links(html.parser.HTMLParser):
    def __init__(self, url, text):
        super().__init__()
        self.url, self.base, self.found = url, url, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "base":
            self.base = urllib.parse.urljoin(self.url, dict(attrs)["href"])
            return
        self.found += [urllib.parse.urljoin(self.base, value) for key, value in attrs if key in ("href", "src", "action")]


def links_of(url, text):
    """What a page or a module of its scripts refers to."""
    if url.endswith(".js"):
        return [urllib.parse.urljoin(url, name) for name in re.findall(r'(?m)^import [^;]*?"([^"]+)";', text)]
    return Links(url, text).found if text.startswith("<!doctype html>") else []


def portal(path):
    """A reverse proxy that passes on what is under the prefix to the Unix socket at this path."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            answer = harness.http_get(path, "/" + self.path.removeprefix(PREFIX)) if self.path.startswith(PREFIX) else None
            self.send_response(answer.status if answer else 404)
            self.end_headers()
            self.wfile.write(answer.body if answer else b"outside of the prefix")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Prefix(harness.TestCase):
    def test_the_page_and_all_that_it_loads_are_under_the_prefix(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        with daemon.client() as client:
            self.assert_status(client.begin("job", name="train"), "OK")
            request = client.submit_request(harness.indicator("of-batch"), harness.indicator("of-batch", rate=2.0), job="job")
            for i, item in enumerate(request.submit.indicators):
                item.batch, item.index = BATCH.bytes, i
            self.assert_status(client.call(request), "OK")
        daemon.wait_tick()
        server = portal(daemon.http_socket)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        root = f"http://127.0.0.1:{server.server_port}{PREFIX}"
        seen, waiting = set(), [root, root + "jobs/job", root + "indicators/of-batch"]
        while waiting:
            url = waiting.pop()
            if url in seen:
                continue
            seen.add(url)
            self.assertTrue(url.startswith(root), url)
            parts = urllib.parse.urlsplit(url)
            connection = http.client.HTTPConnection(parts.netloc, timeout=harness.TIMEOUT_S)
            connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""))
            response = connection.getresponse()
            text = response.read().decode()
            connection.close()
            self.assertEqual(response.status, 200, f"{url}: {text}")
            waiting += [link.split("#")[0] for link in links_of(url, text)]
        for path in ("app/main.js", "app/format.js", "figures/timeseries.js", "app/style.css", "vendor/uplot/uPlot.iife.min.js", "metrics",
                     "api/v1/jobs", "api/v1/openapi.json"):
            self.assertIn(root + path, seen)
        servers = daemon.get("/api/v1/openapi.json").json["servers"]
        self.assertEqual(urllib.parse.urljoin(f"{root}api/v1/openapi.json", servers[0]["url"] + "/"), root)


def ask(made, path="/api/v1/jobs/job", headers=()):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = made
    connection.putrequest("GET", path)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    try:
        return harness.Response(connection.getresponse())
    finally:
        connection.close()


@unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
class Forwarded(harness.TestCase):
    def start(self, settings=f"privacy = private\nproxies = {PROXY_UID}\n"):
        daemon = self.daemon(CONFIG + settings, tcp=True)
        daemon.directory.chmod(0o711)
        for uid, job in ((NAMED_UID, "job"), (OTHER_UID, "others")):
            with OwnedClient(uid, daemon.socket) as client:
                self.assert_status(client.begin(job, command=f"command-of-{job}", name="train"), "OK")
        daemon.wait_tick()
        return daemon

    def jobs(self, answer):
        self.assertEqual(answer.status, 200, answer.text)
        return [job["id"] for job in answer.json["jobs"]]

    def test_a_proxy_asks_for_a_user_who_has_the_rights_of_a_user(self):
        daemon = self.start()
        for groups in ((), (ADMIN_GID,)):
            def via_proxy(*names, path="/api/v1/jobs", groups=groups):
                return ask(connect_as(PROXY_UID, daemon.http_socket, groups), path, [("X-Forwarded-User", name) for name in names])

            self.assertEqual(self.jobs(via_proxy(NAME)), ["job"])
            self.assertIn("command-of-job", via_proxy(NAME, path="/api/v1/jobs/job").text)
            self.assertEqual(via_proxy(NAME, path="/jobs/others").status, 404)
            self.assertEqual(self.jobs(via_proxy("root")), [])
            # without a user, a proxy is nobody
            self.assertEqual(self.jobs(via_proxy()), [])
            self.assertNotIn("command-of-job", via_proxy(NAME, path="/metrics").text)

    def test_a_header_that_names_no_user_is_refused(self):
        daemon = self.start()
        for status, *names in ((400, NAME, NAME), (400, NAME, "root"), (400, ""), (400, str(NAMED_UID)), (400, "0"), (400, "a b"),
                               (400, "../root"), (400, "r\u00f6\u00f6t"), (400, NAME + ","), (400, "-" + NAME), (400, NAME + "\t;"),
                               (400, "x" * 257), (403, "no-such-user-here")):
            answer = ask(connect_as(PROXY_UID, daemon.http_socket), headers=[("x-forwarded-USER", name) for name in names])
            self.assertEqual(answer.status, status, f"{names}: {answer.text}")
            self.assertIn("X-Forwarded-User", answer.json["error"]["message"])

    def test_the_header_of_all_others_is_refused(self):
        daemon = self.start()
        header = [("X-Forwarded-User", NAME)]
        for made in (connect_as(OTHER_UID, daemon.http_socket), connect_as(0, daemon.http_socket), connect_as(PROXY_UID, daemon.port),
                     connect_as(NAMED_UID, daemon.port)):
            answer = ask(made, headers=header)
            self.assertEqual(answer.status, 403, answer.text)
            self.assertIn("proxies= in [http] of perfd.conf", answer.json["error"]["message"])
        self.assertEqual(self.jobs(get_over(connect_as(OTHER_UID, daemon.http_socket), "/api/v1/jobs")), ["others"])

    def test_without_proxies_the_header_means_nothing(self):
        daemon = self.start("privacy = private\n")
        header = [("X-Forwarded-User", NAME)]
        self.assertEqual(self.jobs(ask(connect_as(OTHER_UID, daemon.http_socket), "/api/v1/jobs", header)), ["others"])
        self.assertEqual(ask(connect_as(PROXY_UID, daemon.port), "/api/v1/jobs/job", header).status, 404)


if __name__ == "__main__":
    unittest.main()
