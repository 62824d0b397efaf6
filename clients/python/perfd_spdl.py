# SPDX-License-Identifier: Apache-2.0
"""Report the statistics of SPDL's pipelines to perfd, or read them from files of SPDL.

    import perfd_spdl
    perfd_spdl.install()

Pipelines that are built afterwards report the statistics of their stages and queues at each interval, and the rest when a stage ends. If
a pipeline is built with hooks or queues of its own, pass `perfd_spdl.Hook` and `perfd_spdl.queue`. No function of this module waits for
perfd or fails without perfd; see perfd_pipeline.

The queues are objects of SPDL's own class StatsQueue, because SPDL serves the training loop from a queue of another class more
slowly. Such a queue does not measure how long the loop waits, so install() times Pipeline.get_item().

Works with SPDL 0.6 and newer.

    python3 -m perfd_spdl import FILE... | perfctl pipeline submit --job JOB --producer spdl=VERSION -

writes a line for each interval in databases, exports and logs of SPDL, which need not be installed.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import datetime
import functools
import importlib.metadata
import inspect
import io
import json
import math
import os
import re
import sqlite3
import statistics
import sys
import threading
import time
import urllib.parse
import weakref
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Iterable, Iterator, NoReturn

import perfd_pipeline

Line = Dict[str, Any]  # of perfctl pipeline submit
Values = Dict[str, Any]

if __name__ == "__main__" and not TYPE_CHECKING:
    StatsQueue = TaskStatsHook = object  # files are read without SPDL
else:
    import spdl.pipeline
    from spdl.pipeline import StatsQueue, TaskStatsHook

INTERVAL_S = 5.0
WAITS_MAX = 65536  # of an interval
HELD_S = 300.0  # for which intervals wait for a first batch: a program may take them out of the pipeline in a way of its own


class _State:
    """State that install() sets for the process."""

    interval = INTERVAL_S
    get_item: Any = None  # Pipeline.get_item() before install()
    waits: dict[str | None, collections.deque[float]] = {}  # by the label of the sink: times for which the loop waited
    queues: Any = None  # reporting queues, and whether SPDL logs their statistics as well
    stage_info: Any = None  # SPDL's function before install()
    executors: dict[str, Any] = {}  # by the label of a stage: the executor that runs its tasks; None: the pipeline's own threads
    in_order: set[str] = set()  # labels of stages that give their items in the order of the input
    running: dict[int, _Running] = {}  # pipelines by their number
    lock = threading.Lock()


def _label(info: Any) -> str:
    return perfd_pipeline.label(info.pipeline_id, info.stage_id, info.stage_name, info.concurrency)


def _version() -> str:
    """Return the version of the package that has the module, which is not always that of the package that pip was told."""
    for package in ("spdl-core", "spdl"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(package)
    return "unknown"


class _Pool:
    """Threads or processes that run the tasks of stages, and the share of the probes at which a task waited for one of them."""

    def __init__(self, executor: Any, is_shared: bool) -> None:
        self._executor, self._is_shared = weakref.ref(executor), is_shared
        self.stages: list[str] = []
        self.threads: Any = getattr(executor, "_max_workers", None)
        self._n = self._n_waiting = 0

    def probe(self) -> None:
        executor = self._executor()
        waiting = getattr(executor, "_work_queue", None)
        items: Any = getattr(executor, "_pending_work_items", None)  # of a pool of processes: those that run, as well
        if waiting is not None or items is not None:
            self._n += 1
            self._n_waiting += waiting.qsize() > 0 if waiting is not None else len(items) > self.threads

    def description(self) -> Line:
        return {"threads": self.threads, "shared": self._is_shared, "stages": self.stages,
                **({"waiting": round(self._n_waiting / self._n, 3)} if self._n else {})}


class _Running:
    """A pipeline that runs. Its methods are called in the thread of its event loop, unless they say otherwise."""

    def __init__(self, number: int) -> None:
        self.number, self._loop, self._pid = number, asyncio.get_running_loop(), os.getpid()
        self._laps: dict[tuple[str, str], Callable[[], None]] = {}  # by label and part: reports the interval until now
        # Lines before the first batch, by label and part. None: it has come.
        self._held: dict[tuple[str, str], Line] | None = {} if _State.get_item else None
        self._pools: dict[Any, _Pool] = {}
        self._described, self._begin = 0.0, time.monotonic()
        self._times: dict[tuple[str, str], float] = {}  # of the last line, by label and part
        self.first_tasks: dict[str, perfd_pipeline.FirstTasks] = {}  # by label
        perfd_pipeline.process.watchers.append(self._probe)

    def begin(self, info: Any, part: str, lap: Callable[[], None]) -> None:
        if not self._laps:
            self._describe()
        self._laps[_label(info), part] = lap
        executor = _State.executors.get(str(info), self)
        if part == "tasks" and executor is not self:
            is_shared, executor = executor is None, executor or getattr(self._loop, "_default_executor", None)
            if executor not in self._pools and getattr(executor, "_max_workers", None):
                self._pools[executor] = _Pool(executor, is_shared)
            if executor in self._pools:
                self._pools[executor].stages.append(info.stage_name)

    def end(self, info: Any, part: str) -> None:
        """Report the rest of a stage. What was held, if no batch ever came, is reported as well."""
        self._laps.pop((_label(info), part))()
        if self._held:
            self._send(self._held.pop((_label(info), part), None))
        if not self._laps:
            self._describe()
            perfd_pipeline.process.watchers.remove(self._probe)
            _State.running.pop(self.number, None)

    def add(self, part: str, line: Line) -> None:
        """Send an interval. All before the first batch is one interval, which no verdict counts."""
        key = line["stage"], part
        line["time"] = self._times[key] = perfd_pipeline.time_after(self._times.get(key, 0.0))
        if self._held is not None and time.monotonic() - self._begin > HELD_S:
            self._end_start()
        if self._held is None:
            self._send(line)
        else:
            self._held[key] = _merge(self._held[key], line) if key in self._held else line

    def take_first_batch(self) -> None:
        """Called in the thread of the training loop."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._end_start)

    def _end_start(self) -> None:
        for lap in list(self._laps.values()):
            lap()
        held, self._held = self._held, None
        for line in (held or {}).values():
            self._send(line)
        perfd_pipeline.process.start()

    def _send(self, line: Line | None) -> None:
        if line:
            perfd_pipeline.sender().send(line)
        if time.monotonic() - self._described >= _State.interval:
            self._describe()

    def _describe(self) -> None:
        """Send the version of SPDL, and the size of the pool of threads that the stages share."""
        self._described = time.monotonic()
        threads = getattr(getattr(self._loop, "_default_executor", None), "_max_workers", None)
        in_order = sorted({label for label, _ in self._times} & _State.in_order)
        pools = [pool.description() for pool in self._pools.values() if pool.stages]
        first_tasks = {label: times for label, first in self.first_tasks.items() if (times := first.description())}
        perfd_pipeline.sender().describe({"producer": f"spdl {_version()}", "pipeline": self.number,
                                          **({"threads": threads} if threads else {}),
                                          **({"pools": pools} if _State.stage_info else {}),
                                          **({"in_order": in_order} if in_order else {}),
                                          **({"first_tasks": first_tasks} if first_tasks else {})})

    def _probe(self) -> None:
        for pool in list(self._pools.values()):
            pool.probe()


def _running(info: Any) -> _Running:
    running = _State.running.get(info.pipeline_id)
    if not running or running._pid != os.getpid():
        running = _State.running[info.pipeline_id] = _Running(info.pipeline_id)
    return running


def _merge(held: Line, line: Line) -> Line:
    """Return the line of two intervals, one after the other. A percentile is the larger one."""
    count = "num_tasks" if "num_tasks" in line else "num_items"
    both = {**held, **line}
    for key in set(held) & set(line):
        if key in ("elapsed", "num_failures", count):
            both[key] = held[key] + line[key]
        elif key.startswith("ave_") or key == "occupancy_rate":
            weight = "elapsed" if key == "occupancy_rate" else count
            before, after = (each[weight] - (each.get("num_failures", 0) if weight == count else 0) for each in (held, line))
            both[key] = (held[key] * before + line[key] * after) / (before + after) if before + after > 0 else line[key]
        elif key.startswith("p9"):
            both[key] = max(held[key], line[key])
    return both


def _send_tasks(info: Any, stats: Any, elapsed: float) -> None:
    if stats.num_tasks > 0:
        _running(info).add("tasks", {
            "stage": _label(info), "elapsed": elapsed, "num_tasks": stats.num_tasks, "num_failures": stats.num_failures,
            "ave_time": max(0.0, stats.ave_time), "p90_time": stats.p90_time, "p99_time": stats.p99_time})


def _wait_times(info: Any, n_items: int) -> Line:
    """Return how long the training loop waited for the items since the last call; empty for other queues than the sink."""
    waits = _State.waits.get(str(info))
    if not waits or n_items <= 0:
        return {}
    times = sorted(waits.popleft() for _ in range(len(waits)))
    p90, p99 = (times[int(len(times) * share)] for share in (0.9, 0.99))
    # Beyond the limit, the latest times stand for all.
    return {"ave_get_time": sum(times) / (n_items if len(times) < WAITS_MAX else WAITS_MAX), "p90_get_time": p90, "p99_get_time": p99}


def _send_queue(info: Any, stats: Any, buffer_size: int) -> None:
    line = {"stage": _label(info), "elapsed": stats.elapsed, "num_items": stats.num_items, "ave_put_time": max(0.0, stats.ave_put_time),
            "p90_put_time": stats.p90_put_time, "p99_put_time": stats.p99_put_time, "ave_get_time": max(0.0, stats.ave_get_time),
            "p90_get_time": stats.p90_get_time, "p99_get_time": stats.p99_get_time, "occupancy_rate": stats.occupancy_rate,
            "buffer_size": buffer_size}
    line.update(_wait_times(info, stats.num_items))
    if stats.elapsed > 0:
        _running(info).add("queue", line)


class Hook(TaskStatsHook):
    """SPDL's TaskStatsHook, which also reports to perfd."""

    def __init__(self, info: Any, interval: float = -1) -> None:
        self._logs = interval > 0
        self._lap = 0.0
        super().__init__(info, interval if self._logs else _State.interval)
        self._first = perfd_pipeline.FirstTasks(info.concurrency)
        if self._first.are_open():
            self.task_hook: Any = self._first_task_hook

    @contextlib.asynccontextmanager
    async def _first_task_hook(self: Any, *args: Any) -> AsyncIterator[None]:
        """Time a task as one of the first. Those after them are left to the method of the class."""
        with self._first.time():
            if not self._first.are_open():
                self.__dict__.pop("task_hook", None)
            async with type(self).task_hook(self, *args):
                yield

    def _report(self, stats: Any) -> None:
        now = time.monotonic()
        _send_tasks(self.info, stats, now - self._lap)
        self._lap = now

    async def interval_stats_callback(self: Any, stats: Any) -> None:
        self._report(stats)
        if self._logs:
            await super().interval_stats_callback(stats)

    @contextlib.asynccontextmanager
    async def stage_hook(self: Any) -> AsyncIterator[None]:
        self._lap = time.monotonic()
        running = _running(self.info)
        running.first_tasks[_label(self.info)] = self._first
        running.begin(self.info, "tasks", lambda: self._report(self._get_lap_stats()))
        try:
            async with super().stage_hook():
                yield
        finally:
            running.end(self.info, "tasks")


def queue(info: Any, *, buffer_size: int = 1, interval: float = -1) -> Any:
    """Return a StatsQueue that also reports to perfd."""
    _extend_queues()
    logs = interval > 0
    made = StatsQueue(info, buffer_size=buffer_size, interval=interval if logs else _State.interval)
    _State.queues[made] = logs
    return made


def _extend_queues() -> None:
    """Make the class StatsQueue report the queues of _State.queues. Further attributes of a queue would slow all its methods down."""
    if _State.queues is not None:
        return
    _State.queues = weakref.WeakKeyDictionary()
    log, hook = StatsQueue.interval_stats_callback, StatsQueue.stage_hook

    @functools.wraps(log)
    async def interval_stats_callback(self: Any, stats: Any) -> None:
        logs = _State.queues.get(self)
        if logs is not None:
            _send_queue(self.info, stats, self.maxsize)
        if logs is not False:
            await log(self, stats)

    @functools.wraps(hook)
    @contextlib.asynccontextmanager
    async def stage_hook(self: Any) -> AsyncIterator[None]:
        if self not in _State.queues:
            async with hook(self):
                yield
            return
        running = _running(self.info)
        running.begin(self.info, "queue", lambda: _send_queue(self.info, self._get_lap_stats(), self.maxsize))
        try:
            async with hook(self):
                yield
        finally:
            running.end(self.info, "queue")
            _State.waits.pop(str(self.info), None)

    StatsQueue.interval_stats_callback, StatsQueue.stage_hook = interval_stats_callback, stage_hook


def _begin_waits(pipeline: Any, elapsed: float) -> Any:
    """Return the times for which the loop waits for a pipeline, of which the first batch took `elapsed` seconds."""
    # An SPDL that keeps the queue of the sink elsewhere does not say which pipeline it is.
    info = getattr(getattr(getattr(pipeline, "_impl", None), "_output_queue", None), "info", None)
    with _State.lock:
        waits = _State.waits.setdefault(str(info) if info else None, collections.deque(maxlen=WAITS_MAX))
    perfd_pipeline.sender().send(perfd_pipeline.first_batch(elapsed))
    for running in list(_State.running.values()):
        if not info or running.number == info.pipeline_id:
            running.take_first_batch()
    return waits


def _timed(get_item: Callable[..., Any], monotonic: Callable[[], float] = time.monotonic) -> Callable[..., Any]:
    # Each instruction here counts: the training loop holds the interpreter's lock, for which the threads of the stages wait.
    @functools.wraps(get_item)
    def get(self: Any, **kwargs: Any) -> Any:
        begin = monotonic()
        item = get_item(self, **kwargs)
        elapsed = monotonic() - begin
        try:
            self._perfd_add_wait(elapsed)
        except AttributeError:
            self._perfd_add_wait = _begin_waits(self, elapsed).append  # the wait for the first batch is an event
        return item

    return get


def _watch_executors() -> None:
    """Remember which executor runs the tasks of a stage, and its order, which SPDL's hooks do not tell. Coroutines need no thread."""
    node: Any = getattr(spdl.pipeline._components, "_node", None)
    if _State.stage_info or not hasattr(node, "_get_stage_info"):
        return
    _State.stage_info = node._get_stage_info

    @functools.wraps(_State.stage_info)
    def stage_info(config: Any, *args: Any) -> Any:
        info, stage = _State.stage_info(config, *args), getattr(config, "_args", None)
        if stage is not None and not _is_async(stage.op):
            _State.executors[str(info)] = stage.executor
        if getattr(getattr(config, "_type", None), "name", None) == "OrderedPipe":
            _State.in_order.add(_label(info))
        return info

    node._get_stage_info = stage_info


def _is_async(op: object) -> bool:
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in (op, getattr(op, "__call__", None)))


def install(interval: float = INTERVAL_S) -> None:
    """Make the pipelines that are built from now on report every `interval` seconds. Pipelines with a reporting interval keep theirs."""
    from spdl.pipeline import config

    _State.interval = interval
    _watch_executors()
    config.set_default_hook_class(Hook)
    config.set_default_queue_class(queue)
    if not _State.get_item:
        _State.get_item = spdl.pipeline.Pipeline.get_item
        spdl.pipeline.Pipeline.get_item = _timed(_State.get_item)


def uninstall() -> None:
    """Undo install() for the pipelines that are built from now on."""
    from spdl.pipeline import config

    config.set_default_hook_class()
    config.set_default_queue_class()
    if _State.get_item:
        spdl.pipeline.Pipeline.get_item = _State.get_item
        _State.get_item = None


# --- files ----------------------------------------------------------------------------------------

SECONDS_MAX = 1e10  # of a time or a duration
_SUFFIX = "_queue"
_LABEL = r"\d[\d_]*:(?:\d[\d_]*:)?.+"
_MEMBERS = {  # of a line of perfctl pipeline submit, by part and name of a value
    "tasks": {"elapsed": "elapsed", "count": "num_tasks", "failures": "num_failures", "mean": "ave_time", "p90": "p90_time",
              "p99": "p99_time"},
    "queue": {"elapsed": "elapsed", "count": "num_items", "mean": "ave_put_time", "p90": "p90_put_time", "p99": "p99_put_time",
              "get": "ave_get_time", "get_p90": "p90_get_time", "get_p99": "p99_get_time", "ready": "occupancy_rate"},
}
_NEEDED = {"tasks": ("count", "mean"), "queue": ("count", "mean", "elapsed", "get")}


class _Refused(Exception):
    """A file or a row has an error: what is wrong, a fix, and the place in the file."""

    def __init__(self, text: str, place: str = "") -> None:
        super().__init__(text)
        self.place = place


class _Row:
    """The tasks or the queue of a stage in one interval. A value is a float, None, or what the file has instead of a number."""

    def __init__(self, place: str, at: int, stage: str, part: str, end: Any, values: Values) -> None:
        self.place, self.at, self.stage, self.part, self.end, self.values = place, at, stage, part, end, values

    def known(self, name: str) -> float:
        return self.values.get(name) or 0.0

    def refuse(self, text: str) -> NoReturn:
        raise _Refused(text, self.place)

    def line(self) -> Line:
        """Return the line of perfctl pipeline submit. Raises _Refused for a value that is not possible."""
        if not re.fullmatch(_LABEL, self.stage):
            self.refuse(f'"stage" is "{self.stage}", expected PIPELINE:POSITION:NAME[CONCURRENCY] or POSITION:NAME')
        numbers = {"time": self.end, **{member: self.values.get(name) for name, member in _MEMBERS[self.part].items()}}
        needed = {"time", *(_MEMBERS[self.part][name] for name in _NEEDED[self.part])}
        for member, value in numbers.items():
            limit = 1 if member == "occupancy_rate" else SECONDS_MAX
            if value is None and member in needed:
                self.refuse(f'"{member}" is missing')
            if not isinstance(value, (float, type(None))):
                self.refuse(f'"{member}" is {value!r:.40}, expected a number')
            if value is not None and not 0 <= value <= limit and not (member.startswith("num_") and value > 0):
                self.refuse(f'"{member}" is {value:g}, expected 0 to {limit:g}')
        if self.known("failures") > self.values["count"]:
            self.refuse(f'"num_failures" is {self.known("failures"):g} of {self.values["count"]:g} tasks: "num_tasks" '
                        "includes the failed tasks")
        return {"stage": self.stage, **{member: value for member, value in numbers.items() if value is not None}}


def _value(value: Any) -> Any:
    """Return the float that a number or its text is, and anything else as it is."""
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):
            return float(value) if math.isfinite(float(value)) else value
    return value


def _read_database(path: str) -> Iterator[_Row | Line]:
    """Yield the rows of the tables of SPDL's statistics logger, then a line for each run of the garbage collector."""
    uri = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro"
    place, begin = ": task_stats", None
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            database.row_factory = sqlite3.Row
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
            if "task_stats" not in tables:
                raise _Refused("no table task_stats; expected the tables task_stats and queue_stats of SPDL's statistics logger")
            for table, part in (("task_stats", "tasks"), ("queue_stats", "queue")):
                names = {member: name for name, member in _MEMBERS[part].items()}
                query = f"SELECT rowid AS row, * FROM {table} ORDER BY timestamp, rowid"
                for row in database.execute(query) if table in tables else ():
                    place = f": {table}, row {row['row']}"
                    stage = str(row["name"])
                    stage = stage[:-len(_SUFFIX)] if stage.endswith(_SUFFIX) else stage
                    values = {names[key]: _value(row[key]) for key in row.keys() if key in names}
                    yield _Row(place, row["row"], stage, part, _value(row["timestamp"]), values)
            events = "SELECT rowid, event_name, timestamp FROM event_stats ORDER BY timestamp, rowid"
            for number, name, now in database.execute(events) if "event_stats" in tables else ():
                place = f": event_stats, row {number}"
                if name == "gc_stop" and begin is not None:
                    yield {"event": "gc", "time": begin, "seconds": now - begin}
                begin = now if name == "gc_start" else None if name == "gc_stop" else begin
    except (sqlite3.Error, IndexError, TypeError) as error:
        raise _Refused(f"{error}; expected a database of SPDL's statistics logger", place) from error


# --- exports --------------------------------------------------------------------------------------

_TASK_LISTS = {"num_tasks": "count", "num_failures": "failures", "ave_time": "mean"}
_QUEUE_LISTS = {"num_items": "count", "qps": "rate", "ave_put_time": "mean", "put": "mean", "ave_get_time": "get", "get": "get",
                "occupancy_rate": "ready", "occupation_rate": "ready", "timestamp": "end"}
_KEY = re.compile(f"(?:pipeline:)?({_LABEL}?)(?:_({'|'.join(_TASK_LISTS)})|(_queue)?_({'|'.join(_QUEUE_LISTS)}))")


def _find_lists(members: Iterable[tuple[str, Any]]) -> tuple[dict[str, dict[str, dict[str, list[Any]]]], list[Any] | None]:
    """Return the lists of an export by stage, part and name of the value, and the list of times that all stages share."""
    stages: dict[str, dict[str, dict[str, list[Any]]]] = {}
    shared = None
    for key, values in members:
        match = _KEY.fullmatch(key)
        if key == "event_time" and isinstance(values, list):
            shared = values
        if not match:
            continue
        stage, of_tasks, of_queue, of_both = match.groups()
        part = "tasks" if of_tasks or (of_both == "timestamp" and not of_queue) else "queue"
        name = _TASK_LISTS[of_tasks] if of_tasks else _QUEUE_LISTS[of_both]
        lists = stages.setdefault(stage, {"tasks": {}, "queue": {}})[part]
        if not isinstance(values, list):
            raise _Refused(f"'{key}' is not a list; expected a list with a value for each interval")
        if name in lists:
            raise _Refused(f"'{key}' is a second list of these values for the same stage; give each pipeline a file of its own")
        lists[name] = [_value(value) for value in values]
    if not stages:
        raise _Refused('no member is a stage of a pipeline, such as "0:1:decode_num_tasks"')
    return stages, shared and [_value(value) for value in shared]


def _complete(values: Values, spacing: float | None) -> None:
    """Compute the elapsed time, or the number of items, from the other one and the rate."""
    rate, count = values.pop("rate", None), values.get("count")
    values["elapsed"] = spacing
    if count is None and spacing and isinstance(rate, float):
        values["count"] = count = float(round(rate * spacing))  # a number of items, as the rate is that of whole items
    if isinstance(rate, float) and isinstance(count, float) and rate > 0 and count > 0:
        values["elapsed"] = count / rate


def _read_part(stage: str, part: str, lists: dict[str, list[Any]], times: list[Any] | None) -> tuple[list[_Row], int]:
    """Return the rows of a part of a stage, and the number of intervals that were left out."""
    lengths = sorted({len(values) for values in lists.values()}, reverse=True) or [0]
    if len(lengths) > 1:
        raise _Refused(f"the lists have {lengths[0]} and {lengths[1]} values; each needs one for each interval",
                       f": stage '{stage}', {part}")
    ends: list[Any] = [end if isinstance(end, float) and end >= 0 else None for end in (times or [])[:lengths[0]]]
    ends += [None] * (lengths[0] - len(ends))
    spaces = [end - before for before, end in zip(ends, ends[1:]) if None not in (before, end) and end > before]
    rows = []
    for i, end in enumerate(ends):
        values = {name: numbers[i] for name, numbers in lists.items()}
        _complete(values, statistics.median(spaces) if spaces else None)
        if (i == 0 or end is None or end != ends[i - 1]) and all(values.get(name) is not None for name in _NEEDED[part]):
            rows.append(_Row(f": stage '{stage}', {part}, interval {i + 1}", i, stage, part, end, values))
    return rows, lengths[0] - len(rows)


def _read_export(text: str) -> tuple[list[_Row], int]:
    """Return the rows of an export, and the number of intervals that were left out."""
    rows, n_left_out = [], 0
    try:
        stages, shared = _find_lists(json.loads(text, object_pairs_hook=tuple))
    except json.JSONDecodeError as error:
        raise _Refused(f"{error.msg}; expected one JSON object", f":{error.lineno}:{error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise _Refused(f"{error}; expected one JSON object") from error
    for stage, parts in stages.items():
        of_tasks, of_queue = (parts[part].pop("end", None) for part in ("tasks", "queue"))
        tasks, n_tasks = _read_part(stage, "tasks", parts["tasks"], of_tasks or of_queue or shared)
        queue, n_queue = _read_part(stage, "queue", parts["queue"], of_queue or of_tasks or shared)
        if len(tasks) == len(queue):  # the elapsed time of the queue is more exact than the spacing of the times
            for row in tasks:
                row.values["elapsed"] = None
        rows += tasks + queue
        n_left_out += n_tasks + n_queue
    return rows, n_left_out


# --- logs -----------------------------------------------------------------------------------------

_STEP_S = 1e-3  # by which two intervals of a queue differ at least
_DATE = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:([Zz])|([+-]\d\d):?(\d\d))?")
_UNITS = {"us": 1e-6, "ms": 1e-3, "sec": 1.0}
_SECONDS = r" *(\d+(?:\.\d+)?) *\[ *(us|ms|sec)\]"
_LOGGED = {
    "Completed": ("tasks", ("count", "failures", "mean", "p90", "p99"),
                  re.compile(r"Completed +(\d+)() tasks \( *(\d+)().*?task time:{0}(?:.*?P90:{0}.*?P99:{0})?".format(_SECONDS))),
    "Processed": ("queue", ("count", "elapsed", "mean", "get", "p90", "get_p90", "p99", "get_p99", "ready"),
                  re.compile(r"Processed +(\d+)() items in{0}.*?put:{0}.*?get \(by next stage\):{0}"
                             r"(?:.*?P90: put:{0}.*?get:{0}.*?P99: put:{0}.*?get:{0})?.*?Occupancy rate: *(\d+)(%)".format(_SECONDS))),
}


def _find_time(text: str) -> Any:
    """Return the first date and time in a text in seconds since 1970, or None. A time without Z or an offset is the local time."""
    for match in _DATE.finditer(text):
        with contextlib.suppress(ValueError, OverflowError):
            numbers: Any = map(int, match.groups()[:6])
            date = datetime.datetime(*numbers)
            if match[8] or match[9]:
                minutes = 60 * int(match[9] or 0) + int(f"{(match[9] or '+')[0]}{match[10] or 0}")
                date = date.replace(tzinfo=datetime.timezone(datetime.timedelta(minutes=minutes)))
            return date.timestamp() + float(f"0.{match[7] or 0}")
    return None


def _split_line(line: str) -> tuple[str, str, str, str] | None:
    """Return the kind, the stage and the texts around the stage of a line with statistics, or None. A name may have brackets itself."""
    match: Any = re.search(r"\][ \t]*(Completed|Processed) ", line)
    depth = 0
    for i in range(match.start() if match else -1, -1, -1):
        depth += (line[i] == "]") - (line[i] == "[")
        if depth == 0:
            stage = line[i + 1:match.start()]
            if match[1] == "Processed" and stage.endswith(_SUFFIX):
                stage = stage[:-len(_SUFFIX)]
            return (match[1], stage, line[:i], line[match.start(1):]) if re.fullmatch(_LABEL, stage) else None
    return None


def _read_numbers(names: Iterable[str], pattern: re.Pattern[str], text: str) -> Values:
    match = pattern.match(text)
    pairs = zip(match.groups()[::2], match.groups()[1::2]) if match else ()
    factors = {**_UNITS, "": 1.0, "%": 0.01}
    return {name: float(number) * factors[unit] for name, (number, unit) in zip(names, pairs) if number is not None}


def _read_log(lines: Iterable[str]) -> tuple[list[_Row], int]:
    """Return the rows of a log, and the number of truncated lines.

    A line that two handlers have logged counts once. Another one with the same time, as in a log without fractions of a second, is an
    interval of its own.
    """
    rows: list[_Row] = []
    last: dict[tuple[str, str], tuple[Any, Any]] = {}
    n_left_out, resolution = 0, 1.0
    for at, line in enumerate(lines, 1):
        found = _split_line(line)
        if not found:
            continue
        kind, stage, before_stage, text = found
        part, names, pattern = _LOGGED[kind]
        values, logged = _read_numbers(names, pattern, text), _find_time(before_stage)
        if not values:
            n_left_out += 1
            continue
        row = _Row(f":{at}", at, stage, part, logged, values)
        before, before_logged = last.get((stage, part), (None, None))
        if logged is not None and before_logged == logged and before.values == values:
            continue
        if before and None not in (logged, before.end) and before.end - 1 < logged <= before.end:
            row.end = before.end + _STEP_S
        last[stage, part] = row, logged
        resolution = _STEP_S if logged is not None and logged % 1 else resolution
        rows.append(row)
    if not rows:
        raise _Refused("neither a database or a JSON object of SPDL, nor a log with lines such as '[0:1:decode] Completed "
                       "5 tasks (0 failed)'")
    return _split_totals(rows, resolution), n_left_out


# --- totals of a run ------------------------------------------------------------------------------
#
# At the end of a run SPDL logs the totals, and not the last interval, which is shorter than the others. A line of a queue has totals if
# it has at least as many items as all lines before it, and lasts as long, and if the logged time does not contradict: its start is the
# begin of the run and not the end of the line before it. The tasks of a stage end before its queue, so the last line of its tasks before
# the totals of the queue has totals as well.

_ROUNDING_S = 0.05  # of the elapsed time in a line: times from a second on have one decimal
_SHARE_MIN = 0.1  # of the run: the means of a shorter interval cannot be computed from the digits of a line
_SOONER_MAX = 0.9  # of an interval
_CLEAR = 4  # times the resolution of the log's times: the start of a shorter interval is not known well enough


class _Run:
    """Sums over the intervals of a part of a stage."""

    def __init__(self) -> None:
        self.n = 0
        self.begin: Any = None
        self.end: Any = None
        self.spacing: Any = None
        self.elapsed = self.count = self.failures = self.mean_s = self.get_s = self.ready_s = 0.0

    def add(self, row: _Row) -> None:
        known = row.known
        self.spacing = row.end - self.end if None not in (row.end, self.end) else None
        if self.n == 0 and row.end is not None:
            self.begin = row.end - known("elapsed")
        self.n += 1
        self.end = row.end
        self.elapsed += known("elapsed")
        self.count += known("count")
        self.failures += known("failures")
        self.mean_s += (known("count") - known("failures")) * known("mean")
        self.get_s += known("count") * known("get")
        self.ready_s += known("elapsed") * known("ready")

    def is_followed_by_totals(self, row: _Row, resolution: float) -> Any:
        elapsed = row.known("elapsed")
        if self.n == 0 or row.known("count") < self.count or elapsed < self.elapsed - _ROUNDING_S * (self.n + 1):
            return False
        if None not in (row.end, self.begin, self.end) and elapsed > _CLEAR * resolution:
            begin = row.end - elapsed
            return abs(begin - self.begin) < abs(begin - self.end)
        return self.n > 1 or elapsed > self.elapsed + 2 * _ROUNDING_S

    def is_followed_by_task_totals(self, row: _Row) -> bool:
        """Recognize totals of tasks whose queue is not in the log: they come sooner than an interval would."""
        return (self.n > 1 and 0 < self.count <= row.known("count") and
                (None in (row.end, self.end, self.spacing) or row.end - self.end < _SOONER_MAX * self.spacing))

    def subtract_from(self, row: _Row) -> bool:
        """Replace totals by their difference to the intervals. Returns False if the run ended at the end of an interval."""
        values, known = row.values, row.known
        count, successes, elapsed = known("count"), known("count") - known("failures"), known("elapsed")
        left = max(0.0, count - self.count)
        failures_left = min(left, max(0.0, known("failures") - self.failures))
        elapsed_left = max(0.0, elapsed - self.elapsed)
        values["mean"] = _left_mean(successes * known("mean"), successes, self.mean_s, left - failures_left)
        if row.part == "queue":
            values["get"] = _left_mean(count * known("get"), count, self.get_s, left)
            values["ready"] = min(1.0, _left_mean(elapsed * known("ready"), elapsed, self.ready_s, elapsed_left))
            values["elapsed"] = elapsed_left
        else:
            values["failures"] = failures_left
        values["count"] = left
        values.update(dict.fromkeys(("p90", "p99", "get_p90", "get_p99")))
        if None not in (row.end, self.end):
            row.end = max(row.end, self.end + _STEP_S)
        return left > 0 or elapsed_left > 2 * _ROUNDING_S


def _left_mean(total: float, n_total: float, before: float, n_left: float) -> float:
    """Return the mean of the rest of a run, or the mean of the whole run if the rest is small."""
    if n_left <= 0:
        return 0.0
    return total / n_total if n_left < _SHARE_MIN * n_total else max(0.0, (total - before) / n_left)


def _split_totals(rows: list[_Row], resolution: float) -> list[_Row]:
    """Replace the totals among the rows of a log. resolution: of the times in the log, in seconds."""
    queues: dict[str, _Run] = {}
    empty, has_queue = set(), {row.stage for row in rows if row.part == "queue"}
    tasks: dict[str, tuple[_Run, _Row]] = {}  # by stage: the run without its last row, and this row

    def end_tasks(stage: str, has_totals: bool) -> None:
        run, row = tasks.pop(stage)
        if has_totals and run.n > 0 and not run.subtract_from(row):
            empty.add(row)

    for row in rows:
        if row.part == "tasks":
            run, before = tasks.get(row.stage, (_Run(), None))
            if before:
                run.add(before)
            tasks[row.stage] = run, row
            continue
        run = queues.setdefault(row.stage, _Run())
        if not run.is_followed_by_totals(row, resolution):
            run.add(row)
            continue
        if not run.subtract_from(row):
            empty.add(row)
        del queues[row.stage]
        if row.stage in tasks:
            run, last = tasks[row.stage]
            end_tasks(row.stage, last.known("count") >= run.count)
    for stage in tasks.keys() - has_queue:
        run, last = tasks[stage]
        end_tasks(stage, run.is_followed_by_task_totals(last))
    return [row for row in rows if row not in empty]


# --- the command ----------------------------------------------------------------------------------

def _date_rows(rows: list[_Row], begin: Any) -> list[_Row]:
    """Give rows without a time one: the intervals of a queue follow each other, and the tasks of a stage have those of its queue."""
    ends: dict[str, list[float]] = {}
    for row in rows:
        if row.end is None and begin is None:
            row.refuse('no date and time: before the stage in a log, as 2026-11-23 05:12:37, or in a list "event_time" of an '
                       "export; use --begin with the time at which the pipeline began; the intervals then follow each other")
        if row.part == "queue":
            before = ends.setdefault(row.stage, [])
            if row.end is None:
                row.end = (before[-1] if before else begin) + max(0.0, row.known("elapsed"))
            before.append(row.end)
    used: collections.Counter[str] = collections.Counter()
    for row in rows:
        if row.part == "tasks":
            if row.end is None and used[row.stage] >= len(ends.get(row.stage, ())):
                row.refuse("the tasks have no time, and no interval of their queue has one: add a time to each line, or leave "
                           "out the line")
            if row.end is None:
                row.end = ends[row.stage][used[row.stage]]
            used[row.stage] += 1
    return sorted(rows, key=lambda row: (row.end, row.at))


def _read_file(path: str, begin: float | None, say: Callable[..., None]) -> Iterator[_Row | Line]:
    """Yield the rows and lines of a file, whose kind is recognized by the content."""
    source: Any = open(path, "rb") if path != "-" else contextlib.nullcontext(sys.stdin.buffer)
    with source as file:
        head = file.peek(64)[:64]
        if head.startswith(b"SQLite format 3\0"):
            if path == "-":
                raise _Refused("a database must be a file, not a pipe")
            yield from _read_database(path)
            return
        text = io.TextIOWrapper(file, "utf-8", "replace", newline="\n")
        rows, n_left_out = _read_export(text.read()) if head.lstrip().startswith(b"{") else _read_log(text)
    if n_left_out:
        say(f"left out {n_left_out} interval{'s' * (n_left_out != 1)} with missing values, repeated times or a truncated line")
    yield from _date_rows(rows, begin)


def _import_file(path: str, begin: float | None) -> int:
    """Print the lines of a file. Returns the number of errors, which are printed as well."""
    n_errors = 0

    def say(text: object, place: str = "") -> None:
        print(f"perfd_spdl: {'standard input' if path == '-' else path}{place}: {text}", file=sys.stderr)

    try:
        for row in _read_file(path, begin, say):
            try:
                print(json.dumps(row.line() if isinstance(row, _Row) else row))
            except _Refused as error:
                n_errors += 1
                say(error, error.place)
    except BrokenPipeError:
        raise
    except (_Refused, OSError) as error:
        n_errors += 1
        say(getattr(error, "strerror", None) or error, getattr(error, "place", ""))
    return n_errors


def _parse_begin(text: str) -> Any:
    begin = _find_time(text)
    if begin is None:
        raise argparse.ArgumentTypeError(f"expects a date and time such as '2026-11-23 05:12:36' or 2026-11-23T04:12:36Z, not '{text}'")
    return begin


def main() -> int:
    """Run the command, and return its exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m perfd_spdl", description="Read statistics from files of SPDL.")
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "import", help="write the intervals of databases, exports and logs as lines of perfctl pipeline submit")
    command.add_argument("--begin", type=_parse_begin, metavar="TIME",
                         help="time at which the pipelines began, for intervals without a time")
    command.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    try:
        n_errors = sum([_import_file(file, options.begin) for file in options.files])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has ended, and has said why
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 1 if n_errors else 0


if __name__ == "__main__":
    sys.exit(main())
