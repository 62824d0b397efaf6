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

import ctypes
import functools
import itertools
import multiprocessing
import time
from typing import Any, Callable, Iterator

import perfd_pipeline
import torch.utils.data
import torch.utils.data._utils.fetch

INTERVAL_S = 5.0
WORKERS_MAX = 256  # that a description has
_numbers = itertools.count()


class _Counters:
    """For each worker the number of its batches, and the time to fetch their samples and to collate them. A worker writes only its own."""

    def __init__(self, n_workers: int) -> None:
        self._values = multiprocessing.RawArray(ctypes.c_double, 2 * max(1, n_workers))
        self._taken = (0.0, 0.0)

    def add(self, seconds: float) -> None:
        info = torch.utils.data.get_worker_info()
        at = 2 * (info.id if info else 0)
        self._values[at] += 1
        self._values[at + 1] += seconds

    def workers(self) -> list[list[float]]:
        """Return the number of batches and the seconds of each worker since the begin."""
        return [[int(n), round(seconds, 3)] for n, seconds in zip(self._values[0::2], self._values[1::2])]

    def take(self) -> tuple[int, float]:
        """Return the counts since the last call, in the training process."""
        now, before = (sum(self._values[0::2]), sum(self._values[1::2])), self._taken
        self._taken = now
        return int(now[0] - before[0]), max(0.0, now[1] - before[1])


class _Collate:
    """A collate function that has the counters of its loader, by which a fetcher in a worker finds them."""

    def __init__(self, function: Callable[[Any], Any], counters: _Counters) -> None:
        self._function, self.perfd_counters = function, counters

    def __call__(self, items: Any) -> Any:
        return self._function(items)


def _timed(fetch: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fetch)
    def timed(self: Any, *args: Any, **options: Any) -> Any:
        counters = getattr(getattr(self, "collate_fn", None), "perfd_counters", None)
        begin = time.monotonic()
        batch = fetch(self, *args, **options)
        if counters:
            counters.add(time.monotonic() - begin)
        return batch

    return timed


def _time_fetchers() -> None:
    """Time the calls by which a loader fetches and collates a batch. A spawned worker imports this module, and therefore does the same."""
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        fetcher: Any = getattr(getattr(torch.utils.data._utils, "fetch", None), name, None)
        if hasattr(fetcher, "fetch"):
            fetcher.fetch = _timed(fetcher.fetch)


_time_fetchers()


def _watch(loader: Any, interval: float) -> None:
    """Make a loader that has just been constructed count and report."""
    if not hasattr(loader, "_perfd"):
        counters = _Counters(loader.num_workers)
        loader.collate_fn = _Collate(loader.collate_fn, counters)
        loader._perfd = _Report(counters, loader.num_workers, interval)


class DataLoader(torch.utils.data.DataLoader):
    """PyTorch's DataLoader, which also reports to perfd every `report_interval` seconds and at the end of each epoch."""

    def __init__(self, dataset: Any, *args: Any, report_interval: float = INTERVAL_S, **options: Any) -> None:
        super().__init__(dataset, *args, **options)
        _watch(self, report_interval)

    def __iter__(self) -> Any:
        return self._perfd.watch(super().__iter__)


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
        report = None if isinstance(self, DataLoader) else getattr(self, "_perfd", None)
        return report.watch(lambda: iterate(self)) if report else iterate(self)

    setattr(watched_init, "perfd_original", (init, iterate))
    base.__init__, base.__iter__ = watched_init, watched_iter


def uninstall() -> None:
    """Undo install() for the loaders that are constructed from now on."""
    base = torch.utils.data.DataLoader
    if hasattr(base.__init__, "perfd_original"):
        base.__init__, base.__iter__ = base.__init__.perfd_original


class _Report:
    """Sends the statistics of a loader: of its workers, whose task is a batch, and of the training loop."""

    def __init__(self, counters: _Counters, n_workers: int, interval: float) -> None:
        number = next(_numbers)
        self._counters, self._interval = counters, interval
        self._load = perfd_pipeline.label(number, 0, "load", n_workers)
        self._sink = perfd_pipeline.label(number, 1, "sink")
        self._waits = perfd_pipeline.Times()
        self._has_batch = False
        self._lap, self._wall = time.monotonic(), 0.0
        self._description = {"producer": f"torch {torch.__version__.split('+')[0]}", "stages": [self._load, self._sink]}

    def watch(self, begin_epoch: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        sender = perfd_pipeline.sender()
        sender.describe(self._description)
        begin = self._lap = time.monotonic()
        iterator = begin_epoch()
        try:
            while True:
                try:
                    batch = next(iterator)
                except StopIteration:
                    return
                now = time.monotonic()
                self._waits.add(now - begin)
                if not self._has_batch:
                    self._has_batch = True
                    sender.send(perfd_pipeline.first_batch(now - begin))
                    self._send(sender)  # the start is an interval of its own
                    perfd_pipeline.process.start()
                elif now - self._lap >= self._interval:
                    self._send(sender)
                yield batch
                begin = time.monotonic()
        finally:
            self._send(sender)

    def _send(self, sender: perfd_pipeline.Sender) -> None:
        now = time.monotonic()
        elapsed, self._lap = now - self._lap, now
        if elapsed <= 0:
            return
        wall = self._wall = perfd_pipeline.time_after(self._wall)
        n, seconds = self._counters.take()
        if n > 0:
            sender.send({"stage": self._load, "time": wall, "elapsed": elapsed, "num_tasks": n, "num_failures": 0,
                         "ave_time": seconds / n})
        n, _, mean, p90, p99 = self._waits.take()
        if n > 0:
            sender.send({"stage": self._sink, "time": wall, "elapsed": elapsed, "num_items": n, "ave_get_time": mean,
                         "p90_get_time": p90, "p99_get_time": p99})
        workers = self._counters.workers()
        sender.describe({**self._description, **({"workers": {self._load: workers}} if 1 < len(workers) <= WORKERS_MAX else {})})
