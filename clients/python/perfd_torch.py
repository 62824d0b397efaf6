# SPDX-License-Identifier: Apache-2.0
"""Report how PyTorch's DataLoader feeds a training loop to perfd.

    from perfd_torch import DataLoader              # instead of torch.utils.data.DataLoader

    for batch in DataLoader(dataset, batch_size=32, num_workers=4):
        ...

Reports how long the loop waits for each batch, and how long the workers take to fetch the samples of a batch and to collate them. The
workers count in memory that they share with the training process. The dataset is not wrapped, so that a worker_init_fn finds the original
object. No function of this module waits for perfd or fails without perfd; see perfd_pipeline.
"""

import ctypes
import functools
import itertools
import multiprocessing
import time

import perfd_pipeline
import torch.utils.data
import torch.utils.data._utils.fetch

_numbers = itertools.count()


class _Counters:
    """For each worker the number of its batches, and the time to fetch their samples and to collate them. A worker writes only its own."""

    def __init__(self, n_workers):
        self._values = multiprocessing.RawArray(ctypes.c_double, 2 * max(1, n_workers))
        self._taken = (0.0, 0.0)

    def add(self, seconds):
        info = torch.utils.data.get_worker_info()
        at = 2 * (info.id if info else 0)
        self._values[at] += 1
        self._values[at + 1] += seconds

    def take(self):
        """Return the counts since the last call, in the training process."""
        now, before = (sum(self._values[0::2]), sum(self._values[1::2])), self._taken
        self._taken = now
        return int(now[0] - before[0]), max(0.0, now[1] - before[1])


class _Collate:
    """A collate function that has the counters of its loader, by which a fetcher in a worker finds them."""

    def __init__(self, function, counters):
        self._function, self.perfd_counters = function, counters

    def __call__(self, items):
        return self._function(items)


def _timed(fetch):
    @functools.wraps(fetch)
    def timed(self, *args, **options):
        counters = getattr(getattr(self, "collate_fn", None), "perfd_counters", None)
        begin = time.monotonic()
        batch = fetch(self, *args, **options)
        if counters:
            counters.add(time.monotonic() - begin)
        return batch

    return timed


def _time_fetchers():
    """Time the calls by which a loader fetches and collates a batch. A spawned worker imports this module, and therefore does the same."""
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        fetcher = getattr(getattr(torch.utils.data._utils, "fetch", None), name, None)
        if hasattr(fetcher, "fetch"):
            fetcher.fetch = _timed(fetcher.fetch)


_time_fetchers()


class DataLoader(torch.utils.data.DataLoader):
    """PyTorch's DataLoader, which also reports to perfd every `report_interval` seconds and at the end of each epoch."""

    def __init__(self, dataset, *args, report_interval=5.0, **options):
        counters = _Counters(options.get("num_workers", args[4] if len(args) > 4 else 0))
        super().__init__(dataset, *args, **options)
        self.collate_fn = _Collate(self.collate_fn, counters)
        self._perfd = _Report(counters, self.num_workers, report_interval)

    def __iter__(self):
        return self._perfd.watch(super().__iter__)


class _Report:
    """Sends the statistics of a loader: of its workers, whose task is a batch, and of the training loop."""

    def __init__(self, counters, n_workers, interval):
        number = next(_numbers)
        self._counters, self._interval = counters, interval
        self._load = perfd_pipeline.label(number, 0, "load", n_workers)
        self._sink = perfd_pipeline.label(number, 1, "sink")
        self._waits = perfd_pipeline.Times()
        self._has_batch = False
        self._lap = time.monotonic()
        self._description = {"producer": f"torch {torch.__version__.split('+')[0]}", "stages": [self._load, self._sink]}

    def watch(self, begin_epoch):
        sender = perfd_pipeline.sender()
        sender.send(self._description)
        begin = self._lap = time.monotonic()
        iterator = begin_epoch()
        try:
            while True:
                try:
                    batch = next(iterator)
                except StopIteration:
                    return
                now = time.monotonic()
                if not self._has_batch:
                    self._has_batch = True
                    sender.send(perfd_pipeline.first_batch(now - begin))
                self._waits.add(now - begin)
                if now - self._lap >= self._interval:
                    self._send(sender)
                yield batch
                begin = time.monotonic()
        finally:
            self._send(sender)

    def _send(self, sender):
        now, wall = time.monotonic(), round(time.time(), 3)
        elapsed, self._lap = now - self._lap, now
        if elapsed <= 0:
            return
        n, seconds = self._counters.take()
        if n > 0:
            sender.send({"stage": self._load, "time": wall, "elapsed": elapsed, "num_tasks": n, "num_failures": 0,
                         "ave_time": seconds / n})
        n, _, mean, p90, p99 = self._waits.take()
        if n > 0:
            sender.send({"stage": self._sink, "time": wall, "elapsed": elapsed, "num_items": n, "ave_get_time": mean,
                         "p90_get_time": p90, "p99_get_time": p99})
