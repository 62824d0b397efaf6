"""Checks that a new kind of submission needs only new files, and rows in at most eight existing product files.

tests/echo contains the files of a complete kind: a message, a table in the store, a room, a route, a collector and a
command. The test copies them over a copy of the tree, adds the rows below, builds perfd and perfctl, runs tests/lint, and
uses the kind. Then it removes the rows of one product file at a time: the compiler, a unit test or the use must fail.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import BUILD, ROOT

PRODUCT = ("client", "conf", "daemon", "lib", "proto", "web")
FILES_MAX = 8

# File, text before which the row is inserted (or after, with "+"), and the row. One file may have several rows.
ROWS = [
    ("proto/perfd.proto", "message Request {", "message Echo {\n  string text = 1;\n}\n\n"),
    ("proto/perfd.proto", "+    Forget forget = 11;\n", "    Echo echo = 12;\n"),
    ("lib/request/request.h", "        N_REQUEST_KINDS,", "        REQUEST_ECHO,\n"),
    ("lib/request/request.h", "+                } unregister_model;\n",
     "                struct {\n                        const char *text;\n                } echo;\n"),
    ("daemon/ingest/codec/codec.c", "+REQUEST_UNREGISTER, codec_decode_unregister },\n",
     "        { PERFD__V1__REQUEST__BODY_ECHO, REQUEST_ECHO, codec_echo_decode },\n"),
    ("daemon/ingest/codec/codec.c", '#include "ingest/codec/refuse.h"', '#include "ingest/codec/codec_echo.h"\n'),
    ("daemon/rooms.c", "                DESK_ROW(results_kinds,", "                DESK_ROW(echo_room_kinds, rooms->store),\n"),
    ("daemon/rooms.c", '#include "http_port.h"', '#include "echo/echo.h"\n'),
    ("daemon/store/subjects/store_subjects.c", "        &holders_subject,", "        &store_echo,\n"),
    ("daemon/store/subjects/store_subjects.c", '#include "store/indicators/result_rows.h"', '#include "store/echo/store_echo.h"\n'),
    ("daemon/http/subjects/subjects.c", "        &web_subject,", "        &echo_subject,\n"),
    ("daemon/http/subjects/subjects.c", '#include "http/indicators/indicators_subject.h"', '#include "http/echo/echo_subject.h"\n'),
    ("web/openapi.json", '    "/api/v1/node": {',
     '    "/api/v1/echoes": {"get": {"operationId": "echoes", "summary": "Texts", "responses": {"200": {"description": "Texts"}}}},\n'),
    ("client/commands/commands.h", "        HEADING(COMMANDS_ADMIN)", "        COMMAND(cmd_echo_submit)         \\\n"),

    ("man/perfctl.1", ".Ss status\n", ".Ss echo submit\nStore a text.\n"),
    ("tests/layers", "top                         forget", "echo                        desk store/echo util\n"),
    ("tests/layers", "top                         forget", "store/echo                  store/table store/read store/database\n"),
    ("tests/layers", "top                         forget", "http/echo                   http store/echo json\n"),
    ("tests/layers", "top                         forget", "client/commands/echo        client/commands client/cli client/wire util\n"),
    ("tests/layers", "+\nstore/subjects             ", " store/echo"),
    ("tests/layers", "+\nhttp/subjects              ", " http/echo"),
    ("tests/layers", "+\ntop                        ", " echo"),
]

# For each product file: the source that uses its rows, and the target that is built without them. Either the target cannot be
# built, or perfd and perfctl cannot be used, or the target, a unit test, fails.
COMPILED = {
    "lib/request/request.h": ("daemon/echo/echo.c", "daemon/echo/echo.o"),
    "daemon/ingest/codec/codec.c": ("daemon/ingest/codec/codec.c", "daemon/ingest/codec/codec.o"),
    "proto/perfd.proto": ("proto/perfd.proto", "client/wire/protocol_echo.o"),
}
USED = {
    "daemon/rooms.c": ("daemon/rooms.c", "perfd"),
    "daemon/store/subjects/store_subjects.c": ("daemon/store/subjects/store_subjects.c", "perfd"),
    "daemon/http/subjects/subjects.c": ("daemon/http/subjects/subjects.c", "perfd"),
    "client/commands/commands.h": ("client/perfctl_commands.c", "perfctl"),
}
UNIT_TESTED = {"web/openapi.json": ("daemon/http/self/self_subject.c", "tests/unit/test_routes")}


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
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.tree = pathlib.Path(cls.temporary.name) / "tree"
        files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
        for name in filter(None, files):
            if (ROOT / name).is_file():
                (cls.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, cls.tree / name)
        cls.copy_objects()
        shutil.copytree(ROOT / "tests" / "echo", cls.tree, dirs_exist_ok=True, copy_function=shutil.copy)
        cls.original = {name: (cls.tree / name).read_text() for name, _, _ in ROWS}

    @classmethod
    def copy_objects(cls):
        """Copies what is built of the files that stay unchanged, with its modification times, so that make builds the rest."""
        if BUILD.name != "build":  # has options that the build of the copy lacks
            return
        for folder in ("client", "daemon", "lib", "proto"):
            shutil.copytree(BUILD / folder, cls.tree / "build" / folder, dirs_exist_ok=True)

    def write_rows(self):
        for name, text in self.original.items():
            for place, row in [row[1:] for row in ROWS if row[0] == name]:
                text = insert(text, place, row)
            (self.tree / name).write_text(text)

    @contextlib.contextmanager
    def without_rows_in(self, name, user):
        """The file keeps its modification time, and only the source that uses the rows gets a new one: make builds nothing else."""
        path = self.tree / name
        status, with_rows = path.stat(), path.read_text()

        def write(text):
            path.write_text(text)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.utime(self.tree / user)

        write(self.original[name])
        yield
        write(with_rows)

    def run_in_tree(self, *command):
        """Runs a command that may build: without optimization, which takes half as long, and so that a warning is an error."""
        return subprocess.run(command, cwd=self.tree, capture_output=True, text=True, env={**os.environ, "CFLAGS": "-O0 -g1 -Werror"})

    def make(self, *targets):
        return self.run_in_tree("make", "-s", f"-j{os.cpu_count()}", *targets)

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
        built = self.make("all")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertIsNone(self.use())
        files = {name for name in self.original if name.startswith(PRODUCT)}
        print(f"existing product files with rows for a kind: {len(files)}")
        self.assertLessEqual(len(files), FILES_MAX)
        self.assertEqual(files, {*COMPILED, *USED, *UNIT_TESTED})

        linted = self.run_in_tree("tests/lint", "--without", "hardening", "--without", "budget")
        self.assertEqual(linted.returncode, 0, linted.stdout + linted.stderr)

        for name, (user, target) in (USED | UNIT_TESTED).items():
            with self.subTest(without=name), self.without_rows_in(name, user):
                built = self.make(f"build/{target}")
                self.assertEqual(built.returncode, 0, built.stderr)
                if name in UNIT_TESTED:
                    self.assertNotEqual(subprocess.run([f"build/{target}"], cwd=self.tree, capture_output=True).returncode, 0)
                else:
                    self.assertIsNotNone(self.use())
        for name, (user, target) in COMPILED.items():
            with self.subTest(without=name), self.without_rows_in(name, user):
                self.assertNotEqual(self.make(f"build/{target}").returncode, 0, "compiled without complaint")


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
