"""Checks the shipped units under a real systemd, installed with `make install` (boot-systemd.sh)."""

import json
import os
import pathlib
import re
import subprocess
import threading
import unittest

import harness
from booted import Booted
from harness import TIMEOUT_S, wait_for

N_RESTARTS = 20

# Sends datagrams to journald until it takes no more.
FILL_JOURNAL = """
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setblocking(False)
try:
    while True:
        s.sendto(b"PRIORITY=7\\nMESSAGE=filler\\n", "/run/systemd/journal/socket")
except BlockingIOError:
    pass
"""

TAKE_PORT = "import socket; s = socket.create_server(('127.0.0.1', 9847)); print('listening', flush=True); input()"


class Units(Booted):
    def setUp(self):
        self.run_inside("systemctl", "start", "perfd.service")
        self.pid = self.show("MainPID")

    def submit(self, name="demo"):
        return self.inside("perfctl", "submit", "--spool", "/run/spool", input=json.dumps(harness.indicator(name)))

    def ask(self, path):
        """Connects to the Unix socket through the file system of PID 1 of the boot."""
        return harness.http_get(f"/proc/{self.enter[2]}/root/run/perfd/http.sock", path)

    def metrics(self):
        return harness.parse_metrics(self.ask("/metrics").text)

    def test_the_unit_becomes_ready_and_reports_its_status(self):
        self.assertEqual(self.show("ActiveState"), "active")
        self.assertRegex(self.show("StatusText"), r"^\d+ jobs running, \d+ indicators stored since start$")

    def test_installed_files_are_readable_and_models_are_read(self):
        self.run_inside("setpriv", "--reuid=65534", "--clear-groups", "cat", "/usr/lib/systemd/system/perfd.service",
                        "/etc/perfd/perfd.conf", "/etc/perfd/indicators.d/pimatmul.yaml", "/usr/share/man/man8/perfd.8")
        models = self.ask("/api/v1/models").json
        self.assertEqual([model["name"] for model in models["models"]], ["*", "PiConv1D", "PiConv2D", "PiMatmul", "PiPyBench"])
        self.assertEqual(models["complaints"], [])

    def test_an_unreadable_model_is_reported_by_doctor(self):
        path = "/etc/perfd/indicators.d/secret.yaml"
        self.run_inside("sh", "-c", f"printf 'name: A\\nresults: {{x: float}}\\n' >{path} && chmod 600 {path} && systemctl reload perfd")
        self.addCleanup(self.run_inside, "sh", "-c", f"rm -f {path} && systemctl reload perfd")
        wait_for(lambda: self.ask("/api/v1/models").json["complaints"], "the complaint")
        checks = {check["check"]: check for check in json.loads(self.inside("perfctl", "doctor", "--json").stdout)}
        self.assertEqual(checks["models"]["state"], "limited")
        self.assertIn(f"{path}, ignoring the file: Permission denied", checks["models"]["detail"])

    def test_the_unit_runs_as_its_own_user(self):
        uid = self.run_inside("id", "-u", "perfd").strip()
        status = pathlib.Path(f"/proc/{self.enter[2]}/root/proc/{self.pid}/status").read_text()
        self.assertNotEqual(uid, "0")
        self.assertRegex(status, rf"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        self.assertRegex(status, r"CapBnd:\t0+\n")
        self.assertRegex(status, r"NoNewPrivs:\t1\n")
        paths = ["/var/lib/perfd", "/var/lib/perfd/perfd.db", "/run/perfd/http.sock"]
        self.assertEqual(self.run_inside("stat", "-c", "%U:%a", *paths).split(), ["perfd:700", "perfd:600", "root:666"])

    def test_the_unit_sees_the_file_systems_of_the_machine(self):
        """Checks that the mounts of the sandbox neither hide nor duplicate file systems."""
        def mount_points(socket):
            text = harness.http_get(f"/proc/{self.enter[2]}/root{socket}", "/metrics").text
            return re.findall(r'^perfd_node_filesystem_size_bytes\{.*?mountpoint="([^"]*)"', text, re.M)

        outside = subprocess.Popen([*self.enter, "perfd", "--socket", "/run/outside/perfd.sock", "--state", "/run/outside",
                                    "--http", "off"], stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: self.inside("perfctl", "--socket", "/run/outside/perfd.sock", "status").returncode == 0,
                     "perfd without a sandbox")
            expected = mount_points("/run/outside/http.sock")
        finally:
            outside.terminate()
            outside.wait(TIMEOUT_S)
        self.assertIn("/", expected)
        self.assertEqual(mount_points("/run/perfd/http.sock"), expected)

    def test_jobs_reach_the_unit_through_its_socket(self):
        self.run_inside("systemctl", "stop", "perfd.service")
        self.assertEqual(self.show("ActiveState", "perfd.socket"), "active")
        self.assertEqual(self.show("ActiveState"), "inactive")
        done = self.submit()
        self.assertEqual((done.returncode, self.show("ActiveState")), (0, "active"), done.stderr)

    def test_http_requests_start_the_unit(self):
        self.run_inside("systemctl", "stop", "perfd.service")
        # The first query may precede the first sample.
        wait_for(lambda: self.ask("/metrics").status == 200, "an answer")
        wait_for(lambda: self.show("ActiveState") == "active", "its start")

    def can_scrape(self, address):
        script = f"import urllib.request as u; u.urlopen('http://{address}:9847/metrics', timeout=2)"
        return self.inside("/usr/bin/python3", "-c", script).returncode == 0

    def test_a_port_in_use_affects_only_tcp(self):
        self.run_inside("systemctl", "stop", "perfd.service")
        other = subprocess.Popen([*self.enter, "/usr/bin/python3", "-c", TAKE_PORT], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(other.stdout.close)
        self.assertEqual(other.stdout.readline(), "listening\n")
        try:
            self.run_inside("systemctl", "start", "perfd.service")  # resets the number of restarts
            self.run_inside("perfctl", "run", "--job", "portless", "--", "true")
            self.assertEqual(self.ask("/api/v1/jobs/portless").json["state"], "finished")
            self.assertEqual((self.show("ActiveState"), self.show("NRestarts")), ("active", "0"))
            status = self.inside("perfctl", "status")
            self.assertEqual(status.returncode, 1, status.stdout)
            self.assertIn("Cannot listen on 127.0.0.1:9847: Address already in use", status.stdout)
            self.assertIn("Cannot listen on 127.0.0.1:9847: Address already in use", self.journal())
            self.assertFalse(self.can_scrape("127.0.0.1"))
        finally:
            other.communicate("end\n", timeout=TIMEOUT_S)
        wait_for(lambda: self.can_scrape("127.0.0.1"), "the port")
        self.run_inside("perfctl", "status")

    def recipes(self):
        """Runs the commands of perfd.conf(5) and README.md that open HTTP to a network."""
        page = (harness.ROOT / "man" / "perfd.conf.5").read_text()
        display = next(text for text in re.findall(r"(?ms)^\.Bd -literal.*?\n(.*?)^\.Ed", page) if "IPAddressAllow" in text)
        yield re.sub(r"(?m)^# ", "", display.replace("\\en", "\\n"))
        readme = (harness.ROOT / "README.md").read_text()
        yield next(text for text in readme.split("\n\n") if "IPAddressAllow" in text).replace("sudo ", "")

    def test_the_recipes_for_scrapes_from_another_host_work_each_time(self):
        """A packet to an address of this node has this address as its source; the unit filters packets from other
        hosts by their source."""
        files = "/etc/perfd/perfd.conf.d/http.conf", "/etc/systemd/system/perfd.service.d/http.conf"
        self.run_inside("ip", "address", "add", "10.0.0.7/32", "dev", "lo")
        self.addCleanup(self.run_inside, "ip", "address", "delete", "10.0.0.7/32", "dev", "lo")
        self.addCleanup(self.run_inside, "sh", "-euc", f"rm -f {' '.join(files)}; systemctl daemon-reload; systemctl restart perfd")
        if self.can_reach_what_is_denied():
            self.skipTest("no IP filter of systemd: this kernel has no BPF for control groups")

        for recipe in self.recipes():
            for i in range(4):
                with self.subTest(recipe, i=i):
                    self.run_inside("sh", "-euc", recipe)
                    self.assertTrue(self.can_scrape("10.0.0.7"))
                    self.assertEqual(self.inside("perfctl", "status").returncode, 0)
            self.run_inside("sh", "-euc", f"rm {files[1]}; systemctl daemon-reload; systemctl restart perfd")
            self.assertEqual(self.ask("/api/v1/node").json["http"]["address"], "10.0.0.7:9847")
            self.assertFalse(self.can_scrape("10.0.0.7"), "the setting alone opens nothing")

    def can_reach_what_is_denied(self):
        script = ("import socket as s; l = s.create_server(('10.0.0.7', 0)); s.create_connection(l.getsockname(), 2)")
        return self.inside("systemd-run", "--quiet", "--wait", "-p", "IPAddressDeny=any", "/usr/bin/python3", "-c", script).returncode == 0

    def test_a_hang_is_noticed_and_ended(self):
        self.run_inside("perfctl", "job", "begin", "hung")
        n = int(self.show("NRestarts"))
        self.run_inside("kill", "-STOP", self.pid)
        wait_for(lambda: int(self.show("NRestarts")) > n and self.show("ActiveState") == "active", "a restart by the watchdog", 60)
        self.assertNotEqual(self.show("MainPID"), self.pid)
        self.run_inside("perfctl", "job", "end", "hung")

    def test_a_reload_applies_new_settings(self):
        self.configure("[metrics]\njobs = 0\n")
        self.addCleanup(self.configure, "")
        self.run_inside("systemctl", "reload", "perfd.service")
        self.assertEqual(self.show("MainPID"), self.pid)
        self.assertEqual(self.metrics()["perfd_config_last_reload_successful"], 1)

    def test_an_invalid_reload_fails_and_changes_nothing(self):
        self.configure("[sampling]\ninterval = never\n")
        self.addCleanup(self.configure, "")
        done = self.inside("systemctl", "reload", "perfd.service")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual((self.show("MainPID"), self.show("ActiveState")), (self.pid, "active"))
        self.assertIn("the configuration files have errors and are not in force", self.show("StatusText"))
        self.assertEqual(self.metrics()["perfd_config_last_reload_successful"], 0)
        self.assertRegex(self.journal(), r"perfctl\[\d+\]: .*the configuration was not changed: /\S*/test\.conf:2: .*interval.*expected")
        self.assertIn("/etc/perfd/perfd.conf.d/test.conf:2: ", self.inside("perfctl", "status").stdout)

        self.configure("")
        self.run_inside("systemctl", "reload", "perfd.service")
        self.assertNotIn("not in force", self.show("StatusText"))

    def test_a_reload_reads_the_files_of_a_drop_in_of_the_unit(self):
        drop_in = "/etc/systemd/system/perfd.service.d/config.conf"
        self.run_inside("sh", "-euc", f"printf '[Service]\\nExecStart=\\nExecStart=/usr/sbin/perfd --config /etc/own.conf\\n' >{drop_in}; "
                        "echo >/etc/own.conf; systemctl daemon-reload; systemctl restart perfd")
        self.addCleanup(self.run_inside, "sh", "-euc", f"rm {drop_in}; systemctl daemon-reload; systemctl restart perfd")
        self.run_inside("sh", "-c", "echo nonsense >/etc/own.conf")
        self.assertNotEqual(self.inside("systemctl", "reload", "perfd.service").returncode, 0)
        self.assertIn("/etc/own.conf:1: ", self.inside("perfctl", "status").stdout)
        self.run_inside("sh", "-c", "printf '[sampling]\\ninterval = 500ms\\n' >/etc/own.conf; systemctl reload perfd")
        wait_for(lambda: self.metrics()["perfd_sample_interval_seconds"] == 0.5, "the new interval")

    def test_the_settings_of_the_unix_sockets_do_not_wait_for_a_restart_that_changes_nothing(self):
        self.configure("[socket]\nmode = 0660\n[http]\nthreads = 3\n")
        self.addCleanup(self.inside, "systemctl", "reload", "perfd.service")
        self.addCleanup(self.configure, "")
        self.run_inside("systemctl", "reload", "perfd.service")
        configuration = self.ask("/api/v1/node").json["configuration"]
        self.assertEqual((configuration["restart"], configuration["ignored"]), ("http.threads", "socket.mode"))

    def test_a_stopped_journal_delays_no_sample_and_gets_the_messages_later(self):
        self.run_inside("systemctl", "kill", "--kill-whom=main", "--signal=STOP", "systemd-journald.service")
        self.addCleanup(self.run_inside, "systemctl", "kill", "--kill-whom=main", "--signal=CONT", "systemd-journald.service")
        # journald's socket is full: a writer that waits for space would block now.
        self.run_inside("python3", "-c", FILL_JOURNAL)
        first = self.metrics()
        for _ in range(5):
            before = self.metrics()["perfd_config_last_reload_timestamp_seconds"]
            self.run_inside("kill", "-HUP", self.pid)
            wait_for(lambda: self.metrics()["perfd_config_last_reload_timestamp_seconds"] > before, "the reload")
        wait_for(lambda: self.metrics()["perfd_samples_total"] >= first["perfd_samples_total"] + 3, "three samples")
        self.assertEqual(self.metrics()["perfd_samples_missed_total"], first["perfd_samples_missed_total"])

        n = self.journal().count("Configuration reloaded.")
        self.run_inside("systemctl", "kill", "--kill-whom=main", "--signal=CONT", "systemd-journald.service")
        wait_for(lambda: self.journal().count("Configuration reloaded.") > n, "the messages in the journal")
        self.assertEqual(self.metrics()["perfd_log_messages_dropped_total"], 0)

    def test_a_faulty_configuration_is_not_tried_again_and_again(self):
        self.configure("[sampling]\ninterval = never\n")
        n = self.show("NRestarts")
        done = self.inside("systemctl", "restart", "perfd.service")
        self.configure("")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual((self.show("ActiveState"), self.show("ExecMainStatus"), self.show("NRestarts")), ("failed", "6", n))
        self.assertEqual(self.show("ActiveState", "perfd.socket"), "active", "jobs must be able to wait for the mended one")

    def test_no_submission_fails_during_a_restart(self):
        failed, n_done, is_over = [], 0, threading.Event()

        def load():
            nonlocal n_done
            while not is_over.is_set():
                done = self.submit("restarted")
                n_done += 1
                if done.returncode:
                    failed.append(done.stderr)

        thread = threading.Thread(target=load)
        thread.start()
        try:
            for _ in range(N_RESTARTS):
                n = n_done
                self.run_inside("systemctl", "restart", "perfd.service")
                wait_for(lambda: n_done > n, "a submission after the restart")
        finally:
            is_over.set()
            thread.join()
        self.assertEqual(failed, [])
        self.assertGreater(n_done, N_RESTARTS)
        self.assertEqual(self.inside("find", "/run/spool", "-type", "f").stdout, "", "no submission should have been put off")
        stored = {i["name"]: i for i in self.ask("/api/v1/indicators").json["indicators"]}
        self.assertEqual(stored["restarted"]["results"], n_done)

    def test_a_stop_is_clean_and_leaves_the_sockets(self):
        self.run_inside("systemctl", "stop", "perfd.service")
        self.assertEqual((self.show("Result"), self.show("ExecMainStatus")), ("success", "0"))
        self.run_inside("test", "-S", "/run/perfd/perfd.sock", "-a", "-S", "/run/perfd/http.sock")

    def test_the_sandbox_allows_to_read_the_state_of_the_clock_only(self):
        unit = self.inside("cat", "/usr/lib/systemd/system/perfd.service").stdout
        properties = [word for line in unit.splitlines() if line.startswith(("SystemCallFilter=", "SystemCallErrorNumber=", "CapabilityB"))
                      for word in ("-p", line)]
        program = ("import ctypes; c = ctypes.CDLL(None, use_errno=True); t = (ctypes.c_int * 256)(); "
                   "print(c.syscall({number}, t) >= 0); t[0] = 0x4000; t[22] = 10000; print(c.syscall({number}, t) >= 0)")
        number = {"x86_64": 159}.get(os.uname().machine, 171)
        done = self.inside("systemd-run", "--quiet", "--wait", "--pipe", *properties,
                           "/usr/bin/python3", "-c", program.format(number=number))
        self.assertEqual(done.stdout.split(), ["True", "False"], done.stderr)

    def test_the_sandbox_is_scored_well(self):
        self.run_inside("systemd-analyze", "security", "--offline=true", "--threshold=18", "/usr/lib/systemd/system/perfd.service")

    def configure(self, text):
        self.run_inside("sh", "-c", 'mkdir -p /etc/perfd/perfd.conf.d && cat >/etc/perfd/perfd.conf.d/test.conf', input=text)


if __name__ == "__main__":
    unittest.main()
