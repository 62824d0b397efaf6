# SPDX-License-Identifier: Apache-2.0
"""Report the statistics of a data pipeline to perfd.

The statistics are written as JSON lines to `perfctl pipeline submit`, which runs beside the training process, keeps them while perfd
cannot be reached, and finds the job. A slow or missing perfd therefore does not delay the training process: a line is put into a queue
of limited length, and a thread writes it to the pipe. No function of this module waits for perfd, and none raises an exception because
perfd or perfctl is missing. Lines that do not fit into the queue are counted in Sender.n_dropped.

    import perfd_pipeline

    pipeline = perfd_pipeline.Pipeline(["read", "decode"])
    for name in pipeline.each("read", names):         # measures the time to obtain the next name
        with pipeline.task("decode"):                 # times a task
            ...
    for batch in pipeline.wait(batches):              # measures how long the training loop waits
        ...
    pipeline.close()

Needs Python 3.8 or newer and no other package.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import threading
import time
import warnings
import weakref
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Iterable, Iterator, TypeVar

T = TypeVar("T")
LINES_MAX = 10000  # lines that wait for the pipe
SAMPLES_MAX = 1024  # times of an interval from which percentiles are computed
CLOSE_S = 2.0  # how long close() waits for perfctl
TASKS_MAX = 2048  # whose use of CPUs is read
STARTS_MAX = 4  # of perfctl, which may have been killed
PIPELINES_PER_RANK = 10000  # numbers of the pipelines of a rank
FIRST_TASKS_MIN, FIRST_TASKS_MAX = 4, 64  # with fewer, chance orders them


def local_rank() -> int:
    """Return the number of this process among those of its job on this node, as set by torchrun, Slurm, Open MPI or MPICH."""
    for name in ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"):
        text = os.environ.get(name, "")
        if text.isascii() and text.isdigit():
            return int(text)
    return 0


def label(pipeline: int, position: int, name: str, concurrency: int | None = None) -> str:
    """Return the label of a stage. The pipelines of local rank N are numbered from N times 10,000, so that the numbers of ranks differ."""
    suffix = f"[{concurrency}]" if concurrency and concurrency > 1 else ""
    return f"{local_rank() * PIPELINES_PER_RANK + pipeline}:{position}:{name}{suffix}"


_all: weakref.WeakSet[Sender] = weakref.WeakSet()


class Sender:
    """A `perfctl pipeline submit` process and the lines that wait for it. send() returns at once."""

    def __init__(self, job: str | None = None, perfctl: str = "perfctl") -> None:
        self.n_dropped = 0  # lines that were never written
        self._command = [perfctl, "pipeline", "submit", "--timeout", str(int(CLOSE_S)), *(["--job", job] if job else []), "-"]
        self._lines: collections.deque[dict[str, Any]] = collections.deque()
        self._wake = threading.Condition()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._process: Any = None  # subprocess.Popen, with a pipe
        self._n_starts = 0
        self._description: dict[str, Any] | None = None  # the last one, which a restarted perfctl needs
        self._pid = os.getpid()
        _all.add(self)
        atexit.register(self.close)

    def describe(self, description: dict[str, Any]) -> None:
        """Send a description, an object that has "producer" among its members, with what `process` measured until now."""
        self.send({**description, **({"process": process.measured()} if process.is_running() else {})})

    def send(self, line: dict[str, Any]) -> None:
        """Queue a line, an object of `perfctl pipeline submit`. Lines of a forked child belong to a Sender of its own."""
        if self._pid != os.getpid():
            self.n_dropped += 1  # the lock may be that of a thread of the parent
            return
        with self._wake:
            if self._is_closed or len(self._lines) >= LINES_MAX:
                self.n_dropped += 1
                return
            self._lines.append(line)
            if "producer" in line:
                self._description = line
            if not self._thread and not self._start_thread():
                return
            self._wake.notify()

    def close(self, timeout: float = CLOSE_S) -> None:
        """Write the waiting lines, and end perfctl. Returns after `timeout` seconds in any case."""
        if self._is_closed or self._pid != os.getpid():
            return
        atexit.unregister(self.close)
        deadline = time.monotonic() + timeout
        with self._wake:
            self._is_closed = True
            self._wake.notify()
        if self._thread:
            self._thread.join(timeout)
        process = self._process
        if process:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start_thread(self) -> bool:
        """Start the thread that writes. At the limit of processes, nothing is sent."""
        thread = threading.Thread(target=self._run, name="perfd-pipeline", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._is_closed = True
            self.n_dropped += len(self._lines)
            self._lines.clear()
            return False
        self._thread = thread
        return True

    def _take(self) -> list[dict[str, Any]]:
        with self._wake:
            while not self._lines and not self._is_closed:
                self._wake.wait()
            lines = list(self._lines)
            self._lines.clear()
            return lines

    def _encode(self, lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
        for line in lines:
            try:
                yield json.dumps(line).encode() + b"\n"
            except (TypeError, ValueError):
                with self._wake:
                    self.n_dropped += 1

    def _start_perfctl(self) -> subprocess.Popen[bytes]:
        self._n_starts += 1
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                start_new_session=True)

    def _write(self, text: bytes) -> None:
        """Write to perfctl, which is restarted if it has ended."""
        while True:
            if not self._process:
                self._process = self._start_perfctl()
                if self._n_starts > 1 and self._description:
                    text = b"".join(self._encode([self._description])) + text
            try:
                self._process.stdin.write(text)
                self._process.stdin.flush()
                return
            except OSError:
                process, self._process = self._process, None
                with contextlib.suppress(OSError):
                    process.stdin.close()
                process.wait()
                if self._n_starts >= STARTS_MAX:
                    raise

    def _run(self) -> None:
        lines = []
        try:
            while lines := self._take():
                self._write(b"".join(self._encode(lines)))
        except OSError:
            self._refuse(len(lines))
        if self._process:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _refuse(self, n: int) -> None:
        """Drop n lines, the waiting lines, and all later lines."""
        with self._wake:
            self._is_closed = True
            self.n_dropped += n + len(self._lines)
            self._lines.clear()


    def _leave_parent(self) -> None:
        """Give up the pipe in a forked child, so that perfctl sees its end when the parent closes it."""
        if self._process:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._process.stdin.fileno(), inheritable=False)
            os.close(null)


def _on_fork() -> None:
    for each in list(_all):
        with contextlib.suppress(OSError, ValueError):
            each._leave_parent()


os.register_at_fork(after_in_child=_on_fork)
_senders: dict[int, Sender] = {}


def sender() -> Sender:
    """Return the Sender of this process, which forked children do not share."""
    pid = os.getpid()
    if pid not in _senders:
        _senders.clear()
        _senders[pid] = Sender()
    return _senders[pid]


class _Process:
    """What the process of the pipeline, and its children, use from the first batch on.

    A thread sleeps for PROBE_S again and again. It continues late by the switch interval of the interpreter if another thread holds the
    interpreter's lock and computes; if the lock is free, or is given up for I/O, it continues at once. Its own wait for a CPU is
    subtracted. The share of late probes is the share of the time in which a thread waits for the lock.

    Where threads compute for less than the switch interval and then give up the lock, as with short tasks, no probe is late. But each
    that finds the lock held blocks once more after its sleep, which is a voluntary context switch.
    """

    PROBE_S = 0.05

    def __init__(self) -> None:
        self._begin: float | None = None
        self.watchers: list[Callable[[], None]] = []  # called at each probe

    def is_running(self) -> bool:
        return self._begin is not None and self._pid == os.getpid()

    def start(self) -> None:
        """Begin at the first batch. At the limit of processes, nothing is measured."""
        if self.is_running():
            return
        self._pid, self._n, self._n_late, self._n_held = os.getpid(), 0, 0, 0
        self._tasks: dict[tuple[int, str], tuple[float, float]] = {}
        self._cpu, self._used = time.process_time(), [0.0, 0.0]
        self._add_tasks()
        self._begin = time.monotonic()
        try:
            threading.Thread(target=self._probe, name="perfd-probe", daemon=True).start()
        except RuntimeError:
            self._begin = None

    def _probe(self) -> None:
        late = 0.8 * sys.getswitchinterval()
        waited = waited_for_cpu()
        while True:
            blocked = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
            due = time.monotonic() + self.PROBE_S
            time.sleep(self.PROBE_S)
            lateness = time.monotonic() - due
            self._n_held += resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw > blocked + 1
            before, waited = waited, waited_for_cpu()
            self._n += 1
            self._n_late += lateness - (waited - before) >= late
            for watch in self.watchers:
                watch()

    def _add_tasks(self) -> None:
        """Add what the threads of the process and of its children used since the last call. A thread that has ended counts until then."""
        pids, now = [os.getpid()], {}
        for pid in pids:
            with contextlib.suppress(OSError):
                for tid in os.listdir(f"/proc/{pid}/task")[:TASKS_MAX]:
                    now[pid, tid] = _schedstat(f"{pid}/task/{tid}")
                    with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as file:
                        pids += map(int, file.read().split())
            if len(now) > TASKS_MAX:
                break
        for task, numbers in now.items():
            before = self._tasks.get(task, numbers if not self._tasks else (0.0, 0.0))
            self._used = [used + max(0.0, number - then) for used, number, then in zip(self._used, numbers, before)]
        self._tasks = now

    def measured(self) -> dict[str, float]:
        """Return the member "process" of a description."""
        self._add_tasks()
        seconds, (used, waited) = time.monotonic() - (self._begin or 0.0), self._used
        ret = {"seconds": seconds, "cpu_seconds": time.process_time() - self._cpu, "tasks_cpu_seconds": used,
               "tasks_cpu_wait_seconds": waited}
        if self._n:
            ret.update(lock_wait=self._n_late / self._n, lock_held=self._n_held / self._n)
        return {key: round(value, 3) for key, value in ret.items()}


def _schedstat(task: str) -> tuple[float, float]:
    """Return the seconds for which a task had a CPU, and for which it was runnable and had none; zeros where the kernel does not tell."""
    try:
        with open(f"/proc/{task}/schedstat", encoding="ascii") as file:
            used, waited = file.read().split()[:2]
        return int(used) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0


def waited_for_cpu() -> float:
    """Return the seconds for which the calling thread was runnable and had no CPU; 0 where the kernel does not tell."""
    return _schedstat("thread-self")[1]


process = _Process()


class Times:
    """The number and the sum of times since take(), and their percentiles. Several threads may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self.n = self.n_failures = 0
        self.sum = 0.0
        self._samples: list[float] = []
        self._stride = 1

    def add(self, seconds: float, failed: bool = False) -> None:
        with self._lock:
            self.n += 1
            if failed:
                self.n_failures += 1
                return
            self.sum += seconds
            if (self.n - self.n_failures) % self._stride:
                return
            self._samples.append(seconds)
            if len(self._samples) > SAMPLES_MAX:
                del self._samples[::2]
                self._stride *= 2

    def take(self) -> tuple[int, int, float, float, float]:
        """Return n, n_failures, mean, 90th and 99th percentile, and start again from zero."""
        with self._lock:
            n, n_failures, total, samples = self.n, self.n_failures, self.sum, sorted(self._samples)
            self._clear()
        n_good = n - n_failures
        mean = total / n_good if n_good else 0.0
        p90, p99 = (samples[int(len(samples) * share)] if samples else 0.0 for share in (0.9, 0.99))
        return n, n_failures, mean, p90, p99


class FirstTasks:
    """How long those tasks of a stage took that were the first to begin as one of N that run at once, for each N up to the concurrency.

    What the tasks wait for together, such as a lock, connections or a limit of the storage, makes each of them take longer than the one
    before. Once all workers are busy, tasks that wait for each other look like tasks that take long.
    """

    def __init__(self, concurrency: int | None) -> None:
        self._lock = threading.Lock()
        self._n_running = self._n_begun = 0
        self._seconds = [0.0] * (concurrency if concurrency and FIRST_TASKS_MIN <= concurrency <= FIRST_TASKS_MAX else 0)

    def are_open(self) -> bool:
        """Return whether some of the tasks have not begun."""
        return self._n_begun < len(self._seconds)

    @contextlib.contextmanager
    def time(self) -> Iterator[None]:
        """Time a task, if it is one of the first."""
        with self._lock:
            at, begin = self._n_running, time.monotonic()
            self._n_running += 1
            is_first = at == self._n_begun and self.are_open()
            self._n_begun += is_first
        try:
            yield
            if is_first:
                self._seconds[at] = time.monotonic() - begin
        finally:
            with self._lock:
                self._n_running -= 1

    def description(self) -> list[float]:
        """Return the times; empty if a task has not ended, or has failed."""
        return [round(seconds, 6) for seconds in self._seconds] if all(self._seconds) else []


def time_after(last: float) -> float:
    """Return the time for a line, in ms steps and later than `last`: two intervals of a stage with the same time are one."""
    return round(max(time.time(), last + 0.001), 3)


def first_batch(seconds: float) -> dict[str, Any]:
    """Return the line of the event that a training loop got its first batch, now, after `seconds`."""
    return {"event": "first_batch", "time": round(time.time() - seconds, 3), "seconds": seconds}


class Pipeline:
    """Statistics of stages that plain Python code runs, in the order of the list, and of the training loop after them.

    A stage is a name, or a pair of a name and the number of its workers. The statistics of an interval are sent when the first task after
    the end of the interval completes, and by close(). Threads may share a Pipeline.
    """

    def __init__(self, stages: Iterable[str | tuple[str, int | None]] = (), interval: float = 5.0, number: int = 0,
                 to: Sender | None = None, producer: str = "perfd_pipeline") -> None:
        self._sender = to or sender()
        self._interval = interval
        self._labels = {}
        self._tasks, self._first = {}, {}
        for position, stage in enumerate(stages):
            name, concurrency = (stage, None) if isinstance(stage, str) else stage
            self._labels[name] = label(number, position, name, concurrency)
            self._tasks[name], self._first[self._labels[name]] = Times(), FirstTasks(concurrency)
        self._sink = label(number, len(self._labels), "sink")
        self._waits = Times()
        self._has_batch = False
        self._lock = threading.Lock()
        self._lap, self._wall = time.monotonic(), 0.0
        self._description = {"producer": producer, "stages": list(self._labels.values())}
        self._sender.describe(self._description)

    @contextlib.contextmanager
    def task(self, stage: str) -> Iterator[None]:
        """Time a task of a stage. A task that raises an exception counts as failed."""
        begin, failed = time.monotonic(), True
        first = self._first[self._labels[stage]]
        try:
            with first.time() if first.are_open() else contextlib.nullcontext():
                yield
            failed = False
        finally:
            self.add(stage, time.monotonic() - begin, failed)

    def add(self, stage: str, seconds: float, failed: bool = False) -> None:
        """Add a task that took a known time."""
        self._tasks[stage].add(seconds, failed)
        self._send_if_due()

    def each(self, stage: str, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and measure the time to obtain each item as a task of the stage."""
        return self._timed(items, lambda seconds: self.add(stage, seconds))

    def wait(self, batches: Iterable[T]) -> Iterator[T]:
        """Yield the batches to the training loop, and measure how long the loop waits for each batch."""
        return self._timed(batches, self.add_wait)

    def add_wait(self, seconds: float) -> None:
        """Add a wait of the training loop for a batch."""
        if not self._has_batch:
            self._has_batch = True
            self._sender.send(first_batch(seconds))
            self._waits.add(seconds)
            self.flush()
            process.start()
            return
        self._waits.add(seconds)
        self._send_if_due()

    @staticmethod
    def _timed(items: Iterable[T], add: Callable[[float], None]) -> Iterator[T]:
        iterator = iter(items)
        while True:
            begin = time.monotonic()
            try:
                item = next(iterator)
            except StopIteration:
                return
            add(time.monotonic() - begin)
            yield item

    def _send_if_due(self) -> None:
        if time.monotonic() - self._lap >= self._interval:
            self.flush()

    def flush(self) -> None:
        """Send the statistics since the last interval."""
        with self._lock:
            now = time.monotonic()
            elapsed, self._lap = now - self._lap, now
            if elapsed <= 0:
                return
            wall = self._wall = time_after(self._wall)
            for name, times in self._tasks.items():
                n, n_failures, mean, p90, p99 = times.take()
                if n:
                    self._sender.send({"stage": self._labels[name], "time": wall, "elapsed": elapsed, "num_tasks": n,
                                       "num_failures": n_failures, "ave_time": mean, "p90_time": p90, "p99_time": p99})
            n, _, mean, p90, p99 = self._waits.take()
            if n:
                self._sender.send({"stage": self._sink, "time": wall, "elapsed": elapsed, "num_items": n, "ave_get_time": mean,
                                   "p90_get_time": p90, "p99_get_time": p99})
        first_tasks = {stage: taken for stage, first in self._first.items() if (taken := first.description())}
        self._sender.describe({**self._description, **({"first_tasks": first_tasks} if first_tasks else {})})

    def close(self) -> None:
        """Send the statistics since the last interval. The Sender is closed when the process ends."""
        self.flush()

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- without a line of code -----------------------------------------------------------------------

ADAPTERS = {  # the variable that asks for an adapter, the package that has to be imported first, and the adapter
    "PERFD_SPDL": ("spdl.pipeline", "perfd_spdl"),
    "PERFD_TORCH": ("torch", "perfd_torch"),
}


class _AfterImport:
    """A finder of modules that calls install() of an adapter as soon as the program has imported the package which is adapted."""

    def __init__(self, adapters: dict[str, str]) -> None:
        self._adapters = adapters

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the description of a module that an adapter waits for, whose loader installs the adapter; None for other modules."""
        adapter = self._adapters.pop(name, None)
        spec = importlib.util.find_spec(name) if adapter else None
        if spec and spec.loader and adapter:
            execute = spec.loader.exec_module

            def execute_and_install(module: ModuleType) -> None:
                execute(module)
                parent, _, child = name.rpartition(".")
                if parent:
                    setattr(sys.modules[parent], child, module)  # as the import does next: the adapter needs it already
                try:
                    importlib.import_module(adapter).install()
                except Exception as error:  # the program runs without its statistics
                    warnings.warn(f"{adapter}: {error}", stacklevel=2)

            setattr(spec.loader, "exec_module", execute_and_install)
        return spec


def install_adapters() -> None:
    """Install the adapters whose variable is set, once their package is imported. perfd.pth calls this when the interpreter starts."""
    wanted = {package: adapter for variable, (package, adapter) in ADAPTERS.items() if os.environ.get(variable, "0") not in ("", "0")}
    if wanted:
        sys.meta_path.insert(0, _AfterImport(wanted))
