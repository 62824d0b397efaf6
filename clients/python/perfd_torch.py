# SPDX-License-Identifier: Apache-2.0
"""Report how PyTorch's DataLoader feeds a training loop to perfd.

    from perfd_torch import DataLoader              # instead of torch.utils.data.DataLoader

    for batch in DataLoader(dataset, batch_size=32, num_workers=4):
        ...

or, where a trainer makes the loaders:

    import perfd_torch
    perfd_torch.install()

Reports how long the loop waits for each batch, and how long the workers take to fetch the samples of a batch and to collate them. The
workers count in memory that they share with the training process. The dataset is not wrapped, so that a worker_init_fn finds the original
object. No function of this module waits for perfd or fails without perfd; see perfd_pipeline.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import math
import multiprocessing.context
import time
import weakref
from typing import Any, Callable, Iterator

import perfd_pipeline
import torch.utils.data
import torch.utils.data._utils.fetch

INTERVAL_S = 5.0
WORKERS_MAX, LOADERS_MAX = 256, 8  # that a description has
_numbers = itertools.count()


class _Counters:
    """What each worker measures of its batches, from fetching the samples to collating them. A worker writes only its own numbers."""

    N, SECONDS, LOG, OBSERVED, CPU, CPU_WAIT, SIZE = range(7)  # LOG: sum of logarithms; of OBSERVED seconds, those on and without a CPU
    EACH = 4  # batches, of which one is observed

    def __init__(self, n_workers: int) -> None:
        self._values = multiprocessing.RawArray(ctypes.c_double, self.SIZE * max(1, n_workers))
        self._taken = (0.0, 0.0)

    def time(self, fetch: Callable[[], Any]) -> Any:
        info = torch.utils.data.get_worker_info()
        at, values = self.SIZE * (info.id if info else 0), self._values
        cpu_time = time.process_time if info else time.thread_time
        is_observed = values[at + self.N] % self.EACH == 0
        cpu, waited = (cpu_time(), perfd_pipeline.waited_for_cpu()) if is_observed else (0.0, 0.0)
        begin = time.monotonic()
        batch = fetch()
        seconds = time.monotonic() - begin
        if is_observed:
            values[at + self.OBSERVED] += seconds
            values[at + self.CPU] += cpu_time() - cpu
            values[at + self.CPU_WAIT] += perfd_pipeline.waited_for_cpu() - waited
        values[at + self.N] += 1
        values[at + self.SECONDS] += seconds
        values[at + self.LOG] += math.log(max(seconds, 1e-9))
        return batch

    def _of_each(self, member: int) -> list[float]:
        return self._values[member :: self.SIZE]

    def workers(self) -> list[list[float]]:
        """Return the number of batches and the seconds of each worker, by the geometric mean: a few slow samples make no slow worker."""
        return [[int(n), round(n * math.exp(log / n), 6) if n else 0] for n, log in zip(self._of_each(self.N), self._of_each(self.LOG))]

    def cpus(self, busy: float) -> dict[str, float]:
        """Return how many of so many busy workers are on a CPU at a time, and how many wait for one."""
        seconds = sum(self._of_each(self.OBSERVED))
        members = (("cpus", self.CPU), ("waiting_for_cpu", self.CPU_WAIT)) if seconds else ()
        return {name: round(busy * sum(self._of_each(member)) / seconds, 3) for name, member in members}

    def take(self) -> tuple[int, float]:
        """Return the number and the seconds of batches since the last call, in the training process."""
        now, before = (sum(self._of_each(self.N)), sum(self._of_each(self.SECONDS))), self._taken
        self._taken = now
        return int(now[0] - before[0]), max(0.0, now[1] - before[1])


def _same(value: Any) -> Any:
    return value


class _Collate:
    """A collate function that has the counters of its loader, by which a fetcher in a worker finds them."""

    def __init__(self, function: Callable[[Any], Any], counters: _Counters) -> None:
        self._function, self.perfd_counters = function, counters

    def __call__(self, items: Any) -> Any:
        return self._function(items)

    def __reduce__(self) -> Any:
        """Leave out the counters, which only a spawned worker can share, in a copy of a loader."""
        is_spawning = multiprocessing.context.get_spawning_popen() is not None
        return (_Collate, (self._function, self.perfd_counters)) if is_spawning else (_same, (self._function,))


def _timed(fetch: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fetch)
    def timed(self: Any, *args: Any, **options: Any) -> Any:
        counters = getattr(getattr(self, "collate_fn", None), "perfd_counters", None)
        return counters.time(lambda: fetch(self, *args, **options)) if counters else fetch(self, *args, **options)

    return timed


def _time_fetchers() -> None:
    """Time the calls by which a loader fetches and collates a batch. A spawned worker imports this module, and therefore does the same."""
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        fetcher: Any = getattr(getattr(torch.utils.data._utils, "fetch", None), name, None)
        if hasattr(fetcher, "fetch"):
            fetcher.fetch = _timed(fetcher.fetch)


_time_fetchers()


_reports: dict[Any, Any] = {}  # weak references to datasets, with their reports


def _watch(loader: Any, interval: float) -> None:
    """Make a loader that has just been constructed count and report, with earlier ones of its dataset: some programs make one an epoch."""
    if hasattr(loader, "_perfd"):
        return
    key = id(loader.dataset), loader.num_workers, loader.batch_size
    dataset, loader._perfd = _reports.get(key, (None, None))
    if not dataset or dataset() is not loader.dataset:
        loader._perfd = _Report(loader.num_workers, interval)
        with contextlib.suppress(TypeError):  # a list has no weak references
            _reports[key] = weakref.ref(loader.dataset, lambda _: _reports.pop(key, None)), loader._perfd
    loader.collate_fn = _Collate(loader.collate_fn, loader._perfd.counters)


class DataLoader(torch.utils.data.DataLoader):
    """PyTorch's DataLoader, which also reports to perfd every `report_interval` seconds and at the end of each epoch."""

    def __init__(self, dataset: Any, *args: Any, report_interval: float = INTERVAL_S, **options: Any) -> None:
        super().__init__(dataset, *args, **options)
        _watch(self, report_interval)

    def __iter__(self) -> Any:
        return _begin_epoch(self, super().__iter__)


def _begin_epoch(loader: Any, begin: Callable[[], Any]) -> Any:
    report = getattr(loader, "_perfd", None)
    return report.watch(begin, getattr(loader, "persistent_workers", False)) if report else begin()


def install(interval: float = INTERVAL_S) -> None:
    """Make all loaders that are constructed from now on report, those that a library constructs, such as a trainer, among them."""
    base: Any = torch.utils.data.DataLoader
    init, iterate = base.__init__, base.__iter__
    if hasattr(init, "perfd_original"):
        return

    @functools.wraps(init)
    def watched_init(self: Any, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        if not isinstance(self, DataLoader):
            _watch(self, interval)

    @functools.wraps(iterate)
    def watched_iter(self: Any) -> Any:
        return iterate(self) if isinstance(self, DataLoader) else _begin_epoch(self, lambda: iterate(self))

    setattr(watched_init, "perfd_original", (init, iterate))
    base.__init__, base.__iter__ = watched_init, watched_iter


def uninstall() -> None:
    """Undo install() for the loaders that are constructed from now on."""
    base = torch.utils.data.DataLoader
    if hasattr(base.__init__, "perfd_original"):
        base.__init__, base.__iter__ = base.__init__.perfd_original


class _Report:
    """Sends the statistics of the loaders of a dataset: of their workers, whose task is a batch, and of the training loop."""

    def __init__(self, n_workers: int, interval: float) -> None:
        self.counters = _Counters(n_workers)
        self._n_workers, self._interval = n_workers, interval
        self._load = self._sink = ""
        self._waits = perfd_pipeline.Times()
        self._has_batch = False
        self._start_s = self._busy_s = self._elapsed_s = 0.0  # since the first batch
        self._lap, self._wall = time.monotonic(), 0.0

    def __reduce__(self) -> Any:
        return _same, (None,)  # a copy of a loader reports nothing

    def watch(self, begin_epoch: Callable[[], Iterator[Any]], keeps_workers: bool) -> Iterator[Any]:
        """Begin an epoch, as the caller of iter() expects, and return its batches."""
        if not self._load:
            number = next(_numbers)
            self._load = perfd_pipeline.label(number, 0, "load", self._n_workers) + ("[1]" if self._n_workers == 1 else "")
            self._sink = perfd_pipeline.label(number, 1, "sink")
        self._describe(perfd_pipeline.sender())
        begin = time.monotonic()
        iterator = begin_epoch()
        return self._batches(iterator, time.monotonic() - begin, self._n_workers > 0 and not keeps_workers)

    def _batches(self, iterator: Iterator[Any], begun: float, is_start: bool) -> Iterator[Any]:
        sender = perfd_pipeline.sender()
        begin = self._lap = time.monotonic() - begun
        end = begin
        try:
            while True:
                try:
                    batch = next(iterator)
                except StopIteration:
                    end = time.monotonic()
                    return
                end = now = time.monotonic()
                self._waits.add(now - begin)
                if not self._has_batch:
                    self._has_batch = True
                    sender.send(perfd_pipeline.first_batch(now - begin))
                    self._send(sender, now)  # the start is an interval of its own
                    perfd_pipeline.process.start()
                elif is_start:
                    self._start_s += now - begin
                elif now - self._lap >= self._interval:
                    self._send(sender, now)
                is_start = False
                yield batch
                begin = time.monotonic()
        finally:
            self._send(sender, end)  # a trainer may keep the iterator for long after the last batch

    def _describe(self, sender: perfd_pipeline.Sender) -> None:
        """Describe this and the other loaders of the process that reported last: the newest description counts."""
        workers = self.counters.workers()
        _described.pop(self._sink, None)
        loader = {"start_seconds": round(self._start_s, 3), **self.counters.cpus(self._busy_s / (self._elapsed_s or 1))}
        _described[self._sink] = {"workers": {self._load: workers} if 1 < len(workers) <= WORKERS_MAX else {},
                                  "loaders": {self._load: loader}}
        while len(_described) > LOADERS_MAX:
            del _described[next(iter(_described))]
        all_of = _described.values()
        members = {name: {key: value for each in all_of for key, value in each[name].items()} for name in ("workers", "loaders")}
        sender.describe({"producer": f"torch {torch.__version__.split('+')[0]}", "stages": [self._load, self._sink],
                         **{name: value for name, value in members.items() if value}})

    def _send(self, sender: perfd_pipeline.Sender, now: float) -> None:
        elapsed, self._lap = now - self._lap, now
        if elapsed <= 0:
            return
        wall = self._wall = perfd_pipeline.time_after(self._wall)
        n, seconds = self.counters.take()
        if perfd_pipeline.process.is_running():
            self._busy_s, self._elapsed_s = self._busy_s + seconds, self._elapsed_s + elapsed
        if n > 0:
            sender.send({"stage": self._load, "time": wall, "elapsed": elapsed, "num_tasks": n, "num_failures": 0,
                         "ave_time": seconds / n})
        n, _, mean, p90, p99 = self._waits.take()
        if n > 0:
            sender.send({"stage": self._sink, "time": wall, "elapsed": elapsed, "num_items": n, "ave_get_time": mean,
                         "p90_get_time": p90, "p99_get_time": p99})
        self._describe(sender)


_described: dict[str, dict[str, Any]] = {}  # by the label of the sink; the newest is the last
