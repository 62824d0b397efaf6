# SPDX-License-Identifier: Apache-2.0
"""Log what perfd measured about jobs in MLflow.

    python3 -m perfd_mlflow push JOB...             # afterwards, or let `perfctl run --mlflow` do it at the end of a job

    with perfd_mlflow.job() as live:                # in a training script
        for step in range(1000):
            mlflow.log_metric("loss", train(), step=step)
            live(step)                              # logs the job's numbers each 50 steps

MLflow's own client sends: tracking URI, credentials, plugins and retries are those of the user's MLflow, 2.9 or newer. perfd itself never
sends anything to MLflow. Sending a job again changes nothing: the tag perfd.sent.JOB of the run holds what was sent, and after a failed
attempt the values that the run has already are left out.

Needs Python 3.8 or newer, and MLflow where something is sent.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import fcntl
import functools
import hashlib
import http.client
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from typing import Any, Callable, Iterable, Iterator, Sequence, TextIO

KEY_MAX = 230  # characters of a name; MLflow takes 250, a tag has a prefix
PARAM_MAX, TAG_MAX = 6000, 5000  # characters of a value
BATCH_MAX = {"metrics": 1000, "params": 100, "tags": 100}
ENTITIES_MAX, BYTES_MAX = 1000, 900_000  # of a request
PROBE_S = 0.5  # of a server, before MLflow is imported
END_S = 60  # longest time to send at the end of a job
SILENT_S = 1.0  # without an answer at the end of a job, that of the probe included
GROUP_S = 5.0  # how long a rank waits for rank 0 to make their run
CLOCKS_MS = 60_000  # between the times of a run and of its job
# Numbers of perfd that mean the same as MLflow's system metrics, and their factor.
SYSTEM = {
    "cpu_utilization_percentage": (["cpu_avg_utilization_pct"], 1),
    "disk_usage_percentage": (["max_t_disk_usage_percent"], 1),
    "network_receive_megabytes": ([f"total_net_io_{kind}_recv_mb" for kind in ("lo", "ext", "virtual")], 1.048576),
    "network_transmit_megabytes": ([f"total_net_io_{kind}_sent_mb" for kind in ("lo", "ext", "virtual")], 1.048576),
}
# As well of each GPU of the job, as gpu_{i}_…; those from sm_active_percentage on are not MLflow's own.
GPU = {
    "utilization_percentage": ("utilization", 100),
    "memory_usage_percentage": ("memory_used", 100),
    "memory_usage_megabytes": ("memory_mean_bytes", 1e-6),
    "power_usage_watts": ("power_watts", 1),
    "power_usage_percentage": ("power_used", 100),
    "sm_active_percentage": ("sm_active", 100),
    "tensor_active_percentage": ("tensor_active", 100),
    "dram_active_percentage": ("dram_active", 100),
    "memory_peak_megabytes": ("memory_peak_bytes", 1e-6),
    "energy_joules": ("energy_joules", 1),
}
SERIES = {"cpu_pct_per_cpu_avg": "cpu_utilization_percentage", "disk_usage_percent": "disk_usage_percentage"}


class Trouble(Exception):
    """An error with its reason and remedy. is_final: trying again later is of no use."""

    def __init__(self, text: str = "", is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final


class Said(Trouble):
    """Another process has said why."""


class NoMlflow(Trouble):
    """This Python has no MLflow."""


def say(text: str) -> None:
    print(f"perfd_mlflow: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _scratch() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix=f"perfd-mlflow-{os.getpid()}-") as directory:
        yield pathlib.Path(directory)


def _give_up(reason: str) -> None:
    """End the process, which may be in a call that does not return. The job waits: its file is removed after it was sent."""
    say(f"{reason}; the job waits for the next run or 'perfctl flush'")
    for path in pathlib.Path(tempfile.gettempdir()).glob(f"perfd-mlflow-{os.getpid()}-*"):
        shutil.rmtree(path, ignore_errors=True)
    os._exit(1)


@contextlib.contextmanager
def _limit(seconds: float, reason: str) -> Iterator[None]:
    timer = threading.Timer(seconds, _give_up, [reason])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# --- perfd -------------------------------------------------------------------------------------------------------


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        path = os.environ.get("PERFD_HTTP_SOCKET") or os.path.join(
            os.path.dirname(os.environ.get("PERFD_SOCKET") or "/run/perfd/perfd.sock"), "http.sock")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(path)


def ask(path: str, timeout: float = 5.0) -> str:
    """Return the text that perfd answers. Raises Trouble."""
    connection = _Connection("localhost", timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise Trouble(f"perfd does not answer: {error}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise Trouble(f"perfd answers {answer.status} to {path}")
    return text


def perfctl(*words: str) -> str:
    """Return what perfctl prints. Raises Trouble."""
    program = os.environ.get("PERFD_PERFCTL") or "perfctl"
    try:
        done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise Trouble(f"cannot run {program}: {error.strerror}") from error
    if done.returncode:
        text = done.stderr.strip().split("\n")[0].replace("perfctl: ", "", 1) or f"{program} exits with status {done.returncode}"
        raise Trouble(text, done.returncode == 1)
    return done.stdout


def read_report(name: str) -> tuple[dict[str, Any], str | None]:
    """Return the report and its page of a job of this node, or the report in a file that `perfctl report --json` printed on any node."""
    page = None
    if "/" not in name and not name.endswith(".json"):
        with _scratch() as directory:
            file = directory / "page.html"
            report = json.loads(perfctl("report", "--json", "--html", str(file), name))
            page = file.read_text(encoding="utf-8")
    else:
        try:
            report = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Trouble(f"{name} is not a report of 'perfctl report --json': {error}", True) from error
    if not isinstance(report, dict) or not {"id", "metrics", "on", "begin_ms"} <= set(report):
        raise Trouble(f"{name} is not a report of one job: print each with 'perfctl report --json JOB'", True)
    return report, page


def group_of(report: dict[str, Any]) -> str:
    """Return the common part of the ids of a run's ranks: ids that differ in the rank at their end are one run."""
    suffix = f".{report['rank']}"
    name: str = report["id"]
    return name[:-len(suffix)] if report["rank"] is not None and name.endswith(suffix) else name


# --- what is logged ----------------------------------------------------------------------------------------------


def _cut(text: object, limit: int) -> str:
    text = str(text)
    end = f" (cut from {len(text)} characters)"
    return text if len(text) <= limit else text[:limit - len(end)] + end


class Record:
    """Metrics, params and tags of a run, within MLflow's limits."""

    def __init__(self) -> None:
        self.metrics: list[tuple[str, float, int, int]] = []
        self.params: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def name(self, text: str) -> str:
        """Return a name that MLflow takes. That of another text is never the same; a tag has the text if it is changed."""
        name = "/".join(part for part in re.sub(r"[^/\w.\- ]", "_", text).split("/") if part.strip("."))
        short = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
        if not name or len(name) > KEY_MAX or self._names.get(name, text) != text:
            name = (name[:KEY_MAX - 9] + "-" + short).lstrip("./")
        self._names[name] = text
        if name != text:
            self.tags[f"perfd.name.{name}"] = _cut(text, TAG_MAX)
        return name

    def metric(self, name: str, value: object, time_ms: float, step: float = 0) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.absent(name, "not a number")
        elif not math.isfinite(value):
            self.absent(name, f"not a finite number: {value}")
        else:
            self.metrics.append((self.name(name), float(value), int(time_ms), int(step)))

    def param(self, name: str, value: object) -> None:
        text, name = _cut(value, PARAM_MAX), self.name(name)
        if self.params.setdefault(name, text) != text:
            self.tags[f"perfd.param.{name}"] = _cut(f"also {text}", TAG_MAX)

    def tag(self, name: str, value: object, reason: str | None = None) -> None:
        if value is None or value == "":
            if reason:
                self.absent(name, reason)
        else:
            self.tags["perfd." + self.name(name)] = _cut(value, TAG_MAX)

    def absent(self, name: str, reason: str | None) -> None:
        self.tags["perfd.absent." + self.name(name)] = _cut(reason, TAG_MAX)


def _flatten(value: object, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a result's document, each with its path."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _flatten(each, f"{path}/{key}")
    else:
        yield path, value


class Job:
    """What perfd knows of a job."""

    def __init__(self, name: str, series_s: float | None = None) -> None:
        self.report, self.page = read_report(name)
        self.id, self.node = self.report["id"], self.report["on"].get("hostname") or "unknown"
        self.step = self.report["rank"] or self.report.get("node_index") or 0
        self.end_ms = self.report.get("end_ms") or self.report["on"].get("time_ms") or self.report["begin_ms"]
        self.series_s = series_s
        self._reasons: dict[str, str] = {}
        path = f"/api/v1/jobs/{urllib.parse.quote(self.id, safe='')}"
        self.results = (self._ask("results", f"/api/v1/results?job={urllib.parse.quote(self.id)}") or {}).get("results", [])
        self.host = self._ask("kernel", "/api/v1/node") or {}
        self.pipelines: list[Any] = self.report.get("pipelines") or []
        self.samples = self._ask("series", path + "/perf-report") if series_s else None

    def _ask(self, what: str, path: str) -> Any:
        try:
            if not self.page:
                raise Trouble("the report is that of another node, and does not have it")
            return json.loads(ask(path))
        except Trouble as trouble:
            self._reasons[what] = str(trouble)
            return None

    @property
    def key(self) -> str:
        return f"{self.id}@{self.node}"

    def numbers(self, record: Record) -> None:
        """Add the numbers that a run has at the step of each of its ranks."""
        for metric in self.report["metrics"]:
            record.metric(metric["key"], metric["value"], metric["timestamp"], self.step)
        for pipeline in self.pipelines:
            for name, value in pipeline.items():
                if isinstance(value, (int, float)) and name != "pipeline":
                    record.metric(f"pipeline/{pipeline['pipeline']}/{name}", float(value), self.end_ms, self.step)
        values = {metric["key"]: metric["value"] for metric in self.report["metrics"]}
        seconds = (self.end_ms - self.report["begin_ms"]) / 1000
        for name, (parts, factor) in SYSTEM.items():
            if self.series_s and name in SERIES.values():
                continue
            known = [values[part] for part in parts if part in values]
            if known:
                record.metric(f"system/{self.node}/{name}", sum(known) * factor, self.end_ms, seconds)
        for gpu in self.report.get("gpus") or []:
            if gpu["gpu"] is None:
                record.absent(f"gpu.{gpu['given']}", "the node has no GPU of this name")
                continue
            for name, (key, factor) in GPU.items():
                if gpu.get(key) is not None:
                    record.metric(f"system/{self.node}/gpu_{gpu['gpu'].replace('/', '.')}_{name}", gpu[key] * factor, self.end_ms, seconds)
            if gpu["shared"] and gpu["utilization"] is None:
                record.absent(f"gpu.{gpu['gpu']}", "others used it as well, all the time")

    def measured(self, record: Record) -> None:
        """Add the results of the job's indicators: a step for each, in the order of time."""
        steps: dict[str, int] = {}
        for result in sorted(self.results, key=lambda each: each["time_ms"]):
            name, document = result["name"], result.get("document") or {}
            step = steps[name] = steps.get(name, -1) + 1
            if result.get("score") is not None:
                record.metric(f"{name}/score", result["score"], result["time_ms"], step)
            for path, value in _flatten(document.get("@result") or {}, name):
                record.metric(path, value, result["time_ms"], step)
            for path, value in _flatten(document.get("@parameters") or {}, name):
                record.param(path, value if isinstance(value, str) else json.dumps(value))

    def details(self, record: Record) -> None:
        """Add phases, samples and tags: of a run that is that of this rank only."""
        steps: dict[str, int] = {}
        for phase in self.report.get("phases") or []:
            name = phase["name"] or "start"
            step = steps[name] = steps.get(name, -1) + 1
            record.metric(f"phase/{name}/seconds", phase["seconds"], phase["end_ms"], step)
            for metric in phase["metrics"]:
                record.metric(f"phase/{name}/{metric['key']}", metric["value"], phase["end_ms"], step)
        self._series(record)
        for absent in self.report.get("absent") or []:
            record.absent(absent["key"], absent["reason"])
        self._describe(record)

    def _series(self, record: Record) -> None:
        samples = (self.samples or {}).get("samples")
        if not samples:
            return
        begin, times = self.report["begin_ms"] / 1000, samples["timestamp"]
        last = len(times) - 1
        first = 0  # sample of an interval
        for i, end in enumerate(times):
            if i < last and int((times[i + 1] - begin) / self.series_s) == int((end - begin) / self.series_s):
                continue
            for field, values in samples.items():
                known = [value for value in values[first:i + 1] if value is not None]
                if field == "timestamp" or not known:
                    continue
                value = sum(known) / len(known) if field.startswith("cpu_pct_per_cpu_avg") else known[-1]
                record.metric(f"system/{self.node}/{SERIES.get(field, field)}", value, end * 1000, end - begin)
            first = i + 1

    def _describe(self, record: Record) -> None:
        report, exit_ = self.report, self.report.get("exit") or {}
        for name in ("name", "command", "user", "state", "isolation", "note"):
            record.tag(name, report.get(name))
        record.tag("job", self.id)
        record.tag("node", self.node)
        record.tag("rank", report["rank"], "the launcher has set no rank")
        record.tag("exit_status", exit_.get("status"), f"the job is {report['state']}, without an exit status")
        record.tag("signal", exit_.get("signal") or None)
        for key, value in (report.get("labels") or {}).items():
            record.tag(f"label.{key}", value)
        record.tag("advice", "\n".join(each["text"] for each in report.get("advice") or []), "perfd has no advice")
        record.tag("kernel", self.host.get("kernel"), self._reasons.get("kernel"))
        hosts = [(result.get("run") or {}).get("host") for result in self.results]
        cpu = next((host["cpu"].get("model") for host in hosts if host and host.get("cpu")), None)
        memory = report["on"].get("memory_bytes")
        gpus = collections.Counter(gpu["model"] for gpu in report.get("gpus") or [] if gpu["model"])
        record.tag("hardware", ", ".join(filter(None, [cpu, f"{report['on'].get('cpus')} CPUs", memory and f"{memory / 1e9:.1f} GB",
                                                       *(f"{n} {model}" for model, n in gpus.items()), self.host.get("machine")])))
        stacks = sorted({result["stack"] for result in self.results if result.get("stack")})
        record.tag("stack", " ".join(stacks), self._reasons.get("results") or "no result has one: see 'perfctl run --stack'")
        verdicts = []
        for each in self.pipelines:
            stage = f" {each['stage']}" if each.get("stage") else ""
            verdicts.append(f"pipeline {each['pipeline']}: {each['limit']}{stage}, {each['direction']} (confidence {each['confidence']})")
        record.tag("verdict", "\n".join(verdicts), "the report has no pipeline")

    def artifacts(self) -> dict[str, str]:
        """Return the report as files: JSON, and a page where perfd has the job."""
        name = re.sub(r"[^\w.\-]", "_", self.key)
        files = {f"{name}.json": json.dumps(self.report)}
        return {**files, f"{name}.html": self.page} if self.page else files


# --- MLflow ------------------------------------------------------------------------------------------------------


def probe(uri: str | None) -> float:
    """Return how long the server of an http(s) URI takes to answer. Raises Trouble after PROBE_S; behind a proxy, if that is away."""
    begin = time.monotonic()
    if not uri or not re.match(r"https?://", uri):
        return 0
    try:
        there = urllib.parse.urlsplit(uri)
    except ValueError as error:
        raise Trouble(f"MLFLOW_TRACKING_URI is not a URI: {error}", True) from error
    outcome: list[str | None] = ["no answer within %g s" % PROBE_S]

    def attempt() -> None:
        try:
            proxy = urllib.request.getproxies().get(there.scheme, "")
            is_direct = not proxy or urllib.request.proxy_bypass(there.hostname or "")
            to = there if is_direct else urllib.parse.urlsplit(proxy if "//" in proxy else "//" + proxy)
            address = (to.hostname, to.port or (443 if to.scheme == "https" else 80))
            with socket.create_connection(address, PROBE_S) as plain:
                if is_direct:
                    context = ssl._create_unverified_context()  # only MLflow's client knows which certificates are right
                    wrapped = context.wrap_socket(plain, server_hostname=there.hostname) if there.scheme == "https" else plain
                    with wrapped as stream:
                        host = there.netloc.split('@')[-1]
                        stream.sendall(f"GET {there.path.rstrip('/')}/health HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
                        if not stream.recv(1):
                            raise OSError("the connection was closed without an answer")
            outcome[0] = None
        except (OSError, ValueError) as error:
            outcome[0] = str(error)

    thread = threading.Thread(target=attempt, daemon=True)  # the name service may take longer than PROBE_S
    thread.start()
    thread.join(PROBE_S)
    if outcome[0]:
        raise Trouble(f"{there.scheme}://{there.netloc.split('@')[-1]} cannot be reached: {outcome[0]}")
    return time.monotonic() - begin


def _limit_requests(seconds: float) -> None:
    """Let the process end if a server takes longer for a whole answer, however slowly its bytes come."""
    import requests
    import urllib3

    def limited(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def attempt(*words: Any, **more: Any) -> Any:
            is_own = threading.current_thread() is threading.main_thread()  # MLflow has threads for other servers
            with _limit(seconds, f"MLflow's server did not answer within {SILENT_S:g} s") if is_own else contextlib.nullcontext():
                return call(*words, **more)
        return attempt

    for owner, name in ((requests.Session, "send"), (urllib3.HTTPConnectionPool, "urlopen")):  # stores of artifacts use either
        call = getattr(owner, name)
        setattr(owner, name, limited(getattr(call, "__wrapped__", call)))


def mlflow_client(uri: str | None = None) -> Any:
    """Import MLflow and return a client. Raises Trouble."""
    if importlib.util.find_spec("mlflow") is None:
        raise NoMlflow(f"{sys.executable} has no mlflow: {sys.executable} -m pip install mlflow")
    try:
        import mlflow
        version = tuple(map(int, mlflow.__version__.split(".")[:2]))
    except Exception as error:
        raise Trouble(f"{sys.executable} cannot import mlflow: {_first_line(error)}") from error
    if version < (2, 9):
        raise Trouble(f"mlflow {mlflow.__version__} is too old, 2.9 is needed: {sys.executable} -m pip install --upgrade mlflow")
    return mlflow.MlflowClient(tracking_uri=uri)


def _first_line(error: BaseException) -> str:
    return _cut(" ".join(str(error).split()) or type(error).__name__, 300)


def _quote(text: str) -> str:
    return '"' + text.replace('"', "") + '"' if "'" in text else f"'{text}'"


def _search(client: Any, experiments: list[str], where: str) -> list[Any]:
    runs, token = [], None
    while True:
        page = client.search_runs(experiments, where, max_results=1000, page_token=token)
        runs += page
        token = page.token
        if not token:
            return runs


def _find_group(client: Any, group: str, jobs: list[Job]) -> Any:
    """Return the run that has the tag of a job's group and was active at its time: the first of the outermost ones."""
    experiments, token = [], None
    while True:
        page = client.search_experiments(max_results=500, page_token=token)
        experiments += [each.experiment_id for each in page]
        token = page.token
        if not token:
            break
    runs = []
    for i in range(0, len(experiments), 100):
        runs += _search(client, experiments[i:i + 100], f"tags.`perfd.run` = {_quote(group)}")
    begin, end = min(job.report["begin_ms"] for job in jobs), max(job.end_ms for job in jobs)
    runs = [run for run in runs if run.info.start_time <= end + CLOCKS_MS and (run.info.end_time or end) >= begin - CLOCKS_MS]
    ids = {run.info.run_id for run in runs}
    runs = [run for run in runs if run.data.tags.get("mlflow.parentRunId") not in ids]
    own = [run for run in runs if run.data.tags.get("perfd.job") in {job.id for job in jobs}] or runs
    return min(own, key=lambda run: (run.info.start_time, run.info.run_id), default=None)


def _checked(run: Any) -> Any:
    if not run.info.run_id:
        raise Trouble("the server answers without the id of a run: is it MLflow's?")
    return run


def _make(client: Any, experiment: str, name: str, jobs: list[Job], tags: dict[str, str]) -> Any:
    states = {job.report["state"] for job in jobs}
    failed = any((job.report.get("exit") or {}).get("status") for job in jobs) or "interrupted" in states
    run = _checked(client.create_run(experiment, start_time=min(job.report["begin_ms"] for job in jobs), tags=tags, run_name=name))
    if "running" not in states:
        client.set_terminated(run.info.run_id, "FAILED" if failed else "FINISHED", max(job.end_ms for job in jobs))
    return run


def _experiment(client: Any, where: dict[str, Any]) -> Any:
    name = where.get("experiment_name") or ("" if where.get("experiment_id") else "Default")
    if not name:
        return where["experiment_id"]
    known = client.get_experiment_by_name(name)
    return known.experiment_id if known else client.create_experiment(name)


def find_run(client: Any, group: str, jobs: list[Job], where: dict[str, Any]) -> Any:
    """Return the run of jobs: the given one, the one that the jobs opened, or a new one."""
    if where.get("run_id"):
        try:
            run = _checked(client.get_run(where["run_id"]))
        except Exception as error:
            if getattr(error, "error_code", None) != "RESOURCE_DOES_NOT_EXIST":
                raise
            raise Trouble(f"run {where['run_id']} does not exist: use another with 'python3 -m perfd_mlflow push'", True) from error
        if run.info.lifecycle_stage == "deleted":
            raise Trouble(f"run {where['run_id']} is deleted: restore it with 'mlflow runs restore --run-id {where['run_id']}'", True)
        return run
    deadline = time.monotonic() + (GROUP_S if where.get("silent_s") and min(job.step for job in jobs) > 0 else 0)
    while not (run := _find_group(client, group, jobs)) and time.monotonic() < deadline:
        time.sleep(0.5)
    if run:
        return run
    run = _make(client, _experiment(client, where), jobs[0].report.get("name") or group, jobs, {"perfd.run": group})
    say(f"job {group} opened no run with mlflow.start_run() that is known: made run {run.info.run_id}; "
        "for a run that MlflowClient makes itself, set MLFLOW_RUN_ID")
    return run


def _child(client: Any, run: Any, job: Job) -> Any:
    parent = run.info.run_id
    where = f"tags.`mlflow.parentRunId` = '{parent}' and tags.`perfd.child` = {_quote(job.key)}"
    known = _search(client, [run.info.experiment_id], where)
    tags = {"mlflow.parentRunId": parent, "perfd.child": job.key}
    return known[0] if known else _make(client, run.info.experiment_id, f"rank {job.step} on {job.node}", [job], tags)


def batches(metrics: list[Any], params: list[Any], tags: list[Any]) -> Iterator[dict[str, list[Any]]]:
    """Yield the arguments of MlflowClient.log_batch(), within the limits of a request."""
    batch: dict[str, list[Any]] = {"metrics": [], "params": [], "tags": []}
    size = 0
    for kind, items in (("metrics", metrics), ("params", params), ("tags", tags)):
        for item in items:
            cost = len(json.dumps(dict(item)))
            if len(batch[kind]) >= BATCH_MAX[kind] or sum(map(len, batch.values())) >= ENTITIES_MAX or size + cost > BYTES_MAX:
                yield batch
                batch, size = {"metrics": [], "params": [], "tags": []}, 0
            batch[kind].append(item)
            size += cost
    if size:
        yield batch


def _send(client: Any, run: Any, record: Record, key: str, files: dict[str, str]) -> None:
    """Log a record once."""
    from mlflow.entities import Metric, Param, RunTag

    run_id, tag = run.info.run_id, "perfd.sent." + Record().name(key)
    content = json.dumps([record.metrics, record.params, record.tags], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    state = run.data.tags.get(tag, "")
    if state.startswith(f"{digest} "):
        return
    metrics = record.metrics
    if state:  # of an attempt that failed, or of the job while it ran
        keys = sorted({metric[0] for metric in metrics} & set(run.data.metrics))
        known = {(each.key, each.value, each.timestamp, each.step) for name in keys for each in client.get_metric_history(run_id, name)}
        metrics = [metric for metric in metrics if metric not in known]
    client.set_tag(run_id, tag, "begun")
    params = {}
    for name, text in record.params.items():
        there = run.data.params.get(name)
        if there is None:
            params[name] = text
        elif there != text:
            record.tags[f"perfd.param.{name}"] = _cut(f"also {text}", TAG_MAX)
            say(f"run {run_id}: param {name} is '{_cut(there, 60)}' and stays so; '{_cut(text, 60)}' is in the tag perfd.param.{name}")
    for batch in batches([Metric(*each) for each in metrics], [Param(*each) for each in params.items()], []):
        client.log_batch(run_id, **batch)
    _log_files(client, run_id, record, files)
    done = {**record.tags, tag: f"{digest} {len(record.metrics)} metrics, {len(record.params)} params"}
    for batch in batches([], [], [RunTag(*each) for each in done.items()]):
        client.log_batch(run_id, **batch)


def _log_files(client: Any, run_id: str, record: Record, files: dict[str, str]) -> None:
    with _scratch() as directory:
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
        try:
            client.log_artifacts(run_id, str(directory), "perfd")
        except Exception as error:  # the store of artifacts may need a package or a key that this process has not
            record.absent("report", _first_line(error))
            say(f"run {run_id}: the report is not an artifact: {_first_line(error)}")


def push(jobs: str | Iterable[str] = "last", run_id: str | None = None, experiment: str | None = None, series: float | None = None,
         client: Any = None, **where: Any) -> list[str]:
    """Log jobs: ids or names of jobs of this node, or files of `perfctl report --json`. Returns the ids of the runs.

    Jobs whose ids differ in the rank at their end are one run, with a child for each rank; with run_id, all are. series: also log the
    samples, one in so many seconds. Raises Trouble, or an exception of MLflow.
    """
    where = {"run_id": run_id or os.environ.get("MLFLOW_RUN_ID"), "experiment_name": experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME"),
             "experiment_id": os.environ.get("MLFLOW_EXPERIMENT_ID"), **where}
    client = client or mlflow_client(where.get("uri"))
    return _push(client, [Job(name, series) for name in ([jobs] if isinstance(jobs, str) else jobs)], where)


def _push(client: Any, jobs: list[Job], where: dict[str, Any]) -> list[str]:
    groups: dict[str, list[Job]] = {}
    for job in {job.key: job for job in jobs}.values():
        groups.setdefault(where["run_id"] or group_of(job.report), []).append(job)
    runs = []
    for group, members in groups.items():
        run = find_run(client, group, members, where)
        first = members[0].report
        is_one = len(members) == 1 and (first.get("nodes") or 1) == 1 and (first["rank"] is None or first.get("ranks") == 1)
        for n, job in enumerate(sorted(members, key=lambda job: (job.step, job.report.get("node_index") or 0, job.node))):
            is_numbered = job.report["rank"] is not None or job.report.get("node_index") is not None
            job.step = job.step if is_numbered or is_one else n
            own, record = Record(), Record()
            for add in (job.numbers, job.measured, job.details):
                add(own)
            if is_one:
                _send(client, run, own, job.key, job.artifacts())
                continue
            _send(client, _child(client, run, job), own, job.key, job.artifacts())
            job.numbers(record)
            job.measured(record)
            record.tag(f"rank.{job.step}", f"{job.key}, exit status {(job.report.get('exit') or {}).get('status')}")
            _send(client, client.get_run(run.info.run_id), record, job.key, {})
        runs.append(run.info.run_id)
    return runs


# --- the end of a job, and the jobs that wait -----------------------------------------------------------------------


def _open_waiting(path: pathlib.Path) -> TextIO | None:
    """Open and lock the file of a job that waits. None: another process is sending it."""
    try:
        file = open(path, encoding="utf-8")
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink and os.fstat(file.fileno()).st_uid == os.geteuid():
            return file
    except OSError:
        pass
    file.close()
    return None


def _add_waiting(spool: pathlib.Path, job: str) -> pathlib.Path:
    """Write down what is needed to send a job later, in a place and an environment that may be others."""
    try:
        directory = os.getcwd()
    except OSError:  # the job has removed it
        directory = "/"
    values = {"job": job, "uri": os.environ.get("MLFLOW_TRACKING_URI"), "run_id": os.environ.get("MLFLOW_RUN_ID"),
              "experiment_id": os.environ.get("MLFLOW_EXPERIMENT_ID"), "experiment_name": os.environ.get("MLFLOW_EXPERIMENT_NAME"),
              "directory": directory, "python": sys.executable}
    spool.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = spool / f"{re.sub(r'[^A-Za-z0-9.-]', '_', job)[:40]}-{hashlib.sha256(job.encode()).hexdigest()[:8]}.jsonl"
    scratch = spool / f".{path.name}.{os.getpid()}"
    with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(values, file)
    scratch.replace(path)
    return path


def _send_waiting(path: pathlib.Path, is_end: bool, is_running: bool = False) -> None:
    """Send a job that waits. Its file is removed if it was sent, or can never be. Raises Trouble if it still waits.

    is_running: the numbers until now of a job that runs on; the final ones wait.
    """
    file = _open_waiting(path)
    if not file:
        return
    with file:
        try:
            values = json.load(file)
            job = values.pop("job")
            interpreter, directory = values.pop("python"), values.pop("directory")
        except (ValueError, KeyError, AttributeError) as error:
            raise Trouble(f"{path} is not a job that waits: remove it") from error
        try:
            silent_s = SILENT_S - probe(values.get("uri"))
            if not is_end and interpreter != sys.executable and os.access(interpreter, os.X_OK):
                file.close()
                done = subprocess.run([interpreter, __file__, "flush", str(path)], check=False)
                if done.returncode:
                    raise Said if done.returncode == 1 else Trouble(f"{interpreter} ended with status {done.returncode}")
                return
            if os.path.isdir(directory):
                os.chdir(directory)  # MLflow's default is a file there
            known = Job(job)
            if known.report["state"] == "running" and not is_running:
                raise Trouble(f"perfd does not know yet that job {job} has ended")
            client = mlflow_client(values.get("uri"))
            if is_end:
                _limit_requests(silent_s)
            _push(client, [known], {**values, "silent_s": silent_s if is_end else None})
        except Trouble as trouble:
            if not trouble.is_final:
                raise
            say(f"job {job} is not logged: {trouble}")
            is_running = False
        if not is_running:
            path.unlink()


def _flush(paths: Iterable[pathlib.Path], is_end: bool = False, is_running: bool = False) -> int:
    """Send jobs that wait. Returns the number of those that still wait."""
    reasons: dict[str, list[str]] = {}
    n = 0
    for path in paths:
        said = path.parent / "without-mlflow"  # what the end of an earlier job has said
        try:
            _send_waiting(path, is_end, is_running)
            with contextlib.suppress(OSError):
                said.unlink()
        except Said:
            n += 1
        except Exception as error:
            n += 1
            if is_end and isinstance(error, NoMlflow):
                if said.exists() and said.read_text(encoding="utf-8") == sys.executable:
                    break
                said.write_text(sys.executable, encoding="utf-8")
            reasons.setdefault(_first_line(error), []).append(path.stem)
            if is_end:
                break
    for reason, names in reasons.items():
        say(f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}: {reason}; waits for the next run or 'perfctl flush'")
    return n


def _end(spool: pathlib.Path, job: str, is_running: bool) -> int:
    """Send a job that has just ended, or a task of it, then those that wait. The job waits if the server is away."""
    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
    try:
        path = _add_waiting(spool, job)
    except OSError as error:
        say(f"job {job} is lost if it cannot be logged now: {spool}: {error.strerror}; set PERFD_SPOOL to a directory for jobs that wait")
        with _scratch() as directory:
            return _end(directory / "spool", job, is_running)
    with _limit(END_S, f"MLflow took more than {END_S} s"):
        return _flush([path], True, is_running) or _flush(sorted(set(spool.glob("*.jsonl")) - {path}), True)


# --- in a training script ------------------------------------------------------------------------------------------


class Live:
    """Logs the numbers of a running job in MLflow's active run, each `every` steps."""

    def __init__(self, name: str, every: int = 50) -> None:
        self.id, self.every = name, every
        self.n_failed = 0  # times that perfd did not answer
        self._before: Any = None

    def __call__(self, step: int) -> None:
        import mlflow

        if step % self.every:
            return
        try:
            report = json.loads(ask(f"/api/v1/jobs/{urllib.parse.quote(self.id, safe='')}", 1.0))
        except Trouble:
            self.n_failed += 1
            return
        values = {metric["key"]: metric["value"] for metric in report["metrics"]}
        now: Any = values.get("duration_seconds"), values.get("job_cpu_seconds")
        logged = {f"live/{key}": value for key, value in values.items() if key.startswith("job_") or key == "cpu_avg_utilization_pct"}
        if self._before and None not in now + self._before and now[0] > self._before[0]:
            logged["live/job_cpus_used_now"] = (now[1] - self._before[1]) / (now[0] - self._before[0])
        self._before = now
        mlflow.log_metrics(logged, step=step)


@contextlib.contextmanager
def job(name: str | None = None, every: int = 50, series: float | None = None) -> Iterator[Live]:
    """Measure a block as a job, or the block of the job that the process is in, for MLflow's active run or a new one. Yields a Live.

    At the end of the block, the numbers are logged, unless `perfctl run --mlflow` does it at the end of the job.
    """
    import mlflow

    known = os.environ.get("PERFD_JOB")
    own = known or f"{name or 'mlflow'}-{os.getpid()}-{int(time.time())}"
    is_later = "perfd.run" in os.environ.get("MLFLOW_RUN_CONTEXT", "")
    with contextlib.nullcontext(mlflow.active_run()) if mlflow.active_run() else mlflow.start_run(run_name=name) as run:
        status = 1
        try:
            if not known:
                perfctl("job", "begin", "--pid", str(os.getpid()), *(["--name", name] if name else []), own)
            mlflow.set_tag("perfd.run", group_of({"id": own, "rank": None}) if not is_later else
                           json.loads(os.environ["MLFLOW_RUN_CONTEXT"])["perfd.run"])
        except Trouble as trouble:
            say(f"job {own} is not measured: {trouble}")
        try:
            yield Live(own, every)
            status = 0
        finally:
            try:
                if not known:
                    perfctl("job", "end", "--exit-status", str(status), own)
                if not is_later:
                    push(own, run_id=run.info.run_id, series=series)
            except Exception as error:  # training is not lost for want of a number
                say(f"job {own} is not logged: {_first_line(error)}")


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|min|h)?", text)
    if not match or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 60s")
    return float(match[1]) * {"ms": 0.001, "s": 1, "min": 60, "h": 3600, None: 1}[match[2]]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="perfd_mlflow", description="Log what perfd measured about jobs in MLflow.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("push", help="log jobs")
    command.add_argument("jobs", nargs="+", metavar="JOB", help="id or name of a job, or a file printed by 'perfctl report --json'")
    command.add_argument("--run-id", help="run to log in (default $MLFLOW_RUN_ID, else the run that the job opened, else a new one)")
    command.add_argument("--experiment", help="experiment of a new run")
    command.add_argument("--series", type=_seconds, metavar="TIME", help="also log the samples, one in each TIME, such as 60s")
    command = commands.add_parser("flush", help="send jobs that wait")
    command.add_argument("files", nargs="+", type=pathlib.Path)
    command = commands.add_parser("end", help="send a job that has just ended, for 'perfctl run' and task_epilog")
    command.add_argument("--running", action="store_true", help="the job runs on: send its numbers until now")
    command.add_argument("spool", type=pathlib.Path)
    command.add_argument("job")
    options = parser.parse_args(words)
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # this is not the user's use of MLflow, and must not delay a job
    try:
        if options.command == "end":
            return min(1, _end(options.spool.absolute(), options.job, options.running))
        if options.command == "flush":
            files = [each for given in options.files for each in (sorted(given.glob("*.jsonl")) if given.is_dir() else [given.absolute()])]
            return min(1, _flush(files))
        for run in push(options.jobs, options.run_id, options.experiment, options.series):
            print(run)
        return 0
    except Exception as error:
        say(_first_line(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
