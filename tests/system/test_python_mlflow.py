"""Checks clients/python/perfd_mlflow.py and `perfctl run --mlflow` where MLflow or its server is missing."""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import textwrap
import threading

import harness
from harness import ROOT

CLIENTS = ROOT / "clients" / "python"


@contextlib.contextmanager
def server(answer):
    """A server on a port of its own, which does answer(connection) for each connection. Yields its URI."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    answer(listener.accept()[0])

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


class PythonMlflow(harness.TestCase):
    def setUp(self):
        super().setUp()
        if subprocess.run([sys.executable, "-c", "import mlflow"], capture_output=True).returncode == 0:
            self.skipTest("the interpreter of the tests has mlflow")
        self.server = self.daemon("[sampling]\ninterval = 100ms\n")
        self.spool = pathlib.Path(self.temporary_directory())

    def perfctl(self, *words, **more):
        environment = {"PERFD_SPOOL": str(self.spool), "PYTHONDONTWRITEBYTECODE": "1",
                       **{f"MLFLOW_{name}": None for name in ("TRACKING_URI", "RUN_ID", "RUN_CONTEXT")}, **more}
        environment = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
        return subprocess.run([harness.PERFCTL, *words[:1], "--socket", self.server.socket, *words[1:]], env=environment, text=True,
                              capture_output=True, timeout=harness.TIMEOUT_S * 3)

    def run_job(self, job, code, *options, **more):
        return self.perfctl("run", "--job", job, *options, "--", sys.executable, "-c", code, **more)

    def waiting(self):
        return sorted(json.loads(path.read_text())["job"] for path in (self.spool / "mlflow").glob("*.jsonl"))

    def test_missing_mlflow_is_said_once(self):
        done = self.run_job("a", "raise SystemExit(7)", "--mlflow")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn(f"{sys.executable} -m pip install mlflow", done.stderr)
        self.assertIn("perfctl flush", done.stderr)
        done = self.run_job("b", "", "--mlflow")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("pip install", done.stderr)
        self.assertEqual(self.waiting(), ["a", "b"])
        done = self.perfctl("flush", PATH=os.path.dirname(sys.executable) + ":" + os.environ["PATH"])
        self.assertEqual((done.returncode, done.stdout), (1, "2 jobs wait for MLflow\n"))
        self.assertIn("pip install", done.stderr)
        self.assertEqual(self.waiting(), ["a", "b"])

    def test_the_reason_is_said_once_by_the_python_of_the_job(self):
        self.run_job("a", "", "--mlflow")
        linked, broken = self.spool / "linked", self.spool / "broken"
        linked.symlink_to(sys.executable)
        broken.write_text("#!/bin/sh\nexit 9\n")
        broken.chmod(0o755)
        (path,) = (self.spool / "mlflow").glob("*.jsonl")
        for python, reason in ((linked, "pip install mlflow"), (broken, f"{broken} ended with status 9")):
            path.write_text(json.dumps({**json.loads(path.read_text()), "python": str(python)}))
            done = self.perfctl("flush")
            self.assertEqual((done.returncode, done.stdout), (1, "1 job waits for MLflow\n"), done.stderr)
            self.assertEqual(done.stderr.count("perfd_mlflow: "), 1, done.stderr)
            self.assertIn(reason, done.stderr)

    def test_a_server_that_is_away_does_not_hold_up_the_job(self):
        hung = []
        kinds = {"hangs": hung.append, "closes": lambda connection: connection.close()}
        for kind, answer in kinds.items():
            with self.subTest(kind), server(answer) as uri:
                done = self.run_job(kind, "raise SystemExit(3)", "--mlflow", MLFLOW_TRACKING_URI=uri)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertRegex(done.stderr, f"{uri} cannot be reached: .*perfctl flush")
        for connection in hung:
            connection.close()
        with socket.create_server(("127.0.0.1", 0)) as free:
            uri = f"http://user:secret@127.0.0.1:{free.getsockname()[1]}"
        done = self.run_job("refuses", "", "--mlflow", MLFLOW_TRACKING_URI=uri)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cannot be reached", done.stderr)
        self.assertNotIn("secret", done.stderr)
        self.assertEqual(self.waiting(), sorted([*kinds, "refuses"]))

    def test_without_a_spool_the_job_is_logged_all_the_same(self):
        (self.spool / "file").touch()
        done = self.run_job("a", "raise SystemExit(3)", "--mlflow", PERFD_SPOOL=str(self.spool / "file" / "below"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, "job a is lost if it cannot be logged now: .*/file/below/mlflow: Not a directory; set PERFD_SPOOL")
        self.assertIn("pip install mlflow", done.stderr)  # it was tried

    def test_a_uri_that_is_none_is_not_tried_again(self):
        done = self.run_job("a", "raise SystemExit(3)", "--mlflow", MLFLOW_TRACKING_URI="http://[")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("job a is not logged: MLFLOW_TRACKING_URI is not a URI", done.stderr)
        self.assertEqual(self.waiting(), [])

    def test_the_setting_needs_a_run_or_a_server(self):
        show = "import os; print(os.environ.get('MLFLOW_RUN_CONTEXT'))"
        self.assertEqual(self.run_job("a", show, PERFD_MLFLOW="1").stdout, "None\n")
        self.assertEqual(self.run_job("b", show, MLFLOW_RUN_ID="0" * 32).stdout, "None\n")
        self.assertEqual(self.waiting(), [])
        done = self.run_job("c.2", show, "--rank", "2", PERFD_MLFLOW="1", MLFLOW_RUN_ID="0" * 32, MLFLOW_RUN_CONTEXT='{"team": "}"}')
        self.assertEqual(json.loads(done.stdout), {"team": "}", "perfd.job": "c.2", "perfd.run": "c"}, done.stderr)
        self.assertEqual(self.waiting(), ["c.2"])

    def test_a_job_without_a_record_is_not_kept(self):
        self.server.stop()
        done = self.run_job("a", "raise SystemExit(4)", "--mlflow")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(self.waiting(), ["a"] if "kept in" in done.stderr else [])

    def python(self, program):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], text=True, capture_output=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(CLIENTS), "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_names_that_mlflow_takes(self):
        names = ["a", "a/b", "max_t_(x)", "max_t_[x]", "a//b", "/a", "a/", "..", "../x", "", "a\n", "x" * 300,
                 "x" * 299 + "y", "é:%,#", "..."]
        output = self.python(f"""
            import json, perfd_mlflow
            record = perfd_mlflow.Record()
            print(json.dumps([[record.name(name) for name in {names!r}], record.tags]))
            """)
        made, tags = json.loads(output)
        self.assertEqual(made[:2], names[:2])
        self.assertEqual(len(set(made)), len(names))
        for name, text in zip(made, names):
            self.assertRegex(name, r"\A[/\w.\- ]+\Z")
            self.assertEqual(os.path.normpath(name), name)
            self.assertFalse(name.startswith(("..", "/")) or name == ".", name)
            self.assertLessEqual(len(name), 230)
            self.assertEqual(tags.get(f"perfd.name.{name}", name), text)

    def test_values_that_mlflow_does_not_take_are_absent(self):
        output = self.python("""
            import json, perfd_mlflow
            record = perfd_mlflow.Record()
            for name, value in dict(nan=float("nan"), inf=float("inf"), truth=True, text="1", good=1).items():
                record.metric(name, value, 5)
            record.param("p", "x" * 9000)
            record.param("p", "y")
            record.tag("t", "x" * 9000)
            print(json.dumps([record.metrics, len(record.params["p"]), record.params["p"][-28:], len(record.tags["perfd.t"]), record.tags]))
            """)
        metrics, n_param, end, n_tag, tags = json.loads(output)
        self.assertEqual(metrics, [["good", 1.0, 5, 0]])
        self.assertEqual((n_param, end, n_tag), (6000, " (cut from 9000 characters)".rjust(28, "x"), 5000))
        self.assertEqual(tags["perfd.param.p"], "also y")
        for name, reason in (("nan", "finite"), ("inf", "finite"), ("truth", "not a number"), ("text", "not a number")):
            self.assertIn(reason, tags[f"perfd.absent.{name}"])

    def test_gpus_have_the_names_of_mlflow(self):
        numbers = dict(utilization=0.94, memory_used=0.25, memory_mean_bytes=4e9, power_watts=312.5, power_used=0.5, sm_active=None,
                       shared=False)
        gpus = [{"gpu": "1", "model": "NVIDIA H200", "given": "1", **numbers},
                {"gpu": "2/0", "model": "NVIDIA H200", "given": None, **{**numbers, "sm_active": 0.5}},
                {"gpu": "3", "model": "NVIDIA L4", "given": "3", **dict.fromkeys(numbers), "shared": True},
                {"gpu": None, "model": None, "given": "GPU-77", **dict.fromkeys(numbers), "shared": False}]
        report = self.spool / "report.json"
        report.write_text(json.dumps({"id": "a", "state": "finished", "metrics": [], "on": {"hostname": "n1", "cpus": 4}, "begin_ms": 1000,
                                      "end_ms": 61000, "rank": None, "gpus": gpus}))
        output = self.python(f"""
            import json, perfd_mlflow
            record, job = perfd_mlflow.Record(), perfd_mlflow.Job({str(report)!r})
            job.numbers(record)
            job.details(record)
            print(json.dumps([record.metrics, record.tags]))
            """)
        metrics, tags = json.loads(output)
        found = {name: (value, time_ms, step) for name, value, time_ms, step in metrics}
        self.assertEqual(found, {f"system/n1/gpu_{gpu}_{name}": (value, 61000, 60) for gpu in ("1", "2.0") for name, value in (
            ("utilization_percentage", 94), ("memory_usage_percentage", 25), ("memory_usage_megabytes", 4000), ("power_usage_watts", 312.5),
            ("power_usage_percentage", 50), ("sm_active_percentage", 50)) if (gpu, name) != ("1", "sm_active_percentage")})
        self.assertIn("others used it", tags["perfd.absent.gpu.3"])
        self.assertIn("no GPU of this name", tags["perfd.absent.gpu.GPU-77"])
        self.assertEqual(tags["perfd.hardware"], "4 CPUs, 2 NVIDIA H200, 1 NVIDIA L4")

    def test_requests_within_the_limits(self):
        output = self.python("""
            import json, perfd_mlflow
            metrics = [{"key": "é" * 230, "value": n, "timestamp": 1, "step": n} for n in range(5000)]
            params = [{"key": str(n), "value": "é" * 6000} for n in range(250)]
            tags = [{"key": str(n), "value": "x"} for n in range(250)]
            batches = list(perfd_mlflow.batches(metrics, params, tags))
            print(json.dumps([[len(each["metrics"]), len(each["params"]), len(each["tags"]), len(json.dumps(each))] for each in batches]))
            """)
        batches = json.loads(output)
        self.assertEqual([sum(column) for column in list(zip(*batches))[:3]], [5000, 250, 250])
        for n_metrics, n_params, n_tags, n_bytes in batches:
            self.assertTrue(n_metrics <= 1000 and n_params <= 100 and n_tags <= 100 and n_bytes <= 1_000_000, batches)

    def test_wrong_arguments(self):
        environment = {**os.environ, "PERFD_SOCKET": str(self.server.socket), "PERFD_PERFCTL": str(harness.PERFCTL)}
        wrong = self.spool / "wrong.json"
        wrong.write_text("[]")
        for words, text in ((["push", str(wrong)], "not a report of one job"), (["push", "--series", "0s", "a"], "not a time"),
                            (["push"], "required"), (["push", "/nonexistent.json"], "No such file")):
            done = subprocess.run([sys.executable, CLIENTS / "perfd_mlflow.py", *words], env=environment, text=True, capture_output=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue(re.search(text, done.stderr) or "pip install" in done.stderr, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    harness.unittest.main()
