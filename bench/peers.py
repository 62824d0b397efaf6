"""The programs that perfd is compared with, if installed or unpacked under build/interop (make interop-deps)."""

import contextlib
import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from measure import ROOT, Connection, end, read_ahead, wait_for

UNPACKED = ROOT / "build" / "interop"

# The values that perf.py of lightgbm-benchmark reads each second with psutil.
PSUTIL_LOOP = """
import sys, time
try:
    import psutil
except ImportError:
    sys.exit(3)
pause_s, n = float(sys.argv[1]), int(sys.argv[2])

def sample():
    psutil.cpu_percent(interval=None, percpu=True)
    psutil.virtual_memory().percent
    psutil.disk_usage("/").percent
    psutil.disk_io_counters()
    psutil.net_io_counters(pernic=True)

sample()
cpu = time.process_time()
for _ in range(n):
    sample()
    if pause_s:
        time.sleep(pause_s)
print((time.process_time() - cpu) / n * 1e6)
"""


def find(command):
    places = f"{UNPACKED}/bin:{os.environ['PATH']}:/usr/sbin:/sbin:/usr/lib/sysstat"
    return shutil.which(command, path=places)


def program_of(command):
    """What a wrapper that tools/deps wrote starts, else the command itself."""
    if str(command).startswith(str(UNPACKED / "bin")):
        return re.findall(r'exec "([^"]+)"', pathlib.Path(command).read_text())[0]
    return command


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(process, port, path):
    if process.poll() is not None:
        raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
    try:
        return Connection(port).get(path)
    except (OSError, http.client.HTTPException, RuntimeError):
        return False


@contextlib.contextmanager
def started(*command):
    read_ahead(program_of(command[0]))
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        end(process)


@contextlib.contextmanager
def temporary_directory():
    directory = tempfile.mkdtemp(prefix="perfd-peer-")
    try:
        yield pathlib.Path(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


# --- samplers ------------------------------------------------------------------------------------

def psutil_us(n):
    """Returns the CPU time of a sample in a loop without pauses; None without psutil."""
    done = subprocess.run(["/usr/bin/python3", "-c", PSUTIL_LOOP, "0", str(n)], stdout=subprocess.PIPE, text=True)
    return float(done.stdout) if done.returncode == 0 else None


@contextlib.contextmanager
def psutil_at_1hz():
    with started("/usr/bin/python3", "-c", PSUTIL_LOOP, "1", "3600") as process:
        yield process


@contextlib.contextmanager
def sadc_at_1hz():
    """Writes all default metrics to a file."""
    with temporary_directory() as directory, started(find("sadc"), "1", "3600", directory / "sa") as process:
        yield process


COLLECTD_CONF = """
BaseDir "{directory}"
PIDFile "{directory}/pid"
{plugin_dir}
Interval 1
LoadPlugin cpu
LoadPlugin memory
LoadPlugin swap
LoadPlugin load
LoadPlugin disk
LoadPlugin interface
LoadPlugin df
LoadPlugin vmem
LoadPlugin csv
<Plugin csv>
  DataDir "{directory}/csv"
</Plugin>
"""


@contextlib.contextmanager
def collectd_at_1hz():
    """The sources perfd has, written to its CSV files."""
    unpacked = UNPACKED / "root" / "usr"
    plugin_dir = f'PluginDir "{unpacked}/lib/collectd"\nTypesDB "{unpacked}/share/collectd/types.db"' \
        if (unpacked / "lib" / "collectd").is_dir() else ""
    with temporary_directory() as directory:
        (directory / "collectd.conf").write_text(COLLECTD_CONF.format(directory=directory, plugin_dir=plugin_dir))
        with started(find("collectd"), "-f", "-C", directory / "collectd.conf") as process:
            wait_for(lambda: process.poll() is not None or (directory / "csv").is_dir(), "collectd's first values")
            yield process


@contextlib.contextmanager
def node_exporter():
    """Yields the process; its port is in the attribute port."""
    port = free_port()
    with started(find("prometheus-node-exporter"), f"--web.listen-address=127.0.0.1:{port}") as process:
        wait_for(lambda: answers(process, port, "/metrics"), "node_exporter")
        process.port = port
        yield process


SAMPLERS = {"psutil loop": ("python3", psutil_at_1hz), "sadc": ("sadc", sadc_at_1hz),
            "collectd": ("collectd", collectd_at_1hz), "node_exporter": ("prometheus-node-exporter", node_exporter)}


# --- takers of results ---------------------------------------------------------------------------

PUSHED = b"# TYPE elapsed gauge\nelapsed 1.1993227526545525\n# TYPE rate gauge\nrate 223.6039559880204\n"


def push(port, first, stop_at, counts, slot):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    n = 0
    while time.monotonic() < stop_at:
        connection.request("PUT", f"/metrics/job/PiMatmul/instance/{first + n}", PUSHED)
        response = connection.getresponse()
        response.read()
        if response.status not in (200, 202):
            raise RuntimeError(f"pushgateway answered {response.status}")
        n += 1
    counts[slot] = n
    connection.close()


def push_rates(seconds, n_rounds, n_connections=8):
    """Returns PUT requests per second in consecutive rounds, each PUT with a group of its own; None without a
    pushgateway.

    A pushgateway stores groups in memory and writes a file occasionally: an answer does not mean that data is on
    disk.
    """
    program = find("prometheus-pushgateway")
    if not program:
        return None
    port, n_before, rates = free_port(), 0, []
    with temporary_directory() as directory, started(program, f"--web.listen-address=127.0.0.1:{port}",
                                                     f"--persistence.file={directory}/metrics") as process:
        wait_for(lambda: answers(process, port, "/-/ready"), "pushgateway")
        for _ in range(n_rounds):
            counts = [0] * n_connections
            begin = time.monotonic()
            threads = [threading.Thread(target=push, args=(port, n_before + i * 1000000, begin + seconds, counts, i))
                       for i in range(n_connections)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rates.append(sum(counts) / (time.monotonic() - begin))
            n_before += n_connections * 1000000
    return rates


# --- the disk ------------------------------------------------------------------------------------

def fdatasync_ms(directory, n):
    """Returns the median of n measurements of overwriting 4 KiB with one fdatasync."""
    path = directory / "fdatasync"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    times = []
    try:
        os.pwrite(fd, bytes(1 << 20), 0)
        os.fsync(fd)
        for i in range(n):
            os.pwrite(fd, bytes([i & 255]) * 4096, i % 256 * 4096)
            begin = time.perf_counter()
            os.fdatasync(fd)
            times.append((time.perf_counter() - begin) * 1e3)
    finally:
        os.close(fd)
        path.unlink()
    return sorted(times)[n // 2]
