"""A node with equipment shows it everywhere, and a node without shows nothing of it."""

import json
import os
import re
import unittest

import harness
from equipped import METERS, PORT, Equipped
from harness import wait_for
from test_http import Schema

CONFIG = "[sampling]\ninterval = 100ms\n"
WORDS = re.compile("gpu|fabric|netfs|energy|infiniband|power", re.IGNORECASE)


class OnANode(harness.TestCase):
    def node(self, machine):
        node = self.daemon(CONFIG, root=machine.directory)
        wait_for(lambda: node.get("/api/v1/node").json["latest"]["disk_read_bytes_per_second"] is not None, "rates")
        return node

    def equipped(self):
        self.machine = Equipped(self.temporary_directory())
        self.addCleanup(self.machine.close)
        node = self.node(self.machine)
        wait_for(lambda: node.get("/api/v1/node").json["latest"].get("gpus_active"), "GPUs that work")
        return node

    def top(self, node, *words):
        done = node.perfctl("top", "--once", *words, environment={"COLUMNS": "80", "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_equipment_is_in_the_answers_as_described(self):
        node = self.equipped()
        answer = node.get("/api/v1/node").json
        schema = Schema(node.get("/api/v1/openapi.json").json)
        self.assertEqual(schema.complaints(answer, {"$ref": "#/components/schemas/Node"}), [])
        latest = answer["latest"]
        self.assertEqual([(port["port"], port["fabric_active"]) for port in latest["fabric_ports"]], [("mlx5_0:1", 1), ("mlx5_1:1", 0)])
        self.assertGreater(latest["fabric_received_bytes_per_second"], 1e6)
        self.assertGreater(latest["power_watts"], 1)
        self.assertEqual([mount["mountpoint"] for mount in latest["network_filesystems"]], ["/home"])
        self.assertGreater(latest["netfs_read_bytes_per_second"], 1e5)
        self.assertEqual([gpu["gpu"] for gpu in latest["gpus"]], ["0", "1"])
        self.assertAlmostEqual(latest["gpu_power_watts"], 880.46, delta=1)
        metrics = node.metrics()
        self.assertEqual(metrics['perfd_node_fabric_active{port="mlx5_0:1"}'], 1)
        self.assertEqual(metrics['perfd_source_up{source="fabric"}'], 1)
        wanted = {"fabric_sent", "fabric_received", "power", "netfs_read", "netfs_written", "gpus_active", "gpus_utilized", "gpu_power",
                  "gpu_memory"}
        wait_for(lambda: {name for name in node.get("/api/v1/node/recent").json["series"] if WORDS.search(name)} == wanted, "the series")

    def test_commands_show_it(self):
        node = self.equipped()
        status = node.perfctl("status").stdout
        self.assertRegex(status, r"\n  GPUs +2, [\d.]+ active, 880 W\n  fabric +1 of 2 ports active\n  netfs +1 mounted\n"
                                 r"  power +\d+ W \(processors and memory\)\n")
        text = self.top(node)
        self.assertRegex(text, r"\nfabric +[\d.]+ [KM]iB/s received, [\d.]+ [KM]iB/s sent")
        self.assertRegex(text.splitlines()[0], r"1 CPUs, \d+ W  0 jobs")
        self.assertRegex(text, r"\nGPU 0 +39\.9 % \S+ +1011 MiB of 140 GiB, 440 W\nGPU 1 ")
        self.assertRegex(text, r"\nnetfs +[\d.]+ [KM]iB/s read, [\d.]+ [KM]iB/s written")
        document = json.loads(self.top(node, "--json"))
        self.assertGreater(document["fabric_sent_bytes_per_second"], 1e6)

    def test_a_source_that_fails_is_named(self):
        node = self.equipped()
        self.machine.close()
        (self.machine.directory / METERS / "intel-rapl:0" / "energy_uj").write_text("many\n")
        wait_for(lambda: "energy_meters" not in node.get("/api/v1/node").json["latest"], "the failure")
        self.assertRegex(node.perfctl("status").stdout, r"\n  power +cannot be read: .*energy_uj: not a number")
        self.assertEqual(node.metrics()['perfd_source_up{source="energy"}'], 0)

    def test_an_adapter_that_hangs_is_not_waited_for(self):
        self.machine = Equipped(self.temporary_directory())
        self.addCleanup(self.machine.close)
        self.machine.close()
        counter = self.machine.directory / PORT.format(0) / "counters" / "port_xmit_data"
        counter.unlink()
        os.mkfifo(counter)  # nobody writes: opening it never returns
        node = self.node(self.machine)
        error = "sys/class/infiniband: the driver of a port has not answered for "
        wait_for(lambda: error in node.perfctl("status").stdout, "the failure")
        latest = node.get("/api/v1/node").json["latest"]
        self.assertNotIn("fabric_ports", latest)
        self.assertIn("energy_meters", latest)
        self.assertIn("network_filesystems", latest)
        self.assertEqual(node.metrics()['perfd_source_up{source="fabric"}'], 0)
        node.wait_tick()
        self.assertEqual(node.stop(), 0)

    def test_a_node_without_shows_nothing(self):
        node = self.node(harness.Machine(self.temporary_directory()))
        answer = node.get("/api/v1/node").json
        self.assertEqual(WORDS.findall(json.dumps(answer["latest"]) + json.dumps(answer["sources"])), [])
        wait_for(lambda: node.get("/api/v1/node/recent").json["times_ms"], "a point")
        for path in ("/metrics", "/api/v1/node/recent", "/api/v1/node/samples"):
            self.assertEqual(WORDS.findall(node.get(path).text), [], path)
        self.assertEqual(WORDS.findall(self.top(node) + self.top(node, "--json") + node.perfctl("status").stdout), [])


if __name__ == "__main__":
    unittest.main()
