"""Checks the configuration: errors are named, valid changes are applied, and an invalid reload changes nothing."""

import json
import os
import re
import resource
import signal
import subprocess
import unittest

import harness
from harness import preloaded, wait_for
from test_job_groups import NOBODY, Group


# Opening a drop-in takes for ever once the file $HANG exists, as on a file system whose server is gone.
HANG = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hang_if_told(const char *path) {
        char reached[512];

        if ((!strstr(path, "/perfd.conf.d/") && !strstr(path, "/models.d")) || access(getenv("HANG"), F_OK) < 0)
                return;
        snprintf(reached, sizeof(reached), "%s.reached", getenv("HANG"));
        creat(reached, 0600);
        for (;;)
                pause();
}

#define WRAP(name)                                                              \
        int name(const char *path, int flags, ...) {                            \
                int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, #name);  \
                va_list list;                                                   \
                int mode;                                                       \
                va_start(list, flags);                                          \
                mode = va_arg(list, int);                                       \
                va_end(list);                                                   \
                hang_if_told(path);                                             \
                return next(path, flags, mode);                                 \
        }
WRAP(open)
WRAP(open64)
"""


class Hanging(harness.TestCase):
    def start(self, directory, config=""):
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", directory / "hang.so", "-ldl"], input=HANG, text=True,
                       check=True)
        daemon = self.daemon(config, wait=False,
                             environment={"LD_PRELOAD": preloaded(directory / "hang.so"), "HANG": str(directory / "hang")})
        daemon.wait_ready()
        return daemon

    def test_a_reload_waits_for_the_disk_of_the_models_and_nothing_else_does(self):
        directory = self.temporary_directory()
        (directory / "models.d").mkdir()
        daemon = self.start(directory, f"[sampling]\ninterval = 100ms\n[indicators]\ndirectory = {directory}/models.d\n")
        (directory / "hang").touch()
        daemon.signal(signal.SIGHUP)
        wait_for((directory / "hang.reached").exists, "the reload")
        daemon.wait_tick()
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")
        self.assertEqual(daemon.stop(), 0)

    def test_perfd_ends_while_the_thread_that_watches_the_files_waits_for_a_disk(self):
        directory = self.temporary_directory()
        daemon = self.start(directory)
        daemon.config_d.mkdir()
        (daemon.config_d / "10.conf").write_text("")
        (directory / "hang").touch()
        wait_for((directory / "hang.reached").exists, "the thread, which reads the files every 15 s", 60)
        daemon.wait_tick()
        self.assertEqual(daemon.stop(), 0)


class Start(harness.TestCase):
    def check(self, text, *words):
        """Runs --check-config with this text."""
        path = self.temporary_directory() / "perfd.conf"
        path.write_text(text)
        return subprocess.run([harness.PERFD, "--check-config", "--config", path, *words], capture_output=True, text=True,
                              timeout=harness.TIMEOUT_S)

    def test_an_error_is_reported_with_file_line_and_expected_value(self):
        for text, line, expected in (
                ("[sampling]\ninterval = 50ms\n", 2, "expected a time from 100ms to 60s"),
                ("[sampling]\ninterval = soon\n", 2, "expected a time from 100ms to 60s"),
                ("# first\n\n[http]\nthreads = 17\n", 4, "expected a whole number from 1 to 16"),
                ("[http]\nlisten = everywhere\n", 2, "expected ADDRESS:PORT"),
                ("[store]\nvolatile = perhaps\n", 2, "expected yes or no"),
                ("[store]\nmax_size = 15M\n", 2, "expected a size of at least 16M"),
                ("[socket]\nmode = 0999\n", 2, "expected an octal mode"),
                ("[socket]\npath = here\n", 2, "expected an absolute path"),
                ("[jobs]\ntimeline_points = 7\n", 2, "expected an even number"),
                ("[store]\nmax_size = 1GB\n", 2, "max_size = 1GB: 'GB' is not a unit: expected a size of at least 16M, in K, M, G or T"),
                ("[sampling]\ninterval = 1 second\n", 2, "'second' is not a unit: expected a time from 100ms to 60s, in ms, s, min"),
                ("[sampling]\nintervall = 1s\n", 2, "expected one of interval"),
                ("[sample]\ninterval = 1s\n", 2, "expected one of [sampling]"),
                ("interval = 1s\n", 1, "is outside a section"),
                ("[sampling]\ninterval\n", 2, "expected [section], key = value"),
                ("[sampling]\ninterval = 1s\ninterval = 2s\n", 3, "set twice"),
                ("[limits]\nframe_size = 64M\n", 2, "queue_size must be at least twice"),
                ("[limits]\nframe_size = 2M\n[store]\nqueue_size = 2M # too small\n", 4, "queue_size must be at least twice")):
            with self.subTest(text):
                done = self.check(text)
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertIn(f"perfd.conf:{line}: ", done.stderr)
                self.assertIn(expected, done.stderr)

    def test_a_file_with_a_nul_or_that_is_no_file_is_refused(self):
        done = self.check("[sampling]\ninterval = 500ms\0ignored\n")
        self.assertEqual((done.returncode, "perfd.conf:2: has a NUL character" in done.stderr), (6, True), done.stderr)
        directory = self.temporary_directory()
        os.mkfifo(directory / "fifo")
        (directory / "link").symlink_to("/dev/zero")
        (directory / "large").write_text("#" + "x" * 70 + "\n" * (1 << 20))
        for name, why in (("fifo", "not a regular file"), ("link", "not a regular file"), ("large", "larger than 1 MiB"),
                          (".", "Is a directory")):
            done = subprocess.run([harness.PERFD, "--check-config", "--config", directory / name], capture_output=True, text=True,
                                  timeout=harness.TIMEOUT_S)
            self.assertEqual((done.returncode, f"cannot be read: {why}" in done.stderr), (6, True), done.stderr)

    def test_a_good_file_is_good(self):
        for text in ("", "# nothing\n", "[sampling]\ninterval = 500ms\n\n[http]\nlisten = [::1]:9000\n",
                     "[store] # as documented\nvolatile: true\nmax_size = 1T\t# of 1024\n; comment\nkeep_jobs = 52w ; a year\n"):
            with self.subTest(text):
                self.assertEqual(self.check(text).returncode, 0)

    def test_the_shipped_file_contains_the_defaults(self):
        shipped = (harness.ROOT / "conf" / "perfd.conf").read_text()
        self.assertEqual(self.check(shipped).returncode, 0)
        # Each setting is valid when uncommented.
        lines = [line[1:] if line.startswith("#") and line[1:2].isalpha() else line for line in shipped.splitlines()]
        done = self.check("\n".join(lines) + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_missing_file_is_named(self):
        done = subprocess.run([harness.PERFD, "--check-config", "--config", "/nonexistent/perfd.conf"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 6)
        self.assertIn("/nonexistent/perfd.conf: cannot be read: No such file or directory", done.stderr)

    def test_an_invalid_file_prevents_the_start(self):
        daemon = self.daemon("[sampling]\ninterval = 61\n", wait=False)
        self.assertEqual(daemon.wait_exit(), 6)
        self.assertIn("perfd.conf:2: ", daemon.log())

    def test_a_faulty_drop_in_is_named(self):
        path = self.temporary_directory() / "perfd.conf"
        path.write_text("")
        drop_in = path.parent / "perfd.conf.d" / "50-site.conf"
        drop_in.parent.mkdir()
        drop_in.write_text("[metrics]\njobs = -1\n")
        done = subprocess.run([harness.PERFD, "--check-config", "--config", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 6)
        self.assertIn("50-site.conf:2: ", done.stderr)

    def test_limits_that_contradict_each_other_are_blamed_on_the_file_that_sets_the_last(self):
        path = self.temporary_directory() / "perfd.conf"
        path.write_text("[limits]\nframe_size = 2M\n")
        drop_in = path.parent / "perfd.conf.d" / "50-site.conf"
        drop_in.parent.mkdir()
        drop_in.write_text("# less memory\n[store]\nqueue_size = 2M\n")
        done = subprocess.run([harness.PERFD, "--check-config", "--config", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 6)
        self.assertIn(f"{drop_in}:3: [store] queue_size must be at least twice [limits] frame_size", done.stderr)

    def test_wrong_arguments_are_explained(self):
        for words in (["--intervall"], ["now"], ["--config"]):
            with self.subTest(words):
                done = subprocess.run([harness.PERFD, *words], capture_output=True, text=True, timeout=harness.TIMEOUT_S)
                self.assertEqual(done.returncode, 2)
                self.assertIn("perfd --help", done.stderr)

    def test_help_and_version_are_no_errors(self):
        version = (harness.ROOT / "VERSION").read_text().strip()
        for word, expected in (("--help", "Usage: perfd"), ("--version", f"perfd {version}")):
            done = subprocess.run([harness.PERFD, word], capture_output=True, text=True, timeout=harness.TIMEOUT_S)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(expected, done.stdout)


class Reload(harness.TestCase):
    def test_a_reload_applies_reloadable_settings(self):
        daemon = self.daemon("[sampling]\ninterval = 1s\n", notify=True)
        self.assertEqual(daemon.metrics()["perfd_sample_interval_seconds"], 1)
        daemon.configure("[sampling]\ninterval = 200ms\n")
        lines = daemon.reload()
        self.assertTrue(any(line.startswith("MONOTONIC_USEC=") for line in lines), lines)
        harness.wait_for(lambda: daemon.metrics()["perfd_sample_interval_seconds"] == 0.2, "the new interval")
        self.assertEqual(daemon.metrics()["perfd_config_last_reload_successful"], 1)

    def test_a_shorter_interval_begins_at_once(self):
        daemon = self.daemon("[sampling]\ninterval = 60s\n[jobs]\ncheckpoint_interval = 10min\n", notify=True)
        daemon.configure("[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 1s\n")
        daemon.reload()
        daemon.wait_tick()
        harness.wait_for(lambda: daemon.get("/api/v1/node/samples").json["timeline"]["series"]["memory"]["mean"], "a point of history")

    def test_a_drop_in_wins_over_the_file(self):
        daemon = self.daemon("[sampling]\ninterval = 1s\n", notify=True)
        daemon.config_d.mkdir()
        (daemon.config_d / "a.conf").write_text("[sampling]\ninterval = 300ms\n")
        (daemon.config_d / "b.conf").write_text("[sampling]\ninterval = 400ms\n")
        (daemon.config_d / "c.conf~").write_text("[sampling]\ninterval = 500ms\n")
        daemon.reload()
        harness.wait_for(lambda: daemon.metrics()["perfd_sample_interval_seconds"] == 0.4, "the drop-in's interval")

    def test_an_invalid_reload_changes_nothing(self):
        daemon = self.daemon("[sampling]\ninterval = 200ms\n", notify=True)
        pid = daemon.process.pid
        daemon.configure("[sampling]\ninterval = 500ms\n[limits]\nframe_size = huge\n")
        daemon.reload()
        self.assertIn("perfd.conf:4: [limits] frame_size = huge: expected a size from 4K to 64M", daemon.log())
        metrics = daemon.wait_tick()
        self.assertEqual((metrics["perfd_sample_interval_seconds"], metrics["perfd_config_last_reload_successful"]), (0.2, 0))
        self.assertEqual(daemon.process.pid, pid)

        daemon.configure("[sampling]\ninterval = 500ms\n")
        daemon.reload()
        harness.wait_for(lambda: daemon.metrics()["perfd_config_last_reload_successful"] == 1, "the mended configuration")

    def test_settings_that_need_a_restart_are_named(self):
        daemon = self.daemon(notify=True)
        daemon.configure("[http]\nthreads = 3\n[store]\nvolatile = yes\n")
        daemon.reload()
        self.assertIn("http.threads", daemon.log())
        self.assertIn("store.volatile", daemon.log())

    def test_perfctl_reload_answers_with_the_outcome(self):
        daemon = self.daemon("[sampling]\ninterval = 200ms\n")
        daemon.config_d.mkdir()
        drop_in = daemon.config_d / "50-site.conf"
        drop_in.write_text("[metrics]\njobs = 7\n\n[limits]\nframe_size = huge\n")
        done = daemon.perfctl("reload")
        expected = f"{drop_in}:5: [limits] frame_size = huge: expected a size from 4K to 64M"
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"the configuration was not changed: {expected}", done.stderr)

        self.assertIn(f"ok\nconfiguration: not in force: {expected}", daemon.get("/-/healthy").text)
        self.assertEqual(daemon.get("/api/v1/node").json["configuration"]["error"], expected)
        metrics = daemon.metrics()
        self.assertEqual((metrics["perfd_config_last_reload_successful"], metrics["perfd_config_in_force"]), (0, 0))
        status = daemon.perfctl("status")
        self.assertEqual(status.returncode, 1)
        self.assertIn("not healthy", status.stdout)
        self.assertRegex(status.stdout, rf"(?m)^  config +configuration error, .*: {re.escape(expected)}$")
        check = self.doctor(daemon)["configuration"]
        self.assertEqual((check["state"], check["detail"]), ("failed", expected))

        drop_in.write_text("[sampling]\ninterval = 300ms\n")
        done = daemon.perfctl("reload")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "configuration reloaded\n", ""))
        self.assertEqual(daemon.wait_tick()["perfd_sample_interval_seconds"], 0.3)
        self.assertEqual(daemon.get("/-/healthy").text, "ok\n")
        self.assertEqual((daemon.metrics()["perfd_config_in_force"], daemon.perfctl("status").returncode), (1, 0))
        self.assertEqual(self.doctor(daemon)["configuration"]["state"], "ok")

    def doctor(self, daemon):
        return {check["check"]: check for check in json.loads(daemon.perfctl("doctor", "--json").stdout)}

    def test_what_waits_for_a_restart_is_what_was_changed(self):
        daemon = self.daemon()
        daemon.configure("[http]\nthreads = 3\n")
        for _ in range(2):  # a second reload does not forget
            done = daemon.perfctl("reload")
            self.assertEqual((done.returncode, done.stdout), (0, "configuration reloaded\n"))
            self.assertIn("these settings take effect after a restart: http.threads\n", done.stderr)
        self.assertEqual(daemon.get("/-/healthy").text, "ok\nconfiguration: wait for a restart: http.threads\n")
        self.assertEqual((daemon.metrics()["perfd_config_in_force"], daemon.metrics()["perfd_config_last_reload_successful"]), (0, 1))
        status = daemon.perfctl("status")
        self.assertEqual(status.returncode, 0)
        self.assertRegex(status.stdout, r"(?m)^  restart +http\.threads$")
        self.assertEqual(self.doctor(daemon)["configuration"]["state"], "limited")
        daemon.configure("")
        self.assertEqual(daemon.perfctl("reload").stderr, "")
        self.assertEqual(daemon.metrics()["perfd_config_in_force"], 1)

    def test_settings_of_passed_sockets_are_said_to_have_no_effect(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n", inherit=True, notify=True)
        self.assertEqual(daemon.metrics()["perfd_config_in_force"], 1)
        daemon.configure("[http]\nsocket = /run/elsewhere.sock\n[socket]\nmode = 0600\n")
        daemon.reload()
        self.assertEqual(daemon.get("/api/v1/node").json["configuration"]["ignored"], "socket.mode, http.socket")
        self.assertEqual(daemon.metrics()["perfd_config_in_force"], 0)
        self.assertEqual(daemon.get("/-/healthy").text,
                         "ok\nconfiguration: without effect, since perfd.socket opens the sockets: socket.mode, http.socket\n")
        status = daemon.perfctl("status")
        self.assertEqual(status.returncode, 0) # as for settings that wait for a restart
        self.assertIn("no effect, since perfd.socket opens the sockets: socket.mode, http.socket", " ".join(status.stdout.split()))
        self.assertIn("systemctl edit perfd.socket: set ListenStream= and SocketMode=", " ".join(daemon.perfctl("doctor").stdout.split()))
        self.assertIn("These settings have no effect, because systemd opens the sockets: socket.mode, http.socket.", daemon.log())
        self.assertIn("(systemctl edit perfd.socket)", daemon.log())
        daemon.restart()
        self.assertEqual(daemon.log().count("These settings have no effect"), 2)
        daemon.configure("")
        daemon.reload()
        self.assertEqual(daemon.metrics()["perfd_config_in_force"], 1)

    def test_files_that_were_edited_and_not_reloaded_are_not_in_force(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        self.assertEqual(daemon.metrics()["perfd_config_in_force"], 1)
        daemon.config_d.mkdir()
        drop_in = daemon.config_d / "50-site.conf"
        drop_in.write_text("[metrics]\njobs = 7\n")
        harness.wait_for(lambda: daemon.metrics()["perfd_config_in_force"] == 0, "the edited file to be noticed", timeout_s=60)
        expected = f"{drop_in} was edited and not reloaded"
        self.assertEqual(daemon.get("/-/healthy").text, f"ok\nconfiguration: not in force: {expected}\n")
        self.assertEqual(daemon.get("/api/v1/node").json["configuration"]["edited"], str(drop_in))
        status = daemon.perfctl("status")
        self.assertEqual(status.returncode, 0)
        self.assertRegex(status.stdout, rf"(?m)^  config +{re.escape(expected)}, previous settings still active$")
        check = self.doctor(daemon)["configuration"]
        self.assertEqual((check["state"], check["detail"]), ("limited", expected))

        self.assertEqual(daemon.perfctl("reload").returncode, 0)
        self.assertEqual(daemon.get("/-/healthy").text, "ok\n")
        self.assertEqual(self.doctor(daemon)["configuration"]["state"], "ok")

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_another_user_may_not_reload(self):
        daemon = self.daemon("[metrics]\njobs = 7\n")
        daemon.directory.chmod(0o755)
        daemon.configure("[metrics]\njobs = 8\n")
        done = subprocess.run([self.for_others(), "reload"], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True,
                              cwd="/", env={**os.environ, "PERFD_SOCKET": str(daemon.socket)}, timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("permission denied: reload needs root", done.stderr)
        self.assertNotIn("reloaded", daemon.log())

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_the_user_of_perfd_may_reload(self):
        directory = self.temporary_directory()
        os.chown(directory, NOBODY, NOBODY)
        perfd = subprocess.Popen([self.for_others(harness.PERFD), "--config", "/dev/null", "--http", "off",
                                  "--socket", directory / "s", "--state", directory / "state"],
                                 user=NOBODY, group=NOBODY, extra_groups=[], stderr=subprocess.DEVNULL)
        self.addCleanup(perfd.wait)
        self.addCleanup(perfd.terminate)
        done = subprocess.run([self.for_others(), "--socket", directory / "s", "reload"], user=NOBODY, group=NOBODY, extra_groups=[],
                              capture_output=True, text=True, cwd="/", timeout=harness.TIMEOUT_S)
        self.assertEqual((done.returncode, done.stdout), (0, "configuration reloaded\n"), done.stderr)

    def test_without_perfd_a_reload_fails(self):
        done = subprocess.run([harness.PERFCTL, "--socket", "/nonexistent/perfd.sock", "reload", "--timeout", "0.1"],
                              capture_output=True, text=True, timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_new_limits_hold_for_connections_that_are_open(self):
        # One user who is no administrator gets half of a limit.
        daemon = self.daemon("[limits]\njobs = 10\n", notify=True)
        with daemon.client() as client:
            for i in range(4):
                self.assert_status(client.begin(f"job-{i}", pid=os.getpid()), "OK")
            daemon.configure("[limits]\njobs = 2\n")
            daemon.reload()
            self.assert_status(client.begin("more", pid=os.getpid()), "QUOTA")
            for i in range(4):
                self.assert_status(client.end(f"job-{i}", 0), "OK")
            self.assert_status(client.begin("more", pid=os.getpid()), "OK")

    def test_sampling_and_jobs_go_on_through_reloads(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n", notify=True)
        with daemon.client() as client:
            self.assert_status(client.begin("steady"), "OK")
            for _ in range(20):
                daemon.reload()
            metrics = self.assert_none_missed(daemon)
            self.assertEqual(metrics["perfd_jobs_running"], 1)
            self.assert_status(client.end("steady", 0), "OK")

    def test_a_reload_without_descriptors_is_reported_and_keeps_the_old_patterns(self):
        top = Group()
        self.addCleanup(top.remove)
        patterns = f"[patterns]\nother = /{top.path.name}/%s_{{job}}\nslurm =\nslurm_v1 =\nslurm_sluid =\nkubernetes =\n"
        daemon = self.daemon("[sampling]\ninterval = 100ms\n[jobs]\nlinger = 0\n" + patterns % "old", notify=True)
        limits = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        # Counts permanent descriptors: the detection reuses numbers of files and connections that are closed.
        taken = set.intersection(*({int(name) for name in os.listdir(f"/proc/{daemon.process.pid}/fd")} for _ in range(2000)))
        free = [number for number in range(max(taken) + 3) if number not in taken]
        # Sufficient for opening files one by one, but too few for the detection.
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (free[1], limits[1]))
        daemon.configure("[sampling]\ninterval = 200ms\n[jobs]\nlinger = 0\n" + patterns % "new")
        daemon.reload()
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, limits)
        log = daemon.wait_log("Configuration not reloaded, keeping the previous one: cannot apply the job patterns: Too many open files "
                              "(see fs.inotify.max_user_instances and LimitNOFILE=)")
        self.assertNotIn("out of memory", log)
        metrics = daemon.wait_tick()
        self.assertEqual((metrics["perfd_config_last_reload_successful"], metrics["perfd_sample_interval_seconds"]), (0, 0.1))
        for prefix in ("old", "new"):
            group = Group(name=f"{prefix}_{prefix}", parent=top)
            self.addCleanup(group.remove)
            group.start()
        wait_for(lambda: daemon.get("/api/v1/jobs/old").status == 200, "a job by the old pattern")
        self.assertEqual(daemon.get("/api/v1/jobs/new").status, 404)

        daemon.reload()
        metrics = daemon.wait_tick()
        self.assertEqual((metrics["perfd_config_last_reload_successful"], metrics["perfd_sample_interval_seconds"]), (1, 0.2))
        wait_for(lambda: daemon.get("/api/v1/jobs/new").status == 200, "a job by the new pattern")

    def test_the_watchdog_is_fed_and_the_end_announced(self):
        daemon = self.daemon(notify=True, watchdog_s=1)
        daemon.wait_notified("WATCHDOG=1")
        daemon.wait_notified("WATCHDOG=1")
        self.assertEqual(daemon.stop(), 0)
        self.assertIn(["STOPPING=1"], daemon.notifications())


if __name__ == "__main__":
    unittest.main()
