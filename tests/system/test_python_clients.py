"""Checks clients/python/perfd_pipeline.py: plain Python code reports its pipeline, whatever happens to perfd and to the process."""

import os
import pathlib
import subprocess
import sys
import textwrap
import unittest

import harness
from harness import BUILD, ROOT, wait_for

CLIENTS = ROOT / "clients" / "python"
CONFIG = "[sampling]\ninterval = 100ms\n"


class PythonClient(harness.TestCase):
    def environment(self, socket, job="train", **more):
        return {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "PERFD_SOCKET": str(socket), "PERFD_JOB": job,
                "PYTHONPATH": str(CLIENTS), "PYTHONDONTWRITEBYTECODE": "1", **more}

    def begun(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            self.assert_status(client.begin("train"), "OK")
        return daemon

    def python(self, socket, program, **more):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=self.environment(socket, **more), text=True,
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    @staticmethod
    def stages(daemon):
        return {stage["name"]: stage for stage in daemon.get("/api/v1/jobs/train/pipeline").json["stages"]}

    def test_tasks_and_waits_are_stored(self):
        daemon = self.begun()
        output = self.python(daemon.socket, """
            import perfd_pipeline

            with perfd_pipeline.Pipeline(["read", ("decode", 4)]) as pipeline:
                for n in pipeline.each("read", range(20)):
                    try:
                        with pipeline.task("decode"):
                            if n % 5 == 4:
                                raise ValueError(n)
                    except ValueError as error:
                        assert error.args == (n,)
                pipeline.add("decode", 2.5)
                print(list(pipeline.wait("abc")))
                pipeline.add_wait(1.5)
            """)
        self.assertEqual(output, "['a', 'b', 'c']\n")
        stages = self.stages(daemon)
        self.assertEqual(list(stages), ["read", "decode", "sink"])
        self.assertEqual([stages["read"]["tasks"][key] for key in ("num_tasks", "num_failures")], [20, 0])
        decode = stages["decode"]
        self.assertEqual([decode["concurrency"], decode["tasks"]["num_tasks"], decode["tasks"]["num_failures"]], [4, 21, 4])
        self.assertAlmostEqual(decode["tasks"]["success_s"], 2.5, delta=0.1)
        self.assertEqual(stages["sink"]["queue"]["num_items"], 4)
        self.assertAlmostEqual(stages["sink"]["queue"]["get_wait_s"], 1.5, delta=0.1)
        first = daemon.get("/api/v1/jobs/train/pipeline").json["first_batch"]
        self.assertLess(first["seconds"], 1)
        self.assertGreaterEqual(first["time_ms"], daemon.get("/api/v1/jobs/train").json["begin_ms"])

    def test_nothing_fails_without_perfd_and_perfctl(self):
        program = """
            import perfd_pipeline

            with perfd_pipeline.Pipeline(["read"]) as pipeline:
                for n in range(100):
                    pipeline.add("read", 0.1)
                    pipeline.flush()
            sender = perfd_pipeline.sender()
            sender.close()
            pipeline.add("read", 0.1)
            pipeline.flush()
            print(sender.n_dropped)
            """
        self.assertEqual(self.python("/nonexistent/perfd.sock", program), "2\n")
        self.assertEqual(self.python("/nonexistent/perfd.sock", program, PATH="/nonexistent"), "204\n")

    def test_statistics_wait_while_perfd_is_away(self):
        daemon = self.begun()
        directory = pathlib.Path(self.temporary_directory())
        program = """
            import pathlib, sys, time, perfd_pipeline

            def wait_for(name):
                while not pathlib.Path(name).exists():
                    time.sleep(0.01)

            pipeline = perfd_pipeline.Pipeline(["read"])
            for name in ("up", "away", "back"):
                wait_for(name)
                pipeline.add("read", 1.0)
                pipeline.flush()
                pathlib.Path(name + ".sent").touch()
            """
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=directory,
                                   env=self.environment(daemon.socket))
        self.addCleanup(process.kill)

        def say(name):
            (directory / name).touch()
            wait_for((directory / (name + ".sent")).exists, f"{name} to be sent")

        say("up")
        wait_for(lambda: self.stages(daemon).get("read"), "the first interval")
        daemon.kill()
        say("away")
        daemon.restart()
        say("back")
        self.assertEqual(process.wait(30), 0)
        self.assertEqual(self.stages(daemon)["read"]["tasks"]["num_tasks"], 3)

    def test_a_forked_child_does_not_hold_the_pipe(self):
        daemon = self.begun()
        output = self.python(daemon.socket, """
            import os, signal, warnings, perfd_pipeline

            pipeline = perfd_pipeline.Pipeline(["read"])
            pipeline.add("read", 1.0)
            pipeline.flush()
            sender = perfd_pipeline.sender()
            while not sender._process:
                pass
            warnings.simplefilter("ignore")  # since version 3.12, Python warns of fork() in a process with threads
            child = os.fork()
            if child == 0:
                signal.pause()
            sender.close(30)
            print(sender._process.returncode)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            """)
        self.assertEqual(output, "0\n")
        self.assertEqual(self.stages(daemon)["read"]["tasks"]["num_tasks"], 1)

    def test_perfctl_is_started_anew(self):
        daemon = self.begun()
        self.assertEqual(self.python(daemon.socket, """
            import os, signal, time, perfd_pipeline

            pipeline = perfd_pipeline.Pipeline(["read"])
            sender = perfd_pipeline.sender()
            sender.send({"stage": {1, 2}})
            while not sender._process:
                pass
            first = sender._process
            os.kill(first.pid, signal.SIGKILL)
            os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
            pipeline.add("read", 1.0)
            pipeline.flush()
            while sender._process in (None, first):
                pass
            sender.close(30)
            print(sender._process.returncode, sender.n_dropped)
            """), "0 1\n")
        read = self.stages(daemon)["read"]
        self.assertEqual((read["tasks"]["num_tasks"], read["producer"]), (1, "perfd_pipeline"))

    def test_a_process_without_room_for_a_thread_goes_on(self):
        self.assertEqual(self.python("/nonexistent/perfd.sock", """
            import threading, perfd_pipeline

            def refuse(self):
                raise RuntimeError("can't start new thread")

            threading.Thread.start = refuse
            pipeline = perfd_pipeline.Pipeline(["read"])
            pipeline.add("read", 1.0)
            pipeline.close()
            print(perfd_pipeline.sender().n_dropped)
            """), "3\n")  # two descriptions and an interval

    def test_a_thread_that_computes_holds_the_lock(self):
        held = [float(self.python("/nonexistent/perfd.sock", f"""
            import threading, time, perfd_pipeline

            done, n = threading.Event(), []
            perfd_pipeline.process.watchers.append(lambda: (n.append(1), len(n) == 40 and done.set()))
            perfd_pipeline.process.start()
            while not done.is_set():
                {work}
            print(perfd_pipeline.process.measured()["lock_held"])
            """)) for work in ("pass", "time.sleep(0.1)")]
        self.assertGreater(held[0], 0.3)
        self.assertLess(held[1], held[0])

    def test_the_first_tasks_are_those_that_begin_as_one_more_at_once(self):
        self.assertEqual(self.python("/nonexistent/perfd.sock", """
            import contextlib, perfd_pipeline

            def at_once(first, n, is_failing=False):
                if n > 0:
                    with first.time():
                        at_once(first, n - 1, is_failing)
                elif is_failing:
                    raise ValueError

            first = perfd_pipeline.FirstTasks(4)
            for n in (1, 1, 3, 2, 3):
                at_once(first, n)
            print(first.are_open(), first.description())
            at_once(first, 4)
            times = first.description()
            print(first.are_open(), len(times))
            at_once(first, 5)
            print(first.description() == times)

            first = perfd_pipeline.FirstTasks(4)
            with contextlib.suppress(ValueError):
                at_once(first, 4, is_failing=True)
            print(first.are_open(), first.description())
            print([perfd_pipeline.FirstTasks(n).are_open() for n in (None, 1, 3, 64, 65)])
            """).splitlines(), ["True []", "False 4", "True", "False []", "[False, False, False, True, False]"])

    def test_local_ranks_of_a_job_have_different_pipelines(self):
        daemon = self.begun()
        for rank in ("0", "1"):
            self.python(daemon.socket, """
                import perfd_pipeline

                with perfd_pipeline.Pipeline(["read"]) as pipeline:
                    pipeline.add("read", 1.0)
                """, LOCAL_RANK=rank)
        stages = daemon.get("/api/v1/jobs/train/pipeline").json["stages"]
        self.assertEqual([(stage["pipeline"], stage["tasks"]["num_tasks"]) for stage in stages], [(0, 1), (10000, 1)])

    def test_percentiles_of_many_times(self):
        daemon = self.begun()
        self.assertEqual(self.python(daemon.socket, """
            import perfd_pipeline

            times = perfd_pipeline.Times()
            for n in range(100000):
                times.add(n / 100000)
            n, failures, mean, p90, p99 = times.take()
            print(n, failures, round(mean, 3), round(p90, 2), round(p99, 2), times.take())
            """), "100000 0 0.5 0.9 0.99 (0, 0, 0.0, 0.0, 0.0)\n")


if __name__ == "__main__":
    unittest.main()
