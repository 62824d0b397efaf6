"""Checks libperfd: the program of its manual page, static and shared linking, and failures."""

import ctypes
import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

from harness import BUILD, IS_SANITIZED, ROOT, TIMEOUT_S, TestCase, frame, indicator, wait_for, wire

SHARED = BUILD / "libperfd.so.0"
OK, DUPLICATE, INVALID, NOT_FOUND = 0, 1, 2, 7
LOADER = BUILD / "examples" / "loader"


def load_tests(loader, tests, pattern):
    """Skips: an interpreter without sanitizers cannot load an instrumented library; Program tests such builds."""
    classes = [Program, Symbols] + ([] if IS_SANITIZED else [Behaviour])
    return unittest.TestSuite(loader.loadTestsFromTestCase(c) for c in classes)


def manual_program():
    text = (ROOT / "man" / "libperfd.3").read_text()
    code = re.search(r"^\.Bd -literal\n(#include.*?)^\.Ed", text, re.M | re.S)[1]
    return code.replace("\\en", "\\n").replace('\\e"', '\\"')


class Program(TestCase):
    """Compiles and runs the example of libperfd(3)."""

    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        (self.directory / "sum.c").write_text(manual_program())
        # Installed files, with the pkg-config file of the build.
        for name in ("include", "lib"):
            (self.directory / name).mkdir()
        shutil.copy(ROOT / "client" / "wire" / "perfd.h", self.directory / "include")
        pc = (ROOT / "client" / "wire" / "perfd.pc.in").read_text()
        for key, value in {"PREFIX": self.directory, "LIB_DIR": self.directory / "lib", "INCLUDE_DIR": self.directory / "include",
                           "VERSION": (ROOT / "VERSION").read_text().strip()}.items():
            pc = pc.replace(f"@{key}@", str(value))
        (self.directory / "lib" / "perfd.pc").write_text(pc)

    def pkg_config(self, *words):
        return subprocess.run(["pkg-config", *words, "perfd"], check=True, capture_output=True, text=True,
                              env={**os.environ, "PKG_CONFIG_PATH": str(self.directory / "lib")}).stdout.split()

    def build(self, *flags):
        sanitize = [f"-fsanitize={BUILD.name.partition('-')[2].replace('-', ',')}"] if IS_SANITIZED else []
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", *sanitize, "-o", self.directory / "sum", self.directory / "sum.c", *flags],
                       check=True)

    def run_program(self, **environment):
        return subprocess.run([self.directory / "sum"], capture_output=True, text=True, timeout=TIMEOUT_S,
                              env={**os.environ, "LD_LIBRARY_PATH": str(self.directory / "lib"), **environment})

    def check(self):
        daemon = self.daemon()
        done = self.run_program(PERFD_SOCKET=str(daemon.socket))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "perfctl report sum-1\n", ""))
        job = daemon.get("/api/v1/jobs/sum-1").json
        self.assertEqual((job["state"], job["name"], job["labels"]), ("finished", "sum", {"batch": "256"}))
        self.assertEqual(job["exit"], {"status": 0, "signal": 0})
        result, = daemon.get("/api/v1/indicators/Sum/results").json["results"]
        self.assertEqual(result["job"], "sum-1")
        self.assertGreater(result["document"]["@result"]["cpu_s"], 0)
        self.assertEqual([phase["name"] for phase in job["phases"]], ["", "up", "down"])

    def test_with_the_shared_library(self):
        shutil.copy(BUILD / "libperfd.so.0", self.directory / "lib")
        (self.directory / "lib" / "libperfd.so").symlink_to("libperfd.so.0")
        self.build(*self.pkg_config("--cflags", "--libs"))
        self.check()

    def test_with_the_static_library(self):
        shutil.copy(BUILD / "libperfd.a", self.directory / "lib")
        self.build(*self.pkg_config("--cflags", "--libs", "--static"))
        self.check()

    def test_without_perfd_the_program_continues(self):
        shutil.copy(BUILD / "libperfd.a", self.directory / "lib")
        self.build(*self.pkg_config("--cflags", "--libs", "--static"))
        done = self.run_program(PERFD_SOCKET=str(self.directory / "absent.sock"))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("No job: perfd is not running (no socket", done.stderr)
        self.assertIn("No phase: perfd is not running (no socket", done.stderr)

    def test_the_example_of_a_pipeline(self):
        """Compares what perfd has stored with what the program of examples/pipelines counted itself."""
        daemon = self.daemon()
        done = daemon.perfctl("run", "--job", "j", "--", LOADER, environment={"LOADER_ITEMS": "600"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("No statistics", done.stderr)
        expected = json.loads(done.stdout)
        self.assertEqual((expected["num_tasks"], expected["num_failures"], expected["num_items"]), (600, 60, 540))
        stage, = daemon.get("/api/v1/jobs/j/pipeline").json["stages"]
        got = {**stage["tasks"], **stage["queue"]}
        for key, value in expected.items():
            self.assertAlmostEqual(got[key], value, places=6)
        self.assertEqual((stage["name"], stage["concurrency"], stage["producer"]), ("decode", 2, "loader 1"))
        self.assertLess(stage["queue"]["readiness_measured_s"], stage["queue"]["elapsed_s"] + 0.001)
        self.assertRegex(daemon.perfctl("pipeline", "show", "j").stdout, r"(?m)^decode +2 ")

    def test_the_example_of_a_pipeline_needs_no_perfd(self):
        done = subprocess.run([LOADER], capture_output=True, text=True, timeout=TIMEOUT_S,
                              env={**os.environ, "PERFD_SOCKET": str(self.directory / "absent.sock"), "LOADER_ITEMS": "20"})
        self.assertEqual((done.returncode, json.loads(done.stdout)["num_items"]), (0, 18))
        self.assertIn("No statistics: perfd is not running", done.stderr)

    def test_the_example_of_a_pipeline_loses_no_count_while_perfd_is_away(self):
        daemon = self.daemon()
        with daemon.client() as client:
            client.begin("j")
        daemon.stop()
        with subprocess.Popen([LOADER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "PERFD_SOCKET": str(daemon.socket), "PERFD_JOB": "j", "LOADER_ITEMS": "6000"}) as process:
            daemon.start()
            output, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, errors), (0, ""))
        stage, = daemon.get("/api/v1/jobs/j/pipeline").json["stages"]
        got = {**stage["tasks"], **stage["queue"]}
        for key, value in json.loads(output).items():
            self.assertAlmostEqual(got[key], value, places=6)

    def test_the_header_is_cplusplus_as_well(self):
        if not shutil.which("g++"):
            self.skipTest("g++ is not installed (make interop-deps)")
        source = self.directory / "x.cc"
        source.write_text('#include <perfd.h>\nint main() { return perfd_version()[0] == 0; }\n')
        subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "-std=c++11", "-fsyntax-only", "-I", ROOT / "client" / "wire", source],
                       check=True)


class Symbols(unittest.TestCase):
    def names(self, *flags):
        lines = subprocess.run(["nm", *flags], capture_output=True, text=True, check=True).stdout.splitlines()
        return {line.split()[-1].split("@")[0] for line in lines if len(line.split()) >= 3}

    def test_only_names_of_the_header_are_exported(self):
        header = (ROOT / "client" / "wire" / "perfd.h").read_text()
        declared = set(re.findall(r"^PERFD_API .*?(perfd_\w+)\(", header, re.M))
        self.assertGreater(len(declared), 5)
        ours = lambda names: {n for n in names if not n.startswith(("__asan", "__ubsan", "__odr_asan", "__lsan"))}
        self.assertEqual(ours(self.names("-D", "--defined-only", BUILD / "libperfd.so.0")), declared)
        self.assertEqual(ours(self.names("-g", "--defined-only", BUILD / "libperfd.a")), declared)

    def test_it_needs_no_libraries_but_its_own(self):
        needed = subprocess.run(["objdump", "-p", BUILD / "libperfd.so.0"], capture_output=True, text=True, check=True).stdout
        for name in re.findall(r"NEEDED\s+(\S+)", needed):
            self.assertRegex(name, r"^lib(protobuf-c|c|m|asan|ubsan|tsan|pthread|gcc_s)\.so|^ld-linux")


class PerfdJob(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("command", ctypes.c_char_p), ("labels", ctypes.POINTER(ctypes.c_char_p)),
                ("rank", ctypes.c_int64), ("has_rank", ctypes.c_int), ("pid", ctypes.c_int32), ("member_pid", ctypes.c_int32),
                ("fresh", ctypes.c_int), ("has_node", ctypes.c_int), ("node", ctypes.c_int32), ("nodes", ctypes.c_uint32),
                ("ranks", ctypes.c_uint32), ("has_uid", ctypes.c_int), ("uid", ctypes.c_uint32), ("reserved", ctypes.c_uint64 * 4)]


class PerfdTaskStats(ctypes.Structure):
    _fields_ = [("elapsed", ctypes.c_double), ("num_tasks", ctypes.c_uint64), ("num_failures", ctypes.c_uint64),
                *((name, ctypes.c_double) for name in ("ave_time", "p90_time", "p99_time")), ("reserved", ctypes.c_uint64 * 2)]


class PerfdQueueStats(ctypes.Structure):
    _fields_ = [("elapsed", ctypes.c_double), ("num_items", ctypes.c_uint64),
                *((f"{kind}_{call}_time", ctypes.c_double) for call in ("put", "get") for kind in ("ave", "p90", "p99")),
                ("occupancy_rate", ctypes.c_double), ("buffer_size", ctypes.c_uint32), ("reserved_0", ctypes.c_uint32),
                ("reserved", ctypes.c_uint64 * 2)]


class PerfdInterval(ctypes.Structure):
    _fields_ = [("stage", ctypes.c_char_p), ("end_ms", ctypes.c_uint64), ("tasks", ctypes.POINTER(PerfdTaskStats)),
                ("queue", ctypes.POINTER(PerfdQueueStats)), ("reserved", ctypes.c_uint64 * 2)]


class Behaviour(TestCase):
    """Calls the library through ctypes, which releases the interpreter, so that threads run concurrently."""

    def setUp(self):
        super().setUp()
        self.library = ctypes.CDLL(str(SHARED))
        self.library.perfd_client_error.restype = ctypes.c_char_p
        self.library.perfd_version.restype = ctypes.c_char_p
        for name in ("error", "close"):
            getattr(self.library, f"perfd_client_{name}").argtypes = [ctypes.c_void_p]
        self.library.perfd_job_begin.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(PerfdJob)]
        self.library.perfd_job_end.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
        self.library.perfd_mark.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
        self.library.perfd_submit_intervals.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]
        self.library.perfd_submit_json.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]

    def open(self, path, timeout_ms=0):
        client = ctypes.c_void_p()
        self.assertEqual(self.library.perfd_client_open(ctypes.byref(client), os.fsencode(path), timeout_ms), 0)
        self.addCleanup(self.library.perfd_client_close, client)
        return client

    def error(self, client):
        return self.library.perfd_client_error(client).decode()

    def submit(self, client, document, job=None):
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.library.perfd_submit_json(client, job, text)

    def count(self, daemon, name="demo"):
        answer = daemon.get(f"/api/v1/indicators/{name}/results?limit=1000")
        self.assertEqual(answer.status, 200, answer.text)
        return len(answer.json["results"])

    def test_jobs_begin_and_end_once(self):
        client = self.open(self.daemon().socket)
        self.assertEqual(self.error(client), "")
        self.assertEqual(self.library.perfd_job_begin(client, b"j", None), OK)
        self.assertEqual(self.library.perfd_job_begin(client, b"j", None), DUPLICATE)
        self.assertEqual(self.library.perfd_job_end(client, b"j", -1), OK)
        self.assertEqual(self.library.perfd_job_end(client, b"j", -1), DUPLICATE)
        self.assertEqual(self.library.perfd_job_end(client, b"other", 0), NOT_FOUND)
        self.assertIn("no such job", self.error(client))

    def test_intervals_arrive(self):
        daemon = self.daemon()
        client = self.open(daemon.socket)
        self.assertEqual(self.library.perfd_job_begin(client, b"j", None), OK)
        tasks = PerfdTaskStats(60, 100, 2, 0.5, 0.75, 0.875)
        queue = PerfdQueueStats(60, 98, 0.25, 0, 0, 0.125, 0.5, 1, 0.75, 4)
        intervals = (PerfdInterval * 2)(PerfdInterval(b"0:1:decode[4]", 1764000060000, ctypes.pointer(tasks), ctypes.pointer(queue)),
                                        PerfdInterval(b"0:2:sink", 1764000060000, None, ctypes.pointer(queue)))
        for status in (OK, DUPLICATE):
            self.assertEqual(self.library.perfd_submit_intervals(client, b"j", b"mine 2", intervals, 2), status)
        stored = {(i["stage"], i["part"]): i for i in daemon.get("/api/v1/jobs/j/pipeline/intervals").json["intervals"]}
        self.assertEqual(set(stored), {("0:1:decode[4]", "tasks"), ("0:1:decode[4]", "queue"), ("0:2:sink", "queue")})
        got = stored["0:1:decode[4]", "tasks"]
        self.assertEqual([got[key] for key in ("end_ms", "elapsed_s", "num_tasks", "num_failures", "ave_time", "p90_time", "p99_time")],
                         [1764000060000, 60, 100, 2, 0.5, 0.75, 0.875])
        got = stored["0:2:sink", "queue"]
        self.assertEqual([got[key] for key in ("num_items", "ave_put_time", "ave_get_time", "p90_get_time", "p99_get_time",
                                               "occupancy_rate")], [98, 0.25, 0.125, 0.5, 1, 0.75])

        for change, words in (({"elapsed": -1}, "intervals[0].queue.elapsed: is -1, expected 0 to 1e+09"),
                              ({"elapsed": 0}, "an interval longer than 0"),
                              ({"ave_get_time": float("nan")}, "queue.ave_get_time: is nan"),
                              ({"occupancy_rate": 1.5}, "occupancy_rate: is 1.5, expected 0 to 1")):
            changed = PerfdQueueStats.from_buffer_copy(queue)
            for key, value in change.items():
                setattr(changed, key, value)
            wrong = PerfdInterval(b"0:1:a", 0, None, ctypes.pointer(changed))
            self.assertEqual(self.library.perfd_submit_intervals(client, b"j", None, ctypes.byref(wrong), 1), INVALID)
            self.assertIn(words, self.error(client))
        for wrong, words in ((PerfdInterval(b"a", 0, ctypes.pointer(tasks)), "intervals[0].stage: expected"),
                             (PerfdInterval(b"1:a"), "tasks or queue"), (PerfdInterval(None, 0, ctypes.pointer(tasks)), "stage"),
                             (PerfdInterval(b"1:a", 0, ctypes.pointer(PerfdTaskStats(1, 1, 2))), "num_failures: is 2, expected 0 to 1")):
            self.assertEqual(self.library.perfd_submit_intervals(client, b"j", None, ctypes.byref(wrong), 1), INVALID)
            self.assertIn(words, self.error(client))
        self.assertEqual(self.library.perfd_submit_intervals(client, b"j", None, intervals, 1001), INVALID)
        self.assertEqual(self.library.perfd_submit_intervals(client, b"other", None, intervals, 2), NOT_FOUND)
        # An empty queue of an unknown producer: perfd does not know whether it counts empty time.
        queue.num_items = 0
        intervals[1].end_ms += 60000
        self.assertEqual(self.library.perfd_submit_intervals(client, b"j", None, ctypes.byref(intervals[1]), 1), OK)
        stage = next(s for s in daemon.get("/api/v1/jobs/j/pipeline").json["stages"] if s["name"] == "sink")
        self.assertEqual(stage["queue"]["readiness_measured_s"], 60)

    def test_all_members_of_a_job_arrive(self):
        daemon = self.daemon()
        labels = (ctypes.c_char_p * 3)(b"a=1", b"b=x=y", None)
        job = PerfdJob(b"name", b"x" * 5000, labels, 0, 1, os.getpid())
        self.assertEqual(self.library.perfd_job_begin(self.open(daemon.socket), b"j", ctypes.byref(job)), OK)
        got = daemon.get("/api/v1/jobs/j").json
        self.assertEqual((got["name"], got["rank"], got["pid"], got["labels"]), ("name", 0, os.getpid(), {"a": "1", "b": "x=y"}))
        self.assertTrue(got["command"].endswith("x…"))

    def test_the_structures_have_the_layout_of_the_header(self):
        """Compares the declarations in this test with perfd.h."""
        source = self.temporary_directory() / "size.c"
        lines = ["#include <stddef.h>", "#include <perfd.h>"]
        for kind in (PerfdJob, PerfdTaskStats, PerfdQueueStats, PerfdInterval):
            name = kind.__name__
            lines += [f'_Static_assert(offsetof({name}, {n}) == {getattr(kind, n).offset}, "{n}");' for n, _ in kind._fields_]
            lines.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(kind)}, "size");')
        source.write_text("\n".join(lines) + "\n")
        subprocess.run(["cc", "-fsyntax-only", "-I", ROOT / "client" / "wire", source], check=True)

    def test_a_place_in_a_run_is_checked(self):
        client = self.open(self.daemon().socket)
        for job, words in ((PerfdJob(rank=8, has_rank=1, ranks=8), "rank: is 8 of 8 ranks"),
                           (PerfdJob(node=2, has_node=1, nodes=2), "node: is 2 of 2 nodes"),
                           (PerfdJob(node=-1, has_node=1), "node: expected 0 or more"),
                           (PerfdJob(member_pid=-1), "member_pid: is negative")):
            self.assertEqual(self.library.perfd_job_begin(client, b"j", ctypes.byref(job)), INVALID)
            self.assertIn(words, self.error(client))
        job = PerfdJob(rank=7, has_rank=1, ranks=8, node=1, has_node=1, nodes=2)
        self.assertEqual(self.library.perfd_job_begin(client, b"j", ctypes.byref(job)), OK)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to act as several users")
    def test_root_begins_jobs_for_others(self):
        daemon = self.daemon()
        client = self.open(daemon.socket)
        self.assertEqual(self.library.perfd_job_begin(client, b"j", ctypes.byref(PerfdJob(has_uid=1, uid=4711))), OK)
        self.assertEqual(daemon.get("/api/v1/jobs/j").json["uid"], 4711)
        self.assertEqual(self.library.perfd_job_begin(client, b"k", ctypes.byref(PerfdJob(uid=4711))), OK)
        self.assertEqual(daemon.get("/api/v1/jobs/k").json["uid"], 0)

    def test_marks_make_phases(self):
        daemon = self.daemon()
        client = self.open(daemon.socket)
        self.assertEqual(self.library.perfd_job_begin(client, b"j", None), OK)
        self.assertEqual(self.library.perfd_mark(client, b"j", b"load"), OK, self.error(client))
        self.assertEqual(self.library.perfd_mark(client, b"j", "Übung".encode()), OK)
        with daemon.client() as other:
            reply = other.mark("", job="j")
            self.assert_status(reply, "OK")
            self.assertEqual((reply.mark.job, reply.mark.previous), ("j", "Übung"))
        self.assertEqual(self.library.perfd_mark(client, b"other", b"load"), NOT_FOUND)
        self.assertEqual(self.library.perfd_mark(client, None, b"load"), NOT_FOUND)
        self.assertIn("not inside a perfd job", self.error(client))

    def test_the_job_of_perfctl_run_is_the_default(self):
        daemon = self.daemon()
        client = self.open(daemon.socket)
        os.environ["PERFD_JOB"] = "j"
        self.addCleanup(os.environ.pop, "PERFD_JOB")
        self.assertEqual(self.library.perfd_job_begin(client, b"j", None), OK)
        self.assertEqual(self.library.perfd_mark(client, None, b"load"), OK, self.error(client))
        self.assertEqual(self.submit(client, indicator()), OK)
        self.assertEqual(daemon.get("/api/v1/indicators/demo/results").json["results"][0]["job"], "j")
        os.environ["PERFD_JOB"] = "a/b"
        self.assertEqual(self.library.perfd_mark(client, None, b"load"), INVALID)
        self.assertIn("$PERFD_JOB: expected 1…128 characters", self.error(client))
        self.assertEqual(self.library.perfd_mark(client, b"j", b"more"), OK)

    def test_only_repeatable_requests_are_sent_again(self):
        """Simulates a daemon that answers once, reads the next request, and closes the connection."""
        path = self.temporary_directory() / "perfd.sock"
        for ask, is_sent_again in ((lambda client: self.library.perfd_mark(client, b"j", b"load"), False),
                                   (lambda client: self.library.perfd_job_end(client, b"j", 0), True)):
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(path))
                listening.listen()
                client = self.open(path)

                def serve():
                    with listening.accept()[0] as connection:
                        connection.recv(4096)
                        connection.sendall(frame(wire.Reply(sequence=1)))
                        connection.recv(4096)
                thread = threading.Thread(target=serve)
                thread.start()
                self.assertEqual(self.library.perfd_job_begin(client, b"j", None), OK)
                answer = threading.Thread(target=lambda: outcomes.append(ask(client)))
                outcomes = []
                answer.start()
                thread.join(TIMEOUT_S)
                if is_sent_again:
                    listening.settimeout(TIMEOUT_S)
                    with listening.accept()[0] as connection:
                        connection.recv(4096)
                        connection.sendall(frame(wire.Reply(sequence=2)))
                answer.join(TIMEOUT_S)
                self.assertEqual(outcomes, [OK if is_sent_again else -errno.ECONNRESET])
                listening.setblocking(False)
                self.assertRaises(BlockingIOError, listening.accept)
            path.unlink()

    def test_a_mark_finds_a_restarted_perfd(self):
        daemon = self.daemon()
        client = self.open(daemon.socket)
        self.assertEqual(self.library.perfd_job_begin(client, b"j", None), OK)
        daemon.restart()
        self.assertEqual(self.library.perfd_mark(client, b"j", b"load"), OK, self.error(client))

    def test_invalid_arguments_are_reported_and_not_sent(self):
        client = self.open("/nonexistent/perfd.sock")
        document = indicator()
        del document["@result"]
        for text, words in ((b"", "not an empty text"), (b"{", "1:2: the text is truncated"), (b"{}{}", "not several"),
                            (json.dumps(document).encode(), "@result")):
            self.assertEqual(self.submit(client, text), INVALID)
            self.assertIn(words, self.error(client))
        self.assertEqual(self.library.perfd_submit_json(client, None, None), INVALID)
        self.assertIn("not NULL", self.error(client))
        for id in (b"", b"a/b", b"x" * 129, None):
            self.assertEqual(self.library.perfd_job_begin(client, id, None), INVALID)
            self.assertIn("1…128 characters", self.error(client))
            self.assertEqual(self.library.perfd_job_end(client, id, 0), INVALID)
            if id:  # otherwise the job that contains this process
                self.assertEqual(self.library.perfd_mark(client, id, b"load"), INVALID)
                self.assertEqual(self.submit(client, indicator(), id), INVALID)
                self.assertIn("1…128 characters", self.error(client))
        for name in (None, b"x" * 65, b"\x1b[31m", b"\xff", "\x9b".encode()):
            self.assertEqual(self.library.perfd_mark(client, b"j", name), INVALID)
            self.assertIn("name: expected at most 64 bytes", self.error(client))
        self.assertEqual(self.library.perfd_job_end(client, b"j", 256), INVALID)
        for job in (PerfdJob(name=b"x" * 257), PerfdJob(labels=(ctypes.c_char_p * 2)(b"nokey", None)), PerfdJob(rank=-1, has_rank=1)):
            self.assertEqual(self.library.perfd_job_begin(client, b"j", ctypes.byref(job)), INVALID)

    def test_a_perfd_started_later_is_used(self):
        daemon = self.daemon(wait=False)
        client = self.open(daemon.socket)
        wait_for(lambda: self.submit(client, indicator()) == OK, "perfd")
        self.assertEqual(self.count(daemon), 1)

    def test_a_restart_of_perfd_is_not_noticed(self):
        daemon = self.daemon()
        client = self.open(daemon.socket)
        self.assertEqual(self.submit(client, indicator()), OK)
        daemon.restart()
        self.assertEqual(self.submit(client, indicator()), OK)
        self.assertEqual(self.count(daemon), 2)

    def test_nothing_waits_longer_than_the_timeout(self):
        daemon = self.daemon()
        client = self.open(daemon.socket, 300)
        daemon.signal(signal.SIGSTOP)
        self.addCleanup(daemon.signal, signal.SIGCONT)
        begin = time.monotonic()
        self.assertEqual(self.submit(client, indicator()), -110)  # ETIMEDOUT
        self.assertLess(time.monotonic() - begin, 5)
        self.assertIn("timed out", self.error(client))
        # The client works again when perfd does, and does not mistake a late reply for another answer.
        daemon.signal(signal.SIGCONT)
        wait_for(lambda: self.submit(client, b"{}") == INVALID and self.library.perfd_job_end(client, b"none", 0) == NOT_FOUND, "an answer")

    def test_threads_take_turns(self):
        daemon = self.daemon()
        client = self.open(daemon.socket)
        outcomes = []

        def work():
            for _ in range(50):
                outcomes.append(self.submit(client, indicator()))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(outcomes, [OK] * 200)
        self.assertEqual(self.count(daemon), 200)

    def test_a_forked_child_has_its_own_connection(self):
        daemon = self.daemon()
        client = self.open(daemon.socket)
        self.assertEqual(self.submit(client, indicator()), OK)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if all(self.submit(client, indicator("child")) == OK for _ in range(20)) else 1)
        for _ in range(20):
            self.assertEqual(self.submit(client, indicator("parent")), OK)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual((self.count(daemon, "child"), self.count(daemon, "parent")), (20, 20))

    def test_the_version_is_that_of_the_project(self):
        self.assertEqual(self.library.perfd_version().decode(), (ROOT / "VERSION").read_text().strip())
