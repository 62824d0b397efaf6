"""Checks that the counters on /metrics go on over any end of perfd within a boot."""

import contextlib
import re
import sqlite3
import time
import unittest

import harness
from harness import wait_for

CONFIG = "[sampling]\ninterval = 100ms\n[jobs]\ncheckpoint_interval = 10min\n"
UNOBSERVED = "perfd_node_unobserved_seconds_total"
OBSERVED = "perfd_node_observed_seconds_total"


class RestartCounters(harness.TestCase):
    def scrape(self, daemon):
        """Returns the counters that perfd-metrics(7) promises to go on over restarts."""
        metrics = harness.parse_metrics(daemon.get("/metrics?collect[]=node&collect[]=jobs&collect[]=self").text)
        return {series: value for series, value in metrics.items() if re.match(r"perfd_(node|job|meter)_\w+_total\b", series)}

    def assert_none_went_back(self, before, after):
        back = {series: (value, after[series]) for series, value in before.items() if series in after and after[series] < value}
        self.assertEqual(back, {})

    def observe(self, daemon, seconds=1.0):
        """Waits until the account has been observed for some time, and returns the counters."""
        begin = self.scrape(daemon)[OBSERVED]
        return wait_for(lambda: (m := self.scrape(daemon))[OBSERVED] >= begin + seconds and m, "observations")

    def node(self, daemon):
        answer = daemon.get("/api/v1/node").json
        return answer["begin_ms"], {metric["key"]: metric for metric in answer["metrics"]}

    def restart_and_compare(self, daemon, end):
        """Returns the counters before and after, and the length of the outage."""
        before = self.observe(daemon)
        begin_ms = self.node(daemon)[0]
        end()
        down = time.monotonic()
        time.sleep(0.5)  # the outage to be counted
        daemon.start()
        outage_s = time.monotonic() - down
        after = self.scrape(daemon)
        self.assert_none_went_back(before, after)
        self.assertGreaterEqual(after[UNOBSERVED] - before[UNOBSERVED], 0.5)
        self.assertLessEqual(after[UNOBSERVED] - before[UNOBSERVED], outage_s + 0.5)
        self.assertGreaterEqual(after[OBSERVED], before[OBSERVED])
        # The numbers of the node in JSON are of the same account.
        after_ms, metrics = self.node(daemon)
        self.assertAlmostEqual(after_ms, begin_ms, delta=50)
        self.assertGreaterEqual(metrics["unobserved_seconds"]["value"], after[UNOBSERVED] - 0.001)
        self.assertIn(metrics["unobserved_seconds"]["quality"], ("exact", "sampled"))
        observed = metrics["duration_seconds"]["value"] - metrics["unobserved_seconds"]["value"]
        self.assertGreaterEqual(observed, before[OBSERVED] - 0.001)
        return before, after

    def test_a_kill_without_jobs(self):
        daemon = self.daemon(CONFIG)
        for _ in range(3):
            self.restart_and_compare(daemon, daemon.kill)

    def test_a_stop_without_jobs(self):
        daemon = self.daemon(CONFIG)
        self.restart_and_compare(daemon, daemon.stop)

    def test_a_stop_without_a_runtime_directory(self):
        """An inherited socket, and no directory of the service manager: the database has the account."""
        daemon = self.daemon(CONFIG, inherit=True)
        self.assertFalse((daemon.directory / "account").exists())
        self.restart_and_compare(daemon, daemon.stop)

    def test_the_service_managers_runtime_directory(self):
        directory = self.temporary_directory()
        daemon = self.daemon(CONFIG, inherit=True, environment={"RUNTIME_DIRECTORY": f"{directory}:/nonexistent"})
        self.restart_and_compare(daemon, daemon.kill)
        self.assertTrue((directory / "account").exists())

    def test_a_kill_with_a_job(self):
        daemon = self.daemon(CONFIG)
        with daemon.client() as client:
            self.assert_status(client.begin("long"), "OK")
        for end in (daemon.kill, daemon.stop, daemon.kill):
            before, _ = self.restart_and_compare(daemon, end)
            self.assertTrue(any(series.startswith("perfd_job_") for series in before))

    def spoil(self, daemon, *slots):
        data = bytearray((daemon.directory / "account").read_bytes())
        for slot in slots:
            data[slot * len(data) // 2 + 100] ^= 1
        (daemon.directory / "account").write_bytes(data)

    def latest_slot(self, daemon):
        data = (daemon.directory / "account").read_bytes()
        sequences = [int.from_bytes(data[at:at + 8], "little") for at in (0, len(data) // 2)]
        return sequences.index(max(sequences))

    def test_a_damaged_slot_costs_one_sample(self):
        daemon = self.daemon(CONFIG)
        before = self.observe(daemon)
        daemon.kill()
        self.spoil(daemon, self.latest_slot(daemon))
        daemon.start()
        self.assertGreater(self.scrape(daemon)[OBSERVED], before[OBSERVED] - 0.5)
        self.assertNotIn("damaged", daemon.log())

    def test_two_damaged_slots_begin_a_new_account(self):
        daemon = self.daemon(CONFIG)
        self.observe(daemon)
        daemon.kill()
        self.spoil(daemon, 0, 1)
        daemon.start()
        self.assertIn("is damaged: beginning a new one", daemon.log())
        self.assertLess(self.scrape(daemon)[OBSERVED], 0.5)
        self.restart_and_compare(daemon, daemon.kill)

    def test_two_damaged_slots_with_a_job(self):
        daemon = self.daemon(CONFIG)
        self.observe(daemon)
        with daemon.client() as client:
            self.assert_status(client.begin("long"), "OK")
        daemon.kill()
        self.spoil(daemon, 0, 1)
        daemon.start()
        self.assertIn("continuing from the last checkpoint", daemon.log())
        self.assertGreater(self.scrape(daemon)[OBSERVED], 0.9)

    def test_another_boot_begins_a_new_account(self):
        machine = harness.Machine(self.temporary_directory())
        daemon = self.daemon(CONFIG, root=machine.directory)
        with daemon.client() as client:
            self.assert_status(client.begin("old"), "OK")
        machine.update(user_ticks=1500)
        wait_for(lambda: 5 in [value for series, value in self.scrape(daemon).items()
                               if series.startswith("perfd_job_cpu_user_seconds_total")], "the CPU time of the job")
        daemon.kill()
        machine.reboot()
        machine.update(user_ticks=3)
        daemon.start()
        counters = self.scrape(daemon)
        self.assertEqual((counters[UNOBSERVED], counters["perfd_meter_gaps_total"]), (0, 0))
        self.assertEqual(counters['perfd_node_cpu_seconds_total{mode="user"}'], 0.03)
        wait_for(lambda: daemon.get("/api/v1/jobs/old").json["state"] == "interrupted", "the end of the job to be stored")

    def test_a_second_perfd_leaves_the_file_alone(self):
        daemon = self.daemon(CONFIG)
        other = self.daemon(CONFIG, inherit=True, environment={"RUNTIME_DIRECTORY": str(daemon.directory)})
        self.assertIn("another perfd has the file", other.log())
        self.restart_and_compare(daemon, daemon.kill)

    def test_the_database_has_the_account_of_a_node_without_jobs(self):
        daemon = self.daemon("[jobs]\ncheckpoint_interval = 1s\n")

        def account():
            with contextlib.closing(sqlite3.connect(f"file:{daemon.state}/perfd.db?mode=ro", uri=True)) as database:
                return database.execute("SELECT time_ms FROM meter").fetchone()

        wait_for(account, "a checkpoint")

    def test_kernel_times_that_decrease_slightly_stay(self):
        machine = harness.Machine(self.temporary_directory())
        daemon = self.daemon(CONFIG, root=machine.directory)
        machine.update(idle_ticks=2000)
        idle = 'perfd_node_cpu_seconds_total{mode="idle"}'
        wait_for(lambda: self.scrape(daemon)[idle] == 20, "the idle time")
        machine.update(idle_ticks=1999, user_ticks=1200)
        wait_for(lambda: self.scrape(daemon)['perfd_node_cpu_seconds_total{mode="user"}'] == 12, "the user time")
        self.assertEqual(self.scrape(daemon)[idle], 20)


if __name__ == "__main__":
    unittest.main()
