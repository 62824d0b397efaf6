"""Runs Slurm's prolog and epilog, and the wrapper that a site installs, with the environment of Slurm and the real perfd."""

import json
import os
import socket
import subprocess

from harness import IS_SANITIZED, PERFCTL, ROOT, TestCase, calm_s

JOB = {"SLURM_JOB_ID": "4711", "SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_USER": "alice", "SLURM_JOB_PARTITION": "batch",
       "SLURM_JOB_ACCOUNT": "physics", "SLURM_JOB_NUM_NODES": "2", "SLURMD_NODENAME": os.uname().nodename.split(".")[0],
       "SLURM_CLUSTER_NAME": "c", "SLURM_CONF": "/etc/slurm/slurm.conf"}
N_TIMED = 20


class ScriptsTestCase(TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.temporary_directory()
        self.keep = self.directory / "keep"
        for name in ("prolog", "epilog"):
            # Edit the paths as `make install` does.
            self.write_script(name, (ROOT / "conf" / "slurm" / name).read_text().replace("/usr/bin/perfctl", str(PERFCTL)))

    def write_script(self, name, text):
        (self.directory / name).write_text(text)
        (self.directory / name).chmod(0o755)

    def command(self, name, socket_path, **changes):
        """Returns the command that runs a script with the environment JOB and changes; None removes a variable."""
        environment = {**JOB, "PERFD_SOCKET": str(socket_path), "PERFD_SLURM_DIRECTORY": str(self.keep), **changes}
        sanitizers = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}
        return ["env", "-i", *(f"{k}={v}" for k, v in {**sanitizers, **environment}.items() if v is not None),
                str(self.directory / name)]

    def run_script(self, name, socket_path, **changes):
        done = subprocess.run(self.command(name, socket_path, **changes), capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def prolog(self, daemon, **changes):
        self.assertEqual(self.run_script("prolog", daemon.socket, **changes), "")

    def epilog(self, daemon, **changes):
        self.assertEqual(self.run_script("epilog", daemon.socket, **changes), "")

    def own_report(self, daemon, **environment):
        """Returns the id of the job that perfctl finds in the environment of a task."""
        own = {key: JOB[key] for key in ("SLURM_JOB_ID", "SLURMD_NODENAME")} | {"PERFD_SLURM_DIRECTORY": str(self.keep)} | environment
        shown = daemon.perfctl("report", "--json", environment=own)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return json.loads(shown.stdout)["id"]

    def jobs(self, daemon):
        return {job["id"]: job for job in daemon.get("/api/v1/jobs?limit=1000").json["jobs"]}

    def end_of(self, job):
        """Returns the state and the exit status."""
        return job["state"], job["exit"] and job["exit"]["status"]

    def job(self, daemon, name):
        answer = daemon.get(f"/api/v1/jobs/{name}")
        self.assertEqual(answer.status, 200, answer.text)
        return answer.json


class Jobs(ScriptsTestCase):
    def test_a_job_from_prolog_to_epilog(self):
        daemon = self.daemon()
        self.prolog(daemon, SLURM_JOB_SLUID="s5K1KKYAYG5D00")
        job = self.job(daemon, "4711")
        self.assertEqual((job["state"], job["uid"], job["nodes"]), ("running", os.getuid(), 2))
        self.assertEqual(job["labels"], {"slurm_job": "4711", "slurm_node": JOB["SLURMD_NODENAME"], "sluid": "s5K1KKYAYG5D00",
                                         "user": "alice", "account": "physics", "partition": "batch"})
        self.epilog(daemon, SLURM_JOB_EXIT_CODE="768", SLURM_JOB_EXIT_CODE2="3:0")
        job = self.job(daemon, "4711")
        self.assertEqual(self.end_of(job), ("finished", 3))
        self.assertEqual(list(self.keep.iterdir()), [])

    def test_tasks_of_arrays_and_steps_are_found_by_the_names_that_slurm_gives_them(self):
        daemon = self.daemon()
        self.prolog(daemon, SLURM_ARRAY_JOB_ID="5000", SLURM_ARRAY_TASK_ID="7", SLURM_HET_JOB_ID="4709")
        labels = self.job(daemon, "4711")["labels"]
        self.assertEqual([labels[key] for key in ("array_job_id", "array_task_id", "het_job_id", "het_job_offset")],
                         ["5000", "7", "4709", "2"])
        step = {"SLURM_JOB_ID": "5001", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_ARRAY_JOB_ID": "5000",
                "SLURM_ARRAY_TASK_ID": "8", "PERFD_SOCKET": str(daemon.socket)}
        self.assertEqual(daemon.perfctl("run", "--", "true", environment=step).returncode, 0)
        for name, id in (("5000_7", "4711"), ("4709+2", "4711"), ("5000_8", "5001.0.0"), ("5001.0", "5001.0.0"),
                         ("5001", "5001.0.0")):
            shown = daemon.perfctl("report", name, "--json")
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), name)
            self.assertIn(f'"{id}"', shown.stdout)
        listed = daemon.perfctl("job", "list", "--label", "array_job_id=5000").stdout
        self.assertIn("4711", listed)
        self.assertIn("5001.0.0", listed)
        self.assertIn("no job '5000_9'", daemon.perfctl("report", "5000_9").stderr)

    def test_what_slurm_knows_is_kept(self):
        daemon = self.daemon()
        self.prolog(daemon, SLURM_JOB_START_TIME="1792000000", SLURM_JOB_END_TIME="1792086400", SLURM_JOB_RESERVATION="night",
                    SLURM_JOB_NODELIST="cn[1-2]", SLURM_JOB_CPUS_PER_NODE="72(x2)", SLURM_JOB_GPUS="0,1", SLURM_JOB_QOS="long")
        labels = self.job(daemon, "4711")["labels"]
        self.assertEqual({key: labels.get(key) for key in ("time_limit", "reservation", "nodelist", "cpus_per_node", "gpus", "qos")},
                         {"time_limit": "86400", "reservation": "night", "nodelist": "cn[1-2]", "cpus_per_node": "72(x2)",
                          "gpus": "0,1", "qos": "long"})
        # A value that perfd does not take is left out alone.
        self.prolog(daemon, SLURM_JOB_ID="2", SLURM_JOB_RESERVATION="a\nb", SLURM_JOB_NODELIST="n" * 300, SLURM_JOB_END_TIME="x")
        labels = self.job(daemon, "2")["labels"]
        self.assertEqual((labels["partition"], labels.keys() & {"reservation", "nodelist", "time_limit"}), ("batch", set()))

    def test_a_job_belongs_to_its_user(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to act as several users")
        daemon = self.daemon()
        self.prolog(daemon, SLURM_JOB_UID="54321")
        self.assertEqual(self.job(daemon, "4711")["uid"], 54321)

    def test_with_the_minimal_environment_of_slurm(self):
        daemon = self.daemon()
        least = dict.fromkeys(JOB) | {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": str(os.getuid())}
        self.prolog(daemon, **least)
        self.assertEqual(self.job(daemon, "7")["labels"], {"slurm_job": "7"})
        self.assertEqual(self.own_report(daemon, SLURM_JOB_ID="7", SLURMD_NODENAME=""), "7")
        self.epilog(daemon, **least)
        self.assertEqual(self.end_of(self.job(daemon, "7")), ("finished", None))

    def test_twice_is_once(self):
        daemon = self.daemon()
        for _ in range(2):
            self.prolog(daemon)
        self.assertEqual(list(self.jobs(daemon)), ["4711"])
        for _ in range(2):
            self.epilog(daemon, SLURM_JOB_EXIT_CODE2="1:0")
        self.assertEqual(self.end_of(self.job(daemon, "4711")), ("finished", 1))

    def test_a_requeued_job_is_another(self):
        daemon = self.daemon()
        self.prolog(daemon, SLURM_JOB_RESTART_COUNT="0")
        self.epilog(daemon, SLURM_JOB_EXIT_CODE2="0:15")
        self.prolog(daemon, SLURM_JOB_RESTART_COUNT="1")
        self.assertEqual(self.own_report(daemon), "4711.r1")
        # A job of perfd in which the job of Slurm was submitted, and one that began in this job of Slurm.
        self.assertEqual(self.own_report(daemon, PERFD_JOB="4711", PERFD_JOB_SLURM=""), "4711.r1")
        self.assertEqual(self.own_report(daemon, PERFD_JOB="4711", PERFD_JOB_SLURM="4711"), "4711")
        self.assertEqual(self.own_report(daemon, PERFD_JOB="4711"), "4711")
        # The epilog reads the id that the prolog has saved.
        self.epilog(daemon, SLURM_JOB_EXIT_CODE2="2:0")
        self.assertEqual({id: self.end_of(job) for id, job in self.jobs(daemon).items()},
                         {"4711": ("finished", 143), "4711.r1": ("finished", 2)})

    def test_an_id_of_long_ago_is_used_again(self):
        daemon = self.daemon()
        self.prolog(daemon)
        self.epilog(daemon)
        for _ in range(2):
            self.prolog(daemon, SLURM_JOB_START_TIME="1792000000")
        self.assertEqual(self.own_report(daemon), "4711.t1792000000")
        self.assertEqual({id: job["state"] for id, job in self.jobs(daemon).items()},
                         {"4711": "finished", "4711.t1792000000": "running"})

    def test_one_of_several_slurmd_has_its_name_in_the_id(self):
        daemon, node = self.daemon(), f"perfd-test-{os.getpid()}"
        group = f"/sys/fs/cgroup/{node}_slurmstepd.scope"
        self.prolog(daemon, SLURM_JOB_ID="1", SLURMD_NODENAME=node)
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest(f"no group can be made here: {error}")
        self.addCleanup(os.rmdir, group)
        self.prolog(daemon, SLURM_JOB_ID="2", SLURMD_NODENAME=node)
        self.epilog(daemon, SLURM_JOB_ID="2", SLURMD_NODENAME=node)
        self.assertEqual({id: job["state"] for id, job in self.jobs(daemon).items()}, {"1": "running", f"2.{node}": "finished"})

    def test_a_name_that_perfd_does_not_take_is_left_out(self):
        daemon = self.daemon()
        self.prolog(daemon, SLURM_JOB_NAME="a\x1b[2Jb")
        self.prolog(daemon, SLURM_JOB_ID="2", SLURM_JOB_NAME="n" * 300)
        self.prolog(daemon, SLURM_JOB_ID="3", SLURM_JOB_NAME="--help $(touch x) 'train'")
        self.assertEqual({id: job["name"] for id, job in self.jobs(daemon).items()},
                         {"4711": "", "2": "", "3": "--help $(touch x) 'train'"})

    def test_an_environment_without_a_job_does_nothing(self):
        daemon = self.daemon()
        for wrong in (None, "", "4711/../x", "-1", "4711 ", "$(id)", "x" * 5000):
            for name in ("prolog", "epilog"):
                self.assertEqual(self.run_script(name, daemon.socket, SLURM_JOB_ID=wrong), "")
        self.assertEqual(self.jobs(daemon), {})

    def test_an_invalid_exit_code_and_that_of_a_cancelled_job_are_omitted(self):
        daemon = self.daemon()
        for i, code in enumerate(("0:0", "", "1", "1:", ":1", "1:2:3", "a:b", "0:0;id", "-1:0")):
            self.prolog(daemon, SLURM_JOB_ID=str(i))
            self.epilog(daemon, SLURM_JOB_ID=str(i), SLURM_JOB_EXIT_CODE2=code)
            job = self.job(daemon, str(i))
            self.assertEqual(self.end_of(job), ("finished", 129 if code == ":1" else None), code)

    def test_a_job_whose_memory_ran_out(self):
        daemon = self.daemon()
        self.prolog(daemon)
        self.epilog(daemon, SLURM_JOB_EXIT_CODE2="0:125")
        self.assertEqual(self.end_of(self.job(daemon, "4711")), ("finished", 137))


class TaskProlog(ScriptsTestCase):
    def test_a_task_prolog_that_is_still_configured_names_the_job(self):
        self.write_script("task_prolog", (ROOT / "conf" / "slurm" / "task_prolog").read_text())
        self.assertEqual(self.run_script("task_prolog", "/absent.sock"), "export PERFD_JOB=4711\n")
        self.keep.mkdir()
        (self.keep / f"4711.{JOB['SLURMD_NODENAME']}").write_text("4711.r1\n")
        self.assertEqual(self.run_script("task_prolog", "/absent.sock"), "export PERFD_JOB=4711.r1\n")


class Wrapper(ScriptsTestCase):
    """A site names copies of the wrapper in slurm.conf, which stay when the package is removed."""

    def setUp(self):
        super().setUp()
        self.scripts = self.directory / "scripts"
        self.write_wrappers(30) # a script takes longer on a busy machine and with a sanitizer

    def write_wrappers(self, limit_s):
        text = (ROOT / "conf" / "slurm" / "wrapper").read_text().replace("/usr/share/perfd/slurm", str(self.scripts))
        for name in ("perfd-prolog", "perfd-epilog"):
            self.write_script(name, text.replace("\nlimit=1\n", f"\nlimit={limit_s}\n"))

    def install(self):
        self.scripts.mkdir()
        for name in ("prolog", "epilog"):
            (self.directory / name).rename(self.scripts / name)

    def test_it_calls_the_script_of_its_name(self):
        daemon = self.daemon()
        self.install()
        self.run_script("perfd-prolog", daemon.socket)
        self.assertEqual(self.job(daemon, "4711")["labels"]["user"], "alice")
        self.run_script("perfd-epilog", daemon.socket, SLURM_JOB_EXIT_CODE2="3:0")
        self.assertEqual(self.end_of(self.job(daemon, "4711")), ("finished", 3))

    def test_without_the_package(self):
        self.run_script("perfd-prolog", "/absent.sock")
        self.scripts.mkdir()
        self.run_script("perfd-prolog", "/absent.sock")
        (self.scripts / "epilog").mkdir()
        (self.scripts / "prolog").write_text("not executable")
        for name in ("perfd-prolog", "perfd-epilog"):
            self.run_script(name, "/absent.sock")

    def test_a_script_that_fails_or_hangs(self):
        self.write_wrappers(1)
        self.scripts.mkdir()
        for text in ("exit 3", "kill -9 $$", "trap '' TERM; sleep 600", "exec sleep 600", "(trap '' TERM HUP; setsid sleep 3) & wait",
                     "echo text; echo text >&2; exit 1"):
            self.write_script("scripts/prolog", f"#!/bin/sh\n{text}\n")
            self.run_script("perfd-prolog", "/absent.sock")


class Removal(TestCase):
    def test_the_package_warns_while_slurm_names_its_scripts(self):
        directory = self.temporary_directory()
        text = (ROOT / "debian" / "perfd-slurm.prerm").read_text().replace("/etc/slurm ", f"{directory} ")

        def warning(action="remove"):
            done = subprocess.run(["sh", "-c", text, "prerm", action], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            return done.stderr

        conf = directory / "slurm.conf"
        conf.write_text("Prolog=/etc/slurm/perfd-prolog\n# Prolog=/usr/share/perfd/slurm/prolog\n")
        self.assertEqual(warning(), "")
        conf.write_text("Prolog=/usr/share/perfd/slurm/prolog\n")
        self.assertIn(str(conf), warning())
        self.assertEqual(warning("upgrade"), "")
        conf.unlink()
        (directory / "prolog.d").mkdir()
        (directory / "prolog.d" / "perfd").symlink_to("/usr/share/perfd/slurm/prolog")
        self.assertIn("prolog.d/perfd", warning())


class Trouble(ScriptsTestCase):
    """Slurm drains the node if a script fails, and jobs wait for the scripts."""

    def assert_harmless(self, socket_path, limit_s):
        for name in ("prolog", "epilog"):
            begin = calm_s()
            self.run_script(name, socket_path)
            self.assertLess(calm_s() - begin, limit_s)

    def test_without_perfd(self):
        self.assert_harmless(self.directory / "absent.sock", 1)

    def test_without_perfctl(self):
        daemon = self.daemon()
        for name in ("prolog", "epilog"):
            path = self.directory / name
            path.write_text(path.read_text().replace(str(PERFCTL), "/nonexistent/perfctl"))
        self.assert_harmless(daemon.socket, 1)

    def test_a_socket_without_a_listener(self):
        path = self.directory / "stale.sock"
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(str(path))
        self.assert_harmless(path, 8)

    def test_a_perfd_that_does_not_answer(self):
        path = self.directory / "silent.sock"
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(str(path))
            s.listen(8)
            self.assert_harmless(path, 8)

    def test_a_directory_that_cannot_be_written(self):
        daemon = self.daemon()
        self.keep = self.directory / "absent" / "keep"
        self.prolog(daemon)
        self.epilog(daemon)
        self.assertEqual(self.jobs(daemon)["4711"]["state"], "finished")

    def test_they_take_less_than_20_ms(self):
        daemon, limit_s = self.daemon(), 2 if IS_SANITIZED else 0.020

        def shortest(commands):
            times = []
            for command in commands:
                begin = calm_s()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                times.append(calm_s() - begin)
            return min(times)

        for name in ("prolog", "epilog"):
            seconds = shortest(self.command(name, daemon.socket, SLURM_JOB_ID=str(i), SLURM_JOB_EXIT_CODE2="1:0")
                               for i in range(N_TIMED))
            print(f"{name}: {seconds * 1000:.1f} ms")
            self.assertLess(seconds, limit_s)
        self.assertEqual({self.end_of(job) for job in self.jobs(daemon).values()}, {("finished", 1)})
