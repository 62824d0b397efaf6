# SPDX-License-Identifier: Apache-2.0
"""The classes of perf.py, the monitoring script of lightgbm-benchmark, with readings of perfd.

    from perfd_perf import PerformanceMetricsCollector, PerfReportPlotter      # instead of common.perf

    collector = PerformanceMetricsCollector()
    collector.start()
    ...
    collector.finalize()
    plotter = PerfReportPlotter(metrics_logger)                                # has log_metric(key, value, step=...)
    plotter.add_perf_reports(collector.perf_reports, node=0)
    plotter.report_nodes_perf()

Names, fields and files are those of perf.py. The readings differ where perf.py's are wrong: counters begin at 0 with the thread, and are
those of physical devices; CPU hours end with the last reading; no reading is dropped when reports are merged; a field that perfd does
not know is None, and has no metric; and a perfd that is away costs readings (n_failed), never the thread.

Needs Python 3.8 or newer and no other package.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import threading
import time
from typing import Any, Callable, Dict, Optional, Sequence

import perfd_mlflow

Report = Dict[str, Any]  # the fields of a sample; None: perfd does not know it
Totals = Dict[str, Optional[float]]
MIB = 1024 * 1024
PERCENT = ("cpu_pct_per_cpu_min", "cpu_pct_per_cpu_max", "mem_percent", "disk_usage_percent")
_COUNTERS = {
    "disk_io_read_mb": ("disks", "physical", "read_bytes"), "disk_io_write_mb": ("disks", "physical", "written_bytes"),
    "net_io_lo_sent_mb": ("networks", "loopback", "sent_bytes"), "net_io_ext_sent_mb": ("networks", "physical", "sent_bytes"),
    "net_io_lo_recv_mb": ("networks", "loopback", "received_bytes"), "net_io_ext_recv_mb": ("networks", "physical", "received_bytes"),
}


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100.0 * ratio


def read_node(base: Totals | None = None) -> tuple[Report, Totals]:
    """Return the twelve fields of a report, with counters since `base`, and the counters. Raises perfd_mlflow.Trouble."""
    latest = json.loads(perfd_mlflow.ask("/api/v1/node", 1.0)).get("latest") or {}
    cpu = latest.get("cpu_utilization") or {}
    report = {f"cpu_pct_per_cpu_{to}": _percent(cpu.get(of)) for to, of in (("avg", "mean"), ("min", "min"), ("max", "max"))}
    report["mem_percent"] = _percent(latest.get("memory_used_ratio"))
    report["disk_usage_percent"] = _percent(latest.get("root_filesystem_used_ratio"))
    totals: Totals = {}
    for field, (where, kind, name) in _COUNTERS.items():
        devices = latest.get(where)
        totals[field] = None if devices is None else sum(device[name] for device in devices if device["class"] == kind) / MIB
        now, before = totals[field], (base or totals)[field]
        report[field] = None if now is None or before is None else max(0.0, now - before)
    report["timestamp"] = time.time()
    return report, totals


class PerformanceReportingThread(threading.Thread):
    """Calls callback_on_loop(report) at once, then every initial_time_increment seconds, and with a last report at the end."""

    def __init__(self, initial_time_increment: float = 1.0, cpu_interval: float = 1.0,
                 callback_on_loop: Callable[..., object] | None = None, callback_on_exit: Callable[[], object] | None = None,
                 callback_tags: dict[str, Any] | None = None) -> None:
        super().__init__(name="perfd-perf", daemon=True)
        self.killed = False
        self.n_failed = 0  # readings that perfd did not answer
        self.time_increment, self.cpu_interval = initial_time_increment, cpu_interval
        self.callback_on_loop, self.callback_on_exit = callback_on_loop, callback_on_exit
        self.callback_tags = callback_tags or {}
        self._end = threading.Event()
        self._base: Totals | None = None

    def run(self) -> None:
        due = time.monotonic()
        while not self.killed:
            self._run_loop()
            due = max(due + max(self.time_increment, self.cpu_interval), time.monotonic())
            self._end.wait(due - time.monotonic())
        self._run_loop()
        if self.callback_on_exit:
            self.callback_on_exit()

    def _run_loop(self) -> None:
        try:
            report, totals = read_node(self._base)
        except (perfd_mlflow.Trouble, ValueError):
            self.n_failed += 1
            return
        self._base = self._base or totals
        if self.callback_on_loop:
            self.callback_on_loop(report, **self.callback_tags)

    def finalize(self) -> None:
        """Take a last reading, and end the thread."""
        self.killed = True
        self._end.set()
        self.join()


def _merge(reports: Sequence[Report]) -> Report:
    """Return one report for several: the mean of the CPUs' utilization, the maximum of other percentages, the last counters and time."""
    merged = dict(reports[-1])
    for field in ("cpu_pct_per_cpu_avg", *PERCENT):
        known = [report[field] for report in reports if report.get(field) is not None]
        if known:
            merged[field] = max(known) if field in PERCENT else sum(known) / len(known)
    return merged


class PerformanceMetricsCollector:
    """Keeps at most max_length reports, each of perf_reports_freqs readings."""

    def __init__(self, max_length: int = 1000, time_increment: float = 1.0) -> None:
        self.logger = logging.getLogger(__name__)
        self.report_thread = PerformanceReportingThread(time_increment, min(1.0, time_increment), self.append_perf_metrics)
        self.perf_reports: list[Report] = []
        self.perf_reports_freqs, self.perf_reports_counter = 1, 0
        self.max_length = max(2, (max_length + 1) // 2 * 2)
        self._open: list[Report] = []  # readings of the next report

    def start(self) -> None:
        self.report_thread.start()

    def finalize(self) -> None:
        self.report_thread.finalize()
        if self._open:
            self.perf_reports.append(_merge(self._open))
            self._open = []

    def append_perf_metrics(self, perf_metrics: Report) -> None:
        self.perf_reports_counter += 1
        self._open.append(perf_metrics)
        if len(self._open) < self.perf_reports_freqs:
            return
        self.perf_reports.append(_merge(self._open))
        self._open = []
        if len(self.perf_reports) >= self.max_length:
            self.perf_reports = [_merge(self.perf_reports[i:i + 2]) for i in range(0, len(self.perf_reports), 2)]
            self.perf_reports_freqs *= 2
            self.logger.warning("reports of perfd: %d readings are one from now on", self.perf_reports_freqs)


class PerfReportPlotter:
    """Logs the eighteen metrics of each node, with the node as their step."""

    def __init__(self, metrics_logger: Any) -> None:
        self.all_reports: dict[int, list[Report]] = {}
        self.metrics_logger = metrics_logger

    def save_to(self, perf_report_file_path: str | None = None) -> str:
        """Write all reports to a file, by default a temporary one that ends in .json. Returns its path."""
        if perf_report_file_path is None:
            descriptor, perf_report_file_path = tempfile.mkstemp(suffix=".json")
            os.close(descriptor)
        with open(perf_report_file_path, "w", encoding="utf-8") as file:
            json.dump(self.all_reports, file, indent=4)
        return perf_report_file_path

    def add_perf_reports(self, perf_reports: list[Report], node: int) -> None:
        self.all_reports[node] = perf_reports

    def report_nodes_perf(self) -> None:
        for node, reports in self.all_reports.items():
            for key, value in self._metrics(reports).items():
                self.metrics_logger.log_metric(key, value, step=node)

    @staticmethod
    def _metrics(reports: Sequence[Report]) -> dict[str, float]:
        fields: dict[str, list[float]] = {}
        for report in reports:
            for field, value in report.items():
                if value is not None:
                    fields.setdefault(field, []).append(value)
        ret, use = {}, fields.get("cpu_pct_per_cpu_avg")
        for name, field in (("max_t_(cpu_pct_per_cpu_avg)", "cpu_pct_per_cpu_avg"), ("max_t_(cpu_pct_per_cpu_min)", "cpu_pct_per_cpu_min"),
                            ("max_t_(cpu_pct_per_cpu_max)", "cpu_pct_per_cpu_max"), ("max_t_(mem_percent)", "mem_percent"),
                            ("max_t_disk_usage_percent", "disk_usage_percent"), *((f"total_{field}", field) for field in _COUNTERS)):
            if field in fields:
                ret[name] = max(fields[field])
        if use:
            mean = ret["cpu_avg_utilization_pct"] = sum(use) / len(use)
            for name, limit in (("at100", 100), ("over80", 80), ("over40", 40), ("over20", 20)):
                ret[f"cpu_avg_utilization_{name}_pct"] = 100.0 * sum(value >= limit for value in use) / len(use)
            hours = ret["node_cpu_hours"] = (fields["timestamp"][-1] - fields["timestamp"][0]) * (os.cpu_count() or 1) / 3600
            ret["node_unused_cpu_hours"] = hours * (100 - mean) / 100
        return ret
