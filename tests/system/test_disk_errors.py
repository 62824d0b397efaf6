"""Checks what is said when the disk refuses writes: the error by its name, also if it is over before the next tick, and a reader of
another program that keeps the log."""

import contextlib
import errno
import os
import pathlib
import sqlite3
import subprocess
import unittest

import harness
from harness import preloaded, wait_for

# Writes to files of the state directory fail with the errno in $FAIL, as many times as the second number says; -1: always.
FAIL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(int fd, const char *what) {
        char link[64], path[512] = "", text[64] = "", only[16] = "";
        int error = 0, n = 0, control;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, path, sizeof(path) - 1) < 0 || !strstr(path, "/state/"))
                return 0;
        control = open(getenv("FAIL"), O_RDWR | O_CLOEXEC);
        if (control < 0)
                return 0;
        if (syscall(SYS_read, control, text, sizeof(text) - 1) > 0)
                sscanf(text, "%d %d %15s", &error, &n, only);
        if (error == 0 || n == 0 || (only[0] && strcmp(only, what) != 0)) {
                close(control);
                return 0;
        }
        if (n > 0) {
                int k = snprintf(text, sizeof(text), "%d %d %s   \n", error, n - 1, only);

                syscall(SYS_pwrite64, control, text, (size_t)k, 0);
        }
        close(control);
        errno = error;
        return 1;
}

#define WRAP(type, name, what, parameters, ...)                                                 \
        type name parameters {                                                                  \
                type (*next) parameters = (type (*) parameters)dlsym(RTLD_NEXT, #name);         \
                return fails(fd, what) ? -1 : next(__VA_ARGS__);                                \
        }
WRAP(ssize_t, write, "write", (int fd, const void *p, size_t n), fd, p, n)
WRAP(ssize_t, pwrite, "write", (int fd, const void *p, size_t n, off_t at), fd, p, n, at)
WRAP(ssize_t, pwrite64, "write", (int fd, const void *p, size_t n, off64_t at), fd, p, n, at)
WRAP(int, fsync, "sync", (int fd), fd)
WRAP(int, fdatasync, "sync", (int fd), fd)
"""


def failing_disk(directory):
    """Returns the environment of a perfd whose disk fails as the file $FAIL says."""
    (directory / "fail").write_text("0 0\n")
    command = ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", directory / "fail.so", "-ldl"]
    subprocess.run(command, input=FAIL, text=True, check=True)
    return {"LD_PRELOAD": preloaded(directory / "fail.so"), "FAIL": str(directory / "fail")}


class DiskErrors(harness.TestCase):
    def start(self):
        environment = failing_disk(self.temporary_directory())
        self.control = pathlib.Path(environment["FAIL"])
        return self.daemon("[sampling]\ninterval = 100ms\n", environment=environment)

    def test_an_error_of_the_disk_is_named_everywhere(self):
        for number in (errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOSPC):
            with self.subTest(errno.errorcode[number]):
                daemon = self.start()
                with daemon.client() as client:
                    self.assert_status(client.submit(harness.indicator()), "OK")
                    self.control.write_text(f"{number} -1\n")
                    named = f"{os.strerror(number)} ({errno.errorcode[number]})"
                    reply = client.submit(harness.indicator())
                    self.assert_status(reply, "UNAVAILABLE")
                    self.assertIn(named, reply.message)
                    daemon.wait_log(named)
                    self.assertIn("Cannot write to the store", daemon.log())
                    ready = daemon.get("/-/ready")
                    self.assertEqual((ready.status, named in ready.text), (503, True), ready.text)
                    status = daemon.perfctl("status").stdout
                    self.assertTrue("not healthy" in status and errno.errorcode[number] in status, status)
                    self.control.write_text("0 0\n")
                    wait_for(lambda: daemon.get("/-/ready").text == "ready\n", "the store")
                    self.assert_status(client.submit(harness.indicator()), "OK")

    def test_one_failing_sync_is_logged(self):
        daemon = self.start()
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")
            self.control.write_text(f"{errno.EIO} 1 sync\n")
            self.assert_status(client.submit(harness.indicator()), "UNAVAILABLE")
            self.assert_status(client.submit(harness.indicator()), "OK")
        wait_for(lambda: "Writing to the store failed" in daemon.log() or "Cannot write to the store" in daemon.log(), daemon.log())

    def test_a_reader_that_keeps_the_log_is_said(self):
        daemon = self.daemon("[store]\nmax_size = 16M\n[sampling]\ninterval = 100ms\n")
        with daemon.client() as client, contextlib.closing(sqlite3.connect(daemon.state / "perfd.db")) as reader:
            self.assert_status(client.submit(harness.indicator()), "OK")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM result").fetchone()

            def sync_error():
                self.assert_status(client.submit(*[harness.indicator(text="y" * 3000)] * 20), "OK")
                return daemon.get("/api/v1/node").json["store"]["sync_error"]
            self.assertIn("a reader of the database keeps the log", wait_for(sync_error, "the report"))
            daemon.wait_log("a reader of the database keeps the log")
            self.assertRegex(daemon.perfctl("status").stdout, r"(?s)not healthy.*sync +EBUSY: a reader")
            reader.rollback()
            wait_for(lambda: not sync_error(), "the restart of the log")
        daemon.wait_log("The log was written back into the database.")


if __name__ == "__main__":
    unittest.main()
