"""Checks that a new kind of submission needs only new files, and rows in at most eight existing product files.

tests/echo contains the files of a complete kind: a message, a table in the store, a room, a route, a collector and a
command. The test copies them over a copy of the tree, adds the rows below, builds perfd and perfctl, and uses the
kind. Then it removes the rows of one file at a time: the compiler, a unit test or the use must fail.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import ROOT

FILES_MAX = 8

# File, text before which the row is inserted (or after, with "+"), and the row. One file may have several rows.
ROWS = [
    ("proto/perfd.proto", "message Request {", "message Echo {\n  string text = 1;\n}\n\n"),
    ("proto/perfd.proto", "+    PipelineReport pipeline_report = 10;\n", "    Echo echo = 11;\n"),
    ("lib/request/request.h", "        N_REQUEST_KINDS,", "        REQUEST_ECHO,\n"),
    ("lib/request/request.h", "+                } unregister_model;\n",
     "                struct {\n                        const char *text;\n                } echo;\n"),
    ("daemon/ingest/codec/codec.c", "+REQUEST_UNREGISTER, codec_decode_unregister },\n",
     "        { PERFD__V1__REQUEST__BODY_ECHO, REQUEST_ECHO, codec_decode_echo },\n"),
    ("daemon/ingest/codec/codec.c", '#include "ingest/codec/refuse.h"', '#include "ingest/codec/codec_echo.h"\n'),
    ("daemon/rooms.c", "                DESK_ROW(results_kinds,", "                DESK_ROW(echo_room_kinds, rooms->store),\n"),
    ("daemon/rooms.c", '#include "http_port.h"', '#include "echo/echo.h"\n'),
    ("daemon/store/subjects/subjects.c", "        &holders_subject,", "        &store_echo,\n"),
    ("daemon/store/subjects/subjects.c", '#include "store/indicators/result_rows.h"', '#include "store/echo/store_echo.h"\n'),
    ("daemon/http/subjects/subjects.c", "        &pages_subject,", "        &echo_subject,\n"),
    ("daemon/http/subjects/subjects.c", '#include "http/indicators/indicators_subject.h"', '#include "http/echo/echo_subject.h"\n'),
    ("web/openapi.json", '    "/api/v1/node": {',
     '    "/api/v1/echoes": {"get": {"operationId": "echoes", "summary": "Texts", "responses": {"200": {"description": "Texts"}}}},\n'),
    ("client/commands/commands.h", '        HEADING("Examine perfd")', "        COMMAND(cmd_echo_submit)         \\\n"),
]

# How a missing row in a file is detected: by a target that cannot be built without an error or warning, or by this
# program.
COMPILED = {
    "lib/request/request.h": "build/daemon/echo/echo.o",
    "daemon/ingest/codec/codec.c": "build/daemon/ingest/codec/codec.o",
    "proto/perfd.proto": "build/client/wire/codec_echo.o",
}
USED = {
    "daemon/rooms.c": "build/perfd",
    "daemon/store/subjects/subjects.c": "build/perfd",
    "daemon/http/subjects/subjects.c": "build/perfd",
    "client/commands/commands.h": "build/perfctl",
}
UNIT_TESTED = {"web/openapi.json": "build/tests/unit/test_routes"}


def insert(text, place, row):
    """Returns the text with the row inserted at its position, which must occur once."""
    anchor = place.removeprefix("+")
    if text.count(anchor) != 1:
        raise AssertionError(f"{anchor!r} is there {text.count(anchor)} times")
    return text.replace(anchor, anchor + row if place.startswith("+") else row + anchor)


class EchoKind(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="perfd-echo-")
        cls.tree = pathlib.Path(cls.temporary.name) / "tree"
        files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
        for name in filter(None, files):
            if (ROOT / name).is_file() and not name.startswith(("tests/system/", "tests/data/", "tests/fuzz/", "bench/", "man/")):
                (cls.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, cls.tree / name)
        shutil.copytree(ROOT / "tests" / "echo", cls.tree, dirs_exist_ok=True)
        cls.original = {name: (cls.tree / name).read_text() for name, _, _ in ROWS}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def write_rows(self):
        for name, text in self.original.items():
            for place, row in [row[1:] for row in ROWS if row[0] == name]:
                text = insert(text, place, row)
            (self.tree / name).write_text(text)

    @contextlib.contextmanager
    def without_rows_in(self, name):
        """Restores the file with its old modification time, so that it is not rebuilt."""
        path = self.tree / name
        status, text = path.stat(), path.read_text()
        path.write_text(self.original[name])
        yield
        path.write_text(text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def make(self, *targets):
        return subprocess.run(["make", "-s", "-j2", *targets], cwd=self.tree, capture_output=True, text=True)

    def use(self):
        """Submits, queries, restarts and queries again; raises an error with the failed step."""
        with tempfile.TemporaryDirectory(prefix="perfd-echo-run-") as directory:
            run = Run(pathlib.Path(directory), self.tree / "build")
            try:
                run.start()
                if run.perfctl("echo", "submit", "hello").returncode != 0:
                    return "submit"
                for _ in range(2):
                    if run.get("/api/v1/echoes") != '{"echoes":["hello"]}':
                        return "route"
                    if "perfd_echo_tables 1\n" not in run.get("/metrics"):
                        return "metrics"
                    run.stop()
                    run.start()
            except AssertionError as error:
                return str(error)
            finally:
                run.stop()
        return None

    def test_a_kind_needs_new_files_and_few_rows_and_a_missing_row_is_detected(self):
        self.write_rows()
        built = self.make("build/perfd", "build/perfctl")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertIsNone(self.use())
        print(f"existing product files with rows for a kind: {len(self.original)}")
        self.assertLessEqual(len(self.original), FILES_MAX)
        self.assertEqual(set(self.original), {*COMPILED, *USED, *UNIT_TESTED})

        for name, target in USED.items():
            with self.subTest(without=name):
                with self.without_rows_in(name):
                    built = self.make(target)
                    self.assertEqual(built.returncode, 0, built.stderr)
                    self.assertIsNotNone(self.use())
                os.utime(self.tree / name)
                self.assertEqual(self.make(target).returncode, 0)
        for name, target in UNIT_TESTED.items():
            with self.subTest(without=name), self.without_rows_in(name):
                built = self.make(target)
                self.assertEqual(built.returncode, 0, built.stderr)
                self.assertNotEqual(subprocess.run([target], cwd=self.tree, capture_output=True).returncode, 0)
        for name, target in COMPILED.items():
            with self.subTest(without=name), self.without_rows_in(name):
                built = self.make(target)
                self.assertTrue(built.returncode != 0 or "warning" in built.stderr, "compiled without complaint")


def accepts(path):
    """A socket of an ended daemon may still have its name."""
    with harness.socket.socket(harness.socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


class Run:
    """Starts perfd of the modified build in a separate directory."""

    def __init__(self, directory, build):
        self.directory, self.build, self.process = directory, build, None
        self.socket = directory / "perfd.sock"

    def start(self):
        (self.directory / "perfd.conf").write_text(harness.NO_PATTERNS + harness.NO_MODELS + "[http]\nlisten = off\n")
        self.process = subprocess.Popen([self.build / "perfd", "--config", self.directory / "perfd.conf", "--socket", self.socket,
                                         "--state", self.directory / "state"], stderr=subprocess.DEVNULL)

        def is_up():
            if self.process.poll() is not None:
                raise AssertionError(f"perfd ended with {self.process.returncode}")
            return all(accepts(path) for path in (self.directory / "http.sock", self.socket))

        harness.wait_for(is_up, "perfd's sockets")

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def perfctl(self, *words):
        return subprocess.run([self.build / "perfctl", "--socket", self.socket, *words], capture_output=True, text=True)

    def get(self, path):
        if self.process.poll() is not None:
            raise AssertionError(f"perfd ended with {self.process.returncode}")
        connection = harness.http.client.HTTPConnection("localhost")
        connection.sock = harness.socket.socket(harness.socket.AF_UNIX)
        connection.sock.connect(str(self.directory / "http.sock"))
        with contextlib.closing(connection):
            connection.request("GET", path)
            return connection.getresponse().read().decode()


if __name__ == "__main__":
    unittest.main()
