"""Checks the GPUs of jobs: perfd with perfd-gpu, which reads a stand-in for the library of the driver (tests/nvml/standin.c)."""

import json
import os
import signal
import subprocess
import threading
import time
import unittest

import harness
from harness import wait_for
from test_gpu import Reader

UUID = "GPU-00000000-0000-0000-0000-00000000000"
FULL_W = 693.939  # what the stand-in answers in the state matmul


class GpuJobs(harness.TestCase):
    def setUp(self):
        super().setUp()
        root = self.temporary_directory()
        harness.Machine(root)
        (root / "run/perfd-gpu").mkdir(parents=True)
        self.reader = Reader(root / "run/perfd-gpu", "gpus 4\nstate matmul\n")
        self.addCleanup(self.reader.close)
        self.reader.wait(lambda sequence, *_: sequence >= 3, "readings")
        self.node = self.daemon("[sampling]\ninterval = 200ms\n[jobs]\ncheckpoint_interval = 1s\n", root=root)
        wait_for(self.node_gpus, "GPUs")

    def node_gpus(self):
        return self.node.get("/api/v1/node").json["latest"].get("gpus")

    def program(self):
        process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def use(self, *pids, state="matmul"):
        """The processes use all GPUs from now on."""
        self.reader.order(f"gpus 4\nstate {state}\nprocesses {len(pids)}\npid {pids[0] if pids else 1}\n")

    def job(self, job):
        return self.node.get(f"/api/v1/jobs/{job}").json

    def gpus(self, job):
        return self.job(job)["gpus"]

    def wait_gpus(self, job, predicate, what):
        return wait_for(lambda: (gpus := self.gpus(job)) and predicate(gpus) and gpus, what)

    def run_job(self, *words, environment=None):
        return self.node.perfctl("run", "--job", "job", "--isolation", "subreaper", *words, environment=environment)

    def test_a_job_has_the_gpus_that_its_processes_use(self):
        process = self.program()
        with self.node.client() as client:
            self.assert_status(client.begin("job", pid=process.pid), "OK")
            self.node.wait_tick()
            self.assertEqual(self.gpus("job"), [])
            self.use(process.pid)
            gpus = self.wait_gpus("job", lambda gpus: (gpus[0]["sm_observed_seconds"] or 0) > 1, "numbers of GPUs")
            self.assertEqual([gpu["gpu"] for gpu in gpus], ["0", "1", "2", "3"])
            self.assertEqual([gpu["uuid"] for gpu in gpus], [f"{UUID}{i}" for i in range(1, 5)])
            for gpu in gpus:
                self.assertEqual((gpu["model"], gpu["given"], gpu["used"], gpu["shared"]), ("NVIDIA H200", None, True, False))
                self.assertAlmostEqual(gpu["sm_active"], 0.95861, places=3)
                self.assertAlmostEqual(gpu["utilization"], 0.99, places=3)
                self.assertEqual((gpu["sm_over20"], gpu["sm_over80"]), (1, 1))
                self.assertEqual(gpu["process_memory_peak_bytes"], 1050673152)
                self.assertEqual(gpu["sm_clock_hz"], 1500e6)
            metrics = self.node.wait_tick()
            self.assertGreater(metrics['perfd_job_gpu_sm_active_seconds_total{job="job",gpu="3"}'], 0.5)
            self.assertGreater(metrics['perfd_job_gpus_capacity_seconds{job="job",scope="job"}'], 2)
            self.assertIn("perfd_job_gpus_energy_joules_total", str(metrics))
            self.assert_status(client.end("job", exit_status=0), "OK")
        ended = self.job("job")
        self.assertEqual([gpu["used"] for gpu in ended["gpus"]], 4 * [True])
        values = {metric["key"]: metric["value"] for metric in ended["metrics"]}
        self.assertAlmostEqual(values["job_gpu_seconds"], sum(gpu["seconds"] for gpu in ended["gpus"]))
        self.assertAlmostEqual(values["gpu_2_utilization_percentage"], 99, places=1)
        self.assertAlmostEqual(values["gpu_2_memory_usage_megabytes"], 1059.913728, delta=2)
        self.assertFalse([name for name in self.node.wait_tick() if name.startswith("perfd_job_gpu_")])
        listed = json.loads(self.node.perfctl("metrics", "job", "--mlflow").stdout)
        self.assertIn("gpu_0_sm_active_percentage", [metric["key"] for metric in listed])

    def test_a_job_has_the_gpus_that_it_was_given(self):
        with self.node.client() as client:
            self.assert_status(client.begin("job", gpus=["1", f"{UUID}3", "minor:3", "GPU-0000", "9", "1"]), "OK")
            gpus = self.wait_gpus("job", bool, "GPUs")
            self.assertEqual([(gpu["gpu"], gpu["given"]) for gpu in gpus],
                             [("1", "1"), ("2", f"{UUID}3"), ("3", "minor:3"), (None, "GPU-0000"), (None, "9")])
            refused = client.begin("other", gpus=["0;1"])
            self.assertEqual((refused.status, refused.path), (harness.wire.INVALID, "job_begin.gpus"))

    def test_run_gives_the_gpus_of_its_environment_to_the_job(self):
        show = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"]
        done = self.run_job("--", *show, environment={"CUDA_VISIBLE_DEVICES": "3,0,-1,1"})
        self.assertEqual(done.stdout.split()[0], "3,0,-1,1", done.stderr)
        self.assertEqual([gpu["gpu"] for gpu in self.gpus("job")], ["3", "0"])
        done = self.node.perfctl("run", "--job", "other", "--gpus", "2", "--", *show, environment={"CUDA_VISIBLE_DEVICES": "3"})
        self.assertEqual(done.stdout.split()[:2], ["2", "PCI_BUS_ID"], done.stderr)
        self.assertEqual([gpu["gpu"] for gpu in self.gpus("other")], ["2"])
        done = self.node.perfctl("run", "--gpus", "all", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--gpus expects numbers or UUIDs with commas between, such as 0,1, not 'all'", done.stderr)

    def series(self, job):
        """Series of GPUs in the timeline of a job: what was known, in order."""
        series = self.node.get(f"/api/v1/jobs/{job}/samples").json["series"]
        return {name: [v for v in found["mean"] if v is not None] for name, found in series.items() if "gpu" in name}

    def test_the_timeline_of_a_job_has_its_gpus(self):
        """Those of the job, while it runs and later; none for a job without."""
        process = self.program()
        with self.node.client() as client:
            self.assert_status(client.begin("job", gpus=["1", "3"]), "OK")
            self.assert_status(client.begin("without", pid=process.pid), "OK")
            self.wait_gpus("job", lambda gpus: (gpus[0]["seconds"] or 0) > 1.5, "numbers")
            running = wait_for(lambda: self.series("job"), "series of a running job")
            self.assertEqual(self.series("without"), {})
            for job in ("job", "without"):
                self.assert_status(client.end(job, exit_status=0), "OK")
        ended = self.series("job")
        self.assertEqual(self.series("without"), {})
        self.assertEqual(set(ended), {"gpus_active", "gpus_utilized", "gpu_power", "gpu_memory"})
        for series in (running, ended):
            self.assertAlmostEqual(series["gpus_active"][-1], 2 * 0.9586, delta=0.01)
            self.assertAlmostEqual(series["gpus_utilized"][-1], 2 * 0.99, delta=0.01)
            self.assertAlmostEqual(series["gpu_power"][-1], 2 * FULL_W, delta=2)
            self.assertAlmostEqual(series["gpu_memory"][-1], 2 * 1059913728, delta=4e6)

    def test_the_activity_of_the_node_is_steady_between_readings(self):
        """Readings come once a second, samples five times."""
        self.reader.wait(lambda sequence, *_, last=self.reader.head()[0]: sequence >= last + 2, "readings")
        begin_ms = self.node.get("/api/v1/node").json["time_ms"]
        recent = wait_for(lambda: len((found := self.node.get(f"/api/v1/node/recent?since_ms={begin_ms:.0f}").json)["times_ms"]) >= 3
                          and found, "points")
        for value in recent["series"]["gpus_active"]:
            self.assertAlmostEqual(value, 4 * 0.9586, delta=0.01)

    def test_the_energy_of_a_job_is_that_of_its_time(self):
        """The counter is read each ten seconds, and as soon as a job begins or ends."""
        begin = time.monotonic()
        done = self.run_job("--gpus", "0", "--", "sleep", "2.3")
        took = time.monotonic() - begin
        self.assertEqual(done.returncode, 0, done.stderr)
        gpu, = self.gpus("job")
        self.assertGreater(gpu["energy_joules"] / FULL_W, 2.1)  # without the 50 ms of the first reading
        self.assertLess(gpu["energy_joules"] / FULL_W, took + 0.1)
        self.assertAlmostEqual(gpu["seconds"], gpu["energy_joules"] / FULL_W, delta=0.1)
        self.assertAlmostEqual(gpu["power_watts"], FULL_W, delta=60)
        self.assertIn("GPUs, NVIDIA H200", done.stderr + self.node.perfctl("report", "job").stdout)

    def test_a_result_has_the_energy_of_the_gpus(self):
        """By power since the last reading of the counter, which is each ten seconds."""
        document = '{"name": "Epoch", "component": "x", "@parameters": {}, "@result": {"tokens": 5}}'
        submit = ("submit", "--job", "job", "--energy")
        with self.node.client() as client:
            self.assert_status(client.begin("job", gpus=["0", "1"]), "OK")
            used = [self.wait_gpus("job", lambda gpus: (gpus[0]["seconds"] or 0) > 1.5 and gpus[0]["energy_now_joules"], "energy")[0]]
            for _ in range(2):
                seconds = self.gpus("job")[0]["seconds"]
                self.wait_gpus("job", lambda gpus: gpus[0]["seconds"] > seconds + 0.5, "a reading")
                done = self.node.perfctl(*submit, stdin=document)
                self.assertEqual((done.returncode, done.stdout), (0, "1 stored\n"), done.stderr)
                self.assertIn("energy of the GPUs alone: processors and memory: ", done.stderr)
                used.append(self.gpus("job")[0])
            self.assert_status(client.end("job", exit_status=0), "OK")
        self.assertAlmostEqual(used[0]["energy_now_joules"], used[0]["seconds"] * FULL_W, delta=0.2 * FULL_W)
        last, first = [result["document"]["@result"] for result in self.node.get("/api/v1/results?limit=2").json["results"]]
        self.assertEqual(first["energy_joules"], first["energy_total_joules"])
        self.assertAlmostEqual(last["energy_joules"], last["energy_total_joules"] - first["energy_total_joules"])
        for before, result, after in zip(used, (first, last), used[1:]):
            self.assertGreater(result["energy_total_joules"], 2 * before["energy_now_joules"] - 0.1 * FULL_W)
            self.assertLess(result["energy_total_joules"], 2 * after["energy_now_joules"] + 0.1 * FULL_W)
        self.assertIsNone(self.gpus("job")[0]["energy_now_joules"])
        self.assertIn("does not run", self.node.perfctl(*submit, stdin=document).stderr)

    def test_a_job_ends_while_the_driver_hangs(self):
        process = self.program()
        with self.node.client() as client:
            self.assert_status(client.begin("job", pid=process.pid, gpus=["0"]), "OK")
            self.wait_gpus("job", lambda gpus: gpus[0]["seconds"], "numbers")
            self.reader.process.send_signal(signal.SIGSTOP)
            begin = time.monotonic()
            self.assert_status(client.end("job", exit_status=0), "OK")
            self.assertLess(time.monotonic() - begin, 3)
        self.assertGreater(self.gpus("job")[0]["seconds"], 0)
        self.assert_none_missed(self.node, 0.2)

    def test_many_jobs_that_end_at_once_have_one_reading(self):
        def run(i):
            with self.node.client() as client:
                self.assert_status(client.begin(f"job-{i}", gpus=["0", "1", "2", "3"]), "OK")
                self.assert_status(client.end(f"job-{i}", exit_status=0), "OK")

        before = self.reader.head()[0]
        threads = [threading.Thread(target=run, args=(i,)) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLess(self.reader.head()[0] - before, 40)
        self.assertEqual({self.job(f"job-{i}")["state"] for i in range(40)}, {"finished"})

    def test_the_end_is_reported_once(self):
        """The answer waits for the reading: an end that comes meanwhile is not lost."""
        with self.node.client() as client, self.node.client() as other:
            self.assert_status(client.begin("job", gpus=["0"]), "OK")
            request = client.request()
            request.job_end.job, request.job_end.exit_status = "job", 3
            client.send(request)
            again = other.end("job", exit_status=4)
            self.assertIn(harness.wire.Status.Name(again.status), ("UNAVAILABLE", "OK", "DUPLICATE"))
            self.assert_status(client.receive(), "OK")
        self.assertEqual(self.job("job")["exit"]["status"], 3)

    def test_a_job_continues_over_a_restart_of_perfd(self):
        process = self.program()
        begin = time.monotonic()
        with self.node.client() as client:
            self.assert_status(client.begin("job", pid=process.pid, gpus=["0"]), "OK")
        self.use(process.pid)
        self.wait_gpus("job", lambda gpus: len(gpus) == 4 and (gpus[0]["seconds"] or 0) > 2.5, "numbers that a checkpoint has")
        self.node.kill()  # without a last checkpoint
        self.reader.wait(lambda sequence, *_, last=self.reader.head()[0]: sequence >= last + 2, "readings without perfd")
        self.node.start()
        after = self.wait_gpus("job", lambda gpus: len(gpus) == 4, "all GPUs again")
        self.assertEqual(after[0]["given"], "0")
        # the node's history, which has the time before the restart, with the GPUs of the job since
        power_w = wait_for(lambda: self.series("job").get("gpu_power"), "the power of the job's GPUs")[-1]
        self.assertAlmostEqual(power_w, 4 * FULL_W, delta=4)
        with self.node.client() as client:
            self.assert_status(client.end("job", exit_status=0), "OK")
        took = time.monotonic() - begin
        gpus = self.gpus("job")
        self.assertGreater(gpus[0]["seconds"], took - 0.5)
        self.assertLess(gpus[0]["seconds"], took + 0.1)
        self.assertAlmostEqual(gpus[0]["energy_joules"] / FULL_W, gpus[0]["seconds"], delta=0.2)

    def test_a_gpu_of_two_jobs_is_shared_by_process(self):
        first, second = self.program(), self.program()
        while second.pid != first.pid + 1:  # the stand-in counts
            first, second = second, self.program()
        with self.node.client() as client:
            for job, process in (("a", first), ("b", second)):
                self.assert_status(client.begin(job, pid=process.pid), "OK")
            self.use(first.pid, second.pid, state="two")
            for job, share, memory in (("a", 0.6, 1050673152), ("b", 0.4, 641728512)):
                self.wait_gpus(job, lambda gpus: gpus[0]["process_share"], "shares, which are read each ten seconds")
                gpu = self.gpus(job)[0]
                self.assertTrue(gpu["shared"])
                self.assertAlmostEqual(gpu["process_share"], share, places=2)
                self.assertEqual(gpu["process_memory_peak_bytes"], memory)
                self.assertIsNone(gpu["utilization"])
                self.assertIsNone(gpu["energy_joules"])
        self.assertIn("0 shared", self.node.perfctl("report", "a").stdout)

    def test_gpus_that_are_idle_are_in_the_report_with_the_others(self):
        self.reader.order("gpus 4\nstate idle\n")
        wait_for(lambda: not any(gpu.get("gpu_sm_active_ratio", 1) for gpu in self.node_gpus()), "idle GPUs")
        self.run_job("--", "sleep", "1.5", environment={"CUDA_VISIBLE_DEVICES": "0,1"})
        gpus = self.gpus("job")
        self.assertEqual([gpu["used"] for gpu in gpus], [False, False])
        self.assertEqual([gpu["sm_active"] for gpu in gpus], [0, 0])
        report = self.node.perfctl("report", "job").stdout
        self.assertIn("used      0 of 2", report)
        self.assertEqual(len(json.loads(self.node.perfctl("report", "job", "--json").stdout)["gpus"]), 2)


class NoGpus(harness.TestCase):
    def test_a_node_without_gpus_has_nothing_of_them(self):
        root = self.temporary_directory()
        harness.Machine(root)
        node = self.daemon(root=root)
        with node.client() as client:
            self.assert_status(client.begin("job", gpus=["0", "1"]), "OK")
            self.assertEqual(node.get("/api/v1/jobs/job").json["gpus"], [])
            self.assertFalse([name for name in node.metrics() if "gpu" in name])
            self.assert_status(client.end("job", exit_status=0), "OK")
        self.assertNotIn("GPU", node.perfctl("report", "job").stdout)
        self.assertFalse([metric for metric in node.get("/api/v1/jobs/job").json["absent"] if "gpu" in metric["key"]])


if __name__ == "__main__":
    unittest.main()
