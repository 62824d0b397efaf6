# SPDX-License-Identifier: Apache-2.0
"""Report the statistics of SPDL's pipelines to perfd.

    import perfd_spdl
    perfd_spdl.install()

Pipelines that are built afterwards report the statistics of their stages and queues at each interval, and the rest when a stage ends. If
a pipeline is built with hooks or queues of its own, pass `perfd_spdl.Hook` and `perfd_spdl.queue`. No function of this module waits for
perfd or fails without perfd; see perfd_pipeline.

The queues are objects of SPDL's own class StatsQueue, because SPDL serves the training loop from a queue of another class more
slowly. Such a queue does not measure how long the loop waits, so install() times Pipeline.get_item().

Works with SPDL 0.6 and newer.
"""

import asyncio
import collections
import contextlib
import functools
import importlib.metadata
import os
import threading
import time
import weakref

import perfd_pipeline
import spdl.pipeline
from spdl.pipeline import StatsQueue, TaskStatsHook

INTERVAL_S = 5.0
WAITS_MAX = 65536  # of an interval
_PRODUCER = f"spdl {importlib.metadata.version('spdl')}"


class _State:
    """State that install() sets for the process."""

    interval = INTERVAL_S
    get_item = None  # Pipeline.get_item() before install()
    waits = {}  # by the label of the sink: times for which the loop waited
    queues = None  # reporting queues, and whether SPDL logs their statistics as well
    described = None  # process and number of the pipeline whose description was sent last
    lock = threading.Lock()


def _label(info):
    return perfd_pipeline.label(info.pipeline_id, info.stage_id, info.stage_name, info.concurrency)


def _send(line):
    perfd_pipeline.sender().send({**line, "time": round(time.time(), 3)})


def _describe(info):
    """Send the version of SPDL, and the size of the pool of threads that the stages share, once for each pipeline."""
    described = os.getpid(), info.pipeline_id
    if described == _State.described:
        return
    _State.described = described
    pool = getattr(asyncio.get_running_loop(), "_default_executor", None)
    threads = getattr(pool, "_max_workers", None)
    perfd_pipeline.sender().send({"producer": _PRODUCER, **({"threads": threads} if threads else {})})


def _send_tasks(info, stats, elapsed):
    if stats.num_tasks > 0:
        _send({"stage": _label(info), "elapsed": elapsed, "num_tasks": stats.num_tasks, "num_failures": stats.num_failures,
               "ave_time": max(0.0, stats.ave_time), "p90_time": stats.p90_time, "p99_time": stats.p99_time})


def _wait_times(info, n_items):
    """Return how long the training loop waited for the items since the last call; empty for other queues than the sink."""
    waits = _State.waits.get(str(info))
    if not waits or n_items <= 0:
        return {}
    times = sorted(waits.popleft() for _ in range(len(waits)))
    p90, p99 = (times[int(len(times) * share)] for share in (0.9, 0.99))
    # Beyond the limit, the latest times stand for all.
    return {"ave_get_time": sum(times) / (n_items if len(times) < WAITS_MAX else WAITS_MAX), "p90_get_time": p90, "p99_get_time": p99}


def _send_queue(info, stats, buffer_size):
    line = {"stage": _label(info), "elapsed": stats.elapsed, "num_items": stats.num_items, "ave_put_time": max(0.0, stats.ave_put_time),
            "p90_put_time": stats.p90_put_time, "p99_put_time": stats.p99_put_time, "ave_get_time": max(0.0, stats.ave_get_time),
            "p90_get_time": stats.p90_get_time, "p99_get_time": stats.p99_get_time, "occupancy_rate": stats.occupancy_rate,
            "buffer_size": buffer_size}
    line.update(_wait_times(info, stats.num_items))
    if stats.elapsed > 0:
        _send(line)


class Hook(TaskStatsHook):
    """SPDL's TaskStatsHook, which also reports to perfd."""

    def __init__(self, info, interval=-1):
        self._logs = interval > 0
        self._lap = 0.0
        super().__init__(info, interval if self._logs else _State.interval)

    def _report(self, stats):
        now = time.monotonic()
        _send_tasks(self.info, stats, now - self._lap)
        self._lap = now

    async def interval_stats_callback(self, stats):
        self._report(stats)
        if self._logs:
            await super().interval_stats_callback(stats)

    @contextlib.asynccontextmanager
    async def stage_hook(self):
        self._lap = time.monotonic()
        _describe(self.info)
        try:
            async with super().stage_hook():
                yield
        finally:
            self._report(self._get_lap_stats())


def queue(info, *, buffer_size=1, interval=-1):
    """Return a StatsQueue that also reports to perfd."""
    _extend_queues()
    logs = interval > 0
    made = StatsQueue(info, buffer_size=buffer_size, interval=interval if logs else _State.interval)
    _State.queues[made] = logs
    return made


def _extend_queues():
    """Make the class StatsQueue report the queues of _State.queues. Further attributes of a queue would slow all its methods down."""
    if _State.queues is not None:
        return
    _State.queues = weakref.WeakKeyDictionary()
    log, hook = StatsQueue.interval_stats_callback, StatsQueue.stage_hook

    @functools.wraps(log)
    async def interval_stats_callback(self, stats):
        logs = _State.queues.get(self)
        if logs is not None:
            _send_queue(self.info, stats, self.maxsize)
        if logs is not False:
            await log(self, stats)

    @functools.wraps(hook)
    @contextlib.asynccontextmanager
    async def stage_hook(self):
        try:
            async with hook(self):
                yield
        finally:
            if self in _State.queues:
                _send_queue(self.info, self._get_lap_stats(), self.maxsize)
                _State.waits.pop(str(self.info), None)

    StatsQueue.interval_stats_callback, StatsQueue.stage_hook = interval_stats_callback, stage_hook


def _sink_of(pipeline):
    """Return the label of the pipeline's sink, or None with an SPDL that keeps it elsewhere."""
    info = getattr(getattr(getattr(pipeline, "_impl", None), "_output_queue", None), "info", None)
    return str(info) if info else None


def _begin_waits(pipeline, elapsed):
    """Return the times for which the loop waits for a pipeline, of which the first batch took `elapsed` seconds."""
    with _State.lock:
        waits = _State.waits.setdefault(_sink_of(pipeline), collections.deque(maxlen=WAITS_MAX))
    perfd_pipeline.sender().send(perfd_pipeline.first_batch(elapsed))
    return waits


def _timed(get_item, monotonic=time.monotonic):
    # Each instruction here counts: the training loop holds the interpreter's lock, for which the threads of the stages wait.
    @functools.wraps(get_item)
    def get(self, **kwargs):
        begin = monotonic()
        item = get_item(self, **kwargs)
        elapsed = monotonic() - begin
        try:
            self._perfd_add_wait(elapsed)
        except AttributeError:
            self._perfd_add_wait = _begin_waits(self, elapsed).append
            self._perfd_add_wait(elapsed)
        return item

    return get


def install(interval=INTERVAL_S):
    """Make the pipelines that are built from now on report every `interval` seconds. Pipelines with a reporting interval keep theirs."""
    from spdl.pipeline import config

    _State.interval = interval
    config.set_default_hook_class(Hook)
    config.set_default_queue_class(queue)
    if not _State.get_item:
        _State.get_item = spdl.pipeline.Pipeline.get_item
        spdl.pipeline.Pipeline.get_item = _timed(_State.get_item)


def uninstall():
    """Undo install() for the pipelines that are built from now on."""
    from spdl.pipeline import config

    config.set_default_hook_class()
    config.set_default_queue_class()
    if _State.get_item:
        spdl.pipeline.Pipeline.get_item = _State.get_item
        _State.get_item = None
