"""Logs jobs with clients/python/perfd_mlflow.py, and with `perfctl run`, in real servers of MLflow from PyPI, and reads them back."""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import urllib.request

import harness
from harness import BUILD, ROOT, wait_for

CLIENTS = ROOT / "clients" / "python"
NEWEST, OLDEST = "3.17.2", "2.9.2"
PACKAGES = {NEWEST: ["mlflow==3.17.2", "psutil"], OLDEST: ["mlflow==2.9.2", "setuptools<81", "sqlalchemy<2.1"]}
RANKS = 3
N_JOBS = int(os.environ.get("MLFLOW_JOBS", "8"))  # of RANKS ranks each
START_S = 120  # of a server, which creates its tables

# Reads the runs of an experiment: {name: {parent, status, tags, params, artifacts, history of each metric}}.
READ = """
    import json, sys
    import mlflow
    client = mlflow.MlflowClient()
    found = {}
    runs, token = [], None
    while True:
        page = client.search_runs([each.experiment_id for each in client.search_experiments()], max_results=1000, page_token=token)
        runs, token = runs + page, page.token
        if not token:
            break
    for run in runs:
        id, tags = run.info.run_id, run.data.tags
        keys = [key for key in run.data.metrics if len(sys.argv) < 2 or key in sys.argv[1].split(",")]
        name = id if id in found or "mlflow.parentRunId" in tags else run.info.run_name
        found[name] = {"id": id, "name": run.info.run_name, "status": run.info.status, "tags": tags, "params": run.data.params,
                       "files": [] if len(sys.argv) > 1 else [file.path for file in client.list_artifacts(id, "perfd")],
                       "metrics": sorted([m.key, m.value, m.timestamp, m.step] for key in keys for m in client.get_metric_history(id, key))}
    print(json.dumps(found))
    """


class Server:
    """A server of MLflow with a database in a directory, which can be killed and started again on its port."""

    def __init__(self, python, directory):
        self.python, self.directory = python, pathlib.Path(directory)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        with open(self.directory / "server.log", "a") as log:
            self.process = subprocess.Popen(
                [self.python, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{self.directory}/server.db",
                 "--host", "127.0.0.1",
                 "--artifacts-destination", str(self.directory / "artifacts"), "--port", str(self.port), "--workers", "1"],
                cwd=self.directory, stdout=log, stderr=log, start_new_session=True)
        wait_for(self.is_up, "the server of MLflow", START_S)
        # It opens its database at the first request.
        urllib.request.urlopen(self.uri + "/api/2.0/mlflow/experiments/get?experiment_id=0", timeout=START_S).close()

    def is_up(self):
        if self.process.poll() is not None:
            raise AssertionError((self.directory / "server.log").read_text()[-2000:])
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(self.uri + "/health", timeout=5).status == 200

    def kill(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Relay(http.server.ThreadingHTTPServer):
    """A server before that of MLflow, which lets requests pass, or troubles them. Notes how long each client has waited for it."""

    def __init__(self, uri):
        super().__init__(("127.0.0.1", 0), RelayHandler)
        self.behind, self.uri, self.trouble = uri, f"http://127.0.0.1:{self.server_address[1]}", "none"
        self.begin, self.n_passed, self.gone_s = None, 0, None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def set_trouble(self, trouble):
        self.trouble, self.begin, self.n_passed, self.gone_s = trouble, None, 0, None


class RelayHandler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        with contextlib.suppress(OSError):  # the client is gone
            self.answer_or_not()

    def answer_or_not(self):
        relay, body = self.server, self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/health" or relay.trouble == "none":
            return self.relay_request(body)
        if relay.trouble == "slow" or (relay.trouble == "hangs later" and relay.n_passed < 4):
            time.sleep(0.4 if relay.trouble == "slow" else 0)
            relay.n_passed += 1
            return self.relay_request(body)
        begin = relay.begin = relay.begin or time.monotonic()
        self.close_connection = True
        with contextlib.suppress(OSError):
            if relay.trouble == "redirects":
                time.sleep(0.2)
                self.wfile.write(f"HTTP/1.1 307 Elsewhere\r\nLocation: {relay.uri}{self.path}\r\nContent-Length: 0\r\n\r\n".encode())
            elif relay.trouble == "dribbles":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n")
                for _ in range(999):
                    self.wfile.write(b" ")
                    time.sleep(0.1)
            else:
                self.connection.recv(1)  # until the client is gone
        relay.gone_s = time.monotonic() - begin

    def relay_request(self, body):
        to = http.client.HTTPConnection(self.server.behind, timeout=60)
        to.request(self.command, self.path, body, {name: self.headers[name] for name in ("Content-Type",) if name in self.headers})
        got = to.getresponse()
        content = got.read()
        to.close()
        self.send_response(got.status)
        self.send_header("Content-Type", got.headers.get("Content-Type", "text/plain"))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = answer

    def log_message(self, *_):
        pass


class Mlflow(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pythons = {version: harness.python_environment(f"mlflow-{version}", *packages) for version, packages in PACKAGES.items()}
        directory = tempfile.TemporaryDirectory(prefix="perfd-mlflow-")
        cls.addClassCleanup(directory.cleanup)
        cls.mlflow = Server(cls.pythons[NEWEST], directory.name)
        cls.addClassCleanup(cls.mlflow.kill)
        cls.mlflow.start()

    def setUp(self):
        super().setUp()
        self.server = self.daemon("[sampling]\ninterval = 100ms\n")
        self.directory = pathlib.Path(self.temporary_directory())

    def environment(self, uri=None, **more):
        own = {"PATH": f"{BUILD}:{os.environ['PATH']}", "PERFD_SOCKET": str(self.server.socket), "PYTHONPATH": str(CLIENTS),
               "PERFD_SPOOL": str(self.directory / "spool"), "PYTHONDONTWRITEBYTECODE": "1", "MLFLOW_TRACKING_URI": uri or self.mlflow.uri,
               "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "GIT_PYTHON_REFRESH": "quiet"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "PERFD_"))}
        return {name: value for name, value in {**kept, **own, **more}.items() if value}

    def python(self, program, *words, version=NEWEST, **more):
        done = subprocess.run([self.pythons[version], "-c", textwrap.dedent(program), *words], env=self.environment(**more), text=True,
                              cwd=self.directory, capture_output=True, timeout=300 + 20 * N_JOBS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def push(self, *words, version=NEWEST, **more):
        return subprocess.run([self.pythons[version], "-m", "perfd_mlflow", "push", *words], env=self.environment(**more), text=True,
                              cwd=self.directory, capture_output=True, timeout=300 + 10 * len(words))

    def perfctl(self, *words, **more):
        return subprocess.run([harness.PERFCTL, *words], env=self.environment(**more), cwd=self.directory, text=True, capture_output=True,
                              timeout=300)

    def read(self, keys=None, **more):
        return json.loads(self.python(READ, *([",".join(keys)] if keys else []), **more))

    def make_jobs(self, prefix, n):
        """Runs n jobs of RANKS ranks. Returns the ids, and the metrics of each job as perfctl lists them."""
        ids = []
        with self.server.client() as client:
            for rank in range(RANKS):
                for job in range(n):
                    ids.append(f"{prefix}{job}.{rank}")
                    self.assert_status(client.begin(ids[-1], rank=rank, ranks=RANKS), "OK")
            self.server.wait_tick()
            for job in ids:
                self.assert_status(client.end(job, exit_status=0), "OK")
        listed = {}
        for job in range(n):
            done = self.server.perfctl("metrics", "--mlflow", "--all-ranks", *(f"{prefix}{job}.{rank}" for rank in range(RANKS)))
            self.assertEqual(done.returncode, 0, done.stderr)
            listed[f"{prefix}{job}"] = sorted([m["key"], m["value"], m["timestamp"], m["step"]] for m in json.loads(done.stdout))
        return ids, listed

    def check_runs(self, listed, **more):
        keys = sorted({metric[0] for metrics in listed.values() for metric in metrics})
        found = self.read(keys, **more)
        for name, metrics in listed.items():
            self.assertEqual(found[name]["metrics"], metrics, name)
            ranks = [run for run in found.values() if run["tags"].get("mlflow.parentRunId") == found[name]["id"]]
            self.assertEqual(sorted(run["tags"]["perfd.rank"] for run in ranks), [str(rank) for rank in range(RANKS)])
            self.assertEqual(sorted(metric for run in ranks for metric in run["metrics"]), metrics)
            self.assertEqual({run["status"] for run in [*ranks, found[name]]}, {"FINISHED"})
        return found

    def test_jobs_of_several_ranks_are_read_back_equal(self):
        ids, listed = self.make_jobs("many", N_JOBS)
        for _ in range(2):
            done = self.push(*ids)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.check_runs(listed)

    def test_a_job_that_is_named_twice_is_one(self):
        ids, _ = self.make_jobs("twice", 1)
        done = self.push(ids[0], ids[0])
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.read(["duration_seconds"])
        self.assertEqual([step for _, _, _, step in found["twice0"]["metrics"]], [0])

    def test_a_killed_server_misses_nothing_and_has_nothing_twice(self):
        ids, listed = self.make_jobs("killed", 4)
        pushing = subprocess.Popen([self.pythons[NEWEST], "-m", "perfd_mlflow", "push", *ids], env=self.environment(), cwd=self.directory,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: pushing.poll() is not None or "made run" in pushing.stderr.readline(), "a run", START_S)
        self.mlflow.kill()
        error = pushing.communicate(timeout=300)[1]
        self.assertEqual(pushing.returncode, 1, error)
        self.assertNotIn("Traceback", error)
        self.mlflow.start()
        done = self.push(*ids)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_runs(listed)

    def flush(self, **more):
        """Sends what waits. A busy server may need more than one attempt."""
        done = self.perfctl("flush", **more)
        return done.returncode == 0 and not list((self.directory / "spool" / "mlflow").glob("*.jsonl"))

    def test_a_job_is_logged_in_the_outermost_run_that_it_opens(self):
        program = """
            import mlflow, subprocess
            mlflow.set_experiment("training")
            mlflow.MlflowClient().create_run("0", run_name="bare")
            with mlflow.start_run(run_name="outer"):
                with mlflow.start_run(run_name="inner", nested=True):
                    mlflow.log_metric("loss", 1.0)
            subprocess.run(["perfctl", "mark", "evaluate"], check=True)
            print('{"name": "Sort", "component": "sort", "@parameters": {"n": 10, "(k)": "v"}, "@result": {"elapsed": 4.5, "bad": "x"}}')
            raise SystemExit(9)
            """
        done = self.perfctl("run", "--mlflow", "--job", "outer-1", "--", str(self.pythons[NEWEST]), "-c", textwrap.dedent(program))
        self.assertEqual(done.returncode, 9, done.stderr)
        wait_for(self.flush, "the job to be logged", START_S)
        found = self.read()
        self.assertNotIn("outer-1", found)
        run = found["outer"]
        values = {key: (value, step) for key, value, _, step in run["metrics"]}
        self.assertEqual(values["Sort/elapsed"], (4.5, 0))
        self.assertIn("phase/evaluate/seconds", values)
        self.assertIn("job_cpus_used" if "job_cpus_used" in values else "cpu_avg_utilization_pct", values)
        self.assertEqual(run["params"], {"Sort/n": "10", "Sort/_k_": "v"})
        tags = run["tags"]
        self.assertEqual((tags["perfd.job"], tags["perfd.exit_status"], tags["perfd.name.Sort/_k_"]), ("outer-1", "9", "Sort/(k)"))
        self.assertEqual(tags["perfd.absent.Sort/bad"], "not a number")
        self.assertIn("perfd.kernel", tags)
        self.assertEqual(sorted(pathlib.Path(file).suffix for file in run["files"]), [".html", ".json"])

    def test_a_given_run_and_a_server_that_comes_back(self):
        run = self.python("import mlflow; print(mlflow.MlflowClient().create_run('0', run_name='given').info.run_id)").strip()
        self.python("import mlflow, sys; mlflow.MlflowClient().log_param(sys.argv[1], 'Sort/n', 11)", run)
        self.mlflow.kill()
        word = '{"name": "Sort", "component": "sort", "@parameters": {"n": 10}, "@result": {"elapsed": 4.5}}'
        done = self.perfctl("run", "--job", "given-1", "--", str(self.pythons[NEWEST]), "-c", f"print('{word}')", PERFD_MLFLOW="1",
                            MLFLOW_RUN_ID=run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cannot be reached", done.stderr)
        self.mlflow.start()
        wait_for(self.flush, "the job to be logged", START_S)
        found = self.read()["given"]
        self.assertEqual((found["params"], found["tags"]["perfd.param.Sort/n"]), ({"Sort/n": "11"}, "also 10"))
        self.assertIn(["Sort/elapsed", 4.5, 0], [[key, value, step] for key, value, _, step in found["metrics"]])

        self.python("import mlflow, sys; mlflow.MlflowClient().delete_run(sys.argv[1])", run)
        for id, reason in ((run, "is deleted"), ("0" * 32, "does not exist")):
            done = self.perfctl("run", "--job", f"not-{id}", "--", str(self.pythons[NEWEST]), "-c", "", PERFD_MLFLOW="1", MLFLOW_RUN_ID=id)
            self.assertEqual(done.returncode, 0, done.stderr)
            if reason not in done.stderr:  # the server was busy
                self.assertIn(reason, self.perfctl("flush").stderr)
            self.assertEqual(list((self.directory / "spool" / "mlflow").glob("*.jsonl")), [])

    @harness.judges_the_machine
    def test_a_server_that_stops_answering_delays_the_job_by_a_second(self):
        python = str(self.pythons[NEWEST])
        with Relay(self.mlflow.uri.split("//")[1]) as relay:
            for trouble in ("hangs", "hangs later", "dribbles", "redirects"):
                with self.subTest(trouble):
                    relay.set_trouble(trouble)
                    job = trouble.replace(" ", "-")
                    done = self.perfctl("run", "--mlflow", "--job", job, "--", python, "-c", "raise SystemExit(3)",
                                        TMPDIR=str(self.directory), MLFLOW_TRACKING_URI=relay.uri)
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertIn("did not answer within 1 s", done.stderr)
                    self.assertIn("perfctl flush", done.stderr)
                    wait_for(lambda: relay.gone_s, "the client to leave")
                    self.assertLess(relay.gone_s, 1.25)
                    self.assertEqual(list(self.directory.glob("perfd-mlflow-*")), [])
            # Each answer comes after 0.4 s: together they take more than a second.
            relay.set_trouble("slow")
            done = self.perfctl("run", "--mlflow", "--job", "slow", "--", python, "-c", "", MLFLOW_TRACKING_URI=relay.uri)
            self.assertGreater(relay.n_passed, 5)
            self.assertNotIn("did not answer", done.stderr)
            relay.set_trouble("none")
            wait_for(self.flush, "the jobs to be logged", START_S)
            relay.shutdown()
        found = self.read()
        for job in ("hangs", "hangs-later", "dribbles", "redirects", "slow"):
            listed = json.loads(self.server.perfctl("metrics", "--mlflow", job).stdout)
            values = [[key, value, step] for key, value, _, step in found[job]["metrics"] if not key.startswith("system/")]
            self.assertEqual(sorted(values), sorted([each["key"], each["value"], each["step"]] for each in listed), job)

    @harness.judges_the_machine
    def test_a_push_costs_little_besides_importing_mlflow(self):
        ids = ["cost-0", "cost-1", "cost-2"]
        with self.server.client() as client:
            for job in ids:
                self.assert_status(client.begin(job), "OK")
            self.server.wait_tick()
            for job in ids:
                self.assert_status(client.end(job, exit_status=0), "OK")
        pushed = []
        for job in ids:
            output = self.python("""
                import os, sys
                import mlflow
                begin = sum(os.times()[:4])
                import perfd_mlflow
                status = perfd_mlflow.main(["end", "spool/mlflow", sys.argv[1]])
                print(status, begin, sum(os.times()[:4]) - begin)
                """, job, PERFD_PERFCTL=str(harness.PERFCTL))
            pushed.append(list(map(float, output.split()[-3:])))
        print("status, CPU seconds of importing mlflow and of a push:", pushed, file=sys.stderr)
        self.assertLess(min(cpu_s for status, _, cpu_s in pushed if status == 0), 0.1)

    def test_a_task_of_slurm_logs_the_job_that_runs_on(self):
        script = self.directory / "task_epilog"
        script.write_text((ROOT / "conf/slurm/task_epilog").read_text().replace("/usr/bin/perfctl", str(harness.PERFCTL))
                          .replace("/usr/share/perfd/python", str(CLIENTS)))
        script.chmod(0o755)
        path = f"{pathlib.Path(self.pythons[NEWEST]).parent}:{BUILD}:{os.environ['PATH']}"
        context = json.dumps({"perfd.run": "4711"})
        with self.server.client() as client:
            self.assert_status(client.begin("4711"), "OK")
        name = self.python("import mlflow; print(mlflow.start_run().info.run_name); mlflow.end_run()",
                           MLFLOW_RUN_CONTEXT=context).split()[0]
        task = {"SLURM_JOB_ID": "4711", "PATH": path}
        for more in ({}, {"PERFD_MLFLOW": "1", "SLURM_LOCALID": "1"}, {"PERFD_MLFLOW": "1", "MLFLOW_TRACKING_URI": ""}):
            done = subprocess.run([script], env=self.environment(**task, **more), text=True, capture_output=True, timeout=120)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.read()[name]["metrics"], [])
        done = subprocess.run([script], env=self.environment(**task, PERFD_MLFLOW="1"), text=True, capture_output=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.read()[name]["tags"]["perfd.state"], "running")
        with self.server.client() as client:
            self.assert_status(client.end("4711", exit_status=3), "OK")
        done = self.perfctl("flush", PATH=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        run = self.read()[name]
        self.assertEqual((run["tags"]["perfd.state"], run["tags"]["perfd.exit_status"]), ("finished", "3"))
        listed = json.loads(self.server.perfctl("metrics", "--mlflow", "4711").stdout)
        last = {key: value for key, value, *_ in sorted(run["metrics"], key=lambda each: each[2])}
        self.assertEqual({each["key"]: last.get(each["key"]) for each in listed}, {each["key"]: each["value"] for each in listed})

    def test_answers_that_are_not_those_of_mlflow(self):
        class Odd(http.server.BaseHTTPRequestHandler):
            def answer(self):
                status = int(self.path.split("/")[1])
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/200/login")
                body = b"" if "/empty/" in self.path else b"<html>please log in</html>"
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.make_jobs("odd", 1)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd) as odd:
            threading.Thread(target=odd.serve_forever, daemon=True).start()
            output = self.python("""
                import mlflow, perfd_mlflow
                server = mlflow.get_tracking_uri()
                for status in ("200", "200/empty", "302", "401", "403", "500"):
                    mlflow.set_tracking_uri(f"{server}/{status}")
                    print(status, perfd_mlflow.main(["push", "odd0.0"]))
                """, uri=f"http://127.0.0.1:{odd.server_address[1]}", MLFLOW_HTTP_REQUEST_MAX_RETRIES="0")
            odd.shutdown()
        self.assertEqual(output, "".join(f"{status} 1\n" for status in ("200", "200/empty", "302", "401", "403", "500")))

    def test_many_metrics_and_broken_attempts(self):
        output = self.python("""
            import mlflow, perfd_mlflow
            client = mlflow.MlflowClient()
            run = client.create_run("0")
            record = perfd_mlflow.Record()
            for n in range(5000):
                record.metric("x" * 290 + str(n % 5), n, 1000 + n, n)
            for n in range(250):
                record.param(f"p{n}", "y" * 7000)
                record.tag(f"t{n}", "z")

            class Broken:
                n_left = 3

                def __getattr__(self, name):
                    def call(*words, **more):
                        if name == "log_batch":
                            self.n_left -= 1
                            if self.n_left < 0:
                                raise OSError("away")
                        return getattr(client, name)(*words, **more)
                    return call

            try:
                perfd_mlflow._send(Broken(), run, record, "job@node", {})
            except OSError:
                pass
            for _ in range(2):
                perfd_mlflow._send(client, client.get_run(run.info.run_id), record, "job@node", {})
            run = client.get_run(run.info.run_id)
            histories = [client.get_metric_history(run.info.run_id, key) for key in run.data.metrics]
            print(sorted(m.step for each in histories for m in each) == list(range(5000)), len(run.data.params),
                  sum(tag.startswith("perfd.t") for tag in run.data.tags))
            """)
        self.assertEqual(output, "True 250 250\n")

    def test_a_job_may_remove_the_directory_it_runs_in(self):
        place = self.directory / "place"
        place.mkdir()
        code = f"import os; os.rmdir({str(place)!r})"
        done = subprocess.run([harness.PERFCTL, "run", "--mlflow", "--job", "removes", "--", self.pythons[NEWEST], "-c", code], text=True,
                              env=self.environment(), cwd=place, stdin=subprocess.DEVNULL, capture_output=True, timeout=START_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_for(self.flush, "the job to be logged", START_S)
        self.assertIn("removes", self.read(["duration_seconds"]))

    def test_mlflows_default_is_a_file(self):
        done = self.perfctl("run", "--mlflow", "--job", "filed", "--", str(self.pythons[NEWEST]), "-c", "", MLFLOW_TRACKING_URI="")
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_for(lambda: self.flush(MLFLOW_TRACKING_URI=""), "the job to be logged", START_S)
        self.assertTrue((self.directory / "mlflow.db").exists())
        self.assertIn("filed", self.read(["duration_seconds"], MLFLOW_TRACKING_URI=""))

    def test_a_training_script_logs_live_numbers(self):
        example = str(ROOT / "examples" / "mlflow_training.py")
        for job, command in (("own", []), ("run", [harness.PERFCTL, "run", "--mlflow", "--job", "run", "--"])):
            with self.subTest(job):
                done = subprocess.run([*command, self.pythons[NEWEST], example, "101"], env=self.environment(), cwd=self.directory,
                                      text=True, capture_output=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr)
                wait_for(self.flush, "the job to be logged", START_S)
                found = next(run for run in self.read().values() if run["id"] == done.stdout.split()[-1])
                steps = {key: sorted(step for name, _, _, step in found["metrics"] if name == key) for key, *_ in found["metrics"]}
                self.assertEqual(steps["loss"], list(range(101)))
                # A job that has just begun has no sample yet.
                self.assertIn(steps["live/cpu_avg_utilization_pct"], ([0, 50, 100], [50, 100]), done.stderr)
                self.assertEqual(steps["duration_seconds"], [0])
                self.assertEqual(found["tags"]["perfd.exit_status"], "0")
                self.assertEqual(found["tags"]["perfd.job"], "run" if job == "run" else found["tags"]["perfd.run"])

    def test_the_oldest_mlflow_and_files(self):
        ids, listed = self.make_jobs("old", 2)
        for version, uri in ((OLDEST, f"sqlite:///{self.directory}/old.db"), (OLDEST, f"file:{self.directory}/old"),
                             (NEWEST, f"file:{self.directory}/new")):
            with self.subTest(uri):
                more = {"version": version, "MLFLOW_TRACKING_URI": uri, "MLFLOW_ALLOW_FILE_STORE": "true"}
                for _ in range(2):
                    done = self.push(*ids, **more)
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.check_runs(listed, **more)


if __name__ == "__main__":
    unittest.main()
