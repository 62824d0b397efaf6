"""Starts the real perfd in a temporary directory, and provides clients for its sockets.

A test starts a daemon with self.daemon(...). At the end of the test the daemon is stopped and its log is checked for
sanitizer reports. Tests do not sleep: wait_for() polls for an event until a deadline that only a failure reaches. The
programs are those of the build directory in PERFD_BUILD.
"""

import fcntl
import functools
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

try:
    USER_NAME = pwd.getpwuid(os.geteuid()).pw_name  # as perfd shows the owner of a job
except KeyError:
    USER_NAME = str(os.geteuid())
ROOT = pathlib.Path(__file__).resolve().parents[2]
# Sanitizers of the build, in the Makefile's notation, derived from the name of the build directory.
SANITIZE = ",".join(word for word in pathlib.Path(os.environ.get("PERFD_BUILD", "build")).name.split("-")
                    if word in ("address", "undefined", "thread"))
# Tests must not send the spool of the user who runs them.
_spool = tempfile.TemporaryDirectory(prefix="perfd-spool-")
os.environ["PERFD_SPOOL"] = _spool.name

BUILD = pathlib.Path(os.environ.get("PERFD_BUILD", ROOT / "build"))
BUILD = BUILD if BUILD.is_absolute() else ROOT / BUILD
PERFD = BUILD / "perfd"
PERFCTL = BUILD / "perfctl"
FIXTURES = pathlib.Path(os.environ.get("PERFD_FIXTURES", ROOT.parent / "shared" / "fixtures"))
IS_SANITIZED = any(word in BUILD.name for word in ("address", "undefined", "thread"))
TIMEOUT_S = 60 if IS_SANITIZED else 20
SANITIZER_REPORTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", "runtime error:")
PEERS = ROOT / "build" / "interop" / "bin"
# Disables detection, for tests that count jobs: the machine or other tests may have cgroups that match.
NO_PATTERNS = "[patterns]\nslurm =\nslurm_sluid =\nslurm_v1 =\nkubernetes =\n"

# Keeps results from any time.
NO_EXPIRY = "[store]\nkeep_results = 0\n"

# Ignores the models that are installed on this machine.
NO_MODELS = "[indicators]\ndirectory =\n"


def wait_for(predicate, what, timeout_s=None):
    """Polls until predicate() is true and returns its value; fails with `what` after the deadline."""
    deadline = time.monotonic() + (timeout_s or TIMEOUT_S)
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out waiting for {what}")
        time.sleep(0.01)


def calm_s():
    """Returns a clock that stops while any task of the machine waits for a CPU or a disk (PSI, if available). Use the clock only
    for upper bounds, since it runs slow on a busy machine."""
    waited_us = 0
    for resource in ("cpu", "io"):
        try:
            text = pathlib.Path(f"/proc/pressure/{resource}").read_text()
        except OSError:
            continue
        waited_us += int(re.search(r"^some .*total=(\d+)$", text, re.M)[1])
    return time.monotonic() - waited_us / 1e6


def judges_the_machine(test):
    """Decorates a test that judges numbers of the machine: if it fails while tasks wait for a CPU for a good part of the time, the
    test is repeated, from its setUp() on, after the machine has been calm for a second."""
    @functools.wraps(test)
    def repeated(self):
        for n_left in reversed(range(4)):
            begin, calm = time.monotonic(), calm_s()
            try:
                return test(self)
            except AssertionError as error:
                lasted = time.monotonic() - begin
                busy = 1 - (calm_s() - calm) / lasted
                if n_left == 0 or busy < 0.2:
                    raise
                print(f"repeated, tasks waited {busy:.0%} of {lasted:.1f} s: {error}", file=sys.stderr)
            self.tearDown()
            self.doCleanups()
            wait_calm(20)
            self.setUp()
    return repeated


def wait_calm(limit_s):
    """Waits for a second in which hardly any task of the machine waits for a CPU or a disk."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        calm = calm_s()
        time.sleep(1)
        if calm_s() - calm > 0.9:
            return


def stolen_s():
    """Returns the CPU time that the hypervisor gave to other machines."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def find_peer(command):
    """Returns the path of another program, or raises SkipTest with its name and the way to install the program."""
    path = shutil.which(command, path=f"{PEERS}:{os.environ['PATH']}:/usr/sbin:/sbin:/usr/lib/sysstat")
    if not path:
        raise unittest.SkipTest(f"{command} is not installed (make interop-deps)")
    return path


def import_peer(module):
    try:
        return __import__(module)
    except ImportError:
        raise unittest.SkipTest(f"Python's {module} is not installed (make interop-deps)") from None


def python_environment(name, *packages):
    """Installs packages from PyPI in an environment of its own, and returns the interpreter."""
    environment = ROOT / "build" / "interop" / name
    mark = environment / "-".join(packages)
    if not mark.exists():
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", environment], capture_output=True, text=True)
        if made.returncode:
            raise unittest.SkipTest("python3-venv is not installed (make interop-deps)")
        subprocess.run([environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
        mark.touch()
    return environment / "bin" / "python"


def _load_wire():
    """Generates the module from proto/perfd.proto after a change. The lock serializes tests that run in parallel."""
    directory = BUILD / "python"
    directory.mkdir(parents=True, exist_ok=True)
    source, module = ROOT / "proto" / "perfd.proto", directory / "perfd_pb2.py"
    with open(directory / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not module.exists() or module.stat().st_mtime < source.stat().st_mtime:
            subprocess.run(["protoc", f"--python_out={directory}", f"-I{source.parent}", source], check=True)
    sys.path.insert(0, str(directory))
    import perfd_pb2
    return perfd_pb2


wire = _load_wire()


def spdl_lines(*words, stdin="", **environment):
    """Runs `python3 -m perfd_spdl import`, whose output is the input of `perfctl pipeline submit`."""
    return subprocess.run([sys.executable, "-m", "perfd_spdl", "import", *map(str, words)], input=stdin, text=True, timeout=TIMEOUT_S,
                          capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), **environment})


# --- protocol ------------------------------------------------------------------------------------

def varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def frame(message):
    body = message if isinstance(message, bytes) else message.SerializeToString()
    return varint(len(body)) + body


def to_json(document):
    """Encodes a document as a field of the protocol: its JSON text."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def indicator(name="demo", rate=1.0, **more):
    """Returns a small valid document."""
    return {"name": name, "framework": "perfd.test", "@parameters": {"n": 1}, "@result": {"rate": rate}, **more}


class Client:
    """Connects and encodes the protocol itself, so that tests can also send invalid data."""

    def __init__(self, path, timeout_s=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout_s or TIMEOUT_S)
        self.socket.connect(str(path))
        self.buffer = b""
        self.sequence = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send_bytes(self, data):
        self.socket.sendall(data)

    def request(self):
        self.sequence += 1
        return wire.Request(sequence=self.sequence)

    def send(self, request):
        self.send_bytes(frame(request))
        return request.sequence

    def receive(self):
        """Returns the next reply, or None at the end of the stream."""
        while True:
            n, shift, at = 0, 0, 0
            for byte in self.buffer:
                n |= (byte & 0x7F) << shift
                shift, at = shift + 7, at + 1
                if byte < 0x80:
                    if len(self.buffer) < at + n:
                        break
                    reply = wire.Reply.FromString(self.buffer[at:at + n])
                    self.buffer = self.buffer[at + n:]
                    return reply
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                return None
            self.buffer += data

    def call(self, request):
        self.send(request)
        return self.receive()

    def hello(self, client="harness"):
        request = self.request()
        request.hello.client = client
        return self.call(request)

    def submit_request(self, *documents, job="", ids=None, time_ms=0):
        request = self.request()
        for i, document in enumerate(documents):
            item = request.submit.indicators.add(job=job, time_ms=time_ms)
            item.id = ids[i] if ids else uuid.uuid4().bytes
            item.document = to_json(document)
        return request

    def submit(self, *documents, **more):
        return self.call(self.submit_request(*documents, **more))

    def begin(self, job, pid=0, rank=None, name="", command="", user="", labels=None, **more):
        """more: other fields of JobBegin, named as in the protocol."""
        request = self.request()
        body = request.job_begin
        body.job, body.pid, body.name, body.command, body.user = job, pid, name, command, user
        if rank is not None:
            body.rank = rank
        for key, value in (labels or {}).items():
            body.labels.add(key=key, value=value)
        for key, value in more.items():
            if isinstance(value, list):
                getattr(body, key).extend(value)
            else:
                setattr(body, key, value)
        return self.call(request)

    def mark(self, name, job="", seconds=None):
        request = self.request()
        request.mark.job, request.mark.name = job, name
        if seconds is not None:
            request.mark.seconds = seconds
        return self.call(request)

    def end(self, job, exit_status=None, signal_number=0):
        request = self.request()
        request.job_end.job, request.job_end.signal = job, signal_number
        if exit_status is not None:
            request.job_end.exit_status = exit_status
        return self.call(request)


# --- HTTP ----------------------------------------------------------------------------------------

class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Response:
    def __init__(self, response):
        self.status = response.status
        self.headers = {key.lower(): value for key, value in response.getheaders()}
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


def http_get(where, path="/", method="GET", headers=None, timeout_s=None):
    """where: a port on the loopback interface, or the path of a Unix socket."""
    timeout = timeout_s or TIMEOUT_S
    connection = http.client.HTTPConnection("127.0.0.1", where, timeout=timeout) if isinstance(where, int) \
        else _UnixConnection(where, timeout)
    try:
        connection.request(method, path, headers=headers or {})
        return Response(connection.getresponse())
    finally:
        connection.close()


def parse_metrics(text):
    """Returns the text exposition as {'name{labels}': value}, with the labels unchanged."""
    metrics = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            series, value = line.rsplit(" ", 1)
            metrics[series] = float(value)
    return metrics


# --- daemon ----------------------------------------------------------------------------------

# Moves inherited sockets to the descriptors that sd_listen_fds(3) requires.
_ACTIVATE = """
import os, sys
fds, program = [int(n) for n in sys.argv[1].split(",")], sys.argv[2:]
high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
    os.close(fd)
os.closerange(3 + len(fds), 100)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(program[0], program)
"""


def preloaded(library):
    """A sanitizer's library must be the first that is loaded."""
    libraries = [str(library)]
    for word in ("address", "thread"):
        if word in BUILD.name:
            found = subprocess.run(["gcc", f"-print-file-name=lib{word[0]}san.so"], capture_output=True, text=True, check=True)
            libraries.insert(0, found.stdout.strip())
    return ":".join(libraries)


class Daemon:
    """Runs perfd in a directory of its own. Configuration is the text of perfd.conf; tests have defaults for other settings.
    tcp=None: [http] listen is that of the configuration."""

    def __init__(self, config="", tcp=False, root=None, args=(), notify=False, watchdog_s=None, inherit=False, environment=None):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="perfd-", dir="/tmp"))
        self.socket = self.directory / "perfd.sock"
        self.http_socket = self.directory / "http.sock"
        self.state = self.directory / "state"
        self.state.mkdir()
        self.config = self.directory / "perfd.conf"
        self.config_d = self.directory / "perfd.conf.d"
        self.log_file = self.directory / "log"
        self.tcp = tcp
        self.port = None
        self.root = root
        self.args = list(args)
        self.environment = dict(environment or {})
        self.process = None
        self.stolen_s = 0
        self.listening = []
        self.notify = None
        if notify or watchdog_s:
            self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.notify.bind(str(self.directory / "notify"))
            self.notify.settimeout(TIMEOUT_S)
            self.environment["NOTIFY_SOCKET"] = str(self.directory / "notify")
        if watchdog_s:
            self.environment["WATCHDOG_USEC"] = str(int(watchdog_s * 1e6))
        if inherit:
            self._listen()
        self.configure(config)

    def _listen(self):
        for path in (self.socket, self.http_socket):
            s = socket.socket(socket.AF_UNIX)
            s.bind(str(path))
            s.listen(128)
            self.listening.append(s)

    def configure(self, text):
        """Disables the detection of jobs unless the text has patterns, and the removal of old results unless it has a time."""
        text = text if "keep_results" in text else f"{text}\n{NO_EXPIRY}"
        text = text if "[patterns]" in text else f"{text}\n{NO_PATTERNS}"
        self.config.write_text(text if "[indicators]" in text else f"{text}\n{NO_MODELS}")

    def command(self):
        command = [PERFD, "--config", self.config, "--socket", self.socket, "--state", self.state]
        if self.tcp is not None:
            command += ["--http", f"127.0.0.1:{self.port or 0}" if self.tcp else "off"]
        if self.root:
            command += ["--root", self.root]
        return [str(word) for word in command + self.args]

    def start(self, wait=True):
        command, environment, fds = self.command(), {**os.environ, **self.environment}, ()
        environment.pop("PERFD_SOCKET", None)
        if self.listening:
            fds = [s.fileno() for s in self.listening]
            command = [sys.executable, "-I", "-S", "-c", _ACTIVATE, ",".join(map(str, fds))] + command
            environment.update(LISTEN_FDS=str(len(fds)), LISTEN_FDNAMES="perfd:perfd")
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, pass_fds=fds)
        self.stolen_s = stolen_s()
        if wait:
            self.wait_ready()
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"perfd ended with {self.process.returncode} instead of getting ready:\n{self.log()}")
        try:
            answer = self.get("/-/ready", timeout_s=1)
            return answer.status == 200 or "store: " in answer.text  # some tests start perfd on a disk that cannot be written
        except (OSError, http.client.HTTPException):
            return False

    def wait_ready(self):
        wait_for(self.is_ready, "perfd's /-/ready")
        if self.tcp:
            # With port 0 the kernel chooses the port, and the log names it, perhaps after the first answer. A restart uses the same.
            self.port = int(wait_for(lambda: re.findall(r"http://127\.0\.0\.1:(\d+)", self.log()), "the port in the log")[-1])

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def wait_log(self, text):
        return wait_for(lambda: text in self.log() and self.log(), f"{text!r} in the log, which has:\n{self.log()}")

    def signal(self, number):
        self.process.send_signal(number)

    def wait_exit(self):
        """Waits for the exit status, -N for signal N."""
        try:
            return self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"perfd does not end; its log:\n{self.log()}") from None

    def stop(self):
        """Stops the daemon and returns the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait_exit()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.stop()
        return self.start()

    def reload(self):
        """Sends SIGHUP and waits until the reload has succeeded or failed. Requires notify=True."""
        self.signal(signal.SIGHUP)
        return self.wait_notified("RELOADING=1") + self.wait_notified("READY=1")

    def notifications(self):
        """Returns the messages in the notification socket, each as a list of lines."""
        messages = []
        self.notify.setblocking(False)
        try:
            while True:
                messages.append(self.notify.recv(65536).decode().splitlines())
        except BlockingIOError:
            return messages
        finally:
            self.notify.settimeout(TIMEOUT_S)

    def wait_notified(self, line):
        """Receives messages until a message has the line; returns the lines of all messages."""
        lines = []
        try:
            while line not in lines:
                lines += self.notify.recv(65536).decode().splitlines()
        except socket.timeout:
            raise AssertionError(f"timed out waiting for the notification {line}, got {lines}; log:\n{self.log()}") from None
        return lines

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
        for s in self.listening + ([self.notify] if self.notify else []):
            s.close()
        log = self.log()
        shutil.rmtree(self.directory, ignore_errors=True)
        return log

    def client(self, **more):
        return Client(self.socket, **more)

    def get(self, path="/", tcp=False, **more):
        return http_get(self.port if tcp else self.http_socket, path, **more)

    def metrics(self):
        return parse_metrics(self.get("/metrics").text)

    def wait_tick(self):
        """Waits until a sample that was taken after this call is published."""
        now = time.time()
        return wait_for(lambda: (m := self.metrics()).get("perfd_last_sample_timestamp_seconds", 0) > now and m, "a new sample")

    def perfctl(self, *words, stdin=None, environment=None, timeout_s=None):
        """Runs perfctl with this daemon, in text mode, without checking the exit status."""
        return subprocess.run([str(PERFCTL), *map(str, words)], input=stdin, text=True, capture_output=True,
                              timeout=timeout_s or TIMEOUT_S,
                              env={**os.environ, "PERFD_SOCKET": str(self.socket), "NO_COLOR": "1", **(environment or {})})

    def kept_waiting_s(self):
        """Returns the time since its start that the event loop waited for a CPU, as counted by the kernel."""
        try:
            ready_ns = int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/schedstat").read_text().split()[1])
        except FileNotFoundError:
            ready_ns = 0  # this kernel does not count the time
        return ready_ns / 1e9 + stolen_s() - self.stolen_s

    def resident_bytes(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Machine:
    """Creates a directory for --root: a machine with counters that a test sets, and that can be rebooted.

    Counters are written in place and with a fixed width, so that a reader sees either the old or the new text.
    """

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.user_ticks = self.system_ticks = self.idle_ticks = 1000
        self.sectors_read = self.sectors_written = 1000
        self.sent = self.received = 1000
        self.switches = 1000
        for path in ("proc/sys/kernel/random", "proc/pressure", "proc/net", "sys/block/sda/device", "sys/class/net/eth0/device",
                     "sys/class/net/lo"):
            (self.directory / path).mkdir(parents=True)
        self.reboot()

    def reboot(self):
        self.set("proc/sys/kernel/random/boot_id", f"{uuid.uuid4()}\n")
        self.update()

    def set(self, path, text):
        with open(self.directory / path, "wb" if not (self.directory / path).exists() else "r+b") as f:
            f.write(text.encode())

    def update(self, **counters):
        self.__dict__.update(counters)
        n = "{:012d}".format
        cpu = f"{n(self.user_ticks)} 0 {n(self.system_ticks)} {n(self.idle_ticks)} 0 0 0 0 0 0"
        self.set("proc/stat", f"cpu  {cpu}\ncpu0 {cpu}\nintr 0\nctxt {n(self.switches)}\nbtime 0\nprocesses 1\n"
                              "procs_running 1\nprocs_blocked 0\n")
        disk = f"10 0 {n(self.sectors_read)} 10 10 0 {n(self.sectors_written)} 10 0 10 20 0 0 0 0 0 0"
        self.set("proc/diskstats", f"   8       0 sda {disk}\n")
        interface = f"{n(self.received)} 10 0 0 0 0 0 0 {n(self.sent)} 10 0 0 0 0 0 0"
        self.set("proc/net/dev", f"Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n  eth0: {interface}\n")
        self.set("proc/meminfo", "MemTotal: 1000000 kB\nMemFree: 500000 kB\nMemAvailable: 750000 kB\nBuffers: 1000 kB\n"
                                 "Cached: 200000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
        self.set("proc/loadavg", "0.10 0.20 0.30 1/100 1000\n")


class TestCase(unittest.TestCase):
    """Base class of tests that start daemons. A failure shows the logs of all daemons."""

    def setUp(self):
        self.logs = []

    def run(self, result=None):
        def n_failed():
            return sum(len(getattr(result, name, ())) for name in ("failures", "errors"))  # that of pytest has none

        before = n_failed()
        super().run(result)
        if n_failed() > before:
            for log in getattr(self, "logs", []):
                print(f"--- log of perfd in {self.id()}\n{log}---", file=sys.stderr)
        return result

    def daemon(self, config="", wait=True, **more):
        daemon = Daemon(config, **more)
        self.addCleanup(self._close, daemon)
        return daemon.start(wait=wait)

    def _close(self, daemon):
        log = daemon.close()
        self.logs.append(log)
        for report in SANITIZER_REPORTS:
            self.assertNotIn(report, log)

    def temporary_directory(self):
        directory = tempfile.mkdtemp(prefix="perfd-", dir="/tmp")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        return pathlib.Path(directory)

    def for_others(self, program=PERFCTL):
        """Copies a program to a directory that other users can access: the build directory may be in a home of mode 0700."""
        directory = self.temporary_directory()
        directory.chmod(0o755)
        return shutil.copy(program, directory)

    def assert_status(self, reply, status):
        """status: name in the protocol, such as 'OK'."""
        self.assertIsNotNone(reply, "the connection was closed instead of an answer")
        self.assertEqual(wire.Status.Name(reply.status), status, f"{reply.path}: {reply.message}")

    def assert_none_missed(self, daemon, interval_s=0.1):
        """Checks that no samples were missed, except for the time in which the event loop waited for a CPU."""
        metrics = daemon.wait_tick()
        self.assertLessEqual(metrics["perfd_samples_missed_total"] * interval_s, daemon.kept_waiting_s())
        return metrics
