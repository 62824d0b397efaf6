"""Damages pages of the database: the rows outside of them are salvaged, and perfd continues with a new file."""

import contextlib
import json
import os
import random
import re
import sqlite3
import subprocess
import unittest
import uuid

import damage
import harness
from harness import wait_for


class Damage(harness.TestCase):
    def perfd_db(self, *words):
        return subprocess.run([harness.PERFD, "--config", "/dev/null", "--db", *words], capture_output=True, text=True,
                              timeout=harness.TIMEOUT_S * 5)

    def test_rows_outside_of_damaged_pages_are_salvaged(self):
        daemon = self.daemon()
        damage.fill(self, daemon)
        daemon.stop()
        sound = daemon.state / "perfd.db"
        rows = damage.read_rows(sound)
        n_rows = sum(len(found) for found in rows.values())
        self.assertGreater(n_rows, 8500)
        # Phases have other rowids in the new file: they are counted.
        worst, n_lost, n_kept, n_silent = 1.0, 0, 0, 0
        directory = self.temporary_directory()
        for i in range(damage.N_DAMAGES):
            damaged, salvaged = directory / f"{i}.db", directory / f"{i}-salvaged.db"
            damaged.write_bytes(sound.read_bytes())
            numbers, how = damage.damage(damaged, random.Random(1000 * damage.SEED + i))
            done = self.perfd_db("salvage", damaged, salvaged)
            found = damage.found_in(salvaged, rows)
            n_silent += not self.reports_loss(done) and len(found) < n_rows
            expected = damage.kept(rows, numbers)
            n_phases = sum(table == "phase" for table, _ in expected) - sum(table == "phase" for table, _ in found)
            lost = {row for row in expected if row[0] != "phase"} - found
            n = len(lost) + max(n_phases, 0)
            worst = min(worst, 1 - n / len(expected))
            n_lost, n_kept = n_lost + n, n_kept + len(expected)
            with self.subTest(damage=i, pages=sorted(numbers), how=how):
                self.assertLessEqual(n, 0.01 * len(expected), sorted(lost)[:20])
            for path in directory.iterdir():
                path.unlink()
        # A page that still is a valid one, with fewer rows, is not known to be damaged.
        self.assertLessEqual(n_silent, max(3, damage.N_DAMAGES // 10))
        print(f"@damages {damage.N_DAMAGES} of {n_rows} rows on {sound.stat().st_size // damage.PAGE} pages: {n_lost} of {n_kept} rows "
              f"outside of damaged pages lost, worst {100 * worst:.3f} %")

    def reports_loss(self, done):
        """Returns true if the command says that something is missing, as its exit status must; it may be a page without a row."""
        loss = re.search(r"; at least (\d+) rows and (\d+) pages were not found\n", done.stdout)
        self.assertEqual(done.returncode, 1 if loss else 0, done.stdout + done.stderr)
        if loss:
            self.assertGreater(int(loss[2]), 0)
        return bool(loss)

    def test_rows_of_a_truncated_file_are_salvaged(self):
        """All rows whose pages are left are found, and the loss is reported."""
        daemon = self.daemon()
        damage.fill(self, daemon, 4000, 100)
        daemon.stop()
        data = (daemon.state / "perfd.db").read_bytes()
        rows = damage.read_rows(daemon.state / "perfd.db")
        n_rows = sum(len(found) for found in rows.values())
        directory = self.temporary_directory()
        n_pages = len(data) // damage.PAGE
        for percent in (75, 50, 25):
            with self.subTest(percent):
                damaged, salvaged = directory / f"{percent}.db", directory / f"{percent}-salvaged.db"
                n_left = n_pages * percent // 100
                damaged.write_bytes(data[:n_left * damage.PAGE])
                done = self.perfd_db("salvage", damaged, salvaged)
                found = damage.found_in(salvaged, rows)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertTrue(self.reports_loss(done) and len(found) < n_rows, done.stdout)
                missing = int(re.search(r"rows and (\d+) pages", done.stdout)[1])
                self.assertGreaterEqual(missing, n_pages - n_left)
                expected = damage.kept(rows, set(range(n_left + 1, n_pages + 1)))
                results = {row for row in expected if row[0] == "result"}
                self.assertGreater(len(results), 100)
                self.assertEqual(results - found, set())
                self.assertLessEqual(len({row for row in expected if row[0] != "phase"} - found), 0.01 * len(expected))

    def test_a_damaged_text_is_null_in_answers_that_stay_valid(self):
        daemon = self.daemon("[sampling]\ninterval = 100ms\n")
        stack = harness.to_json({"packages": [{"name": "numpy", "kind": "python", "version": "2.1"}]})
        with daemon.client() as client:
            self.assert_status(client.begin("trained"), "OK")
            for i in range(40):
                document = {"name": "demo", "framework": "c", "@parameters": {"size": f"n{i}"}, "@result": {"rate": i + 0.5}}
                request = client.submit_request(document, job="trained")
                request.submit.indicators[0].run = harness.to_json({"environment": {"HOSTNAME": f"node{i}"}})
                if i == 0:
                    request.submit.stacks.append(stack)
                    request.submit.indicators[0].stack = 1
                self.assert_status(client.call(request), "OK")
            request = client.request()
            request.register.model.append(harness.to_json({"name": "demo", "component": "c", "results": {"rate": {"direction": "higher"}}}))
            self.assert_status(client.call(request), "OK")
            request = client.request()
            request.pipeline_report.job, request.pipeline_report.description = "trained", harness.to_json({"batch": 32})
            request.pipeline_report.stages.add(stage="0:0:read").tasks.elapsed = 1
            self.assert_status(client.call(request), "OK")
        paths = ["/api/v1/indicators/demo/results", "/api/v1/results?job=trained", "/api/v1/results?name=demo&where=size=n1",
                 "/api/v1/stacks", "/api/v1/indicators/demo/query?group_by=size&stat=median:rate",
                 "/api/v1/indicators/demo/rank?objective=rate&direction=higher", "/api/v1/kpis/demo/regress",
                 "/api/v1/jobs/trained/pipeline", "/api/v1/jobs/trained", "/api/v1/models", "/api/v1/indicators"]
        for path in paths:
            self.assertEqual(daemon.get(path).status, 200, path)
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.state / "perfd.db")) as database:
            database.text_factory, damaged = bytes, set()
            columns = [(table.decode(), column[1].decode()) for (table,) in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%WITHOUT ROWID%'").fetchall()
                       for column in database.execute(f"PRAGMA table_info({table.decode()})").fetchall()]
            for table, column in columns:
                for row, text in database.execute(f"SELECT rowid, {column} FROM {table} WHERE typeof({column}) = 'text' AND"
                                                  f" {column} LIKE '{{%'").fetchall():
                    damaged.add((table, column))
                    at = row * 7 % len(text)
                    text = text[:at] + (b"\xff", b'"', b"\x01", b"}")[row % 4] + text[at + 1:]
                    database.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (text, row))
            database.commit()
        self.assertLessEqual({("result", "document"), ("result", "run"), ("pipeline", "description"), ("stack", "facts"),
                              ("model", "document")}, damaged)
        daemon.start()
        for path in paths:
            reply = daemon.get(path)
            self.assertEqual(reply.status, 400 if path.endswith("/regress") else 200, path)  # the model is lost
            json.loads(reply.body.decode("utf-8", "strict"))  # valid
        results = daemon.get("/api/v1/results?job=trained").json["results"]
        self.assertEqual(len(results), 40)
        self.assertGreater(sum(result["document"] is None for result in results), 20)
        for result in results:
            self.assertEqual("damaged" in result.get("note", ""), result["document"] is None or result["run"] is None)
        self.assertGreaterEqual(daemon.wait_tick()["perfd_store_damaged_texts_total"], sum("note" in result for result in results))

    def test_perfd_continues_with_a_new_file_and_keeps_acknowledged_rows(self):
        """Writes random data over pages of the file while perfd runs and clients submit."""
        daemon = self.daemon("[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 1s\n")
        ids = damage.fill(self, daemon, 4000, 30)
        daemon.restart()  # after a restart, the pages are in the file and in no cache
        path = daemon.state / "perfd.db"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            # Pages that new rows change: the last page of each index by name or id.
            roots = [root for (root,) in database.execute("SELECT rootpage FROM sqlite_schema WHERE name IN"
                                                          " ('result_by_name', 'result_by_time', 'job_by_state')")]
        with open(path, "r+b", buffering=0) as f:
            for root in roots:
                f.seek((root - 1) * damage.PAGE)
                f.write(random.Random(damage.SEED).randbytes(damage.PAGE))
        with daemon.client() as client:
            for i in range(200):
                new = uuid.uuid4().bytes
                reply = client.submit(harness.indicator(), ids=[new])
                self.assert_status(reply, "OK")
                ids.append(new)
        self.assertEqual(daemon.get("/-/ready").status, 200)
        daemon.wait_log("was damaged (")
        daemon.wait_log("the damaged file is kept as")
        metrics = daemon.wait_tick()
        self.assertEqual(metrics["perfd_store_damaged_files_total"], 1)
        self.assertEqual(metrics["perfd_store_salvaging"], 0)
        self.assertGreater(metrics["perfd_store_rows_salvaged_total"], 4000)
        self.assertIn("perfd.db.damaged-", daemon.get("/api/v1/node").json["store"]["damage"])
        self.assertIn("salvaged", daemon.perfctl("status").stdout)
        self.assertEqual(len(list(daemon.state.glob("perfd.db.salvaged-*Z"))), 1)
        with daemon.client() as client:
            for new in ids:
                self.assert_status(client.submit(harness.indicator(), ids=[new]), "DUPLICATE")
            running = [f"job-{i}" for i in range(0, 30, 10)]
            self.assertEqual({j["id"] for j in daemon.get("/api/v1/jobs?state=running").json["jobs"]}, set(running))
            for job in running:
                self.assert_status(client.end(job, 0), "OK")
        self.assertEqual(len(daemon.get("/api/v1/jobs?limit=1000").json["jobs"]), 30)
        self.assertEqual(daemon.get("/api/v1/indicators/demo/query?stat=n:rate").json["groups"][0]["n"] > 1000, True)
        daemon.restart()
        done = daemon.perfctl("db", "check")
        self.assertEqual((done.returncode, "no damage found" in done.stdout), (0, True), done.stdout + done.stderr)

    def test_a_job_of_which_an_index_is_left_has_an_unknown_duration(self):
        daemon = self.daemon()
        with daemon.client() as client:
            for i in range(3):
                self.assert_status(client.begin(f"job-{i}"), "OK")
                self.assert_status(client.end(f"job-{i}", 0), "OK")
        daemon.stop()
        path = daemon.state / "perfd.db"
        with contextlib.closing(sqlite3.connect(path)) as database:
            root, = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'job'").fetchone()
        data = bytearray(path.read_bytes())
        data[(root - 1) * damage.PAGE:root * damage.PAGE] = random.Random(damage.SEED).randbytes(damage.PAGE)
        path.write_bytes(data)
        daemon.start()
        wait_for(lambda: daemon.get("/api/v1/node").json["store"]["salvage"], "the salvage")
        jobs = daemon.get("/api/v1/jobs").json["jobs"]
        self.assertEqual([(job["state"], job["end_ms"]) for job in jobs], [("finished", None)] * 3)
        self.assertRegex(daemon.perfctl("job", "list").stdout, r"(?m)^job-1 +finished +\S+ \S+ +- ")
        self.assertIn("unknown, since", daemon.perfctl("report", "job-1").stdout)

    def test_the_database_is_checked_and_copied_while_perfd_runs(self):
        daemon = self.daemon()
        ids = damage.fill(self, daemon, 1000, 3)
        copy = self.temporary_directory() / "copy.db"
        done = daemon.perfctl("db", "check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"(?m)^result +{len(ids)} rows$")
        done = daemon.perfctl("db", "backup", copy)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(copy.stat().st_mode & 0o777, 0o600)
        with contextlib.closing(sqlite3.connect(copy)) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM result").fetchone(), (len(ids),))
        done = daemon.perfctl("db", "backup", copy)
        self.assertEqual(done.returncode, 1)
        self.assertIn("exists already", done.stderr)
        with daemon.client() as client:
            self.assert_status(client.submit(harness.indicator()), "OK")

        data = bytearray(copy.read_bytes())
        data[20 * damage.PAGE:24 * damage.PAGE] = bytes(4 * damage.PAGE)
        copy.write_bytes(data)
        done = daemon.perfctl("db", "check", copy)
        self.assertEqual(done.returncode, 1, done.stdout)
        copy.write_text("no database\n" * 1000)
        done = self.perfd_db("salvage", copy, copy.with_suffix(".new"))
        self.assertEqual((done.returncode, copy.with_suffix(".new").exists()), (1, False))
        self.assertIn("not a database of perfd", done.stderr)
        os.mkfifo(copy.parent / "fifo")
        fifo = copy.parent / "fifo"
        for done in (self.perfd_db("check", fifo), self.perfd_db("salvage", fifo, copy.with_suffix(".new"))):
            self.assertEqual((done.returncode, done.stderr), (1, f"{copy.parent}/fifo: not a regular file\n"))
        missing = copy.parent / "missing" / "copy.db"
        done = daemon.perfctl("db", "backup", missing)
        self.assertEqual((done.returncode, done.stderr), (1, f"{missing}: No such file or directory\n"))
        done = daemon.perfctl("db", "salvage", daemon.state / "perfd.db", copy.with_suffix(".new"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("perfd is using this file", done.stderr)


if __name__ == "__main__":
    unittest.main()
