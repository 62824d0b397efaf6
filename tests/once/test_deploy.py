"""Runs the files of deploy/ with a real Prometheus, which scrapes a real perfd with a job."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import unittest
import urllib.parse

import yaml

from equipped import Equipped
from harness import PERFCTL, ROOT, TIMEOUT_S, TestCase, find_peer, http_get, indicator, wait_for

PROMETHEUS, GRAFANA = ROOT / "deploy" / "prometheus", ROOT / "deploy" / "grafana"
# The variables of the dashboard with 'All' selected, and Grafana's own.
VARIABLES = {"$node": ".*", "$job": ".*", "$__rate_interval": "10s", "$__range": "10s"}


def has_device(folder):
    """Checks for a device with hardware, which a machine need not have."""
    return any((path / "device").exists() for path in pathlib.Path(folder).iterdir())


# Expressions whose result may be empty, and the reason.
MAY_BE_EMPTY = {
    "perfd_node_disk_": lambda: not has_device("/sys/block"),
    "perfd_node_network_": lambda: not has_device("/sys/class/net"),
    "perfd_node_pressure_": lambda: not os.path.exists("/proc/pressure/cpu"),
}


def may_be_empty(expression):
    return any(metric in expression and is_missing() for metric, is_missing in MAY_BE_EMPTY.items())


def rules():
    groups = yaml.safe_load((PROMETHEUS / "perfd.rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard():
    return json.loads((GRAFANA / "perfd.json").read_text())


def dashboard_expressions():
    panels = dashboard()["panels"]
    for panel in panels + [panel for row in panels for panel in row.get("panels", ())]:  # a collapsed row has its panels
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            yield panel["title"], expression


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Files(unittest.TestCase):
    def promtool(self, *words):
        done = subprocess.run([find_peer("promtool"), *words], cwd=PROMETHEUS, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_accepts_the_files_and_the_tests_of_the_alerts_pass(self):
        self.promtool("check", "config", "prometheus.yml")
        self.promtool("test", "rules", "perfd.rules.test.yml")

    def test_each_alert_has_a_test_that_fires_one_that_does_not_and_a_description(self):
        names = [rule["alert"] for rule in rules()]
        fires = {name: [] for name in names}
        for test in yaml.safe_load((PROMETHEUS / "perfd.rules.test.yml").read_text())["tests"]:
            for alert in test["alert_rule_test"]:
                fires[alert["alertname"]].append(bool(alert["exp_alerts"]))
        self.assertEqual(fires, {name: [True, False] for name in names})
        # The table of README.md has the name, the threshold with its duration, and the severity of each alert.
        rows = re.findall(r"(?m)^\| `(\w+)` \| `([^`]*)` \| (\S*) \| (\w+) \|", (ROOT / "deploy" / "README.md").read_text())
        self.assertEqual(rows, [(rule["alert"], rule["expr"], rule.get("for", "0m"), rule["labels"]["severity"]) for rule in rules()])


class Scraped(TestCase):
    """Starts perfd, a job that computes, a second perfd on a machine with equipment, and Prometheus with the shipped configuration."""

    def setUp(self):
        super().setUp()
        program = find_peer("prometheus")
        self.server = self.daemon("[metrics]\ntotals_label = account\n", tcp=True)
        machine = Equipped(self.temporary_directory())
        self.addCleanup(machine.close)
        self.equipped = self.daemon(tcp=True, root=machine.directory)
        wait_for(lambda: self.equipped.get("/api/v1/node").json["latest"].get("gpus"), "GPUs")
        done = self.equipped.perfctl("job", "begin", "--gpus", "0", "equipped")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.job = subprocess.Popen([PERFCTL, "run", "--job", "busy", "--", "sh", "-c", "while :; do :; done"],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env={**os.environ, "PERFD_SOCKET": str(self.server.socket)})
        self.addCleanup(self.job.wait, TIMEOUT_S)
        self.addCleanup(self.job.send_signal, signal.SIGTERM)
        with self.server.client() as client:
            self.assert_status(client.submit(indicator()), "OK")
        perfctl = {"cwd": ROOT, "env": {**os.environ, "PERFD_SOCKET": str(self.server.socket)}, "check": True, "capture_output": True}
        subprocess.run([PERFCTL, "model", "add", "examples/kpis/search.yaml"], **perfctl)
        releases = subprocess.run(["examples/kpis/releases.py"], **perfctl).stdout
        subprocess.run([PERFCTL, "submit"], input=releases, **perfctl)
        self.port = free_port()
        directory = self.temporary_directory()
        text = (PROMETHEUS / "prometheus.yml").read_text()
        self.assertEqual((text.count("node1:9847"), text.count("interval: 15s")), (1, 2))
        (directory / "prometheus.yml").write_text(
            text.replace("node1:9847", '", "'.join(self.instances())).replace("interval: 15s", "interval: 1s"))
        shutil.copy(PROMETHEUS / "perfd.rules.yml", directory)
        log = open(directory / "log", "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen([program, f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
                                    f"--web.listen-address=127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait, TIMEOUT_S)
        self.addCleanup(process.terminate)
        wait_for(self.has_rates, "scrapes of the job", TIMEOUT_S * 3)

    def instances(self):
        return [f"127.0.0.1:{node.port}" for node in (self.server, self.equipped)]

    def report_pipeline(self):
        with self.server.client() as client:
            request = client.request()
            request.pipeline_report.job, request.pipeline_report.producer = "busy", "test 1"
            stage = request.pipeline_report.stages.add(stage="0:0:decode[2]")
            stage.tasks.elapsed, stage.tasks.num_tasks, stage.tasks.num_failures, stage.tasks.ave_time = 0.1, 10, 1, 0.01
            stage.queue.elapsed, stage.queue.num_items, stage.queue.occupancy_rate = 0.1, 9, 0.5
            stage.queue.ave_put_time, stage.queue.ave_get_time = 0.001, 0.002
            self.assert_status(client.call(request), "OK")

    def has_rates(self):
        """The job's own CPU time is published with the second sample; a rate needs two scrapes of it, as does that of a pipeline."""
        try:
            self.report_pipeline()
            return (self.query('rate(perfd_job_cpu_user_seconds_total{scope="job"}[10s])')
                    and self.query("rate(perfd_node_energy_joules_total[10s])")
                    and self.query('perfd_job_gpus_energy_joules_total{scope="job"}')
                    and any(float(one["value"][1]) > 0 for one in self.query("rate(perfd_job_gpu_utilized_seconds_total[10s])"))
                    and any(float(one["value"][1]) > 0 for one in self.query("rate(perfd_job_pipeline_tasks_total[10s])")))
        except OSError:
            return False

    def query(self, expression):
        answer = http_get(self.port, f"/api/v1/query?query={urllib.parse.quote(expression)}")
        if answer.status == 503:
            return []
        self.assertEqual(answer.status, 200, f"{expression}: {answer.text}")
        return answer.json["data"]["result"]

    def test_each_expression_returns_data(self):
        empty = [f"{title}: {expression}" for title, expression in dashboard_expressions()
                 if not self.query(expression) and not may_be_empty(expression)]
        # An alert compares a value with a number: the value must be there while the alert does not fire.
        for rule in rules():
            value = re.fullmatch(r"(.+) (?:==|<|>) [\d.]+", rule["expr"])
            self.assertTrue(value, f"{rule['alert']}: {rule['expr']}")
            if not self.query(value[1]) and not may_be_empty(value[1]):
                empty.append(f"{rule['alert']}: {value[1]}")
        self.assertEqual(empty, [])
        for variable in dashboard()["templating"]["list"]:
            if variable["type"] == "query":
                metric, label = re.fullmatch(r"label_values\((\w+).*, (\w+)\)", variable["definition"]).groups()
                self.assertTrue(all(label in series["metric"] for series in self.query(metric)), metric)

    def test_the_shown_numbers_are_those_of_the_job(self):
        """A loop of one thread uses at most one core, and most of one unless the machine is busy."""
        cores = next(e for title, e in dashboard_expressions() if title == "Cores in use by each job")
        series = self.query(cores)
        self.assertEqual([one["metric"]["job"] for one in series], ["busy"])
        of = {title: self.query(expression) for title, expression in dashboard_expressions()}
        self.assertAlmostEqual(float(of["Average time of a task"][0]["value"][1]), 0.01)
        self.assertAlmostEqual(float(of["Data readiness"][0]["value"][1]), 0.5)
        self.assertAlmostEqual(float(of["Failed tasks"][0]["value"][1]), 0.1)
        self.assertTrue(0.02 < float(series[0]["value"][1]) < 1.1, series)
        self.assertEqual({one["metric"]["instance"] for one in self.query("perfd_node_info")}, set(self.instances()))
        power = sum(float(one["value"][1]) for one in of["Power of processors and memory"])
        self.assertGreater(power, 5)

    def test_the_alert_fires_when_perfd_is_down(self):
        def state():
            alerts = http_get(self.port, "/api/v1/alerts").json["data"]["alerts"]
            return [(alert["labels"]["alertname"], alert["state"]) for alert in alerts if alert["labels"]["alertname"] == "PerfdDown"]

        self.assertEqual(state(), [])
        self.server.stop()
        wait_for(lambda: state() == [("PerfdDown", "pending")], "the alert", TIMEOUT_S * 2)

    def test_the_increase_of_short_jobs_is_their_cpu_time(self):
        """100 jobs of 0.25 s of CPU time that begin and end between two scrapes: the query of perfd-metrics(7) finds 25 s."""
        cpu = f'perfd_user_jobs_cpu_seconds_total{{uid="{os.getuid()}", instance="{self.instances()[0]}"}}'
        wait_for(lambda: self.query(cpu), "the first scrape of the user's totals")
        before = float(self.query(cpu)[0]["value"][1])
        with self.server.client() as client:
            for i in range(100):
                self.assert_status(client.begin(f"short-{i}", labels={"account": "physics"}), "OK")
                request = client.request()
                request.job_end.job, request.job_end.exit_status, request.job_end.rusage.utime = f"short-{i}", 0, 0.25
                self.assert_status(client.call(request), "OK")
        wait_for(lambda: float(self.query(cpu)[0]["value"][1]) >= before + 24.75, "a scrape after the jobs")
        of_label = self.query('perfd_label_jobs_cpu_seconds_total{label="account",value="physics"}')
        self.assertAlmostEqual(float(of_label[0]["value"][1]), 25, delta=0.25)
        values = self.query(cpu + "[5m]")[0]["values"]
        self.assertAlmostEqual(float(values[-1][1]) - float(values[0][1]), 25, delta=0.25)
        # increase() extrapolates to the range: the increase between the samples is its value without that.
        extrapolated = float(self.query(f"increase({cpu}[5m])")[0]["value"][1])
        self.assertGreaterEqual(extrapolated, 24.75)


if __name__ == "__main__":
    unittest.main()
