# SPDX-License-Identifier: Apache-2.0
"""Report how PyTorch's DataLoader feeds a training loop to perfd.

    from perfd_torch import DataLoader              # instead of torch.utils.data.DataLoader

    for batch in DataLoader(dataset, batch_size=32, num_workers=4):
        ...

Reports for how long the loop waits for each batch, and for how long the workers are busy to fetch the samples of a batch and to collate
them. The workers count in memory that they share with the training process; nothing here waits for perfd or fails without it, see
perfd_pipeline.
"""

import ctypes
import itertools
import multiprocessing
import time

import perfd_pipeline
import torch.utils.data

_numbers = itertools.count()


class _Counters:
    """For each worker the number of its batches, and the time to fetch their samples and to collate them. A worker writes only its own."""

    def __init__(self, n_workers):
        self._values = multiprocessing.RawArray(ctypes.c_double, 2 * max(1, n_workers))
        self._taken = (0.0, 0.0)

    def add(self, seconds, n=0):
        info = torch.utils.data.get_worker_info()
        at = 2 * (info.id if info else 0)
        self._values[at] += n
        self._values[at + 1] += seconds

    def take(self):
        """Return what was counted since the last call, in the training process."""
        now, before = (sum(self._values[0::2]), sum(self._values[1::2])), self._taken
        self._taken = now
        return int(now[0] - before[0]), max(0.0, now[1] - before[1])


class _Indexed(torch.utils.data.Dataset):
    """A dataset whose items are timed."""

    def __init__(self, dataset, counters):
        self._dataset, self._counters = dataset, counters
        if hasattr(dataset, "__getitems__"):
            self.__getitems__ = self._get_items

    def __len__(self):
        return len(self._dataset)

    def __getattr__(self, name):
        if name.startswith("__") or name in ("_dataset", "_counters"):
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __getitem__(self, index):
        begin = time.monotonic()
        item = self._dataset[index]
        self._counters.add(time.monotonic() - begin)
        return item

    def _get_items(self, indices):
        begin = time.monotonic()
        items = self._dataset.__getitems__(indices)
        self._counters.add(time.monotonic() - begin)
        return items


class _Iterable(torch.utils.data.IterableDataset):
    """An iterable dataset whose items are timed."""

    def __init__(self, dataset, counters):
        self._dataset, self._counters = dataset, counters

    def __len__(self):
        return len(self._dataset)

    def __getattr__(self, name):
        if name.startswith("__") or name in ("_dataset", "_counters"):
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __iter__(self):
        return perfd_pipeline.Pipeline._timed(self._dataset, self._counters.add)


class _Collate:
    """A collate function that is timed."""

    def __init__(self, function, counters):
        self._function, self._counters = function, counters

    def __call__(self, items):
        begin = time.monotonic()
        batch = self._function(items)
        self._counters.add(time.monotonic() - begin, 1)
        return batch


class DataLoader(torch.utils.data.DataLoader):
    """PyTorch's DataLoader, which also reports to perfd every `report_interval` seconds and at the end of each epoch."""

    def __init__(self, dataset, *args, report_interval=5.0, **options):
        counters = _Counters(options.get("num_workers", args[4] if len(args) > 4 else 0))
        wrap = _Iterable if isinstance(dataset, torch.utils.data.IterableDataset) else _Indexed
        super().__init__(wrap(dataset, counters), *args, **options)
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
