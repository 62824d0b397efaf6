"""Checks the scopes of perfctl run under a real systemd, and the cases without a scope."""

import itertools
import re
import subprocess
import unittest

import harness
from booted import Booted
from harness import IS_SANITIZED, TIMEOUT_S, calm_s, wait_for

UID = 1234
USER_SLICE = f"/user.slice/user-{UID}.slice"
MANAGER = f"{USER_SLICE}/user@{UID}.service"
NUMBERS = itertools.count(1)
# Messages of perfctl after a timeout of systemd or perfd, which may occur on a busy machine.
LATE = re.compile("did not answer in time|does not respond|timed out|kept in")


def as_user(uid):
    return "setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "env"


AS_USER = as_user(UID)


class ScopeTestCase(Booted):
    """Creates a user with a user manager that lingers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_inside("useradd", "-m", "-u", str(UID), "worker")
        cls.run_inside("loginctl", "enable-linger", "worker")
        wait_for(lambda: cls.show("ActiveState", f"user@{UID}.service") == "active", "the user's manager")
        # systemd stops the slice of a user when it is empty, and refuses new sessions until it has stopped.
        cls.run_inside("systemd-run", "--quiet", "--slice=user-0.slice", "--unit=stays.service", "sleep", "infinity")

    @staticmethod
    def session(owner):
        """Returns the command prefix that starts a command in a login session."""
        return ("systemd-run", "--quiet", "--scope", f"--slice=user-{owner}.slice", f"--unit=session-{next(NUMBERS)}.scope",
                "env", "-C", "/")

    @staticmethod
    def job():
        return f"job-{next(NUMBERS)}"

    @staticmethod
    def run_words(job, *command, options=()):
        return ("perfctl", "run", "-v", "--spool", "/tmp/spool", "--job", job, *options, "--", *command)

    def look(self, job):
        return self.run_words(job, "cat", "/proc/self/cgroup")

    def run_job(self, words):
        """Runs words(job) with new jobs until no timeout has occurred. Returns (job, completed command)."""
        def tried():
            job = self.job()
            done = self.inside(*words(job))
            return not LATE.search(done.stderr) and (job, done)
        return wait_for(tried, "a command for which systemd and perfd had time", TIMEOUT_S * 3)

    def start(self, *words):
        process = subprocess.Popen([*self.enter, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.close, process)
        return process

    def start_in_scope(self, script):
        """Starts a script in a scope that prints ready and ends with its input. Returns (job, perfctl)."""
        def tried():
            job = self.job()
            process = self.start(*self.session(0), *self.run_words(job, "sh", "-c", script))
            line = process.stdout.readline()
            self.assertEqual(line, "ready\n", line or process.stderr.read())
            if not LATE.search(process.stderr.readline()):
                return job, process
            process.kill()
        return wait_for(tried, "a scope", TIMEOUT_S * 3)

    @staticmethod
    def close(process):
        process.stdin.close()
        process.wait(TIMEOUT_S)
        process.stdout.close()
        process.stderr.close()

    def group(self, done):
        """Returns the cgroup path from the output of `cat /proc/self/cgroup`."""
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line[3:] for line in done.stdout.splitlines() if line.startswith("0::")][0]

    def group_of(self, pid):
        return self.group(self.inside("cat", f"/proc/{pid}/cgroup"))

    def assert_group(self, done, group):
        self.assertEqual(self.group(done), group, done.stderr)

    def wait_gone(self, unit, *manager):
        wait_for(lambda: self.inside(*manager, "systemctl", *(["--user"] if manager else []), "show", "-P", "LoadState", unit).stdout
                 == "not-found\n", f"the end of {unit}")

    def ask(self, job):
        return harness.http_get(f"/proc/{self.enter[2]}/root/run/perfd/http.sock", f"/api/v1/jobs/{job}").json


class System(ScopeTestCase):
    """Tests as root, with the system manager."""

    def test_a_session_of_root_gets_a_scope_in_its_slice(self):
        job, done = self.run_job(lambda job: (*self.session(0), *self.look(job)))
        self.assert_group(done, f"/user.slice/user-0.slice/perfd-{job}.scope")
        self.assertIn(f"isolation: scope perfd-{job}.scope", done.stderr)
        self.assertIn(f"job {job}: begun", done.stderr)
        self.wait_gone(f"perfd-{job}.scope")

    def test_perfd_knows_the_scope_and_reads_its_counters(self):
        for user in ((), AS_USER):
            burn = "import time\nwhile time.process_time() < 0.5: pass\nprint(time.process_time())"
            job, done = self.run_job(lambda job: (*self.session(UID), *user,
                                                  *self.run_words(job, "/usr/bin/python3", "-c", burn)))
            self.assertEqual(done.returncode, 0, done.stderr)
            known = self.ask(job)
            self.assertEqual((known["state"], known["isolation"]), ("finished", "scope"))
            self.assertTrue(known["cgroup"].endswith(f"/perfd-{job}.scope"), known["cgroup"])
            used = [m for m in known["metrics"] if m["key"] == "job_cpu_seconds"][0]
            self.assertEqual(used["quality"], "exact")
            # Includes the exit of Python, and perfctl.
            self.assertGreaterEqual(used["value"], float(done.stdout))
            self.assertLess(used["value"], float(done.stdout) + (0.1 if not IS_SANITIZED else 1.5))

    def test_sudo_in_a_session_stays_in_the_slice_of_the_user(self):
        job, done = self.run_job(lambda job: (*self.session(UID), *self.look(job)))
        self.assert_group(done, f"{USER_SLICE}/perfd-{job}.scope")

    def test_the_scope_counts_everything_and_limits_nothing(self):
        names = "Description,CPUAccounting,MemoryAccounting,IOAccounting,TasksAccounting,TasksMax,Delegate,CollectMode"
        job, done = self.run_job(lambda job: (*self.session(0),
                                              *self.run_words(job, "systemctl", "show", "-p", names, f"perfd-{job}.scope")))
        self.assertEqual(dict(line.split("=") for line in done.stdout.splitlines()), {
            "Description": f"Job {job}", "CPUAccounting": "yes", "MemoryAccounting": "yes", "IOAccounting": "yes", "TasksAccounting": "yes",
            "TasksMax": "infinity", "Delegate": "no", "CollectMode": "inactive-or-failed"})

    @staticmethod
    def longest(job):
        return f"{job}-_.:".ljust(128, "x")

    def test_the_longest_id_fits(self):
        job, done = self.run_job(lambda job: (*self.session(0), *self.look(self.longest(job))))
        self.assert_group(done, f"/user.slice/user-0.slice/perfd-{self.longest(job)}.scope")

    def test_a_service_is_not_left(self):
        for user in ((), AS_USER):
            job, done = self.run_job(lambda job: ("systemd-run", "--quiet", "--wait", "--pipe", f"--unit={job}.service", *user,
                                                  *self.look(job)))
            self.assert_group(done, f"/system.slice/{job}.service")
            self.assertIn(f"no scope: in the service {job}.service", done.stderr)

    def test_a_delegated_service_has_a_group_for_it(self):
        job, done = self.run_job(lambda job: ("systemd-run", "--quiet", "--wait", "--pipe", "-p", "Delegate=yes", f"--unit={job}.service",
                                              *self.look(job)))
        self.assert_group(done, f"/system.slice/{job}.service/perfd-{job}")

    def test_a_user_with_a_delegated_service_as_well(self):
        job, done = self.run_job(lambda job: ("systemd-run", "--quiet", "--wait", "--pipe", "-p", "Delegate=yes", "-p", f"User={UID}",
                                              f"--unit={job}.service", *self.look(job)))
        self.assert_group(done, f"/system.slice/{job}.service/perfd-{job}")

    def test_another_scope_is_not_left(self):
        job, done = self.run_job(lambda job: ("systemd-run", "--quiet", "--scope", f"--unit={job}.scope", *self.look(job)))
        self.assert_group(done, f"/system.slice/{job}.scope")

    def test_a_run_within_a_run_stays_in_its_scope(self):
        outer, done = self.run_job(lambda job: (*self.session(0), *self.run_words(job, *self.look(self.job()))))
        self.assert_group(done, f"/user.slice/user-0.slice/perfd-{outer}.scope")
        self.assertIn(f"no scope: in the scope perfd-{outer}.scope", done.stderr)

    def test_a_scope_of_that_name_that_is_there_is_left_alone(self):
        first, _ = self.start_in_scope("echo ready; read line")
        _, done = self.run_job(lambda _: (*self.session(0), *self.look(first)))
        self.assertNotIn("perfd-", self.group(done))
        self.assertRegex(done.stderr, r"no scope: .*already")

    def test_a_killed_perfctl_leaves_the_command_in_its_scope(self):
        job, process = self.start_in_scope("echo ready; echo $$ $PPID; exec sleep 1000")
        command, perfctl = process.stdout.readline().split()
        self.run_inside("kill", "-KILL", perfctl)
        self.assertNotEqual(process.wait(TIMEOUT_S), 0)
        self.assertTrue(self.group_of(command).endswith(f"/perfd-{job}.scope"))
        self.assertEqual(self.show("ActiveState", f"perfd-{job}.scope"), "active")
        self.run_inside("kill", command)
        self.wait_gone(f"perfd-{job}.scope")

    def test_signals_reach_the_command_in_its_scope(self):
        for name in ("TERM", "INT", "HUP"):
            process = self.start(*self.session(0), *self.run_words(
                self.job(), "sh", "-c", f"trap 'echo got-{name}; exit 5' {name}; echo $PPID; while :; do sleep 0.01; done"))
            perfctl = process.stdout.readline().strip()
            self.run_inside("kill", f"-{name}", perfctl)
            self.assertEqual((process.stdout.readline(), process.wait(TIMEOUT_S)), (f"got-{name}\n", 5))

    def test_without_perfd_a_scope_is_created_as_well(self):
        job, done = self.run_job(lambda job: (*self.session(0), "env", "PERFD_SOCKET=/run/absent.sock", *self.look(job)))
        self.assert_group(done, f"/user.slice/user-0.slice/perfd-{job}.scope")

    def test_without_the_library_the_command_runs(self):
        """Replaces the library by an empty file, in a mount namespace of the command."""
        job = self.job()
        library = self.run_inside("sh", "-c", "readlink -f /usr/lib/*/libsystemd.so.0").strip()
        script = f'mount --bind /dev/null {library} && exec "$@"'
        done = self.inside(*self.session(0), "unshare", "--mount", "sh", "-c", script, "sh",
                           *self.look(job))
        self.assertNotIn("perfd-", self.group(done))
        self.assertRegex(done.stderr, r"no scope: \S*libsystemd.so.0: ")


class User(ScopeTestCase):
    """Tests as another user, with the user manager."""

    def test_a_session_gets_a_scope_from_the_users_manager(self):
        job, done = self.run_job(lambda job: (*self.session(UID), *AS_USER, *self.look(job)))
        self.assert_group(done, f"{MANAGER}/app.slice/perfd-{job}.scope")
        self.assertIn(f"job {job}: begun", done.stderr)

    def test_systemd_is_reached_over_the_bus_without_its_private_socket(self):
        self.run_inside("mkdir", "-p", "/tmp/run")
        self.run_inside("ln", "-sfn", f"/run/user/{UID}/bus", "/tmp/run/bus")
        job, done = self.run_job(lambda job: (*self.session(UID), *AS_USER, "XDG_RUNTIME_DIR=/tmp/run", *self.look(job)))
        self.assert_group(done, f"{MANAGER}/app.slice/perfd-{job}.scope")

    def test_a_manager_that_ends_with_the_session_is_not_asked(self):
        self.run_inside("useradd", "-m", "-u", str(UID + 1), "guest")
        self.run_inside("systemctl", "start", f"user@{UID + 1}.service")
        done = self.inside(*self.session(UID + 1), *as_user(UID + 1), *self.look(self.job()))
        self.assertRegex(self.group(done), rf"^/user.slice/user-{UID + 1}.slice/session-\d+\.scope$")
        self.assertIn("enable-linger", done.stderr)

    IN_MANAGER = (*AS_USER, f"XDG_RUNTIME_DIR=/run/user/{UID}", "systemd-run", "--user", "--quiet")

    def test_a_scope_of_the_desktops_is_left_for_one_beside_it(self):
        job, done = self.run_job(lambda job: (*self.IN_MANAGER, "--scope", f"--unit=app-{job}.scope", "--slice=session.slice",
                                              *self.look(job)))
        self.assert_group(done, f"{MANAGER}/session.slice/perfd-{job}.scope")

    def test_a_service_of_the_user_has_a_group_in_it(self):
        job, done = self.run_job(lambda job: (*self.IN_MANAGER, "--wait", "--pipe", f"--unit={job}.service", *self.look(job)))
        self.assert_group(done, f"{MANAGER}/app.slice/{job}.service/perfd-{job}")

    def test_a_run_within_a_run_has_a_group_in_the_scope(self):
        outer, done = self.run_job(lambda job: (*self.session(UID), *AS_USER, *self.run_words(job, *self.look(f"{job}-inner"))))
        self.assert_group(done, f"{MANAGER}/app.slice/perfd-{outer}.scope/perfd-{outer}-inner")
        self.wait_gone(f"perfd-{outer}.scope", *AS_USER, f"XDG_RUNTIME_DIR=/run/user/{UID}")

    def test_a_session_of_another_user_is_not_left(self):
        done = self.inside(*self.session(0), *AS_USER, *self.look(self.job()))
        self.assertRegex(self.group(done), r"^/user.slice/user-0.slice/session-\d+\.scope$")
        self.assertIn("no scope: in a session of another user", done.stderr)

    def test_a_manager_that_does_not_answer_delays_nothing(self):
        manager = self.show("MainPID", f"user@{UID}.service")
        self.run_inside("kill", "-STOP", manager)
        try:
            begin = calm_s()
            done = self.inside(*self.session(UID), *AS_USER, *self.look(self.job()))
            seconds = calm_s() - begin
        finally:
            self.run_inside("kill", "-CONT", manager)
        self.assertRegex(self.group(done), rf"^{USER_SLICE}/session-\d+\.scope$")
        self.assertIn("no scope: systemd did not answer in time; no cgroup: not tried after this failure", done.stderr)
        self.assertLess(seconds, 1 if not IS_SANITIZED else 10)


if __name__ == "__main__":
    unittest.main()
