"""Checks that ids and reports of jobs, lists and the series of KPIs belong to their users, whatever another user claims."""

import os
import time
import unittest

import harness

OTHERS = (1001, 1002)
HOUR_MS = 3600 * 1000


@unittest.skipUnless(os.geteuid() == 0, "needs root, to act as several users")
class ClaimedJobs(harness.TestCase):
    def client_of(self, daemon, uid):
        """The kernel records the identity of a client at the time of the connection."""
        daemon.directory.chmod(0o755)
        os.seteuid(uid)
        try:
            client = daemon.client()
        finally:
            os.seteuid(0)
        self.addCleanup(client.close)
        return client

    def uids_of(self, daemon, job):
        return sorted(result["uid"] for result in daemon.get(f"/api/v1/results?job={job}").json["results"])

    def test_results_wait_for_a_job_of_their_user(self):
        daemon = self.daemon()
        victim, attacker = (self.client_of(daemon, uid) for uid in OTHERS)
        ahead_ms = int(time.time() * 1000) + HOUR_MS // 2
        for client in (victim, attacker):
            for job in ("own", "prolog"):
                self.assert_status(client.submit(harness.indicator(), job=job, time_ms=ahead_ms), "OK")
        self.assertEqual(self.uids_of(daemon, "own"), sorted(OTHERS))

        self.assert_status(victim.begin("own"), "OK")
        self.assertEqual(self.uids_of(daemon, "own"), [OTHERS[0]])
        self.assert_status(attacker.submit(harness.indicator(), job="own"), "DENIED")
        with daemon.client() as root:
            self.assert_status(root.begin("prolog", uid=OTHERS[0]), "OK")
        self.assertEqual(self.uids_of(daemon, "prolog"), [OTHERS[0]])

        # The results of the other user are stored without a job.
        results = daemon.get("/api/v1/results").json["results"]
        self.assertEqual(len(results), 4)
        self.assertEqual({result["job"] for result in results if result["uid"] == OTHERS[1]}, {None})
        daemon.restart()
        self.assertEqual(self.uids_of(daemon, "own"), [OTHERS[0]])

    def submit_kpi(self, client, name, kpi_name, value):
        request = harness.wire.Request()
        request.register.model.append(harness.to_json({
            "name": name, "kpi_name": kpi_name, "results": {"t": {"type": "float", "direction": "lower", "help": f"It is {value}"}}}))
        self.assertIn(harness.wire.Status.Name(client.call(request).status), ("OK", "DUPLICATE"))
        document = {"name": name, "component": "c", "@parameters": {}, "@result": {"t": value}}
        self.assert_status(client.call(client.submit_request(document)), "OK")

    def test_a_series_is_of_one_user(self):
        daemon = self.daemon()
        victim, attacker = (self.client_of(daemon, uid) for uid in OTHERS)
        self.submit_kpi(victim, "step", "step_time", 1)
        for name, value in (("step", 2), ("mine", 3)):  # the same series, and another indicator with the same family
            self.submit_kpi(attacker, name, "step_time", value)
        metrics = daemon.wait_tick()
        labels = [f'{{component="c",uid="{uid}"}}' for uid in OTHERS]
        self.assertEqual({key: metrics[key] for key in metrics if "step_time" in key},
                         {"perfd_kpi_" + name: value for name, value in
                          (("step_time" + labels[0], 1), ("step_step_time" + labels[1], 2), ("mine_step_time" + labels[1], 3))})
        self.assertIn("# HELP perfd_kpi_step_time It is 1\n", daemon.get("/metrics").text)
        for uid in OTHERS:
            self.assertEqual(metrics[f'perfd_indicators_total{{indicator="step",component="c",uid="{uid}",outcome="stored"}}'], 1)

    def test_a_prolog_finds_its_id(self):
        daemon = self.daemon("[limits]\njobs = 40\n")
        attacker = self.client_of(daemon, OTHERS[1])
        for i in range(100):  # the next ids of the scheduler: used, or in use
            self.assert_status(attacker.begin(str(i)), "OK")
            if i < 95:
                self.assert_status(attacker.end(str(i), 0), "OK")
        self.assert_status(attacker.begin(str(95)), "DUPLICATE")
        with daemon.client() as root:
            for i in range(90, 100):
                self.assert_status(root.begin(str(i), uid=OTHERS[0]), "OK")
            daemon.wait_tick()
            for i in range(90, 100):
                self.assertEqual(daemon.get(f"/api/v1/jobs/{i}").json["uid"], OTHERS[0])
                self.assert_status(root.begin(str(i), uid=OTHERS[0]), "DUPLICATE")
            for i in range(90, 100):
                self.assert_status(attacker.end(str(i), 0), "DENIED")
                self.assert_status(root.end(str(i), 0), "OK")
                self.assert_status(root.begin(str(i), uid=OTHERS[0]), "INVALID")
        # The user's jobs continue under other ids.
        running = daemon.get("/api/v1/jobs?state=running").json["jobs"]
        self.assertEqual({job["uid"] for job in running}, {OTHERS[1]})
        self.assertEqual(sorted(job["id"].split(".")[0] for job in running), [str(i) for i in range(95, 100)])
        daemon.restart()
        self.assertEqual(len(daemon.get("/api/v1/jobs?state=running").json["jobs"]), 5)

    def test_a_date_far_ahead_is_not_on_top_of_every_list(self):
        daemon = self.daemon()
        attacker, victim = self.client_of(daemon, OTHERS[1]), self.client_of(daemon, OTHERS[0])
        ahead_ms = int(time.time() * 1000) + 200 * 365 * 24 * HOUR_MS
        reply = attacker.submit(harness.indicator("claimed"), time_ms=ahead_ms)
        self.assert_status(victim.submit(harness.indicator("real")), "OK")
        results = daemon.get("/api/v1/results").json["results"]
        self.assertEqual(results[0]["name"], "real")
        if len(results) == 1:  # the clock is synchronised
            self.assert_status(reply, "INVALID")
            self.assertEqual(reply.path, "submit.indicators[0].time_ms")
        else:
            self.assertEqual(results[1]["claimed_time_ms"], ahead_ms)
            self.assertLess(results[1]["time_ms"], ahead_ms)


if __name__ == "__main__":
    unittest.main()
