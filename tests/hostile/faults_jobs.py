"""Faults that a user causes with job ids: the maximum number of jobs, used ids, and results claimed for the jobs of
others."""

import os
import time

import harness
from hostile import fault, libc_setresuid

ATTACKER, VICTIM = 1001, 1002
N_JOBS_MAX = 200
N_AT_ONCE = 20


def connect(target, uid):
    """Returns a client of this user, or of the test's user if the test does not run as root."""
    if os.geteuid() != 0:
        return target.daemon.client()
    libc_setresuid(uid)
    try:
        return target.daemon.client()
    finally:
        libc_setresuid(0)


def expect(target, reply, *statuses):
    status = harness.wire.Status.Name(reply.status)
    target.check(status in statuses, f"{status} instead of {' or '.join(statuses)}: {reply.message}")
    return status


@fault("a user begins jobs until no more is possible, and uses up the scheduler's next ids",
       "other users and root begin jobs, root with any id, also after a restart", config=f"[limits]\njobs = {N_JOBS_MAX}\n", restarts=True)
def taken_ids(target):
    if os.geteuid() != 0:
        return "needs root"
    n_begun, next_id, taken = 0, 0, set()
    while target.goes_on():
        with connect(target, ATTACKER) as attacker:
            while expect(target, attacker.begin(str(next_id)), "OK", "QUOTA") == "OK":
                if next_id % 2:
                    expect(target, attacker.end(str(next_id), 0), "OK")
                next_id, n_begun = next_id + 1, n_begun + 1
                if next_id % 1000 == 0:
                    break
        for _ in range(2):
            with connect(target, VICTIM) as victim, target.daemon.client() as root:
                job = f"own-{target.n_rounds}"
                expect(target, victim.begin(job, pid=0), "OK")
                expect(target, victim.end(job, 0), "OK")
                for n in set(range(max(0, next_id - 4), next_id + 1)) - taken:
                    expect(target, root.begin(str(n), uid=VICTIM), "OK")
                    expect(target, root.end(str(n), 0), "OK")
                    taken.add(n)
            target.n_rounds += 1
            next_id += 1
            target.daemon.restart()
        with connect(target, ATTACKER) as attacker:
            for n in range(max(0, next_id - 3 * N_JOBS_MAX), next_id):
                attacker.end(str(n), 0)
    return f"{n_begun} jobs begun by one user, {len(taken)} ids taken back by root"


@fault("results for jobs that other users begin later, dated ahead", "they are in no report of others, and not on top of lists")
def claimed_results(target):
    if os.geteuid() != 0:
        return "needs root"
    n = 0
    with connect(target, ATTACKER) as attacker, connect(target, VICTIM) as victim:
        while target.goes_on():
            job = f"next-{n}"
            for i in range(N_AT_ONCE):
                ahead_ms = (0, 30 * 60 * 1000, 200 * 365 * 24 * 3600 * 1000)[i % 3]
                now_ms = int(time.time() * 1000) if ahead_ms else 0
                expect(target, attacker.submit(harness.indicator("claimed"), job=job, time_ms=now_ms + ahead_ms), "OK", "INVALID")
            expect(target, victim.submit(harness.indicator("early"), job=job), "OK")
            expect(target, victim.begin(job), "OK")
            expect(target, victim.submit(harness.indicator("real"), job=job), "OK")
            expect(target, attacker.submit(harness.indicator("claimed"), job=job), "DENIED")
            names = sorted(result["name"] for result in target.daemon.get(f"/api/v1/results?job={job}").json["results"])
            target.check(names == ["early", "real"], f"the report has {names}")
            newest = target.daemon.get("/api/v1/results?limit=1").json["results"][0]
            target.check(newest["time_ms"] <= int(time.time() * 1000) + 3600 * 1000, f"{newest['time_ms']} is on top of the list")
            expect(target, victim.end(job, 0), "OK")
            n += 1
    return f"{n * N_AT_ONCE} results for {n} jobs"


def fill_request(target, kind, n, body):
    """Fills a request of each kind, so that its effects are logged if any are; a kind that this function lacks fails the fault."""
    name = f"Flood{n % 3}"
    if kind == "hello":
        body.client = f"flood {n}"
    elif kind == "job_begin":
        body.job, body.pid = f"flood-{n % 7}", n % 3 * 100000
        body.gpus.extend((f"minor:{n % 9}", "no GPU")[:n % 3])
    elif kind == "job_end":
        body.job, body.exit_status = f"flood-{n % 7}", 0
    elif kind == "submit":
        body.indicators.add(id=target.random.randbytes(16), document=harness.to_json(harness.indicator(name=name, rate=float(n))))
    elif kind == "mark":
        body.job, body.name = f"flood-{n % 7}", f"phase {n}"
    elif kind == "register":
        body.model.append(harness.to_json({"name": name, "results": {"rate": {"type": "float", "unit": f"u{n}"}}}))
    elif kind == "unregister":
        body.name = name
    elif kind == "pipeline_report":
        body.job, body.producer = f"flood-{n % 7}", f"spdl 0.{n}"
    elif kind == "forget":
        body.uid = 4000 + n % 3
    else:
        target.check(kind == "reload", f"no request of the kind {kind} in fill_request()")


@fault("each kind of request over and over, by a user and by root", "a line of the log per minute, user and kind of message at most")
def log_flood(target):
    kinds = [field.name for field in harness.wire.Request.DESCRIPTOR.oneofs_by_name["body"].fields]
    before, n = len(target.daemon.log().splitlines()), 0
    with target.bystander.connect() as user, target.daemon.client() as root:
        while target.goes_on():
            for client in (user, root):
                for kind in kinds:
                    for _ in range(30):
                        request = client.request()
                        body = getattr(request, kind)
                        body.SetInParent()
                        fill_request(target, kind, n, body)
                        target.check(client.call(request) is not None, f"no answer to {kind}")
                        n += 1
    for path in ("/metrics", "/nothing", "/api/v1/jobs/nothing", "/api/v1/indicators/Flood0/query?stat=x"):
        for _ in range(100):
            target.daemon.get(path)
    lines = target.daemon.log().splitlines()[before:]
    minutes = 1 + target.seconds / 60
    target.check(len(lines) <= 12 * minutes, f"{len(lines)} lines of the log, among them {lines[:5]}")
    return f"{n} requests of {len(kinds)} kinds, {len(lines)} lines of the log"


@fault("a user at the limit of jobs, and models whose names are one on /metrics", "QUOTA says what counts twice; the models are refused",
       config="[limits]\njobs = 4\n", restarts=True)
def told_limits(target):
    n, down = 0, {"direction": "lower"}
    with connect(target, ATTACKER) as client:
        while target.goes_on():
            for i in range(6):
                reply = client.begin(f"full-{i}", pid=os.getpid() if os.geteuid() else 0)
                if reply.status == harness.wire.QUOTA:
                    break
            target.check("count twice" in reply.message, str(reply))
            for model in ({"results": {"a-b": down, "a_b": down}}, {"results": {"9": down, "_9": down}},
                          {"results": {"x": down}, "parameters": {"p-q": {"type": "int"}, "p_q": {"type": "int"}}}):
                request = client.request()
                request.register.model.append(harness.to_json({"name": "Twice", **model}))
                reply = client.call(request)
                target.check(reply.status == harness.wire.INVALID and "same name on /metrics" in reply.message, str(reply))
            n += 1
    return f"{n} rounds"
