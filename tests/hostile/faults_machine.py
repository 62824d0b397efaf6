"""Faults of the machine: kills, damaged files, exhausted descriptors."""

import contextlib
import errno
import json
import os
import pathlib
import resource
import socket
import sqlite3
import subprocess
import tempfile
import time

import harness
from harness import wait_for
from hostile import fault


@fault("kill -9 under load", "what was acknowledged is there once", restarts=True)
def kills(target):
    n = 0
    while target.goes_on():
        before = len(target.bystander.acknowledged)
        wait_for(lambda: len(target.bystander.acknowledged) > before + target.random.randrange(20), "the bystander")
        target.daemon.kill()
        target.daemon.start()
        n += 1
    return f"{n} kills"


def wait_stored(target, n):
    """Waits for n results of the bystander. A damage that perfd finds late costs no restart: a new file takes the place of the bad one."""
    before = len(target.bystander.acknowledged)
    wait_for(lambda: len(target.bystander.acknowledged) > before + n, "the bystander")


@fault("a page of the database overwritten while perfd is down", "perfd starts, stores, and keeps the damaged file", restarts=True)
def damaged_database(target):
    n = 0
    while target.goes_on():
        wait_stored(target, 5)
        target.daemon.stop()
        path = target.daemon.state / "perfd.db"
        n_pages = path.stat().st_size // 4096
        with open(path, "r+b") as f:
            f.seek(4096 * target.random.randrange(n_pages) + target.random.randrange(4000))
            f.write(target.random.randbytes(target.random.choice((1, 16, 96))))
        # Rows lost by the damage cannot be required of perfd.
        target.bystander.acknowledged.clear()
        target.daemon.start()
        n += 1
    n_aside = sum(1 for p in target.daemon.state.iterdir() if p.name not in ("perfd.db", "perfd.db-wal", "perfd.db-shm"))
    wait_stored(target, 0)
    return f"{n} damages, {n_aside} files put aside"


@fault("the table of jobs overwritten while perfd is down", "a job of which an index is left has an unknown end, not a duration of 0",
       restarts=True)
def damaged_jobs(target):
    n, restored = 0, set()
    while target.goes_on():
        wait_stored(target, 5)
        with target.daemon.client() as client:
            for i in range(5):
                client.begin(f"brief-{n}-{i}")
                if i % 2:
                    client.end(f"brief-{n}-{i}", 0)
        target.daemon.stop()
        path = target.daemon.state / "perfd.db"
        with contextlib.closing(sqlite3.connect(path)) as database:
            root, = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'job'").fetchone()
        with open(path, "r+b") as f:
            f.seek((root - 1) * 4096)
            f.write(target.random.randbytes(4096))
        target.bystander.acknowledged.clear()
        target.daemon.start()
        wait_for(lambda: target.daemon.get("/api/v1/node").json["store"]["salvage"], "the salvage")
        for job in target.daemon.get("/api/v1/jobs?limit=100").json["jobs"]:
            has_ended = int(job["id"][-1]) % 2  # maybe within a millisecond
            target.check(has_ended or job["end_ms"] != job["begin_ms"], f"{job['id']} is said to have taken 0 ms")
            restored |= {job["id"]} if job["end_ms"] is None and job["state"] != "running" else set()
        n += 1
    return f"{n} damages, {len(restored)} jobs with an unknown end"


@fault("a byte of the database's log flipped while perfd is down", "said with the number of frames, kept, and hardly a result is lost",
       restarts=True)
def damaged_log(target):
    n, n_silent, n_lost, n_all = 0, 0, 0, 0
    while target.goes_on():
        wait_stored(target, 30)
        target.daemon.kill()
        path = target.daemon.state / "perfd.db-wal"
        with open(path, "r+b") as f:
            n_bytes = path.stat().st_size
            place = target.random.randrange(n_bytes)
            f.seek(place)
            byte = f.read(1)[0]
            f.seek(place)
            f.write(bytes([byte ^ 1 << target.random.randrange(8)]))
        ids = list(target.bystander.acknowledged)
        target.bystander.acknowledged.clear()
        target.daemon.start()
        store = target.daemon.get("/api/v1/node").json["store"]
        if store["damage"]:
            wait_for(lambda: target.daemon.get("/api/v1/node").json["store"]["salvage"], "the salvage")
        with target.daemon.client() as client:
            lost = sum(client.submit(harness.indicator(), ids=[i]).status == harness.wire.OK for i in ids)
        target.check(not lost or "frames of perfd.db-wal are wrong" in (store["damage"] or ""), f"{lost} results are gone in silence")
        n, n_silent, n_lost, n_all = n + 1, n_silent + (not store["damage"]), n_lost + lost, n_all + len(ids)
    return f"{n} flipped bytes, {n_silent} of them behind the end of the log; {n_lost} of {n_all} results lost"


@fault("damaged models", "the former models are kept, and the error is logged")
def damaged_models(target):
    directory = target.daemon.directory / "indicators.d"
    directory.mkdir(exist_ok=True)
    target.daemon.configure(f"[indicators]\ndirectory = {directory}\n")
    sources = [path.read_bytes() for path in (harness.ROOT / "conf/indicators.d").glob("*.yaml")]
    n = 0
    while target.goes_on():
        data = bytearray(target.random.choice(sources))
        for _ in range(3):
            data[target.random.randrange(len(data))] = target.random.choice(b"\x00\xff{}[]:-\n\t &*!|>'\"")
        (directory / f"{n % 5}.yaml").write_bytes(data)
        before = target.daemon.metrics()["perfd_config_last_reload_timestamp_seconds"]
        target.daemon.signal(1)
        wait_for(lambda: target.daemon.wait_tick()["perfd_config_last_reload_timestamp_seconds"] > before, "the reload")
        n += 1
    return f"{n} reloads"


@fault("db check and db salvage of a FIFO, a device or a directory, and a NUL in perfd.conf", "refused at once, with the reason")
def odd_files(target):
    directory = target.daemon.directory
    os.mkfifo(directory / "fifo")
    (directory / "nul.conf").write_bytes(b"[sampling]\ninterval = 1s\0\n")
    n = 0
    while target.goes_on():
        for path in (directory / "fifo", "/dev/zero", directory):
            for words in (("check", path), ("salvage", path, directory / "new.db")):
                command = [harness.PERFD, "--config", "/dev/null", "--db", *words]
                done = subprocess.run(command, capture_output=True, text=True, timeout=5)
                target.check((done.returncode, done.stderr) == (1, f"{path}: not a regular file\n"), f"{words}: {done}")
        for name in ("fifo", "nul.conf"):
            command = [harness.PERFD, "--check-config", "--config", directory / name]
            done = subprocess.run(command, capture_output=True, text=True, timeout=5)
            target.check(done.returncode == 6 and name in done.stderr, f"{name}: {done}")
        n += 1
    return f"{n} rounds of 8 commands"


@fault("no descriptors left", "perfd waits without spinning, logs it, and goes on afterwards", restarts=True)
def no_descriptors(target):
    pid = target.daemon.process.pid
    n_max = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    waiting = []
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")), n_max[1]))
    try:
        for path in (target.daemon.socket, target.daemon.http_socket) * 8:
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            s.connect(str(path))
            waiting.append(s)
        target.daemon.wait_log("No file descriptors left")
        while target.goes_on():
            target.bystander.is_over.wait(0.05)
    finally:
        for s in waiting:
            s.close()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, n_max)
    with target.daemon.client() as client:
        wait_for(lambda: target.daemon.get("/-/ready").status == 200, "an answer")
        target.check(client.hello() is not None, "no answer")
    return f"{len(waiting)} connections beyond the limit"


@fault("links, directories, FIFOs and files of others in the spool", "named and skipped; the others are sent, none with root's rights")
def odd_spool(target):
    spool, n, n_stored = target.daemon.directory / "spool", 0, 0
    spool.mkdir()
    while target.goes_on():
        name = f"{n:06d}"
        kind = target.random.choice(("link", "directory", "fifo") + (("other",) if os.geteuid() == 0 else ()))
        text = json.dumps({"kind": "indicator", "job": "", "time_ms": 1700000000000, "id": target.random.randbytes(16).hex(),
                           "document": harness.indicator("spooled")}) + "\n"
        odd = spool / f"{name}-odd.jsonl"
        if kind == "link":
            odd.symlink_to("/etc/passwd")
        elif kind == "directory":
            odd.mkdir()
        elif kind == "fifo":
            os.mkfifo(odd)
        else:
            odd.write_text(text)
            os.chown(odd, 1001, 1001)
        (spool / f"{name}-sound.jsonl").write_text(text)
        done = target.daemon.perfctl("flush", "--spool", spool, "--json")
        answer = json.loads(done.stdout)
        n_stored += answer["stored"]
        n += 1
        target.check((answer["stored"], answer["skipped"]) == (1, 1) and odd.name in done.stderr, f"{kind}: {done}")
        odd.rmdir() if kind == "directory" else odd.unlink()
    return f"{n} odd entries skipped, {n_stored} results behind them stored"


def failing_disk():
    import test_disk_errors
    return test_disk_errors.failing_disk(pathlib.Path(tempfile.mkdtemp(prefix="perfd-")))


@fault("a disk whose writes and syncs fail with EDQUOT, EROFS, EIO and ENOSPC", "UNAVAILABLE and 503 with the error by its name; logged",
       config="[sampling]\ninterval = 100ms\n", restarts=True, environment=failing_disk)
def failing_writes(target):
    control, n = pathlib.Path(target.environment["FAIL"]), 0
    with target.daemon.client() as client:
        while target.goes_on():
            number = target.random.choice((errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOSPC))
            control.write_text(f"{number} -1 {target.random.choice(('write', 'sync', ''))}\n")
            name = errno.errorcode[number]
            reply = client.submit(harness.indicator())
            target.check(reply.status == harness.wire.UNAVAILABLE and name in reply.message, f"{name}: {reply}")
            ready = wait_for(lambda: (r := target.daemon.get("/-/ready")).status == 503 and r, "the end of readiness")
            target.check(name in ready.text, f"{name}: {ready.text}")
            target.check("Cannot write to the store" in target.daemon.log(), "not logged")
            control.write_text("0 0\n")
            wait_for(lambda: client.submit(harness.indicator()).status == harness.wire.OK, "the store")
            wait_for(lambda: target.daemon.get("/-/ready").status == 200, "readiness")
            n += 1
    return f"{n} errors"


@fault("a program that reads the database without an end", "said in the log and by status; results are stored",
       config="[store]\nmax_size = 16M\n[sampling]\ninterval = 100ms\n", restarts=True)
def pinned_log(target):
    n = 0
    reader = sqlite3.connect(target.daemon.state / "perfd.db")
    with target.daemon.client() as client:
        while target.goes_on():
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM result").fetchone()
            while not target.daemon.get("/api/v1/node").json["store"]["sync_error"]:
                reply = client.submit(*[harness.indicator(text="y" * 3000)] * 20)
                target.check(reply.status == harness.wire.OK, str(reply))
                n += 20
            target.check("not healthy" in target.daemon.perfctl("status").stdout, "status says healthy")
            target.daemon.wait_log("a reader of the database keeps the log")
            reader.rollback()
    reader.close()
    return f"{n} results stored behind a reader"


@fault("ranks of 20 values over 20,000 results with query_timeout = 300ms", "503 in time; others are served",
       config="[http]\nquery_timeout = 300ms\n")
def long_ranks(target):
    with target.daemon.client() as client:
        for i in range(40):
            documents = [harness.indicator("many", rate=1000.0 + (7919 * k + i) % 97, version=f"v{k % 20}") for k in range(500)]
            client.submit(*documents)
    longest, n = 0.0, 0
    while target.goes_on():
        begin = time.monotonic()
        answer = target.daemon.get("/api/v1/indicators/many/rank?objective=rate&direction=higher&by=version")
        longest, n = max(longest, time.monotonic() - begin), n + 1
        target.check(answer.status in (200, 503) and longest < 2, f"{answer.status} after {longest:.1f} s")
    return f"{n} ranks, the longest {longest * 1000:.0f} ms"


@fault("a FIFO, a device and a link to a FIFO as configuration, at a reload", "refused with the reason; perfd samples, and ends at once",
       config="[sampling]\ninterval = 100ms\n", restarts=True)
def blocking_configuration(target):
    n = 0
    target.daemon.config_d.mkdir(exist_ok=True)
    os.mkfifo(target.daemon.directory / "pipe")
    while target.goes_on():
        path = target.daemon.config_d / "10.conf"
        kind = target.random.choice(("fifo", "/dev/zero", target.daemon.directory / "pipe"))
        os.mkfifo(path) if kind == "fifo" else path.symlink_to(kind)
        before = target.daemon.metrics()["perfd_samples_total"]
        done = target.daemon.perfctl("reload", timeout_s=5)
        target.check(done.returncode != 0 and "not a regular file" in done.stderr, str(done))
        wait_for(lambda: target.daemon.metrics()["perfd_samples_total"] > before, "further samples")
        target.check("not a regular file" in target.daemon.get("/-/healthy").text, "not said")
        begin = time.monotonic()
        target.check(target.daemon.stop() == 0 and time.monotonic() - begin < 5, "perfd does not end")
        path.unlink()
        target.daemon.start()
        n += 1
    return f"{n} reloads and ends"
