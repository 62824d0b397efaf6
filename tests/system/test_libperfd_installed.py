"""Checks the installed libperfd: pkg-config, threads, C++, and use by another user."""

import os
import re
import shutil
import subprocess
import unittest

from harness import BUILD, ROOT, SANITIZE, TIMEOUT_S, TestCase

# Sanitizers of the build, which programs and `make install` must use as well.
N_THREADS, N_EACH = 16, 50
NOBODY = 65534
DENIED = 6

THREADS = """
#include <perfd.h>
#include <pthread.h>
#include <stdio.h>

typedef struct Worker {
        pthread_t thread;
        PerfdClient *client;
        int number, n_failed;
} Worker;

static void *work(void *data) {
        Worker *worker = data;
        char json[256];

        for (int i = 0; i < N_EACH; i++) {
                snprintf(json, sizeof(json), "{\\"name\\": \\"Threads\\", \\"component\\": \\"cc\\", "
                         "\\"@parameters\\": {\\"worker\\": %d}, \\"@result\\": {\\"i\\": %d}}", worker->number, i);
                worker->n_failed += perfd_submit_json(worker->client, "threads", json) != PERFD_OK;
        }
        return NULL;
}

int main(void) {
        Worker workers[N_THREADS];
        PerfdClient *client;
        int n_failed = 0;

        if (perfd_client_open(&client, NULL, 0) < 0 || perfd_job_begin(client, "threads", NULL) != PERFD_OK)
                return 1;
        for (int i = 0; i < N_THREADS; i++) {
                workers[i] = (Worker){ .client = client, .number = i };
                if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
                        return 1;
        }
        for (int i = 0; i < N_THREADS; i++) {
                pthread_join(workers[i].thread, NULL);
                n_failed += workers[i].n_failed;
        }
        if (n_failed > 0)
                fprintf(stderr, "%d failed, such as: %s\\n", n_failed, perfd_client_error(client));
        perfd_client_close(client);
        return n_failed > 0;
}
"""

# A C++ program links only if the header declares C linkage.
ENDER = """
#include <perfd.h>
#include <stdio.h>

int main() {
        PerfdClient *client;
        int r;

        if (perfd_client_open(&client, NULL, 0) < 0)
                return -1;
        r = perfd_job_end(client, "roots", 0);
        printf("%s\\n", perfd_client_error(client));
        perfd_client_close(client);
        return r;
}
"""


class Installed(TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.directory.chmod(0o755)  # for another user
        self.image = self.directory / "image"
        self.make("install")

    def make(self, target):
        variables = [f"DESTDIR={self.image}", f"B={BUILD.relative_to(ROOT)}", f"SANITIZE={SANITIZE}"]
        subprocess.run(["make", "-s", "-C", ROOT, target, *variables], check=True, stdout=subprocess.DEVNULL,
                       env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "CC")})

    def flags(self, *words):
        """Returns pkg-config's flags, with /usr/include and /usr/lib, which pkg-config omits before it adds the sysroot."""
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.image / "usr/lib/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(self.image),
                       "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
        return subprocess.run(["pkg-config", "--cflags", "--libs", *words, "perfd"], check=True, capture_output=True, text=True,
                              env=environment).stdout.split()

    def build(self, name, text, compiler="cc", flags=()):
        source, program = self.directory / name, self.directory / "program"
        source.write_text(text)
        sanitize = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", *sanitize, f"-DN_THREADS={N_THREADS}", f"-DN_EACH={N_EACH}", "-pthread",
                        "-o", program, source, *(flags or self.flags())], check=True)
        return program

    def run_program(self, program, daemon, **more):
        return subprocess.run([program], capture_output=True, text=True, timeout=TIMEOUT_S * 3, **more,
                              env={**os.environ, "LD_LIBRARY_PATH": str(self.image / "usr/lib"), "PERFD_SOCKET": str(daemon.socket)})

    def test_uninstall_leaves_the_configuration_and_the_files_of_others(self):
        other = self.image / "usr/share/doc/perfd/other"
        other.write_text("")
        self.make("uninstall")
        left = {str(path.relative_to(self.image)) for path in self.image.rglob("*") if not path.is_dir()}
        files = {f"etc/perfd/{path.relative_to(ROOT / 'conf')}" for path in (ROOT / "conf").glob("*.d/*")}
        self.assertEqual(left, {"etc/perfd/perfd.conf", "usr/share/doc/perfd/other"} | files)
        self.assertFalse((self.image / "usr/share/perfd").exists())

    def test_an_instrumented_build_is_one(self):
        """Checks that the symbols are found at all, so that the other tests are not vacuous."""
        names = subprocess.run(["nm", "-D", self.image / "usr/lib/libperfd.so.0"], check=True, capture_output=True, text=True).stdout
        found = {word for word, prefix in (("address", "__asan_"), ("undefined", "__ubsan_"), ("thread", "__tsan_")) if prefix in names}
        self.assertEqual(found, set(filter(None, SANITIZE.split(","))))

    def check_threads(self, flags):
        daemon = self.daemon()
        done = self.run_program(self.build("threads.c", THREADS, flags=flags), daemon)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        results = daemon.get("/api/v1/indicators/Threads/results?limit=1000").json["results"]
        self.assertEqual(sorted((r["document"]["@parameters"]["worker"], r["document"]["@result"]["i"]) for r in results),
                         [(worker, i) for worker in range(N_THREADS) for i in range(N_EACH)])
        self.assertEqual({r["job"] for r in results}, {"threads"})

    def test_threads_share_a_client_of_the_shared_library(self):
        self.check_threads(self.flags())

    def test_threads_share_a_client_of_the_static_library(self):
        (self.image / "usr/lib/libperfd.so").unlink()
        self.check_threads(self.flags("--static"))

    def test_the_library_is_found_under_the_name_it_was_linked_with(self):
        text = subprocess.run(["objdump", "-p", self.build("ender.c", ENDER)], check=True, capture_output=True, text=True).stdout
        needed = next(name for name in re.findall(r"NEEDED\s+(\S+)", text) if name.startswith("libperfd"))
        self.assertTrue((self.image / "usr/lib" / needed).is_file(), needed)

    def test_a_program_in_cplusplus_links(self):
        if not shutil.which("g++"):
            self.skipTest("g++ is not installed (make interop-deps)")
        daemon = self.daemon()
        with daemon.client() as client:
            self.assert_status(client.begin("roots"), "OK")
        done = self.run_program(self.build("ender.cc", ENDER, compiler="g++"), daemon)
        self.assertEqual((done.returncode, done.stdout), (0, "\n"))
        self.assertEqual(daemon.get("/api/v1/jobs/roots").json["state"], "finished")

    def test_the_job_of_another_is_denied_in_a_sentence(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to act as several users")
        program = self.build("ender.c", ENDER)
        daemon = self.daemon()
        os.chmod(daemon.directory, 0o755)
        with daemon.client() as client:
            self.assert_status(client.begin("roots"), "OK")
        done = self.run_program(program, daemon, user=NOBODY)
        self.assertEqual((done.returncode, done.stderr), (DENIED, ""))
        self.assertIn("another user", done.stdout)
        self.assertEqual(daemon.get("/api/v1/jobs/roots").json["state"], "running")


if __name__ == "__main__":
    unittest.main()
