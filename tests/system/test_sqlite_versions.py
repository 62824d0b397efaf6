"""perfd with an SQLite that is older than its statements, and than the tables of its file, says so and moves no file."""

import contextlib
import sqlite3
import subprocess

import harness
from harness import preloaded

# Versions before 3.33 do not know the name sqlite_schema.
OLD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
int sqlite3_prepare_v2(void *db, const char *sql, int n, void **ret, const char **tail) {
        int (*next)(void *, const char *, int, void **, const char **) = dlsym(RTLD_NEXT, "sqlite3_prepare_v2");
        return next(db, strstr(sql, "sqlite_schema") ? "SELECT 1 FROM unknown_table" : sql, n, ret, tail);
}
"""


class Versions(harness.TestCase):
    def setUp(self):
        super().setUp()
        daemon = self.daemon()
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")
        self.assertEqual(daemon.stop(), 0)
        self.state = self.temporary_directory() / "state"
        daemon.state.rename(self.state)
        self.database = self.state / "perfd.db"

    def run_perfd(self, environment=None):
        socket = self.temporary_directory() / "perfd.sock"
        return subprocess.run([harness.PERFD, "--config", "/dev/null", "--http", "off", "--socket", socket, "--state", self.state],
                              env=environment, capture_output=True, text=True, timeout=harness.TIMEOUT_S)

    def check_refused(self, words, **more):
        before = self.database.read_bytes()
        for _ in range(2):
            done = self.run_perfd(**more)
            self.assertEqual(done.returncode, 6, done.stderr)
            self.assertRegex(done.stderr, words)
        self.assertEqual(self.database.read_bytes(), before)
        self.assertEqual(list(self.state.glob("perfd.db.*")), [])

    def test_a_library_that_is_too_old_is_named(self):
        library = self.temporary_directory() / "old.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"], input=OLD, text=True, check=True)
        self.check_refused(r"SQLite \d\S+ is too old: perfd needs 3\.34 or later \(no such table: unknown_table\)",
                           environment={"LD_PRELOAD": preloaded(library)})

    def test_tables_of_a_newer_library_are_not_damaged(self):
        with contextlib.closing(sqlite3.connect(self.database, isolation_level=None)) as database:
            database.execute("PRAGMA writable_schema = ON")
            database.execute("UPDATE sqlite_master SET sql = sql || ' LATER' WHERE name = 'term'")
        with self.database.open("r+b") as file:
            file.seek(96)
            file.write((9001002).to_bytes(4, "big"))
        self.check_refused(r"perfd\.db was written with SQLite 9\.1\.2, and the SQLite \S+ of this system cannot read it \(malformed")
        done = subprocess.run([harness.PERFD, "--config", "/dev/null", "--db", "check", self.database], capture_output=True, text=True,
                              timeout=harness.TIMEOUT_S)
        self.assertNotIn("salvage", done.stdout + done.stderr)

    def test_no_table_needs_a_newer_library(self):
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            texts = [row[0] for row in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
        self.assertGreater(len(texts), 30)
        self.assertEqual([text for text in texts if "STRICT" in text or "RETURNING" in text], [])
