"""Checks that counters of the kernel are believed as far as they can be: tests/data/trees/small, with a file rewritten while a job runs."""

import pathlib
import re
import shutil
import unittest

import harness

SMALL = pathlib.Path("tests/data/trees/small")
CONFIG = "[sampling]\ninterval = 200ms\n"
CPU = "perfd_node_cpu_seconds_total"
VETH = " veth9: {} 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"


class Counters(harness.TestCase):
    def begin(self, **files):
        self.tree = self.temporary_directory() / "tree"
        shutil.copytree(SMALL, self.tree, symlinks=True)
        self.eth0 = self.tree / "sys/class/net/eth0"
        (self.eth0 / "ifindex").write_text("2\n")
        (self.eth0 / "speed").write_text("100000\n")
        self.write(**files)
        self.node = self.daemon(CONFIG, root=self.tree)
        self.series = {}
        self.look()
        with self.node.client() as client:
            self.assert_status(client.begin("job"), "OK")

    def write(self, **files):
        """Replaces files of the tree, below proc: net__dev is net/dev."""
        for name, text in files.items():
            path = self.tree / "proc" / name.replace("__", "/")
            path.with_suffix(".new").write_text(text)
            with open(path, "r+b") as f:
                f.write(text.encode())
                f.truncate()

    def change(self, name, *changes):
        """Replaces numbers in the text of a file of the original tree."""
        text = (SMALL / "proc" / name.replace("__", "/")).read_text()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write(**{name: text})
        self.look()

    def look(self):
        """Waits until the files were read, and checks that no counter of the node decreased."""
        self.node.wait_tick()
        self.node.wait_tick()
        metrics = harness.parse_metrics(self.node.get("/metrics?collect[]=node&collect[]=percpu").text)
        counters = {k: v for k, v in metrics.items() if re.match(r"perfd_node_\w+_total\b", k)}
        back = {k: (self.series[k], v) for k, v in counters.items() if v < self.series.get(k, 0)}
        self.assertEqual(back, {})
        self.series.update(counters)

    def end(self):
        with self.node.client() as client:
            client.end("job", 0)
        job = self.node.get("/api/v1/jobs/job").json
        return {m["key"]: m for m in job["metrics"] if m["scope"] == "node"}

    def test_a_value_that_is_back_was_never_reset(self):
        five = 5 * 10 ** 12
        self.begin(net__dev=(SMALL / "proc/net/dev").read_text().replace("208029766", str(five)))
        self.change("net__dev", ("208029766", "0"))
        self.change("net__dev", ("208029766", str(five + 2000)))
        received = self.end()["total_net_io_ext_recv_mb"]
        self.assertEqual((round(received["value"] * 1048576), received["quality"]), (2000, "exact"))
        self.assertEqual(self.series['perfd_node_network_received_bytes_total{device="eth0",class="physical"}'], five + 2000)

    def test_a_leap_is_not_counted(self):
        self.begin()
        self.change("net__dev", ("208029766", str(5 * 10 ** 12)))
        self.change("net__dev", ("208029766", "208031766"))
        self.change("diskstats", ("2392746", str(10 ** 12)))
        self.change("diskstats", ("2392746", "2392756"))
        metrics = self.end()
        self.assertEqual(round(metrics["total_net_io_ext_recv_mb"]["value"] * 1048576), 2000)
        self.assertEqual(round(metrics["total_disk_io_read_mb"]["value"] * 1048576), 5120)

    def test_an_interface_that_returns_is_the_same(self):
        dev = (SMALL / "proc/net/dev").read_text()
        self.begin(net__dev=dev + VETH.format(90000000))
        for text in (dev, dev + VETH.format(90001000)):
            self.write(net__dev=text)
            self.look()
        self.assertEqual(self.end()["total_net_io_virtual_recv_mb"]["value"] * 1048576, 1000)

    def test_another_interface_of_the_name_counts_from_then(self):
        self.begin()
        (self.eth0 / "ifindex").write_text("7\n")
        self.change("net__dev", ("  eth0: 208029766", "  eth0: 5000"))
        self.change("net__dev", ("  eth0: 208029766", "  eth0: 5300"))
        self.assertEqual(round(self.end()["total_net_io_ext_recv_mb"]["value"] * 1048576), 300)

    def test_an_interface_is_no_faster_than_its_link(self):
        self.begin()
        (self.eth0 / "speed").write_text("1000\n")
        self.change("net__dev", ("  eth0: 208029766", "  eth0: 200000000"))  # properties are read again
        self.change("net__dev", ("  eth0: 208029766", "  eth0: 5208029766"))
        self.change("net__dev", ("  eth0: 208029766", "  eth0: 208029866"))
        self.assertEqual(round(self.end()["total_net_io_ext_recv_mb"]["value"] * 1048576), 100)

    def test_a_disk_that_appears_counts_from_then(self):
        self.begin()
        disk = (SMALL / "proc/diskstats").read_text()
        block = self.tree / "sys/block/vdb"
        block.mkdir()
        (block / "device").mkdir()
        for sectors in (10 ** 9, 10 ** 9 + 2):
            self.write(diskstats=disk + f" 254 16 vdb 10 0 {sectors} 10 0 0 0 0 0 5 5 0 0 0 0 0 0\n")
            self.look()
        self.assertEqual(self.end()["total_disk_io_read_mb"]["value"] * 1048576, 1024)

    def test_time_grows_no_faster_than_it_passes(self):
        self.begin()
        spike = str(1844674407370943)
        self.change("stat", ("60 12 300 10", f"60 {spike} 300 10"), ("40 5 300", f"40 {spike} 300"), ("20 7 0 0", f"20 {spike} 0 0"))
        self.change("stat")
        self.change("pressure__memory", *[(f"total={n}", f"total={int(n) + 10 ** 9}")
                                          for n in re.findall(r"total=(\d+)", (SMALL / "proc/pressure/memory").read_text())][:1])
        self.change("pressure__memory")
        metrics = self.end()
        self.assertEqual((metrics["cpu_steal_seconds"]["value"], metrics["psi_memory_some_seconds"]["value"]), (0, 0))
        self.assertEqual(self.series[CPU + '{mode="steal"}'], 0.12)

    def test_a_cpu_whose_times_fell_does_not_leave_the_mean(self):
        self.begin()
        busy = idle = 0
        for fall in (0, 0, 30, 0, 0):
            busy, idle = busy + 20, idle + 20 - fall
            self.change("stat", ("cpu0 1500", f"cpu0 {1500 + busy}"), ("500 451000", f"500 {451000 + idle}"),
                        ("cpu  2500", f"cpu  {2500 + busy}"), ("1200 900000", f"1200 {900000 + idle}"))
        metrics = self.end()
        self.assertEqual(metrics["cpu_all_cpus_at100_pct"]["value"] or 0, 0)
        self.assertLessEqual(metrics["max_t_cpu_pct_per_cpu_avg"]["value"], 70)

    def test_time_of_io_that_falls_stays(self):
        self.begin()
        series = 'perfd_node_disk_io_seconds_total{device="vda",class="physical"}'
        self.assertEqual(self.series[series], 6.204)
        self.change("diskstats", (" 6204 ", " 6100 "))
        self.assertEqual(self.series[series], 6.204)
        self.change("diskstats", (" 6204 ", " 6300 "))
        self.assertEqual(self.series[series], 6.3)
        for name, old in (("vmstat", r"pgmajfault (\d+)"), ("stat", r"ctxt (\d+)")):
            number = re.search(old, (SMALL / "proc" / name).read_text()).group(1)
            self.change(name, (f" {number}\n", " 1\n"))
            self.change(name)

    def test_jobs_of_another_root_are_found(self):
        """As in a container that has the root of the host; a line of io.stat without a device is skipped."""
        self.tree = self.temporary_directory() / "tree"
        shutil.copytree("tests/data/trees/cgroup-v2", self.tree, symlinks=True)
        io_stat = self.tree / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/io.stat"
        io_stat.write_text("8:0 rbytes=1000 wbytes=10 rios=3 wios=4 dbytes=0 dios=0\n(unknown) rbytes=7000 wbytes=0 rios=1 wios=0 "
                           "dbytes=0 dios=0\n8:16 rbytes=99 wby")
        self.node = self.daemon(CONFIG + "[patterns]\n", root=self.tree)
        job = harness.wait_for(lambda: (r := self.node.get("/api/v1/jobs/42")).status == 200 and r.json["metrics"] and r.json,
                               "the job of the tree")
        own = {m["key"]: m["value"] for m in job["metrics"] if m["scope"] == "job"}
        self.assertEqual((own["job_io_read_bytes"], own["job_io_written_bytes"]), (1000, 10))
        self.assertEqual(own["job_memory_anon_peak_bytes"], 104857600)
        self.assertEqual(own["job_memory_unreclaimable_peak_bytes"], 104857600 + 20971520 + 4194304)
        self.assertGreaterEqual(self.node.metrics()["perfd_cgroup_io_lines_skipped_total"], 2)


if __name__ == "__main__":
    unittest.main()
